"""The tour: everything is covered on a right implementation, in process and over streams, on every store."""

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from fencepost_model.shapes import Guard
from fencepost_model.terms import Not
from fencepost_verification.conformance.adapters.databases import POSTGRESQL_URL
from fencepost_verification.conformance.connect import Command, adapter
from fencepost_verification.conformance.offenders.mutations import edited, with_guard
from fencepost_verification.conformance.reference import ModelHarness, Reference
from fencepost_verification.conformance.report import ConformanceReport
from fencepost_verification.conformance.run import run_conformance
from fencepost_verification.conformance.scope import CORE, SCOPES, Scope
from fencepost_verification.conformance.smoke import SMOKE
from fencepost_verification.evidence import EXIT_HELD, EXIT_REFUTED, EXIT_UNKNOWN


def served(name: str) -> Command:
    """A built-in adapter behind standard streams."""
    return Command((sys.executable, "-m", "fencepost_verification.conformance.serve", name), patience=60)


def covers_everything(report: ConformanceReport) -> bool:
    """Whether a report says that all there was went right."""
    assert report.fault == ""
    assert report.refuted() == ()
    full = all(part.covered == part.total > 0 for s in report.scopes for part in (s.edges, s.refusals))
    return full and report.verdict == "held" and report.exit_code == EXIT_HELD


@pytest.fixture(scope="module")
def memory() -> ConformanceReport:
    """The model in memory, in process, in all scopes."""
    return run_conformance(adapter("memory"))


def test_the_model_in_memory_holds_to_everything(memory: ConformanceReport) -> None:
    assert covers_everything(memory)
    assert [clause.name for clause in memory.clauses if clause.verdict != "held"] == []
    assert memory.skips == {}


def test_a_tour_is_frugal(memory: ConformanceReport) -> None:
    for scope in memory.scopes:
        assert scope.counts.steps <= 5 * scope.edges.total
        assert scope.counts.calls < 10_000
        # After a reset the row is looked at, after each step, and after each refusal.
        assert scope.counts.inspections >= scope.edges.total + scope.refusals.total
    assert memory.calls < 10_000


def test_the_same_over_standard_streams(memory: ConformanceReport) -> None:
    streamed = run_conformance(served("memory"))
    assert covers_everything(streamed)
    assert (streamed.edges, streamed.refusals, streamed.calls) == (memory.edges, memory.refusals, memory.calls)


def test_our_runtime_on_sqlite_holds_to_everything() -> None:
    report = run_conformance(adapter("sqlite"))
    assert covers_everything(report)
    assert [clause.name for clause in report.clauses if clause.verdict == "skipped"] == ["enqueue.new"]


def test_our_runtime_on_postgresql_holds_to_everything(postgresql_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(POSTGRESQL_URL, postgresql_url)
    assert covers_everything(run_conformance(adapter("postgresql")))


@pytest.mark.parametrize("name", ["sqlite", "postgresql"])
def test_our_runtime_over_standard_streams(
    name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "postgresql":
        monkeypatch.setenv(POSTGRESQL_URL, request.getfixturevalue("postgresql_url"))
    assert covers_everything_but_unreached(run_conformance(served(name), scopes=(SMOKE,)))


def covers_everything_but_unreached(report: ConformanceReport) -> bool:
    """Whether a run of one scope alone covered it; clauses that only the other scope has stay unknown."""
    assert report.fault == ""
    assert report.refuted() == ()
    return all(part.covered == part.total > 0 for s in report.scopes for part in (s.edges, s.refusals))


# --- what is no success -----------------------------------------------------------------------------------------------


def test_a_run_of_nothing_is_unknown() -> None:
    report = run_conformance(adapter("memory"), scopes=())
    assert (report.verdict, report.exit_code, report.calls) == ("unknown", EXIT_UNKNOWN, 0)


def test_a_run_of_one_scope_alone_leaves_clauses_unknown(small: Scope) -> None:
    report = run_conformance(adapter("memory"), scopes=(small,))
    assert report.complete
    assert report.verdict == "unknown"
    assert "recover/overdue" in [clause.name for clause in report.clauses if clause.verdict == "unknown"]


def test_an_implementation_without_a_clock_is_not_judged(judge: Callable[..., ConformanceReport]) -> None:
    class RealClock(Reference):
        capabilities = Reference.capabilities - {"injected_clock"}

    report = judge(RealClock)
    assert (report.verdict, report.exit_code, report.calls) == ("unknown", EXIT_UNKNOWN, 0)
    assert all(clause.verdict == "skipped" for clause in report.clauses)
    assert "injected_clock" in report.skips


@pytest.mark.parametrize(
    ("operation", "guard"),
    [("claim", "due"), ("renew", "lease_alive"), ("recover", "lease_over"), ("request_cancel", "not_ended")],
)
def test_a_broken_oracle_is_noticed(operation: str, guard: str, small: Scope) -> None:
    """The judge can fail: with one guard of its own turned round, a right implementation looks wrong."""
    contract = small.world.contract
    right: Guard = next(g for g in contract.operation(operation).guards if g.name == guard)
    turned = edited(contract, with_guard(operation, guard, Not(right.term)))
    report = run_conformance(
        adapter("memory"), scopes=(Scope(replace(small.world, contract=turned), small.capabilities),)
    )
    assert report.exit_code == EXIT_REFUTED
    assert any(name.partition(".")[0].partition("/")[0] == operation for name in report.refuted())


def test_an_implementation_of_another_contract_is_noticed(small: Scope) -> None:
    """Nothing in the judge knows a job: a contract without a table of its own runs through the generic harness."""

    class Generic(ModelHarness):
        contract = small.world.contract
        capabilities = Reference.capabilities

    report = run_conformance(replace(adapter("memory"), factory=Generic), scopes=(small,))
    assert report.complete
    assert report.refuted() == ()


def test_progress_ends_with_everything(small: Scope) -> None:
    heard: list[tuple[str, int, int]] = []
    report = run_conformance(adapter("memory"), scopes=(small,), progress=lambda *told: heard.append(told))
    total = report.edges.total + report.refusals.total
    assert heard[-1] == ("small", total, total)
    assert [done for _, done, _ in heard] == sorted(done for _, done, _ in heard)


def test_the_scopes_of_a_run_are_about_one_contract(small: Scope) -> None:
    other = edited(CORE.world.contract)
    with pytest.raises(ValueError, match="another contract"):
        run_conformance(adapter("memory"), scopes=(small, Scope(replace(small.world, contract=other), ())))


def test_an_operation_that_turns_out_unsupported_is_skipped_and_never_held(
    judge: Callable[..., ConformanceReport],
) -> None:
    class NoRelease(Reference):
        def release(self, job: str, worker_id: str, lease_generation: int | None) -> dict[str, Any]:
            return {"unsupported": "workers here never shut down"}

    report = judge(NoRelease, *SCOPES)
    released = [clause for clause in report.clauses if clause.name.startswith("release")]
    assert released
    assert {clause.verdict for clause in released} == {"skipped"}
    assert all("never shut down" in clause.reason for clause in released)
    assert report.refuted() == ()
    assert report.complete


def test_a_contract_that_breaks_its_own_statement_is_told_and_hides_no_fault_of_the_implementation(
    judge: Callable[..., ConformanceReport],
) -> None:
    contract = SMOKE.world.contract
    untrue = replace(contract.invariants[0], name="untrue", statement=Not(contract.invariants[0].statement))
    changed = replace(contract, invariants=(*contract.invariants, untrue))
    scope = Scope(replace(SMOKE.world, contract=changed), SMOKE.capabilities)

    class Unfenced(Reference):
        def renew(self, job: str, worker_id: str, lease_generation: int | None) -> dict[str, Any]:
            row = self.rows.get(job)
            return super().renew(job, worker_id, row["lease_generation"] if row else None)  # type: ignore[arg-type]

    report = judge(Reference, scope)
    assert report.refuted() == ("untrue",)
    assert all(part.covered == part.total > 0 for part in (report.edges, report.refusals))
    assert {"untrue", "renew.generation"} <= set(judge(Unfenced, scope).refuted())
