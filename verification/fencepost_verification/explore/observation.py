"""Which fields the behaviour of a contract depends on, and how closely: the key of a state.

Two rows that differ only in fields which no guard, condition or invariant can tell apart behave alike for ever, so an
explorer counts them as one state. A field is *observed* by value, by nullness only, or not at all. The classes are
computed from the terms: what guards, conditions, invariants and witnesses read, and then, until nothing changes, what
the effects on observed fields read.

Effects on a field observed by nullness only are read for their nullness; what decides which of many rows an effect
changes is read as closely as a condition. Step properties are not counted, since they
would pin every field that must stay frozen; they are evaluated on whole rows all the same (see ``local``).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import assert_never

from fencepost_model.contract import Contract
from fencepost_model.shapes import Invariant, Variable, Witness
from fencepost_model.terms import (
    AllOf,
    AnyOf,
    AtMost,
    Choose,
    Const,
    Equal,
    Every,
    FieldOf,
    Holds,
    Larger,
    Less,
    Missing,
    Not,
    Now,
    OneOf,
    Param,
    Plus,
    Same,
    Setting,
    Smaller,
    Some,
    Truth,
    TruthTerm,
    ValueTerm,
)


class Observed(IntEnum):
    """How closely a field is looked at."""

    NOT = 0
    NULLNESS = 1
    VALUE = 2


Observation = dict[tuple[str, str], Observed]
"""How closely each (machine, field) is looked at."""


def observation_of(contract: Contract) -> Observation:
    """How closely the contract's behaviour looks at each field."""
    observed: Observation = {(m.name, f.name): Observed.NOT for m in contract.machines for f in m.fields}

    def look(reads: Reads) -> bool:
        changed = False
        for key, closeness in reads.items():
            if observed[key] < closeness:
                observed[key] = closeness
                changed = True
        return changed

    for operation in contract.operations:
        variables = _machines(operation.over)
        for guard in (*operation.guards, *(guard for case in operation.cases for guard in case.when)):
            look(_truth_reads(guard.term, variables))
    statements: tuple[Invariant | Witness, ...] = (*contract.invariants, *contract.witnesses)
    for statement in statements:
        variables = _machines(statement.over)
        look(_truth_reads(statement.statement, variables))
    changed = True
    while changed:
        changed = False
        for operation, case in contract.transitions():
            variables = _machines(operation.over)
            for assignment in case.effect:
                closeness = observed[(variables[assignment.field.entity], assignment.field.name)]
                changed |= look(_value_reads(assignment.value, closeness, variables))
            for each in case.also:
                inner = {**variables, **_machines(each.over)}
                for assignment in each.effect:
                    closeness = observed[(inner[assignment.field.entity], assignment.field.name)]
                    if closeness is not Observed.NOT:
                        changed |= look(_truth_reads(each.where, inner))
                    changed |= look(_value_reads(assignment.value, closeness, inner))
    return observed


def _machines(over: tuple[Variable, ...]) -> dict[str, str]:
    return {variable.name: variable.machine for variable in over}


Reads = dict[tuple[str, str], Observed]
"""How closely a term looks at each (machine, field)."""

Machines = Mapping[str, str]
"""The machine of each variable."""


def _merged(*many: Reads) -> Reads:
    merged: Reads = {}
    for reads in many:
        for key, closeness in reads.items():
            merged[key] = max(closeness, merged.get(key, Observed.NOT))
    return merged


def _value_reads(term: ValueTerm, closeness: Observed, variables: Machines) -> Reads:
    """What must be known of each field to know the term this closely."""
    if closeness is Observed.NOT:
        return {}
    match term:
        case FieldOf(entity, name):
            return {(variables[entity], name): closeness}
        case Const() | Now() | Setting() | Param():
            return {}
        case Plus(left, right) | Smaller(left, right) | Larger(left, right):
            return _merged(_value_reads(left, closeness, variables), _value_reads(right, closeness, variables))
        case Choose(condition, then, otherwise):
            return _merged(
                _truth_reads(condition, variables),
                _value_reads(then, closeness, variables),
                _value_reads(otherwise, closeness, variables),
            )
        case _:
            assert_never(term)


def _truth_reads(term: TruthTerm, variables: Machines) -> Reads:
    match term:
        case Truth():
            return {}
        case Missing(value):
            return _value_reads(value, Observed.NULLNESS, variables)
        case Holds(flag):
            return _value_reads(flag, Observed.VALUE, variables)
        case Not(part):
            return _truth_reads(part, variables)
        case AllOf(parts) | AnyOf(parts):
            return _merged(*(_truth_reads(part, variables) for part in parts))
        case Less(left, right) | AtMost(left, right) | Equal(left, right) | Same(left, right):
            return _merged(
                _value_reads(left, Observed.VALUE, variables), _value_reads(right, Observed.VALUE, variables)
            )
        case OneOf(value):
            return _value_reads(value, Observed.VALUE, variables)
        case Every(variable, machine, _, body) | Some(variable, machine, _, body):
            return _truth_reads(body, {**variables, variable: machine})
        case _:
            assert_never(term)
