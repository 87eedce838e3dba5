"""Pairs of contracts to compare, and the oracle of the walk: both by plain evaluation, one state at a time."""

from __future__ import annotations

import importlib.util
import sys
from collections import deque
from collections.abc import Hashable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType

from fencepost_model.contract import Contract, transition_name
from fencepost_model.semantics import Call, Semantics, State
from fencepost_model.shapes import Assignment, Case, Guard, Operation
from fencepost_model.specification import Chapter
from fencepost_model.terms import Bare, TruthTerm, value_of
from fencepost_model.worlds import World
from fencepost_verification.diff.behaviour import Kind
from fencepost_verification.diff.sources import Source

EXAMPLES = Path(__file__).resolve().parents[3] / "docs/examples"


@cache
def example(name: str) -> ModuleType:
    """A file of the documentation's examples; it may import its neighbours."""
    sys.path.insert(0, str(EXAMPLES))
    try:
        spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(EXAMPLES))
    return module


def approval() -> Chapter:
    """A payment that two people approve."""
    chapter: Chapter = example("approval").CHAPTER
    return chapter


def checked() -> Chapter:
    """The same with a further status."""
    approval()
    chapter: Chapter = example("approval_checked").CHAPTER
    return chapter


def side(contract: Contract, *worlds: World) -> Source:
    """A side of a comparison: a contract in the given worlds, which may have been made for another one."""
    own = tuple(replace(world, contract=contract) for world in worlds)
    return Source(contract.name, contract, own, own)


def with_operation(contract: Contract, operation: Operation) -> Contract:
    """The contract with one operation replaced, or added."""
    if operation.name not in {each.name for each in contract.operations}:
        return replace(contract, operations=(*contract.operations, operation), checked=False)
    operations = tuple(operation if each.name == operation.name else each for each in contract.operations)
    return replace(contract, operations=operations, checked=False)


def with_guard(contract: Contract, operation: str, name: str, term: TruthTerm | None) -> Contract:
    """The contract with a guard of an operation replaced or added; dropped where there is no term."""
    before = contract.operation(operation)
    kept = tuple(guard for guard in before.guards if guard.name != name)
    guards = kept if term is None else (*kept, Guard(name, term, "test", "test"))
    return with_operation(contract, replace(before, guards=guards))


def with_effect(contract: Contract, operation: str, *effect: Assignment) -> Contract:
    """The contract in which the one case of an operation has another effect."""
    before = contract.operation(operation)
    (case,) = before.cases
    return with_operation(contract, replace(before, cases=(replace(case, effect=effect),)))


# --- the oracle -------------------------------------------------------------------------------------------------------

Told = dict[tuple[Kind, str, str], int]
"""Differences, each with the length of a shortest run."""


def plain_differences(old: Contract, new: Contract, world: World) -> Told:
    """The differences of two contracts of the same operations and fields, told apart by nothing but whole rows."""
    sides = [Semantics(contract, world.population, world.profile()) for contract in (old, new)]
    found: Told = {}
    alone: dict[tuple[Kind, str], int] = {}
    taken: list[set[str]] = [set(), set()]
    queue: deque[tuple[State | None, State | None, int]] = deque()
    seen: set[Hashable] = set()

    def meet(one: State | None, other: State | None, depth: int) -> None:
        key = tuple(_key(state) for state in (one, other))
        if key not in seen:
            seen.add(key)
            queue.append((one, other, depth))

    for one, other in zip(*(side.initial(legacy=world.legacy) for side in sides), strict=True):
        meet(one, other, 0)
    while queue:
        *states, depth = queue.popleft()
        one, other = states
        clock = next(state.now for state in states if state is not None)
        if clock + world.tick <= world.horizon:
            later = [side.advance(s, world.tick) if s else None for side, s in zip(sides, states, strict=True)]
            meet(later[0], later[1], depth + 1)
        for call in _calls(world, clock):
            answers = [_answer(side, state, call) if state else None for side, state in zip(sides, states, strict=True)]
            names = [answer[0] if answer else "" for answer in answers]
            for number, name in enumerate(names):
                if name:
                    taken[number].add(name)
            ends = [answer[1] if answer else None for answer in answers]
            if one is None or other is None:
                for number, kind in enumerate((Kind.REMOVED, Kind.ADDED)):
                    if names[number]:
                        alone.setdefault((kind, names[number]), depth + 1)
                if any(ends):
                    meet(ends[0], ends[1], depth + 1)
            elif ends[0] is not None and ends[1] is not None and _key(ends[0]) == _key(ends[1]):
                meet(ends[0], ends[1], depth + 1)
            else:
                if all(ends):
                    found.setdefault((Kind.CHANGED, names[0], names[1]), depth + 1)
                elif ends[0] is not None:
                    found.setdefault((Kind.REMOVED, names[0], ""), depth + 1)
                elif ends[1] is not None:
                    found.setdefault((Kind.ADDED, names[1], ""), depth + 1)
                if ends[0] is not None:
                    meet(ends[0], None, depth + 1)
                if ends[1] is not None:
                    meet(None, ends[1], depth + 1)
    known = {(kind, name) for kind, name, _ in found}
    for (kind, name), length in alone.items():
        if name not in taken[1 if kind is Kind.REMOVED else 0] and (kind, name) not in known:
            found[(kind, name, "")] = length
    return found


def _key(state: State | None) -> Hashable:
    return state and (state.now, tuple(tuple(sorted(row.items())) for row in state.rows[0]))


def _calls(world: World, now: float | int) -> Iterator[Call]:
    for operation in world.operations():
        for binding in world.population.bindings(operation.over):
            for arguments in world.argument_sets(operation):
                params = {name: value_of(term, Bare({}, now)) for name, term in arguments.items()}
                yield Call(operation.name, 0, binding, params)


def _answer(semantics: Semantics, state: State, call: Call) -> tuple[str, State] | None:
    if semantics.false_guards(state, call):
        return None
    operation = semantics.contract.operation(call.operation)
    case: Case
    (case,) = semantics.cases(state, call)
    return transition_name(operation, case), semantics.apply(state, call, case)
