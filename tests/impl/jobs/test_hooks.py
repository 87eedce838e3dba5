"""Hooks: inside the transaction, and a job whose hook keeps raising stops nobody else."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TypeAlias

import pytest
from sqlalchemy import Column, Connection, Engine, Integer, MetaData, Table, insert, select

from fencepost.clock import ManualClock
from fencepost.db.tx import write_transaction
from fencepost.jobs import Accepted, Claimed, DurableJobRuntime, HookRaised, Hooks, JobId
from fencepost.journal import MemorySink

MakeRuntime: TypeAlias = Callable[..., DurableJobRuntime]


class Turned(Exception):
    """What the hooks of these tests raise."""


@pytest.fixture
def notes(engine: Engine) -> Table:
    """A domain table that hooks write to."""
    metadata = MetaData()
    table = Table("notes", metadata, Column("job", Integer(), primary_key=True))
    metadata.create_all(engine)
    return table


def noted(engine: Engine, notes: Table) -> list[int]:
    with engine.connect() as connection:
        return list(connection.scalars(select(notes.c.job).order_by(notes.c.job)))


class Noting:
    """Notes every job in the domain table, and raises for the jobs named."""

    def __init__(self, notes: Table, *culprits: JobId) -> None:
        self.notes = notes
        self.culprits = set(culprits)
        self.batches: list[list[JobId]] = []

    def validate(self, connection: Connection, claimed: Sequence[Claimed]) -> None:
        self.note(connection, [each.token.job_id for each in claimed])

    def recovered(self, connection: Connection, changed: Sequence[Accepted]) -> None:
        self.note(connection, [each.job_id for each in changed])

    def note(self, connection: Connection, keys: list[JobId]) -> None:
        self.batches.append(keys)
        connection.execute(insert(self.notes), [{"job": key} for key in keys])
        for key in keys:
            if key in self.culprits:
                raise Turned(f"not {key}")


class TestValidateClaimed:
    def test_its_writes_are_committed_with_the_claim(
        self, engine: Engine, make_runtime: MakeRuntime, notes: Table
    ) -> None:
        hook = Noting(notes)
        runtime = make_runtime(hooks=Hooks(validate_claimed=hook.validate))
        keys = [runtime.enqueue().require().job_id for _ in range(3)]
        assert len(runtime.claim("w", 2)) == 2
        assert hook.batches == [keys[:2]]
        assert noted(engine, notes) == keys[:2]

    @pytest.mark.parametrize("journaled", [False, True])
    def test_the_culprit_is_set_back_and_the_others_are_claimed(
        self, engine: Engine, make_runtime: MakeRuntime, notes: Table, clock: ManualClock, journaled: bool
    ) -> None:
        journal = MemorySink() if journaled else None
        plain = make_runtime()
        keys = [plain.enqueue().require().job_id for _ in range(4)]
        hook = Noting(notes, keys[1])
        runtime = make_runtime(hooks=Hooks(validate_claimed=hook.validate), journal=journal)
        taken = runtime.claim("w", 4)
        assert [each.token.job_id for each in taken] == [keys[0], keys[2], keys[3]]
        assert noted(engine, notes) == [keys[0], keys[2], keys[3]]
        (set_back,) = taken.set_back
        assert set_back.job_id == keys[1]
        assert isinstance(set_back.error, Turned)
        assert set_back.until == clock.now() + timedelta(seconds=5)
        culprit = runtime.inspect(keys[1])
        assert culprit is not None
        assert (culprit.status, culprit.attempt_count, culprit.lease_generation) == ("pending", 0, 0)
        assert culprit.next_attempt_at == set_back.until
        if journal is not None:
            assert [record.operation for record in journal.records] == ["claim", "set_back", "claim", "claim"]
            assert journal.records[1].reason == f"Turned: not {keys[1]}"

    def test_the_culprit_is_tried_again_after_its_back_off(
        self, make_runtime: MakeRuntime, notes: Table, clock: ManualClock
    ) -> None:
        hook = Noting(notes)
        runtime = make_runtime(hooks=Hooks(validate_claimed=hook.validate))
        key = runtime.enqueue().require().job_id
        assert key is not None
        hook.culprits = {key}
        assert runtime.claim("w") == []
        hook.culprits = set()
        assert runtime.claim("w") == []
        clock.advance(5)
        assert [each.token.job_id for each in runtime.claim("w")] == [key]

    def test_max_claims_are_won_behind_a_culprit(self, make_runtime: MakeRuntime, notes: Table) -> None:
        """`limit` bounds the jobs looked at, `max_claims` those won."""
        hook = Noting(notes)
        runtime = make_runtime(hooks=Hooks(validate_claimed=hook.validate))
        keys = [runtime.enqueue().require().job_id for _ in range(4)]
        assert keys[0] is not None
        hook.culprits = {keys[0]}
        assert [each.token.job_id for each in runtime.claim("w", 3, 1)] == [keys[1]]

    def test_an_interrupt_rolls_the_batch_back_and_passes(
        self, engine: Engine, make_runtime: MakeRuntime, notes: Table
    ) -> None:
        def interrupted(connection: Connection, claimed: Sequence[Claimed]) -> None:
            connection.execute(insert(notes), [{"job": each.token.job_id} for each in claimed])
            raise KeyboardInterrupt

        runtime = make_runtime(hooks=Hooks(validate_claimed=interrupted))
        key = runtime.enqueue().require().job_id
        assert key is not None
        with pytest.raises(KeyboardInterrupt):
            runtime.claim("w")
        assert noted(engine, notes) == []
        found = runtime.inspect(key)
        assert found is not None
        assert (found.status, found.next_attempt_at) == ("pending", None)

    def test_it_is_not_called_for_nothing(self, make_runtime: MakeRuntime, notes: Table) -> None:
        hook = Noting(notes)
        assert make_runtime(hooks=Hooks(validate_claimed=hook.validate)).claim("w") == []
        assert hook.batches == []

    def test_inside_a_transaction_of_the_caller_its_exception_is_the_callers(
        self, engine: Engine, make_runtime: MakeRuntime, notes: Table
    ) -> None:
        hook = Noting(notes)
        runtime = make_runtime(hooks=Hooks(validate_claimed=hook.validate))
        key = runtime.enqueue().require().job_id
        assert key is not None
        hook.culprits = {key}
        with (
            pytest.raises(HookRaised) as raised,
            engine.connect() as connection,
            write_transaction(connection),
        ):
            runtime.joined(connection).claim("w")
        assert isinstance(raised.value.__cause__, Turned)
        assert noted(engine, notes) == []


class TestOnRecovered:
    def abandoned(self, runtime: DurableJobRuntime, count: int) -> list[JobId]:
        return [runtime.load({"status": "running", "attempt_count": 1}) for _ in range(count)]

    def test_it_gets_exactly_the_jobs_that_were_changed(
        self, engine: Engine, make_runtime: MakeRuntime, notes: Table
    ) -> None:
        hook = Noting(notes)
        runtime = make_runtime(hooks=Hooks(on_recovered=hook.recovered))
        keys = self.abandoned(runtime, 2)
        runtime.enqueue()
        (held,) = runtime.claim("w")
        assert [accepted.job_id for accepted in runtime.recover()] == keys
        assert hook.batches == [keys]
        assert noted(engine, notes) == keys
        assert held.token.job_id not in keys

    def test_it_is_called_for_jobs_that_expire(self, make_runtime: MakeRuntime, notes: Table) -> None:
        hook = Noting(notes)
        runtime = make_runtime(hooks=Hooks(on_recovered=hook.recovered))
        spent = runtime.load({"status": "pending", "attempt_count": 3})
        assert [accepted.case for accepted in runtime.expire_overdue()] == ["exhausted"]
        assert hook.batches == [[spent]]

    def test_a_culprit_is_passed_over_and_stops_nobody(
        self, engine: Engine, make_runtime: MakeRuntime, notes: Table, clock: ManualClock
    ) -> None:
        hook, journal = Noting(notes), MemorySink()
        runtime = make_runtime(hooks=Hooks(on_recovered=hook.recovered), journal=journal)
        keys = self.abandoned(runtime, 3)
        hook.culprits = {keys[0]}
        swept = runtime.recover()
        assert [accepted.job_id for accepted in swept] == keys[1:]
        assert [each.job_id for each in swept.set_back] == [keys[0]]
        assert noted(engine, notes) == keys[1:]
        culprit = runtime.inspect(keys[0])
        assert culprit is not None
        assert (culprit.status, culprit.lease_generation) == ("running", 0)
        assert [record.operation for record in journal.records] == ["set_back", "recover", "recover"]

        # It is out of the way of the next sweep, however small that is, and comes back after the back-off.
        (another,) = self.abandoned(runtime, 1)
        assert [accepted.job_id for accepted in runtime.recover(1)] == [another]
        hook.culprits = set()
        assert runtime.recover() == []
        clock.advance(5)
        assert [accepted.job_id for accepted in runtime.recover()] == [keys[0]]
