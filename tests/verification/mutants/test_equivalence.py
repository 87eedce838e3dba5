"""The solver calls a mutant equivalent exactly if no lawful state tells it from the contract, by plain evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import pytest
from tests.verification.mutants.small_chapters import APPROVAL, GROUP, HOOK, with_operation

from fencepost_model.contract import Contract
from fencepost_model.semantics import Accepted, Call, Member, Population, Semantics, State
from fencepost_model.shapes import Assignment, Guard
from fencepost_model.specification import Chapter
from fencepost_model.terms import Const, FieldOf, Missing, Not, Value, present
from fencepost_verification.explore.local import explore_aggregate
from fencepost_verification.mutants.equivalence import Comparison
from fencepost_verification.mutants.making import Mutant, mutants_of
from fencepost_verification.prove import smt
from fencepost_verification.prove.smt import Answer

FIRST, SECOND, DUE = (FieldOf("payment", name) for name in ("first", "second", "due_at"))


def with_needless_parts() -> Contract:
    """The approval with a guard that others imply, and with effects that change nothing, or change something."""
    confirm, ask = APPROVAL.contract.operation("confirm"), APPROVAL.contract.operation("ask")
    (confirmed,), (asked,) = confirm.cases, ask.cases
    needless = Guard("approved_before", present(FIRST), "approval", "the invariant two_people says so")
    never_null = Guard("not_missing", Not(Missing(DUE)), "approval", "the invariant due says so")
    again = (Assignment(DUE, DUE), Assignment(FIRST, FIRST))
    nobody_yet = (Assignment(FIRST, Const(None)), Assignment(SECOND, Const(None)))
    contract = with_operation(
        APPROVAL.contract,
        replace(
            confirm,
            guards=(*confirm.guards, needless, never_null),
            cases=(replace(confirmed, effect=(*confirmed.effect, *again)),),
        ),
    )
    return with_operation(contract, replace(ask, cases=(replace(asked, effect=(*asked.effect, *nobody_yet)),)))


NEEDLESS = with_needless_parts()


def answers(contract: Contract) -> dict[str, bool | None]:
    comparison = Comparison(contract)
    return {mutant.name: comparison.same(mutant) for mutant in mutants_of(contract)}


@pytest.fixture(scope="module")
def told() -> dict[str, bool | None]:
    return answers(NEEDLESS)


@pytest.mark.parametrize(
    "name",
    [
        "confirm: approved_before dropped",
        "confirm: not_missing dropped",
        "confirm/approved: payment.due_at lost",
        "confirm/approved: payment.first lost",
        "ask/asked: payment.first lost",
        "ask/asked: payment.second lost",
    ],
)
def test_what_is_implied_or_assigned_already_makes_no_difference(told: dict[str, bool | None], name: str) -> None:
    assert told[name] is True


@pytest.mark.parametrize(
    "name",
    [
        "approve: in_time shifted by one",
        "lapse: late shifted by one",
        "confirm: others dropped",
        "confirm/approved: payment.second lost",
        "ask: place dropped",
    ],
)
def test_a_shifted_boundary_a_guard_that_forbids_and_an_effect_that_changes_make_one(
    told: dict[str, bool | None], name: str
) -> None:
    assert told[name] is False


# --- against plain evaluation, on every lawful row of few values ------------------------------------------------------


def lawful_rows(patience: int) -> Iterator[tuple[Semantics, State]]:
    """Every lawful state of one payment over two people and five instants, reached or not."""
    semantics = Semantics(NEEDLESS, Population(Member("payment", "payment")), {"patience": patience})
    people: tuple[Value, ...] = (None, "ann", "bob")
    nothing = dict(semantics.empty_rows()[0])
    rows = [nothing] + [
        {**nothing, "status": status, "first": first, "second": second, "due_at": due}
        for status, first, second, due in product(
            ("asked", "once", "approved", "lapsed"), people, people, (None, *range(5))
        )
    ]
    for row, now in product(rows, range(4)):
        state = State(now, ((row,),))
        if not semantics.broken_invariants(state):
            yield semantics, state


def outcome(semantics: Semantics, state: State, call: Call) -> State | None:
    """Where a call leads; None where it is refused."""
    match semantics.attempt(state, call):
        case Accepted(_, after):
            return after
        case _:
            return None


def differs_on_a_lawful_row(mutant: Mutant) -> bool:
    operation = NEEDLESS.operation(mutant.operation)
    called = [dict[str, Value](by=by) for by in ("ann", "bob")] if operation.parameters else [dict[str, Value]()]
    for patience in (1, 2):
        for semantics, state in lawful_rows(patience):
            other = Semantics(mutant.contract, semantics.population, semantics.settings)
            for params in called:
                call = Call(operation.name, 0, {"payment": 0}, params)
                if outcome(semantics, state, call) != outcome(other, state, call):
                    return True
    return False


def test_the_solver_and_plain_evaluation_agree_on_every_mutant(told: dict[str, bool | None]) -> None:
    mutants = list(mutants_of(NEEDLESS))
    assert {mutant.name: not differs_on_a_lawful_row(mutant) for mutant in mutants} == told
    assert {True, False} == set(told.values())


@pytest.mark.parametrize("chapter", [GROUP, HOOK], ids=lambda chapter: chapter.name)
def test_an_equivalent_mutant_has_the_states_and_moves_of_the_contract(chapter: Chapter) -> None:
    told = answers(chapter.contract)
    same = [mutant for mutant in mutants_of(chapter.contract) if told[mutant.name]]
    assert same
    for world in chapter.small_worlds:
        written = explore_aggregate(world)
        for mutant in same:
            explored = explore_aggregate(world, mutant.contract)
            assert explored.states == written.states, mutant.name
            assert len(explored.moves) == len(written.moves), mutant.name


def test_where_the_solver_gives_up_nothing_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    comparison = Comparison(APPROVAL.contract)
    monkeypatch.setattr(smt.Solver, "ask", lambda *_: Answer.UNKNOWN)
    assert {comparison.same(mutant) for mutant in mutants_of(APPROVAL.contract)} == {None}
