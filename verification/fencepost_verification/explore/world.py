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

With ``symmetry=True`` only one of all states that differ by an exchange of what is interchangeable is expanded
(``symmetry``); what is counted is the same.
"""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fencepost_model.contract import Contract, transition_name
from fencepost_model.worlds import World
from fencepost_verification.evidence import Held, Refuted, Trace, Unknown, Verdict
from fencepost_verification.explore.local import CASE_FAULTS, Ids, LocalGraph, explore_aggregate
from fencepost_verification.explore.symmetry import Quotient, Symmetry, symmetries_of
from fencepost_verification.explore.tables import CHUNK, UNSEEN, Tables, fits


@dataclass(frozen=True)
class Exploration:
    """What an exploration found.

    ``edges`` counts enabled moves, those that change nothing included; ``fired`` and ``fresh`` count, for each
    transition, the edges and the states first reached by it. ``peak_memory`` is in bytes, of the whole process.
    ``representatives`` counts the states that were expanded: fewer than there are where symmetry was used, with the
    symmetries in ``symmetry``.
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
    representatives: int
    symmetry: Symmetry | None = None

    @property
    def states_per_second(self) -> float:
        """Distinct states a second, over the whole search, tabulation included; all of an orbit count."""
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


def explore(world: World, contract: Contract | None = None, *, symmetry: bool = False) -> Exploration:
    """Find every state of a world; with ``symmetry``, up to the exchange of what is interchangeable.

    Raises ``MemoryError`` when the table of depths would not fit, and ``NotASymmetry`` when an exchange that was
    derived from the contract is none of the states that were found: a defect of the project.
    """
    started = time.perf_counter()
    local = explore_aggregate(world, contract)
    found: Symmetry | None = None
    product: _Product | Quotient
    if symmetry:
        found = symmetries_of(world, contract or world.contract)
        product = Quotient(local, world.population.aggregates, found)
    else:
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
        representatives=product.representatives if isinstance(product, Quotient) else product.states,
        symmetry=found,
    )


class _Product(Tables):
    """The search over the product of equal aggregates."""

    def __init__(self, local: LocalGraph, aggregates: int) -> None:
        super().__init__(local, aggregates)
        sizes = self.width.astype(object) ** aggregates
        total = fits(int(sizes.sum()), local)
        self.base = np.concatenate([[0], np.cumsum(sizes.astype(np.int64))])
        self.depths: NDArray[np.uint8] = np.full(total, UNSEEN, dtype=np.uint8)
        self.stamp: NDArray[np.int32] = np.zeros(total, dtype=np.int32)

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
