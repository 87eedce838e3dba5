"""The entry point of ``fencepost-verify``: one command for each kind of evidence."""

from __future__ import annotations

import sys
import traceback

import typer

from fencepost_verification.cli import checks, differing, exporting, finding, judging, publishing
from fencepost_verification.evidence import EXIT_UNKNOWN

app = typer.Typer(
    name="fencepost-verify",
    help="The evidence for the durable-job contract: proofs, exploration, and the judging of implementations.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(checks.prove)
app.command()(checks.explore)
app.command()(checks.necessity)
app.command()(differing.diff)
app.command()(finding.findings)
app.command()(finding.mutants)
app.command()(finding.ledger)
app.command()(judging.smoke)
app.command()(judging.conform)
app.command()(judging.offenders)
app.command()(judging.schema)
app.add_typer(exporting.export)
app.command()(publishing.documents)
app.command()(publishing.verify)
app.command("all")(publishing.all_checks)


def main() -> None:
    """Run the command line. A fault of our own ends with 3: it says nothing about what was to be judged."""
    try:
        app()
    except Exception:  # noqa: BLE001 - whatever it is, it must not end with 1, which means refuted
        traceback.print_exc()
        told = "This is a fault of fencepost-verify, not of what it looked at: nothing was established."
        print(told, file=sys.stderr)
        sys.exit(EXIT_UNKNOWN)
