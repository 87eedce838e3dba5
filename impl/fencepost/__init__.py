"""The reference runtime of the contract: durable jobs and tasks on SQLite and PostgreSQL.

What most programs need is here under one name; the asynchronous runtime is in `fencepost.jobs.aio`.
"""

from fencepost.db.engine import open_engine, prepare_engine
from fencepost.db.tx import write_transaction
from fencepost.jobs import (
    Accepted,
    Backoff,
    Claimed,
    DurableJobRuntime,
    Hooks,
    JobTable,
    Outcome,
    Profile,
    Refused,
    Token,
    job_table,
    new_worker_id,
)

__all__ = [
    "Accepted",
    "Backoff",
    "Claimed",
    "DurableJobRuntime",
    "Hooks",
    "JobTable",
    "Outcome",
    "Profile",
    "Refused",
    "Token",
    "job_table",
    "new_worker_id",
    "open_engine",
    "prepare_engine",
    "write_transaction",
]
