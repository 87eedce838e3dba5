"""Every check by name: what is proved, explored and asked of each guard, for which contract and in which worlds.

The commands, the site and the tests take their checks from here, so that all three speak of the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context

from fencepost_model.contract import Contract
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.machines.job_worlds import SMALL_WORLDS, WORLDS
from fencepost_model.worlds import World
from fencepost_verification.explore.necessity import Conjunct, Finding, conjuncts_of, examine
from fencepost_verification.explore.world import Exploration, explore
from fencepost_verification.prove.prover import Proof, prove
from fencepost_verification.prove.redundancy import Implied, Redundancy

CONTRACT: Contract = JOB_CONTRACT
"""The contract that this repository is about."""

PROCESSES = 2
"""How many processes share the longer checks."""

BY_NAME: Mapping[str, World] = {world.name: world for world in WORLDS}
"""The worlds that can be explored, by name."""


def proof() -> Proof:
    """Every obligation of the contract, unbounded."""
    return prove(CONTRACT)


def exploration(world: str) -> Exploration:
    """Every state of one of the named worlds. Raises ``KeyError`` for a name that is none."""
    return explore(BY_NAME[world])


def findings(
    progress: Callable[[str, int, int], None] = lambda stage, done, total: None, part: str = ""
) -> list[Finding]:
    """Why each guard is there whose name contains ``part``, in the order written, on two processes.

    ``progress`` is told which conjunct is next, how many are done and how many there are.
    """
    conjuncts = [conjunct for conjunct in conjuncts_of(CONTRACT) if part in str(conjunct)]
    found: list[Finding] = []
    with ProcessPoolExecutor(max_workers=PROCESSES, mp_context=get_context("spawn")) as pool:
        # The order is that of the contract; each process takes a few at a time, for they differ much in length.
        answers = pool.map(finding_of, conjuncts, chunksize=4)
        for number, conjunct in enumerate(conjuncts):
            progress(f"without {conjunct}", number, len(conjuncts))
            found.append(next(answers))
    return found


def finding_of(conjunct: Conjunct) -> Finding:
    """Why one guard is there."""
    return examine(CONTRACT, SMALL_WORLDS, conjunct, _implied)


def _implied(conjunct: Conjunct) -> tuple[str, ...] | None:
    answer = _redundancy().implied_by(conjunct.operation, conjunct.case, conjunct.guard)
    return answer.names if isinstance(answer, Implied) else None


@cache
def _redundancy() -> Redundancy:
    return Redundancy(CONTRACT)
