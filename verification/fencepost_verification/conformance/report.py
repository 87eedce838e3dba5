"""The report of a run: for a terminal, and as JSON.

JSON has exactly the keys ``edges``, ``refusals``, ``calls``, ``steps``, ``seconds``, ``clauses`` and ``verdict``. Each
clause is an object with its name, kind, citation, verdict, how often it was exercised, and, where it is refuted, the
shortest failing run: every step with what had to come and what came, the fields that are wrong, and the guards of the
call, true or false, as the model and as the implementation saw them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from fencepost_verification.conformance.tour import Counts, Coverage
from fencepost_verification.conformance.verdict import PROTOCOL, ClauseVerdict, Finding, Verdict, overall
from fencepost_verification.evidence import EXIT_HELD, EXIT_REFUTED, EXIT_UNKNOWN

_COLOURS: Mapping[str, str] = {"held": "green", "refuted": "bold red", "skipped": "yellow", "unknown": "magenta"}


TOLD_IN_FULL: Final = 5
"""How many failing runs a terminal shows step by step; JSON has them all."""


BEYOND = "judged with one row in the store: the order of sweeps, limits, and effects on other rows are not judged"
"""What no run of this version looks at, said in each report so that nobody reads more into a verdict."""


@dataclass(frozen=True)
class ScopeReport:
    """What the tour of one world came to."""

    name: str
    meaning: str
    edges: Coverage
    refusals: Coverage
    counts: Counts


@dataclass(frozen=True)
class ConformanceReport:
    """What a run has to say of an implementation. ``skips``: the capabilities that it lacks, with their sentences."""

    target: str
    name: str
    version: str
    scopes: tuple[ScopeReport, ...]
    clauses: tuple[ClauseVerdict, ...]
    skips: Mapping[str, str]
    fault: str
    seconds: float
    latitude: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def edges(self) -> Coverage:
        """Edges covered in all scopes together."""
        return Coverage(sum(s.edges.covered for s in self.scopes), sum(s.edges.total for s in self.scopes))

    @property
    def refusals(self) -> Coverage:
        """Refusals covered in all scopes together."""
        return Coverage(sum(s.refusals.covered for s in self.scopes), sum(s.refusals.total for s in self.scopes))

    @property
    def calls(self) -> int:
        """Calls of operations, allowed and refused."""
        return sum(scope.counts.calls for scope in self.scopes)

    @property
    def steps(self) -> int:
        """Steps taken: allowed calls, ticks of the clock, and fresh starts."""
        return sum(scope.counts.steps for scope in self.scopes)

    @property
    def inspections(self) -> int:
        """How often the row was looked at."""
        return sum(scope.counts.inspections for scope in self.scopes)

    @property
    def complete(self) -> bool:
        """Whether everything was covered that there was, and there was something."""
        parts = (self.edges, self.refusals)
        return not self.fault and all(part.total > 0 and part.covered == part.total for part in parts)

    @property
    def verdict(self) -> Verdict:
        """Held, refuted or unknown; a run that executed nothing, or not all, is unknown."""
        return overall(self.clauses, complete=self.complete)

    @property
    def exit_code(self) -> int:
        """0 held, 1 refuted, 3 unknown."""
        return {"held": EXIT_HELD, "refuted": EXIT_REFUTED}.get(self.verdict, EXIT_UNKNOWN)

    def refuted(self) -> tuple[str, ...]:
        """The names of the refuted clauses."""
        return tuple(clause.name for clause in self.clauses if clause.verdict == "refuted")

    # -- as JSON -------------------------------------------------------------------------------------------------------

    def as_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        clauses = [_clause(clause) for clause in self.clauses]
        if self.fault:
            clauses.insert(0, {"name": PROTOCOL, "kind": PROTOCOL, "verdict": "unknown", "reason": self.fault})
        return {
            "edges": {"covered": self.edges.covered, "total": self.edges.total},
            "refusals": {"covered": self.refusals.covered, "total": self.refusals.total},
            "calls": self.calls,
            "steps": self.steps,
            "seconds": round(self.seconds, 3),
            "clauses": clauses,
            "verdict": self.verdict,
        }

    # -- for a terminal ------------------------------------------------------------------------------------------------

    def __rich__(self) -> RenderableType:
        """The report for a terminal: verdict, coverage, what is refuted and why, what was not judged."""
        parts: list[RenderableType] = [self._head()]
        if self.fault:
            parts.append(Text(f"The run ended early. {self.fault}", style="magenta"))
        parts.append(self._coverage())
        parts.extend(self._failures())
        if not self.fault:
            # After an early end a list of all that was not exercised would only hide the sentence that tells why.
            parts.append(self._kinds())
            parts.extend(self._not_judged())
        return Group(*parts)

    def print(self, console: Console | None = None) -> None:
        """Print the report."""
        (console or Console()).print(self)

    def _head(self) -> Text:
        head = Text()
        head.append(self.verdict.upper(), style=_COLOURS[self.verdict])
        who = f"{self.name} {self.version}".strip() or self.target
        head.append(f"  {who}" + (f" ({self.target})" if self.name and self.target != self.name else ""))
        return head

    def _coverage(self) -> Table:
        table = Table("scope", "edges", "refusals", "calls", "steps", "rows read", box=None, pad_edge=False)
        for column in table.columns[1:]:
            column.justify = "right"
        for scope in self.scopes:
            table.add_row(
                scope.name,
                _of(scope.edges),
                _of(scope.refusals),
                f"{scope.counts.calls:,}",
                f"{scope.counts.steps:,}",
                f"{scope.counts.inspections:,}",
            )
        if not self.scopes:
            table.add_row("nothing was toured", "0/0", "0/0", "0", "0", "0")
        table.caption = f"{self.seconds:.1f} s"
        table.caption_justify = "left"
        return table

    def _kinds(self) -> Table:
        table = Table("clauses", "held", "refuted", "skipped", "unknown", box=None, pad_edge=False)
        for column in table.columns[1:]:
            column.justify = "right"
        for kind in dict.fromkeys(clause.kind for clause in self.clauses):
            count = Counter(clause.verdict for clause in self.clauses if clause.kind == kind)
            table.add_row(kind, *(str(count[verdict] or "") for verdict in ("held", "refuted", "skipped", "unknown")))
        return table

    def _failures(self) -> Iterator[RenderableType]:
        """The first refuted clauses with their runs, the others by name; clauses that one run refutes together."""
        together: dict[int, list[ClauseVerdict]] = {}
        for clause in self.clauses:
            if clause.finding is not None:
                together.setdefault(id(clause.finding.trace), []).append(clause)
        groups = list(together.values())
        for clauses in groups[:TOLD_IN_FULL]:
            first = clauses[0]
            if first.finding is not None:
                yield failure([c.name for c in clauses], first.finding, first.citation, first.meaning)
        for clauses in groups[TOLD_IN_FULL:]:
            told = Text("\nrefuted ", style=_COLOURS["refuted"])
            told.append(", ".join(c.name for c in clauses), style="bold")
            told.append(f"  {clauses[0].reason}", style="")
            yield told

    def _not_judged(self) -> list[RenderableType]:
        parts: list[RenderableType] = []
        for capability, sentence in self.skips.items():
            parts.append(Text(f"left out: {capability}. {sentence}", style="yellow"))
        for verdict in ("skipped", "unknown"):
            by_reason: dict[str, list[str]] = {}
            for clause in self.clauses:
                if clause.verdict == verdict:
                    by_reason.setdefault(clause.reason, []).append(clause.name)
            for reason, names in by_reason.items():
                parts.append(Text(f"{verdict}, {reason}: {_some(names)}", style=_COLOURS[verdict]))
        implied = [c.name for c in self.clauses if c.verdict == "held" and c.kind == "guard" and not c.alone]
        if implied:
            parts.append(
                Text(
                    f"held, but never the only guard in the way (others imply them): {_some(implied, 20)}", style="dim"
                )
            )
        parts.append(Text(BEYOND, style="dim"))
        for choice, value in self.latitude.items():
            parts.append(Text(f"latitude: {choice}: {value}", style="dim"))
        return parts


def _some(names: list[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _of(coverage: Coverage) -> str:
    share = f" ({100 * coverage.covered // coverage.total} %)" if coverage.total else ""
    return f"{coverage.covered:,}/{coverage.total:,}{share}"


def failure(names: list[str], finding: Finding, citation: str, meaning: str) -> RenderableType:
    """What is refuted and why, for a terminal: the run, the fields that are wrong, the guards of the call."""
    head = Text("\n")
    head.append("refuted ", style=_COLOURS["refuted"])
    head.append(", ".join(names), style="bold")
    if citation:
        head.append(f"  [{citation}] {meaning}", style="dim")
    steps = Table("at", "who", "does", "must be", "was", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for number, step in enumerate(finding.trace, start=1):
        wrong = number == len(finding.trace)
        style = "red" if wrong else ("dim" if not step.actor else "")
        steps.add_row(f"{step.at:g} s", step.actor, step.done, step.expected, step.answered, style=style)
    parts: list[RenderableType] = [head, Text(f"  {finding.reason}."), steps]
    if finding.changes:
        fields = Table("field", "must be", "is", box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for change in finding.changes:
            fields.add_row(change.field, _value(change.expected), _value(change.found), style="red")
        parts.append(fields)
    if finding.conjuncts:
        guards = Table("guard", "model", "implementation", box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for conjunct in finding.conjuncts:
            differs = conjunct.implementation is not None and conjunct.implementation is not conjunct.model
            guards.add_row(
                conjunct.guard,
                _truth(conjunct.model),
                _truth(conjunct.implementation),
                style="red" if differs else "",
            )
        parts.append(guards)
    return Group(*parts)


def _value(value: object) -> str:
    return "null" if value is None else str(value)


def _truth(value: bool | None) -> str:
    return {True: "true", False: "false", None: "not told"}[value]


def _clause(clause: ClauseVerdict) -> dict[str, Any]:
    told: dict[str, Any] = {
        "name": clause.name,
        "kind": clause.kind,
        "citation": clause.citation,
        "verdict": clause.verdict,
        "exercised": clause.exercised,
    }
    if clause.kind == "guard":
        told["alone"] = clause.alone
    if clause.reason:
        told["reason"] = clause.reason
    if clause.finding is not None:
        told |= _finding(clause.finding)
    return told


def _finding(finding: Finding) -> dict[str, Any]:
    last = finding.trace[-1] if finding.trace else None
    return {
        "scope": finding.scope,
        "trace": [
            {
                "at": step.at,
                "actor": step.actor,
                "does": step.done,
                "expected": step.expected,
                "got": step.answered,
                "message": dict(step.message),
                "answer": step.answer,
            }
            for step in finding.trace
        ],
        "expected": last.expected if last else "",
        "got": last.answered if last else "",
        "changed": {c.field: {"expected": c.expected, "got": c.found} for c in finding.changes},
        "guards": {c.guard: {"model": c.model, "implementation": c.implementation} for c in finding.conjuncts},
    }
