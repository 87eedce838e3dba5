"""Which statements fall and which rise: what each contract promises, proved of the other one.

A statement *falls* when it is proved of the old contract and false of the new one; it *rises* when it is proved of the
new one and was false of the old. Both are asked of every invariant, step property and progress statement of either
side, whether or not the other side says it: a promise that was dropped or reworded may hold all the same, and one that
was kept may have come to be false.

A proof by induction may suppose every invariant at once. So the invariants of both sides are proved of a contract
together, and when one of them fails, it is taken out and the rest is proved anew, until all that is left holds. What is
refuted on the way is refuted by a run, whatever was supposed; what was merely not proved is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias

from fencepost_model.contract import Contract, complaints
from fencepost_model.shapes import Field, Invariant, Machine, Progress, StepProperty, Variable
from fencepost_model.terms import FieldOf, Not, OneOf
from fencepost_verification.documents.wording import normalised
from fencepost_verification.evidence import Held, Refuted, Trace, Unknown, Verdict
from fencepost_verification.prove.prover import Proof, prove

Statement: TypeAlias = Invariant | StepProperty | Progress

APART = "_as_of_old"
"""Tells the old side's statement apart where both sides have one of its name that says something else."""


class Fate(Enum):
    """What became of a statement."""

    FALLS = "falls"
    RISES = "rises"
    STAYS = "stays"
    FALSE = "false of both"
    UNSAID = "cannot be said of one side"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Judged:
    """A statement with its verdicts on both contracts; where one cannot be said of a side, the reason stands there.

    ``of`` tells whose it is: ``old``, ``new`` or ``both``. ``obligations`` are the names of those that fail.
    """

    name: str
    kind: str
    of: str
    meaning: str
    old: Verdict | str
    new: Verdict | str
    obligations: tuple[str, ...] = ()

    @property
    def fate(self) -> Fate:
        """What became of it."""
        match self.old, self.new:
            case (str(), _) | (_, str()):
                return Fate.UNSAID
            case (Held(), Held()):
                return Fate.STAYS
            case (Held(), Refuted()):
                return Fate.FALLS
            case (Refuted(), Held()):
                return Fate.RISES
            case (Refuted(), Refuted()):
                return Fate.FALSE
            case _:
                return Fate.UNKNOWN

    @property
    def trace(self) -> Trace | None:
        """The run that breaks it, of the side on which it is false; on both, that of the new one."""
        for verdict in (self.new, self.old):
            if isinstance(verdict, Refuted) and verdict.trace is not None:
                return verdict.trace
        return None

    @property
    def reason(self) -> str:
        """Why it does not simply stay, in words; empty when it does."""
        told: list[str] = []
        for side, verdict in (("old", self.old), ("new", self.new)):
            if isinstance(verdict, str):
                told.append(f"{side}: {verdict}")
            elif not isinstance(verdict, Held):
                told.append(f"{side}: {verdict.reason}")
        return "; ".join(told).replace(APART, "")


def judged(old: Contract, new: Contract) -> tuple[Judged, ...]:
    """Every statement of either contract, on both."""
    mine, theirs = statements_of(old), statements_of(new)
    asked: list[tuple[str, Statement]] = []
    for name, statement in theirs.items():
        asked.append(("both" if name in mine and _alike(mine[name], statement) else "new", statement))
    asked += [("old", s) for name, s in mine.items() if name not in theirs or not _alike(s, theirs[name])]
    # Two statements may share a name and say different things: each is asked under a name of its own.
    renamed = {
        (of, s.name): replace(s, name=f"{s.name}{APART}" if of == "old" and s.name in theirs else s.name)
        for of, s in asked
    }
    on_new = _Verdicts(new, old, tuple(renamed.values()))
    on_old = on_new if _behaviour(old) == _behaviour(new) else _Verdicts(old, new, tuple(renamed.values()))
    found: list[Judged] = []
    for of, statement in asked:
        name = renamed[(of, statement.name)].name
        failing = dict.fromkeys((*on_new.failing.get(name, ()), *on_old.failing.get(name, ())))
        obligations = tuple(obligation.replace(APART, "") for obligation in failing)
        kind = _KINDS[type(statement)]
        found.append(Judged(statement.name, kind, of, statement.meaning, on_old.of(name), on_new.of(name), obligations))
    return tuple(found)


def _behaviour(contract: Contract) -> object:
    """All on which a proof depends, beside the statements."""
    return contract.machines, contract.operations, contract.settings, contract.settings_assumed


_KINDS: Mapping[type[Statement], str] = {
    Invariant: "invariant",
    StepProperty: "step property",
    Progress: "progress",
}


def statements_of(contract: Contract) -> dict[str, Statement]:
    """The statements of a contract that are proved, by name."""
    listed: tuple[Statement, ...] = (*contract.invariants, *contract.step_properties, *contract.progress)
    return {statement.name: statement for statement in listed}


def _alike(one: Statement, other: Statement) -> bool:
    """Whether two statements say the same, apart from their prose."""
    return type(one) is type(other) and _bare(one) == _bare(other)


def _bare(statement: Statement) -> Statement:
    match statement:
        case Progress():
            bound = tuple(sorted(statement.bound))
            return replace(statement, live=normalised(statement.live), bound=bound, clause="", meaning="")
        case Invariant() | StepProperty():
            return replace(statement, statement=normalised(statement.statement), clause="", meaning="")


def _with_words_of(contract: Contract, other: Contract) -> tuple[Contract, list[Statement]]:
    """A contract that says nothing of itself and knows the words of the other one too, which no field of it holds.

    So a statement that excludes a status which is new can be made of a contract that lacks it. The invariants that go
    with it say that the words are not held.
    """
    theirs = {(m.name, f.name): f.words for m in other.machines for f in m.fields}
    said: list[Statement] = []

    def extended(machine: Machine) -> Machine:
        fields: list[Field] = []
        for field in machine.fields:
            strange = tuple(word for word in theirs.get((machine.name, field.name), ()) if word not in field.words)
            if field.words and strange:
                over = _path_to(contract, machine.name)
                unheld = Not(OneOf(FieldOf(machine.name, field.name), strange))
                name = f"{machine.name}_{field.name}_takes_its_own_words"
                said.append(Invariant(name, "", over, unheld, "It holds no word of the other contract."))
                field = replace(field, words=(*field.words, *strange))
            fields.append(field)
        return replace(machine, fields=tuple(fields))

    machines = tuple(extended(machine) for machine in contract.machines)
    return replace(
        contract, machines=machines, invariants=(), step_properties=(), progress=(), witnesses=(), checked=False
    ), said


def _path_to(contract: Contract, machine: str) -> tuple[Variable, ...]:
    """Variables from the root down to a machine, each called as its machine is."""
    parent = contract.machine(machine).belongs_to
    above = _path_to(contract, parent) if parent is not None else ()
    return (*above, Variable(machine, machine, parent))


class _Verdicts:
    """What is true of one contract among some statements, which may use the words of the other one."""

    def __init__(self, contract: Contract, other: Contract, statements: tuple[Statement, ...]) -> None:
        self.failing: dict[str, list[str]] = {}
        self._found: dict[str, Verdict | str] = {}
        bare, sayable = _with_words_of(contract, other)
        for statement in statements:
            complaint = next(_complaints(bare, statement), None)
            if complaint is None:
                sayable.append(statement)
            else:
                self._found[statement.name] = complaint
        self._prove(bare, sayable)

    def of(self, name: str) -> Verdict | str:
        """The verdict on a statement, or why it cannot be said."""
        return self._found[name]

    def _prove(self, bare: Contract, statements: list[Statement]) -> None:
        left = list(statements)
        while left:
            proof = prove(_with(bare, left))
            open_ones = {s.name: verdict for s in left if not isinstance(verdict := _verdict(proof, s.name), Held)}
            self._found |= open_ones
            for name in open_ones:
                self.failing[name] = [o.name for o in proof.about(name) if not isinstance(o.verdict, Held)]
            # Others may have leant on an invariant that is none; on a step property nothing leans.
            fallen = [s for s in left if s.name in open_ones and isinstance(s, Invariant)]
            if not fallen:
                self._found |= {s.name: _verdict(proof, s.name) for s in left if s.name not in open_ones}
                return
            left = [s for s in left if s.name not in open_ones]


def _complaints(bare: Contract, statement: Statement) -> Iterator[str]:
    """Why a statement cannot be made about a contract: it speaks of something that is not there."""
    # One operation at most is needed, whose cases are then looked at for overlaps.
    needed: frozenset[str]
    match statement:
        case StepProperty(of=str(of)):
            needed = frozenset({of})
        case Progress(bound=bound):
            needed = frozenset(bound)
        case _:
            needed = frozenset()
    about = replace(bare, operations=tuple(o for o in bare.operations if o.name in needed))
    named = repr(statement.name)
    return (complaint for complaint in complaints(_with(about, [statement])) if named in complaint)


def _with(bare: Contract, statements: list[Statement]) -> Contract:
    """A contract that makes just these statements."""
    return replace(
        bare,
        invariants=tuple(s for s in statements if isinstance(s, Invariant)),
        step_properties=tuple(s for s in statements if isinstance(s, StepProperty)),
        progress=tuple(s for s in statements if isinstance(s, Progress)),
    )


def _verdict(proof: Proof, name: str) -> Verdict:
    """The verdict over all obligations about a statement."""
    verdicts = [obligation.verdict for obligation in proof.about(name)]
    for kind in (Refuted, Unknown):
        for verdict in verdicts:
            if isinstance(verdict, kind):
                return verdict
    if not verdicts:
        return Unknown(name, "there is no obligation about it")
    return Held(name, f"{len(verdicts)} obligations")
