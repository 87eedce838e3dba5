"""A contract of three kinds of entity: a root without statuses, what belongs to it, and what belongs to that.

Its operations change whole sets of members, one level and two levels down; a statement needs that *some* member exists;
a property reads an argument; somebody must be able to act at once.
"""

from __future__ import annotations

from collections.abc import Iterable

from fencepost_model.contract import Contract
from fencepost_model.semantics import Member, Population
from fencepost_model.shapes import (
    Actor,
    Assignment,
    Case,
    Descent,
    Field,
    ForEach,
    Guard,
    Invariant,
    Machine,
    Measure,
    Operation,
    Parameter,
    Progress,
    Selection,
    Sort,
    Status,
    StepProperty,
    Variable,
    Witness,
    in_order,
)
from fencepost_model.terms import (
    AllOf,
    Choose,
    Const,
    Equal,
    FieldOf,
    Missing,
    Not,
    Now,
    OneOf,
    Param,
    Same,
    Some,
    TruthTerm,
    ValueTerm,
    all_of,
    implies,
    present,
)
from fencepost_model.worlds import World, const

HOST = Variable("host", "host")
RUN = Variable("run", "run", of="host")
REQUEST = Variable("request", "request", of="run")
SECOND = Variable("second", "request", of="run")
EACH_RUN = Variable("each_run", "run", of="host")
EACH = Variable("each", "request", of="run")
EACH_BELOW = Variable("each_below", "request", of="each_run")

SHUT_AT = FieldOf("host", "shut_at")
STATUS, ENDED_AT, REASON = (FieldOf("run", name) for name in ("status", "ended_at", "reason"))
ASKED = FieldOf("request", "status")


def is_(value: ValueTerm, word: str) -> TruthTerm:
    return Equal(value, Const(word))


def _guard(name: str, term: TruthTerm) -> Guard:
    return Guard(name, term, "toy", "toy")


def _to(entity: str, **values: ValueTerm) -> tuple[Assignment, ...]:
    return tuple(Assignment(FieldOf(entity, name), value) for name, value in values.items())


def _operation(
    name: str,
    over: tuple[Variable, ...],
    guards: Iterable[Guard],
    cases: tuple[Case, ...],
    *,
    acts_on: str = "",
    parameters: tuple[Parameter, ...] = (),
) -> Operation:
    return Operation(name, Actor.SYSTEM, Selection.NAMED, over, tuple(guards), cases, "toy", "toy", parameters, acts_on)


def _case(name: str, *effect: Assignment, when: tuple[Guard, ...] = (), also: tuple[ForEach, ...] = ()) -> Case:
    return Case(name, when, effect, "toy", also)


LIVE_RUN = OneOf(STATUS, ("open", "waiting"))
KEY_BELOW = FieldOf("any", "key")
EACH_PENDING = all_of(is_(FieldOf("each", "status"), "pending"), Missing(FieldOf("each", "ended_at")))


def _pending_below(*more: TruthTerm) -> TruthTerm:
    return Some("any", "request", "run", AllOf((is_(FieldOf("any", "status"), "pending"), *more)))


ANSWER_EACH = ForEach(
    (EACH,),
    all_of(is_(FieldOf("each", "status"), "pending"), Equal(FieldOf("each", "key"), Param("key"))),
    _to("each", status=Const("answered")),
    "each pending request for that key is answered",
)
DROP_EACH = ForEach(
    (EACH,), EACH_PENDING, _to("each", status=Const("dropped"), ended_at=Now()), "a pending request is dropped"
)
DROP_BELOW = ForEach(
    (EACH_RUN, EACH_BELOW),
    all_of(OneOf(FieldOf("each_run", "status"), ("open", "waiting")), is_(FieldOf("each_below", "status"), "pending")),
    _to("each_below", status=Const("dropped"), ended_at=Choose(present(SHUT_AT), SHUT_AT, Now())),
    "so is each pending request of a run that is closed",
)
CLOSE_EACH = ForEach(
    (EACH_RUN,),
    OneOf(FieldOf("each_run", "status"), ("open", "waiting")),
    _to("each_run", status=Const("closed"), ended_at=Now(), reason=Const("shut")),
    "a run that goes on is closed",
)

HOST_MACHINE = Machine(
    "host",
    "the common root, which has no statuses",
    (Field("name", Sort.IDENTITY, "which", nullable=False, fixed=True), Field("shut_at", Sort.INSTANT, "since when")),
)
RUN_MACHINE = Machine(
    "run",
    "what a host runs",
    (
        Field("status", Sort.WORD, "where it stands", nullable=False, words=("open", "waiting", "closed")),
        Field("ended_at", Sort.INSTANT, "when it ended"),
        Field("reason", Sort.TEXT, "why it ended"),
        Field("seat", Sort.COUNT, "its place", nullable=False, fixed=True),
    ),
    (Status("open", "goes on"), Status("waiting", "waits for a request"), Status("closed", "over", True)),
    {"open": ("ask", "close", "shut"), "waiting": ("ask", "answer", "close", "shut"), "closed": ()},
    created_by="start",
    belongs_to="host",
)
REQUEST_MACHINE = Machine(
    "request",
    "what a run asks for",
    (
        Field("status", Sort.WORD, "where it stands", nullable=False, words=("pending", "answered", "dropped")),
        Field("ended_at", Sort.INSTANT, "when it ended"),
        Field("key", Sort.IDENTITY, "which", nullable=False),
    ),
    (Status("pending", "asked"), Status("answered", "done", True), Status("dropped", "not any more", True)),
    {"pending": ("answer", "close", "shut"), "answered": (), "dropped": ()},
    created_by="ask",
    belongs_to="run",
)

START = _operation(
    "start",
    (HOST, RUN),
    (_guard("new", Missing(STATUS)), _guard("not_shut", Missing(SHUT_AT))),
    (_case("done", *_to("run", status=Const("open"))),),
    acts_on="run",
)
ASK = _operation(
    "ask",
    (HOST, RUN, REQUEST),
    (_guard("new", Missing(ASKED)), _guard("goes_on", LIVE_RUN)),
    (_case("done", *_to("run", status=Const("waiting")), *_to("request", status=Const("pending"), key=Param("key"))),),
    acts_on="request",
    parameters=(Parameter("key", Sort.IDENTITY, "which"),),
)
ANSWER = _operation(
    "answer",
    (HOST, RUN),
    (_guard("waits", is_(STATUS, "waiting")), _guard("asked_for_it", _pending_below(Equal(KEY_BELOW, Param("key"))))),
    in_order(
        _case(
            "more",
            when=(_guard("another", _pending_below(Not(Equal(KEY_BELOW, Param("key"))))),),
            also=(ANSWER_EACH,),
        ),
        _case("last", *_to("run", status=Const("open")), also=(ANSWER_EACH,)),
    ),
    acts_on="run",
    parameters=(Parameter("key", Sort.IDENTITY, "which"),),
)
CLOSE = _operation(
    "close",
    (HOST, RUN),
    (_guard("goes_on", LIVE_RUN),),
    (_case("done", *_to("run", status=Const("closed"), ended_at=Now(), reason=Param("why")), also=(DROP_EACH,)),),
    acts_on="run",
    parameters=(Parameter("why", Sort.TEXT, "why"),),
)
SHUT = _operation(
    "shut",
    (HOST,),
    (_guard("not_shut", Missing(SHUT_AT)),),
    (_case("done", *_to("host", shut_at=Now()), also=(CLOSE_EACH, DROP_BELOW)),),
)

PENDING_OF_LIVE = Invariant(
    "pending_of_a_live_run", "toy", (HOST, RUN, REQUEST), implies(is_(ASKED, "pending"), is_(STATUS, "waiting")), "toy"
)
WAITS_FOR_SOME = Invariant(
    "waits_for_some_request", "toy", (HOST, RUN), implies(is_(STATUS, "waiting"), _pending_below()), "toy"
)
NONE_AFTER_SHUT = Invariant(
    "no_run_after_the_shut", "toy", (HOST, RUN), implies(present(SHUT_AT), Not(LIVE_RUN)), "toy"
)
ENDED = Invariant("closed_has_ended", "toy", (HOST, RUN), implies(is_(STATUS, "closed"), present(ENDED_AT)), "toy")
DROPPED_ENDED = Invariant(
    "dropped_has_ended",
    "toy",
    (HOST, RUN, REQUEST),
    implies(is_(ASKED, "dropped"), present(FieldOf("request", "ended_at"))),
    "toy",
)
PENDING_NOT_ENDED = Invariant(
    "pending_has_not_ended",
    "toy",
    (HOST, RUN, REQUEST),
    implies(is_(ASKED, "pending"), Missing(FieldOf("request", "ended_at"))),
    "toy",
)

OVER_IS_OVER = StepProperty(
    "over_is_over",
    "toy",
    (HOST, RUN, REQUEST),
    all_of(
        implies(is_(STATUS, "closed"), Same(STATUS, FieldOf("run", "status", after=True))),
        implies(OneOf(ASKED, ("answered", "dropped")), Same(ASKED, FieldOf("request", "status", after=True))),
    ),
    "toy",
)
TELLS_WHY = StepProperty(
    "close_tells_why",
    "toy",
    (HOST, RUN),
    all_of(
        Equal(FieldOf("run", "reason", after=True), Param("why")),
        implies(Equal(Param("why"), Const("late")), Equal(FieldOf("run", "ended_at", after=True), Now())),
    ),
    "toy",
    of="close",
)
RECEPTIVE = Progress("a_run_can_be_closed", "toy", (HOST, RUN), LIVE_RUN, ("close",), "toy", at_once=True)
LIVELY = Progress("a_request_can_end", "toy", (HOST, RUN, REQUEST), is_(ASKED, "pending"), ("close",), "toy")

_RANK = Choose(is_(STATUS, "closed"), Const(2), Choose(Missing(STATUS), Const(0), Const(1)))
ENDING = Measure("ending", "toy", (HOST, RUN), (Descent(Const(0), _RANK, Const(2)),), ("start", "close"), "toy")

TWO_LEVELS = Contract(
    name="two levels",
    machines=(HOST_MACHINE, RUN_MACHINE, REQUEST_MACHINE),
    operations=(START, ASK, ANSWER, CLOSE, SHUT),
    invariants=(PENDING_OF_LIVE, WAITS_FOR_SOME, NONE_AFTER_SHUT, ENDED, DROPPED_ENDED, PENDING_NOT_ENDED),
    step_properties=(OVER_IS_OVER, TELLS_WHY),
    witnesses=(
        Witness(
            "two_dropped_at_once",
            "toy",
            (HOST, RUN, REQUEST, SECOND),
            AllOf((is_(ASKED, "dropped"), is_(FieldOf("second", "status"), "dropped"))),
            "toy",
        ),
    ),
    progress=(RECEPTIVE, LIVELY),
)
"""Runs of a host, each with its requests."""


def worlds(*requests: int) -> World:
    """A world of one host whose runs may ask for so many requests each."""
    runs = tuple(
        Member("run", f"run{n}", {"seat": n}, tuple(Member("request", f"request{n}{m}") for m in range(count)))
        for n, count in enumerate(requests, start=1)
    )
    return World(
        name=f"two levels {requests}",
        meaning="toy",
        contract=TWO_LEVELS,
        population=Population(Member("host", "host", {"name": "h"}, runs)),
        horizon=1,
        arguments={"*.key": const("k", "l"), "close.why": const("late", "early")},
        legacy=False,
    )
