"""Mutants are made of every place where the mistake can be made, each with one mistake and a name of its own."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from tests.verification.mutants.small_chapters import APPROVAL, GROUP, HOOK
from tests.verification.term_strategies import terms

from fencepost_model.specification import CHAPTERS, Chapter
from fencepost_model.terms import (
    AllOf,
    AtMost,
    Choose,
    Const,
    Equal,
    Every,
    FieldOf,
    Larger,
    Less,
    Not,
    Now,
    Setting,
    Smaller,
    Some,
    TruthTerm,
    Value,
    ValueTerm,
    walk,
)
from fencepost_verification.mutants.making import (
    DROPPED,
    LOST,
    MERGED,
    SHIFTED,
    SWAPPED,
    THINNED,
    Mutant,
    mutants_of,
    mutants_of_chapter,
    wrong_truths,
    wrong_values,
)

SMALL = pytest.mark.parametrize("chapter", [APPROVAL, GROUP, HOOK], ids=lambda chapter: chapter.name)

DUE, ALIVE = FieldOf("row", "due_at"), FieldOf("row", "alive")
NOW_DUE, LATER = AtMost(DUE, Now()), Less(Now(), DUE)
IS_ALIVE = Equal(ALIVE, Const(True))


@pytest.mark.parametrize(
    ("term", "wrong"),
    [
        (LATER, [(SHIFTED, AtMost(Now(), DUE))]),
        (NOW_DUE, [(SHIFTED, Less(DUE, Now()))]),
        (Not(LATER), [(SHIFTED, Not(AtMost(Now(), DUE)))]),
        (IS_ALIVE, []),
        (
            AllOf((IS_ALIVE, LATER)),
            [
                (THINNED, AllOf((LATER,))),
                (THINNED, AllOf((IS_ALIVE,))),
                (SHIFTED, AllOf((IS_ALIVE, AtMost(Now(), DUE)))),
            ],
        ),
        (AllOf((IS_ALIVE,)), []),
        (Some("row", "row", "queue", LATER), [(SHIFTED, Some("row", "row", "queue", AtMost(Now(), DUE)))]),
        (Every("row", "row", "queue", NOW_DUE), [(SHIFTED, Every("row", "row", "queue", Less(DUE, Now())))]),
    ],
)
def test_the_mistakes_in_a_condition(term: TruthTerm, wrong: list[tuple[str, TruthTerm]]) -> None:
    assert list(wrong_truths(term)) == wrong


@pytest.mark.parametrize(
    ("term", "wrong"),
    [
        (Smaller(DUE, Now()), [(SWAPPED, Larger(DUE, Now()))]),
        (Larger(DUE, Now()), [(SWAPPED, Smaller(DUE, Now()))]),
        (Setting("lease_seconds"), []),
        (
            Choose(NOW_DUE, Now(), Smaller(DUE, Now())),
            [
                (SHIFTED, Choose(Less(DUE, Now()), Now(), Smaller(DUE, Now()))),
                (SWAPPED, Choose(NOW_DUE, Now(), Larger(DUE, Now()))),
            ],
        ),
    ],
)
def test_the_mistakes_in_a_value(term: ValueTerm, wrong: list[tuple[str, ValueTerm]]) -> None:
    assert list(wrong_values(term)) == wrong


@given(terms())
def test_every_place_in_a_condition_is_got_wrong_once(term: TruthTerm) -> None:
    wrong = list(wrong_truths(term))
    assert all(each != term for _, each in wrong)
    places: Counter[str] = Counter()
    for part in walk(term):
        match part:
            case Less() | AtMost():
                places[SHIFTED] += 1
            case Smaller() | Larger():
                places[SWAPPED] += 1
            case AllOf(parts) if len(parts) > 1:
                places[THINNED] += len(parts)
            case _:
                pass
    assert Counter(kind for kind, _ in wrong) == places


@SMALL
def test_each_mutant_has_a_name_of_its_own_and_one_operation_that_differs(chapter: Chapter) -> None:
    mutants = list(mutants_of(chapter.contract))
    names = [mutant.name for mutant in mutants]
    assert names
    assert len(set(names)) == len(names)
    for mutant in mutants:
        pairs = zip(chapter.contract.operations, mutant.contract.operations, strict=True)
        assert [one.name for one, two in pairs if one != two] == [mutant.operation]
        assert mutant.contract.invariants == chapter.contract.invariants
        assert mutant.contract.step_properties == chapter.contract.step_properties


@SMALL
def test_every_guard_is_dropped_and_every_effect_lost(chapter: Chapter) -> None:
    kinds = Counter(mutant.kind for mutant in mutants_of(chapter.contract))
    operations = chapter.contract.operations
    effects = [each.effect for _, each in chapter.contract.transitions()]
    sets = [each for _, case in chapter.contract.transitions() for each in case.also]
    assert kinds[LOST] == sum(map(len, effects)) + len(sets) + sum(len(each.effect) for each in sets)
    assert kinds[MERGED] == sum(len(o.cases) for o in operations if len(o.cases) > 1)
    assert kinds[DROPPED] >= sum(len(operation.guards) for operation in operations)


def mutant_named(chapter: Chapter, name: str) -> Mutant:
    (found,) = (mutant for mutant in mutants_of(chapter.contract) if mutant.name == name)
    return found


def value_of_set(mutant: Mutant, case: str) -> list[tuple[TruthTerm, int]]:
    """What each set of a case of the mutant is restricted to, and how many fields it assigns."""
    (found,) = (each for each in mutant.contract.operation(mutant.operation).cases if each.name == case)
    return [(each.where, len(each.effect)) for each in found.also]


def test_the_sets_that_a_case_changes_are_got_wrong_too() -> None:
    (written,) = HOOK.contract.operation("claim_batch").cases[1].also
    assert isinstance(written.where, AllOf)
    pending, picked = written.where.parts
    assert value_of_set(mutant_named(HOOK, "claim_batch/claimed: each row lost"), "claimed") == []
    thinned = [f"claim_batch/claimed: each row{number} without a part" for number in ("", " (2)")]
    assert [value_of_set(mutant_named(HOOK, name), "claimed") for name in thinned] == [
        [(AllOf((picked,)), 2)],
        [(AllOf((pending,)), 2)],
    ]
    lost = mutant_named(HOOK, "claim_batch/claimed: each row.status lost")
    assert value_of_set(lost, "claimed") == [(written.where, 1)]


def condition_names(mutant: Mutant) -> dict[str, list[str]]:
    cases = mutant.contract.operation(mutant.operation).cases
    return {case.name: [guard.name for guard in case.when] for case in cases}


def test_a_case_that_is_forgotten_is_forgotten_in_the_conditions_of_the_later_ones_too() -> None:
    as_written = {case.name: [g.name for g in case.when] for case in GROUP.contract.operation("withdraw").cases}
    assert as_written["cancelled"] == ["not_asked_by_another", "unheld"]
    forgotten = mutant_named(GROUP, "withdraw/others_ask: case falls to the next case")
    assert condition_names(forgotten) == {"cancelled": ["unheld"], "stopping": ["not_unheld", "held_by_a_worker"]}


def test_a_mistake_in_a_condition_is_made_in_the_conditions_of_the_later_cases_too() -> None:
    wrong = mutant_named(GROUP, "withdraw/others_ask: asked_by_another without a part")
    first, second, _ = wrong.contract.operation("withdraw").cases
    (mistaken,) = first.when
    assert second.when[0].term == Not(mistaken.term)


def test_what_a_chapter_extends_is_not_tried_again() -> None:
    names = {mutant.name for mutant in mutants_of_chapter(CHAPTERS["attempt"])}
    known = {mutant.name for mutant in mutants_of(CHAPTERS["job"].contract)}
    assert "complete_artifact: current_attempt dropped" in names
    assert not names & known
    assert {mutant.name for mutant in mutants_of(CHAPTERS["attempt"].contract)} == names | known


def test_values_of_a_term_are_left_as_they_are() -> None:
    values: list[Value] = [1, 2.5, True, None, "word"]
    assert [list(wrong_values(Const(value))) for value in values] == [[]] * len(values)
