"""Times and payloads come back as they went in, and sort in SQL as they sort in Python."""

import math
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Engine,
    Integer,
    MetaData,
    Table,
    delete,
    func,
    insert,
    literal,
    literal_column,
    null,
    select,
)

from fencepost.db.dialects import Dialect
from fencepost.db.types import (
    MOMENT_TEXT_WIDTH,
    NEVER_REUSED,
    JsonPayload,
    PayloadError,
    UtcDateTime,
    automatic_key,
    moment_from_text,
    moment_text,
    payload_text,
)
from fencepost.errors import DatetimeError, NaiveDatetime

metadata = MetaData()
moments = Table(
    "moments", metadata, Column("id", Integer, primary_key=True), Column("at", UtcDateTime()), Column("on", Boolean)
)
payloads = Table(
    "payloads", metadata, Column("id", Integer, primary_key=True), Column("payload", JsonPayload(), nullable=True)
)

ZONES = [UTC, timezone(timedelta(hours=-11, minutes=-30)), ZoneInfo("Europe/Berlin"), ZoneInfo("Asia/Kathmandu")]


@pytest.fixture
def connection(engine: Engine) -> Iterator[Connection]:
    metadata.create_all(engine)
    with engine.connect() as connection:
        yield connection


# Around whole seconds, days and years, where a digit that is missing or not padded would show.
BOUNDARIES = st.builds(
    lambda base, microseconds: base + timedelta(microseconds=microseconds),
    st.sampled_from(
        [
            datetime(1, 1, 2, tzinfo=UTC),
            datetime(999, 12, 31, 23, 59, 59, tzinfo=UTC),
            datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC),
            datetime(2024, 2, 29, 23, 59, 59, tzinfo=UTC),
            datetime(2026, 1, 31, 9, 59, 59, tzinfo=UTC),
            datetime(9999, 12, 30, tzinfo=UTC),
        ]
    ),
    st.sampled_from([0, 1, 9, 10, 99_999, 100_000, 999_999, 1_000_000, 1_000_001]),
)
MOMENTS = BOUNDARIES | st.datetimes(
    min_value=datetime(1, 1, 2),  # noqa: DTZ001 - the zone comes from the other strategy
    max_value=datetime(9999, 12, 30),  # noqa: DTZ001
    timezones=st.sampled_from(ZONES),
)


def in_utc(moment: datetime) -> datetime:
    """What Python compares by: two zones' times in a clock change are never equal to it, though one moment."""
    return moment.astimezone(UTC)


def test_moments_come_back_and_sort_as_in_python(connection: Connection) -> None:
    @given(st.lists(MOMENTS, min_size=1, max_size=8))
    def property_holds(local: list[datetime]) -> None:
        values = [in_utc(moment) for moment in local]
        with connection.begin():
            connection.execute(delete(moments))
            connection.execute(insert(moments), [{"id": n, "at": value} for n, value in enumerate(local)])
            back = connection.scalars(select(moments.c.at).order_by(moments.c.id)).all()
            assert back == values
            assert all(value.tzinfo is UTC for value in back)
            in_order = connection.scalars(select(moments.c.id).order_by(moments.c.at, moments.c.id))
            assert list(in_order) == sorted(range(len(values)), key=lambda n: (values[n], n))
            middle = values[0]  # compared as a parameter below in its own zone, as a row in UTC
            for found, expected in (
                (moments.c.at < local[0], {n for n, value in enumerate(values) if value < middle}),
                (moments.c.at <= local[0], {n for n, value in enumerate(values) if value <= middle}),
                (moments.c.at == local[0], {n for n, value in enumerate(values) if value == middle}),
                (moments.c.at > local[0], {n for n, value in enumerate(values) if value > middle}),
            ):
                assert set(connection.scalars(select(moments.c.id).where(found))) == expected
            assert connection.scalar(select(func.min(moments.c.at))) == min(values)

    property_holds()


@given(MOMENTS, MOMENTS)
@example(datetime(2026, 1, 1, 0, 0, 0, 0, UTC), datetime(2026, 1, 1, 0, 0, 0, 1, UTC))
@example(datetime(999, 12, 31, tzinfo=UTC), datetime(1000, 1, 1, tzinfo=UTC))
def test_the_order_of_texts_is_the_order_of_times(first: datetime, second: datetime) -> None:
    assert len(moment_text(first)) == len(moment_text(second)) == MOMENT_TEXT_WIDTH
    assert (moment_text(first) < moment_text(second)) is (in_utc(first) < in_utc(second))
    assert moment_from_text(moment_text(first)) == in_utc(first)


def test_both_sides_of_a_clock_change_are_kept_apart(connection: Connection) -> None:
    zone = ZoneInfo("Europe/Berlin")
    twice = [datetime(2026, 10, 25, 2, 30, tzinfo=zone, fold=fold) for fold in (0, 1)]
    connection.execute(insert(moments), [{"id": n, "at": value} for n, value in enumerate(twice)])
    first, second = connection.scalars(select(moments.c.at).order_by(moments.c.id))
    assert second - first == timedelta(hours=1)


@pytest.mark.parametrize(
    ("value", "error", "named"),
    [
        (datetime(2026, 1, 1), NaiveDatetime, "no time zone"),  # noqa: DTZ001
        (date(2026, 1, 1), DatetimeError, "not date"),
        ("2026-01-01", DatetimeError, "not str"),
        (datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-3))), DatetimeError, "years 1 to 9999"),
        (datetime(1, 1, 1, 1, tzinfo=timezone(timedelta(hours=3))), DatetimeError, "years 1 to 9999"),
    ],
)
def test_what_is_no_moment_is_refused_in_one_sentence(
    connection: Connection, value: object, error: type[DatetimeError], named: str
) -> None:
    for statement in (
        insert(moments).values(id=1, at=value),
        select(moments).where(moments.c.at <= value),
    ):
        with pytest.raises(error, match=named) as caught:
            connection.execute(statement)
        assert type(caught.value) is error
        assert str(caught.value).count(". ") == 0, "one sentence"
        connection.rollback()
    assert connection.execute(select(moments)).all() == []


def test_null_stays_null(connection: Connection) -> None:
    connection.execute(insert(moments).values(id=1, at=None))
    assert connection.execute(select(moments.c.at)).all() == [(None,)]
    assert connection.execute(select(moments.c.id).where(moments.c.at.is_(None))).all() == [(1,)]


def test_a_moment_may_stand_in_the_statement_itself(connection: Connection) -> None:
    at = datetime(2026, 1, 1, 0, 0, 0, 1, UTC)
    connection.execute(insert(moments).values(id=1, at=at))
    inline = literal(at, UtcDateTime(), literal_execute=True)
    assert connection.execute(select(moments.c.id).where(moments.c.at == inline)).all() == [(1,)]


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-01 00:00:00",
        "2026-01-01T00:00:00.000000",
        "2026-01-01 00:00:00.000000+00:00",
        "2026-13-01 00:00:00.000000",
    ],
)
def test_a_stored_text_that_would_sort_wrongly_is_refused(sqlite_engine: Engine, text: str) -> None:
    metadata.create_all(sqlite_engine)
    with sqlite_engine.connect() as connection:
        connection.exec_driver_sql("INSERT INTO moments (id, at) VALUES (1, ?)", (text,))
        with pytest.raises(DatetimeError, match="sort wrongly"):
            connection.execute(select(moments.c.at)).all()


def test_a_postgresql_column_without_time_zone_is_refused(postgresql_engine: Engine) -> None:
    with postgresql_engine.connect() as connection:
        naive = select(literal_column("timestamp '2026-01-01 00:00:00'", UtcDateTime()))
        with pytest.raises(NaiveDatetime, match="timestamptz"):
            connection.execute(naive).all()


def test_texts_are_those_of_sqlalchemys_own_datetime(sqlite_engine: Engine) -> None:
    """So that a table whose times were kept in UTC can be brought along."""
    from sqlalchemy import DateTime

    at = datetime(2026, 1, 2, 3, 4, 5, 678, UTC)
    with sqlite_engine.connect() as connection:
        written = connection.scalar(select(literal(at.replace(tzinfo=None), DateTime()).cast(UtcDateTime())))
        assert written == at


# --- keys ------------------------------------------------------------------------------------------------------------


def test_keys_are_numbered_by_the_database_and_have_64_bits(engine: Engine) -> None:
    numbered = Table("numbered", MetaData(), Column("id", automatic_key(), primary_key=True), Column("n", Integer))
    numbered.create(engine)
    with engine.begin() as connection:
        first, second = connection.scalars(insert(numbered).returning(numbered.c.id), [{"n": 1}, {"n": 2}])
        assert first < second
        connection.execute(insert(numbered).values(id=2**63 - 1))
        assert connection.scalar(select(func.max(numbered.c.id))) == 2**63 - 1


def test_the_highest_key_is_not_given_out_again(engine: Engine) -> None:
    numbered = Table("numbered", MetaData(), Column("id", automatic_key(), primary_key=True), **NEVER_REUSED)
    numbered.create(engine)
    with engine.begin() as connection:
        first = connection.scalar(insert(numbered).returning(numbered.c.id))
        connection.execute(delete(numbered))
        second = connection.scalar(insert(numbered).returning(numbered.c.id))
        assert first is not None
        assert second is not None
        assert first < second


# --- payloads --------------------------------------------------------------------------------------------------------

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
PAYLOADS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**200), 2**200)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


def test_payloads_come_back_equal(connection: Connection) -> None:
    @given(st.lists(PAYLOADS, min_size=1, max_size=4))
    @example([2**70, 1e300, "\\u0000", '"', "💡", {"": {}}, [], "1", 1, 1.0, True, "null"])
    def property_holds(values: list[object]) -> None:
        with connection.begin():
            connection.execute(delete(payloads))
            connection.execute(insert(payloads), [{"id": n, "payload": value} for n, value in enumerate(values)])
            back = connection.scalars(select(payloads.c.payload).order_by(payloads.c.id)).all()
            assert all(alike(found, value) for found, value in zip(back, values, strict=True))

    property_holds()


def alike(found: object, expected: object) -> bool:
    """Equal, with a float taken for the same number as the integer of its digits, and keys in any order."""
    match expected, found:
        case bool(), _:
            return found is expected
        case float(), int() | float():
            return not isinstance(found, bool) and float(found) == expected
        case list(), list():
            return len(found) == len(expected) and all(map(alike, found, expected))
        case dict(), dict():
            return found.keys() == expected.keys() and all(alike(found[key], expected[key]) for key in expected)
        case _:
            return type(found) is type(expected) and found == expected


def test_no_payload_is_sql_null(connection: Connection) -> None:
    connection.execute(insert(payloads), [{"id": 1, "payload": None}, {"id": 2, "payload": [None]}])
    connection.execute(insert(payloads).values(id=3, payload=null()))
    assert list(connection.scalars(select(payloads.c.id).where(payloads.c.payload.is_(None)))) == [1, 3]


def test_payloads_are_json_to_the_database(connection: Connection, dialect: Dialect) -> None:
    connection.execute(insert(payloads).values(id=1, payload={"kind": "render", "size": [1, 2]}))
    kind = payloads.c.payload["kind"].as_string()
    assert list(connection.scalars(select(payloads.c.id).where(kind == "render"))) == [1]
    assert list(connection.scalars(select(payloads.c.id).where(kind == "other"))) == []
    stored = "typeof(payload)" if dialect is Dialect.SQLITE else "pg_typeof(payload)::text"
    assert connection.exec_driver_sql(f"SELECT {stored} FROM payloads").scalar() == (
        "text" if dialect is Dialect.SQLITE else "jsonb"
    )


@pytest.mark.parametrize(
    "payload",
    [
        math.nan,
        [math.inf],
        {"x": -math.inf},
        "a\0b",
        {"\0": 1},
        ["\\\0"],
        "\ud800",
        {1, 2},
        object(),
        datetime.now(UTC),
    ],
    ids=[
        "nan",
        "inf",
        "-inf",
        "nul",
        "nul in a key",
        "nul after a backslash",
        "surrogate",
        "set",
        "object",
        "datetime",
    ],
)
def test_a_payload_that_one_database_would_not_keep_is_refused_by_both(connection: Connection, payload: object) -> None:
    with pytest.raises(PayloadError):
        connection.execute(insert(payloads).values(id=1, payload=payload))
    connection.rollback()
    assert connection.execute(select(payloads)).all() == []


def test_a_payload_without_end_is_refused() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(PayloadError):
        payload_text(endless)


@given(TEXTS)
def test_only_a_real_nul_counts_as_one(text: str) -> None:
    assert "\0" not in text
    payload_text(text + "\\u0000")
    with pytest.raises(PayloadError):
        payload_text(text + "\\\0")
