"""The ten queues of the sources as profiles: table, columns, words, lease and cadence, each number with its source.

Source 000 §5.1 lists ten queues that grew apart; a *profile* says how each of them speaks the contract. What a queue
calls its columns is a ``ColumnVocabulary``; what it calls its statuses are *aliases*, read as the standard word, and
written only where that is registered (``canceled`` of the External API, a promise to its clients). Statuses that no
alias explains are *extra*, each with the standard status it stands for or the reason why it stands for none.

A number is ``Cited``: the value, where it stands, and where another section says otherwise (then the later, implemented
state counts, D-17). What the sources leave open is ``None`` with the reason; nothing is invented to fill a gap. A field
that a table lacks is a ``Gap``; one that the contract requires needs the decision that mends it, else the profile is
refused, as is one whose lease cannot ride out a lost beat.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Generic, TypeVar

from fencepost_model.machines.job import CANCELLED, EXPIRED, FAILED, PENDING, RUNNING, SKIPPED, SUCCEEDED, WAITING
from fencepost_model.vocabulary import BESIDE, STANDARD, VOCABULARY, ColumnVocabulary

STATUSES: tuple[str, ...] = (PENDING, RUNNING, WAITING, SUCCEEDED, FAILED, CANCELLED, SKIPPED, EXPIRED)
"""The standard statuses of a job, which the words of a queue stand for."""

TERMINAL: frozenset[str] = frozenset({SUCCEEDED, FAILED, CANCELLED, SKIPPED, EXPIRED})
"""Those that end it."""

LEASE_OVER_HEARTBEAT = 3
"""How many heartbeats a lease holds at least (source 000 §1.2, contract §2)."""

V = TypeVar("V", float, int, str)


class QueueError(ValueError):
    """A profile that cannot work; the message says what to change."""


@dataclass(frozen=True, slots=True)
class Cited(Generic[V]):
    """A value and the section that gives it. None stands for what the sources leave open; ``why`` then says so.

    ``against`` holds what other sections say instead, each with its place.
    """

    value: V | None
    source: str
    why: str = ""
    against: tuple[tuple[V, str], ...] = ()

    def __post_init__(self) -> None:
        if self.value is None and not self.why:
            raise QueueError("a value that the sources leave open needs the reason: give why")
        if not self.source:
            raise QueueError(f"{self.value!r} needs the section that gives it: give source")


@dataclass(frozen=True, slots=True)
class StatusAlias:
    """A queue's word for a standard status, read as that; ``written``: the queue keeps writing it."""

    word: str
    stands_for: str
    source: str
    written: bool = False


@dataclass(frozen=True, slots=True)
class ExtraStatus:
    """A word that is no plain alias: the standard status that it stands for, or None with the reason in ``why``."""

    word: str
    stands_for: str | None
    why: str
    source: str
    terminal: bool = False


@dataclass(frozen=True, slots=True)
class Gap:
    """A standard field that a table of the sources lacks. ``mended_by`` cites what adds it, under its standard name."""

    field: str
    source: str
    mended_by: str = ""


@dataclass(frozen=True, slots=True)
class PartialIndex:
    """One of the partial indexes of 001 §2.3; ``name`` and ``unique`` are None where the source does not tell them."""

    table: str
    predicate: str
    source: str
    name: str | None = None
    unique: bool | None = None
    statuses: tuple[str, ...] = ()
    """the words of ``status`` that the predicate names"""


@dataclass(frozen=True)
class QueueTable:
    """One table of a queue: its name, its column names, the fields it lacks, and columns beside a standard field's."""

    name: str
    columns: ColumnVocabulary = STANDARD
    gaps: tuple[Gap, ...] = ()
    beside: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """column beside -> the standard field that it belongs to"""

    def __post_init__(self) -> None:
        for column, name in self.beside.items():
            if BESIDE.get(column) != name:
                raise QueueError(
                    f"column {column!r} is not registered beside {name}; add it to BESIDE of the vocabulary"
                )

    @property
    def lacks(self) -> frozenset[str]:
        """The standard fields that the table of the sources does not have."""
        return frozenset(gap.field for gap in self.gaps)


@dataclass(frozen=True, kw_only=True)
class QueueProfile:
    """How one queue speaks the contract. Durations are seconds.

    ``tables``: the table of the job first, then those that carry the rest of its fields. ``words``: every status word
    that the queue reads. ``lease``, ``heartbeat``: None where the queue has none, or the sources give none.
    ``is_aggregate``: it gathers jobs and is none itself (000 §5.3).

    Raises ``QueueError`` for a lease below three heartbeats, for a word that is unknown or has two meanings, for a
    required field that no table has and no decision adds, and for a number below its least value.
    """

    number: int
    name: str
    tables: tuple[QueueTable, ...]
    words: tuple[str, ...]
    source: str
    lease: Cited[float]
    heartbeat: Cited[float]
    max_attempts: Cited[int]
    recovery_delay: Cited[float]
    poll: Cited[float]
    capacity: Cited[int]
    retention: Cited[float]
    capacity_per_tenant: Cited[int] | None = None
    deadline: Cited[float] | None = None
    aliases: tuple[StatusAlias, ...] = ()
    extras: tuple[ExtraStatus, ...] = ()
    indexes: tuple[PartialIndex, ...] = ()
    cancellable: bool = True
    is_aggregate: bool = False

    def __post_init__(self) -> None:
        self._check_words()
        self._check_numbers()
        self._check_fields()

    def _check_words(self) -> None:
        meanings: dict[str, str | None] = {}
        for entry in self._explained:
            if entry.stands_for is not None and entry.stands_for not in STATUSES:
                told = f"{entry.word!r} of {self.name} stands for {entry.stands_for!r}, which is no status"
                raise QueueError(f"{told}; choose one of {', '.join(STATUSES)}")
            if entry.word in meanings and meanings[entry.word] != entry.stands_for:
                raise QueueError(f"{entry.word!r} of {self.name} has two meanings; leave one of them out")
            if entry.word in STATUSES and entry.stands_for not in (None, entry.word):
                raise QueueError(f"{entry.word!r} of {self.name} is a standard status; it can stand for itself only")
            meanings[entry.word] = entry.stands_for
        for word in self.words:
            if word not in STATUSES and word not in meanings:
                raise QueueError(f"{word!r} of {self.name} is no status; list it among aliases or extras")
        written = [alias.stands_for for alias in self.aliases if alias.written]
        for status in written:
            if written.count(status) > 1:
                raise QueueError(f"{self.name} writes {status!r} as two words; let one alias be written")
        for index in self.indexes:
            if not set(index.statuses) <= set(self.words):
                raise QueueError(f"an index on {index.table} names a status that {self.name} lacks; mend its predicate")

    def _check_numbers(self) -> None:
        lease, beat = self.lease.value, self.heartbeat.value
        if lease is not None and not lease > 0:
            raise QueueError(f"a lease of {lease:g} s for {self.name} is no lease; give more than 0 s")
        if beat is not None and not beat > 0:
            raise QueueError(f"a heartbeat every {beat:g} s for {self.name} is none; give more than 0 s, or None")
        if lease is not None and beat is not None and lease < LEASE_OVER_HEARTBEAT * beat:
            told = f"a lease of {lease:g} s for {self.name} is shorter than three heartbeats of {beat:g} s"
            raise QueueError(f"{told}; give at least {LEASE_OVER_HEARTBEAT * beat:g} s, or beat more often")
        for told, cited, least in (
            ("max_attempts", self.max_attempts, 1),
            ("recovery_delay", self.recovery_delay, 0),
            ("capacity", self.capacity, 1),
            ("retention", self.retention, 0),
        ):
            if cited.value is not None and cited.value < least:
                raise QueueError(f"{told} of {cited.value} for {self.name} makes no sense; give at least {least}")

    def _check_fields(self) -> None:
        for name in self.required_fields:
            if self.table_of(name) is None and not any(gap.mended_by for gap in self.gaps_of(name)):
                raise QueueError(f"{self.name} has no {name}, which it needs; map a column, or cite what adds it")

    @property
    def _explained(self) -> tuple[StatusAlias | ExtraStatus, ...]:
        return (*self.aliases, *self.extras)

    @property
    def required_fields(self) -> tuple[str, ...]:
        """The standard fields that the contract demands of this queue (000 §2, D-18, contract §2 park)."""
        if self.is_aggregate:
            return ("status", "lease_expires_at", "lease_generation")
        wanted = {
            "always": True,
            "always (D-18)": True,
            "once claimed": True,
            "once ended": True,
            "on failure": True,
            "never": False,
            "where retries happen": self.max_attempts.value != 1,
            "where jobs can be cancelled": self.cancellable,
            "where back-off happens": bool(self.recovery_delay.value),
            "for long work": self.deadline is not None or self.parks,
        }
        return tuple(entry.name for entry in VOCABULARY if wanted[entry.required])

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """Required fields that no table of the sources has, with what mends it."""
        absent = (name for name in self.required_fields if self.table_of(name) is None)
        return tuple(next(gap for gap in self.gaps_of(name) if gap.mended_by) for name in absent)

    def gaps_of(self, name: str) -> tuple[Gap, ...]:
        """The gaps of one field, table by table."""
        return tuple(gap for table in self.tables for gap in table.gaps if gap.field == name)

    def table_of(self, name: str) -> QueueTable | None:
        """The first table of the sources that carries the standard field ``name``."""
        return next((table for table in self.tables if name not in table.lacks), None)

    @property
    def parks(self) -> bool:
        """Whether its jobs wait for a provider without a lease."""
        return WAITING in self.words

    @property
    def terminal_words(self) -> tuple[str, ...]:
        """The words that end a job of this queue, in the order listed."""
        ending = {extra.word for extra in self.extras if extra.terminal}
        return tuple(word for word in self.words if word in ending or self.read(word) in TERMINAL)

    def read(self, word: str) -> str | None:
        """The standard status of a word of the queue (read side); None for a word that stands for none.

        Raises ``QueueError`` for a word that the queue does not have.
        """
        if word not in self.words:
            raise QueueError(f"{word!r} is no word of {self.name}; choose one of {', '.join(self.words)}")
        return next((entry.stands_for for entry in self._explained if entry.word == word), word)

    def written(self, status: str) -> str:
        """The word that the queue writes for a standard status (write side).

        Raises ``QueueError`` for a status that the queue does not register.
        """
        kept = [alias.word for alias in self.aliases if alias.written and alias.stands_for == status]
        if kept:
            return kept[0]
        if status in STATUSES and any(self.read(word) == status for word in self.words):
            return status
        raise QueueError(f"{self.name} does not register {status!r}; use a status that its words stand for")


def open_number(why: str, source: str = "000 §5.1") -> Cited[float]:
    """A number that the sources do not give."""
    return Cited(None, source, why)


def open_count(why: str, source: str = "000 §5.1") -> Cited[int]:
    """A count that the sources do not give."""
    return Cited(None, source, why)


# --- the ten partial indexes ------------------------------------------------------------------------------------------

RENDER_SLOTS = PartialIndex(
    "render_attempts", "active_occupancy = 1", "001 §2.3", "uq_render_attempts_worker_epoch_active", unique=True
)
SCREENSHOT_DEDUPE = PartialIndex(
    "page_screenshot_jobs",
    "status IN ('pending','running')",
    "001 §2.3",
    "ix_page_screenshot_jobs_dedupe_active",
    statuses=(PENDING, RUNNING),
)
BATCH_RESUMING = PartialIndex(
    "ai_agent_external_batches", "status = 'resuming'", "001 §2.3; INV-2", unique=True, statuses=("resuming",)
)
BATCH_COLLECTING = PartialIndex(
    "ai_agent_external_batches", "status = 'collecting'", "001 §2.3; INV-2", unique=True, statuses=("collecting",)
)
LIVE_RUNS = PartialIndex(
    "ai_agent_runs",
    "status IN ('running','paused','waiting_external','cancelling')",
    "001 §2.3",
    statuses=("running", "paused", "waiting_external", "cancelling"),
)
OPEN_REQUIREMENTS = PartialIndex(
    "ai_agent_requirements",
    "kind='external_job' AND status IN ('pending','resolving')",
    "001 §2.3",
    statuses=("pending", "resolving"),
)

PARTIAL_INDEXES: tuple[PartialIndex, ...] = (
    RENDER_SLOTS,
    SCREENSHOT_DEDUPE,
    BATCH_RESUMING,
    BATCH_COLLECTING,
    LIVE_RUNS,
    OPEN_REQUIREMENTS,
    *(
        PartialIndex(table, f"scope = '{scope}'", "001 §2.3")
        for table in ("ai_chat_slot_bindings", "ai_image_slot_bindings")
        for scope in ("personal", "global")
    ),
)
"""The ten partial indexes that the sources' tables have, whether of a queue or not."""


# --- numbers that are not of one queue --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WriteRetry:
    """How often and how late a write (or read) that met a lock is tried again; milliseconds between the tries."""

    name: str
    attempts: int
    delays_ms: tuple[float, ...]
    source: str


WRITE_RETRIES: tuple[WriteRetry, ...] = (
    WriteRetry("run events", 4, (25, 50, 100), "001 §2.6, A.2"),
    WriteRetry("final write of a screenshot", 3, (50, 100), "001 §2.6, A.2"),
    WriteRetry("final write of a page mutation", 3, (50, 100), "001 §2.6, A.2"),
    WriteRetry("idempotency (a read)", 4, (50, 100, 200), "001 C2, §2.6, A.2"),
)
"""The four policies of the sources: number of tries, and the pauses between them (doubling, but for the last)."""

BUSY_TIMEOUT_MS: Cited[int] = Cited(10_000, "001 C1, A.1", against=((7_000, "001 C1, unit test only"),))
"""How long SQLite waits for a lock, in milliseconds."""
OWNER_TTL: Cited[float] = Cited(90.0, "000 §6.3")
"""How long a process owner lives without a beat."""
OWNER_HEARTBEAT: Cited[float] = Cited(10.0, "000 §6.3")
"""How often a process owner beats."""
OWNER_SCAN: Cited[float] = Cited(10.0, "000 §6.3")
"""How often the reaper looks for dead owners."""
AUDIT_LEAST: Cited[float] = Cited(30.0, "001 §6.4", against=((0.5, "001 §3.1, as found"),))
"""The audit of tables against each other runs no oftener than this."""
AUDIT_MOST: Cited[float] = Cited(60.0, "001 §6.4")
"""And no more seldom."""
AUDIT_GRACE_LEAST: Cited[float] = Cited(10.0, "001 A.2")
"""The audit forgives what is younger than this, or than two polls."""
UNKNOWN_RECONCILED_AFTER: Cited[float] = Cited(30.0, "001 A.1")
"""A render attempt whose state is unknown is reconciled after so long."""
RENDER_WORKER_BEAT: Cited[float] = Cited(5.0, "000 §2.3")
"""How often the beats of a render worker are written at most; they renew no lease."""
IDLE_POLL_LEAST: Cited[float] = Cited(2.0, "001 §6.4")
"""An idle poll backs off to between this"""
IDLE_POLL_MOST: Cited[float] = Cited(5.0, "001 §6.4")
"""and this."""


def audit_grace(poll: float) -> float:
    """How young, in seconds, a difference between two tables may be before the audit reports it (001 A.2)."""
    return max(AUDIT_GRACE_LEAST.value or 0.0, 2 * poll)


# --- the ten profiles -------------------------------------------------------------------------------------------------

_PLAIN = (PENDING, RUNNING, SUCCEEDED, FAILED, CANCELLED)
_COMPLETED = StatusAlias("completed", SUCCEEDED, "000 §3")
_DURABLE_LEASE: Cited[float] = Cited(300.0, "000 §2.3; 001 A.1")
_DURABLE_BEAT: Cited[float] = Cited(30.0, "000 §2.3; 001 A.1")
_AT_ONCE: Cited[float] = Cited(0.0, "001 §3.2 C")
_THREE: Cited[int] = Cited(3, "001 §3.2 C, A.2")
_GENERATION = Gap("lease_generation", "000 §5.4", "D-18")
_ATTEMPT = Gap("attempt_id", "000 §5.4", "D-18")
_NO_BACKOFF = Gap("next_attempt_at", "000 §5.4")
_NO_DEADLINE = Gap("deadline_at", "000 §5.4")
_DURABLE_GAPS = (_GENERATION, _ATTEMPT, _NO_BACKOFF, _NO_DEADLINE)
_NO_CAPACITY = open_count("no limit of this queue is given", "001 A.1")
_NO_RETENTION = open_number("how long rows are kept is not given", "001 A.1")
_SHARED_POLL: Cited[float] = Cited(0.5, "001 §3.1, A.1")

PROJECT_BUILD = QueueProfile(
    number=1,
    name="ProjectBuildJob",
    tables=(
        QueueTable(
            "project_build_jobs",
            ColumnVocabulary({"worker_id": "lease_owner", "heartbeat_at": "claimed_at", "started_at": "claimed_at"}),
            (
                _GENERATION,
                Gap("error_code", "000 §5.4", "000 §5.1 row 1"),
                Gap("cancel_requested_at", "000 §5.4"),
                _NO_BACKOFF,
            ),
        ),
    ),
    words=(PENDING, RUNNING, SUCCEEDED, FAILED),
    source="000 §5.1 row 1",
    lease=Cited(960.0, "000 §2.3"),
    heartbeat=open_number("beats come with progress, at no fixed period", "000 §2.3"),
    max_attempts=open_count("attempts are counted, but no limit is given"),
    recovery_delay=Cited(0.0, "000 §9; 001 §3.2 C"),
    poll=open_number("how often it looks for work is not given"),
    capacity=_NO_CAPACITY,
    retention=open_number("7 d are given for the runtime's state of a build, not for its row", "001 A.1"),
    deadline=open_number("it has the column, but no length is given", "000 §1.2, §5.4"),
    cancellable=False,
)
PAGE_SCREENSHOT = QueueProfile(
    number=2,
    name="PageScreenshotJob",
    tables=(QueueTable("page_screenshot_jobs", gaps=_DURABLE_GAPS),),
    words=(*_PLAIN, SKIPPED),
    source="000 §5.1 row 2",
    lease=Cited(300.0, "000 §2.3; 001 C4", against=((180.0, "001 A.1, never in effect"),)),
    heartbeat=_DURABLE_BEAT,
    max_attempts=_THREE,
    recovery_delay=_AT_ONCE,
    poll=Cited(1.0, "001 §3.1, A.1"),
    capacity=_NO_CAPACITY,
    retention=_NO_RETENTION,
    extras=(ExtraStatus(SKIPPED, SKIPPED, "the content has gone stale", "000 §2.1"),),
    indexes=(SCREENSHOT_DEDUPE,),
)
RENDER_HINT_BACKFILL = QueueProfile(
    number=3,
    name="AssetRenderHintBackfillJob",
    tables=(QueueTable("asset_render_hint_backfill_jobs", gaps=_DURABLE_GAPS),),
    words=_PLAIN,
    source="000 §5.1 row 3",
    lease=Cited(300.0, "000 §2.3", against=((180.0, "001 N4: a lock elsewhere, no lease in the table"),)),
    heartbeat=Cited(30.0, "000 §2.3"),
    max_attempts=Cited(2, "001 N4, A.2"),
    recovery_delay=_AT_ONCE,
    poll=Cited(1.0, "001 §3.1, A.1"),
    capacity=_NO_CAPACITY,
    retention=_NO_RETENTION,
)
IMAGE_GENERATION = QueueProfile(
    number=4,
    name="AiImageGenerationJob",
    tables=(
        QueueTable(
            "ai_image_generation_jobs",
            gaps=(_GENERATION, _ATTEMPT, _NO_BACKOFF, Gap("deadline_at", "000 §5.4", "contract §2 park, decision 5")),
        ),
    ),
    words=(*_PLAIN, WAITING, "error", "completed"),
    source="000 §5.1 row 4",
    lease=Cited(300.0, "000 §2.3", against=((120.0, "001 N1, A.2"),)),
    heartbeat=Cited(30.0, "000 §2.3; 001 A.2"),
    max_attempts=_THREE,
    recovery_delay=_AT_ONCE,
    poll=Cited(0.5, "001 N1, A.2"),
    capacity=_NO_CAPACITY,
    retention=_NO_RETENTION,
    aliases=(StatusAlias("error", FAILED, "000 §3"), _COMPLETED),
    extras=(ExtraStatus(WAITING, WAITING, "handed to a provider, which is polled", "000 §2.1"),),
)
PAGE_MUTATION = QueueProfile(
    number=5,
    name="AiPageMutationJob",
    tables=(QueueTable("ai_page_mutation_jobs", gaps=_DURABLE_GAPS),),
    words=(*_PLAIN, "completed"),
    source="000 §5.1 row 5",
    lease=_DURABLE_LEASE,
    heartbeat=_DURABLE_BEAT,
    max_attempts=_THREE,
    recovery_delay=_AT_ONCE,
    poll=_SHARED_POLL,
    capacity=Cited(16, "001 A.1"),
    retention=_NO_RETENTION,
    aliases=(_COMPLETED,),
)
COMPONENT_MUTATION = QueueProfile(
    number=6,
    name="AiComponentMutationTask",
    tables=(
        QueueTable("ai_agent_external_tasks", gaps=_DURABLE_GAPS),
        QueueTable("ai_component_mutation_tasks", gaps=_DURABLE_GAPS),
    ),
    words=(*_PLAIN, "completed"),
    source="000 §5.1 row 6",
    lease=_DURABLE_LEASE,
    heartbeat=_DURABLE_BEAT,
    max_attempts=_THREE,
    recovery_delay=_AT_ONCE,
    poll=_SHARED_POLL,
    capacity=_NO_CAPACITY,
    retention=_NO_RETENTION,
    aliases=(_COMPLETED,),
)
EXTERNAL_TASK = QueueProfile(
    number=7,
    name="ExternalTask",
    tables=(QueueTable("ai_agent_external_tasks", gaps=_DURABLE_GAPS),),
    words=(*_PLAIN, "completed"),
    source="000 §5.1 row 7",
    lease=open_number(
        "the table of leases does not list it; its domain job's lease is the one that counts", "000 §2.3"
    ),
    heartbeat=open_number("the table of leases does not list it", "000 §2.3"),
    max_attempts=open_count("its domain job counts the attempts"),
    recovery_delay=open_number("it ends with its domain job, or by reconciliation", "000 §6.2"),
    poll=_SHARED_POLL,
    capacity=_NO_CAPACITY,
    retention=Cited(604_800.0, "001 A.2"),
    aliases=(_COMPLETED,),
)
EXTERNAL_BATCH = QueueProfile(
    number=8,
    name="AiAgentExternalBatch",
    tables=(QueueTable("ai_agent_external_batches", gaps=(Gap("attempt_count", "001 §3.2 C", "D-25"),)),),
    words=("collecting", "waiting_tasks", "ready", "resuming", "completed", FAILED, CANCELLED),
    source="000 §5.1 row 8, §5.3",
    lease=Cited(300.0, "001 §3.1"),
    heartbeat=Cited(30.0, "001 §3.1"),
    max_attempts=open_count("it resumes without a limit; the contract adds a resume budget (D-25)", "001 §3.2 C"),
    recovery_delay=Cited(0.0, "001 §3.2 C"),
    poll=_SHARED_POLL,
    capacity=_NO_CAPACITY,
    retention=_NO_RETENTION,
    extras=(
        ExtraStatus("collecting", None, "it still gathers tasks; no job does", "000 §2.1"),
        ExtraStatus("waiting_tasks", None, "its tasks run; it does nothing itself", "000 §2.1"),
        ExtraStatus("ready", None, "its run may go on; a batch is claimed, but is no job", "000 §2.1"),
        ExtraStatus("resuming", None, "a coordinator goes on with its run", "000 §2.1"),
        ExtraStatus("completed", None, "a batch's own word, not an alias", "000 §5.3", terminal=True),
        ExtraStatus(FAILED, None, "a batch's own word", "000 §5.3", terminal=True),
        ExtraStatus(CANCELLED, None, "a batch's own word", "000 §5.3", terminal=True),
    ),
    indexes=(BATCH_RESUMING, BATCH_COLLECTING),
    is_aggregate=True,
)
API_MUTATION = QueueProfile(
    number=9,
    name="ApiMutationJob",
    tables=(
        QueueTable("api_mutation_jobs", ColumnVocabulary({"error_code": "last_error_code"}), (_ATTEMPT, _NO_DEADLINE)),
    ),
    words=(PENDING, RUNNING, SUCCEEDED, FAILED, "canceled"),
    source="000 §5.1 row 9",
    lease=Cited(45.0, "000 §2.3; 001 A.1"),
    heartbeat=Cited(15.0, "000 §2.3; 001 A.1"),
    max_attempts=Cited(3, "001 A.1"),
    recovery_delay=Cited(5.0, "001 §3.2 C, A.2"),
    poll=Cited(1.0, "001 §3.1, A.2"),
    capacity=_NO_CAPACITY,
    retention=Cited(604_800.0, "001 A.1"),
    aliases=(StatusAlias("canceled", CANCELLED, "000 §3", written=True),),
)
RENDER = QueueProfile(
    number=10,
    name="RenderRequest",
    tables=(
        QueueTable(
            "render_requests",
            ColumnVocabulary(
                {
                    "lease_generation": "claim_generation",
                    "cancel_requested_at": "cancel_requested",
                    "next_attempt_at": "retry_after",
                }
            ),
            (
                Gap("worker_id", "000 §5.4"),
                Gap("heartbeat_at", "000 §5.4"),
                Gap("lease_expires_at", "000 §5.4"),
                Gap("attempt_id", "000 §5.4"),
            ),
            MappingProxyType({"cancel_version": "cancel_requested_at"}),
        ),
        QueueTable(
            "render_attempts",
            ColumnVocabulary(
                {"lease_generation": "slot_generation", "attempt_count": "attempt_no", "attempt_id": "attempt_uid"}
            ),
            (
                Gap("heartbeat_at", "000 §5.4", "contract §4 Slot: receipts renew, beats are the worker's"),
                Gap("cancel_requested_at", "000 §5.4"),
                _NO_BACKOFF,
                _NO_DEADLINE,
            ),
            MappingProxyType({"worker_epoch": "worker_id", "dispatch_error_code": "error_code"}),
        ),
    ),
    words=("queued", "executing", SUCCEEDED, FAILED, CANCELLED, EXPIRED, "unknown"),
    source="000 §5.1 row 10",
    lease=Cited(180.0, "000 §2.3; 001 A.1"),
    heartbeat=open_number("a lease is renewed by receipts only; the beats, every 5 s, are the worker's", "000 §2.3"),
    max_attempts=Cited(3, "001 A.1"),
    recovery_delay=Cited(2.0, "001 §3.2 C, A.2"),
    poll=Cited(0.25, "001 §3.1, A.1"),
    capacity=Cited(64, "001 A.1"),
    capacity_per_tenant=Cited(16, "001 A.1"),
    retention=_NO_RETENTION,
    deadline=Cited(120.0, "001 A.1"),
    aliases=(
        StatusAlias("queued", PENDING, "000 §2.1", written=True),
        StatusAlias("executing", RUNNING, "000 §2.1", written=True),
    ),
    extras=(
        ExtraStatus(EXPIRED, EXPIRED, "past its deadline or its whole budget", "000 §2.1"),
        ExtraStatus(
            "unknown", None, "an attempt whose worker is out of reach; the request stays executing", "000 §2.1"
        ),
    ),
    indexes=(RENDER_SLOTS,),
)

QUEUES: tuple[QueueProfile, ...] = (
    PROJECT_BUILD,
    PAGE_SCREENSHOT,
    RENDER_HINT_BACKFILL,
    IMAGE_GENERATION,
    PAGE_MUTATION,
    COMPONENT_MUTATION,
    EXTERNAL_TASK,
    EXTERNAL_BATCH,
    API_MUTATION,
    RENDER,
)
"""The ten queues of source 000 §5.1, in its order."""
