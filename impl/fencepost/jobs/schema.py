"""The table of jobs: ours, made from the model, or an application's own, checked against it.

`job_table` makes a table: one column for each field of the model that is not a ghost, CHECK constraints derived from
the model's invariants (`fencepost.jobs.checks`), and the partial indexes that keep each search free of the backlog.
`JobTable` says which column carries which standard field, through a `ColumnVocabulary`, and refuses a table with which
the runtime could not keep the contract.

Beside the vocabulary a job table has columns of its own role (`ROLES`): the key, the queue, the priority, the payload,
and when the job came in. Only the key is indispensable.

**Order of claims**: priority (the lower number sooner), due time, key. A job is due when its back-off is over; one that
is not backing off has been due since it was enqueued. (Were it due "since ever", fresh jobs would starve retries.)
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from sqlalchemy import (
    CheckConstraint,
    Column,
    ColumnElement,
    FromClause,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    and_,
    cast,
    func,
    literal_column,
    null,
    or_,
)
from sqlalchemy.types import TypeEngine

from fencepost.db.indexes import partial_index, schema_name
from fencepost.db.types import NEVER_REUSED, JsonPayload, UtcDateTime, automatic_key
from fencepost.errors import ConfigurationError
from fencepost.jobs.checks import row_condition, row_invariants
from fencepost_model.machines.job import FIELDS, JOB_MACHINE, PENDING, RUNNING, WAITING
from fencepost_model.shapes import Sort
from fencepost_model.vocabulary import STANDARD, ColumnVocabulary

STORED: Final[Mapping[str, Sort]] = {entry.name: entry.sort for entry in FIELDS if not entry.ghost}
"""The fields that a table stores, in the model's order."""

DISPENSABLE: Final = frozenset({"error_message", "started_at", "next_poll_at", "provider_ref", "poll_count"})
"""Standard fields that a table may lack; the last three only if its queue registers no parking."""

PARKING: Final = frozenset({"next_poll_at", "provider_ref", "poll_count"})

ROLES: Final = ("id", "queue", "priority", "payload", "enqueued_at")
"""What else a job table may hold; a table may lack all but the first."""

_TYPES: Final[Mapping[Sort, tuple[type[TypeEngine[Any]], str]]] = {
    Sort.WORD: (String, "text"),
    Sort.IDENTITY: (String, "text"),
    Sort.TEXT: (String, "text"),
    Sort.COUNT: (Integer, "a whole number"),
}


def word(text: str) -> ColumnElement[str]:
    """A word of the model (a status, an error code) as a constant in the statement's text.

    A planner sees there that a partial index applies, and a statement has fewer parameters to bind.
    """
    assert text.replace("_", "").isalnum(), f"{text!r} is no word of the model"
    return literal_column(f"'{text}'", String())


@dataclass(frozen=True, slots=True)
class JobColumns:
    """The columns of a job under their standard names, in a table, an alias or a subquery.

    A standard field without a column of its own is the constant null, or 0 if it is a count.
    """

    id: ColumnElement[Any]
    queue: ColumnElement[str]
    priority: ColumnElement[int]
    enqueued_at: ColumnElement[Any]
    status: ColumnElement[str]
    worker_id: ColumnElement[str]
    lease_expires_at: ColumnElement[Any]
    lease_generation: ColumnElement[int]
    heartbeat_at: ColumnElement[Any]
    attempt_count: ColumnElement[int]
    max_attempts: ColumnElement[int]
    attempt_id: ColumnElement[str]
    cancel_requested_at: ColumnElement[Any]
    error_code: ColumnElement[str]
    error_message: ColumnElement[str]
    started_at: ColumnElement[Any]
    finished_at: ColumnElement[Any]
    next_attempt_at: ColumnElement[Any]
    deadline_at: ColumnElement[Any]
    next_poll_at: ColumnElement[Any]
    provider_ref: ColumnElement[str]
    poll_count: ColumnElement[int]


@dataclass(frozen=True)
class JobTable:
    """A table of jobs and the columns that carry the standard fields.

    `vocabulary` maps standard fields, `roles` maps the roles in `ROLES` onto columns of other names. Raises
    `ConfigurationError` when a column is missing, when a column's type cannot carry its field, or when the key is not
    one column.
    """

    table: Table
    vocabulary: ColumnVocabulary = STANDARD
    roles: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        for complaint in self._complaints():
            raise ConfigurationError(complaint)

    def _complaints(self) -> Iterator[str]:
        name = self.table.name
        for role in self.roles:
            if role not in ROLES:
                yield f"{role!r} is no role of a column of table {name!r}: use one of {', '.join(ROLES)}."
        missing = [
            f"{standard} (column {self.vocabulary.column(standard)!r})"
            for standard in STORED
            if standard not in DISPENSABLE and self.vocabulary.column(standard) not in self.table.c
        ]
        if missing:
            yield (
                f"Table {name!r} lacks columns that the contract needs: {', '.join(missing)}; add them, or name the "
                "columns that carry these fields in the vocabulary."
            )
        absent = [f"{role} (column {column!r})" for role, column in self.roles.items() if column not in self.table.c]
        if absent:
            yield f"Table {name!r} lacks columns named in roles: {', '.join(absent)}; add them or correct the names."
        key = self.roles.get("id", "id")
        if [column.name for column in self.table.primary_key] != [key]:
            yield f"The primary key of table {name!r} is not the one column {key!r}: name the key in roles, as 'id'."
        for standard in self.stored:
            yield from self._type_complaint(standard, self.table.c[self.vocabulary.column(standard)])
        if "enqueued_at" in self.present_roles and not isinstance(self.role("enqueued_at").type, UtcDateTime):
            own = self.role("enqueued_at").name
            yield f"Column {own!r} of table {name!r} holds times: declare it as UtcDateTime()."

    def _type_complaint(self, standard: str, column: Column[Any]) -> Iterator[str]:
        where = f"Column {column.name!r} of table {self.table.name!r}, which carries {standard},"
        sort = STORED[standard]
        if sort is Sort.INSTANT:
            if not isinstance(column.type, UtcDateTime):
                yield (
                    f"{where} is declared as {column.type!r}: declare it as UtcDateTime(), which keeps times in UTC "
                    "and refuses naive ones."
                )
            return
        kind, described = _TYPES[sort]
        if not isinstance(column.type, kind):
            yield f"{where} is declared as {column.type!r}: declare it as {described}, which is what the field holds."

    @cached_property
    def stored(self) -> frozenset[str]:
        """The standard fields that the table has a column for."""
        return frozenset(name for name in STORED if self.vocabulary.column(name) in self.table.c)

    @cached_property
    def present_roles(self) -> frozenset[str]:
        """The roles that the table has a column for."""
        return frozenset(role for role in ROLES if self.roles.get(role, role) in self.table.c)

    @property
    def may_park(self) -> bool:
        """Whether the table can hold a job that waits for a provider."""
        return self.stored >= PARKING

    def role(self, role: str) -> Column[Any]:
        """The column of that role; `KeyError` when there is none."""
        return self.table.c[self.roles.get(role, role)]

    def column_for(self, name: str) -> Column[Any] | None:
        """The table's column that carries a standard field or role; None when there is none."""
        own = self.vocabulary.column(name) if name in STORED else self.roles.get(name, name)
        return self.table.c.get(own)

    @cached_property
    def columns(self) -> JobColumns:
        """The table's own columns."""
        return self.columns_of(self.table)

    def columns_of(self, source: FromClause) -> JobColumns:
        """The same columns as they come out of an alias or a subquery of the table."""

        def column(name: str) -> ColumnElement[Any]:
            own = self.column_for(name)
            return _absent(name) if own is None else source.c[own.key]

        return JobColumns(**{name: column(name) for name in JobColumns.__slots__})

    def selected(self, columns: JobColumns) -> list[ColumnElement[Any]]:
        """What a statement selects or returns to make a `JobSnapshot`, in the snapshot's order."""
        return [getattr(columns, name).label(name) for name in JobColumns.__slots__]

    def values(self, fields: Mapping[str, Any]) -> dict[Column[Any], Any]:
        """Values by standard field or role as values by column; fields that the table lacks are dropped."""
        return {column: value for name, value in fields.items() if (column := self.column_for(name)) is not None}

    def due_at(self, columns: JobColumns) -> ColumnElement[Any]:
        """When a job is due: the end of its back-off, else when it came in (else the beginning of time)."""
        since = columns.enqueued_at if "enqueued_at" in self.present_roles else _EVER
        return func.coalesce(columns.next_attempt_at, since, type_=UtcDateTime())


_EVER: Final = literal_column("'0001-01-01 00:00:00.000000+00:00'", UtcDateTime())


def _absent(name: str) -> ColumnElement[Any]:
    sort = STORED.get(name)
    if sort is Sort.COUNT:
        return literal_column("0", Integer())
    if name == "priority":
        return cast(null(), Integer())
    if sort is Sort.INSTANT or name == "enqueued_at":
        return cast(null(), UtcDateTime())
    return cast(null(), String())


# --- our own table ----------------------------------------------------------------------------------------------------


def job_table(
    metadata: MetaData,
    name: str = "fencepost_jobs",
    vocabulary: ColumnVocabulary = STANDARD,
    *extra: Column[Any],
) -> Table:
    """A new table of jobs in `metadata`, with constraints and indexes; `extra` columns are the application's own.

    Standard fields go under the names that `vocabulary` gives them. Make it with `metadata.create_all(engine)` or a
    migration, and hand `JobTable(table, vocabulary)` to the runtime. Contract §1, §8.
    """
    columns: dict[str, Column[Any]] = {}
    for entry in FIELDS:
        own = vocabulary.column(entry.name)
        if not entry.ghost and own not in columns:
            columns[own] = Column(own, _column_type(entry.sort), nullable=entry.nullable)
    table = Table(
        name,
        metadata,
        Column("id", automatic_key(), primary_key=True),
        Column("queue", String(100), nullable=False),
        Column("priority", Integer(), nullable=False),
        Column("enqueued_at", UtcDateTime(), nullable=False),
        *columns.values(),
        Column("payload", JsonPayload()),
        *extra,
        # A key is never given out twice: a token must not fit a later job that got the key of a deleted one.
        **NEVER_REUSED,
    )
    job = JobTable(table, vocabulary)
    add_constraints(job)
    add_indexes(job)
    return table


def _column_type(sort: Sort) -> TypeEngine[Any]:
    match sort:
        case Sort.WORD:
            return String(32)
        case Sort.COUNT:
            return Integer()
        case Sort.INSTANT:
            return UtcDateTime()
        case Sort.IDENTITY | Sort.TEXT:
            return Text()
        case Sort.DURATION | Sort.FLAG:
            raise ConfigurationError(f"No field of a job is a {sort.value}: give the field another sort in the model.")


def add_constraints(job: JobTable) -> None:
    """Declare the CHECK constraints on the table: the words of the status, and every invariant about one row.

    Rows of older programs keep them: a running row without lease or owner, a pending one with spent attempts or a
    cancel request (contract §2). Words that the table's own program uses beside ours need a table without them.
    """
    columns = job.columns

    def column(name: str) -> ColumnElement[Any]:
        found: ColumnElement[Any] = getattr(columns, name)
        return found

    statuses = [status.name for status in JOB_MACHINE.statuses]
    conditions: dict[str, ColumnElement[bool]] = {"status_known": columns.status.in_(statuses)}
    conditions |= {entry.name: row_condition(entry.statement, column) for entry in row_invariants(job.stored)}
    for label, condition in conditions.items():
        job.table.append_constraint(CheckConstraint(condition, name=schema_name("ck", job.table.name, label)))


def add_indexes(job: JobTable) -> None:
    """Declare the partial indexes on the table: for claims, polls, expired leases and jobs that nobody can take."""
    columns = job.columns
    waits = or_(columns.status == word(PENDING), columns.status == word(WAITING))
    queue: list[ColumnElement[Any]] = [columns.queue] if "queue" in job.present_roles else []
    priority: list[ColumnElement[Any]] = [columns.priority] if "priority" in job.present_roles else []

    def name(label: str) -> str:
        return schema_name("ix", job.table.name, label)

    partial_index(
        name("claim"),
        *queue,
        *priority,
        job.due_at(columns),
        columns.id,
        where=columns.status == word(PENDING),
    )
    partial_index(name("lease"), *queue, columns.lease_expires_at, where=columns.status == word(RUNNING))
    partial_index(name("deadline"), *queue, columns.deadline_at, where=waits)
    partial_index(
        name("stuck"),
        *queue,
        columns.id,
        where=and_(
            columns.status == word(PENDING),
            or_(columns.cancel_requested_at.is_not(None), columns.max_attempts <= columns.attempt_count),
        ),
    )
    if job.may_park:
        partial_index(
            name("poll"),
            *queue,
            columns.next_poll_at,
            columns.id,
            where=columns.status == word(WAITING),
        )
