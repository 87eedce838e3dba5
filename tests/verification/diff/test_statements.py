"""Statements of each side, judged on both: which fall, which rise, and what leans on a statement that fell."""

from __future__ import annotations

from dataclasses import replace

from tests.verification.diff.pairs import approval, checked, with_effect, with_guard

from fencepost_model.contract import Contract
from fencepost_model.shapes import Assignment, Invariant, Progress, StepProperty, Variable
from fencepost_model.terms import Const, Equal, FieldOf, Missing, Not, Now, Truth, implies, present
from fencepost_verification.diff.statements import Fate, Judged, judged

APPROVAL = approval().contract
PAYMENT = (Variable("payment", "payment"),)
STATUS, FIRST, SECOND, DUE = (FieldOf("payment", name) for name in ("status", "first", "second", "due_at"))


def fates(old: Contract, new: Contract) -> dict[tuple[str, str], Fate]:
    return {(one.name, one.of): one.fate for one in judged(old, new)}


def the(found: tuple[Judged, ...], fate: Fate) -> Judged:
    (one,) = (each for each in found if each.fate is fate)
    return one


def test_everything_stays_where_nothing_changes() -> None:
    found = fates(APPROVAL, APPROVAL)
    assert set(found.values()) == {Fate.STAYS}
    assert len(found) == len(APPROVAL.invariants) + len(APPROVAL.step_properties) + len(APPROVAL.progress)


def test_a_promise_that_was_reworded_falls_as_it_was_and_stays_as_it_is() -> None:
    found = judged(APPROVAL, checked().contract)
    fallen = the(found, Fate.FALLS)
    assert (fallen.name, fallen.of, fallen.kind) == ("in_time", "old", "step property")
    assert str(fallen.trace) == "ask ; approve ; confirm ; tick ; release"
    assert fallen.obligations == ("release obeys in_time",)
    assert {one.fate for one in found} == {Fate.STAYS, Fate.FALLS}
    # Also what names a status that the old contract does not have can be asked of the old one.
    assert fates(APPROVAL, checked().contract)[("two_people", "new")] is Fate.STAYS


def test_the_other_way_round_it_rises() -> None:
    risen = the(judged(checked().contract, APPROVAL), Fate.RISES)
    assert (risen.name, risen.of) == ("in_time", "new")
    assert str(risen.trace) == "ask ; approve ; confirm ; tick ; release"


def test_a_promise_that_both_make_falls_with_its_guard() -> None:
    dropped = with_guard(APPROVAL, "confirm", "others", None)
    fallen = the(judged(APPROVAL, dropped), Fate.FALLS)
    assert (fallen.name, fallen.of, str(fallen.trace)) == ("two_people", "both", "ask ; approve ; confirm")
    assert the(judged(dropped, APPROVAL), Fate.RISES).name == "two_people"


def test_progress_falls_with_the_operation_that_it_relies_on() -> None:
    blocked = with_guard(APPROVAL, "lapse", "never", Truth(False))
    found = judged(APPROVAL, blocked)
    assert the(found, Fate.FALLS).name == "no_limbo"


def test_a_promise_that_was_dropped_may_hold_all_the_same() -> None:
    silent = replace(APPROVAL, invariants=())
    assert set(fates(APPROVAL, silent).values()) == {Fate.STAYS}
    assert fates(APPROVAL, silent)[("two_people", "old")] is Fate.STAYS


def test_what_leans_on_a_fallen_invariant_is_not_taken_to_hold() -> None:
    """That ``second`` is null before the second approval is inductive only as long as nobody lapses into ``once``."""
    early = Invariant("early", "", PAYMENT, implies(Equal(STATUS, Const("once")), Missing(SECOND)), "Nobody is second.")
    free = Invariant("free", "", PAYMENT, implies(Equal(STATUS, Const("asked")), Missing(SECOND)), "Nobody is at all.")
    old = replace(APPROVAL, invariants=(*APPROVAL.invariants, early, free))
    ask = APPROVAL.operation("ask").cases[0].effect
    new = with_effect(old, "ask", *ask, Assignment(SECOND, Const("eve")))
    found = {one.name: one.fate for one in judged(old, new)}
    # ``early`` follows from ``free`` by one step; with ``free`` gone it is false too, and must not be called proved.
    assert found["free"] is Fate.FALLS
    assert found["early"] is Fate.FALLS
    assert found["due"] is Fate.STAYS


def test_what_speaks_of_things_that_are_not_there_cannot_be_said() -> None:
    (payment,) = APPROVAL.machines
    less = replace(payment, fields=tuple(f for f in payment.fields if f.name != "due_at"))
    ask, approve, confirm, lapse = APPROVAL.operations
    new = replace(
        APPROVAL,
        machines=(less,),
        operations=(
            replace(ask, cases=(replace(ask.cases[0], effect=ask.cases[0].effect[:1]),)),
            replace(approve, guards=approve.guards[:1]),
            replace(confirm, guards=confirm.guards[:2]),
        ),
        invariants=APPROVAL.invariants[:1],
        step_properties=(),
        progress=(),
        checked=False,
    )
    assert lapse not in new.operations
    found = fates(APPROVAL, new)
    assert found[("two_people", "both")] is Fate.STAYS
    assert found[("due", "old")] is Fate.UNSAID
    assert found[("in_time", "old")] is Fate.UNSAID
    assert found[("no_limbo", "old")] is Fate.UNSAID
    due = next(one for one in judged(APPROVAL, new) if one.name == "due")
    assert "payment.due_at" in due.reason


def test_a_statement_that_is_false_of_both_is_told_as_that() -> None:
    wrong = StepProperty("never_second", "", PAYMENT, Missing(FieldOf("payment", "second", after=True)), "Nobody.")
    both = replace(APPROVAL, step_properties=(*APPROVAL.step_properties, wrong))
    new = with_guard(both, "confirm", "in_time", None)
    found = {one.name: one.fate for one in judged(both, new)}
    assert found["never_second"] is Fate.FALSE
    assert found["in_time"] is Fate.FALLS


def test_what_cannot_be_proved_is_unknown() -> None:
    """True in every run, but not inductive: nothing says that a payment which was confirmed has come by ``once``."""
    alone = replace(APPROVAL, invariants=(), step_properties=(), progress=())
    shy = Invariant(
        "shy", "", PAYMENT, implies(Equal(STATUS, Const("approved")), present(FIRST)), "Somebody was first."
    )
    old = replace(alone, invariants=(shy,))
    found = {one.name: one for one in judged(old, with_guard(old, "lapse", "late", Equal(DUE, Now())))}
    assert found["shy"].fate is Fate.UNKNOWN
    assert "old: " in found["shy"].reason


def test_a_reworded_meaning_or_another_order_is_no_other_statement() -> None:
    progress: Progress = replace(APPROVAL.progress[0], meaning="Said otherwise.", bound=("lapse",))
    invariants = tuple(replace(i, clause="§9", statement=Not(Not(i.statement))) for i in APPROVAL.invariants)
    new = replace(APPROVAL, progress=(progress,), invariants=invariants)
    assert {of for _, of in fates(APPROVAL, new)} == {"both"}
