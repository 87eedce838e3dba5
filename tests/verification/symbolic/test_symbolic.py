"""Symbolic execution: each contract holds, and a wrong variant of each kind of function is caught with its input."""

import pytest

from fencepost.jobs.profile import Backoff
from fencepost_model.buckets import bucket
from fencepost_model.error_codes import ORDER, Family
from fencepost_model.timing import back_off_ceiling
from fencepost_verification.evidence import Held, Refuted, Unknown
from fencepost_verification.symbolic import Condition, judge
from fencepost_verification.symbolic.conditions import CONDITIONS


@pytest.mark.parametrize("condition", CONDITIONS, ids=lambda condition: condition.function.__name__)
def test_a_contract_holds(condition: Condition) -> None:
    verdict = judge(condition)
    assert isinstance(verdict, Held), verdict
    assert verdict.how.startswith("bounded") is condition.searched


def test_the_back_off_is_the_models_for_each_number_of_attempts_up_to_where_it_stays() -> None:
    """The contracts cover 1 to 12 and from 65 on; this covers what lies between, and other bases and caps."""
    for base, cap in ((2.0, 300.0), (0.001, 1e9), (1.0, 1.0), (3.0, 1e308)):
        backoff = Backoff(base_seconds=base, cap_seconds=cap)
        for attempt in range(1, 65):
            assert backoff.ceiling(attempt) == back_off_ceiling(attempt, base, cap)


def last_decides(flags: tuple[bool, bool, bool]) -> bool:
    """A classifier that takes the last family that fits.

    post: _
    """
    fitting = [family for family, fits in zip(ORDER, flags, strict=False) if fits]
    return not fitting or fitting[-1] is fitting[0]


def limit_is_retried(kind: int) -> bool:
    """A retry decision that forgot LIMIT.

    pre: 0 <= kind < 6
    post: _
    """
    return (ORDER[kind] in {Family.LEASE, Family.INFRA, Family.LIMIT}) == (ORDER[kind] in {Family.LEASE, Family.INFRA})


def back_off_without_cap(attempt: int) -> bool:
    """A back-off whose cap was left out.

    pre: 1 <= attempt <= 12
    post: _
    """
    return 2.0 * 2.0 ** (attempt - 1) <= 300.0


def lease_past_the_deadline(now: int, lease: int, deadline: int) -> bool:
    """A lease that the deadline does not cut.

    pre: lease > 0 and deadline > now
    post: _
    """
    return now + lease <= deadline


def lease_of_two_heartbeats(lease: int, heartbeat: int) -> bool:
    """A profile that is content with two heartbeats.

    pre: heartbeat > 0 and lease >= 2 * heartbeat
    post: _
    """
    return lease >= 3 * heartbeat


def bucket_from_one(number: int, buckets: int) -> bool:
    """A bucket counted from one.

    pre: number >= 0 and buckets >= 1
    post: _
    """
    return number % buckets + 1 < buckets


def bucket_of_length(key: str) -> bool:
    """A hash that is only the length of the key.

    pre: len(key) <= 3
    post: _
    """
    return bucket(key, 64) == len(key)


def failure_wins_everywhere(succeeded: int, failed: int) -> bool:
    """An aggregation by majority.

    pre: 0 <= succeeded <= 3 and 1 <= failed <= 3
    post: _
    """
    return not succeeded > failed


@pytest.mark.parametrize(
    "wrong",
    [
        last_decides,
        limit_is_retried,
        back_off_without_cap,
        lease_past_the_deadline,
        lease_of_two_heartbeats,
        bucket_from_one,
        bucket_of_length,
        failure_wins_everywhere,
    ],
)
def test_a_wrong_variant_is_caught_with_its_input(wrong: object) -> None:
    assert callable(wrong)
    verdict = judge(Condition(wrong, "it is right", "a test"))
    assert isinstance(verdict, Refuted), verdict
    assert "calling" in verdict.reason


def without_contract(number: int) -> bool:
    """Says nothing of what comes out."""
    return number > 0


def nothing_meets_it(number: int) -> bool:
    """Holds for nothing.

    pre: number < number
    post: False
    """
    return number > 0


@pytest.mark.parametrize("empty", [without_contract, nothing_meets_it])
def test_a_contract_that_says_nothing_is_not_held(empty: object) -> None:
    assert callable(empty)
    assert isinstance(judge(Condition(empty, "it is right", "a test", searched=True), seconds=1), Unknown)
