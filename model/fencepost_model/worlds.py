"""Small worlds: a population, settings, a clock that stops, and the arguments that are tried.

Bounds live here and never in the contract: a world may leave a call out (it offers only some arguments, its clock stops
at a horizon), but it never changes what a call does. Arguments are value terms, so that ``now + 3`` can be offered.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

from fencepost_model.contract import Contract, transition_name
from fencepost_model.semantics import Population
from fencepost_model.shapes import Field, Operation, Sort
from fencepost_model.terms import Const, Now, Plus, Value, ValueTerm


@dataclass(frozen=True)
class World:
    """A bounded world for a contract.

    ``horizon`` and ``tick`` are seconds; the clock runs from 0 to the horizon. ``arguments`` maps
    ``operation.parameter`` (or ``*.parameter`` for every operation that has it) to the values tried. Operations listed
    in ``without`` are not called. ``untaken`` and ``unreached`` name the transitions and witnesses that this world
    cannot show, because of its settings; one that shows up all the same is a fault, as is one that is missing without
    being named.

    Each member of the population has the fixed fields of its machine, as their sorts declare them; proofs suppose that
    much of every world.
    """

    name: str
    meaning: str
    contract: Contract
    population: Population
    horizon: int
    arguments: Mapping[str, tuple[ValueTerm, ...]]
    settings: Mapping[str, Value] = field(default_factory=dict[str, Value])
    tick: int = 1
    legacy: bool = True
    without: frozenset[str] = frozenset()
    untaken: frozenset[str] = frozenset()
    unreached: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.tick <= 0 or self.horizon < 0:
            raise ValueError(f"world {self.name!r} needs a tick above 0 and a horizon from 0 on; give it such numbers")
        operations = {operation.name for operation in self.contract.operations}
        parameters = {(o.name, p.name) for o in self.contract.operations for p in o.parameters}
        transitions = {transition_name(operation, case) for operation, case in self.contract.transitions()}
        self._insist("without", self.without, operations)
        self._insist("untaken", self.untaken, transitions)
        self._insist("unreached", self.unreached, {witness.name for witness in self.contract.witnesses})
        self._insist("settings", self.settings, self.contract.defaults())
        arguments = {f"{operation}.{parameter}" for operation, parameter in parameters}
        self._insist("arguments", self.arguments, arguments | {f"*.{parameter}" for _, parameter in parameters})
        for operation in self.operations():
            for parameter in operation.parameters:
                self.choices(operation, parameter.name)
        for slot in self.population.slots:
            fixed = {each.name: each for each in self.contract.machine(slot.machine).fields if each.fixed}
            if self.contract.checked:
                # A draft as it was printed may begin with rows that nothing in it creates.
                self._insist(f"fixed fields of {slot.label}", slot.fixed, fixed)
            for each in fixed.values():
                self._insist_on_value(slot.label, each, slot.fixed.get(each.name))

    def _insist_on_value(self, label: str, declared: Field, value: Value) -> None:
        if value is None and declared.nullable:
            return
        if value is None or not _is_of_sort(value, declared):
            wanted = (
                f"one of {', '.join(declared.words)}" if declared.words else f"a value of sort {declared.sort.value}"
            )
            told = "no value" if value is None else repr(value)
            raise ValueError(f"world {self.name!r} gives {label!r} {told} for {declared.name}; give it {wanted}")

    def _insist(self, what: str, names: Iterable[str], known: Container[str]) -> None:
        for name in names:
            if name not in known:
                told = f"world {self.name!r} has {name!r} among its {what}"
                raise ValueError(f"{told}, which {self.contract.name} lacks; mend the name")

    def operations(self) -> Iterator[Operation]:
        """The operations that are called in this world."""
        return (operation for operation in self.contract.operations if operation.name not in self.without)

    def profile(self) -> dict[str, Value]:
        """The value of every setting."""
        return {**self.contract.defaults(), **self.settings}

    def choices(self, operation: Operation, parameter: str) -> tuple[ValueTerm, ...]:
        """The values tried for one parameter. Raises ``ValueError`` when the world offers none."""
        for key in (f"{operation.name}.{parameter}", f"*.{parameter}"):
            if key in self.arguments:
                return self.arguments[key]
        raise ValueError(f"world {self.name!r} offers no value for {operation.name}.{parameter}; add it to arguments")

    def argument_sets(self, operation: Operation) -> Iterator[dict[str, ValueTerm]]:
        """Every combination of arguments with which the operation is called."""
        names = [parameter.name for parameter in operation.parameters]
        for values in product(*(self.choices(operation, name) for name in names)):
            yield dict(zip(names, values, strict=True))


def _is_of_sort(value: Value, declared: Field) -> bool:
    """Whether a value that is not null is one that a field can hold."""
    if isinstance(value, bool) or declared.sort is Sort.FLAG:
        return isinstance(value, bool) and declared.sort is Sort.FLAG
    if declared.words and value not in declared.words:
        return False
    match declared.sort:
        case Sort.WORD | Sort.TEXT:
            return isinstance(value, str)
        case Sort.IDENTITY:
            return isinstance(value, str | int)
        case Sort.COUNT:
            return isinstance(value, int) and value >= 0
        case Sort.INSTANT | Sort.DURATION:
            return isinstance(value, int | float)


def const(*values: Value) -> tuple[ValueTerm, ...]:
    """Literal arguments."""
    return tuple(Const(value) for value in values)


def later(*seconds: int) -> tuple[ValueTerm, ...]:
    """Instants so many seconds from now."""
    return tuple(Plus(Now(), Const(second)) for second in seconds)
