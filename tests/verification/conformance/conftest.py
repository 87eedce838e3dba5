"""Small scopes, so that a test tours in a second what the suite tours in several."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fencepost_model.terms import NULL
from fencepost_model.worlds import const, later
from fencepost_verification.conformance.connect import Adapter, Command
from fencepost_verification.conformance.harness import Harness
from fencepost_verification.conformance.report import ConformanceReport
from fencepost_verification.conformance.run import run_conformance
from fencepost_verification.conformance.scope import CORE, Scope


@pytest.fixture(scope="session")
def small() -> Scope:
    """The core world with a deadline two ticks away: everything registered, legacy rows, a few hundred states."""
    arguments = {
        **CORE.world.arguments,
        "enqueue.deadline_at": (*later(2, 0), NULL),
        "enqueue.max_attempts": const(2, 0),
    }
    return Scope(replace(CORE.world, name="small", horizon=2, arguments=arguments), CORE.capabilities)


@pytest.fixture
def judge(small: Scope) -> Callable[..., ConformanceReport]:
    """Judge a harness class in the small scope."""

    def run(implementation: Callable[[], Harness], *scopes: Scope) -> ConformanceReport:
        return run_conformance(Adapter("under test", implementation), scopes=scopes or (small,))

    return run


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., Command]:
    """A harness that is a program: the source given, run by this Python."""

    def made(source: str, patience: float = 30.0) -> Command:
        script = tmp_path / "harness.py"
        script.write_text(source)
        return Command((sys.executable, str(script)), patience)

    return made
