"""The column reading of terms is that of plain evaluation: random terms over columns of random small rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.verification.term_strategies import (
    FIELDS,
    POPULATION,
    Environment,
    environments,
    fields_of_set,
    names_read,
    rows_after,
    sets,
    terms,
    value_terms,
)

from fencepost_model.shapes import Case, ForEach, Sort
from fencepost_model.terms import Bare, Const, Less, Not, TruthTerm, Value, ValueTerm, holds, value_of
from fencepost_verification.explore.columns import NULL, Codebook, Column, column_of, mask_of
from fencepost_verification.explore.local import FrontierScope, Layout, effects_of
from fencepost_verification.explore.observation import Observed

PLACES = tuple((slot.index, field.name) for slot in POPULATION.slots for field in FIELDS)
FLAGS = frozenset(field.name for field in FIELDS if field.sort is Sort.FLAG)
LAYOUT = Layout(
    tuple((slot, name, False) for slot, name in PLACES),
    {place: position for position, place in enumerate(PLACES)},
    tuple(Observed.VALUE for _ in PLACES),
)


def frontier(drawn: Sequence[Environment], codebook: Codebook) -> FrontierScope:
    """The environments as one frontier, a state each."""

    def column(values: Sequence[Value]) -> Column:
        return np.array([codebook.encode(value) for value in values], dtype=np.int64)

    return FrontierScope(
        codebook=codebook,
        layout=LAYOUT,
        population=POPULATION,
        settings={name: column([each.settings[name] for each in drawn]) for name in drawn[0].settings},
        binding={"parent": 0},
        clock=column([each.now for each in drawn]),
        columns=[column([each.before[slot][name] for each in drawn]) for slot, name in PLACES],
        params={name: column([each.params[name] for each in drawn]) for name in drawn[0].params},
        ends=[column([each.after[slot][name] for each in drawn]) for slot, name in PLACES],
    )


def frontiers(term: TruthTerm | ValueTerm) -> st.SearchStrategy[list[Environment]]:
    """A few environments for a term; fields that it does not read are null in all of them."""
    return st.lists(environments(whole=True, open_fields=names_read(term)), min_size=1, max_size=4)


@given(st.data(), terms(whole=True))
def test_truth_columns_agree_with_plain_evaluation(data: st.DataObject, term: TruthTerm) -> None:
    drawn = data.draw(frontiers(term))
    mask = np.broadcast_to(mask_of(term, frontier(drawn, Codebook())), len(drawn))
    assert mask.tolist() == [holds(term, each.scope()) for each in drawn]


@given(st.data())
def test_value_columns_agree_with_plain_evaluation(data: st.DataObject) -> None:
    sort = data.draw(st.sampled_from(list(Sort)))
    term: ValueTerm = data.draw(value_terms(sort, whole=True))
    drawn = data.draw(frontiers(term))
    codebook = Codebook()
    column = np.broadcast_to(column_of(term, frontier(drawn, codebook)), len(drawn))
    told = [codebook.decode(int(code), sort is Sort.FLAG) for code in column]
    assert told == [value_of(term, each.scope()) for each in drawn]


@given(st.data(), terms(whole=True))
def test_choosing_states_and_reading_commute(data: st.DataObject, term: TruthTerm) -> None:
    drawn = data.draw(frontiers(term))
    codebook = Codebook()
    # The settings of a world are the same in all its states, and stand for all of them.
    settings = {name: np.asarray(codebook.encode(value)) for name, value in drawn[0].settings.items()}
    scope = replace(frontier(drawn, codebook), settings=settings)
    chosen = np.array(data.draw(st.lists(st.integers(0, len(drawn) - 1), max_size=6)), dtype=np.int64)
    whole = np.broadcast_to(mask_of(term, scope), len(drawn))
    part = np.broadcast_to(mask_of(term, scope.keeping(chosen)), len(chosen))
    assert part.tolist() == whole[chosen].tolist()


def test_null_strings_and_numbers_are_never_taken_for_each_other() -> None:
    codebook = Codebook()
    codes = [int(codebook.encode(value)) for value in (None, "a", "b", 0, 1, 7)]
    assert len(set(codes)) == len(codes)
    assert codes[0] == NULL
    assert [codebook.decode(code) for code in codes] == [None, "a", "b", 0, 1, 7]
    assert codebook.decode(1, is_flag=True) is True


def test_a_fraction_is_refused_and_not_rounded() -> None:
    with pytest.raises(ValueError, match="smaller unit"):
        Codebook().encode(0.5)


def test_a_disagreement_would_be_seen() -> None:
    # The oracle itself: a comparison with null is false, and so is its mirror image.
    term = Not(Less(Const(None), Const(1)))
    assert holds(term, Bare({}))
    assert not holds(Less(Const(1), Const(None)), Bare({}))


@given(st.data(), sets(whole=True))
def test_what_is_done_to_each_agrees_with_plain_evaluation(data: st.DataObject, each: ForEach) -> None:
    environment = environments(whole=True, open_fields=fields_of_set(each))
    drawn = data.draw(st.lists(environment, min_size=1, max_size=4))
    case = Case("done", (), (), "each child", (each,))
    codebook = Codebook()
    changed = effects_of(case, frontier(drawn, codebook))
    for number, one in enumerate(drawn):
        after = rows_after(case, one)
        for position, (slot, name) in enumerate(PLACES):
            whole = np.broadcast_to(changed[position], len(drawn)) if position in changed else None
            value = one.before[slot][name] if whole is None else codebook.decode(int(whole[number]), name in FLAGS)
            assert value == after[slot][name]
