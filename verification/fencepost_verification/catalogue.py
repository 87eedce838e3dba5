"""Every check by name: what is proved, explored and asked of each guard, for which contract and in which worlds.

The commands, the site and the tests take their checks from here, so that all three speak of the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fencepost_model.contract import Contract
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.machines.job_worlds import SMALL_WORLDS, WORLDS
from fencepost_model.worlds import World
from fencepost_verification.explore.necessity import Conjunct, Finding, conjuncts_of, necessity
from fencepost_verification.explore.world import Exploration, explore
from fencepost_verification.prove.prover import Proof, prove
from fencepost_verification.prove.redundancy import Implied, Redundancy

CONTRACT: Contract = JOB_CONTRACT
"""The contract that this repository is about."""

BY_NAME: Mapping[str, World] = {world.name: world for world in WORLDS}
"""The worlds that can be explored, by name."""


def proof() -> Proof:
    """Every obligation of the contract, unbounded."""
    return prove(CONTRACT)


def exploration(world: str) -> Exploration:
    """Every state of one of the named worlds. Raises ``KeyError`` for a name that is none."""
    return explore(BY_NAME[world])


def findings(progress: Callable[[str, int, int], None] = lambda stage, done, total: None) -> list[Finding]:
    """Why each guard is there; ``progress`` is told of each, how many are done and how many there are."""
    implications = Redundancy(CONTRACT)
    conjuncts = list(conjuncts_of(CONTRACT))

    def implied(conjunct: Conjunct) -> tuple[str, ...] | None:
        progress(f"without {conjunct}", conjuncts.index(conjunct), len(conjuncts))
        answer = implications.implied_by(conjunct.operation, conjunct.case, conjunct.guard)
        return answer.names if isinstance(answer, Implied) else None

    return necessity(CONTRACT, SMALL_WORLDS, implied)
