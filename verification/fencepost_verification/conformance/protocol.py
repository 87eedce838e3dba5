"""The protocol between the judge and an implementation: version 1, generated from a contract.

One JSON object a line each way; the judge asks, the harness answers, one answer to each message and in order. The same
messages are used in process. A message either *does* something to the harness (``{"do": "reset", ...}``) or *calls* an
operation of the contract by its name (``{"call": "renew", ...}``), so that no operation of any contract can collide
with a message of the protocol.

================ ============================================ ==========================================================
message          asks                                         is answered by
================ ============================================ ==========================================================
start            speak version N?                             ok, with the version
describe         who are you?                                 name, version, capabilities, fields
reset            an empty store under this profile, now       ok
clock            the store's clock now shows this instant     ok
load             put this row there, as an older program did  ok
(an operation)   the operation, on a named subject            ok (with the case taken), or refused (with false guards)
(a sweep)        the operation, on whatever it finds          acted_on: the list of what it acted on, maybe empty
inspect          the row as it stands                         row, or null where there is none
stop             end                                          ok
================ ============================================ ==========================================================

Any message may also be answered by ``error`` (it should have worked and did not), or by ``unsupported`` (with the
reason: what depends on it is skipped, not passed), and any answer may carry a ``note`` for people.

Instants are seconds since the Unix epoch, UTC; durations are seconds. Subjects (jobs) are named by labels that the
judge chooses; an implementation with ids of its own keeps a table from label to id in its harness. Fresh identities
(the attempt's) are the implementation's own and are compared up to renaming.

Growth. A later version of the suite may send further messages only to a harness that declares the capability for them,
and may allow further keys in answers; so a harness written for version 1 stays valid. What is published is
``schema(contract)``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, TypeAlias, assert_never, cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from fencepost_model.contract import Contract, transition_name
from fencepost_model.shapes import Actor, Field, Operation, Parameter, Selection, Sort
from fencepost_model.terms import Const, FieldOf, Param, Value

VERSION: Final = 1

Json: TypeAlias = dict[str, Any]
"""One JSON object."""


class HarnessFault(Exception):
    """The harness does not keep the protocol, or is gone; the message is one sentence and says what to mend."""


# --- messages ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Start:
    """Agree on the version of the protocol."""

    version: int = VERSION


@dataclass(frozen=True, slots=True)
class Describe:
    """Ask who the implementation is and what it can do."""


@dataclass(frozen=True, slots=True)
class Reset:
    """An empty store under the settings of ``profile`` (durations in seconds), the clock at ``now``."""

    profile: Mapping[str, Value]
    now: float | int


@dataclass(frozen=True, slots=True)
class SetClock:
    """From now on the store's clock shows ``now``."""

    now: float | int


@dataclass(frozen=True, slots=True)
class Load:
    """Put a row there as some older program left it."""

    subject: str
    row: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Invoke:
    """Call an operation; ``arguments`` under the names of the contract."""

    operation: str
    arguments: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Inspect:
    """Ask for the row as it stands."""

    subject: str


@dataclass(frozen=True, slots=True)
class Stop:
    """The run is over."""


Message: TypeAlias = Start | Describe | Reset | SetClock | Load | Invoke | Inspect | Stop


# --- answers ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Done:
    """Accepted; ``case`` is the outcome taken, where the implementation says so."""

    case: str | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Not allowed, nothing changed; ``guards`` names the false guards."""

    guards: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ActedOn:
    """What a sweep acted on: for each subject its label, and what the harness tells beside it."""

    items: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """A row under the names of the contract; None where there is none."""

    fields: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Description:
    """What a harness says of itself; no ``fields`` means that it shows all of them."""

    name: str
    version: str
    capabilities: frozenset[str]
    fields: frozenset[str] | None = None
    latitude: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Failed:
    """It should have worked and did not."""

    text: str


@dataclass(frozen=True, slots=True)
class Unsupported:
    """The implementation does not do this, and says why."""

    reason: str


Answer: TypeAlias = Done | Refusal | ActedOn | Row | Description | Failed | Unsupported


def plain(answer: Answer) -> str:
    """An answer in a few words, for traces."""
    match answer:
        case Done(case):
            return "accepted" if case is None else f"accepted ({case})"
        case Refusal(guards):
            return "refused" + (f" by {', '.join(sorted(guards))}" if guards else "")
        case ActedOn(()):
            return "acted on nothing"
        case ActedOn(items):
            return "acted on " + "; ".join(
                ", ".join(f"{name} {value}" for name, value in item.items()) for item in items
            )
        case Row(fields):
            return "no row" if fields is None else ", ".join(f"{n}={v}" for n, v in fields.items() if v is not None)
        case Description(name, version):
            return f"{name} {version}"
        case Failed(text):
            return f"error: {text}"
        case Unsupported(reason):
            return f"unsupported: {reason}"
        case _:
            assert_never(answer)


# --- schema -----------------------------------------------------------------------------------------------------------

_TYPES: Final[Mapping[Sort, str]] = {
    Sort.WORD: "string",
    Sort.COUNT: "integer",
    Sort.INSTANT: "number",
    Sort.DURATION: "number",
    Sort.IDENTITY: "string",
    Sort.TEXT: "string",
    Sort.FLAG: "boolean",
}

_UNITS: Final[Mapping[Sort, str]] = {
    Sort.INSTANT: " (seconds since the Unix epoch, UTC)",
    Sort.DURATION: " (seconds)",
}

_TEXT: Final[Json] = {"type": "string"}
_NOTE: Final[Json] = {"type": "string", "description": "anything worth telling a person"}


def _of_sort(sort: Sort, meaning: str, *, nullable: bool = False, words: tuple[str, ...] = ()) -> Json:
    kind = _TYPES[sort]
    shape: Json = {"type": [kind, "null"] if nullable else kind, "description": meaning + _UNITS.get(sort, "")}
    if sort is Sort.COUNT:
        shape["minimum"] = 0
    if sort is Sort.WORD and words:
        shape["enum"] = [*words, None] if nullable else list(words)
    return shape


def _object(description: str, properties: Json, *, optional: tuple[str, ...] = ()) -> Json:
    return {
        "type": "object",
        "description": description,
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def beyond_single_rows(contract: Contract) -> Iterator[str]:
    """Why a contract is about more than the row of its root and the tokens of those who act on it, if it is."""
    root = contract.root
    if not root.statuses:
        yield f"a {root.name} has no statuses, so there is no row to judge"
    for machine in contract.machines:
        if machine is not root and machine.statuses:
            yield f"a {machine.name} has statuses of its own, and belongs to a {machine.belongs_to}"
    for operation, case in contract.transitions():
        if operation.subject.machine != root.name:
            yield f"{operation.name!r} acts on a {operation.subject.machine}, which belongs to a {root.name}"
        if case.also:
            yield f"{transition_name(operation, case)!r} changes each {case.also[0].subject.machine} of a set"


@dataclass(frozen=True)
class Shapes:
    """How the operations of a contract look on the wire.

    Raises ``ValueError`` for a contract that version 1 cannot carry: one about more than single rows
    (``beyond_single_rows``), an operation over more than one member beside its root, or names that meet in one message.
    """

    contract: Contract

    def __post_init__(self) -> None:
        for reason in beyond_single_rows(self.contract):
            raise ValueError(f"version {VERSION} of the protocol carries one row: {reason}")
        for operation in self.contract.operations:
            names = [
                self.subject,
                "call",
                *(f.name for f in self.member_fields(operation)),
                *(p.name for p in self.arguments_of(operation)),
                *self.limits(operation),
            ]
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise ValueError(f"message {operation.name!r} would carry {twice[0]!r} twice; rename the parameter")

    @property
    def subject(self) -> str:
        """Under which key a message names what it is about: the name of the root machine."""
        return self.contract.root.name

    @cached_property
    def visible(self) -> tuple[Field, ...]:
        """The fields of a row that an implementation stores."""
        return tuple(f for f in self.contract.root.fields if not f.ghost)

    @cached_property
    def fresh(self) -> frozenset[str]:
        """The fields that hold identities of the implementation's own making, compared up to renaming."""
        made = {
            assignment.field.name
            for operation, case in self.contract.transitions()
            for assignment in case.effect
            if assignment.field.entity == operation.subject.name
            and not isinstance(assignment.value, FieldOf | Const | Param)
        }
        return frozenset(f.name for f in self.visible if f.sort is Sort.IDENTITY and f.name in made)

    @cached_property
    def chosen_by_store(self) -> tuple[Parameter, ...]:
        """The parameters that the store picks (a back-off); the profile fixes them."""
        found: dict[str, Parameter] = {}
        for operation in self.contract.operations:
            for parameter in operation.parameters:
                if parameter.chosen_by == "store":
                    found.setdefault(parameter.name, parameter)
        return tuple(found.values())

    def arguments_of(self, operation: Operation) -> tuple[Parameter, ...]:
        """The parameters that a message carries."""
        return tuple(p for p in operation.parameters if p.chosen_by == "caller")

    def member_fields(self, operation: Operation) -> tuple[Field, ...]:
        """The fields of the caller's token that a message carries; a sweep gets its own token, so only who it is."""
        members = operation.over[1:]
        if len(members) > 1:
            raise ValueError(f"version {VERSION} of the protocol carries one token; {operation.name!r} is over two")
        return tuple(
            f
            for variable in members
            for f in self.contract.machine(variable.machine).fields
            if f.fixed or operation.selection is Selection.NAMED
        )

    def limits(self, operation: Operation) -> tuple[str, ...]:
        """The bounds that a sweep is given."""
        if operation.selection is not Selection.SWEEP:
            return ()
        return ("limit", "max_claims") if operation.actor is Actor.CLAIMER else ("limit",)

    def told(self, operation: Operation) -> tuple[Json, tuple[str, ...]]:
        """What a sweep tells of each subject it acted on: the properties, and which of them may be left out."""
        properties: Json = {
            self.subject: _TEXT | {"description": f"the label of the {self.subject}"},
            "case": _TEXT | {"description": "the outcome taken"},
        }
        optional = ["case"]
        for variable in operation.over[1:]:
            for member in self.contract.machine(variable.machine).fields:
                properties[member.name] = _of_sort(member.sort, member.meaning)
                if member.fixed:
                    optional.append(member.name)
        if operation.over[1:]:
            for shape in self.visible:
                if shape.name in self.fresh:
                    properties[shape.name] = {"type": ["string", "integer"], "description": shape.meaning}
                    optional.append(shape.name)
        return properties, tuple(optional)

    # -- messages ------------------------------------------------------------------------------------------------------

    def profile(self) -> Json:
        """The schema of a profile."""
        properties = {s.name: _of_sort(s.sort, s.meaning) for s in self.contract.settings}
        properties |= {p.name: _of_sort(p.sort, p.meaning) for p in self.chosen_by_store}
        return _object("the settings under which the store runs", properties)

    def row(self) -> Json:
        """The schema of a row; which fields must be there is a matter of what the harness declares."""
        properties: Json = {}
        for shape in self.visible:
            properties[shape.name] = _of_sort(shape.sort, shape.meaning, nullable=shape.nullable, words=shape.words)
            if shape.name in self.fresh:
                properties[shape.name]["type"] = ["string", "integer", "null"]
        return _object(f"a {self.subject}", properties, optional=tuple(properties))

    def message_schemas(self) -> Iterator[tuple[str, Json]]:
        """The schema of each message, by its name; operations under ``call.`` and their own."""
        label = _TEXT | {"description": f"the label of the {self.subject}, chosen by the judge"}
        instant = _of_sort(Sort.INSTANT, "what the store's clock shows")

        def does(name: str, description: str, properties: Json) -> tuple[str, Json]:
            return name, _object(description, {"do": {"const": name}, **properties})

        yield does("start", "Agree on the version of the protocol.", {"version": {"type": "integer", "minimum": 1}})
        yield does("describe", "Ask who the implementation is and what it can do.", {})
        yield does("reset", "An empty store.", {"profile": self.profile(), "now": instant})
        yield does("clock", "From now on the store's clock shows this instant.", {"now": instant})
        yield does("load", "Put a row there as an older program left it.", {self.subject: label, "row": self.row()})
        yield does("inspect", "Ask for the row as it stands.", {self.subject: label})
        yield does("stop", "The run is over.", {})
        for operation in self.contract.operations:
            properties: Json = {"call": {"const": operation.name}}
            if operation.selection is Selection.NAMED:
                properties[self.subject] = label
            for member in self.member_fields(operation):
                properties[member.name] = _of_sort(member.sort, member.meaning, nullable=member.nullable)
            for parameter in self.arguments_of(operation):
                properties[parameter.name] = _of_sort(parameter.sort, parameter.meaning, nullable=parameter.nullable)
            for limit in self.limits(operation):
                properties[limit] = {"type": "integer", "minimum": 1, "description": _LIMITS[limit]}
            yield f"call.{operation.name}", _object(operation.meaning, properties)

    # -- answers -------------------------------------------------------------------------------------------------------

    def answer_kinds(self, message: str) -> dict[str, Json]:
        """The schemas of the answers to a message, by the key that tells them apart."""
        kinds: dict[str, Json] = {}
        if message == "start":
            kinds["ok"] = _object("agreed", {"ok": {"const": True}, "version": {"type": "integer"}})
        elif message == "describe":
            kinds["name"] = _object(
                "who the implementation is and what it can do",
                {
                    "name": _TEXT,
                    "version": _TEXT,
                    "capabilities": {"type": "array", "items": _TEXT},
                    "fields": {"type": "array", "items": {"enum": [f.name for f in self.visible]}},
                    "latitude": {"type": "object", "additionalProperties": _TEXT},
                },
                optional=("fields", "latitude"),
            )
        elif message == "inspect":
            kinds["row"] = _object("the row", {"row": self.row() | {"type": ["object", "null"]}})
        elif message.startswith("call."):
            operation = self.contract.operation(message.removeprefix("call."))
            if operation.selection is Selection.SWEEP:
                properties, optional = self.told(operation)
                item = _object("one of them", properties, optional=optional)
                kinds["acted_on"] = _object(
                    "what the operation acted on; empty when it found nothing",
                    {"acted_on": {"type": "array", "items": item}},
                )
            else:
                kinds["ok"] = _object("accepted", {"ok": {"const": True}, "case": _TEXT}, optional=("case",))
                kinds["refused"] = _object(
                    "not allowed, nothing changed; the names of the false guards, or none of them",
                    {
                        "refused": {
                            "type": "array",
                            "items": {"enum": [guard.name for guard in operation.guards]},
                        }
                    },
                )
        else:
            kinds["ok"] = _object("done", {"ok": {"const": True}})
        kinds["error"] = _object("it should have worked and did not", {"error": _TEXT})
        kinds["unsupported"] = _object("the implementation does not do this, and says why", {"unsupported": _TEXT})
        for shape in kinds.values():
            shape["properties"]["note"] = _NOTE
        return kinds

    # -- from records to the wire --------------------------------------------------------------------------------------

    def wire(self, message: Message) -> tuple[str, Json]:
        """The name of a message and its JSON object."""
        match message:
            case Start(version):
                return "start", {"do": "start", "version": version}
            case Describe():
                return "describe", {"do": "describe"}
            case Reset(profile, now):
                return "reset", {"do": "reset", "profile": dict(profile), "now": now}
            case SetClock(now):
                return "clock", {"do": "clock", "now": now}
            case Load(subject, row):
                return "load", {"do": "load", self.subject: subject, "row": dict(row)}
            case Invoke(operation, arguments):
                return f"call.{operation}", {"call": operation, **arguments}
            case Inspect(subject):
                return "inspect", {"do": "inspect", self.subject: subject}
            case Stop():
                return "stop", {"do": "stop"}
            case _:
                assert_never(message)


_LIMITS: Final[Mapping[str, str]] = {
    "limit": "how many rows to look at, at most",
    "max_claims": "how many of them to take, at most",
}


def schema(contract: Contract) -> Json:
    """The JSON Schema (2020-12) of version 1 of the protocol for a contract: what is published.

    A document is valid when it is a message. ``$defs`` holds ``message.NAME`` and ``answer.NAME`` for each message.
    """
    shapes = Shapes(contract)
    definitions: Json = {}
    messages: list[str] = []
    for name, shape in shapes.message_schemas():
        messages.append(name)
        definitions[f"message.{name}"] = shape
        definitions[f"answer.{name}"] = {"oneOf": list(shapes.answer_kinds(name).values())}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Conformance protocol for the contract {contract.name!r}, version {VERSION}",
        "description": (
            "One JSON object a line each way. A message of the judge is answered by the harness with an object that "
            "fits the definition answer.NAME beside message.NAME."
        ),
        "oneOf": [{"$ref": f"#/$defs/message.{name}"} for name in messages],
        "$defs": definitions,
    }


# --- both ways, validated ---------------------------------------------------------------------------------------------


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no JSON number")


def _misfits(shape: Json) -> Callable[[Json], list[ValidationError]]:
    """What is wrong with an object under a schema, each thing for itself."""
    validator: Any = Draft202012Validator(shape)  # whose stubs leave the instance half unknown
    return lambda instance: list(validator.iter_errors(instance))


class Codec:
    """Turns messages into JSON objects and answers into records, and validates both against the schema.

    What was valid once is not validated again: a tour repeats itself, and a row of eighteen fields takes a while.
    """

    def __init__(self, contract: Contract) -> None:
        self.shapes = Shapes(contract)
        self._messages = {name: _misfits(shape) for name, shape in self.shapes.message_schemas()}
        self._answers = {
            name: {key: _misfits(shape) for key, shape in self.shapes.answer_kinds(name).items()}
            for name in self._messages
        }
        self._sent: set[str] = set()
        self._read: dict[tuple[str, str], Answer] = {}

    def encode(self, message: Message) -> tuple[str, Json, str]:
        """The name of a message, its JSON object, and that as text. Raises ``ValueError`` when it does not fit."""
        name, wire = self.shapes.wire(message)
        text = json.dumps(wire, allow_nan=False)
        if text not in self._sent:
            for error in self._messages[name](wire):
                raise ValueError(f"message {name!r} does not fit the protocol: {_complaint(error)}")
            self._sent.add(text)
        return name, wire, text

    def decode(self, name: str, text: str) -> Answer:
        """The answer to the message ``name``, from one line of JSON. Raises ``HarnessFault`` for a malformed one."""
        known = self._read.get((name, text))
        if known is None:
            known = self._read[name, text] = self._decoded(name, text)
        return known

    def _decoded(self, name: str, text: str) -> Answer:
        spoken = name.removeprefix("call.")
        shown = text if len(text) <= 120 else text[:117] + "..."
        try:
            wire = json.loads(text, parse_constant=_no_constant)
        except ValueError as error:
            raise HarnessFault(
                f"The answer to {spoken!r} is no JSON ({shown!r}: {error}): write one JSON object a line to standard "
                "output, and everything else to standard error."
            ) from None
        if not isinstance(wire, dict):
            raise HarnessFault(f"The answer to {spoken!r} is {shown}, which is no JSON object: answer with an object.")
        answer = cast(Json, wire)
        kinds = self._answers[name]
        fitting = [key for key in kinds if key in answer]
        if len(fitting) != 1:
            have = " and ".join(repr(key) for key in fitting) if fitting else "none of them"
            raise HarnessFault(
                f"The answer to {spoken!r} is {shown}: it has {have}; give exactly one of "
                f"{', '.join(repr(key) for key in kinds)}."
            )
        (key,) = fitting
        for misfit in sorted(kinds[key](answer), key=lambda each: -len(each.absolute_path)):
            raise HarnessFault(f"The answer to {spoken!r} does not fit the protocol: {_complaint(misfit)}.")
        return self._record(key, answer)

    def _record(self, key: str, answer: Json) -> Answer:
        match key:
            case "ok":
                return Done(answer.get("case"))
            case "refused":
                return Refusal(frozenset(answer["refused"]))
            case "acted_on":
                return ActedOn(tuple(answer["acted_on"]))
            case "row":
                return Row(answer["row"])
            case "name":
                named = answer.get("fields")
                return Description(
                    answer["name"],
                    answer["version"],
                    frozenset(answer["capabilities"]),
                    None if named is None else frozenset(named),
                    answer.get("latitude", {}),
                )
            case "error":
                return Failed(answer["error"])
            case _:
                return Unsupported(answer["unsupported"])


def _complaint(error: ValidationError) -> str:
    """What is wrong and how to mend it, in one clause."""
    place = ".".join(str(step) for step in error.absolute_path)
    where = f"{place} " if place else "it "
    instance: Any = error.instance
    given = json.dumps(instance, default=repr)
    given = given if len(given) <= 80 else given[:77] + "..."
    value: Any = error.validator_value
    known = cast(dict[str, Any], error.schema).get("properties", {})
    match error.validator:
        case "required":
            lacking = next(name for name in value if name not in instance)
            return f"{where}lacks {lacking!r}; add it"
        case "additionalProperties":
            extra = next(name for name in instance if name not in known)
            return f"{where}has {extra!r}, which it does not know; leave it out, or use one of {', '.join(known)}"
        case "type":
            wanted = " or ".join(cast(list[str], value)) if isinstance(value, list) else str(value)
            return f"{where}is {given}; give a value of type {wanted}"
        case "enum":
            return f"{where}is {given}; give one of {', '.join(json.dumps(word) for word in value)}"
        case "const":
            return f"{where}is {given}; give {json.dumps(value)}"
        case "minimum":
            return f"{where}is {given}; give at least {value}"
        case _:
            return f"{where}is {given}: {error.message}"


def arguments(
    shapes: Shapes,
    operation: Operation,
    *,
    subject: str,
    token: Mapping[str, Value],
    params: Mapping[str, Value],
    limit: int = 10,
) -> dict[str, Value]:
    """The arguments of a call as a message carries them."""
    carried: dict[str, Value] = {}
    if operation.selection is Selection.NAMED:
        carried[shapes.subject] = subject
    carried |= {f.name: token[f.name] for f in shapes.member_fields(operation)}
    carried |= {p.name: params[p.name] for p in shapes.arguments_of(operation)}
    carried |= dict.fromkeys(shapes.limits(operation), limit)
    return carried
