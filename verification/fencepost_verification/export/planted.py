"""Bugs planted on purpose, each of which breaks an invariant in a small world, for every engine to find.

The engines share no code that counts: the explorer evaluates columns, the bounded search asks z3, TLC and SPIN read
text of their own languages, cvc5 refutes the induction. An engine, or an export to it, that misses a bug which the
others see is at fault, and so is one that needs a longer run to it.

A run is compared by its calls and, where the engine's clock ticks as the world's does, by its steps. The bounded
search lets any time pass before each call, chooses arguments and settings freely and may begin with what older programs
left; so the contracts here have no legacy rows, and suppose the settings of their world.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from fencepost_model.contract import Contract
from fencepost_model.error_codes import EXAMPLES, Family
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.machines.admission_worlds import ADMISSION_FAMILY
from fencepost_model.machines.job_worlds import jobs
from fencepost_model.machines.slot_worlds import SLOT_PAIR
from fencepost_model.shapes import ForEach
from fencepost_model.terms import (
    NULL,
    AllOf,
    Const,
    Equal,
    FieldOf,
    Holds,
    Not,
    Now,
    Plus,
    Setting,
    Truth,
    TruthTerm,
    Value,
)
from fencepost_model.worlds import World, const, later
from fencepost_verification.conformance.offenders.mutations import (
    Edit,
    NoFault,
    edited,
    not_setting,
    setting,
    with_condition,
    without_guards,
)
from fencepost_verification.evidence import Tick, Trace

_BUSY = World(
    name="planted",
    meaning="one job, two executions in one worker, everything registered, bounds as low as they go",
    contract=JOB_CONTRACT,
    population=jobs(1, "w1", "w1"),
    horizon=3,
    arguments={
        "enqueue.max_attempts": const(1, 2),
        "enqueue.deadline_at": later(1, 3),
        "fail.code": const(EXAMPLES[Family.INFRA], EXAMPLES[Family.CONTENT]),
        "skip.code": const(EXAMPLES[Family.CONTENT], EXAMPLES[Family.INFRA]),
        "*.message": (NULL,),
        "*.delay": const(1),
        "park.provider_ref": const("ref"),
        "park.next_poll_at": later(0, 1),
    },
    settings={
        "lease_seconds": 2,
        "release_ceiling": 2,
        "max_polls": 0,
        "registers_park": True,
        "registers_skip": True,
        "registers_expired": True,
    },
    legacy=False,
)


@dataclass(frozen=True)
class Planted:
    """A bug: what was done, the invariant that breaks first, and the small world in which it does.

    ``world`` is one of the broken contract.
    """

    name: str
    meaning: str
    breaks: str
    world: World

    @property
    def contract(self) -> Contract:
        """The broken contract."""
        return self.world.contract


def calls_of(trace: Trace) -> int:
    """How many calls a run makes; time passes between them."""
    return sum(not isinstance(step.move, Tick) for step in trace.steps)


def _planted(world: World, name: str, breaks: str, meaning: str, *edits: Edit) -> Planted:
    broken = edited(world.contract, *edits, lambda contract: _bounded(contract, world))
    return Planted(name, meaning, breaks, replace(world, contract=broken, untaken=frozenset(), unreached=frozenset()))


def _bounded(contract: Contract, world: World) -> Contract:
    """The contract with nothing left by older programs, under the settings of a world; no engine asks of steps."""
    machines = tuple(replace(machine, legacy=None, legacy_rows=()) for machine in contract.machines)
    supposed = AllOf((contract.settings_assumed, *(_is(name, value) for name, value in world.profile().items())))
    return replace(contract, machines=machines, settings_assumed=supposed, step_properties=())


def _is(name: str, value: Value) -> TruthTerm:
    """A setting has a value."""
    flag = Holds(Setting(name))
    if isinstance(value, bool):
        return flag if value else Not(flag)
    return Equal(Setting(name), Const(value))


def _sweeping(operation: str, case: str, change: Callable[[tuple[ForEach, ...]], tuple[ForEach, ...]]) -> Edit:
    """What a case changes of whole sets of rows is changed."""

    def edit(contract: Contract) -> Contract:
        before = contract.operation(operation)
        cases = tuple(replace(c, also=change(c.also)) if c.name == case else c for c in before.cases)
        after = replace(before, cases=cases)
        if after == before:
            raise NoFault(f"the edit of {operation!r} changes nothing: there is no such set of rows")
        return replace(contract, operations=tuple(after if o is before else o for o in contract.operations))

    return edit


def _leaves_children(also: tuple[ForEach, ...]) -> tuple[ForEach, ...]:
    mine = Equal(FieldOf("each", "job_id"), FieldOf("job", "job_id"))
    return tuple(replace(each, where=AllOf((each.where, mine))) for each in also)


PLANTED: tuple[Planted, ...] = (
    _planted(
        _BUSY,
        "the generation is not counted up",
        "token_not_ahead",
        "claim hands out the next generation, but the job keeps the old one",
        not_setting("claim", "claimed", "lease_generation"),
    ),
    _planted(
        _BUSY,
        "an ended job keeps its owner",
        "lease_off_unless_running",
        "succeed leaves the owner where it is",
        not_setting("succeed", "succeeded", "worker_id"),
    ),
    _planted(
        _BUSY,
        "a cancelled job has no end",
        "finished_exactly_when_ended",
        "the immediate cancellation forgets to write when the job ended",
        not_setting("request_cancel", "immediate", "finished_at"),
    ),
    _planted(
        _BUSY,
        "a lease outlives the deadline",
        "lease_within_deadline",
        "claim gives the whole lease, whatever the deadline",
        setting("claim", "claimed", "lease_expires_at", Plus(Now(), Setting("lease_seconds"))),
    ),
    _planted(
        _BUSY,
        "hand-backs are not noted",
        "starts_accounted",
        "release gives the attempt back without counting that it did",
        not_setting("release", "handed_back", "hand_backs"),
    ),
    _planted(
        _BUSY,
        "hand-backs without end",
        "hand_backs_bounded",
        "release does not look at the ceiling",
        with_condition("release", "below_ceiling", Truth(True), Truth(False)),
    ),
    _planted(
        _BUSY,
        "polling without end",
        "polls_bounded",
        "a poll is resumed without looking at how many there were",
        without_guards("resume_poll", "polls_left"),
    ),
    _planted(
        _BUSY,
        "any error makes work needless",
        "skipped_for_content",
        "skip takes every code",
        without_guards("skip", "content_code"),
    ),
    _planted(
        _BUSY,
        "a job handed back is still held",
        "current_token_holds",
        "release does not count the generation up, so whoever gave the job back remembers the current one",
        not_setting("release", "handed_back", "lease_generation"),
    ),
    _planted(
        _BUSY,
        "an expired job does not say why",
        "error_noted",
        "recovery of an overdue job writes no code",
        setting("recover", "expired", "error_code", NULL),
    ),
    _planted(
        replace(SLOT_PAIR, legacy=False),
        "a new epoch leaves the places taken",
        "alive_in_this_epoch",
        "registration ends the attempts of older epochs, but does not give their places back",
        _sweeping("register", "registered", lambda also: also[:1]),
    ),
    _planted(
        replace(ADMISSION_FAMILY, legacy=False),
        "children are left behind",
        "no_child_left_behind",
        "a cancellation is written to the job alone, not to its children",
        _sweeping("request_cancel", "written_through", _leaves_children),
    ),
)
"""The bugs, those of one job first, then two of a step that changes sets of rows."""
