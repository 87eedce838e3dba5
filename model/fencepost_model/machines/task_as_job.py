"""The task of 003, seen as a job: each of its steps is a step of the job or none at all, but for those listed.

A task has no lease and no generation of its own: its supervisor holds it. So what is shown is coarser than for
operations of the job itself: the statuses, the counted attempts, the cancel request and the decision whether an error
is followed by another attempt. What the job asks beyond that (owner, lease, times) is unseen here, with the reason, and
``refinement.left_out`` lists which guards are not demanded for it.
"""

from __future__ import annotations

from fencepost_model.error_codes import EXAMPLES, Family
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.machines import job, task
from fencepost_model.machines.task import TASK, TASK_AS_JOB, TASK_CONTRACT, JobReading
from fencepost_model.refinement import STUTTER, Excepted, Image, Performs, Refinement, SeenAs
from fencepost_model.terms import (
    NULL,
    Choose,
    Const,
    Equal,
    OneOf,
    Param,
    TruthTerm,
    ValueTerm,
    all_of,
    negation,
)

INFRA, CONTENT = Const(EXAMPLES[Family.INFRA]), Const(EXAMPLES[Family.CONTENT])
IN_PLACE: TruthTerm = Equal(task.task("paused_from"), Const(task.IN_PLACE))
STOPS_ON_REQUEST: TruthTerm = OneOf(task.task("stop_cause"), (task.STOP, task.CANCEL))


def _reading(reading: JobReading) -> TruthTerm:
    """When a task is read so."""
    status = Equal(task.STATUS, Const(reading.task_status))
    if reading.in_place is None:
        return status
    return all_of(status, IN_PLACE if reading.in_place else negation(IN_PLACE))


def job_status() -> ValueTerm:
    """The status of the job that a task is seen as; null where there is no task."""
    value: ValueTerm = NULL
    for reading in reversed(TASK_AS_JOB):
        value = Choose(_reading(reading), Const(reading.job_status), value)
    return value


NO_LEASE = "a task is held by its supervisor, under that one's lease"
NO_TIMES = "a task keeps other times than a job"
NO_CODE = "a task notes the kind of failure, and not a code"
ONLY_COUNTED = "it is counted in the model of the job only"

TASK_IMAGE = Image(
    "job",
    (TASK,),
    {
        "status": job_status(),
        "attempt_count": task.task("attempt"),
        "max_attempts": task.task("max_attempts"),
        # Only whether it is set matters to the job's guards.
        "cancel_requested_at": Choose(STOPS_ON_REQUEST, Const(0), NULL),
        "deadline_at": NULL,
        "provider_ref": NULL,
        "next_poll_at": NULL,
    },
    unseen={
        **dict.fromkeys(("worker_id", "lease_expires_at", "lease_generation", "heartbeat_at"), NO_LEASE),
        **dict.fromkeys(("started_at", "finished_at", "next_attempt_at"), NO_TIMES),
        **dict.fromkeys(("error_code", "error_message"), NO_CODE),
        **dict.fromkeys(("attempt_id", "poll_count", "origin", "starts", "hand_backs"), ONLY_COUNTED),
    },
    uncompared={"cancel_requested_at": "a task forgets the cause of its stopping when it has ended"},
)
TOKEN_IMAGE = Image("token", (TASK,), {}, dict.fromkeys(("worker_id", "lease_generation"), NO_LEASE))

CANCELLED = Performs("request_cancel")
ACKNOWLEDGED = Performs("acknowledge_cancel")


def _failed(code: ValueTerm) -> Performs:
    return Performs("fail", {"code": code, "message": NULL, "delay": Const(1)})


RETRYABLE, FINAL = _failed(INFRA), _failed(CONTENT)
SKIPPED = Performs("skip", {"code": CONTENT, "message": NULL})
RECOVERED = Performs("recover", {"delay": Const(1)})
REVIVAL = Excepted("a revival is a new job", STUTTER)
UNSTARTED_SKIP = Excepted("a job is skipped by its holder only, from running", SKIPPED)
LOST = Excepted("a job whose holder is gone is put back while attempts are left; lost ends it", RECOVERED)

STEPS: dict[str, SeenAs] = {
    "submit": Performs("enqueue", {"max_attempts": Param("max_attempts"), "deadline_at": NULL}),
    "stop": CANCELLED,
    "cancel": CANCELLED,
    "pause": STUTTER,
    "resume": STUTTER,
    "skip": UNSTARTED_SKIP,
    "deps_missing": STUTTER,
    "deps_ready": STUTTER,
    "upstream_failed/skipped": UNSTARTED_SKIP,
    "upstream_failed/cancelled": CANCELLED,
    "condition_false": UNSTARTED_SKIP,
    "dispatch": Performs("claim"),
    "backoff_over": STUTTER,
    "supervisor_lost/failed": Excepted("a pending job fails only past its deadline, or with its budget spent", FINAL),
    "supervisor_lost/cancelled": CANCELLED,
    "supervisor_lost/lost": LOST,
    "started": STUTTER,
    "quiesced": STUTTER,
    "pause_window_over": STUTTER,
    "start_timeout": STUTTER,
    "attempt_timeout": STUTTER,
    "idle_timeout": STUTTER,
    "returned": Excepted(
        "a job asked to stop succeeds only where cancel_wins is false", Performs("succeed"), STOPS_ON_REQUEST
    ),
    "raised_retry": RETRYABLE,
    "raised_final": (FINAL, RETRYABLE),
    "acked/stopped": ACKNOWLEDGED,
    "acked/cancelled": ACKNOWLEDGED,
    "acked/retried": RETRYABLE,
    "acked/failed": RETRYABLE,
    "died_retry": RETRYABLE,
    "died_final": (FINAL, RETRYABLE),
    "vanished": LOST,
    "window_over/lost": LOST,
    "window_over/stopped": ACKNOWLEDGED,
    "window_over/cancelled": ACKNOWLEDGED,
    "window_over/retried": RETRYABLE,
    "window_over/failed": RETRYABLE,
    "late_end": STUTTER,
    "retry": REVIVAL,
    "force_retry": REVIVAL,
    "skip_failed": REVIVAL,
    "reset": REVIVAL,
}

SETTINGS: dict[str, ValueTerm] = {
    **{setting.name: Const(setting.default) for setting in job.SETTINGS},
    "registers_skip": Const(True),
}

TASK_REFINES_JOB = Refinement(
    name="task, as the job",
    clause="§6 mapping onto jobs",
    concrete=TASK_CONTRACT,
    abstract=JOB_CONTRACT,
    images=(TASK_IMAGE, TOKEN_IMAGE),
    steps=STEPS,
    settings=SETTINGS,
)
"""That a task does what a job may do, with the exceptions of contract §6."""
