"""Short forms in which a printed rule becomes an operation, so that a fixture is as long as the sentence it follows.

What is drafted here is *not* the contract: it is what a source prints, faults included. The contracts are therefore
built unchecked, and every operation cites the section of its source.
"""

from __future__ import annotations

from collections.abc import Mapping

from fencepost_model.contract import Contract
from fencepost_model.semantics import Member, Population
from fencepost_model.shapes import (
    Actor,
    Assignment,
    Case,
    Field,
    ForEach,
    Guard,
    Machine,
    Operation,
    Selection,
    Sort,
    Variable,
)
from fencepost_model.terms import Const, Equal, FieldOf, Holds, Not, OneOf, Plus, TruthTerm, Value, ValueTerm
from fencepost_model.worlds import World

YES, NO = Const(True), Const(False)


def word(name: str, *choices: str) -> Field:
    """A field that takes one of a few words."""
    return Field(name, Sort.WORD, name.replace("_", " "), words=choices)


def flag(name: str) -> Field:
    """A field that is true or false."""
    return Field(name, Sort.FLAG, name.replace("_", " "))


def count(name: str) -> Field:
    """A field that counts."""
    return Field(name, Sort.COUNT, name.replace("_", " "))


def identity(name: str) -> Field:
    """A field that names somebody."""
    return Field(name, Sort.IDENTITY, name.replace("_", " "))


def of(variable: Variable | str, name: str) -> FieldOf:
    """A field of what a variable stands for."""
    return FieldOf(variable if isinstance(variable, str) else variable.name, name)


def after(variable: Variable | str, name: str) -> FieldOf:
    """The same field, in the state in which a step ends."""
    return FieldOf(variable if isinstance(variable, str) else variable.name, name, after=True)


def is_in(field: FieldOf, *choices: str) -> TruthTerm:
    """A field holds one of these words."""
    return Equal(field, Const(choices[0])) if len(choices) == 1 else OneOf(field, choices)


def yes(field: ValueTerm) -> TruthTerm:
    """A flag is set."""
    return Holds(field)


def no(field: ValueTerm) -> TruthTerm:
    """A flag is not set."""
    return Not(Holds(field))


def one_more(field: FieldOf) -> ValueTerm:
    """A counter raised by one."""
    return Plus(field, Const(1))


def sets(effect: Mapping[FieldOf, ValueTerm | str | bool | int]) -> tuple[Assignment, ...]:
    """Assignments; bare words, flags and numbers stand for themselves."""
    return tuple(
        Assignment(field, Const(value) if isinstance(value, str | bool | int) else value)
        for field, value in effect.items()
    )


def operation(
    name: str,
    where: str,
    over: tuple[Variable, ...],
    guards: Mapping[str, TruthTerm],
    effect: Mapping[FieldOf, ValueTerm | str | bool | int],
    *,
    actor: Actor = Actor.SYSTEM,
    also: tuple[ForEach, ...] = (),
) -> Operation:
    """An operation with one outcome. ``where`` is the section of the source that prints it."""
    return Operation(
        name=name,
        actor=actor,
        selection=Selection.NAMED,
        over=over,
        guards=tuple(Guard(label, term, where, "printed so") for label, term in guards.items()),
        cases=(Case(name, (), sets(effect), f"as printed in {where}", also),),
        clause=where,
        meaning=f"As printed in {where}.",
    )


def machine(name: str, fields: tuple[Field, ...], belongs_to: str | None = None) -> Machine:
    """A machine without statuses of its own; its words are ordinary fields."""
    return Machine(name=name, meaning=f"{name}, as printed", fields=fields, belongs_to=belongs_to)


def draft(name: str, machines: tuple[Machine, ...], operations: tuple[Operation, ...]) -> Contract:
    """A printed machine as a contract that nobody vouches for: no statements, and no check of its form."""
    return Contract(name=name, machines=machines, operations=operations, invariants=(), checked=False)


def member(kind: str, label: str, *members: Member, **begins: Value) -> Member:
    """One entity of a fixture, with the values with which it begins."""
    return Member(kind, label, begins, members)


def stage(name: str, meaning: str, contract: Contract, root: Member) -> World:
    """A world in which no clock runs: where time matters to a fixture, an operation says what has run out."""
    return World(name, meaning, contract, Population(root), 0, {}, legacy=False)


def with_operations(contract: Contract, *changed: Operation, name: str = "", without: tuple[str, ...] = ()) -> Contract:
    """A contract with operations put in the place of those of the same name, or added; it is no longer checked."""
    by_name = {operation.name: operation for operation in changed}
    kept = tuple(
        by_name.pop(operation.name, operation) for operation in contract.operations if operation.name not in without
    )
    return Contract(
        name=name or contract.name,
        machines=contract.machines,
        operations=(*kept, *by_name.values()),
        invariants=(),
        settings=contract.settings,
        settings_assumed=contract.settings_assumed,
        checked=False,
    )
