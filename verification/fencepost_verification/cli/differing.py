"""The command that reviews a change of a contract: diff."""

from __future__ import annotations

from typing import Annotated

import typer

from fencepost_verification import catalogue
from fencepost_verification.cli.checks import Chosen, chapter
from fencepost_verification.cli.output import JSON, console, finish, print_json, staged_progress
from fencepost_verification.diff.review import review
from fencepost_verification.diff.sources import NoSource, Source, source

Side = "a revision of this repository, path.py:NAME, or package.module:NAME"


def diff(
    old: Annotated[str, typer.Argument(help=f"The contract as it was: {Side}.")],
    new: Annotated[
        str, typer.Argument(help="The contract as it is to be, named likewise; left out, as it is here and now.")
    ] = "",
    contract: Chosen = catalogue.MAIN,
    offenders: Annotated[
        bool, typer.Option("--offenders", help="Try every wrong implementation on the new contract too; takes longer.")
    ] = False,
    as_json: JSON = False,
) -> None:
    """Tell what a change of a contract changes: structure, behaviours with a shortest run each, statements.

    Of a revision, --contract says which chapter is compared. Behaviours are compared in the small worlds of the new
    side; statements are proved, each on the other side as well.

    Exit: 0 both behave alike, 1 something differs, 2 called wrongly, 3 something is unknown.
    """
    try:
        before = source(old, contract)
        after = source(new, contract) if new else Source.of("the working tree", chapter(contract))
    except NoSource as missing:
        raise typer.BadParameter(str(missing)) from None
    with staged_progress(quiet=as_json) as progress:
        found = review(before, after, with_offenders=offenders, progress=progress)
    if as_json:
        print_json(found.as_json())
    else:
        console().print(found, soft_wrap=True, highlight=False)
    finish(found.exit_code)
