"""An ill-formed contract is refused when it is built, with a sentence that names the culprit.

Each refusal below takes a sound contract and breaks one thing in it. The last tests look at the source of the checks:
a complaint that no refusal below calls forth is a failure, so a new check comes with its test.
"""

import ast
import inspect
import itertools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost_model import contract as contract_module
from fencepost_model import sorting as sorting_module
from fencepost_model.contract import Contract, IllFormedContract, complaints, excluded_by_shape, transition_name
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.shapes import (
    Actor,
    Assignment,
    Case,
    Field,
    ForEach,
    Guard,
    Invariant,
    LegacyRow,
    Machine,
    Operation,
    Parameter,
    Selection,
    Sort,
    Status,
    StepProperty,
    Variable,
    in_order,
)
from fencepost_model.terms import (
    NULL,
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
    holds,
)

DOOR, KEY = Variable("door", "door"), Variable("key", "key", of="door")
STATUS = FieldOf("door", "status")
K = Variable("k", "key", of="door")
Mutation = Callable[[Contract], Contract]


def field(name: str, *, after: bool = False) -> FieldOf:
    return FieldOf("door", name, after)


# --- breaking one thing -----------------------------------------------------------------------------------------------


def machine(contract: Contract, name: str, **changes: Any) -> Contract:
    """The contract with one machine changed."""
    return replace(contract, machines=tuple(replace(m, **changes) if m.name == name else m for m in contract.machines))


def table(contract: Contract, name: str, rows: Mapping[str, tuple[str, ...] | None]) -> Contract:
    """The contract with rows of one machine's table changed, or taken out where None is given."""
    changed = {**contract.machine(name).table, **rows}
    return machine(contract, name, table={status: row for status, row in changed.items() if row is not None})


def declared(contract: Contract, name: str, **changes: Any) -> Contract:
    """The contract with the declaration of one field of the door changed."""
    fields = tuple(replace(f, **changes) if f.name == name else f for f in contract.machine("door").fields)
    return machine(contract, "door", fields=fields)


def operation(contract: Contract, name: str, **changes: Any) -> Contract:
    """The contract with one operation changed."""
    return replace(
        contract, operations=tuple(replace(o, **changes) if o.name == name else o for o in contract.operations)
    )


def guarded(contract: Contract, name: str, term: TruthTerm) -> Contract:
    """The contract with one more guard, called ``extra``, on an operation."""
    extra = Guard("extra", term, "nowhere", "to break something")
    return operation(contract, name, guards=(*contract.operation(name).guards, extra))


def unguarded(contract: Contract, name: str, guard: str) -> Contract:
    """The contract with one guard of an operation taken out."""
    return operation(contract, name, guards=tuple(g for g in contract.operation(name).guards if g.name != guard))


def assigning(contract: Contract, name: str, *more: Assignment) -> Contract:
    """The contract in which each case of an operation assigns more."""
    cases = tuple(replace(case, effect=(*case.effect, *more)) for case in contract.operation(name).cases)
    return operation(contract, name, cases=cases)


def for_each(contract: Contract, name: str, *also: ForEach) -> Contract:
    """The contract in which each case of an operation changes sets of entities too."""
    cases = tuple(replace(case, also=also) for case in contract.operation(name).cases)
    return operation(contract, name, cases=cases)


def turning(*over: Variable, **values: ValueTerm) -> ForEach:
    """What a case does to each of the last of these variables."""
    effect = tuple(Assignment(FieldOf(over[-1].name if over else "k", name), value) for name, value in values.items())
    return ForEach(over, Truth(True), effect, "all of them")


def rebuildable(contract: Contract) -> Contract:
    """The contract in which a door that is gone may be put in again: a revival."""
    revival = Operation(
        "rebuild",
        Actor.CLIENT,
        Selection.NAMED,
        (DOOR,),
        (Guard("gone", Equal(STATUS, Const("gone")), "nowhere", "the others are there"),),
        (Case("rebuilt", (), (Assignment(STATUS, Const("shut")),), "it is there again"),),
        "nowhere",
        "Somebody puts the door in again.",
    )
    machines = tuple(replace(m, revivals={"gone": ("rebuild",)}) if m.name == "door" else m for m in contract.machines)
    return replace(contract, machines=machines, operations=(*contract.operations, revival))


def obeying(contract: Contract, statement: TruthTerm, *, of: str) -> Contract:
    """The contract with one more step property, about the steps of an operation."""
    extra = StepProperty("extra", "nowhere", (DOOR,), statement, "Something broken.", of=of)
    return replace(contract, step_properties=(*contract.step_properties, extra))


def stating(contract: Contract, statement: TruthTerm, *over: Variable) -> Contract:
    """The contract with one more invariant, called ``extra``."""
    extra = Invariant("extra", "nowhere", over or (DOOR,), statement, "Something broken.")
    return replace(contract, invariants=(*contract.invariants, extra))


def legacy(contract: Contract, **values: Any) -> Contract:
    """The contract with a legacy row of the door changed."""
    row = {**contract.machine("door").legacy_rows[0].fields, **values}
    return machine(contract, "door", legacy_rows=(LegacyRow("found", row, "it was here"),))


def twice(contract: Contract, kind: str) -> Contract:
    """The contract with the first of its things of a kind given twice."""
    things = getattr(contract, kind)
    changes: dict[str, Any] = {kind: (*things, things[0])}
    return replace(contract, **changes)


PAINT = Parameter("paint", Sort.TEXT, "its colour", nullable=True, words=("red", "green"))
MAKER = Parameter("maker", Sort.IDENTITY, "who builds it")


def case_when(*terms: TruthTerm) -> Case:
    """A case of ``shut`` under these conditions."""
    guards = tuple(Guard(f"condition_{number}", term, "nowhere", "") for number, term in enumerate(terms))
    effect = (Assignment(STATUS, Const("shut")), Assignment(field("opened_at"), NULL))
    return Case(f"case_{len(terms)}", guards, effect, "")


@dataclass(frozen=True)
class Refusal:
    """What is broken, and what the sentence must name."""

    what: str
    broken: Mutation
    named: tuple[str, ...]


NAMES: Sequence[Refusal] = (
    Refusal("machine twice", lambda d: twice(d, "machines"), ("machine 'door' is declared twice",)),
    Refusal("operation twice", lambda d: twice(d, "operations"), ("operation 'build' is declared twice",)),
    Refusal("setting twice", lambda d: twice(d, "settings"), ("setting 'patience' is declared twice",)),
    Refusal("invariant twice", lambda d: twice(d, "invariants"), ("statement 'opened_at_exactly_when_open'", "twice")),
    Refusal("step property twice", lambda d: twice(d, "step_properties"), ("statement 'openings_never_fall'", "twice")),
    Refusal("progress twice", lambda d: twice(d, "progress"), ("statement 'worn_ends'", "twice")),
    Refusal("witness twice", lambda d: twice(d, "witnesses"), ("witness 'creaking' is declared twice",)),
    Refusal(
        "an invariant named like a step property",
        lambda d: replace(d, invariants=(*d.invariants, replace(d.invariants[0], name="maker_kept"))),
        ("statement 'maker_kept'", "twice"),
    ),
    Refusal(
        "field twice",
        lambda d: machine(d, "door", fields=(*d.machine("door").fields, Field("oiled", Sort.FLAG, "again"))),
        ("field of door 'oiled' is declared twice",),
    ),
    Refusal(
        "status twice",
        lambda d: machine(d, "door", statuses=(*d.machine("door").statuses, Status("open", "again"))),
        ("status of door 'open' is declared twice",),
    ),
    Refusal("field without words", lambda d: declared(d, "maker", sort=Sort.WORD), ("door.maker", "give its words")),
    Refusal(
        "status field with other words",
        lambda d: declared(d, "status", words=("shut", "open", "locked")),
        ("machine 'door'", "needs a field 'status' with just those words"),
    ),
    Refusal(
        "statuses without a status field",
        lambda d: machine(d, "key", statuses=(Status("in", "in the lock"),)),
        ("machine 'key'", "needs a field 'status'"),
    ),
    Refusal(
        "guard twice",
        lambda d: operation(d, "open", guards=d.operation("open").guards * 2),
        ("guard of open", "'shut'", "twice"),
    ),
    Refusal(
        "case twice",
        lambda d: operation(d, "open", cases=d.operation("open").cases * 2),
        ("case of open", "'opened'", "twice"),
    ),
    Refusal(
        "parameter twice",
        lambda d: operation(d, "build", parameters=(MAKER, PAINT, MAKER)),
        ("parameter of build", "'maker'", "twice"),
    ),
    Refusal(
        "condition twice",
        lambda d: operation(
            d, "shut", cases=tuple(replace(case, when=case.when * 2) for case in d.operation("shut").cases)
        ),
        ("condition of shut/in_time", "'patience_left'", "twice"),
    ),
    Refusal("no case", lambda d: operation(d, "open", cases=()), ("operation 'open' has no case",)),
)

BELONGING: Sequence[Refusal] = (
    Refusal("unknown parent", lambda d: machine(d, "key", belongs_to="house"), ("machine 'key'", "'house'")),
    Refusal("acts on nothing", lambda d: operation(d, "open", over=()), ("operation 'open' acts on nothing",)),
    Refusal(
        "unknown machine",
        lambda d: stating(d, Truth(True), Variable("w", "window")),
        ("statement 'extra'", "'window'", "no machine"),
    ),
    Refusal(
        "two roots",
        lambda d: operation(d, "open", over=(DOOR, Variable("other", "door"))),
        ("operation 'open' touches two roots",),
    ),
    Refusal(
        "two roots in a statement",
        lambda d: replace(d, witnesses=(replace(d.witnesses[0], over=(DOOR, Variable("other", "door"))),)),
        ("statement 'creaking' touches two roots",),
    ),
    Refusal(
        "a second root machine",
        lambda d: replace(d, machines=(*d.machines, Machine("window", "it lets in light", ()))),
        ("one root", "door, window is a root"),
    ),
    Refusal(
        "child of the wrong parent",
        lambda d: operation(d, "lock", over=(DOOR, KEY, Variable("other", "key", of="key"))),
        ("operation 'lock'", "a key does not belong to 'key'"),
    ),
    Refusal(
        "child of nobody known",
        lambda d: stating(d, Truth(True), KEY),
        ("statement 'extra'", "a key does not belong to 'door'"),
    ),
    Refusal(
        "variable twice",
        lambda d: stating(d, Truth(True), DOOR, KEY, KEY),
        ("statement 'extra'", "variable 'key' twice"),
    ),
    Refusal(
        "acts on an entity that it is not over",
        lambda d: operation(d, "lock", acts_on="window"),
        ("operation 'lock' acts on 'window'", "not in its 'over'"),
    ),
    Refusal("each of nothing", lambda d: for_each(d, "open", turning()), ("open/opened", "each of nothing")),
    Refusal(
        "each of two side by side",
        lambda d: for_each(d, "open", turning(K, Variable("other", "key", of="door"), turned_at=NULL)),
        ("open/opened", "each 'other'", "does not belong to 'k'"),
    ),
    Refusal(
        "each of the wrong parent",
        lambda d: for_each(d, "lock", turning(Variable("k", "key", of="key"), turned_at=NULL)),
        ("what lock/locked does to each", "a key does not belong to 'key'"),
    ),
    Refusal(
        "each under a name that is taken",
        lambda d: for_each(d, "lock", turning(KEY, turned_at=NULL)),
        ("what lock/locked does to each", "variable 'key' twice"),
    ),
)

TERMS: Sequence[Refusal] = (
    Refusal(
        "unknown variable", lambda d: stating(d, Missing(FieldOf("window", "x"))), ("statement 'extra'", "'window'")
    ),
    Refusal("unknown field", lambda d: guarded(d, "open", Missing(field("size"))), ("guard open.extra", "door.size")),
    Refusal(
        "unknown field in a condition",
        lambda d: operation(d, "shut", cases=(case_when(Missing(field("size"))),)),
        ("condition shut/case_1.condition_0", "door.size"),
    ),
    Refusal(
        "unknown field read in an effect",
        lambda d: assigning(d, "open", Assignment(field("maker"), field("size"))),
        ("effect of open/opened on maker", "door.size"),
    ),
    Refusal(
        "unknown field assigned",
        lambda d: assigning(d, "open", Assignment(field("size"), NULL)),
        ("effect of open/opened on size", "door.size"),
    ),
    Refusal(
        "a guard looks after the step",
        lambda d: guarded(d, "open", Missing(field("maker", after=True))),
        ("guard open.extra", "door.maker", "only step properties may"),
    ),
    Refusal(
        "an invariant looks after the step",
        lambda d: stating(d, Missing(field("maker", after=True))),
        ("statement 'extra'", "door.maker", "only step properties may"),
    ),
    Refusal(
        "the field after the step is assigned",
        lambda d: assigning(d, "open", Assignment(field("maker", after=True), NULL)),
        ("effect of open/opened on maker", "only step properties may"),
    ),
    Refusal(
        "unknown setting",
        lambda d: guarded(d, "open", Holds(Setting("cat_flap"))),
        ("guard open.extra", "setting 'cat_flap'"),
    ),
    Refusal(
        "unknown setting in the assumption",
        lambda d: replace(d, settings_assumed=Holds(Setting("cat_flap"))),
        ("assumption about the settings", "setting 'cat_flap'"),
    ),
    Refusal("unknown parameter", lambda d: guarded(d, "open", Missing(Param("how"))), ("guard open.extra", "'how'")),
    Refusal(
        "a parameter in an invariant", lambda d: stating(d, Missing(Param("paint"))), ("statement 'extra'", "'paint'")
    ),
    Refusal(
        "an assumption about another parameter",
        lambda d: operation(d, "build", parameters=(replace(MAKER, assumed=Missing(Param("key"))), PAINT)),
        ("parameter build.maker", "parameter 'key'"),
    ),
    Refusal(
        "unknown field in the legacy predicate",
        lambda d: machine(d, "door", legacy=Missing(field("size"))),
        ("legacy predicate of door", "door.size"),
    ),
    Refusal(
        "unknown field in a progress statement",
        lambda d: replace(d, progress=(replace(d.progress[0], live=Missing(field("size"))),)),
        ("statement 'worn_ends'", "door.size"),
    ),
    Refusal(
        "a quantifier over an unknown machine",
        lambda d: stating(d, Every("w", "window", "door", Missing(FieldOf("w", "x")))),
        ("statement 'extra'", "'window'", "no machine"),
    ),
    Refusal(
        "a quantifier over what belongs elsewhere",
        lambda d: stating(d, Some("k", "key", "key", Truth(True)), DOOR, KEY),
        ("statement 'extra'", "a key does not belong to 'key'"),
    ),
    Refusal(
        "a quantifier within an unknown entity",
        lambda d: stating(d, Some("k", "key", "house", Truth(True))),
        ("statement 'extra'", "a key does not belong to 'house'"),
    ),
    Refusal(
        "a quantifier that hides a variable",
        lambda d: stating(d, Every("key", "key", "door", Truth(True)), DOOR, KEY),
        ("statement 'extra'", "variable 'key' twice"),
    ),
    Refusal(
        "a variable outside of its quantifier",
        lambda d: stating(d, AllOf((Every("k", "key", "door", Truth(True)), Missing(FieldOf("k", "turned_at"))))),
        ("statement 'extra'", "'k'", "does not declare"),
    ),
    Refusal(
        "progress by an unknown operation",
        lambda d: replace(d, progress=(replace(d.progress[0], bound=("open", "kick")),)),
        ("statement 'worn_ends'", "'kick'", "no operation"),
    ),
    Refusal(
        "a step property of an operation that is none",
        lambda d: obeying(d, Truth(True), of="paint"),
        ("statement 'extra' is about 'paint'", "no operation"),
    ),
    Refusal(
        "an argument that the operation lacks",
        lambda d: obeying(d, Equal(field("maker"), Param("maker")), of="open"),
        ("statement 'extra'", "parameter 'maker'", "not declared"),
    ),
)

ASSIGNMENTS: Sequence[Refusal] = (
    Refusal(
        "assigned twice",
        lambda d: assigning(d, "open", Assignment(field("openings"), Const(0))),
        ("open/opened", "door.openings", "twice"),
    ),
    Refusal(
        "fixed field assigned",
        lambda d: assigning(d, "lock", Assignment(FieldOf("key", "number"), Const(3))),
        ("lock/locked", "number", "fixed"),
    ),
    Refusal(
        "word not in the list",
        lambda d: assigning(d, "open", Assignment(field("paint"), Const("blue"))),
        ("open/opened", "paint", "'blue'", "not among its words"),
    ),
    Refusal(
        "null where it may not be",
        lambda d: assigning(d, "open", Assignment(field("oiled"), NULL)),
        ("open/opened", "oiled", "null"),
    ),
    Refusal(
        "the wrong entity assigned for each",
        lambda d: for_each(d, "open", ForEach((K,), Truth(True), (Assignment(field("oiled"), Const(True)),), "all")),
        ("open/opened", "door.oiled for each k", "fields of k only"),
    ),
    Refusal(
        "assigned by itself and for each",
        lambda d: for_each(d, "lock", turning(K, turned_at=NULL)),
        ("lock/locked", "key.turned_at twice", "once for each"),
    ),
    Refusal(
        "assigned twice for each",
        lambda d: for_each(
            d, "open", turning(K, turned_at=NULL), turning(Variable("k2", "key", of="door"), turned_at=Now())
        ),
        ("open/opened", "key.turned_at twice"),
    ),
    Refusal(
        "a fixed field assigned for each",
        lambda d: for_each(d, "open", turning(K, number=Const(3))),
        ("open/opened", "number", "fixed"),
    ),
)

STATUSES: Sequence[Refusal] = (
    Refusal("status without row", lambda d: table(d, "door", {"open": None}), ("status 'open' of door", "no row")),
    Refusal("row without status", lambda d: table(d, "door", {"ajar": ()}), ("table of door", "'ajar'", "no status")),
    Refusal(
        "terminal status with a row",
        lambda d: table(d, "door", {"gone": ("open",)}),
        ("status 'gone' of door is terminal", "move the row to the revivals"),
    ),
    Refusal(
        "a revival listed in the table",
        lambda d: table(rebuildable(d), "door", {"gone": ("rebuild",)}),
        ("status 'gone' of door is terminal", "move the row to the revivals"),
    ),
    Refusal(
        "a revival that is not listed",
        lambda d: machine(rebuildable(d), "door", revivals={}),
        ("rebuild can act on a door that is gone", "the table does not say so"),
    ),
    Refusal(
        "a revival of what is live",
        lambda d: machine(d, "door", revivals={"shut": ("open",)}),
        ("status 'shut' of door is not terminal", "move the row to the table"),
    ),
    Refusal(
        "a revival that its guards do not allow",
        lambda d: machine(d, "door", revivals={"gone": ("open",)}),
        ("the table lets open act on a door that is gone",),
    ),
    Refusal(
        "a revival of no status",
        lambda d: machine(d, "door", revivals={"burnt": ("open",)}),
        ("revivals of door have a row for 'burnt'", "no status"),
    ),
    Refusal(
        "a revival that names no operation",
        lambda d: machine(d, "door", revivals={"gone": ("conjure",)}),
        ("table of door", "'conjure'", "no operation on it"),
    ),
    Refusal(
        "a row that lacks what its guards allow",
        lambda d: table(d, "door", {"shut": ("lock", "remove")}),
        ("open can act on a door that is shut", "the table does not say so"),
    ),
    Refusal(
        "a row with more than the guards allow",
        lambda d: table(d, "door", {"locked": ("unlock", "open")}),
        ("the table lets open act on a door that is locked",),
    ),
    Refusal(
        "a guard on the status taken out",
        lambda d: unguarded(d, "open", "shut"),
        ("open can act on a door that is",),
    ),
    Refusal(
        "a creating operation that acts on what exists",
        lambda d: unguarded(d, "build", "new"),
        ("build can act on a door that is shut", "the table does not say so"),
    ),
    Refusal(
        "a row that names no operation",
        lambda d: table(d, "door", {"open": ("shut", "slam")}),
        ("table of door", "'slam'", "no operation on it"),
    ),
    Refusal("nothing creates it", lambda d: machine(d, "door", created_by=None), ("machine 'door'", "created_by")),
    Refusal(
        "created by an operation that is none",
        lambda d: machine(d, "door", created_by="grow"),
        ("machine 'door' is created by 'grow'", "no operation on it"),
    ),
    Refusal(
        "a status that nothing leads to",
        lambda d: operation(
            d, "lock", cases=(Case("kept", (), (Assignment(FieldOf("key", "turned_at"), Now()),), "nothing locks"),)
        ),
        ("status 'locked' of door cannot be reached",),
    ),
)

OVERLAPS: Sequence[Refusal] = (
    Refusal(
        "two cases at once",
        lambda d: operation(
            d,
            "shut",
            cases=(case_when(Less(Now(), field("opened_at"))), case_when(Less(Now(), field("opened_at")), Truth(True))),
        ),
        ("'case_1'", "'case_2'", "of shut can both be taken", "door.status = open", "door.opened_at = 2"),
    ),
    Refusal(
        "two cases at once because of a null",
        lambda d: operation(
            d,
            "shut",
            cases=(
                case_when(Not(Less(Now(), field("opened_at")))),
                case_when(Not(Less(field("opened_at"), Now())), Truth(True)),
            ),
        ),
        ("of shut can both be taken", "door.opened_at = null"),
    ),
    Refusal(
        "two cases at once for one argument",
        lambda d: operation(
            d,
            "build",
            cases=tuple(
                replace(
                    d.operation("build").cases[0],
                    name=f"in_{colours[0]}",
                    when=(Guard("colour", OneOf(Param("paint"), colours), "nowhere", ""),),
                )
                for colours in (("red",), ("green", "red"))
            ),
        ),
        ("'in_red'", "'in_green'", "of build can both be taken", "paint = red"),
    ),
    Refusal(
        "two cases at once under one setting",
        lambda d: operation(
            d,
            "shut",
            cases=(
                case_when(Less(Setting("patience"), Const(2))),
                case_when(AtMost(Const(1), Setting("patience")), Truth(True)),
            ),
        ),
        ("of shut can both be taken", "patience = 1"),
    ),
    Refusal(
        "two cases without any condition", lambda _: two_cases_without_conditions(), ("both be taken", "job.status =")
    ),
)


def two_cases_without_conditions() -> Contract:
    """The contract of the job with the conditions of the last two cases of ``fail`` taken out."""
    fail = JOB_CONTRACT.operation("fail")
    *others, polled, retried = fail.cases
    cases = (*others, replace(polled, when=()), replace(retried, when=()))
    return replace(
        JOB_CONTRACT,
        operations=tuple(replace(o, cases=cases) if o.name == "fail" else o for o in JOB_CONTRACT.operations),
    )


def setting_shape(contract: Contract, **changes: Any) -> Contract:
    """The contract with its setting ``patience`` changed."""
    return replace(contract, settings=(replace(contract.settings[0], **changes), *contract.settings[1:]))


def comparing(term: TruthTerm) -> Mutation:
    return lambda d: guarded(d, "build", term)


def setting(name: str, value: ValueTerm) -> Mutation:
    """An assignment more in the operation ``build``, in place of what it assigns to that field."""

    def broken(contract: Contract) -> Contract:
        (case,) = contract.operation("build").cases
        kept = tuple(assignment for assignment in case.effect if assignment.field.name != name)
        return operation(contract, "build", cases=(replace(case, effect=(*kept, Assignment(field(name), value))),))

    return broken


SORTS: Sequence[Refusal] = (
    Refusal(
        "instant before count",
        comparing(Less(field("opened_at"), field("openings"))),
        ("guard build.extra compares door.opened_at (instant) with door.openings (count)",),
    ),
    Refusal(
        "instant equal to duration",
        comparing(Equal(field("opened_at"), Setting("patience"))),
        ("guard build.extra", "door.opened_at (instant)", "setting patience (duration)"),
    ),
    Refusal(
        "word same as identity",
        comparing(Same(field("status"), Param("maker"))),
        ("guard build.extra", "door.status (word)", "parameter maker (identity)"),
    ),
    Refusal(
        "count before identity: it may be one, but comes neither before nor after it",
        comparing(Less(field("openings"), field("maker"))),
        ("door.openings (count) with door.maker (identity)",),
    ),
    Refusal(
        "a count or an identity",
        comparing(Missing(Choose(Truth(True), field("openings"), field("maker")))),
        ("chooses between door.openings (count) and door.maker (identity)",),
    ),
    Refusal(
        "a count equal to a text",
        comparing(Equal(field("openings"), Const("many"))),
        ("door.openings (count) with 'many' (word or identity or text)",),
    ),
    Refusal(
        "number equal to a text", comparing(Equal(field("paint"), Const(3))), ("door.paint (text) with 3", "one sort")
    ),
    Refusal(
        "half a count", comparing(Equal(field("openings"), Const(0.5))), ("door.openings (count) with 0.5 (instant",)
    ),
    Refusal(
        "a flag equal to a number", comparing(Equal(field("oiled"), Const(1))), ("door.oiled (flag) with 1 (count",)
    ),
    Refusal(
        "identities in order",
        comparing(AtMost(field("maker"), Param("maker"))),
        ("door.maker (identity)", "parameter maker (identity)", "without order"),
    ),
    Refusal(
        "a misspelt word, compared",
        comparing(Equal(Const("opne"), field("status"))),
        ("guard build.extra compares door.status with 'opne'", "not among its words"),
    ),
    Refusal(
        "a misspelt word of a parameter, compared",
        comparing(Not(Same(Param("paint"), Const("rad")))),
        ("guard build.extra compares parameter paint with 'rad'", "not among its words"),
    ),
    Refusal(
        "a misspelt word among choices",
        comparing(OneOf(field("status"), ("open", "lokced"))),
        ("guard build.extra looks for 'lokced' in door.status", "add the word"),
    ),
    Refusal(
        "a number among the choices of a word",
        comparing(OneOf(field("status"), (1,))),
        ("guard build.extra looks for 1 in door.status (word)",),
    ),
    Refusal(
        "instant plus instant",
        comparing(Less(Plus(Now(), field("opened_at")), Now())),
        ("guard build.extra adds now (instant) and door.opened_at (instant)",),
    ),
    Refusal(
        "instant plus count",
        comparing(Less(Plus(field("opened_at"), field("openings")), Now())),
        ("adds door.opened_at (instant) and door.openings (count)",),
    ),
    Refusal(
        "the smaller of an instant and a duration",
        comparing(Less(Smaller(Now(), Setting("patience")), Now())),
        ("takes the smaller or larger of now (instant) and setting patience (duration)",),
    ),
    Refusal(
        "the larger of two texts",
        comparing(Missing(Larger(field("paint"), Param("paint")))),
        ("takes the smaller or larger of door.paint (text)", "without order"),
    ),
    Refusal(
        "a choice between a word and a count",
        comparing(Missing(Choose(Truth(True), field("status"), field("openings")))),
        ("chooses between door.status (word) and door.openings (count)",),
    ),
    Refusal(
        "a count that should hold",
        comparing(Holds(field("openings"))),
        ("guard build.extra asks whether door.openings (count) holds", "only a flag"),
    ),
    Refusal(
        "a setting of the wrong sort in the assumption",
        lambda d: replace(d, settings_assumed=Holds(Setting("patience"))),
        ("assumption about the settings asks whether setting patience (duration) holds",),
    ),
    Refusal(
        "a mixture inside of a quantifier",
        lambda d: stating(d, Every("k", "key", "door", Less(FieldOf("k", "turned_at"), FieldOf("k", "number")))),
        ("statement 'extra' compares k.turned_at (instant) with k.number (count)",),
    ),
    Refusal(
        "a mixture after the step",
        lambda d: replace(
            d,
            step_properties=(
                StepProperty("p", "", (DOOR,), Same(field("opened_at"), field("openings", after=True)), ""),
            ),
        ),
        ("statement 'p'", "door.openings after the step (count)"),
    ),
    Refusal(
        "an instant assigned to a count",
        setting("openings", Now()),
        ("build/built sets door.openings to now (instant)", "takes a value of sort count"),
    ),
    Refusal(
        "an instant assigned to an identity: only a count may be",
        setting("maker", Now()),
        ("build/built sets door.maker to now (instant)", "takes a value of sort identity"),
    ),
    Refusal(
        "a number assigned to a word",
        setting("status", Const(1)),
        ("build/built sets status to 1",),
    ),
    Refusal(
        "a text assigned to a flag",
        setting("oiled", Const("yes")),
        ("build/built sets door.oiled to 'yes' (word or identity or text)", "flag"),
    ),
    Refusal(
        "a negative count assigned",
        setting("openings", Const(-1)),
        ("build/built sets door.openings to -1", "negative"),
    ),
    Refusal(
        "a misspelt word, assigned by choice",
        setting("paint", Choose(Truth(True), Const("red"), Const("gren"))),
        ("build/built sets door.paint to 'red' or 'gren'", "which may be 'gren'"),
    ),
    Refusal(
        "a parameter that takes other words, assigned",
        lambda d: operation(d, "build", parameters=(MAKER, replace(PAINT, words=("red", "blue")))),
        ("build/built sets door.paint to parameter paint", "'blue'"),
    ),
    Refusal(
        "a parameter that takes any word, assigned",
        lambda d: operation(d, "build", parameters=(MAKER, replace(PAINT, words=()))),
        ("build/built sets door.paint to parameter paint", "list the words"),
    ),
    Refusal(
        "a parameter without words",
        lambda d: operation(d, "build", parameters=(MAKER, PAINT, Parameter("kind", Sort.WORD, "its kind"))),
        ("parameter build.kind", "give its words"),
    ),
    Refusal(
        "a default of the wrong sort", lambda d: setting_shape(d, default="long"), ("setting 'patience'", "'long'")
    ),
    Refusal("no default", lambda d: setting_shape(d, default=None), ("setting 'patience'", "null")),
    Refusal(
        "a negative default",
        lambda d: setting_shape(d, sort=Sort.COUNT, default=-2),
        ("setting 'patience' is a count", "-2"),
    ),
    Refusal("an unknown field in a legacy row", lambda d: legacy(d, size=3), ("legacy row 'found' of door", "'size'")),
    Refusal("a null in a legacy row", lambda d: legacy(d, oiled=None), ("legacy row 'found' of door", "oiled", "null")),
    Refusal(
        "a value of the wrong sort in a legacy row",
        lambda d: legacy(d, openings="many"),
        ("legacy row 'found' of door", "openings, a count", "'many'"),
    ),
    Refusal(
        "a word not in the list in a legacy row",
        lambda d: legacy(d, paint="blue"),
        ("legacy row 'found' of door", "paint", "'blue'"),
    ),
    Refusal(
        "a value of the wrong sort for each",
        lambda d: for_each(d, "open", turning(K, turned_at=Const("red"))),
        ("open/opened sets each k.turned_at", "instant"),
    ),
)

REFUSALS: Sequence[Refusal] = (*NAMES, *BELONGING, *TERMS, *ASSIGNMENTS, *STATUSES, *OVERLAPS, *SORTS)


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: refusal.what)
def test_an_ill_formed_contract_is_refused_with_a_sentence(door: Contract, refusal: Refusal) -> None:
    with pytest.raises(IllFormedContract) as refused:
        refusal.broken(door)
    sentence = str(refused.value)
    assert all(name in sentence for name in refusal.named), sentence
    assert "\n" not in sentence


# --- every complaint has a test ---------------------------------------------------------------------------------------

CHECKED = (contract_module, sorting_module)


def source_of(module: ModuleType) -> tuple[str, ast.Module]:
    path = inspect.getsourcefile(module)
    assert path is not None
    return path, ast.parse(Path(path).read_text("utf-8"))


@dataclass(frozen=True)
class Complaint:
    """Where a sentence is yielded: the file, the function, and the lines of the ``yield``."""

    path: str
    function: str
    lines: range


def complaints_in_the_source() -> Iterator[Complaint]:
    """Each ``yield`` of a function that gives sentences."""
    for module in CHECKED:
        path, tree = source_of(module)
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef) and ast.unparse(function.returns or function) == "Iterator[str]":
                for node in ast.walk(function):
                    if isinstance(node, ast.Yield):
                        assert node.end_lineno is not None
                        yield Complaint(path, function.name, range(node.lineno, node.end_lineno + 1))


@contextmanager
def lines_run(functions: set[tuple[str, str]]) -> Iterator[set[tuple[str, int]]]:
    """The lines that are run meanwhile in the functions of these files and names."""
    run: set[tuple[str, int]] = set()

    def within(frame: FrameType, event: str, _: object) -> Any:
        if event == "line":
            run.add((frame.f_code.co_filename, frame.f_lineno))
        return within

    def entered(frame: FrameType, event: str, arg: object) -> Any:
        return within if (frame.f_code.co_filename, frame.f_code.co_name) in functions else None

    outer = sys.gettrace()
    sys.settrace(entered)
    try:
        yield run
    finally:
        sys.settrace(outer)


def sentences_of(refusals: Sequence[Refusal], door: Contract) -> list[str]:
    sentences: list[str] = []
    for refusal in refusals:
        try:
            refusal.broken(door)
        except IllFormedContract as refused:
            sentences.append(str(refused))
    return sentences


def test_every_complaint_has_a_test(door: Contract) -> None:
    found = list(complaints_in_the_source())
    assert len(found) > 30, "the complaints were not found in the source"
    with lines_run({(complaint.path, complaint.function) for complaint in found}) as run:
        sentences_of(REFUSALS, door)
    silent = [
        f"{Path(complaint.path).name}:{complaint.lines[0]}"
        for complaint in found
        if not any((complaint.path, line) in run for line in complaint.lines)
    ]
    assert silent == []


def test_every_kind_of_name_is_tested_twice(door: Contract) -> None:
    """Names given twice are found by one function for all kinds of names, so the kinds are looked for one by one."""
    _, tree = source_of(contract_module)
    kinds: list[str] = []
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "_twice":
            label = call.args[0]
            kinds.append(ast.unparse(label.values[0] if isinstance(label, ast.JoinedStr) else label).strip("'"))
    assert len(kinds) > 5
    sentences = [sentence for sentence in sentences_of(NAMES, door) if "is declared twice" in sentence]
    assert [kind for kind in kinds if not any(sentence.startswith(kind) for sentence in sentences)] == []


# --- what is not refused ----------------------------------------------------------------------------------------------


def test_sound_contracts_have_nothing_to_complain_about(door: Contract) -> None:
    assert list(complaints(door)) == []
    assert list(complaints(rebuildable(door))) == []
    assert list(complaints(JOB_CONTRACT)) == []


@pytest.mark.parametrize("refusal", [BELONGING[3], STATUSES[2], SORTS[0]], ids=lambda refusal: refusal.what)
def test_a_mutant_is_built_unchecked_and_its_complaints_can_be_read(door: Contract, refusal: Refusal) -> None:
    mutant = refusal.broken(replace(door, checked=False))
    assert all(name in next(complaints(mutant)) for name in refusal.named)


@pytest.mark.parametrize(
    "well",
    [
        comparing(Equal(field("maker"), Plus(field("openings"), Const(1)))),
        comparing(Not(Same(field("openings"), field("maker")))),
        comparing(Same(field("status"), NULL)),
        comparing(OneOf(field("maker"), ("a", 1))),
        comparing(Less(Plus(Setting("patience"), Now()), field("opened_at"))),
        comparing(AtMost(Plus(field("openings"), Const(-1)), Const(0))),
        comparing(Less(Smaller(Const(0.5), field("opened_at")), Now())),
        comparing(Equal(Choose(Missing(field("paint")), Const("red"), field("paint")), Const("green"))),
        setting("maker", field("openings")),
        setting("paint", Choose(Truth(True), Const("red"), NULL)),
    ],
)
def test_terms_of_one_sort_are_welcome(door: Contract, well: Mutation) -> None:
    assert list(complaints(well(door))) == []


@pytest.mark.parametrize(
    "conditions",
    [
        ((Less(Now(), field("opened_at")),), (Not(Less(Now(), field("opened_at"))),)),
        ((Less(Now(), field("opened_at")),), (AtMost(field("opened_at"), Now()), Truth(True))),
        ((Missing(field("maker")),), (Equal(field("maker"), Const("me")), Truth(True))),
        ((Equal(field("paint"), Const("red")),), (OneOf(field("paint"), ("green",)), Truth(True))),
        ((Holds(field("oiled")),), (Not(AllOf((Holds(field("oiled")), Truth(True)))), Truth(True))),
    ],
)
def test_cases_that_exclude_each_other_are_welcome(
    door: Contract, conditions: tuple[tuple[TruthTerm, ...], tuple[TruthTerm, ...]]
) -> None:
    one, other = conditions
    cases = (case_when(*one), case_when(*other, Truth(True)))
    assert list(complaints(operation(door, "shut", cases=cases))) == []


SMALL: dict[FieldOf, tuple[Value, ...]] = {
    FieldOf("row", "a"): (None, 0, 1, 2),
    FieldOf("row", "b"): (None, 0, 1, 2),
    FieldOf("row", "word"): (None, "red", "green", "blue"),
    FieldOf("row", "flag"): (None, False, True),
}
NUMBERS: st.SearchStrategy[ValueTerm] = st.sampled_from(
    [FieldOf("row", "a"), FieldOf("row", "b"), Const(1), Now(), Plus(FieldOf("row", "a"), Const(1))]
)
TRUTHS: st.SearchStrategy[TruthTerm] = st.recursive(
    st.one_of(
        *(st.builds(kind, NUMBERS, NUMBERS) for kind in (Less, AtMost, Equal, Same)),
        st.builds(Equal, st.just(FieldOf("row", "word")), st.sampled_from([Const("red"), Const("green")])),
        st.builds(OneOf, st.just(FieldOf("row", "word")), st.sampled_from([("red",), ("red", "blue")])),
        st.builds(Missing, st.one_of(NUMBERS, st.just(FieldOf("row", "word")))),
        st.just(Holds(FieldOf("row", "flag"))),
        st.builds(Truth, st.booleans()),
    ),
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(AllOf, st.lists(inner, min_size=1, max_size=3).map(tuple)),
        st.builds(AnyOf, st.lists(inner, min_size=1, max_size=3).map(tuple)),
    ),
    max_leaves=5,
)


@given(TRUTHS, TRUTHS)
def test_what_is_excluded_by_shape_holds_in_no_row(one: TruthTerm, other: TruthTerm) -> None:
    """Conversely nothing is promised: a pair may exclude each other for reasons of arithmetic."""
    both = AllOf((one, other))
    rows = [dict(zip(SMALL, values, strict=True)) for values in itertools.product(*SMALL.values())]
    holding = [row for row in rows if holds(both, Bare({"row": {f.name: v for f, v in row.items()}}, 1))]
    if excluded_by_shape(both):
        assert holding == []
    assert excluded_by_shape(AllOf((one, Not(one))))


WORD, A, B = FieldOf("row", "word"), FieldOf("row", "a"), FieldOf("row", "b")


@pytest.mark.parametrize(
    ("term", "excluded"),
    [
        (AllOf((Equal(WORD, Const("red")), Equal(Const("green"), WORD))), True),
        (AllOf((Equal(WORD, Const("red")), OneOf(WORD, ("green", "blue")))), True),
        (AllOf((Equal(WORD, Const("red")), OneOf(WORD, ("green", "red")))), False),
        (AllOf((Less(A, B), Less(B, A))), True),
        (AllOf((Less(A, B), AtMost(B, A))), True),
        (AllOf((AtMost(A, B), AtMost(B, A))), False),
        (AllOf((Not(Less(A, B)), Not(AtMost(B, A)))), False),
        (AllOf((Missing(A), AtMost(A, B))), True),
        (AllOf((Missing(A), Same(A, B))), False),
        (AllOf((Missing(A), Not(Missing(A)))), True),
        (Missing(NULL), False),
        (Not(Missing(NULL)), True),
        (AnyOf((Truth(False), Truth(False))), True),
        (AllOf((Every("x", "m", "row", Missing(A)), Not(Every("x", "m", "row", Missing(A))))), True),
    ],
)
def test_what_the_shape_of_conditions_tells(term: TruthTerm, excluded: bool) -> None:
    assert excluded_by_shape(term) is excluded


# --- reading a contract -----------------------------------------------------------------------------------------------


def test_things_are_found_by_name(door: Contract) -> None:
    assert door.machine("key").belongs_to == "door"
    assert door.operation("lock").subject == DOOR
    assert door.machine("door").field_named("oiled").sort is Sort.FLAG
    assert door.root.name == "door"
    assert [child.name for child in door.children_of("door")] == ["key"]
    assert door.children_of("key") == ()
    assert door.machine("door").terminal == ("gone",)
    assert door.machine("door").live == ("shut", "open", "locked")
    assert door.machine("door").acting_on("gone") == ()
    assert rebuildable(door).machine("door").acting_on("gone") == ("rebuild",)
    assert rebuildable(door).machine("door").acting_on("shut") == door.machine("door").table["shut"]
    assert door.defaults() == {"patience": 2, "most_openings": 2}
    with pytest.raises(KeyError, match="window"):
        door.machine("window")
    with pytest.raises(KeyError, match="kick"):
        door.operation("kick")
    with pytest.raises(KeyError, match="size"):
        door.machine("door").field_named("size")


def test_a_transition_is_called_by_its_case_only_where_there_are_several(door: Contract) -> None:
    names = [transition_name(operation, case) for operation, case in door.transitions()]
    assert names == ["build", "open", "shut/in_time", "shut/late", "lock", "unlock", "remove"]


def test_cases_in_order_deny_the_earlier_ones() -> None:
    def guard(name: str) -> Guard:
        return Guard(name, Holds(field(name)), "clause", "why")

    first, second, third, last = in_order(
        Case("first", (guard("a"),), (), ""),
        Case("second", (guard("b"), guard("c")), (), ""),
        Case("third", (guard("d"),), (), ""),
        Case("last", (), (), ""),
    )
    assert [g.name for g in first.when] == ["a"]
    assert [g.name for g in second.when] == ["not_a", "b", "c"]
    assert [g.name for g in third.when] == ["not_a", "not_second", "d"]
    assert [g.name for g in last.when] == ["not_a", "not_second", "not_d"]
    for flags in itertools.product([False, True], repeat=4):
        row = Bare({"door": dict(zip("abcd", flags, strict=True))})
        taken = [c.name for c in (first, second, third, last) if all(holds(g.term, row) for g in c.when)]
        a, b, c, d = flags
        assert taken == ["first" if a else "second" if b and c else "third" if d else "last"]
