"""Puts machines, operations and statements together to a contract, and refuses one that is ill-formed.

A contract is checked when it is built, so that every reader of it (evaluation, exploration, proof, pages, conformance)
may rely on it: names are unique and known, statuses have their row and can be reached, no field is assigned twice, and
no two cases of an operation can be taken at once.

Whether two cases exclude each other is decided in two steps. First over the *shape* of their conditions: each
comparison of the same two values is one of less, equal, greater or null, and each other atom true or false; when no
such assignment makes both cases true they exclude each other, whatever the values. Otherwise values are tried, and a
pair that some small row enables at once is refused with that row. What neither step settles is left to the determinism
proof.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise, product
from typing import TypeAlias, TypeVar, assert_never

from fencepost_model.shapes import (
    Assignment,
    Case,
    Invariant,
    Machine,
    Operation,
    Parameter,
    Progress,
    SettingShape,
    Sort,
    StepProperty,
    Variable,
    Witness,
)
from fencepost_model.sorting import PlacedTerm, sort_complaints
from fencepost_model.terms import (
    AllOf,
    AnyOf,
    AtMost,
    Bare,
    Choose,
    Const,
    Equal,
    Every,
    FieldOf,
    Holds,
    Less,
    Missing,
    Not,
    Now,
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
    holds,
    walk,
    walk_in_scope,
)


class IllFormedContract(ValueError):
    """The contract cannot be read; the message is one sentence that says what to mend."""


@dataclass(frozen=True)
class Contract:
    """A whole contract. Raises ``IllFormedContract`` when it is built from parts that do not fit together.

    ``checked`` is false only for *mutants*: contracts that are broken on purpose, to see what breaks with them.
    """

    name: str
    machines: tuple[Machine, ...]
    operations: tuple[Operation, ...]
    invariants: tuple[Invariant, ...]
    step_properties: tuple[StepProperty, ...] = ()
    witnesses: tuple[Witness, ...] = ()
    progress: tuple[Progress, ...] = ()
    settings: tuple[SettingShape, ...] = ()
    settings_assumed: TruthTerm = Truth(True)
    checked: bool = True

    def __post_init__(self) -> None:
        if self.checked:
            for complaint in complaints(self):
                raise IllFormedContract(complaint)

    def machine(self, name: str) -> Machine:
        """The machine of that name; raises ``KeyError`` when there is none."""
        return _named(self.machines, name)

    def operation(self, name: str) -> Operation:
        """The operation of that name; raises ``KeyError`` when there is none."""
        return _named(self.operations, name)

    @property
    def root(self) -> Machine:
        """The machine that belongs to no other."""
        return next(machine for machine in self.machines if machine.belongs_to is None)

    def children_of(self, machine: str) -> tuple[Machine, ...]:
        """The machines whose entities belong to an entity of ``machine``."""
        return tuple(child for child in self.machines if child.belongs_to == machine)

    def defaults(self) -> dict[str, Value]:
        """The default of every setting."""
        return {setting.name: setting.default for setting in self.settings}

    def transitions(self) -> Iterator[tuple[Operation, Case]]:
        """Every case of every operation, in the order written."""
        for operation in self.operations:
            for case in operation.cases:
                yield operation, case


def transition_name(operation: Operation, case: Case) -> str:
    """How a transition is called in reports: ``operation`` alone when it has one case, else ``operation/case``."""
    return operation.name if len(operation.cases) == 1 else f"{operation.name}/{case.name}"


Statement: TypeAlias = Invariant | StepProperty | Witness | Progress
_Thing = TypeVar("_Thing", Machine, Operation)


def _named(things: Sequence[_Thing], name: str) -> _Thing:
    for thing in things:
        if thing.name == name:
            return thing
    raise KeyError(name)


# --- what can be wrong ------------------------------------------------------------------------------------------------


def complaints(contract: Contract) -> Iterator[str]:
    """One sentence for each thing that is wrong with a contract, the most basic first."""
    yield from _name_complaints(contract)
    yield from _belonging_complaints(contract)
    yield from _term_complaints(contract)
    yield from _assignment_complaints(contract)
    yield from sort_complaints(contract, _terms(contract))
    yield from _status_complaints(contract)
    yield from _overlap_complaints(contract)


def _twice(what: str, names: Sequence[str]) -> Iterator[str]:
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"{what} {name!r} is declared twice; rename one of them"


def _name_complaints(contract: Contract) -> Iterator[str]:
    yield from _twice("machine", [machine.name for machine in contract.machines])
    yield from _twice("operation", [operation.name for operation in contract.operations])
    yield from _twice("setting", [setting.name for setting in contract.settings])
    statements: tuple[Statement, ...] = (*contract.invariants, *contract.step_properties, *contract.progress)
    yield from _twice("statement", [statement.name for statement in statements])
    yield from _twice("witness", [witness.name for witness in contract.witnesses])
    for machine in contract.machines:
        yield from _twice(f"field of {machine.name}", [field.name for field in machine.fields])
        yield from _twice(f"status of {machine.name}", [status.name for status in machine.statuses])
        for field in machine.fields:
            if field.sort is Sort.WORD and not field.words:
                yield f"field {machine.name}.{field.name} takes words but lists none; give its words"
        if machine.statuses:
            listed = next((field.words for field in machine.fields if field.name == "status"), None)
            if listed != tuple(status.name for status in machine.statuses):
                yield f"machine {machine.name!r} has statuses, so it needs a field 'status' with just those words"
    for operation in contract.operations:
        yield from _twice(f"guard of {operation.name}", [guard.name for guard in operation.guards])
        yield from _twice(f"case of {operation.name}", [case.name for case in operation.cases])
        yield from _twice(f"parameter of {operation.name}", [parameter.name for parameter in operation.parameters])
        if not operation.cases:
            yield f"operation {operation.name!r} has no case; say what it does"
        for case in operation.cases:
            yield from _twice(f"condition of {operation.name}/{case.name}", [guard.name for guard in case.when])


def _belonging_complaints(contract: Contract) -> Iterator[str]:
    names = {machine.name for machine in contract.machines}
    for machine in contract.machines:
        if machine.belongs_to is not None and machine.belongs_to not in names:
            yield f"machine {machine.name!r} belongs to {machine.belongs_to!r}, which is no machine; name one that is"
    for operation in contract.operations:
        if not operation.over:
            yield f"operation {operation.name!r} acts on nothing; name in 'over' what it acts on"
        if operation.acts_on and operation.acts_on not in {variable.name for variable in operation.over}:
            told = f"operation {operation.name!r} acts on {operation.acts_on!r}"
            yield f"{told}, which is not in its 'over'; mend the name"
        for case in operation.cases:
            name = f"{operation.name}/{case.name}"
            for each in case.also:
                if not each.over:
                    yield f"{name} changes each of nothing; name in 'over' what it changes"
                for above, variable in pairwise(each.over):
                    if variable.of != above.name:
                        told = f"{name} changes each {variable.name!r}, which does not belong to {above.name!r}"
                        yield f"{told}; go down from one to the next"
    for owner, variables in _variables(contract):
        known: dict[str, str] = {}
        for variable in variables:
            if variable.machine not in names:
                yield f"{owner} ranges over {variable.machine!r}, which is no machine; name one that is"
                continue
            parent = next(m for m in contract.machines if m.name == variable.machine).belongs_to
            if known and variable.of is None:
                yield (
                    f"{owner} touches two roots; an operation or statement stays within one aggregate, "
                    f"so put them under one"
                )
            if variable.of is not None and known.get(variable.of) != parent:
                yield f"{owner}: a {variable.machine} does not belong to {variable.of!r}; say whose it is"
            if variable.name in known:
                yield f"{owner} declares variable {variable.name!r} twice; rename one of them"
            known[variable.name] = variable.machine
    roots = [machine.name for machine in contract.machines if machine.belongs_to is None]
    if len(roots) != 1:
        yield (
            f"a contract is about one root with what belongs to it, but {', '.join(roots) or 'no machine'} is a root; "
            f"put them under one, or make two contracts"
        )


def _variables(contract: Contract) -> Iterator[tuple[str, tuple[Variable, ...]]]:
    for operation in contract.operations:
        yield f"operation {operation.name!r}", operation.over
        for case in operation.cases:
            for each in case.also:
                yield f"what {operation.name}/{case.name} does to each", (*operation.over, *each.over)
    statements: tuple[Statement, ...] = (
        *contract.invariants,
        *contract.step_properties,
        *contract.witnesses,
        *contract.progress,
    )
    for statement in statements:
        yield f"statement {statement.name!r}", statement.over


def terms_of(contract: Contract) -> Iterator[Term]:
    """Every term of a contract, those that are assigned included."""
    return (term for _, term, _, _, _ in _terms(contract))


def _terms(contract: Contract) -> Iterator[PlacedTerm]:
    for operation in contract.operations:
        own = operation.parameters
        for guard in operation.guards:
            yield f"guard {operation.name}.{guard.name}", guard.term, operation.over, own, False
        for case in operation.cases:
            for guard in case.when:
                yield f"condition {operation.name}/{case.name}.{guard.name}", guard.term, operation.over, own, False
            for assignment in case.effect:
                owner = f"effect of {operation.name}/{case.name} on {assignment.field.name}"
                yield owner, assignment.value, operation.over, own, False
                yield owner, assignment.field, operation.over, own, False
            for each in case.also:
                within = (*operation.over, *each.over)
                owner = f"what {operation.name}/{case.name} does to each {each.subject.machine}"
                yield owner, each.where, within, own, False
                for assignment in each.effect:
                    yield owner, assignment.value, within, own, False
                    yield owner, assignment.field, within, own, False
        for parameter in operation.parameters:
            if parameter.assumed is not None:
                yield f"parameter {operation.name}.{parameter.name}", parameter.assumed, (), own, False
    none: tuple[Parameter, ...] = ()
    of_states: tuple[Invariant | Witness, ...] = (*contract.invariants, *contract.witnesses)
    for statement in of_states:
        yield f"statement {statement.name!r}", statement.statement, statement.over, none, False
    arguments = {operation.name: operation.parameters for operation in contract.operations}
    for step_property in contract.step_properties:
        own = arguments.get(step_property.of or "", none)
        yield f"statement {step_property.name!r}", step_property.statement, step_property.over, own, True
    for progress in contract.progress:
        yield f"statement {progress.name!r}", progress.live, progress.over, none, False
    for machine in contract.machines:
        if machine.legacy is not None:
            itself = (Variable(machine.name, machine.name),)
            yield f"legacy predicate of {machine.name}", machine.legacy, itself, none, False
    yield "assumption about the settings", contract.settings_assumed, (), none, False


def _term_complaints(contract: Contract) -> Iterator[str]:
    settings = {setting.name for setting in contract.settings}
    parents = {machine.name: machine.belongs_to for machine in contract.machines}
    fields = {(machine.name, field.name) for machine in contract.machines for field in machine.fields}
    for owner, term, variables, parameters, may_look_after in _terms(contract):
        for part, bound in walk_in_scope(term, {variable.name: variable.machine for variable in variables}):
            match part:
                case FieldOf(entity, name, after):
                    if entity not in bound:
                        yield f"{owner} speaks of {entity!r}, which it does not declare; add a variable"
                    elif (bound[entity], name) not in fields:
                        yield f"{owner} reads {bound[entity]}.{name}, which is no field; declare it or mend the name"
                    if after and not may_look_after:
                        yield f"{owner} looks at {entity}.{name} after the step; only step properties may"
                case Setting(name) if name not in settings:
                    yield f"{owner} reads setting {name!r}, which is not declared; add it to the settings"
                case Param(name) if name not in {parameter.name for parameter in parameters}:
                    yield f"{owner} reads parameter {name!r}, which is not declared; add it to the operation"
                case Every(variable, machine, of) | Some(variable, machine, of):
                    if machine not in parents:
                        yield f"{owner} ranges over {machine!r}, which is no machine; name one that is"
                    elif of not in bound or bound[of] != parents[machine]:
                        yield f"{owner}: a {machine} does not belong to {of!r}; say whose it is"
                    if variable in bound:
                        yield f"{owner} declares variable {variable!r} twice; rename one of them"
                case _:
                    pass
    operations = {operation.name for operation in contract.operations}
    for progress in contract.progress:
        for name in progress.bound:
            if name not in operations:
                yield f"statement {progress.name!r} relies on {name!r}, which is no operation; mend the name"
    for step_property in contract.step_properties:
        if step_property.of is not None and step_property.of not in operations:
            told = f"statement {step_property.name!r} is about {step_property.of!r}"
            yield f"{told}, which is no operation; mend the name"


def _assignment_complaints(contract: Contract) -> Iterator[str]:
    for operation, case in contract.transitions():
        name = f"{operation.name}/{case.name}"
        machines = {variable.name: variable.machine for variable in operation.over}
        yield from _written_twice(name, case.effect)
        yield from _badly_assigned(contract, name, case.effect, machines)
        own = {(machines[a.field.entity], a.field.name) for a in case.effect}
        for each in case.also:
            changed = {**machines, **{variable.name: variable.machine for variable in each.over}}
            yield from _written_twice(name, each.effect)
            yield from _badly_assigned(contract, name, each.effect, changed)
            for assignment in each.effect:
                if assignment.field.entity != each.subject.name:
                    told = f"{name} assigns {assignment.field.entity}.{assignment.field.name} for each"
                    yield f"{told} {each.subject.name}; assign fields of {each.subject.name} only"
                written = (each.subject.machine, assignment.field.name)
                if written in own:
                    yield f"{name} may assign {'.'.join(written)} twice, once for each; keep one of the two"
                own.add(written)


def _written_twice(name: str, effect: Sequence[Assignment]) -> Iterator[str]:
    assigned = [(a.field.entity, a.field.name) for a in effect]
    for entity, field in sorted({pair for pair in assigned if assigned.count(pair) > 1}):
        yield f"{name} assigns {entity}.{field} twice; keep one of the two"


def _badly_assigned(
    contract: Contract, name: str, effect: Sequence[Assignment], machines: Mapping[str, str]
) -> Iterator[str]:
    for assignment in effect:
        field = contract.machine(machines[assignment.field.entity]).field_named(assignment.field.name)
        if field.fixed:
            yield f"{name} assigns {field.name}, which is fixed; assign another field"
        if not isinstance(assignment.value, Const):
            continue
        literal = assignment.value.value
        if literal is None and not field.nullable:
            yield f"{name} sets {field.name} to null, which it may not be; give it a value"
        if literal is not None and field.words and literal not in field.words:
            yield f"{name} sets {field.name} to {literal!r}, which is not among its words; add the word or mend it"


def _status_complaints(contract: Contract) -> Iterator[str]:
    for machine in contract.machines:
        names = [status.name for status in machine.statuses]
        for name in names:
            if name not in machine.table:
                yield (
                    f"status {name!r} of {machine.name} has no row in the table; write one, empty if nothing may happen"
                )
        for name in machine.table:
            if name not in names:
                yield f"the table of {machine.name} has a row for {name!r}, which is no status; remove it"
        for status in machine.statuses:
            if status.terminal and machine.table.get(status.name):
                told = f"status {status.name!r} of {machine.name} is terminal but its row is not empty"
                yield f"{told}; move the row to the revivals, or let the status be live"
        for name in machine.revivals:
            if name not in names:
                yield f"the revivals of {machine.name} have a row for {name!r}, which is no status; remove it"
            elif name not in machine.terminal:
                told = f"status {name!r} of {machine.name} is not terminal, so nothing revives what is in it"
                yield f"{told}; move the row to the table, or declare the status terminal"
        if not names:
            continue
        touches = list(_touches(contract, machine.name))
        allowed: dict[str, set[str]] = {}
        for touch in touches:
            allowed.setdefault(touch.operation, set()).update(_allowed_by(touch, names))
        for name in names:
            for operation, statuses in allowed.items():
                possible = name in statuses
                listed = operation in machine.acting_on(name)
                if possible and not listed:
                    yield f"{operation} can act on a {machine.name} that is {name}, but the table does not say so"
                if listed and not possible:
                    yield f"the table lets {operation} act on a {machine.name} that is {name}, its guards do not"
        for row in (*machine.table.values(), *machine.revivals.values()):
            for name in row:
                if name not in allowed:
                    yield f"the table of {machine.name} names {name!r}, which is no operation on it; mend the name"
        yield from _unreachable(machine, touches)


@dataclass(frozen=True)
class _Touch:
    """One way in which an operation acts on an entity of a machine: what must hold, and the statuses it may assign."""

    operation: str
    variable: str
    conditions: tuple[TruthTerm, ...]
    leads_to: frozenset[str]


def _touches(contract: Contract, machine: str) -> Iterator[_Touch]:
    """How operations act on the entities of a machine: as their subject, along with it, or on each of a set."""
    for operation in contract.operations:
        guards = tuple(guard.term for guard in operation.guards)
        for variable in operation.over:
            if variable.machine != machine:
                continue
            if variable.name == operation.subject.name:
                cases = operation.cases
                targets = frozenset(word for case in cases for word in _statuses(variable.name, case.effect))
                yield _Touch(operation.name, variable.name, guards, targets)
                continue
            for case in operation.cases:
                targets = frozenset(_statuses(variable.name, case.effect))
                if targets:
                    conditions = (*guards, *(guard.term for guard in case.when))
                    yield _Touch(operation.name, variable.name, conditions, targets)
        for case in operation.cases:
            for each in case.also:
                targets = frozenset(_statuses(each.subject.name, each.effect))
                if each.subject.machine == machine and targets:
                    yield _Touch(operation.name, each.subject.name, (each.where,), targets)


def _statuses(variable: str, effect: Sequence[Assignment]) -> Iterator[str]:
    """The words that an effect may give to the status of a variable."""
    for assignment in effect:
        if assignment.field == FieldOf(variable, "status"):
            yield from _words_in(assignment.value)


def _words_in(value: ValueTerm) -> Iterator[str]:
    match value:
        case Const(word) if isinstance(word, str):
            yield word
        case Choose(_, then, otherwise):
            yield from _words_in(then)
            yield from _words_in(otherwise)
        case _:
            pass


def _unreachable(machine: Machine, touches: Sequence[_Touch]) -> Iterator[str]:
    if machine.created_by is None:
        yield f"machine {machine.name!r} has statuses, but nothing creates it; name the operation in created_by"
        return
    if machine.created_by not in {touch.operation for touch in touches}:
        creator = f"is created by {machine.created_by!r}"
        yield f"machine {machine.name!r} {creator}, which is no operation on it; mend the name"
        return
    names = [status.name for status in machine.statuses]
    # What exists already may be created anew where the creating operation also revives it.
    reached: set[str] = {word for touch in touches if touch.operation == machine.created_by for word in touch.leads_to}
    frontier = list(reached)
    while frontier:
        status = frontier.pop()
        for touch in touches:
            if status in _allowed_by(touch, names):
                frontier.extend(touch.leads_to - reached)
                reached |= touch.leads_to
    for declared in machine.statuses:
        if declared.name not in reached:
            yield f"status {declared.name!r} of {machine.name} cannot be reached; add an operation that leads there"


def _allowed_by(touch: _Touch, statuses: Sequence[str]) -> frozenset[str]:
    """The statuses in which the conditions that speak of the status alone let an operation act."""
    status = FieldOf(touch.variable, "status")
    decisive = [part for term in touch.conditions for part in _conjuncts(term) if _speaks_only_of(part, status)]
    rows = {word: Bare({touch.variable: {"status": word}}) for word in statuses}
    return frozenset(word for word, row in rows.items() if all(holds(term, row) for term in decisive))


def _conjuncts(term: TruthTerm) -> Iterator[TruthTerm]:
    if isinstance(term, AllOf):
        for part in term.parts:
            yield from _conjuncts(part)
    else:
        yield term


def _speaks_only_of(term: TruthTerm, field: FieldOf) -> bool:
    """Whether a term reads that field and nothing else."""
    reads = [part for part in walk(term) if isinstance(part, FieldOf | Now | Setting | Param | Every | Some)]
    return bool(reads) and all(part == field for part in reads)


# --- cases that overlap -----------------------------------------------------------------------------------------------

_RELATIONS = ("less", "equal", "greater", "null")


def _overlap_complaints(contract: Contract) -> Iterator[str]:
    for operation in contract.operations:
        for number, one in enumerate(operation.cases):
            for other in operation.cases[number + 1 :]:
                if _contradict(one, other) or _contradict(other, one):
                    continue
                conditions = AllOf(tuple(guard.term for guard in (*one.when, *other.when)))
                both = AllOf((*(guard.term for guard in operation.guards), conditions))
                if excluded_by_shape(conditions) or excluded_by_shape(both):
                    continue
                row = _small_row(contract, operation, both)
                if row is not None:
                    yield (
                        f"cases {one.name!r} and {other.name!r} of {operation.name} can both be taken, "
                        f"for instance when {row}; add a condition that tells them apart"
                    )


def _contradict(one: Case, other: Case) -> bool:
    """Whether a condition of one case is literally the negation of what another demands."""
    demanded = {guard.term for guard in other.when}
    for guard in one.when:
        if isinstance(guard.term, Not):
            denied = guard.term.part
            if denied in demanded or (isinstance(denied, AllOf) and set(denied.parts) <= demanded):
                return True
    return False


def excluded_by_shape(term: TruthTerm) -> bool:
    """Whether a term is false for every way in which its atoms could turn out; False means undecided."""
    return not _satisfiable(term, {})


def _satisfiable(term: TruthTerm, known: dict[tuple[str, Term, Term], str]) -> bool:
    verdict, open_atom = _under(term, known)
    if verdict is not None:
        return verdict
    assert open_atom is not None
    kinds = _RELATIONS if open_atom[0] == "compare" else ("true", "false")
    return any(_satisfiable(term, {**known, open_atom: kind}) for kind in kinds if _consistent(open_atom, kind, known))


def _consistent(atom: tuple[str, Term, Term], kind: str, known: Mapping[tuple[str, Term, Term], str]) -> bool:
    """Whether a guess about one atom contradicts another: nullness with comparisons, one word with another."""
    for other, value in (*known.items(), (atom, kind)):
        tag, left, right = other
        if tag == "compare" and value != "null":
            for side in (left, right):
                for (other_tag, other_left, _), other_value in (*known.items(), (atom, kind)):
                    if other_tag == "missing" and other_left == side and other_value == "true":
                        return False
    equals: dict[Term, set[object]] = {}
    for (tag, left, right), value in (*known.items(), (atom, kind)):
        if tag == "compare" and value == "equal" and isinstance(right, Const):
            equals.setdefault(left, set()).add(right.value)
        if tag == "compare" and value == "equal" and isinstance(left, Const):
            equals.setdefault(right, set()).add(left.value)
    return all(len(values) < 2 for values in equals.values())


def _under(
    term: TruthTerm, known: Mapping[tuple[str, Term, Term], str]
) -> tuple[bool | None, tuple[str, Term, Term] | None]:
    """The truth of a term as far as it is known, and an atom that would tell more."""
    match term:
        case Truth(value):
            return value, None
        case Not(part):
            verdict, atom = _under(part, known)
            return (None if verdict is None else not verdict), atom
        case AllOf(parts) | AnyOf(parts):
            absorbing = isinstance(term, AnyOf)
            open_atom: tuple[str, Term, Term] | None = None
            undecided = False
            for part in parts:
                verdict, atom = _under(part, known)
                if verdict is absorbing:
                    return absorbing, None
                if verdict is None:
                    undecided = True
                    open_atom = open_atom or atom
            return (None, open_atom) if undecided else (not absorbing, None)
        case Less(left, right) | AtMost(left, right) | Equal(left, right):
            atom, swapped = _comparison(left, right)
            relation = known.get(atom)
            if relation is None:
                return None, atom
            if swapped:
                relation = {"less": "greater", "greater": "less"}.get(relation, relation)
            match term:
                case Less():
                    return relation == "less", None
                case AtMost():
                    return relation in ("less", "equal"), None
                case Equal():
                    return relation == "equal", None
        case OneOf(value, choices):
            return _under(AnyOf(tuple(Equal(value, Const(choice)) for choice in choices)), known)
        case Missing(value):
            if isinstance(value, Const):
                return value.value is None, None
            return _atom(("missing", value, value), known)
        case Holds(flag):
            return _atom(("holds", flag, flag), known)
        case Same(left, right):
            return _atom(("same", left, right), known)
        case Every() | Some():
            return _atom(("quantified", term, term), known)
        case _:
            assert_never(term)


def _atom(
    atom: tuple[str, Term, Term], known: Mapping[tuple[str, Term, Term], str]
) -> tuple[bool | None, tuple[str, Term, Term] | None]:
    value = known.get(atom)
    return (None, atom) if value is None else (value == "true", None)


def _comparison(left: ValueTerm, right: ValueTerm) -> tuple[tuple[str, Term, Term], bool]:
    swapped = repr(right) < repr(left)
    return ("compare", right, left) if swapped else ("compare", left, right), swapped


def _small_row(contract: Contract, operation: Operation, both: TruthTerm) -> str | None:
    """A small row for which a term holds, in words; None when the first hundred thousand hold none.

    An operation that creates its subject is tried on the row that does not exist yet: all its fields are null.
    """
    machines = {variable.name: variable.machine for variable in operation.over}
    created = operation.subject.name if contract.machine(operation.subject.machine).created_by == operation.name else ""
    sorts: dict[Term, tuple[Value, ...]] = {}
    for part in walk(both):
        match part:
            case FieldOf(entity, name):
                field = contract.machine(machines[entity]).field_named(name)
                sorts[part] = (None,) if entity == created else _few(field.sort, field.words, field.nullable)
            case Param(name):
                parameter = next(p for p in operation.parameters if p.name == name)
                sorts[part] = _few(parameter.sort, parameter.words, parameter.nullable)
            case Setting(name):
                shape = next(s for s in contract.settings if s.name == name)
                sorts[part] = _few(shape.sort, (), False)
            case Every() | Some() | Choose():
                return None
            case _:
                pass
    names = list(sorts)
    for values in islice(product(*sorts.values()), 100_000):
        rows: dict[str, dict[str, Value]] = {name: {} for name in machines}
        params: dict[str, Value] = {}
        settings: dict[str, Value] = {}
        for part, value in zip(names, values, strict=True):
            match part:
                case FieldOf(entity, name):
                    rows[entity][name] = value
                case Param(name):
                    params[name] = value
                case Setting(name):
                    settings[name] = value
                case _:
                    raise TypeError(part)
        if holds(both, Bare(rows, 1, params, settings)):
            told = [f"{_spoken(part)} = {'null' if v is None else v}" for part, v in zip(names, values, strict=True)]
            return ", ".join(told) or "anything holds"
    return None


def _spoken(part: Term) -> str:
    return f"{part.entity}.{part.name}" if isinstance(part, FieldOf) else getattr(part, "name", str(part))


def _few(sort: Sort, words: tuple[str, ...], nullable: bool) -> tuple[Value, ...]:
    none: tuple[Value, ...] = (None,) if nullable else ()
    match sort:
        case Sort.WORD:
            return (*none, *words)
        case Sort.COUNT | Sort.INSTANT | Sort.DURATION:
            return (*none, 0, 1, 2)
        case Sort.IDENTITY:
            return (*none, "a", "b")
        case Sort.TEXT:
            return (*none, *words) if words else (*none, "text")
        case Sort.FLAG:
            return (*none, False, True)
        case _:
            assert_never(sort)
