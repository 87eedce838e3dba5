"""The states of a small world and the steps between them, as far as a tour has to know them for planning.

Two graphs, one protocol. ``graph_of`` is every state by plain evaluation, tokens and ghosts included: simple, slow, and
the oracle of the other. ``reduced_graph`` keeps one state of each class of states that no guard, now or later, tells
apart: a field that neither a guard reads nor an assignment to a field that matters (an error text, a time stamp that
nobody compares) does not multiply states, and what a caller remembers is not part of the store at all. Both lead to the
same edges and refusals (tests compare them).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from fencepost_model.contract import Contract
from fencepost_model.semantics import Accepted, Call, Semantics, State
from fencepost_model.shapes import Selection
from fencepost_model.terms import FieldOf, Missing, Term, parts_of, value_of
from fencepost_model.worlds import World
from fencepost_verification.conformance.situations import RIGHT, Lens, Probe, conditions_of, in_words

TICK: Final = "tick"
"""The passing of time, where a case would be named."""

GraphEdge: TypeAlias = tuple[int, Probe | None, str, int]
"""Source, what is done (None: time passes), name of the case taken (``tick`` for time), target."""


class Graph(Protocol):
    """States, the initial ones among them by number, and edges between numbers."""

    @property
    def states(self) -> Sequence[State]:
        """The states, in the order in which they were reached."""
        ...

    @property
    def initial(self) -> Sequence[int]:
        """Where a run may begin."""
        ...

    @property
    def edges(self) -> Sequence[GraphEdge]:
        """The steps."""
        ...


@dataclass(frozen=True)
class ListedGraph:
    """A graph as plain lists."""

    states: list[State]
    initial: list[int]
    edges: list[GraphEdge]


def _explored(
    starts: Iterable[State],
    key: Callable[[State], Hashable],
    steps: Callable[[State], Iterator[tuple[Probe | None, str, State]]],
) -> ListedGraph:
    states: list[State] = []
    edges: list[GraphEdge] = []
    numbers: dict[Hashable, int] = {}
    frontier: deque[int] = deque()

    def number(state: State) -> int:
        at = key(state)
        found = numbers.get(at)
        if found is None:
            found = numbers[at] = len(states)
            states.append(state)
            frontier.append(found)
        return found

    initial = list(dict.fromkeys(number(state) for state in starts))
    while frontier:
        source = frontier.popleft()
        for probe, case, target in steps(states[source]):
            edges.append((source, probe, case, number(target)))
    return ListedGraph(states, initial, edges)


def graph_of(world: World) -> ListedGraph:
    """Every state of a world, by plain evaluation, with calls by every execution of its population."""
    semantics = Semantics(world.contract, world.population, world.profile())

    def steps(state: State) -> Iterator[tuple[Probe | None, str, State]]:
        if state.now < world.horizon:
            yield None, TICK, semantics.advance(state, world.tick)
        for operation in world.operations():
            holder = operation.selection is Selection.NAMED and len(operation.over) > 1
            for number, terms in enumerate(world.argument_sets(operation)):
                for binding in world.population.bindings(operation.over):
                    scope = semantics.scope(state, 0, binding, {})
                    params = {name: value_of(term, scope) for name, term in terms.items()}
                    outcome = semantics.attempt(state, Call(operation.name, 0, binding, params))
                    if isinstance(outcome, Accepted):
                        probe = Probe(operation.name, RIGHT if holder else None, number, in_words(terms))
                        yield probe, outcome.case.name, outcome.state

    def key(state: State) -> Hashable:
        return state.now, tuple(tuple(row.items()) for row in state.rows[0])

    return _explored(semantics.initial(legacy=world.legacy), key, steps)


def reduced_graph(lens: Lens) -> ListedGraph:
    """One state of each class that guards, now or later, do not tell apart; holders call with the right token."""
    world, semantics = lens.world, lens.semantics
    empty = semantics.empty_rows()
    valued, nullness = fields_that_matter(world.contract)

    def key(state: State) -> Hashable:
        row = state.rows[0][0]
        old = lens.situation(state)[1]
        return old, state.now, *[row[name] for name in valued], *[row[name] is None for name in nullness]

    def bare(state: State) -> State:
        """The state without what callers remember."""
        return State(state.now, ((state.rows[0][0], *empty[1:]),))

    def steps(state: State) -> Iterator[tuple[Probe | None, str, State]]:
        if state.now < world.horizon:
            yield None, TICK, semantics.advance(state, world.tick)
        for probe, false in lens.probes(state):
            if not false:
                case, target = lens.step(state, lens.attempt(state, probe))
                yield probe, case.name, bare(target)

    return _explored(map(bare, semantics.initial(legacy=world.legacy)), key, steps)


def fields_that_matter(contract: Contract) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The stored fields that decide what can happen, and those of which only it matters whether they are null.

    A field matters when a guard or condition reads it, or when what is assigned to a field that matters reads it.
    """
    root = contract.root.name
    terms: list[Term] = []
    for operation in contract.operations:
        terms.extend(guard.term for guard in conditions_of(operation))
    valued: set[str] = set()
    nullness: set[str] = set()
    done: set[str] = set()
    while terms:
        for term in terms:
            _collect(term, root, valued, nullness)
        terms = [
            assignment.value
            for _, case in contract.transitions()
            for assignment in case.effect
            if assignment.field.entity == root and assignment.field.name in (valued | nullness) - done
        ]
        done |= valued | nullness
    stored = [f.name for f in contract.root.fields]
    return tuple(n for n in stored if n in valued), tuple(n for n in stored if n in nullness - valued)


def _collect(term: Term, root: str, valued: set[str], nullness: set[str]) -> None:
    match term:
        case Missing(FieldOf(entity, name)):
            if entity == root:
                nullness.add(name)
        case FieldOf(entity, name):
            if entity == root:
                valued.add(name)
        case _:
            for part in parts_of(term):
                _collect(part, root, valued, nullness)
