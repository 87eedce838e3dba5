"""Runs of a queue: who finds room in it, who is there already, and whom a cancel reaches."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.telling import Telling

from fencepost_model.contract import Contract
from fencepost_model.machines.admission import ADMISSION_CONTRACT, GROUP_CONTRACT, ITSELF, LIVE, is_live
from fencepost_model.machines.admission_worlds import queue_of, shared_by
from fencepost_model.semantics import Accepted
from fencepost_model.shapes import Operation
from fencepost_model.terms import all_of


def queue(
    *submissions: tuple[str, str, str | None], contract: Contract = ADMISSION_CONTRACT, **settings: int
) -> Telling:
    return Telling(contract, queue_of(*submissions), {"capacity": 9, "tenant_capacity": 9, **settings})


def admit(story: Telling, number: int, *parent: str, seat: int | None = None, tenant_seat: int | None = None) -> None:
    operation = "submit_child" if parent else "submit"
    story.take(operation, f"job {number}", *parent, seat=seat or number, tenant_seat=tenant_seat or number)


def changed(operation: Operation) -> Contract:
    """The contract with one operation replaced, unchecked."""
    kept = tuple(operation if o.name == operation.name else o for o in ADMISSION_CONTRACT.operations)
    return replace(ADMISSION_CONTRACT, operations=kept, checked=False)


def without_guard(name: str, guard: str) -> Contract:
    operation = ADMISSION_CONTRACT.operation(name)
    return changed(replace(operation, guards=tuple(g for g in operation.guards if g.name != guard)))


# --- capacity ---------------------------------------------------------------------------------------------------------


def test_a_full_queue_refuses_every_seat_and_takes_again_when_one_is_given_back() -> None:
    story = queue(("a", "t1", None), ("b", "t2", None), ("c", "t3", None), capacity=2)
    admit(story, 1)
    admit(story, 2, tenant_seat=1)
    for seat in (1, 2):
        assert story.refused("submit", "job 3", seat=seat, tenant_seat=1) == {"seat_free"}
    assert story.refused("submit", "job 3", seat=3, tenant_seat=1) == {"queue_has_room"}
    story.take("request_cancel", "job 1")
    story.shows("job 1", status="cancelled", seat=None)
    admit(story, 3, seat=1, tenant_seat=1)


def test_one_tenant_does_not_fill_the_queue() -> None:
    story = queue(("a", "t1", None), ("b", "t1", None), ("c", "t2", None), tenant_capacity=1)
    admit(story, 1)
    assert story.refused("submit", "job 2", seat=2, tenant_seat=1) == {"tenant_seat_free"}
    assert story.refused("submit", "job 2", seat=2, tenant_seat=2) == {"tenant_has_room"}
    admit(story, 3, seat=2, tenant_seat=1)


@given(
    capacity=st.integers(1, 3),
    tenant_capacity=st.integers(1, 2),
    calls=st.lists(
        st.tuples(
            st.sampled_from(["submit", "start", "finish", "request_cancel"]),
            st.integers(1, 5),
            st.integers(0, 4),
            st.integers(0, 3),
        ),
        max_size=25,
    ),
)
def test_never_more_live_jobs_than_capacity(
    capacity: int, tenant_capacity: int, calls: list[tuple[str, int, int, int]]
) -> None:
    submissions = [(name, tenant, None) for name, tenant in zip("abcde", ("t1", "t1", "t1", "t2", "t2"), strict=True)]
    story = queue(*submissions, capacity=capacity, tenant_capacity=tenant_capacity)
    for operation, number, seat, tenant_seat in calls:
        arguments = {"seat": seat, "tenant_seat": tenant_seat, "calls_off": False}
        outcome = story.semantics.attempt(story.state, story.call(operation, (f"job {number}",), arguments))
        if isinstance(outcome, Accepted):
            story.state = outcome.state
        live = [row for row in story.state.rows[0][1:] if row["status"] in LIVE]
        assert len(live) <= capacity
        assert all(sum(row["tenant"] == tenant for row in live) <= tenant_capacity for tenant in ("t1", "t2"))


def test_counting_without_the_lock_lets_two_into_the_last_place() -> None:
    story = queue(("a", "t1", None), ("b", "t2", None), contract=without_guard("submit", "seat_free"), capacity=1)
    assert story.watch("submit", "job 1", seat=1, tenant_seat=1) == ("admitted", set())
    assert story.watch("submit", "job 2", seat=1, tenant_seat=1) == ("admitted", {"never_above_capacity"})


# --- duplicates -------------------------------------------------------------------------------------------------------


def test_a_duplicate_is_told_whether_the_live_one_goes_on_or_is_being_stopped() -> None:
    story = queue(("a", "t1", "k"), ("b", "t1", "k"))
    admit(story, 1)
    assert story.refused("submit", "job 2", seat=2, tenant_seat=2) == {"not_duplicate"}
    story.take("start", "job 1")
    assert story.refused("submit", "job 2", seat=2, tenant_seat=2) == {"not_duplicate"}
    story.take("request_cancel", "job 1")
    story.shows("job 1", status="running", cancel_requested_at=0)
    assert story.refused("submit", "job 2", seat=2, tenant_seat=2) == {"not_cancelling"}
    assert story.take("finish", "job 1", calls_off=False) == "cancelled"
    admit(story, 2)


def test_jobs_without_a_key_are_no_duplicates() -> None:
    story = queue(("a", "t1", None), ("b", "t1", None))
    admit(story, 1)
    admit(story, 2)


# --- parents ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def family() -> Telling:
    story = queue(("a", "t1", None), ("b", "t1", None), ("c", "t1", None), ("d", "t1", None))
    admit(story, 1)
    admit(story, 2, "job 1")
    admit(story, 3, "job 1")
    admit(story, 4)
    story.take("start", "job 1")
    return story


def test_a_cancel_is_written_through_to_all_live_children_and_to_nobody_else(family: Telling) -> None:
    family.take("start", "job 2")
    family.take("request_cancel", "job 1")
    family.shows("job 1", status="running", cancel_requested_at=0)
    family.shows("job 2", status="running", cancel_requested_at=0)
    family.shows("job 3", status="cancelled")
    family.shows("job 4", status="pending", cancel_requested_at=None)


def test_a_child_that_comes_after_the_cancel_is_refused() -> None:
    story = queue(("a", "t1", None), ("b", "t1", None))
    admit(story, 1)
    story.take("start", "job 1")
    story.take("request_cancel", "job 1")
    assert story.refused("submit_child", "job 2", "job 1", seat=2, tenant_seat=2) == {"parent_not_cancelled"}
    story.take("finish", "job 1", calls_off=False)
    assert story.refused("submit_child", "job 2", "job 1", seat=2, tenant_seat=2) >= {"parent_live"}


def test_a_parent_that_calls_its_work_off_takes_its_children_with_it(family: Telling) -> None:
    family.take("start", "job 2")
    assert family.take("finish", "job 1", calls_off=True) == "cancelled"
    family.shows("job 1", status="cancelled", seat=None)
    family.shows("job 2", status="running", cancel_requested_at=0)
    family.shows("job 3", status="cancelled")


def test_a_fail_with_a_cancel_code_that_is_not_written_through_leaves_children_behind() -> None:
    """Contract §2 writes through only where a parent is cancelled by request; fail with a CANCEL code cancels too."""
    finish = ADMISSION_CONTRACT.operation("finish")
    alone = tuple(
        replace(case, also=tuple(replace(each, where=all_of(is_live("each"), ITSELF)) for each in case.also))
        for case in finish.cases
    )
    story = queue(("a", "t1", None), ("b", "t1", None), contract=changed(replace(finish, cases=alone)))
    admit(story, 1)
    admit(story, 2, "job 1")
    story.take("start", "job 1")
    assert story.watch("finish", "job 1", calls_off=True) == ("cancelled", {"no_child_left_behind"})


def test_a_grandchild_would_outlive_the_cancel_of_its_grandparent() -> None:
    story = queue(
        ("a", "t1", None),
        ("b", "t1", None),
        ("c", "t1", None),
        contract=without_guard("submit_child", "parent_has_no_parent"),
    )
    admit(story, 1)
    admit(story, 2, "job 1")
    assert story.watch("submit_child", "job 3", "job 2", seat=3, tenant_seat=3) == ("admitted", {"one_level"})
    _, broken = story.watch("request_cancel", "job 1")
    assert "no_child_left_behind" in broken
    story.shows("job 2", status="cancelled")
    story.shows("job 3", status="pending", cancel_requested_at=None)


def test_a_parent_may_end_well_before_its_children(family: Telling) -> None:
    assert family.take("finish", "job 1", calls_off=False) == "ended"
    family.shows("job 2", status="pending")
    assert family.refused("request_cancel", "job 1") == {"not_ended"}


# --- groups -----------------------------------------------------------------------------------------------------------


def test_a_job_of_two_groups_is_cancelled_with_the_last_one() -> None:
    story = Telling(GROUP_CONTRACT, shared_by("g1", "g2"))
    story.take("ask_first", "link 1")
    story.take("ask_too", "link 2")
    story.take("begin")
    assert story.take("withdraw", "link 1") == "others_ask"
    story.shows("job", status="running")
    story.shows("link 2", status="asking")
    assert story.refused("withdraw", "link 1") == {"asking"}
    assert story.take("withdraw", "link 2") == "stopping"
    assert story.take("end") == "cancelled"


def test_a_job_that_nobody_holds_ends_at_once_with_its_last_asker() -> None:
    story = Telling(GROUP_CONTRACT, shared_by("g1", "g2"))
    story.take("ask_first", "link 1")
    assert story.take("withdraw", "link 1") == "cancelled"
    assert story.refused("ask_too", "link 2") == {"job_wanted"}


def test_a_caller_has_one_association_and_may_come_back() -> None:
    story = Telling(GROUP_CONTRACT, shared_by("g1", "g1", "g2"))
    story.take("ask_first", "link 1")
    assert story.refused("ask_too", "link 2") == {"caller_new"}
    story.take("ask_too", "link 3")
    story.take("withdraw", "link 1")
    story.take("ask_too", "link 2")
    assert story.take("withdraw", "link 3") == "others_ask"


def test_every_caller_is_answered_when_the_job_ends() -> None:
    story = Telling(GROUP_CONTRACT, shared_by("g1", "g2", "g3"))
    story.take("ask_first", "link 1")
    story.take("ask_too", "link 2")
    story.take("ask_too", "link 3")
    story.take("withdraw", "link 2")
    story.take("begin")
    assert story.take("end") == "ended"
    assert [story.row(f"link {n}")["status"] for n in (1, 2, 3)] == ["answered", "withdrawn", "answered"]
    assert story.refused("withdraw", "link 1") == {"asking"}


def test_a_duplicate_child_falls_with_the_parent_that_brought_it_first() -> None:
    """D-16 gives a second parent the live child of another one; a write-through then takes it away, against D-26."""
    story = queue(("a", "t1", None), ("b", "t1", "page"), ("c", "t1", None), ("d", "t1", "page"))
    admit(story, 1)
    admit(story, 2, "job 1")
    admit(story, 3)
    assert story.refused("submit_child", "job 4", "job 3", seat=4, tenant_seat=4) == {"not_duplicate"}
    story.take("request_cancel", "job 1")
    story.shows("job 2", status="cancelled")
    story.shows("job 3", status="pending", cancel_requested_at=None)
