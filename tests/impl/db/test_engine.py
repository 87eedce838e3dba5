"""What is in force on each connection of an engine that the runtime opened, and which URLs it refuses."""

import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import (
    Column,
    Connection,
    Engine,
    ForeignKey,
    Integer,
    MetaData,
    Table,
    create_engine,
    insert,
    select,
)
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.pool import NullPool

from fencepost.db import engine as engine_module
from fencepost.db.dialects import Dialect, capabilities, dialect_of
from fencepost.db.engine import (
    Durability,
    in_transaction_on_driver,
    open_async_engine,
    open_engine,
    open_statement_connection,
    prepare_engine,
    set_durability,
)
from fencepost.db.errors import is_conflict
from fencepost.db.tx import write_transaction
from fencepost.errors import ConfigurationError, TransactionError

metadata = MetaData()
parents = Table("parents", metadata, Column("id", Integer, primary_key=True))
children = Table("children", metadata, Column("parent_id", ForeignKey(parents.c.id), nullable=False))


def shown(connection: Connection, setting: str) -> object:
    return connection.exec_driver_sql(f"SHOW {setting}").scalar_one()


def pragma(connection: Connection, name: str) -> object:
    return connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()


@contextmanager
def several_connections(engine: Engine) -> Iterator[list[Connection]]:
    with engine.connect() as first, engine.connect() as second:
        yield [first, second]


def test_sqlite_connections_have_every_pragma_in_force(sqlite_path: Path) -> None:
    engine = open_engine(f"sqlite:///{sqlite_path}", busy_timeout=1.5)
    with several_connections(engine) as connections:
        for connection in connections:
            assert pragma(connection, "journal_mode") == "wal"
            assert pragma(connection, "foreign_keys") == 1
            assert pragma(connection, "busy_timeout") == 1500
            assert pragma(connection, "synchronous") == 2
    engine.dispose()


def test_postgresql_sessions_have_every_setting_in_force(postgresql_url: str) -> None:
    engine = open_engine(postgresql_url, application_name="fencepost-test")
    with several_connections(engine) as connections:
        for connection in connections:
            assert shown(connection, "TimeZone") == "UTC"
            assert shown(connection, "transaction_isolation") == "read committed"
            assert shown(connection, "application_name") == "fencepost-test"
            # The server of the tests has it off by default: what is promised to somebody must not depend on that.
            assert shown(connection, "synchronous_commit") == "on"
            connection.rollback()
            assert shown(connection, "TimeZone") == "UTC", "a rollback must not undo the set-up"
    engine.dispose()


def test_a_session_default_that_is_serializable_is_overruled(postgresql_url: str) -> None:
    engine = open_engine(postgresql_url + "&options=-c%20default_transaction_isolation%3Dserializable")
    with engine.connect() as plain, open_statement_connection(engine) as standing_alone:
        assert shown(plain, "transaction_isolation") == "read committed"
        assert shown(standing_alone, "transaction_isolation") == "read committed"
    engine.dispose()


def test_foreign_keys_are_enforced(engine: Engine) -> None:
    metadata.create_all(engine)
    with engine.connect() as connection, pytest.raises(IntegrityError):
        connection.execute(insert(children).values(parent_id=1))


def test_a_transaction_holds_definitions_too(engine: Engine) -> None:
    """The sqlite3 driver left to itself commits a CREATE TABLE at once."""
    with engine.connect() as connection:
        connection.exec_driver_sql("CREATE TABLE unwanted (x INTEGER)")
        connection.rollback()
        metadata.create_all(connection)
        connection.commit()
    with engine.connect() as connection, pytest.raises(DBAPIError):
        connection.exec_driver_sql("SELECT * FROM unwanted")


def test_a_read_transaction_sees_one_snapshot(sqlite_engine: Engine) -> None:
    metadata.create_all(sqlite_engine)
    with sqlite_engine.connect() as reader, sqlite_engine.connect() as writer:
        assert reader.execute(select(parents)).all() == []
        with write_transaction(writer):
            writer.execute(insert(parents).values(id=1))
        assert reader.execute(select(parents)).all() == []
        reader.rollback()
        assert reader.execute(select(parents)).all() == [(1,)]


def test_a_wal_switch_that_meets_a_writer_is_repeated(sqlite_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite answers BUSY at once here, however long the busy time-out."""
    writer = sqlite3.connect(sqlite_path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    pauses: list[float] = []

    def writer_ends(_connection: object, seconds: float) -> None:
        pauses.append(seconds)
        if writer.in_transaction:
            writer.execute("COMMIT")

    monkeypatch.setattr(engine_module, "_pause", writer_ends)
    engine = open_engine(f"sqlite:///{sqlite_path}", busy_timeout=60)
    with engine.connect() as connection:
        assert pragma(connection, "journal_mode") == "wal"
    assert pauses, "the writer was met, otherwise this test shows nothing"
    engine.dispose()
    writer.close()


def test_a_wal_switch_gives_up_with_the_busy_time_out(sqlite_path: Path) -> None:
    writer = sqlite3.connect(sqlite_path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    engine = open_engine(f"sqlite:///{sqlite_path}", busy_timeout=0)
    with pytest.raises(DBAPIError) as caught:
        engine.connect()
    assert is_conflict(caught.value)
    engine.dispose()
    writer.close()


def test_many_can_open_a_new_file_at_once(tmp_path: Path) -> None:
    contenders = 6
    for attempt in range(8):
        path = tmp_path / f"new-{attempt}.sqlite3"
        barrier = threading.Barrier(contenders)
        failures: list[BaseException] = []

        def open_and_write(
            path: Path = path, barrier: threading.Barrier = barrier, failures: list[BaseException] = failures
        ) -> None:
            engine = open_engine(f"sqlite:///{path}", busy_timeout=60)
            try:
                barrier.wait()
                with engine.connect() as connection, write_transaction(connection):
                    connection.exec_driver_sql("CREATE TABLE IF NOT EXISTS shared (x INTEGER)")
                    connection.exec_driver_sql("INSERT INTO shared VALUES (1)")
            except BaseException as error:  # noqa: BLE001 - judged in the main thread
                failures.append(error)
            finally:
                engine.dispose()

        threads = [threading.Thread(target=open_and_write) for _ in range(contenders)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("SELECT count(*) FROM shared").fetchone() == (contenders,)


@pytest.mark.parametrize(
    "url",
    [
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite+aiosqlite:///:memory:",
        "sqlite:///file::memory:?cache=shared&uri=true",
        "sqlite:///file:shared?mode=memory&cache=shared&uri=true",
        "sqlite:///file:/shared?vfs=memdb&uri=true",
    ],
)
@pytest.mark.parametrize("open_any", [open_engine, open_async_engine])
def test_a_database_in_memory_is_refused(url: str, open_any: Callable[[str], object]) -> None:
    with pytest.raises(ConfigurationError, match="needs a file"):
        open_any(url)


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("mysql+pymysql://host/name", "sqlite:///"),
        ("postgres://host/name", r"postgresql\+psycopg://"),
        ("postgresql+psycopg2://host/name", r"postgresql\+psycopg://"),
        ("postgresql+asyncpg://host/name", r"postgresql\+psycopg://"),
        ("sqlite+pysqlcipher:///file.db", r"sqlite\+pysqlite://"),
        ("not a url", "sqlite:///"),
        ("sqlite:////no/such/folder/at/all/jobs.db", "does not exist"),
    ],
)
@pytest.mark.parametrize("open_any", [open_engine, open_async_engine])
def test_what_cannot_be_opened_is_refused_with_the_fix(url: str, named: str, open_any: Callable[[str], object]) -> None:
    with pytest.raises(ConfigurationError, match=named):
        open_any(url)


@pytest.mark.parametrize(
    ("missing", "open_any", "url", "extra"),
    [
        ("psycopg", open_engine, "postgresql://host/name", "postgres"),
        ("psycopg", open_async_engine, "postgresql://host/name", "postgres"),
        ("aiosqlite", open_async_engine, "sqlite:///jobs.db", "async"),
        ("sqlalchemy.ext.asyncio", open_async_engine, "sqlite:///jobs.db", "async"),
    ],
)
def test_a_missing_driver_is_named_with_the_extra_that_brings_it(
    monkeypatch: pytest.MonkeyPatch, missing: str, open_any: Callable[[str], object], url: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ConfigurationError, match=rf"fencepost\[{extra}\]"):
        open_any(url)


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf")])
def test_a_busy_time_out_is_seconds_from_zero(sqlite_path: Path, seconds: float) -> None:
    with pytest.raises(ConfigurationError, match="busy time-out"):
        open_engine(f"sqlite:///{sqlite_path}", busy_timeout=seconds)


def test_a_password_never_shows_in_a_refusal() -> None:
    with pytest.raises(ConfigurationError) as caught:
        open_engine("mysql://user:geheim@host/name")
    assert "geheim" not in str(caught.value)


def test_plain_urls_are_opened_with_the_supported_drivers(sqlite_path: Path, postgresql_url: str) -> None:
    for url, driver in [
        (f"sqlite:///{sqlite_path}", "pysqlite"),
        (postgresql_url.replace("+psycopg", ""), "psycopg"),
    ]:
        engine = open_engine(url)
        with engine.connect() as connection:
            assert connection.dialect.driver == driver
            assert connection.exec_driver_sql("SELECT 1").scalar_one() == 1
        engine.dispose()


def test_stores_are_told_apart_by_what_they_can_do(engine: Engine, dialect: Dialect) -> None:
    able = capabilities(engine)
    assert able.single_writer is (dialect is Dialect.SQLITE)
    assert able.skips_locked_rows is able.notifies is able.array_parameters is (dialect is Dialect.POSTGRESQL)
    with engine.connect() as connection:
        assert capabilities(connection) == able


# --- durability ------------------------------------------------------------------------------------------------------


def durability_in_force(connection: Connection) -> object:
    if dialect_of(connection) is Dialect.SQLITE:
        in_force: object = {2: "full", 1: "normal"}[int(str(pragma(connection, "synchronous")))]
    else:
        in_force = shown(connection, "synchronous_commit")
    connection.rollback()
    return in_force


IN_FORCE = {
    Dialect.SQLITE: {Durability.FULL: "full", Durability.NORMAL: "normal", Durability.RELAXED: "normal"},
    Dialect.POSTGRESQL: {Durability.FULL: "on", Durability.NORMAL: "on", Durability.RELAXED: "off"},
}


@pytest.mark.parametrize("durability", Durability)
def test_an_engine_has_the_durability_it_was_opened_with(store_url: str, durability: Durability) -> None:
    engine = open_engine(store_url, durability=durability)
    with several_connections(engine) as connections:
        for connection in connections:
            assert durability_in_force(connection) == IN_FORCE[dialect_of(engine)][durability]
    engine.dispose()


@pytest.mark.parametrize("durability", Durability)
def test_a_connection_keeps_its_durability_until_it_goes_back(
    engine: Engine, dialect: Dialect, durability: Durability
) -> None:
    with engine.connect() as connection:
        set_durability(connection, durability)
        for _ in range(2):
            assert durability_in_force(connection) == IN_FORCE[dialect][durability]
        set_durability(connection, Durability.FULL)
        assert durability_in_force(connection) == IN_FORCE[dialect][Durability.FULL]
        set_durability(connection, durability)
        driver = connection.connection.driver_connection
    with engine.connect() as connection:
        assert connection.connection.driver_connection is driver, "the pool hands out the same connection"
        assert durability_in_force(connection) == IN_FORCE[dialect][Durability.FULL]


def test_durability_is_not_changed_inside_a_transaction(engine: Engine, dialect: Dialect) -> None:
    with engine.connect() as connection:
        connection.exec_driver_sql("SELECT 1")
        with pytest.raises(TransactionError, match="before the transaction begins"):
            set_durability(connection, Durability.RELAXED)
        connection.rollback()
        assert durability_in_force(connection) == IN_FORCE[dialect][Durability.FULL]


# --- connections whose statements stand alone ------------------------------------------------------------------------


def test_a_statement_that_stands_alone_is_committed_at_once(engine: Engine) -> None:
    metadata.create_all(engine)
    with open_statement_connection(engine) as connection, engine.connect() as observer:
        connection.execute(insert(parents).values(id=1))
        assert not in_transaction_on_driver(connection)
        assert observer.execute(select(parents.c.id)).all() == [(1,)]
        connection.rollback()
        set_durability(connection, Durability.NORMAL)
        observer.rollback()
        assert observer.execute(select(parents.c.id)).all() == [(1,)]


def test_a_write_transaction_works_where_statements_stand_alone(engine: Engine) -> None:
    def fail(connection: Connection) -> None:
        with write_transaction(connection):
            connection.execute(insert(parents).values(id=2))
            assert in_transaction_on_driver(connection)
            raise ZeroDivisionError

    metadata.create_all(engine)
    with open_statement_connection(engine) as connection, engine.connect() as observer:
        connection.execute(insert(parents).values(id=1))
        with pytest.raises(ZeroDivisionError):
            fail(connection)
        assert not in_transaction_on_driver(connection)
        with write_transaction(connection):
            connection.execute(insert(parents).values(id=3))
            assert observer.execute(select(parents.c.id)).all() == [(1,)]
            observer.rollback()
        connection.execute(insert(parents).values(id=4))
        assert observer.execute(select(parents.c.id).order_by(parents.c.id)).all() == [(1,), (3,), (4,)]


def test_the_pool_hands_out_transactions_again_after_statements_stood_alone(engine: Engine, dialect: Dialect) -> None:
    metadata.create_all(engine)
    with open_statement_connection(engine) as connection:
        connection.execute(insert(parents).values(id=1))
        driver = connection.connection.driver_connection
    with engine.connect() as connection:
        assert connection.connection.driver_connection is driver, "the pool hands out the same connection"
        if dialect is Dialect.SQLITE:
            assert getattr(driver, "isolation_level", "") is None, "the driver opens no transaction by itself"
        connection.execute(insert(parents).values(id=2))
        connection.rollback()
    with open_statement_connection(engine) as connection:
        assert connection.connection.driver_connection is driver, "the pool hands out the same connection"
        connection.execute(insert(parents).values(id=3))
    with engine.connect() as connection:
        assert connection.execute(select(parents.c.id).order_by(parents.c.id)).all() == [(1,), (3,)]


# --- engines of an application ---------------------------------------------------------------------------------------


def test_an_engine_that_was_not_set_up_is_refused(store_url: str) -> None:
    engine = create_engine(store_url)
    with engine.connect() as connection, pytest.raises(ConfigurationError, match="prepare_engine"):
        write_transaction(connection).__enter__()
    engine.dispose()


@pytest.mark.parametrize("pooled", [True, False], ids=["pooled", "unpooled"])
def test_an_engine_of_an_application_is_set_up_even_late(store_url: str, pooled: bool) -> None:
    engine = create_engine(store_url) if pooled else create_engine(store_url, poolclass=NullPool)
    with engine.connect() as connection:
        connection.exec_driver_sql("SELECT 1")
    prepare_engine(engine, busy_timeout=2.5)
    with engine.connect() as connection, write_transaction(connection):
        if dialect_of(engine) is Dialect.SQLITE:
            assert pragma(connection, "journal_mode") == "wal"
            assert pragma(connection, "foreign_keys") == 1
            assert pragma(connection, "busy_timeout") == 2500
        else:
            assert shown(connection, "TimeZone") == "UTC"
            assert shown(connection, "synchronous_commit") == "on"
    engine.dispose()


def test_a_begin_that_fails_closes_the_connection(sqlite_engine: Engine) -> None:
    """Otherwise SQLAlchemy would open no transaction on it any more and commit statement by statement."""
    metadata.create_all(sqlite_engine)
    with sqlite_engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        driver.execute("BEGIN")
        with pytest.raises(sqlite3.OperationalError, match="within a transaction"):
            connection.execute(insert(parents).values(id=1))
        assert connection.closed
    with sqlite_engine.connect() as connection:
        connection.execute(insert(parents).values(id=2))
        connection.rollback()
        assert connection.execute(select(parents)).all() == []
