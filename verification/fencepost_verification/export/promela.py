"""The Promela reading: a world as a model for SPIN, with exactly the states that our explorer counts.

Each observed field is one ``byte`` of SPIN's state vector (``explore.observation``: fields seen only as null or not are
one ``bit``, unseen fields and those that nothing in this world assigns are left out), each move of each aggregate one
``d_step``. Null is 255, strings are numbers from 128 on. All effects of a step read the state in which it begins, so a
field is assigned only after every other effect that reads it; effects that read each other in a ring are refused, for
SPIN's breadth-first search allows no variables outside the state to break it. What a step does to each of a set of
members is one choice a member, made before any of that member's fields is assigned.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from fencepost_model.semantics import Population, Semantics
from fencepost_model.shapes import Assignment, Case, Operation
from fencepost_model.terms import (
    AllOf,
    AnyOf,
    AtMost,
    Choose,
    Const,
    Equal,
    Every,
    FieldOf,
    Holds,
    Larger,
    Less,
    Missing,
    Not,
    Now,
    OneOf,
    Param,
    Plus,
    Same,
    Setting,
    Smaller,
    Some,
    Truth,
    TruthTerm,
    Value,
    ValueTerm,
)
from fencepost_model.worlds import World
from fencepost_verification.explore.observation import Observation, Observed, observation_of

NULL = 255
FIRST_STRING = 128


@dataclass(frozen=True)
class _Reader:
    """What the terms of one move are printed against."""

    writer: PromelaWriter
    aggregate: int
    binding: Mapping[str, int]
    arguments: Mapping[str, ValueTerm]

    def number(self, term: ValueTerm) -> str:
        """An expression for the value, 255 standing for null."""
        match term:
            case Const(value):
                return str(self.writer.encode(value))
            case FieldOf(entity, name):
                return self.writer.variable(self.aggregate, self.binding[entity], name)
            case Now():
                return "now"
            case Setting(name):
                return str(self.writer.encode(self.writer.settings[name]))
            case Param(name):
                return self.number(self.arguments[name])
            case Plus(left, right):
                return self._both(left, right, "({0} + {1})")
            case Smaller(left, right):
                return self._both(left, right, "(({0} < {1}) -> {0} : {1})")
            case Larger(left, right):
                return self._both(left, right, "(({0} > {1}) -> {0} : {1})")
            case Choose(condition, then, otherwise):
                return f"({self.truth(condition)} -> {self.number(then)} : {self.number(otherwise)})"
            case _:
                assert_never(term)

    def _both(self, left: ValueTerm, right: ValueTerm, form: str) -> str:
        one, other = self.number(left), self.number(right)
        null = " || ".join(f"{side} == {NULL}" for side in (one, other) if _may_be_null(side))
        return f"(({null}) -> {NULL} : {form.format(one, other)})" if null else form.format(one, other)

    def _compared(self, left: ValueTerm, right: ValueTerm, sign: str) -> str:
        one, other = self.number(left), self.number(right)
        present = [f"{side} != {NULL}" for side in (one, other) if _may_be_null(side)]
        return "(" + " && ".join([*present, f"{one} {sign} {other}"]) + ")"

    def missing(self, term: ValueTerm) -> str:
        """Whether the value is null, also for fields of which only that is stored."""
        match term:
            case FieldOf(entity, name) if self.writer.closeness(self.binding[entity], name) is Observed.NULLNESS:
                return f"({self.writer.variable(self.aggregate, self.binding[entity], name)} == 0)"
            case Choose(condition, then, otherwise):
                return f"({self.truth(condition)} -> {self.missing(then)} : {self.missing(otherwise)})"
            case Plus(left, right) | Smaller(left, right) | Larger(left, right):
                return f"({self.missing(left)} || {self.missing(right)})"
            case Param(name):
                return self.missing(self.arguments[name])
            case Const() | FieldOf() | Now() | Setting():
                return f"({self.number(term)} == {NULL})"
            case _:
                assert_never(term)

    def truth(self, term: TruthTerm) -> str:
        """An expression for the truth of the term."""
        match term:
            case Truth(value):
                return "true" if value else "false"
            case Holds(flag):
                return f"({self.number(flag)} == 1)"
            case Not(part):
                return f"!({self.truth(part)})"
            case AllOf(parts):
                return "(" + " && ".join(self.truth(part) for part in parts) + ")" if parts else "true"
            case AnyOf(parts):
                return "(" + " || ".join(self.truth(part) for part in parts) + ")" if parts else "false"
            case Missing(value):
                return self.missing(value)
            case Less(left, right):
                return self._compared(left, right, "<")
            case AtMost(left, right):
                return self._compared(left, right, "<=")
            case Equal(left, right):
                return self._compared(left, right, "==")
            case Same(left, right):
                return f"({self.number(left)} == {self.number(right)})"
            case OneOf(value, choices):
                one = self.number(value)
                return "(" + " || ".join(f"{one} == {self.writer.encode(choice)}" for choice in choices) + ")"
            case Every(variable, machine, of, body):
                return (
                    self.truth(AllOf(()))
                    if not self._members(machine, of)
                    else self._over(variable, machine, of, body, " && ")
                )
            case Some(variable, machine, of, body):
                return "false" if not self._members(machine, of) else self._over(variable, machine, of, body, " || ")
            case _:
                assert_never(term)

    def _members(self, machine: str, of: str) -> list[int]:
        return [slot.index for slot in self.writer.population.members_of(self.binding[of], machine)]

    def _over(self, variable: str, machine: str, of: str, body: TruthTerm, sign: str) -> str:
        parts = [
            _Reader(self.writer, self.aggregate, {**self.binding, variable: slot}, self.arguments).truth(body)
            for slot in self._members(machine, of)
        ]
        return "(" + sign.join(parts) + ")"


def _may_be_null(expression: str) -> bool:
    """Whether an expression can be 255: one that names a field, or is that literal."""
    return expression == str(NULL) or any(word in expression for word in ("_", "->"))


class PromelaWriter:
    """Writes a world as Promela text. Raises ``ValueError`` for a world with legacy rows, which would need a choice.

    The invariants named in ``asserted`` are asserted in the first state and at the end of each step. The first
    assertion is a step of its own.
    """

    def __init__(self, world: World, asserted: Sequence[str] = ()) -> None:
        if world.legacy:
            raise ValueError(f"world {world.name!r} begins with a choice of legacy rows; export it without them")
        self.world = world
        self.asserted = tuple(asserted)
        self.settings = world.profile()
        self.population = Population(world.population.root, 1)
        self.observation: Observation = observation_of(world.contract)
        self.strings: dict[str, int] = {}
        self.empty = Semantics(world.contract, self.population, self.settings).empty_rows()
        self.assigned = {
            (next(v.machine for v in over if v.name == assignment.field.entity), assignment.field.name)
            for operation in world.operations()
            for case in operation.cases
            for over, effect in ((operation.over, case.effect), *((each.over, each.effect) for each in case.also))
            for assignment in effect
        }

    def encode(self, value: Value) -> int:
        """The byte that stands for a value."""
        if value is None:
            return NULL
        if isinstance(value, str):
            return FIRST_STRING + self.strings.setdefault(value, len(self.strings))
        return int(value)

    def closeness(self, slot: int, name: str) -> Observed:
        """How closely the contract looks at a field of a slot."""
        return self.observation[(self.population.slots[slot].machine, name)]

    def variable(self, aggregate: int, slot: int, name: str) -> str:
        """The name of a field's variable; a field that nothing assigns is a constant."""
        place = self.population.slots[slot]
        if (place.machine, name) not in self.assigned:
            value = self.empty[slot][name]
            nullness = self.closeness(slot, name) is Observed.NULLNESS
            return str(int(value is not None)) if nullness else str(self.encode(value))
        return f"{place.machine}{aggregate}_{slot}_{name}"

    def text(self) -> str:
        """The whole model: every state has one ``d_step`` for each move that is enabled in it."""
        moves = [
            option
            for aggregate in range(self.world.population.aggregates)
            for operation in self.world.operations()
            for option in self._options(operation, aggregate)
        ]
        time = f":: d_step {{ now + {self.world.tick} <= {self.world.horizon} -> now = now + {self.world.tick} }}"
        declared = "\n".join(self._declarations())
        body = "\n".join(f"    {self._checked(line)}" for line in (time, *moves))
        first = "  assert(lawful);\n" if self.asserted else ""
        return f"{declared}\n{self._lawful()}\nactive proctype world() {{\n{first}end: do\n{body}\n  od\n}}\n"

    def _checked(self, option: str) -> str:
        return f"{option.removesuffix(' }')}; assert(lawful) }}" if self.asserted else option

    def _lawful(self) -> str:
        """The definition of what is asserted."""
        if not self.asserted:
            return ""
        said = [
            _Reader(self, aggregate, binding, {}).truth(invariant.statement)
            for invariant in self.world.contract.invariants
            if invariant.name in self.asserted
            for aggregate in range(self.world.population.aggregates)
            for binding in self.population.bindings(invariant.over)
        ]
        return f"#define lawful ({' && '.join(said) or 'true'})\n"

    def _declarations(self) -> Iterator[str]:
        yield "byte now = 0;"
        for aggregate in range(self.world.population.aggregates):
            for slot in self.population.slots:
                for field in self.world.contract.machine(slot.machine).fields:
                    closeness = self.closeness(slot.index, field.name)
                    name = self.variable(aggregate, slot.index, field.name)
                    if closeness is Observed.NOT or (slot.machine, field.name) not in self.assigned:
                        continue
                    value = self.empty[slot.index][field.name]
                    if closeness is Observed.NULLNESS:
                        yield f"bit {name} = {0 if value is None else 1};"
                    else:
                        yield f"byte {name} = {self.encode(value)};"

    def _options(self, operation: Operation, aggregate: int) -> Iterator[str]:
        for binding in self.population.bindings(operation.over):
            for arguments in self.world.argument_sets(operation):
                for case in operation.cases:
                    yield self._option(operation, case, _Reader(self, aggregate, binding, arguments))

    def _option(self, operation: Operation, case: Case, reader: _Reader) -> str:
        guards = [reader.truth(guard.term) for guard in (*operation.guards, *case.when)]
        changes = [*self._changes(case.effect, reader), *self._changes_of_many(case, reader)]
        steps = [" && ".join(guards) or "true", *(change.text for change in _readers_first(changes))]
        return f":: d_step {{ {'; '.join(steps)} }}"

    def _changes(self, effect: Sequence[Assignment], reader: _Reader) -> Iterator[_Change]:
        """One change for each observed field that is assigned."""
        for assignment in effect:
            slot = reader.binding[assignment.field.entity]
            closeness = self.closeness(slot, assignment.field.name)
            if closeness is Observed.NOT:
                continue
            name = self.variable(reader.aggregate, slot, assignment.field.name)
            if closeness is Observed.NULLNESS:
                value = f"({reader.missing(assignment.value)} -> 0 : 1)"
            else:
                value = reader.number(assignment.value)
            yield _Change(frozenset({name}), frozenset(_NAME.findall(value)), f"{name} = {value}")

    def _changes_of_many(self, case: Case, reader: _Reader) -> Iterator[_Change]:
        """One change for each member that a set of the case may select: all its fields, under one condition."""
        for each in case.also:
            for binding in self.population.below(reader.binding, each.over):
                member = replace(reader, binding=binding)
                changes = _readers_first(list(self._changes(each.effect, member)))
                if not changes:
                    continue
                selected = member.truth(each.where)
                yield _Change(
                    frozenset[str]().union(*(change.writes for change in changes)),
                    frozenset(_NAME.findall(selected)).union(*(change.reads for change in changes)),
                    f"if :: {selected} -> {'; '.join(change.text for change in changes)} :: else -> skip fi",
                )


@dataclass(frozen=True)
class _Change:
    """A statement of a ``d_step``, with the names of the variables that it assigns and of what it reads."""

    writes: frozenset[str]
    reads: frozenset[str]
    text: str


_NAME = re.compile(r"[A-Za-z]\w*")


def _readers_first(changes: Sequence[_Change]) -> list[_Change]:
    """The changes in an order in which none assigns what a later one reads."""
    waiting = list(changes)
    ordered: list[_Change] = []
    while waiting:
        for candidate in waiting:
            if not any(candidate.writes & other.reads for other in waiting if other is not candidate):
                break
        else:
            names = sorted(name for change in waiting for name in change.writes)
            raise ValueError(f"the effects on {', '.join(names)} read each other in a ring")
        waiting.remove(candidate)
        ordered.append(candidate)
    return ordered


def promela(world: World, asserted: Sequence[str] = ()) -> str:
    """A world as Promela text; with the names of invariants, one that SPIN stops in where one of them breaks."""
    return PromelaWriter(world, asserted).text()
