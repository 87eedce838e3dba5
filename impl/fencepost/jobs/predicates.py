"""Every WHERE predicate of the runtime, written by hand in SQL, each registered with the guards that it stands for.

The model states guards as terms; this file states them a second time, as SQL. They are *not* derived from the model,
so that there is something to find: the equivalence test runs each predicate on the real SQLite and the real PostgreSQL
over every combination of a small domain of rows and demands exactly the rows that the model's guard selects.

`PREDICATES` has one entry for each transition of the model and one for each operation that searches. No other module
of the runtime writes a condition on a job's row; a test reads their source and says so.

Two rules of writing. SQL is three-valued, so a comparison with a nullable column stands alone only where null has to
mean false, and a negated one always names its null branch. Each case names the whole of its guard, the operation's
conjuncts and the negations of the cases before it, because the UPDATE that carries it must judge alone (contract §2:
"each UPDATE repeats its whole guard").
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from sqlalchemy import (
    BindParameter,
    Boolean,
    ColumnElement,
    Integer,
    Select,
    String,
    and_,
    bindparam,
    false,
    not_,
    or_,
    true,
)

from fencepost.db.moments import plus_seconds
from fencepost.db.types import UtcDateTime
from fencepost.jobs.profile import Profile
from fencepost.jobs.schema import JobColumns, word
from fencepost_model.machines.job import PENDING, RUNNING, WAITING

PREFIX: Final = "given_"
"""Keeps the parameters of the runtime's statements apart from the columns of any table."""


def parameter(name: str, type_: Any = None) -> BindParameter[Any]:
    """A parameter of the runtime's statements."""
    return bindparam(f"{PREFIX}{name}", type_=type_)


@dataclass(frozen=True)
class Given:
    """What a row is compared with: the moment, the profile, the caller's token and arguments.

    `delay`: the back-off in seconds, which may depend on the row. The `code_...` flags say which family the caller's
    error code belongs to; the family is decided in Python by the model's one function.
    """

    profile: Profile
    delay: Callable[[JobColumns], ColumnElement[float]]
    now: ColumnElement[Any] = parameter("now", UtcDateTime())
    worker_id: ColumnElement[str] = parameter("worker_id", String())
    lease_generation: ColumnElement[int] = parameter("lease_generation", Integer())
    code_cancels: ColumnElement[bool] = parameter("code_cancels", Boolean())
    code_retries: ColumnElement[bool] = parameter("code_retries", Boolean())
    code_blames_content: ColumnElement[bool] = parameter("code_blames_content", Boolean())
    code_is_verdict: ColumnElement[bool] = parameter("code_is_verdict", Boolean())
    next_poll_at: ColumnElement[Any] = parameter("next_poll_at", UtcDateTime())
    max_attempts: ColumnElement[int] = parameter("max_attempts", Integer())
    deadline_at: ColumnElement[Any] = parameter("deadline_at", UtcDateTime())

    def retry_at(self, job: JobColumns) -> ColumnElement[Any]:
        """When the next attempt or poll would be due."""
        return plus_seconds(self.now, self.delay(job))


Condition: TypeAlias = Callable[[JobColumns, Given], ColumnElement[bool]]


# --- conjuncts --------------------------------------------------------------------------------------------------------


def _is(job: JobColumns, *statuses: str) -> ColumnElement[bool]:
    if len(statuses) == 1:
        return job.status == word(statuses[0])
    return or_(*(job.status == word(status) for status in statuses))


def _cancel_requested(job: JobColumns) -> ColumnElement[bool]:
    return job.cancel_requested_at.is_not(None)


def _not_cancelled(job: JobColumns) -> ColumnElement[bool]:
    return job.cancel_requested_at.is_(None)


def _before_deadline(job: JobColumns, given: Given) -> ColumnElement[bool]:
    return or_(job.deadline_at.is_(None), job.deadline_at > given.now)


def _overdue(job: JobColumns, given: Given) -> ColumnElement[bool]:
    return job.deadline_at <= given.now


def _cancel_does_not_win(job: JobColumns, given: Given) -> ColumnElement[bool]:
    return _not_cancelled(job) if given.profile.cancel_wins else true()


def _budget_left(job: JobColumns) -> ColumnElement[bool]:
    return job.attempt_count < job.max_attempts


def _budget_spent(job: JobColumns) -> ColumnElement[bool]:
    return job.attempt_count >= job.max_attempts


def _with_provider(job: JobColumns) -> ColumnElement[bool]:
    return job.provider_ref.is_not(None)


def _without_provider(job: JobColumns) -> ColumnElement[bool]:
    return job.provider_ref.is_(None)


def _retry_fits(job: JobColumns, given: Given) -> ColumnElement[bool]:
    return or_(job.deadline_at.is_(None), job.deadline_at > given.retry_at(job))


def _retry_too_late(job: JobColumns, given: Given) -> ColumnElement[bool]:
    return job.deadline_at <= given.retry_at(job)


def _flag(value: bool) -> ColumnElement[bool]:
    return true() if value else false()


# --- searching --------------------------------------------------------------------------------------------------------


def claimable(job: JobColumns, given: Given) -> ColumnElement[bool]:
    """A worker may start an attempt (§2 claim, INV-6, INV-7)."""
    return and_(
        _is(job, PENDING),
        _not_cancelled(job),
        or_(job.next_attempt_at.is_(None), job.next_attempt_at <= given.now),
        _budget_left(job),
        _before_deadline(job, given),
    )


def pollable(job: JobColumns, given: Given) -> ColumnElement[bool]:
    """A worker may ask the provider (§2 resume_poll, D-3)."""
    return and_(
        _is(job, WAITING),
        job.next_poll_at <= given.now,
        _not_cancelled(job),
        _before_deadline(job, given),
        job.poll_count < given.profile.max_polls,
    )


def lease_over(job: JobColumns, given: Given) -> ColumnElement[bool]:
    """A running job whose lease protects nobody any more, a missing one included (§2 expired, D-1)."""
    return and_(_is(job, RUNNING), or_(job.lease_expires_at.is_(None), job.lease_expires_at <= given.now))


def beyond_claiming(job: JobColumns, given: Given) -> ColumnElement[bool]:
    """A waiting job that nobody could take any more (§2 expire_overdue, D-5)."""
    return and_(
        _is(job, PENDING, WAITING),
        or_(
            _overdue(job, given),
            _cancel_requested(job),
            and_(_is(job, PENDING), _budget_spent(job)),
        ),
    )


# --- holding ----------------------------------------------------------------------------------------------------------


def held(job: JobColumns, given: Given) -> ColumnElement[bool]:
    """The caller's token is a valid claim: owner, generation and a lease that is alive (§2 held, D-1, D-18)."""
    return and_(
        _is(job, RUNNING),
        job.worker_id == given.worker_id,
        job.lease_generation == given.lease_generation,
        job.lease_expires_at > given.now,
    )


def renews(job: JobColumns, given: Given) -> ColumnElement[bool]:
    """§2 renew: held, and before the deadline."""
    return and_(held(job, given), _before_deadline(job, given))


def succeeds(job: JobColumns, given: Given) -> ColumnElement[bool]:
    """§2 succeed, D-2: held, and no cancel that wins."""
    return and_(held(job, given), _cancel_does_not_win(job, given))


def skips(job: JobColumns, given: Given) -> ColumnElement[bool]:
    """§2 skip: held, for the content's sake, where the queue knows the word, and no cancel that wins."""
    return and_(
        held(job, given),
        given.code_blames_content,
        _flag(given.profile.registers_skip),
        _cancel_does_not_win(job, given),
    )


def acknowledges_cancel(job: JobColumns, given: Given) -> ColumnElement[bool]:
    """§2 acknowledge_cancel: held, and asked to stop."""
    return and_(held(job, given), _cancel_requested(job))


def _fails(job: JobColumns, given: Given) -> ColumnElement[bool]:
    return and_(held(job, given), given.code_is_verdict)


def fails_cancelled(job: JobColumns, given: Given) -> ColumnElement[bool]:
    """§2 fail: a cancel was requested, or the error says so."""
    return and_(_fails(job, given), or_(_cancel_requested(job), given.code_cancels))


def _fails_uncancelled(job: JobColumns, given: Given) -> ColumnElement[bool]:
    return and_(_fails(job, given), _not_cancelled(job), not_(given.code_cancels))


def fails_finally(job: JobColumns, given: Given) -> ColumnElement[bool]:
    """§2 fail, D-21: not retryable, no attempt left, or the next one would start past the deadline."""
    return and_(
        _fails_uncancelled(job, given),
        or_(not_(given.code_retries), _budget_spent(job), _retry_too_late(job, given)),
    )


def _fails_for_now(job: JobColumns, given: Given) -> ColumnElement[bool]:
    return and_(_fails_uncancelled(job, given), given.code_retries, _budget_left(job), _retry_fits(job, given))


def fails_into_polling(job: JobColumns, given: Given) -> ColumnElement[bool]:
    """§2 fail: to be tried again, and a provider works on it."""
    return and_(_fails_for_now(job, given), _with_provider(job))


def fails_into_retry(job: JobColumns, given: Given) -> ColumnElement[bool]:
    """§2 fail: to be tried again, from the start."""
    return and_(_fails_for_now(job, given), _without_provider(job))


def _parks(job: JobColumns, given: Given) -> ColumnElement[bool]:
    return and_(
        held(job, given),
        _flag(given.profile.registers_park),
        job.deadline_at.is_not(None),
        given.next_poll_at > given.now,
    )


def parks_cancelled(job: JobColumns, given: Given) -> ColumnElement[bool]:
    """§2 park: a cancel was requested."""
    return and_(_parks(job, given), _cancel_requested(job))


def parks(job: JobColumns, given: Given) -> ColumnElement[bool]:
    """§2 park: the job is left to its provider."""
    return and_(_parks(job, given), _not_cancelled(job))


def releases_cancelled(job: JobColumns, given: Given) -> ColumnElement[bool]:
    """§2 release: a cancel was requested."""
    return and_(held(job, given), _cancel_requested(job))


def releases_into_polling(job: JobColumns, given: Given) -> ColumnElement[bool]:
    """§2 release: a provider works on it."""
    return and_(held(job, given), _not_cancelled(job), _with_provider(job))


def hands_back(job: JobColumns, given: Given) -> ColumnElement[bool]:
    """§2 release, D-6: below the ceiling a hand-back costs nothing."""
    return and_(
        held(job, given),
        _not_cancelled(job),
        _without_provider(job),
        job.lease_generation < given.profile.release_ceiling,
    )


def _releases_at_ceiling(job: JobColumns, given: Given) -> ColumnElement[bool]:
    return and_(
        held(job, given),
        _not_cancelled(job),
        _without_provider(job),
        job.lease_generation >= given.profile.release_ceiling,
    )


def releases_exhausted(job: JobColumns, given: Given) -> ColumnElement[bool]:
    """§2 release: handed back too often, and no further attempt is possible."""
    return and_(_releases_at_ceiling(job, given), or_(_budget_spent(job), _retry_too_late(job, given)))


def releases_into_retry(job: JobColumns, given: Given) -> ColumnElement[bool]:
    """§2 release: handed back too often; the attempt counts."""
    return and_(_releases_at_ceiling(job, given), _budget_left(job), _retry_fits(job, given))


# --- asking -----------------------------------------------------------------------------------------------------------


def enqueues(job: JobColumns, given: Given) -> ColumnElement[bool]:
    """§2 enqueue: the new job can be claimed, and can end. Reads no row, for there is none yet."""
    return and_(
        given.max_attempts >= 1,
        or_(given.deadline_at.is_(None), given.deadline_at > given.now),
        given.deadline_at.is_not(None) if given.profile.registers_park else true(),
    )


def cancel_noted_before(job: JobColumns, given: Given) -> ColumnElement[bool]:
    """§2 request_cancel: running, and asked before."""
    return and_(_is(job, RUNNING), _cancel_requested(job))


def cancel_to_note(job: JobColumns, given: Given) -> ColumnElement[bool]:
    """§2 request_cancel: running, and asked for the first time."""
    return and_(_is(job, RUNNING), _not_cancelled(job))


def cancel_at_once(job: JobColumns, given: Given) -> ColumnElement[bool]:
    """§2 request_cancel, D-4: nobody holds it."""
    return _is(job, PENDING, WAITING)


# --- recovering -------------------------------------------------------------------------------------------------------


def recovers_cancelled(job: JobColumns, given: Given) -> ColumnElement[bool]:
    """§2 recover: a cancel was requested."""
    return and_(lease_over(job, given), _cancel_requested(job))


def _recovers_overdue(job: JobColumns, given: Given) -> ColumnElement[bool]:
    return and_(lease_over(job, given), _not_cancelled(job), _overdue(job, given))


def recovers_expired(job: JobColumns, given: Given) -> ColumnElement[bool]:
    """§2 recover: the deadline has passed, and the queue knows the word expired."""
    return and_(_recovers_overdue(job, given), _flag(given.profile.registers_expired))


def recovers_overdue(job: JobColumns, given: Given) -> ColumnElement[bool]:
    """§2 recover: the deadline has passed."""
    return and_(_recovers_overdue(job, given), _flag(not given.profile.registers_expired))


def _recovers_alive(job: JobColumns, given: Given) -> ColumnElement[bool]:
    return and_(lease_over(job, given), _not_cancelled(job), _before_deadline(job, given))


def recovers_into_polling(job: JobColumns, given: Given) -> ColumnElement[bool]:
    """§2 recover, D-3: the provider has the work already."""
    return and_(_recovers_alive(job, given), _with_provider(job))


def recovers_into_retry(job: JobColumns, given: Given) -> ColumnElement[bool]:
    """§2 recover, D-15: an attempt is left."""
    return and_(_recovers_alive(job, given), _without_provider(job), _budget_left(job))


def recovers_exhausted(job: JobColumns, given: Given) -> ColumnElement[bool]:
    """§2 recover, D-15: no attempt is left."""
    return and_(_recovers_alive(job, given), _without_provider(job), _budget_spent(job))


# --- expiring ---------------------------------------------------------------------------------------------------------


def expires_cancelled(job: JobColumns, given: Given) -> ColumnElement[bool]:
    """§2 expire_overdue: a legacy row that somebody asked to stop."""
    return and_(_is(job, PENDING, WAITING), _cancel_requested(job))


def _expires_overdue(job: JobColumns, given: Given) -> ColumnElement[bool]:
    return and_(_is(job, PENDING, WAITING), _not_cancelled(job), _overdue(job, given))


def expires(job: JobColumns, given: Given) -> ColumnElement[bool]:
    """§2 expire_overdue, D-5: the deadline has passed, and the queue knows the word expired."""
    return and_(_expires_overdue(job, given), _flag(given.profile.registers_expired))


def expires_failed(job: JobColumns, given: Given) -> ColumnElement[bool]:
    """§2 expire_overdue, D-5: the deadline has passed."""
    return and_(_expires_overdue(job, given), _flag(not given.profile.registers_expired))


def expires_exhausted(job: JobColumns, given: Given) -> ColumnElement[bool]:
    """§2 expire_overdue: a legacy row whose attempts are spent."""
    return and_(_is(job, PENDING), _not_cancelled(job), _before_deadline(job, given), _budget_spent(job))


# --- the register -----------------------------------------------------------------------------------------------------

PREDICATES: Final[Mapping[tuple[str, str | None], Condition]] = {
    ("enqueue", "created"): enqueues,
    ("claim", "claimed"): claimable,
    ("resume_poll", "resumed"): pollable,
    ("renew", "renewed"): renews,
    ("succeed", "succeeded"): succeeds,
    ("fail", "cancelled"): fails_cancelled,
    ("fail", "final"): fails_finally,
    ("fail", "polled_again"): fails_into_polling,
    ("fail", "retried"): fails_into_retry,
    ("skip", "skipped"): skips,
    ("park", "cancelled"): parks_cancelled,
    ("park", "parked"): parks,
    ("request_cancel", "noted_before"): cancel_noted_before,
    ("request_cancel", "noted"): cancel_to_note,
    ("request_cancel", "immediate"): cancel_at_once,
    ("acknowledge_cancel", "acknowledged"): acknowledges_cancel,
    ("release", "cancelled"): releases_cancelled,
    ("release", "polled_again"): releases_into_polling,
    ("release", "handed_back"): hands_back,
    ("release", "exhausted"): releases_exhausted,
    ("release", "retried"): releases_into_retry,
    ("recover", None): lease_over,
    ("recover", "cancelled"): recovers_cancelled,
    ("recover", "expired"): recovers_expired,
    ("recover", "overdue"): recovers_overdue,
    ("recover", "polled_again"): recovers_into_polling,
    ("recover", "requeued"): recovers_into_retry,
    ("recover", "exhausted"): recovers_exhausted,
    ("expire_overdue", None): beyond_claiming,
    ("expire_overdue", "cancelled"): expires_cancelled,
    ("expire_overdue", "expired"): expires,
    ("expire_overdue", "overdue"): expires_failed,
    ("expire_overdue", "exhausted"): expires_exhausted,
}
"""Each predicate of the runtime by the operation and case whose guards it stands for; without a case, the operation's
guards alone. The order of cases is the model's."""


# --- which row --------------------------------------------------------------------------------------------------------

# These say which rows are meant and nothing about the state they are in, so the model has no guard for them.


def identified(job: JobColumns, key: ColumnElement[Any]) -> ColumnElement[bool]:
    """The one job with that key."""
    return job.id == key


def among(job: JobColumns, keys: BindParameter[Any] | Select[Any]) -> ColumnElement[bool]:
    """The jobs with one of these keys."""
    return job.id.in_(keys)


def not_among(job: JobColumns, keys: BindParameter[Any] | Select[Any]) -> ColumnElement[bool]:
    """The jobs with none of these keys."""
    return job.id.not_in(keys)


def in_queue(job: JobColumns, queue: ColumnElement[str]) -> ColumnElement[bool]:
    """The jobs of one queue."""
    return job.queue == queue


def in_status(job: JobColumns, statuses: BindParameter[Any]) -> ColumnElement[bool]:
    """The jobs in one of these statuses."""
    return job.status.in_(statuses)


SELECTORS: Final = (identified, among, not_among, in_queue, in_status)
"""The predicates that choose rows without looking at their state."""
