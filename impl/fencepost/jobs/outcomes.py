"""What operations answer: tokens, snapshots of a job, and outcomes, accepted or refused.

An operation that the contract refuses has changed nothing, and that is an ordinary answer, not an error: a worker that
lost its lease hears so every day. Operations therefore *return* `Accepted` or `Refused`. A caller for whom a refusal
is an error says `.require()`, which returns the acceptance or raises `OperationRefused`. Operations that look for work
(`claim`, `resume_poll`, `recover`, `expire_overdue`) return a list, empty when nothing is eligible.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, NoReturn, TypeAlias, TypeVar

from fencepost.errors import FencepostError

JobId: TypeAlias = int | str | uuid.UUID
"""The primary key of a job: a whole number in our own table, whatever an application's table has in its own."""


@dataclass(frozen=True, slots=True)
class Token:
    """What a holder remembers of its claim, and shows with each operation (contract §2 held, D-18)."""

    job_id: JobId
    worker_id: str
    lease_generation: int
    attempt_id: str


@dataclass(frozen=True, slots=True)
class JobSnapshot:
    """One job as it stood at one moment, under the standard names whatever the table calls them; times in UTC.

    `queue`, `priority` and `enqueued_at` are null where the table has no such column; a standard field without a
    column of its own reads null, or 0 if it is a count.
    """

    id: JobId
    queue: str | None
    priority: int | None
    enqueued_at: datetime | None
    status: str
    worker_id: str | None
    lease_expires_at: datetime | None
    lease_generation: int
    heartbeat_at: datetime | None
    attempt_count: int
    max_attempts: int
    attempt_id: str | None
    cancel_requested_at: datetime | None
    error_code: str | None
    error_message: str | None
    started_at: datetime | None
    finished_at: datetime | None
    next_attempt_at: datetime | None
    deadline_at: datetime | None
    next_poll_at: datetime | None
    provider_ref: str | None
    poll_count: int

    def standard(self) -> dict[str, Any]:
        """The fields of the contract, the fifteen of the vocabulary and the three extensions, by name."""
        return {name: getattr(self, name) for name in STANDARD_NAMES}


SNAPSHOT_NAMES: tuple[str, ...] = tuple(entry.name for entry in fields(JobSnapshot))
"""The fields of a snapshot in order."""

STANDARD_NAMES: tuple[str, ...] = SNAPSHOT_NAMES[SNAPSHOT_NAMES.index("status") :]
"""The fields of the contract, in the order of the model."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """A job that a worker holds now: the token to act with, the job as it stands, and its payload."""

    token: Token
    job: JobSnapshot
    payload: Any = field(repr=False, default=None)


@dataclass(frozen=True, slots=True)
class Accepted:
    """The operation was allowed and is in force once its transaction has committed.

    `case`: which of the operation's outcomes it was, in the model's words (`fail` may end in `retried`, `final`, ...).
    `at`: the store's time by which it was judged. `after`: the job as the operation left it. `before`: as it found it,
    where it was read, that is when a journal is kept and in every operation with more than one case.
    """

    operation: str
    case: str
    job_id: JobId
    at: datetime
    after: JobSnapshot
    before: JobSnapshot | None = None

    @property
    def accepted(self) -> bool:
        """True, so that either answer can be asked alike."""
        return True

    def require(self) -> "Accepted":
        """This acceptance."""
        return self


@dataclass(frozen=True, slots=True)
class Refused:
    """The operation was not allowed and has changed nothing.

    `guards`: the names of *all* guards of the model that were false, read in the same transaction. `found`: the job as
    it stood; None if there is no such job. `at`: the store's time by which it was judged.
    """

    operation: str
    job_id: JobId | None
    guards: frozenset[str]
    at: datetime
    found: JobSnapshot | None = None

    @property
    def accepted(self) -> bool:
        """False, so that either answer can be asked alike."""
        return False

    def require(self) -> NoReturn:
        """Raise `OperationRefused`."""
        raise OperationRefused(self)


Outcome: TypeAlias = Accepted | Refused


class OperationRefused(FencepostError):
    """An operation was refused whose caller had asked for acceptance; `refusal` says why."""

    def __init__(self, refusal: Refused) -> None:
        self.refusal = refusal
        if refusal.job_id is None:
            subject = "The job"
        elif refusal.found is None:
            subject = f"Job {refusal.job_id}, which does not exist,"
        else:
            subject = f"Job {refusal.job_id} ({refusal.found.status})"
        super().__init__(
            f"{subject} refused {refusal.operation}, which changed nothing, because these guards do not hold: "
            f"{', '.join(sorted(refusal.guards))}; look at the job before trying again."
        )


@dataclass(frozen=True, slots=True)
class SetBack:
    """A job whose hook raised when it was tried alone: left as it was, and not tried again before `until`."""

    job_id: JobId
    until: datetime
    error: Exception


T = TypeVar("T")


class Swept(list[T]):
    """The list that an operation looking for work returns: what it changed, and which jobs a hook stopped."""

    def __init__(self, changed: list[T], set_back: tuple[SetBack, ...] = ()) -> None:
        super().__init__(changed)
        self.set_back = set_back


def as_mapping(snapshot: JobSnapshot | None) -> Mapping[str, Any] | None:
    """A snapshot as names and values; None for none."""
    return None if snapshot is None else {name: getattr(snapshot, name) for name in SNAPSHOT_NAMES}
