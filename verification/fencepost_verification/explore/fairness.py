"""Whether everything comes to an end when some components are fair, on the graph of all relative states.

Theory
======
A small world whose clock stops cannot show that something goes on for ever. So states are seen *relative to now*: each
instant on a row is replaced by how far ahead it is, and one that has passed by one fixed mark, since guards compare
instants with the time only. In the same way a counter that is only ever compared for equality with counters that
follow it (a generation and the tokens that remember it) is replaced by the distance, and one left behind by a mark: it
never catches up. Two states that look alike then have the same future, for ever. What is left is finite where the
contract bounds what it counts, and exact: time has no horizon here.

Each replacement is made only if the terms allow it: an instant is clipped unless some guard compares it with another
instant of a row, or adds something to it; a counter is relative only if no guard reads it otherwise.

A run that never ends stays, from some moment on, within one strongly connected component of the live states. Weak
fairness to somebody is met in it if he cannot act in one of its states, or acts on one of its edges. A component of the
graph that meets the fairness of all is a counterexample, and a closed walk through what meets them is shown: the *loop*
of a lasso, with the *stem* that leads to it. Where a fair one could act everywhere in a component and never does
within it, no fair run stays there, nor in any part of it. So the answer is read off the components, once.

Stem and loop are walked by plain evaluation in real time, the loop several times over, before they are shown.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fencepost_model.contract import Contract
from fencepost_model.liveness import Component, Live, Question
from fencepost_model.semantics import State
from fencepost_model.shapes import Operation, Sort
from fencepost_model.terms import (
    AtMost,
    Bare,
    Const,
    Equal,
    Every,
    FieldOf,
    Less,
    Missing,
    Now,
    Plus,
    Same,
    Some,
    Term,
    ValueTerm,
    parts_of,
    value_of,
    walk,
    walk_in_scope,
)
from fencepost_model.worlds import World
from fencepost_verification.evidence import Held, Move, Refuted, Trace, Verdict, replayed
from fencepost_verification.explore.columns import NULL, Column, mask_of
from fencepost_verification.explore.local import Explorer, FrontierScope, Ids, Layout, LocalGraph
from fencepost_verification.explore.observation import Observation, Observed, observation_of

HERE = 1
"""How the present is seen, and the value of a counter that is seen by distance."""

PASSED = 0
"""How an instant that has passed is seen, and a counter that was left behind."""

LOOPS = 3
"""How often the loop of a lasso is walked before it is shown."""

Field = tuple[str, str]
"""A machine and one of its fields."""


class NotRelative(ValueError):
    """The world cannot be seen relative to now; the message names what stands in the way."""


# --- what may be replaced ---------------------------------------------------------------------------------------------


def _terms(operations: Sequence[Operation]) -> Iterator[tuple[Mapping[str, str], Term]]:
    """The guards and conditions, each with the machines of its variables."""
    for operation in operations:
        of = {variable.name: variable.machine for variable in operation.over}
        for guard in operation.guards:
            yield of, guard.term
        for case in operation.cases:
            for guard in case.when:
                yield of, guard.term
            for each in case.also:
                yield {**of, **{v.name: v.machine for v in each.over}}, each.where


def _values(operations: Sequence[Operation]) -> Iterator[tuple[Operation, Field, Mapping[str, str], ValueTerm]]:
    """Every value that is assigned, with the field that it is assigned to."""
    for operation in operations:
        of = {variable.name: variable.machine for variable in operation.over}
        for case in operation.cases:
            for assignment in case.effect:
                yield operation, (of[assignment.field.entity], assignment.field.name), of, assignment.value
            for each in case.also:
                inner = {**of, **{v.name: v.machine for v in each.over}}
                for assignment in each.effect:
                    yield operation, (inner[assignment.field.entity], assignment.field.name), inner, assignment.value


def _reads(of: Mapping[str, str], term: Term) -> set[Field]:
    return {(scope[part.entity], part.name) for part, scope in walk_in_scope(term, of) if isinstance(part, FieldOf)}


def _kept_exact(contract: Contract, operations: Sequence[Operation]) -> frozenset[Field]:
    """Instants that a guard compares with others of a row, or adds to: how long they have passed matters."""
    instants = {(m.name, f.name) for m in contract.machines for f in m.fields if f.sort is Sort.INSTANT}
    kept: set[Field] = set()
    for of, term in _terms(operations):
        for part, scope in walk_in_scope(term, of):
            if isinstance(part, Less | AtMost | Equal | Same):
                left, right = _reads(scope, part.left) & instants, _reads(scope, part.right) & instants
                against_now = any(isinstance(inner, Now) for side in parts_of(part) for inner in walk(side))
                if (left and right) or ((left or right) and not against_now and not _against_constant(part)):
                    kept |= left | right
    # A sum with an instant of a row reaches into the future from the past.
    sums = [*_terms(operations), *((of, value) for _, _, of, value in _values(operations))]
    for of, term in sums:
        for part, scope in walk_in_scope(term, of):
            if isinstance(part, Plus):
                kept |= _reads(scope, part) & instants
    return frozenset(kept)


def _against_constant(part: Less | AtMost | Equal | Same) -> bool:
    return isinstance(part.right, Const) and part.right.value is None


@dataclass(frozen=True)
class Counter:
    """A counter of the root that is seen only by its distance from those that follow it."""

    field: Field
    followers: frozenset[Field]


def _relative_counters(contract: Contract, operations: Sequence[Operation], seen: Observation) -> tuple[Counter, ...]:
    """The counters of the root that may be seen by distance."""
    root = contract.root
    counts = [(root.name, f.name) for f in root.fields if f.sort is Sort.COUNT and seen[(root.name, f.name)]]
    found: list[Counter] = []
    for counter in counts:
        followers = _followers(operations, counter)
        if followers and _by_distance(contract, operations, seen, counter, followers):
            found.append(Counter(counter, frozenset(followers)))
    return tuple(found)


def _followers(operations: Sequence[Operation], counter: Field) -> set[Field]:
    followers: set[Field] = set()
    for of, term in _terms(operations):
        for part, scope in walk_in_scope(term, of):
            if isinstance(part, Equal | Same) and counter in _reads(scope, part):
                followers |= _reads(scope, part) - {counter}
    return followers


def _by_distance(
    contract: Contract,
    operations: Sequence[Operation],
    seen: Observation,
    counter: Field,
    followers: set[Field],
) -> bool:
    group = {counter, *followers}
    for of, term in _terms(operations):
        if not _compared_within(of, term, counter, group):
            return False
    for operation, target, of, value in _values(operations):
        if target not in group:
            if seen[target] and _reads(of, value) & group:
                return False
        elif isinstance(value, Const):
            # A counter begins again only with the entity; a follower forgets.
            created = operation.name == contract.root.created_by
            if not (created if target == counter else value.value is None):
                return False
        elif not _is_advanced(of, value, counter):
            return False
    return True


def _compared_within(of: Mapping[str, str], term: Term, counter: Field, group: set[Field]) -> bool:
    """Whether a term reads the group only to compare a follower with its counter, or to look for null."""
    match term:
        case Equal(left, right) | Same(left, right):
            sides = (_reads(of, left), _reads(of, right))
            if not (sides[0] | sides[1]) & group:
                return True
            plain = isinstance(left, FieldOf) and isinstance(right, FieldOf)
            return plain and {counter} in sides and (sides[0] | sides[1]) <= group
        case Missing(FieldOf()):
            return True
        case FieldOf(entity, name):
            return (of[entity], name) not in group
        case Every(variable, machine, _, body) | Some(variable, machine, _, body):
            return _compared_within({**of, variable: machine}, body, counter, group)
        case _:
            return all(_compared_within(of, part, counter, group) for part in parts_of(term))


def _is_advanced(of: Mapping[str, str], value: ValueTerm, counter: Field) -> bool:
    match value:
        case FieldOf(entity, name):
            return (of[entity], name) == counter
        case Plus(FieldOf(entity, name), Const(int() as more)):
            return (of[entity], name) == counter and more >= 0
        case _:
            return False


# --- the graph --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Relative:
    """How states are seen relative to now."""

    layout: Layout
    instants: tuple[int, ...]
    clipped: frozenset[int]
    counters: tuple[tuple[int, tuple[int, ...]], ...]

    def seen(self, clock: Ids, columns: Sequence[Column]) -> list[Column]:
        """The columns as they are seen at these instants."""
        seen = list(columns)
        for position in self.instants:
            ahead = np.where(seen[position] == NULL, NULL, seen[position] - clock + HERE)
            if position in self.clipped:
                ahead = np.where(ahead == NULL, NULL, np.maximum(ahead, PASSED))
            seen[position] = ahead
        for counter, followers in self.counters:
            base = seen[counter]
            for position in followers:
                behind = np.where(seen[position] == NULL, NULL, np.maximum(seen[position] - base + HERE, PASSED))
                seen[position] = behind
            seen[counter] = np.where(base == NULL, NULL, HERE)
        return seen


@dataclass(frozen=True)
class RelativeGraph:
    """All states of one aggregate as they are seen relative to now, and the moves between them."""

    world: World
    local: LocalGraph
    relative: Relative

    @property
    def states(self) -> int:
        """How many states there are."""
        return self.local.states

    @cached_property
    def operations(self) -> tuple[str | None, ...]:
        """For each edge label the operation; None for time."""
        return tuple(shape.operation.name if shape.operation else None for shape in self.local.shapes)

    @cached_property
    def edges(self) -> tuple[Ids, Ids, Ids]:
        """Sources, labels and targets, by source."""
        order = np.argsort(self.local.sources, kind="stable")
        return self.local.sources[order], self.local.moves[order], self.local.targets[order]

    @cached_property
    def starts(self) -> Ids:
        """For each state, where its edges begin."""
        return np.searchsorted(self.edges[0], np.arange(self.states + 1))

    def labels_of(self, component: Component) -> NDArray[np.bool_]:
        """For each edge label, whether it is a step of a component."""
        wanted = set(component.operations)
        return np.array([component.clock if name is None else name in wanted for name in self.operations])

    def live(self, live: Live) -> NDArray[np.bool_]:
        """The states that must be left. Raises ``ValueError`` when that cannot be told from what is looked at."""
        of = {variable.name: variable.machine for variable in live.over}
        for machine, name in sorted(_reads(of, live.statement)):
            slots = [s.index for s in self.local.semantics.population.slots if s.machine == machine]
            positions = [self.local.layout.positions[(slot, name)] for slot in slots]
            if any(self.local.layout.observed[position] is Observed.NOT for position in positions):
                raise ValueError(f"what is live depends on {machine}.{name}, on which no guard depends; leave it out")
        local, population = self.local, self.local.semantics.population
        found = np.zeros(self.states, dtype=np.bool_)
        settings = {n: np.asarray(local.codebook.encode(v)) for n, v in self.world.profile().items()}
        for binding in population.bindings(live.over):
            scope = FrontierScope(
                local.codebook, local.layout, population, settings, binding, local.clock, local.columns
            )
            found |= mask_of(live.statement, scope)
        return found

    def run_to(self, state: int) -> tuple[int, list[int]]:
        """The labels of a shortest run to a state, and where it begins."""
        labels: list[int] = []
        while self.local.parents[state] >= 0:
            labels.append(int(self.local.parent_moves[state]))
            state = int(self.local.parents[state])
        return state, labels[::-1]

    def beginning(self, state: int) -> State:
        """An initial state as the plain semantics has it, with its clock at 0."""
        seen = self.local.state(state)
        rows = [dict(row) for row in seen.rows[0]]
        by_position = {position: place for place, position in self.relative.layout.positions.items()}
        for position in self.relative.instants:
            slot, name = by_position[position]
            value = rows[slot][name]
            if isinstance(value, int | float):
                rows[slot][name] = value - HERE
        for counter, followers in self.relative.counters:
            for position in (counter, *followers):
                slot, name = by_position[position]
                if rows[slot][name] is not None:
                    rows[slot][name] = 0
        return State(0, (tuple(rows),))

    def walked(self, start: State, labels: Sequence[int]) -> Trace:
        """The moves of a run in real time, by plain evaluation; raises ``ReplayFailed`` where readings disagree."""
        now = int(start.now)
        moves: list[Move] = []
        for label in labels:
            moves.append(self.local.move(label, now))
            now += self.world.tick if self.operations[label] is None else 0
        return replayed(self.local.semantics, start, moves)


def relative_graph(world: World, contract: Contract | None = None, *, most_states: int = 500_000) -> RelativeGraph:
    """All states of one aggregate of a world, without a horizon, for its contract or a mutant of it.

    Raises ``NotRelative`` when an argument of the world names an instant that does not move with the clock, and when
    there are more states than ``most_states``: then something is counted without a bound.
    """
    for operation in world.operations():
        for parameter in operation.parameters:
            for term in world.choices(operation, parameter.name) if parameter.sort is Sort.INSTANT else ():
                early, late = value_of(term, Bare({}, 0)), value_of(term, Bare({}, 7))
                if early is not None and late is not None and late == early:
                    raise NotRelative(
                        f"world {world.name!r} offers {early} for {operation.name}.{parameter.name}, an instant that "
                        f"stays where it is; offer one that is so many seconds from now"
                    )
    whole = contract or world.contract
    called = {operation.name for operation in world.operations()}
    stripped = replace(
        whole,
        operations=tuple(operation for operation in whole.operations if operation.name in called),
        invariants=(),
        step_properties=(),
        witnesses=(),
        progress=(),
        checked=False,
    )
    explorer = _Endless(stripped, replace(world, horizon=HERE + world.tick), whole)
    local = explorer.run(most_states=most_states)
    if not local.complete:
        raise NotRelative(f"world {world.name!r} has more than {most_states:,} relative states; bound what it counts")
    return RelativeGraph(world, local, explorer.relative)


class _Endless(Explorer):
    """The explorer of an aggregate, with every state that it finds seen relative to now."""

    def __init__(self, contract: Contract, world: World, whole: Contract) -> None:
        super().__init__(contract, world)
        operations = contract.operations
        observation = observation_of(contract)
        exact = _kept_exact(contract, operations)
        positions = self.layout.positions
        machines = {slot.index: slot.machine for slot in self.population.slots}
        fields = {(slot, name): (machines[slot], name) for slot, name in positions}
        instants = {
            position
            for place, position in positions.items()
            if contract.machine(fields[place][0]).field_named(place[1]).sort is Sort.INSTANT
        }
        counters: list[tuple[int, tuple[int, ...]]] = []
        for counter in _relative_counters(contract, operations, observation):
            followers = tuple(p for place, p in positions.items() if fields[place] in counter.followers)
            counters.append((positions[(0, counter.field[1])], followers))
        self.relative = Relative(
            self.layout,
            tuple(sorted(instants)),
            frozenset(p for place, p in positions.items() if p in instants and fields[place] not in exact),
            tuple(counters),
        )
        self.semantics = replace(self.semantics, contract=whole)

    def successors(self, clock: Ids, columns: Sequence[Column]) -> tuple[Ids, Ids, Ids, list[Column]]:
        sources, labels, later, after = super().successors(clock, columns)
        return sources, labels, np.full_like(later, HERE), self.relative.seen(later, after)

    def _initial(self) -> tuple[Ids, list[Column]]:
        clock, columns = super()._initial()
        return np.full_like(clock, HERE), self.relative.seen(clock, columns)


# --- strongly connected components ------------------------------------------------------------------------------------


def components_of(states: int, starts: Ids, targets: Ids, within: NDArray[np.bool_]) -> Ids:
    """The strongly connected component of each state, numbered; -1 outside of ``within`` (Tarjan, without recursion).

    ``starts[s]`` to ``starts[s + 1]`` are the edges of a state. Targets are numbered before their sources.
    """
    index = np.full(states, -1, dtype=np.int64)
    low = np.zeros(states, dtype=np.int64)
    component = np.full(states, -1, dtype=np.int64)
    on_stack = np.zeros(states, dtype=np.bool_)
    stack: list[int] = []
    counter = numbered = 0
    for root in np.flatnonzero(within).tolist():
        if index[root] >= 0:
            continue
        index[root] = low[root] = counter
        counter += 1
        stack.append(root)
        on_stack[root] = True
        path = [(root, int(starts[root]))]
        while path:
            state, edge = path.pop()
            descended = False
            end = int(starts[state + 1])
            while edge < end:
                target = int(targets[edge])
                edge += 1
                if not within[target]:
                    continue
                if index[target] < 0:
                    path.append((state, edge))
                    index[target] = low[target] = counter
                    counter += 1
                    stack.append(target)
                    on_stack[target] = True
                    path.append((target, int(starts[target])))
                    descended = True
                    break
                if on_stack[target]:
                    low[state] = min(low[state], index[target])
            if descended:
                continue
            if low[state] == index[state]:
                while True:
                    member = stack.pop()
                    on_stack[member] = False
                    component[member] = numbered
                    if member == state:
                        break
                numbered += 1
            if path:
                low[path[-1][0]] = min(low[path[-1][0]], low[state])
    return component


# --- fair cycles ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lasso:
    """A run that never ends: the stem, and the loop that goes round for ever after it (shown once).

    An empty loop says that nobody who is fair can act any more: the run stands still.
    """

    stem: Trace
    loop: Trace

    def __str__(self) -> str:
        return f"{self.stem} ; then for ever: {self.loop if self.loop.steps else 'nothing'}"


@dataclass(frozen=True)
class Answer:
    """Whether every live state is left in the end, by how many relative states, and a lasso where one is not."""

    question: Question
    ends: bool
    states: int
    live: int
    lasso: Lasso | None

    def verdict(self) -> Verdict:
        """Held when the answer is the one expected."""
        told = f"{self.states:,} relative states of {self.question.world.name}, {self.live:,} of them live"
        if self.ends == self.question.ends:
            shown = f"; {self.lasso}" if self.lasso is not None else ""
            return Held(self.question.name, f"{told}{shown}")
        if self.lasso is not None:
            return Refuted(self.question.name, f"a fair run never ends: {self.lasso}", self.lasso.stem)
        return Refuted(self.question.name, f"every fair run ends, in {told}, though one is expected not to")


def answered(question: Question, graph: RelativeGraph | None = None) -> Answer:
    """Answer a question about what ends. ``graph`` may be given where several questions share a world."""
    graph = graph or relative_graph(question.world, question.contract)
    live = graph.live(question.live)
    lasso = fair_lasso(graph, live, question.fair)
    return Answer(question, lasso is None, graph.states, int(live.sum()), lasso)


def fair_lasso(graph: RelativeGraph, live: NDArray[np.bool_], fair: Sequence[Component]) -> Lasso | None:
    """A run that stays within the live states for ever and is fair to all components; None when there is none."""
    sources, labels, targets = graph.edges
    component = components_of(graph.states, graph.starts, targets, live)
    inside = (component[sources] >= 0) & (component[sources] == component[targets])
    able = {one.name: np.zeros(graph.states, dtype=np.bool_) for one in fair}
    steps = {one.name: graph.labels_of(one)[labels] for one in fair}
    for one in fair:
        able[one.name][sources[steps[one.name]]] = True
    candidates = set(np.unique(component[sources[inside]]).tolist())
    for one in fair:
        idle = live & ~able[one.name]
        met = set(np.unique(component[idle]).tolist())
        met |= set(np.unique(component[sources[inside & steps[one.name]]]).tolist())
        candidates &= met
    # Nobody who is fair can act there: the run may end where it is.
    still = np.flatnonzero(live & ~np.logical_or.reduce([able[one.name] for one in fair]))
    if len(still):
        beginning, stem = graph.run_to(int(still[np.argmin(graph.local.depth[still])]))
        walked = graph.walked(graph.beginning(beginning), stem)
        return Lasso(walked, Trace(walked.semantics, walked.end, ()))
    if not candidates:
        return None
    best: tuple[int, int, list[int], int] | None = None
    nearest = sorted(candidates, key=lambda c: int(graph.local.depth[np.argmax(component == c)]))
    for chosen in nearest[:8]:
        members = np.flatnonzero(component == chosen)
        for entry in members[np.argsort(graph.local.depth[members], kind="stable")][:8].tolist():
            walk_ = _closed_walk(graph, component == chosen, int(entry), fair, able, steps)
            ranked = (int(graph.local.depth[entry]) + len(walk_), len(walk_), walk_, int(entry))
            if best is None or ranked[:2] < best[:2]:
                best = ranked
    assert best is not None
    _, _, loop, entry = best
    beginning, stem = graph.run_to(entry)
    start = graph.beginning(beginning)
    whole = graph.walked(start, [*stem, *(loop * LOOPS)])
    length = len(stem)
    walked = graph.walked(start, stem)
    return Lasso(walked, Trace(whole.semantics, walked.end, whole.steps[length : length + len(loop)]))


def _closed_walk(
    graph: RelativeGraph,
    within: NDArray[np.bool_],
    entry: int,
    fair: Sequence[Component],
    able: Mapping[str, NDArray[np.bool_]],
    steps: Mapping[str, NDArray[np.bool_]],
) -> list[int]:
    """The labels of a short closed walk that is fair to all: to what meets each of them in turn, and back."""
    _, labels, targets = graph.edges
    walk_: list[int] = []
    at = entry
    owed = [one for one in fair if able[one.name][entry]]
    while owed:
        name = owed[0].name
        path = _path(graph, within, at, ~able[name], steps[name])
        for edge in path:
            walk_.append(int(labels[edge]))
            at = int(targets[edge])
            owed = [o for o in owed if able[o.name][at] and not steps[o.name][edge]]
    if at != entry or not walk_:
        there = np.zeros(graph.states, dtype=np.bool_)
        there[entry] = True
        back = _path(graph, within, at, there, None)
        walk_.extend(int(labels[edge]) for edge in back)
    return walk_


def _path(
    graph: RelativeGraph,
    within: NDArray[np.bool_],
    start: int,
    sought: NDArray[np.bool_],
    taken: NDArray[np.bool_] | None,
) -> list[int]:
    """The edges of a shortest walk of at least one step, to a state that is sought or over an edge that is."""
    _, _, targets = graph.edges
    came: dict[int, tuple[int, int]] = {}
    queue = deque([start])
    visited = {start}
    while queue:
        state = queue.popleft()
        for edge in range(int(graph.starts[state]), int(graph.starts[state + 1])):
            target = int(targets[edge])
            if not within[target]:
                continue
            if sought[target] or (taken is not None and taken[edge]):
                path = [edge]
                while state != start:
                    state, edge = came[state]
                    path.append(edge)
                return path[::-1]
            if target not in visited:
                visited.add(target)
                came[target] = (state, edge)
                queue.append(target)
    raise LookupError("what is sought cannot be reached within the component")


# --- one instant ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Instant:
    """What can happen without time passing: the longest chain of steps that change something, or a cycle of them."""

    states: int
    chain: Trace | None
    cycle: Lasso | None

    def verdict(self) -> Verdict:
        """Held when no cycle takes no time."""
        name = "no cycle takes no time"
        if self.cycle is not None:
            return Refuted(name, f"goes round within one instant: {self.cycle}", self.cycle.stem)
        length = len(self.chain.steps) if self.chain is not None else 0
        return Held(name, f"at most {length} steps within one instant, in {self.states:,} relative states")


def within_one_instant(graph: RelativeGraph, silent: Collection[str] = ()) -> Instant:
    """The longest chain of steps that change something within one instant; or a cycle of them.

    ``silent`` names operations that are left out: a user who changes his mind may go round as fast as he likes.
    """
    sources, labels, targets = graph.edges
    moving = np.array([name is not None and name not in silent for name in graph.operations])
    timeless = moving[labels] & (sources != targets)
    kept = np.flatnonzero(timeless)
    starts = np.searchsorted(sources[kept], np.arange(graph.states + 1))
    everywhere = np.ones(graph.states, dtype=np.bool_)
    component = components_of(graph.states, starts, targets[kept], everywhere)
    looping = component[sources[kept]] == component[targets[kept]]
    if looping.any():
        return Instant(graph.states, None, _timeless_lasso(graph, kept, component, looping))
    # Components are numbered targets first, and each is one state.
    length = np.zeros(graph.states, dtype=np.int64)
    following = np.full(graph.states, -1, dtype=np.int64)
    for state in np.argsort(component, kind="stable").tolist():
        for place in range(int(starts[state]), int(starts[state + 1])):
            edge = int(kept[place])
            if length[targets[edge]] + 1 > length[state]:
                length[state] = length[targets[edge]] + 1
                following[state] = edge
    first = int(np.argmax(length))
    beginning, stem = graph.run_to(first)
    chain: list[int] = []
    state = first
    while following[state] >= 0:
        chain.append(int(labels[following[state]]))
        state = int(targets[following[state]])
    start = graph.beginning(beginning)
    whole = graph.walked(start, [*stem, *chain])
    return Instant(graph.states, Trace(whole.semantics, graph.walked(start, stem).end, whole.steps[len(stem) :]), None)


def _timeless_lasso(graph: RelativeGraph, kept: Ids, component: Ids, looping: NDArray[np.bool_]) -> Lasso:
    sources, labels, targets = graph.edges
    edges = kept[looping]
    first = int(edges[np.argmin(graph.local.depth[sources[edges]])])
    within = component == component[sources[first]]
    allowed = {int(edge) for edge in edges}
    came: dict[int, tuple[int, int]] = {}
    entry = int(sources[first])
    queue, visited = deque([entry]), {entry}
    while queue:
        state = queue.popleft()
        for edge in range(int(graph.starts[state]), int(graph.starts[state + 1])):
            target = int(targets[edge])
            if edge not in allowed or not within[target]:
                continue
            if target == entry:
                path = [edge]
                while state != entry:
                    state, edge = came[state]
                    path.append(edge)
                loop = [int(labels[e]) for e in path[::-1]]
                beginning, stem = graph.run_to(entry)
                start = graph.beginning(beginning)
                whole = graph.walked(start, [*stem, *loop])
                walked = graph.walked(start, stem)
                return Lasso(walked, Trace(whole.semantics, walked.end, whole.steps[len(stem) :]))
            if target not in visited:
                visited.add(target)
                came[target] = (state, edge)
                queue.append(target)
    raise LookupError("a component without a cycle")
