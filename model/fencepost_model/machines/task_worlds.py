"""The small worlds in which the Task machine is explored."""

from __future__ import annotations

from fencepost_model.machines.task import CARRIER_ENDS, REVIVALS, TASK_CONTRACT
from fencepost_model.semantics import Member, Population
from fencepost_model.worlds import World, const


def tasks(carriers: int) -> Population:
    """One task that so many carriers may work on, one after the other or, by force, at once."""
    return Population(
        Member("task", "task", {}, tuple(Member("carrier", f"carrier{n}") for n in range(1, carriers + 1)))
    )


VERSIONS = 9
"""Verbs are tried on rows up to this version, which is what keeps a world finite: people may go round for ever."""

TASK_SMALL = World(
    name="task-small",
    meaning="one task with one or two attempts, two carriers and two places, every event",
    contract=TASK_CONTRACT,
    population=tasks(2),
    horizon=0,
    arguments={
        "submit.max_attempts": const(0, 1, 2),
        "dispatch.place": const("p1", "p2"),
        "*.version": const(*range(VERSIONS)),
        "window_over.killed": const(False, True),
    },
    untaken=frozenset({"upstream_failed/skipped"}),
)

WITNESSES = frozenset(witness.name for witness in TASK_CONTRACT.witnesses)
OPERATIONS = frozenset(operation.name for operation in TASK_CONTRACT.operations)

TASK_ASKED = World(
    name="task-asked",
    meaning="one task and all that its caller and its scheduler may ask of it, as far as the end of its first attempt",
    contract=TASK_CONTRACT,
    population=tasks(1),
    horizon=0,
    arguments={
        **TASK_SMALL.arguments,
        "dispatch.place": const("p1"),
        "pause.version": const(*range(4)),
        "*.version": const(*range(6)),
    },
    without=frozenset(
        {
            *REVIVALS,
            *(end for end in CARRIER_ENDS if end != "raised_retry"),
            "vanished",
            "window_over",
            "late_end",
            "backoff_over",
        }
    ),
    untaken=frozenset({"upstream_failed/skipped"}),
    unreached=frozenset({"succeeded_reached", "history_after_reset", "last_attempt_failed", "two_carriers_live"}),
)

TASK_AGAIN = World(
    name="task-again",
    meaning="one task, all ends of its attempts, and all ways to try it again, also beside a carrier that was given up",
    contract=TASK_CONTRACT,
    population=tasks(2),
    horizon=0,
    arguments={
        **TASK_SMALL.arguments,
        "submit.max_attempts": const(1, 2),
        "stop.version": const(3),
        "cancel.version": const(3),
        "pause.version": const(2, 3, 4),
        "*.version": const(3, 4),
    },
    without=frozenset(
        {
            "resume",
            "skip",
            "deps_missing",
            "upstream_failed",
            "condition_false",
            "attempt_timeout",
            "idle_timeout",
            "pause_window_over",
        }
    ),
    untaken=frozenset({"stop/noted_before", "cancel/noted_before"}),
    unreached=frozenset({"blocked_reached"}),
)

TASK_SKIPPING = World(
    name="task-skipping",
    meaning="one task that is left out when something upstream has failed",
    contract=TASK_CONTRACT,
    population=tasks(1),
    horizon=0,
    arguments=TASK_ASKED.arguments,
    settings={"skips_downstream": True},
    without=OPERATIONS - {"submit", "deps_missing", "deps_ready", "upstream_failed"},
    untaken=frozenset({"upstream_failed/cancelled", "deps_ready/paused"}),
    unreached=WITNESSES - {"pending_reached", "blocked_reached", "queued_reached", "skipped_reached"},
)

WORLDS: tuple[World, ...] = (TASK_SMALL, TASK_ASKED, TASK_AGAIN, TASK_SKIPPING)
"""The worlds that can be named on a command line."""

SMALL_WORLDS: tuple[World, ...] = (TASK_ASKED, TASK_AGAIN, TASK_SKIPPING)
"""The worlds in which each guard is dropped in turn; together they take every transition."""
