"""The obligations of a proof as SMT-LIB 2 scripts, and the opinion of a second solver on each of them.

Theory
======
``prover`` asks z3. What it asks is written here as text, in the language that all solvers read, and cvc5 is asked the
same again: every obligation by itself, none of them taken from z3's answers. The two share the reading of terms as
formulas (``encoding``), which plain evaluation judges; they share no solver.

Obligations with one hypothesis make one *section*: the lawful state and what the transition supposes are told once,
then each denial in a frame of its own (push, assert, check-sat, pop). A section as a whole is a script; so is each
obligation by itself, with the same hypothesis and one question.

An obligation whose hypothesis cannot be true would hold of anything: so each section asks first whether it can. cvc5
says *unsat* to a denial: held. *sat*: refuted. Anything else: unknown.

Where terms quantify, cvc5 left to itself finds no models and not every instance that a proof needs. So what must be
possible is asked of small populations first, without quantifiers (a *finite* universe, see ``universe``), and of all in
search of a finite model only where they have no example. A denial that is left open is asked again with instances taken
one after the other from all terms that there are, and then in search of a finite model, which would refute it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path

from fencepost_model.contract import Contract
from fencepost_model.shapes import Operation
from fencepost_verification.evidence import Held, Refuted, Unknown, Verdict
from fencepost_verification.prove import smt
from fencepost_verification.prove.cvc5_session import Cvc5Session, Looking
from fencepost_verification.prove.obligations import (
    Attempt,
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
from fencepost_verification.prove.progress import WaysOn
from fencepost_verification.prove.prover import BY_FRAME, UNBOUNDED, VACUOUS, Proof
from fencepost_verification.prove.smt import Answer, Formula
from fencepost_verification.prove.universe import Universe

BY_CVC5 = f"proved by cvc5 {UNBOUNDED}"
_HEAD = "(set-option :incremental true)\n(set-logic ALL)\n"


@dataclass(frozen=True)
class Query:
    """One obligation as a question. ``denial`` must be impossible, or possible where ``wanted`` says so.

    ``possible`` is what the obligation supposes beside its section's hypothesis: that its entities are there.
    ``example`` is the denial as it reads in a small population, where it has to be possible.
    """

    obligation: str
    kind: Kind
    transition: str | None
    statement: str | None
    denial: Formula
    possible: Formula = True
    wanted: Answer = Answer.UNSATISFIABLE
    framed: bool = False
    example: Formula = False

    @property
    def asked(self) -> bool:
        """Whether there is anything to ask: not when the step touches nothing that the statement reads."""
        return not (self.framed and self.denial is False)


@dataclass(frozen=True)
class Section:
    """Obligations with one hypothesis. ``everything`` says that all entities are there.

    ``of_few`` is the hypothesis as it reads in a small population; the same where no term quantifies. ``shared`` and
    ``shared_few`` are what both begin with, where other sections suppose it too.
    """

    name: str
    hypothesis: tuple[Formula, ...]
    everything: Formula
    queries: tuple[Query, ...]
    of_few: tuple[Formula, ...]
    shared: tuple[Formula, ...] = ()
    shared_few: tuple[Formula, ...] = ()

    @cached_property
    def _formulas(self) -> tuple[Formula, ...]:
        said = (formula for query in self.queries for formula in (query.denial, query.possible))
        return (*self.hypothesis, self.everything, *said)

    @cached_property
    def head(self) -> str:
        """The declarations and the hypothesis."""
        return _head(self.hypothesis, self._formulas)

    def more(self, declared: Container[str], *, few: bool) -> str:
        """What the head tells beyond what is shared, to a session that knows so many declarations already."""
        hypothesis, shared, formulas = self.hypothesis, self.shared, self._formulas
        if few:
            said = (formula for query in self.queries for formula in (query.example, query.possible))
            hypothesis, shared, formulas = self.of_few, self.shared_few, (*self.of_few, self.everything, *said)
        new = [line for line in smt.declarations(formulas).splitlines() if line not in declared]
        supposed = [_assertion(formula) for formula in hypothesis[len(shared) :] if formula is not True]
        return "\n".join((*new, *supposed, ""))

    def script(self) -> str:
        """One script for all: first whether the hypothesis can be true, then a question for each obligation."""
        questions = [_question(f"the hypothesis of {self.name} is possible", self.everything)]
        questions += [_question(query.obligation, query.denial) for query in self.queries if query.asked]
        return self.head + "".join(questions)

    def alone(self, query: Query) -> str:
        """A script for one obligation: it asks whether what it supposes is possible, and then whether it can fail."""
        return (
            f"{_head(self.hypothesis, (*self.hypothesis, query.possible, query.denial))}"
            f"{_question(f'what is supposed by: {query.obligation}', query.possible)}"
            f"{_question(query.obligation, query.denial)}"
        )


def _head(hypothesis: Sequence[Formula], formulas: Sequence[Formula]) -> str:
    supposed = "\n".join(_supposed(formula) for formula in hypothesis if formula is not True)
    return f"{_HEAD}{smt.declarations(formulas)}{supposed}\n"


@lru_cache(maxsize=512)
def _supposed(formula: Formula) -> str:
    """An assertion that is written again and again: every transition supposes the same lawful state."""
    return _assertion(formula)


def _assertion(formula: Formula) -> str:
    return f"(assert {smt.written(formula)})"


def _question(name: str, formula: Formula) -> str:
    return f"; {name}\n(push 1)\n{_assertion(formula)}\n(check-sat)\n(pop 1)\n"


# --- what there is to ask ---------------------------------------------------------------------------------------------


def sections(contract: Contract) -> Iterator[Section]:
    """Every obligation of a contract that a solver decides, in the order in which ``prover`` decides them."""
    keys = keys_of(contract)
    universe = Universe(contract, keys, milliseconds=1)
    small = Universe(contract, keys, milliseconds=1, finite=True) if universe.quantified else universe
    everything = smt.conj(universe.present(universe.entities))
    lawful = (universe.background, *(said for _, said in universe.lawful))
    lawful_few = lawful if small is universe else (small.background, *(said for _, said in small.lawful))
    for beginning in beginnings(universe):
        rows = tuple(smt.implies(universe.there(key), said) for key, said in beginning.rows.items())
        goals = list(initial_goals(universe, beginning))
        hypothesis = (universe.background, *rows)
        queries = tuple(_query(universe, goal, frozenset()) for goal in goals)
        yield Section(beginning.name, hypothesis, everything, queries, hypothesis)

    def section(step: Step, of_few: Step) -> Section:
        goals = [*inductive_goals(universe, step, frame=True), *step_goals(universe, step)]
        queries = tuple(_query(universe, goal, step.keys) for goal in goals)
        return Section(
            step.name,
            (*lawful, step.hypothesis),
            everything,
            queries,
            (*lawful_few, of_few.hypothesis),
            lawful,
            lawful_few,
        )

    steps = [(tick_of(universe), tick_of(small))]
    yield section(*steps[0])
    for operation in contract.operations:
        call, of_few = called(universe, operation), called(small, operation)
        queries = tuple(_query(universe, goal, call.keys) for goal in case_goals(call))
        supposed, supposed_few = (*lawful, call.allowed()), (*lawful_few, of_few.allowed())
        yield Section(operation.name, supposed, everything, queries, supposed_few, lawful, lawful_few)
        for case in operation.cases:
            steps.append((step_of(universe, call, case), step_of(small, of_few, case)))
            yield section(*steps[-1])
    occurrences = tuple(_occurrences(universe, small, steps))
    yield Section("what is supposed occurs", lawful, everything, occurrences, lawful_few, lawful, lawful_few)
    for progress in contract.progress:
        ways = WaysOn(universe, progress)
        present = smt.conj(universe.present(ways.keys))
        name = f"{progress.name}: {' or '.join(progress.bound)}"
        denial = smt.conj((present, ways.none_ever()))
        query = Query(name, Kind.PROGRESS, None, progress.name, denial, present)
        few = (*lawful_few, WaysOn(small, progress).supposed())
        supposed = (*lawful, ways.supposed())
        yield Section(progress.name, supposed, present, (query,), few, lawful, lawful_few)


def _query(universe: Universe, goal: Goal, keys: frozenset[str]) -> Query:
    """A goal as one question: some attempt succeeds, all its entities being there."""
    about = None if isinstance(goal.statement, Operation) else goal.statement.name
    there = [_present(universe, keys, attempt) for attempt in goal.attempts]
    denied = [smt.conj((here, a.asked)) for here, a in zip(there, goal.attempts, strict=True) if a.asked is not False]
    possible = smt.disj(there) if there else smt.conj(universe.present(keys or {universe.contract.root.name}))
    framed = bool(goal.framed) and not goal.attempts
    return Query(goal.name, goal.kind, goal.transition, about, smt.disj(denied), possible, framed=framed)


def _present(universe: Universe, keys: frozenset[str], attempt: Attempt) -> Formula:
    return smt.conj(universe.present(keys | set(attempt.placement.values())))


def _occurrences(universe: Universe, small: Universe, steps: Sequence[tuple[Step, Step]]) -> Iterator[Query]:
    """What statements suppose, in a lawful state or in one of the steps."""
    for supposition in all_suppositions(universe.contract):
        in_steps = needs_step(supposition.term)
        denial = _occurrence(universe, supposition, [step for step, _ in steps] if in_steps else [None])
        example = _occurrence(small, supposition, [of_few for _, of_few in steps] if in_steps else [None])
        name = f"what {supposition.statement.name} supposes occurs ({supposition.number})"
        statement = supposition.statement.name
        yield Query(name, Kind.OCCURS, None, statement, denial, wanted=Answer.SATISFIABLE, example=example)


def _occurrence(universe: Universe, supposition: Supposition, steps: Sequence[Step | None]) -> Formula:
    ways: list[Formula] = []
    for step in steps:
        keys = step.keys if step is not None else frozenset[str]()
        supposed = step.hypothesis if step is not None else True
        ways.extend(
            smt.conj((_present(universe, keys, attempt), supposed, attempt.asked))
            for attempt in supposition.occurrences(universe, step)
        )
    return smt.disj(ways)


# --- a second opinion -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Opinion:
    """What cvc5 says of one obligation, called as ``prover`` calls it; ``seconds`` is a share of its section's."""

    name: str
    kind: Kind
    transition: str | None
    statement: str | None
    verdict: Verdict
    seconds: float


@dataclass
class _Asked:
    """Opinions as they come, and the sessions that one section leaves to the next."""

    milliseconds: int
    found: list[Opinion] = field(default_factory=list[Opinion])
    sessions: dict[tuple[int, Looking], _Session] = field(default_factory=dict[tuple[int, Looking], "_Session"])

    def section(self, section: Section) -> None:
        began = time.perf_counter()
        verdicts = _opinions(section, self)
        share = (time.perf_counter() - began) / max(1, len(verdicts))
        self.found.extend(
            Opinion(query.obligation, query.kind, query.transition, query.statement, verdict, share)
            for query, verdict in verdicts
        )

    def session(self, shared: tuple[Formula, ...], looking: Looking) -> _Session:
        """The session that has been told what sections share."""
        known = self.sessions.get((id(shared), looking))
        if known is None:
            known = self.sessions[(id(shared), looking)] = _Session(shared, Cvc5Session(self.milliseconds, looking))
        return known


class _Session:
    """A session of cvc5 that knows what several sections share; what one of them adds is forgotten again."""

    def __init__(self, shared: tuple[Formula, ...], session: Cvc5Session) -> None:
        self.shared = shared
        self._session = session
        declarations = smt.declarations(shared)
        self.declared = frozenset(declarations.splitlines())
        supposed = "\n".join(_supposed(formula) for formula in shared if formula is not True)
        session.run(f"{_HEAD}{declarations}{supposed}\n")

    def begin(self, more: str) -> None:
        """Suppose more, for a while."""
        self._session.run(f"(push 1)\n{more}")

    def ask(self, formula: Formula) -> Answer:
        """Whether a formula is possible beside."""
        (answer,) = self._session.run(_question("possible", formula))
        return answer

    def end(self) -> None:
        """Forget what was supposed since ``begin``."""
        self._session.run("(pop 1)\n")


def _opinions(section: Section, asked: _Asked) -> list[tuple[Query, Verdict]]:
    asking = _Asking(section, asked)
    possible = asking.possible(section.everything, section.everything)
    verdicts: list[tuple[Query, Verdict]] = []
    for query in section.queries:
        told = query.statement or query.obligation
        if query.wanted is Answer.SATISFIABLE:
            verdicts.append((query, _verdict(query, told, asking.possible(query.example, query.denial), possible)))
            continue
        answer = asking.denied(query.denial) if query.asked else Answer.UNSATISFIABLE
        supposed = possible
        if possible is not Answer.SATISFIABLE:
            # With all entities there at once it cannot be, or is not known to be: perhaps with those of this one.
            supposed = asking.possible(query.possible, query.possible)
        verdicts.append((query, _verdict(query, told, answer, supposed)))
    asking.end()
    return verdicts


class _Asking:
    """The questions of one section, each put to one session after another until one has an answer."""

    def __init__(self, section: Section, asked: _Asked) -> None:
        self._section = section
        self._asked = asked
        self._open: dict[tuple[Looking, bool], _Session] = {}
        self._known: dict[Formula, Answer] = {}

    def end(self) -> None:
        """Leave the sessions as they were found."""
        for session in self._open.values():
            session.end()

    def possible(self, of_few: Formula, formula: Formula) -> Answer:
        """Whether a formula is possible under the section's hypothesis; each is asked once."""
        if formula not in self._known:
            self._known[formula] = self._possible(of_few, formula)
        return self._known[formula]

    def denied(self, formula: Formula) -> Answer:
        """Whether a formula is possible that should not be."""
        return self._first(formula, Looking.FOR_REASONS, Looking.EVERYWHERE, Looking.FOR_FEW)

    def _possible(self, of_few: Formula, formula: Formula) -> Answer:
        if self._section.shared_few is self._section.shared:
            return self._first(formula, Looking.FOR_REASONS, Looking.FOR_FEW)
        if self._session(Looking.FOR_REASONS, few=True).ask(of_few) is Answer.SATISFIABLE:
            return Answer.SATISFIABLE
        return self._first(formula, Looking.FOR_FEW, Looking.EVERYWHERE)

    def _first(self, formula: Formula, *ways: Looking) -> Answer:
        for looking in ways:
            answer = self._session(looking, few=False).ask(formula)
            if answer is not Answer.UNKNOWN:
                return answer
        return Answer.UNKNOWN

    def _session(self, looking: Looking, *, few: bool) -> _Session:
        """The session, which has been told the section's hypothesis."""
        if (looking, few) not in self._open:
            shared = self._section.shared_few if few else self._section.shared
            session = self._open[(looking, few)] = self._asked.session(shared, looking)
            session.begin(self._section.more(session.declared, few=few))
        return self._open[(looking, few)]


def _verdict(query: Query, told: str, answer: Answer, supposed: Answer) -> Verdict:
    if query.wanted is Answer.SATISFIABLE:
        if answer is Answer.SATISFIABLE:
            return Held(told, "a model of cvc5")
        reason = f"{VACUOUS}: cvc5 finds that it cannot be" if answer is Answer.UNSATISFIABLE else "cvc5 gave up"
        return Unknown(told, f"{query.obligation}: {reason}")
    if supposed is Answer.UNSATISFIABLE:
        return Unknown(told, f"{VACUOUS}: what {query.obligation!r} supposes is impossible")
    if answer is Answer.SATISFIABLE:
        return Refuted(told, f"{query.obligation}: cvc5 finds a lawful state from which it fails")
    if answer is Answer.UNKNOWN or supposed is Answer.UNKNOWN:
        return Unknown(told, f"{query.obligation}: cvc5 gave up")
    return Held(told, BY_FRAME if not query.asked else BY_CVC5)


def second_opinion(
    contract: Contract,
    progress: Callable[[str, int], None] | None = None,
    *,
    about: Container[str] | None = None,
    milliseconds: int = 10_000,
) -> list[Opinion]:
    """What cvc5 says of every obligation of a contract that a solver decides (contract §2 rules, §3).

    ``progress`` is told the name of each section when it is done, and the number of obligations so far. ``about``
    names the statements to which it is restricted. ``milliseconds`` bounds each question. Legacy rows are evaluated,
    not asked for, and have no second opinion.
    """
    asked = _Asked(milliseconds)
    for section in sections(contract):
        if about is not None:
            kept = tuple(query for query in section.queries if query.statement is not None and query.statement in about)
            section = replace(section, queries=kept)
        if not section.queries:
            continue
        asked.section(section)
        if progress is not None:
            progress(section.name, len(asked.found))
    return asked.found


def disagreements(proof: Proof, opinions: Sequence[Opinion]) -> list[Verdict]:
    """Where the two solvers do not say the same, as verdicts: none when they agree on every obligation.

    Refuted where one says that an obligation holds by induction and the other that it does not; unknown where only one
    of them has an answer, or an obligation is missing from one side.
    """
    first = {o.name: o for o in proof.obligations if o.kind is not Kind.LEGACY_ROW}
    second = {opinion.name: opinion for opinion in opinions}
    found: list[Verdict] = []
    for name in (*first, *(name for name in second if name not in first)):
        if name not in first or name not in second:
            found.append(Unknown(name, "one of the solvers was not asked"))
            continue
        z3, other = first[name], second[name]
        fails = z3.label is not None
        if isinstance(z3.verdict, Held) and isinstance(other.verdict, Refuted):
            found.append(Refuted(name, "z3 proves it, cvc5 finds that it fails"))
        elif fails and isinstance(other.verdict, Held):
            found.append(Refuted(name, "cvc5 proves it, z3 finds that it fails"))
        elif isinstance(z3.verdict, Held) is not isinstance(other.verdict, Held):
            found.append(Unknown(name, f"only one of the solvers has an answer: {_reason(z3.verdict, other.verdict)}"))
    return found


def _reason(*verdicts: Verdict) -> str:
    return "; ".join(verdict.reason for verdict in verdicts if not isinstance(verdict, Held))


# --- files ------------------------------------------------------------------------------------------------------------


def write(contract: Contract, directory: Path) -> Mapping[str, Path]:
    """Write one script a section into a directory, which is made; the paths by the names of the sections."""
    directory.mkdir(parents=True, exist_ok=True)
    paths: dict[str, Path] = {}
    for number, section in enumerate(sections(contract), start=1):
        plain = "".join(letter if letter.isalnum() else "_" for letter in section.name)
        path = directory / f"{number:03d}_{plain}.smt2"
        path.write_text(section.script(), encoding="utf-8")
        paths[f"{number:03d} {section.name}"] = path
    return paths
