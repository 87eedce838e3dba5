"""What refines the job, proved for any number of entities; and what does not, with a shortest run."""

from dataclasses import replace

import pytest

from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.machines import slot_worlds, task_worlds
from fencepost_model.machines.group_completion import (
    Buffering,
    completion_refinement,
    completion_world,
    group_completion,
)
from fencepost_model.machines.job import BUDGET_LEFT
from fencepost_model.machines.job_measure import JOB_MEASURED, MEASURES
from fencepost_model.machines.slot_as_job import SLOT_REFINES_JOB
from fencepost_model.machines.task_as_job import TASK_REFINES_JOB
from fencepost_model.machines.two_step_claim import (
    POSTGRESQL,
    SQLITE,
    TwoSteps,
    two_step_refinement,
)
from fencepost_model.refinement import Refinement, left_out, refines, statements, without_exception
from fencepost_verification.evidence import Held, Refuted, Trace, Unknown
from fencepost_verification.explore.local import explore_aggregate
from fencepost_verification.explore.world import explore
from fencepost_verification.prove.prover import Proof, prove
from fencepost_verification.refining import first_break, update_table


def assert_held(proof: Proof, refinement: Refinement | None = None) -> None:
    told = [(o.name, str(getattr(o.verdict, "reason", ""))[:300]) for o in (*proof.refuted, *proof.unknown)]
    assert not told
    if refinement is not None:
        proved = {o.statement for o in proof.held}
        assert {statement.name for statement in statements(refinement)} <= proved


def moves(trace: Trace) -> list[str]:
    return [step.transition for step in trace.steps]


def form_of(name: str, forms: tuple[TwoSteps, ...] = SQLITE) -> TwoSteps:
    return next(form for form in forms if form.name == name)


# --- read, then update ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [*SQLITE, *POSTGRESQL], ids=lambda f: f"{f.name}{' with a lock' if f.locking else ''}")
def test_an_operation_in_two_steps_does_what_it_does_in_one(form: TwoSteps) -> None:
    refinement = two_step_refinement(form)
    assert_held(prove(refines(refinement)), refinement)


def test_all_of_them_together_refine_the_job() -> None:
    refinement = two_step_refinement(*SQLITE)
    assert_held(prove(refines(refinement)), refinement)


DROPPED = [(form, guard.name) for form in SQLITE for guard in form.repeats]
RUNS = {
    ("claim", "pending"): ["enqueue", "claim_read", "request_cancel/immediate", "claim_write"],
    ("claim", "same_generation"): ["enqueue", "claim_read", "claim", "fail/retried", "claim_write"],
    ("succeed", "same_cancel"): ["enqueue", "claim", "succeed_read", "request_cancel/noted", "succeed_write"],
    ("recover", "same_cancel"): ["recover_read/requeued", "request_cancel/noted", "recover_write/requeued"],
    ("request_cancel", "same_cancel"): [
        "request_cancel_read/noted",
        "request_cancel/noted",
        "tick",
        "request_cancel_write/noted",
    ],
}


@pytest.mark.parametrize(("form", "guard"), DROPPED, ids=lambda part: part if isinstance(part, str) else part.name)
def test_each_conjunct_of_an_update_is_needed(form: TwoSteps, guard: str) -> None:
    broken = form.dropping(guard)
    found = first_break(broken)
    assert found is not None
    statement, trace = found.statement, found.trace
    assert statement.startswith(f"{form.name}_write")
    assert "refines" in statement
    assert moves(trace)[-1].startswith(f"{form.name}_write")
    assert moves(trace) == RUNS.get((form.name, guard), moves(trace))


def test_the_lost_cancel_of_recovery_is_the_run_of_the_findings() -> None:
    """Classify, then compare status and generation only: a cancel in between is lost (finding 5, A12)."""
    found = first_break(form_of("recover").dropping("same_cancel"))
    assert found is not None
    row = found.trace.end.rows[0][0]
    assert row["status"] == "pending"
    assert row["cancel_requested_at"] is not None


@pytest.mark.parametrize("form", POSTGRESQL, ids=lambda form: form.name)
def test_a_locking_read_must_look_again(form: TwoSteps) -> None:
    found = first_break(replace(form, recheck=False))
    assert found is not None
    assert any(move.startswith(f"{form.name}_lock") for move in moves(found.trace))


@pytest.mark.parametrize("form", POSTGRESQL, ids=lambda form: form.name)
def test_a_clock_that_stands_still_in_a_transaction_breaks_it(form: TwoSteps) -> None:
    """``now()`` on PostgreSQL is frozen at the transaction's beginning (D-14)."""
    found = first_break(replace(form, frozen_clock=True))
    assert found is not None
    assert "tick" in moves(found.trace)


@pytest.mark.parametrize("form", POSTGRESQL, ids=lambda form: form.name)
def test_what_time_spoils_is_repeated_under_a_lock_too(form: TwoSteps) -> None:
    (repeated,) = form.repeats
    found = first_break(form.dropping(repeated.name))
    assert found is not None
    assert "tick" in moves(found.trace)


def test_the_table_says_for_each_conjunct_what_breaks_without_it() -> None:
    claim = form_of("claim")
    rows = list(update_table([claim]))
    assert [row.conjunct for row in rows] == [guard.name for guard in claim.repeats]
    assert all(isinstance(row.verdict(), Held) for row in rows)


def test_a_conjunct_without_which_nothing_breaks_is_not_green() -> None:
    """The budget follows from status and generation: nobody lowers it in between."""
    claim = form_of("claim")
    more = replace(claim, repeats=(*claim.repeats, BUDGET_LEFT))
    (row,) = [row for row in update_table([more]) if row.conjunct == BUDGET_LEFT.name]
    assert isinstance(row.verdict(), Unknown)


def test_dropping_what_is_not_there_is_refused() -> None:
    with pytest.raises(KeyError):
        form_of("claim").dropping("lease_alive")


# --- group completion -------------------------------------------------------------------------------------------------


def test_buffered_finishes_do_what_single_ones_do() -> None:
    refinement = completion_refinement()
    assert_held(prove(refines(refinement)), refinement)


def test_the_world_of_group_completion_shows_everything() -> None:
    contract = refines(completion_refinement())
    exploration = explore(completion_world(contract))
    assert all(isinstance(verdict, Held) for verdict in exploration.verdicts())
    assert exploration.states < 20_000


@pytest.mark.parametrize(
    ("how", "statement", "last"),
    [
        (Buffering(judged_at_flush=False), "flush/succeeded refines succeed", "flush/succeeded"),
        (Buffering(flush_before_release=False), "nothing_buffered_after_release", "release/handed_back"),
    ],
)
def test_a_buffer_that_breaks_the_contract_is_refuted(how: Buffering, statement: str, last: str) -> None:
    contract = refines(completion_refinement(how))
    graph = explore_aggregate(replace(completion_world(contract), untaken=frozenset()), stop_at_violation=True)
    (broken,) = [violation for violation in graph.violations if violation.statement == statement]
    trace = graph.trace_of(broken)
    assert moves(trace)[-1] == last
    assert any(move.startswith("handler_") for move in moves(trace))


@pytest.mark.parametrize(
    ("how", "statement", "run"),
    [
        (Buffering(beats_go_on=False), "buffered_can_be_beaten_for", ["claim", "handler_"]),
        (Buffering(acknowledged=False), "buffered_can_be_flushed", ["claim", "handler_", "request_cancel"]),
    ],
)
def test_a_finish_that_is_stuck_in_the_buffer_is_refuted(how: Buffering, statement: str, run: list[str]) -> None:
    proof = prove(group_completion(how))
    (broken,) = [o.verdict for o in proof.refuted if o.statement == statement]
    assert isinstance(broken, Refuted)
    assert broken.trace is not None
    taken = [move for move in moves(broken.trace) if move not in ("tick", "enqueue")]
    assert [move[: len(expected)] for move, expected in zip(taken, run, strict=True)] == run


def test_a_finish_that_was_given_away_is_dropped_and_told_so() -> None:
    """Without the flush before a release: the finished work is done again."""
    contract = group_completion(Buffering(flush_before_release=False))
    demanded = tuple(i for i in contract.invariants if i.name != "nothing_buffered_after_release")
    contract = replace(contract, invariants=demanded)
    graph = explore_aggregate(completion_world(contract), stop_at_violation=True)
    (broken,) = [v for v in graph.violations if v.statement == "no_finish_given_away"]
    assert moves(graph.trace_of(broken))[-2:] == ["release/handed_back", "flush/dropped"]


# --- other machines ---------------------------------------------------------------------------------------------------

OTHERS = (TASK_REFINES_JOB, SLOT_REFINES_JOB)
WORLDS = {TASK_REFINES_JOB.name: task_worlds.SMALL_WORLDS, SLOT_REFINES_JOB.name: slot_worlds.WORLDS}


@pytest.mark.parametrize("refinement", OTHERS, ids=lambda refinement: refinement.name)
def test_another_machine_is_seen_as_a_job(refinement: Refinement) -> None:
    assert_held(prove(refines(refinement)), refinement)


def test_the_exceptions_of_the_task_are_those_of_the_contract() -> None:
    """Contract §6: skip from an unstarted status, every edge into lost, an orphan, success while stopping; revivals."""
    unstarted, lost = {"skip", "condition_false", "upstream_failed/skipped"}, {"vanished", "window_over/lost"}
    revivals = {"retry", "force_retry", "skip_failed", "reset"}
    orphans = {"supervisor_lost/failed", "supervisor_lost/lost"}
    assert set(TASK_REFINES_JOB.exceptions()) == unstarted | lost | revivals | orphans | {"returned"}


@pytest.mark.parametrize(
    ("refinement", "transition"),
    [
        pytest.param(refinement, transition, id=f"{refinement.concrete.name}-{transition}")
        for refinement in OTHERS
        for transition in refinement.exceptions()
    ],
)
def test_each_exception_is_needed(refinement: Refinement, transition: str) -> None:
    demanded = (s for s in statements(without_exception(refinement, transition)) if s.name.startswith(transition))
    contract = replace(refinement.concrete, invariants=(), step_properties=tuple(demanded), checked=False)
    for world in WORLDS[refinement.name]:
        graph = explore_aggregate(world, contract, stop_at_violation=True)
        broken = [v for v in graph.violations if v.statement.startswith(transition)]
        if broken:
            assert moves(graph.trace_of(broken[0]))[-1].startswith(transition)
            return
    raise AssertionError(f"{transition} breaks nothing when it is no exception")


@pytest.mark.parametrize("refinement", OTHERS, ids=lambda refinement: refinement.name)
def test_what_is_not_demanded_has_a_reason(refinement: Refinement) -> None:
    assert all(line.rstrip().split(", ", 1)[1] for line in left_out(refinement))
    assert not any(
        line.startswith(("claim.budget_left", "claim.pending", "renew.running")) for line in left_out(refinement)
    )


# --- a measure --------------------------------------------------------------------------------------------------------


def test_the_measure_of_the_job_falls() -> None:
    proof = prove(JOB_MEASURED)
    assert_held(proof)
    added = {i.name for i in JOB_MEASURED.invariants} | {p.name for p in JOB_MEASURED.step_properties}
    added -= {i.name for i in JOB_CONTRACT.invariants} | {p.name for p in JOB_CONTRACT.step_properties}
    lowering = {f"{operation}_lowers_{measure.name}" for measure in MEASURES for operation in measure.by}
    assert lowering <= added <= {o.statement for o in proof.held}


def test_every_operation_on_a_job_lowers_the_measure_or_is_named() -> None:
    """Only creation begins anew; renewals and cancel requests do not raise it."""
    lowered = {operation for measure in MEASURES for operation in measure.by}
    others = {operation.name for operation in JOB_CONTRACT.operations} - lowered
    assert others == {"enqueue", "renew", "request_cancel"}
    for name in ("renew", "request_cancel"):
        assert any(s.of == name and "does_not_raise" in s.name for s in JOB_MEASURED.step_properties)


def test_a_measure_that_a_step_raises_is_refuted() -> None:
    """A hand-back without a ceiling gives back attempts for ever."""
    release = JOB_MEASURED.operation("release")
    cases = tuple(
        replace(case, effect=tuple(a for a in case.effect if a.field.name != "hand_backs")) for case in release.cases
    )
    operations = tuple(replace(o, cases=cases) if o.name == "release" else o for o in JOB_MEASURED.operations)
    proof = prove(replace(JOB_MEASURED, operations=operations))
    (broken,) = [o for o in proof.refuted if o.statement == "release_lowers_job_measure"]
    assert isinstance(broken.verdict, Refuted)
    assert broken.verdict.trace is not None
    assert moves(broken.verdict.trace)[-1] == "release/handed_back"
