"""The model as JSON: what is written comes back equal, whatever it is; what is not of this model is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from random import Random
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fencepost_model import serial, shapes, terms
from fencepost_model.contract import IllFormedContract
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.serial import (
    Json,
    NotSerial,
    dumped,
    dumped_chapter,
    rebuilt,
    rebuilt_chapter,
    rebuilt_contract,
    rebuilt_world,
)
from fencepost_model.shapes import Guard, LegacyRow, Sort
from fencepost_model.specification import SPECIFICATION, Chapter
from fencepost_model.terms import Const, Less, Now

KINDS = sorted(
    (
        kind
        for module in (terms, shapes)
        for kind in vars(module).values()
        if isinstance(kind, type)
        and kind.__module__ == module.__name__
        and (is_dataclass(kind) or issubclass(kind, Enum))
        and kind is not terms.Bare  # a scope, no record of the model
    ),
    key=lambda kind: kind.__name__,
)


def through_text(told: Json) -> Json:
    """As it is after it was written to a file and read again."""
    back: Json = json.loads(json.dumps(told))
    return back


def anything(hint: Any, chance: Random, depth: int = 4) -> Any:
    """Some value of a type that a field of a record may have; ``depth`` bounds how deep terms go."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        flat = [each for each in inner if not is_dataclass(each) or not nested(each)]
        return anything(chance.choice(flat if depth <= 0 and flat else inner), chance, depth)
    if origin is tuple:
        return tuple(anything(inner[0], chance, depth - 1) for _ in range(chance.randrange(3 if depth > 0 else 1)))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {anything(str, chance): anything(inner[1], chance, depth - 1) for _ in range(chance.randrange(3))}
    if is_dataclass(hint):
        hints = get_type_hints(hint)
        kind: Any = hint
        return kind(**{field.name: anything(hints[field.name], chance, depth - 1) for field in fields(hint)})
    if issubclass(hint, Enum):
        return chance.choice(list(hint))
    return chance.choice(PLAIN[hint])


def nested(kind: Any) -> bool:
    """Whether a record holds further records."""
    return any(is_dataclass(part) or get_origin(part) is not None for part in get_type_hints(kind).values())


PLAIN: dict[type[Any], list[Any]] = {
    bool: [True, False],
    int: [0, 1, -7, 10**20],
    float: [0.0, 1.0, -2.5, 1e300, float("inf"), float("-inf"), float("nan")],
    str: ["", "class", "of", "status", '\u00e9\u2028"', "mapping"],
    type(None): [None],
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_of_record_comes_back_equal(kind: type[Any]) -> None:
    @given(st.randoms(use_true_random=False))
    @settings(max_examples=15)
    def comes_back(chance: Random) -> None:
        record = anything(kind, chance)
        back = rebuilt(through_text(dumped(record)))
        # Not ==, for which True is 1, and a number that is none differs from itself.
        assert repr(back) == repr(record)

    comes_back()


def test_there_are_records_of_every_kind_of_term() -> None:
    names = {kind.__name__ for kind in KINDS}
    assert {term.__name__ for term in (*terms.ValueTerm.__args__, *terms.TruthTerm.__args__)} <= names
    assert {"Case", "ForEach", "Machine", "Operation", "Measure", "Progress", "Sort", "Witness"} <= names


@pytest.mark.parametrize("chapter", SPECIFICATION, ids=lambda chapter: chapter.name)
def test_every_chapter_comes_back_equal(chapter: Chapter) -> None:
    back = rebuilt_chapter(through_text(dumped_chapter(chapter)))
    assert back == chapter
    assert all(world.contract is back.contract for world in back.small_worlds)


def test_a_contract_is_written_once_in_a_chapter() -> None:
    told = dumped_chapter(SPECIFICATION[0])
    assert json.dumps(told).count('{"class": "Contract"') == 1


def test_what_is_no_record_is_not_written() -> None:
    with pytest.raises(NotSerial, match="object is no part of a model"):
        dumped((Const(1), object()))


def changed(told: Json, **values: Json) -> dict[str, Json]:
    assert isinstance(told, dict)
    return {**told, **values}


GUARD = dumped(Guard("due", Less(Now(), Const(1)), "§2", "not before its time"))
SORT = dumped(Sort.COUNT)


@pytest.mark.parametrize(
    ("told", "complaint"),
    [
        ({"class": "Gurad"}, "no record 'Gurad'"),
        ({"name": "due"}, "an object without a class"),
        (changed(GUARD, colour="red"), "Guard of this revision has no field 'colour'"),
        ({"class": "Less", "left": dumped(Now())}, "this Less has no 'right'"),
        (changed(GUARD, term=dumped(Now())), "'term' of a Guard cannot be a Now"),
        (changed(GUARD, name=3), "'name' of a Guard cannot be a int"),
        (changed(SORT, member="AMOUNT"), "Sort of this revision has no member 'AMOUNT': use one of WORD, COUNT"),
        ({"class": "mapping"}, "no record 'mapping'"),
        ({"class": "OneOf", "value": dumped(Now()), "choices": [1.5]}, "'choices' of a OneOf cannot be a tuple"),
    ],
)
def test_what_is_not_of_this_model_is_refused_in_one_sentence(told: Json, complaint: str) -> None:
    with pytest.raises(NotSerial) as refused:
        rebuilt(told)
    assert complaint in str(refused.value)
    assert "\n" not in str(refused.value)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["class", "of", "member", "name", "left", "right", "value"]), inner, max_size=3
            )
        ),
        max_leaves=6,
    ),
    st.sampled_from(["Less", "Const", "Guard", "Sort", "Contract", "mapping", "set", "number", ""]),
)
@settings(max_examples=40)
def test_no_json_brings_the_reader_down(told: Any, name: str) -> None:
    for given_one in (told, {"class": name, "of": told}, {"class": name, "left": told, "right": told, "value": told}):
        # Whatever it is, it is read or refused; any other exception fails the test.
        with suppress(NotSerial):
            rebuilt(given_one)


def test_a_field_that_is_missing_takes_its_default() -> None:
    operation = JOB_CONTRACT.operation("claim")
    told = dumped(operation)
    assert isinstance(told, dict)
    del told["acts_on"]
    assert rebuilt(told) == operation


def test_an_ill_formed_contract_is_refused_unless_it_is_only_looked_at() -> None:
    told = dumped(replace(JOB_CONTRACT, operations=JOB_CONTRACT.operations[1:], checked=False))
    assert isinstance(told, dict)
    told["checked"] = True
    with pytest.raises(IllFormedContract):
        rebuilt_contract(told)
    assert len(rebuilt_contract(told, checked=False).operations) == len(JOB_CONTRACT.operations) - 1


def test_one_thing_is_not_taken_for_another() -> None:
    with pytest.raises(NotSerial, match="Guard is no contract"):
        rebuilt_contract(GUARD)
    with pytest.raises(NotSerial, match="Guard is no world"):
        rebuilt_world(GUARD, JOB_CONTRACT)
    with pytest.raises(NotSerial, match="no chapter"):
        rebuilt_chapter(dumped(JOB_CONTRACT))
    with pytest.raises(NotSerial, match="Chapter of this revision has no field 'colour'"):
        rebuilt_chapter(changed(dumped_chapter(Chapter("A title", "", JOB_CONTRACT)), colour="red"))


def test_a_field_may_be_called_as_the_marks_are() -> None:
    row = LegacyRow("odd", {"class": "mapping", "of": 1, "member": None}, "a row with odd fields")
    assert rebuilt(through_text(dumped(row))) == row


def test_writing_needs_nothing_of_the_model() -> None:
    """Run where no package of ours can be found, beside a record that this revision does not know."""
    script = (
        "import importlib.util, json, sys\n"
        "spec = importlib.util.spec_from_file_location('written', sys.argv[1])\n"
        "written = importlib.util.module_from_spec(spec); sys.modules['written'] = written\n"
        "spec.loader.exec_module(written)\n"
        "from dataclasses import make_dataclass\n"
        "Older = make_dataclass('Older', ['left', 'right'], frozen=True)\n"
        "print(json.dumps(written.dumped(Older((1, None), {'a': 'b'}))), 'fencepost_model' in sys.modules)\n"
    )
    line = [sys.executable, "-I", "-S", "-c", script, serial.__file__]
    told = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    assert told == '{"class": "Older", "left": [1, null], "right": {"class": "mapping", "of": {"a": "b"}}} False\n'


def test_every_field_of_a_contract_is_written() -> None:
    told = dumped(JOB_CONTRACT)
    assert isinstance(told, dict)
    assert set(told) == {"class", *(field.name for field in fields(JOB_CONTRACT))}
