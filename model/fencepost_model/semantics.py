"""What a contract does: initial states, attempted calls, refusals, steps, and which statements a state or step breaks.

Everything here is a pure function over small immutable values, by plain evaluation of terms. It is the reference: every
trace that a faster explorer or a solver reports is replayed here before anybody sees it, and every conformance verdict
compares an implementation with it.

A **population** says which entities exist: so many aggregates of one shape. A **state** holds the clock and one row for
each slot of each aggregate. A row whose status is null does not exist yet. Time passes by ``advance``; no operation
takes time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from fencepost_model.contract import Contract
from fencepost_model.shapes import Case, Guard, Invariant, Operation, StepProperty, Variable, Witness
from fencepost_model.terms import AllOf, Scope, TruthTerm, Value, holds, value_of

Row = Mapping[str, Value]
Binding = Mapping[str, int]
"""Which slot each variable stands for."""


@dataclass(frozen=True)
class Member:
    """One entity in the shape of an aggregate: machine, a label for people, fixed fields, and what belongs to it."""

    machine: str
    label: str
    fixed: Mapping[str, Value] = field(default_factory=dict[str, Value])
    members: tuple[Member, ...] = ()


@dataclass(frozen=True, slots=True)
class Slot:
    """A member's place in its aggregate, numbered from the root (0) on; ``parent`` is -1 for the root."""

    index: int
    machine: str
    label: str
    parent: int
    fixed: Mapping[str, Value]


@dataclass(frozen=True)
class Population:
    """So many aggregates of one shape."""

    root: Member
    aggregates: int = 1

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """The slots of one aggregate, parents before their members."""
        found: list[Slot] = []

        def add(member: Member, parent: int) -> None:
            index = len(found)
            found.append(Slot(index, member.machine, member.label, parent, member.fixed))
            for inner in member.members:
                add(inner, index)

        add(self.root, -1)
        return tuple(found)

    def bindings(self, over: Sequence[Variable]) -> Iterator[dict[str, int]]:
        """Every way to bind the variables to slots; two variables over one machine stand for different entities."""
        yield from self._bind(over, {})

    def _bind(self, over: Sequence[Variable], bound: dict[str, int]) -> Iterator[dict[str, int]]:
        if not over:
            yield dict(bound)
            return
        variable, *rest = over
        for slot in self.slots:
            fits = slot.machine == variable.machine and slot.index not in bound.values()
            if fits and (variable.of is None or slot.parent == bound[variable.of]):
                yield from self._bind(rest, {**bound, variable.name: slot.index})

    def below(self, bound: Binding, over: Sequence[Variable]) -> Iterator[dict[str, int]]:
        """Every way to go on binding variables to what belongs to entities that are bound already."""
        yield from self._down(over, dict(bound))

    def _down(self, over: Sequence[Variable], bound: dict[str, int]) -> Iterator[dict[str, int]]:
        if not over:
            yield dict(bound)
            return
        variable, *rest = over
        if variable.of is None:
            raise ValueError(f"variable {variable.name!r} does not say whose {variable.machine} it is; name it in 'of'")
        for slot in self.members_of(bound[variable.of], variable.machine):
            yield from self._down(rest, {**bound, variable.name: slot.index})

    def members_of(self, parent: int, machine: str) -> tuple[Slot, ...]:
        """The slots of one machine that belong to the slot ``parent``."""
        return tuple(slot for slot in self.slots if slot.parent == parent and slot.machine == machine)


@dataclass(frozen=True)
class State:
    """The clock (seconds) and the rows: ``rows[aggregate][slot]`` maps field names to values."""

    now: float | int
    rows: tuple[tuple[Row, ...], ...]


@dataclass(frozen=True)
class Call:
    """One operation, called on the entities of one aggregate, with its arguments."""

    operation: str
    aggregate: int
    binding: Binding
    params: Mapping[str, Value] = field(default_factory=dict[str, Value])


@dataclass(frozen=True)
class Accepted:
    """The call was allowed: the case that was taken, and the state it leads to."""

    case: Case
    state: State


@dataclass(frozen=True)
class Refused:
    """The call was not allowed and changed nothing: the names of all guards that were false."""

    guards: frozenset[str]


@dataclass(frozen=True)
class StateScope:
    """Terms about one aggregate of one state, or about a step of it."""

    population: Population
    before: tuple[Row, ...]
    binding: Binding
    clock: float | int
    settings: Mapping[str, Value]
    params: Mapping[str, Value] = field(default_factory=dict[str, Value])
    ends: tuple[Row, ...] | None = None

    def field(self, entity: str, name: str, after: bool) -> Value:
        rows = self.ends if after else self.before
        if rows is None:
            raise ValueError(f"{entity}.{name} is asked for after a step, but there is only one state here")
        return rows[self.binding[entity]][name]

    def now(self) -> float | int:
        return self.clock

    def setting(self, name: str) -> Value:
        return self.settings[name]

    def param(self, name: str) -> Value:
        return self.params[name]

    def each(self, variable: str, machine: str, of: str) -> Sequence[Scope]:
        return [
            StateScope(
                self.population,
                self.before,
                {**self.binding, variable: slot.index},
                self.clock,
                self.settings,
                self.params,
                self.ends,
            )
            for slot in self.population.members_of(self.binding[of], machine)
        ]


@dataclass(frozen=True)
class Semantics:
    """A contract over a population, under the settings of a profile."""

    contract: Contract
    population: Population
    settings: Mapping[str, Value]

    # -- states --------------------------------------------------------------------------------------------------------

    def empty_rows(self) -> tuple[Row, ...]:
        """The rows of one aggregate in which nothing exists yet: all null, but for the fixed fields."""
        return tuple(
            {f.name: slot.fixed.get(f.name) for f in self.contract.machine(slot.machine).fields}
            for slot in self.population.slots
        )

    def legacy_rows(self) -> Iterator[tuple[str, tuple[Row, ...]]]:
        """For each kind of legacy row, the rows of one aggregate whose root is such a row, with its name."""
        for legacy in self.contract.root.legacy_rows:
            root, *members = self.empty_rows()
            yield legacy.name, ({**root, **legacy.fields}, *members)

    def initial(self, *, legacy: bool = False, now: float | int = 0) -> Iterator[State]:
        """The states in which a run begins: nothing exists, or, with ``legacy``, each mixture of legacy rows too."""
        choices = [self.empty_rows()]
        if legacy:
            choices.extend(rows for _, rows in self.legacy_rows())
        mixtures: list[tuple[tuple[Row, ...], ...]] = [()]
        for _ in range(self.population.aggregates):
            mixtures = [(*mixture, choice) for mixture in mixtures for choice in choices]
        for mixture in mixtures:
            yield State(now, mixture)

    def advance(self, state: State, seconds: float | int) -> State:
        """The same rows, so many seconds later. Raises ``ValueError`` when time would stand still or run back."""
        if seconds <= 0:
            raise ValueError(f"time passes by more than {seconds} seconds; give a positive number")
        return State(state.now + seconds, state.rows)

    # -- steps ---------------------------------------------------------------------------------------------------------

    def scope(
        self, state: State, aggregate: int, binding: Binding, params: Mapping[str, Value], after: State | None = None
    ) -> StateScope:
        """What terms about one aggregate are evaluated against; with ``after``, terms about a step."""
        ends = after.rows[aggregate] if after is not None else None
        return StateScope(self.population, state.rows[aggregate], binding, state.now, self.settings, params, ends)

    def false_guards(self, state: State, call: Call) -> frozenset[str]:
        """The names of the operation's guards that are false for this call."""
        scope = self.scope(state, call.aggregate, call.binding, call.params)
        return frozenset(g.name for g in self.contract.operation(call.operation).guards if not holds(g.term, scope))

    def conjuncts(self, state: State, call: Call) -> dict[str, bool]:
        """Every guard of the operation with its truth for this call, in the order written."""
        scope = self.scope(state, call.aggregate, call.binding, call.params)
        return {g.name: holds(g.term, scope) for g in self.contract.operation(call.operation).guards}

    def cases(self, state: State, call: Call) -> tuple[Case, ...]:
        """The cases whose conditions hold; in a deterministic contract exactly one once the guards hold."""
        scope = self.scope(state, call.aggregate, call.binding, call.params)
        operation = self.contract.operation(call.operation)
        return tuple(case for case in operation.cases if holds(AllOf(tuple(g.term for g in case.when)), scope))

    def attempt(self, state: State, call: Call) -> Accepted | Refused:
        """Make a call: the state it leads to, or the guards that forbid it.

        Raises ``LookupError`` when the guards hold but no case does, or more than one: a fault of the contract.
        """
        false = self.false_guards(state, call)
        if false:
            return Refused(false)
        cases = self.cases(state, call)
        if len(cases) != 1:
            named = ", ".join(case.name for case in cases) or "none"
            raise LookupError(f"{call.operation} is allowed, but its cases are not exclusive and complete: {named}")
        return Accepted(cases[0], self.apply(state, call, cases[0]))

    def apply(self, state: State, call: Call, case: Case) -> State:
        """The state in which a case of a call ends, whatever its guards say."""
        scope = self.scope(state, call.aggregate, call.binding, call.params)
        rows = [dict(row) for row in state.rows[call.aggregate]]
        for assignment in case.effect:
            rows[call.binding[assignment.field.entity]][assignment.field.name] = value_of(assignment.value, scope)
        for each in case.also:
            for binding in self.population.below(call.binding, each.over):
                inner = self.scope(state, call.aggregate, binding, call.params)
                if holds(each.where, inner):
                    for assignment in each.effect:
                        row = rows[binding[assignment.field.entity]]
                        row[assignment.field.name] = value_of(assignment.value, inner)
        changed = (*state.rows[: call.aggregate], tuple(rows), *state.rows[call.aggregate + 1 :])
        return State(state.now, changed)

    # -- statements ----------------------------------------------------------------------------------------------------

    def _failing(self, over: Sequence[Variable], statement: TruthTerm, state: State) -> Iterator[tuple[int, Binding]]:
        for aggregate in range(self.population.aggregates):
            for binding in self.population.bindings(over):
                if not holds(statement, self.scope(state, aggregate, binding, {})):
                    yield aggregate, binding

    def broken_invariants(self, state: State) -> tuple[Invariant, ...]:
        """The invariants that a state breaks."""
        return tuple(
            i for i in self.contract.invariants if any(True for _ in self._failing(i.over, i.statement, state))
        )

    def shows(self, state: State, witness: Witness) -> bool:
        """Whether a state is one that the witness asks for."""
        return any(
            holds(witness.statement, self.scope(state, aggregate, binding, {}))
            for aggregate in range(self.population.aggregates)
            for binding in self.population.bindings(witness.over)
        )

    def broken_step_properties(self, before: State, call: Call, after: State) -> tuple[StepProperty, ...]:
        """The step properties that a step breaks."""
        operation = self.contract.operation(call.operation)
        return tuple(p for p in self.contract.step_properties if not self.step_keeps(p, operation, before, call, after))

    def step_keeps(
        self, statement: StepProperty, operation: Operation, before: State, call: Call, after: State
    ) -> bool:
        """Whether a step keeps one step property, for every binding of its variables that the step touches."""
        if not statement.speaks_of(operation):
            return True
        for binding in self.population.bindings(statement.over):
            # A property of some steps speaks of the very entities of the step, not of any others.
            if statement.restricted and any(
                call.binding.get(name) not in (None, slot) for name, slot in binding.items()
            ):
                continue
            params: Mapping[str, Value] = call.params if statement.of is not None else {}
            scope = self.scope(before, call.aggregate, binding, params, after)
            if not holds(statement.statement, scope):
                return False
        return True


def conditions(operation: Operation) -> Iterator[tuple[Case | None, Guard]]:
    """Every named conjunct of an operation: its guards (with no case), then the conditions of each case."""
    for guard in operation.guards:
        yield None, guard
    for case in operation.cases:
        for guard in case.when:
            yield case, guard
