"""The small worlds in which the Job machine is explored and toured."""

from __future__ import annotations

from dataclasses import replace

from fencepost_model.error_codes import EXAMPLES, Family
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.semantics import Member, Population
from fencepost_model.terms import NULL, ValueTerm
from fencepost_model.worlds import World, const, later


def jobs(count: int, *workers: str) -> Population:
    """So many jobs; each may be claimed by one execution for each name given, executions of one worker share a name."""
    tokens: list[Member] = []
    for number, worker in enumerate(workers):
        twin = workers[:number].count(worker)
        tokens.append(Member("token", worker + "'" * twin, {"worker_id": worker}))
    return Population(Member("job", "job", {}, tuple(tokens)), count)


FULL: dict[str, tuple[ValueTerm, ...]] = {
    "enqueue.max_attempts": const(0, 2),
    "enqueue.deadline_at": (NULL, *later(0, 3)),
    "fail.code": const(
        EXAMPLES[Family.INFRA], EXAMPLES[Family.CONTENT], EXAMPLES[Family.CANCEL], EXAMPLES[Family.FENCE]
    ),
    "skip.code": const(EXAMPLES[Family.CONTENT], EXAMPLES[Family.INFRA]),
    "*.message": const("what went wrong"),
    "*.delay": const(1),
    "park.provider_ref": const("ref"),
    "park.next_poll_at": later(0, 1),
}
"""Arguments good and bad, so that every guard has a call that only it refuses."""

PARKING = {
    "lease_seconds": 2,
    "release_ceiling": 4,
    "max_polls": 1,
    "registers_park": True,
    "registers_skip": True,
    "registers_expired": True,
}

PLAIN = {"lease_seconds": 2, "release_ceiling": 3, "max_polls": 1}

JOB_SMALL = World(
    name="job-small",
    meaning="one job, three executions in two workers, everything registered, legacy rows",
    contract=JOB_CONTRACT,
    population=jobs(1, "w1", "w1", "w2"),
    horizon=6,
    arguments={**FULL, "enqueue.max_attempts": const(0, 1, 2), "enqueue.deadline_at": (NULL, *later(0, 4))},
    settings=PARKING,
    untaken=frozenset({"recover/overdue", "expire_overdue/overdue"}),
)

_NO_PARK = frozenset({"fail/polled_again", "park/cancelled", "park/parked", "resume_poll", "release/polled_again"})
_NO_WORDS = frozenset({"skip", "recover/expired", "recover/polled_again", "expire_overdue/expired"})

JOB_PLAIN = World(
    name="job-plain",
    meaning=(
        "one job, two executions in one worker, nothing registered, with and without a deadline, success beats cancel"
    ),
    contract=JOB_CONTRACT,
    population=jobs(1, "w1", "w1"),
    horizon=5,
    arguments=FULL,
    settings={**PLAIN, "cancel_wins": False},
    untaken=_NO_PARK | _NO_WORDS,
    unreached=frozenset(
        {"waiting_provider_reached", "skipped_reached", "expired_reached", "poll_resumed", "single_attempt"}
    ),
)

JOB_PARKED = World(
    name="job-parked",
    meaning="one job that may be parked, one execution, in a queue without the word expired",
    contract=JOB_CONTRACT,
    population=jobs(1, "w1"),
    horizon=6,
    arguments={**FULL, "enqueue.max_attempts": const(1, 2), "enqueue.deadline_at": later(4)},
    settings={**PARKING, "max_polls": 2, "registers_skip": False, "registers_expired": False},
    legacy=False,
    untaken=frozenset(
        {"skip", "recover/expired", "expire_overdue/expired", "expire_overdue/cancelled", "expire_overdue/exhausted"}
    ),
    unreached=frozenset(
        {"skipped_reached", "expired_reached", "pending_with_cancel_request", "stale_token_of_the_owner"}
    ),
)

JOB_LARGE = World(
    name="job-large",
    meaning="two jobs, two executions in one worker, with and without a deadline",
    contract=JOB_CONTRACT,
    population=jobs(2, "w1", "w1"),
    horizon=4,
    arguments={
        "enqueue.max_attempts": const(2),
        "enqueue.deadline_at": (NULL, *later(3)),
        "fail.code": const(EXAMPLES[Family.INFRA], EXAMPLES[Family.CONTENT]),
        "*.message": (NULL,),
        "*.delay": const(1),
    },
    settings=PLAIN,
    legacy=False,
    without=frozenset({"skip", "park", "resume_poll"}),
    untaken=(_NO_PARK | _NO_WORDS | {"expire_overdue/cancelled", "expire_overdue/exhausted"})
    - {"skip", "park/cancelled", "park/parked", "resume_poll"},
    unreached=JOB_PLAIN.unreached | {"pending_with_cancel_request"},
)

JOB_SYMMETRIC = replace(
    JOB_LARGE,
    name="job-symmetric",
    meaning="three jobs, two workers of one execution each, two seconds, without a deadline",
    population=jobs(3, "w1", "w2"),
    horizon=2,
    arguments={
        **JOB_LARGE.arguments,
        "enqueue.deadline_at": (NULL,),
        "fail.code": const(EXAMPLES[Family.INFRA]),
    },
    untaken=JOB_LARGE.untaken | {"recover/overdue", "recover/exhausted", "expire_overdue/overdue"},
    unreached=JOB_LARGE.unreached | {"stale_token_of_the_owner", "lease_cut_by_deadline"},
)
"""Jobs and workers that are interchangeable: what symmetry saves is measured on it."""

WORLDS: tuple[World, ...] = (JOB_SMALL, JOB_PLAIN, JOB_PARKED, JOB_LARGE)
"""The worlds that can be named on a command line."""

SMALL_WORLDS: tuple[World, ...] = (JOB_PARKED, JOB_PLAIN, JOB_SMALL)
"""The worlds in which each guard is dropped in turn; together they take every transition."""
