"""The small worlds in which render slots are explored."""

from __future__ import annotations

from fencepost_model.machines.slot import OWN_CODES, SLOT_CONTRACT
from fencepost_model.semantics import Member, Population
from fencepost_model.terms import NULL, ValueTerm
from fencepost_model.worlds import World, const, later


def worker(attempts: int) -> Population:
    """One worker, which may be given so many attempts."""
    slots = tuple(Member("slot", f"attempt {number}") for number in range(1, attempts + 1))
    return Population(Member("worker", "worker", {"worker_id": "w"}, slots))


FULL: dict[str, tuple[ValueTerm, ...]] = {
    "*.epoch": const(1, 2),
    "*.code": const(OWN_CODES[0]),
    "reserve.deadline_at": (NULL, *later(0, 3)),
}
"""Arguments good and bad, so that every guard has a call that only it refuses."""

SLOT_SINGLE = World(
    name="slot-single",
    meaning="one attempt on one worker, with and without a deadline, a short lease, a longer time to live",
    contract=SLOT_CONTRACT,
    population=worker(1),
    horizon=4,
    arguments=FULL,
    settings={"lease_seconds": 2, "worker_ttl": 3},
    unreached=frozenset({"place_passed_on", "place_passed_on_to_a_newer_epoch"}),
)

SLOT_PAIR = World(
    name="slot-pair",
    meaning="two attempts on one worker, two epochs, no deadline",
    contract=SLOT_CONTRACT,
    population=worker(2),
    horizon=3,
    arguments={**FULL, "reserve.deadline_at": (NULL,)},
    settings={"lease_seconds": 1, "worker_ttl": 2},
    untaken=frozenset({"report_clean/expired", "give_up/expired"}),
    unreached=frozenset({"expired_reached", "lease_cut_by_deadline"}),
)

WORLDS: tuple[World, ...] = (SLOT_SINGLE, SLOT_PAIR)
"""The worlds that can be named on a command line."""

SMALL_WORLDS: tuple[World, ...] = WORLDS
"""The worlds in which each guard is dropped in turn; together they take every transition."""
