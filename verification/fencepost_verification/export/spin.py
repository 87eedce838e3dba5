"""Runs SPIN on an exported world, breadth first, and reads back how many states there are and how far a fault is."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

OPTIONS = ("-O1", "-w", "-DBFS", "-DSAFETY", "-DNOREDUCE", "-o", "pan", "pan.c")
"""How SPIN's verifier is compiled: a breadth-first search of all states, so that a run it finds is a shortest one."""


class SpinFailed(RuntimeError):
    """SPIN did not come to an answer; the message holds the end of what it printed."""


@dataclass(frozen=True)
class SpinResult:
    """How many states there are (as far as it searched), and after how many steps an assertion breaks, if one does."""

    states: int
    broken_after: int | None


def why_not() -> str | None:
    """Why SPIN cannot be run here, in one sentence; None when it can."""
    if shutil.which("spin") is None or shutil.which("gcc") is None:
        return "SPIN is not on this machine: apt-get install spin gcc"
    return None


def run_spin(text: str, directory: Path) -> SpinResult:
    """Let SPIN find every state of a Promela text, in a directory that is made. Raises ``SpinFailed``."""
    missing = why_not()
    if missing is not None:
        raise SpinFailed(missing)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "world.pml").write_text(text, encoding="utf-8")
    told = ""
    for command in (["spin", "-o2", "-a", "world.pml"], ["gcc", *OPTIONS], ["./pan", "-w18"]):
        run = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
        told = run.stdout + run.stderr
        if run.returncode != 0:
            raise SpinFailed(f"{command[0]} ended with {run.returncode}: {told[-2000:]}")
    stored = re.search(r"^\s*(\d+) states, stored", told, re.MULTILINE)
    if stored is None:
        raise SpinFailed(f"SPIN said something unexpected: {told[-2000:]}")
    broken = re.search(r"assertion violated .*\(at depth (\d+)\)", told)
    if broken is None and "errors: 0" not in told:
        raise SpinFailed(f"SPIN found something else than was asked for: {told[-2000:]}")
    # The assertion about the first state is a step of its own, and the step that fails is not counted.
    return SpinResult(int(stored.group(1)), int(broken.group(1)) if broken is not None else None)
