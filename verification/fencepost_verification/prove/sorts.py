"""What the sorts of a contract say, as terms: well-formed rows, settings and calls.

``Sort.COUNT`` says "not negative", ``nullable=False`` says "set where the row exists". The proofs may only rely on that
if no operation breaks it. So it is stated here as invariants like any other: supposed of the state before a step, and
proved of the state after it. Being terms they are read by plain evaluation too, which referees every counterexample.
"""

from __future__ import annotations

from collections.abc import Iterator

from fencepost_model.contract import Contract
from fencepost_model.shapes import Invariant, Machine, Operation, Sort, Variable
from fencepost_model.terms import (
    AtMost,
    Const,
    FieldOf,
    Missing,
    Not,
    OneOf,
    Param,
    Setting,
    TruthTerm,
    ValueTerm,
    all_of,
    implies,
    present,
)

CLAUSE = "sorts"
"""The clause that well-formedness cites: it stands in the declaration of the fields, not in the contract's text."""


def well_formed(contract: Contract) -> tuple[Invariant, ...]:
    """One invariant for each machine: its rows are as its fields declare them."""
    return tuple(_well_formed(machine) for machine in contract.machines)


def _well_formed(machine: Machine) -> Invariant:
    name = machine.name
    parts: list[TruthTerm] = []
    exists = present(FieldOf(name, "status")) if machine.statuses else None
    for field in machine.fields:
        read = FieldOf(name, field.name)
        parts.extend(implies(present(read), said) for said in _of_sort(read, field.sort, field.words))
        if not field.nullable:
            parts.append(present(read) if exists is None or field.fixed else implies(exists, present(read)))
        if exists is not None and not field.fixed and field.name != "status":
            parts.append(implies(Not(exists), Missing(read)))
    return Invariant(
        f"well_formed({name})",
        CLAUSE,
        (Variable(name, name),),
        all_of(*parts),
        f"Each {name} row holds what its fields declare, and nothing before it exists.",
    )


def given(machine: Machine) -> TruthTerm:
    """What the sorts say of the fixed fields, which a world gives before anything exists; about the machine's name."""
    parts: list[TruthTerm] = []
    for field in machine.fields:
        if field.fixed:
            read = FieldOf(machine.name, field.name)
            parts.extend(implies(present(read), said) for said in _of_sort(read, field.sort, field.words))
            if not field.nullable:
                parts.append(present(read))
    return all_of(*parts)


def _of_sort(value: ValueTerm, sort: Sort, words: tuple[str, ...]) -> Iterator[TruthTerm]:
    """What is true of any value of a sort that is not null."""
    if words:
        yield OneOf(value, words)
    if sort is Sort.COUNT:
        yield AtMost(Const(0), value)


def settings_well_formed(contract: Contract) -> TruthTerm:
    """What the sorts of the settings and the contract's own assumption say about every profile."""
    said = [part for shape in contract.settings for part in _of_sort(Setting(shape.name), shape.sort, ())]
    return all_of(*said, contract.settings_assumed)


def call_well_formed(operation: Operation) -> TruthTerm:
    """What makes the arguments of a call well-formed; which of such calls are refused is the guards' business."""
    said: list[TruthTerm] = []
    for parameter in operation.parameters:
        read = Param(parameter.name)
        said.extend(implies(present(read), part) for part in _of_sort(read, parameter.sort, parameter.words))
        if not parameter.nullable:
            said.append(present(read))
        if parameter.assumed is not None:
            said.append(parameter.assumed)
    return all_of(*said)
