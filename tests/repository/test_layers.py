"""Who may import whom: the contracts of import-linter, and what its contracts cannot say."""

import ast
import subprocess
import sys
from pathlib import Path

import grimp

CONFORMANCE = "fencepost_verification.conformance"
# Implementations that the conformance suite is tried on. They may import what they implement or adapt.
UNDER_TEST = tuple(f"{CONFORMANCE}.{name}" for name in ("reference", "offenders", "adapters"))


def within(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def imported_roots(module: Path) -> set[str]:
    """The top-level names that a module imports, anywhere in it."""
    roots: set[str] = set()
    for node in ast.walk(ast.parse(module.read_bytes())):
        if isinstance(node, ast.Import):
            roots.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            roots.add((node.module or "").partition(".")[0])
    return roots


def test_the_contracts_of_import_linter_hold(repository: Path) -> None:
    run = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-logo", "--no-cache"],
        cwd=repository,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_model_imports_the_standard_library_alone(repository: Path) -> None:
    allowed = sys.stdlib_module_names | {"fencepost_model"}
    modules = list((repository / "model").rglob("*.py"))
    assert modules
    foreign = {
        str(module.relative_to(repository)): strangers
        for module in modules
        if (strangers := imported_roots(module) - allowed)
    }
    assert foreign == {}


def test_no_judge_imports_an_implementation_under_test() -> None:
    """import-linter ignores what those implementations import, hence also a way through them to the runtime."""
    graph = grimp.build_graph("fencepost_verification", "fencepost", "fencepost_model", cache_dir=None)
    judges = [module for module in graph.modules if within(module, (CONFORMANCE,)) and not within(module, UNDER_TEST)]
    assert judges, f"{CONFORMANCE} has no module"
    partial = {
        judge: sorted(reached)
        for judge in judges
        if (reached := {module for module in graph.find_upstream_modules(judge) if within(module, UNDER_TEST)})
    }
    assert partial == {}
