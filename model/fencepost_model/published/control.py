"""Commands, supervisors, buckets, the store's two calls and the pipeline of 003 §5, §12 and §15 as printed.

Two processes a and b stand for as many as there are; no clock runs, an operation says when a lease runs out.
"""

from __future__ import annotations

from collections.abc import Mapping

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
from fencepost_model.published.task import DOWNSTREAM, TERMINAL
from fencepost_model.shapes import Actor, Operation, Variable
from fencepost_model.terms import Const, Equal, FieldOf, Less, Truth, TruthTerm, any_of
from fencepost_model.worlds import World

COMMAND = Variable("command", "command")


def command(name: str) -> FieldOf:
    """A field of the command."""
    return of(COMMAND, name)


def command_stage(
    *, owner_filter: bool = False, fenced: bool = False, once: bool = False, owner_lives: bool = True
) -> World:
    """003 §5.6: claim_commands(now, lease_seconds, limit), complete_command(command_id, now); a holds the task."""
    operations: list[Operation] = []
    for name in ("a", "b"):
        mine, executed = command(f"{name}_has_it"), command("executions")
        may: dict[str, TruthTerm] = {"a holds the task": Truth(name == "a")}
        claim_guards: dict[str, TruthTerm] = {
            "free or lease over": any_of(is_in(command("status"), "submitted"), no(command("lease_alive"))),
            "open": is_in(command("status"), "submitted", "claimed"),
        }
        if name == "a":
            claim_guards["alive"] = yes(command("a_alive"))
        if owner_filter:
            claim_guards |= may
        operations.append(
            operation(
                f"{name}_claims",
                "003 §5.6",
                (COMMAND,),
                claim_guards,
                {
                    command("status"): "claimed",
                    command("claimer"): name,
                    command("lease_alive"): True,
                    mine: True,
                },
                actor=Actor.CLAIMER,
            )
        )
        # §5.6: the one who executes is the process that holds the task.
        executes: dict[str, TruthTerm] = {"has it": yes(mine), **may, "few": Less(executed, Const(3))}
        if once:
            executes["not done yet"] = Less(executed, Const(1))
        operations.append(
            operation(
                f"{name}_executes",
                "003 §5.6",
                (COMMAND,),
                executes,
                {executed: one_more(executed), mine: False, command(f"{name}_done"): True},
                actor=Actor.HOLDER,
            )
        )
        completes: dict[str, TruthTerm] = {
            "has executed": yes(command(f"{name}_done")),
            "open": is_in(command("status"), "claimed"),
        }
        if fenced:
            completes["is the claimer"] = is_in(command("claimer"), name)
        operations.append(
            operation(
                f"{name}_completes",
                "003 §5.6",
                (COMMAND,),
                completes,
                {command("status"): "completed", command(f"{name}_done"): False},
                actor=Actor.HOLDER,
            )
        )
    operations.append(
        operation(
            "lease_runs_out",
            "003 §5.6",
            (COMMAND,),
            {"leased": yes(command("lease_alive"))},
            {command("lease_alive"): False},
            actor=Actor.CLOCK,
        )
    )
    fields = (
        word("status", "submitted", "claimed", "completed"),
        word("claimer", "a", "b"),
        flag("lease_alive"),
        flag("a_alive"),
        *(flag(f"{name}_{what}") for name in ("a", "b") for what in ("has_it", "done")),
        count("executions"),
    )
    contract = draft("commands as printed", (machine("command", fields),), tuple(operations))
    root = member(
        "command",
        "command",
        status="submitted",
        lease_alive=False,
        a_alive=owner_lives,
        a_has_it=False,
        b_has_it=False,
        a_done=False,
        b_done=False,
        executions=0,
    )
    return stage("commands as printed", "one command, processes a (which holds the task) and b", contract, root)


TASK = Variable("task", "task")


def task(name: str) -> FieldOf:
    """A field of the task."""
    return of(TASK, name)


def supervisor_stage(*, touch_checks_version: bool = False, local_end: bool = False) -> World:
    """003 §5.6, §12: touch renews the supervisor's lease and looks at no version; reconcile marks what has none.

    The lease runs out while the supervisor cannot reach the store, or stalls.
    """
    current: dict[str, TruthTerm] = {"running": is_in(task("status"), "running")} if touch_checks_version else {}
    operations = (
        operation(
            "lease_runs_out",
            "003 §12",
            (TASK,),
            {"leased": yes(task("lease_alive")), "not renewed": no(task("reachable"))},
            {task("lease_alive"): False, **({task("carrier_lives"): False} if local_end else {})},
            actor=Actor.CLOCK,
        ),
        operation(
            "store_is_back",
            "003 §12",
            (TASK,),
            {"out of reach": no(task("reachable"))},
            {task("reachable"): True},
            actor=Actor.CLOCK,
        ),
        operation(
            "store_is_away",
            "003 §12",
            (TASK,),
            {"reachable": yes(task("reachable"))},
            {task("reachable"): False},
            actor=Actor.CLOCK,
        ),
        operation(
            "reconcile",
            "003 §5.5, §12",
            (TASK,),
            {"running": is_in(task("status"), "running"), "no supervisor": no(task("lease_alive"))},
            {task("status"): "lost"},
        ),
        operation(
            "touch",
            "003 §5.6, §12",
            (TASK,),
            {"reachable": yes(task("reachable")), **current},
            {task("lease_alive"): True},
            actor=Actor.HOLDER,
        ),
    )
    fields = (word("status", "running", "lost"), flag("lease_alive"), flag("reachable"), flag("carrier_lives"))
    contract = draft("supervisor lease", (machine("task", fields),), operations)
    root = member("task", "task", status="running", lease_alive=True, reachable=True, carrier_lives=True)
    return stage("supervisor lease", "one running task, its supervisor, and one that reconciles", contract, root)


def audit_stage(*, one_call: bool = False) -> World:
    """003 §5.6: save(snapshot) and append(transition) are two calls; a process may die between them."""
    history = {task("history"): one_more(task("history"))} if one_call else {task("owes"): True}
    operations = (
        operation(
            "save",
            "003 §5.6",
            (TASK,),
            {"owes nothing": no(task("owes")), "few": Less(task("version"), Const(2))},
            {task("version"): one_more(task("version")), **history},
            actor=Actor.HOLDER,
        ),
        operation(
            "append",
            "003 §5.6",
            (TASK,),
            {"owes": yes(task("owes"))},
            {task("history"): one_more(task("history")), task("owes"): False},
            actor=Actor.HOLDER,
        ),
        operation(
            "process_dies", "003 §5.5", (TASK,), {"owes": yes(task("owes"))}, {task("owes"): False}, actor=Actor.CLOCK
        ),
    )
    fields = (count("version"), count("history"), flag("owes"))
    contract = draft("save and append", (machine("task", fields),), operations)
    return stage(
        "save and append",
        "one task and its audit trail",
        contract,
        member("task", "t", version=0, history=0, owes=False),
    )


def outage_stage(*, catches_up: bool = False) -> World:
    """003 §5.6, §12: a save names the version it expects; trouble with the store is noted and the task goes on."""
    memory, stored, reachable = task("memory_version"), task("stored_version"), task("reachable")
    few: TruthTerm = Less(memory, Const(3))
    operations = [
        operation(
            "transition, saved",
            "003 §5.6",
            (TASK,),
            {"reachable": yes(reachable), "expected version": Equal(stored, memory), "few": few},
            {memory: one_more(memory), stored: one_more(stored)},
            actor=Actor.HOLDER,
        ),
        operation(
            "transition, not saved",
            "003 §12",
            (TASK,),
            {"out of reach": no(reachable), "few": few},
            {memory: one_more(memory)},
            actor=Actor.HOLDER,
        ),
        operation(
            "store_is_away", "003 §12", (TASK,), {"reachable": yes(reachable)}, {reachable: False}, actor=Actor.CLOCK
        ),
        operation(
            "store_is_back", "003 §12", (TASK,), {"out of reach": no(reachable)}, {reachable: True}, actor=Actor.CLOCK
        ),
    ]
    if catches_up:
        operations.append(
            operation(
                "catch_up",
                "mended",
                (TASK,),
                {"reachable": yes(reachable), "behind": Less(stored, memory)},
                {stored: memory},
                actor=Actor.HOLDER,
            )
        )
    fields = (count("memory_version"), count("stored_version"), flag("reachable"))
    contract = draft("store outage", (machine("task", fields),), tuple(operations))
    root = member("task", "task", memory_version=1, stored_version=1, reachable=True)
    return stage("store outage", "one running task whose store goes away and comes back", contract, root)


BUCKET = Variable("bucket", "bucket")


def bucket(name: str) -> FieldOf:
    """A field of the bucket."""
    return of(BUCKET, name)


def bucket_stage(*, fenced: bool = False) -> World:
    """003 §15.4: bucket_owners(bucket PRIMARY KEY, owner, lease_until); what an owner believes is not in the table."""
    operations: list[Operation] = []
    for name in ("a", "b"):
        operations += [
            operation(
                f"{name}_claims",
                "003 §15.4",
                (BUCKET,),
                {"lease over": no(bucket("lease_alive"))},
                {bucket("owner"): name, bucket("lease_alive"): True, bucket(f"{name}_believes"): True},
                actor=Actor.CLAIMER,
            ),
            operation(
                f"{name}_works",
                "003 §15.2",
                (BUCKET,),
                {
                    "believes": yes(bucket(f"{name}_believes")),
                    **({"owns": is_in(bucket("owner"), name)} if fenced else {}),
                },
                {
                    bucket(f"{name}_works"): True,
                    **({bucket(f"{'b' if name == 'a' else 'a'}_works"): False} if fenced else {}),
                },
                actor=Actor.HOLDER,
            ),
        ]
    operations.append(
        operation(
            "lease_runs_out",
            "003 §15.4",
            (BUCKET,),
            {"leased": yes(bucket("lease_alive"))},
            {bucket("lease_alive"): False},
            actor=Actor.CLOCK,
        )
    )
    fields = (
        word("owner", "a", "b"),
        flag("lease_alive"),
        *(flag(f"{name}_{what}") for name in ("a", "b") for what in ("believes", "works")),
    )
    begins = {f"{name}_{what}": False for name in ("a", "b") for what in ("believes", "works")}
    contract = draft("bucket owners", (machine("bucket", fields),), tuple(operations))
    return stage(
        "bucket owners", "one bucket, nodes a and b", contract, member("bucket", "bucket", lease_alive=False, **begins)
    )


NODES = Variable("nodes", "nodes")


def node(name: str) -> FieldOf:
    """A field of a pair of nodes: ``up`` comes before ``down``."""
    return of(NODES, name)


def pipeline_stage(
    rules: Mapping[str, str | None] = DOWNSTREAM,
    *,
    skipped_revives: bool = False,
    prune_asks_downstream: bool = False,
    begins: str = "running",
) -> World:
    """003 §2.1, §2.2, §3.3, §5.6, §12: a node and its downstream, retry of the first, and prune."""
    operations: list[Operation] = [
        operation(
            f"up ends {ended}",
            "003 §2.1",
            (NODES,),
            {"running": is_in(node("up"), "running")},
            {node("up"): ended},
            actor=Actor.HOLDER,
        )
        for ended in TERMINAL
    ]
    waits = is_in(node("down"), "blocked")
    for ended, rule in rules.items():
        if rule is None:
            continue
        operations += [
            operation(
                f"down is {outcome} because up is {ended}",
                "003 §3.3, §12",
                (NODES,),
                {"blocked": waits, "ended so": is_in(node("up"), ended)},
                {node("down"): outcome},
            )
            for outcome in (("queued",) if rule == "released" else ("cancelled", "skipped"))
        ]
    operations.append(
        operation(
            "retry up",
            "003 §2.2",
            (NODES,),
            {
                "revivable": is_in(node("up"), "failed", "stopped", "cancelled", "lost"),
                "few": Less(node("retries"), Const(1)),
            },
            {node("up"): "running", node("up_kept"): True, node("retries"): one_more(node("retries"))},
            actor=Actor.CLIENT,
        )
    )
    revived = ("cancelled", "skipped") if skipped_revives else ("cancelled",)
    operations.append(
        operation(
            "revive down",
            "003 §2.2",
            (NODES,),
            {
                "revivable": is_in(node("down"), *revived),
                "up succeeded": is_in(node("up"), "succeeded"),
                **({"its result is there": yes(node("up_kept"))} if prune_asks_downstream else {}),
            },
            {node("down"): "queued"},
        )
    )
    operations.append(
        operation(
            "prune",
            "003 §5.6",
            (NODES,),
            {
                "up has ended": is_in(node("up"), *TERMINAL),
                **({"nobody waits for it": is_in(node("down"), *TERMINAL)} if prune_asks_downstream else {}),
            },
            {node("up_kept"): False},
        )
    )
    fields = (
        word("up", "running", *TERMINAL),
        word("down", "blocked", "queued", *TERMINAL),
        flag("up_kept"),
        count("retries"),
    )
    contract = draft("two nodes", (machine("nodes", fields),), tuple(operations))
    root = member("nodes", "nodes", up=begins, down="blocked", up_kept=True, retries=0)
    return stage("two nodes", "a node and the one that waits for it", contract, root)


def orphan_stage(policies: Mapping[str, str | None]) -> World:
    """003 §5.5: reconcile handles the orphans of a dead process by one of three policies."""
    operations = tuple(
        operation(
            f"reconcile ({policy})",
            "003 §5.5",
            (TASK,),
            {
                "orphan": no(task("supervised")),
                "running": is_in(task("status"), "running"),
                "policy": is_in(task("policy"), policy),
            },
            {task("status"): end},
        )
        for policy, end in policies.items()
        if end is not None
    )
    dies = operation(
        "process_dies",
        "003 §5.5",
        (TASK,),
        {"supervised": yes(task("supervised"))},
        {task("supervised"): False},
        actor=Actor.CLOCK,
    )
    fields = (word("status", "running", "failed", "queued", "lost"), flag("supervised"), word("policy", *policies))
    contract = draft("orphans", (machine("task", fields),), (dies, *operations))
    return stage(
        "orphans",
        "one running task under the policy manual",
        contract,
        member("task", "task", status="running", supervised=True, policy="manual"),
    )
