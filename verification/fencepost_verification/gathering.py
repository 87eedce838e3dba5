"""Runs every check of the catalogue once, and hands the results on: to the summary and to the site.

``gather`` does the work and tells what it is doing. ``Gathered.evidence`` is what the pages are made from: what two
runs on one commit agree on. ``Gathered.measurements`` holds what differs from run to run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fencepost_model.specification import SPECIFICATION, Chapter
from fencepost_verification import catalogue
from fencepost_verification.catalogue import Told
from fencepost_verification.conformance.capabilities import INJECTED_CLOCK, INSPECT, JOB, PROTOCOL, Capability
from fencepost_verification.conformance.connect import adapter
from fencepost_verification.conformance.offenders import OffenderReport, judge_offenders
from fencepost_verification.conformance.protocol import schema
from fencepost_verification.conformance.report import ConformanceReport
from fencepost_verification.conformance.run import run_conformance
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
from fencepost_verification.evidence import Held, Refuted, Trace, Unknown, Verdict, exit_code
from fencepost_verification.explore.necessity import Conjunct, Finding, verdict_of
from fencepost_verification.explore.world import Exploration
from fencepost_verification.prove.prover import Proof

JUDGED: tuple[str, ...] = ("memory", "sqlite")
"""The implementations whose conformance the site shows: the model itself, and the runtime on a SQLite file."""


@dataclass(frozen=True)
class ChapterResults:
    """What was found about one chapter: its proof, its worlds explored, and why each guard is there."""

    chapter: Chapter
    proof: Proof
    explorations: Sequence[Exploration]
    necessity: Sequence[Finding]

    def verdicts(self) -> Iterator[Verdict]:
        """One verdict for each thing that was checked; no exploration or no guard counts as unknown."""
        yield from (obligation.verdict for obligation in self.proof.obligations)
        for exploration in self.explorations:
            yield from exploration.verdicts()
        if not self.explorations:
            yield Unknown(f"{self.chapter.name} is explored", "the chapter has no world")
        yield from (verdict_of(finding) for finding in self.necessity)

    def evidence(self, samples: Mapping[str, tuple[SampleRun, ...]]) -> Evidence:
        """What the pages of the chapter are made from."""
        contract = self.chapter.contract
        statements = {
            *(statement.name for statement in contract.invariants),
            *(statement.name for statement in contract.step_properties),
            *(statement.name for statement in contract.progress),
        }
        by_conjunct: dict[Conjunct, Finding] = {finding.conjunct: finding for finding in self.necessity}
        return Evidence(
            contract=contract,
            title=self.chapter.title,
            meaning=self.chapter.meaning,
            obligations=tuple(
                Obligation(
                    o.name,
                    o.kind.value,
                    o.statement if o.statement in statements else None,
                    o.transition or None,
                    o.verdict,
                )
                for o in self.proof.obligations
            ),
            worlds=tuple(_world(exploration) for exploration in self.explorations),
            necessity=by_conjunct,
            samples=samples,
        )

    def measurements(self) -> Iterator[Measurement]:
        """What differs from run to run."""
        yield Measurement(f"proof of every obligation of {self.chapter.name}", self.proof.seconds, "s")
        for exploration in self.explorations:
            name = exploration.world.name
            yield Measurement(f"exploration of {name}", exploration.seconds, "s")
            yield Measurement(f"distinct states of {name} a second", exploration.states_per_second, "states/s")


@dataclass(frozen=True)
class Gathered:
    """The results of every check: of each chapter by its name, and of the implementations that were judged."""

    chapters: Mapping[str, ChapterResults]
    reports: Mapping[str, ConformanceReport]
    offenders: OffenderReport

    def verdicts(self) -> list[Verdict]:
        """One verdict for each thing that was checked; a conformance run and the offenders count as one each."""
        verdicts = [verdict for results in self.chapters.values() for verdict in results.verdicts()]
        verdicts += [verdict_on(name, report) for name, report in self.reports.items()]
        verdicts.append(verdict_on_offenders(self.offenders))
        return verdicts

    @property
    def exit_code(self) -> int:
        """0 when all is held, 1 when something is refuted, 3 when something is unknown."""
        return exit_code(self.verdicts())

    def evidence(self, samples: Mapping[str, Mapping[str, tuple[SampleRun, ...]]]) -> tuple[Evidence, ...]:
        """What the pages are made from, the main chapter first; ``samples`` gives the runs of each chapter."""
        found = {name: results.evidence(samples.get(name, {})) for name, results in self.chapters.items()}
        main = found.pop(catalogue.MAIN)
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
                for name, report in self.reports.items()
            ),
            offenders=tuple(
                OffenderFigures(
                    catch.offender.name,
                    catch.offender.fault,
                    ", ".join(catch.clauses) if catch.caught else None,
                    tuple(sorted({_operation(clause) for clause in catch.offender.caught_by} & operations)),
                )
                for catch in self.offenders.catches
            ),
            capabilities=tuple(CapabilityText(c.name, c.sentence, _left_out(c)) for c in (*PROTOCOL, *JOB)),
            protocol_schema=schema(main.contract),
        )
        return (judged, *found.values())

    def measurements(self) -> list[Measurement]:
        """What differs from run to run."""
        measured: list[Measurement] = []
        for results in self.chapters.values():
            measured += results.measurements()
        for name, report in self.reports.items():
            measured.append(Measurement(f"conformance run of {name}", report.seconds, "s"))
        measured.append(Measurement("all offenders", self.offenders.seconds, "s"))
        return measured


def gather(told: Told = lambda what, done, total: None) -> Gathered:
    """Run every check."""
    chapters = {chapter.name: examined(chapter, told) for chapter in SPECIFICATION}
    reports = {name: _judged(name, told) for name in JUDGED}
    offenders = judge_offenders(progress=lambda name, done, total: told(f"offender {name}", done, total))
    return Gathered(chapters, reports, offenders)


def examined(chapter: Chapter, told: Told = lambda what, done, total: None, name: str = "") -> ChapterResults:
    """Prove and explore one chapter, and drop each of its guards; ``name`` is what it was asked for by."""
    told(f"proving every statement of {chapter.name}", 0, 1)
    proof = catalogue.proof(chapter)
    explorations: list[Exploration] = []
    for number, world in enumerate(chapter.worlds):
        told(f"exploring {world.name}", number, len(chapter.worlds))
        explorations.append(catalogue.exploration(world))
    return ChapterResults(chapter, proof, explorations, catalogue.necessity(chapter, told, name=name))


def _judged(name: str, told: Told) -> ConformanceReport:
    return run_conformance(
        adapter(name), progress=lambda scope, done, total: told(f"judging {name}: {scope}", done, total)
    )


def book_of(gathered: Gathered, runs: Mapping[str, Mapping[str, tuple[SampleRun, ...]]]) -> Book:
    """The generated part of the site."""
    main, *others = gathered.evidence(runs)
    return Book(main, others, Pages(main).word_files())


def samples(told: Told = lambda what, done, total: None) -> dict[str, dict[str, tuple[SampleRun, ...]]]:
    """For each chapter a few short runs of each operation, from the world that shows most of them."""
    return {chapter.name: samples_of(chapter, told) for chapter in SPECIFICATION}


def samples_of(chapter: Chapter, told: Told = lambda what, done, total: None) -> dict[str, tuple[SampleRun, ...]]:
    """A few short runs for each operation of a chapter."""
    shown: dict[str, tuple[SampleRun, ...]] = {}
    for number, world in enumerate(chapter.small_worlds):
        told(f"sample runs in {world.name}", number, len(chapter.small_worlds))
        for operation, runs in sample_runs(world).items():
            if len(runs) > len(shown.get(operation, ())):
                shown[operation] = runs
    return shown


def verdict_on(name: str, report: ConformanceReport) -> Verdict:
    """What a conformance run amounts to."""
    statement = f"{name} conforms"
    if report.verdict == "held":
        return Held(statement, f"{report.edges.covered} edges and {report.refusals.covered} refusals")
    if report.verdict == "refuted":
        return Refuted(statement, f"refuted: {', '.join(report.refuted())}")
    return Unknown(statement, report.fault or "not everything was covered")


def verdict_on_offenders(report: OffenderReport) -> Verdict:
    """Held when all are caught; without any, unknown."""
    statement = "the suite catches every offender"
    if not report.offenders:
        return Unknown(statement, "there are none")
    if report.missed:
        return Refuted(statement, f"missed: {', '.join(report.missed)}")
    return Held(statement, f"{len(report.caught)} caught")


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
