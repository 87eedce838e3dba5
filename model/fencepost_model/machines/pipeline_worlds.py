"""The small worlds in which pipelines are explored."""

from __future__ import annotations

from collections.abc import Mapping

from fencepost_model.machines.pipeline import (
    ALL_ENDED,
    ALL_SETTLED,
    ALL_SUCCEEDED,
    ANY_SUCCEEDED,
    CANCEL,
    CANCELLED,
    FAIL_FAST,
    FAILED,
    PIPELINE_CONTRACT,
    QUORUM,
    STOP,
    STOPPED,
    SUCCEEDED,
)
from fencepost_model.semantics import Member, Population
from fencepost_model.worlds import World, const


def pipeline(nodes: Mapping[str, tuple[str, tuple[str, ...]]], places: int) -> Population:
    """A pipeline: each node with its join and the nodes that it waits for, and so many places."""
    members = (
        *(
            Member(
                "node",
                name,
                {"node_id": name, "join": join},
                tuple(Member("edge", f"{name} after {up}", {"upstream": up}) for up in upstream),
            )
            for name, (join, upstream) in nodes.items()
        ),
        *(Member("place", f"place{number}", {"place_id": f"p{number}"}) for number in range(1, places + 1)),
    )
    return Population(Member("run", "run", {}, members))


ARGUMENTS = {
    "stop_run.asked": const(STOP, CANCEL),
    "node_ended.outcome": const(SUCCEEDED, FAILED, STOPPED, CANCELLED),
}

CHAIN = World(
    name="pipeline-chain",
    meaning="three nodes, each waiting for the success of the one before, a failure skips what follows it",
    contract=PIPELINE_CONTRACT,
    population=pipeline({"a": (ALL_SUCCEEDED, ()), "b": (ALL_SUCCEEDED, ("a",)), "c": (ALL_SUCCEEDED, ("b",))}, 1),
    horizon=0,
    arguments=ARGUMENTS,
    settings={"policy": ALL_SETTLED, "skips_downstream": True},
    untaken=frozenset({"node_ended/fail_fast", "conclude/quorum_met", "conclude/quorum_missed"}),
    unreached=frozenset({"released_beside_a_failure", "place_wanted"}),
)

CLEAN_UP = World(
    name="pipeline-clean-up",
    meaning="three nodes in a row, the last of which cleans up after the end of the second, under fail_fast",
    contract=PIPELINE_CONTRACT,
    population=pipeline({"a": (ALL_SUCCEEDED, ()), "b": (ALL_SUCCEEDED, ("a",)), "c": (ALL_ENDED, ("b",))}, 1),
    horizon=0,
    arguments=ARGUMENTS,
    settings={"policy": FAIL_FAST},
    untaken=frozenset({"conclude/quorum_met", "conclude/quorum_missed"}),
)

FAN_IN = World(
    name="pipeline-fan-in",
    meaning="two nodes and one that waits for the success of either, under fail_fast, in two places",
    contract=PIPELINE_CONTRACT,
    population=pipeline({"a": (ANY_SUCCEEDED, ()), "b": (ALL_SUCCEEDED, ()), "c": (ANY_SUCCEEDED, ("a", "b"))}, 2),
    horizon=0,
    arguments=ARGUMENTS,
    settings={"policy": FAIL_FAST},
    untaken=frozenset({"conclude/quorum_met", "conclude/quorum_missed"}),
)

AFTERWARDS = World(
    name="pipeline-quorum",
    meaning="two nodes and one that cleans up after their ends, under a quorum of two, in two places",
    contract=PIPELINE_CONTRACT,
    population=pipeline({"a": (ALL_SUCCEEDED, ()), "b": (ALL_SUCCEEDED, ()), "c": (ALL_ENDED, ("a", "b"))}, 2),
    horizon=0,
    arguments=ARGUMENTS,
    settings={"policy": QUORUM, "quorum": 2},
    untaken=frozenset(
        {
            "cascade",
            "node_ended/fail_fast",
            "conclude/node_failed",
            "conclude/node_stopped",
            "conclude/node_cancelled",
            "conclude/succeeded",
        }
    ),
    unreached=frozenset({"fallen_because_of_another"}),
)

WORLDS: tuple[World, ...] = (CHAIN, CLEAN_UP, FAN_IN, AFTERWARDS)
"""The worlds that can be named on a command line."""

SMALL_WORLDS: tuple[World, ...] = WORLDS
"""The worlds in which each guard is dropped in turn; together they take every transition."""
