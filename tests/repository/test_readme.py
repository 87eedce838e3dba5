"""The README tells the truth: its programs run, its commands exist, its judged example is refuted as it says."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fencepost_verification.cli.main import COMMANDS, app

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text()
PROGRAMS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


def program(mark: str) -> str:
    """The one program of the README that contains a piece of text."""
    (found,) = [str(each) for each in PROGRAMS if mark in each]
    return found


def test_the_example_of_judging_is_refuted_by_the_clause_that_the_readme_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(program("class Mine"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    result = CliRunner().invoke(app, ["conform", "--adapter", "mine:Mine", "--json"])
    assert result.exit_code == 1
    clauses = json.loads(result.stdout)["clauses"]
    assert clauses["succeed.generation"]["verdict"] == "refuted"
    assert "`succeed.generation` is refuted" in TEXT


def test_the_example_of_running_a_job_runs_it(tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text(program("DurableJobRuntime"))
    told = subprocess.run([sys.executable, "run.py"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "doing {'page': 7}" in told
    assert "Accepted(" in told


def test_an_example_harness_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_queue.py").write_text(program("class MyQueue"))
    monkeypatch.syspath_prepend(str(tmp_path))
    result = CliRunner().invoke(app, ["conform", "--adapter", "my_queue:MyQueue"])
    assert result.exit_code == 3
    assert "no method 'reset'; write it" in " ".join(result.output.split())


def test_every_command_and_target_that_the_readme_names_exists() -> None:
    commands = set(COMMANDS)
    targets = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE))
    lines = [
        shlex.split(line, comments=True) for line in re.findall(r"^    (\S.*)$", TEXT, re.MULTILINE) if "'" not in line
    ]
    used = {words[1] for words in lines if words[:1] == ["fencepost-verify"]}
    made = {words[1] for words in lines if words[:1] == ["make"]}
    assert used
    assert made
    assert used <= commands
    assert made <= targets
