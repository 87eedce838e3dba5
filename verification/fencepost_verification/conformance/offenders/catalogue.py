"""The offenders: each a wrong implementation of the Job machine over the in-memory reference, named for its fault.

Most are the reference with one edit of its contract (``mutations``); some override a method. Beside each stand the
clauses that must catch it: at least one of them has to be refuted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from fencepost_model.error_codes import Family
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.machines.job import (
    CANCEL_REQUESTED,
    PENDING,
    RUNNING,
    STATUS,
    TERMINAL,
    at,
    codes_of,
    is_status,
    job,
    next_of,
    token,
)
from fencepost_model.terms import (
    AtMost,
    Const,
    Equal,
    Less,
    Missing,
    Not,
    Now,
    OneOf,
    Param,
    Plus,
    Setting,
    Truth,
    TruthTerm,
    Value,
    all_of,
    any_of,
    negation,
    present,
)
from fencepost_verification.conformance.harness import Harness, ok, refused
from fencepost_verification.conformance.offenders.mutations import (
    Edit,
    edited,
    handing_out,
    not_setting,
    setting,
    with_condition,
    with_guard,
    without_guards,
)
from fencepost_verification.conformance.protocol import Json
from fencepost_verification.conformance.reference import Reference

NOW: Final = Now()
HOLDERS: Final = ("renew", "succeed", "fail", "skip", "park", "acknowledge_cancel", "release")
"""The operations that present a token."""


@dataclass(frozen=True)
class Offender:
    """A wrong implementation: its name is its fault, ``caught_by`` the clauses of which one has to catch it."""

    name: str
    fault: str
    caught_by: tuple[str, ...]
    implementation: Callable[[], Harness]
    """Makes the implementation. Raises ``NoFault`` when the contract itself has come to say what the fault says."""


CATALOGUE: list[Offender] = []
"""All offenders, in the order written."""


def _edited(name: str, fault: str, caught_by: tuple[str, ...], *edits: Edit) -> None:
    # The contract is edited when the offender is judged: one that has lost its fault must not stop every command.
    @cache
    def wrong() -> type[Reference]:
        return type(name, (Reference,), {"contract": edited(JOB_CONTRACT, *edits), "name": name})

    CATALOGUE.append(Offender(name, fault, caught_by, lambda: wrong()()))


def _overriding(fault: str, *caught_by: str) -> Any:
    """Register a class as an offender under its own name, in snake case."""

    def register(wrong: type[Reference]) -> type[Reference]:
        name = "".join(f"_{c.lower()}" if c.isupper() else c for c in wrong.__name__).lstrip("_")
        wrong.name = name
        CATALOGUE.append(Offender(name, fault, caught_by, wrong))
        return wrong

    return register


# --- the fence --------------------------------------------------------------------------------------------------------

for _operation, _name in (
    ("renew", "missing_fence_on_renew"),
    ("succeed", "missing_fence_on_finish"),
    ("fail", "missing_fence_on_fail"),
    ("release", "missing_fence_on_release"),
):
    _edited(
        _name,
        f"{_operation} looks at the status and the lease, not at who calls",
        (f"{_operation}.owner", f"{_operation}.generation"),
        without_guards(_operation, "owner", "generation"),
    )

_edited(
    "owner_alone_is_the_fence",
    "an earlier claim of the same worker is taken for the present one",
    tuple(f"{o}.generation" for o in HOLDERS),
    *(without_guards(o, "generation") for o in HOLDERS),
)
_edited(
    "generation_alone_is_the_fence",
    "any worker that guesses the generation is taken for the holder",
    tuple(f"{o}.owner" for o in HOLDERS),
    *(without_guards(o, "owner") for o in HOLDERS),
)
_edited(
    "fence_with_at_least",
    "a token is good if its generation is at least the row's",
    tuple(f"{o}.generation" for o in HOLDERS),
    *(with_guard(o, "generation", AtMost(job("lease_generation"), token("lease_generation"))) for o in HOLDERS),
)
_edited(
    "fence_with_at_most",
    "a token is good if its generation is at most the row's",
    tuple(f"{o}.generation" for o in HOLDERS),
    *(with_guard(o, "generation", AtMost(token("lease_generation"), job("lease_generation"))) for o in HOLDERS),
)
_edited(
    "missing_generation_is_a_wildcard",
    "a caller without a generation is let through",
    tuple(f"{o}.generation" for o in HOLDERS),
    *(
        with_guard(
            o,
            "generation",
            any_of(Missing(token("lease_generation")), Equal(job("lease_generation"), token("lease_generation"))),
        )
        for o in HOLDERS
    ),
)
_edited(
    "generation_not_raised_at_claim",
    "a claim hands out the generation that the row has already",
    ("claim",),
    not_setting("claim", "claimed", "lease_generation"),
    handing_out("claim", "claimed", "lease_generation", job("lease_generation")),
)
_edited(
    "generation_not_raised_at_exit",
    "a failed attempt leaves the generation as it is, and its token good until the next claim",
    ("fail/retried",),
    not_setting("fail", "retried", "lease_generation"),
)

# --- the lease --------------------------------------------------------------------------------------------------------

_edited(
    "lease_good_at_its_very_end",
    "a holder is let through at the instant at which its lease ends",
    tuple(f"{o}.lease_alive" for o in HOLDERS),
    *(with_guard(o, "lease_alive", AtMost(NOW, job("lease_expires_at"))) for o in HOLDERS),
)
_edited(
    "finish_after_the_lease",
    "success is accepted whenever nobody else has claimed the job since",
    ("succeed.lease_alive",),
    without_guards("succeed", "lease_alive"),
)
_edited(
    "renewal_revives_a_lease",
    "a lease that is over can be renewed",
    ("renew.lease_alive",),
    without_guards("renew", "lease_alive"),
)
_edited(
    "live_lease_recovered",
    "recovery takes jobs from holders that are alive",
    ("recover.lease_over",),
    without_guards("recover", "lease_over"),
)
_edited(
    "recovery_one_tick_late",
    "recovery waits until the lease has been over for a while",
    ("recover/requeued", "recover/cancelled", "recover/exhausted", "recover/expired", "recover/overdue"),
    with_guard("recover", "lease_over", any_of(Missing(job("lease_expires_at")), Less(job("lease_expires_at"), NOW))),
)
_edited(
    "null_lease_not_recovered",
    "a running row without a lease is never looked at",
    ("recover/requeued", "recover/cancelled", "recover/exhausted"),
    with_guard("recover", "lease_over", AtMost(job("lease_expires_at"), NOW)),
)
_edited(
    "lease_not_cut_by_deadline",
    "a claim close to the deadline gets a whole lease",
    ("claim",),
    setting("claim", "claimed", "lease_expires_at", at(Setting("lease_seconds"))),
)
_edited(
    "renewal_not_cut_by_deadline",
    "a renewal close to the deadline reaches beyond it",
    ("renew",),
    setting("renew", "renewed", "lease_expires_at", at(Setting("lease_seconds"))),
)
_edited(
    "renewal_adds_to_the_lease",
    "a renewal adds a lease to the old one, so that many renewals hold a job for ever",
    ("renew",),
    setting("renew", "renewed", "lease_expires_at", Plus(job("lease_expires_at"), Setting("lease_seconds"))),
)
_edited(
    "heartbeat_not_noted",
    "a renewal does not note when it was made",
    ("renew",),
    not_setting("renew", "renewed", "heartbeat_at"),
)
_edited(
    "lease_kept_after_the_end",
    "a job that has succeeded still has an owner and a lease",
    ("succeed",),
    not_setting("succeed", "succeeded", "worker_id", "lease_expires_at", "heartbeat_at"),
)

# --- attempts ---------------------------------------------------------------------------------------------------------

_BUDGET_LEFT = AtMost(job("attempt_count"), job("max_attempts"))
_edited(
    "budget_off_by_one",
    "recovery puts a job back that has used its last attempt",
    ("recover/exhausted",),
    with_condition("recover", "budget_left", _BUDGET_LEFT, Not(_BUDGET_LEFT)),
)
_edited(
    "claim_beyond_the_budget",
    "a job is claimed although its attempts are spent",
    ("claim.budget_left",),
    without_guards("claim", "budget_left"),
)
_edited(
    "recovery_gives_attempts_back",
    "recovery hands the attempt back, so that a job that kills its worker runs for ever",
    ("recover/requeued",),
    setting("recover", "requeued", "attempt_count", Plus(job("attempt_count"), Const(-1))),
)
_edited(
    "release_costs_an_attempt",
    "a worker that shuts down uses an attempt up",
    ("release/handed_back",),
    not_setting("release", "handed_back", "attempt_count"),
)
_edited(
    "release_never_counts",
    "a job can be handed back without end at no cost",
    ("release/retried", "release/exhausted"),
    with_condition("release", "below_ceiling", Truth(True), Truth(False)),
)
_edited(
    "polling_uses_attempts_up",
    "each poll counts as an attempt",
    ("resume_poll",),
    setting("resume_poll", "resumed", "attempt_count", next_of("attempt_count")),
)
_edited(
    "polling_without_end",
    "polling is resumed however often it has been",
    ("resume_poll.polls_left",),
    without_guards("resume_poll", "polls_left"),
)
_edited(
    "polled_early",
    "a provider is asked before the time that was set",
    ("resume_poll.poll_due",),
    without_guards("resume_poll", "poll_due"),
)
_edited(
    "back_off_ignored",
    "a retry starts before it is due",
    ("claim.due",),
    without_guards("claim", "due"),
)
_edited(
    "attempt_without_identity",
    "a second attempt goes under the identity of the first",
    ("claim",),
    setting("claim", "claimed", "attempt_id", Const("attempt")),
)
_edited(
    "provider_work_submitted_twice",
    "recovery forgets that a provider has the work already",
    ("recover/polled_again",),
    with_condition("recover", "provider_ref_set", Truth(False), Truth(True)),
)

# --- cancel and deadline ----------------------------------------------------------------------------------------------


def _uncancelled(operation: str) -> Edit:
    return with_condition(operation, "cancel_requested", Truth(False), Truth(True))


_edited(
    "cancel_lost_at_recovery",
    "recovery puts a job back that was asked to stop",
    ("recover/cancelled",),
    _uncancelled("recover"),
)
_edited(
    "cancel_lost_at_release",
    "a job that was asked to stop is handed back",
    ("release/cancelled",),
    _uncancelled("release"),
)
_edited(
    "cancel_lost_at_parking",
    "a job that was asked to stop is parked",
    ("park/cancelled",),
    _uncancelled("park"),
)
_STOPPED_BY_CODE = OneOf(Param("code"), codes_of(Family.CANCEL))
_edited(
    "retry_after_cancel",
    "a failure of a job that was asked to stop is retried",
    ("fail/cancelled",),
    with_condition("fail", "stopped", _STOPPED_BY_CODE, Not(_STOPPED_BY_CODE)),
)
_edited(
    "cancelled_job_claimed",
    "a waiting job that somebody asked to stop is started",
    ("claim.not_cancelled",),
    without_guards("claim", "not_cancelled"),
)
_edited(
    "success_beats_cancel",
    "a job that was asked to stop ends as a success where cancel should win",
    ("succeed.cancel_does_not_win",),
    without_guards("succeed", "cancel_does_not_win"),
)
_edited(
    "cancel_always_wins",
    "a success after a cancel request is refused where it should stand",
    ("succeed", "succeed.cancel_does_not_win"),
    with_guard("succeed", "cancel_does_not_win", Missing(job("cancel_requested_at"))),
)
_edited(
    "cancel_time_overwritten",
    "asked again, the time of the first request is lost",
    ("request_cancel/noted_before",),
    setting("request_cancel", "noted_before", "cancel_requested_at", NOW),
)
_edited(
    "running_job_cancelled_at_once",
    "a running job ends at the request, under its holder's hands",
    ("request_cancel/noted",),
    setting("request_cancel", "noted", "status", Const("cancelled")),
)
_edited(
    "terminal_overwritten",
    "a cancel request changes a job that has ended",
    ("request_cancel.not_ended",),
    with_guard("request_cancel", "not_ended", present(STATUS)),
)
_edited(
    "claimed_past_the_deadline",
    "work is begun on a job whose deadline has passed",
    ("claim.before_deadline",),
    without_guards("claim", "before_deadline"),
)
_edited(
    "overdue_put_back",
    "recovery puts a job back whose deadline has passed",
    ("recover/expired", "recover/overdue"),
    with_condition("recover", "overdue", Truth(False), Truth(True)),
    with_condition("recover", "expired", Truth(False), Truth(True)),
)
_edited(
    "running_job_expired",
    "a job is ended for its deadline while its holder is at work",
    ("expire_overdue.unheld",),
    with_guard("expire_overdue", "unheld", is_status("pending", "running", "waiting_provider")),
)
_edited(
    "deadline_ignored_while_waiting",
    "a waiting job past its deadline stays for ever",
    ("expire_overdue/expired", "expire_overdue/overdue"),
    with_guard(
        "expire_overdue",
        "beyond_claiming",
        any_of(CANCEL_REQUESTED.term, all_of(is_status(PENDING), AtMost(job("max_attempts"), job("attempt_count")))),
    ),
)
_edited(
    "job_without_attempts_accepted",
    "a job is taken in that can never be claimed",
    ("enqueue.attempts_positive",),
    without_guards("enqueue", "attempts_positive"),
)

# --- errors and ends --------------------------------------------------------------------------------------------------

_NEVER_AGAIN: TruthTerm = Truth(True)
_edited(
    "infrastructure_trouble_is_final",
    "a failure that has nothing to do with the job ends it",
    ("fail/retried", "fail/polled_again"),
    with_condition("fail", "no_further_attempt", _NEVER_AGAIN, negation(_NEVER_AGAIN)),
)
_AGAIN_WHATEVER = AtMost(job("max_attempts"), job("attempt_count"))
_edited(
    "content_fault_retried",
    "a failure that another attempt cannot mend is retried",
    ("fail/final",),
    with_condition("fail", "no_further_attempt", _AGAIN_WHATEVER, Not(_AGAIN_WHATEVER)),
)
_edited(
    "fence_code_as_a_verdict",
    "a holder's report that it lost its lease ends the job",
    ("fail.code_is_a_verdict",),
    without_guards("fail", "code_is_a_verdict"),
)
_edited(
    "skipped_for_infrastructure",
    "infrastructure trouble passes as needless work",
    ("skip.content_code",),
    without_guards("skip", "content_code"),
)
_edited(
    "end_without_time",
    "a job that has failed does not say when",
    ("fail/final",),
    not_setting("fail", "final", "finished_at"),
)
_edited(
    "error_kept_after_success",
    "a job that has succeeded still carries the error of an earlier attempt",
    ("claim", "succeed"),
    not_setting("claim", "claimed", "error_code", "error_message"),
    not_setting("succeed", "succeeded", "error_code", "error_message"),
)
_edited(
    "parked_without_a_time",
    "a parked job may be polled in the same instant, round and round",
    ("park.poll_ahead",),
    without_guards("park", "poll_ahead"),
)


# --- faults that no edit of the contract makes ------------------------------------------------------------------------


@_overriding("a refused renewal still notes a heartbeat", "renew.generation", "renew.owner", "renew.lease_alive")
class RefusalThatWrites(Reference):
    """The answer is right; the row is not."""

    def renew(self, job: str, worker_id: str, lease_generation: int | None) -> Json:
        """Beat first, ask afterwards."""
        row = self.rows.get(job)
        if row is not None and row["status"] == RUNNING:
            row["heartbeat_at"] = self.now
        return super().renew(job, worker_id, lease_generation)


@_overriding("a success is written by the job's name alone", "succeed.running", "succeed.owner", "succeed.generation")
class UpdateByNameAlone(Reference):
    """The commonest fault of all."""

    def succeed(self, job: str, worker_id: str, lease_generation: int | None) -> Json:
        """Whatever the row says."""
        row = self.rows.get(job)
        if row is None:
            return refused("running", "owner", "generation", "lease_alive")
        row |= {"status": "succeeded", "finished_at": self.now, "error_code": None, "error_message": None}
        row |= {"worker_id": None, "lease_expires_at": None, "heartbeat_at": None}
        row["lease_generation"] = _number(row["lease_generation"]) + 1
        return ok("succeeded")


@_overriding("a failure with a cancel code is not fenced", "fail.owner", "fail.generation", "fail.lease_alive")
class FenceMissingOnOneBranch(Reference):
    """Three branches are right."""

    def fail(self, job: str, worker_id: str, lease_generation: int | None, code: str, message: str | None) -> Json:
        """The cancelled worker is believed whoever it is."""
        row = self.rows.get(job)
        if row is not None and row["status"] == RUNNING and code in codes_of(Family.CANCEL):
            owner, generation = row["worker_id"], row["lease_generation"]
            return self.attempt("fail", job, worker_id=owner, lease_generation=generation, code=code, message=message)
        return super().fail(job, worker_id, lease_generation, code, message)


@_overriding("a stale token raises instead of being answered", "renew.generation", "renew.owner", "renew.lease_alive")
class RaisesInsteadOfRefusing(Reference):
    """A refusal is an ordinary answer."""

    def renew(self, job: str, worker_id: str, lease_generation: int | None) -> Json:
        """Refusals become exceptions."""
        answer = super().renew(job, worker_id, lease_generation)
        if "refused" in answer:
            raise RuntimeError(f"lost the lease of {job}")
        return answer


@_overriding("a refusal names the first false guard only", "renew.generation", "renew.lease_alive", "renew.owner")
class ExplainsHalf(Reference):
    """It declares that it names them all."""

    def renew(self, job: str, worker_id: str, lease_generation: int | None) -> Json:
        """One reason is enough for everybody."""
        answer = super().renew(job, worker_id, lease_generation)
        return refused(*sorted(answer["refused"])[:1]) if "refused" in answer else answer


@_overriding("rows of jobs that have ended vanish with time", "clock")
class EndedRowsVanish(Reference):
    """Retention without being asked."""

    def set_clock(self, now: float) -> None:
        """Tidy up."""
        super().set_clock(now)
        self.rows = {label: row for label, row in self.rows.items() if row["status"] not in TERMINAL}


@_overriding("rows of older programs are brought into order while they are loaded", "load")
class LegacyRowsTidied(Reference):
    """A migration that hides what it found."""

    def load(self, label: str, row: Mapping[str, Value]) -> None:
        """Nobody runs without a lease here."""
        super().load(label, row)
        if row["status"] == RUNNING:
            self.rows[label]["status"] = PENDING


@_overriding("a claim by the worker that held the job last is let through early", "claim.due", "claim")
class StickyWorker(Reference):
    """Back-off does not hold for an old acquaintance."""

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[str, str] = {}

    def claim(self, worker_id: str, limit: int, max_claims: int) -> Json:
        """Forget the back-off of jobs that this worker had before."""
        for label, row in self.rows.items():
            if self._last.get(label) == worker_id and row["status"] == PENDING:
                row["next_attempt_at"] = None
        answer = super().claim(worker_id, limit, max_claims)
        self._last |= {str(item["job"]): worker_id for item in answer["acted_on"]}
        return answer


def _number(value: Value) -> int:
    assert isinstance(value, int)
    return value
