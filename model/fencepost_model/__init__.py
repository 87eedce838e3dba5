"""The contract as data: machines, their guards, effects and invariants, on the standard library alone."""
