"""Operations as plans: which transactions they take, one after the other, without opening any.

A plan is a generator. It yields steps (work on a connection, and in what kind of transaction) and receives each step's
result once the step has committed, or its exception once it has rolled back. Whoever drives it opens the transactions:
`DurableJobRuntime` on an `Engine`, `AsyncDurableJobRuntime` on an `AsyncEngine` through `run_sync`, `JoinedJobs` on
a connection whose transaction the caller owns. So there is one implementation of everything, and it is this one.

Most operations are one step. Those with a hook may take several: when a hook raises for a batch, the batch is rolled
back and its jobs are tried one by one, each in a transaction of its own, so that a job whose hook keeps raising does
not stop the others (contract §2, hooks). The culprit is set back and reported. Only an `Exception` is taken for the
job's fault; a cancelled task or an interrupt rolls back and goes its way.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, auto
from functools import partial
from typing import Any, TypeAlias, TypeVar

from sqlalchemy import Connection

from fencepost.db.engine import Durability
from fencepost.errors import ConfigurationError, FencepostError
from fencepost.jobs import claims, operations, recovery
from fencepost.jobs.operations import JobContext, NamedCall, Submission
from fencepost.jobs.outcomes import (
    Accepted,
    Claimed,
    JobId,
    JobSnapshot,
    Outcome,
    SetBack,
    Swept,
    Token,
    as_mapping,
)
from fencepost.journal import JournalRecord, JournalSink, write_to

T = TypeVar("T")


class Kind(Enum):
    """In what kind of transaction a step runs."""

    READ = auto()
    """a plain one that is rolled back"""
    WRITE = auto()
    """a write transaction, retried after conflicts"""
    STATEMENT = auto()
    """none around it: the step is one statement and commits by itself; retried after conflicts"""


@dataclass(frozen=True, slots=True)
class Step:
    """Work on a connection, the kind of transaction it needs, and what its commit must survive."""

    work: Callable[[Connection], Any]
    kind: Kind = Kind.WRITE
    durability: Durability = Durability.NORMAL


Plan: TypeAlias = Generator[Step, Any, T]

ValidateClaimed: TypeAlias = Callable[[Connection, Sequence[Claimed]], None]
"""Called before the commit of a claim with what it won. May write on the connection; must not commit, nor do anything
outside the database. Raising turns the batch down."""

OnRecovered: TypeAlias = Callable[[Connection, Sequence[Accepted]], None]
"""Called before the commit of `recover` and `expire_overdue` with exactly the jobs that the UPDATEs have changed; the
answers show them before and after. The same rules hold for it."""


@dataclass(frozen=True)
class Hooks:
    """An application's part in the runtime's transactions (contract §2, hooks)."""

    validate_claimed: ValidateClaimed | None = None
    on_recovered: OnRecovered | None = None


class HookRaised(FencepostError):
    """A hook turned a batch down, whose transaction is rolled back therefore; `__cause__` is what it raised."""


@dataclass(frozen=True)
class Manner:
    """How the driver of plans works.

    `single_writer`: of the store. `owns_transactions`: whether each step commits; if not, a hook's exception is the
    caller's, since there is no transaction of one's own to roll back.
    """

    single_writer: bool
    owns_transactions: bool = True


@dataclass(frozen=True)
class JobPlans:
    """The plans of all operations of one queue."""

    context: JobContext
    manner: Manner
    hooks: Hooks = field(default_factory=Hooks)
    journal: JournalSink | None = None
    passed_over: dict[JobId, datetime] = field(default_factory=dict[JobId, datetime])
    """Jobs whose recovery hook raised, and until when recovery leaves them alone. Only this process knows of them, for
    nothing may be written to a running job whose recovery did not come about."""

    # -- operations that name a job ------------------------------------------------------------------------------------

    def named(self, call: NamedCall) -> Plan[Outcome]:
        """An operation that names its job."""
        durability = Durability.FULL if call.operation == "request_cancel" else Durability.NORMAL
        strikes = call.has_one_case and self.journal is None
        struck: Accepted | None = None
        if strikes and not self.manner.single_writer and self.manner.owns_transactions:
            struck = yield Step(lambda connection: call.strike(self.context, connection), Kind.STATEMENT, durability)
            strikes = False

        def work(connection: Connection) -> Outcome:
            hit = call.strike(self.context, connection) if strikes else None
            return hit or call.perform(self.context, connection)

        outcome: Outcome = struck or (yield Step(work, Kind.WRITE, durability))
        self._note_named(outcome, call.token, call.arguments)
        return outcome

    def enqueue(self, submission: Submission) -> Plan[Outcome]:
        """§2 enqueue."""
        outcome: Outcome = yield Step(
            lambda connection: submission.perform(self.context, connection), Kind.WRITE, Durability.FULL
        )
        self._note_named(outcome, None, submission.arguments(self.context))
        return outcome

    def _note_named(self, outcome: Outcome, token: Token | None, arguments: Mapping[str, Any]) -> None:
        if self.journal is None:
            return
        found = outcome.before if isinstance(outcome, Accepted) else outcome.found
        after = outcome.after if isinstance(outcome, Accepted) else None
        stands = after or found
        worker, generation, attempt = _holder(token, found)
        record = JournalRecord(
            operation=outcome.operation,
            case=outcome.case if isinstance(outcome, Accepted) else None,
            job_id=outcome.job_id,
            queue=self.context.queue if stands is None else stands.queue,
            at=outcome.at,
            false_guards=() if isinstance(outcome, Accepted) else tuple(sorted(outcome.guards)),
            reason=None if arguments.get("code") is None else str(arguments["code"]),
            worker_id=worker,
            lease_generation=generation,
            attempt_id=attempt,
            arguments=dict(arguments),
            before=as_mapping(found),
            after=as_mapping(after),
        )
        write_to(self.journal, [record])

    # -- taking work ---------------------------------------------------------------------------------------------------

    def claim(self, worker_id: str, limit: int, max_claims: int | None) -> Plan[Swept[Claimed]]:
        """§2 claim."""
        target = _bounded(limit, max_claims)
        validate = self.hooks.validate_claimed
        if validate is None:
            taken = yield Step(lambda connection: self._take(connection, "claim", worker_id, target), self._taking_kind)
            return Swept(self._note_taken(taken))
        try:
            taken = yield Step(lambda connection: self._take(connection, "claim", worker_id, target, validate))
        except HookRaised:
            if not self.manner.owns_transactions:
                raise
        else:
            return Swept(self._note_taken(taken))
        return (yield from self._claim_one_by_one(worker_id, limit, target, validate))

    def resume_poll(self, worker_id: str, limit: int) -> Plan[Swept[Claimed]]:
        """§2 resume_poll."""
        target = _bounded(limit, None)
        work = partial(self._take, operation="resume_poll", worker_id=worker_id, limit=target)
        taken = yield Step(work, self._taking_kind)
        return Swept(self._note_taken(taken))

    @property
    def _taking_kind(self) -> Kind:
        one_statement = self.journal is None and not self.manner.single_writer and self.manner.owns_transactions
        return Kind.STATEMENT if one_statement else Kind.WRITE

    def _take(
        self,
        connection: Connection,
        operation: str,
        worker_id: str,
        limit: int,
        validate: ValidateClaimed | None = None,
        only: Sequence[JobId] | None = None,
    ) -> list[tuple[Accepted, Claimed]]:
        if limit == 0:
            return []
        taken = claims.take(
            self.context, connection, operation, worker_id, limit, before=self.journal is not None, only=only
        )
        if validate is not None and taken:
            try:
                validate(connection, [claimed for _, claimed in taken])
            except Exception as error:
                raise HookRaised(
                    f"validate_claimed turned down {len(taken)} job(s); nothing of the claim was kept: "
                    "see the cause, and mend the hook or the job."
                ) from error
        return taken

    def _claim_one_by_one(
        self, worker_id: str, limit: int, target: int, validate: ValidateClaimed
    ) -> Plan[Swept[Claimed]]:
        keys: list[JobId] = yield Step(lambda connection: claims.look_for(self.context, connection, "claim", limit))
        won: list[Claimed] = []
        turned_down: list[SetBack] = []
        for key in keys:
            if len(won) == target:
                break
            try:
                taken = yield Step(
                    partial(self._take, operation="claim", worker_id=worker_id, limit=1, validate=validate, only=[key])
                )
            except HookRaised as raised:
                cause = _cause(raised)
            else:
                won.extend(self._note_taken(taken))
                continue
            moved = yield Step(partial(claims.set_back, self.context, job_id=key))
            if moved is not None:
                turned_down.append(self._note_set_back(moved, cause, worker_id))
        return Swept(won, tuple(turned_down))

    def _note_taken(self, taken: list[tuple[Accepted, Claimed]]) -> list[Claimed]:
        if self.journal is not None:
            records = [
                JournalRecord(
                    operation=accepted.operation,
                    case=accepted.case,
                    job_id=accepted.job_id,
                    queue=accepted.after.queue,
                    at=accepted.at,
                    worker_id=claimed.token.worker_id,
                    lease_generation=claimed.token.lease_generation,
                    attempt_id=claimed.token.attempt_id,
                    before=as_mapping(accepted.before),
                    after=as_mapping(accepted.after),
                )
                for accepted, claimed in taken
            ]
            write_to(self.journal, records)
        return [claimed for _, claimed in taken]

    def _note_set_back(self, moved: Accepted, error: Exception, worker_id: str) -> SetBack:
        after = moved.after
        assert after.next_attempt_at is not None, "setting back has just set it"
        if self.journal is not None:
            record = JournalRecord(
                operation="set_back",
                case="set_back",
                job_id=after.id,
                queue=after.queue,
                at=moved.at,
                reason=_said(error),
                worker_id=worker_id,
                before=as_mapping(moved.before),
                after=as_mapping(after),
            )
            write_to(self.journal, [record])
        return SetBack(after.id, after.next_attempt_at, error)

    # -- the system's steps --------------------------------------------------------------------------------------------

    def sweep(self, operation: str, limit: int) -> Plan[Swept[Accepted]]:
        """§2 recover, expire_overdue."""
        _bounded(limit, None)
        try:
            changed = yield Step(lambda connection: self._sweep(connection, operation, limit))
        except HookRaised:
            if not self.manner.owns_transactions:
                raise
        else:
            return Swept(self._note_swept(changed))
        return (yield from self._sweep_one_by_one(operation, limit))

    def _sweep(self, connection: Connection, operation: str, limit: int, only: JobId | None = None) -> list[Accepted]:
        now = self.context.clock.read(connection)
        for key in [key for key, until in list(self.passed_over.items()) if until <= now]:
            self.passed_over.pop(key, None)
        changed = recovery.sweep(
            self.context, connection, operation, limit, passing_over=frozenset(self.passed_over), only=only
        )
        if self.hooks.on_recovered is not None and changed:
            try:
                self.hooks.on_recovered(connection, changed)
            except Exception as error:
                raise HookRaised(
                    f"on_recovered turned down {len(changed)} job(s); nothing of the sweep was kept: "
                    "see the cause, and mend the hook or the job."
                ) from error
        return changed

    def _sweep_one_by_one(self, operation: str, limit: int) -> Plan[Swept[Accepted]]:
        keys: list[JobId] = yield Step(lambda connection: self._look(connection, operation, limit))
        changed: list[Accepted] = []
        turned_down: list[SetBack] = []
        for key in keys:
            try:
                done = yield Step(partial(self._sweep, operation=operation, limit=1, only=key))
            except HookRaised as raised:
                cause = _cause(raised)
            else:
                changed.extend(self._note_swept(done))
                continue
            turned_down.append((yield Step(partial(self._pass_over, key=key, error=cause))))
        return Swept(changed, tuple(turned_down))

    def _look(self, connection: Connection, operation: str, limit: int) -> list[JobId]:
        return recovery.look_for(self.context, connection, operation, limit, passing_over=frozenset(self.passed_over))

    def _pass_over(self, connection: Connection, key: JobId, error: Exception) -> SetBack:
        now = self.context.clock.read(connection)
        backoff = self.context.profile.backoff
        until = now + timedelta(seconds=backoff.seconds(1, self.context.jitter()))
        self.passed_over[key] = until
        found = operations.inspect(self.context, connection, key)
        if self.journal is not None:
            worker, generation, attempt = _holder(None, found)
            record = JournalRecord(
                operation="set_back",
                case="set_back",
                job_id=key,
                queue=self.context.queue,
                at=now,
                reason=_said(error),
                worker_id=worker,
                lease_generation=generation,
                attempt_id=attempt,
                before=as_mapping(found),
                after=as_mapping(found),
            )
            write_to(self.journal, [record])
        return SetBack(key, until, error)

    def _note_swept(self, changed: list[Accepted]) -> list[Accepted]:
        if self.journal is not None:
            records: list[JournalRecord] = []
            for accepted in changed:
                worker, generation, attempt = _holder(None, accepted.before)
                records.append(
                    JournalRecord(
                        operation=accepted.operation,
                        case=accepted.case,
                        job_id=accepted.job_id,
                        queue=accepted.after.queue,
                        at=accepted.at,
                        reason=accepted.after.error_code,
                        worker_id=worker,
                        lease_generation=generation,
                        attempt_id=attempt,
                        before=as_mapping(accepted.before),
                        after=as_mapping(accepted.after),
                    )
                )
            write_to(self.journal, records)
        return changed

    # -- past the contract, and reading --------------------------------------------------------------------------------

    def load(self, row: Mapping[str, Any]) -> Plan[JobId]:
        """A row as it is, past every guard."""
        key: JobId = yield Step(
            lambda connection: operations.load(self.context, connection, row), Kind.WRITE, Durability.FULL
        )
        return key

    def inspect(self, job_id: JobId) -> Plan[JobSnapshot | None]:
        """One job as it stands."""
        found: JobSnapshot | None = yield Step(
            lambda connection: operations.inspect(self.context, connection, job_id), Kind.READ
        )
        return found

    def payload_of(self, job_id: JobId) -> Plan[Any]:
        """One job's payload."""
        payload = yield Step(lambda connection: operations.payload_of(self.context, connection, job_id), Kind.READ)
        return payload

    def list_jobs(self, statuses: tuple[str, ...], every_queue: bool, limit: int) -> Plan[list[JobSnapshot]]:
        """The newest jobs."""
        found: list[JobSnapshot] = yield Step(
            lambda connection: operations.list_jobs(
                self.context, connection, statuses=statuses, every_queue=every_queue, limit=limit
            ),
            Kind.READ,
        )
        return found


def _holder(token: Token | None, found: JobSnapshot | None) -> tuple[str | None, int | None, str | None]:
    if token is not None:
        return token.worker_id, token.lease_generation, token.attempt_id
    if found is None or found.worker_id is None:
        return None, None, None
    return found.worker_id, found.lease_generation, found.attempt_id


def _bounded(limit: int, max_claims: int | None) -> int:
    for name, number in (("limit", limit), ("max_claims", max_claims)):
        if number is not None and number < 0:
            raise ConfigurationError(f"{name} of {number} makes no sense: give a number of jobs from 0 up.")
    return limit if max_claims is None else min(limit, max_claims)


def _cause(raised: HookRaised) -> Exception:
    cause = raised.__cause__
    assert isinstance(cause, Exception), "only exceptions are taken for the job's fault"
    return cause


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


# --- driving ----------------------------------------------------------------------------------------------------------


def drive(plan: Plan[T], run: Callable[[Step], Any]) -> T:
    """Run a plan to its end, each step by `run`; its result, or the exception that it let pass."""
    try:
        step = next(plan)
        while True:
            try:
                result = run(step)
            except Exception as error:  # noqa: BLE001 - the plan decides what an exception means
                step = plan.throw(error)
            else:
                step = plan.send(result)
    except StopIteration as end:
        value: T = end.value
        return value
    finally:
        plan.close()
