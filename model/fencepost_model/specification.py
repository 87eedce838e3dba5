"""The whole specification: a list of chapters, each a contract with the worlds in which it is explored.

A contract is about one kind of aggregate, since that is what one transaction changes (decisions 1 and 12). The
specification therefore is not one large contract but several, and every check runs over each of them. A chapter that
is defined outside of this repository is checked, documented and judged in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fencepost_model.contract import Contract
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.machines import (
    admission_worlds,
    attempt_worlds,
    command_worlds,
    hook_worlds,
    job_worlds,
    pipeline_worlds,
    run_worlds,
    slot_worlds,
    task_worlds,
    validation_worlds,
    wakeup_worlds,
)
from fencepost_model.machines.admission import ADMISSION_CONTRACT, GROUP_CONTRACT
from fencepost_model.machines.attempt import ATTEMPT_CONTRACT
from fencepost_model.machines.command import COMMAND_CONTRACT
from fencepost_model.machines.hook import HOOK_CONTRACT
from fencepost_model.machines.pipeline import PIPELINE_CONTRACT
from fencepost_model.machines.run import RUN_CONTRACT
from fencepost_model.machines.slot import SLOT_CONTRACT
from fencepost_model.machines.task import TASK_CONTRACT
from fencepost_model.machines.validation import VALIDATION_CONTRACT
from fencepost_model.machines.wakeup import WAKEUP_CONTRACT
from fencepost_model.worlds import World


@dataclass(frozen=True)
class Chapter:
    """A contract, and the bounded worlds that show it.

    ``worlds`` may all be explored by name. In ``small_worlds`` each guard is dropped in turn and each mutant is run, so
    they are kept to some ten thousand states; together they take every transition. ``toured`` are the worlds that a
    conformance run walks; where none is named, those of ``worlds`` that have one aggregate. ``extends`` is a contract
    of which this one keeps every guard and effect: what is asked of those there is not asked again here. Raises
    ``ValueError`` when a world is one of another contract, or when two share a name.
    """

    title: str
    meaning: str
    contract: Contract
    worlds: tuple[World, ...] = ()
    small_worlds: tuple[World, ...] = ()
    toured: tuple[World, ...] = ()
    extends: Contract | None = None

    def __post_init__(self) -> None:
        names = [world.name for world in self.worlds]
        for name in sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"chapter {self.name!r} has two worlds called {name!r}; rename one of them")
        for world in (*self.worlds, *self.small_worlds, *self.toured):
            if world.contract is not self.contract:
                told = f"world {world.name!r} of chapter {self.name!r} is one of contract {world.contract.name!r}"
                raise ValueError(f"{told}; list it in the chapter of that contract")

    @property
    def name(self) -> str:
        """The name of the contract, by which the chapter is asked for."""
        return self.contract.name


SPECIFICATION: tuple[Chapter, ...] = (
    Chapter(
        "The durable job",
        "A job on a table, the leases under which it is worked on, and the tokens of those who work.",
        JOB_CONTRACT,
        job_worlds.WORLDS,
        job_worlds.SMALL_WORLDS,
    ),
    Chapter(
        "Attempts, projections, artifacts",
        "What hangs on a job: its attempts, the external task that mirrors it (INV-3), the artifacts it makes (INV-5).",
        ATTEMPT_CONTRACT,
        attempt_worlds.WORLDS,
        attempt_worlds.SMALL_WORLDS,
        extends=JOB_CONTRACT,
    ),
    Chapter(
        "Admission",
        "How jobs get in: capacity counted under one lock, keys without duplicates, parents with their children.",
        ADMISSION_CONTRACT,
        admission_worlds.WORLDS,
        admission_worlds.SMALL_WORLDS,
    ),
    Chapter(
        "Several askers",
        "One job that several callers asked for: each can withdraw, and the last one ends it (D-26).",
        GROUP_CONTRACT,
        admission_worlds.GROUP_WORLDS,
        admission_worlds.GROUP_WORLDS,
    ),
    Chapter(
        "Wake-ups",
        "How a sleeping worker learns of new work, and why no notification is lost.",
        WAKEUP_CONTRACT,
        wakeup_worlds.WORLDS,
        wakeup_worlds.SMALL_WORLDS,
    ),
    Chapter(
        "Hooks",
        "What runs inside the claim's transaction, and how one row whose hook raises is kept from stopping the others.",
        HOOK_CONTRACT,
        hook_worlds.WORLDS,
        hook_worlds.SMALL_WORLDS,
    ),
    Chapter(
        "Runs, batches, requirements",
        "Runs of a host, the processes that own them, and the batches by which they are resumed (INV-1, INV-2).",
        RUN_CONTRACT,
        run_worlds.WORLDS,
        run_worlds.SMALL_WORLDS,
    ),
    Chapter(
        "Render slots",
        "The one place for a render on a worker and epoch, and when it may be given to another (INV-4).",
        SLOT_CONTRACT,
        slot_worlds.WORLDS,
        slot_worlds.SMALL_WORLDS,
    ),
    Chapter(
        "The task",
        "A task that one process runs and steers: pause, resume, stop, retry, time-outs, and what is said of its end.",
        TASK_CONTRACT,
        task_worlds.WORLDS,
        task_worlds.SMALL_WORLDS,
    ),
    Chapter(
        "Pipelines",
        "A run of tasks that wait for one another: join modes, policies, what a failure does downstream, and repair.",
        PIPELINE_CONTRACT,
        pipeline_worlds.WORLDS,
        pipeline_worlds.SMALL_WORLDS,
    ),
    Chapter(
        "Commands",
        "How a command reaches the process that owns a task, has its effect at most once, and is always answered.",
        COMMAND_CONTRACT,
        command_worlds.WORLDS,
        command_worlds.SMALL_WORLDS,
    ),
    Chapter(
        "The validation gate",
        "When a page counts as valid, and how trouble with the checking is kept apart from trouble with the page.",
        VALIDATION_CONTRACT,
        validation_worlds.WORLDS,
        validation_worlds.SMALL_WORLDS,
    ),
)
"""Every chapter, in the order in which they are read."""

CHAPTERS: Mapping[str, Chapter] = {chapter.name: chapter for chapter in SPECIFICATION}
"""The chapters by the names of their contracts."""
