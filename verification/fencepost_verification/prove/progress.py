"""Whether somebody bound to act can act, now or later: the question behind *no limbo*.

Theory
======
A progress statement fails in a lawful state from which at *no* later moment and with *no* arguments a bound operation
is possible. So it is put to the solver, with a quantifier over moments and arguments: where there is no such state, it
holds. A statement of receptiveness (``at_once``) looks at the present moment alone.

Plain evaluation, which referees a failure, and the bounded search cannot look at all moments. Guards compare the clock
with instants on the rows, or with such an instant and a duration, and between two neighbouring instants little changes;
so they look now, at each instant still to come, a second after each, and after the last.

Who acts. Where an operation and the statement name a variable alike they mean one entity. A further variable (the
worker that claims) stands for some entity that exists: one is supposed to exist, and nothing else is supposed of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from fencepost_model.contract import Contract
from fencepost_model.semantics import Call as PlainCall
from fencepost_model.semantics import Row, Semantics, State
from fencepost_model.shapes import Operation, Progress, Sort
from fencepost_model.terms import Value, holds
from fencepost_verification.prove import smt
from fencepost_verification.prove.encoding import Entity, Kind, Rows, Symbol, formula_of
from fencepost_verification.prove.obligations import call_in
from fencepost_verification.prove.smt import Expression, Formula
from fencepost_verification.prove.sorts import call_well_formed
from fencepost_verification.prove.universe import Placement, Universe, bound_placements, completed, placements

# --- moments ----------------------------------------------------------------------------------------------------------


def instants(contract: Contract, rows: Rows, entities: Iterable[Entity]) -> Iterator[Symbol]:
    """Every instant on the rows of the entities."""
    for entity in entities:
        for declared in contract.machine(entity.machine).fields:
            if declared.sort is Sort.INSTANT:
                yield rows.read(entity, declared.name)


def moments(now: Symbol, on_rows: Iterable[Symbol]) -> list[Symbol]:
    """The moments to look at, none earlier than now."""
    latest = now
    found = [now]
    for instant in on_rows:
        later = _later(now, instant)
        latest = _later(latest, instant)
        found.extend((later, _a_second_after(later)))
    return [*found, _a_second_after(latest)]


def plain_moments(
    contract: Contract, now: float | int, machines: Mapping[int, str], rows: Iterable[Row]
) -> list[float | int]:
    """The same moments for plain rows; ``machines`` names the machine of each slot."""
    found = {now}
    for slot, row in enumerate(rows):
        for declared in contract.machine(machines[slot]).fields:
            value = row[declared.name]
            if declared.sort is Sort.INSTANT and isinstance(value, int | float):
                found.add(max(now, value))
    return sorted(found | {moment + 1 for moment in found})


def _later(one: Symbol, instant: Symbol) -> Symbol:
    """The later of two; the first when the second is null."""
    ahead = smt.conj((smt.neg(instant.null), smt.less(one.number, instant.number)))
    return Symbol(one.kind, False, smt.choose(ahead, instant.number, one.number))


def _a_second_after(instant: Symbol) -> Symbol:
    second = smt.real(1) if instant.kind is Kind.REAL else smt.whole(1)
    return Symbol(instant.kind, False, smt.total(instant.number, second))


# --- the question to the solver ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WaysOn:
    """The operations bound to act on the entities of a progress statement, in a universe."""

    universe: Universe
    progress: Progress

    @cached_property
    def placement(self) -> Placement:
        """The entities of the statement."""
        return next(placements(self.universe.contract, self.progress.over))

    @cached_property
    def ways(self) -> tuple[tuple[Operation, Placement], ...]:
        """Each bound operation with the entities it is called on."""
        contract = self.universe.contract
        return tuple(
            (contract.operation(name), bound)
            for name in self.progress.bound
            for bound in bound_placements(contract, self.progress, contract.operation(name))
        )

    @cached_property
    def keys(self) -> frozenset[str]:
        """All entities of the statement and of the operations."""
        return frozenset(self.placement.values()).union(*(bound.values() for _, bound in self.ways))

    @cached_property
    def arguments(self) -> dict[str, dict[str, Symbol]]:
        """Arbitrary arguments for each operation that is bound to act, by its name."""
        contract = self.universe.contract
        return {name: self.universe.parameters(contract.operation(name)) for name in self.progress.bound}

    def supposed(self) -> Formula:
        """The statement's entities are live, and the arguments are well-formed."""
        universe = self.universe
        live = formula_of(self.progress.live, universe.scope(universe.binding(self.placement)))
        return smt.conj(
            (
                live,
                *(
                    formula_of(call_well_formed(universe.contract.operation(name)), universe.scope({}, params=params))
                    for name, params in self.arguments.items()
                ),
            )
        )

    def none_ever(self) -> Formula:
        """At no moment from now on is a bound operation possible, whatever the arguments and whoever acts."""
        return smt.conj(self._impossible(operation, bound) for operation, bound in self.ways)

    def _impossible(self, operation: Operation, bound: Placement) -> Formula:
        universe = self.universe
        binding = universe.binding(bound)
        moment = universe.now
        chosen: list[Expression] = []
        conditions: list[Formula] = []
        if not self.progress.at_once:
            moment = universe.instant("moment")
            chosen.append(moment.number)
            conditions.append(smt.at_most(universe.now.number, moment.number))
        if universe.quantified:
            kin = [binding[name] for name, key in bound.items() if key in self.placement.values()]
            for variable in completed(universe.contract, operation.over):
                if variable.of is None or binding[variable.name] in kin:
                    continue
                who = universe.variable(f"who {variable.name}", variable.machine, binding[variable.of])
                conditions.append(universe.belongs(who, binding[variable.of]))
                conditions.extend(
                    smt.neg(smt.same(who.handle, other.handle)) for other in kin if other.machine == who.machine
                )
                kin.append(who)
                chosen.append(who.handle)
                binding[variable.name] = who
        params = universe.parameters(operation, chosen)
        call = call_in(universe.scope(binding, clock=moment, params=params), operation, bound)
        conditions.append(call.arguments)
        return smt.for_all(chosen, smt.implies(smt.conj(conditions), smt.neg(call.enabled())))


# --- the referee ------------------------------------------------------------------------------------------------------


def stuck(
    progress: Progress,
    semantics: Semantics,
    state: State,
    binding: Mapping[str, int],
    params: Mapping[str, Mapping[str, Value]],
) -> bool:
    """Whether the statement's entities are live and nobody bound to act can, by plain evaluation.

    Looks at the moments of ``plain_moments`` (now alone, for what must be possible at once), at all entities that may
    act, with the arguments given.
    """
    if not holds(progress.live, semantics.scope(state, 0, binding, {})):
        return False
    machines = {slot.index: slot.machine for slot in semantics.population.slots}
    ahead = [state.now]
    if not progress.at_once:
        ahead = plain_moments(semantics.contract, state.now, machines, state.rows[0])
    for moment in ahead:
        later = replace(state, now=moment)
        for name in progress.bound:
            for bound in semantics.population.bindings(semantics.contract.operation(name).over):
                if any(binding.get(variable, slot) != slot for variable, slot in bound.items()):
                    continue
                call = PlainCall(name, 0, bound, params[name])
                if not semantics.false_guards(later, call) and semantics.cases(later, call):
                    return False
    return True
