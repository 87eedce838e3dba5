"""Proves the bounds of time over the reals, each both ways: it holds at the bound, and something breaks just beyond.

For a bound ``promise if and only if condition`` z3 is asked twice. First for settings that meet the condition and
events that break the promise all the same: none exist. Then for settings that miss the condition and yet are safe
whatever happens: none exist either, so the condition asks for no more than it must. The second question ranges over all
events inside one over all settings; over linear real arithmetic z3 decides it.

A third question finds the numbers to show: settings that miss the condition by a hair, with events that break the
promise. They are refereed by plain fractions before anybody sees them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import z3  # pyright: ignore[reportMissingTypeStubs]

from fencepost_model.queues import OWNER_HEARTBEAT, OWNER_TTL, QUEUES, RENDER, QueueProfile
from fencepost_model.timing import (
    BEATS_DELAYED,
    BEATS_ON_TIME,
    BOUNDS,
    AnyOf,
    Comparison,
    Sum,
    TimeBound,
    at_most,
    attempt_out_of_reach,
    beats_survived,
    last_attempt_in_reach,
    named,
    written,
)
from fencepost_verification.evidence import Held, Refuted, Unknown, Verdict
from fencepost_verification.prove import smt
from fencepost_verification.prove.smt import Answer, Expression, Formula, Solver

_z3: Any = z3

MILLISECONDS = 20_000
"""How long z3 may think about one question; it takes some thousandths of a second."""

HAIR = Fraction(1, 10)
"""By how much the shown counterexample misses each condition at most, in the unit of its numbers."""

Numbers = Mapping[str, Fraction]


@dataclass(frozen=True)
class BoundProof:
    """What was found of one bound.

    ``at_bound``: with the condition the promise is kept. ``needed``: without it, it is not. ``beyond``: numbers just
    beyond the bound that break the promise; None if there are none.
    """

    bound: TimeBound
    at_bound: Verdict
    needed: Verdict
    beyond: Numbers | None

    @property
    def verdicts(self) -> tuple[Verdict, Verdict]:
        """Both halves."""
        return self.at_bound, self.needed


class _Reading:
    """A bound in z3."""

    def __init__(self, bound: TimeBound) -> None:
        self.bound = bound
        self.whole = {name: smt.constant(f"count.{name}", smt.WHOLE) for name in bound.whole}
        self.numbers = {
            name: smt.as_real(self.whole[name]) if name in self.whole else smt.constant(f"real.{name}", smt.REAL)
            for name in (*bound.settings, *bound.events)
        }

    def sum(self, number: Sum) -> Expression:
        result = smt.real(number.constant)
        for name, factor in number.multiples.items():
            # Multiples are fractions; z3 is given an integer multiple of the whole comparison instead.
            if factor.denominator != 1:
                raise ValueError(f"{self.bound.name} has {factor} times {name}; multiply both sides by a whole number")
            result = smt.total(result, smt.scaled(factor.numerator, self.numbers[name]))
        return result

    def comparison(self, part: Comparison) -> Formula:
        make = smt.less if part.strictly else smt.at_most
        return make(self.sum(part.left), self.sum(part.right))

    def all(self, conditions: Sequence[AnyOf]) -> Formula:
        return smt.conj(smt.disj(self.comparison(part) for part in condition) for condition in conditions)

    def values(self, model: smt.Model) -> Numbers:
        return {name: model.number(number) for name, number in self.numbers.items()}


def _asked(*formulas: Formula) -> tuple[Answer, Solver]:
    solver = Solver(MILLISECONDS)
    solver.tell(*formulas)
    return solver.ask(), solver


def prove_bound(bound: TimeBound) -> BoundProof:
    """Both halves of a bound, and the numbers just beyond it."""
    reading = _Reading(bound)
    given, possible = reading.all(bound.given), reading.all(bound.possible)
    condition, promise = reading.all(bound.condition), reading.comparison(bound.promise)
    kept = f"{bound.statement} Whenever {written(bound.condition)} ({bound.clause})."
    needed = f"{bound.statement} Only when {written(bound.condition)} ({bound.clause})."

    meets, _ = _asked(given, possible, condition)
    answer, solver = _asked(given, possible, condition, smt.neg(promise))
    if meets is not Answer.SATISFIABLE:
        at_bound: Verdict = Unknown(kept, f"no settings and events meet it: {meets.value}")
    elif answer is Answer.UNSATISFIABLE:
        at_bound = Held(kept, "over the reals, for all settings and all events")
    elif answer is Answer.SATISFIABLE:
        at_bound = Refuted(kept, _shown(bound, reading.values(solver.model())))
    else:
        at_bound = Unknown(kept, f"z3 gives up: {solver.reason()}")

    events = [reading.numbers[name] for name in bound.events]
    safe = smt.for_all(events, smt.implies(possible, promise))
    # The plain solver only guesses at quantifiers; this one eliminates them, which linear arithmetic allows.
    deciding = _z3.SolverFor("LIRA")
    deciding.set("timeout", MILLISECONDS)
    deciding.add(*(formula for formula in (given, smt.neg(condition), safe) if formula is not True))
    verdict = str(deciding.check())
    beyond = _beyond(reading)
    if verdict == "sat":
        return BoundProof(bound, at_bound, Refuted(needed, "some settings without it are safe as well"), beyond)
    if verdict == "unsat" and beyond is not None:
        return BoundProof(bound, at_bound, Held(needed, f"just beyond: {_shown(bound, beyond)}"), beyond)
    why = "no counterexample just beyond it was found" if verdict == "unsat" else deciding.reason_unknown()
    return BoundProof(bound, at_bound, Unknown(needed, why), beyond)


def _beyond(reading: _Reading) -> Numbers | None:
    bound = reading.bound
    nearly = tuple(
        tuple(Comparison(part.left, part.right + HAIR, strictly=False) for part in condition)
        for condition in bound.condition
    )
    breaking = (
        reading.all(bound.given),
        reading.all(bound.possible),
        smt.neg(reading.all(bound.condition)),
        reading.all(nearly),
        smt.neg(reading.comparison(bound.promise)),
    )
    numbers = _numbers(reading, *breaking, reading.all(_pinned(bound.example))) or _numbers(reading, *breaking)
    if numbers is None:
        return None
    if not bound.breaks(numbers):
        raise ArithmeticError(f"z3 and fractions disagree about {bound.name}: {_told(numbers)}")
    return numbers


def _numbers(reading: _Reading, *formulas: Formula) -> Numbers | None:
    """Numbers that satisfy the formulas; None if none do.

    Which of them z3 finds depends on what its context has held before. A page has to be the same each time, so that a
    context of its own is asked.
    """
    apart = _z3.Context()
    solver = _z3.SimpleSolver(ctx=apart)
    solver.set("timeout", MILLISECONDS)
    for formula in formulas:
        raw: Any = _z3.BoolVal(formula) if isinstance(formula, bool) else formula
        solver.add(raw.translate(apart))
    if str(solver.check()) != "sat":
        return None
    model = solver.model()
    found: dict[str, Fraction] = {}
    for name, number in reading.numbers.items():
        raw = number
        found[name] = Fraction(str(model.eval(raw.translate(apart), model_completion=True)))
    return found


def _told(numbers: Numbers) -> str:
    return ", ".join(
        f"{name} = {value if value.denominator == 1 else f'{float(value):.6g}'}" for name, value in numbers.items()
    )


def _shown(bound: TimeBound, numbers: Numbers) -> str:
    left, right = bound.promise.left.value(numbers), bound.promise.right.value(numbers)
    sign = "<" if bound.promise.strictly else "<="
    return f"{_told(numbers)}: not {float(left):.6g} {sign} {float(right):.6g}"


def _pinned(settings: Mapping[str, int | float | Fraction]) -> tuple[AnyOf, ...]:
    return tuple(
        condition
        for name, value in settings.items()
        for condition in (at_most(named(name), value), at_most(value, named(name)))
    )


def with_settings(bound: TimeBound, **settings: float | Fraction) -> TimeBound:
    """A bound, for these settings. ``KeyError`` for a name that is none of its settings."""
    for name in settings:
        if name not in bound.settings:
            raise KeyError(name)
    return replace(bound, given=(*bound.given, *_pinned(settings)), example=MappingProxyType({}))


def bound_proofs(bounds: Sequence[TimeBound] = BOUNDS) -> tuple[BoundProof, ...]:
    """The bounds, each for any settings; those about beats for any number of lost ones."""
    return tuple(prove_bound(bound) for bound in bounds)


def beat_proofs(most_lost: int = 8) -> tuple[BoundProof, ...]:
    """The two bounds about beats for each number of lost ones up to ``most_lost``, with numbers for each."""
    bounds = (BEATS_ON_TIME, BEATS_DELAYED)
    return tuple(prove_bound(with_settings(bound, lost=lost)) for bound in bounds for lost in range(most_lost + 1))


# --- the numbers that the sources publish -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Endurance:
    """How many lost beats in a row the published numbers of a queue ride out; -1 where beats on time do not suffice.

    ``with_delay``: each beat may be late by less than a period; ``on_time``: none is.
    """

    name: str
    lease: float
    heartbeat: float
    source: str
    with_delay: int
    on_time: int


def endurance(queues: Sequence[QueueProfile] = QUEUES) -> tuple[Endurance, ...]:
    """Each queue with lease and heartbeat, other numbers that a source gives for it, and process owners; for a page."""
    rows: list[tuple[str, float, float, str]] = []
    for queue in queues:
        beat = queue.heartbeat.value
        if queue.lease.value is None or beat is None:
            continue
        rows.append((queue.name, queue.lease.value, beat, queue.lease.source))
        rows.extend((queue.name, other, beat, source) for other, source in queue.lease.against)
    if OWNER_TTL.value is not None and OWNER_HEARTBEAT.value is not None:
        rows.append(("ProcessOwner", OWNER_TTL.value, OWNER_HEARTBEAT.value, OWNER_TTL.source))
    return tuple(
        Endurance(name, lease, beat, source, beats_survived(lease, beat), beats_survived(lease, beat, delayed=False))
        for name, lease, beat, source in rows
    )


def endurance_verdicts(rows: Sequence[Endurance] | None = None) -> tuple[Verdict, ...]:
    """One verdict for each row: so many lost beats never cost the lease, and one more can."""
    return tuple(_endures(row) for row in (endurance() if rows is None else rows))


def _beats(number: int) -> str:
    return "one lost beat" if number == 1 else f"{number} lost beats"


def _endures(row: Endurance) -> Verdict:
    ratio = Fraction(row.lease) / Fraction(row.heartbeat)
    statement = (
        f"a lease of {row.lease:g} s with a heartbeat of {row.heartbeat:g} s ({row.name}, {row.source}) rides out "
        f"{_beats(row.with_delay)} in a row with delays below a period, and no more"
    )
    for lost, kept in ((row.with_delay, True), (row.with_delay + 1, False)):
        if lost < 0:
            continue
        fixed = with_settings(BEATS_DELAYED, lease=ratio, lost=lost)
        reading = _Reading(fixed)
        answer, solver = _asked(
            reading.all(fixed.given), reading.all(fixed.possible), smt.neg(reading.comparison(fixed.promise))
        )
        if answer is Answer.UNKNOWN:
            return Unknown(statement, f"z3 gives up: {solver.reason()}")
        if kept is (answer is Answer.SATISFIABLE):
            return Refuted(statement, f"{lost} lost beats {'can' if kept else 'cannot'} cost it")
        if not kept:
            broken = reading.values(solver.model())
            told = f"with {lost} lost and the next late by {float(broken['delay'] * Fraction(row.heartbeat)):.6g} s"
            return Held(statement, f"{told} the lease is over; without delay it rides out {row.on_time}")
    return Unknown(statement, "there is nothing to ask")


def render_verdicts(queue: QueueProfile = RENDER) -> tuple[Verdict, ...]:
    """What the published numbers of rendering promise of attempts that crash: a finding, with the arithmetic (§7)."""
    lease, delay, most = queue.lease.value, queue.recovery_delay.value, queue.max_attempts.value
    deadline = None if queue.deadline is None else queue.deadline.value
    if lease is None or delay is None or deadline is None or most is None:
        return (Unknown(f"which attempts of {queue.name} a crash leaves in reach", "the sources leave numbers open"),)
    last = last_attempt_in_reach(lease, delay, deadline)
    found: list[Verdict] = []
    for attempt in range(2, most + 1):
        told = f"with a deadline of {deadline:g} s, a lease of {lease:g} s and {delay:g} s of recovery"
        statement = f"{told}, attempt {attempt} of {most} never starts when every earlier one crashes ({queue.name})"
        bound = with_settings(attempt_out_of_reach(attempt), lease=lease, recovery_delay=delay, deadline=deadline)
        reading = _Reading(bound)
        answer, solver = _asked(
            reading.all(bound.given), reading.all(bound.possible), smt.neg(reading.comparison(bound.promise))
        )
        if answer is Answer.UNSATISFIABLE and attempt > last:
            need = Fraction(deadline) / (attempt - 1) - Fraction(delay)
            found.append(Held(statement, f"it would take a lease below {float(need):g} s"))
        elif answer is Answer.SATISFIABLE:
            found.append(Refuted(statement, _shown(bound, reading.values(solver.model()))))
        else:
            found.append(Unknown(statement, solver.reason() if answer is Answer.UNKNOWN else "two readings disagree"))
    return tuple(found)


def check(progress: Callable[[str, int, int], None] = lambda stage, done, total: None) -> tuple[Verdict, ...]:
    """Every verdict about time, in a second or two.

    ``progress`` is told what is next, how many parts are done and how many there are.
    """
    parts: tuple[tuple[str, Callable[[], Sequence[Verdict]]], ...] = (
        ("bounds", lambda: [verdict for proof in bound_proofs() for verdict in proof.verdicts]),
        ("lost beats", lambda: [verdict for proof in beat_proofs() for verdict in proof.verdicts]),
        ("queues", endurance_verdicts),
        ("render attempts", render_verdicts),
    )
    found: list[Verdict] = []
    for number, (stage, part) in enumerate(parts):
        progress(stage, number, len(parts))
        found.extend(part())
    return tuple(found)
