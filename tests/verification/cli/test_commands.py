"""The commands: one JSON object and an exit code for scripts, a sentence for people who misuse them."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.machines.job_worlds import JOB_PLAIN
from fencepost_model.specification import Chapter
from fencepost_verification import catalogue
from fencepost_verification.cli.main import app, main
from fencepost_verification.conformance.offenders.catalogue import CATALOGUE
from fencepost_verification.conformance.reference import Reference
from fencepost_verification.evidence import EXIT_HELD, EXIT_REFUTED, EXIT_UNKNOWN, EXIT_USAGE
from fencepost_verification.explore.necessity import Conjunct, conjuncts_of, without


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def answered(*arguments: str) -> tuple[int, dict[str, Any]]:
    result = run(*arguments, "--json")
    return result.exit_code, json.loads(result.stdout)


@pytest.fixture
def weakened(monkeypatch: pytest.MonkeyPatch) -> None:
    """A contract whose renewals are not fenced, in place of ours."""
    mutant = without(JOB_CONTRACT, Conjunct("renew", None, "generation"))
    world = replace(JOB_PLAIN, contract=mutant)
    chapter = Chapter("Weakened", "Renewals without a fence.", mutant, (world,), (world,))
    monkeypatch.setattr(catalogue, "CHAPTERS", {"job": chapter})
    monkeypatch.setattr(catalogue, "WORLDS", {"job-plain": world})


def test_prove_lists_what_was_to_be_shown_and_what_held() -> None:
    code, told = answered("prove", "--contract", "job")
    assert code == EXIT_HELD
    assert list(told) == ["obligations", "held", "refuted", "unknown", "seconds"]
    assert told["held"] == told["obligations"]
    assert len(set(told["obligations"])) == len(told["obligations"]) > 1_900
    assert told["refuted"] == told["unknown"] == []


@pytest.mark.usefixtures("weakened")
def test_a_weaker_contract_is_refuted_by_proof_and_by_exploration() -> None:
    code, told = answered("prove", "--contract", "job")
    assert code == EXIT_REFUTED
    assert any("renew" in name and "holder_only" in name for name in told["refuted"])
    code, told = answered("explore", "--world", "job-plain")
    assert code == EXIT_REFUTED
    assert "holder_only" in told["broken"]
    assert "shortest run: enqueue ; " in " ".join(run("explore", "--world", "job-plain").output.split())


def test_explore_counts_states_edges_and_what_was_never_taken() -> None:
    code, told = answered("explore", "--world", "job-plain")
    assert code == EXIT_HELD
    assert (told["world"], told["states"], told["edges"]) == ("job-plain", 7_108, 14_403)
    assert told["never_taken"] == []
    assert told["states_per_second"] > 0
    assert told["peak_memory_mib"] > 0


def test_explore_refuses_an_unknown_world_and_names_those_there_are() -> None:
    result = run("explore", "--world", "nowhere")
    assert result.exit_code == EXIT_USAGE
    assert all(name in result.output for name in ("nowhere", "job-small", "job-large"))


def test_necessity_explains_each_guard_of_an_operation() -> None:
    code, told = answered("necessity", "--guard", "resume_poll")
    assert code == EXIT_HELD
    assert told["guards"] == [str(c) for c in conjuncts_of(JOB_CONTRACT) if c.operation == "resume_poll"]
    assert set(told["necessary"]) | set(told["redundant"]) == set(told["guards"])
    assert told["unexplained"] == []
    assert told["why"]["resume_poll.poll_due"]["breaks"] == "poll_time_kept"
    assert told["why"]["resume_poll.waiting"]["implied_by"]


def test_necessity_refuses_a_name_that_no_guard_has() -> None:
    result = run("necessity", "--guard", "no such guard")
    assert result.exit_code == EXIT_USAGE
    assert "no guard's name contains" in " ".join(result.output.split())


def test_a_fault_of_our_own_is_never_taken_for_a_verdict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_: Chapter) -> None:
        raise RuntimeError("out of order")

    monkeypatch.setattr(catalogue, "proof", broken)
    monkeypatch.setattr(sys, "argv", ["fencepost-verify", "prove", "--contract", "job"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == EXIT_UNKNOWN
    assert "a fault of fencepost-verify" in capsys.readouterr().err


class Unfenced(Reference):
    """Believes that an owner is a fence."""

    name = "unfenced"

    def renew(self, job: str, worker_id: str, lease_generation: int | None) -> dict[str, Any]:
        row = self.rows.get(job)
        if row and row["worker_id"] == worker_id:
            return self.attempt("renew", job, worker_id=worker_id, lease_generation=row["lease_generation"])
        return super().renew(job, worker_id, lease_generation)


def test_conform_names_the_clause_that_a_wrong_implementation_breaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "unfenced_queue.py").write_text(f"from {__name__} import Unfenced\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    code, told = answered("conform", "--adapter", "unfenced_queue:Unfenced")
    assert code == EXIT_REFUTED
    assert told["verdict"] == "refuted"
    assert told["clauses"]["renew.generation"]["verdict"] == "refuted"
    assert told["clauses"]["renew.generation"]["trace"]
    assert told["clauses"]["succeed.generation"]["verdict"] == "held"


def test_conform_covers_everything_of_the_model_itself() -> None:
    code, told = answered("conform", "--adapter", "memory")
    assert code == EXIT_HELD
    assert told["verdict"] == "held"
    for part in ("edges", "refusals"):
        assert told[part]["covered"] == told[part]["total"] > 100
    assert told["steps"] <= 5 * told["edges"]["total"]
    assert told["calls"] < 10_000


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "name one implementation"),
        (("--adapter", "memory", "--command", "x"), "name one implementation"),
        (("--adapter", "nothing"), "not known"),
        (("--adapter", "no_such_module:Thing"), "cannot be imported"),
        (("--command", "/no/such/program"), "/no/such/program"),
        (("--command", "'"), "quotes"),
        (("--command", "cat", "--patience", "-1"), "patience"),
    ],
)
def test_conform_refuses_what_it_cannot_judge_with_a_sentence(arguments: tuple[str, ...], sentence: str) -> None:
    result = run("conform", *arguments)
    assert result.exit_code == EXIT_USAGE
    assert sentence in " ".join(result.output.split())
    assert "Traceback" not in result.output


def test_smoke_takes_a_first_look() -> None:
    code, told = answered("smoke", "--adapter", "memory")
    assert (code, told["complaint"], told["lacks"]) == (EXIT_HELD, "", [])
    assert 0 < told["calls"] < 200
    result = run("smoke", "--command", "cat")
    assert result.exit_code == EXIT_UNKNOWN
    assert run("smoke").exit_code == EXIT_USAGE


def test_offenders_are_all_caught() -> None:
    code, told = answered("offenders")
    assert code == EXIT_HELD
    assert told["caught"] == told["offenders"] == [offender.name for offender in CATALOGUE]
    assert told["missed"] == []


def test_schema_is_one_for_every_operation() -> None:
    result = run("schema")
    assert result.exit_code == 0
    told = json.dumps(json.loads(result.stdout))
    assert all(operation.name in told for operation in JOB_CONTRACT.operations)


@pytest.mark.parametrize("command", ["documents", "verify"])
def test_commands_on_the_site_refuse_a_folder_that_is_no_checkout(command: str, tmp_path: Path) -> None:
    result = run(command, "--root", str(tmp_path))
    assert result.exit_code == EXIT_USAGE
    assert "no checkout" in result.output
