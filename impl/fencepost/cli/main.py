"""The command `fencepost`: look after a database of durable jobs from a shell.

Everything goes through the runtime's own operations, so a job cannot be brought here into a state that the contract
does not know. Each command takes `--json` for programs. The exit status is 0 when it was done, 1 when the contract
refused it or there is no such job, 2 when the command could not be run at all.
"""

import json
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table as Grid
from sqlalchemy import MetaData, inspect
from sqlalchemy.exc import SQLAlchemyError

from fencepost.db.engine import open_engine
from fencepost.errors import ConfigurationError, FencepostError
from fencepost.jobs.outcomes import Accepted, JobSnapshot, Outcome, Refused, as_mapping
from fencepost.jobs.profile import Profile
from fencepost.jobs.runtime import DurableJobRuntime
from fencepost.jobs.schema import JobTable, job_table
from fencepost_model.machines.job import STATUSES

app = typer.Typer(
    name="fencepost",
    no_args_is_help=True,
    add_completion=False,
    help="Look after a database of durable jobs.\n\n"
    "A job waits (pending) until a worker claims it (running) under a lease. It ends succeeded, failed, cancelled, "
    "skipped or expired, and never changes again. A worker that dies loses its lease; `fencepost recover` gives its "
    "jobs another attempt.",
)
database = typer.Typer(no_args_is_help=True, help="Set up a database for jobs.")
app.add_typer(database, name="db")

Url = Annotated[
    str,
    typer.Option(
        "--url",
        envvar="FENCEPOST_URL",
        help="The database: sqlite:///path/to/jobs.db (four slashes for an absolute path) or "
        "postgresql+psycopg://user@host/name.",
    ),
]
TableName = Annotated[str, typer.Option("--table", help="The table of jobs.")]
Queue = Annotated[str, typer.Option("--queue", "-q", help="The queue that the command is about.")]
AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON, for programs.")]
JobKey = Annotated[int, typer.Argument(metavar="JOB", help="The job's id, as `fencepost list` shows it.")]

DEFAULT_TABLE = "fencepost_jobs"
REFUSED = 1
NOT_RUN = 2


@contextmanager
def _runtime(url: str, table: str, queue: str) -> Generator[DurableJobRuntime]:
    engine = open_engine(url, application_name="fencepost-cli")
    try:
        if not inspect(engine).has_table(table):
            raise ConfigurationError(f"There is no table {table!r} in this database: make it with `fencepost db init`.")
        yield DurableJobRuntime(engine, JobTable(job_table(MetaData(), table)), Profile(), queue=queue)
    finally:
        engine.dispose()


# --- commands ---------------------------------------------------------------------------------------------------------


@database.command("init")
def initialise(url: Url, table: TableName = DEFAULT_TABLE, as_json: AsJson = False) -> None:
    """Make the table of jobs, with its constraints and indexes, unless it is there already."""
    engine = open_engine(url, application_name="fencepost-cli")
    try:
        there_before = inspect(engine).has_table(table)
        metadata = MetaData()
        job_table(metadata, table)
        metadata.create_all(engine)
    finally:
        engine.dispose()
    done = "was there already" if there_before else "is made"
    _say({"table": table, "created": not there_before}, f"Table {table} {done}.", as_json)


@app.command()
def enqueue(
    url: Url,
    payload: Annotated[str, typer.Argument(help="What the job is about, as JSON.")] = "null",
    queue: Queue = "default",
    priority: Annotated[int, typer.Option(help="The lower the number, the sooner the job is claimed.")] = 0,
    max_attempts: Annotated[int, typer.Option(help="How many attempts may start.")] = 3,
    deadline_in: Annotated[
        float | None, typer.Option(help="Seconds from now from which on no work is done on the job.")
    ] = None,
    table: TableName = DEFAULT_TABLE,
    as_json: AsJson = False,
) -> None:
    """Hand in a job. Example: fencepost enqueue '{"page": 7}' --deadline-in 3600"""
    try:
        value = json.loads(payload)
    except ValueError as error:
        raise ConfigurationError(
            f"The payload is not JSON ({error}): write it like '{{\"page\": 7}}', in single quotes."
        ) from error
    deadline = None if deadline_in is None else datetime.now(UTC) + timedelta(seconds=deadline_in)
    with _runtime(url, table, queue) as runtime:
        outcome = runtime.enqueue(value, priority=priority, max_attempts=max_attempts, deadline_at=deadline)
    _answer(outcome, as_json)


@app.command("list")
def list_(
    url: Url,
    status: Annotated[
        list[str] | None, typer.Option("--status", "-s", help="Only jobs in this status; repeat it.")
    ] = None,
    queue: Annotated[str | None, typer.Option("--queue", "-q", help="Only jobs of this queue.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many jobs at most, the newest first.")] = 50,
    table: TableName = DEFAULT_TABLE,
    as_json: AsJson = False,
) -> None:
    """List jobs, the newest first."""
    known = [entry.name for entry in STATUSES]
    for word in status or []:
        if word not in known:
            raise ConfigurationError(f"{word!r} is no status of a job: choose among {', '.join(known)}.")
    with _runtime(url, table, queue or "default") as runtime:
        jobs = runtime.list_jobs(status or [], every_queue=queue is None, limit=limit)
    if as_json:
        _print_json([_plain(as_mapping(job)) for job in jobs])
        return
    grid = Grid("id", "queue", "status", "attempts", "holder", "lease until", "error")
    for job in jobs:
        grid.add_row(
            str(job.id),
            job.queue or "",
            _status_of(job),
            f"{job.attempt_count}/{job.max_attempts}",
            job.worker_id or "",
            "" if job.lease_expires_at is None else job.lease_expires_at.isoformat(" ", "seconds"),
            job.error_code or "",
        )
    Console().print(grid if jobs else "No such jobs.")


@app.command()
def show(url: Url, job: JobKey, table: TableName = DEFAULT_TABLE, as_json: AsJson = False) -> None:
    """Show everything about one job."""
    with _runtime(url, table, "default") as runtime:
        found = runtime.inspect(job)
        payload = runtime.payload_of(job)
    if found is None:
        _say({"job": job, "found": False}, f"There is no job {job}.", as_json)
        raise typer.Exit(REFUSED)
    everything = {**_plain(as_mapping(found)), "payload": payload}
    if as_json:
        _print_json(everything)
        return
    grid = Grid.grid(padding=(0, 2))
    for name, value in everything.items():
        if value is not None:
            grid.add_row(name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    Console().print(grid)


@app.command()
def cancel(url: Url, job: JobKey, table: TableName = DEFAULT_TABLE, as_json: AsJson = False) -> None:
    """Ask a job to stop. One that nobody holds ends at once; a running one is asked to stop at its next safe point."""
    with _runtime(url, table, "default") as runtime:
        outcome = runtime.request_cancel(job)
    _answer(outcome, as_json)


@app.command()
def recover(
    url: Url,
    queue: Queue = "default",
    limit: Annotated[int, typer.Option(min=1, help="How many jobs at most.")] = 100,
    overdue: Annotated[
        bool, typer.Option("--overdue", help="End waiting jobs too whose deadline has passed, or that nobody can take.")
    ] = False,
    table: TableName = DEFAULT_TABLE,
    as_json: AsJson = False,
) -> None:
    """Take jobs away from workers whose lease is over: for another attempt, or to their end if none is left."""
    with _runtime(url, table, queue) as runtime:
        changed: list[Accepted] = list(runtime.recover(limit))
        if overdue:
            changed += runtime.expire_overdue(limit)
    if as_json:
        _print_json([_outcome_json(outcome) for outcome in changed])
        return
    for outcome in changed:
        typer.echo(_sentence(outcome))
    if not changed:
        typer.echo("Nothing to recover.")


# --- answers ----------------------------------------------------------------------------------------------------------


def _answer(outcome: Outcome, as_json: bool) -> None:
    _say(_outcome_json(outcome), _sentence(outcome), as_json)
    if isinstance(outcome, Refused):
        raise typer.Exit(REFUSED)


def _outcome_json(outcome: Outcome) -> dict[str, Any]:
    stands = outcome.after if isinstance(outcome, Accepted) else outcome.found
    return {
        "operation": outcome.operation,
        "accepted": outcome.accepted,
        "case": outcome.case if isinstance(outcome, Accepted) else None,
        "false_guards": [] if isinstance(outcome, Accepted) else sorted(outcome.guards),
        "job": outcome.job_id,
        "status": None if stands is None else stands.status,
    }


def _sentence(outcome: Outcome) -> str:
    if isinstance(outcome, Accepted):
        return f"Job {outcome.job_id}: {outcome.operation} ({outcome.case}), now {_status_of(outcome.after)}."
    if outcome.job_id is not None and outcome.found is None:
        return f"There is no job {outcome.job_id}."
    subject = "The job" if outcome.found is None else f"Job {outcome.job_id} is {outcome.found.status} and"
    return f"{subject} refused {outcome.operation}; these guards do not hold: {', '.join(sorted(outcome.guards))}."


def _status_of(job: JobSnapshot) -> str:
    asked = job.status == "running" and job.cancel_requested_at is not None
    return f"{job.status}, asked to stop" if asked else job.status


def _say(answer: Any, sentence: str, as_json: bool) -> None:
    if as_json:
        _print_json(answer)
    else:
        typer.echo(sentence)


def _print_json(answer: Any) -> None:
    typer.echo(json.dumps(answer, ensure_ascii=False, indent=2))


def _plain(values: Any) -> dict[str, Any]:
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in values.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its status; `arguments` stands in for the process's own."""
    try:
        app(args=None if arguments is None else list(arguments), prog_name="fencepost")
    except FencepostError as error:
        _complain(str(error))
    except SQLAlchemyError as error:
        first_line = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
        _complain(f"The database could not do it ({first_line}): look at the URL, and whether the server is up.")


def _complain(sentence: str) -> None:
    typer.echo(sentence, err=True)
    sys.exit(NOT_RUN)
