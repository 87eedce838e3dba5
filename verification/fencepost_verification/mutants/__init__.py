"""Contracts that are broken by program, and what notices: what the statements of a contract are worth."""
