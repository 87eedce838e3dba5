"""Symmetry changes no count, is used where the model has it, and nowhere else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.verification.two_levels import worlds

from fencepost_model.contract import Contract
from fencepost_model.machines.job_worlds import JOB_LARGE, JOB_SMALL, JOB_SYMMETRIC, jobs
from fencepost_model.semantics import Member, Population
from fencepost_model.shapes import Guard, Parameter, Sort
from fencepost_model.terms import Const, Equal, FieldOf, Not, OneOf, Param, TruthTerm
from fencepost_model.worlds import World, const
from fencepost_verification.explore.local import explore_aggregate
from fencepost_verification.explore.symmetry import Exchange, NotASymmetry, Symmetry, on_states, symmetries_of
from fencepost_verification.explore.world import explore

NONE: frozenset[str] = frozenset()


def world(count: int, *workers: str, horizon: int = 1) -> World:
    return replace(
        JOB_SYMMETRIC, name="few", population=jobs(count, *workers), horizon=horizon, untaken=NONE, unreached=NONE
    )


def symmetry_of(of: World, contract: Contract | None = None) -> Symmetry:
    return symmetries_of(of, contract or of.contract)


def refusing(term: TruthTerm, *parameters: Parameter) -> Contract:
    """The contract of the job in which a claim has one more guard."""
    contract = JOB_LARGE.contract
    claim = contract.operation("claim")
    claim = replace(claim, guards=(*claim.guards, Guard("extra", term, "nowhere", "to prefer one")))
    claim = replace(claim, parameters=(*claim.parameters, *parameters))
    operations = tuple(claim if o.name == "claim" else o for o in contract.operations)
    return replace(contract, operations=operations, checked=False)


SAME = [
    world(1, "w1"),
    world(1, "w1", "w2", horizon=2),
    world(2, "w1", "w2"),
    world(3, "w1", "w2"),
    world(2, "w1", "w1", "w2"),
    world(2, "w1", "w2", "w3"),
    world(2, "w1", "w1", "w2", "w2", horizon=0),
    replace(JOB_SMALL, population=jobs(1, "w1", "w2"), horizon=2, untaken=NONE, unreached=NONE),
    replace(worlds(1), population=replace(worlds(1).population, aggregates=2), untaken=NONE, unreached=NONE),
]


@pytest.mark.parametrize("of", SAME, ids=lambda w: f"{w.population.aggregates} of {len(w.population.slots)}")
def test_orbits_add_up_to_the_states_that_there_are(of: World) -> None:
    whole, reduced = explore(of), explore(of, symmetry=True)
    assert (reduced.states, reduced.edges, reduced.depth) == (whole.states, whole.edges, whole.depth)
    assert reduced.fired == whole.fired
    assert (reduced.never_taken, reduced.unwitnessed) == (whole.never_taken, whole.unwitnessed)
    initial = len(whole.local.initial) ** of.population.aggregates
    assert sum(reduced.fresh.values()) == sum(whole.fresh.values()) == whole.states - initial
    assert whole.symmetry is None
    assert whole.representatives == whole.states
    assert reduced.symmetry is not None
    assert reduced.symmetry.excluded == ()
    least = whole.states / reduced.symmetry.order
    assert least <= reduced.representatives <= whole.states
    assert (reduced.representatives < whole.states) is (reduced.symmetry.order > 1)


def test_representatives_are_as_many_as_there_are_orbits() -> None:
    """Counted once more, from all products of local states, by the orbits that they fall into."""
    of = world(2, "w1", "w2", "w3")
    reduced = explore(of, symmetry=True)
    local = explore_aggregate(of)
    assert reduced.symmetry is not None
    images = [on_states(local, exchange) for exchange in reduced.symmetry.exchanges]
    assert len(images) == 6
    orbits: set[frozenset[tuple[int, int]]] = set()
    for instant in np.unique(local.clock):
        here = np.flatnonzero(local.clock == instant).tolist()
        for one in here:
            for other in here:
                pairs = ((int(image[one]), int(image[other])) for image in images)
                orbits.add(frozenset(p for (a, b) in pairs for p in ((a, b), (b, a))))
    assert reduced.states == sum(len(orbit) for orbit in orbits)
    assert reduced.representatives == len(orbits)


def test_three_jobs_and_two_workers_shrink_almost_by_their_exchanges() -> None:
    found = explore(JOB_SYMMETRIC, symmetry=True)
    assert (found.states, found.representatives) == (15_294_439, 1_294_512)
    assert found.symmetry is not None
    assert found.symmetry.order == 12
    assert found.states / found.representatives > 11
    assert not found.broken
    assert not found.never_taken
    assert not found.needless
    assert not found.unwitnessed


def test_the_exchanges_are_those_of_the_population() -> None:
    assert [e.slots for e in symmetry_of(world(1, "w1", "w2")).exchanges] == [(0, 1, 2), (0, 2, 1)]
    assert symmetry_of(world(1, "w1", "w2")).exchanges[1].names == {"w1": "w2", "w2": "w1"}
    # Two executions of one worker are exchanged without a new name; together with the other worker's only in pairs.
    assert len(symmetry_of(world(1, "w1", "w1", "w2")).exchanges) == 2
    assert len(symmetry_of(world(1, "w1", "w1", "w2", "w2")).exchanges) == 8
    assert len(symmetry_of(world(1, "w1", "w2", "w3")).exchanges) == 6


def test_a_fixed_number_that_differs_tells_members_apart() -> None:
    alike = Member("run", "a", {"seat": 1}, (Member("request", "x"),))
    root = Member("host", "host", {"name": "h"}, (alike, replace(alike, label="b")))
    pair = replace(worlds(1, 1), population=Population(root))
    assert symmetry_of(pair).order == 2
    seats = replace(root, members=(alike, replace(alike, label="b", fixed={"seat": 2})))
    assert symmetry_of(replace(pair, population=Population(seats))).order == 1
    longer = replace(root, members=(alike, replace(alike, label="b", members=())))
    assert symmetry_of(replace(pair, population=Population(longer))).order == 1
    whole, reduced = explore(pair), explore(pair, symmetry=True)
    assert (reduced.states, reduced.edges) == (whole.states, whole.edges)
    assert reduced.representatives < whole.states


def test_a_contract_that_names_somebody_has_no_exchange() -> None:
    claimer = FieldOf("token", "worker_id")
    for term in (Equal(claimer, Const("w1")), OneOf(claimer, ("w2",)), Not(Equal(claimer, Const("w2")))):
        found = symmetry_of(world(2, "w1", "w2"), refusing(term))
        assert len(found.exchanges) == 1
        assert found.order == 2
        assert "mentions" in found.excluded[0]
    free = symmetry_of(world(2, "w1", "w2"), refusing(Not(Equal(claimer, Const("w9")))))
    assert free.order == 4


def test_an_argument_that_prefers_somebody_excludes_the_exchange() -> None:
    wanted = Parameter("wanted", Sort.IDENTITY, "who may have it")
    contract = refusing(Equal(FieldOf("token", "worker_id"), Param("wanted")), wanted)
    few = world(1, "w1", "w2")
    for offered, order in ((const("w1"), 1), (const("w1", "w2"), 2), (const("w3"), 2)):
        of = replace(few, contract=contract, arguments={**few.arguments, "claim.wanted": offered})
        found = symmetry_of(of)
        assert found.order == order
        assert ("arguments of 'claim'" in "".join(found.excluded)) is (order == 1)
        assert explore(of, symmetry=True).states == explore(of).states


def test_an_exchange_that_is_none_is_caught_by_the_states() -> None:
    one_sided = explore_aggregate(world(1, "w1", "w2"), refusing(Equal(FieldOf("token", "worker_id"), Const("w1"))))
    with pytest.raises(NotASymmetry, match="few"):
        on_states(one_sided, Exchange((0, 2, 1), {"w1": "w2", "w2": "w1"}))
    fair = explore_aggregate(world(1, "w1", "w2"))
    with pytest.raises(NotASymmetry, match="few"):
        on_states(fair, Exchange((0, 2, 1), {}))
    assert sorted(on_states(fair, Exchange((0, 2, 1), {"w1": "w2", "w2": "w1"})).tolist()) == list(range(fair.states))
