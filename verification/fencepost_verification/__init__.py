"""The evidence: proofs, exploration, conformance and generated documents for a contract and its implementations."""
