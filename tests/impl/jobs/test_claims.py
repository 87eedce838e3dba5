"""Claims: in order, bounded, and no job twice, whoever claims at the same moment."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import TypeAlias

import pytest
from sqlalchemy import Engine, select

from fencepost.clock import ManualClock
from fencepost.db.dialects import capabilities
from fencepost.db.tx import write_transaction
from fencepost.errors import ConfigurationError
from fencepost.jobs import DurableJobRuntime, JobId, JobTable, Profile, new_worker_id

MakeRuntime: TypeAlias = Callable[..., DurableJobRuntime]


def enqueued(runtime: DurableJobRuntime, count: int) -> list[JobId]:
    return [runtime.enqueue({"n": number}).require().job_id for number in range(count)]


class TestOrder:
    def test_lower_priority_number_first(self, runtime: DurableJobRuntime) -> None:
        late = runtime.enqueue(priority=5).require().job_id
        soon = runtime.enqueue(priority=-1).require().job_id
        middle = runtime.enqueue(priority=0).require().job_id
        assert [claimed.token.job_id for claimed in runtime.claim("w", 10)] == [soon, middle, late]

    def test_among_equals_the_one_due_first(self, runtime: DurableJobRuntime, clock: ManualClock) -> None:
        retried = runtime.enqueue().require().job_id
        (claimed,) = runtime.claim("w")
        runtime.fail(claimed.token, "RENDER_SERVICE_UNAVAILABLE").require()  # due again after 5 s
        clock.advance(3)
        before = runtime.enqueue().require().job_id
        clock.advance(3)
        after = runtime.enqueue().require().job_id
        clock.advance(1)
        order = [runtime.claim("w")[0].token.job_id for _ in range(3)]
        assert order == [before, retried, after]

    def test_among_those_due_at_once_the_lower_key(self, runtime: DurableJobRuntime) -> None:
        keys = enqueued(runtime, 4)
        assert [runtime.claim("w")[0].token.job_id for _ in range(4)] == keys


class TestBounds:
    def test_limit_bounds_the_jobs(self, runtime: DurableJobRuntime) -> None:
        keys = enqueued(runtime, 5)
        assert [claimed.token.job_id for claimed in runtime.claim("w", 3)] == keys[:3]

    def test_max_claims_bounds_what_is_won(self, runtime: DurableJobRuntime) -> None:
        keys = enqueued(runtime, 5)
        assert [claimed.token.job_id for claimed in runtime.claim("w", 4, 2)] == keys[:2]

    @pytest.mark.parametrize(("limit", "max_claims"), [(0, None), (3, 0)])
    def test_nothing_may_be_asked_for(self, runtime: DurableJobRuntime, limit: int, max_claims: int | None) -> None:
        enqueued(runtime, 1)
        assert runtime.claim("w", limit, max_claims) == []

    @pytest.mark.parametrize(("limit", "max_claims"), [(-1, None), (1, -1)])
    def test_a_negative_number_is_refused(self, runtime: DurableJobRuntime, limit: int, max_claims: int | None) -> None:
        with pytest.raises(ConfigurationError, match="from 0 up"):
            runtime.claim("w", limit, max_claims)

    def test_an_empty_queue_answers_an_empty_list(self, runtime: DurableJobRuntime) -> None:
        assert runtime.claim("w", 5) == []
        assert runtime.resume_poll("w", 5) == []
        assert runtime.recover() == []
        assert runtime.expire_overdue() == []


class TestQueues:
    def test_a_runtime_sees_its_own_queue(self, make_runtime: MakeRuntime) -> None:
        left, right = make_runtime(queue="left"), make_runtime(queue="right")
        key = left.enqueue().require().job_id
        assert right.claim("w", 5) == []
        assert [claimed.token.job_id for claimed in left.claim("w", 5)] == [key]

    def test_recovery_leaves_other_queues_alone(self, make_runtime: MakeRuntime) -> None:
        left, right = make_runtime(queue="left"), make_runtime(queue="right")
        key = left.load({"status": "running", "attempt_count": 1})
        assert right.recover() == []
        assert [accepted.job_id for accepted in left.recover()] == [key]


class TestIsolation:
    def test_every_job_is_claimed_exactly_once(self, make_runtime: MakeRuntime) -> None:
        """Four threads with connections of their own empty one queue; nothing is lost, nothing given out twice."""
        runtime = make_runtime(clock=None)
        keys = enqueued(runtime, 120)
        start = threading.Barrier(4)
        won: dict[str, list[JobId]] = {}

        def work() -> None:
            worker = new_worker_id()
            mine = won.setdefault(worker, [])
            start.wait()
            while claimed := runtime.claim(worker, 3):
                mine.extend(each.token.job_id for each in claimed)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(key for mine in won.values() for key in mine) == sorted(keys)

    def test_a_claim_passes_over_rows_that_another_holds_locked(
        self, engine: Engine, runtime: DurableJobRuntime, job: JobTable
    ) -> None:
        if not capabilities(engine).skips_locked_rows:
            pytest.skip("the store has one writer at a time, so no claim meets a locked row")
        first, second = enqueued(runtime, 2)
        with engine.connect() as other, write_transaction(other):
            other.execute(select(job.table).where(job.columns.id == first).with_for_update())
            assert [claimed.token.job_id for claimed in runtime.claim("w", 5)] == [second]
        assert [claimed.token.job_id for claimed in runtime.claim("w", 5)] == [first]

    def test_recovery_by_two_changes_each_job_once(self, make_runtime: MakeRuntime) -> None:
        runtime = make_runtime(clock=None)
        keys = [runtime.load({"status": "running", "attempt_count": 1, "max_attempts": 5}) for _ in range(40)]
        start = threading.Barrier(3)
        changed: list[JobId] = []

        def work() -> None:
            start.wait()
            while recovered := runtime.recover(4):
                changed.extend(accepted.job_id for accepted in recovered)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(changed) == sorted(keys)
        assert {runtime.inspect(key).lease_generation for key in keys} == {1}  # type: ignore[union-attr]


class TestTokens:
    def test_each_attempt_has_an_identity_of_its_own(self, runtime: DurableJobRuntime, clock: ManualClock) -> None:
        enqueued(runtime, 3)
        first = runtime.claim("w", 3)
        for claimed in first:
            runtime.fail(claimed.token, "RENDER_SERVICE_UNAVAILABLE").require()
        clock.advance(5)
        second = runtime.claim("w", 3)
        attempts = [claimed.token.attempt_id for claimed in (*first, *second)]
        assert len(set(attempts)) == 6
        assert all(claimed.job.attempt_id == claimed.token.attempt_id for claimed in second)

    def test_the_payload_comes_with_the_claim(self, runtime: DurableJobRuntime) -> None:
        payload = {"pages": [1, 2], "title": "Übersicht", "draft": None}
        runtime.enqueue(payload)
        assert runtime.claim("w")[0].payload == payload

    def test_a_stale_token_of_the_same_worker_is_refused(self, runtime: DurableJobRuntime, clock: ManualClock) -> None:
        """The generation is the fence, not the owner (D-18)."""
        enqueued(runtime, 1)
        (old,) = runtime.claim("w")
        clock.advance(60)
        runtime.recover()
        clock.advance(5)
        (new,) = runtime.claim("w")
        refusal = runtime.succeed(old.token)
        assert not refusal.accepted
        assert refusal.guards == {"generation"}  # type: ignore[union-attr]
        assert runtime.succeed(new.token).accepted

    def test_a_key_is_not_given_out_again(self, engine: Engine, runtime: DurableJobRuntime, job: JobTable) -> None:
        """A token must not fit a later job, so the key of a deleted one stays unused."""
        (key,) = enqueued(runtime, 1)
        with engine.begin() as connection:
            connection.execute(job.table.delete())
        assert runtime.enqueue().require().job_id != key

    def test_a_worker_has_one_identity_a_process(self) -> None:
        one, other = new_worker_id(), new_worker_id()
        host, process, unique = one.rsplit(":", 2)
        assert host
        assert process.isdecimal()
        assert other.rsplit(":", 2)[:2] == [host, process]
        assert unique not in other


def test_lease_is_cut_by_the_deadline(runtime: DurableJobRuntime, clock: ManualClock) -> None:
    runtime.enqueue(deadline_at=clock.now() + timedelta(seconds=7))
    (claimed,) = runtime.claim("w")
    assert claimed.job.lease_expires_at == clock.now() + timedelta(seconds=7)


def test_parking_needs_a_deadline(make_runtime: MakeRuntime, clock: ManualClock) -> None:
    runtime = make_runtime(profile=Profile(registers_park=True))
    refusal = runtime.enqueue()
    assert not refusal.accepted
    assert refusal.guards == {"deadline_given"}  # type: ignore[union-attr]
    assert runtime.enqueue(deadline_at=clock.now() + timedelta(seconds=1)).accepted


def test_a_clock_that_is_set_back_shortens_no_lease(runtime: DurableJobRuntime, clock: ManualClock) -> None:
    runtime.enqueue()
    (claimed,) = runtime.claim("w")
    clock.jump_to(clock.now() - timedelta(seconds=30))
    renewed = runtime.renew(claimed.token).require().after
    assert renewed.lease_expires_at == claimed.job.lease_expires_at
    assert renewed.heartbeat_at == clock.now()
