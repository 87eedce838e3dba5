"""The commands that write the model in the languages of other engines: export tla, promela, smtlib."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from fencepost_model.worlds import World
from fencepost_verification import catalogue
from fencepost_verification.cli.output import Shown, console, counted, failures, finish, staged_progress
from fencepost_verification.evidence import Held, exit_code
from fencepost_verification.export import tla as tla_export
from fencepost_verification.export.promela import promela as promela_text
from fencepost_verification.prove import smtlib as smtlib_export

export = typer.Typer(
    name="export",
    help="Write the model for an engine that shares no code with ours: TLC, SPIN, any solver that reads SMT-LIB.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

WorldName = Annotated[str, typer.Option("--world", help="The world to write; `explore --list` lists them.")]
ContractName = Annotated[str, typer.Option("--contract", help="A chapter by name, or package.module:NAME of your own.")]
Directory = Annotated[Path, typer.Option("--out", help="Where the files go; made if it is not there.")]


def _world(name: str, contract: str) -> World:
    if not contract:
        worlds = dict(catalogue.WORLDS)
    else:
        try:
            worlds = {world.name: world for world in catalogue.chapter_named(contract).worlds}
        except catalogue.NoSuchChapter as unknown:
            raise typer.BadParameter(str(unknown)) from None
    if name not in worlds:
        raise typer.BadParameter(f"there is no world {name!r}; choose one of {', '.join(worlds) or 'none'}")
    return worlds[name]


def _wrote(*paths: Path) -> None:
    for path in paths:
        console().print(str(path), highlight=False, soft_wrap=True)


@export.command()
def tla(
    world: WorldName = "job-small",
    symmetry: Annotated[
        bool, typer.Option("--symmetry", help="Count states up to exchanges of what is alike.")
    ] = False,
    contract: ContractName = "",
    out: Directory = Path("tla"),
) -> None:
    """Write a world as a TLA+ module and a configuration for TLC, which finds the states that `explore` finds.

    Exit: 0 written, 2 no such world.
    """
    _wrote(*tla_export.write(_world(world, contract), out, symmetry))


@export.command()
def promela(world: WorldName = "job-small", contract: ContractName = "", out: Directory = Path("promela")) -> None:
    """Write a world as a model for SPIN, with its invariants as assertions; it begins with nothing, no legacy rows.

    Exit: 0 written, 2 no such world.
    """
    found = replace(_world(world, contract), legacy=False)
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{found.name}.pml"
    path.write_text(promela_text(found, [i.name for i in found.contract.invariants]), encoding="utf-8")
    _wrote(path)


@export.command()
def smtlib(
    contract: ContractName = catalogue.MAIN,
    out: Directory = Path("smtlib"),
    ask: Annotated[bool, typer.Option("--ask", help="Ask cvc5 every obligation as well.")] = False,
) -> None:
    """Write every obligation of a contract's proof as SMT-LIB 2: one script for each transition, every answer unsat.

    The first question of a script is whether its hypothesis can be true; that answer is sat.

    Exit: 0 written (with --ask: all held), 1 one refuted, 2 no such contract, 3 one unknown.
    """
    try:
        found = catalogue.chapter_named(contract).contract
    except catalogue.NoSuchChapter as unknown:
        raise typer.BadParameter(str(unknown)) from None
    written = smtlib_export.write(found, out)
    console().print(f"{counted(len(written))} scripts in {out}", highlight=False)
    if not ask:
        return
    with staged_progress() as bar:
        opinions = smtlib_export.second_opinion(found, lambda name, done: bar(name, done, done))
    failures(Shown(each.name, each.verdict) for each in opinions)
    held = sum(isinstance(each.verdict, Held) for each in opinions)
    console().print(f"{counted(len(opinions))} obligations, {counted(held)} held by cvc5", highlight=False)
    finish(exit_code([each.verdict for each in opinions]))
