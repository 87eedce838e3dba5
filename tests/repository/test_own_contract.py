"""The page about a contract of one's own tells the truth: its files run as printed, and its offender is caught."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fencepost_verification.cli.main import app

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/own-contract.md").read_text()
COMMANDS: list[str] = re.findall(r"^\$ fencepost-verify (.*)$", PAGE, re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder outside of the repository with the files of the page."""
    shutil.copy(ROOT / "docs/examples/approval.py", tmp_path)
    (hasty,) = re.findall(r'```python title="hasty.py"\n(.*?)```', PAGE, re.DOTALL)
    (tmp_path / "hasty.py").write_text(hasty)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in ("approval", "hasty"):
        sys.modules.pop(name, None)


def answered(line: str) -> tuple[int, dict[str, Any]]:
    result = CliRunner().invoke(app, [*shlex.split(line), "--json"])
    return result.exit_code, json.loads(result.stdout)


def command(start: str) -> str:
    """The first command of the page that begins with a text."""
    return next(line for line in COMMANDS if line.startswith(start))


@pytest.mark.usefixtures("folder")
def test_it_is_proved_explored_and_explained() -> None:
    code, told = answered(command("prove"))
    assert (code, told["refuted"], told["unknown"]) == (0, [], [])
    assert told["obligations"]
    code, told = answered(command("explore"))
    assert (code, told["broken"], told["never_taken"]) == (0, [], [])
    code, told = answered(command("necessity"))
    assert (code, told["unexplained"], told["redundant"]) == (0, [], [])
    assert told["why"]["confirm.others"] == {
        "breaks": "two_people",
        "trace": "ask ; approve ; confirm",
        "world": "approval-small",
    }


@pytest.mark.usefixtures("folder")
def test_the_model_conforms_and_every_offender_is_caught() -> None:
    code, told = answered(command("conform"))
    assert (code, told["verdict"]) == (0, "held")
    code, told = answered(command("offenders"))
    assert code == 0
    assert told["caught"] == told["offenders"]
    assert len(told["caught"]) == 8
    assert "all eight" in PAGE


@pytest.mark.usefixtures("folder")
def test_the_hasty_implementation_is_caught_by_the_clause_that_the_page_names() -> None:
    code, told = answered("conform --contract approval:CHAPTER --adapter hasty:Hasty")
    assert code == 1
    assert [name for name, clause in told["clauses"].items() if clause["verdict"] == "refuted"] == ["confirm.others"]


def test_its_pages_speak_of_payments_only(folder: Path) -> None:
    result = CliRunner().invoke(app, shlex.split(command("documents").replace("site-of-mine", str(folder))))
    assert result.exit_code == 0, result.output
    pages = {path.name: path.read_text() for path in (folder / "docs/reference").glob("*.md")}
    assert {"payment.md", "invariants.md", "runs.md", "evidence.md", "index.md"} <= set(pages)
    assert "vocabulary.md" not in pages
    assert not [name for name, text in pages.items() if re.search(r"\bjobs?\b", text)]


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("nothing", "there is no chapter 'nothing'"),
        ("approval:NOTHING", "approval has no 'NOTHING'"),
        ("approval:PAYMENT", "approval:PAYMENT is a Variable"),
        ("nowhere:CHAPTER", "module 'nowhere'"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_contract_that_is_none_is_refused_in_one_sentence(name: str, complaint: str) -> None:
    result = CliRunner().invoke(app, ["prove", "--contract", name])
    assert result.exit_code == 2
    told = " ".join(re.sub(r"[│╭╮╰╯─]", " ", result.output).split())
    assert complaint in told
