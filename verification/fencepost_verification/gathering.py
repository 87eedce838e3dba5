"""Makes the site's input from what the checks found: evidence for each chapter, figures for the page *Measured*.

``evidence_of`` is what the pages of a chapter are made from: what two runs on one commit agree on. ``measurements``
holds what differs from run to run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace

from fencepost_model.specification import SPECIFICATION, Chapter
from fencepost_verification.appendix_results import appendix_of
from fencepost_verification.catalogue import Told
from fencepost_verification.checklist import Checklist, verdict_on
from fencepost_verification.conformance.capabilities import INJECTED_CLOCK, INSPECT, JOB, PROTOCOL, Capability
from fencepost_verification.conformance.protocol import beyond_single_rows, schema
from fencepost_verification.documents.appendices import appendix_files
from fencepost_verification.documents.book import Book
from fencepost_verification.documents.evidence_input import (
    CapabilityText,
    ConformanceFigures,
    Evidence,
    Measurement,
    Obligation,
    OffenderFigures,
    SampleRun,
    Share,
    WorldFigures,
    summed_up,
)
from fencepost_verification.documents.pages import Pages
from fencepost_verification.documents.sample_runs import sample_runs
from fencepost_verification.evidence import Trace
from fencepost_verification.explore.necessity import Conjunct, Finding
from fencepost_verification.explore.world import Exploration

Samples = Mapping[str, tuple[SampleRun, ...]]
"""For each operation some short runs."""


def evidence_of(done: Checklist, chapter: Chapter, runs: Samples) -> Evidence:
    """What the pages of a chapter are made from; the guards of a contract that it extends are explained there."""
    contract = chapter.contract
    statements = {
        *(statement.name for statement in contract.invariants),
        *(statement.name for statement in contract.step_properties),
        *(statement.name for statement in contract.progress),
    }
    reasons: dict[Conjunct, Finding] = {finding.conjunct: finding for finding in done.reasons.get(chapter.name, ())}
    return Evidence(
        contract=contract,
        title=chapter.title,
        meaning=chapter.meaning,
        obligations=tuple(
            Obligation(
                o.name,
                o.kind.value,
                o.statement if o.statement in statements else None,
                o.transition or None,
                o.verdict,
            )
            for o in done.proofs[chapter.name].obligations
        ),
        worlds=tuple(_world(exploration) for exploration in done.explorations.get(chapter.name, ())),
        necessity=reasons,
        samples=runs,
        protocol_schema=schema(contract) if next(beyond_single_rows(contract), None) is None else None,
    )


def evidence(done: Checklist, runs: Mapping[str, Samples]) -> tuple[Evidence, ...]:
    """The evidence of every chapter, the main one first, with the implementations that were judged by it."""
    main, *others = (evidence_of(done, chapter, runs.get(chapter.name, {})) for chapter in SPECIFICATION)
    operations = {operation.name for operation in main.contract.operations}
    judged = replace(
        main,
        conformance=tuple(
            ConformanceFigures(
                implementation=name,
                edges=Share(report.edges.covered, report.edges.total),
                refusals=Share(report.refusals.covered, report.refusals.total),
                verdict=verdict_on(name, report),
                skipped=report.skips,
            )
            for name, report in done.reports.items()
        ),
        offenders=tuple(
            OffenderFigures(
                catch.offender.name,
                catch.offender.fault,
                ", ".join(catch.clauses) if catch.caught else None,
                tuple(sorted({_operation(clause) for clause in catch.offender.caught_by} & operations)),
            )
            for catch in (done.offenders.catches if done.offenders is not None else ())
        ),
        capabilities=tuple(CapabilityText(c.name, c.sentence, _left_out(c)) for c in (*PROTOCOL, *JOB)),
    )
    return (judged, *others)


def book_of(done: Checklist, runs: Mapping[str, Samples]) -> Book:
    """The generated part of the site."""
    main, *others = evidence(done, runs)
    appendices = appendix_files(appendix_of(done), (main, *others))
    # What mutants show takes longer than pages may: `fencepost-verify ledger` tells it.
    appendices.pop("ledger.md", None)
    return Book(main, others, {**Pages(main).word_files(), **appendices})


def measurements(done: Checklist) -> Iterator[Measurement]:
    """What differs from run to run: how long each check took, and how fast exploration was."""
    for outcome in done.outcomes:
        yield Measurement(outcome.name, outcome.seconds, "s")
    for explorations in done.explorations.values():
        for exploration in explorations:
            if exploration.states >= 10_000:
                name = f"distinct states of {exploration.world.name} a second"
                yield Measurement(name, exploration.states_per_second, "states/s")


def samples(told: Told = lambda what, done, total: None) -> dict[str, Samples]:
    """For each chapter a few short runs of each operation, from the world that shows most of them."""
    return {chapter.name: samples_of(chapter, told) for chapter in SPECIFICATION}


def samples_of(chapter: Chapter, told: Told = lambda what, done, total: None) -> Samples:
    """A few short runs for each operation of a chapter."""
    shown: dict[str, tuple[SampleRun, ...]] = {}
    for number, world in enumerate(chapter.small_worlds):
        told(f"sample runs in {world.name}", number, len(chapter.small_worlds))
        for operation, runs in sample_runs(world).items():
            if len(runs) > len(shown.get(operation, ())):
                shown[operation] = runs
    return shown


def _left_out(capability: Capability) -> str:
    """What a run does without, where an implementation lacks a capability."""
    parts: list[str] = []
    if capability.operations:
        parts.append(f"{', '.join(sorted(capability.operations))} is not called")
    parts += [f"{name} stays {json.dumps(value)}" for name, value in capability.settings.items()]
    essential = capability in (INJECTED_CLOCK, INSPECT)
    return "; ".join(parts) or ("nothing can be judged" if essential else "what needs it is not judged")


def _operation(clause: str) -> str:
    return clause.split(".")[0].split("/")[0]


def _world(exploration: Exploration) -> WorldFigures:
    local = exploration.local
    runs: dict[str, Trace | None] = {
        witness.name: local.trace_to(local.witnessed[witness.name]) if witness.name in local.witnessed else None
        for witness in exploration.world.contract.witnesses
    }
    return WorldFigures(
        world=exploration.world,
        states=exploration.states,
        edges=exploration.edges,
        taken=exploration.fired,
        witnesses=runs,
        verdict=summed_up(f"every statement in {exploration.world.name}", exploration.verdicts()),
    )
