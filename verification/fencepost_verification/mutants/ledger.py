"""The detection ledger: for each statement of a contract how it is proved, what it alone notices, and what checks it.

A statement counts as *covered* only if some mutant breaks it: a check that nothing can fail shows nothing. A statement
that no mutant breaks alone is told apart: either it follows from others, by proof, and then none can; or the mutants
tried so far are caught by others as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fencepost_model.contract import Contract
from fencepost_verification.evidence import Held, Refuted, Unknown, Verdict, joined
from fencepost_verification.mutants.judging import Killed, MutantReport
from fencepost_verification.prove.consequence import Consequences
from fencepost_verification.prove.prover import Proof


@dataclass(frozen=True)
class Entry:
    """One line of the ledger.

    ``proof`` says how the statement is established: unbounded by induction, or in which worlds. ``kills`` are the
    mutants that break it, ``alone`` those that break no other statement; a witness or a transition may be lost with it,
    but no implementation is judged by those. ``follows_from`` names the statements that imply it, where some do;
    ``checks`` the checks that look at it.
    """

    chapter: str
    statement: str
    kind: str
    clause: str
    proof: Verdict
    kills: tuple[str, ...]
    alone: tuple[str, ...]
    follows_from: tuple[str, ...] | None
    checks: tuple[str, ...]

    @property
    def covered(self) -> bool:
        """Whether it is shown to hold, and shown to be able to fail."""
        return isinstance(self.proof, Held) and bool(self.kills)

    @property
    def remark(self) -> str:
        """Why no mutant breaks it alone, or at all; empty where one does."""
        if self.alone:
            return ""
        if self.follows_from is not None:
            whence = ", ".join(self.follows_from) or "the words of the terms alone"
            return f"it follows from {whence}, by proof: whatever breaks it breaks one of those"
        if self.kills:
            return "each of the mutants that break it breaks another statement too"
        return "no mutant breaks it"

    def verdict(self) -> Verdict:
        """Held when it is covered, or follows from statements by proof; else as its proof says, or unknown."""
        if isinstance(self.proof, Refuted):
            return self.proof
        if self.covered:
            return Held(self.statement, f"{len(self.kills)} mutants break it")
        if isinstance(self.proof, Held) and self.follows_from is not None:
            return Held(self.statement, self.remark)
        return Unknown(self.statement, self.remark)


def ledger(
    contract: Contract,
    proof: Proof,
    report: MutantReport,
    worlds: Sequence[str],
    judged: Sequence[str] = (),
    aim: Callable[[str], Killed | None] = lambda statement: None,
) -> tuple[Entry, ...]:
    """The ledger of one chapter, in the order of the contract.

    ``worlds`` are those explored, ``judged`` the implementations on which a conformance run looks at the statements.
    ``aim`` looks for a mutant that breaks a statement which none of the report does, and which follows from no other.
    """
    statements = list(_statements(contract))
    names = {name for name, _, _ in statements}
    kills: dict[str, list[str]] = {}
    alone: dict[str, list[str]] = {}
    for killed in report.killed:
        broken = [statement for statement in killed.broken if statement in names]
        for statement in broken:
            kills.setdefault(statement, []).append(killed.name)
        if len(broken) == 1:
            alone.setdefault(broken[0], []).append(killed.name)
    consequences = Consequences(contract)
    verdicts: dict[str, list[Verdict]] = {}
    for obligation in proof.obligations:
        if obligation.statement is not None:
            verdicts.setdefault(obligation.statement, []).append(obligation.verdict)
    explored = tuple(f"explore {world}" for world in worlds)
    conform = tuple(f"conform {name}" for name in judged)
    entries: list[Entry] = []
    for name, kind, clause in statements:
        follows = None if kind == "progress" or alone.get(name) else consequences.of(name)
        if name not in kills and follows is None:
            aimed = aim(name)
            kills[name] = [aimed.name] if aimed is not None else []
        entries.append(
            Entry(
                contract.name,
                name,
                kind,
                clause,
                summed_up(name, verdicts.get(name, ())),
                tuple(kills.get(name, ())),
                tuple(alone.get(name, ())),
                follows,
                ("prove",) if kind == "progress" else ("prove", *explored, *conform),
            )
        )
    return tuple(entries)


def _statements(contract: Contract) -> Iterator[tuple[str, str, str]]:
    for invariant in contract.invariants:
        yield invariant.name, "invariant", invariant.clause
    for step_property in contract.step_properties:
        yield step_property.name, "step property", step_property.clause
    for progress in contract.progress:
        yield progress.name, "progress", progress.clause


def summed_up(statement: str, verdicts: Iterable[Verdict]) -> Verdict:
    """The obligations of one statement as one verdict, a refutation before what is open; without any, unknown."""
    return joined(
        statement,
        verdicts,
        held=lambda obligations: f"unbounded, {obligations} obligations",
        nothing="no obligation is about it",
    )


def by_guard(report: MutantReport) -> Mapping[str, tuple[str, ...]]:
    """For each guard or effect that a mutant gets wrong, the statements that notice it: the ledger read from below."""
    return {killed.name: tuple(sorted(killed.broken, key=lambda name: killed.broken[name])) for killed in report.killed}
