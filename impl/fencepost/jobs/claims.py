"""Taking work: `claim` and `resume_poll`, and the one place of the runtime that skips locked rows.

A claim is one atomic step (D-22). On a store whose rows can be locked it is one statement: the candidates are selected
FOR UPDATE SKIP LOCKED and changed by the UPDATE around that selection, in one transaction and with one moment, so that
two claimers neither wait for each other nor get the same job. On a store with one writer the same statement runs in a
transaction that holds the write lock from its start.

Candidates come in the order of priority, due time and key. `limit` bounds the rows that a claim looks at, `max_claims`
the rows that it wins; they differ only where a hook turns rows down.

The text of the statement matters (a claim is the hottest of all): `= ANY (ARRAY(SELECT ...))` evaluates the selection
exactly once, where an `IN` may run it again for each row of a scan, and lock more rows than `limit`.
"""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import ARRAY, ColumnElement, Connection, Select, Update, any_, func, select, update

from fencepost.db.types import require_utc
from fencepost.jobs import predicates
from fencepost.jobs.effects import EFFECTS
from fencepost.jobs.operations import JobContext, fresh_nonce, snapshot_of
from fencepost.jobs.outcomes import SNAPSHOT_NAMES, Accepted, Claimed, JobId, JobSnapshot, Token
from fencepost.jobs.predicates import PREDICATES, Given
from fencepost.jobs.schema import JobColumns
from fencepost.jobs.statements import LIMIT, Statement, Statements

_WIDTH: Final = len(SNAPSHOT_NAMES)
_CASES: Final = {"claim": "claimed", "resume_poll": "resumed"}


def candidates(
    statements: Statements, operation: str, case_name: str | None, columns: JobColumns, given: Given
) -> Select[Any]:
    """The keys of rows that an operation may take, in its order, each locked, those locked by others passed over.

    The rows stay locked until the transaction ends, so the UPDATE that follows belongs into the same one.
    """
    job = statements.job
    chosen = select(columns.id).where(*statements.in_queue(columns), PREDICATES[operation, case_name](columns, given))
    order: list[ColumnElement[Any]] = {
        "claim": [columns.priority, job.due_at(columns)],
        "resume_poll": [columns.next_poll_at],
        "recover": [columns.lease_expires_at],
        "expire_overdue": [columns.deadline_at],
    }[operation]
    if "priority" not in job.present_roles:
        order = [column for column in order if column is not columns.priority]
    return chosen.order_by(*order, columns.id).limit(LIMIT).with_for_update(skip_locked=True)


# --- one statement ----------------------------------------------------------------------------------------------------


def _taking(statements: Statements, operation: str) -> Statement:
    """Take the first candidates: the snapshot's columns, the moment, the payload of each."""
    return statements.once(("take", operation), lambda: _take(statements, operation))


def _take(statements: Statements, operation: str) -> Update:
    job = statements.job
    given = statements.given(statements.single_moment())
    candidate = job.table.alias("candidate")
    keys = candidates(statements, operation, _CASES[operation], job.columns_of(candidate), given)
    if statements.store.skips_locked_rows:
        key_type = job.columns.id.type
        which: ColumnElement[bool] = job.columns.id == any_(func.array(keys.scalar_subquery(), type_=ARRAY(key_type)))
    else:
        which = predicates.among(job.columns, keys)
    return _transition(statements, operation, which, given)


def _transition(statements: Statements, operation: str, which: ColumnElement[bool], given: Given) -> Update:
    job = statements.job
    return (
        update(job.table)
        .where(which)
        .values(job.values(EFFECTS[operation, _CASES[operation]](job.columns, given)))
        .returning(*statements.with_payload(), given.now.label("moment"))
    )


# --- look, then take --------------------------------------------------------------------------------------------------


def _looking(statements: Statements, operation: str) -> Statement:
    """Look at the first candidates and lock them: the snapshot's columns of each."""

    def build() -> Select[Any]:
        columns = statements.job.columns
        chosen = candidates(statements, operation, _CASES[operation], columns, statements.given())
        return chosen.with_only_columns(*statements.job.selected(columns))

    return statements.once(("look for", operation), build)


def _taking_those(statements: Statements, operation: str) -> Statement:
    """Take these rows as far as they may be taken: what `_taking` returns."""

    def build() -> Update:
        given, columns = statements.given(), statements.job.columns
        guard = PREDICATES[operation, _CASES[operation]](columns, given)
        return _transition(statements, operation, predicates.among(columns, statements.keys), given).where(guard)

    return statements.once(("take those", operation), build)


# --- the functions ----------------------------------------------------------------------------------------------------


def take(
    context: JobContext,
    connection: Connection,
    operation: str,
    worker_id: str,
    limit: int,
    *,
    before: bool = False,
    only: Sequence[JobId] | None = None,
) -> list[tuple[Accepted, Claimed]]:
    """Take up to `limit` jobs for a worker inside the caller's transaction (§2 claim, resume_poll).

    `operation`: `claim` or `resume_poll`. `before`: read the rows first, so that the answers tell how they stood (one
    statement more). `only`: take none but these. The jobs come in the order of priority and key.
    """
    statements = context.statements(connection)
    given: dict[str, Any] = {
        "worker_id": worker_id,
        "queue": context.queue,
        "limit": limit,
        "nonce": fresh_nonce(),
        "now": context.moment(connection),
    }
    found: dict[JobId, JobSnapshot] = {}
    if before or only is not None:
        given["now"] = given["now"] or context.clock.read(connection)
        if only is None:
            rows = _looking(statements, operation).rows(connection, given)
            found = {snapshot.id: snapshot for snapshot in map(snapshot_of, rows)}
            only = list(found)
        elif before:
            found = _read_locked(statements, connection, only)
        if not only:
            return []
        rows = _taking_those(statements, operation).rows(connection, {**given, "job_ids": list(only)})
    else:
        rows = _taking(statements, operation).rows(connection, given)
    taken = [_claimed(operation, row, found) for row in rows]
    taken.sort(key=lambda pair: (pair[1].job.priority or 0, pair[1].job.id))
    return taken


def _claimed(operation: str, row: Any, found: dict[JobId, JobSnapshot]) -> tuple[Accepted, Claimed]:
    after = snapshot_of(row)
    payload, moment = row[_WIDTH], require_utc(row[_WIDTH + 1])
    assert after.worker_id is not None, "the claim has just set it"
    token = Token(after.id, after.worker_id, after.lease_generation, after.attempt_id or "")
    accepted = Accepted(operation, _CASES[operation], after.id, moment, after, found.get(after.id))
    return accepted, Claimed(token, after, payload)


def _read_locked(statements: Statements, connection: Connection, keys: Sequence[JobId]) -> dict[JobId, JobSnapshot]:
    def build() -> Select[Any]:
        columns = statements.job.columns
        chosen = select(*statements.job.selected(columns)).where(predicates.among(columns, statements.keys))
        return chosen.with_for_update(skip_locked=True)

    rows = statements.once(("read locked",), build).rows(connection, {"job_ids": list(keys)})
    return {snapshot.id: snapshot for snapshot in map(snapshot_of, rows)}


def look_for(context: JobContext, connection: Connection, operation: str, limit: int) -> list[JobId]:
    """The keys of the first `limit` jobs that could be taken now, in the order in which they would be."""
    statements = context.statements(connection)
    given = {"queue": context.queue, "limit": limit, "now": context.clock.read(connection)}
    return [row[0] for row in _looking(statements, operation).rows(connection, given)]


def set_back(context: JobContext, connection: Connection, job_id: JobId) -> Accepted | None:
    """Let a claimable job back off, as after an attempt, because its hook turned it down.

    The job stays pending and legal: nothing but `next_attempt_at` changes. None if it is claimable no more. This is no
    operation of the contract; journals show it under its own name.
    """
    statements = context.statements(connection)

    def build() -> Update:
        given, columns = statements.given(), statements.job.columns
        return (
            update(statements.job.table)
            .where(predicates.identified(columns, statements.key), PREDICATES["claim", "claimed"](columns, given))
            .values(statements.job.values({"next_attempt_at": given.retry_at(columns)}))
            .returning(*statements.job.selected(columns))
        )

    found = _read_locked(statements, connection, [job_id])
    if job_id not in found:
        return None
    moment = context.clock.read(connection)
    given = {"job_id": job_id, "now": moment, "jitter": context.jitter()}
    rows = statements.once(("set back",), build).rows(connection, given)
    if not rows:
        return None
    return Accepted("set_back", "set_back", job_id, moment, snapshot_of(rows[0]), found[job_id])
