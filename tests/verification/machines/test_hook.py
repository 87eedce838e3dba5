"""Claims with hooks: every obligation proved, every world explored, every guard explained."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fencepost_model.contract import Contract
from fencepost_model.machines.hook import HOOK_CONTRACT
from fencepost_model.machines.hook_worlds import SMALL_WORLDS, WORLDS
from fencepost_model.worlds import World
from fencepost_verification.evidence import Held, Refuted
from fencepost_verification.explore.necessity import Conjunct, Finding, Unexplained, conjuncts_of, examine
from fencepost_verification.explore.world import explore
from fencepost_verification.prove.prover import prove
from fencepost_verification.prove.redundancy import Implied, Redundancy

STATES = {"hook-pair": 1375}


def test_everything_is_proved() -> None:
    failing = [o.name for o in prove(HOOK_CONTRACT).obligations if not isinstance(o.verdict, Held)]
    assert failing == []


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_the_states_are_those_expected_and_break_nothing(world: World) -> None:
    exploration = explore(world)
    assert exploration.states == STATES[world.name]
    assert [v.statement for v in exploration.verdicts() if not isinstance(v, Held)] == []


def test_every_guard_is_necessary_or_implied_by_others() -> None:
    redundancy = Redundancy(HOOK_CONTRACT)

    def implied(conjunct: Conjunct) -> tuple[str, ...] | None:
        answer = redundancy.implied_by(conjunct.operation, conjunct.case, conjunct.guard)
        return answer.names if isinstance(answer, Implied) else None

    found: list[Finding] = [examine(HOOK_CONTRACT, SMALL_WORLDS, c, implied) for c in conjuncts_of(HOOK_CONTRACT)]
    assert [str(finding.conjunct) for finding in found if isinstance(finding, Unexplained)] == []


def refuted(contract: Contract) -> set[str]:
    """The statements that a mutant of the contract is proved to break, each with a run from the start."""
    return {o.statement for o in prove(contract).obligations if isinstance(o.verdict, Refuted) and o.statement}


def test_a_batch_that_is_only_rolled_back_is_refuted() -> None:
    claim = HOOK_CONTRACT.operation("claim_batch")
    rolled_back, claimed = claim.cases
    literal = replace(claim, cases=(replace(rolled_back, effect=()), claimed))
    kept = tuple(literal if operation.name == claim.name else operation for operation in HOOK_CONTRACT.operations)
    assert "claim_batch_lowers_rest_of_the_pass" in refuted(replace(HOOK_CONTRACT, operations=kept, checked=False))


@pytest.mark.parametrize("missing", ["claim_one", "end_pass", "claim_batch", "begin_pass"])
def test_a_pass_needs_every_operation_that_is_bound_to_go_on_with_it(missing: str) -> None:
    fewer = tuple(
        replace(progress, bound=tuple(name for name in progress.bound if name != missing))
        if progress.name == "pass_goes_on"
        else progress
        for progress in HOOK_CONTRACT.progress
    )
    assert refuted(replace(HOOK_CONTRACT, progress=fewer)) == {"pass_goes_on"}
