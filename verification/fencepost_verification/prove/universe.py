"""The entities that a proof speaks of, and what is supposed of them.

Theory
======
A step touches one aggregate: one root and some of what belongs to it. A statement speaks of one root and some of what
belongs to it. Rows of other aggregates are neither read nor written by the step, and the settings and the clock do not
move with it, so that a statement about another root is kept by frame. What is left is a single root, the entities of
the step and the entities of the statement, each of which may or may not be one of the step's: finitely many ways, the
*placements*. For each of them the obligation is decided for arbitrary values of all fields, and therefore for any
number of entities.

What is supposed are the invariants at *these* entities only. To suppose them of a further entity would be wrong, for it
need not exist: a contract with "no two children ever" would otherwise make everything true. Hence each entity has a
literal that says whether it is there, and an invariant is supposed where all that it speaks of is there. One solver
then serves all placements.

A contract whose terms quantify (``Every``, ``Some``) speaks of all children at once. There the invariants are supposed
of all children, with quantifiers of the solver; which children exist is told by a function from child to parent.

That something *can* be is shown by one example, and a small population will do for it. In a *finite* universe the named
entities are all there are: whoever is there belongs, nobody else does, and a quantifier is a list. Its states are
states of the other universe, so what is possible in it is possible; what is impossible in it may be possible all the
same. It has no quantifiers, and the solver finds its examples many times faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from fencepost_model.contract import Contract
from fencepost_model.shapes import Invariant, Operation, Progress, Sort, Variable
from fencepost_model.terms import Every, FieldOf, Now, Some, Term, TruthTerm, walk, walk_in_scope
from fencepost_verification.prove import smt
from fencepost_verification.prove.encoding import (
    Entity,
    Lexicon,
    Rows,
    StepScope,
    Symbol,
    formula_of,
    free,
)
from fencepost_verification.prove.smt import Expression, Formula
from fencepost_verification.prove.sorts import settings_well_formed, well_formed

Placement = Mapping[str, str]
"""Which entity, by its key, each variable stands for."""


# --- placements -------------------------------------------------------------------------------------------------------


def completed(contract: Contract, over: Sequence[Variable]) -> tuple[Variable, ...]:
    """The variables with those for the parents that a first variable leaves unsaid."""
    found: list[Variable] = []
    for variable in over:
        parent = contract.machine(variable.machine).belongs_to
        if variable.of is None and parent is not None:
            above = Variable(f"{variable.name}^", parent)
            found.extend(completed(contract, (above,)))
            found.append(Variable(variable.name, variable.machine, above.name))
        else:
            found.append(variable)
    return tuple(found)


def key_of_child(parent: str, machine: str, number: int) -> str:
    """The key of the child so numbered of an entity."""
    return f"{parent}/{machine}.{number}"


def placements(
    contract: Contract, over: Sequence[Variable], taken: frozenset[str] = frozenset()
) -> Iterator[Placement]:
    """Every way in which the variables may coincide with the entities ``taken`` or stand for others.

    Two variables never stand for one entity. Entities outside ``taken`` are alike, so each is placed on the first
    number that is free.
    """
    yield from _place(completed(contract, over), taken, {})


def _place(over: Sequence[Variable], taken: frozenset[str], placed: dict[str, str]) -> Iterator[Placement]:
    if not over:
        yield dict(placed)
        return
    variable, *rest = over
    if variable.of is None:
        yield from _place(rest, taken, {**placed, variable.name: variable.machine})
        return
    number = 0
    while True:
        key = key_of_child(placed[variable.of], variable.machine, number)
        if key not in placed.values():
            yield from _place(rest, taken, {**placed, variable.name: key})
            if key not in taken:
                return
        number += 1


def choices(contract: Contract, entities: Sequence[Entity], over: Sequence[Variable]) -> Iterator[Placement]:
    """Every way to choose different ones of the entities for the variables."""
    yield from _choose(entities, completed(contract, over), {})


def _choose(entities: Sequence[Entity], over: Sequence[Variable], chosen: dict[str, str]) -> Iterator[Placement]:
    if not over:
        yield dict(chosen)
        return
    variable, *rest = over
    for entity in entities:
        fits = entity.machine == variable.machine and entity.key not in chosen.values()
        below = None if entity.parent is None else entity.parent.key
        if fits and (variable.of is None or chosen[variable.of] == below):
            yield from _choose(entities, rest, {**chosen, variable.name: entity.key})


def step_placement(contract: Contract, operation: Operation) -> Placement:
    """The entities of a step: the first of their kind."""
    return next(placements(contract, operation.over))


def keys_changed(contract: Contract, operation: Operation) -> frozenset[str]:
    """The entities of a step, and for each set that it changes a member, which may be one of them or another."""
    placement = step_placement(contract, operation)
    keys = frozenset(placement.values())
    found = set(keys)
    for case in operation.cases:
        for each in case.also:
            top = each.over[0].of or ""
            for members in _place(each.over, keys, {top: placement[top]}):
                found |= set(members.values())
    return frozenset(found)


def bound_placements(contract: Contract, progress: Progress, operation: Operation) -> Iterator[Placement]:
    """On which entities an operation is called that is bound to act on those of a progress statement.

    Where the two name a variable alike they mean one entity, and so they do of what it belongs to, by whatever name or
    none. A further variable of the operation stands for an arbitrary further entity.
    """
    (named, *_) = placements(contract, progress.over)
    implied = _belonged_to(completed(contract, operation.over), named)
    for placement in placements(contract, operation.over, frozenset(named.values())):
        further = {key for name, key in placement.items() if name not in implied and "/" in key}
        if all(named.get(name, key) == key for name, key in placement.items()) and not further & set(named.values()):
            yield placement


def _belonged_to(over: Sequence[Variable], named: Iterable[str]) -> frozenset[str]:
    """The names given and those of all variables that the variables so named belong to."""
    found = set(named)
    for variable in reversed(over):
        if variable.name in found and variable.of is not None:
            found.add(variable.of)
    return frozenset(found)


def quantifies(contract: Contract) -> bool:
    """Whether some term of the contract speaks of all or some children of an entity."""

    def terms() -> Iterator[Term]:
        for operation in contract.operations:
            yield from (guard.term for guard in operation.guards)
            for case in operation.cases:
                yield from (guard.term for guard in case.when)
                yield from (assignment.value for assignment in case.effect)
                for each in case.also:
                    yield each.where
                    yield from (assignment.value for assignment in each.effect)
        yield from (invariant.statement for invariant in contract.invariants)
        yield from (step_property.statement for step_property in contract.step_properties)
        yield from (progress.live for progress in contract.progress)
        yield from (machine.legacy for machine in contract.machines if machine.legacy is not None)

    return any(isinstance(part, Every | Some) for term in terms() for part in walk(term))


# --- the universe -----------------------------------------------------------------------------------------------------


class Universe:
    """The constants of a proof: entities with their fields, settings, the clock; and one solver that knows them.

    It is both the ``Rows`` of an arbitrary lawful state and the ``Children`` of its entities. ``finite``: there are no
    entities but the named ones.
    """

    def __init__(self, contract: Contract, keys: Iterable[str], *, milliseconds: int, finite: bool = False) -> None:
        self.contract = contract
        self.lexicon = Lexicon()
        self.finite = finite
        self.quantified = quantifies(contract) and not finite
        self.supposed: tuple[Invariant, ...] = (*well_formed(contract), *contract.invariants)
        self.entities: dict[str, Entity] = {}
        self._there: dict[str, Expression] = {}
        self._declared = {(m.name, f.name): f for m in contract.machines for f in m.fields}
        self._sorts = {machine.name: smt.element_sort(machine.name) for machine in contract.machines}
        self._functions: dict[tuple[str, str], smt.Function] = {}
        self._symbols: dict[tuple[Entity, str], Symbol] = {}
        self.now = self.instant("now")
        self.settings = {
            shape.name: free(shape.sort, self.leaf(f"setting {shape.name}"), nullable=False, listed=False)
            for shape in contract.settings
        }
        self.solver = smt.Solver(milliseconds)
        for needed in sorted({part for key in keys for part in _chain(key)}):
            self._add(needed)

    # -- constants -----------------------------------------------------------------------------------------------------

    @staticmethod
    def leaf(name: str, made: list[Expression] | None = None) -> Callable[[str, smt.SortOf], Expression]:
        """What makes the constants of a symbol called ``name``, and adds them to ``made``."""

        def make(suffix: str, sort: smt.SortOf) -> Expression:
            constant = smt.constant(name + suffix, sort)
            if made is not None:
                made.append(constant)
            return constant

        return make

    def instant(self, name: str) -> Symbol:
        """An arbitrary instant."""
        return free(Sort.INSTANT, self.leaf(name), nullable=False, listed=False)

    def parameters(self, operation: Operation, leaves: list[Expression] | None = None) -> dict[str, Symbol]:
        """Arbitrary arguments of an operation; that they are well-formed is stated apart.

        What the solver chooses for them is added to ``leaves``.
        """
        symbols: dict[str, Symbol] = {}
        for parameter in operation.parameters:
            leaf = self.leaf(f"{operation.name}.{parameter.name}", leaves)
            listed = bool(parameter.words)
            symbols[parameter.name] = free(parameter.sort, leaf, nullable=parameter.nullable, listed=listed)
        return symbols

    def _add(self, key: str) -> None:
        parent_key, _, place = key.rpartition("/")
        machine = place.rpartition(".")[0] if parent_key else key
        parent = self.entities[parent_key] if parent_key else None
        self.entities[key] = Entity(key, machine, parent, smt.constant(key, self._sorts[machine]))
        self._there[key] = smt.constant(f"there {key}", smt.BOOL)

    def there(self, key: str) -> Expression:
        """The literal that says that an entity exists and belongs to its parent."""
        return self._there[key]

    def present(self, keys: Iterable[str]) -> list[Expression]:
        """The literals of entities and of all that they belong to."""
        return [self.there(key) for key in sorted({part for key in keys for part in _chain(key)})]

    # -- rows ----------------------------------------------------------------------------------------------------------

    def read(self, entity: Entity, name: str) -> Symbol:
        """A field of an entity in the arbitrary state."""
        cached = self._symbols.get((entity, name))
        if cached is None:
            declared = self._declared[(entity.machine, name)]

            def leaf(suffix: str, sort: smt.SortOf) -> Expression:
                if self.finite:
                    return smt.constant(f"{entity.key}.{name}{suffix}", sort)
                return smt.apply(self.mapping(entity.machine, name + suffix, sort), entity.handle)

            cached = free(declared.sort, leaf, nullable=True, listed=bool(declared.words))
            self._symbols[(entity, name)] = cached
        return cached

    def mapping(self, machine: str, name: str, codomain: smt.SortOf) -> smt.Function:
        """The function from the entities of a machine to what is called ``name`` of each."""
        if (machine, name) not in self._functions:
            self._functions[(machine, name)] = smt.function(f"{machine}.{name}", self._sorts[machine], codomain)
        return self._functions[(machine, name)]

    # -- children ------------------------------------------------------------------------------------------------------

    def members(self, machine: str, of: Entity) -> Sequence[Entity] | None:
        """The named ones where there are no others; else None, for there may be any number of them."""
        if not self.finite:
            return None
        return [entity for entity in self.entities.values() if entity.machine == machine and entity.parent is of]

    def belongs(self, child: Entity, of: Entity) -> Formula:
        """Whether an entity is a child of another."""
        if self.finite:
            return self.there(child.key) if child.parent is of else False
        parents = self.mapping(child.machine, "^", self._sorts[of.machine])
        return smt.same(smt.apply(parents, child.handle), of.handle)

    def variable(self, name: str, machine: str, of: Entity) -> Entity:
        """A variable for a quantifier of the solver."""
        return Entity(name, machine, of, smt.constant(name, self._sorts[machine]), bound=True)

    def elements(self, model: smt.Model, machine: str) -> tuple[Expression, ...]:
        """The entities of a machine that a model knows."""
        return model.universe(self._sorts[machine])

    # -- scopes --------------------------------------------------------------------------------------------------------

    def binding(self, placement: Placement) -> dict[str, Entity]:
        """The entities that variables stand for."""
        return {name: self.entities[key] for name, key in placement.items()}

    def scope(
        self,
        binding: Mapping[str, Entity],
        *,
        before: Rows | None = None,
        after: Rows | None = None,
        clock: Symbol | None = None,
        params: Mapping[str, Symbol] | None = None,
    ) -> StepScope:
        """What terms are read against; unless told otherwise in the arbitrary state, at its own time."""
        return StepScope(
            self.lexicon,
            binding,
            before or self,
            clock or self.now,
            self.settings,
            self,
            params or {},
            after,
        )

    # -- what is supposed ----------------------------------------------------------------------------------------------

    @cached_property
    def lawful(self) -> tuple[tuple[Invariant, Formula], ...]:
        """Each invariant with what it says of the entities, wherever they are there."""
        return tuple((invariant, smt.conj([said, *self._closure(invariant)])) for invariant, said in self.lawful_here)

    @cached_property
    def lawful_here(self) -> tuple[tuple[Invariant, Formula], ...]:
        """The same of the named entities alone, and nothing of others that may exist: less than ``lawful``."""
        return tuple((invariant, smt.conj(self._instances(invariant))) for invariant in self.supposed)

    @cached_property
    def readings(self) -> tuple[tuple[Invariant, Reading], ...]:
        """Each invariant with what it looks at."""
        return tuple((invariant, Reading.of(invariant.statement)) for invariant in self.supposed)

    @cached_property
    def background(self) -> Formula:
        """What is true whatever the invariants say: sorts of settings, and that different entities are different."""
        parts: list[Formula] = [formula_of(settings_well_formed(self.contract), self.scope({}))]
        siblings: dict[str, list[Expression]] = {}
        for entity in self.entities.values():
            siblings.setdefault(entity.machine, []).append(entity.handle)
            if self.quantified and entity.parent is not None:
                parts.append(smt.implies(self.there(entity.key), self.belongs(entity, entity.parent)))
        parts.extend(smt.distinct(handles) for handles in siblings.values())
        return smt.conj(parts)

    def _instances(self, invariant: Invariant) -> Iterator[Formula]:
        """What an invariant says of each choice among the entities, under the condition that they are there."""
        for placement in choices(self.contract, tuple(self.entities.values()), invariant.over):
            said = formula_of(invariant.statement, self.scope(self.binding(placement)))
            yield smt.disj([*(smt.neg(self.there(key)) for key in sorted(placement.values())), said])

    def _closure(self, invariant: Invariant) -> Iterator[Formula]:
        """What an invariant says of all children, where terms quantify."""
        over = completed(self.contract, invariant.over)
        if not self.quantified or len(over) == 1:
            return
        binding: dict[str, Entity] = {}
        conditions: list[Formula] = []
        bound: list[Entity] = []
        for variable in over:
            if variable.of is None:
                binding[variable.name] = self.entities[variable.machine]
                continue
            parent = binding[variable.of]
            entity = self.variable(f"{invariant.name} {variable.name}", variable.machine, parent)
            conditions.append(self.belongs(entity, parent))
            conditions.extend(
                smt.neg(smt.same(entity.handle, other.handle)) for other in bound if other.machine == entity.machine
            )
            bound.append(entity)
            binding[variable.name] = entity
        said = formula_of(invariant.statement, self.scope(binding))
        yield smt.for_all([entity.handle for entity in bound], smt.implies(smt.conj(conditions), said))


def _chain(key: str) -> Iterator[str]:
    """The keys of an entity and of all that it belongs to."""
    while key:
        yield key
        key = key.rpartition("/")[0]


@dataclass(frozen=True)
class Reading:
    """What a statement looks at: fields by variable, fields of all entities that a quantifier runs over, the clock."""

    fields: frozenset[tuple[str, str]]
    quantified: frozenset[tuple[str, str]]
    """(machine, field)"""
    clock: bool

    @classmethod
    def of(cls, statement: TruthTerm) -> Reading:
        """The reading of one statement."""
        parts = tuple(walk_in_scope(statement, {}))
        reads = [(part, bound) for part, bound in parts if isinstance(part, FieldOf)]
        return cls(
            frozenset((part.entity, part.name) for part, bound in reads if part.entity not in bound),
            frozenset((bound[part.entity], part.name) for part, bound in reads if part.entity in bound),
            any(isinstance(part, Now) for part, _ in parts),
        )

    def at(self, placement: Placement) -> frozenset[tuple[str, str]]:
        """The fields that it looks at by name, each by the key of its entity."""
        return frozenset((placement[entity], name) for entity, name in self.fields)
