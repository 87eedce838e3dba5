"""Engines, a clock that stands still, and runtimes on the databases that tests/conftest.py hands out."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, TypeAlias

import pytest
from sqlalchemy import Engine, MetaData, Table

from fencepost.clock import ManualClock
from fencepost.db.engine import open_engine
from fencepost.jobs import Backoff, DurableJobRuntime, JobTable, Profile, job_table

START = datetime(2030, 1, 1, tzinfo=UTC)

MakeRuntime: TypeAlias = Callable[..., DurableJobRuntime]


@pytest.fixture
def engine(store_url: str) -> Iterator[Engine]:
    engine = open_engine(store_url)
    yield engine
    engine.dispose()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def table(engine: Engine) -> Table:
    """A fresh table of jobs, constraints and indexes included."""
    metadata = MetaData()
    table = job_table(metadata)
    metadata.create_all(engine)
    return table


@pytest.fixture
def job(table: Table) -> JobTable:
    return JobTable(table)


@pytest.fixture
def profile() -> Profile:
    """Leases of 60 s, a back-off of exactly 5 s, and every word registered."""
    return Profile(
        lease_seconds=60,
        heartbeat_seconds=20,
        backoff=Backoff.fixed(5),
        registers_skip=True,
        registers_expired=True,
    )


@pytest.fixture
def make_runtime(engine: Engine, job: JobTable, profile: Profile, clock: ManualClock) -> MakeRuntime:
    """Makes runtimes on the fresh table with the fixed profile and clock; arguments replace the defaults."""

    def make(**arguments: Any) -> DurableJobRuntime:
        chosen = {"profile": profile, "clock": clock, **arguments}
        return DurableJobRuntime(chosen.pop("engine", engine), chosen.pop("job", job), **chosen)

    return make


@pytest.fixture
def runtime(make_runtime: MakeRuntime) -> DurableJobRuntime:
    return make_runtime()
