"""Every check by name: what is proved, explored and asked of each guard, for which chapter and in which worlds.

The commands, the site and the tests take their checks from here, so that all three speak of the same ones. A chapter
is one of the specification, by its name, or one that somebody else has written, by ``package.module:NAME``.
"""

from __future__ import annotations

import atexit
import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from multiprocessing import get_context
from pathlib import Path

from fencepost_model.contract import Contract, IllFormedContract
from fencepost_model.machines.job_worlds import JOB_SYMMETRIC
from fencepost_model.specification import CHAPTERS, SPECIFICATION, Chapter
from fencepost_model.worlds import World
from fencepost_verification.explore.necessity import Conjunct, Finding, conjuncts_of, examine
from fencepost_verification.explore.world import Exploration, explore
from fencepost_verification.mutants.judging import Executioner, Fate, MutantReport
from fencepost_verification.mutants.making import Mutant, mutants_of_chapter
from fencepost_verification.prove.chapters import proof_of
from fencepost_verification.prove.prover import Proof, prove
from fencepost_verification.prove.redundancy import Implied, Redundancy

PROCESSES = 2
"""How many processes share the longer checks."""

MAIN = "job"
"""The chapter that is meant where none is named."""

Told = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done and how much there is."""


class NoSuchChapter(LookupError):
    """The chapter that was asked for cannot be found or is ill-formed; the message is one sentence that says why."""


def chapter_named(name: str = MAIN) -> Chapter:
    """The chapter of that name, or the one that ``package.module:NAME`` leads to (a ``Chapter`` or a ``Contract``).

    Modules are looked for in the working directory too. Raises ``NoSuchChapter``.
    """
    if name in CHAPTERS:
        return CHAPTERS[name]
    module, colon, attribute = name.partition(":")
    if not colon or not module or not attribute:
        raise NoSuchChapter(
            f"there is no chapter {name!r}: use one of {', '.join(CHAPTERS)}, or package.module:NAME of your own"
        )
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)
    try:
        found = getattr(importlib.import_module(module), attribute, None)
    except ModuleNotFoundError as error:
        where = "run in its directory, or install it"
        raise NoSuchChapter(f"module {error.name!r} of {name!r} is not there: {where}") from None
    except (IllFormedContract, ValueError) as error:
        raise NoSuchChapter(f"{name} is ill-formed: {error}") from None
    match found:
        case Chapter():
            return found
        case Contract():
            return Chapter(found.name, f"The contract {found.name}.", found)
        case None:
            raise NoSuchChapter(f"{module} has no {attribute!r}: name a Chapter or a Contract that it defines")
        case _:
            kind = type(found).__name__
            raise NoSuchChapter(f"{name} is a {kind}, but a Chapter or a Contract is needed: name one of those")


def all_worlds() -> dict[str, World]:
    """The worlds by name: those of the chapters, and one that is explored with symmetry only, by default.

    Raises ``ValueError`` when two have the same name.
    """
    found: dict[str, World] = {JOB_SYMMETRIC.name: JOB_SYMMETRIC}
    for chapter in SPECIFICATION:
        for world in chapter.worlds:
            if world.name in found:
                raise ValueError(f"two chapters have a world called {world.name!r}; rename one of them")
            found[world.name] = world
    return found


WORLDS: Mapping[str, World] = all_worlds()
"""The worlds of the specification that can be explored, by name."""


def proof(chapter: Chapter) -> Proof:
    """Every obligation of a chapter's contract, unbounded."""
    return prove(chapter.contract)


def processes(name: str = MAIN) -> ProcessPoolExecutor:
    """The processes for a chapter. One of somebody else's is looked for where we are now, by processes of its own."""
    return _pool("" if name in CHAPTERS else str(Path.cwd()))


@cache
def _pool(_looking_in: str) -> ProcessPoolExecutor:
    """The processes that share the longer checks, started once for each place: each has much to import."""
    started = ProcessPoolExecutor(max_workers=PROCESSES, mp_context=get_context("spawn"))
    atexit.register(started.shutdown, cancel_futures=True)
    return started


def proofs(chapters: Sequence[Chapter], progress: Told = lambda stage, done, total: None) -> list[Proof]:
    """Every obligation of several chapters of the specification, on two processes; the longest are begun first."""
    if len(chapters) < PROCESSES:
        return [proof(chapter) for chapter in chapters]
    by_length = sorted(chapters, key=lambda chapter: -_statements(chapter.contract))
    found: dict[str, Proof] = {}
    answers = {processes().submit(proof_of, chapter.name): chapter.name for chapter in by_length}
    for number, answer in enumerate(as_completed(answers)):
        progress(f"proved {answers[answer]}", number, len(chapters))
        found[answers[answer]] = answer.result()
    return [found[chapter.name] for chapter in chapters]


def _statements(contract: Contract) -> int:
    """How much there is to prove, roughly."""
    return len(list(contract.transitions())) * (len(contract.invariants) + len(contract.step_properties))


def exploration(world: World, *, symmetry: bool = False) -> Exploration:
    """Every state of a world; with ``symmetry`` up to the exchange of what is interchangeable."""
    return explore(world, symmetry=symmetry)


def necessity(
    chapter: Chapter, progress: Told = lambda stage, done, total: None, part: str = "", name: str = ""
) -> list[Finding]:
    """Why each guard of a chapter is there whose name contains ``part``, in the order written, on two processes.

    Guards of a contract that the chapter extends are explained there.

    ``progress`` is told which conjunct is next, how many are done and how many there are. ``name`` is what the chapter
    was asked for by, where it is not one of the specification: the other processes look it up again.
    """
    conjuncts = _conjuncts(chapter, part)
    answers = necessity_begun(chapter, name or chapter.name, part)
    found: list[Finding] = []
    for number, conjunct in enumerate(conjuncts):
        progress(f"{chapter.name} without {conjunct}", number, len(conjuncts))
        found.append(next(answers))
    return found


def _conjuncts(chapter: Chapter, part: str = "") -> list[Conjunct]:
    known = frozenset(conjuncts_of(chapter.extends)) if chapter.extends else frozenset[Conjunct]()
    own = (conjunct for conjunct in conjuncts_of(chapter.contract) if conjunct not in known)
    return [conjunct for conjunct in own if part in str(conjunct)]


def necessity_begun(chapter: Chapter, name: str, part: str = "") -> Iterator[Finding]:
    """Hand out the question why each guard is there; the answers come in the order written."""
    # Each process takes a few at a time, for they differ much in length.
    asked = [(name, conjunct) for conjunct in _conjuncts(chapter, part)]
    return processes(name).map(finding_of, asked, chunksize=4)


def finding_of(asked: tuple[str, Conjunct]) -> Finding:
    """Why one guard of the named chapter is there."""
    name, conjunct = asked
    chapter = chapter_named(name)

    def implied(each: Conjunct) -> tuple[str, ...] | None:
        answer = _redundancy(name).implied_by(each.operation, each.case, each.guard)
        return answer.names if isinstance(answer, Implied) else None

    return examine(chapter.contract, chapter.small_worlds, conjunct, implied)


@cache
def _redundancy(name: str) -> Redundancy:
    return Redundancy(chapter_named(name).contract)


def mutants(chapter: Chapter, progress: Told = lambda stage, done, total: None, name: str = "") -> MutantReport:
    """What becomes of each mutant of a chapter, on two processes; ``name`` is what the chapter was asked for by."""
    answers = mutants_begun(chapter, name or chapter.name)
    fates: list[Fate] = []
    made = mutants_of_chapter(chapter)
    for number, mutant in enumerate(made):
        progress(f"mutant of {chapter.name}: {mutant.name}", number, len(made))
        fates.append(next(answers))
    return MutantReport(chapter.name, tuple(fates))


def mutants_begun(chapter: Chapter, name: str) -> Iterator[Fate]:
    """Hand out the mutants of a chapter; the answers come in the order in which they were made."""
    asked = [(name, number) for number in range(len(mutants_of_chapter(chapter)))]
    return processes(name).map(fate_of, asked, chunksize=8)


def fate_of(asked: tuple[str, int]) -> Fate:
    """What becomes of the mutant so numbered of the named chapter."""
    name, number = asked
    mutants, executioner = _executioner(name)
    return executioner.fate(mutants[number])


@cache
def _executioner(name: str) -> tuple[Sequence[Mutant], Executioner]:
    chapter = chapter_named(name)
    return mutants_of_chapter(chapter), Executioner(chapter)
