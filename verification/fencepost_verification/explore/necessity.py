"""Why each guard is there: every conjunct is dropped in turn, and something breaks, or others imply it.

For each named conjunct of a contract (the guards of its operations and the conditions of their cases) a mutant without
it is explored in small worlds until a statement breaks. Of the shortest such runs one is kept: the reason why the
conjunct is there. A conjunct without which nothing can break is *redundant* if the solver proves that others imply it
(the implying ones are named: it stays as defence in depth), and *unexplained* if neither is found, which is a failure:
either the conjunct is noise, or an obligation is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from fencepost_model.contract import Contract
from fencepost_model.semantics import conditions
from fencepost_model.shapes import Case, Guard, Operation
from fencepost_model.worlds import World
from fencepost_verification.evidence import Held, Trace, Unknown, Verdict
from fencepost_verification.explore.local import CASE_FAULTS, Violation, explore_aggregate


@dataclass(frozen=True)
class Conjunct:
    """A named conjunct of an operation, or of one of its cases."""

    operation: str
    case: str | None
    guard: str

    def __str__(self) -> str:
        place = self.operation if self.case is None else f"{self.operation}/{self.case}"
        return f"{place}.{self.guard}"


@dataclass(frozen=True)
class Necessary:
    """Without the conjunct a statement breaks; ``trace`` is a shortest run that shows it, ``world`` where."""

    conjunct: Conjunct
    statement: str
    trace: Trace
    world: str


@dataclass(frozen=True)
class Redundant:
    """The guards, conditions and invariants named imply the conjunct, by proof."""

    conjunct: Conjunct
    implied_by: tuple[str, ...]


@dataclass(frozen=True)
class Unexplained:
    """Nothing breaks without the conjunct, and nothing was found to imply it."""

    conjunct: Conjunct
    reason: str


Finding = Necessary | Redundant | Unexplained

Implication = Callable[[Conjunct], tuple[str, ...] | None]
"""Which guards and invariants imply a conjunct, or None when they do not."""


def conjuncts_of(contract: Contract) -> Iterator[Conjunct]:
    """Every named conjunct, in the order written."""
    for operation in contract.operations:
        for case, guard in conditions(operation):
            yield Conjunct(operation.name, case.name if case else None, guard.name)


def without(contract: Contract, conjunct: Conjunct) -> Contract:
    """The mutant that lacks one conjunct. Raises ``KeyError`` when the contract has no such conjunct."""
    if conjunct not in conjuncts_of(contract):
        raise KeyError(str(conjunct))

    def kept(guards: Sequence[Guard]) -> tuple[Guard, ...]:
        return tuple(guard for guard in guards if guard.name != conjunct.guard)

    def changed(operation: Operation) -> Operation:
        if operation.name != conjunct.operation:
            return operation
        if conjunct.case is None:
            return replace(operation, guards=kept(operation.guards))
        cases: list[Case] = [
            replace(case, when=kept(case.when)) if case.name == conjunct.case else case for case in operation.cases
        ]
        return replace(operation, cases=tuple(cases))

    operations = tuple(changed(operation) for operation in contract.operations)
    return replace(contract, operations=operations, checked=False)


def examine(contract: Contract, worlds: Sequence[World], conjunct: Conjunct, implied: Implication) -> Finding:
    """Why one conjunct is there."""
    names = implied(conjunct)
    if names is not None:
        return Redundant(conjunct, names)
    mutant = without(contract, conjunct)
    found: list[tuple[tuple[int, int], Necessary]] = []
    for world in worlds:
        if world.contract is not contract or conjunct.operation in world.without:
            continue
        # A longer run than one that is known already would not be kept.
        promises = [depth for (at_fault, depth), _ in found if not at_fault]
        deepest = min(promises) - 1 if promises else None
        graph = explore_aggregate(world, mutant, stop_at_violation=True, deepest=deepest)
        if graph.violations:
            first = min(graph.violations, key=_rank)
            found.append((_rank(first), Necessary(conjunct, first.statement, graph.trace_of(first), world.name)))
    if found:
        return min(found, key=lambda ranked: ranked[0])[1]
    explored = ", ".join(world.name for world in worlds)
    return Unexplained(conjunct, f"nothing breaks in {explored}, and no proof that the others imply it")


def _rank(violation: Violation) -> tuple[int, int]:
    """The shorter the better; but a broken promise tells more than two cases that are open at once."""
    return int(violation.statement in CASE_FAULTS), violation.depth


def verdict_of(finding: Finding) -> Verdict:
    """Held when the conjunct is necessary or proved redundant, else unknown."""
    match finding:
        case Necessary(conjunct, statement, trace):
            return Held(str(conjunct), f"without it {statement} breaks: {trace}")
        case Redundant(conjunct, implied_by):
            return Held(str(conjunct), f"implied by {', '.join(implied_by)}")
        case Unexplained(conjunct, reason):
            return Unknown(str(conjunct), reason)
