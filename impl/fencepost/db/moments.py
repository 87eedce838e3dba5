"""The store's clock, and arithmetic on times, in SQL that both databases understand.

One clock per store decides every lease (D-14). On PostgreSQL that is `clock_timestamp()`; `now()` would not do, since
it stands still from the start of the transaction, and a transaction may have waited for a lock. SQLite runs inside its
processes, all on one machine, so its clock is that machine's, read by the process; SQLite's own `strftime` shows the
same clock to the millisecond only.

There are two ways to it. `read_now` gives the time to Python: read it once in an operation, after the write lock has
been taken, and decide everything by it. `store_now` is the time as an expression, for an operation that is a single
statement and can spare no round trip; within a statement each occurrence may be a different moment, so write it once.
"""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Float, literal
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from fencepost.db.dialects import Dialect, dialect_named, dialect_of
from fencepost.db.types import UtcDateTime, require_utc
from fencepost.errors import ConfigurationError


def read_now(connection: Connection) -> datetime:
    """The store's time now, aware, in UTC, to the microsecond (D-14); one round trip on PostgreSQL, none on SQLite."""
    if dialect_of(connection) is Dialect.SQLITE:
        return datetime.now(UTC)
    return require_utc(connection.exec_driver_sql("SELECT clock_timestamp()").scalar_one())


def store_now() -> ColumnElement[datetime]:
    """The store's time as an SQL expression, evaluated once a statement and not once a row."""
    return _StoreNow()


def plus_seconds(moment: ColumnElement[datetime], seconds: float | ColumnElement[float]) -> ColumnElement[datetime]:
    """`moment` moved by `seconds` (negative: back), to the microsecond; null if either is."""
    return _PlusSeconds(moment, seconds if isinstance(seconds, ColumnElement) else literal(float(seconds), Float()))


def earliest(*moments: ColumnElement[datetime] | datetime) -> ColumnElement[datetime]:
    """The earliest of the times that are not null; null when all are."""
    return _Earliest(*_as_moments(moments))


def latest(*moments: ColumnElement[datetime] | datetime) -> ColumnElement[datetime]:
    """The latest of the times that are not null; null when all are."""
    return _Latest(*_as_moments(moments))


def _as_moments(moments: tuple[ColumnElement[datetime] | datetime, ...]) -> list[ColumnElement[datetime]]:
    if len(moments) < 2:
        raise ConfigurationError("There is nothing to compare in fewer than two times: pass at least two.")
    return [moment if isinstance(moment, ColumnElement) else literal(moment, UtcDateTime()) for moment in moments]


class _StoreNow(FunctionElement[datetime]):
    type = UtcDateTime()
    name = "store_now"
    inherit_cache = True


class _PlusSeconds(FunctionElement[datetime]):
    type = UtcDateTime()
    name = "plus_seconds"
    inherit_cache = True


class _Earliest(FunctionElement[datetime]):
    type = UtcDateTime()
    name = "earliest"
    inherit_cache = True


class _Latest(FunctionElement[datetime]):
    type = UtcDateTime()
    name = "latest"
    inherit_cache = True


# The functions named fencepost_... are defined on every SQLite connection when it is set up (`fencepost.db.engine`).


@compiles(_StoreNow)
def _render_store_now(element: _StoreNow, compiler: SQLCompiler, **options: Any) -> str:
    # The subselect is what makes it one value for all rows: it depends on none of them, so it is evaluated once.
    clock = "fencepost_now()" if dialect_named(compiler.dialect.name) is Dialect.SQLITE else "clock_timestamp()"
    return f"(SELECT {clock})"


@compiles(_PlusSeconds)
def _render_plus_seconds(element: _PlusSeconds, compiler: SQLCompiler, **options: Any) -> str:
    moment, seconds = (compiler.process(clause, **options) for clause in element.clauses)
    if dialect_named(compiler.dialect.name) is Dialect.SQLITE:
        return f"fencepost_plus_seconds({moment}, {seconds})"
    return f"({moment} + make_interval(secs => {seconds}))"


@compiles(_Earliest)
def _render_earliest(element: _Earliest, compiler: SQLCompiler, **options: Any) -> str:
    # Not SQLite's own min(), which is null as soon as one of its arguments is.
    function = "fencepost_earliest" if dialect_named(compiler.dialect.name) is Dialect.SQLITE else "least"
    return f"{function}({compiler.process(element.clauses, **options)})"


@compiles(_Latest)
def _render_latest(element: _Latest, compiler: SQLCompiler, **options: Any) -> str:
    function = "fencepost_latest" if dialect_named(compiler.dialect.name) is Dialect.SQLITE else "greatest"
    return f"{function}({compiler.process(element.clauses, **options)})"
