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

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import combinations

from fencepost_model.contract import Contract, transition_name
from fencepost_model.shapes import Actor, Case, Invariant, Operation, Progress, StepProperty
from fencepost_model.terms import AllOf, AnyOf, FieldOf, Not, TruthTerm, walk
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
from fencepost_verification.prove.sorts import call_well_formed, well_formed
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
    """The rows in which a step ends: those that it found, but for the fields that it assigned."""

    def __init__(self, before: Rows, assigned: Mapping[tuple[str, str], tuple[Entity, Symbol]]) -> None:
        self._before = before
        self.assigned = assigned

    def read(self, entity: Entity, name: str) -> Symbol:
        """A field of an entity after the step."""
        if not entity.bound:
            changed = self.assigned.get((entity.key, name))
            return self._before.read(entity, name) if changed is None else changed[1]
        symbol = self._before.read(entity, name)
        for (_, changed_name), (other, value) in self.assigned.items():
            if changed_name == name and other.machine == entity.machine:
                symbol = chosen(smt.same(entity.handle, other.handle), value, symbol)
        return symbol


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
    """the fields that the step assigns, each by the key of its entity"""
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
    return Effects(before, assigned)


def step_of(universe: Universe, call: Call, case: Case) -> Step:
    """The transition of a case of a call."""
    after = effects(call, case, universe)
    return Step(
        transition_name(call.operation, case),
        smt.conj((call.allowed(), call.takes(case.name))),
        after,
        universe.now,
        universe.now,
        frozenset(after.assigned),
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
    written_anywhere = {(universe.entities[key].machine, name) for key, name in step.written}
    for invariant, reading in universe.readings:
        touched = (moves_clock and reading.clock) or bool(reading.quantified & written_anywhere)
        attempts: list[Attempt] = []
        framed = 0
        for placement in placements(universe.contract, invariant.over, step.keys):
            if frame and not touched and not (reading.at(placement) & step.written):
                framed += 1
                continue
            scope = universe.scope(universe.binding(placement), before=step.after, clock=step.clock_after)
            attempts.append(Attempt(placement, smt.neg(formula_of(invariant.statement, scope))))
        yield Goal(f"{step.name} keeps {invariant.name}", Kind.INDUCTIVE, step.name, invariant, tuple(attempts), framed)


def actor_of(step: Step) -> Actor:
    """Who takes a step."""
    return step.call.operation.actor if step.call is not None else Actor.CLOCK


def obeyed_placements(universe: Universe, step: Step, statement: StepProperty) -> Iterator[Placement]:
    """The placements for which a step property speaks of a step.

    A property of one actor's steps speaks of the step's own entities, bound by name; any other of every entity of the
    aggregate. Time passing is no step of an operation: only properties of the clock speak of it.
    """
    if statement.by is None and step.call is None:
        return
    if statement.by is not None and statement.by is not actor_of(step):
        return
    own: Placement = step.call.placement if step.call is not None and statement.by is not None else {}
    for placement in placements(universe.contract, statement.over, step.keys):
        if all(own.get(name, key) == key for name, key in placement.items()):
            yield placement


def step_goals(universe: Universe, step: Step) -> Iterator[Goal]:
    """A step has each step property that speaks of it."""
    for statement in universe.contract.step_properties:
        attempts: list[Attempt] = []
        for placement in obeyed_placements(universe, step, statement):
            scope = universe.scope(universe.binding(placement), after=step.after)
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
    parts: list[Formula] = []
    for declared in universe.contract.machine(entity.machine).fields:
        null = universe.read(entity, declared.name).null
        if not declared.fixed:
            parts.append(null)
        elif not declared.nullable:
            parts.append(smt.neg(null))
    return smt.conj(parts)


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


def looks_after(term: TruthTerm) -> bool:
    """Whether a term speaks of the state in which a step ends."""
    return any(isinstance(part, FieldOf) and part.after for part in walk(term))


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
            scope = universe.scope(universe.binding(placement), after=step.after)
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
