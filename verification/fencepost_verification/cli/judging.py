"""The commands that judge implementations: conform, offenders, schema."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fencepost_verification import catalogue
from fencepost_verification.cli.checks import Chosen as Contract
from fencepost_verification.cli.checks import chapter
from fencepost_verification.cli.output import JSON, console, finish, print_json, staged_progress
from fencepost_verification.conformance.connect import Adapter, Target, TargetError, adapter, command
from fencepost_verification.conformance.offenders import CATALOGUE, judge_offenders
from fencepost_verification.conformance.offenders.dropped import dropped_guards
from fencepost_verification.conformance.protocol import schema as protocol_schema
from fencepost_verification.conformance.reference import model_of
from fencepost_verification.conformance.report import ConformanceReport
from fencepost_verification.conformance.run import run_conformance
from fencepost_verification.conformance.scope import NothingToTour, Scope, scopes_of
from fencepost_verification.conformance.smoke import smoke as first_look


def as_json(report: ConformanceReport) -> dict[str, Any]:
    """The report for a script; ``clauses`` maps each clause's name to its verdict and run."""
    told = report.as_json()
    told["clauses"] = {clause.pop("name"): clause for clause in told["clauses"]}
    return told


Chosen = Annotated[
    str, typer.Option("--adapter", help="memory, sqlite, postgresql, or package.module:factory (in this process).")
]
Line = Annotated[str, typer.Option("--command", help="A program that speaks the protocol, JSON lines.")]
Patience = Annotated[float, typer.Option(min=0.01, help="Seconds to wait for each answer of a program.")]


def _target(chosen: str, line: str, patience: float) -> Target:
    """The one implementation that the options name."""
    if bool(chosen) == bool(line):
        raise typer.BadParameter("name one implementation: --adapter NAME, or --command 'PROGRAM ARGUMENTS'")
    return adapter(chosen) if chosen else command(line, patience)


def smoke(chosen: Chosen = "", line: Line = "", patience: Patience = 30.0, json_wanted: JSON = False) -> None:
    """Take a first look at a harness: does it speak the protocol, and do the simplest things work? A second or two.

    Exit: 0 all right so far, 1 an answer is wrong, 2 no such implementation, 3 nothing could be asked.
    """
    try:
        report = first_look(_target(chosen, line, patience))
    except TargetError as error:
        raise typer.BadParameter(str(error)) from None
    if json_wanted:
        print_json(report.as_json())
    else:
        console().print(report)
    finish(report.exit_code)


def _scopes(contract: str) -> tuple[Scope, ...]:
    """What is toured for the contract that an option names."""
    try:
        return scopes_of(chapter(contract))
    except NothingToTour as error:
        raise typer.BadParameter(str(error)) from None


def conform(
    chosen: Chosen = "",
    line: Line = "",
    contract: Contract = catalogue.MAIN,
    patience: Patience = 30.0,
    json_wanted: JSON = False,
) -> None:
    """Judge an implementation: every enabled step, and in every situation every call that must be refused.

    An in-process adapter is a class derived from fencepost_verification.conformance.harness.Harness, or a function that
    makes one. A program reads one JSON object a line and answers one a line; `fencepost-verify schema` prints the
    messages. What an implementation does not declare to be capable of is skipped with the reason, never passed.

    Exit: 0 held, 1 refuted, 2 called wrongly or no such implementation, 3 unknown.
    """
    scopes = _scopes(contract)
    toured = scopes[0].world.contract
    try:
        itself = chosen == "memory" and contract != catalogue.MAIN
        target = Adapter(chosen, model_of(toured)) if itself else _target(chosen, line, patience)
        with staged_progress(quiet=json_wanted) as progress:
            report = run_conformance(target, scopes=scopes, progress=progress)
    except TargetError as error:
        raise typer.BadParameter(str(error)) from None
    if json_wanted:
        print_json(as_json(report))
    else:
        report.print(console())
    finish(report.exit_code)


def offenders(contract: Contract = catalogue.MAIN, json_wanted: JSON = False) -> None:
    """Run the suite against implementations that are wrong on purpose; each must be caught by the clause named for it.

    For a contract other than the job they are made by program: the model itself, with one guard that it drops.

    Exit: 0 all caught, 1 one missed, 2 called wrongly, 3 there are none.
    """
    scopes = _scopes(contract)
    tried = CATALOGUE if contract == catalogue.MAIN else dropped_guards(scopes)
    with staged_progress(quiet=json_wanted) as progress:
        report = judge_offenders(tried, scopes=scopes, progress=progress)
    if json_wanted:
        print_json(report.as_json())
    else:
        console().print(report)
    finish(report.exit_code)


def schema(contract: Contract = catalogue.MAIN) -> None:
    """Print the JSON Schema of the protocol's messages, as generated from the contract."""
    print_json(dict(protocol_schema(chapter(contract).contract)))
