"""How a waiting worker learns that there is work: generation, look, sleep, and the poll behind it (contract §3, §8).

Theory
======
A worker that finds nothing goes to sleep, and whoever brings work wakes it up. Between looking and falling asleep work
may arrive; the wake-up then finds nobody asleep, and the work lies beside a worker that sleeps. The cure is a counter.
A notification raises the **generation** of the channel. A waiter

1. reads the generation,
2. looks for due work,
3. sleeps only if the generation is still what it read, which it finds out in the same step in which it falls asleep.

Work that arrives after the first step is announced by a generation that the waiter has not read, so it does not fall
asleep, or is woken at once. Work that was there before the first step is found by the second. The order matters: who
looks first and reads the generation then may read the very one that announced what he has missed.

Two things nobody announces: work that becomes due while a waiter sleeps, and work whose bringer died between its commit
and its notification. For these there is the **poll**: a waiter sleeps at most ``poll_seconds`` after it last looked.

What is proved: whoever sleeps beside announced work that was due when it looked can be woken at once, by a generation
that it has not read; and nobody sleeps past its poll. Looking takes no time here, and writes nothing (contract §8).
"""

from __future__ import annotations

from fencepost_model.arrows import arrows_kept
from fencepost_model.contract import Contract
from fencepost_model.shapes import (
    Actor,
    Assignment,
    Case,
    Field,
    Guard,
    Invariant,
    Machine,
    Operation,
    Parameter,
    Progress,
    Selection,
    SettingShape,
    Sort,
    Status,
    StepProperty,
    Variable,
    Witness,
    in_order,
)
from fencepost_model.terms import (
    AtMost,
    Const,
    Equal,
    FieldOf,
    Holds,
    Less,
    Missing,
    Not,
    Now,
    OneOf,
    Param,
    Plus,
    Setting,
    Some,
    TruthTerm,
    all_of,
    any_of,
    implies,
    present,
)

# --- words ------------------------------------------------------------------------------------------------------------

OPEN = "open"
PENDING, TAKEN = "pending", "taken"
AWAKE, KNOWING, EMPTY_HANDED, ASLEEP = "awake", "knowing", "empty_handed", "asleep"

CHANNEL_STATUSES: tuple[Status, ...] = (Status(OPEN, "workers may wait on it"),)
CHANNEL_TABLE: dict[str, tuple[str, ...]] = {OPEN: ()}

WORK_STATUSES: tuple[Status, ...] = (
    Status(PENDING, "committed; somebody should take it once it is due"),
    Status(TAKEN, "a worker has it"),
)
WORK_TABLE: dict[str, tuple[str, ...]] = {PENDING: ("notify", "take"), TAKEN: ("notify", "put_back")}

WAITER_STATUSES: tuple[Status, ...] = (
    Status(AWAKE, "about to wait for work"),
    Status(KNOWING, "it has read the generation"),
    Status(EMPTY_HANDED, "it has looked and found nothing"),
    Status(ASLEEP, "until a notification or its poll wakes it"),
)
WAITER_TABLE: dict[str, tuple[str, ...]] = {
    AWAKE: ("read_generation",),
    KNOWING: ("take", "find_nothing"),
    EMPTY_HANDED: ("fall_asleep",),
    ASLEEP: ("wake_up",),
}

CHANNEL = Variable("channel", "channel")
WORK = Variable("work", "work", of="channel")
WAITER = Variable("waiter", "waiter", of="channel")


def channel(name: str, *, after: bool = False) -> FieldOf:
    """A field of the channel."""
    return FieldOf("channel", name, after)


def work(name: str, *, after: bool = False) -> FieldOf:
    """A field of a piece of work."""
    return FieldOf("work", name, after)


def waiter(name: str, *, after: bool = False) -> FieldOf:
    """A field of a waiter."""
    return FieldOf("waiter", name, after)


NOW = Now()


def due(variable: str, moment: FieldOf | Now = NOW) -> TruthTerm:
    """The work waits, and might have been taken at that moment."""
    status, available = FieldOf(variable, "status"), FieldOf(variable, "available_at")
    return all_of(Equal(status, Const(PENDING)), AtMost(available, moment))


def waits(*statuses: str) -> TruthTerm:
    """The waiter is in one of these statuses."""
    status = waiter("status")
    return Equal(status, Const(statuses[0])) if len(statuses) == 1 else OneOf(status, statuses)


SETTINGS: tuple[SettingShape, ...] = (
    SettingShape("poll_seconds", Sort.DURATION, "how long after its last look a waiter looks again by itself", 5),
)
SETTINGS_ASSUMED: TruthTerm = Less(Const(0), Setting("poll_seconds"))

# --- operations -------------------------------------------------------------------------------------------------------

AVAILABLE_AT = Parameter("available_at", Sort.INSTANT, "from when on it may be taken")
IS_OPEN = Guard("open", Equal(channel("status"), Const(OPEN)), "§8", "somebody has to keep the generation")
NOT_ANNOUNCED = Assignment(work("announced"), Const(False))

OPEN_CHANNEL = Operation(
    name="open_channel",
    actor=Actor.SYSTEM,
    selection=Selection.NAMED,
    over=(CHANNEL,),
    guards=(
        Guard("new", Missing(channel("status")), "§8", "a generation that starts again would be read as an old one"),
    ),
    cases=(
        Case(
            "opened",
            (),
            (Assignment(channel("status"), Const(OPEN)), Assignment(channel("generation"), Const(0))),
            "the channel counts notifications from 0 on",
        ),
    ),
    clause="§8",
    meaning="A process starts to keep the generation of a channel.",
)

ENQUEUE = Operation(
    name="enqueue",
    actor=Actor.CLIENT,
    selection=Selection.NAMED,
    over=(CHANNEL, WORK),
    acts_on="work",
    parameters=(AVAILABLE_AT,),
    guards=(IS_OPEN, Guard("work_new", Missing(work("status")), "§2 enqueue", "work is brought once")),
    cases=(
        Case(
            "brought",
            (),
            (
                Assignment(work("status"), Const(PENDING)),
                Assignment(work("available_at"), Param("available_at")),
                NOT_ANNOUNCED,
            ),
            "the work is committed, its notification is still owed",
        ),
    ),
    clause="§2 enqueue, §8",
    meaning="A client commits work; it notifies afterwards, for a notification before the commit announces nothing.",
)

NOTIFY = Operation(
    name="notify",
    actor=Actor.CLIENT,
    selection=Selection.NAMED,
    over=(CHANNEL, WORK),
    acts_on="work",
    guards=(Guard("owed", Equal(work("announced"), Const(False)), "§8", "nobody is woken up for no reason"),),
    cases=(
        Case(
            "notified",
            (),
            (
                Assignment(channel("generation"), Plus(channel("generation"), Const(1))),
                Assignment(work("announced"), Const(True)),
            ),
            "the generation is one that nobody has read yet",
        ),
    ),
    clause="§3, §8",
    meaning="Whoever committed work raises the generation. If it dies before, the poll stands in for it.",
)

TAKE = Operation(
    name="take",
    actor=Actor.CLAIMER,
    selection=Selection.SWEEP,
    over=(CHANNEL, WAITER, WORK),
    acts_on="waiter",
    guards=(
        Guard("looking", waits(KNOWING), "§3", "it reads the generation first and looks then"),
        Guard("pending", Equal(work("status"), Const(PENDING)), "§2 claim", "only what waits is taken"),
        Guard("due", AtMost(work("available_at"), NOW), "§2 claim", "back-off is over"),
    ),
    cases=(
        Case(
            "taken",
            (),
            (Assignment(waiter("status"), Const(AWAKE)), Assignment(work("status"), Const(TAKEN))),
            "the waiter has found work",
        ),
    ),
    clause="§2 claim, §3",
    meaning="A waiter looks and finds work that is due.",
)

FIND_NOTHING = Operation(
    name="find_nothing",
    actor=Actor.CLAIMER,
    selection=Selection.SWEEP,
    over=(CHANNEL, WAITER),
    acts_on="waiter",
    guards=(
        Guard("looking", waits(KNOWING), "§3", "it reads the generation first and looks then"),
        Guard("nothing_due", Not(Some("found", "work", "channel", due("found"))), "§3", "what is due is taken"),
    ),
    cases=(
        Case(
            "nothing",
            (),
            (Assignment(waiter("status"), Const(EMPTY_HANDED)), Assignment(waiter("looked_at"), NOW)),
            "the waiter has found nothing",
        ),
    ),
    clause="§3",
    meaning="A waiter looks and finds nothing that is due.",
)

READ_GENERATION = Operation(
    name="read_generation",
    actor=Actor.CLAIMER,
    selection=Selection.NAMED,
    over=(CHANNEL, WAITER),
    acts_on="waiter",
    guards=(
        IS_OPEN,
        Guard(
            "about_to_wait",
            any_of(Missing(waiter("status")), waits(AWAKE)),
            "§3",
            "a generation read after the look would hide what was announced between",
        ),
    ),
    cases=(
        Case(
            "read",
            (),
            (
                Assignment(waiter("status"), Const(KNOWING)),
                Assignment(waiter("generation"), channel("generation")),
            ),
            "the waiter knows the generation",
        ),
    ),
    clause="§3",
    meaning="A worker that wants work reads the generation, before anything else.",
)

FALL_ASLEEP = Operation(
    name="fall_asleep",
    actor=Actor.CLAIMER,
    selection=Selection.NAMED,
    over=(CHANNEL, WAITER),
    acts_on="waiter",
    guards=(Guard("looked", waits(EMPTY_HANDED), "§3", "nobody sleeps without having looked"),),
    cases=in_order(
        Case(
            "stays_awake",
            (
                Guard(
                    "announced_meanwhile",
                    Not(Equal(waiter("generation"), channel("generation"))),
                    "§3",
                    "something was announced since the generation was read",
                ),
            ),
            (Assignment(waiter("status"), Const(AWAKE)),),
            "the waiter looks again",
        ),
        Case(
            "asleep",
            (),
            (
                Assignment(waiter("status"), Const(ASLEEP)),
                Assignment(waiter("wakes_at"), Plus(waiter("looked_at"), Setting("poll_seconds"))),
            ),
            "the waiter sleeps, at the longest until its poll",
        ),
    ),
    clause="§3, §8",
    meaning="A waiter compares the generation and falls asleep, in one step.",
)

WAKE_UP = Operation(
    name="wake_up",
    actor=Actor.CLAIMER,
    selection=Selection.NAMED,
    over=(CHANNEL, WAITER),
    acts_on="waiter",
    guards=(
        Guard("sleeping", waits(ASLEEP), "§3", "who is awake goes its own way"),
        Guard(
            "called",
            any_of(Not(Equal(waiter("generation"), channel("generation"))), AtMost(waiter("wakes_at"), NOW)),
            "§8",
            "while there is nothing to do nobody is driven round",
        ),
    ),
    cases=(Case("awake", (), (Assignment(waiter("status"), Const(AWAKE)),), "the waiter begins anew"),),
    clause="§3, §8",
    meaning="A notification or the poll ends a sleep.",
)

PUT_BACK = Operation(
    name="put_back",
    actor=Actor.HOLDER,
    selection=Selection.NAMED,
    over=(CHANNEL, WORK),
    acts_on="work",
    parameters=(AVAILABLE_AT,),
    guards=(Guard("taken", Equal(work("status"), Const(TAKEN)), "§2 release, fail", "only what was taken comes back"),),
    cases=(
        Case(
            "put_back",
            (),
            (
                Assignment(work("status"), Const(PENDING)),
                Assignment(work("available_at"), Param("available_at")),
                NOT_ANNOUNCED,
            ),
            "the work waits again, and its notification is owed",
        ),
    ),
    clause="§2 release, fail",
    meaning="Work comes back, at once or after a back-off, and is announced like new work.",
)

OPERATIONS: tuple[Operation, ...] = (
    OPEN_CHANNEL,
    ENQUEUE,
    NOTIFY,
    READ_GENERATION,
    TAKE,
    FIND_NOTHING,
    FALL_ASLEEP,
    WAKE_UP,
    PUT_BACK,
)

# --- machines ---------------------------------------------------------------------------------------------------------

CHANNEL_MACHINE = Machine(
    name="channel",
    meaning="What the workers of a queue wait on: a counter of notifications.",
    fields=(
        Field("status", Sort.WORD, "where it stands", nullable=False, words=(OPEN,)),
        Field("generation", Sort.COUNT, "goes up with every notification", nullable=False),
    ),
    statuses=CHANNEL_STATUSES,
    table=CHANNEL_TABLE,
    created_by="open_channel",
)

WORK_MACHINE = Machine(
    name="work",
    meaning="A row that somebody should take.",
    fields=(
        Field("status", Sort.WORD, "where it stands", nullable=False, words=(PENDING, TAKEN)),
        Field("available_at", Sort.INSTANT, "from when on it may be taken", nullable=False),
        Field("announced", Sort.FLAG, "whether whoever committed it has notified", nullable=False),
    ),
    statuses=WORK_STATUSES,
    table=WORK_TABLE,
    created_by="enqueue",
    belongs_to="channel",
)

WAITER_MACHINE = Machine(
    name="waiter",
    meaning="A worker that wants work.",
    fields=(
        Field("status", Sort.WORD, "where it stands", nullable=False, words=tuple(s.name for s in WAITER_STATUSES)),
        Field("generation", Sort.COUNT, "the generation that it has read"),
        Field("looked_at", Sort.INSTANT, "when it last looked and found nothing"),
        Field("wakes_at", Sort.INSTANT, "when its poll ends its sleep"),
    ),
    statuses=WAITER_STATUSES,
    table=WAITER_TABLE,
    created_by="read_generation",
    belongs_to="channel",
)

# --- what is stated ---------------------------------------------------------------------------------------------------

HAS_NEWS = Less(waiter("generation"), channel("generation"))
MISSED = all_of(due("work", waiter("looked_at")), Holds(work("announced")))

INVARIANTS: tuple[Invariant, ...] = (
    Invariant(
        "no_lost_wake_up",
        "§3",
        (CHANNEL, WAITER, WORK),
        implies(all_of(waits(EMPTY_HANDED, ASLEEP), MISSED), HAS_NEWS),
        "Work that came after a waiter had looked, and was announced, is announced by a generation it has not read.",
    ),
    Invariant(
        "generation_read",
        "§3",
        (CHANNEL, WAITER),
        implies(
            present(waiter("status")),
            all_of(present(channel("status")), AtMost(waiter("generation"), channel("generation"))),
        ),
        "A waiter has read a generation that the channel has reached.",
    ),
    Invariant(
        "look_is_past",
        "§3",
        (CHANNEL, WAITER),
        all_of(
            implies(waits(EMPTY_HANDED, ASLEEP), present(waiter("looked_at"))),
            any_of(Missing(waiter("looked_at")), AtMost(waiter("looked_at"), NOW)),
        ),
        "Who waits has looked.",
    ),
    Invariant(
        "sleep_ends_with_the_poll",
        "§8",
        (CHANNEL, WAITER),
        implies(waits(ASLEEP), Equal(waiter("wakes_at"), Plus(waiter("looked_at"), Setting("poll_seconds")))),
        "Nobody sleeps longer than the poll allows, counted from the look.",
    ),
    Invariant(
        "work_on_an_open_channel",
        "§8",
        (CHANNEL, WORK),
        implies(present(work("status")), all_of(present(channel("generation")), present(work("available_at")))),
        "Work is brought where its announcement is counted.",
    ),
    Invariant(
        "generation_counts_on",
        "§8",
        (CHANNEL,),
        implies(present(channel("status")), AtMost(Const(0), channel("generation"))),
        "The generation is counted from 0 on.",
    ),
)

STEP_PROPERTIES: tuple[StepProperty, ...] = (
    *arrows_kept(OPERATIONS),
    StepProperty(
        "generation_never_falls",
        "§3",
        (CHANNEL,),
        implies(present(channel("status")), AtMost(channel("generation"), channel("generation", after=True))),
        "The generation never goes down, else an old one would be read as a new one.",
    ),
    StepProperty(
        "nobody_sleeps_on_news",
        "§3",
        (CHANNEL, WAITER),
        implies(
            all_of(Not(waits(ASLEEP)), Equal(waiter("status", after=True), Const(ASLEEP))),
            Equal(waiter("generation"), channel("generation")),
        ),
        "A waiter falls asleep only on the generation that it has read.",
    ),
    StepProperty(
        "nobody_woken_for_nothing",
        "§8",
        (CHANNEL, WORK),
        implies(
            Less(channel("generation"), channel("generation", after=True)),
            Not(Holds(work("announced"))),
        ),
        "The generation goes up only for work that was not announced yet.",
        of="notify",
    ),
    StepProperty(
        "notified_is_announced",
        "§8",
        (CHANNEL, WORK),
        all_of(Less(channel("generation"), channel("generation", after=True)), Holds(work("announced", after=True))),
        "A notification raises the generation, and is owed no more.",
        of="notify",
    ),
    StepProperty(
        "sleep_ends_for_a_reason",
        "§8",
        (CHANNEL, WAITER),
        implies(
            all_of(waits(ASLEEP), Not(Equal(waiter("status", after=True), Const(ASLEEP)))),
            any_of(HAS_NEWS, AtMost(Plus(waiter("looked_at"), Setting("poll_seconds")), NOW)),
        ),
        "A sleep ends by news or by the poll.",
    ),
    StepProperty(
        "work_taken_when_due",
        "§2 claim",
        (CHANNEL, WORK),
        implies(
            all_of(Not(Equal(work("status"), Const(TAKEN))), Equal(work("status", after=True), Const(TAKEN))),
            due("work"),
        ),
        "Only work that waits and is due is taken.",
    ),
    StepProperty(
        "work_taken_once",
        "§2 claim",
        (CHANNEL, WAITER, WORK),
        Equal(work("status"), Const(PENDING)),
        "Nobody takes what another one has.",
        of="take",
    ),
    StepProperty(
        "order_kept",
        "§3",
        (CHANNEL, WAITER),
        all_of(
            implies(
                Equal(waiter("status", after=True), Const(KNOWING)),
                any_of(Missing(waiter("status")), waits(AWAKE, KNOWING)),
            ),
            implies(Equal(waiter("status", after=True), Const(EMPTY_HANDED)), waits(KNOWING, EMPTY_HANDED)),
            implies(Equal(waiter("status", after=True), Const(ASLEEP)), waits(EMPTY_HANDED, ASLEEP)),
        ),
        "A waiter reads the generation, looks, and sleeps, in this order.",
    ),
    StepProperty(
        "found_by_looking",
        "§3",
        (CHANNEL, WAITER, WORK),
        waits(KNOWING),
        "Work is found by looking.",
        of="take",
    ),
    StepProperty(
        "brought_once",
        "§2 enqueue",
        (CHANNEL, WORK),
        Missing(work("status")),
        "Work is brought once, and comes back only from whoever took it.",
        of="enqueue",
    ),
    StepProperty(
        "back_from_its_taker",
        "§2 release",
        (CHANNEL, WORK),
        all_of(
            Equal(work("status"), Const(TAKEN)),
            Equal(work("available_at", after=True), Param("available_at")),
            Not(Holds(work("announced", after=True))),
        ),
        "Only what was taken comes back; it is due when it was told, and its notification is owed.",
        of="put_back",
    ),
)

WITNESSES: tuple[Witness, ...] = (
    Witness(
        "announced_between_look_and_sleep",
        "§3",
        (CHANNEL, WAITER, WORK),
        all_of(waits(EMPTY_HANDED), MISSED),
        "Work is brought and announced after a waiter has looked and before it sleeps.",
    ),
    Witness(
        "announced_between_reading_and_looking",
        "§3",
        (CHANNEL, WAITER, WORK),
        all_of(waits(KNOWING), due("work"), Holds(work("announced")), HAS_NEWS),
        "Work is brought and announced after a waiter has read the generation and before it looks.",
    ),
    Witness(
        "brought_while_asleep",
        "§3",
        (CHANNEL, WAITER, WORK),
        all_of(waits(ASLEEP), MISSED),
        "Work is brought and announced while a waiter sleeps.",
    ),
    Witness(
        "asleep_beside_unannounced_work",
        "§8",
        (CHANNEL, WAITER, WORK),
        all_of(waits(ASLEEP), due("work"), Not(Holds(work("announced"))), Not(HAS_NEWS), Less(NOW, waiter("wakes_at"))),
        "A waiter sleeps beside due work whose bringer has not notified: only the poll helps.",
    ),
    Witness(
        "due_while_asleep",
        "§8",
        (CHANNEL, WAITER, WORK),
        all_of(waits(ASLEEP), due("work"), Holds(work("announced")), Not(HAS_NEWS), Less(NOW, waiter("wakes_at"))),
        "Work that was announced before the look becomes due while a waiter sleeps: only the poll helps.",
    ),
    Witness(
        "back_again",
        "§2 release",
        (CHANNEL, WORK),
        all_of(Equal(work("status"), Const(PENDING)), Less(Const(1), channel("generation"))),
        "Work has come back or more has come.",
    ),
)

PROGRESS: tuple[Progress, ...] = (
    Progress(
        "woken_at_once",
        "§3",
        (CHANNEL, WAITER, WORK),
        all_of(waits(ASLEEP), MISSED),
        ("wake_up",),
        "Who sleeps beside work that was announced and due since it looked can be woken at once.",
        at_once=True,
    ),
    Progress(
        "woken_by_the_poll",
        "§8",
        (CHANNEL, WAITER),
        waits(ASLEEP),
        ("wake_up",),
        "Whatever happens, a sleep ends with the poll.",
    ),
    Progress(
        "owed_notification_can_be_sent",
        "§8",
        (CHANNEL, WORK),
        Equal(work("announced"), Const(False)),
        ("notify",),
        "A notification that is owed can be sent.",
        at_once=True,
    ),
    Progress(
        "round_goes_on",
        "§3",
        (CHANNEL, WAITER),
        waits(AWAKE, EMPTY_HANDED),
        ("read_generation", "fall_asleep"),
        "Who is awake goes on with its round.",
        at_once=True,
    ),
    Progress(
        "poll_wakes_on_time",
        "§8",
        (CHANNEL, WAITER),
        all_of(waits(ASLEEP), AtMost(waiter("wakes_at"), NOW)),
        ("wake_up",),
        "From the very instant of its poll a waiter can be woken.",
        at_once=True,
    ),
    Progress(
        "look_comes_to_an_end",
        "§3",
        (CHANNEL, WAITER),
        waits(KNOWING),
        ("take", "find_nothing"),
        "Whoever looks finds work that is due, or finds nothing, and is kept waiting by no work that another one has.",
        at_once=True,
    ),
    Progress(
        "due_work_is_found",
        "§3",
        (CHANNEL, WAITER, WORK),
        all_of(waits(KNOWING), due("work")),
        ("take",),
        "Who looks finds what is due.",
        at_once=True,
    ),
)

WAKEUP_CONTRACT = Contract(
    name="wakeup",
    machines=(CHANNEL_MACHINE, WORK_MACHINE, WAITER_MACHINE),
    operations=OPERATIONS,
    invariants=INVARIANTS,
    step_properties=STEP_PROPERTIES,
    witnesses=WITNESSES,
    progress=PROGRESS,
    settings=SETTINGS,
    settings_assumed=SETTINGS_ASSUMED,
)
