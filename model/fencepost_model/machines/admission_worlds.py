"""The small worlds in which admission, parents and groups are explored."""

from __future__ import annotations

from fencepost_model.machines.admission import ADMISSION_CONTRACT, GROUP_CONTRACT
from fencepost_model.semantics import Member, Population
from fencepost_model.worlds import World, const


def queue_of(*submissions: tuple[str, str, str | None]) -> Population:
    """One queue, and what may be handed in to it: identity, tenant and key of each submission."""
    rows = tuple(
        Member("submission", f"job {number}", {"job_id": job_id, "tenant": tenant, "dedupe_key": key})
        for number, (job_id, tenant, key) in enumerate(submissions, start=1)
    )
    return Population(Member("queue", "queue", {"name": "builds"}, rows))


_FAMILY_ONLY = frozenset({"child_asked_to_stop", "child_cancelled_with_its_parent", "parent_ended_before_its_child"})

ADMISSION_FULL = World(
    name="admission-full",
    meaning="two seats, one for each tenant; four submissions without parents, two of them with the same key",
    contract=ADMISSION_CONTRACT,
    population=queue_of(("a", "t1", "k"), ("b", "t2", "k"), ("c", "t1", None), ("d", "t3", None)),
    horizon=0,
    arguments={"*.seat": const(0, 1, 2, 3), "*.tenant_seat": const(0, 1, 2), "finish.calls_off": const(False)},
    settings={"capacity": 2, "tenant_capacity": 1},
    without=frozenset({"submit_child"}),
    unreached=_FAMILY_ONLY,
)

ADMISSION_FAMILY = World(
    name="admission-family",
    meaning="room for all; a parent, its children, and who would be a grandchild",
    contract=ADMISSION_CONTRACT,
    population=queue_of(("a", "t1", None), ("b", "t2", None), ("c", "t3", None)),
    horizon=0,
    arguments={"*.seat": const(1, 2, 3), "*.tenant_seat": const(1), "finish.calls_off": const(False, True)},
    settings={"capacity": 3, "tenant_capacity": 1},
    unreached=frozenset({"key_used_again", "duplicate_would_be_told_cancelling"}),
)

ADMISSION_NAMES = World(
    name="admission-names",
    meaning="room for all; two jobs under one name, alone or as a child",
    contract=ADMISSION_CONTRACT,
    population=queue_of(("a", "t1", None), ("a", "t2", None), ("b", "t3", None)),
    horizon=0,
    arguments={"*.seat": const(1, 2), "*.tenant_seat": const(1), "finish.calls_off": const(False)},
    settings={"capacity": 2, "tenant_capacity": 1},
    unreached=frozenset({"key_used_again", "duplicate_would_be_told_cancelling"}),
)

ADMISSION_CHILDREN = World(
    name="admission-children",
    meaning="three seats, two for each tenant; children that find no room, or that are there already",
    contract=ADMISSION_CONTRACT,
    population=queue_of(("a", "t1", "k"), ("b", "t2", None), ("c", "t2", "k")),
    horizon=0,
    arguments={"*.seat": const(1, 2, 3, 4), "*.tenant_seat": const(1, 2, 3), "finish.calls_off": const(False)},
    settings={"capacity": 3, "tenant_capacity": 2},
)

WORLDS: tuple[World, ...] = (ADMISSION_FULL, ADMISSION_FAMILY, ADMISSION_NAMES, ADMISSION_CHILDREN)
"""The worlds of the admission that can be named on a command line."""

SMALL_WORLDS: tuple[World, ...] = WORLDS
"""The worlds in which each guard of the admission is dropped in turn; together they take every transition."""


def shared_by(*callers: str) -> Population:
    """One job, and an association that each of the callers named may have with it."""
    links = tuple(Member("association", f"link {n}", {"caller": caller}) for n, caller in enumerate(callers, start=1))
    return Population(Member("shared_job", "job", {}, links))


GROUP_SHARED = World(
    name="group-shared",
    meaning="one job, two groups, one of which may ask twice",
    contract=GROUP_CONTRACT,
    population=shared_by("g1", "g1", "g2"),
    horizon=0,
    arguments={},
)

GROUP_WORLDS: tuple[World, ...] = (GROUP_SHARED,)
"""The worlds of the group, all of them small."""
