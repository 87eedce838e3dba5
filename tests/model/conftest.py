"""A contract that is not the repository's own: a door with its keys. Whatever reads contracts must read this one too.

It is small, and uses what the Job machine does not: quantifiers over what belongs to an entity, flags as fields, and a
root whose children are told apart by a fixed number.
"""

import pytest

from fencepost_model.contract import Contract
from fencepost_model.semantics import Member, Population, Semantics
from fencepost_model.shapes import (
    Actor,
    Assignment,
    Case,
    Field,
    Guard,
    Invariant,
    LegacyRow,
    Machine,
    Operation,
    Parameter,
    Progress,
    Selection,
    SettingShape,
    Sort,
    Status,
    StepProperty,
    Variable,
    Witness,
    in_order,
)
from fencepost_model.terms import (
    NULL,
    AtMost,
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
    Plus,
    Same,
    Setting,
    Some,
    all_of,
    any_of,
    implies,
    present,
)

DOOR, KEY = Variable("door", "door"), Variable("key", "key", of="door")
STATUSES = ("shut", "open", "locked", "gone")


def door_field(name: str, *, after: bool = False) -> FieldOf:
    return FieldOf("door", name, after)


def key_field(name: str) -> FieldOf:
    return FieldOf("key", name)


STATUS = door_field("status")
IS_SHUT = Guard("shut", Equal(STATUS, Const("shut")), "door 1", "a locked or open door does not do this")
KEY_TURNED = present(FieldOf("k", "turned_at"))


def build_door() -> Contract:
    """The contract of the door, checked."""
    return Contract(
        name="door",
        machines=(
            Machine(
                "door",
                "It opens, shuts, is locked with one of its keys, and is taken down.",
                fields=(
                    Field("status", Sort.WORD, "how it stands", nullable=False, words=STATUSES),
                    Field("opened_at", Sort.INSTANT, "since when it stands open"),
                    Field("openings", Sort.COUNT, "how often it has been opened", nullable=False),
                    Field("oiled", Sort.FLAG, "whether it runs well", nullable=False),
                    Field("maker", Sort.IDENTITY, "who built it"),
                    Field("paint", Sort.TEXT, "its colour", words=("red", "green")),
                ),
                statuses=(
                    Status("shut", "closed, not locked"),
                    Status("open", "people walk through"),
                    Status("locked", "closed with a key"),
                    Status("gone", "taken down", terminal=True),
                ),
                table={
                    "shut": ("open", "lock", "remove"),
                    "open": ("shut",),
                    "locked": ("unlock",),
                    "gone": (),
                },
                created_by="build",
                legacy=all_of(Equal(STATUS, Const("shut")), Missing(door_field("maker"))),
                legacy_rows=(LegacyRow("found", {"status": "shut", "openings": 0, "oiled": False}, "it was here"),),
            ),
            Machine(
                "key",
                "It locks and unlocks.",
                fields=(
                    Field("number", Sort.COUNT, "stamped on it", nullable=False, fixed=True),
                    Field("turned_at", Sort.INSTANT, "since when the door is locked with it"),
                ),
                belongs_to="door",
            ),
        ),
        operations=(
            Operation(
                name="build",
                actor=Actor.CLIENT,
                selection=Selection.NAMED,
                over=(DOOR,),
                parameters=(
                    Parameter("maker", Sort.IDENTITY, "who builds it"),
                    Parameter("paint", Sort.TEXT, "its colour", nullable=True, words=("red", "green")),
                ),
                guards=(Guard("new", Missing(STATUS), "door 2", "built once"),),
                cases=(
                    Case(
                        "built",
                        (),
                        (
                            Assignment(STATUS, Const("shut")),
                            Assignment(door_field("openings"), Const(0)),
                            Assignment(door_field("oiled"), Const(True)),
                            Assignment(door_field("maker"), Param("maker")),
                            Assignment(door_field("paint"), Param("paint")),
                        ),
                        "it hangs",
                    ),
                ),
                clause="door 2",
                meaning="Somebody builds a door.",
            ),
            Operation(
                name="open",
                actor=Actor.CLIENT,
                selection=Selection.NAMED,
                over=(DOOR,),
                guards=(
                    IS_SHUT,
                    Guard("unworn", Less(door_field("openings"), Setting("most_openings")), "door 3", "hinges wear"),
                ),
                cases=(
                    Case(
                        "opened",
                        (),
                        (
                            Assignment(STATUS, Const("open")),
                            Assignment(door_field("opened_at"), Now()),
                            Assignment(door_field("openings"), Plus(door_field("openings"), Const(1))),
                        ),
                        "it stands open",
                    ),
                ),
                clause="door 3",
                meaning="Somebody opens it.",
            ),
            Operation(
                name="shut",
                actor=Actor.CLIENT,
                selection=Selection.NAMED,
                over=(DOOR,),
                guards=(Guard("open", Equal(STATUS, Const("open")), "door 4", "only an open door is shut"),),
                cases=in_order(
                    Case(
                        "in_time",
                        (
                            Guard(
                                "patience_left",
                                Less(Now(), Plus(door_field("opened_at"), Setting("patience"))),
                                "door 4",
                                "hinges dry out",
                            ),
                        ),
                        (Assignment(STATUS, Const("shut")), Assignment(door_field("opened_at"), NULL)),
                        "nothing else happens",
                    ),
                    Case(
                        "late",
                        (),
                        (
                            Assignment(STATUS, Const("shut")),
                            Assignment(door_field("opened_at"), NULL),
                            Assignment(door_field("oiled"), Const(False)),
                        ),
                        "it creaks",
                    ),
                ),
                clause="door 4",
                meaning="Somebody shuts it.",
            ),
            Operation(
                name="lock",
                actor=Actor.HOLDER,
                selection=Selection.NAMED,
                over=(DOOR, KEY),
                guards=(IS_SHUT, Guard("oiled", Holds(door_field("oiled")), "door 5", "a dry lock does not turn")),
                cases=(
                    Case(
                        "locked",
                        (),
                        (Assignment(STATUS, Const("locked")), Assignment(key_field("turned_at"), Now())),
                        "only this key unlocks it",
                    ),
                ),
                clause="door 5",
                meaning="A holder of a key locks it.",
            ),
            Operation(
                name="unlock",
                actor=Actor.HOLDER,
                selection=Selection.NAMED,
                over=(DOOR, KEY),
                guards=(
                    Guard("locked", Equal(STATUS, Const("locked")), "door 6", "else there is nothing to unlock"),
                    Guard("same_key", present(key_field("turned_at")), "door 6", "another key does not fit"),
                ),
                cases=(
                    Case(
                        "unlocked",
                        (),
                        (Assignment(STATUS, Const("shut")), Assignment(key_field("turned_at"), NULL)),
                        "the key comes out",
                    ),
                ),
                clause="door 6",
                meaning="The holder of that key unlocks it.",
            ),
            Operation(
                name="remove",
                actor=Actor.SYSTEM,
                selection=Selection.SWEEP,
                over=(DOOR,),
                guards=(
                    IS_SHUT,
                    Guard("worn", AtMost(Setting("most_openings"), door_field("openings")), "door 7", "good ones stay"),
                    Guard("keys_out", Every("k", "key", "door", Not(KEY_TURNED)), "door 7", "no key is lost"),
                ),
                cases=(Case("removed", (), (Assignment(STATUS, Const("gone")),), "the frame is empty"),),
                clause="door 7",
                meaning="A worn door is taken down.",
            ),
        ),
        invariants=(
            Invariant(
                "opened_at_exactly_when_open",
                "door 3",
                (DOOR,),
                any_of(
                    all_of(Equal(STATUS, Const("open")), present(door_field("opened_at"))),
                    all_of(Not(Equal(STATUS, Const("open"))), Missing(door_field("opened_at"))),
                ),
                "It is known since when a door stands open.",
            ),
            Invariant(
                "locked_exactly_when_a_key_is_turned",
                "door 5",
                (DOOR,),
                any_of(
                    all_of(Equal(STATUS, Const("locked")), Some("k", "key", "door", KEY_TURNED)),
                    all_of(Not(Equal(STATUS, Const("locked"))), Every("k", "key", "door", Not(KEY_TURNED))),
                ),
                "A door is locked with a key.",
            ),
        ),
        step_properties=(
            StepProperty(
                "openings_never_fall",
                "door 3",
                (DOOR,),
                implies(present(STATUS), AtMost(door_field("openings"), door_field("openings", after=True))),
                "Openings are counted.",
            ),
            StepProperty(
                "the_turned_key_unlocks",
                "door 6",
                (DOOR, KEY),
                implies(Equal(STATUS, Const("locked")), present(key_field("turned_at"))),
                "Only the key that locked a door unlocks it.",
                by=Actor.HOLDER,
            ),
            StepProperty(
                "maker_kept",
                "door 2",
                (DOOR,),
                implies(present(STATUS), Same(door_field("maker"), door_field("maker", after=True))),
                "A door does not change its maker.",
            ),
        ),
        witnesses=(Witness("creaking", "door 4", (DOOR,), Equal(door_field("oiled"), Const(False)), "A door creaks."),),
        progress=(
            Progress(
                "worn_ends", "door 7", (DOOR,), OneOf(STATUS, ("shut",)), ("open", "remove"), "It is used or goes."
            ),
        ),
        settings=(
            SettingShape("patience", Sort.DURATION, "how long it may stand open", 2),
            SettingShape("most_openings", Sort.COUNT, "how often it opens", 2),
        ),
        settings_assumed=Less(Const(0), Setting("most_openings")),
    )


@pytest.fixture(scope="session")
def door() -> Contract:
    return build_door()


@pytest.fixture(scope="session")
def doorway(door: Contract) -> Semantics:
    """One door with two keys, under the settings of the contract."""
    keys = (Member("key", "front", {"number": 1}), Member("key", "spare", {"number": 2}))
    return Semantics(door, Population(Member("door", "door", {}, keys)), door.defaults())
