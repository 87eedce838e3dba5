"""Verdicts and traces: what every check in this package answers with.

A verdict is *held*, *refuted* (with a trace, or a reason where no trace applies) or *unknown* (with the reason).
Unknown is never green: it has its own exit code, and no report may fold it into held.

A trace is a list of steps from an initial state. Nobody builds one by hand: ``replayed`` evaluates the calls with the
plain semantics, so that a trace which is shown is one that the model itself can walk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from fencepost_model.contract import transition_name
from fencepost_model.semantics import Accepted, Call, Refused, Semantics, State

EXIT_HELD, EXIT_REFUTED, EXIT_USAGE, EXIT_UNKNOWN = 0, 1, 2, 3


class ReplayFailed(AssertionError):
    """A reported trace is not one that the model can walk: two readings of the model disagree."""


@dataclass(frozen=True, slots=True)
class Tick:
    """Time passes by so many seconds."""

    seconds: float | int


@dataclass(frozen=True, slots=True)
class Taken:
    """A call of which the case is named, for mutants whose cases overlap."""

    call: Call
    case: str


Move: TypeAlias = Call | Taken | Tick


@dataclass(frozen=True)
class Step:
    """One step of a trace: who moves (``clock`` for time), what it is called, and the states on both sides.

    ``transition`` is the transition's name; ``refused`` holds the false guards of a call that changed nothing.
    """

    actor: str
    transition: str
    move: Move
    before: State
    after: State
    refused: frozenset[str] = frozenset()

    @property
    def label(self) -> str:
        """``actor:transition``, or the transition alone for time and for what no worker does."""
        return self.transition if self.actor in ("clock", "client", "system") else f"{self.actor}:{self.transition}"


@dataclass(frozen=True)
class Trace:
    """A run of the model from an initial state."""

    semantics: Semantics
    start: State
    steps: tuple[Step, ...]

    @property
    def end(self) -> State:
        """The last state."""
        return self.steps[-1].after if self.steps else self.start

    def __str__(self) -> str:
        return " ; ".join(step.label for step in self.steps) or "(initial state)"


def joined(statement: str, verdicts: Iterable[Verdict], *, held: Callable[[int], str], nothing: str) -> Verdict:
    """Several verdicts as one: a refutation before what is open, held if all are; without any, unknown.

    ``held`` says on what the whole rests, for so many verdicts; ``nothing`` why there is none.
    """
    each = list(verdicts)
    for worst in (Refuted, Unknown):
        for verdict in each:
            if isinstance(verdict, worst):
                return verdict
    return Held(statement, held(len(each))) if each else Unknown(statement, nothing)


def actor_of(semantics: Semantics, call: Call) -> str:
    """Who takes a step, for people: the label of the execution that calls, else the kind of actor."""
    operation = semantics.contract.operation(call.operation)
    after_subject = operation.over.index(operation.subject) + 1
    for variable in operation.over[after_subject:]:
        return semantics.population.slots[call.binding[variable.name]].label
    return operation.actor.value


def replayed(semantics: Semantics, start: State, moves: Iterable[Move], *, may_be_refused: bool = False) -> Trace:
    """Walk the moves by plain evaluation.

    Raises ``ReplayFailed`` when a call is refused (unless ``may_be_refused``): what produced the moves then disagrees
    with the model.
    """
    steps: list[Step] = []
    state = after = start
    for move in moves:
        if isinstance(move, Tick):
            after = semantics.advance(state, move.seconds)
            steps.append(Step("clock", "tick", move, state, after))
        elif isinstance(move, Taken):
            operation = semantics.contract.operation(move.call.operation)
            false = semantics.false_guards(state, move.call)
            open_cases = {case.name: case for case in semantics.cases(state, move.call)}
            if false or move.case not in open_cases:
                why = ", ".join(sorted(false)) or f"case {move.case} is not open"
                raise ReplayFailed(f"{operation.name} is refused: {why}")
            case = open_cases[move.case]
            after = semantics.apply(state, move.call, case)
            actor = actor_of(semantics, move.call)
            steps.append(Step(actor, transition_name(operation, case), move, state, after))
        else:
            outcome = semantics.attempt(state, move)
            actor = actor_of(semantics, move)
            match outcome:
                case Accepted(case, after):
                    name = transition_name(semantics.contract.operation(move.operation), case)
                    steps.append(Step(actor, name, move, state, after))
                case Refused(guards):
                    if not may_be_refused:
                        raise ReplayFailed(f"{actor}:{move.operation} is refused by {', '.join(sorted(guards))}")
                    steps.append(Step(actor, move.operation, move, state, state, guards))
                    after = state
        state = after
    return Trace(semantics, start, tuple(steps))


@dataclass(frozen=True)
class Held:
    """The statement holds; ``how`` says on what ground (unbounded, so many states, so many calls)."""

    statement: str
    how: str


@dataclass(frozen=True)
class Refuted:
    """The statement is false; ``trace`` shows it where a run can."""

    statement: str
    reason: str
    trace: Trace | None = None


@dataclass(frozen=True)
class Unknown:
    """The statement is not established; the reason says what is missing."""

    statement: str
    reason: str


Verdict: TypeAlias = Held | Refuted | Unknown


def exit_code(verdicts: Sequence[Verdict]) -> int:
    """0 when all are held, 1 when one is refuted, else 3; no verdict at all is unknown, never held."""
    if any(isinstance(verdict, Refuted) for verdict in verdicts):
        return EXIT_REFUTED
    if not verdicts or any(isinstance(verdict, Unknown) for verdict in verdicts):
        return EXIT_UNKNOWN
    return EXIT_HELD
