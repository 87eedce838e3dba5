"""The command diff: exit codes, one JSON object, one sentence for misuse; and the page about it tells the truth."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import fencepost_model
from fencepost_verification.cli.main import app
from fencepost_verification.evidence import EXIT_HELD, EXIT_REFUTED, EXIT_UNKNOWN, EXIT_USAGE

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/changing.md").read_text(encoding="utf-8")

Write = Callable[[str, str], None]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder outside of the repository with the files of the page."""
    for name in ("approval", "approval_checked"):
        shutil.copy(ROOT / f"docs/examples/{name}.py", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(line: str) -> Result:
    return CliRunner().invoke(app, shlex.split(line))


def answered(line: str) -> tuple[int, dict[str, Any]]:
    result = run(f"{line} --json")
    assert result.stdout, result.output
    told: dict[str, Any] = json.loads(result.stdout)
    assert told["exit_code"] == result.exit_code
    return result.exit_code, told


@pytest.mark.usefixtures("folder")
def test_the_page_shows_what_the_command_prints() -> None:
    (line,) = re.findall(r"^\$ fencepost-verify (diff approval.*)$", PAGE, re.MULTILINE)
    (printed,) = re.findall(r'```text title="what it prints"\n(.*?)\n```', PAGE, re.DOTALL)
    result = run(line)
    assert result.exit_code == EXIT_REFUTED
    assert result.stdout.rstrip("\n") == printed


def test_the_page_names_files_that_are_there() -> None:
    for name in re.findall(r'--8<-- "(.*?)"', PAGE):
        assert (ROOT / "docs" / name).is_file()
    (shown,) = re.findall(r'```python title="(.*?)"', PAGE)
    assert (ROOT / "docs/examples" / shown).is_file()


@pytest.mark.usefixtures("folder")
def test_what_differs_ends_with_one() -> None:
    code, told = answered("diff approval.py:CHAPTER approval_checked.py:CHAPTER")
    assert code == EXIT_REFUTED
    assert {"how": "added", "kind": "status", "name": "payment.checked"}.items() <= told["structure"][1].items()
    (release,) = told["behaviour"]["added"]
    assert (release["transition"], release["run"]) == ("release", "ask ; approve ; confirm ; release")
    (confirm,) = told["behaviour"]["changed"]
    assert confirm["ends"] == {"payment.status": ["approved", "checked"]}
    assert told["behaviour"]["removed"] == []
    (fallen,) = told["statements"]["falls"]
    assert (fallen["name"], fallen["run"]) == ("in_time", "ask ; approve ; confirm ; tick ; release")
    assert told["statements"]["rises"] == told["unknown"] == []
    assert "not looked at" in told["offenders"]


@pytest.mark.usefixtures("folder")
def test_offenders_are_looked_at_when_asked() -> None:
    _, told = answered("diff approval.py:CHAPTER approval_checked.py:CHAPTER --offenders")
    assert told["offenders"] == {"tried": 8, "escaped": []}


def test_what_behaves_alike_ends_with_zero(folder: Path) -> None:
    code, told = answered("diff approval.py:CHAPTER approval.py:CHAPTER")
    assert (code, told["structure"]) == (EXIT_HELD, [])
    text = (folder / "approval.py").read_text(encoding="utf-8")
    reworded = text.replace("nobody approves twice", "two are two").replace("(OTHERS, IN_TIME)", "(IN_TIME, OTHERS)")
    assert reworded != text
    (folder / "reworded.py").write_text(reworded, encoding="utf-8")
    code, told = answered("diff approval.py:CHAPTER reworded.py:CHAPTER")
    assert code == EXIT_HELD
    assert [(change["how"], change["name"]) for change in told["structure"]] == [("reworded", "confirm.others")]
    assert told["behaviour"]["worlds"]["approval-small"]["joint"] > 60


def test_what_could_not_be_looked_at_ends_with_three(folder: Path) -> None:
    text = (folder / "approval.py").read_text(encoding="utf-8")
    (folder / "reworded.py").write_text(text.replace("nobody approves twice", "two are two"), encoding="utf-8")
    code, told = answered("diff approval.py:APPROVAL reworded.py:APPROVAL")
    assert code == EXIT_UNKNOWN
    assert told["unknown"] == ["neither side comes with a small world: give a Chapter that has one"]
    result = run("diff approval.py:APPROVAL reworded.py:APPROVAL")
    assert "note: neither side comes with a small world" in result.stdout


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("diff nowhere.py:X approval.py:CHAPTER", "there is no file"),
        ("diff approval.py:CHAPTER approval.py:NOTHING", "approval.py has no 'NOTHING'"),
        ("diff no-such-revision approval.py:CHAPTER", "'no-such-revision' is no revision"),
        ("diff approval.py:CHAPTER --contract nothing", "there is no chapter 'nothing'"),
        ("diff approval:NOTHING approval.py:CHAPTER", "approval has no 'NOTHING'"),
        ("diff", "Missing argument"),
    ],
)
def test_misuse_is_told_in_one_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch, line: str, complaint: str
) -> None:
    monkeypatch.syspath_prepend(str(folder))
    result = run(line)
    assert result.exit_code == EXIT_USAGE
    told = " ".join(re.sub(r"[│╭╮╰╯─]", " ", result.output).split())
    assert complaint in told
    assert "Traceback" not in told


def test_a_revision_is_compared_with_what_is_there_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A revision in which renewals are not fenced, and no revision named beside it: the contract as it is imported."""
    package = tmp_path / "model/fencepost_model"
    shutil.copytree(Path(fencepost_model.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    contract = package / "job_contract.py"
    text = contract.read_text(encoding="utf-8")
    assert "operations=job.OPERATIONS," in text
    without = "operations=tuple(replace(o, guards=o.guards[:2] + o.guards[3:]) if o.name == 'renew' else o"
    text = text.replace("operations=job.OPERATIONS,", f"{without} for o in job.OPERATIONS),")
    text = text.replace(
        "from __future__ import annotations", "from __future__ import annotations\n\nfrom dataclasses import replace"
    )
    contract.write_text(text, encoding="utf-8")
    for name in ("specification.py", "serial.py"):
        (package / name).unlink()
    nowhere = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    for line in ("init -q", "add -A", "-c user.name=a -c user.email=a@b commit -q -m unfenced"):
        subprocess.run(["git", *line.split()], cwd=tmp_path, check=True, env={**os.environ, **nowhere})
    monkeypatch.chdir(tmp_path)
    code, told = answered("diff HEAD")
    assert code == EXIT_REFUTED
    assert [(change["how"], change["name"]) for change in told["structure"]] == [("added", "renew.generation")]
    (renew,) = told["behaviour"]["removed"]
    assert (renew["transition"], renew["otherwise"]) == ("renew", "refused by generation")
    assert told["behaviour"]["added"] == told["behaviour"]["changed"] == []
    assert "holder_only" in [statement["name"] for statement in told["statements"]["rises"]]
    assert told["statements"]["falls"] == []
    assert told["new"] == "the working tree"
