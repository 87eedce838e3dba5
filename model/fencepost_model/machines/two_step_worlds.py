"""Small worlds for the job's operations in two steps: in which what an update forgot to repeat shows itself."""

from __future__ import annotations

from fencepost_model.contract import Contract
from fencepost_model.error_codes import EXAMPLES, Family
from fencepost_model.machines.job_worlds import jobs
from fencepost_model.terms import NULL
from fencepost_model.worlds import World, const, later

SETTINGS = {
    "lease_seconds": 2,
    "release_ceiling": 3,
    "max_polls": 1,
    "registers_park": False,
    "registers_expired": True,
}


def two_step_world(contract: Contract, *, parking: bool = False) -> World:
    """One job and two executions, with and without a deadline; for runs to a violation, not for its every state."""
    return World(
        name="two-steps-parked" if parking else "two-steps",
        meaning="one job, two executions in two workers" + (", which may be parked" if parking else ""),
        contract=contract,
        population=jobs(1, "w1", "w2"),
        horizon=5,
        arguments={
            "enqueue.max_attempts": const(2),
            "enqueue.deadline_at": later(4) if parking else (NULL, *later(3)),
            "*.code": const(EXAMPLES[Family.INFRA]),
            "*.message": (NULL,),
            "*.delay": const(1),
            "park.provider_ref": const("ref"),
            "park.next_poll_at": later(1),
        },
        settings={**SETTINGS, "registers_park": parking},
        without=frozenset({"skip"}) if parking else frozenset({"skip", "park", "resume_poll"}),
    )
