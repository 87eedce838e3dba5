"""The entry point of ``fencepost-verify``: one command for each kind of evidence.

A command is imported when it is called for. Each needs its own engines (a solver, another solver, a database, a site
generator), and none of them should wait for those of the others.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Mapping
from typing import Any

import typer
from typer.core import TyperGroup

from fencepost_verification.evidence import EXIT_UNKNOWN

COMMANDS: Mapping[str, str] = {
    "prove": "checks:prove",
    "explore": "checks:explore",
    "necessity": "checks:necessity",
    "diff": "differing:diff",
    "findings": "finding:findings",
    "mutants": "finding:mutants",
    "ledger": "finding:ledger",
    "smoke": "judging:smoke",
    "conform": "judging:conform",
    "offenders": "judging:offenders",
    "schema": "judging:schema",
    "export": "exporting:export",
    "documents": "publishing:documents",
    "verify": "publishing:verify",
    "all": "publishing:all_checks",
}
"""Where each command stands, as ``module:function`` or ``module:group`` of this package, in the order of the help."""


class Commands(TyperGroup):
    """The commands by name, each imported when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name, or None."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        found = getattr(importlib.import_module(f"fencepost_verification.cli.{module}"), name)
        if not isinstance(found, typer.Typer):
            alone = typer.Typer(add_completion=False, rich_markup_mode=None)
            alone.command(cmd_name)(found)
            found = alone
        return typer.main.get_command(found)


app = typer.Typer(
    name="fencepost-verify",
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback()
def evidence() -> None:
    """The evidence for the durable-job contract: proofs, exploration, and the judging of implementations."""


def main() -> None:
    """Run the command line. A fault of our own ends with 3: it says nothing about what was to be judged."""
    try:
        app()
    except Exception:  # noqa: BLE001 - whatever it is, it must not end with 1, which means refuted
        traceback.print_exc()
        told = "This is a fault of fencepost-verify, not of what it looked at: nothing was established."
        print(told, file=sys.stderr)
        sys.exit(EXIT_UNKNOWN)
