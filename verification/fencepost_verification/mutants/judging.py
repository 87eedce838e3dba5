"""What becomes of each mutant: killed by a statement with the shortest run, equivalent by proof, or a survivor.

First the solver compares the mutant with the contract: one that treats every call alike is *equivalent*. Any other is
explored in the small worlds of its chapter. What it breaks first, and within ``FURTHER`` steps after that, is noted
with the length of the shortest run; where that is a single statement the worlds are explored to their ends, so that one
can tell what each statement is worth (see ``ledger``). One that breaks nothing is a *survivor*: the contract says too
little about what the mutant gets wrong, and that is a failure of the contract, not of the mutant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TypeAlias

import numpy as np

from fencepost_model.contract import Contract
from fencepost_model.shapes import Invariant, Progress, StepProperty
from fencepost_model.specification import Chapter
from fencepost_model.worlds import World
from fencepost_verification.evidence import Held, Refuted, Trace, Unknown, Verdict
from fencepost_verification.explore.local import CASE_FAULTS, LocalGraph, WorldTooWide, explore_aggregate
from fencepost_verification.explore.local import MOST_STATES as ANY
from fencepost_verification.mutants.aiming import ASKS_NOTHING, aimed_at
from fencepost_verification.mutants.equivalence import Comparison, Suspicion
from fencepost_verification.mutants.making import MERGED, Mutant
from fencepost_verification.mutants.receptiveness import stuck_states
from fencepost_verification.prove.prover import prove

FURTHER = 2
"""How many steps a mutant is followed after it first broke something."""
MOST_STATES = 60_000
"""A world in which a mutant is explored to its end has fewer; a larger one is searched for the first violation only."""


@dataclass(frozen=True)
class Killed:
    """Statements that the mutant breaks, each with the length of the shortest run; ``trace`` is the shortest of all.

    ``statement`` is the one that the trace breaks; of a progress statement it ends in the state in which nobody can
    act. Where what breaks is that something is *reached* (a witness, a transition), the trace is a run of the
    contract that the mutant does not have. A mutant that only a proof refutes has the trace of the counterexample,
    where there is one. ``world`` is where the run was found.
    """

    name: str
    kind: str
    statement: str
    trace: Trace | None
    world: str
    broken: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True)
class Equivalent:
    """The mutant treats every call in every lawful state as the contract does, by proof."""

    name: str
    kind: str


@dataclass(frozen=True)
class Survivor:
    """Nothing notices the mutant, and it is not proved equivalent."""

    name: str
    kind: str
    reason: str


Fate: TypeAlias = Killed | Equivalent | Survivor


class Executioner:
    """Tries the mutants of one chapter; what they are compared with is worked out when it is first needed."""

    def __init__(self, chapter: Chapter) -> None:
        self._chapter = chapter
        self._worlds: dict[str, LocalGraph] = {}
        self._stuck: dict[str, dict[str, int]] = {}

    @cached_property
    def _comparison(self) -> Comparison:
        return Comparison(self._chapter.contract)

    @cached_property
    def _suspicion(self) -> Suspicion:
        return Suspicion(self._chapter.contract)

    def fate(self, mutant: Mutant) -> Fate:
        """What becomes of a mutant."""
        same = self._comparison.same(mutant)
        if same:
            return Equivalent(mutant.name, mutant.kind)
        worlds = [w for w in self._chapter.small_worlds if mutant.operation in {o.name for o in w.operations()}]
        killed = self._killed_in(worlds, mutant) or self._refuted(mutant)
        if killed is not None:
            return killed
        explored = ", ".join(world.name for world in worlds)
        differs = "the solver cannot compare it" if same is None else "it differs in a lawful state"
        return Survivor(mutant.name, mutant.kind, f"{differs}, and no statement breaks in {explored}")

    def kill_for(self, name: str) -> Killed | None:
        """A mutant aimed at the named statement that breaks it, in a small world or else by proof; None without one."""
        contract = self._chapter.contract
        every: tuple[Invariant | StepProperty | Progress, ...] = (
            *contract.invariants,
            *contract.step_properties,
            *contract.progress,
        )
        (statement,) = (each for each in every if each.name == name)
        for mutant in aimed_at(contract, statement):
            if not isinstance(statement, Progress) and not self._suspicion.of(mutant, statement):
                continue
            for world in self._chapter.small_worlds:
                if self._of(world).states > MOST_STATES:
                    continue
                # Without guards much else breaks first.
                graph = self._explored(world, mutant.contract, to_its_end=mutant.kind == ASKS_NOTHING)
                for found in self._breaks(world, mutant, graph):
                    if found.statement == name:
                        return Killed(mutant.name, mutant.kind, name, found.trace(), world.name, {name: found.length})
            if isinstance(statement, Progress):
                refuted = self._refuted(mutant)
                if refuted is not None and name in refuted.broken:
                    return replace(refuted, statement=name)
        return None

    def _killed_in(self, worlds: Sequence[World], mutant: Mutant) -> Killed | None:
        """What breaks in the worlds of moderate size, soon after the first thing does; in larger ones the first thing.

        Only of a mutant that would break a single statement is everything looked at: that it breaks nothing else is
        then known of those worlds to their ends.
        """
        small = [world for world in worlds if self._of(world).states <= MOST_STATES]
        found = [b for world in small for b in self._breaks(world, mutant, self._explored(world, mutant.contract))]
        if len({each.statement for each in found}) == 1:
            every = (self._explored(world, mutant.contract, to_its_end=True) for world in small)
            found = [b for world, graph in zip(small, every, strict=True) for b in self._breaks(world, mutant, graph)]
        for world in sorted(set_apart(worlds, small), key=lambda each: self._of(each).states):
            if not found:
                found += self._breaks(world, mutant, self._explored(world, mutant.contract))
        if not found:
            return None
        first = min(found, key=lambda each: each.rank)
        broken: dict[str, int] = {}
        for each in found:
            broken[each.statement] = min(each.length, broken.get(each.statement, each.length))
        return Killed(mutant.name, mutant.kind, first.statement, first.trace(), first.world, broken)

    def _breaks(self, world: World, mutant: Mutant, graph: LocalGraph | None) -> Iterator[_Break]:
        """Every statement that a mutant breaks in a world, and everything that it no longer reaches there."""
        if graph is None:
            return
        for violation in graph.violations:
            fault = int(violation.statement in CASE_FAULTS)
            yield _Break(violation.statement, violation.depth, fault, world.name, partial(graph.trace_of, violation))
        if not graph.complete:
            return
        for progress, state in stuck_states(graph, mutant.contract.progress).items():
            if progress not in self._stuck_as_written(world):
                yield _Break(progress, int(graph.depth[state]), 0, world.name, partial(graph.trace_to, state))
        contract = self._of(world)
        for witness, state in contract.witnessed.items():
            if witness not in graph.witnessed:
                length = int(contract.depth[state])
                yield _Break(f"{witness} is reached", length, 1, world.name, partial(contract.trace_to, state))
        taken = {_label(graph, int(number)) for number in np.unique(graph.moves)}
        if mutant.kind == MERGED:
            # That a case is not taken which is not there says nothing.
            taken.add((mutant.operation, mutant.case))
        for number in np.unique(contract.moves):
            if _label(contract, int(number)) not in taken:
                edge = int(np.argmax(contract.moves == number))
                source = int(contract.sources[edge])
                run = partial(contract.trace_to, source, int(number))
                name = f"{contract.shapes[int(number)].transition} is taken"
                yield _Break(name, int(contract.depth[source]) + 1, 1, world.name, run)

    def _refuted(self, mutant: Mutant) -> Killed | None:
        """The obligations that can no longer be proved, for what no small world shows."""
        refuted: dict[str, Trace | None] = {}
        for obligation in prove(mutant.contract).refuted:
            verdict = obligation.verdict
            trace = verdict.trace if isinstance(verdict, Refuted) else None
            refuted.setdefault(obligation.statement or obligation.name, trace)
        for statement, trace in refuted.items():
            return Killed(mutant.name, mutant.kind, statement, trace, "proof", dict.fromkeys(refuted, 0))
        return None

    def _of(self, world: World) -> LocalGraph:
        """The world as the contract itself has it."""
        if world.name not in self._worlds:
            self._worlds[world.name] = explore_aggregate(world)
        return self._worlds[world.name]

    def _stuck_as_written(self, world: World) -> dict[str, int]:
        """The progress statements that the world cannot show, as it lacks somebody who acts, or an argument."""
        if world.name not in self._stuck:
            self._stuck[world.name] = stuck_states(self._of(world), self._chapter.contract.progress)
        return self._stuck[world.name]

    def _explored(self, world: World, mutant: Contract, *, to_its_end: bool = False) -> LocalGraph | None:
        try:
            return explore_aggregate(
                world,
                mutant,
                stop_at_violation=not to_its_end,
                further=FURTHER,
                most_states=4 * MOST_STATES if to_its_end else ANY,
            )
        except WorldTooWide:
            # A counter runs away and leaves the range of a small world. What broke first was found before that.
            return self._explored(world, mutant, to_its_end=False) if to_its_end else None


def _label(graph: LocalGraph, number: int) -> tuple[str | None, str | None]:
    """Operation and case of a move; its name would not do, for it leaves out the case where there is but one."""
    shape = graph.shapes[number]
    return shape.operation.name if shape.operation else None, shape.case.name if shape.case else None


@dataclass(frozen=True)
class _Break:
    """Something that a mutant breaks; ``fault`` orders promises before what is merely no longer reached."""

    statement: str
    length: int
    fault: int
    world: str
    trace: Callable[[], Trace]

    @property
    def rank(self) -> tuple[int, int, str]:
        """The best first."""
        return self.fault, self.length, self.statement


def set_apart(worlds: Sequence[World], some: Sequence[World]) -> list[World]:
    """The worlds that are not among some of them."""
    names = {world.name for world in some}
    return [world for world in worlds if world.name not in names]


def verdict_of(fate: Fate) -> Verdict:
    """Held when something notices the mutant or it is proved equivalent, else unknown."""
    match fate:
        case Killed(name, _, statement, trace):
            return Held(name, f"breaks {statement}: {trace or 'no run'}")
        case Equivalent(name):
            return Held(name, "equivalent, by proof")
        case Survivor(name, _, reason):
            return Unknown(name, reason)


Told = Callable[[str, int, int], None]


@dataclass(frozen=True)
class MutantReport:
    """All mutants of a chapter with their fates, in the order in which they were made."""

    chapter: str
    fates: Sequence[Fate]

    @property
    def killed(self) -> list[Killed]:
        """Those that break a statement."""
        return [fate for fate in self.fates if isinstance(fate, Killed)]

    @property
    def equivalent(self) -> list[Equivalent]:
        """Those that do what the contract does."""
        return [fate for fate in self.fates if isinstance(fate, Equivalent)]

    @property
    def survivors(self) -> list[Survivor]:
        """Those that nothing notices."""
        return [fate for fate in self.fates if isinstance(fate, Survivor)]

    def verdicts(self) -> list[Verdict]:
        """One for each mutant; without any, unknown."""
        if not self.fates:
            return [Unknown(f"mutants of {self.chapter}", "there are none")]
        return [verdict_of(fate) for fate in self.fates]
