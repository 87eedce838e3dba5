"""The commands that look at the model itself: prove, explore, necessity."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from fencepost_model.specification import SPECIFICATION, Chapter
from fencepost_verification import catalogue
from fencepost_verification.cli.output import (
    JSON,
    Shown,
    console,
    counted,
    failures,
    finish,
    print_json,
    staged_progress,
    table,
)
from fencepost_verification.evidence import Held, exit_code
from fencepost_verification.explore.necessity import Necessary, Redundant, Unexplained, conjuncts_of, verdict_of
from fencepost_verification.explore.world import Exploration

Chosen = Annotated[
    str,
    typer.Option(
        "--contract", help="A chapter of the specification, such as job or run; or package.module:NAME of your own."
    ),
]


def chapter(name: str) -> Chapter:
    """The chapter that an option names; a name that is none is the caller's mistake, told in one sentence."""
    try:
        return catalogue.chapter_named(name)
    except catalogue.NoSuchChapter as error:
        raise typer.BadParameter(str(error)) from None


def prove(
    contract: Chosen = "",
    as_json: JSON = False,
    everything: Annotated[bool, typer.Option("--all", help="List what holds too.")] = False,
) -> None:
    """Prove every statement over every transition: any number of entities, any time, any settings.

    Without --contract every chapter of the specification is proved. Each obligation is paired with a check that its
    hypothesis can be met, so that none holds for want of a case. Where induction fails, a bounded search says whether
    the state it fails from can be reached.

    Exit: 0 all held, 1 one refuted, 2 no such contract, 3 one unknown.
    """
    chapters = [chapter(contract)] if contract else list(SPECIFICATION)
    began = time.perf_counter()
    with staged_progress(quiet=as_json) as progress:
        proofs = catalogue.proofs(chapters, progress)
    seconds = time.perf_counter() - began

    def name(of: str, obligation: str) -> str:
        return obligation if len(chapters) == 1 else f"{of}: {obligation}"

    if as_json:
        print_json(
            {
                "obligations": [name(p.contract, o.name) for p in proofs for o in p.obligations],
                "held": [name(p.contract, o.name) for p in proofs for o in p.held],
                "refuted": [name(p.contract, o.name) for p in proofs for o in p.refuted],
                "unknown": [name(p.contract, o.name) for p in proofs for o in p.unknown],
                "seconds": round(seconds, 3),
            }
        )
    else:
        for found in proofs:
            kinds: dict[str, list[bool]] = {}
            for obligation in found.obligations:
                kinds.setdefault(obligation.kind.value, []).append(isinstance(obligation.verdict, Held))
            if len(proofs) == 1:
                rows = [(kind, counted(sum(held)), counted(len(held))) for kind, held in kinds.items()]
                table(f"Obligations of the contract {found.contract}", ("kind", "held", "of"), rows)
            if everything:
                for obligation in found.held:
                    console().print(f"held  {name(found.contract, obligation.name)}", highlight=False)
        if len(proofs) > 1:
            by_chapter = [(p.contract, counted(len(p.held)), counted(p.count), f"{p.seconds:.2f} s") for p in proofs]
            table("Obligations of the specification", ("contract", "held", "of", "time"), by_chapter)
        failures(
            Shown(name(p.contract, o.name), o.verdict, o.label.value if o.label else "")
            for p in proofs
            for o in (*p.refuted, *p.unknown)
        )
        console().print(
            f"{sum(p.count for p in proofs):,} obligations, {sum(len(p.held) for p in proofs):,} held, {seconds:.2f} s",
            highlight=False,
        )
    finish(exit_code([obligation.verdict for p in proofs for obligation in p.obligations]))


def explore(
    world: Annotated[str, typer.Option(help="The world to explore; see --list.")] = "",
    contract: Chosen = "",
    symmetry: Annotated[
        bool, typer.Option("--symmetry", help="Look at one only of states that differ by exchanging equals.")
    ] = False,
    show_list: Annotated[bool, typer.Option("--list", help="List the worlds and stop.")] = False,
    as_json: JSON = False,
) -> None:
    """Find every state of a small world, breadth first, and check every statement on each state and step.

    A transition that is never taken and a witness that is never reached are failures, unless the world's settings rule
    them out and the world says so.

    Exit: 0 all held, 1 one refuted, 2 no such world, 3 one unknown.
    """
    worlds = {each.name: each for each in chapter(contract).worlds} if contract else dict(catalogue.WORLDS)
    if show_list:
        listed = [(each.name, each.contract.name, each.meaning) for each in worlds.values()]
        if as_json:
            print_json({name: meaning for name, _, meaning in listed})
        else:
            table("Worlds", ("name", "contract", "what is in it"), listed)
        return
    if not worlds:
        raise typer.BadParameter(f"contract {contract!r} comes without worlds; give it some in a Chapter")
    world = world or next(iter(worlds))
    if world not in worlds:
        raise typer.BadParameter(f"there is no world {world!r}; choose one of {', '.join(worlds)}")
    found = catalogue.exploration(worlds[world], symmetry=symmetry)
    verdicts = found.verdicts()
    if as_json:
        print_json(
            {
                "world": world,
                "states": found.states,
                "representatives": found.representatives,
                "edges": found.edges,
                "seconds": round(found.seconds, 3),
                "states_per_second": round(found.states_per_second),
                "never_taken": list(found.never_taken),
                "unwitnessed": list(found.unwitnessed),
                "broken": [name for name, _ in found.broken],
                "depth": found.depth,
                "peak_memory_mib": round(found.peak_memory / 2**20),
                "fired": found.fired,
                "fresh": found.fresh,
            }
        )
    else:
        by_count = sorted(found.fired.items(), key=lambda pair: -pair[1])
        fired = [(name, counted(edges), counted(found.fresh.get(name, 0))) for name, edges in by_count]
        table(f"{world}: {found.world.meaning}", ("transition", "fired", "fresh"), fired)
        failures(Shown(verdict.statement, verdict) for verdict in verdicts if not isinstance(verdict, Held))
        console().print(
            f"{found.states:,} states{looked_at(found)}, {found.edges:,} edges, depth {found.depth}, "
            f"{found.seconds:.2f} s, {found.states_per_second:,.0f} states/s, "
            f"peak memory {found.peak_memory / 2**20:,.0f} MiB",
            highlight=False,
        )
    finish(exit_code(verdicts))


def looked_at(found: Exploration) -> str:
    """How many states stood for all, where symmetry was used."""
    if found.representatives == found.states:
        return ""
    return f" ({found.representatives:,} up to symmetry, {found.states / found.representatives:.1f} times fewer)"


def necessity(
    contract: Chosen = catalogue.MAIN,
    as_json: JSON = False,
    guard: Annotated[str, typer.Option(help="Only guards whose full name, like claim.due, contains this text.")] = "",
) -> None:
    """Tell why each guard is there: drop every conjunct in turn, and show the shortest run that then goes wrong.

    A conjunct without which nothing goes wrong is redundant if others provably imply it, else unexplained.

    Exit: 0 each explained, 2 no guard has such a name, 3 one unexplained.
    """
    looked_at = chapter(contract)
    names = [str(conjunct) for conjunct in conjuncts_of(looked_at.contract)]
    if not any(guard in name for name in names):
        raise typer.BadParameter(f"no guard's name contains {guard!r}; they are called like {names[0]} or {names[-1]}")
    with staged_progress(quiet=as_json) as progress:
        found = catalogue.necessity(looked_at, progress, guard, contract)
    if as_json:
        print_json(
            {
                "guards": [str(f.conjunct) for f in found],
                "necessary": [str(f.conjunct) for f in found if isinstance(f, Necessary)],
                "redundant": [str(f.conjunct) for f in found if isinstance(f, Redundant)],
                "unexplained": [str(f.conjunct) for f in found if isinstance(f, Unexplained)],
                "why": {
                    str(f.conjunct): {"breaks": f.statement, "trace": str(f.trace), "world": f.world}
                    if isinstance(f, Necessary)
                    else {"implied_by": list(f.implied_by)}
                    for f in found
                    if not isinstance(f, Unexplained)
                },
            }
        )
    else:
        why: list[tuple[str, str, str]] = []
        for f in found:
            if isinstance(f, Necessary):
                why.append((str(f.conjunct), f.statement, str(f.trace)))
            elif isinstance(f, Redundant):
                why.append((str(f.conjunct), "redundant", "implied by " + ", ".join(f.implied_by)))
        table("What breaks without each guard", ("guard", "breaks", "shortest run"), why)
        failures(Shown(str(f.conjunct), verdict_of(f)) for f in found if isinstance(f, Unexplained))
        necessary = sum(isinstance(f, Necessary) for f in found)
        redundant = sum(isinstance(f, Redundant) for f in found)
        console().print(f"{len(found)} guards, {necessary} necessary, {redundant} redundant by proof", highlight=False)
    finish(exit_code([verdict_of(finding) for finding in found]))
