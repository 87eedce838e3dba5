"""The language of terms: what each kind means on one state, with and without nulls, and how terms are taken apart."""

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import cast, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost_model.semantics import Member, Population, Row, StateScope
from fencepost_model.terms import (
    NULL,
    AllOf,
    AnyOf,
    AtMost,
    Bare,
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
    all_of,
    any_of,
    fields_read,
    holds,
    implies,
    in_the_state_after,
    negation,
    parts_of,
    present,
    value_of,
    walk,
    walk_in_scope,
)

BOX = Bare(
    {"box": {"weight": 3, "limit": 5, "label": "glass", "open": True, "sealed": False, "note": None}},
    clock=7,
    params={"extra": 2},
    settings={"slack": 1.5, "strict": False},
)


def box(name: str) -> FieldOf:
    return FieldOf("box", name)


# --- random terms over one row of numbers, a flag and a word ----------------------------------------------------------

ROWS: st.SearchStrategy[dict[str, Value]] = st.fixed_dictionaries(
    {
        "a": st.sampled_from([None, 0, 1, 2]),
        "b": st.sampled_from([None, 0, 1, 2]),
        "flag": st.sampled_from([None, False, True]),
        "word": st.sampled_from([None, "red", "green"]),
    }
)
ENDS = st.booleans()
FLAGS: st.SearchStrategy[ValueTerm] = st.builds(FieldOf, st.just("row"), st.just("flag"), ENDS)
WORDS: st.SearchStrategy[ValueTerm] = st.builds(FieldOf, st.just("row"), st.just("word"), ENDS)
NUMBERS: st.SearchStrategy[ValueTerm] = st.recursive(
    st.one_of(
        st.builds(FieldOf, st.just("row"), st.sampled_from(["a", "b"]), ENDS),
        st.builds(Const, st.sampled_from([None, 0, 1, 2])),
        st.just(Now()),
    ),
    lambda inner: st.one_of(
        *(st.builds(kind, inner, inner) for kind in (Plus, Smaller, Larger)),
        st.builds(lambda flag, one, other: Choose(Holds(flag), one, other), FLAGS, inner, inner),
    ),
    max_leaves=4,
)
ATOMS: st.SearchStrategy[TruthTerm] = st.one_of(
    *(st.builds(kind, NUMBERS, NUMBERS) for kind in (Less, AtMost, Equal, Same)),
    st.builds(Missing, NUMBERS),
    st.builds(Holds, FLAGS),
    st.builds(OneOf, WORDS, st.just(("red", "blue"))),
    st.builds(Truth, st.booleans()),
)
TRUTHS: st.SearchStrategy[TruthTerm] = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(AllOf, st.lists(inner, max_size=3).map(tuple)),
        st.builds(AnyOf, st.lists(inner, max_size=3).map(tuple)),
    ),
    max_leaves=6,
)
LONE = Population(Member("row", "row"))


def step(before: dict[str, Value], after: dict[str, Value]) -> StateScope:
    return StateScope(LONE, (before,), {"row": 0}, 1, {}, {}, (after,))


# --- values -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("term", "value"),
    [
        (Const("x"), "x"),
        (NULL, None),
        (box("weight"), 3),
        (Now(), 7),
        (Setting("slack"), 1.5),
        (Param("extra"), 2),
        (Plus(box("weight"), Param("extra")), 5),
        (Plus(Now(), Setting("slack")), 8.5),
        (Smaller(box("weight"), box("limit")), 3),
        (Larger(box("weight"), box("limit")), 5),
        (Choose(Holds(box("open")), Const("yes"), Const("no")), "yes"),
        (Choose(Holds(box("sealed")), Const("yes"), Const("no")), "no"),
    ],
)
def test_a_value_term_denotes(term: ValueTerm, value: Value) -> None:
    assert value_of(term, BOX) == value


@pytest.mark.parametrize("kind", [Plus, Smaller, Larger])
@pytest.mark.parametrize(("left", "right"), [(None, 1), (1, None), (None, None)])
def test_arithmetic_with_null_is_null(kind: type[Plus | Smaller | Larger], left: Value, right: Value) -> None:
    assert value_of(kind(Const(left), Const(right)), BOX) is None


@pytest.mark.parametrize("kind", [Plus, Smaller, Larger, Less, AtMost])
@pytest.mark.parametrize("stranger", ["text", True])
def test_what_is_no_number_is_neither_added_nor_ordered(
    kind: type[Plus | Smaller | Larger | Less | AtMost], stranger: Value
) -> None:
    term = kind(Const(1), Const(stranger))
    with pytest.raises(TypeError, match=repr(stranger)):
        holds(term if isinstance(term, Less | AtMost) else Missing(term), BOX)


# --- truths -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("term", "true"),
    [
        (Truth(True), True),
        (Truth(False), False),
        (Holds(box("open")), True),
        (Holds(box("sealed")), False),
        (Holds(box("note")), False),
        (Holds(box("weight")), False),
        (Holds(Setting("strict")), False),
        (Not(Holds(box("sealed"))), True),
        (AllOf(()), True),
        (AnyOf(()), False),
        (AllOf((Truth(True), Truth(False))), False),
        (AnyOf((Truth(False), Truth(True))), True),
        (Missing(box("note")), True),
        (Missing(box("weight")), False),
        (OneOf(box("label"), ("glass", "wood")), True),
        (OneOf(box("label"), ("wood",)), False),
        (OneOf(box("weight"), (3, 4)), True),
        (OneOf(box("note"), ("glass",)), False),
        (present(box("note")), False),
        (implies(Holds(box("sealed")), Truth(False)), True),
        (implies(Holds(box("open")), Truth(False)), False),
    ],
)
def test_a_truth_term_holds(term: TruthTerm, true: bool) -> None:
    assert holds(term, BOX) is true


# Each row: left, right, then what Less, AtMost, Equal and Same say.
COMPARISONS: list[tuple[Value, Value, bool, bool, bool, bool]] = [
    (1, 2, True, True, False, False),
    (2, 2, False, True, True, True),
    (2, 1, False, False, False, False),
    (None, 1, False, False, False, False),
    (1, None, False, False, False, False),
    (None, None, False, False, False, True),
]


@pytest.mark.parametrize(("left", "right", "less", "at_most", "equal", "same"), COMPARISONS)
def test_comparisons_are_two_valued(
    left: Value, right: Value, less: bool, at_most: bool, equal: bool, same: bool
) -> None:
    kinds: Sequence[tuple[Callable[[ValueTerm, ValueTerm], TruthTerm], bool]] = [
        (Less, less),
        (AtMost, at_most),
        (Equal, equal),
        (Same, same),
    ]
    for kind, expected in kinds:
        term = kind(Const(left), Const(right))
        assert holds(term, BOX) is expected, term
        assert holds(Not(term), BOX) is not expected, term


def test_the_negation_of_less_is_not_at_most_the_other_way_round() -> None:
    """The trap that the file warns of: with a null in it, neither of two instants comes first."""
    values: list[Value] = [None, 0, 1]
    differ = {
        (one, other)
        for one, other in itertools.product(values, repeat=2)
        if holds(Not(Less(Const(one), Const(other))), BOX) is not holds(AtMost(Const(other), Const(one)), BOX)
    }
    assert differ == {(one, other) for one, other in itertools.product(values, repeat=2) if None in (one, other)}


@given(ROWS, TRUTHS)
def test_double_negation_and_de_morgan(row: dict[str, Value], term: TruthTerm) -> None:
    scope = step(row, row)
    assert holds(Not(Not(term)), scope) is holds(term, scope)
    assert holds(negation(term), scope) is not holds(term, scope)
    assert negation(negation(Missing(NULL))) == Missing(NULL)
    both = AllOf((term, Holds(FieldOf("row", "flag"))))
    split = AnyOf((Not(term), Not(Holds(FieldOf("row", "flag")))))
    assert holds(Not(both), scope) is holds(split, scope)


@given(TRUTHS, TRUTHS)
def test_a_single_part_stands_for_itself(one: TruthTerm, other: TruthTerm) -> None:
    assert all_of(one) is one
    assert any_of(one) is one
    assert all_of(one, other) == AllOf((one, other))
    assert any_of(one, other) == AnyOf((one, other))


def test_there_is_no_state_after_in_a_state() -> None:
    after = Missing(FieldOf("box", "weight", after=True))
    with pytest.raises(ValueError, match=r"box\.weight is asked for after a step"):
        holds(after, BOX)
    with pytest.raises(ValueError, match=r"box\.weight is asked for after a step"):
        holds(after, StateScope(LONE, ({"weight": 1},), {"box": 0}, 0, {}))


# --- quantifiers ------------------------------------------------------------------------------------------------------

SHELF = Population(
    Member("shelf", "shelf", {}, (Member("box", "left"), Member("box", "right"), Member("lamp", "lamp"))), aggregates=1
)
HEAVY = Less(FieldOf("shelf", "limit"), FieldOf("b", "weight"))


@pytest.mark.parametrize(
    ("weights", "every", "some"),
    [((1, 1), False, False), ((1, 9), False, True), ((9, 9), True, True), ((None, 9), False, True)],
)
def test_every_and_some_range_over_what_belongs_to_an_entity(
    weights: tuple[Value, Value], every: bool, some: bool
) -> None:
    left, right = weights
    rows: tuple[Row, ...] = ({"limit": 5}, {"weight": left}, {"weight": right}, {"weight": 99})
    scope = StateScope(SHELF, rows, {"shelf": 0}, 0, {})
    assert holds(Every("b", "box", "shelf", HEAVY), scope) is every
    assert holds(Some("b", "box", "shelf", HEAVY), scope) is some
    assert holds(Every("b", "box", "shelf", Not(HEAVY)), scope) is not some


def test_a_quantifier_over_nothing() -> None:
    scope = StateScope(LONE, ({},), {"row": 0}, 0, {})
    assert holds(Every("b", "box", "row", Truth(False)), scope)
    assert not holds(Some("b", "box", "row", Truth(True)), scope)


def test_a_quantifier_sees_the_step_the_clock_the_arguments_and_the_settings() -> None:
    """The inner scope is the outer one with a variable more."""
    body = AllOf(
        (
            Equal(FieldOf("b", "weight", after=True), Plus(FieldOf("b", "weight"), Param("more"))),
            Less(FieldOf("shelf", "limit"), Now()),
            Holds(Setting("strict")),
        )
    )
    term = Every("b", "box", "shelf", body)
    before: tuple[Row, ...] = ({"limit": 5}, {"weight": 1}, {"weight": 2}, {})
    after: tuple[Row, ...] = ({"limit": 5}, {"weight": 4}, {"weight": 5}, {})
    scope = StateScope(SHELF, before, {"shelf": 0}, 6, {"strict": True}, {"more": 3}, after)
    assert holds(term, scope)
    assert not holds(term, dataclasses.replace(scope, clock=5))
    assert not holds(term, dataclasses.replace(scope, params={"more": 4}))
    assert not holds(term, dataclasses.replace(scope, settings={"strict": False}))
    assert not holds(term, dataclasses.replace(scope, ends=before))


def test_a_bare_scope_refuses_quantifiers() -> None:
    with pytest.raises(ValueError, match="evaluate the term on a State"):
        holds(Every("b", "box", "shelf", Truth(True)), BOX)


# --- structure --------------------------------------------------------------------------------------------------------

A, B = FieldOf("row", "a"), FieldOf("row", "b")
SAMPLES: list[Term] = [
    Const(1),
    A,
    Now(),
    Setting("s"),
    Param("p"),
    Plus(A, B),
    Smaller(A, B),
    Larger(A, B),
    Choose(Missing(A), B, Const(0)),
    Truth(True),
    Holds(A),
    Not(Missing(A)),
    AllOf((Missing(A), Missing(B))),
    AnyOf((Missing(A), Missing(B))),
    Missing(A),
    Less(A, B),
    AtMost(A, B),
    Equal(A, B),
    Same(A, B),
    OneOf(A, (1, "two")),
    Every("v", "m", "row", Missing(FieldOf("v", "a"))),
    Some("v", "m", "row", Missing(FieldOf("v", "a"))),
]


def kinds_of_term() -> set[type]:
    return {kind for union in get_args(Term) for kind in (get_args(union) or (union,))}


def test_there_is_a_sample_of_each_kind() -> None:
    assert {type(sample) for sample in SAMPLES} == kinds_of_term()


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: type(sample).__name__)
def test_the_parts_of_a_term_are_the_terms_it_holds(sample: Term) -> None:
    held: list[object] = []
    for field in dataclasses.fields(sample):
        value = getattr(sample, field.name)
        held.extend(value if isinstance(value, tuple) else [value])
    assert list(parts_of(sample)) == [part for part in held if type(part) in kinds_of_term()]


@given(TRUTHS)
def test_walk_visits_each_part_once_outermost_first_left_to_right(term: TruthTerm) -> None:
    def visited(part: Term) -> list[Term]:
        return [part, *itertools.chain.from_iterable(visited(inner) for inner in parts_of(part))]

    assert list(walk(term)) == visited(term)
    assert [part for part, _ in walk_in_scope(term, {"row": "row"})] == visited(term)


def test_walk_in_scope_binds_a_variable_inside_of_its_quantifier_only() -> None:
    inside, outside = Missing(FieldOf("v", "a")), Missing(FieldOf("row", "a"))
    nested = Every("v", "m", "row", Some("w", "n", "v", inside))
    seen = {part: dict(bound) for part, bound in walk_in_scope(AllOf((nested, outside)), {"row": "r"})}
    assert seen[inside] == {"row": "r", "v": "m", "w": "n"}
    assert seen[nested.body] == {"row": "r", "v": "m"}
    assert seen[outside] == seen[nested] == {"row": "r"}


def test_fields_read_are_those_of_all_parts() -> None:
    weight, limit = box("weight"), FieldOf("box", "limit", after=True)
    term = Every("b", "box", "shelf", implies(Less(weight, Plus(limit, Const(1))), OneOf(box("label"), ("x",))))
    assert fields_read(term) == {weight, limit, box("label")}
    assert fields_read(Now()) == frozenset()


@given(ROWS, ROWS, TRUTHS)
def test_a_statement_moved_to_the_end_of_a_step_speaks_of_that_state(
    before: dict[str, Value], after: dict[str, Value], term: TruthTerm
) -> None:
    moved = in_the_state_after(term)
    assert all(field.after for field in fields_read(moved))
    assert holds(moved, step(before, after)) is holds(moved, step(after, after))
    assert holds(moved, step(before, after)) is holds(term, step(after, after))
    assert len(list(walk(moved))) == len(list(walk(term)))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: type(sample).__name__)
def test_moving_a_term_changes_where_fields_are_read_and_nothing_else(sample: Term) -> None:
    def outline(term: Term) -> list[object]:
        return [(part.entity, part.name) if isinstance(part, FieldOf) else type(part) for part in walk(term)]

    term = cast(TruthTerm, sample) if isinstance(sample, get_args(TruthTerm)) else Missing(cast(ValueTerm, sample))
    moved = in_the_state_after(term)
    assert outline(moved) == outline(term)
    assert fields_read(moved) == {dataclasses.replace(field, after=True) for field in fields_read(term)}
    assert in_the_state_after(moved) == moved
