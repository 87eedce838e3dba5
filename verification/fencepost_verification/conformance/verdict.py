"""What a run has to say of each clause of a contract, and which clauses a wrong answer refutes.

Clauses are the guards of every operation (``renew.generation``), its transitions (``fail/retried``), the invariants and
step properties, and three things that every store owes: that a reset empties it (``reset``), that loading keeps a row
as it was (``load``), that time alone changes nothing (``clock``).

Blame. A call that had to be refused and was not refutes the guards that were false, for the implementation let the call
through although each of them forbade it. When several were false at once, those that were seen to refuse on their own
elsewhere are cleared, unless that would leave nobody. A call that had to be accepted and was refused refutes the guards
that the implementation names, else the transition; an accepted call that left the wrong row, the transition.

Verdicts. *Held*: exercised, and right each time. *Refuted*: with the shortest failing run. *Skipped*: a capability is
lacking, named with its sentence. *Unknown*: not exercised; a run that exercised nothing is unknown as a whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from fencepost_model.contract import Contract, transition_name
from fencepost_model.terms import Value

Verdict: TypeAlias = Literal["held", "refuted", "skipped", "unknown"]
Kind: TypeAlias = Literal["guard", "transition", "invariant", "step property", "store", "protocol"]

CLOCK: Final = "clock"
LOAD: Final = "load"
RESET: Final = "reset"
PROTOCOL: Final = "protocol"


@dataclass(frozen=True)
class Exchange:
    """One step of a run as it went: what was done at which second of the run, what had to come, what came.

    ``message`` and ``answer`` are what went over the wire.
    """

    at: float | int
    actor: str
    done: str
    expected: str
    answered: str
    message: Mapping[str, object]
    answer: str


@dataclass(frozen=True)
class Change:
    """One field that is not as it has to be."""

    field: str
    expected: Value
    found: object


@dataclass(frozen=True)
class Conjunct:
    """A guard of the call that went wrong: its truth in the model, and in the implementation where it tells."""

    guard: str
    model: bool
    implementation: bool | None


@dataclass(frozen=True)
class Finding:
    """One wrong answer: the clauses that it may refute, the reason, and the run that shows it."""

    clauses: tuple[str, ...]
    reason: str
    trace: tuple[Exchange, ...]
    changes: tuple[Change, ...] = ()
    conjuncts: tuple[Conjunct, ...] = ()
    scope: str = ""
    certain: bool = False
    """Whether every clause named is refuted, and not merely one of them"""


@dataclass(frozen=True)
class ClauseVerdict:
    """The verdict on one clause. ``alone`` counts the refusals in which a guard was the only one in the way."""

    name: str
    kind: Kind
    citation: str
    meaning: str
    verdict: Verdict
    exercised: int
    alone: int = 0
    reason: str = ""
    finding: Finding | None = None


@dataclass
class Ledger:
    """Counts what was exercised and keeps what went wrong, over all scopes of a run."""

    exercised: Counter[str] = field(default_factory=Counter[str])
    alone: Counter[str] = field(default_factory=Counter[str])
    findings: list[Finding] = field(default_factory=list[Finding])
    skipped: dict[str, str] = field(default_factory=dict[str, str])
    """Clauses that cannot be judged, with the reason."""

    def right(self, *clauses: str) -> None:
        """These clauses were exercised, and the answer was right."""
        self.exercised.update(clauses)

    def refused(self, operation: str, guards: frozenset[str]) -> None:
        """A call was refused as it had to be, by these guards."""
        names = [f"{operation}.{guard}" for guard in guards]
        self.exercised.update(names)
        if len(names) == 1:
            self.alone.update(names)

    def blamed(self, finding: Finding) -> tuple[str, ...]:
        """The clauses that a finding refutes: all that it may refute, less those that are cleared elsewhere."""
        if finding.certain:
            return finding.clauses
        suspects = {name for other in self.findings if len(other.clauses) == 1 for name in other.clauses}
        left = tuple(name for name in finding.clauses if name in suspects or not self.alone[name])
        return left or finding.clauses

    def refuted(self) -> dict[str, Finding]:
        """For each refuted clause the finding that shows it best: a wrong act, few suspects, a short run."""
        best: dict[str, Finding] = {}
        for finding in self.findings:
            for name in self.blamed(finding):
                known = best.get(name)
                if known is None or _plainness(finding) < _plainness(known):
                    best[name] = finding
        return best


def _plainness(finding: Finding) -> tuple[bool, int, int]:
    # What was done wrong says more than what was explained wrongly, one suspect more than several.
    return finding.certain, len(finding.clauses), len(finding.trace)


@dataclass(frozen=True)
class Clause:
    """A clause of a contract: its name in reports, what kind it is, where it stands in the contract, what it says."""

    name: str
    kind: Kind
    citation: str
    meaning: str


def clauses_of(contract: Contract) -> Iterator[Clause]:
    """Every clause that a run can judge, in the order written."""
    yield Clause(RESET, "store", "", "A reset leaves an empty store.")
    if contract.root.legacy_rows:
        yield Clause(LOAD, "store", "", "A row of an older program stands as it was written.")
    yield Clause(CLOCK, "store", "", "Time alone changes nothing.")
    for operation in contract.operations:
        for guard in operation.guards:
            yield Clause(f"{operation.name}.{guard.name}", "guard", guard.clause, guard.why)
        for case in operation.cases:
            yield Clause(transition_name(operation, case), "transition", operation.clause, case.meaning)
    for invariant in contract.invariants:
        yield Clause(invariant.name, "invariant", invariant.clause, invariant.meaning)
    for statement in contract.step_properties:
        yield Clause(statement.name, "step property", statement.clause, statement.meaning)


def judged(contract: Contract, ledger: Ledger, unreached: Mapping[str, str]) -> list[ClauseVerdict]:
    """The verdict on every clause; ``unreached`` gives reasons for clauses that this run could not come to."""
    refuted = ledger.refuted()
    verdicts: list[ClauseVerdict] = []
    for clause in clauses_of(contract):
        times, alone = ledger.exercised[clause.name], ledger.alone[clause.name]
        finding = refuted.pop(clause.name, None)
        verdict: Verdict
        if finding is not None:
            verdict, reason = "refuted", finding.reason
        elif clause.name in ledger.skipped:
            verdict, reason = "skipped", ledger.skipped[clause.name]
        elif times:
            verdict, reason = "held", ""
            if clause.kind == "guard" and not alone:
                reason = "never the only guard in the way: whatever it forbids, others forbid too"
        elif clause.name in unreached:
            verdict, reason = "skipped", unreached[clause.name]
        else:
            verdict, reason = "unknown", "not exercised"
        verdicts.append(
            ClauseVerdict(
                clause.name, clause.kind, clause.citation, clause.meaning, verdict, times, alone, reason, finding
            )
        )
    if refuted:
        raise LookupError(f"a finding blames {', '.join(sorted(refuted))}, which is no clause of {contract.name}")
    return verdicts


def overall(verdicts: Sequence[ClauseVerdict], *, complete: bool) -> Verdict:
    """The verdict on the whole: refuted if a clause is; held if all are held or skipped and everything was covered."""
    kinds = {clause.verdict for clause in verdicts}
    if "refuted" in kinds:
        return "refuted"
    if not complete or "unknown" in kinds or "held" not in kinds:
        return "unknown"
    return "held"
