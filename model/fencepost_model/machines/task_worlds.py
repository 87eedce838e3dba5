"""The small worlds in which the Task machine is explored."""

from __future__ import annotations

from fencepost_model.machines.task import TASK_CONTRACT
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

TASK_SKIPPING = World(
    name="task-skipping",
    meaning="one task with two attempts and one carrier, left out when something upstream has failed",
    contract=TASK_CONTRACT,
    population=tasks(1),
    horizon=0,
    arguments={
        **TASK_SMALL.arguments,
        "submit.max_attempts": const(2),
        "dispatch.place": const("p1"),
        "*.version": const(*range(7)),
    },
    settings={"skips_downstream": True},
    untaken=frozenset({"upstream_failed/cancelled"}),
    unreached=frozenset({"two_carriers_live"}),
)

WORLDS: tuple[World, ...] = (TASK_SMALL, TASK_SKIPPING)
"""The worlds that can be named on a command line."""

SMALL_WORLDS: tuple[World, ...] = (TASK_SKIPPING, TASK_SMALL)
"""The worlds in which each guard is dropped in turn; together they take every transition."""
