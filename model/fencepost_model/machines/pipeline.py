"""The PipelineRun machine: nodes that wait for each other, the places in which they run, and what they come to.

Theory
======
A **run** has **nodes**, and a node has **edges**: one for each node that it waits for. A node's status is the coarse
image of its task's (``TASK_AS_NODE``). When a node ends, each edge that leads from it is told in the same commit: how
it ended, on whose account, and, after a success, its output. So a node is released on what its own edges say, and the
data that it needs is there before it is released.

Two axes are independent. The *join* of a node says when it is released: when all that it waits for have succeeded, when
one has, or when all have ended. The *policy* of the run says what becomes of the others when a node fails
(``fail_fast`` ends what has not started, ``all_settled`` and ``quorum`` let them go on), and what all of them come to.

A failure is a cause, a cancellation a consequence: what is cancelled never makes anything fail fast. Each node that is
cancelled or skipped *because of* another remembers the first cause, and is revived with it.

Where it is ugly: terms cannot count, so the run counts its successes itself; that it counts them right is shown by
exploration, against ``fencepost_model.aggregation``, and not by proof.
"""

from __future__ import annotations

from collections.abc import Mapping

from fencepost_model.arrows import arrows_kept
from fencepost_model.contract import Contract
from fencepost_model.machines import task
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
    Missing,
    Not,
    OneOf,
    Param,
    Plus,
    Same,
    Setting,
    Some,
    Truth,
    TruthTerm,
    ValueTerm,
    all_of,
    any_of,
    implies,
    present,
)

# --- words ------------------------------------------------------------------------------------------------------------

PENDING, RUNNING, PAUSED, STOPPING = "pending", "running", "paused", "stopping"
SUCCEEDED, FAILED, STOPPED, CANCELLED = "succeeded", "failed", "stopped", "cancelled"
BLOCKED, QUEUED, ACTIVE, SKIPPED = "blocked", "queued", "active", "skipped"
STOP, CANCEL = "stop", "cancel"
ALL_SUCCEEDED, ANY_SUCCEEDED, ALL_ENDED = "all_succeeded", "any_succeeded", "all_ended"
FAIL_FAST, ALL_SETTLED, QUORUM = "fail_fast", "all_settled", "quorum"
OTHERWISE = "otherwise"

RUN_STATUSES: tuple[Status, ...] = (
    Status(PENDING, "handed in"),
    Status(RUNNING, "its nodes are released and run"),
    Status(PAUSED, "no node is released or started; what runs runs on"),
    Status(STOPPING, "somebody has ended it; what runs is waited for"),
    Status(SUCCEEDED, "its nodes come to a success", terminal=True),
    Status(FAILED, "its nodes come to a failure; repairing one opens it again", terminal=True),
    Status(STOPPED, "somebody has stopped it, or one of its nodes", terminal=True),
    Status(CANCELLED, "somebody has cancelled it, or one of its nodes", terminal=True),
)
NODE_STATUSES: tuple[Status, ...] = (
    Status(BLOCKED, "waits for other nodes"),
    Status(QUEUED, "released, waits for a place"),
    Status(ACTIVE, "runs in a place"),
    Status(SUCCEEDED, "has done its work"),
    Status(FAILED, "has not, by its own fault or an unknown one", terminal=True),
    Status(STOPPED, "was stopped", terminal=True),
    Status(CANCELLED, "was cancelled, by hand or because of another node", terminal=True),
    Status(SKIPPED, "was left out, for its condition or because of another node", terminal=True),
)
OPEN = (PENDING, RUNNING, PAUSED)
UNSTARTED = (BLOCKED, QUEUED)
ENDED = (SUCCEEDED, FAILED, STOPPED, CANCELLED, SKIPPED)

TASK_AS_NODE: Mapping[str, str] = {
    task.PENDING: BLOCKED,
    task.BLOCKED: BLOCKED,
    task.QUEUED: QUEUED,
    task.RETRY_WAIT: QUEUED,
    task.STARTING: ACTIVE,
    task.RUNNING: ACTIVE,
    task.PAUSING: ACTIVE,
    task.PAUSED: ACTIVE,
    task.STOPPING: ACTIVE,
    task.SUCCEEDED: SUCCEEDED,
    task.FAILED: FAILED,
    task.LOST: FAILED,
    task.STOPPED: STOPPED,
    task.CANCELLED: CANCELLED,
    task.SKIPPED: SKIPPED,
}
"""The status of a node for that of its task. A task paused without a place is queued as a node, not active."""

RUN = Variable("run", "run")
NODE = Variable("node", "node", of="run")
OTHER = Variable("other", "node", of="run")
EDGE = Variable("edge", "edge", of="node")
EDGE_OF_OTHER = Variable("edge", "edge", of="other")
LEAD = Variable("lead", "edge", of="other")
PLACE = Variable("place", "place", of="run")


def run(name: str) -> FieldOf:
    """A field of the run."""
    return FieldOf("run", name)


def run_after(name: str) -> FieldOf:
    """A field of the run after the step."""
    return FieldOf("run", name, after=True)


def node(name: str) -> FieldOf:
    """A field of the node."""
    return FieldOf("node", name)


def node_after(name: str) -> FieldOf:
    """A field of the node after the step."""
    return FieldOf("node", name, after=True)


def other(name: str, *, after: bool = False) -> FieldOf:
    """A field of another node."""
    return FieldOf("other", name, after)


def edge(name: str, *, after: bool = False) -> FieldOf:
    """A field of an edge."""
    return FieldOf("edge", name, after)


def is_one(field: FieldOf, *words: str) -> TruthTerm:
    """The field is one of these words."""
    return Equal(field, Const(words[0])) if len(words) == 1 else OneOf(field, words)


def run_is(*words: str) -> TruthTerm:
    """The run is in one of these statuses."""
    return is_one(run("status"), *words)


def node_is(*words: str) -> TruthTerm:
    """The node is in one of these statuses."""
    return is_one(node("status"), *words)


def policy_is(word: str) -> TruthTerm:
    """The run has this policy."""
    return Equal(Setting("policy"), Const(word))


SETTINGS: tuple[SettingShape, ...] = (
    SettingShape("policy", Sort.WORD, "what becomes of the others when a node fails, and what all come to", FAIL_FAST),
    SettingShape("quorum", Sort.COUNT, "how many successes a quorum asks for", 1),
    SettingShape(
        "skips_downstream", Sort.FLAG, "on_failure: what waits for a failure is skipped, else cancelled", False
    ),
)
SETTINGS_ASSUMED: TruthTerm = all_of(
    OneOf(Setting("policy"), (FAIL_FAST, ALL_SETTLED, QUORUM)), AtMost(Const(1), Setting("quorum"))
)
DROPPED: ValueTerm = Choose(Holds(Setting("skips_downstream")), Const(SKIPPED), Const(CANCELLED))
"""What a node becomes because another one failed."""

# --- guards -----------------------------------------------------------------------------------------------------------

RUN_GOES = Guard("run_running", run_is(RUNNING), "§6 pipelines", "a run that is paused or ends starts no more work")
RUN_OPEN = Guard("run_open", run_is(*OPEN), "§6 pipelines", "what has ended, or is about to, is not ended otherwise")
IS_BLOCKED = Guard("blocked", node_is(BLOCKED), "§6 pipelines", "a node is released, or given up, once")
IS_ACTIVE = Guard("active", node_is(ACTIVE), "§6 pipelines", "a node ends once")


def edges(body: TruthTerm) -> TruthTerm:
    """What holds of every edge of the node."""
    return Every("each_edge", "edge", "node", body)


def some_edge(body: TruthTerm) -> TruthTerm:
    """What holds of an edge of the node."""
    return Some("an_edge", "edge", "node", body)


EACH_OUTCOME = FieldOf("each_edge", "outcome")
JOIN_MET: TruthTerm = any_of(
    all_of(is_one(node("join"), ALL_SUCCEEDED), edges(is_one(EACH_OUTCOME, SUCCEEDED))),
    all_of(
        is_one(node("join"), ANY_SUCCEEDED),
        any_of(some_edge(is_one(FieldOf("an_edge", "outcome"), SUCCEEDED)), Not(some_edge(Truth(True)))),
    ),
    all_of(is_one(node("join"), ALL_ENDED), edges(present(EACH_OUTCOME))),
)
JOIN_IMPOSSIBLE: TruthTerm = any_of(
    is_one(node("join"), ALL_SUCCEEDED),
    all_of(is_one(node("join"), ANY_SUCCEEDED), edges(is_one(EACH_OUTCOME, OTHERWISE))),
)

# --- effects ----------------------------------------------------------------------------------------------------------


def of_run(name: str, value: ValueTerm) -> Assignment:
    """Set a field of the run."""
    return Assignment(run(name), value)


def of_node(name: str, value: ValueTerm) -> Assignment:
    """Set a field of the node."""
    return Assignment(node(name), value)


def _tell(outcome: str, cause: ValueTerm, data: bool) -> ForEach:
    """Each edge that leads from the node is told how it ended."""
    downstream, lead = Variable("downstream", "node", of="run"), Variable("lead", "edge", of="downstream")
    return ForEach(
        (downstream, lead),
        all_of(
            Equal(FieldOf("lead", "upstream"), node("node_id")),
            # A success takes the place of an earlier failure, and nothing takes the place of a success.
            Not(is_one(FieldOf("lead", "outcome"), SUCCEEDED))
            if outcome == SUCCEEDED
            else Missing(FieldOf("lead", "outcome")),
        ),
        (
            Assignment(FieldOf("lead", "outcome"), Const(outcome)),
            Assignment(FieldOf("lead", "because"), cause),
            Assignment(FieldOf("lead", "data"), Const(data)),
        ),
        f"what waits for it is told: {outcome}",
    )


OWN_ACCOUNT = _tell(OTHERWISE, node("node_id"), False)
THIS_ONE: TruthTerm = Equal(FieldOf("fallen", "place"), node("place"))
"""Among those that may fall, the node itself is the one in its place."""
ALL_FALL = ForEach(
    (Variable("fallen", "node", of="run"),),
    all_of(
        is_one(FieldOf("fallen", "status"), *UNSTARTED, ACTIVE),
        any_of(is_one(FieldOf("fallen", "status"), *UNSTARTED), THIS_ONE),
    ),
    (
        Assignment(FieldOf("fallen", "status"), Choose(THIS_ONE, Const(FAILED), DROPPED)),
        Assignment(FieldOf("fallen", "because"), Choose(THIS_ONE, NULL, node("node_id"))),
        Assignment(FieldOf("fallen", "place"), NULL),
    ),
    "the node fails, and what has not started is not started any more because of it",
)


# --- operations -------------------------------------------------------------------------------------------------------


def _of_run(
    name: str,
    guards: tuple[Guard, ...],
    cases: tuple[Case, ...],
    meaning: str,
    clause: str = "§6 pipelines",
    actor: Actor = Actor.CLIENT,
    parameters: tuple[Parameter, ...] = (),
) -> Operation:
    return Operation(name, actor, Selection.NAMED, (RUN,), guards, cases, clause, meaning, parameters)


def _of_node(
    name: str,
    guards: tuple[Guard, ...],
    cases: tuple[Case, ...],
    meaning: str,
    clause: str = "§6 pipelines",
    actor: Actor = Actor.SYSTEM,
    parameters: tuple[Parameter, ...] = (),
    over: tuple[Variable, ...] = (RUN, NODE),
) -> Operation:
    return Operation(name, actor, Selection.NAMED, over, guards, cases, clause, meaning, parameters, acts_on="node")


SUBMIT = _of_run(
    "submit_run",
    (Guard("new", Missing(run("status")), "003 §3.3", "a run is created once"),),
    (
        Case(
            "created",
            (),
            (of_run("status", Const(PENDING)), of_run("succeeded", Const(0))),
            "each of its nodes waits",
            also=(
                ForEach(
                    (Variable("created", "node", of="run"),),
                    Missing(FieldOf("created", "status")),
                    (Assignment(FieldOf("created", "status"), Const(BLOCKED)),),
                    "each node waits for others, if only to be looked at",
                ),
            ),
        ),
    ),
    "Somebody hands in a pipeline.",
)
BEGIN = _of_run(
    "begin_run",
    (Guard("run_pending", run_is(PENDING), "003 §3.3", "a run begins once"),),
    (Case("running", (), (of_run("status", Const(RUNNING)),), "its nodes are released"),),
    "The scheduler takes a run up.",
    actor=Actor.SYSTEM,
)
PAUSE = _of_run(
    "pause_run",
    (RUN_GOES,),
    (Case("paused", (), (of_run("status", Const(PAUSED)),), "nothing more is released or started"),),
    "Somebody pauses a run.",
)
RESUME = _of_run(
    "resume_run",
    (Guard("run_paused", run_is(PAUSED), "§6 pipelines", "only a pause is taken back"),),
    (Case("running", (), (of_run("status", Const(RUNNING)),), "it goes on"),),
    "Somebody takes the pause of a run back.",
)
STOP_RUN = _of_run(
    "stop_run",
    (RUN_OPEN,),
    (
        Case(
            "stopping",
            (),
            (of_run("status", Const(STOPPING)), of_run("asked", Param("asked"))),
            "what has not started is ended at once, what runs is asked to",
            also=(
                ForEach(
                    (Variable("ended", "node", of="run"),),
                    is_one(FieldOf("ended", "status"), *UNSTARTED),
                    (
                        Assignment(
                            FieldOf("ended", "status"),
                            Choose(Equal(Param("asked"), Const(STOP)), Const(STOPPED), Const(CANCELLED)),
                        ),
                    ),
                    "each node that has not started ends as was asked",
                ),
            ),
        ),
    ),
    "Somebody stops or cancels a whole run.",
    parameters=(Parameter("asked", Sort.WORD, "whether it is stopped or cancelled", words=(STOP, CANCEL)),),
)

RELEASE = _of_node(
    "release",
    (
        RUN_GOES,
        IS_BLOCKED,
        Guard("join_met", JOIN_MET, "§6 upstream data is in place before release", "a node runs on what others made"),
    ),
    (Case("queued", (), (of_node("status", Const(QUEUED)),), "it waits for a place"),),
    "A node no longer waits for others.",
)
CASCADE = _of_node(
    "cascade",
    (
        RUN_GOES,
        IS_BLOCKED,
        Guard(
            "upstream_ended_otherwise",
            is_one(edge("outcome"), OTHERWISE),
            "§6 on_failure",
            "it is given up because of a node that ended without success",
        ),
        Guard("join_impossible", JOIN_IMPOSSIBLE, "§6 on_failure", "what can still be released is waited for"),
    ),
    (
        Case(
            "dropped",
            (),
            (of_node("status", DROPPED), of_node("because", edge("because"))),
            "it is left out, and knows the first cause",
            also=(_tell(OTHERWISE, edge("because"), False),),
        ),
    ),
    "A node waits for what will not come.",
    "§6 on_failure chooses CANCELLED or SKIPPED downstream",
    over=(RUN, NODE, EDGE),
)
DISPATCH = _of_node(
    "dispatch_node",
    (
        RUN_GOES,
        Guard("queued", node_is(QUEUED), "§6 blocked nodes hold no slot", "what waits for others holds no place"),
        Guard(
            "place_free",
            Every("occupant", "node", "run", Not(Equal(FieldOf("occupant", "place"), FieldOf("place", "place_id")))),
            "§6 max_parallel",
            "a place serves one node",
        ),
    ),
    (
        Case(
            "active",
            (),
            (of_node("status", Const(ACTIVE)), of_node("place", FieldOf("place", "place_id"))),
            "it runs in its place",
        ),
    ),
    "The scheduler gives a node a place.",
    over=(RUN, NODE, PLACE),
)
NODE_ENDED = _of_node(
    "node_ended",
    (IS_ACTIVE,),
    in_order(
        Case(
            "succeeded",
            (Guard("success", Equal(Param("outcome"), Const(SUCCEEDED)), "§6 pipelines", "success is passed on"),),
            (
                of_node("status", Const(SUCCEEDED)),
                of_node("place", NULL),
                of_run("succeeded", Plus(run("succeeded"), Const(1))),
            ),
            "what waits for it has its output",
            also=(_tell(SUCCEEDED, NULL, True),),
        ),
        Case(
            "fail_fast",
            (
                Guard("failure", Equal(Param("outcome"), Const(FAILED)), "§6 CANCELLED never triggers", "a cause"),
                Guard("policy_fail_fast", policy_is(FAIL_FAST), "003 §3.3", "the policy of the run"),
                RUN_OPEN,
            ),
            (),
            "nothing more is started",
            also=(ALL_FALL, OWN_ACCOUNT),
        ),
        *(
            Case(
                word,
                when,
                (of_node("status", Const(word)), of_node("place", NULL)),
                "what waits for it is told",
                also=(OWN_ACCOUNT,),
            )
            for word, when in (
                (FAILED, (Guard("failure_alone", Equal(Param("outcome"), Const(FAILED)), "§6 pipelines", "a cause"),)),
                (STOPPED, (Guard("stop", Equal(Param("outcome"), Const(STOPPED)), "§6 pipelines", "as asked"),)),
                (CANCELLED, ()),
            )
        ),
    ),
    "A node that runs ends.",
    actor=Actor.HOLDER,
    parameters=(Parameter("outcome", Sort.WORD, "how it ended", words=(SUCCEEDED, FAILED, STOPPED, CANCELLED)),),
)
CAN_DROP = Guard(
    "unstarted", node_is(*UNSTARTED), "§6 occupied or not", "what runs is stopped first, and ends by itself"
)
CANCEL_NODE = _of_node(
    "cancel_node",
    (RUN_OPEN, CAN_DROP),
    (
        Case(
            "cancelled",
            (),
            (of_node("status", Const(CANCELLED)),),
            "what waits for it is told; nothing fails fast",
            also=(OWN_ACCOUNT,),
        ),
    ),
    "Somebody cancels one node.",
    "§6 CANCELLED never triggers fail_fast",
    Actor.CLIENT,
)
SKIP_NODE = _of_node(
    "skip_node",
    (RUN_OPEN, CAN_DROP),
    (
        Case(
            "skipped",
            (),
            (of_node("status", Const(SKIPPED)),),
            "what waits for it is told",
            also=(OWN_ACCOUNT,),
        ),
    ),
    "The condition of a node is false, or somebody leaves it out.",
    "003 §3.3",
    Actor.CLIENT,
)
RETRY_NODE = _of_node(
    "retry_node",
    (
        Guard(
            "run_repairable",
            run_is(RUNNING, PAUSED, FAILED),
            "§6 a repaired upstream revives",
            "a run that somebody has ended, or that has succeeded, stays as it is",
        ),
        Guard(
            "ended_without_success",
            node_is(FAILED, STOPPED, CANCELLED),
            "§6 a repaired upstream revives",
            "what has succeeded needs no repair",
        ),
        Guard(
            "own_account",
            Missing(node("because")),
            "§6 a repaired upstream revives",
            "what fell because of another node is revived with that one",
        ),
    ),
    (
        Case(
            "revived",
            (),
            (of_run("status", Choose(run_is(FAILED), Const(RUNNING), run("status"))),),
            "it waits to be released, and with it what fell because of it; a run that had failed goes on",
            also=(
                ForEach(
                    (Variable("fallen", "node", of="run"),),
                    all_of(
                        is_one(FieldOf("fallen", "status"), FAILED, STOPPED, CANCELLED, SKIPPED),
                        any_of(
                            Equal(FieldOf("fallen", "because"), node("node_id")),
                            Equal(FieldOf("fallen", "node_id"), node("node_id")),
                        ),
                    ),
                    (
                        Assignment(FieldOf("fallen", "status"), Const(BLOCKED)),
                        Assignment(FieldOf("fallen", "because"), NULL),
                    ),
                    "the node and what was skipped or cancelled because of it wait again",
                ),
                ForEach(
                    (Variable("downstream", "node", of="run"), Variable("lead", "edge", of="downstream")),
                    all_of(
                        Equal(FieldOf("lead", "because"), node("node_id")),
                        is_one(FieldOf("downstream", "status"), BLOCKED, FAILED, STOPPED, CANCELLED, SKIPPED),
                    ),
                    (
                        Assignment(FieldOf("lead", "outcome"), NULL),
                        Assignment(FieldOf("lead", "because"), NULL),
                        Assignment(FieldOf("lead", "data"), NULL),
                    ),
                    "what was told on its account is taken back",
                ),
            ),
        ),
    ),
    "Somebody has a node tried again.",
    "§6 a repaired upstream revives what was skipped or cancelled because of it",
    Actor.CLIENT,
)
NOT_PRUNED = Guard("not_pruned", Not(Holds(node("pruned"))), "§6 prune", "a record is dropped once")
PRUNE = _of_node(
    "prune",
    (
        Guard("succeeded", node_is(SUCCEEDED), "§6 prune", "what has failed may be repaired"),
        NOT_PRUNED,
        Guard(
            "not_needed",
            Every(
                "needy",
                "node",
                "run",
                any_of(
                    is_one(FieldOf("needy", "status"), SUCCEEDED),
                    Every("need", "edge", "needy", Not(Equal(FieldOf("need", "upstream"), node("node_id")))),
                ),
            ),
            "§6 prune never drops an upstream still needed",
            "what has not succeeded may run yet, or again, and reads what this node made",
        ),
    ),
    (Case("pruned", (), (of_node("pruned", Const(True)),), "its record and its output are gone"),),
    "The store drops the record of a node.",
    "§6 prune",
)

ALL_NODES_ENDED: TruthTerm = Every("each_node", "node", "run", is_one(FieldOf("each_node", "status"), *ENDED))


def _some_node(word: str) -> TruthTerm:
    return Some("a_node", "node", "run", is_one(FieldOf("a_node", "status"), word))


def _concludes(name: str, status: str, *when: Guard) -> Case:
    return Case(name, when, (of_run("status", Const(status)),), f"the run ends {status}")


CONCLUDE = _of_run(
    "conclude",
    (
        Guard("run_under_way", run_is(RUNNING, STOPPING), "§6 pipelines", "a run is judged once"),
        Guard("nodes_ended", ALL_NODES_ENDED, "§6 pipelines", "what its nodes come to is known when all have ended"),
    ),
    in_order(
        _concludes("stopped", STOPPED, Guard("asked_stop", Equal(run("asked"), Const(STOP)), "§6", "as asked")),
        _concludes("cancelled", CANCELLED, Guard("asked_cancel", Equal(run("asked"), Const(CANCEL)), "§6", "as asked")),
        _concludes(
            "quorum_met",
            SUCCEEDED,
            Guard("policy_quorum", policy_is(QUORUM), "003 §3.3", "the policy of the run"),
            Guard("enough", AtMost(Setting("quorum"), run("succeeded")), "003 §3.3", "so many have succeeded"),
        ),
        _concludes("quorum_missed", FAILED, Guard("quorum", policy_is(QUORUM), "003 §3.3", "the policy of the run")),
        _concludes("node_failed", FAILED, Guard("some_failed", _some_node(FAILED), "003 §3.3", "a failure decides")),
        _concludes("node_stopped", STOPPED, Guard("some_stopped", _some_node(STOPPED), "003 §3.3", "not all was done")),
        _concludes(
            "node_cancelled", CANCELLED, Guard("some_cancelled", _some_node(CANCELLED), "003 §3.3", "not all was done")
        ),
        _concludes("succeeded", SUCCEEDED),
    ),
    "All nodes have ended, and the run is judged by its policy.",
    actor=Actor.SYSTEM,
)

OPERATIONS: tuple[Operation, ...] = (
    SUBMIT,
    BEGIN,
    PAUSE,
    RESUME,
    STOP_RUN,
    RELEASE,
    CASCADE,
    DISPATCH,
    NODE_ENDED,
    CANCEL_NODE,
    SKIP_NODE,
    RETRY_NODE,
    PRUNE,
    CONCLUDE,
)

RUN_TABLE: Mapping[str, tuple[str, ...]] = {
    PENDING: ("begin_run", "stop_run"),
    RUNNING: ("pause_run", "stop_run", "conclude", "retry_node"),
    PAUSED: ("resume_run", "stop_run", "retry_node"),
    STOPPING: ("conclude",),
    SUCCEEDED: (),
    FAILED: (),
    STOPPED: (),
    CANCELLED: (),
}
RUN_REVIVALS: Mapping[str, tuple[str, ...]] = {FAILED: ("retry_node",)}
NODE_TABLE: Mapping[str, tuple[str, ...]] = {
    BLOCKED: ("release", "cascade", "cancel_node", "skip_node", "stop_run", "node_ended"),
    QUEUED: ("dispatch_node", "cancel_node", "skip_node", "stop_run", "node_ended"),
    ACTIVE: ("node_ended",),
    SUCCEEDED: ("prune",),
    FAILED: (),
    STOPPED: (),
    CANCELLED: (),
    SKIPPED: (),
}
NODE_REVIVALS: Mapping[str, tuple[str, ...]] = dict.fromkeys((FAILED, STOPPED, CANCELLED, SKIPPED), ("retry_node",))

RUN_MACHINE = Machine(
    name="run",
    meaning="One run of a pipeline: what its nodes come to.",
    fields=(
        Field("status", Sort.WORD, "where it stands", nullable=False, words=tuple(s.name for s in RUN_STATUSES)),
        Field("asked", Sort.WORD, "how somebody has ended the whole run", words=(STOP, CANCEL)),
        Field("succeeded", Sort.COUNT, "how many of its nodes have succeeded", nullable=False),
    ),
    statuses=RUN_STATUSES,
    table=RUN_TABLE,
    revivals=RUN_REVIVALS,
    created_by="submit_run",
)
NODE_MACHINE = Machine(
    name="node",
    meaning="A step of a pipeline, as coarsely as the pipeline needs to know its task.",
    fields=(
        Field("node_id", Sort.IDENTITY, "which node", nullable=False, fixed=True),
        Field(
            "join",
            Sort.WORD,
            "when it is released",
            words=(ALL_SUCCEEDED, ANY_SUCCEEDED, ALL_ENDED),
            nullable=False,
            fixed=True,
        ),
        Field("status", Sort.WORD, "where it stands", nullable=False, words=tuple(s.name for s in NODE_STATUSES)),
        Field("place", Sort.IDENTITY, "the place in which it runs"),
        Field("because", Sort.IDENTITY, "the node because of which it was cancelled or skipped"),
        Field("pruned", Sort.FLAG, "whether its record has been dropped"),
    ),
    statuses=NODE_STATUSES,
    table=NODE_TABLE,
    revivals=NODE_REVIVALS,
    created_by="submit_run",
    belongs_to="run",
)
EDGE_MACHINE = Machine(
    name="edge",
    meaning="That a node waits for another one, and what it has been told of it.",
    fields=(
        Field("upstream", Sort.IDENTITY, "the node waited for", nullable=False, fixed=True),
        Field("outcome", Sort.WORD, "how that one ended", words=(SUCCEEDED, OTHERWISE)),
        Field("because", Sort.IDENTITY, "the node on whose account it ended otherwise"),
        Field("data", Sort.FLAG, "whether its output is in place"),
    ),
    belongs_to="node",
)
PLACE_MACHINE = Machine(
    name="place",
    meaning="One of the nodes that may run at once.",
    fields=(Field("place_id", Sort.IDENTITY, "which place", nullable=False, fixed=True),),
    belongs_to="run",
)

# --- statements -------------------------------------------------------------------------------------------------------

RELEASED = node_is(QUEUED, ACTIVE, SUCCEEDED)

INVARIANTS: tuple[Invariant, ...] = (
    Invariant(
        "place_exactly_while_active",
        "§6 blocked nodes hold no slot",
        (RUN, NODE),
        all_of(implies(node_is(ACTIVE), present(node("place"))), implies(present(node("place")), node_is(ACTIVE))),
        "A node holds a place exactly while it runs; what waits holds none.",
    ),
    Invariant(
        "places_differ",
        "§6 max_parallel",
        (RUN, NODE, OTHER),
        Not(Equal(node("place"), other("place"))),
        "No two nodes run in one place, so no more run than there are places.",
    ),
    Invariant(
        "released_on_all_successes",
        "§6 upstream data is in place before release",
        (RUN, NODE, EDGE),
        implies(all_of(RELEASED, is_one(node("join"), ALL_SUCCEEDED)), is_one(edge("outcome"), SUCCEEDED)),
        "A node that waits for all successes runs only after them.",
    ),
    Invariant(
        "released_after_all_ends",
        "§6 upstream data is in place before release",
        (RUN, NODE, EDGE),
        implies(all_of(RELEASED, is_one(node("join"), ALL_ENDED)), present(edge("outcome"))),
        "A node that waits for all ends runs only after them.",
    ),
    Invariant(
        "data_with_the_success",
        "§6 upstream data is in place before release",
        (RUN, NODE, EDGE),
        all_of(
            implies(is_one(edge("outcome"), SUCCEEDED), all_of(Holds(edge("data")), Missing(edge("because")))),
            implies(
                is_one(edge("outcome"), OTHERWISE), all_of(Equal(edge("data"), Const(False)), present(edge("because")))
            ),
            implies(Missing(edge("outcome")), all_of(Missing(edge("data")), Missing(edge("because")))),
        ),
        "Where a success is told, the output is in place; where none is, there is none, and somebody is to blame.",
    ),
    Invariant(
        "because_of_another",
        "§6 a repaired upstream revives",
        (RUN, NODE),
        implies(present(node("because")), node_is(CANCELLED, SKIPPED)),
        "Only what was cancelled or skipped was so because of another node.",
    ),
    Invariant(
        "asked_exactly_when_stopped_as_a_whole",
        "§6 pipelines",
        (RUN,),
        all_of(
            implies(run_is(STOPPING), present(run("asked"))),
            implies(present(run("asked")), run_is(STOPPING, STOPPED, CANCELLED)),
            implies(Equal(run("asked"), Const(STOP)), run_is(STOPPING, STOPPED)),
            implies(Equal(run("asked"), Const(CANCEL)), run_is(STOPPING, CANCELLED)),
        ),
        "A run that somebody has ended ends as it was asked to.",
    ),
    Invariant(
        "ended_run_has_ended_nodes",
        "§6 pipelines",
        (RUN, NODE),
        implies(run_is(SUCCEEDED, FAILED, STOPPED, CANCELLED), node_is(*ENDED)),
        "A run has ended only when each of its nodes has.",
    ),
    Invariant(
        "nothing_waits_in_a_stopping_run",
        "§6 pipelines",
        (RUN, NODE),
        implies(run_is(STOPPING), Not(node_is(*UNSTARTED))),
        "A run that stops starts nothing more.",
    ),
    Invariant(
        "success_without_failures",
        "003 §3.3",
        (RUN, NODE),
        implies(all_of(run_is(SUCCEEDED), Not(policy_is(QUORUM))), node_is(SUCCEEDED, SKIPPED)),
        "But for a quorum, a run succeeds only when nothing has failed.",
    ),
    Invariant(
        "quorum_reached",
        "003 §3.3",
        (RUN,),
        implies(all_of(run_is(SUCCEEDED), policy_is(QUORUM)), AtMost(Setting("quorum"), run("succeeded"))),
        "With a quorum, a run succeeds only when it is reached.",
    ),
    Invariant(
        "pruned_after_success",
        "§6 prune",
        (RUN, NODE),
        implies(Holds(node("pruned")), node_is(SUCCEEDED)),
        "Only what has succeeded is dropped.",
    ),
    Invariant(
        "nodes_of_a_run",
        "003 §3.3",
        (RUN, NODE),
        all_of(
            implies(present(run("status")), present(node("status"))),
            implies(present(node("status")), present(run("status"))),
        ),
        "A run and its nodes are created together.",
    ),
    Invariant(
        "edges_are_told_of_a_run",
        "003 §3.3",
        (RUN, NODE, EDGE),
        implies(present(edge("outcome")), present(run("status"))),
        "Nothing is told before there is a run.",
    ),
    Invariant(
        "nothing_starts_before_the_run",
        "003 §3.3",
        (RUN, NODE),
        implies(run_is(PENDING), node_is(BLOCKED, CANCELLED, SKIPPED)),
        "Before a run begins none of its nodes is released.",
    ),
)

NODE_KEPT: TruthTerm = Same(other("status"), other("status", after=True))
LEAD_KEPT: TruthTerm = all_of(
    *(Same(FieldOf("lead", name), FieldOf("lead", name, after=True)) for name in ("outcome", "because", "data"))
)
LEADS_FROM_IT: TruthTerm = Equal(FieldOf("lead", "upstream"), node("node_id"))


def told_of(cause: ValueTerm) -> TruthTerm:
    """The end of the node is told to each edge that leads from it and has not been told anything, and to no other."""
    untold = all_of(LEADS_FROM_IT, Missing(FieldOf("lead", "outcome")))
    told = all_of(
        is_one(FieldOf("lead", "outcome", after=True), OTHERWISE), Same(FieldOf("lead", "because", after=True), cause)
    )
    return all_of(implies(untold, told), implies(Not(untold), LEAD_KEPT))


STEP_PROPERTIES: tuple[StepProperty, ...] = (
    StepProperty(
        "fail_fast_starts_nothing_more",
        "003 §3.3",
        (RUN, NODE, OTHER),
        implies(
            all_of(Equal(Param("outcome"), Const(FAILED)), policy_is(FAIL_FAST), run_is(*OPEN)),
            all_of(
                Not(is_one(other("status", after=True), *UNSTARTED)),
                any_of(NODE_KEPT, Same(other("because", after=True), node("node_id"))),
            ),
        ),
        "Under fail_fast a failure ends what has not started.",
        of="node_ended",
    ),
    StepProperty(
        "only_a_failure_fails_fast",
        "§6 CANCELLED never triggers fail_fast",
        (RUN, NODE, OTHER),
        implies(any_of(Not(Equal(Param("outcome"), Const(FAILED))), Not(policy_is(FAIL_FAST))), NODE_KEPT),
        "No other end of a node, and no other policy, ends another node at once.",
        of="node_ended",
    ),
    StepProperty(
        "cancel_fails_nothing",
        "§6 CANCELLED never triggers fail_fast",
        (RUN, NODE, OTHER),
        all_of(NODE_KEPT, is_one(node_after("status"), CANCELLED), node_is(*UNSTARTED)),
        "Cancelling one node ends no other one at once.",
        of="cancel_node",
    ),
    StepProperty(
        "skip_fails_nothing",
        "003 §3.3",
        (RUN, NODE, OTHER),
        all_of(NODE_KEPT, is_one(node_after("status"), SKIPPED), node_is(*UNSTARTED)),
        "Leaving one node out ends no other one at once.",
        of="skip_node",
    ),
    StepProperty(
        "ends_once",
        "§6 pipelines",
        (RUN, NODE),
        implies(
            node_is(*ENDED),
            any_of(
                Same(node("status"), node_after("status")),
                all_of(
                    node_is(FAILED, STOPPED, CANCELLED, SKIPPED),
                    is_one(node_after("status"), BLOCKED),
                    run_is(RUNNING, PAUSED, FAILED),
                ),
            ),
        ),
        "A node that has ended stays so, but for a repair; and success is never repaired.",
    ),
    StepProperty(
        "run_ends_once",
        "§6 pipelines",
        (RUN,),
        implies(
            run_is(SUCCEEDED, FAILED, STOPPED, CANCELLED),
            any_of(
                Same(run("status"), run_after("status")),
                all_of(run_is(FAILED), Equal(run_after("status"), Const(RUNNING))),
            ),
        ),
        "A run that has ended stays so, but for the repair of a failure.",
    ),
    StepProperty(
        "repaired_on_its_own_account",
        "§6 a repaired upstream revives",
        (RUN, NODE),
        all_of(Missing(node("because")), node_is(FAILED, STOPPED, CANCELLED), is_one(node_after("status"), BLOCKED)),
        "What fell because of another node is revived with that one and not by itself.",
        of="retry_node",
    ),
    StepProperty(
        "revived_with_its_cause",
        "§6 a repaired upstream revives",
        (RUN, NODE, OTHER),
        all_of(
            implies(
                Equal(other("because"), node("node_id")),
                all_of(is_one(other("status", after=True), BLOCKED), Missing(other("because", after=True))),
            ),
            implies(
                Not(any_of(Equal(other("because"), node("node_id")), Equal(other("node_id"), node("node_id")))),
                NODE_KEPT,
            ),
        ),
        "A repair revives all that fell because of the node, and nothing else.",
        of="retry_node",
    ),
    StepProperty(
        "told_anew_after_a_repair",
        "§6 a repaired upstream revives",
        (RUN, NODE, OTHER, EDGE_OF_OTHER),
        all_of(
            implies(
                all_of(Equal(edge("because"), node("node_id")), is_one(other("status", after=True), BLOCKED)),
                Missing(edge("outcome", after=True)),
            ),
            implies(
                Not(Equal(edge("because"), node("node_id"))),
                all_of(*(Same(edge(name), edge(name, after=True)) for name in ("outcome", "because", "data"))),
            ),
        ),
        "After a repair nothing is held against what waits on account of the old failure; all else told stands.",
        of="retry_node",
    ),
    *(
        StepProperty(
            f"{name}_is_told",
            "§6 pipelines",
            (RUN, NODE, *more, OTHER, LEAD),
            told_of(cause),
            "That a node ends otherwise than with success is told to what waits for it, with the first cause, in the "
            "very commit; what was told before stands.",
            of=name,
        )
        for name, more, cause in (
            ("cascade", (EDGE,), edge("because")),
            ("cancel_node", (), node("node_id")),
            ("skip_node", (), node("node_id")),
        )
    ),
    StepProperty(
        "end_is_told",
        "§6 pipelines",
        (RUN, NODE, OTHER, LEAD),
        any_of(
            all_of(Equal(Param("outcome"), Const(SUCCEEDED)), implies(Not(LEADS_FROM_IT), LEAD_KEPT)),
            all_of(Not(Equal(Param("outcome"), Const(SUCCEEDED))), told_of(node("node_id"))),
        ),
        "The end of a node is told to what waits for it, and to nothing else.",
        of="node_ended",
    ),
    StepProperty(
        "what_runs_ends_by_itself",
        "§6 pipelines",
        (RUN, NODE, OTHER),
        implies(
            is_one(other("status"), ACTIVE),
            all_of(NODE_KEPT, Same(other("place"), other("place", after=True))),
        ),
        "No end of a node ends another one that runs.",
        of="node_ended",
    ),
    StepProperty(
        "success_is_told",
        "§6 upstream data is in place before release",
        (RUN, NODE, OTHER, EDGE_OF_OTHER),
        implies(
            all_of(
                Equal(Param("outcome"), Const(SUCCEEDED)),
                Equal(edge("upstream"), node("node_id")),
            ),
            all_of(is_one(edge("outcome", after=True), SUCCEEDED), Holds(edge("data", after=True))),
        ),
        "What waits for a node has its output in the very commit of the success.",
        of="node_ended",
    ),
    StepProperty(
        "success_is_never_taken_back",
        "§6 upstream data is in place before release",
        (RUN, NODE, EDGE),
        implies(is_one(edge("outcome"), SUCCEEDED), is_one(edge("outcome", after=True), SUCCEEDED)),
        "What was told of a success stays; so a node that was released on one goes on having it.",
    ),
    StepProperty(
        "first_cause_is_remembered",
        "§6 a repaired upstream revives",
        (RUN, NODE, EDGE),
        all_of(
            Same(node_after("because"), edge("because")),
            is_one(edge("outcome"), OTHERWISE),
            any_of(
                all_of(Holds(Setting("skips_downstream")), is_one(node_after("status"), SKIPPED)),
                all_of(Not(Holds(Setting("skips_downstream"))), is_one(node_after("status"), CANCELLED)),
            ),
            node_is(BLOCKED),
        ),
        "What is given up knows the first cause, and ends as the pipeline has chosen.",
        of="cascade",
    ),
    StepProperty(
        "given_up_only_when_impossible",
        "§6 on_failure",
        (RUN, NODE),
        all_of(Not(JOIN_MET), Not(is_one(node("join"), ALL_ENDED))),
        "What can be released is not given up.",
        of="cascade",
    ),
    StepProperty(
        "one_success_may_still_come",
        "§6 on_failure",
        (RUN, NODE),
        implies(is_one(node("join"), ANY_SUCCEEDED), edges(is_one(EACH_OUTCOME, OTHERWISE))),
        "A node that waits for one success is not given up while one may come.",
        of="cascade",
    ),
    StepProperty(
        "released_when_met",
        "§6 upstream data is in place before release",
        (RUN, NODE),
        all_of(node_is(BLOCKED), JOIN_MET),
        "A node is released when what it waits for is there.",
        of="release",
    ),
    StepProperty(
        "starts_from_the_queue",
        "§6 blocked nodes hold no slot",
        (RUN, NODE),
        implies(all_of(Not(node_is(ACTIVE)), is_one(node_after("status"), ACTIVE)), node_is(QUEUED)),
        "Nothing gets past the places.",
    ),
    StepProperty(
        "paused_run_starts_nothing",
        "§6 pipelines",
        (RUN, NODE),
        implies(
            Not(run_is(RUNNING)),
            all_of(
                implies(node_is(BLOCKED), Not(is_one(node_after("status"), QUEUED))),
                implies(node_is(QUEUED), Not(is_one(node_after("status"), ACTIVE))),
            ),
        ),
        "Only a run that goes on releases and starts its nodes.",
    ),
    StepProperty(
        "given_up_while_running",
        "§6 pipelines",
        (RUN,),
        run_is(RUNNING),
        "Only a run that goes on gives nodes up.",
        of="cascade",
    ),
    StepProperty(
        "needed_output_is_kept",
        "§6 prune never drops an upstream still needed",
        (RUN, NODE, OTHER, EDGE_OF_OTHER),
        implies(Equal(edge("upstream"), node("node_id")), is_one(other("status"), SUCCEEDED)),
        "No output is dropped that a node may still need.",
        of="prune",
    ),
    StepProperty(
        "dropped_once",
        "§6 prune",
        (RUN, NODE),
        all_of(Not(Holds(node("pruned"))), Holds(node_after("pruned")), node_is(SUCCEEDED)),
        "A record is dropped once.",
        of="prune",
    ),
    StepProperty(
        "successes_counted",
        "003 §3.3 quorum",
        (RUN, NODE),
        Equal(
            run_after("succeeded"),
            Choose(Equal(Param("outcome"), Const(SUCCEEDED)), Plus(run("succeeded"), Const(1)), run("succeeded")),
        ),
        "Each success is counted.",
        of="node_ended",
    ),
    StepProperty(
        "ends_as_its_task",
        "§6 pipelines",
        (RUN, NODE),
        all_of(node_is(ACTIVE), Same(node_after("status"), Param("outcome"))),
        "A node that ran ends as its task did.",
        of="node_ended",
    ),
    StepProperty(
        "run_lives_until_judged",
        "§6 pipelines",
        (RUN,),
        all_of(
            implies(run_is(RUNNING, PAUSED), Not(Missing(run_after("status")))),
            implies(
                all_of(run_is(STOPPING), Not(Same(run("status"), run_after("status")))),
                is_one(run_after("status"), STOPPED, CANCELLED),
            ),
            implies(run_is(PAUSED), is_one(run_after("status"), PAUSED, RUNNING, STOPPING)),
            implies(run_is(PENDING), is_one(run_after("status"), PENDING, RUNNING, STOPPING)),
        ),
        "A paused run goes on or is stopped, and one that stops ends stopped or cancelled.",
    ),
    *(
        StepProperty(
            f"{name}_from_{'_or_'.join(where)}",
            "§6 pipelines",
            (RUN,),
            run_is(*where),
            told,
            of=name,
        )
        for name, where, told in (
            ("begin_run", (PENDING,), "A run begins once."),
            ("pause_run", (RUNNING,), "Only a run that goes on is paused."),
            ("resume_run", (PAUSED,), "Only a pause is taken back."),
            ("cancel_node", OPEN, "A node of a run that ends is not cancelled any more."),
            ("skip_node", OPEN, "A node of a run that ends is not left out any more."),
            ("stop_run", OPEN, "Only a run that goes on is stopped."),
            ("conclude", (RUNNING, STOPPING), "A run is judged once."),
        )
    ),
    StepProperty(
        "submitted_once",
        "003 §3.3",
        (RUN,),
        Missing(run("status")),
        "A run is created once.",
        of="submit_run",
    ),
    StepProperty(
        "judged_by_its_policy",
        "003 §3.3",
        (RUN,),
        all_of(
            implies(
                all_of(Missing(run("asked")), policy_is(QUORUM)),
                Same(
                    run_after("status"),
                    Choose(AtMost(Setting("quorum"), run("succeeded")), Const(SUCCEEDED), Const(FAILED)),
                ),
            ),
            implies(
                all_of(Missing(run("asked")), Not(policy_is(QUORUM))),
                Same(
                    run_after("status"),
                    Choose(
                        _some_node(FAILED),
                        Const(FAILED),
                        Choose(
                            _some_node(STOPPED),
                            Const(STOPPED),
                            Choose(_some_node(CANCELLED), Const(CANCELLED), Const(SUCCEEDED)),
                        ),
                    ),
                ),
            ),
        ),
        "What the nodes come to is a failure, else a stop, else a cancellation, else a success; or what a quorum says.",
        of="conclude",
    ),
)

WITNESSES: tuple[Witness, ...] = (
    *(
        Witness(f"run_{s.name}_reached", "003 §3.3", (RUN,), run_is(s.name), f"A run is {s.name}.")
        for s in RUN_STATUSES
    ),
    *(
        Witness(f"node_{s.name}_reached", "003 §3.3", (RUN, NODE), node_is(s.name), f"A node is {s.name}.")
        for s in NODE_STATUSES
    ),
    Witness(
        "fallen_because_of_another",
        "§6 a repaired upstream revives",
        (RUN, NODE, OTHER),
        all_of(Equal(node("because"), other("node_id")), is_one(other("status"), FAILED)),
        "A node was cancelled or skipped because of another.",
    ),
    Witness(
        "released_beside_a_failure",
        "003 §3.3 join",
        (RUN, NODE, EDGE),
        all_of(node_is(ACTIVE), is_one(edge("outcome"), OTHERWISE)),
        "A node runs although one that it waited for has not succeeded.",
    ),
    Witness(
        "place_wanted",
        "§6 max_parallel",
        (RUN, NODE, OTHER),
        all_of(node_is(ACTIVE), is_one(other("status"), QUEUED)),
        "A node waits for a place that another one has.",
    ),
)

PROGRESS: tuple[Progress, ...] = (
    Progress(
        "judged_when_ended",
        "§3 no limbo",
        (RUN,),
        all_of(run_is(RUNNING, STOPPING), ALL_NODES_ENDED),
        ("conclude",),
        "A run whose nodes have all ended is judged at once.",
        at_once=True,
    ),
    Progress(
        "released_or_given_up",
        "§3 no limbo",
        (RUN, NODE),
        all_of(run_is(RUNNING), node_is(BLOCKED), JOIN_MET),
        ("release",),
        "A node whose join is met is released at once.",
        at_once=True,
    ),
    Progress(
        "given_up_when_impossible",
        "§3 no limbo",
        (RUN, NODE, EDGE),
        all_of(run_is(RUNNING), node_is(BLOCKED), is_one(edge("outcome"), OTHERWISE), JOIN_IMPOSSIBLE),
        ("cascade",),
        "A node whose join is impossible is given up at once.",
        at_once=True,
    ),
    Progress(
        "answers_an_end",
        "§6 receptiveness",
        (RUN, NODE),
        node_is(ACTIVE),
        ("node_ended",),
        "The end of a node is answered whatever the run is doing.",
        at_once=True,
    ),
    Progress(
        "answers_stop",
        "§6 receptiveness",
        (RUN,),
        run_is(*OPEN),
        ("stop_run",),
        "A run can be stopped at once.",
        at_once=True,
    ),
    Progress(
        "answers_repair",
        "§6 receptiveness",
        (RUN, NODE),
        all_of(run_is(RUNNING, PAUSED, FAILED), node_is(FAILED)),
        ("retry_node",),
        "A failed node can be repaired at once.",
        at_once=True,
    ),
)

PIPELINE_CONTRACT = Contract(
    name="pipeline",
    machines=(RUN_MACHINE, NODE_MACHINE, EDGE_MACHINE, PLACE_MACHINE),
    operations=OPERATIONS,
    invariants=INVARIANTS,
    step_properties=(*STEP_PROPERTIES, *arrows_kept(OPERATIONS)),
    witnesses=WITNESSES,
    progress=PROGRESS,
    settings=SETTINGS,
    settings_assumed=SETTINGS_ASSUMED,
)
"""The contract of pipelines (contract §6)."""
