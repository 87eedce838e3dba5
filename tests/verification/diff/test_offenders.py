"""Offenders on a changed contract: their edits are carried over, and those that are caught no longer are listed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.verification.diff.pairs import approval, checked, with_effect
from tests.verification.diff.pairs import with_guard as having_guard

from fencepost_model.contract import Contract
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.shapes import Assignment
from fencepost_model.specification import Chapter
from fencepost_model.terms import Const, FieldOf
from fencepost_verification.conformance.offenders import CATALOGUE
from fencepost_verification.conformance.offenders.mutations import NoFault, edited, with_guard, without_guards
from fencepost_verification.conformance.reference import ModelHarness
from fencepost_verification.diff.offenders import carried_over, escapes
from fencepost_verification.explore.necessity import Conjunct, without

FIRST = FieldOf("payment", "first")


def edits() -> dict[str, Contract]:
    """The contracts of the catalogue's offenders that are edits of the job's."""
    found: dict[str, Contract] = {}
    for offender in CATALOGUE:
        harness = offender.implementation()
        assert isinstance(harness, ModelHarness)
        if harness.contract is not JOB_CONTRACT:
            found[offender.name] = harness.contract
    return found


def parts(contract: Contract) -> list[object]:
    """What its operations ask and do, in whatever order it is written."""
    return [
        (o.name, set(o.guards), [(case.name, set(case.when), set(case.effect), case.also) for case in o.cases])
        for o in contract.operations
    ]


def chapter_of(contract: Contract) -> Chapter:
    worlds = tuple(replace(world, contract=contract) for world in approval().worlds)
    return Chapter("Changed", "An approval that was changed.", contract, worlds, worlds)


def test_every_edit_of_the_catalogue_is_carried_over_whole() -> None:
    found = edits()
    assert len(found) > 30
    for name, wrong in found.items():
        assert parts(carried_over(JOB_CONTRACT, wrong, JOB_CONTRACT)) == parts(wrong), name


def test_an_edit_is_carried_over_beside_what_has_changed() -> None:
    changed = without(JOB_CONTRACT, Conjunct("renew", None, "lease_alive"))
    wrong = edited(JOB_CONTRACT, without_guards("renew", "owner"))
    before = {guard.name for guard in JOB_CONTRACT.operation("renew").guards}
    after = {guard.name for guard in carried_over(JOB_CONTRACT, wrong, changed).operation("renew").guards}
    assert before - after == {"owner", "lease_alive"}


def test_an_edit_that_the_new_contract_makes_itself_has_no_fault() -> None:
    wrong = edited(JOB_CONTRACT, without_guards("renew", "generation"))
    with pytest.raises(NoFault, match="changes nothing"):
        carried_over(JOB_CONTRACT, wrong, wrong)
    term = JOB_CONTRACT.operation("renew").guards[0].term
    wrong = edited(JOB_CONTRACT, with_guard("renew", "generation", term))
    with pytest.raises(NoFault, match="changes nothing"):
        carried_over(JOB_CONTRACT, wrong, without(JOB_CONTRACT, Conjunct("renew", None, "generation")))


def test_an_edit_of_an_operation_that_is_gone_has_no_fault() -> None:
    wrong = edited(JOB_CONTRACT, without_guards("renew", "generation"))
    gone = tuple(operation for operation in JOB_CONTRACT.operations if operation.name != "renew")
    with pytest.raises(NoFault, match="has no operation 'renew'"):
        carried_over(JOB_CONTRACT, wrong, replace(JOB_CONTRACT, operations=gone, checked=False))


def test_all_are_caught_where_the_change_opens_no_gap() -> None:
    told: list[tuple[str, int, int]] = []
    found = escapes(approval(), checked(), lambda *step: told.append(step))
    assert (found.tried, found.escaped, found.not_tried) == (8, (), "")
    assert [(done, total) for _, done, total in told] == [(done, 8) for done in range(8)]


def test_one_that_the_new_contract_makes_right_is_listed() -> None:
    (one,) = escapes(approval(), chapter_of(having_guard(approval().contract, "confirm", "others", None))).escaped
    assert (one.offender, one.harmless) == ("confirm_without_others", True)
    assert "changes nothing" in one.reason


def test_one_whose_fault_no_call_shows_any_more_escapes() -> None:
    """Somebody who never asks comes to be noted as the first: who forgets to look at that is never found out."""
    status, _ = approval().contract.operation("approve").cases[0].effect
    changed = with_effect(approval().contract, "approve", status, Assignment(FIRST, Const("carl")))
    (one,) = escapes(approval(), chapter_of(changed)).escaped
    assert (one.offender, one.harmless) == ("confirm_without_others", False)


def test_none_is_tried_where_there_is_nothing_to_tour() -> None:
    bare = Chapter("Bare", "Without worlds.", approval().contract)
    found = escapes(bare, bare)
    assert found.tried == 0
    assert "has no world" in found.not_tried
