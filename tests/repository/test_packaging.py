"""Packages and commands: what is asked for is pinned, what is pinned is installed, what can be run is listed."""

import re
import subprocess
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

TARGET = re.compile(r"^([a-z][a-z-]*):(?!=)(.*)$", re.MULTILINE)


def direct_dependencies(project: dict[str, Any]) -> Iterator[Requirement]:
    """Everything that any install of the project asks for by name; not its own extras, which name it again."""
    for group in (project["dependencies"], *project["optional-dependencies"].values()):
        for text in group:
            requirement = Requirement(text)
            if canonicalize_name(requirement.name) != project["name"]:
                yield requirement


@pytest.fixture
def pins(repository: Path) -> dict[str, str]:
    """Canonical name to version, of every line of constraints.txt."""
    lines = (repository / "constraints.txt").read_text(encoding="utf-8").splitlines()
    entries = [line for line in lines if line.strip() and not line.startswith("#")]
    unpinned = [entry for entry in entries if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", entry)]
    assert unpinned == [], "constraints.txt takes a name, ==, and one version; nothing else"
    names = [canonicalize_name(entry.partition("==")[0]) for entry in entries]
    assert len(set(names)) == len(names), "constraints.txt pins a package twice"
    return {name: entry.partition("==")[2] for name, entry in zip(names, entries, strict=True)}


def test_every_direct_dependency_is_pinned_within_its_range(pyproject: dict[str, Any], pins: dict[str, str]) -> None:
    requirements = list(direct_dependencies(pyproject["project"]))
    assert len(requirements) > 10
    loose = [
        str(requirement)
        for requirement in requirements
        if not requirement.specifier.contains(pins.get(canonicalize_name(requirement.name), "0.dev0"))
    ]
    assert loose == [], "pin each of these in constraints.txt to a version that pyproject.toml admits"


def test_the_environment_holds_the_pinned_versions(pyproject: dict[str, Any], pins: dict[str, str]) -> None:
    names = {canonicalize_name(requirement.name) for requirement in direct_dependencies(pyproject["project"])}
    installed = {name: version(name) for name in names}
    assert installed == {name: pins.get(name) for name in names}, "run make install"


def test_every_target_has_its_line_in_make_help(repository: Path) -> None:
    targets = TARGET.findall((repository / "Makefile").read_text(encoding="utf-8"))
    assert [name for name, rest in targets if not re.search(r"## \S", rest)] == []
    listing = subprocess.run(["make", "help"], cwd=repository, capture_output=True, text=True, check=True).stdout
    listed = re.findall(r"^  make ([a-z-]+) +\S", listing, re.MULTILINE)
    assert listed == [name for name, _ in targets]


def test_no_target_is_mistaken_for_a_file(repository: Path) -> None:
    """There is a folder named docs: a target of that name that is not phony would never run."""
    text = (repository / "Makefile").read_text(encoding="utf-8")
    phony = {name for line in re.findall(r"^\.PHONY:(.*)$", text, re.MULTILINE) for name in line.split()}
    assert phony == {name for name, _ in TARGET.findall(text)}


def test_ci_runs_make_test(repository: Path) -> None:
    script = repository / ".ci" / "run"
    assert script.stat().st_mode & 0o111, "chmod +x .ci/run"
    run = subprocess.run(["bash", "-n", script], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert re.search(r"^(?:exec )?make test$", script.read_text(encoding="utf-8"), re.MULTILINE)
