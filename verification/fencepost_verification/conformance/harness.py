"""What a Python implementation writes to be judged: a class with one method for each operation of the contract.

A method takes the arguments of its message by name and returns an answer::

    class Mine(Harness):
        capabilities = {"injected_clock", "inspect"}

        def reset(self, profile, now): ...
        def set_clock(self, now): ...
        def enqueue(self, job, max_attempts, deadline_at): ...; return ok()
        def claim(self, worker_id, limit, max_claims): ...; return acted_on({"job": "a", "lease_generation": 1})
        def renew(self, job, worker_id, lease_generation): ...; return refused("lease_alive")

``answer`` turns one message into one answer; the same function stands behind the class in process and behind standard
streams. An exception in a method becomes the answer ``error``: the run goes on and reports it with its trace
(``NotImplementedError`` becomes ``unsupported``).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, cast

from fencepost_model.terms import Value
from fencepost_verification.conformance.protocol import VERSION, Json


def ok(case: str | None = None) -> Json:
    """The operation was accepted; ``case`` names the outcome taken, where the implementation knows it."""
    return {"ok": True} if case is None else {"ok": True, "case": case}


def refused(*guards: str) -> Json:
    """The operation was not allowed and changed nothing; ``guards`` are the false ones, where it can tell."""
    return {"refused": list(guards)}


def acted_on(*items: Any) -> Json:
    """What a sweep acted on, one mapping for each job: its label, and for a claim the generation handed out.

    ``acted_on({"job": "a"}, {"job": "b"})``, or one list of such mappings.
    """
    alone = len(items) == 1 and isinstance(items[0], list | tuple)
    listed = cast(tuple[Mapping[str, Any], ...], items[0] if alone else items)
    return {"acted_on": [dict(item) for item in listed]}


def unsupported(reason: str) -> Json:
    """The implementation does not do this; what depends on it is skipped with the reason."""
    return {"unsupported": reason}


class Harness:
    """The base of in-process harnesses: override what your implementation does, declare what it can.

    ``fields`` lists the fields that ``inspect`` shows; leave it empty to show all of them.
    """

    name: str = "unnamed"
    version: str = "0"
    capabilities: AbstractSet[str] = frozenset()
    fields: Collection[str] = ()
    latitude: Mapping[str, str] = {}

    def reset(self, profile: Mapping[str, Value], now: float) -> Json | None:
        """Begin with an empty store under these settings, the clock at ``now`` (seconds since the epoch, UTC)."""
        raise NotImplementedError("this harness has no method 'reset'; write it")

    def set_clock(self, now: float) -> Json | None:
        """From now on the store's clock shows ``now``."""
        raise NotImplementedError("this harness has no method 'set_clock'; write it")

    def load(self, label: str, row: Mapping[str, Value]) -> Json | None:
        """Put a row there as an older program left it (capability ``load_legacy``)."""
        raise NotImplementedError("this harness has no method 'load'; write it or do not declare load_legacy")

    def inspect(self, label: str) -> Mapping[str, Any] | None:
        """The row of a label under the names of the contract; None when there is none (capability ``inspect``)."""
        raise NotImplementedError("this harness has no method 'inspect'; write it or do not declare inspect")

    def close(self) -> None:
        """The run is over; let go of what is open."""


def answer(harness: Harness, message: Mapping[str, Any]) -> Json:
    """The harness's answer to one message; never raises."""
    try:
        return _answer(harness, message)
    except NotImplementedError as error:
        return unsupported(str(error) or "not implemented")
    except Exception as error:  # noqa: BLE001 - a harness may raise anything, and the judge must hear of it
        return {"error": f"{type(error).__name__}: {error}"}


def _answer(harness: Harness, message: Mapping[str, Any]) -> Json:
    if "call" in message:
        operation = str(message["call"])
        method = getattr(harness, operation, None)
        if not callable(method):
            return {"unsupported": f"the harness has no method {operation!r}"}
        arguments = {name: value for name, value in message.items() if name != "call"}
        try:
            returned = method(**arguments)
        except TypeError:
            complaint = _unfit(method, arguments)
            if complaint is None:
                raise
            return {"error": f"method {operation!r} should take ({', '.join(arguments)}): {complaint}"}
        return _returned(operation, returned)
    match message.get("do"):
        case "start":
            return {"ok": True, "version": VERSION}
        case "describe":
            described: Json = {
                "name": harness.name,
                "version": harness.version,
                "capabilities": sorted(harness.capabilities),
            }
            if harness.fields:
                described["fields"] = list(harness.fields)
            if harness.latitude:
                described["latitude"] = dict(harness.latitude)
            return described
        case "reset":
            return harness.reset(message["profile"], message["now"]) or ok()
        case "clock":
            return harness.set_clock(message["now"]) or ok()
        case "load":
            return harness.load(_label(message), message["row"]) or ok()
        case "inspect":
            row = harness.inspect(_label(message))
            return {"row": None if row is None else dict(row)}
        case "stop":
            harness.close()
            return ok()
        case other:
            return {"unsupported": f"the harness knows no message {other!r}"}


def _label(message: Mapping[str, Any]) -> str:
    """The label of a message that is about one subject: its one key beside what it does."""
    (label,) = (value for key, value in message.items() if key not in ("do", "row"))
    return str(label)


def _unfit(method: Callable[..., Any], arguments: Mapping[str, Any]) -> str | None:
    """Why a method cannot take these arguments; None when it can."""
    try:
        inspect.signature(method).bind(**arguments)
    except TypeError as error:
        return str(error)
    return None


def _returned(operation: str, returned: Any) -> Json:
    if not isinstance(returned, dict):
        return {
            "error": f"method {operation!r} returned {returned!r}; return ok(), refused(...), acted_on(...) or "
            "unsupported(...)"
        }
    return cast(Json, returned)
