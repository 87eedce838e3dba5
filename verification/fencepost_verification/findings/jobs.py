"""Gaps of the durable job, its batches, slots and hooks: 000 §1-§3, §5-§8, and the recoveries of 001 §3.2."""

from __future__ import annotations

from fencepost_model.machines import job as resolved
from fencepost_model.machines.job import JOB, TOKEN, ends_as, is_status, job, job_after, token
from fencepost_model.published import batch
from fencepost_model.published.edition import Edition
from fencepost_model.shapes import Actor, Invariant, StepProperty
from fencepost_model.terms import (
    AtMost,
    Const,
    Equal,
    Holds,
    Less,
    Missing,
    Not,
    Now,
    TruthTerm,
    all_of,
    implies,
    present,
)
from fencepost_verification.findings.evidence import Evidence, LassoEvidence, RunEvidence
from fencepost_verification.findings.finding import CANDIDATES, CONTRACT, TRIAL, Check, Gap
from fencepost_verification.findings.search import TICK, Question, Round, Stuck, first_answer, first_round
from fencepost_verification.findings.settling import job_keeps, job_never_goes_round


def in_reading(reading: str, question: Question, *, interleaved: bool = False) -> Check:
    """The check that asks a reading of the Job machine a question."""

    def check(edition: Edition) -> Evidence | None:
        world = edition.readings[reading].printed
        trace = first_answer(world, question)
        return None if trace is None else RunEvidence(world, question, trace, interleaved)

    return check


def on_stage(stage: str, question: Question, *, interleaved: bool = False) -> Check:
    """The check that asks a small printed machine a question."""

    def check(edition: Edition) -> Evidence | None:
        world = edition.stages[stage]
        trace = first_answer(world, question)
        return None if trace is None else RunEvidence(world, question, trace, interleaved)

    return check


def round_in_reading(reading: str, question: Round) -> Check:
    """The check that looks for a loop in a reading of the Job machine."""

    def check(edition: Edition) -> Evidence | None:
        world = edition.readings[reading].printed
        lasso = first_round(world, question)
        return None if lasso is None else LassoEvidence(world, question, lasso)

    return check


def round_on_stage(stage: str, question: Round) -> Check:
    """The check that looks for a loop in a small printed machine."""

    def check(edition: Edition) -> Evidence | None:
        world = edition.stages[stage]
        lasso = first_round(world, question)
        return None if lasso is None else LassoEvidence(world, question, lasso)

    return check


def _steps(name: str, statement: TruthTerm, meaning: str, by: Actor, *, with_token: bool = False) -> StepProperty:
    over = (JOB, TOKEN) if with_token else (JOB,)
    return StepProperty(name, "§2", over, statement, meaning, by=by)


CURRENT_CLAIM = _steps(
    "acts_under_the_current_claim",
    Equal(job("lease_generation"), token("lease_generation")),
    "Who writes as a holder holds the latest claim.",
    Actor.HOLDER,
    with_token=True,
)
ENDED_BY_CURRENT_CLAIM = _steps(
    "ended_under_the_current_claim",
    implies(
        all_of(present(token("lease_generation")), ends_as("succeeded")),
        Equal(job("lease_generation"), token("lease_generation")),
    ),
    "An execution whose claim is an earlier one does not end the job.",
    Actor.HOLDER,
    with_token=True,
)
LIVE_LEASE = _steps(
    "acts_under_a_live_lease",
    Less(Now(), job("lease_expires_at")),
    "Who writes as a holder has a lease that is not over.",
    Actor.HOLDER,
)
NOT_FROM_THE_LIVING = _steps(
    "takes_from_no_living_holder",
    implies(is_status("running"), resolved.LEASE_OVER.term),
    "Recovery takes a job only from a lease that is over.",
    Actor.SYSTEM,
)
PENDING_UNCANCELLED = Invariant(
    "pending_carries_no_cancel",
    "INV-6",
    (JOB,),
    Not(all_of(is_status("pending"), present(job("cancel_requested_at")))),
    "No job waits with a cancel request, since nobody may claim it.",
)
WAITING_UNCANCELLED = Invariant(
    "waiting_carries_no_cancel",
    "§3",
    (JOB,),
    Not(all_of(is_status("waiting_provider"), present(job("cancel_requested_at")))),
    "No job waits for a provider with a cancel request, since nobody would see it.",
)
RETRY_FITS = _steps(
    "retry_fits_the_deadline",
    implies(
        all_of(ends_as("pending"), present(job("deadline_at"))),
        Less(job_after("next_attempt_at"), job("deadline_at")),
    ),
    "A failed job is put back only if it can start before its deadline.",
    Actor.HOLDER,
)
OVERDUE_ENDS = _steps(
    "overdue_is_not_put_back",
    implies(all_of(is_status("running"), AtMost(job("deadline_at"), Now())), Not(ends_as("pending"))),
    "Recovery does not put back a job whose deadline has passed.",
    Actor.SYSTEM,
)
PENDING_GOES_ON = Stuck(
    "pending_goes_on",
    (JOB,),
    is_status("pending"),
    ("claim", "expire_overdue"),
    "A pending job can be claimed, now or later, or somebody ends it.",
)
RUNNING_IS_RECOVERED = Stuck(
    "running_is_recovered",
    (JOB,),
    is_status("running"),
    ("recover",),
    "A running job whose holder does nothing is recovered in the end.",
)
CANCEL_IS_ANSWERED = Stuck(
    "cancel_is_answered",
    (JOB,),
    is_status("waiting_provider"),
    ("request_cancel",),
    "A cancel request is answered in every live status.",
    patience=0,
)
NO_SECOND_SUBMISSION = _steps(
    "no_second_submission",
    implies(all_of(is_status("running"), present(job("provider_ref"))), Not(ends_as("pending"))),
    "Work that a provider has is not started a second time.",
    Actor.SYSTEM,
)
PENDING_HAS_BUDGET = Invariant(
    "pending_has_an_attempt_left",
    "D-15",
    (JOB,),
    implies(is_status("pending"), Less(job("attempt_count"), job("max_attempts"))),
    "A pending job can still be claimed.",
)
BUDGET_SPENT = _steps(
    "fails_only_with_a_spent_budget",
    implies(
        all_of(is_status("running"), ends_as("failed"), Missing(job("deadline_at"))),
        AtMost(job("max_attempts"), job("attempt_count")),
    ),
    "Recovery gives a job up only when its attempts are spent.",
    Actor.SYSTEM,
)
_COUNTERS = frozenset({"lease_generation", "attempt_id", "hand_backs", "starts", "started_at", "heartbeat_at"})
FREE_HAND_BACK = Round(
    "hand_back_for_ever",
    (JOB,),
    is_status("pending", "running"),
    ("claim", "release"),
    "A job is claimed and handed back for ever, within one instant, and no attempt is ever counted.",
    _COUNTERS,
)
CANCEL_UNANSWERED = Round(
    "renewed_for_ever_though_cancelled",
    (JOB,),
    all_of(is_status("running"), present(job("cancel_requested_at"))),
    (TICK, "renew"),
    "A holder that was asked to stop renews for ever: nothing bounds its answer.",
    frozenset({"started_at", "cancel_requested_at"}),
)

# --- small machines -------------------------------------------------------------------------------------------------

RESUMED_FOR_EVER = Round(
    "resumed_for_ever",
    (batch.BATCH,),
    Not(Equal(batch.batch("status"), Const("completed"))),
    ("claim_ready", "lease_runs_out", "recover_external_continuations"),
    "A batch whose coordinator crashes each time is made ready and resumed without end.",
    frozenset({"resumes"}),
)
INV_1 = Invariant(
    "resolving_exactly_while_resuming_under_a_lease",
    "000 §7 INV-1",
    (batch.BATCH,),
    implies(
        Equal(batch.batch("requirement"), Const("resolving")),
        all_of(Equal(batch.batch("status"), Const("resuming")), Holds(batch.batch("lease_alive"))),
    ),
    "INV-1 as printed: resolving if and only if resuming *and the lease is valid*.",
)
ONE_OF_TWO = Stuck(
    "a_ready_batch_is_claimed",
    (batch.RUN,),
    all_of(Equal(batch.run("first"), Const("ready")), Equal(batch.run("second"), Const("ready"))),
    ("claim_ready_batches", "complete_first"),
    "Two ready batches of one run: the claim takes both, the index refuses, all is rolled back.",
)
HOOK_FOR_EVER = Round(
    "rolled_back_for_ever",
    (batch.QUEUE,),
    Equal(batch.queue("good"), Const("pending")),
    ("claim, the hook raises, all is rolled back",),
    "The same rows are selected and rolled back again and again; the sound row is never claimed.",
)
EACH_ASKER = Invariant(
    "ends_when_all_have_cancelled",
    "D-26",
    (batch.SHARED,),
    implies(
        Equal(batch.shared("status"), Const("cancelled")),
        all_of(Holds(batch.shared("first_cancelled")), Holds(batch.shared("second_cancelled"))),
    ),
    "A job that two asked for is cancelled only when both have cancelled.",
)
NO_ORPHAN_RENDER = Stuck(
    "no_render_outlives_its_job",
    (batch.SHARED,),
    all_of(
        Equal(batch.shared("status"), Const("cancelled")),
        Equal(batch.shared("render"), Const("queued")),
    ),
    ("request_cancel", "observe"),
    "A render that a cancelled job has enqueued is withdrawn by somebody.",
)
SAME_WORD = Invariant(
    "task_ends_with_its_job",
    "INV-3",
    (batch.SHARED,),
    implies(
        Equal(batch.shared("status"), Const("cancelled")),
        Equal(batch.shared("task"), Const("cancelled")),
    ),
    "A job that has ended has an external task that ended with the same word.",
)
ONE_RENDER = Invariant(
    "one_render_on_a_slot",
    "INV-4",
    (batch.WORKER,),
    AtMost(batch.worker("renders"), Const(1)),
    "At most one render runs on a worker and epoch; INV-4 counts rows.",
)
UPLOADS_HOLD = StepProperty(
    "uploads_only_for_the_holder",
    "INV-5",
    (batch.SHARED,),
    Equal(batch.shared("holder"), Const("first")),
    "An artifact is accepted only from who holds the job.",
    of="first_uploads",
)

GAPS: tuple[Gap, ...] = (
    Gap(
        "An owner is no fence",
        ("000 §1.1", "000 §1.4", "000 §5.4"),
        "Terminal writes ask for the owner and a live lease; screenshots, backfills, images, pages and external tasks "
        "have neither generation nor attempt id. A stalled execution of a worker that has claimed the job again is "
        "taken for the new one.",
        in_reading("owner-only fence", ENDED_BY_CURRENT_CLAIM),
        "D-18",
        "§2 held",
        1,
        CANDIDATES,
        "the Job contract keeps ended_under_the_current_claim",
        job_keeps("owner-only fence", ENDED_BY_CURRENT_CLAIM),
    ),
    Gap(
        "A lease that is over still ends the job",
        ("000 §1.4", "000 §1.1", "000 §2.3"),
        "Section 1.4 takes a live lease *or* the attempt fence; 1.1 forbids any write after the lease and 2.3 checks "
        "it "
        "always. Between the end of a lease and recovery the late result is accepted.",
        in_reading("lease or attempt fence", LIVE_LEASE),
        "D-19",
        "§2 succeed",
        3,
        CANDIDATES,
        "the Job contract keeps acts_under_a_live_lease",
        job_keeps("lease or attempt fence", LIVE_LEASE),
    ),
    Gap(
        "One bad row stops a queue for ever",
        ("000 §8", "000 §7 INV-1"),
        "A hook that raises rolls back the whole batch, and nothing changes the next selection: sound rows beside a "
        "row whose hook always raises are never claimed.",
        round_on_stage("hook", HOOK_FOR_EVER),
        "§2 hooks",
        "§2 hooks",
        4,
        CANDIDATES,
    ),
    Gap(
        "Classify, then compare and swap, loses a cancel",
        ("000 §2.2", "000 §5.2 B", "000 §6.1", "000 §8"),
        "Recovery reads, decides, and writes where status and generation are as read. A cancel of a running row "
        "changes "
        "neither: one that arrives in between is carried into pending, where INV-6 lets nobody claim it.",
        in_reading("classify, then write", PENDING_UNCANCELLED, interleaved=True),
        "§2 recover",
        "§2 recover: each UPDATE repeats its whole guard",
        5,
        CANDIDATES,
        "the Job contract keeps pending_carries_no_cancel",
        job_keeps("classify, then write", PENDING_UNCANCELLED),
    ),
    Gap(
        "A render outlives its cancelled job",
        ("000 §2.2",),
        "The observer that catches renders enqueued after a cancel leaves as the execution ends; a render enqueued "
        "between its last look and the end stays queued under a cancelled job.",
        on_stage("observer", NO_ORPHAN_RENDER, interleaved=True),
        "§2 parents",
        "§2 enqueue: a child arriving after a cancel is refused",
        6,
        CANDIDATES,
    ),
    Gap(
        "A batch is resumed without end",
        ("001 §3.2 C", "000 §5.3"),
        "recover_external_continuations puts an expired resuming batch back to ready and has no limit: a batch whose "
        "coordinator always dies is resumed for ever.",
        round_on_stage("batch", RESUMED_FOR_EVER),
        "D-25",
        "§4 Batch: resume budget",
        7,
        CANDIDATES,
    ),
    Gap(
        "A time-out is retried past the deadline it reports",
        ("000 §4", "000 §1.2"),
        "RENDER_DEADLINE_EXCEEDED stands under INFRA, which is retryable; the deadline is absolute. The job is put "
        "back with its next attempt after its deadline. (Any INFRA code shows it; the model's stands for it.)",
        in_reading("retry past the deadline", RETRY_FITS),
        "D-5",
        "§2 fail: the retry time before the deadline",
        8,
        CANDIDATES,
        "the Job contract keeps retry_fits_the_deadline",
        job_keeps("retry past the deadline", RETRY_FITS),
    ),
    Gap(
        "A pending job past its deadline belongs to nobody",
        ("000 §1.2", "000 §6.1", "000 §8"),
        "A deadline bars claiming (the domain predicate of §8); recovery looks at running rows only. A job that waits "
        "past its deadline has no way out.",
        in_reading("retry past the deadline", PENDING_GOES_ON),
        "D-5",
        "§2 expire_overdue",
        None,
        CONTRACT,
        "the Job contract keeps pending_goes_on",
        job_keeps("retry past the deadline", PENDING_GOES_ON),
    ),
    Gap(
        "Recovery puts back a job that is already too late",
        ("000 §6.1", "000 §1.2"),
        "The three branches of recovery are put back, failed and cancelled; none looks at the deadline, from which on "
        "every renewal is refused.",
        in_reading("recovery without a deadline", OVERDUE_ENDS),
        "D-5",
        "§2 recover: deadline branch",
        None,
        CONTRACT,
        "the Job contract keeps overdue_is_not_put_back",
        job_keeps("recovery without a deadline", OVERDUE_ENDS),
    ),
    Gap(
        "A second start takes rows from the living",
        ("001 §0 N4", "001 §3.2 C", "000 §6.1 L2"),
        "Recovery at start that takes every running row, whatever its lease, takes the rows of workers that are alive: "
        "the same job then runs twice.",
        in_reading("start takes all", NOT_FROM_THE_LIVING),
        "§7 L2",
        "§7 L2: a prefix never overrides a live lease",
        16,
        CANDIDATES,
        "the Job contract keeps takes_from_no_living_holder",
        job_keeps("start takes all", NOT_FROM_THE_LIVING),
    ),
    Gap(
        "Renewal by worker keeps dead handlers alive",
        ("001 §6.4",),
        "One UPDATE by worker_id renews all rows of a worker, also one whose handler has died or never claimed: while "
        "the process lives, the job is never recovered.",
        in_reading("renewal by worker", CURRENT_CLAIM),
        "§2 renew",
        "§2 renew: tokens, never all rows of a worker",
        17,
        CANDIDATES,
        "the Job contract keeps acts_under_the_current_claim",
        job_keeps("renewal by worker", CURRENT_CLAIM),
    ),
    Gap(
        "One group's cancel ends another group's work",
        ("000 §2.2", "000 §5.3", "001 §2.3"),
        "A job may belong to several groups, and callers are deduplicated onto live jobs; a cancel ends the job for "
        "all.",
        on_stage("shared job", EACH_ASKER),
        "D-26",
        "§4 groups",
        18,
        CANDIDATES,
    ),
    Gap(
        "Parking carries a cancel where nobody looks",
        ("000 §2.1", "000 §2.2"),
        "Nothing printed looks at a cancel request when a job is handed to its provider; a waiting job has no holder "
        "who could confirm it.",
        in_reading("park ignores a cancel", WAITING_UNCANCELLED),
        "§2 park",
        "§2 park: with a cancel requested -> cancelled",
        19,
        CANDIDATES,
        "the Job contract keeps waiting_carries_no_cancel",
        job_keeps("park ignores a cancel", WAITING_UNCANCELLED),
    ),
    Gap(
        "Handing back carries a cancel where nobody may claim",
        ("000 §2.2", "000 §7 INV-6"),
        "An early form of the graceful hand-back puts a job with a cancel request back to pending: INV-6 bars every "
        "claim, nothing else is bound to end it.",
        in_reading("release ignores a cancel", PENDING_UNCANCELLED),
        "D-6",
        "§2 release: cancel requested -> cancelled",
        19,
        CANDIDATES,
        "the Job contract keeps pending_carries_no_cancel",
        job_keeps("release ignores a cancel", PENDING_UNCANCELLED),
    ),
    Gap(
        "A hand-back that costs nothing goes round for ever",
        ("000 §1.3", "000 §2"),
        "With the attempt given back, claim and hand-back repeat without end and within one instant: attempt_count no "
        "longer bounds executions.",
        round_in_reading("release is free", FREE_HAND_BACK),
        "D-6",
        "§2 release ceiling",
        20,
        CANDIDATES,
        "the Job contract has no such loop",
        job_never_goes_round("release is free", FREE_HAND_BACK),
    ),
    Gap(
        "A hand-back that costs leaves a job nobody may claim",
        ("000 §1.3", "000 §6.1"),
        "With the attempt counted, a job handed back on its last attempt is pending with a spent budget.",
        in_reading("release costs", PENDING_HAS_BUDGET),
        "D-6",
        "§2 release",
        20,
        CANDIDATES,
        "the Job contract keeps pending_has_an_attempt_left",
        job_keeps("release costs", PENDING_HAS_BUDGET),
    ),
    Gap(
        "A crash while polling submits the work again",
        ("000 §6.1", "000 §2.3"),
        "Recovery puts every expired running row back to pending; a job that was only being polled is claimed and "
        "submitted to its provider a second time.",
        in_reading("recovery without a provider", NO_SECOND_SUBMISSION),
        "D-3",
        "§2 recover: provider branch",
        21,
        CANDIDATES,
        "the Job contract keeps no_second_submission",
        job_keeps("recovery without a provider", NO_SECOND_SUBMISSION),
    ),
    Gap(
        "Cancelling does not know waiting_provider",
        ("000 §2.2", "000 §2.1"),
        "request_job_cancellation is defined for pending and running; a job that waits for its provider has no answer.",
        in_reading("cancel of two statuses", CANCEL_IS_ANSWERED),
        "D-4",
        "§2 request_cancel",
        None,
        CONTRACT,
        "the Job contract keeps cancel_is_answered",
        job_keeps("cancel of two statuses", CANCEL_IS_ANSWERED),
    ),
    Gap(
        "A running row without a lease is never recovered",
        ("001 §0 C8", "001 §3.2 C"),
        "The recovery of mutation jobs asks for lease <= now and has no branch for a missing lease: such a row runs "
        "for ever.",
        in_reading("recovery without null", RUNNING_IS_RECOVERED),
        "D-1",
        "§2 expired",
        None,
        CONTRACT,
        "the Job contract keeps running_is_recovered",
        job_keeps("recovery without null", RUNNING_IS_RECOVERED),
    ),
    Gap(
        "Three attempts are two in one of the queues",
        ("001 §0 C8", "001 §3.2 C"),
        "The mutation queue is put back while attempt + 1 < max, the others while attempt < max: with the attempt "
        "counted at the claim the former gives up one attempt early.",
        in_reading("recovery off by one", BUDGET_SPENT),
        "D-15",
        "§2 recover",
        None,
        CONTRACT,
        "the Job contract keeps fails_only_with_a_spent_budget",
        job_keeps("recovery off by one", BUDGET_SPENT),
    ),
    Gap(
        "Nothing bounds the answer to a cancel",
        ("000 §2.2", "000 §2.3"),
        "A running job is asked to stop and its holder confirms at a safe point; renewal asks for owner, lease and "
        "status only. A holder that never looks renews for ever.",
        round_in_reading("holder renews for ever", CANCEL_UNANSWERED),
        "kept",
        "§3: one without a deadline ends if no holder renews for ever",
        None,
        TRIAL,
    ),
    Gap(
        "INV-1 breaks by the passing of time",
        ("000 §7 INV-1",),
        "Resolving is to hold exactly while the batch resumes *under a valid lease*; when the lease runs out nobody "
        "writes, and the equivalence is false.",
        on_stage("batch", INV_1),
        "D-7",
        "§3 INV-1",
        None,
        CONTRACT,
    ),
    Gap(
        "Two ready batches of a run block each other",
        ("000 §7 INV-2", "000 §8"),
        "A claim of several rows selects both ready batches of a run; the unique index allows one resuming, the "
        "transaction is rolled back, and the next claim selects the same two.",
        on_stage("two batches", ONE_OF_TWO),
        "§2 hooks",
        "§2: of rows bound by an at-most-one index a claim takes one",
        None,
        TRIAL,
    ),
    Gap(
        "A cancelled pending job leaves its task behind",
        ("000 §7 INV-3", "000 §2.2"),
        "INV-3 is written through by finalize and by recovery; a cancel ends a pending job by neither.",
        on_stage("projection", SAME_WORD),
        "§3 INV-3",
        "§3 INV-3: every operation that can end a job projects",
        None,
        TRIAL,
    ),
    Gap(
        "INV-4 counts rows, not renders",
        ("000 §7 INV-4", "000 §2.3", "001 §3.2 C"),
        "Read so that the end of a lease releases the attempt's slot, a worker that is merely unreachable gets a "
        "second "
        "render while the first one runs.",
        on_stage("slot", ONE_RENDER),
        "§4 Slot",
        "§4 Slot: unknown keeps the slot",
        None,
        TRIAL,
    ),
    Gap(
        "A late upload passes the attempt fence",
        ("000 §1.3", "000 §7 INV-5", "000 §2.1"),
        "An artifact must carry the job's current attempt_id. Polling goes on with the attempt, so that the worker "
        "which "
        "parked the job still has it while another holds the job.",
        on_stage("artifact", UPLOADS_HOLD),
        "§2 artifacts",
        "§3 INV-5: and the caller holds it",
        None,
        TRIAL,
    ),
)
"""The gaps of this file, in the order in which they are numbered."""
