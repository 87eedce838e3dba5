"""Short runs that show each operation at work: its cases, then its refusals, found by walking a small world.

The walk is breadth first and by plain evaluation, so every run is a shortest one *among those walked*. It does not
visit every state of the world: of the states that look alike from afar it goes on from the first only, and it ends when
``QUIET_LEVELS`` levels have shown nothing new. Two states look alike when the fields that guards and conditions read
have the same words, the same nulls, instants equally far from the clock and the same counts as far as the settings
reach, whichever entity of a kind it is that has them. That is enough to find a run for each case and for most refusals,
and it proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fencepost_model.contract import transition_name
from fencepost_model.semantics import Accepted, Call, Population, Semantics, State, conditions
from fencepost_model.shapes import Operation, Selection, Sort
from fencepost_model.terms import Bare, Value, fields_read, holds, value_of
from fencepost_model.worlds import World
from fencepost_verification.documents.evidence_input import SampleRun
from fencepost_verification.evidence import Move, Tick, replayed

RUNS_PER_OPERATION = 5
QUIET_LEVELS = 2
EARLY = 1500
"""Refusals are looked for in so many places from the start; a run to a later one would be long."""


@dataclass(frozen=True)
class _Place:
    """A state on the way, with the move that led to it, what that move was called, and the place it came from."""

    state: State
    move: Move | None = None
    transition: str | None = None
    parent: _Place | None = None

    def moves(self) -> list[Move]:
        """The moves from the start to here."""
        return [] if self.parent is None or self.move is None else [*self.parent.moves(), self.move]

    def start(self) -> State:
        """The initial state of the run."""
        return self.state if self.parent is None else self.parent.start()

    def last_transition(self) -> str | None:
        """The last thing that was done on the way, time passing apart."""
        if self.transition is not None or self.parent is None:
            return self.transition
        return self.parent.last_transition()


@dataclass(frozen=True)
class _Ending:
    """A call at a place, and what to call the run that ends with it."""

    name: str
    place: _Place
    call: Call


def sample_runs(world: World, count: int = RUNS_PER_OPERATION) -> dict[str, tuple[SampleRun, ...]]:
    """For each operation of a world some short runs that end in it, each with a name of its own.

    First comes a run for each case, then refusals, one for each guard that alone refuses, then other ways to a case, up
    to ``count`` or one more than there are cases. An operation that cannot be called has no runs.
    """
    population = Population(world.population.root, 1)
    semantics = Semantics(world.contract, population, world.profile())
    search = _Search(world, semantics, count)
    search.walk()
    shown: dict[str, tuple[SampleRun, ...]] = {}
    for operation in world.operations():
        shown[operation.name] = tuple(
            SampleRun(
                ending.name,
                replayed(semantics, ending.place.start(), [*ending.place.moves(), ending.call], may_be_refused=True),
            )
            for ending in search.chosen(operation)
        )
    return shown


class _Search:
    """A walk through a world that keeps, for each operation, the first place from which each outcome follows."""

    def __init__(self, world: World, semantics: Semantics, count: int) -> None:
        self._world = world
        self._semantics = semantics
        self._count = count
        small = [v for v in semantics.settings.values() if isinstance(v, int) and not isinstance(v, bool) and v < 10]
        self._far = 1 + max(small, default=2)
        self._places = 0
        self._read = {
            (variable.machine, field.name)
            for operation in world.operations()
            for variable in operation.over
            for _, guard in conditions(operation)
            for field in fields_read(guard.term)
            if field.entity == variable.name
        }
        self._offers = [
            (operation, binding, arguments)
            for operation in world.operations()
            for arguments in world.argument_sets(operation)
            for binding in semantics.population.bindings(operation.over)
        ]
        # Of the ways to one case, those that come from different transitions; of refusals, one a guard.
        self._cases: dict[tuple[str, str], dict[str | None, _Ending]] = {}
        self._refusals: dict[tuple[str, str], _Ending] = {}

    def walk(self) -> None:
        """Go through places in the order of their distance from the start."""
        # A run that begins with nothing is easier to follow than one that begins with an old row: those come second.
        seen: set[object] = set()
        for legacy in (False, True) if self._world.legacy else (False,):
            starts = (_Place(state) for state in self._semantics.initial(legacy=legacy))
            frontier = [new for start in starts for new in self._new(start, seen)]
            quiet, self._places = 0, 0
            while frontier and quiet < QUIET_LEVELS:
                known = len(self._cases) + len(self._refusals)
                frontier = [place for here in frontier for place in self._from(here, seen)]
                quiet = quiet + 1 if known == len(self._cases) + len(self._refusals) else 0

    def chosen(self, operation: Operation) -> list[_Ending]:
        """The runs to show of an operation."""
        ways = [list(self._cases.get((operation.name, case.name), {}).values()) for case in operation.cases]
        firsts = [found[0] for found in ways if found]
        others = [ending for found in ways for ending in found[1:]]
        refusals = [
            self._refusals[operation.name, guard.name]
            for guard in operation.guards
            if (operation.name, guard.name) in self._refusals
        ]
        most = max(self._count, len(operation.cases) + 1)
        return [*firsts, *refusals, *others][:most]

    def _from(self, here: _Place, seen: set[object]) -> Iterator[_Place]:
        self._places += 1
        for operation, call in self._calls(here.state):
            scope = self._semantics.scope(here.state, call.aggregate, call.binding, call.params)
            if all(holds(guard.term, scope) for guard in operation.guards):
                outcome = self._semantics.attempt(here.state, call)
                assert isinstance(outcome, Accepted)
                transition = transition_name(operation, outcome.case)
                self._note_case(here, call, outcome.case.name, transition)
                yield from self._new(_Place(outcome.state, call, transition, here), seen)
            elif self._places <= EARLY:
                guards = self._semantics.false_guards(here.state, call)
                if len(guards) == 1 and self._is_telling(here.state, call, operation):
                    self._note_refusal(here, call, operation, *guards)
        if here.state.now + self._world.tick <= self._world.horizon:
            later = self._semantics.advance(here.state, self._world.tick)
            yield from self._new(_Place(later, Tick(self._world.tick), None, here), seen)

    def _new(self, place: _Place, seen: set[object]) -> Iterator[_Place]:
        look = self._look(place.state)
        if look not in seen:
            seen.add(look)
            yield place

    def _note_case(self, here: _Place, call: Call, case: str, transition: str) -> None:
        ways = self._cases.setdefault((call.operation, case), {})
        before = here.last_transition()
        name = transition if not ways else f"{transition} after {before or 'nothing'}"
        ways.setdefault(before, _Ending(name, here, call))

    def _note_refusal(self, here: _Place, call: Call, operation: Operation, guard: str) -> None:
        told = "refused" if operation.selection is Selection.NAMED else "finds nothing"
        self._refusals.setdefault((operation.name, guard), _Ending(f"{operation.name} {told}: {guard}", here, call))

    def _is_telling(self, state: State, call: Call, operation: Operation) -> bool:
        """Whether a refusal is about something that exists, or was to be created."""
        machine = self._world.contract.machine(operation.subject.machine)
        row = state.rows[call.aggregate][call.binding[operation.subject.name]]
        return machine.created_by == operation.name or not machine.statuses or row["status"] is not None

    def _calls(self, state: State) -> Iterator[tuple[Operation, Call]]:
        """Every call that the world offers in a state, with its operation."""
        scope = Bare({}, state.now, settings=self._semantics.settings)
        for operation, binding, arguments in self._offers:
            params: dict[str, Value] = {name: value_of(term, scope) for name, term in arguments.items()}
            yield operation, Call(operation.name, 0, binding, params)

    def _look(self, state: State) -> object:
        """What a state looks like from afar."""
        rows = state.rows[0]
        looks: list[tuple[object, ...]] = []
        for slot, row in zip(self._semantics.population.slots, rows, strict=True):
            look: list[object] = [slot.machine]
            for field in self._semantics.contract.machine(slot.machine).fields:
                if (slot.machine, field.name) not in self._read:
                    continue
                value = row[field.name]
                if isinstance(value, bool) or not isinstance(value, int | float):
                    look.append(value)
                elif field.sort is Sort.INSTANT:
                    look.append(max(-1, min(value - state.now, self._far)))
                elif field.sort is Sort.IDENTITY:
                    look.append("set")
                elif slot.parent >= 0:
                    look.append("as its root's" if value == rows[0].get(field.name) else "set")
                else:
                    look.append(min(value, self._far))
            looks.append(tuple(look))
        return tuple(sorted(looks, key=repr))
