"""The choices left to implementations are real: under two options of one, some call is answered in two ways."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from fencepost_model.error_codes import EXAMPLES, Family, classify, is_retryable
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.latitude import BOUND_OF_POLLS, LATITUDE, RETRY_OF_LIMIT, Answer, Choice, Option, choice_named
from fencepost_model.machines.job_worlds import FULL, jobs
from fencepost_model.semantics import Accepted, Call, Refused, Semantics, State
from fencepost_model.shapes import Sort
from fencepost_model.terms import Value, value_of
from fencepost_model.worlds import World, const, later

SETTLED = tuple(choice for choice in LATITUDE if choice.setting is not None)
ROOMY: dict[str, Value] = {
    "lease_seconds": 2,
    "release_ceiling": 20,
    "max_polls": 2,
    "cancel_wins": False,
    "registers_park": True,
    "registers_skip": True,
    "registers_expired": True,
}
WORLD = World(
    name="latitude",
    meaning="one job, one execution, a profile under which nothing is left out",
    contract=JOB_CONTRACT,
    population=jobs(1, "w1"),
    horizon=3,
    arguments={
        **FULL,
        "enqueue.max_attempts": const(2),
        "enqueue.deadline_at": later(3),
        "fail.code": const(EXAMPLES[Family.INFRA]),
        "skip.code": const(EXAMPLES[Family.CONTENT]),
        "park.next_poll_at": later(1),
    },
    settings=ROOMY,
    legacy=False,
    without=frozenset({"renew", "succeed", "fail", "skip", "acknowledge_cancel", "recover"}),
)


def calls(state: State, operation: str) -> list[Call]:
    """Every call of an operation that the small world offers in a state."""
    declared = JOB_CONTRACT.operation(operation)
    found: list[Call] = []
    for binding in WORLD.population.bindings(declared.over):
        for arguments in WORLD.argument_sets(declared):
            bare = semantics().scope(state, 0, binding, {})
            params = {name: value_of(term, bare) for name, term in arguments.items()}
            found.append(Call(operation, 0, binding, params))
    return found


@cache
def semantics() -> Semantics:
    return Semantics(JOB_CONTRACT, WORLD.population, WORLD.profile())


@cache
def states() -> tuple[State, ...]:
    """Every state of the small world, under the profile that leaves nothing out."""
    seen: dict[tuple[object, ...], State] = {}
    frontier = list(semantics().initial())
    while frontier:
        state = frontier.pop()
        key = (state.now, *(value for row in state.rows[0] for value in row.values()))
        if key in seen:
            continue
        seen[key] = state
        if state.now < WORLD.horizon:
            frontier.append(semantics().advance(state, WORLD.tick))
        for operation in WORLD.operations():
            for call in calls(state, operation.name):
                outcome = semantics().attempt(state, call)
                if isinstance(outcome, Accepted):
                    frontier.append(outcome.state)
    return tuple(seen.values())


def answered(state: State, call: Call, option: Option) -> Answer | None:
    """How a call is answered under an option; None when more than one guard refuses it."""
    outcome = replace(semantics(), settings={**WORLD.profile(), **option.profile}).attempt(state, call)
    if isinstance(outcome, Accepted):
        return Answer(case=outcome.case.name)
    assert isinstance(outcome, Refused)
    return Answer(refused_by=next(iter(outcome.guards))) if len(outcome.guards) == 1 else None


@pytest.mark.parametrize("choice", SETTLED, ids=lambda choice: choice.name)
def test_the_options_of_a_setting_answer_one_call_in_the_ways_they_say(choice: Choice) -> None:
    assert choice.asked_by is not None
    expected = tuple(option.answer for option in choice.options)
    assert len(set(expected)) == len(expected)
    assert any(
        tuple(answered(state, call, option) for option in choice.options) == expected
        for state in states()
        for call in calls(state, choice.asked_by)
    )


def test_every_flag_of_the_contract_is_a_choice() -> None:
    flags = {setting.name for setting in JOB_CONTRACT.settings if setting.sort is Sort.FLAG}
    assert flags <= {choice.setting for choice in SETTLED}


@pytest.mark.parametrize("choice", SETTLED, ids=lambda choice: choice.name)
def test_the_default_option_is_the_default_profile(choice: Choice) -> None:
    assert choice.setting is not None
    assert choice.option(choice.default).profile == {choice.setting: JOB_CONTRACT.defaults()[choice.setting]}


def test_the_default_for_limit_codes_is_what_the_model_does() -> None:
    code = EXAMPLES[Family.LIMIT]
    assert classify(code) is Family.LIMIT
    assert not is_retryable(code)
    held = next(s for s in states() if s.rows[0][0]["status"] == "running" and s.rows[0][0]["attempt_count"] == 1)
    (call,) = calls(held, "fail")[:1]
    outcome = semantics().attempt(held, replace(call, params={**call.params, "code": code}))
    assert isinstance(outcome, Accepted)
    assert RETRY_OF_LIMIT.option(RETRY_OF_LIMIT.default).answer == Answer(case=outcome.case.name)
    assert outcome.case.name == "final"


def test_names_are_unique_and_found() -> None:
    assert len({choice.name for choice in LATITUDE}) == len(LATITUDE)
    assert choice_named("bound_of_polls") is BOUND_OF_POLLS
    with pytest.raises(KeyError):
        choice_named("colour")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"options": BOUND_OF_POLLS.options[:1]}, "two options"),
        ({"default": "never"}, "none of its options"),
        ({"asked_by": "repaint"}, "no operation"),
        ({"setting": "max_colours"}, "not about its setting"),
        ({"setting": None}, "not about its setting"),
        ({"asked_by": "renew"}, "which it cannot"),
        ({"asked_by": None}, "asks no operation"),
    ],
)
def test_a_choice_that_names_what_there_is_not_is_refused(change: dict[str, object], told: str) -> None:
    parts = {name: getattr(BOUND_OF_POLLS, name) for name in BOUND_OF_POLLS.__slots__}
    with pytest.raises(ValueError, match=told):
        Choice(**{**parts, **change})


def test_a_choice_whose_default_departs_from_the_model_is_refused() -> None:
    with pytest.raises(ValueError, match="does not admit"):
        replace(RETRY_OF_LIMIT, default="yes")
