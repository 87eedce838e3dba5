"""Runs of small pipelines: what a failure does to the others, joins, repairs, places, and the pure aggregation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost_model.aggregation import ENDED, Policy, aggregated
from fencepost_model.machines.pipeline import ALL_ENDED, ALL_SUCCEEDED, ANY_SUCCEEDED, PIPELINE_CONTRACT
from fencepost_model.machines.pipeline_worlds import pipeline
from fencepost_model.semantics import Accepted, Call, Refused, Row, Semantics, State
from fencepost_model.terms import Value

CHAIN = {"a": (ALL_SUCCEEDED, ()), "b": (ALL_SUCCEEDED, ("a",)), "c": (ALL_SUCCEEDED, ("b",))}
FORK = {"a": (ALL_SUCCEEDED, ()), "b": (ALL_SUCCEEDED, ()), "c": (ALL_SUCCEEDED, ("a", "b"))}


@dataclass
class Story:
    """One run of a pipeline, begun; nodes are spoken of by name."""

    nodes: Mapping[str, tuple[str, tuple[str, ...]]]
    policy: str = "fail_fast"
    more: dict[str, Value] = field(default_factory=dict[str, Value])
    places: int = 2
    state: State = field(init=False)
    semantics: Semantics = field(init=False)

    def __post_init__(self) -> None:
        settings = {**PIPELINE_CONTRACT.defaults(), "policy": self.policy, **self.more}
        self.semantics = Semantics(PIPELINE_CONTRACT, pipeline(self.nodes, self.places), settings)
        self.state = next(self.semantics.initial())
        self.take("submit_run")
        self.take("begin_run")

    def slot(self, label: str) -> int:
        return next(slot.index for slot in self.semantics.population.slots if slot.label == label)

    def node(self, name: str) -> Row:
        return self.state.rows[0][self.slot(name)]

    @property
    def run(self) -> Row:
        return self.state.rows[0][0]

    def statuses(self) -> tuple[Value, ...]:
        return tuple(self.node(name)["status"] for name in self.nodes)

    def call(self, operation: str, name: str, upstream: str, place: int, params: dict[str, Value]) -> Call:
        binding = {"run": 0}
        if name:
            binding["node"] = self.slot(name)
        if upstream:
            binding["edge"] = self.slot(f"{name} after {upstream}")
        if place:
            binding["place"] = self.slot(f"place{place}")
        return Call(operation, 0, binding, params)

    def take(self, operation: str, name: str = "", *, upstream: str = "", place: int = 0, **params: Value) -> str:
        call = self.call(operation, name, upstream, place, params)
        outcome = self.semantics.attempt(self.state, call)
        assert isinstance(outcome, Accepted), f"{operation} is refused: {outcome}"
        assert self.semantics.broken_step_properties(self.state, call, outcome.state) == ()
        assert self.semantics.broken_invariants(outcome.state) == ()
        self.state = outcome.state
        return outcome.case.name

    def refused(
        self, operation: str, name: str = "", *, upstream: str = "", place: int = 0, **params: Value
    ) -> set[str]:
        outcome = self.semantics.attempt(self.state, self.call(operation, name, upstream, place, params))
        assert isinstance(outcome, Refused), f"{operation} is allowed: {outcome}"
        return set(outcome.guards)

    def starts(self, name: str, place: int = 1) -> None:
        self.take("release", name)
        self.take("dispatch_node", name, place=place)

    def ends(self, name: str, outcome: str) -> str:
        return self.take("node_ended", name, outcome=outcome)


def test_a_chain_passes_its_outputs_on_and_succeeds() -> None:
    story = Story(CHAIN)
    for name in "abc":
        story.starts(name)
        story.ends(name, "succeeded")
    assert story.take("conclude") == "succeeded"
    assert story.run["status"] == "succeeded"


def test_what_waits_holds_no_place_and_is_not_released_early() -> None:
    story = Story(CHAIN)
    assert story.refused("release", "b") == {"join_met"}
    assert story.refused("dispatch_node", "b", place=1) == {"queued"}
    assert story.node("b")["place"] is None


def test_a_place_serves_one_node() -> None:
    story = Story(FORK)
    story.starts("a", 1)
    story.take("release", "b")
    assert story.refused("dispatch_node", "b", place=1) == {"place_free"}
    story.take("dispatch_node", "b", place=2)


def test_a_failure_under_fail_fast_ends_what_has_not_started() -> None:
    story = Story(FORK)
    story.starts("a")
    assert story.ends("a", "failed") == "fail_fast"
    assert story.statuses() == ("failed", "cancelled", "cancelled")
    assert story.node("b")["because"] == "a"
    assert story.take("conclude") == "node_failed"


def test_a_cancellation_never_fails_fast() -> None:
    for outcome in ("cancelled", "stopped"):
        story = Story(FORK)
        story.starts("a")
        assert story.ends("a", outcome) == outcome
        assert story.statuses() == (outcome, "blocked", "blocked")
    story = Story(FORK)
    story.take("cancel_node", "a")
    assert story.statuses() == ("cancelled", "blocked", "blocked")


@pytest.mark.parametrize(("skips", "end"), [(False, "cancelled"), (True, "skipped")])
def test_on_failure_chooses_what_becomes_of_those_downstream(skips: bool, end: str) -> None:
    story = Story(CHAIN, "all_settled", {"skips_downstream": skips})
    story.starts("a")
    story.ends("a", "failed")
    story.take("cascade", "b", upstream="a")
    story.take("cascade", "c", upstream="b")
    assert story.statuses() == ("failed", end, end)
    assert story.node("c")["because"] == "a", "the first cause is remembered"


def test_a_repaired_upstream_revives_what_fell_because_of_it() -> None:
    story = Story(CHAIN, "all_settled")
    story.starts("a")
    story.ends("a", "failed")
    story.take("cascade", "b", upstream="a")
    story.take("cascade", "c", upstream="b")
    story.take("conclude")
    assert story.run["status"] == "failed"
    assert story.refused("retry_node", "c") == {"own_account"}
    story.take("retry_node", "a")
    assert story.run["status"] == "running"
    assert story.statuses() == ("blocked", "blocked", "blocked")
    for name in "abc":
        story.starts(name)
        story.ends(name, "succeeded")
    assert story.take("conclude") == "succeeded"


def test_a_repair_revives_nothing_that_was_cancelled_by_hand() -> None:
    story = Story(FORK)
    story.take("cancel_node", "b")
    story.starts("a")
    story.ends("a", "failed")
    story.take("retry_node", "a")
    assert story.statuses() == ("blocked", "cancelled", "blocked")


def test_one_success_is_enough_for_a_join_that_asks_for_one() -> None:
    story = Story({**FORK, "c": (ANY_SUCCEEDED, ("a", "b"))}, "all_settled")
    story.starts("a", 1)
    story.starts("b", 2)
    story.ends("a", "failed")
    assert story.refused("cascade", "c", upstream="a") == {"join_impossible"}
    assert story.refused("release", "c") == {"join_met"}
    story.ends("b", "succeeded")
    story.take("release", "c")


def test_a_node_that_cleans_up_waits_for_every_end() -> None:
    story = Story({**FORK, "c": (ALL_ENDED, ("a", "b"))}, "all_settled")
    story.starts("a", 1)
    story.starts("b", 2)
    story.ends("a", "failed")
    assert story.refused("release", "c") == {"join_met"}
    story.ends("b", "stopped")
    story.take("release", "c")


def test_a_failed_node_that_is_tried_again_knows_what_ended_meanwhile() -> None:
    """Were only blocked nodes told, the repaired one would wait for ever for an end that has been."""
    story = Story({**FORK, "c": (ANY_SUCCEEDED, ("a", "b"))}, "all_settled", places=3)
    story.starts("a", 1)
    story.starts("b", 2)
    story.ends("a", "succeeded")
    story.starts("c", 3)
    story.ends("c", "failed")
    story.ends("b", "failed")
    story.take("retry_node", "c")
    story.starts("c", 1)
    story.ends("c", "succeeded")
    assert story.take("conclude") == "node_failed"


def test_a_paused_run_starts_nothing_and_lets_what_runs_end() -> None:
    story = Story(FORK)
    story.starts("a")
    story.take("pause_run")
    assert story.refused("release", "b") == {"run_running"}
    story.ends("a", "succeeded")
    story.take("resume_run")
    story.take("release", "b")


@pytest.mark.parametrize(("asked", "end"), [("stop", "stopped"), ("cancel", "cancelled")])
def test_a_run_that_is_ended_waits_for_what_runs(asked: str, end: str) -> None:
    story = Story(FORK)
    story.starts("a")
    story.take("stop_run", asked=asked)
    assert story.statuses() == ("active", end, end)
    assert story.refused("conclude") == {"nodes_ended"}
    story.ends("a", "succeeded")
    assert story.take("conclude") == end


def test_a_quorum_counts_successes_alone() -> None:
    story = Story(FORK, "quorum", {"quorum": 1})
    story.starts("a", 1)
    story.starts("b", 2)
    story.ends("a", "succeeded")
    story.ends("b", "failed")
    story.take("cascade", "c", upstream="b")
    assert story.take("conclude") == "quorum_met"


def test_what_is_still_needed_is_not_dropped() -> None:
    story = Story(CHAIN)
    story.starts("a")
    story.ends("a", "succeeded")
    assert story.refused("prune", "a") == {"not_needed"}
    story.starts("b")
    story.ends("b", "failed")
    assert story.refused("prune", "a") == {"not_needed"}, "a failed node may be repaired, and reads it again"
    story.take("retry_node", "b")
    story.starts("b")
    story.ends("b", "succeeded")
    story.take("prune", "a")


# --- the pure function ------------------------------------------------------------------------------------------------

STATUS = st.sampled_from([*sorted(ENDED), "blocked", "queued", "active"])


@given(st.lists(STATUS, max_size=6), st.sampled_from(Policy), st.integers(1, 4))
def test_nothing_is_judged_before_all_have_ended(nodes: list[str], policy: Policy, quorum: int) -> None:
    told = aggregated(nodes, policy, quorum=quorum)
    assert (told is None) is not ENDED.issuperset(nodes)
    if told is not None:
        assert aggregated(list(reversed(nodes)), policy, quorum=quorum) == told
        if policy is not Policy.QUORUM and "failed" in nodes:
            assert told == "failed"
        if policy is Policy.QUORUM:
            assert (told == "succeeded") is (nodes.count("succeeded") >= quorum)
        assert aggregated(nodes, policy, quorum=quorum, asked="stop") == "stopped"
        assert aggregated(nodes, policy, quorum=quorum, asked="cancel") == "cancelled"


@pytest.mark.parametrize(
    ("asked", "quorum", "told"), [("pause", 1, "give one of the two"), (None, 0, "ask for one node or more")]
)
def test_a_malformed_question_is_refused(asked: str | None, quorum: int, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        aggregated([], Policy.QUORUM, quorum=quorum, asked=asked)
