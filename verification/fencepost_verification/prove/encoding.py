"""Reads terms for a solver: each value becomes a symbol, each truth a formula.

Theory
======
A value that may be null is a pair: whether it is null, and what it is if it is not. So the two-valued comparisons of
``fencepost_model.terms`` need no third truth value here either: ``Less`` is "neither side is null, and ...".

What a value is depends on its sort.

* A count is an integer, an instant or a duration a real; a whole number that meets a real is taken among the reals.
* A flag is a truth.
* Words, texts and identities are *atoms*, compared for equality only. An atom is an integer: odd for a string, even
  for a number (an identity may be a count, as when an attempt is named by the generation that opened it). Odd and even
  keep them apart, as Python keeps ``"3"`` and ``3`` apart, without another sort for the solver to reason about. A word
  that no field lists gets a code of its own, and so equals none of those that one lists.

A symbol whose value is known while the formula is built keeps it as ``literal``; comparisons of such symbols are
decided at once. That is how a step which sets a status to a constant makes most statements about the status vanish.

Entities are handles: constants of an uninterpreted sort, or the places of a small population. ``Every`` and ``Some``
run over the children that the scope lists; where it lists none, over all there may be, as a quantifier of the solver.

The reading refuses with ``NotEncodable`` what plain evaluation refuses with a ``TypeError`` on some state (an order of
texts), and a choice between values that have no common reading (a flag or a number).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from itertools import count
from typing import Protocol, assert_never, cast

from fencepost_model.shapes import Sort
from fencepost_model.terms import (
    AllOf,
    AnyOf,
    AtMost,
    Choose,
    Const,
    Equal,
    Every,
    FieldOf,
    Holds,
    Larger,
    Less,
    Missing,
    Not,
    Now,
    OneOf,
    Param,
    Plus,
    Same,
    Setting,
    Smaller,
    Some,
    Term,
    Truth,
    TruthTerm,
    Value,
    ValueTerm,
    walk,
)
from fencepost_verification.prove import smt
from fencepost_verification.prove.smt import Expression, Formula


class NotEncodable(TypeError):
    """A term has no reading for the solver; the message says which and why."""


# --- symbols ----------------------------------------------------------------------------------------------------------


class Kind(Enum):
    """How the solver holds what a value is."""

    WHOLE = "an integer"
    REAL = "a real"
    ATOM = "an atom"
    FLAG = "a truth"
    NULL = "nothing: the value is always null"


@dataclass(frozen=True, slots=True)
class Symbol:
    """A value for the solver: whether it is null, and what it is otherwise (meaningless where it is null)."""

    kind: Kind
    null: Formula
    what: Formula
    literal: Value = None
    """the value itself, where it is known; None where it is not known or null"""

    @property
    def is_real(self) -> bool:
        """Whether the solver holds it as a real."""
        return self.kind is Kind.REAL

    @property
    def number(self) -> Expression:
        """What it is, for a number or an atom. Raises ``NotEncodable`` for a flag and for what is always null."""
        if isinstance(self.what, bool) or self.kind in (Kind.FLAG, Kind.NULL):
            raise NotEncodable(f"{self.kind.value} is taken for a number")
        return self.what


NULL_SYMBOL = Symbol(Kind.NULL, True, False)


class Lexicon:
    """The codes of strings. A code is odd and stands for one string; strings get codes as they first occur.

    It also remembers what has been read with these codes: a term whose fields, arguments and so on are the very symbols
    that they were before gives the very formula. Most steps leave most fields alone, or set them to the same constants.
    """

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._texts: dict[int, str] = {}
        self._literals: dict[tuple[type, Value], Symbol] = {}
        self._leaves: dict[int, tuple[TruthTerm, tuple[_Leaf, ...] | None]] = {}
        self._read: dict[tuple[int, ...], tuple[object, Formula]] = {}

    def code(self, text: str) -> int:
        """The code of a string."""
        if text not in self._codes:
            code = next(odd for odd in count(2 * len(self._codes) + 1, 2) if odd not in self._texts)
            self._enter(text, code)
        return self._codes[text]

    def text(self, code: int) -> str:
        """The string of an odd code; a code without one gets a string that nothing mentions."""
        if code not in self._texts:
            self._enter(next(name for n in count() if (name := f"other {code + n}") not in self._codes), code)
        return self._texts[code]

    def _enter(self, text: str, code: int) -> None:
        self._codes[text] = code
        self._texts[code] = text

    def literal(self, value: Value) -> Symbol:
        """The symbol of a known value, the same each time."""
        if value is None:
            return NULL_SYMBOL
        key = (type(value), value)
        known = self._literals.get(key)
        if known is None:
            known = self._literals[key] = _literal(value, self)
        return known

    def leaves(self, term: TruthTerm) -> tuple[_Leaf, ...] | None:
        """What a term reads, each once; None where it quantifies."""
        known = self._leaves.get(id(term))
        if known is None:
            parts = tuple(walk(term))
            leaves = tuple(dict.fromkeys(part for part in parts if isinstance(part, _Leaf)))
            known = (term, None if any(isinstance(part, Every | Some) for part in parts) else leaves)
            self._leaves[id(term)] = known
        return known[1]

    def remembered(self, term: TruthTerm, symbols: tuple[Symbol, ...], read: Callable[[], Formula]) -> Formula:
        """The formula of a term whose leaves are these symbols, read once."""
        key = (id(term), *map(id, symbols))
        known = self._read.get(key)
        if known is None:
            # The term and the symbols are kept, so that no other object gets their numbers.
            known = self._read[key] = ((term, symbols), read())
        return known[1]


_Leaf = FieldOf | Now | Setting | Param


def literal(value: Value, lexicon: Lexicon) -> Symbol:
    """The symbol of a known value."""
    return lexicon.literal(value)


def _literal(value: Value, lexicon: Lexicon) -> Symbol:
    if value is None:
        return NULL_SYMBOL
    if isinstance(value, bool):
        return Symbol(Kind.FLAG, False, value, value)
    if isinstance(value, int):
        return Symbol(Kind.WHOLE, False, smt.whole(value), value)
    if isinstance(value, float):
        return Symbol(Kind.REAL, False, smt.real(value), value)
    return Symbol(Kind.ATOM, False, smt.whole(lexicon.code(value)), value)


def free(
    sort: Sort,
    leaf: Callable[[str, smt.SortOf], Expression],
    *,
    nullable: bool,
    listed: bool,
    time: smt.SortOf = smt.REAL,
) -> Symbol:
    """A symbol about which nothing is known.

    ``leaf`` makes what the solver may choose, from a suffix and a sort. ``listed`` says that the value is one of a list
    of words, which the caller states apart; the codes of other texts are kept odd here. ``time`` is the sort of
    instants and durations: reals, or integers where only whole seconds are looked at.
    """
    null: Formula = leaf("?", smt.BOOL) if nullable else False
    match sort:
        case Sort.WORD:
            return Symbol(Kind.ATOM, null, leaf("", smt.WHOLE))
        case Sort.TEXT:
            number = leaf("", smt.WHOLE)
            return Symbol(Kind.ATOM, null, number if listed else smt.total(smt.times(2, number), smt.whole(1)))
        case Sort.IDENTITY:
            return Symbol(Kind.ATOM, null, leaf("", smt.WHOLE))
        case Sort.COUNT:
            return Symbol(Kind.WHOLE, null, leaf("", smt.WHOLE))
        case Sort.INSTANT | Sort.DURATION:
            return Symbol(Kind.REAL if time is smt.REAL else Kind.WHOLE, null, leaf("", time))
        case Sort.FLAG:
            return Symbol(Kind.FLAG, null, leaf("", smt.BOOL))
        case _:
            assert_never(sort)


class NoBinaryFraction(ValueError):
    """A number of a model is no fraction of a power of two, so that plain evaluation could not compute with it."""


def decoded(symbol: Symbol, model: smt.Model, lexicon: Lexicon) -> Value:
    """The plain value of a symbol in a model. Raises ``NoBinaryFraction`` when a float could not hold it exactly."""
    if model.truth(symbol.null):
        return None
    match symbol.kind:
        case Kind.NULL:
            return None
        case Kind.FLAG:
            return model.truth(symbol.what)
        case Kind.WHOLE:
            return int(model.number(symbol.number))
        case Kind.REAL:
            return plain_number(model.number(symbol.number))
        case Kind.ATOM:
            code = int(model.number(symbol.number))
            return lexicon.text(code) if code % 2 else code // 2
        case _:
            assert_never(symbol.kind)


def plain_number(number: Fraction) -> float | int:
    """A rational as a Python number. Raises ``NoBinaryFraction`` when a float could not hold it exactly."""
    if number.denominator == 1:
        return number.numerator
    if Fraction(float(number)) != number:
        raise NoBinaryFraction(f"{number} is no fraction of a power of two")
    return float(number)


# --- scopes -----------------------------------------------------------------------------------------------------------


class SymbolicScope(Protocol):
    """What a term is read against: the counterpart of ``fencepost_model.terms.Scope``."""

    @property
    def lexicon(self) -> Lexicon:
        """The codes of strings."""
        ...

    def field(self, entity: str, name: str, after: bool) -> Symbol:
        """A field of the entity that the variable stands for."""
        ...

    def now(self) -> Symbol:
        """The store's clock."""
        ...

    def setting(self, name: str) -> Symbol:
        """A setting of the profile."""
        ...

    def param(self, name: str) -> Symbol:
        """An argument of the operation."""
        ...

    def quantified(
        self, variable: str, machine: str, of: str, body: Callable[[SymbolicScope], Formula], *, universal: bool
    ) -> Formula:
        """The body for every (or some) entity of ``machine`` that belongs to ``of``, with ``variable`` bound to it."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Entity:
    """One entity for the solver; no other object is the same entity.

    ``key`` names it among the entities of a proof. ``bound`` marks the variable of a quantifier, of which it is open
    whether it is one of the others.
    """

    key: str
    machine: str
    parent: Entity | None
    handle: Expression
    bound: bool = False


class Rows(Protocol):
    """The fields of all entities in one state."""

    def read(self, entity: Entity, name: str) -> Symbol:
        """A field of an entity."""
        ...


class Children(Protocol):
    """Which entities belong to which, for the quantifiers of a term."""

    def members(self, machine: str, of: Entity) -> Sequence[Entity] | None:
        """The entities of ``machine`` that can belong to ``of``; None when there may be any number of them."""
        ...

    def belongs(self, child: Entity, of: Entity) -> Formula:
        """Whether an entity belongs to another: a bound one, or one of those that ``members`` lists."""
        ...

    def variable(self, name: str, machine: str, of: Entity) -> Entity:
        """A bound entity of ``machine``; asked only where ``members`` answers None."""
        ...


@dataclass(frozen=True, slots=True)
class StepScope:
    """Terms about one state, or about a step from ``before`` to ``after``."""

    lexicon: Lexicon
    binding: Mapping[str, Entity]
    before: Rows
    clock: Symbol
    settings: Mapping[str, Symbol]
    children: Children
    params: Mapping[str, Symbol] = field(default_factory=dict[str, Symbol])
    after: Rows | None = None

    def field(self, entity: str, name: str, after: bool) -> Symbol:
        rows = self.after if after else self.before
        if rows is None:
            raise ValueError(f"{entity}.{name} is asked for after a step, but there is only one state here")
        return rows.read(self.binding[entity], name)

    def now(self) -> Symbol:
        return self.clock

    def setting(self, name: str) -> Symbol:
        return self.settings[name]

    def param(self, name: str) -> Symbol:
        return self.params[name]

    def quantified(
        self, variable: str, machine: str, of: str, body: Callable[[SymbolicScope], Formula], *, universal: bool
    ) -> Formula:
        parent = self.binding[of]
        members = self.children.members(machine, parent)
        if members is not None:
            parts = [
                (self.children.belongs(member, parent), body(replace(self, binding={**self.binding, variable: member})))
                for member in members
            ]
            if universal:
                return smt.conj(smt.implies(belongs, said) for belongs, said in parts)
            return smt.disj(smt.conj(part) for part in parts)
        bound = self.children.variable(f"{variable}!{next(_fresh)}", machine, parent)
        inner = body(replace(self, binding={**self.binding, variable: bound}))
        belongs = self.children.belongs(bound, parent)
        if universal:
            return smt.for_all((bound.handle,), smt.implies(belongs, inner))
        return smt.neg(smt.for_all((bound.handle,), smt.implies(belongs, smt.neg(inner))))


_fresh = count()


# --- the reading ------------------------------------------------------------------------------------------------------


def symbol_of(term: ValueTerm, scope: SymbolicScope) -> Symbol:
    """The value of a term for the solver. Raises ``NotEncodable``, see above."""
    match term:
        case Const(value):
            return literal(value, scope.lexicon)
        case FieldOf(entity, name, after):
            return scope.field(entity, name, after)
        case Now():
            return scope.now()
        case Setting(name):
            return scope.setting(name)
        case Param(name):
            return scope.param(name)
        case Plus(left, right):
            return _number_of_two(term, symbol_of(left, scope), symbol_of(right, scope), scope.lexicon)
        case Smaller(left, right):
            return _number_of_two(term, symbol_of(left, scope), symbol_of(right, scope), scope.lexicon)
        case Larger(left, right):
            return _number_of_two(term, symbol_of(left, scope), symbol_of(right, scope), scope.lexicon)
        case Choose(condition, then, otherwise):
            return chosen(formula_of(condition, scope), symbol_of(then, scope), symbol_of(otherwise, scope))
        case _:
            assert_never(term)


def formula_of(term: TruthTerm, scope: SymbolicScope) -> Formula:
    """The truth of a term for the solver. Raises ``NotEncodable``, see above."""
    match term:
        case Truth(value):
            return value
        case Holds(flag):
            symbol = symbol_of(flag, scope)
            return smt.conj((smt.neg(symbol.null), symbol.what)) if symbol.kind is Kind.FLAG else False
        case Not(part):
            return smt.neg(formula_of(part, scope))
        case AllOf() | AnyOf():
            leaves = scope.lexicon.leaves(term)
            if leaves is None:
                return _junction(term, scope)
            symbols = tuple([symbol_of(leaf, scope) for leaf in leaves])
            return scope.lexicon.remembered(term, symbols, lambda: _junction(term, scope))
        case Missing(value):
            return symbol_of(value, scope).null
        case Less(left, right):
            return _compared(term, symbol_of(left, scope), symbol_of(right, scope))
        case AtMost(left, right):
            return _compared(term, symbol_of(left, scope), symbol_of(right, scope))
        case Equal(left, right):
            return _equal(symbol_of(left, scope), symbol_of(right, scope))
        case Same(left, right):
            return identical(symbol_of(left, scope), symbol_of(right, scope))
        case OneOf(value, choices):
            symbol = symbol_of(value, scope)
            return smt.disj([_equal(symbol, literal(choice, scope.lexicon)) for choice in choices])
        case Every(variable, machine, of, body):
            return scope.quantified(variable, machine, of, _reader(body), universal=True)
        case Some(variable, machine, of, body):
            return scope.quantified(variable, machine, of, _reader(body), universal=False)
        case _:
            assert_never(term)


def _junction(term: AllOf | AnyOf, scope: SymbolicScope) -> Formula:
    parts = (formula_of(part, scope) for part in term.parts)
    return smt.conj(parts) if isinstance(term, AllOf) else smt.disj(parts)


def _reader(body: TruthTerm) -> Callable[[SymbolicScope], Formula]:
    return lambda inner: formula_of(body, inner)


def identical(left: Symbol, right: Symbol) -> Formula:
    """Equal, or both null."""
    if left is right or (left.what is right.what and left.null is right.null):
        return True
    both = smt.conj((left.null, right.null))
    return smt.disj((both, _equal(left, right)))


def chosen(condition: Formula, then: Symbol, otherwise: Symbol) -> Symbol:
    """One symbol or the other. Raises ``NotEncodable`` when the two have no common reading."""
    if isinstance(condition, bool):
        return then if condition else otherwise
    if then is otherwise:
        return then
    null = smt.choose_truth(condition, then.null, otherwise.null)
    if then.kind is Kind.NULL:
        return replace(otherwise, null=null, literal=None)
    if otherwise.kind is Kind.NULL:
        return replace(then, null=null, literal=None)
    if then.kind is Kind.FLAG and otherwise.kind is Kind.FLAG:
        return Symbol(Kind.FLAG, null, smt.choose_truth(condition, then.what, otherwise.what))
    kinds = {then.kind, otherwise.kind}
    if Kind.FLAG in kinds or kinds == {Kind.ATOM, Kind.REAL}:
        raise NotEncodable(f"one value is {then.kind.value}, the other {otherwise.kind.value}; choose among one kind")
    if Kind.ATOM in kinds:
        return Symbol(Kind.ATOM, null, smt.choose(condition, _atom(then), _atom(otherwise)))
    if Kind.REAL in kinds:
        return Symbol(Kind.REAL, null, smt.choose(condition, _real(then), _real(otherwise)))
    return Symbol(Kind.WHOLE, null, smt.choose(condition, then.number, otherwise.number))


def _compared(term: Less | AtMost, left: Symbol, right: Symbol) -> Formula:
    if Kind.NULL in (left.kind, right.kind):
        return False
    _numeric(term, left, right)
    if left.literal is not None and right.literal is not None:
        low, high = cast(float, left.literal), cast(float, right.literal)
        return low < high if isinstance(term, Less) else low <= high
    compare = smt.less if isinstance(term, Less) else smt.at_most
    return smt.conj((smt.neg(left.null), smt.neg(right.null), compare(*_alike(left, right))))


def _equal(left: Symbol, right: Symbol) -> Formula:
    if Kind.NULL in (left.kind, right.kind):
        return False
    neither_null = (smt.neg(left.null), smt.neg(right.null))
    if left.literal is not None and right.literal is not None:
        return left.literal == right.literal
    if left.kind is Kind.FLAG and right.kind is Kind.FLAG:
        return smt.conj((*neither_null, smt.iff(left.what, right.what)))
    if left.kind is Kind.ATOM and right.kind is Kind.ATOM:
        return smt.conj((*neither_null, smt.same(left.number, right.number)))
    if Kind.ATOM not in (left.kind, right.kind):
        return smt.conj((*neither_null, smt.same(*_alike(left, right))))
    number, atom = (left, right) if right.kind is Kind.ATOM else (right, left)
    if number.kind is Kind.REAL:
        real = _real(number)
        equal = smt.conj((smt.is_whole(real), smt.same(smt.times(2, smt.as_whole(real)), atom.number)))
    else:
        equal = smt.same(_atom(number), atom.number)
    return smt.conj((*neither_null, equal))


def _number_of_two(term: Plus | Smaller | Larger, left: Symbol, right: Symbol, lexicon: Lexicon) -> Symbol:
    if Kind.NULL in (left.kind, right.kind):
        return NULL_SYMBOL
    _numeric(term, left, right)
    if left.literal is not None and right.literal is not None:
        one, other = cast(float, left.literal), cast(float, right.literal)
        match term:
            case Plus():
                return literal(one + other, lexicon)
            case Smaller():
                return left if one <= other else right
            case Larger():
                return left if one >= other else right
            case _:
                assert_never(term)
    low, high = _alike(left, right)
    match term:
        case Plus():
            what = smt.total(low, high)
        case Smaller():
            what = smt.choose(smt.at_most(low, high), low, high)
        case Larger():
            what = smt.choose(smt.at_most(high, low), low, high)
        case _:
            assert_never(term)
    kind = Kind.REAL if Kind.REAL in (left.kind, right.kind) else Kind.WHOLE
    return Symbol(kind, smt.disj((left.null, right.null)), what)


def _numeric(term: Term, *symbols: Symbol) -> None:
    for symbol in symbols:
        if symbol.kind not in (Kind.WHOLE, Kind.REAL):
            raise NotEncodable(f"{symbol.kind.value} is no number, in {term}")


def _alike(left: Symbol, right: Symbol) -> tuple[Expression, Expression]:
    """Two numbers as expressions of one sort."""
    if Kind.REAL in (left.kind, right.kind):
        return _real(left), _real(right)
    return _whole(left), _whole(right)


def _whole(symbol: Symbol) -> Expression:
    if symbol.kind is Kind.FLAG:
        return smt.choose(symbol.what, smt.whole(1), smt.whole(0))
    return symbol.number


def _real(symbol: Symbol) -> Expression:
    if symbol.kind is Kind.REAL:
        return symbol.number
    if isinstance(symbol.literal, int):
        return smt.real(symbol.literal)
    return smt.as_real(_whole(symbol))


def _atom(symbol: Symbol) -> Expression:
    """The code of an atom, or of a whole number among the atoms."""
    if symbol.kind is Kind.ATOM:
        return symbol.number
    if isinstance(symbol.literal, int):
        return smt.whole(2 * symbol.literal)
    return smt.times(2, _whole(symbol))
