"""Makes the record behind the appendices from a checklist: what was run is shown, and what was not is left out.

Some pages show more than verdicts (which patterns meet, the numbers just beyond a bound). What is pure and takes a few
seconds is worked out again here; everything else is taken from the checklist as it stands.
"""

from __future__ import annotations

from collections.abc import Sequence

from fencepost_model.clocks import own_clocks
from fencepost_model.machines.job_measure import JOB_MEASURED, MEASURES
from fencepost_model.specification import SPECIFICATION, Chapter
from fencepost_verification.checklist import Checklist
from fencepost_verification.documents.appendix_input import (
    Appendix,
    ChapterLedger,
    ClockResult,
    CodeResults,
    MeasureResult,
    RefinementResult,
    TimeResults,
)
from fencepost_verification.evidence import Verdict
from fencepost_verification.prove import timing, words


def appendix_of(done: Checklist, chapters: Sequence[Chapter] = SPECIFICATION) -> Appendix:
    """What the appendices show of the checks that were run; a check that was not run is not examined."""
    verdicts = {outcome.name: outcome.verdicts for outcome in done.outcomes}
    clocks = [
        ClockResult(chapter.name, own_clocks(chapter.contract).exempt, verdicts[f"own clocks {chapter.name}"])
        for chapter in chapters
        if f"own clocks {chapter.name}" in verdicts
    ]
    ledgers = [ChapterLedger(name, entries, done.mutants[name]) for name, entries in done.ledgers.items()]
    refined = [
        RefinementResult(refinement, [obligation.verdict for obligation in proof.obligations])
        for refinement, proof in done.refinements.values()
    ]
    measured = verdicts.get("measure")
    return Appendix(
        vocabularies=verdicts.get("vocabularies"),
        codes=code_results(verdicts["words"]) if "words" in verdicts else None,
        time=time_results() if "timing" in verdicts else None,
        findings=done.findings if "findings" in verdicts else None,
        ledgers=ledgers or None,
        refinements=refined or None,
        updates=done.updates if "update predicates" in verdicts else None,
        clocks=clocks or None,
        answers=done.answers if "fairness" in verdicts else None,
        instants=done.instants,
        measures=None if measured is None else [MeasureResult(JOB_MEASURED, each, measured) for each in MEASURES],
    )


def code_results(verdicts: Sequence[Verdict]) -> CodeResults:
    """Which patterns and families of error codes meet; ``verdicts`` are those of ``words.check``."""
    return CodeResults(
        words.pattern_overlaps(), words.family_overlaps(), words.possible_families(), words.orders(), verdicts
    )


def time_results() -> TimeResults:
    """The bounds of time with their counterexamples, in a second or so."""
    rows = timing.endurance()
    return TimeResults(timing.bound_proofs(), rows, timing.endurance_verdicts(rows), timing.render_verdicts())
