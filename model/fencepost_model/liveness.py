"""Questions about what must come to an end, as data: under whose fairness, in which world, and with which answer.

A component is *weakly fair* when it does not stand by for ever while it could act: if from some moment on one of its
operations is enabled without interruption, it takes one, again and again. The clock is a component too. Nothing is
supposed of those who are not named: workers may renew for ever, clients may never call. A state that a user asked for
and only a user ends (a pause) is no live state; a question about such a machine says so in ``live``.
"""

from __future__ import annotations

from dataclasses import dataclass

from fencepost_model.contract import Contract
from fencepost_model.shapes import Variable
from fencepost_model.terms import FieldOf, OneOf, TruthTerm
from fencepost_model.worlds import World


@dataclass(frozen=True)
class Component:
    """Somebody who does not stand by for ever: one who takes these operations, or the clock."""

    name: str
    operations: tuple[str, ...] = ()
    clock: bool = False


CLOCK = Component("clock", clock=True)


@dataclass(frozen=True)
class Live:
    """The states that must be left: ``statement`` holds for some entities that ``over`` may stand for."""

    over: tuple[Variable, ...]
    statement: TruthTerm


def not_ended(contract: Contract) -> Live:
    """The root is in a status that is not terminal."""
    root = contract.root
    return Live((Variable(root.name, root.name),), OneOf(FieldOf(root.name, "status"), root.live))


@dataclass(frozen=True)
class Question:
    """Whether every live state is left for good in the end, in a world and while these components are fair.

    ``ends`` is the answer that is expected. ``contract`` takes the place of the world's where a mutant is asked about.
    Raises ``ValueError`` when a component names an operation that the world does not call.
    """

    name: str
    clause: str
    world: World
    fair: tuple[Component, ...]
    live: Live
    ends: bool
    meaning: str
    contract: Contract | None = None

    def __post_init__(self) -> None:
        called = {operation.name for operation in self.world.operations()}
        for component in self.fair:
            for name in component.operations:
                if name not in called:
                    told = f"question {self.name!r} relies on {name!r} of {component.name!r}"
                    raise ValueError(f"{told}, which world {self.world.name!r} never calls; leave it out")
