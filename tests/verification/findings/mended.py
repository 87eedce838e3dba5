"""For each gap, by its title, an edition of the sources in which that gap is mended: its check must find nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from fencepost_model.machines.job import job
from fencepost_model.published import batch, control, task
from fencepost_model.published.drafting import with_operations
from fencepost_model.published.edition import PUBLISHED, Edition
from fencepost_model.published.job import Reading, base, with_guard
from fencepost_model.published.tables import Cited, LeaseRow, PrintedPattern
from fencepost_model.terms import Missing
from fencepost_model.worlds import World
from fencepost_verification.findings.evidence import ContradictionEvidence, CountEvidence
from fencepost_verification.findings.finding import Gap

Mending = Callable[[Edition], Edition]


def _reading(name: str) -> Mending:
    """The resolved machine stands in the place of the printed one."""

    def mend(edition: Edition) -> Edition:
        reading = edition.readings[name]
        world = reading.resolved
        assert world is not None
        return replace(edition, readings={**edition.readings, name: replace(reading, printed=world)})

    return mend


def _renewal_ends(edition: Edition) -> Edition:
    reading = edition.readings["holder renews for ever"]
    uncancelled = with_guard(base("renew"), "uncancelled", Missing(job("cancel_requested_at")), "mended")
    world = replace(reading.printed, contract=with_operations(reading.printed.contract, uncancelled))
    return replace(edition, readings={**edition.readings, "holder renews for ever": Reading(world)})


def _stage(name: str, world: World) -> Mending:
    return lambda edition: replace(edition, stages={**edition.stages, name: world})


def _edges(**added: tuple[str, ...]) -> Mending:
    def mend(edition: Edition) -> Edition:
        transitions = {status: (*ends, *added.get(status, ())) for status, ends in edition.transitions.items()}
        return replace(edition, transitions=transitions)

    return mend


def _without_edges(*gone: tuple[str, str]) -> Mending:
    def mend(edition: Edition) -> Edition:
        transitions = {
            begin: tuple(end for end in ends if (begin, end) not in gone) for begin, ends in edition.transitions.items()
        }
        return replace(edition, transitions=transitions)

    return mend


def _rules(mended: task.TaskRules) -> Mending:
    return lambda edition: replace(edition, task_rules=mended)


def _times(**seconds: int) -> Mending:
    def mend(edition: Edition) -> Edition:
        changed = {name.replace("_", " "): value for name, value in seconds.items()}
        times = {
            name: Cited(said.where, changed.get(name, said.value)) if name in changed else said
            for name, said in edition.times.items()
        }
        assert set(changed) <= set(times)
        return replace(edition, times=times)

    return mend


def _verb(name: str, **row: tuple[str, ...]) -> Mending:
    def mend(edition: Edition) -> Edition:
        verbs = tuple(
            task.Verb(
                verb.name,
                row.get("legal", verb.legal),
                row.get("at_once", verb.at_once),
                row.get("ends", verb.ends),
            )
            if verb.name == name
            else verb
            for verb in edition.verbs
        )
        return replace(edition, verbs=verbs)

    return mend


def _column(row: str, model: str, column: str) -> Mending:
    return lambda edition: replace(edition, columns={**edition.columns, row: {**edition.columns[row], model: column}})


def _then(*mendings: Mending) -> Mending:
    def mend(edition: Edition) -> Edition:
        for step in mendings:
            edition = step(edition)
        return edition

    return mend


def _patterns(*kept: str) -> Mending:
    return lambda edition: replace(
        edition, patterns=tuple(pattern for pattern in edition.patterns if pattern.text in kept)
    )


def _diagram_redrawn(edition: Edition) -> Edition:
    return replace(edition, diagram_edges=frozenset(edition.text_edges))


def _one_column_each(edition: Edition) -> Edition:
    vocabulary = tuple(
        replace(entry, aliases=("began_at",)) if entry.name == "started_at" else entry for entry in edition.vocabulary
    )
    return replace(edition, vocabulary=vocabulary)


def _registered(edition: Edition) -> Edition:
    columns = {("cancel_requested_at" if name == "cancel" else name): row for name, row in edition.columns.items()}
    return replace(edition, columns=columns, further_columns=())


def _without_clock(world: World) -> World:
    return replace(world, without=frozenset({"lease_runs_out"}))


_ALL_WAITING = ("pending", "blocked", "queued", "paused", "retry_wait")
_RULES = task.PRINTED_RULES

MENDED: Mapping[str, Mending] = {
    "An owner is no fence": _reading("owner-only fence"),
    "A lease that is over still ends the job": _reading("lease or attempt fence"),
    "One bad row stops a queue for ever": _stage("hook", batch.hook_stage(row_by_row=True)),
    "Classify, then compare and swap, loses a cancel": _reading("classify, then write"),
    "A render outlives its cancelled job": _stage("observer", batch.observer_stage(cancelled_parent_refuses=True)),
    "A batch is resumed without end": _stage("batch", batch.batch_stage(budget=2)),
    "A time-out is retried past the deadline it reports": _reading("retry past the deadline"),
    "A pending job past its deadline belongs to nobody": _reading("retry past the deadline"),
    "Recovery puts back a job that is already too late": _reading("recovery without a deadline"),
    "A second start takes rows from the living": _reading("start takes all"),
    "Renewal by worker keeps dead handlers alive": _reading("renewal by worker"),
    "One group's cancel ends another group's work": _stage("shared job", batch.shared_job_stage(counts_askers=True)),
    "Parking carries a cancel where nobody looks": _reading("park ignores a cancel"),
    "Handing back carries a cancel where nobody may claim": _reading("release ignores a cancel"),
    "A hand-back that costs nothing goes round for ever": _reading("release is free"),
    "A hand-back that costs leaves a job nobody may claim": _reading("release costs"),
    "A crash while polling submits the work again": _reading("recovery without a provider"),
    "Cancelling does not know waiting_provider": _reading("cancel of two statuses"),
    "A running row without a lease is never recovered": _reading("recovery without null"),
    "Three attempts are two in one of the queues": _reading("recovery off by one"),
    "Nothing bounds the answer to a cancel": _renewal_ends,
    "INV-1 breaks by the passing of time": _stage("batch", _without_clock(batch.batch_stage())),
    "Two ready batches of a run block each other": _stage("two batches", batch.two_batches_stage(one_at_a_time=True)),
    "A cancelled pending job leaves its task behind": _stage("projection", batch.projection_stage(everywhere=True)),
    "INV-4 counts rows, not renders": _stage("slot", batch.slot_stage(expiry_keeps_slot=True)),
    "A late upload passes the attempt fence": _stage("artifact", batch.artifact_stage(asks_holder=True)),
    # words and numbers
    "Beats that write while idle": _times(writes_allowed_while_idle=200),
    "Retry by family, and retry by list": lambda edition: replace(edition, listed_retryable=False),
    "Patterns of different families overlap": _patterns("RENDER_", "LEASE_TIMEOUT_"),
    "A code that matches no family": lambda edition: replace(
        edition, patterns=(*edition.patterns, PrintedPattern("LEASE", "_STOPPED"))
    ),
    "The code for spent attempts reads as retryable": _patterns("_MAX_ATTEMPTS", "_QUEUE_FULL"),
    "No order of the families classifies the source's own examples": lambda edition: replace(
        edition, examples={**edition.examples, "RUNTIME_VITE_QUEUE_FULL": "LIMIT"}
    ),
    "One column for the heartbeat and the start": _one_column_each,
    "Names that only the mappings know": _registered,
    "Required fields without a column": _then(
        _column("worker_id", "RenderRequest", "worker_id"),
        _column("heartbeat_at", "RenderRequest", "heartbeat_at"),
        _column("lease_expires_at", "RenderRequest", "lease_expires_at"),
        _column("error_code", "ProjectBuild", "error_code"),
    ),
    "A render's worker dies, and no second attempt ever starts in time": _times(render_request=600),
    "A ratio that cannot be checked": lambda edition: replace(
        edition, leases=tuple(LeaseRow(row.queue, row.lease, row.heartbeat or 60, row.ratio) for row in edition.leases)
    ),
    "The diagram of the job lacks its own recovery": _diagram_redrawn,
    "Three periods do not survive two lost beats": lambda edition: replace(edition, ratio=4),
    "Statuses that are used and never listed": lambda edition: replace(edition, named_without_list={}),
    "A back-off with nowhere to be written": _then(
        _column("next_attempt_at", "ProjectBuild", "next_attempt_at"),
        _column("next_attempt_at", "Screenshot/Backfill/Image/Page", "next_attempt_at"),
        _column("next_attempt_at", "ExternalTask", "next_attempt_at"),
    ),
    "A running build cannot be asked to stop": _column("cancel", "ProjectBuild", "cancel_requested_at"),
    "The screenshot loop beats more slowly than its validator believes": lambda edition: replace(
        edition, screenshot_beat_divisor=3
    ),
    "The AI's wait for a screenshot outlives no crash": _times(AI_waits_for_a_screenshot=900),
    "The outer wait is shorter than the inner one": _times(AI_waits_for_a_screenshot=900),
    "A plan that leans on helpers it has removed": lambda edition: replace(edition, plan_removed=()),
    # the task
    "Stop goes through stopping, from where there is no such edge": _edges(
        **dict.fromkeys(_ALL_WAITING, ("stopping",))
    ),
    "Pause goes through pausing from queued, where there is no such edge": _edges(queued=("pausing",)),
    "Pausing at once has no edge from pending and blocked": _edges(pending=("paused",), blocked=("paused",)),
    "Cancel is promised from every live status": _edges(
        **dict.fromkeys(("starting", "running", "pausing", "stopping"), ("cancelled",))
    ),
    "Skip is promised from a status that nothing leaves": _edges(failed=("skipped",)),
    "Edges that no verb asks for": _without_edges(
        ("starting", "pausing"), ("retry_wait", "paused"), ("queued", "skipped")
    ),
    "Resuming into the queue with the slot in hand": _rules(replace(_RULES, resume_in_place_queues=False)),
    "A start time-out is lost by pausing": _edges(paused=("stopping",)),
    "Running with nothing that runs": _rules(replace(_RULES, clears_started_at=True)),
    "A retry begins while the old thread lives": _rules(replace(_RULES, retry_waits_for_carrier=True)),
    "The old thread's verdict is taken for the new attempt's": _rules(replace(_RULES, retry_waits_for_carrier=True)),
    "Queued for ever with spent attempts": _edges(queued=("failed",)),
    "A retry passes by the slots": _then(
        _rules(replace(_RULES, clears_started_at=True)), _without_edges(("retry_wait", "starting"))
    ),
    "A retry counts twice": _rules(replace(_RULES, retry_counts=False)),
    "Stopping cannot tell who asked": lambda edition: replace(
        edition, requested_actions=(*edition.requested_actions, "cancel")
    ),
    "A command is executed twice": _stage("commands", control.command_stage(once=True)),
    "A command is claimed by who cannot execute it": _stage("commands", control.command_stage(owner_filter=True)),
    "A stale claimer completes another's command": _stage("commands", control.command_stage(fenced=True)),
    "An orphan's command is never answered": _stage(
        "commands of an orphan", control.command_stage(owner_filter=True, owner_lives=False)
    ),
    "A touch renews what has been declared lost": _stage(
        "supervisor", control.supervisor_stage(touch_checks_version=True)
    ),
    "A status without its audit record": _stage("audit", control.audit_stage(one_call=True)),
    "A store that was away never catches up": _stage("outage", control.outage_stage(catches_up=True)),
    "A healthy task is lost when its store is away": _stage("supervisor", control.supervisor_stage(local_end=True)),
    "The policy manual leaves an orphan as it is": _stage(
        "orphans", control.orphan_stage({**task.ORPHAN_POLICIES, "manual": "lost"})
    ),
    "What was skipped downstream stays skipped": _stage("pipeline", control.pipeline_stage(skipped_revives=True)),
    "Pruning drops what another node still needs": _stage(
        "pipeline", control.pipeline_stage(prune_asks_downstream=True, skipped_revives=False)
    ),
    "A reset while the task runs": _rules(replace(_RULES, reset_when_live=False)),
    "Two nodes work on one bucket": _stage("buckets", control.bucket_stage(fenced=True)),
    "Pausing does not hear its task end": _edges(pausing=("succeeded",)),
    "Pausing does not hear a retryable error": _edges(pausing=("retry_wait",)),
    "Paused in place does not hear its carrier die": _edges(paused=("lost",)),
    "What waits does not hear its supervisor die": _edges(**dict.fromkeys(_ALL_WAITING, ("failed",))),
    "Stopped, with the thread still there": _then(
        _rules(replace(_RULES, resume_in_place_queues=False)),
        _without_edges(("paused", "stopped"), ("paused", "cancelled")),
    ),
    "Running before the start was reported": _then(
        _rules(replace(_RULES, abort_needs_report=True)), _without_edges(("paused", "running"))
    ),
    "A command's lease is judged by the caller's clock": lambda edition: replace(
        edition, store_methods={**edition.store_methods, "claim_commands": ("lease_seconds", "limit")}
    ),
    "Idle time counts in the queue after all": _then(
        _rules(replace(_RULES, clears_started_at=True)), _without_edges(("paused", "queued"))
    ),
    "A task is forced to run with nothing that runs it": _rules(replace(_RULES, force_to_live=False)),
    "Two ways to leave the end, and four": _then(
        _verb("skip", legal=("pending", "blocked")), _verb("force_transition", legal=task.LIVE)
    ),
    "Downstream of what was stopped, skipped or lost": _stage(
        "pipeline",
        control.pipeline_stage({**task.DOWNSTREAM, **dict.fromkeys(("stopped", "skipped", "lost"), "cancelled")}),
    ),
    "The store cannot renew the lease that reconcile asks for": lambda edition: replace(
        edition, store_methods={**edition.store_methods, "touch": (*edition.store_methods["touch"], "lease_until")}
    ),
    "Attempts and hand-backs have no method": lambda edition: replace(
        edition,
        store_methods={**edition.store_methods, "append_attempt": (), "attempts": (), "release_command": ()},
    ),
    "Fields that the snapshot does not have": lambda edition: replace(
        edition,
        snapshot_fields=(*edition.snapshot_fields, *(name.split(".")[1] for name in edition.fields_used)),
        failure_fields=(*edition.failure_fields, "exit_code"),
    ),
    "An error that is raised and not declared": lambda edition: replace(
        edition, errors=(*edition.errors, "AttemptsExhausted")
    ),
    "Three of six endings have no hook": lambda edition: replace(
        edition, hooks={**edition.hooks, "on_end": task.TERMINAL}
    ),
    "The only way out is not on the command line": lambda edition: replace(
        edition, cli_words=(*edition.cli_words, *(verb.name for verb in edition.verbs))
    ),
    "An old word is read as success": lambda edition: replace(edition, old_aliases={}),
}


def mended_for(gap: Gap) -> Edition:
    """The edition in which one gap is mended; what contradicts itself is mended by letting one section have its way."""
    if gap.title in MENDED:
        return MENDED[gap.title](PUBLISHED)
    match gap.check(PUBLISHED):
        case ContradictionEvidence(subjects):
            agreed = {
                subject: tuple(Cited(said.where, cited[0].value) for said in cited)
                for subject, cited in subjects.items()
            }
            assert set(agreed) <= set(PUBLISHED.facts), f"write down how {gap.title!r} is mended"
            return replace(PUBLISHED, facts={**PUBLISHED.facts, **agreed})
        case CountEvidence(counts):
            wrong = {count.subject for count in counts}
            restated = tuple(
                replace(count, stated=len(count.items)) if count.subject in wrong else count
                for count in PUBLISHED.counts
            )
            return replace(PUBLISHED, counts=restated)
        case _:
            raise AssertionError(f"write down how {gap.title!r} is mended")
