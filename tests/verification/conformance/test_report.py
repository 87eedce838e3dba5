"""The report: what stands in it, in which form, and what a clause is blamed for."""

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from rich.console import Console

from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_verification.conformance.harness import ok
from fencepost_verification.conformance.reference import Reference
from fencepost_verification.conformance.report import ConformanceReport
from fencepost_verification.conformance.verdict import (
    ClauseVerdict,
    Finding,
    Ledger,
    Verdict,
    clauses_of,
    judged,
    overall,
)


class Careless(Reference):
    """Renews for anybody."""

    name = "careless"

    def renew(self, job: str, worker_id: str, lease_generation: int | None) -> dict[str, Any]:
        return ok()


@pytest.fixture(scope="module")
def careless(small: Any) -> ConformanceReport:
    from fencepost_verification.conformance.connect import Adapter
    from fencepost_verification.conformance.run import run_conformance

    return run_conformance(Adapter("careless", Careless), scopes=(small,))


def test_json_has_exactly_the_keys_that_are_promised(careless: ConformanceReport) -> None:
    told = json.loads(json.dumps(careless.as_json()))
    assert set(told) == {"edges", "refusals", "calls", "steps", "seconds", "clauses", "verdict"}
    assert set(told["edges"]) == set(told["refusals"]) == {"covered", "total"}
    assert told["verdict"] == "refuted"
    assert {clause["name"] for clause in told["clauses"]} == {clause.name for clause in clauses_of(JOB_CONTRACT)}


def test_a_refuted_clause_tells_the_run_the_answers_and_the_guards_on_both_sides(careless: ConformanceReport) -> None:
    clause = next(c for c in careless.as_json()["clauses"] if c["name"] == "renew.generation")
    assert (clause["verdict"], clause["citation"]) == ("refuted", "§2 held, D-18")
    assert clause["trace"][-1]["message"]["call"] == "renew"
    assert (clause["expected"], clause["got"]) == ("refused by generation", "accepted")
    assert clause["guards"]["generation"] == {"model": False, "implementation": True}


def test_a_wrong_row_tells_the_fields(careless: ConformanceReport) -> None:
    clause = next(c for c in careless.as_json()["clauses"] if c["name"] == "renew")
    assert clause["verdict"] == "refuted"
    assert clause["changed"]


def test_the_terminal_report_shows_verdict_figures_and_runs(careless: ConformanceReport) -> None:
    paper = io.StringIO()
    careless.print(Console(file=paper, width=120))
    text = paper.getvalue()
    for told in ("REFUTED", "careless", "renew.generation", "refused by generation", f"{careless.calls:,}"):
        assert told in text


def test_one_fault_does_not_refute_other_operations(careless: ConformanceReport) -> None:
    guards = {name for name in careless.refuted() if "." in name}
    assert guards
    assert all(name.startswith("renew.") for name in guards)


def finding(*clauses: str, length: int = 1, certain: bool = False) -> Finding:
    return Finding(clauses, "why", (None,) * length, certain=certain)  # type: ignore[arg-type]


def test_guards_that_refuse_alone_elsewhere_are_cleared() -> None:
    ledger = Ledger()
    ledger.refused("renew", frozenset({"owner"}))
    ledger.findings.append(finding("renew.owner", "renew.running"))
    assert set(ledger.refuted()) == {"renew.running"}


def test_somebody_is_blamed_even_when_all_are_cleared() -> None:
    ledger = Ledger()
    ledger.refused("renew", frozenset({"owner"}))
    ledger.refused("renew", frozenset({"generation"}))
    ledger.findings.append(finding("renew.owner", "renew.generation"))
    assert set(ledger.refuted()) == {"renew.owner", "renew.generation"}


def test_a_guard_that_failed_alone_is_not_cleared() -> None:
    ledger = Ledger()
    ledger.refused("renew", frozenset({"owner"}))
    ledger.findings += [finding("renew.owner"), finding("renew.owner", "renew.running", length=0)]
    shown = ledger.refuted()
    assert set(shown) == {"renew.owner", "renew.running"}
    assert shown["renew.owner"].clauses == ("renew.owner",)


def test_a_certain_finding_blames_all_that_it_names() -> None:
    ledger = Ledger()
    ledger.refused("renew", frozenset({"owner"}))
    ledger.findings.append(finding("renew.owner", "renew.running", certain=True))
    assert set(ledger.refuted()) == {"renew.owner", "renew.running"}


def test_nothing_exercised_is_unknown_clause_by_clause() -> None:
    verdicts = judged(JOB_CONTRACT, Ledger(), {})
    assert {clause.verdict for clause in verdicts} == {"unknown"}


def test_a_finding_about_no_clause_is_a_fault_of_the_judge() -> None:
    ledger = Ledger()
    ledger.findings.append(finding("renew.mood"))
    with pytest.raises(LookupError, match=r"renew\.mood"):
        judged(JOB_CONTRACT, ledger, {})


@pytest.mark.parametrize(
    ("kinds", "complete", "verdict"),
    [
        ((), True, "unknown"),
        (("held",), True, "held"),
        (("held",), False, "unknown"),
        (("held", "skipped"), True, "held"),
        (("skipped",), True, "unknown"),
        (("held", "unknown"), True, "unknown"),
        (("held", "unknown", "refuted"), False, "refuted"),
    ],
)
def test_the_verdict_on_the_whole(kinds: tuple[Verdict, ...], complete: bool, verdict: Verdict) -> None:
    clauses = [ClauseVerdict(str(n), "guard", "", "", kind, 1) for n, kind in enumerate(kinds)]
    assert overall(clauses, complete=complete) == verdict


def test_skips_are_printed_with_their_sentences(judge: Callable[..., ConformanceReport]) -> None:
    class NoRelease(Reference):
        capabilities = Reference.capabilities - {"release"}

    paper = io.StringIO()
    judge(NoRelease).print(Console(file=paper, width=200))
    assert "A worker may hand a job back." in paper.getvalue()
