"""Searches a printed machine breadth first by plain evaluation, and stops at the first state or step that shows a gap.

Printed machines are small and unchecked: their counters may be unbounded and their cases may overlap, which the
explorer of whole worlds refuses. Here nothing is compiled; a run found is a list of moves that anybody can replay.

Three questions are asked: which run breaks a statement first, which run first ends in a state with no way on (*stuck*),
and which run first goes round without end (a *lasso*: a stem and a loop).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from fencepost_model.semantics import Call, Semantics, State
from fencepost_model.shapes import Invariant, Sort, StepProperty, Variable
from fencepost_model.terms import Bare, TruthTerm, holds, value_of
from fencepost_model.worlds import World
from fencepost_verification.evidence import Move, ReplayFailed, Taken, Tick, Trace, replayed

MOST_STATES = 6_000
"""Where a search gives up; a printed machine that needs more is too large for a finding."""

TICK = "tick"

REPEATS = 25
"""How often a loop is walked before it is taken for one that never ends: a field that drifts may bound it."""


class TooManyStates(RuntimeError):
    """A search met more states than it may; the world must be made smaller."""


@dataclass(frozen=True)
class Stuck:
    """A state in which ``live`` holds and none of the ``bound`` operations is enabled, now or ``patience`` ticks later.

    ``over`` names what ``live`` speaks of.
    """

    name: str
    over: tuple[Variable, ...]
    live: TruthTerm
    bound: tuple[str, ...]
    meaning: str
    patience: int = 8


@dataclass(frozen=True)
class Round:
    """A loop through states in which ``live`` holds, by just the operations named in ``by`` (or ``TICK``).

    States are compared relative to the clock. Of the fields in ``drifting`` only whether they are null is compared,
    for they record what happened or count without bound; that no guard stops them is tested by walking the loop
    ``REPEATS`` times.
    """

    name: str
    over: tuple[Variable, ...]
    live: TruthTerm
    by: tuple[str, ...]
    meaning: str
    drifting: frozenset[str] = frozenset()


Question: TypeAlias = Invariant | StepProperty | Stuck


@dataclass(frozen=True)
class Lasso:
    """A run to a state, and a run from it that comes back to it."""

    stem: Trace
    loop: Trace


def semantics_of(world: World) -> Semantics:
    """The plain reading of a world's contract."""
    return Semantics(world.contract, world.population, world.profile())


def moves_from(semantics: Semantics, world: World, state: State, *, clock: bool = True) -> Iterator[tuple[Move, State]]:
    """Every move that a state allows, with the state it leads to; time first."""
    if clock and state.now + world.tick <= world.horizon:
        yield Tick(world.tick), semantics.advance(state, world.tick)
    for operation in world.operations():
        for aggregate in range(world.population.aggregates):
            for binding in world.population.bindings(operation.over):
                for arguments in world.argument_sets(operation):
                    params = {name: value_of(term, Bare({}, state.now)) for name, term in arguments.items()}
                    call = Call(operation.name, aggregate, binding, params)
                    if semantics.false_guards(state, call):
                        continue
                    for case in semantics.cases(state, call):
                        yield Taken(call, case.name), semantics.apply(state, call, case)


def key_of(state: State) -> Hashable:
    """A state as something that can be looked up."""
    return state.now, tuple(tuple(tuple(row.values()) for row in rows) for rows in state.rows)


def first_run(world: World, stops: Callable[[Semantics, State, Move | None, State], bool]) -> Trace | None:
    """The shortest run to a step (or an initial state, with no move) at which ``stops`` says so; None when none does.

    Raises ``TooManyStates``.
    """
    semantics = semantics_of(world)
    origin: dict[Hashable, tuple[Hashable, Move] | None] = {}
    starts: dict[Hashable, State] = {}
    queue: deque[State] = deque()

    def run_to(key: Hashable, last: Move | None) -> Trace:
        moves = [] if last is None else [last]
        step = origin[key]
        while step is not None:
            key, move = step
            moves.append(move)
            step = origin[key]
        return replayed(semantics, starts[key], reversed(moves))

    for state in semantics.initial(legacy=world.legacy):
        key = key_of(state)
        origin.setdefault(key, None)
        starts.setdefault(key, state)
        queue.append(state)
        if stops(semantics, state, None, state):
            return run_to(key, None)
    while queue:
        state = queue.popleft()
        here = key_of(state)
        for move, after in moves_from(semantics, world, state):
            if stops(semantics, state, move, after):
                return run_to(here, move)
            key = key_of(after)
            if key in origin:
                continue
            origin[key] = (here, move)
            queue.append(after)
            if len(origin) > MOST_STATES:
                raise TooManyStates(f"{world.name} has more than {MOST_STATES:,} states; lower its horizon or budgets")
    return None


def first_answer(world: World, question: Question) -> Trace | None:
    """The shortest run that breaks the statement, or that ends stuck; None when there is none."""
    match question:
        case Stuck():
            return first_run(world, lambda semantics, before, move, after: is_stuck(semantics, world, after, question))
        case Invariant() | StepProperty():
            return first_run(
                world, lambda semantics, before, move, after: breaks(semantics, question, before, move, after)
            )


def breaks(
    semantics: Semantics, statement: Invariant | StepProperty, before: State, move: Move | None, after: State
) -> bool:
    """Whether a step, or the state in which it ends, breaks the statement; by plain evaluation."""
    match statement:
        case Invariant():
            asked = replace(semantics, contract=replace(semantics.contract, invariants=(statement,), checked=False))
            return bool(asked.broken_invariants(after))
        case StepProperty():
            if not isinstance(move, Taken):
                return False
            operation = semantics.contract.operation(move.call.operation)
            return not semantics.step_keeps(statement, operation, before, move.call, after)


def is_live(semantics: Semantics, over: Sequence[Variable], live: TruthTerm, state: State) -> bool:
    """Whether a statement holds of some entities of a state."""
    return any(
        holds(live, semantics.scope(state, aggregate, binding, {}))
        for aggregate in range(semantics.population.aggregates)
        for binding in semantics.population.bindings(over)
    )


def is_stuck(semantics: Semantics, world: World, state: State, stuck: Stuck) -> bool:
    """Whether a live state has no way on by the bound operations, at this instant or any of the next ones."""
    if not is_live(semantics, stuck.over, stuck.live, state):
        return False
    bound = replace(
        world,
        without=frozenset(o.name for o in world.contract.operations if o.name not in stuck.bound),
        untaken=frozenset(),
        unreached=frozenset(),
    )
    for wait in range(stuck.patience + 1 if world.horizon else 1):
        later = state if wait == 0 else semantics.advance(state, wait)
        if any(True for _ in moves_from(semantics, bound, later, clock=False)):
            return False
    return True


def relative(semantics: Semantics, state: State, drifting: frozenset[str]) -> Hashable:
    """A state without the clock: instants as distances from now, and of drifting fields only whether they are set."""
    rows: list[tuple[Hashable, ...]] = []
    for aggregate in state.rows:
        for slot, row in zip(semantics.population.slots, aggregate, strict=True):
            fields = {field.name: field.sort for field in semantics.contract.machine(slot.machine).fields}
            seen: list[Hashable] = []
            for name, value in row.items():
                if value is None or name in drifting:
                    seen.append(value is None)
                elif fields[name] is Sort.INSTANT and isinstance(value, int | float):
                    seen.append(("from now", value - state.now))
                else:
                    seen.append(("is", value))
            rows.append(tuple(seen))
    return tuple(rows)


def first_round(world: World, round_: Round, longest: int = 4) -> Lasso | None:
    """The lasso with the shortest stem, and of those one with the shortest loop; None when there is none."""
    semantics = semantics_of(world)

    def loop_from(state: State) -> list[Move] | None:
        if not is_live(semantics, round_.over, round_.live, state):
            return None
        home = relative(semantics, state, round_.drifting)
        ahead: deque[tuple[State, tuple[Move, ...]]] = deque([(state, ())])
        while ahead:
            here, path = ahead.popleft()
            for move, after in moves_from(semantics, replace(world, horizon=world.horizon + longest), here):
                if name_of(move) not in round_.by or not is_live(semantics, round_.over, round_.live, after):
                    continue
                taken = (*path, move)
                names = {name_of(step) for step in taken}
                closed = names == set(round_.by) and relative(semantics, after, round_.drifting) == home
                if closed and repeats(semantics, state, taken):
                    return list(taken)
                if len(taken) < longest:
                    ahead.append((after, taken))
        return None

    stem = first_run(world, lambda semantics, before, move, after: loop_from(after) is not None)
    if stem is None:
        return None
    loop = loop_from(stem.end)
    assert loop is not None
    return Lasso(stem, replayed(semantics, stem.end, loop))


def repeats(semantics: Semantics, state: State, loop: Sequence[Move]) -> bool:
    """Whether a loop can be walked many times over, move for move."""
    try:
        replayed(semantics, state, [*loop] * REPEATS)
    except ReplayFailed:
        return False
    return True


def name_of(move: Move) -> str:
    """The operation of a move, or ``TICK``."""
    match move:
        case Tick():
            return TICK
        case Taken(call, _):
            return call.operation
        case Call():
            return move.operation
