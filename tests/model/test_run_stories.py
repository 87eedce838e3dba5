"""Runs of a model and their batches, told step by step: who works on them, what outlives a process, what ends together.

After each step of a story every invariant and every step property of the contract is looked at as well.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from fencepost_model.error_codes import LEASE_TIMEOUT_MAX_ATTEMPTS
from fencepost_model.machines.run import LIVE_BATCH, OWN_CODES, PROCESS_STOPPED, RUN_CONTRACT
from fencepost_model.machines.run_worlds import batch, host
from fencepost_model.semantics import Accepted, Call, Refused, Row, Semantics, State
from fencepost_model.terms import Value

TTL, LEASE, RESUMES = 90, 30, 2
"""An owner's time to live and a coordinator's lease, in seconds; how often a batch may be resumed."""

POPULATION = host(("p1", "p2"), ((batch("A", 2, ("p1", "p1", "p2")), batch("B", 1, ("p2",))),))
PLACES: dict[str, int] = {slot.label: slot.index for slot in POPULATION.slots}
"""Where each entity stands: owners p1 and p2; the run; batches A and B; A.1, A.2, B.1; tokens A.p1, A.p1', ..."""


@dataclass
class Story:
    """One run with two batches, two processes, and their coordinators (A.p1' is a second execution in p1)."""

    settings: Mapping[str, Value] = field(
        default_factory=lambda: {"owner_ttl": TTL, "lease_seconds": LEASE, "max_resumes": RESUMES}
    )
    state: State = field(init=False)
    semantics: Semantics = field(init=False)

    def __post_init__(self) -> None:
        self.semantics = Semantics(RUN_CONTRACT, POPULATION, self.settings)
        self.state = next(self.semantics.initial())

    def row(self, label: str) -> Row:
        return self.state.rows[0][PLACES[label]]

    def shows(self, label: str, **expected: Value) -> None:
        """The row of that entity has these values."""
        assert {name: self.row(label)[name] for name in expected} == expected

    def stand(self, **expected: str) -> None:
        """The statuses of the run and its batches; ``A_1`` is the first requirement of A."""
        names = {name: "run 1" if name == "run" else name.replace("_", ".") for name in expected}
        assert {name: self.row(label)["status"] for name, label in names.items()} == expected

    def at(self, instant: float) -> None:
        """The clock comes to show this instant."""
        self.state = self.semantics.advance(self.state, instant - self.state.now)
        assert self.semantics.broken_invariants(self.state) == ()

    def _call(self, operation: str, who: str, what: str, params: Mapping[str, Value]) -> Call:
        """``who`` is an owner or a coordinator; ``what`` a batch or a requirement."""
        binding: dict[str, int] = {}
        for variable in RUN_CONTRACT.operation(operation).over:
            match variable.machine:
                case "host":
                    label = "host"
                case "run":
                    label = "run 1"
                case "batch":
                    label = what.partition(".")[0]
                case "batch_token":
                    label = f"{what}.{who}"
                case "requirement":
                    label = what
                case _:
                    label = who
            binding[variable.name] = PLACES[label]
        return Call(operation, 0, binding, params)

    def take(self, operation: str, who: str = "", what: str = "", **params: Value) -> str:
        """Make a call that is allowed: the case that was taken."""
        call = self._call(operation, who, what, params)
        outcome = self.semantics.attempt(self.state, call)
        assert isinstance(outcome, Accepted), f"{operation} is refused: {outcome}"
        assert self.semantics.broken_step_properties(self.state, call, outcome.state) == ()
        assert self.semantics.broken_invariants(outcome.state) == ()
        self.state = outcome.state
        return outcome.case.name

    def refused(self, operation: str, who: str = "", what: str = "", **params: Value) -> set[str]:
        """Make a call that is not allowed: the guards that forbid it."""
        outcome = self.semantics.attempt(self.state, self._call(operation, who, what, params))
        assert isinstance(outcome, Refused), f"{operation} is allowed: {outcome}"
        return set(outcome.guards)

    def close(self, what: str, who: str = "p1") -> None:
        """The owner opens a batch, adds all its requirements and closes it."""
        self.take("open_batch", who, what)
        for label in PLACES:
            if label.startswith(f"{what}.") and label.removeprefix(f"{what}.").isdigit():
                self.take("add_requirement", who, label)
        self.take("close_batch", who, what)


def running() -> Story:
    """Process p1 has started the run at instant 0."""
    story = Story()
    story.take("register", "p1")
    story.take("start_run", "p1")
    return story


def handed_over() -> Story:
    """The run waits for batch A, which is ready."""
    story = running()
    story.close("A")
    story.take("wait_externally", "p1")
    story.take("tasks_done", what="A")
    return story


def resuming(who: str = "p2") -> Story:
    """A coordinator resumes batch A, until instant LEASE."""
    story = handed_over()
    if who != "p1":
        story.take("register", who)
    story.take("claim_resuming", who, "A")
    return story


# --- INV-1 ------------------------------------------------------------------------------------------------------------


def test_b1_the_passing_of_time_breaks_nothing() -> None:
    """Trial model: close; tasks_done; claim; tick; tick breaks INV-1 as it was published."""
    story = resuming()
    story.stand(run="running", A="resuming", A_1="resolving", A_2="resolving")
    story.at(LEASE)
    story.stand(A="resuming", A_1="resolving")
    story.at(LEASE + 1)
    story.stand(A="resuming", A_1="resolving")
    assert story.take("recover_resuming", what="A") == "ready_again"
    story.stand(run="waiting_external", A="ready", A_1="pending", A_2="pending")


def test_b1_one_requirement_may_be_cancelled_before_the_batch_resumes() -> None:
    """Trial model: close; tasks_done; requirement 0 cancelled; claim breaks the equivalence with two requirements."""
    story = handed_over()
    story.take("cancel_requirement", what="A.1")
    story.take("claim_resuming", "p1", "A")
    story.stand(A="resuming", A_1="cancelled", A_2="resolving")
    story.take("complete_resuming", "p1", "A")
    story.stand(A="completed", A_1="cancelled", A_2="resolved")


def test_b1_the_last_requirement_is_not_cancelled_alone() -> None:
    story = handed_over()
    story.take("cancel_requirement", what="A.1")
    assert story.refused("cancel_requirement", what="A.2") == {"not_the_last"}


def test_b1_a_cancel_ends_batch_and_requirements_in_one_commit() -> None:
    """Trial model: claim; run_cancelled(requirements only) leaves a batch that resumes nothing."""
    story = resuming()
    assert story.take("request_cancel") == "noted"
    story.stand(run="cancelling", A="resuming", A_1="resolving")
    story.take("stop_resuming", "p2", "A")
    story.stand(run="cancelled", A="cancelled", A_1="cancelled", A_2="cancelled")
    story.shows("A", worker_id=None, lease_expires_at=None)


def test_an_empty_batch_is_not_closed() -> None:
    story = running()
    story.take("open_batch", "p1", "A")
    assert story.refused("close_batch", "p1", "A") == {"not_empty"}
    story.take("add_requirement", "p1", "A.1")
    story.take("cancel_requirement", what="A.1")
    assert story.refused("close_batch", "p1", "A") == {"not_empty"}


# --- INV-2 ------------------------------------------------------------------------------------------------------------


def test_b2_of_two_ready_batches_one_is_resumed_at_a_time() -> None:
    """Trial model: close(0); tasks_done(0); open(1); close(1); tasks_done(1) was limbo: both were claimed at once."""
    story = running()
    story.close("A")
    story.take("tasks_done", what="A")
    story.close("B")
    story.take("tasks_done", what="B")
    story.take("wait_externally", "p1")
    story.take("claim_resuming", "p1", "A")
    assert story.refused("claim_resuming", "p2", "B") == {"run_waits", "none_resuming"}
    story.take("complete_resuming", "p1", "A")
    story.stand(run="running", A="completed", B="ready")
    assert story.refused("claim_resuming", "p2", "B") == {"run_waits"}
    story.take("wait_externally", "p1")
    story.take("claim_resuming", "p2", "B")
    story.stand(run="running", B="resuming", B_1="resolving")


def test_a_run_collects_one_batch_at_a_time() -> None:
    story = running()
    story.take("open_batch", "p1", "A")
    assert story.refused("open_batch", "p1", "B") == {"none_collecting"}


def test_a_continuation_takes_its_results_before_it_collects_anew() -> None:
    story = resuming("p1")
    assert story.refused("open_batch", "p1", "B") == {"not_resuming"}
    story.take("complete_resuming", "p1", "A")
    story.take("open_batch", "p1", "B")


# --- the resume budget ------------------------------------------------------------------------------------------------


def test_b3_a_batch_that_kills_its_coordinators_ends() -> None:
    """Trial model: claim; expire; recover; claim never ended by itself."""
    story = resuming()
    story.at(LEASE)
    assert story.take("recover_resuming", what="A") == "ready_again"
    story.take("claim_resuming", "p1", "A")
    story.shows("A", resumes=2, lease_expires_at=2 * LEASE)
    story.at(2 * LEASE)
    assert story.take("recover_resuming", what="A") == "exhausted"
    story.stand(run="failed", A="failed", A_1="failed", A_2="failed")
    story.shows("run 1", error_code=LEASE_TIMEOUT_MAX_ATTEMPTS, owner=None)


@pytest.mark.parametrize("instant", [LEASE - 1, LEASE, LEASE + 1])
def test_the_lease_of_a_coordinator_is_alive_or_over(instant: int) -> None:
    story = resuming()
    story.at(instant)
    if instant < LEASE:
        assert story.refused("recover_resuming", what="A") == {"lease_over"}
        story.take("renew_resuming", "p2", "A")
        story.shows("A", lease_expires_at=instant + LEASE)
    else:
        assert story.refused("renew_resuming", "p2", "A") == {"lease_alive"}
        assert story.refused("complete_resuming", "p2", "A") == {"lease_alive"}
        story.take("recover_resuming", what="A")


def test_a_late_coordinator_is_refused_one_of_the_same_process_too() -> None:
    story = resuming("p1")
    story.at(LEASE)
    story.take("recover_resuming", what="A")
    assert story.refused("complete_resuming", "p1", "A") == {
        "resuming",
        "coordinator",
        "generation",
        "lease_alive",
        "running",
    }
    story.take("claim_resuming", "p1'", "A")
    for operation in ("renew_resuming", "complete_resuming"):
        assert story.refused(operation, "p1", "A") == {"generation"}
    assert story.refused("fail_resuming", "p1", "A", code=OWN_CODES[0]) == {"generation"}
    story.take("complete_resuming", "p1'", "A")


def test_recovery_follows_the_state_of_the_run() -> None:
    story = resuming()
    story.take("request_cancel")
    assert story.refused("complete_resuming", "p2", "A") == {"running"}
    story.at(LEASE)
    assert story.take("recover_resuming", what="A") == "cancelled"
    story.stand(run="cancelled", A="cancelled", A_1="cancelled")


def test_a_continuation_that_fails_takes_the_other_batches_with_it() -> None:
    story = running()
    story.close("A")
    story.close("B")
    story.take("wait_externally", "p1")
    story.take("tasks_done", what="A")
    story.take("claim_resuming", "p2", "A")
    story.take("fail_resuming", "p2", "A", code=OWN_CODES[1])
    story.stand(run="failed", A="failed", A_1="failed", A_2="failed", B="failed", B_1="failed")


# --- owners -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("last_beat", [0, 70, 80])
def test_b9_the_reaper_acts_at_the_very_end_of_the_term(last_beat: int) -> None:
    """With ``<=`` the run ends within TTL + scan of the last accepted beat; a tick earlier it is left alone."""
    story = running()
    if last_beat:
        story.at(last_beat)
        story.take("beat", "p1")
    story.at(last_beat + TTL - 1)
    assert story.refused("reap") == {"owner_dead"}
    story.at(last_beat + TTL)
    assert story.take("reap") == "stopped"
    story.shows("run 1", status="failed", error_code=PROCESS_STOPPED, owner=None)


def test_b9_seven_beats_may_be_lost_the_eighth_may_not() -> None:
    """Beats come every 10 seconds: after eight lost ones the ninth would come at 90, which is over."""
    story = running()
    story.at(80)
    story.take("beat", "p1")
    story.at(80 + TTL)
    assert story.refused("beat", "p1") == {"owner_alive"}


def test_an_expired_owner_never_revives() -> None:
    story = running()
    story.at(TTL)
    assert story.refused("beat", "p1") == {"owner_alive"}
    assert story.refused("register", "p1") == {"unregistered"}
    assert story.refused("complete_run", "p1") == {"owner_alive"}


def test_b9_a_run_without_an_owner_counts_as_dead() -> None:
    """Trial model: pause; resume with no owner registered was limbo unless a missing owner counts as dead."""
    story = Story()
    story.take("find_run")
    story.shows("run 1", status="running", owner=None)
    assert story.take("reap") == "stopped"


def test_b9_a_paused_run_is_continued_under_a_live_owner_only() -> None:
    story = running()
    story.take("pause")
    story.shows("run 1", status="paused", owner=None)
    story.at(TTL)
    assert story.refused("reap") == {"worked_on"}
    assert story.refused("continue_run", "p1") == {"owner_alive"}
    assert story.refused("continue_run", "p2") == {"owner_alive"}
    story.take("register", "p2")
    story.take("continue_run", "p2")
    story.shows("run 1", status="running", owner="p2")
    assert story.refused("complete_run", "p1") == {"owner", "owner_alive"}


def test_b9_a_cancelling_run_of_a_dead_owner_ends_cancelled() -> None:
    story = running()
    story.take("open_batch", "p1", "A")
    story.take("add_requirement", "p1", "A.1")
    story.take("request_cancel")
    assert story.take("request_cancel") == "noted_before"
    story.at(TTL)
    assert story.take("reap") == "cancelled"
    story.stand(run="cancelled", A="cancelled", A_1="cancelled")


def test_the_reaper_leaves_waiting_runs_alone() -> None:
    story = handed_over()
    story.at(10 * TTL)
    assert story.refused("reap") == {"worked_on"}
    story.stand(run="waiting_external", A="ready")


def test_the_reaper_finishes_a_hand_over_that_its_owner_began() -> None:
    """The owner closed A and died before it let go of the run: left alone, the run would wait for nobody."""
    story = running()
    story.close("A")
    story.take("open_batch", "p1", "B")
    story.take("add_requirement", "p1", "B.1")
    story.at(TTL)
    assert story.take("reap") == "handed_over"
    story.stand(run="waiting_external", A="waiting_tasks", A_1="pending", B="cancelled", B_1="cancelled")
    story.take("tasks_done", what="A")
    story.take("claim_resuming", "p2", "A")


def test_the_reaper_leaves_a_batch_that_resumes_to_its_lease() -> None:
    """The coordinator's process never registered, so its owner row is missing: the lease is the fence."""
    story = handed_over()
    story.take("claim_resuming", "p2", "A")
    assert story.refused("reap") == {"not_resuming"}
    story.take("complete_resuming", "p2", "A")
    assert story.take("reap") == "stopped"


def test_an_idle_process_writes_nothing_and_loses_its_row() -> None:
    """It beats only while it owns live runs, and never revives: after a rest it needs a name of its own again."""
    story = Story()
    story.take("register", "p2")
    assert story.refused("beat", "p2") == {"owns_live_runs"}
    story.at(TTL)
    assert story.refused("start_run", "p2") == {"owner_alive"}
    assert story.refused("register", "p2") == {"unregistered"}


def test_a_coordinator_beats_for_the_run_that_it_resumes() -> None:
    story = resuming()
    story.at(10)
    story.take("beat", "p2")
    story.take("complete_resuming", "p2", "A")
    story.shows("run 1", status="running", owner="p2")
    story.take("complete_run", "p2")


# --- the rest of a run's life -----------------------------------------------------------------------------------------


def test_a_run_does_not_complete_before_its_batches() -> None:
    story = running()
    story.close("A")
    assert story.refused("complete_run", "p1") == {"nothing_unfinished"}
    story.take("fail_run", "p1", code=OWN_CODES[0])
    story.stand(run="failed", A="failed", A_1="failed", A_2="failed")


def test_a_run_does_not_wait_for_nothing() -> None:
    story = running()
    assert story.refused("wait_externally", "p1") == {"something_awaited"}
    story.take("open_batch", "p1", "A")
    assert story.refused("wait_externally", "p1") == {"none_collecting", "something_awaited"}


def test_nobody_works_on_a_waiting_run_so_a_cancel_ends_it_at_once() -> None:
    story = handed_over()
    assert story.take("request_cancel") == "immediate"
    story.stand(run="cancelled", A="cancelled", A_1="cancelled", A_2="cancelled")


def test_a_paused_run_keeps_its_batches() -> None:
    story = handed_over()
    story.take("pause")
    assert story.refused("claim_resuming", "p2", "A") == {"run_waits"}
    story.take("continue_run", "p1")
    story.take("wait_externally", "p1")
    story.take("claim_resuming", "p2", "A")
    assert story.refused("pause") == {"not_resuming"}


def test_a_user_may_stop_waiting_for_a_process_that_does_not_stop() -> None:
    story = resuming()
    assert story.refused("force_cancel") == {"cancelling"}
    story.take("request_cancel")
    story.take("force_cancel")
    story.stand(run="cancelled", A="cancelled", A_1="cancelled")
    assert story.refused("renew_resuming", "p2", "A") == {"resuming", "coordinator", "generation", "lease_alive"}


def test_a_page_batch_of_an_older_program_comes_to_its_end() -> None:
    """It resumes without a lease, breaks neither INV-1 nor INV-2, and is in nobody's way."""
    story = handed_over()
    story.take("find_page_batch", what="B")
    story.shows("B", status="resuming", kind="page", lease_expires_at=None)
    story.take("claim_resuming", "p1", "A")
    assert story.refused("recover_resuming", what="B") == {"external"}
    story.take("converge_page_batch", what="B")
    story.stand(A="resuming", B="completed")
    assert story.refused("converge_page_batch", what="A") == {"page"}


@pytest.mark.parametrize("status", LIVE_BATCH)
def test_no_batch_outlives_a_run_that_is_cancelled(status: str) -> None:
    story = running()
    if status == "collecting":
        story.take("open_batch", "p1", "A")
        story.take("add_requirement", "p1", "A.1")
    else:
        story.close("A")
    if status in {"ready", "resuming"}:
        story.take("tasks_done", what="A")
    if status == "resuming":
        story.take("wait_externally", "p1")
        story.take("claim_resuming", "p1", "A")
    story.stand(A=status)
    story.take("request_cancel")
    if status == "resuming":
        assert story.refused("acknowledge_cancel", "p1") == {"not_resuming"}
        story.take("stop_resuming", "p1", "A")
    else:
        story.take("acknowledge_cancel", "p1")
    story.stand(run="cancelled", A="cancelled", A_1="cancelled")


def test_a_run_that_its_own_process_continues_looks_as_before() -> None:
    """A run has no generation: the store cannot tell an older execution of a process from the one that continued it."""
    story = running()
    before = story.row("run 1")
    story.take("pause")
    story.take("continue_run", "p1")
    assert story.row("run 1") == before
    story.take("complete_run", "p1")
