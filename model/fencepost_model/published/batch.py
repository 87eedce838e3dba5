"""Batches, requirements, groups, slots, hooks and observers as 000 §2, §5.3, §7, §8 and 001 §3.2 print them.

No clock runs here: where a lease runs out, an operation says so. That keeps every walk finite and every loop exact.
"""

from __future__ import annotations

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
    stage,
    word,
    yes,
)
from fencepost_model.shapes import Actor, Variable
from fencepost_model.terms import Choose, Const, Equal, FieldOf, Less, Not, TruthTerm, all_of, any_of
from fencepost_model.worlds import World

# --- the batch and its requirement ------------------------------------------------------------------------------------

BATCH = Variable("batch", "batch")


def batch(name: str) -> FieldOf:
    """A field of the batch."""
    return of(BATCH, name)


def batch_stage(*, budget: int | None = None) -> World:
    """000 §5.3, 001 §3.2 C: ready is claimed, an expired resuming batch is ready again; a budget only when mended."""
    within: dict[str, TruthTerm] = {} if budget is None else {"budget": Less(batch("resumes"), Const(budget))}
    counted = {} if budget is None else {batch("resumes"): one_more(batch("resumes"))}
    operations = (
        operation(
            "claim_ready",
            "000 §5.3",
            (BATCH,),
            {"ready": is_in(batch("status"), "ready"), **within},
            {batch("status"): "resuming", batch("requirement"): "resolving", batch("lease_alive"): True, **counted},
            actor=Actor.CLAIMER,
        ),
        operation(
            "lease_runs_out",
            "000 §1.2",
            (BATCH,),
            {"leased": yes(batch("lease_alive"))},
            {batch("lease_alive"): False},
            actor=Actor.CLOCK,
        ),
        operation(
            "recover_external_continuations",
            "001 §3.2 C",
            (BATCH,),
            {"resuming": is_in(batch("status"), "resuming"), "lease over": no(batch("lease_alive"))},
            {batch("status"): "ready", batch("requirement"): "pending"},
        ),
        operation(
            "complete",
            "000 §5.3",
            (BATCH,),
            {"resuming": is_in(batch("status"), "resuming"), "lease alive": yes(batch("lease_alive"))},
            {batch("status"): "completed", batch("requirement"): "resolved", batch("lease_alive"): False},
            actor=Actor.HOLDER,
        ),
    )
    fields = (
        word("status", "ready", "resuming", "completed"),
        word("requirement", "pending", "resolving", "resolved"),
        flag("lease_alive"),
        count("resumes"),
    )
    root = member("batch", "batch", status="ready", requirement="pending", lease_alive=False, resumes=0)
    contract = draft("batch as printed", (machine("batch", fields),), operations)
    return stage("batch as printed", "one batch with one requirement", contract, root)


RUN = Variable("run", "run")


def run(name: str) -> FieldOf:
    """A field of the run."""
    return of(RUN, name)


def two_batches_stage(*, one_at_a_time: bool = False) -> World:
    """000 §7 INV-2, §8: a claim takes what is ready in one transaction; the index refuses a second resuming batch."""
    both = all_of(is_in(run("first"), "ready"), is_in(run("second"), "ready"))
    free = Not(any_of(is_in(run("first"), "resuming"), is_in(run("second"), "resuming")))
    takes: dict[FieldOf, Choose] = {
        run(name): Choose(is_in(run(name), "ready"), Const("resuming"), run(name)) for name in ("first", "second")
    }
    if one_at_a_time:
        takes.pop(run("second"))
    guards: dict[str, TruthTerm] = {
        "something is ready": any_of(is_in(run("first"), "ready"), is_in(run("second"), "ready")),
        "the unique index allows it": free if one_at_a_time else all_of(free, Not(both)),
    }
    operations = (
        operation("claim_ready_batches", "000 §8", (RUN,), guards, dict(takes), actor=Actor.CLAIMER),
        operation(
            "complete_first",
            "000 §5.3",
            (RUN,),
            {"resuming": is_in(run("first"), "resuming")},
            {run("first"): "completed"},
            actor=Actor.HOLDER,
        ),
    )
    words = ("collecting", "ready", "resuming", "completed")
    becomes_ready = tuple(
        operation(
            f"tasks_of_{name}_end",
            "000 §5.3",
            (RUN,),
            {"collecting": is_in(run(name), "collecting")},
            {run(name): "ready"},
        )
        for name in ("first", "second")
    )
    fields = (word("first", *words), word("second", *words))
    contract = draft("two batches of a run", (machine("run", fields),), (*becomes_ready, *operations))
    return stage(
        "two batches of a run",
        "one run with two batches",
        contract,
        member("run", "run", first="collecting", second="collecting"),
    )


# --- hooks ------------------------------------------------------------------------------------------------------------

QUEUE = Variable("queue", "queue")


def queue(name: str) -> FieldOf:
    """A field of the queue."""
    return of(QUEUE, name)


def hook_stage(*, row_by_row: bool = False) -> World:
    """000 §8, §7 INV-1: a hook that raises rolls the whole batch back; one row's hook always raises."""
    operations = [
        operation(
            "claim, the hook raises, all is rolled back",
            "000 §8, §7 INV-1",
            (QUEUE,),
            {"the bad row is selected": is_in(queue("bad"), "pending")},
            {},
            actor=Actor.CLAIMER,
        ),
        operation(
            "claim",
            "000 §8",
            (QUEUE,),
            {"no bad row is selected": Not(is_in(queue("bad"), "pending")), "good": is_in(queue("good"), "pending")},
            {queue("good"): "running"},
            actor=Actor.CLAIMER,
        ),
    ]
    if row_by_row:
        operations[0] = operation(
            "claim row by row",
            "§2 hooks",
            (QUEUE,),
            {"good": is_in(queue("good"), "pending")},
            {queue("good"): "running"},
            actor=Actor.CLAIMER,
        )
    fields = (word("good", "pending", "running"), word("bad", "pending"))
    contract = draft("claim with a hook", (machine("queue", fields),), tuple(operations))
    root = member("queue", "queue", good="pending", bad="pending")
    return stage("claim with a hook", "one sound row and one whose hook always raises", contract, root)


# --- two askers, observers, external tasks ----------------------------------------------------------------------------

SHARED = Variable("job", "job")


def shared(name: str) -> FieldOf:
    """A field of the job."""
    return of(SHARED, name)


def shared_job_stage(*, counts_askers: bool = False) -> World:
    """000 §2.2, §5.3: a group's cancel ends its jobs, and a job may belong to several groups."""

    def cancel(mine: str, other: str) -> Choose | str:
        if counts_askers:
            return Choose(yes(shared(other)), Const("cancelled"), shared("status"))
        return "cancelled"

    operations = tuple(
        operation(
            f"{mine}_cancels",
            "000 §2.2, §5.3",
            (SHARED,),
            {"not cancelled yet": no(shared(f"{mine}_cancelled"))},
            {shared(f"{mine}_cancelled"): True, shared("status"): cancel(mine, f"{other}_cancelled")},
            actor=Actor.CLIENT,
        )
        for mine, other in (("first", "second"), ("second", "first"))
    )
    fields = (word("status", "pending", "cancelled"), flag("first_cancelled"), flag("second_cancelled"))
    contract = draft("one job, two askers", (machine("job", fields),), operations)
    root = member("job", "job", status="pending", first_cancelled=False, second_cancelled=False)
    return stage("one job, two askers", "one screenshot in two groups", contract, root)


def observer_stage(*, cancelled_parent_refuses: bool = False) -> World:
    """000 §2.2: a cancel reaches renders that exist; an observer catches later ones, and leaves with the execution."""
    refuses: dict[str, TruthTerm] = {"no cancel requested": no(shared("asked"))} if cancelled_parent_refuses else {}
    withdrawn = Choose(is_in(shared("render"), "queued"), Const("cancelled"), shared("render"))
    operations = (
        operation(
            "request_cancel",
            "000 §2.2",
            (SHARED,),
            {"running": is_in(shared("status"), "running")},
            {shared("asked"): True, shared("render"): withdrawn},
            actor=Actor.CLIENT,
        ),
        operation(
            "enqueue_render",
            "000 §2.2",
            (SHARED,),
            {"executing": yes(shared("executing")), "none yet": is_in(shared("render"), "none"), **refuses},
            {shared("render"): "queued"},
            actor=Actor.HOLDER,
        ),
        operation(
            "observe",
            "000 §2.2",
            (SHARED,),
            {"executing": yes(shared("executing")), "asked": yes(shared("asked"))},
            {shared("render"): withdrawn},
        ),
        operation(
            "acknowledge",
            "000 §2.2",
            (SHARED,),
            {"executing": yes(shared("executing")), "asked": yes(shared("asked"))},
            {shared("status"): "cancelled", shared("executing"): False},
            actor=Actor.HOLDER,
        ),
    )
    fields = (
        word("status", "running", "cancelled"),
        word("render", "none", "queued", "cancelled"),
        flag("asked"),
        flag("executing"),
    )
    contract = draft("cancel observer", (machine("job", fields),), operations)
    root = member("job", "job", status="running", render="none", asked=False, executing=True)
    return stage("cancel observer", "one screenshot job that enqueues a render", contract, root)


def projection_stage(*, everywhere: bool = False) -> World:
    """000 §7 INV-3: finalize and recovery write the task through; a cancel of a pending job is named by neither."""
    operations = (
        operation(
            "claim",
            "000 §5.2 A",
            (SHARED,),
            {"pending": is_in(shared("status"), "pending")},
            {shared("status"): "running"},
            actor=Actor.CLAIMER,
        ),
        operation(
            "finalize",
            "000 §7 INV-3",
            (SHARED,),
            {"running": is_in(shared("status"), "running")},
            {shared("status"): "succeeded", shared("task"): "succeeded"},
            actor=Actor.HOLDER,
        ),
        operation(
            "request_cancel",
            "000 §2.2",
            (SHARED,),
            {"pending": is_in(shared("status"), "pending")},
            {shared("status"): "cancelled", **({shared("task"): "cancelled"} if everywhere else {})},
            actor=Actor.CLIENT,
        ),
    )
    words = ("pending", "running", "succeeded", "cancelled")
    contract = draft("job and task", (machine("job", (word("status", *words), word("task", *words))),), operations)
    return stage(
        "job and task",
        "one job behind an external task",
        contract,
        member("job", "job", status="pending", task="pending"),
    )


# --- slots and artifacts ----------------------------------------------------------------------------------------------

WORKER = Variable("worker", "worker")


def worker(name: str) -> FieldOf:
    """A field of the render worker."""
    return of(WORKER, name)


def slot_stage(*, expiry_keeps_slot: bool = False) -> World:
    """000 §2.3, 001 §3.2 C: an attempt whose lease is over is released; INV-4 counts rows, not renders."""
    freed = {} if expiry_keeps_slot else {worker("occupied"): False}
    operations = (
        operation(
            "reserve",
            "000 §5.2 C, INV-4",
            (WORKER,),
            {"no row occupies": no(worker("occupied"))},
            {worker("occupied"): True, worker("lease_alive"): True, worker("renders"): one_more(worker("renders"))},
        ),
        operation(
            "lease_runs_out",
            "000 §2.3",
            (WORKER,),
            {"leased": yes(worker("lease_alive"))},
            {worker("lease_alive"): False},
            actor=Actor.CLOCK,
        ),
        operation(
            "release_expired_attempt_leases",
            "001 §3.2 C",
            (WORKER,),
            {"occupied": yes(worker("occupied")), "lease over": no(worker("lease_alive"))},
            freed,
        ),
        operation(
            "clean",
            "000 §2.3",
            (WORKER,),
            {"rendering": Less(Const(0), worker("renders")), "leased": yes(worker("lease_alive"))},
            {worker("occupied"): False, worker("lease_alive"): False, worker("renders"): 0},
            actor=Actor.HOLDER,
        ),
    )
    fields = (flag("occupied"), flag("lease_alive"), count("renders"))
    contract = draft("render slot", (machine("worker", fields),), operations)
    root = member("worker", "worker", occupied=False, lease_alive=False, renders=0)
    return stage("render slot", "one render worker in one epoch", contract, root)


def artifact_stage(*, asks_holder: bool = False) -> World:
    """000 §1.3, §7 INV-5: an upload needs the job's current attempt_id; a poll goes on with the same attempt."""
    operations = (
        operation(
            "claim",
            "000 §1.3",
            (SHARED,),
            {"pending": is_in(shared("status"), "pending")},
            {shared("status"): "running", shared("holder"): "first", shared("attempt"): 1},
            actor=Actor.CLAIMER,
        ),
        operation(
            "park",
            "000 §2.1",
            (SHARED,),
            {"running": is_in(shared("status"), "running")},
            {shared("status"): "waiting_provider", shared("holder"): "none"},
            actor=Actor.HOLDER,
        ),
        operation(
            "resume_poll",
            "000 §2.3",
            (SHARED,),
            {"waiting": is_in(shared("status"), "waiting_provider")},
            {shared("status"): "running", shared("holder"): "second"},
            actor=Actor.CLAIMER,
        ),
        operation(
            "first_uploads",
            "000 §7 INV-5",
            (SHARED,),
            {
                "attempt_id is the job's": Equal(shared("attempt"), Const(1)),
                "running": is_in(shared("status"), "running"),
                **({"holds": is_in(shared("holder"), "first")} if asks_holder else {}),
            },
            {shared("uploaded_by"): "first"},
            actor=Actor.HOLDER,
        ),
    )
    fields = (
        word("status", "pending", "running", "waiting_provider"),
        word("holder", "none", "first", "second"),
        count("attempt"),
        word("uploaded_by", "first"),
    )
    contract = draft("artifact fence", (machine("job", fields),), operations)
    root = member("job", "job", status="pending", holder="none", attempt=0)
    return stage("artifact fence", "one parked job and two workers", contract, root)
