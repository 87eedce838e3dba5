"""Harnesses that lie, die, hang or babble: each is answered by one sentence, and none is held or refuted by it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fencepost_verification.conformance.adapters.databases import POSTGRESQL_URL
from fencepost_verification.conformance.connect import Command, Streams, TargetError, adapter, command
from fencepost_verification.conformance.harness import Harness, ok
from fencepost_verification.conformance.reference import Reference
from fencepost_verification.conformance.report import ConformanceReport
from fencepost_verification.conformance.run import run_conformance
from fencepost_verification.conformance.scope import Scope
from fencepost_verification.conformance.serve import main
from fencepost_verification.conformance.smoke import smoke
from fencepost_verification.evidence import EXIT_HELD, EXIT_REFUTED, EXIT_UNKNOWN, EXIT_USAGE

HONEST = """
import json, sys
from fencepost_verification.conformance.harness import answer
from fencepost_verification.conformance.reference import Reference

harness = Reference()

def say(text):
    sys.stdout.write(text + "\\n")
    sys.stdout.flush()

def lie(message, honest):
    return json.dumps(honest)

%s

for line in sys.stdin:
    message = json.loads(line)
    text = lie(message, answer(harness, message))
    if text is not None:
        say(text)
"""

LIES = {
    "babble instead of JSON": (
        "def lie(m, a): return 'renewed!' if m.get('call') == 'claim' else json.dumps(a)",
        "The answer to 'claim' is no JSON",
    ),
    "a list": ("def lie(m, a): return '[]' if m.get('call') == 'claim' else json.dumps(a)", "no JSON object"),
    "two answers": (
        "def lie(m, a): return json.dumps(a) + '\\n' + json.dumps(a) if m.get('call') == 'enqueue' else json.dumps(a)",
        "a line that nobody asked for",
    ),
    "a greeting": ("say('Welcome to the queue')", "The answer to 'start' is no JSON"),
    "another version": (
        "def lie(m, a): return json.dumps(a | {'version': 7} if m.get('do') == 'start' else a)",
        "with version 7",
    ),
    "an unknown capability": (
        "def lie(m, a): return json.dumps(a | {'capabilities': ['telepathy']} if m.get('do') == 'describe' else a)",
        "capability 'telepathy'",
    ),
    "a guard that there is not": (
        "def lie(m, a): return json.dumps({'refused': ['mood']} if m.get('call') == 'claim' else a)",
        "none of them",
    ),
    "a row with an unknown word": (
        "def lie(m, a):\n  if a.get('row'): a['row']['status'] = 'done'\n  return json.dumps(a)",
        'row.status is "done"',
    ),
    "a row that lacks a field": (
        "def lie(m, a):\n  if a.get('row'): a['row'].pop('heartbeat_at')\n  return json.dumps(a)",
        "lacks 'heartbeat_at'",
    ),
    "an error on reset": (
        "def lie(m, a): return json.dumps({'unsupported': 'no such profile'} if m.get('do') == 'reset' else a)",
        "no such profile",
    ),
    "an error on the clock": (
        "def lie(m, a): return json.dumps({'error': 'time stands still'} if m.get('do') == 'clock' else a)",
        "time stands still",
    ),
    "an error on inspect": (
        "def lie(m, a): return json.dumps({'error': 'rows are secret'} if m.get('do') == 'inspect' else a)",
        "rows are secret",
    ),
    "sudden death": (
        "def lie(m, a):\n  if m.get('call') == 'claim':\n    print('out of memory', file=sys.stderr); sys.exit(4)\n"
        "  return json.dumps(a)",
        "ended with status 4",
    ),
    "death at once": ("sys.exit('no database')", "no database"),
    "bytes that are no UTF-8": (
        "def lie(m, a):\n  if m.get('call') == 'claim':\n    sys.stdout.buffer.write(b'\\xff\\xfe\\n'); "
        "sys.stdout.buffer.flush(); return None\n  return json.dumps(a)",
        "no UTF-8",
    ),
    "not a number": (
        "def lie(m, a):\n  if a.get('row'): a['row']['started_at'] = float('nan')\n  return json.dumps(a)",
        "no JSON number",
    ),
}


@pytest.mark.parametrize("name", LIES)
def test_a_lie_is_told_in_one_sentence(name: str, program: Callable[..., Command], small: Scope) -> None:
    source, told = LIES[name]
    report = run_conformance(program(HONEST % source), scopes=(small,))
    assert told in report.fault
    assert report.fault.rstrip().endswith((".", "no database", "out of memory"))
    assert "\n" not in report.fault
    assert "Traceback" not in report.fault.partition("Its last words")[0]
    assert (report.verdict, report.exit_code) == ("unknown", EXIT_UNKNOWN)
    protocol = report.as_json()["clauses"][0]
    assert (protocol["name"], protocol["verdict"], protocol["reason"]) == ("protocol", "unknown", report.fault)


def test_silence_is_told_in_one_sentence(program: Callable[..., Command], small: Scope) -> None:
    source = "def lie(m, a): return None if m.get('call') == 'claim' else json.dumps(a)"
    report = run_conformance(program(HONEST % source, patience=8.0), scopes=(small,))
    assert "did not answer 'claim' within 8 seconds" in report.fault
    assert report.exit_code == EXIT_UNKNOWN


def test_an_honest_program_is_believed(program: Callable[..., Command], small: Scope) -> None:
    report = run_conformance(program(HONEST % ""), scopes=(small,))
    assert report.fault == ""
    assert report.complete


def test_a_fault_after_a_refutation_does_not_hide_it(program: Callable[..., Command], small: Scope) -> None:
    source = (
        "seen = []\n"
        "def lie(m, a):\n"
        "  if m.get('call') == 'renew': seen.append(1); return json.dumps({'ok': True})\n"
        "  return 'enough of this' if len(seen) > 2 else json.dumps(a)"
    )
    report = run_conformance(program(HONEST % source), scopes=(small,))
    assert report.fault
    assert report.exit_code == EXIT_REFUTED


def test_a_program_that_prints_after_stop_is_ended(program: Callable[..., Command]) -> None:
    target = program("import time\nwhile True: time.sleep(60)", patience=0.2)
    streams = target.open()
    assert isinstance(streams, Streams)
    streams.close()
    assert streams.ended


# --- in process -------------------------------------------------------------------------------------------------------


def test_an_exception_in_a_method_is_a_wrong_answer_with_its_text(judge: Callable[..., ConformanceReport]) -> None:
    class Fragile(Reference):
        def recover(self, limit: int) -> dict[str, Any]:
            raise KeyError("lease")

    report = judge(Fragile)
    assert report.exit_code == EXIT_REFUTED
    assert any("KeyError: 'lease'" in clause.reason for clause in report.clauses)


def test_rows_that_turn_out_not_to_be_loadable_are_left_out(
    judge: Callable[..., ConformanceReport],
) -> None:
    class NoLoad(Reference):
        def load(self, label: str, row: object) -> dict[str, Any]:  # type: ignore[override]
            return {"unsupported": "rows come from nowhere else"}

    report = judge(NoLoad)
    assert report.complete
    assert report.refuted() == ()
    assert "rows come from nowhere else" in report.skips["load_legacy"]
    assert {clause.name: clause.verdict for clause in report.clauses}["load"] == "skipped"


def test_what_json_cannot_carry_is_told(judge: Callable[..., ConformanceReport]) -> None:
    class Sets(Reference):
        def renew(self, job: str, worker_id: str, lease_generation: int | None) -> dict[str, Any]:
            return {"refused": {"owner"}}

    report = judge(Sets)
    assert "cannot be written as JSON" in report.fault
    assert report.exit_code == EXIT_UNKNOWN


def test_a_method_with_other_parameters_is_told(judge: Callable[..., ConformanceReport]) -> None:
    class Terse(Reference):
        def claim(self, worker_id: str) -> dict[str, Any]:  # type: ignore[override]
            return {"acted_on": []}

    report = judge(Terse)
    assert any("method 'claim' should take (worker_id, limit, max_claims)" in c.reason for c in report.clauses)


def test_a_forgotten_return_is_told(judge: Callable[..., ConformanceReport]) -> None:
    class Forgetful(Reference):
        def renew(self, job: str, worker_id: str, lease_generation: int | None) -> dict[str, Any]:
            return None  # type: ignore[return-value]

    report = judge(Forgetful)
    assert any("method 'renew' returned None; return ok()" in clause.reason for clause in report.clauses)


def test_an_empty_harness_hears_what_to_write(judge: Callable[..., ConformanceReport]) -> None:
    class Empty(Harness):
        capabilities = frozenset({"injected_clock"})

    report = judge(Empty)
    assert "no method 'reset'" in report.fault
    assert report.exit_code == EXIT_UNKNOWN


# --- targets ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("mysql", "memory, sqlite, postgresql"),
        ("no.such.module:Thing", "cannot be imported"),
        ("fencepost_verification.conformance.reference:Nothing", "has no 'Nothing'"),
        ("fencepost_verification.conformance.protocol:VERSION", "cannot be called"),
        (":", "is not known"),
    ],
)
def test_an_adapter_that_is_none_is_refused_with_the_fix(name: str, told: str) -> None:
    with pytest.raises(TargetError, match=told):
        adapter(name)


def test_a_factory_that_makes_no_harness_is_refused() -> None:
    with pytest.raises(TargetError, match="no Harness"):
        adapter("builtins:dict").factory()


@pytest.mark.parametrize(("line", "told"), [("", "is empty"), ("'./harness", "mend its quotes")])
def test_a_command_that_is_none_is_refused_with_the_fix(line: str, told: str) -> None:
    with pytest.raises(TargetError, match=told):
        command(line)


def test_a_command_that_cannot_be_started_is_refused_with_the_fix() -> None:
    with pytest.raises(TargetError, match="cannot be started"):
        command("./no-such-harness").open()


def test_a_database_that_is_not_there_is_told_on_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(POSTGRESQL_URL, f"postgresql+psycopg://nobody@/nothing?host={tmp_path}")
    with pytest.raises(TargetError, match="could not make a harness") as caught:
        adapter("postgresql").open()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("words", [[], ["memory", "sqlite"], ["mysql"]])
def test_serving_what_there_is_not_is_a_usage_error(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == EXIT_USAGE
    assert "memory" in capsys.readouterr().err


# --- the first look ---------------------------------------------------------------------------------------------------


def test_smoke_finds_nothing_wrong_with_the_reference() -> None:
    report = smoke(adapter("memory"))
    assert (report.complaint, report.exit_code) == ("", EXIT_HELD)
    assert 0 < report.calls < 200


def test_smoke_tells_the_first_thing_that_is_wrong(program: Callable[..., Command]) -> None:
    source, told = LIES["babble instead of JSON"]
    report = smoke(program(HONEST % source))
    assert told in report.complaint
    assert report.exit_code == EXIT_UNKNOWN


def test_smoke_tells_a_wrong_answer() -> None:
    class Careless(Reference):
        def renew(self, job: str, worker_id: str, lease_generation: int | None) -> dict[str, Any]:
            return ok()

    report = smoke(type(adapter("memory"))("careless", Careless))
    assert "must be refused" in report.complaint
    assert report.exit_code == EXIT_REFUTED
