"""Every engine and every export finds every planted bug, by a run of the same length."""

from __future__ import annotations

from pathlib import Path

import pytest

from fencepost_model.contract import Contract
from fencepost_model.shapes import Invariant
from fencepost_verification.evidence import Held, Refuted, Trace
from fencepost_verification.explore.local import explore_aggregate
from fencepost_verification.export import spin, tlc
from fencepost_verification.export.planted import PLANTED, Planted, calls_of
from fencepost_verification.export.promela import promela
from fencepost_verification.export.tla import tla
from fencepost_verification.prove.bounded import BoundedSearch
from fencepost_verification.prove.smtlib import second_opinion

each = pytest.mark.parametrize("bug", PLANTED, ids=[bug.name for bug in PLANTED])


def broken(contract: Contract, name: str) -> Invariant:
    (found,) = (invariant for invariant in contract.invariants if invariant.name == name)
    return found


def shortest(bug: Planted) -> Trace:
    """The explorer's run to the bug."""
    graph = explore_aggregate(bug.world, bug.contract, stop_at_violation=True)
    invariants = {invariant.name for invariant in bug.contract.invariants}
    first = min(violation.depth for violation in graph.violations if violation.statement in invariants)
    (found,) = (v for v in graph.violations if v.statement == bug.breaks)
    assert found.depth == first, "another invariant breaks before"
    return graph.trace_of(found)


def test_there_are_enough_bugs_of_both_kinds() -> None:
    assert len({bug.breaks for bug in PLANTED}) == len(PLANTED) >= 10
    assert sum(bug.contract.root.name == "job" for bug in PLANTED) >= 8
    assert any(case.also for bug in PLANTED for _, case in bug.contract.transitions())


@each
def test_explorer_and_bounded_search_agree(bug: Planted) -> None:
    run = shortest(bug)
    found = BoundedSearch(depth=8, seconds=120)(bug.contract, broken(bug.contract, bug.breaks))
    assert isinstance(found, Trace)
    assert calls_of(found) == calls_of(run)


@each
def test_cvc5_refutes_the_induction(bug: Planted) -> None:
    opinions = second_opinion(bug.contract, about=frozenset({bug.breaks}))
    refuted = [opinion for opinion in opinions if isinstance(opinion.verdict, Refuted)]
    assert refuted
    assert all(opinion.statement == bug.breaks for opinion in opinions)
    assert any(isinstance(opinion.verdict, Held) for opinion in opinions), "not each step is at fault"


@pytest.mark.skipif(tlc.why_not() is not None, reason=tlc.why_not() or "")
@each
def test_tlc_finds_it_after_as_many_steps(bug: Planted, tmp_path: Path) -> None:
    module = tla(bug.world)
    found = tlc.run_tlc(module, tmp_path)
    assert found.violated == bug.breaks
    run = tlc.as_trace(module, found)
    assert len(run.steps) == len(shortest(bug).steps)
    assert bug.breaks in {invariant.name for invariant in run.semantics.broken_invariants(run.end)}


@pytest.mark.skipif(spin.why_not() is not None, reason=spin.why_not() or "")
@each
def test_spin_finds_it_after_as_many_steps(bug: Planted, tmp_path: Path) -> None:
    found = spin.run_spin(promela(bug.world, [bug.breaks]), tmp_path)
    assert found.broken_after == len(shortest(bug).steps)
