"""The contract of commands is proved and explored."""

from __future__ import annotations

from fencepost_model.machines.command import COMMAND_CONTRACT
from fencepost_model.machines.command_worlds import COMMAND_SMALL
from fencepost_verification.explore.world import explore
from fencepost_verification.prove.prover import prove


def test_every_obligation_is_proved() -> None:
    proof = prove(COMMAND_CONTRACT)
    assert [o.name for o in proof.obligations if o not in proof.held] == []
    assert proof.count > 300


def test_every_state_is_lawful() -> None:
    exploration = explore(COMMAND_SMALL)
    assert exploration.complete
    assert exploration.states == 13_873
    assert exploration.broken == ()
    assert (exploration.never_taken, exploration.unwitnessed, exploration.needless) == ((), (), ())
