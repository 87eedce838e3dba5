"""The statements of the runtime, built once per table and profile out of predicates and effects.

There are four kinds.

* A **look** reads one job under its row lock, with the moment, and with the case that the predicates choose for it.
* A **write** is one transition of one job: an UPDATE whose WHERE is the transition's whole predicate, judged by the
  rows that it returns. It is given the moment of the look before it, in the same transaction.
* A **strike** is a write without a look, for operations with a single case. If it hits, the operation is done in one
  statement; if it does not, a look finds out why.
* **Searches** find rows for claims and recovery; those that lock rows are in `fencepost.jobs.claims`.

The moment
----------
An operation has one moment (D-14), read when nothing can change its rows any more. On a store with one writer that is
so once the transaction is open, and the clock is read in Python. Elsewhere a statement may wait for a row lock, and a
moment from before the wait would take a lease for alive that ran out meanwhile. There the statement locks the row
first and reads the clock above that, once, in the same round trip.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from sqlalchemy import (
    BindParameter,
    ClauseElement,
    ColumnElement,
    Connection,
    Executable,
    Float,
    Insert,
    Integer,
    Row,
    Select,
    String,
    Update,
    bindparam,
    case,
    insert,
    literal,
    null,
    select,
    update,
)
from sqlalchemy.types import TypeEngine

from fencepost.clock import StoreClock
from fencepost.db.dialects import Capabilities
from fencepost.db.types import UtcDateTime
from fencepost.jobs import predicates
from fencepost.jobs.effects import EFFECTS, created
from fencepost.jobs.predicates import PREDICATES, PREFIX, Given, parameter
from fencepost.jobs.profile import Profile
from fencepost.jobs.schema import JobColumns, JobTable
from fencepost_model.job_contract import JOB_CONTRACT

Parameters = Mapping[str, Any]

JITTER: Final = parameter("jitter", Float())
QUEUE: Final = parameter("queue", String())
LIMIT: Final = parameter("limit", Integer())


class Statement:
    """A statement and the parameters that it takes, out of those that the caller has."""

    def __init__(self, executable: ClauseElement) -> None:
        """Wrap a statement; it is compiled when it is first executed."""
        self.executable = executable
        self._names: tuple[tuple[str, str], ...] | None = None

    def rows(self, connection: Connection, given: Parameters) -> Sequence[Row[Any]]:
        """Execute and fetch all rows; `given` may hold parameters of other statements too."""
        if self._names is None:
            names = self.executable.compile(dialect=connection.dialect).params or {}
            self._names = tuple((name, name.removeprefix(PREFIX)) for name in names if name.startswith(PREFIX))
        chosen = {name: given[short] for name, short in self._names}
        return connection.execute(cast(Executable, self.executable), chosen).all()


class Statements:
    """All statements for one table, profile, clock and kind of store; each is built when it is first asked for."""

    def __init__(self, job: JobTable, profile: Profile, clock: StoreClock, store: Capabilities) -> None:
        self.job = job
        self.profile = profile
        self.clock = clock
        self.store = store
        self.key = parameter("job_id", job.columns.id.type)
        self.keys: BindParameter[Any] = bindparam(f"{PREFIX}job_ids", type_=job.columns.id.type, expanding=True)
        self._built: dict[tuple[str, ...], Statement] = {}

    def given(self, now: ColumnElement[Any] | None = None) -> Given:
        """What predicates and effects compare with; `now` is a parameter unless an expression is passed."""

        def delay(columns: JobColumns) -> ColumnElement[float]:
            return self.profile.backoff.expression(columns.attempt_count, JITTER)

        if now is None:
            return Given(self.profile, delay)
        return Given(self.profile, delay, now)

    def once(self, name: tuple[str, ...], build: Callable[[], ClauseElement]) -> Statement:
        """The statement of that name, built by `build` the first time."""
        statement = self._built.get(name)
        if statement is None:
            statement = self._built[name] = Statement(build())
        return statement

    # -- one job -------------------------------------------------------------------------------------------------------

    def look(self, operation: str) -> Statement:
        """Read one job under its lock: the snapshot's columns, then the moment, then the case (null: none)."""
        return self.once(("look", operation), lambda: self._look(operation))

    def _look(self, operation: str) -> Select[Any]:
        table = self.job.table
        locked = select(table).where(predicates.identified(self.job.columns, self.key)).with_for_update()
        if self.store.single_writer:
            given, columns = self.given(), self.job.columns
            moment = parameter("now", UtcDateTime())
            return locked.with_only_columns(
                *self.job.selected(columns), moment.label("moment"), self.case_of(operation, columns, given)
            )
        found = locked.subquery("found")
        # The clock stands above the lock: this level is projected only after the row below has been locked.
        dated = select(found, self.clock.expression().label("moment")).subquery("dated")
        columns, given = self.job.columns_of(dated), self.given(dated.c.moment)
        return select(*self.job.selected(columns), dated.c.moment, self.case_of(operation, columns, given))

    def case_of(self, operation: str, columns: JobColumns, given: Given) -> ColumnElement[Any]:
        """The name of the case whose whole predicate holds, null if none does."""
        whens = [
            (PREDICATES[operation, entry.name](columns, given), literal(entry.name, String()))
            for entry in JOB_CONTRACT.operation(operation).cases
        ]
        return case(*whens, else_=null()).label("taken")

    def write(self, operation: str, case_name: str) -> Statement:
        """One transition of one job, judged by the row that it returns: the snapshot's columns, then the moment."""
        return self.once(("write", operation, case_name), lambda: self._write(operation, case_name))

    def _write(self, operation: str, case_name: str) -> Update:
        given = self.given()
        return self._transition(
            operation, case_name, given, predicates.identified(self.job.columns, self.key)
        ).returning(*self.job.selected(self.job.columns), given.now.label("moment"))

    def strike(self, operation: str) -> Statement:
        """The only transition of an operation, without a look before it; returns what `write` returns."""
        (only,) = JOB_CONTRACT.operation(operation).cases
        if self.store.single_writer:
            return self.write(operation, only.name)
        return self.once(("strike", operation), lambda: self._strike(operation, only.name))

    def _strike(self, operation: str, case_name: str) -> Update:
        columns = self.job.columns
        found = select(columns.id.label("id")).where(predicates.identified(columns, self.key)).with_for_update()
        locked = found.cte("found")
        dated = select(locked.c.id, self.clock.expression().label("moment")).cte("dated")
        given = self.given(dated.c.moment)
        return self._transition(operation, case_name, given, predicates.identified(columns, dated.c.id)).returning(
            *self.job.selected(columns), dated.c.moment
        )

    def _transition(self, operation: str, case_name: str, given: Given, which: ColumnElement[bool]) -> Update:
        columns = self.job.columns
        return (
            update(self.job.table)
            .where(which, PREDICATES[operation, case_name](columns, given))
            .values(self.job.values(EFFECTS[operation, case_name](columns, given)))
        )

    # -- new and foreign rows ------------------------------------------------------------------------------------------

    def create(self, own: Sequence[str]) -> Statement:
        """Insert one job if it may be enqueued; returns what `write` returns. `own`: columns that the caller fills."""
        return self.once(("create", *own), lambda: self._create(own))

    def _create(self, own: Sequence[str]) -> Insert:
        given = self.given(self.single_moment())
        fields: dict[str, ColumnElement[Any]] = {
            **created(given),
            "queue": QUEUE,
            "priority": parameter("priority", Integer()),
            "enqueued_at": given.now,
            "payload": parameter("payload", self.payload_type),
        }
        values = self.job.values(fields)
        table = self.job.table
        values.update({table.c[name]: parameter(f"own_{name}", table.c[name].type) for name in own})
        source = select(*values.values()).where(PREDICATES["enqueue", "created"](self.job.columns, given))
        return (
            insert(table)
            .from_select(list(values), source)
            .returning(*self.job.selected(self.job.columns), given.now.label("moment"))
        )

    def single_moment(self) -> ColumnElement[Any]:
        """The moment of a statement that waits for no row lock: a parameter, or read once in the statement."""
        if self.store.single_writer:
            return parameter("now", UtcDateTime())
        dated = select(self.clock.expression().label("moment")).cte("dated")
        return select(dated.c.moment).scalar_subquery()

    @property
    def payload_type(self) -> TypeEngine[Any]:
        """The type of the payload, as the table declares it."""
        column = self.job.column_for("payload")
        return String() if column is None else column.type

    def insertion(self, fields: Mapping[str, Any]) -> Insert:
        """Insert a row as it is; returns its key."""
        return insert(self.job.table).values(self.job.values(fields)).returning(self.job.columns.id)

    # -- reading -------------------------------------------------------------------------------------------------------

    def read(self, *, payload: bool = False) -> Statement:
        """One job: the snapshot's columns, then the payload if it is wanted."""

        def build() -> Select[Any]:
            columns = self.with_payload() if payload else self.job.selected(self.job.columns)
            return select(*columns).where(predicates.identified(self.job.columns, self.key))

        return self.once(("read", str(payload)), build)

    def with_payload(self) -> list[ColumnElement[Any]]:
        """What makes a snapshot, then the payload (null where there is none)."""
        payload = self.job.column_for("payload")
        return [*self.job.selected(self.job.columns), null().label("payload") if payload is None else payload]

    def in_queue(self, columns: JobColumns) -> list[ColumnElement[bool]]:
        """The condition that a job is in the runtime's queue, if the table has queues."""
        return [predicates.in_queue(columns, QUEUE)] if "queue" in self.job.present_roles else []

    def listing(self, statuses: bool, every_queue: bool) -> Statement:
        """The newest jobs first, of one queue or all, in given statuses or any: the snapshot's columns."""

        def build() -> Select[Any]:
            columns = self.job.columns
            found = select(*self.job.selected(columns)).order_by(columns.id.desc()).limit(LIMIT)
            if statuses:
                wanted: BindParameter[Any] = bindparam(f"{PREFIX}statuses", type_=String(), expanding=True)
                found = found.where(predicates.in_status(columns, wanted))
            return found if every_queue else found.where(*self.in_queue(columns))

        return self.once(("listing", str(statuses), str(every_queue)), build)
