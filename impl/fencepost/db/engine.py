"""Engines set up for durable work: what every connection of the runtime has in force, and how durable a commit is.

**SQLite.** The driver is put into autocommit, so that the transactions are ours: a plain transaction opens with
`BEGIN`, a write transaction with `BEGIN IMMEDIATE` (`fencepost.db.tx`). Foreign keys are on, the journal is a
write-ahead log, a writer waits `busy_timeout` seconds for another. Three traps shape the code:

- The step from rollback journal to write-ahead log does not wait. Of several processes that open a new file at the
  same moment some get BUSY at once, whatever the busy time-out says; so the step is repeated until that is over.
- A few errors (a full disk, `ON CONFLICT ROLLBACK`) make SQLite roll back by itself. Whoever catches one and goes on
  would write statement by statement; SQLAlchemy's transaction is ended with it, so that nothing more of it commits.
- SQLAlchemy's `begin` event must not raise. If it does, the `Connection` takes itself for ever to be in the middle of
  beginning, opens no transaction any more, and what is executed on it commits statement by statement, rollbacks
  notwithstanding. `BEGIN IMMEDIATE`, which fails whenever somebody else writes, is therefore not emitted by the event
  but right after it; and should the plain `BEGIN` fail, the connection is closed, so that nothing more runs on it.

**PostgreSQL.** The session is in UTC and READ COMMITTED, carries an application name, and commits synchronously even
where the server's default says otherwise. One statement sets all of it, once a connection; no start-up parameter is
used that a connection pooler might refuse.

The set-up is a listener of the pool, so it holds for each connection, also for those that the pool makes later, and
also for an engine that an application has made itself (`prepare_engine`).
"""

import asyncio
import random
import sqlite3
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import URL, Connection, Engine, RootTransaction, create_engine, event, make_url
from sqlalchemy.engine import AdaptedConnection, ExceptionContext
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection

from fencepost.db.dialects import Dialect, dialect_named, dialect_of
from fencepost.db.errors import is_conflict
from fencepost.db.types import moment_from_text, moment_text
from fencepost.errors import ConfigurationError, TransactionError

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

DEFAULT_BUSY_TIMEOUT: Final = 10.0
"""Seconds that a writer waits for SQLite's write lock."""

_LEAST_SQLITE: Final = (3, 35, 0)  # RETURNING


class Durability(Enum):
    """What a commit survives; a setting of the connection (contract §8).

    `FULL`: loss of power right after the commit. For everything that is promised to somebody: enqueue.
    `NORMAL`: a crash of any process; on SQLite the last commits may be lost with the machine's power. For claims and
    completions, where a lost one is repaired by a re-run. PostgreSQL keeps committing synchronously: a claim that its
    server forgets could hand out the same generation twice, while the first worker is alive on another machine.
    `RELAXED`: as `NORMAL`, and PostgreSQL commits asynchronously too. For heartbeats only.
    """

    FULL = auto()
    NORMAL = auto()
    RELAXED = auto()


class Begin(Enum):
    """How the current transaction of a connection was opened."""

    DEFERRED = auto()
    IMMEDIATE = auto()


@dataclass(slots=True)
class SessionState:
    """What the layer remembers about one connection to the database, for as long as that connection lives.

    `begun` and `changes_at_begin` (SQLite's running count of changed rows) describe the transaction opened last;
    `aborted`: the last one that SQLite rolled back by itself. `leave_begin_to_caller` is raised for the moment in
    which a write transaction emits its own opening statement; `warned`: `holds_write_lock` has given its warning.
    """

    durability: Durability
    begun: Begin | None = None
    changes_at_begin: int = 0
    aborted: RootTransaction | None = None
    leave_begin_to_caller: bool = False
    warned: bool = False


_STATE: Final = "fencepost"


def open_engine(
    url: str | URL,
    *,
    busy_timeout: float = DEFAULT_BUSY_TIMEOUT,
    application_name: str = "fencepost",
    durability: Durability = Durability.FULL,
    pool_size: int = 5,
) -> Engine:
    """An engine on a SQLite file (`sqlite:///jobs.db`) or a PostgreSQL database (`postgresql+psycopg://...`).

    `busy_timeout`: seconds that a writer waits for SQLite's write lock. `application_name`: how PostgreSQL lists the
    sessions. `durability`: what each connection has when it leaves the pool. Opens no connection yet.

    Raises `ConfigurationError` for a URL that names another database, another driver, a database in memory or a
    folder that does not exist, for a negative time-out, and where the driver is not installed.
    """
    settled = _settled_url(url, asynchronous=False)
    _require_time_out(busy_timeout)
    try:
        engine = create_engine(
            settled,
            connect_args=_connect_args(settled, busy_timeout, application_name),
            pool_size=pool_size,
        )
    except ModuleNotFoundError as error:
        raise _driver_missing(settled, error) from error
    prepare_engine(engine, busy_timeout=busy_timeout, durability=durability)
    return engine


def open_async_engine(
    url: str | URL,
    *,
    busy_timeout: float = DEFAULT_BUSY_TIMEOUT,
    application_name: str = "fencepost",
    durability: Durability = Durability.FULL,
    pool_size: int = 5,
) -> "AsyncEngine":
    """The asynchronous engine on the same URLs, through aiosqlite and psycopg; otherwise as `open_engine`.

    `AsyncConnection.run_sync` runs every function of this layer on its connections.
    """
    try:
        # Imported late: the module demands greenlet, which only asynchronous programs install.
        from sqlalchemy.ext.asyncio import create_async_engine
    except ImportError as error:
        raise ConfigurationError(
            "Asynchronous engines need greenlet, which is not installed: install fencepost[async]."
        ) from error
    settled = _settled_url(url, asynchronous=True)
    _require_time_out(busy_timeout)
    try:
        engine = create_async_engine(
            settled,
            connect_args=_connect_args(settled, busy_timeout, application_name),
            pool_size=pool_size,
        )
    except ModuleNotFoundError as error:
        raise _driver_missing(settled, error) from error
    prepare_engine(engine.sync_engine, busy_timeout=busy_timeout, durability=durability)
    return engine


def prepare_engine(
    engine: Engine, *, busy_timeout: float = DEFAULT_BUSY_TIMEOUT, durability: Durability = Durability.FULL
) -> None:
    """Set up an engine that an application has made itself, so that runtime and application share transactions.

    For an `AsyncEngine` pass its `sync_engine`. Connections that are in the pool already are set up when they leave
    it next. An engine is prepared once. Raises `ConfigurationError` as `open_engine` does.
    """
    dialect = dialect_of(engine)
    _require_time_out(busy_timeout)
    if dialect is Dialect.SQLITE:
        _require_file(engine.url)

    def set_up(connection: DBAPIConnection, record: ConnectionPoolEntry) -> None:
        if dialect is Dialect.SQLITE:
            _set_up_sqlite(connection, busy_timeout)
        else:
            _set_up_postgresql(connection)
        _apply_durability(connection, dialect, durability)
        record.info[_STATE] = SessionState(durability)

    def hand_out(connection: DBAPIConnection, record: ConnectionPoolEntry, _proxy: PoolProxiedConnection) -> None:
        state = record.info.get(_STATE)
        if not isinstance(state, SessionState):
            set_up(connection, record)
            return
        # An earlier user may have left its own settings behind: its durability, or the driver's own transactions, to
        # which SQLAlchemy returns a connection that was in autocommit.
        if state.durability is not durability:
            _apply_durability(connection, dialect, durability)
            state.durability = durability
        if dialect is Dialect.SQLITE and connection.isolation_level is not None:
            connection.isolation_level = None

    event.listen(engine, "connect", set_up)
    event.listen(engine, "checkout", hand_out)
    if dialect is Dialect.SQLITE:
        event.listen(engine, "begin", _begin_on_sqlite)
        event.listen(engine, "handle_error", _notice_rollback_by_sqlite)


def open_statement_connection(engine: Engine) -> Connection:
    """A connection on which each statement is a transaction of its own, for work that is one statement.

    PostgreSQL saves the two round trips of BEGIN and COMMIT. `write_transaction` works on it as on any other. The
    caller closes it.
    """
    return engine.connect().execution_options(isolation_level="AUTOCOMMIT")


def set_durability(connection: Connection, durability: Durability) -> None:
    """What the commits of this connection survive from now on, until it goes back to the pool (contract §8).

    Raises `TransactionError` while a transaction is open: neither database changes it in mid-transaction.
    """
    state = session_state(connection)
    if connection.in_transaction():
        if not statements_stand_alone(connection) or in_transaction_on_driver(connection):
            raise TransactionError("Durability is a setting of the connection: set it before the transaction begins.")
        connection.commit()
    if state.durability is not durability:
        _apply_durability(_dbapi_connection(connection), dialect_of(connection), durability)
        state.durability = durability


def session_state(connection: Connection) -> SessionState:
    """What the layer knows of a connection; `ConfigurationError` when its engine was never set up."""
    state = connection.info.get(_STATE)
    if not isinstance(state, SessionState):
        raise ConfigurationError(
            "This connection's engine was not set up for durable work: make it with open_engine(), "
            "or call prepare_engine() on it before the first connection."
        )
    return state


def statements_stand_alone(connection: Connection) -> bool:
    """Whether each statement commits by itself unless a transaction is opened in so many words."""
    if dialect_of(connection) is Dialect.SQLITE:
        return connection.get_execution_options().get("isolation_level") == "AUTOCOMMIT"
    return bool(_dbapi_connection(connection).autocommit)


def in_transaction_on_driver(connection: Connection) -> bool:
    """Whether the database itself has a transaction open, whatever SQLAlchemy believes."""
    driver = driver_connection(connection)
    if dialect_of(connection) is Dialect.SQLITE:
        return bool(driver.in_transaction)
    return int(driver.pgconn.transaction_status) != _POSTGRESQL_IDLE


def transaction_failed_on_driver(connection: Connection) -> bool:
    """Whether PostgreSQL has given up the open transaction, so that a commit would silently be a rollback."""
    return (
        dialect_of(connection) is Dialect.POSTGRESQL
        and int(driver_connection(connection).pgconn.transaction_status) == _POSTGRESQL_IN_ERROR
    )


def driver_connection(connection: Connection) -> Any:
    """The driver's own connection object (`sqlite3`, `aiosqlite` or `psycopg`), for use inside this package only."""
    return connection.connection.driver_connection


_POSTGRESQL_IDLE: Final = 0  # psycopg.pq.TransactionStatus.IDLE
_POSTGRESQL_IN_ERROR: Final = 3  # psycopg.pq.TransactionStatus.INERROR


# --- URLs ------------------------------------------------------------------------------------------------------------


def _settled_url(url: str | URL, *, asynchronous: bool) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise ConfigurationError(
            "The database URL cannot be read: write it like sqlite:///jobs.db or postgresql+psycopg://user@host/name."
        ) from error
    dialect = dialect_named(parsed.get_backend_name())
    driver = parsed.drivername.partition("+")[2]
    if dialect is Dialect.SQLITE:
        _require_driver(parsed, driver, ("", "pysqlite", "aiosqlite"))
        _require_file(parsed)
        return parsed.set(drivername="sqlite+aiosqlite" if asynchronous else "sqlite+pysqlite")
    _require_driver(parsed, driver, ("", "psycopg", "psycopg_async"))
    return parsed.set(drivername="postgresql+psycopg")


def _require_driver(url: URL, driver: str, accepted: tuple[str, ...]) -> None:
    if driver not in accepted:
        raise ConfigurationError(
            f"The driver {driver!r} is not supported: use {url.get_backend_name()}+{accepted[1]}:// in the URL."
        )


def _require_file(url: URL) -> None:
    name = url.database or ""
    query = {key: str(value) for key, value in url.query.items()}
    is_uri = name.startswith("file:")
    path = name.removeprefix("file:").partition("?")[0]
    if (
        path in ("", ":memory:")
        or query.get("mode") == "memory"
        or query.get("vfs") == "memdb"
        or (is_uri and ("mode=memory" in name or "vfs=memdb" in name))
    ):
        raise ConfigurationError(
            "A durable store needs a file, and this SQLite URL names a database in memory: use sqlite:///path/to/jobs.db."
        )
    if not is_uri and not Path(path).parent.is_dir():
        raise ConfigurationError(
            f"The folder {str(Path(path).parent)!r} of the SQLite file does not exist: make it, or correct the URL "
            "(an absolute path follows four slashes)."
        )


def _require_time_out(busy_timeout: float) -> None:
    if not 0 <= busy_timeout <= 24 * 3600:
        raise ConfigurationError(
            f"The busy time-out of {busy_timeout} s is out of range: give seconds from 0 (do not wait) to 86400."
        )


def _connect_args(url: URL, busy_timeout: float, application_name: str) -> Mapping[str, Any]:
    if dialect_named(url.get_backend_name()) is Dialect.SQLITE:
        return {"timeout": busy_timeout}
    return {} if "application_name" in url.query else {"application_name": application_name}


def _driver_missing(url: URL, error: ModuleNotFoundError) -> ConfigurationError:
    extra = "async" if "aiosqlite" in url.drivername else "postgres"
    return ConfigurationError(
        f"The driver {error.name} for {url.get_backend_name()} is not installed: install fencepost[{extra}]."
    )


# --- One connection ---------------------------------------------------------------------------------------------------


def _set_up_sqlite(connection: DBAPIConnection, busy_timeout: float) -> None:
    if sqlite3.sqlite_version_info < _LEAST_SQLITE:
        raise ConfigurationError(
            f"SQLite {sqlite3.sqlite_version} is too old: use a Python that is built with SQLite 3.35 or newer."
        )
    connection.isolation_level = None
    _run(connection, f"PRAGMA busy_timeout = {round(busy_timeout * 1000)}")
    _enter_write_ahead_log(connection, busy_timeout)
    _run(connection, "PRAGMA foreign_keys = ON")
    connection.create_function("fencepost_now", 0, _sqlite_now)
    connection.create_function("fencepost_plus_seconds", 2, _sqlite_plus_seconds, deterministic=True)
    connection.create_function("fencepost_earliest", -1, _sqlite_earliest, deterministic=True)
    connection.create_function("fencepost_latest", -1, _sqlite_latest, deterministic=True)


def _enter_write_ahead_log(connection: DBAPIConnection, busy_timeout: float) -> None:
    give_up_at = time.monotonic() + busy_timeout
    while True:
        try:
            mode = _run(connection, "PRAGMA journal_mode")
            if mode != "wal":
                mode = _run(connection, "PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if not is_conflict(error) or time.monotonic() >= give_up_at:
                raise
            _pause(connection, random.uniform(0.002, 0.02))
        else:
            if mode != "wal":
                raise ConfigurationError(
                    f"SQLite keeps the journal mode {mode!r} for this file: put it on a local disk that can be "
                    "written, where a write-ahead log is possible."
                )
            return


def _pause(connection: DBAPIConnection, seconds: float) -> None:
    if isinstance(connection, AdaptedConnection):
        connection.run_async(lambda _driver: asyncio.sleep(seconds))
    else:
        time.sleep(seconds)


def _sqlite_now() -> str:
    return moment_text(datetime.now(UTC))


def _sqlite_plus_seconds(moment: str | None, seconds: float | None) -> str | None:
    if moment is None or seconds is None:
        return None
    return moment_text(moment_from_text(moment) + timedelta(seconds=seconds))


def _sqlite_earliest(*moments: str | None) -> str | None:
    return min((moment for moment in moments if moment is not None), default=None)


def _sqlite_latest(*moments: str | None) -> str | None:
    return max((moment for moment in moments if moment is not None), default=None)


def _set_up_postgresql(connection: DBAPIConnection) -> None:
    _run_outside_transaction(
        connection,
        "SELECT set_config('TimeZone', 'UTC', false),"
        " set_config('default_transaction_isolation', 'read committed', false)",
    )


# RELAXED aside, the server's own setting is kept (it may ask for more than "on"), unless it is "off".
_SYNCHRONOUS_COMMIT: Final = """
    SELECT set_config('synchronous_commit', CASE reset_val WHEN 'off' THEN 'on' ELSE reset_val END, false)
    FROM pg_settings WHERE name = 'synchronous_commit'
"""


def _apply_durability(connection: DBAPIConnection, dialect: Dialect, durability: Durability) -> None:
    if dialect is Dialect.SQLITE:
        _run(connection, f"PRAGMA synchronous = {'FULL' if durability is Durability.FULL else 'NORMAL'}")
    elif durability is Durability.RELAXED:
        _run_outside_transaction(connection, "SET synchronous_commit = off")
    else:
        _run_outside_transaction(connection, _SYNCHRONOUS_COMMIT)


def _begin_on_sqlite(connection: Connection) -> None:
    state = session_state(connection)
    state.begun = None
    if state.leave_begin_to_caller or statements_stand_alone(connection):
        return
    try:
        _run(_dbapi_connection(connection), "BEGIN")
    except BaseException:
        connection.close()
        raise
    state.begun = Begin.DEFERRED
    state.changes_at_begin = driver_connection(connection).total_changes


def _notice_rollback_by_sqlite(context: ExceptionContext) -> None:
    connection = context.connection
    if (
        connection is None
        or connection.closed
        or connection.invalidated
        or not isinstance(context.original_exception, sqlite3.Error)
    ):
        return
    transaction = connection.get_transaction()
    state = connection.info.get(_STATE)
    if transaction is None or not isinstance(state, SessionState) or state.begun is None:
        return
    try:
        still_open = in_transaction_on_driver(connection)
    except sqlite3.ProgrammingError:  # closed
        return
    if not still_open:
        state.aborted = transaction
        transaction.rollback()


def _dbapi_connection(connection: Connection) -> DBAPIConnection:
    dbapi_connection = connection.connection.dbapi_connection
    assert dbapi_connection is not None
    return dbapi_connection


def _run(connection: DBAPIConnection, statement: str) -> object:
    """Execute on the driver, past SQLAlchemy's transactions; the first column of the first row, if there is one."""
    with closing(connection.cursor()) as cursor:
        cursor.execute(statement)
        row = cursor.fetchone() if cursor.description else None
        return row[0] if row else None


def _run_outside_transaction(connection: DBAPIConnection, statement: str) -> None:
    """Execute on a PostgreSQL connection so that a rollback does not undo the setting; one round trip."""
    autocommit = connection.autocommit
    connection.autocommit = True
    try:
        _run(connection, statement)
    finally:
        connection.autocommit = autocommit
