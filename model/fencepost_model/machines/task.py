"""The Task machine of task control: fifteen statuses, the events that move them, and the carriers that do the work.

Theory
======
A **task** is a row with one writer, its supervisor. A **carrier** is what executes one attempt of it: a thread or a
process. A **place** is one of the ``max_parallel`` executions that a controller lets run at once. The published design
says in which status what may happen; what it cannot say is what these three are to each other, and there every run
that goes wrong begins:

* A place is held by the *carrier* and not by the task. A thread that nobody can stop outlives the verdict ``lost``, and
  as long as it runs it uses the place. "Occupied" (starting, running, pausing, stopping, paused in place) therefore
  means that the carrier of the current attempt lives.
* A carrier speaks for its own attempt only. Its events carry the attempt's number, and those of an attempt that is no
  longer current are refused; all that is noted of such a carrier is that it has ended at last (``late_end``).
* No attempt starts while an old carrier lives. A retry has to wait for it, unless the caller forces it, which is
  recorded on the task for good (``overridden``).
* ``started_at`` belongs to the attempt and is cleared when the attempt ends. What runs has a place *and* this instant.

Verbs act at once where no place is held, else through ``pausing`` or ``stopping``. A time-out goes through ``stopping``
too, so that no attempt begins while the carrier of the one before may live. ``stop_cause`` says what becomes of a task
that stops: the first of stop and cancel stays, and either takes the place of a time-out. A pause of what has not
started is recorded and takes effect when the task is queued or when its carrier reports its start.

The six last statuses are terminal: nothing leaves them of its own accord. They are left by *revivals* only (retry,
forced retry, skip after a failure, reset). These are operations that stand in a table of their own, and
``ended_left_by_revivals`` says where they may lead.

Time-outs and back-off are events of the supervisor here. That their clocks stand still while a task is queued or paused
(D-12) shows in the statuses that answer them. Each verb names the version of the row that its caller has read (on a
miss the caller reads again), so a verb that comes too late changes nothing.

The aggregate is one task. That no two *tasks* get one place is the business of what has the places: see the contract of
pipelines, where places are entities. Here they are names, given with the dispatch.

Where it is ugly: ``starts`` is a ghost that counts what the append-only history would show, and a carrier that has
ended is the same as one that never was, since all its record is in that history.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fencepost_model.arrows import arrows_kept
from fencepost_model.contract import Contract
from fencepost_model.measures import lowered, never_negative
from fencepost_model.shapes import (
    Actor,
    Assignment,
    Case,
    Descent,
    Field,
    Guard,
    Invariant,
    Machine,
    Measure,
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
    TruthTerm,
    ValueTerm,
    all_of,
    any_of,
    implies,
    present,
)

# --- words ------------------------------------------------------------------------------------------------------------

PENDING, BLOCKED, QUEUED, STARTING, RUNNING = "pending", "blocked", "queued", "starting", "running"
PAUSING, PAUSED, RETRY_WAIT, STOPPING = "pausing", "paused", "retry_wait", "stopping"
SUCCEEDED, FAILED, STOPPED, CANCELLED, SKIPPED, LOST = (
    "succeeded",
    "failed",
    "stopped",
    "cancelled",
    "skipped",
    "lost",
)
STOP, CANCEL, PAUSE, TIMEOUT = "stop", "cancel", "pause", "timeout"
IN_PLACE = "in_place"

EXCEPTION, NONZERO_EXIT = "EXCEPTION", "NONZERO_EXIT"
TIMEOUT_START, TIMEOUT_ATTEMPT, TIMEOUT_IDLE = "TIMEOUT_START", "TIMEOUT_ATTEMPT", "TIMEOUT_IDLE"
KIND_CANCELLED, KIND_LOST = "CANCELLED", "LOST"
DEPENDENCY_FAILED, CONDITION_FALSE = "DEPENDENCY_FAILED", "CONDITION_FALSE"
FAILURE_KINDS: tuple[str, ...] = (
    EXCEPTION,
    NONZERO_EXIT,
    TIMEOUT_START,
    TIMEOUT_ATTEMPT,
    TIMEOUT_IDLE,
    KIND_CANCELLED,
    KIND_LOST,
    DEPENDENCY_FAILED,
    CONDITION_FALSE,
)
"""The nine kinds of failure of 003 §2.4."""
TIMEOUT_KINDS = (TIMEOUT_START, TIMEOUT_ATTEMPT, TIMEOUT_IDLE)

STATUSES: tuple[Status, ...] = (
    Status(PENDING, "handed in; its dependencies have not been looked at"),
    Status(BLOCKED, "waits for what it depends on"),
    Status(QUEUED, "ready, waits for a place"),
    Status(STARTING, "has a place; its carrier has not reported its start"),
    Status(RUNNING, "its carrier works"),
    Status(PAUSING, "asked to pause; its carrier has not come to rest"),
    Status(PAUSED, "at rest until somebody resumes it: in its place, or without one"),
    Status(RETRY_WAIT, "an attempt has failed; waits for the end of the back-off"),
    Status(STOPPING, "asked to stop, or timed out; its carrier has a window in which to end"),
    Status(SUCCEEDED, "its carrier returned", terminal=True),
    Status(FAILED, "an error that is final, or the last attempt spent", terminal=True),
    Status(STOPPED, "ended because somebody stopped this task", terminal=True),
    Status(CANCELLED, "ended because it was cancelled, by hand or along with others", terminal=True),
    Status(SKIPPED, "need not or cannot be done any more", terminal=True),
    Status(LOST, "nobody knows how its attempt ended, or whether it did", terminal=True),
)
ENDED: tuple[str, ...] = tuple(status.name for status in STATUSES if status.terminal)
"""Left by revivals only."""
REVIVABLE = (FAILED, STOPPED, CANCELLED, LOST)
LIVE: tuple[str, ...] = tuple(status.name for status in STATUSES if not status.terminal)
NEVER_STARTED = (PENDING, BLOCKED)
AT_WORK = (STARTING, RUNNING, PAUSING, STOPPING)
"""Statuses in which a place is held; a paused task holds one when it was paused in place."""
MAY_HOLD = (STARTING, RUNNING, PAUSING, PAUSED, STOPPING)

REVIVALS = ("retry", "force_retry", "skip_failed", "reset")
"""The operations that leave a status in which a task has ended."""

CARRIER_ENDS = ("returned", "raised_retry", "raised_final", "acked", "died_retry", "died_final")

_CARRIER_SAYS = ("returned", "raised_retry", "raised_final", "died_retry", "died_final", "vanished")

# What may act on a task, by its status. What is not in a row is forbidden.
TABLE: Mapping[str, tuple[str, ...]] = {
    PENDING: (
        "stop",
        "cancel",
        "pause",
        "resume",
        "skip",
        "deps_missing",
        "deps_ready",
        "upstream_failed",
        "condition_false",
        "supervisor_lost",
    ),
    BLOCKED: (
        "stop",
        "cancel",
        "pause",
        "resume",
        "skip",
        "deps_ready",
        "upstream_failed",
        "condition_false",
        "supervisor_lost",
    ),
    QUEUED: ("stop", "cancel", "pause", "skip", "dispatch", "supervisor_lost"),
    STARTING: ("stop", "cancel", "pause", "resume", "started", "start_timeout", *_CARRIER_SAYS, "supervisor_lost"),
    RUNNING: (
        "stop",
        "cancel",
        "pause",
        "quiesced",
        "attempt_timeout",
        "idle_timeout",
        *_CARRIER_SAYS,
        "supervisor_lost",
    ),
    PAUSING: (
        "stop",
        "cancel",
        "pause",
        "resume",
        "quiesced",
        "pause_window_over",
        "attempt_timeout",
        "idle_timeout",
        *_CARRIER_SAYS,
        "supervisor_lost",
    ),
    PAUSED: ("stop", "cancel", "pause", "resume", "skip", *_CARRIER_SAYS, "supervisor_lost"),
    RETRY_WAIT: ("stop", "cancel", "pause", "resume", "backoff_over", "supervisor_lost"),
    STOPPING: (
        "stop",
        "cancel",
        "resume",
        "started",
        "quiesced",
        *_CARRIER_SAYS,
        "acked",
        "window_over",
        "supervisor_lost",
    ),
    SUCCEEDED: (),
    FAILED: (),
    STOPPED: (),
    CANCELLED: (),
    SKIPPED: (),
    LOST: (),
}

# What takes a task out of a terminal status: a table of its own (D-13).
REVIVAL_TABLE: Mapping[str, tuple[str, ...]] = {
    SUCCEEDED: ("reset",),
    FAILED: ("retry", "force_retry", "skip_failed", "reset"),
    STOPPED: ("retry", "force_retry", "reset"),
    CANCELLED: ("retry", "force_retry", "reset"),
    SKIPPED: ("reset",),
    LOST: ("retry", "force_retry", "reset"),
}

FIELDS: tuple[Field, ...] = (
    Field("status", Sort.WORD, "where the task stands", nullable=False, words=tuple(s.name for s in STATUSES)),
    Field("status_version", Sort.COUNT, "goes up by one with every change of the row", nullable=False),
    Field("requested_action", Sort.WORD, "what somebody wants it to do", words=(STOP, CANCEL, PAUSE)),
    Field("stop_cause", Sort.WORD, "why it is stopping", words=(STOP, CANCEL, TIMEOUT)),
    Field("paused_from", Sort.WORD, "where a pause found it", words=(QUEUED, RETRY_WAIT, IN_PLACE)),
    Field("attempt", Sort.COUNT, "attempts started so far", nullable=False),
    Field("max_attempts", Sort.COUNT, "how many attempts may start", nullable=False),
    Field("started_at", Sort.INSTANT, "when the carrier of this attempt reported its start"),
    Field("ended_at", Sort.INSTANT, "when the task ended"),
    Field("failure_kind", Sort.WORD, "what went wrong", words=FAILURE_KINDS),
    Field("overridden", Sort.FLAG, "somebody has forced a retry", nullable=False),
    Field("starts", Sort.COUNT, "attempts in its whole history", nullable=False, ghost=True),
)

TASK = Variable("task", "task")
CARRIER = Variable("carrier", "carrier", of="task")
OTHER_CARRIER = Variable("other", "carrier", of="task")


def task(name: str) -> FieldOf:
    """A field of the task, as the step finds it."""
    return FieldOf("task", name)


def task_after(name: str) -> FieldOf:
    """A field of the task, as the step leaves it."""
    return FieldOf("task", name, after=True)


def carrier(name: str) -> FieldOf:
    """A field of the carrier, as the step finds it."""
    return FieldOf("carrier", name)


NOW = Now()
STATUS = task("status")


def is_status(*names: str) -> TruthTerm:
    """The task is in one of these statuses."""
    return Equal(STATUS, Const(names[0])) if len(names) == 1 else OneOf(STATUS, names)


def ends_as(*names: str) -> TruthTerm:
    """The step leaves the task in one of these statuses."""
    after = task_after("status")
    return Equal(after, Const(names[0])) if len(names) == 1 else OneOf(after, names)


def requested(action: str) -> TruthTerm:
    """Somebody has asked the task for this."""
    return Equal(task("requested_action"), Const(action))


def stops_for(*causes: str) -> TruthTerm:
    """The task stops for one of these causes."""
    return OneOf(task("stop_cause"), causes)


# --- settings ---------------------------------------------------------------------------------------------------------

SETTINGS: tuple[SettingShape, ...] = (
    SettingShape("skips_downstream", Sort.FLAG, "a failure upstream ends in skipped, else in cancelled", False),
)

# --- guards that several operations share -----------------------------------------------------------------------------

VERSION = Parameter("version", Sort.COUNT, "the status_version that the caller has read")
VERSION_READ = Guard(
    "version_read",
    Equal(Param("version"), task("status_version")),
    "003 §5.6",
    "a verb is meant for the row that its caller has seen; after a change it is asked again",
)
NOT_ENDED = Guard("not_ended", is_status(*LIVE), "§6, D-13", "what has ended is left by revivals only")
HAS_ENDED = Guard("ended", is_status(*ENDED), "D-13", "what lives is stopped first")
IS_REVIVABLE = Guard("revivable", is_status(*REVIVABLE), "003 §2.2", "success and a skip need no second try")
BUDGET_LEFT = Guard("budget_left", Less(task("attempt"), task("max_attempts")), "§6, D-11", "N attempts mean N starts")
HOLDS_PLACE = Guard(
    "at_work", is_status(*MAY_HOLD), "§6 occupied or not", "only an attempt that has a place has a carrier to hear from"
)
NOT_PAUSED_UNSTARTED = Guard(
    "paused_in_place",
    any_of(Missing(task("paused_from")), Equal(task("paused_from"), Const(IN_PLACE))),
    "D-10",
    "a task that was paused without a place has no attempt under way",
)
PAUSED_UNSTARTED_IF_PAUSED = Guard(
    "not_paused_in_place",
    any_of(Missing(task("paused_from")), OneOf(task("paused_from"), (QUEUED, RETRY_WAIT))),
    "D-10",
    "what was paused in its place has a carrier, which has to be stopped first",
)
IS_CURRENT = Guard(
    "current_attempt",
    Equal(carrier("attempt"), task("attempt")),
    "§6 every carrier event carries its attempt number",
    "what an earlier attempt has to say decides nothing any more",
)
SPEAKS: tuple[Guard, ...] = (HOLDS_PLACE, NOT_PAUSED_UNSTARTED, IS_CURRENT)

OCCUPIED: TruthTerm = any_of(
    is_status(*AT_WORK), all_of(is_status(PAUSED), Equal(task("paused_from"), Const(IN_PLACE)))
)
UNOCCUPIED: TruthTerm = any_of(
    is_status(PENDING, BLOCKED, QUEUED, RETRY_WAIT),
    all_of(is_status(PAUSED), OneOf(task("paused_from"), (QUEUED, RETRY_WAIT))),
)
CARRIER_LIVES: TruthTerm = present(carrier("attempt"))
NO_CARRIER_LIVES: TruthTerm = Every("any_carrier", "carrier", "task", Missing(FieldOf("any_carrier", "attempt")))
NONE_LIVES = Guard(
    "no_carrier_lives",
    NO_CARRIER_LIVES,
    "§6 no new attempt while an old carrier lives, D-13",
    "what still runs may still write; two executions of one task would do its work twice",
)

WHERE_IT_WAITED: ValueTerm = Choose(Equal(task("paused_from"), Const(QUEUED)), Const(QUEUED), Const(RETRY_WAIT))

UNSTARTED = Guard("holds_no_place", UNOCCUPIED, "§6 occupied or not", "nobody has to be waited for")
ASKED_TO_STOP = Guard("stop", stops_for(STOP), "§6 honest ends", "a known end is named by what was asked")
ASKED_TO_CANCEL = Guard("cancel", stops_for(CANCEL), "§6 honest ends", "a known end is named by what was asked")
PAUSE_RECORDED = Guard("pause_recorded", requested(PAUSE), "§6 pause", "a recorded pause takes effect here")

# --- effects that several operations share ----------------------------------------------------------------------------


def to(name: str, value: ValueTerm | str | None) -> Assignment:
    """Set a field of the task."""
    return Assignment(task(name), Const(value) if value is None or isinstance(value, str) else value)


NEXT_VERSION = to("status_version", Plus(task("status_version"), Const(1)))
CARRIER_ENDED: tuple[Assignment, ...] = (
    Assignment(carrier("attempt"), NULL),
    Assignment(carrier("reported"), NULL),
    Assignment(carrier("place"), NULL),
)
KIND_AS_NOTED: ValueTerm = task("failure_kind")


def kind_unless_timed_out(kind: str) -> ValueTerm:
    """The kind of failure that a carrier reports, unless a time-out had stopped it."""
    return Choose(Missing(task("stop_cause")), Const(kind), KIND_AS_NOTED)


def becomes(status: ValueTerm | str, *more: Assignment) -> tuple[Assignment, ...]:
    """The task moves to a status."""
    return (to("status", status), NEXT_VERSION, *more)


def ended(status: str, kind: ValueTerm | str | None, *more: Assignment) -> tuple[Assignment, ...]:
    """The task ends."""
    return becomes(
        status,
        to("ended_at", NOW),
        to("started_at", None),
        to("stop_cause", None),
        to("paused_from", None),
        to("failure_kind", kind),
        *more,
    )


def backing_off(kind: ValueTerm) -> tuple[Assignment, ...]:
    """The attempt has failed and the task waits for the next one."""
    return becomes(
        RETRY_WAIT,
        to("started_at", None),
        to("stop_cause", None),
        to("paused_from", None),
        to("failure_kind", kind),
        *CARRIER_ENDED,
    )


def revived(status: str, *more: Assignment) -> tuple[Assignment, ...]:
    """The task lives again."""
    return becomes(status, to("ended_at", None), to("failure_kind", None), to("requested_action", None), *more)


STOPPED_CASE = Case(
    "stopped", (ASKED_TO_STOP,), ended(STOPPED, KIND_CANCELLED, *CARRIER_ENDED), "the task ends as it was asked to"
)
CANCELLED_CASE = Case(
    "cancelled", (ASKED_TO_CANCEL,), ended(CANCELLED, KIND_CANCELLED, *CARRIER_ENDED), "the task ends cancelled"
)


def retried_case(kind: ValueTerm, *conditions: Guard) -> Case:
    """The next attempt is waited for."""
    return Case("retried", (*conditions, BUDGET_LEFT), backing_off(kind), "the task waits for its next attempt")


def failed_case(kind: ValueTerm) -> Case:
    """The task fails."""
    return Case("failed", (), ended(FAILED, kind, *CARRIER_ENDED), "the task ends failed")


# --- operations: verbs ------------------------------------------------------------------------------------------------


def _verb(name: str, guards: tuple[Guard, ...], cases: tuple[Case, ...], clause: str, meaning: str) -> Operation:
    return Operation(
        name=name,
        actor=Actor.CLIENT,
        selection=Selection.NAMED,
        over=(TASK,),
        parameters=(VERSION,),
        guards=(*guards, VERSION_READ),
        cases=cases,
        clause=clause,
        meaning=meaning,
    )


SUBMIT = Operation(
    name="submit",
    actor=Actor.CLIENT,
    selection=Selection.NAMED,
    over=(TASK,),
    parameters=(Parameter("max_attempts", Sort.COUNT, "how many attempts may start"),),
    guards=(
        Guard("new", Missing(STATUS), "003 §5.2", "a task is created once"),
        Guard(
            "attempts_positive",
            AtMost(Const(1), Param("max_attempts")),
            "§6 queued has budget",
            "a task without attempts would wait in the queue for ever",
        ),
    ),
    cases=(
        Case(
            "created",
            (),
            (
                to("status", PENDING),
                to("status_version", Const(0)),
                to("attempt", Const(0)),
                to("max_attempts", Param("max_attempts")),
                to("overridden", Const(False)),
                to("starts", Const(0)),
            ),
            "the task waits for its dependencies to be looked at",
        ),
    ),
    clause="003 §5.2",
    meaning="Somebody hands in a task.",
)


def _stopping_verb(name: str, status: str, meaning: str) -> Operation:
    return _verb(
        name,
        (NOT_ENDED,),
        in_order(
            Case(
                "at_once",
                (UNSTARTED,),
                ended(status, KIND_CANCELLED, to("requested_action", name)),
                "no place is held: the task ends now",
            ),
            Case(
                "noted_before",
                (Guard("stopping_already", stops_for(STOP, CANCEL), "§6", "the first of stop and cancel stays"),),
                (),
                "it stops already, as somebody asked earlier",
            ),
            Case(
                "stopping",
                (),
                becomes(
                    STOPPING,
                    to("requested_action", name),
                    to("stop_cause", name),
                    to("paused_from", None),
                    to("failure_kind", None),
                ),
                "its carrier is asked to stop; a time-out is no longer the cause",
            ),
        ),
        f"§6 {name}",
        meaning,
    )


STOP_VERB = _stopping_verb(STOP, STOPPED, "Somebody stops this task.")
CANCEL_VERB = _stopping_verb(CANCEL, CANCELLED, "Somebody cancels the task, or what it belongs to.")

PAUSE_VERB = _verb(
    PAUSE,
    (
        Guard(
            "can_pause",
            is_status(*(status for status in LIVE if status != STOPPING)),
            "§6 pause",
            "what has ended or is about to end does not come to rest",
        ),
    ),
    in_order(
        Case(
            "held_back",
            (Guard("waits", is_status(QUEUED, RETRY_WAIT), "§6 pause", "without a place a verb acts at once"),),
            becomes(
                PAUSED,
                to("requested_action", PAUSE),
                to("paused_from", Choose(is_status(QUEUED), Const(QUEUED), Const(RETRY_WAIT))),
            ),
            "it is paused where it waits",
        ),
        Case(
            "pausing",
            (Guard("runs", is_status(RUNNING), "§6 pause", "a carrier comes to rest at its next check point"),),
            becomes(PAUSING, to("requested_action", PAUSE)),
            "its carrier is asked to come to rest",
        ),
        Case("noted_before", (PAUSE_RECORDED,), (), "asked again: nothing changes"),
        Case(
            "noted",
            (),
            (to("requested_action", PAUSE), NEXT_VERSION),
            "what has not started is paused once it is queued or starts",
        ),
    ),
    "§6 pause",
    "Somebody pauses the task.",
)

RESUME_VERB = _verb(
    "resume",
    (
        Guard(
            "can_resume",
            is_status(PENDING, BLOCKED, RETRY_WAIT, PAUSED, STARTING, PAUSING, STOPPING),
            "§6 resume",
            "what waits for a place or runs has no pause to withdraw",
        ),
    ),
    in_order(
        Case(
            "running",
            (
                Guard(
                    "in_place",
                    any_of(is_status(PAUSING), Equal(task("paused_from"), Const(IN_PLACE))),
                    "§6 paused remembers where from",
                    "the place was never given back",
                ),
            ),
            becomes(RUNNING, to("requested_action", None), to("paused_from", None)),
            "it runs on",
        ),
        Case(
            "back",
            (
                Guard(
                    "is_paused", is_status(PAUSED), "§6 paused remembers where from", "resume returns to where it was"
                ),
            ),
            becomes(WHERE_IT_WAITED, to("requested_action", None), to("paused_from", None)),
            "it waits where it waited before",
        ),
        Case(
            "withdrawn",
            (PAUSE_RECORDED,),
            (to("requested_action", None), NEXT_VERSION),
            "the pause that was recorded is withdrawn",
        ),
        Case("nothing_to_resume", (), (), "nothing changes"),
    ),
    "§6 resume",
    "Somebody takes a pause back.",
)

SKIP_VERB = _verb(
    "skip",
    (
        Guard(
            "can_skip",
            is_status(PENDING, BLOCKED, QUEUED, PAUSED),
            "§6 skip",
            "what has started ends by itself or is stopped",
        ),
        PAUSED_UNSTARTED_IF_PAUSED,
    ),
    (Case("skipped", (), ended(SKIPPED, None), "it will not be done"),),
    "003 §3.1 skip",
    "Somebody says that the task need not be done.",
)

# --- operations: revivals ---------------------------------------------------------------------------------------------

RETRY_VERB = _verb(
    "retry",
    (IS_REVIVABLE, BUDGET_LEFT, NONE_LIVES),
    (Case("queued", (), revived(QUEUED), "it waits for a place once more"),),
    "D-13, 003 §2.2",
    "Somebody has the task tried again within its budget.",
)

FORCE_RETRY_VERB = _verb(
    "force_retry",
    (IS_REVIVABLE,),
    (
        Case(
            "queued",
            (),
            revived(
                QUEUED,
                to("max_attempts", Larger(task("max_attempts"), Plus(task("attempt"), Const(1)))),
                to("overridden", Const(True)),
            ),
            "there is budget for one attempt more, and the row says who is to blame",
        ),
    ),
    "§6 force raises max_attempts, recorded",
    "Somebody has the task tried again whatever the budget and whatever still runs.",
)

SKIP_FAILED_VERB = _verb(
    "skip_failed",
    (Guard("failed", is_status(FAILED), "D-13", "only a failure is skipped afterwards"),),
    (
        Case(
            "skipped",
            (),
            becomes(SKIPPED, to("failure_kind", None), to("requested_action", None), to("ended_at", NOW)),
            "what waits for it may go on without it",
        ),
    ),
    "D-13, 003 §3.1 skip",
    "Somebody says that a task that failed need not be done.",
)

RESET_VERB = _verb(
    "reset",
    (HAS_ENDED, NONE_LIVES),
    (Case("pending", (), revived(PENDING, to("attempt", Const(0))), "it begins anew; its history stays"),),
    "D-13",
    "Somebody has the task done from the beginning.",
)

# --- operations: the supervisor ---------------------------------------------------------------------------------------


def _event(
    name: str,
    guards: tuple[Guard, ...],
    cases: tuple[Case, ...],
    clause: str,
    meaning: str,
    over: tuple[Variable, ...] = (TASK,),
    actor: Actor = Actor.SYSTEM,
    parameters: tuple[Parameter, ...] = (),
) -> Operation:
    return Operation(
        name=name,
        actor=actor,
        selection=Selection.NAMED,
        over=over,
        guards=guards,
        cases=cases,
        clause=clause,
        meaning=meaning,
        parameters=parameters,
        acts_on="task",
    )


IS_WAITING_FOR_OTHERS = Guard(
    "waits_for_others", is_status(*NEVER_STARTED), "§6", "what has been released does not look upstream again"
)

DEPS_MISSING = _event(
    "deps_missing",
    (Guard("pending", is_status(PENDING), "§6", "dependencies are looked at once"),),
    (Case("blocked", (), becomes(BLOCKED), "it waits for them"),),
    "003 §5.2",
    "Something that the task depends on has not ended.",
)

QUEUED_OR_PAUSED: tuple[Case, ...] = in_order(
    Case(
        "paused",
        (PAUSE_RECORDED,),
        becomes(PAUSED, to("paused_from", QUEUED)),
        "a pause was recorded, and takes effect",
    ),
    Case("queued", (), becomes(QUEUED), "it waits for a place"),
)

DEPS_READY = _event(
    "deps_ready",
    (IS_WAITING_FOR_OTHERS,),
    QUEUED_OR_PAUSED,
    "003 §5.2",
    "All that the task depends on is there.",
)

UPSTREAM_FAILED = _event(
    "upstream_failed",
    (IS_WAITING_FOR_OTHERS,),
    in_order(
        Case(
            "skipped",
            (Guard("skips_downstream", Holds(Setting("skips_downstream")), "§6 pipelines", "the pipeline's choice"),),
            ended(SKIPPED, DEPENDENCY_FAILED),
            "it is left out",
        ),
        Case("cancelled", (), ended(CANCELLED, DEPENDENCY_FAILED), "it is cancelled along with what it waits for"),
    ),
    "§6 pipelines, on_failure",
    "Something that the task depends on has failed.",
)

CONDITION_IS_FALSE = _event(
    "condition_false",
    (IS_WAITING_FOR_OTHERS,),
    (Case("skipped", (), ended(SKIPPED, CONDITION_FALSE), "it is left out"),),
    "003 §3.3",
    "The condition under which the task is done is false.",
)

DISPATCH = Operation(
    name="dispatch",
    actor=Actor.SYSTEM,
    selection=Selection.SWEEP,
    over=(TASK, CARRIER),
    parameters=(Parameter("place", Sort.IDENTITY, "the place that it gets", chosen_by="store"),),
    guards=(
        Guard("queued", is_status(QUEUED), "§6", "retry_wait and pauses re-enter through the queue"),
        BUDGET_LEFT,
        Guard(
            "place_free",
            Every("any_carrier", "carrier", "task", Not(Equal(FieldOf("any_carrier", "place"), Param("place")))),
            "§6 max_parallel",
            "a carrier that was given up goes on using its place",
        ),
        Guard(
            "carrier_unused",
            Missing(carrier("attempt")),
            "§6",
            "a carrier executes one attempt",
        ),
        Guard(
            "no_old_carrier_unless_forced",
            any_of(Holds(task("overridden")), NO_CARRIER_LIVES),
            "§6 no new attempt while an old carrier lives",
            "what still runs may still write; two executions of one task would do its work twice",
        ),
    ),
    cases=(
        Case(
            "starting",
            (),
            becomes(
                STARTING,
                to("attempt", Plus(task("attempt"), Const(1))),
                to("starts", Plus(task("starts"), Const(1))),
                to("failure_kind", None),
                Assignment(carrier("attempt"), Plus(task("attempt"), Const(1))),
                Assignment(carrier("reported"), Const(False)),
                Assignment(carrier("place"), Param("place")),
            ),
            "the attempt is counted, and its carrier started in the place",
        ),
    ),
    clause="§6, D-11",
    meaning="The scheduler gives a waiting task a free place and starts a carrier in it.",
    acts_on="task",
)

BACKOFF_OVER = _event(
    "backoff_over",
    (Guard("waits_for_retry", is_status(RETRY_WAIT), "§6", "nothing else waits for a back-off"),),
    QUEUED_OR_PAUSED,
    "§6 retry_wait re-enters through the queue",
    "The back-off after a failed attempt is over.",
)

SUPERVISOR_LOST = _event(
    "supervisor_lost",
    (NOT_ENDED,),
    in_order(
        Case(
            "failed",
            (
                UNSTARTED,
                Guard("has_been_tried", Less(Const(0), task("attempt")), "§6", "an earlier attempt has left its mark"),
            ),
            ended(FAILED, KIND_LOST),
            "it has been tried and will not be tried again",
        ),
        Case("cancelled", (UNSTARTED,), ended(CANCELLED, KIND_LOST), "nothing of it was ever done"),
        Case("lost", (), ended(LOST, KIND_LOST), "nobody knows what became of its carrier"),
    ),
    "§6, D-23",
    "Nobody looks after the task any more, and another controller says so.",
)

START_TIMEOUT, ATTEMPT_TIMEOUT, IDLE_TIMEOUT = (
    _event(
        name,
        (Guard("clock_runs", is_status(*where), "D-12", why),),
        (
            Case(
                "stopping",
                (),
                becomes(STOPPING, to("stop_cause", TIMEOUT), to("failure_kind", kind)),
                "its carrier is asked to stop",
            ),
        ),
        "§6 time-outs go through stopping",
        meaning,
    )
    for name, where, why, kind, meaning in (
        (
            "start_timeout",
            (STARTING,),
            "only a carrier that has not reported its start can be late with it",
            TIMEOUT_START,
            "The carrier has not reported its start in time.",
        ),
        (
            "attempt_timeout",
            (RUNNING, PAUSING),
            "the clock of an attempt stands still while it is queued or paused",
            TIMEOUT_ATTEMPT,
            "The attempt takes too long.",
        ),
        (
            "idle_timeout",
            (RUNNING, PAUSING),
            "queue time and pauses are no idle time",
            TIMEOUT_IDLE,
            "The carrier has not been heard of for too long.",
        ),
    )
)

PAUSE_WINDOW_OVER = _event(
    "pause_window_over",
    (Guard("pausing", is_status(PAUSING), "§6 abort_pause", "only a pause that has not happened is called off"),),
    (
        Case(
            "running",
            (),
            becomes(RUNNING, to("requested_action", None)),
            "it runs on, and whoever asked is told that it could not be paused",
        ),
    ),
    "§6 honest ends",
    "The carrier has not come to rest in time.",
)

# --- operations: carriers ---------------------------------------------------------------------------------------------


def _carrier_event(
    name: str,
    guards: tuple[Guard, ...],
    cases: tuple[Case, ...],
    clause: str,
    meaning: str,
    parameters: tuple[Parameter, ...] = (),
) -> Operation:
    return _event(name, guards, cases, clause, meaning, (TASK, CARRIER), Actor.HOLDER, parameters)


STARTED = _carrier_event(
    "started",
    (
        Guard(
            "may_start", is_status(STARTING, STOPPING), "§6", "a carrier reports its start once, before anything else"
        ),
        IS_CURRENT,
        Guard("unreported", Not(Holds(carrier("reported"))), "§6", "a carrier reports its start once"),
    ),
    in_order(
        Case(
            "noted",
            (Guard("is_stopping", is_status(STOPPING), "§6", "a task that stops goes on stopping"),),
            (to("started_at", NOW), NEXT_VERSION, Assignment(carrier("reported"), Const(True))),
            "it stops all the same",
        ),
        Case(
            "pausing",
            (PAUSE_RECORDED,),
            becomes(PAUSING, to("started_at", NOW), Assignment(carrier("reported"), Const(True))),
            "a pause was recorded, and takes effect",
        ),
        Case(
            "running",
            (),
            becomes(RUNNING, to("started_at", NOW), Assignment(carrier("reported"), Const(True))),
            "it runs",
        ),
    ),
    "§6 running needs the slot and started_at",
    "A carrier reports its start.",
)

QUIESCED = _carrier_event(
    "quiesced",
    (
        Guard("may_rest", is_status(RUNNING, PAUSING, STOPPING), "§6", "only what runs comes to rest"),
        IS_CURRENT,
    ),
    in_order(
        Case(
            "paused",
            (Guard("pausing", is_status(PAUSING), "§6 pause", "nobody wants any other task to rest"),),
            becomes(PAUSED, to("paused_from", IN_PLACE)),
            "it is paused in its place",
        ),
        Case("too_late", (), (), "the pause has been withdrawn or overtaken; the carrier goes on"),
    ),
    "§6 pause",
    "A carrier has come to rest at a check point.",
)

RETURNED = _carrier_event(
    "returned",
    SPEAKS,
    (Case("succeeded", (), ended(SUCCEEDED, None, *CARRIER_ENDED), "the task has been done"),),
    "§6 receptiveness",
    "A carrier has done its work, whatever was asked of it meanwhile.",
)

RAISED_RETRY = _carrier_event(
    "raised_retry",
    SPEAKS,
    in_order(
        STOPPED_CASE,
        CANCELLED_CASE,
        retried_case(kind_unless_timed_out(EXCEPTION)),
        failed_case(kind_unless_timed_out(EXCEPTION)),
    ),
    "§6 receptiveness",
    "A carrier has met an error after which another attempt is worth while.",
)

RAISED_FINAL = _carrier_event(
    "raised_final",
    SPEAKS,
    in_order(STOPPED_CASE, CANCELLED_CASE, failed_case(Const(EXCEPTION))),
    "§6 receptiveness",
    "A carrier has met an error that no further attempt would mend.",
)

IS_STOPPING = Guard("stopping", is_status(STOPPING), "§6 honest ends", "nobody asked any other task to stop")

ACKED = _carrier_event(
    "acked",
    (IS_STOPPING, IS_CURRENT),
    in_order(STOPPED_CASE, CANCELLED_CASE, retried_case(KIND_AS_NOTED), failed_case(KIND_AS_NOTED)),
    "§6 honest ends",
    "A carrier has seen that it is to stop, and has stopped.",
)

DIED_RETRY = _carrier_event(
    "died_retry",
    SPEAKS,
    in_order(
        STOPPED_CASE,
        CANCELLED_CASE,
        retried_case(kind_unless_timed_out(NONZERO_EXIT)),
        failed_case(kind_unless_timed_out(NONZERO_EXIT)),
    ),
    "§6 receptiveness",
    "A carrier is known to have died, and another attempt is worth while.",
)

DIED_FINAL = _carrier_event(
    "died_final",
    SPEAKS,
    in_order(
        STOPPED_CASE,
        CANCELLED_CASE,
        retried_case(
            KIND_AS_NOTED,
            Guard("timed_out", stops_for(TIMEOUT), "§6 honest ends", "it died because a time-out stopped it"),
        ),
        failed_case(kind_unless_timed_out(NONZERO_EXIT)),
    ),
    "§6 receptiveness",
    "A carrier is known to have died in a way that no further attempt would mend.",
)

VANISHED = _carrier_event(
    "vanished",
    SPEAKS,
    (Case("lost", (), ended(LOST, KIND_LOST), "how it ended is not known, nor whether it did"),),
    "§6 honest ends",
    "A carrier is not to be found, and may still run.",
)

WINDOW_OVER = _carrier_event(
    "window_over",
    (IS_STOPPING, IS_CURRENT),
    in_order(
        Case(
            "lost",
            (
                Guard(
                    "not_killed",
                    Not(Holds(Param("killed"))),
                    "§6 honest ends",
                    "a thread cannot be killed and goes on",
                ),
            ),
            ended(LOST, KIND_LOST),
            "the carrier is given up, and still shown as running",
        ),
        STOPPED_CASE,
        CANCELLED_CASE,
        retried_case(KIND_AS_NOTED),
        failed_case(KIND_AS_NOTED),
    ),
    "§6 honest ends",
    "A carrier has not stopped in time: a process has been killed, a thread is given up.",
    (Parameter("killed", Sort.FLAG, "whether the carrier was killed, which only a process can be"),),
)

LATE_END = Operation(
    name="late_end",
    actor=Actor.SYSTEM,
    selection=Selection.NAMED,
    over=(TASK, CARRIER),
    guards=(
        Guard("carrier_lives", CARRIER_LIVES, "§6", "a carrier ends once"),
        Guard(
            "given_up",
            Not(all_of(OCCUPIED, Equal(carrier("attempt"), task("attempt")))),
            "§6 verdicts are sticky",
            "the current carrier is heard, and its end decides",
        ),
    ),
    cases=(Case("ended", (), CARRIER_ENDED, "its place is free; what it has to say changes nothing"),),
    clause="§6 verdicts are sticky",
    meaning="A carrier that was given up has ended at last.",
    acts_on="carrier",
)

VERBS = (STOP_VERB, CANCEL_VERB, PAUSE_VERB, RESUME_VERB, SKIP_VERB)
REVIVAL_OPERATIONS = (RETRY_VERB, FORCE_RETRY_VERB, SKIP_FAILED_VERB, RESET_VERB)

OPERATIONS: tuple[Operation, ...] = (
    SUBMIT,
    *VERBS,
    DEPS_MISSING,
    DEPS_READY,
    UPSTREAM_FAILED,
    CONDITION_IS_FALSE,
    DISPATCH,
    BACKOFF_OVER,
    SUPERVISOR_LOST,
    STARTED,
    QUIESCED,
    PAUSE_WINDOW_OVER,
    START_TIMEOUT,
    ATTEMPT_TIMEOUT,
    IDLE_TIMEOUT,
    RETURNED,
    RAISED_RETRY,
    RAISED_FINAL,
    ACKED,
    DIED_RETRY,
    DIED_FINAL,
    VANISHED,
    WINDOW_OVER,
    LATE_END,
    *REVIVAL_OPERATIONS,
)

TASK_MACHINE = Machine(
    name="task",
    meaning="A unit of work under control: it can be stopped, paused, retried, and says honestly how it ended.",
    fields=FIELDS,
    statuses=STATUSES,
    table=TABLE,
    revivals=REVIVAL_TABLE,
    created_by="submit",
)

CARRIER_MACHINE = Machine(
    name="carrier",
    meaning="A thread or process that executes one attempt of a task.",
    fields=(
        Field("attempt", Sort.COUNT, "the attempt that it executes; null when it is known to execute none"),
        Field("reported", Sort.FLAG, "whether it has reported its start"),
        Field("place", Sort.IDENTITY, "the place in which it runs"),
    ),
    belongs_to="task",
)

# --- what must hold in every state ------------------------------------------------------------------------------------

CURRENT: TruthTerm = Equal(carrier("attempt"), task("attempt"))
STARTED_STATUSES: TruthTerm = any_of(
    is_status(RUNNING, PAUSING), all_of(is_status(PAUSED), Equal(task("paused_from"), Const(IN_PLACE)))
)


def exactly_when(one: TruthTerm, other: TruthTerm) -> TruthTerm:
    """Both or neither."""
    return all_of(implies(one, other), implies(other, one))


INVARIANTS: tuple[Invariant, ...] = (
    Invariant(
        "ended_at_exactly_when_ended",
        "003 §2.4",
        (TASK,),
        exactly_when(is_status(*ENDED), present(task("ended_at"))),
        "The time of the end is set exactly on tasks that have ended.",
    ),
    Invariant(
        "stop_cause_exactly_when_stopping",
        "§6 stop_cause",
        (TASK,),
        exactly_when(is_status(STOPPING), present(task("stop_cause"))),
        "A task that stops knows why, and no other does.",
    ),
    Invariant(
        "paused_from_exactly_when_paused",
        "§6 paused remembers where from",
        (TASK,),
        exactly_when(is_status(PAUSED), present(task("paused_from"))),
        "A paused task knows where it was, and no other does.",
    ),
    Invariant(
        "running_has_started",
        "§6 running needs the slot and started_at",
        (TASK,),
        implies(STARTED_STATUSES, present(task("started_at"))),
        "What runs, is pausing or rests in its place has the start of this attempt.",
    ),
    Invariant(
        "started_at_of_this_attempt",
        "§6 started_at belongs to the attempt",
        (TASK,),
        implies(present(task("started_at")), any_of(STARTED_STATUSES, is_status(STOPPING))),
        "No start of an earlier attempt is left over.",
    ),
    Invariant(
        "start_as_reported",
        "§6 running needs the slot and started_at",
        (TASK, CARRIER),
        implies(
            all_of(OCCUPIED, Equal(carrier("attempt"), task("attempt"))),
            exactly_when(Holds(carrier("reported")), present(task("started_at"))),
        ),
        "The start of an attempt is set exactly when its carrier has reported it.",
    ),
    Invariant(
        "attempts_within_budget",
        "§6, D-11",
        (TASK,),
        implies(
            present(STATUS),
            all_of(AtMost(task("attempt"), task("max_attempts")), AtMost(Const(1), task("max_attempts"))),
        ),
        "At most max_attempts attempts are started.",
    ),
    Invariant(
        "waiting_has_budget",
        "§6 queued has budget",
        (TASK,),
        implies(UNOCCUPIED, Less(task("attempt"), task("max_attempts"))),
        "What waits can still be started.",
    ),
    Invariant(
        "at_work_is_counted",
        "§6, D-11",
        (TASK,),
        implies(any_of(OCCUPIED, is_status(RETRY_WAIT)), Less(Const(0), task("attempt"))),
        "An attempt under way, or one that has failed, is counted.",
    ),
    Invariant(
        "not_looked_at_not_tried",
        "003 §2.1",
        (TASK,),
        implies(is_status(*NEVER_STARTED), Equal(task("attempt"), Const(0))),
        "What waits for others has not been tried.",
    ),
    Invariant(
        "history_counts",
        "D-13",
        (TASK,),
        implies(present(STATUS), AtMost(task("attempt"), task("starts"))),
        "The history shows each attempt that counts.",
    ),
    Invariant(
        "pause_wanted",
        "§6 pause",
        (TASK,),
        implies(is_status(PAUSING, PAUSED), requested(PAUSE)),
        "Nothing pauses or rests but what somebody wants to.",
    ),
    Invariant(
        "nothing_wanted_of_it",
        "§6 pause",
        (TASK,),
        implies(is_status(QUEUED, RUNNING), Missing(task("requested_action"))),
        "What is queued or runs has no request that waits.",
    ),
    Invariant(
        "only_a_pause_waits",
        "§6 requested_action",
        (TASK,),
        implies(
            any_of(is_status(*NEVER_STARTED, STARTING, RETRY_WAIT), stops_for(TIMEOUT)),
            any_of(Missing(task("requested_action")), requested(PAUSE)),
        ),
        "A stop or a cancel is answered at once, a pause may have to wait.",
    ),
    Invariant(
        "stops_as_asked",
        "§6 stop_cause",
        (TASK,),
        all_of(
            implies(stops_for(STOP), requested(STOP)),
            implies(stops_for(CANCEL), requested(CANCEL)),
        ),
        "What stops because of a stop or cancel was asked for it.",
    ),
    Invariant(
        "stopped_on_request",
        "003 §2.1",
        (TASK,),
        implies(is_status(STOPPED), all_of(requested(STOP), Equal(task("failure_kind"), Const(KIND_CANCELLED)))),
        "A task ends stopped only after a stop.",
    ),
    Invariant(
        "cancelled_for_a_reason",
        "003 §2.1",
        (TASK,),
        implies(
            is_status(CANCELLED),
            any_of(
                all_of(requested(CANCEL), Equal(task("failure_kind"), Const(KIND_CANCELLED))),
                OneOf(task("failure_kind"), (DEPENDENCY_FAILED, KIND_LOST)),
            ),
        ),
        "A task ends cancelled only after a cancel, along with what it depends on, or as an orphan.",
    ),
    Invariant(
        "failed_for_a_reason",
        "003 §2.4",
        (TASK,),
        implies(is_status(FAILED), OneOf(task("failure_kind"), (EXCEPTION, NONZERO_EXIT, *TIMEOUT_KINDS, KIND_LOST))),
        "A failure says what went wrong, and is no cancellation.",
    ),
    Invariant(
        "lost_is_called_lost",
        "003 §13.6",
        (TASK,),
        implies(is_status(LOST), Equal(task("failure_kind"), Const(KIND_LOST))),
        "An end that nobody knows is not called by another name.",
    ),
    Invariant(
        "skipped_for_a_reason",
        "003 §2.1",
        (TASK,),
        implies(
            is_status(SKIPPED),
            any_of(
                Missing(task("failure_kind")),
                Equal(task("failure_kind"), Const(CONDITION_FALSE)),
                all_of(Equal(task("failure_kind"), Const(DEPENDENCY_FAILED)), Holds(Setting("skips_downstream"))),
            ),
        ),
        "A task is skipped by hand, for its condition, or by the choice of its pipeline.",
    ),
    Invariant(
        "success_without_failure",
        "003 §2.4",
        (TASK,),
        implies(is_status(SUCCEEDED), Missing(task("failure_kind"))),
        "A task that succeeded has no kind of failure.",
    ),
    Invariant(
        "retried_for_a_failure",
        "§6 no retry after stop or cancel",
        (TASK,),
        implies(is_status(RETRY_WAIT), OneOf(task("failure_kind"), (EXCEPTION, NONZERO_EXIT, *TIMEOUT_KINDS))),
        "Only an error or a time-out is followed by another attempt of its own accord.",
    ),
    Invariant(
        "trouble_of_an_attempt",
        "003 §2.4",
        (TASK,),
        implies(
            all_of(is_status(*LIVE), present(task("failure_kind"))),
            OneOf(task("failure_kind"), (EXCEPTION, NONZERO_EXIT, *TIMEOUT_KINDS)),
        ),
        "What lives has no trouble on its row but that of an attempt.",
    ),
    Invariant(
        "rest_after_a_failure",
        "§6 paused remembers where from",
        (TASK,),
        implies(
            Equal(task("paused_from"), Const(RETRY_WAIT)),
            all_of(Less(Const(0), task("attempt")), present(task("failure_kind"))),
        ),
        "What was paused before a retry has failed before.",
    ),
    Invariant(
        "no_trouble_under_way",
        "003 §2.4",
        (TASK,),
        implies(
            any_of(is_status(*NEVER_STARTED), all_of(OCCUPIED, Not(stops_for(TIMEOUT)))),
            Missing(task("failure_kind")),
        ),
        "What has not been tried, and what is at work and not timed out, has no trouble on its row.",
    ),
    Invariant(
        "timed_out_in_kind",
        "§6 honest ends",
        (TASK,),
        implies(stops_for(TIMEOUT), OneOf(task("failure_kind"), TIMEOUT_KINDS)),
        "A task that a time-out stops knows which.",
    ),
    Invariant(
        "carrier_has_a_place",
        "§6 max_parallel",
        (TASK, CARRIER),
        all_of(
            exactly_when(CARRIER_LIVES, present(carrier("place"))),
            exactly_when(CARRIER_LIVES, present(carrier("reported"))),
        ),
        "A carrier has a place exactly as long as it lives.",
    ),
    Invariant(
        "carrier_of_a_counted_attempt",
        "§6 every carrier event carries its attempt number",
        (TASK, CARRIER),
        implies(
            CARRIER_LIVES,
            all_of(present(STATUS), AtMost(Const(1), carrier("attempt")), AtMost(carrier("attempt"), task("attempt"))),
        ),
        "No carrier executes an attempt that has not been counted.",
    ),
    Invariant(
        "carrier_accounted_for",
        "§6 no new attempt while an old carrier lives",
        (TASK, CARRIER),
        implies(
            CARRIER_LIVES,
            any_of(all_of(OCCUPIED, CURRENT), is_status(LOST), Holds(task("overridden"))),
        ),
        "A carrier that lives is the current one, its task is lost, or somebody has forced a retry.",
    ),
    Invariant(
        "one_carrier_an_attempt",
        "§6 every carrier event carries its attempt number",
        (TASK, CARRIER, OTHER_CARRIER),
        Not(Equal(carrier("attempt"), FieldOf("other", "attempt"))),
        "No two carriers execute one attempt.",
    ),
    Invariant(
        "places_differ",
        "§6 max_parallel",
        (TASK, CARRIER, OTHER_CARRIER),
        Not(Equal(carrier("place"), FieldOf("other", "place"))),
        "No two carriers share a place, also where one of them was given up.",
    ),
)

# --- what must hold of every step -------------------------------------------------------------------------------------

VISIBLE = tuple(field.name for field in FIELDS if not field.ghost and field.name != "status_version")
UNCHANGED: TruthTerm = all_of(*(Same(task(name), task_after(name)) for name in VISIBLE))
SAME_STATUS: TruthTerm = Same(STATUS, task_after("status"))

STEP_PROPERTIES: tuple[StepProperty, ...] = (
    StepProperty(
        "version_grows_by_one",
        "003 §2.4 status_version",
        (TASK,),
        implies(
            present(STATUS),
            any_of(
                all_of(UNCHANGED, Same(task("status_version"), task_after("status_version"))),
                all_of(Not(UNCHANGED), Equal(task_after("status_version"), Plus(task("status_version"), Const(1)))),
            ),
        ),
        "Each change of a task raises its version by one, and nothing else does.",
    ),
    StepProperty(
        "ended_left_by_revivals",
        "D-13",
        (TASK,),
        implies(
            is_status(*ENDED),
            any_of(
                UNCHANGED,
                all_of(is_status(*REVIVABLE), ends_as(QUEUED)),
                all_of(is_status(FAILED), ends_as(SKIPPED)),
                ends_as(PENDING),
            ),
        ),
        "What has ended stays as it ended, but for a retry, a skip after a failure and a reset.",
    ),
    StepProperty(
        "ends_now",
        "003 §2.4",
        (TASK,),
        implies(
            all_of(ends_as(*ENDED), Not(SAME_STATUS)),
            Equal(task_after("ended_at"), NOW),
        ),
        "The end of a task is noted when it happens.",
    ),
    StepProperty(
        "revived_with_a_clean_record",
        "D-13",
        (TASK,),
        implies(
            all_of(is_status(*ENDED), Not(SAME_STATUS)),
            all_of(Missing(task_after("failure_kind")), Missing(task_after("requested_action"))),
        ),
        "What is revived, or skipped after a failure, carries neither the old trouble nor the old request.",
    ),
    StepProperty(
        "verdicts_are_sticky",
        "§6 honest ends",
        (TASK,),
        Not(is_status(*ENDED)),
        "No carrier has anything to say about a task that has ended.",
        by=Actor.HOLDER,
    ),
    StepProperty(
        "only_the_current_carrier_speaks",
        "§6 every carrier event carries its attempt number",
        (TASK, CARRIER),
        all_of(OCCUPIED, CURRENT),
        "A carrier is heard only while the task is in the attempt that it executes.",
        by=Actor.HOLDER,
    ),
    StepProperty(
        "revived_by_clients_only",
        "D-13",
        (TASK,),
        implies(is_status(*ENDED), UNCHANGED),
        "The system revives nothing by itself.",
        by=Actor.SYSTEM,
    ),
    StepProperty(
        "carrier_stops_as_asked",
        "§6 honest ends",
        (TASK,),
        all_of(
            implies(ends_as(STOPPED), stops_for(STOP)),
            implies(ends_as(CANCELLED), stops_for(CANCEL)),
        ),
        "A carrier's end is called stopped or cancelled only if that was asked.",
        by=Actor.HOLDER,
    ),
    StepProperty(
        "system_cancels_the_unstarted",
        "003 §2.1",
        (TASK,),
        all_of(
            implies(all_of(is_status(*LIVE), ends_as(CANCELLED)), Equal(task("attempt"), Const(0))),
            implies(is_status(*LIVE), Not(ends_as(STOPPED))),
        ),
        "The system cancels only what has never been tried, and stops nothing.",
        by=Actor.SYSTEM,
    ),
    StepProperty(
        "never_retried_once_asked_to_stop",
        "§6 no retry after stop or cancel",
        (TASK,),
        implies(stops_for(STOP, CANCEL), ends_as(STOPPING, SUCCEEDED, FAILED, STOPPED, CANCELLED, LOST)),
        "A task asked to stop ends; it may yet succeed, fail on an error that is final, or be lost.",
    ),
    StepProperty(
        "known_end_is_named_as_asked",
        "§6 honest ends",
        (TASK,),
        all_of(
            implies(stops_for(STOP), Not(ends_as(FAILED, CANCELLED))),
            implies(stops_for(CANCEL), Not(ends_as(FAILED, STOPPED))),
            implies(stops_for(TIMEOUT), Not(ends_as(STOPPED, CANCELLED))),
        ),
        "A known end without success is called by what was asked.",
    ),
    StepProperty(
        "first_request_stays",
        "§6 stop_cause",
        (TASK,),
        implies(
            all_of(stops_for(STOP, CANCEL), ends_as(STOPPING)),
            all_of(
                Same(task("stop_cause"), task_after("stop_cause")),
                Same(task("requested_action"), task_after("requested_action")),
            ),
        ),
        "The first of stop and cancel stays.",
    ),
    StepProperty(
        "request_replaces_time_out",
        "§6 stop_cause",
        (TASK,),
        implies(
            all_of(stops_for(TIMEOUT), ends_as(STOPPING)),
            any_of(
                Same(task("stop_cause"), task_after("stop_cause")),
                OneOf(task_after("stop_cause"), (STOP, CANCEL)),
            ),
        ),
        "A time-out that stops a task gives way to a stop or cancel and to nothing else.",
    ),
    *(
        StepProperty(
            f"{verb}_is_obeyed",
            "§6 occupied or not",
            (TASK,),
            all_of(
                implies(UNOCCUPIED, ends_as(status)),
                implies(all_of(OCCUPIED, Not(stops_for(STOP, CANCEL))), Equal(task_after("stop_cause"), Const(verb))),
                ends_as(status, STOPPING),
            ),
            f"A {verb} takes effect at once where no place is held, else through stopping.",
            of=verb,
        )
        for verb, status in ((STOP, STOPPED), (CANCEL, CANCELLED))
    ),
    StepProperty(
        "pause_is_obeyed",
        "§6 pause",
        (TASK,),
        all_of(
            Equal(task_after("requested_action"), Const(PAUSE)),
            implies(is_status(QUEUED, RETRY_WAIT, PAUSED), ends_as(PAUSED)),
            implies(is_status(RUNNING, PAUSING), ends_as(PAUSING)),
            implies(is_status(*NEVER_STARTED, STARTING), SAME_STATUS),
        ),
        "A pause takes effect where no place is held, goes through pausing where one is, and else is recorded.",
        of=PAUSE,
    ),
    StepProperty(
        "pause_never_stops",
        "§6 pause",
        (TASK,),
        Not(is_status(STOPPING, *ENDED)),
        "A pause is refused where nothing could come to rest.",
        of=PAUSE,
    ),
    StepProperty(
        "resume_returns",
        "§6 paused remembers where from",
        (TASK,),
        all_of(
            implies(is_status(PAUSED), Not(ends_as(PAUSED))),
            implies(Equal(task("paused_from"), Const(QUEUED)), ends_as(QUEUED)),
            implies(Equal(task("paused_from"), Const(RETRY_WAIT)), ends_as(RETRY_WAIT)),
            implies(Equal(task("paused_from"), Const(IN_PLACE)), ends_as(RUNNING)),
            implies(is_status(PAUSING), ends_as(RUNNING)),
            implies(is_status(PENDING, BLOCKED, RETRY_WAIT, STARTING, STOPPING), SAME_STATUS),
            Not(Equal(task_after("requested_action"), Const(PAUSE))),
            Not(is_status(QUEUED, RUNNING, *ENDED)),
        ),
        "Resume returns a task to where the pause found it.",
        of="resume",
    ),
    StepProperty(
        "pause_remembers",
        "§6 paused remembers where from",
        (TASK,),
        implies(
            all_of(Not(is_status(PAUSED)), ends_as(PAUSED)),
            any_of(
                all_of(OCCUPIED, Equal(task_after("paused_from"), Const(IN_PLACE))),
                all_of(
                    is_status(QUEUED, RETRY_WAIT, *NEVER_STARTED),
                    OneOf(task_after("paused_from"), (QUEUED, RETRY_WAIT)),
                ),
            ),
        ),
        "A pause in its place is told from one without a place.",
    ),
    StepProperty(
        "recorded_pause_takes_effect",
        "§6 pause",
        (TASK,),
        implies(
            all_of(requested(PAUSE), Not(SAME_STATUS)),
            Not(ends_as(QUEUED, STARTING)),
        ),
        "A task for which a pause is recorded is not handed on to the scheduler.",
        by=Actor.SYSTEM,
    ),
    StepProperty(
        "recorded_pause_meets_the_start",
        "§6 pause",
        (TASK,),
        implies(all_of(is_status(STARTING), requested(PAUSE)), ends_as(PAUSING)),
        "A task for which a pause is recorded pauses as soon as its carrier has started.",
        of="started",
    ),
    StepProperty(
        "abort_pause_only_from_pausing",
        "§6 abort_pause",
        (TASK,),
        all_of(is_status(PAUSING), ends_as(RUNNING)),
        "Only a pause that has not happened is called off, and the task runs on.",
        of="pause_window_over",
    ),
    StepProperty(
        "rests_when_asked",
        "§6 pause",
        (TASK,),
        any_of(all_of(is_status(PAUSING), ends_as(PAUSED)), UNCHANGED),
        "A carrier that rests pauses its task only where somebody wants it.",
        of="quiesced",
    ),
    StepProperty(
        "attempt_counted_once",
        "D-11",
        (TASK,),
        implies(
            present(STATUS),
            any_of(
                all_of(
                    is_status(QUEUED),
                    ends_as(STARTING),
                    Equal(task_after("attempt"), Plus(task("attempt"), Const(1))),
                    Equal(task_after("starts"), Plus(task("starts"), Const(1))),
                ),
                all_of(
                    any_of(is_status(STARTING), Not(ends_as(STARTING))),
                    Same(task("attempt"), task_after("attempt")),
                    Same(task("starts"), task_after("starts")),
                ),
                all_of(
                    is_status(*ENDED),
                    ends_as(PENDING),
                    Equal(task_after("attempt"), Const(0)),
                    Same(task("starts"), task_after("starts")),
                ),
            ),
        ),
        "An attempt is counted once, when it starts; a reset begins anew and leaves the history.",
    ),
    StepProperty(
        "starts_from_the_queue",
        "§6 retry_wait re-enters through the queue",
        (TASK,),
        all_of(
            implies(all_of(Not(is_status(STARTING)), ends_as(STARTING)), is_status(QUEUED)),
            implies(all_of(Not(is_status(RUNNING)), ends_as(RUNNING)), is_status(STARTING, PAUSING, PAUSED)),
        ),
        "Nothing gets past the places.",
    ),
    StepProperty(
        "carrier_executes_one_attempt",
        "§6 every carrier event carries its attempt number",
        (TASK, CARRIER),
        Missing(carrier("attempt")),
        "An attempt gets a carrier that executes no other.",
        of="dispatch",
    ),
    StepProperty(
        "attempt_starts_with_its_carrier",
        "§6 running needs the slot and started_at",
        (TASK, CARRIER),
        all_of(
            Same(FieldOf("carrier", "attempt", after=True), task_after("attempt")),
            present(FieldOf("carrier", "place", after=True)),
        ),
        "What starts has a carrier, and that a place.",
        of="dispatch",
    ),
    StepProperty(
        "carrier_stays_with_its_attempt",
        "§6 running needs the slot and started_at",
        (TASK, CARRIER),
        implies(
            all_of(OCCUPIED, CURRENT, ends_as(PAUSED, *AT_WORK)),
            all_of(
                Same(carrier("attempt"), FieldOf("carrier", "attempt", after=True)),
                Same(carrier("place"), FieldOf("carrier", "place", after=True)),
                Same(task("attempt"), task_after("attempt")),
            ),
        ),
        "As long as an attempt is under way its carrier lives and keeps its place.",
    ),
    StepProperty(
        "nothing_starts_beside_an_old_carrier",
        "§6 no new attempt while an old carrier lives",
        (TASK, CARRIER),
        implies(
            all_of(is_status(QUEUED), ends_as(STARTING), CARRIER_LIVES),
            Holds(task("overridden")),
        ),
        "No attempt starts while an old carrier lives, unless somebody has forced it.",
    ),
    StepProperty(
        "revived_beside_a_carrier_by_force_only",
        "§6 no new attempt while an old carrier lives",
        (TASK, CARRIER),
        implies(
            all_of(is_status(*ENDED), ends_as(QUEUED, PENDING), CARRIER_LIVES),
            all_of(ends_as(QUEUED), Holds(task_after("overridden"))),
        ),
        "A task whose carrier still lives is revived by force only, and reset not at all.",
        by=Actor.CLIENT,
    ),
    *(
        StepProperty(
            f"{name}_waits_for_the_old_carrier",
            "§6 no new attempt while an old carrier lives, D-13",
            (TASK, CARRIER),
            Not(CARRIER_LIVES),
            f"A task is not {told} while an old carrier lives.",
            of=name,
        )
        for name, told in (("retry", "retried without force"), ("reset", "reset"))
    ),
    StepProperty(
        "nothing_but_lost_ends_beside_a_carrier",
        "§6 honest ends",
        (TASK, CARRIER),
        implies(
            all_of(is_status(*LIVE), ends_as(SUCCEEDED, FAILED, STOPPED, CANCELLED, SKIPPED)),
            any_of(Missing(FieldOf("carrier", "attempt", after=True)), Holds(task("overridden"))),
        ),
        "A task ends otherwise than lost only when its carrier has ended.",
    ),
    StepProperty(
        "current_carrier_ends_with_its_task",
        "§6 honest ends",
        (TASK, CARRIER),
        implies(
            all_of(OCCUPIED, CURRENT, Not(ends_as(LOST, PAUSED, *AT_WORK))),
            Missing(FieldOf("carrier", "attempt", after=True)),
        ),
        "An attempt that is over, and not lost, leaves no carrier and no held place.",
    ),
    StepProperty(
        "lost_only_where_unknown",
        "§6 honest ends",
        (TASK,),
        implies(all_of(is_status(*LIVE), ends_as(LOST)), OCCUPIED),
        "Only an attempt that was under way can be lost.",
    ),
    StepProperty(
        "lost_is_still_shown_running",
        "003 §13.6",
        (TASK, CARRIER),
        implies(
            all_of(is_status(*LIVE), ends_as(LOST)), Same(carrier("attempt"), FieldOf("carrier", "attempt", after=True))
        ),
        "A carrier that was given up is not said to have ended, and keeps its place.",
    ),
    StepProperty(
        "old_carrier_keeps_its_place",
        "§6 no new attempt while an old carrier lives",
        (TASK, CARRIER),
        all_of(UNCHANGED, CARRIER_LIVES, Not(all_of(OCCUPIED, CURRENT))),
        "The late end of a carrier concerns one that was given up, and leaves the task alone.",
        of="late_end",
    ),
    StepProperty(
        "reports_its_start_once",
        "§6",
        (TASK, CARRIER),
        all_of(Missing(task("started_at")), Equal(task_after("started_at"), NOW)),
        "A carrier reports its start once, and the start of the attempt is then.",
        of="started",
    ),
    StepProperty(
        "start_is_kept",
        "§6 started_at belongs to the attempt",
        (TASK,),
        implies(
            present(task("started_at")),
            any_of(Missing(task_after("started_at")), Same(task("started_at"), task_after("started_at"))),
        ),
        "The start of an attempt does not move.",
    ),
    *(
        StepProperty(
            f"{name}_goes_through_stopping",
            "§6 time-outs go through stopping",
            (TASK,),
            all_of(
                Equal(task_after("stop_cause"), Const(TIMEOUT)),
                Equal(task_after("failure_kind"), Const(kind)),
                is_status(*where),
            ),
            "A time-out asks the carrier to stop, and runs only while the clock of the attempt does (D-12).",
            of=name,
        )
        for name, kind, where in (
            ("start_timeout", TIMEOUT_START, (STARTING,)),
            ("attempt_timeout", TIMEOUT_ATTEMPT, (RUNNING, PAUSING)),
            ("idle_timeout", TIMEOUT_IDLE, (RUNNING, PAUSING)),
        )
    ),
    *(
        StepProperty(
            f"{name}_answers_what_was_asked",
            "§6 honest ends",
            (TASK,),
            is_status(STOPPING),
            "Only a task that was asked to stop has a window, and a carrier that answers.",
            of=name,
        )
        for name in ("acked", "window_over")
    ),
    StepProperty(
        "killed_is_known",
        "§6 honest ends",
        (TASK,),
        any_of(
            all_of(Holds(Param("killed")), Not(ends_as(LOST))),
            all_of(Not(Holds(Param("killed"))), ends_as(LOST)),
        ),
        "The end of a killed process is known, that of a thread that was given up is not.",
        of="window_over",
    ),
    *(
        StepProperty(
            f"{name}_retries_within_budget",
            "§6, D-11",
            (TASK,),
            implies(all_of(*when, Less(task("attempt"), task("max_attempts"))), ends_as(RETRY_WAIT)),
            "With an attempt left this is not the end.",
            of=name,
        )
        for name, when in (
            ("raised_retry", (Not(stops_for(STOP, CANCEL)),)),
            ("died_retry", (Not(stops_for(STOP, CANCEL)),)),
            ("acked", (Not(stops_for(STOP, CANCEL)),)),
            ("died_final", (stops_for(TIMEOUT),)),
            ("window_over", (stops_for(TIMEOUT), Holds(Param("killed")))),
        )
    ),
    StepProperty(
        "final_error_is_final",
        "§6 receptiveness",
        (TASK,),
        ends_as(FAILED, STOPPED, CANCELLED),
        "An error that no further attempt would mend is not followed by one.",
        of="raised_final",
    ),
    StepProperty(
        "death_by_time_out_is_retried",
        "§6 honest ends",
        (TASK,),
        implies(
            ends_as(RETRY_WAIT),
            stops_for(TIMEOUT),
        ),
        "A final death is retried only where a time-out had caused it.",
        of="died_final",
    ),
    *(
        StepProperty(
            f"{verb.name}_reads_the_latest",
            "003 §5.6",
            (TASK,),
            Equal(Param("version"), task("status_version")),
            "A verb that was meant for an earlier state of the row is refused.",
            of=verb.name,
        )
        for verb in (*VERBS, *REVIVAL_OPERATIONS)
    ),
    StepProperty(
        "skip_leaves_no_attempt",
        "§6 skip",
        (TASK,),
        all_of(UNOCCUPIED, Not(is_status(RETRY_WAIT)), ends_as(SKIPPED)),
        "Only what holds no place is skipped.",
        of="skip",
    ),
    StepProperty(
        "retry_within_budget",
        "D-13",
        (TASK,),
        all_of(
            Less(task("attempt"), task("max_attempts")),
            Same(task("max_attempts"), task_after("max_attempts")),
            is_status(*REVIVABLE),
            ends_as(QUEUED),
        ),
        "A retry spends an attempt of the budget that there is.",
        of="retry",
    ),
    StepProperty(
        "force_is_recorded",
        "§6 force raises max_attempts, recorded",
        (TASK,),
        all_of(
            Holds(task_after("overridden")),
            Less(task_after("attempt"), task_after("max_attempts")),
            AtMost(task("max_attempts"), task_after("max_attempts")),
            is_status(*REVIVABLE),
            ends_as(QUEUED),
        ),
        "A forced retry makes room for one attempt and says so on the row.",
        of="force_retry",
    ),
    StepProperty(
        "budget_is_raised_by_force_only",
        "§6 force raises max_attempts, recorded",
        (TASK,),
        implies(
            all_of(present(STATUS), Not(Same(task("max_attempts"), task_after("max_attempts")))),
            Holds(task_after("overridden")),
        ),
        "Nothing but force changes the budget.",
    ),
    StepProperty(
        "override_is_kept",
        "§6 force raises max_attempts, recorded",
        (TASK,),
        implies(Holds(task("overridden")), Holds(task_after("overridden"))),
        "That somebody used force stays on the row.",
    ),
    StepProperty(
        "failure_skipped_afterwards",
        "D-13",
        (TASK,),
        all_of(is_status(FAILED), ends_as(SKIPPED)),
        "Only a failure is skipped afterwards.",
        of="skip_failed",
    ),
    StepProperty(
        "reset_begins_anew",
        "D-13",
        (TASK,),
        all_of(is_status(*ENDED), ends_as(PENDING), Equal(task_after("attempt"), Const(0))),
        "Only what has ended is reset.",
        of="reset",
    ),
    StepProperty(
        "looks_upstream_before_release",
        "§6 pipelines",
        (TASK,),
        implies(
            all_of(is_status(*LIVE), OneOf(task_after("failure_kind"), (DEPENDENCY_FAILED, CONDITION_FALSE))),
            is_status(*NEVER_STARTED),
        ),
        "What happens upstream ends only what has not been released.",
    ),
    StepProperty(
        "on_failure_chooses",
        "§6 pipelines, on_failure",
        (TASK,),
        any_of(
            all_of(Holds(Setting("skips_downstream")), ends_as(SKIPPED)),
            all_of(Not(Holds(Setting("skips_downstream"))), ends_as(CANCELLED)),
        ),
        "A failure upstream ends what waits for it as the pipeline has chosen.",
        of="upstream_failed",
    ),
    *(
        StepProperty(
            f"{name}_is_named",
            clause,
            (TASK,),
            Equal(task_after("failure_kind"), Const(kind)),
            "What ends for something upstream says so.",
            of=name,
        )
        for name, clause, kind in (
            ("upstream_failed", "§6 pipelines", DEPENDENCY_FAILED),
            ("condition_false", "003 §3.3", CONDITION_FALSE),
        )
    ),
    *(
        StepProperty(
            f"{name}_is_named",
            "003 §2.4",
            (TASK,),
            implies(
                ends_as(RETRY_WAIT, FAILED),
                Same(task_after("failure_kind"), Choose(stops_for(TIMEOUT), KIND_AS_NOTED, Const(kind))),
            ),
            "A failure is called by what the carrier met, or by the time-out that stopped it.",
            of=name,
        )
        for name, kind in (("raised_retry", EXCEPTION), ("died_retry", NONZERO_EXIT), ("died_final", NONZERO_EXIT))
    ),
    StepProperty(
        "released_once",
        "003 §5.2",
        (TASK,),
        implies(ends_as(BLOCKED), is_status(PENDING, BLOCKED)),
        "What has been released is not blocked again.",
    ),
    StepProperty(
        "released_from_waiting",
        "003 §5.2",
        (TASK,),
        is_status(*NEVER_STARTED),
        "Only what waits for others is released.",
        of="deps_ready",
    ),
    StepProperty(
        "back_off_ends",
        "§6 retry_wait re-enters through the queue",
        (TASK,),
        is_status(RETRY_WAIT),
        "After the back-off a task goes back to the queue, or rests where a pause is recorded.",
        of="backoff_over",
    ),
    StepProperty(
        "blocked_once",
        "003 §5.2",
        (TASK,),
        is_status(PENDING),
        "Dependencies are looked at once.",
        of="deps_missing",
    ),
    StepProperty(
        "orphans_end_honestly",
        "§6, D-23",
        (TASK,),
        all_of(
            implies(OCCUPIED, ends_as(LOST)),
            implies(all_of(UNOCCUPIED, Less(Const(0), task("attempt"))), ends_as(FAILED)),
            implies(all_of(UNOCCUPIED, Equal(task("attempt"), Const(0))), ends_as(CANCELLED)),
            Equal(task_after("failure_kind"), Const(KIND_LOST)),
            is_status(*LIVE),
        ),
        "An orphan is lost where it was at work, failed where it had been tried, else cancelled; and called lost.",
        of="supervisor_lost",
    ),
    StepProperty(
        "created_with_budget",
        "§6 queued has budget",
        (TASK,),
        all_of(Missing(STATUS), AtMost(Const(1), task_after("max_attempts"))),
        "A new task can be started.",
        of="submit",
    ),
)

# --- termination ------------------------------------------------------------------------------------------------------

_RANKS: tuple[tuple[TruthTerm, int], ...] = (
    (is_status(PENDING), 11),
    (is_status(BLOCKED), 10),
    (is_status(STARTING), 9),
    (is_status(PAUSING), 8),
    (is_status(RUNNING), 7),
    (all_of(is_status(PAUSED), Equal(task("paused_from"), Const(IN_PLACE))), 6),
    (is_status(STOPPING), 5),
    (is_status(RETRY_WAIT), 4),
    (is_status(QUEUED, PAUSED), 3),
)


def _rank() -> ValueTerm:
    """How far a status is from the end of its attempt."""
    rank: ValueTerm = Const(0)
    for where, number in reversed(_RANKS):
        rank = Choose(where, Const(number), rank)
    return rank


ENDS = Measure(
    name="way_to_the_end",
    clause="§3",
    over=(TASK,),
    parts=(
        Descent(task("max_attempts"), task("attempt"), Const(0)),
        Descent(_rank(), Const(0), Const(0)),
        Descent(Choose(Missing(task("started_at")), Const(1), Const(0)), Const(0), Const(0)),
    ),
    by=(
        "deps_missing",
        "deps_ready",
        "upstream_failed",
        "condition_false",
        "dispatch",
        "backoff_over",
        "supervisor_lost",
        "started",
        "pause_window_over",
        "start_timeout",
        "attempt_timeout",
        "idle_timeout",
        *CARRIER_ENDS,
        "vanished",
        "window_over",
    ),
    meaning=(
        "Left to themselves scheduler and carriers bring each task to an end. A carrier that rests where nobody wants "
        "it to changes nothing and is left out; verbs and revivals may go round for ever, as people do."
    ),
)

# --- what must be reachable -------------------------------------------------------------------------------------------

WITNESSES: tuple[Witness, ...] = (
    *(
        Witness(f"{status.name}_reached", "003 §2.1", (TASK,), is_status(status.name), f"A task is {status.name}.")
        for status in STATUSES
    ),
    *(
        Witness(
            f"paused_from_{where}",
            "§6 paused remembers where from",
            (TASK,),
            Equal(task("paused_from"), Const(where)),
            f"A pause has found a task {told}.",
        )
        for where, told in ((QUEUED, "queued"), (RETRY_WAIT, "waiting for a retry"), (IN_PLACE, "at work"))
    ),
    *(
        Witness(
            f"stops_for_{cause}",
            "§6 stop_cause",
            (TASK,),
            stops_for(cause),
            f"A task is stopping because of a {cause}.",
        )
        for cause in (STOP, CANCEL, TIMEOUT)
    ),
    Witness(
        "lost_beside_its_carrier",
        "§6 honest ends",
        (TASK, CARRIER),
        all_of(is_status(LOST), CARRIER_LIVES),
        "A task is lost and its carrier still runs.",
    ),
    Witness(
        "two_carriers_live",
        "§6 no new attempt while an old carrier lives",
        (TASK, CARRIER, OTHER_CARRIER),
        all_of(
            OCCUPIED,
            CURRENT,
            present(FieldOf("other", "attempt")),
            Not(Equal(FieldOf("other", "attempt"), task("attempt"))),
        ),
        "A forced attempt runs beside a carrier that was given up.",
    ),
    Witness(
        "single_attempt",
        "D-11",
        (TASK,),
        all_of(is_status(RUNNING), Equal(task("max_attempts"), Const(1))),
        "A task that may be tried once only is being tried.",
    ),
    Witness(
        "last_attempt_failed",
        "D-11",
        (TASK,),
        all_of(is_status(FAILED), Equal(task("attempt"), task("max_attempts")), Less(Const(1), task("attempt"))),
        "The last of two attempts has failed.",
    ),
    Witness(
        "retry_recorded_pause",
        "§6 pause",
        (TASK,),
        all_of(is_status(RETRY_WAIT), requested(PAUSE)),
        "A retryable error has met a pause that had not taken effect.",
    ),
    Witness(
        "history_after_reset",
        "D-13",
        (TASK,),
        all_of(is_status(PENDING), Less(task("attempt"), task("starts"))),
        "A reset has left the history as it was.",
    ),
)

# --- progress ---------------------------------------------------------------------------------------------------------


def _answers(name: str, over: tuple[Variable, ...], live: TruthTerm, told: str) -> Progress:
    return Progress(
        f"answers_{name}", "§6 receptiveness", over, live, (name,), f"A task answers at once when {told}.", at_once=True
    )


HEARS: TruthTerm = all_of(OCCUPIED, CURRENT)

PROGRESS: tuple[Progress, ...] = (
    *(
        _answers(operation.name, (TASK, CARRIER), HEARS, told)
        for operation, told in (
            (RETURNED, "its carrier returns"),
            (RAISED_RETRY, "its carrier meets an error worth a retry"),
            (RAISED_FINAL, "its carrier meets a final error"),
            (DIED_RETRY, "its carrier dies"),
            (DIED_FINAL, "its carrier dies for good"),
            (VANISHED, "its carrier vanishes"),
        )
    ),
    _answers(
        "started",
        (TASK, CARRIER),
        all_of(is_status(STARTING, STOPPING), CURRENT, Not(Holds(carrier("reported")))),
        "its carrier reports its start",
    ),
    _answers(
        "quiesced", (TASK, CARRIER), all_of(is_status(RUNNING, PAUSING, STOPPING), CURRENT), "its carrier comes to rest"
    ),
    _answers("acked", (TASK, CARRIER), all_of(is_status(STOPPING), CURRENT), "its carrier has stopped"),
    _answers("window_over", (TASK, CARRIER), all_of(is_status(STOPPING), CURRENT), "its carrier has not stopped"),
    _answers("late_end", (TASK, CARRIER), all_of(CARRIER_LIVES, Not(HEARS)), "a carrier that was given up ends"),
    _answers("start_timeout", (TASK,), is_status(STARTING), "its start takes too long"),
    _answers("attempt_timeout", (TASK,), is_status(RUNNING, PAUSING), "its attempt takes too long"),
    _answers("idle_timeout", (TASK,), is_status(RUNNING, PAUSING), "nothing is heard of it"),
    _answers("pause_window_over", (TASK,), is_status(PAUSING), "it does not come to rest in time"),
    _answers("supervisor_lost", (TASK,), is_status(*LIVE), "its supervisor is dead"),
    _answers("stop", (TASK,), is_status(*LIVE), "somebody stops it"),
    _answers("cancel", (TASK,), is_status(*LIVE), "somebody cancels it"),
    _answers(
        "pause",
        (TASK,),
        is_status(*(status for status in LIVE if status != STOPPING)),
        "somebody pauses it",
    ),
    _answers("resume", (TASK,), is_status(PAUSING, PAUSED), "somebody resumes it"),
    _answers("skip", (TASK,), all_of(UNOCCUPIED, Not(is_status(RETRY_WAIT))), "somebody skips it"),
    _answers(
        "retry",
        (TASK,),
        all_of(is_status(*REVIVABLE), Less(task("attempt"), task("max_attempts")), NO_CARRIER_LIVES),
        "somebody has it retried",
    ),
    _answers("force_retry", (TASK,), is_status(*REVIVABLE), "somebody forces a retry"),
    _answers("skip_failed", (TASK,), is_status(FAILED), "somebody skips it after a failure"),
    _answers("reset", (TASK,), all_of(is_status(*ENDED), NO_CARRIER_LIVES), "somebody resets it"),
    Progress(
        "no_limbo_waiting",
        "§3 no limbo",
        (TASK,),
        is_status(*NEVER_STARTED, RETRY_WAIT),
        ("deps_missing", "deps_ready", "backoff_over"),
        "What waits for others or for a retry is released by the scheduler.",
    ),
    Progress(
        "no_limbo_at_work",
        "§3 no limbo",
        (TASK,),
        is_status(STARTING, RUNNING, PAUSING),
        ("start_timeout", "attempt_timeout"),
        "What is at work is ended by its carrier, or by a time-out. A paused task waits for somebody, by intent.",
    ),
    Progress(
        "no_limbo_stopping",
        "§3 no limbo",
        (TASK, CARRIER),
        all_of(is_status(STOPPING), CURRENT),
        ("window_over",),
        "What stops has a window that ends.",
    ),
)

TASK_CONTRACT = Contract(
    name="task",
    machines=(TASK_MACHINE, CARRIER_MACHINE),
    operations=OPERATIONS,
    invariants=(*INVARIANTS, *never_negative(ENDS, present(STATUS))),
    step_properties=(*STEP_PROPERTIES, *arrows_kept(OPERATIONS), *lowered(ENDS)),
    witnesses=WITNESSES,
    progress=PROGRESS,
    settings=SETTINGS,
)
"""The contract of task control (contract §6)."""

# --- the reading as a job ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class JobReading:
    """How a job of contract §2 shows a task: its status, and whether the pause is in place, where that matters."""

    task_status: str
    job_status: str
    in_place: bool | None = None


@dataclass(frozen=True, slots=True)
class JobException:
    """Steps of a task that are no steps of its job: the event, the statuses it leaves and enters, and why."""

    name: str
    events: tuple[str, ...]
    leaves: tuple[str, ...]
    enters: tuple[str, ...]
    why: str


TASK_AS_JOB: tuple[JobReading, ...] = (
    JobReading(PENDING, "pending"),
    JobReading(BLOCKED, "pending"),
    JobReading(QUEUED, "pending"),
    JobReading(RETRY_WAIT, "pending"),
    JobReading(PAUSED, "pending", in_place=False),
    JobReading(PAUSED, "running", in_place=True),
    JobReading(STARTING, "running"),
    JobReading(RUNNING, "running"),
    JobReading(PAUSING, "running"),
    JobReading(STOPPING, "running"),
    JobReading(SUCCEEDED, "succeeded"),
    JobReading(FAILED, "failed"),
    JobReading(STOPPED, "cancelled"),
    JobReading(CANCELLED, "cancelled"),
    JobReading(SKIPPED, "skipped"),
    JobReading(LOST, "failed"),
)
"""The mapping of contract §6, total over statuses and places."""

TASK_AS_JOB_EXCEPTIONS: tuple[JobException, ...] = (
    JobException(
        "skipped_unstarted",
        ("skip", "condition_false", "upstream_failed"),
        (PENDING, BLOCKED, QUEUED, PAUSED),
        (SKIPPED,),
        "a job is skipped by its holder only, from running",
    ),
    JobException(
        "lost",
        ("supervisor_lost", "vanished", "window_over"),
        MAY_HOLD,
        (LOST,),
        "a job fails with attempts left only for an error that is not retryable, and lost is none",
    ),
    JobException(
        "orphan_failed_unstarted",
        ("supervisor_lost",),
        (QUEUED, RETRY_WAIT, PAUSED),
        (FAILED,),
        "a pending job fails only past its deadline, or with its budget spent",
    ),
    JobException(
        "success_while_stopping",
        ("returned",),
        (STOPPING,),
        (SUCCEEDED,),
        "a job asked to stop succeeds only where cancel_wins is false",
    ),
)
"""Contract §6: the four kinds of task steps that are no job steps. A revival, besides, is a new job."""
