"""The journal: one record of each accepted and each refused operation, in the model's words.

A journal is what makes a production system checkable afterwards: a record says which operation was called with which
arguments, which transition it took or which guards were false, who held the job, and how the job stood before and
after. `fencepost_verification` walks such records along the contract.

Records of accepted operations are written **after** their transaction has committed, so the journal never tells of
what did not happen; a crash in between may lose a record, never invent one. A refusal has written nothing to the store,
and its record is best effort. A sink that fails must not undo or hide an operation that is in force already: the
failure is logged and the operation's answer stands.
"""

import json
import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Protocol
from uuid import UUID

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class JournalRecord:
    """One operation on one job.

    `operation`, `case`: the transition taken, in the model's words; `case` is None when it was refused. `machine`: the
    machine of the model. `false_guards`: the false guards of a refusal, sorted. `reason`: the error code or exception
    behind the operation, for people. `worker_id`, `lease_generation`, `attempt_id`: the holder that acted, or from whom
    the job was taken. `arguments`: the model's parameters of the call. `before`, `after`: the job's fields by standard
    name; None where there was no job, and `after` is None for a refusal. `at`: the store's time of the operation, UTC.
    """

    operation: str
    case: str | None
    job_id: int | str | UUID | None
    queue: str | None
    at: datetime
    machine: str = "job"
    false_guards: tuple[str, ...] = ()
    reason: str | None = None
    worker_id: str | None = None
    lease_generation: int | None = None
    attempt_id: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None

    @property
    def accepted(self) -> bool:
        """Whether the operation was allowed."""
        return self.case is not None

    def as_json(self) -> dict[str, Any]:
        """The record in JSON's own types: times as ISO 8601 in UTC with microseconds, keys that are UUIDs as text."""
        return {
            "at": _plain(self.at),
            "machine": self.machine,
            "queue": self.queue,
            "operation": self.operation,
            "accepted": self.accepted,
            "case": self.case,
            "false_guards": list(self.false_guards),
            "reason": self.reason,
            "job_id": _plain(self.job_id),
            "holder": {
                "worker_id": self.worker_id,
                "lease_generation": self.lease_generation,
                "attempt_id": self.attempt_id,
            },
            "arguments": _plain_mapping(self.arguments),
            "before": None if self.before is None else _plain_mapping(self.before),
            "after": None if self.after is None else _plain_mapping(self.after),
        }


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds")
    return str(value) if isinstance(value, UUID) else value


def _plain_mapping(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _plain(value) for name, value in values.items()}


class JournalSink(Protocol):
    """Where records go. Called from the thread (or event loop) of the operation, so it must be quick."""

    def write(self, records: Sequence[JournalRecord]) -> None:
        """Take records in the order in which they happened; whatever it raises is logged and goes no further."""
        ...


class MemorySink:
    """Records kept in memory, in the order in which they came; safe to share between threads."""

    def __init__(self) -> None:
        """Begin empty."""
        self._lock = threading.Lock()
        self._records: list[JournalRecord] = []

    def write(self, records: Sequence[JournalRecord]) -> None:
        """Keep the records."""
        with self._lock:
            self._records.extend(records)

    @property
    def records(self) -> tuple[JournalRecord, ...]:
        """All records so far."""
        with self._lock:
            return tuple(self._records)


class JsonLinesSink:
    """Records appended to a file, one JSON object a line, flushed with each call; safe to share between threads.

    Use it as a context manager, or call `close`. Several processes may append to one file, since each call is one
    write of whole lines at its end.
    """

    def __init__(self, path: Path | str) -> None:
        """Open the file for appending; `OSError` if that is impossible."""
        self._lock = threading.Lock()
        self._file: IO[bytes] = Path(path).open("ab", buffering=0)  # noqa: SIM115 - closed by close()

    def write(self, records: Sequence[JournalRecord]) -> None:
        """Append one line for each record."""
        text = "".join(
            json.dumps(record.as_json(), ensure_ascii=False, separators=(",", ":")) + "\n" for record in records
        )
        with self._lock:
            self._file.write(text.encode())

    def close(self) -> None:
        """Close the file; later writes raise `ValueError`, which the runtime logs."""
        with self._lock:
            self._file.close()

    def __enter__(self) -> "JsonLinesSink":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def write_to(sink: JournalSink, records: Sequence[JournalRecord]) -> None:
    """Hand records to a sink; a sink that fails is logged, for the operations have happened whatever it does."""
    if not records:
        return
    try:
        sink.write(records)
    except Exception:
        log.exception(
            "The journal lost %d record(s): mend the sink, the operations themselves are in force.", len(records)
        )
