"""Why a job cannot go on for ever by itself: a measure that every step makes smaller, but for those named here.

The measure is a list of numbers, of which the first that changes decides: the hand-backs that are left below the
ceiling; the polls that are left; the attempts that are left; how far the job is from its end (running, waiting, ended).
A claim uses up an attempt, a poll a poll; a hand-back that gives the attempt back uses up a hand-back; every other exit
from running brings the job nearer to its end. So a job that nobody renews and nobody asks about ends after a bounded
number of steps, with a deadline or without, whatever time they take.

Two operations leave it as it is. A *renewal* may go round for ever: that is what a lease is for, and only a deadline
ends it. A *cancel request* of a running job is only noted; asking again changes nothing.
"""

from __future__ import annotations

from dataclasses import replace

from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.machines.job import JOB, PENDING, RUNNING, STATUS, WAITING, is_status, job
from fencepost_model.measures import lowered, never_negative
from fencepost_model.shapes import Descent, Measure, StepProperty
from fencepost_model.terms import (
    Choose,
    Const,
    Same,
    Setting,
    TruthTerm,
    ValueTerm,
    all_of,
    any_of,
    present,
    value_in_the_state_after,
)

NOTHING = Const(0)
DISTANCE: ValueTerm = Choose(is_status(RUNNING), Const(2), Choose(is_status(PENDING, WAITING), Const(1), Const(0)))
"""How far a job is from its end."""

JOB_MEASURE = Measure(
    name="job_measure",
    clause="§3 progress",
    over=(JOB,),
    parts=(
        Descent(NOTHING, job("hand_backs"), Setting("release_ceiling")),
        Descent(NOTHING, job("poll_count"), Setting("max_polls")),
        Descent(job("max_attempts"), job("attempt_count"), NOTHING),
        Descent(DISTANCE, NOTHING, NOTHING),
    ),
    by=(
        "claim",
        "succeed",
        "fail",
        "skip",
        "park",
        "resume_poll",
        "acknowledge_cancel",
        "recover",
        "expire_overdue",
        "release",
    ),
    meaning="Hand-backs, polls, attempts and the way to the end, in this order; renewals and cancel requests aside.",
)

MEASURES: tuple[Measure, ...] = (JOB_MEASURE,)


def _kept(measure: Measure) -> TruthTerm:
    parts = [part for descent in measure.parts for part in (descent.falling, descent.rising)]
    return all_of(*(Same(part, value_in_the_state_after(part)) for part in parts if not isinstance(part, Const)))


def not_raised(measure: Measure, *operations: str) -> tuple[StepProperty, ...]:
    """One step property for each operation that may leave the measure as it is, but not raise it."""
    falling = lowered(replace(measure, by=operations))
    return tuple(
        replace(
            statement,
            name=f"{statement.of}_does_not_raise_{measure.name}",
            statement=any_of(_kept(measure), statement.statement),
            meaning=f"A step of {statement.of} leaves the measure {measure.name} as it is, or makes it smaller.",
        )
        for statement in falling
    )


JOB_MEASURED = replace(
    JOB_CONTRACT,
    name="job-measured",
    invariants=(*JOB_CONTRACT.invariants, *never_negative(JOB_MEASURE, present(STATUS))),
    step_properties=(
        *JOB_CONTRACT.step_properties,
        *lowered(JOB_MEASURE),
        *not_raised(JOB_MEASURE, "renew", "request_cancel"),
    ),
)
"""The job's contract, with the statements that make up its measure."""
