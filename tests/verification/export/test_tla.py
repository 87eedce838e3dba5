"""The TLA+ reading has the states, edges and names of our own: TLC's whole graph on small worlds, counts on more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from fencepost_model.contract import transition_name
from fencepost_model.machines.admission_worlds import ADMISSION_FULL
from fencepost_model.machines.job_worlds import JOB_LARGE, JOB_PARKED, JOB_PLAIN, JOB_SMALL, jobs
from fencepost_model.machines.slot_worlds import SLOT_PAIR
from fencepost_model.semantics import Member, Population, Row, Semantics, State
from fencepost_model.shapes import ForEach, Sort
from fencepost_model.terms import FieldOf
from fencepost_model.worlds import World, const
from fencepost_verification.explore.world import explore
from fencepost_verification.export.tla import exchanges, tla, write
from fencepost_verification.export.tlc import (
    Key,
    TlcFailed,
    TlcOptions,
    as_trace,
    key_of_state,
    run_tlc,
    why_not,
)

needs_tlc = pytest.mark.skipif(why_not() is not None, reason=why_not() or "")

PLAIN = replace(JOB_PLAIN, horizon=0, untaken=frozenset(), unreached=frozenset())
SLOTS = replace(SLOT_PAIR, horizon=1, untaken=frozenset(), unreached=frozenset())
PAIR = replace(JOB_LARGE, population=jobs(2, "w1", "w2"), horizon=0, untaken=frozenset(), unreached=frozenset())
"""Two jobs, and for each two executions of different workers: 137 states a job, 137 squared for both."""


# --- TLC against our explorer -----------------------------------------------------------------------------------------


@needs_tlc
@pytest.mark.parametrize("world", [PLAIN, SLOTS], ids=["legacy rows", "steps that change sets of rows"])
def test_the_whole_labelled_graph_is_ours(world: World, tmp_path: Path) -> None:
    assert world is PLAIN or any(case.also for _, case in world.contract.transitions())
    module = tla(world)
    found = run_tlc(module, tmp_path, TlcOptions(graph=True))
    assert found.graph is not None
    explored = explore(world)
    graph = explored.local
    keys = [key_of_state(module, graph.state(number)) for number in range(graph.states)]
    edges = {
        (keys[source], graph.shapes[label].transition, keys[target])
        for source, label, target in zip(graph.sources, graph.moves, graph.targets, strict=True)
    }
    assert found.graph.states == set(keys)
    assert found.graph.initial == {keys[number] for number in graph.initial}
    assert found.graph.edges == edges
    assert (found.states, found.edges, found.depth) == (explored.states, explored.edges, explored.depth)
    assert found.violated is None


@needs_tlc
def test_the_counts_of_a_middle_world_are_ours_with_and_without_symmetry(tmp_path: Path) -> None:
    explored = explore(PAIR)
    assert 10_000 < explored.states < 100_000
    plain = run_tlc(tla(PAIR), tmp_path / "plain")
    assert (plain.states, plain.edges, plain.depth) == (explored.states, explored.edges, explored.depth)
    symmetric = run_tlc(tla(PAIR, symmetry=True), tmp_path / "symmetric")
    orbits = orbits_of_pairs(PAIR)
    assert symmetric.states == orbits == explore(PAIR, symmetry=True).representatives
    assert orbits < explored.states / 3.5


@needs_tlc
def test_a_violated_invariant_is_told_with_a_run_that_the_model_walks(tmp_path: Path) -> None:
    claim = PLAIN.contract.operation("claim")
    (claimed,) = claim.cases
    effect = tuple(a for a in claimed.effect if a.field != FieldOf("job", "heartbeat_at"))
    broken = replace(claim, cases=(replace(claimed, effect=effect),))
    operations = tuple(broken if o is claim else o for o in PLAIN.contract.operations)
    world = replace(PLAIN, contract=replace(PLAIN.contract, operations=operations, checked=False))
    module = tla(world)
    found = run_tlc(module, tmp_path)
    assert found.violated == "running_under_a_lease"
    trace = as_trace(module, found)
    assert [step.transition for step in trace.steps] == ["enqueue", "claim"]
    assert found.violated in {invariant.name for invariant in trace.semantics.broken_invariants(trace.end)}


@needs_tlc
def test_what_tlc_cannot_read_is_told_and_is_no_answer(tmp_path: Path) -> None:
    module = tla(PLAIN)
    with pytest.raises(TlcFailed, match="gave no answer"):
        run_tlc(replace(module, text=module.text.replace("Spec ==", "Spec =")), tmp_path)


# --- our own count of states up to exchanges --------------------------------------------------------------------------


def local_states(world: World) -> list[tuple[Key, tuple[Row, ...]]]:
    """Every state of one aggregate of a world whose clock stands still, by its key."""
    assert world.horizon == 0
    graph = explore(replace(world, population=Population(world.population.root, 1))).local
    module = tla(replace(world, population=Population(world.population.root, 1)))
    states = (graph.state(number) for number in range(graph.states))
    return [(key_of_state(module, state), state.rows[0]) for state in states]


def exchanged(world: World, rows: tuple[Row, ...]) -> State:
    """What a state of one aggregate becomes by the one exchange of slots and identities that the world has."""
    (exchange,) = exchanges(world)
    kinds = {m.name: {f.name for f in m.fields if f.sort is Sort.IDENTITY} for m in world.contract.machines}
    moved = [dict(row) for row in rows]
    for slot in world.population.slots:
        image = dict(rows[slot.index])
        for name in kinds[slot.machine] - slot.fixed.keys():
            value = image[name]
            image[name] = exchange.identities.get(value, value) if isinstance(value, str) else value
        target = exchange.slots.get(slot.index, slot.index)
        moved[target] = {**image, **world.population.slots[target].fixed}
    return State(0, (tuple(moved),))


def orbits_of_pairs(world: World) -> int:
    """How many states of two aggregates there are up to exchanges, each counted by the least of its images."""
    module = tla(replace(world, population=Population(world.population.root, 1)))
    states = local_states(world)
    image = {repr(key): repr(key_of_state(module, exchanged(world, rows))) for key, rows in states}
    assert set(image.values()) == set(image)
    return len(
        {
            min((one, other), (other, one), (image[one], image[other]), (image[other], image[one]))
            for one, other in product(image, repeat=2)
        }
    )


# --- exchanges --------------------------------------------------------------------------------------------------------


def moved(world: World) -> list[tuple[Mapping[int, int], Mapping[str, str]]]:
    return [(exchange.slots, exchange.identities) for exchange in exchanges(world)]


def test_executions_of_one_worker_are_alike_and_so_are_workers_with_as_many() -> None:
    assert moved(JOB_PLAIN) == [({1: 2, 2: 1}, {})]
    assert moved(PAIR) == [({1: 2, 2: 1}, {"w1": "w2", "w2": "w1"})]
    # Of three executions two share a worker: no exchange of workers keeps that.
    assert moved(JOB_SMALL) == [({1: 2, 2: 1}, {})]
    both = replace(PAIR, population=jobs(1, "w1", "w1", "w2", "w2"))
    pairs = {"w1": "w2", "w2": "w1"}
    assert ({1: 3, 3: 1, 2: 4, 4: 2}, pairs) in moved(both)
    assert moved(JOB_PARKED) == []


def test_an_identity_that_something_names_is_not_exchanged() -> None:
    population = Population(
        Member(
            "job", "job", {}, (Member("token", "a", {"worker_id": "ref"}), Member("token", "b", {"worker_id": "w2"}))
        )
    )
    world = replace(JOB_PARKED, population=population, untaken=frozenset(), unreached=frozenset())
    assert moved(world) == []  # a call of park offers "ref" and not "w2"
    neither = replace(world, arguments={**world.arguments, "park.provider_ref": const("other")})
    assert moved(neither) == [({1: 2, 2: 1}, {"ref": "w2", "w2": "ref"})]


def test_symmetry_is_written_only_where_it_is_asked_for_and_there() -> None:
    assert "SYMMETRY" not in tla(PAIR).cfg
    assert "SYMMETRY" in tla(PAIR, symmetry=True).cfg
    assert "SYMMETRY" not in tla(JOB_PARKED, symmetry=True).cfg


# --- the text ---------------------------------------------------------------------------------------------------------


def test_every_transition_is_an_action_and_every_invariant_is_checked() -> None:
    for world in (JOB_SMALL, ADMISSION_FULL, SLOT_PAIR):
        module = tla(world)
        assert set(module.transitions.values()) == {"tick"} | {
            transition_name(operation, case)
            for operation, case in world.contract.transitions()
            if operation.name not in world.without
        }
        assert set(module.invariants.values()) == {invariant.name for invariant in world.contract.invariants}
        for name in module.invariants:
            assert f"\n{name} ==\n" in module.text
            assert f"\n  {name}\n" in module.cfg


def test_the_module_is_ascii_and_no_name_is_given_twice() -> None:
    module = tla(JOB_SMALL, symmetry=True)
    assert module.text.isascii()
    defined = [line.partition("(")[0].partition(" ")[0] for line in module.text.splitlines() if "==" in line[:60]]
    tops = [name for name in defined if name and not name.startswith(("\\", "/"))]
    assert len(tops) == len(set(tops)) > 40


def test_files_are_called_after_the_world(tmp_path: Path) -> None:
    module, configuration = write(JOB_PARKED, tmp_path / "new", symmetry=False)
    assert (module.name, configuration.name) == ("job_parked.tla", "job_parked.cfg")
    assert module.read_text(encoding="utf-8") == tla(JOB_PARKED).text


def test_a_fraction_of_a_second_is_refused() -> None:
    world = replace(JOB_PARKED, settings={**JOB_PARKED.settings, "lease_seconds": 0.5})
    with pytest.raises(ValueError, match="whole seconds"):
        tla(world)


def test_a_set_of_rows_is_read_before_the_step_and_the_last_change_has_the_last_word() -> None:
    register = SLOT_PAIR.contract.operation("register")
    assert any(isinstance(each, ForEach) for case in register.cases for each in case.also)
    text = tla(SLOT_PAIR).text
    action = text[text.index("\nregister(") :].partition("\n\n")[0]
    changed = [line for line in action.splitlines() if "slot_status' =" in line]
    assert len(changed) == 1
    assert "slot_status'" not in changed[0].partition("EXCEPT")[2]


def test_the_states_that_the_module_begins_with_are_those_of_the_semantics() -> None:
    semantics = Semantics(JOB_PLAIN.contract, JOB_PLAIN.population, JOB_PLAIN.profile())
    count = len(list(semantics.initial(legacy=True)))
    assert f"[Job -> 1..{count}]" in tla(JOB_PLAIN).text
    assert "1.." not in tla(replace(JOB_PLAIN, legacy=False)).text.partition("Init ==")[2].partition("tick ==")[0]
