"""Operations of the job in two steps, read and then update, and the columns that the update must repeat.

Theory
======
The contract says "one conditional update". A store is often asked in two steps instead: a process *reads* the row,
decides in its own memory which case applies, ends the read, and *writes* with an UPDATE whose WHERE repeats some of
what it has seen; the row count tells whether it won. Between the two anything may happen: time passes, other processes
act, the process dies. This file makes, for any operation of the job, the contract of its two-step form beside all
operations in one step, and says that it refines the job. Which conjuncts the UPDATE must repeat is then a question
with an answer by program: drop one, and the refinement breaks, with a run.

*SQLite* (and any store where a read takes no lock): ``read``, then ``write``. Writers exclude each other from the
UPDATE to the COMMIT, and nobody sees what is not committed, so both are one step; a process that dies between the two
leaves what it found, as does one that dies before. A reader that still sees the old row while a commit is on its way
is one that has read earlier.

*PostgreSQL*: ``read`` finds candidates in a snapshot; ``lock`` is FOR UPDATE SKIP LOCKED in the same transaction as the
``write``. At READ COMMITTED the locking read looks at the newest version of the row and tests its own WHERE again (the
*recheck*). From there until commit nobody else writes the row, so only time can spoil what was seen. The transaction is
one: a process that dies in it gives the lock back and leaves the row as it was. Other tables are not rechecked.

A process that dies forgets (``forget``); so does one whose UPDATE matches no row. What an execution remembers of its
claim is not lost with it here: an execution that never acts again is one that stands still.

Where it is ugly: the memory stands among the fields of the token, so that sweepers have a token too, which they do not
use. And the machine's table is computed here, for the refinement says more than it does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fencepost_model.contract import Contract
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.machines import job
from fencepost_model.machines.job import JOB, OTHER_TOKEN, TOKEN, token
from fencepost_model.refinement import STUTTER, Performs, Refinement, SeenAs, same_fields
from fencepost_model.shapes import (
    Actor,
    Assignment,
    Case,
    Field,
    Guard,
    Invariant,
    LegacyRow,
    Operation,
    Selection,
    Sort,
    Variable,
    Witness,
)
from fencepost_model.terms import (
    NULL,
    AtMost,
    Bare,
    Const,
    Equal,
    FieldOf,
    Holds,
    Less,
    Missing,
    Not,
    Now,
    OneOf,
    Param,
    Same,
    Setting,
    Term,
    TruthTerm,
    ValueTerm,
    all_of,
    any_of,
    fields_read,
    holds,
    implies,
    present,
    rewritten_truth,
    rewritten_value,
    walk,
)

# --- what a process remembers -----------------------------------------------------------------------------------------

INTENT = token("intent")
READ_STATUS = token("read_status")
READ_GENERATION = token("read_generation")
READ_CANCEL = token("read_cancel_requested_at")
READ_AT = token("read_at")
LOCKED = job.job("locked")
HAS_LOCK = token("has_lock")

NOTHING_READ = Guard("nothing_read", Missing(INTENT), "D-22", "a process does one thing at a time")
UNLOCKED = Guard("unlocked", Not(Holds(LOCKED)), "D-22", "a row that a transaction has locked waits for its end")


def _of_kind(name: str) -> Field:
    """How an argument of the job's operations is remembered."""
    for operation in job.OPERATIONS:
        for parameter in operation.parameters:
            if parameter.name == name:
                return Field(f"kept_{name}", parameter.sort, f"the argument {name} of what is intended", True)
    raise KeyError(name)


def _memory(forms: Sequence[TwoSteps]) -> tuple[Field, ...]:
    operations = [form.operation for form in forms]
    words = tuple(word for operation in operations for word in (operation.name, *_intents(operation)))
    arguments = {parameter.name: parameter.words for operation in operations for parameter in operation.parameters}
    return (
        Field("intent", Sort.WORD, "what the process means to write; null when it remembers nothing", words=words),
        Field("read_status", Sort.WORD, "the status that it has read", words=tuple(s.name for s in job.STATUSES)),
        Field("read_generation", Sort.COUNT, "the generation that it has read"),
        Field("read_cancel_requested_at", Sort.INSTANT, "the cancel request that it has read"),
        Field("read_at", Sort.INSTANT, "when it decided"),
        *((Field("has_lock", Sort.FLAG, "whether its transaction has locked the row"),) if _locks(forms) else ()),
        *(replace(_of_kind(name), words=words) for name, words in arguments.items()),
    )


def _locks(forms: Iterable[TwoSteps]) -> bool:
    return any(form.locking for form in forms)


def intent_of(operation: Operation, case: Case) -> str:
    """The word for what a process means to write."""
    return f"{operation.name}/{case.name}"


def _intents(operation: Operation) -> tuple[str, ...]:
    return tuple(intent_of(operation, case) for case in operation.cases)


def _remembers(field: FieldOf, value: ValueTerm) -> Assignment:
    return Assignment(field, value)


# --- what an update may repeat ----------------------------------------------------------------------------------------

SAME_GENERATION = Guard(
    "same_generation", Equal(job.job("lease_generation"), READ_GENERATION), "D-22", "nobody has claimed or ended it"
)
SAME_STATUS = Guard("same_status", Equal(job.STATUS, READ_STATUS), "D-22", "the case was chosen by the status")
SAME_CANCEL = Guard(
    "same_cancel",
    Same(job.job("cancel_requested_at"), READ_CANCEL),
    "§2 rules",
    "the case was chosen by whether a cancel was requested",
)


def _unless_read(intents: tuple[str, ...], term: TruthTerm) -> TruthTerm:
    return any_of(OneOf(INTENT, intents), term)


RECOVERY_NOT_OVERTAKEN = Guard(
    "same_side_of_deadline",
    _unless_read(("recover/cancelled", "recover/expired", "recover/overdue"), Not(job.OVERDUE.term)),
    "§2 recover",
    "what was read before the deadline is not put back after it",
)
EXPIRY_NOT_OVERTAKEN = Guard(
    "same_side_of_deadline",
    _unless_read(
        ("expire_overdue/cancelled", "expire_overdue/expired", "expire_overdue/overdue"), Not(job.OVERDUE.term)
    ),
    "§2 expire_overdue",
    "what was read before the deadline ends for another reason after it",
)
RETRY_STILL_FITS = Guard(
    "retry_still_fits",
    _unless_read(
        ("fail/cancelled", "fail/final"),
        any_of(Missing(job.job("deadline_at")), Less(job.at(token("kept_delay")), job.job("deadline_at"))),
    ),
    "§2 fail",
    "the back-off is counted from the write, and must still end before the deadline",
)


@dataclass(frozen=True)
class TwoSteps:
    """An operation in two steps, with what its UPDATE repeats.

    ``repeats`` are conjuncts over job and token, read when the UPDATE runs. ``locking`` is PostgreSQL's form, with a
    locking read between the two; without ``recheck`` that read does not look at the newest version. With
    ``frozen_clock`` the UPDATE's clock is that of the transaction's beginning (``now()`` on PostgreSQL).
    """

    operation: Operation
    repeats: tuple[Guard, ...]
    locking: bool = False
    recheck: bool = True
    frozen_clock: bool = False
    lasting: bool = False
    """what was read stays so until the job ends: nobody can take what is read"""

    @property
    def name(self) -> str:
        """The name of the operation."""
        return self.operation.name

    def dropping(self, guard: str) -> TwoSteps:
        """The same without one of the conjuncts. Raises ``KeyError`` when it has none of that name."""
        if guard not in {repeated.name for repeated in self.repeats}:
            raise KeyError(guard)
        return replace(self, repeats=tuple(repeated for repeated in self.repeats if repeated.name != guard))


def _kept(term: Term) -> Term | None:
    return token(f"kept_{term.name}") if isinstance(term, Param) else None


def _frozen(term: Term) -> Term | None:
    return READ_AT if isinstance(term, Now) else None


# --- the operations in two steps --------------------------------------------------------------------------------------


def _caller(operation: Operation) -> tuple[Variable, ...]:
    return operation.over if TOKEN in operation.over else (*operation.over, TOKEN)


def _reading(form: TwoSteps) -> Operation:
    """The process looks, decides, and remembers; of a candidate for locking it remembers that it is one."""
    operation = form.operation
    arguments = tuple(
        _remembers(token(f"kept_{parameter.name}"), Param(parameter.name)) for parameter in operation.parameters
    )
    if form.locking:
        seen = Assignment(INTENT, Const(operation.name))
        cases: tuple[Case, ...] = (Case("candidate", (), (seen, *arguments), "it has seen a candidate"),)
    else:
        cases = tuple(
            Case(case.name, case.when, (*_decision(operation, case), *arguments), f"it means to write {case.name}")
            for case in operation.cases
        )
    return replace(
        operation,
        name=f"{operation.name}_read",
        over=_caller(operation),
        guards=(NOTHING_READ, *operation.guards),
        cases=cases,
        meaning=f"The first step of {operation.name}: a process reads the row and ends the read.",
    )


def _decision(operation: Operation, case: Case) -> tuple[Assignment, ...]:
    return (
        _remembers(INTENT, Const(intent_of(operation, case))),
        _remembers(READ_STATUS, job.STATUS),
        _remembers(READ_GENERATION, job.job("lease_generation")),
        _remembers(READ_CANCEL, job.job("cancel_requested_at")),
        _remembers(READ_AT, Now()),
    )


def _locking(form: TwoSteps) -> Operation:
    """The candidate is locked, in its newest version, and looked at again."""
    operation = form.operation
    candidate = Guard("candidate", Equal(INTENT, Const(operation.name)), "D-22", "only what was found is locked")
    rechecked = tuple(replace(g, term=rewritten_truth(g.term, _kept)) for g in operation.guards)
    return replace(
        operation,
        name=f"{operation.name}_lock",
        over=_caller(operation),
        parameters=(),
        guards=(candidate, UNLOCKED, *(rechecked if form.recheck else ())),
        cases=tuple(
            Case(
                case.name,
                tuple(replace(g, term=rewritten_truth(g.term, _kept)) for g in case.when),
                (
                    *_decision(operation, case),
                    Assignment(HAS_LOCK, Const(True)),
                    Assignment(LOCKED, Const(True)),
                ),
                f"the row is locked, to be {case.name}",
            )
            for case in operation.cases
        ),
        meaning=f"{operation.name} locks a candidate that nobody else has locked.",
    )


def _writing(form: TwoSteps, locks: bool) -> Operation:
    """One UPDATE with what it repeats, and its COMMIT."""
    operation = form.operation
    decided = Guard("decided", OneOf(INTENT, _intents(operation)), "D-22", "the process has decided")
    clock = _frozen if form.frozen_clock else _kept
    repeats = tuple(replace(g, term=rewritten_truth(rewritten_truth(g.term, _kept), clock)) for g in form.repeats)
    lock: tuple[Guard, ...] = (UNLOCKED,) if locks else ()
    if form.locking:
        lock = (Guard("has_lock", Holds(HAS_LOCK), "D-22", "the lock is kept until the commit"),)
    unlock = (Assignment(LOCKED, NULL), Assignment(HAS_LOCK, NULL)) if form.locking else ()
    return replace(
        operation,
        name=f"{operation.name}_write",
        over=_caller(operation),
        parameters=(),
        guards=(decided, *lock, *repeats),
        cases=tuple(
            Case(
                case.name,
                (Guard("chosen", Equal(INTENT, Const(intent_of(operation, case))), "D-22", "as it decided"),),
                (
                    *(replace(a, value=rewritten_value(rewritten_value(a.value, _kept), clock)) for a in case.effect),
                    *_forgotten(operation),
                    *unlock,
                ),
                case.meaning,
            )
            for case in operation.cases
        ),
        meaning=f"The second step of {operation.name}: one conditional update and its commit.",
    )


def _forgotten(operation: Operation) -> tuple[Assignment, ...]:
    kept = (token(f"kept_{parameter.name}") for parameter in operation.parameters)
    return tuple(
        Assignment(field, NULL) for field in (INTENT, READ_STATUS, READ_GENERATION, READ_CANCEL, READ_AT, *kept)
    )


def _forgetting(forms: tuple[TwoSteps, ...]) -> Operation:
    kept = {f"kept_{parameter.name}": None for form in forms for parameter in form.operation.parameters}
    memory = (INTENT, READ_STATUS, READ_GENERATION, READ_CANCEL, READ_AT, *(token(name) for name in kept))
    forgotten = tuple(Assignment(field, NULL) for field in memory)
    has_lock = Guard("has_lock", Holds(HAS_LOCK), "D-22", "its transaction has locked the row")
    without = Guard("without_lock", Not(Holds(HAS_LOCK)), "D-22", "its transaction has locked nothing")
    unlock = (Assignment(LOCKED, NULL), Assignment(HAS_LOCK, NULL))
    given_back = Case("lock_given_back", (has_lock,), (*forgotten, *unlock), "its transaction is rolled back")
    return Operation(
        name="forget",
        actor=Actor.CLAIMER,
        selection=Selection.NAMED,
        over=(JOB, TOKEN),
        acts_on="token",
        guards=(Guard("something_read", present(INTENT), "D-22", "there is something to forget"),),
        cases=(
            Case("memory_lost", (without,) if _locks(forms) else (), forgotten, "what was read is gone"),
            *((given_back,) if _locks(forms) else ()),
        ),
        clause="§2 rules, D-22",
        meaning="A process dies between two calls to the store, or its update matches no row.",
    )


# --- what the proof needs to know -------------------------------------------------------------------------------------


def _statements(forms: tuple[TwoSteps, ...]) -> Iterator[Invariant]:
    locking = tuple(intent for form in forms if form.locking for intent in _intents(form.operation))
    candidates = tuple(form.name for form in forms if form.locking)
    decided = tuple(intent for form in forms for intent in _intents(form.operation))
    yield Invariant(
        "read_is_past",
        "D-22",
        (JOB, TOKEN),
        implies(
            OneOf(INTENT, decided),
            all_of(present(job.STATUS), AtMost(READ_GENERATION, job.job("lease_generation")), AtMost(READ_AT, Now())),
        ),
        "What a process has read was so before.",
    )
    yield Invariant(
        "cancel_read_is_there",
        "§2 request_cancel",
        (JOB, TOKEN),
        implies(present(READ_CANCEL), Same(job.job("cancel_requested_at"), READ_CANCEL)),
        "A cancel request that was read is still the one on the row.",
    )
    if locking:
        yield Invariant(
            "lock_is_held",
            "D-22",
            (JOB, TOKEN),
            implies(Holds(HAS_LOCK), all_of(Holds(LOCKED), OneOf(INTENT, locking))),
            "Who has locked a row has decided what to write, and the row is locked.",
        )
        yield Invariant(
            "one_lock",
            "D-22",
            (JOB, TOKEN, OTHER_TOKEN),
            Not(all_of(Holds(HAS_LOCK), Holds(FieldOf("other", "has_lock")))),
            "One transaction at most has a row locked.",
        )
        yield Invariant(
            "locked_before_decided",
            "D-22",
            (JOB, TOKEN),
            implies(OneOf(INTENT, locking), Holds(HAS_LOCK)),
            "What is decided under a lock keeps it.",
        )
    for form in forms:
        operation = form.operation
        for parameter in operation.parameters:
            kept = token(f"kept_{parameter.name}")
            bounds = [] if parameter.nullable else [present(kept)]
            bounds += [rewritten_truth(parameter.assumed, _kept)] if parameter.assumed is not None else []
            if bounds:
                intended = (*((form.name,) if form.name in candidates else ()), *_intents(operation))
                yield Invariant(
                    f"{operation.name}_keeps_{parameter.name}",
                    "D-22",
                    (JOB, TOKEN),
                    implies(OneOf(INTENT, intended), all_of(*bounds)),
                    f"A process that means to {operation.name} remembers a proper {parameter.name}.",
                )
        for case in operation.cases:
            meant = Equal(INTENT, Const(intent_of(operation, case)))
            yield Invariant(
                f"{operation.name}_{case.name}_as_read",
                "D-22",
                (JOB, TOKEN),
                implies(meant, _as_read((*operation.guards, *case.when))),
                f"What was read is what {operation.name} was decided on.",
            )
            if form.lasting:
                lasts = (g.term for g in (*operation.guards, *case.when) if not isinstance(g.term, Not))
                yield Invariant(
                    f"{operation.name}_{case.name}_lasts",
                    form.operation.clause,
                    (JOB, TOKEN),
                    implies(meant, any_of(job.is_status(*job.TERMINAL), all_of(*lasts))),
                    f"What {operation.name} was decided on lasts until the job ends.",
                )
            yield Invariant(
                f"{operation.name}_{case.name}_still_right",
                "D-22, §2 rules",
                (JOB, TOKEN),
                implies(
                    all_of(meant, *_repeated(form)),
                    all_of(*(rewritten_truth(g.term, _kept) for g in (*operation.guards, *case.when))),
                ),
                f"Where what the update of {operation.name} repeats still holds, so does everything else it was "
                f"decided on.",
            )


_AS_READ = {job.STATUS: READ_STATUS, job.job("cancel_requested_at"): READ_CANCEL}


def _as_read(guards: Iterable[Guard]) -> TruthTerm:
    """What conjuncts say of the values read, as far as they read nothing else of the row."""
    told = [guard.term for guard in guards if fields_read(guard.term) <= _AS_READ.keys()]
    return all_of(
        present(READ_STATUS),
        *(rewritten_truth(term, lambda p: _AS_READ.get(p) if isinstance(p, FieldOf) else _kept(p)) for term in told),
    )


def _repeated(form: TwoSteps) -> Iterator[TruthTerm]:
    clock = _frozen if form.frozen_clock else _kept
    for guard in form.repeats:
        yield rewritten_truth(rewritten_truth(guard.term, _kept), clock)


def _witnesses(forms: tuple[TwoSteps, ...]) -> Iterator[Witness]:
    for form in forms:
        yield Witness(
            f"{form.name}_overtaken",
            "D-22",
            (JOB, TOKEN),
            all_of(
                OneOf(INTENT, _intents(form.operation)),
                AtMost(READ_AT, Now()),
                Not(all_of(*_repeated(form))),
            ),
            f"What {form.name} had read no longer holds when it writes.",
        )


# --- contract and refinement ------------------------------------------------------------------------------------------


def _may_act(operation: Operation, status: str) -> bool:
    """Whether the conjuncts that speak of the job's status alone let an operation act."""
    row = Bare({"job": {"status": status}})
    return all(holds(g.term, row) for g in operation.guards if _speaks_of_status_alone(g.term))


def _speaks_of_status_alone(term: TruthTerm) -> bool:
    parts = list(walk(term))
    return any(isinstance(p, FieldOf) for p in parts) and all(
        p == job.STATUS for p in parts if isinstance(p, FieldOf | Now | Param | Setting)
    )


def two_step_contract(*forms: TwoSteps, explained: bool = True, checked: bool = True) -> Contract:
    """The job's contract, its operations in one step, and beside them those given in two steps.

    ``explained`` adds the statements with which the refinement is proved; forms that repeat too little have none.
    """
    names = ", ".join(form.name for form in forms)
    locked = Field("locked", Sort.FLAG, "whether a transaction has locked the row", ghost=True)
    lock, unlocked = ((locked,), (UNLOCKED,)) if _locks(forms) else ((), ())
    token_machine = replace(job.TOKEN_MACHINE, fields=(*job.TOKEN_MACHINE.fields, *_memory(forms)))
    steps = [replace(operation, guards=(*unlocked, *operation.guards)) for operation in job.OPERATIONS]
    for form in forms:
        steps += [_reading(form), *((_locking(form),) if form.locking else ()), _writing(form, _locks(forms))]
    overdue = LegacyRow(
        "pending_spent_with_deadline",
        {**next(row.fields for row in job.LEGACY_ROWS if row.name == "pending_spent"), "deadline_at": 2},
        "waiting with no attempt left, and with a deadline",
    )
    # That what has ended never changes is not written here: it follows, or does not, from what the updates repeat.
    job_machine = replace(
        job.JOB_MACHINE,
        fields=(*job.FIELDS, *lock),
        legacy_rows=(*job.LEGACY_ROWS, overdue),
        statuses=tuple(replace(status, terminal=False) for status in job.STATUSES),
        table={status.name: tuple(o.name for o in steps if _may_act(o, status.name)) for status in job.STATUSES},
    )
    return Contract(
        name=f"{names} in two steps",
        machines=(job_machine, token_machine),
        operations=(*steps, _forgetting(forms)),
        invariants=(*job.INVARIANTS, *(_statements(forms) if explained else ())),
        witnesses=tuple(_witnesses(forms)),
        settings=job.SETTINGS,
        settings_assumed=job.SETTINGS_ASSUMED,
        checked=checked,
    )


def two_step_refinement(*forms: TwoSteps, explained: bool = True) -> Refinement:
    """That operations in two steps do what they do in one."""
    concrete = two_step_contract(*forms, explained=explained)
    steps: dict[str, SeenAs] = {
        operation.name: Performs(operation.name, {p.name: Param(p.name) for p in operation.parameters})
        for operation in job.OPERATIONS
    }
    for form in forms:
        arguments: Mapping[str, ValueTerm] = {p.name: token(f"kept_{p.name}") for p in form.operation.parameters}
        steps[f"{form.name}_read"] = STUTTER
        if form.locking:
            steps[f"{form.name}_lock"] = STUTTER
        steps[f"{form.name}_write"] = Performs(form.name, arguments)
    steps["forget"] = STUTTER
    return Refinement(
        name=f"{concrete.name}, as the job",
        clause="D-22, §2 rules",
        concrete=concrete,
        abstract=JOB_CONTRACT,
        images=(same_fields(JOB_CONTRACT, "job", JOB), same_fields(JOB_CONTRACT, "token", JOB, TOKEN)),
        steps=steps,
    )


def _guards(operation: Operation, *names: str) -> tuple[Guard, ...]:
    known = {guard.name: guard for guard in operation.guards}
    return tuple(known[name] for name in names)


SQLITE: tuple[TwoSteps, ...] = (
    TwoSteps(job.CLAIM, (*_guards(job.CLAIM, "pending", "before_deadline"), SAME_GENERATION)),
    TwoSteps(job.RESUME_POLL, (*_guards(job.RESUME_POLL, "waiting", "before_deadline"), SAME_GENERATION)),
    TwoSteps(job.SUCCEED, (job.LEASE_ALIVE, SAME_GENERATION, SAME_CANCEL)),
    TwoSteps(job.FAIL, (job.LEASE_ALIVE, SAME_GENERATION, SAME_CANCEL, RETRY_STILL_FITS)),
    TwoSteps(job.RECOVER, (SAME_GENERATION, SAME_CANCEL, RECOVERY_NOT_OVERTAKEN)),
    TwoSteps(job.EXPIRE_OVERDUE, (*_guards(job.EXPIRE_OVERDUE, "unheld"), EXPIRY_NOT_OVERTAKEN), lasting=True),
    TwoSteps(job.REQUEST_CANCEL, (SAME_STATUS, SAME_CANCEL)),
)
"""Each operation in two steps, with as little as its UPDATE may repeat."""

POSTGRESQL: tuple[TwoSteps, ...] = (
    TwoSteps(job.CLAIM, _guards(job.CLAIM, "before_deadline"), locking=True),
    TwoSteps(job.RESUME_POLL, _guards(job.RESUME_POLL, "before_deadline"), locking=True),
    TwoSteps(job.RECOVER, (RECOVERY_NOT_OVERTAKEN,), locking=True),
    TwoSteps(job.EXPIRE_OVERDUE, (EXPIRY_NOT_OVERTAKEN,), locking=True),
)
"""The sweeps with a locking read and an update in one transaction: only what time can spoil is repeated."""
