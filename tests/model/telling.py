"""Tells runs of one aggregate step by step; after each step every invariant and step property is looked at as well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fencepost_model.contract import Contract
from fencepost_model.semantics import Accepted, Call, Population, Refused, Row, Semantics, State
from fencepost_model.terms import Value


@dataclass
class Telling:
    """One aggregate of a contract. Its slots go by their labels, and are bound to the variables of each operation."""

    contract: Contract
    population: Population
    settings: Mapping[str, Value] = field(default_factory=dict[str, Value])
    chosen: Mapping[str, Value] = field(default_factory=dict[str, Value])
    """arguments that a call has unless it says otherwise"""
    state: State = field(init=False)
    semantics: Semantics = field(init=False)

    def __post_init__(self) -> None:
        self.semantics = Semantics(self.contract, self.population, {**self.contract.defaults(), **self.settings})
        self.state = next(self.semantics.initial())

    def begin_with(self, legacy: str) -> None:
        """The root is a row of an older program."""
        self.state = State(self.state.now, (dict(self.semantics.legacy_rows())[legacy],))

    def row(self, label: str) -> Row:
        """The row of the slot so labelled."""
        return self.state.rows[0][self.slot(label)]

    def shows(self, label: str, **expected: Value) -> None:
        """The row of a slot has these values."""
        row = self.row(label)
        assert {name: row[name] for name in expected} == expected

    def at(self, instant: float) -> None:
        """The clock comes to show this instant."""
        self.state = self.semantics.advance(self.state, instant - self.state.now)

    def take(self, operation: str, *labels: str, **params: Value) -> str:
        """Make a call that is allowed: the case that was taken. It breaks no statement of the contract."""
        case, broken = self.watch(operation, *labels, **params)
        assert broken == set()
        return case

    def watch(self, operation: str, *labels: str, **params: Value) -> tuple[str, set[str]]:
        """Make a call that is allowed: the case that was taken, and the statements that the step breaks."""
        call = self.call(operation, labels, params)
        outcome = self.semantics.attempt(self.state, call)
        assert isinstance(outcome, Accepted), f"{operation} is refused: {outcome}"
        broken = {p.name for p in self.semantics.broken_step_properties(self.state, call, outcome.state)}
        self.state = outcome.state
        return outcome.case.name, broken | {i.name for i in self.semantics.broken_invariants(self.state)}

    def refused(self, operation: str, *labels: str, **params: Value) -> set[str]:
        """Make a call that is not allowed: the guards that forbid it."""
        outcome = self.semantics.attempt(self.state, self.call(operation, labels, params))
        assert isinstance(outcome, Refused), f"{operation} is allowed: {outcome}"
        return set(outcome.guards)

    def call(self, operation: str, labels: tuple[str, ...], params: Mapping[str, Value]) -> Call:
        """The call of an operation on the root and on the slots so labelled, in the order of its variables."""
        declared = self.contract.operation(operation)
        first, *rest = declared.over
        binding = {first.name: 0}
        for variable, label in zip(rest, labels, strict=True):
            binding[variable.name] = self.slot(label)
        wanted = {parameter.name for parameter in declared.parameters}
        return Call(operation, 0, binding, {k: v for k, v in {**self.chosen, **params}.items() if k in wanted})

    def slot(self, label: str) -> int:
        """The index of the slot so labelled."""
        return next(slot.index for slot in self.population.slots if slot.label == label)
