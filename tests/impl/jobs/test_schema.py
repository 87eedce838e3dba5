"""The table: constraints that legacy rows keep and illegal rows break, on both databases; and an application's own."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import (
    Column,
    DateTime,
    Engine,
    Integer,
    MetaData,
    String,
    Table,
    event,
    insert,
    text,
)
from sqlalchemy.exc import IntegrityError

from fencepost.clock import ManualClock
from fencepost.db.engine import open_engine
from fencepost.errors import ConfigurationError, NaiveDatetime
from fencepost.jobs import DurableJobRuntime, JobTable, Profile, Token, job_table
from fencepost.jobs.checks import row_invariants
from fencepost.jobs.schema import PARKING, STORED
from fencepost_model.machines.job import LEGACY_ROWS, STATUSES
from fencepost_model.shapes import Sort
from fencepost_model.terms import Bare, holds
from fencepost_model.vocabulary import ColumnVocabulary

START = datetime(2030, 1, 1, tzinfo=UTC)
LATER = START + timedelta(seconds=60)

LEASE = {"worker_id": "w", "lease_expires_at": START, "heartbeat_at": START}
ENDED = {"finished_at": START}
PARKED = {"next_poll_at": START, "deadline_at": LATER, "provider_ref": "ref"}
LEGAL: dict[str, dict[str, Any]] = {
    "pending": {},
    "running": {**LEASE, "attempt_count": 1},
    "waiting_provider": {**PARKED, "attempt_count": 1},
    "succeeded": {**ENDED},
    "failed": {**ENDED, "error_code": "PAGE_SCREENSHOT_JOB_STALE"},
    "cancelled": {**ENDED},
    "skipped": {**ENDED, "error_code": "PAGE_SCREENSHOT_JOB_STALE"},
    "expired": {**ENDED, "error_code": "JOB_DEADLINE_EXCEEDED"},
}
"""A legal row in each status."""

REST: dict[str, Any] = {
    **dict.fromkeys(STORED),
    "lease_generation": 0,
    "attempt_count": 0,
    "max_attempts": 3,
    "poll_count": 0,
}

ILLEGAL: dict[str, dict[str, Any]] = {
    "a word that is no status": {"status": "paused"},
    "a pending row with an owner": {"status": "pending", "worker_id": "w"},
    "a pending row with a lease": {"status": "pending", "lease_expires_at": START},
    "an ended row with a heartbeat": {"status": "succeeded", **ENDED, "heartbeat_at": START},
    "an ended row without its end": {"status": "succeeded"},
    "a running row with an end": {"status": "running", **LEASE, **ENDED},
    "a parked row without a poll": {"status": "waiting_provider", **PARKED, "next_poll_at": None},
    "a pending row with a poll": {"status": "pending", "next_poll_at": START, "deadline_at": LATER},
    "a parked row asked to stop": {"status": "waiting_provider", **PARKED, "cancel_requested_at": START},
    "a parked row without a deadline": {"status": "waiting_provider", "next_poll_at": START},
    "a parked row that no provider knows": {"status": "waiting_provider", **PARKED, "provider_ref": None},
    "a provider without a deadline": {"status": "succeeded", **ENDED, "provider_ref": "ref"},
    "a pending row that a provider has": {"status": "pending", "provider_ref": "ref", "deadline_at": LATER},
    "more attempts than there are": {"status": "pending", "attempt_count": 4, "max_attempts": 3},
    "a negative count of attempts": {"status": "pending", "attempt_count": -1},
    "no attempts at all": {"status": "pending", "attempt_count": 0, "max_attempts": 0},
    "a lease beyond the deadline": {"status": "running", **LEASE, "lease_expires_at": LATER, "deadline_at": START},
    "a failure that says nothing": {"status": "failed", **ENDED},
    "a success with an error": {"status": "succeeded", **ENDED, "error_code": "PAGE_SCREENSHOT_JOB_STALE"},
    "a negative generation": {"status": "pending", "lease_generation": -1},
}


@pytest.mark.parametrize("status", LEGAL)
def test_legal_rows_are_kept(runtime: DurableJobRuntime, status: str) -> None:
    key = runtime.load({"status": status, **LEGAL[status]})
    found = runtime.inspect(key)
    assert found is not None
    assert found.status == status


@pytest.mark.parametrize("legacy", LEGACY_ROWS, ids=lambda legacy: legacy.name)
def test_rows_of_older_programs_are_kept(runtime: DurableJobRuntime, legacy: Any) -> None:
    row: dict[str, Any] = {name: value for name, value in legacy.fields.items() if name in STORED}
    for name, value in row.items():
        if STORED[name] is Sort.INSTANT and value is not None:
            row[name] = START + timedelta(seconds=value)
    found = runtime.inspect(runtime.load(row))
    assert found is not None
    assert {name: getattr(found, name) for name in row} == row


@pytest.mark.parametrize("fault", ILLEGAL)
def test_illegal_rows_are_refused(runtime: DurableJobRuntime, fault: str) -> None:
    with pytest.raises(IntegrityError):
        runtime.load(ILLEGAL[fault])


def test_no_constraint_asks_for_more_than_one_row_can_tell() -> None:
    """Invariants that read a token, the clock, a setting, a ghost or particular codes are no constraints."""
    constrained = {invariant.name for invariant in row_invariants(frozenset(STORED))}
    assert constrained >= {"lease_off_unless_running", "finished_exactly_when_ended", "attempts_within_budget"}
    assert not constrained & {
        "current_token_holds",
        "polls_bounded",
        "pending_uncancelled",
        "running_under_a_lease",
        "retried_for_retryable",
        "no_fence_verdict",
    }


CHANGES: dict[str, st.SearchStrategy[Any]] = {
    "status": st.sampled_from([status.name for status in STATUSES]),
    "worker_id": st.sampled_from([None, "w"]),
    "lease_generation": st.integers(-1, 1),
    "attempt_count": st.integers(-1, 3),
    "max_attempts": st.integers(0, 3),
    "error_code": st.sampled_from([None, "PAGE_SCREENSHOT_JOB_STALE"]),
    "error_message": st.sampled_from([None, "why"]),
    "provider_ref": st.sampled_from([None, "ref"]),
    **{
        name: st.sampled_from([None, START, START + timedelta(seconds=1)])
        for name, sort in STORED.items()
        if sort is Sort.INSTANT
    },
}
ROWS = st.tuples(
    st.sampled_from(sorted(LEGAL)),
    st.lists(st.sampled_from(sorted(CHANGES)), max_size=4).flatmap(
        lambda names: st.fixed_dictionaries({name: CHANGES[name] for name in names})
    ),
)
"""A legal row, and what is changed in it."""


def test_the_database_keeps_exactly_the_rows_that_the_invariants_allow(runtime: DurableJobRuntime) -> None:
    """Both readings of the same terms on the same rows: the model's and the CHECK constraints'."""
    invariants = list(row_invariants(frozenset(STORED)))
    kept: set[bool] = set()

    @settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
    @given(drawn=ROWS)
    def compare(drawn: tuple[str, dict[str, Any]]) -> None:
        status, changes = drawn
        row = {**REST, "status": status, **LEGAL[status], **changes}
        plain = {name: (v - START).total_seconds() if isinstance(v, datetime) else v for name, v in row.items()}
        allowed = all(holds(invariant.statement, Bare({"job": plain})) for invariant in invariants)
        try:
            runtime.load(row)
        except IntegrityError:
            assert not allowed
        else:
            assert allowed
        kept.add(allowed)

    compare()
    assert kept == {True, False}


def test_any_code_that_classifies_may_stand_in_the_table(runtime: DurableJobRuntime) -> None:
    """The model reasons with one code of each family; the table must not be limited to those."""
    runtime.enqueue()
    (claimed,) = runtime.claim("w")
    outcome = runtime.fail(claimed.token, "PDF_EXPORT_SERVICE_UNAVAILABLE", "503").require()
    assert (outcome.case, outcome.after.error_code) == ("retried", "PDF_EXPORT_SERVICE_UNAVAILABLE")


def test_extra_columns_are_the_applications(engine: Engine, clock: ManualClock) -> None:
    metadata = MetaData()
    table = job_table(metadata, "exports", ColumnVocabulary({}), Column("tenant", String(20), nullable=False))
    metadata.create_all(engine)
    runtime = DurableJobRuntime(engine, table, clock=clock)
    key = runtime.enqueue({"n": 1}, own={"tenant": "acme"}).require().job_id
    with engine.connect() as connection:
        assert connection.execute(table.select()).mappings().one()["tenant"] == "acme"
    assert [claimed.token.job_id for claimed in runtime.claim("w")] == [key]
    with pytest.raises(ConfigurationError, match="status"):
        runtime.enqueue(own={"tenant": "acme", "status": "succeeded"})
    with pytest.raises(ConfigurationError, match="nowhere"):
        runtime.enqueue(own={"nowhere": 1})


def test_one_column_may_carry_heartbeat_and_start(engine: Engine, clock: ManualClock) -> None:
    """Registered in the vocabulary: the build queue's `claimed_at`. The start is then as old as the last beat."""
    vocabulary = ColumnVocabulary({"heartbeat_at": "claimed_at", "started_at": "claimed_at"})
    metadata = MetaData()
    table = job_table(metadata, "builds", vocabulary)
    metadata.create_all(engine)
    runtime = DurableJobRuntime(engine, JobTable(table, vocabulary), clock=clock)
    runtime.enqueue()
    (claimed,) = runtime.claim("w")
    assert claimed.job.started_at == claimed.job.heartbeat_at == START
    ended = runtime.succeed(claimed.token).require().after
    assert ended.heartbeat_at is None


class TestOwnTable:
    def columns(self, *without: str) -> list[Column[Any]]:
        ours = job_table(MetaData()).c
        return [Column(name, ours[name].type, nullable=ours[name].nullable) for name in STORED if name not in without]

    def test_missing_columns_are_named_in_one_sentence(self) -> None:
        table = Table(
            "own", MetaData(), Column("id", Integer(), primary_key=True), *self.columns("worker_id", "status")
        )
        with pytest.raises(ConfigurationError) as refused:
            JobTable(table)
        assert "status (column 'status'), worker_id (column 'worker_id')" in str(refused.value)
        assert str(refused.value).count(".") == 1

    def test_the_vocabularys_name_is_the_one_looked_for(self) -> None:
        table = Table("own", MetaData(), Column("id", Integer(), primary_key=True), *self.columns())
        with pytest.raises(ConfigurationError, match=r"worker_id \(column 'lease_owner'\)"):
            JobTable(table, ColumnVocabulary({"worker_id": "lease_owner"}))

    def test_bare_datetimes_are_refused(self) -> None:
        columns = [*self.columns("deadline_at"), Column("deadline_at", DateTime(timezone=True))]
        table = Table("own", MetaData(), Column("id", Integer(), primary_key=True), *columns)
        with pytest.raises(ConfigurationError, match="UtcDateTime"):
            JobTable(table)

    def test_a_flag_is_no_time(self) -> None:
        """`cancel_requested` of older tables is a flag; the contract keeps the time of the first request."""
        columns = [*self.columns("cancel_requested_at"), Column("cancel_requested", Integer())]
        table = Table("own", MetaData(), Column("id", Integer(), primary_key=True), *columns)
        with pytest.raises(ConfigurationError, match="cancel_requested"):
            JobTable(table, ColumnVocabulary({"cancel_requested_at": "cancel_requested"}))

    def test_text_is_no_count(self) -> None:
        columns = [*self.columns("attempt_count"), Column("attempt_count", String())]
        table = Table("own", MetaData(), Column("id", Integer(), primary_key=True), *columns)
        with pytest.raises(ConfigurationError, match="whole number"):
            JobTable(table)

    def test_the_key_is_one_column(self) -> None:
        pair = [Column("a", Integer(), primary_key=True), Column("b", Integer(), primary_key=True)]
        with pytest.raises(ConfigurationError, match="primary key"):
            JobTable(Table("own", MetaData(), *pair, *self.columns()))

    def test_a_role_must_exist(self) -> None:
        table = Table("own", MetaData(), Column("id", Integer(), primary_key=True), *self.columns())
        with pytest.raises(ConfigurationError, match="no role"):
            JobTable(table, roles={"colour": "id"})
        with pytest.raises(ConfigurationError, match="lacks columns named in roles"):
            JobTable(table, roles={"queue": "topic"})

    def test_parking_needs_its_columns(self, engine: Engine) -> None:
        table = Table("own", MetaData(), Column("id", Integer(), primary_key=True), *self.columns(*PARKING))
        table.create(engine)
        with pytest.raises(ConfigurationError, match="registers_park"):
            DurableJobRuntime(engine, table, Profile(registers_park=True))
        runtime = DurableJobRuntime(engine, table)
        key = runtime.enqueue().require().job_id
        (claimed,) = runtime.claim("w")
        assert (claimed.token.job_id, claimed.job.poll_count, claimed.job.provider_ref) == (key, 0, None)
        assert runtime.succeed(claimed.token).accepted

    def test_no_payload_without_a_column_for_it(self, engine: Engine) -> None:
        table = Table("own", MetaData(), Column("id", Integer(), primary_key=True), *self.columns())
        table.create(engine)
        runtime = DurableJobRuntime(engine, table)
        with pytest.raises(ConfigurationError, match="payload"):
            runtime.enqueue({"n": 1})
        assert runtime.enqueue().accepted

    def test_keys_may_be_text(self, engine: Engine) -> None:
        numbers = iter("abc")
        key = Column("id", String(10), primary_key=True, default=lambda: next(numbers))
        table = Table("own", MetaData(), key, *self.columns())
        table.create(engine)
        runtime = DurableJobRuntime(engine, table)
        assert runtime.enqueue().require().job_id == "a"
        (claimed,) = runtime.claim("w")
        assert runtime.succeed(claimed.token).accepted
        found = runtime.inspect("a")
        assert found is not None
        assert found.status == "succeeded"


class TestArguments:
    def test_naive_datetimes_are_refused(self, runtime: DurableJobRuntime) -> None:
        naive = datetime(2031, 1, 1)  # noqa: DTZ001 - what is refused
        with pytest.raises(NaiveDatetime):
            runtime.enqueue(deadline_at=naive)
        with pytest.raises(NaiveDatetime):
            runtime.park(Token(1, "w", 1, "a"), "ref", naive)
        with pytest.raises(NaiveDatetime):
            runtime.load({"status": "pending", "deadline_at": naive})

    def test_a_time_in_another_zone_is_the_same_time(self, runtime: DurableJobRuntime) -> None:
        local = datetime(2030, 1, 1, 3, tzinfo=timezone(timedelta(hours=2)))
        created = runtime.enqueue(deadline_at=local).require().after
        assert created.deadline_at == START + timedelta(hours=1)

    def test_rows_are_loaded_by_standard_names(self, runtime: DurableJobRuntime) -> None:
        with pytest.raises(ConfigurationError, match="owner"):
            runtime.load({"status": "pending", "owner": "w"})

    def test_a_provider_has_a_name_for_the_work(self, runtime: DurableJobRuntime) -> None:
        with pytest.raises(ConfigurationError, match="provider_ref"):
            runtime.park(Token(1, "w", 1, "a"), "", LATER)


# --- the searches use their indexes -----------------------------------------------------------------------------------


def plan_of(engine: Engine, runtime: DurableJobRuntime, operation: str) -> str:
    """How the database would run the operation's search, in its own words."""
    seen: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        seen.append((statement, parameters))

    event.listen(engine, "before_cursor_execute", note)
    try:
        if operation in {"claim", "resume_poll"}:
            getattr(runtime, operation)("w", 5)
        else:
            getattr(runtime, operation)(5)
    finally:
        event.remove(engine, "before_cursor_execute", note)
    statement, parameters = next((s, p) for s, p in seen if "LIMIT" in s)
    explain = "EXPLAIN QUERY PLAN " if engine.dialect.name == "sqlite" else "EXPLAIN "
    with engine.connect() as connection:
        rows = connection.exec_driver_sql(explain + statement, parameters).all()
    return "\n".join(str(row) for row in rows)


@pytest.mark.parametrize(
    ("operation", "indexes"),
    [
        ("claim", {"claim"}),
        ("resume_poll", {"poll"}),
        ("recover", {"lease"}),
        ("expire_overdue", {"deadline", "stuck"}),
    ],
)
def test_searches_do_not_read_the_backlog(
    engine: Engine, runtime: DurableJobRuntime, table: Table, operation: str, indexes: set[str]
) -> None:
    """With a backlog of thousands each search goes by its partial index and scans no table."""
    counts = {"lease_generation": 1, "attempt_count": 1, "max_attempts": 3, "poll_count": 0}
    common: dict[str, Any] = {"queue": "default", "priority": 0, "enqueued_at": START, **counts}
    statuses: dict[str, dict[str, Any]] = {
        "succeeded": {"finished_at": START},
        "pending": {"attempt_count": 0},
        "running": {**LEASE, "lease_expires_at": START + timedelta(days=900)},
        "waiting_provider": {**PARKED, "next_poll_at": LATER, "deadline_at": START + timedelta(days=900)},
    }
    with engine.begin() as connection:
        for status, fields in statuses.items():
            connection.execute(insert(table), [{**common, "status": status, **fields} for _ in range(3000)])
    with engine.connect() as connection:
        connection.execution_options(isolation_level="AUTOCOMMIT").execute(text("ANALYZE"))
    plan = plan_of(engine, runtime, operation)
    assert any(f"ix_{table.name}_{index}" in plan for index in indexes), plan
    assert "Seq Scan" not in plan, plan
    assert f"SCAN {table.name}\n" not in plan, plan


@pytest.mark.parametrize("name", ["jobs", "j" * 30, "j" * 63])
def test_a_table_of_any_name_that_the_databases_take_can_be_made_twice_over(store_url: str, name: str) -> None:
    engine = open_engine(store_url)
    metadata = MetaData()
    job_table(metadata, name)
    metadata.create_all(engine)
    metadata.create_all(engine)
    names = [constraint.name for constraint in metadata.tables[name].constraints] + [
        index.name for index in metadata.tables[name].indexes
    ]
    assert all(len(str(each)) <= 63 for each in names)
    assert len(set(names) - {None}) == len([each for each in names if each is not None])
    engine.dispose()
