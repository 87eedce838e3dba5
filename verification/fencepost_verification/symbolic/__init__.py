"""Symbolic execution of the pure decision functions: every path of the Python that decides, not of a model of it."""

from __future__ import annotations

from fencepost_verification.symbolic.engine import Condition, check, judge

__all__ = ["Condition", "check", "judge"]
