"""The approval of ``approval.py`` with a further status: what two people approved is checked before it is released."""

from dataclasses import replace

from approval import APPROVAL, DUE, FIRST, SECOND, SMALL, STATUS, step

from fencepost_model.shapes import Actor, Status
from fencepost_model.specification import Chapter
from fencepost_model.terms import Const, Equal, Less, Not, Now, OneOf, all_of, implies, present

ROWS = {
    "asked": ("approve", "lapse"),
    "once": ("confirm", "lapse"),
    "checked": ("release", "lapse"),
    "approved": (),
    "lapsed": (),
}


def with_checked(machine):
    """The payment with the further status and its row."""
    status, *fields = machine.fields
    statuses = tuple(Status(name, f"it is {name}", terminal=not acts) for name, acts in ROWS.items())
    return replace(machine, fields=(replace(status, words=tuple(ROWS)), *fields), statuses=statuses, table=ROWS)


def changed(operation):
    """``confirm`` leads to the check, and ``lapse`` ends that too."""
    match operation.name:
        case "confirm":
            (case,) = operation.cases
            to_check = tuple(replace(a, value=Const("checked")) if a.field == STATUS else a for a in case.effect)
            return replace(operation, cases=(replace(case, effect=to_check),))
        case "lapse":
            place, late = operation.guards
            return replace(operation, guards=(replace(place, term=OneOf(STATUS, ("asked", "once", "checked"))), late))
        case _:
            return operation


# ``step`` sets a field beside the status; who came second stays as it is.
RELEASE = step("release", Actor.CLIENT, ("checked",), "approved", SECOND, SECOND)
OPEN = OneOf(STATUS, ("asked", "once", "checked"))
TWO_PEOPLE = all_of(
    implies(OneOf(STATUS, ("once", "checked", "approved")), present(FIRST)),
    implies(OneOf(STATUS, ("checked", "approved")), all_of(present(SECOND), Not(Equal(FIRST, SECOND)))),
)
IN_TIME_TO_APPROVE = implies(OneOf(STATUS, ("asked", "once")), Less(Now(), DUE))

APPROVAL_CHECKED = replace(
    APPROVAL,
    machines=tuple(with_checked(machine) for machine in APPROVAL.machines),
    operations=(*(changed(operation) for operation in APPROVAL.operations), RELEASE),
    invariants=tuple(replace(i, statement=TWO_PEOPLE) if i.name == "two_people" else i for i in APPROVAL.invariants),
    step_properties=tuple(
        replace(prop, statement=IN_TIME_TO_APPROVE) if prop.name == "in_time" else prop
        for prop in APPROVAL.step_properties
    ),
    progress=tuple(replace(promise, live=OPEN) for promise in APPROVAL.progress),
)
WORLD = replace(SMALL, contract=APPROVAL_CHECKED)
CHAPTER = Chapter("Approval, checked", "Two people approve, then it is checked.", APPROVAL_CHECKED, (WORLD,), (WORLD,))
