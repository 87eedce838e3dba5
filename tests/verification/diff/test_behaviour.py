"""The walk of two contracts in step: what it tells is what plain evaluation tells, and shortest runs replay."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.verification.diff.pairs import (
    approval,
    checked,
    plain_differences,
    with_effect,
    with_guard,
    with_operation,
)

from fencepost_model.contract import Contract
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.machines.job_worlds import JOB_PLAIN
from fencepost_model.semantics import Member, Population
from fencepost_model.shapes import Assignment, Field, LegacyRow, Machine, Parameter, Sort, Variable
from fencepost_model.terms import Const, FieldOf, Now, Param, Plus, Setting, Truth
from fencepost_model.worlds import World, const
from fencepost_verification.diff.behaviour import Behaviour, Difference, Kind, compared
from fencepost_verification.explore.necessity import Conjunct, without
from fencepost_verification.mutants.making import Mutant, mutants_of

APPROVAL = approval().contract
SMALL = approval().worlds[0]
STATUS, FIRST, DUE = (FieldOf("payment", name) for name in ("status", "first", "due_at"))


def walked(old: Contract, new: Contract, *more: World) -> Behaviour:
    return compared(old, new, (replace(SMALL, contract=new),), (replace(SMALL, contract=old), *more))


def told(behaviour: Behaviour) -> dict[tuple[Kind, str, str], int]:
    return {(d.kind, d.transition, d.becomes): len(d.trace.steps) for d in behaviour.differences}


def only(behaviour: Behaviour) -> Difference:
    (one,) = behaviour.differences
    return one


MUTANTS = list(mutants_of(APPROVAL))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_it_tells_of_a_mutant_what_plain_evaluation_tells(mutant: Mutant) -> None:
    for old, new in ((APPROVAL, mutant.contract), (mutant.contract, APPROVAL)):
        found = walked(old, new)
        assert found.unknown == ()
        assert told(found) == plain_differences(old, new, SMALL)


def test_most_mutants_differ() -> None:
    """Else the comparison above would be one of nothing with nothing."""
    assert len(MUTANTS) >= 15
    assert sum(bool(plain_differences(APPROVAL, mutant.contract, SMALL)) for mutant in MUTANTS) > len(MUTANTS) / 2


def test_a_contract_does_what_it_does_itself() -> None:
    assert walked(APPROVAL, APPROVAL).same_text
    # Not equal, so it is walked; but it behaves alike.
    found = walked(APPROVAL, with_guard(APPROVAL, "lapse", "always", Truth(True)))
    assert not found.same_text
    assert found.differences == ()
    assert found.unknown == ()
    assert found.walks[0].joint > 60
    assert found.walks[0].alone == (0, 0)


def test_a_case_under_another_name_is_no_difference() -> None:
    lapse = APPROVAL.operation("lapse")
    renamed = with_operation(APPROVAL, replace(lapse, cases=(replace(lapse.cases[0], name="over"),)))
    assert walked(APPROVAL, renamed).differences == ()


def test_a_status_that_is_new_shows_what_is_possible_only_there() -> None:
    found = compared(APPROVAL, checked().contract, checked().small_worlds, approval().worlds)
    assert told(found) == {(Kind.ADDED, "release", ""): 4, (Kind.CHANGED, "confirm", "confirm"): 3}
    release, confirm = found.differences
    assert str(release.trace) == "ask ; approve ; confirm ; release"
    assert "the two part at confirm" in release.otherwise
    assert confirm.fields == ("payment.status",)
    assert confirm.ends == {"payment.status": ("approved", "checked")}
    back = compared(checked().contract, APPROVAL, approval().small_worlds, checked().worlds)
    assert told(back) == {(Kind.REMOVED, "release", ""): 4, (Kind.CHANGED, "confirm", "confirm"): 3}


def test_a_refusal_names_the_guards_of_the_other_contract() -> None:
    dropped = with_guard(APPROVAL, "confirm", "others", None)
    one = only(walked(APPROVAL, dropped))
    assert (one.kind, one.transition, str(one.trace)) == (Kind.ADDED, "confirm", "ask ; approve ; confirm")
    assert one.otherwise == "refused by others"
    assert one.trace.semantics.contract is dropped
    one = only(walked(dropped, APPROVAL))
    assert (one.kind, one.otherwise) == (Kind.REMOVED, "refused by others")
    assert one.trace.semantics.contract is dropped


def test_an_operation_that_is_gone_is_told_as_such() -> None:
    less = replace(APPROVAL, operations=APPROVAL.operations[:-1], checked=False)
    found = walked(APPROVAL, less)
    assert [(d.kind, d.transition, d.otherwise) for d in found.differences] == [
        (Kind.REMOVED, "lapse", "has no operation lapse")
    ]
    # Its arguments are those that its own world offers: the new one cannot know them.
    without_approve = replace(APPROVAL, operations=(APPROVAL.operations[0],), checked=False)
    world = replace(SMALL, contract=without_approve, arguments={})
    found = compared(APPROVAL, without_approve, (world,), (SMALL,))
    assert (Kind.REMOVED, "approve", "") in told(found)
    assert found.unknown == ()


def test_what_nobody_offers_an_argument_for_is_unknown_not_the_same() -> None:
    without_approve = replace(APPROVAL, operations=(APPROVAL.operations[0],), checked=False)
    world = replace(SMALL, contract=without_approve, arguments={})
    found = compared(APPROVAL, without_approve, (world,), ())
    assert "approve is not called in approval-small: no world offers a value for its by" in "; ".join(found.unknown)
    assert compared(APPROVAL, with_guard(APPROVAL, "lapse", "late", None), (), ()).unknown


def test_a_field_that_nothing_looks_at_is_compared_all_the_same() -> None:
    """``first`` decides something; a note does not, and states are not told apart by it."""
    (payment,) = APPROVAL.machines
    noted = replace(payment, fields=(*payment.fields, Field("noted_at", Sort.INSTANT, "when it was last touched")))
    note = FieldOf("payment", "noted_at")
    base = replace(APPROVAL, machines=(noted,), checked=False)
    approve = base.operation("approve").cases[0].effect
    old = with_effect(base, "approve", *approve, Assignment(note, Now()))
    confirm = old.operation("confirm").cases[0].effect
    # Where no time has passed since, the note is the same: only a later confirmation shows it.
    new = with_effect(old, "confirm", *confirm, Assignment(note, Now()))
    one = only(walked(old, new))
    assert (one.kind, one.fields, len(one.trace.steps)) == (Kind.CHANGED, ("payment.noted_at",), 4)
    assert told(walked(old, new)) == plain_differences(old, new, replace(SMALL, contract=new))


def test_no_difference_hides_in_a_state_that_was_taken_for_another() -> None:
    """A remark decides nothing, so a payment with one is taken for one without; only the former shows who clears it."""
    (payment,) = APPROVAL.machines
    noted = replace(payment, fields=(*payment.fields, Field("remark", Sort.TEXT, "what somebody said")))
    remark = FieldOf("payment", "remark")
    base = replace(APPROVAL, machines=(noted,), checked=False)
    lapse = base.operation("lapse")
    said = replace(lapse.cases[0], name="said", effect=(Assignment(remark, Const("hm")),))
    asked = replace(APPROVAL.operation("approve").guards[0], name="asked")
    new = with_operation(base, replace(lapse, name="say", guards=(asked,), cases=(said,)))
    confirm = new.operation("confirm").cases[0].effect
    old = with_effect(new, "confirm", *confirm, Assignment(remark, Const(None)))
    one = only(walked(old, new))
    assert (one.kind, one.fields) == (Kind.CHANGED, ("payment.remark",))
    assert str(one.trace) == "ask ; say ; approve ; confirm"
    assert told(walked(old, new)) == plain_differences(old, new, replace(SMALL, contract=new))


def test_a_parameter_that_is_new_is_no_difference_until_it_does_something() -> None:
    ask = APPROVAL.operation("ask")
    extra = Parameter("extra", Sort.DURATION, "more patience")
    arguments = {**SMALL.arguments, "ask.extra": const(0, 1)}

    def found(new: Contract) -> Behaviour:
        return compared(APPROVAL, new, (replace(SMALL, contract=new, arguments=arguments),), (SMALL,))

    idle = with_operation(APPROVAL, replace(ask, parameters=(extra,)))
    assert found(idle).differences == ()
    status = ask.cases[0].effect[0]
    used = with_effect(idle, "ask", status, Assignment(DUE, Plus(Plus(Now(), Setting("patience")), Param("extra"))))
    one = only(found(used))
    assert (one.kind, one.transition, one.fields) == (Kind.ADDED, "ask", ("payment.due_at",))


def test_a_kind_of_entity_that_is_new_is_left_out_of_the_other_side() -> None:
    note = Machine("note", "a note on a payment", (Field("text", Sort.TEXT, "what it says"),), belongs_to="payment")
    annotated = replace(APPROVAL, machines=(*APPROVAL.machines, note), checked=False)
    annotate = replace(
        annotated.operation("lapse"),
        name="annotate",
        over=(Variable("payment", "payment"), Variable("note", "note", "payment")),
        guards=(),
        cases=(
            replace(
                annotated.operation("lapse").cases[0],
                name="annotated",
                effect=(Assignment(FieldOf("note", "text"), Const("late")),),
            ),
        ),
    )
    annotated = with_operation(annotated, annotate)
    population = Population(Member("payment", "payment", {}, (Member("note", "note"),)))
    world = replace(SMALL, contract=annotated, population=population)
    assert told(compared(APPROVAL, annotated, (world,), (SMALL,))) == {(Kind.ADDED, "annotate", ""): 1}
    assert told(compared(annotated, APPROVAL, (world,), (SMALL,))) == {(Kind.REMOVED, "annotate", ""): 1}


def test_what_was_found_before_a_number_ran_away_is_told_and_the_rest_is_unknown() -> None:
    status, _ = APPROVAL.operation("ask").cases[0].effect
    found = walked(APPROVAL, with_effect(APPROVAL, "ask", status, Assignment(DUE, Plus(Now(), Const(1000)))))
    one = only(found)
    assert (one.kind, one.ends) == (Kind.CHANGED, {"payment.due_at": (2, 1000)})
    assert "walked for 1 steps only: due_at leaves the range" in found.unknown[0]


def test_fixed_fields_that_one_side_lacks_are_given_to_the_other_alone() -> None:
    (payment,) = APPROVAL.machines
    kind = Field("currency", Sort.TEXT, "what it is paid in", nullable=False, fixed=True)
    new = replace(APPROVAL, machines=(replace(payment, fields=(*payment.fields, kind)),), checked=False)
    population = Population(Member("payment", "payment", {"currency": "euro"}))
    world = replace(SMALL, contract=new, population=population)
    for found in (compared(APPROVAL, new, (world,), (SMALL,)), compared(new, APPROVAL, (SMALL,), (world,))):
        assert found.differences == ()
        assert found.unknown == ()
        assert found.walks[0].joint > 60


def test_contracts_about_different_roots_cannot_be_walked() -> None:
    found = compared(JOB_CONTRACT, APPROVAL, (SMALL,), ())
    assert found.differences == ()
    assert "compare contracts about the same root" in found.unknown[0]


def test_rows_of_older_programs_begin_runs_of_their_own() -> None:
    (payment,) = APPROVAL.machines
    row = LegacyRow("half", {"status": "once", "first": "ann", "due_at": 3}, "approved once, long ago")
    new = replace(APPROVAL, machines=(replace(payment, legacy_rows=(row,)),), checked=False)
    for found, kind in ((walked(APPROVAL, new), Kind.ADDED), (walked(new, APPROVAL), Kind.REMOVED)):
        assert told(found) == {(kind, "a run that begins with half", ""): 0}
        assert only(found).trace.start.rows[0][0]["first"] == "ann"
        assert only(found).otherwise == "has no such row"
    other = replace(payment, legacy_rows=(replace(row, fields={**row.fields, "first": "bob"}),))
    found = walked(new, replace(APPROVAL, machines=(other,), checked=False))
    assert {d.otherwise for d in found.differences} == {"has other fields there: payment.first"}


def test_a_fence_that_is_lost_shows_on_the_job() -> None:
    unfenced = without(JOB_CONTRACT, Conjunct("renew", None, "generation"))
    world = replace(JOB_PLAIN, contract=unfenced)
    one = only(compared(JOB_CONTRACT, unfenced, (world,), (JOB_PLAIN,)))
    assert (one.kind, one.transition, one.otherwise) == (Kind.ADDED, "renew", "refused by generation")
    assert len(one.trace.steps) == 3
    assert one.steps > 100
