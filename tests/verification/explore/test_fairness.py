"""What must come to an end under weak fairness, and the cycles where it need not."""

from collections import deque
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost_model.contract import Contract
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.liveness import CLOCK, Component, Live, Question
from fencepost_model.machines import job_questions, run_worlds, slot
from fencepost_model.machines.job import JOB, job
from fencepost_model.machines.job_questions import QUESTIONS, WITH_DEADLINE, WITHOUT_DEADLINE
from fencepost_model.machines.job_worlds import jobs
from fencepost_model.machines.slot_worlds import SLOT_SINGLE
from fencepost_model.semantics import State
from fencepost_model.terms import OneOf, Value, present
from fencepost_model.worlds import World, const
from fencepost_verification.evidence import Held, Refuted, Taken, replayed
from fencepost_verification.explore.fairness import (
    NotRelative,
    RelativeGraph,
    answered,
    components_of,
    relative_graph,
    within_one_instant,
)
from fencepost_verification.explore.local import explore_aggregate


@pytest.fixture(scope="module")
def without_deadline() -> RelativeGraph:
    return relative_graph(WITHOUT_DEADLINE)


# --- the answers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_each_question_has_the_answer_that_is_expected(question: Question) -> None:
    answer = answered(question)
    assert isinstance(answer.verdict(), Held)
    assert answer.live > 0
    assert (answer.lasso is None) == question.ends


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_another_answer_would_be_refuted(question: Question) -> None:
    assert isinstance(answered(replace(question, ends=not question.ends)).verdict(), Refuted)


def cycle(name: str) -> list[str]:
    (question,) = [q for q in QUESTIONS if q.name == name]
    lasso = answered(question).lasso
    assert lasso is not None
    return sorted(step.transition for step in lasso.loop.steps)


def test_the_cycles_are_those_of_the_contract() -> None:
    assert cycle("a holder may renew a job without a deadline for ever") == ["renew", "tick"]
    assert cycle("a holder that was asked to stop may renew for ever") == ["renew", "tick"]
    assert cycle("without expiry a job with a deadline may wait for ever") == ["tick"]
    assert cycle("without expiry a parked job may wait for ever") == ["tick"]
    assert cycle("polls without deadline and bound go on for ever") == ["park/parked", "resume_poll", "tick"]


def test_a_lasso_goes_round_for_ever_by_plain_evaluation() -> None:
    """The loop of each lasso is walked a hundred times, and the job is live and time has passed at each turn."""
    for question in QUESTIONS:
        lasso = answered(question).lasso
        if lasso is None:
            continue
        semantics, state = lasso.stem.semantics, lasso.stem.end
        for _ in range(100):
            before = state
            for step in lasso.loop.steps:
                move = step.move
                if isinstance(move, Taken):
                    shifted = {
                        name: value + (state.now - step.before.now)
                        if name in ("next_poll_at", "deadline_at") and isinstance(value, int | float)
                        else value
                        for name, value in move.call.params.items()
                    }
                    move = replace(move, call=replace(move.call, params=shifted))
                state = replayed(semantics, state, [move]).end
            assert state.now > before.now
            assert state.rows[0][0]["status"] in ("pending", "running", "waiting_provider")


@pytest.mark.parametrize("absent", [job_questions.RECOVER, job_questions.CLAIM, job_questions.HOLDERS, CLOCK])
def test_each_component_is_needed(absent: Component, without_deadline: RelativeGraph) -> None:
    (question,) = [q for q in QUESTIONS if q.name == "a job without a deadline ends if holders end their work"]
    fewer = tuple(one for one in question.fair if one != absent)
    answer = answered(replace(question, fair=fewer, ends=False), without_deadline)
    assert answer.lasso is not None


# --- within one instant -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("world", [WITH_DEADLINE, WITHOUT_DEADLINE, job_questions.PARKED], ids=lambda world: world.name)
def test_nothing_goes_round_within_one_instant(world: World) -> None:
    graph = relative_graph(world)
    instant = within_one_instant(graph)
    assert instant.cycle is None
    assert instant.chain is not None
    assert isinstance(instant.verdict(), Held)
    assert {step.transition for step in instant.chain.steps}.isdisjoint({"tick"})
    assert len(instant.chain.steps) == longest(graph)


def longest(graph: RelativeGraph) -> int:
    """The longest chain, by trying every one (there are few)."""
    following: dict[int, set[int]] = {}
    for source, label, target in zip(*graph.edges, strict=True):
        if graph.operations[label] is not None and source != target:
            following.setdefault(int(source), set()).add(int(target))
    best: dict[int, int] = {}

    def chain(state: int) -> int:
        if state not in best:
            best[state] = max((1 + chain(after) for after in following.get(state, ())), default=0)
        return best[state]

    return max(chain(state) for state in range(graph.states))


def test_a_cycle_that_takes_no_time_is_shown() -> None:
    """Hand-backs that cost nothing, without a ceiling: claim and release go round."""
    unbounded = Contract(
        **{
            **{name: getattr(JOB_CONTRACT, name) for name in JOB_CONTRACT.__dataclass_fields__},
            "operations": tuple(
                replace(
                    o,
                    cases=tuple(
                        replace(c, when=tuple(g for g in c.when if g.name not in ("below_ceiling", "cancel_requested")))
                        for c in o.cases
                        if c.name in ("cancelled", "handed_back")
                    )[1:],
                )
                if o.name == "release"
                else o
                for o in JOB_CONTRACT.operations
            ),
            "checked": False,
        }
    )
    instant = within_one_instant(relative_graph(WITHOUT_DEADLINE, unbounded))
    assert instant.cycle is not None
    assert sorted(step.transition for step in instant.cycle.loop.steps) == ["claim", "release"]
    assert isinstance(instant.verdict(), Refuted)


# --- the quotient -----------------------------------------------------------------------------------------------------


def fate(semantics_graph: RelativeGraph, run: State) -> tuple[Value, ...]:
    row = run.rows[0][0]

    def ahead(name: str) -> Value:
        value = row[name]
        return None if value is None else max(int(str(value)) - int(run.now), -1)

    tokens = tuple(
        None if t["lease_generation"] is None else t["lease_generation"] == row["lease_generation"]
        for t in run.rows[0][1:]
    )
    return (
        row["status"],
        row["worker_id"],
        ahead("lease_expires_at"),
        ahead("next_attempt_at"),
        ahead("deadline_at"),
        row["cancel_requested_at"] is None,
        row["attempt_count"],
        *tokens,
    )


def test_states_that_look_alike_are_those_of_the_world_with_a_clock(without_deadline: RelativeGraph) -> None:
    """What is seen within a horizon is seen relatively, and nothing else is."""
    bounded = explore_aggregate(replace(WITHOUT_DEADLINE, horizon=9))
    seen = {fate(without_deadline, bounded.state(number)) for number in range(bounded.states)}
    relative = {fate(without_deadline, without_deadline.local.state(n)) for n in range(without_deadline.states)}
    assert seen == relative


def test_unbounded_counting_is_refused() -> None:
    counting = job_questions.without_guards(JOB_CONTRACT, resume_poll=("polls_left",), enqueue=("deadline_given",))
    counting = replace(
        counting,
        operations=tuple(
            replace(o, guards=tuple(g for g in o.guards if g.name != "deadline_set")) if o.name == "park" else o
            for o in counting.operations
        ),
    )
    world = replace(job_questions.POLLED_FOR_EVER, without=frozenset({"skip"}), population=jobs(1, "w1"))
    with pytest.raises((NotRelative, ValueError)):
        relative_graph(world, counting, most_states=2_000)


def test_an_argument_that_stays_where_it_is_is_refused() -> None:
    fixed = replace(WITH_DEADLINE, arguments={**WITH_DEADLINE.arguments, "enqueue.deadline_at": const(4)})
    with pytest.raises(NotRelative, match=r"enqueue\.deadline_at"):
        relative_graph(fixed)


def test_what_is_live_must_be_something_that_is_looked_at(without_deadline: RelativeGraph) -> None:
    with pytest.raises(ValueError, match=r"job\.started_at"):
        without_deadline.live(Live((JOB,), present(job("started_at"))))


def test_a_component_must_be_able_to_act() -> None:
    with pytest.raises(ValueError, match="skip"):
        Question("q", "§3", WITHOUT_DEADLINE, (Component("skippers", ("skip",)),), job_questions.EVERY_JOB, True, "q")


# --- components of a graph --------------------------------------------------------------------------------------------


@given(st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.lists(st.tuples(*[st.integers(0, n - 1)] * 2)))))
def test_components_are_those_of_mutual_reachability(drawn: tuple[int, list[tuple[int, int]]]) -> None:
    states, edges = drawn
    edges = sorted(edges)
    sources = np.array([source for source, _ in edges], dtype=np.int64)
    targets = np.array([target for _, target in edges], dtype=np.int64)
    starts = np.searchsorted(sources, np.arange(states + 1))
    found = components_of(states, starts, targets, np.ones(states, dtype=np.bool_))

    def reached(start: int) -> set[int]:
        queue, visited = deque([start]), {start}
        while queue:
            at = queue.popleft()
            for source, target in edges:
                if source == at and target not in visited:
                    visited.add(target)
                    queue.append(target)
        return visited

    reach = [reached(state) for state in range(states)]
    for one in range(states):
        for other in range(states):
            assert (found[one] == found[other]) == (other in reach[one] and one in reach[other])


# --- other machines ---------------------------------------------------------------------------------------------------

OCCUPYING = Live((slot.WORKER, slot.SLOT_OF_WORKER), OneOf(slot.STATUS, slot.LIVE))
TICKS = (CLOCK, Component("the tick that expires", ("expire",)), Component("giving up", ("give_up",)))
CLEANS = Component("workers that clean up", ("report_clean",))


@pytest.mark.parametrize(("fair", "ends"), [(TICKS, False), ((*TICKS, CLEANS), True)], ids=["beats only", "cleans up"])
def test_a_render_ends_only_if_its_worker_cleans_up(fair: tuple[Component, ...], ends: bool) -> None:
    """A worker that goes on beating and sends receipts keeps an attempt without a deadline for ever."""
    question = Question("every render ends", "§4 Slot", SLOT_SINGLE, fair, OCCUPYING, ends, "it ends")
    assert isinstance(answered(question).verdict(), Held)


def test_a_user_who_changes_his_mind_is_left_out() -> None:
    graph = relative_graph(run_worlds.SMALL_WORLDS[0])
    cycle = within_one_instant(graph).cycle
    assert cycle is not None
    assert {step.transition for step in cycle.loop.steps} == {"pause", "continue_run"}
    assert within_one_instant(graph, silent=("pause", "continue_run")).cycle is None
