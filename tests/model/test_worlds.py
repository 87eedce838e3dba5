"""Small worlds: they bound what is tried, offer an argument wherever one is needed, and name what they cannot show."""

import re
from dataclasses import replace
from typing import Any

import pytest

from fencepost_model.contract import Contract, transition_name
from fencepost_model.machines.job_worlds import SMALL_WORLDS, WORLDS, jobs
from fencepost_model.semantics import Member, Population
from fencepost_model.terms import Bare, Const, Now, Plus, Value, value_of
from fencepost_model.worlds import World, const, later


@pytest.fixture
def hall(door: Contract) -> World:
    """A world for a contract from elsewhere."""
    return World(
        name="hall",
        meaning="one door, one key",
        contract=door,
        population=Population(Member("door", "door", {}, (Member("key", "key", {"number": 1}),))),
        horizon=4,
        arguments={"build.maker": const("me", "you"), "*.paint": const(None, "red", "green")},
    )


def test_an_argument_that_is_not_offered_is_missed(hall: World) -> None:
    with pytest.raises(ValueError, match=r"world 'hall' offers no value for build\.paint; add it to arguments"):
        replace(hall, arguments={"build.maker": const("me")})


def test_what_is_not_called_needs_no_argument(hall: World) -> None:
    quiet = replace(hall, arguments={}, without=frozenset({"build"}))
    assert [operation.name for operation in quiet.operations()] == ["open", "shut", "lock", "unlock", "remove"]


def test_an_unknown_setting_is_refused(hall: World) -> None:
    with pytest.raises(ValueError, match="world 'hall' has 'cat_flap' among its settings, which door lacks"):
        replace(hall, settings={"cat_flap": True})


def test_a_world_changes_the_settings_it_names_and_no_others(hall: World) -> None:
    assert hall.profile() == {"patience": 2, "most_openings": 2}
    assert replace(hall, settings={"patience": 9}).profile() == {"patience": 9, "most_openings": 2}


def test_every_combination_of_arguments_is_offered(hall: World) -> None:
    sets = [tuple(arguments.values()) for arguments in hall.argument_sets(hall.contract.operation("build"))]
    colours: list[Value] = [None, "red", "green"]
    assert sets == [(Const(maker), Const(colour)) for maker in ("me", "you") for colour in colours]
    assert list(hall.argument_sets(hall.contract.operation("open"))) == [{}]


def test_the_closer_offer_wins(hall: World) -> None:
    offers = {**hall.arguments, "*.maker": const("anybody")}
    assert replace(hall, arguments=offers).choices(hall.contract.operation("build"), "maker") == const("me", "you")


def test_an_instant_is_offered_relative_to_the_clock() -> None:
    assert later(0, 3) == (Plus(Now(), Const(0)), Plus(Now(), Const(3)))
    assert [value_of(term, Bare({}, 5)) for term in later(0, 3)] == [5, 8]


def test_executions_of_one_worker_share_its_identity_and_not_its_label() -> None:
    slots = jobs(1, "w1", "w1", "w2").slots
    assert [(slot.label, slot.fixed.get("worker_id")) for slot in slots] == [
        ("job", None),
        ("w1", "w1"),
        ("w1'", "w1"),
        ("w2", "w2"),
    ]


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_what_a_world_says_it_cannot_show_exists(world: World) -> None:
    """Else a misspelt name would stand there for ever, for no reader of a world compares it with the contract."""
    contract = world.contract
    transitions = {transition_name(operation, case) for operation, case in contract.transitions()}
    assert world.untaken - transitions == frozenset()
    assert world.unreached - {witness.name for witness in contract.witnesses} == frozenset()
    assert world.without - {operation.name for operation in contract.operations} == frozenset()
    parameters = {f"{o.name}.{p.name}" for o in contract.operations for p in o.parameters}
    everywhere = {f"*.{name.partition('.')[2]}" for name in parameters}
    assert set(world.arguments) - parameters - everywhere == set()


def test_the_worlds_have_names_of_their_own() -> None:
    names = [world.name for world in WORLDS]
    assert len(set(names)) == len(names)
    assert [world.name for world in SMALL_WORLDS if world not in WORLDS] == []


@pytest.mark.parametrize("what", ["without", "untaken", "unreached"])
def test_a_name_that_the_contract_lacks_is_refused_wherever_it_stands(hall: World, what: str) -> None:
    changes: dict[str, Any] = {what: frozenset({"fly"})}
    with pytest.raises(ValueError, match=f"'fly' among its {what}"):
        replace(hall, **changes)


def test_an_argument_for_nothing_is_refused(hall: World) -> None:
    with pytest.raises(ValueError, match=r"'open\.height' among its arguments"):
        replace(hall, arguments={**hall.arguments, "open.height": const(1)})


@pytest.mark.parametrize("numbers", [{"tick": 0}, {"tick": -1}, {"horizon": -1}])
def test_a_clock_that_cannot_run_is_refused(hall: World, numbers: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="a tick above 0 and a horizon from 0 on"):
        replace(hall, **numbers)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "gives 'key' no value for number; give it a value of sort count"),
        ({"number": -1}, "gives 'key' -1 for number; give it a value of sort count"),
        ({"number": "one"}, "gives 'key' 'one' for number"),
        ({"number": True}, "gives 'key' True for number"),
        ({"number": 1, "teeth": 3}, "'teeth' among its fixed fields of key"),
    ],
)
def test_a_member_without_its_fixed_fields_is_refused(hall: World, given: dict[str, Value], told: str) -> None:
    """Proofs suppose that a world gives them, each within its sort."""
    nobody = Population(Member("door", "door", {}, (Member("key", "key", given),)))
    with pytest.raises(ValueError, match=f"world 'hall' .*{re.escape(told)}"):
        replace(hall, population=nobody)
