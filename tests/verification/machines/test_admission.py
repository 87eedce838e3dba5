"""Admission, parents and groups: every obligation proved, every world explored, every guard explained."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fencepost_model.contract import Contract
from fencepost_model.machines.admission import ADMISSION_CONTRACT, GROUP_CONTRACT
from fencepost_model.machines.admission_worlds import GROUP_WORLDS, SMALL_WORLDS, WORLDS
from fencepost_model.worlds import World
from fencepost_verification.evidence import Held, Refuted
from fencepost_verification.explore.necessity import Conjunct, Finding, Unexplained, conjuncts_of, examine
from fencepost_verification.explore.world import explore
from fencepost_verification.prove.prover import prove
from fencepost_verification.prove.redundancy import Implied, Redundancy

STATES = {
    "admission-full": 2944,
    "admission-family": 8182,
    "admission-names": 358,
    "admission-children": 9013,
    "group-shared": 55,
}

BOTH: tuple[tuple[Contract, tuple[World, ...]], ...] = (
    (ADMISSION_CONTRACT, SMALL_WORLDS),
    (GROUP_CONTRACT, GROUP_WORLDS),
)
NAMES = ["admission", "group"]


@pytest.mark.parametrize(("contract", "_worlds"), BOTH, ids=NAMES)
def test_everything_is_proved(contract: Contract, _worlds: tuple[World, ...]) -> None:
    failing = [o.name for o in prove(contract).obligations if not isinstance(o.verdict, Held)]
    assert failing == []


@pytest.mark.parametrize("world", [*WORLDS, *GROUP_WORLDS], ids=lambda world: world.name)
def test_the_states_are_those_expected_and_break_nothing(world: World) -> None:
    exploration = explore(world)
    assert exploration.states == STATES[world.name]
    assert [v.statement for v in exploration.verdicts() if not isinstance(v, Held)] == []


@pytest.mark.parametrize(("contract", "worlds"), BOTH, ids=NAMES)
def test_every_guard_is_necessary_or_implied_by_others(contract: Contract, worlds: tuple[World, ...]) -> None:
    redundancy = Redundancy(contract)

    def implied(conjunct: Conjunct) -> tuple[str, ...] | None:
        answer = redundancy.implied_by(conjunct.operation, conjunct.case, conjunct.guard)
        return answer.names if isinstance(answer, Implied) else None

    found: list[Finding] = [examine(contract, worlds, conjunct, implied) for conjunct in conjuncts_of(contract)]
    assert [str(finding.conjunct) for finding in found if isinstance(finding, Unexplained)] == []


def refuted(contract: Contract) -> set[str]:
    """The statements that a mutant of the contract is proved to break, each with a run from the start."""
    return {o.statement for o in prove(contract).obligations if isinstance(o.verdict, Refuted) and o.statement}


@pytest.mark.parametrize(
    ("name", "guard", "statement"),
    [
        ("submit", "seat_free", "never_above_capacity"),
        ("submit", "queue_has_room", "live_on_its_seats"),
        ("submit", "not_cancelling", "one_live_job_a_key"),
        ("submit_child", "parent_not_cancelled", "no_child_left_behind"),
    ],
)
def test_an_admission_that_does_not_look_is_refuted(name: str, guard: str, statement: str) -> None:
    operation = ADMISSION_CONTRACT.operation(name)
    careless = replace(operation, guards=tuple(g for g in operation.guards if g.name != guard))
    kept = tuple(careless if other.name == name else other for other in ADMISSION_CONTRACT.operations)
    assert statement in refuted(replace(ADMISSION_CONTRACT, operations=kept, checked=False))
