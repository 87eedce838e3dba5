"""The small world in which commands are explored."""

from __future__ import annotations

from fencepost_model.machines.command import COMMAND_CONTRACT
from fencepost_model.semantics import Member, Population
from fencepost_model.worlds import World


def supervised(supervisors: tuple[str, ...], *deliveries: str) -> Population:
    """One task that the supervisors may look after, and one command, delivered in the processes given.

    A process named twice looks after the task from two threads, which share its identity.
    """
    command = Member("command", "command", {}, _named("token", deliveries))
    return Population(Member("subject", "task", {}, (*_named("supervisor", supervisors), command)))


def _named(machine: str, owners: tuple[str, ...]) -> tuple[Member, ...]:
    return tuple(
        Member(machine, owner + "'" * owners[:number].count(owner), {"owner_id": owner})
        for number, owner in enumerate(owners)
    )


COMMAND_SMALL = World(
    name="command-small",
    meaning="one task and one command; a supervisor of two threads may get it twice, and another one once",
    contract=COMMAND_CONTRACT,
    population=supervised(("s1", "s1", "s2"), "s1", "s1", "s2"),
    horizon=3,
    arguments={},
    settings={"supervisor_seconds": 2, "command_seconds": 1},
)

WORLDS: tuple[World, ...] = (COMMAND_SMALL,)
"""The worlds that can be named on a command line."""

SMALL_WORLDS: tuple[World, ...] = WORLDS
"""The worlds in which each guard is dropped in turn; together they take every transition."""
