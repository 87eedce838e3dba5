"""What has to be shown of a contract: each transition against each statement, as formulas that must be impossible.

Theory
======
An invariant is *inductive* when it holds of every initial row, and when each transition that starts where all
invariants hold ends where it holds; time passing is a transition too. A step property has to hold of every such
transition. The cases of an operation have to *exclude* each other, and one has to be open to every call that is
allowed. Each obligation is written as its denial, a formula for which the solver must find no model.

An obligation whose hypothesis is impossible would hold of anything. So each comes with the question whether its
hypothesis can be true: the transition has to be possible under the invariants, and what a statement supposes
("if a job waits, ...") has to occur.

By frame. A transition that writes no field that an invariant reads, at the entities in question, and does not move the
clock that it reads, keeps it: the hypothesis and what has to be shown are one formula. These obligations are counted as
held without asking the solver; ``frame=False`` asks all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import combinations

from fencepost_model.contract import Contract, transition_name
from fencepost_model.shapes import Actor, Case, ForEach, Invariant, Operation, Progress, StepProperty
from fencepost_model.terms import AllOf, AnyOf, FieldOf, Not, Param, TruthTerm, walk
from fencepost_verification.prove import smt
from fencepost_verification.prove.encoding import (
    Entity,
    Rows,
    StepScope,
    Symbol,
    chosen,
    formula_of,
    symbol_of,
)
from fencepost_verification.prove.smt import Formula
from fencepost_verification.prove.sorts import call_well_formed, given, well_formed
from fencepost_verification.prove.universe import (
    Placement,
    Universe,
    bound_placements,
    placements,
    step_placement,
)

TICK = "tick"
"""The transition in which time passes."""


class Kind(Enum):
    """What an obligation is about."""

    INITIAL = "initial"
    """an invariant holds of rows with which a run may begin"""
    INDUCTIVE = "inductive"
    """a transition keeps an invariant"""
    STEP = "step"
    """a transition has a step property"""
    DETERMINISTIC = "deterministic"
    """two cases of an operation exclude each other"""
    COMPLETE = "complete"
    """a call that the guards allow takes some case"""
    PROGRESS = "progress"
    """from every live state somebody bound to act can act, now or later"""
    OCCURS = "occurs"
    """what a statement supposes can be the case"""
    LEGACY_ROW = "legacy row"
    """a row that the worlds begin with is one that the proofs begin with"""


@dataclass(frozen=True)
class Attempt:
    """One placement of a statement's variables, and what is asked of it: in a goal, whether it can be false there."""

    placement: Placement
    asked: Formula


@dataclass(frozen=True)
class Goal:
    """One obligation before it is decided. ``attempts`` must all be impossible; ``framed`` more need not be asked."""

    name: str
    kind: Kind
    transition: str | None
    statement: Invariant | StepProperty | Operation
    attempts: tuple[Attempt, ...]
    framed: int = 0
    cases: tuple[str, ...] = ()
    """the cases that the obligation is about, where it is about some"""


# --- a step -----------------------------------------------------------------------------------------------------------


class Effects:
    """The rows in which a step ends: those that it found, but for the fields that it assigned.

    An entity is changed as one of the call's own (``assigned``), or as one of a set of what belongs to them: then its
    field is the new value where the entity is one that the set's condition selects, and the old one elsewhere. So what
    a step does to any number of members is said of each member that somebody asks for.
    """

    def __init__(
        self,
        before: Rows,
        assigned: Mapping[tuple[str, str], tuple[Entity, Symbol]],
        also: Sequence[ForEach] = (),
        scope: StepScope | None = None,
    ) -> None:
        self._before = before
        self.assigned = assigned
        self._also = also
        self._scope = scope
        self._ends: dict[tuple[Entity, str], Symbol] = {}

    def read(self, entity: Entity, name: str) -> Symbol:
        """A field of an entity after the step."""
        known = self._ends.get((entity, name))
        if known is None:
            known = self._among_many(entity, name, self._by_itself(entity, name))
            self._ends[(entity, name)] = known
        return known

    def places(self, entities: Iterable[Entity]) -> dict[tuple[str, str], Entity]:
        """The fields of some entities that the step may assign, each by the key of its entity and its name."""
        found = {place: entity for place, (entity, _) in self.assigned.items()}
        for entity in entities:
            for each in self._also:
                if self._selected(each, entity) is not None:
                    found.update({(entity.key, a.field.name): entity for a in each.effect})
        return found

    def written_anywhere(self) -> frozenset[tuple[str, str]]:
        """The fields that the step may assign to some entity or other, each by its machine and name."""
        own = {(entity.machine, name) for (_, name), (entity, _) in self.assigned.items()}
        return frozenset(own | {(each.subject.machine, a.field.name) for each in self._also for a in each.effect})

    def _by_itself(self, entity: Entity, name: str) -> Symbol:
        if not entity.bound:
            changed = self.assigned.get((entity.key, name))
            return self._before.read(entity, name) if changed is None else changed[1]
        symbol = self._before.read(entity, name)
        for (_, changed_name), (other, value) in self.assigned.items():
            if changed_name == name and other.machine == entity.machine:
                symbol = chosen(smt.same(entity.handle, other.handle), value, symbol)
        return symbol

    def _among_many(self, entity: Entity, name: str, symbol: Symbol) -> Symbol:
        for each in self._also:
            for assignment in each.effect:
                if assignment.field.name == name:
                    selected = self._selected(each, entity)
                    if selected is not None:
                        condition, scope = selected
                        hit = smt.conj((condition, formula_of(each.where, scope)))
                        symbol = chosen(hit, symbol_of(assignment.value, scope), symbol)
        return symbol

    def _selected(self, each: ForEach, entity: Entity) -> tuple[Formula, StepScope] | None:
        """Whether an entity is one that a set runs over, and the scope that binds the set's variables accordingly.

        None where it cannot be: it is of another machine, or belongs to others than the call's entities.
        """
        if self._scope is None:
            return None
        bound: dict[str, Entity] = {}
        above: Entity | None = entity
        for variable in reversed(each.over):
            if above is None or above.machine != variable.machine:
                return None
            bound[variable.name] = above
            above = above.parent
        top = self._scope.binding[each.over[0].of or ""]
        if above is None or above.machine != top.machine:
            return None
        if above.bound or top.bound:
            belongs = smt.same(above.handle, top.handle)
        elif above.key == top.key:
            belongs = True
        else:
            return None
        return belongs, replace(self._scope, binding={**self._scope.binding, **bound})


@dataclass(frozen=True)
class Call:
    """An operation called on entities, with what each of its conjuncts says of them."""

    operation: Operation
    placement: Placement
    scope: StepScope
    arguments: Formula
    guards: Mapping[str, Formula]
    conditions: Mapping[str, Mapping[str, Formula]]
    """for each case, its conditions by name"""

    @property
    def keys(self) -> frozenset[str]:
        """The entities of the call."""
        return frozenset(self.placement.values())

    def allowed(self) -> Formula:
        """The arguments are well-formed and all guards hold."""
        return smt.conj((self.arguments, *self.guards.values()))

    def takes(self, case: str) -> Formula:
        """All conditions of a case hold."""
        return smt.conj(self.conditions[case].values())

    def enabled(self) -> Formula:
        """All guards hold, and the conditions of some case."""
        return smt.conj((*self.guards.values(), smt.disj([self.takes(case) for case in self.conditions])))


def called(universe: Universe, operation: Operation) -> Call:
    """The call of an operation on the first entities of their kinds, with arbitrary arguments."""
    placement = step_placement(universe.contract, operation)
    scope = universe.scope(universe.binding(placement), params=universe.parameters(operation))
    return call_in(scope, operation, placement)


def call_in(scope: StepScope, operation: Operation, placement: Placement) -> Call:
    """The call of an operation in a scope that binds its variables and parameters."""
    return Call(
        operation,
        placement,
        scope,
        formula_of(call_well_formed(operation), scope),
        {guard.name: formula_of(guard.term, scope) for guard in operation.guards},
        {case.name: {guard.name: formula_of(guard.term, scope) for guard in case.when} for case in operation.cases},
    )


@dataclass(frozen=True)
class Step:
    """One transition: a case of an operation, or time passing (with neither call nor case)."""

    name: str
    hypothesis: Formula
    after: Rows
    clock_before: Symbol
    clock_after: Symbol
    written: frozenset[tuple[str, str]] = frozenset()
    """the fields that the step may assign, each by the key of its entity"""
    written_anywhere: frozenset[tuple[str, str]] = frozenset()
    """the same by the machine of the entity, those of entities that no obligation names included"""
    call: Call | None = None
    case: Case | None = None

    @property
    def keys(self) -> frozenset[str]:
        """The entities of the step."""
        return self.call.keys if self.call is not None else frozenset()


def effects(call: Call, case: Case, before: Rows) -> Effects:
    """What a case of a call leaves behind."""
    assigned: dict[tuple[str, str], tuple[Entity, Symbol]] = {}
    for assignment in case.effect:
        entity = call.scope.binding[assignment.field.entity]
        assigned[(entity.key, assignment.field.name)] = (entity, symbol_of(assignment.value, call.scope))
    return Effects(before, assigned, case.also, call.scope)


def step_of(universe: Universe, call: Call, case: Case) -> Step:
    """The transition of a case of a call."""
    after = effects(call, case, universe)
    return Step(
        transition_name(call.operation, case),
        smt.conj((call.allowed(), call.takes(case.name))),
        after,
        universe.now,
        universe.now,
        frozenset(after.places(universe.entities.values())),
        after.written_anywhere(),
        call,
        case,
    )


def tick_of(universe: Universe) -> Step:
    """The transition in which time passes by any positive amount."""
    later = universe.instant("later")
    return Step(TICK, smt.less(universe.now.number, later.number), universe, universe.now, later)


# --- goals ------------------------------------------------------------------------------------------------------------


def inductive_goals(universe: Universe, step: Step, *, frame: bool) -> Iterator[Goal]:
    """A step keeps each invariant, and keeps the rows well-formed."""
    moves_clock = step.clock_after is not step.clock_before
    for invariant, reading in universe.readings:
        touched = (moves_clock and reading.clock) or bool(reading.quantified & step.written_anywhere)
        attempts: list[Attempt] = []
        framed = 0
        for placement in placements(universe.contract, invariant.over, step.keys):
            if frame and not touched and not (reading.at(placement) & step.written):
                framed += 1
                continue
            scope = universe.scope(universe.binding(placement), before=step.after, clock=step.clock_after)
            attempts.append(Attempt(placement, smt.neg(formula_of(invariant.statement, scope))))
        yield Goal(f"{step.name} keeps {invariant.name}", Kind.INDUCTIVE, step.name, invariant, tuple(attempts), framed)


def speaks_of(statement: StepProperty, step: Step) -> bool:
    """Whether a step property says something about a step.

    Time passing is no step of an operation: only properties of the clock speak of it.
    """
    if step.call is None:
        return statement.by is Actor.CLOCK and statement.of is None
    return statement.speaks_of(step.call.operation)


def obeyed_placements(universe: Universe, step: Step, statement: StepProperty) -> Iterator[Placement]:
    """The placements for which a step property speaks of a step.

    A property of some steps speaks of the step's own entities, bound by name; any other of every entity of the
    aggregate.
    """
    if not speaks_of(statement, step):
        return
    own: Placement = step.call.placement if step.call is not None and statement.restricted else {}
    for placement in placements(universe.contract, statement.over, step.keys):
        if all(own.get(name, key) == key for name, key in placement.items()):
            yield placement


def step_scope(universe: Universe, step: Step, statement: StepProperty, placement: Placement) -> StepScope:
    """What a step property is read against: the step, and its arguments where the property is about its operation."""
    params = step.call.scope.params if step.call is not None and statement.of is not None else None
    return universe.scope(universe.binding(placement), after=step.after, params=params)


def step_goals(universe: Universe, step: Step) -> Iterator[Goal]:
    """A step has each step property that speaks of it."""
    for statement in universe.contract.step_properties:
        attempts: list[Attempt] = []
        for placement in obeyed_placements(universe, step, statement):
            scope = step_scope(universe, step, statement, placement)
            attempts.append(Attempt(placement, smt.neg(formula_of(statement.statement, scope))))
        if attempts:
            yield Goal(f"{step.name} obeys {statement.name}", Kind.STEP, step.name, statement, tuple(attempts))


def case_goals(call: Call) -> Iterator[Goal]:
    """The cases of an operation exclude each other, and one is open to every call that is allowed."""
    operation = call.operation
    for one, other in combinations(operation.cases, 2):
        both = smt.conj((call.takes(one.name), call.takes(other.name)))
        yield Goal(
            f"{operation.name}: {one.name} excludes {other.name}",
            Kind.DETERMINISTIC,
            operation.name,
            operation,
            (Attempt(call.placement, both),),
            cases=(one.name, other.name),
        )
    none = smt.neg(smt.disj([call.takes(case.name) for case in operation.cases]))
    yield Goal(
        f"{operation.name}: some case is open",
        Kind.COMPLETE,
        operation.name,
        operation,
        (Attempt(call.placement, none),),
    )


# --- beginnings -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Beginning:
    """A kind of rows with which a run may begin, as a formula for each entity."""

    name: str
    rows: Mapping[str, Formula]


def empty(universe: Universe, entity: Entity) -> Formula:
    """Nothing exists there yet: all fields are null but for the fixed ones, which the world gives."""
    machine = universe.contract.machine(entity.machine)
    nulls = (universe.read(entity, declared.name).null for declared in machine.fields if not declared.fixed)
    return smt.conj((*nulls, formula_of(given(machine), universe.scope({machine.name: entity}))))


def legacy(universe: Universe, entity: Entity) -> Formula:
    """The row is one that the machine's legacy predicate admits, well-formed as its sorts declare."""
    machine = universe.contract.machine(entity.machine)
    if machine.legacy is None:
        return False
    (formed,) = (i for i in universe.supposed if i.name == f"well_formed({machine.name})")
    return smt.conj(
        formula_of(term, universe.scope({name: entity}))
        for name, term in ((machine.name, machine.legacy), (formed.over[0].name, formed.statement))
    )


def beginnings(universe: Universe) -> Iterator[Beginning]:
    """Nothing exists; or the root is a legacy row, and what belongs to it is empty or legacy."""
    yield Beginning("empty rows", {key: empty(universe, entity) for key, entity in universe.entities.items()})
    if universe.contract.root.legacy is None:
        return
    rows: dict[str, Formula] = {}
    for key, entity in universe.entities.items():
        old = legacy(universe, entity)
        rows[key] = old if entity.parent is None else smt.disj((old, empty(universe, entity)))
    yield Beginning("legacy rows", rows)


def initial_goals(universe: Universe, beginning: Beginning) -> Iterator[Goal]:
    """Each invariant holds of the rows of a beginning."""
    for invariant in universe.supposed:
        attempts = tuple(
            Attempt(
                placement,
                smt.neg(formula_of(invariant.statement, universe.scope(universe.binding(placement)))),
            )
            for placement in placements(universe.contract, invariant.over)
        )
        yield Goal(f"{beginning.name} satisfy {invariant.name}", Kind.INITIAL, None, invariant, attempts)


# --- what statements suppose ------------------------------------------------------------------------------------------


def suppositions(statement: TruthTerm) -> Iterator[TruthTerm]:
    """What a statement supposes, for each "if ..., then ..." of which it is made."""
    match statement:
        case AllOf(parts):
            for part in parts:
                yield from suppositions(part)
        case AnyOf((Not(supposed), *_)):
            yield supposed
        case _:
            return


def needs_step(term: TruthTerm) -> bool:
    """Whether a term speaks of the state in which a step ends, or of the arguments of a call."""
    return any((isinstance(part, FieldOf) and part.after) or isinstance(part, Param) for part in walk(term))


@dataclass
class Supposition:
    """Something that a statement supposes, and whether it has been seen to occur."""

    statement: Invariant | StepProperty
    number: int
    term: TruthTerm
    seconds: float = 0.0
    occurs: bool = False
    undecided: str = field(default="")

    def occurrences(self, universe: Universe, step: Step | None) -> Iterator[Attempt]:
        """The placements for which it occurs: in a lawful state, or in a given step."""
        if step is None:
            for placement in placements(universe.contract, self.statement.over):
                scope = universe.scope(universe.binding(placement))
                yield Attempt(placement, formula_of(self.term, scope))
            return
        assert isinstance(self.statement, StepProperty)
        for placement in obeyed_placements(universe, step, self.statement):
            scope = step_scope(universe, step, self.statement, placement)
            yield Attempt(placement, formula_of(self.term, scope))


def all_suppositions(contract: Contract) -> list[Supposition]:
    """Whatever the statements of a contract suppose."""
    statements: tuple[Invariant | StepProperty, ...] = (*contract.invariants, *contract.step_properties)
    return [
        Supposition(statement, number, term)
        for statement in statements
        for number, term in enumerate(suppositions(statement.statement), start=1)
    ]


# --- the entities that all this speaks of -----------------------------------------------------------------------------


def keys_of(contract: Contract) -> frozenset[str]:
    """Every entity that some obligation of a contract speaks of."""
    statements: tuple[Invariant | StepProperty | Progress, ...] = (
        *well_formed(contract),
        *contract.invariants,
        *contract.step_properties,
        *contract.progress,
    )
    steps = {frozenset(step_placement(contract, operation).values()) for operation in contract.operations}
    keys = {contract.root.name}
    for taken in (frozenset[str](), *steps):
        keys |= taken
        for statement in statements:
            for placement in placements(contract, statement.over, taken):
                keys |= set(placement.values())
    for progress in contract.progress:
        for name in progress.bound:
            for placement in bound_placements(contract, progress, contract.operation(name)):
                keys |= set(placement.values())
    return frozenset(keys)
