"""The export commands write what the functions write, and name the worlds there are."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner, Result

from fencepost_model.machines.job_worlds import JOB_PARKED, JOB_PLAIN
from fencepost_verification.cli.main import app
from fencepost_verification.evidence import EXIT_HELD, EXIT_USAGE
from fencepost_verification.export.tla import tla
from fencepost_verification.prove.smtlib import sections


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["export", *arguments])


def test_a_world_is_written_for_tlc_and_for_spin(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("tla", "--world", "job-plain", "--symmetry", "--out", str(out)).exit_code == EXIT_HELD
    module = tla(JOB_PLAIN, symmetry=True)
    assert (out / "job_plain.tla").read_text(encoding="utf-8") == module.text
    assert (out / "job_plain.cfg").read_text(encoding="utf-8") == module.cfg
    assert run("promela", "--world", "job-parked", "--out", str(out)).exit_code == EXIT_HELD
    assert "assert(lawful)" in (out / "job-parked.pml").read_text(encoding="utf-8")


def test_the_obligations_are_written_one_script_a_section(tmp_path: Path) -> None:
    assert run("smtlib", "--contract", "job", "--out", str(tmp_path / "smt")).exit_code == EXIT_HELD
    count = sum(1 for _ in sections(JOB_PARKED.contract))
    assert len(list((tmp_path / "smt").glob("*.smt2"))) == count > 30


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    assert run("tla", "--world", "nowhere", "--out", str(tmp_path)).exit_code == EXIT_USAGE
    assert run("smtlib", "--contract", "nothing", "--out", str(tmp_path)).exit_code == EXIT_USAGE
    assert list(tmp_path.iterdir()) == []
