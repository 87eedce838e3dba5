"""Runs of a job with what hangs on it: attempts, external task, artifacts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.model.telling import Telling

from fencepost_model.contract import Contract
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.machines.attempt import ATTEMPT_CONTRACT, NEW_OPERATIONS, TASK, TURNS, task
from fencepost_model.machines.attempt_worlds import accompanied
from fencepost_model.machines.job import CANCELLED, JOB, STATUS, TERMINAL
from fencepost_model.shapes import Actor, Assignment, Case, Operation, Selection
from fencepost_model.terms import Const

INFRA, CONTENT = "RENDER_SERVICE_UNAVAILABLE", "PAGE_SCREENSHOT_JOB_STALE"
PARKING = {"lease_seconds": 10, "registers_park": True, "registers_skip": True, "registers_expired": True}
CHOSEN = {"delay": 5, "message": None, "max_attempts": 2, "deadline_at": 100, "provider_ref": "ref"}


def telling(contract: Contract = ATTEMPT_CONTRACT, **settings: bool | int) -> Telling:
    population = accompanied("w1", "w1", attempts=3, artifacts=2)
    return Telling(contract, population, {**PARKING, **settings}, CHOSEN)


@pytest.fixture
def story() -> Telling:
    told = telling()
    told.take("enqueue")
    return told


def claimed(story: Telling, token: str = "w1", attempt: str = "attempt 1") -> Telling:
    story.take("claim", token, attempt)
    return story


# --- attempts ---------------------------------------------------------------------------------------------------------


def test_a_claim_opens_an_attempt_and_a_success_closes_it_with_its_word(story: Telling) -> None:
    assert story.row("attempt 1")["status"] is None
    claimed(story).shows("attempt 1", status="running", attempt_id=1)
    story.take("succeed", "w1")
    story.shows("attempt 1", status="succeeded", attempt_id=1)


@pytest.mark.parametrize(
    ("operation", "arguments", "case", "left"),
    [
        ("succeed", {}, "succeeded", "succeeded"),
        ("fail", {"code": CONTENT}, "final", "failed"),
        ("fail", {"code": INFRA}, "retried", "failed"),
        ("fail", {"code": "AI_RUN_CANCELLED"}, "cancelled", "cancelled"),
        ("skip", {"code": CONTENT}, "skipped", "skipped"),
        ("park", {"next_poll_at": 3}, "parked", "parked"),
        ("release", {}, "handed_back", "released"),
    ],
)
def test_each_exit_leaves_the_attempt_with_its_own_word(
    story: Telling, operation: str, arguments: dict[str, str | int], case: str, left: str
) -> None:
    claimed(story)
    assert story.take(operation, "w1", **arguments) == case
    story.shows("attempt 1", status=left)


def test_a_lost_attempt_is_followed_by_one_of_its_own(story: Telling) -> None:
    claimed(story).at(10)
    assert story.take("recover") == "requeued"
    story.shows("attempt 1", status="lost")
    story.at(15)
    claimed(story, "w1'", "attempt 2")
    story.shows("attempt 1", status="lost", attempt_id=1)
    story.shows("attempt 2", status="running", attempt_id=3)


def test_an_attempt_row_is_opened_once(story: Telling) -> None:
    claimed(story).take("release", "w1")
    assert story.refused("claim", "w1", "attempt 1") == {"attempt_new"}


def test_a_polled_attempt_is_parked_and_goes_on(story: Telling) -> None:
    claimed(story).take("park", "w1", next_poll_at=3)
    story.at(3)
    story.take("resume_poll", "w1'")
    story.shows("attempt 1", status="running", attempt_id=1)
    story.at(13)
    assert story.take("recover") == "polled_again"
    story.shows("attempt 1", status="parked")
    story.shows("job", attempt_id=1, status="waiting_provider")


def test_recovery_of_a_poll_that_lost_its_attempt_would_leave_the_next_poll_without_one() -> None:
    """Contract §4 says "recovery -> lost" without exception; with D-3 the job would then run on a closed attempt."""
    recover = ATTEMPT_CONTRACT.operation("recover")
    cases = tuple(
        replace(case, also=tuple(replace(each, effect=_lost(each.effect)) for each in case.also))
        for case in recover.cases
    )
    told = telling(with_operation(replace(recover, cases=cases)))
    told.take("enqueue")
    claimed(told).take("park", "w1", next_poll_at=3)
    told.at(3)
    told.take("resume_poll", "w1'")
    told.at(13)
    case, broken = told.watch("recover")
    assert case == "polled_again"
    assert broken == {"current_attempt_is_open"}


def _lost(effect: tuple[Assignment, ...]) -> tuple[Assignment, ...]:
    return tuple(
        replace(a, value=Const("lost")) if a.field.entity == "attempt" and a.value == Const("parked") else a
        for a in effect
    )


def test_a_parked_attempt_is_closed_by_who_ends_the_job(story: Telling) -> None:
    claimed(story).take("park", "w1", next_poll_at=3)
    parked = story.state
    assert story.take("request_cancel") == "immediate"
    story.shows("attempt 1", status="cancelled")
    story.state = parked
    story.at(100)
    assert story.take("expire_overdue") == "expired"
    story.shows("attempt 1", status="expired")


def test_a_row_of_an_older_program_has_no_attempt_until_it_is_claimed() -> None:
    told = telling()
    told.begin_with("running_without_lease")
    assert told.take("recover") == "requeued"
    assert {told.row(f"attempt {number}")["status"] for number in (1, 2, 3)} == {None}
    assert told.row("task 1")["status"] is None
    told.at(5)
    claimed(told).shows("attempt 1", status="running", attempt_id=2)
    told.take("succeed", "w1")
    told.shows("attempt 1", status="succeeded")


def test_every_operation_of_the_job_is_kept() -> None:
    for operation in JOB_CONTRACT.operations:
        derived = ATTEMPT_CONTRACT.operation(operation.name)
        assert derived.guards[: len(operation.guards)] == operation.guards
        assert [(case.name, case.when) for case in derived.cases] == [(c.name, c.when) for c in operation.cases]
        for kept, case in zip(derived.cases, operation.cases, strict=True):
            assert kept.effect[: len(case.effect)] == case.effect
    new = {operation.name for operation in ATTEMPT_CONTRACT.operations} - {o.name for o in JOB_CONTRACT.operations}
    assert new == {operation.name for operation in NEW_OPERATIONS}


def test_the_table_of_turns_names_just_the_cases_of_the_job() -> None:
    cases = {(operation.name, case.name) for operation, case in JOB_CONTRACT.transitions()}
    assert set(TURNS) == cases - {("claim", "claimed")}


# --- the external task ------------------------------------------------------------------------------------------------


def with_operation(changed: Operation) -> Contract:
    """The contract with one operation replaced or added, unchecked."""
    kept = tuple(operation for operation in ATTEMPT_CONTRACT.operations if operation.name != changed.name)
    return replace(ATTEMPT_CONTRACT, operations=(*kept, changed), checked=False)


def test_b4_a_cancel_of_a_waiting_job_ends_its_task_in_the_same_commit(story: Telling) -> None:
    assert story.take("request_cancel") == "immediate"
    story.shows("job", status="cancelled")
    story.shows("task 1", status="cancelled")


@pytest.mark.parametrize("name", ["request_cancel", "expire_overdue", "recover", "succeed", "fail", "release"])
def test_b4_an_operation_that_does_not_project_breaks_inv_3(name: str) -> None:
    operation = ATTEMPT_CONTRACT.operation(name)
    silent = tuple(replace(case, also=tuple(e for e in case.also if e.subject != TASK)) for case in operation.cases)
    told = telling(with_operation(replace(operation, cases=silent)))
    told.take("enqueue")
    if name in ("request_cancel", "expire_overdue"):
        told.at(100)
        _, broken = told.watch(name)
    else:
        claimed(told).at(9 if name != "recover" else 10)
        _, broken = told.watch(name, *(() if name == "recover" else ("w1",)), code=CONTENT)
    assert "INV-3" in broken


def test_b5_a_parent_that_ends_the_task_alone_breaks_inv_3() -> None:
    alone = Operation(
        "close_task",
        Actor.CLIENT,
        Selection.NAMED,
        (JOB, TASK),
        (),
        (Case("closed", (), (Assignment(task("status"), Const(CANCELLED)),), "the task alone ends"),),
        "B5",
        "A parent ends the task and not the job.",
    )
    told = telling(with_operation(alone))
    told.take("enqueue")
    _, broken = told.watch("close_task", "task 1")
    assert broken == {"INV-3", "INV-3_nobody_else"}
    told.at(100)
    case, broken = told.watch("expire_overdue")
    assert case == "expired"
    assert "INV-3" in broken


def test_nobody_writes_a_task_but_along_with_its_job() -> None:
    ending: set[str] = set()
    for operation, case in ATTEMPT_CONTRACT.transitions():
        assert not any(a.field.entity == TASK.name for a in case.effect)
        to_task = [a.value for each in case.also for a in each.effect if each.subject == TASK]
        to_job = [a.value for a in case.effect if a.field == STATUS]
        assert to_task == to_job
        if any(isinstance(value, Const) and value.value in TERMINAL for value in to_task):
            ending.add(operation.name)
    assert {"request_cancel", "expire_overdue", "recover", "succeed", "acknowledge_cancel"} <= ending


def test_a_task_that_has_ended_is_never_overwritten(story: Telling) -> None:
    story.take("request_cancel")
    story.at(100)
    assert story.refused("expire_overdue") == {"unheld"}
    story.shows("task 1", status="cancelled")


# --- artifacts --------------------------------------------------------------------------------------------------------


def test_an_artifact_is_completed_by_the_holder_under_the_current_attempt(story: Telling) -> None:
    claimed(story).take("open_upload", "w1", "artifact 1")
    story.shows("artifact 1", status="uploading", attempt_id=1)
    assert story.take("complete_artifact", "w1", "artifact 1", attempt_id=1) == "completed"
    assert story.refused("complete_artifact", "w1", "artifact 1", attempt_id=1) == {"uploading"}
    story.take("succeed", "w1")
    story.shows("artifact 1", status="completed", attempt_id=1)


def test_b8_a_late_upload_within_the_attempt_is_refused_by_the_token(story: Telling) -> None:
    claimed(story).take("open_upload", "w1", "artifact 1")
    story.take("park", "w1", next_poll_at=3)
    assert "running" in story.refused("complete_artifact", "w1", "artifact 1", attempt_id=1)
    story.at(3)
    story.take("resume_poll", "w1'")
    story.shows("job", attempt_id=1, worker_id="w1")
    assert story.refused("complete_artifact", "w1", "artifact 1", attempt_id=1) == {"generation"}
    assert story.take("complete_artifact", "w1'", "artifact 1", attempt_id=1) == "completed"


def test_an_upload_of_an_earlier_attempt_is_refused_and_cleared_away(story: Telling) -> None:
    claimed(story).take("open_upload", "w1", "artifact 1")
    assert story.refused("discard_upload", "artifact 1") == {"attempt_over"}
    story.take("release", "w1")
    claimed(story, "w1", "attempt 2")
    assert story.refused("complete_artifact", "w1", "artifact 1", attempt_id=1) == {"current_attempt"}
    assert story.refused("complete_artifact", "w1", "artifact 1", attempt_id=3) == {"stored_there"}
    assert story.take("discard_upload", "artifact 1") == "discarded"
    assert story.refused("discard_upload", "artifact 1") >= {"uploading"}


def test_an_upload_survives_parking(story: Telling) -> None:
    claimed(story).take("open_upload", "w1", "artifact 1")
    story.take("park", "w1", next_poll_at=3)
    assert story.refused("discard_upload", "artifact 1") == {"attempt_over"}
    story.take("request_cancel")
    assert story.take("discard_upload", "artifact 1") == "discarded"


def test_nothing_is_uploaded_without_a_lease(story: Telling) -> None:
    claimed(story).at(10)
    assert story.refused("open_upload", "w1", "artifact 1") == {"lease_alive"}
    assert story.refused("open_upload", "w1'", "artifact 1") >= {"generation"}
