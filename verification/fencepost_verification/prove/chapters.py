"""Proves a chapter of the specification by its name: what another process is asked, and no more than that needs."""

from __future__ import annotations

from fencepost_model.specification import CHAPTERS
from fencepost_verification.prove.prover import Proof, prove


def proof_of(name: str) -> Proof:
    """Every obligation of the named chapter. Raises ``KeyError`` when the specification has no such chapter."""
    return prove(CHAPTERS[name].contract)
