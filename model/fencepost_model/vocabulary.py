"""The vocabulary: fifteen standard field names, their types, when each is required, and the names they go by elsewhere.

Source 000 §2. A table of an application maps its own column names onto these. Two standard fields share a column only
where that is registered, since a shared column makes one of the two unreadable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fencepost_model.shapes import Sort


@dataclass(frozen=True, slots=True)
class StandardField:
    """One name of the vocabulary: its sort, whether null is allowed, when a queue must have it, other names."""

    name: str
    sort: Sort
    nullable: bool
    required: str
    aliases: tuple[str, ...] = ()


VOCABULARY: tuple[StandardField, ...] = (
    StandardField("status", Sort.WORD, False, "always"),
    StandardField("worker_id", Sort.IDENTITY, True, "once claimed", ("lease_owner",)),
    StandardField("lease_expires_at", Sort.INSTANT, True, "once claimed"),
    StandardField("lease_generation", Sort.COUNT, False, "always (D-18)", ("claim_generation", "slot_generation")),
    StandardField("heartbeat_at", Sort.INSTANT, True, "once claimed", ("claimed_at",)),
    StandardField("attempt_count", Sort.COUNT, False, "always", ("attempt_no",)),
    StandardField("max_attempts", Sort.COUNT, False, "where retries happen"),
    StandardField("attempt_id", Sort.IDENTITY, True, "always (D-18)", ("attempt_uid",)),
    StandardField("cancel_requested_at", Sort.INSTANT, True, "where jobs can be cancelled", ("cancel_requested",)),
    StandardField("error_code", Sort.TEXT, True, "on failure", ("last_error_code",)),
    StandardField("error_message", Sort.TEXT, True, "never"),
    StandardField("started_at", Sort.INSTANT, True, "never", ("claimed_at",)),
    StandardField("finished_at", Sort.INSTANT, True, "once ended"),
    StandardField("next_attempt_at", Sort.INSTANT, True, "where back-off happens", ("retry_after",)),
    StandardField("deadline_at", Sort.INSTANT, True, "for long work"),
)
"""The fifteen standard names."""

EXTENSIONS: tuple[StandardField, ...] = (
    StandardField("next_poll_at", Sort.INSTANT, True, "where jobs park"),
    StandardField("provider_ref", Sort.TEXT, True, "where jobs park"),
    StandardField("poll_count", Sort.COUNT, False, "where jobs park"),
)
"""Names that occur only in mappings of the source, registered here so that they mean one thing."""

SHARED_COLUMNS: frozenset[frozenset[str]] = frozenset({frozenset({"heartbeat_at", "started_at"})})
"""Pairs of standard names that may share one column (``claimed_at`` of the build queue)."""


class VocabularyError(ValueError):
    """A mapping of standard names onto columns that cannot work; the message says what to change."""


@dataclass(frozen=True)
class ColumnVocabulary:
    """Which column of an application's table carries which standard field; names not listed carry their own name.

    Raises ``VocabularyError`` when a name is not in the vocabulary or two fields share a column without registration.
    """

    columns: Mapping[str, str]

    def __post_init__(self) -> None:
        names = {entry.name for entry in (*VOCABULARY, *EXTENSIONS)}
        for name in self.columns:
            if name not in names:
                raise VocabularyError(
                    f"{name!r} is no field of the vocabulary; choose one of {', '.join(sorted(names))}"
                )
        taken: dict[str, str] = {}
        for name in sorted(names):
            column = self.column(name)
            other = taken.setdefault(column, name)
            if other != name and frozenset({other, name}) not in SHARED_COLUMNS:
                raise VocabularyError(f"{other} and {name} are both mapped onto column {column!r}; give each its own")

    def column(self, name: str) -> str:
        """The column that carries the standard field ``name``."""
        return self.columns.get(name, name)


STANDARD = ColumnVocabulary({})
"""The mapping of every field onto a column of its own name."""

BESIDE: Mapping[str, str] = {
    "worker_epoch": "worker_id",
    "cancel_version": "cancel_requested_at",
    "dispatch_error_code": "error_code",
}
"""Columns that some tables have beside the one that carries a standard field, and that field (source 000 §5.4)."""
