"""Recovery: jobs taken away from holders whose lease is over, and jobs ended that nobody could take any more.

`recover` and `expire_overdue` are the system's steps (contract §2, §7): any live component may run them, at any time,
and many at once. Each looks for candidates, passing over rows that others have locked, and then writes each job with
the one UPDATE of its case. Between the look and the write lies nothing but a row lock; the UPDATE repeats the whole
guard all the same (expiry, cancel, deadline, budget), because a write that trusts what was read a moment ago is how
cancel requests get lost.

Each job gets a back-off of its own, so that jobs whose worker died together do not return together.
"""

from typing import Any, Final

from sqlalchemy import Connection, Select

from fencepost.jobs import predicates
from fencepost.jobs.claims import candidates
from fencepost.jobs.operations import JobContext, snapshot_of
from fencepost.jobs.outcomes import SNAPSHOT_NAMES, Accepted, JobId
from fencepost.jobs.statements import Statement, Statements

_WIDTH: Final = len(SNAPSHOT_NAMES)


def _looking(statements: Statements, operation: str, *, one: bool) -> Statement:
    """Candidates, or one of them, locked: the snapshot's columns of each, and the case that SQL chose for it."""

    def build() -> Select[Any]:
        columns, given = statements.job.columns, statements.given()
        chosen = candidates(statements, operation, None, columns, given)
        if one:
            chosen = chosen.where(predicates.identified(columns, statements.key))
        else:
            chosen = chosen.where(predicates.not_among(columns, statements.keys))
        return chosen.with_only_columns(
            *statements.job.selected(columns), statements.case_of(operation, columns, given)
        )

    return statements.once(("look at" if one else "look for", operation), build)


def sweep(
    context: JobContext,
    connection: Connection,
    operation: str,
    limit: int,
    *,
    passing_over: frozenset[JobId] = frozenset(),
    only: JobId | None = None,
) -> list[Accepted]:
    """Recover or expire up to `limit` jobs inside the caller's transaction (§2 recover, expire_overdue).

    `operation`: `recover` or `expire_overdue`. `passing_over`: jobs to leave alone this time. `only`: this job and no
    other. The answers tell each job before and after; an empty list when there is nothing to do.
    """
    statements = context.statements(connection)
    moment = context.clock.read(connection)
    given: dict[str, Any] = {"now": moment, "queue": context.queue, "limit": limit}
    given |= {"job_ids": list(passing_over), "job_id": only, "jitter": context.jitter()}
    changed: list[Accepted] = []
    for row in _looking(statements, operation, one=only is not None).rows(connection, given):
        before, taken = snapshot_of(row), row[_WIDTH]
        if taken is None:
            continue
        each = {"job_id": before.id, "now": moment, "jitter": context.jitter()}
        written = statements.write(operation, taken).rows(connection, each)
        if written:
            changed.append(Accepted(operation, taken, before.id, moment, snapshot_of(written[0]), before))
    return changed


def look_for(
    context: JobContext, connection: Connection, operation: str, limit: int, *, passing_over: frozenset[JobId]
) -> list[JobId]:
    """The keys of the first `limit` jobs that a sweep would change now."""
    statements = context.statements(connection)
    given = {
        "now": context.clock.read(connection),
        "queue": context.queue,
        "limit": limit,
        "job_ids": list(passing_over),
        "jitter": context.jitter(),
    }
    return [snapshot_of(row).id for row in _looking(statements, operation, one=False).rows(connection, given)]
