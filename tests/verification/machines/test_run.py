"""The contract of runs and batches: every world explored to its end, every obligation proved without bounds."""

from dataclasses import replace

import pytest

from fencepost_model.contract import Contract, transition_name
from fencepost_model.machines.run import (
    BATCH_OF_RUN,
    CLOSED,
    COMPLETED,
    FAILED,
    HOST,
    HOSTED_RUN,
    NOT_RESUMING,
    OWNER_DEAD_TERM,
    RUN,
    RUN_CONTRACT,
    WORKED_ON,
    external,
    is_one_of,
    no_batch,
    run,
)
from fencepost_model.machines.run_worlds import RUN_HAND_OVER, RUN_STRANGER, SMALL_WORLDS, WORLDS
from fencepost_model.shapes import Case, Guard, Invariant, StepProperty
from fencepost_model.terms import Not, all_of, implies
from fencepost_model.worlds import World
from fencepost_verification.evidence import Held
from fencepost_verification.explore.local import explore_aggregate
from fencepost_verification.explore.necessity import Conjunct, without
from fencepost_verification.explore.world import explore
from fencepost_verification.prove.prover import prove

STATES = {"run-stranger": 413, "run-hand-over": 2_822, "run-resumed": 8_750, "run-owners": 5_394}
"""How many states each world has: a change of the contract that changes none of them would be a surprise."""


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_every_state_of_a_world_keeps_what_was_promised(world: World) -> None:
    explored = explore(world)
    assert explored.states == STATES[world.name]
    assert explored.complete
    assert [str(verdict) for verdict in explored.verdicts() if not isinstance(verdict, Held)] == []


def test_the_small_worlds_take_every_transition_and_show_every_witness() -> None:
    transitions = {transition_name(operation, case) for operation, case in RUN_CONTRACT.transitions()}
    witnesses = {witness.name for witness in RUN_CONTRACT.witnesses}
    taken: set[str] = set()
    shown: set[str] = set()
    for world in SMALL_WORLDS:
        called = {operation.name for operation in world.operations()}
        taken |= {name for name in transitions if name.partition("/")[0] in called} - world.untaken
        shown |= witnesses - world.unreached
    assert taken == transitions
    assert shown == witnesses


def test_every_obligation_is_proved_without_bounds() -> None:
    proof = prove(RUN_CONTRACT)
    assert [obligation.name for obligation in proof.obligations if not isinstance(obligation.verdict, Held)] == []
    named = {obligation.statement for obligation in proof.obligations}
    assert {invariant.name for invariant in RUN_CONTRACT.invariants} <= named
    assert {statement.name for statement in RUN_CONTRACT.step_properties} <= named


# --- what the sources' wording would allow ----------------------------------------------------------------------------


def shortest(world: World, contract: Contract, statement: str) -> list[str]:
    """The transitions of a shortest run that breaks the statement."""
    graph = explore_aggregate(world, contract)
    found = min((v for v in graph.violations if v.statement == statement), key=lambda violation: violation.depth)
    return [step.rpartition(":")[2] for step in str(graph.trace_of(found)).split(" ; ")]


HANDED_OVER = ["register", "start_run", "open_batch", "add_requirement", "close_batch"]
RESUMING = [*HANDED_OVER, "tasks_done", "wait_externally", "claim_resuming"]


def test_a_reaper_that_leaves_hand_overs_alone_leaves_runs_in_limbo() -> None:
    """Contract §4 by the letter: a dead owner's run stays as it is for ever, asked to stop or not."""
    left_alone = Guard("no_hand_over", no_batch(*CLOSED), "§4 Run", "as written")
    operations = tuple(
        replace(operation, guards=(*operation.guards, left_alone)) if operation.name == "reap" else operation
        for operation in RUN_CONTRACT.operations
    )
    limbo = Invariant(
        "limbo",
        "§3 no limbo",
        (HOST, HOSTED_RUN),
        implies(
            all_of(is_one_of(run("status"), *WORKED_ON), OWNER_DEAD_TERM, NOT_RESUMING.term),
            no_batch(*CLOSED),
        ),
        "The reaper may act on the run.",
    )
    literal = replace(RUN_CONTRACT, operations=operations, invariants=(limbo,), checked=False)
    assert shortest(RUN_STRANGER, literal, "limbo") == [*HANDED_OVER, "tick"]


def test_a_continuation_that_does_not_bind_its_process_is_reaped() -> None:
    """The sources bind an owner when a user continues a run, and not when a coordinator does."""

    def unbound(case: Case) -> Case:
        return replace(case, effect=tuple(a for a in case.effect if a.field != run("owner")))

    operations = tuple(
        replace(operation, cases=tuple(unbound(case) for case in operation.cases))
        if operation.name == "claim_resuming"
        else operation
        for operation in RUN_CONTRACT.operations
    )
    reaped = StepProperty(
        "continued_run_lives",
        "§4 Run",
        (RUN, BATCH_OF_RUN),
        Not(all_of(external("batch", COMPLETED), is_one_of(run("status", after=True), FAILED))),
        "A run that was just continued is not reaped.",
        of="reap",
    )
    literal = replace(RUN_CONTRACT, operations=operations, step_properties=(reaped,), checked=False)
    assert shortest(RUN_HAND_OVER, literal, "continued_run_lives") == [*RESUMING, "complete_resuming", "reap/stopped"]


@pytest.mark.parametrize(
    ("operation", "guard", "statement", "steps"),
    [
        ("open_batch", "not_resuming", "none_collecting_while_resuming", [*RESUMING, "open_batch"]),
        ("pause", "not_resuming", "resuming_is_worked_on", [*RESUMING, "pause"]),
        ("cancel_requirement", "not_the_last", "closed_batch_awaits_something", [*HANDED_OVER, "cancel_requirement"]),
    ],
)
def test_what_the_sources_do_not_forbid_breaks_a_promise(
    operation: str, guard: str, statement: str, steps: list[str]
) -> None:
    assert shortest(RUN_HAND_OVER, without(RUN_CONTRACT, Conjunct(operation, None, guard)), statement) == steps
