"""The small worlds in which waiting and waking up are explored."""

from __future__ import annotations

from fencepost_model.machines.wakeup import WAKEUP_CONTRACT
from fencepost_model.semantics import Member, Population
from fencepost_model.worlds import World, later


def channel_with(works: int, waiters: int) -> Population:
    """One channel with so many pieces of work and so many waiters."""
    return Population(
        Member(
            "channel",
            "channel",
            {},
            (
                *(Member("work", f"work {number}") for number in range(1, works + 1)),
                *(Member("waiter", f"waiter {number}") for number in range(1, waiters + 1)),
            ),
        )
    )


WAKEUP_ONE = World(
    name="wakeup-one",
    meaning="one waiter, one piece of work that may be due later",
    contract=WAKEUP_CONTRACT,
    population=channel_with(1, 1),
    horizon=3,
    arguments={"enqueue.available_at": later(0, 1), "put_back.available_at": later(1)},
    settings={"poll_seconds": 2},
)

WAKEUP_TWO = World(
    name="wakeup-two",
    meaning="two waiters and one piece of work",
    contract=WAKEUP_CONTRACT,
    population=channel_with(1, 2),
    horizon=1,
    arguments={"enqueue.available_at": later(0), "put_back.available_at": later(1)},
    settings={"poll_seconds": 1},
    unreached=frozenset({"due_while_asleep"}),
)

WORLDS: tuple[World, ...] = (WAKEUP_ONE, WAKEUP_TWO)
"""The worlds that can be named on a command line."""

SMALL_WORLDS: tuple[World, ...] = WORLDS
"""The worlds in which each guard is dropped in turn; together they take every transition."""
