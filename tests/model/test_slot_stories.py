"""Runs of one render worker, told step by step: what occupies it, what gives the place back, who still may win.

After each step of a story every invariant and every step property of the contract is looked at as well.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.machines.slot import (
    DEADLINE_EXCEEDED,
    LEASED,
    LIVE,
    OWN_CODES,
    RESULT_LOST,
    SLOT_AS_JOB,
    SLOT_CONTRACT,
    STATUSES,
    TERMINAL,
)
from fencepost_model.machines.slot_worlds import worker
from fencepost_model.semantics import Accepted, Call, Refused, Row, Semantics, State
from fencepost_model.terms import Value

LEASE, TTL = 10, 30
"""The length of a lease and a worker's time to live in these stories, in seconds."""


@dataclass
class Story:
    """One worker, and up to three attempts, called 1, 2 and 3."""

    settings: Mapping[str, Value] = field(default_factory=lambda: {"lease_seconds": LEASE, "worker_ttl": TTL})
    state: State = field(init=False)
    semantics: Semantics = field(init=False)

    def __post_init__(self) -> None:
        self.semantics = Semantics(SLOT_CONTRACT, worker(3), self.settings)
        self.state = next(self.semantics.initial())

    def attempt(self, number: int) -> Row:
        return self.state.rows[0][number]

    def shows(self, number: int, **expected: Value) -> None:
        """The attempt's row has these values."""
        row = self.attempt(number)
        assert {name: row[name] for name in expected} == expected

    def at(self, instant: float) -> None:
        """The clock comes to show this instant."""
        self.state = self.semantics.advance(self.state, instant - self.state.now)
        assert self.semantics.broken_invariants(self.state) == ()

    def _call(self, operation: str, number: int, params: Mapping[str, Value]) -> Call:
        binding: dict[str, int] = {}
        for variable in SLOT_CONTRACT.operation(operation).over:
            binding[variable.name] = 0 if variable.machine == "worker" else number
        return Call(operation, 0, binding, params)

    def take(self, operation: str, number: int = 1, **params: Value) -> str:
        """Make a call that is allowed: the case that was taken."""
        call = self._call(operation, number, params)
        outcome = self.semantics.attempt(self.state, call)
        assert isinstance(outcome, Accepted), f"{operation} is refused: {outcome}"
        assert self.semantics.broken_step_properties(self.state, call, outcome.state) == ()
        assert self.semantics.broken_invariants(outcome.state) == ()
        self.state = outcome.state
        return outcome.case.name

    def refused(self, operation: str, number: int = 1, **params: Value) -> set[str]:
        """Make a call that is not allowed: the guards that forbid it."""
        outcome = self.semantics.attempt(self.state, self._call(operation, number, params))
        assert isinstance(outcome, Refused), f"{operation} is allowed: {outcome}"
        return set(outcome.guards)

    def reserve(self, number: int = 1, deadline_at: Value = None) -> None:
        self.take("reserve", number, deadline_at=deadline_at)


def story_with_a_worker(**more: Value) -> Story:
    """The worker has registered epoch 1 at instant 0."""
    story = Story({"lease_seconds": LEASE, "worker_ttl": TTL, **more})
    story.take("register", epoch=1)
    return story


def running(**more: Value) -> Story:
    """Attempt 1 runs under epoch 1."""
    story = story_with_a_worker(**more)
    story.reserve()
    story.take("report_accepted", epoch=1)
    story.take("report_running", epoch=1)
    return story


# --- B6: rows and machines --------------------------------------------------------------------------------------------


def test_b6_the_end_of_a_lease_frees_no_place() -> None:
    """Trial model: reserve(0); accept(0); tick; tick; lease over; reserve(1); accept(1) had two renders at once."""
    story = running()
    story.at(LEASE)
    assert story.take("expire") == "unknown"
    story.shows(1, status="unknown", active_occupancy=1, lease_expires_at=None, alive=True)
    assert story.refused("reserve", 2, deadline_at=None) == {"place_free"}


def test_b6_an_unknown_attempt_lets_go_when_the_worker_says_clean() -> None:
    story = running()
    story.at(LEASE)
    story.take("expire")
    assert story.take("report_clean", epoch=1) == "lost"
    story.shows(1, status="failed", error_code=RESULT_LOST, active_occupancy=0, alive=False)
    story.reserve(2)


def test_b6_an_unknown_attempt_lets_go_when_a_newer_epoch_registers() -> None:
    story = running()
    story.at(LEASE)
    story.take("expire")
    story.take("register", epoch=2)
    story.shows(1, status="failed", active_occupancy=0, alive=False)
    story.reserve(2)
    story.shows(2, epoch=2)


def test_b6_the_same_epoch_is_no_promise() -> None:
    story = running()
    assert story.refused("register", epoch=1) == {"newer"}
    assert story.refused("register", epoch=0) == {"newer"}


def test_b6_an_unknown_attempt_lets_go_when_the_worker_is_gone() -> None:
    """Without a time to live of the worker, unknown was a limbo (5,382 states of the trial model)."""
    story = running()
    story.at(LEASE)
    story.take("expire")
    assert story.refused("give_up") == {"worker_gone"}
    story.at(TTL)
    assert story.take("give_up") == "lost"
    story.shows(1, status="failed", active_occupancy=0, alive=True)


def test_b6_a_worker_that_was_given_up_must_register_anew() -> None:
    """Its render may still be at work: with the old epoch nothing more is given to it, and no beat revives it."""
    story = running()
    story.at(TTL)
    story.take("expire")
    story.take("give_up")
    assert story.refused("reserve", 2, deadline_at=None) == {"worker_alive"}
    assert story.refused("beat", epoch=1) == {"worker_alive"}
    story.take("register", epoch=2)
    story.shows(1, alive=False)
    story.reserve(2)


def test_nothing_of_an_old_epoch_frees_the_new_place() -> None:
    story = running()
    story.take("register", epoch=2)
    story.reserve(2)
    story.take("report_accepted", 2, epoch=2)
    assert story.refused("report_clean", 2, epoch=1) == {"epoch"}
    assert story.refused("report_clean", 1, epoch=1) == {"occupied"}
    assert story.refused("beat", epoch=1) == {"current_epoch"}
    story.shows(2, active_occupancy=1)


def test_a_clean_report_says_nothing_about_a_message_under_way() -> None:
    story = story_with_a_worker()
    story.reserve()
    assert story.refused("report_clean", epoch=1) == {"heard_of"}
    story.shows(1, status="dispatched", active_occupancy=1)


# --- who may still win ------------------------------------------------------------------------------------------------


def test_success_keeps_the_place_until_it_is_clean() -> None:
    story = running()
    assert story.take("succeed", epoch=1) == "succeeded"
    story.shows(1, status="succeeded", has_result=True, active_occupancy=1, lease_expires_at=None)
    assert story.refused("reserve", 2, deadline_at=None) == {"place_free"}
    assert story.take("report_clean", epoch=1) == "ended_before"
    story.shows(1, status="succeeded", has_result=True, active_occupancy=0)
    story.reserve(2)


@pytest.mark.parametrize(
    ("instant", "refusal"), [(LEASE - 1, set()), (LEASE, {"lease_alive"}), (LEASE + 1, {"lease_alive"})]
)
def test_a_late_result_is_refused_before_anybody_expires_it(instant: int, refusal: set[str]) -> None:
    story = running()
    story.at(instant)
    if refusal:
        assert story.refused("succeed", epoch=1) == refusal
        story.shows(1, status="running", has_result=False)
    else:
        story.take("succeed", epoch=1)


def test_a_stopped_attempt_does_not_win_and_leaves_no_result() -> None:
    story = running()
    assert story.take("request_cancel") == "noted"
    story.at(1)
    assert story.take("request_cancel") == "noted_before"
    assert story.refused("succeed", epoch=1) == {"not_cancelled"}
    assert story.take("fail", epoch=1, code=OWN_CODES[0]) == "cancelled"
    story.shows(1, status="cancelled", has_result=False, cancel_requested_at=0, active_occupancy=1)


def test_the_deadline_cuts_the_lease() -> None:
    story = story_with_a_worker()
    story.reserve(deadline_at=4)
    story.shows(1, lease_expires_at=4)
    story.take("report_running", epoch=1)
    story.shows(1, lease_expires_at=4)
    story.at(4)
    assert story.refused("succeed", epoch=1) == {"lease_alive", "before_deadline"}
    story.take("expire")
    assert story.take("report_clean", epoch=1) == "expired"
    story.shows(1, status="expired", error_code=DEADLINE_EXCEEDED)


@pytest.mark.parametrize("deadline", [0, -1])
def test_no_attempt_begins_past_its_deadline(deadline: int) -> None:
    assert story_with_a_worker().refused("reserve", deadline_at=deadline) == {"deadline_ahead"}


def test_only_receipts_renew() -> None:
    story = running()
    story.at(4)
    story.take("beat", epoch=1)
    story.shows(1, lease_expires_at=LEASE)
    story.take("report_running", epoch=1)
    story.shows(1, lease_expires_at=4 + LEASE)
    story.at(5)
    story.take("report_cleaning", epoch=1)
    story.shows(1, status="cleaning", lease_expires_at=5 + LEASE)
    assert story.refused("report_running", epoch=1) == {"under_way"}


def test_receipts_may_be_lost_but_an_unknown_attempt_is_not_known_again() -> None:
    story = story_with_a_worker()
    story.reserve()
    story.take("report_running", epoch=1)
    story.at(LEASE)
    story.take("expire")
    assert story.refused("report_running", epoch=1) == {"under_way", "lease_alive"}
    assert story.refused("succeed", epoch=1) == {"rendered", "lease_alive"}


@pytest.mark.parametrize("status", LEASED)
def test_an_attempt_keeps_its_lease_to_the_end(status: str) -> None:
    """The worker is gone, the attempt still has a lease: the tick that expires it comes first."""
    story = story_with_a_worker(worker_ttl=2)
    story.reserve()
    if status != "dispatched":
        story.take(f"report_{status}", epoch=1)
    story.at(2)
    assert story.refused("give_up") == {"not_leased"}
    assert story.refused("expire") == {"lease_over"}
    story.at(LEASE)
    story.take("expire")
    story.take("give_up")


def test_a_registration_ends_what_was_under_way_by_its_own_word() -> None:
    story = running()
    story.take("request_cancel")
    story.take("register", epoch=2)
    story.shows(1, status="cancelled", error_code=None, active_occupancy=0)
    story.reserve(2, deadline_at=4)
    story.at(4)
    story.take("register", epoch=3)
    story.shows(2, status="expired", error_code=DEADLINE_EXCEEDED)


def test_a_place_is_given_back_once() -> None:
    story = running()
    story.take("fail", epoch=1, code=OWN_CODES[1])
    story.take("report_clean", epoch=1)
    assert story.refused("report_clean", epoch=1) == {"occupied"}
    story.at(TTL)
    assert story.refused("give_up") == {"occupied"}


# --- the words --------------------------------------------------------------------------------------------------------


def test_every_status_corresponds_to_a_job_status_as_live_or_ended_as_itself() -> None:
    job = JOB_CONTRACT.machine("job")
    assert set(SLOT_AS_JOB) == {status.name for status in STATUSES}
    assert {SLOT_AS_JOB[name] for name in LIVE} <= set(job.live)
    assert {SLOT_AS_JOB[name] for name in TERMINAL} <= set(job.terminal)
