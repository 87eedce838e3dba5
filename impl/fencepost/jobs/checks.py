"""CHECK constraints out of the model's invariants: yet another reading of terms, for statements about one stored row.

Which invariants become constraints is decided by what they read. A constraint sees one row and nothing else, so a
statement about a token, the clock, a setting or a ghost field cannot be one. What remains holds in every state that
the contract can reach *from legacy rows too* (the model proves it for those initial states), so a table that an older
program filled can be given the constraints as it is.

Invariants about particular error codes are left out as well. The model reasons with one code for each family, while a
table holds any code that classifies; the family is decided in one Python function and not in a list in a table.

A term is two-valued (null compares as false) and SQL is not, so each comparison that may meet a null carries its own
null tests.
"""

from collections.abc import Callable, Iterator
from typing import Any, assert_never

from sqlalchemy import ColumnElement, and_, case, false, literal, not_, null, or_, true

from fencepost_model.machines.job import FIELDS, INVARIANTS, JOB
from fencepost_model.shapes import Invariant
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
    ValueTerm,
    fields_read,
    walk,
)

ColumnOf = Callable[[str], ColumnElement[Any]]

_BEYOND_A_ROW = (Now, Setting, Param, Every, Some)
_GHOSTS = frozenset(field.name for field in FIELDS if field.ghost)
_NOT_NULL = frozenset(field.name for field in FIELDS if not field.nullable)
_JUDGED_BY_FAMILY = "error_code"


def row_invariants(stored: frozenset[str]) -> Iterator[Invariant]:
    """The model's invariants that speak of one stored row alone, given the standard fields that a table stores."""
    for invariant in INVARIANTS:
        statement = invariant.statement
        if invariant.over != (JOB,) or any(isinstance(part, _BEYOND_A_ROW) for part in walk(statement)):
            continue
        names = {read.name for read in fields_read(statement)}
        if names & _GHOSTS or not names <= stored or _names_codes(statement):
            continue
        yield invariant


def _names_codes(statement: TruthTerm) -> bool:
    for part in walk(statement):
        if isinstance(part, OneOf) and _is_code(part.value):
            return True
        if isinstance(part, Equal | Same) and (_is_code(part.left) or _is_code(part.right)):
            return True
    return False


def _is_code(value: ValueTerm) -> bool:
    return isinstance(value, FieldOf) and value.name == _JUDGED_BY_FAMILY


def row_condition(term: TruthTerm, column: ColumnOf) -> ColumnElement[bool]:
    """A statement about one stored row as SQL that is never null. Raises `TypeError` for what no row can say."""
    match term:
        case Truth(value):
            return true() if value else false()
        case Holds(flag):
            return _two_valued(column, _value(flag, column) == true(), flag)
        case Not(part):
            return not_(row_condition(part, column))
        case AllOf(parts):
            return and_(true(), *(row_condition(part, column) for part in parts))
        case AnyOf(parts):
            return or_(false(), *(row_condition(part, column) for part in parts))
        case Missing(value):
            return _value(value, column).is_(None)
        case Less(left, right):
            return _two_valued(column, _value(left, column) < _value(right, column), left, right)
        case AtMost(left, right):
            return _two_valued(column, _value(left, column) <= _value(right, column), left, right)
        case Equal(left, right):
            return _two_valued(column, _value(left, column) == _value(right, column), left, right)
        case Same(left, right):
            return _value(left, column).is_not_distinct_from(_value(right, column))
        case OneOf(value, choices):
            return _two_valued(column, _value(value, column).in_(choices), value)
        case Every() | Some():
            raise TypeError(f"a statement about other entities is no statement about one row: {term}")
        case _:
            assert_never(term)


def _value(term: ValueTerm, column: ColumnOf) -> ColumnElement[Any]:
    match term:
        case Const(value):
            return null() if value is None else literal(value)
        case FieldOf(_, name, _):
            return column(name)
        case Plus(left, right):
            return _value(left, column) + _value(right, column)
        case Smaller(left, right):
            low, high = _value(left, column), _value(right, column)
            return case((low <= high, low), (high < low, high))
        case Larger(left, right):
            low, high = _value(left, column), _value(right, column)
            return case((low >= high, low), (high > low, high))
        case Choose(condition, then, otherwise):
            return case((row_condition(condition, column), _value(then, column)), else_=_value(otherwise, column))
        case Now() | Setting() | Param():
            raise TypeError(f"no row holds the value of {term}")
        case _:
            assert_never(term)


def _two_valued(column: ColumnOf, comparison: ColumnElement[bool], *operands: ValueTerm) -> ColumnElement[bool]:
    """The comparison, false when an operand is null; where none can be, it is so already."""
    nullable = [operand for operand in operands if not _is_never_null(operand)]
    return and_(*(_value(operand, column).is_not(None) for operand in nullable), comparison)


def _is_never_null(operand: ValueTerm) -> bool:
    if isinstance(operand, Const):
        return operand.value is not None
    return isinstance(operand, FieldOf) and operand.name in _NOT_NULL
