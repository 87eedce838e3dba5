"""Hooks in a claim, and the quarantine of a row whose hook keeps raising (contract §2 Hooks).

Theory
======
A claim takes a *batch* of due rows in one transaction, and calls a hook for them before it commits. A hook may raise;
then the batch is rolled back, and nothing is left of it. If that were all, the next claim would choose the same rows
and raise again: one poisonous row would stop its queue for ever.

So a batch that was rolled back is tried again row by row, each row in a transaction of its own. A row whose hook raises
is *set back*: it stays pending, reported, and is not due before the back-off is over. The others are claimed. A pass is

    picking --batch goes through--> done
    picking --a hook raises--> singly --each picked row is claimed or set back--> done

That a pass comes to its end is said by a measure. Terms do not count rows, so it is one for each row: the phase of the
pass first, and within a phase whether the row is still to be dealt with. Every step of a pass lowers it for the row
that it deals with, and raises it for none; there are finitely many rows.

Which rows are picked is left open here: any order and any limit is one way to pick. The hook is a property of the row
(``poisonous``), which somebody may mend; ``on_recovered`` is treated alike.
"""

from __future__ import annotations

from fencepost_model.arrows import arrows_kept
from fencepost_model.contract import Contract
from fencepost_model.measures import lowered
from fencepost_model.shapes import (
    Actor,
    Assignment,
    Case,
    Descent,
    Field,
    ForEach,
    Guard,
    Invariant,
    Machine,
    Measure,
    Operation,
    Parameter,
    Progress,
    Selection,
    Sort,
    Status,
    StepProperty,
    Variable,
    Witness,
    in_order,
)
from fencepost_model.terms import (
    AtMost,
    Choose,
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
    Same,
    Some,
    TruthTerm,
    ValueTerm,
    all_of,
    any_of,
    implies,
    present,
    value_in_the_state_after,
)

# --- words ------------------------------------------------------------------------------------------------------------

PICKING, SINGLY, DONE = "picking", "singly", "done"
PENDING, CLAIMED = "pending", "claimed"

PASS_STATUSES: tuple[Status, ...] = (
    Status(PICKING, "rows are picked for a batch"),
    Status(SINGLY, "the batch was rolled back; its rows are tried one by one"),
    Status(DONE, "every row of the batch was dealt with; another pass may begin"),
)
PASS_TABLE: dict[str, tuple[str, ...]] = {
    PICKING: ("pick", "claim_batch", "break_off"),
    SINGLY: ("end_pass", "break_off"),
    DONE: ("begin_pass",),
}

ROW_STATUSES: tuple[Status, ...] = (
    Status(PENDING, "waits to be claimed"),
    Status(CLAIMED, "claimed, its hook went through", terminal=True),
)
ROW_TABLE: dict[str, tuple[str, ...]] = {PENDING: ("mend", "claim_batch", "claim_one"), CLAIMED: ()}

PASS = Variable("pass", "claiming")
ROW = Variable("row", "row", of="pass")
OTHER_ROW = Variable("other", "row", of="pass")
GOOD_ROW = Variable("good", "row", of="pass")
NOW = Now()


def phase(*names: str, after: bool = False) -> TruthTerm:
    """The pass is in one of these phases."""
    status = FieldOf("pass", "status", after)
    return Equal(status, Const(names[0])) if len(names) == 1 else OneOf(status, names)


def of(entity: str, name: str, *, after: bool = False) -> FieldOf:
    """A field of the row that a variable stands for."""
    return FieldOf(entity, name, after)


def is_picked(row: str, *, after: bool = False) -> TruthTerm:
    """The row belongs to the batch and has not been dealt with."""
    return Holds(of(row, "picked", after=after))


def is_pending(row: str, *, after: bool = False) -> TruthTerm:
    """The row waits to be claimed."""
    return Equal(of(row, "status", after=after), Const(PENDING))


def is_due(row: str) -> TruthTerm:
    """The back-off of the row, where it has one, is over."""
    return any_of(Missing(of(row, "next_attempt_at")), AtMost(of(row, "next_attempt_at"), NOW))


def is_poisonous(row: str) -> TruthTerm:
    """The hook raises for this row."""
    return Holds(of(row, "poisonous"))


def to_phase(name: str) -> Assignment:
    """The pass goes over to a phase."""
    return Assignment(FieldOf("pass", "status"), Const(name))


# --- operations -------------------------------------------------------------------------------------------------------

DELAY = Parameter(
    "delay",
    Sort.DURATION,
    "the back-off of a row whose hook raised",
    chosen_by="store",
    assumed=Less(Const(0), Param("delay")),
)
IN_PICKING = Guard("picking", phase(PICKING), "§2 Hooks", "a batch is put together before it is claimed")
IN_SINGLY = Guard(
    "singly", phase(SINGLY), "§2 Hooks", "rows are tried by themselves only after the batch was rolled back"
)
A_HOOK_RAISES = Some("culprit", "row", "pass", all_of(is_picked("culprit"), is_poisonous("culprit")))

OFFER = Operation(
    name="offer",
    actor=Actor.CLIENT,
    selection=Selection.NAMED,
    over=(PASS, ROW),
    acts_on="row",
    parameters=(Parameter("poisonous", Sort.FLAG, "whether the hook raises for it"),),
    guards=(Guard("row_new", Missing(of("row", "status")), "§2 enqueue", "a row is created once"),),
    cases=(
        Case(
            "offered",
            (),
            (
                Assignment(of("row", "status"), Const(PENDING)),
                Assignment(of("row", "poisonous"), Param("poisonous")),
                Assignment(of("row", "picked"), Const(False)),
                Assignment(of("row", "reported"), Const(False)),
            ),
            "the row waits to be claimed",
        ),
    ),
    clause="§2 enqueue",
    meaning="A client hands in a row.",
)

BEGIN_PASS = Operation(
    name="begin_pass",
    actor=Actor.CLAIMER,
    selection=Selection.SWEEP,
    over=(PASS,),
    guards=(
        Guard(
            "none_begun",
            any_of(Missing(FieldOf("pass", "status")), phase(DONE)),
            "§2 Hooks",
            "a pass is brought to its end",
        ),
    ),
    cases=(Case("begun", (), (to_phase(PICKING),), "rows may be picked"),),
    clause="§2 claim",
    meaning="A worker asks for work.",
)

PICK = Operation(
    name="pick",
    actor=Actor.CLAIMER,
    selection=Selection.SWEEP,
    over=(PASS, ROW),
    acts_on="pass",
    guards=(
        IN_PICKING,
        Guard("pending", is_pending("row"), "§2 claim", "only what waits is claimed"),
        Guard(
            "due",
            is_due("row"),
            "§2 claim",
            "a row that was set back is not due before its back-off is over",
        ),
        Guard("not_picked", Not(is_picked("row")), "§2 claim", "a row is in a batch once"),
    ),
    cases=(Case("picked", (), (Assignment(of("row", "picked"), Const(True)),), "the row is in the batch"),),
    clause="§2 claim",
    meaning="A due row is put into the batch, by whatever order and limit.",
)

CLAIM_BATCH = Operation(
    name="claim_batch",
    actor=Actor.CLAIMER,
    selection=Selection.SWEEP,
    over=(PASS,),
    guards=(IN_PICKING,),
    cases=in_order(
        Case(
            "rolled_back",
            (Guard("a_hook_raises", A_HOOK_RAISES, "§2 Hooks", "an exception rolls the whole batch back"),),
            (to_phase(SINGLY),),
            "no row has changed; each is tried by itself",
        ),
        Case(
            "claimed",
            (),
            (to_phase(DONE),),
            "the whole batch is claimed",
            also=(
                ForEach(
                    (ROW,),
                    all_of(is_pending("row"), is_picked("row")),
                    (
                        Assignment(of("row", "status"), Const(CLAIMED)),
                        Assignment(of("row", "picked"), Const(False)),
                    ),
                    "every row of the batch is claimed",
                ),
            ),
        ),
    ),
    clause="§2 claim, Hooks",
    meaning="The batch is claimed in one transaction, in which the hook is called.",
)

CLAIM_ONE = Operation(
    name="claim_one",
    actor=Actor.CLAIMER,
    selection=Selection.SWEEP,
    over=(PASS, ROW),
    acts_on="row",
    parameters=(DELAY,),
    guards=(
        IN_SINGLY,
        Guard("pending", is_pending("row"), "§2 claim", "only what waits is claimed"),
        Guard("picked", is_picked("row"), "§2 Hooks", "only rows of the batch are tried, each once"),
    ),
    cases=in_order(
        Case(
            "set_back",
            (Guard("its_hook_raises", is_poisonous("row"), "§2 Hooks", "this is the culprit"),),
            (
                Assignment(of("row", "picked"), Const(False)),
                Assignment(of("row", "reported"), Const(True)),
                Assignment(of("row", "next_attempt_at"), Plus(NOW, Param("delay"))),
            ),
            "it stays pending, is reported, and is not due before the back-off is over",
        ),
        Case(
            "claimed",
            (),
            (
                Assignment(of("row", "status"), Const(CLAIMED)),
                Assignment(of("row", "picked"), Const(False)),
            ),
            "the row is claimed",
        ),
    ),
    clause="§2 Hooks",
    meaning="One row of a batch that was rolled back is tried in a transaction of its own.",
)

END_PASS = Operation(
    name="end_pass",
    actor=Actor.CLAIMER,
    selection=Selection.SWEEP,
    over=(PASS,),
    guards=(
        IN_SINGLY,
        Guard(
            "all_dealt_with",
            Not(Some("left", "row", "pass", is_picked("left"))),
            "§2 Hooks",
            "a good row of the batch is claimed before the pass ends",
        ),
    ),
    cases=(Case("ended", (), (to_phase(DONE),), "another pass may begin"),),
    clause="§2 Hooks",
    meaning="Every row of the batch has been claimed or set back.",
)

BREAK_OFF = Operation(
    name="break_off",
    actor=Actor.SYSTEM,
    selection=Selection.SWEEP,
    over=(PASS,),
    guards=(Guard("under_way", phase(PICKING, SINGLY), "§2 Hooks", "only a pass can be broken off"),),
    cases=(
        Case(
            "broken_off",
            (),
            (to_phase(DONE),),
            "what was committed stays, the rest is as before",
            also=(
                ForEach(
                    (ROW,),
                    is_picked("row"),
                    (Assignment(of("row", "picked"), Const(False)),),
                    "the row is in no batch any more",
                ),
            ),
        ),
    ),
    clause="§2 Hooks",
    meaning="The worker dies, or its task is cancelled, in the middle of a pass.",
)

MEND = Operation(
    name="mend",
    actor=Actor.CLIENT,
    selection=Selection.NAMED,
    over=(PASS, ROW),
    acts_on="row",
    guards=(
        Guard("pending", is_pending("row"), "§2 Hooks", "what has been claimed is beyond its hook"),
        Guard("poisonous", is_poisonous("row"), "§2 Hooks", "there is something to mend"),
    ),
    cases=(
        Case(
            "mended",
            (),
            (Assignment(of("row", "poisonous"), Const(False)),),
            "the hook goes through from now on",
        ),
    ),
    clause="§2 Hooks",
    meaning="Somebody sees the report and mends the row or its hook.",
)

OPERATIONS: tuple[Operation, ...] = (
    OFFER,
    BEGIN_PASS,
    PICK,
    CLAIM_BATCH,
    CLAIM_ONE,
    END_PASS,
    BREAK_OFF,
    MEND,
)

# --- machines ---------------------------------------------------------------------------------------------------------

PASS_MACHINE = Machine(
    name="claiming",
    meaning="One worker's claiming, pass after pass.",
    fields=(
        Field("status", Sort.WORD, "the phase of the pass", nullable=False, words=tuple(s.name for s in PASS_STATUSES)),
    ),
    statuses=PASS_STATUSES,
    table=PASS_TABLE,
    created_by="begin_pass",
)

ROW_MACHINE = Machine(
    name="row",
    meaning="A row that waits to be claimed, with a hook that may raise for it.",
    fields=(
        Field("status", Sort.WORD, "where it stands", nullable=False, words=tuple(s.name for s in ROW_STATUSES)),
        Field("poisonous", Sort.FLAG, "whether its hook raises", nullable=False),
        Field("picked", Sort.FLAG, "whether it is in the batch and not dealt with", nullable=False),
        Field("reported", Sort.FLAG, "whether somebody was told that its hook raised", nullable=False),
        Field("next_attempt_at", Sort.INSTANT, "not to be claimed before"),
    ),
    statuses=ROW_STATUSES,
    table=ROW_TABLE,
    created_by="offer",
    belongs_to="claiming",
)

# --- the measure of a pass --------------------------------------------------------------------------------------------

PHASES_LEFT: ValueTerm = Choose(phase(PICKING), Const(2), Choose(phase(SINGLY), Const(1), Const(0)))
TO_DEAL_WITH: ValueTerm = Choose(
    phase(PICKING),
    Choose(is_picked("row"), Const(0), Const(1)),
    Choose(all_of(phase(SINGLY), is_picked("row")), Const(1), Const(0)),
)

REST_OF_THE_PASS = Measure(
    name="rest_of_the_pass",
    clause="§2 Hooks",
    over=(PASS, ROW),
    parts=(
        Descent(falling=PHASES_LEFT, rising=Const(0), limit=Const(0)),
        Descent(falling=TO_DEAL_WITH, rising=Const(0), limit=Const(0)),
    ),
    by=("pick", "claim_batch", "claim_one", "end_pass", "break_off"),
    meaning="The phases that are left, then whether the row is still to be put into the batch or dealt with.",
)

# --- what is stated ---------------------------------------------------------------------------------------------------

INVARIANTS: tuple[Invariant, ...] = (
    Invariant(
        "picked_in_a_pass",
        "§2 Hooks",
        (PASS, ROW),
        implies(is_picked("row"), all_of(is_pending("row"), phase(PICKING, SINGLY))),
        "Only a pass holds rows in a batch, and only rows that wait.",
    ),
    Invariant(
        "set_back_is_reported",
        "§2 Hooks",
        (PASS, ROW),
        implies(present(of("row", "next_attempt_at")), Holds(of("row", "reported"))),
        "Whatever was set back has been reported.",
    ),
    Invariant(
        "good_rows_are_claimed",
        "§2 Hooks",
        (PASS, ROW),
        implies(Equal(of("row", "status"), Const(CLAIMED)), Not(is_poisonous("row"))),
        "No row is claimed whose hook did not go through.",
    ),
)

STEP_PROPERTIES: tuple[StepProperty, ...] = (
    *arrows_kept(operation for operation in OPERATIONS if operation is not CLAIM_ONE),
    *lowered(REST_OF_THE_PASS),
    StepProperty(
        "no_row_comes_back_within_a_pass",
        "§2 Hooks",
        (PASS, ROW),
        implies(
            all_of(phase(PICKING, SINGLY), Same(FieldOf("pass", "status"), FieldOf("pass", "status", after=True))),
            AtMost(value_in_the_state_after(TO_DEAL_WITH), TO_DEAL_WITH),
        ),
        "Within a phase no step makes more work with any row.",
    ),
    StepProperty(
        "rolled_back_whole",
        "§2 Hooks",
        (PASS, ROW),
        implies(
            phase(SINGLY, after=True),
            all_of(
                Same(of("row", "status"), of("row", "status", after=True)),
                Same(of("row", "picked"), of("row", "picked", after=True)),
            ),
        ),
        "Of a batch in which a hook raises nothing is left but that its rows are to be tried again.",
        of="claim_batch",
    ),
    StepProperty(
        "sound_batch_is_claimed",
        "§2 Hooks",
        (PASS,),
        implies(phase(SINGLY, after=True), A_HOOK_RAISES),
        "A batch is rolled back only if a hook raises for one of its own rows.",
        of="claim_batch",
    ),
    StepProperty(
        "good_row_is_claimed",
        "§2 Hooks",
        (PASS, ROW),
        implies(
            all_of(is_picked("row"), Not(is_poisonous("row")), phase(DONE, after=True)),
            Equal(of("row", "status", after=True), Const(CLAIMED)),
        ),
        "A pass that comes to its end has claimed every good row of its batch.",
        by=Actor.CLAIMER,
    ),
    StepProperty(
        "good_row_tried_is_claimed",
        "§2 Hooks",
        (PASS, ROW),
        all_of(
            is_picked("row"),
            phase(SINGLY),
            implies(Not(is_poisonous("row")), Equal(of("row", "status", after=True), Const(CLAIMED))),
        ),
        "A good row of a batch that was rolled back is claimed when its turn comes, whatever the others do.",
        of="claim_one",
    ),
    StepProperty(
        "culprit_is_set_back",
        "§2 Hooks",
        (PASS, ROW),
        implies(
            is_poisonous("row"),
            all_of(
                is_pending("row", after=True),
                Less(NOW, of("row", "next_attempt_at", after=True)),
                Holds(of("row", "reported", after=True)),
            ),
        ),
        "The culprit is left pending, not due, and reported.",
        of="claim_one",
    ),
    StepProperty(
        "only_the_culprit_is_set_back",
        "§2 Hooks",
        (PASS, ROW),
        implies(
            all_of(present(of("row", "status")), Not(is_poisonous("row"))),
            Same(of("row", "next_attempt_at"), of("row", "next_attempt_at", after=True)),
        ),
        "Nobody is set back for another one's hook.",
    ),
    StepProperty(
        "back_off_kept",
        "§2 claim",
        (PASS, ROW),
        implies(
            all_of(Not(is_picked("row")), is_picked("row", after=True)),
            is_due("row"),
        ),
        "What was set back is not picked before the back-off is over.",
    ),
    StepProperty(
        "claimed_frozen",
        "§2 rules",
        (PASS, ROW),
        implies(
            Equal(of("row", "status"), Const(CLAIMED)),
            all_of(
                *(
                    Same(of("row", name), of("row", name, after=True))
                    for name in ("status", "poisonous", "picked", "reported", "next_attempt_at")
                )
            ),
        ),
        "What was claimed is out of the hands of any pass.",
    ),
    StepProperty(
        "pass_begins_from_nothing",
        "§2 Hooks",
        (PASS,),
        any_of(Missing(FieldOf("pass", "status")), phase(DONE)),
        "A pass begins when the one before is over.",
        of="begin_pass",
    ),
    StepProperty(
        "mended_once",
        "§2 Hooks",
        (PASS, ROW),
        is_poisonous("row"),
        "Only what is poisonous is mended.",
        of="mend",
    ),
    StepProperty(
        "offered_once",
        "§2 enqueue",
        (PASS, ROW),
        Missing(of("row", "status")),
        "A row is created once.",
        of="offer",
    ),
)

WITNESSES: tuple[Witness, ...] = (
    Witness(
        "batch_rolled_back",
        "§2 Hooks",
        (PASS, ROW, OTHER_ROW),
        all_of(phase(SINGLY), is_picked("row"), is_picked("other"), is_poisonous("other"), Not(is_poisonous("row"))),
        "A batch with a good and a poisonous row was rolled back.",
    ),
    Witness(
        "good_row_claimed_beside_a_culprit",
        "§2 Hooks",
        (PASS, ROW, OTHER_ROW),
        all_of(
            Equal(of("row", "status"), Const(CLAIMED)),
            is_poisonous("other"),
            Holds(of("other", "reported")),
        ),
        "A good row was claimed, the poisonous one set back.",
    ),
    Witness(
        "culprit_raises_again",
        "§2 Hooks",
        (PASS, ROW),
        all_of(phase(SINGLY), is_picked("row"), Holds(of("row", "reported"))),
        "A row that was set back spoils a batch once more.",
    ),
    Witness(
        "mended_row_claimed",
        "§2 Hooks",
        (PASS, ROW),
        all_of(Equal(of("row", "status"), Const(CLAIMED)), Holds(of("row", "reported"))),
        "A row that was set back has been claimed after all.",
    ),
)

PROGRESS: tuple[Progress, ...] = (
    Progress(
        "tried_by_itself",
        "§2 Hooks",
        (PASS, ROW),
        all_of(phase(SINGLY), is_picked("row")),
        ("claim_one",),
        "After a batch was rolled back, each of its rows can be tried at once.",
        at_once=True,
    ),
    Progress(
        "due_row_can_be_picked",
        "§2 claim",
        (PASS, ROW),
        all_of(phase(PICKING), is_pending("row"), Not(is_picked("row")), is_due("row")),
        ("pick",),
        "From the very instant at which its back-off is over a row can be picked again.",
        at_once=True,
    ),
    Progress(
        "pass_goes_on",
        "§2 Hooks",
        (PASS, GOOD_ROW),
        all_of(
            present(FieldOf("pass", "status")),
            Equal(FieldOf("good", "status"), Const(PENDING)),
            Not(Holds(FieldOf("good", "poisonous"))),
        ),
        ("begin_pass", "claim_batch", "claim_one", "end_pass"),
        "While a good row waits, some step of a pass can be taken, whatever the hooks of other rows do; the measure "
        "says that the pass then ends.",
        at_once=True,
    ),
)

HOOK_CONTRACT = Contract(
    name="hook",
    machines=(PASS_MACHINE, ROW_MACHINE),
    operations=OPERATIONS,
    invariants=INVARIANTS,
    step_properties=STEP_PROPERTIES,
    witnesses=WITNESSES,
    progress=PROGRESS,
)
