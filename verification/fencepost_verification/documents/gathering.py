"""From the results of the checks to the evidence that the pages need."""

from __future__ import annotations

from collections.abc import Iterable

from fencepost_model.contract import Contract
from fencepost_verification.documents.evidence_input import Obligation, WorldFigures, summed_up
from fencepost_verification.evidence import Held, Verdict
from fencepost_verification.explore.necessity import Conjunct, Finding
from fencepost_verification.explore.world import Exploration
from fencepost_verification.prove.prover import Proof


def obligations_of(proof: Proof) -> tuple[Obligation, ...]:
    """The obligations of a proof, without the seconds that each took."""
    return tuple(
        Obligation(each.name, each.kind.value, each.statement, each.transition, each.verdict)
        for each in proof.obligations
    )


def figures_of(exploration: Exploration) -> WorldFigures:
    """What an exploration found, with the shortest run to each witness, without the seconds that it took."""
    contract: Contract = exploration.world.contract
    local = exploration.local
    verdict: Verdict = summed_up(exploration.world.name, exploration.verdicts())
    if isinstance(verdict, Held):
        verdict = Held(exploration.world.name, f"every statement, in {exploration.states:,} states")
    return WorldFigures(
        exploration.world,
        exploration.states,
        exploration.edges,
        dict(exploration.fired),
        {
            witness.name: local.trace_to(local.witnessed[witness.name]) if witness.name in local.witnessed else None
            for witness in contract.witnesses
        },
        verdict,
    )


def by_conjunct(findings: Iterable[Finding]) -> dict[Conjunct, Finding]:
    """Findings by the conjunct that each is about."""
    return {finding.conjunct: finding for finding in findings}
