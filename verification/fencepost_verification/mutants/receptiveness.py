"""Finds the states of a world in which somebody bound to act cannot, now or ever: progress, looked at state by state.

The proof of such a statement looks at every lawful state; a mutant that breaks it often breaks the proof only in states
that a bounded search does not come to. In a world that is explored to its end every state is at hand with its moves, so
that the break is found with the shortest run to it. Moments after the end of the world are looked at too: the rows
stand still while nobody acts, so that it is enough to set the clock on, past the last instant that a guard can read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fencepost_model.shapes import Operation, Progress, Sort
from fencepost_model.terms import AllOf, AnyOf, TruthTerm
from fencepost_verification.explore.columns import NULL, column_of, mask_of
from fencepost_verification.explore.local import FrontierScope, LocalGraph

Mask = NDArray[np.bool_]


def stuck_states(graph: LocalGraph, statements: Sequence[Progress]) -> dict[str, int]:
    """For each progress statement that the graph breaks, its first state that does: live, and nobody can ever act.

    What must be possible at once is looked at with the moves of the state, the rest at every later moment. Statements
    that bind an operation which the world does not call are left out. Raises ``ValueError`` when the graph is not
    complete, for a state on an open frontier has no moves yet.
    """
    if not graph.complete:
        raise ValueError(f"world {graph.world.name!r} was not explored to its end; raise the bound on its states")
    called = {operation.name for operation in graph.world.operations()}
    return {
        statement.name: state
        for statement in statements
        if called.issuperset(statement.bound)
        for state in _first(_stuck(graph, statement))
    }


def _first(states: Iterator[int]) -> tuple[int, ...]:
    earliest = min(states, default=None)
    return () if earliest is None else (earliest,)


def _stuck(graph: LocalGraph, statement: Progress) -> Iterator[int]:
    """For each choice of the statement's entities the first state in which they are live and nobody can act."""
    for binding in graph.semantics.population.bindings(statement.over):
        stuck: Mask = np.broadcast_to(mask_of(statement.live, _scope(graph, binding, 0)), graph.clock.shape).copy()
        stuck[graph.sources[np.isin(graph.moves, _of_the_bound(graph, statement, binding))]] = False
        if not statement.at_once and stuck.any():
            for seconds in range(1, _last_moment(graph) + 1):
                stuck &= ~_able(graph, statement, binding, seconds)
        if stuck.any():
            yield int(np.argmax(stuck))


def _scope(graph: LocalGraph, binding: Mapping[str, int], seconds: int) -> FrontierScope:
    """The states of a graph, so many seconds later if nobody has acted."""
    settings = {name: np.asarray(graph.codebook.encode(value)) for name, value in graph.world.profile().items()}
    population = graph.semantics.population
    return FrontierScope(
        graph.codebook, graph.layout, population, settings, binding, graph.clock + seconds, graph.columns
    )


def _of_the_bound(graph: LocalGraph, statement: Progress, binding: Mapping[str, int]) -> list[int]:
    """The moves by which a bound operation acts on the statement's entities: where both name a variable alike."""
    return [
        number
        for number, shape in enumerate(graph.shapes)
        if shape.operation is not None and shape.operation.name in statement.bound and _agree(binding, shape.binding)
    ]


def _agree(binding: Mapping[str, int], called: Mapping[str, int]) -> bool:
    return all(binding.get(variable, slot) == slot for variable, slot in called.items())


def _able(graph: LocalGraph, statement: Progress, binding: Mapping[str, int], seconds: int) -> Mask:
    """The states in which a bound operation can act on the statement's entities, so many seconds later."""
    able: Mask = np.zeros(graph.states, dtype=bool)
    for name in statement.bound:
        operation = graph.semantics.contract.operation(name)
        possible = _possible(operation)
        for called in graph.semantics.population.bindings(operation.over):
            if _agree(binding, called):
                scope = _scope(graph, called, seconds)
                for arguments in graph.world.argument_sets(operation):
                    params = {key: column_of(term, scope) for key, term in arguments.items()}
                    able |= mask_of(possible, scope.called_with(params))
    return able


def _possible(operation: Operation) -> TruthTerm:
    """The guards hold, and so do the conditions of a case."""
    cases = AnyOf(tuple(AllOf(tuple(guard.term for guard in case.when)) for case in operation.cases))
    return AllOf((*(guard.term for guard in operation.guards), cases))


def _last_moment(graph: LocalGraph) -> int:
    """How many seconds ahead nothing changes any more: every instant on a row is over, and every duration after it."""
    contract, positions = graph.semantics.contract, graph.layout.positions
    instants = [
        graph.columns[positions[(slot.index, declared.name)]]
        for slot in graph.semantics.population.slots
        for declared in contract.machine(slot.machine).fields
        if declared.sort is Sort.INSTANT
    ]
    latest = max((int(column[column != NULL].max(initial=0)) for column in instants), default=0)
    durations = (graph.world.profile()[each.name] for each in contract.settings if each.sort is Sort.DURATION)
    return latest + int(sum(value for value in durations if isinstance(value, int | float))) + 1
