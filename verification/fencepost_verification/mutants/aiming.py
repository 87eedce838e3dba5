"""Makes mutants aimed at one statement: something writes what the statement speaks of, or somebody never acts.

The mutants of ``making`` forget things; a statement that forbids what nobody would forget (that a first request is
overwritten, say) is broken by none of them. For such a statement each case in turn also writes a wrong value into a
field that the statement reads; for one about progress, each operation that is bound to act is never allowed. If nothing
of that breaks the statement, it cannot be called covered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from fencepost_model.contract import Contract
from fencepost_model.shapes import (
    Assignment,
    Case,
    Field,
    ForEach,
    Guard,
    Invariant,
    Operation,
    Progress,
    Sort,
    StepProperty,
    Variable,
)
from fencepost_model.terms import NULL, Const, FieldOf, Now, Plus, Truth, ValueTerm, walk_in_scope
from fencepost_verification.mutants.making import Mutant, with_operation

ASKS_NOTHING = "asks nothing"
"""An operation that has lost all its guards."""
NEVER = Guard("never", Truth(False), "", "somebody who is bound to act stands by for ever")


def aimed_at(contract: Contract, statement: Invariant | StepProperty | Progress) -> Iterator[Mutant]:
    """Mutants that ought to break the statement, if anything can."""
    if isinstance(statement, Progress):
        for name in statement.bound:
            operation = contract.operation(name)
            stopped = replace(operation, guards=(*operation.guards, NEVER))
            yield Mutant("never acts", name, None, name, with_operation(contract, stopped))
        return
    read = sorted(_read(statement))
    for machine, field in read:
        declared = contract.machine(machine).field_named(field)
        yield from _writing(contract, statement, machine, declared, tuple(_wrong(FieldOf("", field), declared)))
    # What is less likely comes last: two things called alike, and an operation that asks nothing.
    for machine, field in read:
        declared = contract.machine(machine).field_named(field)
        if declared.sort is Sort.IDENTITY:
            yield from _writing(contract, statement, machine, declared, (Const("somebody"),))
    for operation in contract.operations:
        if isinstance(statement, Invariant) or statement.speaks_of(operation):
            yield Mutant(
                ASKS_NOTHING, operation.name, None, "it", with_operation(contract, replace(operation, guards=()))
            )


def _writing(
    contract: Contract,
    statement: Invariant | StepProperty,
    machine: str,
    declared: Field,
    values: tuple[ValueTerm, ...],
) -> Iterator[Mutant]:
    """Each case of each operation also writes one of the values: to its own entity, and to everything of the kind."""
    if declared.fixed:
        return
    for operation in contract.operations:
        if isinstance(statement, StepProperty) and not statement.speaks_of(operation):
            continue
        for variable in operation.over:
            if variable.machine == machine:
                yield from _also_writing(contract, operation, FieldOf(variable.name, declared.name), values)
            if variable.machine == contract.machine(machine).belongs_to:
                every = Variable(f"every_{machine}", machine, variable.name)
                yield from _writing_every(contract, operation, every, declared.name, values)


def _read(statement: Invariant | StepProperty) -> set[tuple[str, str]]:
    """The fields that a statement reads, by machine."""
    machines = {variable.name: variable.machine for variable in statement.over}
    return {
        (bound[part.entity], part.name)
        for part, bound in walk_in_scope(statement.statement, machines)
        if isinstance(part, FieldOf)
    }


def _also_writing(
    contract: Contract, operation: Operation, field: FieldOf, values: tuple[ValueTerm, ...]
) -> Iterator[Mutant]:
    for index, case in enumerate(operation.cases):
        for value in (_about(field, value) for value in values):
            others = tuple(assignment for assignment in case.effect if assignment.field != field)
            written: Case = replace(case, effect=(*others, Assignment(field, value)))
            cases = (*operation.cases[:index], written, *operation.cases[index + 1 :])
            what = f"also writes {value.value!r}" if isinstance(value, Const) else "also writes another value"
            place = f"{field.entity}.{field.name}"
            yield Mutant(
                what, operation.name, case.name, place, with_operation(contract, replace(operation, cases=cases))
            )


def _writing_every(
    contract: Contract, operation: Operation, every: Variable, name: str, values: tuple[ValueTerm, ...]
) -> Iterator[Mutant]:
    """The operation writes a field of everything of a kind there: an UPDATE that has lost its WHERE."""
    field = FieldOf(every.name, name)
    for index, case in enumerate(operation.cases):
        for value in (_about(field, value) for value in values):
            each = ForEach((every,), Truth(True), (Assignment(field, value),), "everything is written")
            cases = (*operation.cases[:index], replace(case, also=(*case.also, each)), *operation.cases[index + 1 :])
            place = f"{name} of every {every.machine}"
            yield Mutant(
                "written", operation.name, case.name, place, with_operation(contract, replace(operation, cases=cases))
            )


def _about(field: FieldOf, value: ValueTerm) -> ValueTerm:
    """A wrong value, which may be one more than the field itself has."""
    return Plus(field, value.right) if isinstance(value, Plus) and isinstance(value.left, FieldOf) else value


def _wrong(field: FieldOf, declared: Field) -> Iterator[ValueTerm]:
    """Values that a field may be given by mistake."""
    if declared.nullable:
        yield NULL
    match declared.sort:
        case Sort.WORD | Sort.TEXT:
            yield from (Const(word) for word in declared.words)
        case Sort.COUNT:
            yield Const(0)
            yield Plus(field, Const(1))
        case Sort.FLAG:
            yield Const(False)
            yield Const(True)
        case Sort.INSTANT:
            yield Now()
            yield Plus(Now(), Const(1))
        case Sort.DURATION | Sort.IDENTITY:
            pass
