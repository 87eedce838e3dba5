"""Tells which statements of a contract follow from the others: those that no mutant can break alone.

An invariant follows when no rows whatever satisfy the other invariants and break it. A step property follows when no
two states whatever, both lawful and with the other step properties between them, break it. The steps of the contract's
own operations play no part in this: it is about the statements only. A statement that follows is still worth having, as
the words in which people look for it; but nothing can go wrong that it alone would notice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from fencepost_model.contract import Contract
from fencepost_model.shapes import Invariant, StepProperty
from fencepost_verification.prove import smt
from fencepost_verification.prove.encoding import Entity, Rows, Symbol, formula_of, free
from fencepost_verification.prove.obligations import keys_of, needs_step
from fencepost_verification.prove.smt import Answer, Expression, Formula
from fencepost_verification.prove.universe import Placement, Universe, choices, placements


class Anything:
    """Rows about which nothing is known: those in which an arbitrary step ends."""

    def __init__(self, universe: Universe) -> None:
        self._universe = universe
        self._symbols: dict[tuple[Entity, str], Symbol] = {}

    def read(self, entity: Entity, name: str) -> Symbol:
        """A field of an entity after the step; a fixed one is as it was."""
        if (entity, name) not in self._symbols:
            declared = self._universe.contract.machine(entity.machine).field_named(name)

            def leaf(suffix: str, sort: smt.SortOf) -> Expression:
                return smt.apply(self._universe.mapping(entity.machine, f"{name} after{suffix}", sort), entity.handle)

            self._symbols[(entity, name)] = (
                self._universe.read(entity, name)
                if declared.fixed
                else free(declared.sort, leaf, nullable=True, listed=bool(declared.words))
            )
        return self._symbols[(entity, name)]


class Consequences:
    """The statements of a contract, prepared for questions. ``milliseconds`` bounds each question to the solver."""

    def __init__(self, contract: Contract, *, milliseconds: int = 5_000) -> None:
        self._contract = contract
        self._universe = Universe(contract, keys_of(contract), milliseconds=milliseconds)
        self._after = Anything(self._universe)
        self._solver = self._universe.solver
        self._solver.tell(self._universe.background)
        self._states = {
            invariant.name: self._named(f"before {invariant.name}", said) for invariant, said in self._universe.lawful
        }
        self._ends = {
            invariant.name: self._named(f"after {invariant.name}", smt.conj(self._at(invariant, self._after)))
            for invariant in self._universe.supposed
        }
        self._steps: dict[str, Expression] = {}
        for each in contract.step_properties:
            if not each.restricted:
                self._steps[each.name] = self._named(f"step {each.name}", smt.conj(self._of_step(each)))

    def of(self, name: str) -> tuple[str, ...] | None:
        """The statements from which the named one follows, none of which can be spared; None when it does not follow.

        Also None where the solver gives up: what is not shown is not claimed. Raises ``KeyError`` for an unknown name.
        """
        statement = self._statement(name)
        supposed: dict[Expression, str] = {literal: n for n, literal in self._states.items() if n != name}
        if isinstance(statement, StepProperty):
            supposed |= {literal: n for n, literal in self._ends.items()}
            supposed |= {literal: n for n, literal in self._steps.items() if n != name}
        for placement in placements(self._contract, statement.over):
            params: Mapping[str, Symbol] = {}
            if isinstance(statement, StepProperty) and statement.of is not None:
                params = self._universe.parameters(self._contract.operation(statement.of))
            binding = self._universe.binding(placement)
            scope = self._universe.scope(binding, after=self._after, params=params)
            denied = smt.neg(formula_of(statement.statement, scope))
            self._solver.push()
            self._solver.tell(denied)
            present = self._universe.present(placement.values())
            needed = self._minimal(present, list(supposed))
            self._solver.pop()
            if needed is None:
                return None
            return tuple(dict.fromkeys(supposed[literal] for literal in needed))
        return None

    def _statement(self, name: str) -> Invariant | StepProperty:
        every: tuple[Invariant | StepProperty, ...] = (*self._contract.invariants, *self._contract.step_properties)
        for statement in every:
            if statement.name == name:
                return statement
        raise KeyError(name)

    def _minimal(self, present: Iterable[Expression], supposed: list[Expression]) -> list[Expression] | None:
        """Suppositions under which it cannot be denied, none of which can be spared; the later ones go first."""
        always = list(present)
        if self._solver.ask(*always, *supposed) is not Answer.UNSATISFIABLE:
            return None
        kept = list(supposed)
        for literal in reversed(supposed):
            without = [each for each in kept if each is not literal]
            if self._solver.ask(*always, *without) is Answer.UNSATISFIABLE:
                kept = without
        return kept

    def _named(self, name: str, said: Formula) -> Expression:
        literal = smt.constant(name, smt.BOOL)
        self._solver.tell(smt.implies(literal, said))
        return literal

    def _everywhere(self, statement: Invariant | StepProperty) -> Iterator[tuple[Placement, Mapping[str, Entity]]]:
        entities = tuple(self._universe.entities.values())
        for placement in choices(self._contract, entities, statement.over):
            yield placement, self._universe.binding(placement)

    def _at(self, invariant: Invariant, rows: Rows) -> Iterator[Formula]:
        """What an invariant says of some rows, wherever its entities are there."""
        for placement, binding in self._everywhere(invariant):
            said = formula_of(invariant.statement, self._universe.scope(binding, before=rows))
            yield smt.disj([*(smt.neg(self._universe.there(key)) for key in sorted(placement.values())), said])

    def _of_step(self, statement: StepProperty) -> Iterator[Formula]:
        """What a step property says of the arbitrary step, wherever its entities are there."""
        if not needs_step(statement.statement):
            return
        for placement, binding in self._everywhere(statement):
            said = formula_of(statement.statement, self._universe.scope(binding, after=self._after))
            yield smt.disj([*(smt.neg(self._universe.there(key)) for key in sorted(placement.values())), said])
