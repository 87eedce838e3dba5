"""Which conjuncts an UPDATE must repeat when its operation is done in two steps: each is dropped, and a run shows why.

The rows of the table are made, not written: a form of an operation without one of its conjuncts is explored in a small
world until its refinement of the job breaks. A conjunct without which nothing breaks there would be one too many, and
is *unknown*; that all of them together are enough is what the proof of the refinement says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from fencepost_model.machines import job
from fencepost_model.machines.two_step_claim import POSTGRESQL, SQLITE, TwoSteps, two_step_refinement
from fencepost_model.machines.two_step_worlds import two_step_world
from fencepost_model.refinement import statements
from fencepost_verification.evidence import Held, Trace, Unknown, Verdict
from fencepost_verification.explore.local import explore_aggregate


@dataclass(frozen=True)
class Break:
    """The statement of a refinement that breaks first in a small world, with a shortest run."""

    statement: str
    trace: Trace


@dataclass(frozen=True)
class Repeated:
    """One conjunct that an UPDATE repeats, and what breaks without it; None when nothing was found to."""

    operation: str
    locking: bool
    conjunct: str
    clause: str
    broken: Break | None

    def verdict(self) -> Verdict:
        """Held when something breaks without the conjunct."""
        name = f"the update of {self.operation}{' under a lock' if self.locking else ''} repeats {self.conjunct}"
        if self.broken is None:
            return Unknown(name, "nothing was found to break without it")
        return Held(name, f"without it {self.broken.statement} breaks: {self.broken.trace}")


def first_break(form: TwoSteps) -> Break | None:
    """What a form of an operation in two steps breaks first in a small world, if anything.

    Raises ``MemoryError`` when the world was not explored to its end and nothing was found.
    """
    refinement = two_step_refinement(form, explained=False)
    # What is done in one step is mapped to itself, and what the job promises follows from the refinement.
    steps = {f"{form.name}_{step}" for step in ("read", "lock", "write")}
    contract = replace(
        refinement.concrete,
        invariants=(),
        step_properties=tuple(statement for statement in statements(refinement) if statement.of in steps),
        checked=False,
    )
    parking = form.operation in (job.PARK, job.RESUME_POLL)
    graph = explore_aggregate(two_step_world(contract, parking=parking), stop_at_violation=True)
    if not graph.violations:
        if not graph.complete:
            raise MemoryError(f"the world of {form.name} in two steps is too large; lower its horizon")
        return None
    first = min(graph.violations, key=lambda violation: violation.depth)
    return Break(first.statement, graph.trace_of(first))


def update_table(forms: Iterable[TwoSteps] = (*SQLITE, *POSTGRESQL)) -> Iterator[Repeated]:
    """One row for each conjunct that each form repeats."""
    for form in forms:
        for guard in form.repeats:
            broken = first_break(form.dropping(guard.name))
            yield Repeated(form.name, form.locking, guard.name, guard.clause, broken)
