"""The profile of a queue: lease, heartbeat, attempts and back-off, checked when it is built.

A profile carries the settings of the model under the model's names (`Profile.settings`) and what only a runtime needs:
how often a holder beats and how long a job backs off. A profile that could not keep a lease alive is refused here, and
not found out in production.
"""

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import ColumnElement, Float, case, literal

from fencepost.errors import ConfigurationError
from fencepost_model.terms import Value

Draw = Callable[[], float]
"""A random number from 0 up to 1."""

LEAST_SHARE: Final = 0.01
"""The least share of a back-off that jitter leaves: a retry always takes time (`retry_takes_time`)."""

LEAST_BACKOFF_SECONDS: Final = 0.001
LEASE_OVER_HEARTBEAT: Final = 3
"""How many heartbeats fit into a lease at least, so that one lost beat, delayed or not, does not cost it (§7)."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long a job waits before its next attempt: doubling from `base_seconds`, never beyond `cap_seconds`.

    With `jitter` the wait is drawn evenly from nearly nothing (one hundredth) to the whole of it ("full jitter"), so
    that jobs which failed together do not return together. Raises `ConfigurationError` for a base below a millisecond
    or above the cap.
    """

    base_seconds: float = 2.0
    cap_seconds: float = 300.0
    jitter: bool = True

    def __post_init__(self) -> None:
        if not (LEAST_BACKOFF_SECONDS <= self.base_seconds <= self.cap_seconds and math.isfinite(self.cap_seconds)):
            raise ConfigurationError(
                f"A back-off from {self.base_seconds} s up to {self.cap_seconds} s cannot be kept: give a base of at "
                f"least {LEAST_BACKOFF_SECONDS} s and a finite cap that is not below it."
            )

    @classmethod
    def fixed(cls, seconds: float) -> "Backoff":
        """Always the same wait, without jitter: for tests."""
        return cls(seconds, seconds, jitter=False)

    def ceiling(self, attempt: int) -> float:
        """The longest wait in seconds after the attempt of that number, counted from 1."""
        doublings = max(0, attempt - 1)
        if doublings >= 64:
            return self.cap_seconds
        return min(self.cap_seconds, self.base_seconds * 2.0**doublings)

    def share(self, draw: Draw = random.random) -> float:
        """The share of the ceiling that this wait takes: 1 without jitter, else drawn from 0.01 to 1."""
        return max(LEAST_SHARE, draw()) if self.jitter else 1.0

    def seconds(self, attempt: int, share: float) -> float:
        """The wait in seconds after the attempt of that number, at that share."""
        return self.ceiling(attempt) * share

    def expression(self, attempt_count: ColumnElement[int], share: ColumnElement[float]) -> ColumnElement[float]:
        """`seconds` in SQL, so that a back-off is chosen from the row in the statement that writes it."""
        steps: list[float] = []
        while (step := self.ceiling(len(steps) + 1)) < self.cap_seconds:
            steps.append(step)
        cap = literal(self.cap_seconds, Float())
        if not steps:
            return cap * share
        ceilings = [(attempt_count <= number, literal(step, Float())) for number, step in enumerate(steps, start=1)]
        return case(*ceilings, else_=cap) * share


@dataclass(frozen=True, slots=True)
class Profile:
    """The settings of one queue. Durations are seconds.

    `heartbeat_seconds`: how often a holder renews its lease; None for holders that never do, whose jobs then have to
    end within one lease. `max_attempts`: what a job gets that is enqueued without a number of its own.
    `release_ceiling`: the generation from which a hand-back counts as a failure (D-6). `max_polls`: how often polling
    may be resumed (D-3). `cancel_wins`: a requested cancel beats a success (D-2). The `registers_...` flags say which
    words the queue knows.

    Raises `ConfigurationError` for a lease shorter than three heartbeats (contract §2, §7) and for numbers that make
    no sense.
    """

    lease_seconds: float = 300.0
    heartbeat_seconds: float | None = 30.0
    max_attempts: int = 3
    backoff: Backoff = field(default_factory=Backoff)
    release_ceiling: int = 20
    max_polls: int = 100
    cancel_wins: bool = True
    registers_park: bool = False
    registers_skip: bool = False
    registers_expired: bool = False

    def __post_init__(self) -> None:
        if not (self.lease_seconds > 0 and math.isfinite(self.lease_seconds)):
            raise ConfigurationError(f"A lease of {self.lease_seconds} s is no lease: give it more than 0 seconds.")
        beat = self.heartbeat_seconds
        if beat is not None:
            if not beat > 0:
                raise ConfigurationError(
                    f"A heartbeat every {beat} s is no heartbeat: give more than 0 seconds, or None for holders that "
                    "never renew."
                )
            if self.lease_seconds < LEASE_OVER_HEARTBEAT * beat:
                raise ConfigurationError(
                    f"A lease of {self.lease_seconds:g} s is shorter than three heartbeats of {beat:g} s, so one lost "
                    f"beat could cost it: give a lease of at least {LEASE_OVER_HEARTBEAT * beat:g} s, or beat at least "
                    f"every {self.lease_seconds / LEASE_OVER_HEARTBEAT:g} s."
                )
        for name, number, least in (
            ("max_attempts", self.max_attempts, 1),
            ("release_ceiling", self.release_ceiling, 0),
            ("max_polls", self.max_polls, 0),
        ):
            if number < least:
                raise ConfigurationError(f"{name} of {number} makes no sense: give at least {least}.")

    def settings(self) -> Mapping[str, Value]:
        """The settings of the model, by the model's names; durations in seconds."""
        return {
            "lease_seconds": self.lease_seconds,
            "release_ceiling": self.release_ceiling,
            "max_polls": self.max_polls,
            "cancel_wins": self.cancel_wins,
            "registers_park": self.registers_park,
            "registers_skip": self.registers_skip,
            "registers_expired": self.registers_expired,
        }
