"""Which wrong implementations escape: the edits of the offenders, made on the new contract, and the tour run on each.

An offender is a contract with an edit that makes it wrong. The suite catches each of them *on the contract for which it
was written*. After a change of the contract an edit may have lost its fault, since the contract itself says so now or
no longer has what the edit names; or the tour may no longer come to where it shows. Both are blind spots that the
change has made.

An offender is known by what it makes of its own contract, so its edit is found by comparing the two: guards dropped or
replaced, conditions replaced, assignments dropped or replaced, operation by operation. The same is then done to the new
contract. Offenders that override a method of the implementation carry no edit; they run on the new contract as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from fencepost_model.contract import Contract
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.shapes import Assignment, Case, Guard, Operation
from fencepost_model.specification import Chapter
from fencepost_model.worlds import World
from fencepost_verification.conformance.harness import Harness
from fencepost_verification.conformance.offenders import CATALOGUE, Offender, judged
from fencepost_verification.conformance.offenders.dropped import dropped_guards
from fencepost_verification.conformance.offenders.mutations import NoFault
from fencepost_verification.conformance.reference import ModelHarness
from fencepost_verification.conformance.scope import SCOPES, NothingToTour, Scope, scopes_of
from fencepost_verification.diff.fitting import fitted


@dataclass(frozen=True)
class Escape:
    """An offender that is not caught on the new contract; ``harmless`` when its edit no longer makes it wrong."""

    offender: str
    fault: str
    reason: str
    harmless: bool


@dataclass(frozen=True)
class Escapes:
    """What became of all offenders, or why none was tried."""

    tried: int
    escaped: tuple[Escape, ...] = ()
    not_tried: str = ""


Told = Callable[[str, int, int], None]


def escapes(old: Chapter, new: Chapter, progress: Told = lambda name, done, total: None) -> Escapes:
    """Try every offender on the new contract.

    For the job those of the catalogue; for another contract those made by program from the old one, each without one
    guard. ``progress`` is told the name of the offender, how many are done, and how many there are.
    """
    try:
        if old.name == JOB_CONTRACT.name:
            made_for, offenders = JOB_CONTRACT, tuple(CATALOGUE)
            scopes = tuple(_on(scope, made_for, new) for scope in SCOPES)
        else:
            made_for, offenders = old.contract, dropped_guards(scopes_of(old))
            scopes = tuple(_on(scope, made_for, new) for scope in scopes_of(old))
    except (NothingToTour, ValueError) as fault:
        return Escapes(0, not_tried=str(fault))
    if not offenders:
        return Escapes(0, not_tried=f"there are no offenders of {old.name}")
    found: list[Escape] = []
    for done, offender in enumerate(offenders):
        progress(offender.name, done, len(offenders))
        moved = replace(offender, implementation=partial(_moved, offender, made_for, new.contract))
        try:
            moved.implementation()
        except NoFault as none:
            found.append(Escape(offender.name, offender.fault, str(none), harmless=True))
            continue
        catch = judged(moved, scopes)
        if not catch.caught:
            found.append(Escape(offender.name, offender.fault, catch.reason, harmless=False))
    return Escapes(len(offenders), tuple(found))


def _on(scope: Scope, contract: Contract, new: Chapter) -> Scope:
    """A scope's world for the new contract; what it cannot offer comes from the worlds of the new chapter."""
    donors: tuple[World, ...] = (*new.worlds, *new.small_worlds, *new.toured)
    _, there, remarks = fitted(scope.world, contract, new.contract, donors)
    if remarks:
        raise ValueError(remarks[0])
    return replace(scope, world=there.world)


# --- carrying an edit over --------------------------------------------------------------------------------------------


def _moved(offender: Offender, made_for: Contract, new: Contract) -> Harness:
    """The offender as an implementation of the new contract. Raises ``NoFault`` when it would be a right one."""
    wrong = type(offender.implementation())
    if not issubclass(wrong, ModelHarness):
        raise NoFault(f"{offender.name} is no implementation of a contract in memory, so it cannot be moved to another")
    contract = carried_over(made_for, wrong.contract, new) if wrong.contract is not made_for else new
    harness: Harness = type(wrong.__name__, (wrong,), {"contract": contract})()
    return harness


def carried_over(made_for: Contract, wrong: Contract, new: Contract) -> Contract:
    """The new contract with the edit that leads from ``made_for`` to ``wrong``.

    Raises ``NoFault`` when nothing is changed by it, or when it names what the new contract lacks.
    """
    theirs = {operation.name: operation for operation in new.operations}
    edited: dict[str, Operation] = {}
    for before, after in zip(made_for.operations, wrong.operations, strict=True):
        if before == after:
            continue
        if before.name not in theirs:
            raise NoFault(f"the new contract has no operation {before.name!r}, which the edit names")
        edited[before.name] = _operation(before, after, theirs[before.name])
    if all(theirs[name] == operation for name, operation in edited.items()):
        raise NoFault("the edit changes nothing: the new contract itself says so, or lacks what it names")
    operations = tuple(edited.get(operation.name, operation) for operation in new.operations)
    return replace(new, operations=operations, checked=False)


def _operation(before: Operation, after: Operation, new: Operation) -> Operation:
    guards = _edited(before.guards, after.guards, new.guards, _guard_name)
    was, is_now = ({case.name: case for case in version.cases} for version in (before, after))
    cases = tuple(
        _case(was[case.name], is_now[case.name], case) if case.name in was and case.name in is_now else case
        for case in new.cases
    )
    return replace(new, guards=guards, cases=cases)


def _case(before: Case, after: Case, new: Case) -> Case:
    when = _edited(before.when, after.when, new.when, _guard_name)
    effect = _edited(before.effect, after.effect, new.effect, _field)
    return replace(new, when=when, effect=effect, also=after.also if after.also != before.also else new.also)


_Part = TypeVar("_Part", Guard, Assignment)


def _edited(
    before: Sequence[_Part], after: Sequence[_Part], new: Sequence[_Part], key: Callable[[_Part], object]
) -> tuple[_Part, ...]:
    """The parts with what was dropped, replaced or added between ``before`` and ``after``."""
    was, is_now = {key(part): part for part in before}, {key(part): part for part in after}

    def parts() -> Iterator[_Part]:
        for part in new:
            name = key(part)
            if name in was and name not in is_now:
                continue
            yield is_now[name] if name in was and was[name] != is_now[name] else part
        known = {key(part) for part in new}
        yield from (part for name, part in is_now.items() if name not in was and name not in known)

    return tuple(parts())


def _guard_name(guard: Guard) -> object:
    return guard.name


def _field(assignment: Assignment) -> object:
    return assignment.field
