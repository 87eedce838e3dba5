"""The Job machine and the tokens of its holders: the durable unit of work of contract §2.

Rule 1: whatever decides the life of a job stands in this file.

Theory
======
A **job** is a row. A **token** is what one execution in a worker remembers of its last claim of that job: who it is
and the generation it got. Several tokens may belong to one worker, because a worker process runs many threads; a
stalled thread keeps its old token while its own process claims the job again. So the fence cannot be the owner: it is
the generation, a counter on the row that only goes up.

Time-outs and back-off live in *instants on the row* compared with the store's clock: ``<= now`` is over or due,
``> now`` is alive (contract §7). ``held`` and ``expired`` are complements for a running row (D-1), the null lease
included, so that rows of older programs are recovered too.

Every operation is one conditional update: all guards are read in the same transaction as the write. An operation with
cases tries them in the order written.

Where it is ugly: the machine has *ghost* fields (``origin``, ``starts``, ``hand_backs``) which no table stores. They
count what an obligation speaks of, or tell rows of our own making from those found. And ``attempt_id`` is modelled by
the generation that opened the attempt: any fresh identity will do, and a conformance run compares it up to renaming.
"""

from __future__ import annotations

from fencepost_model.arrows import arrows_kept
from fencepost_model.error_codes import (
    EXAMPLES,
    JOB_DEADLINE_EXCEEDED,
    LEASE_RELEASE_CEILING,
    LEASE_TIMEOUT_MAX_ATTEMPTS,
    LEASE_TIMEOUT_RECOVERED,
    RETRYABLE,
    Family,
    classify,
)
from fencepost_model.shapes import (
    Actor,
    Assignment,
    Case,
    Field,
    Guard,
    Invariant,
    LegacyRow,
    Machine,
    Operation,
    Parameter,
    Progress,
    Selection,
    SettingShape,
    Sort,
    Status,
    StepProperty,
    Variable,
    Witness,
    in_order,
)
from fencepost_model.terms import (
    NULL,
    AtMost,
    Choose,
    Const,
    Equal,
    FieldOf,
    Holds,
    Larger,
    Less,
    Missing,
    Not,
    Now,
    OneOf,
    Param,
    Plus,
    Same,
    Setting,
    Smaller,
    TruthTerm,
    Value,
    ValueTerm,
    all_of,
    any_of,
    implies,
    present,
)

# --- words ------------------------------------------------------------------------------------------------------------

PENDING, RUNNING, WAITING = "pending", "running", "waiting_provider"
SUCCEEDED, FAILED, CANCELLED, SKIPPED, EXPIRED = "succeeded", "failed", "cancelled", "skipped", "expired"
OURS, LEGACY = "ours", "legacy"

CODES: tuple[str, ...] = (
    *EXAMPLES.values(),
    LEASE_TIMEOUT_MAX_ATTEMPTS,
    LEASE_RELEASE_CEILING,
    JOB_DEADLINE_EXCEEDED,
)
"""The codes that the model reasons with: one of each family, and those that the contract itself writes."""


def codes_of(*families: Family) -> tuple[str, ...]:
    """The codes of the model that belong to one of the families."""
    return tuple(code for code in CODES if classify(code) in families)


RETRYABLE_CODES = codes_of(*RETRYABLE)
CONTENT_CODES = codes_of(Family.CONTENT)
CANCEL_CODES = codes_of(Family.CANCEL)
FENCE_CODES = codes_of(Family.FENCE)

STATUSES: tuple[Status, ...] = (
    Status(PENDING, "waits to be claimed; held by nobody"),
    Status(RUNNING, "claimed by a worker under a lease"),
    Status(WAITING, "handed to an outside provider and polled; held by nobody"),
    Status(SUCCEEDED, "its holder finished it", terminal=True),
    Status(FAILED, "it ended without success: a final error, spent attempts or a passed deadline", terminal=True),
    Status(CANCELLED, "it ended because somebody asked for it", terminal=True),
    Status(SKIPPED, "its content no longer called for it", terminal=True),
    Status(EXPIRED, "its deadline passed, in queues that register the word", terminal=True),
)

TERMINAL: tuple[str, ...] = tuple(status.name for status in STATUSES if status.terminal)
LIVE: tuple[str, ...] = tuple(status.name for status in STATUSES if not status.terminal)

# What may act on a job, by its status. What is not in a row is forbidden; the row of a terminal status is empty.
TABLE: dict[str, tuple[str, ...]] = {
    PENDING: ("claim", "request_cancel", "expire_overdue"),
    RUNNING: (
        "renew",
        "succeed",
        "fail",
        "skip",
        "park",
        "request_cancel",
        "acknowledge_cancel",
        "recover",
        "release",
    ),
    WAITING: ("resume_poll", "request_cancel", "expire_overdue"),
    SUCCEEDED: (),
    FAILED: (),
    CANCELLED: (),
    SKIPPED: (),
    EXPIRED: (),
}

FIELDS: tuple[Field, ...] = (
    Field("status", Sort.WORD, "where the job stands", nullable=False, words=tuple(s.name for s in STATUSES)),
    Field("worker_id", Sort.IDENTITY, "the worker that holds the lease"),
    Field("lease_expires_at", Sort.INSTANT, "until when the lease is valid; at this very instant it is over"),
    Field("lease_generation", Sort.COUNT, "the fencing token: goes up at every claim and every exit", nullable=False),
    Field("heartbeat_at", Sort.INSTANT, "when the lease was last claimed or renewed"),
    Field("attempt_count", Sort.COUNT, "attempts started and not handed back", nullable=False),
    Field("max_attempts", Sort.COUNT, "how many attempts may start", nullable=False),
    Field("attempt_id", Sort.IDENTITY, "the identity of the latest attempt, fresh at every claim"),
    Field("cancel_requested_at", Sort.INSTANT, "when a running job was first asked to stop"),
    Field("error_code", Sort.TEXT, "the code of the latest error", words=CODES),
    Field("error_message", Sort.TEXT, "the latest error in words, for people only"),
    Field("started_at", Sort.INSTANT, "when the latest attempt started"),
    Field("finished_at", Sort.INSTANT, "when the job ended"),
    Field("next_attempt_at", Sort.INSTANT, "not to be claimed before"),
    Field("deadline_at", Sort.INSTANT, "no work on it from this instant on"),
    Field("next_poll_at", Sort.INSTANT, "when the provider is to be asked next", extension=True),
    Field("provider_ref", Sort.TEXT, "the provider's name for the work it was given", extension=True),
    Field("poll_count", Sort.COUNT, "how often polling has been resumed", nullable=False, extension=True),
    Field("origin", Sort.WORD, "who wrote the row's state", nullable=False, words=(OURS, LEGACY), ghost=True),
    Field("starts", Sort.COUNT, "how often an attempt has started", nullable=False, ghost=True),
    Field("hand_backs", Sort.COUNT, "how often an attempt has been handed back", nullable=False, ghost=True),
)

JOB = Variable("job", "job")
TOKEN = Variable("token", "token", of="job")
OTHER_TOKEN = Variable("other", "token", of="job")


def job(name: str) -> FieldOf:
    """A field of the job, as the step finds it."""
    return FieldOf("job", name)


def job_after(name: str) -> FieldOf:
    """A field of the job, as the step leaves it."""
    return FieldOf("job", name, after=True)


def token(name: str) -> FieldOf:
    """A field of the caller's token."""
    return FieldOf("token", name)


NOW = Now()
STATUS = job("status")


def is_status(*names: str) -> TruthTerm:
    """The job is in one of these statuses."""
    return Equal(STATUS, Const(names[0])) if len(names) == 1 else OneOf(STATUS, names)


def ends_as(*names: str) -> TruthTerm:
    """The step leaves the job in one of these statuses."""
    after = job_after("status")
    return Equal(after, Const(names[0])) if len(names) == 1 else OneOf(after, names)


# --- settings ---------------------------------------------------------------------------------------------------------

SETTINGS: tuple[SettingShape, ...] = (
    SettingShape("lease_seconds", Sort.DURATION, "the length of a lease", 300),
    SettingShape("release_ceiling", Sort.COUNT, "the generation from which a hand-back counts as a failure", 20),
    SettingShape("max_polls", Sort.COUNT, "how often polling may be resumed", 100),
    SettingShape("cancel_wins", Sort.FLAG, "a requested cancel beats a success (D-2)", True),
    SettingShape("registers_park", Sort.FLAG, "jobs of this queue may wait for a provider", False),
    SettingShape("registers_skip", Sort.FLAG, "jobs of this queue may be skipped", False),
    SettingShape("registers_expired", Sort.FLAG, "a passed deadline ends in expired, else in failed", False),
)

SETTINGS_ASSUMED: TruthTerm = all_of(
    Less(Const(0), Setting("lease_seconds")),
    AtMost(Const(0), Setting("release_ceiling")),
    AtMost(Const(0), Setting("max_polls")),
)

# --- guards that several operations share -----------------------------------------------------------------------------

IS_RUNNING = Guard("running", is_status(RUNNING), "§2 held", "only a running job has a holder")
IS_OWNER = Guard(
    "owner",
    Equal(job("worker_id"), token("worker_id")),
    "§2 held",
    "the lease belongs to one worker",
)
IS_CURRENT = Guard(
    "generation",
    Equal(job("lease_generation"), token("lease_generation")),
    "§2 held, D-18",
    "an earlier claim of the same worker is no longer a claim",
)
LEASE_ALIVE = Guard(
    "lease_alive",
    Less(NOW, job("lease_expires_at")),
    "§2 held, D-1",
    "a holder whose lease is over may already have a successor",
)
LEASE_OVER = Guard(
    "lease_over",
    any_of(Missing(job("lease_expires_at")), AtMost(job("lease_expires_at"), NOW)),
    "§2 expired, D-1",
    "a live lease is nobody else's business; a missing one protects nobody",
)
HELD: tuple[Guard, ...] = (IS_RUNNING, IS_OWNER, IS_CURRENT, LEASE_ALIVE)

NO_CANCEL = Guard(
    "not_cancelled",
    Missing(job("cancel_requested_at")),
    "INV-6",
    "a job that somebody asked to stop is not started again",
)
BEFORE_DEADLINE = Guard(
    "before_deadline",
    any_of(Missing(job("deadline_at")), Less(NOW, job("deadline_at"))),
    "§2 claim",
    "from its deadline on no work is done on a job",
)
CANCEL_DOES_NOT_WIN = Guard(
    "cancel_does_not_win",
    any_of(Not(Holds(Setting("cancel_wins"))), Missing(job("cancel_requested_at"))),
    "D-2",
    "where cancel wins, a job asked to stop ends cancelled and not otherwise",
)
CANCEL_REQUESTED = Guard(
    "cancel_requested",
    present(job("cancel_requested_at")),
    "§2",
    "somebody asked the job to stop",
)
OVERDUE = Guard("overdue", AtMost(job("deadline_at"), NOW), "§2, D-5", "the deadline has passed")
HAS_PROVIDER_REF = Guard("provider_ref_set", present(job("provider_ref")), "§2", "a provider already works on it")
BUDGET_LEFT = Guard(
    "budget_left",
    Less(job("attempt_count"), job("max_attempts")),
    "§2, D-15",
    "N attempts mean N starts",
)
REGISTERS_EXPIRED = Guard(
    "expired_registered", Holds(Setting("registers_expired")), "§2", "the queue knows the word expired"
)
REGISTERS_PARK = Guard("park_registered", Holds(Setting("registers_park")), "§2 park", "only some queues park")

# --- effects that several operations share ----------------------------------------------------------------------------


def to(name: str, value: ValueTerm) -> Assignment:
    """Set a field of the job."""
    return Assignment(job(name), value)


def at(seconds: ValueTerm) -> ValueTerm:
    """The instant so many seconds from now."""
    return Plus(NOW, seconds)


def next_of(name: str) -> ValueTerm:
    """One more than a counter of the job."""
    return Plus(job(name), Const(1))


NEW_LEASE: ValueTerm = Choose(
    Missing(job("deadline_at")),
    at(Setting("lease_seconds")),
    Smaller(at(Setting("lease_seconds")), job("deadline_at")),
)
LEASE_OFF: tuple[Assignment, ...] = (
    to("worker_id", NULL),
    to("lease_expires_at", NULL),
    to("heartbeat_at", NULL),
)
RAISE_GENERATION = to("lease_generation", next_of("lease_generation"))
LEAVE_RUNNING: tuple[Assignment, ...] = (*LEASE_OFF, RAISE_GENERATION)
RETRY_DELAY = Param("delay")
MADE_BY_US = to("origin", Const(OURS))


def ended(status: str, *more: Assignment) -> tuple[Assignment, ...]:
    """The effect of leaving ``running`` for a terminal status."""
    return (to("status", Const(status)), to("finished_at", NOW), *LEAVE_RUNNING, *more)


def errored(code: ValueTerm, message: ValueTerm = NULL) -> tuple[Assignment, ...]:
    """Note an error on the job."""
    return (to("error_code", code), to("error_message", message))


NO_ERROR = errored(NULL)
BACK_TO_PENDING: tuple[Assignment, ...] = (
    to("status", Const(PENDING)),
    to("next_attempt_at", at(RETRY_DELAY)),
    *LEAVE_RUNNING,
)
BACK_TO_POLLING: tuple[Assignment, ...] = (
    to("status", Const(WAITING)),
    to("next_poll_at", at(RETRY_DELAY)),
    *LEAVE_RUNNING,
)

DELAY = Parameter(
    "delay",
    Sort.DURATION,
    "the back-off before the next attempt or poll, with jitter",
    chosen_by="store",
    assumed=Less(Const(0), Param("delay")),
)
CODE = Parameter("code", Sort.TEXT, "the error code, registered in one family", words=CODES)
MESSAGE = Parameter("message", Sort.TEXT, "the error in words", nullable=True)

# --- operations -------------------------------------------------------------------------------------------------------

ENQUEUE = Operation(
    name="enqueue",
    actor=Actor.CLIENT,
    selection=Selection.NAMED,
    over=(JOB,),
    parameters=(
        Parameter("max_attempts", Sort.COUNT, "how many attempts may start"),
        Parameter("deadline_at", Sort.INSTANT, "no work on it from this instant on", nullable=True),
    ),
    guards=(
        Guard("new", Missing(STATUS), "§2 enqueue", "a job is created once"),
        Guard(
            "attempts_positive",
            AtMost(Const(1), Param("max_attempts")),
            "§2 enqueue",
            "a job without attempts can never be claimed",
        ),
        Guard(
            "deadline_ahead",
            any_of(Missing(Param("deadline_at")), Less(NOW, Param("deadline_at"))),
            "§2 enqueue",
            "a job past its deadline can never be claimed",
        ),
        Guard(
            "deadline_given",
            any_of(Not(Holds(Setting("registers_park"))), present(Param("deadline_at"))),
            "§2 enqueue",
            "where jobs may park, the deadline is what ends a silent provider",
        ),
    ),
    cases=(
        Case(
            "created",
            (),
            (
                to("status", Const(PENDING)),
                to("lease_generation", Const(0)),
                to("attempt_count", Const(0)),
                to("max_attempts", Param("max_attempts")),
                to("deadline_at", Param("deadline_at")),
                to("poll_count", Const(0)),
                to("starts", Const(0)),
                to("hand_backs", Const(0)),
                MADE_BY_US,
            ),
            "the job waits to be claimed",
        ),
    ),
    clause="§2 enqueue",
    meaning="A client hands in a job.",
)

CLAIM = Operation(
    name="claim",
    actor=Actor.CLAIMER,
    selection=Selection.SWEEP,
    over=(JOB, TOKEN),
    guards=(
        Guard("pending", is_status(PENDING), "INV-7", "only what waits is claimed; what has ended never is"),
        NO_CANCEL,
        Guard(
            "due",
            any_of(Missing(job("next_attempt_at")), AtMost(job("next_attempt_at"), NOW)),
            "§2 claim",
            "back-off is over",
        ),
        BUDGET_LEFT,
        BEFORE_DEADLINE,
    ),
    cases=(
        Case(
            "claimed",
            (),
            (
                to("status", Const(RUNNING)),
                to("worker_id", token("worker_id")),
                to("lease_expires_at", NEW_LEASE),
                RAISE_GENERATION,
                to("attempt_count", next_of("attempt_count")),
                to("attempt_id", next_of("lease_generation")),
                to("started_at", NOW),
                to("heartbeat_at", NOW),
                to("next_attempt_at", NULL),
                *NO_ERROR,
                MADE_BY_US,
                to("starts", next_of("starts")),
                Assignment(token("lease_generation"), next_of("lease_generation")),
            ),
            "the worker holds the job under a fresh lease and a new generation",
        ),
    ),
    clause="§2 claim",
    meaning="A worker takes waiting jobs, in the order of priority, due time and id.",
)

RENEW = Operation(
    name="renew",
    actor=Actor.HOLDER,
    selection=Selection.NAMED,
    over=(JOB, TOKEN),
    guards=(*HELD, BEFORE_DEADLINE),
    cases=(
        Case(
            "renewed",
            (),
            (to("lease_expires_at", Larger(job("lease_expires_at"), NEW_LEASE)), to("heartbeat_at", NOW)),
            "the lease reaches further, never less far",
        ),
    ),
    clause="§2 renew",
    meaning="A holder says that it is alive. Allowed while a cancel is requested, so that clean-up can finish.",
)

SUCCEED = Operation(
    name="succeed",
    actor=Actor.HOLDER,
    selection=Selection.NAMED,
    over=(JOB, TOKEN),
    guards=(*HELD, CANCEL_DOES_NOT_WIN),
    cases=(Case("succeeded", (), ended(SUCCEEDED, *NO_ERROR), "the job has ended well"),),
    clause="§2 succeed",
    meaning="A holder reports success.",
)

FAIL = Operation(
    name="fail",
    actor=Actor.HOLDER,
    selection=Selection.NAMED,
    over=(JOB, TOKEN),
    parameters=(CODE, MESSAGE, DELAY),
    guards=(
        *HELD,
        Guard(
            "code_is_a_verdict",
            Not(OneOf(Param("code"), FENCE_CODES)),
            "D-20",
            "FENCE is an answer of the store, no verdict of a holder",
        ),
    ),
    cases=in_order(
        Case(
            "cancelled",
            (
                Guard(
                    "stopped",
                    any_of(CANCEL_REQUESTED.term, OneOf(Param("code"), CANCEL_CODES)),
                    "§2 fail",
                    "a cancel was requested, or the error says so",
                ),
            ),
            ended(CANCELLED, *errored(Param("code"), Param("message"))),
            "the job ends cancelled",
        ),
        Case(
            "final",
            (
                Guard(
                    "no_further_attempt",
                    Not(
                        all_of(
                            OneOf(Param("code"), RETRYABLE_CODES),
                            BUDGET_LEFT.term,
                            any_of(Missing(job("deadline_at")), Less(at(RETRY_DELAY), job("deadline_at"))),
                        )
                    ),
                    "§2 fail, D-21",
                    "the family is not retryable, no attempt is left, or the next one would start past the deadline",
                ),
            ),
            ended(FAILED, *errored(Param("code"), Param("message"))),
            "the job ends failed",
        ),
        Case(
            "polled_again",
            (HAS_PROVIDER_REF,),
            (*BACK_TO_POLLING, *errored(Param("code"), Param("message"))),
            "the provider still works on it; it is asked again later",
        ),
        Case(
            "retried",
            (),
            (*BACK_TO_PENDING, *errored(Param("code"), Param("message"))),
            "the job waits for its next attempt",
        ),
    ),
    clause="§2 fail",
    meaning="A holder reports an error; the code's family decides what follows.",
)

SKIP = Operation(
    name="skip",
    actor=Actor.HOLDER,
    selection=Selection.NAMED,
    over=(JOB, TOKEN),
    parameters=(CODE, MESSAGE),
    guards=(
        *HELD,
        Guard(
            "content_code",
            OneOf(Param("code"), CONTENT_CODES),
            "§2 skip",
            "only the content can make work needless; infrastructure trouble cannot",
        ),
        Guard("skip_registered", Holds(Setting("registers_skip")), "§2 skip", "only some queues skip"),
        CANCEL_DOES_NOT_WIN,
    ),
    cases=(
        Case(
            "skipped",
            (),
            ended(SKIPPED, *errored(Param("code"), Param("message"))),
            "the job has ended without being done",
        ),
    ),
    clause="§2 skip",
    meaning="A holder finds that the content no longer calls for the work.",
)

PARK = Operation(
    name="park",
    actor=Actor.HOLDER,
    selection=Selection.NAMED,
    over=(JOB, TOKEN),
    parameters=(
        Parameter("provider_ref", Sort.TEXT, "the provider's name for the work"),
        Parameter("next_poll_at", Sort.INSTANT, "when to ask the provider"),
    ),
    guards=(
        *HELD,
        REGISTERS_PARK,
        Guard(
            "deadline_set",
            present(job("deadline_at")),
            "§2 park",
            "the deadline is what ends a wait for a silent provider",
        ),
        Guard(
            "poll_ahead",
            Less(NOW, Param("next_poll_at")),
            "§2 park",
            "else parking and polling could go round for ever in one instant",
        ),
    ),
    cases=in_order(
        Case(
            "cancelled",
            (CANCEL_REQUESTED,),
            ended(CANCELLED, to("provider_ref", Param("provider_ref"))),
            "a cancel was requested: the job ends cancelled",
        ),
        Case(
            "parked",
            (),
            (
                to("status", Const(WAITING)),
                to("provider_ref", Param("provider_ref")),
                to("next_poll_at", Param("next_poll_at")),
                *LEAVE_RUNNING,
            ),
            "the job waits for its provider",
        ),
    ),
    clause="§2 park",
    meaning="A holder has submitted the work to a provider and lets go of the job.",
)

RESUME_POLL = Operation(
    name="resume_poll",
    actor=Actor.CLAIMER,
    selection=Selection.SWEEP,
    over=(JOB, TOKEN),
    guards=(
        Guard("waiting", is_status(WAITING), "§2 resume_poll", "only a parked job is polled"),
        Guard("poll_due", AtMost(job("next_poll_at"), NOW), "§2 resume_poll", "the provider is not asked early"),
        NO_CANCEL,
        BEFORE_DEADLINE,
        Guard("polls_left", Less(job("poll_count"), Setting("max_polls")), "§2 resume_poll, D-3", "polls are bounded"),
    ),
    cases=(
        Case(
            "resumed",
            (),
            (
                to("status", Const(RUNNING)),
                to("worker_id", token("worker_id")),
                to("lease_expires_at", NEW_LEASE),
                RAISE_GENERATION,
                to("heartbeat_at", NOW),
                to("next_poll_at", NULL),
                to("poll_count", next_of("poll_count")),
                Assignment(token("lease_generation"), next_of("lease_generation")),
            ),
            "the worker holds the job to ask the provider; the attempt stays the same",
        ),
    ),
    clause="§2 resume_poll",
    meaning="A worker takes parked jobs whose poll is due.",
)

REQUEST_CANCEL = Operation(
    name="request_cancel",
    actor=Actor.CLIENT,
    selection=Selection.NAMED,
    over=(JOB,),
    guards=(Guard("not_ended", is_status(*LIVE), "§2 request_cancel", "what has ended stays as it ended"),),
    cases=in_order(
        Case(
            "noted_before",
            (IS_RUNNING, CANCEL_REQUESTED),
            (),
            "asked again: the first request counts",
        ),
        Case(
            "noted",
            (IS_RUNNING,),
            (to("cancel_requested_at", NOW),),
            "the holder is asked to stop at its next safe point",
        ),
        Case(
            "immediate",
            (),
            (
                to("status", Const(CANCELLED)),
                to("finished_at", NOW),
                to("next_poll_at", NULL),
            ),
            "nobody holds the job: it ends at once (D-4)",
        ),
    ),
    clause="§2 request_cancel",
    meaning="A client asks for a job to stop.",
)

ACKNOWLEDGE_CANCEL = Operation(
    name="acknowledge_cancel",
    actor=Actor.HOLDER,
    selection=Selection.NAMED,
    over=(JOB, TOKEN),
    guards=(*HELD, CANCEL_REQUESTED),
    cases=(Case("acknowledged", (), ended(CANCELLED), "the job ends cancelled"),),
    clause="§2 acknowledge_cancel",
    meaning="A holder that was asked to stop has stopped.",
)

RECOVER = Operation(
    name="recover",
    actor=Actor.SYSTEM,
    selection=Selection.SWEEP,
    over=(JOB,),
    parameters=(DELAY,),
    guards=(
        IS_RUNNING,
        LEASE_OVER,
    ),
    cases=in_order(
        Case("cancelled", (CANCEL_REQUESTED,), ended(CANCELLED), "a cancel was requested: the job ends cancelled"),
        Case(
            "expired",
            (OVERDUE, REGISTERS_EXPIRED),
            ended(EXPIRED, *errored(Const(JOB_DEADLINE_EXCEEDED))),
            "its deadline has passed",
        ),
        Case(
            "overdue",
            (OVERDUE,),
            ended(FAILED, *errored(Const(JOB_DEADLINE_EXCEEDED))),
            "its deadline has passed, in a queue without the word expired",
        ),
        Case(
            "polled_again",
            (HAS_PROVIDER_REF,),
            (*BACK_TO_POLLING, *errored(Const(LEASE_TIMEOUT_RECOVERED))),
            "the provider has the work already; submitting it twice would be worse",
        ),
        Case(
            "requeued",
            (BUDGET_LEFT,),
            (*BACK_TO_PENDING, *errored(Const(LEASE_TIMEOUT_RECOVERED)), MADE_BY_US),
            "the job waits for its next attempt",
        ),
        Case(
            "exhausted",
            (),
            ended(FAILED, *errored(Const(LEASE_TIMEOUT_MAX_ATTEMPTS))),
            "no attempt is left",
        ),
    ),
    clause="§2 recover",
    meaning="Any live component takes a job away from a holder whose lease is over.",
)

EXPIRE_OVERDUE = Operation(
    name="expire_overdue",
    actor=Actor.SYSTEM,
    selection=Selection.SWEEP,
    over=(JOB,),
    guards=(
        Guard(
            "unheld", is_status(PENDING, WAITING), "§2 expire_overdue", "a running job is its holder's or recovery's"
        ),
        Guard(
            "beyond_claiming",
            any_of(
                OVERDUE.term,
                CANCEL_REQUESTED.term,
                all_of(is_status(PENDING), AtMost(job("max_attempts"), job("attempt_count"))),
            ),
            "§2 expire_overdue, D-5",
            "a job that can still be claimed or polled is left alone",
        ),
    ),
    cases=in_order(
        Case(
            "cancelled",
            (CANCEL_REQUESTED,),
            (to("status", Const(CANCELLED)), to("finished_at", NOW), to("next_poll_at", NULL)),
            "a legacy row that somebody asked to stop",
        ),
        Case(
            "expired",
            (OVERDUE, REGISTERS_EXPIRED),
            (
                to("status", Const(EXPIRED)),
                to("finished_at", NOW),
                to("next_poll_at", NULL),
                *errored(Const(JOB_DEADLINE_EXCEEDED)),
            ),
            "its deadline has passed",
        ),
        Case(
            "overdue",
            (OVERDUE,),
            (
                to("status", Const(FAILED)),
                to("finished_at", NOW),
                to("next_poll_at", NULL),
                *errored(Const(JOB_DEADLINE_EXCEEDED)),
            ),
            "its deadline has passed, in a queue without the word expired",
        ),
        Case(
            "exhausted",
            (),
            (
                to("status", Const(FAILED)),
                to("finished_at", NOW),
                *errored(Const(LEASE_TIMEOUT_MAX_ATTEMPTS)),
            ),
            "a legacy row whose attempts are spent",
        ),
    ),
    clause="§2 expire_overdue, D-5",
    meaning="Any live component ends jobs that nobody can take any more.",
)

RELEASE = Operation(
    name="release",
    actor=Actor.HOLDER,
    selection=Selection.NAMED,
    over=(JOB, TOKEN),
    parameters=(DELAY,),
    guards=HELD,
    cases=in_order(
        Case("cancelled", (CANCEL_REQUESTED,), ended(CANCELLED), "a cancel was requested: the job ends cancelled"),
        Case(
            "polled_again",
            (HAS_PROVIDER_REF,),
            BACK_TO_POLLING,
            "the provider still works on it; it is asked again later",
        ),
        Case(
            "handed_back",
            (
                Guard(
                    "below_ceiling",
                    Less(job("lease_generation"), Setting("release_ceiling")),
                    "§2 release, D-6",
                    "hand-backs that cost nothing must be bounded",
                ),
            ),
            (
                to("status", Const(PENDING)),
                to("next_attempt_at", NULL),
                to("attempt_count", Plus(job("attempt_count"), Const(-1))),
                to("hand_backs", next_of("hand_backs")),
                *LEAVE_RUNNING,
            ),
            "the job can be claimed at once, the attempt does not count",
        ),
        Case(
            "exhausted",
            (
                Guard(
                    "no_further_attempt",
                    Not(
                        all_of(
                            BUDGET_LEFT.term,
                            any_of(Missing(job("deadline_at")), Less(at(RETRY_DELAY), job("deadline_at"))),
                        )
                    ),
                    "§2 release, fail",
                    "no attempt is left, or the next one would start past the deadline",
                ),
            ),
            ended(FAILED, *errored(Const(LEASE_RELEASE_CEILING))),
            "handed back too often and no attempt is left",
        ),
        Case(
            "retried",
            (),
            (*BACK_TO_PENDING, *errored(Const(LEASE_RELEASE_CEILING))),
            "handed back too often: the attempt counts, with back-off",
        ),
    ),
    clause="§2 release, D-6",
    meaning="A worker that shuts down hands a job back.",
)

OPERATIONS: tuple[Operation, ...] = (
    ENQUEUE,
    CLAIM,
    RENEW,
    SUCCEED,
    FAIL,
    SKIP,
    PARK,
    RESUME_POLL,
    REQUEST_CANCEL,
    ACKNOWLEDGE_CANCEL,
    RECOVER,
    EXPIRE_OVERDUE,
    RELEASE,
)

# --- rows of older programs -------------------------------------------------------------------------------------------

_LEGACY_COUNTS: dict[str, Value] = {
    "lease_generation": 0,
    "poll_count": 0,
    "starts": 0,
    "hand_backs": 0,
    "origin": LEGACY,
}

LEGACY_ROWS: tuple[LegacyRow, ...] = (
    LegacyRow(
        "running_without_lease",
        {"status": RUNNING, "worker_id": "old", "attempt_count": 1, "max_attempts": 2, **_LEGACY_COUNTS},
        "running for a worker that wrote no lease",
    ),
    LegacyRow(
        "running_without_owner",
        {"status": RUNNING, "attempt_count": 2, "max_attempts": 2, **_LEGACY_COUNTS},
        "running for nobody, on its last attempt",
    ),
    LegacyRow(
        "running_cancelled",
        {
            "status": RUNNING,
            "attempt_count": 1,
            "max_attempts": 2,
            "cancel_requested_at": 0,
            **_LEGACY_COUNTS,
        },
        "running for nobody, and asked to stop",
    ),
    LegacyRow(
        "pending_spent",
        {"status": PENDING, "attempt_count": 2, "max_attempts": 2, **_LEGACY_COUNTS},
        "waiting with no attempt left",
    ),
    LegacyRow(
        "pending_cancelled",
        {
            "status": PENDING,
            "attempt_count": 0,
            "max_attempts": 2,
            "cancel_requested_at": 0,
            "deadline_at": 2,
            **_LEGACY_COUNTS,
        },
        "waiting with a deadline, although somebody asked it to stop",
    ),
)

LEGACY_PREDICATE: TruthTerm = all_of(
    is_status(PENDING, RUNNING),
    Equal(job("origin"), Const(LEGACY)),
    AtMost(Const(0), job("lease_generation")),
    AtMost(Const(0), job("attempt_count")),
    AtMost(job("attempt_count"), job("max_attempts")),
    AtMost(Const(1), job("max_attempts")),
    implies(is_status(PENDING), all_of(Missing(job("worker_id")), Missing(job("lease_expires_at")))),
    implies(is_status(RUNNING), any_of(Missing(job("worker_id")), Missing(job("lease_expires_at")))),
    implies(is_status(PENDING), Missing(job("heartbeat_at"))),
    implies(
        all_of(present(job("lease_expires_at")), present(job("deadline_at"))),
        AtMost(job("lease_expires_at"), job("deadline_at")),
    ),
    *(Missing(job(name)) for name in ("finished_at", "next_poll_at", "provider_ref", "error_code")),
    *(Equal(job(name), Const(0)) for name in ("poll_count", "starts", "hand_backs")),
)

JOB_MACHINE = Machine(
    name="job",
    meaning="A durable unit of work: claimed under a lease, fenced by a generation, ended exactly once.",
    fields=FIELDS,
    statuses=STATUSES,
    table=TABLE,
    created_by="enqueue",
    legacy=LEGACY_PREDICATE,
    legacy_rows=LEGACY_ROWS,
)

TOKEN_MACHINE = Machine(
    name="token",
    meaning="What one execution in a worker remembers of its last claim of a job.",
    fields=(
        Field("worker_id", Sort.IDENTITY, "the worker in which the execution runs", nullable=False, fixed=True),
        Field("lease_generation", Sort.COUNT, "the generation of its last claim; null before the first"),
    ),
    belongs_to="job",
)

# --- what must hold in every state ------------------------------------------------------------------------------------

OURS_ONLY = Equal(job("origin"), Const(OURS))
TOKEN_CURRENT = Equal(token("lease_generation"), job("lease_generation"))


def live_token(name: str) -> TruthTerm:
    """The token that the variable stands for is a valid claim right now."""
    return all_of(
        is_status(RUNNING),
        Equal(job("worker_id"), FieldOf(name, "worker_id")),
        Equal(job("lease_generation"), FieldOf(name, "lease_generation")),
        Less(NOW, job("lease_expires_at")),
    )


INVARIANTS: tuple[Invariant, ...] = (
    Invariant(
        "lease_off_unless_running",
        "§2 rules",
        (JOB,),
        implies(
            Not(is_status(RUNNING)),
            all_of(Missing(job("worker_id")), Missing(job("lease_expires_at")), Missing(job("heartbeat_at"))),
        ),
        "A job that does not run has no owner, no lease and no heartbeat.",
    ),
    Invariant(
        "running_under_a_lease",
        "§2 rules",
        (JOB,),
        implies(
            all_of(is_status(RUNNING), OURS_ONLY),
            all_of(
                present(job("worker_id")),
                present(job("lease_expires_at")),
                present(job("heartbeat_at")),
            ),
        ),
        "A job that our operations started runs with an owner, a lease and a heartbeat.",
    ),
    Invariant(
        "lease_alive_or_over",
        "D-1",
        (JOB,),
        implies(
            is_status(RUNNING),
            all_of(any_of(LEASE_ALIVE.term, LEASE_OVER.term), Not(all_of(LEASE_ALIVE.term, LEASE_OVER.term))),
        ),
        "The lease of a running job is alive for its holder or over for recovery, never both and never neither.",
    ),
    Invariant(
        "finished_exactly_when_ended",
        "§2 rules",
        (JOB,),
        all_of(
            implies(is_status(*TERMINAL), present(job("finished_at"))),
            implies(present(job("finished_at")), is_status(*TERMINAL)),
        ),
        "The time of the end is set exactly on jobs that have ended.",
    ),
    Invariant(
        "poll_time_exactly_when_waiting",
        "§2 rules",
        (JOB,),
        all_of(
            implies(is_status(WAITING), present(job("next_poll_at"))),
            implies(present(job("next_poll_at")), is_status(WAITING)),
        ),
        "The time of the next poll is set exactly while a provider is waited for.",
    ),
    Invariant(
        "waiting_uncancelled",
        "§3",
        (JOB,),
        implies(is_status(WAITING), Missing(job("cancel_requested_at"))),
        "No parked job carries a cancel request: nobody would be there to see it.",
    ),
    Invariant(
        "pending_uncancelled",
        "§3, INV-6",
        (JOB,),
        implies(all_of(is_status(PENDING), OURS_ONLY), Missing(job("cancel_requested_at"))),
        "No job that we put back waits with a cancel request, which nobody could claim.",
    ),
    Invariant(
        "waiting_has_deadline",
        "§2 park",
        (JOB,),
        implies(is_status(WAITING), present(job("deadline_at"))),
        "A wait for a provider ends at the latest with the deadline.",
    ),
    Invariant(
        "waiting_is_known",
        "§2 park",
        (JOB,),
        implies(is_status(WAITING), present(job("provider_ref"))),
        "A job waits for a provider only under the provider's own name for the work.",
    ),
    Invariant(
        "pending_is_not_submitted",
        "§2 recover, D-3",
        (JOB,),
        implies(is_status(PENDING), Missing(job("provider_ref"))),
        "No job that a provider already has waits to be started again.",
    ),
    Invariant(
        "provider_work_has_deadline",
        "§2 park",
        (JOB,),
        implies(present(job("provider_ref")), present(job("deadline_at"))),
        "Work that a provider was given has a deadline.",
    ),
    Invariant(
        "started_work_waits_for_nothing",
        "§2 claim",
        (JOB,),
        implies(all_of(is_status(RUNNING, WAITING), OURS_ONLY), Missing(job("next_attempt_at"))),
        "The time of the next attempt is set on nothing that we have started.",
    ),
    Invariant(
        "fresh_attempt_without_error",
        "§2 claim",
        (JOB,),
        implies(
            all_of(is_status(RUNNING), OURS_ONLY, Missing(job("provider_ref"))),
            all_of(Missing(job("error_code")), Missing(job("error_message"))),
        ),
        "An attempt that no provider works on carries no error of an earlier one.",
    ),
    Invariant(
        "attempts_within_budget",
        "§3, D-15",
        (JOB,),
        implies(
            present(STATUS),
            all_of(
                AtMost(Const(0), job("attempt_count")),
                AtMost(job("attempt_count"), job("max_attempts")),
                AtMost(Const(1), job("max_attempts")),
            ),
        ),
        "At most max_attempts attempts count.",
    ),
    Invariant(
        "pending_has_budget",
        "§3, D-15",
        (JOB,),
        implies(all_of(is_status(PENDING), OURS_ONLY), Less(job("attempt_count"), job("max_attempts"))),
        "A job that we put back can still be claimed.",
    ),
    Invariant(
        "started_work_has_an_attempt",
        "§2 claim",
        (JOB,),
        implies(
            all_of(is_status(RUNNING, WAITING), OURS_ONLY),
            all_of(Less(Const(0), job("attempt_count")), present(job("attempt_id")), present(job("started_at"))),
        ),
        "A job that we started counts at least one attempt, which has an identity and a start.",
    ),
    Invariant(
        "starts_accounted",
        "§3, D-6",
        (JOB,),
        implies(
            present(STATUS),
            all_of(
                AtMost(job("starts"), Plus(job("attempt_count"), job("hand_backs"))),
                AtMost(Const(0), job("hand_backs")),
                AtMost(Const(0), job("starts")),
            ),
        ),
        "Attempts started, less those handed back, are counted.",
    ),
    Invariant(
        "hand_backs_bounded",
        "§3, D-6",
        (JOB,),
        implies(
            present(STATUS),
            all_of(
                AtMost(job("hand_backs"), job("lease_generation")),
                AtMost(job("hand_backs"), Setting("release_ceiling")),
            ),
        ),
        "Hand-backs that cost nothing are bounded by the release ceiling.",
    ),
    Invariant(
        "polls_bounded",
        "§2 resume_poll, D-3",
        (JOB,),
        implies(
            present(STATUS),
            all_of(AtMost(Const(0), job("poll_count")), AtMost(job("poll_count"), Setting("max_polls"))),
        ),
        "Polling is resumed at most max_polls times.",
    ),
    Invariant(
        "lease_within_deadline",
        "§2 claim",
        (JOB,),
        implies(
            all_of(present(job("lease_expires_at")), present(job("deadline_at"))),
            AtMost(job("lease_expires_at"), job("deadline_at")),
        ),
        "No lease reaches past the deadline.",
    ),
    Invariant(
        "error_noted",
        "§2 vocabulary",
        (JOB,),
        implies(is_status(FAILED, SKIPPED, EXPIRED), present(job("error_code"))),
        "A job that ended without success says why by a code.",
    ),
    Invariant(
        "no_fence_verdict",
        "§5, D-20",
        (JOB,),
        Not(OneOf(job("error_code"), FENCE_CODES)),
        "FENCE is an answer of the store and never the verdict on a job.",
    ),
    Invariant(
        "skipped_for_content",
        "§2 skip",
        (JOB,),
        implies(is_status(SKIPPED), all_of(OneOf(job("error_code"), CONTENT_CODES), Holds(Setting("registers_skip")))),
        "Only content makes work needless, and only in queues that say so.",
    ),
    Invariant(
        "retried_for_retryable",
        "§5, D-21",
        (JOB,),
        implies(
            all_of(is_status(*LIVE), present(job("error_code"))),
            OneOf(job("error_code"), RETRYABLE_CODES),
        ),
        "Only an error of a retryable family is followed by another attempt.",
    ),
    Invariant(
        "success_without_error",
        "§2 succeed",
        (JOB,),
        implies(is_status(SUCCEEDED), all_of(Missing(job("error_code")), Missing(job("error_message")))),
        "A job that succeeded carries no error.",
    ),
    Invariant(
        "waiting_where_registered",
        "§2 park",
        (JOB,),
        implies(any_of(is_status(WAITING), present(job("provider_ref"))), Holds(Setting("registers_park"))),
        "Only queues that register it wait for providers.",
    ),
    Invariant(
        "expired_where_registered",
        "§2",
        (JOB,),
        implies(is_status(EXPIRED), Holds(Setting("registers_expired"))),
        "Only queues that register it know the word expired.",
    ),
    Invariant(
        "generation_counts",
        "§8, D-18",
        (JOB,),
        implies(present(STATUS), AtMost(Const(0), job("lease_generation"))),
        "The generation is a counter on the job.",
    ),
    Invariant(
        "legacy_is_untouched",
        "§2",
        (JOB, TOKEN),
        implies(
            Equal(job("origin"), Const(LEGACY)),
            all_of(Missing(token("lease_generation")), Missing(job("provider_ref"))),
        ),
        "A row still as an older program left it has never been claimed by us.",
    ),
    Invariant(
        "token_not_ahead",
        "§2, D-18",
        (JOB, TOKEN),
        implies(
            present(token("lease_generation")),
            all_of(present(STATUS), AtMost(token("lease_generation"), job("lease_generation"))),
        ),
        "No execution remembers a generation that the job has not reached.",
    ),
    Invariant(
        "current_token_holds",
        "§2 held, D-18",
        (JOB, TOKEN),
        implies(TOKEN_CURRENT, all_of(is_status(RUNNING), Equal(job("worker_id"), token("worker_id")))),
        "Whoever remembers the current generation is the owner of a running job.",
    ),
    Invariant(
        "tokens_differ",
        "§2 claim, D-18",
        (JOB, TOKEN, OTHER_TOKEN),
        Not(Equal(token("lease_generation"), FieldOf("other", "lease_generation"))),
        "No two executions got the same generation.",
    ),
    Invariant(
        "single_holder",
        "§3",
        (JOB, TOKEN, OTHER_TOKEN),
        Not(all_of(live_token("token"), live_token("other"))),
        "At most one execution holds a job.",
    ),
)

# --- what must hold of every step -------------------------------------------------------------------------------------

STARTS_RUNNING = all_of(Not(is_status(RUNNING)), ends_as(RUNNING))
VISIBLE = tuple(field.name for field in FIELDS if not field.ghost)

STEP_PROPERTIES: tuple[StepProperty, ...] = (
    *arrows_kept(OPERATIONS),
    StepProperty(
        "INV-6",
        "INV-6",
        (JOB,),
        implies(
            all_of(is_status(PENDING), present(job("cancel_requested_at"))),
            Not(ends_as(RUNNING)),
        ),
        "A job that somebody asked to stop is never claimed from pending.",
    ),
    StepProperty(
        "INV-7",
        "INV-7",
        (JOB,),
        implies(is_status(*TERMINAL), Not(ends_as(RUNNING))),
        "A job that has ended, skipped and expired included, is never claimed.",
    ),
    StepProperty(
        "terminal_frozen",
        "§2 rules",
        (JOB,),
        implies(is_status(*TERMINAL), all_of(*(Same(job(name), job_after(name)) for name in VISIBLE))),
        "A job that has ended never changes again.",
    ),
    StepProperty(
        "generation_monotone",
        "§3, §8",
        (JOB,),
        implies(present(STATUS), AtMost(job("lease_generation"), job_after("lease_generation"))),
        "The generation never goes down.",
    ),
    StepProperty(
        "start_raises_generation",
        "§2 claim, resume_poll",
        (JOB,),
        implies(STARTS_RUNNING, Less(job("lease_generation"), job_after("lease_generation"))),
        "Every start hands out a new generation.",
    ),
    StepProperty(
        "exit_raises_generation",
        "§2 rules",
        (JOB,),
        implies(
            all_of(is_status(RUNNING), Not(ends_as(RUNNING))),
            Less(job("lease_generation"), job_after("lease_generation")),
        ),
        "Every exit from running makes the holder's token stale at once.",
    ),
    StepProperty(
        "holder_only",
        "§2 held",
        (JOB, TOKEN),
        live_token("token"),
        "A stale token is refused everywhere, one of the same worker's earlier claim included.",
        by=Actor.HOLDER,
    ),
    StepProperty(
        "live_lease_respected",
        "§2 recover",
        (JOB,),
        implies(
            all_of(is_status(RUNNING), Less(NOW, job("lease_expires_at"))),
            all_of(*(Same(job(name), job_after(name)) for name in VISIBLE)),
        ),
        "Recovery and expiry leave a job alone while its lease is alive.",
        by=Actor.SYSTEM,
    ),
    StepProperty(
        "only_the_lost_are_ended",
        "§2 expire_overdue, D-5",
        (JOB,),
        implies(
            is_status(PENDING, WAITING),
            any_of(
                Same(STATUS, job_after("status")),
                OVERDUE.term,
                CANCEL_REQUESTED.term,
                all_of(is_status(PENDING), AtMost(job("max_attempts"), job("attempt_count"))),
            ),
        ),
        "The system ends a waiting job only when nobody could take it any more.",
        by=Actor.SYSTEM,
    ),
    StepProperty(
        "back_off_kept",
        "§2 claim",
        (JOB,),
        implies(
            all_of(is_status(PENDING), ends_as(RUNNING)),
            any_of(Missing(job("next_attempt_at")), AtMost(job("next_attempt_at"), NOW)),
        ),
        "No attempt starts before it is due.",
    ),
    StepProperty(
        "poll_time_kept",
        "§2 resume_poll",
        (JOB,),
        implies(all_of(is_status(WAITING), ends_as(RUNNING)), AtMost(job("next_poll_at"), NOW)),
        "No provider is asked before the time that was set.",
    ),
    StepProperty(
        "wait_takes_time",
        "§2 park",
        (JOB,),
        implies(all_of(Not(is_status(WAITING)), ends_as(WAITING)), Less(NOW, job_after("next_poll_at"))),
        "Between parking and polling time passes.",
    ),
    StepProperty(
        "retry_takes_time",
        "§2 fail, recover",
        (JOB,),
        implies(
            all_of(is_status(RUNNING), ends_as(PENDING), Same(job("attempt_count"), job_after("attempt_count"))),
            Less(NOW, job_after("next_attempt_at")),
        ),
        "After an attempt that counts there is a back-off.",
    ),
    StepProperty(
        "lease_born_alive",
        "§2 claim, resume_poll",
        (JOB,),
        implies(STARTS_RUNNING, Less(NOW, job_after("lease_expires_at"))),
        "Nothing starts under a lease that is already over.",
    ),
    StepProperty(
        "lease_never_revived",
        "§2 renew",
        (JOB,),
        implies(
            all_of(is_status(RUNNING), ends_as(RUNNING), Not(Less(NOW, job("lease_expires_at")))),
            Same(job("lease_expires_at"), job_after("lease_expires_at")),
        ),
        "A lease that is over is not renewed.",
    ),
    StepProperty(
        "lease_never_shortened",
        "§2 renew",
        (JOB,),
        implies(
            all_of(is_status(RUNNING), ends_as(RUNNING), present(job("lease_expires_at"))),
            AtMost(job("lease_expires_at"), job_after("lease_expires_at")),
        ),
        "While a job runs its lease only grows.",
    ),
    StepProperty(
        "cancel_request_kept",
        "§2 request_cancel",
        (JOB,),
        implies(
            present(job("cancel_requested_at")), Same(job("cancel_requested_at"), job_after("cancel_requested_at"))
        ),
        "The first request to stop is kept, with its time.",
    ),
    StepProperty(
        "cancel_wins",
        "D-2",
        (JOB,),
        implies(
            all_of(present(job("cancel_requested_at")), is_status(*LIVE), Holds(Setting("cancel_wins"))),
            any_of(Same(STATUS, job_after("status")), ends_as(CANCELLED)),
        ),
        "Where cancel wins, a job asked to stop runs on or ends cancelled.",
    ),
    StepProperty(
        "cancel_never_retried",
        "§2 fail, recover",
        (JOB,),
        implies(
            all_of(is_status(RUNNING), present(job("cancel_requested_at"))),
            Not(ends_as(PENDING, WAITING)),
        ),
        "A job asked to stop is not put back.",
    ),
    StepProperty(
        "cancelled_on_request",
        "§2",
        (JOB,),
        implies(
            all_of(is_status(*LIVE), ends_as(CANCELLED)),
            any_of(present(job("cancel_requested_at")), OneOf(job_after("error_code"), CANCEL_CODES)),
        ),
        "A holder or the system ends a job cancelled only if somebody asked for it.",
        by=Actor.HOLDER,
    ),
    StepProperty(
        "recovered_as_cancelled_on_request",
        "§2 recover",
        (JOB,),
        implies(all_of(is_status(*LIVE), ends_as(CANCELLED)), present(job("cancel_requested_at"))),
        "Recovery ends a job cancelled only if somebody asked for it.",
        by=Actor.SYSTEM,
    ),
    StepProperty(
        "cancel_immediate_unless_running",
        "§2 request_cancel, D-4",
        (JOB,),
        all_of(
            implies(is_status(PENDING, WAITING), Not(ends_as(PENDING, WAITING))),
            implies(is_status(RUNNING), ends_as(RUNNING)),
            implies(is_status(RUNNING), present(job_after("cancel_requested_at"))),
            implies(Missing(STATUS), ends_as(PENDING)),
        ),
        "A client ends a job only where nobody holds it; a holder is asked.",
        by=Actor.CLIENT,
    ),
    StepProperty(
        "budget_spent_before_failure",
        "§2 recover, D-15",
        (JOB,),
        implies(
            all_of(is_status(RUNNING, PENDING), Equal(job_after("error_code"), Const(LEASE_TIMEOUT_MAX_ATTEMPTS))),
            any_of(AtMost(job("max_attempts"), job("attempt_count")), Same(job("error_code"), job_after("error_code"))),
        ),
        "Recovery gives a job up only when its attempts are spent.",
        by=Actor.SYSTEM,
    ),
    StepProperty(
        "deadline_passed_before_expiry",
        "§2 recover, D-5",
        (JOB,),
        implies(
            all_of(
                is_status(*LIVE), ends_as(FAILED, EXPIRED), Equal(job_after("error_code"), Const(JOB_DEADLINE_EXCEEDED))
            ),
            AtMost(job("deadline_at"), NOW),
        ),
        "A job ends for its deadline only when that has passed.",
        by=Actor.SYSTEM,
    ),
    StepProperty(
        "overdue_never_requeued",
        "§2 recover",
        (JOB,),
        implies(all_of(is_status(RUNNING), AtMost(job("deadline_at"), NOW)), Not(ends_as(PENDING, WAITING))),
        "A job past its deadline is not put back.",
    ),
    StepProperty(
        "word_expired_used",
        "§2",
        (JOB,),
        implies(
            all_of(
                is_status(*LIVE),
                ends_as(FAILED),
                Equal(job_after("error_code"), Const(JOB_DEADLINE_EXCEEDED)),
            ),
            Not(Holds(Setting("registers_expired"))),
        ),
        "A queue that registers the word expired uses it.",
        by=Actor.SYSTEM,
    ),
    StepProperty(
        "provider_work_not_resubmitted",
        "§2 recover, D-3",
        (JOB,),
        implies(all_of(is_status(RUNNING), present(job("provider_ref"))), Not(ends_as(PENDING))),
        "Work that a provider already has is not submitted a second time.",
    ),
    StepProperty(
        "attempt_counted_once",
        "D-3, D-11, D-15",
        (JOB,),
        all_of(
            implies(
                all_of(is_status(PENDING), ends_as(RUNNING)),
                Equal(job_after("attempt_count"), Plus(job("attempt_count"), Const(1))),
            ),
            implies(
                all_of(present(STATUS), Not(all_of(is_status(PENDING), ends_as(RUNNING)))),
                AtMost(job_after("attempt_count"), job("attempt_count")),
            ),
        ),
        "An attempt is counted when it starts, and at no other time.",
    ),
    StepProperty(
        "attempt_is_fresh",
        "§2 claim, INV-5",
        (JOB,),
        all_of(
            # The generation is new at every start, and so is what is named by it.
            implies(
                all_of(is_status(PENDING), ends_as(RUNNING)),
                Equal(job_after("attempt_id"), job_after("lease_generation")),
            ),
            implies(
                all_of(present(STATUS), Not(all_of(is_status(PENDING), ends_as(RUNNING)))),
                Same(job("attempt_id"), job_after("attempt_id")),
            ),
        ),
        "A claim opens a new attempt; polling goes on with the old one.",
    ),
    StepProperty(
        "retry_before_giving_up",
        "§2 fail, release, D-21",
        (JOB,),
        implies(
            all_of(
                ends_as(FAILED),
                OneOf(job_after("error_code"), RETRYABLE_CODES),
                Less(job("attempt_count"), job("max_attempts")),
            ),
            present(job("deadline_at")),
        ),
        "A retryable error with an attempt left and no deadline in the way is not the end.",
        by=Actor.HOLDER,
    ),
    StepProperty(
        "retry_fits_deadline",
        "§2 fail, release",
        (JOB,),
        implies(
            all_of(ends_as(PENDING), present(job_after("next_attempt_at")), present(job("deadline_at"))),
            Less(job_after("next_attempt_at"), job("deadline_at")),
        ),
        "A holder's failure is retried only if the next attempt can start before the deadline.",
        by=Actor.HOLDER,
    ),
    StepProperty(
        "recovery_says_why",
        "§2 recover",
        (JOB,),
        all_of(
            any_of(
                ends_as(CANCELLED, EXPIRED),
                OneOf(
                    job_after("error_code"),
                    (LEASE_TIMEOUT_RECOVERED, LEASE_TIMEOUT_MAX_ATTEMPTS, JOB_DEADLINE_EXCEEDED),
                ),
            ),
            implies(ends_as(PENDING), Equal(job_after("origin"), Const(OURS))),
        ),
        "What recovery makes of a job carries the reason; what it puts back is a job of our own making.",
        of="recover",
    ),
    StepProperty(
        "free_hand_back_below_ceiling",
        "§2 release, D-6",
        (JOB,),
        all_of(
            implies(
                Less(job_after("attempt_count"), job("attempt_count")),
                Less(job("lease_generation"), Setting("release_ceiling")),
            ),
            implies(
                all_of(ends_as(PENDING), Same(job("attempt_count"), job_after("attempt_count"))),
                Equal(job_after("error_code"), Const(LEASE_RELEASE_CEILING)),
            ),
            implies(
                all_of(
                    NO_CANCEL.term,
                    Missing(job("provider_ref")),
                    Less(job("lease_generation"), Setting("release_ceiling")),
                ),
                all_of(
                    ends_as(PENDING),
                    Equal(Plus(job_after("attempt_count"), Const(1)), job("attempt_count")),
                    Missing(job_after("next_attempt_at")),
                ),
            ),
        ),
        "A hand-back gives the attempt back only below the ceiling; one that counts says so.",
        of="release",
    ),
    *(
        StepProperty(
            f"message_belongs_to_code_{who}",
            "§2 recover, release",
            (JOB,),
            implies(Not(Same(job("error_code"), job_after("error_code"))), Missing(job_after("error_message"))),
            "A code that the contract itself writes stands without the words of an earlier error.",
            by=by,
            of=of,
        )
        for who, by, of in (("of_system", Actor.SYSTEM, None), ("of_release", None, "release"))
    ),
    StepProperty(
        "claim_starts_afresh",
        "§2 claim",
        (JOB,),
        all_of(
            Equal(job_after("started_at"), NOW),
            Equal(job_after("heartbeat_at"), NOW),
            Missing(job_after("next_attempt_at")),
            Missing(job_after("error_code")),
            Missing(job_after("error_message")),
            Equal(job_after("starts"), Plus(job("starts"), Const(1))),
        ),
        "A claim begins an attempt now, without the back-off and the error of an earlier one.",
        of="claim",
    ),
    StepProperty(
        "holder_learns_generation",
        "§2 claim, resume_poll",
        (JOB, TOKEN),
        all_of(
            Equal(FieldOf("token", "lease_generation", after=True), job_after("lease_generation")),
            Equal(job_after("worker_id"), token("worker_id")),
            Equal(job_after("origin"), Const(OURS)),
        ),
        "Whoever claims is the owner, and knows the generation under which it holds the job.",
        by=Actor.CLAIMER,
    ),
    StepProperty(
        "poll_counted",
        "§2 resume_poll, D-3",
        (JOB,),
        all_of(
            Equal(job_after("poll_count"), Plus(job("poll_count"), Const(1))),
            Equal(job_after("heartbeat_at"), NOW),
        ),
        "Every resumed poll counts, and begins with a beat.",
        of="resume_poll",
    ),
    StepProperty(
        "renewal_reaches",
        "§2 renew",
        (JOB,),
        all_of(
            Equal(job_after("lease_expires_at"), Larger(job("lease_expires_at"), NEW_LEASE)),
            Equal(job_after("heartbeat_at"), NOW),
        ),
        "A renewal reaches a whole lease from now, or to the deadline, and is noted as a beat.",
        of="renew",
    ),
    StepProperty(
        "error_told",
        "§2 fail",
        (JOB,),
        all_of(
            Equal(job_after("error_code"), Param("code")),
            Same(job_after("error_message"), Param("message")),
        ),
        "The job carries the error that its holder reported, whatever follows from it.",
        of="fail",
    ),
    StepProperty(
        "reason_told",
        "§2 skip",
        (JOB,),
        all_of(
            Equal(job_after("error_code"), Param("code")),
            Same(job_after("error_message"), Param("message")),
        ),
        "A skipped job says why.",
        of="skip",
    ),
    StepProperty(
        "provider_named",
        "§2 park",
        (JOB,),
        all_of(
            Equal(job_after("provider_ref"), Param("provider_ref")),
            implies(ends_as(WAITING), Equal(job_after("next_poll_at"), Param("next_poll_at"))),
        ),
        "A parked job remembers under which name the provider has the work, and when to ask.",
        of="park",
    ),
    StepProperty(
        "created_complete",
        "§2 enqueue",
        (JOB,),
        implies(
            Missing(STATUS),
            any_of(
                Missing(job_after("status")),
                all_of(
                    AtMost(Const(1), job_after("max_attempts")),
                    any_of(Missing(job_after("deadline_at")), Less(NOW, job_after("deadline_at"))),
                    any_of(Not(Holds(Setting("registers_park"))), present(job_after("deadline_at"))),
                    Equal(job_after("origin"), Const(OURS)),
                ),
            ),
        ),
        "A new job can be claimed, and can end.",
    ),
)

# --- what must be reachable -------------------------------------------------------------------------------------------

WITNESSES: tuple[Witness, ...] = (
    *(
        Witness(f"{status.name}_reached", "§1", (JOB,), is_status(status.name), f"A job is {status.name}.")
        for status in STATUSES
    ),
    Witness(
        "single_attempt",
        "§2 enqueue",
        (JOB,),
        all_of(is_status(RUNNING), Equal(job("max_attempts"), Const(1)), OURS_ONLY),
        "A job that may be tried once only is being tried.",
    ),
    Witness(
        "cancel_while_running",
        "INV-6",
        (JOB,),
        all_of(is_status(RUNNING), present(job("cancel_requested_at")), OURS_ONLY),
        "A running job has been asked to stop.",
    ),
    Witness(
        "pending_with_cancel_request",
        "INV-6",
        (JOB,),
        all_of(is_status(PENDING), present(job("cancel_requested_at"))),
        "A job of an older program waits with a cancel request.",
    ),
    Witness(
        "ended_after_two_starts",
        "INV-7",
        (JOB,),
        all_of(is_status(*TERMINAL), Less(Const(1), job("starts"))),
        "A job has ended after more than one attempt.",
    ),
    Witness(
        "stale_token_of_the_owner",
        "§3, D-18",
        (JOB, TOKEN, OTHER_TOKEN),
        all_of(
            live_token("token"),
            Equal(FieldOf("other", "worker_id"), token("worker_id")),
            present(FieldOf("other", "lease_generation")),
        ),
        "A worker holds a job while an older execution of the same worker still remembers an earlier claim.",
    ),
    Witness(
        "lease_over_not_recovered",
        "§2 expired",
        (JOB, TOKEN),
        all_of(is_status(RUNNING), TOKEN_CURRENT, AtMost(job("lease_expires_at"), NOW)),
        "A lease is over and nobody has recovered the job yet.",
    ),
    Witness(
        "lease_at_its_very_end",
        "§7",
        (JOB,),
        all_of(is_status(RUNNING), Equal(job("lease_expires_at"), NOW)),
        "A lease ends at this very instant.",
    ),
    Witness(
        "hand_back_at_the_ceiling",
        "D-6",
        (JOB,),
        Equal(job("error_code"), Const(LEASE_RELEASE_CEILING)),
        "A hand-back has been counted as a failure.",
    ),
    Witness(
        "poll_resumed",
        "D-3",
        (JOB,),
        all_of(is_status(RUNNING), Less(Const(0), job("poll_count"))),
        "A worker asks a provider.",
    ),
    Witness(
        "lease_cut_by_deadline",
        "§2 claim",
        (JOB,),
        all_of(is_status(RUNNING), Equal(job("lease_expires_at"), job("deadline_at"))),
        "A lease is cut short by the deadline.",
    ),
)

PROGRESS: tuple[Progress, ...] = (
    Progress(
        "no_limbo",
        "§3 no limbo",
        (JOB,),
        is_status(*LIVE),
        ("claim", "resume_poll", "recover", "expire_overdue"),
        "Every live job, legacy rows included, has a way on that some live component is bound to take.",
    ),
    Progress(
        "due_is_claimable",
        "§2 claim, §7",
        (JOB,),
        all_of(
            is_status(PENDING),
            NO_CANCEL.term,
            BUDGET_LEFT.term,
            BEFORE_DEADLINE.term,
            any_of(Missing(job("next_attempt_at")), AtMost(job("next_attempt_at"), NOW)),
        ),
        ("claim",),
        "From the very instant at which a job is due it can be claimed.",
        at_once=True,
    ),
    Progress(
        "poll_due_is_resumable",
        "§2 resume_poll, §7",
        (JOB,),
        all_of(
            is_status(WAITING),
            BEFORE_DEADLINE.term,
            Less(job("poll_count"), Setting("max_polls")),
            AtMost(job("next_poll_at"), NOW),
        ),
        ("resume_poll",),
        "From the very instant at which a poll is due it can be resumed.",
        at_once=True,
    ),
    Progress(
        "overdue_can_be_ended",
        "§2 expire_overdue, §7, D-5",
        (JOB,),
        all_of(is_status(PENDING, WAITING), OVERDUE.term),
        ("expire_overdue",),
        "From the very instant of its deadline a job that nobody holds can be ended.",
        at_once=True,
    ),
    Progress(
        "lease_over_is_recoverable",
        "§2 recover, §7, D-1",
        (JOB,),
        all_of(is_status(RUNNING), LEASE_OVER.term),
        ("recover",),
        "From the very instant at which a lease is over the job can be recovered.",
        at_once=True,
    ),
)
