"""The commands that put everything together: documents and verify."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from fencepost_verification.cli.checks import Chosen, chapter
from fencepost_verification.cli.output import JSON, Shown, console, failures, finish, print_json, staged_progress
from fencepost_verification.documents import site
from fencepost_verification.documents.book import Book
from fencepost_verification.evidence import EXIT_HELD, EXIT_REFUTED, Held
from fencepost_verification.explore.necessity import Necessary, Redundant
from fencepost_verification.gathering import Gathered, book_of, examined, gather, samples, samples_of

Root = Annotated[Path, typer.Option(help="The checkout whose docs/ is meant.", file_okay=False, exists=True)]


def documents(
    check: Annotated[bool, typer.Option("--check", help="Write nothing; fail when a page is stale.")] = False,
    contract: Chosen = "",
    root: Root = Path(),
) -> None:
    """Write the generated pages of the site from the model and the results of every check, or compare them.

    With --contract the pages of that contract alone are written, to docs/reference below --root.

    Exit: 0 written, or fresh; 1 a page is stale; 2 no such contract, or no checkout.
    """
    alone = chapter(contract) if contract else None
    if alone is None:
        _insist_on_a_checkout(root)
    with staged_progress() as told:
        if alone is not None:
            results = examined(alone, told, contract)
            book, measured = Book(results.evidence(samples_of(alone, told))), list(results.measurements())
        else:
            gathered = gather(told)
            book, measured = book_of(gathered, samples(told)), gathered.measurements()
    if check:
        stale = site.check(root, book)
        _show(stale)
        console().print(f"{len(stale)} stale pages" if stale else "every generated page is fresh", highlight=False)
        finish(EXIT_REFUTED if stale else EXIT_HELD)
    changed = site.write(root, book)
    site.write_measurements(root, measured)
    console().print(f"{len(changed)} pages changed" if changed else "every page was fresh already", highlight=False)


def verify(json_wanted: JSON = False, root: Root = Path()) -> None:
    """Prove, explore, drop each guard, judge the runtime on SQLite, catch the offenders, build the site, sum up.

    Exit: 0 all held, 1 something refuted, 3 something unknown.
    """
    _insist_on_a_checkout(root)
    with staged_progress(quiet=json_wanted) as told:
        gathered = gather(told)
        book = book_of(gathered, samples(told))
        told("building the site", 0, 1)
        stale = site.check(root, book)
        site.write_measurements(root, gathered.measurements())
        built = _build(root)
    shown = [Shown(v.statement, v) for v in gathered.verdicts() if not isinstance(v, Held)]
    code = gathered.exit_code or (EXIT_REFUTED if stale or built else EXIT_HELD)
    rows = [*_rows(gathered), ("site", built or f"{root / 'site' / 'index.html'}"), ("pages", _freshness(stale))]
    if json_wanted:
        print_json({**dict(rows), "exit": code})
    else:
        failures(shown[:20])
        if len(shown) > 20:
            console().print(f"... and {len(shown) - 20} more")
        _show(stale)
        summary = Table.grid(padding=(0, 2))
        for what, told_of in rows:
            summary.add_row(Text(what, style="bold"), Text(told_of))
        verdict, style = {0: ("held", "green"), 1: ("refuted", "red")}.get(code, ("unknown", "yellow"))
        console().print(Panel(summary, title=f"fencepost: {verdict}", border_style=style, expand=False))
    finish(code)


def _insist_on_a_checkout(root: Path) -> None:
    if not (root / "mkdocs.yml").is_file():
        raise typer.BadParameter(f"{root.resolve()} is no checkout of this project; run it there, or name it by --root")


def _build(root: Path) -> str:
    """Build the site; what went wrong, or nothing."""
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    run = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict"]
    built = subprocess.run(run, cwd=root, env=quiet, capture_output=True, text=True, check=False)
    return f"not built: {(built.stderr or built.stdout).strip()[-400:]}" if built.returncode else ""


def _show(stale: list[site.Stale]) -> None:
    # A line of a page is not broken, so that it can be compared with the one below it.
    for page in stale:
        console().print(Text(str(page), style="red"), soft_wrap=True)


def _freshness(stale: list[site.Stale]) -> str:
    return f"{len(stale)} stale: run `make docs`" if stale else "every generated page is fresh"


def _rows(gathered: Gathered) -> list[tuple[str, str]]:
    chapters = list(gathered.chapters.values())
    held = sum(len(results.proof.held) for results in chapters)
    count = sum(results.proof.count for results in chapters)
    seconds = sum(results.proof.seconds for results in chapters)
    rows = [("proved", f"{held:,} of {count:,} obligations in {len(chapters)} contracts, unbounded, {seconds:.1f} s")]
    explorations = [found for results in chapters for found in results.explorations]
    for found in explorations:
        if found.states > 10**5:
            rate = f"{found.states_per_second / 1e6:.1f} M states/s"
            verdict = "held" if all(isinstance(v, Held) for v in found.verdicts()) else "NOT held"
            told = f"{found.states:,} states, {found.edges:,} edges, {verdict}, {rate}"
            rows.append((f"explored {found.world.name}", told))
    small = [found for found in explorations if found.states <= 10**5]
    if small:
        kept = sum(all(isinstance(v, Held) for v in found.verdicts()) for found in small)
        told = f"{kept} of {len(small)} held, {sum(found.states for found in small):,} states"
        rows.append(("explored small worlds", told))
    reasons = [finding for results in chapters for finding in results.necessity]
    necessary = sum(isinstance(f, Necessary) for f in reasons)
    redundant = sum(isinstance(f, Redundant) for f in reasons)
    rows.append(
        (
            "guards",
            f"{len(reasons)}: {necessary} necessary (each with a run), {redundant} redundant by proof, "
            f"{len(reasons) - necessary - redundant} unexplained",
        )
    )
    for name, report in gathered.reports.items():
        edges, refusals = report.edges, report.refusals
        rows.append(
            (
                f"judged {name}",
                f"{report.verdict}: edges {edges.covered:,}/{edges.total:,}, "
                f"refusals {refusals.covered:,}/{refusals.total:,}, {report.calls:,} calls, {report.seconds:.1f} s",
            )
        )
    offenders = gathered.offenders
    rows.append(
        ("offenders", f"{len(offenders.caught)} of {len(offenders.offenders)} caught, {offenders.seconds:.1f} s")
    )
    return rows
