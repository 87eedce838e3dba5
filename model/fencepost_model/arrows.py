"""The diagram of a machine as statements: each operation leads where its arrows lead, and nowhere else.

The arrows are read off the cases once, when a contract is written, and then stand as step properties of their own. An
implementation that forgets to write a status, and a later edit of a case that sends it elsewhere, break them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fencepost_model.shapes import Case, Operation, StepProperty, Variable
from fencepost_model.terms import Const, FieldOf, OneOf, Same, any_of


def arrows_kept(operations: Iterable[Operation]) -> tuple[StepProperty, ...]:
    """For each operation that may change the status of one of its entities: where that entity may stand afterwards."""
    return tuple(_kept(operation, variable) for operation in operations for variable in _moved(operation))


def _moved(operation: Operation) -> Iterator[Variable]:
    """The variables of an operation whose status some case assigns a literal word."""
    for variable in operation.over:
        if any(_target(case, variable) for case in operation.cases):
            yield variable


def _kept(operation: Operation, variable: Variable) -> StepProperty:
    targets = sorted({word for case in operation.cases if (word := _target(case, variable)) is not None})
    after = FieldOf(variable.name, "status", after=True)
    there = OneOf(after, tuple(targets))
    stays = any(_target(case, variable) is None for case in operation.cases)
    whose = operation.name if variable == operation.subject else f"{operation.name}_moves_{variable.name}"
    return StepProperty(
        f"{whose}_along_its_arrows",
        operation.clause,
        operation.over,
        any_of(there, Same(FieldOf(variable.name, "status"), after)) if stays else there,
        f"{operation.name} leaves the {variable.machine} {' or '.join(targets)}{', or as it is' if stays else ''}.",
        of=operation.name,
    )


def _target(case: Case, variable: Variable) -> str | None:
    for assignment in case.effect:
        if assignment.field == FieldOf(variable.name, "status") and isinstance(assignment.value, Const):
            return assignment.value.value if isinstance(assignment.value.value, str) else None
    return None
