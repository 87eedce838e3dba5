"""Cases as a list that is tried in order: which conditions of a case only say that an earlier one is not open.

``in_order`` writes such lists out, so that each case stands for itself; readers (pages, mutants) want them back.
"""

from __future__ import annotations

from dataclasses import replace

from fencepost_model.shapes import Case, Operation
from fencepost_model.terms import AllOf, Not


def negations_of_earlier(operation: Operation, case: Case) -> dict[str, str]:
    """The conditions of a case that only say that an earlier case is not open: their names, and that case's."""
    found: dict[str, str] = {}
    for earlier in operation.cases[: operation.cases.index(case)]:
        known = {guard.name for guard in earlier.when if guard.name in negations_of_earlier(operation, earlier)}
        own = tuple(guard.term for guard in earlier.when if guard.name not in known)
        if not own:
            continue
        denied = Not(own[0]) if len(own) == 1 else Not(AllOf(own))
        for guard in case.when:
            if guard.term == denied:
                found[guard.name] = earlier.name
    return found


def is_in_order(operation: Operation) -> bool:
    """Whether each case is the first of the cases, in the order written, whose own conditions hold."""
    for number, case in enumerate(operation.cases):
        earlier = {c.name for c in operation.cases[:number]}
        if set(negations_of_earlier(operation, case).values()) != earlier:
            return False
    return True


def own_conditions(operation: Operation) -> tuple[Case, ...]:
    """The cases of an operation that is in order, each with its own conditions only: what ``in_order`` was given."""
    return tuple(
        replace(case, when=tuple(guard for guard in case.when if guard.name not in negations))
        for case in operation.cases
        for negations in (negations_of_earlier(operation, case),)
    )
