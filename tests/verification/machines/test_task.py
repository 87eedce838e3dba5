"""The contract of the task is proved, explored, and has just the edges of the resolved table of contract §6."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from fencepost_model.contract import transition_name
from fencepost_model.machines.task import (
    ENDED,
    IN_PLACE,
    LIVE,
    REVIVALS,
    TASK_AS_JOB,
    TASK_AS_JOB_EXCEPTIONS,
    TASK_CONTRACT,
)
from fencepost_model.machines.task_worlds import (
    SMALL_WORLDS,
    TASK_AGAIN,
    TASK_ASKED,
    TASK_SKIPPING,
    TASK_SMALL,
    WORLDS,
)
from fencepost_model.worlds import World
from fencepost_verification.explore.local import LocalGraph
from fencepost_verification.explore.world import Exploration, explore
from fencepost_verification.prove.prover import prove

# --- the resolved table, as it was handed over ------------------------------------------------------------------------

COLUMNS = (
    "pending",
    "blocked",
    "queued",
    "retry_wait",
    "paused_unstarted",
    "starting",
    "running",
    "pausing",
    "paused_in_place",
    "stopping",
)
RESOLVED = """
stop | stopped | stopped | stopped | stopped | stopped | stopping | stopping | stopping | stopping | stays
cancel | cancelled | cancelled | cancelled | cancelled | cancelled | stopping | stopping | stopping | stopping | stays
pause | stays | stays | paused | paused | stays | stays | pausing | stays | stays | -
resume | stays | stays | - | stays | queued | stays | - | running | running | stays
skip | skipped | skipped | skipped | - | skipped | - | - | - | - | -
deps_missing | blocked | - | - | - | - | - | - | - | - | -
deps_ready | paused/queued | paused/queued | - | - | - | - | - | - | - | -
upstream_failed | cancelled | cancelled | - | - | - | - | - | - | - | -
condition_false | skipped | skipped | - | - | - | - | - | - | - | -
dispatch | - | - | starting | - | - | - | - | - | - | -
backoff_over | - | - | - | paused/queued | - | - | - | - | - | -
supervisor_lost | cancelled | cancelled | cancelled/failed | failed| cancelled/failed | lost | lost | lost | lost | lost
started | - | - | - | - | - | pausing/running | - | - | - | stays
quiesced | - | - | - | - | - | - | stays | paused | - | stays
pause_window_over | - | - | - | - | - | - | - | running | - | -
start_timeout | - | - | - | - | - | stopping | - | - | - | -
attempt_timeout | - | - | - | - | - | - | stopping | stopping | - | -
idle_timeout | - | - | - | - | - | - | stopping | stopping | - | -
returned | - | - | - | - | - | succeeded | succeeded | succeeded | succeeded | succeeded
raised_retry | - | - | - | - | - | F/R | F/R | F/R | F/R | cancelled/failed/retry_wait/stopped
raised_final | - | - | - | - | - | failed | failed | failed | failed | cancelled/failed/stopped
acked | - | - | - | - | - | - | - | - | - | cancelled/failed/retry_wait/stopped
died_retry | - | - | - | - | - | F/R | F/R | F/R | F/R | cancelled/failed/retry_wait/stopped
died_final | - | - | - | - | - | failed | failed | failed | failed | cancelled/failed/retry_wait/stopped
vanished | - | - | - | - | - | lost | lost | lost | lost | lost
window_over | - | - | - | - | - | - | - | - | - | cancelled/failed/lost/retry_wait/stopped
"""

Edge = tuple[str, str, str]
"""The status before, with the place of a pause; the event; the status after."""

NEW_EDGES: frozenset[Edge] = frozenset(
    {
        # Contract §6 has resume return a task to where the pause found it; the table sent it to the queue, past its
        # back-off.
        ("paused_unstarted", "resume", "retry_wait"),
        # Contract §6 lets a pipeline choose SKIPPED downstream of a failure; the table knew cancelled alone.
        ("pending", "upstream_failed", "skipped"),
        ("blocked", "upstream_failed", "skipped"),
    }
)
"""The edges that were decided for beyond the table; none of the table's is missing."""


def resolved() -> frozenset[Edge]:
    found: set[Edge] = set()
    for line in RESOLVED.strip().splitlines():
        event, *cells = (cell.strip() for cell in line.split("|"))
        for column, cell in zip(COLUMNS, cells, strict=True):
            if cell != "-":
                here = plain(column)
                targets = cell.replace("F/R", "failed/retry_wait").replace("stays", here).split("/")
                found |= {(column, event, target) for target in targets}
    return frozenset(found)


@cache
def explored(name: str) -> Exploration:
    return explore({world.name: world for world in WORLDS}[name])


def plain(status: str) -> str:
    """The status without the place of a pause."""
    return "paused" if status.startswith("paused") else status


def reached(*worlds: World) -> frozenset[Edge]:
    """Every edge that exploration takes, revivals and what only concerns a carrier left out."""
    return frozenset(edge for world in worlds for edge in edges_of(explored(world.name).local))


def edges_of(local: LocalGraph) -> Iterator[Edge]:
    """The edges of one explored world."""

    def told(name: str, number: int) -> str | None:
        column = local.columns[local.layout.positions[(0, name)]]
        value = local.codebook.decode(int(column[number]), False)
        return None if value is None else str(value)

    for source, move, target in zip(local.sources, local.moves, local.targets, strict=True):
        operation = local.shapes[int(move)].operation
        before, after = told("status", int(source)), told("status", int(target))
        if operation is None or before is None or after is None or operation.name in (*REVIVALS, "late_end"):
            continue
        if before == "paused":
            before = "paused_in_place" if told("paused_from", int(source)) == IN_PLACE else "paused_unstarted"
        yield before, operation.name, after


def test_the_table_has_as_many_edges_as_was_reported() -> None:
    assert len({(plain(before), after) for before, _, after in resolved() if plain(before) != after}) == 58


def test_exploration_takes_just_the_edges_of_the_resolved_table() -> None:
    assert reached(*WORLDS) == resolved() | NEW_EDGES


# --- proof and exploration --------------------------------------------------------------------------------------------


def test_every_obligation_is_proved() -> None:
    proof = prove(TASK_CONTRACT)
    assert [o.name for o in proof.obligations if o not in proof.held] == []
    assert proof.count > 3_000


@pytest.mark.parametrize(
    ("world", "states"),
    [(TASK_SMALL, 15_819), (TASK_ASKED, 463), (TASK_AGAIN, 1_114), (TASK_SKIPPING, 13)],
    ids=["small", "asked", "again", "skipping"],
)
def test_every_state_of_the_small_worlds_is_lawful(world: World, states: int) -> None:
    exploration = explored(world.name)
    assert exploration.complete
    assert exploration.states == states
    assert exploration.broken == ()
    assert (exploration.never_taken, exploration.unwitnessed, exploration.needless) == ((), (), ())


def test_the_small_worlds_take_every_transition_and_show_every_witness() -> None:
    seen = [explored(world.name) for world in SMALL_WORLDS]
    taken = {name for exploration in seen for name, times in exploration.fired.items() if times}
    assert {transition_name(*pair) for pair in TASK_CONTRACT.transitions()} <= taken
    shown = {name for exploration in seen for name in exploration.local.witnessed}
    assert {witness.name for witness in TASK_CONTRACT.witnesses} == shown


def test_what_has_ended_is_left_by_revivals_only() -> None:
    machine = TASK_CONTRACT.root
    assert machine.terminal == ENDED
    assert {name for row in machine.revivals.values() for name in row} == set(REVIVALS)
    assert all(machine.acting_on(status) == machine.revivals[status] for status in ENDED)


# --- the reading as a job ---------------------------------------------------------------------------------------------


def test_each_task_reads_as_one_job() -> None:
    read = {(reading.task_status, reading.in_place): reading.job_status for reading in TASK_AS_JOB}
    assert len(read) == len(TASK_AS_JOB)
    expected = {(status, None) for status in (*LIVE, *ENDED) if status != "paused"}
    assert read.keys() == expected | {("paused", False), ("paused", True)}


def test_each_exception_is_taken() -> None:
    taken = {(plain(before), event, after) for before, event, after in reached(*WORLDS)}
    for exception in TASK_AS_JOB_EXCEPTIONS:
        covered = {
            (before, event, after)
            for before in exception.leaves
            for event in exception.events
            for after in exception.enters
        }
        for event in exception.events:
            assert any(edge[1] == event for edge in covered & taken), f"{exception.name}: {event}"
        for before in exception.leaves:
            assert any(edge[0] == before for edge in covered & taken), f"{exception.name}: {before}"
