"""A partial index has the same predicate on both databases: it is enforced for, and used for, the same rows."""

import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import pytest
from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Engine,
    Integer,
    MetaData,
    Select,
    String,
    Table,
    and_,
    event,
    insert,
    not_,
    or_,
    select,
    text,
)
from sqlalchemy.exc import IntegrityError

from fencepost.db.dialects import Dialect
from fencepost.db.indexes import inlined, partial_index
from fencepost.db.types import UtcDateTime
from fencepost.errors import ConfigurationError

T0 = datetime(2026, 1, 1, tzinfo=UTC)
TICK = timedelta(microseconds=1)


class Row(NamedTuple):
    status: str | None
    occupancy: int | None
    requested: bool | None
    due: datetime | None


DOMAIN = [
    Row(*fields)
    for fields in itertools.product(
        ["pending", "it's 100%", None], [0, 1, None], [True, False, None], [T0 - TICK, T0, T0 + TICK, None]
    )
]


def table(metadata: MetaData, name: str) -> Table:
    return Table(
        name,
        metadata,
        Column("id", Integer, primary_key=True),
        Column("place", Integer, nullable=False),
        Column("status", String(20)),
        Column("occupancy", Integer),
        Column("requested", Boolean),
        Column("due", UtcDateTime()),
    )


Predicate = Callable[[Table], ColumnElement[bool]]

# Each beside what it must mean in Python. A comparison with null selects nothing.
PREDICATES: dict[str, tuple[Predicate, Callable[[Row], bool]]] = {
    "equal": (lambda t: t.c.status == "pending", lambda r: r.status == "pending"),
    "quoted": (lambda t: t.c.status == "it's 100%", lambda r: r.status == "it's 100%"),
    "in a list": (lambda t: t.c.status.in_(["pending", "running"]), lambda r: r.status in ("pending", "running")),
    "unequal": (lambda t: t.c.status != "pending", lambda r: r.status not in ("pending", None)),
    "integer": (lambda t: t.c.occupancy == 1, lambda r: r.occupancy == 1),
    "true": (lambda t: t.c.requested.is_(True), lambda r: r.requested is True),
    "not true": (lambda t: t.c.requested.is_not(True), lambda r: r.requested is not True),
    "bare boolean": (lambda t: t.c.requested, lambda r: r.requested is True),
    "null": (lambda t: t.c.due.is_(None), lambda r: r.due is None),
    "moment": (lambda t: t.c.due <= T0, lambda r: r.due is not None and r.due <= T0),
    "both": (
        lambda t: and_(t.c.status == "pending", t.c.requested.is_(None), t.c.due.is_not(None)),
        lambda r: r.status == "pending" and r.requested is None and r.due is not None,
    ),
    "either": (
        lambda t: or_(t.c.status == "pending", t.c.occupancy == 1),
        lambda r: r.status == "pending" or r.occupancy == 1,
    ),
    "neither": (
        lambda t: not_(and_(t.c.status == "pending", t.c.occupancy == 1)),
        lambda r: r.status == "it's 100%" or r.occupancy == 0 or (r.status is None and r.occupancy == 0),
    ),
}


@pytest.mark.parametrize("name", PREDICATES)
def test_a_unique_partial_index_refuses_exactly_the_rows_of_its_predicate(engine: Engine, name: str) -> None:
    """Every row of the domain twice, with the same key: the second is refused iff the predicate selects it."""
    predicate, meaning = PREDICATES[name]
    metadata = MetaData()
    places = table(metadata, "places")
    partial_index("uq_places", places.c.place, where=predicate(places), unique=True)
    metadata.create_all(engine)
    expected = {number for number, row in enumerate(DOMAIN) if meaning(row)}
    assert 0 < len(expected) < len(DOMAIN), "a predicate that selects all or nothing shows nothing"
    with engine.begin() as connection:
        for number, row in enumerate(DOMAIN):
            connection.execute(insert(places).values(place=number, **row._asdict()))
        refused: set[int] = set()
        for number, row in enumerate(DOMAIN):
            try:
                with connection.begin_nested():
                    connection.execute(insert(places).values(place=number, **row._asdict()))
            except IntegrityError:
                refused.add(number)
        assert refused == expected
        for condition in (predicate(places), inlined(predicate(places))):
            assert set(connection.scalars(select(places.c.place).where(condition))) == expected


def plan(engine: Engine, connection: Connection, statement: Select[Any], dialect: Dialect) -> str:
    """How the database would run the very text that SQLAlchemy sends, for any values of its parameters."""
    sent: list[tuple[str, Any]] = []

    def capture(_c: object, _cursor: object, sql: str, parameters: Any, _x: object, _many: bool) -> None:
        sent.append((sql, parameters))

    event.listen(engine, "before_cursor_execute", capture)
    try:
        connection.execute(statement).all()
    finally:
        event.remove(engine, "before_cursor_execute", capture)
    ((sql, parameters),) = sent
    if dialect is Dialect.SQLITE:
        return "\n".join(str(row[-1]) for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", parameters))
    connection.exec_driver_sql("SET LOCAL plan_cache_mode = force_generic_plan")
    connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
    names = list(parameters)
    positional = sql % {name: f"${number}" for number, name in enumerate(names, 1)}
    connection.exec_driver_sql(f"PREPARE probe AS {positional}")
    arguments = f"({', '.join(repr(parameters[name]) for name in names)})" if names else ""
    explained = connection.exec_driver_sql(f"EXPLAIN EXECUTE probe{arguments}").scalars().all()
    connection.exec_driver_sql("DEALLOCATE probe")
    return "\n".join(map(str, explained))


def test_an_index_is_used_where_the_predicates_constants_can_be_seen(engine: Engine, dialect: Dialect) -> None:
    metadata = MetaData()
    queue = table(metadata, "queue")
    pending = queue.c.status == "pending"
    partial_index("ix_queue_due", queue.c.due, queue.c.id, where=pending)
    metadata.create_all(engine)
    ordered = select(queue.c.id).order_by(queue.c.due, queue.c.id)
    with engine.begin() as connection:
        assert "ix_queue_due" in plan(engine, connection, ordered.where(inlined(pending)), dialect)
        # The control, and why `inlined` exists: the plan for a parameter of any value. SQLite has none such.
        if dialect is Dialect.POSTGRESQL:
            assert "ix_queue_due" not in plan(engine, connection, ordered.where(pending), dialect)


def test_at_most_one_row_of_a_group_is_in_the_place(engine: Engine) -> None:
    """INV-2: per run at most one batch is resuming."""
    metadata = MetaData()
    batches = Table(
        "batches",
        metadata,
        Column("id", Integer, primary_key=True),
        Column("run", Integer, nullable=False),
        Column("status", String(20), nullable=False),
    )
    partial_index("uq_batches_resuming", batches.c.run, where=batches.c.status == "resuming", unique=True)
    metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(
            insert(batches),
            [
                {"id": 1, "run": 1, "status": "resuming"},
                {"id": 2, "run": 1, "status": "ready"},
                {"id": 3, "run": 1, "status": "ready"},
                {"id": 4, "run": 2, "status": "resuming"},
            ],
        )
        with pytest.raises(IntegrityError), connection.begin_nested():
            connection.execute(batches.update().where(batches.c.id == 2).values(status="resuming"))
        connection.execute(batches.update().where(batches.c.id == 1).values(status="completed"))
        connection.execute(batches.update().where(batches.c.id == 2).values(status="resuming"))


def test_an_index_may_stand_in_its_tables_definition(engine: Engine) -> None:
    metadata = MetaData()
    status = Column("status", String(20))
    Table("inline", metadata, Column("id", Integer), status, partial_index("ix", "id", where=status == "pending"))
    metadata.create_all(engine)
    definition = (
        "SELECT sql FROM sqlite_master WHERE name = 'ix'"
        if engine.dialect.name == "sqlite"
        else "SELECT indexdef FROM pg_indexes WHERE indexname = 'ix'"
    )
    with engine.connect() as connection:
        assert "WHERE" in str(connection.scalar(text(definition)))


@pytest.mark.parametrize("where", ["status = 'pending'", text("status = 'pending'"), True, None])
def test_a_predicate_that_is_no_expression_is_refused(where: Any) -> None:
    with pytest.raises(ConfigurationError, match="not a column expression"):
        partial_index("ix", "id", where=where)


def test_an_index_needs_columns() -> None:
    with pytest.raises(ConfigurationError, match="no columns"):
        partial_index("ix", where=Column("status", String(20)) == "pending")
