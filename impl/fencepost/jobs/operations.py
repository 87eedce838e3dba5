"""The operations that name a job, as functions over a connection inside the caller's transaction (`commit=False`).

Each takes the `JobContext`, a connection with an open write transaction (`fencepost.db.tx.write_transaction`), and the
operation's arguments, and returns `Accepted` or `Refused`. Nothing here commits: domain writes on the same connection
stand or fall with the job (contract §2, composition). `DurableJobRuntime` and its asynchronous face open transactions
around these very functions.

How a named operation runs: look (the row, under its lock; the moment; the case that SQL chose), then the one UPDATE of
that case, which carries the case's whole guard and is judged by the row it returns. An UPDATE that hits nothing is
followed by another look. Under a row lock that cannot happen, and it is repeated all the same rather than trusted.
"""

import random
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any, Final

from sqlalchemy import Connection, Row

from fencepost.clock import DatabaseClock, StoreClock
from fencepost.db.dialects import capabilities
from fencepost.db.types import require_utc
from fencepost.errors import ConfigurationError, WriteConflict
from fencepost.jobs.outcomes import SNAPSHOT_NAMES, Accepted, JobId, JobSnapshot, Outcome, Refused, Token
from fencepost.jobs.profile import Draw, Profile
from fencepost.jobs.refusals import false_guards
from fencepost.jobs.schema import DISPENSABLE, ROLES, STORED, JobTable
from fencepost.jobs.statements import Statements
from fencepost_model.error_codes import Family, classify, is_retryable
from fencepost_model.job_contract import JOB_CONTRACT

_WIDTH: Final = len(SNAPSHOT_NAMES)
_PATIENCE: Final = 100
_LEAST_COUNTS: Final = {"lease_generation": 0, "attempt_count": 0, "poll_count": 0}


@dataclass(frozen=True)
class JobContext:
    """What the operations of one queue need to know: its table, its name, its profile, the store's clock.

    `draw` yields the random numbers of the back-off's jitter.
    """

    job: JobTable
    profile: Profile
    queue: str = "default"
    clock: StoreClock = field(default_factory=DatabaseClock)
    draw: Draw = random.random
    _statements: dict[bool, Statements] = field(default_factory=dict[bool, Statements], repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.profile.registers_park and not self.job.may_park:
            raise ConfigurationError(
                f"The profile registers parking, but table {self.job.table.name!r} lacks next_poll_at, provider_ref or "
                "poll_count: add these columns, or set registers_park to False."
            )

    def statements(self, connection: Connection) -> Statements:
        """The statements for the kind of store behind the connection."""
        store = capabilities(connection)
        found = self._statements.get(store.single_writer)
        if found is None:
            found = Statements(self.job, self.profile, self.clock, store)
            self._statements[store.single_writer] = found
        return found

    def moment(self, connection: Connection) -> datetime | None:
        """The moment of an operation whose statements take it as a parameter; None where they read it themselves."""
        return self.clock.read(connection) if self.statements(connection).store.single_writer else None

    def jitter(self) -> float:
        """The share that this back-off takes of its ceiling."""
        return self.profile.backoff.share(self.draw)


def snapshot_of(row: Row[Any]) -> JobSnapshot:
    """The snapshot at the beginning of a result row."""
    return JobSnapshot(*row[:_WIDTH])


def moment_of(row: Row[Any]) -> datetime:
    """The moment that follows a snapshot in a result row."""
    return require_utc(row[_WIDTH])


@dataclass(frozen=True)
class NamedCall:
    """One call of an operation that names its job, ready to run on any connection.

    `arguments` are the model's parameters by name, as journal and refusals report them; `values` are the parameters
    of statements that follow from them.
    """

    operation: str
    job_id: JobId
    token: Token | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    family: Family | None = None

    @property
    def has_one_case(self) -> bool:
        """Whether the operation can be done without a look at the row first."""
        return _has_one_case(self.operation)

    def parameters(self, context: JobContext, moment: datetime | None) -> dict[str, Any]:
        """The parameters of all statements of this call."""
        given: dict[str, Any] = {"job_id": self.job_id, "jitter": context.jitter(), "now": moment, **self.values}
        if self.token is not None:
            given["worker_id"] = self.token.worker_id
            given["lease_generation"] = self.token.lease_generation
        return given

    def strike(self, context: JobContext, connection: Connection) -> Accepted | None:
        """Do it in one statement, if it has one case and may be done; None tells nothing but that it was not done."""
        statement = context.statements(connection).strike(self.operation)
        rows = statement.rows(connection, self.parameters(context, context.moment(connection)))
        if not rows:
            return None
        return Accepted(
            self.operation, _only_case(self.operation), self.job_id, moment_of(rows[0]), snapshot_of(rows[0])
        )

    def perform(self, context: JobContext, connection: Connection) -> Outcome:
        """Look, then write; the answer, with the job before and after."""
        statements = context.statements(connection)
        for _ in range(_PATIENCE):
            moment = context.moment(connection)
            given = self.parameters(context, moment)
            rows = statements.look(self.operation).rows(connection, given)
            if not rows:
                return self._refused(context, None, moment or context.clock.read(connection))
            *_, taken = row = rows[0]
            before, moment = snapshot_of(row), moment_of(row)
            if taken is None:
                return self._refused(context, before, moment)
            written = statements.write(self.operation, taken).rows(connection, {**given, "now": moment})
            if written:
                return Accepted(self.operation, taken, self.job_id, moment, snapshot_of(written[0]), before)
        raise WriteConflict(
            f"Job {self.job_id} changed under {self.operation} {_PATIENCE} times in a row: try again later."
        )

    def _refused(self, context: JobContext, found: JobSnapshot | None, moment: datetime) -> Refused:
        guards = false_guards(
            self.operation,
            found=found,
            token=self.token,
            moment=moment,
            profile=context.profile,
            arguments=self.arguments,
            family=self.family,
        )
        return Refused(self.operation, self.job_id, guards, moment, found)


@cache
def _has_one_case(operation: str) -> bool:
    return len(JOB_CONTRACT.operation(operation).cases) == 1


@cache
def _only_case(operation: str) -> str:
    (only,) = JOB_CONTRACT.operation(operation).cases
    return only.name


# --- the calls --------------------------------------------------------------------------------------------------------


def _held(operation: str, token: Token, **more: Any) -> NamedCall:
    return NamedCall(operation, token.job_id, token, **more)


def _code_values(code: str, message: str | None) -> tuple[Family, dict[str, Any]]:
    family = classify(code)
    return family, {
        "error_code": code,
        "error_message": message,
        "code_cancels": family is Family.CANCEL,
        "code_retries": is_retryable(code),
        "code_blames_content": family is Family.CONTENT,
        "code_is_verdict": family is not Family.FENCE,
    }


def renew_call(token: Token) -> NamedCall:
    """§2 renew."""
    return _held("renew", token)


def succeed_call(token: Token) -> NamedCall:
    """§2 succeed."""
    return _held("succeed", token)


def fail_call(token: Token, code: str, message: str | None = None) -> NamedCall:
    """§2 fail. Raises the model's `UnclassifiedCode` for a code of no family."""
    family, values = _code_values(code, message)
    return _held("fail", token, arguments={"code": code, "message": message}, values=values, family=family)


def skip_call(token: Token, code: str, message: str | None = None) -> NamedCall:
    """§2 skip. Raises the model's `UnclassifiedCode` for a code of no family."""
    family, values = _code_values(code, message)
    return _held("skip", token, arguments={"code": code, "message": message}, values=values, family=family)


def park_call(token: Token, provider_ref: str, next_poll_at: datetime) -> NamedCall:
    """§2 park. Raises `NaiveDatetime` for a time without a zone and `ConfigurationError` for an empty reference."""
    if not provider_ref:
        raise ConfigurationError("A job is parked under the provider's own name for the work: give a provider_ref.")
    arguments = {"provider_ref": provider_ref, "next_poll_at": require_utc(next_poll_at)}
    return _held("park", token, arguments=arguments, values=arguments)


def acknowledge_cancel_call(token: Token) -> NamedCall:
    """§2 acknowledge_cancel."""
    return _held("acknowledge_cancel", token)


def release_call(token: Token) -> NamedCall:
    """§2 release."""
    return _held("release", token)


def request_cancel_call(job_id: JobId) -> NamedCall:
    """§2 request_cancel."""
    return NamedCall("request_cancel", job_id)


# --- new jobs and foreign rows ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Submission:
    """One call of `enqueue`, ready to run on any connection. `own`: values for columns of the application's own."""

    payload: Any = None
    priority: int = 0
    max_attempts: int | None = None
    deadline_at: datetime | None = None
    own: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def arguments(self, context: JobContext) -> dict[str, Any]:
        """The model's parameters."""
        attempts = context.profile.max_attempts if self.max_attempts is None else self.max_attempts
        deadline = None if self.deadline_at is None else require_utc(self.deadline_at)
        return {"max_attempts": attempts, "deadline_at": deadline}

    def perform(self, context: JobContext, connection: Connection) -> Outcome:
        """Insert the job, or refuse it (§2 enqueue); raises `ConfigurationError` for what the table cannot hold."""
        self._require_columns(context.job)
        arguments = self.arguments(context)
        moment = context.moment(connection)
        given = {
            **arguments,
            "now": moment,
            "queue": context.queue,
            "priority": self.priority,
            "payload": self.payload,
            **{f"own_{name}": value for name, value in self.own.items()},
        }
        rows = context.statements(connection).create(tuple(sorted(self.own))).rows(connection, given)
        if rows:
            after = snapshot_of(rows[0])
            return Accepted("enqueue", "created", after.id, moment_of(rows[0]), after)
        moment = moment or context.clock.read(connection)
        guards = false_guards(
            "enqueue", found=None, token=None, moment=moment, profile=context.profile, arguments=arguments
        )
        return Refused("enqueue", None, guards, moment)

    def _require_columns(self, job: JobTable) -> None:
        taken = {column.name for name in (*STORED, *ROLES) if (column := job.column_for(name)) is not None}
        for name in self.own:
            if name not in job.table.c or name in taken:
                raise ConfigurationError(
                    f"{name!r} is no column of the application's own in table {job.table.name!r}: "
                    "pass standard fields by their own arguments."
                )
        if self.payload is not None and "payload" not in job.present_roles:
            raise ConfigurationError(
                f"Table {job.table.name!r} has no payload column: name it in roles, or pass the values in own."
            )


def load(context: JobContext, connection: Connection, row: Mapping[str, Any]) -> JobId:
    """Insert a row as it is, past every guard: for migrations and tests (contract §2, legacy rows). Its key.

    `row` holds standard fields and roles by name; what it leaves out is null, 0 for a count, the profile's
    `max_attempts`, the context's queue, priority 0 and the store's time of the call. Raises `ConfigurationError` for a
    name that is neither, or that the table has no column for. The table's CHECK constraints apply.
    """
    for name in row:
        if name not in STORED and name not in ROLES:
            raise ConfigurationError(f"{name!r} is no standard field of a job: use {', '.join((*STORED, *ROLES))}.")
        if row[name] is not None and context.job.column_for(name) is None:
            raise ConfigurationError(f"Table {context.job.table.name!r} has no column for {name}: leave it out.")
    complete: dict[str, Any] = {
        **{name: None for name in STORED if name not in DISPENSABLE},
        **_LEAST_COUNTS,
        "max_attempts": context.profile.max_attempts,
        "queue": context.queue,
        "priority": 0,
        "enqueued_at": context.clock.read(connection),
        **row,
    }
    inserted = context.statements(connection).insertion(complete)
    key: JobId = connection.execute(inserted).scalar_one()
    return key


# --- reading ----------------------------------------------------------------------------------------------------------


def inspect(context: JobContext, connection: Connection, job_id: JobId) -> JobSnapshot | None:
    """The job as it stands; None if there is none."""
    rows = context.statements(connection).read().rows(connection, {"job_id": job_id})
    return snapshot_of(rows[0]) if rows else None


def payload_of(context: JobContext, connection: Connection, job_id: JobId) -> Any:
    """The job's payload; None if it has none, or if there is no such job."""
    rows = context.statements(connection).read(payload=True).rows(connection, {"job_id": job_id})
    return rows[0][_WIDTH] if rows else None


def list_jobs(
    context: JobContext,
    connection: Connection,
    *,
    statuses: tuple[str, ...] = (),
    every_queue: bool = False,
    limit: int = 50,
) -> list[JobSnapshot]:
    """The newest jobs, at most `limit`, of this queue or of every one, in these statuses or in any."""
    statement = context.statements(connection).listing(bool(statuses), every_queue)
    given = {"statuses": list(statuses), "queue": context.queue, "limit": limit}
    return [snapshot_of(row) for row in statement.rows(connection, given)]


def fresh_nonce() -> str:
    """What makes the attempts opened by one claim unlike all others."""
    return uuid.uuid4().hex
