"""What is written differently: everything that has a name in a contract, added, removed, changed or reworded.

A contract is taken apart into *items*: machines, fields, statuses, operations, parameters, guards, cases, conditions,
effects, settings, statements. Each has a name that is its own within the contract, some *aspects* that matter (a guard
has one, its term), each with its English reading, and some prose that does not. Two contracts are compared item by
item. What differs in prose alone is *reworded*. Neither the order of items nor a difference of form that no reading
tells (``wording.normalised``) counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import count

from fencepost_model.contract import Contract
from fencepost_model.shapes import (
    Case,
    Field,
    Machine,
    Operation,
    Parameter,
    Progress,
    StepProperty,
    Variable,
)
from fencepost_model.terms import TruthTerm
from fencepost_verification.documents.wording import (
    Speech,
    each_in_words,
    in_words,
    literal,
    normalised,
    value_in_words,
)


class How(Enum):
    """What became of an item."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    REWORDED = "reworded"


@dataclass(frozen=True)
class Change:
    """One difference: what became of an item, and the English of both sides (empty where there is none).

    ``kind`` is what the item is, such as ``guard``; ``name`` its name within the contract, such as ``claim.due``;
    ``aspect`` what of it has changed, where it has several.
    """

    how: How
    kind: str
    name: str
    before: str = ""
    after: str = ""
    aspect: str = ""

    def as_json(self) -> dict[str, str]:
        """The difference as strings."""
        told = {"how": self.how.value, "kind": self.kind, "name": self.name}
        rest = {"aspect": self.aspect, "before": self.before, "after": self.after}
        return told | {key: value for key, value in rest.items() if value}


@dataclass(frozen=True)
class _Aspect:
    """One thing about an item: what is compared, and how it reads."""

    compared: object
    text: str


@dataclass(frozen=True)
class _Item:
    kind: str
    name: str
    aspects: dict[str, _Aspect]
    prose: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """All of it on one line."""
        if len(self.aspects) == 1:
            return next(iter(self.aspects.values())).text
        return "; ".join(f"{name} {aspect.text}" for name, aspect in self.aspects.items() if aspect.text)


def changes(old: Contract, new: Contract) -> tuple[Change, ...]:
    """Every difference between two contracts, in the order in which the new one writes its items, removed ones last."""
    before = {(item.kind, item.name): item for item in _items(old)}
    after = {(item.kind, item.name): item for item in _items(new)}
    found: list[Change] = []
    for key, item in after.items():
        if key not in before:
            found.append(Change(How.ADDED, *key, after=item.text))
        else:
            found += _changed(before[key], item)
    found += [Change(How.REMOVED, *key, before=item.text) for key, item in before.items() if key not in after]
    return tuple(found)


def _changed(before: _Item, after: _Item) -> Iterator[Change]:
    kind, name = after.kind, after.name
    differ = [
        aspect
        for aspect in after.aspects | before.aspects
        if before.aspects.get(aspect, _NOTHING).compared != after.aspects.get(aspect, _NOTHING).compared
    ]
    for aspect in differ:
        one, other = before.aspects.get(aspect, _NOTHING), after.aspects.get(aspect, _NOTHING)
        several = max(len(before.aspects), len(after.aspects)) > 1
        yield Change(How.CHANGED, kind, name, one.text, other.text, aspect if several else "")
    if not differ and before.prose != after.prose:
        said = [(one, other) for one, other in zip(before.prose, after.prose, strict=True) if one != other]
        yield Change(How.REWORDED, kind, name, "; ".join(one for one, _ in said), "; ".join(other for _, other in said))


_NOTHING = _Aspect(None, "nothing")


# --- taking a contract apart ------------------------------------------------------------------------------------------


def _items(contract: Contract) -> Iterator[_Item]:
    for machine in contract.machines:
        yield from _items_of_machine(contract, machine)
    for operation in contract.operations:
        yield from _items_of_operation(contract, operation)
    for setting in contract.settings:
        aspects = {"sort": _plain(setting.sort.value), "default": _Aspect(setting.default, literal(setting.default))}
        yield _Item("setting", setting.name, aspects, (setting.meaning,))
    yield _Item("assumption", "settings", {"term": _term(contract.settings_assumed, Speech.about(contract, ()))})
    yield from _statements(contract)


def _items_of_machine(contract: Contract, machine: Machine) -> Iterator[_Item]:
    itself = Speech.about(contract, (Variable(machine.name, machine.name),))
    aspects = {
        "created by": _plain(machine.created_by or "nothing"),
        "part of": _plain(machine.belongs_to or "nothing"),
    }
    if machine.legacy is not None:
        aspects["legacy rows"] = _term(machine.legacy, itself)
    yield _Item("machine", machine.name, aspects, (machine.meaning,))
    for field in machine.fields:
        yield _Item("field", f"{machine.name}.{field.name}", _field(field), (field.meaning,))
    for status in machine.statuses:
        row = machine.acting_on(status.name)
        acts = _Aspect(frozenset(row), ", ".join(row) or "nothing")
        ends = _plain("terminal" if status.terminal else "live")
        yield _Item("status", f"{machine.name}.{status.name}", {"kind": ends, "acted on by": acts}, (status.meaning,))
    for legacy in machine.legacy_rows:
        values = ", ".join(f"{name} = {literal(value)}" for name, value in legacy.fields.items())
        fields = {"fields": _Aspect(dict(legacy.fields), values)}
        yield _Item("legacy row", f"{machine.name}.{legacy.name}", fields, (legacy.meaning,))


def _field(field: Field | Parameter) -> dict[str, _Aspect]:
    aspects = {"sort": _plain(field.sort.value), "null": _plain("may be null" if field.nullable else "is never null")}
    if field.words:
        aspects["words"] = _Aspect(frozenset(field.words), ", ".join(field.words))
    marks = ("ghost", "extension", "fixed") if isinstance(field, Field) else ()
    marked = [mark for mark in marks if getattr(field, mark)]
    if marked:
        aspects["marks"] = _plain(", ".join(marked))
    return aspects


def _items_of_operation(contract: Contract, operation: Operation) -> Iterator[_Item]:
    speech = Speech.about(contract, operation.over, operation.parameters, operation.subject.name)
    aspects = {
        "by": _plain(operation.actor.value),
        "found by": _plain(operation.selection.value),
        "over": _over(operation.over),
        "acts on": _plain(operation.subject.name),
    }
    yield _Item("operation", operation.name, aspects, (operation.clause, operation.meaning))
    for parameter in operation.parameters:
        about = _field(parameter) | {"chosen by": _plain(parameter.chosen_by)}
        if parameter.assumed is not None:
            about["assumed"] = _term(parameter.assumed, speech)
        yield _Item("parameter", f"{operation.name}.{parameter.name}", about, (parameter.meaning,))
    for guard in operation.guards:
        term = {"term": _term(guard.term, speech)}
        yield _Item("guard", f"{operation.name}.{guard.name}", term, (guard.clause, guard.why))
    for case in operation.cases:
        yield from _items_of_case(operation, case, speech)


def _items_of_case(operation: Operation, case: Case, speech: Speech) -> Iterator[_Item]:
    name = f"{operation.name}/{case.name}"
    yield _Item("case", name, {}, (case.meaning,))
    for guard in case.when:
        term = {"term": _term(guard.term, speech)}
        yield _Item("condition", f"{name}.{guard.name}", term, (guard.clause, guard.why))
    for assignment in case.effect:
        field = assignment.field
        value = _Aspect(assignment.value, value_in_words(assignment.value, speech))
        yield _Item("effect", f"{name}: {field.entity}.{field.name}", {"value": value})
    numbers = count(1)
    for each in case.also:
        done = _Aspect((each.over, normalised(each.where), each.effect), each_in_words(each, speech))
        yield _Item(
            "effect", f"{name}: each {each.subject.machine} ({next(numbers)})", {"value": done}, (each.meaning,)
        )


def _statements(contract: Contract) -> Iterator[_Item]:
    for invariant in contract.invariants:
        about = _said(contract, invariant.over, invariant.statement)
        yield _Item("invariant", invariant.name, about, (invariant.clause, invariant.meaning))
    for prop in contract.step_properties:
        yield _Item("step property", prop.name, _step_property(contract, prop), (prop.clause, prop.meaning))
    for witness in contract.witnesses:
        about = _said(contract, witness.over, witness.statement)
        yield _Item("witness", witness.name, about, (witness.clause, witness.meaning))
    for progress in contract.progress:
        yield _Item("progress", progress.name, _progress(contract, progress), (progress.clause, progress.meaning))


def _step_property(contract: Contract, prop: StepProperty) -> dict[str, _Aspect]:
    parameters = next((o.parameters for o in contract.operations if o.name == prop.of), ())
    about = {"over": _over(prop.over), "says": _term(prop.statement, Speech.about(contract, prop.over, parameters))}
    of = " ".join(
        part for part in (f"by {prop.by.value}" if prop.by else "", f"of {prop.of}" if prop.of else "") if part
    )
    return about | {"steps": _plain(of or "all")}


def _progress(contract: Contract, progress: Progress) -> dict[str, _Aspect]:
    bound = _Aspect(frozenset(progress.bound), ", ".join(progress.bound))
    when = _plain("at once" if progress.at_once else "in time")
    return _said(contract, progress.over, progress.live) | {"relies on": bound, "when": when}


def _said(contract: Contract, over: tuple[Variable, ...], statement: TruthTerm) -> dict[str, _Aspect]:
    return {"over": _over(over), "says": _term(statement, Speech.about(contract, over))}


def _over(variables: Iterable[Variable]) -> _Aspect:
    listed = tuple(variables)
    words = [v.name if v.name == v.machine else f"{v.name} (a {v.machine})" for v in listed]
    return _Aspect(listed, ", ".join(words))


def _term(term: TruthTerm, speech: Speech) -> _Aspect:
    return _Aspect(normalised(term), in_words(term, speech))


def _plain(text: str) -> _Aspect:
    return _Aspect(text, text)
