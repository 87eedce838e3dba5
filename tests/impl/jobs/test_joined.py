"""Operations inside a transaction of the caller's: jobs and domain writes stand or fall together (`commit=False`)."""

import contextlib
from collections.abc import Callable
from typing import TypeAlias

import pytest
from sqlalchemy import Column, Engine, Integer, MetaData, Table, func, insert, select

from fencepost.db.tx import write_transaction
from fencepost.jobs import DurableJobRuntime, JobTable
from fencepost.jobs.operations import Submission, succeed_call
from fencepost.journal import JournalRecord, MemorySink

MakeRuntime: TypeAlias = Callable[..., DurableJobRuntime]


class Thrown(Exception):
    """What undoes the transactions of these tests."""


@pytest.fixture
def orders(engine: Engine) -> Table:
    metadata = MetaData()
    table = Table("orders", metadata, Column("id", Integer(), primary_key=True))
    metadata.create_all(engine)
    return table


def size(engine: Engine, table: Table) -> int:
    with engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar_one()


def test_a_rollback_takes_the_job_with_it(engine: Engine, runtime: DurableJobRuntime, orders: Table) -> None:
    with engine.connect() as connection, contextlib.suppress(Thrown), write_transaction(connection):
        connection.execute(insert(orders).values(id=1))
        assert runtime.joined(connection).enqueue({"order": 1}).accepted
        raise Thrown
    assert size(engine, orders) == 0
    assert runtime.claim("w") == []


def test_a_commit_keeps_both(engine: Engine, runtime: DurableJobRuntime, orders: Table) -> None:
    with engine.connect() as connection, write_transaction(connection):
        connection.execute(insert(orders).values(id=1))
        runtime.joined(connection).enqueue({"order": 1}).require()
    assert size(engine, orders) == 1
    assert [claimed.payload for claimed in runtime.claim("w")] == [{"order": 1}]


def test_a_success_falls_with_the_domain_write(engine: Engine, runtime: DurableJobRuntime, orders: Table) -> None:
    runtime.enqueue()
    (claimed,) = runtime.claim("w")
    with engine.connect() as connection, contextlib.suppress(Thrown), write_transaction(connection):
        connection.execute(insert(orders).values(id=1))
        assert runtime.joined(connection).succeed(claimed.token).accepted
        raise Thrown
    assert size(engine, orders) == 0
    found = runtime.inspect(claimed.token.job_id)
    assert found is not None
    assert found.status == "running"
    assert runtime.succeed(claimed.token).accepted


def test_several_operations_see_each_other(engine: Engine, runtime: DurableJobRuntime) -> None:
    with engine.connect() as connection, write_transaction(connection):
        jobs = runtime.joined(connection)
        key = jobs.enqueue().require().job_id
        (claimed,) = jobs.claim("w")
        assert claimed.token.job_id == key
        assert jobs.request_cancel(claimed.token.job_id).require().case == "noted"
        refusal = jobs.succeed(claimed.token)
        assert refusal.guards == {"cancel_does_not_win"}  # type: ignore[union-attr]
        assert jobs.acknowledge_cancel(claimed.token).accepted
    found = runtime.inspect(claimed.token.job_id)
    assert found is not None
    assert found.status == "cancelled"


def test_the_functions_themselves_run_on_a_callers_connection(engine: Engine, runtime: DurableJobRuntime) -> None:
    """`commit=False` without any object between: the operation as a function of context and connection."""
    with engine.connect() as connection, write_transaction(connection):
        key = Submission({"n": 1}).perform(runtime.context, connection).require().job_id
    (claimed,) = runtime.claim("w")
    assert claimed.token.job_id == key
    with engine.connect() as connection, write_transaction(connection):
        outcome = succeed_call(claimed.token).perform(runtime.context, connection).require()
    assert (outcome.case, outcome.before.status if outcome.before else None) == ("succeeded", "running")


def test_the_journal_hears_of_it_after_the_commit(engine: Engine, make_runtime: MakeRuntime, job: JobTable) -> None:
    journal = MemorySink()
    runtime = make_runtime(journal=journal)
    empty: tuple[JournalRecord, ...] = ()
    with engine.connect() as connection, write_transaction(connection):
        jobs = runtime.joined(connection)
        jobs.enqueue()
        jobs.claim("w")
        assert journal.records == empty
    jobs.publish()
    assert [record.operation for record in journal.records] == ["enqueue", "claim"]
    jobs.publish()
    assert len(journal.records) == 2
