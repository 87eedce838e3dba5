"""The commands that put everything together: documents and verify."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from fencepost_verification import catalogue
from fencepost_verification.checklist import Begun, Checklist, everything, of_chapter
from fencepost_verification.cli.checks import Chosen, chapter
from fencepost_verification.cli.output import JSON, Shown, console, failures, finish, print_json, staged_progress, table
from fencepost_verification.documents import site
from fencepost_verification.documents.book import Book
from fencepost_verification.evidence import EXIT_HELD, EXIT_REFUTED, Held, Unknown
from fencepost_verification.explore.necessity import Necessary, Redundant
from fencepost_verification.explore.world import Exploration
from fencepost_verification.gathering import book_of, evidence_of, measurements, samples, samples_of

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
            done = Checklist(told, proofs={alone.name: catalogue.proof(alone)})
            of_chapter(done, Begun.of(alone, contract))
            book = Book(evidence_of(done, alone, samples_of(alone, told)))
        else:
            done = everything(told, mutants=False)
            book = book_of(done, samples(told))
    if check:
        stale = site.check(root, book)
        _show(stale)
        console().print(f"{len(stale)} stale pages" if stale else "every generated page is fresh", highlight=False)
        finish(EXIT_REFUTED if stale else EXIT_HELD)
    changed = site.write(root, book)
    site.write_measurements(root, list(measurements(done)))
    console().print(f"{len(changed)} pages changed" if changed else "every page was fresh already", highlight=False)


def verify(json_wanted: JSON = False, root: Root = Path()) -> None:
    """Prove, explore, drop each guard, judge the runtime on SQLite, catch the offenders, build the site, sum up.

    Exit: 0 all held, 1 something refuted, 3 something unknown.
    """
    _insist_on_a_checkout(root)
    with staged_progress(quiet=json_wanted) as told:
        done = everything(told)
        book = book_of(done, samples(told))
        told("building the site", 0, 1)
        stale = site.check(root, book)
        site.write_measurements(root, list(measurements(done)))
        built = _build(root)
    shown = list(_not_held(done))
    code = done.exit_code or (EXIT_REFUTED if stale or built else EXIT_HELD)
    rows = [*_rows(done), ("site", built or f"{root / 'site' / 'index.html'}"), ("pages", _freshness(stale))]
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


def all_checks(json_wanted: JSON = False) -> None:
    """Run every check that there is, and report each: held, refuted or unknown.

    Exit: 0 all held, 1 something refuted, 3 something unknown.
    """
    with staged_progress(quiet=json_wanted) as told:
        done = everything(told)
    if json_wanted:
        verdict = {0: "held", 1: "refuted"}.get(done.exit_code, "unknown")
        print_json({"verdict": verdict, "checks": {each.name: each.as_json() for each in done.outcomes}})
    else:
        rows = [
            (each.name, each.verdict, f"{len(each.of(Held)):,} of {len(each.verdicts):,}", f"{each.seconds:.1f} s")
            for each in done.outcomes
        ]
        table("Every check", ("check", "verdict", "held", "time"), rows)
        failures(_not_held(done))
    finish(done.exit_code)


def _not_held(done: Checklist) -> Iterator[Shown]:
    for outcome in done.outcomes:
        for verdict in outcome.verdicts:
            if not isinstance(verdict, Held):
                yield Shown(f"{outcome.name}: {verdict.statement}", verdict)
        if not outcome.verdicts:
            yield Shown(outcome.name, Unknown(outcome.name, "it looked at nothing"))


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


def _rows(done: Checklist) -> list[tuple[str, str]]:
    """The summary, one line for each kind of check."""
    proofs = list(done.proofs.values())
    held, count = sum(len(p.held) for p in proofs), sum(p.count for p in proofs)
    rows = [("proved", f"{held:,} of {count:,} obligations in {len(proofs)} contracts, unbounded, by z3 and by cvc5")]
    small: list[Exploration] = []
    for found in (each for explorations in done.explorations.values() for each in explorations):
        if found.states < 10**5:
            small.append(found)
            continue
        verdict = "held" if all(isinstance(v, Held) for v in found.verdicts()) else "NOT held"
        told = (
            f"{found.states:,} states, {found.edges:,} edges, {verdict}, {found.states_per_second / 1e6:.1f} M states/s"
        )
        rows.append((f"explored {found.world.name}", told))
    kept = sum(all(isinstance(v, Held) for v in found.verdicts()) for found in small)
    rows.append(("explored", f"{kept} of {len(small)} small worlds held, {sum(f.states for f in small):,} states"))
    if done.symmetric is not None:
        rate = done.symmetric.states_per_second / 1e6
        told = f"{done.symmetric.representatives:,} stand for {done.symmetric.states:,} states, {rate:.1f} M states/s"
        rows.append((f"explored {done.symmetric.world.name}", told))
    reasons = [reason for chapter in done.reasons.values() for reason in chapter]
    necessary = sum(isinstance(reason, Necessary) for reason in reasons)
    redundant = sum(isinstance(reason, Redundant) for reason in reasons)
    rows.append(
        (
            "guards",
            f"{len(reasons)}: {necessary} necessary (each with a run), {redundant} redundant by proof, "
            f"{len(reasons) - necessary - redundant} unexplained",
        )
    )
    fates = list(done.mutants.values())
    killed, equivalent = sum(len(r.killed) for r in fates), sum(len(r.equivalent) for r in fates)
    survivors = sum(len(r.survivors) for r in fates)
    rows.append(("mutants", f"{killed:,} killed, {equivalent:,} equivalent by proof, {survivors:,} survivors"))
    rows.append(("refinements", _of_kind(done, "refinement")))
    rows.append(("clocks, ends", f"{_of_kind(done, 'own clocks')}; {_of_kind(done, 'fairness')} of what must end"))
    rows.append(("words, numbers", _of_kind(done, "words", "vocabularies", "timing", "symbolic")))
    new = sum(finding.new for finding in done.findings)
    shown = sum(finding.evidence is not None for finding in done.findings)
    rows.append(("findings", f"{shown} shown with evidence that was replayed, {new} of them on no list"))
    for name, report in done.reports.items():
        edges, refusals = report.edges, report.refusals
        rows.append(
            (
                f"judged {name}",
                f"{report.verdict}: edges {edges.covered:,}/{edges.total:,}, "
                f"refusals {refusals.covered:,}/{refusals.total:,}, {report.calls:,} calls, {report.seconds:.1f} s",
            )
        )
    if done.offenders is not None:
        caught, tried = len(done.offenders.caught), len(done.offenders.offenders)
        rows.append(("offenders", f"{caught} of {tried} caught, {done.offenders.seconds:.1f} s"))
    return rows


def _of_kind(done: Checklist, *kinds: str) -> str:
    """How many verdicts of some checks are held."""
    verdicts = [v for outcome in done.outcomes if outcome.name.startswith(kinds) for v in outcome.verdicts]
    return f"{sum(isinstance(v, Held) for v in verdicts):,} of {len(verdicts):,} held"
