"""The task machine of 003 as printed: transition table, verbs, guards, errors, events, and what walking it shows.

``TRANSITIONS`` is §2.3 word for word (45 edges), ``VERBS`` is §3.1. ``task_stage`` walks them with *ghosts* that no
table can say: whether the task holds a slot, how many carriers (threads, processes) of it live, whether the latest has
reported its start, how many attempts have started. The guards are those that §2.3 prints beside the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fencepost_model.published.drafting import (
    count,
    draft,
    flag,
    is_in,
    machine,
    member,
    of,
    one_more,
    operation,
    stage,
    word,
    yes,
)
from fencepost_model.shapes import Actor, Operation, Variable
from fencepost_model.terms import Const, Equal, FieldOf, Less, Plus, TruthTerm, ValueTerm
from fencepost_model.worlds import World

LIVE: tuple[str, ...] = (
    "pending",
    "blocked",
    "queued",
    "starting",
    "running",
    "pausing",
    "paused",
    "retry_wait",
    "stopping",
)
TERMINAL: tuple[str, ...] = ("succeeded", "failed", "stopped", "cancelled", "skipped", "lost")
REVIVABLE: tuple[str, ...] = ("failed", "stopped", "cancelled", "lost")
"""003 §2.2."""

Transitions = Mapping[str, tuple[str, ...]]

TRANSITIONS: Transitions = {
    "pending": ("blocked", "queued", "skipped", "cancelled", "stopped"),
    "blocked": ("queued", "skipped", "cancelled", "stopped"),
    "queued": ("starting", "paused", "skipped", "stopped", "cancelled"),
    "starting": ("running", "retry_wait", "pausing", "stopping", "failed", "lost"),
    "running": ("succeeded", "failed", "retry_wait", "pausing", "stopping", "lost"),
    "pausing": ("paused", "running", "failed", "stopping", "lost"),
    "paused": ("queued", "running", "stopped", "cancelled"),
    "retry_wait": ("starting", "queued", "paused", "stopped", "failed", "cancelled"),
    "stopping": ("stopped", "succeeded", "failed", "lost"),
    **dict.fromkeys(TERMINAL, ()),
}
"""003 §2.3: 45 edges."""


@dataclass(frozen=True, slots=True)
class Verb:
    """A row of 003 §3.1: from which statuses it is legal, into which it leads at once, in which it ends."""

    name: str
    legal: tuple[str, ...]
    at_once: tuple[str, ...]
    ends: tuple[str, ...]


ALL = (*LIVE, *TERMINAL)

VERBS: tuple[Verb, ...] = (
    Verb("start", ("pending", "blocked"), ("queued",), ("queued",)),
    Verb("stop", LIVE, ("stopping",), ("stopped", "lost")),
    Verb("pause", ("running", "queued"), ("pausing",), ("paused",)),
    Verb("resume", ("paused",), ("queued",), ("running",)),
    Verb("cancel", LIVE, (), ("cancelled",)),
    Verb("retry", REVIVABLE, (), ("queued",)),
    Verb("skip", ("pending", "blocked", "failed"), (), ("skipped",)),
    Verb("reset", ALL, (), ("pending",)),
    Verb("wait", ALL, (), ()),
    Verb("force_transition", ALL, (), ALL),
)

RULE_AT_ONCE: Mapping[str, tuple[str, ...]] = {
    "stop": ("pending", "blocked", "queued", "paused", "retry_wait"),
    "pause": ("pending", "blocked", "queued", "paused", "retry_wait"),
}
"""003 §2.3 v1.2: from these the verb takes effect at once (stopped, paused)."""

RULE_BUFFERED: Mapping[str, tuple[str, ...]] = {
    "stop": ("starting", "running", "pausing"),
    "pause": ("starting", "running", "pausing"),
}
"""003 §2.3 v1.2: from these it goes through stopping or pausing."""

REQUESTED_ACTIONS: tuple[str, ...] = ("stop", "pause")
"""003 §2.4: what requested_action may hold beside null."""

FAILURE_KINDS: tuple[str, ...] = (
    "EXCEPTION",
    "NONZERO_EXIT",
    "TIMEOUT_START",
    "TIMEOUT_ATTEMPT",
    "TIMEOUT_IDLE",
    "CANCELLED",
    "LOST",
    "DEPENDENCY_FAILED",
    "CONDITION_FALSE",
)

SNAPSHOT_FIELDS: tuple[str, ...] = (
    "task_id",
    "pipeline_run_id",
    "name",
    "tags",
    "status",
    "status_version",
    "requested_action",
    "attempt",
    "max_attempts",
    "created_at",
    "queued_at",
    "started_at",
    "ended_at",
    "last_heartbeat_at",
    "progress",
    "failure",
    "outcome",
    "executor",
)
"""003 §2.4."""

FAILURE_FIELDS: tuple[str, ...] = ("kind", "message", "traceback", "retryable")

FIELDS_USED: Mapping[str, str] = {
    "snapshot.overridden": "003 §3.1",
    "snapshot.bucket": "003 §15.4",
    "snapshot.bucket_key": "003 §15.4",
    "snapshot.lease_owner": "003 §12",
    "snapshot.lease_until": "003 §12",
    "snapshot.pid": "003 §12, §13.10",
    "snapshot.status_version": "003 §5.6",
    "snapshot.last_heartbeat_at": "003 §5.2",
    "failure.exit_code": "003 §12, §13.10",
    "failure.retryable": "003 §13.6",
}
"""Fields that other sections lean on, with the section."""

ERRORS: tuple[str, ...] = (
    "TaskError",
    "InvalidTransition",
    "DependencyFailed",
    "CircularDependency",
    "TaskCancelled",
    "TaskTimeout",
    "TaskExecutionError",
    "ConcurrencyConflict",
    "StoreError",
    "ConfigurationError",
)
"""003 §6."""

ERRORS_USED: Mapping[str, str] = {
    "InvalidTransition": "003 §2.3",
    "AttemptsExhausted": "003 §2.3",
    "TaskCancelled": "003 §3.3",
    "ConcurrencyConflict": "003 §5.6",
    "ConfigurationError": "003 §13.9",
}
"""Errors that other sections raise."""

HOOKS: Mapping[str, tuple[str, ...]] = {
    "on_start": ("starting", "running"),
    "on_success": ("succeeded",),
    "on_failure": ("failed",),
    "on_retry": ("retry_wait",),
    "on_cancel": ("cancelled",),
}
"""003 §7.2 P4: the hooks, with the statuses that their names speak of."""

STORE_NEEDS: Mapping[str, tuple[str, str]] = {
    "renew the supervisor's lease": ("touch(lease_until)", "003 §12"),
    "hand a claimed command back": ("release_command", "003 §12"),
    "keep attempts, append-only": ("append_attempt", "003 §2.2, §7.2 P5"),
    "read attempts": ("attempts", "003 §3.4"),
    "write progress and heartbeat beside the version": ("touch(heartbeat_at)", "003 §5.6"),
    "deliver commands at least once": ("claim_commands", "003 §5.6"),
}
"""What sections of 003 say that the store does: a method, or a method with a parameter."""

OLD_WORDS: Mapping[str, tuple[str, ...]] = {"FINISHED": ("succeeded", "failed", "stopped", "cancelled")}
"""003 §0 row 2: what an old word may have meant, which is why it is split."""
OLD_ALIASES: Mapping[str, str] = {"FINISHED": "succeeded"}
"""003 §2.1: what the old word is read as."""

ORPHAN_POLICIES: Mapping[str, str | None] = {"fail": "failed", "requeue": "queued", "manual": None}
"""003 §5.5: where each policy leaves an orphan; None: where it was."""

DOWNSTREAM: Mapping[str, str | None] = {
    "succeeded": "released",
    "failed": "cancelled or skipped",
    "cancelled": "cancelled with the cascade of the verb",
    "stopped": None,
    "skipped": None,
    "lost": None,
}
"""What 003 (§2.1, §3.1, §3.3, §12) says of a node whose upstream has ended so; None: no rule.

§2.1 says that stopped is no error, and that cancelled is what a failure upstream leads to; §12 that a cancelled node
does not set off fail_fast."""

PRUNE_ASKS: tuple[str, ...] = ("keep_terminal",)
"""003 §5.6: all that prune is told."""

# --- walking it, with ghosts ------------------------------------------------------------------------------------------

TASK = Variable("task", "task")


def task(name: str) -> FieldOf:
    """A field of the task, as a step finds it."""
    return of(TASK, name)


FIELDS = (
    word("status", *ALL),
    count("attempt"),
    count("max_attempts"),
    flag("started_at_set"),
    flag("slot"),
    count("carriers"),
    flag("reported"),
    count("starts"),
)

Effect = dict[FieldOf, ValueTerm | str | bool | int]


@dataclass(frozen=True)
class TaskRules:
    """What of the printed machine the walk follows; a mended copy changes one thing."""

    transitions: Transitions
    retry_counts: bool = True
    """§3.1: retry() adds one to the attempt, and mark_starting counts once more (§2.3)"""
    resume_in_place_queues: bool = True
    """§3.1: resume() leads to queued, from wherever"""
    retry_waits_for_carrier: bool = False
    clears_started_at: bool = False
    reset_when_live: bool = True
    force_to_live: bool = True
    abort_needs_report: bool = False


PRINTED_RULES = TaskRules(TRANSITIONS)


def _edge(rules: TaskRules, begin: str, end: str, timeouts: bool) -> list[Operation]:
    """The operations that an edge of the table stands for; with ``timeouts`` an attempt may end before its thread."""
    name = f"{begin} > {end}"
    guards: dict[str, TruthTerm] = {"status": is_in(task("status"), begin)}
    effect: Effect = {task("status"): end}
    no_carrier = Equal(task("carriers"), Const(0))
    if rules.retry_waits_for_carrier and end == "starting":
        guards["no carrier lives"] = no_carrier
    if end == "starting":
        guards["attempt + 1 <= max_attempts"] = Less(task("attempt"), task("max_attempts"))
        effect |= {
            task("attempt"): one_more(task("attempt")),
            task("started_at_set"): True,
            task("carriers"): one_more(task("carriers")),
            task("starts"): one_more(task("starts")),
            task("reported"): False,
        }
        if begin == "queued":
            effect[task("slot")] = True
    if begin == "starting" and end == "running":
        effect[task("reported")] = True
    if end == "running":
        guards["started_at is set"] = yes(task("started_at_set"))
    if begin == "pausing" and end == "running" and rules.abort_needs_report:
        guards["the start was reported"] = yes(task("reported"))
    if begin == "paused" and end == "queued" and not rules.resume_in_place_queues:
        guards["not in place"] = no_carrier
    if begin == "paused" and end == "running" and rules.clears_started_at:
        guards["in place"] = Less(Const(0), task("carriers"))
    gone: Effect = {task("carriers"): 0, task("slot"): False}
    if end == "retry_wait":
        # An attempt ends because its carrier did, or because a clock ran out while a thread goes on (§5.4).
        cleared: Effect = {task("started_at_set"): False} if rules.clears_started_at else {}
        raised = operation(f"{name} (raised)", "003 §2.3", (TASK,), guards, effect | gone | cleared)
        timed = operation(
            f"{name} (timed out, the thread lives)",
            "003 §2.3, §2.4, §5.4",
            (TASK,),
            guards,
            {**effect, task("slot"): False, **cleared},
        )
        return [raised, timed] if timeouts else [raised]
    if end == "lost":
        effect[task("slot")] = False
    if end in ("succeeded", "failed") or (end == "stopped" and begin == "stopping"):
        effect |= gone
    if end == "stopped" and begin == "paused":
        effect[task("slot")] = False
    return [operation(name, "003 §2.3", (TASK,), guards, effect)]


def task_stage(rules: TaskRules = PRINTED_RULES, *, verbs: tuple[str, ...] = ()) -> World:
    """One task under the printed table; only the ``verbs`` asked for can be used besides.

    They are ``retry``, ``reset``, ``force``, ``late`` (an earlier carrier comes back) and ``time-outs`` (of threads).
    """
    timeouts = "time-outs" in verbs
    steps = [
        step for begin, ends in rules.transitions.items() for end in ends for step in _edge(rules, begin, end, timeouts)
    ]
    used: list[Operation] = []
    if "retry" in verbs:
        # Without force the attempt must still fit; §2.3 has mark_starting count and check it once more.
        effect: Effect = {task("status"): "queued"}
        if rules.retry_counts:
            effect[task("attempt")] = one_more(task("attempt"))
        guards: dict[str, TruthTerm] = {
            "revivable": is_in(task("status"), *REVIVABLE),
            "attempt < max_attempts": Less(task("attempt"), task("max_attempts")),
        }
        if rules.retry_waits_for_carrier:
            guards["no carrier lives"] = Equal(task("carriers"), Const(0))
        used.append(operation("retry", "003 §3.1", (TASK,), guards, effect, actor=Actor.CLIENT))
    if "reset" in verbs:
        guards = {"few starts": Less(task("starts"), Const(3))}
        if not rules.reset_when_live:
            guards["ended"] = is_in(task("status"), *TERMINAL)
            guards["no carrier lives"] = Equal(task("carriers"), Const(0))
        effect = {task("status"): "pending", task("attempt"): 0, task("started_at_set"): False, task("slot"): False}
        used.append(operation("reset", "003 §3.1", (TASK,), guards, effect, actor=Actor.CLIENT))
    if "force" in verbs:
        reach = ("running",) if rules.force_to_live else ("succeeded",)
        used += [
            operation(
                f"force_transition({to})",
                "003 §3.1",
                (TASK,),
                {"validate(): running has started_at (§2.3)": yes(task("started_at_set"))},
                {task("status"): to},
                actor=Actor.CLIENT,
            )
            for to in reach
        ]
    if "late" in verbs:
        # A carrier of an earlier attempt comes back; a verdict carries no attempt number.
        used.append(
            operation(
                "an earlier carrier returns",
                "003 §5.2, §13.5",
                (TASK,),
                {
                    "running": is_in(task("status"), "running"),
                    "two carriers": Less(Const(1), task("carriers")),
                },
                {task("status"): "succeeded", task("carriers"): Plus(task("carriers"), Const(-1))},
            )
        )
    root = member(
        "task",
        "task",
        status="pending",
        attempt=0,
        max_attempts=2,
        started_at_set=False,
        slot=False,
        carriers=0,
        reported=False,
        starts=0,
    )
    contract = draft("task as printed", (machine("task", FIELDS),), (*steps, *used))
    return stage("task as printed", "one task under the table of 003 §2.3", contract, root)
