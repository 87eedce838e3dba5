"""What a finding is: a gap in the sources, the check that looks for it, and what became of it.

A **gap** is a claim about the printed sources together with the check that must show it. Checks are functions of an
edition (``fencepost_model.published.edition``): they search, compare or count, and answer with evidence or with
nothing. A **finding** is a gap after its check has run: *shown*, with evidence that has been replayed, or *refuted*.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from fencepost_model.published.edition import Edition
from fencepost_verification.evidence import Held, Refuted, Unknown, Verdict
from fencepost_verification.findings.evidence import Evidence

Check: TypeAlias = Callable[[Edition], Evidence | None]

SHOWN, REFUTED = "shown", "refuted"

CANDIDATES, CONTRACT, TRIAL = "candidates", "contract", "trial model"


@dataclass(frozen=True)
class Gap:
    """A claim about the sources, and how it is checked.

    ``candidate`` is its number among the candidates that close reading turned up; ``known`` names the list on which it
    stood before a program found it (``candidates``, ``contract``, ``trial model``), and is empty for what is new.
    ``settled`` asks the resolved model the same, ``settled_by`` says what is asked; both are empty where the decision
    is a choice of words or numbers which no model holds.
    """

    title: str
    sources: tuple[str, ...]
    statement: str
    check: Check
    decision: str
    clause: str
    candidate: int | None = None
    known: str = ""
    settled_by: str = ""
    settled: Callable[[], Verdict] | None = None


@dataclass(frozen=True)
class Finding:
    """A gap after its check has run. ``evidence`` is None exactly when the check found nothing."""

    number: int
    gap: Gap
    evidence: Evidence | None
    resolution: Verdict | None

    @property
    def title(self) -> str:
        """What the finding is called."""
        return self.gap.title

    @property
    def candidate(self) -> int | None:
        """Its number among the candidates, if it is one."""
        return self.gap.candidate

    @property
    def verdict(self) -> str:
        """``shown`` or ``refuted``."""
        return REFUTED if self.evidence is None else SHOWN

    @property
    def new(self) -> bool:
        """Whether it stood on no list before."""
        return self.evidence is not None and not self.gap.known

    @property
    def resolved(self) -> str:
        """What the resolved model answers: held, refuted, unknown, or nothing where it has nothing to say."""
        match self.resolution:
            case None:
                return ""
            case Held():
                return "held"
            case Refuted():
                return "refuted"
            case Unknown():
                return "unknown"
