"""Swim lanes: a run as a picture, one lane for each actor, time downwards, the row beside it.

A picture is read from the top. On the left is the clock; then comes a lane for each actor, in the order in which they
first act; on the right stands the row as each step leaves it, its status first. A value that a step changed is set off;
an instant that the clock has reached is marked, for ``<= now`` is over and due everywhere in the contract. In an
actor's box, below the name of the transition, stand the arguments and what the actor remembers after the step.

The rows shown are those of entities with statuses (the root, where there are none): for each step that of the entity
which the operation is about, and below it each further one that the step changed.

Which fields are shown is worked out from the contract: those that the guards of most operations read, and those that
matter to the point of the picture (``Focus``).

A step that the whole contract does not allow, or not so, is marked with the reason: that is how a run of a mutant, in
which one guard is dropped, shows where the guard would have stopped it.

The picture is an SVG element without scripts. Its colours come from the style sheet of the page, for light and dark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from fencepost_model.contract import Contract, transition_name
from fencepost_model.semantics import Accepted, Call, Refused, Row, Semantics, State
from fencepost_model.shapes import Machine, Sort, Variable
from fencepost_model.terms import FieldOf, TruthTerm, Value, walk_in_scope
from fencepost_verification.documents.templating import template
from fencepost_verification.evidence import Move, Step, Taken, Tick, Trace

USUAL_FIELDS, MOST_FIELDS = 3, 5

Place: TypeAlias = tuple[int, int]
"""An entity: the number of its aggregate and its slot there."""

# Sizes in pixels. A character of the small type is at most so wide that a word of capitals fits.
CLOCK, LANE, GAP, HEAD = 52, 96, 18, 46
ROW, TICK_ROW, LINE = 30, 22, 13
LARGE, SMALL = 6.7, 5.7
LONGEST = 20


@dataclass(frozen=True)
class Focus:
    """What a picture is to show: terms whose fields matter, and the variables that they speak of."""

    terms: tuple[TruthTerm, ...]
    over: tuple[Variable, ...]

    def fields(self, machine: str) -> Iterator[str]:
        """The fields of a machine that the terms read."""
        machines = {variable.name: variable.machine for variable in self.over}
        for term in self.terms:
            # A set has no order of its own; pages must not differ from run to run.
            yield from sorted(name for owner, name in _reads(term, machines) if owner == machine)


@dataclass(frozen=True, slots=True)
class Lane:
    """An actor's lane: its name, what is fixed about it, and where it stands."""

    name: str
    about: str
    left: float
    width: float

    @property
    def middle(self) -> float:
        """Where its line runs."""
        return self.left + self.width / 2


@dataclass(frozen=True, slots=True)
class Column:
    """A field shown on the right; its name in one or two lines, and where it stands."""

    name: str
    lines: tuple[str, ...]
    middle: float


@dataclass(frozen=True, slots=True)
class Cell:
    """The value of a field after a step."""

    text: str
    full: str
    middle: float
    changed: bool
    past: bool


@dataclass(frozen=True, slots=True)
class Line:
    """A line within an actor's box, short and in full."""

    text: str
    full: str


@dataclass(frozen=True, slots=True)
class Beat:
    """One line of the picture: a step, or time that passes, or (without a lane) the row as it was found."""

    top: float
    height: float
    time: str
    lane: Lane | None
    operation: str
    case: str
    details: tuple[Line, ...]
    status: str
    is_terminal: bool
    cells: tuple[Cell, ...]
    refused: str = ""
    forbidden: str = ""

    @property
    def middle(self) -> float:
        """Where its arrow runs."""
        return self.top + self.height / 2


@dataclass(frozen=True, slots=True)
class Picture:
    """Everything that the template draws."""

    title: str
    width: float
    height: float
    lanes: tuple[Lane, ...]
    columns: tuple[Column, ...]
    beats: tuple[Beat, ...]
    table_left: float
    status_width: float
    note: str
    nothing: str
    """what stands for a row that does not exist"""


def swimlane(trace: Trace, contract: Contract, title: str, focus: Focus | None = None, note: str = "") -> str:
    """A run as an SVG element.

    ``contract`` is the whole one, even where the run is one of a mutant; ``title`` names the picture for those who
    cannot see it; ``note`` is set below the last step.
    """
    picture = _Drawing(trace, contract, focus or Focus((), ())).picture(title, note)
    return template("swimlane.svg.j2").render(picture=picture, head=HEAD, clock=CLOCK).strip() + "\n"


def _reads(term: TruthTerm, machines: Mapping[str, str]) -> set[tuple[str, str]]:
    """The fields that a term reads, each by its machine and name."""
    return {
        (bound[part.entity], part.name)
        for part, bound in walk_in_scope(term, machines)
        if isinstance(part, FieldOf) and part.entity in bound
    }


def machines_shown(contract: Contract) -> tuple[Machine, ...]:
    """The machines whose rows a picture shows: those with statuses, or the root where there are none."""
    return tuple(machine for machine in contract.machines if machine.statuses) or (contract.root,)


def usual_fields(contract: Contract) -> tuple[str, ...]:
    """The fields of the rows shown that the guards of most operations read, their statuses apart."""
    counts: Counter[str] = Counter()
    names = {machine.name for machine in machines_shown(contract)}
    for operation in contract.operations:
        machines = {variable.name: variable.machine for variable in operation.over}
        read = {field for guard in operation.guards for field in _reads(guard.term, machines)}
        counts.update({name for machine, name in read if machine in names and name != "status"})
    order = _order(contract)
    ranked = sorted(counts, key=lambda name: (-counts[name], order[name]))
    return tuple(sorted(ranked[:USUAL_FIELDS], key=lambda name: order[name]))


def _order(contract: Contract) -> dict[str, int]:
    """The place of each field name among those of the rows shown."""
    names = dict.fromkeys(field.name for machine in machines_shown(contract) for field in machine.fields)
    return {name: number for number, name in enumerate(names)}


def shown(value: Value) -> str:
    """A value as a picture shows it."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _call_of(move: Move) -> Call | None:
    match move:
        case Call():
            return move
        case Taken(call):
            return call
        case Tick():
            return None


class _Drawing:
    """Works out where everything stands."""

    def __init__(self, trace: Trace, contract: Contract, focus: Focus) -> None:
        self._trace = trace
        self._contract = contract
        self._population = trace.semantics.population
        self._whole = Semantics(contract, self._population, trace.semantics.settings)
        self._machines = {machine.name: machine for machine in machines_shown(contract)}
        self._slots = [slot.index for slot in self._population.slots if slot.machine in self._machines]
        self._lanes = self._make_lanes()
        self._fields = self._fields_shown(focus)
        self._several = len(self._places()) > 1
        right = max((lane.left + lane.width for lane in self._lanes.values()), default=float(CLOCK))
        self._table_left = right + GAP + 14
        used = {self._status(state, place) for state in self._states() for place in self._places()}
        self._status_width = max(len(word) for word in (*used, "status", *self._machines)) * LARGE + 22
        self._columns = self._make_columns()

    def picture(self, title: str, note: str) -> Picture:
        """The whole picture."""
        beats = tuple(self._beats())
        last = beats[-1].top + beats[-1].height if beats else float(HEAD)
        edge = max((column.middle + _column_width(column.name) / 2 for column in self._columns), default=0.0)
        width = max(edge, self._table_left + self._status_width, len(note) * LARGE) + 8
        return Picture(
            title,
            width,
            last + 12 + (24 if note else 0),
            tuple(self._lanes.values()),
            self._columns,
            beats,
            self._table_left,
            self._status_width,
            note,
            f"no {next(iter(self._machines))}" if len(self._machines) == 1 else "not there",
        )

    # -- what is shown -------------------------------------------------------------------------------------------------

    def _states(self) -> Iterator[State]:
        yield self._trace.start
        for step in self._trace.steps:
            yield step.after

    def _places(self) -> list[Place]:
        return [(aggregate, slot) for aggregate in range(self._population.aggregates) for slot in self._slots]

    def _place(self, call: Call) -> Place:
        """The entity whose row is shown for a call: the one that the operation is about, or what stands in for it."""
        operation = self._contract.operation(call.operation)
        about = (operation.subject, *operation.over)
        slots = [call.binding[v.name] for v in about if v.machine in self._machines]
        return call.aggregate, slots[0] if slots else self._slots[0]

    def _machine(self, place: Place) -> Machine:
        return self._machines[self._population.slots[place[1]].machine]

    def _status(self, state: State, place: Place) -> str:
        aggregate, slot = place
        value = state.rows[aggregate][slot].get("status")
        return "" if value is None else str(value)

    def _fields_shown(self, focus: Focus) -> tuple[str, ...]:
        order = _order(self._contract)
        focused = (name for machine in self._machines for name in focus.fields(machine))
        wanted = dict.fromkeys((*focused, *usual_fields(self._contract)))
        ever = {
            name
            for state in self._states()
            for rows in state.rows
            for slot in self._slots
            for name, value in rows[slot].items()
            if value is not None and name != "status"
        }
        chosen = [name for name in wanted if name in ever][:MOST_FIELDS]
        return tuple(sorted(chosen, key=lambda name: order[name]))

    def _member(self, call: Call) -> int | None:
        """The slot of the member that acts in a call, where one does."""
        operation = self._contract.operation(call.operation)
        actors = (v for v in operation.over if v.of is not None and v.machine not in self._machines)
        return next((call.binding[variable.name] for variable in actors), None)

    def _remembered(self, row: Row, machine: str) -> Iterator[str]:
        """What a member remembers; where that is a single value, under the member's own name."""
        fields = [field for field in self._contract.machine(machine).fields if not field.fixed]
        for field in fields:
            if row[field.name] is not None:
                yield f"{machine if len(fields) == 1 else field.name} {shown(row[field.name])}"

    def _details(self, step: Step, call: Call) -> tuple[str, ...]:
        given = [
            f"{parameter.name} {shown(call.params[parameter.name])}"
            for parameter in self._contract.operation(call.operation).parameters
            if call.params.get(parameter.name) is not None
        ]
        member = self._member(call)
        if member is not None:
            slot = self._population.slots[member]
            given.extend(self._remembered(step.after.rows[call.aggregate][member], slot.machine))
        return tuple(given)

    # -- where it stands -----------------------------------------------------------------------------------------------

    def _make_lanes(self) -> dict[str, Lane]:
        widths: dict[str, float] = {}
        about: dict[str, str] = {}
        for step in self._trace.steps:
            call = _call_of(step.move)
            if call is None:
                continue
            details = [_shortened(text, LONGEST) for text in self._details(step, call)]
            texts = [step.actor, *details, _refusal(step), self._forbidden(step, call)]
            wide = max(len(step.transition) * LARGE, *(len(text) * SMALL for text in texts)) + 22
            widths[step.actor] = max(widths.get(step.actor, float(LANE)), wide)
            member = self._member(call)
            if member is not None:
                fixed = self._population.slots[member].fixed
                about[step.actor] = ", ".join(f"{name} {shown(value)}" for name, value in fixed.items())
        lanes: dict[str, Lane] = {}
        left = float(CLOCK)
        for name, width in widths.items():
            lanes[name] = Lane(name, about.get(name, ""), left, width)
            left += width + GAP
        return lanes

    def _make_columns(self) -> tuple[Column, ...]:
        columns: list[Column] = []
        left = self._table_left + self._status_width + 6
        which = () if not self._several else ("no.",) if len(self._slots) == 1 else ("which",)
        for name in (*which, *self._fields):
            width = _column_width(name)
            columns.append(Column(name, _two_lines(name), left + width / 2))
            left += width
        return tuple(columns)

    def _which(self, place: Place) -> str:
        """How a row is told from the others."""
        aggregate, slot = place
        if len(self._slots) == 1:
            return str(aggregate + 1)
        label = self._population.slots[slot].label
        return f"{label}.{aggregate + 1}" if self._population.aggregates > 1 else label

    def _cells(self, state: State, before: State | None, place: Place) -> tuple[Cell, ...]:
        cells: list[Cell] = []
        aggregate, slot = place
        sorts = {field.name: field.sort for field in self._machine(place).fields}
        for column in self._columns:
            if column.name in ("no.", "which"):
                told = self._which(place)
                cells.append(Cell(_shortened(told, 11), told, column.middle, False, False))
                continue
            if column.name not in sorts:
                continue
            value = state.rows[aggregate][slot][column.name]
            instant = sorts[column.name] is Sort.INSTANT
            past = instant and isinstance(value, int | float) and value <= state.now
            changed = before is not None and before.rows[aggregate][slot][column.name] != value
            full = shown(value)
            cells.append(Cell(_shortened(full, 11), full, column.middle, changed, past))
        return tuple(cells)

    def _beats(self) -> Iterator[Beat]:
        top = float(HEAD)
        start = self._trace.start
        told_time = shown(start.now)
        for place in self._places():
            if self._status(start, place):
                yield self._beat(top, ROW, told_time, None, "found so", (), start, None, place)
                top += ROW
                told_time = ""
        passed: float | int = 0
        steps = self._trace.steps
        for number, step in enumerate(steps):
            call = _call_of(step.move)
            if call is None:
                passed += step.after.now - step.before.now
                if number + 1 < len(steps) and _call_of(steps[number + 1].move) is None:
                    continue
                place = self._place_near(number)
                text = f"{shown(passed)} s {'passes' if passed == 1 else 'pass'}"
                cells = self._beat(top, TICK_ROW, shown(step.after.now), None, text, (), step.after, None, place)
                yield cells
                top += TICK_ROW
                passed, told_time = 0, ""
                continue
            details = tuple(Line(_shortened(text, LONGEST), text) for text in self._details(step, call))
            height = ROW + LINE * len(details) + (LINE if step.refused else 0)
            forbidden = self._forbidden(step, call)
            height += LINE if forbidden else 0
            place = self._place(call)
            yield self._beat(top + 4, height, told_time, step, "", details, step.after, step.before, place, forbidden)
            top += height + 8
            told_time = ""
            for other in self._places():
                aggregate, slot = other
                if other != place and step.before.rows[aggregate][slot] != step.after.rows[aggregate][slot]:
                    yield self._beat(top, TICK_ROW, "", None, "and", (), step.after, step.before, other)
                    top += TICK_ROW

    def _beat(
        self,
        top: float,
        height: float,
        time: str,
        step: Step | None,
        text: str,
        details: tuple[Line, ...],
        state: State,
        before: State | None,
        place: Place,
        forbidden: str = "",
    ) -> Beat:
        operation, _, case = (step.transition if step else text).partition("/")
        status = self._status(state, place)
        exists = bool(status) or not self._machine(place).statuses
        return Beat(
            top,
            height,
            time,
            self._lanes[step.actor] if step else None,
            operation,
            case,
            details,
            status,
            status in self._machine(place).terminal,
            self._cells(state, before, place) if exists else (),
            _refusal(step) if step else "",
            forbidden,
        )

    def _place_near(self, number: int) -> Place:
        """What the last step before was about, whose row is shown while time passes."""
        for step in reversed(self._trace.steps[:number]):
            call = _call_of(step.move)
            if call is not None:
                return self._place(call)
        return self._places()[0]

    def _forbidden(self, step: Step, call: Call) -> str:
        """Why the whole contract does not allow a step, or not so; empty when it does."""
        if step.refused:
            return ""
        match self._whole.attempt(step.before, call):
            case Refused(guards):
                return f"forbidden: {', '.join(sorted(guards))}"
            case Accepted(case):
                name = transition_name(self._contract.operation(call.operation), case)
                return "" if name == step.transition else f"instead of {name}"


def _refusal(step: Step) -> str:
    return f"refused: {', '.join(sorted(step.refused))}" if step.refused else ""


def _column_width(name: str) -> float:
    return max(50.0, max(len(line) for line in _two_lines(name)) * SMALL + 12)


def _two_lines(name: str) -> tuple[str, ...]:
    """A field's name in two lines about as long as each other, broken after an underscore."""
    if len(name) <= 9 or "_" not in name:
        return (name,)
    breaks = [index + 1 for index, letter in enumerate(name) if letter == "_"]
    best = min(breaks, key=lambda index: abs(len(name) - 2 * index))
    return (name[:best], name[best:])


def _shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
