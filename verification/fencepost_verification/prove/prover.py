"""Decides every obligation of a contract, for any number of entities and any length of run.

One solver knows the lawful state before a step: all invariants, at all entities that an obligation can mention. For
each transition it is told what the transition supposes, and asked whether any statement can fail after it. Only when
one can is each statement asked for by itself. A second solver is told the same of small populations (a *finite*
universe). It is asked for examples: a step of the transition, a case in which a statement says something; only where it
has none is the first one asked. A third is told less, without quantifiers; what it finds impossible is impossible, and
else the first is asked. So a contract that holds costs little more than two questions a transition.

When induction fails, the solver's state and step are judged by plain evaluation (``ReadingsDisagree`` when that does
not see the failure), and a bounded search says what the failure means. *Reachable*: the statement is refuted, with the
run. *Unreachable within a scope* or *undecided*: the statement is unknown, for it may be true and only want another
invariant beside it. What holds only because its hypothesis is impossible is unknown too, as *vacuous*.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property, partial
from typing import TypeAlias, TypeVar, assert_never

from fencepost_model.contract import Contract
from fencepost_model.semantics import Call as PlainCall
from fencepost_model.semantics import Member, Population, Semantics, State
from fencepost_model.shapes import Invariant, Operation, Progress, StepProperty
from fencepost_model.terms import Every, Some, Value, holds, walk
from fencepost_verification.evidence import Held, Refuted, Trace, Unknown, Verdict
from fencepost_verification.prove import smt
from fencepost_verification.prove.bounded import (
    Ambiguity,
    BoundedSearch,
    Found,
    GaveUp,
    ScopeExhausted,
    Search,
    Sought,
)
from fencepost_verification.prove.counterexamples import (
    Concrete,
    Counterexample,
    ReadingsDisagree,
    arguments,
    concrete,
    insist_on_call,
    insist_on_case,
    insist_on_laws,
    insist_on_profile,
    number,
    readable,
)
from fencepost_verification.prove.encoding import NoBinaryFraction, Symbol, decoded
from fencepost_verification.prove.obligations import (
    Attempt,
    Call,
    Goal,
    Kind,
    Step,
    Supposition,
    all_suppositions,
    beginnings,
    called,
    case_goals,
    inductive_goals,
    initial_goals,
    keys_of,
    needs_step,
    step_goals,
    step_of,
    tick_of,
)
from fencepost_verification.prove.progress import WaysOn, stuck
from fencepost_verification.prove.smt import Answer, Expression, Formula
from fencepost_verification.prove.sorts import well_formed
from fencepost_verification.prove.universe import Universe

_T = TypeVar("_T")

UNBOUNDED = "for any number of entities, any time, any settings and arguments"
BY_FRAME = "by frame: the step writes nothing that it reads"
VACUOUS = "vacuous"


class Label(Enum):
    """What a bounded search says about a state from which induction fails."""

    REACHABLE = "reachable"
    UNREACHED = "unreachable within the scope of the search"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Obligation:
    """One obligation with its verdict, and the seconds that it took (a share where several were asked at once).

    ``statement`` names the invariant, step property or progress statement that it is about, if any; ``transition`` the
    transition (by ``transition_name``), or the operation where it is about all its cases. ``counterexample`` and
    ``label`` are set where induction fails.
    """

    name: str
    kind: Kind
    transition: str | None
    statement: str | None
    verdict: Verdict
    seconds: float
    counterexample: Counterexample | None = None
    label: Label | None = None


@dataclass(frozen=True)
class Proof:
    """All obligations of a contract, in the order in which they were decided; ``seconds`` counts everything."""

    contract: str
    obligations: tuple[Obligation, ...]
    seconds: float

    @property
    def count(self) -> int:
        """How many obligations there are."""
        return len(self.obligations)

    @cached_property
    def held(self) -> tuple[Obligation, ...]:
        """Those that hold."""
        return tuple(o for o in self.obligations if isinstance(o.verdict, Held))

    @cached_property
    def refuted(self) -> tuple[Obligation, ...]:
        """Those that are false, each with a run."""
        return tuple(o for o in self.obligations if isinstance(o.verdict, Refuted))

    @cached_property
    def unknown(self) -> tuple[Obligation, ...]:
        """Those that are not established."""
        return tuple(o for o in self.obligations if isinstance(o.verdict, Unknown))

    @cached_property
    def by_frame(self) -> tuple[Obligation, ...]:
        """Those that hold because the transition touches nothing that the statement reads."""
        return tuple(o for o in self.held if isinstance(o.verdict, Held) and o.verdict.how == BY_FRAME)

    def about(self, statement: str) -> tuple[Obligation, ...]:
        """The obligations about one statement."""
        return tuple(o for o in self.obligations if o.statement == statement)


def prove(
    contract: Contract,
    *,
    search: Search | None = None,
    frame: bool = True,
    grouped: bool = True,
    milliseconds: int = 10_000,
) -> Proof:
    """Decide every obligation of a contract (contract §2 rules, §3).

    ``search`` labels what induction leaves open; the default unrolls a small population. ``frame`` and ``grouped`` are
    shortcuts that change no verdict; without them each obligation is asked by itself. ``milliseconds`` bounds each
    question, and what is cut off is unknown. Raises ``ReadingsDisagree`` when plain evaluation contradicts the solver,
    and ``NotEncodable`` when a term has no reading for it (an order of texts).
    """
    return _Prover(contract, search or BoundedSearch(), frame, grouped, milliseconds).run()


FailureOf: TypeAlias = Callable[[Goal, Attempt, smt.Model], Counterexample]
"""Builds the plain counterexample of a goal from a model, or raises ``ReadingsDisagree``."""


@dataclass(frozen=True)
class _Failure:
    """That the solver found a goal to fail, as a plain state where it could be had."""

    counterexample: Counterexample | None
    reason: str = ""


@dataclass
class _Hypothesis:
    """What the solvers have been told to suppose. The last one decides; each is asked for an example before the next.

    ``less`` has been told less: what it finds impossible is impossible. ``example`` is a model of the hypothesis, where
    the first of the others has one.
    """

    solvers: Sequence[smt.Solver]
    less: smt.Solver | None = None
    example: smt.Model | None = None

    @property
    def decides(self) -> smt.Solver:
        """The solver whose word is final."""
        return self.solvers[-1]

    def possible(self, *assumptions: Expression) -> Answer:
        """Whether it is possible under assumptions."""
        answer = Answer.UNKNOWN
        for solver in self.solvers:
            answer = solver.ask(*assumptions)
            if answer is Answer.SATISFIABLE:
                break
        return answer


class _Prover:
    def __init__(self, contract: Contract, search: Search, frame: bool, grouped: bool, milliseconds: int) -> None:
        self.contract = contract
        self.search = search
        self.frame = frame
        self.grouped = grouped
        self.milliseconds = milliseconds
        keys = keys_of(contract)
        self.universe = Universe(contract, keys, milliseconds=milliseconds)
        self.small = self.universe
        self.less: smt.Solver | None = None
        if self.universe.quantified:
            self.small = Universe(contract, keys, milliseconds=milliseconds, finite=True)
            self.less = smt.Solver(milliseconds)
        self.steps: list[Step] = []
        self.suppositions = all_suppositions(contract)
        self.found: dict[Sought, Found] = {}
        self.obligations: list[Obligation] = []

    def run(self) -> Proof:
        began = time.perf_counter()
        self._legacy_rows()
        self._beginnings()
        universe, small = self.universe, self.small
        for told in self._both(universe, small):
            told.solver.tell(told.background, *(said for _, said in told.lawful))
        if self.less is not None:
            self.less.tell(universe.background, *(said for law, said in universe.lawful_here if not quantified(law)))
        self._suppositions_of(small, None)
        self._step(tick_of(universe), tick_of(small))
        for operation in self.contract.operations:
            call, example = called(universe, operation), called(small, operation)
            self._cases(call, example)
            for case in operation.cases:
                self._step(step_of(universe, call, case), step_of(small, example, case))
        self._suppositions_left()
        for supposition in self.suppositions:
            self._conclude(supposition)
        for progress in self.contract.progress:
            self._progress(progress)
        return Proof(self.contract.name, tuple(self.obligations), time.perf_counter() - began)

    # -- beginnings ----------------------------------------------------------------------------------------------------

    def _legacy_rows(self) -> None:
        formed = {invariant.over[0].machine: invariant for invariant in well_formed(self.contract)}
        for machine in self.contract.machines:
            for row in machine.legacy_rows:
                name = f"{row.name} is a legacy {machine.name}"
                began = time.perf_counter()
                values = {declared.name: row.fields.get(declared.name) for declared in machine.fields}
                population = Population(Member(machine.name, row.name))
                semantics = Semantics(self.contract, population, self.contract.defaults())
                scope = semantics.scope(State(0, ((values,),)), 0, {}, {})
                form = formed[machine.name]
                if machine.legacy is None:
                    verdict: Verdict = Refuted(name, f"{machine.name} has legacy rows but no predicate for them")
                elif not holds(form.statement, replace(scope, binding={form.over[0].name: 0})):
                    verdict = Refuted(name, "the row is not as its fields declare")
                elif not holds(machine.legacy, replace(scope, binding={machine.name: 0})):
                    verdict = Refuted(name, "the legacy predicate does not admit the row")
                else:
                    verdict = Held(name, "evaluated")
                self._add(name, Kind.LEGACY_ROW, None, None, verdict, time.perf_counter() - began)

    def _beginnings(self) -> None:
        universe = self.universe
        for beginning in beginnings(universe):
            solver = smt.Solver(self.milliseconds)
            solver.tell(universe.background)
            solver.tell(*(smt.implies(universe.there(key), rows) for key, rows in beginning.rows.items()))
            goals = list(initial_goals(universe, beginning))
            self._decide(_Hypothesis((solver,)), goals, frozenset(), self._initial_failure, ())

    def _initial_failure(self, goal: Goal, attempt: Attempt, model: smt.Model) -> Counterexample:
        assert isinstance(goal.statement, Invariant)
        seen = concrete(self.universe, model, attempt.placement.values())
        insist_on_profile(seen)
        return self._state_failure(goal.statement, attempt, seen, seen.state)

    def _state_failure(
        self,
        statement: Invariant,
        attempt: Attempt,
        seen: Concrete,
        after: State,
        call: PlainCall | None = None,
        case: str | None = None,
    ) -> Counterexample:
        binding = _named(seen.binding(attempt.placement), statement)
        if holds(statement.statement, seen.semantics.scope(after, 0, binding, {})):
            raise ReadingsDisagree(f"the solver sees {statement.name} broken in {after}; plain evaluation does not")
        return Counterexample(seen.semantics, seen.state, statement.name, binding, call, case, after)

    # -- steps ---------------------------------------------------------------------------------------------------------

    def _both(self, universe: _T, small: _T) -> tuple[_T, ...]:
        """What there is of each universe, that of the small one first; one of them where no term quantifies."""
        return (universe,) if self.small is self.universe else (small, universe)

    @contextmanager
    def _supposing(self, hypothesis: Formula, of_few: Formula) -> Generator[_Hypothesis]:
        """Both solvers are told the hypothesis, each as it reads it."""
        solvers = self._both(self.universe.solver, self.small.solver)
        told = list(zip(solvers, self._both(hypothesis, of_few), strict=True))
        if self.less is not None:
            told.append((self.less, hypothesis))
        for solver, said in told:
            solver.push()
            solver.tell(said)
        yield _Hypothesis(solvers, self.less)
        for solver, _ in told:
            solver.pop()

    def _step(self, step: Step, of_few: Step) -> None:
        universe = self.universe
        self.steps.append(step)
        goals = list(inductive_goals(universe, step, frame=self.frame))
        goals.extend(step_goals(universe, step))
        more = [step.clock_after, *(step.call.scope.params.values() if step.call is not None else ())]
        with self._supposing(step.hypothesis, of_few.hypothesis) as supposed:
            self._decide(supposed, goals, step.keys, partial(self._step_failure, step), more)
            self._suppositions_of(self.small, of_few, supposed.example)

    def _step_failure(self, step: Step, goal: Goal, attempt: Attempt, model: smt.Model) -> Counterexample:
        universe = self.universe
        seen = concrete(universe, model, step.keys | set(attempt.placement.values()))
        insist_on_profile(seen)
        insist_on_laws(seen, universe.supposed)
        call, case = None, None
        if step.call is None or step.case is None:
            later = number(decoded(step.clock_after, model, universe.lexicon))
            after = seen.semantics.advance(seen.state, later - seen.state.now)
        else:
            call, case = self._plain_call(seen, step.call, model), step.case.name
            insist_on_call(seen, step.call.operation, call)
            after = insist_on_case(seen, step.call.operation, call, case)
        statement = goal.statement
        if isinstance(statement, Invariant):
            return self._state_failure(statement, attempt, seen, after, call, case)
        assert isinstance(statement, StepProperty)
        binding = _named(seen.binding(attempt.placement), statement)
        params: Mapping[str, Value] = call.params if call is not None and statement.of is not None else {}
        if holds(statement.statement, seen.semantics.scope(seen.state, 0, binding, params, after)):
            raise ReadingsDisagree(f"the solver sees {statement.name} broken by {step.name}; evaluation does not")
        return Counterexample(seen.semantics, seen.state, statement.name, binding, call, case, after)

    def _plain_call(self, seen: Concrete, call: Call, model: smt.Model) -> PlainCall:
        binding = _named(seen.binding(call.placement), call.operation)
        return PlainCall(call.operation.name, 0, binding, arguments(self.universe, model, call.scope.params))

    def _cases(self, call: Call, of_few: Call) -> None:
        failure = partial(self._case_failure, call)
        with self._supposing(call.allowed(), of_few.allowed()) as supposed:
            self._decide(supposed, list(case_goals(call)), call.keys, failure, call.scope.params.values())

    def _case_failure(self, call: Call, goal: Goal, attempt: Attempt, model: smt.Model) -> Counterexample:
        seen = concrete(self.universe, model, attempt.placement.values())
        insist_on_profile(seen)
        insist_on_laws(seen, self.universe.supposed)
        plain = self._plain_call(seen, call, model)
        insist_on_call(seen, call.operation, plain)
        for case in goal.cases:
            insist_on_case(seen, call.operation, plain, case)
        if not goal.cases and seen.semantics.cases(seen.state, plain):
            raise ReadingsDisagree(f"the solver sees no case of {call.operation.name} open; evaluation does")
        return Counterexample(seen.semantics, seen.state, call.operation.name, plain.binding, plain)

    # -- deciding ------------------------------------------------------------------------------------------------------

    def _decide(
        self,
        supposed: _Hypothesis,
        goals: Sequence[Goal],
        keys: frozenset[str],
        failure: FailureOf,
        more: Iterable[Symbol],
    ) -> None:
        """Decide goals that share a hypothesis, which the solvers have been told."""
        began = time.perf_counter()
        solver = supposed.decides
        impossible = self._vacuous(supposed, goals, keys)
        open_goals = [goal for goal in goals if goal.name not in impossible]
        asked = [goal for goal in open_goals if any(attempt.asked is not False for attempt in goal.attempts)]
        refused: dict[str, tuple[_Failure, float] | str] = {}
        if asked and not (self.grouped and self._all_held(supposed, asked, keys)):
            for goal in asked:
                alone = time.perf_counter()
                outcome = self._one(solver, goal, keys, failure, more)
                if outcome is not None:
                    refused[goal.name] = outcome if isinstance(outcome, str) else (outcome, time.perf_counter() - alone)
        share = (time.perf_counter() - began) / max(1, len(goals))
        for goal in goals:
            self._judge(goal, impossible.get(goal.name), refused.get(goal.name), share)

    def _judge(
        self, goal: Goal, impossible: str | None, refused: tuple[_Failure, float] | str | None, share: float
    ) -> None:
        about = None if isinstance(goal.statement, Operation) else goal.statement.name
        told = about or goal.name
        if impossible is not None:
            self._add(goal.name, goal.kind, goal.transition, about, Unknown(told, impossible), share)
        elif refused is None:
            how = BY_FRAME if goal.framed and not goal.attempts else f"proved {UNBOUNDED}"
            self._add(goal.name, goal.kind, goal.transition, about, Held(told, how), share)
        elif isinstance(refused, str):
            self._add(goal.name, goal.kind, goal.transition, about, Unknown(told, refused), share)
        else:
            seen, seconds = refused
            sought = Ambiguity(goal.statement.name) if isinstance(goal.statement, Operation) else goal.statement
            self._labelled(goal.name, goal.kind, goal.transition, about, sought, seen, seconds)

    def _vacuous(self, supposed: _Hypothesis, goals: Sequence[Goal], keys: frozenset[str]) -> dict[str, str]:
        """The goals whose hypothesis is impossible, or not known to be possible, with the reason."""
        universe = self.universe
        everybody = keys.union(*(a.placement.values() for goal in goals for a in goal.attempts))
        first = supposed.solvers[0]
        if first.ask(*universe.present(everybody or {self.contract.root.name})) is Answer.SATISFIABLE:
            supposed.example = first.model()
            return {}
        answers: dict[frozenset[str], Answer] = {}
        reasons: dict[str, str] = {}
        for goal in goals:
            spoken_of = {keys | frozenset(attempt.placement.values()) for attempt in goal.attempts} or {keys}
            for entities in spoken_of - answers.keys():
                answers[entities] = supposed.possible(*universe.present(entities or {self.contract.root.name}))
            seen = {answers[entities] for entities in spoken_of}
            if Answer.SATISFIABLE not in seen:
                why = f"the solver cannot tell whether what {goal.name!r} supposes is possible"
                reasons[goal.name] = (
                    f"{VACUOUS}: what {goal.name!r} supposes is impossible"
                    if seen == {Answer.UNSATISFIABLE}
                    else f"{why}: {supposed.decides.reason()}"
                )
        return reasons

    def _all_held(self, supposed: _Hypothesis, goals: Sequence[Goal], keys: frozenset[str]) -> bool:
        """Whether no goal can fail. Those without quantifiers are first asked of the solver that was told less."""
        left = list(goals)
        if supposed.less is not None:
            easy = [goal for goal in goals if not quantified(goal.statement)]
            if easy and self._none_fails(supposed.less, easy, keys):
                left = [goal for goal in goals if quantified(goal.statement)]
        return not left or self._none_fails(supposed.decides, left, keys)

    def _none_fails(self, solver: smt.Solver, goals: Sequence[Goal], keys: frozenset[str]) -> bool:
        universe = self.universe
        some_fails = smt.disj(
            [
                smt.conj((*universe.present(keys | set(attempt.placement.values())), attempt.asked))
                for goal in goals
                for attempt in goal.attempts
                if attempt.asked is not False
            ]
        )
        solver.push()
        solver.tell(some_fails)
        answer = solver.ask()
        solver.pop()
        return answer is Answer.UNSATISFIABLE

    def _one(
        self,
        solver: smt.Solver,
        goal: Goal,
        keys: frozenset[str],
        failure: FailureOf,
        more: Iterable[Symbol],
    ) -> _Failure | str | None:
        """A failure of one goal, the reason why it is undecided, or None when it holds."""
        undecided: str | None = None
        for attempt in goal.attempts:
            entities = keys | set(attempt.placement.values())
            solver.push()
            solver.tell(attempt.asked)
            answer = solver.ask(*self.universe.present(entities))
            if answer is Answer.UNKNOWN:
                undecided = f"the solver gave up: {solver.reason()}"
            outcome = None
            if answer is Answer.SATISFIABLE:
                outcome = self._concrete_failure(solver, entities, more, partial(failure, goal, attempt))
            solver.pop()
            if outcome is not None:
                return outcome
        return undecided

    def _concrete_failure(
        self,
        solver: smt.Solver,
        keys: frozenset[str],
        more: Iterable[Symbol],
        build: Callable[[smt.Model], Counterexample],
    ) -> _Failure:
        """The plain counterexample, or why there is none to show."""
        model = readable(solver, self.universe.present(keys), self.universe, keys, more)
        try:
            return _Failure(build(model))
        except NoBinaryFraction as awkward:
            return _Failure(None, str(awkward))

    # -- labels --------------------------------------------------------------------------------------------------------

    def _labelled(
        self,
        name: str,
        kind: Kind,
        transition: str | None,
        about: str | None,
        sought: Sought,
        seen: _Failure,
        seconds: float,
    ) -> None:
        began = time.perf_counter()
        if sought not in self.found:
            self.found[sought] = self.search(self.contract, sought)
        found = self.found[sought]
        shown = f"when {seen.counterexample}" if seen.counterexample is not None else f"({seen.reason})"
        told = about or name
        label: Label
        verdict: Verdict
        match found:
            case Trace():
                broken = f"{about} breaks in" if about is not None else "it comes to that after"
                label, verdict = Label.REACHABLE, Refuted(told, f"{name}: fails; {broken} the run: {found}", found)
            case ScopeExhausted(scope):
                label, verdict = Label.UNREACHED, Unknown(told, f"{name}: fails {shown}; not reached in {scope}")
            case GaveUp(reason):
                label = Label.UNDECIDED
                verdict = Unknown(told, f"{name}: fails {shown}; whether that is reached is open: {reason}")
            case _:
                assert_never(found)
        seconds += time.perf_counter() - began
        self._add(name, kind, transition, about, verdict, seconds, seen.counterexample, label)

    def _add(
        self,
        name: str,
        kind: Kind,
        transition: str | None,
        statement: str | None,
        verdict: Verdict,
        seconds: float,
        counterexample: Counterexample | None = None,
        label: Label | None = None,
    ) -> None:
        self.obligations.append(Obligation(name, kind, transition, statement, verdict, seconds, counterexample, label))

    # -- what statements suppose ---------------------------------------------------------------------------------------

    def _suppositions_of(self, universe: Universe, step: Step | None, example: smt.Model | None = None) -> None:
        """Look which suppositions occur in a lawful state, or in a step whose hypothesis the solver has been told.

        ``example`` is a model of what it has been told: what is so in it occurs.
        """
        keys = step.keys if step is not None else frozenset[str]()
        for supposition in self.suppositions:
            if supposition.occurs or needs_step(supposition.term) is (step is None):
                continue
            began = time.perf_counter()
            for attempt in supposition.occurrences(universe, step):
                if attempt.asked is False:
                    continue
                present = universe.present(keys | set(attempt.placement.values()))
                if example is not None and example.truth(smt.conj((*present, attempt.asked))):
                    supposition.occurs = True
                    break
                universe.solver.push()
                universe.solver.tell(attempt.asked)
                answer = universe.solver.ask(*present)
                if answer is Answer.UNKNOWN:
                    supposition.undecided = f"the solver gave up: {universe.solver.reason()}"
                universe.solver.pop()
                if answer is Answer.SATISFIABLE:
                    supposition.occurs = True
                    break
            supposition.seconds += time.perf_counter() - began

    def _suppositions_left(self) -> None:
        """Look once more, for those that occur in no small population."""
        left = [supposition for supposition in self.suppositions if not supposition.occurs]
        if not left or self.small is self.universe:
            return
        for supposition in left:
            supposition.undecided = ""
        self._suppositions_of(self.universe, None)
        for step in self.steps:
            if all(supposition.occurs for supposition in left):
                return
            self.universe.solver.push()
            self.universe.solver.tell(step.hypothesis)
            self._suppositions_of(self.universe, step)
            self.universe.solver.pop()

    def _conclude(self, supposition: Supposition) -> None:
        statement = supposition.statement.name
        name = f"what {statement} supposes occurs ({supposition.number})"
        if supposition.occurs:
            verdict: Verdict = Held(statement, "a model of the solver")
        else:
            verdict = Unknown(statement, supposition.undecided or f"{VACUOUS}: what {statement} supposes cannot be")
        self._add(name, Kind.OCCURS, None, statement, verdict, supposition.seconds)

    # -- progress ------------------------------------------------------------------------------------------------------

    def _progress(self, progress: Progress) -> None:
        began = time.perf_counter()
        universe, solver = self.universe, self.universe.solver
        ways = WaysOn(universe, progress)
        present = universe.present(ways.keys)
        outcome: Verdict | _Failure = Held(progress.name, f"proved {UNBOUNDED}")
        with self._supposing(ways.supposed(), WaysOn(self.small, progress).supposed()) as supposed:
            possible = supposed.possible(*present)
            if possible is Answer.UNSATISFIABLE:
                outcome = Unknown(progress.name, f"{VACUOUS}: what {progress.name} supposes cannot be")
            elif possible is Answer.UNKNOWN:
                outcome = Unknown(progress.name, f"the solver gave up: {solver.reason()}")
            else:
                solver.tell(ways.none_ever())
                answer = solver.ask(*present)
                if answer is Answer.UNKNOWN:
                    outcome = Unknown(progress.name, f"the solver gave up: {solver.reason()}")
                elif answer is Answer.SATISFIABLE:
                    more = [symbol for symbols in ways.arguments.values() for symbol in symbols.values()]
                    outcome = self._concrete_failure(solver, ways.keys, more, partial(self._limbo, ways))
        name = f"{progress.name}: {' or '.join(progress.bound)}"
        seconds = time.perf_counter() - began
        if isinstance(outcome, _Failure):
            self._labelled(name, Kind.PROGRESS, None, progress.name, progress, outcome, seconds)
        else:
            self._add(name, Kind.PROGRESS, None, progress.name, outcome, seconds)

    def _limbo(self, ways: WaysOn, model: smt.Model) -> Counterexample:
        seen = concrete(self.universe, model, ways.keys)
        insist_on_profile(seen)
        insist_on_laws(seen, self.universe.supposed)
        params = {name: arguments(self.universe, model, symbols) for name, symbols in ways.arguments.items()}
        binding = _named(seen.binding(ways.placement), ways.progress)
        if not stuck(ways.progress, seen.semantics, seen.state, binding, params):
            raise ReadingsDisagree(f"the solver sees no way on in {seen.state}; plain evaluation does")
        return Counterexample(seen.semantics, seen.state, ways.progress.name, binding)


def quantified(statement: Invariant | StepProperty | Operation) -> bool:
    """Whether a statement, or a condition of an operation's cases, speaks of all or some members of an entity."""
    if isinstance(statement, Operation):
        terms = [guard.term for case in statement.cases for guard in case.when]
    else:
        terms = [statement.statement]
    return any(isinstance(part, Every | Some) for term in terms for part in walk(term))


def _named(binding: dict[str, int], statement: Invariant | StepProperty | Progress | Operation) -> dict[str, int]:
    """A binding without the parents that a statement leaves unsaid."""
    return {variable.name: binding[variable.name] for variable in statement.over}
