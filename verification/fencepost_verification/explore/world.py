"""Every state of a whole world: the product of its aggregates under one clock, breadth first.

Theory
======
``local`` has found every state of one aggregate at each tick and tabulated what each move makes of it. Here a state of
the world is one integer: for the tick ``t``, with ``L`` local states at that tick, it is ``base(t)`` plus the rank of
each aggregate's local state times a power of ``L``. A move of one aggregate changes one digit, so its effect is an
integer *difference* that depends on that digit alone: ``(rank after - rank before) * L**a``. The differences are
tabulated once; a frontier of states is expanded by adding them, with NumPy, and no Python runs per state. Time moves
all aggregates at once; it is tabulated per digit too.

What has been seen is a dense table of depths, one byte a possible state, so the search is exact: nothing is hashed.
States are found level by level, hence each depth is the length of a shortest run.

Invariants speak of one aggregate, so they have been checked on every local state (a state of the world breaks one
exactly if one of its digits does), and a shortest run to it needs the moves of that aggregate and of the clock only.
"""

from __future__ import annotations

import resource
import time
from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fencepost_model.contract import Contract, transition_name
from fencepost_model.worlds import World
from fencepost_verification.evidence import Held, Refuted, Trace, Unknown, Verdict
from fencepost_verification.explore.local import CASE_FAULTS, Ids, LocalGraph, explore_aggregate

UNSEEN = np.uint8(255)
CHUNK = 1 << 16
"""How many states are expanded at once: small enough for the temporaries to stay in the cache."""

MOST_CODES = 1 << 31
"""The largest dense table of depths, in bytes."""


@dataclass(frozen=True)
class Exploration:
    """What an exploration found.

    ``edges`` counts enabled moves, those that change nothing included; ``fired`` and ``fresh`` count, for each
    transition, the edges and the states first reached by it. ``peak_memory`` is in bytes, of the whole process.
    """

    world: World
    states: int
    edges: int
    depth: int
    seconds: float
    peak_memory: int
    fired: dict[str, int]
    fresh: dict[str, int]
    never_taken: tuple[str, ...]
    needless: tuple[str, ...]
    unwitnessed: tuple[str, ...]
    broken: tuple[tuple[str, Trace], ...]
    complete: bool
    local: LocalGraph

    @property
    def states_per_second(self) -> float:
        """Distinct states a second, over the whole search, tabulation included."""
        return self.states / self.seconds

    def verdicts(self) -> list[Verdict]:
        """One verdict for each statement of the contract, and one for each transition and witness that is missing."""
        ground = f"{self.states:,} states of {self.world.name}"
        broken = dict(self.broken)
        verdicts: list[Verdict] = []
        contract = self.local.semantics.contract
        names = [*(s.name for s in contract.invariants), *(s.name for s in contract.step_properties), *CASE_FAULTS]
        for name in names:
            if name in broken:
                verdicts.append(Refuted(name, f"broken in {self.world.name}", broken[name]))
            elif self.complete:
                verdicts.append(Held(name, ground))
            else:
                verdicts.append(Unknown(name, f"{self.world.name} was not explored to its end"))
        where, silent = self.world.name, "which does not say so"
        verdicts += [Refuted(f"{name} is taken", f"never taken in {where}, {silent}") for name in self.never_taken]
        verdicts += [Refuted(f"{name} is impossible", f"shown in {where} all the same") for name in self.needless]
        verdicts += [Refuted(f"{name} is reached", f"not reached in {where}, {silent}") for name in self.unwitnessed]
        return verdicts


def explore(world: World, contract: Contract | None = None) -> Exploration:
    """Find every state of a world. Raises ``MemoryError`` when the table of depths would not fit."""
    started = time.perf_counter()
    local = explore_aggregate(world, contract)
    product = _Product(local, world.population.aggregates)
    product.search()
    fired, fresh = product.by_transition()
    explored = contract or world.contract
    names = [
        transition_name(operation, case)
        for operation, case in explored.transitions()
        if operation.name not in world.without
    ]
    taken = {name for name in names if fired[name]}
    witnesses = [witness.name for witness in explored.witnesses]
    return Exploration(
        world=world,
        states=product.states,
        edges=sum(fired.values()),
        depth=product.depth,
        seconds=time.perf_counter() - started,
        peak_memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        fired=dict(fired),
        fresh=dict(fresh),
        never_taken=tuple(name for name in names if name not in taken and name not in world.untaken),
        needless=(
            *(name for name in names if name in taken and name in world.untaken),
            *(name for name in witnesses if name in local.witnessed and name in world.unreached),
        ),
        unwitnessed=tuple(n for n in witnesses if n not in local.witnessed and n not in world.unreached),
        broken=tuple((v.statement, local.trace_of(v)) for v in local.violations),
        complete=local.complete,
        local=local,
    )


class _Product:
    """The search over the product of equal aggregates."""

    def __init__(self, local: LocalGraph, aggregates: int) -> None:
        self.aggregates = aggregates
        self.instants = np.unique(local.clock)
        if len(self.instants) > 1 and (np.diff(self.instants) != local.world.tick).any():
            raise ValueError("the clock of a world moves by whole ticks")
        self.names = [shape.transition for shape in local.shapes]
        at = np.searchsorted(self.instants, local.clock)
        self.width = np.bincount(at, minlength=len(self.instants))
        # States of one tick are ranked in the order in which they were found.
        order = np.argsort(at, kind="stable")
        self.rank = np.empty(local.states, dtype=np.int64)
        starts = np.concatenate([[0], np.cumsum(self.width)])
        self.rank[order] = np.arange(local.states) - starts[at[order]]
        sizes = self.width.astype(object) ** aggregates
        total = int(sizes.sum())
        if total > MOST_CODES:
            raise MemoryError(
                f"world {local.world.name} may have {total:,} states, more than a table of {MOST_CODES:,}; "
                f"lower its horizon, budgets or number of aggregates"
            )
        self.base = np.concatenate([[0], np.cumsum(sizes.astype(np.int64))])
        self.depths: NDArray[np.uint8] = np.full(total, UNSEEN, dtype=np.uint8)
        self.stamp: NDArray[np.int32] = np.zeros(total, dtype=np.int32)
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
        self.states = 0
        self.depth = 0
        self.initial = self.rank[local.initial]

    def search(self) -> None:
        """Level by level, until a level finds nothing new."""
        first = np.zeros(1, dtype=np.int64)
        for power in range(self.aggregates):
            first = (first[:, None] + self.initial[None, :] * self.width[0] ** power).ravel()
        self.depths[first] = 0
        self.states = len(first)
        frontier: list[list[Ids]] = [[] for _ in self.instants]
        frontier[0].append(first)
        while any(frontier):
            if self.depth == UNSEEN - 1:
                raise OverflowError("a run of this world is longer than 254 steps; lower its horizon")
            following: list[list[Ids]] = [[] for _ in self.instants]
            for t, pieces in enumerate(frontier):
                # One array a tick: small pieces would cost more in calls than in work.
                codes = np.concatenate(pieces) if pieces else np.empty(0, dtype=np.int64)
                for begin in range(0, len(codes), CHUNK):
                    self._expand(t, codes[begin : begin + CHUNK], following)
            self.depth += 1 if any(following) else 0
            frontier = following

    def _expand(self, t: int, codes: Ids, following: list[list[Ids]]) -> None:
        width = int(self.width[t])
        rest = codes - self.base[t]
        passed = np.zeros(len(codes), dtype=np.int64)
        alive = np.ones(len(codes), dtype=np.bool_)
        weight = 1
        for power in range(self.aggregates):
            rank = rest // weight % width if self.aggregates > 1 else rest
            self.visits[t] += np.bincount(rank, minlength=width)
            degree = self.degree[t][rank]
            ends = np.cumsum(degree)
            total = int(ends[-1]) if len(ends) else 0
            edge = np.arange(total) + np.repeat(self.starts[t][rank] - (ends - degree), degree)
            found = np.repeat(codes, degree) + self.difference[t][edge] * weight
            new = self.depths[found] == UNSEEN
            self._keep(found[new], self.label[t][edge[new]], t, following)
            later = self.later[t][rank]
            alive &= later >= 0
            if t + 1 < len(self.instants):
                passed += later * int(self.width[t + 1]) ** power
            weight *= width
        if t + 1 < len(self.instants):
            moved = self.base[t + 1] + passed[alive]
            self.ticked += len(moved)
            moved = moved[self.depths[moved] == UNSEEN]
            self._keep(moved, np.full(len(moved), self.tick, dtype=np.int32), t + 1, following)

    def _keep(self, found: Ids, labels: NDArray[np.int32], t: int, following: list[list[Ids]]) -> None:
        """Note new states, each once: of equal ones the last to be stamped stays."""
        if not len(found):
            return
        order = np.arange(len(found), dtype=np.int32)
        self.stamp[found] = order
        once = self.stamp[found] == order
        found = found[once]
        self.depths[found] = self.depth + 1
        self.fresh += np.bincount(labels[once], minlength=len(self.fresh))
        self.states += len(found)
        following[t].append(found)

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
