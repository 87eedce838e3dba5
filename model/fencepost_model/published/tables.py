"""The facts of the three sources as printed: words, numbers, counts, columns, patterns, each with its section.

Sources are cited by number: 000 the runtime contract, 001 the assessment of SQLite and background work, 003 the task
control design. A fact that several sections state stands here once for each of them, so that a program can compare
them; most agree. Nothing is mended here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from fencepost_model.error_codes import Place

Fact: TypeAlias = bool | int | float | str | tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Cited:
    """A value and the section that states it; None means that the section says there is none."""

    where: str
    value: Fact


@dataclass(frozen=True, slots=True)
class StatedCount:
    """A number that a text states about a list, and the list, from wherever it is printed."""

    subject: str
    where: str
    stated: int
    counted: str
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StandardName:
    """A row of 000 §2: a name, when it must be filled, and what it was called before."""

    name: str
    required: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PrintedPattern:
    """A pattern of 000 §4 as printed: where its underscores stand, so it is read. A star is dropped."""

    family: str
    text: str

    @property
    def place(self) -> Place:
        """Where the text must stand in a code, told by its underscores."""
        if self.text.startswith("_") and self.text.endswith("_"):
            return Place.INFIX
        return Place.SUFFIX if self.text.startswith("_") else Place.PREFIX

    def matches(self, code: str) -> bool:
        """Whether a code carries the text at that place; an infix has something on both sides."""
        match self.place:
            case Place.PREFIX:
                return code.startswith(self.text)
            case Place.SUFFIX:
                return code.endswith(self.text)
            case Place.INFIX:
                return self.text in code[1:-1]


@dataclass(frozen=True, slots=True)
class LeaseRow:
    """A row of 000 §2.3: seconds of lease and heartbeat; None where no number of seconds is printed."""

    queue: str
    lease: int | None
    heartbeat: int | None
    ratio: str


@dataclass(frozen=True, slots=True)
class Recovery:
    """A row of 001 §3.2 C: which rows it takes, how often at most (None: no limit is printed)."""

    name: str
    takes_null_lease: bool
    needs_lease_over: bool
    limit: int | None
    requeues_below: str


# --- facts that several sections state --------------------------------------------------------------------------------

FACTS: Mapping[str, tuple[Cited, ...]] = {
    # numbers
    "lease of image generation, seconds": (
        Cited("000 §2.3", 300),
        Cited("001 §0 N1", 120),
        Cited("001 §3.1", 120),
        Cited("001 A.2", 120),
    ),
    "heartbeat of image generation, seconds": (Cited("000 §2.3", 30), Cited("001 §0 N1", 30), Cited("001 A.2", 30)),
    "lease of MutationJob, seconds": (Cited("000 §2.3", 45), Cited("001 §3.1", 45), Cited("001 A.1", 45)),
    "heartbeat of MutationJob, seconds": (
        Cited("000 §2.3", 15),
        Cited("000 §5.1 row 9", 15),
        Cited("001 §3.1", 15),
        Cited("001 A.1", 15),
    ),
    "lease of the render attempt, seconds": (Cited("000 §2.3", 180), Cited("001 §3.1", 180), Cited("001 A.1", 180)),
    "lease of the screenshot queue, seconds": (Cited("000 §2.3", 300), Cited("001 §0 C4", 300), Cited("001 §3.1", 300)),
    "lease of the page queue, seconds": (Cited("000 §2.3", 300), Cited("001 §3.1", 300), Cited("001 A.1", 300)),
    "lease of the component queue, seconds": (Cited("000 §2.3", 300), Cited("001 §3.1", 300), Cited("001 A.1", 300)),
    "database lease of the backfill queue, seconds": (
        Cited("000 §2.3", 300),
        Cited("001 §0 N4", None),
        Cited("001 §3.1", None),
        Cited("001 §4.1 Q12", None),
    ),
    "database heartbeat of the backfill queue, seconds": (
        Cited("000 §2.3", 30),
        Cited("001 §0 N4", None),
        Cited("001 §3.1", None),
    ),
    "beat of a render worker, seconds": (Cited("000 §2.3", 5), Cited("001 §3.1", 0.25), Cited("001 §3.3", 0.25)),
    "busy time-out, milliseconds": (Cited("001 §0 C1", 10_000), Cited("001 §2.1", 10_000), Cited("001 A.1", 10_000)),
    "attempts of the backfill queue": (Cited("001 §0 N4", 2), Cited("001 §3.2 C", 2), Cited("001 A.2", 2)),
    "attempts of the page queue": (Cited("001 §3.2 C", 3), Cited("001 A.2", 3)),
    "attempts of a mutation job": (Cited("001 §3.2 C", 3), Cited("001 A.1", 3)),
    "recovery interval of mutation jobs, seconds": (Cited("001 §3.1", 30), Cited("001 A.1", 30)),
    "retention of results, days": (Cited("001 §3.2 C", 7), Cited("001 §6.4 step 8", 7), Cited("001 A.2", 7)),
    "render tick, seconds": (Cited("001 §3.1", 0.25), Cited("001 A.1", 0.25)),
    "delay of stop and pause across processes, milliseconds": (Cited("003 §13.8", 50), Cited("003 §13.10", 20)),
    # words
    "word of a successful ExternalTask": (Cited("000 §3", "completed"), Cited("000 §5.1 row 7", "succeeded")),
    "word of a successful ExternalBatch once §9 is done": (
        Cited("000 §3", "succeeded"),
        Cited("000 §5.1 row 8", "completed"),
        Cited("000 §5.3", "completed"),
    ),
    "terminal words of a job": (
        Cited("000 §0", ("succeeded", "failed", "cancelled")),
        Cited("000 §1.4 set", ("succeeded", "failed", "cancelled")),
        Cited("000 §1.4 by-way", ("succeeded", "failed", "cancelled", "skipped")),
        Cited("000 §2.1 by-ways", ("succeeded", "failed", "cancelled", "skipped", "expired")),
        Cited("000 §3", ("succeeded", "failed", "cancelled", "skipped")),
        Cited("000 §5.1 row 10", ("succeeded", "failed", "cancelled", "expired")),
    ),
    # recovery and gates
    "page mutation is recovered in the loop": (
        Cited("000 §5.1 row 5", True),
        Cited("000 §6.2", False),
        Cited("000 §9", True),
        Cited("001 §3.1", False),
    ),
    "component mutation is recovered in the loop": (
        Cited("000 §5.1 row 6", True),
        Cited("000 §6.2", False),
        Cited("000 §9", True),
        Cited("001 §3.2 C", False),
    ),
    "image generation is recovered in the loop": (
        Cited("000 §5.1 row 4", False),
        Cited("000 §6.2", True),
        Cited("001 §3.1", True),
    ),
    "backfill is recovered in the loop": (
        Cited("000 §5.1 row 3", True),
        Cited("000 §6.2", True),
        Cited("001 §3.2 C", False),
    ),
    "screenshots are recovered in the loop": (
        Cited("000 §5.1 row 2", True),
        Cited("000 §6.2", True),
        Cited("001 §3.1", True),
    ),
    "exceptions from the claim gate": (
        Cited("000 §5.2", ("external_task_queue", "reserve_attempt")),
        Cited("000 §9", ("reserve_attempt",)),
    ),
    "the shared write retry db/retry exists": (Cited("000 §10", True), Cited("001 §6.3.1 2b", False)),
    "dialect tests outside of app/db": (Cited("000 §8", ()), Cited("001 §6.3.1", ("app/scripts/test_data.py",))),
    "what option B keeps of step P2": (
        Cited("001 §6.0 option B", ("errors", "locks", "retry")),
        Cited("001 §6.3.1", ("errors", "indexes", "locks", "part of tx", "types")),
    ),
    # 003 against itself
    "the task executors that there are": (
        Cited("003 §5.3", ("inline", "process", "thread")),
        Cited("003 §7.1 P2", ("inline", "process", "thread")),
        Cited("003 §7.2 P2", ("inline", "thread")),
        Cited("003 §12", ("inline", "process", "thread")),
        Cited("003 §13.2", ("inline", "process", "thread")),
    ),
    "the words of TaskSnapshot.executor": (
        Cited("003 §2.4", ("inline", "thread")),
        Cited("003 §13.2", ("inline", "process", "thread")),
    ),
    "an executor runs outside commands": (
        Cited("003 §5.3", False),
        Cited("003 §10 D1", True),
        Cited("003 §13.2", False),
    ),
    "there is a process executor": (
        Cited("003 §5.4", True),
        Cited("003 §8 row 8.2", False),
        Cited("003 §11.4", True),
        Cited("003 §11.5", False),
        Cited("003 §12", True),
        Cited("003 §13.2", True),
        Cited("003 §13.10", True),
    ),
    "an orphan is told by": (
        Cited("003 §5.5", "its heartbeat, older than the idle time-out"),
        Cited("003 §12", "its supervisor's lease"),
    ),
    "reconcile may run an orphan again": (Cited("003 §5.5 requeue", True), Cited("003 §12", False)),
    "a failed task can be retried through the controller": (
        Cited("003 §3.1", True),
        Cited("003 §3.2", True),
        Cited("003 §7.1 P6", True),
        Cited("003 §14.4", False),
    ),
    "queries see the tasks of other processes": (Cited("003 §12", True), Cited("003 §14.4", False)),
    "a paused task holds resources": (
        Cited("003 §2.1", False),
        Cited("003 §2.3 v1.2", False),
        Cited("003 §2.3 v1.3", True),
        Cited("003 §11.2", True),
    ),
    "a task paused while it ran resumes into": (
        Cited("003 §2.3 v1.3", "running"),
        Cited("003 §3.1", "queued"),
        Cited("003 §11.2", "running"),
    ),
    "a task that is stuck ends": (
        Cited("003 §2.1, §2.4 TIMEOUT_IDLE", "failed, retried if it may"),
        Cited("003 §3.3", "lost"),
        Cited("003 §8 row 8.1", "lost"),
        Cited("003 §5.5 default", "failed, never retried"),
    ),
    "a task whose process has died ends": (
        Cited("003 §2.1", "lost"),
        Cited("003 §5.5 default", "failed"),
        Cited("003 §7.1 P5", "lost"),
    ),
    "what becomes of the attempts already made": (
        Cited("003 §2.2", "they are only ever added to"),
        Cited("003 §3.1 reset", "they are lost"),
    ),
    # one source against another
    "rows of a dead owner are recovered": (
        Cited("000 §0", "in the loop and at start; at start alone is forbidden"),
        Cited("003 §5.5", "at start alone"),
    ),
    "work of a dead owner": (
        Cited("000 §6.1", "is put back and done again, within its budget"),
        Cited("003 §5.5", "is never silently done again"),
    ),
}
"""What is stated more than once, by what it is about. Values of one subject are meant to be equal."""

# --- numbers that the texts state about lists -------------------------------------------------------------------------

QUEUES: tuple[str, ...] = (
    "ProjectBuildJob",
    "PageScreenshotJob",
    "AssetRenderHintBackfillJob",
    "AiImageGenerationJob",
    "AiPageMutationJob",
    "AiComponentMutationTask",
    "ExternalTask",
    "ExternalBatch",
    "MutationJob",
    "RenderRequest + RenderAttempt",
)
"""The numbered rows of 000 §5.1."""

FAMILIES: tuple[str, ...] = ("LEASE", "INFRA", "CONTENT", "CANCEL", "FENCE", "LIMIT")
"""The rows of 000 §4."""

LOOPS: tuple[str, ...] = (
    "render-coordinator",
    "api-mutation-worker",
    "api-mutation-sweeper",
    "ai-page-mutation-queue",
    "ai-page-mutation-worker-N",
    "ai-external-task-coordinator",
    "ai-image-generation-queue",
    "ai-component-mutation-queue",
    "ai-component-mutation-worker-N",
    "page-screenshot-queue",
    "asset-render-hint-backfill-queue",
    "runtime-artifact-sweeper",
    "ai-model-catalog-sync",
)
"""The loops of 001 §3.1, the two derived workers among them."""

STORE_METHODS: Mapping[str, tuple[str, ...]] = {
    "create": ("snapshot",),
    "save": ("snapshot", "expect_version"),
    "get": ("task_id",),
    "query": ("query",),
    "counts": (),
    "append": ("transition",),
    "history": ("task_id", "since_version"),
    "touch": ("task_id", "progress", "heartbeat_at"),
    "submit_command": ("command",),
    "claim_commands": ("now", "lease_seconds", "limit"),
    "complete_command": ("command_id", "now", "outcome"),
    "prune": ("keep_terminal",),
    "close": (),
}
"""The methods of TaskStore in 003 §5.6, with their parameters."""

CLI_WORDS: tuple[str, ...] = ("run", "ps", "status", "stop", "pause", "resume", "retry", "logs", "events")
"""The commands of 003 §5.1 and §7.1 P6."""

COUNTS: tuple[StatedCount, ...] = (
    StatedCount("families of error codes", "000 §0", 4, "000 §4", FAMILIES),
    StatedCount("task models", "000 §5", 10, "000 §5.1", QUEUES),
    StatedCount("claim dialects", "000 §5", 3, "000 §5.2", ("A", "B", "C")),
    StatedCount("roles", "000 §0", 4, "000 §1", ("Worker", "Lease", "Attempt", "Terminal")),
    StatedCount("what this round found anew", "001 §0", 3, "001 §0", ("N1", "N2", "N3", "N4")),
    StatedCount("background loops", "001 §0 C7", 13, "001 §3.1", LOOPS),
    StatedCount(
        "loops that write while idle",
        "001 §1",
        2,
        "001 §3.1",
        ("render-coordinator", "ai-external-task-coordinator", "ai-image-generation-queue"),
    ),
    StatedCount(
        "partial indexes",
        "001 §1",
        10,
        "001 §2.3",
        (
            "uq_render_attempts_worker_epoch_active",
            "ix_page_screenshot_jobs_dedupe_active",
            "ai_agent_external_batches resuming",
            "ai_agent_external_batches collecting",
            "ai_agent_runs",
            "ai_agent_requirements",
            "ai_chat_slot_bindings personal",
            "ai_chat_slot_bindings global",
            "ai_image_slot_bindings personal",
            "ai_image_slot_bindings global",
        ),
    ),
    StatedCount(
        "migrations that repeat a predicate",
        "001 §2.3",
        6,
        "001 §2.3",
        (
            "20260730_0100",
            "20260812_0100",
            "20260813_0100",
            "20260814_0100",
            "20260818_0100",
            "20260910_0100",
        ),
    ),
    StatedCount("compatibility debts", "001 §2.10", 8, "001 §2", ("S1", "S2", "S3", "S4", "S5", "S6", "S7", "S8")),
    StatedCount(
        "recoveries at start",
        "001 §3.3",
        7,
        "001 §3.3",
        ("page", "image", "component", "screenshot", "asset", "build", "run"),
    ),
    StatedCount("files of app/db", "001 §2.1", 5, "001 §2.1", ("__init__", "base", "errors", "session", "types")),
    StatedCount(
        "task statuses",
        "003 §12",
        15,
        "003 §2.1",
        (
            *("pending", "blocked", "queued", "starting", "running", "pausing", "paused", "retry_wait", "stopping"),
            *("succeeded", "failed", "stopped", "cancelled", "skipped", "lost"),
        ),
    ),
    StatedCount(
        "writers of a task",
        "003 §5.6",
        1,
        "003 §2.3, §3.1, §5.5",
        ("its supervisor", "whoever forces a transition", "whoever reconciles"),
    ),
    StatedCount("methods of the store", "003 §5.6", 14, "003 §5.6", tuple(STORE_METHODS)),
    StatedCount("commands of the command line", "003 §12", 11, "003 §5.1", CLI_WORDS),
    StatedCount("runnable examples", "003 §12", 12, "003 §5.7", ("01", "02", "03", "04")),
)
"""Every number that a text states about a list which is printed as well."""

# --- 000 §2: the vocabulary -------------------------------------------------------------------------------------------

VOCABULARY: tuple[StandardName, ...] = (
    StandardName("status", "always"),
    StandardName("worker_id", "claimed", ("lease_owner",)),
    StandardName("lease_expires_at", "claimed"),
    StandardName("lease_generation", "fenced", ("claim_generation",)),
    StandardName("heartbeat_at", "claimed", ("claimed_at",)),
    StandardName("attempt_count", "always"),
    StandardName("max_attempts", "retried"),
    StandardName("attempt_id", "explicit attempts", ("attempt_uid",)),
    StandardName("cancel_requested_at", "cancellable", ("cancel_requested", "cancel_version")),
    StandardName("error_code", "failed", ("last_error_code",)),
    StandardName("error_message", "failed"),
    StandardName("started_at", "never", ("claimed_at",)),
    StandardName("finished_at", "ended"),
    StandardName("next_attempt_at", "backed off", ("retry_after",)),
    StandardName("deadline_at", "long"),
)

COLUMNS: Mapping[str, Mapping[str, str | None]] = {
    "worker_id": {
        "ProjectBuild": "lease_owner",
        "Screenshot/Backfill/Image/Page": "worker_id",
        "ExternalTask": "worker_id",
        "MutationJob": "worker_id",
        "RenderRequest": None,
        "RenderAttempt": "worker_id",
    },
    "heartbeat_at": {
        "ProjectBuild": "claimed_at",
        "Screenshot/Backfill/Image/Page": "heartbeat_at",
        "ExternalTask": "heartbeat_at",
        "MutationJob": "heartbeat_at",
        "RenderRequest": None,
        "RenderAttempt": "last_heartbeat_at",
    },
    "lease_expires_at": {
        "ProjectBuild": "lease_expires_at",
        "Screenshot/Backfill/Image/Page": "lease_expires_at",
        "ExternalTask": "lease_expires_at",
        "MutationJob": "lease_expires_at",
        "RenderRequest": None,
        "RenderAttempt": "lease_expires_at",
    },
    "lease_generation": {
        "ProjectBuild": None,
        "Screenshot/Backfill/Image/Page": None,
        "ExternalTask": None,
        "MutationJob": "lease_generation",
        "RenderRequest": "claim_generation",
        "RenderAttempt": "slot_generation",
    },
    "attempt_count": {
        "ProjectBuild": "attempt_count",
        "Screenshot/Backfill/Image/Page": "attempt_count",
        "ExternalTask": "attempt_count",
        "MutationJob": "attempt_count",
        "RenderRequest": "attempt_count",
        "RenderAttempt": "attempt_no",
    },
    "attempt_id": {
        "ProjectBuild": "attempt_id",
        "Screenshot/Backfill/Image/Page": None,
        "ExternalTask": None,
        "MutationJob": None,
        "RenderRequest": None,
        "RenderAttempt": "attempt_uid",
    },
    "cancel": {
        "ProjectBuild": None,
        "Screenshot/Backfill/Image/Page": "cancel_requested_at",
        "ExternalTask": "cancel_requested_at",
        "MutationJob": "cancel_requested_at",
        "RenderRequest": "cancel_requested",
        "RenderAttempt": None,
    },
    "error_code": {
        "ProjectBuild": None,
        "Screenshot/Backfill/Image/Page": "error_code",
        "ExternalTask": "error_code",
        "MutationJob": "last_error_code",
        "RenderRequest": "error_code",
        "RenderAttempt": "error_code",
    },
    "next_attempt_at": {
        "ProjectBuild": None,
        "Screenshot/Backfill/Image/Page": None,
        "ExternalTask": None,
        "MutationJob": "next_attempt_at",
        "RenderRequest": "retry_after",
        "RenderAttempt": None,
    },
    "deadline_at": {
        "ProjectBuild": "deadline_at",
        "Screenshot/Backfill/Image/Page": None,
        "ExternalTask": None,
        "MutationJob": None,
        "RenderRequest": "deadline_at",
        "RenderAttempt": None,
    },
}
"""000 §5.4: for each row, the column that each model has for it; None where the cell holds no column of it."""

FURTHER_COLUMNS: tuple[Cited, ...] = (
    Cited("000 §2.3", "next_poll_at"),
    Cited("000 §5.4 RenderAttempt", "worker_epoch"),
    Cited("000 §5.4 RenderAttempt", "last_heartbeat_at"),
    Cited("000 §5.4 RenderAttempt", "slot_generation"),
    Cited("000 §5.4 RenderAttempt", "attempt_no"),
    Cited("000 §5.4 RenderAttempt", "dispatch_error_code"),
    Cited("000 §1.2", "active_occupancy"),
)
"""Columns that the text leans on, beside those that §2 lists."""

# --- 000 §4: error codes ----------------------------------------------------------------------------------------------

PATTERNS: tuple[PrintedPattern, ...] = tuple(
    PrintedPattern(family, text)
    for family, texts in {
        "LEASE": ("_LEASE_", "LEASE_TIMEOUT_", "_INTERRUPTED"),
        "INFRA": ("RENDER_", "RUNTIME_", "_UNAVAILABLE", "_TIMEOUT"),
        "CONTENT": ("_VALIDATION_", "_FAILED", "_STALE"),
        "CANCEL": ("_CANCELLED", "_RUN_CANCELLED", "_RUN_NOT_ACTIVE"),
        "FENCE": ("_LEASE_LOST", "_LEASE_OWNER_", "_STATE_INCONSISTENT"),
        "LIMIT": ("_QUEUE_FULL", "_MAX_ATTEMPTS", "_ADMISSION_"),
    }.items()
    for text in texts
)

EXAMPLES: Mapping[str, str] = {
    "LEASE_TIMEOUT_RECOVERED": "LEASE",
    "AI_PAGE_MUTATION_INTERRUPTED": "LEASE",
    "PAGE_SCREENSHOT_JOB_INTERRUPTED": "LEASE",
    "RENDER_SERVICE_UNAVAILABLE": "INFRA",
    "RENDER_DEADLINE_EXCEEDED": "INFRA",
    "RUNTIME_VITE_QUEUE_FULL": "INFRA",
    "PAGE_VALIDATION_FAILED": "CONTENT",
    "PAGE_SCREENSHOT_JOB_STALE": "CONTENT",
    "AI_RUN_CANCELLED": "CANCEL",
    "RENDER_CANCELLED": "CANCEL",
    "AI_RUN_NOT_ACTIVE": "CANCEL",
    "AI_PAGE_MUTATION_LEASE_LOST": "FENCE",
    "BUILD_LEASE_OWNER_MISMATCH": "FENCE",
    "AI_EXTERNAL_STATE_INCONSISTENT": "FENCE",
    "RENDER_QUEUE_FULL": "LIMIT",
    "LEASE_TIMEOUT_MAX_ATTEMPTS": "LIMIT",
}
"""The sixteen examples of 000 §4 with the family beside which they stand."""

OTHER_CODES: Mapping[str, str] = {"AI_RUN_PROCESS_STOPPED": "000 §6.3", "RENDER_RESULT_LOST": "001 §6.1"}
"""Codes that the sources use elsewhere, with the section."""

RETRYABLE_FAMILIES: tuple[str, ...] = ("LEASE", "INFRA")
BACKED_OFF_FAMILIES: tuple[str, ...] = ("LEASE",)
"""Families whose row says that the job is put back *after a back-off*."""

# --- time -------------------------------------------------------------------------------------------------------------

LEASES: tuple[LeaseRow, ...] = (
    LeaseRow("durable queues", 300, 30, "10x"),
    LeaseRow("MutationJob", 45, 15, "3x"),
    LeaseRow("image generation", 300, 30, "10x"),
    LeaseRow("ProjectBuild", 960, None, ""),
    LeaseRow("render attempt", 180, 5, ""),
)
"""000 §2.3."""

RATIO = 3
"""000 §1.2: a lease is at least so many heartbeats long, without exception."""

TIMES: Mapping[str, Cited] = {
    "render request": Cited("001 A.1 render_request_timeout_seconds", 120),
    "render attempt lease": Cited("001 A.1 render_attempt_lease_seconds", 180),
    "render attempts": Cited("001 A.1 render_max_attempts", 3),
    "AI waits for a screenshot": Cited("001 A.1 page_screenshot_ai_wait_timeout_seconds", 90),
    "screenshot lease": Cited("001 §0 C4", 300),
    "owner beat": Cited("000 §6.3", 10),
    "owner TTL": Cited("000 §6.3", 90),
    "owner scan": Cited("000 §6.3", 10),
    "render worker beat": Cited("000 §2.3", 5),
    "idle period of the acceptance test": Cited("001 §6.4", 600),
    "writes allowed while idle": Cited("001 §6.4", 0),
}
"""Seconds (and counts) that are compared with each other."""

SCREENSHOT_BEAT_CAP, SCREENSHOT_BEAT_DIVISOR = 30, 2
"""001 A.2: a screenshot beats every min(30, lease // 2) seconds."""

RECOVERIES: tuple[Recovery, ...] = (
    Recovery("durable_job_lease_service", True, True, 3, "attempts < max"),
    Recovery("MutationJobService", False, True, 3, "attempts + 1 < max"),
    Recovery("release_expired_attempt_leases", True, True, 3, "attempts < max"),
    Recovery("recover_external_continuations", True, True, None, "no limit"),
    Recovery("asset_render_hint_backfill", True, False, 2, "attempts < max"),
)
"""001 §3.2 C."""

# --- 000 §2.1: the diagram, and what the text says --------------------------------------------------------------------

DIAGRAM_EDGES: frozenset[tuple[str, str, str]] = frozenset(
    {
        ("pending", "claim", "running"),
        ("running", "complete", "succeeded"),
        ("running", "fail", "failed"),
        ("pending", "cancel", "failed"),
        ("running", "cancel_requested", "cancelled"),
        ("running", "skip", "skipped"),
    }
)
"""The arrows of the diagram: status, label, the box at the arrow's head; the note on skipped included."""

TEXT_EDGES: Mapping[tuple[str, str, str], str] = {
    ("pending", "claim", "running"): "000 §1.1",
    ("running", "complete", "succeeded"): "000 §1.4",
    ("running", "fail", "failed"): "000 §1.4",
    ("pending", "cancel", "cancelled"): "000 §2.2",
    ("running", "cancel_requested", "cancelled"): "000 §2.2",
    ("running", "skip", "skipped"): "000 §1.4",
    ("running", "recover", "pending"): "000 §6.1",
    ("running", "recover", "failed"): "000 §6.1",
    ("running", "recover", "cancelled"): "000 §6.1",
    ("running", "park", "waiting_provider"): "000 §2.1 by-ways",
}
"""Moves of a job that the text states."""

CANCEL_ANSWERS: frozenset[str] = frozenset({"pending", "running"})
"""The statuses for which 000 §2.2 says what a cancel request does."""

LIVE_JOB_STATUSES: tuple[str, ...] = ("pending", "running", "waiting_provider")

NAMED_WITHOUT_LIST: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "Attempt": ("000 §1.3", ()),
    "Requirement": ("000 §5.3, 001 §2.3", ("pending", "resolving")),
    "RenderAttempt": ("000 §2.1", ("expired", "unknown")),
    "PipelineRunStatus": ("003 §3.3", ()),
    "Command": ("003 §5.6", ()),
}
"""Machines that a source speaks of, and those of their words that it happens to print; no section lists any of them."""

PLAN_NEEDS: tuple[Cited, ...] = (Cited("001 §6.0", "is_transient_write_error"), Cited("001 §6.0", "read_probe"))
"""What step P3 of 001 says it will use of step P2."""

PLAN_REMOVED: tuple[Cited, ...] = (
    Cited("001 §6.3.1 2a", "is_transient_write_error"),
    Cited("001 §6.3.1 2a", "is_sqlite_lock_error"),
    Cited("001 §6.3.1 2b", "run_with_write_retry"),
    Cited("001 §6.3.1 2d", "read_probe"),
    Cited("001 §6.3.1 2d", "acquire_admission_lock"),
    Cited("001 §6.3.1 2e", "BoolInt"),
)
"""What the result of step P2 says it took out again."""
