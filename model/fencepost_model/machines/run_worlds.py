"""The small worlds in which runs, owners, batches and requirements are explored."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost_model.machines.run import OWN_CODES, RUN_CONTRACT
from fencepost_model.semantics import Member, Population
from fencepost_model.terms import ValueTerm
from fencepost_model.worlds import World, const

FULL: dict[str, tuple[ValueTerm, ...]] = {"*.code": const(OWN_CODES[0])}
"""The code of an error decides nothing here, so one is enough."""


def batch(label: str, requirements: int, coordinators: Sequence[str]) -> Member:
    """A batch with so many requirements, that may be claimed by one execution for each name given."""
    slots = tuple(
        Member("requirement", f"{label}.{number}", {"number": str(number)}) for number in range(1, requirements + 1)
    )
    tokens = tuple(
        Member("batch_token", f"{label}.{name}{chr(39) * coordinators[:number].count(name)}", {"worker_id": name})
        for number, name in enumerate(coordinators)
    )
    return Member("batch", label, {}, (*slots, *tokens))


def host(processes: Sequence[str], runs: Sequence[Sequence[Member]]) -> Population:
    """One deployment: an owner row for each name given, and a run with its batches for each list of batches."""
    owners = tuple(Member("owner", name, {"process": name}) for name in processes)
    members = tuple(Member("run", f"run {number}", {}, tuple(batches)) for number, batches in enumerate(runs, start=1))
    return Population(Member("host", "host", {"name": "host"}, (*owners, *members)))


_OF_BATCHES = frozenset(
    {
        "open_batch",
        "find_page_batch",
        "add_requirement",
        "close_batch",
        "cancel_requirement",
        "tasks_done",
        "claim_resuming",
        "renew_resuming",
        "complete_resuming",
        "fail_resuming",
        "stop_resuming",
        "recover_resuming",
        "converge_page_batch",
        "wait_externally",
    }
)
_OF_RUNS_AND_OWNERS = frozenset({"run_of_a_dead_owner", "owner_at_its_very_end", "run_without_owner"})
_SEEN_WITHOUT_BATCHES = _OF_RUNS_AND_OWNERS | {
    f"run_{status}_reached" for status in ("running", "paused", "cancelling", "completed", "cancelled", "failed")
}

RUN_OWNERS = World(
    name="run-owners",
    meaning="two processes, two runs without batches, runs of an older program",
    contract=RUN_CONTRACT,
    population=host(("p1", "p2"), ((), ())),
    horizon=3,
    arguments=FULL,
    settings={"owner_ttl": 2, "lease_seconds": 1, "max_resumes": 1},
    without=_OF_BATCHES,
    untaken=frozenset({"reap/handed_over"}),
    unreached=frozenset(witness.name for witness in RUN_CONTRACT.witnesses) - _SEEN_WITHOUT_BATCHES,
)

RUN_HAND_OVER = World(
    name="run-hand-over",
    meaning="one process, one run, two batches with one requirement each, one coordinator, one resume",
    contract=RUN_CONTRACT,
    population=host(("p1",), ((batch("A", 1, ("p1",)), batch("B", 1, ("p1",))),)),
    horizon=2,
    arguments=FULL,
    settings={"owner_ttl": 1, "lease_seconds": 2, "max_resumes": 1},
    untaken=frozenset({"recover_resuming/ready_again"}),
    unreached=frozenset({"resuming_without_a_cancelled_one", "stale_token_of_the_worker", "resumed_again"}),
)

RUN_RESUMED = World(
    name="run-resumed",
    meaning="one process, one run, one batch with two requirements, three executions in two workers, two resumes",
    contract=RUN_CONTRACT,
    population=host(("p1",), ((batch("A", 2, ("p1", "p1", "p2")),),)),
    horizon=3,
    arguments=FULL,
    settings={"owner_ttl": 4, "lease_seconds": 1, "max_resumes": 2},
    untaken=frozenset({"reap/handed_over"}),
    unreached=frozenset({"two_ready_batches", "ready_beside_resuming", "run_of_a_dead_owner", "owner_at_its_very_end"}),
)

_OF_COORDINATORS = frozenset(
    {
        "claim_resuming",
        "renew_resuming",
        "complete_resuming",
        "fail_resuming",
        "stop_resuming",
        "recover_resuming",
    }
)

RUN_STRANGER = World(
    name="run-stranger",
    meaning="two processes, one run, one batch with one requirement that nobody resumes",
    contract=RUN_CONTRACT,
    population=host(("p1", "p2"), ((batch("A", 1, ()),),)),
    horizon=1,
    arguments=FULL,
    settings={"owner_ttl": 1, "lease_seconds": 1, "max_resumes": 1},
    without=_OF_COORDINATORS | {"find_page_batch", "converge_page_batch"},
    unreached=frozenset(
        {
            "batch_resuming_reached",
            "batch_completed_reached",
            "requirement_resolving_reached",
            "requirement_resolved_reached",
            "resuming_past_its_lease",
            "resuming_without_a_cancelled_one",
            "two_ready_batches",
            "ready_beside_resuming",
            "stale_token_of_the_worker",
            "resumed_again",
        }
    ),
)

WORLDS: tuple[World, ...] = (RUN_STRANGER, RUN_HAND_OVER, RUN_RESUMED, RUN_OWNERS)
"""The worlds that can be named on a command line."""

SMALL_WORLDS: tuple[World, ...] = WORLDS
"""The worlds in which each guard is dropped in turn; together they take every transition."""
