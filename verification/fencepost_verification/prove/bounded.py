"""Looks for a run that reaches what a proof could not exclude: bounded model checking over a small population.

A failed induction shows a state from which a statement breaks, but perhaps no run ever gets there. The search unrolls
the contract from its initial rows, one call a step, any time passing before each; arguments, settings, whole seconds
and legacy rows are left to the solver. It goes depth by depth, so that a run that is found is a shortest one. What is
found is walked again by plain evaluation before it is reported.

A search of another kind (an explorer with worlds of its own) takes this one's place by having its signature,
``Search``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from fencepost_model.contract import Contract
from fencepost_model.semantics import Call as PlainCall
from fencepost_model.semantics import Member, Population, Semantics, State
from fencepost_model.shapes import Actor, Case, Field, Invariant, Operation, Progress, Sort, StepProperty
from fencepost_model.terms import Value
from fencepost_verification.evidence import Move, Step, Taken, Tick, Trace, replayed
from fencepost_verification.prove import smt
from fencepost_verification.prove.counterexamples import ReadingsDisagree, false_at
from fencepost_verification.prove.encoding import (
    Entity,
    Lexicon,
    StepScope,
    Symbol,
    decoded,
    formula_of,
    free,
    identical,
)
from fencepost_verification.prove.obligations import Call, call_in, effects
from fencepost_verification.prove.progress import instants, moments, stuck
from fencepost_verification.prove.smt import Answer, Expression, Formula
from fencepost_verification.prove.sorts import given, settings_well_formed, well_formed
from fencepost_verification.prove.universe import Placement, choices, key_of_child


@dataclass(frozen=True)
class Ambiguity:
    """That a call of this operation is allowed while not exactly one of its cases is open."""

    operation: str


Sought: TypeAlias = Invariant | StepProperty | Progress | Ambiguity
"""What a search looks for: a run that breaks a statement, leaves it without a way on, or makes a call ambiguous."""


@dataclass(frozen=True)
class ScopeExhausted:
    """No run within the scope shows what was sought."""

    scope: str


@dataclass(frozen=True)
class GaveUp:
    """The search ended before its scope did."""

    reason: str


Found: TypeAlias = Trace | ScopeExhausted | GaveUp
Search: TypeAlias = Callable[[Contract, Sought], Found]


@dataclass(frozen=True)
class BoundedSearch:
    """A search by unrolling: at most ``depth`` calls, ``children`` entities of each machine that belongs to another.

    A statement or operation over more variables of a machine gets as many entities as it has. ``seconds`` bounds one
    search as a whole.
    """

    depth: int = 6
    children: int = 2
    seconds: float = 20.0

    def __call__(self, contract: Contract, sought: Sought) -> Found:
        """A shortest run that shows what is sought, already walked by plain evaluation; or why there is none.

        Raises ``ReadingsDisagree`` when plain evaluation does not see in the run what the solver saw.
        """
        began = time.monotonic()
        if isinstance(sought, StepProperty) and sought.by is Actor.CLOCK:
            return GaveUp("it speaks of the clock's own steps, of which this search takes none apart from calls")
        run = _Unrolling(contract, _shape(contract, sought, self.children))
        for depth in range(self.depth + 1):
            if depth:
                run.extend()
            left = self.seconds - (time.monotonic() - began)
            if left <= 0:
                return GaveUp(f"{self.seconds:g} seconds were not enough for {depth} calls")
            run.solver.limit(max(1, int(1000 * left)))
            run.solver.push()
            run.solver.tell(run.shows(sought))
            answer = run.solver.ask()
            if answer is Answer.SATISFIABLE:
                return run.trace(run.solver.model(), sought)
            if answer is Answer.UNKNOWN:
                return GaveUp(f"the solver gave up at {depth} calls: {run.solver.reason()}")
            run.solver.pop()
        return ScopeExhausted(f"{self.depth} calls on {_described(run.entities)}, in whole seconds")


def _shape(contract: Contract, sought: Sought, children: int) -> list[tuple[str, str, str]]:
    """The entities of the population as (key, machine, key of the parent), parents first."""
    overs = [operation.over for operation in contract.operations]
    if not isinstance(sought, Ambiguity):
        overs.append(sought.over)
    found: list[tuple[str, str, str]] = [(contract.root.name, contract.root.name, "")]
    for key, machine, _ in found:
        for child in contract.children_of(machine):
            needed = max((sum(v.machine == child.name for v in over) for over in overs), default=0)
            numbers = range(max(children, needed))
            found.extend((key_of_child(key, child.name, number), child.name, key) for number in numbers)
    return found


def _described(entities: Sequence[Entity]) -> str:
    machines = [entity.machine for entity in entities]
    return ", ".join(f"{machines.count(name)} {name}" for name in dict.fromkeys(machines))


@dataclass(frozen=True)
class _Table:
    """The rows of one moment of a run."""

    symbols: Mapping[tuple[str, str], Symbol]

    def read(self, entity: Entity, name: str) -> Symbol:
        return self.symbols[(entity.key, name)]


@dataclass(frozen=True)
class _Choice:
    """One way to take a step: a case of a call."""

    call: Call
    case: Case
    taken: Formula


class _Unrolling:
    """A run of so many calls, as formulas; also the ``Children`` of its entities."""

    def __init__(self, contract: Contract, shape: Sequence[tuple[str, str, str]]) -> None:
        self.contract = contract
        self.lexicon = Lexicon()
        self.solver = smt.Solver(milliseconds=1)
        handles = {machine.name: smt.element_sort(machine.name) for machine in contract.machines}
        made: dict[str, Entity] = {}
        for key, machine, parent in shape:
            made[key] = Entity(key, machine, made.get(parent), smt.constant(key, handles[machine]))
        self.entities = tuple(made.values())
        self.by_key = made
        self.settings = {
            shape.name: self._free(f"setting {shape.name}", shape.sort, (), nullable=False)
            for shape in contract.settings
        }
        self.clocks: list[Symbol] = [self._free("clock 0", Sort.INSTANT, (), nullable=False)]
        self.rows: list[_Table] = [
            _Table(
                {
                    (entity.key, declared.name): self._field(f"0 {entity.key}.{declared.name}", declared)
                    for entity in self.entities
                    for declared in contract.machine(entity.machine).fields
                }
            )
        ]
        self.taken: list[tuple[_Choice, ...]] = []
        self.solver.tell(
            formula_of(settings_well_formed(contract), self.scope({}, self.rows[0], self.clocks[0])),
            smt.at_most(smt.whole(0), self.clocks[0].number),
            self._begins(),
        )

    # -- symbols -------------------------------------------------------------------------------------------------------

    def _free(self, name: str, sort: Sort, words: tuple[str, ...], *, nullable: bool) -> Symbol:
        def leaf(suffix: str, of: smt.SortOf) -> Expression:
            return smt.constant(f"run {name}{suffix}", of)

        return free(sort, leaf, nullable=nullable, listed=bool(words), time=smt.WHOLE)

    def _field(self, name: str, declared: Field) -> Symbol:
        return self._free(name, declared.sort, declared.words, nullable=True)

    def members(self, machine: str, of: Entity) -> Sequence[Entity]:
        """The entities of ``machine`` that belong to ``of``."""
        return [entity for entity in self.entities if entity.machine == machine and entity.parent is of]

    def belongs(self, child: Entity, of: Entity) -> Formula:
        """Whether an entity belongs to another."""
        return child.parent is of

    def variable(self, name: str, machine: str, of: Entity) -> Entity:
        """Never asked: all entities are listed."""
        raise ReadingsDisagree(f"a quantifier over {machine} of {of.key} has no list in a finite population")

    def scope(
        self,
        placement: Placement,
        before: _Table,
        clock: Symbol,
        *,
        params: Mapping[str, Symbol] | None = None,
        after: _Table | None = None,
    ) -> StepScope:
        """What terms are read against at one moment of the run, or about one step of it."""
        binding = {name: self.by_key[key] for name, key in placement.items()}
        return StepScope(self.lexicon, binding, before, clock, self.settings, self, params or {}, after)

    # -- the run -------------------------------------------------------------------------------------------------------

    def _begins(self) -> Formula:
        rows, clock = self.rows[0], self.clocks[0]
        formed = {invariant.over[0].machine: invariant for invariant in well_formed(self.contract)}
        empty: list[Formula] = []
        old: list[Formula] = []
        for entity in self.entities:
            machine = self.contract.machine(entity.machine)
            form = formed[machine.name]
            typed = formula_of(form.statement, self.scope({form.over[0].name: entity.key}, rows, clock))
            nulls = (rows.read(entity, declared.name).null for declared in machine.fields if not declared.fixed)
            fixed = formula_of(given(machine), self.scope({machine.name: entity.key}, rows, clock))
            nothing = smt.conj((*nulls, fixed))
            empty.append(nothing)
            if machine.legacy is None:
                old.append(nothing if entity.parent is not None else False)
            else:
                said = formula_of(machine.legacy, self.scope({machine.name: entity.key}, rows, clock))
                lawful = smt.conj((said, typed))
                old.append(lawful if entity.parent is None else smt.disj((lawful, nothing)))
        return smt.disj((smt.conj(empty), smt.conj(old)))

    def extend(self) -> None:
        """One more call, after any time."""
        depth = len(self.rows)
        clock = self._free(f"clock {depth}", Sort.INSTANT, (), nullable=False)
        before = self.rows[-1]
        self.solver.tell(smt.at_most(self.clocks[-1].number, clock.number))
        pick = smt.constant(f"run pick {depth}", smt.WHOLE)
        options: list[_Choice] = []
        assigned: dict[tuple[str, str], list[tuple[Formula, Symbol]]] = {}
        for operation in self.contract.operations:
            params = self._params(operation, f"{depth}")
            for placement in choices(self.contract, self.entities, operation.over):
                call = call_in(self.scope(placement, before, clock, params=params), operation, placement)
                for case in operation.cases:
                    taken = smt.same(pick, smt.whole(len(options)))
                    self.solver.tell(smt.implies(taken, smt.conj((call.allowed(), call.takes(case.name)))))
                    options.append(_Choice(call, case, taken))
                    after = effects(call, case, before)
                    for place, entity in after.places(self.entities).items():
                        assigned.setdefault(place, []).append((taken, after.read(entity, place[1])))
        self.solver.tell(smt.at_most(smt.whole(0), pick), smt.less(pick, smt.whole(len(options))))
        rows = dict(before.symbols)
        for (key, name), values in assigned.items():
            declared = self.contract.machine(self.by_key[key].machine).field_named(name)
            symbol = self._field(f"{depth} {key}.{name}", declared)
            self.solver.tell(*(smt.implies(taken, identical(symbol, value)) for taken, value in values))
            kept = smt.neg(smt.disj([taken for taken, _ in values]))
            self.solver.tell(smt.implies(kept, identical(symbol, before.symbols[(key, name)])))
            rows[(key, name)] = symbol
        self.rows.append(_Table(rows))
        self.clocks.append(clock)
        self.taken.append(tuple(options))

    def _params(self, operation: Operation, mark: str) -> dict[str, Symbol]:
        return {
            parameter.name: self._free(
                f"{operation.name}.{parameter.name} {mark}",
                parameter.sort,
                parameter.words,
                nullable=parameter.nullable,
            )
            for parameter in operation.parameters
        }

    # -- what is sought ------------------------------------------------------------------------------------------------

    @property
    def _end(self) -> Symbol:
        return self._free(f"end {len(self.rows)}", Sort.INSTANT, (), nullable=False)

    def shows(self, sought: Sought) -> Formula:
        """That the run so far, and any time after its last call, shows what is sought."""
        in_time = smt.at_most(self.clocks[-1].number, self._end.number)
        match sought:
            case Invariant():
                shown = smt.disj(
                    [
                        smt.neg(formula_of(sought.statement, self.scope(placement, self.rows[-1], self._end)))
                        for placement in choices(self.contract, self.entities, sought.over)
                    ]
                )
            case StepProperty():
                shown = self._breaks(sought)
            case Ambiguity():
                shown = self._ambiguous(self.contract.operation(sought.operation))
            case Progress():
                shown = self._stuck(sought)
            case _:
                assert_never(sought)
        return smt.conj((in_time, shown))

    def _breaks(self, statement: StepProperty) -> Formula:
        if not self.taken:
            return False
        found: list[Formula] = []
        for choice in self.taken[-1]:
            operation = choice.call.operation
            if not statement.speaks_of(operation):
                continue
            own: Placement = choice.call.placement if statement.restricted else {}
            params = choice.call.scope.params if statement.of is not None else None
            for placement in choices(self.contract, self.entities, statement.over):
                if any(own.get(name, key) != key for name, key in placement.items()):
                    continue
                scope = self.scope(placement, self.rows[-2], self.clocks[-1], params=params, after=self.rows[-1])
                found.append(smt.conj((choice.taken, smt.neg(formula_of(statement.statement, scope)))))
        return smt.disj(found)

    def _ambiguous(self, operation: Operation) -> Formula:
        found: list[Formula] = []
        params = self._params(operation, f"end {len(self.rows)}")
        for placement in choices(self.contract, self.entities, operation.over):
            scope = self.scope(placement, self.rows[-1], self._end, params=params)
            call = call_in(scope, operation, placement)
            open_cases = [call.takes(case.name) for case in operation.cases]
            clash = [
                smt.conj((one, other)) for number, one in enumerate(open_cases) for other in open_cases[number + 1 :]
            ]
            found.append(smt.conj((call.allowed(), smt.disj((*clash, smt.neg(smt.disj(open_cases)))))))
        return smt.disj(found)

    def _stuck(self, progress: Progress) -> Formula:
        rows = self.rows[-1]
        times = [self._end]
        if not progress.at_once:
            times = moments(self._end, instants(self.contract, rows, self.entities))
        found: list[Formula] = []
        for placement in choices(self.contract, self.entities, progress.over):
            parts: list[Formula] = [formula_of(progress.live, self.scope(placement, rows, self._end))]
            for call in self._ways_on(progress, placement, times):
                parts.extend((call.arguments, smt.neg(call.enabled())))
            found.append(smt.conj(parts))
        return smt.disj(found)

    def _ways_on(self, progress: Progress, placement: Placement, times: Sequence[Symbol]) -> Iterator[Call]:
        for name in progress.bound:
            operation = self.contract.operation(name)
            params = self._params(operation, f"end {len(self.rows)}")
            for bound in choices(self.contract, self.entities, operation.over):
                if any(placement.get(variable, key) != key for variable, key in bound.items()):
                    continue
                for moment in times:
                    yield call_in(self.scope(bound, self.rows[-1], moment, params=params), operation, bound)

    # -- what is found -------------------------------------------------------------------------------------------------

    def trace(self, model: smt.Model, sought: Sought) -> Trace:
        """The run of a model, walked by plain evaluation. Raises ``ReadingsDisagree``, see ``BoundedSearch``."""
        semantics = self._semantics(model)
        slots = {slot.label: slot.index for slot in semantics.population.slots}
        start = State(self._time(model, self.clocks[0]), (self._row_values(model, self.rows[0]),))
        moves: list[Move] = []
        now = start.now
        for clock, options in zip(self.clocks[1:], self.taken, strict=True):
            if self._time(model, clock) > now:
                moves.append(Tick(self._time(model, clock) - now))
                now = self._time(model, clock)
            (choice,) = (option for option in options if model.truth(option.taken))
            params = {name: decoded(symbol, model, self.lexicon) for name, symbol in choice.call.scope.params.items()}
            binding = {variable: slots[key] for variable, key in choice.call.placement.items()}
            named = {variable.name for variable in choice.call.operation.over}
            own = {variable: slot for variable, slot in binding.items() if variable in named}
            moves.append(Taken(PlainCall(choice.call.operation.name, 0, own, params), choice.case.name))
        end = self._time(model, self._end)
        if end > now and not isinstance(sought, StepProperty):
            moves.append(Tick(end - now))
        try:
            trace = replayed(semantics, start, [move.call if isinstance(move, Taken) else move for move in moves])
        except LookupError:  # the contract's cases overlap somewhere on the way, so the trace has to name them
            trace = replayed(semantics, start, moves)
        if not self._seen(trace, sought, model):
            raise ReadingsDisagree(f"the solver sees {sought} broken at the end of {trace}; plain evaluation does not")
        return trace

    def _seen(self, trace: Trace, sought: Sought, model: smt.Model) -> bool:
        semantics, end = trace.semantics, trace.end
        match sought:
            case Invariant():
                return false_at(semantics, end, sought.over, sought.statement) is not None
            case StepProperty():
                return breaks(sought, semantics, trace.steps[-1])
            case Ambiguity():
                operation = semantics.contract.operation(sought.operation)
                params = self._arguments(operation, model)
                return any(
                    not semantics.false_guards(end, call) and len(semantics.cases(end, call)) != 1
                    for binding in semantics.population.bindings(operation.over)
                    for call in (PlainCall(operation.name, 0, binding, params),)
                )
            case Progress():
                given = {name: self._arguments(semantics.contract.operation(name), model) for name in sought.bound}
                return any(
                    stuck(sought, semantics, end, binding, given)
                    for binding in semantics.population.bindings(sought.over)
                )
            case _:
                assert_never(sought)

    def _arguments(self, operation: Operation, model: smt.Model) -> dict[str, Value]:
        params = self._params(operation, f"end {len(self.rows)}")
        return {name: decoded(symbol, model, self.lexicon) for name, symbol in params.items()}

    def _time(self, model: smt.Model, clock: Symbol) -> int:
        return int(model.number(clock.number))

    def _row_values(self, model: smt.Model, rows: _Table) -> tuple[dict[str, Value], ...]:
        ordered: list[Entity] = []

        def add(entity: Entity) -> None:
            ordered.append(entity)
            for child in self.entities:
                if child.parent is entity:
                    add(child)

        add(self.entities[0])
        return tuple(
            {
                declared.name: decoded(rows.read(entity, declared.name), model, self.lexicon)
                for declared in self.contract.machine(entity.machine).fields
            }
            for entity in ordered
        )

    def _semantics(self, model: smt.Model) -> Semantics:
        def member(entity: Entity) -> Member:
            fixed = {
                declared.name: decoded(self.rows[0].read(entity, declared.name), model, self.lexicon)
                for declared in self.contract.machine(entity.machine).fields
                if declared.fixed
            }
            inner = tuple(member(child) for child in self.entities if child.parent is entity)
            return Member(entity.machine, entity.key, fixed, inner)

        settings = {name: decoded(symbol, model, self.lexicon) for name, symbol in self.settings.items()}
        return Semantics(self.contract, Population(member(self.entities[0])), settings)


def breaks(statement: StepProperty, semantics: Semantics, step: Step) -> bool:
    """Whether a step of a trace breaks a step property, by plain evaluation."""
    if isinstance(step.move, Tick):
        return False
    call = step.move.call if isinstance(step.move, Taken) else step.move
    operation = semantics.contract.operation(call.operation)
    return not semantics.step_keeps(statement, operation, step.before, call, step.after)
