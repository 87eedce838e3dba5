"""The records of which a contract is made: fields, statuses, guards, operations, invariants, machines.

All of them are data. A contract says *what* may happen; nothing here runs, and no bound of any test stands here
(bounds live in worlds, see ``fencepost_model.worlds``).

* A **machine** describes one kind of entity: its fields, its statuses and, for each status, the literal row of the
  operations that may act on it. What is not in the row is forbidden; an empty row is written, not left out.
* Machines form **aggregates**: a machine may belong to another one (a token to its job). An operation touches one
  aggregate, a root entity with what belongs to it, because that is what one transaction changes. Two things that
  must change together belong under one root.
* An **operation** is a conjunction of named guards and a set of cases that exclude each other. A call whose guards
  hold takes the one case whose conditions hold; a call with a false guard changes nothing and is refused, and the
  refusal names every false guard.
* **Invariants** speak of states, **step properties** of steps, **witnesses** of states that must be reachable, so that
  no invariant holds merely because nothing happens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from fencepost_model.terms import AllOf, FieldOf, Not, TruthTerm, Value, ValueTerm


class Sort(Enum):
    """What kind of values a field, parameter or setting takes."""

    WORD = "word"
    """one of a fixed list of words"""
    COUNT = "count"
    """a whole number, not negative"""
    INSTANT = "instant"
    """a moment, in seconds, UTC"""
    DURATION = "duration"
    """a length of time, in seconds"""
    IDENTITY = "identity"
    """who or which: compared for equality only"""
    TEXT = "text"
    """free text, compared for equality only"""
    FLAG = "flag"
    """true or false"""


class Actor(Enum):
    """Who takes a step."""

    CLIENT = "client"
    """submits jobs and asks for their cancellation"""
    CLAIMER = "claimer"
    """a worker that asks for work"""
    HOLDER = "holder"
    """a worker that acts under a token it got from a claim"""
    SYSTEM = "system"
    """recovery and expiry, run by any live component"""
    CLOCK = "clock"
    """time passes"""


class Selection(Enum):
    """How an operation finds the entity it acts on."""

    NAMED = "named"
    """the caller names it; a false guard is answered by a refusal"""
    SWEEP = "sweep"
    """the store looks for entities whose guards hold; none is answered by an empty list"""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a machine.

    ``nullable`` speaks of rows that exist: a row that does not exist yet has every field null. ``ghost`` fields exist
    in the model only, to state an obligation; no implementation stores them. ``extension`` marks names that are not
    among the fifteen of the vocabulary.
    """

    name: str
    sort: Sort
    meaning: str
    nullable: bool = True
    words: tuple[str, ...] = ()
    ghost: bool = False
    extension: bool = False
    fixed: bool = False
    """never changes while the entity exists; given by the world"""


@dataclass(frozen=True, slots=True)
class Status:
    """One status of a machine; ``terminal`` is declared here and then checked, never inferred."""

    name: str
    meaning: str
    terminal: bool = False


@dataclass(frozen=True, slots=True)
class Guard:
    """One named conjunct. ``why`` says what it is for; ``clause`` cites the contract."""

    name: str
    term: TruthTerm
    clause: str
    why: str


@dataclass(frozen=True, slots=True)
class Assignment:
    """The value that a step gives to one field; fields without one stay as they are."""

    field: FieldOf
    value: ValueTerm


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable that stands for an entity of ``machine``, belonging to the entity that ``of`` stands for."""

    name: str
    machine: str
    of: str | None = None


@dataclass(frozen=True, slots=True)
class ForEach:
    """What a case changes on *every* entity of a kind for which ``where`` holds: one UPDATE over many rows.

    ``over`` goes from a member of one of the operation's entities down to the entity that is changed, each variable
    belonging to the one before it; the first names in ``of`` a variable of the operation. ``where`` and the values are
    read in the state in which the step begins; ``effect`` assigns fields of the last variable only.
    """

    over: tuple[Variable, ...]
    where: TruthTerm
    effect: tuple[Assignment, ...]
    meaning: str

    @property
    def subject(self) -> Variable:
        """The variable that stands for the entities changed."""
        return self.over[-1]


@dataclass(frozen=True, slots=True)
class Case:
    """One outcome of an operation: the conditions under which it is taken, and what it changes.

    ``effect`` changes the operation's own entities, ``also`` whole sets of what belongs to them.
    """

    name: str
    when: tuple[Guard, ...]
    effect: tuple[Assignment, ...]
    meaning: str
    also: tuple[ForEach, ...] = ()


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument of an operation.

    ``chosen_by`` tells whether the caller gives it or the store picks it (a back-off). ``assumed`` is what a
    well-formed call guarantees about it, without which the call is malformed and not merely refused.
    """

    name: str
    sort: Sort
    meaning: str
    nullable: bool = False
    words: tuple[str, ...] = ()
    chosen_by: str = "caller"
    assumed: TruthTerm | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of the contract: who may call it, on what, under which guards, with which outcomes."""

    name: str
    actor: Actor
    selection: Selection
    over: tuple[Variable, ...]
    guards: tuple[Guard, ...]
    cases: tuple[Case, ...]
    clause: str
    meaning: str
    parameters: tuple[Parameter, ...] = ()
    acts_on: str = ""
    """the name of the variable that the operation is about; the first one, unless another is named"""

    @property
    def subject(self) -> Variable:
        """The variable that the operation is about: its machine's table lists the operation."""
        for variable in self.over:
            if variable.name == self.acts_on:
                return variable
        return self.over[0]


@dataclass(frozen=True, slots=True)
class Invariant:
    """A statement that holds in every reachable state, for all entities that its variables may stand for.

    Two variables over the same machine stand for different entities.
    """

    name: str
    clause: str
    over: tuple[Variable, ...]
    statement: TruthTerm
    meaning: str


@dataclass(frozen=True, slots=True)
class StepProperty:
    """A statement that holds of every step; ``by`` restricts it to steps of one actor, ``of`` to one operation.

    The variables of a restricted property stand for the step's own entities, by name; those of one without restriction
    for any entities of the aggregate. A property of one operation may read that operation's arguments.
    """

    name: str
    clause: str
    over: tuple[Variable, ...]
    statement: TruthTerm
    meaning: str
    by: Actor | None = None
    of: str | None = None

    @property
    def restricted(self) -> bool:
        """Whether it speaks of some steps only, and then of their own entities."""
        return self.by is not None or self.of is not None

    def speaks_of(self, operation: Operation) -> bool:
        """Whether it says something about the steps of an operation."""
        return self.by in (None, operation.actor) and self.of in (None, operation.name)


@dataclass(frozen=True, slots=True)
class Witness:
    """A state that must be reachable, else the invariant it stands beside says nothing."""

    name: str
    clause: str
    over: tuple[Variable, ...]
    statement: TruthTerm
    meaning: str


@dataclass(frozen=True, slots=True)
class Progress:
    """From every state in which ``live`` holds one of the ``bound`` operations is enabled: now, or at a later moment.

    With ``at_once`` it must be enabled now: the statement says that the machine is *receptive* to an event that can
    happen in such a state.
    """

    name: str
    clause: str
    over: tuple[Variable, ...]
    live: TruthTerm
    bound: tuple[str, ...]
    meaning: str
    at_once: bool = False


@dataclass(frozen=True, slots=True)
class Descent:
    """One component of a measure: the number ``limit + falling - rising``, which must not be negative."""

    falling: ValueTerm
    rising: ValueTerm
    limit: ValueTerm


@dataclass(frozen=True, slots=True)
class Measure:
    """What every step of the named operations makes smaller, so that they cannot go on for ever by themselves.

    The ``parts`` are compared in order, the first one that changes decides. ``by`` lists the operations that must
    lower it. What is left out (a renewal, say) may go round for ever; ``meaning`` says why that is meant.
    ``fencepost_model.measures`` turns a measure into the statements that a contract carries.
    """

    name: str
    clause: str
    over: tuple[Variable, ...]
    parts: tuple[Descent, ...]
    by: tuple[str, ...]
    meaning: str


@dataclass(frozen=True, slots=True)
class LegacyRow:
    """A row that some older program wrote: fields not listed are null."""

    name: str
    fields: Mapping[str, Value]
    meaning: str


@dataclass(frozen=True, slots=True)
class SettingShape:
    """A setting of the profile, with the sort of its value."""

    name: str
    sort: Sort
    meaning: str
    default: Value


@dataclass(frozen=True, slots=True)
class Machine:
    """One kind of entity. ``table`` maps each status to the operations that may act on an entity in it.

    The rows of terminal statuses are empty there. ``revivals`` is a table apart: it maps a terminal status to the
    operations by which somebody takes an entity out of it all the same (a retry by hand, a reset).
    """

    name: str
    meaning: str
    fields: tuple[Field, ...]
    statuses: tuple[Status, ...] = ()
    table: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    revivals: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    created_by: str | None = None
    belongs_to: str | None = None
    legacy: TruthTerm | None = None
    legacy_rows: tuple[LegacyRow, ...] = ()

    def field_named(self, name: str) -> Field:
        """The field of that name; raises ``KeyError`` when there is none."""
        for candidate in self.fields:
            if candidate.name == name:
                return candidate
        raise KeyError(name)

    def acting_on(self, status: str) -> tuple[str, ...]:
        """The operations that may act on an entity in a status: its row in the table, then its revivals."""
        return (*self.table.get(status, ()), *self.revivals.get(status, ()))

    @property
    def terminal(self) -> tuple[str, ...]:
        """The names of the terminal statuses."""
        return tuple(status.name for status in self.statuses if status.terminal)

    @property
    def live(self) -> tuple[str, ...]:
        """The names of the statuses that are not terminal."""
        return tuple(status.name for status in self.statuses if not status.terminal)


def in_order(*cases: Case) -> tuple[Case, ...]:
    """Cases that are tried in the order given: each gets the negations of the earlier ones as further conditions.

    An earlier case with a single condition contributes that condition's negation under its own name (``not_NAME``);
    one with several contributes the negation of their conjunction.
    """
    ordered: list[Case] = []
    earlier: list[Guard] = []
    for case in cases:
        ordered.append(replace(case, when=(*earlier, *case.when)))
        if not case.when:
            continue
        if len(case.when) == 1:
            only = case.when[0]
            earlier.append(Guard(f"not_{only.name}", Not(only.term), only.clause, f"comes after {case.name}"))
        else:
            joined = AllOf(tuple(guard.term for guard in case.when))
            earlier.append(Guard(f"not_{case.name}", Not(joined), case.when[0].clause, f"comes after {case.name}"))
    return tuple(ordered)
