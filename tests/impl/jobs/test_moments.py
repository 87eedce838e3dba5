"""One moment an operation, read when nothing can change its rows any more (D-14).

An operation may wait for a lock while the lease that it acts under runs out. It must be judged by the time after the
wait; a reading from before would take the lease for alive.
"""

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

import pytest
from sqlalchemy import ColumnElement, Connection, Engine, func, select, text

from fencepost.clock import InjectedClock, ManualClock
from fencepost.db.dialects import capabilities
from fencepost.db.tx import write_transaction
from fencepost.db.types import UtcDateTime, require_utc
from fencepost.jobs import DurableJobRuntime, JobTable, Outcome, Refused, Token
from fencepost.journal import MemorySink

START = datetime(2030, 1, 1, tzinfo=UTC)

MakeRuntime: TypeAlias = Callable[..., DurableJobRuntime]


class MovableClock:
    """A store's clock that the test moves, asked where the store's own would be: by the statement."""

    def __init__(self, engine: Engine) -> None:
        """On a store with many writers a function of the database answers, as its own clock does."""
        self.manual = ManualClock(START)
        self.engine = engine
        self.in_database = not capabilities(engine).single_writer
        if self.in_database:
            with engine.begin() as connection:
                connection.execute(text("CREATE TABLE clock (shows timestamptz)"))
                connection.execute(text("INSERT INTO clock VALUES (:at)"), {"at": START})
                connection.execute(
                    text(
                        "CREATE FUNCTION shown_time() RETURNS timestamptz VOLATILE LANGUAGE plpgsql AS "
                        "'BEGIN RETURN (SELECT shows FROM clock); END'"
                    )
                )

    def read(self, connection: Connection) -> datetime:
        if self.in_database:
            return require_utc(connection.execute(select(self.expression())).scalar_one())
        return InjectedClock(self.manual).read(connection)

    def expression(self) -> ColumnElement[datetime]:
        if self.in_database:
            return func.shown_time(type_=UtcDateTime())
        return InjectedClock(self.manual).expression()

    def advance(self, seconds: float) -> None:
        now = self.manual.advance(seconds)
        if self.in_database:
            with self.engine.begin() as connection:
                connection.execute(text("UPDATE clock SET shows = :at"), {"at": now})


@pytest.fixture
def movable(engine: Engine) -> MovableClock:
    return MovableClock(engine)


def until_waiting(engine: Engine, thread: threading.Thread) -> None:
    """Return when another session waits for a lock, where the store tells; elsewhere at once."""
    if capabilities(engine).single_writer:
        return
    waiting = text(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    )
    while thread.is_alive():
        with engine.connect() as connection:
            if connection.execute(waiting).scalar_one():
                return


CALLS: dict[str, Callable[[DurableJobRuntime, Token], Outcome]] = {
    "renew": lambda runtime, token: runtime.renew(token),
    "succeed": lambda runtime, token: runtime.succeed(token),
    "fail": lambda runtime, token: runtime.fail(token, "RENDER_SERVICE_UNAVAILABLE"),
    "release": lambda runtime, token: runtime.release(token),
}


@pytest.mark.parametrize("journaled", [False, True])
@pytest.mark.parametrize("named", list(CALLS))
def test_a_lease_that_runs_out_during_the_wait_for_a_lock_is_over(
    engine: Engine, make_runtime: MakeRuntime, job: JobTable, movable: MovableClock, named: str, journaled: bool
) -> None:
    runtime = make_runtime(clock=movable, journal=MemorySink() if journaled else None)
    runtime.enqueue()
    (claimed,) = runtime.claim("w")
    answers: list[Outcome] = []
    thread = threading.Thread(target=lambda: answers.append(CALLS[named](runtime, claimed.token)))
    with engine.connect() as other, write_transaction(other):
        other.execute(select(job.table).where(job.columns.id == claimed.token.job_id).with_for_update())
        thread.start()
        until_waiting(engine, thread)
        movable.advance(60)
    thread.join()
    (answer,) = answers
    assert isinstance(answer, Refused)
    assert answer.guards == {"lease_alive"}
    assert answer.at == START + timedelta(seconds=60)


@pytest.mark.parametrize("named", list(CALLS))
def test_a_cancel_that_commits_during_the_wait_is_seen(
    engine: Engine, make_runtime: MakeRuntime, named: str, movable: MovableClock
) -> None:
    """The state of the cancel request on which a case is chosen is the one that the write finds (contract §2)."""
    runtime = make_runtime(clock=movable)
    runtime.enqueue()
    (claimed,) = runtime.claim("w")
    answers: list[Outcome] = []
    thread = threading.Thread(target=lambda: answers.append(CALLS[named](runtime, claimed.token)))
    with engine.connect() as other, write_transaction(other):
        assert runtime.joined(other).request_cancel(claimed.token.job_id).require().case == "noted"
        thread.start()
        until_waiting(engine, thread)
    thread.join()
    (answer,) = answers
    expected = {"renew": "renewed", "succeed": {"cancel_does_not_win"}, "fail": "cancelled", "release": "cancelled"}
    found: Any = answer.guards if isinstance(answer, Refused) else answer.case
    assert found == expected[named]
    job = runtime.inspect(claimed.token.job_id)
    assert job is not None
    assert job.status in {"running", "cancelled"}, "the job was put back although somebody had asked it to stop"


def test_a_statement_has_one_moment(make_runtime: MakeRuntime, engine: Engine) -> None:
    """By the store's own clock: what one operation writes in several places is the same instant."""
    runtime = make_runtime(clock=None)
    for _ in range(5):
        runtime.enqueue()
    taken = runtime.claim("w", 5)
    moments = {moment for each in taken for moment in (each.job.started_at, each.job.heartbeat_at)}
    assert len(moments) == 1
    lease = {each.job.lease_expires_at for each in taken}
    assert lease == {next(iter(moments)) + timedelta(seconds=60)}  # type: ignore[operator]
    outcome = runtime.succeed(taken[0].token).require()
    assert outcome.after.finished_at == outcome.at


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    before = threading.active_count()
    yield
    assert threading.active_count() <= before
