"""The diagram of a machine as statements: each operation leads where its arrows lead, and nowhere else.

The arrows are read off the cases once, when a contract is written, and then stand as step properties of their own. An
implementation that forgets to write a status, and a later edit of a case that sends it elsewhere, break them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fencepost_model.shapes import Case, Operation, StepProperty, Variable
from fencepost_model.terms import Choose, Const, FieldOf, OneOf, Same, ValueTerm, any_of


def arrows_kept(operations: Iterable[Operation]) -> tuple[StepProperty, ...]:
    """For each operation that may change the status of one of its entities: where that entity may stand afterwards."""
    return tuple(_kept(operation, variable) for operation in operations for variable in _moved(operation))


def _moved(operation: Operation) -> Iterator[Variable]:
    """The variables of an operation whose status some case assigns."""
    for variable in operation.over:
        if any(_targets(case, variable) - {None} for case in operation.cases):
            yield variable


def _kept(operation: Operation, variable: Variable) -> StepProperty:
    reached = frozenset(target for case in operation.cases for target in _targets(case, variable))
    words = sorted(word for word in reached if word is not None)
    after = FieldOf(variable.name, "status", after=True)
    there = OneOf(after, tuple(words))
    stays = None in reached
    whose = operation.name if variable == operation.subject else f"{operation.name}_moves_{variable.name}"
    return StepProperty(
        f"{whose}_along_its_arrows",
        operation.clause,
        operation.over,
        any_of(there, Same(FieldOf(variable.name, "status"), after)) if stays else there,
        f"{operation.name} leaves the {variable.machine} {' or '.join(words)}{', or as it is' if stays else ''}.",
        of=operation.name,
    )


def _targets(case: Case, variable: Variable) -> frozenset[str | None]:
    """The statuses that a case may give to a variable; None stands for the one that it has."""
    status = FieldOf(variable.name, "status")
    return _leaves(next((a.value for a in case.effect if a.field == status), status))


def _leaves(value: ValueTerm) -> frozenset[str | None]:
    match value:
        case Const(str() as word):
            return frozenset({word})
        case Choose(_, then, otherwise):
            return _leaves(then) | _leaves(otherwise)
        case _:
            return frozenset({None})
