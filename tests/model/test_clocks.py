"""Contracts whose operations read clocks of their own."""

from dataclasses import replace

import pytest

from fencepost_model.clocks import OWN_CLOCK, as_the_store_has_it, own_clocks, reads_time, with_own_clocks
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.machines.job_worlds import jobs
from fencepost_model.semantics import Accepted, Call, Refused, Semantics, State
from fencepost_model.shapes import Parameter, Sort
from fencepost_model.terms import NULL
from fencepost_model.worlds import World, const, later
from fencepost_verification.explore.local import explore_aggregate
from fencepost_verification.prove.prover import Proof, prove


@pytest.fixture(scope="module")
def proof() -> Proof:
    return prove(with_own_clocks(JOB_CONTRACT))


def world(statement: str) -> World:
    """One job, one execution, and clocks that are slow, right or fast."""
    return World(
        name="own-clocks",
        meaning="one job, and operations whose clocks are slow, right or fast",
        contract=as_the_store_has_it(JOB_CONTRACT, statement),
        population=jobs(1, "w1"),
        horizon=3,
        arguments={
            "enqueue.max_attempts": const(1, 2),
            "enqueue.deadline_at": later(-1, 4),
            "*.code": const("RENDER_SERVICE_UNAVAILABLE"),
            "*.message": (NULL,),
            "*.delay": const(1),
            "park.provider_ref": const("ref"),
            "park.next_poll_at": later(1),
            f"*.{OWN_CLOCK}": later(0, 2, -4),
        },
        settings={
            "lease_seconds": 2,
            "release_ceiling": 3,
            "max_polls": 1,
            "registers_park": True,
            "registers_expired": True,
        },
        legacy=False,
        without=frozenset({"skip"}),
    )


def test_no_operation_reads_the_stores_clock() -> None:
    for operation, case in with_own_clocks(JOB_CONTRACT).transitions():
        terms = [*(g.term for g in (*operation.guards, *case.when)), *(a.value for a in case.effect)]
        assert not any(reads_time(term) for term in terms)


def test_safety_holds_whatever_the_clocks_say(proof: Proof) -> None:
    assert not proof.refuted
    assert not proof.unknown
    assert {o.statement for o in proof.held} >= {invariant.name for invariant in JOB_CONTRACT.invariants}


def test_exempt_is_what_compares_a_step_with_the_time_and_nothing_else() -> None:
    exempt = {one.statement for one in own_clocks(JOB_CONTRACT).exempt}
    about_steps = {p.name for p in JOB_CONTRACT.step_properties if reads_time(p.statement)}
    assert exempt == about_steps | {p.name for p in JOB_CONTRACT.progress}
    assert not exempt & {invariant.name for invariant in JOB_CONTRACT.invariants}


def test_an_exempt_statement_is_demanded_by_the_clock_that_was_read(proof: Proof) -> None:
    for statement in own_clocks(JOB_CONTRACT).contract.step_properties:
        assert not reads_time(statement.statement) or statement.of is not None
    assert any(o.statement == "live_lease_respected by the clock of recover" for o in proof.held)


def test_a_clock_is_asked_for_only_where_time_is_read() -> None:
    clocked = {o.name for o in with_own_clocks(JOB_CONTRACT).operations if OWN_CLOCK in {p.name for p in o.parameters}}
    assert "claim" in clocked
    assert "recover" in clocked


@pytest.mark.parametrize(
    ("statement", "run"),
    [
        ("live_lease_respected", ["enqueue", "claim", "recover"]),
        ("holder_only", ["enqueue", "claim"]),
        ("lease_born_alive", ["enqueue", "claim"]),
        ("only_the_lost_are_ended", ["enqueue", "expire_overdue"]),
        ("back_off_kept", ["enqueue", "claim", "fail", "claim"]),
        ("poll_time_kept", ["enqueue", "claim", "park", "resume_poll"]),
        ("created_complete", ["enqueue"]),
    ],
)
def test_an_exempt_statement_breaks_with_a_wrong_clock(statement: str, run: list[str]) -> None:
    graph = explore_aggregate(world(statement), stop_at_violation=True)
    (broken,) = [v for v in graph.violations if v.statement == statement]
    trace = graph.trace_of(broken)
    taken = [step.transition.split("/")[0] for step in trace.steps if step.transition != "tick"]
    assert taken[: len(run)] == run


def test_a_fast_clock_in_recovery_costs_an_attempt_and_with_the_last_one_the_outcome() -> None:
    semantics = Semantics(with_own_clocks(JOB_CONTRACT), jobs(1, "w1").__class__(jobs(1, "w1").root), {})
    semantics = replace(semantics, settings={**JOB_CONTRACT.defaults(), "lease_seconds": 2})
    state = next(semantics.initial())
    state = State(10, state.rows)

    def take(state: State, operation: str, binding: dict[str, int], **params: int | None) -> State:
        outcome = semantics.attempt(state, Call(operation, 0, binding, params))
        assert isinstance(outcome, Accepted), outcome
        return outcome.state

    state = take(state, "enqueue", {"job": 0}, max_attempts=1, deadline_at=None, own_clock=10)
    state = take(state, "claim", {"job": 0, "token": 1}, own_clock=10)
    right = semantics.attempt(state, Call("recover", 0, {"job": 0}, {"delay": 1, "own_clock": 10}))
    assert right == Refused(frozenset({"lease_over"}))
    state = take(state, "recover", {"job": 0}, delay=1, own_clock=12)
    row = state.rows[0][0]
    assert (row["status"], row["attempt_count"], state.now) == ("failed", 1, 10)


def test_a_parameter_of_that_name_is_refused() -> None:
    named = Parameter(OWN_CLOCK, Sort.INSTANT, "taken already")
    operations = tuple(
        replace(o, parameters=(*o.parameters, named)) if o.name == "renew" else o for o in JOB_CONTRACT.operations
    )
    with pytest.raises(ValueError, match="rename"):
        own_clocks(replace(JOB_CONTRACT, operations=operations))


def test_a_statement_that_does_not_read_the_time_cannot_be_demanded_by_the_stores_clock() -> None:
    with pytest.raises(KeyError):
        as_the_store_has_it(JOB_CONTRACT, "no such statement")
