"""All gaps in one list, and the run that makes findings of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from fencepost_model.published.edition import PUBLISHED, Edition
from fencepost_verification.findings import jobs, tasks, words
from fencepost_verification.findings.finding import Finding, Gap
from fencepost_verification.findings.resolutions import SETTLED

CANDIDATES_GIVEN = 35
"""How many candidates close reading had turned up."""


def _in_order() -> tuple[Gap, ...]:
    every = tuple(
        replace(gap, settled_by=SETTLED[gap.title][0], settled=SETTLED[gap.title][1]) if gap.title in SETTLED else gap
        for gap in (*jobs.GAPS, *words.GAPS, *tasks.GAPS)
    )
    listed = sorted((gap for gap in every if gap.candidate is not None), key=lambda gap: gap.candidate or 0)
    known = [gap for gap in every if gap.candidate is None and gap.known]
    return (*listed, *known, *(gap for gap in every if gap.candidate is None and not gap.known))


GAPS: tuple[Gap, ...] = _in_order()
"""The candidates in their order, then what other lists had, then what is new."""


class UnreplayedEvidence(AssertionError):
    """A check answered with evidence that does not show what it claims: a defect of the check."""


def find(
    progress: Callable[[str, int, int], None] = lambda stage, done, total: None,
    *,
    edition: Edition = PUBLISHED,
    gaps: tuple[Gap, ...] = GAPS,
    settle: bool = True,
) -> list[Finding]:
    """Run every check on an edition of the sources, replay what it shows, and ask the resolved model the same.

    ``progress`` is told what is looked at next, how many are done, and of how many. Raises ``UnreplayedEvidence`` when
    a check's evidence does not replay.
    """
    found: list[Finding] = []
    for number, gap in enumerate(gaps, start=1):
        progress(gap.title, number - 1, len(gaps))
        evidence = gap.check(edition)
        if evidence is not None and not evidence.replay():
            raise UnreplayedEvidence(f"the evidence of {gap.title!r} does not replay: {evidence.text}")
        resolution = gap.settled() if settle and gap.settled is not None else None
        found.append(Finding(number, gap, evidence, resolution))
    progress("done", len(gaps), len(gaps))
    return found


def candidates_covered(findings: list[Finding]) -> dict[int, str]:
    """For each candidate number, ``shown`` if any of its findings is, else ``refuted``; those without one are "
    "absent."""
    verdicts: dict[int, str] = {}
    for finding in findings:
        if finding.candidate is not None:
            known = verdicts.get(finding.candidate)
            verdicts[finding.candidate] = finding.verdict if known is None or finding.evidence else known
    return verdicts
