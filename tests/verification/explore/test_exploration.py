"""The explorer finds just what the plain semantics finds, and says so when something is missing or broken."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from tests.verification.explore.plain_search import plain_search

from fencepost_model.contract import Contract
from fencepost_model.machines.job_worlds import FULL, JOB_LARGE, JOB_PARKED, JOB_PLAIN, JOB_SMALL, PARKING, WORLDS, jobs
from fencepost_model.terms import Const, Less
from fencepost_model.worlds import World, const, later
from fencepost_verification.evidence import EXIT_HELD, EXIT_REFUTED, EXIT_UNKNOWN, exit_code
from fencepost_verification.explore.local import WorldTooWide, explore_aggregate
from fencepost_verification.explore.necessity import Conjunct, conjuncts_of, without
from fencepost_verification.explore.world import explore

PARKED = replace(
    JOB_SMALL,
    name="parked",
    population=jobs(1, "w1", "w1"),
    horizon=2,
    arguments={**FULL, "enqueue.deadline_at": later(2), "enqueue.max_attempts": const(1)},
    settings={**PARKING, "lease_seconds": 1},
    legacy=False,
    untaken=frozenset(),
    unreached=frozenset(),
)
TWO = replace(
    JOB_LARGE,
    name="two",
    population=jobs(2, "w1"),
    horizon=2,
    arguments={**JOB_LARGE.arguments, "enqueue.deadline_at": const(None), "enqueue.max_attempts": const(1)},
    settings={"lease_seconds": 1, "release_ceiling": 1},
    untaken=frozenset(),
    unreached=frozenset(),
)


@pytest.mark.parametrize("world", [PARKED, replace(JOB_PLAIN, horizon=1), TWO], ids=lambda world: world.name)
def test_states_edges_depths_and_witnesses_are_those_of_the_plain_search(world: World) -> None:
    plain, fast = plain_search(world), explore(world)
    assert fast.states == len(plain.depth)
    assert fast.edges == len(plain.edges)
    assert fast.depth == max(plain.depth.values())
    assert {name: n for name, n in fast.fired.items() if n} == Counter(name for _, name, _ in plain.edges)
    assert sum(fast.fresh.values()) == fast.states - sum(depth == 0 for depth in plain.depth.values())
    assert set(fast.local.witnessed) == set(plain.witnessed)
    assert not fast.broken
    assert not plain.broken


def test_a_witness_is_reached_by_a_shortest_run() -> None:
    plain, local = plain_search(PARKED), explore_aggregate(PARKED)
    assert local.witnessed
    for name, state in local.witnessed.items():
        trace = local.trace_to(state)
        assert len(trace.steps) == plain.witnessed[name]
        assert any(w.name == name and local.semantics.shows(trace.end, w) for w in PARKED.contract.witnesses)


# One entry a world: an accidental change of the model cannot pass unseen.
SIZES = {
    "job-small": (JOB_SMALL, 152_777, 311_626),
    "job-plain": (JOB_PLAIN, 7_108, 14_403),
    "job-parked": (JOB_PARKED, 9_713, 19_563),
    "job-large": (JOB_LARGE, 3_696_620, 11_944_617),
}


@pytest.mark.parametrize("name", SIZES)
def test_named_worlds_have_their_exact_size(name: str) -> None:
    world, states, edges = SIZES[name]
    found = explore(world)
    assert (found.states, found.edges) == (states, edges)
    assert exit_code(found.verdicts()) == EXIT_HELD
    assert found.peak_memory > 0


def test_every_named_world_is_pinned_and_every_transition_taken_in_one() -> None:
    assert {world.name for world in WORLDS} == set(SIZES)
    impossible = [world.untaken | set(world.without) for world in WORLDS]
    assert not frozenset.intersection(*map(frozenset, impossible))


def weakened(contract: Contract) -> Contract:
    return without(contract, Conjunct("renew", None, "generation"))


def test_a_broken_statement_comes_with_a_shortest_run_that_the_mutant_can_walk() -> None:
    mutant = weakened(PARKED.contract)
    plain, fast = plain_search(PARKED, mutant), explore(PARKED, mutant)
    assert fast.broken
    assert {name for name, _ in fast.broken} == set(plain.broken)
    for name, trace in fast.broken:
        assert len(trace.steps) == plain.broken[name]
    assert exit_code(fast.verdicts()) == EXIT_REFUTED
    named = {name: str(trace) for name, trace in fast.broken}
    assert named["holder_only"] in {
        "enqueue ; w1':claim ; w1:renew",
        "enqueue ; w1:claim ; w1':renew",
    }


def test_a_transition_that_is_never_taken_is_a_failure_unless_the_world_says_so() -> None:
    found = explore(replace(JOB_PLAIN, untaken=frozenset(), horizon=2))
    assert "skip" in found.never_taken
    assert exit_code(found.verdicts()) == EXIT_REFUTED


def test_a_transition_that_is_said_to_be_impossible_but_taken_is_a_failure() -> None:
    found = explore(replace(TWO, untaken=frozenset({"claim"})))
    assert found.needless == ("claim",)
    assert exit_code(found.verdicts()) == EXIT_REFUTED


def test_a_witness_that_is_not_reached_is_a_failure_unless_the_world_says_so() -> None:
    found = explore(replace(JOB_PLAIN, unreached=frozenset()))
    assert "skipped_reached" in found.unwitnessed
    assert exit_code(found.verdicts()) == EXIT_REFUTED


def test_a_search_that_did_not_end_is_unknown() -> None:
    found = replace(explore(TWO), complete=False, never_taken=(), unwitnessed=())
    assert exit_code(found.verdicts()) == EXIT_UNKNOWN


def test_a_value_beyond_the_key_is_refused_by_name() -> None:
    with pytest.raises(WorldTooWide, match="max_attempts"):
        explore(replace(TWO, arguments={**TWO.arguments, "enqueue.max_attempts": const(500)}))


def test_a_world_too_large_for_the_table_is_refused_before_it_is_searched() -> None:
    with pytest.raises(MemoryError, match="lower its horizon"):
        explore(replace(JOB_LARGE, population=jobs(9, "w1", "w1")))


def test_a_step_property_is_checked_on_whole_rows_though_states_are_told_apart_by_less() -> None:
    contract = PARKED.contract
    frozen = next(s for s in contract.step_properties if s.name == "terminal_frozen")
    rewritten = without(contract, Conjunct("request_cancel", None, "not_ended"))
    found = explore(PARKED, replace(rewritten, step_properties=(frozen,), invariants=()))
    # Only finished_at changes in a cancelled row, and finished_at is observed by nullness alone.
    assert [name for name, _ in found.broken] == ["terminal_frozen"]


def test_each_conjunct_can_be_dropped_alone() -> None:
    contract = JOB_SMALL.contract
    names = [str(conjunct) for conjunct in conjuncts_of(contract)]
    assert len(names) == len(set(names)) == 119
    for conjunct in conjuncts_of(contract):
        mutant = without(contract, conjunct)
        assert len(list(conjuncts_of(mutant))) == len(names) - 1
    with pytest.raises(KeyError):
        without(contract, Conjunct("claim", None, "no_such_guard"))


def test_cases_that_overlap_or_are_missing_are_noted() -> None:
    contract = PARKED.contract
    overlapping = without(contract, Conjunct("fail", "final", "not_stopped"))
    assert "cases_exclude_each_other" in {name for name, _ in explore(PARKED, overlapping).broken}
    fail = contract.operation("fail")
    cases = tuple(
        replace(case, when=(*case.when, replace(fail.guards[0], name="never", term=Less(Const(1), Const(0)))))
        if case.name == "final"
        else case
        for case in fail.cases
    )
    operations = tuple(replace(o, cases=cases) if o is fail else o for o in contract.operations)
    incomplete = replace(contract, operations=operations, checked=False)
    assert "cases_are_complete" in {name for name, _ in explore(PARKED, incomplete).broken}
