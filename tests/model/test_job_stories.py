"""Runs of one job, told step by step: what the contract of the job says in the situations that it was written for.

After each step of a story every invariant and every step property of the contract is looked at as well.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from fencepost_model.error_codes import (
    JOB_DEADLINE_EXCEEDED,
    LEASE_RELEASE_CEILING,
    LEASE_TIMEOUT_MAX_ATTEMPTS,
    LEASE_TIMEOUT_RECOVERED,
)
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.machines.job import TERMINAL
from fencepost_model.machines.job_worlds import jobs
from fencepost_model.semantics import Accepted, Call, Refused, Row, Semantics, State
from fencepost_model.terms import Value

INFRA, CONTENT, CANCEL, FENCE = (
    "RENDER_SERVICE_UNAVAILABLE",
    "PAGE_SCREENSHOT_JOB_STALE",
    "AI_RUN_CANCELLED",
    "BUILD_LEASE_OWNER_MISMATCH",
)
LEASE = 10
"""The length of a lease in these stories, in seconds."""

REST: dict[str, Value] = {"worker_id": None, "lease_expires_at": None, "heartbeat_at": None}


def settings_with(**more: Value) -> dict[str, Value]:
    return {**JOB_CONTRACT.defaults(), "lease_seconds": LEASE, **more}


PARKING = settings_with(registers_park=True, max_polls=2)


@dataclass
class Story:
    """One job and the executions that may hold it: ``a`` and ``b`` run in one worker, ``c`` in another."""

    settings: dict[str, Value] = field(default_factory=settings_with)
    state: State = field(init=False)
    semantics: Semantics = field(init=False)

    def __post_init__(self) -> None:
        self.semantics = Semantics(JOB_CONTRACT, jobs(1, "w1", "w1", "w2"), self.settings)
        self.state = next(self.semantics.initial())

    @property
    def job(self) -> Row:
        return self.state.rows[0][0]

    def shows(self, **expected: Value) -> None:
        """The job's row has these values."""
        assert {name: self.job[name] for name in expected} == expected

    def at(self, instant: float) -> None:
        """The clock comes to show this instant."""
        self.state = self.semantics.advance(self.state, instant - self.state.now)

    def take(self, operation: str, who: str = "", **params: Value) -> str:
        """Make a call that is allowed: the case that was taken."""
        call = self.call(operation, who, params)
        outcome = self.semantics.attempt(self.state, call)
        assert isinstance(outcome, Accepted), f"{operation} is refused: {outcome}"
        assert self.semantics.broken_step_properties(self.state, call, outcome.state) == ()
        assert self.semantics.broken_invariants(outcome.state) == ()
        self.state = outcome.state
        return outcome.case.name

    def refused(self, operation: str, who: str = "", **params: Value) -> set[str]:
        """Make a call that is not allowed: the guards that forbid it."""
        outcome = self.semantics.attempt(self.state, self.call(operation, who, params))
        assert isinstance(outcome, Refused), f"{operation} is allowed: {outcome}"
        return set(outcome.guards)

    def enqueue(self, max_attempts: int = 2, deadline_at: float | None = None) -> None:
        assert self.take("enqueue", max_attempts=max_attempts, deadline_at=deadline_at) == "created"

    @staticmethod
    def call(operation: str, who: str, params: dict[str, Value]) -> Call:
        binding = {"job": 0, "token": 1 + "abc".index(who)} if who else {"job": 0}
        chosen: dict[str, Value] = {"delay": 5, "message": None}
        return Call(operation, 0, binding, {**chosen, **params})


@pytest.fixture
def story() -> Story:
    return Story()


@pytest.fixture
def parking() -> Story:
    return Story(PARKING)


# --- the ordinary course ----------------------------------------------------------------------------------------------


def test_claimed_renewed_and_succeeded(story: Story) -> None:
    story.enqueue()
    story.shows(status="pending", attempt_count=0, lease_generation=0, max_attempts=2)
    story.at(3)
    assert story.take("claim", "a") == "claimed"
    story.shows(status="running", worker_id="w1", lease_expires_at=13, lease_generation=1, attempt_count=1)
    story.shows(started_at=3, heartbeat_at=3, attempt_id=1)
    story.at(9)
    assert story.take("renew", "a") == "renewed"
    story.shows(lease_expires_at=19, heartbeat_at=9, lease_generation=1, started_at=3)
    story.at(18)
    assert story.take("succeed", "a") == "succeeded"
    story.shows(status="succeeded", finished_at=18, lease_generation=2, error_code=None, **REST)


def test_what_has_ended_answers_nothing(story: Story) -> None:
    story.enqueue()
    story.take("claim", "a")
    story.take("succeed", "a")
    assert story.refused("claim", "b") == {"pending"}
    assert story.refused("request_cancel") == {"not_ended"}
    assert story.refused("renew", "a") == {"running", "owner", "generation", "lease_alive"}
    assert story.refused("recover") == {"running"}
    assert story.refused("expire_overdue") == {"unheld", "beyond_claiming"}
    assert story.refused("enqueue", max_attempts=2, deadline_at=None) == {"new"}


@pytest.mark.parametrize(
    ("max_attempts", "deadline_at", "guards"),
    [
        (0, None, {"attempts_positive"}),
        (1, 7, {"deadline_ahead"}),
        (0, 6, {"attempts_positive", "deadline_ahead"}),
    ],
)
def test_a_job_that_could_never_be_claimed_is_not_taken_in(
    story: Story, max_attempts: int, deadline_at: float | None, guards: set[str]
) -> None:
    story.at(7)
    assert story.refused("enqueue", max_attempts=max_attempts, deadline_at=deadline_at) == guards


def test_where_jobs_park_each_needs_a_deadline(parking: Story) -> None:
    assert parking.refused("enqueue", max_attempts=1, deadline_at=None) == {"deadline_given"}
    parking.enqueue(1, 9)


# --- leases and tokens ------------------------------------------------------------------------------------------------


def test_a_lease_is_over_at_its_very_end(story: Story) -> None:
    story.enqueue()
    story.take("claim", "a")
    story.at(9.999)
    assert story.refused("recover") == {"lease_over"}
    story.at(10)
    assert story.refused("renew", "a") == {"lease_alive"}
    assert story.refused("succeed", "a") == {"lease_alive"}
    assert story.take("recover") == "requeued"
    story.shows(status="pending", next_attempt_at=15, error_code=LEASE_TIMEOUT_RECOVERED, attempt_count=1, **REST)


def test_a_stale_token_of_the_same_worker_is_refused(story: Story) -> None:
    """The owner is no fence: both executions run in one worker, and only the generation tells them apart."""
    story.enqueue()
    story.take("claim", "a")
    story.at(10)
    story.take("recover")
    assert story.refused("claim", "b") == {"due"}
    story.at(15)
    assert story.take("claim", "b") == "claimed"
    story.shows(worker_id="w1", lease_generation=3, attempt_count=2, attempt_id=3)
    for operation in ("renew", "succeed", "release"):
        assert story.refused(operation, "a") == {"generation"}
    assert story.refused("fail", "a", code=INFRA) == {"generation"}
    assert story.refused("acknowledge_cancel", "a") == {"generation", "cancel_requested"}
    assert story.refused("succeed", "c") == {"owner", "generation"}
    assert story.take("succeed", "b") == "succeeded"


def test_attempts_are_spent_by_crashes(story: Story) -> None:
    story.enqueue(max_attempts=2)
    for start in (0, 20):
        if start:
            story.at(start)
        assert story.take("claim", "a") == "claimed"
        story.at(start + LEASE)
        assert story.take("recover") == ("exhausted" if start else "requeued")
    story.shows(status="failed", error_code=LEASE_TIMEOUT_MAX_ATTEMPTS, attempt_count=2, starts=2, finished_at=30)


def test_a_deadline_cuts_the_lease(story: Story) -> None:
    story.enqueue(deadline_at=14)
    story.at(1)
    story.take("claim", "a")
    story.shows(lease_expires_at=11)
    story.at(8)
    story.take("renew", "a")
    story.shows(lease_expires_at=14)
    story.at(12)
    story.take("renew", "a")
    story.shows(lease_expires_at=14)
    story.at(14)
    assert story.refused("renew", "a") == {"lease_alive", "before_deadline"}
    assert story.take("recover") == "overdue"
    story.shows(status="failed", error_code=JOB_DEADLINE_EXCEEDED, finished_at=14)


def test_renewing_never_shortens_a_lease(story: Story) -> None:
    """A lease granted under a longer setting is kept until the shorter one reaches further."""
    story.enqueue()
    story.take("claim", "a")
    story.semantics = replace(story.semantics, settings=settings_with(lease_seconds=3))
    story.at(2)
    story.take("renew", "a")
    story.shows(lease_expires_at=10, heartbeat_at=2)
    story.at(9)
    story.take("renew", "a")
    story.shows(lease_expires_at=12)


@pytest.mark.parametrize(("registered", "case", "status"), [(True, "expired", "expired"), (False, "overdue", "failed")])
def test_a_pending_job_past_its_deadline_is_ended(registered: bool, case: str, status: str) -> None:
    story = Story(settings_with(registers_expired=registered))
    story.enqueue(deadline_at=5)
    story.at(4.5)
    assert story.refused("expire_overdue") == {"beyond_claiming"}
    story.at(5)
    assert story.refused("claim", "a") == {"before_deadline"}
    assert story.take("expire_overdue") == case
    story.shows(status=status, error_code=JOB_DEADLINE_EXCEEDED, finished_at=5)


# --- errors -----------------------------------------------------------------------------------------------------------


def test_an_error_of_the_infrastructure_is_retried_until_the_attempts_are_spent(story: Story) -> None:
    story.enqueue(max_attempts=2)
    story.take("claim", "a")
    assert story.take("fail", "a", code=INFRA, message="no answer") == "retried"
    story.shows(status="pending", next_attempt_at=5, error_code=INFRA, error_message="no answer", attempt_count=1)
    story.at(5)
    story.take("claim", "a")
    story.shows(error_code=None, error_message=None, next_attempt_at=None)
    assert story.take("fail", "a", code=INFRA) == "final"
    story.shows(status="failed", error_code=INFRA, finished_at=5)


@pytest.mark.parametrize(("code", "case", "status"), [(CONTENT, "final", "failed"), (CANCEL, "cancelled", "cancelled")])
def test_other_families_end_the_job_at_once(story: Story, code: str, case: str, status: str) -> None:
    story.enqueue()
    story.take("claim", "a")
    assert story.take("fail", "a", code=code) == case
    story.shows(status=status, error_code=code)


def test_a_fence_code_is_no_verdict(story: Story) -> None:
    story.enqueue()
    story.take("claim", "a")
    assert story.refused("fail", "a", code=FENCE) == {"code_is_a_verdict"}


def test_no_retry_that_would_start_at_or_past_the_deadline(story: Story) -> None:
    story.enqueue(deadline_at=5)
    story.take("claim", "a")
    assert story.take("fail", "a", code=INFRA, delay=5) == "final"
    story.shows(status="failed", error_code=INFRA)


# --- cancelling -------------------------------------------------------------------------------------------------------


def test_a_running_job_is_asked_to_stop_and_acknowledges(story: Story) -> None:
    story.enqueue()
    story.take("claim", "a")
    assert story.refused("acknowledge_cancel", "a") == {"cancel_requested"}
    story.at(2)
    assert story.take("request_cancel") == "noted"
    story.at(4)
    assert story.take("request_cancel") == "noted_before"
    story.shows(status="running", cancel_requested_at=2)
    assert story.refused("succeed", "a") == {"cancel_does_not_win"}
    assert story.take("renew", "a") == "renewed"
    assert story.take("acknowledge_cancel", "a") == "acknowledged"
    story.shows(status="cancelled", finished_at=4, error_code=None, lease_generation=2, **REST)


def test_a_success_may_beat_a_cancel_where_the_profile_says_so() -> None:
    story = Story(settings_with(cancel_wins=False))
    story.enqueue()
    story.take("claim", "a")
    story.take("request_cancel")
    assert story.take("succeed", "a") == "succeeded"
    story.shows(status="succeeded", cancel_requested_at=0)


def test_a_pending_job_is_cancelled_at_once(story: Story) -> None:
    story.enqueue()
    story.at(1)
    assert story.take("request_cancel") == "immediate"
    story.shows(status="cancelled", finished_at=1, cancel_requested_at=None, attempt_count=0)


@pytest.mark.parametrize(
    "leave", [lambda story: story.take("release", "a"), lambda story: story.take("fail", "a", code=INFRA)]
)
def test_a_job_asked_to_stop_is_not_put_back(story: Story, leave: Callable[[Story], str]) -> None:
    story.enqueue()
    story.take("claim", "a")
    story.take("request_cancel")
    assert leave(story) == "cancelled"
    story.shows(status="cancelled")


def test_a_holder_that_died_after_a_cancel_leaves_a_cancelled_job(story: Story) -> None:
    story.enqueue()
    story.take("claim", "a")
    story.take("request_cancel")
    story.at(10)
    assert story.take("recover") == "cancelled"
    story.shows(status="cancelled", attempt_count=1)


# --- handing back -----------------------------------------------------------------------------------------------------


def test_handing_back_costs_nothing_below_the_ceiling() -> None:
    """Each claim and each exit raises the generation by one, so it is 1, 3 and 5 while the job is held."""
    story = Story(settings_with(release_ceiling=5))
    story.enqueue(max_attempts=2)
    for hand_backs in (1, 2):
        story.take("claim", "a")
        assert story.take("release", "a") == "handed_back"
        story.shows(status="pending", attempt_count=0, next_attempt_at=None, hand_backs=hand_backs)
        story.shows(lease_generation=2 * hand_backs, error_code=None)
    story.take("claim", "a")
    assert story.take("release", "a") == "retried"
    story.shows(status="pending", attempt_count=1, hand_backs=2, next_attempt_at=5, error_code=LEASE_RELEASE_CEILING)
    story.at(5)
    story.take("claim", "a")
    assert story.take("release", "a") == "exhausted"
    story.shows(status="failed", attempt_count=2, starts=4, error_code=LEASE_RELEASE_CEILING)


def test_at_the_ceiling_a_hand_back_is_not_retried_past_the_deadline() -> None:
    story = Story(settings_with(release_ceiling=0))
    story.enqueue(deadline_at=5)
    story.take("claim", "a")
    assert story.take("release", "a", delay=5) == "exhausted"
    story.shows(status="failed", attempt_count=1, hand_backs=0)


# --- waiting for a provider -------------------------------------------------------------------------------------------


def test_parked_polled_and_recovered_under_one_reference(parking: Story) -> None:
    """Work that a provider has is not submitted again: the reference outlives the crash of a poll."""
    parking.enqueue(max_attempts=1, deadline_at=100)
    parking.take("claim", "a")
    assert parking.refused("park", "a", provider_ref="r7", next_poll_at=0) == {"poll_ahead"}
    assert parking.take("park", "a", provider_ref="r7", next_poll_at=4) == "parked"
    parking.shows(status="waiting_provider", provider_ref="r7", next_poll_at=4, attempt_count=1, **REST)
    assert parking.refused("resume_poll", "c") == {"poll_due"}
    assert parking.refused("succeed", "a") == {"running", "owner", "generation", "lease_alive"}
    parking.at(4)
    assert parking.take("resume_poll", "c") == "resumed"
    parking.shows(status="running", worker_id="w2", poll_count=1, attempt_count=1, attempt_id=1, next_poll_at=None)
    parking.at(14)
    assert parking.take("recover", delay=3) == "polled_again"
    parking.shows(status="waiting_provider", provider_ref="r7", next_poll_at=17, attempt_count=1)
    parking.shows(error_code=LEASE_TIMEOUT_RECOVERED)
    parking.at(17)
    parking.take("resume_poll", "a")
    assert parking.take("succeed", "a") == "succeeded"
    parking.shows(provider_ref="r7", poll_count=2, attempt_count=1, starts=1, error_code=None)


def test_polls_are_bounded_and_the_deadline_ends_the_wait(parking: Story) -> None:
    parking.enqueue(max_attempts=1, deadline_at=20)
    parking.take("claim", "a")
    parking.take("park", "a", provider_ref="r7", next_poll_at=1)
    for poll in (1, 2):
        parking.at(poll)
        parking.take("resume_poll", "a")
        assert parking.take("release", "a", delay=1) == "polled_again"
    parking.at(3)
    assert parking.refused("resume_poll", "a") == {"polls_left"}
    assert parking.refused("expire_overdue") == {"beyond_claiming"}
    parking.at(20)
    assert parking.take("expire_overdue") == "overdue"
    parking.shows(status="failed", next_poll_at=None, provider_ref="r7", error_code=JOB_DEADLINE_EXCEEDED)


def test_a_failed_poll_is_polled_again(parking: Story) -> None:
    parking.enqueue(max_attempts=2, deadline_at=50)
    parking.take("claim", "a")
    parking.take("park", "a", provider_ref="r7", next_poll_at=1)
    parking.at(1)
    parking.take("resume_poll", "a")
    assert parking.take("fail", "a", code=INFRA) == "polled_again"
    parking.shows(status="waiting_provider", next_poll_at=6, error_code=INFRA, attempt_count=1)


def test_a_parked_job_is_cancelled_at_once(parking: Story) -> None:
    parking.enqueue(deadline_at=50)
    parking.take("claim", "a")
    parking.take("park", "a", provider_ref="r7", next_poll_at=9)
    assert parking.take("request_cancel") == "immediate"
    parking.shows(status="cancelled", next_poll_at=None)


def test_a_job_asked_to_stop_is_not_parked(parking: Story) -> None:
    parking.enqueue(deadline_at=50)
    parking.take("claim", "a")
    parking.take("request_cancel")
    assert parking.take("park", "a", provider_ref="r7", next_poll_at=9) == "cancelled"
    parking.shows(status="cancelled", provider_ref="r7", next_poll_at=None)


def test_words_that_a_queue_does_not_register_are_refused(story: Story) -> None:
    story.enqueue(deadline_at=50)
    story.take("claim", "a")
    assert story.refused("park", "a", provider_ref="r7", next_poll_at=9) == {"park_registered"}
    assert story.refused("skip", "a", code=CONTENT) == {"skip_registered"}
    assert story.refused("skip", "a", code=INFRA) == {"skip_registered", "content_code"}


def test_content_that_calls_for_nothing_is_skipped() -> None:
    story = Story(settings_with(registers_skip=True))
    story.enqueue()
    story.take("claim", "a")
    assert story.take("skip", "a", code=CONTENT) == "skipped"
    story.shows(status="skipped", error_code=CONTENT, finished_at=0)


# --- rows of older programs -------------------------------------------------------------------------------------------


def swept(story: Story) -> list[str]:
    """Recovery and expiry run until neither finds anything more to do; the cases taken."""
    taken: list[str] = []
    while len(taken) < 10:
        for sweep in ("recover", "expire_overdue"):
            if isinstance(story.semantics.attempt(story.state, Story.call(sweep, "", {})), Accepted):
                taken.append(f"{sweep}/{story.take(sweep)}")
                break
        else:
            return taken
    raise AssertionError(f"the sweeps go round: {taken}")


LEGACY = tuple(row.name for row in JOB_CONTRACT.root.legacy_rows)


def found(name: str, **changes: Value) -> Story:
    story = Story()
    root, *tokens = dict(story.semantics.legacy_rows())[name]
    story.state = State(0, (({**root, **changes}, *tokens),))
    assert story.semantics.broken_invariants(story.state) == ()
    return story


@pytest.mark.parametrize("name", LEGACY)
def test_a_legacy_row_is_ended_or_made_claimable_by_sweeps_alone(name: str) -> None:
    """No row of an older program is in limbo: what the sweeps do not end, a worker can take."""
    story = found(name)
    assert swept(story), "the sweeps have nothing to do with it"
    if story.job["status"] in TERMINAL:
        story.shows(lease_expires_at=None, worker_id=None)
    else:
        story.shows(status="pending", origin="ours")
        story.at(5)
        assert story.take("claim", "a") == "claimed"


@pytest.mark.parametrize("name", LEGACY)
def test_a_legacy_row_with_a_deadline_is_ended_by_the_clock_and_the_sweeps(name: str) -> None:
    story = found(name, deadline_at=7)
    swept(story)
    story.at(7)
    swept(story)
    assert story.job["status"] in TERMINAL


def test_how_legacy_rows_end() -> None:
    ends: dict[str, tuple[list[str], Value]] = {}
    for name in LEGACY:
        story = found(name)
        ends[name] = (swept(story), story.job["status"])
    assert ends == {
        "running_without_lease": (["recover/requeued"], "pending"),
        "running_without_owner": (["recover/exhausted"], "failed"),
        "running_cancelled": (["recover/cancelled"], "cancelled"),
        "pending_spent": (["expire_overdue/exhausted"], "failed"),
        "pending_cancelled": (["expire_overdue/cancelled"], "cancelled"),
    }
