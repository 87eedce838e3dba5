"""Where files lie and how they are named: each says what it is for, and none is a drawer for odds and ends."""

import ast
from pathlib import Path

VAGUE_NAMES = {"util", "utils", "helper", "helpers", "misc", "manager", "managers"}
SOURCE_ROOTS = ("model", "impl", "verification", "docs", "tests")


def test_every_module_opens_with_a_docstring(repository: Path, packages: list[Path]) -> None:
    modules = [module for package in packages for module in package.rglob("*.py")]
    assert len(modules) >= len(packages)
    silent = [
        str(module.relative_to(repository))
        for module in modules
        if not (ast.get_docstring(ast.parse(module.read_bytes())) or "").strip()
    ]
    assert silent == [], "open each of these with a docstring whose first sentence says what the file is for"


def test_no_file_or_folder_has_a_vague_name(repository: Path, project_files: list[Path]) -> None:
    vague = [
        str(path.relative_to(repository))
        for path in project_files
        if any(part.partition(".")[0].lower() in VAGUE_NAMES for part in path.relative_to(repository).parts)
    ]
    assert vague == [], "name each of these after what it holds"


def test_the_source_roots_are_no_packages(repository: Path) -> None:
    """With one, `import model.fencepost_model` would work from the repository and load every enum a second time."""
    assert [root for root in SOURCE_ROOTS if (repository / root / "__init__.py").exists()] == []


def test_every_package_ships_its_types(packages: list[Path]) -> None:
    assert [package.name for package in packages if not (package / "py.typed").is_file()] == []
