"""Sets of any number of members, two levels down, are proved or refuted; so are receptiveness and measures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from tests.verification.two_levels import (
    ASK,
    ASKED,
    CLOSE,
    CLOSE_EACH,
    DROP_BELOW,
    DROP_EACH,
    ENDING,
    HOST,
    LIVE_RUN,
    RECEPTIVE,
    REQUEST,
    RUN,
    SHUT,
    STATUS,
    TELLS_WHY,
    TWO_LEVELS,
    is_,
)

from fencepost_model.contract import Contract
from fencepost_model.measures import lowered, never_negative
from fencepost_model.shapes import (
    Actor,
    Assignment,
    Case,
    ForEach,
    Guard,
    Invariant,
    Operation,
    Progress,
    Selection,
    Variable,
)
from fencepost_model.terms import (
    AtMost,
    Const,
    Equal,
    FieldOf,
    Missing,
    Not,
    Now,
    Param,
    Some,
    Truth,
    all_of,
    implies,
    present,
)
from fencepost_verification.evidence import Held, Refuted
from fencepost_verification.prove.bounded import BoundedSearch, Found, GaveUp, Sought
from fencepost_verification.prove.obligations import Kind
from fencepost_verification.prove.prover import Label, Proof, prove
from fencepost_verification.prove.redundancy import Implied, Irrelevant, Redundancy, Relevant

SHALLOW = BoundedSearch(depth=4, children=1)


def no_search(contract: Contract, sought: Sought) -> Found:
    return GaveUp("nobody looked")


def with_also(operation: Operation, *also: ForEach) -> Contract:
    cases = tuple(replace(case, also=also) for case in operation.cases)
    operations = tuple(replace(o, cases=cases) if o.name == operation.name else o for o in TWO_LEVELS.operations)
    return replace(TWO_LEVELS, operations=operations, checked=False)


RUN_ALONE = replace(RUN, of=None)


def operation(name: str, over: tuple[Variable, ...], guard: Guard) -> Operation:
    done = Case("done", (), (Assignment(FieldOf("request", "status"), Const("dropped")),), "toy")
    return Operation(name, Actor.SYSTEM, Selection.NAMED, over, (guard,), (done,), "toy", "toy")


def blocked(operation: Operation) -> Operation:
    return replace(operation, guards=(*operation.guards, Guard("never", Truth(False), "toy", "toy")))


def failing(proof: Proof) -> Mapping[str, Label | None]:
    return {o.name: o.label for o in (*proof.refuted, *proof.unknown)}


def test_every_obligation_holds_and_shortcuts_change_no_verdict() -> None:
    proof = prove(TWO_LEVELS)
    assert failing(proof) == {}
    assert len(proof.held) == proof.count > 90
    slow = prove(TWO_LEVELS, frame=False, grouped=False)
    assert {o.name: type(o.verdict) for o in slow.obligations} == {o.name: type(o.verdict) for o in proof.obligations}


@pytest.mark.parametrize(
    ("mutant", "broken"),
    [
        (with_also(CLOSE), "close keeps pending_of_a_live_run"),
        (with_also(SHUT), "shut keeps no_run_after_the_shut"),
        (with_also(SHUT, CLOSE_EACH), "shut keeps pending_of_a_live_run"),
        (with_also(SHUT, DROP_BELOW), "shut keeps waits_for_some_request"),
        (
            with_also(SHUT, replace(CLOSE_EACH, where=is_(FieldOf("each_run", "status"), "open")), DROP_BELOW),
            "shut keeps no_run_after_the_shut",
        ),
        (with_also(CLOSE, replace(DROP_EACH, where=Truth(True))), "close obeys over_is_over"),
        (with_also(CLOSE, replace(DROP_EACH, effect=DROP_EACH.effect[:1])), "close keeps dropped_has_ended"),
        # A request that nobody has asked for yet is touched with the others.
        (
            with_also(CLOSE, replace(DROP_EACH, where=Truth(True), effect=DROP_EACH.effect[1:])),
            "close keeps well_formed(request)",
        ),
    ],
)
def test_a_set_that_is_left_out_or_too_wide_is_refuted_with_a_run(mutant: Contract, broken: str) -> None:
    proof = prove(mutant, search=SHALLOW)
    (found,) = (o for o in proof.obligations if o.name == broken)
    assert isinstance(found.verdict, Refuted)
    assert found.label is Label.REACHABLE


def test_what_a_set_writes_is_not_held_by_frame() -> None:
    framed = {o.name for o in prove(TWO_LEVELS).by_frame}
    assert "close keeps dropped_has_ended" not in framed
    assert "shut keeps closed_has_ended" not in framed
    assert "answer/more keeps no_run_after_the_shut" in framed
    assert "shut keeps waits_for_some_request" not in framed


def test_a_set_reaches_exactly_the_members_of_the_entities_of_the_step() -> None:
    """Closing one run drops no request of another one."""
    other = replace(RUN, name="other")
    theirs = replace(REQUEST, of="other")
    stays = Invariant(
        "stays",
        "toy",
        (HOST, RUN, other, theirs),
        Not(all_of(is_(STATUS, "waiting"), is_(FieldOf("other", "status"), "open"), is_(ASKED, "dropped"))),
        "false: the other one may be closed, and this one waits",
    )
    contract = replace(TWO_LEVELS, invariants=(*TWO_LEVELS.invariants, stays))
    proof = prove(contract, search=no_search)
    assert "close keeps stays" not in failing(proof)
    assert "answer/last keeps stays" in failing(proof)


def test_a_property_of_one_operation_reads_its_arguments() -> None:
    proof = prove(TWO_LEVELS)
    assert [o.transition for o in proof.about("close_tells_why") if o.kind is Kind.STEP] == ["close"]
    wrong = replace(TELLS_WHY, statement=Not(Equal(Param("why"), Const("late"))))
    refuted = prove(replace(TWO_LEVELS, step_properties=(wrong,)), search=SHALLOW)
    (found,) = (o for o in refuted.about("close_tells_why") if o.kind is Kind.STEP)
    assert isinstance(found.verdict, Refuted)
    never = replace(TELLS_WHY, statement=implies(Missing(Param("why")), Truth(False)))
    assert "what close_tells_why supposes occurs (1)" in failing(prove(replace(TWO_LEVELS, step_properties=(never,))))


def waiting_for(seconds: int) -> Contract:
    """Runs that may be closed only so many seconds after the beginning of all time."""
    late = Guard("late", AtMost(Const(seconds), Now()), "toy", "toy")
    operations = tuple(replace(o, guards=(*o.guards, late)) if o.name == "close" else o for o in TWO_LEVELS.operations)
    return replace(TWO_LEVELS, operations=operations)


def test_at_once_means_now_and_not_later() -> None:
    later = replace(RECEPTIVE, name="later", at_once=False)
    contract = replace(waiting_for(5), progress=(RECEPTIVE, later))
    proof = prove(contract, search=SHALLOW)
    verdicts = {o.statement: o.verdict for o in proof.obligations if o.kind is Kind.PROGRESS}
    assert isinstance(verdicts["later"], Held)
    assert isinstance(verdicts["a_run_can_be_closed"], Refuted)


def test_somebody_who_can_act_at_once_is_found_among_any_number_of_members() -> None:
    shown = Some("any", "request", "run", is_(FieldOf("any", "status"), "pending"))
    answered = Progress("is_answered", "toy", (HOST, RUN), shown, ("answer",), "toy", at_once=True)
    asked = Progress("can_ask", "toy", (HOST, RUN), LIVE_RUN, ("ask",), "toy", at_once=True)
    proof = prove(replace(TWO_LEVELS, progress=(answered, asked)), search=no_search)
    verdicts = {o.statement: o.verdict for o in proof.obligations if o.kind is Kind.PROGRESS}
    assert isinstance(verdicts["is_answered"], Held)
    assert not isinstance(verdicts["can_ask"], Held), "each request may have been asked for already"


@pytest.mark.parametrize("over", [(RUN_ALONE,), (HOST, RUN)], ids=["unsaid", "said"])
@pytest.mark.parametrize("acts_over", [(RUN_ALONE,), (HOST, RUN)], ids=["unsaid", "said"])
def test_who_is_bound_to_act_may_leave_parents_unsaid(
    over: tuple[Variable, ...], acts_over: tuple[Variable, ...]
) -> None:
    """An operation and a statement mean one entity by one name, whether or not they name what it belongs to."""
    close = replace(CLOSE, over=acts_over)
    operations = tuple(close if o.name == "close" else o for o in TWO_LEVELS.operations)
    live = replace(TWO_LEVELS, operations=operations, progress=(replace(RECEPTIVE, over=over),), checked=False)
    proof = prove(live, search=no_search)
    assert [type(o.verdict) for o in proof.obligations if o.kind is Kind.PROGRESS] == [Held]
    shy = replace(live, operations=tuple(blocked(o) if o.name == "close" else o for o in operations), checked=False)
    (stuck,) = (o for o in prove(shy, search=no_search).obligations if o.kind is Kind.PROGRESS)
    assert stuck.counterexample is not None


def test_who_is_bound_to_act_may_leave_parents_of_parents_unsaid() -> None:
    drop = operation("drop", (replace(REQUEST, of=None),), Guard("asked", is_(ASKED, "pending"), "toy", "toy"))
    contract = replace(
        TWO_LEVELS,
        operations=(*TWO_LEVELS.operations, drop),
        progress=(Progress("drops", "toy", (RUN_ALONE, REQUEST), is_(ASKED, "pending"), ("drop",), "toy"),),
        checked=False,
    )
    proof = prove(contract, search=no_search)
    assert [type(o.verdict) for o in proof.obligations if o.kind is Kind.PROGRESS] == [Held]


def test_a_measure_is_lowered_by_the_operations_bound_to_it() -> None:
    contract = replace(
        TWO_LEVELS,
        invariants=(*TWO_LEVELS.invariants, *never_negative(ENDING, present(STATUS))),
        step_properties=lowered(ENDING),
    )
    assert failing(prove(contract)) == {}
    wrong = replace(ENDING, by=("start", "close", "answer"))
    proof = prove(replace(contract, step_properties=lowered(wrong)), search=no_search)
    assert set(failing(proof)) == {
        "answer/more obeys answer_lowers_ending",
        "answer/last obeys answer_lowers_ending",
    }


def test_what_the_world_gives_is_as_the_fields_declare() -> None:
    """Fixed fields are there before anything exists; a world gives no seat below nought."""
    seated = Invariant("seated", "toy", (HOST, RUN), AtMost(Const(0), FieldOf("run", "seat")), "toy")
    proof = prove(replace(TWO_LEVELS, invariants=(*TWO_LEVELS.invariants, seated)))
    assert failing(proof) == {}


def test_redundant_conjuncts_are_told_from_others_two_levels_down() -> None:
    redundancy = Redundancy(TWO_LEVELS)
    waits = redundancy.implied_by("answer", None, "waits")
    assert isinstance(waits, Implied)
    assert "pending_of_a_live_run" in waits.names
    assert "asked_for_it" in waits.names
    assert not isinstance(redundancy.implied_by("shut", None, "not_shut"), Implied)


def test_what_a_set_changes_counts_when_a_dropped_condition_is_weighed() -> None:
    """Without its condition the second case would be open too; only what it does to each request differs."""
    last = Case("last", (), (), "toy", (DROP_EACH,))
    first = Case("first", (Guard("late", Equal(Param("why"), Const("late")), "toy", "toy"),), (), "toy")
    same = replace(last, when=(Guard("not_late", Not(first.when[0].term), "toy", "toy"),))
    for case, expected in ((same, Relevant), (replace(same, also=()), Irrelevant)):
        close = replace(CLOSE, cases=(first, case))
        operations = tuple(close if o.name == "close" else o for o in TWO_LEVELS.operations)
        contract = replace(TWO_LEVELS, operations=operations, checked=False)
        assert isinstance(Redundancy(contract).step_irrelevant("close", case.name, "not_late"), expected)


def test_an_operation_may_change_a_set_and_its_own_member_of_the_same_kind() -> None:
    """Asking again notes it on each request of the run, the new one included."""
    note = ForEach(
        (replace(REQUEST, name="each"),),
        present(FieldOf("each", "status")),
        (replace(DROP_EACH.effect[1], value=Now()),),
        "each that is there is touched",
    )
    (case,) = ASK.cases
    ask = replace(ASK, cases=(replace(case, also=(note,)),))
    noted = Invariant(
        "pending_not_touched",
        "toy",
        (HOST, RUN, REQUEST),
        implies(is_(ASKED, "pending"), Missing(FieldOf("request", "ended_at"))),
        "false once a run asks twice",
    )
    kept = tuple(i for i in TWO_LEVELS.invariants if i.name != "pending_has_not_ended")
    operations = tuple(ask if o.name == "ask" else o for o in TWO_LEVELS.operations)
    contract = replace(TWO_LEVELS, operations=operations, invariants=(*kept, noted))
    proof = prove(contract, search=BoundedSearch(depth=3, children=2))
    (found,) = (o for o in proof.obligations if o.name == "ask keeps pending_not_touched")
    assert isinstance(found.verdict, Refuted)
    assert found.verdict.trace is not None
    assert [step.transition for step in found.verdict.trace.steps if step.actor != "clock"] == ["start", "ask", "ask"]
    touched = found.verdict.trace.end.rows[0]
    times = [row["ended_at"] for row in touched if "key" in row and row["status"] is not None]
    assert sorted(times, key=str) == sorted((None, times[0] if times[0] is not None else times[1]), key=str)
