"""Few long paths that take every edge of a world, and in every situation every call that must be refused.

Theory
======
Following only what is allowed misses the faults that a lease contract is about: an implementation without any fence
walks all enabled edges correctly. So wherever the tour stands, it first makes every call that the contract refuses here
and that it has not yet seen refused in such a situation; after each it looks at the *whole row*. Then it goes on, by
the shortest way, to the nearest edge or refusal that is still open; from a fresh start where that is nearer.

The model walks along: beside the implementation runs a plain state of the contract, and every answer and every row is
compared with it. Names of claimers are dealt so that the same worker claims again while its earlier tokens are still
around, and others take over from it; tokens that were really handed out are preferred to made-up ones.

After a wrong answer the path is given up: what an implementation does from a state in which it should not be says
nothing. The edge is closed, the tour goes round it; refusals by the same guards are not tried over and over. When the
tour is over, each fault is looked for again on the shortest ways, so that the report shows the shortest failing run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, permutations
from typing import Any, Final

from fencepost_model.contract import transition_name
from fencepost_model.semantics import Accepted, Refused, Row, State
from fencepost_model.shapes import Invariant, Operation, Selection, Sort, StepProperty
from fencepost_model.terms import Value
from fencepost_verification.conformance.capabilities import EXPLAINS_REFUSALS, INSPECT
from fencepost_verification.conformance.connect import Session
from fencepost_verification.conformance.plan import Plan, Way
from fencepost_verification.conformance.protocol import (
    ActedOn,
    Answer,
    Done,
    Failed,
    HarnessFault,
    Inspect,
    Invoke,
    Load,
    Message,
    Refusal,
    Reset,
    SetClock,
    Unsupported,
    arguments,
    plain,
)
from fencepost_verification.conformance.protocol import Row as Shown
from fencepost_verification.conformance.situations import Attempt, Probe, Token
from fencepost_verification.conformance.verdict import (
    CLOCK,
    LOAD,
    RESET,
    Change,
    Conjunct,
    Exchange,
    Finding,
    Ledger,
)

EPOCH: Final = 1_750_000_000
"""Where the clock of a run begins, in seconds since the Unix epoch: 2025-06-15T15:06:40Z."""

TOLERANCE_SECONDS: Final = 0.0005
"""Instants that differ by less are equal: stores keep them in milliseconds at the coarsest."""

LABEL: Final = "a"
"""The label of the one subject of a tour."""

REPETITIONS: Final = 8
"""How many shorter runs are tried for each refuted clause."""

Progress = Callable[[int, int], None]
"""Told how many edges and refusals are done, and how many there are."""


class WrongAnswer(Exception):
    """The implementation deviated; the path ends here."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.reason)
        self.finding = finding


@dataclass
class Counts:
    """How much was done."""

    calls: int = 0
    steps: int = 0
    inspections: int = 0
    resets: int = 0


@dataclass(frozen=True)
class Coverage:
    """So many of so many."""

    covered: int
    total: int


@dataclass
class Path:
    """A run in progress: the model's state, the tokens handed out, the identities seen, the exchanges so far."""

    state: State
    issued: list[Token] = field(default_factory=list[Token])
    renamed: dict[Value, object] = field(default_factory=dict[Value, object])
    exchanges: list[Exchange] = field(default_factory=list[Exchange])
    claims: int = 0
    looked: tuple[Row, str] | None = None
    """The model's row and the text of the implementation's that was found to be the same"""


class Judge:
    """Walks an implementation and the model side by side, step by step, and compares."""

    def __init__(self, session: Session, plan: Plan, ledger: Ledger, capabilities: frozenset[str]) -> None:
        self.session = session
        self.plan = plan
        self.lens = plan.lens
        self.ledger = ledger
        self.counts = Counts()
        self.paths = 0
        contract = self.lens.world.contract
        self._shapes = session.codec.shapes
        shown = session.description.fields
        self._shown = tuple(f for f in self._shapes.visible if shown is None or f.name in shown)
        self._inspects = INSPECT.name in capabilities
        self._explains = EXPLAINS_REFUSALS.name in capabilities
        self._sorts = {f.name: f.sort for f in contract.root.fields}
        self._fresh = self._shapes.fresh
        statements: tuple[Invariant | StepProperty, ...] = (*contract.invariants, *contract.step_properties)
        self._statements = [(statement, self.lens.reading(statement.statement)) for statement in statements]
        self._legacy = {tuple(rows[0].values()): name for name, rows in self.lens.semantics.legacy_rows()}

    # -- beginning -----------------------------------------------------------------------------------------------------

    def begin(self, start: int) -> Path:
        """A fresh store, with the legacy row of an initial state where it has one.

        Raises ``WrongAnswer`` when the store is not as it was asked to be.
        """
        state = self.plan.states[start]
        path = Path(state)
        self.paths += 1
        self.counts.resets += 1
        self.counts.steps += 1
        profile = {**self.lens.semantics.settings, **self.lens.stored}
        self._must(path, Reset(profile, self._instant(state.now)), "reset", RESET)
        row = state.rows[0][0]
        existing = row["status"] is not None
        if existing:
            message = Load(LABEL, {f.name: self._wire(f.name, row[f.name]) for f in self._shapes.visible})
            kind = self._legacy.get(tuple(row.values()), str(row["status"]))
            self._must(path, message, f"load {kind}", LOAD)
        self._look(
            path, LOAD if existing else RESET, "the row is not as it was loaded" if existing else "there is a row"
        )
        self.ledger.right(LOAD if existing else RESET)
        return path

    def _must(self, path: Path, message: Message, done: str, clause: str) -> None:
        answer = self.session.ask(message)
        self._note(path, "judge", done, plain(Done()), answer)
        if isinstance(answer, Unsupported):
            raise NotSupported(clause, answer.reason)
        if isinstance(answer, Failed):
            if clause != LOAD:
                raise HarnessFault(
                    f"The harness answered {clause!r} with an error ({answer.text}): without it nothing can be judged."
                )
            raise WrongAnswer(self._finding(path, (clause,), f"{done}: {plain(answer)}"))

    # -- steps ---------------------------------------------------------------------------------------------------------

    def tick(self, path: Path) -> None:
        """Time passes; nothing else may happen."""
        seconds = self.lens.world.tick
        before = path.state
        path.state = self.lens.semantics.advance(path.state, seconds)
        self.counts.steps += 1
        message = SetClock(self._instant(path.state.now))
        self._must(path, message, f"{seconds} s pass", CLOCK)
        self._look(path, CLOCK, "time alone changed the row")
        self.ledger.right(CLOCK)
        self._hold_statements(path, before, None, None)

    def take(self, path: Path, probe: Probe) -> str:
        """An allowed call: the answer and the whole row have to be the model's. Returns the transition taken."""
        operation = self.lens.operations[probe.operation]
        attempt = self._attempt(path, operation, probe)
        before = path.state
        outcome = self.lens.semantics.attempt(self.lens.state_with(before, attempt.token), self.lens.call(attempt))
        if not isinstance(outcome, Accepted):
            raise LookupError(f"the plan says that {probe} is allowed, plain evaluation refuses it: mend the plan")
        transition = transition_name(operation, outcome.case)
        after = State(outcome.state.now, outcome.state.rows)
        told = self._told(operation, outcome.case.name, after)
        expected = plain(Done(outcome.case.name)) if operation.selection is Selection.NAMED else plain(ActedOn((told,)))
        self.counts.steps += 1
        answer = self._call(path, operation, attempt, expected)
        self._compare_accepted(path, operation, transition, outcome.case.name, told, answer, attempt)
        path.state = State(after.now, ((after.rows[0][0], *before.rows[0][1:]),))
        changes = self._changes(path)
        if changes:
            reason = f"{transition} left the row wrong: {_in_words(changes)}"
            finding = self._finding(path, (transition,), reason, changes, self._conjuncts(before, attempt, answer))
            self._also_broken(path, before, operation, attempt, finding)
            raise WrongAnswer(finding)
        self.ledger.right(transition)
        if len(operation.over) > 1 and operation.selection is Selection.SWEEP:
            path.issued.append(dict(after.rows[0][1]))
        self._hold_statements(path, before, operation, attempt)
        return transition

    def refuse(self, path: Path, probe: Probe, false: frozenset[str]) -> None:
        """A call that has to be refused: by the right guards, and with nothing changed."""
        operation = self.lens.operations[probe.operation]
        attempt = self.lens.attempt(path.state, probe, path.issued)
        at = self.lens.state_with(path.state, attempt.token)
        outcome = self.lens.semantics.attempt(at, self.lens.call(attempt))
        if not isinstance(outcome, Refused) or outcome.guards != false:
            raise LookupError(f"the plan says that {probe} is refused by {sorted(false)}, plain evaluation does not")
        named = operation.selection is Selection.NAMED
        expected = plain(Refusal(false)) if named else plain(ActedOn())
        answer = self._call(path, operation, attempt, expected)
        clauses = tuple(f"{operation.name}.{guard}" for guard in sorted(false))
        if isinstance(answer, Unsupported):
            raise NotSupported(operation.name, answer.reason)
        changes = self._changes(path)
        forbidden = f"{probe} must be refused ({', '.join(sorted(false))})"
        if not (isinstance(answer, Refusal) or answer == ActedOn()):
            reason = f"{forbidden}, but it was answered: {plain(answer)}"
        elif changes:
            reason = f"{forbidden} and was, but it changed the row: {_in_words(changes)}"
        else:
            reason = ""
        if reason:
            finding = self._finding(path, clauses, reason, changes, self._conjuncts(path.state, attempt, answer))
            if changes:
                self._also_broken(path, path.state, operation, attempt, finding)
            raise WrongAnswer(finding)
        if isinstance(answer, Refusal) and self._explains and path.state.rows[0][0]["status"] is not None:
            doubtful = answer.guards ^ false
            if doubtful:
                finding = self._finding(
                    path,
                    tuple(f"{operation.name}.{guard}" for guard in sorted(doubtful)),
                    f"{probe} was refused, but not by the guards that are false: expected "
                    f"{', '.join(sorted(false))}, got {', '.join(sorted(answer.guards)) or 'none'}",
                    (),
                    self._conjuncts(path.state, attempt, answer),
                )
                raise WrongExplanation(replace(finding, certain=True))
        self.ledger.refused(operation.name, false)
        self._forget_refusal(path)

    def _forget_refusal(self, path: Path) -> None:
        """A right refusal changed nothing; a run tells only how many there were."""
        last = path.exchanges.pop()
        before = path.exchanges[-1]
        times = 1
        if before.actor == "" and before.at == last.at:
            path.exchanges.pop()
            times += int(before.done.split()[0])
        told = f"{times} calls are refused as they have to be" if times > 1 else "1 call is refused as it has to be"
        path.exchanges.append(Exchange(last.at, "", told, "", "", {}, ""))

    def _attempt(self, path: Path, operation: Operation, probe: Probe) -> Attempt:
        attempt = self.lens.attempt(path.state, probe, path.issued)
        if operation.selection is Selection.SWEEP and len(operation.over) > 1:
            # The same worker claims twice, then another one; every other path the other way round.
            hands = (0, 0, 1) if self.paths % 2 else (0, 1, 0)
            worker = self.lens.workers[hands[path.claims % 3]]
            path.claims += 1
            return Attempt(probe, attempt.params, self.lens.claiming(operation, worker))
        return attempt

    def _call(self, path: Path, operation: Operation, attempt: Attempt, expected: str) -> Answer:
        params = {p.name: self._sent(p.sort, attempt.params[p.name]) for p in self._shapes.arguments_of(operation)}
        carried = arguments(self._shapes, operation, subject=LABEL, token=attempt.token, params=params)
        message = Invoke(operation.name, carried)
        self.counts.calls += 1
        answer = self.session.ask(message)
        actor = next((str(v) for v in attempt.token.values() if isinstance(v, str)), operation.actor.value)
        shown = ", ".join(f"{name} {_told(value)}" for name, value in attempt.token.items())
        done = str(attempt.probe) + (f" ({shown})" if attempt.probe.token else "")
        self._note(path, actor, done, expected, answer)
        return answer

    def _note(self, path: Path, actor: str, done: str, expected: str, answer: Answer) -> None:
        message, text = self.session.last_message, self.session.last_answer
        path.exchanges.append(Exchange(path.state.now, actor, done, expected, plain(answer), message, text))

    # -- comparing -----------------------------------------------------------------------------------------------------

    def _told(self, operation: Operation, case: str, after: State) -> dict[str, Any]:
        """What a sweep has to tell of the subject, in the model's values."""
        if operation.selection is Selection.NAMED:
            return {}
        told: dict[str, Any] = {self._shapes.subject: LABEL, "case": case}
        if len(operation.over) > 1:
            told |= after.rows[0][1]
            told |= {name: after.rows[0][0][name] for name in self._fresh}
        return told

    def _compare_accepted(
        self,
        path: Path,
        operation: Operation,
        transition: str,
        case: str,
        told: Mapping[str, Any],
        answer: Answer,
        attempt: Attempt,
    ) -> None:
        wrong: tuple[str, ...] = (transition,)
        match answer:
            case Unsupported(reason):
                raise NotSupported(operation.name, reason)
            case Done(said) if operation.selection is Selection.NAMED:
                if said is None or said == case:
                    return
                reason = f"{operation.name} must take the case {case!r}, but says that it took {said!r}"
            case Refusal(guards):
                if self._explains and guards:
                    wrong = tuple(f"{operation.name}.{guard}" for guard in sorted(guards))
                reason = f"{operation.name} must be accepted ({transition}), but it was {plain(answer)}"
            case ActedOn(items) if operation.selection is Selection.SWEEP:
                complaint = self._compare_items(path, told, items)
                if complaint is None:
                    return
                reason = f"{operation.name} must take the {self._shapes.subject} ({transition}), but {complaint}"
            case _:
                reason = f"{operation.name} must be accepted ({transition}), but it was answered: {plain(answer)}"
        raise WrongAnswer(self._finding(path, wrong, reason, (), self._conjuncts(path.state, attempt, answer)))

    def _compare_items(self, path: Path, told: Mapping[str, Any], items: Sequence[Mapping[str, Any]]) -> str | None:
        if len(items) != 1:
            return "it acted on nothing" if not items else f"it acted on {len(items)} of them"
        for name, found in items[0].items():
            if name == "note":
                continue
            wanted = told.get(name)
            if name in self._fresh:
                if not self._same_identity(path, wanted, found):
                    return f"it told {name} {found!r}, which is not a new identity"
            elif found != wanted:
                return f"it told {name} {found!r} instead of {wanted!r}"
        return None

    def _same_identity(self, path: Path, wanted: Value, found: object) -> bool:
        """Whether a fresh identity is the model's, up to renaming; a new one is noted."""
        if wanted is None or found is None:
            return wanted is None and found is None
        if wanted in path.renamed:
            return path.renamed[wanted] == found
        if found in path.renamed.values():
            return False
        path.renamed[wanted] = found
        return True

    def _look(self, path: Path, clause: str, trouble: str) -> None:
        changes = self._changes(path)
        if changes:
            raise WrongAnswer(self._finding(path, (clause,), f"{trouble}: {_in_words(changes)}", changes))

    def _changes(self, path: Path) -> tuple[Change, ...]:
        """The fields in which the implementation's row is not the model's."""
        if not self._inspects:
            return ()
        self.counts.inspections += 1
        answer = self.session.ask(Inspect(LABEL))
        row = path.state.rows[0][0]
        if path.looked == (row, self.session.last_answer):
            return ()
        if isinstance(answer, Failed | Unsupported):
            raise HarnessFault(
                f"The harness answered 'inspect' with {plain(answer)}: make it show the row, or do not declare the "
                f"capability {INSPECT.name!r}."
            )
        if not isinstance(answer, Shown):
            raise HarnessFault(f"The harness answered 'inspect' with {plain(answer)}: answer with a row.")
        found = answer.fields
        self._last_row = found
        if found is None:
            return () if row["status"] is None else (Change("status", row["status"], None),)
        if row["status"] is None:
            return (Change("status", None, found.get("status")),)
        changes: list[Change] = []
        for shape in self._shown:
            if shape.name not in found:
                raise HarnessFault(
                    f"The row that the harness shows lacks {shape.name!r}: show it, or list in 'describe' the fields "
                    "that are shown."
                )
            wanted, value = row[shape.name], found[shape.name]
            if shape.name in self._fresh:
                if not self._same_identity(path, wanted, value):
                    known = None if wanted is None else path.renamed.get(wanted, "a new identity")
                    changes.append(Change(shape.name, known if isinstance(known, str | int) else None, value))
            elif not _equal(shape.sort, self._wire(shape.name, wanted), value):
                changes.append(Change(shape.name, wanted, self._shown_value(shape.name, value)))
        if not changes:
            path.looked = (row, self.session.last_answer)
        return tuple(changes)

    def _conjuncts(self, state: State, attempt: Attempt, answer: Answer) -> tuple[Conjunct, ...]:
        """Every guard of the call, in the model and as far as the answer tells in the implementation."""
        model = self.lens.semantics.conjuncts(self.lens.state_with(state, attempt.token), self.lens.call(attempt))

        def seen(guard: str) -> bool | None:
            match answer:
                case Done():
                    return True
                case ActedOn(items):
                    return True if items else None
                case Refusal(guards):
                    return guard not in guards if self._explains else None
                case _:
                    return None

        return tuple(Conjunct(guard, truth, seen(guard)) for guard, truth in model.items())

    def _finding(
        self,
        path: Path,
        clauses: tuple[str, ...],
        reason: str,
        changes: tuple[Change, ...] = (),
        conjuncts: tuple[Conjunct, ...] = (),
    ) -> Finding:
        return Finding(clauses, reason, tuple(path.exchanges), changes, conjuncts, self.lens.world.name)

    # -- statements about states and steps -----------------------------------------------------------------------------

    def _hold_statements(self, path: Path, before: State, operation: Operation | None, attempt: Attempt | None) -> None:
        """Every invariant in the state reached, every property of the step: counted where they hold.

        The row was found to be the model's; that the model keeps its own statements is proved elsewhere, and looked at
        here all the same, for a contract under construction may not.
        """
        row = path.state.rows[0][0]
        key = (
            before.now,
            path.state.now,
            tuple(before.rows[0][0].values()),
            tuple(row.values()),
            operation.name if operation else None,
            tuple(attempt.token.values()) if attempt else None,
            tuple(tuple(token.values()) for token in path.issued),
        )
        known = self.plan.statements.get(key)
        if known is None:
            known = self.plan.statements[key] = tuple(self._evaluated(path, before, operation, attempt, row))
        found = {clause for finding in self.ledger.findings for clause in finding.clauses}
        for name in dict.fromkeys(name for name, holds in known if not holds):
            # Not the implementation's fault: noted once, and the walk goes on to what may be.
            if name not in found:
                self.ledger.findings.append(self._finding(path, (name,), f"the contract itself breaks {name} here"))
        self.ledger.right(*dict.fromkeys(name for name, holds in known if holds))

    def _also_broken(self, path: Path, before: State, operation: Operation, attempt: Attempt, finding: Finding) -> None:
        """Add what else a wrong row breaks: the invariants and step properties that the observed row violates."""
        if self._last_row is None:
            return
        row = dict(path.state.rows[0][0])
        back = {str(seen): ours for ours, seen in path.renamed.items()}
        for name, value in self._last_row.items():
            if self._sorts[name] is Sort.INSTANT and isinstance(value, int | float):
                row[name] = value - EPOCH
            elif name in self._fresh:
                row[name] = back.get(str(value), value)
            else:
                row[name] = value
        broken = [name for name, holds in self._evaluated(path, before, operation, attempt, row) if not holds]
        for name in broken:
            self.ledger.findings.append(
                replace(finding, clauses=(name,), reason=f"{finding.reason}; this breaks {name}")
            )

    def _evaluated(
        self, path: Path, before: State, operation: Operation | None, attempt: Attempt | None, row: Row
    ) -> Iterator[tuple[str, bool]]:
        if row["status"] is None:
            return
        now = path.state.now
        for statement, reading in self._statements:
            variables = statement.over
            ends: dict[str, Row] = {}
            rows: dict[str, Row] = {variables[0].name: row}
            params: Mapping[str, Value] = {}
            tokens: Sequence[tuple[Token, ...]] = list(permutations(path.issued, len(variables) - 1))
            if isinstance(statement, StepProperty):
                if operation is None or not statement.speaks_of(operation):
                    continue
                rows = {variables[0].name: before.rows[0][0]}
                ends = {variables[0].name: row}
                if statement.restricted and len(variables) > 1 and attempt is not None:
                    tokens = [(attempt.token,)]
                    ends[variables[1].name] = self._learned(before, operation, attempt)
                if statement.of is not None and attempt is not None:
                    params = attempt.params
            for chosen in tokens:
                bound = {**rows, **{v.name: t for v, t in zip(variables[1:], chosen, strict=True)}}
                yield statement.name, reading(bound, now, params, ends or {**bound}) is True

    def _learned(self, before: State, operation: Operation, attempt: Attempt) -> Row:
        """What the caller's token is after the step, as the contract has it."""
        call = self.lens.call(attempt)
        outcome = self.lens.semantics.attempt(self.lens.state_with(before, attempt.token), call)
        (variable,) = operation.over[1:]
        return outcome.state.rows[0][call.binding[variable.name]] if isinstance(outcome, Accepted) else attempt.token

    # -- values --------------------------------------------------------------------------------------------------------

    def _instant(self, now: float | int) -> float | int:
        return now + EPOCH

    def _sent(self, sort: Sort, value: Value) -> Value:
        return value + EPOCH if sort is Sort.INSTANT and isinstance(value, int | float) else value

    def _wire(self, name: str, value: Value) -> Value:
        return self._sent(self._sorts[name], value)

    def _shown_value(self, name: str, value: object) -> object:
        """A value of the wire in seconds of the run, where it is an instant."""
        return value - EPOCH if self._sorts[name] is Sort.INSTANT and isinstance(value, int | float) else value

    _last_row: Mapping[str, Any] | None = None


class NotSupported(Exception):
    """The harness answered that it does not do this."""

    def __init__(self, what: str, reason: str) -> None:
        super().__init__(reason)
        self.what = what
        self.reason = reason


class WrongExplanation(WrongAnswer):
    """A call was refused as it had to be, but by the wrong names; the path may go on."""


def _equal(sort: Sort, wanted: Value, found: object) -> bool:
    if sort is Sort.INSTANT and isinstance(wanted, int | float) and isinstance(found, int | float):
        return abs(wanted - found) <= TOLERANCE_SECONDS
    return type(wanted) is type(found) and wanted == found


def _in_words(changes: Sequence[Change]) -> str:
    return "; ".join(f"{c.field} is {_told(c.found)} instead of {_told(c.expected)}" for c in changes)


def _told(value: object) -> str:
    return "null" if value is None else str(value)


class Tour:
    """Covers a plan: every edge, every refusal, each once.

    It scouts first: every transition once, and every guard once alone, so that a fault that shows anywhere shows soon.
    """

    def __init__(
        self,
        judge: Judge,
        *,
        progress: Progress | None = None,
        enough: Callable[[Finding], bool] | None = None,
    ) -> None:
        """``enough`` may end the tour at a finding; ``progress`` hears how far it is."""
        self.judge = judge
        self.plan = judge.plan
        self.ledger = judge.ledger
        self._progress = progress
        self._enough = enough
        self._edges = set(range(len(self.plan.edges)))
        self._refusals = set(range(len(self.plan.refusals)))
        self._taken: set[int] = set()
        self._refused: set[int] = set()
        self._failed_edges: dict[int, Finding] = {}
        self._failed_refusals: dict[int, Finding] = {}
        self._open_groups = {number for number, group in enumerate(self.plan.groups) if group}
        self._missing: dict[str, set[str]] = {}
        self._accepted: set[tuple[str, frozenset[str]]] = set()
        self._starts = list(self.plan.initial)
        self._stopped = False
        self._untried_transitions = {edge[3] for edge in self.plan.edges}
        self._untried_guards: set[str] = {guard for guards in self.plan.alone_in for guard in guards}

    @property
    def edges(self) -> Coverage:
        """How many edges were taken and right."""
        return Coverage(len(self._taken), len(self._edges))

    @property
    def refusals(self) -> Coverage:
        """How many refusals were tried and right."""
        return Coverage(len(self._refused), len(self._refusals))

    def scout(self) -> None:
        """Take every transition once, and meet every guard once alone."""
        self._run(scouting=True)

    def cover(self) -> None:
        """Tour until nothing open can be reached, then look for the shortest failing runs.

        Raises ``HarnessFault`` when the harness is at fault and ``NotSupported`` when it says that it does not do
        something after all, as ``scout`` does.
        """
        self._run(scouting=False)
        if not self._stopped:
            self._shorten()

    def _run(self, *, scouting: bool) -> None:
        while not self._stopped and self._starts:
            way = self._nearest(self._starts, scouting)
            if way is None:
                break
            self._walk(way, scouting)

    # -- what is open --------------------------------------------------------------------------------------------------

    def _nearest(self, starts: Sequence[int], scouting: bool) -> tuple[int, list[Way]] | None:
        open_edges = self._edges - self._taken - self._failed_edges.keys()
        groups = self._open_groups
        if scouting:
            open_edges = {n for n in open_edges if self.plan.edges[n][3] in self._untried_transitions}
            groups = {g for g in groups if not self.plan.alone_in[g].isdisjoint(self._untried_guards)}
        return self.plan.nearest(starts, open_edges, groups, set(self._failed_edges))

    def _wanted(self, refusal: int, scouting: bool) -> bool:
        if refusal not in self._refusals or refusal in self._refused or refusal in self._failed_refusals:
            return False
        return not scouting or self.plan.alone[refusal] in self._untried_guards

    # -- one path ------------------------------------------------------------------------------------------------------

    def _walk(self, way: tuple[int, list[Way]], scouting: bool) -> None:
        start, steps = way
        try:
            path = self.judge.begin(start)
        except WrongAnswer as wrong:
            self._starts.remove(start)
            self._found(wrong.finding)
            return
        at = start
        while self._refuse_all(path, at, scouting):
            if not steps:
                found = self._nearest([at], scouting)
                if found is None:
                    return
                if len(found[1]) > 2:
                    afresh = self._nearest(self._starts, scouting)
                    if afresh is not None and len(afresh[1]) + 1 < len(found[1]):
                        return
                steps = found[1]
            step = steps.pop(0)
            if not self._step(path, step):
                return
            at = step.target
            if self._progress is not None:
                done = len(self._taken) + len(self._refused)
                self._progress(done, len(self._edges) + len(self._refusals))

    def _step(self, path: Path, step: Way) -> bool:
        self._untried_transitions.discard(self.plan.edges[step.edge][3])
        try:
            if step.probe is None:
                self.judge.tick(path)
            else:
                self.judge.take(path, step.probe)
        except WrongAnswer as wrong:
            self._failed_edges[step.edge] = wrong.finding
            self._taken.discard(step.edge)
            self._found(wrong.finding)
            return False
        situation = self.judge.lens.situation(path.state)
        if situation != self.plan.situations[step.target]:
            raise LookupError(
                f"the run is in {situation}, the plan in {self.plan.situations[step.target]}: mend the plan"
            )
        self._taken.add(step.edge)
        return True

    def _refuse_all(self, path: Path, at: int, scouting: bool) -> bool:
        """Make every call that must be refused here and is still open; False when the path has to end."""
        group = self.plan.group_of[at]
        if group not in self._open_groups:
            return True
        for number in self.plan.groups[group]:
            if self._stopped or not self._wanted(number, scouting):
                continue
            _, probe, false = self.plan.refusals[number]
            if (probe.operation, false) in self._accepted or false <= self._missing.get(probe.operation, set()):
                self._failed_refusals[number] = self.ledger.findings[-1]
                continue
            alone = self.plan.alone[number]
            if alone is not None:
                self._untried_guards.discard(alone)
            try:
                self.judge.refuse(path, probe, false)
            except WrongExplanation as wrong:
                self._failed_refusals[number] = wrong.finding
                self._found(wrong.finding)
                path.exchanges.pop()
                continue
            except WrongAnswer as wrong:
                self._failed_refusals[number] = wrong.finding
                self._accepted.add((probe.operation, false))
                if len(false) == 1:
                    self._missing.setdefault(probe.operation, set()).update(false)
                self._found(wrong.finding)
                return False
            self._refused.add(number)
        if not scouting:
            self._open_groups.discard(group)
        return not self._stopped

    def _found(self, finding: Finding) -> None:
        self.ledger.findings.append(finding)
        if self._enough is not None and any(self._enough(each) for each in self.ledger.findings):
            self._stopped = True

    # -- the shortest failing runs -------------------------------------------------------------------------------------

    def _shorten(self) -> None:
        """Look for each fault again on shorter ways; what is found that way is kept beside the first finding."""
        done: set[tuple[str, int]] = set()
        for first in list(self.ledger.refuted().values()):
            if first.scope != self.judge.lens.world.name:
                continue
            for failed, again in (
                (self._failed_refusals, self._again_refused),
                (self._failed_edges, self._again_taken),
            ):
                number = next((n for n, finding in failed.items() if finding.trace == first.trace), None)
                if number is not None and (again.__name__, number) not in done:
                    done.add((again.__name__, number))
                    again(number, len(first.trace))

    def _again_refused(self, number: int, longest: int) -> None:
        """The same refusal where it is nearest, then others of the same call by the same guards, if they are nearer."""
        _, probe, false = self.plan.refusals[number]
        alike = {
            n
            for n, (_, other, guards) in enumerate(self.plan.refusals)
            if other.operation == probe.operation and guards == false
        }
        longest = self._again(self.plan.places_of(refusals={number}), longest, self._refused_at)
        self._again(self.plan.places_of(refusals=alike), longest, self._refused_at)

    def _again_taken(self, number: int, longest: int) -> None:
        self._again(self.plan.places_of(edges={number}), longest, self._taken_at)

    def _again(self, places: Iterator[tuple[int, int]], longest: int, attempt: Callable[[Path, int, int], None]) -> int:
        """Try a few places; the length of the shortest failing run that is known now."""
        for state, number in islice(places, REPETITIONS):
            path = self._replayed(state) if self.plan.depth[state] + 2 < longest else None
            if path is None:
                continue
            try:
                attempt(path, state, number)
            except WrongAnswer as wrong:
                self.ledger.findings.append(wrong.finding)
                longest = min(longest, len(wrong.finding.trace))
        return longest

    def _refused_at(self, path: Path, state: int, number: int) -> None:
        _, probe, false = self.plan.refusals[number]
        self.judge.refuse(path, probe, false)

    def _taken_at(self, path: Path, state: int, number: int) -> None:
        way = next(way for way in self.plan.ways[state] if way.edge == number)
        if way.probe is None:
            self.judge.tick(path)
        else:
            self.judge.take(path, way.probe)

    def _replayed(self, state: int) -> Path | None:
        """A run to a state by the shortest way; None when it goes wrong on the way."""
        start, steps = self.plan.way_to(state)
        try:
            path = self.judge.begin(start)
            for step in steps:
                if step.probe is None:
                    self.judge.tick(path)
                else:
                    self.judge.take(path, step.probe)
        except WrongAnswer:
            return None
        return path
