"""Which database errors are conflicts, and which mean that the connection is gone.

Both questions have one answer each in the whole runtime, and it is given here.

A **conflict** is a write that lost against a concurrent one and has had no effect; run again in a fresh transaction
it may succeed. SQLite says so with the result codes BUSY and LOCKED, which come extended (BUSY_SNAPSHOT is
`5 | 2 << 8`), so the low byte decides; where a wrapper has dropped the code, the message does. PostgreSQL says so with
the states 40001 (serialization failure) and 40P01 (deadlock detected). Nothing else counts, in particular no
constraint violation: it would fail again for ever.

A **lost connection** leaves the outcome of the last statement *unknown*: a commit may or may not have happened. It is
never a conflict, and whoever repeats the work must be guarded (compare and set) or ask first.

An exception is looked at together with what it wraps: SQLAlchemy's `orig`, and the explicit cause. The context of an
exception, which merely happened before, does not count.
"""

import sqlite3
from collections.abc import Iterator
from typing import Final

from sqlalchemy.exc import DBAPIError, StatementError

_SQLITE_CONFLICT_CODES: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_SQLITE_CONFLICT_MESSAGES: Final = ("database is locked", "database table is locked", "database schema is locked")
_SQLITE_CLOSED_MESSAGES: Final = ("cannot operate on a closed database", "no active connection", "connection closed")
_POSTGRESQL_CONFLICT_STATES: Final = frozenset({"40001", "40P01"})
_POSTGRESQL_LOST_STATES: Final = frozenset(
    {
        "57P01",  # admin_shutdown
        "57P02",  # crash_shutdown
        "57P03",  # cannot_connect_now
        "57P05",  # idle_session_timeout
        "25P03",  # idle_in_transaction_session_timeout
    }
)


def is_conflict(exception: BaseException) -> bool:
    """Whether a write lost against a concurrent one, had no effect, and may be run again (contract §8).

    True for SQLite BUSY and LOCKED in every extended form and for PostgreSQL 40001 and 40P01, raised by the driver,
    wrapped by SQLAlchemy, or named as the cause of another exception.
    """
    return any(_sqlite_conflict(error) or _postgresql_conflict(error) for error in _with_causes(exception))


def is_connection_lost(exception: BaseException) -> bool:
    """Whether the connection is gone, so that the outcome of the last statement is unknown and a new one is needed."""
    return any(
        (isinstance(error, DBAPIError) and error.connection_invalidated)
        or _sqlite_connection_lost(error)
        or _postgresql_connection_lost(error)
        for error in _with_causes(exception)
    )


def _with_causes(exception: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    waiting: list[BaseException | None] = [exception]
    while waiting:
        error = waiting.pop()
        if error is None or id(error) in seen:
            continue
        seen.add(id(error))
        yield error
        waiting.append(error.__cause__)
        if isinstance(error, StatementError):
            waiting.append(error.orig)


def _sqlite_conflict(error: BaseException) -> bool:
    if not isinstance(error, sqlite3.OperationalError):
        return False
    code: int | None = getattr(error, "sqlite_errorcode", None)
    if code is not None:
        return code & 0xFF in _SQLITE_CONFLICT_CODES
    return any(message in str(error).lower() for message in _SQLITE_CONFLICT_MESSAGES)


def _sqlite_connection_lost(error: BaseException) -> bool:
    if not isinstance(error, (sqlite3.ProgrammingError, sqlite3.OperationalError)):
        return False
    return any(message in str(error).lower() for message in _SQLITE_CLOSED_MESSAGES)


def _postgresql_conflict(error: BaseException) -> bool:
    return _sqlstate(error) in _POSTGRESQL_CONFLICT_STATES


def _postgresql_connection_lost(error: BaseException) -> bool:
    state = _sqlstate(error)
    if state is not None:
        return state.startswith("08") or state in _POSTGRESQL_LOST_STATES
    # What libpq itself reports (refused, reset, closed, timed out) never came from a server and so has no state.
    return any(_is_psycopg_class(kind, "OperationalError") for kind in type(error).__mro__)


def _sqlstate(error: BaseException) -> str | None:
    # The driver is an optional extra: its classes are recognised without importing it.
    if not any(_is_psycopg_class(kind, "Error") for kind in type(error).__mro__):
        return None
    state: object = getattr(error, "sqlstate", None)
    return state if isinstance(state, str) else None


def _is_psycopg_class(kind: type, name: str) -> bool:
    return kind.__name__ == name and kind.__module__.partition(".")[0] == "psycopg"
