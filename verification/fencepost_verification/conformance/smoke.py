"""A first look at a new harness, in a second: does it speak the protocol, and do the simplest things work?

It tells a wrong *harness* from a wrong implementation: before a tour of thousands of calls is worth its time, each
message has to be understood once. The first thing that is wrong is told in one sentence, with the run that shows it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from fencepost_model.terms import NULL
from fencepost_model.worlds import const
from fencepost_verification.conformance.capabilities import INJECTED_CLOCK, UnknownCapability, lacking
from fencepost_verification.conformance.connect import Session, Target
from fencepost_verification.conformance.plan import planned
from fencepost_verification.conformance.protocol import HarnessFault
from fencepost_verification.conformance.report import failure
from fencepost_verification.conformance.scope import BARE, Scope
from fencepost_verification.conformance.tour import Judge, Tour
from fencepost_verification.conformance.verdict import Finding, Ledger
from fencepost_verification.evidence import EXIT_HELD, EXIT_REFUTED, EXIT_UNKNOWN

SMOKE: Final = Scope(
    replace(
        BARE.world,
        name="smoke",
        meaning="one job without a deadline, one attempt, two ticks of the clock",
        horizon=2,
        arguments={**BARE.world.arguments, "enqueue.deadline_at": (NULL,), "enqueue.max_attempts": const(1)},
        settings={**BARE.world.settings, "lease_seconds": 1},
    ),
    BARE.capabilities,
)
"""A world so small that every transition and guard of it is met in a few dozen calls."""


@dataclass(frozen=True)
class SmokeReport:
    """What a first look came to: who answered, what it lacks, in how many calls, and what is wrong."""

    name: str
    version: str
    lacks: tuple[str, ...]
    calls: int
    seconds: float
    fault: str = ""
    finding: Finding | None = None

    @property
    def complaint(self) -> str:
        """What is wrong, in one sentence; empty when nothing is."""
        return self.fault or (self.finding.reason if self.finding else "")

    @property
    def exit_code(self) -> int:
        """0 when all is well, 1 when an answer is wrong, 3 when nothing could be asked."""
        if self.finding is not None:
            return EXIT_REFUTED
        return EXIT_UNKNOWN if self.fault or not self.calls else EXIT_HELD

    def as_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        return {
            "name": self.name,
            "version": self.version,
            "lacks": list(self.lacks),
            "calls": self.calls,
            "seconds": round(self.seconds, 3),
            "complaint": self.complaint,
        }

    def __rich__(self) -> RenderableType:
        """The report for a terminal."""
        who = f"{self.name} {self.version}".strip() or "the harness"
        parts: list[RenderableType] = []
        if self.exit_code == EXIT_HELD:
            parts.append(Text(f"{who} answers: {self.calls} calls, all right so far", style="green"))
        elif self.finding is not None:
            parts.append(failure(list(self.finding.clauses), self.finding, "", ""))
        else:
            parts.append(Text(f"{who}: {self.complaint or 'nothing could be asked'}", style="magenta"))
        if self.lacks:
            parts.append(Text(f"not declared: {', '.join(self.lacks)}", style="yellow"))
        return Group(*parts)


def smoke(target: Target) -> SmokeReport:
    """Take a first look. Raises ``TargetError`` when the implementation cannot be started at all."""
    began = time.perf_counter()
    name = version = fault = ""
    lacks: tuple[str, ...] = ()
    calls = 0
    ledger = Ledger()
    try:
        with Session(target, SMOKE.world.contract) as session:
            name, version = session.description.name, session.description.version
            lacked = lacking(SMOKE.capabilities, session.description.capabilities)
            lacks = tuple(capability.name for capability in lacked)
            if INJECTED_CLOCK in lacked:
                fault = f"Nothing can be judged without {INJECTED_CLOCK.name}. {INJECTED_CLOCK.sentence}"
            else:
                judge = Judge(session, planned(SMOKE, lacked), ledger, session.description.capabilities)
                try:
                    Tour(judge, enough=lambda _: True).scout()
                finally:
                    calls = judge.counts.calls
    except (HarnessFault, UnknownCapability) as trouble:
        fault = str(trouble)
    finding = ledger.findings[0] if ledger.findings else None
    return SmokeReport(name, version, lacks, calls, time.perf_counter() - began, fault, finding)
