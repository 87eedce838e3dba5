"""What the tests about the repository read: its root, its files, its packaging."""

import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def repository() -> Path:
    return Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def project_files(repository: Path) -> list[Path]:
    """Every file that git tracks or would track, so that a fault shows before it is committed."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=repository,
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    files = [path for name in listing.split("\0") if name and (path := repository / name).is_file()]
    assert files, "git lists no file: the tests about the repository need a clone of it"
    return files


@pytest.fixture(scope="session")
def pyproject(repository: Path) -> dict[str, Any]:
    return tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def packages(repository: Path, pyproject: dict[str, Any]) -> list[Path]:
    """The folders of the importable packages, as the wheel takes them."""
    folders = [repository / name for name in pyproject["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]]
    assert len(folders) == 3
    return folders
