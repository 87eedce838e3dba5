"""Error codes: six families, the codes registered by name, the patterns, and the one function that classifies a code.

A code is machine-readable and stable; the message beside it never decides anything (contract §5). The source's
patterns overlap, so a code is looked up in three steps (decision D-9): an exact registration wins; else the patterns
are tried in the fixed order FENCE, CANCEL, LIMIT, LEASE, CONTENT, INFRA; a code that matches none is refused. A code
that one of LEASE, CONTENT and INFRA would decide, and that matches CONTENT and also LEASE or INFRA, is refused
unless it is registered, for infrastructure trouble must never pass as a fault of the content, nor content as trouble.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Family(Enum):
    """The six families of error codes (D-8)."""

    LEASE = "LEASE"
    INFRA = "INFRA"
    CONTENT = "CONTENT"
    CANCEL = "CANCEL"
    FENCE = "FENCE"
    LIMIT = "LIMIT"


class Place(Enum):
    """Where in a code a pattern must stand."""

    PREFIX = "prefix"
    INFIX = "infix"
    SUFFIX = "suffix"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A piece of text that, standing at its place, puts a code into a family."""

    text: str
    place: Place
    family: Family

    def matches(self, code: str) -> bool:
        """Whether the code carries the text at its place; an infix has something on both sides of it."""
        match self.place:
            case Place.PREFIX:
                return code.startswith(self.text)
            case Place.SUFFIX:
                return code.endswith(self.text)
            case Place.INFIX:
                return self.text in code[1:-1]


class UnclassifiedCode(ValueError):
    """The code fits no family, or two that exclude each other; it must be registered by name."""


def _prefix(family: Family, *texts: str) -> tuple[Pattern, ...]:
    return tuple(Pattern(text, Place.PREFIX, family) for text in texts)


def _infix(family: Family, *texts: str) -> tuple[Pattern, ...]:
    return tuple(Pattern(text, Place.INFIX, family) for text in texts)


def _suffix(family: Family, *texts: str) -> tuple[Pattern, ...]:
    return tuple(Pattern(text, Place.SUFFIX, family) for text in texts)


ORDER: tuple[Family, ...] = (
    Family.FENCE,
    Family.CANCEL,
    Family.LIMIT,
    Family.LEASE,
    Family.CONTENT,
    Family.INFRA,
)
"""The order in which the families' patterns are tried (D-9)."""

PATTERNS: tuple[Pattern, ...] = (
    *_infix(Family.FENCE, "_LEASE_OWNER_"),
    *_suffix(Family.FENCE, "_LEASE_LOST", "_STATE_INCONSISTENT"),
    *_suffix(Family.CANCEL, "_CANCELLED", "_RUN_CANCELLED", "_RUN_NOT_ACTIVE"),
    *_suffix(Family.LIMIT, "_QUEUE_FULL", "_MAX_ATTEMPTS"),
    *_infix(Family.LIMIT, "_ADMISSION_"),
    *_infix(Family.LEASE, "_LEASE_"),
    *_prefix(Family.LEASE, "LEASE_TIMEOUT_"),
    *_suffix(Family.LEASE, "_INTERRUPTED"),
    *_infix(Family.CONTENT, "_VALIDATION_"),
    *_suffix(Family.CONTENT, "_FAILED", "_STALE"),
    *_prefix(Family.INFRA, "RENDER_", "RUNTIME_"),
    *_suffix(Family.INFRA, "_UNAVAILABLE", "_TIMEOUT"),
)
"""The patterns of source 000 §4, each with its place."""

LEASE_TIMEOUT_RECOVERED = "LEASE_TIMEOUT_RECOVERED"
"""Written by recovery when it puts a job back for another attempt."""
LEASE_TIMEOUT_MAX_ATTEMPTS = "LEASE_TIMEOUT_MAX_ATTEMPTS"
"""Written when a job ends because its attempts are spent."""
LEASE_RELEASE_CEILING = "LEASE_RELEASE_CEILING"
"""Written when a worker hands a job back that has been handed back too often."""
JOB_DEADLINE_EXCEEDED = "JOB_DEADLINE_EXCEEDED"
"""Written when a job ends because its deadline has passed (D-5)."""

REGISTERED: dict[str, Family] = {
    LEASE_TIMEOUT_MAX_ATTEMPTS: Family.LIMIT,
    LEASE_RELEASE_CEILING: Family.LEASE,
    JOB_DEADLINE_EXCEEDED: Family.LIMIT,
    "RUNTIME_VITE_QUEUE_FULL": Family.INFRA,
    "AI_RUN_PROCESS_STOPPED": Family.LEASE,
    "RENDER_WORKER_FAILED": Family.INFRA,
}
"""Codes whose family is stated, because no pattern or more than one fits them (D-9)."""

EXAMPLES: dict[Family, str] = {
    Family.LEASE: LEASE_TIMEOUT_RECOVERED,
    Family.INFRA: "RENDER_SERVICE_UNAVAILABLE",
    Family.CONTENT: "PAGE_SCREENSHOT_JOB_STALE",
    Family.CANCEL: "AI_RUN_CANCELLED",
    Family.FENCE: "BUILD_LEASE_OWNER_MISMATCH",
    Family.LIMIT: "RENDER_QUEUE_FULL",
}
"""One code of the source for each family; small worlds draw their codes from here."""

RETRYABLE: frozenset[Family] = frozenset({Family.LEASE, Family.INFRA})
"""The families after which a job may be tried again (D-21); LIMIT is not among them by default."""


INFRASTRUCTURE: frozenset[Family] = frozenset({Family.LEASE, Family.INFRA})
"""The families that tell of infrastructure trouble, which must never pass as a fault of the content."""


def classify(code: str) -> Family:
    """The family of an error code (contract §5, D-9).

    Raises ``UnclassifiedCode`` when no pattern fits, or when the code could be read both as a fault of the content and
    as infrastructure trouble; the message says how to register it.
    """
    if code in REGISTERED:
        return REGISTERED[code]
    fitting = {pattern.family for pattern in PATTERNS if pattern.matches(code)}
    first = next((family for family in ORDER if family in fitting), None)
    # Where FENCE, CANCEL or LIMIT decides, neither reading of the rest makes a job be tried again.
    if first in INFRASTRUCTURE | {Family.CONTENT} and Family.CONTENT in fitting and fitting & INFRASTRUCTURE:
        raise UnclassifiedCode(
            f"error code {code!r} reads both as CONTENT and as infrastructure; register it in REGISTERED"
        )
    if first is not None:
        return first
    raise UnclassifiedCode(f"error code {code!r} fits no family; use a registered suffix or add it to REGISTERED")


def is_retryable(code: str) -> bool:
    """Whether a job that failed with this code may be tried again: the one retry decision (D-21)."""
    return classify(code) in RETRYABLE
