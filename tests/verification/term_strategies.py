"""Random terms over random small rows: what every reading of terms is held against.

The vocabulary is one parent row with two children, with two fields of each sort; parameters and settings of each sort;
the clock; and all kinds of terms. The terms are well-sorted, as a contract's terms have to be (``model.sorting``): what
is compared has one sort. Values are few, so that equal ones meet, and each nullable place is null often.

* ``terms()`` gives truth terms, ``quantified_terms()`` such as begin with a quantifier, ``value_terms(sort)`` value
  terms of one sort; ``sets()`` what a step does to each of the children;
* ``environments()`` gives plain data to evaluate them on, with ``Environment.scope()`` for plain evaluation;
* ``scopes()`` gives the scope of plain evaluation together with its environment;
* ``evaluations()`` gives a term, a scope and an environment at once, where fields that the term does not read are null.

With ``whole=True`` every number is whole and none is negative, for readings that hold numbers as integers or give
negative ones a meaning of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeVar

from hypothesis import strategies as st

from fencepost_model.contract import Contract
from fencepost_model.semantics import Call, Member, Population, Row, Semantics, State, StateScope
from fencepost_model.shapes import (
    Actor,
    Assignment,
    Case,
    Field,
    ForEach,
    Machine,
    Operation,
    Parameter,
    Selection,
    SettingShape,
    Sort,
    Variable,
)
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
    fields_read,
)

WORDS = ("red", "green", "blue")
CODES = ("E1", "E2")
NAMES: Mapping[Sort, tuple[str, str]] = {
    Sort.WORD: ("colour", "shade"),
    Sort.COUNT: ("count", "limit"),
    Sort.INSTANT: ("starts_at", "ends_at"),
    Sort.DURATION: ("lasts", "waits"),
    Sort.IDENTITY: ("owner", "maker"),
    Sort.TEXT: ("note", "code"),
    Sort.FLAG: ("open", "sealed"),
}
"""Two fields of each sort. The second text has a list of words."""

LISTED: Mapping[str, tuple[str, ...]] = {"colour": WORDS, "shade": WORDS, "code": CODES}
FIELDS = tuple(
    Field(name, sort, f"a {sort.value}", words=LISTED.get(name, ())) for sort, names in NAMES.items() for name in names
)
PARENT = Machine("parent", "the row that a term speaks of", FIELDS)
CHILD = Machine("child", "a row that belongs to it", FIELDS, belongs_to="parent")
PARAMETERS = tuple(
    Parameter(f"given_{name}", sort, f"a {sort.value}", nullable=True, words=LISTED.get(name, ()))
    for sort, (name, _) in NAMES.items()
)
SETTINGS = tuple(
    SettingShape(f"set_{name}", sort, f"a {sort.value}", 0)
    for sort, (name, _) in NAMES.items()
    if sort in (Sort.COUNT, Sort.DURATION, Sort.FLAG)
)
POPULATION = Population(Member("parent", "parent", {}, (Member("child", "first"), Member("child", "second"))))
PARENT_SLOT = 0
CHILD_SLOTS = (1, 2)
NUMBERS = (Sort.COUNT, Sort.INSTANT, Sort.DURATION)
SORTS = tuple(Sort)
T = TypeVar("T")


# --- environments -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Environment:
    """Everything that a term can read, as plain data.

    ``before`` and ``after`` hold the rows of the parent (first) and its two children at both ends of a step. ``now`` is
    in seconds.
    """

    before: tuple[Row, ...]
    after: tuple[Row, ...]
    now: float | int
    params: Mapping[str, Value]
    settings: Mapping[str, Value]

    def scope(self) -> StateScope:
        """What plain evaluation reads; the variable ``parent`` is bound."""
        binding = {"parent": PARENT_SLOT}
        return StateScope(POPULATION, self.before, binding, self.now, self.settings, self.params, self.after)


def values(sort: Sort, words: Sequence[str] = (), *, whole: bool = False) -> tuple[Value, ...]:
    """The values of a sort that are tried, none of them null, the simplest first."""
    fractions: tuple[Value, ...] = () if whole else (0.5, 1.5)
    match sort:
        case Sort.WORD | Sort.TEXT:
            return tuple(words) or ("red", "E1", "other")
        case Sort.COUNT:
            return (0, 1, 2, 3)
        case Sort.INSTANT:
            return (0, 1, 2, 3, 4) if whole else (0, 1, 2, 3, 4, -1, *fractions)
        case Sort.DURATION:
            return (0, 1, 2, *fractions)
        case Sort.IDENTITY:
            return ("w1", "w2", 0, 1, 2)
        case Sort.FLAG:
            return (False, True)


@cache
def _index(size: int) -> st.SearchStrategy[int]:
    """One strategy for each size: making one anew for each draw would take most of the time."""
    return st.integers(0, size - 1)


def _pick(draw: st.DrawFn, among: Sequence[T]) -> T:
    return among[draw(_index(len(among)))]


@st.composite
def environments(draw: st.DrawFn, *, whole: bool = False, open_fields: frozenset[str] | None = None) -> Environment:
    """Random rows, arguments, settings and a clock. With ``open_fields`` all other fields are null."""

    def row() -> Row:
        return {
            field.name: _pick(draw, (None, *values(field.sort, field.words, whole=whole)))
            if open_fields is None or field.name in open_fields
            else None
            for field in FIELDS
        }

    clock = _pick(draw, values(Sort.INSTANT, whole=whole))
    assert isinstance(clock, int | float)
    return Environment(
        (row(), row(), row()),
        (row(), row(), row()),
        clock,
        {p.name: _pick(draw, (None, *values(p.sort, p.words, whole=whole))) for p in PARAMETERS},
        {s.name: _pick(draw, values(s.sort, whole=whole)) for s in SETTINGS},
    )


# --- terms ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Grammar:
    """What terms may be made of: the variables in scope, and whether they may look after the step."""

    draw: st.DrawFn
    variables: tuple[str, ...]
    after: bool
    children: bool
    whole: bool

    def literal(self, sort: Sort) -> Value:
        """A value that is not null."""
        return _pick(self.draw, values(sort, WORDS if sort is Sort.WORD else (), whole=self.whole))

    def value(self, sort: Sort, depth: int) -> ValueTerm:
        """A value term of a sort, at most so deep."""
        kinds = ["field", "field", "field", "argument", "literal", "null"]
        kinds += ["setting"] if any(setting.sort is sort for setting in SETTINGS) else []
        kinds += ["now"] if sort is Sort.INSTANT else []
        if depth > 0:
            kinds += ["choose", "sum", "smaller", "larger"] if sort in NUMBERS else ["choose"]
        match _pick(self.draw, kinds):
            case "field":
                after = self.after and _pick(self.draw, (False, True))
                return FieldOf(_pick(self.draw, self.variables), _pick(self.draw, NAMES[sort]), after)
            case "argument":
                return Param(next(p.name for p in PARAMETERS if p.sort is sort))
            case "literal":
                return Const(self.literal(sort))
            case "setting":
                return Setting(next(s.name for s in SETTINGS if s.sort is sort))
            case "now":
                return Now()
            case "choose":
                return Choose(self.truth(depth - 1), self.value(sort, depth - 1), self.value(sort, depth - 1))
            case "sum":
                added = Sort.COUNT if sort is Sort.COUNT else Sort.DURATION
                return Plus(self.value(sort, depth - 1), self.value(added, depth - 1))
            case "smaller":
                return Smaller(self.value(sort, depth - 1), self.value(sort, depth - 1))
            case "larger":
                return Larger(self.value(sort, depth - 1), self.value(sort, depth - 1))
            case _:
                return Const(None)

    def truth(self, depth: int) -> TruthTerm:
        """A truth term, at most so deep."""
        kinds = ["less", "at most", "equal", "same", "one of", "missing", "holds", "truth"]
        if depth > 0:
            kinds += ["not", "all of", "any of"]
        if depth > 0 and self.children and len(self.variables) < 3:
            kinds += ["every", "some"]
        match _pick(self.draw, kinds):
            case "less":
                return Less(*self.pair(NUMBERS, depth))
            case "at most":
                return AtMost(*self.pair(NUMBERS, depth))
            case "equal":
                return Equal(*self.pair(SORTS, depth))
            case "same":
                return Same(*self.pair(SORTS, depth))
            case "one of":
                sort = _pick(self.draw, (Sort.WORD, Sort.TEXT, Sort.IDENTITY, Sort.COUNT))
                choices: list[Any] = [self.literal(sort) for _ in range(self.draw(_index(4)))]
                return OneOf(self.value(sort, depth - 1), tuple(choices))
            case "missing":
                return Missing(self.value(_pick(self.draw, SORTS), depth - 1))
            case "holds":
                return Holds(self.value(Sort.FLAG, depth - 1))
            case "not":
                return Not(self.truth(depth - 1))
            case "all of":
                return AllOf(self.several(depth))
            case "any of":
                return AnyOf(self.several(depth))
            case "every":
                return Every(self.another, "child", "parent", self.inner.truth(depth - 1))
            case "some":
                return Some(self.another, "child", "parent", self.inner.truth(depth - 1))
            case _:
                return Truth(_pick(self.draw, (False, True)))

    def pair(self, sorts: Sequence[Sort], depth: int) -> tuple[ValueTerm, ValueTerm]:
        """Two value terms of one sort."""
        sort = _pick(self.draw, sorts)
        return self.value(sort, depth - 1), self.value(sort, depth - 1)

    def several(self, depth: int) -> tuple[TruthTerm, ...]:
        """None to three truth terms."""
        return tuple(self.truth(depth - 1) for _ in range(self.draw(_index(4))))

    @property
    def another(self) -> str:
        """A variable that is not in scope."""
        return f"child{len(self.variables)}"

    @property
    def inner(self) -> _Grammar:
        """What the body of a quantifier may be made of."""
        return replace(self, variables=(*self.variables, self.another))


@st.composite
def terms(
    draw: st.DrawFn, *, depth: int = 4, after: bool = True, children: bool = True, whole: bool = False
) -> TruthTerm:
    """Random truth terms about ``parent``.

    ``after`` lets them look after the step, ``children`` lets them quantify over the children.
    """
    return _Grammar(draw, ("parent",), after, children, whole).truth(depth)


@st.composite
def quantified_terms(draw: st.DrawFn, *, depth: int = 3, after: bool = True, whole: bool = False) -> TruthTerm:
    """Random truth terms that begin with a quantifier over the children of ``parent``."""
    grammar = _Grammar(draw, ("parent",), after, True, whole)
    body = grammar.inner.truth(depth)
    if _pick(draw, (False, True)):
        return Every(grammar.another, "child", "parent", body)
    return Some(grammar.another, "child", "parent", body)


@st.composite
def value_terms(
    draw: st.DrawFn,
    sort: Sort,
    *,
    depth: int = 4,
    after: bool = True,
    children: bool = True,
    whole: bool = False,
) -> ValueTerm:
    """Random value terms of a sort about ``parent``, with the same choices."""
    return _Grammar(draw, ("parent",), after, children, whole).value(sort, depth)


@st.composite
def sets(draw: st.DrawFn, *, depth: int = 2, whole: bool = False) -> ForEach:
    """What a step does to each child of ``parent`` for which a random condition holds: up to three random fields."""
    grammar = _Grammar(draw, ("parent", "child1"), False, False, whole)
    names = draw(st.lists(st.sampled_from(FIELDS), min_size=1, max_size=3, unique_by=lambda field: field.name))
    effect = tuple(
        Assignment(FieldOf("child1", field.name), grammar.value(field.sort, depth - 1))
        if not field.words
        else Assignment(FieldOf("child1", field.name), Const(_pick(draw, (None, *field.words))))
        for field in names
    )
    return ForEach((Variable("child1", "child", of="parent"),), grammar.truth(depth), effect, "each child")


def fields_of_set(each: ForEach) -> frozenset[str]:
    """The names of the fields that a set reads or assigns."""
    read = frozenset[str]().union(names_read(each.where), *(names_read(a.value) for a in each.effect))
    return read | {a.field.name for a in each.effect}


def rows_after(case: Case, environment: Environment) -> tuple[Row, ...]:
    """The rows of an environment after a case of an operation on ``parent``, by plain evaluation."""
    operation = Operation(
        "change", Actor.SYSTEM, Selection.NAMED, (Variable("parent", "parent"),), (), (case,), "", "", PARAMETERS
    )
    contract = Contract("family", (PARENT, CHILD), (operation,), (), settings=SETTINGS, checked=False)
    semantics = Semantics(contract, POPULATION, environment.settings)
    call = Call("change", 0, {"parent": PARENT_SLOT}, environment.params)
    return semantics.apply(State(environment.now, (environment.before,)), call, case).rows[0]


def scopes(*, whole: bool = False) -> st.SearchStrategy[tuple[StateScope, Environment]]:
    """Random scopes of plain evaluation, each with its environment as plain data."""
    return environments(whole=whole).map(lambda environment: (environment.scope(), environment))


def evaluations(
    *, after: bool = True, children: bool = True, whole: bool = False
) -> st.SearchStrategy[tuple[TruthTerm, StateScope, Environment]]:
    """A random truth term, a scope to evaluate it in, and the scope's environment as plain data."""

    def evaluated(term: TruthTerm) -> st.SearchStrategy[tuple[TruthTerm, StateScope, Environment]]:
        drawn = environments(whole=whole, open_fields=names_read(term))
        return drawn.map(lambda environment: (term, environment.scope(), environment))

    return terms(after=after, children=children, whole=whole).flatmap(evaluated)


def names_read(term: Term) -> frozenset[str]:
    """The names of the fields that a term reads, of whatever entity."""
    return frozenset(read.name for read in fields_read(term))
