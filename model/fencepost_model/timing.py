"""The bounds of time in the contract (§7), as data: what is promised, when that is true, and what may happen meanwhile.

A bound speaks of two kinds of numbers. *Settings* are chosen before (a lease, a heartbeat, how many beats in a row may
be lost); *events* are what happens (how late a beat comes, when a scan runs). It claims that ``promise`` holds
whatever happens within ``possible``, exactly if the settings meet ``condition``. Both halves are to be proved: at the
bound nothing can break the promise, and just beyond it something does.

Every side of a comparison is a sum of multiples of such numbers, over the reals; counts are whole. Lengths of time that
only matter in proportion are counted in heartbeats, so that "(lost + 2) heartbeats" is a sum, for any number lost.

The rule for all of them: at its end a lease is over (``<= now``), so a beat that comes at that moment comes too late.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from types import MappingProxyType

Number = int | float | Fraction


@dataclass(frozen=True)
class Sum:
    """A constant, and multiples of named numbers."""

    multiples: Mapping[str, Fraction]
    constant: Fraction = Fraction(0)

    def value(self, numbers: Mapping[str, Fraction]) -> Fraction:
        """Its value; ``KeyError`` where a number is missing."""
        return self.constant + sum((factor * numbers[name] for name, factor in self.multiples.items()), Fraction(0))

    def __add__(self, other: Sum | Number) -> Sum:
        added = of(other)
        names = {*self.multiples, *added.multiples}
        multiples = {n: self.multiples.get(n, Fraction(0)) + added.multiples.get(n, Fraction(0)) for n in names}
        return Sum(MappingProxyType(dict(sorted(multiples.items()))), self.constant + added.constant)

    def __mul__(self, factor: Number) -> Sum:
        exact = Fraction(factor)
        return Sum(MappingProxyType({n: exact * f for n, f in self.multiples.items()}), exact * self.constant)

    def __sub__(self, other: Sum | Number) -> Sum:
        return self + of(other) * -1

    def __str__(self) -> str:
        parts = [_multiple(name, factor) for name, factor in self.multiples.items() if factor]
        if self.constant or not parts:
            parts.append(_decimal(self.constant))
        return " + ".join(parts).replace("+ -", "- ")


def _multiple(name: str, factor: Fraction) -> str:
    return {Fraction(1): name, Fraction(-1): f"-{name}"}.get(factor, f"{_decimal(factor)} {name}")


def _decimal(number: Fraction) -> str:
    return str(number) if number.denominator == 1 else f"{float(number):g}"


def of(number: Sum | Number) -> Sum:
    """A constant as a sum; a sum stays as it is."""
    return number if isinstance(number, Sum) else Sum(MappingProxyType({}), Fraction(number))


def named(name: str) -> Sum:
    """The sum that is one named number."""
    return Sum(MappingProxyType({name: Fraction(1)}))


@dataclass(frozen=True, slots=True)
class Comparison:
    """``left`` is less than ``right``, or at most ``right``."""

    left: Sum
    right: Sum
    strictly: bool

    def holds(self, numbers: Mapping[str, Fraction]) -> bool:
        """Whether it is true of these numbers."""
        left, right = self.left.value(numbers), self.right.value(numbers)
        return left < right if self.strictly else left <= right

    def __str__(self) -> str:
        return f"{self.left} {'<' if self.strictly else '<='} {self.right}"


AnyOf = tuple[Comparison, ...]
"""At least one of these holds."""


def below(left: Sum | Number, right: Sum | Number) -> AnyOf:
    """``left < right``."""
    return (Comparison(of(left), of(right), strictly=True),)


def at_most(left: Sum | Number, right: Sum | Number) -> AnyOf:
    """``left <= right``."""
    return (Comparison(of(left), of(right), strictly=False),)


def all_hold(conditions: tuple[AnyOf, ...], numbers: Mapping[str, Fraction]) -> bool:
    """Whether of each of the conditions at least one comparison holds."""
    return all(any(part.holds(numbers) for part in condition) for condition in conditions)


@dataclass(frozen=True)
class TimeBound:
    """``promise`` holds whatever happens within ``possible`` if and only if the settings meet ``condition``.

    ``settings`` and ``events`` give each number's meaning, with its unit; ``whole`` names those that are counts.
    ``given`` is supposed of the settings throughout. Of each condition, here and below, one part has to hold.
    """

    name: str
    clause: str
    statement: str
    settings: Mapping[str, str]
    events: Mapping[str, str]
    given: tuple[AnyOf, ...]
    possible: tuple[AnyOf, ...]
    condition: tuple[AnyOf, ...]
    promise: Comparison
    whole: frozenset[str] = frozenset()
    example: Mapping[str, Number] = field(default_factory=lambda: MappingProxyType({}))
    """settings with which the counterexample just beyond the bound is shown, as far as it leaves room for them"""

    def breaks(self, numbers: Mapping[str, Fraction]) -> bool:
        """Whether these numbers, settings and events, are possible and break the promise."""
        return all_hold((*self.given, *self.possible), numbers) and not self.promise.holds(numbers)


def written(conditions: tuple[AnyOf, ...]) -> str:
    """Conditions as a person writes them."""
    return " and ".join(" or ".join(str(part) for part in condition) for condition in conditions)


# --- beats and leases -------------------------------------------------------------------------------------------------

LEASE, LOST, DELAY, EARLIER = named("lease"), named("lost"), named("delay"), named("earlier_delay")
_BEAT_SETTINGS = {
    "lease": "length of a lease, in heartbeats",
    "lost": "how many beats in a row are lost",
}
_BEATS_GIVEN = (below(0, LEASE), at_most(0, LOST))
_ONE_LOST = frozenset({"lost"})

BEATS_ON_TIME = TimeBound(
    "beats_on_time",
    "§7",
    "Losing so many beats in a row never costs the lease when no beat is late.",
    _BEAT_SETTINGS,
    {"gap": "from an accepted beat to the next that arrives, in heartbeats"},
    _BEATS_GIVEN,
    (at_most(named("gap"), LOST + 1), at_most(LOST + 1, named("gap"))),
    (below(LOST + 1, LEASE),),
    below(named("gap"), LEASE)[0],
    _ONE_LOST,
    {"lost": 2},
)
_DELAYS = {
    "earlier_delay": "how late the last accepted beat came, in heartbeats",
    "delay": "how late the next one that arrives comes, in heartbeats",
}
BEATS_DELAYED = TimeBound(
    "beats_delayed_below_a_period",
    "§7",
    "Losing so many beats in a row never costs the lease when each beat is late by less than a period.",
    _BEAT_SETTINGS,
    _DELAYS,
    _BEATS_GIVEN,
    (at_most(0, EARLIER), below(EARLIER, 1), at_most(0, DELAY), below(DELAY, 1)),
    (at_most(LOST + 2, LEASE),),
    below(LOST + 1 + DELAY - EARLIER, LEASE)[0],
    _ONE_LOST,
    {"lost": 1},
)
BEATS_DELAYED_BY_A_PERIOD = TimeBound(
    "beats_delayed_up_to_a_period",
    "§7",
    "Losing so many beats in a row never costs the lease when each beat is late by a period at most.",
    _BEAT_SETTINGS,
    _DELAYS,
    _BEATS_GIVEN,
    (at_most(0, EARLIER), at_most(EARLIER, 1), at_most(0, DELAY), at_most(DELAY, 1)),
    (below(LOST + 2, LEASE),),
    below(LOST + 1 + DELAY - EARLIER, LEASE)[0],
    _ONE_LOST,
    {"lost": 1},
)
WAITED = named("waited")
_REARMED_POSSIBLE = (
    at_most(0, WAITED),
    (*below(WAITED, LOST), *at_most(LOST, 0)),
    (*at_most(WAITED, 0), *at_most(1, LOST)),
    at_most(0, DELAY),
    below(DELAY, 1),
)
BEATS_REARMED = TimeBound(
    "beats_rearmed_after_the_answer",
    "§7",
    "Losing so many beats in a row never costs the lease when each is sent a period after the last one's answer or "
    "time-out, and time-out and delay are below a period.",
    _BEAT_SETTINGS,
    {
        "waited": "spent waiting for the answers of all the lost beats, in heartbeats",
        "delay": "how late the next one that arrives comes, in heartbeats",
    },
    _BEATS_GIVEN,
    _REARMED_POSSIBLE,
    (at_most(LOST * 2 + 2, LEASE),),
    below(LOST + WAITED + 1 + DELAY, LEASE)[0],
    _ONE_LOST,
    {"lost": 1},
)
BEATS_REARMED_LATE = TimeBound(
    "beats_rearmed_after_a_late_answer",
    "§7",
    "The same when the answer to the accepted beat, too, may take up to a period, so that the next is sent late.",
    _BEAT_SETTINGS,
    {**BEATS_REARMED.events, "answer": "how long the answer to the accepted beat takes, in heartbeats"},
    _BEATS_GIVEN,
    (*_REARMED_POSSIBLE, at_most(0, named("answer")), below(named("answer"), 1)),
    (at_most(LOST * 2 + 3, LEASE),),
    below(named("answer") + LOST + WAITED + 1 + DELAY, LEASE)[0],
    _ONE_LOST,
    {"lost": 1},
)

FLUSH, GAP = named("flush_delay"), named("beat_gap")
BUFFERED_FINISH = TimeBound(
    "buffered_finish",
    "§2 group completion",
    "A job whose finish is buffered is still held when the buffer is flushed.",
    {
        "lease": "length of a lease, in seconds",
        "flush_delay": "how long a finish is buffered at most, in seconds",
        "beat_gap": "how long the store is without an accepted beat at most, in seconds",
    },
    {
        "since_beat": "from the last accepted beat to the finish, in seconds",
        "buffered": "from the finish to its flush, in seconds",
    },
    (below(0, LEASE), at_most(0, FLUSH), at_most(0, GAP)),
    (
        at_most(0, named("since_beat")),
        at_most(named("since_beat"), GAP),
        at_most(0, named("buffered")),
        at_most(named("buffered"), FLUSH),
    ),
    (below(FLUSH + GAP, LEASE),),
    below(named("since_beat") + named("buffered"), LEASE)[0],
    example={"lease": 45, "beat_gap": 30},
)

# --- recovery ---------------------------------------------------------------------------------------------------------

TTL, SCAN, PROMISED = named("ttl"), named("scan"), named("promised")
OWNER_CONVERGENCE = TimeBound(
    "owner_convergence",
    "§4 ProcessOwner, §7",
    "The runs of a dead owner end before so long after its last accepted beat, while scans run and take no time.",
    {
        "ttl": "how long an owner lives without a beat, in seconds",
        "scan": "from one scan to the next at most, in seconds",
        "promised": "by when the runs have ended, in seconds after the last accepted beat",
    },
    {
        "scan_before": "the last scan that still finds the owner alive, in seconds after the beat",
        "scan_after": "the next scan, which ends its runs",
    },
    (below(0, TTL), below(0, SCAN)),
    (
        below(named("scan_before"), TTL),
        at_most(named("scan_before"), named("scan_after")),
        at_most(named("scan_after"), named("scan_before") + SCAN),
    ),
    (at_most(TTL + SCAN, PROMISED),),
    below(named("scan_after"), PROMISED)[0],
    example={"ttl": 90, "scan": 10},
)

CAP, SHORTEST = named("cap"), named("shortest_lease")
RECOVERY_SLEEP = TimeBound(
    "recovery_sleep",
    "§7",
    "Recovery that sleeps until the nearest expiry it knows, but never longer than the cap, is late by no more than so "
    "long, even for leases that were given while it slept.",
    {
        "cap": "the longest sleep, in seconds",
        "shortest_lease": "the shortest lease that anybody gives, in seconds",
        "promised": "how late at most, in seconds",
    },
    {
        "given": "when the lease is given, in seconds after recovery fell asleep",
        "wakes": "when recovery wakes",
    },
    (below(0, SHORTEST), at_most(SHORTEST, CAP)),
    (at_most(0, named("given")), at_most(named("wakes"), CAP)),
    (at_most(CAP - SHORTEST, PROMISED),),
    at_most(named("wakes") - named("given") - SHORTEST, PROMISED)[0],
    example={"cap": 60, "shortest_lease": 45},
)


def attempt_out_of_reach(attempt: int) -> TimeBound:
    """The attempt of that number, from 2, cannot start before the deadline if each earlier one ends by a crash.

    A crashed attempt's lease is over ``lease`` after its last renewal at the earliest, so after its start too.
    """
    starts = [named(f"start_{number}") for number in range(1, attempt + 1)]
    lease, delay, deadline = named("lease"), named("recovery_delay"), named("deadline")
    return TimeBound(
        f"attempt_{attempt}_out_of_reach",
        "§7",
        f"When every earlier attempt crashes, attempt {attempt} never starts before the deadline.",
        {
            "lease": "length of a lease, in seconds",
            "recovery_delay": "from recovery to the next claim at least, in seconds",
            "deadline": "the job's deadline, in seconds after it was enqueued",
        },
        {f"start_{number}": f"when attempt {number} starts, in seconds" for number in range(1, attempt + 1)},
        (below(0, lease), at_most(0, delay), below(0, deadline)),
        (
            at_most(0, starts[0]),
            *(at_most(one + lease + delay, other) for one, other in pairwise(starts)),
        ),
        (at_most(deadline, (lease + delay) * (attempt - 1)),),
        at_most(deadline, starts[-1])[0],
        example={"deadline": 120, "recovery_delay": 2},
    )


def back_off_at_most(attempt: int) -> TimeBound:
    """After the attempt of that number a job waits no longer than the promised time."""
    base, cap, wait = named("base"), named("cap"), named("wait")
    doubled = base * 2 ** (attempt - 1)
    return TimeBound(
        f"back_off_after_{attempt}_at_most",
        "§2 fail, recover",
        f"After attempt {attempt} a job waits no longer than promised, whatever is drawn.",
        _BACKOFF_SETTINGS,
        _BACKOFF_EVENTS,
        (below(0, base), at_most(base, cap)),
        _backoff_possible(doubled, cap),
        ((*at_most(doubled, PROMISED), *at_most(cap, PROMISED)),),
        at_most(wait, PROMISED)[0],
        example=_BACKOFF_EXAMPLE,
    )


def back_off_at_least(attempt: int) -> TimeBound:
    """After the attempt of that number a job waits at least the promised time: a retry always takes time."""
    base, cap, wait = named("base"), named("cap"), named("wait")
    doubled = base * 2 ** (attempt - 1)
    return TimeBound(
        f"back_off_after_{attempt}_at_least",
        "§2 fail, recover",
        f"After attempt {attempt} a job waits at least as long as promised, whatever is drawn.",
        _BACKOFF_SETTINGS,
        _BACKOFF_EVENTS,
        (below(0, base), at_most(base, cap)),
        _backoff_possible(doubled, cap),
        (at_most(PROMISED * 100, doubled), at_most(PROMISED * 100, cap)),
        at_most(PROMISED, wait)[0],
        example=_BACKOFF_EXAMPLE,
    )


_BACKOFF_SETTINGS = {
    "base": "the wait after the first attempt, before jitter, in seconds",
    "cap": "no wait is longer than this, in seconds",
    "promised": "the promised bound, in seconds",
}
_BACKOFF_EXAMPLE = {"base": 2, "cap": 200}
_BACKOFF_EVENTS = {
    "ceiling": "the longest wait after this attempt: doubled each time, cut at the cap",
    "wait": "the wait that is drawn, from a hundredth of the ceiling to the whole of it",
}


def _backoff_possible(doubled: Sum, cap: Sum) -> tuple[AnyOf, ...]:
    ceiling, wait = named("ceiling"), named("wait")
    return (
        at_most(ceiling, doubled),
        at_most(ceiling, cap),
        (*at_most(doubled, ceiling), *at_most(cap, ceiling)),
        at_most(ceiling, wait * 100),
        at_most(wait, ceiling),
    )


# --- the arithmetic of one job ----------------------------------------------------------------------------------------


def new_lease(now: Number, lease_seconds: Number, deadline: Number | None) -> Number:
    """When a lease given now is over: after its length, or at the deadline if that is earlier (§2 claim)."""
    end = now + lease_seconds
    return end if deadline is None else min(end, deadline)


def renewed_lease(old: Number, now: Number, lease_seconds: Number, deadline: Number | None) -> Number:
    """When a renewed lease is over: never before it was over already (§2 renew)."""
    return max(old, new_lease(now, lease_seconds, deadline))


def back_off_ceiling(attempt: int, base: Number, cap: Number) -> Number:
    """The longest wait after the attempt of that number, counted from 1: doubled each time, cut at the cap."""
    ceiling = base
    for _ in range(attempt - 1):
        if ceiling >= cap:
            break
        ceiling = ceiling * 2
    return min(cap, ceiling)


# --- numbers of a profile ---------------------------------------------------------------------------------------------


def beats_survived(lease: Number, heartbeat: Number, *, delayed: bool = True) -> int:
    """How many lost beats in a row a lease rides out; -1 where not even an undisturbed holder keeps it.

    ``delayed``: each beat may be late by less than a period (lease >= (k + 2) x heartbeat), else none is late
    (lease > (k + 1) x heartbeat). Both in the same unit.
    """
    ratio = Fraction(lease) / Fraction(heartbeat)
    return max(-1, math.floor(ratio) - 2 if delayed else math.ceil(ratio) - 2)


def last_attempt_in_reach(lease: Number, recovery_delay: Number, deadline: Number) -> int:
    """The number of the last attempt that can start before the deadline when each earlier one ends by a crash."""
    return math.ceil(Fraction(deadline) / (Fraction(lease) + Fraction(recovery_delay)))


BOUNDS: tuple[TimeBound, ...] = (
    BEATS_ON_TIME,
    BEATS_DELAYED,
    BEATS_DELAYED_BY_A_PERIOD,
    BEATS_REARMED,
    BEATS_REARMED_LATE,
    BUFFERED_FINISH,
    OWNER_CONVERGENCE,
    RECOVERY_SLEEP,
    *(attempt_out_of_reach(number) for number in (2, 3)),
    *(back_off_at_most(number) for number in (1, 2, 8)),
    *(back_off_at_least(number) for number in (1, 2, 8)),
)
"""The bounds of the contract that hold whatever the numbers of a profile are."""
