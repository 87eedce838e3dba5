"""Time as data: sums and comparisons, the arithmetic of a lease, and how many beats it rides out."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost_model.machines.job import NEW_LEASE
from fencepost_model.terms import Bare, value_of
from fencepost_model.timing import (
    BOUNDS,
    back_off_ceiling,
    beats_survived,
    below,
    last_attempt_in_reach,
    named,
    new_lease,
    renewed_lease,
)

SECONDS = st.integers(-1000, 1000)
LENGTHS = st.integers(1, 1000)


@given(SECONDS, SECONDS)
def test_sums_are_sums(one: int, other: int) -> None:
    numbers = {"a": Fraction(one), "b": Fraction(other)}
    assert (named("a") * 2 - named("b") + 3).value(numbers) == 2 * one - other + 3


def test_a_sum_is_written_as_one_writes_it() -> None:
    assert str(named("lost") * 2 + 1 - named("delay")) == "-delay + 2 lost + 1"
    assert str(below(named("a"), 0)[0]) == "a < 0"


@given(LENGTHS, st.integers(1, 50))
def test_the_beats_that_a_lease_rides_out_are_just_those(lease: int, heartbeat: int) -> None:
    """With delays below a period the gap after k lost beats is below (k + 2) beats; without, it is (k + 1) beats."""
    delayed, on_time = beats_survived(lease, heartbeat), beats_survived(lease, heartbeat, delayed=False)
    for lost in range(lease // heartbeat + 3):
        assert (lost <= delayed) is (lease >= (lost + 2) * heartbeat)
        assert (lost <= on_time) is (lease > (lost + 1) * heartbeat)


@given(LENGTHS, st.integers(0, 10), LENGTHS)
def test_the_last_attempt_in_reach_starts_before_the_deadline(lease: int, delay: int, deadline: int) -> None:
    last = last_attempt_in_reach(lease, delay, deadline)
    assert (last - 1) * (lease + delay) < deadline <= last * (lease + delay)


@given(SECONDS, LENGTHS, st.none() | SECONDS)
def test_a_new_lease_is_the_contracts_term(now: int, lease: int, deadline: int | None) -> None:
    scope = Bare({"job": {"deadline_at": deadline}}, clock=now, settings={"lease_seconds": lease})
    assert new_lease(now, lease, deadline) == value_of(NEW_LEASE, scope)


@given(SECONDS, SECONDS, LENGTHS, st.none() | SECONDS)
def test_a_renewal_never_shortens(old: int, now: int, lease: int, deadline: int | None) -> None:
    assert renewed_lease(old, now, lease, deadline) >= old


@pytest.mark.parametrize(("attempt", "ceiling"), [(1, 2), (2, 4), (8, 256), (9, 300), (1000, 300)])
def test_the_back_off_doubles_up_to_the_cap(attempt: int, ceiling: int) -> None:
    assert back_off_ceiling(attempt, 2, 300) == ceiling


def test_each_bound_explains_its_numbers() -> None:
    assert len({bound.name for bound in BOUNDS}) == len(BOUNDS)
    for bound in BOUNDS:
        meant = {**bound.settings, **bound.events}
        sides = [
            part
            for conditions in (bound.given, bound.possible, bound.condition)
            for any_of in conditions
            for part in any_of
        ]
        used = {name for part in (*sides, bound.promise) for side in (part.left, part.right) for name in side.multiples}
        assert used == set(meant), bound.name
        assert set(bound.example) <= set(bound.settings), bound.name
