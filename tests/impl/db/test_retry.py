"""A write is run again after a real conflict, in a fresh transaction, as often as its schedule says."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Column, Connection, Engine, Integer, MetaData, Table, insert, select, update
from sqlalchemy.exc import DBAPIError, IntegrityError

from fencepost.db.dialects import Dialect
from fencepost.db.engine import in_transaction_on_driver
from fencepost.db.errors import is_conflict
from fencepost.db.retry import DEFAULT_DELAYS, retry_write, retry_write_async, spread
from fencepost.db.tx import open_write_transaction, write_transaction
from fencepost.errors import ConfigurationError, WriteConflict

metadata = MetaData()
rows = Table("counted", metadata, Column("id", Integer, primary_key=True), Column("value", Integer, nullable=False))


@pytest.fixture
def counted(contender: Engine) -> Engine:
    """An engine that does not wait, on a store with one row of value 0."""
    metadata.create_all(contender)
    with contender.begin() as connection:
        connection.execute(insert(rows).values(id=1, value=0))
    return contender


def value(engine: Engine) -> object:
    with engine.connect() as connection:
        return connection.scalar(select(rows.c.value))


def increment(connection: Connection) -> int:
    statement = update(rows).values(value=rows.c.value + 1).returning(rows.c.value)
    return int(connection.scalars(statement).one())


def exact(delay: float) -> float:
    return delay


def test_a_write_that_met_another_writer_succeeds_once_that_one_ends(counted: Engine, dialect: Dialect) -> None:
    """On SQLite the lock is refused; on PostgreSQL the update comes after one that its snapshot does not know."""
    with counted.connect() as rival:
        conflicts: list[int] = []
        pauses: list[float] = []

        def rival_writes() -> None:
            with write_transaction(rival, commit=False):
                increment(rival)

        def work(connection: Connection) -> int:
            connection.execute(select(rows)).all()
            if dialect is Dialect.POSTGRESQL and not conflicts:
                rival_writes()
                rival.commit()
            return increment(connection)

        def rival_ends(seconds: float) -> None:
            pauses.append(seconds)
            rival.commit()

        def note(attempt: int, error: Exception) -> None:
            assert is_conflict(error)
            conflicts.append(attempt)

        if dialect is Dialect.SQLITE:
            rival_writes()
            engine = counted
        else:
            engine = counted.execution_options(isolation_level="SERIALIZABLE")
        result = retry_write(
            partial(open_write_transaction, engine), work, sleep=rival_ends, jitter=exact, on_conflict=note
        )
    assert result == 2
    assert value(counted) == 2
    assert conflicts == [1]
    assert pauses == [0.025]


def test_a_conflict_at_the_commit_is_retried_too(postgresql_engine: Engine) -> None:
    metadata.drop_all(postgresql_engine)
    metadata.create_all(postgresql_engine)
    serializable = postgresql_engine.execution_options(isolation_level="SERIALIZABLE")
    with serializable.begin() as connection:
        connection.execute(insert(rows), [{"id": 1, "value": 0}, {"id": 2, "value": 0}])
    attempts: list[int] = []
    ends: list[str] = []

    @contextmanager
    def open_transaction() -> Generator[Connection]:
        with open_write_transaction(serializable) as connection:
            yield connection
            ends.append("work done")

    def read(connection: Connection, row: int) -> int:
        return int(connection.scalars(select(rows.c.value).where(rows.c.id == row)).one())

    def work(connection: Connection) -> int:
        attempts.append(len(attempts) + 1)
        seen = read(connection, 2)
        if len(attempts) > 1:
            connection.execute(update(rows).where(rows.c.id == 1).values(value=seen + 1))
            return seen
        # Each reads what the other writes: no order explains both, and the second commit says so.
        with serializable.begin() as rival:
            rival.execute(update(rows).where(rows.c.id == 2).values(value=read(rival, 1) + 10))
            connection.execute(update(rows).where(rows.c.id == 1).values(value=seen + 1))
        return seen

    assert retry_write(open_transaction, work, sleep=lambda _: None) == 10
    assert attempts == [1, 2]
    assert ends == ["work done"] * 2, "the conflict was the commit's own"


def test_each_attempt_has_a_transaction_of_its_own(counted: Engine) -> None:
    states: list[bool] = []

    def work(connection: Connection) -> None:
        states.append(in_transaction_on_driver(connection) and connection.in_transaction())
        assert connection.scalar(select(rows.c.value)) == 0, "what an earlier attempt wrote is gone"
        increment(connection)
        assert connection.in_transaction()
        if len(states) < 3:
            raise sqlite3.OperationalError("database is locked")

    retry_write(partial(open_write_transaction, counted), work, sleep=lambda _: None)
    assert len(states) == 3
    assert value(counted) == 1


def test_other_errors_pass_at_once(counted: Engine) -> None:
    attempts: list[int] = []

    def work(connection: Connection) -> None:
        attempts.append(1)
        connection.execute(insert(rows).values(id=1, value=0))

    with pytest.raises(IntegrityError):
        retry_write(partial(open_write_transaction, counted), work, sleep=unexpected_pause)
    assert attempts == [1]
    assert value(counted) == 0


def unexpected_pause(seconds: float) -> None:
    raise AssertionError(f"paused {seconds} s although nothing is to be retried")


def test_a_write_that_never_wins_ends_in_a_write_conflict(sqlite_engine: Engine) -> None:
    metadata.create_all(sqlite_engine)
    with open_write_transaction(sqlite_engine), pytest.raises(WriteConflict, match="5 attempts") as caught:
        retry_write(partial(open_write_transaction, sqlite_engine), increment, sleep=lambda _: None)
    assert isinstance(caught.value.__cause__, DBAPIError)
    assert is_conflict(caught.value.__cause__)


# --- the schedule, the same for both faces ---------------------------------------------------------------------------


class Outcomes:
    """Work that conflicts as often as told and then returns what it was given."""

    def __init__(self, conflicts: int) -> None:
        self.conflicts = conflicts
        self.attempts = 0

    def __call__(self, given_connection: str) -> str:
        self.attempts += 1
        if self.attempts <= self.conflicts:
            raise sqlite3.OperationalError("database is locked")
        return given_connection


Run = Callable[[Outcomes, Sequence[float], list[float]], str]


def run_synchronously(work: Outcomes, delays: Sequence[float], pauses: list[float]) -> str:
    opened = iter(range(100))

    @contextmanager
    def transaction() -> Generator[str]:
        yield f"transaction {next(opened)}"

    return retry_write(transaction, work, delays=delays, sleep=pauses.append, jitter=exact)


def run_asynchronously(work: Outcomes, delays: Sequence[float], pauses: list[float]) -> str:
    opened = iter(range(100))

    @asynccontextmanager
    async def transaction() -> AsyncGenerator[str]:
        yield f"transaction {next(opened)}"

    async def asynchronous_work(connection: str) -> str:
        return work(connection)

    def sleep(seconds: float) -> Awaitable[None]:
        pauses.append(seconds)
        return asyncio.sleep(0)

    async def main() -> str:
        return await retry_write_async(transaction, asynchronous_work, delays=delays, sleep=sleep, jitter=exact)

    return asyncio.run(main())


@pytest.mark.parametrize("run", [run_synchronously, run_asynchronously])
@given(conflicts=st.integers(0, 6), delays=st.lists(st.floats(0, 10, allow_nan=False), max_size=5).map(tuple))
def test_attempts_are_one_more_than_delays(run: Run, conflicts: int, delays: tuple[float, ...]) -> None:
    work = Outcomes(conflicts)
    pauses: list[float] = []
    if conflicts <= len(delays):
        assert run(work, delays, pauses) == f"transaction {conflicts}"
        assert pauses == list(delays[:conflicts])
        assert work.attempts == conflicts + 1
    else:
        with pytest.raises(WriteConflict):
            run(work, delays, pauses)
        assert pauses == list(delays)
        assert work.attempts == len(delays) + 1


@pytest.mark.parametrize("run", [run_synchronously, run_asynchronously])
@pytest.mark.parametrize("delays", [(-0.1,), (float("nan"),), (0.1, float("inf"))])
def test_delays_are_seconds_from_zero(run: Run, delays: tuple[float, ...]) -> None:
    work = Outcomes(0)
    with pytest.raises(ConfigurationError, match="from 0 up"):
        run(work, delays, [])
    assert work.attempts == 0


def test_an_inner_retry_that_gave_up_is_not_multiplied() -> None:
    inner = Outcomes(100)
    with pytest.raises(WriteConflict):
        retry_write(
            partial(one_transaction, "outer"),
            lambda _: run_synchronously(inner, (0.0, 0.0), []),
            sleep=unexpected_pause,
        )
    assert inner.attempts == 3


@contextmanager
def one_transaction(name: str) -> Generator[str]:
    yield name


def test_a_transaction_that_swallows_errors_is_refused() -> None:
    @contextmanager
    def swallowing() -> Generator[str]:
        with suppress(sqlite3.OperationalError):
            yield "never seen again"

    with pytest.raises(ConfigurationError, match="swallowed"):
        retry_write(swallowing, Outcomes(1), sleep=unexpected_pause)


@given(st.floats(0, 1000))
def test_the_default_jitter_stays_around_the_delay(delay: float) -> None:
    pauses = [spread(delay) for _ in range(50)]
    assert 0.5 * delay <= min(pauses)
    assert max(pauses) <= 1.5 * delay


def test_the_default_schedule_is_the_contracts() -> None:
    """001 appendix A: write retries 4 x 25 ms."""
    assert list(DEFAULT_DELAYS) == [0.025] * 4
