"""What there is to cover: the reduced graph of a world leads to the same edges and refusals as all of its states."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fencepost_model.contract import transition_name
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.machines.job import TERMINAL
from fencepost_model.machines.job_worlds import jobs
from fencepost_model.semantics import Accepted, Refused
from fencepost_model.terms import Const
from fencepost_verification.conformance.graph import fields_that_matter, graph_of, reduced_graph
from fencepost_verification.conformance.plan import Plan, planned
from fencepost_verification.conformance.run import alone_in, exercised_by
from fencepost_verification.conformance.scope import BARE, CORE, SCOPES, Scope
from fencepost_verification.conformance.situations import EMPTY, LATE, RIGHT, STRANGER, Lens, NotToured, Token


def test_the_reduced_graph_leads_to_the_same_edges_and_refusals_as_every_state(small: Scope) -> None:
    lens = Lens(small.world)
    everything, reduced = Plan(lens, graph_of(small.world)), Plan(lens, reduced_graph(lens))
    assert set(reduced.edges) == set(everything.edges)
    assert set(reduced.refusals) == set(everything.refusals)
    assert set(reduced.situations) == set(everything.situations)
    assert len(reduced.states) < len(everything.states)


def test_what_callers_remember_does_not_multiply_the_states(small: Scope) -> None:
    one = Lens(small.world)
    two = Lens(replace(small.world, population=jobs(1, "w1", "w1", "w2")))
    assert len(reduced_graph(one).states) <= len(reduced_graph(two).states) <= 3 * len(reduced_graph(one).states)


def test_fields_that_no_guard_reads_do_not_matter() -> None:
    valued, nullness = fields_that_matter(JOB_CONTRACT)
    assert {"status", "lease_expires_at", "lease_generation", "attempt_count"} <= set(valued)
    assert "cancel_requested_at" in nullness
    assert not {"error_message", "heartbeat_at", "started_at", "finished_at"} & {*valued, *nullness}


def test_the_scopes_take_every_transition_of_the_contract() -> None:
    taken = frozenset().union(*(exercised_by(planned(scope)) for scope in SCOPES))
    assert {transition_name(operation, case) for operation, case in JOB_CONTRACT.transitions()} <= taken


def test_each_guard_is_alone_in_the_way_somewhere_or_known_to_be_implied() -> None:
    guards = {f"{o.name}.{g.name}" for o in JOB_CONTRACT.operations for g in o.guards}
    implied = guards - frozenset().union(*(alone_in(planned(scope)) for scope in SCOPES))
    # A row that is not running has no owner; a lease never reaches past the deadline; what waits has a poll time and
    # no cancel request. Whatever these guards forbid, another guard forbids too.
    assert implied == {
        *(f"{o}.running" for o in ("renew", "succeed", "fail", "skip", "park", "acknowledge_cancel", "release")),
        "renew.before_deadline",
        "resume_poll.waiting",
        "resume_poll.not_cancelled",
    }
    assert implied <= frozenset().union(*(exercised_by(planned(scope)) for scope in SCOPES))


@settings(max_examples=60)
@given(st.data())
def test_what_a_lens_says_of_a_probe_is_what_plain_evaluation_says(data: st.DataObject) -> None:
    scope = data.draw(st.sampled_from(SCOPES))
    plan = planned(scope)
    lens = plan.lens
    state = plan.states[data.draw(st.integers(0, len(plan.states) - 1))]
    issued: list[Token] = data.draw(
        st.lists(
            st.fixed_dictionaries({"worker_id": st.sampled_from(["w1", "w2"]), "lease_generation": st.integers(0, 3)}),
            max_size=3,
        )
    )
    for probe, false in lens.probes(state):
        attempt = lens.attempt(state, probe, issued)
        outcome = lens.semantics.attempt(lens.state_with(state, attempt.token), lens.call(attempt))
        if false:
            assert outcome == Refused(false)
        else:
            assert isinstance(outcome, Accepted)
            assert (outcome.case, outcome.state) == lens.step(state, attempt)


def test_a_terminal_status_has_one_situation() -> None:
    plan = planned(CORE)
    for status in TERMINAL:
        assert len({s for s in plan.situations if s[0] == status}) == 1


def test_tokens_that_were_handed_out_are_preferred_to_made_up_ones() -> None:
    lens = Lens(CORE.world)
    renew = lens.operations["renew"]
    row = {**lens.semantics.empty_rows()[0], "status": "running", "worker_id": "w1", "lease_generation": 5}
    issued: list[Token] = [
        {"worker_id": "w2", "lease_generation": 1},
        {"worker_id": "w1", "lease_generation": 3},
        {"worker_id": "w1", "lease_generation": 5},
    ]
    tokens = lens.tokens(renew, row, issued)
    assert tokens[RIGHT] == issued[2]
    assert tokens["an earlier token of the holder"] == issued[1]
    assert tokens[LATE] == issued[0]
    assert tokens[STRANGER] == {"worker_id": "w2", "lease_generation": 5}
    assert tokens[EMPTY] == {"worker_id": "w1", "lease_generation": None}
    made_up = lens.tokens(renew, row)
    assert made_up[RIGHT] == issued[2]
    assert made_up["an earlier token of the holder"] == {"worker_id": "w1", "lease_generation": 4}


def test_a_world_with_two_jobs_is_refused_with_the_reason() -> None:
    with pytest.raises(NotToured, match="one job"):
        Lens(replace(CORE.world, population=jobs(2, "w1")))


def test_a_back_off_that_the_store_may_choose_is_refused_with_the_reason() -> None:
    arguments = {**BARE.world.arguments, "*.delay": (Const(1), Const(2))}
    with pytest.raises(NotToured, match="'delay'"):
        Lens(replace(BARE.world, arguments=arguments))
