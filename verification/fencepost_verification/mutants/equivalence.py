"""Proves that a mutant does what the contract does: in every lawful state it allows the same, and ends the same.

A mutant that no statement notices is either *equivalent*, or the statements of the contract are too weak. Which of the
two it is, the solver says: for arbitrary rows that satisfy all invariants, arbitrary settings, arguments and time, is
there a call that the two would treat differently? A guard that others imply, or an effect that assigns what is there
already, makes none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fencepost_model.contract import Contract
from fencepost_model.shapes import Case, Invariant, StepProperty
from fencepost_verification.mutants.making import Mutant
from fencepost_verification.prove import smt
from fencepost_verification.prove.encoding import formula_of, identical
from fencepost_verification.prove.obligations import (
    Call,
    Effects,
    Step,
    call_in,
    called,
    effects,
    keys_of,
    obeyed_placements,
    step_of,
    step_scope,
)
from fencepost_verification.prove.smt import Answer, Formula
from fencepost_verification.prove.universe import Placement, Universe, keys_changed, placements


def lawful_universe(contract: Contract, keys: Iterable[str], milliseconds: int) -> Universe:
    """The entities so named in an arbitrary lawful state, with a solver that knows nothing else."""
    universe = Universe(contract, keys, milliseconds=milliseconds)
    universe.solver.tell(universe.background, *(said for _, said in universe.lawful))
    return universe


class Comparison:
    """A contract, prepared to be compared with its mutants. ``milliseconds`` bounds each question to the solver."""

    def __init__(self, contract: Contract, *, milliseconds: int = 10_000) -> None:
        self._contract = contract
        keys = {key for operation in contract.operations for key in keys_changed(contract, operation)}
        self._universe = lawful_universe(contract, keys, milliseconds)
        self._solver = self._universe.solver
        self._calls: dict[str, Call] = {}

    def same(self, mutant: Mutant) -> bool | None:
        """Whether the mutant treats every call as the contract does; None when the solver gives up."""
        original = self._call(mutant.operation)
        other = call_in(original.scope, mutant.contract.operation(mutant.operation), original.placement)
        differs = [smt.neg(smt.iff(original.enabled(), other.enabled()))]
        for one in original.operation.cases:
            for two in other.operation.cases:
                if (one.effect, one.also) != (two.effect, two.also):
                    both = (original.allowed(), original.takes(one.name), other.allowed(), other.takes(two.name))
                    differs.append(smt.conj((*both, self._ends_differ(original, one, other, two))))
        self._solver.push()
        self._solver.tell(original.arguments, smt.disj(differs))
        answer = self._solver.ask(*self._universe.present(original.keys))
        self._solver.pop()
        return None if answer is Answer.UNKNOWN else answer is Answer.UNSATISFIABLE

    def _call(self, operation: str) -> Call:
        if operation not in self._calls:
            self._calls[operation] = called(self._universe, self._contract.operation(operation))
        return self._calls[operation]

    def _ends_differ(self, call: Call, one: Case, other_call: Call, two: Case) -> Formula:
        """Some field of some entity that is there ends differently."""
        first = effects(call, one, self._universe)
        second = effects(other_call, two, self._universe)
        entities = list(self._universe.entities.values())
        places = {**first.places(entities), **second.places(entities)}

        def differ(key: str, name: str, ends: tuple[Effects, Effects]) -> Formula:
            entity = places[(key, name)]
            same = identical(ends[0].read(entity, name), ends[1].read(entity, name))
            return smt.conj((*self._universe.present((key,)), smt.neg(same)))

        return smt.disj([differ(key, name, (first, second)) for key, name in sorted(places)])


class Suspicion:
    """Tells quickly whether a mutant could break one statement at all: whether induction fails for it.

    What the solver rules out need not be explored. What it suspects may still be unreachable.
    """

    def __init__(self, contract: Contract, *, milliseconds: int = 2_000) -> None:
        self._contract = contract
        self._universe = lawful_universe(contract, keys_of(contract), milliseconds)
        self._solver = self._universe.solver

    def of(self, mutant: Mutant, statement: Invariant | StepProperty) -> bool:
        """Whether some lawful step of the mutated operation may break the statement; true where the solver gives up."""
        operation = mutant.contract.operation(mutant.operation)
        call = called(self._universe, operation)
        for case in operation.cases:
            if mutant.case not in (None, case.name):
                continue
            step = step_of(self._universe, call, case)
            for placement, broken in self._broken(step, statement):
                self._solver.push()
                self._solver.tell(step.hypothesis, broken)
                answer = self._solver.ask(*self._universe.present(step.keys | set(placement.values())))
                self._solver.pop()
                if answer is not Answer.UNSATISFIABLE:
                    return True
        return False

    def _broken(self, step: Step, statement: Invariant | StepProperty) -> Iterator[tuple[Placement, Formula]]:
        universe = self._universe
        if isinstance(statement, StepProperty):
            for placement in obeyed_placements(universe, step, statement):
                scope = step_scope(universe, step, statement, placement)
                yield placement, smt.neg(formula_of(statement.statement, scope))
            return
        for placement in placements(self._contract, statement.over, step.keys):
            scope = universe.scope(universe.binding(placement), before=step.after, clock=step.clock_after)
            yield placement, smt.neg(formula_of(statement.statement, scope))
