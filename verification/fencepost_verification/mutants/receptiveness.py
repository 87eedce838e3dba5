"""Finds the states of a world in which somebody bound to act at once cannot: receptiveness, looked at state by state.

The proof of such a statement looks at every lawful state; a mutant that breaks it often breaks the proof only in states
that a bounded search does not come to. In a world that is explored to its end every state is at hand with its moves, so
that the break is found with the shortest run to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from fencepost_model.shapes import Progress
from fencepost_verification.explore.columns import mask_of
from fencepost_verification.explore.local import FrontierScope, LocalGraph


def stuck_states(graph: LocalGraph, statements: Sequence[Progress]) -> dict[str, int]:
    """For each statement of receptiveness (``at_once``) that the graph breaks, its first state that does.

    The graph must be complete, for a state on an open frontier has no moves yet. Statements about some later moment
    are left to the proof: a world ends at its horizon.
    """
    if not graph.complete:
        raise ValueError(f"world {graph.world.name!r} was not explored to its end; raise the bound on its states")
    called = {operation.name for operation in graph.world.operations()}
    return {
        statement.name: state
        for statement in statements
        if statement.at_once and called.issuperset(statement.bound)
        for state in _first(_stuck(graph, statement))
    }


def _first(states: Iterator[int]) -> tuple[int, ...]:
    earliest = min(states, default=None)
    return () if earliest is None else (earliest,)


def _stuck(graph: LocalGraph, statement: Progress) -> Iterator[int]:
    """For each choice of the statement's entities the first state in which they are live and nobody can act."""
    settings = {name: np.asarray(graph.codebook.encode(value)) for name, value in graph.world.profile().items()}
    population = graph.semantics.population
    for binding in population.bindings(statement.over):
        scope = FrontierScope(graph.codebook, graph.layout, population, settings, binding, graph.clock, graph.columns)
        live = np.broadcast_to(mask_of(statement.live, scope), graph.clock.shape)
        able = np.zeros(graph.states, dtype=bool)
        able[graph.sources[np.isin(graph.moves, _of_the_bound(graph, statement, binding))]] = True
        stuck = live & ~able
        if stuck.any():
            yield int(np.argmax(stuck))


def _of_the_bound(graph: LocalGraph, statement: Progress, binding: Mapping[str, int]) -> list[int]:
    """The moves by which a bound operation acts on the statement's entities: where both name a variable alike."""
    return [
        number
        for number, shape in enumerate(graph.shapes)
        if shape.operation is not None
        and shape.operation.name in statement.bound
        and all(binding.get(variable, slot) == slot for variable, slot in shape.binding.items())
    ]
