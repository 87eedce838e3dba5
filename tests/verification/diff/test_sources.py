"""Where the sides come from: real repositories of git, files and modules; older models too; and what cannot be had."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.verification.diff.pairs import EXAMPLES, approval

import fencepost_model
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.specification import CHAPTERS
from fencepost_verification.diff.sources import NoSource, source

MODEL = Path(fencepost_model.__file__).parent


class Repository:
    """A repository of git with a copy of the model, of which revisions are made."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.package = folder / "model/fencepost_model"
        shutil.copytree(MODEL, self.package, ignore=shutil.ignore_patterns("__pycache__"))
        self.git("init", "--quiet")

    def git(self, *arguments: str) -> None:
        identity = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_CONFIG_GLOBAL": os.devnull}
        identity |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b", "GIT_CONFIG_SYSTEM": os.devnull}
        subprocess.run(["git", "-C", str(self.folder), *arguments], check=True, env={**os.environ, **identity})

    def commit(self, tag: str) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", tag)
        self.git("tag", tag)

    def edit(self, file: str, before: str, after: str) -> None:
        path = self.package / file
        text = path.read_text(encoding="utf-8")
        assert before in text
        path.write_text(text.replace(before, after), encoding="utf-8")


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """One repository with all the revisions that the tests ask for."""
    made = Repository(tmp_path_factory.mktemp("repository"))
    made.commit("now")
    made.edit("machines/job.py", '"the length of a lease", 300', '"the length of a lease", 200')
    made.edit("machines/job_worlds.py", 'name="job-parked"', 'name="job-stopped"')
    for newer in ("serial.py", "specification.py"):
        (made.package / newer).unlink()
    made.commit("older")
    made.edit(
        "shapes.py", "    clause: str\n    why: str\n", '    clause: str\n    why: str\n    colour: str = "red"\n'
    )
    made.commit("strange")
    made.edit("job_contract.py", "invariants=job.INVARIANTS", "invariants=job.NOTHING")
    made.commit("broken")
    shutil.rmtree(made.folder / "model")
    made.commit("empty")
    return made


def test_a_revision_of_today_is_the_contract_of_today(repository: Repository) -> None:
    found = source("now", "job", repository.folder)
    assert found.contract == JOB_CONTRACT
    assert found.worlds == CHAPTERS["job"].worlds
    assert found.small_worlds == CHAPTERS["job"].small_worlds
    assert found.remarks == ()
    assert source("now", "admission", repository.folder).contract == CHAPTERS["admission"].contract


def test_an_older_revision_knows_neither_chapters_nor_this_format(repository: Repository) -> None:
    found = source("older", "job", repository.folder)
    assert found.contract.defaults() == {**JOB_CONTRACT.defaults(), "lease_seconds": 200}
    assert [world.name for world in found.small_worlds] == ["job-stopped", "job-plain", "job-small"]
    assert len(found.worlds) == 4
    with pytest.raises(NoSource, match="no contract 'nothing': use one of those that it has"):
        source("older", "nothing", repository.folder)


def test_a_revision_is_meant_from_the_top_of_its_repository(repository: Repository) -> None:
    deeper = repository.folder / "deeper/still"
    deeper.mkdir(parents=True)
    assert source("now^{commit}", "job", deeper).contract == JOB_CONTRACT


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("nowhere", "'nowhere' is no revision"),
        ("--output=x", "'--output=x' is no revision"),
        ("empty", "has no folder 'model'"),
        ("strange", "Guard of this revision has no field 'colour'"),
        ("broken", "module 'fencepost_model.machines.job' has no attribute 'NOTHING'"),
    ],
)
def test_what_cannot_be_had_of_a_revision_is_told_in_one_sentence(
    repository: Repository, name: str, complaint: str
) -> None:
    with pytest.raises(NoSource) as refused:
        source(name, "job", repository.folder)
    assert complaint in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_chapter_that_a_revision_lacks_is_told_with_those_that_it_has(repository: Repository) -> None:
    with pytest.raises(NoSource, match="no chapter 'nothing': use one of job"):
        source("now", "nothing", repository.folder)


def test_outside_of_a_repository_there_are_no_revisions(tmp_path: Path) -> None:
    with pytest.raises(NoSource, match="no revision of the repository around"):
        source("HEAD", "job", tmp_path)


def test_a_file_gives_a_chapter_or_a_bare_contract() -> None:
    chapter = source("approval.py:CHAPTER", "job", EXAMPLES)
    assert chapter.contract == approval().contract
    assert chapter.small_worlds == approval().small_worlds
    bare = source("approval.py:APPROVAL", "job", EXAMPLES)
    assert (bare.contract, bare.small_worlds) == (approval().contract, ())
    # It imports its neighbour, which is looked for beside it.
    checked = source("approval_checked.py:CHAPTER", "job", EXAMPLES).contract
    assert checked.operation("release").name == "release"


def test_two_files_of_one_name_do_not_meet(tmp_path: Path) -> None:
    (tmp_path / "approval.py").write_text(
        (EXAMPLES / "approval.py").read_text(encoding="utf-8").replace('"how long people have", 2', '"so long", 5'),
        encoding="utf-8",
    )
    mine, theirs = source("approval.py:APPROVAL", "", tmp_path), source("approval.py:APPROVAL", "", EXAMPLES)
    assert (mine.contract.defaults(), theirs.contract.defaults()) == ({"patience": 5}, {"patience": 2})


@pytest.mark.parametrize(
    ("text", "name", "complaint"),
    [
        (None, "X", "there is no file"),
        ("", "X", "mine.py has no 'X'"),
        ("X = 3", "X", "X of mine.py is a int: name a Chapter or a Contract"),
        ("import nothing_of_that_name", "X", "ModuleNotFoundError"),
        ("raise ValueError('no\\nway')", "X", "it cannot be loaded (ValueError: no"),
        ("import sys; sys.exit(4)", "X", "cannot be loaded"),
    ],
)
def test_what_cannot_be_had_of_a_file_is_told(tmp_path: Path, text: str | None, name: str, complaint: str) -> None:
    if text is not None:
        (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    with pytest.raises(NoSource) as refused:
        source(f"mine.py:{name}", "job", tmp_path)
    assert complaint in str(refused.value)


def test_what_a_file_prints_does_not_disturb(tmp_path: Path) -> None:
    text = (EXAMPLES / "approval.py").read_text(encoding="utf-8")
    (tmp_path / "loud.py").write_text(f"{text}\nprint('loud')\n", encoding="utf-8")
    assert source("loud.py:APPROVAL", "job", tmp_path).contract == approval().contract


def test_a_file_that_is_ill_formed_by_our_rules_is_read_with_a_remark(tmp_path: Path) -> None:
    text = (EXAMPLES / "approval.py").read_text(encoding="utf-8")
    odd = "\nfrom dataclasses import replace\n"
    odd += "ODD = replace(APPROVAL, operations=APPROVAL.operations[:1], checked=False)\n"
    odd += "object.__setattr__(ODD, 'checked', True)\n"
    (tmp_path / "odd.py").write_text(text + odd, encoding="utf-8")
    found = source("odd.py:ODD", "job", tmp_path)
    assert len(found.contract.operations) == 1
    assert "ill-formed by the rules of this revision" in found.remarks[0]


def test_a_name_is_what_every_command_means_by_it() -> None:
    assert source("fencepost_model.job_contract:JOB_CONTRACT", "job").contract is JOB_CONTRACT
    with pytest.raises(NoSource, match="has no 'NOTHING'"):
        source("fencepost_model.job_contract:NOTHING", "job")
