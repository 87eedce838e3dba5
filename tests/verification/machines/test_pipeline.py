"""The contract of pipelines is proved, explored, and judges its runs as the pure function of aggregation does."""

from __future__ import annotations

import pytest

from fencepost_model.aggregation import ENDED, Policy, aggregated
from fencepost_model.machines.pipeline import NODE_STATUSES, PIPELINE_CONTRACT, TASK_AS_NODE
from fencepost_model.machines.pipeline_worlds import AFTERWARDS, CHAIN, CLEAN_UP, FAN_IN
from fencepost_model.machines.task import STATUSES
from fencepost_model.worlds import World
from fencepost_verification.explore.world import explore
from fencepost_verification.prove.prover import prove


def test_every_obligation_is_proved() -> None:
    proof = prove(PIPELINE_CONTRACT)
    assert [o.name for o in proof.obligations if o not in proof.held] == []
    assert proof.count > 800


@pytest.mark.parametrize(
    ("world", "states"),
    [(CHAIN, 776), (CLEAN_UP, 3_473), (FAN_IN, 2_494), (AFTERWARDS, 4_168)],
    ids=["chain", "clean-up", "fan-in", "quorum"],
)
def test_every_state_is_lawful_and_every_run_judged_as_the_function_does(world: World, states: int) -> None:
    exploration = explore(world)
    assert exploration.complete
    assert exploration.states == states
    assert exploration.broken == ()
    assert (exploration.never_taken, exploration.unwitnessed, exploration.needless) == ((), (), ())

    local = exploration.local
    policy, quorum = Policy(str(world.profile()["policy"])), world.profile()["quorum"]
    assert isinstance(quorum, int)
    judged = 0
    for number in range(local.states):
        run, *members = local.state(number).rows[0]
        nodes = [str(row["status"]) for row in members if "join" in row]
        if run["status"] is None:
            continue
        assert run["succeeded"] == nodes.count("succeeded"), "the run counts its successes"
        asked = None if run["asked"] is None else str(run["asked"])
        come_to = aggregated(nodes, policy, quorum=quorum, asked=asked)
        if run["status"] in ("succeeded", "failed", "stopped", "cancelled"):
            judged += 1
            assert run["status"] == come_to, (run, nodes)
        elif come_to is None:
            assert not ENDED.issuperset(nodes)
    assert judged > 10


def test_every_task_status_is_a_node_status() -> None:
    assert TASK_AS_NODE.keys() == {status.name for status in STATUSES}
    assert set(TASK_AS_NODE.values()) == {status.name for status in NODE_STATUSES}
