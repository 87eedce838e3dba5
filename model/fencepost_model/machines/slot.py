"""Render slots: which attempt occupies a worker, until when, and what gives the place back.

Theory
======
A render worker does one render at a time. What it is given is an **attempt**; the attempt *occupies* the worker, under
one epoch of it, until the place is known to be clean. Two questions must be kept apart. Whether the attempt may still
win is decided by its lease, as for a job. Whether the place is free is not: a lease that is over says nothing about a
browser that still runs. So an attempt whose lease is over becomes *unknown* and keeps the place, and an attempt that
has ended keeps it too, until one of three things is known:

* the worker reports that it has cleaned up after this very attempt;
* the worker registers a newer epoch, which promises that every render of the older ones is dead;
* the worker has not been heard of for its whole time to live. That frees the *row*; the render may still be alive. It
  does no harm, because under this epoch the worker is given nothing any more: it must register anew.

INV-4 is about rows. What it is for is said with the ghost ``alive``: a render that may be at work. It is set with the
reservation, before the worker has even heard of it, because a message may be under way; so the statement
``single_render`` is as strong as it can be.

The root is the worker; its slots are the attempts that it was ever given.
"""

from __future__ import annotations

from collections.abc import Mapping

from fencepost_model.arrows import arrows_kept
from fencepost_model.contract import Contract
from fencepost_model.error_codes import EXAMPLES, Family
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
    Every,
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
    ValueTerm,
    all_of,
    any_of,
    implies,
    present,
)

# --- words ------------------------------------------------------------------------------------------------------------

DISPATCHED, ACCEPTED, RUNNING, CLEANING, UNKNOWN = "dispatched", "accepted", "running", "cleaning", "unknown"
SUCCEEDED, FAILED, CANCELLED, EXPIRED = "succeeded", "failed", "cancelled", "expired"

STATUSES: tuple[Status, ...] = (
    Status(DISPATCHED, "given to the worker, which has not answered yet"),
    Status(ACCEPTED, "the worker has it"),
    Status(RUNNING, "the worker renders"),
    Status(CLEANING, "the worker has stopped rendering and cleans up"),
    Status(UNKNOWN, "its lease is over; whether it still renders is not known"),
    Status(SUCCEEDED, "its result is stored", terminal=True),
    Status(FAILED, "it ended without a result", terminal=True),
    Status(CANCELLED, "it ended because somebody asked for it", terminal=True),
    Status(EXPIRED, "it ended past its deadline", terminal=True),
)
LEASED: tuple[str, ...] = (DISPATCHED, ACCEPTED, RUNNING, CLEANING)
LIVE: tuple[str, ...] = tuple(status.name for status in STATUSES if not status.terminal)
TERMINAL: tuple[str, ...] = tuple(status.name for status in STATUSES if status.terminal)

SLOT_AS_JOB: Mapping[str, str] = {
    DISPATCHED: "running",
    ACCEPTED: "running",
    RUNNING: "running",
    CLEANING: "running",
    UNKNOWN: "running",
    SUCCEEDED: "succeeded",
    FAILED: "failed",
    CANCELLED: "cancelled",
    EXPIRED: "expired",
}
"""The job status that each status of an attempt corresponds to: an attempt is a job from its claim on, never pending.

``unknown`` is a running job whose lease is over and that nobody has recovered. ``succeeded`` still may occupy the
worker; a job knows no such place, so the clean-up that follows is invisible there.
"""

# What may act on an attempt, by its status. What a worker tells of its place is about the worker; it is listed where it
# also ends an attempt. Giving back the place of an attempt that has ended changes no status, so those rows are empty.
_ENDED_WITH_THE_PLACE = ("report_clean", "register")
TABLE: dict[str, tuple[str, ...]] = {
    DISPATCHED: (
        "report_accepted",
        "report_running",
        "report_cleaning",
        "fail",
        "request_cancel",
        "expire",
        "register",
    ),
    ACCEPTED: (
        "report_accepted",
        "report_running",
        "report_cleaning",
        "fail",
        "request_cancel",
        "expire",
        *_ENDED_WITH_THE_PLACE,
    ),
    RUNNING: (
        "report_running",
        "report_cleaning",
        "succeed",
        "fail",
        "request_cancel",
        "expire",
        *_ENDED_WITH_THE_PLACE,
    ),
    CLEANING: ("report_cleaning", "succeed", "fail", "request_cancel", "expire", *_ENDED_WITH_THE_PLACE),
    UNKNOWN: ("request_cancel", "give_up", *_ENDED_WITH_THE_PLACE),
    SUCCEEDED: (),
    FAILED: (),
    CANCELLED: (),
    EXPIRED: (),
}

DEADLINE_EXCEEDED = "RENDER_DEADLINE_EXCEEDED"
RESULT_LOST = "RENDER_RESULT_LOST"
OWN_CODES: tuple[str, ...] = (EXAMPLES[Family.INFRA], EXAMPLES[Family.CONTENT])
CODES: tuple[str, ...] = (*OWN_CODES, DEADLINE_EXCEEDED, RESULT_LOST)

# --- variables and fields ---------------------------------------------------------------------------------------------

WORKER = Variable("worker", "worker")
SLOT_OF_WORKER = Variable("slot", "slot", of="worker")
OTHER_SLOT = Variable("other", "slot", of="worker")
SLOT = Variable("slot", "slot")

NOW = Now()


def worker(name: str, *, after: bool = False) -> FieldOf:
    """A field of the worker."""
    return FieldOf("worker", name, after)


def slot(name: str, *, after: bool = False) -> FieldOf:
    """A field of the attempt."""
    return FieldOf("slot", name, after)


def is_one_of(value: ValueTerm, *words: str) -> TruthTerm:
    """The value is one of the words."""
    return Equal(value, Const(words[0])) if len(words) == 1 else OneOf(value, words)


def occupies(variable: str, *, after: bool = False) -> TruthTerm:
    """The attempt that the variable stands for occupies its worker."""
    return Equal(FieldOf(variable, "active_occupancy", after), Const(1))


def alive(variable: str, *, after: bool = False) -> TruthTerm:
    """A render of the attempt that the variable stands for may be at work."""
    return Holds(FieldOf(variable, "alive", after))


STATUS = slot("status")
STATUS_AFTER = slot("status", after=True)

# --- settings ---------------------------------------------------------------------------------------------------------

SETTINGS: tuple[SettingShape, ...] = (
    SettingShape("lease_seconds", Sort.DURATION, "the length of a lease", 180),
    SettingShape("worker_ttl", Sort.DURATION, "how long a worker counts as alive after a beat", 60),
)
SETTINGS_ASSUMED: TruthTerm = all_of(
    Less(Const(0), Setting("lease_seconds")),
    Less(Const(0), Setting("worker_ttl")),
)

# --- guards that several operations share -----------------------------------------------------------------------------

WORKER_ALIVE = Guard(
    "worker_alive",
    Less(NOW, worker("expires_at")),
    "§4 Slot",
    "a worker that was given up may still render under its epoch: it must register anew",
)
WORKER_GONE_TERM: TruthTerm = any_of(Missing(worker("expires_at")), AtMost(worker("expires_at"), NOW))
OCCUPIED = Guard("occupied", occupies("slot"), "INV-4, §4 Slot", "a place that is given back is no longer its")
OF_ITS_EPOCH = Guard(
    "epoch", Equal(slot("epoch"), Param("epoch")), "§4 Slot", "nothing of an old epoch speaks for a new one"
)
LEASE_ALIVE = Guard(
    "lease_alive", Less(NOW, slot("lease_expires_at")), "§4 Slot, D-1", "what comes after the lease comes too late"
)
LEASE_OVER = Guard(
    "lease_over",
    any_of(Missing(slot("lease_expires_at")), AtMost(slot("lease_expires_at"), NOW)),
    "§4 Slot, D-1",
    "a live lease is nobody else's business",
)
CANCEL_REQUESTED = Guard(
    "cancel_requested", present(slot("cancel_requested_at")), "§4 Slot", "somebody asked for it to stop"
)
OVERDUE = Guard("overdue", AtMost(slot("deadline_at"), NOW), "§4 Slot", "its deadline has passed")

EPOCH = Parameter("epoch", Sort.COUNT, "the epoch of the worker that speaks")
CODE = Parameter("code", Sort.TEXT, "the error code, registered in one family", words=OWN_CODES)

# --- effects that several operations share ----------------------------------------------------------------------------


def at(seconds: ValueTerm) -> ValueTerm:
    """The instant so many seconds from now."""
    return Plus(NOW, seconds)


def new_lease(deadline: ValueTerm) -> ValueTerm:
    """A lease from now on that does not reach past the deadline."""
    end = at(Setting("lease_seconds"))
    return Choose(Missing(deadline), end, Smaller(end, deadline))


RENEWED = Assignment(slot("lease_expires_at"), Larger(slot("lease_expires_at"), new_lease(slot("deadline_at"))))
PLACE_FREE: tuple[Assignment, ...] = (Assignment(slot("active_occupancy"), Const(0)),)
RENDER_DEAD = Assignment(slot("alive"), Const(False))


def ended(status: str, code: ValueTerm = NULL) -> tuple[Assignment, ...]:
    """The attempt ends; whether the place is free is another matter."""
    return (
        Assignment(STATUS, Const(status)),
        Assignment(slot("lease_expires_at"), NULL),
        Assignment(slot("error_code"), code),
    )


ENDED_BEFORE = Guard(
    "ended_before", is_one_of(STATUS, *TERMINAL), "§4 Slot", "an attempt that has ended stays as it ended"
)


def given_back(*more: Assignment) -> tuple[Case, ...]:
    """The place is free; an attempt that has not ended ends with it."""
    return in_order(
        Case("ended_before", (ENDED_BEFORE,), (*PLACE_FREE, *more), "only the place is given back"),
        Case(
            "cancelled",
            (CANCEL_REQUESTED,),
            (*ended(CANCELLED), *PLACE_FREE, *more),
            "the attempt had been asked to stop",
        ),
        Case(
            "expired",
            (OVERDUE,),
            (*ended(EXPIRED, Const(DEADLINE_EXCEEDED)), *PLACE_FREE, *more),
            "the attempt is past its deadline",
        ),
        Case(
            "lost",
            (),
            (*ended(FAILED, Const(RESULT_LOST)), *PLACE_FREE, *more),
            "the attempt ended without a result",
        ),
    )


# --- operations -------------------------------------------------------------------------------------------------------

_EACH = Variable("each", "slot", of="worker")


def _each(name: str) -> FieldOf:
    return FieldOf("each", name)


REGISTER = Operation(
    name="register",
    actor=Actor.CLAIMER,
    selection=Selection.NAMED,
    over=(WORKER,),
    parameters=(EPOCH,),
    guards=(
        Guard(
            "newer",
            any_of(Missing(worker("epoch")), Less(worker("epoch"), Param("epoch"))),
            "§4 Slot",
            "an epoch changes by a restart, and only upwards",
        ),
    ),
    cases=(
        Case(
            "registered",
            (),
            (
                Assignment(worker("epoch"), Param("epoch")),
                Assignment(worker("expires_at"), at(Setting("worker_ttl"))),
            ),
            "every render of an older epoch is dead, by promise; their places are free",
            (
                ForEach(
                    (_EACH,),
                    is_one_of(_each("status"), *LIVE),
                    (
                        Assignment(
                            _each("status"),
                            Choose(
                                present(_each("cancel_requested_at")),
                                Const(CANCELLED),
                                Choose(AtMost(_each("deadline_at"), NOW), Const(EXPIRED), Const(FAILED)),
                            ),
                        ),
                        Assignment(
                            _each("error_code"),
                            Choose(
                                present(_each("cancel_requested_at")),
                                NULL,
                                Choose(AtMost(_each("deadline_at"), NOW), Const(DEADLINE_EXCEEDED), Const(RESULT_LOST)),
                            ),
                        ),
                        Assignment(_each("lease_expires_at"), NULL),
                    ),
                    "attempts that have not ended end",
                ),
                ForEach(
                    (_EACH,),
                    any_of(occupies("each"), alive("each")),
                    (Assignment(_each("active_occupancy"), Const(0)), Assignment(_each("alive"), Const(False))),
                    "places are given back",
                ),
            ),
        ),
    ),
    clause="§4 Slot",
    meaning="A worker starts, under an epoch newer than any of its own before.",
)

BEAT = Operation(
    name="beat",
    actor=Actor.HOLDER,
    selection=Selection.NAMED,
    over=(WORKER,),
    parameters=(EPOCH,),
    guards=(
        WORKER_ALIVE,
        Guard(
            "current_epoch", Equal(worker("epoch"), Param("epoch")), "§4 Slot", "a replaced process beats for nobody"
        ),
    ),
    cases=(Case("beaten", (), (Assignment(worker("expires_at"), at(Setting("worker_ttl"))),), "it counts as alive"),),
    clause="§4 Slot",
    meaning="A worker says that it is alive.",
)

RESERVE = Operation(
    name="reserve",
    actor=Actor.CLAIMER,
    selection=Selection.NAMED,
    over=(WORKER, SLOT_OF_WORKER),
    acts_on="slot",
    parameters=(Parameter("deadline_at", Sort.INSTANT, "no result from this instant on", nullable=True),),
    guards=(
        Guard("new", Missing(STATUS), "§4 Slot", "every reservation is an attempt of its own"),
        WORKER_ALIVE,
        Guard(
            "place_free",
            Every(
                "held",
                "slot",
                "worker",
                Not(all_of(occupies("held"), Equal(FieldOf("held", "epoch"), worker("epoch")))),
            ),
            "INV-4",
            "a worker does one render at a time",
        ),
        Guard(
            "deadline_ahead",
            any_of(Missing(Param("deadline_at")), Less(NOW, Param("deadline_at"))),
            "§4 Slot",
            "an attempt past its deadline could not win",
        ),
    ),
    cases=(
        Case(
            "reserved",
            (),
            (
                Assignment(STATUS, Const(DISPATCHED)),
                Assignment(slot("epoch"), worker("epoch")),
                Assignment(slot("active_occupancy"), Const(1)),
                Assignment(slot("deadline_at"), Param("deadline_at")),
                Assignment(slot("lease_expires_at"), new_lease(Param("deadline_at"))),
                Assignment(slot("has_result"), Const(False)),
                Assignment(slot("alive"), Const(True)),
            ),
            "the attempt exists and occupies the worker, in one commit",
        ),
    ),
    clause="§4 Slot, INV-4",
    meaning="The coordinator gives a worker something to render.",
)


def receipt(name: str, status: str, found: tuple[str, ...], told: str) -> Operation:
    """A receipt of the worker: the one thing that renews the lease of an attempt."""
    return Operation(
        name=name,
        actor=Actor.HOLDER,
        selection=Selection.NAMED,
        over=(SLOT,),
        parameters=(EPOCH,),
        guards=(
            Guard("under_way", is_one_of(STATUS, *found), "§4 Slot", "an attempt does not go back"),
            OF_ITS_EPOCH,
            LEASE_ALIVE,
        ),
        cases=(Case("renewed", (), (Assignment(STATUS, Const(status)), RENEWED), told),),
        clause="§4 Slot",
        meaning=f"A worker sends the receipt {status}; nothing else renews a lease.",
    )


REPORT_ACCEPTED = receipt("report_accepted", ACCEPTED, (DISPATCHED, ACCEPTED), "the worker has it")
REPORT_RUNNING = receipt("report_running", RUNNING, (DISPATCHED, ACCEPTED, RUNNING), "the worker renders")
REPORT_CLEANING = receipt("report_cleaning", CLEANING, LEASED, "the worker cleans up")

SUCCEED = Operation(
    name="succeed",
    actor=Actor.HOLDER,
    selection=Selection.NAMED,
    over=(SLOT,),
    parameters=(EPOCH,),
    guards=(
        Guard("rendered", is_one_of(STATUS, RUNNING, CLEANING), "§4 Slot", "only what was rendered has a result"),
        OCCUPIED,
        OF_ITS_EPOCH,
        LEASE_ALIVE,
        Guard(
            "not_cancelled",
            Missing(slot("cancel_requested_at")),
            "§4 Slot, D-2",
            "an attempt asked to stop does not win",
        ),
        Guard(
            "before_deadline",
            any_of(Missing(slot("deadline_at")), Less(NOW, slot("deadline_at"))),
            "§4 Slot",
            "no result counts from the deadline on",
        ),
    ),
    cases=(
        Case(
            "succeeded",
            (),
            (*ended(SUCCEEDED), Assignment(slot("has_result"), Const(True))),
            "result and verdict are one commit; a loser rolls back whole",
        ),
    ),
    clause="§4 Slot, INV-5",
    meaning="A worker hands in the result. The place stays occupied until it is clean.",
)

FAIL = Operation(
    name="fail",
    actor=Actor.HOLDER,
    selection=Selection.NAMED,
    over=(SLOT,),
    parameters=(EPOCH, CODE),
    guards=(
        Guard("leased", is_one_of(STATUS, *LEASED), "§4 Slot", "only an attempt with a lease has a holder"),
        OF_ITS_EPOCH,
        LEASE_ALIVE,
    ),
    cases=in_order(
        Case("cancelled", (CANCEL_REQUESTED,), ended(CANCELLED), "it had been asked to stop"),
        Case("failed", (), ended(FAILED, Param("code")), "it ends without a result"),
    ),
    clause="§4 Slot",
    meaning="A worker reports an error, or that it stopped. The place stays occupied until it is clean.",
)

REQUEST_CANCEL = Operation(
    name="request_cancel",
    actor=Actor.CLIENT,
    selection=Selection.NAMED,
    over=(SLOT,),
    guards=(Guard("not_ended", is_one_of(STATUS, *LIVE), "§4 Slot", "what has ended stays as it ended"),),
    cases=in_order(
        Case("noted_before", (CANCEL_REQUESTED,), (), "asked again: the first request counts"),
        Case("noted", (), (Assignment(slot("cancel_requested_at"), NOW),), "the worker is asked to stop"),
    ),
    clause="§4 Slot",
    meaning="Somebody asks for a render to stop. It never ends at once: a worker has it, or may have.",
)

EXPIRE = Operation(
    name="expire",
    actor=Actor.SYSTEM,
    selection=Selection.SWEEP,
    over=(WORKER, SLOT_OF_WORKER),
    acts_on="slot",
    guards=(
        Guard("leased", is_one_of(STATUS, *LEASED), "§4 Slot", "what has no lease cannot lose it"),
        LEASE_OVER,
    ),
    cases=(
        Case(
            "unknown",
            (),
            (Assignment(STATUS, Const(UNKNOWN)), Assignment(slot("lease_expires_at"), NULL)),
            "nobody knows whether it renders; it keeps the place",
        ),
    ),
    clause="§4 Slot",
    meaning="A tick of its own takes the lease away from an attempt that was not heard of.",
)

REPORT_CLEAN = Operation(
    name="report_clean",
    actor=Actor.HOLDER,
    selection=Selection.NAMED,
    over=(WORKER, SLOT_OF_WORKER),
    acts_on="worker",
    parameters=(EPOCH,),
    guards=(
        OCCUPIED,
        OF_ITS_EPOCH,
        Guard(
            "heard_of",
            Not(is_one_of(STATUS, DISPATCHED)),
            "§4 Slot",
            "a worker that has not answered may yet get the message: what it cleaned was something else",
        ),
    ),
    cases=given_back(RENDER_DEAD),
    clause="§4 Slot",
    meaning="A worker has cleaned up after an attempt; it names it.",
)

GIVE_UP = Operation(
    name="give_up",
    actor=Actor.SYSTEM,
    selection=Selection.SWEEP,
    over=(WORKER, SLOT_OF_WORKER),
    acts_on="worker",
    guards=(
        OCCUPIED,
        Guard("worker_gone", WORKER_GONE_TERM, "§4 Slot", "a live worker cleans up itself"),
        Guard("not_leased", Not(is_one_of(STATUS, *LEASED)), "§4 Slot", "an attempt keeps its lease to the end"),
    ),
    cases=given_back(),
    clause="§4 Slot",
    meaning="A worker has not been heard of for its whole time to live: the place is given back without it.",
)

OPERATIONS: tuple[Operation, ...] = (
    REGISTER,
    BEAT,
    RESERVE,
    REPORT_ACCEPTED,
    REPORT_RUNNING,
    REPORT_CLEANING,
    SUCCEED,
    FAIL,
    REQUEST_CANCEL,
    EXPIRE,
    REPORT_CLEAN,
    GIVE_UP,
)

# --- machines ---------------------------------------------------------------------------------------------------------

WORKER_MACHINE = Machine(
    name="worker",
    meaning="A render worker. It does one render at a time, under an epoch that a restart raises.",
    fields=(
        Field("worker_id", Sort.IDENTITY, "which worker", nullable=False, fixed=True),
        Field("epoch", Sort.COUNT, "its current epoch; null before it registers", extension=True),
        Field("expires_at", Sort.INSTANT, "until when it counts as alive"),
    ),
)

SLOT_MACHINE = Machine(
    name="slot",
    meaning="An attempt to render (RenderAttempt), and the place at its worker that it occupies.",
    fields=(
        Field("status", Sort.WORD, "where it stands", nullable=False, words=tuple(s.name for s in STATUSES)),
        Field("epoch", Sort.COUNT, "the worker's epoch when it was reserved", nullable=False, extension=True),
        Field("active_occupancy", Sort.COUNT, "1 while it occupies the worker, else 0", nullable=False, extension=True),
        Field("lease_expires_at", Sort.INSTANT, "until when it may win; at this very instant it is over"),
        Field("deadline_at", Sort.INSTANT, "no result from this instant on"),
        Field("cancel_requested_at", Sort.INSTANT, "when it was first asked to stop"),
        Field("has_result", Sort.FLAG, "whether a result of it is stored", nullable=False, extension=True),
        Field("error_code", Sort.TEXT, "the code with which it failed", words=CODES),
        Field("alive", Sort.FLAG, "whether a render of it may be at work", nullable=False, ghost=True),
    ),
    statuses=STATUSES,
    table=TABLE,
    created_by="reserve",
    belongs_to="worker",
)

# --- what must hold in every state ------------------------------------------------------------------------------------

INVARIANTS: tuple[Invariant, ...] = (
    Invariant(
        "INV-4",
        "INV-4",
        (WORKER, SLOT_OF_WORKER, OTHER_SLOT),
        Not(all_of(occupies("slot"), occupies("other"), Equal(slot("epoch"), FieldOf("other", "epoch")))),
        "At most one attempt occupies a worker under one epoch.",
    ),
    Invariant(
        "single_render",
        "INV-4, §4 Slot",
        (WORKER, SLOT_OF_WORKER, OTHER_SLOT),
        Not(all_of(alive("slot"), alive("other"))),
        "At most one render is at work on a worker, under whatever epoch.",
    ),
    Invariant(
        "occupied_while_alive",
        "§4 Slot",
        (WORKER, SLOT_OF_WORKER),
        implies(all_of(alive("slot"), Not(occupies("slot"))), AtMost(worker("expires_at"), NOW)),
        "A render that may be alive keeps the place, unless its worker was given up.",
    ),
    Invariant(
        "occupied_may_be_alive",
        "§4 Slot",
        (SLOT,),
        implies(occupies("slot"), alive("slot")),
        "A place is occupied for the sake of a render that may be alive.",
    ),
    Invariant(
        "alive_in_this_epoch",
        "§4 Slot",
        (WORKER, SLOT_OF_WORKER),
        implies(alive("slot"), Equal(slot("epoch"), worker("epoch"))),
        "No render of an older epoch is alive, by the promise of a registration.",
    ),
    Invariant(
        "live_attempt_occupies",
        "§4 Slot",
        (SLOT,),
        implies(is_one_of(STATUS, *LIVE), occupies("slot")),
        "An attempt that has not ended occupies its worker, an unknown one too.",
    ),
    Invariant(
        "occupancy_is_a_bit",
        "INV-4",
        (SLOT,),
        implies(present(STATUS), AtMost(slot("active_occupancy"), Const(1))),
        "A place is occupied or free.",
    ),
    Invariant(
        "lease_exactly_while_leased",
        "§4 Slot",
        (SLOT,),
        all_of(
            implies(is_one_of(STATUS, *LEASED), present(slot("lease_expires_at"))),
            implies(present(slot("lease_expires_at")), is_one_of(STATUS, *LEASED)),
        ),
        "An attempt has a lease exactly until it is unknown or has ended.",
    ),
    Invariant(
        "lease_within_deadline",
        "§4 Slot",
        (SLOT,),
        implies(
            all_of(present(slot("lease_expires_at")), present(slot("deadline_at"))),
            AtMost(slot("lease_expires_at"), slot("deadline_at")),
        ),
        "No lease reaches past the deadline.",
    ),
    Invariant(
        "lease_no_longer_than_agreed",
        "§4 Slot",
        (SLOT,),
        implies(present(slot("lease_expires_at")), AtMost(slot("lease_expires_at"), at(Setting("lease_seconds")))),
        "No lease reaches further than its length from now.",
    ),
    Invariant(
        "result_exactly_on_success",
        "§4 Slot, INV-5",
        (SLOT,),
        all_of(
            implies(is_one_of(STATUS, SUCCEEDED), Holds(slot("has_result"))),
            implies(Holds(slot("has_result")), is_one_of(STATUS, SUCCEEDED)),
        ),
        "No result is an orphan, and none is missing.",
    ),
    Invariant(
        "error_noted",
        "§4 Slot",
        (SLOT,),
        all_of(
            implies(is_one_of(STATUS, FAILED, EXPIRED), present(slot("error_code"))),
            implies(present(slot("error_code")), is_one_of(STATUS, FAILED, EXPIRED)),
            implies(is_one_of(STATUS, EXPIRED), Equal(slot("error_code"), Const(DEADLINE_EXCEEDED))),
            implies(Equal(slot("error_code"), Const(DEADLINE_EXCEEDED)), is_one_of(STATUS, EXPIRED)),
        ),
        "An attempt that ended without success, and no other, says why by a code; its deadline has a code of its own.",
    ),
    Invariant(
        "registered_worker_has_a_term",
        "§4 Slot",
        (WORKER,),
        all_of(
            implies(present(worker("epoch")), present(worker("expires_at"))),
            implies(present(worker("expires_at")), present(worker("epoch"))),
        ),
        "A worker that registered, and no other, is alive until a given instant.",
    ),
)

# --- what must hold of every step -------------------------------------------------------------------------------------

_LASTING = ("status", "epoch", "lease_expires_at", "deadline_at", "cancel_requested_at", "has_result", "error_code")
SPEAKING = (REPORT_ACCEPTED, REPORT_RUNNING, REPORT_CLEANING, SUCCEED, FAIL, REPORT_CLEAN)
LEASE_HOLDING = (REPORT_ACCEPTED, REPORT_RUNNING, REPORT_CLEANING, SUCCEED, FAIL)

STEP_PROPERTIES: tuple[StepProperty, ...] = (
    *arrows_kept(operation for operation in OPERATIONS if operation not in (REPORT_CLEAN, GIVE_UP)),
    StepProperty(
        "terminal_frozen",
        "§3",
        (SLOT,),
        implies(is_one_of(STATUS, *TERMINAL), all_of(*(Same(slot(name), slot(name, after=True)) for name in _LASTING))),
        "An attempt that has ended never changes again; only its place is given back.",
    ),
    StepProperty(
        "place_kept",
        "§4 Slot",
        (WORKER, SLOT_OF_WORKER),
        implies(
            all_of(occupies("slot"), Not(occupies("slot", after=True))),
            any_of(
                Not(alive("slot", after=True)),
                WORKER_GONE_TERM,
            ),
        ),
        "A place is given back only when its render is known to be dead, or its worker is given up.",
    ),
    StepProperty(
        "place_never_taken_again",
        "INV-4",
        (SLOT,),
        implies(all_of(present(STATUS), Not(occupies("slot"))), Not(occupies("slot", after=True))),
        "An attempt that gave its place back does not get it again.",
    ),
    StepProperty(
        "render_never_revives",
        "§4 Slot",
        (SLOT,),
        implies(all_of(present(STATUS), Not(alive("slot"))), Not(alive("slot", after=True))),
        "A render that is dead stays dead.",
    ),
    StepProperty(
        "cleaned_after_an_answer",
        "§4 Slot",
        (SLOT,),
        Not(is_one_of(STATUS, DISPATCHED)),
        "A report of cleanliness says nothing about an attempt that the worker has not heard of.",
        of="report_clean",
    ),
    *(
        StepProperty(
            f"{operation.name}_of_an_occupied_place",
            "§4 Slot",
            (SLOT,),
            all_of(occupies("slot"), Not(occupies("slot", after=True))),
            "A place is given back once.",
            of=operation.name,
        )
        for operation in (REPORT_CLEAN, GIVE_UP)
    ),
    StepProperty(
        "epoch_rises",
        "§4 Slot",
        (WORKER,),
        implies(
            all_of(present(worker("epoch")), Not(Same(worker("epoch"), worker("epoch", after=True)))),
            Less(worker("epoch"), worker("epoch", after=True)),
        ),
        "The epoch of a worker only rises.",
    ),
    StepProperty(
        "registration_is_new",
        "§4 Slot",
        (WORKER,),
        Not(Same(worker("epoch"), worker("epoch", after=True))),
        "A registration promises something, so it is a new epoch.",
        of="register",
    ),
    StepProperty(
        "worker_never_revives",
        "§4 Slot",
        (WORKER,),
        implies(
            all_of(AtMost(worker("expires_at"), NOW), Same(worker("epoch"), worker("epoch", after=True))),
            Same(worker("expires_at"), worker("expires_at", after=True)),
        ),
        "A worker that was not heard of comes back under a new epoch only.",
    ),
    StepProperty(
        "beat_of_its_epoch",
        "§4 Slot",
        (WORKER,),
        all_of(
            Equal(worker("epoch"), Param("epoch")),
            Equal(worker("expires_at", after=True), at(Setting("worker_ttl"))),
        ),
        "A beat keeps a worker alive for its whole time to live, and a process of an older epoch beats for nobody.",
        of="beat",
    ),
    *(
        StepProperty(
            f"{operation.name}_of_its_epoch",
            "§4 Slot",
            (SLOT,),
            Equal(slot("epoch"), Param("epoch")),
            "Nothing of an old epoch changes an attempt of a new one.",
            of=operation.name,
        )
        for operation in SPEAKING
    ),
    *(
        StepProperty(
            f"{operation.name}_under_its_lease",
            "§4 Slot, D-1",
            (SLOT,),
            all_of(is_one_of(STATUS, *LEASED), Less(NOW, slot("lease_expires_at"))),
            "What comes after the lease is refused, although nobody has taken the attempt away yet.",
            of=operation.name,
        )
        for operation in LEASE_HOLDING
    ),
    StepProperty(
        "success_in_time",
        "§4 Slot",
        (SLOT,),
        all_of(
            is_one_of(STATUS, RUNNING, CLEANING),
            occupies("slot"),
            Missing(slot("cancel_requested_at")),
            any_of(Missing(slot("deadline_at")), Less(NOW, slot("deadline_at"))),
        ),
        "A result counts from an attempt that occupies its worker, that nobody stopped, and before its deadline.",
        of="succeed",
    ),
    StepProperty(
        "renewed_by_receipts_only",
        "§4 Slot",
        (SLOT,),
        implies(
            all_of(
                present(slot("lease_expires_at")),
                present(slot("lease_expires_at", after=True)),
                Not(Same(slot("lease_expires_at"), slot("lease_expires_at", after=True))),
            ),
            all_of(
                is_one_of(STATUS_AFTER, ACCEPTED, RUNNING, CLEANING),
                Less(slot("lease_expires_at"), slot("lease_expires_at", after=True)),
                Less(NOW, slot("lease_expires_at")),
            ),
        ),
        "A lease is renewed by a receipt, while it is alive, and only grows.",
    ),
    *(
        StepProperty(
            f"{operation.name}_leases_in_full",
            "§4 Slot",
            (SLOT,),
            AtMost(new_lease(slot("deadline_at", after=True)), slot("lease_expires_at", after=True)),
            "A lease that is given or renewed runs its whole length from now, or up to the deadline.",
            of=operation.name,
        )
        for operation in (RESERVE, REPORT_ACCEPTED, REPORT_RUNNING, REPORT_CLEANING)
    ),
    StepProperty(
        "lease_born_alive",
        "§4 Slot",
        (SLOT,),
        implies(
            all_of(Missing(STATUS), present(STATUS_AFTER)),
            all_of(
                is_one_of(STATUS_AFTER, DISPATCHED),
                occupies("slot", after=True),
                Less(NOW, slot("lease_expires_at", after=True)),
            ),
        ),
        "An attempt is created with its place and a lease, in one commit.",
    ),
    StepProperty(
        "given_to_the_living",
        "§4 Slot",
        (WORKER, SLOT_OF_WORKER),
        Less(NOW, worker("expires_at")),
        "Only a worker that is alive is given something.",
        of="reserve",
    ),
    StepProperty(
        "live_lease_respected",
        "§4 Slot",
        (SLOT,),
        implies(Less(NOW, slot("lease_expires_at")), Same(STATUS, STATUS_AFTER)),
        "The system leaves an attempt alone while its lease is alive.",
        by=Actor.SYSTEM,
    ),
    StepProperty(
        "expiry_keeps_the_place",
        "§4 Slot",
        (SLOT,),
        all_of(occupies("slot", after=True), is_one_of(STATUS, *LEASED)),
        "The end of a lease frees no place.",
        of="expire",
    ),
    StepProperty(
        "given_up_after_its_lease",
        "§4 Slot",
        (WORKER, SLOT_OF_WORKER),
        all_of(WORKER_GONE_TERM, Not(is_one_of(STATUS, *LEASED))),
        "A worker is given up when its time to live is over, an attempt when its lease is.",
        of="give_up",
    ),
    StepProperty(
        "never_back",
        "§4 Slot",
        (SLOT,),
        all_of(
            implies(is_one_of(STATUS, ACCEPTED), Not(is_one_of(STATUS_AFTER, DISPATCHED))),
            implies(is_one_of(STATUS, RUNNING), Not(is_one_of(STATUS_AFTER, DISPATCHED, ACCEPTED))),
            implies(is_one_of(STATUS, CLEANING), Not(is_one_of(STATUS_AFTER, DISPATCHED, ACCEPTED, RUNNING))),
            implies(is_one_of(STATUS, UNKNOWN), Not(is_one_of(STATUS_AFTER, *LEASED))),
        ),
        "An attempt does not go back; an unknown one is not known again.",
    ),
    StepProperty(
        "cancel_request_kept",
        "§4 Slot",
        (SLOT,),
        implies(
            present(slot("cancel_requested_at")),
            Same(slot("cancel_requested_at"), slot("cancel_requested_at", after=True)),
        ),
        "The first request to stop is kept, with its time.",
    ),
    StepProperty(
        "cancel_wins",
        "§4 Slot, D-2",
        (SLOT,),
        implies(
            all_of(is_one_of(STATUS, *LIVE), present(slot("cancel_requested_at"))),
            is_one_of(STATUS_AFTER, *LIVE, CANCELLED),
        ),
        "An attempt that was asked to stop ends cancelled.",
    ),
    StepProperty(
        "cancelled_on_request",
        "§4 Slot",
        (SLOT,),
        implies(
            all_of(is_one_of(STATUS, *LIVE), is_one_of(STATUS_AFTER, CANCELLED)),
            present(slot("cancel_requested_at")),
        ),
        "An attempt ends cancelled only if somebody asked for it.",
    ),
    StepProperty(
        "expired_past_its_deadline",
        "§4 Slot",
        (SLOT,),
        all_of(
            implies(
                all_of(is_one_of(STATUS, *LIVE), is_one_of(STATUS_AFTER, EXPIRED)), AtMost(slot("deadline_at"), NOW)
            ),
            implies(
                all_of(is_one_of(STATUS, *LIVE), is_one_of(STATUS_AFTER, FAILED), present(slot("deadline_at"))),
                Less(NOW, slot("deadline_at")),
            ),
        ),
        "An attempt that ends without a word from its worker ends expired exactly if its deadline has passed.",
    ),
)

# --- what must be reachable -------------------------------------------------------------------------------------------

WITNESSES: tuple[Witness, ...] = (
    *(
        Witness(
            f"{status.name}_reached", "§1", (SLOT,), is_one_of(STATUS, status.name), f"An attempt is {status.name}."
        )
        for status in STATUSES
    ),
    Witness(
        "unknown_keeps_the_place",
        "INV-4",
        (WORKER, SLOT_OF_WORKER),
        all_of(is_one_of(STATUS, UNKNOWN), occupies("slot"), Less(NOW, worker("expires_at"))),
        "An unknown attempt keeps the place of a live worker.",
    ),
    Witness(
        "ended_keeps_the_place",
        "INV-4",
        (SLOT,),
        all_of(is_one_of(STATUS, SUCCEEDED), occupies("slot")),
        "An attempt has won, and its place is not clean yet.",
    ),
    Witness(
        "place_passed_on",
        "INV-4",
        (WORKER, SLOT_OF_WORKER, OTHER_SLOT),
        all_of(
            occupies("slot"),
            Equal(FieldOf("other", "active_occupancy"), Const(0)),
            Equal(slot("epoch"), FieldOf("other", "epoch")),
        ),
        "A second attempt occupies the worker under the epoch of the first.",
    ),
    Witness(
        "place_passed_on_to_a_newer_epoch",
        "INV-4",
        (WORKER, SLOT_OF_WORKER, OTHER_SLOT),
        all_of(occupies("slot"), Less(FieldOf("other", "epoch"), slot("epoch"))),
        "A second attempt occupies the worker under a newer epoch.",
    ),
    Witness(
        "given_up_but_alive",
        "§4 Slot",
        (SLOT,),
        all_of(alive("slot"), Not(occupies("slot"))),
        "A worker was given up while its render may still be at work.",
    ),
    Witness(
        "lease_over_not_expired",
        "§4 Slot",
        (SLOT,),
        all_of(is_one_of(STATUS, RUNNING), AtMost(slot("lease_expires_at"), NOW)),
        "A lease is over and no tick has taken the attempt away yet.",
    ),
    Witness(
        "lease_at_its_very_end",
        "§7",
        (SLOT,),
        Equal(slot("lease_expires_at"), NOW),
        "A lease ends at this very instant.",
    ),
    Witness(
        "lease_cut_by_deadline",
        "§4 Slot",
        (SLOT,),
        all_of(Equal(slot("lease_expires_at"), slot("deadline_at")), Less(NOW, slot("lease_expires_at"))),
        "A lease is cut short by the deadline.",
    ),
    Witness(
        "cancel_while_running",
        "§4 Slot",
        (SLOT,),
        all_of(is_one_of(STATUS, RUNNING), present(slot("cancel_requested_at"))),
        "A render has been asked to stop.",
    ),
)

PROGRESS: tuple[Progress, ...] = (
    Progress(
        "no_limbo",
        "§3 no limbo",
        (WORKER, SLOT_OF_WORKER),
        occupies("slot"),
        ("expire", "give_up"),
        "Every place is given back in the end, without a word from the worker.",
    ),
    Progress(
        "expiry_at_once",
        "§4 Slot",
        (WORKER, SLOT_OF_WORKER),
        all_of(is_one_of(STATUS, *LEASED), AtMost(slot("lease_expires_at"), NOW)),
        ("expire",),
        "A lease that is over can be taken away at once.",
        at_once=True,
    ),
    Progress(
        "gone_worker_is_given_up_at_once",
        "§4 Slot",
        (WORKER, SLOT_OF_WORKER),
        all_of(occupies("slot"), Not(is_one_of(STATUS, *LEASED)), AtMost(worker("expires_at"), NOW)),
        ("give_up",),
        "From the very instant at which a worker has not been heard of for long enough its places can be given back.",
        at_once=True,
    ),
    Progress(
        "clean_report_at_once",
        "§4 Slot",
        (WORKER, SLOT_OF_WORKER),
        all_of(is_one_of(STATUS, UNKNOWN, *TERMINAL), occupies("slot")),
        ("report_clean",),
        "A worker that has cleaned up is listened to, also after its lease.",
        at_once=True,
    ),
)

SLOT_CONTRACT = Contract(
    name="slot",
    machines=(WORKER_MACHINE, SLOT_MACHINE),
    operations=OPERATIONS,
    invariants=INVARIANTS,
    step_properties=STEP_PROPERTIES,
    witnesses=WITNESSES,
    progress=PROGRESS,
    settings=SETTINGS,
    settings_assumed=SETTINGS_ASSUMED,
)
"""The contract of render slots."""
