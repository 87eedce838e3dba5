"""Write transactions exclude each other, compose, and never report a commit that did not happen."""

import logging
import sqlite3
from collections.abc import Callable

import pytest
from sqlalchemy import Column, Connection, Engine, Integer, MetaData, Table, func, insert, select, update
from sqlalchemy.exc import DBAPIError, IntegrityError, InvalidRequestError

from fencepost.db.dialects import Dialect
from fencepost.db.engine import in_transaction_on_driver, open_statement_connection
from fencepost.db.errors import is_conflict
from fencepost.db.tx import commit_end_read, holds_write_lock, open_write_transaction, write_transaction
from fencepost.errors import TransactionAborted, TransactionError

metadata = MetaData()
rows = Table("rows", metadata, Column("id", Integer, primary_key=True), Column("value", Integer))


@pytest.fixture(autouse=True)
def tables(request: pytest.FixtureRequest) -> None:
    for name in ("engine", "sqlite_engine", "postgresql_engine"):
        if name in request.fixturenames:
            engine: Engine = request.getfixturevalue(name)
            metadata.drop_all(engine)
            metadata.create_all(engine)


def stored(engine: Engine) -> list[int]:
    with engine.connect() as connection:
        return list(connection.scalars(select(rows.c.id).order_by(rows.c.id)))


def test_the_end_of_the_block_commits(engine: Engine) -> None:
    with engine.connect() as connection, write_transaction(connection) as inside:
        assert inside is connection
        connection.execute(insert(rows).values(id=1))
    with open_write_transaction(engine) as connection:
        connection.execute(insert(rows).values(id=2))
    assert stored(engine) == [1, 2]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, GeneratorExit])
def test_an_exception_rolls_back(engine: Engine, error: type[BaseException]) -> None:
    def fail(connection: Connection) -> None:
        with write_transaction(connection):
            connection.execute(insert(rows).values(id=1))
            raise error

    with engine.connect() as connection:
        with pytest.raises(error):
            fail(connection)
        assert not connection.in_transaction()
        with write_transaction(connection):
            connection.execute(insert(rows).values(id=2))
    assert stored(engine) == [2]


def test_an_immediate_transaction_excludes_a_second_writer(sqlite_engine: Engine) -> None:
    with sqlite_engine.connect() as first, sqlite_engine.connect() as second:
        with write_transaction(first):
            with pytest.raises(DBAPIError) as caught:
                write_transaction(second).__enter__()
            assert is_conflict(caught.value)
            assert stored(sqlite_engine) == [], "a reader is not kept out"
        with write_transaction(second):
            second.execute(insert(rows).values(id=2))
    assert stored(sqlite_engine) == [2]


def test_a_write_lock_that_was_refused_leaves_no_connection_that_commits_by_itself(sqlite_engine: Engine) -> None:
    """What happens when BEGIN IMMEDIATE is emitted by SQLAlchemy's event: the rollback below would keep the row."""
    with sqlite_engine.connect() as first, sqlite_engine.connect() as second:
        with write_transaction(first), pytest.raises(DBAPIError):
            write_transaction(second).__enter__()
        assert not second.in_transaction()
        second.execute(insert(rows).values(id=1))
        assert in_transaction_on_driver(second)
        second.rollback()
    assert stored(sqlite_engine) == []


def test_a_plain_transaction_that_reads_first_may_come_too_late(sqlite_engine: Engine) -> None:
    """The reason for BEGIN IMMEDIATE: a stale snapshot cannot be upgraded, and waiting would not help."""
    with sqlite_engine.connect() as stale, sqlite_engine.connect() as other:
        stale.execute(select(rows)).all()
        with write_transaction(other):
            other.execute(insert(rows).values(id=1))
        with pytest.raises(DBAPIError) as caught:
            stale.execute(insert(rows).values(id=2))
        assert is_conflict(caught.value)
        assert getattr(caught.value.orig, "sqlite_errorname", None) == "SQLITE_BUSY_SNAPSHOT"


def test_an_open_transaction_is_not_taken_over(engine: Engine) -> None:
    with engine.connect() as connection:
        connection.execute(insert(rows).values(id=1))
        with pytest.raises(TransactionError, match="commit=False"):
            write_transaction(connection).__enter__()
        connection.commit()
        with write_transaction(connection), pytest.raises(TransactionError, match="commit=False"):
            write_transaction(connection).__enter__()
    assert stored(engine) == [1]


def test_joined_writes_stand_or_fall_with_the_outer_transaction(engine: Engine) -> None:
    def enqueue(connection: Connection, identifier: int) -> None:
        with write_transaction(connection, commit=False):
            connection.execute(insert(rows).values(id=identifier))

    def fail(connection: Connection) -> None:
        with write_transaction(connection):
            enqueue(connection, 1)
            raise ValueError("outer")

    with engine.connect() as connection:
        with pytest.raises(ValueError, match="outer"):
            fail(connection)
        with write_transaction(connection):
            enqueue(connection, 2)
            enqueue(connection, 3)
    assert stored(engine) == [2, 3]


def test_joining_nothing_opens_a_write_transaction_for_the_caller_to_commit(engine: Engine, dialect: Dialect) -> None:
    with engine.connect() as connection:
        with write_transaction(connection, commit=False):
            connection.execute(insert(rows).values(id=1))
            assert holds_write_lock(connection) is (dialect is Dialect.SQLITE)
        connection.rollback()
        with write_transaction(connection, commit=False):
            connection.execute(insert(rows).values(id=2))
        connection.commit()
    assert stored(engine) == [2]


def test_joining_where_statements_stand_alone_is_a_transaction_too(engine: Engine) -> None:
    with open_statement_connection(engine) as connection:
        connection.execute(insert(rows).values(id=1))
        with write_transaction(connection, commit=False):
            connection.execute(insert(rows).values(id=2))
        connection.rollback()
    assert stored(engine) == [1]


@pytest.mark.parametrize("swallowed", [True, False])
def test_a_swallowed_error_is_no_silent_rollback(postgresql_engine: Engine, swallowed: bool) -> None:
    """PostgreSQL answers the COMMIT of a failed transaction with a rollback, and the driver does not complain."""

    def write() -> None:
        with open_write_transaction(postgresql_engine) as connection:
            connection.execute(insert(rows).values(id=1))
            try:
                connection.execute(insert(rows).values(id=1))
            except IntegrityError:
                if not swallowed:
                    raise

    with pytest.raises(TransactionAborted if swallowed else IntegrityError):
        write()
    assert stored(postgresql_engine) == []


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_transaction_that_sqlite_has_rolled_back_is_not_committed(sqlite_engine: Engine, goes_on: bool) -> None:
    """And what is executed after the swallowed error is not committed either, statement by statement."""

    def write(connection: Connection) -> None:
        with write_transaction(connection):
            connection.execute(insert(rows).values(id=1))
            with pytest.raises(IntegrityError):
                connection.exec_driver_sql("INSERT OR ROLLBACK INTO rows (id) VALUES (1)")
            if goes_on:
                connection.execute(insert(rows).values(id=2))

    with sqlite_engine.connect() as connection:
        with pytest.raises(TransactionAborted, match="nothing was committed"):
            write(connection)
        assert not connection.in_transaction()
        assert stored(sqlite_engine) == []
        with write_transaction(connection):
            connection.execute(insert(rows).values(id=3))
    assert stored(sqlite_engine) == [3]


def test_a_plain_transaction_that_sqlite_has_rolled_back_does_not_go_on(sqlite_engine: Engine) -> None:
    def write() -> None:
        with sqlite_engine.begin() as connection:
            connection.execute(insert(rows).values(id=1))
            with pytest.raises(IntegrityError):
                connection.exec_driver_sql("INSERT OR ROLLBACK INTO rows (id) VALUES (1)")
            connection.execute(insert(rows).values(id=2))

    with pytest.raises(InvalidRequestError):
        write()
    assert stored(sqlite_engine) == []


@pytest.mark.parametrize("end", [Connection.commit, Connection.rollback])
@pytest.mark.parametrize("goes_on", [False, True])
def test_the_end_of_a_write_transaction_is_the_blocks(
    engine: Engine, end: Callable[[Connection], None], goes_on: bool
) -> None:
    def write(connection: Connection) -> None:
        with write_transaction(connection):
            connection.execute(insert(rows).values(id=1))
            end(connection)
            if goes_on:
                connection.execute(insert(rows).values(id=2))

    with engine.connect() as connection:
        with pytest.raises(TransactionError, match="inside a write transaction"):
            write(connection)
        assert not connection.in_transaction()
        with write_transaction(connection):
            connection.execute(insert(rows).values(id=3))
    assert stored(engine) == ([1, 3] if end is Connection.commit else [3])


def test_a_savepoint_inside_may_fail(engine: Engine) -> None:
    with open_write_transaction(engine) as connection:
        connection.execute(insert(rows).values(id=1))
        with pytest.raises(IntegrityError), connection.begin_nested():
            connection.execute(insert(rows).values(id=1))
        connection.execute(insert(rows).values(id=2))
    assert stored(engine) == [1, 2]


def test_a_commit_that_fails_rolls_back_and_leaves_a_usable_connection(engine: Engine) -> None:
    """A deferred foreign key is judged by the commit itself."""

    def fail(connection: Connection) -> None:
        with write_transaction(connection):
            connection.execute(insert(rows).values(id=1))
            connection.exec_driver_sql("INSERT INTO child VALUES (7)")

    with engine.connect() as connection:
        connection.exec_driver_sql("CREATE TABLE parent (id INTEGER PRIMARY KEY)")
        connection.exec_driver_sql(
            "CREATE TABLE child (parent INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)"
        )
        connection.commit()
        with pytest.raises(IntegrityError):
            fail(connection)
        assert not in_transaction_on_driver(connection)
        with write_transaction(connection):
            connection.execute(insert(rows).values(id=2))
    assert stored(engine) == [2]


def test_two_writers_of_one_row_are_serialized(engine: Engine, contender: Engine, dialect: Dialect) -> None:
    with open_write_transaction(engine) as connection:
        connection.execute(insert(rows).values(id=1, value=0))
    with open_write_transaction(engine) as first:
        first.execute(update(rows).values(value=rows.c.value + 1))
        with contender.connect() as second:
            if dialect is Dialect.POSTGRESQL:
                second.exec_driver_sql("SET lock_timeout = '1ms'")
                second.commit()
            with pytest.raises(DBAPIError), write_transaction(second):
                second.execute(update(rows).values(value=rows.c.value + 1))
    with engine.connect() as connection:
        assert connection.scalar(select(rows.c.value)) == 1


# --- the write lock and the end of a read ----------------------------------------------------------------------------


def test_a_write_transaction_holds_the_stores_write_lock(engine: Engine, dialect: Dialect) -> None:
    with engine.connect() as connection:
        assert holds_write_lock(connection) is False
        with write_transaction(connection):
            assert holds_write_lock(connection) is (dialect is Dialect.SQLITE)
        assert holds_write_lock(connection) is False


def test_a_changed_row_shows_that_a_plain_transaction_holds_it(sqlite_engine: Engine) -> None:
    with sqlite_engine.connect() as connection:
        connection.execute(insert(rows).values(id=1))
        assert holds_write_lock(connection) is True
        connection.commit()
        assert holds_write_lock(connection) is False


def test_a_transaction_of_unknown_kind_is_not_taken_for_ours(sqlite_engine: Engine) -> None:
    with open_statement_connection(sqlite_engine) as connection:
        with write_transaction(connection):
            assert holds_write_lock(connection) is True
        connection.execute(select(rows)).all()
        assert holds_write_lock(connection) is False
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        driver.execute("BEGIN")
        assert holds_write_lock(connection) is None


@pytest.mark.parametrize("statement", ["SELECT count(*) FROM rows", "UPDATE rows SET value = 1 WHERE id = 7"])
def test_what_cannot_be_known_is_said_and_warned_about(
    sqlite_engine: Engine, statement: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The driver does not tell a read from an UPDATE that hit no row but took the lock."""
    with sqlite_engine.connect() as connection, caplog.at_level(logging.WARNING, "fencepost"):
        connection.exec_driver_sql(statement)
        assert holds_write_lock(connection) is None
        assert len(caplog.records) == 1
        assert holds_write_lock(connection) is None
        assert len(caplog.records) == 1, "told once a connection"


def test_joining_a_transaction_without_the_lock_warns(sqlite_engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    with sqlite_engine.connect() as connection, caplog.at_level(logging.WARNING, "fencepost"):
        with write_transaction(connection), write_transaction(connection, commit=False):
            assert caplog.records == []
        connection.execute(select(rows)).all()
        with write_transaction(connection, commit=False):
            assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_the_end_of_a_read_releases_its_snapshot(sqlite_engine: Engine) -> None:
    with sqlite_engine.connect() as reader:
        commit_end_read(reader)
        assert reader.execute(select(rows)).all() == []
        with open_write_transaction(sqlite_engine) as writer:
            writer.execute(insert(rows).values(id=1))
        commit_end_read(reader)
        assert not in_transaction_on_driver(reader)
        with write_transaction(reader):
            assert reader.scalar(select(func.count()).select_from(rows)) == 1


def test_the_end_of_a_read_commits_nobodys_writes(engine: Engine) -> None:
    with engine.connect() as connection:
        connection.execute(select(rows)).all()
        commit_end_read(connection)
        assert not connection.in_transaction()
        connection.execute(insert(rows).values(id=1))
        with pytest.raises(TransactionError, match="has written"):
            commit_end_read(connection)
        connection.rollback()
        with write_transaction(connection):
            connection.execute(insert(rows).values(id=2))
            with pytest.raises(TransactionError, match="has written"):
                commit_end_read(connection)
    assert stored(engine) == [2]


def test_a_rollback_that_fails_hides_no_error(sqlite_engine: Engine) -> None:
    def fail(connection: Connection) -> None:
        with write_transaction(connection):
            driver = connection.connection.driver_connection
            assert isinstance(driver, sqlite3.Connection)
            driver.close()
            raise ValueError("the cause")

    with sqlite_engine.connect() as connection, pytest.raises(ValueError, match="the cause"):
        fail(connection)
    assert stored(sqlite_engine) == []
