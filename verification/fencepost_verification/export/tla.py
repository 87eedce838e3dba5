"""The TLA+ reading: a world as a module and a configuration for TLC, with exactly the states that our explorer counts.

Each observed field of a machine is one variable (``explore.observation``: a field of which only it matters whether it
is null holds ``null`` or ``"present"``, unseen fields are left out): a function from the aggregates, and for what
belongs to a root from there on a function from its slots. ``clock`` is the time. Null is a model value, so are the
aggregates and the slots. Each transition is one action of its own name (TLA+ knows no slash: ``fail/spent`` is
``fail__spent``), and each invariant one of the same name, so that what TLC reports can be read as ours.

Symmetry. Aggregates are all alike. Slots are alike when some exchange of them, together with an exchange of the
identities that are fixed in them, leaves the shape of the aggregate, the offered arguments, the legacy rows and the
settings as they are, and no term names one of these identities. Each such exchange is looked for among pairs of
sibling slots, is checked as a whole, and becomes one permutation of model values. The identities moved are model
values then, all other values stay strings.

A step that changes whole sets of rows (``Case.also``) is written as a function over the slots: the state before the
step decides for each of them whether, and to what, it changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import assert_never

from fencepost_model.contract import transition_name
from fencepost_model.semantics import Population, Row, Semantics
from fencepost_model.shapes import Case, Field, ForEach, Operation, Sort, Variable
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
    Term,
    Truth,
    TruthTerm,
    Value,
    ValueTerm,
    walk,
)
from fencepost_model.worlds import World
from fencepost_verification.explore.observation import Observed, observation_of

NULL = "null"
PRESENT = "present"
"""What a field holds that is not null, where nothing more is looked at."""
CLOCK = "clock"
TICK = "tick"

_PRELUDE = """\
Less(a, b) == a # null /\\ b # null /\\ a < b
AtMost(a, b) == a # null /\\ b # null /\\ a <= b
Equal(a, b) == a # null /\\ a = b
Sum(a, b) == IF a = null \\/ b = null THEN null ELSE a + b
Smaller(a, b) == IF a = null \\/ b = null THEN null ELSE IF a < b THEN a ELSE b
Larger(a, b) == IF a = null \\/ b = null THEN null ELSE IF a > b THEN a ELSE b"""

_WORDS = """
    ACTION ASSUME ASSUMPTION AXIOM BY CASE CHOOSE CONSTANT CONSTANTS COROLLARY DEF DEFINE DEFS DOMAIN ELSE ENABLED
    EXCEPT EXTENDS HAVE HIDE IF IN INSTANCE LAMBDA LEMMA LET LOCAL MODULE NEW OBVIOUS OMITTED ONLY OTHER PICK PROOF
    PROPOSITION PROVE QED RECURSIVE STATE SUBSET SUFFICES TAKE TEMPORAL THEN THEOREM UNCHANGED UNION USE VARIABLE
    VARIABLES WITH WITNESS TRUE FALSE BOOLEAN STRING Int Nat Permutations Print PrintT Assert JavaTime TLCGet TLCSet
    SortSeq RandomElement Any ToString TLCEval Less AtMost Equal Sum Smaller Larger Init Next Spec Symmetry vars null
    clock tick start a b
"""
_TAKEN = frozenset(_WORDS.split())
"""Words of TLA+, of its modules that are extended here, and of our own."""


@dataclass(frozen=True)
class Module:
    """A TLA+ module with its configuration, and how its names are read back.

    ``transitions`` and ``invariants`` map names of the module to ours. ``fields`` maps each variable but the clock to
    its machine and field; ``aggregates`` and ``slots`` list the model values by number; ``identities`` are the strings
    that became model values.
    """

    name: str
    text: str
    cfg: str
    world: World
    transitions: Mapping[str, str]
    invariants: Mapping[str, str]
    fields: Mapping[str, tuple[str, str]]
    aggregates: tuple[str, ...]
    slots: Mapping[str, int]
    identities: Mapping[str, str]


class _Names:
    """Names that TLA+ takes, each given once: no name in a module may hide another."""

    def __init__(self) -> None:
        self.used: set[str] = set(_TAKEN)

    def free(self, wanted: str, besides: frozenset[str] = frozenset()) -> str:
        """A name like the one wanted that is neither global nor among those named, without taking it."""
        name = re.sub(r"[^A-Za-z0-9_]", "_", wanted)
        if not name[:1].isalpha() or name.startswith(("WF_", "SF_")):
            name = f"x_{name}"
        while name in self.used or name in besides:
            name += "_"
        return name

    def take(self, wanted: str) -> str:
        """A global name like the one wanted."""
        name = self.free(wanted)
        self.used.add(name)
        return name


@dataclass(frozen=True)
class _Place:
    """What a variable stands for: an expression for the slot, None for the root; and its machine."""

    machine: str
    slot: str | None


@dataclass(frozen=True)
class _Reader:
    """What terms are printed against: the aggregate, the entities that variables stand for, the arguments."""

    writer: TlaWriter
    aggregate: str
    binding: Mapping[str, _Place]
    arguments: Mapping[str, tuple[str, bool]]
    """an expression for each argument, and whether it may be null"""
    local: frozenset[str]

    # -- values --------------------------------------------------------------------------------------------------------

    def value(self, term: ValueTerm) -> str:
        """An expression for the value."""
        match term:
            case Const(value):
                return self.writer.literal(value)
            case FieldOf(entity, name, after):
                return self.writer.read(self.aggregate, self.binding[entity], name, after=after)
            case Now():
                return CLOCK
            case Setting(name):
                return self.writer.settings[name]
            case Param(name):
                return self.arguments[name][0]
            case Plus(left, right):
                return self._of_two(left, right, "Sum", "({} + {})")
            case Smaller(left, right):
                return self._of_two(left, right, "Smaller", None)
            case Larger(left, right):
                return self._of_two(left, right, "Larger", None)
            case Choose(condition, then, otherwise):
                return f"(IF {self.truth(condition)} THEN {self.value(then)} ELSE {self.value(otherwise)})"
            case _:
                assert_never(term)

    def _of_two(self, left: ValueTerm, right: ValueTerm, operator: str, plain: str | None) -> str:
        one, other = self.value(left), self.value(right)
        if plain is None or self.nullable(left) or self.nullable(right):
            return f"{operator}({one}, {other})"
        return plain.format(one, other)

    def nullable(self, term: ValueTerm) -> bool:
        """Whether the value may be null, by the look of the term."""
        match term:
            case Const(value):
                return value is None
            case FieldOf():
                return True
            case Now():
                return False
            case Setting(name):
                return self.writer.world.profile()[name] is None
            case Param(name):
                return self.arguments[name][1]
            case Plus(left, right) | Smaller(left, right) | Larger(left, right) | Choose(_, left, right):
                return self.nullable(left) or self.nullable(right)
            case _:
                assert_never(term)

    def missing(self, term: ValueTerm) -> str:
        """Whether the value is null, also for fields of which only that is kept."""
        match term:
            case Choose(condition, then, otherwise):
                return f"(IF {self.truth(condition)} THEN {self.missing(then)} ELSE {self.missing(otherwise)})"
            case Plus(left, right) | Smaller(left, right) | Larger(left, right):
                either = [part for part in (self.missing(left), self.missing(right)) if part != "FALSE"]
                return "(" + " \\/ ".join(either) + ")" if either else "FALSE"
            case Const(value):
                return "TRUE" if value is None else "FALSE"
            case FieldOf() | Now() | Setting() | Param():
                return f"({self.value(term)} = {NULL})" if self.nullable(term) else "FALSE"
            case _:
                assert_never(term)

    # -- truths --------------------------------------------------------------------------------------------------------

    def truth(self, term: TruthTerm) -> str:
        """An expression for the truth of the term."""
        match term:
            case Truth(value):
                return "TRUE" if value else "FALSE"
            case Holds(flag):
                return f"({self.value(flag)} = TRUE)"
            case Not(part):
                return f"~{self.truth(part)}" if isinstance(part, Truth) else f"~({self.truth(part)})"
            case AllOf(parts):
                return self._junction(parts, " /\\ ", "TRUE")
            case AnyOf(parts):
                return self._junction(parts, " \\/ ", "FALSE")
            case Missing(value):
                return self.missing(value)
            case Less(left, right):
                return self._compared(left, right, "Less", "<")
            case AtMost(left, right):
                return self._compared(left, right, "AtMost", "<=")
            case Equal(left, right):
                return self._equal(left, right)
            case Same(left, right):
                return f"({self.value(left)} = {self.value(right)})"
            case OneOf(value, choices):
                return f"({self.value(value)} \\in {{{', '.join(self.writer.literal(choice) for choice in choices)}}})"
            case Every(variable, machine, of, body):
                return self._over("\\A", "TRUE", variable, machine, of, body)
            case Some(variable, machine, of, body):
                return self._over("\\E", "FALSE", variable, machine, of, body)
            case _:
                assert_never(term)

    def _junction(self, parts: Sequence[TruthTerm], sign: str, empty: str) -> str:
        return f"({sign.join(self.truth(part) for part in parts)})" if parts else empty

    def _compared(self, left: ValueTerm, right: ValueTerm, operator: str, sign: str) -> str:
        one, other = self.value(left), self.value(right)
        if self.nullable(left) or self.nullable(right):
            return f"{operator}({one}, {other})"
        return f"({one} {sign} {other})"

    def _equal(self, left: ValueTerm, right: ValueTerm) -> str:
        one, other = self.value(left), self.value(right)
        if self.nullable(left) and self.nullable(right):
            return f"Equal({one}, {other})"
        return f"({one} = {other})"

    def _over(self, sign: str, empty: str, variable: str, machine: str, of: str, body: TruthTerm) -> str:
        if not self.writer.places(machine):
            return empty
        name, inner = self.bound(variable, machine)
        return f"({sign} {name} \\in {self.writer.members(machine, self.binding[of], name)} : {inner.truth(body)})"

    # -- scopes --------------------------------------------------------------------------------------------------------

    def bound(self, variable: str, machine: str) -> tuple[str, _Reader]:
        """The name that a variable for a slot gets, and the scope in which it stands for it."""
        name = self.writer.names.free(variable, self.local)
        place = _Place(machine, name)
        return name, replace(self, binding={**self.binding, variable: place}, local=self.local | {name})


@dataclass(frozen=True)
class _Exchange:
    """An exchange of slots and identities that changes nothing: each is given with what it becomes."""

    slots: Mapping[int, int]
    identities: Mapping[str, str]


class TlaWriter:
    """Writes a world as a TLA+ module. Raises ``ValueError`` for a value that TLC cannot count with (a fraction)."""

    def __init__(self, world: World, *, symmetry: bool = False) -> None:
        self.world = world
        self.contract = world.contract
        self.population = Population(world.population.root, 1)
        self.observation = observation_of(world.contract)
        self.names = _Names()
        self.root = self.contract.root.name
        self.exchanges = tuple(exchanges(world)) if symmetry else ()
        self.symmetry = symmetry
        self.module = self.names.take(world.name)
        self.identities = {
            identity: self.names.take(identity)
            for identity in sorted({i for exchange in self.exchanges for i in exchange.identities})
        }
        self.aggregates = tuple(self.names.take(f"{self.root}{n + 1}") for n in range(world.population.aggregates))
        self.slots = {slot.index: self.names.take(f"{slot.machine}_{slot.label}") for slot in self.population.slots[1:]}
        self.sets = {machine.name: self.names.take(machine.name.capitalize()) for machine in self.contract.machines}
        self.above = {
            machine.name: self.names.take(f"{machine.name}_above")
            for machine in self.contract.machines
            if machine.belongs_to not in (None, self.root) and self.places(machine.name)
        }
        self.settings = {shape.name: self.names.take(shape.name) for shape in self.contract.settings}
        self.variables: dict[tuple[str, str], str] = {}
        self.constants: dict[tuple[str, str], str] = {}
        for machine in self.contract.machines:
            for field in machine.fields:
                key = (machine.name, field.name)
                if not self.places(machine.name) or self.observation[key] is Observed.NOT:
                    continue
                (self.constants if field.fixed else self.variables)[key] = self.names.take("_".join(key))
        self.actions = {
            transition_name(operation, case): self.names.take(transition_name(operation, case).replace("/", "__"))
            for operation in world.operations()
            for case in operation.cases
        }
        self.invariants = {invariant.name: self.names.take(invariant.name) for invariant in self.contract.invariants}

    # -- names and values ----------------------------------------------------------------------------------------------

    def places(self, machine: str) -> list[int]:
        """The slots of a machine in one aggregate, by number."""
        return [slot.index for slot in self.population.slots if slot.machine == machine]

    def literal(self, value: Value) -> str:
        """A value as TLA+ writes it. Raises ``ValueError`` for a number that is not whole."""
        match value:
            case None:
                return NULL
            case bool():
                return "TRUE" if value else "FALSE"
            case str():
                escaped = value.replace("\\", "\\\\").replace('"', '\\"')
                return self.identities.get(value) or f'"{escaped}"'
            case int():
                return str(value)
            case float():
                if not value.is_integer():
                    raise ValueError(f"world {self.world.name!r} counts with {value}; TLC needs whole seconds")
                return str(int(value))
            case _:
                assert_never(value)

    def read(self, aggregate: str, place: _Place, name: str, *, after: bool = False) -> str:
        """A field of an entity."""
        key = (place.machine, name)
        if key in self.constants:
            return self.constants[key] + (f"[{place.slot}]" if place.slot is not None else "")
        where = f"[{aggregate}]" + (f"[{place.slot}]" if place.slot is not None else "")
        return self.variables[key] + ("'" if after else "") + where

    def members(self, machine: str, of: _Place, name: str) -> str:
        """The set of slots of a machine that belong to an entity, ``name`` being free to stand for one of them."""
        if of.slot is None:
            return self.sets[machine]
        return f"{{{name}_ \\in {self.sets[machine]} : {self.above[machine]}[{name}_] = {of.slot}}}"

    def _scope(self, aggregate: str) -> _Reader:
        return _Reader(self, aggregate, {}, {}, frozenset({aggregate}))

    def _bound(self, over: Sequence[Variable]) -> tuple[list[tuple[str, str]], _Reader]:
        """The names and sets of the variables of a statement or operation, outermost first, and their scope."""
        root = next((variable.name for variable in over if variable.machine == self.root), self.root)
        aggregate = self.names.free(root)
        reader = self._scope(aggregate)
        quantifiers = [(aggregate, self.sets[self.root])]
        for variable in over:
            if variable.machine == self.root:
                reader = replace(reader, binding={**reader.binding, variable.name: _Place(self.root, None)})
                continue
            others = [place.slot for place in reader.binding.values() if place.machine == variable.machine]
            of = _Place(self.root, None) if variable.of is None else reader.binding[variable.of]
            name, reader = reader.bound(variable.name, variable.machine)
            members = self.members(variable.machine, of, name)
            quantifiers.append((name, f"{members} \\ {{{', '.join(str(o) for o in others)}}}" if others else members))
        return quantifiers, reader

    # -- text ----------------------------------------------------------------------------------------------------------

    def written(self) -> Module:
        """The module and its configuration."""
        transitions = [
            self._action(operation, case)
            for operation in self.world.operations()
            if all(self.places(variable.machine) for variable in operation.over)
            for case in operation.cases
        ]
        parts = [
            f"---- MODULE {self.module} ----",
            _comment(f"Contract {self.contract.name}, world {self.world.name}: {self.world.meaning}."),
            "EXTENDS Integers, TLC",
            f"CONSTANTS {', '.join(self._model_values())}",
            f"VARIABLES {', '.join((CLOCK, *self.variables.values()))}",
            f"vars == <<{', '.join((CLOCK, *self.variables.values()))}>>",
            _PRELUDE,
            "\n".join(self._constants()),
            self._init(),
            self._tick(),
            *(text for _, text in transitions),
            "\n".join([f"Next ==\n    \\/ {TICK}", *(f"    \\/ {taken}" for taken, _ in transitions)]),
            "Spec == Init /\\ [][Next]_vars",
            *self._invariants(),
            *([self._symmetry()] if self._symmetric else []),
            "====",
        ]
        return Module(
            name=self.module,
            text="\n\n".join(part for part in parts if part) + "\n",
            cfg=self._cfg(),
            world=self.world,
            transitions={TICK: TICK} | {ours_to: ours for ours, ours_to in self.actions.items()},
            invariants={theirs: ours for ours, theirs in self.invariants.items()},
            fields={variable: key for key, variable in self.variables.items()},
            aggregates=self.aggregates,
            slots={name: index for index, name in self.slots.items()},
            identities={name: identity for identity, name in self.identities.items()},
        )

    def _model_values(self) -> tuple[str, ...]:
        return (NULL, *self.aggregates, *self.slots.values(), *self.identities.values())

    def _cfg(self) -> str:
        lines = ["SPECIFICATION Spec", "CONSTANTS", *(f"  {value} = {value}" for value in self._model_values())]
        if self.invariants:
            lines += ["INVARIANTS", *(f"  {name}" for name in self.invariants.values())]
        if self._symmetric:
            lines.append("SYMMETRY Symmetry")
        return "\n".join(lines) + "\n"

    def _constants(self) -> Iterator[str]:
        yield f"{self.sets[self.root]} == {{{', '.join(self.aggregates)}}}"
        for machine in self.contract.machines:
            places = self.places(machine.name)
            if machine.name != self.root:
                yield f"{self.sets[machine.name]} == {{{', '.join(self.slots[place] for place in places)}}}"
            if machine.name in self.above:
                over = {place: self.slots[self.population.slots[place].parent] for place in places}
                yield f"{self.above[machine.name]} == {self._function(over)}"
        for name, operator in self.settings.items():
            yield f"{operator} == {self.literal(self.world.profile()[name])}"
        for (machine_name, field), operator in self.constants.items():
            fixed = {
                place: self.literal(self.population.slots[place].fixed.get(field))
                for place in self.places(machine_name)
            }
            yield f"{operator} == {fixed[0] if machine_name == self.root else self._function(fixed)}"

    def _function(self, over: Mapping[int, str]) -> str:
        return " @@ ".join(f"{self.slots[place]} :> {value}" for place, value in over.items())

    def _kept(self, machine: str, field: str, value: Value) -> str:
        """A value as the variable of its field keeps it."""
        if self.observation[(machine, field)] is Observed.NULLNESS and value is not None:
            return self.literal(PRESENT)
        return self.literal(value)

    def _init(self) -> str:
        semantics = Semantics(self.contract, self.population, self.world.profile())
        choices = [semantics.empty_rows()]
        if self.world.legacy:
            choices.extend(rows for _, rows in semantics.legacy_rows())
        aggregate = self.names.free(self.root)
        lines = [f"{CLOCK} = 0"]
        for (machine, field), variable in self.variables.items():
            rows = [self._initial(machine, field, choice) for choice in choices]
            lines.append(f"{variable} = [{aggregate} \\in {self.sets[self.root]} |-> {_chosen(rows, aggregate)}]")
        if len(choices) == 1:
            return "Init ==\n" + "\n".join(f"    /\\ {line}" for line in lines)
        begin = f"Init == \\E start \\in [{self.sets[self.root]} -> 1..{len(choices)}] :"
        return begin + "\n" + "\n".join(f"    /\\ {line}" for line in lines)

    def _initial(self, machine: str, field: str, rows: Sequence[Row]) -> str:
        if machine == self.root:
            return self._kept(machine, field, rows[0][field])
        values = {place: self._kept(machine, field, rows[place][field]) for place in self.places(machine)}
        if len(set(values.values())) == 1:
            name = self.names.free(machine, frozenset({self.names.free(self.root)}))
            return f"[{name} \\in {self.sets[machine]} |-> {next(iter(values.values()))}]"
        return f"({self._function(values)})"

    def _tick(self) -> str:
        unchanged = ", ".join(self.variables.values())
        return (
            f"{TICK} ==\n    /\\ {CLOCK} + {self.world.tick} <= {self.world.horizon}\n"
            f"    /\\ {CLOCK}' = {CLOCK} + {self.world.tick}\n    /\\ UNCHANGED <<{unchanged}>>"
        )

    def _action(self, operation: Operation, case: Case) -> tuple[str, str]:
        """The call of an action by ``Next``, and its definition."""
        quantifiers, reader = self._bound(operation.over)
        formals = [name for name, _ in quantifiers]
        arguments: dict[str, tuple[str, bool]] = {}
        given: list[str] = []
        for parameter in operation.parameters:
            choices = self.world.choices(operation, parameter.name)
            outside = self._scope(formals[0])
            values = [outside.value(choice) for choice in choices]
            nullable = any(outside.nullable(choice) for choice in choices)
            if len(choices) == 1:
                # A single choice needs no quantifier: it is written where it is read.
                arguments[parameter.name] = (values[0], nullable)
                continue
            name = self.names.free(parameter.name, reader.local)
            reader = replace(reader, local=reader.local | {name})
            arguments[parameter.name] = (name, nullable)
            if all(isinstance(choice, Const) for choice in choices):
                quantifiers.append((name, f"{{{', '.join(dict.fromkeys(values))}}}"))
                continue
            # TLC tells actions apart by constants only, so an argument that depends on the clock is chosen by number.
            number = self.names.free(f"{parameter.name}_choice", reader.local)
            reader = replace(reader, local=reader.local | {number})
            quantifiers.append((number, f"1..{len(values)}"))
            cases = " [] ".join(f"{number} = {n} -> {value}" for n, value in enumerate(values, start=1))
            given.append(f"{name} == CASE {cases}")
        formals = [name for name, _ in quantifiers]
        reader = replace(reader, arguments=arguments)
        lines = [_condition(guard.term, reader) for guard in (*operation.guards, *case.when)]
        lines.extend(self._effects(case, reader))
        action = self.actions[transition_name(operation, case)]
        body = "\n".join(f"    /\\ {line}" for line in lines)
        if given:
            body = "    LET " + "\n        ".join(given) + "\n    IN\n" + body
        text = f"{_comment(case.meaning or operation.meaning)}\n{action}({', '.join(formals)}) ==\n{body}"
        called = " : ".join(f"\\E {name} \\in {domain}" for name, domain in quantifiers)
        return f"{called} : {action}({', '.join(formals)})", text

    def _effects(self, case: Case, reader: _Reader) -> Iterator[str]:
        """What a case makes of each variable: the changed ones in their order, then those that stay."""
        direct: dict[tuple[str, str], list[tuple[_Place, str]]] = {}
        swept: dict[tuple[str, str], list[tuple[ForEach, ValueTerm]]] = {}
        for assignment in case.effect:
            place = reader.binding[assignment.field.entity]
            key = (place.machine, assignment.field.name)
            if key in self.variables:
                direct.setdefault(key, []).append((place, self._becomes(key, assignment.value, reader)))
        for each in case.also:
            for assignment in each.effect:
                key = (each.subject.machine, assignment.field.name)
                if key in self.variables:
                    swept.setdefault(key, []).append((each, assignment.value))
        for key in sorted(direct.keys() | swept.keys(), key=list(self.variables).index):
            variable, at = self.variables[key], f"![{reader.aggregate}]"
            if key not in swept:
                changes = [f"{at}{f'[{p.slot}]' if p.slot is not None else ''} = {v}" for p, v in direct[key]]
                yield f"{variable}' = [{variable} EXCEPT {', '.join(changes)}]"
            else:
                rows = self._swept(key, direct.get(key, []), swept[key], reader)
                yield f"{variable}' = [{variable} EXCEPT {at} = {rows}]"
        unchanged = [CLOCK, *(v for key, v in self.variables.items() if key not in direct and key not in swept)]
        yield f"UNCHANGED <<{', '.join(unchanged)}>>"

    def _becomes(self, key: tuple[str, str], value: ValueTerm, reader: _Reader) -> str:
        if self.observation[key] is not Observed.NULLNESS:
            return reader.value(value)
        match reader.missing(value):
            case "TRUE":
                return NULL
            case "FALSE":
                return self.literal(PRESENT)
            case missing:
                return f"(IF {missing} THEN {NULL} ELSE {self.literal(PRESENT)})"

    def _swept(
        self,
        key: tuple[str, str],
        direct: Sequence[tuple[_Place, str]],
        swept: Sequence[tuple[ForEach, ValueTerm]],
        reader: _Reader,
    ) -> str:
        """All values that a field has after a step that changes a set of rows: what comes last has the last word."""
        machine, _ = key
        name = self.names.free(machine, reader.local)
        inside = replace(reader, local=reader.local | {name})
        value = f"{self.variables[key]}[{reader.aggregate}][{name}]"
        for place, assigned in direct:
            value = f"IF {name} = {place.slot} THEN {assigned} ELSE {value}"
        for each, term in swept:
            kin, one = self._chain(each, name, inside)
            changed = self._becomes(key, term, one)
            condition = " /\\ ".join((*kin, one.truth(each.where)))
            value = f"IF {condition} THEN {changed} ELSE {value}"
        return f"[{name} \\in {self.sets[machine]} |-> {value}]"

    def _chain(self, each: ForEach, name: str, reader: _Reader) -> tuple[list[str], _Reader]:
        """The scope in which ``name`` is the entity that is changed, and what tells that it is one of those asked."""
        binding = dict(reader.binding)
        expression = name
        conditions: list[str] = []
        for variable in reversed(each.over):
            binding[variable.name] = _Place(variable.machine, expression)
            above = self.above.get(variable.machine)
            if above is not None:
                expression = f"{above}[{expression}]"
        top = each.over[0]
        assert top.of is not None, f"{top.name} does not say to what it belongs"
        owner = reader.binding[top.of].slot
        if owner is not None:
            conditions.append(f"{expression} = {owner}")
        return conditions, replace(reader, binding=binding)

    def _invariants(self) -> Iterator[str]:
        for invariant in self.contract.invariants:
            name = self.invariants[invariant.name]
            if all(self.places(variable.machine) for variable in invariant.over):
                quantifiers, reader = self._bound(invariant.over)
                begin = " : ".join(f"\\A {variable} \\in {domain}" for variable, domain in quantifiers)
                said = f"{begin} :\n        {reader.truth(invariant.statement)}"
            else:
                said = "TRUE"
            yield f"{_comment(f'{invariant.clause}: {invariant.meaning}')}\n{name} ==\n    {said}"

    # -- symmetry ------------------------------------------------------------------------------------------------------

    @cached_property
    def _symmetric(self) -> bool:
        return self.symmetry and (len(self.aggregates) > 1 or bool(self.exchanges))

    def _symmetry(self) -> str:
        parts = [f"Permutations({self.sets[self.root]})"] if len(self.aggregates) > 1 else []
        if self.exchanges:
            parts.append("{" + ", ".join(self._permutation(exchange) for exchange in self.exchanges) + "}")
        return "Symmetry == " + " \\cup ".join(parts)

    def _permutation(self, exchange: _Exchange) -> str:
        pairs = [(self.slots[one], self.slots[other]) for one, other in exchange.slots.items()]
        pairs += [(self.identities[one], self.identities[other]) for one, other in exchange.identities.items()]
        return " @@ ".join(f"{one} :> {other}" for one, other in pairs)


def _comment(text: str) -> str:
    """One line of comment, in ASCII, for the parser of TLC knows no more."""
    plain = " ".join(text.split()).encode("ascii", "replace").decode("ascii").replace("?", ".")
    return f"\\* {plain}"


def _condition(term: TruthTerm, reader: _Reader) -> str:
    """A conjunct of an action. TLC would take each true part of a disjunction for a step of its own."""
    said = reader.truth(term)
    return f"{said} = TRUE" if any(isinstance(part, AnyOf | Some) for part in walk(term)) else said


def _chosen(rows: Sequence[str], aggregate: str) -> str:
    if len(set(rows)) == 1:
        return rows[0]
    return "CASE " + " [] ".join(f"start[{aggregate}] = {number} -> {row}" for number, row in enumerate(rows, start=1))


# --- which slots are alike --------------------------------------------------------------------------------------------


def exchanges(world: World) -> Iterator[_Exchange]:
    """The exchanges of two sibling slots, with all that goes with them, that leave the world as it is."""
    slots = world.population.slots
    for one, other in combinations(slots[1:], 2):
        if one.parent != other.parent or one.machine != other.machine:
            continue
        below = _paired(world.population, one.index, other.index)
        if below is None:
            continue
        identities = _identities(world, below)
        if identities is None:
            continue
        moved = {**dict(below), **{b: a for a, b in below}}
        if not identities:
            yield _Exchange(moved, {})
            continue
        whole = _extended(world, identities)
        if whole is not None and _unnamed(world, identities):
            yield _Exchange(whole, identities)


def _paired(population: Population, one: int, other: int) -> list[tuple[int, int]] | None:
    """The slots of one subtree with those of another of the same shape, in the order written; None if they differ."""
    pairs = [(one, other)]
    slots = population.slots
    mine = [slot for slot in slots if slot.parent == one]
    theirs = [slot for slot in slots if slot.parent == other]
    if [slot.machine for slot in mine] != [slot.machine for slot in theirs]:
        return None
    for a, b in zip(mine, theirs, strict=True):
        deeper = _paired(population, a.index, b.index)
        if deeper is None:
            return None
        pairs.extend(deeper)
    return pairs


def _identity_fields(world: World, machine: str) -> dict[str, Field]:
    return {field.name: field for field in world.contract.machine(machine).fields if field.sort is Sort.IDENTITY}


def _identities(world: World, pairs: Sequence[tuple[int, int]]) -> dict[str, str] | None:
    """The exchange of identities that makes the fixed fields of paired slots equal; None when there is none."""
    slots = world.population.slots
    found: dict[str, str] = {}
    for one, other in pairs:
        kinds = _identity_fields(world, slots[one].machine)
        for name in slots[one].fixed.keys() | slots[other].fixed.keys():
            mine, theirs = slots[one].fixed.get(name), slots[other].fixed.get(name)
            if mine == theirs:
                continue
            if name not in kinds or not isinstance(mine, str) or not isinstance(theirs, str):
                return None
            if found.setdefault(mine, theirs) != theirs or found.setdefault(theirs, mine) != mine:
                return None
    return found


def _extended(world: World, identities: Mapping[str, str]) -> dict[int, int] | None:
    """The exchange of slots that goes with one of identities, in the whole aggregate; None when there is none.

    The slots that stay are left out.
    """
    slots = world.population.slots
    image = {0: 0}

    def renamed(index: int) -> dict[str, Value]:
        kinds = _identity_fields(world, slots[index].machine)
        return {
            name: identities.get(value, value) if name in kinds and isinstance(value, str) else value
            for name, value in slots[index].fixed.items()
        }

    if renamed(0) != dict(slots[0].fixed):
        return None
    taken: set[int] = set()
    for slot in slots[1:]:
        wanted = renamed(slot.index)
        # A slot that stays as it is stays where it is; of several that fit, the first is as good as any.
        fitting = [
            other.index
            for other in slots[1:]
            if other.machine == slot.machine
            and other.parent == image[slot.parent]
            and dict(other.fixed) == wanted
            and other.index not in taken
        ]
        if not fitting:
            return None
        image[slot.index] = slot.index if slot.index in fitting else fitting[0]
        taken.add(image[slot.index])
    return {one: other for one, other in image.items() if one != other}


def _unnamed(world: World, identities: Mapping[str, str]) -> bool:
    """Whether nothing but the fixed fields, and arguments that offer both alike, names the identities exchanged."""
    contract = world.contract
    terms: list[Term] = [
        *(guard.term for operation in contract.operations for guard in operation.guards),
        *(invariant.statement for invariant in contract.invariants),
        *(witness.statement for witness in contract.witnesses),
    ]
    for _, case in contract.transitions():
        terms.extend(guard.term for guard in case.when)
        terms.extend(assignment.value for assignment in case.effect)
        for each in case.also:
            terms.append(each.where)
            terms.extend(assignment.value for assignment in each.effect)
    named: set[Value] = set(world.profile().values())
    for term in terms:
        for part in walk(term):
            if isinstance(part, Const):
                named.add(part.value)
            elif isinstance(part, OneOf):
                named.update(part.choices)
    if world.legacy:
        named.update(value for row in contract.root.legacy_rows for value in row.fields.values())
    if named & identities.keys():
        return False
    for operation in world.operations():
        for parameter in operation.parameters:
            offered = {
                part.value
                for choice in world.choices(operation, parameter.name)
                for part in walk(choice)
                if isinstance(part, Const)
            }
            if any(value in offered and identities[value] not in offered for value in identities):
                return False
    return True


# --- asking for it ----------------------------------------------------------------------------------------------------


def tla(world: World, *, symmetry: bool = False) -> Module:
    """A world of any contract as a module and configuration that TLC accepts unchanged.

    With ``symmetry`` the configuration names the exchanges of entities that change nothing, and TLC counts states up
    to them. A world comes to its end, so TLC has to be told ``-deadlock`` (do not look for deadlocks).
    """
    return TlaWriter(world, symmetry=symmetry).written()


def write(world: World, directory: Path, symmetry: bool = False) -> tuple[Path, Path]:
    """Write the module and its configuration into a directory, which is made; the paths of the two files."""
    module = tla(world, symmetry=symmetry)
    directory.mkdir(parents=True, exist_ok=True)
    paths = directory / f"{module.name}.tla", directory / f"{module.name}.cfg"
    for path, text in zip(paths, (module.text, module.cfg), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths
