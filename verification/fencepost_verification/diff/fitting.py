"""One small world for two contracts: the same entities, clock, settings and arguments, as far as each has them.

A world belongs to one contract and names only what that has. To walk two contracts in step, each gets the world that
differs as little as possible: settings, arguments and kinds of entities that a contract lacks are left out, and what
the world cannot know of it (an argument that only the other contract takes) comes from that contract's own worlds. An
operation for which nobody offers an argument is called on neither side, and that is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fencepost_model.contract import Contract
from fencepost_model.semantics import Member, Population
from fencepost_model.terms import Value, ValueTerm
from fencepost_model.worlds import World


class NothingShared(ValueError):
    """Two contracts cannot be walked in one world; the message says why."""


@dataclass(frozen=True)
class Fitted:
    """The world of one side, and for each of its slots the number of the same slot in the world that both come from."""

    world: World
    slots: tuple[int, ...]


def fitted(
    base: World, old: Contract, new: Contract, donors: Sequence[World]
) -> tuple[Fitted, Fitted, tuple[str, ...]]:
    """The world for both contracts, and one sentence for each operation that cannot be called in it.

    ``donors`` are worlds of either contract. Raises ``NothingShared`` when they have no root in common.
    """
    remarks: list[str] = []
    arguments = [_arguments(base, contract, donors) for contract in (old, new)]
    without = set(base.without)
    for contract, (_, lacking) in zip((old, new), arguments, strict=True):
        for operation, parameter in lacking:
            if operation not in without:
                told = f"{operation} is not called in {base.name}: no world offers a value for its {parameter}"
                remarks.append(told)
            without.add(operation)
        # What no world of a contract calls is called by none here: the world of the other one cannot know that.
        own = [world for world in donors if world.contract is contract and world.name == base.name]
        if own and base.contract is not contract:
            without |= {name for name in own[0].without if name not in {o.name for o in base.contract.operations}}
    sides = tuple(
        _side(base, contract, given, without, donors)
        for contract, (given, _) in zip((old, new), arguments, strict=True)
    )
    return sides[0], sides[1], tuple(dict.fromkeys(remarks))


_Arguments = dict[str, tuple[ValueTerm, ...]]


def _arguments(base: World, contract: Contract, donors: Sequence[World]) -> tuple[_Arguments, list[tuple[str, str]]]:
    """The values tried for each parameter of a contract, and the parameters for which there are none."""
    # The world of the same name knows best what fits beside it.
    ordered = (base, *sorted(donors, key=lambda world: world.name != base.name))
    found: _Arguments = {}
    lacking: list[tuple[str, str]] = []
    for operation in contract.operations:
        for parameter in operation.parameters:
            keys = (f"{operation.name}.{parameter.name}", f"*.{parameter.name}")
            offers = (world.arguments[key] for world in ordered for key in keys if key in world.arguments)
            values = next(offers, None)
            if values is None:
                lacking.append((operation.name, parameter.name))
            else:
                found[keys[0]] = values
    return found, lacking


def _side(base: World, contract: Contract, given: _Arguments, without: set[str], donors: Sequence[World]) -> Fitted:
    machines = {machine.name for machine in contract.machines}
    if base.population.root.machine not in machines:
        told = f"world {base.name!r} is about a {base.population.root.machine}"
        raise NothingShared(f"{told}, which {contract.name} of one side lacks: compare contracts about the same root")
    kept = [slot.index for slot in base.population.slots if _is_kept(base.population, slot.index, machines)]
    own = next((world for world in donors if world.contract is contract and world.name == base.name), None)
    known = {slot.label: slot.fixed for slot in own.population.slots} if own else {}
    profile: dict[str, Value] = (own.profile() if own else contract.defaults()) | {
        name: value for name, value in base.profile().items() if name in contract.defaults()
    }
    names = {operation.name for operation in contract.operations}
    world = replace(
        base,
        contract=contract,
        population=Population(_member(base.population.root, contract, known), 1),
        arguments=given,
        settings=profile,
        without=frozenset(without & names),
        untaken=frozenset(),
        unreached=frozenset(),
    )
    return Fitted(world, tuple(kept))


def _member(member: Member, contract: Contract, known: Mapping[str, Mapping[str, Value]]) -> Member:
    """A member with what belongs to it, as far as a contract has machines and fixed fields for it.

    A fixed field that the world does not give comes from ``known``, by the label of the member.
    """
    machines = {machine.name: machine for machine in contract.machines}
    given = {**known.get(member.label, {}), **member.fixed}
    names = [field.name for field in machines[member.machine].fields if field.fixed]
    return replace(
        member,
        fixed={name: given[name] for name in names if name in given},
        members=tuple(_member(inner, contract, known) for inner in member.members if inner.machine in machines),
    )


def _is_kept(population: Population, index: int, machines: set[str]) -> bool:
    """Whether a slot is there when members of unknown machines are left out, with all that belongs to them."""
    while index >= 0:
        slot = population.slots[index]
        if slot.machine not in machines:
            return False
        index = slot.parent
    return True
