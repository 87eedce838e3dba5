"""Edits of a contract that make an implementation of it wrong: a guard dropped or weakened, a case lost, an effect off.

The contract that comes out is often ill-formed, which is the point, so it is not checked when it is built. An edit that
names something that is not there is refused: an offender without a fault would be a false alarm.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from fencepost_model.contract import Contract
from fencepost_model.shapes import Assignment, Case, Guard, Operation
from fencepost_model.terms import FieldOf, TruthTerm, ValueTerm

Edit = Callable[[Contract], Contract]


class NoFault(ValueError):
    """An edit that changes nothing: the offender would do what the contract says."""


def edited(contract: Contract, *edits: Edit) -> Contract:
    """The contract with all edits made."""
    changed = replace(contract, checked=False)
    for edit in edits:
        changed = edit(changed)
    return changed


def _in_operation(name: str, change: Callable[[Operation], Operation]) -> Edit:
    def edit(contract: Contract) -> Contract:
        before = contract.operation(name)
        after = change(before)
        if after == before:
            raise NoFault(
                f"the edit of {name!r} changes nothing: the contract itself says so now, or lacks what it names"
            )
        return replace(contract, operations=tuple(after if o.name == name else o for o in contract.operations))

    return edit


def without_guards(operation: str, *guards: str) -> Edit:
    """The operation no longer looks at these guards."""
    return _in_operation(
        operation, lambda o: replace(o, guards=tuple(guard for guard in o.guards if guard.name not in guards))
    )


def with_guard(operation: str, guard: str, term: TruthTerm) -> Edit:
    """The guard says something else."""

    def changed(one: Guard) -> Guard:
        return replace(one, term=term) if one.name == guard else one

    return _in_operation(operation, lambda o: replace(o, guards=tuple(changed(g) for g in o.guards)))


def with_condition(operation: str, condition: str, term: TruthTerm, negated: TruthTerm) -> Edit:
    """A condition of the cases says something else, and so does its negation in the cases that come later."""

    def changed(case: Case) -> Case:
        terms = {condition: term, f"not_{condition}": negated}
        return replace(case, when=tuple(replace(g, term=terms.get(g.name, g.term)) for g in case.when))

    return _in_operation(operation, lambda o: replace(o, cases=tuple(changed(case) for case in o.cases)))


def setting(operation: str, case: str, name: str, value: ValueTerm) -> Edit:
    """The case gives the field ``name`` of the subject another value, or one at all."""

    def changed(one: Case, subject: str) -> Case:
        if one.name != case:
            return one
        kept = tuple(a for a in one.effect if (a.field.entity, a.field.name) != (subject, name))
        return replace(one, effect=(*kept, Assignment(FieldOf(subject, name), value)))

    return _in_operation(
        operation, lambda o: replace(o, cases=tuple(changed(case, o.subject.name) for case in o.cases))
    )


def not_setting(operation: str, case: str, *names: str) -> Edit:
    """The case leaves these fields of the subject as they are."""

    def changed(one: Case, subject: str) -> Case:
        if one.name != case:
            return one
        return replace(
            one, effect=tuple(a for a in one.effect if a.field.entity != subject or a.field.name not in names)
        )

    return _in_operation(
        operation, lambda o: replace(o, cases=tuple(changed(case, o.subject.name) for case in o.cases))
    )


def handing_out(operation: str, case: str, name: str, value: ValueTerm) -> Edit:
    """The case gives the caller's token another value."""

    def changed(one: Case, token: str) -> Case:
        if one.name != case:
            return one
        kept = tuple(a for a in one.effect if (a.field.entity, a.field.name) != (token, name))
        return replace(one, effect=(*kept, Assignment(FieldOf(token, name), value)))

    return _in_operation(
        operation, lambda o: replace(o, cases=tuple(changed(case, o.over[1].name) for case in o.cases))
    )
