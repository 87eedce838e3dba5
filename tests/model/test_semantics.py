"""What a contract does: refusals name their guards and change nothing, accepted steps keep every statement.

The walks try every call that a small world offers in each state they come to. What the semantics says of a call is
compared with a second reading of the same guards, over bare rows.
"""

import copy
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fencepost_model.contract import Contract
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.machines.job import HELD, JOB, LEGACY_PREDICATE, OTHER_TOKEN, RUNNING, STATUSES, TOKEN
from fencepost_model.machines.job_worlds import WORLDS, jobs
from fencepost_model.semantics import (
    Accepted,
    Call,
    Member,
    Population,
    Refused,
    Row,
    Semantics,
    State,
    conditions,
)
from fencepost_model.shapes import (
    Actor,
    Assignment,
    Case,
    Field,
    ForEach,
    Guard,
    Machine,
    Operation,
    Parameter,
    Selection,
    Sort,
    StepProperty,
    Variable,
)
from fencepost_model.terms import (
    AllOf,
    Bare,
    Const,
    Equal,
    FieldOf,
    Less,
    Missing,
    Param,
    Plus,
    Truth,
    Value,
    holds,
    value_of,
)
from fencepost_model.worlds import World


def semantics_of(world: World) -> Semantics:
    return Semantics(world.contract, world.population, world.profile())


def calls_of(world: World, state: State) -> Iterator[Call]:
    """Every call that the world offers in a state."""
    for operation in world.operations():
        for aggregate in range(world.population.aggregates):
            for binding in world.population.bindings(operation.over):
                for arguments in world.argument_sets(operation):
                    given_values = {name: value_of(term, Bare({}, state.now)) for name, term in arguments.items()}
                    yield Call(operation.name, aggregate, binding, given_values)


def bare(semantics: Semantics, state: State, call: Call) -> Bare:
    """The rows, arguments and settings of a call, for reading a guard without the semantics."""
    rows = {name: state.rows[call.aggregate][slot] for name, slot in call.binding.items()}
    return Bare(rows, state.now, call.params, semantics.settings)


# --- walks ------------------------------------------------------------------------------------------------------------

CHOICES = st.integers(0, 99)


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
@settings(max_examples=40)
@given(begins=CHOICES, chosen=st.lists(st.tuples(CHOICES, CHOICES), min_size=12, max_size=16))
def test_a_walk_of_a_small_world(world: World, begins: int, chosen: list[tuple[int, int]]) -> None:
    """Each number chooses among what is possible: where to begin, which transition is next, on what and for whom."""
    semantics = semantics_of(world)
    beginnings = list(semantics.initial(legacy=world.legacy))
    state = beginnings[begins % len(beginnings)]
    for which, whose in chosen:
        untouched = copy.deepcopy(state)
        accepted: dict[tuple[str, str], list[tuple[Call, State]]] = {}
        for call in calls_of(world, state):
            operation = world.contract.operation(call.operation)
            truths = {guard.name: holds(guard.term, bare(semantics, state, call)) for guard in operation.guards}
            assert semantics.conjuncts(state, call) == truths
            match semantics.attempt(state, call):
                case Refused(guards):
                    assert guards == {name for name, true in truths.items() if not true} != set()
                case Accepted(case, after):
                    assert all(truths.values())
                    assert semantics.cases(state, call) == (case,)
                    accepted.setdefault((call.operation, case.name), []).append((call, after))
        assert state == untouched, "trying a call changed the state it was tried in"
        if not accepted:
            return  # all has ended
        transitions = sorted(accepted)
        if which % (len(transitions) + 1) == len(transitions):
            state = semantics.advance(state, world.tick)
        else:
            moves = accepted[transitions[which % (len(transitions) + 1)]]
            call, after = moves[whose % len(moves)]
            assert after.now == state.now
            others = [k for k in range(world.population.aggregates) if k != call.aggregate]
            assert all(after.rows[k] == state.rows[k] for k in others)
            assert [p.name for p in semantics.broken_step_properties(state, call, after)] == []
            state = after
        assert [i.name for i in semantics.broken_invariants(state)] == []


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
@pytest.mark.parametrize("legacy", [False, True])
def test_a_run_begins_lawfully(world: World, legacy: bool) -> None:
    semantics = semantics_of(world)
    beginnings = list(semantics.initial(legacy=legacy, now=3))
    kinds = 1 + (len(JOB_CONTRACT.root.legacy_rows) if legacy else 0)
    assert len(beginnings) == kinds**world.population.aggregates
    assert all(state.now == 3 for state in beginnings)
    assert [[i.name for i in semantics.broken_invariants(state)] for state in beginnings] == [[] for _ in beginnings]


def test_the_rows_of_older_programs_are_such_as_the_contract_supposes() -> None:
    semantics = semantics_of(WORLDS[0])
    rows = dict(semantics.legacy_rows())
    assert set(rows) == {row.name for row in JOB_CONTRACT.root.legacy_rows}
    assert [name for name, (root, *_) in rows.items() if not holds(LEGACY_PREDICATE, Bare({"job": root}))] == []
    root, *members = semantics.empty_rows()
    assert not holds(LEGACY_PREDICATE, Bare({"job": root}))
    assert all(tail == members for _, (_, *tail) in rows.items())


# --- held and expired -------------------------------------------------------------------------------------------------

MOMENTS = st.one_of(st.none(), st.integers(0, 4), st.sampled_from([2.5, 1e-9, math.nextafter(2, 3)]))


@given(
    status=st.sampled_from([None, *(status.name for status in STATUSES)]),
    lease=MOMENTS,
    now=st.one_of(st.integers(0, 4), st.just(2.5)),
    owner=st.sampled_from([None, "w1", "w2"]),
    generation=st.sampled_from([None, 0, 1]),
    caller=st.sampled_from(["w1", "w2"]),
    remembered=st.sampled_from([None, 0, 1]),
)
def test_held_and_expired_are_complements_for_a_running_job(
    status: Value, lease: Value, now: float, owner: Value, generation: Value, caller: Value, remembered: Value
) -> None:
    """D-1, the missing lease included. Who holds it must besides be the owner, under the current generation."""
    row = {"status": status, "worker_id": owner, "lease_generation": generation, "lease_expires_at": lease}
    scope = Bare({"job": row, "token": {"worker_id": caller, "lease_generation": remembered}}, now)
    expired = all(holds(guard.term, scope) for guard in JOB_CONTRACT.operation("recover").guards)
    held = all(holds(guard.term, scope) for guard in HELD)
    valid = generation is not None and (owner, generation) == (caller, remembered)
    if status != RUNNING:
        assert not held
        assert not expired
    else:
        assert held is (not expired and valid)
        assert expired is (lease is None or (isinstance(lease, int | float) and lease <= now))


# --- the door: a contract from elsewhere ------------------------------------------------------------------------------


@dataclass
class Doorway:
    """A door that is acted on, from nothing on."""

    semantics: Semantics
    state: State

    def call(self, operation: str, key: int | None = None, **params: Value) -> Call:
        binding = {"door": 0} if key is None else {"door": 0, "key": key}
        return Call(operation, 0, binding, params)

    def attempt(self, operation: str, key: int | None = None, **params: Value) -> set[str] | str:
        """Make a call: the name of the case that was taken, or the false guards."""
        match self.semantics.attempt(self.state, self.call(operation, key, **params)):
            case Refused(guards):
                return set(guards)
            case Accepted(case, state):
                self.state = state
                return case.name

    @property
    def row(self) -> Row:
        return self.state.rows[0][0]


@pytest.fixture
def built(doorway: Semantics) -> Doorway:
    (nothing,) = doorway.initial()
    run = Doorway(doorway, nothing)
    assert run.attempt("build", maker="me", paint="red") == "built"
    return run


def test_where_nothing_exists_all_is_null_but_what_is_fixed(doorway: Semantics) -> None:
    (state,) = doorway.initial()
    unbuilt: Row = dict.fromkeys(("status", "opened_at", "openings", "oiled", "maker", "paint"))
    keys: tuple[Row, ...] = ({"number": 1, "turned_at": None}, {"number": 2, "turned_at": None})
    assert state.rows == ((unbuilt, *keys),)
    run = Doorway(doorway, state)
    assert run.attempt("open") == {"shut", "unworn"}
    assert run.attempt("lock", 1) == {"shut", "oiled"}
    assert run.attempt("unlock", 1) == {"locked", "same_key"}
    assert run.attempt("remove") == {"shut", "worn"}
    assert run.state is state


def test_a_refusal_names_every_false_guard_quantified_ones_too(built: Doorway) -> None:
    assert built.attempt("lock", 1) == "locked"
    assert built.attempt("remove") == {"shut", "worn", "keys_out"}
    assert built.attempt("unlock", 2) == {"same_key"}
    assert built.attempt("unlock", 1) == "unlocked"
    assert built.attempt("remove") == {"worn"}


def test_the_case_depends_on_the_clock(built: Doorway) -> None:
    assert built.attempt("open") == "opened"
    assert built.row["opened_at"] == 0
    built.state = built.semantics.advance(built.state, 1.5)
    assert built.attempt("shut") == "in_time"
    assert built.attempt("open") == "opened"
    built.state = built.semantics.advance(built.state, 2)
    assert built.attempt("shut") == "late"
    assert built.row == {
        "status": "shut",
        "opened_at": None,
        "openings": 2,
        "oiled": False,
        "maker": "me",
        "paint": "red",
    }
    assert built.attempt("remove") == "removed"
    assert built.row["status"] == "gone"


def test_what_a_step_assigns_is_read_before_the_step() -> None:
    """A claim gives out one generation in three places, two of them computed from the field that it raises."""
    semantics = Semantics(JOB_CONTRACT, jobs(1, "w1"), JOB_CONTRACT.defaults())
    (state,) = semantics.initial()
    for operation, binding in (("enqueue", {"job": 0}), ("claim", {"job": 0, "token": 1})):
        outcome = semantics.attempt(state, Call(operation, 0, binding, {"max_attempts": 1, "deadline_at": None}))
        assert isinstance(outcome, Accepted)
        state = outcome.state
    job, token = state.rows[0]
    assert job["lease_generation"] == job["attempt_id"] == token["lease_generation"] == 1


def test_a_state_that_breaks_invariants_is_told_which(built: Doorway) -> None:
    assert built.semantics.broken_invariants(built.state) == ()
    door, front, spare = built.state.rows[0]
    broken = State(0, (({**door, "status": "open"}, {**front, "turned_at": 0}, spare),))
    assert [invariant.name for invariant in built.semantics.broken_invariants(broken)] == [
        "opened_at_exactly_when_open",
        "locked_exactly_when_a_key_is_turned",
    ]


def test_an_invariant_is_looked_at_in_each_aggregate(door: Contract) -> None:
    semantics = Semantics(door, Population(Member("door", "door"), 3), door.defaults())
    state = next(semantics.initial())
    sound, broken = state.rows[0], ({**state.rows[0][0], "opened_at": 1},)
    for place in range(3):
        rows = tuple(broken if aggregate == place else sound for aggregate in range(3))
        assert [i.name for i in semantics.broken_invariants(State(0, rows))] == ["opened_at_exactly_when_open"]


def test_a_property_of_one_actors_steps_speaks_of_the_entities_of_the_step(built: Doorway) -> None:
    """Unlocking with the other key breaks it, although it says nothing of that key while the right one unlocks."""
    semantics = built.semantics
    assert built.attempt("lock", 1) == "locked"
    unlocked = semantics.contract.operation("unlock").cases[0]
    for key, broken in ((1, []), (2, ["the_turned_key_unlocks"])):
        call = built.call("unlock", key)
        after = semantics.apply(built.state, call, unlocked)
        assert [p.name for p in semantics.broken_step_properties(built.state, call, after)] == broken
    by_nobody_else = built.call("remove")
    assert semantics.broken_step_properties(built.state, by_nobody_else, built.state) == ()


def test_a_property_of_all_steps_is_looked_at_whoever_takes_them(built: Doorway) -> None:
    door, *keys = built.state.rows[0]
    after = State(0, (({**door, "maker": "you", "openings": -1}, *keys),))
    for operation in ("open", "remove"):
        broken = built.semantics.broken_step_properties(built.state, built.call(operation), after)
        assert [p.name for p in broken] == ["openings_never_fall", "maker_kept"]


def test_a_witness_is_shown_by_some_entity(built: Doorway) -> None:
    (creaking,) = built.semantics.contract.witnesses
    assert not built.semantics.shows(built.state, creaking)
    door, *keys = built.state.rows[0]
    assert built.semantics.shows(State(0, (({**door, "oiled": False}, *keys),)), creaking)


@pytest.mark.parametrize(("when", "named"), [(Truth(False), "none"), (Truth(True), "in_time, late")])
def test_cases_that_are_not_exclusive_and_complete_are_a_fault_of_the_contract(
    built: Doorway, when: Truth, named: str
) -> None:
    shut = built.semantics.contract.operation("shut")
    cases = tuple(replace(case, when=(Guard("always", when, "", ""),)) for case in shut.cases)
    operations = tuple(replace(o, cases=cases) if o is shut else o for o in built.semantics.contract.operations)
    mutant = replace(built.semantics.contract, operations=operations, checked=False)
    run = Doorway(replace(built.semantics, contract=mutant), built.state)
    assert run.attempt("shut") == {"open"}
    assert run.attempt("open") == "opened"
    with pytest.raises(LookupError, match=f"shut is allowed.*{named}"):
        run.attempt("shut")


def test_the_conjuncts_of_an_operation_are_its_guards_then_its_conditions(door: Contract) -> None:
    shut = door.operation("shut")
    named = [(case.name if case else None, guard.name) for case, guard in conditions(shut)]
    assert named == [(None, "open"), ("in_time", "patience_left"), ("late", "not_patience_left")]


# --- time and population ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [0, -1, -0.5, 0.0])
def test_time_neither_stands_still_nor_runs_back(doorway: Semantics, seconds: float) -> None:
    with pytest.raises(ValueError, match="give a positive number"):
        doorway.advance(State(5, ()), seconds)


def test_time_passes_for_the_clock_alone(doorway: Semantics) -> None:
    (state,) = doorway.initial(now=5)
    assert doorway.advance(state, 2.5) == State(7.5, state.rows)


@given(workers=st.lists(st.sampled_from(["w1", "w2"]), max_size=5), aggregates=st.integers(1, 3))
def test_variables_over_one_machine_stand_for_different_entities(workers: list[str], aggregates: int) -> None:
    population = jobs(aggregates, *workers)
    assert [slot.fixed.get("worker_id") for slot in population.slots[1:]] == workers
    for over in ((JOB,), (JOB, TOKEN), (JOB, TOKEN, OTHER_TOKEN)):
        found = [tuple(binding[variable.name] for variable in over) for binding in population.bindings(over)]
        tokens = range(1, len(workers) + 1)
        assert found == [(0, *chosen) for chosen in itertools.permutations(tokens, len(over) - 1)]


def test_a_variable_stands_only_for_what_belongs_to_its_parent() -> None:
    """A tree of three levels: two shelves with boxes, and a lamp."""
    one = Member("shelf", "a", {}, (Member("box", "a0"), Member("box", "a1")))
    other = Member("shelf", "b", {}, (Member("box", "b0"),))
    room = Population(Member("room", "room", {}, (one, other, Member("lamp", "lamp"))))
    labels = [slot.label for slot in room.slots]
    assert labels == ["room", "a", "a0", "a1", "b", "b0", "lamp"]
    assert [room.slots[slot.parent].label for slot in room.slots[1:]] == ["room", "a", "a", "room", "b", "room"]
    r, s, b = Variable("r", "room"), Variable("s", "shelf", of="r"), Variable("b", "box", of="s")
    c = Variable("c", "box", of="s")

    def bound(*over: Variable) -> list[str]:
        return [" ".join(labels[binding[v.name]] for v in over) for binding in room.bindings(over)]

    assert bound(r, s) == ["room a", "room b"]
    assert bound(r, s, b) == ["room a a0", "room a a1", "room b b0"]
    assert bound(r, s, b, c) == ["room a a0 a1", "room a a1 a0"]
    assert bound(Variable("b", "box")) == ["a0", "a1", "b0"]
    assert bound(Variable("d", "door")) == []
    assert list(room.bindings(())) == [{}]
    assert [slot.label for slot in room.members_of(1, "box")] == ["a0", "a1"]
    assert room.members_of(0, "box") == ()


# --- sets of members, arguments in step properties --------------------------------------------------------------------

TREE = Population(
    Member(
        "host",
        "host",
        {},
        (
            Member("run", "first", {}, (Member("request", "a"), Member("request", "b"))),
            Member("run", "second", {}, (Member("request", "c"),)),
        ),
    ),
    aggregates=2,
)
HOST, RUN, REQUEST = Variable("host", "host"), Variable("run", "run", of="host"), Variable("ask", "request", of="run")


def tree(also: tuple[ForEach, ...], over: tuple[Variable, ...], *own: Assignment, acts_on: str = "") -> Semantics:
    """A contract of one operation, ``go``, on a tree of three levels; each row has a number ``n`` and a mark ``m``."""
    numbers = (Field("n", Sort.COUNT, "a number"), Field("m", Sort.COUNT, "a mark"))
    machines = (
        Machine("host", "root", numbers),
        Machine("run", "below it", numbers, belongs_to="host"),
        Machine("request", "below that", numbers, belongs_to="run"),
    )
    case = Case("done", (), own, "all of it", also)
    go = Operation(
        "go",
        Actor.SYSTEM,
        Selection.NAMED,
        over,
        (),
        (case,),
        "1",
        "",
        (Parameter("by", Sort.COUNT, "how much"),),
        acts_on=acts_on,
    )
    return Semantics(Contract("tree", machines, (go,), ()), TREE, {})


def numbered(semantics: Semantics) -> State:
    """Every row has its slot for a number, and no mark."""
    rows = tuple({"n": slot.index, "m": None} for slot in semantics.population.slots)
    return State(7, (rows, rows))


def marks(state: State, aggregate: int = 0) -> list[Value]:
    return [row["m"] for row in state.rows[aggregate]]


def go(semantics: Semantics, state: State, **binding: int) -> State:
    outcome = semantics.attempt(state, Call("go", 0, binding, {"by": 10}))
    assert isinstance(outcome, Accepted)
    return outcome.state


def test_each_member_of_each_member_is_changed_where_the_condition_holds() -> None:
    each = ForEach(
        (replace(RUN, name="r"), replace(REQUEST, name="q", of="r")),
        AllOf((Less(FieldOf("r", "n"), Const(4)), Less(Const(2), FieldOf("q", "n")))),
        (Assignment(FieldOf("q", "m"), Plus(FieldOf("r", "n"), Param("by"))),),
        "each request numbered above two of a run numbered below four",
    )
    semantics = tree((each,), (HOST,))
    after = go(semantics, numbered(semantics), host=0)
    labels = [slot.label for slot in TREE.slots]
    assert dict(zip(labels, marks(after), strict=True)) == {
        "host": None,
        "first": None,
        "a": None,
        "b": 11,
        "second": None,
        "c": None,
    }
    assert marks(after, aggregate=1) == [None] * 6


def test_only_what_belongs_to_the_entity_of_the_step_is_changed() -> None:
    each = ForEach((replace(REQUEST, name="q"),), Truth(True), (Assignment(FieldOf("q", "m"), Param("by")),), "each")
    semantics = tree((each,), (HOST, RUN))
    assert marks(go(semantics, numbered(semantics), host=0, run=1)) == [None, None, 10, 10, None, None]
    assert marks(go(semantics, numbered(semantics), host=0, run=4)) == [None, None, None, None, None, 10]


def test_what_is_done_to_each_is_read_before_the_step() -> None:
    up = ForEach(
        (replace(RUN, name="r"),),
        Less(FieldOf("host", "n"), Const(1)),
        (Assignment(FieldOf("r", "m"), FieldOf("host", "n")),),
        "each run takes the host's number",
    )
    down = ForEach(
        (replace(RUN, name="s"), replace(REQUEST, name="q", of="s")),
        Missing(FieldOf("s", "m")),
        (Assignment(FieldOf("q", "m"), FieldOf("s", "m")), Assignment(FieldOf("q", "n"), FieldOf("q", "m"))),
        "each request takes its run's mark, and its own for a number",
    )
    own = Assignment(FieldOf("host", "n"), Const(5))
    semantics = tree((up, down), (HOST,), own)
    after = go(semantics, numbered(semantics), host=0)
    assert [row["m"] for row in after.rows[0]] == [None, 0, None, None, 0, None]
    assert [row["n"] for row in after.rows[0]] == [5, 1, None, None, 4, None]


def test_the_order_of_sets_does_not_matter() -> None:
    one = ForEach((replace(RUN, name="r"),), Truth(True), (Assignment(FieldOf("r", "m"), FieldOf("r", "n")),), "one")
    other = ForEach(
        (replace(RUN, name="s"),), Truth(True), (Assignment(FieldOf("s", "n"), FieldOf("s", "m")),), "other"
    )
    ends = []
    for also in ((one, other), (other, one)):
        semantics = tree(also, (HOST,))
        ends.append(go(semantics, numbered(semantics), host=0))
    assert ends[0] == ends[1]


def test_the_subject_of_an_operation_is_the_variable_that_it_names() -> None:
    assert tree((), (HOST, RUN)).contract.operation("go").subject == HOST
    assert tree((), (HOST, RUN), acts_on="run").contract.operation("go").subject == RUN


def test_a_property_of_one_operation_reads_its_arguments_and_speaks_of_its_own_entities() -> None:
    each = Assignment(FieldOf("run", "m"), Param("by"))
    semantics = tree((), (HOST, RUN), each)
    told = StepProperty(
        "told", "1", (HOST, RUN), Equal(FieldOf("run", "m", after=True), Param("by")), "the mark is as told", of="go"
    )
    elsewhere = replace(told, name="elsewhere", of="stop")
    bound = replace(told, name="bound", over=(HOST, RUN, replace(RUN, name="other")))
    contract = replace(semantics.contract, step_properties=(told, elsewhere, bound), checked=False)
    watched = replace(semantics, contract=contract)
    before = numbered(semantics)
    call = Call("go", 0, {"host": 0, "run": 1}, {"by": 10})
    after = go(semantics, before, host=0, run=1)
    assert watched.broken_step_properties(before, call, after) == ()
    wrong = replace(call, params={"by": 11})
    assert [p.name for p in watched.broken_step_properties(before, wrong, after)] == ["told", "bound"]
    of_another = replace(call, binding={"host": 0, "run": 4})
    assert [p.name for p in watched.broken_step_properties(before, of_another, after)] == ["told", "bound"]


def test_a_variable_that_does_not_say_whose_it_is_cannot_go_down() -> None:
    with pytest.raises(ValueError, match="name it in 'of'"):
        list(TREE.below({"host": 0}, (Variable("r", "run"),)))
