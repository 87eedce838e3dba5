"""What is written differently is told by name, once, with both readings; the rest is not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.verification.diff.pairs import approval, checked, with_effect, with_guard, with_operation

from fencepost_model.contract import Contract
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.shapes import (
    Actor,
    Assignment,
    Field,
    ForEach,
    Guard,
    Invariant,
    Parameter,
    Selection,
    SettingShape,
    Sort,
    Variable,
    Witness,
)
from fencepost_model.specification import SPECIFICATION
from fencepost_model.terms import AtMost, Const, FieldOf, Less, Not, Now, Truth, present
from fencepost_verification.diff.structure import Change, How, changes
from fencepost_verification.mutants.making import mutants_of

APPROVAL = approval().contract
PAYMENT = APPROVAL.machines[0]
STATUS, DUE, SECOND = (FieldOf("payment", name) for name in ("status", "due_at", "second"))
APPROVE, LAPSE = APPROVAL.operation("approve"), APPROVAL.operation("lapse")
BASE = replace(APPROVAL, checked=False)


def told(old: Contract, new: Contract) -> list[tuple[str, str, str, str]]:
    return [(c.how.value, c.kind, c.name, c.aspect) for c in changes(old, new)]


@pytest.mark.parametrize("chapter", SPECIFICATION, ids=lambda chapter: chapter.name)
def test_no_contract_differs_from_itself_and_each_item_has_a_name_of_its_own(chapter: object) -> None:
    contract: Contract = chapter.contract  # type: ignore[attr-defined]
    assert changes(contract, contract) == ()
    empty = replace(contract, machines=(), operations=(), settings=(), checked=False)
    empty = replace(empty, invariants=(), step_properties=(), witnesses=(), progress=())
    added = [change for change in changes(empty, contract) if change.how is How.ADDED]
    assert len({(change.kind, change.name) for change in added}) == len(added)
    parts = [f for m in contract.machines for f in m.fields] + [g for o in contract.operations for g in o.guards]
    assert len(added) > len(parts)


def machine(**values: object) -> Contract:
    return replace(BASE, machines=(replace(PAYMENT, **values),))  # type: ignore[arg-type]


def operation(name: str, **values: object) -> Contract:
    return with_operation(BASE, replace(BASE.operation(name), **values))  # type: ignore[arg-type]


OTHER = Variable("other", "payment", "payment")
EACH = ForEach((OTHER,), Truth(True), (Assignment(FieldOf("other", "second"), Const(None)),), "all")
APPROVE_CASE = APPROVE.cases[0]
CHANGES = {
    "a status that ends": (
        machine(statuses=tuple(replace(s, terminal=True) for s in PAYMENT.statuses)),
        [("changed", "status", "payment.asked", "kind"), ("changed", "status", "payment.once", "kind")],
    ),
    "a row of the table": (
        machine(table={**PAYMENT.table, "asked": ("approve",)}),
        [("changed", "status", "payment.asked", "acted on by")],
    ),
    "a field": (
        machine(fields=(*PAYMENT.fields, Field("note", Sort.TEXT, "a note"))),
        [("added", "field", "payment.note", "")],
    ),
    "a field that may no longer be null": (
        machine(fields=tuple(replace(f, nullable=False) for f in PAYMENT.fields)),
        [("changed", "field", f"payment.{name}", "null") for name in ("first", "second", "due_at")],
    ),
    "a parameter": (
        operation("lapse", parameters=(Parameter("limit", Sort.COUNT, "how many"),)),
        [("added", "parameter", "lapse.limit", "")],
    ),
    "who may": (operation("lapse", actor=Actor.CLIENT), [("changed", "operation", "lapse", "by")]),
    "how it finds": (operation("lapse", selection=Selection.SWEEP), [("changed", "operation", "lapse", "found by")]),
    "a guard's term": (with_guard(BASE, "lapse", "late", Less(DUE, Now())), [("changed", "guard", "lapse.late", "")]),
    "a guard": (with_guard(BASE, "lapse", "late", None), [("removed", "guard", "lapse.late", "")]),
    "a condition": (
        operation("approve", cases=(replace(APPROVE_CASE, when=(Guard("any", present(DUE), "", ""),)),)),
        [("added", "condition", "approve/once.any", "")],
    ),
    "an effect that is lost": (
        with_effect(BASE, "approve", APPROVE_CASE.effect[0]),
        [("removed", "effect", "approve/once: payment.first", "")],
    ),
    "an effect on many": (
        operation("approve", cases=(replace(APPROVE_CASE, also=(EACH,)),)),
        [("added", "effect", "approve/once: each payment (1)", "")],
    ),
    "a setting": (
        replace(BASE, settings=(*BASE.settings, SettingShape("limit", Sort.COUNT, "how much", 3))),
        [("added", "setting", "limit", "")],
    ),
    "a default": (
        replace(BASE, settings=(replace(BASE.settings[0], default=3),)),
        [("changed", "setting", "patience", "default")],
    ),
    "what is assumed": (
        replace(BASE, settings_assumed=Truth(True)),
        [("changed", "assumption", "settings", "")],
    ),
    "a statement": (
        replace(BASE, invariants=BASE.invariants[:1]),
        [("removed", "invariant", "due", "")],
    ),
    "whose steps": (
        replace(BASE, step_properties=tuple(replace(p, by=None, of=None) for p in BASE.step_properties)),
        [("changed", "step property", name, "steps") for name in ("in_time", "late", "new")],
    ),
    "what progress relies on": (
        replace(BASE, progress=(replace(BASE.progress[0], bound=("lapse", "approve"), at_once=True),)),
        [("changed", "progress", "no_limbo", "relies on"), ("changed", "progress", "no_limbo", "when")],
    ),
    "a witness": (
        replace(BASE, witnesses=(Witness("paid", "", (Variable("payment", "payment"),), present(SECOND), ""),)),
        [("added", "witness", "paid", "")],
    ),
    "its prose": (
        operation("lapse", meaning="Time is up.", guards=tuple(replace(g, why="so") for g in LAPSE.guards)),
        [
            ("reworded", "operation", "lapse", ""),
            ("reworded", "guard", "lapse.place", ""),
            ("reworded", "guard", "lapse.late", ""),
        ],
    ),
    "its form alone": (
        with_guard(BASE, "lapse", "late", Not(Not(AtMost(DUE, Now())))),
        [("reworded", "guard", "lapse.late", "")],  # the clause and the reason of the guard, not its term
    ),
    "its order": (replace(BASE, operations=BASE.operations[::-1], invariants=BASE.invariants[::-1]), []),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_told_by_name(name: str) -> None:
    new, expected = CHANGES[name]
    assert told(APPROVAL, new) == expected
    turned = {"added": "removed", "removed": "added"}
    back = [(turned.get(how, how), kind, item, aspect) for how, kind, item, aspect in told(new, APPROVAL)]
    assert sorted(back) == sorted(expected)


def test_both_sides_of_a_change_read_in_english() -> None:
    new = with_guard(BASE, "lapse", "late", Less(DUE, Now()))
    (change,) = changes(APPROVAL, new)
    assert change == Change(
        How.CHANGED,
        "guard",
        "lapse.late",
        "`due_at` is set and at or before now",
        "`due_at` is set and earlier than now",
    )
    assert change.as_json()["before"] == "`due_at` is set and at or before now"


def test_a_reworded_item_shows_what_was_reworded() -> None:
    (change,) = changes(APPROVAL, operation("lapse", meaning="Time is up."))
    assert (change.how, change.before, change.after) == (How.REWORDED, "lapse", "Time is up.")


def test_a_further_status_shows_all_that_comes_with_it() -> None:
    assert {(c.how.value, c.kind, c.name) for c in changes(APPROVAL, checked().contract)} == {
        ("changed", "field", "payment.status"),
        ("added", "status", "payment.checked"),
        ("changed", "effect", "confirm/approved: payment.status"),
        ("changed", "guard", "lapse.place"),
        ("added", "operation", "release"),
        ("added", "guard", "release.place"),
        ("added", "case", "release/approved"),
        ("added", "effect", "release/approved: payment.status"),
        ("added", "effect", "release/approved: payment.second"),
        ("changed", "invariant", "two_people"),
        ("changed", "step property", "in_time"),
        ("changed", "progress", "no_limbo"),
    }


def test_every_mutant_of_the_job_is_written_differently() -> None:
    """Whatever a mistake is, the structure shows it, and shows it at the operation where it is."""
    mutants = list(mutants_of(JOB_CONTRACT))
    assert len(mutants) > 100
    for mutant in mutants[::7]:
        found = changes(JOB_CONTRACT, mutant.contract)
        assert found, mutant.name
        assert all(change.name.startswith(mutant.operation) or change.kind == "status" for change in found), mutant.name


def test_an_invariant_of_the_job_reads_the_same_on_both_sides_when_only_its_name_differs() -> None:
    first, *rest = JOB_CONTRACT.invariants
    renamed: tuple[Invariant, ...] = (replace(first, name="renamed"), *rest)
    found = changes(JOB_CONTRACT, replace(JOB_CONTRACT, invariants=renamed))
    assert [(c.how, c.name) for c in found] == [(How.ADDED, "renamed"), (How.REMOVED, first.name)]
    assert found[0].after == found[1].before
