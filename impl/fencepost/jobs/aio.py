"""The asynchronous face of the runtime: the same plans, driven on an `AsyncEngine` through `run_sync`.

Nothing is implemented a second time here. Each step of a plan is the function that the synchronous runtime runs, on the
synchronous connection underneath the asynchronous one. Hooks are synchronous functions and get that connection.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Connection, Table
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from fencepost.clock import Clock, StoreClock
from fencepost.db.dialects import capabilities
from fencepost.db.retry import DEFAULT_DELAYS, retry_write_async
from fencepost.db.tx import async_write_transaction
from fencepost.jobs import operations
from fencepost.jobs.operations import JobContext, Submission
from fencepost.jobs.outcomes import Accepted, Claimed, JobId, JobSnapshot, Outcome, Swept, Token
from fencepost.jobs.plans import Hooks, Kind, Plan, Step
from fencepost.jobs.profile import Profile
from fencepost.jobs.runtime import JoinedJobs, make_plans, settle_durability
from fencepost.jobs.schema import JobTable
from fencepost.journal import JournalSink

T = TypeVar("T")


class AsyncDurableJobRuntime:
    """`DurableJobRuntime` for asyncio: the same operations, arguments, answers and errors, each to be awaited."""

    def __init__(
        self,
        engine: AsyncEngine,
        job_table: JobTable | Table,
        profile: Profile | None = None,
        *,
        queue: str = "default",
        clock: StoreClock | Clock | None = None,
        journal: JournalSink | None = None,
        hooks: Hooks | None = None,
        retry_delays: Sequence[float] = DEFAULT_DELAYS,
    ) -> None:
        """A runtime for one queue of one table; the arguments are those of `DurableJobRuntime`."""
        self._engine = engine
        self._retry_delays = retry_delays
        single_writer = capabilities(engine.sync_engine).single_writer
        self._plans = make_plans(job_table, profile, queue, clock, journal, hooks, single_writer=single_writer)

    @property
    def context(self) -> JobContext:
        """The table, queue, profile and clock of these operations."""
        return self._plans.context

    async def enqueue(
        self,
        payload: Any = None,
        *,
        priority: int = 0,
        max_attempts: int | None = None,
        deadline_at: datetime | None = None,
        own: Mapping[str, Any] | None = None,
    ) -> Outcome:
        """§2 enqueue."""
        return await self._run(self._plans.enqueue(Submission(payload, priority, max_attempts, deadline_at, own or {})))

    async def request_cancel(self, job_id: JobId) -> Outcome:
        """§2 request_cancel."""
        return await self._run(self._plans.named(operations.request_cancel_call(job_id)))

    async def claim(self, worker_id: str, limit: int = 1, max_claims: int | None = None) -> Swept[Claimed]:
        """§2 claim."""
        return await self._run(self._plans.claim(worker_id, limit, max_claims))

    async def resume_poll(self, worker_id: str, limit: int = 1) -> Swept[Claimed]:
        """§2 resume_poll."""
        return await self._run(self._plans.resume_poll(worker_id, limit))

    async def renew(self, token: Token) -> Outcome:
        """§2 renew."""
        return await self._run(self._plans.named(operations.renew_call(token)))

    async def succeed(self, token: Token) -> Outcome:
        """§2 succeed."""
        return await self._run(self._plans.named(operations.succeed_call(token)))

    async def fail(self, token: Token, code: str, message: str | None = None) -> Outcome:
        """§2 fail."""
        return await self._run(self._plans.named(operations.fail_call(token, code, message)))

    async def skip(self, token: Token, code: str, message: str | None = None) -> Outcome:
        """§2 skip."""
        return await self._run(self._plans.named(operations.skip_call(token, code, message)))

    async def park(self, token: Token, provider_ref: str, next_poll_at: datetime) -> Outcome:
        """§2 park."""
        return await self._run(self._plans.named(operations.park_call(token, provider_ref, next_poll_at)))

    async def acknowledge_cancel(self, token: Token) -> Outcome:
        """§2 acknowledge_cancel."""
        return await self._run(self._plans.named(operations.acknowledge_cancel_call(token)))

    async def release(self, token: Token) -> Outcome:
        """§2 release."""
        return await self._run(self._plans.named(operations.release_call(token)))

    async def recover(self, limit: int = 100) -> Swept[Accepted]:
        """§2 recover."""
        return await self._run(self._plans.sweep("recover", limit))

    async def expire_overdue(self, limit: int = 100) -> Swept[Accepted]:
        """§2 expire_overdue."""
        return await self._run(self._plans.sweep("expire_overdue", limit))

    async def inspect(self, job_id: JobId) -> JobSnapshot | None:
        """The job as it stands; None if there is none."""
        return await self._run(self._plans.inspect(job_id))

    async def payload_of(self, job_id: JobId) -> Any:
        """The job's payload; None if it has none, or if there is no such job."""
        return await self._run(self._plans.payload_of(job_id))

    async def list_jobs(
        self, statuses: Sequence[str] = (), *, every_queue: bool = False, limit: int = 50
    ) -> list[JobSnapshot]:
        """The newest jobs, at most `limit`, of this queue or of every one, in these statuses or in any."""
        return await self._run(self._plans.list_jobs(tuple(statuses), every_queue, limit))

    async def load(self, row: Mapping[str, Any]) -> JobId:
        """Insert a row as it is, past every guard; its key."""
        return await self._run(self._plans.load(row))

    async def joined(self, connection: AsyncConnection, work: Callable[[JoinedJobs], T]) -> T:
        """Run `work` with the operations inside the caller's transaction on `connection` (`commit=False`).

        `work` is synchronous and gets a `JoinedJobs`. Where a journal is kept, keep that object too, and call its
        `publish()` after the commit.
        """
        return await connection.run_sync(lambda synchronous: work(JoinedJobs(self._plans, synchronous)))

    async def _run(self, plan: Plan[T]) -> T:
        try:
            step = next(plan)
            while True:
                try:
                    result = await self._step(step)
                except Exception as error:  # noqa: BLE001 - the plan decides what an exception means
                    step = plan.throw(error)
                else:
                    step = plan.send(result)
        except StopIteration as end:
            value: T = end.value
            return value
        finally:
            plan.close()

    async def _step(self, step: Step) -> Any:
        if step.kind is Kind.READ:
            async with self._engine.connect() as connection:
                return await connection.run_sync(step.work)

        async def work(connection: AsyncConnection) -> Any:
            return await connection.run_sync(step.work)

        return await retry_write_async(partial(self._transaction_for, step), work, delays=self._retry_delays)

    @asynccontextmanager
    async def _transaction_for(self, step: Step) -> AsyncGenerator[AsyncConnection]:
        async with self._engine.connect() as connection:
            if step.kind is Kind.STATEMENT:
                await connection.execution_options(isolation_level="AUTOCOMMIT")
                yield connection
                return
            await connection.run_sync(_settle, step)
            async with async_write_transaction(connection):
                yield connection


def _settle(connection: Connection, step: Step) -> None:
    settle_durability(connection, step.durability)
