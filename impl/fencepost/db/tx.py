"""Write transactions: one spelling for both databases, and the questions one may ask about an open one.

SQLite has one write lock. A transaction that reads first and writes later asks for the lock too late: if somebody
else has committed in between, its snapshot is stale and no waiting helps. `write_transaction` therefore takes the lock
with the first statement, `BEGIN IMMEDIATE`; from there on nothing of it can conflict (D-22). On PostgreSQL it is a
plain transaction; what it writes locks rows.

Whoever is given a connection inside a transaction passes `commit=False` and joins it: then the outer one commits, and
the writes of both stand or fall together (contract §2, composition).

An error inside a transaction has to leave the block. If it is caught inside, PostgreSQL refuses all further statements
and turns the commit into a silent rollback, and SQLite may have rolled back already and go on statement by statement;
both are noticed here before the commit and raise `TransactionAborted`.
"""

import logging
import sqlite3
from collections.abc import AsyncGenerator, Generator
from contextlib import AbstractContextManager, asynccontextmanager, closing, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, RootTransaction
from sqlalchemy.exc import DBAPIError

from fencepost.db.dialects import Dialect, dialect_of
from fencepost.db.engine import (
    Begin,
    driver_connection,
    in_transaction_on_driver,
    session_state,
    statements_stand_alone,
    transaction_failed_on_driver,
)
from fencepost.errors import TransactionAborted, TransactionError

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

log = logging.getLogger(__name__)


def write_transaction(connection: Connection, *, commit: bool = True) -> AbstractContextManager[Connection]:
    """Run the block in one write transaction and yield `connection`.

    With `commit` (the default) the transaction is opened here, committed at the end of the block, and rolled back when
    an exception leaves it, task cancellation included. Without, the caller owns the transaction: an open one is used
    as it is (with a warning where it is known not to hold SQLite's write lock), and if none is open the right kind is
    opened and left open for the caller to commit.

    Raises `TransactionError` when `commit` is asked for inside an open transaction, `TransactionAborted` when the
    database had ended the transaction before the commit, `ConfigurationError` when the engine was not set up, and
    SQLAlchemy's `OperationalError` (`is_conflict` knows it) when the write lock was not to be had in time.
    """
    return _WriteTransaction(connection, commit)


@contextmanager
def open_write_transaction(engine: Engine) -> Generator[Connection]:
    """A write transaction on a connection of its own; with `functools.partial` the factory for `retry_write`."""
    with engine.connect() as connection, write_transaction(connection):
        yield connection


@asynccontextmanager
async def async_write_transaction(
    connection: "AsyncConnection", *, commit: bool = True
) -> "AsyncGenerator[AsyncConnection]":
    """`write_transaction` around a block that awaits; the same rules and errors."""

    def enter(synchronous: Connection) -> _WriteTransaction:
        transaction = _WriteTransaction(synchronous, commit)
        transaction.__enter__()
        return transaction

    def leave(_: Connection, transaction: _WriteTransaction, error: BaseException | None) -> None:
        transaction.__exit__(type(error) if error else None, error, None)

    transaction = await connection.run_sync(enter)
    try:
        yield connection
    except BaseException as error:
        await connection.run_sync(leave, transaction, error)
        raise
    await connection.run_sync(leave, transaction, None)


@asynccontextmanager
async def open_async_write_transaction(engine: "AsyncEngine") -> "AsyncGenerator[AsyncConnection]":
    """`open_write_transaction` on an asynchronous engine."""
    async with engine.connect() as connection, async_write_transaction(connection):
        yield connection


def holds_write_lock(connection: Connection) -> bool | None:
    """Whether the open transaction keeps every other writer of the store out until it ends.

    True: opened by `write_transaction` on SQLite, or rows were changed in it. False: no transaction is open, or the
    store has no such lock (PostgreSQL). None: it cannot be known, and a warning is logged; that is so for a plain
    SQLite transaction that has changed no row, for it may have read, or have run an UPDATE that hit nothing but took
    the lock, and the driver does not tell the two apart. Callers treat None as "no".
    """
    if dialect_of(connection) is Dialect.POSTGRESQL:
        return False
    if not connection.in_transaction() or not in_transaction_on_driver(connection):
        return False
    state = session_state(connection)
    if state.begun is Begin.IMMEDIATE:
        return True
    if state.begun is Begin.DEFERRED and driver_connection(connection).total_changes > state.changes_at_begin:
        return True
    if not state.warned:
        state.warned = True
        log.warning(
            "Cannot tell whether this SQLite transaction holds the write lock, since it was opened without it "
            "(told once a connection): open it with write_transaction()."
        )
    return None


def commit_end_read(connection: Connection) -> None:
    """End the open read, so that it holds back no other writer and pins no old snapshot; nothing where none is open.

    For use between a read and slow work, or between a read and a `write_transaction` on the same connection. Raises
    `TransactionError`, and leaves the transaction as it is, when something was written in it: half of somebody's
    work is not to be committed in passing.
    """
    if not connection.in_transaction():
        return
    if _has_written(connection):
        raise TransactionError(
            "This transaction has written, so ending it is not the end of a read: commit it or roll it back where it "
            "was opened."
        )
    connection.commit()


def _has_written(connection: Connection) -> bool:
    if not in_transaction_on_driver(connection) or transaction_failed_on_driver(connection):
        return False
    if dialect_of(connection) is Dialect.POSTGRESQL:
        # An identifier is assigned with the first write, or the first row lock.
        return connection.exec_driver_sql("SELECT txid_current_if_assigned() IS NOT NULL").scalar_one() is True
    state = session_state(connection)
    return state.begun is Begin.IMMEDIATE or driver_connection(connection).total_changes > state.changes_at_begin


class _WriteTransaction(AbstractContextManager[Connection]):
    """What `write_transaction` returns; a class and not a generator, since it stands on the hot path."""

    __slots__ = ("_commit", "_connection", "_transaction")

    def __init__(self, connection: Connection, commit: bool) -> None:
        self._connection = connection
        self._commit = commit
        self._transaction: RootTransaction | None = None

    def __enter__(self) -> Connection:
        connection = self._connection
        if connection.in_transaction() and not _ended_stand_alone_statements(connection):
            if self._commit:
                raise TransactionError(
                    "A transaction is already open on this connection: pass commit=False to join it, "
                    "or end a read with commit_end_read() first."
                )
            holds_write_lock(connection)
            return connection
        transaction = _open(connection)
        if self._commit:
            self._transaction = transaction
        return connection

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        transaction = self._transaction
        if transaction is None:
            return
        self._transaction = None
        if error is not None:
            _roll_back(self._connection)
            return
        if (
            self._connection.invalidated
            or transaction_failed_on_driver(self._connection)
            or session_state(self._connection).aborted is transaction
        ):
            _roll_back(self._connection)
            raise TransactionAborted(
                "The database ended this transaction after an error inside it, and nothing was committed: let the "
                "error leave the block, or run the statement that may fail in connection.begin_nested()."
            )
        if not transaction.is_active:
            _roll_back(self._connection)
            raise TransactionError(
                "commit() or rollback() was called inside a write transaction: leave the end of it to the block, "
                "or pass commit=False and end it yourself."
            )
        try:
            transaction.commit()
        except BaseException:
            _roll_back(self._connection)
            raise


def _ended_stand_alone_statements(connection: Connection) -> bool:
    """On a connection in autocommit SQLAlchemy counts past statements as a transaction; there is none to join."""
    if not statements_stand_alone(connection) or in_transaction_on_driver(connection):
        return False
    connection.commit()
    return True


def _open(connection: Connection) -> RootTransaction:
    state = session_state(connection)
    if dialect_of(connection) is Dialect.POSTGRESQL:
        transaction = connection.begin()
        if statements_stand_alone(connection):
            try:
                connection.exec_driver_sql("BEGIN")
            except BaseException:
                _roll_back(connection)
                raise
        return transaction
    state.leave_begin_to_caller = True
    try:
        transaction = connection.begin()
    finally:
        state.leave_begin_to_caller = False
    try:
        # On the driver's cursor: half the price of a statement that goes through SQLAlchemy.
        with closing(connection.connection.cursor()) as cursor:
            cursor.execute("BEGIN IMMEDIATE")
    except BaseException as error:
        # A cancelled task leaves aiosqlite's thread waiting for the lock; the rollback comes after what it is given.
        _roll_back(connection)
        if isinstance(error, sqlite3.Error):
            raise DBAPIError.instance("BEGIN IMMEDIATE", None, error, sqlite3.Error) from error
        raise
    state.begun = Begin.IMMEDIATE
    return transaction


def _roll_back(connection: Connection) -> None:
    """Roll back whatever is left; a failure to do so costs the connection and hides no earlier error."""
    try:
        connection.rollback()
        if not connection.closed and not connection.invalidated and in_transaction_on_driver(connection):
            # A commit that failed has closed the transaction for SQLAlchemy, and left it open in the driver.
            connection.connection.rollback()
    except Exception as failure:  # noqa: BLE001 - the error that caused the rollback is the one to be seen
        log.warning("The rollback failed and the connection is given up: %s", failure)
        if not connection.closed:
            connection.invalidate()
