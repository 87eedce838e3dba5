"""The column reading of terms: one term, evaluated on a whole frontier of states at once, as NumPy arrays.

A column is an ``int64`` array with one entry a state. Null is one reserved number; numbers stand for themselves, flags
are 0 and 1, and strings (words, identities, texts) are negative codes given out by a ``Codebook``, so that no string is
ever mistaken for a number. A truth column is a ``bool`` array. Literals, settings and the like are arrays of no
dimension, which NumPy broadcasts.

Times in a world are whole numbers of its unit; a fraction is refused, since it would be rounded silently.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

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
    Truth,
    TruthTerm,
    Value,
    ValueTerm,
)

Column: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]

NULL = np.int64(np.iinfo(np.int64).min)
"""The reserved number that stands for null."""


@dataclass
class Codebook:
    """The numbers that stand for strings: -1, -2, ... in the order in which they were first met."""

    codes: dict[str, int] = field(default_factory=dict[str, int])
    _literals: dict[tuple[type, Value], Column] = field(default_factory=dict[tuple[type, Value], "Column"])

    def encode(self, value: Value) -> np.int64:
        """The number that stands for a value. Raises ``ValueError`` for a fraction."""
        if value is None:
            return NULL
        if isinstance(value, str):
            return np.int64(self.codes.setdefault(value, -len(self.codes) - 1))
        if int(value) != value:
            raise ValueError(f"a world counts in whole units, {value!r} is none; choose a smaller unit")
        return np.int64(value)

    def literal(self, value: Value) -> Column:
        """The number that stands for a value, as a column of no dimension; the same each time."""
        key = (type(value), value)
        known = self._literals.get(key)
        if known is None:
            known = self._literals[key] = np.asarray(self.encode(value))
        return known

    def decode(self, code: int, is_flag: bool = False) -> Value:
        """The value that a number stands for."""
        if code == NULL:
            return None
        if code < 0:
            return list(self.codes)[-code - 1]
        return bool(code) if is_flag else int(code)


class ColumnScope(Protocol):
    """What a term is evaluated against: columns instead of single values."""

    @property
    def codebook(self) -> Codebook:
        """The numbers that stand for strings."""
        ...

    def field(self, entity: str, name: str, after: bool) -> Column:
        """One entry a state: the field of the entity that the variable stands for."""
        ...

    def now(self) -> Column:
        """The clock of each state."""
        ...

    def setting(self, name: str) -> Column:
        """A setting of the profile."""
        ...

    def param(self, name: str) -> Column:
        """An argument of the operation."""
        ...

    def each(self, variable: str, machine: str, of: str) -> Sequence[ColumnScope]:
        """One scope for each entity of ``machine`` that belongs to ``of``."""
        ...


def column_of(term: ValueTerm, scope: ColumnScope) -> Column:
    """The column of a value term; shape () where it does not depend on the state."""
    match term:
        case FieldOf(entity, name, after):
            return scope.field(entity, name, after)
        case Const(value):
            return scope.codebook.literal(value)
        case Now():
            return scope.now()
        case Setting(name):
            return scope.setting(name)
        case Param(name):
            return scope.param(name)
        case Plus(left, right):
            one, other = column_of(left, scope), column_of(right, scope)
            # The sum of two reserved numbers wraps around; the result is thrown away, the warning is not wanted.
            return np.where(_both(one, other), np.where(one == NULL, 0, one) + np.where(other == NULL, 0, other), NULL)
        case Smaller(left, right):
            one, other = column_of(left, scope), column_of(right, scope)
            return np.where(_both(one, other), np.minimum(one, other), NULL)
        case Larger(left, right):
            one, other = column_of(left, scope), column_of(right, scope)
            return np.where(_both(one, other), np.maximum(one, other), NULL)
        case Choose(condition, then, otherwise):
            return np.where(mask_of(condition, scope), column_of(then, scope), column_of(otherwise, scope))
        case _:
            assert_never(term)


def mask_of(term: TruthTerm, scope: ColumnScope) -> Mask:
    """The truth column of a term; shape () where it does not depend on the state."""
    match term:
        # The commonest first: on a small frontier the choice among the cases takes longer than the arithmetic.
        case Equal(left, right):
            one, other = column_of(left, scope), column_of(right, scope)
            equal = np.asarray(one == other)
            return equal if other.ndim == 0 and other != NULL else np.asarray((one != NULL) & equal)
        case AllOf(parts):
            return _joined([mask_of(part, scope) for part in parts], np.logical_and, empty=True)
        case AnyOf(parts):
            return _joined([mask_of(part, scope) for part in parts], np.logical_or, empty=False)
        case Not(part):
            return np.logical_not(mask_of(part, scope))
        case Truth(value):
            return np.asarray(value)
        case Holds(flag):
            return np.asarray(column_of(flag, scope) == 1)
        case Missing(value):
            return np.asarray(column_of(value, scope) == NULL)
        case Less(left, right):
            one, other = column_of(left, scope), column_of(right, scope)
            return _both(one, other) & (one < other)
        case AtMost(left, right):
            one, other = column_of(left, scope), column_of(right, scope)
            return _both(one, other) & (one <= other)
        case Same(left, right):
            return np.asarray(column_of(left, scope) == column_of(right, scope))
        case OneOf(value, choices):
            column = column_of(value, scope)
            each = [np.asarray(column == scope.codebook.literal(choice)) for choice in choices]
            return _joined(each, np.logical_or, empty=False)
        case Every(variable, machine, of, body):
            inner = [mask_of(body, member) for member in scope.each(variable, machine, of)]
            return _joined(inner, np.logical_and, empty=True)
        case Some(variable, machine, of, body):
            inner = [mask_of(body, member) for member in scope.each(variable, machine, of)]
            return _joined(inner, np.logical_or, empty=False)
        case _:
            assert_never(term)


def _joined(masks: Sequence[Mask], join: np.ufunc, *, empty: bool) -> Mask:
    if not masks:
        return np.asarray(empty)
    joined = masks[0]
    for mask in masks[1:]:
        joined = join(joined, mask)
    return joined


def _both(one: Column, other: Column) -> Mask:
    return np.asarray((one != NULL) & (other != NULL))
