"""Tells why a conjunct may be left out: what implies it, or a row on which it alone refuses.

A guard that the other guards and the invariants imply is redundant in every lawful state, reachable or not; dropping it
adds no step from such a state, hence the invariants stay inductive without it, also those that imply it. Which ones do
is found by leaving names out until none can be spared.

Not implied does not mean needed: the row that the solver shows satisfies all invariants but need not be reachable, and
what the conjunct refuses there might do no harm. That is for a search of runs to say. One kind of harmlessness can be
decided here: the steps that a dropped conjunct would admit change nothing, or end as another case would end them.

One ``Redundancy`` is made for a contract and asked for each conjunct: it keeps its solver.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from fencepost_model.contract import Contract
from fencepost_model.semantics import Call as PlainCall
from fencepost_model.shapes import Case, Operation
from fencepost_model.terms import AllOf, TruthTerm, holds
from fencepost_verification.prove import smt
from fencepost_verification.prove.counterexamples import (
    Concrete,
    Counterexample,
    ReadingsDisagree,
    arguments,
    concrete,
    insist_on_laws,
    insist_on_profile,
    readable,
    whole_numbers,
)
from fencepost_verification.prove.encoding import NoBinaryFraction, Rows, identical
from fencepost_verification.prove.obligations import Call, Effects, called, effects
from fencepost_verification.prove.smt import Answer, Expression, Formula
from fencepost_verification.prove.sorts import call_well_formed
from fencepost_verification.prove.universe import Universe, keys_changed


@dataclass(frozen=True)
class Implied:
    """The conjunct follows from these, and from no proper part of them.

    ``guards`` are guards of the operation, ``conditions`` further conditions of the case, ``invariants`` invariants of
    the contract or ``well_formed(MACHINE)``. What is assumed of settings and arguments is not named.
    """

    guards: tuple[str, ...]
    conditions: tuple[str, ...]
    invariants: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, guards first."""
        return (*self.guards, *self.conditions, *self.invariants)


@dataclass(frozen=True)
class NotImplied:
    """A lawful state and a call on which this conjunct alone is false, seen so by plain evaluation."""

    counterexample: Counterexample


@dataclass(frozen=True)
class Undecided:
    """Neither was established; the reason says why."""

    reason: str


@dataclass(frozen=True)
class Irrelevant:
    """What the dropped conjunct would admit ends in the state in which it ends anyway."""

    reason: str


@dataclass(frozen=True)
class Relevant:
    """A lawful state and a call that would end differently if the conjunct were dropped."""

    counterexample: Counterexample


Implication: TypeAlias = Implied | NotImplied | Undecided
Relevance: TypeAlias = Irrelevant | Relevant | Undecided


def implied_by(contract: Contract, operation: str, case: str | None, guard: str) -> Implication:
    """Whether a guard (``case`` None) or a condition of a case follows from its fellows and the invariants.

    For more than one conjunct of a contract make one ``Redundancy`` and ask that.
    """
    return Redundancy(contract).implied_by(operation, case, guard)


class Redundancy:
    """The conjuncts of a contract, prepared for questions. ``milliseconds`` bounds each question to the solver."""

    def __init__(self, contract: Contract, *, milliseconds: int = 10_000) -> None:
        self._contract = contract
        keys = {key for operation in contract.operations for key in keys_changed(contract, operation)}
        self._universe = Universe(contract, keys, milliseconds=milliseconds)
        self._solver = self._universe.solver
        self._solver.tell(self._universe.background)
        self._laws: dict[str, Expression] = {}
        for invariant, said in self._universe.lawful:
            self._laws[invariant.name] = self._named(f"law {invariant.name}", said)
        self._calls: dict[str, Call] = {}
        self._whole: dict[str, Expression] = {}

    def implied_by(self, operation: str, case: str | None, guard: str) -> Implication:
        """Whether a guard (``case`` None) or a condition of a case follows from its fellows and the invariants.

        Raises ``KeyError`` when the operation has no such conjunct, and ``ReadingsDisagree`` when plain evaluation
        contradicts the solver.
        """
        call, taken = self._call(operation), self._case(operation, case)
        conjunct = call.guards[guard] if taken is None else call.conditions[taken.name][guard]
        universe, solver = self._universe, self._solver
        solver.push()
        solver.tell(call.arguments)
        guards = {n: self._named(f"guard {n}", f) for n, f in call.guards.items() if taken is not None or n != guard}
        conditions = {
            n: self._named(f"condition {n}", f)
            for n, f in (call.conditions[taken.name].items() if taken is not None else ())
            if n != guard
        }
        present = universe.present(call.keys)
        fellows = [*guards.values(), *conditions.values(), *self._laws.values()]
        supposed = [*present, *fellows]
        verdict: Implication
        possible = solver.ask(*supposed)
        solver.tell(smt.neg(conjunct))
        answer = self._ask_in_whole_seconds(call, supposed) if possible is Answer.SATISFIABLE else possible
        if possible is Answer.UNSATISFIABLE:
            verdict = Undecided(f"vacuous: {operation} without {guard} is impossible under the invariants")
        elif answer is Answer.UNKNOWN:
            verdict = Undecided(f"the solver gave up: {solver.reason()}")
        elif answer is Answer.SATISFIABLE:
            seen = self._counterexample(call, taken, guard, supposed)
            verdict = Undecided(seen) if isinstance(seen, str) else NotImplied(seen)
        else:
            needed = {str(literal) for literal in self._minimal(present, fellows)}
            verdict = Implied(_of(guards, needed), _of(conditions, needed), _of(self._laws, needed))
        solver.pop()
        return verdict

    def step_irrelevant(self, operation: str, case: str | None, guard: str) -> Relevance:
        """Whether dropping a conjunct changes where any lawful state can lead.

        It does not where what it newly admits changes nothing (so that the refusal merely becomes an acceptance) or,
        for a condition, ends just as the case ends that is taken there now. Raises as ``implied_by`` does.
        """
        call, taken = self._call(operation), self._case(operation, case)
        universe, solver = self._universe, self._solver
        rest = [f for n, f in call.guards.items() if taken is not None or n != guard]
        dropped = call.guards[guard] if taken is None else call.conditions[taken.name][guard]
        cases = call.operation.cases if taken is None else (taken,)
        changed: list[Formula] = []
        for candidate in cases:
            admitted = [f for n, f in call.conditions[candidate.name].items() if taken is None or n != guard]
            after = effects(call, candidate, universe)
            now: list[Formula] = [smt.conj((self._none_open(call, taken), self._differ(after, universe, after)))]
            for other in call.operation.cases:
                if taken is not None and other.name != taken.name:
                    ends = effects(call, other, universe)
                    now.append(smt.conj((call.takes(other.name), self._differ(after, ends, after, ends))))
            changed.append(smt.conj((*admitted, smt.disj(now))))
        solver.push()
        solver.tell(call.arguments, *rest, smt.neg(dropped))
        present = [*universe.present(call.keys), *self._laws.values()]
        admits = solver.ask(*present)
        solver.tell(smt.disj(changed))
        answer = solver.ask(*present)
        verdict: Relevance
        if answer is Answer.UNKNOWN or admits is Answer.UNKNOWN:
            verdict = Undecided(f"the solver gave up: {solver.reason()}")
        elif answer is Answer.SATISFIABLE:
            seen = self._counterexample(call, taken, guard, present)
            verdict = Undecided(seen) if isinstance(seen, str) else Relevant(seen)
        elif admits is Answer.UNSATISFIABLE:
            verdict = Irrelevant("it admits nothing more: the others imply it")
        elif taken is None:
            verdict = Irrelevant("what it would admit changes nothing")
        else:
            verdict = Irrelevant("what it would admit ends as the case that is taken there ends it")
        solver.pop()
        return verdict

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _named(self, name: str, said: Formula) -> Expression:
        literal = smt.constant(name, smt.BOOL)
        self._solver.tell(smt.implies(literal, said))
        return literal

    def _call(self, operation: str) -> Call:
        if operation not in self._calls:
            self._calls[operation] = called(self._universe, self._contract.operation(operation))
        return self._calls[operation]

    def _case(self, operation: str, case: str | None) -> Case | None:
        if case is None:
            return None
        for candidate in self._contract.operation(operation).cases:
            if candidate.name == case:
                return candidate
        raise KeyError(f"{operation} has no case {case!r}")

    def _ask_in_whole_seconds(self, call: Call, supposed: Sequence[Expression]) -> Answer:
        """Ask for a model that people can read; for any, if there is none such."""
        name = f"whole seconds in {call.operation.name}"
        if name not in self._whole:
            exact = smt.conj(whole_numbers(self._universe, call.keys, call.scope.params.values(), 1))
            self._whole[name] = self._named(name, exact)
        answer = self._solver.ask(*supposed, self._whole[name])
        return answer if answer is Answer.SATISFIABLE else self._solver.ask(*supposed)

    def _minimal(self, present: Sequence[Expression], fellows: Sequence[Expression]) -> list[Expression]:
        """Literals that suffice, none of which can be spared; the earlier ones are preferred.

        This is Junker's QuickXplain. Which of several minimal sets is found depends on the order alone and not on the
        solver's cores, so that it is the same on every machine.
        """

        def impossible(supposed: Sequence[Expression]) -> bool:
            return self._solver.ask(*present, *supposed) is Answer.UNSATISFIABLE

        def explain(given: list[Expression], changed: bool, open_ones: Sequence[Expression]) -> list[Expression]:
            if changed and impossible(given):
                return []
            if len(open_ones) == 1:
                return list(open_ones)
            half = len(open_ones) // 2
            later = explain([*given, *open_ones[:half]], True, open_ones[half:])
            earlier = explain([*given, *later], bool(later), open_ones[:half])
            return [*earlier, *later]

        return [] if impossible([]) else explain([], False, fellows)

    def _none_open(self, call: Call, taken: Case | None) -> Formula:
        """Nothing happens there now: the guard refuses, or no case is open."""
        return True if taken is None else smt.neg(smt.disj([call.takes(name) for name in call.conditions]))

    def _differ(self, one: Rows, other: Rows, *written: Effects) -> Formula:
        """Some field that a step writes ends differently."""
        entities = self._universe.entities.values()
        places = {place: entity for after in written for place, entity in after.places(entities).items()}
        return smt.disj(
            [
                smt.conj(
                    (
                        *self._universe.present((key,)),
                        smt.neg(identical(one.read(entity, name), other.read(entity, name))),
                    )
                )
                for (key, name), entity in sorted(places.items(), key=lambda item: item[0])
            ]
        )

    def _counterexample(
        self, call: Call, taken: Case | None, guard: str, assumptions: Sequence[Expression]
    ) -> Counterexample | str:
        """The state and call that the solver just found, judged by plain evaluation; or why there is none to show."""
        universe, params = self._universe, call.scope.params
        changed = keys_changed(self._contract, call.operation)
        model = readable(self._solver, assumptions, universe, changed, params.values())
        there = (key for key in changed - call.keys if all(map(model.truth, universe.present((key,)))))
        try:
            seen = concrete(universe, model, call.keys.union(there))
            values = arguments(universe, model, params)
        except NoBinaryFraction as awkward:
            return str(awkward)
        placed = seen.binding(call.placement)
        binding = {variable.name: placed[variable.name] for variable in call.operation.over}
        plain = PlainCall(call.operation.name, 0, binding, values)
        self._insist(seen, call.operation, taken, guard, plain)
        return Counterexample(seen.semantics, seen.state, guard, binding, plain, taken.name if taken else None)

    def _insist(self, seen: Concrete, operation: Operation, taken: Case | None, guard: str, call: PlainCall) -> None:
        """All invariants and fellows hold, the conjunct does not. Raises ``ReadingsDisagree`` otherwise."""
        insist_on_profile(seen)
        insist_on_laws(seen, self._universe.supposed)
        scope = seen.semantics.scope(seen.state, 0, call.binding, call.params)
        fellows: list[TruthTerm] = [call_well_formed(operation)]
        fellows.extend(g.term for g in operation.guards if taken is not None or g.name != guard)
        if taken is not None:
            fellows.extend(g.term for g in taken.when if g.name != guard)
        (dropped,) = (g for g in (operation.guards if taken is None else taken.when) if g.name == guard)
        if not holds(AllOf(tuple(fellows)), scope) or holds(dropped.term, scope):
            raise ReadingsDisagree(f"the solver sees {guard} of {operation.name} alone refuse; evaluation does not")


def _of(named: Mapping[str, Expression], needed: Iterable[str]) -> tuple[str, ...]:
    wanted = frozenset(needed)
    return tuple(name for name, literal in named.items() if str(literal) in wanted)
