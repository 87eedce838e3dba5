"""Clocks: what time it is for a process, and what time it is for a store.

Two different questions, hence two protocols. A `Clock` answers for this process and needs nothing. A `StoreClock`
answers for a store and is asked through an open connection, because all leases of a store must be judged by one clock
(D-14): in production by the database's own, in tests by one that the test moves.

An operation reads the store's clock **once**, inside its transaction and after it holds the write lock, and judges
everything by that reading. Boundaries are the contract's (§7): what ends at `now` is over, what is due at `now` is due.
"""

import threading
from datetime import UTC, datetime, timedelta
from typing import Protocol

from sqlalchemy import ColumnElement, Connection, bindparam

from fencepost.db.moments import read_now, store_now
from fencepost.db.types import UtcDateTime, require_utc
from fencepost.errors import ConfigurationError


class Clock(Protocol):
    """The time of this process."""

    def now(self) -> datetime:
        """The time now: aware, in UTC."""
        ...


class StoreClock(Protocol):
    """The time of a store (D-14)."""

    def read(self, connection: Connection) -> datetime:
        """The time now: aware, in UTC. Read it once an operation, after the write lock has been taken."""
        ...

    def expression(self) -> ColumnElement[datetime]:
        """The time at execution, for an operation that is one statement; write it once in the statement."""
        ...


class SystemClock:
    """The clock of the machine."""

    def now(self) -> datetime:
        """The machine's time, in UTC."""
        return datetime.now(UTC)


class ManualClock:
    """A clock that moves only when told to, for tests and simulations; safe to share between threads."""

    def __init__(self, start: datetime) -> None:
        """Stand still at `start`; `NaiveDatetime` if it has no time zone."""
        self._lock = threading.Lock()
        self._now = require_utc(start)

    def now(self) -> datetime:
        """Where the clock stands, in UTC."""
        with self._lock:
            return self._now

    def advance(self, seconds: float) -> datetime:
        """Move on by `seconds` and return the new time; `ConfigurationError` if they are negative."""
        if not seconds >= 0:
            raise ConfigurationError(f"A clock cannot advance by {seconds} s: use jump_to() to set it back.")
        with self._lock:
            self._now += timedelta(seconds=seconds)
            return self._now

    def jump_to(self, moment: datetime) -> None:
        """Set the clock to `moment`, be it backwards; `NaiveDatetime` if that has no time zone."""
        moment = require_utc(moment)
        with self._lock:
            self._now = moment


class DatabaseClock:
    """The database's own clock: `clock_timestamp()` on PostgreSQL, the machine's clock on SQLite (D-14)."""

    def read(self, connection: Connection) -> datetime:
        """The store's time now, aware, in UTC; one round trip on PostgreSQL."""
        return read_now(connection)

    def expression(self) -> ColumnElement[datetime]:
        """The store's time at execution, evaluated once a statement."""
        return store_now()


class InjectedClock:
    """A store's time taken from a process's clock: for tests, where the clock is one that the test moves."""

    def __init__(self, clock: Clock) -> None:
        """Answer with `clock`'s time, whatever the store."""
        self._clock = clock

    def read(self, connection: Connection) -> datetime:
        """The clock's time now."""
        return require_utc(self._clock.now())

    def expression(self) -> ColumnElement[datetime]:
        """The clock's time when the statement is executed, also when the same statement is executed again."""
        return bindparam(None, callable_=self._clock.now, type_=UtcDateTime())
