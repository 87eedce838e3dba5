"""Who gets into a queue and who may call whom off: capacity, duplicates, parents, groups (contract §2, D-16, D-26).

Theory
======
*Capacity.* "Never more than N live jobs" speaks of a number of rows, and terms do not count. It is said with seats
instead: a queue of capacity N has the seats 1 to N, a job takes a free one when it is admitted and gives it back when
it ends. Different live jobs sit on different seats, so there are never more than N of them, whatever N is (the
pigeonhole principle); and a job is refused only if all seats are taken. A store need not number anything: it counts the
live rows and inserts under one lock, which is the same as looking for a free seat and taking it in one step. Each
tenant has its own row of seats beside that.

*Duplicates.* Of the live jobs of a queue at most one has a key (D-16). The refusal says which it is: ``not_duplicate``
is false when that job goes on, ``not_cancelling`` when it has been asked to stop and the caller may want to come back.

*Parents.* Cancelling a job writes through to its live children in the same transaction. A child that arrives later is
refused. Both look at the parent's own row, hence a child must not have children: nothing would reach them.

*Groups.* Several callers may want one job: two groups that share a page, or callers whose submissions were
deduplicated. Each has its *association* with the job and withdraws only that; the job is cancelled with the last one
(D-26). This is a contract of its own (``group``), about one job and its associations.

What a caller hands in (identity, tenant, key) is given by the world: a submission that is refused stays a row that does
not exist. The work itself is cut down to ``start`` and ``finish``; the contract of the job tells what lies
between.
"""

from __future__ import annotations

from fencepost_model.arrows import arrows_kept
from fencepost_model.contract import Contract
from fencepost_model.shapes import (
    Actor,
    Assignment,
    Case,
    Field,
    ForEach,
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
    NULL,
    AtMost,
    Choose,
    Const,
    Equal,
    FieldOf,
    Holds,
    Missing,
    Not,
    Now,
    OneOf,
    Param,
    Same,
    Setting,
    Some,
    TruthTerm,
    ValueTerm,
    all_of,
    any_of,
    implies,
    present,
)

# --- words ------------------------------------------------------------------------------------------------------------

PENDING, RUNNING, ENDED, CANCELLED = "pending", "running", "ended", "cancelled"
LIVE = (PENDING, RUNNING)

STATUSES: tuple[Status, ...] = (
    Status(PENDING, "admitted, held by nobody"),
    Status(RUNNING, "held by a worker"),
    Status(ENDED, "ended by its own word", terminal=True),
    Status(CANCELLED, "ended because somebody asked for it", terminal=True),
)

TABLE: dict[str, tuple[str, ...]] = {
    PENDING: ("start", "request_cancel", "finish"),
    RUNNING: ("finish", "request_cancel"),
    ENDED: (),
    CANCELLED: (),
}

QUEUE = Variable("queue", "queue")
JOB = Variable("job", "submission", of="queue")
OTHER = Variable("other", "submission", of="queue")
PARENT = Variable("parent", "submission", of="queue")
CHILD = Variable("child", "submission", of="queue")


def of(entity: str, name: str, *, after: bool = False) -> FieldOf:
    """A field of the entity that a variable stands for."""
    return FieldOf(entity, name, after)


def is_live(entity: str) -> TruthTerm:
    """The job takes a place in the queue."""
    return OneOf(of(entity, "status"), LIVE)


def is_stopping(entity: str) -> TruthTerm:
    """The job was asked to stop and its holder has not answered yet."""
    return all_of(is_live(entity), present(of(entity, "cancel_requested_at")))


def nobody(body: TruthTerm) -> TruthTerm:
    """No job of the queue is such; the body speaks of it as ``taken``."""
    return Not(Some("taken", "submission", "queue", body))


# --- settings ---------------------------------------------------------------------------------------------------------

SETTINGS: tuple[SettingShape, ...] = (
    SettingShape("capacity", Sort.COUNT, "how many jobs of the queue may be live at once", 64),
    SettingShape("tenant_capacity", Sort.COUNT, "how many jobs of one tenant may be live at once", 16),
)

SETTINGS_ASSUMED: TruthTerm = all_of(
    AtMost(Const(1), Setting("capacity")), AtMost(Const(1), Setting("tenant_capacity"))
)

# --- operations -------------------------------------------------------------------------------------------------------

ADMITTED: tuple[Parameter, ...] = (
    Parameter("seat", Sort.COUNT, "a free seat of the queue", chosen_by="store"),
    Parameter("tenant_seat", Sort.COUNT, "a free seat of the tenant", chosen_by="store"),
)

ADMISSION: tuple[Guard, ...] = (
    Guard("new", Missing(of("job", "status")), "§2 enqueue", "a job is created once"),
    Guard(
        "id_new",
        nobody(all_of(present(of("taken", "status")), Equal(of("taken", "job_id"), of("job", "job_id")))),
        "§2 enqueue",
        "a cancel must not reach a job of the same name",
    ),
    Guard(
        "queue_has_room",
        all_of(AtMost(Const(1), Param("seat")), AtMost(Param("seat"), Setting("capacity"))),
        "§2 enqueue, §5 LIMIT",
        "a full queue refuses with a LIMIT code",
    ),
    Guard(
        "seat_free",
        nobody(Equal(of("taken", "seat"), Param("seat"))),
        "§2 enqueue, §5 LIMIT",
        "counted and inserted under one lock, two callers do not get the last place",
    ),
    Guard(
        "tenant_has_room",
        all_of(AtMost(Const(1), Param("tenant_seat")), AtMost(Param("tenant_seat"), Setting("tenant_capacity"))),
        "§2 enqueue, §5 LIMIT",
        "one tenant does not fill the queue",
    ),
    Guard(
        "tenant_seat_free",
        nobody(
            all_of(
                Equal(of("taken", "tenant"), of("job", "tenant")),
                Equal(of("taken", "tenant_seat"), Param("tenant_seat")),
            )
        ),
        "§2 enqueue, §5 LIMIT",
        "a tenant's places are counted under the same lock",
    ),
    Guard(
        "not_duplicate",
        nobody(
            all_of(
                is_live("taken"),
                Missing(of("taken", "cancel_requested_at")),
                Equal(of("taken", "dedupe_key"), of("job", "dedupe_key")),
            )
        ),
        "D-16",
        "the same work is under way: the caller is given the live job's identity",
    ),
    Guard(
        "not_cancelling",
        nobody(all_of(is_stopping("taken"), Equal(of("taken", "dedupe_key"), of("job", "dedupe_key")))),
        "D-16",
        "the same work is being stopped: the caller is told so",
    ),
)


def admitted(parent: ValueTerm) -> tuple[Assignment, ...]:
    """The effect of admitting a job, as a child of a parent or not."""
    return (
        Assignment(of("job", "status"), Const(PENDING)),
        Assignment(of("job", "parent_id"), parent),
        *(Assignment(of("job", parameter.name), Param(parameter.name)) for parameter in ADMITTED),
    )


SUBMIT = Operation(
    name="submit",
    actor=Actor.CLIENT,
    selection=Selection.NAMED,
    over=(QUEUE, JOB),
    acts_on="job",
    parameters=ADMITTED,
    guards=ADMISSION,
    cases=(Case("admitted", (), admitted(NULL), "the job waits to be claimed"),),
    clause="§2 enqueue",
    meaning="A client hands in a job; the places are counted and one is taken under one admission lock.",
)

SUBMIT_CHILD = Operation(
    name="submit_child",
    actor=Actor.CLIENT,
    selection=Selection.NAMED,
    over=(QUEUE, JOB, PARENT),
    acts_on="job",
    parameters=ADMITTED,
    guards=(
        *ADMISSION,
        Guard("parent_live", is_live("parent"), "§2 enqueue, Parents", "nothing starts for work that has ended"),
        Guard(
            "parent_not_cancelled",
            Missing(of("parent", "cancel_requested_at")),
            "§2 enqueue, Parents",
            "a child that comes after the cancel would never hear of it",
        ),
        Guard(
            "parent_has_no_parent",
            Missing(of("parent", "parent_id")),
            "§2 Parents",
            "a cancel is written through to children and reaches nobody below them",
        ),
    ),
    cases=(Case("admitted", (), admitted(of("parent", "job_id")), "the child waits to be claimed"),),
    clause="§2 enqueue, Parents",
    meaning="A client hands in a job that belongs to another one; the parent's row is locked meanwhile.",
)

START = Operation(
    name="start",
    actor=Actor.CLAIMER,
    selection=Selection.SWEEP,
    over=(QUEUE, JOB),
    acts_on="job",
    guards=(Guard("pending", Equal(of("job", "status"), Const(PENDING)), "§2 claim", "only what waits is claimed"),),
    cases=(Case("started", (), (Assignment(of("job", "status"), Const(RUNNING)),), "a worker holds the job"),),
    clause="§2 claim",
    meaning="A worker takes a job.",
)

ITSELF = Equal(of("each", "job_id"), of("job", "job_id"))
ITS_CHILD = Equal(of("each", "parent_id"), of("job", "job_id"))
EACH_RUNS = Equal(of("each", "status"), Const(RUNNING))


def called_off(ends: TruthTerm, meaning: str) -> ForEach:
    """A job and its live children are cancelled: at once where ``ends`` holds of ``each``, else the holder is asked."""

    def where_it_ends(then: ValueTerm, otherwise: ValueTerm) -> ValueTerm:
        return Choose(ends, then, otherwise)

    requested = of("each", "cancel_requested_at")
    first_kept = Choose(Missing(requested), Now(), requested)
    return ForEach(
        (Variable("each", "submission", of="queue"),),
        all_of(is_live("each"), any_of(ITSELF, ITS_CHILD)),
        (
            Assignment(of("each", "status"), where_it_ends(Const(CANCELLED), Const(RUNNING))),
            Assignment(requested, where_it_ends(requested, first_kept)),
            Assignment(of("each", "seat"), where_it_ends(NULL, of("each", "seat"))),
            Assignment(of("each", "tenant_seat"), where_it_ends(NULL, of("each", "tenant_seat"))),
        ),
        meaning,
    )


REQUEST_CANCEL = Operation(
    name="request_cancel",
    actor=Actor.CLIENT,
    selection=Selection.NAMED,
    over=(QUEUE, JOB),
    acts_on="job",
    guards=(Guard("not_ended", is_live("job"), "§2 request_cancel", "what has ended stays as it ended"),),
    cases=(
        Case(
            "written_through",
            (),
            (),
            "the job and its children end at once where nobody holds them; the other holders are asked to stop",
            also=(called_off(Not(EACH_RUNS), "it is cancelled, or its holder is asked to stop"),),
        ),
    ),
    clause="§2 request_cancel, Parents",
    meaning="A client asks for a job to stop; its live children are asked in the same transaction.",
)

FINISH = Operation(
    name="finish",
    actor=Actor.HOLDER,
    selection=Selection.NAMED,
    over=(QUEUE, JOB),
    acts_on="job",
    parameters=(Parameter("calls_off", Sort.FLAG, "whether the holder fails it with a code of the family CANCEL"),),
    guards=(Guard("running", Equal(of("job", "status"), Const(RUNNING)), "§2 held", "only a held job is finished"),),
    cases=in_order(
        Case(
            "cancelled",
            (
                Guard(
                    "stopped",
                    any_of(present(of("job", "cancel_requested_at")), Holds(Param("calls_off"))),
                    "§2 fail",
                    "a cancel was requested, or the holder calls the work off",
                ),
            ),
            (),
            "the job ends cancelled, and nothing goes on for it",
            also=(
                called_off(
                    any_of(ITSELF, Not(EACH_RUNS)), "the job is cancelled, its children are, or are asked to stop"
                ),
            ),
        ),
        Case(
            "ended",
            (),
            (
                Assignment(of("job", "status"), Const(ENDED)),
                Assignment(of("job", "seat"), NULL),
                Assignment(of("job", "tenant_seat"), NULL),
            ),
            "the job has ended by its own word and gives its places back",
        ),
    ),
    clause="§2 succeed, fail",
    meaning="A holder ends a job.",
)

OPERATIONS: tuple[Operation, ...] = (SUBMIT, SUBMIT_CHILD, START, REQUEST_CANCEL, FINISH)

QUEUE_MACHINE = Machine(
    name="queue",
    meaning="The jobs that are admitted under one lock.",
    fields=(Field("name", Sort.IDENTITY, "the name of the queue", nullable=False, fixed=True),),
)

SUBMISSION_MACHINE = Machine(
    name="submission",
    meaning="A job as the admission sees it: live on its seats, or ended.",
    fields=(
        Field("status", Sort.WORD, "where it stands", nullable=False, words=tuple(s.name for s in STATUSES)),
        Field("job_id", Sort.IDENTITY, "its identity", nullable=False, fixed=True),
        Field("parent_id", Sort.IDENTITY, "the job that it is part of"),
        Field("tenant", Sort.IDENTITY, "for whom it is", nullable=False, fixed=True),
        Field("dedupe_key", Sort.IDENTITY, "what makes two submissions the same", fixed=True),
        Field("seat", Sort.COUNT, "its seat in the queue, while it is live", ghost=True),
        Field("tenant_seat", Sort.COUNT, "its seat among those of its tenant, while it is live", ghost=True),
        Field("cancel_requested_at", Sort.INSTANT, "when its holder was first asked to stop"),
    ),
    statuses=STATUSES,
    table=TABLE,
    created_by="submit",
    belongs_to="queue",
)

# --- what is stated ---------------------------------------------------------------------------------------------------

IS_CHILD = Equal(of("child", "parent_id"), of("parent", "job_id"))

INVARIANTS: tuple[Invariant, ...] = (
    Invariant(
        "live_on_its_seats",
        "§2 enqueue",
        (QUEUE, JOB),
        all_of(
            implies(
                is_live("job"),
                all_of(
                    AtMost(Const(1), of("job", "seat")),
                    AtMost(of("job", "seat"), Setting("capacity")),
                    AtMost(Const(1), of("job", "tenant_seat")),
                    AtMost(of("job", "tenant_seat"), Setting("tenant_capacity")),
                ),
            ),
            implies(Not(is_live("job")), all_of(Missing(of("job", "seat")), Missing(of("job", "tenant_seat")))),
        ),
        "A live job has a seat of its queue and one of its tenant, an ended one has given them back.",
    ),
    Invariant(
        "never_above_capacity",
        "§2 enqueue, §5 LIMIT",
        (QUEUE, JOB, OTHER),
        Not(Equal(of("job", "seat"), of("other", "seat"))),
        "No two live jobs share one of the seats 1 to N: at most N are live.",
    ),
    Invariant(
        "never_above_tenant_capacity",
        "§2 enqueue, §5 LIMIT",
        (QUEUE, JOB, OTHER),
        Not(
            all_of(
                Equal(of("job", "tenant"), of("other", "tenant")),
                Equal(of("job", "tenant_seat"), of("other", "tenant_seat")),
            )
        ),
        "No two live jobs of a tenant share one of its seats.",
    ),
    Invariant(
        "one_live_job_a_key",
        "D-16",
        (QUEUE, JOB, OTHER),
        Not(all_of(is_live("job"), is_live("other"), Equal(of("job", "dedupe_key"), of("other", "dedupe_key")))),
        "No two live jobs have the same key.",
    ),
    Invariant(
        "identities_differ",
        "§2 enqueue",
        (QUEUE, JOB, OTHER),
        Not(
            all_of(
                present(of("job", "status")),
                present(of("other", "status")),
                Equal(of("job", "job_id"), of("other", "job_id")),
            )
        ),
        "No two jobs have the same identity.",
    ),
    Invariant(
        "no_child_left_behind",
        "§2 Parents",
        (QUEUE, PARENT, CHILD),
        implies(
            all_of(
                IS_CHILD,
                any_of(Equal(of("parent", "status"), Const(CANCELLED)), is_stopping("parent")),
                is_live("child"),
            ),
            is_stopping("child"),
        ),
        "While a live child goes on, nobody has cancelled its parent.",
    ),
    Invariant(
        "one_level",
        "§2 Parents",
        (QUEUE, PARENT, CHILD),
        implies(all_of(IS_CHILD, present(of("parent", "status"))), Missing(of("parent", "parent_id"))),
        "A child has no children.",
    ),
    Invariant(
        "parents_are_known",
        "§2 Parents",
        (QUEUE, CHILD),
        implies(
            present(of("child", "parent_id")),
            all_of(
                present(of("child", "status")),
                Some(
                    "known",
                    "submission",
                    "queue",
                    all_of(present(of("known", "status")), Equal(of("known", "job_id"), of("child", "parent_id"))),
                ),
            ),
        ),
        "The parent of a child is a job of the queue.",
    ),
    Invariant(
        "pending_uncancelled",
        "§3, INV-6",
        (QUEUE, JOB),
        implies(Equal(of("job", "status"), Const(PENDING)), Missing(of("job", "cancel_requested_at"))),
        "No job waits with a cancel request: it would have ended at once.",
    ),
)

NAME_AND_KEY_FREE = all_of(
    Missing(of("job", "status")),
    nobody(all_of(present(of("taken", "status")), Equal(of("taken", "job_id"), of("job", "job_id")))),
    nobody(all_of(is_live("taken"), Equal(of("taken", "dedupe_key"), of("job", "dedupe_key")))),
)


def free_at(seat: ValueTerm, tenant_seat: ValueTerm) -> TruthTerm:
    """Nobody sits on that seat of the queue, and no job of the tenant on that seat of the tenant."""
    return all_of(
        nobody(Equal(of("taken", "seat"), seat)),
        nobody(
            all_of(Equal(of("taken", "tenant"), of("job", "tenant")), Equal(of("taken", "tenant_seat"), tenant_seat))
        ),
    )


OUTER_SEATS_FREE = any_of(
    *(
        free_at(seat, tenant_seat)
        for seat in (Const(1), Setting("capacity"))
        for tenant_seat in (Const(1), Setting("tenant_capacity"))
    )
)

STEP_PROPERTIES: tuple[StepProperty, ...] = (
    *arrows_kept((SUBMIT, SUBMIT_CHILD, START)),
    StepProperty(
        "ended_frozen",
        "§2 rules",
        (QUEUE, JOB),
        implies(
            OneOf(of("job", "status"), (ENDED, CANCELLED)),
            all_of(
                *(
                    Same(of("job", name), of("job", name, after=True))
                    for name in ("status", "parent_id", "seat", "tenant_seat", "cancel_requested_at")
                )
            ),
        ),
        "What has ended never changes again.",
    ),
    StepProperty(
        "cancel_answers",
        "§2 request_cancel, D-4",
        (QUEUE, JOB),
        any_of(
            Equal(of("job", "status", after=True), Const(CANCELLED)),
            present(of("job", "cancel_requested_at", after=True)),
        ),
        "Whoever asks for a cancel gets it, or its holder is asked.",
        of="request_cancel",
    ),
    *(
        StepProperty(
            f"{operation}_stays_in_the_family",
            "§2 Parents, D-26",
            (QUEUE, JOB, OTHER),
            implies(
                Not(Equal(of("other", "parent_id"), of("job", "job_id"))),
                all_of(
                    Same(of("other", "status"), of("other", "status", after=True)),
                    Same(of("other", "cancel_requested_at"), of("other", "cancel_requested_at", after=True)),
                ),
            ),
            f"What {operation} does to a job touches its children and nobody else.",
            of=operation,
        )
        for operation in ("request_cancel", "finish")
    ),
    StepProperty(
        "child_in_time",
        "§2 Parents",
        (QUEUE, JOB, PARENT),
        all_of(
            is_live("parent"),
            Missing(of("parent", "cancel_requested_at")),
            Equal(of("job", "parent_id", after=True), of("parent", "job_id")),
        ),
        "A child is admitted only while its parent goes on, and names it.",
        of="submit_child",
    ),
    StepProperty(
        "first_request_kept",
        "§2 request_cancel",
        (QUEUE, JOB),
        implies(
            present(of("job", "cancel_requested_at")),
            Same(of("job", "cancel_requested_at"), of("job", "cancel_requested_at", after=True)),
        ),
        "The first request to stop is kept, with its time.",
    ),
    StepProperty(
        "cancelled_by_somebody",
        "§2",
        (QUEUE, JOB),
        implies(
            all_of(is_live("job"), Not(is_stopping("job"))),
            any_of(Holds(Param("calls_off")), Not(Equal(of("job", "status", after=True), Const(CANCELLED)))),
        ),
        "A holder ends its job cancelled only if somebody asked for it, or it says so itself.",
        of="finish",
    ),
    StepProperty(
        "holder_ends_what_it_holds",
        "§2 held",
        (QUEUE, JOB),
        all_of(
            Equal(of("job", "status"), Const(RUNNING)),
            OneOf(of("job", "status", after=True), (ENDED, CANCELLED)),
            implies(
                any_of(is_stopping("job"), Holds(Param("calls_off"))),
                Equal(of("job", "status", after=True), Const(CANCELLED)),
            ),
        ),
        "A holder ends a job that runs, and ends it cancelled where it was asked to stop or calls it off itself.",
        of="finish",
    ),
    StepProperty(
        "starts_what_waits",
        "INV-7",
        (QUEUE, JOB),
        Equal(of("job", "status"), Const(PENDING)),
        "Only what waits is started.",
        of="start",
    ),
)

WITNESSES: tuple[Witness, ...] = (
    Witness(
        "last_seat_taken",
        "§2 enqueue",
        (QUEUE, JOB, OTHER),
        all_of(is_live("other"), Equal(of("job", "seat"), Setting("capacity"))),
        "A queue is filled up to its last seat.",
    ),
    Witness(
        "tenants_side_by_side",
        "§2 enqueue",
        (QUEUE, JOB, OTHER),
        all_of(
            Equal(of("job", "tenant_seat"), of("other", "tenant_seat")),
            Not(Equal(of("job", "tenant"), of("other", "tenant"))),
        ),
        "Jobs of two tenants are live, each on the first seat of its tenant.",
    ),
    Witness(
        "key_used_again",
        "D-16",
        (QUEUE, JOB, OTHER),
        all_of(
            is_live("job"),
            Not(is_live("other")),
            Equal(of("job", "dedupe_key"), of("other", "dedupe_key")),
        ),
        "A key is used again after its job has ended.",
    ),
    Witness(
        "duplicate_would_be_told_cancelling",
        "D-16",
        (QUEUE, JOB),
        all_of(is_stopping("job"), present(of("job", "dedupe_key"))),
        "A job with a key has been asked to stop and runs on.",
    ),
    Witness(
        "child_asked_to_stop",
        "§2 Parents",
        (QUEUE, PARENT, CHILD),
        all_of(IS_CHILD, Equal(of("parent", "status"), Const(CANCELLED)), is_stopping("child")),
        "A parent is cancelled while the holder of its child has not answered yet.",
    ),
    Witness(
        "child_cancelled_with_its_parent",
        "§2 Parents",
        (QUEUE, PARENT, CHILD),
        all_of(IS_CHILD, is_stopping("parent"), Equal(of("child", "status"), Const(CANCELLED))),
        "A child that waited is cancelled with its parent.",
    ),
    Witness(
        "parent_ended_before_its_child",
        "§2 Parents",
        (QUEUE, PARENT, CHILD),
        all_of(IS_CHILD, Equal(of("parent", "status"), Const(ENDED)), is_live("child")),
        "A parent ended by its own word while a child goes on.",
    ),
)

PROGRESS: tuple[Progress, ...] = (
    Progress(
        "room_lets_in",
        "§2 enqueue, D-16",
        (QUEUE, JOB),
        all_of(NAME_AND_KEY_FREE, OUTER_SEATS_FREE),
        ("submit",),
        "While the first or the last seat is free a job is refused only for a name that is taken or a live job's key.",
        at_once=True,
    ),
    Progress(
        "room_lets_in_children",
        "§2 enqueue, Parents, D-16",
        (QUEUE, JOB, PARENT),
        all_of(
            NAME_AND_KEY_FREE,
            OUTER_SEATS_FREE,
            is_live("parent"),
            Missing(of("parent", "cancel_requested_at")),
            Missing(of("parent", "parent_id")),
        ),
        ("submit_child",),
        "A child is refused only for what any job is refused for, or because of its parent.",
        at_once=True,
    ),
    Progress(
        "every_job_can_end",
        "§3 no limbo",
        (QUEUE, JOB),
        is_live("job"),
        ("start", "finish"),
        "A live job can be started or finished.",
        at_once=True,
    ),
    Progress(
        "every_job_can_be_called_off",
        "§2 request_cancel",
        (QUEUE, JOB),
        is_live("job"),
        ("request_cancel",),
        "A cancel of a live job is never refused.",
        at_once=True,
    ),
)

ADMISSION_CONTRACT = Contract(
    name="admission",
    machines=(QUEUE_MACHINE, SUBMISSION_MACHINE),
    operations=OPERATIONS,
    invariants=INVARIANTS,
    step_properties=STEP_PROPERTIES,
    witnesses=WITNESSES,
    progress=PROGRESS,
    settings=SETTINGS,
    settings_assumed=SETTINGS_ASSUMED,
)

# --- groups -----------------------------------------------------------------------------------------------------------

WAITING, STOPPING = "waiting", "stopping"
ASKING, WITHDRAWN, ANSWERED = "asking", "withdrawn", "answered"

SHARED_STATUSES: tuple[Status, ...] = (
    Status(WAITING, "wanted, and held by nobody"),
    Status(RUNNING, "wanted, and held by a worker"),
    Status(STOPPING, "nobody wants it any more; its holder has been asked to stop"),
    Status(ENDED, "ended by its own word", terminal=True),
    Status(CANCELLED, "ended because its last asker withdrew", terminal=True),
)

SHARED_TABLE: dict[str, tuple[str, ...]] = {
    WAITING: ("begin", "withdraw"),
    RUNNING: ("withdraw", "end"),
    STOPPING: ("end",),
    ENDED: (),
    CANCELLED: (),
}

ASSOCIATION_STATUSES: tuple[Status, ...] = (
    Status(ASKING, "the caller waits for the job"),
    Status(WITHDRAWN, "the caller has called off its own association", terminal=True),
    Status(ANSWERED, "the job has ended, the caller knows how", terminal=True),
)

ASSOCIATION_TABLE: dict[str, tuple[str, ...]] = {
    ASKING: ("withdraw", "end"),
    WITHDRAWN: (),
    ANSWERED: (),
}

SHARED = Variable("shared", "shared_job")
LINK = Variable("link", "association", of="shared")
OTHER_LINK = Variable("other", "association", of="shared")


def in_state(*names: str) -> TruthTerm:
    """The shared job is in one of these statuses."""
    status = of("shared", "status")
    return Equal(status, Const(names[0])) if len(names) == 1 else OneOf(status, names)


def is_asking(link: str) -> TruthTerm:
    """The caller of the association wants the job."""
    return Equal(of(link, "status"), Const(ASKING))


NEW_LINK = Guard("link_new", Missing(of("link", "status")), "D-26", "an association is made once")
LINKED = Assignment(of("link", "status"), Const(ASKING))

ASK_FIRST = Operation(
    name="ask_first",
    actor=Actor.CLIENT,
    selection=Selection.NAMED,
    over=(SHARED, LINK),
    guards=(
        Guard("job_new", Missing(of("shared", "status")), "D-16", "a job that is live is shared, not made again"),
        NEW_LINK,
    ),
    cases=(
        Case(
            "admitted",
            (),
            (Assignment(of("shared", "status"), Const(WAITING)), LINKED),
            "the job waits, and its first caller is associated with it",
        ),
    ),
    clause="§2 enqueue, D-26",
    meaning="A caller or group asks for work that nobody has asked for yet.",
)

ASK_TOO = Operation(
    name="ask_too",
    actor=Actor.CLIENT,
    selection=Selection.NAMED,
    over=(SHARED, LINK),
    acts_on="link",
    guards=(
        Guard(
            "job_wanted",
            in_state(WAITING, RUNNING),
            "D-16",
            "a job that is being stopped, or has ended, answers nobody new",
        ),
        NEW_LINK,
        Guard(
            "caller_new",
            Not(
                Some(
                    "known",
                    "association",
                    "shared",
                    all_of(is_asking("known"), Equal(of("known", "caller"), of("link", "caller"))),
                )
            ),
            "D-26",
            "a caller has one association with a job, so that withdrawing it means something",
        ),
    ),
    cases=(Case("associated", (), (LINKED,), "the caller shares the live job"),),
    clause="D-16, D-26",
    meaning="A further caller or group asks for the same work, and is given the live job.",
)

BEGIN = Operation(
    name="begin",
    actor=Actor.CLAIMER,
    selection=Selection.SWEEP,
    over=(SHARED,),
    guards=(Guard("waiting", in_state(WAITING), "§2 claim", "only what waits is claimed"),),
    cases=(Case("begun", (), (Assignment(of("shared", "status"), Const(RUNNING)),), "a worker holds the job"),),
    clause="§2 claim",
    meaning="A worker takes the job.",
)

WITHDRAW = Operation(
    name="withdraw",
    actor=Actor.CLIENT,
    selection=Selection.NAMED,
    over=(SHARED, LINK),
    acts_on="link",
    guards=(Guard("asking", is_asking("link"), "D-26", "a caller withdraws what it has asked for, once"),),
    cases=in_order(
        Case(
            "others_ask",
            (
                Guard(
                    "asked_by_another",
                    Some(
                        "further",
                        "association",
                        "shared",
                        all_of(is_asking("further"), Not(Equal(of("further", "caller"), of("link", "caller")))),
                    ),
                    "D-26",
                    "somebody else still waits for the job",
                ),
            ),
            (Assignment(of("link", "status"), Const(WITHDRAWN)),),
            "only the association ends, the job goes on",
        ),
        Case(
            "cancelled",
            (Guard("unheld", in_state(WAITING), "D-4, D-26", "nobody would have to stop"),),
            (
                Assignment(of("link", "status"), Const(WITHDRAWN)),
                Assignment(of("shared", "status"), Const(CANCELLED)),
            ),
            "nobody wants the job any more: it ends at once",
        ),
        Case(
            "stopping",
            (Guard("held_by_a_worker", in_state(RUNNING), "D-26", "its holder has to stop first"),),
            (
                Assignment(of("link", "status"), Const(WITHDRAWN)),
                Assignment(of("shared", "status"), Const(STOPPING)),
            ),
            "nobody wants the job any more: its holder is asked to stop",
        ),
    ),
    clause="D-26",
    meaning="A caller or group calls off its own association with the job.",
)

END = Operation(
    name="end",
    actor=Actor.HOLDER,
    selection=Selection.NAMED,
    over=(SHARED,),
    guards=(Guard("held", in_state(RUNNING, STOPPING), "§2 held", "only a held job is ended by a holder"),),
    cases=in_order(
        Case(
            "cancelled",
            (Guard("stopping", in_state(STOPPING), "D-26", "its last asker has withdrawn"),),
            (Assignment(of("shared", "status"), Const(CANCELLED)),),
            "the holder has stopped",
        ),
        Case(
            "ended",
            (),
            (Assignment(of("shared", "status"), Const(ENDED)),),
            "the job has ended for all who asked",
            also=(
                ForEach(
                    (LINK,),
                    is_asking("link"),
                    (Assignment(of("link", "status"), Const(ANSWERED)),),
                    "every caller that still asks is answered",
                ),
            ),
        ),
    ),
    clause="§2 succeed, fail",
    meaning="A holder ends the job.",
)

SHARED_MACHINE = Machine(
    name="shared_job",
    meaning="A job that several callers or groups may want.",
    fields=(
        Field("status", Sort.WORD, "where it stands", nullable=False, words=tuple(s.name for s in SHARED_STATUSES)),
    ),
    statuses=SHARED_STATUSES,
    table=SHARED_TABLE,
    created_by="ask_first",
)

ASSOCIATION_MACHINE = Machine(
    name="association",
    meaning="One caller's or group's interest in a job, and nothing more.",
    fields=(
        Field(
            "status",
            Sort.WORD,
            "where it stands",
            nullable=False,
            words=tuple(s.name for s in ASSOCIATION_STATUSES),
        ),
        Field("caller", Sort.IDENTITY, "the caller or group", nullable=False, fixed=True),
    ),
    statuses=ASSOCIATION_STATUSES,
    table=ASSOCIATION_TABLE,
    created_by="ask_first",
    belongs_to="shared_job",
)

GROUP_OPERATIONS: tuple[Operation, ...] = (ASK_FIRST, ASK_TOO, BEGIN, WITHDRAW, END)

GROUP_CONTRACT = Contract(
    name="group",
    machines=(SHARED_MACHINE, ASSOCIATION_MACHINE),
    operations=GROUP_OPERATIONS,
    invariants=(
        Invariant(
            "live_while_wanted",
            "D-26",
            (SHARED,),
            implies(in_state(WAITING, RUNNING), Some("some", "association", "shared", is_asking("some"))),
            "While a job goes on somebody wants it.",
        ),
        Invariant(
            "wanted_while_live",
            "D-26",
            (SHARED, LINK),
            implies(is_asking("link"), in_state(WAITING, RUNNING)),
            "While somebody wants a job nobody has called it off.",
        ),
        Invariant(
            "associated_with_a_job",
            "D-26",
            (SHARED, LINK),
            implies(present(of("link", "status")), present(of("shared", "status"))),
            "An association is one with a job that exists.",
        ),
        Invariant(
            "one_association_a_caller",
            "D-26",
            (SHARED, LINK, OTHER_LINK),
            Not(all_of(is_asking("link"), is_asking("other"), Equal(of("link", "caller"), of("other", "caller")))),
            "A caller waits for a job by one association.",
        ),
    ),
    step_properties=(
        *arrows_kept(operation for operation in GROUP_OPERATIONS if operation is not WITHDRAW),
        StepProperty(
            "a_caller_withdraws_its_own",
            "D-26",
            (SHARED, LINK, OTHER_LINK),
            Same(of("other", "status"), of("other", "status", after=True)),
            "A caller that withdraws leaves the associations of others alone.",
            of="withdraw",
        ),
        StepProperty(
            "not_cancelled_over_another",
            "D-26",
            (SHARED, LINK, OTHER_LINK),
            implies(is_asking("other"), Same(of("shared", "status"), of("shared", "status", after=True))),
            "A job that another caller wants is not cancelled by one that withdraws.",
            of="withdraw",
        ),
        StepProperty(
            "group_frozen",
            "§2 rules",
            (SHARED, LINK),
            all_of(
                implies(in_state(ENDED, CANCELLED), Same(of("shared", "status"), of("shared", "status", after=True))),
                implies(
                    OneOf(of("link", "status"), (WITHDRAWN, ANSWERED)),
                    Same(of("link", "status"), of("link", "status", after=True)),
                ),
            ),
            "What has ended never changes again.",
        ),
        StepProperty(
            "stopped_means_cancelled",
            "D-2, D-26",
            (SHARED,),
            implies(in_state(STOPPING), OneOf(of("shared", "status", after=True), (STOPPING, CANCELLED))),
            "A job that nobody wants any more ends cancelled.",
        ),
        StepProperty(
            "begun_once",
            "INV-7",
            (SHARED,),
            in_state(WAITING),
            "Only what waits is begun.",
            of="begin",
        ),
        StepProperty(
            "asked_first_once",
            "D-16",
            (SHARED, LINK),
            Missing(of("shared", "status")),
            "A job is made once.",
            of="ask_first",
        ),
        StepProperty(
            "ended_by_its_holder",
            "§2 held",
            (SHARED,),
            in_state(RUNNING, STOPPING),
            "A holder ends what it holds.",
            of="end",
        ),
        StepProperty(
            "withdrawn_once",
            "D-26",
            (SHARED, LINK),
            is_asking("link"),
            "A caller withdraws what it has asked for.",
            of="withdraw",
        ),
    ),
    witnesses=(
        Witness(
            "shared_by_two",
            "D-26",
            (SHARED, LINK, OTHER_LINK),
            all_of(in_state(RUNNING), is_asking("link"), is_asking("other")),
            "Two callers wait for one job.",
        ),
        Witness(
            "goes_on_for_the_other",
            "D-26",
            (SHARED, LINK, OTHER_LINK),
            all_of(in_state(RUNNING), Equal(of("link", "status"), Const(WITHDRAWN)), is_asking("other")),
            "One caller has withdrawn, the job goes on for the other.",
        ),
        Witness(
            "ended_with_its_last_asker",
            "D-26",
            (SHARED, LINK, OTHER_LINK),
            all_of(
                in_state(CANCELLED),
                Equal(of("link", "status"), Const(WITHDRAWN)),
                Equal(of("other", "status"), Const(WITHDRAWN)),
            ),
            "Both callers have withdrawn, and the job is cancelled.",
        ),
        Witness(
            "asked_again_by_the_same",
            "D-26",
            (SHARED, LINK, OTHER_LINK),
            all_of(
                is_asking("link"),
                Equal(of("other", "status"), Const(WITHDRAWN)),
                Equal(of("link", "caller"), of("other", "caller")),
            ),
            "A caller that had withdrawn asks again while the job goes on for somebody else.",
        ),
    ),
    progress=(
        Progress(
            "shared_job_goes_on",
            "§3 no limbo",
            (SHARED,),
            in_state(WAITING, RUNNING, STOPPING),
            ("begin", "end"),
            "A job that is live can be begun or ended.",
            at_once=True,
        ),
        Progress(
            "withdrawal_is_never_refused",
            "D-26",
            (SHARED, LINK),
            is_asking("link"),
            ("withdraw",),
            "Whoever asks may withdraw.",
            at_once=True,
        ),
    ),
)
