"""The one module that touches cvc5: it reads SMT-LIB scripts and says what the solver answers.

cvc5 shares no code with z3 and is told nothing but text, so an error in either solver, or in the way in which one of
them is called, shows as a disagreement.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

import cvc5  # pyright: ignore[reportMissingTypeStubs]

from fencepost_verification.prove.smt import Answer

_cvc5: Any = cvc5
_ANSWERS = {"sat": Answer.SATISFIABLE, "unsat": Answer.UNSATISFIABLE, "unknown": Answer.UNKNOWN}


class ScriptRefused(ValueError):
    """cvc5 cannot read a script, or takes a command of it for wrong; the message is its own."""


class Looking(Enum):
    """How a session goes about quantifiers."""

    FOR_REASONS = "as cvc5 does when left to itself: instances that match terms of the question"
    EVERYWHERE = "instances with all terms that there are, one after the other: finds proofs that matching misses"
    FOR_FEW = "models in which each kind of entity has as few members as will do: finds examples"


_OPTIONS: Mapping[Looking, tuple[str, ...]] = {
    Looking.FOR_REASONS: (),
    Looking.EVERYWHERE: ("enum-inst",),
    Looking.FOR_FEW: ("finite-model-find",),
}


class Cvc5Session:
    """A solver that reads SMT-LIB 2 piece by piece. ``milliseconds`` bounds each question, beyond it is *unknown*."""

    def __init__(self, milliseconds: int, looking: Looking = Looking.FOR_REASONS) -> None:
        terms: Any = _cvc5.TermManager()
        self._solver: Any = _cvc5.Solver(terms)
        self._solver.setOption("incremental", "true")
        self._solver.setOption("tlimit-per", str(milliseconds))
        for option in _OPTIONS[looking]:
            self._solver.setOption(option, "true")
        self._symbols: Any = _cvc5.SymbolManager(terms)
        self._parser: Any = _cvc5.InputParser(self._solver, self._symbols)

    def run(self, script: str) -> list[Answer]:
        """The answers to the questions (``check-sat``) of a script, which may be one of several that go on each other.

        Raises ``ScriptRefused`` when it cannot be read.
        """
        answers: list[Answer] = []
        try:
            self._parser.setStringInput(_cvc5.InputLanguage.SMT_LIB_2_6, script, "script")
            while True:
                command = self._parser.nextCommand()
                if command.isNull():
                    return answers
                told = str(command.invoke(self._solver, self._symbols)).strip()
                # An answer may come with its reason: "unknown (INCOMPLETE)".
                answer = _ANSWERS.get(told.partition(" ")[0])
                if answer is not None:
                    answers.append(answer)
                elif told and told != "success":
                    raise ScriptRefused(told)
        except RuntimeError as refused:
            raise ScriptRefused(str(refused)) from refused


def answers(script: str, *, milliseconds: int = 10_000) -> list[Answer]:
    """What cvc5 answers to the questions of a self-contained script."""
    return Cvc5Session(milliseconds).run(script)
