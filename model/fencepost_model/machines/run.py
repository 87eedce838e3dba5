"""Runs, the processes that own them, their batches of external tasks, and the requirements that a batch resolves.

Theory
======
A **run** is one conversation of a model. It lives in a process and is lost with it: that is a promise of the product
and not a gap. What is not lost is work that the run has handed to others. It collects such work in a **batch**, with
one **requirement** for each result that the model waits for; closes the batch; and lets go of its process. When the
tasks are done a coordinator *resumes* the batch: it goes on with the run, under a lease and a generation, exactly like
the holder of a job.

So a run that is worked on stands under one of two fences. An *owner* row, which a process keeps alive by its beats and
which never comes back once it is over; or the lease of a batch that is resuming. The reaper ends what the first fence
has lost, recovery what the second has. Between them nothing may fall through, and nothing may be caught twice.

Everything that a cancel or a failure ends, it ends in one commit: the run, its unfinished batches and their open
requirements (the ``also`` of a case). INV-1 and INV-2 speak of several rows at once, and hold because of that.

The root is the deployment's store, ``host``: owner rows and runs have it in common, and nothing else.

Where it is ugly. Batches of pages once resumed runs by themselves; rows of that time still stand in ``resuming``
without a lease. They are of another *kind*, written by ``find_page_batch``, and no invariant of a resuming batch speaks
of them. Likewise ``find_run`` is the hand of an older program that knew of no owners.
"""

from __future__ import annotations

from fencepost_model.arrows import arrows_kept
from fencepost_model.contract import Contract
from fencepost_model.error_codes import EXAMPLES, LEASE_TIMEOUT_MAX_ATTEMPTS, Family
from fencepost_model.measures import lowered, never_negative
from fencepost_model.shapes import (
    Actor,
    Assignment,
    Case,
    Descent,
    Field,
    ForEach,
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
    Some,
    TruthTerm,
    ValueTerm,
    all_of,
    any_of,
    implies,
    present,
)

# --- words ------------------------------------------------------------------------------------------------------------

RUNNING, WAITING, PAUSED, CANCELLING = "running", "waiting_external", "paused", "cancelling"
COMPLETED, CANCELLED, FAILED = "completed", "cancelled", "failed"

COLLECTING, WAITING_TASKS, READY, RESUMING = "collecting", "waiting_tasks", "ready", "resuming"

PENDING, RESOLVING, RESOLVED = "pending", "resolving", "resolved"

EXTERNAL, PAGE = "external", "page"

PROCESS_STOPPED = "AI_RUN_PROCESS_STOPPED"
OWN_CODES: tuple[str, ...] = (EXAMPLES[Family.INFRA], EXAMPLES[Family.CONTENT])
CODES: tuple[str, ...] = (*OWN_CODES, PROCESS_STOPPED, LEASE_TIMEOUT_MAX_ATTEMPTS)

RUN_STATUSES: tuple[Status, ...] = (
    Status(RUNNING, "worked on, by its owner or by a coordinator"),
    Status(WAITING, "waits for batches; nobody works on it"),
    Status(PAUSED, "a user has stopped it for a while; nobody works on it"),
    Status(CANCELLING, "asked to stop; whoever works on it has not answered yet"),
    Status(COMPLETED, "it ended by itself", terminal=True),
    Status(CANCELLED, "it ended because somebody asked for it", terminal=True),
    Status(FAILED, "it ended with an error, or its process did", terminal=True),
)
BATCH_STATUSES: tuple[Status, ...] = (
    Status(COLLECTING, "takes requirements"),
    Status(WAITING_TASKS, "closed; its tasks are at work"),
    Status(READY, "its tasks have ended; a coordinator may resume it"),
    Status(RESUMING, "a coordinator goes on with the run, under a lease"),
    Status(COMPLETED, "the run has taken its results", terminal=True),
    Status(FAILED, "it ended with its run, or its resume budget is spent", terminal=True),
    Status(CANCELLED, "it ended with its run, which was cancelled, or was never closed", terminal=True),
)
REQUIREMENT_STATUSES: tuple[Status, ...] = (
    Status(PENDING, "its result is not taken yet"),
    Status(RESOLVING, "a coordinator is taking its result"),
    Status(RESOLVED, "the run has its result", terminal=True),
    Status(FAILED, "its batch failed", terminal=True),
    Status(CANCELLED, "its task or its batch was cancelled", terminal=True),
)

LIVE_RUN: tuple[str, ...] = tuple(status.name for status in RUN_STATUSES if not status.terminal)
LIVE_BATCH: tuple[str, ...] = tuple(status.name for status in BATCH_STATUSES if not status.terminal)
WORKED_ON: tuple[str, ...] = (RUNNING, CANCELLING)
CLOSED: tuple[str, ...] = (WAITING_TASKS, READY)
OPEN_REQUIREMENT: tuple[str, ...] = (PENDING, RESOLVING)

# What may act on a run, by its status, operations on its batches included where they move it. An empty row is written.
RUN_TABLE: dict[str, tuple[str, ...]] = {
    RUNNING: (
        "pause",
        "wait_externally",
        "request_cancel",
        "complete_run",
        "fail_run",
        "reap",
        "fail_resuming",
        "recover_resuming",
    ),
    WAITING: ("pause", "request_cancel", "claim_resuming"),
    PAUSED: ("continue_run", "request_cancel"),
    CANCELLING: (
        "request_cancel",
        "acknowledge_cancel",
        "force_cancel",
        "reap",
        "stop_resuming",
        "recover_resuming",
    ),
    COMPLETED: (),
    CANCELLED: (),
    FAILED: (),
}

# What may act on a batch, by its status, operations on its run included where they end it.
_WITH_ITS_RUN = (
    "request_cancel",
    "acknowledge_cancel",
    "force_cancel",
    "fail_run",
    "reap",
    "fail_resuming",
    "stop_resuming",
    "recover_resuming",
)
BATCH_TABLE: dict[str, tuple[str, ...]] = {
    COLLECTING: ("close_batch", *_WITH_ITS_RUN),
    WAITING_TASKS: ("tasks_done", *_WITH_ITS_RUN),
    READY: ("claim_resuming", *_WITH_ITS_RUN),
    RESUMING: ("renew_resuming", "complete_resuming", "converge_page_batch", *_WITH_ITS_RUN),
    COMPLETED: (),
    FAILED: (),
    CANCELLED: (),
}

# What may act on a requirement, by its status, operations on its batch and run included.
REQUIREMENT_TABLE: dict[str, tuple[str, ...]] = {
    PENDING: ("cancel_requirement", "claim_resuming", *_WITH_ITS_RUN),
    RESOLVING: ("complete_resuming", *_WITH_ITS_RUN),
    RESOLVED: (),
    FAILED: (),
    CANCELLED: (),
}

# --- variables and fields ---------------------------------------------------------------------------------------------

HOST = Variable("host", "host")
OWNER = Variable("owner", "owner", of="host")
HOSTED_RUN = Variable("run", "run", of="host")
RUN = Variable("run", "run")
BATCH_OF_RUN = Variable("batch", "batch", of="run")
OTHER_BATCH = Variable("other", "batch", of="run")
BATCH = Variable("batch", "batch")
REQUIREMENT = Variable("requirement", "requirement", of="batch")
TOKEN = Variable("token", "batch_token", of="batch")
OTHER_TOKEN = Variable("other", "batch_token", of="batch")
OTHER_REQUIREMENT = Variable("other", "requirement", of="batch")

NOW = Now()


def owner(name: str) -> FieldOf:
    """A field of the owner row, as the step finds it."""
    return FieldOf("owner", name)


def run(name: str, *, after: bool = False) -> FieldOf:
    """A field of the run."""
    return FieldOf("run", name, after)


def batch(name: str, *, after: bool = False) -> FieldOf:
    """A field of the batch."""
    return FieldOf("batch", name, after)


def requirement(name: str, *, after: bool = False) -> FieldOf:
    """A field of the requirement."""
    return FieldOf("requirement", name, after)


def token(name: str) -> FieldOf:
    """A field of the coordinator's token."""
    return FieldOf("token", name)


def is_one_of(value: ValueTerm, *words: str) -> TruthTerm:
    """The value is one of the words."""
    return Equal(value, Const(words[0])) if len(words) == 1 else OneOf(value, words)


def external(variable: str, *words: str) -> TruthTerm:
    """The batch that the variable stands for is an external one in one of these statuses."""
    return all_of(Equal(FieldOf(variable, "kind"), Const(EXTERNAL)), is_one_of(FieldOf(variable, "status"), *words))


def no_batch(*words: str) -> TruthTerm:
    """No external batch of the run is in one of these statuses."""
    return Every("sibling", "batch", "run", Not(external("sibling", *words)))


def some_batch(*words: str) -> TruthTerm:
    """Some external batch of the run is in one of these statuses."""
    return Some("sibling", "batch", "run", external("sibling", *words))


def some_requirement(*words: str) -> TruthTerm:
    """Some requirement of the batch is in one of these statuses."""
    return Some("slot", "requirement", "batch", is_one_of(FieldOf("slot", "status"), *words))


RUN_STATUS, BATCH_STATUS, REQUIREMENT_STATUS = run("status"), batch("status"), requirement("status")

# --- settings ---------------------------------------------------------------------------------------------------------

SETTINGS: tuple[SettingShape, ...] = (
    SettingShape("owner_ttl", Sort.DURATION, "how long an owner row lives after a beat", 90),
    SettingShape("lease_seconds", Sort.DURATION, "the length of a coordinator's lease", 300),
    SettingShape("max_resumes", Sort.COUNT, "how often resuming one batch may be started", 3),
)
SETTINGS_ASSUMED: TruthTerm = all_of(
    Less(Const(0), Setting("owner_ttl")),
    Less(Const(0), Setting("lease_seconds")),
    AtMost(Const(1), Setting("max_resumes")),
)

# --- guards that several operations share -----------------------------------------------------------------------------

ALIVE: TruthTerm = Less(NOW, owner("expires_at"))
OWNER_ALIVE = Guard("owner_alive", ALIVE, "§4 ProcessOwner", "an owner row that is over never counts again")
IS_THE_OWNER = Guard(
    "owner", Equal(run("owner"), owner("process")), "§4 Run", "a run is its owner's; a former owner writes nothing"
)
RUN_RUNNING = Guard("running", is_one_of(RUN_STATUS, RUNNING), "§4 Run", "nobody works on another run")
OWNS_RUN: tuple[Guard, ...] = (RUN_RUNNING, IS_THE_OWNER, OWNER_ALIVE)
RUN_CANCELLING = Guard("cancelling", is_one_of(RUN_STATUS, CANCELLING), "§4 Run", "somebody asked the run to stop")
NOT_RESUMING = Guard(
    "not_resuming",
    no_batch(RESUMING),
    "§4 Batch",
    "while a batch resumes, its lease and generation are the fence and not the owner row",
)
NONE_COLLECTING = Guard("none_collecting", no_batch(COLLECTING), "INV-2", "a run collects one batch at a time")
OWNER_DEAD_TERM: TruthTerm = Every(
    "process",
    "owner",
    "host",
    Not(all_of(Equal(FieldOf("process", "process"), run("owner")), Less(NOW, FieldOf("process", "expires_at")))),
)
OWNER_DEAD = Guard("owner_dead", OWNER_DEAD_TERM, "§4 Run", "a live owner is left to work; a missing one is dead")

BATCH_COLLECTING = Guard("collecting", is_one_of(BATCH_STATUS, COLLECTING), "§4 Batch", "a closed batch stays as it is")
IS_RESUMING = Guard("resuming", is_one_of(BATCH_STATUS, RESUMING), "§4 Batch", "only a resuming batch has a holder")
IS_EXTERNAL = Guard("external", Equal(batch("kind"), Const(EXTERNAL)), "§4 Batch", "page batches resume nothing")
COORDINATOR = Guard(
    "coordinator", Equal(batch("worker_id"), token("worker_id")), "§4 Batch", "the lease belongs to one worker"
)
CURRENT = Guard(
    "generation",
    Equal(batch("lease_generation"), token("lease_generation")),
    "§4 Batch, D-18",
    "an earlier claim of the same worker is no longer a claim",
)
LEASE_ALIVE = Guard(
    "lease_alive", Less(NOW, batch("lease_expires_at")), "§4 Batch, D-1", "a late coordinator's write is refused"
)
HELD: tuple[Guard, ...] = (IS_RESUMING, COORDINATOR, CURRENT, LEASE_ALIVE)
LEASE_OVER = Guard(
    "lease_over",
    any_of(Missing(batch("lease_expires_at")), AtMost(batch("lease_expires_at"), NOW)),
    "§4 Batch, D-1",
    "a live lease is nobody else's business",
)
CODE = Parameter("code", Sort.TEXT, "the error code, registered in one family", words=OWN_CODES)

# --- effects that several operations share ----------------------------------------------------------------------------


def run_to(status: str, *more: Assignment) -> tuple[Assignment, ...]:
    """The run leaves its owner, for a status in which nobody works on it."""
    return (Assignment(RUN_STATUS, Const(status)), Assignment(run("owner"), NULL), *more)


def batch_to(status: str) -> tuple[Assignment, ...]:
    """The batch leaves ``resuming``, and its lease with it."""
    return (
        Assignment(BATCH_STATUS, Const(status)),
        Assignment(batch("worker_id"), NULL),
        Assignment(batch("lease_expires_at"), NULL),
        Assignment(batch("lease_generation"), Plus(batch("lease_generation"), Const(1))),
    )


def requirements_to(status: str, *found: str) -> ForEach:
    """Each requirement of the batch that is in one of the statuses found goes to another."""
    slot = FieldOf("slot", "status")
    return ForEach(
        (Variable("slot", "requirement", of="batch"),),
        is_one_of(slot, *found),
        (Assignment(slot, Const(status)),),
        f"its requirements are {status}",
    )


def batches_to(status: str, *found: str) -> tuple[ForEach, ...]:
    """Each external batch of the run in one of the statuses found ends, its open requirements with it."""
    each = Variable("each", "batch", of="run")
    status_of, generation = FieldOf("each", "status"), FieldOf("each", "lease_generation")
    slot = FieldOf("slot", "status")
    return (
        ForEach(
            (each,),
            external("each", *found),
            (
                Assignment(status_of, Const(status)),
                Assignment(FieldOf("each", "worker_id"), NULL),
                Assignment(FieldOf("each", "lease_expires_at"), NULL),
                Assignment(
                    generation,
                    Choose(is_one_of(status_of, RESUMING), Plus(generation, Const(1)), generation),
                ),
            ),
            f"its unfinished batches are {status}",
        ),
        ForEach(
            (each, Variable("slot", "requirement", of="each")),
            all_of(external("each", *found), is_one_of(slot, *OPEN_REQUIREMENT)),
            (Assignment(slot, Const(status)),),
            f"their open requirements are {status}",
        ),
    )


NEW_LEASE: ValueTerm = Plus(NOW, Setting("lease_seconds"))
NEW_TTL = Assignment(owner("expires_at"), Plus(NOW, Setting("owner_ttl")))


def error(code: ValueTerm) -> Assignment:
    """Note the code with which the run ends."""
    return Assignment(run("error_code"), code)


# --- operations of owners ---------------------------------------------------------------------------------------------

REGISTER = Operation(
    name="register",
    actor=Actor.HOLDER,
    selection=Selection.NAMED,
    over=(Variable("owner", "owner"),),
    guards=(
        Guard(
            "unregistered",
            Missing(owner("expires_at")),
            "§4 ProcessOwner",
            "an expired owner never revives, not by registering again either",
        ),
    ),
    cases=(Case("registered", (), (NEW_TTL,), "the process may own runs"),),
    clause="§4 ProcessOwner",
    meaning="A process makes itself known, under a name of its own that is never used again: the key of its row.",
)

BEAT = Operation(
    name="beat",
    actor=Actor.HOLDER,
    selection=Selection.NAMED,
    over=(HOST, OWNER),
    acts_on="owner",
    guards=(
        OWNER_ALIVE,
        Guard(
            "owns_live_runs",
            Some(
                "own",
                "run",
                "host",
                all_of(
                    is_one_of(FieldOf("own", "status"), *WORKED_ON), Equal(FieldOf("own", "owner"), owner("process"))
                ),
            ),
            "§4 ProcessOwner, §8",
            "an idle process writes nothing",
        ),
    ),
    cases=(Case("beaten", (), (NEW_TTL,), "the owner row lives on"),),
    clause="§4 ProcessOwner, §7",
    meaning="A process says that it is alive.",
)

# --- operations of runs -----------------------------------------------------------------------------------------------

START_RUN = Operation(
    name="start_run",
    actor=Actor.HOLDER,
    selection=Selection.NAMED,
    over=(HOST, OWNER, HOSTED_RUN),
    acts_on="run",
    guards=(
        Guard("new", Missing(RUN_STATUS), "§4 Run", "a run is started once"),
        OWNER_ALIVE,
    ),
    cases=(
        Case(
            "started",
            (),
            (Assignment(RUN_STATUS, Const(RUNNING)), Assignment(run("owner"), owner("process"))),
            "its process works on it",
        ),
    ),
    clause="§4 Run",
    meaning="A process starts a run.",
)

FIND_RUN = Operation(
    name="find_run",
    actor=Actor.CLIENT,
    selection=Selection.NAMED,
    over=(RUN,),
    guards=(Guard("new", Missing(RUN_STATUS), "§4 Run", "a run is started once"),),
    cases=(Case("found", (), (Assignment(RUN_STATUS, Const(RUNNING)),), "it runs without an owner"),),
    clause="§4 Run",
    meaning="An older program, which knows of no owners, leaves a run that runs.",
)

PAUSE = Operation(
    name="pause",
    actor=Actor.CLIENT,
    selection=Selection.NAMED,
    over=(RUN,),
    guards=(
        Guard(
            "pausable", is_one_of(RUN_STATUS, RUNNING, WAITING), "§4 Run", "what has ended or shall end is not paused"
        ),
        NOT_RESUMING,
    ),
    cases=(Case("paused", (), run_to(PAUSED), "it waits for the user; its batches stay"),),
    clause="§4 Run",
    meaning="A user pauses a run.",
)

WAIT_EXTERNALLY = Operation(
    name="wait_externally",
    actor=Actor.HOLDER,
    selection=Selection.NAMED,
    over=(HOST, OWNER, HOSTED_RUN),
    acts_on="run",
    guards=(
        *OWNS_RUN,
        NOT_RESUMING,
        NONE_COLLECTING,
        Guard("something_awaited", some_batch(*CLOSED), "§4 Run", "else nothing would ever wake the run"),
    ),
    cases=(Case("waiting", (), run_to(WAITING), "nobody works on it until a batch is ready"),),
    clause="§4 Run, Batch",
    meaning="An owner hands the run over to its batches.",
)

CONTINUE_RUN = Operation(
    name="continue_run",
    actor=Actor.HOLDER,
    selection=Selection.NAMED,
    over=(HOST, OWNER, HOSTED_RUN),
    acts_on="run",
    guards=(
        Guard("paused", is_one_of(RUN_STATUS, PAUSED), "§4 Run", "only a paused run is continued by hand"),
        OWNER_ALIVE,
    ),
    cases=(
        Case(
            "continued",
            (),
            (Assignment(RUN_STATUS, Const(RUNNING)), Assignment(run("owner"), owner("process"))),
            "a live process works on it",
        ),
    ),
    clause="§4 Run",
    meaning="A user continues a run; the process that takes it becomes its owner in the same commit.",
)

REQUEST_CANCEL = Operation(
    name="request_cancel",
    actor=Actor.CLIENT,
    selection=Selection.NAMED,
    over=(RUN,),
    guards=(Guard("not_ended", is_one_of(RUN_STATUS, *LIVE_RUN), "§4 Run", "what has ended stays as it ended"),),
    cases=in_order(
        Case("noted_before", (RUN_CANCELLING,), (), "asked again"),
        Case(
            "noted",
            (RUN_RUNNING,),
            (Assignment(RUN_STATUS, Const(CANCELLING)),),
            "whoever works on it is asked to stop",
        ),
        Case(
            "immediate",
            (),
            run_to(CANCELLED),
            "nobody works on it: it ends at once",
            batches_to(CANCELLED, *LIVE_BATCH),
        ),
    ),
    clause="§4 Run",
    meaning="A user asks for a run to stop.",
)

ACKNOWLEDGE_CANCEL = Operation(
    name="acknowledge_cancel",
    actor=Actor.HOLDER,
    selection=Selection.NAMED,
    over=(HOST, OWNER, HOSTED_RUN),
    acts_on="run",
    guards=(RUN_CANCELLING, IS_THE_OWNER, OWNER_ALIVE, NOT_RESUMING),
    cases=(
        Case(
            "acknowledged",
            (),
            run_to(CANCELLED),
            "it ends, its unfinished batches with it",
            batches_to(CANCELLED, *LIVE_BATCH),
        ),
    ),
    clause="§4 Run",
    meaning="An owner that was asked to stop has stopped.",
)

FORCE_CANCEL = Operation(
    name="force_cancel",
    actor=Actor.CLIENT,
    selection=Selection.NAMED,
    over=(RUN,),
    guards=(RUN_CANCELLING,),
    cases=(
        Case(
            "forced",
            (),
            run_to(CANCELLED),
            "it ends, its unfinished batches with it, whoever still works on it",
            batches_to(CANCELLED, *LIVE_BATCH),
        ),
    ),
    clause="§4 Run",
    meaning="A user no longer waits for an answer: nothing bounds the time that a live process takes to stop.",
)

COMPLETE_RUN = Operation(
    name="complete_run",
    actor=Actor.HOLDER,
    selection=Selection.NAMED,
    over=(HOST, OWNER, HOSTED_RUN),
    acts_on="run",
    guards=(
        *OWNS_RUN,
        Guard("nothing_unfinished", no_batch(*LIVE_BATCH), "§4 Batch", "a batch would outlive its run"),
    ),
    cases=(Case("completed", (), run_to(COMPLETED), "it has ended"),),
    clause="§4 Run",
    meaning="An owner reports that the run has come to its end.",
)

FAIL_RUN = Operation(
    name="fail_run",
    actor=Actor.HOLDER,
    selection=Selection.NAMED,
    over=(HOST, OWNER, HOSTED_RUN),
    acts_on="run",
    parameters=(CODE,),
    guards=(*OWNS_RUN, NOT_RESUMING),
    cases=(
        Case(
            "failed",
            (),
            run_to(FAILED, error(Param("code"))),
            "it has ended, its unfinished batches with it",
            batches_to(FAILED, *LIVE_BATCH),
        ),
    ),
    clause="§4 Run",
    meaning="An owner reports an error.",
)

REAP = Operation(
    name="reap",
    actor=Actor.SYSTEM,
    selection=Selection.SWEEP,
    over=(HOST, HOSTED_RUN),
    acts_on="run",
    guards=(
        Guard("worked_on", is_one_of(RUN_STATUS, *WORKED_ON), "§4 Run", "a paused or waiting run needs no owner"),
        OWNER_DEAD,
        NOT_RESUMING,
    ),
    cases=in_order(
        Case(
            "cancelled",
            (RUN_CANCELLING,),
            run_to(CANCELLED),
            "it had been asked to stop",
            batches_to(CANCELLED, *LIVE_BATCH),
        ),
        Case(
            "handed_over",
            (
                Guard(
                    "hand_over_unfinished",
                    some_batch(*CLOSED),
                    "§4 Run",
                    "the owner closed a batch and died before it let go of the run: the batch goes on without it",
                ),
            ),
            run_to(WAITING),
            "it waits for its batches; what was still being collected is dropped",
            batches_to(CANCELLED, COLLECTING),
        ),
        Case(
            "stopped",
            (),
            run_to(FAILED, error(Const(PROCESS_STOPPED))),
            "its process has stopped",
            batches_to(FAILED, *LIVE_BATCH),
        ),
    ),
    clause="§4 Run",
    meaning="Any live component ends the runs of owners that are dead.",
)

# --- operations of batches and requirements ---------------------------------------------------------------------------

NEW_BATCH: tuple[Assignment, ...] = (
    Assignment(batch("lease_generation"), Const(0)),
    Assignment(batch("resumes"), Const(0)),
)

OPEN_BATCH = Operation(
    name="open_batch",
    actor=Actor.HOLDER,
    selection=Selection.NAMED,
    over=(HOST, OWNER, HOSTED_RUN, BATCH_OF_RUN),
    acts_on="batch",
    guards=(
        Guard("new", Missing(BATCH_STATUS), "§4 Batch", "a batch is opened once"),
        *OWNS_RUN,
        NOT_RESUMING,
        NONE_COLLECTING,
    ),
    cases=(
        Case(
            "opened",
            (),
            (Assignment(BATCH_STATUS, Const(COLLECTING)), Assignment(batch("kind"), Const(EXTERNAL)), *NEW_BATCH),
            "it takes requirements",
        ),
    ),
    clause="§4 Batch, INV-2",
    meaning="An owner begins to collect external tasks.",
)

FIND_PAGE_BATCH = Operation(
    name="find_page_batch",
    actor=Actor.CLIENT,
    selection=Selection.NAMED,
    over=(BATCH,),
    guards=(Guard("new", Missing(BATCH_STATUS), "§4 Batch", "a batch is opened once"),),
    cases=(
        Case(
            "found",
            (),
            (Assignment(BATCH_STATUS, Const(RESUMING)), Assignment(batch("kind"), Const(PAGE)), *NEW_BATCH),
            "it is resuming, without a lease",
        ),
    ),
    clause="§4 Batch",
    meaning="An older program leaves a page batch that resumes.",
)

ADD_REQUIREMENT = Operation(
    name="add_requirement",
    actor=Actor.HOLDER,
    selection=Selection.NAMED,
    over=(HOST, OWNER, HOSTED_RUN, BATCH_OF_RUN, REQUIREMENT),
    acts_on="requirement",
    guards=(
        Guard("new", Missing(REQUIREMENT_STATUS), "§4 Requirement", "a requirement is added once"),
        *OWNS_RUN,
        BATCH_COLLECTING,
    ),
    cases=(Case("added", (), (Assignment(REQUIREMENT_STATUS, Const(PENDING)),), "its result is waited for"),),
    clause="§4 Requirement",
    meaning="An owner adds a result that the model waits for.",
)

CLOSE_BATCH = Operation(
    name="close_batch",
    actor=Actor.HOLDER,
    selection=Selection.NAMED,
    over=(HOST, OWNER, HOSTED_RUN, BATCH_OF_RUN),
    acts_on="batch",
    guards=(
        *OWNS_RUN,
        BATCH_COLLECTING,
        Guard("not_empty", some_requirement(PENDING), "INV-1", "a batch without requirements has nothing to resolve"),
    ),
    cases=(Case("closed", (), (Assignment(BATCH_STATUS, Const(WAITING_TASKS)),), "it waits for its tasks"),),
    clause="§4 Batch",
    meaning="An owner has collected all tasks of a step.",
)

CANCEL_REQUIREMENT = Operation(
    name="cancel_requirement",
    actor=Actor.CLIENT,
    selection=Selection.NAMED,
    over=(BATCH, REQUIREMENT),
    acts_on="requirement",
    guards=(
        Guard(
            "pending", is_one_of(REQUIREMENT_STATUS, PENDING), "§4 Requirement", "what is being taken is not taken back"
        ),
        Guard(
            "not_the_last",
            any_of(
                is_one_of(BATCH_STATUS, COLLECTING),
                Some(
                    "slot",
                    "requirement",
                    "batch",
                    all_of(
                        is_one_of(FieldOf("slot", "status"), PENDING),
                        Not(Equal(FieldOf("slot", "number"), requirement("number"))),
                    ),
                ),
            ),
            "INV-1",
            "a closed batch with nothing left to resolve could never resume",
        ),
    ),
    cases=(Case("cancelled", (), (Assignment(REQUIREMENT_STATUS, Const(CANCELLED)),), "its result is not waited for"),),
    clause="§4 Requirement, INV-1",
    meaning="One task is cancelled; the others of its batch go on.",
)

TASKS_DONE = Operation(
    name="tasks_done",
    actor=Actor.SYSTEM,
    selection=Selection.SWEEP,
    over=(RUN, BATCH_OF_RUN),
    acts_on="batch",
    guards=(
        Guard("waiting_tasks", is_one_of(BATCH_STATUS, WAITING_TASKS), "§4 Batch", "only a closed batch becomes ready"),
    ),
    cases=(Case("ready", (), (Assignment(BATCH_STATUS, Const(READY)),), "a coordinator may resume it"),),
    clause="§4 Batch",
    meaning="The last task of a batch has ended, whatever its result.",
)

CLAIM_RESUMING = Operation(
    name="claim_resuming",
    actor=Actor.CLAIMER,
    selection=Selection.SWEEP,
    over=(RUN, BATCH_OF_RUN, TOKEN),
    acts_on="batch",
    guards=(
        Guard("ready", is_one_of(BATCH_STATUS, READY), "§4 Batch", "its tasks have ended, and nobody resumes it"),
        Guard("run_waits", is_one_of(RUN_STATUS, WAITING), "§4 Run", "nobody else works on the run"),
        Guard("none_resuming", no_batch(RESUMING), "INV-2", "of two ready batches of a run one is resumed at a time"),
    ),
    cases=(
        Case(
            "claimed",
            (),
            (
                Assignment(BATCH_STATUS, Const(RESUMING)),
                Assignment(batch("worker_id"), token("worker_id")),
                Assignment(batch("lease_expires_at"), NEW_LEASE),
                Assignment(batch("lease_generation"), Plus(batch("lease_generation"), Const(1))),
                Assignment(batch("resumes"), Plus(batch("resumes"), Const(1))),
                Assignment(token("lease_generation"), Plus(batch("lease_generation"), Const(1))),
                Assignment(RUN_STATUS, Const(RUNNING)),
                Assignment(run("owner"), token("worker_id")),
            ),
            "the coordinator goes on with the run, under a fresh lease and a new generation",
            (requirements_to(RESOLVING, PENDING),),
        ),
    ),
    clause="§4 Batch, INV-1, INV-2",
    meaning="A coordinator takes a ready batch; batch, requirements and run change in one commit.",
)

RENEW_RESUMING = Operation(
    name="renew_resuming",
    actor=Actor.HOLDER,
    selection=Selection.NAMED,
    over=(BATCH, TOKEN),
    guards=HELD,
    cases=(
        Case(
            "renewed",
            (),
            (Assignment(batch("lease_expires_at"), Larger(batch("lease_expires_at"), NEW_LEASE)),),
            "the lease reaches further, never less far",
        ),
    ),
    clause="§4 Batch",
    meaning="A coordinator says that it is alive.",
)

COMPLETE_RESUMING = Operation(
    name="complete_resuming",
    actor=Actor.HOLDER,
    selection=Selection.NAMED,
    over=(RUN, BATCH_OF_RUN, TOKEN),
    acts_on="batch",
    guards=(*HELD, RUN_RUNNING),
    cases=(
        Case(
            "completed",
            (),
            batch_to(COMPLETED),
            "the run has the results; its process is now its owner and works on",
            (requirements_to(RESOLVED, RESOLVING),),
        ),
    ),
    clause="§4 Batch",
    meaning="A coordinator has handed the results to the run.",
)

FAIL_RESUMING = Operation(
    name="fail_resuming",
    actor=Actor.HOLDER,
    selection=Selection.NAMED,
    over=(RUN, BATCH_OF_RUN, TOKEN),
    acts_on="batch",
    parameters=(CODE,),
    guards=(*HELD, RUN_RUNNING),
    cases=(
        Case(
            "failed",
            (),
            run_to(FAILED, error(Param("code"))),
            "the run ends, its unfinished batches with it",
            batches_to(FAILED, *LIVE_BATCH),
        ),
    ),
    clause="§4 Batch",
    meaning="A coordinator cannot go on with the run.",
)

STOP_RESUMING = Operation(
    name="stop_resuming",
    actor=Actor.HOLDER,
    selection=Selection.NAMED,
    over=(RUN, BATCH_OF_RUN, TOKEN),
    acts_on="batch",
    guards=(*HELD, RUN_CANCELLING),
    cases=(
        Case(
            "stopped",
            (),
            run_to(CANCELLED),
            "the run ends, its unfinished batches with it",
            batches_to(CANCELLED, *LIVE_BATCH),
        ),
    ),
    clause="§4 Batch, INV-1",
    meaning="A coordinator that was asked to stop has stopped.",
)

RECOVER_RESUMING = Operation(
    name="recover_resuming",
    actor=Actor.SYSTEM,
    selection=Selection.SWEEP,
    over=(RUN, BATCH_OF_RUN),
    acts_on="batch",
    guards=(
        IS_RESUMING,
        IS_EXTERNAL,
        LEASE_OVER,
        Guard("run_worked_on", is_one_of(RUN_STATUS, *WORKED_ON), "§4 Batch", "what has ended stays as it ended"),
    ),
    cases=in_order(
        Case(
            "cancelled",
            (RUN_CANCELLING,),
            run_to(CANCELLED),
            "its run had been asked to stop",
            batches_to(CANCELLED, *LIVE_BATCH),
        ),
        Case(
            "exhausted",
            (
                Guard(
                    "resumes_spent",
                    AtMost(Setting("max_resumes"), batch("resumes")),
                    "§4 Batch, D-25",
                    "else a batch that kills its coordinator would be resumed for ever",
                ),
            ),
            run_to(FAILED, error(Const(LEASE_TIMEOUT_MAX_ATTEMPTS))),
            "its resume budget is spent: the run fails, its unfinished batches with it",
            batches_to(FAILED, *LIVE_BATCH),
        ),
        Case(
            "ready_again",
            (),
            (*batch_to(READY), *run_to(WAITING)),
            "another coordinator may resume it",
            (requirements_to(PENDING, RESOLVING),),
        ),
    ),
    clause="§4 Batch, D-25",
    meaning="Any live component takes a batch away from a coordinator whose lease is over.",
)

CONVERGE_PAGE_BATCH = Operation(
    name="converge_page_batch",
    actor=Actor.SYSTEM,
    selection=Selection.SWEEP,
    over=(BATCH,),
    guards=(
        IS_RESUMING,
        Guard("page", Equal(batch("kind"), Const(PAGE)), "§4 Batch", "an external batch is its coordinator's"),
    ),
    cases=(Case("converged", (), (Assignment(BATCH_STATUS, Const(COMPLETED)),), "nothing waits for it"),),
    clause="§4 Batch",
    meaning="A page batch of an older program comes to its end.",
)

OPERATIONS: tuple[Operation, ...] = (
    REGISTER,
    BEAT,
    START_RUN,
    FIND_RUN,
    PAUSE,
    WAIT_EXTERNALLY,
    CONTINUE_RUN,
    REQUEST_CANCEL,
    ACKNOWLEDGE_CANCEL,
    FORCE_CANCEL,
    COMPLETE_RUN,
    FAIL_RUN,
    REAP,
    OPEN_BATCH,
    FIND_PAGE_BATCH,
    ADD_REQUIREMENT,
    CLOSE_BATCH,
    CANCEL_REQUIREMENT,
    TASKS_DONE,
    CLAIM_RESUMING,
    RENEW_RESUMING,
    COMPLETE_RESUMING,
    FAIL_RESUMING,
    STOP_RESUMING,
    RECOVER_RESUMING,
    CONVERGE_PAGE_BATCH,
)

# --- machines ---------------------------------------------------------------------------------------------------------


def _words(statuses: tuple[Status, ...]) -> tuple[str, ...]:
    return tuple(status.name for status in statuses)


HOST_MACHINE = Machine(
    name="host",
    meaning="The store of one deployment: what owner rows and runs have in common.",
    fields=(Field("name", Sort.IDENTITY, "which deployment", nullable=False, fixed=True),),
)

OWNER_MACHINE = Machine(
    name="owner",
    meaning="A process that may own runs, as long as it beats.",
    fields=(
        Field("process", Sort.IDENTITY, "hostname:pid:uuid, made once per process", nullable=False, fixed=True),
        Field("expires_at", Sort.INSTANT, "until when the process counts as alive; null before it registers"),
    ),
    belongs_to="host",
)

RUN_MACHINE = Machine(
    name="run",
    meaning="One conversation of a model. It is lost with its process; what it handed to batches is not.",
    fields=(
        Field("status", Sort.WORD, "where the run stands", nullable=False, words=_words(RUN_STATUSES)),
        Field("owner", Sort.IDENTITY, "the process that works on it"),
        Field("error_code", Sort.TEXT, "the code with which it failed", words=CODES),
    ),
    statuses=RUN_STATUSES,
    table=RUN_TABLE,
    created_by="start_run",
    belongs_to="host",
)

BATCH_MACHINE = Machine(
    name="batch",
    meaning="The external tasks of one step of a run, and the one continuation that takes their results.",
    fields=(
        Field("status", Sort.WORD, "where the batch stands", nullable=False, words=_words(BATCH_STATUSES)),
        Field("kind", Sort.WORD, "whether it resumes its run", nullable=False, words=(EXTERNAL, PAGE), extension=True),
        Field("worker_id", Sort.IDENTITY, "the coordinator that holds the lease"),
        Field("lease_expires_at", Sort.INSTANT, "until when the lease is valid; at this very instant it is over"),
        Field("lease_generation", Sort.COUNT, "the fencing token: goes up at every claim and exit", nullable=False),
        Field("resumes", Sort.COUNT, "how often resuming has been started", nullable=False, extension=True),
    ),
    statuses=BATCH_STATUSES,
    table=BATCH_TABLE,
    created_by="open_batch",
    belongs_to="run",
)

REQUIREMENT_MACHINE = Machine(
    name="requirement",
    meaning="The place of one result that the model waits for.",
    fields=(
        Field("status", Sort.WORD, "where the requirement stands", nullable=False, words=_words(REQUIREMENT_STATUSES)),
        Field("number", Sort.IDENTITY, "which of its batch", nullable=False, fixed=True, extension=True),
    ),
    statuses=REQUIREMENT_STATUSES,
    table=REQUIREMENT_TABLE,
    created_by="add_requirement",
    belongs_to="batch",
)

TOKEN_MACHINE = Machine(
    name="batch_token",
    meaning="What one coordinator remembers of its last claim of a batch.",
    fields=(
        Field("worker_id", Sort.IDENTITY, "the process in which the coordinator works", nullable=False, fixed=True),
        Field("lease_generation", Sort.COUNT, "the generation of its last claim; null before the first"),
    ),
    belongs_to="batch",
)

# --- what must hold in every state ------------------------------------------------------------------------------------

TOKEN_CURRENT: TruthTerm = Equal(token("lease_generation"), batch("lease_generation"))
LIVE_TOKEN: TruthTerm = all_of(*(guard.term for guard in HELD))

RESUME_MEASURE = Measure(
    name="resume_budget",
    clause="D-25, §3",
    over=(BATCH,),
    parts=(
        Descent(falling=Const(0), rising=batch("resumes"), limit=Setting("max_resumes")),
        Descent(falling=Choose(is_one_of(BATCH_STATUS, RESUMING), Const(1), Const(0)), rising=Const(0), limit=Const(0)),
    ),
    by=("claim_resuming", "complete_resuming", "fail_resuming", "stop_resuming", "recover_resuming"),
    meaning=(
        "Resumes that are left, then whether one is under way. A renewal is left out: a live coordinator may work as "
        "long as it likes."
    ),
)

INVARIANTS: tuple[Invariant, ...] = (
    Invariant(
        "INV-1",
        "INV-1",
        (BATCH, REQUIREMENT),
        all_of(
            implies(is_one_of(REQUIREMENT_STATUS, RESOLVING), external("batch", RESUMING)),
            implies(is_one_of(REQUIREMENT_STATUS, PENDING), external("batch", COLLECTING, *CLOSED)),
        ),
        "A requirement is resolving only while its batch is resuming, and pending only before that.",
    ),
    Invariant(
        "INV-1_something_resolves",
        "INV-1",
        (BATCH,),
        implies(external("batch", RESUMING), some_requirement(RESOLVING)),
        "A batch that resumes resolves at least one of its requirements.",
    ),
    Invariant(
        "closed_batch_awaits_something",
        "INV-1",
        (BATCH,),
        implies(external("batch", *CLOSED), some_requirement(PENDING)),
        "A closed batch waits for at least one result.",
    ),
    Invariant(
        "INV-2",
        "INV-2",
        (RUN, BATCH_OF_RUN, OTHER_BATCH),
        Not(
            any_of(
                all_of(external("batch", RESUMING), external("other", RESUMING)),
                all_of(external("batch", COLLECTING), external("other", COLLECTING)),
            )
        ),
        "Of the batches of a run at most one is resuming, and at most one is collecting.",
    ),
    Invariant(
        "none_collecting_while_resuming",
        "INV-2",
        (RUN, BATCH_OF_RUN, OTHER_BATCH),
        Not(all_of(external("batch", RESUMING), external("other", COLLECTING))),
        "A continuation takes its results before the run collects anew.",
    ),
    Invariant(
        "resuming_is_worked_on",
        "§4 Batch",
        (RUN, BATCH_OF_RUN),
        implies(
            external("batch", RESUMING),
            all_of(is_one_of(RUN_STATUS, *WORKED_ON), Equal(run("owner"), batch("worker_id"))),
        ),
        "While a batch resumes, its coordinator's process is the owner of the run.",
    ),
    Invariant(
        "batches_end_with_their_run",
        "§4 Batch",
        (RUN, BATCH_OF_RUN),
        implies(external("batch", *LIVE_BATCH), is_one_of(RUN_STATUS, *LIVE_RUN)),
        "No batch outlives its run.",
    ),
    Invariant(
        "waiting_run_collects_nothing",
        "§4 Run",
        (RUN, BATCH_OF_RUN),
        implies(is_one_of(RUN_STATUS, WAITING), Not(external("batch", COLLECTING))),
        "A run that waits has closed its batches.",
    ),
    Invariant(
        "waiting_run_awaits_something",
        "§3 no limbo",
        (RUN,),
        implies(is_one_of(RUN_STATUS, WAITING), some_batch(*CLOSED)),
        "A run that waits is woken by one of its batches.",
    ),
    Invariant(
        "owner_off_unless_worked_on",
        "§4 Run",
        (RUN,),
        implies(present(run("owner")), is_one_of(RUN_STATUS, *WORKED_ON)),
        "A run that nobody works on has no owner.",
    ),
    Invariant(
        "failure_noted",
        "§4 Run",
        (RUN,),
        all_of(
            implies(is_one_of(RUN_STATUS, FAILED), present(run("error_code"))),
            implies(present(run("error_code")), is_one_of(RUN_STATUS, FAILED)),
        ),
        "A run that failed, and no other, says why by a code.",
    ),
    Invariant(
        "lease_exactly_when_resuming",
        "§4 Batch",
        (BATCH,),
        all_of(
            implies(
                external("batch", RESUMING), all_of(present(batch("worker_id")), present(batch("lease_expires_at")))
            ),
            implies(
                Not(external("batch", RESUMING)),
                all_of(Missing(batch("worker_id")), Missing(batch("lease_expires_at"))),
            ),
        ),
        "An external batch has a coordinator and a lease exactly while it resumes; a page batch never has.",
    ),
    Invariant(
        "page_batches_do_nothing",
        "§4 Batch",
        (BATCH,),
        implies(Equal(batch("kind"), Const(PAGE)), is_one_of(BATCH_STATUS, RESUMING, COMPLETED)),
        "A page batch only comes to its end.",
    ),
    *never_negative(RESUME_MEASURE, present(BATCH_STATUS)),
    Invariant(
        "ready_has_budget",
        "D-25",
        (BATCH,),
        implies(external("batch", COLLECTING, *CLOSED), Less(batch("resumes"), Setting("max_resumes"))),
        "A batch that waits to be resumed has a resume left.",
    ),
    Invariant(
        "token_not_ahead",
        "§4 Batch, D-18",
        (BATCH, TOKEN),
        implies(
            present(token("lease_generation")),
            all_of(present(BATCH_STATUS), AtMost(token("lease_generation"), batch("lease_generation"))),
        ),
        "No coordinator remembers a generation that the batch has not reached.",
    ),
    Invariant(
        "current_token_holds",
        "§4 Batch, D-18",
        (BATCH, TOKEN),
        implies(
            TOKEN_CURRENT,
            all_of(external("batch", RESUMING), Equal(batch("worker_id"), token("worker_id"))),
        ),
        "Whoever remembers the current generation holds a batch that resumes.",
    ),
    Invariant(
        "tokens_differ",
        "§4 Batch, D-18",
        (BATCH, TOKEN, OTHER_TOKEN),
        Not(Equal(token("lease_generation"), FieldOf("other", "lease_generation"))),
        "No two coordinators got the same generation.",
    ),
)

# --- what must hold of every step -------------------------------------------------------------------------------------


def frozen(what: Machine, variable: Variable, status: FieldOf) -> StepProperty:
    """An entity that has ended never changes again."""
    fields = (field.name for field in what.fields if not field.fixed)
    return StepProperty(
        f"{what.name}_frozen",
        "§3",
        (variable,),
        implies(
            is_one_of(status, *what.terminal),
            all_of(*(Same(FieldOf(variable.name, name), FieldOf(variable.name, name, after=True)) for name in fields)),
        ),
        f"A {what.name} that has ended never changes again.",
    )


BY_OWNER = (WAIT_EXTERNALLY, ACKNOWLEDGE_CANCEL, COMPLETE_RUN, FAIL_RUN, OPEN_BATCH, ADD_REQUIREMENT, CLOSE_BATCH)
BY_COORDINATOR = (RENEW_RESUMING, COMPLETE_RESUMING, FAIL_RESUMING, STOP_RESUMING)
BINDING = (START_RUN, CONTINUE_RUN)
NOT_AFTER_A_CANCEL = (OPEN_BATCH, ADD_REQUIREMENT, CLOSE_BATCH, COMPLETE_RESUMING)
NOT_WHILE_RESUMING = (PAUSE, WAIT_EXTERNALLY, ACKNOWLEDGE_CANCEL, COMPLETE_RUN, FAIL_RUN, OPEN_BATCH)

STEP_PROPERTIES: tuple[StepProperty, ...] = (
    *arrows_kept(operation for operation in OPERATIONS if operation is not RECOVER_RESUMING),
    frozen(RUN_MACHINE, RUN, RUN_STATUS),
    frozen(BATCH_MACHINE, BATCH, BATCH_STATUS),
    frozen(REQUIREMENT_MACHINE, Variable("requirement", "requirement"), REQUIREMENT_STATUS),
    StepProperty(
        "INV-1_lease_at_commit",
        "INV-1, D-7",
        (BATCH,),
        implies(
            all_of(
                Not(is_one_of(BATCH_STATUS, RESUMING)),
                is_one_of(batch("status", after=True), RESUMING),
                Equal(batch("kind", after=True), Const(EXTERNAL)),
            ),
            Less(NOW, batch("lease_expires_at", after=True)),
        ),
        "At the commit that enters resuming the lease is later than the clock.",
    ),
    StepProperty(
        "INV-1_ends_in_one_commit",
        "INV-1, D-7",
        (BATCH, REQUIREMENT),
        implies(
            all_of(
                is_one_of(BATCH_STATUS, *LIVE_BATCH),
                is_one_of(batch("status", after=True), FAILED, CANCELLED),
                is_one_of(REQUIREMENT_STATUS, *OPEN_REQUIREMENT),
            ),
            Same(requirement("status", after=True), batch("status", after=True)),
        ),
        "A batch that ends without its results ends its open requirements with the same word in the same commit.",
    ),
    StepProperty(
        "batch_ends_as_its_run",
        "§4 Batch",
        (RUN, BATCH_OF_RUN),
        implies(
            all_of(
                external("batch", *LIVE_BATCH),
                is_one_of(RUN_STATUS, *LIVE_RUN),
                is_one_of(run("status", after=True), COMPLETED, FAILED, CANCELLED),
            ),
            Same(batch("status", after=True), run("status", after=True)),
        ),
        "A run that ends takes its unfinished batches with it, under its own word.",
    ),
    StepProperty(
        "owner_never_revives",
        "§4 ProcessOwner",
        (Variable("owner", "owner"),),
        implies(
            AtMost(owner("expires_at"), NOW),
            Same(owner("expires_at"), FieldOf("owner", "expires_at", after=True)),
        ),
        "An owner row that is over never changes again.",
    ),
    StepProperty(
        "beat_counts",
        "§4 ProcessOwner, §7",
        (Variable("owner", "owner"),),
        Equal(FieldOf("owner", "expires_at", after=True), Plus(NOW, Setting("owner_ttl"))),
        "From a beat on an owner row lives its whole time.",
        of="beat",
    ),
    StepProperty(
        "idle_owner_writes_nothing",
        "§4 ProcessOwner, §8",
        (HOST, OWNER),
        Some(
            "own",
            "run",
            "host",
            all_of(is_one_of(FieldOf("own", "status"), *WORKED_ON), Equal(FieldOf("own", "owner"), owner("process"))),
        ),
        "A process beats only while it owns a run that is worked on.",
        of="beat",
    ),
    *(
        StepProperty(
            f"{operation.name}_binds_a_live_owner",
            "§4 Run",
            (HOST, OWNER, HOSTED_RUN),
            all_of(ALIVE, Equal(run("owner", after=True), owner("process"))),
            "A run is bound to a live owner in the commit that sets it going.",
            of=operation.name,
        )
        for operation in BINDING
    ),
    *(
        StepProperty(
            f"{operation.name}_by_the_live_owner",
            "§4 Run",
            (HOST, OWNER, HOSTED_RUN),
            all_of(ALIVE, Equal(run("owner"), owner("process"))),
            "Nobody but the live owner writes for a run.",
            of=operation.name,
        )
        for operation in BY_OWNER
    ),
    *(
        StepProperty(
            f"{operation.name}_not_while_resuming",
            "§4 Batch",
            (RUN, BATCH_OF_RUN),
            Not(external("batch", RESUMING)),
            "While a batch resumes, the owner row is no fence.",
            of=operation.name,
        )
        for operation in NOT_WHILE_RESUMING
    ),
    *(
        StepProperty(
            f"{operation.name}_not_after_a_cancel",
            "§4 Run, D-2",
            (RUN,),
            is_one_of(RUN_STATUS, RUNNING),
            "A run that was asked to stop takes nothing on and counts no result.",
            of=operation.name,
        )
        for operation in NOT_AFTER_A_CANCEL
    ),
    *(
        StepProperty(
            f"{operation.name}_by_the_holder",
            "§4 Batch, D-18",
            (BATCH, TOKEN),
            LIVE_TOKEN,
            "A late coordinator's write is refused, one of the same process's earlier claim included.",
            of=operation.name,
        )
        for operation in BY_COORDINATOR
    ),
    StepProperty(
        "cancel_wins",
        "§4 Run, D-2",
        (RUN,),
        implies(is_one_of(RUN_STATUS, CANCELLING), is_one_of(run("status", after=True), CANCELLING, CANCELLED)),
        "A run that was asked to stop ends cancelled.",
    ),
    StepProperty(
        "cancelled_on_request",
        "§4 Run",
        (RUN,),
        implies(
            all_of(is_one_of(RUN_STATUS, RUNNING), Not(is_one_of(run("status", after=True), RUNNING))),
            Not(is_one_of(run("status", after=True), CANCELLED)),
        ),
        "A run that is worked on is asked first.",
    ),
    StepProperty(
        "asked_again_goes_on_stopping",
        "§4 Run",
        (RUN,),
        implies(is_one_of(RUN_STATUS, *WORKED_ON), is_one_of(run("status", after=True), CANCELLING)),
        "However often a user asks, whoever works on the run is left to stop.",
        of="request_cancel",
    ),
    StepProperty(
        "paused_left_alone",
        "§4 Run",
        (RUN,),
        implies(is_one_of(RUN_STATUS, PAUSED), is_one_of(run("status", after=True), PAUSED)),
        "The system leaves a paused run to its user.",
        by=Actor.SYSTEM,
    ),
    StepProperty(
        "paused_only_while_at_work",
        "§4 Run",
        (RUN,),
        is_one_of(RUN_STATUS, RUNNING, WAITING),
        "A run that shall stop is not paused.",
        of="pause",
    ),
    StepProperty(
        "waiting_not_reaped",
        "§4 Run",
        (RUN,),
        is_one_of(RUN_STATUS, *WORKED_ON),
        "The reaper looks at runs that are worked on, and at no others.",
        of="reap",
    ),
    StepProperty(
        "live_owner_respected",
        "§4 Run",
        (HOST, OWNER, HOSTED_RUN),
        Not(all_of(ALIVE, Equal(run("owner"), owner("process")))),
        "The reaper leaves the runs of live owners alone.",
        of="reap",
    ),
    StepProperty(
        "hand_over_respected",
        "§4 Run",
        (RUN, BATCH_OF_RUN),
        all_of(
            implies(external("batch", RESUMING), Same(BATCH_STATUS, batch("status", after=True))),
            implies(
                all_of(external("batch", *CLOSED), is_one_of(RUN_STATUS, RUNNING)),
                all_of(
                    Same(BATCH_STATUS, batch("status", after=True)),
                    is_one_of(run("status", after=True), WAITING),
                ),
            ),
            implies(
                external("batch", RESUMING),
                is_one_of(run("status", after=True), *WORKED_ON),
            ),
        ),
        "The reaper leaves unfinished hand-overs to the batches that carry them.",
        of="reap",
    ),
    StepProperty(
        "reaped_with_its_code",
        "§4 Run, §5",
        (RUN,),
        implies(
            is_one_of(run("status", after=True), FAILED),
            Equal(run("error_code", after=True), Const(PROCESS_STOPPED)),
        ),
        "A run whose process stopped says so.",
        of="reap",
    ),
    StepProperty(
        "live_lease_respected",
        "§4 Batch",
        (BATCH,),
        Not(Less(NOW, batch("lease_expires_at"))),
        "Recovery leaves a batch alone while its lease is alive.",
        of="recover_resuming",
    ),
    StepProperty(
        "renewal_reaches_further",
        "§4 Batch",
        (BATCH,),
        all_of(
            AtMost(batch("lease_expires_at"), batch("lease_expires_at", after=True)),
            AtMost(NEW_LEASE, batch("lease_expires_at", after=True)),
        ),
        "A renewed lease runs its whole length from now, and never ends earlier than before.",
        of="renew_resuming",
    ),
    StepProperty(
        "recovered_run_is_let_go",
        "§4 Batch",
        (RUN, BATCH_OF_RUN),
        all_of(
            is_one_of(run("status", after=True), WAITING, FAILED, CANCELLED),
            implies(is_one_of(run("status", after=True), WAITING), is_one_of(batch("status", after=True), READY)),
            implies(
                is_one_of(run("status", after=True), FAILED),
                Equal(run("error_code", after=True), Const(LEASE_TIMEOUT_MAX_ATTEMPTS)),
            ),
        ),
        "Recovery leaves no run at work: it waits for its batch again, or has ended and says why.",
        of="recover_resuming",
    ),
    StepProperty(
        "budget_spent_before_failure",
        "D-25",
        (BATCH,),
        implies(
            is_one_of(batch("status", after=True), FAILED),
            AtMost(Setting("max_resumes"), batch("resumes")),
        ),
        "Recovery gives a batch up only when its resumes are spent.",
        of="recover_resuming",
    ),
    StepProperty(
        "generation_monotone",
        "§3, §8",
        (BATCH,),
        implies(present(BATCH_STATUS), AtMost(batch("lease_generation"), batch("lease_generation", after=True))),
        "The generation never goes down.",
    ),
    StepProperty(
        "resuming_raises_generation",
        "§4 Batch",
        (BATCH,),
        implies(
            all_of(
                Equal(batch("kind"), Const(EXTERNAL)),
                any_of(is_one_of(BATCH_STATUS, RESUMING), is_one_of(batch("status", after=True), RESUMING)),
                Not(Same(BATCH_STATUS, batch("status", after=True))),
            ),
            Less(batch("lease_generation"), batch("lease_generation", after=True)),
        ),
        "Every way into and out of resuming makes tokens stale at once.",
    ),
    StepProperty(
        "batch_moves_on",
        "§4 Batch",
        (BATCH,),
        all_of(
            implies(
                all_of(external("batch", COLLECTING), Not(is_one_of(batch("status", after=True), COLLECTING))),
                is_one_of(batch("status", after=True), WAITING_TASKS, FAILED, CANCELLED),
            ),
            implies(
                all_of(external("batch", WAITING_TASKS), Not(is_one_of(batch("status", after=True), WAITING_TASKS))),
                is_one_of(batch("status", after=True), READY, FAILED, CANCELLED),
            ),
            implies(
                all_of(external("batch", READY), Not(is_one_of(batch("status", after=True), READY))),
                is_one_of(batch("status", after=True), RESUMING, FAILED, CANCELLED),
            ),
            implies(
                all_of(external("batch", RESUMING), Not(is_one_of(batch("status", after=True), RESUMING))),
                is_one_of(batch("status", after=True), READY, COMPLETED, FAILED, CANCELLED),
            ),
        ),
        "A batch goes from collecting to waiting, to ready, to resuming, and ends; only resuming goes back, to ready.",
    ),
    StepProperty(
        "closed_batch_grows_no_more",
        "§4 Batch",
        (BATCH, REQUIREMENT),
        implies(
            all_of(Missing(REQUIREMENT_STATUS), present(requirement("status", after=True))),
            all_of(is_one_of(BATCH_STATUS, COLLECTING), is_one_of(requirement("status", after=True), PENDING)),
        ),
        "Requirements are added to a batch that collects, and wait there for their results.",
    ),
    StepProperty(
        "resolved_by_completion",
        "§4 Requirement",
        (BATCH, REQUIREMENT),
        implies(
            all_of(
                Not(is_one_of(REQUIREMENT_STATUS, RESOLVED)), is_one_of(requirement("status", after=True), RESOLVED)
            ),
            all_of(is_one_of(REQUIREMENT_STATUS, RESOLVING), is_one_of(batch("status", after=True), COMPLETED)),
        ),
        "A result is taken in the commit that completes the batch.",
    ),
    StepProperty(
        "page_batch_ends_once",
        "§4 Batch",
        (BATCH,),
        is_one_of(BATCH_STATUS, RESUMING),
        "Only a page batch that resumes is brought to its end.",
        of="converge_page_batch",
    ),
    *lowered(RESUME_MEASURE),
)

# --- what must be reachable -------------------------------------------------------------------------------------------


def reached(machine: Machine, variable: Variable) -> tuple[Witness, ...]:
    """Each status of a machine is reached."""
    status = FieldOf(variable.name, "status")
    return tuple(
        Witness(
            f"{machine.name}_{word.name}_reached",
            "§1",
            (variable,),
            is_one_of(status, word.name),
            f"A {machine.name} is {word.name}.",
        )
        for word in machine.statuses
    )


WITNESSES: tuple[Witness, ...] = (
    *reached(RUN_MACHINE, RUN),
    *reached(BATCH_MACHINE, BATCH),
    *reached(REQUIREMENT_MACHINE, Variable("requirement", "requirement")),
    Witness(
        "resuming_past_its_lease",
        "INV-1, D-7",
        (BATCH, REQUIREMENT),
        all_of(
            external("batch", RESUMING),
            is_one_of(REQUIREMENT_STATUS, RESOLVING),
            AtMost(batch("lease_expires_at"), NOW),
        ),
        "A lease ran out by the passing of time; the requirement still resolves, and nobody has recovered the batch.",
    ),
    Witness(
        "resuming_without_a_cancelled_one",
        "INV-1",
        (BATCH, REQUIREMENT),
        all_of(external("batch", RESUMING), is_one_of(REQUIREMENT_STATUS, CANCELLED)),
        "A batch resumes although one of its requirements was cancelled.",
    ),
    Witness(
        "two_ready_batches",
        "INV-2",
        (RUN, BATCH_OF_RUN, OTHER_BATCH),
        all_of(external("batch", READY), external("other", READY)),
        "Two batches of one run are ready at once.",
    ),
    Witness(
        "ready_beside_resuming",
        "INV-2",
        (RUN, BATCH_OF_RUN, OTHER_BATCH),
        all_of(external("batch", RESUMING), external("other", READY)),
        "A batch is ready while another of its run resumes.",
    ),
    Witness(
        "run_of_a_dead_owner",
        "§4 Run",
        (HOST, OWNER, HOSTED_RUN),
        all_of(
            is_one_of(RUN_STATUS, RUNNING),
            Equal(run("owner"), owner("process")),
            AtMost(owner("expires_at"), NOW),
        ),
        "An owner is dead and its run is not reaped yet.",
    ),
    Witness(
        "owner_at_its_very_end",
        "§7",
        (HOST, OWNER),
        Equal(owner("expires_at"), NOW),
        "The life of an owner row ends at this very instant.",
    ),
    Witness(
        "run_without_owner",
        "§4 Run",
        (RUN,),
        all_of(is_one_of(RUN_STATUS, RUNNING), Missing(run("owner"))),
        "A run of an older program runs without an owner.",
    ),
    Witness(
        "stale_token_of_the_worker",
        "D-18",
        (BATCH, TOKEN, OTHER_TOKEN),
        all_of(
            LIVE_TOKEN,
            Equal(FieldOf("other", "worker_id"), token("worker_id")),
            present(FieldOf("other", "lease_generation")),
        ),
        "A process resumes a batch while an older execution of it still remembers an earlier claim.",
    ),
    Witness(
        "resumed_again",
        "D-25",
        (BATCH,),
        all_of(external("batch", RESUMING), Less(Const(1), batch("resumes"))),
        "A batch is resumed a second time.",
    ),
)

OWNED: TruthTerm = all_of(ALIVE, Equal(run("owner"), owner("process")))
OWNED_AND_UNTROUBLED: TruthTerm = all_of(OWNED, is_one_of(RUN_STATUS, RUNNING), no_batch(RESUMING))
_NEW_BATCH: TruthTerm = all_of(Missing(BATCH_STATUS), no_batch(COLLECTING))
_FULL_BATCH: TruthTerm = all_of(external("batch", COLLECTING), some_requirement(PENDING))
_OWNER_AND_RUN = (HOST, OWNER, HOSTED_RUN)

OPEN_TO_ITS_OWNER: tuple[Progress, ...] = tuple(
    Progress(
        f"{operation.name}_open_to_the_owner",
        operation.clause,
        over,
        live,
        (operation.name,),
        f"A live owner is not refused {operation.name}: {meaning}.",
        at_once=True,
    )
    for operation, over, live, meaning in (
        (BEAT, _OWNER_AND_RUN, all_of(OWNED, is_one_of(RUN_STATUS, *WORKED_ON)), "its run is at work"),
        (
            WAIT_EXTERNALLY,
            _OWNER_AND_RUN,
            all_of(OWNED_AND_UNTROUBLED, no_batch(COLLECTING), some_batch(*CLOSED)),
            "a closed batch will wake the run, and none collects or resumes",
        ),
        (
            ACKNOWLEDGE_CANCEL,
            _OWNER_AND_RUN,
            all_of(OWNED, is_one_of(RUN_STATUS, CANCELLING), no_batch(RESUMING)),
            "its run was asked to stop, and no batch resumes",
        ),
        (
            COMPLETE_RUN,
            _OWNER_AND_RUN,
            all_of(OWNED_AND_UNTROUBLED, no_batch(*LIVE_BATCH)),
            "no external batch of the run is left, and page batches do not count",
        ),
        (FAIL_RUN, _OWNER_AND_RUN, OWNED_AND_UNTROUBLED, "no batch resumes"),
        (
            OPEN_BATCH,
            (*_OWNER_AND_RUN, BATCH_OF_RUN),
            all_of(OWNED_AND_UNTROUBLED, _NEW_BATCH),
            "no batch of the run collects or resumes",
        ),
        (
            CLOSE_BATCH,
            (*_OWNER_AND_RUN, BATCH_OF_RUN),
            all_of(OWNED, is_one_of(RUN_STATUS, RUNNING), _FULL_BATCH),
            "some result is waited for",
        ),
    )
)

PROGRESS: tuple[Progress, ...] = (
    *OPEN_TO_ITS_OWNER,
    Progress(
        "user_may_pause",
        "§4 Run",
        (RUN,),
        all_of(is_one_of(RUN_STATUS, RUNNING, WAITING), no_batch(RESUMING)),
        ("pause",),
        "A user may pause any run that no batch resumes, page batches of older programs left aside.",
        at_once=True,
    ),
    Progress(
        "ready_batch_can_be_claimed",
        "§4 Batch",
        (RUN, BATCH_OF_RUN),
        all_of(is_one_of(RUN_STATUS, WAITING), external("batch", READY)),
        ("claim_resuming",),
        "A ready batch of a run that waits can be claimed at once.",
        at_once=True,
    ),
    Progress(
        "one_of_several_can_be_cancelled",
        "§4 Requirement",
        (BATCH, REQUIREMENT, OTHER_REQUIREMENT),
        all_of(
            is_one_of(REQUIREMENT_STATUS, PENDING),
            any_of(
                is_one_of(BATCH_STATUS, COLLECTING),
                all_of(
                    is_one_of(FieldOf("other", "status"), PENDING),
                    Not(Equal(FieldOf("other", "number"), requirement("number"))),
                ),
            ),
        ),
        ("cancel_requirement",),
        "A pending requirement can be cancelled while its batch collects, or while another one is pending beside it.",
        at_once=True,
    ),
    Progress(
        "dead_owner_converges",
        "§4 Run, §7",
        (HOST, HOSTED_RUN),
        all_of(is_one_of(RUN_STATUS, *WORKED_ON), OWNER_DEAD_TERM, NOT_RESUMING.term),
        ("reap",),
        "The reaper may act at once on every run of a dead owner that no batch carries.",
        at_once=True,
    ),
    Progress(
        "dead_coordinator_converges",
        "§4 Batch, D-25",
        (RUN, BATCH_OF_RUN),
        all_of(external("batch", RESUMING), AtMost(batch("lease_expires_at"), NOW)),
        ("recover_resuming",),
        "Recovery may act at once on every batch whose coordinator's lease is over.",
        at_once=True,
    ),
    Progress(
        "batch_never_in_limbo",
        "§3 no limbo",
        (RUN, BATCH_OF_RUN),
        any_of(
            all_of(is_one_of(RUN_STATUS, WAITING), external("batch", *CLOSED)),
            external("batch", RESUMING),
        ),
        ("tasks_done", "claim_resuming", "recover_resuming"),
        "Every batch of a run that waits, and every batch that resumes, has a way on.",
    ),
    Progress(
        "page_batch_converges",
        "§4 Batch",
        (BATCH,),
        all_of(Equal(batch("kind"), Const(PAGE)), is_one_of(BATCH_STATUS, RESUMING)),
        ("converge_page_batch",),
        "A page batch of an older program may be ended at once.",
        at_once=True,
    ),
    Progress(
        "answer_to_a_cancel",
        "§4 Run",
        (RUN,),
        is_one_of(RUN_STATUS, CANCELLING),
        ("force_cancel",),
        "A user never depends on the process that was asked to stop.",
        at_once=True,
    ),
)

RUN_CONTRACT = Contract(
    name="run",
    machines=(HOST_MACHINE, OWNER_MACHINE, RUN_MACHINE, BATCH_MACHINE, REQUIREMENT_MACHINE, TOKEN_MACHINE),
    operations=OPERATIONS,
    invariants=INVARIANTS,
    step_properties=STEP_PROPERTIES,
    witnesses=WITNESSES,
    progress=PROGRESS,
    settings=SETTINGS,
    settings_assumed=SETTINGS_ASSUMED,
)
"""The contract of runs, process owners, batches and requirements."""
