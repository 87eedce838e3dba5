"""The small worlds that are toured, and what becomes of them when an implementation lacks a capability.

Bounds live here and never in the contract. The *core* world has one job, two workers (the second is a name that tokens
carry), three attempts, a deadline, parking, skipping and rows of older programs; the *plain* world has what the core
world cannot have at the same time: no words registered, jobs without a deadline, a cancel that loses against a success.
Together they take every transition of the contract, and make every guard that can be the only one in the way just that.

Numbers are seconds. They are small on purpose: an implementation that adds a second of grace to a lease is found.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from fencepost_model.error_codes import EXAMPLES, Family
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.machines.job_worlds import FULL, PARKING, PLAIN, jobs
from fencepost_model.specification import Chapter
from fencepost_model.terms import NULL
from fencepost_model.worlds import World, const, later
from fencepost_verification.conformance.capabilities import JOB, LOAD_LEGACY, PROTOCOL, Capability


@dataclass(frozen=True, eq=False)
class Scope:
    """A world to tour, and the capabilities that the suite knows for its contract."""

    world: World
    capabilities: tuple[Capability, ...]

    @property
    def name(self) -> str:
        """The name of the world."""
        return self.world.name

    def without(self, lacking: Iterable[Capability]) -> World:
        """The world as far as an implementation goes that lacks these capabilities."""
        world = self.world
        settings = dict(world.settings)
        without = set(world.without)
        legacy = world.legacy
        for capability in lacking:
            settings |= capability.settings
            without |= capability.operations
            legacy = legacy and capability.name != LOAD_LEGACY.name
        return replace(world, settings=settings, without=frozenset(without), legacy=legacy)


CORE: Final = Scope(
    World(
        name="core",
        meaning="one job, two workers, three attempts, a deadline, parking, skipping, rows of older programs",
        contract=JOB_CONTRACT,
        population=jobs(1, "w1"),
        horizon=5,
        arguments={
            **FULL,
            "enqueue.max_attempts": const(3, 0),
            "enqueue.deadline_at": (*later(4, 0), NULL),
            "*.message": const("what went wrong"),
        },
        settings=PARKING,
    ),
    (*PROTOCOL, *JOB),
)
"""The world of which all edges and all refusals are taken."""

BARE: Final = Scope(
    World(
        name="plain",
        meaning="one job, two workers, one attempt, with or without deadline, nothing registered, success beats cancel",
        contract=JOB_CONTRACT,
        population=jobs(1, "w1"),
        horizon=3,
        arguments={
            **FULL,
            "enqueue.max_attempts": const(1),
            "enqueue.deadline_at": (NULL, *later(2)),
            "fail.code": const(EXAMPLES[Family.INFRA]),
            "skip.code": const(EXAMPLES[Family.CONTENT]),
            "park.next_poll_at": later(1),
        },
        settings={**PLAIN, "cancel_wins": False},
        legacy=False,
    ),
    (*PROTOCOL, *JOB),
)
"""What the core world cannot have at the same time."""

SCOPES: Final[tuple[Scope, ...]] = (CORE, BARE)
"""What a run tours unless told otherwise."""


class NothingToTour(ValueError):
    """A chapter has no world that a run can walk; the message says what to add."""


def scopes_of(chapter: Chapter) -> tuple[Scope, ...]:
    """What a run tours to judge an implementation of a chapter's contract.

    For the job that is ``SCOPES``; for another contract the worlds that its chapter names in ``toured``, else those of
    its worlds that have a single aggregate. Raises ``NothingToTour`` when there are none.
    """
    if chapter.contract is JOB_CONTRACT:
        return SCOPES
    worlds = chapter.toured or tuple(world for world in chapter.worlds if world.population.aggregates == 1)
    if not worlds:
        raise NothingToTour(
            f"chapter {chapter.name!r} has no world of a single {chapter.contract.root.name}: add one to its worlds"
        )
    return tuple(Scope(world, PROTOCOL) for world in worlds)
