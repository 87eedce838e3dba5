"""The Promela reading has the states and edges of our own, by SPIN's count."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from fencepost_model.machines.job_worlds import FULL, JOB_LARGE, JOB_SMALL, PARKING, jobs
from fencepost_model.terms import FieldOf
from fencepost_model.worlds import World, later
from fencepost_verification.explore.world import explore
from fencepost_verification.export.promela import promela

ALONE = replace(JOB_LARGE, population=jobs(1, "w1", "w1"), untaken=frozenset(), unreached=frozenset())
PARKED = replace(
    JOB_SMALL,
    population=jobs(1, "w1", "w1"),
    horizon=3,
    arguments={**FULL, "enqueue.deadline_at": later(2)},
    settings={**PARKING, "lease_seconds": 1},
    legacy=False,
)


@pytest.mark.skipif(
    shutil.which("spin") is None or shutil.which("gcc") is None,
    reason="SPIN is not on this machine: apt-get install spin",
)
@pytest.mark.parametrize("world", [ALONE, PARKED, replace(JOB_LARGE, horizon=1)])
def test_spin_counts_the_same_states(world: World, tmp_path: Path) -> None:
    (tmp_path / "world.pml").write_text(promela(world))
    subprocess.run(["spin", "-o2", "-a", "world.pml"], cwd=tmp_path, check=True, capture_output=True)
    options = ["-O1", "-w", "-DBFS", "-DSAFETY", "-DNOREDUCE", "-o", "pan", "pan.c"]
    subprocess.run(["gcc", *options], cwd=tmp_path, check=True, capture_output=True)
    told = subprocess.run(["./pan", "-w18"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    stored = re.search(r"^\s*(\d+) states, stored", told, re.MULTILINE)
    assert stored is not None
    assert "errors: 0" in told
    assert int(stored.group(1)) == explore(world).states


def test_a_world_that_begins_with_a_choice_is_refused() -> None:
    with pytest.raises(ValueError, match="legacy"):
        promela(JOB_SMALL)


def test_effects_that_read_each_other_in_a_ring_are_refused() -> None:
    renew = ALONE.contract.operation("renew")
    case = renew.cases[0]
    here, there = case.effect[0].field, case.effect[1].field
    ring = tuple(
        replace(a, value=FieldOf("job", other.name)) for a, other in zip(case.effect, (there, here), strict=True)
    )
    operations = tuple(
        replace(o, cases=(replace(case, effect=ring),)) if o is renew else o for o in ALONE.contract.operations
    )
    contract = replace(ALONE.contract, operations=operations)
    with pytest.raises(ValueError, match="ring"):
        promela(replace(ALONE, contract=contract))
