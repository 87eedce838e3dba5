"""The job operations as 000 §1-§3 and §6 print them, each as the project's Job machine with one thing put back.

A *reading* is the Job contract in which the guards or effects of one operation are what a section prints; everything
else stays, so that what breaks is owed to that section. Names of fields and guards are the project's, hence the same
statement can be asked of the printed machine and of the resolved one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from fencepost_model.contract import Contract
from fencepost_model.error_codes import EXAMPLES, Family
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.machines import job as resolved
from fencepost_model.machines.job import JOB, job, token
from fencepost_model.published.drafting import is_in, of, operation, with_operations, word
from fencepost_model.semantics import Member, Population
from fencepost_model.shapes import Case, Field, Guard, Machine, Operation, Sort, Variable
from fencepost_model.terms import (
    NULL,
    Choose,
    Const,
    Equal,
    Less,
    Missing,
    Not,
    Now,
    Param,
    Setting,
    TruthTerm,
    ValueTerm,
    all_of,
    any_of,
    present,
)
from fencepost_model.worlds import World, const, later

LEASE = Setting("lease_seconds")
PRINTED = "printed so"

# --- changing one operation -------------------------------------------------------------------------------------------


def base(name: str) -> Operation:
    """An operation of the resolved Job machine."""
    return JOB_CONTRACT.operation(name)


def without_guard(changed: Operation, *names: str) -> Operation:
    """The operation without some of its guards. Raises ``KeyError`` when it has no such guard."""
    for name in names:
        if name not in {guard.name for guard in changed.guards}:
            raise KeyError(f"{changed.name} has no guard {name!r}")
    return replace(changed, guards=tuple(guard for guard in changed.guards if guard.name not in names))


def with_guard(changed: Operation, name: str, term: TruthTerm, where: str) -> Operation:
    """The operation with one more guard."""
    return replace(changed, guards=(*changed.guards, Guard(name, term, where, PRINTED)))


def only_cases(changed: Operation, *names: str) -> Operation:
    """The operation with some of its cases only, and without the conditions that spoke of the others."""
    kept = tuple(
        replace(case, when=tuple(guard for guard in case.when if not guard.name.startswith("not_")))
        for case in changed.cases
        if case.name in names
    )
    return replace(changed, cases=kept)


def _in_turn(changed: Operation, *names: str) -> Operation:
    """The cases named, each tried after the ones before it."""
    kept = only_cases(changed, *names)
    cases: list[Case] = []
    denied: list[Guard] = []
    for case in kept.cases:
        cases.append(replace(case, when=(*denied, *case.when)))
        joined = all_of(*(guard.term for guard in case.when)) if case.when else None
        if joined is not None:
            denied.append(Guard(f"not_{case.name}", Not(joined), changed.clause, PRINTED))
    return replace(kept, cases=tuple(cases))


# --- the readings -----------------------------------------------------------------------------------------------------

ATTEMPT_FENCE = Equal(job("attempt_id"), token("lease_generation"))
"""000 §1.4: the caller still has the job's current attempt (an attempt is named by the generation that opened it)."""


def owner_only_fence() -> Contract:
    """000 §1.4 with §5.4: owner and lease, where the queue has no generation and no attempt id."""
    return with_operations(
        JOB_CONTRACT,
        *(without_guard(base(name), "generation") for name in ("renew", "succeed", "fail")),
        name="owner-only fence",
    )


def lease_or_attempt_fence() -> Contract:
    """000 §1.4: owner and live lease, *or* the attempt fence."""
    changed = without_guard(base("succeed"), "lease_alive", "generation")
    either = any_of(Less(Now(), job("lease_expires_at")), ATTEMPT_FENCE)
    return with_operations(
        JOB_CONTRACT, with_guard(changed, "lease_or_attempt", either, "000 §1.4"), name="lease or attempt"
    )


READER = Machine(
    name="reader",
    meaning="a live component in the middle of a recovery: what it has read, and not yet written",
    fields=(
        word("verdict", "cancelled", "pending", "failed"),
        Field("read_generation", Sort.COUNT, "the generation read"),
    ),
    belongs_to="job",
)
_READER = Variable("reader", "reader", of="job")


def classify_then_write() -> Contract:
    """000 §2.2, §5.2 B, §8: recovery reads and classifies, then writes where status and generation are as read."""
    verdict: ValueTerm = Choose(
        present(job("cancel_requested_at")),
        Const("cancelled"),
        Choose(Less(job("attempt_count"), job("max_attempts")), Const("pending"), Const("failed")),
    )
    over = (JOB, _READER)
    read = operation(
        "recover_read",
        "000 §6.1 L1",
        over,
        {
            "running": is_in(job("status"), "running"),
            "lease_over": resolved.LEASE_OVER.term,
            "idle": Missing(of(_READER, "verdict")),
        },
        {of(_READER, "verdict"): verdict, of(_READER, "read_generation"): job("lease_generation")},
    )
    writes = [
        replace(
            operation(
                f"recover_write_{status}",
                "000 §5.2 B",
                over,
                {
                    "verdict": is_in(of(_READER, "verdict"), status),
                    "status as read": is_in(job("status"), "running"),
                    "generation as read": Equal(job("lease_generation"), of(_READER, "read_generation")),
                },
                {
                    job("status"): status,
                    of(_READER, "verdict"): NULL,
                    **{assigned.field: assigned.value for assigned in resolved.LEAVE_RUNNING},
                    **({} if status == "pending" else {job("finished_at"): Now()}),
                },
            ),
        )
        for status in ("cancelled", "pending", "failed")
    ]
    changed = with_operations(JOB_CONTRACT, read, *writes, name="classify, then write", without=("recover",))
    return replace(changed, machines=(*JOB_CONTRACT.machines, READER))


def start_takes_all() -> Contract:
    """001 §0 N4, §3.2 C: recovery at start has no lease predicate and takes every running row."""
    return with_operations(
        JOB_CONTRACT, without_guard(base("recover"), "lease_over"), name="recovery at start takes all running rows"
    )


def renew_by_worker() -> Contract:
    """001 §6.4: one UPDATE WHERE worker_id = ? renews every row of a worker."""
    return with_operations(JOB_CONTRACT, without_guard(base("renew"), "generation"), name="renewal by worker")


def retry_ignores_deadline() -> Contract:
    """000 §4: RENDER_DEADLINE_EXCEEDED is INFRA, hence put back; nothing printed ends a pending row that is overdue."""
    changed = base("fail")
    retried = next(case for case in changed.cases if case.name == "retried")
    may = all_of(
        any_of(*(Equal(Param("code"), Const(code)) for code in resolved.RETRYABLE_CODES)),
        Less(job("attempt_count"), job("max_attempts")),
    )
    final = next(case for case in changed.cases if case.name == "final")
    cases = (
        replace(retried, when=(Guard("may_retry", may, "000 §4", PRINTED),)),
        replace(final, when=(Guard("may_not_retry", Not(may), "000 §4", PRINTED),)),
    )
    return with_operations(
        JOB_CONTRACT, replace(changed, cases=cases), name="retry past the deadline", without=("expire_overdue",)
    )


def recovery_ignores_deadline() -> Contract:
    """000 §6.1 L1: expired rows go to pending, failed or cancelled; no branch speaks of the deadline (§1.2)."""
    return with_operations(
        JOB_CONTRACT,
        _in_turn(base("recover"), "cancelled", "requeued", "exhausted"),
        name="recovery without a deadline branch",
        without=("expire_overdue",),
    )


def recovery_ignores_provider() -> Contract:
    """000 §6.1 L1 again: a job that was polled when its worker died goes back to pending and is submitted again."""
    return with_operations(
        JOB_CONTRACT,
        _in_turn(base("recover"), "cancelled", "expired", "overdue", "requeued", "exhausted"),
        name="recovery without a provider branch",
    )


def park_ignores_cancel() -> Contract:
    """000 §2.1: a job moves to waiting_provider; nothing printed looks at a cancel request on the way."""
    return with_operations(JOB_CONTRACT, only_cases(base("park"), "parked"), name="park ignores a cancel request")


def release_ignores_cancel() -> Contract:
    """An early draft of the hand-back: pending again, whatever was asked."""
    return with_operations(
        JOB_CONTRACT, only_cases(base("release"), "handed_back"), name="hand-back ignores a cancel request"
    )


def release_is_free() -> Contract:
    """An early draft of the hand-back: the attempt is given back, without any bound."""
    changed = only_cases(base("release"), "handed_back")
    free = replace(changed.cases[0], when=())
    return with_operations(JOB_CONTRACT, replace(changed, cases=(free,)), name="hand-back is free")


def release_costs() -> Contract:
    """The other early draft: pending again and the attempt stays counted."""
    changed = only_cases(base("release"), "handed_back")
    kept = tuple(
        assigned for assigned in changed.cases[0].effect if assigned.field.name not in ("attempt_count", "hand_backs")
    )
    return with_operations(
        JOB_CONTRACT,
        replace(changed, cases=(replace(changed.cases[0], when=(), effect=kept),)),
        name="hand-back costs an attempt",
    )


def cancel_knows_two_statuses() -> Contract:
    """000 §2.2: request_job_cancellation answers pending and running; waiting_provider is not mentioned."""
    changed = with_guard(base("request_cancel"), "as_printed", is_in(job("status"), "pending", "running"), "000 §2.2")
    return with_operations(JOB_CONTRACT, changed, name="cancel of pending and running only")


def recovery_without_null() -> Contract:
    """001 C8, §3.2 C: the mutation queue's recovery asks for lease <= now and forgets the missing lease."""
    changed = with_guard(base("recover"), "as_printed", present(job("lease_expires_at")), "001 §3.2 C")
    return with_operations(JOB_CONTRACT, changed, name="recovery without the null branch")


def recovery_off_by_one() -> Contract:
    """001 C8, §3.2 C: the mutation queue is put back only while attempt + 1 < max."""
    changed = _in_turn(base("recover"), "cancelled", "expired", "overdue", "polled_again", "requeued", "exhausted")
    one_less = Guard("budget_left", Less(resolved.next_of("attempt_count"), job("max_attempts")), "001 §3.2 C", PRINTED)

    def shifted(guard: Guard) -> Guard:
        if guard.name == "budget_left":
            return one_less
        if guard.name == "not_requeued":
            return replace(guard, term=Not(one_less.term))
        return guard

    cases = tuple(replace(case, when=tuple(shifted(guard) for guard in case.when)) for case in changed.cases)
    return with_operations(JOB_CONTRACT, replace(changed, cases=cases), name="recovery with attempt + 1 < max")


# --- the worlds in which they are walked ------------------------------------------------------------------------------

ALWAYS_WITHOUT = frozenset({"skip", "park", "resume_poll", "release"})

ARGUMENTS: Mapping[str, tuple[ValueTerm, ...]] = {
    "enqueue.max_attempts": const(2),
    "enqueue.deadline_at": (NULL,),
    "fail.code": const(EXAMPLES[Family.INFRA]),
    "skip.code": const(EXAMPLES[Family.CONTENT]),
    "*.message": (NULL,),
    "*.delay": const(1),
    "park.provider_ref": const("ref"),
    "park.next_poll_at": later(1),
}


@dataclass(frozen=True)
class Reading:
    """A printed machine in a small world, and the world in which the resolved machine is asked the same."""

    printed: World
    resolved: World | None = None


def _world(
    contract: Contract,
    *,
    tokens: tuple[str, ...] = ("w1", "w1"),
    without: frozenset[str] = ALWAYS_WITHOUT,
    horizon: int = 4,
    legacy: bool = False,
    more: Mapping[str, tuple[ValueTerm, ...]] | None = None,
    settings: Mapping[str, bool | int] | None = None,
    reader: bool = False,
) -> World:
    members = [
        Member("token", name + "'" * tokens[:n].count(name), {"worker_id": name}) for n, name in enumerate(tokens)
    ]
    if reader:
        members.append(Member("reader", "recovery"))
    known = {operation.name for operation in contract.operations}
    arguments = {
        name: values
        for name, values in {**ARGUMENTS, **(more or {})}.items()
        if name.startswith("*.") or name.split(".")[0] in known
    }
    return World(
        name=contract.name,
        meaning="one job",
        contract=contract,
        population=Population(Member("job", "job", {}, tuple(members))),
        horizon=horizon,
        arguments=arguments,
        settings={"lease_seconds": 2, "release_ceiling": 3, "max_polls": 2, **(settings or {})},
        legacy=legacy,
        without=frozenset(name for name in without if name in known),
    )


QUIET = frozenset({"skip", "release", "renew", "succeed", "fail", "acknowledge_cancel"})
RELEASES = frozenset({"skip", "park", "resume_poll"})
PARKING = {"registers_park": True}
DEADLINE = {"enqueue.deadline_at": later(3)}


def _reading(build: Callable[[], Contract], **bounds: object) -> Reading:
    both = {key: value for key, value in bounds.items() if key != "reader"}
    return Reading(_world(build(), **bounds), _world(JOB_CONTRACT, **both))  # type: ignore[arg-type]


READINGS: Mapping[str, Reading] = {
    "owner-only fence": _reading(owner_only_fence, without=ALWAYS_WITHOUT | {"fail", "renew"}),
    "lease or attempt fence": _reading(lease_or_attempt_fence),
    "classify, then write": _reading(classify_then_write, tokens=("w1",), reader=True),
    "start takes all": _reading(start_takes_all, tokens=("w1", "w2")),
    "renewal by worker": _reading(renew_by_worker),
    "retry past the deadline": _reading(retry_ignores_deadline, tokens=("w1",), more=DEADLINE),
    "recovery without a deadline": _reading(recovery_ignores_deadline, tokens=("w1",), more=DEADLINE),
    "recovery without a provider": _reading(
        recovery_ignores_provider,
        tokens=("w1",),
        without=QUIET | {"request_cancel"},
        settings=PARKING,
        more={"enqueue.deadline_at": later(9)},
        horizon=5,
    ),
    "park ignores a cancel": _reading(
        park_ignores_cancel, tokens=("w1",), without=QUIET, settings=PARKING, more={"enqueue.deadline_at": later(9)}
    ),
    "release ignores a cancel": _reading(release_ignores_cancel, tokens=("w1",), without=RELEASES),
    "release is free": _reading(release_is_free, tokens=("w1",), without=RELEASES, horizon=0),
    "release costs": _reading(release_costs, tokens=("w1",), without=RELEASES, horizon=0),
    "cancel of two statuses": _reading(
        cancel_knows_two_statuses,
        tokens=("w1",),
        without=QUIET,
        settings=PARKING,
        more={"enqueue.deadline_at": later(9)},
        horizon=3,
    ),
    "recovery without null": _reading(
        recovery_without_null, tokens=("w1",), legacy=True, without=ALWAYS_WITHOUT | QUIET, horizon=3
    ),
    "recovery off by one": _reading(recovery_off_by_one, tokens=("w1",), horizon=6),
    "holder renews for ever": Reading(_world(JOB_CONTRACT, tokens=("w1",))),
}
"""Every reading by name."""
