"""Every state of one aggregate of a world, breadth first: the table from which whole worlds are explored.

Theory
======
An operation touches one aggregate and reads the clock; time is all that aggregates share. So what can happen to one of
them does not depend on the others, and it is enough to find, once, every state that *one* aggregate can be in at each
tick of the clock, and what each call makes of it. This file does that, by evaluating guards, conditions and effects as
NumPy columns over a whole frontier at once. ``world`` then walks the product.

A state's *key* is what the contract's behaviour depends on (``observation``), one byte for each field. Beside its key
each state keeps one whole row, the one by which it was first reached; its ancestors' rows are the run that leads to it.
Invariants are checked on every new state, step properties on every edge, with whole rows. A violation that is reported
is therefore a real run; it is replayed by plain evaluation before anybody sees it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fencepost_model.contract import Contract, transition_name
from fencepost_model.semantics import Call, Population, Row, Semantics, State
from fencepost_model.shapes import Case, Guard, Operation, Sort, StepProperty
from fencepost_model.terms import Bare, Every, FieldOf, Param, Some, Value, ValueTerm, value_of, walk
from fencepost_model.worlds import World
from fencepost_verification.evidence import Move, Taken, Tick, Trace, replayed
from fencepost_verification.explore.columns import NULL, Codebook, Column, Mask, column_of, mask_of
from fencepost_verification.explore.observation import Observation, Observed, observation_of

Ids = NDArray[np.int64]

ONE_CASE = "cases_exclude_each_other"
SOME_CASE = "cases_are_complete"
"""The names under which an operation is reported that has two cases open at once, or none."""
CASE_FAULTS = frozenset({ONE_CASE, SOME_CASE})

MOST_STATES = 5_000_000
"""How many states of one aggregate are looked at, at most."""

_LEAST, _MOST = -64, 189
"""The numbers that fit a byte of a key: codes of strings below zero, counts and instants above; null has its own."""


class WorldTooWide(ValueError):
    """A value of the world does not fit a key; the message names the field and what to lower."""


@dataclass(frozen=True)
class MoveShape:
    """One edge label: a case of an operation, on these slots, with these arguments; ``operation`` is None for time."""

    operation: Operation | None
    case: Case | None
    binding: Mapping[str, int]
    arguments: Mapping[str, ValueTerm]

    @property
    def transition(self) -> str:
        """The name of the transition."""
        if self.operation is None or self.case is None:
            return "tick"
        return transition_name(self.operation, self.case)


@dataclass(frozen=True)
class Violation:
    """A statement that a state or a step breaks: after the run to ``state``, by the move ``move`` if a step."""

    statement: str
    state: int
    move: int | None
    depth: int


@dataclass
class LocalGraph:
    """All states of one aggregate of a world, and the moves between them.

    ``columns[k][s]`` is the value of the k-th field of the layout in state ``s``; ``clock[s]`` its instant (seconds);
    ``sources``, ``moves``, ``targets`` hold one entry an edge; ``parents`` and ``parent_moves`` the
    run by which a state was first reached (-1 for an initial state).
    """

    world: World
    semantics: Semantics
    layout: Layout
    codebook: Codebook
    shapes: tuple[MoveShape, ...]
    clock: Ids
    columns: list[Column]
    depth: Ids
    parents: Ids
    parent_moves: Ids
    initial: Ids
    sources: Ids
    moves: Ids
    targets: Ids
    violations: list[Violation]
    witnessed: dict[str, int]
    complete: bool

    @property
    def states(self) -> int:
        """How many states were found."""
        return len(self.clock)

    def state(self, number: int) -> State:
        """A state, as the plain semantics has it (a world of one aggregate)."""
        rows: list[Row] = []
        for slot in self.semantics.population.slots:
            row: dict[str, Value] = {}
            for position, (index, name, is_flag) in enumerate(self.layout.fields):
                if index == slot.index:
                    row[name] = self.codebook.decode(int(self.columns[position][number]), is_flag)
            rows.append(row)
        return State(int(self.clock[number]), (tuple(rows),))

    def move(self, shape: int, now: int) -> Move:
        """The move that an edge label stands for, at an instant."""
        label = self.shapes[shape]
        if label.operation is None or label.case is None:
            return Tick(self.world.tick)
        params = {name: value_of(term, Bare({}, now)) for name, term in label.arguments.items()}
        return Taken(Call(label.operation.name, 0, dict(label.binding), params), label.case.name)

    def trace_to(self, number: int, last: int | None = None) -> Trace:
        """The shortest run to a state, followed by one more move where ``last`` names one; replayed."""
        moves: list[Move] = [] if last is None else [self.move(last, int(self.clock[number]))]
        while self.parents[number] >= 0:
            parent = int(self.parents[number])
            moves.append(self.move(int(self.parent_moves[number]), int(self.clock[parent])))
            number = parent
        return replayed(self.semantics, self.state(number), reversed(moves))

    def trace_of(self, violation: Violation) -> Trace:
        """The shortest run that breaks the statement, replayed; raises ``ReplayFailed`` where readings disagree."""
        return self.trace_to(violation.state, violation.move)


@dataclass(frozen=True)
class Layout:
    """Which columns there are: one for each field of each slot; and which of them make the key of a state."""

    fields: tuple[tuple[int, str, bool], ...]
    positions: Mapping[tuple[int, str], int]
    observed: tuple[Observed, ...]

    @staticmethod
    def of(contract: Contract, population: Population, observation: Observation) -> Layout:
        """The layout of one aggregate."""
        fields: list[tuple[int, str, bool]] = []
        observed: list[Observed] = []
        for slot in population.slots:
            for one in contract.machine(slot.machine).fields:
                fields.append((slot.index, one.name, one.sort is Sort.FLAG))
                observed.append(Observed.NOT if one.fixed else observation[(slot.machine, one.name)])
        positions = {(slot, name): position for position, (slot, name, _) in enumerate(fields)}
        return Layout(tuple(fields), positions, tuple(observed))

    def keys(self, clock: Ids, columns: Sequence[Column]) -> NDArray[np.bytes_]:
        """The key of each state: a byte for the clock and one for each observed field, never zero."""
        parts = [_byte(clock, "the clock")]
        for (_, name, _), column, closeness in zip(self.fields, columns, self.observed, strict=True):
            if closeness is Observed.VALUE:
                parts.append(_byte(column, name))
            elif closeness is Observed.NULLNESS:
                parts.append(np.where(column == NULL, 1, 2).astype(np.uint8))
        matrix = np.ascontiguousarray(np.stack(parts, axis=1))
        return matrix.view(f"S{matrix.shape[1]}").ravel()


def _byte(column: Column, name: str) -> NDArray[np.uint8]:
    null = column == NULL
    numbers = np.where(null, 0, column)
    if numbers.size and (numbers.min() < _LEAST or numbers.max() > _MOST):
        raise WorldTooWide(f"{name} leaves the range {_LEAST}..{_MOST} of a small world; lower its horizon or budgets")
    return np.where(null, 1, numbers - _LEAST + 2).astype(np.uint8)


@dataclass(slots=True)
class FrontierScope:
    """Terms about some states of a frontier: the chosen rows of its columns (and of those after a step)."""

    codebook: Codebook
    layout: Layout
    population: Population
    settings: Mapping[str, Column]
    binding: Mapping[str, int]
    clock: Column
    columns: Sequence[Column]
    chosen: Ids | None = None
    params: Mapping[str, Column] = field(default_factory=dict[str, Column])
    ends: Sequence[Column] | None = None

    def field(self, entity: str, name: str, after: bool) -> Column:
        columns = self.ends if after else self.columns
        if columns is None:
            raise ValueError(f"{entity}.{name} is asked for after a step, but there is only one state here")
        return self._of(columns[self.layout.positions[(self.binding[entity], name)]])

    def column(self, position: int) -> Column:
        """One column of the layout, for the chosen states."""
        return self._of(self.columns[position])

    def now(self) -> Column:
        return self._of(self.clock)

    def setting(self, name: str) -> Column:
        return self.settings[name]

    def param(self, name: str) -> Column:
        # An argument that depends on the clock is given for the whole frontier, like a column.
        column = self.params[name]
        return column if column.ndim == 0 else self._of(column)

    def each(self, variable: str, machine: str, of: str) -> Sequence[FrontierScope]:
        return [
            self.on({**self.binding, variable: slot.index})
            for slot in self.population.members_of(self.binding[of], machine)
        ]

    def on(self, binding: Mapping[str, int]) -> FrontierScope:
        """The same states with other variables bound."""
        return self._copy(binding, self.chosen, self.params)

    def keeping(self, chosen: Ids) -> FrontierScope:
        """Only these of the states; ``chosen`` indexes the whole frontier."""
        return self._copy(self.binding, chosen, self.params)

    def called_with(self, params: Mapping[str, Column]) -> FrontierScope:
        """The same states, with arguments."""
        return self._copy(self.binding, self.chosen, params)

    # dataclasses.replace would take longer than most terms do on a small frontier.
    def _copy(self, binding: Mapping[str, int], chosen: Ids | None, params: Mapping[str, Column]) -> FrontierScope:
        return FrontierScope(
            self.codebook,
            self.layout,
            self.population,
            self.settings,
            binding,
            self.clock,
            self.columns,
            chosen,
            params,
            self.ends,
        )

    def _of(self, column: Column) -> Column:
        return column if self.chosen is None else column[self.chosen]


def _chosen(scope: FrontierScope) -> Ids:
    return np.arange(len(scope.clock)) if scope.chosen is None else scope.chosen


def _size(scope: FrontierScope) -> int:
    return len(scope.clock) if scope.chosen is None else len(scope.chosen)


def _narrowed(scope: FrontierScope, guards: Sequence[Guard]) -> FrontierScope:
    """The states in which all guards hold."""
    for guard in guards:
        if _size(scope) == 0:
            return scope
        mask = mask_of(guard.term, scope)
        if mask.ndim == 0:
            if not mask:
                return scope.keeping(np.empty(0, dtype=np.int64))
            continue
        if mask.all():
            continue
        (kept,) = mask.nonzero()
        scope = scope.keeping(kept if scope.chosen is None else scope.chosen[kept])
    return scope


def effects_of(case: Case, scope: FrontierScope) -> dict[int, Column]:
    """What a case changes in the states of a scope, by the position of the column; the rest stays as it is.

    All values are read in the state in which the step begins.
    """
    binding, positions = scope.binding, scope.layout.positions
    changed: dict[int, Column] = {
        positions[(binding[a.field.entity], a.field.name)]: column_of(a.value, scope) for a in case.effect
    }
    for each in case.also:
        for member in scope.population.below(binding, each.over):
            there = scope.on(member)
            hit = mask_of(each.where, there)
            if not hit.any():
                continue
            for assignment in each.effect:
                position = positions[(member[assignment.field.entity], assignment.field.name)]
                kept = changed[position] if position in changed else there.column(position)
                changed[position] = np.where(hit, column_of(assignment.value, there), kept)
    return changed


@dataclass(frozen=True)
class _Plan:
    """An operation as it is looked at: its guards by what they read, where it can be called, and with what.

    Guards that read the subject alone are evaluated once for all that share it, those that read others but no argument
    once for all arguments.
    """

    operation: Operation
    subject: str
    of_the_subject: tuple[Guard, ...]
    of_the_caller: tuple[Guard, ...]
    of_the_call: tuple[Guard, ...]
    bindings: tuple[Mapping[str, int], ...]
    arguments: tuple[Mapping[str, ValueTerm], ...]

    @staticmethod
    def of(operation: Operation, population: Population, arguments: Iterable[Mapping[str, ValueTerm]]) -> _Plan:
        """The plan for one operation."""
        subject = operation.subject.name
        kinds = [(guard, *_depends_on(guard, subject)) for guard in operation.guards]
        return _Plan(
            operation,
            subject,
            tuple(guard for guard, others, arguments in kinds if not others and not arguments),
            tuple(guard for guard, others, arguments in kinds if others and not arguments),
            tuple(guard for guard, _, arguments in kinds if arguments),
            tuple(population.bindings(operation.over)),
            tuple(arguments),
        )


class _Obliged:
    """A step property with the bindings that it is looked at in, and the edge labels that each speaks of."""

    def __init__(self, statement: StepProperty, population: Population) -> None:
        self.statement = statement
        self.bindings = tuple(population.bindings(statement.over))
        self.reads_arguments = any(isinstance(part, Param) for part in walk(statement.statement))
        self._fitting: list[list[bool]] = [[] for _ in self.bindings]

    def fitting(self, number: int, shapes: Sequence[MoveShape]) -> list[bool]:
        """For each edge label whether the property, so bound, speaks of it."""
        known = self._fitting[number]
        known.extend(_fits(shape, self.statement, self.bindings[number]) for shape in shapes[len(known) :])
        return known


def _depends_on(guard: Guard, subject: str) -> tuple[bool, bool]:
    """Whether a guard reads anything but the subject, and whether it reads an argument."""
    parts = list(walk(guard.term))
    arguments = any(isinstance(part, Param) for part in parts)
    quantified = any(isinstance(part, Every | Some) for part in parts)
    others = any(isinstance(part, FieldOf) and part.entity != subject for part in parts)
    return others or quantified, arguments


_Steps: TypeAlias = tuple[Ids | None, Mapping[str, int], Mapping[str, ValueTerm]]
"""Some edges (None for all), the slots of a statement's variables, and the arguments of the calls."""


def _fits(shape: MoveShape, statement: StepProperty, binding: Mapping[str, int]) -> bool:
    """Whether a property of some steps speaks of a move: of its own entities, by name."""
    if shape.operation is None or not statement.speaks_of(shape.operation):
        return False
    return all(shape.binding.get(name) in (None, slot) for name, slot in binding.items())


class Explorer:
    """Finds every state of one aggregate of a world, level by level."""

    def __init__(self, contract: Contract, world: World) -> None:
        self.world = world
        self.contract = contract
        self.population = Population(world.population.root, 1)
        self.semantics = Semantics(contract, self.population, world.profile())
        self.codebook = Codebook()
        for machine in contract.machines:
            for one in machine.fields:
                for word in one.words:
                    self.codebook.encode(word)
        self.layout = Layout.of(contract, self.population, observation_of(contract))
        self.settings = {name: np.asarray(self.codebook.encode(v)) for name, v in world.profile().items()}
        self.shapes: list[MoveShape] = []
        self.numbers: dict[tuple[str, str, tuple[tuple[str, int], ...], int], int] = {}
        self.tick = self._number(None, None, {}, {}, 0)
        self.plans = [
            _Plan.of(operation, self.population, world.argument_sets(operation))
            for operation in (contract.operation(called.name) for called in world.operations())
        ]
        self.obliged = [_Obliged(statement, self.population) for statement in contract.step_properties]
        self.case_faults: dict[str, int] = {}
        self.statements = [
            (statement, list(self.population.bindings(statement.over))) for statement in contract.invariants
        ]
        self.witnesses = [(witness, list(self.population.bindings(witness.over))) for witness in contract.witnesses]

    def _number(
        self,
        operation: Operation | None,
        case: Case | None,
        binding: Mapping[str, int],
        arguments: Mapping[str, ValueTerm],
        which: int,
    ) -> int:
        key = (
            operation.name if operation else "",
            case.name if case else "",
            tuple(sorted(binding.items())),
            which,
        )
        if key not in self.numbers:
            self.numbers[key] = len(self.shapes)
            self.shapes.append(MoveShape(operation, case, dict(binding), dict(arguments)))
        return self.numbers[key]

    # -- one level -----------------------------------------------------------------------------------------------------

    def _scope(self, clock: Ids, columns: Sequence[Column], ends: Sequence[Column] | None = None) -> FrontierScope:
        return FrontierScope(
            self.codebook, self.layout, self.population, self.settings, {}, clock, columns, None, {}, ends
        )

    def successors(self, clock: Ids, columns: Sequence[Column]) -> tuple[Ids, Ids, Ids, list[Column]]:
        """Every move out of a frontier: for each its source (index), its label, the clock and the columns after it."""
        sources: list[Ids] = []
        taken: list[int] = []
        effects: list[tuple[slice, Mapping[int, Column]]] = []
        size = 0

        def emit(scope: FrontierScope, label: int, changed: Mapping[int, Column]) -> None:
            nonlocal size
            chosen = _chosen(scope)
            sources.append(chosen)
            taken.append(label)
            effects.append((slice(size, size + len(chosen)), changed))
            size += len(chosen)

        whole = self._scope(clock, columns)
        before_the_end = np.flatnonzero(clock + self.world.tick <= self.world.horizon)
        if len(before_the_end):
            emit(whole.keeping(before_the_end), self.tick, {})
        for plan in self.plans:
            operation, subject = plan.operation, plan.subject
            by_subject: dict[int, FrontierScope] = {}
            called_with: list[Mapping[str, Column]] = []
            for binding in plan.bindings:
                if binding[subject] not in by_subject:
                    by_subject[binding[subject]] = _narrowed(whole.on(binding), plan.of_the_subject)
                shared = by_subject[binding[subject]]
                if _size(shared) == 0:
                    continue
                callers = _narrowed(shared.on(binding), plan.of_the_caller)
                if _size(callers) == 0:
                    continue
                called_with = called_with or [
                    {name: column_of(term, whole) for name, term in arguments.items()} for arguments in plan.arguments
                ]
                for which, params in enumerate(called_with):
                    arguments = plan.arguments[which]
                    allowed = _narrowed(callers.called_with(params), plan.of_the_call)
                    if _size(allowed) == 0:
                        continue
                    opened = np.zeros(len(clock), dtype=np.int8)
                    for case in operation.cases:
                        there = _narrowed(allowed, case.when)
                        if _size(there) == 0:
                            continue
                        opened[_chosen(there)] += 1
                        label = self._number(operation, case, binding, arguments, which)
                        emit(there, label, effects_of(case, there))
                    self._look_at_cases(opened[_chosen(allowed)], _chosen(allowed))
        if not sources:
            nothing = np.empty(0, dtype=np.int64)
            return nothing, nothing, nothing, [nothing for _ in columns]
        source = np.concatenate(sources)
        labels = np.repeat(np.array(taken), [len(chosen) for chosen in sources])
        # Every move takes the whole row along, and then changes what it changes.
        after = [column[source] for column in columns]
        for moves, changed in effects:
            for position, values in changed.items():
                after[position][moves] = values
        return source, labels, clock[source] + np.where(labels == self.tick, self.world.tick, 0), after

    def _look_at_cases(self, opened: NDArray[np.int8], states: Ids) -> None:
        """Note the first state of the frontier in which an allowed call has no case, or more than one."""
        for name, at_fault in ((ONE_CASE, opened > 1), (SOME_CASE, opened == 0)):
            if at_fault.any():
                first = int(states[np.argmax(at_fault)])
                self.case_faults[name] = min(first, self.case_faults.get(name, first))

    # -- statements ----------------------------------------------------------------------------------------------------

    def broken_invariants(self, clock: Ids, columns: Sequence[Column]) -> list[tuple[str, int]]:
        """Each invariant that some of the states break, with the index of the first that does."""
        scope = self._scope(clock, columns)
        broken: list[tuple[str, int]] = []
        for statement, bindings in self.statements:
            for binding in bindings:
                found = _first_false(mask_of(statement.statement, scope.on(binding)), len(clock))
                if found is not None:
                    broken.append((statement.name, found))
                    break
        return broken

    def broken_steps(
        self, labels: Ids, clock: Ids, before: Sequence[Column], after: Sequence[Column]
    ) -> list[tuple[str, int]]:
        """Each step property that some of the steps break, with the index of the first that does."""
        broken: list[tuple[str, int]] = []
        scope = self._scope(clock, before, after)
        # Time passing is no step of an operation: only a property of the clock speaks of it.
        taken = np.flatnonzero(labels != self.tick)
        calls = taken if len(taken) < len(labels) else None
        for obliged in self.obliged:
            statement = obliged.statement
            for chosen, binding, arguments in self._steps_of(obliged, labels, calls):
                if chosen is not None and len(chosen) == 0:
                    continue
                there = scope.on(binding) if chosen is None else scope.on(binding).keeping(chosen)
                if arguments:
                    params = {name: column_of(term, scope) for name, term in arguments.items()}
                    there = there.called_with(params)
                found = _first_false(mask_of(statement.statement, there), _size(there))
                if found is not None:
                    broken.append((statement.name, found if chosen is None else int(chosen[found])))
                    break
        return broken

    def _steps_of(self, obliged: _Obliged, labels: Ids, calls: Ids | None) -> Iterator[_Steps]:
        """The steps that a property speaks of, for each binding; apart by arguments where it reads them."""
        if not obliged.statement.restricted:
            for binding in obliged.bindings:
                yield calls, binding, {}
            return
        for which, binding in enumerate(obliged.bindings):
            fitting = np.array(obliged.fitting(which, self.shapes))
            if not obliged.reads_arguments:
                yield fitting[labels].nonzero()[0], binding, {}
                continue
            for number in np.flatnonzero(fitting):
                yield np.flatnonzero(labels == number), binding, self.shapes[number].arguments

    # -- the search ----------------------------------------------------------------------------------------------------

    def run(
        self,
        *,
        stop_at_violation: bool = False,
        further: int = 0,
        deepest: int | None = None,
        most_states: int = MOST_STATES,
    ) -> LocalGraph:
        """Search until nothing new is found, a statement breaks (where asked), or a bound is reached.

        ``deepest`` bounds the length of runs, in steps; the last step's properties are still looked at. ``further``
        says how many levels more are searched after the one that broke something.

        Cases that overlap are noted but do not stop a search: a statement that breaks further on tells more.
        """
        clock, columns = self._initial()
        keys = self.layout.keys(clock, columns)
        _, first = np.unique(keys, return_index=True)
        first = np.sort(first)
        clock, columns = clock[first], [column[first] for column in columns]
        known = self.layout.keys(clock, columns)
        order = np.argsort(known)
        known, known_ids = known[order], order.astype(np.int64)
        initial = np.arange(len(clock))
        none = np.full(len(clock), -1)
        levels = [(clock, columns, none, none)]
        depths = [np.zeros(len(clock), dtype=np.int64)]
        edges: list[tuple[Ids, Ids, Ids]] = []
        violations = [Violation(name, at, None, 0) for name, at in self.broken_invariants(clock, columns)]
        witnessed: dict[str, int] = {}
        self._look_for_witnesses(witnessed, clock, columns, 0)
        start, total, depth, complete = 0, len(clock), 0, True
        while len(clock):
            broken_at = [found.depth for found in violations if found.statement not in CASE_FAULTS]
            if stop_at_violation and broken_at and depth >= min(broken_at) + further:
                complete = False
                break
            if deepest is not None and depth >= deepest:
                complete = False
                break
            sources, labels, next_clock, after = self.successors(clock, columns)
            for name, at in self.case_faults.items():
                violations.append(Violation(name, start + at, None, depth))
            self.case_faults.clear()
            before = [column[sources] for column in columns]
            for name, at in self.broken_steps(labels, clock[sources], before, after):
                violations.append(Violation(name, start + int(sources[at]), int(labels[at]), depth + 1))
            depth += 1
            if not len(sources):
                break
            keys = self.layout.keys(next_clock, after)
            unique, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
            places = np.searchsorted(known, unique)
            places[places == len(known)] = 0
            old = known[places] == unique
            ids = np.where(old, known_ids[places], -1)
            fresh = np.flatnonzero(~old)
            # New states are numbered in the order in which they were first met, so that a run is the same each time.
            fresh = fresh[np.argsort(first[fresh], kind="stable")]
            ids[fresh] = total + np.arange(len(fresh))
            edges.append((start + sources, labels, ids[inverse]))
            start = total
            total += len(fresh)
            met = first[fresh]
            parents, parent_moves = edges[-1][0][met], labels[met]
            clock, columns = next_clock[met], [column[met] for column in after]
            levels.append((clock, columns, parents, parent_moves))
            depths.append(np.full(len(clock), depth))
            # Both are in order, so that the new ones need only be put between the others.
            new = np.flatnonzero(~old)
            between = np.searchsorted(known, unique[new])
            known, known_ids = np.insert(known, between, unique[new]), np.insert(known_ids, between, ids[new])
            if len(clock):
                violations += [
                    Violation(name, start + at, None, depth) for name, at in self.broken_invariants(clock, columns)
                ]
                self._look_for_witnesses(witnessed, clock, columns, start)
            if total > most_states:
                complete = False
                break
        return LocalGraph(
            world=self.world,
            semantics=self.semantics,
            layout=self.layout,
            codebook=self.codebook,
            shapes=tuple(self.shapes),
            clock=np.concatenate([level[0] for level in levels]),
            columns=[np.concatenate([level[1][k] for level in levels]) for k in range(len(self.layout.fields))],
            depth=np.concatenate(depths),
            parents=np.concatenate([level[2] for level in levels]),
            parent_moves=np.concatenate([level[3] for level in levels]),
            initial=initial,
            sources=np.concatenate([edge[0] for edge in edges]) if edges else np.empty(0, dtype=np.int64),
            moves=np.concatenate([edge[1] for edge in edges]) if edges else np.empty(0, dtype=np.int64),
            targets=np.concatenate([edge[2] for edge in edges]) if edges else np.empty(0, dtype=np.int64),
            violations=_first_of_each(violations),
            witnessed=witnessed,
            complete=complete,
        )

    def _initial(self) -> tuple[Ids, list[Column]]:
        states = list(self.semantics.initial(legacy=self.world.legacy))
        clock = np.array([state.now for state in states], dtype=np.int64)
        columns = [
            np.array([self.codebook.encode(state.rows[0][slot][name]) for state in states], dtype=np.int64)
            for slot, name, _ in self.layout.fields
        ]
        return clock, columns

    def _look_for_witnesses(self, found: dict[str, int], clock: Ids, columns: Sequence[Column], start: int) -> None:
        scope = self._scope(clock, columns)
        for witness, bindings in self.witnesses:
            for binding in bindings:
                if witness.name in found:
                    break
                mask = mask_of(witness.statement, scope.on(binding))
                at = _first_false(np.logical_not(mask), len(clock))
                if at is not None:
                    found[witness.name] = start + at


def _first_false(mask: Mask, size: int) -> int | None:
    if mask.ndim == 0:
        return None if mask or size == 0 else 0
    at = int(mask.argmin()) if mask.size else 0
    return at if mask.size and not mask[at] else None


def _first_of_each(violations: Sequence[Violation]) -> list[Violation]:
    first: dict[str, Violation] = {}
    for violation in violations:
        first.setdefault(violation.statement, violation)
    return list(first.values())


def explore_aggregate(
    world: World,
    contract: Contract | None = None,
    *,
    stop_at_violation: bool = False,
    further: int = 0,
    deepest: int | None = None,
    most_states: int = MOST_STATES,
) -> LocalGraph:
    """Every state of one aggregate of a world, for its contract or for a mutant of it (see ``Explorer.run``)."""
    explorer = Explorer(contract or world.contract, world)
    return explorer.run(stop_at_violation=stop_at_violation, further=further, deepest=deepest, most_states=most_states)
