"""What the guards of a contract can tell apart, and every call that is worth making: the vocabulary of coverage.

Theory
======
A contract reads a row and the clock only through the *atoms* of its guards and conditions: comparisons of two values,
null tests, flags. Two states in which all atoms that matter turn out alike cannot be told apart by the contract, so a
tour that has been in one has been in the other. Hence

* the **situation** of a state: the status, whether the row is an older program's, and for each atom that an operation
  of this status (by the machine's table) reads about row and clock: less, equal, greater or null for a comparison, true
  or false for anything else. Atoms of a terminal status: none, its row of the table is empty.
* a **probe**: an operation with a *kind of token* and a *kind of arguments*. Arguments are the terms that the world
  offers (``now + 1``), so they mean the same in every state. Kinds of token differ from the right one in one thing:
  the generation before or after, none at all, another worker's name; and the commonest wrong token of the field, a late
  writer of another worker, in two.
* an **edge**: situation, probe, signs of the comparisons that the case's effect makes (which of two instants is
  smaller), transition taken, situation reached. Or the passing of time: situation, situation.
* a **refusal**: situation, probe, and the set of guards that are false. The set is part of it so that in statuses where
  nothing may happen every combination of reasons is met, a single one above all.

Which probes are made. With the right token, and for calls without one: every set of arguments that the world offers; a
set that is wrong in itself only where nothing else refuses the call, for else it says nothing. With a wrong token: one
right set of arguments for each outcome that the right token would have had, since a fence may be missing on one branch
only.

Everything is generic over a contract with one root and at most one token in an operation; nothing here knows a job.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Final, TypeAlias, cast

from fencepost_model.semantics import Call, Row, Semantics, State
from fencepost_model.shapes import Case, Guard, Operation, Selection, Sort
from fencepost_model.terms import (
    AtMost,
    Const,
    Equal,
    FieldOf,
    Holds,
    Larger,
    Less,
    Missing,
    Now,
    OneOf,
    Param,
    Same,
    Scope,
    Smaller,
    Term,
    TruthTerm,
    Value,
    ValueTerm,
    holds,
    value_of,
    walk,
)
from fencepost_model.worlds import World
from fencepost_verification.conformance.protocol import beyond_single_rows

Sign: TypeAlias = str | bool
Situation: TypeAlias = tuple[str | None, bool, tuple[Sign, ...]]
"""The status (None: no row yet), whether the row is a legacy row, and the signs of the atoms of that status."""

Rows: TypeAlias = Mapping[str, Row]
"""The row that each variable of a term stands for."""

NO_ROWS: Final[Rows] = {}
NO_PARAMS: Final[Mapping[str, Value]] = {}


class NotToured(ValueError):
    """The tour cannot read this contract; the message says what it would need."""


# --- atoms ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Atom:
    """A comparison of two values (``right`` given), or a statement that is true or false."""

    term: Term
    left: ValueTerm | None = None
    right: ValueTerm | None = None


def atoms_of(term: Term) -> Iterator[Atom]:
    """The atoms of a term, the comparisons that a choice of the smaller or larger of two makes among them."""
    for part in walk(term):
        match part:
            case (
                Less(left, right)
                | AtMost(left, right)
                | Equal(left, right)
                | Smaller(left, right)
                | Larger(left, right)
            ):
                one, other = sorted((left, right), key=repr)
                yield Atom(Less(one, other), one, other)
            case Missing() | Holds() | OneOf() | Same():
                yield Atom(part)
            case _:
                pass


@dataclass(frozen=True, slots=True)
class _At(Scope):
    """One moment: the rows of the variables before and after, the clock, arguments and settings."""

    rows: Rows
    clock: float | int
    params: Mapping[str, Value]
    settings: Mapping[str, Value]
    ends: Rows

    def field(self, entity: str, name: str, after: bool) -> Value:
        return (self.ends if after else self.rows)[entity][name]

    def now(self) -> float | int:
        return self.clock

    def setting(self, name: str) -> Value:
        return self.settings[name]

    def param(self, name: str) -> Value:
        return self.params[name]

    def each(self, variable: str, machine: str, of: str) -> Sequence[Scope]:
        raise NotToured(f"the tour walks contracts without quantifiers; this one speaks of every {machine} of {of}")


class Reading:
    """One term in one profile, evaluated by the plain reading and remembered by the values that it reads.

    Terms are pure, and small worlds hold few values, so that nearly every evaluation has been made before.
    """

    def __init__(self, term: TruthTerm | Atom, settings: Mapping[str, Value]) -> None:
        self._term = term
        self._settings = settings
        self._known: dict[tuple[Any, ...], Sign] = {}
        reads = _reads(term.term if isinstance(term, Atom) else term)
        by_entity: dict[str, list[str]] = {}
        for kind, what in reads:
            if kind == "field":
                by_entity.setdefault(what[0], []).append(what[1])
        self._fields = tuple((entity, itemgetter(*names)) for entity, names in by_entity.items())
        self._after = tuple(what for kind, what in reads if kind == "after")
        self._params = tuple(what for kind, what in reads if kind == "param")
        self._clock = any(kind == "now" for kind, _ in reads)
        self.entities = frozenset((*by_entity, *(entity for entity, _ in self._after)))
        self.parameters = frozenset(self._params)

    def __call__(
        self, rows: Rows, now: float | int, params: Mapping[str, Value] = NO_PARAMS, ends: Rows = NO_ROWS
    ) -> Sign:
        """How the term turns out: true or false, or the sign of a comparison."""
        key: tuple[Any, ...] = (now if self._clock else None, *[get(rows[entity]) for entity, get in self._fields])
        if self._params:
            key += tuple([params[name] for name in self._params])
        if self._after:
            key += tuple([ends[entity][name] for entity, name in self._after])
        known = self._known.get(key)
        if known is None:
            at = _At(rows, now, params, self._settings, ends)
            known = self._known[key] = (
                _signed(self._term, at) if isinstance(self._term, Atom) else holds(self._term, at)
            )
        return known


def _signed(atom: Atom, at: Scope) -> Sign:
    if atom.left is None or atom.right is None:
        return holds(cast(TruthTerm, atom.term), at)
    one, other = value_of(atom.left, at), value_of(atom.right, at)
    if one is None or other is None:
        return "null"
    if one == other:
        return "equal"
    if isinstance(one, str) or isinstance(other, str):
        return "different"
    return "less" if one < other else "greater"


def _reads(term: Term) -> tuple[tuple[str, Any], ...]:
    """What a term reads beside the settings: fields before and after, the clock, parameters."""
    found: dict[tuple[str, Any], None] = {}
    for part in walk(term):
        match part:
            case FieldOf(entity, name, after):
                found["after" if after else "field", (entity, name)] = None
            case Now():
                found["now", None] = None
            case Param(name):
                found["param", name] = None
            case _:
                pass
    return tuple(found)


# --- probes -----------------------------------------------------------------------------------------------------------

RIGHT: Final = "the holder's token"
BEHIND: Final = "an earlier token of the holder"
AHEAD: Final = "the holder's name with the next generation"
EMPTY: Final = "the holder's name without a generation"
STRANGER: Final = "another worker's name with the current generation"
LATE: Final = "an earlier token of another worker"

Token: TypeAlias = Mapping[str, Value]
"""The fields of a token as a caller presents it."""


@dataclass(frozen=True)
class Probe:
    """An operation with a kind of token (None for operations without one) and the number of its set of arguments."""

    operation: str
    token: str | None
    number: int
    told: str = field(compare=False)
    """The arguments in words"""

    def __str__(self) -> str:
        return f"{self.operation}({self.told})" + (f" with {self.token}" if self.token else "")


def in_words(terms: Mapping[str, ValueTerm]) -> str:
    """A set of arguments in words; nulls are left out."""
    return ", ".join(f"{n}={_spoken(t)}" for n, t in terms.items() if not (isinstance(t, Const) and t.value is None))


def _spoken(term: ValueTerm) -> str:
    match term:
        case Const(value):
            return str(value)
        case Now():
            return "now"
        case _:
            return "+".join(_spoken(part) for part in walk(term) if isinstance(part, Const | Now))


@dataclass(frozen=True)
class Attempt:
    """A probe made concrete in one state: its arguments and the token presented."""

    probe: Probe
    params: Mapping[str, Value]
    token: Token


Edge: TypeAlias = tuple[Situation, Probe | None, tuple[Sign, ...], str, Situation]
"""Situation, probe (None for time), signs of the effect's comparisons, transition, situation reached."""

Refusal: TypeAlias = tuple[Situation, Probe, frozenset[str]]
"""Situation, probe, false guards."""


@dataclass(frozen=True)
class _Truths:
    """How the guards turn out in one state: by number alone, with each kind of token, with each set of arguments."""

    of_row: Mapping[int, Sign]
    of_token: Mapping[tuple[str | None, int], Sign]
    of_arguments: Mapping[tuple[str, int, int], Sign]
    outcomes: Mapping[str, tuple[str, ...]]
    signature: tuple[Any, ...]


@dataclass(frozen=True)
class _Asked:
    """An operation as the lens asks for it: its guards by what they read, its arguments, its cases."""

    operation: Operation
    of_row: tuple[tuple[str, int], ...]
    of_token: tuple[tuple[str, int], ...]
    of_arguments: tuple[tuple[str, int], ...]
    argument_sets: tuple[Mapping[str, ValueTerm], ...]
    fence: tuple[tuple[str, str], ...]
    """Which field of the token the guards hold against which field of the subject."""


class Lens:
    """Sees the states of a world as situations, and knows what to try in each. The subject is the root of aggregate 0.

    Raises ``NotToured`` when the world has more than one aggregate or its contract is about more than single rows, or
    when it lets the store choose among several values.
    """

    def __init__(self, world: World) -> None:
        if world.population.aggregates != 1:
            raise NotToured(f"the tour walks worlds of one {world.contract.root.name}; world {world.name!r} has more")
        for reason in beyond_single_rows(world.contract):
            raise NotToured(f"the tour judges single rows, and cannot judge {world.contract.name!r} yet: {reason}")
        self.world = world
        self.semantics = Semantics(world.contract, world.population, world.profile())
        self.root = world.contract.root.name
        self.operations: dict[str, Operation] = {operation.name: operation for operation in world.operations()}
        self.stored = self._stored()
        self.workers = self._workers()
        self._readings: dict[TruthTerm | Atom, Reading] = {}
        self._atoms = self._atoms_by_status()
        self._effect_atoms = {
            (operation.name, case.name): self._row_readings(assignment.value for assignment in case.effect)
            for operation in self.operations.values()
            for case in operation.cases
        }
        self._cases = {
            operation.name: tuple((case, tuple(self.reading(g.term) for g in case.when)) for case in operation.cases)
            for operation in self.operations.values()
        }
        self._guards: list[Reading] = []
        self._asked = tuple(self._ask(operation) for operation in self.operations.values())
        self._by_name = {asked.operation.name: asked for asked in self._asked}
        self._legacy = None if world.contract.root.legacy is None else self.reading(world.contract.root.legacy)
        self._row_guards = sorted({index for asked in self._asked for _, index in asked.of_row})
        self._token_guards = self._fenced()
        self._plans: dict[tuple[Any, ...], tuple[tuple[Probe, frozenset[str]], ...]] = {}
        self._arguments: dict[tuple[str, int, float | int], Mapping[str, Value]] = {}

    # -- preparing -----------------------------------------------------------------------------------------------------

    def _stored(self) -> dict[str, Value]:
        """The parameters that the store chooses, at the one value that the world gives them."""
        chosen: dict[str, Value] = {}
        for operation in self.operations.values():
            for parameter in operation.parameters:
                if parameter.chosen_by == "store":
                    choices = self.world.choices(operation, parameter.name)
                    if len(choices) != 1 or not isinstance(choices[0], Const):
                        raise NotToured(
                            f"the tour needs one fixed value for {parameter.name!r}, which the store chooses"
                        )
                    chosen[parameter.name] = choices[0].value
        return chosen

    def _workers(self) -> tuple[str, ...]:
        """Names for who claims, at least two: the world's own first."""
        fixed = [value for slot in self.world.population.slots for value in slot.fixed.values()]
        return tuple(dict.fromkeys((*(value for value in fixed if isinstance(value, str)), "w1", "w2")))

    def reading(self, term: TruthTerm | Atom) -> Reading:
        """The one reading of a term under the profile of the world."""
        found = self._readings.get(term)
        if found is None:
            found = self._readings[term] = Reading(term, self.semantics.settings)
        return found

    def _row_readings(self, terms: Iterable[Term]) -> tuple[tuple[Atom, Reading], ...]:
        """The atoms that speak of the subject and the clock alone, and not of the status alone."""
        found: dict[Atom, Reading] = {}
        for term in terms:
            for atom in atoms_of(term):
                reads = _reads(atom.term)
                of_subject = any(kind == "field" and what[0] == self.root for kind, what in reads)
                foreign = any(
                    (kind == "field" and what[0] != self.root) or (kind == "param" and what not in self.stored)
                    for kind, what in reads
                )
                if of_subject and not foreign and reads != (("field", (self.root, "status")),):
                    found[atom] = self.reading(atom)
        return tuple(found.items())

    def _atoms_by_status(self) -> dict[str | None, tuple[tuple[Atom, Reading], ...]]:
        root = self.world.contract.root
        by_status: dict[str | None, tuple[tuple[Atom, Reading], ...]] = {None: ()}
        for status in root.statuses:
            named = [self.operations[name] for name in root.acting_on(status.name) if name in self.operations]
            by_status[status.name] = self._row_readings(
                guard.term for operation in named for guard in conditions_of(operation)
            )
        return by_status

    def _ask(self, operation: Operation) -> _Asked:
        groups: dict[str, list[tuple[str, int]]] = {"row": [], "token": [], "arguments": []}
        fence: dict[tuple[str, str], None] = {}
        for guard in operation.guards:
            reading = self.reading(guard.term)
            if reading.parameters - self.stored.keys():
                kind = "arguments"
            else:
                kind = "row" if reading.entities <= {self.root} else "token"
            if reading not in self._guards:
                self._guards.append(reading)
            groups[kind].append((guard.name, self._guards.index(reading)))
            for part in walk(guard.term):
                match part:
                    case Equal(FieldOf(one, x), FieldOf(other, y)) if {one, other} == _subject_and_token(operation):
                        fence[(y, x) if one == self.root else (x, y)] = None
                    case _:
                        pass
        return _Asked(
            operation,
            tuple(groups["row"]),
            tuple(groups["token"]),
            tuple(groups["arguments"]),
            tuple(self.world.argument_sets(operation)),
            tuple(fence),
        )

    def _fenced(self) -> tuple[tuple[str, Operation, tuple[int, ...]], ...]:
        """The guards that read a token, with the variable of the token and an operation that has it.

        Raises ``NotToured`` when two operations hold tokens against the subject in different ways.
        """
        fenced = [asked for asked in self._asked if asked.of_token]
        if not fenced:
            return ()
        first = fenced[0]
        variable = first.operation.over[1]
        for asked in fenced:
            if asked.fence != first.fence or asked.operation.over[1] != variable:
                raise NotToured(
                    f"{asked.operation.name!r} and {first.operation.name!r} hold tokens against the {self.root} in "
                    "different ways; the tour makes up the same kinds of tokens for all operations"
                )
        indices = sorted({index for asked in fenced for _, index in asked.of_token})
        return ((variable.name, first.operation, tuple(indices)),)

    # -- situations ----------------------------------------------------------------------------------------------------

    def situation(self, state: State) -> Situation:
        """The situation of a state."""
        row = state.rows[0][0]
        status = cast("str | None", row["status"])
        rows = {self.root: row}
        signs = tuple(reading(rows, state.now, self.stored) for _, reading in self._atoms[status])
        old = status is not None and self._legacy is not None and self._legacy(rows, state.now) is True
        return status, old, signs

    def effect_signs(self, state: State, operation: str, case: str) -> tuple[Sign, ...]:
        """How the comparisons in a case's effect turn out in a state."""
        rows = {self.root: state.rows[0][0]}
        return tuple(reading(rows, state.now, self.stored) for _, reading in self._effect_atoms[operation, case])

    # -- tokens --------------------------------------------------------------------------------------------------------

    def tokens(self, operation: Operation, row: Row, issued: Sequence[Token] = ()) -> dict[str | None, Token]:
        """Each kind of token with one of that kind: one really issued before where there is one, else made up.

        ``issued`` are the tokens that claims handed out on this run, the oldest first.
        """
        if len(operation.over) == 1:
            return {None: {}}
        if operation.selection is Selection.SWEEP:
            return {None: self.claiming(operation, self.workers[0])}
        fields = self.world.contract.machine(operation.over[1].machine).fields
        sorts = {f.name: f.sort for f in fields}
        compared = dict(self._by_name[operation.name].fence)
        right: dict[str, Value] = {}
        for name, sort in sorts.items():
            value = row[compared[name]] if name in compared else None
            if value is None and sort is Sort.IDENTITY:
                value = issued[-1][name] if issued else self.workers[0]
            right[name] = 1 if value is None and sort is Sort.COUNT else value
        found: dict[str | None, Token] = {RIGHT: right}
        counts = [name for name in compared if sorts[name] is Sort.COUNT]
        names = [name for name in compared if sorts[name] is Sort.IDENTITY]
        for count in counts:
            current = cast(int, right[count])
            earlier = _latest(issued, count, current, {name: right[name] for name in names}, same=True)
            if current > 0:
                found[BEHIND] = {**right, count: earlier[count] if earlier else current - 1}
            found[AHEAD] = {**right, count: current + 1}
            found[EMPTY] = {**right, count: None}
        for name in names:
            if row[compared[name]] is None:
                continue  # nobody holds it, so any name is as wrong as any other
            other = next(worker for worker in self.workers if worker != row[compared[name]])
            found[STRANGER] = {**right, name: other}
            for count in counts:
                current = cast(int, right[count])
                late = _latest(issued, count, current, {name: right[name]}, same=False)
                if current > 0:
                    found[LATE] = {**right, **(late or {name: other, count: current - 1})}
        return found

    def claiming(self, operation: Operation, worker: str) -> dict[str, Value]:
        """Who a sweep acts for: a token that holds only the worker's name."""
        fields = [f for variable in operation.over[1:] for f in self.world.contract.machine(variable.machine).fields]
        return {f.name: worker if f.fixed and f.sort is Sort.IDENTITY else None for f in fields}

    # -- probes --------------------------------------------------------------------------------------------------------

    def probes(self, state: State) -> tuple[tuple[Probe, frozenset[str]], ...]:
        """Every probe that is worth making in a state, with the guards that are false for it (none: allowed)."""
        truths = self._truths(state)
        known = self._plans.get(truths.signature)
        if known is None:
            known = self._plans[truths.signature] = tuple(self._probed(truths))
        return known

    def _truths(self, state: State) -> _Truths:
        """All that the probes of a state depend on: how each guard turns out, alone or with each token or argument."""
        row, now = state.rows[0][0], state.now
        rows: dict[str, Row] = {self.root: row}
        of_row = {index: self._guards[index](rows, now, self.stored) for index in self._row_guards}
        of_token: dict[tuple[str | None, int], Sign] = {}
        of_arguments: dict[tuple[str, int, int], Sign] = {}
        outcomes: dict[str, tuple[str, ...]] = {}
        for variable, operation, indices in self._token_guards:
            for kind, token in self.tokens(operation, row).items():
                at = {**rows, variable: token}
                for index in indices:
                    of_token[kind, index] = self._guards[index](at, now, self.stored)
        for asked in self._asked:
            name = asked.operation.name
            if asked.of_arguments:
                for number in range(len(asked.argument_sets)):
                    params = self.params(name, number, now)
                    for _, index in asked.of_arguments:
                        of_arguments[name, number, index] = self._guards[index](rows, now, params)
            if len(asked.argument_sets) > 1 and len(asked.operation.cases) > 1:
                outcomes[name] = tuple(
                    self._outcome(name, rows, now, self.params(name, number, now))
                    for number in range(len(asked.argument_sets))
                )
        signature = (
            *of_row.values(),
            *of_token,
            *of_token.values(),
            *of_arguments.values(),
            *outcomes.values(),
        )
        return _Truths(of_row, of_token, of_arguments, outcomes, signature)

    def _outcome(self, operation: str, rows: Rows, now: float | int, params: Mapping[str, Value]) -> str:
        """The case that the right token would be given, by its conditions."""
        for case, readings in self._cases[operation]:
            if all(reading(rows, now, params) for reading in readings):
                return case.name
        return ""

    def _probed(self, truths: _Truths) -> Iterator[tuple[Probe, frozenset[str]]]:
        for asked in self._asked:
            name = asked.operation.name
            of_row = frozenset(guard for guard, index in asked.of_row if not truths.of_row[index])
            numbers = range(len(asked.argument_sets))
            wrong = [
                frozenset(guard for guard, index in asked.of_arguments if not truths.of_arguments[name, number, index])
                for number in numbers
            ]
            kinds = list(dict.fromkeys(kind for kind, _ in truths.of_token)) if asked.of_token else [None]
            for kind in kinds:
                others = of_row | {guard for guard, index in asked.of_token if not truths.of_token[kind, index]}
                met: set[str] = set()
                for number in numbers:
                    if wrong[number] and others:
                        continue
                    if kind not in (None, RIGHT):
                        would_be = "" if of_row or name not in truths.outcomes else truths.outcomes[name][number]
                        if would_be in met:
                            continue
                        met.add(would_be)
                    yield Probe(name, kind, number, in_words(asked.argument_sets[number])), others | wrong[number]

    def params(self, operation: str, number: int, now: float | int) -> Mapping[str, Value]:
        """A set of arguments at an instant, those that the store chooses included."""
        known = self._arguments.get((operation, number, now))
        if known is None:
            at = _At(NO_ROWS, now, NO_PARAMS, self.semantics.settings, NO_ROWS)
            terms = self._by_name[operation].argument_sets[number]
            known = {name: value_of(term, at) for name, term in terms.items()}
            self._arguments[operation, number, now] = known
        return known

    def attempt(self, state: State, probe: Probe, issued: Sequence[Token] = ()) -> Attempt:
        """A probe made concrete in a state. Raises ``KeyError`` when there is no token of its kind here."""
        operation = self.operations[probe.operation]
        token = self.tokens(operation, state.rows[0][0], issued)[probe.token]
        return Attempt(probe, self.params(probe.operation, probe.number, state.now), token)

    # -- steps ---------------------------------------------------------------------------------------------------------

    def state_with(self, state: State, token: Token) -> State:
        """The state in which the caller presents this token."""
        if not token:
            return state
        return State(state.now, ((state.rows[0][0], dict(token), *state.rows[0][2:]),))

    def call(self, attempt: Attempt) -> Call:
        """The call as the model makes it."""
        over = self.operations[attempt.probe.operation].over
        binding = {variable.name: index for index, variable in enumerate(over)}
        return Call(attempt.probe.operation, 0, binding, attempt.params)

    def step(self, state: State, attempt: Attempt) -> tuple[Case, State]:
        """The case that an allowed attempt takes, and the state it leads to; guards are not looked at.

        Raises ``LookupError`` when no case is open, or more than one.
        """
        operation = self.operations[attempt.probe.operation]
        rows: dict[str, Row] = {self.root: state.rows[0][0]}
        if attempt.token:
            rows[operation.over[1].name] = attempt.token
        cases = [
            case
            for case, readings in self._cases[operation.name]
            if all(reading(rows, state.now, attempt.params) for reading in readings)
        ]
        if len(cases) != 1:
            named = ", ".join(case.name for case in cases) or "none"
            raise LookupError(f"{attempt.probe} is allowed, but its cases are not exclusive and complete: {named}")
        return cases[0], self.semantics.apply(self.state_with(state, attempt.token), self.call(attempt), cases[0])


def conditions_of(operation: Operation) -> Iterator[Guard]:
    """Every guard of an operation and every condition of its cases."""
    yield from operation.guards
    for case in operation.cases:
        yield from case.when


def _subject_and_token(operation: Operation) -> set[str]:
    return {variable.name for variable in operation.over[:2]}


def _latest(issued: Sequence[Token], count: str, current: int, who: Mapping[str, Value], *, same: bool) -> Token | None:
    """The latest issued token of an earlier generation, of the same worker or of another."""
    for token in reversed(issued):
        generation = token[count]
        ours = all(token[name] == value for name, value in who.items())
        if isinstance(generation, int) and generation < current and ours == same:
            return token
    return None
