"""The vocabulary: fifteen names, the columns they are mapped onto, and the model's fields, which are the same names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost_model.machines.job import JOB_MACHINE
from fencepost_model.vocabulary import (
    EXTENSIONS,
    SHARED_COLUMNS,
    STANDARD,
    VOCABULARY,
    ColumnVocabulary,
    StandardField,
    VocabularyError,
)

NAMES = [entry.name for entry in (*VOCABULARY, *EXTENSIONS)]


def test_there_are_fifteen_names_each_once() -> None:
    assert len(VOCABULARY) == 15
    assert len(set(NAMES)) == len(NAMES)


def test_the_fifteen_are_the_fields_of_the_job_that_are_neither_ghosts_nor_extensions() -> None:
    fields = {f.name: (f.sort, f.nullable) for f in JOB_MACHINE.fields if not f.ghost and not f.extension}
    assert fields == {entry.name: (entry.sort, entry.nullable) for entry in VOCABULARY}


def test_the_extensions_are_the_fields_of_the_job_that_say_so() -> None:
    fields = {f.name: (f.sort, f.nullable) for f in JOB_MACHINE.fields if f.extension}
    assert fields == {entry.name: (entry.sort, entry.nullable) for entry in EXTENSIONS}
    assert [f.name for f in JOB_MACHINE.fields if f.extension and f.ghost] == []


def test_every_name_is_a_column_of_its_own_by_default() -> None:
    assert [STANDARD.column(name) for name in NAMES] == NAMES


@pytest.mark.parametrize("entry", [entry for entry in VOCABULARY if entry.aliases], ids=lambda entry: entry.name)
def test_a_name_may_go_by_each_of_its_aliases(entry: StandardField) -> None:
    for alias in entry.aliases:
        assert ColumnVocabulary({entry.name: alias}).column(entry.name) == alias


def test_what_two_names_go_by_is_registered() -> None:
    """An alias that two fields have is a column that they may share."""
    owners: dict[str, set[str]] = {}
    for entry in VOCABULARY:
        for alias in entry.aliases:
            owners.setdefault(alias, set()).add(entry.name)
    assert {frozenset(names) for names in owners.values() if len(names) > 1} == SHARED_COLUMNS


def test_a_column_is_shared_only_where_that_is_registered() -> None:
    shared = ColumnVocabulary({"heartbeat_at": "claimed_at", "started_at": "claimed_at"})
    assert shared.column("heartbeat_at") == shared.column("started_at") == "claimed_at"
    assert ColumnVocabulary({"started_at": "heartbeat_at"}).column("heartbeat_at") == "heartbeat_at"
    with pytest.raises(VocabularyError, match="finished_at and started_at are both mapped onto column 'claimed_at'"):
        ColumnVocabulary({"finished_at": "claimed_at", "started_at": "claimed_at"})


def test_a_third_field_does_not_slip_into_a_shared_column() -> None:
    with pytest.raises(VocabularyError, match="'claimed_at'; give each its own"):
        ColumnVocabulary(dict.fromkeys(("heartbeat_at", "started_at", "worker_id"), "claimed_at"))


def test_a_field_does_not_take_the_column_that_another_keeps() -> None:
    with pytest.raises(VocabularyError, match="column 'status'"):
        ColumnVocabulary({"worker_id": "status"})
    swapped = ColumnVocabulary({"worker_id": "status", "status": "worker_id"})
    assert (swapped.column("worker_id"), swapped.column("status")) == ("status", "worker_id")


@pytest.mark.parametrize("name", ["owner", "lease_owner", "", "origin"])
def test_an_unknown_name_is_refused(name: str) -> None:
    with pytest.raises(VocabularyError, match=f"'{name}' is no field of the vocabulary; choose one of .*worker_id"):
        ColumnVocabulary({name: "column"})


@given(st.dictionaries(st.sampled_from(NAMES), st.sampled_from([*NAMES, "one", "two"]), max_size=4))
def test_a_mapping_gives_each_field_a_column_of_its_own_or_is_refused(columns: dict[str, str]) -> None:
    placed = {name: columns.get(name, name) for name in NAMES}
    clashes = {
        frozenset({one, other})
        for one in NAMES
        for other in NAMES
        if one != other and placed[one] == placed[other] and frozenset({one, other}) not in SHARED_COLUMNS
    }
    if clashes:
        with pytest.raises(VocabularyError, match="are both mapped onto column") as refused:
            ColumnVocabulary(columns)
        assert any(all(name in str(refused.value) for name in clash) for clash in clashes)
    else:
        vocabulary = ColumnVocabulary(columns)
        assert {name: vocabulary.column(name) for name in NAMES} == placed
