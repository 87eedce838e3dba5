"""Findings for scripts and for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from fencepost_verification.findings.finding import Finding


def as_json(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """One object for each finding; ``evidence`` is null exactly where the verdict is refuted."""
    return [
        {
            "number": finding.number,
            "title": finding.title,
            "candidate": finding.candidate,
            "new": finding.new,
            "known": finding.gap.known or None,
            "sources": list(finding.gap.sources),
            "statement": finding.gap.statement,
            "verdict": finding.verdict,
            "evidence": None if finding.evidence is None else finding.evidence.as_json(),
            "decision": finding.gap.decision,
            "clause": finding.gap.clause,
            "resolved": {"by": finding.gap.settled_by, "verdict": finding.resolved} if finding.resolution else None,
        }
        for finding in findings
    ]


def as_table(findings: Sequence[Finding], *, evidence: bool = True) -> Table:
    """A table for people: number, candidate (new ones are marked), title, sources, verdict, evidence, decision."""
    shown = sum(1 for finding in findings if finding.evidence is not None)
    new = sum(1 for finding in findings if finding.new)
    table = Table(
        title=f"{len(findings)} findings, {shown} shown, {new} on no list before",
        title_justify="left",
        header_style="bold",
        pad_edge=False,
    )
    table.add_column("#", justify="right")
    table.add_column("candidate", justify="right")
    for head in ("finding", "sources", "verdict", "kind"):
        table.add_column(head, overflow="fold")
    if evidence:
        table.add_column("evidence", overflow="fold")
    table.add_column("decision", overflow="fold")
    table.add_column("resolved", overflow="fold")
    for finding in findings:
        cells = [
            str(finding.number),
            "new" if finding.new else str(finding.candidate or ""),
            finding.title,
            ", ".join(finding.gap.sources),
            finding.verdict,
            finding.evidence.kind if finding.evidence else "",
        ]
        if evidence:
            cells.append(finding.evidence.text if finding.evidence else "")
        cells += [finding.gap.decision, finding.resolved]
        table.add_row(*(Text(cell) for cell in cells))
    return table
