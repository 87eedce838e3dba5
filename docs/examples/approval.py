"""A payment that two people must approve before a time-out: a contract that knows nothing of jobs."""

from fencepost_model.contract import Contract
from fencepost_model.semantics import Member, Population
from fencepost_model.shapes import Actor, Assignment, Case, Field, Guard, Invariant, Machine, Operation, Parameter
from fencepost_model.shapes import Progress, Selection, SettingShape, Sort, Status, StepProperty, Variable
from fencepost_model.specification import Chapter
from fencepost_model.terms import AtMost, Const, Equal, FieldOf, Less, Missing, Not, Now, OneOf, Param, Plus, Setting
from fencepost_model.terms import all_of, implies, present
from fencepost_model.worlds import World, const

PAYMENT = Variable("payment", "payment")
STATUS, FIRST, SECOND, DUE = (FieldOf("payment", name) for name in ("status", "first", "second", "due_at"))
ROWS = {"asked": ("approve", "lapse"), "once": ("confirm", "lapse"), "approved": (), "lapsed": ()}
BY = Parameter("by", Sort.IDENTITY, "who approves")
IN_TIME = Guard("in_time", Less(Now(), DUE), "approval", "an approval that comes too late is none")
OTHERS = Guard("others", Not(Equal(FIRST, Param("by"))), "approval", "nobody approves twice")
LATE = Guard("late", AtMost(DUE, Now()), "approval", "nothing lapses before its time")


def step(name, actor, sources, target, field, value, guards=(), parameters=()):
    """An operation that leads from one of some statuses (none: a new payment) to another, and sets one field."""
    place = Guard("place", OneOf(STATUS, sources) if sources else Missing(STATUS), "approval", "one step at a time")
    effect = (Assignment(STATUS, Const(target)), Assignment(field, value))
    case = Case(target, (), effect, f"the payment is {target}")
    return Operation(name, actor, Selection.NAMED, (PAYMENT,), (place, *guards), (case,), "approval", name, parameters)


APPROVAL = Contract(
    "approval",
    machines=(
        Machine(
            "payment",
            "A payment that two people must approve.",
            (
                Field("status", Sort.WORD, "where it stands", nullable=False, words=tuple(ROWS)),
                Field("first", Sort.IDENTITY, "who approved first"),
                Field("second", Sort.IDENTITY, "who approved second"),
                Field("due_at", Sort.INSTANT, "until when it may be approved"),
            ),
            tuple(Status(name, f"it is {name}", terminal=not acts) for name, acts in ROWS.items()),
            ROWS,
            created_by="ask",
        ),
    ),
    operations=(
        step("ask", Actor.CLIENT, (), "asked", DUE, Plus(Now(), Setting("patience"))),
        step("approve", Actor.CLIENT, ("asked",), "once", FIRST, Param("by"), (IN_TIME,), (BY,)),
        step("confirm", Actor.CLIENT, ("once",), "approved", SECOND, Param("by"), (OTHERS, IN_TIME), (BY,)),
        step("lapse", Actor.SYSTEM, ("asked", "once"), "lapsed", SECOND, Const(None), (LATE,)),
    ),
    invariants=(
        Invariant(
            "two_people",
            "approval",
            (PAYMENT,),
            all_of(
                implies(OneOf(STATUS, ("once", "approved")), present(FIRST)),
                implies(Equal(STATUS, Const("approved")), all_of(present(SECOND), Not(Equal(FIRST, SECOND)))),
            ),
            "An approved payment was approved by two different people.",
        ),
        Invariant("due", "approval", (PAYMENT,), implies(present(STATUS), present(DUE)), "Every payment is due."),
    ),
    step_properties=(
        StepProperty(
            "in_time", "approval", (PAYMENT,), implies(Not(Missing(STATUS)), Less(Now(), DUE)), "In time.", Actor.CLIENT
        ),
        StepProperty("late", "approval", (PAYMENT,), AtMost(DUE, Now()), "Only what is late lapses.", of="lapse"),
        StepProperty(
            "once", "approval", (PAYMENT,), Not(OneOf(STATUS, ("approved", "lapsed"))), "What has ended stays."
        ),
        StepProperty("new", "approval", (PAYMENT,), Missing(STATUS), "A payment is asked for once.", of="ask"),
    ),
    progress=(
        Progress(
            "no_limbo",
            "approval",
            (PAYMENT,),
            OneOf(STATUS, ("asked", "once")),
            ("lapse",),
            "No payment stays open for ever.",
        ),
    ),
    settings=(SettingShape("patience", Sort.DURATION, "how long people have", 2),),
    settings_assumed=Less(Const(0), Setting("patience")),
)
SMALL = World(
    "approval-small",
    "one payment, two people",
    APPROVAL,
    Population(Member("payment", "payment")),
    horizon=4,
    arguments={"*.by": const("ann", "bob")},
)
CHAPTER = Chapter("Approval by two", "A payment that two people approve in time.", APPROVAL, (SMALL,), (SMALL,))
