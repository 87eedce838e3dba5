"""Conflicts and lost connections are recognised from what real databases raise, and nothing else is taken for them."""

import sqlite3
import threading
from pathlib import Path

import pytest
from sqlalchemy import Column, Connection, Engine, Integer, MetaData, Table, insert, select, text, update
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError

from fencepost.db.engine import open_engine
from fencepost.db.errors import is_conflict, is_connection_lost
from fencepost.db.tx import open_write_transaction, write_transaction
from fencepost.errors import FencepostError, TransactionAborted

metadata = MetaData()
rows = Table("conflicting", metadata, Column("id", Integer, primary_key=True), Column("value", Integer))


@pytest.fixture(autouse=True)
def two_rows(request: pytest.FixtureRequest) -> None:
    for name in ("engine", "sqlite_engine", "postgresql_engine"):
        if name in request.fixturenames:
            engine: Engine = request.getfixturevalue(name)
            metadata.drop_all(engine)
            metadata.create_all(engine)
            with engine.begin() as connection:
                connection.execute(insert(rows), [{"id": 1, "value": 0}, {"id": 2, "value": 0}])


def sqlstate(error: DBAPIError) -> object:
    return getattr(error.orig, "sqlstate", None)


def sqlite_code(error: BaseException) -> object:
    return getattr(error, "sqlite_errorname", None)


def test_sqlite_busy_is_a_conflict(sqlite_engine: Engine, sqlite_path: Path) -> None:
    with open_write_transaction(sqlite_engine), sqlite3.connect(sqlite_path, timeout=0) as other:
        with pytest.raises(sqlite3.OperationalError) as caught:
            other.execute("UPDATE conflicting SET value = 1")
        assert sqlite_code(caught.value) == "SQLITE_BUSY"
        assert is_conflict(caught.value)
    other.close()


def test_sqlite_locked_is_a_conflict(sqlite_engine: Engine, sqlite_path: Path) -> None:
    connection = sqlite3.connect(sqlite_path, isolation_level=None)
    reading = connection.execute("SELECT * FROM conflicting")
    reading.fetchone()
    with pytest.raises(sqlite3.OperationalError) as caught:
        connection.execute("DROP TABLE conflicting")
    assert sqlite_code(caught.value) == "SQLITE_LOCKED"
    assert is_conflict(caught.value)
    connection.close()


@pytest.mark.parametrize(
    "message", ["database is locked", "Database table is locked: jobs", "database schema is locked"]
)
def test_a_conflict_without_its_code_is_known_by_its_message(message: str) -> None:
    error = sqlite3.OperationalError(message)
    assert is_conflict(error)
    assert is_conflict(OperationalError("UPDATE jobs", {}, error))


def test_the_code_outweighs_the_message(sqlite_path: Path) -> None:
    connection = sqlite3.connect(sqlite_path)
    with pytest.raises(sqlite3.OperationalError, match="database is locked") as caught:
        connection.execute('SELECT * FROM "database is locked"')
    assert sqlite_code(caught.value) == "SQLITE_ERROR"
    assert not is_conflict(caught.value)
    connection.close()


def test_a_serialization_failure_is_a_conflict(postgresql_engine: Engine) -> None:
    serializable = postgresql_engine.execution_options(isolation_level="SERIALIZABLE")
    with serializable.connect() as first, serializable.connect() as second:
        for connection, other_row in ((first, 2), (second, 1)):
            connection.execute(select(rows.c.value).where(rows.c.id == other_row)).all()
        first.execute(update(rows).where(rows.c.id == 1).values(value=1))
        second.execute(update(rows).where(rows.c.id == 2).values(value=1))
        first.commit()
        # Each has read what the other wrote: no order explains both, and the commit itself says so.
        with pytest.raises(DBAPIError) as caught:
            second.commit()
        assert sqlstate(caught.value) == "40001"
        assert is_conflict(caught.value)
        assert not is_connection_lost(caught.value)


def test_a_deadlock_is_a_conflict(postgresql_engine: Engine) -> None:
    with postgresql_engine.connect() as first, postgresql_engine.connect() as second:
        for connection, own in ((first, 1), (second, 2)):
            connection.execute(text("SET LOCAL deadlock_timeout = '10ms'"))
            connection.execute(update(rows).where(rows.c.id == own).values(value=own))
        errors: list[DBAPIError] = []

        def cross_over() -> None:
            try:
                first.execute(update(rows).where(rows.c.id == 2).values(value=1))
            except DBAPIError as error:
                errors.append(error)
            first.rollback()

        thread = threading.Thread(target=cross_over)
        thread.start()
        try:
            second.execute(update(rows).where(rows.c.id == 1).values(value=2))
        except DBAPIError as error:
            errors.append(error)
        second.rollback()
        thread.join()
    assert [sqlstate(error) for error in errors] == ["40P01"]
    assert is_conflict(errors[0])


def test_what_would_fail_again_is_no_conflict(engine: Engine) -> None:
    for statement in (insert(rows).values(id=1), text("SELECT nothing FROM nowhere")):
        with engine.connect() as connection, pytest.raises(DBAPIError) as caught:
            connection.execute(statement)
        assert not is_conflict(caught.value)
        assert not is_connection_lost(caught.value)


def test_a_lock_timeout_is_no_conflict(postgresql_engine: Engine) -> None:
    with open_write_transaction(postgresql_engine) as first, postgresql_engine.connect() as second:
        first.execute(update(rows).values(value=1))
        second.execute(text("SET LOCAL lock_timeout = '1ms'"))
        with pytest.raises(DBAPIError) as caught:
            second.execute(update(rows).values(value=2))
        assert sqlstate(caught.value) == "55P03"
        assert not is_conflict(caught.value)


def test_a_cause_counts_and_a_context_does_not() -> None:
    conflict = sqlite3.OperationalError("database is locked")

    class HookFailed(Exception):
        pass

    caused = HookFailed()
    caused.__cause__ = OperationalError("UPDATE", {}, conflict)
    assert is_conflict(caused)
    merely_later = HookFailed()
    merely_later.__context__ = conflict
    assert not is_conflict(merely_later)
    circular = HookFailed()
    circular.__cause__ = circular
    assert not is_conflict(circular)


def test_an_applications_own_sqlstate_means_nothing() -> None:
    class Refused(Exception):
        sqlstate = "40001"

    assert not is_conflict(Refused())
    assert not is_connection_lost(Refused())


def test_a_session_that_the_server_ends_is_a_lost_connection(postgresql_engine: Engine) -> None:
    with postgresql_engine.connect() as victim, postgresql_engine.connect() as other:
        identifier = victim.scalar(text("SELECT pg_backend_pid()"))
        other.execute(text("SELECT pg_terminate_backend(:pid, 10000)"), {"pid": identifier})
        with pytest.raises(DBAPIError) as caught:
            victim.execute(select(rows))
        assert is_connection_lost(caught.value)
        assert not is_conflict(caught.value)
        assert caught.value.orig is not None
        assert is_connection_lost(caught.value.orig), "also as the driver raises it"


def test_a_write_transaction_whose_connection_is_lost_says_so(postgresql_engine: Engine) -> None:
    def write() -> None:
        with open_write_transaction(postgresql_engine) as victim, postgresql_engine.connect() as other:
            victim.execute(update(rows).values(value=7))
            identifier = victim.scalar(text("SELECT pg_backend_pid()"))
            other.execute(text("SELECT pg_terminate_backend(:pid, 10000)"), {"pid": identifier})

    with pytest.raises(DBAPIError) as caught:
        write()
    assert is_connection_lost(caught.value)
    with open_write_transaction(postgresql_engine) as connection:
        assert connection.scalar(select(rows.c.value).where(rows.c.id == 1)) == 0


def test_a_loss_that_is_swallowed_is_no_silent_commit(postgresql_engine: Engine) -> None:
    def write(victim: Connection) -> None:
        with write_transaction(victim), postgresql_engine.connect() as other:
            victim.execute(update(rows).values(value=7))
            identifier = victim.scalar(text("SELECT pg_backend_pid()"))
            other.execute(text("SELECT pg_terminate_backend(:pid, 10000)"), {"pid": identifier})
            with pytest.raises(DBAPIError):
                victim.execute(update(rows).values(value=8))

    with postgresql_engine.connect() as victim:
        with pytest.raises(TransactionAborted):
            write(victim)
        with write_transaction(victim):
            assert victim.scalar(select(rows.c.value).where(rows.c.id == 1)) == 0


def test_what_sqlalchemy_takes_for_a_disconnect_is_one() -> None:
    assert is_connection_lost(DBAPIError("SELECT 1", {}, ValueError(), connection_invalidated=True))
    assert not is_connection_lost(DBAPIError("SELECT 1", {}, ValueError()))


def test_a_server_that_cannot_be_reached_is_a_lost_connection(postgresql_url: str, tmp_path: Path) -> None:
    engine = open_engine(make_url(postgresql_url).update_query_dict({"host": str(tmp_path)}))
    with pytest.raises(DBAPIError) as caught:
        engine.connect()
    assert is_connection_lost(caught.value)
    assert not is_conflict(caught.value)


def test_a_closed_sqlite_connection_is_a_lost_one(sqlite_engine: Engine) -> None:
    with sqlite_engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        driver.close()
        with pytest.raises(DBAPIError) as caught:
            write_transaction(connection).__enter__()
        assert is_connection_lost(caught.value)
        assert not is_conflict(caught.value)


@pytest.mark.parametrize(
    "error", [ValueError("x"), KeyboardInterrupt(), FencepostError("x"), IntegrityError("", {}, ValueError())]
)
def test_other_exceptions_are_neither(error: BaseException) -> None:
    assert not is_conflict(error)
    assert not is_connection_lost(error)
