"""A measure becomes statements that hold exactly when its numbers, compared in order, fall and are never negative."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost_model.measures import lowered, never_negative
from fencepost_model.semantics import Member, Population, StateScope
from fencepost_model.shapes import Descent, Invariant, Measure, StepProperty, Variable
from fencepost_model.terms import Const, FieldOf, Setting, Truth, Value, holds

ONE = Variable("one", "thing")
Numbers = tuple[int, int, int]
"""The values of ``limit``, ``falling`` and ``rising`` of one part."""


def measure(parts: int, *by: str) -> Measure:
    """A measure each of whose parts reads fields of its own, and whose limits can move."""
    descents = tuple(
        Descent(*(FieldOf("one", f"{what}{number}") for what in ("falling", "rising", "limit")))
        for number in range(parts)
    )
    return Measure("work left", "clause 1", (ONE,), descents, by, "it comes to an end")


def row(parts: Sequence[Numbers]) -> dict[str, Value]:
    return {
        f"{what}{number}": value
        for number, values in enumerate(parts)
        for what, value in zip(("limit", "falling", "rising"), values, strict=True)
    }


def scope(before: Sequence[Numbers], after: Sequence[Numbers] | None = None) -> StateScope:
    ends = None if after is None else (row(after),)
    population = Population(Member("thing", "one"))
    return StateScope(population, (row(before),), {"one": 0}, 0, {"most": 3}, {}, ends)


def numbers(parts: Sequence[Numbers]) -> list[int]:
    return [limit + falling - rising for limit, falling, rising in parts]


NUMBERS = st.tuples(*(st.integers(0, 3) for _ in range(3)))
PARTS = st.integers(1, 3).flatmap(lambda size: st.tuples(*(st.lists(NUMBERS, min_size=size, max_size=size),) * 2))


@given(PARTS)
def test_a_step_lowers_a_measure_when_the_first_number_that_changes_falls(
    step: tuple[list[Numbers], list[Numbers]],
) -> None:
    before, after = step
    (statement,) = lowered(measure(len(before), "work"))
    assert holds(statement.statement, scope(before, after)) is (numbers(after) < numbers(before))


@given(st.lists(NUMBERS, min_size=1, max_size=3), st.booleans())
def test_a_number_is_not_negative_where_it_is_looked_at(parts: list[Numbers], looked_at: bool) -> None:
    statements = never_negative(measure(len(parts)), Truth(looked_at))
    told = [holds(statement.statement, scope(parts)) for statement in statements]
    assert told == [number >= 0 or not looked_at for number in numbers(parts)]


@pytest.mark.parametrize("parts", [1, 2])
def test_the_statements_carry_the_clause_and_names_of_their_own(parts: int) -> None:
    steps = lowered(measure(parts, "work", "rest"))
    states = never_negative(measure(parts), Truth(True))
    assert [step.of for step in steps] == ["work", "rest"]
    assert all(step.restricted for step in steps)
    assert len(states) == parts
    statements: tuple[Invariant | StepProperty, ...] = (*steps, *states)
    assert len({statement.name for statement in statements}) == 2 + parts
    assert {statement.clause for statement in statements} == {"clause 1"}
    assert {statement.over for statement in statements} == {(ONE,)}


def test_a_limit_that_is_a_setting_stands_on_both_sides() -> None:
    only = Measure(
        "attempts left",
        "clause 1",
        (ONE,),
        (Descent(Const(0), FieldOf("one", "rising0"), Setting("most")),),
        ("go",),
        "",
    )
    (statement,) = lowered(only)
    assert holds(statement.statement, scope([(0, 0, 1)], [(0, 0, 2)]))
    assert not holds(statement.statement, scope([(0, 0, 2)], [(0, 0, 2)]))
    (bound,) = never_negative(only, Truth(True))
    assert holds(bound.statement, scope([(0, 0, 3)]))
    assert not holds(bound.statement, scope([(0, 0, 4)]))
