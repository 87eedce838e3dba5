"""Waiting and waking up: every obligation proved, every world explored, every guard explained."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fencepost_model.contract import Contract
from fencepost_model.machines.wakeup import WAKEUP_CONTRACT
from fencepost_model.machines.wakeup_worlds import SMALL_WORLDS, WORLDS
from fencepost_model.terms import AnyOf
from fencepost_model.worlds import World
from fencepost_verification.evidence import Held, Refuted
from fencepost_verification.explore.necessity import Conjunct, Finding, Unexplained, conjuncts_of, examine
from fencepost_verification.explore.world import explore
from fencepost_verification.prove.prover import prove
from fencepost_verification.prove.redundancy import Implied, Redundancy

STATES = {"wakeup-one": 3560, "wakeup-two": 13829}


def test_everything_is_proved() -> None:
    failing = [o.name for o in prove(WAKEUP_CONTRACT).obligations if not isinstance(o.verdict, Held)]
    assert failing == []


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_the_states_are_those_expected_and_break_nothing(world: World) -> None:
    exploration = explore(world)
    assert exploration.states == STATES[world.name]
    assert [v.statement for v in exploration.verdicts() if not isinstance(v, Held)] == []


def test_every_guard_is_necessary_or_implied_by_others() -> None:
    redundancy = Redundancy(WAKEUP_CONTRACT)

    def implied(conjunct: Conjunct) -> tuple[str, ...] | None:
        answer = redundancy.implied_by(conjunct.operation, conjunct.case, conjunct.guard)
        return answer.names if isinstance(answer, Implied) else None

    found: list[Finding] = [examine(WAKEUP_CONTRACT, SMALL_WORLDS, c, implied) for c in conjuncts_of(WAKEUP_CONTRACT)]
    assert [str(finding.conjunct) for finding in found if isinstance(finding, Unexplained)] == []


def refuted(contract: Contract) -> set[str]:
    """The statements that a mutant of the contract is proved to break, each with a run from the start."""
    return {o.statement for o in prove(contract).obligations if isinstance(o.verdict, Refuted) and o.statement}


def test_a_waiter_that_overlooks_due_work_is_refuted() -> None:
    look = WAKEUP_CONTRACT.operation("find_nothing")
    blind = replace(look, guards=tuple(guard for guard in look.guards if guard.name != "nothing_due"))
    kept = tuple(blind if operation.name == look.name else operation for operation in WAKEUP_CONTRACT.operations)
    assert refuted(replace(WAKEUP_CONTRACT, operations=kept, checked=False)) == {"no_lost_wake_up"}


def test_without_the_poll_a_sleep_may_last_for_ever() -> None:
    wake = WAKEUP_CONTRACT.operation("wake_up")
    sleeping, called = wake.guards
    assert isinstance(called.term, AnyOf)
    news = replace(called, term=called.term.parts[0])
    kept = tuple(
        replace(wake, guards=(sleeping, news)) if operation.name == wake.name else operation
        for operation in WAKEUP_CONTRACT.operations
    )
    broken = {"woken_by_the_poll", "poll_wakes_on_time"}
    assert refuted(replace(WAKEUP_CONTRACT, operations=kept, checked=False)) == broken
