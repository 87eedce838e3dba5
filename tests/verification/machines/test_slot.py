"""The contract of render slots: every world explored to its end, every obligation proved for any number of entities."""

from dataclasses import replace

import pytest

from fencepost_model.contract import Contract, transition_name
from fencepost_model.machines.slot import PLACE_FREE, SLOT_CONTRACT, worker
from fencepost_model.machines.slot_worlds import SLOT_PAIR, SMALL_WORLDS, WORLDS
from fencepost_model.shapes import Guard, Operation
from fencepost_model.terms import present
from fencepost_model.worlds import World
from fencepost_verification.evidence import Held
from fencepost_verification.explore.local import explore_aggregate
from fencepost_verification.explore.world import explore
from fencepost_verification.prove.prover import prove

STATES = {"slot-single": 3_593, "slot-pair": 8_568}
"""How many states each world has: a change of the contract that changes none of them would be a surprise."""


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_every_state_of_a_world_keeps_what_was_promised(world: World) -> None:
    explored = explore(world)
    assert explored.states == STATES[world.name]
    assert explored.complete
    assert [str(verdict) for verdict in explored.verdicts() if not isinstance(verdict, Held)] == []


def test_the_small_worlds_take_every_transition_and_show_every_witness() -> None:
    transitions = {transition_name(operation, case) for operation, case in SLOT_CONTRACT.transitions()}
    witnesses = {witness.name for witness in SLOT_CONTRACT.witnesses}
    taken: set[str] = set()
    shown: set[str] = set()
    for world in SMALL_WORLDS:
        called = {operation.name for operation in world.operations()}
        taken |= {name for name in transitions if name.partition("/")[0] in called} - world.untaken
        shown |= witnesses - world.unreached
    assert taken == transitions
    assert shown == witnesses


def test_every_obligation_is_proved_without_bounds() -> None:
    proof = prove(SLOT_CONTRACT)
    assert [obligation.name for obligation in proof.obligations if not isinstance(obligation.verdict, Held)] == []
    named = {obligation.statement for obligation in proof.obligations}
    assert {invariant.name for invariant in SLOT_CONTRACT.invariants} <= named
    assert {statement.name for statement in SLOT_CONTRACT.step_properties} <= named


# --- what B6 and the sources' wording would allow ---------------------------------------------------------------------


def with_operation(changed: Operation) -> Contract:
    """The contract with one operation written otherwise."""
    operations = tuple(changed if o.name == changed.name else o for o in SLOT_CONTRACT.operations)
    return replace(SLOT_CONTRACT, operations=operations, checked=False)


def shortest_to_two_renders(contract: Contract) -> list[str]:
    """The transitions of a shortest run to two renders at work on one worker."""
    graph = explore_aggregate(SLOT_PAIR, contract)
    found = min((v for v in graph.violations if v.statement == "single_render"), key=lambda violation: violation.depth)
    return [step.rpartition(":")[2] for step in str(graph.trace_of(found)).split(" ; ")]


def test_an_expiry_that_frees_the_place_lets_two_renders_run() -> None:
    expire = SLOT_CONTRACT.operation("expire")
    (case,) = expire.cases
    freeing = replace(expire, cases=(replace(case, effect=(*case.effect, *PLACE_FREE)),))
    steps = ["register", "reserve", "tick", "expire", "reserve"]
    assert shortest_to_two_renders(with_operation(freeing)) == steps


def test_an_epoch_that_promises_nothing_lets_two_renders_run() -> None:
    register = SLOT_CONTRACT.operation("register")
    (case,) = register.cases
    also = tuple(replace(each, effect=tuple(a for a in each.effect if a.field.name != "alive")) for each in case.also)
    silent = replace(register, cases=(replace(case, also=also),))
    assert shortest_to_two_renders(with_operation(silent)) == ["register", "reserve", "register", "reserve"]


def test_a_worker_given_up_and_used_again_under_its_epoch_runs_two_renders() -> None:
    """Contract §4 lets the worker's time to live free the slot, and says nothing of what comes after."""
    reserve = SLOT_CONTRACT.operation("reserve")
    registered = Guard("registered", present(worker("epoch")), "§4 Slot", "as written")
    guards = tuple(registered if guard.name == "worker_alive" else guard for guard in reserve.guards)
    steps = shortest_to_two_renders(with_operation(replace(reserve, guards=guards)))
    assert steps == ["register", "reserve", "fail/failed", "tick", "tick", "give_up/ended_before", "reserve"]
