"""The one module that touches z3: formulas, quantities, a solver and its models, with types.

z3 ships none, so whatever it returns would be unknown to a type checker; here it gets names. A ``Formula`` is a Python
``bool`` where its truth is known while it is being built, else an ``Expression``. The connectives fold known truths
away: a proof of a contract builds tens of thousands of nodes, and most of those about a field that a step sets to a
constant never have to reach the solver.

The calls go to z3's C interface and not to its Python operators, which spend most of their time on coercions that
cannot occur here: the caller knows the sort of each side.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import Any, NewType, TypeAlias, cast

import z3  # pyright: ignore[reportMissingTypeStubs]

_z3: Any = z3
_core: Any = cast(Any, z3).z3core
_context: Any = _z3.main_ctx()
_ref: Any = _context.ref()

Expression = NewType("Expression", object)
"""A node that z3 holds, of whatever sort."""

Formula: TypeAlias = bool | Expression
"""A truth: known, or a node of sort Bool."""

SortOf = NewType("SortOf", object)
"""A z3 sort."""

Function = NewType("Function", object)
"""An uninterpreted function."""

WHOLE = SortOf(_z3.IntSort())
REAL = SortOf(_z3.RealSort())
BOOL = SortOf(_z3.BoolSort())


def _array(parts: Sequence[Any]) -> Any:
    handles = (_z3.Ast * len(parts))()
    for number, part in enumerate(parts):
        handles[number] = part.ast
    return handles


def _bool(handle: Any) -> Expression:
    return cast(Expression, _z3.BoolRef(handle, _context))


def _arith(handle: Any) -> Expression:
    return cast(Expression, _z3.ArithRef(handle, _context))


_TRUE: Any = _z3.BoolVal(True)
_FALSE: Any = _z3.BoolVal(False)


def _raw(formula: Formula) -> Any:
    if isinstance(formula, bool):
        return _TRUE if formula else _FALSE
    return formula


# --- leaves -----------------------------------------------------------------------------------------------------------


def element_sort(name: str) -> SortOf:
    """An uninterpreted sort: a kind of entity, of which there may be any number."""
    return cast(SortOf, _z3.DeclareSort(name))


def constant(name: str, sort: SortOf) -> Expression:
    """A constant of a sort; the same name and sort give the same constant."""
    return cast(Expression, _z3.Const(name, sort))


def function(name: str, domain: SortOf, codomain: SortOf) -> Function:
    """An uninterpreted function of one argument."""
    return cast(Function, _z3.Function(name, domain, codomain))


def apply(mapping: Function, argument: Expression) -> Expression:
    """The value of a function."""
    return cast(Expression, cast(Any, mapping)(argument))


@lru_cache(maxsize=4096)
def whole(value: int) -> Expression:
    """A literal integer."""
    return _arith(_core.Z3_mk_numeral(_ref, str(value), cast(Any, WHOLE).ast))


@lru_cache(maxsize=4096)
def real(value: float | int | Fraction) -> Expression:
    """A literal real; a float stands for the fraction that it is, not for the decimal that it prints as."""
    fraction = Fraction(value)
    return _arith(_core.Z3_mk_numeral(_ref, f"{fraction.numerator}/{fraction.denominator}", cast(Any, REAL).ast))


# --- truths -----------------------------------------------------------------------------------------------------------


def conj(parts: Iterable[Formula]) -> Formula:
    """The conjunction."""
    return _junction(parts, absorbing=False)


def disj(parts: Iterable[Formula]) -> Formula:
    """The disjunction."""
    return _junction(parts, absorbing=True)


def _junction(parts: Iterable[Formula], *, absorbing: bool) -> Formula:
    open_parts: list[Any] = []
    for part in parts:
        if part is absorbing:
            return absorbing
        if not isinstance(part, bool):
            open_parts.append(part)
    if not open_parts:
        return not absorbing
    if len(open_parts) == 1:
        return cast(Expression, open_parts[0])
    make = _core.Z3_mk_or if absorbing else _core.Z3_mk_and
    return _bool(make(_ref, len(open_parts), _array(open_parts)))


def neg(formula: Formula) -> Formula:
    """The negation."""
    if isinstance(formula, bool):
        return not formula
    return _bool(_core.Z3_mk_not(_ref, cast(Any, formula).ast))


def iff(left: Formula, right: Formula) -> Formula:
    """Both or neither."""
    if isinstance(left, bool):
        return right if left else neg(right)
    if isinstance(right, bool):
        return left if right else neg(left)
    return True if left is right else _bool(_core.Z3_mk_eq(_ref, cast(Any, left).ast, cast(Any, right).ast))


def implies(condition: Formula, consequence: Formula) -> Formula:
    """If the first, then the second."""
    return disj((neg(condition), consequence))


def choose_truth(condition: Formula, then: Formula, otherwise: Formula) -> Formula:
    """One truth or the other, by a condition."""
    if isinstance(condition, bool):
        return then if condition else otherwise
    if then is otherwise:
        return then
    if isinstance(then, bool):
        return disj((condition, otherwise)) if then else conj((neg(condition), otherwise))
    if isinstance(otherwise, bool):
        return implies(condition, then) if otherwise else conj((condition, then))
    return _bool(_core.Z3_mk_ite(_ref, *(cast(Any, part).ast for part in (condition, then, otherwise))))


def same(left: Expression, right: Expression) -> Formula:
    """Equality of two expressions of one sort."""
    return True if left is right else _bool(_core.Z3_mk_eq(_ref, cast(Any, left).ast, cast(Any, right).ast))


def less(left: Expression, right: Expression) -> Formula:
    """``left < right`` for two numbers of one sort."""
    return _bool(_core.Z3_mk_lt(_ref, cast(Any, left).ast, cast(Any, right).ast))


def at_most(left: Expression, right: Expression) -> Formula:
    """``left <= right`` for two numbers of one sort."""
    return _bool(_core.Z3_mk_le(_ref, cast(Any, left).ast, cast(Any, right).ast))


def distinct(expressions: Sequence[Expression]) -> Formula:
    """No two of the expressions, all of one sort, are equal."""
    if len(expressions) < 2:
        return True
    return _bool(_core.Z3_mk_distinct(_ref, len(expressions), _array(expressions)))


def is_whole(number: Expression) -> Formula:
    """Whether a real is an integer."""
    return cast(Expression, _z3.IsInt(number))


def for_all(variables: Sequence[Expression], body: Formula) -> Formula:
    """The body holds for all values of the constants named, which are bound thereby."""
    if isinstance(body, bool) or not variables:
        return body
    return cast(Expression, _z3.ForAll(list(variables), body))


# --- quantities -------------------------------------------------------------------------------------------------------


def choose(condition: Formula, then: Expression, otherwise: Expression) -> Expression:
    """One expression or the other, of one sort, by a condition."""
    if isinstance(condition, bool):
        return then if condition else otherwise
    if then is otherwise:
        return then
    return cast(Expression, _z3.If(condition, then, otherwise))


def total(left: Expression, right: Expression) -> Expression:
    """The sum of two numbers of one sort."""
    return _arith(_core.Z3_mk_add(_ref, 2, _array((left, right))))


def times(factor: int, number: Expression) -> Expression:
    """An integer multiple of an integer."""
    return _arith(_core.Z3_mk_mul(_ref, 2, _array((whole(factor), number))))


def scaled(factor: int, number: Expression) -> Expression:
    """An integer multiple of a real."""
    return _arith(_core.Z3_mk_mul(_ref, 2, _array((real(factor), number))))


def as_real(number: Expression) -> Expression:
    """An integer among the reals."""
    return _arith(_core.Z3_mk_int2real(_ref, cast(Any, number).ast))


def as_whole(number: Expression) -> Expression:
    """The greatest integer that is not above a real."""
    return _arith(_core.Z3_mk_real2int(_ref, cast(Any, number).ast))


# --- writing ----------------------------------------------------------------------------------------------------------


def declarations(formulas: Iterable[Formula]) -> str:
    """What SMT-LIB 2 has to be told of sorts, constants and functions before it can read these formulas."""
    raw = [_raw(formula) for formula in formulas]
    told: str = _core.Z3_benchmark_to_smtlib_string(_ref, "", "", "", "", len(raw), _array(raw), _TRUE.ast)
    lines = told.partition("(assert")[0].splitlines()
    return "".join(f"{line}\n" for line in lines if line.startswith("(declare"))


def written(formula: Formula) -> str:
    """A formula as SMT-LIB 2 writes it."""
    return str(_raw(formula).sexpr())


# --- asking -----------------------------------------------------------------------------------------------------------


class Answer(Enum):
    """What a solver says about what it was told."""

    SATISFIABLE = "satisfiable"
    UNSATISFIABLE = "unsatisfiable"
    UNKNOWN = "unknown"


_ANSWERS = {1: Answer.SATISFIABLE, -1: Answer.UNSATISFIABLE, 0: Answer.UNKNOWN}
"""How z3's C interface numbers its answers."""


class Model:
    """Values for the constants under which everything that the solver was told is true.

    What it leaves open is taken as z3 completes it.
    """

    def __init__(self, model: Any) -> None:
        self._model = model

    def _value(self, expression: Any) -> Any:
        found = (_z3.Ast * 1)()
        if not _core.Z3_model_eval(_ref, self._model.model, expression.ast, True, found):
            raise ValueError(f"the solver has no value for {expression}")
        return _z3.AstRef(found[0], _context)  # which keeps z3 from reclaiming it

    def truth(self, formula: Formula) -> bool:
        """Whether a formula is true in the model. Raises ``ValueError`` when the solver cannot tell."""
        if isinstance(formula, bool):
            return formula
        value = _core.Z3_get_bool_value(_ref, self._value(formula).ast)
        if value == 0:
            raise ValueError(f"the solver does not say whether {formula} is true")
        return bool(value == 1)

    def number(self, quantity: Expression) -> Fraction:
        """The value of a number. Raises ``ValueError`` when it is not rational."""
        value = self._value(quantity)
        if not _core.Z3_is_numeral_ast(_ref, value.ast):
            raise ValueError(f"the solver gives {quantity} a value that is not rational")
        return Fraction(_core.Z3_get_numeral_string(_ref, value.ast))

    def same(self, left: Expression, right: Expression) -> bool:
        """Whether two expressions have the same value."""
        return self.truth(same(left, right))

    def universe(self, sort: SortOf) -> tuple[Expression, ...]:
        """The elements that an uninterpreted sort has in the model."""
        found: Any = self._model.get_universe(sort)
        return tuple(cast(Sequence[Expression], found or ()))


class Solver:
    """An incremental solver. ``milliseconds`` bounds each question; beyond it the answer is *unknown*."""

    def __init__(self, milliseconds: int) -> None:
        self._solver: Any = _z3.SimpleSolver()
        self._solver.set("timeout", milliseconds)

    def limit(self, milliseconds: int) -> None:
        """Bound each further question anew."""
        self._solver.set("timeout", milliseconds)

    def push(self) -> None:
        """Begin a frame of statements that ``pop`` forgets."""
        self._solver.push()

    def pop(self) -> None:
        """Forget what was told since the last ``push``."""
        self._solver.pop()

    def tell(self, *formulas: Formula) -> None:
        """Add statements."""
        for formula in formulas:
            if formula is not True:
                _core.Z3_solver_assert(_ref, self._solver.solver, _raw(formula).ast)

    def ask(self, *assumptions: Expression) -> Answer:
        """Whether what was told, together with assumptions (Boolean constants), can be true."""
        handles = _array(assumptions)
        verdict = _core.Z3_solver_check_assumptions(_ref, self._solver.solver, len(assumptions), handles)
        return _ANSWERS[verdict]

    def model(self) -> Model:
        """A model, after the answer *satisfiable*."""
        return Model(self._solver.model())

    def reason(self) -> str:
        """Why the answer was *unknown*."""
        return str(self._solver.reason_unknown())
