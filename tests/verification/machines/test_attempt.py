"""What hangs on a job: every obligation proved, every world explored, every new guard explained."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fencepost_model.contract import Contract
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.machines.attempt import ATTEMPT, ATTEMPT_CONTRACT, ATTEMPT_STATUSES, NEW_OPERATIONS, TASK, TURNS
from fencepost_model.machines.attempt_worlds import SMALL_WORLDS, WORLDS
from fencepost_model.shapes import ForEach, Variable
from fencepost_model.terms import Const
from fencepost_model.worlds import World
from fencepost_verification.evidence import Held, Refuted
from fencepost_verification.explore.local import explore_aggregate
from fencepost_verification.explore.necessity import Conjunct, Finding, Unexplained, conjuncts_of, examine
from fencepost_verification.explore.world import explore
from fencepost_verification.prove.prover import prove
from fencepost_verification.prove.redundancy import Implied, Redundancy

STATES = {"attempt-parked": 3816, "attempt-overdue": 240, "attempt-repeated": 5831}
NEW = [c for c in conjuncts_of(ATTEMPT_CONTRACT) if c not in set(conjuncts_of(JOB_CONTRACT))]


def test_everything_is_proved() -> None:
    failing = [o.name for o in prove(ATTEMPT_CONTRACT).obligations if not isinstance(o.verdict, Held)]
    assert failing == []


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_the_states_are_those_expected_and_break_nothing(world: World) -> None:
    exploration = explore(world)
    assert exploration.states == STATES[world.name]
    assert [v.statement for v in exploration.verdicts() if not isinstance(v, Held)] == []


def test_the_new_guards_are_those_of_the_new_operations_and_of_the_attempt_that_a_claim_opens() -> None:
    names = {operation.name for operation in NEW_OPERATIONS}
    assert {str(c) for c in NEW if c.operation not in names} == {"claim.attempt_new"}


def test_every_new_guard_is_necessary_or_implied_by_others() -> None:
    redundancy = Redundancy(ATTEMPT_CONTRACT)

    def implied(conjunct: Conjunct) -> tuple[str, ...] | None:
        answer = redundancy.implied_by(conjunct.operation, conjunct.case, conjunct.guard)
        return answer.names if isinstance(answer, Implied) else None

    found: list[Finding] = [examine(ATTEMPT_CONTRACT, SMALL_WORLDS, conjunct, implied) for conjunct in NEW]
    assert [str(finding.conjunct) for finding in found if isinstance(finding, Unexplained)] == []


def refuted(contract: Contract) -> set[str]:
    """The statements that a mutant of the contract is proved to break, each with a run from the start."""
    return {o.statement for o in prove(contract).obligations if isinstance(o.verdict, Refuted) and o.statement}


@pytest.mark.parametrize(
    ("subject", "statement"), [(TASK, "INV-3"), (ATTEMPT, "open_attempt_is_current")], ids=["task", "attempt"]
)
@pytest.mark.parametrize("name", ["succeed", "request_cancel", "recover"])
def test_an_operation_that_forgets_a_row_is_refuted(name: str, subject: Variable, statement: str) -> None:
    operation = ATTEMPT_CONTRACT.operation(name)
    cases = tuple(replace(c, also=tuple(each for each in c.also if each.subject != subject)) for c in operation.cases)
    forgetful = replace(operation, cases=cases)
    kept = tuple(forgetful if other.name == name else other for other in ATTEMPT_CONTRACT.operations)
    assert statement in refuted(replace(ATTEMPT_CONTRACT, operations=kept, checked=False))


ORDER = [status.name for status in ATTEMPT_STATUSES]
TURNED = sorted((operation, case) for (operation, case), turn in TURNS.items() if turn is not None)


@pytest.mark.parametrize(("name", "outcome"), TURNED, ids=["/".join(turned) for turned in TURNED])
def test_no_other_word_would_do_for_the_attempt(name: str, outcome: str) -> None:
    turn = TURNS[name, outcome]
    assert turn is not None
    other = Const(ORDER[(ORDER.index(turn.left) + 1) % len(ORDER)])
    operation = ATTEMPT_CONTRACT.operation(name)

    def misled(each: ForEach) -> ForEach:
        if each.subject != ATTEMPT:
            return each
        return replace(each, effect=tuple(replace(assignment, value=other) for assignment in each.effect))

    cases = tuple(
        replace(case, also=tuple(misled(each) for each in case.also)) if case.name == outcome else case
        for case in operation.cases
    )
    kept = tuple(replace(o, cases=cases) if o.name == name else o for o in ATTEMPT_CONTRACT.operations)
    mutant = replace(ATTEMPT_CONTRACT, operations=kept, checked=False)
    assert any(explore_aggregate(world, mutant, stop_at_violation=True).violations for world in SMALL_WORLDS)
