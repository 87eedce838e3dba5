"""Turns a model of the solver into rows, a call and a step, and lets plain evaluation judge them.

Two readers, one referee: what the solver says about a formula counts only if the terms themselves, evaluated plainly on
the values that the solver chose, agree. If the hypothesis does not hold there, or the statement does, one of the two
readings is wrong, and that is a defect of this project and no verdict about the contract: ``ReadingsDisagree``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fencepost_model.contract import Contract
from fencepost_model.semantics import Binding, Call, Member, Population, Row, Semantics, State
from fencepost_model.shapes import Invariant, Operation, Sort, Variable
from fencepost_model.terms import AllOf, TruthTerm, Value, holds
from fencepost_verification.prove import smt
from fencepost_verification.prove.encoding import Entity, Symbol, decoded
from fencepost_verification.prove.sorts import call_well_formed, settings_well_formed
from fencepost_verification.prove.universe import Placement, Universe


class ReadingsDisagree(AssertionError):
    """The solver's reading of a term and plain evaluation differ on one state: a defect of the project."""


@dataclass(frozen=True)
class Concrete:
    """One aggregate in a state, with plain values, and the slot of each entity of the universe."""

    semantics: Semantics
    state: State
    slots: Mapping[str, int]

    def binding(self, placement: Placement) -> dict[str, int]:
        """The slots that variables stand for."""
        return {name: self.slots[key] for name, key in placement.items()}


@dataclass(frozen=True)
class Counterexample:
    """Where induction fails: a state in which all invariants hold, a step from it, and what is false after it.

    The state need not be reachable. ``after`` is None where the failure is one of the state itself; ``call`` is None
    where time passes or a run begins.
    """

    semantics: Semantics
    before: State
    statement: str
    binding: Binding
    call: Call | None = None
    case: str | None = None
    after: State | None = None

    def __str__(self) -> str:
        lines = [f"now = {self.before.now}" + self._moved()]
        slots = self.semantics.population.slots
        for slot, row in zip(slots, self.before.rows[0], strict=True):
            ends = self.after.rows[0][slot.index] if self.after is not None else row
            told = [
                f"{name} = {value!r}" + (f" -> {ends[name]!r}" if ends[name] != value else "")
                for name, value in row.items()
                if value is not None or ends[name] is not None
            ]
            lines.append(f"{slot.label}: {', '.join(told) or 'does not exist'}")
        return "; ".join(lines)

    def _moved(self) -> str:
        moved = self.after is not None and self.after.now != self.before.now
        return f" -> {self.after.now}" if moved and self.after is not None else ""


# --- from a model to values -------------------------------------------------------------------------------------------


def concrete(universe: Universe, model: smt.Model, keys: Iterable[str]) -> Concrete:
    """The state that a model describes, with the entities that are there.

    Raises ``NoBinaryFraction`` when plain evaluation could not compute with its numbers.
    """
    entities = [universe.entities[key] for key in sorted(keys)]
    if universe.quantified:
        entities.extend(_further(universe, model, entities))
    rows = {entity.key: _row(universe, model, entity) for entity in entities}
    root = next(entity for entity in entities if entity.parent is None)
    population = Population(_member(universe.contract, entities, rows, root))
    slots: dict[str, int] = {}
    _number(entities, root, slots)
    settings = {name: decoded(symbol, model, universe.lexicon) for name, symbol in universe.settings.items()}
    ordered = sorted(rows, key=lambda key: slots[key])
    state = State(number(decoded(universe.now, model, universe.lexicon)), (tuple(rows[key] for key in ordered),))
    return Concrete(Semantics(universe.contract, population, settings), state, slots)


def number(value: Value) -> float | int:
    """A value that is an instant."""
    if value is None or isinstance(value, bool | str):
        raise ReadingsDisagree(f"the clock shows {value!r}")
    return value


def arguments(universe: Universe, model: smt.Model, params: Mapping[str, Symbol]) -> dict[str, Value]:
    """The arguments of a call in a model."""
    return {name: decoded(symbol, model, universe.lexicon) for name, symbol in params.items()}


def _row(universe: Universe, model: smt.Model, entity: Entity) -> dict[str, Value]:
    return {
        declared.name: decoded(universe.read(entity, declared.name), model, universe.lexicon)
        for declared in universe.contract.machine(entity.machine).fields
    }


def _further(universe: Universe, model: smt.Model, entities: Sequence[Entity]) -> list[Entity]:
    """The children that exist in the model beside the entities named: a quantifier of the solver speaks of them too."""
    found: list[Entity] = []
    frontier = list(entities)
    while frontier:
        parent = frontier.pop()
        for machine in universe.contract.children_of(parent.machine):
            for handle in universe.elements(model, machine.name):
                known = (*entities, *found)
                if any(other.machine == machine.name and model.same(other.handle, handle) for other in known):
                    continue
                key = f"{parent.key}/{machine.name}.further{len(found)}"
                child = Entity(key, machine.name, parent, handle)
                if model.truth(universe.belongs(child, parent)):
                    found.append(child)
                    frontier.append(child)
    return found


def _member(contract: Contract, entities: Sequence[Entity], rows: Mapping[str, Row], entity: Entity) -> Member:
    machine = contract.machine(entity.machine)
    fixed = {declared.name: rows[entity.key][declared.name] for declared in machine.fields if declared.fixed}
    inner = tuple(_member(contract, entities, rows, child) for child in entities if child.parent is entity)
    return Member(entity.machine, entity.key, fixed, inner)


def _number(entities: Sequence[Entity], entity: Entity, slots: dict[str, int]) -> None:
    """Number the entities as ``Population.slots`` does."""
    slots[entity.key] = len(slots)
    for child in entities:
        if child.parent is entity:
            _number(entities, child, slots)


def whole_numbers(universe: Universe, keys: Iterable[str], more: Iterable[Symbol], scale: int) -> list[smt.Formula]:
    """That every instant and duration is a whole multiple of ``1 / scale`` seconds."""
    symbols = [universe.now, *universe.settings.values(), *more]
    for key in keys:
        entity = universe.entities[key]
        symbols.extend(
            universe.read(entity, declared.name)
            for declared in universe.contract.machine(entity.machine).fields
            if declared.sort in (Sort.INSTANT, Sort.DURATION)
        )
    reals = [symbol.what for symbol in symbols if symbol.is_real]
    return [smt.is_whole(smt.scaled(scale, what)) for what in reals if not isinstance(what, bool)]


def readable(
    solver: smt.Solver,
    assumptions: Sequence[smt.Expression],
    universe: Universe,
    keys: Iterable[str],
    more: Iterable[Symbol],
) -> smt.Model:
    """A model after the answer *satisfiable*: in whole seconds if there is one, else if can be in binary fractions."""
    model = solver.model()
    keys, more = tuple(keys), tuple(more)
    for scale in (1, 1024):
        solver.push()
        solver.tell(*whole_numbers(universe, keys, more, scale))
        found = solver.ask(*assumptions) is smt.Answer.SATISFIABLE
        if found:
            model = solver.model()
        solver.pop()
        if found:
            break
    return model


# --- the referee ------------------------------------------------------------------------------------------------------


def false_at(semantics: Semantics, state: State, over: Sequence[Variable], statement: TruthTerm) -> Binding | None:
    """A binding for which a statement is false in a state, by plain evaluation."""
    for binding in semantics.population.bindings(over):
        if not holds(statement, semantics.scope(state, 0, binding, {})):
            return binding
    return None


def insist_on_profile(seen: Concrete) -> None:
    """The settings are as the proof supposes. Raises ``ReadingsDisagree`` otherwise."""
    assumed = settings_well_formed(seen.semantics.contract)
    if not holds(assumed, seen.semantics.scope(seen.state, 0, {}, {})):
        raise ReadingsDisagree(f"the settings {dict(seen.semantics.settings)} break what is assumed of them")


def insist_on_laws(seen: Concrete, supposed: Iterable[Invariant]) -> None:
    """All invariants hold in the state that a step starts from. Raises ``ReadingsDisagree`` otherwise."""
    for invariant in supposed:
        broken = false_at(seen.semantics, seen.state, invariant.over, invariant.statement)
        if broken is not None:
            raise ReadingsDisagree(f"{invariant.name} was supposed, but is false at {broken} in {seen.state}")


def insist_on_call(seen: Concrete, operation: Operation, call: Call) -> None:
    """The call is well-formed, and its guards hold. Raises ``ReadingsDisagree`` otherwise."""
    scope = seen.semantics.scope(seen.state, 0, call.binding, call.params)
    if not holds(call_well_formed(operation), scope):
        raise ReadingsDisagree(f"{operation.name} is called with {dict(call.params)}, which is not well-formed")
    refused = seen.semantics.false_guards(seen.state, call)
    if refused:
        raise ReadingsDisagree(f"{operation.name} was supposed to be allowed, but {sorted(refused)} are false")


def insist_on_case(seen: Concrete, operation: Operation, call: Call, case: str) -> State:
    """The conditions of a case hold; the state in which it ends. Raises ``ReadingsDisagree`` otherwise."""
    (taken,) = (candidate for candidate in operation.cases if candidate.name == case)
    scope = seen.semantics.scope(seen.state, 0, call.binding, call.params)
    if not holds(AllOf(tuple(guard.term for guard in taken.when)), scope):
        raise ReadingsDisagree(f"{operation.name}/{case} was supposed to be taken, but its conditions do not hold")
    return seen.semantics.apply(seen.state, call, taken)
