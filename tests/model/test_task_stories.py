"""Runs of one task, told step by step; first those in which the published table goes wrong.

After each step of a story every invariant and every step property of the contract is looked at as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from fencepost_model.machines.task import TASK_CONTRACT
from fencepost_model.machines.task_worlds import tasks
from fencepost_model.semantics import Accepted, Call, Refused, Row, Semantics, State
from fencepost_model.terms import Value

VERBS = frozenset({"stop", "cancel", "pause", "resume", "skip", "retry", "force_retry", "skip_failed", "reset"})
SPEAKS_OF_CARRIER = frozenset(
    operation.name for operation in TASK_CONTRACT.operations if any(v.name == "carrier" for v in operation.over)
)


@dataclass
class Story:
    """One task with two carriers; events of carriers come from the first unless the story says otherwise."""

    settings: dict[str, Value] = field(default_factory=TASK_CONTRACT.defaults)
    state: State = field(init=False)
    semantics: Semantics = field(init=False)

    def __post_init__(self) -> None:
        self.semantics = Semantics(TASK_CONTRACT, tasks(2), self.settings)
        self.state = next(self.semantics.initial())

    @property
    def task(self) -> Row:
        return self.state.rows[0][0]

    @property
    def carriers(self) -> tuple[Row, ...]:
        return self.state.rows[0][1:]

    def shows(self, **expected: Value) -> None:
        assert {name: self.task[name] for name in expected} == expected

    def call(self, operation: str, carrier: int, params: dict[str, Value]) -> Call:
        given = dict(params)
        if operation in VERBS:
            given.setdefault("version", self.task["status_version"])
        if operation == "dispatch":
            given.setdefault("place", f"p{carrier}")
        binding = {"task": 0, "carrier": carrier} if operation in SPEAKS_OF_CARRIER else {"task": 0}
        return Call(operation, 0, binding, given)

    def take(self, operation: str, carrier: int = 1, **params: Value) -> str:
        call = self.call(operation, carrier, params)
        outcome = self.semantics.attempt(self.state, call)
        assert isinstance(outcome, Accepted), f"{operation} is refused: {outcome}"
        assert self.semantics.broken_step_properties(self.state, call, outcome.state) == ()
        assert self.semantics.broken_invariants(outcome.state) == ()
        self.state = outcome.state
        return outcome.case.name

    def refused(self, operation: str, carrier: int = 1, **params: Value) -> set[str]:
        outcome = self.semantics.attempt(self.state, self.call(operation, carrier, params))
        assert isinstance(outcome, Refused), f"{operation} is allowed: {outcome}"
        return set(outcome.guards)

    def goes(self, *operations: str) -> None:
        for operation in operations:
            self.take(operation)


def begun(*operations: str, max_attempts: int = 2) -> Story:
    """A story in which a task was handed in and some things happened."""
    story = Story()
    story.take("submit", max_attempts=max_attempts)
    story.goes(*operations)
    return story


# --- the bad snapshots of the published table -------------------------------------------------------------------------


def test_a_task_paused_in_the_queue_does_not_run_when_resumed() -> None:
    """`pending > queued > paused > running` has no start of any attempt."""
    story = begun("deps_ready", "pause", "resume")
    story.shows(status="queued", started_at=None)
    assert "may_start" in story.refused("started")


def test_a_start_of_an_earlier_attempt_lets_nothing_run() -> None:
    """`starting > retry_wait > paused > running` passes the published guard with the old started_at."""
    story = begun("deps_ready", "dispatch", "started", "raised_retry")
    story.shows(status="retry_wait", started_at=None, failure_kind="EXCEPTION")
    story.goes("pause", "resume")
    story.shows(status="retry_wait")
    story.take("backoff_over")
    story.shows(status="queued")


@pytest.mark.parametrize(("verb", "end"), [("stop", "stopped"), ("cancel", "cancelled")])
def test_a_pause_in_place_is_stopped_through_its_carrier(verb: str, end: str) -> None:
    """`paused > stopped` would end the task while its carrier lives."""
    story = begun("deps_ready", "dispatch", "started", "pause", "quiesced", verb)
    story.shows(status="stopping", stop_cause=verb)
    assert story.carriers[0]["attempt"] == 1
    story.take("acked")
    story.shows(status=end, failure_kind="CANCELLED")
    assert story.carriers[0]["place"] is None


def test_a_pause_in_place_does_not_go_back_to_the_queue() -> None:
    """`paused > queued` with the slot held would run the task twice."""
    story = begun("deps_ready", "dispatch", "started", "pause", "quiesced", "resume")
    story.shows(status="running")
    assert story.carriers[0]["place"] == "p1"


def test_a_retry_does_not_get_past_the_queue_nor_the_budget() -> None:
    """`starting > retry_wait > starting` counts beyond max_attempts."""
    story = begun("deps_ready", "dispatch", "raised_retry")
    assert "queued" in story.refused("dispatch", 2)
    story.goes("backoff_over", "dispatch", "raised_retry")
    story.shows(status="failed", attempt=2, max_attempts=2)
    assert story.refused("retry") == {"budget_left"}


def test_a_forced_retry_raises_the_budget_and_says_so() -> None:
    """In the published machine it reached the queue, where mark_starting refuses for ever."""
    story = begun("deps_ready", "dispatch", "raised_final", max_attempts=1)
    assert story.refused("retry") == {"budget_left"}
    story.take("force_retry")
    story.shows(status="queued", attempt=1, max_attempts=2, overridden=True)
    story.goes("dispatch", "started", "returned")
    story.shows(status="succeeded", attempt=2)


def test_a_pause_of_what_has_not_started_is_only_recorded() -> None:
    """From starting the published table reaches pausing, and rolls back to running without a report."""
    story = begun("deps_ready", "dispatch")
    assert story.take("pause") == "noted"
    story.shows(status="starting", requested_action="pause")
    assert story.refused("pause_window_over") == {"pausing"}
    assert story.take("started") == "pausing"
    story.take("pause_window_over")
    story.shows(status="running", requested_action=None, started_at=0)


def test_an_old_attempt_does_not_speak_for_a_new_one() -> None:
    """`supervisor_lost > retry > dispatch > returned by attempt 1` would make the new attempt succeed."""
    story = begun("deps_ready", "dispatch", "started", "supervisor_lost")
    story.shows(status="lost", failure_kind="LOST")
    assert story.refused("retry") == {"no_carrier_lives"}
    assert story.refused("reset") == {"no_carrier_lives"}
    story.take("force_retry")
    assert story.refused("dispatch", 2, place="p1") == {"place_free"}
    story.take("dispatch", 2)
    assert story.refused("returned", 1) == {"current_attempt"}
    story.take("late_end", 1)
    story.shows(status="starting", attempt=2)
    assert story.take("returned", 2) == "succeeded"


# --- what a table cannot say ------------------------------------------------------------------------------------------


def test_a_thread_that_is_given_up_keeps_its_place_and_blocks_the_retry() -> None:
    story = begun("deps_ready", "dispatch", "started", "stop")
    assert story.take("window_over", killed=False) == "lost"
    assert story.carriers[0]["place"] == "p1"
    assert story.refused("returned") == {"at_work"}
    assert story.refused("retry") == {"no_carrier_lives"}
    story.take("late_end")
    story.take("retry")
    story.shows(status="queued", failure_kind=None)


@pytest.mark.parametrize(("verb", "end"), [("stop", "stopped"), ("cancel", "cancelled")])
def test_a_killed_process_ends_as_was_asked(verb: str, end: str) -> None:
    story = begun("deps_ready", "dispatch", "started", verb)
    assert story.take("window_over", killed=True) == end
    story.shows(status=end, failure_kind="CANCELLED")


def test_a_killed_process_that_timed_out_is_retried_and_then_fails() -> None:
    story = begun("deps_ready", "dispatch", "started", "attempt_timeout")
    assert story.take("window_over", killed=True) == "retried"
    story.goes("backoff_over", "dispatch", "start_timeout")
    assert story.take("window_over", killed=True) == "failed"
    story.shows(failure_kind="TIMEOUT_START", attempt=2)


@pytest.mark.parametrize(("first", "second"), [("stop", "cancel"), ("cancel", "stop")])
def test_the_first_of_stop_and_cancel_stays(first: str, second: str) -> None:
    story = begun("deps_ready", "dispatch", "started", first)
    assert story.take(second) == "noted_before"
    story.shows(stop_cause=first)


@pytest.mark.parametrize("verb", ["stop", "cancel"])
def test_either_takes_the_place_of_a_time_out(verb: str) -> None:
    story = begun("deps_ready", "dispatch", "started", "idle_timeout")
    story.shows(stop_cause="timeout", failure_kind="TIMEOUT_IDLE")
    story.take(verb)
    story.shows(stop_cause=verb, failure_kind=None)
    assert story.take("raised_retry") in ("stopped", "cancelled")


def test_a_pause_recorded_over_a_retryable_error_rests_after_the_back_off() -> None:
    story = begun("deps_ready", "dispatch", "started", "pause", "raised_retry")
    story.shows(status="retry_wait", requested_action="pause")
    assert story.take("backoff_over") == "paused"
    story.take("resume")
    story.shows(status="queued")


def test_success_beats_a_stop() -> None:
    story = begun("deps_ready", "dispatch", "started", "stop", "returned")
    story.shows(status="succeeded", requested_action="stop", failure_kind=None)


def test_verbs_act_at_once_where_no_place_is_held() -> None:
    for waits in (
        ("deps_missing",),
        ("deps_ready",),
        ("deps_ready", "pause"),
        ("deps_ready", "dispatch", "raised_retry"),
    ):
        for verb, end in (("stop", "stopped"), ("cancel", "cancelled")):
            story = begun(*waits)
            assert story.take(verb) == "at_once"
            story.shows(status=end)


def test_an_orphan_ends_by_what_is_known_of_it() -> None:
    for course, end in (
        ((), "cancelled"),
        (("deps_ready",), "cancelled"),
        (("deps_ready", "dispatch", "raised_retry"), "failed"),
        (("deps_ready", "dispatch", "raised_retry", "backoff_over", "pause"), "failed"),
        (("deps_ready", "dispatch"), "lost"),
        (("deps_ready", "dispatch", "started", "pause", "quiesced"), "lost"),
    ):
        story = begun(*course, "supervisor_lost")
        story.shows(status=end, failure_kind="LOST")


def test_a_reset_begins_anew_and_keeps_the_history() -> None:
    story = begun("deps_ready", "dispatch", "returned", "reset")
    story.shows(status="pending", attempt=0, starts=1, ended_at=None)


def test_a_verb_that_comes_too_late_changes_nothing() -> None:
    story = begun("deps_ready")
    assert story.refused("skip", version=0) == {"version_read"}
    assert story.take("skip", version=1) == "skipped"


def test_a_failure_upstream_ends_what_waits_as_the_pipeline_chose() -> None:
    for skips, end in ((False, "cancelled"), (True, "skipped")):
        story = Story({**TASK_CONTRACT.defaults(), "skips_downstream": skips})
        story.take("submit", max_attempts=1)
        story.goes("deps_missing", "upstream_failed")
        story.shows(status=end, failure_kind="DEPENDENCY_FAILED")
