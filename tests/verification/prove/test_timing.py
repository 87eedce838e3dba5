"""Bounds of time: both halves are proved, the numbers beyond break the promise, and a wrong bound is caught."""

from dataclasses import replace
from fractions import Fraction

import pytest

from fencepost_model.queues import RENDER, Cited
from fencepost_model.timing import BEATS_DELAYED, BOUNDS, LEASE, LOST, OWNER_CONVERGENCE, TimeBound, at_most, below
from fencepost_verification.evidence import Held, Refuted, Unknown
from fencepost_verification.prove import timing


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: bound.name)
def test_a_bound_holds_and_breaks_just_beyond(bound: TimeBound) -> None:
    proof = timing.prove_bound(bound)
    assert [verdict for verdict in proof.verdicts if not isinstance(verdict, Held)] == []
    assert proof.beyond is not None
    assert bound.breaks(proof.beyond)


def test_each_number_of_lost_beats_has_its_numbers() -> None:
    proofs = timing.beat_proofs(8)
    assert len(proofs) == 18
    for proof in proofs:
        assert all(isinstance(verdict, Held) for verdict in proof.verdicts)
        assert proof.beyond is not None
        assert proof.bound.breaks(proof.beyond)


def test_three_heartbeats_do_not_ride_out_two_lost_beats() -> None:
    """The source takes three periods to be enough for two."""
    generous = replace(BEATS_DELAYED, condition=(at_most(LOST + 1, LEASE),))
    proof = timing.prove_bound(generous)
    assert isinstance(proof.at_bound, Refuted)
    three = {"lease": Fraction(3), "lost": Fraction(2), "earlier_delay": Fraction(0), "delay": Fraction(0)}
    assert generous.breaks(three)


def test_a_bound_that_asks_too_much_is_caught() -> None:
    greedy = replace(BEATS_DELAYED, condition=(below(LOST + 2, LEASE),))
    proof = timing.prove_bound(greedy)
    assert isinstance(proof.at_bound, Held)
    assert not isinstance(proof.needed, Held)


def test_a_bound_that_nothing_meets_is_not_held() -> None:
    empty = replace(OWNER_CONVERGENCE, condition=(below(0, -1),))
    assert isinstance(timing.prove_bound(empty).at_bound, Unknown)


def test_what_the_published_numbers_ride_out() -> None:
    found = {(row.lease, row.heartbeat): row.with_delay for row in timing.endurance()}
    assert found[300, 30] == 8
    assert found[120, 30] == 2
    assert found[45, 15] == 1
    assert found[90, 10] == 7
    assert all(isinstance(verdict, Held) for verdict in timing.endurance_verdicts())


def test_a_wrong_claim_about_a_queue_is_caught() -> None:
    row = timing.endurance()[0]
    wrong = (replace(row, with_delay=row.with_delay + 1), replace(row, with_delay=row.with_delay - 1))
    assert [type(verdict) for verdict in timing.endurance_verdicts(wrong)] == [Refuted, Refuted]


def test_a_crash_leaves_no_render_a_second_attempt() -> None:
    assert [type(verdict) for verdict in timing.render_verdicts()] == [Held, Held]
    shorter = timing.render_verdicts(replace(RENDER, lease=Cited(58.5, "a test")))
    assert [type(verdict) for verdict in shorter] == [Refuted, Held]
    shortest = timing.render_verdicts(replace(RENDER, lease=Cited(57.0, "a test")))
    assert [type(verdict) for verdict in shortest] == [Refuted, Refuted]


def test_settings_that_a_bound_does_not_have_are_refused() -> None:
    with pytest.raises(KeyError, match="leese"):
        timing.with_settings(BEATS_DELAYED, leese=3)


def test_the_numbers_shown_do_not_depend_on_what_was_asked_before() -> None:
    first = [proof.beyond for proof in timing.bound_proofs()]
    assert [proof.beyond for proof in timing.bound_proofs()] == first
    assert all(numbers is not None for numbers in first)
