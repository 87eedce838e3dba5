"""Runs CrossHair on contracts: a function with `pre:` and `post:` lines in its docstring, executed on symbolic values.

CrossHair runs the function itself, with values that are still open, and forks at each branch whose outcome is open too;
z3 says which branches can be taken. Where it has taken all of them, the contract holds for all values that meet `pre:`.
That is *held, all paths*. Where time is up first it only means that no counterexample was found: that counts as held
for contracts that say beforehand that they are a bounded search, with just these words in the ground, and is unknown
for all others. So nothing becomes green merely by being slow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from crosshair.core_and_libs import (
    AnalysisKind,
    MessageType,
    analyze_function,  # pyright: ignore[reportUnknownVariableType]
    run_checkables,
)
from crosshair.options import AnalysisOptionSet

from fencepost_verification.evidence import Held, Refuted, Unknown, Verdict

SECONDS = 60.0
"""How long one contract may take that is to be exhausted; each ends as soon as it is, mostly within a second."""

SEARCH_SECONDS = 2.0
"""How long a bounded search looks for a counterexample."""

_FALSE = frozenset({MessageType.POST_FAIL, MessageType.POST_ERR, MessageType.EXEC_ERR})
_MALFORMED = frozenset({MessageType.SYNTAX_ERR, MessageType.IMPORT_ERR})


@dataclass(frozen=True)
class Condition:
    """A contract: the function that carries it, what it states, the clause, and whether it is only searched.

    ``searched``: its paths cannot be exhausted (it hashes, or reads strings of any length), so it is a bounded search.
    """

    function: Callable[..., Any]
    statement: str
    clause: str
    searched: bool = False

    @property
    def told(self) -> str:
        """The statement with its clause."""
        return f"{self.statement} ({self.clause})"


def judge(condition: Condition, seconds: float | None = None) -> Verdict:
    """What CrossHair finds about one contract within the time given."""
    limit = seconds or (SEARCH_SECONDS if condition.searched else SECONDS)
    options = AnalysisOptionSet(
        analysis_kind=(AnalysisKind.PEP316,), per_condition_timeout=limit, per_path_timeout=limit / 3, report_all=True
    )
    found = list(run_checkables(analyze_function(condition.function, options)))
    if not found or any(message.state in _MALFORMED for message in found):
        why = found[0].message if found else "CrossHair finds no contract in its docstring"
        return Unknown(condition.told, f"{condition.function.__name__}: {why}")
    for message in found:
        if message.state in _FALSE:
            return Refuted(condition.told, message.message)
    if all(message.state is MessageType.CONFIRMED for message in found):
        return Held(condition.told, "symbolic execution: all paths taken, for all values that meet the precondition")
    if condition.searched and all(message.state is not MessageType.PRE_UNSAT for message in found):
        return Held(condition.told, f"bounded: no counterexample within {limit:g} s of symbolic search; not all paths")
    return Unknown(condition.told, f"not all paths taken within {limit:g} s: {found[0].message}")


def check(
    progress: Callable[[str, int, int], None] = lambda stage, done, total: None,
    conditions: Sequence[Condition] | None = None,
) -> tuple[Verdict, ...]:
    """One verdict for each contract over the decision functions of model and runtime, in less than a minute.

    ``progress`` is told which is next, how many are done and how many there are.
    """
    # Imported late: the contracts need this module for their type.
    from fencepost_verification.symbolic.conditions import CONDITIONS

    chosen = CONDITIONS if conditions is None else conditions
    found: list[Verdict] = []
    for number, condition in enumerate(chosen):
        progress(condition.function.__name__, number, len(chosen))
        found.append(judge(condition))
    return tuple(found)
