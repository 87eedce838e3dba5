"""Column types that mean the same on both databases: times, JSON payloads and automatic keys.

**Times.** In Python a time is an aware datetime; in a result it is always in UTC. PostgreSQL stores `timestamptz`.
SQLite has no time type, so a time is text of a fixed width, `YYYY-MM-DD HH:MM:SS.ffffff`, in UTC by definition. With
every field padded and the microseconds always there, the order of texts is the order of times: that is what lets one
comparison in SQL serve both databases. It is also, to the letter, how SQLAlchemy's own `DateTime` writes SQLite text,
so a table whose times were UTC can be brought along as it is. A text of any other shape would sort wrongly in
silence, and is refused when read.

**Payloads.** `JSONB` on PostgreSQL, JSON text on SQLite. `None` is SQL NULL on both.

**Keys.** `automatic_key` is an integer key that both databases number by themselves, with `NEVER_REUSED` never twice.
"""

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, Protocol, cast

from sqlalchemy import JSON, TIMESTAMP, BigInteger, Dialect, Integer, String, Text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import TypeDecorator, TypeEngine

from fencepost.db.dialects import Dialect as Store
from fencepost.db.dialects import dialect_named
from fencepost.errors import DatetimeError, FencepostError, NaiveDatetime

MOMENT_TEXT_WIDTH: Final = len("2026-01-31 23:59:59.000001")
"""Characters of every time that SQLite stores."""

_MOMENT_TEXT: Final = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}", re.ASCII)


def require_utc(moment: object) -> datetime:
    """The same moment in UTC.

    Raises `NaiveDatetime` for a datetime without a time zone and `DatetimeError` for whatever is not a datetime, or
    lies outside the years 1 to 9999 once it is in UTC.
    """
    if not isinstance(moment, datetime):
        raise DatetimeError(
            f"A time column takes an aware datetime, not {type(moment).__name__}: pass datetime.now(UTC) or the like, "
            "and add seconds to a time in SQL with plus_seconds()."
        )
    if moment.tzinfo is UTC:
        return moment
    if moment.utcoffset() is None:
        raise NaiveDatetime(
            f"The datetime {moment.isoformat()} has no time zone: attach the one it was meant in, "
            "for instance moment.replace(tzinfo=UTC)."
        )
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise DatetimeError(
            f"The datetime {moment.isoformat()} leaves the years 1 to 9999 when it is turned into UTC: "
            "choose a moment inside them."
        ) from None


def moment_text(moment: datetime) -> str:
    """The text that SQLite stores for an aware datetime; refuses as `require_utc` does."""
    return require_utc(moment).isoformat(" ", "microseconds")[:MOMENT_TEXT_WIDTH]


def moment_from_text(text: object) -> datetime:
    """The aware UTC datetime of a text that `moment_text` made; `DatetimeError` for any other value."""
    if isinstance(text, str) and _MOMENT_TEXT.fullmatch(text):
        try:
            return datetime.fromisoformat(text).replace(tzinfo=UTC)
        except ValueError:
            pass
    raise DatetimeError(
        f"The stored time {text!r} is not of the form YYYY-MM-DD HH:MM:SS.ffffff in UTC, so it would sort wrongly: "
        "rewrite the column once, for instance with strftime('%Y-%m-%d %H:%M:%f000', the_column)."
    )


class UtcDateTime(TypeDecorator[datetime]):
    """A point in time: aware datetimes in, aware UTC datetimes out, microseconds kept (contract §8).

    Raises `NaiveDatetime` or `DatetimeError` when a value is bound that is no aware datetime, a timedelta among them:
    adding one to text would be a silent error on SQLite, so `plus_seconds` does it. Comparisons in SQL agree with
    comparisons in Python on both databases.
    """

    impl = TIMESTAMP(timezone=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """`timestamptz` on PostgreSQL, text of a fixed width on SQLite."""
        if dialect_named(dialect.name) is Store.SQLITE:
            return dialect.type_descriptor(String(MOMENT_TEXT_WIDTH))
        return dialect.type_descriptor(TIMESTAMP(timezone=True))

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        """An aware datetime as the database stores it."""
        if value is None:
            return None
        if dialect_named(dialect.name) is Store.SQLITE:
            return moment_text(value)
        return require_utc(value)

    def process_literal_param(self, value: Any, dialect: Dialect) -> Any:
        """The same, for a value that is written into the statement's text."""
        return self.process_bind_param(value, dialect)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """A stored time as an aware UTC datetime."""
        if value is None:
            return None
        if dialect_named(dialect.name) is Store.SQLITE:
            return moment_from_text(value)
        if isinstance(value, datetime) and value.tzinfo is None:
            raise NaiveDatetime(
                f"The database returned {value.isoformat()} without a time zone: change the column to timestamptz, "
                "for instance ALTER COLUMN ... TYPE timestamptz USING the_column AT TIME ZONE 'UTC'."
            )
        return require_utc(value)


class PayloadError(FencepostError):
    """A payload that the two databases would not keep alike."""


_encode: Final[Callable[[object], str]] = json.JSONEncoder(
    allow_nan=False, ensure_ascii=False, separators=(",", ":")
).encode
_ESCAPED_NUL: Final = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


def payload_text(payload: object) -> str:
    """The JSON text of a payload.

    Raises `PayloadError` for what one of the databases would not keep: NaN and the infinities (not JSON), NUL
    characters and lone surrogates (no PostgreSQL text), and objects that JSON has no form for.
    """
    try:
        text = _encode(payload)
        if not text.isascii():
            text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise PayloadError(
            f"The payload has no portable JSON form ({error}): reduce it to dicts, lists, whole text and finite "
            "numbers."
        ) from error
    if "\\u0000" in text and _ESCAPED_NUL.search(text):
        raise PayloadError("The payload holds a NUL character, which PostgreSQL cannot store: remove or encode it.")
    return text


class JsonPayload(TypeDecorator[Any]):
    """A JSON value: `JSONB` on PostgreSQL, JSON text on SQLite; `None` is SQL NULL on both (contract §8).

    Raises `PayloadError` when a value is bound that not both databases would keep. Two things may change on the way:
    the order of keys; and PostgreSQL, whose JSON numbers are decimal, returns a float without a fraction as the
    integer of the same digits (1e16 as 10000000000000000).
    """

    # Text and not SQLite's own "JSON", which has numeric affinity and would turn the payload 2**70 into a float.
    impl = JSON(none_as_null=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """`JSONB` on PostgreSQL, `TEXT` on SQLite."""
        if dialect_named(dialect.name) is Store.SQLITE:
            return dialect.type_descriptor(Text())
        return dialect.type_descriptor(JSONB(none_as_null=True))

    def bind_processor(self, dialect: Dialect) -> "_Processor":
        """A payload as JSON text, which both databases take; whatever serializer the engine has plays no part."""
        return _payload_text_or_null

    def literal_processor(self, dialect: Dialect) -> "_Processor":
        """The same, for a value that is written into the statement's text."""
        quoted: Callable[[str], str] = cast("Any", String()).literal_processor(dialect)

        def process(value: Any) -> str:
            return quoted(payload_text(value))

        return process

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        """A stored payload, decoded; PostgreSQL's driver has done so already."""
        if isinstance(value, (str, bytes)) and dialect_named(dialect.name) is Store.SQLITE:
            return json.loads(value)
        return value


NEVER_REUSED: Final[Mapping[str, Any]] = {"sqlite_autoincrement": True}
"""Options of a `Table` whose automatic keys are not given out again, even after the row with the highest is deleted."""


def automatic_key() -> TypeEngine[int]:
    """The type of an integer primary key of 64 bits that the database numbers by itself; see also `NEVER_REUSED`."""
    # SQLite does that only for a key declared INTEGER to the letter, which has 64 bits there.
    return BigInteger().with_variant(Integer(), Store.SQLITE)


class _Processor(Protocol):
    def __call__(self, value: Any) -> Any: ...


def _payload_text_or_null(value: Any) -> str | None:
    return None if value is None else payload_text(value)
