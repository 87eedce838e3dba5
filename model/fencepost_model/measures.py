"""Turns a termination measure into statements: it is never negative, and each operation bound to lower it does.

A measure is a list of numbers compared from the left (a lexicographic order). Terms know sums but no differences, so
"the number fell" is said with each side moved to where it is added: ``limit + falling - rising`` is smaller afterwards
exactly if ``limit' + falling' + rising < limit + falling + rising'``.
"""

from __future__ import annotations

from fencepost_model.shapes import Descent, Invariant, Measure, StepProperty
from fencepost_model.terms import (
    AtMost,
    Less,
    Plus,
    Same,
    TruthTerm,
    ValueTerm,
    all_of,
    any_of,
    negation,
    value_in_the_state_after,
)


def never_negative(measure: Measure, where: TruthTerm) -> tuple[Invariant, ...]:
    """One invariant for each part of a measure: in states where ``where`` holds, the number is not negative."""
    return tuple(
        Invariant(
            f"{measure.name}_not_negative_{number}" if len(measure.parts) > 1 else f"{measure.name}_not_negative",
            measure.clause,
            measure.over,
            any_of(negation(where), AtMost(part.rising, Plus(part.limit, part.falling))),
            f"Part {number} of the measure {measure.name} is never negative.",
        )
        for number, part in enumerate(measure.parts, start=1)
    )


def lowered(measure: Measure) -> tuple[StepProperty, ...]:
    """One step property for each operation of a measure: its steps make the measure smaller."""
    return tuple(
        StepProperty(
            f"{operation}_lowers_{measure.name}",
            measure.clause,
            measure.over,
            _falls(measure.parts),
            f"A step of {operation} makes the measure {measure.name} smaller.",
            of=operation,
        )
        for operation in measure.by
    )


def _falls(parts: tuple[Descent, ...]) -> TruthTerm:
    first, *rest = parts
    smaller = Less(_sum(first, after=True), _sum(first, after=False))
    if not rest:
        return smaller
    equal = Same(_sum(first, after=True), _sum(first, after=False))
    return any_of(smaller, all_of(equal, _falls(tuple(rest))))


def _sum(part: Descent, *, after: bool) -> ValueTerm:
    """One side of the comparison of a part before and after a step."""
    kept = Plus(part.limit, part.falling)
    if after:
        return Plus(value_in_the_state_after(kept), part.rising)
    return Plus(kept, value_in_the_state_after(part.rising))
