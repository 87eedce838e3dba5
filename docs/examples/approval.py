"""A payment that two people must approve before a time-out: a contract that knows nothing of jobs."""

from fencepost_model import shapes as s
from fencepost_model import terms as t
from fencepost_model.contract import Contract
from fencepost_model.semantics import Member, Population
from fencepost_model.shapes import Actor, Guard, Sort
from fencepost_model.specification import Chapter
from fencepost_model.worlds import World, const

PAYMENT = s.Variable("payment", "payment")
STATUS, FIRST, SECOND, DUE = (t.FieldOf("payment", name) for name in ("status", "first", "second", "due_at"))
ROWS = {"asked": ("approve", "lapse"), "once": ("confirm", "lapse"), "approved": (), "lapsed": ()}
BY = s.Parameter("by", Sort.IDENTITY, "who approves")
IN_TIME = Guard("in_time", t.Less(t.Now(), DUE), "approval", "an approval that comes too late is none")
OTHERS = Guard("others", t.Not(t.Equal(FIRST, t.Param("by"))), "approval", "nobody approves twice")
LATE = Guard("late", t.AtMost(DUE, t.Now()), "approval", "nothing lapses before its time")


def step(name, actor, sources, target, field, value, guards=(), parameters=()):
    """An operation that leads from one of some statuses (none: a new payment) to another, and sets one field."""
    at = t.OneOf(STATUS, sources) if sources else t.Missing(STATUS)
    place = Guard("place", at, "approval", "one step at a time")
    effect = (s.Assignment(STATUS, t.Const(target)), s.Assignment(field, value))
    cases = (s.Case(target, (), effect, f"the payment is {target}"),)
    named = s.Selection.NAMED
    return s.Operation(name, actor, named, (PAYMENT,), (place, *guards), cases, "approval", name, parameters)


OPERATIONS = (
    step("ask", Actor.CLIENT, (), "asked", DUE, t.Plus(t.Now(), t.Setting("patience"))),
    step("approve", Actor.CLIENT, ("asked",), "once", FIRST, t.Param("by"), (IN_TIME,), (BY,)),
    step("confirm", Actor.CLIENT, ("once",), "approved", SECOND, t.Param("by"), (OTHERS, IN_TIME), (BY,)),
    step("lapse", Actor.SYSTEM, ("asked", "once"), "lapsed", SECOND, t.NULL, (LATE,)),
)
FIELDS = (
    s.Field("status", Sort.WORD, "where it stands", nullable=False, words=tuple(ROWS)),
    s.Field("first", Sort.IDENTITY, "who approved first"),
    s.Field("second", Sort.IDENTITY, "who approved second"),
    s.Field("due_at", Sort.INSTANT, "until when it may be approved"),
)
STATUSES = tuple(s.Status(name, f"it is {name}", terminal=not acts) for name, acts in ROWS.items())
APPROVED = t.all_of(t.present(SECOND), t.Not(t.Equal(FIRST, SECOND)))
TWO_PEOPLE = t.all_of(
    t.implies(t.OneOf(STATUS, ("once", "approved")), t.present(FIRST)),
    t.implies(t.Equal(STATUS, t.Const("approved")), APPROVED),
)
ENDED = t.OneOf(STATUS, ("approved", "lapsed"))


def always(name, statement, meaning):
    """A statement about states."""
    return s.Invariant(name, "approval", (PAYMENT,), statement, meaning)


def each_step(name, statement, meaning, **which):
    """A statement about steps: those of one actor (``by``), of one operation (``of``), or all."""
    return s.StepProperty(name, "approval", (PAYMENT,), statement, meaning, **which)


APPROVAL = Contract(
    "approval",
    (s.Machine("payment", "A payment that two people must approve.", FIELDS, STATUSES, ROWS, created_by="ask"),),
    OPERATIONS,
    invariants=(
        always("two_people", TWO_PEOPLE, "An approved payment was approved by two different people."),
        always("due", t.implies(t.present(STATUS), t.present(DUE)), "Every payment is due."),
    ),
    step_properties=(
        each_step("in_time", t.implies(t.present(STATUS), t.Less(t.Now(), DUE)), "In time.", by=Actor.CLIENT),
        each_step("late", t.AtMost(DUE, t.Now()), "Only what is late lapses.", of="lapse"),
        each_step("once", t.Not(ENDED), "What has ended stays."),
        each_step("new", t.Missing(STATUS), "A payment is asked for once.", of="ask"),
    ),
    progress=(
        s.Progress("no_limbo", "approval", (PAYMENT,), t.OneOf(STATUS, ("asked", "once")), ("lapse",), "All ends."),
    ),
    settings=(s.SettingShape("patience", Sort.DURATION, "how long people have", 2),),
    settings_assumed=t.Less(t.Const(0), t.Setting("patience")),
)
PEOPLE = {"*.by": const("ann", "bob")}
ONE = Population(Member("payment", "payment"))
SMALL = World("approval-small", "one payment, two people", APPROVAL, ONE, horizon=4, arguments=PEOPLE)
CHAPTER = Chapter("Approval by two", "A payment that two people approve in time.", APPROVAL, (SMALL,), (SMALL,))
