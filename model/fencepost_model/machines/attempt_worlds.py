"""The small worlds in which jobs are explored together with their attempts, external task and artifacts."""

from __future__ import annotations

from fencepost_model.error_codes import EXAMPLES, Family
from fencepost_model.machines.attempt import ATTEMPT_CONTRACT
from fencepost_model.semantics import Member, Population
from fencepost_model.terms import NULL, ValueTerm
from fencepost_model.worlds import World, const, later


def accompanied(*workers: str, attempts: int, tasks: int = 1, artifacts: int = 1) -> Population:
    """One job that may be claimed by one execution for each name, with room for so many attempts, tasks, artifacts.

    Executions of one worker share its name.
    """
    tokens = tuple(
        Member("token", worker + "'" * workers[:number].count(worker), {"worker_id": worker})
        for number, worker in enumerate(workers)
    )
    rooms = (
        *(Member("attempt", f"attempt {number}") for number in range(1, attempts + 1)),
        *(Member("external_task", f"task {number}") for number in range(1, tasks + 1)),
        *(Member("artifact", f"artifact {number}") for number in range(1, artifacts + 1)),
    )
    return Population(Member("job", "job", {}, (*tokens, *rooms)))


ARGUMENTS: dict[str, tuple[ValueTerm, ...]] = {
    "enqueue.max_attempts": const(2),
    "enqueue.deadline_at": later(3),
    "fail.code": const(EXAMPLES[Family.INFRA], EXAMPLES[Family.CONTENT]),
    "skip.code": const(EXAMPLES[Family.CONTENT]),
    "complete_artifact.attempt_id": const(1, 3),
    "*.message": (NULL,),
    "*.delay": const(1),
    "park.provider_ref": const("ref"),
    "park.next_poll_at": later(1),
}

PARKING = {
    "lease_seconds": 2,
    "release_ceiling": 2,
    "max_polls": 1,
    "registers_park": True,
    "registers_skip": True,
    "registers_expired": True,
}

_LEGACY_ONLY = frozenset({"expire_overdue/cancelled", "expire_overdue/exhausted"})

ATTEMPT_PARKED = World(
    name="attempt-parked",
    meaning="one job that is parked and polled, with one task and one artifact, two executions of one worker",
    contract=ATTEMPT_CONTRACT,
    population=accompanied("w1", "w1", attempts=1),
    horizon=4,
    arguments={**ARGUMENTS, "enqueue.deadline_at": later(4)},
    settings=PARKING,
    legacy=False,
    untaken=_LEGACY_ONLY
    | {"expire_overdue/overdue", "recover/exhausted", "recover/overdue", "release/exhausted", "release/retried"},
    unreached=frozenset({"second_attempt_open", "upload_of_an_earlier_attempt"}),
)

ATTEMPT_OVERDUE = World(
    name="attempt-overdue",
    meaning="one job that is parked past its deadline, in a queue without the word expired",
    contract=ATTEMPT_CONTRACT,
    population=accompanied("w1", attempts=1, artifacts=0),
    horizon=3,
    arguments=ARGUMENTS,
    settings={**PARKING, "registers_skip": False, "registers_expired": False},
    legacy=False,
    without=frozenset({"skip", "open_upload", "complete_artifact", "discard_upload"}),
    untaken=_LEGACY_ONLY
    | {
        "expire_overdue/expired",
        "recover/exhausted",
        "recover/expired",
        "recover/polled_again",
        "release/exhausted",
        "release/retried",
    },
    unreached=frozenset(
        {
            "attempt_skipped",
            "attempt_expired",
            "artifact_uploading",
            "artifact_completed",
            "artifact_discarded",
            "second_attempt_open",
            "late_upload_within_the_attempt",
            "upload_of_an_earlier_attempt",
        }
    ),
)

ATTEMPT_REPEATED = World(
    name="attempt-repeated",
    meaning="one job that is tried twice, with one task and one artifact, in a queue without parking; legacy rows",
    contract=ATTEMPT_CONTRACT,
    population=accompanied("w1", attempts=2),
    horizon=3,
    arguments={**ARGUMENTS, "enqueue.deadline_at": (NULL, *later(3))},
    settings={"lease_seconds": 1, "release_ceiling": 2, "max_polls": 1},
    without=frozenset({"skip", "park", "resume_poll"}),
    untaken=frozenset(
        {
            "expire_overdue/expired",
            "fail/polled_again",
            "recover/expired",
            "recover/polled_again",
            "release/polled_again",
        }
    ),
    unreached=frozenset({"attempt_parked", "attempt_skipped", "attempt_expired", "late_upload_within_the_attempt"}),
)

WORLDS: tuple[World, ...] = (ATTEMPT_PARKED, ATTEMPT_OVERDUE, ATTEMPT_REPEATED)
"""The worlds that can be named on a command line."""

SMALL_WORLDS: tuple[World, ...] = WORLDS
"""The worlds in which each guard is dropped in turn; together they take every transition."""
