"""Lets every operation read a clock of its own caller, to see what does not depend on clocks that agree.

Theory
======
The contract reads one clock, the store's (D-14). ``own_clocks`` makes the contract of a store without one: wherever an
operation reads the time, it reads an argument instead, which may be any instant at all, earlier or later than any other
operation's. What still holds then does not depend on clocks that agree, or that go forward, and a proof of it covers
every skew (contract §3, last lines).

Which statements are kept is decided by what they read. A statement about *states* is kept: whatever it says of the
time, it has to be true at every moment anyhow, for time passes by itself; the few that do need clocks that agree are
named, with the reason (``AGREEING``). A statement about *steps* that does not read the time is kept. One that does
compares a step with the store's time, by which the operation no longer goes; as it stands it is exempt, and it is
demanded of each operation by the clock which that operation has read. Statements about progress are exempt: how soon
somebody acts is all that a clock decides there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from fencepost_model.contract import Contract
from fencepost_model.shapes import Assignment, Case, Guard, Operation, Parameter, Sort, StepProperty
from fencepost_model.terms import (
    AllOf,
    AnyOf,
    FieldOf,
    Not,
    Now,
    Param,
    Term,
    Truth,
    TruthTerm,
    rewritten_truth,
    rewritten_value,
    walk,
)

OWN_CLOCK = "own_clock"
"""The name of the argument that stands for the caller's clock."""

CLOCK = Parameter(OWN_CLOCK, Sort.INSTANT, "the time as the caller's clock has it")

BY_TIME = "it compares a step with the store's time; demanded by the caller's own clock instead"
PROMPTNESS = "it says when somebody will be able to act, which is all that a clock decides"

AGREEING: Mapping[str, Mapping[str, str]] = {
    "wakeup": {
        "look_is_past": "a waiter notes its own time, which the store's need not have reached",
        "sleep_ends_with_the_poll": "it counts the poll from that note",
        "sleep_ends_for_a_reason": "a poll is due by the waiter's clock",
    },
    "slot": {
        "lease_no_longer_than_agreed": "it compares a lease with the store's time",
        "occupied_while_alive": "a worker that is given up by one clock may still render by its own",
        "single_render": "it rests on a given-up worker having stopped: the one promise that needs clocks that agree",
    },
    "command": {
        "live_delivery_runs_in_the_supervisor": "one that a fast clock has taken over still believes in its lease",
    },
}
"""For each contract the statements that do need clocks that agree; none of them can be proved without."""


@dataclass(frozen=True)
class Exempt:
    """A statement that is not demanded as it stands, with the reason."""

    statement: str
    reason: str


@dataclass(frozen=True)
class OwnClocks:
    """The contract whose operations read clocks of their own, and what is not demanded of it."""

    contract: Contract
    exempt: tuple[Exempt, ...]


def reads_time(term: Term) -> bool:
    """Whether a term reads the clock."""
    return any(isinstance(part, Now) for part in walk(term))


def with_own_clocks(contract: Contract) -> Contract:
    """The contract in which every operation reads an arbitrary clock of its caller."""
    return own_clocks(contract).contract


def own_clocks(contract: Contract) -> OwnClocks:
    """The contract in which every operation reads an arbitrary clock, and the statements that are exempt.

    Those of ``AGREEING`` are exempt by name. Raises ``ValueError`` when an operation already has a parameter of the
    name ``own_clock``.
    """
    for operation in contract.operations:
        if OWN_CLOCK in {parameter.name for parameter in operation.parameters}:
            raise ValueError(f"{operation.name} has a parameter {OWN_CLOCK!r} already; rename it")
    named = AGREEING.get(contract.name, {})
    kept: list[StepProperty] = []
    exempt = [Exempt(statement, reason) for statement, reason in named.items()]
    for statement in contract.step_properties:
        if statement.name in named:
            continue
        if reads_time(statement.statement):
            exempt.append(Exempt(statement.name, BY_TIME))
            kept.extend(_by_own_clock(contract, statement))
        else:
            kept.append(statement)
    exempt.extend(Exempt(progress.name, PROMPTNESS) for progress in contract.progress)
    changed = replace(
        contract,
        name=f"{contract.name} with own clocks",
        operations=tuple(_with_clock(operation) for operation in contract.operations),
        invariants=tuple(invariant for invariant in contract.invariants if invariant.name not in named),
        step_properties=tuple(kept),
        progress=(),
    )
    return OwnClocks(changed, tuple(exempt))


def as_the_store_has_it(contract: Contract, statement: str) -> Contract:
    """The contract with own clocks in which one exempt statement is demanded all the same, to see it break.

    Raises ``KeyError`` when the contract has no invariant or step property of that name.
    """
    for invariant in contract.invariants:
        if invariant.name == statement:
            clocked = with_own_clocks(contract)
            others = tuple(each for each in clocked.invariants if each.name != statement)
            return replace(clocked, invariants=(*others, invariant))
    for candidate in contract.step_properties:
        if candidate.name == statement:
            clocked = with_own_clocks(contract)
            demanded = tuple(p for p in clocked.step_properties if p.name != statement)
            return replace(clocked, step_properties=(*demanded, candidate))
    raise KeyError(statement)


def _own(part: Term) -> Term | None:
    return Param(OWN_CLOCK) if isinstance(part, Now) else None


def _with_clock(operation: Operation) -> Operation:
    """The operation by its caller's clock; one that reads no time stays as it is."""
    if not _reads_time(operation):
        return operation
    return replace(
        operation,
        parameters=(*(_parameter(p) for p in operation.parameters), CLOCK),
        guards=tuple(_guard(guard) for guard in operation.guards),
        cases=tuple(_case(case) for case in operation.cases),
    )


def _reads_time(operation: Operation) -> bool:
    return any(reads_time(term) for term in _terms(operation))


def _terms(operation: Operation) -> Iterator[Term]:
    yield from (guard.term for guard in operation.guards)
    yield from (p.assumed for p in operation.parameters if p.assumed is not None)
    for case in operation.cases:
        yield from (guard.term for guard in case.when)
        yield from (assignment.value for assignment in case.effect)
        for each in case.also:
            yield each.where
            yield from (assignment.value for assignment in each.effect)


def _parameter(parameter: Parameter) -> Parameter:
    if parameter.assumed is None:
        return parameter
    return replace(parameter, assumed=rewritten_truth(parameter.assumed, _own))


def _guard(guard: Guard) -> Guard:
    return replace(guard, term=rewritten_truth(guard.term, _own))


def _assignment(assignment: Assignment) -> Assignment:
    return replace(assignment, value=rewritten_value(assignment.value, _own))


def _case(case: Case) -> Case:
    return replace(
        case,
        when=tuple(_guard(guard) for guard in case.when),
        effect=tuple(_assignment(assignment) for assignment in case.effect),
        also=tuple(
            replace(
                each,
                where=rewritten_truth(each.where, _own),
                effect=tuple(_assignment(assignment) for assignment in each.effect),
            )
            for each in case.also
        ),
    )


def _by_own_clock(contract: Contract, statement: StepProperty) -> Iterator[StepProperty]:
    """What a statement says of each operation, by the clock that the operation has read.

    A statement about an operation speaks of that operation's own entities where it uses their names; one that speaks of
    any entities gets names of its own for them.
    """
    spoken = statement if statement.restricted else _of_any(statement)
    for operation in contract.operations:
        if not statement.speaks_of(operation):
            continue
        term = rewritten_truth(spoken.statement, _own) if _reads_time(operation) else spoken.statement
        yield StepProperty(
            f"{statement.name} by the clock of {operation.name}",
            statement.clause,
            spoken.over,
            _not_asked_for_occurrence(term),
            statement.meaning,
            of=operation.name,
        )


def _of_any(statement: StepProperty) -> StepProperty:
    names = {v.name: f"any_{v.name}" for v in statement.over if v.of is not None}

    def renamed(part: Term) -> Term | None:
        return replace(part, entity=names.get(part.entity, part.entity)) if isinstance(part, FieldOf) else None

    over = tuple(
        replace(v, name=names.get(v.name, v.name), of=names.get(v.of, v.of) if v.of is not None else None)
        for v in statement.over
    )
    return replace(statement, over=over, statement=rewritten_truth(statement.statement, renamed))


def _not_asked_for_occurrence(term: TruthTerm) -> TruthTerm:
    """The same statement, of which it is not asked whether what it supposes can be.

    That is asked of the whole statement in the contract with one clock. Most operations never do what it speaks of.
    """
    match term:
        case AllOf(parts):
            return AllOf(tuple(_not_asked_for_occurrence(part) for part in parts))
        case AnyOf((Not(), *_)):
            return AnyOf((Truth(False), *term.parts))
        case _:
            return term
