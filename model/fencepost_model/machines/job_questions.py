"""Does every job end? The answers of the contract, as questions that are answered on the graph of relative states.

The worlds have small leases and budgets, but no horizon. A client is silent or not, as it likes; so is every worker
that is not said to be fair.
"""

from __future__ import annotations

from dataclasses import replace

from fencepost_model.contract import Contract
from fencepost_model.error_codes import EXAMPLES, Family
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.liveness import CLOCK, Component, Live, Question, not_ended
from fencepost_model.machines.job import JOB, LIVE, is_status, job
from fencepost_model.machines.job_worlds import jobs
from fencepost_model.shapes import Operation
from fencepost_model.terms import NULL, ValueTerm, all_of, present
from fencepost_model.worlds import World, const, later

_ARGUMENTS: dict[str, tuple[ValueTerm, ...]] = {
    "enqueue.max_attempts": const(2),
    "*.code": const(EXAMPLES[Family.INFRA], EXAMPLES[Family.CONTENT]),
    "*.message": (NULL,),
    "*.delay": const(1),
    "park.provider_ref": const("ref"),
    "park.next_poll_at": later(1),
}
_SETTINGS = {"lease_seconds": 2, "release_ceiling": 3, "max_polls": 2, "registers_expired": True}
_PARKS = {**_SETTINGS, "registers_park": True}

WITH_DEADLINE = World(
    name="endless-with-deadline",
    meaning="one job with a deadline, two executions, no horizon",
    contract=JOB_CONTRACT,
    population=jobs(1, "w1", "w2"),
    horizon=1,
    arguments={**_ARGUMENTS, "enqueue.deadline_at": later(4)},
    settings=_SETTINGS,
    without=frozenset({"skip", "park", "resume_poll"}),
)

PARKED = World(
    name="endless-parked",
    meaning="one job with a deadline that may be parked, one execution, no horizon",
    contract=JOB_CONTRACT,
    population=jobs(1, "w1"),
    horizon=1,
    arguments={**_ARGUMENTS, "enqueue.deadline_at": later(4)},
    settings=_PARKS,
    without=frozenset({"skip"}),
)

WITHOUT_DEADLINE = World(
    name="endless-without-deadline",
    meaning="one job without a deadline, two executions, no horizon",
    contract=JOB_CONTRACT,
    population=jobs(1, "w1", "w2"),
    horizon=1,
    arguments={**_ARGUMENTS, "enqueue.deadline_at": (NULL,)},
    settings=_SETTINGS,
    without=frozenset({"skip", "park", "resume_poll"}),
    legacy=False,
)

POLLED_FOR_EVER = World(
    name="endless-polls",
    meaning="one job that its holder parks without a deadline and without a bound, as the contract does not allow",
    contract=JOB_CONTRACT,
    population=jobs(1, "w1"),
    horizon=1,
    arguments={**_ARGUMENTS, "enqueue.deadline_at": (NULL,)},
    settings=_PARKS,
    without=frozenset({"skip", "release", "fail"}),
    legacy=False,
)

RECOVER = Component("recovery", ("recover",))
EXPIRE = Component("expiry", ("expire_overdue",))
CLAIM = Component("claimers", ("claim",))
POLL = Component("pollers", ("resume_poll",))
HOLDERS = Component("holders that end their work", ("succeed", "fail", "acknowledge_cancel", "release"))
PARKING_HOLDERS = Component("holders that park their work", ("park",))

EVERY_JOB: Live = not_ended(JOB_CONTRACT)
WITH_A_DEADLINE = Live((JOB,), all_of(is_status(*LIVE), present(job("deadline_at"))))
ASKED_TO_STOP = Live((JOB,), all_of(is_status(*LIVE), present(job("cancel_requested_at"))))


def without_guards(contract: Contract, **dropped: tuple[str, ...]) -> Contract:
    """The mutant in which operations lack guards. Raises ``KeyError`` when an operation has none of that name."""
    operations: list[Operation] = []
    for operation in contract.operations:
        names = dropped.get(operation.name, ())
        for name in names:
            if name not in {guard.name for guard in operation.guards}:
                raise KeyError(f"{operation.name}.{name}")
        operations.append(replace(operation, guards=tuple(g for g in operation.guards if g.name not in names)))
    return replace(contract, operations=tuple(operations), checked=False)


UNBOUNDED_POLLS = without_guards(
    JOB_CONTRACT, enqueue=("deadline_given",), park=("deadline_set",), resume_poll=("polls_left",)
)
"""What the contract forbids: parking without a deadline, and polls without a bound."""

QUESTIONS: tuple[Question, ...] = (
    Question(
        "a job with a deadline ends, whatever workers do",
        "§3 progress",
        WITH_DEADLINE,
        (CLOCK, RECOVER, EXPIRE),
        WITH_A_DEADLINE,
        True,
        "Clock, recovery and expiry end every job that has a deadline; holders may renew as they like.",
    ),
    Question(
        "a parked job ends with its deadline, whatever workers do",
        "§3 progress",
        PARKED,
        (CLOCK, RECOVER, EXPIRE),
        WITH_A_DEADLINE,
        True,
        "The same where jobs may be parked and polled.",
    ),
    Question(
        "without expiry a job with a deadline may wait for ever",
        "§3 progress, D-5",
        WITH_DEADLINE,
        (CLOCK, RECOVER),
        WITH_A_DEADLINE,
        False,
        "A job past its deadline can be claimed by nobody.",
    ),
    Question(
        "without expiry a parked job may wait for ever",
        "§3 progress, D-5",
        PARKED,
        (CLOCK, RECOVER),
        WITH_A_DEADLINE,
        False,
        "A parked job past its deadline is polled by nobody.",
    ),
    Question(
        "a job without a deadline ends if holders end their work",
        "§3 progress",
        WITHOUT_DEADLINE,
        (CLOCK, RECOVER, CLAIM, HOLDERS),
        EVERY_JOB,
        True,
        "Clock, recovery and claimers end a job without a deadline, if no holder renews for ever.",
    ),
    Question(
        "a holder may renew a job without a deadline for ever",
        "§3 progress",
        WITHOUT_DEADLINE,
        (CLOCK, RECOVER, CLAIM),
        EVERY_JOB,
        False,
        "Nothing bounds renewals where there is no deadline.",
    ),
    Question(
        "a holder that was asked to stop may renew for ever",
        "§3 progress",
        WITHOUT_DEADLINE,
        (CLOCK, RECOVER, CLAIM, EXPIRE),
        ASKED_TO_STOP,
        False,
        "Nothing bounds the answer to a cancel request.",
    ),
    Question(
        "polls without deadline and bound go on for ever",
        "§2 park, D-3",
        POLLED_FOR_EVER,
        (CLOCK, RECOVER, EXPIRE, CLAIM, POLL, PARKING_HOLDERS),
        EVERY_JOB,
        False,
        "Why parking demands a deadline and polls have a bound: without both, parking and polling go round.",
        UNBOUNDED_POLLS,
    ),
)
