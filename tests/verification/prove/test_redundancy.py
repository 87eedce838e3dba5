"""What implies a conjunct is found, is minimal, and is right; what nothing implies is shown on a row."""

from dataclasses import replace
from typing import TypeAlias

import pytest
from tests.verification.prove.miniatures import BATCHES, guard, some_part

from fencepost_model.contract import Contract
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.semantics import conditions
from fencepost_model.shapes import Guard, Invariant
from fencepost_model.terms import Not, Truth, holds
from fencepost_verification.prove.redundancy import (
    Implication,
    Implied,
    Irrelevant,
    NotImplied,
    Redundancy,
    Relevant,
    Undecided,
    implied_by,
)
from fencepost_verification.prove.sorts import well_formed

Answers: TypeAlias = dict[tuple[str, str | None, str], Implication]


@pytest.fixture(scope="module")
def redundancy() -> Redundancy:
    return Redundancy(JOB_CONTRACT)


@pytest.fixture(scope="module")
def answers(redundancy: Redundancy) -> Answers:
    """What is found about every conjunct, by operation, case and name."""
    keys = [
        (operation.name, case.name if case is not None else None, conjunct.name)
        for operation in JOB_CONTRACT.operations
        for case, conjunct in conditions(operation)
    ]
    return {key: redundancy.implied_by(*key) for key in keys}


def test_renewal_before_the_deadline_follows_from_the_lease(redundancy: Redundancy) -> None:
    found = redundancy.implied_by("renew", None, "before_deadline")
    assert found == Implied(("lease_alive",), (), ("lease_within_deadline",))
    assert isinstance(found, Implied)
    assert found.names == ("lease_alive", "lease_within_deadline")


@pytest.mark.parametrize(
    ("operation", "case", "conjunct"),
    [
        ("succeed", None, "generation"),
        ("succeed", None, "lease_alive"),
        ("claim", None, "pending"),
        ("claim", None, "not_cancelled"),
        ("claim", None, "budget_left"),
        ("recover", None, "lease_over"),
        ("recover", "requeued", "budget_left"),
        ("release", "handed_back", "below_ceiling"),
    ],
)
def test_what_keeps_the_promises_is_implied_by_nothing(
    redundancy: Redundancy, operation: str, case: str | None, conjunct: str
) -> None:
    assert isinstance(redundancy.implied_by(operation, case, conjunct), NotImplied)


def test_every_conjunct_of_the_job_is_decided_and_every_answer_stands_up(answers: Answers) -> None:
    implied = 0
    for (operation_name, case_name, name), found in answers.items():
        assert not isinstance(found, Undecided), (operation_name, case_name, name, found)
        operation = JOB_CONTRACT.operation(operation_name)
        taken = next((case for case in operation.cases if case.name == case_name), None)
        fellows = {g.name: g.term for g in (*operation.guards, *(taken.when if taken is not None else ()))}
        if isinstance(found, NotImplied):
            seen = found.counterexample
            assert seen.call is not None
            scope = seen.semantics.scope(seen.before, 0, seen.call.binding, seen.call.params)
            assert {g for g, term in fellows.items() if not holds(term, scope)} >= {name}
            assert seen.semantics.broken_invariants(seen.before) == ()
        else:
            implied += 1
            invariants = {i.name for i in (*JOB_CONTRACT.invariants, *well_formed(JOB_CONTRACT))}
            assert set(found.guards) | set(found.conditions) <= fellows.keys() - {name}
            assert set(found.invariants) <= invariants
    assert implied == 22


def test_what_implies_a_conjunct_is_minimal() -> None:
    """Without any one of the names it is implied no more, or by others that were not named."""
    names = Redundancy(JOB_CONTRACT).implied_by("renew", None, "owner")
    assert names == Implied(("generation",), (), ("current_token_holds",))
    fewer = replace(
        JOB_CONTRACT, invariants=tuple(i for i in JOB_CONTRACT.invariants if i.name != "current_token_holds")
    )
    assert isinstance(implied_by(fewer, "renew", None, "owner"), NotImplied)


def test_the_same_names_are_found_in_whatever_order_one_asks(answers: Answers) -> None:
    another = Redundancy(JOB_CONTRACT)
    for key, found in reversed(answers.items()):
        if isinstance(found, Implied):
            assert another.implied_by(*key) == found


def test_a_conjunct_that_is_always_true_rests_on_nothing() -> None:
    idle = replace(JOB_CONTRACT.operation("renew").guards[0], name="idle", term=Truth(True))
    assert implied_by(with_guard(JOB_CONTRACT, "renew", idle), "renew", None, "idle") == Implied((), (), ())


def with_guard(contract: Contract, name: str, more: Guard) -> Contract:
    return replace(
        contract,
        operations=tuple(
            replace(operation, guards=(*operation.guards, more)) if operation.name == name else operation
            for operation in contract.operations
        ),
        checked=False,
    )


def test_what_contradictory_conjuncts_imply_is_undecided() -> None:
    never = Invariant("never", "none", JOB_CONTRACT.invariants[0].over, Truth(False), "nothing is ever so")
    contradictory = replace(JOB_CONTRACT, invariants=(*JOB_CONTRACT.invariants, never))
    found = implied_by(contradictory, "claim", None, "pending")
    assert isinstance(found, Undecided)
    assert found.reason.startswith("vacuous")


def test_unknown_conjuncts_are_refused(redundancy: Redundancy) -> None:
    with pytest.raises(KeyError):
        redundancy.implied_by("claim", None, "no such guard")
    with pytest.raises(KeyError):
        redundancy.implied_by("claim", "no such case", "pending")
    with pytest.raises(KeyError):
        redundancy.implied_by("no such operation", None, "pending")


def test_a_guard_with_a_quantifier_implies_another() -> None:
    none_bad = guard("none_bad", Not(some_part("bad")))
    twice = with_guard(BATCHES, "close", none_bad)
    assert implied_by(twice, "close", None, "none_bad") == Implied(("all_done",), (), ())
    assert isinstance(implied_by(twice, "close", None, "all_done"), NotImplied)


# --- what a dropped conjunct would change -----------------------------------------------------------------------------


def test_dropping_what_is_implied_changes_nothing(redundancy: Redundancy, answers: Answers) -> None:
    for key, found in answers.items():
        if isinstance(found, Implied):
            assert isinstance(redundancy.step_irrelevant(*key), Irrelevant), key


def test_dropping_a_fence_changes_where_a_step_leads(redundancy: Redundancy) -> None:
    found = redundancy.step_irrelevant("succeed", None, "generation")
    assert isinstance(found, Relevant)
    seen = found.counterexample
    assert seen.call is not None
    assert seen.semantics.false_guards(seen.before, seen.call) == {"generation"}


def test_a_condition_between_cases_that_end_alike_is_irrelevant() -> None:
    """Split a case in two that do the same: which of the two is taken changes nothing."""
    acknowledge = JOB_CONTRACT.operation("acknowledge_cancel")
    (only,) = acknowledge.cases
    parked = JOB_CONTRACT.operation("recover").cases[3].when[-1]
    assert parked.name == "provider_ref_set"
    other = replace(parked, name="no_provider_ref", term=Not(parked.term))
    split = replace(
        acknowledge,
        cases=(replace(only, name="one", when=(parked,)), replace(only, name="other", when=(other,))),
    )
    contract = replace(
        JOB_CONTRACT,
        operations=tuple(split if o.name == split.name else o for o in JOB_CONTRACT.operations),
    )
    found = Redundancy(contract)
    assert isinstance(found.implied_by("acknowledge_cancel", "one", "provider_ref_set"), NotImplied)
    assert isinstance(found.step_irrelevant("acknowledge_cancel", "one", "provider_ref_set"), Irrelevant)
