"""Findings are found, not written down: evidence replays, falsified evidence does not, a mended source has no gap."""

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console
from tests.verification.findings.mended import MENDED, mended_for

from fencepost_model.published.edition import PUBLISHED
from fencepost_model.published.tables import Cited, StatedCount
from fencepost_model.specification import CHAPTERS
from fencepost_verification.evidence import Unknown
from fencepost_verification.findings import words
from fencepost_verification.findings.catalogue import (
    CANDIDATES_GIVEN,
    GAPS,
    UnreplayedEvidence,
    candidates_covered,
    find,
)
from fencepost_verification.findings.evidence import (
    BeatEvidence,
    ClockEvidence,
    CodeEvidence,
    ContradictionEvidence,
    CountEvidence,
    EdgeEvidence,
    Evidence,
    IdleWriteEvidence,
    LassoEvidence,
    MissingEvidence,
    OrderEvidence,
    RatioEvidence,
    RetryEvidence,
    RunEvidence,
    SharedEvidence,
    UnansweredEvidence,
    WaitEvidence,
)
from fencepost_verification.findings.finding import REFUTED, SHOWN, Finding, Gap
from fencepost_verification.findings.report import as_json, as_table
from fencepost_verification.findings.resolutions import SETTLED

BY_TITLE = {gap.title: gap for gap in GAPS}


@pytest.fixture(scope="module")
def findings() -> list[Finding]:
    return find()


def evidence_of(findings: list[Finding], title: str) -> Evidence:
    evidence = next(finding.evidence for finding in findings if finding.title == title)
    assert evidence is not None
    return evidence


def test_every_candidate_is_shown_or_refuted(findings: list[Finding]) -> None:
    covered = candidates_covered(findings)
    assert set(covered) == set(range(1, CANDIDATES_GIVEN + 1))
    assert set(covered.values()) <= {SHOWN, REFUTED}


def test_there_are_forty_findings_and_ten_of_them_are_on_no_list(findings: list[Finding]) -> None:
    shown = [finding for finding in findings if finding.verdict == SHOWN]
    assert len(shown) >= 40
    assert sum(finding.new for finding in shown) >= 10
    assert all(not finding.new for finding in findings if finding.candidate is not None)


def test_findings_have_names_and_numbers_of_their_own(findings: list[Finding]) -> None:
    assert [finding.number for finding in findings] == list(range(1, len(GAPS) + 1))
    titles = Counter(gap.title for gap in GAPS)
    assert max(titles.values()) == 1
    assert all(gap.sources and gap.statement and gap.decision and gap.clause for gap in GAPS)
    assert all(
        (source[:3] in ("000", "001", "003") and "§" in source) or " A." in source for g in GAPS for source in g.sources
    )


def test_every_piece_of_evidence_replays(findings: list[Finding]) -> None:
    kinds = Counter(finding.evidence.kind for finding in findings if finding.evidence is not None)
    assert all(finding.evidence.replay() for finding in findings if finding.evidence is not None)
    wanted = {
        *("trace", "trace to limbo", "lasso", "interleaving", "witness code", "unsatisfiable pair"),
        *("data contradiction", "timing counterexample", "unanswered event"),
    }
    assert wanted <= set(kinds)


@pytest.mark.parametrize("title", BY_TITLE)
def test_a_mended_source_has_no_such_gap(title: str) -> None:
    gap = BY_TITLE[title]
    assert gap.check(mended_for(gap)) is None


def test_mendings_are_of_gaps_that_exist() -> None:
    assert set(MENDED) <= set(BY_TITLE)
    assert set(SETTLED) <= set(BY_TITLE)


def test_a_gap_whose_check_finds_nothing_is_refuted_and_listed() -> None:
    gap = BY_TITLE["An owner is no fence"]
    (finding,) = find(edition=mended_for(gap), gaps=(gap,), settle=False)
    assert finding.verdict == REFUTED
    assert not finding.new
    assert as_json([finding])[0]["evidence"] is None
    assert candidates_covered([finding]) == {1: REFUTED}


def test_evidence_that_does_not_replay_is_never_reported() -> None:
    false = ContradictionEvidence({"lease": (Cited("000 §0", 1), Cited("001 §0", 1))})
    gap = Gap("nothing", ("000 §0",), "nothing", lambda edition: false, "none", "none")
    with pytest.raises(UnreplayedEvidence):
        find(gaps=(gap,))


def falsified(evidence: Evidence) -> Evidence:
    """The same kind of evidence, saying a little more than is true."""
    match evidence:
        case RunEvidence():
            return replace(evidence, trace=replace(evidence.trace, steps=evidence.trace.steps[:-1]))
        case LassoEvidence():
            loop = evidence.lasso.loop
            shorter = replace(evidence.lasso, loop=replace(loop, steps=loop.steps[:-1]))
            return replace(evidence, lasso=shorter)
        case CodeEvidence():
            return replace(evidence, code="NOTHING_OF_THE_KIND", patterns=evidence.against[:2])
        case OrderEvidence():
            same = {**evidence.wanted, evidence.first: evidence.wanted[evidence.second]}
            return replace(evidence, wanted=same)
        case RetryEvidence():
            return replace(evidence, unlisted=evidence.listed)
        case ContradictionEvidence(subjects):
            return replace(evidence, subjects={name: cited[:1] for name, cited in subjects.items()})
        case CountEvidence(counts):
            return replace(evidence, counts=tuple(replace(count, stated=len(count.items)) for count in counts))
        case MissingEvidence():
            return replace(evidence, listed=(*evidence.listed, *evidence.used))
        case SharedEvidence():
            return replace(evidence, name="another name")
        case EdgeEvidence():
            return replace(evidence, drawn=frozenset(evidence.stated))
        case UnansweredEvidence():
            return replace(evidence, transitions=dict.fromkeys(evidence.statuses, evidence.targets))
        case BeatEvidence():
            return replace(evidence, lost=1)
        case WaitEvidence():
            return replace(evidence, starts=evidence.starts + 1)
        case IdleWriteEvidence():
            return replace(evidence, allowed=evidence.period)
        case RatioEvidence():
            return replace(evidence, beat=1)
        case ClockEvidence():
            return replace(evidence, skew=1)
        case _:
            raise TypeError(f"say how {type(evidence).__name__} is falsified")


def test_falsified_evidence_does_not_replay(findings: list[Finding]) -> None:
    for finding in findings:
        evidence = finding.evidence
        assert evidence is not None
        if isinstance(evidence, RunEvidence) and not evidence.trace.steps:
            continue
        assert not falsified(evidence).replay(), finding.title


def test_runs_are_shortest(findings: list[Finding]) -> None:
    """No proper beginning of a reported run shows the gap already."""
    for finding in findings:
        if not isinstance(finding.evidence, RunEvidence):
            continue
        run = finding.evidence
        for length in range(len(run.trace.steps)):
            assert not replace(run, trace=replace(run.trace, steps=run.trace.steps[:length])).replay(), finding.title


def test_known_runs_are_found_again(findings: list[Finding]) -> None:
    """Runs that an independent trial model had reported."""
    known = {
        "An owner is no fence": "enqueue ; w1:claim ; tick ; tick ; recover/requeued ; tick ; w1':claim ; w1:succeed",
        "Handing back carries a cancel where nobody may claim": (
            "enqueue ; w1:claim ; request_cancel/noted ; w1:release"
        ),
        "Resuming into the queue with the slot in hand": (
            "pending > queued ; queued > starting ; starting > pausing ; pausing > paused ; paused > queued"
        ),
    }
    for title, run in known.items():
        assert evidence_of(findings, title).text == run
    overlap = evidence_of(findings, "Patterns of different families overlap")
    assert isinstance(overlap, CodeEvidence)
    assert len(overlap.pairs) == 89


def test_every_fact_and_count_that_differs_is_somebodys_finding(findings: list[Finding]) -> None:
    told: set[str] = set()
    counted: set[str] = set()
    for finding in findings:
        match finding.evidence:
            case ContradictionEvidence(subjects):
                told |= set(subjects)
            case CountEvidence(counts):
                counted |= {count.subject for count in counts}
            case _:
                pass
    assert set(words.differing(PUBLISHED)) <= told
    assert set(words.miscounted(PUBLISHED)) == counted


def test_most_facts_agree() -> None:
    """A comparison that finds everything different compares nothing."""
    assert 0 < len(words.differing(PUBLISHED)) < len(PUBLISHED.facts)
    assert 0 < len(words.miscounted(PUBLISHED)) < len(PUBLISHED.counts) / 2


def test_true_is_not_the_number_one() -> None:
    assert ContradictionEvidence({"x": (Cited("000 §0", True), Cited("001 §0", 1))}).replay()
    assert not CountEvidence((StatedCount("x", "000 §0", 1, "000 §1", ("a",)),)).replay()


def test_the_resolved_model_has_none_of_them(findings: list[Finding]) -> None:
    refuted = [finding.title for finding in findings if finding.resolved == "refuted"]
    assert refuted == []
    asked = [finding for finding in findings if finding.resolution is not None]
    assert len(asked) >= 50
    assert sum(finding.resolved == "held" for finding in asked) >= 20
    for finding in asked:
        if isinstance(finding.resolution, Unknown) and "no chapter" not in finding.resolution.reason:
            # A chapter that is there must have what a finding asks of it.
            pytest.fail(f"{finding.title}: {finding.resolution.reason}")


def test_the_printed_machine_fails_what_the_resolved_one_keeps(findings: list[Finding]) -> None:
    """Held on the resolved model and broken on the printed one: the question tells the two apart."""
    both = [f for f in findings if f.resolved == "held" and isinstance(f.evidence, RunEvidence | LassoEvidence)]
    assert len(both) >= 15
    assert "job" in CHAPTERS


def test_json_is_complete(findings: list[Finding]) -> None:
    listed: list[dict[str, Any]] = json.loads(json.dumps(as_json(findings)))
    keys = {"number", "title", "candidate", "sources", "verdict", "evidence", "decision", "clause", "new", "resolved"}
    assert all(keys <= set(item) for item in listed)
    assert all(item["evidence"]["kind"] for item in listed if item["verdict"] == SHOWN)
    assert len(listed) == len(findings)


def test_the_table_shows_every_finding(findings: list[Finding]) -> None:
    console = Console(width=200, record=True, file=None, quiet=True)
    table = as_table(findings)
    assert table.row_count == len(findings)
    with console.capture():
        console.print(table)
    assert as_table(findings, evidence=False).row_count == len(findings)


def test_progress_is_told() -> None:
    told: list[tuple[str, int, int]] = []
    find(lambda stage, done, total: told.append((stage, done, total)), gaps=GAPS[:3], settle=False)
    assert [done for _, done, _ in told] == [0, 1, 2, 3]
    assert {total for _, _, total in told} == {3}
