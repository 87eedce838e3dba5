"""What there is to cover in a world, and the shortest ways to it.

A plan numbers the edges and refusals of a world (``situations``) and knows at which states of the graph each can be
taken. It answers one question: from here, or from a fresh start, what is the shortest way to something not yet done?
Plans depend on the world alone and are made once in a process.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from fencepost_model.contract import transition_name
from fencepost_model.semantics import State
from fencepost_verification.conformance.capabilities import Capability
from fencepost_verification.conformance.graph import TICK, Graph, reduced_graph
from fencepost_verification.conformance.scope import Scope
from fencepost_verification.conformance.situations import Edge, Lens, Probe, Refusal, Situation


@dataclass(frozen=True, slots=True)
class Way:
    """One step of a plan: the number of its edge, what is done (None: time passes), the state it leads to."""

    edge: int
    probe: Probe | None
    target: int


class Plan:
    """The edges and refusals of a world, numbered."""

    def __init__(self, lens: Lens, graph: Graph, untried: frozenset[str] = frozenset()) -> None:
        """What is to be covered in a graph, less the calls that a guard in ``untried`` refuses."""
        self.lens = lens
        self.states: Sequence[State] = graph.states
        self.initial: tuple[int, ...] = tuple(graph.initial)
        self.situations: list[Situation] = [lens.situation(state) for state in graph.states]
        self.edges: list[Edge] = []
        self.refusals: list[Refusal] = []
        self.ways: list[list[Way]] = [[] for _ in graph.states]
        self._edge_numbers: dict[Edge, int] = {}
        self._refusal_numbers: dict[Refusal, int] = {}
        for source, probe, case, target in graph.edges:
            edge = self._edge(source, probe, case, target)
            self.ways[source].append(Way(edge, probe, target))
        terminal = lens.world.contract.root.terminal
        for ways in self.ways:
            # Of two open edges equally near, the one that does not end the path comes first.
            ways.sort(key=lambda way: self.situations[way.target][0] in terminal)
        groups: dict[tuple[Situation, object], int] = {}
        self.groups: list[tuple[int, ...]] = []
        """The refusals of a group of states; states of one group have the same."""
        self.group_of: list[int] = []
        for number, state in enumerate(graph.states):
            probes = lens.probes(state)
            at = (self.situations[number], probes)
            if at not in groups:
                groups[at] = len(self.groups)
                self.groups.append(
                    tuple(
                        self._refusal((self.situations[number], probe, false))
                        for probe, false in probes
                        if false and untried.isdisjoint(f"{probe.operation}.{guard}" for guard in false)
                    )
                )
            self.group_of.append(groups[at])
        self.alone: list[str | None] = [
            f"{probe.operation}.{min(false)}" if len(false) == 1 else None for _, probe, false in self.refusals
        ]
        """The one guard that is in the way of a refusal; None when there are several."""
        self.alone_in: list[frozenset[str]] = [
            frozenset(guard for guard in (self.alone[number] for number in group) if guard is not None)
            for group in self.groups
        ]
        """The guards that are alone in the way of some call of a group."""
        self.depth, self._parents = self._tree()
        self.statements: dict[Hashable, tuple[tuple[str, bool], ...]] = {}
        """Which statements hold of a step, once evaluated; they speak of the model alone."""

    def _edge(self, source: int, probe: Probe | None, case: str, target: int) -> int:
        lens = self.lens
        if probe is None:
            edge: Edge = (self.situations[source], None, (), TICK, self.situations[target])
        else:
            signs = lens.effect_signs(self.states[source], probe.operation, case)
            operation = lens.operations[probe.operation]
            taken = next(c for c in operation.cases if c.name == case)
            transition = transition_name(operation, taken)
            edge = (self.situations[source], probe, signs, transition, self.situations[target])
        number = self._edge_numbers.setdefault(edge, len(self.edges))
        if number == len(self.edges):
            self.edges.append(edge)
        return number

    def _refusal(self, refusal: Refusal) -> int:
        number = self._refusal_numbers.setdefault(refusal, len(self.refusals))
        if number == len(self.refusals):
            self.refusals.append(refusal)
        return number

    # -- shortest ways -------------------------------------------------------------------------------------------------

    def _tree(self) -> tuple[list[int], list[tuple[int, Way] | None]]:
        depth = [-1] * len(self.states)
        parents: list[tuple[int, Way] | None] = [None] * len(self.states)
        frontier = deque(self.initial)
        for number in self.initial:
            depth[number] = 0
        while frontier:
            source = frontier.popleft()
            for way in self.ways[source]:
                if depth[way.target] < 0:
                    depth[way.target] = depth[source] + 1
                    parents[way.target] = source, way
                    frontier.append(way.target)
        return depth, parents

    def way_to(self, target: int) -> tuple[int, list[Way]]:
        """The shortest way to a state from a fresh start: where it begins, and its steps."""
        steps: list[Way] = []
        at = target
        while (parent := self._parents[at]) is not None:
            at, way = parent
            steps.append(way)
        return at, steps[::-1]

    def nearest(
        self, starts: Iterable[int], open_edges: set[int], open_groups: set[int], closed: set[int]
    ) -> tuple[int, list[Way]] | None:
        """The shortest way to an open edge (it is the last step) or a state of an open group; None when there is none.

        ``closed`` edges are not taken.
        """
        parents: dict[int, tuple[int, Way] | None] = {}
        frontier: deque[int] = deque()
        for start in starts:
            if start not in parents:
                parents[start] = None
                frontier.append(start)
        while frontier:
            source = frontier.popleft()
            if self.group_of[source] in open_groups:
                return self._walked(parents, source, [])
            for way in self.ways[source]:
                if way.edge in open_edges and way.edge not in closed:
                    return self._walked(parents, source, [way])
            for way in self.ways[source]:
                if way.edge not in closed and way.target not in parents:
                    parents[way.target] = source, way
                    frontier.append(way.target)
        return None

    def _walked(self, parents: dict[int, tuple[int, Way] | None], at: int, last: list[Way]) -> tuple[int, list[Way]]:
        steps = list(last)
        while (parent := parents[at]) is not None:
            at, way = parent
            steps.insert(0, way)
        return at, steps

    def places_of(self, *, edges: Collection[int] = (), refusals: Collection[int] = ()) -> Iterator[tuple[int, int]]:
        """Where edges or refusals can be taken: states with the number of one, those nearest to a fresh start first."""
        wanted = frozenset(refusals)
        for state in sorted(range(len(self.states)), key=self.depth.__getitem__):
            for number in self.groups[self.group_of[state]]:
                if number in wanted:
                    yield state, number
            for way in self.ways[state]:
                if way.edge in edges:
                    yield state, way.edge


def planned(scope: Scope, lacked: Iterable[Capability] = ()) -> Plan:
    """The plan of a scope for an implementation that lacks these capabilities."""
    by_name = {capability.name: capability for capability in lacked}
    key = (scope, frozenset(by_name))
    if key not in _PLANS:
        _PLANS[key] = _planned(scope, tuple(by_name.values()))
    return _PLANS[key]


_PLANS: dict[tuple[Scope, frozenset[str]], Plan] = {}


def _planned(scope: Scope, lacked: tuple[Capability, ...]) -> Plan:
    lens = Lens(scope.without(lacked))
    untried = frozenset(guard for capability in lacked for guard in capability.guards)
    return Plan(lens, reduced_graph(lens), untried)
