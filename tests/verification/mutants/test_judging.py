"""What is said of a mutant can be seen by plain evaluation: its run breaks the statement, or it is unknown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import pytest
from tests.verification.mutants.small_chapters import APPROVAL, GROUP, HOOK, about, with_statements, without_steps

from fencepost_model.semantics import Call, Semantics, State
from fencepost_model.shapes import Progress
from fencepost_model.specification import CHAPTERS, Chapter
from fencepost_model.terms import Bare, holds, value_of
from fencepost_model.worlds import World
from fencepost_verification.evidence import EXIT_UNKNOWN, Held, Taken, Unknown, exit_code
from fencepost_verification.explore.local import explore_aggregate
from fencepost_verification.mutants.judging import (
    Equivalent,
    Executioner,
    Killed,
    MutantReport,
    Survivor,
    verdict_of,
)
from fencepost_verification.mutants.making import MERGED, Mutant, mutants_of
from fencepost_verification.mutants.receptiveness import stuck_states
from fencepost_verification.prove import smt
from fencepost_verification.prove.progress import stuck
from fencepost_verification.prove.smt import Answer

BY_PROOF = "proof"


@cache
def report(chapter_name: str) -> tuple[MutantReport, Mapping[str, Mutant]]:
    """All mutants of a small chapter with their fates."""
    chapter = {each.name: each for each in (APPROVAL, GROUP)}[chapter_name]
    mutants = list(mutants_of(chapter.contract))
    executioner = Executioner(chapter)
    fates = tuple(executioner.fate(mutant) for mutant in mutants)
    return MutantReport(chapter.name, fates), {mutant.name: mutant for mutant in mutants}


def one_of(chapter: Chapter, name: str) -> Mutant:
    (found,) = (mutant for mutant in mutants_of(chapter.contract) if mutant.name == name)
    return found


def nobody_can_act(semantics: Semantics, world: World, state: State, statement: Progress) -> bool:
    """Whether a statement of receptiveness is false in a state: live for some entities, and no call of it allowed."""
    for binding in semantics.population.bindings(statement.over):
        if not holds(statement.live, semantics.scope(state, 0, binding, {})):
            continue
        possible = False
        for name in statement.bound:
            operation = semantics.contract.operation(name)
            for called in semantics.population.bindings(operation.over):
                if all(binding.get(variable, slot) == slot for variable, slot in called.items()):
                    for terms in world.argument_sets(operation):
                        params = {key: value_of(term, Bare({}, state.now)) for key, term in terms.items()}
                        call = Call(name, 0, called, params)
                        possible |= not semantics.false_guards(state, call) and bool(semantics.cases(state, call))
        if not possible:
            return True
    return False


def broken_at_the_end(killed: Killed, world: World) -> bool:
    """Whether the run of a killed mutant breaks the statement that it is said to break, by plain evaluation."""
    trace = killed.trace
    assert trace is not None
    semantics, contract = trace.semantics, trace.semantics.contract
    if killed.statement.endswith("is reached"):
        (witness,) = (w for w in contract.witnesses if f"{w.name} is reached" == killed.statement)
        return contract == world.contract and semantics.shows(trace.end, witness)
    if killed.statement.endswith("is taken"):
        return contract == world.contract and f"{trace.steps[-1].transition} is taken" == killed.statement
    if killed.statement in ("cases_are_complete", "cases_exclude_each_other"):
        return any(
            not semantics.false_guards(trace.end, Call(operation.name, 0, binding, {}))
            and len(semantics.cases(trace.end, Call(operation.name, 0, binding, {}))) != 1
            for operation in contract.operations
            if not operation.parameters
            for binding in semantics.population.bindings(operation.over)
        )
    for progress in contract.progress:
        if progress.name == killed.statement:
            return nobody_can_act(semantics, world, trace.end, progress)
    if killed.statement in {invariant.name for invariant in contract.invariants}:
        return killed.statement in {invariant.name for invariant in semantics.broken_invariants(trace.end)}
    last = trace.steps[-1]
    assert isinstance(last.move, Taken)
    broken = semantics.broken_step_properties(last.before, last.move.call, last.after)
    return killed.statement in {statement.name for statement in broken}


def test_every_mutant_of_the_group_is_killed_or_equivalent() -> None:
    told, mutants = report(GROUP.name)
    assert told.killed
    assert told.equivalent
    assert told.survivors == []
    assert [fate.name for fate in told.fates] == list(mutants)


@pytest.mark.parametrize("chapter", [APPROVAL, GROUP], ids=lambda chapter: chapter.name)
def test_the_run_of_a_killed_mutant_breaks_the_statement_and_is_the_shortest_told(chapter: Chapter) -> None:
    told, mutants = report(chapter.name)
    worlds = {world.name: world for world in chapter.small_worlds}
    seen = [killed for killed in told.killed if killed.world != BY_PROOF]
    assert seen
    for killed in seen:
        assert killed.trace is not None
        assert broken_at_the_end(killed, worlds[killed.world]), killed.name
        assert killed.statement in killed.broken
        if not killed.statement.endswith(("is reached", "is taken")):
            assert killed.trace.semantics.contract == mutants[killed.name].contract
            assert len(killed.trace.steps) == killed.broken[killed.statement]


def test_a_statement_of_receptiveness_is_looked_at_in_every_state_of_a_world() -> None:
    mutant = one_of(HOOK, "pick: due shifted by one")
    fate = Executioner(HOOK).fate(mutant)
    assert isinstance(fate, Killed)
    assert (fate.statement, fate.world) == ("due_row_can_be_picked", "hook-pair")
    (world,) = HOOK.small_worlds
    assert broken_at_the_end(fate, world)


@pytest.mark.parametrize(
    ("chapter", "mutant", "name"),
    [
        (APPROVAL, "ask/asked: payment.due_at lost", "no_limbo"),
        (CHAPTERS["wakeup"], "fall_asleep/asleep: waiter.wakes_at lost", "woken_by_the_poll"),
        (HOOK, "pick: due shifted by one", "due_row_can_be_picked"),
    ],
)
def test_progress_that_breaks_in_a_world_is_stuck_by_plain_evaluation(chapter: Chapter, mutant: str, name: str) -> None:
    (statement,) = (progress for progress in chapter.contract.progress if progress.name == name)
    world = chapter.small_worlds[0]
    assert stuck_states(explore_aggregate(world), [statement]) == {}
    graph = explore_aggregate(world, one_of(chapter, mutant).contract)
    state = graph.state(stuck_states(graph, [statement])[name])
    assert all(not graph.semantics.contract.operation(bound).parameters for bound in statement.bound)
    assert any(
        stuck(statement, graph.semantics, state, binding, {bound: {} for bound in statement.bound})
        for binding in graph.semantics.population.bindings(statement.over)
    )


def test_progress_is_not_looked_for_on_an_open_frontier() -> None:
    (world,) = HOOK.small_worlds
    cut_short = explore_aggregate(world, deepest=2)
    with pytest.raises(ValueError, match="not explored to its end"):
        stuck_states(cut_short, HOOK.contract.progress)
    assert stuck_states(explore_aggregate(world), HOOK.contract.progress) == {}


def test_what_nothing_notices_is_unknown_and_never_held() -> None:
    weaker = about(GROUP, without_steps(GROUP.contract, "end_along_its_arrows"))
    mutant = one_of(weaker, "end/cancelled: shared.status lost")
    fate = Executioner(weaker).fate(mutant)
    assert isinstance(fate, Survivor)
    verdict = verdict_of(fate)
    assert isinstance(verdict, Unknown)
    assert exit_code([verdict]) == EXIT_UNKNOWN
    noticed = Executioner(GROUP).fate(one_of(GROUP, mutant.name))
    assert isinstance(noticed, Killed)
    assert noticed.statement == "end_along_its_arrows"
    assert isinstance(verdict_of(noticed), Held)


def test_a_witness_that_is_no_longer_reached_counts() -> None:
    contract = replace(GROUP.contract, step_properties=(), invariants=(), progress=())
    silent = about(GROUP, contract)
    fate = Executioner(silent).fate(one_of(silent, "ask_too/associated: link.status lost"))
    assert isinstance(fate, Killed)
    assert "shared_by_two is reached" in fate.broken
    (world,) = silent.small_worlds
    assert broken_at_the_end(fate, world)


def test_a_transition_that_is_no_longer_taken_counts() -> None:
    contract = replace(GROUP.contract, step_properties=(), invariants=(), progress=(), witnesses=())
    silent = about(GROUP, contract)
    fate = Executioner(silent).fate(one_of(silent, "begin/begun: shared.status lost"))
    assert isinstance(fate, Killed)
    assert fate.statement.endswith(" is taken")
    assert not fate.statement.startswith("begin/")
    (world,) = silent.small_worlds
    assert broken_at_the_end(fate, world)


def test_that_a_forgotten_case_is_not_taken_says_nothing() -> None:
    contract = replace(GROUP.contract, step_properties=(), invariants=(), progress=(), witnesses=())
    silent = about(GROUP, contract)
    forgotten = one_of(silent, "withdraw/others_ask: case falls to the next case")
    assert forgotten.kind == MERGED
    fate = Executioner(silent).fate(forgotten)
    assert isinstance(fate, Killed)
    assert "withdraw/others_ask is taken" not in fate.broken
    assert "withdraw/others_ask is taken" not in fate.statement


def test_what_the_solver_cannot_compare_is_not_equivalent(monkeypatch: pytest.MonkeyPatch) -> None:
    told, mutants = report(GROUP.name)
    equivalent = told.equivalent[0]
    monkeypatch.setattr(smt.Solver, "ask", lambda *_: Answer.UNKNOWN)
    fate = Executioner(GROUP).fate(mutants[equivalent.name])
    assert isinstance(fate, Survivor)
    assert isinstance(verdict_of(fate), Unknown)


def test_what_only_a_proof_refutes_names_every_statement_that_it_refutes() -> None:
    (once,) = (statement for statement in APPROVAL.contract.step_properties if statement.name == "once")
    twice = with_statements(APPROVAL.contract, replace(once, name="said_again"))
    nowhere = replace(about(APPROVAL, twice), worlds=(), small_worlds=())
    fate = Executioner(nowhere).fate(one_of(nowhere, "lapse: place dropped"))
    assert isinstance(fate, Killed)
    assert (fate.world, set(fate.broken)) == (BY_PROOF, {"once", "said_again"})
    assert fate.trace is not None


def test_a_report_without_mutants_is_unknown() -> None:
    assert [type(verdict) for verdict in MutantReport("none", ()).verdicts()] == [Unknown]


def test_every_fate_has_its_verdict() -> None:
    told, _ = report(GROUP.name)
    fates = [*told.killed, *told.equivalent, *told.survivors]
    assert len(fates) == len(told.fates) == len(told.verdicts())
    for fate, verdict in zip(told.fates, told.verdicts(), strict=True):
        assert isinstance(verdict, Held) is isinstance(fate, Killed | Equivalent)
        assert verdict.statement == fate.name
