"""The asynchronous drivers run the same functions: transactions, types, clocks, locks and retries."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Column, Connection, Integer, MetaData, Table, insert, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from fencepost.clock import DatabaseClock
from fencepost.db import engine as engine_module
from fencepost.db.dialects import Dialect, dialect_of
from fencepost.db.engine import (
    Durability,
    in_transaction_on_driver,
    open_async_engine,
    open_engine,
    open_statement_connection,
    set_durability,
)
from fencepost.db.errors import is_conflict, is_connection_lost
from fencepost.db.moments import earliest, plus_seconds, store_now
from fencepost.db.retry import retry_write_async
from fencepost.db.tx import (
    async_write_transaction,
    commit_end_read,
    holds_write_lock,
    open_async_write_transaction,
    open_write_transaction,
    write_transaction,
)
from fencepost.db.types import JsonPayload, UtcDateTime
from fencepost.errors import NaiveDatetime, TransactionAborted, TransactionError

metadata = MetaData()
jobs = Table(
    "jobs",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("payload", JsonPayload()),
    Column("created", UtcDateTime()),
)

T0 = datetime(2026, 1, 1, 0, 0, 0, 1, UTC)


@asynccontextmanager
async def opened(url: str, *, busy_timeout: float = 0) -> AsyncGenerator[AsyncEngine]:
    engine = open_async_engine(url, busy_timeout=busy_timeout)
    try:
        async with engine.begin() as connection:
            await connection.run_sync(metadata.create_all)
        yield engine
    finally:
        await engine.dispose()


def on_a_store(url: str, story: Callable[[AsyncEngine], Awaitable[None]], *, busy_timeout: float = 0) -> None:
    async def main() -> None:
        async with opened(url, busy_timeout=busy_timeout) as engine:
            await story(engine)

    asyncio.run(main())


async def stored(engine: AsyncEngine) -> list[int]:
    async with engine.connect() as connection:
        return list(await connection.scalars(select(jobs.c.id).order_by(jobs.c.id)))


def enqueue(connection: Connection, identifier: int) -> None:
    """A function of the runtime, written once, against a synchronous connection."""
    with write_transaction(connection):
        connection.execute(insert(jobs).values(id=identifier, payload={"n": identifier}, created=T0))


def test_every_setting_is_in_force(store_url: str) -> None:
    def check(connection: Connection) -> None:
        if dialect_of(connection) is Dialect.SQLITE:
            shown = {
                name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
                for name in ("journal_mode", "foreign_keys", "busy_timeout", "synchronous")
            }
            assert shown == {"journal_mode": "wal", "foreign_keys": 1, "busy_timeout": 1500, "synchronous": 2}
        else:
            names = ("TimeZone", "transaction_isolation", "application_name", "synchronous_commit")
            assert [connection.exec_driver_sql(f"SHOW {name}").scalar_one() for name in names] == [
                "UTC",
                "read committed",
                "fencepost",
                "on",
            ]
        connection.rollback()
        set_durability(connection, Durability.RELAXED)

    async def story(engine: AsyncEngine) -> None:
        for _ in range(2):  # the second time on the pooled connection, which the first has left relaxed
            async with engine.connect() as connection:
                await connection.run_sync(check)

    on_a_store(store_url, story, busy_timeout=1.5)


def test_a_synchronous_function_runs_on_an_asynchronous_connection(store_url: str) -> None:
    def read(connection: Connection) -> tuple[object, ...]:
        lease = earliest(plus_seconds(jobs.c.created, 30), store_now())
        row = connection.execute(select(jobs.c.payload, jobs.c.created, lease)).one()
        commit_end_read(connection)
        assert not in_transaction_on_driver(connection)
        return tuple(row)

    async def story(engine: AsyncEngine) -> None:
        async with engine.connect() as connection:
            await connection.run_sync(enqueue, 1)
            payload, created, lease = await connection.run_sync(read)
            assert payload == {"n": 1}
            assert created == T0
            assert lease == T0.replace(second=30)
            before = datetime.now(UTC)
            assert before <= await connection.run_sync(DatabaseClock().read) <= datetime.now(UTC)

    on_a_store(store_url, story)


def test_a_naive_time_is_refused(store_url: str) -> None:
    async def story(engine: AsyncEngine) -> None:
        async with engine.connect() as connection:
            with pytest.raises(NaiveDatetime):
                await connection.execute(insert(jobs).values(id=1, created=datetime(2026, 1, 1)))  # noqa: DTZ001

    on_a_store(store_url, story)


def test_a_write_transaction_may_await(store_url: str) -> None:
    async def fail(connection: AsyncConnection) -> None:
        async with async_write_transaction(connection):
            await connection.execute(insert(jobs).values(id=2))
            raise ZeroDivisionError

    async def story(engine: AsyncEngine) -> None:
        async with engine.connect() as connection:
            async with async_write_transaction(connection) as inside:
                assert inside is connection
                await connection.execute(insert(jobs).values(id=1))
                single = dialect_of(engine.sync_engine) is Dialect.SQLITE
                assert await connection.run_sync(holds_write_lock) is single
                with pytest.raises(TransactionError, match="commit=False"):
                    await connection.run_sync(enqueue, 7)
            with pytest.raises(ZeroDivisionError):
                await fail(connection)
            assert not await connection.run_sync(in_transaction_on_driver)
            async with async_write_transaction(connection, commit=False):
                await connection.execute(insert(jobs).values(id=3))
            await connection.rollback()
        async with open_async_write_transaction(engine) as connection:
            await connection.execute(insert(jobs).values(id=4))
        assert await stored(engine) == [1, 4]

    on_a_store(store_url, story)


def test_a_swallowed_error_is_no_silent_rollback(postgresql_url: str) -> None:
    async def write(engine: AsyncEngine) -> None:
        async with open_async_write_transaction(engine) as connection:
            await connection.execute(insert(jobs).values(id=1))
            with pytest.raises(DBAPIError):
                await connection.execute(insert(jobs).values(id=1))

    async def story(engine: AsyncEngine) -> None:
        with pytest.raises(TransactionAborted):
            await write(engine)

    on_a_store(postgresql_url, story)


def test_statements_may_stand_alone(store_url: str) -> None:
    def check(connection: Connection) -> None:
        with open_statement_connection(connection.engine) as alone:
            alone.execute(insert(jobs).values(id=1))
            assert not in_transaction_on_driver(alone)
            enqueue(alone, 2)

    async def story(engine: AsyncEngine) -> None:
        for _ in range(2):
            async with engine.connect() as connection:
                await connection.run_sync(check)
            assert await stored(engine) == [1, 2]
            async with engine.begin() as connection:
                await connection.execute(jobs.delete())

    on_a_store(store_url, story)


def test_a_real_conflict_is_retried(sqlite_path: Path) -> None:
    async def story(engine: AsyncEngine) -> None:
        async with engine.connect() as rival:
            await rival.run_sync(lambda connection: write_transaction(connection, commit=False).__enter__())
            conflicts: list[bool] = []

            async def rival_ends(_seconds: float) -> None:
                await rival.commit()

            async def work(connection: AsyncConnection) -> str:
                await connection.execute(insert(jobs).values(id=1))
                return "done"

            result = await retry_write_async(
                partial(open_async_write_transaction, engine),
                work,
                sleep=rival_ends,
                on_conflict=lambda _attempt, error: conflicts.append(is_conflict(error)),
            )
        assert result == "done"
        assert conflicts == [True]
        assert await stored(engine) == [1]

    on_a_store(f"sqlite:///{sqlite_path}", story)


def test_a_serialization_failure_is_a_conflict(postgresql_url: str) -> None:
    async def story(engine: AsyncEngine) -> None:
        async with engine.begin() as connection:
            await connection.execute(jobs.delete())
            await connection.execute(insert(jobs).values(id=1))
        serializable = engine.execution_options(isolation_level="SERIALIZABLE")
        async with serializable.connect() as first, serializable.connect() as second:
            for connection in (first, second):
                await connection.execute(select(jobs))
            await first.execute(jobs.update().values(created=T0))
            await first.commit()
            with pytest.raises(DBAPIError) as caught:
                await second.execute(jobs.update().values(created=T0))
            assert is_conflict(caught.value)
            assert not is_connection_lost(caught.value)

    on_a_store(postgresql_url, story)


def test_a_closed_aiosqlite_connection_is_a_lost_one(sqlite_path: Path) -> None:
    async def story(engine: AsyncEngine) -> None:
        async with engine.connect() as connection:
            driver = (await connection.get_raw_connection()).driver_connection
            assert driver is not None
            await driver.close()
            with pytest.raises(DBAPIError) as caught:
                await connection.execute(select(jobs))
            assert is_connection_lost(caught.value)

    on_a_store(f"sqlite:///{sqlite_path}", story)


def test_a_wal_switch_that_meets_a_writer_leaves_the_loop_running(sqlite_path: Path) -> None:
    writer = sqlite3.connect(sqlite_path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")

    async def main() -> None:
        engine = open_async_engine(f"sqlite:///{sqlite_path}", busy_timeout=60)
        opening = asyncio.ensure_future(engine.connect().start())
        paused = asyncio.Event()
        turned: list[bool] = []
        original = engine_module._pause

        def pause(connection: object, seconds: float) -> None:
            paused.set()
            turns: list[None] = []
            asyncio.get_running_loop().call_soon(turns.append, None)
            original(connection, seconds)  # type: ignore[arg-type]
            turned.append(bool(turns))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(engine_module, "_pause", pause)
            await paused.wait()
            writer.execute("COMMIT")
            connection = await opening
        assert turned, "the writer was met, otherwise this test shows nothing"
        assert all(turned)
        assert (await connection.exec_driver_sql("PRAGMA journal_mode")).scalar_one() == "wal"
        await connection.close()
        await engine.dispose()

    asyncio.run(main())
    writer.close()


@pytest.mark.parametrize("turns", range(0, 40, 3))
def test_a_cancelled_block_writes_nothing_and_lets_go(store_url: str, turns: int) -> None:
    """Cancelled at whatever point it has reached after so many turns of the loop."""

    async def story(engine: AsyncEngine) -> None:
        reached: list[str] = []

        async def write() -> None:
            async with open_async_write_transaction(engine) as connection:
                reached.append("inside")
                await connection.execute(insert(jobs).values(id=1))
                await asyncio.Event().wait()

        task = asyncio.ensure_future(write())
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await stored(engine) == []
        async with open_async_write_transaction(engine) as connection:
            await connection.execute(insert(jobs).values(id=2))
        assert await stored(engine) == [2]

    on_a_store(store_url, story, busy_timeout=30)


@pytest.mark.parametrize("turns", range(0, 40, 3))
def test_a_cancelled_wait_for_the_write_lock_never_gets_it(sqlite_path: Path, turns: int) -> None:
    """aiosqlite's thread goes on waiting for the lock after the task was cancelled."""
    url = f"sqlite:///{sqlite_path}"

    async def story(engine: AsyncEngine) -> None:
        holder = open_engine(url)

        async def wait_for_the_lock() -> None:
            async with open_async_write_transaction(engine) as connection:
                await connection.execute(insert(jobs).values(id=1))

        with open_write_transaction(holder):
            task = asyncio.ensure_future(wait_for_the_lock())
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with open_write_transaction(holder) as connection:
            connection.execute(insert(jobs).values(id=2))
        holder.dispose()
        assert await stored(engine) == [2]

    on_a_store(url, story, busy_timeout=30)
