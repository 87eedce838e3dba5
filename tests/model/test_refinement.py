"""Refinements: what they demand of each transition, and the ones that are refused."""

from dataclasses import replace

import pytest

from fencepost_model.contract import Contract
from fencepost_model.refinement import (
    STUTTER,
    Excepted,
    IllFormedRefinement,
    Image,
    Performs,
    Refinement,
    left_out,
    refines,
    statements,
    without_exception,
)
from fencepost_model.semantics import Accepted, Call, Member, Population, Semantics, State
from fencepost_model.shapes import (
    Actor,
    Assignment,
    Case,
    Field,
    Guard,
    Machine,
    Operation,
    Parameter,
    Selection,
    SettingShape,
    Sort,
    Variable,
)
from fencepost_model.terms import Const, FieldOf, Less, Missing, Param, Plus, Setting, ValueTerm

JAR = Variable("jar", "jar")
TIN = Variable("tin", "tin")


def level(name: str) -> FieldOf:
    return FieldOf("jar", name)


def fill() -> Operation:
    """Puts one marble into the jar, as long as there is room."""
    return Operation(
        name="fill",
        actor=Actor.CLIENT,
        selection=Selection.NAMED,
        over=(JAR,),
        parameters=(Parameter("weight", Sort.COUNT, "how heavy", assumed=Less(Const(0), Param("weight"))),),
        guards=(Guard("room", Less(level("marbles"), Setting("most")), "§1", "a full jar takes nothing"),),
        cases=(
            Case(
                "filled",
                (),
                (
                    Assignment(level("marbles"), Plus(level("marbles"), Const(1))),
                    Assignment(level("weight"), Plus(level("weight"), Param("weight"))),
                ),
                "one more",
            ),
        ),
        clause="§1",
        meaning="Fill.",
    )


ABSTRACT = Contract(
    name="jars",
    machines=(
        Machine(
            "jar",
            "a jar",
            (Field("marbles", Sort.COUNT, "how many"), Field("weight", Sort.COUNT, "how heavy")),
        ),
    ),
    operations=(fill(),),
    invariants=(),
    settings=(SettingShape("most", Sort.COUNT, "how many fit", 3),),
)


def tin(name: str) -> FieldOf:
    return FieldOf("tin", name)


def tin_operation(name: str, *assignments: tuple[str, ValueTerm], guard: Guard | None = None) -> Operation:
    return Operation(
        name=name,
        actor=Actor.CLIENT,
        selection=Selection.NAMED,
        over=(TIN,),
        guards=(guard,) if guard else (),
        cases=(Case("done", (), tuple(Assignment(tin(f), v) for f, v in assignments), "done"),),
        clause="§1",
        meaning=name,
    )


ROOM = Guard("room", Less(tin("count"), Const(3)), "§1", "it fits")
CONCRETE = Contract(
    name="tins",
    machines=(
        Machine(
            "tin",
            "a tin",
            (
                Field("count", Sort.COUNT, "how many"),
                Field("grams", Sort.COUNT, "how heavy"),
                Field("label", Sort.COUNT, "what stands on it"),
            ),
        ),
    ),
    operations=(
        tin_operation(
            "add", ("count", Plus(tin("count"), Const(1))), ("grams", Plus(tin("grams"), Const(5))), guard=ROOM
        ),
        tin_operation("write", ("label", tin("count"))),
    ),
    invariants=(),
)


def seen(**changes: object) -> Refinement:
    whole = Refinement(
        name="tins as jars",
        clause="§1",
        concrete=CONCRETE,
        abstract=ABSTRACT,
        images=(Image("jar", (TIN,), {"marbles": tin("count"), "weight": tin("grams")}),),
        steps={"add": Performs("fill", {"weight": Const(5)}), "write": STUTTER},
        settings={"most": Const(3)},
    )
    return replace(whole, **changes)  # type: ignore[arg-type]


def broken_by(refinement: Refinement, operation: str, count: int) -> set[str]:
    """The statements that a step of an operation breaks, on a tin with so many marbles."""
    contract = refines(refinement)
    semantics = Semantics(contract, Population(Member("tin", "tin")), contract.defaults())
    before = State(0, (({"count": count, "grams": 2, "label": None},),))
    call = Call(operation, 0, {"tin": 0})
    outcome = semantics.attempt(before, call)
    assert isinstance(outcome, Accepted)
    return {p.name for p in semantics.broken_step_properties(before, call, outcome.state)}


def test_each_transition_gets_a_statement() -> None:
    names = [statement.name for statement in statements(seen())]
    assert names == ["add refines fill", "write stutters"]
    assert all(statement.of in ("add", "write") for statement in statements(seen()))


def test_a_step_that_the_abstract_contract_allows_breaks_nothing() -> None:
    assert broken_by(seen(), "add", 2) == set()
    assert broken_by(seen(), "write", 2) == set()


@pytest.mark.parametrize(
    "refinement",
    [
        pytest.param(seen(settings={"most": Const(2)}), id="a guard is false"),
        pytest.param(
            seen(steps={"add": Performs("fill", {"weight": Const(4)}), "write": STUTTER}), id="an effect is another"
        ),
        pytest.param(
            seen(steps={"add": Performs("fill", {"weight": Const(0)}), "write": STUTTER}), id="a malformed argument"
        ),
        pytest.param(seen(steps={"add": STUTTER, "write": STUTTER}), id="a stutter that is seen"),
    ],
)
def test_a_step_that_it_does_not_allow_breaks_the_statement(refinement: Refinement) -> None:
    broken = broken_by(refinement, "add", 2)
    assert len(broken) == 1
    assert broken.pop().startswith("add ")


def test_of_several_abstract_steps_one_is_enough_and_none_is_not() -> None:
    right, wrong = Performs("fill", {"weight": Const(5)}), Performs("fill", {"weight": Const(4)})
    assert broken_by(seen(steps={"add": (wrong, right), "write": STUTTER}), "add", 2) == set()
    assert broken_by(seen(steps={"add": (wrong, wrong), "write": STUTTER}), "add", 2) != set()


def test_an_exception_demands_nothing_and_is_shown_to_be_needed() -> None:
    with_exception = seen(
        settings={"most": Const(2)},
        steps={"add": Excepted("tins are larger", Performs("fill", {"weight": Const(5)})), "write": STUTTER},
    )
    assert broken_by(with_exception, "add", 2) == set()
    assert with_exception.exceptions() == {"add": "tins are larger"}
    assert broken_by(without_exception(with_exception, "add"), "add", 2) != set()
    with pytest.raises(KeyError):
        without_exception(with_exception, "write")


def test_what_reads_an_unseen_field_is_left_out_and_listed() -> None:
    image = Image("jar", (TIN,), {"weight": tin("grams")}, {"marbles": "tins are not counted"})
    unseen = seen(images=(image,), settings={"most": Const(0)})
    assert broken_by(unseen, "add", 2) == set()
    assert [line.split(":")[0] for line in left_out(unseen)] == ["fill.room"]


WELL = {"marbles": tin("count"), "weight": tin("grams")}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"images": ()}, "how a jar is seen"),
        ({"images": (Image("jar", (TIN,), {"marbles": tin("count")}),)}, "jar.weight"),
        ({"images": (Image("jar", (TIN,), {**WELL, "colour": tin("count")}),)}, "jar.colour"),
        ({"images": (Image("jar", (TIN,), {**WELL, "weight": tin("nothing")}),)}, "tin.nothing"),
        ({"images": (Image("jar", (TIN,), WELL, {"weight": "why"}),)}, "choose one"),
        ({"images": (Image("jar", (TIN,), {**WELL, "weight": Const(1)}),)}, "null there"),
        ({"steps": {"add": STUTTER}}, "'write'"),
        ({"steps": {"add": STUTTER, "write": STUTTER, "shake": STUTTER}}, "'shake'"),
        ({"steps": {"add": Performs("empty"), "write": STUTTER}}, "'empty'"),
        ({"steps": {"add": Performs("fill"), "write": STUTTER}}, "'weight'"),
        ({"steps": {"add": Performs("fill", {"weight": Const(1), "size": Const(1)}), "write": STUTTER}}, "'size'"),
        ({"settings": {}}, "'most'"),
    ],
)
def test_an_ill_formed_refinement_is_refused_with_what_to_mend(changes: dict[str, object], told: str) -> None:
    with pytest.raises(IllFormedRefinement, match=told):
        seen(**changes)


def test_a_legacy_row_must_be_seen_as_one() -> None:
    machine = replace(CONCRETE.machines[0], legacy=Missing(tin("label")))
    with pytest.raises(IllFormedRefinement, match="legacy"):
        seen(concrete=replace(CONCRETE, machines=(machine,)))
