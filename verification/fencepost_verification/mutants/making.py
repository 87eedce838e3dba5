"""Makes the mutants of a contract: each is the contract with one small thing wrong.

The mistakes are those of people who write the SQL: a boundary off by one (``<`` for ``<=``), a conjunct forgotten, a
part of a conjunction forgotten, an effect forgotten, the smaller taken for the larger of two times, a case forgotten
so that its calls fall to the next one. Where an operation tries its cases in order, a mistake in a condition is made
once: the later cases mean *not that one*, as they would in a program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, cast

from fencepost_model.case_order import is_in_order, own_conditions
from fencepost_model.contract import Contract
from fencepost_model.shapes import Assignment, Case, ForEach, Guard, Operation, in_order
from fencepost_model.specification import Chapter
from fencepost_model.terms import AllOf, AtMost, Larger, Less, Smaller, Term, TruthTerm, ValueTerm


@dataclass(frozen=True)
class Mutant:
    """A contract with one thing wrong: what kind of mistake, and in which operation and case (none for a guard)."""

    kind: str
    operation: str
    case: str | None
    place: str
    contract: Contract

    @property
    def name(self) -> str:
        """The name under which it is reported: the operation, the case, what is wrong there."""
        where = self.operation if self.case is None else f"{self.operation}/{self.case}"
        return f"{where}: {self.place} {self.kind}"


SHIFTED, DROPPED, THINNED, LOST, SWAPPED, MERGED = (
    "shifted by one",
    "dropped",
    "without a part",
    "lost",
    "swapped",
    "falls to the next case",
)
"""The kinds of mistakes."""


def mutants_of(contract: Contract) -> Iterator[Mutant]:
    """Every mutant, operation by operation, in the order written; no two have the same name."""
    seen: Counter[str] = Counter()
    for operation in contract.operations:
        for mutant in (*_of_guards(contract, operation), *_of_cases(contract, operation)):
            seen[mutant.name] += 1
            number = seen[mutant.name]
            yield mutant if number == 1 else replace(mutant, place=f"{mutant.place} ({number})")


def mutants_of_chapter(chapter: Chapter) -> list[Mutant]:
    """The mutants of a chapter, but for those that are tried on the contract which it extends."""
    known = frozenset(mutant.name for mutant in mutants_of(chapter.extends)) if chapter.extends else frozenset[str]()
    return [mutant for mutant in mutants_of(chapter.contract) if mutant.name not in known]


def with_operation(contract: Contract, operation: Operation) -> Contract:
    """The contract in which the operation of that name is this one; it is not checked."""
    operations = tuple(operation if each.name == operation.name else each for each in contract.operations)
    return replace(contract, operations=operations, checked=False)


def _of_guards(contract: Contract, operation: Operation) -> Iterator[Mutant]:
    for index, guard in enumerate(operation.guards):
        for kind, wrong in _wrong_guards(guard):
            guards = (*operation.guards[:index], *wrong, *operation.guards[index + 1 :])
            yield Mutant(
                kind, operation.name, None, guard.name, with_operation(contract, replace(operation, guards=guards))
            )


def _wrong_guards(guard: Guard) -> Iterator[tuple[str, tuple[Guard, ...]]]:
    """What may stand in place of a guard: nothing, or a guard with a mistake in it."""
    yield DROPPED, ()
    for kind, term in wrong_truths(guard.term):
        yield kind, (replace(guard, term=term),)


def _of_cases(contract: Contract, operation: Operation) -> Iterator[Mutant]:
    ordered = is_in_order(operation)
    cases = own_conditions(operation) if ordered else operation.cases

    def rebuilt(changed: tuple[Case, ...]) -> Contract:
        return with_operation(contract, replace(operation, cases=in_order(*changed) if ordered else changed))

    for index, case in enumerate(cases):

        def with_case(*now: Case, index: int = index) -> Contract:
            return rebuilt((*cases[:index], *now, *cases[index + 1 :]))

        if len(cases) > 1:
            yield Mutant(MERGED, operation.name, case.name, "case", with_case())
        for place, guard in enumerate(case.when):
            for kind, wrong in _wrong_guards(guard):
                when = (*case.when[:place], *wrong, *case.when[place + 1 :])
                yield Mutant(kind, operation.name, case.name, guard.name, with_case(replace(case, when=when)))
        for kind, field, effect in _wrong_effects(case.effect):
            yield Mutant(kind, operation.name, case.name, field, with_case(replace(case, effect=effect)))
        for number, each in enumerate(case.also):
            for kind, field, wrong_each in _wrong_sets(each):
                also = (*case.also[:number], *wrong_each, *case.also[number + 1 :])
                yield Mutant(kind, operation.name, case.name, field, with_case(replace(case, also=also)))


def _wrong_effects(effect: tuple[Assignment, ...]) -> Iterator[tuple[str, str, tuple[Assignment, ...]]]:
    for index, assignment in enumerate(effect):
        field = f"{assignment.field.entity}.{assignment.field.name}"
        yield LOST, field, (*effect[:index], *effect[index + 1 :])
        for kind, value in wrong_values(assignment.value):
            yield kind, field, (*effect[:index], replace(assignment, value=value), *effect[index + 1 :])


def _wrong_sets(each: ForEach) -> Iterator[tuple[str, str, tuple[ForEach, ...]]]:
    name = f"each {each.subject.name}"
    yield LOST, name, ()
    for kind, where in wrong_truths(each.where):
        yield kind, name, (replace(each, where=where),)
    for kind, field, effect in _wrong_effects(each.effect):
        yield kind, f"each {field}", (replace(each, effect=effect),)


# --- mistakes within terms --------------------------------------------------------------------------------------------


def wrong_truths(term: TruthTerm) -> Iterator[tuple[str, TruthTerm]]:
    """The term with one mistake in it, for each mistake there can be; a condition that loses all is dropped instead."""
    for kind, wrong in _wrong(term):
        yield kind, cast(TruthTerm, wrong)


def wrong_values(term: ValueTerm) -> Iterator[tuple[str, ValueTerm]]:
    """The value with one mistake in it, for each mistake there can be."""
    for kind, wrong in _wrong(term):
        yield kind, cast(ValueTerm, wrong)


def _wrong(term: Term) -> Iterator[tuple[str, Term]]:
    match term:
        case Less(left, right):
            yield SHIFTED, AtMost(left, right)
        case AtMost(left, right):
            yield SHIFTED, Less(left, right)
        case Smaller(left, right):
            yield SWAPPED, Larger(left, right)
        case Larger(left, right):
            yield SWAPPED, Smaller(left, right)
        case AllOf(parts) if len(parts) > 1:
            for index in range(len(parts)):
                yield THINNED, AllOf((*parts[:index], *parts[index + 1 :]))
        case _:
            pass
    yield from _wrong_inside(term)


def _wrong_inside(term: Term) -> Iterator[tuple[str, Term]]:
    """The term with a mistake in one of its parts."""
    for field in fields(term):
        part = getattr(term, field.name)
        if isinstance(part, tuple):
            parts = cast(Sequence[Any], part)
            for index, inner in enumerate(parts):
                if isinstance(inner, str | int):
                    continue
                for kind, wrong in _wrong(inner):
                    yield kind, _rebuilt(term, field.name, (*parts[:index], wrong, *parts[index + 1 :]))
        elif part is not None and not isinstance(part, str | int | float | bool):
            for kind, wrong in _wrong(part):
                yield kind, _rebuilt(term, field.name, wrong)


def _rebuilt(term: Term, field: str, value: object) -> Term:
    change = cast(Callable[..., Term], replace)
    return change(term, **{field: value})
