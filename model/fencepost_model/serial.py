"""The model as JSON values, and back: every record by the name of its class, with its fields.

What is written depends on the records alone, not on the modules that they come from: a frozen dataclass becomes
``{"class": "Less", "left": ..., "right": ...}``, a member of an enumeration ``{"class": "Sort", "member": "COUNT"}``,
a tuple a list, a mapping ``{"class": "mapping", "of": {...}}`` and a set of names ``{"class": "set", "of": [...]}``.
Null, flags, numbers and strings stand for themselves; a number that JSON lacks is spelled out. The name of a class
cannot clash with a field, since ``class`` is no name in Python.

Writing needs nothing but dataclasses, so that this file can be run beside the records of an older revision, which may
lack it. Reading builds records of *this* revision: what they do not know is refused in one sentence, and a field that
is missing takes its default. Reading what was written gives an equal record.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Any, TypeAlias, Union, cast, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from fencepost_model.contract import Contract
    from fencepost_model.specification import Chapter
    from fencepost_model.worlds import World

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
"""A JSON value, as ``json.loads`` gives it."""

CLASS = "class"
MAPPING, SET, NUMBER = "mapping", "set", "number"
"""The kinds of value that are no records; in lower case, as no class is."""

WORLDS = ("worlds", "small_worlds", "toured")
"""The fields of a chapter that hold worlds."""


class NotSerial(ValueError):
    """Something that is no part of a model, or JSON that is none; the message is one sentence that says what to do."""


# --- writing ----------------------------------------------------------------------------------------------------------


def dumped(thing: object) -> Json:
    """A record of the model, with everything in it, as JSON values. Raises ``NotSerial`` for what is no such record."""
    match thing:
        case Enum():
            return {CLASS: type(thing).__name__, "member": thing.name}
        case float() if not math.isfinite(thing):
            return {CLASS: NUMBER, "of": str(thing)}
        case None | bool() | int() | float() | str():
            return thing
        case tuple():
            return [dumped(part) for part in cast(tuple[object, ...], thing)]
        case frozenset():
            return {CLASS: SET, "of": list[Json](sorted(str(part) for part in cast(frozenset[object], thing)))}
        case Mapping():
            return {CLASS: MAPPING, "of": {str(k): dumped(v) for k, v in cast(Mapping[object, object], thing).items()}}
        case _ if is_dataclass(thing) and not isinstance(thing, type):
            return _record(thing, ())
        case _:
            kind = type(thing).__name__
            raise NotSerial(f"a {kind} is no part of a model: leave it out, or make it a frozen dataclass")


def dumped_chapter(chapter: Chapter) -> Json:
    """A chapter as JSON values: its contract once, and its worlds without it."""
    told: dict[str, Json] = {CLASS: "Chapter"}
    for field in fields(chapter):
        value = getattr(chapter, field.name)
        worlds = field.name in WORLDS
        told[field.name] = [_record(world, ("contract",)) for world in value] if worlds else dumped(value)
    return told


def _record(thing: Any, without: Collection[str]) -> Json:
    told: dict[str, Json] = {CLASS: type(thing).__name__}
    for field in fields(thing):
        if field.name not in without:
            told[field.name] = dumped(getattr(thing, field.name))
    return told


# --- reading ----------------------------------------------------------------------------------------------------------


def rebuilt(told: Json) -> object:
    """What ``dumped`` was given. Raises ``NotSerial`` when it is not of this model."""
    return _rebuilt(told, {})


def rebuilt_contract(told: Json, *, checked: bool = True) -> Contract:
    """A contract. Raises ``NotSerial`` when it is none, and ``IllFormedContract`` when its parts do not fit together.

    With ``checked`` off, one that does not fit together is built all the same, to be looked at.
    """
    from fencepost_model.contract import Contract

    if isinstance(told, dict) and not checked:
        told = {**told, "checked": False}
    found = rebuilt(told)
    if not isinstance(found, Contract):
        raise NotSerial(f"a {type(found).__name__} is no contract: give what was written from a Contract")
    return found


def rebuilt_world(told: Json, contract: Contract) -> World:
    """A world of a contract that was written without it.

    Raises ``NotSerial`` when it is none, and ``ValueError`` when it does not fit the contract.
    """
    from fencepost_model.worlds import World

    found = _rebuilt(told, {"contract": contract} if _class_of(told) == "World" else {})
    if not isinstance(found, World):
        raise NotSerial(f"a {type(found).__name__} is no world: give what was written from a World")
    return found


def rebuilt_chapter(told: Json) -> Chapter:
    """A chapter. Raises ``NotSerial`` when it is none, and ``ValueError`` when its parts do not fit together."""
    from fencepost_model.specification import Chapter

    if not isinstance(told, dict) or _class_of(told) != "Chapter" or "contract" not in told:
        raise NotSerial("this is no chapter: give what was written from a Chapter")
    contract = rebuilt_contract(told["contract"])
    values: dict[str, object] = {"contract": contract}
    for name, value in told.items():
        if name in WORLDS and isinstance(value, list):
            values[name] = tuple(rebuilt_world(each, contract) for each in value)
        elif name not in (CLASS, "contract"):
            values[name] = rebuilt(value)
    found = _built("Chapter", Chapter, values)
    assert isinstance(found, Chapter)
    return found


@cache
def records() -> Mapping[str, type[Any]]:
    """The classes of which a model is made, by name: dataclasses and enumerations."""
    # Not at the top: this file also runs beside older records, whose modules may be fewer.
    from fencepost_model import contract, semantics, shapes, terms, worlds

    return {
        name: found
        for module in (terms, shapes, contract, semantics, worlds)
        for name, found in vars(module).items()
        if isinstance(found, type) and found.__module__ == module.__name__ and _is_record(found)
    }


_HINTS: dict[type[Any], Mapping[str, Any]] = {}
"""The types of the fields of each class, once they have been worked out."""


def _is_record(found: type[Any]) -> bool:
    return is_dataclass(found) or issubclass(found, Enum)


def _class_of(told: Json) -> str:
    name = told.get(CLASS) if isinstance(told, dict) else None
    return name if isinstance(name, str) else ""


def _rebuilt(told: Json, given: Mapping[str, object]) -> object:
    """The value that was written; ``given`` are fields of the outermost record that were left out."""
    match told:
        case list():
            return tuple(_rebuilt(part, {}) for part in told)
        case dict():
            return _rebuilt_object(told, given)
        case _:
            return told


def _rebuilt_object(told: dict[str, Json], given: Mapping[str, object]) -> object:
    name = _class_of(told)
    match name, told.get("of"):
        case ("mapping", dict(inner)):
            return {key: _rebuilt(value, {}) for key, value in inner.items()}
        case ("set", list(inner)) if all(isinstance(part, str) for part in inner):
            return frozenset(inner)
        case ("number", "inf" | "-inf" | "nan" as text):
            return float(text)
        case _:
            pass
    if name not in records():
        named = repr(name) if name else "an object without a class"
        raise NotSerial(f"this revision has no record {named}: read it with the revision that wrote it")
    kind = records()[name]
    if issubclass(kind, Enum):
        member = told.get("member")
        if not isinstance(member, str) or member not in kind.__members__:
            raise NotSerial(
                f"{name} of this revision has no member {member!r}: use one of {', '.join(kind.__members__)}"
            )
        return kind[member]
    return _built(name, kind, {key: _rebuilt(value, {}) for key, value in told.items() if key != CLASS} | dict(given))


def _built(name: str, kind: type[Any], values: dict[str, object]) -> object:
    declared = {field.name: field for field in fields(kind)}
    if strange := sorted(set(values) - set(declared)):
        raise NotSerial(f"{name} of this revision has no field {strange[0]!r}: read it with the revision that wrote it")
    for field in declared.values():
        if field.name not in values and field.default is MISSING and field.default_factory is MISSING:
            raise NotSerial(
                f"this {name} has no {field.name!r}, which this revision needs: add it where it was written"
            )
    hints = _hints(kind)
    for key, value in values.items():
        if not _fits(value, hints[key]):
            raise NotSerial(f"{key!r} of a {name} cannot be a {type(value).__name__}: write it anew from the records")
    return kind(**values)


def _hints(kind: type[Any]) -> Mapping[str, Any]:
    if kind not in _HINTS:
        _HINTS[kind] = get_type_hints(kind)
    return _HINTS[kind]


def _fits(value: object, hint: Any) -> bool:
    """Whether a value is one that a field's type allows."""
    if hint is Any or hint is object:
        return True
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, each) for each in inner)
    if origin is tuple:
        parts = cast(tuple[object, ...], value) if isinstance(value, tuple) else None
        return parts is not None and all(_fits(part, inner[0]) for part in parts)
    if origin is frozenset:
        return isinstance(value, frozenset)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        table = cast(Mapping[object, object], value) if isinstance(value, Mapping) else None
        return table is not None and all(_fits(k, inner[0]) and _fits(v, inner[1]) for k, v in table.items())
    if hint is float:
        return isinstance(value, float | int) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(hint, type) and isinstance(value, hint)
