"""How the commands speak: tables and progress for people, one JSON object for scripts, exit codes for both."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from fencepost_verification.evidence import Refuted, Unknown, Verdict

JSON = Annotated[bool, typer.Option("--json", help="One JSON object on standard output, nothing else.")]


@cache
def console() -> Console:
    """Where people read; progress goes to standard error, so that a pipe gets results only."""
    return Console()


@dataclass(frozen=True)
class Shown:
    """A verdict that is not held, under the name it is shown by."""

    name: str
    verdict: Verdict
    label: str = ""


def counted(number: int) -> str:
    """A count with its thousands apart."""
    return f"{number:,}"


def print_json(result: dict[str, Any]) -> None:
    """The one object that a script reads."""
    typer.echo(json.dumps(result, indent=2))


def table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table; columns whose first cell is a number stand to the right."""
    console().print(Text(title, style="italic"), soft_wrap=True)
    shown = Table(header_style="bold", pad_edge=False)
    listed = [tuple(row) for row in rows]
    for index, head in enumerate(heads):
        number = bool(listed) and listed[0][index].replace(",", "").isdigit()
        shown.add_column(head, justify="right" if number else "left", overflow="fold")
    for row in listed:
        shown.add_row(*(Text(cell) for cell in row))
    console().print(shown)


def failures(verdicts: Iterable[Shown]) -> None:
    """Each refuted or unknown verdict with its reason and, where there is one, its shortest run."""
    for shown in verdicts:
        match shown.verdict:
            case Refuted(_, reason, trace):
                told, style = f"refuted  {shown.name}: {reason}", "red"
                if trace is not None:
                    told += f"\n         shortest run: {trace}"
            case Unknown(_, reason):
                told, style = f"unknown  {shown.name}: {reason}", "yellow"
            case _:
                continue
        if shown.label:
            told += f"\n         {shown.label}"
        console().print(Text(told, style=style))


@contextmanager
def staged_progress(*, quiet: bool = False) -> Generator[Callable[[str, int, int], None]]:
    """A bar on standard error: the function given is told what is done now, how much of it is done, of how much."""
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=quiet,
    ) as progress:
        task = progress.add_task("starting", total=None)
        yield lambda stage, done, total: progress.update(task, description=stage, completed=done, total=total)


def finish(code: int) -> None:
    """Leave with this exit code."""
    raise typer.Exit(code)
