"""The asynchronous face: the same answers, rows, records and hooks as the synchronous one."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, Engine
from sqlalchemy.ext.asyncio import AsyncEngine

from fencepost.clock import ManualClock
from fencepost.db.engine import open_async_engine
from fencepost.db.tx import async_write_transaction
from fencepost.jobs import Claimed, DurableJobRuntime, Hooks, JobTable, JoinedJobs, Profile
from fencepost.jobs.aio import AsyncDurableJobRuntime
from fencepost.jobs.runtime import JobOperations
from fencepost.journal import MemorySink

START = datetime(2030, 1, 1, tzinfo=UTC)


def run(url: str, work: Callable[[AsyncEngine], Awaitable[None]]) -> None:
    async def with_engine() -> None:
        engine = open_async_engine(url)
        try:
            await work(engine)
        finally:
            await engine.dispose()

    asyncio.run(with_engine())


def plain(answer: Any) -> Any:
    """An answer without what is fresh in every run: keys and the identities of attempts."""
    if isinstance(answer, list):
        return [plain(each) for each in answer]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(answer, Claimed):
        return answer.token.worker_id, answer.token.lease_generation, answer.payload, plain(answer.job)
    if hasattr(answer, "guards"):
        return answer.operation, answer.guards, answer.at
    if hasattr(answer, "case"):
        return answer.operation, answer.case, answer.at, plain(answer.after)
    if hasattr(answer, "standard"):
        return {name: value for name, value in answer.standard().items() if name != "attempt_id"}
    return answer


def test_it_offers_what_the_synchronous_face_offers() -> None:
    for name, method in inspect.getmembers(JobOperations, inspect.isfunction):
        if not name.startswith("_"):
            other = getattr(AsyncDurableJobRuntime, name)
            assert inspect.iscoroutinefunction(other), name
            assert inspect.signature(other) == inspect.signature(method), name


@pytest.mark.parametrize("journaled", [False, True])
def test_the_same_story_told_twice(
    engine: Engine, store_url: str, job: JobTable, profile: Profile, clock: ManualClock, journaled: bool
) -> None:
    sync_journal, async_journal = MemorySink(), MemorySink()
    synchronous = DurableJobRuntime(
        engine, job, profile, queue="sync", clock=clock, journal=sync_journal if journaled else None
    )

    async def story(asynchronous_engine: AsyncEngine) -> None:
        asynchronous = AsyncDurableJobRuntime(
            asynchronous_engine,
            job,
            profile,
            queue="async",
            clock=clock,
            journal=async_journal if journaled else None,
        )

        async def both(name: str, mine: Sequence[Any] = (), theirs: Sequence[Any] = (), **more: Any) -> tuple[Any, Any]:
            one = getattr(synchronous, name)(*mine, **more)
            other = await getattr(asynchronous, name)(*theirs, **more)
            assert plain(one) == plain(other), name
            return one, other

        one, other = await both("enqueue", [{"n": 1}], [{"n": 1}], deadline_at=START + timedelta(hours=1))
        await both("enqueue", max_attempts=0)
        (mine,), (theirs,) = await both("claim", ["w"], ["w"])
        await both("renew", [mine.token], [theirs.token])
        await both("park", [mine.token, "ref", START], [theirs.token, "ref", START])
        await both("skip", [mine.token, "RENDER_QUEUE_FULL"], [theirs.token, "RENDER_QUEUE_FULL"])
        code = "RENDER_SERVICE_UNAVAILABLE"
        await both("fail", [mine.token, code, "503"], [theirs.token, code, "503"])
        await both("succeed", [mine.token], [theirs.token])
        clock.advance(5)
        (mine,), (theirs,) = await both("claim", ["w", 3, 2], ["w", 3, 2])
        await both("request_cancel", [one.job_id], [other.job_id])
        await both("acknowledge_cancel", [mine.token], [theirs.token])
        await both("inspect", [one.job_id], [other.job_id])
        await both("payload_of", [one.job_id], [other.job_id])
        await both("list_jobs", [("cancelled",)], [("cancelled",)])
        row = {"status": "running", "attempt_count": 1}
        synchronous.load(row)
        await asynchronous.load(row)
        await both("recover")
        await both("resume_poll", ["w"], ["w"])
        await both("release", [mine.token], [theirs.token])
        await both("expire_overdue")

    run(store_url, story)
    assert [(r.operation, r.case, r.false_guards) for r in sync_journal.records] == [
        (r.operation, r.case, r.false_guards) for r in async_journal.records
    ]
    assert bool(sync_journal.records) == journaled


def test_hooks_get_the_synchronous_connection(
    store_url: str, job: JobTable, profile: Profile, clock: ManualClock
) -> None:
    culprits: list[Any] = []

    def validate(connection: Connection, claimed: Sequence[Claimed]) -> None:
        assert isinstance(connection, Connection)
        if any(each.token.job_id in culprits for each in claimed):
            raise ValueError("not this one")

    async def work(engine: AsyncEngine) -> None:
        runtime = AsyncDurableJobRuntime(engine, job, profile, clock=clock, hooks=Hooks(validate_claimed=validate))
        keys = [(await runtime.enqueue()).require().job_id for _ in range(3)]
        culprits.append(keys[1])
        taken = await runtime.claim("w", 3)
        assert [each.token.job_id for each in taken] == [keys[0], keys[2]]
        assert [each.job_id for each in taken.set_back] == [keys[1]]

    run(store_url, work)


def test_a_cancelled_task_rolls_its_batch_back(
    store_url: str, job: JobTable, profile: Profile, clock: ManualClock
) -> None:
    def cancelled(connection: Connection, claimed: Sequence[Claimed]) -> None:
        raise asyncio.CancelledError

    async def work(engine: AsyncEngine) -> None:
        runtime = AsyncDurableJobRuntime(engine, job, profile, clock=clock, hooks=Hooks(validate_claimed=cancelled))
        key = (await runtime.enqueue()).require().job_id
        with pytest.raises(asyncio.CancelledError):
            await runtime.claim("w")
        found = await runtime.inspect(key)
        assert found is not None
        assert (found.status, found.next_attempt_at) == ("pending", None)

    run(store_url, work)


def test_operations_join_a_transaction_of_the_caller(
    store_url: str, job: JobTable, profile: Profile, clock: ManualClock
) -> None:
    async def work(engine: AsyncEngine) -> None:
        runtime = AsyncDurableJobRuntime(engine, job, profile, clock=clock)

        def enqueue_two(jobs: JoinedJobs) -> None:
            jobs.enqueue({"n": 1}).require()
            jobs.enqueue({"n": 2}).require()

        async with engine.connect() as connection:
            async with async_write_transaction(connection):
                await runtime.joined(connection, enqueue_two)
            assert len(await runtime.claim("w", 5)) == 2

    run(store_url, work)


def test_many_tasks_claim_each_job_once(store_url: str, job: JobTable, profile: Profile) -> None:
    async def work(engine: AsyncEngine) -> None:
        runtime = AsyncDurableJobRuntime(engine, job, profile)
        keys = [(await runtime.enqueue()).require().job_id for _ in range(30)]
        taken = await asyncio.gather(*(runtime.claim(f"w{number}", 4) for number in range(10)))
        assert sorted(each.token.job_id for batch in taken for each in batch) == sorted(keys)

    run(store_url, work)
