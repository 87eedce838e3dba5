"""The bounded search finds a shortest run where there is one within its scope, and says so where there is none."""

from dataclasses import replace

import pytest
from tests.verification.prove.miniatures import BATCHES, COUNTING, LOW, every_part, status

from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.machines.job import JOB, OTHER_TOKEN, TOKEN, job, live_token
from fencepost_model.semantics import Accepted, Call
from fencepost_model.shapes import Actor, Invariant, StepProperty
from fencepost_model.terms import AtMost, Const, Equal, Not, Now, Same, TruthTerm, all_of
from fencepost_verification.evidence import Tick, Trace
from fencepost_verification.prove.bounded import BoundedSearch, GaveUp, ScopeExhausted

SEARCH = BoundedSearch(depth=4)


def claimed_never(statement: TruthTerm) -> Invariant:
    return Invariant("never", "none", (JOB,), Not(statement), "to be reached")


@pytest.mark.parametrize(
    ("status", "calls"),
    [("pending", 0), ("running", 0), ("cancelled", 1), ("succeeded", 2), ("waiting_provider", 2), ("expired", 1)],
)
def test_a_status_is_reached_by_a_shortest_run_from_an_initial_row(status: str, calls: int) -> None:
    """Legacy rows are initial rows, so that pending and running take no call at all."""
    found = SEARCH(JOB_CONTRACT, claimed_never(Equal(job("status"), Const(status))))
    assert isinstance(found, Trace)
    assert sum(isinstance(step.move, Call) for step in found.steps) == calls
    assert found.end.rows[0][0]["status"] == status


def test_time_passes_where_a_statement_needs_it() -> None:
    ours = Equal(job("origin"), Const("ours"))
    found = SEARCH(JOB_CONTRACT, claimed_never(all_of(ours, AtMost(job("lease_expires_at"), Now()))))
    assert isinstance(found, Trace)
    assert [step.transition for step in found.steps] == ["claim", "tick"]
    assert found.end.now == found.end.rows[0][0]["lease_expires_at"]


def test_a_run_is_one_that_the_model_can_walk() -> None:
    found = SEARCH(JOB_CONTRACT, claimed_never(Equal(job("status"), Const("waiting_provider"))))
    assert isinstance(found, Trace)
    state = found.start
    for step in found.steps:
        if isinstance(step.move, Tick):
            state = found.semantics.advance(state, step.move.seconds)
        else:
            assert isinstance(step.move, Call)
            outcome = found.semantics.attempt(state, step.move)
            assert isinstance(outcome, Accepted)
            state = outcome.state
    assert state == found.end


def test_a_statement_that_holds_exhausts_the_scope() -> None:
    single = Invariant(
        "single", "§3", (JOB, TOKEN, OTHER_TOKEN), Not(all_of(live_token("token"), live_token("other"))), "one holder"
    )
    found = BoundedSearch(depth=2)(JOB_CONTRACT, single)
    assert isinstance(found, ScopeExhausted)
    assert "2 calls" in found.scope
    assert "2 token" in found.scope


def test_a_deeper_scope_finds_what_a_shallow_one_does_not() -> None:
    never_five = Invariant("never_five", "none", COUNTING.invariants[0].over, Not(Equal(LOW, Const(5))), "false")
    assert isinstance(BoundedSearch(depth=5)(COUNTING, never_five), ScopeExhausted)
    found = BoundedSearch(depth=6)(COUNTING, never_five)
    assert isinstance(found, Trace)
    assert len(found.steps) >= 6


def test_a_statement_over_more_children_gets_as_many() -> None:
    batch, part = BATCHES.operation("finish").over
    over = (batch, part, replace(part, name="second"), replace(part, name="third"))
    ready = Invariant("never_ready", "none", over, Not(status("ready")), "false")
    found = BoundedSearch(depth=6, children=1)(BATCHES, ready)
    assert isinstance(found, Trace)
    assert len(found.end.rows[0]) == 4
    assert all(row["state"] == "done" for row in found.end.rows[0][1:])


def test_quantifiers_run_over_the_children_of_the_population() -> None:
    never = Invariant("never", "none", BATCHES.operation("close").over, Not(every_part("done")), "false")
    found = BoundedSearch(depth=4, children=3)(BATCHES, never)
    assert isinstance(found, Trace)
    assert [step.transition for step in found.steps] == ["begin", "finish", "finish", "finish"]


def test_a_step_property_is_broken_by_the_last_step() -> None:
    frozen = StepProperty(
        "frozen", "none", (JOB,), Same(job("status"), replace(job("status"), after=True)), "false", by=Actor.HOLDER
    )
    found = SEARCH(JOB_CONTRACT, frozen)
    assert isinstance(found, Trace)
    last = found.steps[-1]
    assert isinstance(last.move, Call)
    assert JOB_CONTRACT.operation(last.move.operation).actor is Actor.HOLDER
    assert last.before.rows != last.after.rows


def test_a_way_on_that_opens_only_later_is_a_way_on() -> None:
    """A job whose back-off is not over cannot be claimed now, but it is in no limbo."""
    no_limbo = next(p for p in JOB_CONTRACT.progress if p.name == "no_limbo")
    assert isinstance(BoundedSearch(depth=1)(JOB_CONTRACT, no_limbo), ScopeExhausted)


def test_too_little_time_is_told_and_is_no_exhausted_scope() -> None:
    held = JOB_CONTRACT.invariants[0]
    assert isinstance(BoundedSearch(depth=9, seconds=0.05)(JOB_CONTRACT, held), GaveUp)


def test_steps_of_the_clock_alone_are_not_searched() -> None:
    by_clock = StepProperty("idle", "none", (JOB,), Equal(Const(1), Const(2)), "false", by=Actor.CLOCK)
    assert isinstance(SEARCH(JOB_CONTRACT, by_clock), GaveUp)
