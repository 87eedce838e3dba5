"""The journal: one record for each operation on a job, accepted or refused, written after the commit."""

import json
import logging
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TypeAlias

import pytest

from fencepost.clock import ManualClock
from fencepost.jobs import DurableJobRuntime
from fencepost.journal import JournalRecord, JsonLinesSink, MemorySink

MakeRuntime: TypeAlias = Callable[..., DurableJobRuntime]


@pytest.fixture
def journal() -> MemorySink:
    return MemorySink()


@pytest.fixture
def runtime(make_runtime: MakeRuntime, journal: MemorySink) -> DurableJobRuntime:
    return make_runtime(journal=journal)


def test_every_call_is_one_record(runtime: DurableJobRuntime, journal: MemorySink, clock: ManualClock) -> None:
    key = runtime.enqueue({"n": 1}, max_attempts=2).require().job_id
    assert runtime.enqueue(max_attempts=0).accepted is False
    (claimed,) = runtime.claim("w")
    runtime.renew(claimed.token)
    runtime.fail(claimed.token, "RENDER_SERVICE_UNAVAILABLE", "503")
    runtime.succeed(claimed.token)
    clock.advance(5)
    (again,) = runtime.claim("v")
    clock.advance(60)
    runtime.recover()
    runtime.request_cancel(key)
    said = [(record.operation, record.case, record.false_guards) for record in journal.records]
    assert said == [
        ("enqueue", "created", ()),
        ("enqueue", None, ("attempts_positive",)),
        ("claim", "claimed", ()),
        ("renew", "renewed", ()),
        ("fail", "retried", ()),
        ("succeed", None, ("generation", "lease_alive", "owner", "running")),
        ("claim", "claimed", ()),
        ("recover", "exhausted", ()),
        ("request_cancel", None, ("not_ended",)),
    ]
    assert [record.accepted for record in journal.records] == [case is not None for _, case, _ in said]
    failed = journal.records[4]
    assert (failed.reason, failed.worker_id, failed.lease_generation) == ("RENDER_SERVICE_UNAVAILABLE", "w", 1)
    assert failed.arguments == {"code": "RENDER_SERVICE_UNAVAILABLE", "message": "503"}
    recovered = journal.records[7]
    assert (recovered.worker_id, recovered.attempt_id) == ("v", again.token.attempt_id)
    assert recovered.reason == "LEASE_TIMEOUT_MAX_ATTEMPTS"


def test_each_record_begins_where_the_last_one_ended(
    runtime: DurableJobRuntime, journal: MemorySink, clock: ManualClock
) -> None:
    """`before` and `after` chain, so that a reader sees every change of the job and no other."""
    key = runtime.enqueue(deadline_at=clock.now() + timedelta(hours=1)).require().job_id
    (claimed,) = runtime.claim("w")
    runtime.renew(claimed.token)
    runtime.release(claimed.token)
    runtime.succeed(claimed.token)
    runtime.request_cancel(key)
    stands = None
    for record in journal.records:
        assert record.before == stands
        stands = record.after if record.accepted else record.before
    found = runtime.inspect(key)
    assert found is not None
    assert stands is not None
    assert {name: stands[name] for name in found.standard()} == found.standard()


def test_looking_for_work_in_vain_is_no_record(runtime: DurableJobRuntime, journal: MemorySink) -> None:
    assert [runtime.claim("w"), runtime.resume_poll("w"), runtime.recover(), runtime.expire_overdue()] == [[]] * 4
    assert not journal.records


def test_payloads_stay_out_of_it(runtime: DurableJobRuntime, journal: MemorySink) -> None:
    runtime.enqueue({"secret": "xyzzy"})
    runtime.claim("w")
    assert "xyzzy" not in json.dumps([record.as_json() for record in journal.records])


def test_a_file_has_one_line_a_record(make_runtime: MakeRuntime, journal: MemorySink, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"

    class Both:
        def write(self, records: Sequence[JournalRecord]) -> None:
            journal.write(records)
            lines.write(records)

    with JsonLinesSink(path) as lines:
        runtime = make_runtime(journal=Both())
        runtime.enqueue({"n": 1})
        (claimed,) = runtime.claim("w")
        runtime.fail(claimed.token, "PAGE_SCREENSHOT_JOB_STALE", "zwölf\nZeilen")
    with JsonLinesSink(path) as lines:
        make_runtime(journal=Both()).succeed(claimed.token)
    written = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert written == [record.as_json() for record in journal.records]
    assert len(written) == 4
    assert written[2]["after"]["error_message"] == "zwölf\nZeilen"
    assert written[0]["at"] == "2030-01-01T00:00:00.000000+00:00"


def test_a_sink_that_fails_is_logged_and_undoes_nothing(
    make_runtime: MakeRuntime, caplog: pytest.LogCaptureFixture
) -> None:
    class Full:
        def write(self, records: Sequence[JournalRecord]) -> None:
            raise OSError("no space left")

    runtime = make_runtime(journal=Full())
    with caplog.at_level(logging.ERROR):
        key = runtime.enqueue().require().job_id
    assert "lost 1 record" in caplog.text
    assert [claimed.token.job_id for claimed in runtime.claim("w")] == [key]
