"""The small worlds in which claims with hooks are explored."""

from __future__ import annotations

from fencepost_model.machines.hook import HOOK_CONTRACT
from fencepost_model.semantics import Member, Population
from fencepost_model.worlds import World, const


def claiming_of(rows: int) -> Population:
    """One worker that claims, and so many rows."""
    return Population(
        Member("claiming", "claiming", {}, tuple(Member("row", f"row {number}") for number in range(1, rows + 1)))
    )


HOOK_PAIR = World(
    name="hook-pair",
    meaning="two rows, each of which may be poisonous, and a worker that may die",
    contract=HOOK_CONTRACT,
    population=claiming_of(2),
    horizon=2,
    arguments={"offer.poisonous": const(True, False), "claim_one.delay": const(1)},
)

WORLDS: tuple[World, ...] = (HOOK_PAIR,)
"""The worlds that can be named on a command line."""

SMALL_WORLDS: tuple[World, ...] = WORLDS
"""The worlds in which each guard is dropped in turn; together they take every transition."""
