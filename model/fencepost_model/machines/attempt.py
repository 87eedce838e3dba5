"""What hangs on a job: its attempts, its external task and its artifacts (contract §4, INV-3, INV-5), derived from it.

Theory
======
A job row tells only of the present. Three kinds of rows beside it tell of the rest, and each has to move in the *same
commit* as the job, else a crash between two commits leaves them telling different stories:

* an **attempt** is opened by ``claim`` and closed by whatever ends or puts back the work. While a provider works on the
  job its attempt is *parked*: still open, because polling goes on with the same attempt (D-3);
* an **external task** is the job as another table shows it: same word, same commit, written by nobody else (INV-3);
* an **artifact** is stored under an attempt. It is completed by the holder of the job's current attempt only (INV-5).

The contract is *derived*: every operation of the job is taken over with its guards, its cases and its effects, and each
case is extended by what it does to the rows beside it. What becomes of the task follows from the word that the case
gives to the job. What becomes of the attempt is a decision for each case, and so is a literal table (``TURNS``). A
case of the job that the table does not name is an error when this file is read, not an attempt left open.

What is proved of the job is proved in its own contract. Here stand those invariants of it that the new statements lean
on, and they are proved again, since the derived operations are other operations.

Rows of older programs. A legacy job that runs has no attempt row, no task row and no token. Nothing is closed when it
is recovered, nothing can be uploaded to it, and its first attempt row is opened when it is claimed again.

Where it is ugly: the table of the external task is derived too, status by status, from that of the job.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from fencepost_model.arrows import arrows_kept
from fencepost_model.contract import Contract
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.machines.job import (
    CANCELLED,
    EXPIRED,
    FAILED,
    HELD,
    JOB,
    OTHER_TOKEN,
    OURS_ONLY,
    PENDING,
    RUNNING,
    SKIPPED,
    STATUS,
    STATUSES,
    SUCCEEDED,
    TERMINAL,
    TOKEN,
    WAITING,
    is_status,
    job,
    job_after,
    live_token,
    next_of,
    token,
)
from fencepost_model.shapes import (
    Actor,
    Assignment,
    Case,
    Field,
    ForEach,
    Guard,
    Invariant,
    Machine,
    Operation,
    Parameter,
    Progress,
    Selection,
    Sort,
    Status,
    StepProperty,
    Variable,
    Witness,
)
from fencepost_model.terms import (
    AtMost,
    Bare,
    Const,
    Equal,
    Every,
    FieldOf,
    Less,
    Missing,
    Not,
    Now,
    OneOf,
    Param,
    Plus,
    Same,
    Setting,
    Some,
    TruthTerm,
    all_of,
    any_of,
    holds,
    implies,
    present,
    walk,
)

# --- words ------------------------------------------------------------------------------------------------------------

RELEASED, PARKED, LOST = "released", "parked", "lost"

ATTEMPT_STATUSES: tuple[Status, ...] = (
    Status(RUNNING, "a worker works on it"),
    Status(PARKED, "a provider works on it; still open"),
    Status(SUCCEEDED, "it ended the job well", terminal=True),
    Status(FAILED, "it ended in an error, whether or not another attempt follows", terminal=True),
    Status(CANCELLED, "it stopped because somebody asked for it", terminal=True),
    Status(SKIPPED, "it found the work needless", terminal=True),
    Status(EXPIRED, "the deadline passed while a provider worked on it", terminal=True),
    Status(RELEASED, "handed back; it does not count", terminal=True),
    Status(LOST, "its lease ran out and recovery took the job away", terminal=True),
)
OPEN: tuple[str, ...] = tuple(status.name for status in ATTEMPT_STATUSES if not status.terminal)
CLOSED: tuple[str, ...] = tuple(status.name for status in ATTEMPT_STATUSES if status.terminal)

UPLOADING, COMPLETED, DISCARDED = "uploading", "completed", "discarded"

ARTIFACT_STATUSES: tuple[Status, ...] = (
    Status(UPLOADING, "stored under an attempt, not yet whole"),
    Status(COMPLETED, "whole, and part of the result", terminal=True),
    Status(DISCARDED, "its attempt ended before it was whole", terminal=True),
)


@dataclass(frozen=True, slots=True)
class Turn:
    """What a case of the job makes of its open attempt: the word it is found with, and the word it is left with."""

    found: str
    left: str


# What becomes of the open attempt, for each case of each operation of the job. None: there is no open attempt, or it
# goes on as it is. ``claim`` is not listed: it opens one.
TURNS: dict[tuple[str, str], Turn | None] = {
    ("enqueue", "created"): None,
    ("renew", "renewed"): None,
    ("succeed", "succeeded"): Turn(RUNNING, SUCCEEDED),
    ("fail", "cancelled"): Turn(RUNNING, CANCELLED),
    ("fail", "final"): Turn(RUNNING, FAILED),
    ("fail", "polled_again"): Turn(RUNNING, PARKED),
    ("fail", "retried"): Turn(RUNNING, FAILED),
    ("skip", "skipped"): Turn(RUNNING, SKIPPED),
    ("park", "cancelled"): Turn(RUNNING, CANCELLED),
    ("park", "parked"): Turn(RUNNING, PARKED),
    ("resume_poll", "resumed"): Turn(PARKED, RUNNING),
    ("request_cancel", "noted_before"): None,
    ("request_cancel", "noted"): None,
    ("request_cancel", "immediate"): Turn(PARKED, CANCELLED),
    ("acknowledge_cancel", "acknowledged"): Turn(RUNNING, CANCELLED),
    ("recover", "cancelled"): Turn(RUNNING, LOST),
    ("recover", "expired"): Turn(RUNNING, LOST),
    ("recover", "overdue"): Turn(RUNNING, LOST),
    # Not lost: the provider still works on this attempt, and resume_poll goes on with it (D-3).
    ("recover", "polled_again"): Turn(RUNNING, PARKED),
    ("recover", "requeued"): Turn(RUNNING, LOST),
    ("recover", "exhausted"): Turn(RUNNING, LOST),
    # Only rows of older programs wait with a cancel request or with spent attempts; they have no open attempt.
    ("expire_overdue", "cancelled"): None,
    ("expire_overdue", "expired"): Turn(PARKED, EXPIRED),
    ("expire_overdue", "overdue"): Turn(PARKED, FAILED),
    ("expire_overdue", "exhausted"): None,
    ("release", "cancelled"): Turn(RUNNING, CANCELLED),
    ("release", "polled_again"): Turn(RUNNING, PARKED),
    ("release", "handed_back"): Turn(RUNNING, RELEASED),
    ("release", "exhausted"): Turn(RUNNING, FAILED),
    ("release", "retried"): Turn(RUNNING, FAILED),
}

# What may act on an attempt, by its status.
ATTEMPT_TABLE: dict[str, tuple[str, ...]] = {
    RUNNING: ("succeed", "fail", "skip", "park", "acknowledge_cancel", "recover", "release"),
    PARKED: ("resume_poll", "request_cancel", "expire_overdue"),
    **dict.fromkeys(CLOSED, ()),
}

ARTIFACT_TABLE: dict[str, tuple[str, ...]] = {
    UPLOADING: ("complete_artifact", "discard_upload"),
    COMPLETED: (),
    DISCARDED: (),
}

ATTEMPT = Variable("attempt", "attempt", of="job")
OTHER_ATTEMPT = Variable("other", "attempt", of="job")
TASK = Variable("task", "external_task", of="job")
ARTIFACT = Variable("artifact", "artifact", of="job")


def attempt(name: str, *, after: bool = False) -> FieldOf:
    """A field of an attempt."""
    return FieldOf("attempt", name, after)


def task(name: str, *, after: bool = False) -> FieldOf:
    """A field of the external task."""
    return FieldOf("task", name, after)


def artifact(name: str, *, after: bool = False) -> FieldOf:
    """A field of an artifact."""
    return FieldOf("artifact", name, after)


def among(value: FieldOf, words: tuple[str, ...]) -> TruthTerm:
    """The value is one of these words."""
    return Equal(value, Const(words[0])) if len(words) == 1 else OneOf(value, words)


# --- the derivation ---------------------------------------------------------------------------------------------------


def derived(operation: Operation) -> Operation:
    """An operation of the job, extended by what it does to the rows beside it; ``KeyError`` where TURNS is silent."""
    if operation.name == "claim":
        return _opening(operation)
    return replace(operation, cases=tuple(_extended(operation, case) for case in operation.cases))


def _opening(claim: Operation) -> Operation:
    opened = (
        Assignment(attempt("status"), Const(RUNNING)),
        Assignment(attempt("attempt_id"), next_of("lease_generation")),
        Assignment(attempt("lease_generation"), next_of("lease_generation")),
    )
    new = Guard("attempt_new", Missing(attempt("status")), "§4 Attempt", "every claim opens an attempt of its own")
    return replace(
        claim,
        over=(*claim.over, ATTEMPT),
        guards=(*claim.guards, new),
        cases=tuple(
            replace(case, effect=(*case.effect, *opened), also=_projection(claim, case)) for case in claim.cases
        ),
    )


def _extended(operation: Operation, case: Case) -> Case:
    turn = TURNS[operation.name, case.name]
    turned: tuple[ForEach, ...] = ()
    if turn is not None:
        turned = (
            ForEach(
                (ATTEMPT,),
                Equal(attempt("status"), Const(turn.found)),
                (Assignment(attempt("status"), Const(turn.left)),),
                f"its {turn.found} attempt is {turn.left}",
            ),
        )
    return replace(case, also=(*turned, *_projection(operation, case)))


def _projection(operation: Operation, case: Case) -> tuple[ForEach, ...]:
    """The word that a case gives to the job, given to its external task too."""
    words = [a.value.value for a in case.effect if a.field == STATUS and isinstance(a.value, Const)]
    if not words:
        return ()
    found = tuple(_found(operation, case))
    where = among(task("status"), found) if found else Missing(task("status"))
    return (ForEach((TASK,), where, (Assignment(task("status"), Const(words[0])),), f"its task is {words[0]} too"),)


def _found(operation: Operation, case: Case) -> Iterator[str]:
    """The statuses in which a case may find the job, by those of its conditions that speak of the status alone."""
    terms = [guard.term for guard in (*operation.guards, *case.when)]
    decisive = [term for term in terms if {part for part in walk(term) if _reads(part)} == {STATUS}]
    for status in STATUSES:
        if all(holds(term, Bare({"job": {"status": status.name}})) for term in decisive):
            yield status.name


def _reads(part: object) -> bool:
    return isinstance(part, FieldOf | Now | Setting | Param | Every | Some)


DERIVED: tuple[Operation, ...] = tuple(derived(operation) for operation in JOB_CONTRACT.operations)
"""The operations of the job, each with what it does to the rows beside the job."""


def projecting(operations: tuple[Operation, ...]) -> dict[str, tuple[str, ...]]:
    """The table of the external task: for each of the job's words, the operations that may take the task out of it."""
    allowed: dict[str, set[str]] = {status.name: set() for status in STATUSES}
    for operation in operations:
        for case in operation.cases:
            if any(each.subject == TASK for each in case.also):
                for word in _found(operation, case):
                    allowed[word].add(operation.name)
    order = [operation.name for operation in operations]
    return {word: tuple(sorted(names, key=order.index)) for word, names in allowed.items()}


# --- artifacts --------------------------------------------------------------------------------------------------------

IS_UPLOADING = Guard(
    "uploading", Equal(artifact("status"), Const(UPLOADING)), "§2 Artifacts", "what is whole or discarded stays so"
)
ORPHANED = Guard(
    "attempt_over",
    any_of(Not(is_status(RUNNING, WAITING)), Not(Same(artifact("attempt_id"), job("attempt_id")))),
    "§2 Artifacts",
    "an upload of the open attempt may still be completed, after a poll too",
)

OPEN_UPLOAD = Operation(
    name="open_upload",
    actor=Actor.HOLDER,
    selection=Selection.NAMED,
    over=(JOB, TOKEN, ARTIFACT),
    acts_on="artifact",
    guards=(
        *HELD,
        Guard("artifact_new", Missing(artifact("status")), "§2 Artifacts", "nothing is stored over another artifact"),
    ),
    cases=(
        Case(
            "opened",
            (),
            (
                Assignment(artifact("status"), Const(UPLOADING)),
                Assignment(artifact("attempt_id"), job("attempt_id")),
            ),
            "the artifact is stored under the job's current attempt",
        ),
    ),
    clause="§2 Artifacts",
    meaning="A holder begins to store an artifact.",
)

COMPLETE_ARTIFACT = Operation(
    name="complete_artifact",
    actor=Actor.HOLDER,
    selection=Selection.NAMED,
    over=(JOB, TOKEN, ARTIFACT),
    acts_on="artifact",
    parameters=(Parameter("attempt_id", Sort.IDENTITY, "the attempt for which the caller uploaded"),),
    guards=(
        *HELD,
        IS_UPLOADING,
        Guard(
            "current_attempt",
            Equal(Param("attempt_id"), job("attempt_id")),
            "INV-5",
            "a late upload of an earlier attempt is refused",
        ),
        Guard(
            "stored_there",
            Equal(artifact("attempt_id"), Param("attempt_id")),
            "§2 Artifacts",
            "an artifact is found under the attempt for which it was stored",
        ),
    ),
    cases=(
        Case(
            "completed",
            (),
            (Assignment(artifact("status"), Const(COMPLETED)),),
            "the artifact is part of the result",
        ),
    ),
    clause="INV-5",
    meaning="A holder declares an artifact whole: the one entry point.",
)

DISCARD_UPLOAD = Operation(
    name="discard_upload",
    actor=Actor.SYSTEM,
    selection=Selection.SWEEP,
    over=(JOB, ARTIFACT),
    acts_on="artifact",
    guards=(IS_UPLOADING, ORPHANED),
    cases=(
        Case(
            "discarded",
            (),
            (Assignment(artifact("status"), Const(DISCARDED)),),
            "nobody can complete it any more",
        ),
    ),
    clause="§2 Artifacts",
    meaning="Any live component clears away what an attempt left half stored.",
)

NEW_OPERATIONS: tuple[Operation, ...] = (OPEN_UPLOAD, COMPLETE_ARTIFACT, DISCARD_UPLOAD)
OPERATIONS: tuple[Operation, ...] = (*DERIVED, *NEW_OPERATIONS)

# --- machines ---------------------------------------------------------------------------------------------------------

ATTEMPT_MACHINE = Machine(
    name="attempt",
    meaning="One try at a job, from its claim to its end; parked while a provider works on it.",
    fields=(
        Field("status", Sort.WORD, "where it stands", nullable=False, words=tuple(s.name for s in ATTEMPT_STATUSES)),
        Field("attempt_id", Sort.IDENTITY, "its identity, fresh at every claim", nullable=False),
        Field("lease_generation", Sort.COUNT, "the generation with which it was opened", nullable=False),
    ),
    statuses=ATTEMPT_STATUSES,
    table=ATTEMPT_TABLE,
    created_by="claim",
    belongs_to="job",
)

TASK_MACHINE = Machine(
    name="external_task",
    meaning="The job as another table shows it, written through.",
    fields=(Field("status", Sort.WORD, "the job's word", nullable=False, words=tuple(s.name for s in STATUSES)),),
    statuses=STATUSES,
    table=projecting(DERIVED),
    created_by="enqueue",
    belongs_to="job",
)

ARTIFACT_MACHINE = Machine(
    name="artifact",
    meaning="A part of the result, stored under an attempt of the job.",
    fields=(
        Field("status", Sort.WORD, "where it stands", nullable=False, words=tuple(s.name for s in ARTIFACT_STATUSES)),
        Field("attempt_id", Sort.IDENTITY, "the attempt that stored it", nullable=False),
    ),
    statuses=ARTIFACT_STATUSES,
    table=ARTIFACT_TABLE,
    created_by="open_upload",
    belongs_to="job",
)

# --- what must hold in every state ------------------------------------------------------------------------------------

IS_OPEN = OneOf(attempt("status"), OPEN)
IS_CLOSED = OneOf(attempt("status"), CLOSED)
IS_THE_CURRENT = Equal(attempt("attempt_id"), job("attempt_id"))

OF_THE_JOB: tuple[str, ...] = (
    "poll_time_exactly_when_waiting",
    "waiting_uncancelled",
    "pending_uncancelled",
    "pending_has_budget",
    "attempts_within_budget",
    "waiting_has_deadline",
    "waiting_is_known",
    "provider_work_has_deadline",
    "started_work_has_an_attempt",
    "generation_counts",
    "legacy_is_untouched",
    "token_not_ahead",
    "current_token_holds",
)
"""The invariants of the job on which the new statements lean."""

NEW_INVARIANTS: tuple[Invariant, ...] = (
    Invariant(
        "INV-3",
        "INV-3",
        (JOB, TASK),
        implies(present(task("status")), Equal(task("status"), STATUS)),
        "The external task carries the word of its job, so that both have ended or neither.",
    ),
    Invariant(
        "open_attempt_is_current",
        "§4 Attempt",
        (JOB, ATTEMPT),
        all_of(
            implies(Equal(attempt("status"), Const(RUNNING)), all_of(IS_THE_CURRENT, is_status(RUNNING))),
            implies(Equal(attempt("status"), Const(PARKED)), all_of(IS_THE_CURRENT, is_status(WAITING))),
        ),
        "An open attempt is the job's current one: running with it, parked while the job waits for its provider.",
    ),
    Invariant(
        "current_attempt_is_open",
        "§4 Attempt",
        (JOB, ATTEMPT),
        implies(all_of(IS_THE_CURRENT, is_status(RUNNING, WAITING)), IS_OPEN),
        "While a job runs or waits for its provider its current attempt is open.",
    ),
    Invariant(
        "attempt_not_ahead",
        "§4 Attempt, D-18",
        (JOB, ATTEMPT),
        implies(
            present(attempt("status")),
            all_of(
                present(STATUS),
                AtMost(attempt("lease_generation"), job("lease_generation")),
                Equal(attempt("attempt_id"), attempt("lease_generation")),
            ),
        ),
        "An attempt was opened by a claim of a job that exists.",
    ),
    Invariant(
        "attempts_differ",
        "§2 claim",
        (JOB, ATTEMPT, OTHER_ATTEMPT),
        Not(Equal(attempt("attempt_id"), FieldOf("other", "attempt_id"))),
        "No two attempts have the same identity.",
    ),
    Invariant(
        "one_open_attempt",
        "§4 Attempt",
        (JOB, ATTEMPT, OTHER_ATTEMPT),
        Not(all_of(IS_OPEN, OneOf(FieldOf("other", "status"), OPEN))),
        "At most one attempt of a job is open.",
    ),
    Invariant(
        "artifact_under_an_attempt",
        "§2 Artifacts",
        (JOB, ARTIFACT),
        implies(
            present(artifact("status")),
            all_of(present(job("attempt_id")), present(artifact("attempt_id"))),
        ),
        "Every artifact is stored under an attempt.",
    ),
    Invariant(
        "legacy_has_no_attempt",
        "§2",
        (JOB, ATTEMPT),
        implies(present(attempt("status")), OURS_ONLY),
        "A row still as an older program left it has no attempt row.",
    ),
    Invariant(
        "legacy_has_no_task",
        "INV-3",
        (JOB, TASK),
        implies(present(task("status")), OURS_ONLY),
        "A row still as an older program left it has no external task: what only such rows meet with ends none.",
    ),
)

INVARIANTS: tuple[Invariant, ...] = (
    *(invariant for invariant in JOB_CONTRACT.invariants if invariant.name in OF_THE_JOB),
    *NEW_INVARIANTS,
)

# --- what must hold of every step -------------------------------------------------------------------------------------

OPEN_TO_CLOSED = all_of(IS_OPEN, OneOf(attempt("status", after=True), CLOSED))
BECOMES_COMPLETED = all_of(
    Not(Equal(artifact("status"), Const(COMPLETED))), Equal(artifact("status", after=True), Const(COMPLETED))
)

STEP_PROPERTIES: tuple[StepProperty, ...] = (
    *arrows_kept(NEW_OPERATIONS),
    *(statement for statement in JOB_CONTRACT.step_properties if statement.name == "holder_only"),
    StepProperty(
        "INV-3_nobody_else",
        "INV-3",
        (JOB, TASK),
        implies(Same(STATUS, job_after("status")), Same(task("status"), task("status", after=True))),
        "The word of the task changes only in the commit that changes the word of the job.",
    ),
    StepProperty(
        "INV-3_terminal",
        "INV-3, §2 rules",
        (JOB, TASK),
        implies(OneOf(task("status"), TERMINAL), Same(task("status"), task("status", after=True))),
        "A task that has ended is never overwritten.",
    ),
    StepProperty(
        "INV-3_created",
        "INV-3",
        (JOB, TASK),
        Equal(task("status", after=True), Const(PENDING)),
        "The task is created with its job.",
        of="enqueue",
    ),
    StepProperty(
        "INV-5",
        "INV-5",
        (JOB, TOKEN, ARTIFACT),
        implies(
            BECOMES_COMPLETED,
            all_of(live_token("token"), Equal(artifact("attempt_id"), job("attempt_id"))),
        ),
        "An artifact is completed under the job's current attempt by the one who holds the job.",
        by=Actor.HOLDER,
    ),
    StepProperty(
        "INV-5_no_other_way",
        "INV-5",
        (JOB, ARTIFACT),
        Not(BECOMES_COMPLETED),
        "Nobody but a holder completes an artifact.",
        by=Actor.SYSTEM,
    ),
    StepProperty(
        "artifact_frozen",
        "§2 Artifacts",
        (JOB, ARTIFACT),
        all_of(
            implies(
                present(artifact("status")),
                Same(artifact("attempt_id"), artifact("attempt_id", after=True)),
            ),
            implies(
                OneOf(artifact("status"), (COMPLETED, DISCARDED)),
                Same(artifact("status"), artifact("status", after=True)),
            ),
        ),
        "An artifact stays under its attempt, and what is whole or discarded stays so.",
    ),
    StepProperty(
        "stored_where_named",
        "§2 Artifacts",
        (JOB, TOKEN, ARTIFACT),
        Equal(artifact("attempt_id"), Param("attempt_id")),
        "The artifact that is completed is the one stored under the attempt that the caller names.",
        of="complete_artifact",
    ),
    StepProperty(
        "completed_once",
        "§2 Artifacts",
        (JOB, TOKEN, ARTIFACT),
        Equal(artifact("status"), Const(UPLOADING)),
        "Only what is being uploaded is completed: nobody is told twice that an artifact became whole.",
        of="complete_artifact",
    ),
    StepProperty(
        "open_attempt_keeps_its_uploads",
        "§2 Artifacts, D-3",
        (JOB, ARTIFACT),
        implies(
            all_of(Not(Equal(artifact("status"), Const(DISCARDED))), is_status(RUNNING, WAITING)),
            any_of(
                Not(Equal(artifact("attempt_id"), job("attempt_id"))),
                Not(Equal(artifact("status", after=True), Const(DISCARDED))),
            ),
        ),
        "What the open attempt has stored is not cleared away.",
    ),
    StepProperty(
        "attempt_frozen",
        "§2 rules",
        (JOB, ATTEMPT),
        all_of(
            implies(present(attempt("status")), Same(attempt("attempt_id"), attempt("attempt_id", after=True))),
            implies(IS_CLOSED, Same(attempt("status"), attempt("status", after=True))),
        ),
        "An attempt keeps its identity, and a closed one never changes again.",
    ),
    StepProperty(
        "claim_opens_an_attempt",
        "§4 Attempt",
        (JOB, TOKEN, ATTEMPT),
        all_of(
            Equal(attempt("status", after=True), Const(RUNNING)),
            Equal(attempt("attempt_id", after=True), job_after("attempt_id")),
        ),
        "A claim opens the attempt that the job then names.",
        of="claim",
    ),
    StepProperty(
        "parked_attempt_resumed",
        "§4 Attempt, D-3",
        (JOB, ATTEMPT),
        implies(IS_THE_CURRENT, Equal(attempt("status", after=True), Const(RUNNING))),
        "Polling goes on with the attempt that was parked.",
        of="resume_poll",
    ),
    StepProperty(
        "released_is_not_counted",
        "§4 Attempt, D-6",
        (JOB, ATTEMPT),
        all_of(
            implies(
                all_of(IS_OPEN, Equal(attempt("status", after=True), Const(RELEASED))),
                Equal(job_after("attempt_count"), Plus(job("attempt_count"), Const(-1))),
            ),
            implies(
                all_of(IS_OPEN, Less(job_after("attempt_count"), job("attempt_count"))),
                Equal(attempt("status", after=True), Const(RELEASED)),
            ),
        ),
        "An attempt is released exactly when it does not count.",
    ),
    StepProperty(
        "holder_gives_its_own_word",
        "§4 Attempt",
        (JOB, ATTEMPT),
        implies(
            all_of(OPEN_TO_CLOSED, Not(is_status(*TERMINAL)), OneOf(job_after("status"), TERMINAL)),
            Same(attempt("status", after=True), job_after("status")),
        ),
        "An attempt whose holder ends the job ends with the job's word.",
        by=Actor.HOLDER,
    ),
    StepProperty(
        "put_back_is_failed",
        "§4 Attempt, §2 fail, release",
        (JOB, ATTEMPT),
        implies(
            all_of(OPEN_TO_CLOSED, Equal(job_after("status"), Const(PENDING))),
            OneOf(attempt("status", after=True), (FAILED, RELEASED)),
        ),
        "An attempt whose holder puts the job back has failed, or is released.",
        by=Actor.HOLDER,
    ),
    *(
        StepProperty(
            f"{operation}_gives_the_word_of_the_job",
            "§4 Attempt",
            (JOB, ATTEMPT),
            implies(OPEN_TO_CLOSED, Same(attempt("status", after=True), job_after("status"))),
            f"What {operation} closes ends with the word of the job.",
            of=operation,
        )
        for operation in ("request_cancel", "expire_overdue")
    ),
    StepProperty(
        "recovered_is_lost",
        "§4 Attempt",
        (JOB, ATTEMPT),
        implies(OPEN_TO_CLOSED, Equal(attempt("status", after=True), Const(LOST))),
        "What recovery closes is lost.",
        of="recover",
    ),
)

# --- what must be reachable -------------------------------------------------------------------------------------------

OTHER_HOLDS = live_token("other")

WITNESSES: tuple[Witness, ...] = (
    *(
        Witness(
            f"attempt_{status.name}",
            "§4 Attempt",
            (JOB, ATTEMPT),
            Equal(attempt("status"), Const(status.name)),
            f"An attempt is {status.name}.",
        )
        for status in ATTEMPT_STATUSES
    ),
    *(
        Witness(
            f"artifact_{status.name}",
            "§2 Artifacts",
            (JOB, ARTIFACT),
            Equal(artifact("status"), Const(status.name)),
            f"An artifact is {status.name}.",
        )
        for status in ARTIFACT_STATUSES
    ),
    Witness(
        "second_attempt_open",
        "§4 Attempt",
        (JOB, ATTEMPT, OTHER_ATTEMPT),
        all_of(IS_OPEN, OneOf(FieldOf("other", "status"), CLOSED)),
        "A job runs its second attempt.",
    ),
    Witness(
        "task_ended_with_a_job_nobody_held",
        "INV-3",
        (JOB, TASK),
        all_of(Equal(task("status"), Const(CANCELLED)), Missing(job("attempt_id"))),
        "A job was cancelled before anybody claimed it, and its task with it.",
    ),
    Witness(
        "late_upload_within_the_attempt",
        "INV-5",
        (JOB, TOKEN, OTHER_TOKEN, ARTIFACT),
        all_of(
            OTHER_HOLDS,
            present(token("lease_generation")),
            Equal(artifact("status"), Const(UPLOADING)),
            Equal(artifact("attempt_id"), job("attempt_id")),
            Less(Const(0), job("poll_count")),
        ),
        "A provider is polled by one execution while another, stale one is still uploading for the same attempt.",
    ),
    Witness(
        "upload_of_an_earlier_attempt",
        "INV-5",
        (JOB, TOKEN, ARTIFACT),
        all_of(
            live_token("token"),
            Equal(artifact("status"), Const(UPLOADING)),
            Not(Equal(artifact("attempt_id"), job("attempt_id"))),
        ),
        "A job is held while an upload of an earlier attempt is unfinished.",
    ),
)

PROGRESS: tuple[Progress, ...] = (
    Progress(
        "no_upload_for_ever",
        "§3 no limbo",
        (JOB, ARTIFACT),
        Equal(artifact("status"), Const(UPLOADING)),
        ("discard_upload", "recover", "expire_overdue"),
        "An unfinished upload is cleared away, or the system can end the attempt that it belongs to.",
    ),
    Progress(
        "orphan_cleared_at_once",
        "§3 no limbo",
        (JOB, ARTIFACT),
        all_of(Equal(artifact("status"), Const(UPLOADING)), is_status(PENDING, *TERMINAL)),
        ("discard_upload",),
        "What an ended attempt left half stored can be cleared away at any time.",
        at_once=True,
    ),
)

ATTEMPT_CONTRACT = Contract(
    name="attempt",
    machines=(*JOB_CONTRACT.machines, ATTEMPT_MACHINE, TASK_MACHINE, ARTIFACT_MACHINE),
    operations=OPERATIONS,
    invariants=INVARIANTS,
    step_properties=STEP_PROPERTIES,
    witnesses=WITNESSES,
    progress=PROGRESS,
    settings=JOB_CONTRACT.settings,
    settings_assumed=JOB_CONTRACT.settings_assumed,
)
