"""Proofs without bounds: each statement of a contract, kept by each transition, decided by an SMT solver."""
