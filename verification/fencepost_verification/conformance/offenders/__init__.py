"""Wrong implementations that the judge must catch: what the suite is worth.

``judge_offenders`` runs the tour against each until one of the clauses named for its fault is refuted. An offender that
is not caught is a hole in the suite.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from fencepost_verification.conformance.connect import Adapter
from fencepost_verification.conformance.offenders.catalogue import CATALOGUE, Offender
from fencepost_verification.conformance.offenders.mutations import NoFault
from fencepost_verification.conformance.run import run_conformance
from fencepost_verification.conformance.scope import SCOPES, Scope
from fencepost_verification.conformance.verdict import Finding
from fencepost_verification.evidence import EXIT_HELD, EXIT_REFUTED, EXIT_UNKNOWN

__all__ = ["CATALOGUE", "Catch", "Offender", "OffenderReport", "judge_offenders", "judged"]


@dataclass(frozen=True)
class Catch:
    """What became of one offender: the clauses named for its fault that were refuted, and how many calls it took."""

    offender: Offender
    clauses: tuple[str, ...]
    calls: int
    seconds: float
    reason: str

    @property
    def caught(self) -> bool:
        """Whether a clause named for the fault was refuted."""
        return bool(self.clauses)


@dataclass(frozen=True)
class OffenderReport:
    """All offenders, caught and missed."""

    catches: tuple[Catch, ...]
    seconds: float

    @property
    def offenders(self) -> list[str]:
        """Their names."""
        return [catch.offender.name for catch in self.catches]

    @property
    def caught(self) -> list[str]:
        """The names of those caught by a clause named for their fault."""
        return [catch.offender.name for catch in self.catches if catch.caught]

    @property
    def missed(self) -> list[str]:
        """The names of those that got away."""
        return [catch.offender.name for catch in self.catches if not catch.caught]

    @property
    def calls(self) -> int:
        """Calls of operations, over all of them."""
        return sum(catch.calls for catch in self.catches)

    @property
    def exit_code(self) -> int:
        """0 when all are caught, 1 when one was missed, 3 when there was none."""
        if not self.catches:
            return EXIT_UNKNOWN
        return EXIT_REFUTED if self.missed else EXIT_HELD

    def as_json(self) -> dict[str, Any]:
        """The report as JSON values: lists of names, and the figures."""
        return {
            "offenders": self.offenders,
            "caught": self.caught,
            "missed": self.missed,
            "calls": self.calls,
            "seconds": round(self.seconds, 3),
        }

    def __rich__(self) -> RenderableType:
        """One line for each: its name, the clause that caught it, in how many calls."""
        table = Table("offender", "caught by", "calls", box=None, pad_edge=False, padding=(0, 2, 0, 0))
        table.columns[2].justify = "right"
        for catch in self.catches:
            table.add_row(
                catch.offender.name,
                ", ".join(catch.clauses) if catch.caught else f"MISSED ({catch.reason})",
                f"{catch.calls:,}",
                style="" if catch.caught else "bold red",
            )
        table.caption = f"{len(self.caught)} of {len(self.catches)} caught, {self.calls:,} calls, {self.seconds:.1f} s"
        table.caption_justify = "left"
        return table


def judge_offenders(
    offenders: Sequence[Offender] = tuple(CATALOGUE),
    *,
    scopes: Sequence[Scope] = SCOPES,
    progress: Callable[[str, int, int], None] | None = None,
) -> OffenderReport:
    """Run the tour against each offender until a clause named for its fault is refuted.

    ``progress`` is told the name of the offender, how many are done, and how many there are.
    """
    began = time.perf_counter()
    catches: list[Catch] = []
    for done, offender in enumerate(offenders):
        if progress is not None:
            progress(offender.name, done, len(offenders))
        catches.append(judged(offender, scopes))
    return OffenderReport(tuple(catches), time.perf_counter() - began)


def judged(offender: Offender, scopes: Sequence[Scope] = SCOPES) -> Catch:
    """Run the tour against one offender."""
    named = frozenset(offender.caught_by)

    def enough(finding: Finding) -> bool:
        return not named.isdisjoint(finding.clauses)

    try:
        offender.implementation()
    except NoFault as none:
        return Catch(offender, (), 0, 0.0, str(none))
    report = run_conformance(Adapter(offender.name, offender.implementation), scopes=scopes, enough=enough)
    caught = tuple(name for name in report.refuted() if name in named)
    reason = report.fault or (f"refuted instead: {', '.join(report.refuted())}" if report.refuted() else "all held")
    return Catch(offender, caught, report.calls, report.seconds, reason)
