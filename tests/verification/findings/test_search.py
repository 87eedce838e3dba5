"""The plain search finds the shortest run, stuck states and loops, and finds none where there is none."""

import pytest

from fencepost_model.published.drafting import (
    count,
    draft,
    flag,
    is_in,
    machine,
    member,
    no,
    of,
    one_more,
    operation,
    word,
    yes,
)
from fencepost_model.published.drafting import stage as on_stage
from fencepost_model.shapes import Invariant, Variable
from fencepost_model.terms import AtMost, Const, Equal, Less, Not
from fencepost_model.worlds import World
from fencepost_verification.findings import search
from fencepost_verification.findings.search import Round, Stuck, first_answer, first_round

LAMP = Variable("lamp", "lamp")


def lamp(*, most: int | None = 3, breaks: bool = True) -> World:
    """A lamp that is switched on and off, counts how often, and may break."""
    bounded = {} if most is None else {"not worn out": Less(of(LAMP, "switched"), Const(most))}
    operations = [
        operation(
            "on",
            "000 §0",
            (LAMP,),
            {"off": is_in(of(LAMP, "light"), "off"), "whole": no(of(LAMP, "broken")), **bounded},
            {of(LAMP, "light"): "on", of(LAMP, "switched"): one_more(of(LAMP, "switched"))},
        ),
        operation("off", "000 §0", (LAMP,), {"on": is_in(of(LAMP, "light"), "on")}, {of(LAMP, "light"): "off"}),
    ]
    if breaks:
        operations.append(
            operation("break", "000 §0", (LAMP,), {"on": is_in(of(LAMP, "light"), "on")}, {of(LAMP, "broken"): True})
        )
    contract = draft(
        "lamp",
        (machine("lamp", (word("light", "off", "on"), flag("broken"), count("switched"))),),
        tuple(operations),
    )
    return on_stage("lamp", "one lamp", contract, member("lamp", "lamp", light="off", broken=False, switched=0))


def test_the_shortest_run_is_found() -> None:
    twice = Invariant("once", "000 §0", (LAMP,), AtMost(of(LAMP, "switched"), Const(1)), "switched on once at most")
    trace = first_answer(lamp(), twice)
    assert trace is not None
    assert [step.transition for step in trace.steps] == ["on", "off", "on"]


def test_what_holds_is_not_broken() -> None:
    bounded = Invariant("bounded", "000 §0", (LAMP,), AtMost(of(LAMP, "switched"), Const(3)), "three times at most")
    assert first_answer(lamp(), bounded) is None


def test_a_stuck_state_is_found_and_a_live_one_is_not() -> None:
    dark = Stuck("dark", (LAMP,), is_in(of(LAMP, "light"), "off"), ("on",), "a dark lamp can be switched on")
    trace = first_answer(lamp(), dark)
    assert trace is not None
    assert [step.transition for step in trace.steps] == ["on", "break", "off"]
    lit = Stuck("lit", (LAMP,), is_in(of(LAMP, "light"), "on"), ("off",), "a lit lamp can be switched off")
    assert first_answer(lamp(), lit) is None


FOREVER = Round(
    "blinking",
    (LAMP,),
    Not(yes(of(LAMP, "broken"))),
    ("on", "off"),
    "the lamp blinks for ever",
    frozenset({"switched"}),
)


def test_a_loop_is_found() -> None:
    lasso = first_round(lamp(most=None, breaks=False), FOREVER)
    assert lasso is not None
    assert lasso.stem.steps == ()
    assert [step.transition for step in lasso.loop.steps] == ["on", "off"]


def test_a_loop_that_a_drifting_counter_ends_is_none() -> None:
    assert first_round(lamp(most=3), FOREVER) is None


def test_a_loop_needs_every_operation_named() -> None:
    broken = Round("broken", (LAMP,), Equal(of(LAMP, "light"), Const("on")), ("on", "off"), "on all the time")
    assert first_round(lamp(), broken) is None


def test_a_search_that_grows_too_large_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MOST_STATES", 50)
    never = Invariant(
        "never", "000 §0", (LAMP,), AtMost(Const(0), of(LAMP, "switched")), "counts do not fall below zero"
    )
    with pytest.raises(search.TooManyStates, match="lower its horizon"):
        first_answer(lamp(most=None), never)
