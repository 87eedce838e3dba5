"""Durable jobs: the runtime of contract §2 on an application's own table or on ours.

============== ========================================================================================================
`schema`       the table of jobs, ours or an application's own; `checks`: its constraints, derived from the model
`profile`      the settings of one queue
`predicates`   every WHERE predicate, registered with the guards of the model that it stands for
`effects`      what each transition writes
`statements`   predicates and effects put together
`operations`   operations that name a job, as functions inside the caller's transaction
`claims`       taking work; the one place that skips locked rows
`recovery`     recover and expire_overdue
`refusals`     why an operation was refused
`plans`        which transactions an operation takes, and in what order
`runtime`      the synchronous face; `aio`: the asynchronous one
============== ========================================================================================================
"""

from fencepost.jobs.outcomes import (
    Accepted,
    Claimed,
    JobId,
    JobSnapshot,
    OperationRefused,
    Outcome,
    Refused,
    SetBack,
    Swept,
    Token,
)
from fencepost.jobs.plans import HookRaised, Hooks
from fencepost.jobs.profile import Backoff, Profile
from fencepost.jobs.runtime import DurableJobRuntime, JoinedJobs, new_worker_id
from fencepost.jobs.schema import JobTable, add_constraints, add_indexes, job_table

__all__ = [
    "Accepted",
    "Backoff",
    "Claimed",
    "DurableJobRuntime",
    "HookRaised",
    "Hooks",
    "JobId",
    "JobSnapshot",
    "JobTable",
    "JoinedJobs",
    "OperationRefused",
    "Outcome",
    "Profile",
    "Refused",
    "SetBack",
    "Swept",
    "Token",
    "add_constraints",
    "add_indexes",
    "job_table",
    "new_worker_id",
]
