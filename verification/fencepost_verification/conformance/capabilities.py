"""What an implementation may lack: each capability is a sentence, and closed unless the implementation declares it.

The suite never asks whose implementation it judges; it asks for capabilities. What is lacking is left out of the worlds
that are toured, and every clause that cannot be judged without it is reported as *skipped*, with this sentence. Nothing
skipped counts as held.

Some capabilities belong to the protocol and to every contract; others to the machine at hand. A contract of one's own
brings a list of its own (``Capability`` records in the scope).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from fencepost_model.terms import Value


class UnknownCapability(ValueError):
    """An implementation declares a capability that the suite does not know; the message lists those it knows."""


@dataclass(frozen=True)
class Capability:
    """One thing that an implementation may be able to do.

    ``sentence`` states it as a promise of the implementation. Without it the operations in ``operations`` are not
    called, no call is made that a guard in ``guards`` (``operation.guard``) refuses, and each setting in ``settings``
    is held at the value given here.
    """

    name: str
    sentence: str
    operations: frozenset[str] = frozenset()
    guards: frozenset[str] = frozenset()
    settings: Mapping[str, Value] = field(default_factory=dict[str, Value])


INJECTED_CLOCK = Capability(
    "injected_clock",
    "The store's time is what the last reset or clock message said, and stands still in between.",
)
INSPECT = Capability("inspect", "Inspect shows the row as it is stored, under the names of the contract.")
LOAD_LEGACY = Capability("load_legacy", "Load puts a row into the store as an older program may have left it.")
EXPLAINS_REFUSALS = Capability(
    "explains_refusals",
    "A refusal names every guard that was false, and no other; without it an empty list is enough.",
)

PROTOCOL: tuple[Capability, ...] = (INJECTED_CLOCK, INSPECT, LOAD_LEGACY, EXPLAINS_REFUSALS)
"""What may be lacking whatever the contract."""

JOB: tuple[Capability, ...] = (
    Capability(
        "caller_names",
        "A second creation under a name that is taken is refused by the implementation itself, not by its harness.",
        guards=frozenset({"enqueue.new"}),
    ),
    Capability(
        "park",
        "A job may wait for an outside provider and be polled.",
        operations=frozenset({"park", "resume_poll"}),
        settings={"registers_park": False},
    ),
    Capability(
        "skip",
        "A job whose content no longer calls for it may end skipped.",
        operations=frozenset({"skip"}),
        settings={"registers_skip": False},
    ),
    Capability(
        "expired",
        "A job whose deadline has passed may end expired instead of failed.",
        settings={"registers_expired": False},
    ),
    Capability(
        "cancel_loses",
        "A profile may let a success that is reported after a cancel request stand.",
        settings={"cancel_wins": True},
    ),
    Capability(
        "release",
        "A worker may hand a job back.",
        operations=frozenset({"release"}),
    ),
)
"""What an implementation of the Job machine may lack."""


def complete(*more: Capability) -> frozenset[str]:
    """The names of all capabilities of the protocol, and of ``more``."""
    return frozenset(capability.name for capability in (*PROTOCOL, *more))


ALL_OF_JOB: frozenset[str] = complete(*JOB)
"""What an implementation of the Job machine declares that lacks nothing."""


def lacking(known: Iterable[Capability], declared: Collection[str]) -> tuple[Capability, ...]:
    """The capabilities that are not declared. Raises ``UnknownCapability`` for a name that nobody knows."""
    listed = tuple(known)
    names = [capability.name for capability in listed]
    for name in sorted(declared):
        if name not in names:
            raise UnknownCapability(
                f"The harness declares the capability {name!r}, which the suite does not know: use one of "
                f"{', '.join(names)}."
            )
    return tuple(capability for capability in listed if capability.name not in declared)
