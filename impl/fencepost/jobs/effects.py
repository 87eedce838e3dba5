"""What each transition writes: values by standard field, in SQL, as hand-written as the predicates that guard them.

A value that depends on the row is an expression over the row as the UPDATE finds it, so a transition never writes what
it has read earlier. The tests hold every effect against the model's (`Semantics.apply`), field by field.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from sqlalchemy import ColumnElement, Integer, String, cast, literal_column, null

from fencepost.db.moments import earliest, latest, plus_seconds
from fencepost.jobs.predicates import Given, parameter
from fencepost.jobs.schema import JobColumns, word
from fencepost_model.error_codes import (
    JOB_DEADLINE_EXCEEDED,
    LEASE_RELEASE_CEILING,
    LEASE_TIMEOUT_MAX_ATTEMPTS,
    LEASE_TIMEOUT_RECOVERED,
)
from fencepost_model.machines.job import CANCELLED, EXPIRED, FAILED, PENDING, RUNNING, SKIPPED, SUCCEEDED, WAITING

Effect: TypeAlias = Mapping[str, ColumnElement[Any]]
EffectOf: TypeAlias = Callable[[JobColumns, Given], Effect]

ERROR_CODE: Final = parameter("error_code", String())
ERROR_MESSAGE: Final = parameter("error_message", String())
PROVIDER_REF: Final = parameter("provider_ref", String())
NONCE: Final = parameter("nonce", String())
"""Fresh for each call; with the key and the generation it makes an attempt's identity, unique among all jobs."""

_NULL: Final = null()
_ZERO: Final[ColumnElement[int]] = literal_column("0", Integer())
_LEASE_OFF: Final[Effect] = {"worker_id": _NULL, "lease_expires_at": _NULL, "heartbeat_at": _NULL}
_NO_ERROR: Final[Effect] = {"error_code": _NULL, "error_message": _NULL}


def _leave(job: JobColumns) -> Effect:
    return {**_LEASE_OFF, "lease_generation": job.lease_generation + 1}


def _end(job: JobColumns, given: Given, status: str) -> Effect:
    return {"status": word(status), "finished_at": given.now, **_leave(job)}


def _reported() -> Effect:
    return {"error_code": ERROR_CODE, "error_message": ERROR_MESSAGE}


def _noted(code: str) -> Effect:
    return {"error_code": word(code), "error_message": _NULL}


def _new_lease(job: JobColumns, given: Given) -> ColumnElement[Any]:
    # The earliest of those that are set, so a missing deadline does not cut the lease.
    return earliest(plus_seconds(given.now, given.profile.lease_seconds), job.deadline_at)


def _back_to_pending(job: JobColumns, given: Given) -> Effect:
    return {"status": word(PENDING), "next_attempt_at": given.retry_at(job), **_leave(job)}


def _back_to_polling(job: JobColumns, given: Given) -> Effect:
    return {"status": word(WAITING), "next_poll_at": given.retry_at(job), **_leave(job)}


def _end_unheld(given: Given, status: str) -> Effect:
    return {"status": word(status), "finished_at": given.now, "next_poll_at": _NULL}


def attempt_identity(job: JobColumns) -> ColumnElement[str]:
    """A fresh identity for the attempt that a claim opens (§2 claim)."""
    return NONCE + "-" + cast(job.id, String()) + "-" + cast(job.lease_generation + 1, String())


def _claimed(job: JobColumns, given: Given) -> Effect:
    return {
        "status": word(RUNNING),
        "worker_id": given.worker_id,
        "lease_expires_at": _new_lease(job, given),
        "lease_generation": job.lease_generation + 1,
        "attempt_count": job.attempt_count + 1,
        "attempt_id": attempt_identity(job),
        "started_at": given.now,
        "heartbeat_at": given.now,
        "next_attempt_at": _NULL,
        **_NO_ERROR,
    }


def _resumed(job: JobColumns, given: Given) -> Effect:
    return {
        "status": word(RUNNING),
        "worker_id": given.worker_id,
        "lease_expires_at": _new_lease(job, given),
        "lease_generation": job.lease_generation + 1,
        "heartbeat_at": given.now,
        "next_poll_at": _NULL,
        "poll_count": job.poll_count + 1,
    }


def _renewed(job: JobColumns, given: Given) -> Effect:
    longer = latest(job.lease_expires_at, _new_lease(job, given))
    return {"lease_expires_at": longer, "heartbeat_at": given.now}


def _parked(job: JobColumns, given: Given) -> Effect:
    return {
        "status": word(WAITING),
        "provider_ref": PROVIDER_REF,
        "next_poll_at": given.next_poll_at,
        **_leave(job),
    }


def _handed_back(job: JobColumns, given: Given) -> Effect:
    return {
        "status": word(PENDING),
        "next_attempt_at": _NULL,
        "attempt_count": job.attempt_count - 1,
        **_leave(job),
    }


def created(given: Given) -> Effect:
    """A new job as `enqueue` writes it (§2 enqueue)."""
    return {
        "status": word(PENDING),
        "lease_generation": _ZERO,
        "attempt_count": _ZERO,
        "max_attempts": given.max_attempts,
        "deadline_at": given.deadline_at,
        "poll_count": _ZERO,
    }


EFFECTS: Final[Mapping[tuple[str, str], EffectOf]] = {
    ("claim", "claimed"): _claimed,
    ("resume_poll", "resumed"): _resumed,
    ("renew", "renewed"): _renewed,
    ("succeed", "succeeded"): lambda job, given: {**_end(job, given, SUCCEEDED), **_NO_ERROR},
    ("fail", "cancelled"): lambda job, given: {**_end(job, given, CANCELLED), **_reported()},
    ("fail", "final"): lambda job, given: {**_end(job, given, FAILED), **_reported()},
    ("fail", "polled_again"): lambda job, given: {**_back_to_polling(job, given), **_reported()},
    ("fail", "retried"): lambda job, given: {**_back_to_pending(job, given), **_reported()},
    ("skip", "skipped"): lambda job, given: {**_end(job, given, SKIPPED), **_reported()},
    ("park", "cancelled"): lambda job, given: {**_end(job, given, CANCELLED), "provider_ref": PROVIDER_REF},
    ("park", "parked"): _parked,
    # It writes the time that is there, so that "asked before" too is one conditional update judged by its row count.
    ("request_cancel", "noted_before"): lambda job, given: {"cancel_requested_at": job.cancel_requested_at},
    ("request_cancel", "noted"): lambda job, given: {"cancel_requested_at": given.now},
    ("request_cancel", "immediate"): lambda job, given: _end_unheld(given, CANCELLED),
    ("acknowledge_cancel", "acknowledged"): lambda job, given: _end(job, given, CANCELLED),
    ("release", "cancelled"): lambda job, given: _end(job, given, CANCELLED),
    ("release", "polled_again"): _back_to_polling,
    ("release", "handed_back"): _handed_back,
    ("release", "exhausted"): lambda job, given: {**_end(job, given, FAILED), **_noted(LEASE_RELEASE_CEILING)},
    ("release", "retried"): lambda job, given: {**_back_to_pending(job, given), **_noted(LEASE_RELEASE_CEILING)},
    ("recover", "cancelled"): lambda job, given: _end(job, given, CANCELLED),
    ("recover", "expired"): lambda job, given: {**_end(job, given, EXPIRED), **_noted(JOB_DEADLINE_EXCEEDED)},
    ("recover", "overdue"): lambda job, given: {**_end(job, given, FAILED), **_noted(JOB_DEADLINE_EXCEEDED)},
    ("recover", "polled_again"): lambda job, given: {**_back_to_polling(job, given), **_noted(LEASE_TIMEOUT_RECOVERED)},
    ("recover", "requeued"): lambda job, given: {**_back_to_pending(job, given), **_noted(LEASE_TIMEOUT_RECOVERED)},
    ("recover", "exhausted"): lambda job, given: {**_end(job, given, FAILED), **_noted(LEASE_TIMEOUT_MAX_ATTEMPTS)},
    ("expire_overdue", "cancelled"): lambda job, given: _end_unheld(given, CANCELLED),
    ("expire_overdue", "expired"): lambda job, given: {**_end_unheld(given, EXPIRED), **_noted(JOB_DEADLINE_EXCEEDED)},
    ("expire_overdue", "overdue"): lambda job, given: {**_end_unheld(given, FAILED), **_noted(JOB_DEADLINE_EXCEEDED)},
    ("expire_overdue", "exhausted"): lambda job, given: {
        "status": word(FAILED),
        "finished_at": given.now,
        **_noted(LEASE_TIMEOUT_MAX_ATTEMPTS),
    },
}
"""The effect of each transition that changes an existing job, by operation and case."""
