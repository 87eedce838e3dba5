"""The language in which guards, effects and invariants are written, and its plain evaluation.

Theory
======
A *term* is a frozen record. There are two kinds, and they do not mix: *value terms* denote a value of some sort or
null (a word, a count, an instant, a text), and *truth terms* denote true or false, never null. A term holds data only;
no Python function hides in it, so that the same term can be

* evaluated on one state (this file): the reference reading, and the referee of all others;
* evaluated on whole frontiers of states as NumPy columns (``fencepost_verification.explore.columns``);
* translated for a solver (``fencepost_verification.prove.encoding``);
* printed as an English clause (``fencepost_verification.documents.wording``).

Each reading is one total function over the two unions at the end of this file, closed by ``assert_never``: a new kind
of term that a reading does not know is a type error, not a surprise.

Null
----
Comparisons are two-valued. ``Less``, ``AtMost`` and ``Equal`` are *false* when either side is null, as a SQL ``WHERE``
drops the row; ``Same`` is the one that takes null as a value (SQL's ``IS NOT DISTINCT FROM``). Hence
``Not(Less(a, b))`` is *not* ``AtMost(b, a)``: the negation is also true when one side is null. Where SQL's three-valued
logic would differ, the term says so with ``Missing``. Sums and the smaller and larger of two values are null as soon
as one side is null.

Time
----
Instants and durations are numbers in seconds. ``Now()`` is the store's clock, read once per step (decision D-14).

Before and after
----------------
``FieldOf("job", "status")`` speaks of the state in which a step begins. In a statement about a step,
``FieldOf("job", "status", after=True)`` speaks of the state in which it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol, TypeAlias, assert_never, cast

Value: TypeAlias = bool | int | float | str | None
"""A value of a field: null, a flag, a number (counts, seconds) or a string (words, identities, texts)."""


# --- value terms ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Const:
    """A literal value; ``Const(None)`` is null."""

    value: Value


@dataclass(frozen=True, slots=True)
class FieldOf:
    """The field ``name`` of the entity that the variable ``entity`` stands for, before or after the step."""

    entity: str
    name: str
    after: bool = False


@dataclass(frozen=True, slots=True)
class Now:
    """The instant that the store's clock shows during the step."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A number or flag of the profile under which the contract runs, such as the length of a lease in seconds."""

    name: str


@dataclass(frozen=True, slots=True)
class Param:
    """An argument of the operation."""

    name: str


@dataclass(frozen=True, slots=True)
class Plus:
    """The sum of two numbers; null when one of them is null."""

    left: ValueTerm
    right: ValueTerm


@dataclass(frozen=True, slots=True)
class Smaller:
    """The smaller of two numbers; null when one of them is null."""

    left: ValueTerm
    right: ValueTerm


@dataclass(frozen=True, slots=True)
class Larger:
    """The larger of two numbers; null when one of them is null."""

    left: ValueTerm
    right: ValueTerm


@dataclass(frozen=True, slots=True)
class Choose:
    """One of two values, by a condition."""

    condition: TruthTerm
    then: ValueTerm
    otherwise: ValueTerm


# --- truth terms ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Truth:
    """A literal truth value."""

    value: bool


@dataclass(frozen=True, slots=True)
class Holds:
    """True when a flag (a field, setting or parameter) is set and true."""

    flag: ValueTerm


@dataclass(frozen=True, slots=True)
class Not:
    """Negation."""

    part: TruthTerm


@dataclass(frozen=True, slots=True)
class AllOf:
    """Conjunction; true when there are no parts."""

    parts: tuple[TruthTerm, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Disjunction; false when there are no parts."""

    parts: tuple[TruthTerm, ...]


@dataclass(frozen=True, slots=True)
class Missing:
    """True when the value is null."""

    value: ValueTerm


@dataclass(frozen=True, slots=True)
class Less:
    """``left < right``; false when either is null."""

    left: ValueTerm
    right: ValueTerm


@dataclass(frozen=True, slots=True)
class AtMost:
    """``left <= right``; false when either is null."""

    left: ValueTerm
    right: ValueTerm


@dataclass(frozen=True, slots=True)
class Equal:
    """``left = right``; false when either is null."""

    left: ValueTerm
    right: ValueTerm


@dataclass(frozen=True, slots=True)
class Same:
    """Equal, or both null."""

    left: ValueTerm
    right: ValueTerm


@dataclass(frozen=True, slots=True)
class OneOf:
    """True when the value is one of the choices; false when it is null."""

    value: ValueTerm
    choices: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Every:
    """True when the body holds for each entity of ``machine`` that belongs to the entity ``of``."""

    variable: str
    machine: str
    of: str
    body: TruthTerm


@dataclass(frozen=True, slots=True)
class Some:
    """True when the body holds for at least one entity of ``machine`` that belongs to the entity ``of``."""

    variable: str
    machine: str
    of: str
    body: TruthTerm


ValueTerm: TypeAlias = Const | FieldOf | Now | Setting | Param | Plus | Smaller | Larger | Choose
TruthTerm: TypeAlias = (
    Truth | Holds | Not | AllOf | AnyOf | Missing | Less | AtMost | Equal | Same | OneOf | Every | Some
)
Term: TypeAlias = ValueTerm | TruthTerm


# --- building ---------------------------------------------------------------------------------------------------------


def all_of(*parts: TruthTerm) -> TruthTerm:
    """The conjunction of the parts; a single part stands for itself."""
    return parts[0] if len(parts) == 1 else AllOf(parts)


def any_of(*parts: TruthTerm) -> TruthTerm:
    """The disjunction of the parts; a single part stands for itself."""
    return parts[0] if len(parts) == 1 else AnyOf(parts)


def present(value: ValueTerm) -> TruthTerm:
    """The value is not null."""
    return Not(Missing(value))


def implies(condition: TruthTerm, consequence: TruthTerm) -> TruthTerm:
    """If the condition holds, so does the consequence."""
    return AnyOf((Not(condition), consequence))


def negation(term: TruthTerm) -> TruthTerm:
    """The opposite of a term, without a double negation."""
    return term.part if isinstance(term, Not) else Not(term)


NULL = Const(None)


# --- structure --------------------------------------------------------------------------------------------------------


def parts_of(term: Term) -> tuple[Term, ...]:
    """The direct sub-terms of a term, left to right."""
    match term:
        case FieldOf() | Const() | Now() | Setting() | Param() | Truth():
            return ()
        case Not(part):
            return (part,)
        case AllOf(parts) | AnyOf(parts):
            return parts
        case (
            Equal(left, right)
            | Less(left, right)
            | AtMost(left, right)
            | Same(left, right)
            | Plus(left, right)
            | Smaller(left, right)
            | Larger(left, right)
        ):
            return (left, right)
        case Missing(value) | OneOf(value) | Holds(value):
            return (value,)
        case Choose(condition, then, otherwise):
            return (condition, then, otherwise)
        case Every() | Some():
            return (term.body,)
        case _:
            assert_never(term)


def walk(term: Term) -> Iterator[Term]:
    """The term and all its sub-terms, outermost first, left to right."""
    ahead: list[Term] = [term]
    while ahead:
        part = ahead.pop()
        yield part
        ahead.extend(reversed(parts_of(part)))


def walk_in_scope(term: Term, bound: Mapping[str, str]) -> Iterator[tuple[Term, Mapping[str, str]]]:
    """The term and all its sub-terms, as ``walk`` gives them, each with the machines of the variables bound there.

    ``bound`` gives the machines of the variables that are bound outside of the term.
    """
    ahead: list[tuple[Term, Mapping[str, str]]] = [(term, bound)]
    while ahead:
        part, scope = ahead.pop()
        yield part, scope
        if isinstance(part, Every | Some):
            scope = {**scope, part.variable: part.machine}
        ahead.extend((inner, scope) for inner in reversed(parts_of(part)))


def fields_read(term: Term) -> frozenset[FieldOf]:
    """Every field that the term reads."""
    return frozenset(part for part in walk(term) if isinstance(part, FieldOf))


def in_the_state_after(term: TruthTerm) -> TruthTerm:
    """The same statement about the state in which a step ends (each field is read there)."""
    return rewritten_truth(term, _after)


def value_in_the_state_after(term: ValueTerm) -> ValueTerm:
    """The same value as it is in the state in which a step ends (each field is read there)."""
    return rewritten_value(term, _after)


def _after(part: Term) -> Term | None:
    return FieldOf(part.entity, part.name, after=True) if isinstance(part, FieldOf) else None


Rewriting: TypeAlias = Callable[[Term], Term | None]
"""Gives what stands in place of a part of a term; None leaves the part, and looks into it."""


def rewritten_value(term: ValueTerm, change: Rewriting) -> ValueTerm:
    """The value term with parts replaced, outermost first; a part and its replacement are of one kind."""
    return cast(ValueTerm, _rewritten(term, change))


def rewritten_truth(term: TruthTerm, change: Rewriting) -> TruthTerm:
    """The truth term with parts replaced, outermost first; a part and its replacement are of one kind."""
    return cast(TruthTerm, _rewritten(term, change))


def _rewritten(term: Term, change: Rewriting) -> Term:
    replacement = change(term)
    if replacement is not None:
        return replacement
    changed: dict[str, Any] = {}
    for field in fields(term):
        part = getattr(term, field.name)
        if isinstance(part, tuple):
            items = cast(Sequence[Any], part)
            changed[field.name] = tuple(i if isinstance(i, str | int) else _rewritten(i, change) for i in items)
        elif part is None or isinstance(part, str | int | float | bool):
            changed[field.name] = part
        else:
            changed[field.name] = _rewritten(part, change)
    return type(term)(**changed)


# --- the plain reading ------------------------------------------------------------------------------------------------


class Scope(Protocol):
    """What a term is evaluated against: one state (or one step), the arguments, the settings, the clock."""

    def field(self, entity: str, name: str, after: bool) -> Value:
        """The value of a field of the entity that the variable stands for."""
        ...

    def now(self) -> float | int:
        """The store's clock, in seconds."""
        ...

    def setting(self, name: str) -> Value:
        """A setting of the profile."""
        ...

    def param(self, name: str) -> Value:
        """An argument of the operation."""
        ...

    def each(self, variable: str, machine: str, of: str) -> Sequence[Scope]:
        """One scope for each entity of ``machine`` that belongs to ``of``, with ``variable`` bound to it."""
        ...


@dataclass(frozen=True, slots=True)
class Bare:
    """A scope without entities of its own kind below it: variables bound to plain rows."""

    rows: Mapping[str, Mapping[str, Value]]
    clock: float | int = 0
    params: Mapping[str, Value] | None = None
    settings: Mapping[str, Value] | None = None

    def field(self, entity: str, name: str, after: bool) -> Value:
        if after:
            raise ValueError(f"{entity}.{name} is asked for after a step, but there is only one state here")
        return self.rows[entity][name]

    def now(self) -> float | int:
        return self.clock

    def setting(self, name: str) -> Value:
        return (self.settings or {})[name]

    def param(self, name: str) -> Value:
        return (self.params or {})[name]

    def each(self, variable: str, machine: str, of: str) -> Sequence[Scope]:
        raise ValueError(f"a bare scope holds no {machine} of {of}; evaluate the term on a State")


def value_of(term: ValueTerm, scope: Scope) -> Value:
    """The value of a term in a scope."""
    match term:
        case Const(value):
            return value
        case FieldOf(entity, name, after):
            return scope.field(entity, name, after)
        case Now():
            return scope.now()
        case Setting(name):
            return scope.setting(name)
        case Param(name):
            return scope.param(name)
        case Plus(left, right):
            return _number_of_two(term, value_of(left, scope), value_of(right, scope))
        case Smaller(left, right):
            return _number_of_two(term, value_of(left, scope), value_of(right, scope))
        case Larger(left, right):
            return _number_of_two(term, value_of(left, scope), value_of(right, scope))
        case Choose(condition, then, otherwise):
            return value_of(then if holds(condition, scope) else otherwise, scope)
        case _:
            assert_never(term)


def holds(term: TruthTerm, scope: Scope) -> bool:
    """Whether a term is true in a scope."""
    match term:
        case Truth(value):
            return value
        case Holds(flag):
            return value_of(flag, scope) is True
        case Not(part):
            return not holds(part, scope)
        case AllOf(parts):
            return all(holds(part, scope) for part in parts)
        case AnyOf(parts):
            return any(holds(part, scope) for part in parts)
        case Missing(value):
            return value_of(value, scope) is None
        case Less(left, right):
            low, high = value_of(left, scope), value_of(right, scope)
            return low is not None and high is not None and _number(term, low) < _number(term, high)
        case AtMost(left, right):
            low, high = value_of(left, scope), value_of(right, scope)
            return low is not None and high is not None and _number(term, low) <= _number(term, high)
        case Equal(left, right):
            one, other = value_of(left, scope), value_of(right, scope)
            return one is not None and one == other
        case Same(left, right):
            return value_of(left, scope) == value_of(right, scope)
        case OneOf(value, choices):
            return value_of(value, scope) in choices
        case Every(variable, machine, of, body):
            return all(holds(body, inner) for inner in scope.each(variable, machine, of))
        case Some(variable, machine, of, body):
            return any(holds(body, inner) for inner in scope.each(variable, machine, of))
        case _:
            assert_never(term)


def _number(term: Term, value: Value) -> float | int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is no number, in {term}")
    return value


def _number_of_two(term: Plus | Smaller | Larger, left: Value, right: Value) -> Value:
    if left is None or right is None:
        return None
    one, other = _number(term, left), _number(term, right)
    match term:
        case Plus():
            return one + other
        case Smaller():
            return min(one, other)
        case Larger():
            return max(one, other)
        case _:
            assert_never(term)
