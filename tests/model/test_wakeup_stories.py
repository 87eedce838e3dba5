"""Runs of a waiter and of those who bring work: whatever comes between two of its steps is found."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from tests.model.telling import Telling

from fencepost_model.contract import Contract
from fencepost_model.machines.wakeup import WAKEUP_CONTRACT, channel, waiter
from fencepost_model.machines.wakeup_worlds import channel_with
from fencepost_model.shapes import Assignment, Guard, Operation
from fencepost_model.terms import Equal, Not

ROUND = ("read_generation", "find_nothing", "fall_asleep")


def telling(contract: Contract = WAKEUP_CONTRACT) -> Telling:
    story = Telling(contract, channel_with(2, 2), {"poll_seconds": 5})
    story.take("open_channel")
    return story


@pytest.fixture
def story() -> Telling:
    return telling()


def bring(story: Telling, work: str = "work 1", available_at: float = 0) -> None:
    story.take("enqueue", work, available_at=available_at)
    story.take("notify", work)


@pytest.mark.parametrize("steps", [0, 1, 2, 3])
def test_work_that_comes_between_any_two_steps_is_found(story: Telling, steps: int) -> None:
    for step in ROUND[:steps]:
        story.take(step, "waiter 1")
    bring(story)
    if steps == 1:
        assert story.refused("find_nothing", "waiter 1") == {"nothing_due"}
    if steps == 2:
        assert story.take("fall_asleep", "waiter 1") == "stays_awake"
    if steps == 3:
        assert story.take("wake_up", "waiter 1") == "awake"
    if steps != 1:
        story.take("read_generation", "waiter 1")
    assert story.take("take", "waiter 1", "work 1") == "taken"


@pytest.mark.parametrize("split", [1, 2, 3])
def test_work_committed_before_a_step_and_announced_after_it_is_found(story: Telling, split: int) -> None:
    for step in ROUND[: split - 1]:
        story.take(step, "waiter 1")
    story.take("enqueue", "work 1", available_at=0)
    if split == 2:
        assert story.refused("find_nothing", "waiter 1") == {"nothing_due"}
        return
    story.take(ROUND[split - 1], "waiter 1")
    story.take("notify", "work 1")
    if split == 3:
        story.take("wake_up", "waiter 1")
        story.take("read_generation", "waiter 1")
    assert story.take("take", "waiter 1", "work 1") == "taken"


def test_work_that_nobody_announced_is_found_by_the_poll(story: Telling) -> None:
    for step in ROUND:
        story.take(step, "waiter 1")
    story.take("enqueue", "work 1", available_at=0)
    story.at(4)
    assert story.refused("wake_up", "waiter 1") == {"called"}
    story.at(5)
    story.take("wake_up", "waiter 1")
    story.take("read_generation", "waiter 1")
    story.take("take", "waiter 1", "work 1")


def test_work_that_becomes_due_while_the_waiter_sleeps_is_found_by_the_poll(story: Telling) -> None:
    bring(story, available_at=2)
    for step in ROUND:
        story.take(step, "waiter 1")
    story.at(2)
    assert story.refused("wake_up", "waiter 1") == {"called"}
    story.at(5)
    story.take("wake_up", "waiter 1")


def test_the_poll_counts_from_the_look_and_not_from_the_sleep(story: Telling) -> None:
    story.take("read_generation", "waiter 1")
    story.take("find_nothing", "waiter 1")
    story.at(3)
    story.take("fall_asleep", "waiter 1")
    story.shows("waiter 1", wakes_at=5)


def test_one_notification_wakes_every_waiter_and_one_of_them_gets_the_work(story: Telling) -> None:
    for name in ("waiter 1", "waiter 2"):
        for step in ROUND:
            story.take(step, name)
    bring(story)
    for name in ("waiter 1", "waiter 2"):
        story.take("wake_up", name)
        story.take("read_generation", name)
    story.take("take", "waiter 1", "work 1")
    assert story.refused("take", "waiter 2", "work 1") == {"pending"}
    story.take("find_nothing", "waiter 2")
    assert story.take("fall_asleep", "waiter 2") == "asleep"


def test_work_that_comes_back_is_announced_again(story: Telling) -> None:
    bring(story)
    story.take("read_generation", "waiter 1")
    story.take("take", "waiter 1", "work 1")
    for step in ROUND:
        story.take(step, "waiter 2")
    story.take("put_back", "work 1", available_at=0)
    story.take("notify", "work 1")
    story.take("wake_up", "waiter 2")


def test_nothing_is_announced_twice(story: Telling) -> None:
    bring(story)
    assert story.refused("notify", "work 1") == {"owed"}


def with_operation(*changed: Operation) -> Contract:
    """The contract with some operations replaced, unchecked."""
    names = {operation.name: operation for operation in changed}
    kept = tuple(names.get(operation.name, operation) for operation in WAKEUP_CONTRACT.operations)
    return replace(WAKEUP_CONTRACT, operations=kept, checked=False)


def test_who_reads_the_generation_after_looking_sleeps_beside_announced_work() -> None:
    """The generation that it reads last hides what it has missed."""
    look = WAKEUP_CONTRACT.operation("find_nothing")
    (case,) = look.cases
    reading = Assignment(waiter("generation"), channel("generation"))
    late = replace(WAKEUP_CONTRACT.operation("fall_asleep"), cases=())
    asleep = WAKEUP_CONTRACT.operation("fall_asleep").cases[1]
    story = telling(with_operation(replace(late, cases=(replace(asleep, when=(), effect=(*asleep.effect, reading)),))))
    assert case.name == "nothing"
    for step in ROUND[:2]:
        story.take(step, "waiter 1")
    bring(story)
    case_taken, broken = story.watch("fall_asleep", "waiter 1")
    assert case_taken == "asleep"
    assert "no_lost_wake_up" in broken
    assert story.refused("wake_up", "waiter 1") == {"called"}


def test_who_falls_asleep_without_comparing_breaks_the_order() -> None:
    sleep = WAKEUP_CONTRACT.operation("fall_asleep")
    stays, asleep = sleep.cases
    unequal = Guard("announced_meanwhile", Not(Equal(waiter("generation"), waiter("generation"))), "test", "never")
    story = telling(with_operation(replace(sleep, cases=(replace(stays, when=(unequal,)), replace(asleep, when=())))))
    for step in ROUND[:2]:
        story.take(step, "waiter 1")
    bring(story)
    assert story.watch("fall_asleep", "waiter 1") == ("asleep", {"nobody_sleeps_on_news"})


def test_a_round_has_just_one_order(story: Telling) -> None:
    for step, following in pairwise(ROUND):
        assert story.refused(following, "waiter 1")
        story.take(step, "waiter 1")


def test_a_notification_before_the_commit_announces_nothing() -> None:
    """Contract §3 orders the waiter's steps only; the bringer's order matters as much."""
    early = replace(WAKEUP_CONTRACT.operation("notify"), guards=())
    late = without_reset(WAKEUP_CONTRACT.operation("enqueue"))
    story = telling(with_operation(early, late))
    assert story.watch("notify", "work 1") == ("notified", set())
    for step in ROUND:
        story.take(step, "waiter 1")
    case, broken = story.watch("enqueue", "work 1", available_at=0)
    assert case == "brought"
    assert broken == {"no_lost_wake_up"}
    assert story.refused("wake_up", "waiter 1") == {"called"}


def without_reset(enqueue: Operation) -> Operation:
    """Bringing work whose notification was sent before."""
    (case,) = enqueue.cases
    effect = tuple(assignment for assignment in case.effect if assignment.field.name != "announced")
    return replace(enqueue, cases=(replace(case, effect=effect),))
