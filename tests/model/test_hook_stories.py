"""Runs of a claim whose hook raises: the culprit is set back, and nobody waits for it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.model.telling import Telling

from fencepost_model.contract import Contract
from fencepost_model.machines.hook import HOOK_CONTRACT
from fencepost_model.machines.hook_worlds import claiming_of


def telling(*poisonous: bool, contract: Contract = HOOK_CONTRACT) -> Telling:
    """One row for each flag, all of them picked for a batch."""
    story = Telling(contract, claiming_of(len(poisonous)), {}, {"delay": 5})
    story.take("begin_pass")
    for number, flag in enumerate(poisonous, start=1):
        story.take("offer", f"row {number}", poisonous=flag)
        story.take("pick", f"row {number}")
    return story


def test_a_batch_of_good_rows_is_claimed_whole() -> None:
    story = telling(False, False)
    assert story.take("claim_batch") == "claimed"
    assert [story.row(f"row {n}")["status"] for n in (1, 2)] == ["claimed", "claimed"]
    story.shows("claiming", status="done")


@pytest.mark.parametrize("culprit", [1, 2, 3])
def test_a_culprit_is_set_back_and_the_others_are_claimed(culprit: int) -> None:
    story = telling(*(number == culprit for number in (1, 2, 3)))
    assert story.take("claim_batch") == "rolled_back"
    assert {story.row(f"row {n}")["status"] for n in (1, 2, 3)} == {"pending"}
    for number in (1, 2, 3):
        taken = story.take("claim_one", f"row {number}")
        assert taken == ("set_back" if number == culprit else "claimed")
    story.take("end_pass")
    story.shows(f"row {culprit}", status="pending", reported=True, next_attempt_at=5)


def test_the_next_pass_does_not_meet_the_culprit_before_its_back_off_is_over() -> None:
    story = telling(True, False)
    story.take("claim_batch")
    story.take("claim_one", "row 1")
    story.take("claim_one", "row 2")
    story.take("end_pass")
    story.take("begin_pass")
    assert story.refused("pick", "row 1") == {"due"}
    story.at(5)
    story.take("pick", "row 1")
    story.take("mend", "row 1")
    assert story.take("claim_batch") == "claimed"
    story.shows("row 1", status="claimed")


def test_a_pass_does_not_end_before_every_row_of_its_batch_has_had_its_turn() -> None:
    story = telling(True, False)
    story.take("claim_batch")
    story.take("claim_one", "row 1")
    assert story.refused("end_pass") == {"all_dealt_with"}
    assert story.refused("claim_one", "row 1") == {"picked"}


def test_a_worker_that_dies_in_a_pass_leaves_every_row_claimed_or_waiting() -> None:
    story = telling(False, True, False)
    story.take("claim_batch")
    story.take("claim_one", "row 1")
    story.take("break_off")
    assert [story.row(f"row {n}")["status"] for n in (1, 2, 3)] == ["claimed", "pending", "pending"]
    story.take("begin_pass")
    story.take("pick", "row 3")
    assert story.take("claim_batch") == "claimed"


def test_a10_without_the_trial_row_by_row_the_same_batch_raises_for_ever() -> None:
    """The literal rule changes nothing, so the next claim chooses the same rows: one state, no way on."""
    claim = HOOK_CONTRACT.operation("claim_batch")
    rolled_back, claimed = claim.cases
    literal = replace(claim, cases=(replace(rolled_back, effect=()), claimed))
    kept = tuple(literal if operation.name == claim.name else operation for operation in HOOK_CONTRACT.operations)
    story = telling(True, False, contract=replace(HOOK_CONTRACT, operations=kept, checked=False))
    before = story.state
    broken = {"claim_batch_lowers_rest_of_the_pass", "claim_batch_along_its_arrows"}
    assert story.watch("claim_batch") == ("rolled_back", broken)
    assert story.state == before
    assert story.refused("claim_one", "row 2") == {"singly"}


def test_a_good_row_is_not_set_back_for_its_neighbour() -> None:
    story = telling(True, False)
    story.take("claim_batch")
    story.take("claim_one", "row 2")
    story.shows("row 2", status="claimed", reported=False, next_attempt_at=None)


def test_a_row_that_stays_poisonous_is_set_back_for_ever() -> None:
    """Contract §3 promises that a job without a deadline ends if claimers run; its attempts are never counted here."""
    story = telling(True)
    seen: list[dict[str, object]] = []
    for now in (5, 10, 15):
        story.take("claim_batch")
        assert story.take("claim_one", "row 1") == "set_back"
        story.take("end_pass")
        seen.append({name: value for name, value in story.row("row 1").items() if name != "next_attempt_at"})
        story.at(now)
        story.take("begin_pass")
        story.take("pick", "row 1")
    assert seen[0] == seen[1] == seen[2]
