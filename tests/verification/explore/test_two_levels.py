"""Sets of members, members of members and roots without statuses: the explorer finds what the plain semantics finds."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from tests.verification.explore.plain_search import plain_search
from tests.verification.two_levels import (
    CLOSE,
    CLOSE_EACH,
    DROP_BELOW,
    DROP_EACH,
    EACH_BELOW,
    EACH_RUN,
    SHUT,
    TELLS_WHY,
    TWO_LEVELS,
    worlds,
)

from fencepost_model.contract import Contract
from fencepost_model.semantics import Population
from fencepost_model.shapes import ForEach, Operation
from fencepost_model.terms import Const, Equal, FieldOf, Param, Truth
from fencepost_verification.explore.local import explore_aggregate
from fencepost_verification.explore.necessity import Conjunct, Necessary, Unexplained, conjuncts_of, examine
from fencepost_verification.explore.observation import Observed, observation_of
from fencepost_verification.explore.world import explore
from fencepost_verification.export.promela import promela

SMALL = replace(worlds(2), horizon=1)
PAIR = replace(worlds(1, 1), horizon=0, arguments={"*.key": (Const("k"),), "close.why": (Const("late"),)})
TWICE = replace(PAIR, population=replace(worlds(1).population, aggregates=2))


def changing(operation: Operation, *also: ForEach) -> Contract:
    cases = tuple(replace(case, also=also) for case in operation.cases)
    operations = tuple(replace(o, cases=cases) if o.name == operation.name else o for o in TWO_LEVELS.operations)
    return replace(TWO_LEVELS, operations=operations, checked=False)


@pytest.mark.parametrize("world", [SMALL, PAIR, TWICE], ids=["two requests", "two runs", "two hosts"])
def test_states_edges_and_depths_are_those_of_the_plain_search(world: object) -> None:
    assert isinstance(world, type(SMALL))
    plain, fast = plain_search(world), explore(world)
    assert fast.states == len(plain.depth) > 20
    assert fast.edges == len(plain.edges)
    assert fast.depth == max(plain.depth.values())
    assert {name: n for name, n in fast.fired.items() if n} == Counter(name for _, name, _ in plain.edges)
    assert not fast.broken
    assert not plain.broken


@pytest.mark.parametrize(
    ("mutant", "statement"),
    [
        (changing(CLOSE), "pending_of_a_live_run"),
        (changing(SHUT), "no_run_after_the_shut"),
        (changing(SHUT, CLOSE_EACH), "pending_of_a_live_run"),
        (changing(SHUT, DROP_BELOW), "no_run_after_the_shut"),
        (changing(CLOSE, replace(DROP_EACH, where=Truth(True))), "over_is_over"),
        (changing(CLOSE, replace(DROP_EACH, effect=DROP_EACH.effect[:1])), "dropped_has_ended"),
    ],
)
def test_a_set_that_is_left_out_or_too_wide_breaks_what_the_plain_search_sees_broken(
    mutant: Contract, statement: str
) -> None:
    plain = plain_search(SMALL, mutant)
    found = explore_aggregate(SMALL, mutant)
    assert {violation.statement for violation in found.violations} == set(plain.broken)
    assert statement in plain.broken
    for violation in found.violations:
        assert len(found.trace_of(violation).steps) == plain.broken[violation.statement]


def test_a_property_of_one_operation_reads_the_arguments_of_its_steps() -> None:
    wrong = replace(TELLS_WHY, statement=Equal(FieldOf("run", "reason", after=True), Const("late")))
    broken = replace(TWO_LEVELS, step_properties=(wrong,), checked=False)
    found = explore_aggregate(SMALL, broken)
    (violation,) = found.violations
    assert violation.statement == "close_tells_why"
    last = found.trace_of(violation).steps[-1]
    assert last.transition == "close"
    assert violation.statement in plain_search(SMALL, broken).broken
    other = replace(TELLS_WHY, statement=Equal(FieldOf("run", "reason", after=True), Param("why")))
    assert not explore_aggregate(SMALL, replace(TWO_LEVELS, step_properties=(other,))).violations


def test_the_condition_of_a_set_is_looked_at_as_far_as_its_effect_is() -> None:
    seen = observation_of(TWO_LEVELS)
    assert seen[("request", "status")] is Observed.VALUE
    assert seen[("request", "ended_at")] is Observed.NULLNESS
    assert seen[("run", "reason")] is Observed.NOT
    noted = ForEach(
        (EACH_RUN, EACH_BELOW),
        Equal(FieldOf("each_run", "reason"), Const("late")),
        DROP_BELOW.effect,
        "those of a run that was late",
    )
    assert observation_of(changing(SHUT, noted))[("run", "reason")] is Observed.VALUE
    unseen = replace(noted, effect=(replace(noted.effect[0], field=FieldOf("each_below", "note")),))
    request = TWO_LEVELS.machine("request")
    note = replace(request.field_named("key"), name="note")
    machines = tuple(replace(m, fields=(*m.fields, note)) if m.name == "request" else m for m in TWO_LEVELS.machines)
    assert observation_of(replace(changing(SHUT, unseen), machines=machines))[("run", "reason")] is Observed.NOT


def test_each_guard_breaks_something_or_is_told_to_be_unexplained() -> None:
    def not_asked(_: Conjunct) -> None:
        return None

    found = {str(c): examine(TWO_LEVELS, (SMALL, PAIR), c, not_asked) for c in conjuncts_of(TWO_LEVELS)}
    # Answering what nobody asked for changes nothing; no statement holds the time of an end or of a shut.
    unexplained = {"answer.waits", "answer.asked_for_it", "close.goes_on", "shut.not_shut"}
    assert {name for name, finding in found.items() if isinstance(finding, Unexplained)} == unexplained
    assert {name for name, finding in found.items() if isinstance(finding, Necessary)} == found.keys() - unexplained


@pytest.mark.skipif(
    shutil.which("spin") is None or shutil.which("gcc") is None,
    reason="SPIN is not on this machine: apt-get install spin",
)
@pytest.mark.parametrize("world", [SMALL, PAIR], ids=["two requests", "two runs"])
def test_spin_counts_the_same_states(world: object, tmp_path: Path) -> None:
    assert isinstance(world, type(SMALL))
    (tmp_path / "world.pml").write_text(promela(world))
    subprocess.run(["spin", "-o2", "-a", "world.pml"], cwd=tmp_path, check=True, capture_output=True)
    options = ["-O1", "-w", "-DBFS", "-DSAFETY", "-DNOREDUCE", "-o", "pan", "pan.c"]
    subprocess.run(["gcc", *options], cwd=tmp_path, check=True, capture_output=True)
    told = subprocess.run(["./pan", "-w18"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    stored = [line.split()[0] for line in told.splitlines() if line.strip().endswith("states, stored")]
    assert "errors: 0" in told
    assert [int(count) for count in stored] == [explore(world).states]


def test_an_operation_on_a_member_that_a_world_lacks_is_not_called() -> None:
    empty = replace(SMALL, population=Population(replace(SMALL.population.root, members=())))
    found = explore(empty)
    assert "start" not in found.fired
    assert found.states == 4
