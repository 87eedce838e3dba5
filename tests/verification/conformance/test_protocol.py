"""The protocol: its schema is one, what is sent fits it, and what does not fit is told in one sentence."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.machines.job import FIELDS
from fencepost_model.terms import Value
from fencepost_verification.conformance.protocol import (
    ActedOn,
    Codec,
    Describe,
    Description,
    Done,
    Failed,
    HarnessFault,
    Inspect,
    Invoke,
    Load,
    Message,
    Refusal,
    Reset,
    Row,
    SetClock,
    Shapes,
    Start,
    Stop,
    Unsupported,
    schema,
)
from fencepost_verification.conformance.reference import Reference
from fencepost_verification.conformance.report import ConformanceReport

PROFILE: dict[str, Value] = {**JOB_CONTRACT.defaults(), "delay": 1}
ROW: dict[str, Value] = {
    **{field.name: None for field in FIELDS if not field.ghost},
    "status": "pending",
    "lease_generation": 0,
    "attempt_count": 0,
    "max_attempts": 1,
    "poll_count": 0,
}
CODEC = Codec(JOB_CONTRACT)


def one_sentence(complaint: str) -> bool:
    """Whether a complaint is a sentence for people: not empty, ends with a full stop, no traceback."""
    return complaint.endswith(".") and "Traceback" not in complaint and "\n" not in complaint


@pytest.mark.parametrize(
    "message",
    [
        Start(),
        Describe(),
        Reset(PROFILE, 0),
        SetClock(5.5),
        Load("a", ROW),
        Inspect("a"),
        Stop(),
        Invoke("enqueue", {"job": "a", "max_attempts": 3, "deadline_at": None}),
        Invoke("claim", {"worker_id": "w", "limit": 1, "max_claims": 1}),
        Invoke("renew", {"job": "a", "worker_id": "w", "lease_generation": None}),
        Invoke("recover", {"limit": 1}),
        Invoke("request_cancel", {"job": "a"}),
    ],
)
def test_a_message_fits_the_published_schema(message: Message) -> None:
    published = schema(JOB_CONTRACT)
    Draft202012Validator.check_schema(published)
    _, wire, text = CODEC.encode(message)
    assert json.loads(text) == wire
    assert Draft202012Validator(published).is_valid(wire)


@pytest.mark.parametrize(
    "wire",
    [
        {"do": "renew", "job": "a"},
        {"call": "renew", "job": "a", "worker_id": "w"},
        {"call": "enqueue", "job": "a", "max_attempts": "3", "deadline_at": None},
        {"call": "destroy", "job": "a"},
        {"do": "reset", "now": 0, "profile": {"lease_seconds": 1}},
    ],
)
def test_what_is_no_message_does_not_fit_the_published_schema(wire: dict[str, Any]) -> None:
    assert not Draft202012Validator(schema(JOB_CONTRACT)).is_valid(wire)


def test_every_operation_of_the_contract_has_a_message_and_an_answer() -> None:
    definitions = schema(JOB_CONTRACT)["$defs"]
    for operation in JOB_CONTRACT.operations:
        assert f"message.call.{operation.name}" in definitions
        assert f"answer.call.{operation.name}" in definitions


def test_the_back_off_is_in_the_profile_and_in_no_message() -> None:
    published = schema(JOB_CONTRACT)["$defs"]
    assert "delay" in published["message.reset"]["properties"]["profile"]["properties"]
    assert "delay" not in published["message.call.fail"]["properties"]


def test_ghosts_and_fresh_identities_are_known() -> None:
    shapes = Shapes(JOB_CONTRACT)
    assert shapes.fresh == {"attempt_id"}
    assert not {field.name for field in shapes.visible} & {field.name for field in FIELDS if field.ghost}


def test_a_message_that_does_not_fit_is_our_own_fault() -> None:
    with pytest.raises(ValueError, match="lacks 'job'"):
        CODEC.encode(Invoke("request_cancel", {}))


@pytest.mark.parametrize(
    ("name", "text", "record"),
    [
        ("call.renew", '{"ok": true}', Done()),
        ("call.renew", '{"ok": true, "case": "renewed", "note": "why not"}', Done("renewed")),
        ("call.renew", '{"refused": ["owner"]}', Refusal(frozenset({"owner"}))),
        ("call.renew", '{"refused": []}', Refusal()),
        ("call.renew", '{"error": "boom"}', Failed("boom")),
        ("call.renew", '{"unsupported": "no leases"}', Unsupported("no leases")),
        ("call.recover", '{"acted_on": []}', ActedOn()),
        ("inspect", '{"row": null}', Row(None)),
        (
            "describe",
            '{"name": "x", "version": "1", "capabilities": ["inspect"]}',
            Description("x", "1", frozenset({"inspect"})),
        ),
    ],
)
def test_answers_become_records(name: str, text: str, record: object) -> None:
    assert CODEC.decode(name, text) == record


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("call.renew", "lease renewed", "no JSON"),
        ("call.renew", "[1]", "no JSON object"),
        ("call.renew", "{}", "none of them"),
        ("call.renew", '{"ok": true, "refused": []}', "'ok' and 'refused'"),
        ("call.renew", '{"ok": false}', "ok is false; give true"),
        ("call.renew", '{"ok": true, "cese": "renewed"}', "has 'cese'"),
        ("call.renew", '{"refused": ["wrong_worker"]}', '"owner"'),
        ("call.renew", '{"refused": "owner"}', "type array"),
        ("call.renew", '{"acted_on": []}', "none of them"),
        ("call.claim", '{"ok": true}', "none of them"),
        ("call.claim", '{"acted_on": [{"job": "a"}]}', "lacks 'lease_generation'"),
        ("call.claim", '{"acted_on": [{"job": "a", "lease_generation": "1"}]}', "type integer"),
        ("inspect", '{"row": {"status": "done"}}', '"succeeded"'),
        ("inspect", '{"row": {"lease_expires_at": "tomorrow"}}', "type number or null"),
        ("inspect", '{"row": {"lease_expire_at": 1}}', "has 'lease_expire_at'"),
        ("inspect", '{"row": {"finished_at": NaN}}', "no JSON number"),
        ("describe", '{"name": "x", "capabilities": []}', "lacks 'version'"),
    ],
)
def test_a_malformed_answer_gets_one_sentence_that_names_the_fix(name: str, text: str, told: str) -> None:
    with pytest.raises(HarnessFault) as caught:
        CODEC.decode(name, text)
    assert told in str(caught.value)
    assert repr(name.removeprefix("call.")) in str(caught.value)
    assert one_sentence(str(caught.value))


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.sampled_from([name for name, _ in Shapes(JOB_CONTRACT).message_schemas()]),
    st.text()
    | st.dictionaries(st.sampled_from(["ok", "refused", "acted_on", "row", "name", "note"]), JSON_VALUES).map(
        json.dumps
    ),
)
def test_whatever_is_answered_is_an_answer_or_one_sentence(name: str, text: str) -> None:
    fits = Draft202012Validator(schema(JOB_CONTRACT)["$defs"][f"answer.{name}"])
    try:
        record = CODEC.decode(name, text)
    except HarnessFault as fault:
        complaint = str(fault)
    else:
        complaint = ""
        assert record is CODEC.decode(name, text)
    assert one_sentence(complaint) or fits.is_valid(json.loads(text))


def test_every_message_and_answer_of_a_run_fits_the_published_schema(judge: Callable[..., ConformanceReport]) -> None:
    published = schema(JOB_CONTRACT)
    messages = {
        json.dumps(shape["properties"].get("call") or shape["properties"]["do"]): name.removeprefix("message.")
        for name, shape in published["$defs"].items()
        if name.startswith("message.")
    }
    seen: set[str] = set()

    class Overheard(Reference):
        """A reference that accepts what it should refuse, so that runs are told with all that went over the wire."""

        def renew(self, job: str, worker_id: str, lease_generation: int | None) -> dict[str, Any]:
            return {"ok": True}

    report = judge(Overheard).as_json()
    for clause in report["clauses"]:
        for step in clause.get("trace", []):
            if step["message"]:
                assert Draft202012Validator(published).is_valid(step["message"]), step
                spoken = step["message"].get("call") or step["message"]["do"]
                name = messages[json.dumps({"const": spoken})]
                seen.add(name)
                answers = Draft202012Validator(published["$defs"][f"answer.{name}"])
                assert answers.is_valid(json.loads(step["answer"])), step
    assert {"reset", "call.enqueue", "call.claim", "call.renew"} <= seen
