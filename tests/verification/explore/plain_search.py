"""The oracle of the explorer: breadth-first search by the plain semantics, one state at a time."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from fencepost_model.contract import Contract, transition_name
from fencepost_model.semantics import Call, Semantics, State
from fencepost_model.terms import Bare, value_of
from fencepost_model.worlds import World
from fencepost_verification.explore.observation import Observed, observation_of

Key = tuple[object, ...]


@dataclass
class Found:
    """What the search found: states by key with their depth, labelled edges, and the depth of each first violation."""

    depth: dict[Key, int] = field(default_factory=dict)
    edges: list[tuple[Key, str, Key]] = field(default_factory=list)
    broken: dict[str, int] = field(default_factory=dict)
    witnessed: dict[str, int] = field(default_factory=dict)


def plain_search(world: World, contract: Contract | None = None) -> Found:
    """Every state of a world, by plain evaluation; states are told apart by what the contract observes."""
    contract = contract or world.contract
    semantics = Semantics(contract, world.population, world.profile())
    observation = observation_of(contract)

    def key(state: State) -> Key:
        parts: list[object] = [state.now]
        for rows in state.rows:
            for slot, row in zip(world.population.slots, rows, strict=True):
                for name, value in row.items():
                    closeness = observation[(slot.machine, name)]
                    if closeness is Observed.VALUE:
                        parts.append(value)
                    elif closeness is Observed.NULLNESS:
                        parts.append(value is None)
        return tuple(parts)

    found = Found()
    queue: deque[State] = deque()

    def meet(state: State, depth: int) -> None:
        if key(state) in found.depth:
            return
        found.depth[key(state)] = depth
        for invariant in semantics.broken_invariants(state):
            found.broken.setdefault(invariant.name, depth)
        for witness in contract.witnesses:
            if semantics.shows(state, witness):
                found.witnessed.setdefault(witness.name, depth)
        queue.append(state)

    for state in semantics.initial(legacy=world.legacy):
        meet(state, 0)
    while queue:
        state = queue.popleft()
        depth = found.depth[key(state)] + 1
        if state.now + world.tick <= world.horizon:
            later = semantics.advance(state, world.tick)
            found.edges.append((key(state), "tick", key(later)))
            meet(later, depth)
        for operation in world.operations():
            for aggregate in range(world.population.aggregates):
                for binding in world.population.bindings(operation.over):
                    for arguments in world.argument_sets(operation):
                        params = {name: value_of(term, Bare({}, state.now)) for name, term in arguments.items()}
                        call = Call(operation.name, aggregate, binding, params)
                        if semantics.false_guards(state, call):
                            continue
                        for case in semantics.cases(state, call):
                            after = semantics.apply(state, call, case)
                            name = transition_name(contract.operation(operation.name), case)
                            found.edges.append((key(state), name, key(after)))
                            for statement in semantics.broken_step_properties(state, call, after):
                                found.broken.setdefault(statement.name, depth)
                            meet(after, depth)
    return found
