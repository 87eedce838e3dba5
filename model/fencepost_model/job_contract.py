"""The contract of the durable job: the Job machine, its tokens, and everything that is said about them."""

from __future__ import annotations

from fencepost_model.contract import Contract
from fencepost_model.machines import job

JOB_CONTRACT = Contract(
    name="job",
    machines=(job.JOB_MACHINE, job.TOKEN_MACHINE),
    operations=job.OPERATIONS,
    invariants=job.INVARIANTS,
    step_properties=job.STEP_PROPERTIES,
    witnesses=job.WITNESSES,
    progress=job.PROGRESS,
    settings=job.SETTINGS,
    settings_assumed=job.SETTINGS_ASSUMED,
)
