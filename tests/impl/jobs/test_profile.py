"""Profiles refuse what could not keep a lease alive, and carry the model's settings."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine, Float, Integer, literal, select

from fencepost.errors import ConfigurationError
from fencepost.jobs import Backoff, Profile
from fencepost_model.job_contract import JOB_CONTRACT


def test_settings_are_those_of_the_model_with_its_defaults() -> None:
    assert Profile().settings() == JOB_CONTRACT.defaults()


@given(lease=st.floats(0.1, 1e6), heartbeat=st.floats(0.1, 1e6))
def test_a_lease_holds_at_least_three_heartbeats(lease: float, heartbeat: float) -> None:
    if lease >= 3 * heartbeat:
        assert Profile(lease_seconds=lease, heartbeat_seconds=heartbeat).lease_seconds == lease
    else:
        with pytest.raises(ConfigurationError, match="three heartbeats"):
            Profile(lease_seconds=lease, heartbeat_seconds=heartbeat)


def test_exactly_three_heartbeats_are_enough() -> None:
    Profile(lease_seconds=30, heartbeat_seconds=10)


def test_a_profile_without_heartbeat_says_so() -> None:
    assert Profile(lease_seconds=1, heartbeat_seconds=None).heartbeat_seconds is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"lease_seconds": 0},
        {"lease_seconds": float("nan")},
        {"lease_seconds": float("inf")},
        {"heartbeat_seconds": 0},
        {"heartbeat_seconds": float("nan")},
        {"max_attempts": 0},
        {"release_ceiling": -1},
        {"max_polls": -1},
    ],
)
def test_numbers_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="give"):
        Profile(**wrong)


@pytest.mark.parametrize(("base", "cap"), [(0, 1), (2, 1), (1, float("inf")), (float("nan"), 1), (-1, 1)])
def test_a_back_off_that_cannot_be_kept_is_refused(base: float, cap: float) -> None:
    with pytest.raises(ConfigurationError, match="back-off"):
        Backoff(base, cap)


class TestBackoff:
    @given(attempt=st.integers(-1, 200), seed=st.integers())
    def test_jitter_stays_between_nothing_and_the_ceiling(self, attempt: int, seed: int) -> None:
        backoff = Backoff(2, 300)
        seconds = backoff.seconds(attempt, backoff.share(random.Random(seed).random))
        assert 0 < seconds <= backoff.ceiling(attempt) <= 300

    def test_it_doubles_up_to_its_cap(self) -> None:
        assert [Backoff(2, 15).ceiling(attempt) for attempt in range(6)] == [2, 2, 4, 8, 15, 15]

    def test_a_fixed_one_never_varies(self) -> None:
        assert {Backoff.fixed(5).seconds(n, Backoff.fixed(5).share()) for n in range(9)} == {5}

    @pytest.mark.parametrize("backoff", [Backoff(2, 15), Backoff.fixed(5), Backoff(0.001, 0.001), Backoff(1, 1e9)])
    def test_sql_chooses_what_python_chooses(self, engine: Engine, backoff: Backoff) -> None:
        with engine.connect() as connection:
            for attempt in range(12):
                chosen = backoff.expression(literal(attempt, Integer()), literal(0.25, Float()))
                seconds = connection.execute(select(chosen)).scalar_one()
                assert seconds == pytest.approx(backoff.seconds(attempt, 0.25))
