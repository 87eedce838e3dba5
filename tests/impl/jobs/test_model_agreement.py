"""Whatever is called in whatever order, the row in the database is the row of the model, and so is every refusal.

Random sequences of calls on one job, with a clock that the test moves, are made on the runtime and on the model's
semantics alike. After each call the answers are compared (the case taken, or the set of false guards), and the complete
row. It is done in the three ways in which an operation can run: alone (one statement where that suffices), with a
journal (look, then write), and inside a transaction of the caller's.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any, TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Column, Engine, Integer, MetaData, Table

from fencepost.clock import ManualClock
from fencepost.db.tx import write_transaction
from fencepost.jobs import Accepted, Backoff, DurableJobRuntime, JobTable, Profile, Refused, Token, job_table
from fencepost.jobs.outcomes import STANDARD_NAMES
from fencepost.jobs.runtime import JobOperations
from fencepost.jobs.schema import STORED
from fencepost.journal import MemorySink
from fencepost_model import semantics
from fencepost_model.error_codes import EXAMPLES, Family
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.machines.job import LEGACY_ROWS
from fencepost_model.machines.job_worlds import jobs
from fencepost_model.shapes import Sort
from fencepost_model.terms import Value
from fencepost_model.vocabulary import ColumnVocabulary

START = datetime(2030, 1, 1, tzinfo=UTC)
DELAY = 2
WORKERS = ("w1", "w1", "w2")

PROFILES = {
    "everything": Profile(
        lease_seconds=3,
        heartbeat_seconds=1,
        backoff=Backoff.fixed(DELAY),
        release_ceiling=3,
        max_polls=2,
        registers_park=True,
        registers_skip=True,
        registers_expired=True,
    ),
    "plain": Profile(
        lease_seconds=3,
        heartbeat_seconds=1,
        backoff=Backoff.fixed(DELAY),
        release_ceiling=2,
        max_polls=0,
        cancel_wins=False,
    ),
}

Step: TypeAlias = tuple[str, int, int]
"""What is called, by which execution (0 to 2), with which of its arguments."""

CALLS = (
    "claim",
    "claim",
    "resume_poll",
    "renew",
    "succeed",
    "fail",
    "skip",
    "park",
    "request_cancel",
    "acknowledge_cancel",
    "recover",
    "expire_overdue",
    "release",
    "advance",
    "advance",
    "advance",
)

steps = st.lists(st.tuples(st.sampled_from(CALLS), st.integers(0, 2), st.integers(0, 5)), min_size=8, max_size=30)
CODES = [EXAMPLES[family] for family in Family]
LEGACY = {legacy.name: dict(legacy.fields) for legacy in LEGACY_ROWS}
origins = st.one_of(st.sampled_from(sorted(LEGACY)), st.tuples(st.integers(0, 3), st.sampled_from([None, 0, 1, 4, 9])))
"""A legacy row, or a job handed in with so many attempts and such a deadline (seconds from now)."""


def seconds(moment: datetime) -> int:
    return int((moment - START).total_seconds())


def as_stored(name: str, value: Value) -> object:
    if STORED[name] is Sort.INSTANT and isinstance(value, int | float):
        return START + timedelta(seconds=value)
    return value


@dataclass
class Pair:
    """The runtime and the model, holding the same job."""

    runtime: DurableJobRuntime
    engine: Engine
    clock: ManualClock
    joined: bool
    model: semantics.Semantics
    state: semantics.State
    job_id: Any = None
    tokens: dict[int, Token] = field(default_factory=dict[int, Token])
    attempts: dict[Value, str] = field(default_factory=dict[Value, str])
    taken: str | None = None
    """The transition that the model took last."""

    def ask(self, call: Callable[[JobOperations], Any]) -> Any:
        """Make a call on the runtime, in the way that is under test."""
        if not self.joined:
            return call(self.runtime)
        with self.engine.connect() as connection, write_transaction(connection):
            return call(self.runtime.joined(connection))

    def call(self, operation: str, slot: int, choice: int) -> semantics.Call:
        """The step as a call on the model."""
        params: dict[str, Value] = {}
        if operation in {"fail", "skip"}:
            params = {"code": CODES[choice], "message": message_of(slot)}
        if operation == "park":
            params = {"provider_ref": "ref", "next_poll_at": seconds(self.clock.now()) + choice % 3}
        if operation in {"fail", "release", "recover", "expire_overdue"}:
            params["delay"] = DELAY
        alone = operation in {"request_cancel", "recover", "expire_overdue"}
        return semantics.Call(operation, 0, {"job": 0} if alone else {"job": 0, "token": slot + 1}, params)

    def attempt(self, call: semantics.Call) -> semantics.Accepted | semantics.Refused:
        """Make a call on the model, and go on from where it leads."""
        answer = self.model.attempt(self.state, call)
        if isinstance(answer, semantics.Accepted):
            self.state = answer.state
            self.taken = f"{call.operation}/{answer.case.name}"
        return answer

    def would_be_refused(self, operation: str, slot: int, choice: int) -> bool:
        """Whether the model refuses the step."""
        return isinstance(self.model.attempt(self.state, self.call(operation, slot, choice)), semantics.Refused)

    def token(self, slot: int) -> Token:
        """What that execution remembers; one that never claimed shows a token that fits no claim."""
        return self.tokens.get(slot, Token(self.job_id, WORKERS[slot], -1, "none"))

    def compare(self) -> None:
        """The row is the model's row, field by field."""
        snapshot = self.runtime.inspect(self.job_id)
        assert snapshot is not None
        row = dict(self.state.rows[0][0])
        found = snapshot.standard()
        attempt = found.pop("attempt_id")
        expected_attempt = row["attempt_id"]
        if expected_attempt is None:
            assert attempt is None
        else:
            assert attempt == self.attempts.setdefault(expected_attempt, attempt)
            assert len(set(self.attempts.values())) == len(self.attempts), "two attempts share an identity"
        for name in STANDARD_NAMES:
            if name == "attempt_id":
                continue
            value = found[name]
            if STORED[name] is Sort.INSTANT and value is not None:
                value = seconds(value)
            assert value == row[name], f"{name} is {value!r}, and {row[name]!r} in the model"


def agree(answer: Accepted | Refused, model: semantics.Accepted | semantics.Refused) -> None:
    if isinstance(model, semantics.Refused):
        assert isinstance(answer, Refused), f"the model refuses for {sorted(model.guards)}, the runtime does not"
        assert answer.guards == model.guards
    else:
        assert isinstance(answer, Accepted), f"the model takes {model.case.name}, the runtime refuses"
        assert answer.case == model.case.name


def begin(pair: Pair, origin: Any) -> bool:
    """Hand in a job, or put a legacy row there; whether there is one now."""
    if isinstance(origin, str):
        fields = LEGACY[origin]
        root, *members = pair.model.empty_rows()
        pair.state = semantics.State(0, (({**root, **fields}, *members),))
        stored = {name: as_stored(name, value) for name, value in fields.items() if name in STORED}
        pair.job_id = pair.ask(lambda jobs: jobs.load(stored))
        return True
    attempts, ahead = origin
    deadline = None if ahead is None else START + timedelta(seconds=ahead)
    payload = {"n": 1} if "payload" in pair.runtime.context.job.present_roles else None
    answer = pair.ask(lambda jobs: jobs.enqueue(payload, max_attempts=attempts, deadline_at=deadline))
    params: dict[str, Value] = {"max_attempts": attempts, "deadline_at": ahead}
    agree(answer, pair.attempt(semantics.Call("enqueue", 0, {"job": 0}, params)))
    pair.job_id = answer.job_id
    return isinstance(answer, Accepted)


def take(pair: Pair, step: Step) -> None:
    """One call on both sides."""
    operation, slot, choice = step
    token = pair.token(slot)
    if operation == "advance":
        pair.clock.advance(1 + choice % 3)
        pair.state = pair.model.advance(pair.state, 1 + choice % 3)
        return
    call = pair.call(operation, slot, choice)
    match operation:
        case "claim" | "resume_poll":
            taken = pair.ask(lambda jobs: getattr(jobs, operation)(WORKERS[slot]))
            assert bool(taken) == isinstance(pair.attempt(call), semantics.Accepted)
            for claimed in taken:
                pair.tokens[slot] = claimed.token
                assert claimed.job == pair.runtime.inspect(pair.job_id)
        case "recover" | "expire_overdue":
            changed = pair.ask(lambda jobs: getattr(jobs, operation)())
            model = pair.attempt(call)
            assert bool(changed) == isinstance(model, semantics.Accepted)
            for accepted in changed:
                agree(accepted, model)
        case "fail" | "skip":
            code, message = CODES[choice], message_of(slot)
            agree(pair.ask(lambda jobs: getattr(jobs, operation)(token, code, message)), pair.attempt(call))
        case "park":
            at = pair.clock.now() + timedelta(seconds=choice % 3)
            agree(pair.ask(lambda jobs: jobs.park(token, "ref", at)), pair.attempt(call))
        case "request_cancel":
            agree(pair.ask(lambda jobs: jobs.request_cancel(pair.job_id)), pair.attempt(call))
        case _:
            agree(pair.ask(lambda jobs: getattr(jobs, operation)(token)), pair.attempt(call))


def message_of(slot: int) -> str | None:
    return "so it went" if slot else None


@dataclass
class Bench:
    """Makes pairs on one table, each on an empty one; runtimes are kept, since their statements are built once."""

    engine: Engine
    job: JobTable
    way: str
    clock: ManualClock = field(default_factory=lambda: ManualClock(START))
    runtimes: dict[str, DurableJobRuntime] = field(default_factory=dict[str, DurableJobRuntime])

    def pair(self, named: str) -> Pair:
        """Runtime and model before anything has happened."""
        self.clock.jump_to(START)
        with self.engine.begin() as connection:
            connection.execute(self.job.table.delete())
        profile = PROFILES[named]
        if named not in self.runtimes:
            journal = MemorySink() if self.way == "journaled" else None
            self.runtimes[named] = DurableJobRuntime(self.engine, self.job, profile, clock=self.clock, journal=journal)
        model = semantics.Semantics(JOB_CONTRACT, jobs(1, *WORKERS), profile.settings())
        joined = self.way == "joined"
        return Pair(self.runtimes[named], self.engine, self.clock, joined, model, next(model.initial()))


@pytest.mark.parametrize("way", ["alone", "journaled", "joined"])
@pytest.mark.parametrize("named", list(PROFILES))
def test_runtime_and_model_agree(engine: Engine, job: JobTable, named: str, way: str) -> None:
    bench = Bench(engine, job, way)

    @settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
    @given(origin=origins, called=steps)
    def run(origin: Any, called: list[Step]) -> None:
        pair = bench.pair(named)
        if not begin(pair, origin):
            return
        pair.compare()
        for step in called:
            take(pair, step)
            pair.compare()

    run()


HANDED_IN = (2, 9)
ONE_ATTEMPT = (1, 9)
SHORT = (2, 4)
CLAIM, RELEASE, PARK, CANCEL = ("claim", 0, 0), ("release", 0, 0), ("park", 0, 1), ("request_cancel", 0, 0)
RECOVER, EXPIRE = ("recover", 0, 0), ("expire_overdue", 0, 0)
ONE_SECOND, THREE_SECONDS = ("advance", 0, 0), ("advance", 0, 2)
POLL = (CLAIM, PARK, ONE_SECOND, ("resume_poll", 0, 0))
TRY_AGAIN, FINAL, BY_CANCEL, OF_THE_STORE = (
    CODES.index(EXAMPLES[family]) for family in (Family.INFRA, Family.CONTENT, Family.CANCEL, Family.FENCE)
)

TOUR: dict[str, tuple[str, Any, tuple[Step, ...]]] = {
    "enqueue/created": ("everything", HANDED_IN, ()),
    "claim/claimed": ("everything", HANDED_IN, (CLAIM,)),
    "renew/renewed": ("everything", HANDED_IN, (CLAIM, ONE_SECOND, ("renew", 0, 0))),
    "succeed/succeeded": ("everything", HANDED_IN, (CLAIM, ("succeed", 0, 0))),
    "fail/cancelled": ("everything", HANDED_IN, (CLAIM, ("fail", 0, BY_CANCEL))),
    "fail/final": ("everything", HANDED_IN, (CLAIM, ("fail", 0, FINAL))),
    "fail/polled_again": ("everything", HANDED_IN, (*POLL, ("fail", 0, TRY_AGAIN))),
    "fail/retried": ("everything", HANDED_IN, (CLAIM, ("fail", 0, TRY_AGAIN))),
    "skip/skipped": ("everything", HANDED_IN, (CLAIM, ("skip", 0, FINAL))),
    "park/cancelled": ("everything", HANDED_IN, (CLAIM, CANCEL, PARK)),
    "park/parked": ("everything", HANDED_IN, (CLAIM, PARK)),
    "resume_poll/resumed": ("everything", HANDED_IN, POLL),
    "request_cancel/noted_before": ("everything", HANDED_IN, (CLAIM, CANCEL, ONE_SECOND, CANCEL)),
    "request_cancel/noted": ("everything", HANDED_IN, (CLAIM, CANCEL)),
    "request_cancel/immediate": ("everything", HANDED_IN, (CLAIM, PARK, CANCEL)),
    "acknowledge_cancel/acknowledged": ("everything", HANDED_IN, (CLAIM, CANCEL, ("acknowledge_cancel", 0, 0))),
    "recover/cancelled": ("everything", "running_cancelled", (RECOVER,)),
    "recover/expired": ("everything", SHORT, (CLAIM, ONE_SECOND, THREE_SECONDS, RECOVER)),
    "recover/overdue": ("plain", SHORT, (CLAIM, ONE_SECOND, THREE_SECONDS, RECOVER)),
    "recover/polled_again": ("everything", HANDED_IN, (*POLL, THREE_SECONDS, RECOVER)),
    "recover/requeued": ("everything", HANDED_IN, (CLAIM, THREE_SECONDS, RECOVER)),
    "recover/exhausted": ("everything", ONE_ATTEMPT, (CLAIM, THREE_SECONDS, RECOVER)),
    "expire_overdue/cancelled": ("everything", "pending_cancelled", (EXPIRE,)),
    "expire_overdue/expired": ("everything", SHORT, (ONE_SECOND, THREE_SECONDS, EXPIRE)),
    "expire_overdue/overdue": ("plain", SHORT, (ONE_SECOND, THREE_SECONDS, EXPIRE)),
    "expire_overdue/exhausted": ("everything", "pending_spent", (EXPIRE,)),
    "release/cancelled": ("everything", HANDED_IN, (CLAIM, CANCEL, RELEASE)),
    "release/polled_again": ("everything", HANDED_IN, (*POLL, RELEASE)),
    "release/handed_back": ("everything", HANDED_IN, (CLAIM, RELEASE)),
    "release/exhausted": ("everything", ONE_ATTEMPT, (CLAIM, RELEASE, CLAIM, RELEASE)),
    "release/retried": ("everything", HANDED_IN, (CLAIM, RELEASE, CLAIM, RELEASE)),
}
"""For each transition of the model a way to it, whose last step takes it: profile, origin, steps."""


def test_the_tour_names_every_transition() -> None:
    assert set(TOUR) == {f"{operation.name}/{case.name}" for operation, case in JOB_CONTRACT.transitions()}


@pytest.fixture
def renamed(engine: Engine) -> JobTable:
    """An application's own table: other names, no queue, no priority, no payload, times of its own declaration."""
    vocabulary = ColumnVocabulary(
        {"worker_id": "lease_owner", "heartbeat_at": "claimed_at", "attempt_id": "attempt_uid", "error_code": "why"}
    )
    ours = job_table(MetaData()).c
    columns = [Column(vocabulary.column(name), ours[name].type, nullable=ours[name].nullable) for name in STORED]
    metadata = MetaData()
    table = Table("exports", metadata, Column("export_id", Integer(), primary_key=True), *columns)
    metadata.create_all(engine)
    return JobTable(table, vocabulary, roles={"id": "export_id"})


def test_an_own_table_under_other_names_agrees_as_well(engine: Engine, renamed: JobTable) -> None:
    bench = Bench(engine, renamed, "alone")
    for transition, (named, origin, called) in TOUR.items():
        pair = bench.pair(named)
        assert begin(pair, origin)
        for step in called:
            take(pair, step)
            pair.compare()
        assert not called or pair.taken == transition


@pytest.mark.parametrize("way", ["alone", "journaled", "joined"])
def test_every_transition_and_every_refusal_after_it(engine: Engine, job: JobTable, way: str) -> None:
    """Each transition leaves the model's row; then every call that must be refused is refused for the same guards."""
    bench, refused = Bench(engine, job, way), 0
    slots = (0, 2) if way == "alone" else (0,)
    for transition, (named, origin, called) in TOUR.items():
        pair = bench.pair(named)
        assert begin(pair, origin)
        for step in called:
            take(pair, step)
        pair.compare()
        if called:
            assert pair.taken == transition, f"the way to {transition} ends in {pair.taken}"
        standing = pair.state
        for operation, slot in product(sorted({*CALLS} - {"advance"}), slots):
            pair.taken = None
            for choice in (TRY_AGAIN, FINAL, OF_THE_STORE) if operation in {"fail", "skip"} else (0,):
                if pair.would_be_refused(operation, slot, choice):
                    take(pair, (operation, slot, choice))
                    refused += 1
        assert pair.state == standing
        pair.compare()
    assert refused > 300
