"""The moves of one aggregate as tables by tick: what a search over several aggregates under one clock looks up.

States of one tick are ranked in the order in which they were found, so that a state of one aggregate is a tick and a
rank below the *width* of the tick.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from fencepost_verification.explore.local import Ids, LocalGraph

UNSEEN = np.uint8(255)
"""The depth of what has not been found."""

CHUNK = 1 << 16
"""How many states are expanded at once: small enough for the temporaries to stay in the cache."""

MOST_CODES = 1 << 31
"""The largest dense table of depths, in bytes."""


class Tables:
    """The moves of one aggregate, in the order of the ranks of their sources, for each tick.

    ``starts[t][r]`` and ``degree[t][r]`` tell where the moves of rank ``r`` stand in ``difference[t]`` (rank after less
    rank before) and ``label[t]``. ``later[t][r]`` is the rank at the next tick, -1 at the end of time; ``stays`` holds
    rank and label of the moves that change nothing. ``visits[t][r]`` counts, for ``by_transition``, how often a state
    of rank ``r`` was expanded.
    """

    def __init__(self, local: LocalGraph, aggregates: int) -> None:
        self.aggregates = aggregates
        self.instants = np.unique(local.clock)
        if len(self.instants) > 1 and (np.diff(self.instants) != local.world.tick).any():
            raise ValueError("the clock of a world moves by whole ticks")
        self.names = [shape.transition for shape in local.shapes]
        at = np.searchsorted(self.instants, local.clock)
        self.tick_of = at
        self.width = np.bincount(at, minlength=len(self.instants))
        # States of one tick are ranked in the order in which they were found.
        order = np.argsort(at, kind="stable")
        self.rank = np.empty(local.states, dtype=np.int64)
        starts = np.concatenate([[0], np.cumsum(self.width)])
        self.rank[order] = np.arange(local.states) - starts[at[order]]
        self.starts: list[Ids] = []
        self.degree: list[Ids] = []
        self.difference: list[Ids] = []
        self.label: list[NDArray[np.int32]] = []
        self.later: list[Ids] = []
        self.stays: list[tuple[Ids, Ids]] = []
        passing = np.array([shape.operation is None for shape in local.shapes])
        self.tick = int(np.flatnonzero(passing)[0])
        is_tick = local.moves == self.tick
        idle = local.sources == local.targets
        for t in range(len(self.instants)):
            here = at[local.sources] == t
            moving = np.flatnonzero(here & ~is_tick & ~idle)
            moving = moving[np.argsort(self.rank[local.sources[moving]], kind="stable")]
            source, target = self.rank[local.sources[moving]], self.rank[local.targets[moving]]
            degree = np.bincount(source, minlength=self.width[t])
            self.degree.append(degree)
            self.starts.append(np.concatenate([[0], np.cumsum(degree)[:-1]]).astype(np.int64))
            self.difference.append(target - source)
            self.label.append(local.moves[moving].astype(np.int32))
            still = np.flatnonzero(here & ~is_tick & idle)
            self.stays.append((self.rank[local.sources[still]], local.moves[still]))
            ticks = np.flatnonzero(here & is_tick)
            later = np.full(self.width[t], -1)
            later[self.rank[local.sources[ticks]]] = self.rank[local.targets[ticks]]
            self.later.append(later)
        self.visits = [np.zeros(width, dtype=np.int64) for width in self.width]
        self.fresh = np.zeros(len(self.names), dtype=np.int64)
        self.ticked = 0
        self.states: int = 0
        self.depth: int = 0
        self.initial = self.rank[local.initial]

    def by_transition(self) -> tuple[Counter[str], Counter[str]]:
        """For each transition, the edges that take it and the states first reached by it."""
        fired: Counter[str] = Counter()
        fresh: Counter[str] = Counter()
        per_label = np.zeros(len(self.names), dtype=np.int64)
        for t, visits in enumerate(self.visits):
            if len(self.label[t]):
                weights = np.repeat(visits, self.degree[t])
                np.add.at(per_label, self.label[t], weights)
            ranks, labels = self.stays[t]
            np.add.at(per_label, labels, visits[ranks])
        per_label[self.tick] = self.ticked
        for name, edges, states in zip(self.names, per_label, self.fresh, strict=True):
            fired[name] += int(edges)
            fresh[name] += int(states)
        return fired, fresh


def fits(total: int, local: LocalGraph) -> int:
    """The size of a table of depths. Raises ``MemoryError`` when it is too large."""
    if total > MOST_CODES:
        raise MemoryError(
            f"world {local.world.name} may have {total:,} states, more than a table of {MOST_CODES:,}; "
            f"lower its horizon, budgets or number of aggregates"
        )
    return total
