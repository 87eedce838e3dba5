"""Asks the resolved model what a finding asked of the printed one.

Each function gives a check that is run when the findings are gathered. A chapter or statement that the specification
does not hold yet makes the answer *unknown*, never held.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from fencepost_model.error_codes import REGISTERED, UnclassifiedCode, classify
from fencepost_model.published import tables
from fencepost_model.published.job import READINGS
from fencepost_model.shapes import Invariant, StepProperty
from fencepost_model.specification import CHAPTERS
from fencepost_model.worlds import World
from fencepost_verification.evidence import Held, Refuted, Unknown, Verdict
from fencepost_verification.explore.world import Exploration, explore
from fencepost_verification.findings.search import Question, Round, Stuck, first_answer, first_round
from fencepost_verification.prove import timing, vocabularies


def job_keeps(reading: str, question: Question) -> Callable[[], Verdict]:
    """The Job contract of this project, in the world of a reading, is asked the same question."""

    def ask() -> Verdict:
        world = READINGS[reading].resolved
        if world is None:
            return Unknown(question.name, f"reading {reading!r} names no world of the resolved machine")
        if isinstance(question, Stuck):
            trace = first_answer(world, question)
            found = None if trace is None else Refuted(question.name, f"ends stuck in {world.name}", trace)
        else:
            found = _broken(world, question)
        return found or Held(question.name, f"asked of contract {world.contract.name!r}")

    return ask


def job_never_goes_round(reading: str, question: Round) -> Callable[[], Verdict]:
    """The Job contract, in the world of a reading, has no such loop."""

    def ask() -> Verdict:
        world = READINGS[reading].resolved
        if world is None:
            return Unknown(question.name, f"reading {reading!r} names no world of the resolved machine")
        lasso = first_round(world, question)
        if lasso is not None:
            return Refuted(question.name, f"goes round in {world.name}", lasso.loop)
        return Held(question.name, f"asked of contract {world.contract.name!r}")

    return ask


def _broken(world: World, statement: Invariant | StepProperty) -> Refuted | None:
    asked = replace(
        world.contract,
        invariants=(statement,) if isinstance(statement, Invariant) else (),
        step_properties=(statement,) if isinstance(statement, StepProperty) else (),
        witnesses=(),
        progress=(),
        checked=False,
    )
    exploration = explore(replace(world, contract=asked, untaken=frozenset(), unreached=frozenset()))
    broken = dict(exploration.broken)
    if statement.name in broken:
        return Refuted(statement.name, f"broken in {world.name}", broken[statement.name])
    if not exploration.complete:
        raise RuntimeError(f"{world.name} was not explored to its end")
    return None


_ASKED: dict[str, set[str]] = {}
"""The statements that findings ask of each chapter, so that a chapter is explored once and for these alone."""


@cache
def _explored(chapter: str, names: frozenset[str]) -> tuple[Exploration, ...]:
    contract = CHAPTERS[chapter].contract
    asked = replace(
        contract,
        invariants=tuple(invariant for invariant in contract.invariants if invariant.name in names),
        step_properties=tuple(statement for statement in contract.step_properties if statement.name in names),
        witnesses=(),
        progress=(),
        checked=False,
    )
    return tuple(
        explore(replace(world, contract=asked, untaken=frozenset(), unreached=frozenset()))
        for world in CHAPTERS[chapter].small_worlds
    )


def chapter_keeps(chapter: str, *names: str) -> Callable[[], Verdict]:
    """Statements of a chapter of the specification hold in all its small worlds."""
    _ASKED.setdefault(chapter, set()).update(names)

    def ask() -> Verdict:
        name = ", ".join(names)
        if chapter not in CHAPTERS:
            return Unknown(name, f"the specification has no chapter {chapter!r}")
        contract = CHAPTERS[chapter].contract
        known = {invariant.name for invariant in contract.invariants}
        known |= {statement.name for statement in contract.step_properties}
        for wanted in names:
            if wanted not in known:
                return Unknown(name, f"chapter {chapter!r} has no statement {wanted!r}")
        explorations = _explored(chapter, frozenset(_ASKED[chapter] & known))
        for exploration in explorations:
            for broken, trace in exploration.broken:
                if broken in names:
                    return Refuted(broken, f"broken in {exploration.world.name}", trace)
            if not exploration.complete:
                return Unknown(name, f"{exploration.world.name} was not explored to its end")
        if not explorations:
            return Unknown(name, f"chapter {chapter!r} has no small world")
        states = sum(exploration.states for exploration in explorations)
        return Held(name, f"{states:,} states of chapter {chapter!r}")

    return ask


def chapter_answers(chapter: str, event: str, *statuses: str) -> Callable[[], Verdict]:
    """The table of a chapter's first machine with statuses answers an event in each of some statuses."""

    def ask() -> Verdict:
        name = f"{event} is answered"
        if chapter not in CHAPTERS:
            return Unknown(name, f"the specification has no chapter {chapter!r}")
        machine = next(machine for machine in CHAPTERS[chapter].contract.machines if machine.statuses)
        silent = [status for status in statuses if event not in machine.acting_on(status)]
        if silent:
            return Refuted(name, f"the table of {machine.name} has no {event} in {', '.join(silent)}")
        return Held(name, f"the table of {machine.name} lists it in {', '.join(statuses)}")

    return ask


def words_have_columns(part: str) -> Callable[[], Verdict]:
    """The queue profiles: what ``part`` of their vocabularies says holds of every queue."""

    def ask() -> Verdict:
        verdicts = [verdict for verdict in vocabularies.check() if part in _about(verdict)]
        if not verdicts:
            return Unknown(part, "no profile is asked that")
        return next((verdict for verdict in verdicts if not isinstance(verdict, Held)), verdicts[0])

    return ask


def render_bound() -> Verdict:
    """The bound of §7 finds the attempts of a render that can never start."""
    verdicts = timing.render_verdicts()
    return next((verdict for verdict in verdicts if not isinstance(verdict, Held)), verdicts[0])


def beats_bound() -> Verdict:
    """The bound of §7 says how many lost beats each queue's lease survives, and no more."""
    verdicts = timing.endurance_verdicts()
    return next((verdict for verdict in verdicts if not isinstance(verdict, Held)), verdicts[0])


def _about(verdict: Verdict) -> str:
    return verdict.statement


def codes_have_one_family() -> Verdict:
    """Every code that the sources name is classified, as the source places it."""
    named = {**tables.EXAMPLES, **dict.fromkeys(tables.OTHER_CODES, "")}
    for code, family in named.items():
        try:
            found = classify(code)
        except UnclassifiedCode as trouble:
            return Refuted("codes_have_one_family", str(trouble))
        if family and found.value != family:
            return Refuted("codes_have_one_family", f"{code} stands under {family} and is classified {found.value}")
    return Held("codes_have_one_family", f"{len(named)} codes of the sources, {len(REGISTERED)} registered by name")
