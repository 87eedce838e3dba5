"""The sorts of terms: what kind of value a term denotes, and complaints about terms that mix kinds.

Theory
======
Fields, settings and parameters are declared with a sort. A literal has none of its own: ``3`` may be a count, an
instant or a duration, ``"w1"`` a word, an identity or a text, and null is at home in every sort. So the sort of a value
term is the *set* of sorts that it fits. Comparing, choosing and taking the smaller of two values intersect the sets of
both sides; adding follows the table of ``_SUMS``. A term is well-sorted exactly when no set comes out empty.

Where words are listed, a literal must be one of them, for a misspelt word makes a guard that is false for ever and an
invariant that holds for nothing.

One looseness is deliberate: a COUNT may be assigned to an IDENTITY, and the two may be asked whether they are equal.
The model names each attempt by the generation that opened it, because any fresh identity will do. Which of the two is
less is not asked, and no term is of both sorts.

The names in a term are the business of ``fencepost_model.contract``. What is not declared fits every sort here, so that
one mistake is reported once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, assert_never

from fencepost_model.shapes import Assignment, Field, Machine, Parameter, Sort, Variable
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
    Value,
    ValueTerm,
    walk_in_scope,
)

if TYPE_CHECKING:  # contract calls this module when a contract is built
    from fencepost_model.contract import Contract

Sorts: TypeAlias = frozenset[Sort]
"""The sorts that a value fits; none when the term mixes what does not mix."""

ANY: Sorts = frozenset(Sort)
ORDERED: Sorts = frozenset({Sort.COUNT, Sort.INSTANT, Sort.DURATION})
"""The sorts whose values come one before the other."""

_SPELT: Sorts = frozenset({Sort.WORD, Sort.IDENTITY, Sort.TEXT})
_ONLY: dict[Sort, Sorts] = {sort: frozenset({sort}) for sort in Sort}
_SUMS: dict[tuple[Sort, Sort], Sort] = {
    (Sort.COUNT, Sort.COUNT): Sort.COUNT,
    (Sort.DURATION, Sort.DURATION): Sort.DURATION,
    (Sort.INSTANT, Sort.DURATION): Sort.INSTANT,
    (Sort.DURATION, Sort.INSTANT): Sort.INSTANT,
}

PlacedTerm: TypeAlias = tuple[str, Term, tuple[Variable, ...], tuple[Parameter, ...], bool]
"""A term with its owner in words, its variables, the parameters it may read, and whether it may look after the step."""


@dataclass(frozen=True, slots=True)
class Context:
    """What the names in a term stand for.

    ``fields`` is keyed by machine and name, ``bound`` gives the machine of each variable.
    """

    fields: Mapping[tuple[str, str], Field]
    settings: Mapping[str, Sort]
    bound: Mapping[str, str]
    parameters: Mapping[str, Parameter]

    def field(self, term: FieldOf) -> Field | None:
        """The declaration of the field that a term reads; None when there is none."""
        return self.fields.get((self.bound.get(term.entity, ""), term.name))

    def within(self, over: Iterable[Variable], parameters: Iterable[Parameter]) -> Context:
        """The same declarations, for a term that ranges over these variables and may read these parameters."""
        bound = {variable.name: variable.machine for variable in over}
        return Context(self.fields, self.settings, bound, {parameter.name: parameter for parameter in parameters})


def context_of(contract: Contract, over: Iterable[Variable] = (), parameters: Iterable[Parameter] = ()) -> Context:
    """The context of a term of the contract that ranges over some variables and may read some parameters."""
    fields = {(machine.name, field.name): field for machine in contract.machines for field in machine.fields}
    return Context(fields, {setting.name: setting.sort for setting in contract.settings}, {}, {}).within(
        over, parameters
    )


# --- the sort of a term -----------------------------------------------------------------------------------------------


def sort_of(term: ValueTerm, context: Context) -> Sorts:
    """The sorts that a value term fits: one for what is declared, several for literals, none for a mixture."""
    match term:
        case FieldOf():
            field = context.field(term)
            return ANY if field is None else _ONLY[field.sort]
        case Const(value):
            return sorts_of_literal(value)
        case Now():
            return _ONLY[Sort.INSTANT]
        case Setting(name):
            return _ONLY[context.settings[name]] if name in context.settings else ANY
        case Param(name):
            return _ONLY[context.parameters[name].sort] if name in context.parameters else ANY
        case Plus(left, right):
            ones, others = sort_of(left, context), sort_of(right, context)
            return frozenset(_SUMS[one, other] for one in ones for other in others if (one, other) in _SUMS)
        case Smaller(left, right) | Larger(left, right):
            return sort_of(left, context) & sort_of(right, context) & ORDERED
        case Choose(_, then, otherwise):
            return sort_of(then, context) & sort_of(otherwise, context)
        case _:
            assert_never(term)


def sorts_of_literal(value: Value) -> Sorts:
    """The sorts that a literal fits. A negative whole number fits COUNT: it is added to take away."""
    match value:
        case None:
            return ANY
        case bool():
            return _ONLY[Sort.FLAG]
        case int():
            return ORDERED
        case float():
            return ORDERED - {Sort.COUNT}
        case str():
            return _SPELT
        case _:
            assert_never(value)


def words_of(term: ValueTerm, context: Context) -> frozenset[str] | None:
    """The words that a value term may denote, null left aside; None when they are not listed."""
    match term:
        case FieldOf():
            field = context.field(term)
            return frozenset(field.words) if field is not None and field.words else None
        case Param(name):
            parameter = context.parameters.get(name)
            return frozenset(parameter.words) if parameter is not None and parameter.words else None
        case Const(value):
            if value is None:
                return frozenset()
            return frozenset({value}) if isinstance(value, str) else None
        case Choose(_, then, otherwise):
            ones, others = words_of(then, context), words_of(otherwise, context)
            return None if ones is None or others is None else ones | others
        case Now() | Setting() | Plus() | Smaller() | Larger():
            return None
        case _:
            assert_never(term)


# --- what can be wrong ------------------------------------------------------------------------------------------------


def sort_complaints(contract: Contract, terms: Iterable[PlacedTerm]) -> Iterator[str]:
    """One sentence for each mixture of sorts in a contract, whose terms are ``terms``."""
    bare = context_of(contract)
    yield from _declaration_complaints(contract)
    for owner, term, over, parameters, _ in terms:
        context = bare.within(over, parameters)
        for part, bound in walk_in_scope(term, context.bound):
            if bound is not context.bound:
                context = replace(context, bound=bound)
            for complaint in _part_complaints(part, context):
                yield f"{owner} {complaint}"
    for operation, case in contract.transitions():
        context = bare.within(operation.over, operation.parameters)
        for assignment in case.effect:
            for complaint in _assignment_complaints(assignment, context):
                yield f"{operation.name}/{case.name} sets {spoken(assignment.field)} to {complaint}"
        for each in case.also:
            inner = bare.within((*operation.over, *each.over), operation.parameters)
            for assignment in each.effect:
                for complaint in _assignment_complaints(assignment, inner):
                    yield f"{operation.name}/{case.name} sets each {spoken(assignment.field)} to {complaint}"


def _declaration_complaints(contract: Contract) -> Iterator[str]:
    """What is wrong with declared values: words, defaults, rows of older programs."""
    for operation in contract.operations:
        for parameter in operation.parameters:
            if parameter.sort is Sort.WORD and not parameter.words:
                yield f"parameter {operation.name}.{parameter.name} takes words but lists none; give its words"
    for setting in contract.settings:
        if setting.default is None or not _fits(setting.default, setting.sort, ()):
            told = f"is a {setting.sort.value} but defaults to {_literal(setting.default)}"
            yield f"setting {setting.name!r} {told}; give it a default that fits"
    for machine in contract.machines:
        for row in machine.legacy_rows:
            for complaint in _row_complaints(machine, row.fields):
                yield f"legacy row {row.name!r} of {machine.name} {complaint}"


def _row_complaints(machine: Machine, row: Mapping[str, Value]) -> Iterator[str]:
    for name in row:
        if name not in {field.name for field in machine.fields}:
            yield f"sets {name!r}, which is no field; declare it or mend the name"
    for field in machine.fields:
        value = row.get(field.name)
        if value is None and not field.nullable and not field.fixed:
            yield f"leaves {field.name} null, which it may not be; give it a value"
        if value is not None and not _fits(value, field.sort, field.words):
            yield f"sets {field.name}, a {field.sort.value}, to {_literal(value)}; give it a value that fits"


def _fits(value: Value, sort: Sort, words: tuple[str, ...]) -> bool:
    """Whether a value that is not null may stand in a place of a sort, where words may be listed."""
    if sort not in sorts_of_literal(value) or (words and value not in words):
        return False
    return sort is not Sort.COUNT or (isinstance(value, int) and value >= 0)


def _part_complaints(part: Term, context: Context) -> Iterator[str]:
    """What is wrong with a term whose own parts are in order, as the rest of a sentence that begins with its owner."""
    match part:
        case FieldOf() | Not() | AllOf() | AnyOf():  # most parts of a contract, hence asked for first
            pass
        case Less(left, right) | AtMost(left, right):
            yield from _mixture("compares", left, "with", right, context, ordered=True)
        case Equal(left, right) | Same(left, right):
            if not _named_by_count(left, right, context):
                yield from _mixture("compares", left, "with", right, context)
            yield from _foreign_words(left, right, context)
        case Smaller(left, right) | Larger(left, right):
            yield from _mixture("takes the smaller or larger of", left, "and", right, context, ordered=True)
        case Choose(_, then, otherwise):
            yield from _mixture("chooses between", then, "and", otherwise, context)
        case Plus(left, right):
            ones, others = sort_of(left, context), sort_of(right, context)
            if ones and others and not sort_of(part, context):
                sides = f"{_with_sort(left, ones)} and {_with_sort(right, others)}"
                yield f"adds {sides}; add counts, durations, or a duration to an instant"
        case OneOf(value, choices):
            sorts, words = sort_of(value, context), words_of(value, context)
            for choice in choices:
                if (
                    sorts
                    and not sorts & sorts_of_literal(choice)
                    and not _named_by_count(value, Const(choice), context)
                ):
                    yield f"looks for {choice!r} in {_with_sort(value, sorts)}; give choices of that sort"
                elif words is not None and choice not in words:
                    yield f"looks for {choice!r} in {spoken(value)}, which never holds it; add the word or mend it"
        case Holds(flag):
            sorts = sort_of(flag, context)
            if sorts and Sort.FLAG not in sorts:
                yield f"asks whether {_with_sort(flag, sorts)} holds; only a flag does, so compare it with something"
        case Const() | Now() | Setting() | Param() | Truth() | Missing() | Every() | Some():
            pass
        case _:
            assert_never(part)


def _mixture(
    verb: str, left: ValueTerm, link: str, right: ValueTerm, context: Context, *, ordered: bool = False
) -> Iterator[str]:
    ones, others = sort_of(left, context), sort_of(right, context)
    if not ones or not others:
        return  # said of the side that has no sort
    common = ones & others
    if common & ORDERED or (common and not ordered):
        return
    told = f"{verb} {_with_sort(left, ones)} {link} {_with_sort(right, others)}"
    if not common:
        yield f"{told}; use two values of one sort"
    else:
        yield f"{told}, a sort without order; ask whether they are equal"


def _named_by_count(left: ValueTerm, right: ValueTerm, context: Context) -> bool:
    """Whether one side is an identity and the other a count, which may be its name."""
    ones, others = sort_of(left, context), sort_of(right, context)
    name = _ONLY[Sort.IDENTITY]
    return (ones == name and Sort.COUNT in others) or (others == name and Sort.COUNT in ones)


def _foreign_words(left: ValueTerm, right: ValueTerm, context: Context) -> Iterator[str]:
    for literal, other in ((left, right), (right, left)):
        words = words_of(other, context)
        if isinstance(literal, Const) and isinstance(literal.value, str) and words and literal.value not in words:
            told = f"compares {spoken(other)} with {literal.value!r}"
            yield f"{told}, which is not among its words; add the word or mend it"


def _assignment_complaints(assignment: Assignment, context: Context) -> Iterator[str]:
    """What is wrong with the value of an assignment, as the end of a sentence."""
    field, value = context.field(assignment.field), assignment.value
    sorts = sort_of(value, context)
    if field is None or not sorts:
        return
    counts_as_name = field.sort is Sort.IDENTITY and Sort.COUNT in sorts
    if field.sort not in sorts and not counts_as_name:
        yield f"{_with_sort(value, sorts)}, but it takes a value of sort {field.sort.value}; assign one of that sort"
    elif isinstance(value, Const):
        if value.value is not None and not _fits(value.value, field.sort, ()) and not counts_as_name:
            yield f"{_literal(value.value)}, but a {field.sort.value} is not negative; assign a number from 0 on"
    elif field.words:
        words = words_of(value, context)
        if words is None:
            yield f"{spoken(value)}, which may be none of its words; list the words that it takes"
        for word in sorted((words or frozenset()) - frozenset(field.words)):
            yield f"{spoken(value)}, which may be {word!r}, not among its words; add the word or mend it"


# --- in words ---------------------------------------------------------------------------------------------------------


def spoken(term: ValueTerm) -> str:
    """A value term as it is called in a complaint."""
    match term:
        case FieldOf(entity, name, after):
            return f"{entity}.{name} after the step" if after else f"{entity}.{name}"
        case Const(value):
            return _literal(value)
        case Now():
            return "now"
        case Setting(name):
            return f"setting {name}"
        case Param(name):
            return f"parameter {name}"
        case Plus(left, right):
            return f"({spoken(left)} + {spoken(right)})"
        case Smaller(left, right):
            return f"the smaller of {spoken(left)} and {spoken(right)}"
        case Larger(left, right):
            return f"the larger of {spoken(left)} and {spoken(right)}"
        case Choose(_, then, otherwise):
            return f"{spoken(then)} or {spoken(otherwise)}"
        case _:
            assert_never(term)


def _literal(value: Value) -> str:
    return "null" if value is None else repr(value)


def _with_sort(term: ValueTerm, sorts: Sorts) -> str:
    return f"{spoken(term)} ({' or '.join(sort.value for sort in Sort if sort in sorts)})"
