"""The runtime of durable jobs: the operations of contract §2 on an engine, each in a transaction of its own.

    runtime = DurableJobRuntime(engine, JobTable(jobs), Profile(lease_seconds=60, heartbeat_seconds=20))
    runtime.enqueue({"page": 7}).require()
    for claimed in runtime.claim(worker_id, limit=10):
        ...
        runtime.succeed(claimed.token)

Operations that name a job answer `Accepted` or `Refused` and raise for neither; `.require()` turns a refusal into an
exception. Operations that look for work answer a list. Exceptions are for what is no answer of the contract: malformed
arguments, a lost database, a write that lost against others too often (`WriteConflict`).

Two further faces run the same operations. `runtime.joined(connection)` runs them inside a transaction that the caller
owns, so that domain writes and jobs are committed together. `fencepost.jobs.aio` runs them from asyncio.
"""

import os
import socket
import uuid
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, TypeGuard, TypeVar

from sqlalchemy import Connection, Engine, Table

from fencepost.clock import Clock, DatabaseClock, InjectedClock, StoreClock
from fencepost.db.dialects import capabilities
from fencepost.db.engine import Durability, open_statement_connection, set_durability
from fencepost.db.retry import DEFAULT_DELAYS, retry_write
from fencepost.db.tx import write_transaction
from fencepost.jobs import operations
from fencepost.jobs.operations import JobContext, Submission
from fencepost.jobs.outcomes import Accepted, Claimed, JobId, JobSnapshot, Outcome, Swept, Token
from fencepost.jobs.plans import Hooks, JobPlans, Kind, Manner, Plan, Step, drive
from fencepost.jobs.profile import Profile
from fencepost.jobs.schema import JobTable
from fencepost.journal import JournalRecord, JournalSink, write_to

T = TypeVar("T")


def new_worker_id() -> str:
    """A worker's identity, `hostname:pid:uuid`; make it once in a process (contract §1)."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4()}"


class JobOperations(ABC):
    """The operations of contract §2 on one queue, whoever opens their transactions."""

    def __init__(self, plans: JobPlans) -> None:
        """Run these plans."""
        self._plans = plans

    @abstractmethod
    def _run(self, plan: Plan[T]) -> T: ...

    @property
    def context(self) -> JobContext:
        """The table, queue, profile and clock of these operations."""
        return self._plans.context

    # -- clients -------------------------------------------------------------------------------------------------------

    def enqueue(
        self,
        payload: Any = None,
        *,
        priority: int = 0,
        max_attempts: int | None = None,
        deadline_at: datetime | None = None,
        own: Mapping[str, Any] | None = None,
    ) -> Outcome:
        """Hand in a job (§2 enqueue). The lower the priority's number, the sooner it is claimed.

        `max_attempts`: the profile's unless given. `own`: values for the application's own columns. Refused for
        `attempts_positive`, `deadline_ahead`, `deadline_given`. Raises `NaiveDatetime` for a deadline without a time
        zone and `PayloadRefused` for a payload that not both databases would keep.
        """
        return self._run(self._plans.enqueue(Submission(payload, priority, max_attempts, deadline_at, own or {})))

    def request_cancel(self, job_id: JobId) -> Outcome:
        """Ask a job to stop (§2 request_cancel): `immediate` where nobody holds it, else `noted` or `noted_before`.

        Refused with `not_ended` when it has ended already.
        """
        return self._run(self._plans.named(operations.request_cancel_call(job_id)))

    # -- workers -------------------------------------------------------------------------------------------------------

    def claim(self, worker_id: str, limit: int = 1, max_claims: int | None = None) -> Swept[Claimed]:
        """Take waiting jobs (§2 claim): look at up to `limit`, win up to `max_claims` (as many, unless given).

        The most urgent are won: priority, due time, key; they are returned in the order of priority and key. Jobs that
        `validate_claimed` turned down are in `.set_back` of the list.
        """
        return self._run(self._plans.claim(worker_id, limit, max_claims))

    def resume_poll(self, worker_id: str, limit: int = 1) -> Swept[Claimed]:
        """Take up to `limit` parked jobs whose poll is due (§2 resume_poll)."""
        return self._run(self._plans.resume_poll(worker_id, limit))

    def renew(self, token: Token) -> Outcome:
        """Say that the holder is alive (§2 renew); the new lease is in `.after.lease_expires_at`."""
        return self._run(self._plans.named(operations.renew_call(token)))

    def succeed(self, token: Token) -> Outcome:
        """Report success (§2 succeed, D-2)."""
        return self._run(self._plans.named(operations.succeed_call(token)))

    def fail(self, token: Token, code: str, message: str | None = None) -> Outcome:
        """Report an error (§2 fail): `cancelled`, `final`, `polled_again` or `retried`, by the family of the code.

        Raises the model's `UnclassifiedCode` for a code that no family knows.
        """
        return self._run(self._plans.named(operations.fail_call(token, code, message)))

    def skip(self, token: Token, code: str, message: str | None = None) -> Outcome:
        """Report that the content no longer calls for the work (§2 skip); the code is of the family CONTENT."""
        return self._run(self._plans.named(operations.skip_call(token, code, message)))

    def park(self, token: Token, provider_ref: str, next_poll_at: datetime) -> Outcome:
        """Leave a job to its provider until the time of the next poll (§2 park)."""
        return self._run(self._plans.named(operations.park_call(token, provider_ref, next_poll_at)))

    def acknowledge_cancel(self, token: Token) -> Outcome:
        """Say that a job that was asked to stop has stopped (§2 acknowledge_cancel)."""
        return self._run(self._plans.named(operations.acknowledge_cancel_call(token)))

    def release(self, token: Token) -> Outcome:
        """Hand a job back (§2 release, D-6)."""
        return self._run(self._plans.named(operations.release_call(token)))

    # -- the system ----------------------------------------------------------------------------------------------------

    def recover(self, limit: int = 100) -> Swept[Accepted]:
        """Take jobs from holders whose lease is over (§2 recover): up to `limit`, with what became of each."""
        return self._run(self._plans.sweep("recover", limit))

    def expire_overdue(self, limit: int = 100) -> Swept[Accepted]:
        """End waiting jobs that nobody could take any more (§2 expire_overdue, D-5)."""
        return self._run(self._plans.sweep("expire_overdue", limit))

    # -- looking -------------------------------------------------------------------------------------------------------

    def inspect(self, job_id: JobId) -> JobSnapshot | None:
        """The job as it stands, under the standard names; None if there is none."""
        return self._run(self._plans.inspect(job_id))

    def payload_of(self, job_id: JobId) -> Any:
        """The job's payload; None if it has none, or if there is no such job."""
        return self._run(self._plans.payload_of(job_id))

    def list_jobs(
        self, statuses: Sequence[str] = (), *, every_queue: bool = False, limit: int = 50
    ) -> list[JobSnapshot]:
        """The newest jobs, at most `limit`, of this queue or of every one, in these statuses or in any."""
        return self._run(self._plans.list_jobs(tuple(statuses), every_queue, limit))

    def load(self, row: Mapping[str, Any]) -> JobId:
        """Insert a row as it is, past every guard, for migrations and tests; its key (see `operations.load`)."""
        return self._run(self._plans.load(row))


class DurableJobRuntime(JobOperations):
    """The operations of contract §2, each in transactions of its own on a synchronous engine.

    Safe to share between threads. The engine comes from `open_engine`, or was given to `prepare_engine`.
    """

    def __init__(
        self,
        engine: Engine,
        job_table: JobTable | Table,
        profile: Profile | None = None,
        *,
        queue: str = "default",
        clock: StoreClock | Clock | None = None,
        journal: JournalSink | None = None,
        hooks: Hooks | None = None,
        retry_delays: Sequence[float] = DEFAULT_DELAYS,
    ) -> None:
        """A runtime for one queue of one table.

        `clock`: the store's own unless given; a clock of this process (`ManualClock`) is for tests. `journal`: where
        records go; keeping one costs each operation a read. `retry_delays`: seconds before each repetition of a write
        that lost against others. Raises `ConfigurationError` for a table or profile that cannot keep the contract.
        """
        plans = make_plans(
            job_table, profile, queue, clock, journal, hooks, single_writer=capabilities(engine).single_writer
        )
        super().__init__(plans)
        self._engine = engine
        self._retry_delays = retry_delays

    def _run(self, plan: Plan[T]) -> T:
        return drive(plan, self._step)

    def _step(self, step: Step) -> Any:
        if step.kind is Kind.READ:
            with self._engine.connect() as connection:
                return step.work(connection)
        opened = partial(transaction_for, self._engine, step)
        return retry_write(opened, step.work, delays=self._retry_delays)

    def joined(self, connection: Connection) -> "JoinedJobs":
        """The same operations inside the caller's transaction on `connection` (`commit=False`)."""
        return JoinedJobs(self._plans, connection)


class JoinedJobs(JobOperations):
    """The operations of contract §2 inside a transaction that the caller owns and commits.

    Open it with `write_transaction(connection)`; where none is open, the first operation opens one and leaves it open.
    Conflicts are the caller's to retry, with the whole transaction. An exception of a hook passes as `HookRaised`.

    Journal records wait until `publish()`, which the caller calls after the commit; after a rollback they are dropped
    with this object.
    """

    def __init__(self, plans: JobPlans, connection: Connection) -> None:
        """Run these plans on this connection."""
        self._connection = connection
        self._sink = plans.journal
        self._waiting: list[JournalRecord] = []
        manner = Manner(plans.manner.single_writer, owns_transactions=False)
        super().__init__(replace(plans, manner=manner, journal=None if plans.journal is None else self))

    def write(self, records: Sequence[JournalRecord]) -> None:
        """Keep records until the commit (the joined operations' own journal)."""
        self._waiting.extend(records)

    def publish(self) -> None:
        """Hand the waiting records to the runtime's journal; call it after the commit."""
        records, self._waiting = self._waiting, []
        if self._sink is not None:
            write_to(self._sink, records)

    def _run(self, plan: Plan[T]) -> T:
        return drive(plan, self._step)

    def _step(self, step: Step) -> Any:
        with write_transaction(self._connection, commit=False) as connection:
            return step.work(connection)


def make_plans(
    job_table: JobTable | Table,
    profile: Profile | None,
    queue: str,
    clock: StoreClock | Clock | None,
    journal: JournalSink | None,
    hooks: Hooks | None,
    *,
    single_writer: bool,
) -> JobPlans:
    """The plans that a runtime runs, from the arguments of its constructor."""
    job = job_table if isinstance(job_table, JobTable) else JobTable(job_table)
    context = JobContext(job, profile or Profile(), queue, _store_clock(clock))
    return JobPlans(context, Manner(single_writer), hooks or Hooks(), journal)


def _store_clock(clock: StoreClock | Clock | None) -> StoreClock:
    if clock is None:
        return DatabaseClock()
    return clock if _answers_for_a_store(clock) else InjectedClock(clock)  # type: ignore[arg-type]


def _answers_for_a_store(clock: StoreClock | Clock) -> TypeGuard[StoreClock]:
    return hasattr(clock, "read")


@contextmanager
def transaction_for(engine: Engine, step: Step) -> Generator[Connection]:
    """A connection with the transaction that a step asks for."""
    if step.kind is Kind.STATEMENT:
        with open_statement_connection(engine) as connection:
            yield connection
        return
    with engine.connect() as connection:
        settle_durability(connection, step.durability)
        with write_transaction(connection):
            yield connection


def settle_durability(connection: Connection, durability: Durability) -> None:
    """Make the commits of a connection survive what a step asks for (contract §8).

    A store with many writers commits synchronously either way; asking it would cost a round trip for nothing.
    """
    if capabilities(connection).single_writer:
        set_durability(connection, durability)
