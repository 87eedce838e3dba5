"""The commands about what the sources got wrong and what the statements are worth: findings, mutants, ledger."""

from __future__ import annotations

from typing import Annotated

import typer

from fencepost_verification import catalogue
from fencepost_verification.checklist import verdict_on_finding
from fencepost_verification.cli.checks import Chosen, chapter
from fencepost_verification.cli.output import JSON, Shown, console, failures, finish, print_json, staged_progress, table
from fencepost_verification.evidence import Held, exit_code
from fencepost_verification.findings import as_json as findings_as_json
from fencepost_verification.findings import as_table, find
from fencepost_verification.mutants.judging import Executioner, Killed, verdict_of
from fencepost_verification.mutants.ledger import ledger as ledger_of


def findings(
    json_wanted: JSON = False,
    brief: Annotated[bool, typer.Option("--brief", help="Leave the evidence out.")] = False,
    new: Annotated[bool, typer.Option("--new", help="Only what was on no list before.")] = False,
) -> None:
    """Check the tables of the source documents as they were printed, and list what is wrong with them.

    Each finding rests on evidence that a program found and another way replayed: a run, a witness, two values that
    differ. The same question is put to the resolved model, which must do better.

    Exit: 0 the model has settled each, 1 it has one too, 3 one is not established.
    """
    with staged_progress(quiet=json_wanted) as told:
        found = find(told)
    verdicts = [verdict_on_finding(finding) for finding in found]
    shown = [finding for finding in found if finding.new or not new]
    if json_wanted:
        print_json({"findings": findings_as_json(shown)})
    else:
        console().print(as_table(shown, evidence=not brief))
        failures(Shown(v.statement, v) for v in verdicts if not isinstance(v, Held))
        fresh = sum(finding.new for finding in found)
        console().print(f"{len(found)} findings, {fresh} of them on no list before", highlight=False)
    finish(exit_code(verdicts))


def mutants(
    contract: Chosen = catalogue.MAIN,
    json_wanted: JSON = False,
    everything: Annotated[bool, typer.Option("--all", help="List those that are noticed, too.")] = False,
) -> None:
    """Break a contract by program, one small mistake at a time, and see what notices.

    Each mutant breaks a statement, with the shortest run; or is equivalent, by proof; or survives, which says that the
    contract says too little.

    Exit: 0 none survives, 2 no such contract, 3 one survives.
    """
    with staged_progress(quiet=json_wanted) as told:
        report = catalogue.mutants(chapter(contract), told, contract)
    if json_wanted:
        print_json(
            {
                "contract": report.chapter,
                "mutants": [fate.name for fate in report.fates],
                "killed": {fate.name: {"breaks": fate.statement, "trace": str(fate.trace)} for fate in report.killed},
                "equivalent": [fate.name for fate in report.equivalent],
                "survivors": {fate.name: fate.reason for fate in report.survivors},
            }
        )
    else:
        if everything:
            rows = [(f.name, f.statement, str(f.trace or "by proof")) for f in report.fates if isinstance(f, Killed)]
            table("What notices each mutant", ("mutant", "breaks", "shortest run"), rows)
        failures(Shown(fate.name, verdict_of(fate)) for fate in report.survivors)
        console().print(
            f"{len(report.fates)} mutants, {len(report.killed)} killed, {len(report.equivalent)} equivalent by proof, "
            f"{len(report.survivors)} survivors",
            highlight=False,
        )
    finish(exit_code(report.verdicts()))


def ledger(contract: Chosen = catalogue.MAIN, json_wanted: JSON = False) -> None:
    """Tell of each statement how it is proved, which mutants break it, and which break nothing else.

    Exit: 0 each can fail or follows from others, 1 one is refuted, 2 no such contract, 3 one is not established.
    """
    looked_at = chapter(contract)
    with staged_progress(quiet=json_wanted) as told:
        report = catalogue.mutants(looked_at, told, contract)
        proof = catalogue.proof(looked_at)
    worlds = [world.name for world in looked_at.worlds]
    entries = ledger_of(looked_at.contract, proof, report, worlds, aim=Executioner(looked_at).kill_for)
    if json_wanted:
        print_json(
            {
                entry.statement: {
                    "kind": entry.kind,
                    "clause": entry.clause,
                    "covered": entry.covered,
                    "kills": list(entry.kills),
                    "alone": list(entry.alone),
                    "follows_from": None if entry.follows_from is None else list(entry.follows_from),
                    "remark": entry.remark,
                    "checks": list(entry.checks),
                }
                for entry in entries
            }
        )
    else:
        rows = [
            (
                e.statement,
                e.kind,
                e.clause,
                "yes" if e.covered else "no",
                str(len(e.kills)),
                str(len(e.alone)),
                e.remark,
            )
            for e in entries
        ]
        table(f"Statements of {looked_at.name}", ("statement", "kind", "clause", "covered", "kills", "alone", ""), rows)
    finish(exit_code([entry.verdict() for entry in entries]))


def yes_or_no(truth: bool) -> str:
    """A truth value in a table."""
    return "yes" if truth else "no"
