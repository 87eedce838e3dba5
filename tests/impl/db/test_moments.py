"""The store's clock moves, tells microseconds, and is one value in a statement; arithmetic agrees with Python."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Float,
    Integer,
    MetaData,
    Table,
    delete,
    func,
    insert,
    literal,
    null,
    select,
    text,
    update,
)

from fencepost.clock import Clock, DatabaseClock, InjectedClock, ManualClock, StoreClock, SystemClock
from fencepost.db.dialects import Dialect
from fencepost.db.moments import earliest, latest, plus_seconds, read_now, store_now
from fencepost.db.tx import write_transaction
from fencepost.db.types import UtcDateTime
from fencepost.errors import ConfigurationError, DatetimeError, NaiveDatetime

metadata = MetaData()
leases = Table(
    "leases",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("expires", UtcDateTime()),
    Column("deadline", UtcDateTime()),
)

START = datetime(2026, 1, 1, tzinfo=UTC)
MOMENTS = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


@pytest.fixture
def connection(engine: Engine) -> Iterator[Connection]:
    metadata.create_all(engine)
    with engine.connect() as connection:
        yield connection


def test_the_stores_time_is_aware_and_agrees_with_this_machine(connection: Connection) -> None:
    """Both databases of the tests run on this machine, so on its clock."""
    before = datetime.now(UTC)
    read = read_now(connection)
    computed = connection.scalars(select(store_now())).one()
    after = datetime.now(UTC)
    assert read.tzinfo is UTC
    assert computed.tzinfo is UTC
    assert before <= read <= computed <= after


def test_the_stores_time_moves_inside_a_transaction(connection: Connection, dialect: Dialect) -> None:
    with write_transaction(connection):
        readings = [read_now(connection) for _ in range(200)]
        computed = [connection.scalars(select(store_now())).one() for _ in range(200)]
        assert readings == sorted(readings)
        assert computed == sorted(computed)
        assert readings[0] < readings[-1] <= computed[0] < computed[-1]
        if dialect is Dialect.POSTGRESQL:
            assert connection.scalars(select(func.now())).one() < readings[0]


def test_the_stores_time_shows_microseconds(connection: Connection) -> None:
    """SQLite's own strftime stops at milliseconds."""
    for readings in (
        [connection.scalars(select(store_now())).one() for _ in range(20)],
        [read_now(connection) for _ in range(20)],
    ):
        assert any(reading.microsecond % 1000 for reading in readings)


def test_the_stores_time_is_one_for_all_rows_of_a_statement(connection: Connection) -> None:
    with write_transaction(connection):
        connection.execute(insert(leases), [{"id": number} for number in range(500)])
        connection.execute(update(leases).values(expires=store_now()))
        assert connection.scalar(select(func.count(leases.c.expires.distinct()))) == 1
        assert connection.scalar(select(func.count()).where(leases.c.expires <= store_now())) == 500


@pytest.mark.parametrize("microseconds", [-1, 0, 1])
def test_boundaries_are_exact_to_the_microsecond(connection: Connection, microseconds: int) -> None:
    """§7: `<= now` is over, `> now` is alive."""
    clock = InjectedClock(ManualClock(START))
    connection.execute(insert(leases).values(id=1, expires=START + timedelta(microseconds=microseconds)))
    over = connection.scalars(select(leases.c.id).where(leases.c.expires <= clock.expression())).all()
    alive = connection.scalars(select(leases.c.id).where(leases.c.expires > clock.expression())).all()
    assert bool(over) is (microseconds <= 0)
    assert bool(alive) is (microseconds > 0)


def test_seconds_are_added_as_in_python(connection: Connection) -> None:
    @given(MOMENTS, st.integers(-(10**14), 10**14).map(lambda microseconds: microseconds / 10**6))
    @example(START, 0.000001)
    @example(START, -0.000001)
    @example(START, 30)
    def property_holds(moment: datetime, seconds: float) -> None:
        moved = moment + timedelta(seconds=seconds)
        with connection.begin():
            connection.execute(delete(leases))
            connection.execute(insert(leases).values(id=1, expires=moment))
            assert connection.scalars(select(plus_seconds(leases.c.expires, seconds))).one() == moved
            column = literal(seconds, Float())
            assert connection.scalars(select(plus_seconds(leases.c.expires, column))).one() == moved
            found = select(leases.c.id).where(plus_seconds(leases.c.expires, seconds) == moved)
            assert connection.scalars(found).all() == [1]

    property_holds()


def test_seconds_added_to_nothing_are_nothing(connection: Connection) -> None:
    connection.execute(insert(leases).values(id=1, expires=None))
    nothing = null().cast(Float())
    for sum_of in (plus_seconds(leases.c.expires, 5), plus_seconds(store_now(), nothing)):
        assert connection.scalars(select(leases.c.id).where(sum_of.is_(None))).all() == [1]
        assert connection.scalar(select(sum_of)) is None


def test_the_earliest_and_latest_ignore_nulls(connection: Connection) -> None:
    """SQLite's own min() does not."""

    @given(st.none() | MOMENTS, st.none() | MOMENTS, MOMENTS)
    def property_holds(expires: datetime | None, deadline: datetime | None, fixed: datetime) -> None:
        with connection.begin():
            connection.execute(delete(leases))
            connection.execute(insert(leases).values(id=1, expires=expires, deadline=deadline))
            columns = (leases.c.expires, leases.c.deadline)
            present = [moment for moment in (expires, deadline) if moment is not None]
            row = connection.execute(
                select(earliest(*columns), latest(*columns), earliest(*columns, fixed), latest(fixed, *columns))
            ).one()
            assert row == (
                min(present, default=None),
                max(present, default=None),
                min([*present, fixed]),
                max([*present, fixed]),
            )

    property_holds()


def test_a_lease_is_the_earlier_of_its_seconds_and_the_deadline(connection: Connection) -> None:
    """§2 claim, as one statement: lease = min(now + lease_seconds, deadline)."""
    manual = ManualClock(START)
    now = InjectedClock(manual).expression()
    deadlines = [None, START + timedelta(seconds=5), START + timedelta(seconds=60)]
    connection.execute(insert(leases), [{"id": n, "deadline": deadline} for n, deadline in enumerate(deadlines)])
    connection.execute(update(leases).values(expires=earliest(plus_seconds(now, 30), leases.c.deadline)))
    ends = connection.scalars(select(leases.c.expires).order_by(leases.c.id)).all()
    assert ends == [START + timedelta(seconds=seconds) for seconds in (30, 5, 30)]


@pytest.mark.parametrize("function", [earliest, latest])
def test_one_time_alone_is_not_compared(function: Callable[[object], object]) -> None:
    with pytest.raises(ConfigurationError, match="at least two"):
        function(leases.c.expires)


def test_a_naive_time_is_refused_in_expressions_too(connection: Connection) -> None:
    with pytest.raises(NaiveDatetime):
        connection.execute(select(earliest(leases.c.expires, datetime(2026, 1, 1))))  # noqa: DTZ001


def test_a_timedelta_is_refused_where_plus_seconds_is_meant(connection: Connection) -> None:
    """SQLite would add the two texts as numbers, and compare the sum with a time, without a word."""
    with pytest.raises(DatetimeError, match="plus_seconds"):
        connection.execute(select(leases.c.id).where(leases.c.expires + timedelta(seconds=1) <= START))


# --- clocks ----------------------------------------------------------------------------------------------------------


def test_a_manual_clock_moves_only_when_told() -> None:
    clock = ManualClock(START.astimezone())
    assert clock.now() == clock.now() == START
    assert clock.now().tzinfo is UTC
    assert clock.advance(0.25) == clock.now() == START + timedelta(seconds=0.25)
    clock.jump_to(START - timedelta(days=1))
    assert clock.now() == START - timedelta(days=1)


@pytest.mark.parametrize("seconds", [-0.001, float("nan")])
def test_a_manual_clock_does_not_advance_backwards(seconds: float) -> None:
    clock = ManualClock(START)
    with pytest.raises(ConfigurationError, match="jump_to"):
        clock.advance(seconds)
    assert clock.now() == START


def test_a_manual_clock_has_a_time_zone() -> None:
    with pytest.raises(NaiveDatetime):
        ManualClock(datetime(2026, 1, 1))  # noqa: DTZ001
    clock = ManualClock(START)
    with pytest.raises(NaiveDatetime):
        clock.jump_to(datetime(2026, 1, 1))  # noqa: DTZ001
    assert clock.now() == START


def test_the_system_clock_is_aware() -> None:
    before = datetime.now(UTC)
    assert before <= SystemClock().now() <= datetime.now(UTC)
    assert SystemClock().now().tzinfo is UTC


def test_the_databases_clock_reads_the_store(connection: Connection) -> None:
    clock: StoreClock = DatabaseClock()
    before = datetime.now(UTC)
    read = clock.read(connection)
    assert before <= read <= connection.scalars(select(clock.expression())).one() <= datetime.now(UTC)


def test_an_injected_clock_is_read_anew_at_each_execution(connection: Connection) -> None:
    manual = ManualClock(START)
    process: Clock = manual
    clock: StoreClock = InjectedClock(process)
    statement = select(clock.expression().cast(UtcDateTime()))
    assert connection.scalars(statement).one() == clock.read(connection) == START
    manual.advance(7)
    assert connection.scalars(statement).one() == clock.read(connection) == START + timedelta(seconds=7)


def test_a_naive_injected_clock_is_refused(connection: Connection) -> None:
    class Naive:
        def now(self) -> datetime:
            return datetime(2026, 1, 1)  # noqa: DTZ001

    clock = InjectedClock(Naive())
    with pytest.raises(NaiveDatetime):
        clock.read(connection)
    with pytest.raises(NaiveDatetime):
        connection.execute(select(leases).where(leases.c.expires <= clock.expression()))


def test_the_time_zone_of_the_session_plays_no_part(postgresql_engine: Engine) -> None:
    with postgresql_engine.connect() as connection:
        connection.execute(text("SET LOCAL TimeZone = 'Asia/Kathmandu'"))
        assert read_now(connection).tzinfo is UTC
        assert connection.scalars(select(literal(START, UtcDateTime()))).one() == START
