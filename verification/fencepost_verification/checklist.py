"""Every check there is, under one name each, with what it asks: what ``fencepost-verify all`` runs and reports.

A check answers with verdicts, and is itself held when all of them are and there is at least one: a check that looked at
nothing is unknown. Results that pages or summaries need in full are kept beside the verdicts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from fencepost_model.clocks import AGREEING, as_the_store_has_it, own_clocks
from fencepost_model.machines.group_completion import completion_refinement
from fencepost_model.machines.job_measure import JOB_MEASURED
from fencepost_model.machines.job_questions import QUESTIONS
from fencepost_model.machines.job_worlds import JOB_LARGE, JOB_SYMMETRIC
from fencepost_model.machines.slot_as_job import SLOT_REFINES_JOB
from fencepost_model.machines.task_as_job import TASK_REFINES_JOB
from fencepost_model.machines.two_step_claim import POSTGRESQL, SQLITE, two_step_refinement
from fencepost_model.refinement import Refinement, refines
from fencepost_model.specification import SPECIFICATION, Chapter
from fencepost_model.worlds import World
from fencepost_verification import catalogue
from fencepost_verification.catalogue import Told
from fencepost_verification.conformance.connect import adapter
from fencepost_verification.conformance.offenders import OffenderReport, judge_offenders
from fencepost_verification.conformance.report import ConformanceReport
from fencepost_verification.conformance.run import run_conformance
from fencepost_verification.evidence import EXIT_HELD, Held, Refuted, Unknown, Verdict, exit_code
from fencepost_verification.explore.fairness import Answer, Instant, answered, relative_graph, within_one_instant
from fencepost_verification.explore.necessity import Finding as Reason
from fencepost_verification.explore.necessity import verdict_of as verdict_on_reason
from fencepost_verification.explore.world import Exploration
from fencepost_verification.findings.catalogue import find
from fencepost_verification.findings.finding import Finding
from fencepost_verification.mutants.judging import Executioner, Fate, MutantReport
from fencepost_verification.mutants.ledger import Entry, ledger
from fencepost_verification.prove import timing, vocabularies, words
from fencepost_verification.prove.prover import Proof, prove
from fencepost_verification.prove.smtlib import Opinion, disagreements, second_opinion
from fencepost_verification.refining import Repeated, update_table
from fencepost_verification.symbolic import check as check_symbolically

JUDGED: tuple[str, ...] = ("memory", "sqlite")
"""The implementations whose conformance is shown: the model itself, and the runtime on a SQLite file."""


@dataclass(frozen=True)
class Outcome:
    """What became of one check: its name, what it asks, the verdicts, and the seconds that it took."""

    name: str
    asks: str
    verdicts: tuple[Verdict, ...]
    seconds: float

    @property
    def verdict(self) -> str:
        """``held``, ``refuted`` or ``unknown``; without any verdict, unknown."""
        if any(isinstance(verdict, Refuted) for verdict in self.verdicts):
            return "refuted"
        return "held" if self.verdicts and self.exit_code == EXIT_HELD else "unknown"

    @property
    def exit_code(self) -> int:
        """The exit code of the check by itself."""
        return exit_code(self.verdicts)

    def of(self, kind: type[Held | Refuted | Unknown]) -> list[str]:
        """The statements with a verdict of one kind."""
        return [verdict.statement for verdict in self.verdicts if isinstance(verdict, kind)]

    def as_json(self) -> dict[str, Any]:
        """The outcome for a script: counts, and the names of what is not held."""
        return {
            "verdict": self.verdict,
            "asks": self.asks,
            "verdicts": len(self.verdicts),
            "held": len(self.of(Held)),
            "refuted": self.of(Refuted),
            "unknown": self.of(Unknown),
            "seconds": round(self.seconds, 3),
        }


@dataclass
class Checklist:
    """The outcomes so far, and the results that others need in full."""

    told: Told = lambda what, done, total: None
    outcomes: list[Outcome] = field(default_factory=list[Outcome])
    proofs: dict[str, Proof] = field(default_factory=dict[str, Proof])
    explorations: dict[str, list[Exploration]] = field(default_factory=dict[str, list[Exploration]])
    reasons: dict[str, Sequence[Reason]] = field(default_factory=dict[str, Sequence[Reason]])
    mutants: dict[str, MutantReport] = field(default_factory=dict[str, MutantReport])
    ledgers: dict[str, tuple[Entry, ...]] = field(default_factory=dict[str, tuple[Entry, ...]])
    refinements: dict[str, tuple[Refinement, Proof]] = field(default_factory=dict[str, tuple[Refinement, Proof]])
    updates: list[Repeated] = field(default_factory=list[Repeated])
    answers: list[Answer] = field(default_factory=list[Answer])
    findings: list[Finding] = field(default_factory=list[Finding])
    reports: dict[str, ConformanceReport] = field(default_factory=dict[str, ConformanceReport])
    offenders: OffenderReport | None = None
    symmetric: Exploration | None = None
    instants: dict[str, Instant] = field(default_factory=dict[str, Instant])

    def run(self, name: str, asks: str, check: Callable[[], Iterable[Verdict]]) -> None:
        """Run one check and note its outcome."""
        self.told(name, len(self.outcomes), len(self.outcomes) + 1)
        began = time.perf_counter()
        verdicts = tuple(check())
        self.outcomes.append(Outcome(name, asks, verdicts, time.perf_counter() - began))

    def later(self, name: str, asks: str, begun: Future[Worked]) -> None:
        """Note the outcome of a check that another process has been given; waits for it."""
        self.told(name, len(self.outcomes), len(self.outcomes) + 1)
        verdicts, seconds = begun.result()
        self.outcomes.append(Outcome(name, asks, tuple(verdicts), seconds))

    @property
    def exit_code(self) -> int:
        """0 when every check is held, 1 when one is refuted, 3 when one is unknown; without any check, 3."""
        return exit_code([verdict for outcome in self.outcomes for verdict in outcome.verdicts or (_nothing(outcome),)])


def _nothing(outcome: Outcome) -> Verdict:
    return Unknown(outcome.name, "it looked at nothing")


Worked: TypeAlias = tuple[Sequence[Verdict], float]
"""What another process has found: verdicts, and the seconds that it took."""


def everything(told: Told = lambda what, done, total: None, *, mutants: bool = True) -> Checklist:
    """Run every check of the specification; without ``mutants`` those that the pages are made from.

    What takes long is handed to other processes first; what is done here meanwhile comes after it, and last what needs
    the results of both. The order in which checks are reported is that in which they were noted.
    """
    done = Checklist(told)
    proved(done, SPECIFICATION)
    begun = [Begun.of(chapter, mutants=mutants) for chapter in SPECIFICATION]
    related = Related.begun()
    of_words(done)
    of_implementations(done)
    for each in begun:
        of_chapter(done, each)
    of_relations(done, related)
    return done


# --- chapters ---------------------------------------------------------------------------------------------------------


def proved(done: Checklist, chapters: Sequence[Chapter]) -> None:
    """Prove each chapter, by z3."""
    began = time.perf_counter()
    found = catalogue.proofs(chapters, done.told)
    share = (time.perf_counter() - began) / max(1, len(chapters))
    for chapter, proof in zip(chapters, found, strict=True):
        done.proofs[chapter.name] = proof
        verdicts = tuple(obligation.verdict for obligation in proof.obligations)
        asks = "every transition keeps every statement, unbounded"
        done.outcomes.append(Outcome(f"prove {chapter.name}", asks, verdicts, share))


@dataclass(frozen=True)
class Begun:
    """What other processes have been given to do about one chapter."""

    chapter: Chapter
    again: Future[tuple[list[Opinion], float]]
    clocks: Future[Worked]
    reasons: Iterator[Reason]
    fates: Iterator[Fate] | None

    @staticmethod
    def of(chapter: Chapter, name: str = "", *, mutants: bool = True) -> Begun:
        """Hand the long checks of a chapter out; ``name`` is what it was asked for by."""
        asked = name or chapter.name
        pool = catalogue.processes(asked)
        return Begun(
            chapter,
            pool.submit(proved_again, asked),
            pool.submit(proved_by_own_clocks, asked),
            catalogue.necessity_begun(chapter, asked),
            catalogue.mutants_begun(chapter, asked) if mutants else None,
        )


def proved_again(name: str) -> tuple[list[Opinion], float]:
    """What cvc5 says of every obligation of the named chapter, and the seconds that it took."""
    began = time.perf_counter()
    return second_opinion(catalogue.chapter_named(name).contract), time.perf_counter() - began


def proved_by_own_clocks(name: str) -> Worked:
    """What holds of the named chapter with a clock for each caller, and that what is exempt by name is so rightly."""
    began = time.perf_counter()
    contract = catalogue.chapter_named(name).contract
    verdicts = [obligation.verdict for obligation in prove(own_clocks(contract).contract).obligations]
    for statement, reason in AGREEING.get(contract.name, {}).items():
        demanded = prove(as_the_store_has_it(contract, statement))
        title = f"{statement} needs clocks that agree"
        falls = any(o.statement == statement for o in (*demanded.refuted, *demanded.unknown))
        verdicts.append(Held(title, reason) if falls else Refuted(title, "it is proved with clocks that do not"))
    return verdicts, time.perf_counter() - began


def of_chapter(done: Checklist, begun: Begun) -> None:
    """Everything about one chapter but its proof: the second solver, worlds, guards, mutants, the ledger, clocks."""
    chapter = begun.chapter
    of = chapter.name
    opinions, seconds = begun.again.result()
    verdicts = (*(opinion.verdict for opinion in opinions), *disagreements(done.proofs[of], opinions))
    done.outcomes.append(Outcome(f"prove {of} again", "cvc5 decides every obligation as z3 did", verdicts, seconds))
    done.explorations[of] = []
    for world in chapter.worlds:

        def explored(each: World = world) -> Iterator[Verdict]:
            exploration = catalogue.exploration(each)
            done.explorations[of].append(exploration)
            yield from exploration.verdicts()

        done.run(f"explore {world.name}", f"no state or step of it breaks a statement: {world.meaning}", explored)

    def dropped() -> Iterator[Verdict]:
        done.reasons[of] = list(begun.reasons)
        yield from map(verdict_on_reason, done.reasons[of])

    done.run(f"necessity {of}", "each guard, dropped, breaks something, or others imply it", dropped)

    if begun.fates is not None:
        of_mutants(done, chapter, begun.fates)
    done.later(f"own clocks {of}", "safety holds although each caller reads a clock of its own", begun.clocks)


def of_mutants(done: Checklist, chapter: Chapter, fates: Iterator[Fate]) -> None:
    """What becomes of each mutant of a chapter, and what each of its statements is worth."""
    of = chapter.name

    def mutated() -> Iterator[Verdict]:
        done.mutants[of] = MutantReport(of, tuple(fates))
        yield from done.mutants[of].verdicts()

    done.run(f"mutants {of}", "each mistake that a program can make is noticed, or is none", mutated)

    def kept() -> Iterator[Verdict]:
        judged = JUDGED if of == catalogue.MAIN else ()
        worlds = [world.name for world in chapter.worlds]
        aim = Executioner(chapter).kill_for
        done.ledgers[of] = ledger(chapter.contract, done.proofs[of], done.mutants[of], worlds, judged, aim)
        yield from (entry.verdict() for entry in done.ledgers[of])

    done.run(f"ledger {of}", "each statement is shown to be able to fail, or follows from others", kept)


# --- relations between chapters ---------------------------------------------------------------------------------------


def refinements() -> Mapping[str, Refinement]:
    """Every refinement of the specification by its name."""
    listed = (
        two_step_refinement(*SQLITE),
        *(two_step_refinement(form) for form in POSTGRESQL),
        completion_refinement(),
        SLOT_REFINES_JOB,
        TASK_REFINES_JOB,
    )
    return {refinement.name: refinement for refinement in listed}


@dataclass(frozen=True)
class Related:
    """What other processes have been given to do about the relations between chapters."""

    refined: Mapping[str, Future[tuple[Proof, float]]]
    repeated: Future[tuple[list[Repeated], float]]
    measured: Future[Worked]

    @staticmethod
    def begun() -> Related:
        """Hand the proofs of refinement out."""
        pool = catalogue.processes()
        return Related(
            {name: pool.submit(refined, name) for name in refinements()},
            pool.submit(repeated),
            pool.submit(measured),
        )


def refined(name: str) -> tuple[Proof, float]:
    """The proof of the named refinement, and the seconds that it took."""
    proof = prove(refines(refinements()[name]))
    return proof, proof.seconds


def repeated() -> tuple[list[Repeated], float]:
    """Which conjuncts an update must repeat, and the seconds that it took to find out."""
    began = time.perf_counter()
    return list(update_table()), time.perf_counter() - began


def measured() -> Worked:
    """That the measure of the job falls."""
    proof = prove(JOB_MEASURED)
    return [obligation.verdict for obligation in proof.obligations], proof.seconds


def of_relations(done: Checklist, begun: Related) -> None:
    """What refines what, which columns an update needs, what must come to an end."""
    for name, refinement in refinements().items():
        done.told(f"refinement {name}", len(done.outcomes), len(done.outcomes) + 1)
        proof, seconds = begun.refined[name].result()
        done.refinements[name] = (refinement, proof)
        verdicts = tuple(obligation.verdict for obligation in proof.obligations)
        asks = "every step is one of the abstract machine, or changes nothing there"
        done.outcomes.append(Outcome(f"refinement {name}", asks, verdicts, seconds))

    def exchanged() -> Iterator[Verdict]:
        whole = next(e for e in done.explorations[catalogue.MAIN] if e.world.name == JOB_LARGE.name)
        half = catalogue.exploration(JOB_LARGE, symmetry=True)
        name = f"{JOB_LARGE.name} has as many states and edges up to symmetry"
        told = f"{half.representatives:,} stand for {half.states:,}"
        same = (whole.states, whole.edges, whole.depth) == (half.states, half.edges, half.depth)
        yield Held(name, told) if same else Refuted(name, f"{told}, but there are {whole.states:,}")
        done.symmetric = catalogue.exploration(JOB_SYMMETRIC, symmetry=True)
        yield from done.symmetric.verdicts()

    done.run("symmetry", "exchanging equals changes nothing, and what is counted stays the same", exchanged)

    rows, seconds = begun.repeated.result()
    done.updates = rows
    asks = "each conjunct that an UPDATE repeats is needed"
    done.outcomes.append(Outcome("update predicates", asks, tuple(row.verdict() for row in rows), seconds))
    done.later("measure", "recoveries, retries and hand-backs cannot go on for ever", begun.measured)

    def ended() -> Iterator[Verdict]:
        for question in QUESTIONS:
            graph = relative_graph(question.world, question.contract)
            answer = answered(question, graph)
            done.answers.append(answer)
            yield answer.verdict()
            if question.contract is None and question.world.name not in done.instants:
                done.instants[question.world.name] = within_one_instant(graph)
                yield done.instants[question.world.name].verdict()

    done.run("fairness", "what ends under weak fairness, and what goes round for ever", ended)


# --- words, numbers, findings -----------------------------------------------------------------------------------------


def of_words(done: Checklist) -> None:
    """Error codes, vocabularies, time bounds, pure functions, and what the sources got wrong."""
    done.run("words", "which patterns of codes meet; that every code has one family", lambda: words.check(done.told))
    done.run("vocabularies", "each queue's columns are told apart and are all there", vocabularies.check)
    done.run("timing", "each time bound holds at the bound and fails just beyond", lambda: timing.check(done.told))
    done.run("symbolic", "the pure decision functions keep their contracts", lambda: check_symbolically(done.told))

    def found() -> Iterator[Verdict]:
        done.findings = find(done.told)
        for finding in done.findings:
            yield verdict_on_finding(finding)

    done.run("findings", "what the sources say is checked by program, and the model does better", found)


def verdict_on_finding(finding: Finding) -> Verdict:
    """Held when the claim is shown (its evidence replays) and the model has settled it.

    A candidate that its check refutes is held as well: that is an answer. A claim of our own is made because a program
    found evidence for it; without any it is refuted.
    """
    name = f"finding {finding.number}: {finding.title}"
    if finding.evidence is None and finding.candidate is None:
        return Refuted(name, "its check finds nothing: mend the check, or take the finding off the list")
    match finding.resolution:
        case Refuted(_, reason, trace):
            return Refuted(name, f"the resolved model has it too: {reason}", trace)
        case Unknown(_, reason):
            return Unknown(name, f"whether the model has settled it: {reason}")
        case _:
            return Held(name, finding.verdict)


# --- implementations --------------------------------------------------------------------------------------------------


def of_implementations(done: Checklist) -> None:
    """Judge the model itself and the runtime, and try the suite on the offenders."""
    for name in JUDGED:

        def judged(each: str = name) -> Iterator[Verdict]:
            done.reports[each] = run_conformance(adapter(each), progress=done.told)
            yield verdict_on(each, done.reports[each])

        done.run(f"conform {name}", "every enabled step is taken, every other call refused", judged)

    def caught() -> Iterator[Verdict]:
        done.offenders = judge_offenders(progress=done.told)
        yield verdict_on_offenders(done.offenders)

    done.run("offenders", "the suite catches every implementation that is wrong on purpose", caught)


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
