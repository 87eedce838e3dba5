"""What in a world is interchangeable, and a search that expands one state of all that differ by an exchange.

Theory
======
Two jobs of a world are alike: nothing is offered to one that is not offered to the other. So are two workers that are
told apart by their names only. Whoever is exchanged for whom, every move is still there, under the other name: an
exchange is an *automorphism* of the graph of states. So of each *orbit*, all states that exchanges turn into one
another, one representative is expanded, and stands for as many states as the orbit has. The depth of a state is that of
its orbit, and the moves of its orbit are as many as its own for each of its states.

Which exchanges there are is *derived*, not assumed:

* The aggregates of a world may always be exchanged: the population gives them one shape, the world one set of
  arguments, and an operation touches one of them.
* Members may be exchanged that have the same parent, the same machine and members that correspond, if their fixed
  fields differ in identities only. The exchange then *renames* these identities, in every field and argument of sort
  IDENTITY. Identities are compared for equality alone (the sorts of a contract see to that), so nothing else can tell.
* Not so if the contract mentions one of these names, if a setting is one, or if the arguments or the rows of older
  programs change by the renaming: then somebody is preferred.

Aggregates share the workers. A renaming therefore acts on all aggregates at once.

The derivation reads terms. Before it is used, each exchange is held against the graph of one aggregate that was found
without it: it must map states to states, and moves to moves of the same transition. ``NotASymmetry`` says that the two
disagree, which is a defect of the project.

Codes
=====
A representative has the ranks of its aggregates in ascending order, and under all renamings the least code. Ascending
ranks are numbered without gaps (``C(r0, 1) + C(r1 + 1, 2) + ...``), so that the table of depths has one byte for each
way to choose ranks irrespective of order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from math import comb, factorial

import numpy as np
from numpy.typing import NDArray

from fencepost_model.contract import Contract, terms_of
from fencepost_model.shapes import Sort
from fencepost_model.terms import Const, OneOf, Term, Value, ValueTerm, rewritten_value, walk
from fencepost_model.worlds import World
from fencepost_verification.explore.columns import Column
from fencepost_verification.explore.local import Ids, LocalGraph
from fencepost_verification.explore.tables import CHUNK, UNSEEN, Tables, fits

MOST_EXCHANGES = 5_000
"""How many ways to exchange members are looked at; a world has a handful."""


class NotASymmetry(AssertionError):
    """An exchange that was derived from the terms is none of the graph of states: a defect of the project."""


@dataclass(frozen=True)
class Exchange:
    """One way to exchange members: ``slots[s]`` takes the place of slot ``s``, and identities are renamed."""

    slots: tuple[int, ...]
    names: Mapping[str, str]

    @property
    def is_trivial(self) -> bool:
        """Whether it leaves everything where it is."""
        return self.slots == tuple(range(len(self.slots))) and all(old == new for old, new in self.names.items())


@dataclass(frozen=True)
class Symmetry:
    """The exchanges of a world: of its aggregates among one another, and of members in all of them at once.

    ``exchanges`` is a group, the trivial one first. ``excluded`` says, for each further exchange that the population by
    itself would allow, what speaks against it.
    """

    aggregates: int
    exchanges: tuple[Exchange, ...]
    excluded: tuple[str, ...]

    @property
    def order(self) -> int:
        """How many exchanges there are in all: the most by which a search can shrink."""
        return factorial(self.aggregates) * len(self.exchanges)


# --- what is interchangeable ------------------------------------------------------------------------------------------


def symmetries_of(world: World, contract: Contract) -> Symmetry:
    """The exchanges under which a world and a contract are as they were."""
    kept: list[Exchange] = []
    excluded: dict[str, None] = {}
    for exchange in _of_the_population(world, contract):
        reason = _objection(world, contract, exchange)
        if reason is None:
            kept.append(exchange)
        else:
            excluded[reason] = None
    kept.sort(key=lambda exchange: (not exchange.is_trivial, exchange.slots))
    return Symmetry(world.population.aggregates, tuple(kept), tuple(excluded))


def _of_the_population(world: World, contract: Contract) -> Iterator[Exchange]:
    """Every exchange of members with the same parent whose fixed fields differ in identities only."""
    slots = world.population.slots
    children: dict[int, list[int]] = {slot.index: [] for slot in slots}
    for slot in slots[1:]:
        children[slot.parent].append(slot.index)
    for number, image in enumerate(_images(slots[0].index, slots[0].index, children)):
        if number == MOST_EXCHANGES:
            raise ValueError(f"world {world.name!r} has too many members to exchange; explore it without symmetry")
        names = _renaming(world, contract, image)
        if names is not None:
            yield Exchange(tuple(image[slot.index] for slot in slots), names)


def _images(one: int, other: int, children: Mapping[int, Sequence[int]]) -> Iterator[dict[int, int]]:
    """Every way to put one slot with what belongs to it in another's place."""
    if len(children[one]) != len(children[other]):
        return
    for order in permutations(children[other]):
        ways = [list(_images(child, place, children)) for child, place in zip(children[one], order, strict=True)]
        for parts in product(*ways):
            yield {one: other, **{slot: place for part in parts for slot, place in part.items()}}


def _renaming(world: World, contract: Contract, image: Mapping[int, int]) -> dict[str, str] | None:
    """The names that change when each slot takes the place of another; None when that is no matter of names."""
    slots = world.population.slots
    names: dict[str, str] = {}
    for slot in slots:
        place = slots[image[slot.index]]
        if slot.machine != place.machine:
            return None
        for field in contract.machine(slot.machine).fields:
            if not field.fixed:
                continue
            here, there = slot.fixed.get(field.name), place.fixed.get(field.name)
            if field.sort is not Sort.IDENTITY or not isinstance(here, str) or not isinstance(there, str):
                if here != there:
                    return None
            elif names.setdefault(here, there) != there:
                return None
    return names if sorted(names) == sorted(names.values()) else None


def _objection(world: World, contract: Contract, exchange: Exchange) -> str | None:
    """What tells apart those that an exchange takes for one another; None when nothing does."""
    moved = {old for old, new in exchange.names.items() if old != new}
    mentioned = sorted(moved & {text for term in terms_of(contract) for text in _texts(term)})
    if mentioned:
        return f"the contract mentions {mentioned[0]!r}"
    for shape in contract.settings:
        if shape.sort is Sort.IDENTITY and world.profile()[shape.name] in moved:
            return f"the setting {shape.name!r} is {world.profile()[shape.name]!r}"
    for operation in world.operations():
        identities = {p.name for p in operation.parameters if p.sort is Sort.IDENTITY}
        offered = {tuple(arguments.items()) for arguments in world.argument_sets(operation)}
        renamed = {
            tuple((n, _with_identities(term, exchange.names) if n in identities else term) for n, term in arguments)
            for arguments in offered
        }
        if offered != renamed:
            return f"the arguments of {operation.name!r} prefer one of {', '.join(sorted(moved))}"
    if world.legacy and moved:
        identities = {f.name for f in contract.root.fields if f.sort is Sort.IDENTITY}
        rows = [_frozen(row.fields) for row in contract.root.legacy_rows]
        other = [
            _frozen({n: exchange.names.get(str(v), v) if n in identities else v for n, v in row.fields.items()})
            for row in contract.root.legacy_rows
        ]
        if set(rows) != set(other):
            return f"the rows of older programs prefer one of {', '.join(sorted(moved))}"
    return None


def _frozen(row: Mapping[str, Value]) -> frozenset[tuple[str, Value]]:
    return frozenset(row.items())


def _texts(term: Term) -> Iterator[str]:
    for part in walk(term):
        match part:
            case Const(str() as text):
                yield text
            case OneOf(_, choices):
                yield from (choice for choice in choices if isinstance(choice, str))
            case _:
                pass


def _with_identities(argument: ValueTerm, names: Mapping[str, str]) -> ValueTerm:
    def renamed(part: Term) -> Term | None:
        if isinstance(part, Const) and isinstance(part.value, str) and part.value in names:
            return Const(names[part.value])
        return None

    return rewritten_value(argument, renamed)


# --- exchanges of the states that were found --------------------------------------------------------------------------


def on_states(local: LocalGraph, exchange: Exchange) -> Ids:
    """The state that takes each state's place. Raises ``NotASymmetry`` where moves do not go with their states."""
    layout, slots = local.layout, local.semantics.population.slots
    columns: list[Column] = list(local.columns)
    for position, (slot, name, _) in enumerate(layout.fields):
        column = local.columns[position]
        field = local.semantics.contract.machine(slots[slot].machine).field_named(name)
        if field.sort is Sort.IDENTITY:
            column = _with_names(column, local, exchange.names)
        columns[layout.positions[(exchange.slots[slot], name)]] = column
    known, sought = layout.keys(local.clock, local.columns), layout.keys(local.clock, columns)
    order = np.argsort(known)
    places = np.searchsorted(known[order], sought)
    places[places == len(known)] = 0
    image = order[places].astype(np.int64)
    if not np.array_equal(known[image], sought) or len(np.unique(image)) != len(image):
        raise NotASymmetry(f"{exchange} leads out of the states of {local.world.name}")
    if set(image[local.initial].tolist()) != set(local.initial.tolist()):
        raise NotASymmetry(f"{exchange} changes how {local.world.name} begins")
    if not np.array_equal(_moves(local, image), _moves(local, np.arange(local.states))):
        raise NotASymmetry(f"{exchange} changes the moves of {local.world.name}")
    return image


def _with_names(column: Column, local: LocalGraph, names: Mapping[str, str]) -> Column:
    renamed = column.copy()
    for old, new in names.items():
        renamed[column == local.codebook.encode(old)] = local.codebook.encode(new)
    return renamed


def _moves(local: LocalGraph, image: Ids) -> NDArray[np.int64]:
    """All moves, as source, transition and target, in an order of their own; ends are taken from ``image``."""
    names = {name: number for number, name in enumerate(dict.fromkeys(s.transition for s in local.shapes))}
    transition = np.array([names[shape.transition] for shape in local.shapes], dtype=np.int64)
    moves = np.stack([image[local.sources], transition[local.moves], image[local.targets]])
    return moves[:, np.lexsort(moves)]


# --- the search over representatives ----------------------------------------------------------------------------------


class Quotient(Tables):
    """The search over the orbits of the product of equal aggregates.

    ``representatives`` counts the orbits that were expanded, ``states`` all states that they stand for.
    """

    def __init__(self, local: LocalGraph, aggregates: int, symmetry: Symmetry) -> None:
        super().__init__(local, aggregates)
        self.images: list[list[NDArray[np.int32]]] = [[] for _ in self.instants]
        for exchange in symmetry.exchanges[1:]:
            image = on_states(local, exchange)
            for t, width in enumerate(self.width):
                here = np.flatnonzero(self.tick_of == t)
                ranks = np.empty(width, dtype=np.int32)
                ranks[self.rank[here]] = self.rank[image[here]]
                self.images[t].append(ranks)
        sizes = [comb(int(width) + aggregates - 1, aggregates) for width in self.width]
        total = fits(sum(sizes), local)
        self.base = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        # The number of ascending ranks is a sum with one part for each place.
        self.parts = [
            np.array([comb(rank + place, place + 1) for rank in range(int(self.width.max()))], dtype=np.int64)
            for place in range(aggregates)
        ]
        self.depths: NDArray[np.uint8] = np.full(total, UNSEEN, dtype=np.uint8)
        self.group = len(symmetry.exchanges)
        self.arrangements = factorial(aggregates)
        self.representatives = 0

    def search(self) -> None:
        """Level by level, until a level finds nothing new."""
        choices = np.stack([grid.ravel() for grid in np.meshgrid(*[self.initial] * self.aggregates)])
        following: list[list[_Found]] = [[] for _ in self.instants]
        self._meet(0, choices.astype(np.int32), None, 0, following)
        while any(following):
            if self.depth == UNSEEN - 1:
                raise OverflowError("a run of this world is longer than 254 steps; lower its horizon")
            frontier = following
            following = [[] for _ in self.instants]
            for t, pieces in enumerate(frontier):
                if not pieces:
                    continue
                ranks = np.concatenate([piece.ranks for piece in pieces], axis=1)
                orbits = np.concatenate([piece.orbits for piece in pieces])
                for begin in range(0, len(orbits), CHUNK):
                    self._expand(t, ranks[:, begin : begin + CHUNK], orbits[begin : begin + CHUNK], following)
            self.depth += 1 if any(following) else 0

    def _expand(self, t: int, ranks: NDArray[np.int32], orbits: Ids, following: list[list[_Found]]) -> None:
        for place in range(self.aggregates):
            rank = ranks[place]
            self.visits[t] += np.bincount(rank, weights=orbits, minlength=int(self.width[t])).astype(np.int64)
            # Of equal aggregates one is enough: the other's moves lead to the same orbits.
            source = np.flatnonzero(rank != ranks[place - 1]) if place else np.arange(len(orbits))
            degree = self.degree[t][rank[source]]
            ends = np.cumsum(degree)
            total = int(ends[-1]) if len(ends) else 0
            edge = np.arange(total) + np.repeat(self.starts[t][rank[source]] - (ends - degree), degree)
            source = np.repeat(source, degree)
            found = ranks[:, source]
            found[place] += self.difference[t][edge].astype(np.int32)
            self._meet(t, found, self.label[t][edge], self.depth + 1, following)
        if t + 1 < len(self.instants):
            passed = self.later[t][ranks]
            alive = (passed >= 0).all(axis=0)
            self.ticked += int(orbits[alive].sum())
            moved = passed[:, alive].astype(np.int32)
            labels = np.full(moved.shape[1], self.tick, dtype=np.int32)
            self._meet(t + 1, moved, labels, self.depth + 1, following)

    def _meet(
        self,
        t: int,
        ranks: NDArray[np.int32],
        labels: NDArray[np.int32] | None,
        depth: int,
        following: list[list[_Found]],
    ) -> None:
        """Note the representatives of states that are new, each once."""
        if not ranks.shape[1]:
            return
        least, given = self._ascending(ranks)
        ranks = given
        # How many exchanges of members give the least code: as many as leave the representative as it is.
        fixed = np.ones(len(least), dtype=np.int64)
        for image in self.images[t]:
            code, turned = self._ascending(image[given])
            smaller = code < least
            fixed = np.where(smaller, 1, fixed + (code == least))
            least = np.where(smaller, code, least)
            ranks = np.where(smaller, turned, ranks)
        least = least + self.base[t]
        new = np.flatnonzero(self.depths[least] == UNSEEN)
        if not len(new):
            return
        kept, first = np.unique(least[new], return_index=True)
        new = new[first]
        self.depths[kept] = depth
        orbits = self._arranged(ranks[:, new]) * (self.group // fixed[new])
        self.representatives += len(kept)
        self.states += int(orbits.sum())
        if labels is not None:
            counts = np.bincount(labels[new], weights=orbits, minlength=len(self.fresh))
            self.fresh += counts.astype(np.int64)
        following[t].append(_Found(ranks[:, new], orbits))

    def _ascending(self, ranks: NDArray[np.int32]) -> tuple[Ids, NDArray[np.int32]]:
        """The ranks in ascending order, with their number."""
        ordered = list(ranks)
        # So few numbers are sorted faster by exchanging neighbours of all columns at once.
        for last in range(1, self.aggregates):
            for place in range(last, 0, -1):
                low, high = ordered[place - 1], ordered[place]
                ordered[place - 1], ordered[place] = np.minimum(low, high), np.maximum(low, high)
        codes = self.parts[0][ordered[0]]
        for place in range(1, self.aggregates):
            codes = codes + self.parts[place][ordered[place]]
        return codes, np.stack(ordered)

    def _arranged(self, ranks: NDArray[np.int32]) -> Ids:
        """In how many orders the ranks may stand."""
        repeated = np.ones(ranks.shape[1], dtype=np.int64)
        run = np.ones(ranks.shape[1], dtype=np.int64)
        for place in range(1, self.aggregates):
            run = np.where(ranks[place] == ranks[place - 1], run + 1, 1)
            repeated *= run
        return self.arrangements // repeated


@dataclass(frozen=True)
class _Found:
    """Representatives: their ranks, one row an aggregate, and the sizes of their orbits."""

    ranks: NDArray[np.int32]
    orbits: Ids
