"""Small contracts whose proofs are known: one with quantifiers over children, one that counts."""

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
    Progress,
    Selection,
    Sort,
    Status,
    StepProperty,
    Variable,
)
from fencepost_model.terms import (
    AtMost,
    Const,
    Equal,
    Every,
    FieldOf,
    Less,
    Missing,
    Not,
    Now,
    Plus,
    Same,
    Some,
    TruthTerm,
    all_of,
    implies,
    present,
)

BATCH = Variable("batch", "batch")
PART = Variable("part", "part", of="batch")
STATUS, STATE = FieldOf("batch", "status"), FieldOf("part", "state")


def status(word: str) -> TruthTerm:
    return Equal(STATUS, Const(word))


def every_part(state: str) -> TruthTerm:
    return Every("any", "part", "batch", Equal(FieldOf("any", "state"), Const(state)))


def some_part(state: str) -> TruthTerm:
    return Some("any", "part", "batch", Equal(FieldOf("any", "state"), Const(state)))


def guard(name: str, term: TruthTerm) -> Guard:
    return Guard(name, term, "toy", "toy")


def operation(name: str, over: tuple[Variable, ...], guards: tuple[Guard, ...], *effect: Assignment) -> Operation:
    return Operation(
        name, Actor.CLIENT, Selection.NAMED, over, guards, (Case("done", (), effect, "toy"),), "toy", "toy"
    )


def to(entity: str, name: str, word: str) -> Assignment:
    return Assignment(FieldOf(entity, name), Const(word))


OPEN = guard("open", status("open"))
TODO = guard("todo", Missing(STATE))
ALL_DONE = guard("all_done", every_part("done"))

BATCHES = Contract(
    name="batches",
    machines=(
        Machine(
            "batch",
            "parts that are awaited together",
            (Field("status", Sort.WORD, "where it stands", nullable=False, words=("open", "ready", "failed")),),
            (Status("open", "parts are awaited"), Status("ready", "all done", True), Status("failed", "no", True)),
            {"open": ("finish", "spoil", "close", "give_up"), "ready": (), "failed": ()},
            created_by="begin",
        ),
        Machine(
            "part",
            "one of them",
            (Field("state", Sort.WORD, "how it ended", words=("done", "bad")),),
            belongs_to="batch",
        ),
    ),
    operations=(
        operation("begin", (BATCH,), (guard("new", Missing(STATUS)),), to("batch", "status", "open")),
        operation("finish", (BATCH, PART), (OPEN, TODO), to("part", "state", "done")),
        operation("spoil", (BATCH, PART), (OPEN, TODO), to("part", "state", "bad")),
        operation("close", (BATCH,), (OPEN, ALL_DONE), to("batch", "status", "ready")),
        operation("give_up", (BATCH,), (OPEN, guard("one_bad", some_part("bad"))), to("batch", "status", "failed")),
    ),
    invariants=(
        Invariant("ready_when_done", "toy", (BATCH,), implies(status("ready"), every_part("done")), "toy"),
        Invariant("failed_for_a_reason", "toy", (BATCH,), implies(status("failed"), some_part("bad")), "toy"),
        Invariant("nothing_before", "toy", (BATCH, PART), implies(Missing(STATUS), Missing(STATE)), "toy"),
    ),
    step_properties=(
        StepProperty(
            "parts_end_once",
            "toy",
            (BATCH, PART),
            implies(present(STATE), Same(STATE, FieldOf("part", "state", after=True))),
            "toy",
        ),
    ),
    progress=(Progress("open_has_a_way_on", "toy", (BATCH,), status("open"), ("finish", "close", "give_up"), "toy"),),
)
"""A batch is ready when *every* part of it is done; it fails because *some* part is bad."""

COUNTER = Variable("counter", "counter")
COUNT, LOW, READ_AT = (FieldOf("counter", name) for name in ("count", "low", "read_at"))

COUNTING = Contract(
    name="counting",
    machines=(
        Machine(
            "counter",
            "it counts",
            (
                Field("count", Sort.COUNT, "how far it is"),
                Field("low", Sort.COUNT, "where it was at the last reading"),
                Field("read_at", Sort.INSTANT, "when that was"),
            ),
        ),
    ),
    operations=(
        operation("reset", (COUNTER,), (), Assignment(COUNT, Const(0)), Assignment(LOW, Const(0))),
        operation("raise", (COUNTER,), (), Assignment(COUNT, Plus(COUNT, Const(2)))),
        operation(
            "read",
            (COUNTER,),
            (guard("not_read", all_of(present(COUNT), Missing(READ_AT))),),
            Assignment(LOW, COUNT),
            Assignment(READ_AT, Now()),
        ),
        operation(
            "lower", (COUNTER,), (guard("positive", Less(Const(0), COUNT)),), Assignment(COUNT, Plus(COUNT, Const(-1)))
        ),
    ),
    invariants=(
        Invariant("read_in_the_past", "toy", (COUNTER,), implies(present(READ_AT), AtMost(READ_AT, Now())), "toy"),
        Invariant("never_forty", "toy", (COUNTER,), Not(Equal(COUNT, Const(40))), "false, but only after many calls"),
        Invariant("not_five_low", "toy", (COUNTER,), Not(Equal(LOW, Const(5))), "false, sooner"),
    ),
)
"""Two statements about it are false: one after six calls, one only after twenty-one."""
