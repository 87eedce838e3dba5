"""What two contracts do differently: behaviours removed, added and ended otherwise, each with a shortest run.

Theory
======
Both contracts are walked in step, from the initial states of one small world that fits both (``fitting``). A *joint*
node is a pair of states, one of each contract, that agree on every field which both have. From it each contract is
asked what it makes of every call, and the answers are matched:

* both take the call and end alike: the pair of ends is a joint node again, *kept*, whatever the case is called;
* both take it and end differently: a difference, with the fields;
* one takes it and the other refuses it, or has no such operation: a behaviour *removed* or *added*.

The walk is breadth first, so the first run that shows a difference is a shortest one. Behind a difference the two no
longer agree and there is nothing to compare. But what is *only* possible there would be lost: an operation that acts on
a status that is new can be called only after the step that leads to that status. So each contract goes on alone from
there, and a transition that it takes alone, and that the other one takes nowhere, is told as well.

States are evaluated as columns and counted by what the contracts' guards and conditions look at (``explore.local``).
A field that an operation treats differently on the two sides is looked at by its value, so that no difference hides in
a state that was taken for another one. Every run that is told is replayed by plain evaluation, on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fencepost_model.contract import Contract, transition_name
from fencepost_model.semantics import Accepted, Call, Refused, Semantics, State
from fencepost_model.shapes import Operation, Variable, Witness
from fencepost_model.terms import Bare, FieldOf, Same, Value, value_of
from fencepost_model.worlds import World
from fencepost_verification.diff.fitting import Fitted, fitted
from fencepost_verification.evidence import Move, ReplayFailed, Taken, Tick, Trace, replayed
from fencepost_verification.explore.columns import NULL, Column
from fencepost_verification.explore.local import Explorer, Ids, Layout, WorldTooWide

MOST_NODES = 400_000
"""How many nodes of one world are looked at, at most."""


class Kind(Enum):
    """What became of a behaviour."""

    REMOVED = "removed"
    ADDED = "added"
    CHANGED = "ends differently"


@dataclass(frozen=True)
class Difference:
    """One transition that the two contracts treat differently, with a shortest run that ends with it.

    ``trace`` is a run of the new contract for what is added, else of the old one. ``becomes`` is the transition by
    which the other contract answers, where it does. ``fields`` are those that end differently in any run, ``ends``
    their two values (old, new) at the end of this one. ``otherwise`` says what the other contract does. ``steps``
    counts the steps that differ so, over all worlds.
    """

    kind: Kind
    transition: str
    trace: Trace
    otherwise: str
    world: str
    becomes: str = ""
    fields: tuple[str, ...] = ()
    ends: Mapping[str, tuple[Value, Value]] = field(default_factory=dict[str, tuple[Value, Value]])
    steps: int = 1

    @property
    def name(self) -> str:
        """The transition, with that of the other contract where it differs."""
        return self.transition if self.becomes in ("", self.transition) else f"{self.transition} -> {self.becomes}"


@dataclass(frozen=True)
class Walk:
    """What a walk of one world found; ``joint`` counts pairs of states, ``alone`` states of one contract (old, new)."""

    world: str
    joint: int
    alone: tuple[int, int]
    differences: tuple[Difference, ...]
    unknown: str = ""


@dataclass(frozen=True)
class Behaviour:
    """The differences over all worlds, and one sentence for each thing that was not looked at."""

    differences: tuple[Difference, ...]
    walks: tuple[Walk, ...]
    unknown: tuple[str, ...]
    same_text: bool = False

    def of(self, kind: Kind) -> tuple[Difference, ...]:
        """Those of one kind."""
        return tuple(difference for difference in self.differences if difference.kind is kind)


def compared(old: Contract, new: Contract, worlds: Sequence[World], donors: Sequence[World]) -> Behaviour:
    """Walk two contracts in step through worlds; ``donors`` are all worlds of either (see ``fitting``)."""
    if (old.machines, old.operations) == (new.machines, new.operations):
        return Behaviour((), (), (), same_text=True)
    if not worlds:
        return Behaviour((), (), ("neither side comes with a small world: give a Chapter that has one",))
    walks = tuple(_walked(old, new, world, donors) for world in worlds)
    merged: dict[tuple[Kind, str, str], Difference] = {}
    for walk in walks:
        for one in walk.differences:
            key = (one.kind, one.transition, one.becomes)
            merged[key] = _merged(merged[key], one) if key in merged else one
    order = list(Kind)
    ranked = sorted(merged.values(), key=lambda one: (order.index(one.kind), len(one.trace.steps), one.name))
    return Behaviour(tuple(ranked), walks, tuple(dict.fromkeys(walk.unknown for walk in walks if walk.unknown)))


def _merged(one: Difference, other: Difference) -> Difference:
    shorter = other if len(other.trace.steps) < len(one.trace.steps) else one
    fields = tuple(dict.fromkeys((*one.fields, *other.fields)))
    return replace(shorter, fields=fields, steps=one.steps + other.steps)


def _walked(old: Contract, new: Contract, world: World, donors: Sequence[World]) -> Walk:
    try:
        left, right, remarks = fitted(world, old, new, donors)
        search = _Search(world.name, _Side(left, new, False), _Side(right, old, True))
        return search.run(remarks)
    except (WorldTooWide, ValueError) as fault:
        return Walk(world.name, 0, (0, 0), (), f"{world.name} was not walked: {fault}")


# --- one side ---------------------------------------------------------------------------------------------------------

CallKey: TypeAlias = tuple[object, ...]


class _Side:
    """One contract in its world: what can be called, and how its calls are recognised on the other side."""

    def __init__(self, at: Fitted, other: Contract, is_new: bool) -> None:
        self.contract = at.world.contract
        self.slots = at.slots
        self.other = {operation.name: operation for operation in other.operations}
        self.is_new = is_new
        self.world = at.world
        closely = list(_looked_at_closely(self.contract, other))
        silent = replace(
            self.contract, invariants=(), step_properties=(), progress=(), witnesses=tuple(closely), checked=False
        )
        self.explorer = Explorer(silent, at.world)
        self.semantics = Semantics(self.contract, self.explorer.population, at.world.profile())
        self._classes: list[int] = []
        self._codes = np.empty(0, dtype=np.int64)

    def classes(self, labels: Ids, known: dict[CallKey, int]) -> Ids:
        """For each edge the number of its call, equal on both sides when the call is the same for both."""
        for shape in self.explorer.shapes[len(self._classes) :]:
            key: CallKey = ("tick",)
            if shape.operation is not None:
                variables, parameters = _in_common(shape.operation, self.other.get(shape.operation.name))
                bound = tuple(sorted((name, self.slots[shape.binding[name]]) for name in variables))
                given = tuple(sorted((name, shape.arguments[name]) for name in parameters))
                key = (shape.operation.name, bound, tuple((name, repr(term)) for name, term in given))
            self._classes.append(known.setdefault(key, len(known)))
        return np.array(self._classes, dtype=np.int64)[labels]

    def comparable(self, position: int, columns: Sequence[Column], strings: dict[str, int]) -> Column:
        """A column with strings in codes that both sides share."""
        codes = self.explorer.codebook.codes
        if len(self._codes) < len(codes):
            shared = [strings.setdefault(text, -len(strings) - 1) for text in codes]
            self._codes = np.array(shared, dtype=np.int64)
        column = columns[position]
        is_text = (column < 0) & (column != NULL)
        if not is_text.any():
            return column
        return np.where(is_text, self._codes[np.where(is_text, -column - 1, 0)], column)

    def initial(self) -> dict[str, State]:
        """The states in which a run begins, by the name of the legacy row that is there, or none."""
        names = ["", *(row.name for row in self.contract.root.legacy_rows)] if self.world.legacy else [""]
        return dict(zip(names, self.semantics.initial(legacy=self.world.legacy), strict=True))

    def columns_of(self, states: Sequence[State]) -> tuple[Ids, list[Column]]:
        """States as a frontier."""
        encode = self.explorer.codebook.encode
        clock = np.array([state.now for state in states], dtype=np.int64)
        fields = self.explorer.layout.fields
        return clock, [
            np.array([encode(s.rows[0][slot][name]) for s in states], dtype=np.int64) for slot, name, _ in fields
        ]

    def move(self, label: int, now: float | int) -> Move:
        """The move that an edge stands for, at an instant."""
        shape = self.explorer.shapes[label]
        if shape.operation is None or shape.case is None:
            return Tick(self.world.tick)
        params = {name: value_of(term, Bare({}, now)) for name, term in shape.arguments.items()}
        return Taken(Call(shape.operation.name, 0, dict(shape.binding), params), shape.case.name)

    def transition(self, label: int) -> tuple[str, str]:
        """Operation and case of an edge; empty for time."""
        shape = self.explorer.shapes[label]
        if shape.operation is None or shape.case is None:
            return "", ""
        return shape.operation.name, shape.case.name

    def named(self, label: int) -> str:
        """The name of an edge's transition."""
        return self.explorer.shapes[label].transition


def _in_common(one: Operation, other: Operation | None) -> tuple[list[str], list[str]]:
    """The names of the variables and of the parameters that both versions of an operation have."""
    if other is None:
        return [variable.name for variable in one.over], [parameter.name for parameter in one.parameters]
    variables = [variable.name for variable in one.over if variable in other.over]
    names = {parameter.name for parameter in other.parameters}
    return variables, [parameter.name for parameter in one.parameters if parameter.name in names]


def _looked_at_closely(contract: Contract, other: Contract) -> Iterator[Witness]:
    """Statements that read, by value, each field that an operation treats differently on the two sides."""
    theirs = {operation.name: operation for operation in other.operations}
    fields: set[tuple[str, str]] = set()
    for operation in contract.operations:
        if operation.name in theirs and theirs[operation.name].cases != operation.cases:
            fields |= set(_assigned(operation)) | set(_assigned(theirs[operation.name]))
    for machine in contract.machines:
        for one in machine.fields:
            if (machine.name, one.name) in fields:
                read = FieldOf(machine.name, one.name)
                over = _path_to(contract, machine.name)
                yield Witness(f"{machine.name}_{one.name}_is_read", "", over, Same(read, read), "it is compared")


def _path_to(contract: Contract, machine: str) -> tuple[Variable, ...]:
    parent = contract.machine(machine).belongs_to
    above = _path_to(contract, parent) if parent is not None else ()
    return (*above, Variable(machine, machine, parent))


def _assigned(operation: Operation) -> Iterator[tuple[str, str]]:
    """Machine and field of everything that an operation may assign."""
    machines = {variable.name: variable.machine for variable in operation.over}
    for case in operation.cases:
        for assignment in case.effect:
            yield machines[assignment.field.entity], assignment.field.name
        for each in case.also:
            for assignment in each.effect:
                yield each.subject.machine, assignment.field.name


# --- both in step -----------------------------------------------------------------------------------------------------

JOINT, OLD, NEW = 0, 1, 2


@dataclass
class _Frontier:
    """Nodes of one kind that were found at one depth: their numbers, their clock, their columns on each side."""

    ids: Ids
    clock: Ids
    old: list[Column]
    new: list[Column]


@dataclass
class _First:
    """The first step that shows a difference: from which node, by which move; and how many there are."""

    node: int
    label: int
    answer: int
    steps: int
    fields: dict[str, None]
    depth: int


class _Search:
    def __init__(self, world: str, old: _Side, new: _Side) -> None:
        self.world = world
        self.old, self.new = old, new
        self.calls: dict[CallKey, int] = {}
        self.strings: dict[str, int] = {}
        self.common = list(self._common())
        self.seen: dict[int, set[bytes]] = {JOINT: set(), OLD: set(), NEW: set()}
        self.parents: list[Ids] = []
        self.by_old: list[Ids] = []
        self.by_new: list[Ids] = []
        self.roots: list[tuple[State | None, State | None]] = []
        self.nodes = 0
        self.begins: list[tuple[Kind, str, str, Trace]] = []
        self.found: dict[tuple[Kind, str, str], _First] = {}
        self.alone: dict[tuple[int, tuple[str, str]], _First] = {}
        self.together: dict[int, set[tuple[str, str]]] = {OLD: set(), NEW: set()}
        self.taken: dict[int, set[tuple[str, str]]] = {OLD: set(), NEW: set()}

    def _common(self) -> Iterator[tuple[str, int, int]]:
        """Each field that both sides have: how it is called, and where it stands."""
        places = {(self.new.slots[slot], name): k for (slot, name), k in self.new.explorer.layout.positions.items()}
        labels = self.old.semantics.population.slots
        for (slot, name), position in self.old.explorer.layout.positions.items():
            there = places.get((self.old.slots[slot], name))
            if there is not None:
                yield f"{labels[slot].label}.{name}", position, there

    def run(self, remarks: Sequence[str]) -> Walk:
        """Walk to the end, or to the bound."""
        unknown = [*remarks]
        frontiers = self._initial()
        depth = 0
        while any(len(frontier.ids) for frontier in frontiers.values()) and self.nodes <= MOST_NODES:
            depth += 1
            pieces: dict[int, list[_Found]] = {JOINT: [], OLD: [], NEW: []}
            if len(frontiers[JOINT].ids):
                self._together(frontiers[JOINT], depth, pieces)
            for kind in (OLD, NEW):
                if len(frontiers[kind].ids):
                    self._alone(kind, frontiers[kind], depth, pieces)
            try:
                frontiers = {kind: self._fresh(kind, found) for kind, found in pieces.items()}
            except WorldTooWide as fault:
                # What was found before a counter ran away is true all the same.
                unknown.append(f"{self.world} was walked for {depth} steps only: {fault}")
                break
        if self.nodes > MOST_NODES:
            unknown.append(f"{self.world} was not walked to its end: it has more than {MOST_NODES:,} pairs of states")
        alone = len(self.seen[OLD]), len(self.seen[NEW])
        return Walk(self.world, len(self.seen[JOINT]), alone, tuple(self._told()), "; ".join(unknown))

    def _initial(self) -> dict[int, _Frontier]:
        olds, news = self.old.initial(), self.new.initial()
        chosen: dict[int, list[tuple[State | None, State | None]]] = {JOINT: [], OLD: [], NEW: []}
        for name in dict.fromkeys((*olds, *news)):
            one, other = olds.get(name), news.get(name)
            if one is not None and other is not None and not self._apart(one, other):
                chosen[JOINT].append((one, other))
            else:
                why = "has no such row"
                if one is not None and other is not None:
                    why = f"has other fields there: {', '.join(self._apart(one, other))}"
                if one is not None:
                    chosen[OLD].append((one, None))
                    self.begins.append((Kind.REMOVED, name, why, Trace(self.old.semantics, one, ())))
                if other is not None:
                    chosen[NEW].append((None, other))
                    self.begins.append((Kind.ADDED, name, why, Trace(self.new.semantics, other, ())))
        frontiers: dict[int, _Frontier] = {}
        for kind, roots in chosen.items():
            lefts, rights = [r for r, _ in roots if r is not None], [r for _, r in roots if r is not None]
            nowhere: tuple[Ids, list[Column]] = np.empty(0, dtype=np.int64), []
            clock, old = self.old.columns_of(lefts) if lefts else nowhere
            other_clock, new = self.new.columns_of(rights) if rights else nowhere
            none = np.full(len(roots), -1)
            self.roots += roots
            found = _Found(none, none, none, other_clock if kind == NEW else clock, old, new)
            frontiers[kind] = self._fresh(kind, [found])
        return frontiers

    def _apart(self, one: State, other: State) -> dict[str, tuple[Value, Value]]:
        """The fields on which two states differ that both sides have, with their values."""
        places, theirs = self.old.explorer.layout.fields, self.new.explorer.layout.fields
        found: dict[str, tuple[Value, Value]] = {}
        for name, mine, there in self.common:
            left = one.rows[0][places[mine][0]][places[mine][1]]
            right = other.rows[0][theirs[there][0]][theirs[there][1]]
            if left != right:
                found[name] = (left, right)
        return found

    # -- steps ---------------------------------------------------------------------------------------------------------

    def _together(self, frontier: _Frontier, depth: int, pieces: dict[int, list[_Found]]) -> None:
        from_old, by_old, clock_old, ends_old = self.old.explorer.successors(frontier.clock, frontier.old)
        from_new, by_new, clock_new, ends_new = self.new.explorer.successors(frontier.clock, frontier.new)
        self.taken[OLD] |= {self.old.transition(int(label)) for label in np.unique(by_old)}
        self.taken[NEW] |= {self.new.transition(int(label)) for label in np.unique(by_new)}
        one, other, met_old, met_new = _joined(
            from_old, self.old.classes(by_old, self.calls), from_new, self.new.classes(by_new, self.calls)
        )
        alike = np.ones(len(one), dtype=np.bool_)
        differ: dict[str, NDArray[np.bool_]] = {}
        for name, mine, there in self.common:
            left = self.old.comparable(mine, ends_old, self.strings)[one]
            right = self.new.comparable(there, ends_new, self.strings)[other]
            apart = left != right
            if apart.any():
                differ[name] = apart
                alike &= ~apart
        kept_old, kept_new = np.zeros(len(from_old), dtype=np.bool_), np.zeros(len(from_new), dtype=np.bool_)
        kept_old[one[alike]] = True
        kept_new[other[alike]] = True
        ids = frontier.ids
        for kind, side, labels, sources, lost in (
            (Kind.REMOVED, self.old, by_old, from_old, ~met_old),
            (Kind.ADDED, self.new, by_new, from_new, ~met_new),
        ):
            for label in np.unique(labels[lost]):
                edges = np.flatnonzero(lost & (labels == label))
                self._note((kind, side.named(int(label)), ""), ids[sources[edges]], int(label), -1, depth)
        # Of a pair that ends differently neither call may be kept by another pair, else the one that is not is news.
        pairs = np.flatnonzero(~kept_old[one] & ~alike)
        self._note_pairs(Kind.CHANGED, pairs, ids, from_old[one], by_old[one], by_new[other], differ, depth)
        pairs = np.flatnonzero(kept_old[one] & ~kept_new[other])
        self._note_pairs(Kind.ADDED, pairs, ids, from_old[one], by_old[one], by_new[other], differ, depth)
        for chosen in (
            (self.together[OLD], self.old, by_old, kept_old),
            (self.together[NEW], self.new, by_new, kept_new),
        ):
            names, side, labels, kept = chosen
            names |= {side.transition(int(label)) for label in np.unique(labels[kept])}
        pair_old, pair_new = one[alike], other[alike]
        pieces[JOINT].append(
            _Found(
                ids[from_old[pair_old]],
                by_old[pair_old],
                by_new[pair_new],
                clock_old[pair_old],
                [column[pair_old] for column in ends_old],
                [column[pair_new] for column in ends_new],
            )
        )
        none: list[Column] = []
        left_old, left_new = np.flatnonzero(~kept_old), np.flatnonzero(~kept_new)
        ends = [column[left_old] for column in ends_old]
        away = np.full(len(left_old), -1)
        pieces[OLD].append(_Found(ids[from_old[left_old]], by_old[left_old], away, clock_old[left_old], ends, none))
        ends = [column[left_new] for column in ends_new]
        away = np.full(len(left_new), -1)
        pieces[NEW].append(_Found(ids[from_new[left_new]], away, by_new[left_new], clock_new[left_new], none, ends))

    def _note_pairs(
        self,
        kind: Kind,
        pairs: Ids,
        ids: Ids,
        sources: Ids,
        by_old: Ids,
        by_new: Ids,
        differ: Mapping[str, NDArray[np.bool_]],
        depth: int,
    ) -> None:
        """Note pairs of calls that both contracts take and that end differently."""
        if not len(pairs):
            return
        for old, new in np.unique(np.stack((by_old[pairs], by_new[pairs]), axis=1), axis=0):
            these = pairs[(by_old[pairs] == old) & (by_new[pairs] == new)]
            fields = [name for name, apart in differ.items() if apart[these].any()]
            names = self.old.named(int(old)), self.new.named(int(new))
            nodes = ids[sources[these]]
            if kind is Kind.CHANGED:
                self._note((kind, names[0], names[1]), nodes, int(old), int(new), depth, fields)
            else:
                self._note((kind, names[1], names[0]), nodes, int(new), int(old), depth, fields)

    def _note(
        self,
        key: tuple[Kind, str, str],
        nodes: Ids,
        label: int,
        answer: int,
        depth: int,
        fields: Sequence[str] = (),
    ) -> None:
        first = self.found.get(key)
        if first is None:
            first = self.found[key] = _First(int(nodes.min()), label, answer, 0, {}, depth)
        first.steps += len(nodes)
        first.fields |= dict.fromkeys(fields)

    def _alone(self, kind: int, frontier: _Frontier, depth: int, pieces: dict[int, list[_Found]]) -> None:
        side, columns = (self.old, frontier.old) if kind == OLD else (self.new, frontier.new)
        sources, labels, clock, ends = side.explorer.successors(frontier.clock, columns)
        for label in np.unique(labels):
            transition = side.transition(int(label))
            self.taken[kind].add(transition)
            edges = np.flatnonzero(labels == label)
            first = self.alone.get((kind, transition))
            if first is None:
                node = int(frontier.ids[sources[edges]].min())
                first = self.alone[(kind, transition)] = _First(node, int(label), -1, 0, {}, depth)
            first.steps += len(edges)
        away, none = np.full(len(labels), -1), list[Column]()
        ids = frontier.ids[sources]
        if kind == OLD:
            pieces[OLD].append(_Found(ids, labels, away, clock, ends, none))
        else:
            pieces[NEW].append(_Found(ids, away, labels, clock, none, ends))

    def _fresh(self, kind: int, found: Sequence[_Found]) -> _Frontier:
        """Of what was found the nodes that are new, each once, numbered in the order in which they were met."""
        parts = [piece for piece in found if len(piece.parents)]
        if not parts:
            nothing = np.empty(0, dtype=np.int64)
            empty_old = [nothing for _ in self.old.explorer.layout.fields] if kind != NEW else []
            empty_new = [nothing for _ in self.new.explorer.layout.fields] if kind != OLD else []
            return _Frontier(nothing, nothing, empty_old, empty_new)
        clock = np.concatenate([part.clock for part in parts])
        old = [np.concatenate(columns) for columns in zip(*(part.old for part in parts), strict=True)]
        new = [np.concatenate(columns) for columns in zip(*(part.new for part in parts), strict=True)]
        keys = [layout.keys(clock, c) for layout, c in self._layouts(kind, old, new)]
        matrix = np.concatenate([key.view(np.uint8).reshape(len(clock), -1) for key in keys], axis=1)
        joined = np.ascontiguousarray(matrix).view(f"S{matrix.shape[1]}").ravel()
        unique, first = np.unique(joined, return_index=True)
        seen = self.seen[kind]
        fresh = np.sort([int(at) for key, at in zip(unique.tolist(), first, strict=True) if key not in seen])
        fresh = fresh.astype(np.int64)
        seen.update(joined[fresh].tolist())
        self.parents.append(np.concatenate([part.parents for part in parts])[fresh])
        self.by_old.append(np.concatenate([part.by_old for part in parts])[fresh])
        self.by_new.append(np.concatenate([part.by_new for part in parts])[fresh])
        ids = self.nodes + np.arange(len(fresh))
        self.nodes += len(fresh)
        return _Frontier(ids, clock[fresh], [column[fresh] for column in old], [column[fresh] for column in new])

    def _layouts(self, kind: int, old: list[Column], new: list[Column]) -> Iterator[tuple[Layout, list[Column]]]:
        if kind != NEW:
            yield self.old.explorer.layout, old
        if kind != OLD:
            yield self.new.explorer.layout, new

    # -- telling -------------------------------------------------------------------------------------------------------

    def _told(self) -> Iterator[Difference]:
        """Every difference with its run, replayed."""
        parents = np.concatenate(self.parents)
        by_old, by_new = np.concatenate(self.by_old), np.concatenate(self.by_new)

        def path(node: int) -> tuple[int, list[tuple[int, int]]]:
            steps: list[tuple[int, int]] = []
            while parents[node] >= 0:
                steps.append((int(by_old[node]), int(by_new[node])))
                node = int(parents[node])
            return node, steps[::-1]

        for kind, name, why, trace in self.begins:
            yield Difference(kind, f"a run that begins with {name}", trace, why, self.world)
        for (kind, transition, becomes), first in self.found.items():
            root, steps = path(first.node)
            yield self._difference(kind, transition, becomes, first, root, steps)
        known = {(kind, transition) for kind, transition, _ in self.found}
        for (side, taken), first in self.alone.items():
            mine, other = (self.old, NEW) if side == OLD else (self.new, OLD)
            kind = Kind.REMOVED if side == OLD else Kind.ADDED
            name = mine.named(first.label)
            if taken in self.taken[other] or taken in self.together[side] or (kind, name) in known:
                continue
            root, steps = path(first.node)
            run = [label for label, _ in steps] if side == OLD else [label for _, label in steps]
            trace = self._replayed(mine, root, [*run, first.label])
            apart = next((number for number, (one, two) in enumerate(steps) if -1 in (one, two)), len(steps))
            where = trace.steps[apart].label if apart < len(trace.steps) else name
            otherwise = f"never takes it; the two part at {where}"
            yield Difference(kind, name, trace, otherwise, self.world, steps=first.steps)

    def _difference(
        self, kind: Kind, transition: str, becomes: str, first: _First, root: int, steps: list[tuple[int, int]]
    ) -> Difference:
        """A difference that begins where the two still agree."""
        runs = [label for label, _ in steps], [label for _, label in steps]
        olds = self._replayed(self.old, root, runs[0])
        news = self._replayed(self.new, root, runs[1])
        if apart := self._apart(olds.end, news.end):
            raise ReplayFailed(f"the two contracts were taken to agree, but differ on {', '.join(apart)}")
        walks, other, end = (self.new, self.old, olds.end) if kind is Kind.ADDED else (self.old, self.new, news.end)
        run = runs[1] if kind is Kind.ADDED else runs[0]
        trace = self._replayed(walks, root, [*run, first.label])
        if first.answer < 0:
            otherwise = self._refusal(walks, other, trace, end)
            return Difference(kind, transition, trace, otherwise, self.world, steps=first.steps)
        answers = self._replayed(other, root, [*(runs[0] if kind is Kind.ADDED else runs[1]), first.answer])
        ends = self._apart(*((answers.end, trace.end) if kind is Kind.ADDED else (trace.end, answers.end)))
        if not ends:
            raise ReplayFailed(f"{transition} was taken to end differently, but ends alike")
        fields = tuple(first.fields)
        told = "; ".join(f"{name} ends as {_literal(a)}, then as {_literal(b)}" for name, (a, b) in ends.items())
        return Difference(kind, transition, trace, told, self.world, becomes, fields, ends, first.steps)

    def _replayed(self, side: _Side, root: int, labels: Sequence[int]) -> Trace:
        start = self.roots[root][1 if side.is_new else 0]
        assert start is not None
        moves: list[Move] = []
        now = start.now
        for label in labels:
            move = side.move(label, now)
            now += move.seconds if isinstance(move, Tick) else 0
            moves.append(move)
        return replayed(side.semantics, start, moves)

    def _refusal(self, walks: _Side, other: _Side, trace: Trace, state: State) -> str:
        """What the other contract says to a run's last call. Raises ``ReplayFailed`` when it takes it after all."""
        move = trace.steps[-1].move
        if not isinstance(move, Taken):
            raise ReplayFailed("time passes on one side only")
        operation = next((o for o in other.contract.operations if o.name == move.call.operation), None)
        if operation is None:
            return f"has no operation {move.call.operation}"
        mine = walks.contract.operation(operation.name)
        variables, parameters = _in_common(mine, operation)
        if len(variables) < len(operation.over):
            return f"{operation.name} acts on other entities there"
        if len(parameters) < len(operation.parameters):
            return f"refuses {operation.name}, whatever else is given"
        shared = [walks.slots[move.call.binding[variable.name]] for variable in operation.over]
        binding = {v.name: other.slots.index(slot) for v, slot in zip(operation.over, shared, strict=True)}
        params = {name: move.call.params[name] for name in parameters}
        outcome = other.semantics.attempt(state, Call(operation.name, 0, binding, params))
        match outcome:
            case Refused(guards):
                return f"refused by {', '.join(sorted(guards))}"
            case Accepted(case):
                raise ReplayFailed(f"{transition_name(operation, case)} is taken after all")


@dataclass(frozen=True)
class _Found:
    """Nodes that were come upon: from which parents, by which moves on each side (-1: none), and what they are."""

    parents: Ids
    by_old: Ids
    by_new: Ids
    clock: Ids
    old: Sequence[Column]
    new: Sequence[Column]


def _joined(
    from_old: Ids, call_old: Ids, from_new: Ids, call_new: Ids
) -> tuple[Ids, Ids, NDArray[np.bool_], NDArray[np.bool_]]:
    """The pairs of edges with one source and one call, as two lists of indices; and which edges are in a pair."""
    width = int(max(call_old.max(initial=0), call_new.max(initial=0))) + 1
    left, right = from_old * width + call_old, from_new * width + call_new
    order = np.argsort(right, kind="stable")
    lowest = np.searchsorted(right[order], left, side="left")
    counts = np.searchsorted(right[order], left, side="right") - lowest
    one = np.repeat(np.arange(len(left)), counts)
    offsets = np.arange(len(one)) - np.repeat(np.cumsum(counts) - counts, counts)
    other = order[np.repeat(lowest, counts) + offsets]
    met_new = np.zeros(len(right), dtype=np.bool_)
    met_new[other] = True
    return one, other, counts > 0, met_new


def _literal(value: Value) -> str:
    return "null" if value is None else repr(value) if isinstance(value, str) else str(value)
