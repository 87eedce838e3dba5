"""Finishes that are buffered in the worker and flushed in one statement, as single finishes.

Theory
======
A worker that ends many jobs a second may keep each finish in memory for a moment and write them in one statement
(contract §2, Group completion). One statement writes rows of many jobs, but each row is judged by itself and jobs share
nothing, so a flush is seen by one job as a step of its own: this file tells the story of one job and its executions.

What must be kept: a finish is judged at the flush and never when the handler returns; until then the worker goes on
beating for the job; a row with a cancel request is acknowledged in the flush, for its handler is gone and nobody else
would; a row no longer held is dropped, and that is told; a job whose finish is buffered is not handed back. A process
that dies loses its buffer: the job is then run again, which nothing can prevent.

``group_completion`` makes the contract; its switches leave one of these out, to see what breaks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from fencepost_model.contract import Contract
from fencepost_model.error_codes import LEASE_RELEASE_CEILING
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.machines import job
from fencepost_model.machines.job import HELD, JOB, TOKEN, token
from fencepost_model.machines.job_worlds import jobs
from fencepost_model.refinement import STUTTER, Performs, Refinement, SeenAs, same_fields
from fencepost_model.shapes import (
    Actor,
    Assignment,
    Case,
    Field,
    Guard,
    Invariant,
    Operation,
    Progress,
    Selection,
    Sort,
    Witness,
)
from fencepost_model.terms import (
    NULL,
    Const,
    Equal,
    Holds,
    Missing,
    Not,
    OneOf,
    Param,
    Setting,
    Term,
    ValueTerm,
    all_of,
    any_of,
    implies,
    present,
    rewritten_truth,
    rewritten_value,
)
from fencepost_model.worlds import World, const, later

SUCCESS, ERROR = "success", "error"
TOLD_OK, TOLD_CANCELLED, TOLD_ERROR, TOLD_DROPPED = "succeeded", "cancelled", "not succeeded", "dropped"

BUFFERED = token("buffered")
TOLD = token("told")
GAVE_BACK = token("gave_back")
DEAD = token("dead")

MEMORY: tuple[Field, ...] = (
    Field("buffered", Sort.WORD, "the finish that waits for the flush", words=(SUCCESS, ERROR)),
    Field("kept_code", Sort.TEXT, "the code of a buffered error", words=job.CODES),
    Field("kept_message", Sort.TEXT, "the words of a buffered error"),
    Field(
        "told",
        Sort.WORD,
        "what its caller was told after the commit",
        words=(TOLD_OK, TOLD_CANCELLED, TOLD_ERROR, TOLD_DROPPED),
    ),
    Field("gave_back", Sort.FLAG, "whether the worker itself gave the job back", ghost=True),
    Field("dead", Sort.FLAG, "whether its process has died"),
)

CLAUSE = "§2 group completion"
ALIVE = Guard("process_alive", Not(Holds(DEAD)), CLAUSE, "a process that has died does nothing")
NOT_BUFFERED = Guard("nothing_buffered", Missing(BUFFERED), CLAUSE, "a handler that has returned does nothing more")
IS_BUFFERED = Guard("finish_buffered", present(BUFFERED), CLAUSE, "there is something to flush")
FINISH_IS = {
    word: Guard(f"is_{word}", Equal(BUFFERED, Const(word)), CLAUSE, f"the handler returned with {word}")
    for word in (SUCCESS, ERROR)
}
STILL_HELD = Guard("still_held", all_of(*(guard.term for guard in HELD)), CLAUSE, "the row is judged at the flush")
LOST = Guard("no_longer_held", Not(STILL_HELD.term), CLAUSE, "the row is judged at the flush")
MUST_STOP = Guard(
    "must_stop",
    all_of(Holds(Setting("cancel_wins")), job.CANCEL_REQUESTED.term),
    "D-2",
    "where cancel wins, a job asked to stop does not succeed",
)

FORGOTTEN: tuple[Assignment, ...] = (
    Assignment(BUFFERED, NULL),
    Assignment(token("kept_code"), NULL),
    Assignment(token("kept_message"), NULL),
)


@dataclass(frozen=True)
class Buffering:
    """How finishes are buffered; each switch that is false leaves out one thing that the contract demands."""

    beats_go_on: bool = True
    """a job is beaten for until the flush, not only until its handler returns"""
    flush_before_release: bool = True
    """a job whose finish is buffered is not handed back"""
    judged_at_flush: bool = True
    """the flush looks at the cancel request, instead of writing what the handler returned"""
    acknowledged: bool = True
    """a row with a cancel request is acknowledged in the flush, instead of being left where it is"""


def _told(word: str) -> Assignment:
    return Assignment(TOLD, Const(word))


def _kept(term: Term) -> Term | None:
    return token(f"kept_{term.name}") if isinstance(term, Param) and term.name in ("code", "message") else None


def _handler_returns() -> tuple[Operation, ...]:
    buffer = Assignment(BUFFERED, Const(SUCCESS))
    returned = Operation(
        name="handler_returns",
        actor=Actor.HOLDER,
        selection=Selection.NAMED,
        over=(JOB, TOKEN),
        acts_on="token",
        guards=(*HELD, NOT_BUFFERED, ALIVE),
        cases=(Case("buffered", (), (buffer,), "its success waits for the flush"),),
        clause=CLAUSE,
        meaning="A handler returns; the worker buffers its success.",
    )
    raised = replace(
        returned,
        name="handler_raises",
        parameters=(job.CODE, job.MESSAGE),
        guards=(*returned.guards, next(g for g in job.FAIL.guards if g.name == "code_is_a_verdict")),
        cases=(
            Case(
                "buffered",
                (),
                (
                    Assignment(BUFFERED, Const(ERROR)),
                    Assignment(token("kept_code"), Param("code")),
                    Assignment(token("kept_message"), Param("message")),
                ),
                "its error waits for the flush",
            ),
        ),
        meaning="A handler raises; the worker buffers its error.",
    )
    return returned, raised


def _flush(how: Buffering) -> Operation:
    failures = tuple(
        Case(
            f"error_{case.name}",
            (STILL_HELD, FINISH_IS[ERROR], *(replace(g, term=rewritten_truth(g.term, _kept)) for g in case.when)),
            (
                *(replace(a, value=rewritten_value(a.value, _kept)) for a in case.effect),
                *FORGOTTEN,
                _told(TOLD_CANCELLED if case.name == "cancelled" else TOLD_ERROR),
            ),
            f"its error is written: {case.meaning}",
        )
        for case in job.FAIL.cases
    )
    acknowledged = Case(
        "acknowledged",
        (STILL_HELD, FINISH_IS[SUCCESS], MUST_STOP),
        (*job.ACKNOWLEDGE_CANCEL.cases[0].effect, *FORGOTTEN, _told(TOLD_CANCELLED)),
        "a cancel was requested: the job ends cancelled",
    )
    not_stopped = Guard("need_not_stop", Not(MUST_STOP.term), "D-2", "no request to stop stands in the way")
    succeeded = Case(
        "succeeded",
        (STILL_HELD, FINISH_IS[SUCCESS], *((not_stopped,) if how.judged_at_flush and how.acknowledged else ())),
        (*job.SUCCEED.cases[0].effect, *FORGOTTEN, _told(TOLD_OK)),
        "its success is written",
    )
    dropped = Case(
        "dropped", (LOST,), (*FORGOTTEN, _told(TOLD_DROPPED)), "the job is no longer held: nothing is written"
    )
    left = Guard("left_where_it_is", any_of(Not(MUST_STOP.term), LOST.term), "", "the row is not matched")
    refuses = how.judged_at_flush and not how.acknowledged
    return Operation(
        name="flush",
        actor=Actor.CLAIMER,
        selection=Selection.NAMED,
        over=(JOB, TOKEN),
        acts_on="token",
        parameters=(job.DELAY,),
        guards=(IS_BUFFERED, ALIVE, *((left,) if refuses else ())),
        cases=(dropped, *((acknowledged,) if how.judged_at_flush and how.acknowledged else ()), succeeded, *failures),
        clause=CLAUSE,
        meaning="Buffered finishes are written in one statement, row by row; callers are told after the commit.",
    )


def _crash() -> Operation:
    return Operation(
        name="crash",
        actor=Actor.CLAIMER,
        selection=Selection.NAMED,
        over=(JOB, TOKEN),
        acts_on="token",
        guards=(ALIVE,),
        cases=(Case("died", (), (*FORGOTTEN, Assignment(DEAD, Const(True))), "the buffer is gone"),),
        clause=CLAUSE,
        meaning="A worker process dies between two calls to the store.",
    )


def _changed(operation: Operation, how: Buffering) -> Operation:
    """What an operation of the job asks of the worker's memory besides, and what it leaves there."""
    if TOKEN not in operation.over:
        return operation
    guards: list[Guard] = [ALIVE]
    effect: tuple[Assignment, ...] = ()
    if operation.name in ("claim", "resume_poll"):
        guards.append(NOT_BUFFERED)
        effect = (Assignment(TOLD, NULL), Assignment(GAVE_BACK, NULL))
    elif operation.name == "renew":
        guards += [] if how.beats_go_on else [NOT_BUFFERED]
    elif operation.name == "release":
        guards += [NOT_BUFFERED] if how.flush_before_release else []
        effect = (Assignment(GAVE_BACK, Const(True)),)
    else:
        guards.append(NOT_BUFFERED)
    cases = tuple(replace(case, effect=(*case.effect, *effect)) for case in operation.cases)
    return replace(operation, guards=(*operation.guards, *guards), cases=cases)


INVARIANTS: tuple[Invariant, ...] = (
    Invariant(
        "told_ok_has_succeeded",
        CLAUSE,
        (JOB, TOKEN),
        implies(Equal(TOLD, Const(TOLD_OK)), job.is_status(job.SUCCEEDED)),
        "Who was told that a job has succeeded was told the truth.",
    ),
    Invariant(
        "told_cancelled_has_ended",
        CLAUSE,
        (JOB, TOKEN),
        implies(Equal(TOLD, Const(TOLD_CANCELLED)), job.is_status(job.CANCELLED)),
        "Who was told that a job was cancelled was told the truth.",
    ),
    Invariant(
        "no_finish_given_away",
        CLAUSE,
        (JOB, TOKEN),
        Not(all_of(Equal(TOLD, Const(TOLD_DROPPED)), Holds(GAVE_BACK))),
        "A finish is dropped because the lease was lost, never because the worker gave the job back itself.",
    ),
    Invariant(
        "nothing_buffered_after_release",
        CLAUSE,
        (JOB, TOKEN),
        implies(present(BUFFERED), Not(Holds(GAVE_BACK))),
        "No finish waits in the buffer for a job that was given back.",
    ),
    Invariant(
        "holder_was_told_nothing",
        CLAUSE,
        (JOB, TOKEN),
        implies(job.live_token("token"), all_of(Missing(TOLD), Not(Holds(GAVE_BACK)))),
        "Whoever holds a job has not been told its end, and has not given it back.",
    ),
    Invariant(
        "buffer_complete",
        CLAUSE,
        (JOB, TOKEN),
        all_of(
            implies(
                Equal(BUFFERED, Const(ERROR)),
                all_of(present(token("kept_code")), Not(OneOf(token("kept_code"), job.FENCE_CODES))),
            ),
            implies(present(BUFFERED), all_of(present(job.STATUS), Not(Holds(DEAD)))),
        ),
        "A buffered error has its code, and lies in the memory of a process that lives.",
    ),
)

WITNESSES: tuple[Witness, ...] = (
    Witness(
        "cancel_while_buffered",
        CLAUSE,
        (JOB, TOKEN),
        all_of(present(BUFFERED), job.live_token("token"), job.CANCEL_REQUESTED.term),
        "A job is asked to stop while its finish waits in the buffer.",
    ),
    Witness("finish_dropped", CLAUSE, (JOB, TOKEN), Equal(TOLD, Const(TOLD_DROPPED)), "A finish came too late."),
    Witness("told_ok", CLAUSE, (JOB, TOKEN), Equal(TOLD, Const(TOLD_OK)), "A caller was told that its job succeeded."),
)

PROGRESS: tuple[Progress, ...] = (
    Progress(
        "buffered_can_be_flushed",
        CLAUSE,
        (JOB, TOKEN),
        present(BUFFERED),
        ("flush",),
        "Whatever waits in the buffer can be flushed now, a row with a cancel request included.",
        at_once=True,
    ),
    Progress(
        "buffered_can_be_beaten_for",
        CLAUSE,
        (JOB, TOKEN),
        all_of(present(BUFFERED), job.live_token("token")),
        ("renew",),
        "While a finish waits in the buffer the worker can go on renewing the lease.",
        at_once=True,
    ),
)


def group_completion(how: Buffering = Buffering()) -> Contract:
    """The contract of one job whose holders buffer their finishes."""
    operations = (
        *(_changed(operation, how) for operation in job.OPERATIONS),
        *_handler_returns(),
        _flush(how),
        _crash(),
    )
    flushed = {job.RUNNING: ("flush",)}
    return Contract(
        name="group-completion",
        machines=(
            replace(
                job.JOB_MACHINE,
                table={status: (*row, *flushed.get(status, ())) for status, row in job.TABLE.items()},
            ),
            replace(job.TOKEN_MACHINE, fields=(*job.TOKEN_MACHINE.fields, *MEMORY)),
        ),
        operations=operations,
        invariants=(*job.INVARIANTS, *INVARIANTS),
        witnesses=WITNESSES,
        progress=PROGRESS,
        settings=job.SETTINGS,
        settings_assumed=job.SETTINGS_ASSUMED,
    )


def completion_refinement(how: Buffering = Buffering()) -> Refinement:
    """That buffered finishes do what single finishes do."""
    concrete = group_completion(how)
    steps: dict[str, SeenAs] = {
        operation.name: Performs(operation.name, {p.name: Param(p.name) for p in operation.parameters})
        for operation in job.OPERATIONS
    }
    steps |= {"handler_returns": STUTTER, "handler_raises": STUTTER, "crash": STUTTER}
    for case in concrete.operation("flush").cases:
        if case.name == "dropped":
            steps["flush/dropped"] = STUTTER
        elif case.name == "acknowledged":
            steps["flush/acknowledged"] = Performs("acknowledge_cancel")
        elif case.name == "succeeded":
            steps["flush/succeeded"] = Performs("succeed")
        else:
            arguments: dict[str, ValueTerm] = {
                "code": token("kept_code"),
                "message": token("kept_message"),
                "delay": Param("delay"),
            }
            steps[f"flush/{case.name}"] = Performs("fail", arguments)
    return Refinement(
        name="group-completion, as the job",
        clause=CLAUSE,
        concrete=concrete,
        abstract=JOB_CONTRACT,
        images=(same_fields(JOB_CONTRACT, "job", JOB), same_fields(JOB_CONTRACT, "token", JOB, TOKEN)),
        steps=steps,
    )


def completion_world(contract: Contract) -> World:
    """One job with a deadline, two executions of two workers, cancel wins."""
    return World(
        name="group-completion",
        meaning="one job whose two executions buffer their finishes",
        contract=contract,
        population=jobs(1, "w1", "w2"),
        horizon=3,
        arguments={
            "enqueue.max_attempts": const(2),
            "enqueue.deadline_at": later(3),
            "*.code": const(LEASE_RELEASE_CEILING),
            "*.message": (NULL,),
            "*.delay": const(1),
        },
        settings={"lease_seconds": 2, "release_ceiling": 3, "max_polls": 1, "registers_expired": True},
        legacy=False,
        without=frozenset({"skip", "park", "resume_poll"}),
        untaken=frozenset(
            {
                "fail/polled_again",
                "release/polled_again",
                "recover/polled_again",
                "flush/error_polled_again",
                "recover/overdue",
                "recover/exhausted",
                "expire_overdue/cancelled",
                "expire_overdue/overdue",
                "expire_overdue/exhausted",
            }
        ),
    )
