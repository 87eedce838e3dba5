"""Error codes: six families, the codes registered by name, the patterns, and the one function that classifies a code.

A code is machine-readable and stable; the message beside it never decides anything (contract §5). The source's
patterns overlap, so a code is looked up in three steps (decision D-9): an exact registration wins; else the patterns
are tried in the fixed order FENCE, CANCEL, LIMIT, LEASE, CONTENT, INFRA; a code that matches none is refused. A code
that one of LEASE, CONTENT and INFRA would decide, and that matches CONTENT and also LEASE or INFRA, is refused
unless it is registered, for infrastructure trouble must never pass as a fault of the content, nor content as trouble.

Beside the function stands what it is about: ``KNOWN_CODES``, every code that the sources or the contract write down,
with its family and where it stands; and ``FAILURE_KINDS``, the nine ways in which a task fails (source 003 §2.4), as
families.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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


def fitting_families(code: str) -> frozenset[Family]:
    """The families of which at least one pattern fits the code; registrations are not looked at."""
    return frozenset(pattern.family for pattern in PATTERNS if pattern.matches(code))


def first_of(fitting: Collection[Family], order: Sequence[Family] = ORDER) -> Family | None:
    """The family that decides among those that fit: the first in the order; None when none fits (D-9)."""
    return next((family for family in order if family in fitting), None)


def is_torn(fitting: Collection[Family], order: Sequence[Family] = ORDER) -> bool:
    """Whether a code that fits these families reads both as a fault of the content and as infrastructure (§5).

    Where FENCE, CANCEL or LIMIT decides, it does not matter: neither reading of the rest makes a job be tried again.
    """
    decides = first_of(fitting, order) in INFRASTRUCTURE | {Family.CONTENT}
    return decides and Family.CONTENT in fitting and not INFRASTRUCTURE.isdisjoint(fitting)


def classify(code: str) -> Family:
    """The family of an error code (contract §5, D-9).

    Raises ``UnclassifiedCode`` when no pattern fits, or when the code could be read both as a fault of the content and
    as infrastructure trouble; the message says how to register it.
    """
    if code in REGISTERED:
        return REGISTERED[code]
    fitting = fitting_families(code)
    first = first_of(fitting)
    if first is None:
        raise UnclassifiedCode(f"error code {code!r} fits no family; use a registered suffix or add it to REGISTERED")
    if is_torn(fitting):
        raise UnclassifiedCode(
            f"error code {code!r} reads both as CONTENT and as infrastructure; register it in REGISTERED"
        )
    return first


def is_retryable(code: str) -> bool:
    """Whether a job that failed with this code may be tried again: the one retry decision (D-21)."""
    return classify(code) in RETRYABLE


# --- what is written down ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class KnownCode:
    """A code that a source or the contract writes down, the family that it is given there, and where.

    ``example`` marks the codes in the last column of the source's table of families: what an order of the families has
    to get right.
    """

    code: str
    family: Family
    source: str
    example: bool = False

    @property
    def retryable(self) -> bool:
        """Whether a job that failed with it may be tried again (D-21)."""
        return self.family in RETRYABLE

    @property
    def registered(self) -> bool:
        """Whether its family is stated by name, not found by a pattern."""
        return self.code in REGISTERED


def _examples(family: Family, *codes: str) -> tuple[KnownCode, ...]:
    return tuple(KnownCode(code, family, "000 §4", example=True) for code in codes)


KNOWN_CODES: tuple[KnownCode, ...] = (
    *_examples(
        Family.LEASE, LEASE_TIMEOUT_RECOVERED, "AI_PAGE_MUTATION_INTERRUPTED", "PAGE_SCREENSHOT_JOB_INTERRUPTED"
    ),
    *_examples(Family.INFRA, "RENDER_SERVICE_UNAVAILABLE", "RENDER_DEADLINE_EXCEEDED", "RUNTIME_VITE_QUEUE_FULL"),
    *_examples(Family.CONTENT, "PAGE_VALIDATION_FAILED", "PAGE_SCREENSHOT_JOB_STALE"),
    *_examples(Family.CANCEL, "AI_RUN_CANCELLED", "RENDER_CANCELLED", "AI_RUN_NOT_ACTIVE"),
    *_examples(
        Family.FENCE, "AI_PAGE_MUTATION_LEASE_LOST", "BUILD_LEASE_OWNER_MISMATCH", "AI_EXTERNAL_STATE_INCONSISTENT"
    ),
    *_examples(Family.LIMIT, "RENDER_QUEUE_FULL", LEASE_TIMEOUT_MAX_ATTEMPTS),
    KnownCode("AI_RUN_PROCESS_STOPPED", Family.LEASE, "000 §6.3; 001 §3.1"),
    KnownCode("RENDER_RESULT_LOST", Family.INFRA, "001 §6.1"),
    KnownCode("RENDER_WORKER_FAILED", Family.INFRA, "contract §5"),
    KnownCode(LEASE_RELEASE_CEILING, Family.LEASE, "contract §2 release, D-6"),
    KnownCode(JOB_DEADLINE_EXCEEDED, Family.LIMIT, "contract §2 expire_overdue, D-5"),
)
"""Every code that the sources name and every one that the contract itself writes."""


@dataclass(frozen=True, slots=True)
class FailureKind:
    """One of the nine kinds of ``Failure`` of a task, as families of codes.

    A failure of a task says itself whether it may be tried again. ``again`` is the family where it says so, ``final``
    where it does not; None where that cannot be.
    """

    name: str
    again: Family | None
    final: Family | None
    why: str


FAILURE_KINDS: Mapping[str, FailureKind] = {
    kind.name: kind
    for kind in (
        FailureKind(
            "EXCEPTION",
            Family.INFRA,
            Family.CONTENT,
            "What the retry policy lists is passing trouble; anything else is the fault of the work itself.",
        ),
        FailureKind(
            "NONZERO_EXIT",
            Family.LEASE,
            Family.CONTENT,
            "A child process that ends without a verdict was interrupted; one that gives a final verdict has failed.",
        ),
        FailureKind("TIMEOUT_START", Family.INFRA, None, "The carrier did not come up in time."),
        FailureKind("TIMEOUT_ATTEMPT", Family.INFRA, None, "The attempt took too long; another one may not."),
        FailureKind("TIMEOUT_IDLE", Family.INFRA, None, "The carrier gave no sign of life for too long."),
        FailureKind("CANCELLED", None, Family.CANCEL, "It was asked to end; trying again would overrule that."),
        FailureKind("LOST", Family.LEASE, None, "The carrier is gone and the outcome unknown (D-23)."),
        FailureKind("DEPENDENCY_FAILED", None, Family.CANCEL, "It never ran: what it depends on has ended."),
        FailureKind("CONDITION_FALSE", None, Family.CONTENT, "It never ran: its condition says so, and will again."),
    )
}
"""The nine failure kinds of tasks (source 003 §2.4), by name."""


def family_of_failure(kind: str, *, retryable: bool) -> Family:
    """The family of a task's failure (contract §5).

    Raises ``UnclassifiedCode`` for a kind that is none of the nine, and for one that cannot be (or can only be) tried
    again, contrary to what is said.
    """
    if kind not in FAILURE_KINDS:
        raise UnclassifiedCode(f"failure kind {kind!r} is none of {', '.join(FAILURE_KINDS)}; use one of these")
    family = FAILURE_KINDS[kind].again if retryable else FAILURE_KINDS[kind].final
    if family is None:
        told = "can never be tried again" if retryable else "may always be tried again within the budget"
        raise UnclassifiedCode(f"a failure of kind {kind} {told}; report it as such, or as another kind")
    return family
