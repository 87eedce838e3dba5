"""Says that one contract does only what another allows, and writes that down as step properties to be proved.

Theory
======
A concrete contract *refines* an abstract one when each of its runs, seen through a mapping of the fields, is a run of
the abstract contract. That follows from two things which speak of one step only: what a run begins with is seen as
something with which an abstract run may begin; and each concrete transition is seen either as a step of an abstract
operation that was allowed there, or as no step at all (a *stutter*). Everything that holds of all abstract runs, each
invariant and each step property, then holds of the concrete ones as they are seen.

So there is no engine for it: ``refines`` is a program that makes a contract. The concrete contract gets one statement
for each transition, "under the conditions of this case the abstract guards hold, one abstract case is open, and each
field is seen to change as that case says", and the prover and the explorer judge it like any other. What the proof
needs to know about concrete states is stated among the invariants of the concrete contract.

An **image** says how the entities of one abstract machine are seen: for each field a value over concrete entities. An
abstract entity may be a concrete one, or a view of one (a token that is kept in columns of the row itself). Entities
that a step does not touch must be seen unchanged too.

What is left out is said. A field that the concrete contract does not know is *unseen*, with the reason; conjuncts that
read it are not demanded (``left_out`` lists them). A transition that the abstract contract does not allow is
*excepted*, with the reason and with what it would have to be otherwise, so that a test can show the exception to be
needed (``without_exception``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from fencepost_model.contract import Contract, transition_name
from fencepost_model.shapes import Case, Guard, Operation, StepProperty, Variable
from fencepost_model.terms import (
    AllOf,
    AnyOf,
    Bare,
    Choose,
    Const,
    Equal,
    Every,
    FieldOf,
    Holds,
    Not,
    OneOf,
    Param,
    Same,
    Setting,
    Some,
    Term,
    Truth,
    TruthTerm,
    Value,
    ValueTerm,
    all_of,
    any_of,
    implies,
    rewritten_truth,
    rewritten_value,
    value_in_the_state_after,
    value_of,
    walk,
)


class IllFormedRefinement(ValueError):
    """The refinement cannot be read; the message is one sentence that says what to mend."""


@dataclass(frozen=True)
class Image:
    """How the entities of an abstract machine are seen in the concrete contract.

    ``over`` names the concrete entities of which the values speak, as an operation would; the last one is what stands
    for the abstract entity. ``fields`` gives a value for each abstract field, ``unseen`` the reason for each field
    without one. A field that is also in ``uncompared`` is read by conjuncts, but that it changes as it should is not
    demanded, for the reason given.
    """

    machine: str
    over: tuple[Variable, ...]
    fields: Mapping[str, ValueTerm]
    unseen: Mapping[str, str] = field(default_factory=dict[str, str])
    uncompared: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def subject(self) -> Variable:
        """The concrete entity that stands for the abstract one."""
        return self.over[-1]

    @property
    def spoken_of(self) -> tuple[Variable, ...]:
        """The concrete entities that the values read, and the one that stands for the abstract one."""
        read = {p.entity for value in self.fields.values() for p in walk(value) if isinstance(p, FieldOf)}
        return tuple(v for v in self.over if v.name in read or v == self.subject)

    @property
    def compared(self) -> tuple[str, ...]:
        """The fields of which each change is demanded."""
        return tuple(name for name in self.fields if name not in self.uncompared)


@dataclass(frozen=True)
class Performs:
    """The transition is a step of an abstract operation.

    ``arguments`` gives a value over the concrete entities and arguments for each abstract parameter; it may read the
    state after the step. ``entities`` names, for an abstract variable, the concrete one where the concrete operation
    calls it otherwise than the image does.
    """

    operation: str
    arguments: Mapping[str, ValueTerm] = field(default_factory=dict[str, ValueTerm])
    entities: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Stutters:
    """The transition is not seen: no field of the abstract contract changes."""


@dataclass(frozen=True)
class Excepted:
    """The abstract contract does not allow the transition; ``otherwise`` is what it would be but for the reason.

    With ``where`` (over the entities of the transition) only those of its steps are excepted; the others are demanded.
    """

    reason: str
    otherwise: Performs | tuple[Performs, ...] | Stutters
    where: TruthTerm = Truth(True)


SeenAs: TypeAlias = Performs | tuple[Performs, ...] | Stutters | Excepted
"""What a concrete transition is seen as; of several abstract steps it must be one."""

STUTTER = Stutters()


@dataclass(frozen=True)
class Refinement:
    """That ``concrete`` does only what ``abstract`` allows, seen through ``images``.

    ``steps`` maps each concrete transition (by ``transition_name``, or an operation's name for all its cases) to what
    it is seen as. ``settings`` gives a value for abstract settings that the concrete contract does not have under the
    same name. Raises ``IllFormedRefinement`` when the parts do not fit together.
    """

    name: str
    clause: str
    concrete: Contract
    abstract: Contract
    images: tuple[Image, ...]
    steps: Mapping[str, SeenAs]
    settings: Mapping[str, ValueTerm] = field(default_factory=dict[str, ValueTerm])

    def __post_init__(self) -> None:
        for complaint in complaints(self):
            raise IllFormedRefinement(complaint)

    def image_of(self, machine: str) -> Image:
        """How an abstract machine is seen; raises ``KeyError`` when it is not."""
        for image in self.images:
            if image.machine == machine:
                return image
        raise KeyError(machine)

    def seen_as(self, operation: Operation, case: Case) -> SeenAs:
        """What a concrete transition is seen as; raises ``KeyError`` when nothing is said about it."""
        name = transition_name(operation, case)
        return self.steps[name] if name in self.steps else self.steps[operation.name]

    def exceptions(self) -> dict[str, str]:
        """The transitions that the abstract contract does not allow, with the reasons."""
        return {name: seen.reason for name, seen in self.steps.items() if isinstance(seen, Excepted)}


def same_fields(contract: Contract, machine: str, *over: Variable) -> Image:
    """The image of a machine that the concrete contract has as well, field for field."""
    subject = over[-1].name
    return Image(machine, over, {f.name: FieldOf(subject, f.name) for f in contract.machine(machine).fields})


def without_exception(refinement: Refinement, transition: str) -> Refinement:
    """The refinement that makes no exception of a transition. Raises ``KeyError`` when it is none."""
    seen = refinement.steps[transition]
    if not isinstance(seen, Excepted):
        raise KeyError(transition)
    return replace(refinement, steps={**refinement.steps, transition: seen.otherwise})


# --- what can be wrong ------------------------------------------------------------------------------------------------


def complaints(refinement: Refinement) -> Iterator[str]:
    """One sentence for each thing that is wrong with a refinement, the most basic first."""
    yield from _image_complaints(refinement)
    yield from _beginning_complaints(refinement)
    yield from _step_complaints(refinement)


def _image_complaints(refinement: Refinement) -> Iterator[str]:
    abstract, concrete = refinement.abstract, refinement.concrete
    machines = {machine.name: machine for machine in abstract.machines}
    for name in sorted(machines.keys() - {image.machine for image in refinement.images}):
        yield f"{refinement.name} does not say how a {name} is seen; give an image of it"
    for image in refinement.images:
        if image.machine not in machines:
            yield f"{refinement.name} has an image of {image.machine!r}, which {abstract.name} lacks; mend the name"
            continue
        fields = {declared.name for declared in machines[image.machine].fields}
        for name in sorted(fields - image.fields.keys() - image.unseen.keys()):
            yield (
                f"{refinement.name} gives no value for {image.machine}.{name}; "
                f"give one, or list it as unseen with the reason"
            )
        for name in sorted((image.fields.keys() | image.unseen.keys()) - fields):
            yield f"{refinement.name} speaks of {image.machine}.{name}, which is no field of {abstract.name}; remove it"
        for name in sorted(image.uncompared.keys() - image.fields.keys()):
            yield f"{refinement.name} does not compare {image.machine}.{name}, of which it gives no value; give one"
        for name in sorted(image.fields.keys() & image.unseen.keys()):
            yield f"{refinement.name} gives a value for {image.machine}.{name} and calls it unseen; choose one"
        bound = {variable.name: variable.machine for variable in image.over}
        if not image.over:
            yield f"{refinement.name} sees a {image.machine} in nothing; name in 'over' what stands for it"
        for variable in image.over:
            if variable.machine not in {machine.name for machine in concrete.machines}:
                yield f"{refinement.name} sees a {image.machine} in a {variable.machine}, which is no machine; mend it"
                return
        for name, value in image.fields.items():
            for part in walk(value):
                told = f"{refinement.name}: the value of {image.machine}.{name}"
                if isinstance(part, FieldOf):
                    known = (
                        {f.name for f in concrete.machine(bound[part.entity]).fields} if part.entity in bound else ()
                    )
                    if part.after or part.name not in known:
                        yield f"{told} reads {part.entity}.{part.name}, which it may not; read its own 'over'"
                if isinstance(part, Param | Every | Some):
                    yield f"{told} reads more than fields and settings; write it with those"


def _beginning_complaints(refinement: Refinement) -> Iterator[str]:
    """What a concrete run begins with is seen as a beginning of the abstract contract."""
    concrete = refinement.concrete
    for image in refinement.images:
        machine = refinement.abstract.machine(image.machine)
        rows = {v.name: {f.name: None for f in concrete.machine(v.machine).fields} for v in image.over}
        empty = Bare(rows, 0, {}, concrete.defaults())
        for name, value in image.fields.items():
            if not machine.field_named(name).fixed and value_of(value, empty) is not None:
                told = f"{refinement.name}: where nothing exists yet, {image.machine}.{name} is seen as a value"
                yield f"{told}; make it null there"
    legacy = concrete.root.legacy
    if legacy is None:
        return
    old = refinement.abstract.root.legacy
    image = refinement.image_of(refinement.abstract.root.name)
    if old is None:
        yield f"{refinement.name}: {concrete.name} has legacy rows and {refinement.abstract.name} none; remove them"
        return
    binding = {refinement.abstract.root.name: image}
    demanded = set(_conjuncts(_mapped_truth(refinement, old, binding, {}, {})))
    renamed = rewritten_truth(
        legacy, lambda p: replace(p, entity=image.subject.name) if isinstance(p, FieldOf) else None
    )
    if not demanded <= set(_conjuncts(renamed)):
        told = f"{refinement.name}: a legacy row may be seen as no legacy row"
        yield f"{told}; demand of it what the abstract one demands"


def _step_complaints(refinement: Refinement) -> Iterator[str]:
    concrete, abstract = refinement.concrete, refinement.abstract
    known = {o.name for o in concrete.operations} | {transition_name(o, c) for o, c in concrete.transitions()}
    for name in sorted(refinement.steps.keys() - known):
        yield f"{refinement.name} says what {name!r} is seen as, which is no transition; mend the name"
    unknown = {s.name for s in abstract.settings} - {s.name for s in concrete.settings} - refinement.settings.keys()
    for name in sorted(unknown):
        yield f"{refinement.name} gives no value for the setting {name!r} of {abstract.name}; give one"
    for operation, case in concrete.transitions():
        transition = transition_name(operation, case)
        if transition not in refinement.steps and operation.name not in refinement.steps:
            yield f"{refinement.name} does not say what {transition!r} is seen as; map it, or call it a stutter"
            continue
        seen = refinement.seen_as(operation, case)
        for performs in _performed(seen):
            yield from _performing_complaints(refinement, operation, transition, performs)


def _performing_complaints(
    refinement: Refinement, operation: Operation, transition: str, performs: Performs
) -> Iterator[str]:
    if performs.operation not in {o.name for o in refinement.abstract.operations}:
        yield f"{transition} is seen as {performs.operation!r}, which is no operation; mend the name"
        return
    abstract = refinement.abstract.operation(performs.operation)
    told = f"{transition} is seen as {abstract.name}"
    if any(case.also for case in abstract.cases):
        yield f"{told}, which changes each of a set; only operations on named entities can be seen"
    given, wanted = performs.arguments.keys(), {parameter.name for parameter in abstract.parameters}
    for name in sorted(wanted - given):
        yield f"{told} without a value for {name!r}; give one"
    for name in sorted(given - wanted):
        yield f"{told} with a value for {name!r}, which is no parameter of it; remove it"
    bound = {variable.name for variable in operation.over}
    for variable in abstract.over:
        image = refinement.image_of(variable.machine)
        for concrete in image.spoken_of:
            name = performs.entities.get(variable.name, concrete.name) if concrete == image.subject else concrete.name
            if name not in bound:
                yield f"{told}, but {operation.name} has no variable {name!r} to stand for its {variable.name}; add one"
    for guard in _conditions(abstract):
        if any(isinstance(part, Every | Some) for part in walk(guard.term)):
            yield f"{told}, whose {guard.name} ranges over entities; only operations on named entities can be seen"


def _performed(seen: SeenAs) -> tuple[Performs, ...]:
    match seen:
        case Performs():
            return (seen,)
        case tuple():
            return seen
        case Excepted():
            return _performed(seen.otherwise)
        case _:
            return ()


def _conditions(operation: Operation) -> Iterator[Guard]:
    yield from operation.guards
    for case in operation.cases:
        yield from case.when


def _conjuncts(term: TruthTerm) -> Iterator[TruthTerm]:
    if isinstance(term, AllOf):
        for part in term.parts:
            yield from _conjuncts(part)
    else:
        yield term


# --- seeing -----------------------------------------------------------------------------------------------------------


def _renamed(value: ValueTerm, names: Mapping[str, str]) -> ValueTerm:
    """The value, of the entities that other variables stand for."""
    return rewritten_value(
        value,
        lambda part: (
            replace(part, entity=names[part.entity]) if isinstance(part, FieldOf) and part.entity in names else None
        ),
    )


def _seen(image: Image, name: str, names: Mapping[str, str], *, after: bool = False) -> ValueTerm:
    value = _renamed(image.fields[name], names)
    return value_in_the_state_after(value) if after else value


def _mapped(
    refinement: Refinement,
    binding: Mapping[str, Image],
    names: Mapping[str, Mapping[str, str]],
    arguments: Mapping[str, ValueTerm],
    part: Term,
) -> Term | None:
    match part:
        case FieldOf(entity, name, after):
            return _seen(binding[entity], name, names.get(entity, {}), after=after)
        case Setting(name):
            return refinement.settings.get(name, part)
        case Param(name):
            return arguments[name]
        case _:
            return None


def _mapped_truth(
    refinement: Refinement,
    term: TruthTerm,
    binding: Mapping[str, Image],
    names: Mapping[str, Mapping[str, str]],
    arguments: Mapping[str, ValueTerm],
) -> TruthTerm:
    mapped = rewritten_truth(term, lambda part: _mapped(refinement, binding, names, arguments, part))
    return _folded(rewritten_truth(mapped, _possible))


def _words(value: ValueTerm) -> frozenset[Value] | None:
    """The values that a choice of literals can have; None when it is no such choice."""
    match value:
        case Const(word):
            return frozenset({word})
        case Choose(_, then, otherwise):
            one, other = _words(then), _words(otherwise)
            return one | other if one is not None and other is not None else None
        case _:
            return None


def _possible(part: Term) -> Term | None:
    """What a comparison comes to where one side is a choice of literals that lacks what it is compared with."""
    match part:
        case OneOf(value, choices):
            words = _words(value)
            if words is None:
                return None
            kept = tuple(choice for choice in choices if choice in words)
            return OneOf(value, kept) if kept else Truth(False)
        case Holds(Const(flag)):
            return Truth(flag is True)
        case Equal(left, right) | Same(left, right):
            one, other = _words(left), _words(right)
            if one is None or other is None or one & other:
                return None
            return Truth(False)
        case _:
            return None


def _folded(term: TruthTerm) -> TruthTerm:
    """The same term without parts that are settled: a setting that is a literal decides what depends on it."""
    match term:
        case Not(part):
            inner = _folded(part)
            return Truth(not inner.value) if isinstance(inner, Truth) else Not(inner)
        case AllOf(parts) | AnyOf(parts):
            absorbing = isinstance(term, AnyOf)
            inner_parts = tuple(_folded(part) for part in parts)
            if Truth(absorbing) in inner_parts:
                return Truth(absorbing)
            kept = tuple(part for part in inner_parts if not isinstance(part, Truth))
            if not kept:
                return Truth(not absorbing)
            return any_of(*kept) if absorbing else all_of(*kept)
        case _:
            return term


def _reads_unseen(term: Term, binding: Mapping[str, Image]) -> FieldOf | None:
    """A field in a term that the concrete contract does not know."""
    for part in walk(term):
        if isinstance(part, FieldOf) and part.name in binding[part.entity].unseen:
            return part
    return None


@dataclass(frozen=True)
class _Abstract:
    """An abstract operation as it is seen in one concrete transition."""

    refinement: Refinement
    performs: Performs

    @property
    def operation(self) -> Operation:
        return self.refinement.abstract.operation(self.performs.operation)

    @property
    def binding(self) -> dict[str, Image]:
        return {v.name: self.refinement.image_of(v.machine) for v in self.operation.over}

    @property
    def names(self) -> dict[str, dict[str, str]]:
        """For each abstract variable, the concrete variables that the transition calls otherwise than the image."""
        return {
            variable: {self.binding[variable].subject.name: name} for variable, name in self.performs.entities.items()
        }

    def truth(self, term: TruthTerm) -> TruthTerm:
        """A truth term of the operation, seen; true where it reads what is unseen."""
        if _reads_unseen(term, self.binding) is not None:
            return Truth(True)
        return _mapped_truth(self.refinement, term, self.binding, self.names, self.performs.arguments)

    def value(self, term: ValueTerm) -> ValueTerm:
        return rewritten_value(
            term, lambda part: _mapped(self.refinement, self.binding, self.names, self.performs.arguments, part)
        )

    def well_called(self) -> Iterator[TruthTerm]:
        yield self.truth(self.refinement.abstract.settings_assumed)
        for parameter in self.operation.parameters:
            if parameter.assumed is not None:
                yield self.truth(parameter.assumed)

    def changes(self, case: Case) -> Iterator[TruthTerm]:
        """Each field of the operation's entities is seen to change as the case says."""
        assigned = {(a.field.entity, a.field.name): a.value for a in case.effect}
        for variable, image in self.binding.items():
            names = self.names.get(variable, {})
            for name in image.compared:
                value = assigned.get((variable, name))
                # A value that is computed from what is unseen may be anything.
                if value is not None and _reads_unseen(value, self.binding) is not None:
                    continue
                before = _seen(image, name, names) if value is None else self.value(value)
                yield rewritten_truth(Same(_seen(image, name, names, after=True), before), _possible)

    def done(self) -> TruthTerm:
        """The guards hold, and some case is open and taken."""
        cases = [
            all_of(*(self.truth(guard.term) for guard in case.when), *self.changes(case))
            for case in self.operation.cases
        ]
        return _conjunction(*self.well_called(), *(self.truth(g.term) for g in self.operation.guards), any_of(*cases))

    def subjects(self) -> set[str]:
        """The concrete variables that stand for its entities."""
        return {self.performs.entities.get(name, image.subject.name) for name, image in self.binding.items()}


def _conjunction(*parts: TruthTerm) -> TruthTerm:
    return all_of(*(part for part in parts if part != Truth(True)))


def _unchanged(image: Image, names: Mapping[str, str]) -> Iterator[TruthTerm]:
    for name in image.compared:
        yield Same(_seen(image, name, names, after=True), _seen(image, name, names))


# --- the statements ---------------------------------------------------------------------------------------------------


def refines(refinement: Refinement) -> Contract:
    """The concrete contract with the statements that make up the refinement, one for each transition and more.

    A transition says what it does to the entities it names; another statement says that entities of the same kinds
    which it does not name are seen unchanged. Names end in the abstract operation, so that a failure names the step.
    """
    found = tuple(statements(refinement))
    return replace(
        refinement.concrete,
        name=f"{refinement.name}",
        step_properties=(*refinement.concrete.step_properties, *found),
    )


def statements(refinement: Refinement) -> Iterator[StepProperty]:
    """The step properties of which a refinement consists."""
    for operation, case in refinement.concrete.transitions():
        seen = refinement.seen_as(operation, case)
        if isinstance(seen, Excepted) and seen.where == Truth(True):
            continue
        transition = transition_name(operation, case)
        performed = [_Abstract(refinement, performs) for performs in _performed(seen)]
        options = [
            _conjunction(one.done(), *_untouched(refinement, operation, one.subjects())) for one in performed
        ] or [_conjunction(*_untouched(refinement, operation, set()))]
        conditions = tuple(guard.term for guard in case.when)
        if isinstance(seen, Excepted):
            conditions = (*conditions, Not(seen.where))
        body = any_of(*options)
        abstract = " or ".join(one.operation.name for one in performed)
        yield StepProperty(
            f"{transition} refines {abstract}" if performed else f"{transition} stutters",
            refinement.clause,
            operation.over,
            implies(all_of(*conditions), body) if conditions else body,
            f"{transition} is seen as a step of {abstract}." if performed else f"{transition} is not seen.",
            of=operation.name,
        )
        yield from _others(refinement, operation, case, transition)


def _untouched(refinement: Refinement, operation: Operation, subjects: set[str]) -> Iterator[TruthTerm]:
    """What the operation's entities stand for, and its abstract step does not touch, is seen unchanged."""
    for image in refinement.images:
        for variable in _standing_for(image, operation):
            if variable.name not in subjects:
                yield from _unchanged(image, {image.subject.name: variable.name})


def _standing_for(image: Image, operation: Operation) -> Iterator[Variable]:
    """The variables of an operation that an image can be read at."""
    bound = {variable.name for variable in operation.over}
    if all(variable.name in bound for variable in image.spoken_of[:-1]):
        for variable in operation.over:
            if variable.machine == image.subject.machine:
                yield variable


def _others(refinement: Refinement, operation: Operation, case: Case, transition: str) -> Iterator[StepProperty]:
    """Entities that the step does not name are seen unchanged.

    Only those can be seen to change of which a set is changed, or that are seen through an entity above them.
    """
    machines = {variable.name: variable.machine for variable in operation.over}
    one_by_one = {(machines[a.field.entity], a.field.name) for a in case.effect}
    in_sets = {(each.subject.machine, a.field.name) for each in case.also for a in each.effect}
    for image in refinement.images:
        of = {variable.name: variable.machine for variable in image.over}
        read = {(of[p.entity], p.name) for v in image.fields.values() for p in walk(v) if isinstance(p, FieldOf)}
        above = {(machine, name) for machine, name in read if machine != image.subject.machine}
        if image.subject.of is None or not (read & in_sets or above & one_by_one):
            continue
        bound = {variable.name: variable for variable in operation.over}
        missing = tuple(variable for variable in image.over[:-1] if variable.name not in bound)
        other = Variable(f"another_{image.subject.name}", image.subject.machine, image.subject.of)
        names = {image.subject.name: other.name}
        conditions = tuple(guard.term for guard in case.when)
        body = _conjunction(*_unchanged(image, names))
        yield StepProperty(
            f"{transition} leaves every other {image.machine} alone",
            refinement.clause,
            (*operation.over, *missing, other),
            implies(all_of(*conditions), body) if conditions else body,
            f"No other {image.machine} is seen to change with {transition}.",
            of=operation.name,
        )


# --- what is not demanded ---------------------------------------------------------------------------------------------


def left_out(refinement: Refinement) -> tuple[str, ...]:
    """Each abstract conjunct that is not demanded, with the unseen field that it reads, and the reason."""
    found: dict[str, None] = {}
    for operation, case in refinement.concrete.transitions():
        for performs in _performed(refinement.seen_as(operation, case)):
            seen = _Abstract(refinement, performs)
            for guard in _conditions(seen.operation):
                unseen = _reads_unseen(guard.term, seen.binding)
                if unseen is not None:
                    reason = seen.binding[unseen.entity].unseen[unseen.name]
                    found[f"{seen.operation.name}.{guard.name}: {unseen.name} is unseen, {reason}"] = None
    for image in refinement.images:
        for name, reason in image.uncompared.items():
            found[f"{image.machine}.{name}: its changes are not compared, {reason}"] = None
    return tuple(found)
