"""Gaps of the task machine and what stands around it: 003, its table against its verbs, its store, its pipelines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fencepost_model.published import control
from fencepost_model.published.edition import Edition
from fencepost_model.published.task import LIVE, TASK, TERMINAL, task, task_stage
from fencepost_model.shapes import Invariant, StepProperty
from fencepost_model.terms import AtMost, Const, Equal, Holds, Less, Not, OneOf, Truth, TruthTerm, all_of, implies
from fencepost_verification.findings.evidence import (
    ClockEvidence,
    Evidence,
    MissingEvidence,
    RunEvidence,
    SharedEvidence,
    UnansweredEvidence,
)
from fencepost_verification.findings.finding import CANDIDATES, CONTRACT, TRIAL, Check, Gap
from fencepost_verification.findings.jobs import on_stage, round_on_stage
from fencepost_verification.findings.search import Question, Round, Stuck, first_answer
from fencepost_verification.findings.words import counts_differ, facts_differ

STATUS = task("status")


def _is(*statuses: str) -> TruthTerm:
    return Equal(STATUS, Const(statuses[0])) if len(statuses) == 1 else OneOf(STATUS, statuses)


def walking(question: Question, *verbs: str) -> Check:
    """The check that walks the printed table, with some of the verbs that leave it, and asks a question."""

    def check(edition: Edition) -> Evidence | None:
        world = task_stage(replace(edition.task_rules, transitions=edition.transitions), verbs=verbs)
        trace = first_answer(world, question)
        return None if trace is None else RunEvidence(world, question, trace)

    return check


def unanswered(event: str, statuses: tuple[str, ...], targets: tuple[str, ...]) -> Check:
    """The check that looks for statuses in which an event can happen and has no edge to where it must lead."""

    def check(edition: Edition) -> Evidence | None:
        return _without_edge(edition, event, statuses, targets)

    return check


def _without_edge(
    edition: Edition, event: str, statuses: tuple[str, ...], targets: tuple[str, ...]
) -> UnansweredEvidence | None:
    missing = tuple(
        status
        for status in statuses
        if status not in targets and not set(targets) & set(edition.transitions.get(status, ()))
    )
    return UnansweredEvidence(event, missing, targets, edition.transitions) if missing else None


def verb_lacks_edges(name: str, *, ends: bool = False) -> Check:
    """The check that compares a row of the verb table with the transition table."""

    def check(edition: Edition) -> Evidence | None:
        verb = next(verb for verb in edition.verbs if verb.name == name)
        targets = verb.ends if ends else verb.at_once
        event = (
            f"{name}, which ends {' or '.join(targets)}" if ends else f"{name}, which leads to {' or '.join(targets)}"
        )
        return _without_edge(edition, event, verb.legal, targets)

    return check


def rule_lacks_edges(verb: str, target: str) -> Check:
    """The check that compares the rule of v1.2 with the table beside it."""

    def check(edition: Edition) -> Evidence | None:
        return _without_edge(
            edition, f"{verb}, at once where no slot is held (v1.2)", edition.rule_at_once[verb], (target,)
        )

    return check


def edges_without_a_verb(edition: Edition) -> Evidence | None:
    """Edges that only a user's verb can mean, in statuses in which the verb's row does not allow it."""
    meant: Mapping[str, tuple[str, ...]] = {"pause": ("pausing", "paused"), "skip": ("skipped",)}
    own = {("pausing", "paused"), ("pending", "skipped"), ("blocked", "skipped")}
    legal = {verb.name: verb.legal for verb in edition.verbs}
    used = {
        f"{begin} > {end}": f"003 §2.3; {verb} is legal in {', '.join(legal[verb])}"
        for verb, targets in meant.items()
        for begin, ends in edition.transitions.items()
        for end in ends
        if end in targets and begin not in legal[verb] and (begin, end) not in own
    }
    listed = tuple(
        f"{begin} > {end}"
        for verb, targets in meant.items()
        for begin, ends in edition.transitions.items()
        for end in ends
        if end in targets and begin in legal[verb]
    )
    return MissingEvidence("edges that no row of 003 §3.1 asks for", used, listed) if used else None


def cancel_cannot_be_recorded(edition: Edition) -> Evidence | None:
    """Verbs that ask a running task for something, and the words that requested_action has."""
    asking = ("stop", "pause", "cancel")
    used = {
        verb.name: "003 §3.1"
        for verb in edition.verbs
        if verb.name in asking and "running" in verb.legal and verb.name not in edition.requested_actions
    }
    what = "verbs that requested_action cannot hold"
    return MissingEvidence(what, used, edition.requested_actions) if used else None


def missing_names(what: str, used: Mapping[str, str], listed: tuple[str, ...]) -> Evidence | None:
    """Names with their sections that a list lacks."""
    absent = {name: where for name, where in used.items() if name not in listed}
    return MissingEvidence(what, absent, listed) if absent else None


def fields_never_declared(edition: Edition) -> Evidence | None:
    """Fields of snapshots and failures that sections use and §2.4 does not declare."""
    listed = (
        *(f"snapshot.{name}" for name in edition.snapshot_fields),
        *(f"failure.{name}" for name in edition.failure_fields),
    )
    return missing_names("fields that 003 §2.4 does not declare", edition.fields_used, listed)


def errors_never_declared(edition: Edition) -> Evidence | None:
    """Errors that sections raise and §6 does not declare."""
    return missing_names("errors that 003 §6 does not declare", edition.errors_used, edition.errors)


def endings_without_a_hook(edition: Edition) -> Evidence | None:
    """Terminal statuses that no life-cycle hook speaks of."""
    heard = tuple(status for statuses in edition.hooks.values() for status in statuses)
    return missing_names(
        "endings without a hook", dict.fromkeys(TERMINAL, "003 §2.1"), tuple(s for s in heard if s in TERMINAL)
    )


def verbs_without_a_command(edition: Edition) -> Evidence | None:
    """Control verbs that the command line lacks; waiting is no control."""
    started_by = {"start": "run"}
    used = {verb.name: "003 §3.1" for verb in edition.verbs if verb.name != "wait"}
    used = {name: where for name, where in used.items() if started_by.get(name, name) not in edition.cli_words}
    return MissingEvidence("verbs without a command", used, edition.cli_words) if used else None


def store_lacks(*needs: str) -> Check:
    """The check that compares what sections say the store does with the methods that it has."""

    def check(edition: Edition) -> Evidence | None:
        listed = (
            *edition.store_methods,
            *(f"{name}({parameter})" for name, params in edition.store_methods.items() for parameter in params),
        )
        used = {edition.store_needs[need][0]: f"{edition.store_needs[need][1]}: {need}" for need in needs}
        return missing_names("what the store of 003 §5.6 cannot do", used, listed)

    return check


def old_word_means_too_much(edition: Edition) -> Evidence | None:
    """Old words that may have meant several things and are read as one of them."""
    for word, meanings in edition.old_words.items():
        alias = edition.old_aliases.get(word)
        if alias is not None and len(meanings) > 1:
            mapping = dict.fromkeys(meanings, (alias,))
            return SharedEvidence(f"{word} may have meant each of these and is read as one", alias, meanings, mapping)
    return None


def verbs_that_leave_the_end(edition: Edition) -> Evidence | None:
    """Verbs legal in a terminal status beside the two that §2.3 calls the only ones."""
    used = {
        verb.name: "003 §3.1"
        for verb in edition.verbs
        if verb.ends and set(verb.legal) & set(TERMINAL) and verb.name not in ("retry", "reset")
    }
    what = "verbs that leave a terminal status, where 003 §2.3 allows two"
    return MissingEvidence(what, used, ("retry", "reset")) if used else None


def callers_clock_decides(edition: Edition) -> Evidence | None:
    """A lease that is granted and judged by an instant which each caller brings along."""
    return ClockEvidence(30, 30) if "now" in edition.store_methods["claim_commands"] else None


# --- statements about the walk ----------------------------------------------------------------------------------------


def _invariant(name: str, statement: TruthTerm, meaning: str) -> Invariant:
    return Invariant(name, "003", (TASK,), statement, meaning)


NO_CARRIERS = Equal(task("carriers"), Const(0))
RUNS_WITH_A_CARRIER = _invariant(
    "running_with_a_carrier", implies(_is("running"), Not(NO_CARRIERS)), "A running task has a carrier."
)
ONE_CARRIER = _invariant("one_carrier", AtMost(task("carriers"), Const(1)), "At most one carrier of a task lives.")
RUNS_ON_A_SLOT = _invariant(
    "busy_on_a_slot", implies(_is("starting", "running"), Holds(task("slot"))), "What starts or runs holds a slot."
)
QUEUED_WITHOUT_SLOT = _invariant(
    "queued_without_a_slot", implies(_is("queued"), Not(Holds(task("slot")))), "What waits for a slot holds none."
)
QUEUED_UNSTARTED = _invariant(
    "queued_has_no_start",
    implies(_is("queued"), Not(Holds(task("started_at_set")))),
    "What is queued has no start from which idle time could count.",
)
ENDED_WITHOUT_CARRIER = _invariant(
    "stopped_means_stopped", implies(_is("stopped", "cancelled"), NO_CARRIERS), "What has stopped has no carrier."
)
RUNS_REPORTED = _invariant(
    "running_has_reported", implies(_is("running"), Holds(task("reported"))), "What runs has reported its start."
)
COUNTED_ONCE = _invariant(
    "attempts_are_starts", AtMost(task("attempt"), task("starts")), "No more attempts are counted than have started."
)
START_TIMEOUT_ANSWERED = Stuck(
    "start_time_out_is_answered",
    (TASK,),
    all_of(_is("paused"), Less(Const(0), task("carriers")), Not(Holds(task("reported")))),
    ("paused > failed", "paused > retry_wait", "paused > stopping", "paused > lost"),
    "A carrier that was paused before it reported its start, and never does, is noticed.",
)
QUEUED_CAN_START = Stuck(
    "queued_can_start",
    (TASK,),
    _is("queued"),
    ("queued > starting", "queued > failed"),
    "A queued task can start, or ends because its attempts are spent.",
)
NO_LATE_VERDICT = StepProperty(
    "no_late_verdict",
    "003",
    (TASK,),
    Truth(False),
    "The verdict of an earlier carrier is not taken for the new attempt's.",
    of="an earlier carrier returns",
)
RESET_AFTER_THE_END = StepProperty(
    "reset_when_no_carrier_lives", "003", (TASK,), NO_CARRIERS, "Reset waits until no carrier lives.", of="reset"
)
FORCED_RUNS = StepProperty(
    "forced_running_has_a_carrier",
    "003",
    (TASK,),
    Not(NO_CARRIERS),
    "A task is forced to running only while a carrier of it lives.",
    of="force_transition(running)",
)

# --- statements about the small machines ------------------------------------------------------------------------------

COMMAND = control.command


def _of_command(name: str, statement: TruthTerm, meaning: str) -> Invariant:
    return Invariant(name, "003 §5.6", (control.COMMAND,), statement, meaning)


EXECUTED_ONCE = _of_command(
    "executed_once", AtMost(COMMAND("executions"), Const(1)), "A command takes effect at most once."
)
COMPLETED_BY_CLAIMER = StepProperty(
    "completed_by_its_claimer",
    "003 §5.6",
    (control.COMMAND,),
    Equal(COMMAND("claimer"), Const("a")),
    "Nobody completes a command that another process has claimed since.",
    of="a_completes",
)
CLAIMED_BY_SUPERVISOR = _of_command(
    "claimed_by_who_can_execute",
    implies(Equal(COMMAND("status"), Const("claimed")), Equal(COMMAND("claimer"), Const("a"))),
    "A command is claimed by the process that holds its task.",
)
ORPHANS_COMMAND = Round(
    "an_orphans_command",
    (control.COMMAND,),
    Not(Equal(COMMAND("status"), Const("completed"))),
    ("b_claims", "lease_runs_out"),
    "A command for a task whose process is dead is claimed by others who cannot execute it, and never answered.",
)
LOST_STAYS_LOST = Invariant(
    "lost_is_not_renewed",
    "003 §12",
    (control.TASK,),
    implies(Equal(control.task("status"), Const("lost")), Not(Holds(control.task("lease_alive")))),
    "A task declared lost has no supervisor whose lease is renewed.",
)
HEALTHY_NOT_LOST = Invariant(
    "healthy_is_not_lost",
    "003 §12",
    (control.TASK,),
    implies(Equal(control.task("status"), Const("lost")), Not(Holds(control.task("carrier_lives")))),
    "A task whose carrier lives and works is not declared lost.",
)
TRAIL_COMPLETE = Invariant(
    "trail_is_complete",
    "003 §1, §5.6",
    (control.TASK,),
    implies(Not(Holds(control.task("owes"))), Equal(control.task("version"), control.task("history"))),
    "When nothing is under way every version of a task stands in its audit trail.",
)
STORE_CATCHES_UP = Stuck(
    "store_catches_up",
    (control.TASK,),
    all_of(
        Holds(control.task("reachable")),
        Less(control.task("stored_version"), control.task("memory_version")),
    ),
    ("transition, saved", "catch_up"),
    "A store that is back learns what it missed: some save is accepted.",
)
ONE_NODE_WORKS = Invariant(
    "one_node_works",
    "003 §15.4",
    (control.BUCKET,),
    Not(all_of(Holds(control.bucket("a_works")), Holds(control.bucket("b_works")))),
    "At most one node works on a bucket.",
)
ORPHAN_GOES_ON = Stuck(
    "orphan_goes_on",
    (control.TASK,),
    all_of(Equal(control.task("status"), Const("running")), Not(Holds(control.task("supervised")))),
    ("reconcile (fail)", "reconcile (requeue)", "reconcile (manual)"),
    "An orphan is ended or run again by somebody.",
)
_DOWN = tuple(
    f"down is {outcome} because up is {ended}" for ended in TERMINAL for outcome in ("queued", "cancelled", "skipped")
)
DOWNSTREAM_GOES_ON = Stuck(
    "downstream_goes_on",
    (control.NODES,),
    all_of(Equal(control.node("down"), Const("blocked")), OneOf(control.node("up"), TERMINAL)),
    _DOWN,
    "A node whose upstream has ended is released, cancelled or skipped.",
)
SKIPPED_COMES_BACK = Stuck(
    "repaired_upstream_revives",
    (control.NODES,),
    all_of(
        Equal(control.node("up"), Const("succeeded")),
        Equal(control.node("down"), Const("skipped")),
    ),
    ("revive down",),
    "A node skipped because its upstream failed runs when the upstream has been repaired.",
)
UPSTREAM_KEPT = Invariant(
    "upstream_is_kept",
    "003 §5.6",
    (control.NODES,),
    implies(OneOf(control.node("down"), ("blocked", "queued")), Holds(control.node("up_kept"))),
    "The record of a node is kept while another still needs its result.",
)

GAPS: tuple[Gap, ...] = (
    Gap(
        "Stop goes through stopping, from where there is no such edge",
        ("003 §3.1", "003 §2.3"),
        "The verb table leads stop from every live status into stopping; the table has no edge there from five of "
        "them.",
        verb_lacks_edges("stop"),
        "§6 verbs",
        "§6: act at once where no slot is held",
        23,
        CANDIDATES,
    ),
    Gap(
        "Pause goes through pausing from queued, where there is no such edge",
        ("003 §3.1", "003 §2.3 v1.2"),
        "The verb table pauses a queued task through pausing, an edge that v1.2 took out.",
        verb_lacks_edges("pause"),
        "§6 verbs",
        "§6",
        23,
        CANDIDATES,
    ),
    Gap(
        "Pausing at once has no edge from pending and blocked",
        ("003 §2.3 v1.2", "003 §3.3"),
        "v1.2 lets pause take effect at once in five statuses, and a pipeline's pause reaches all live tasks; from "
        "pending and blocked the table has no edge to paused.",
        rule_lacks_edges("pause", "paused"),
        "§6",
        "§6: a pause of what has not started is recorded",
        23,
        CANDIDATES,
    ),
    Gap(
        "Cancel is promised from every live status",
        ("003 §3.1", "003 §2.3"),
        "Cancel is legal in any live status and ends cancelled; starting, running, pausing and stopping have no edge.",
        verb_lacks_edges("cancel", ends=True),
        "§6 stop_cause",
        "§6",
        23,
        CANDIDATES,
    ),
    Gap(
        "Skip is promised from a status that nothing leaves",
        ("003 §3.1", "003 §2.3"),
        "Skip is legal in failed, which is terminal and has no edge.",
        verb_lacks_edges("skip", ends=True),
        "D-13",
        "§6 revivals",
        23,
        CANDIDATES,
    ),
    Gap(
        "Edges that no verb asks for",
        ("003 §2.3", "003 §3.1"),
        "A starting or waiting task may be paused and a queued one skipped by the table; the rows of the verbs do not "
        "list these statuses.",
        edges_without_a_verb,
        "§6",
        "§6",
        23,
        CANDIDATES,
    ),
    Gap(
        "Resume: queued, or running",
        ("003 §3.1", "003 §2.3 v1.3", "003 §11.2"),
        "The verb table resumes into queued at once, v1.3 resumes into running what was paused in place.",
        facts_differ("a task paused while it ran resumes into"),
        "D-10",
        "§6",
        23,
        CANDIDATES,
    ),
    Gap(
        "Resuming into the queue with the slot in hand",
        ("003 §3.1", "003 §2.3 v1.3"),
        "A task paused in place keeps its slot and its carrier; resumed into queued, as the verb table has it, it "
        "waits "
        "for a second slot and is then launched again.",
        walking(QUEUED_WITHOUT_SLOT),
        "D-10",
        "§6",
        23,
        CANDIDATES,
    ),
    Gap(
        "A start time-out is lost by pausing",
        ("003 §2.3", "003 §2.4"),
        "A starting task may be paused before its carrier has reported; from paused no edge answers the start "
        "time-out.",
        walking(START_TIMEOUT_ANSWERED),
        "§6 table",
        "§6: a pause of what has not started is recorded",
        24,
        CANDIDATES,
    ),
    Gap(
        "Running with nothing that runs",
        ("003 §2.3 v1.3",),
        "mark_running asks for started_at; one left from an earlier attempt passes, and a task that was paused while "
        "it "
        "waited for its retry is running without a carrier.",
        walking(RUNS_WITH_A_CARRIER),
        "§6 guards",
        "§6: started_at belongs to the attempt",
        25,
        CANDIDATES,
    ),
    Gap(
        "A retry begins while the old thread lives",
        ("003 §2.4", "003 §5.4", "003 §5.5"),
        "An idle or attempt time-out leads to retry_wait though the thread cannot be killed: the next attempt makes "
        "two.",
        walking(ONE_CARRIER, "time-outs"),
        "§6",
        "§6: no new attempt while an old carrier lives",
        26,
        CANDIDATES,
    ),
    Gap(
        "The old thread's verdict is taken for the new attempt's",
        ("003 §5.2", "003 §13.5", "003 §13.6"),
        "A verdict carries no attempt number: a thread that was given up returns, and the running attempt has "
        "succeeded.",
        walking(NO_LATE_VERDICT, "time-outs", "late"),
        "§6",
        "§6: every carrier event carries its attempt number",
        26,
        CANDIDATES,
    ),
    Gap(
        "A stuck task has three verdicts",
        ("003 §2.1", "003 §3.3", "003 §5.5", "003 §8"),
        "Being stuck is a failure that may be retried, or lost, or an orphan that fails by default.",
        facts_differ("a task that is stuck ends"),
        "§6",
        "§6 honest ends",
        26,
        CANDIDATES,
    ),
    Gap(
        "Queued for ever with spent attempts",
        ("003 §2.3", "003 §3.1"),
        "mark_starting refuses with AttemptsExhausted; queued has no edge to failed.",
        walking(QUEUED_CAN_START, "retry"),
        "§6 table",
        "§6: queued -> failed",
        27,
        CANDIDATES,
    ),
    Gap(
        "A retry passes by the slots",
        ("003 §2.3", "003 §13.5"),
        "retry_wait leads straight to starting, and max_parallel is enforced where tasks leave the queue.",
        walking(RUNS_ON_A_SLOT),
        "§6",
        "§6: retry_wait re-enters through the queue",
        27,
        CANDIDATES,
    ),
    Gap(
        "A retry counts twice",
        ("003 §3.1", "003 §2.3"),
        "retry() raises the attempt, and mark_starting counts attempt + 1 again: one of the attempts never starts.",
        walking(COUNTED_ONCE, "retry"),
        "D-11",
        "§6: attempts count once, at start",
        None,
        CONTRACT,
    ),
    Gap(
        "Stopping cannot tell who asked",
        ("003 §2.4", "003 §2.1", "003 §3.1"),
        "Stopped and cancelled are told apart by who is responsible; requested_action holds stop and pause, no cancel.",
        cancel_cannot_be_recorded,
        "§6",
        "§6: requested_action has cancel too; stop_cause",
        28,
        CANDIDATES,
    ),
    Gap(
        "A command is executed twice",
        ("003 §5.6",),
        "A lease that runs out while its claimer works lets a second process claim and execute the same command.",
        on_stage("commands", EXECUTED_ONCE),
        "§6 Commands",
        "§6: effect at most once per command id",
        29,
        CANDIDATES,
    ),
    Gap(
        "A command is claimed by who cannot execute it",
        ("003 §5.6",),
        "claim_commands has no owner filter, yet only the process that holds the task can execute its commands.",
        on_stage("commands", CLAIMED_BY_SUPERVISOR),
        "§6 Commands",
        "§6: owner-filtered claim",
        29,
        CANDIDATES,
    ),
    Gap(
        "A stale claimer completes another's command",
        ("003 §5.6",),
        "complete_command is told the command and the time, not who completes: the earlier claimer closes what another "
        "has claimed and not executed.",
        on_stage("commands", COMPLETED_BY_CLAIMER),
        "§6 Commands",
        "§6: lease and fence",
        29,
        CANDIDATES,
    ),
    Gap(
        "An orphan's command is never answered",
        ("003 §5.6", "003 §14.1"),
        "A command for a task whose process is dead is claimed, cannot be executed, falls free, and so on.",
        round_on_stage("commands of an orphan", ORPHANS_COMMAND),
        "§6 Commands",
        "§6: answered unanswered",
        29,
        CANDIDATES,
    ),
    Gap(
        "A touch renews what has been declared lost",
        ("003 §5.6", "003 §12"),
        "touch looks at no version: the supervisor of a task that was reconciled renews its lease and never learns.",
        on_stage("supervisor", LOST_STAYS_LOST, interleaved=True),
        "D-27",
        "§6: the lease moves with the version",
        30,
        CANDIDATES,
    ),
    Gap(
        "A status without its audit record",
        ("003 §5.6", "003 §1"),
        "save and append are two calls; a process that dies between them leaves a version that no history explains.",
        on_stage("audit", TRAIL_COMPLETE, interleaved=True),
        "§2 journal",
        "§2: one record in the same transaction",
        30,
        CANDIDATES,
    ),
    Gap(
        "A healthy task is lost when its store is away",
        ("003 §12",),
        "The store's trouble never fails a task, but the lease is kept in the store: out of reach for longer than the "
        "lease, the task is declared lost while it works.",
        on_stage("supervisor", HEALTHY_NOT_LOST),
        "D-27",
        "§6",
        31,
        CANDIDATES,
    ),
    Gap(
        "One writer, and three",
        ("003 §5.6", "003 §3.1", "003 §5.5"),
        "Each task has one writer and a conflict is a fault; reconcile and force_transition write tasks of others.",
        counts_differ("writers of a task"),
        "D-27",
        "§6",
        31,
        CANDIDATES,
    ),
    Gap(
        "An orphan is told by its heartbeat, or by a lease",
        ("003 §5.5", "003 §12"),
        "Section 5.5 compares the heartbeat with an idle time-out that is optional, §12 asks for the supervisor's "
        "lease.",
        facts_differ("an orphan is told by"),
        "D-27",
        "§6",
        32,
        CANDIDATES,
    ),
    Gap(
        "The policy manual leaves an orphan as it is",
        ("003 §5.5", "003 §7.2 P5"),
        "Under manual nothing is bound to move an orphan; the acceptance of P5 wants every policy to end in a "
        "terminal.",
        on_stage("orphans", ORPHAN_GOES_ON),
        "D-23",
        "§3 no limbo",
        32,
        CANDIDATES,
    ),
    Gap(
        "What was skipped downstream stays skipped",
        ("003 §2.2", "003 §3.3"),
        "A failed node can be retried and succeed; the node skipped because of it is not among the revivable.",
        on_stage("pipeline", SKIPPED_COMES_BACK),
        "§6 pipelines",
        "§6: a repaired upstream revives",
        32,
        CANDIDATES,
    ),
    Gap(
        "Pruning drops what another node still needs",
        ("003 §5.6", "003 §14.4"),
        "prune is told how many terminal tasks to keep and nothing else.",
        on_stage("pipeline", UPSTREAM_KEPT),
        "§6 pipelines",
        "§6: prune never drops an upstream still needed",
        32,
        CANDIDATES,
    ),
    Gap(
        "A reset while the task runs",
        ("003 §3.1",),
        "reset is legal in any status: the task is pending again while its carrier lives, and start makes a second "
        "one.",
        walking(RESET_AFTER_THE_END, "reset"),
        "D-13",
        "§6: reset only when no carrier lives",
        33,
        CANDIDATES,
    ),
    Gap(
        "A history that is append-only, and cleared",
        ("003 §2.2", "003 §3.1"),
        "Attempts are only ever added to; reset clears them.",
        facts_differ("what becomes of the attempts already made"),
        "D-13",
        "§6: history append-only",
        33,
        CANDIDATES,
    ),
    Gap(
        "Two nodes work on one bucket",
        ("003 §15.4",),
        "Ownership is a primary key and a lease, 'no lock needed'; a frozen owner thaws after its lease and goes on.",
        on_stage("buckets", ONE_NODE_WORKS),
        "§6 buckets",
        "§6: fenced by generation",
        34,
        CANDIDATES,
    ),
    Gap(
        "Paused holds nothing, or its slot",
        ("003 §2.1", "003 §2.3", "003 §11.2"),
        "Paused is said to consume nothing and to count as unoccupied; v1.3 and §11.2 have it keep its slot.",
        facts_differ("a paused task holds resources"),
        "D-10",
        "§6",
        None,
        CONTRACT,
    ),
    Gap(
        "Pausing does not hear its task end",
        ("003 §2.3",),
        "A pausing task may return or raise before it comes to rest; there is no edge to succeeded or retry_wait.",
        unanswered("the task returns", ("pausing",), ("succeeded",)),
        "§6 table",
        "§6",
        None,
        CONTRACT,
    ),
    Gap(
        "Pausing does not hear a retryable error",
        ("003 §2.3", "003 §5.5"),
        "An attempt that raises what its policy retries goes to retry_wait; from pausing there is no such edge.",
        unanswered("the task raises what is retried", ("starting", "running", "pausing"), ("retry_wait",)),
        "§6 table",
        "§6",
        None,
        CONTRACT,
    ),
    Gap(
        "Paused in place does not hear its carrier die",
        ("003 §2.3", "003 §5.2"),
        "The carrier of a task paused in place may die like any other; from paused no edge leads to failed, retry_wait "
        "or lost.",
        unanswered(
            "the carrier died",
            ("starting", "running", "pausing", "paused", "stopping"),
            ("failed", "retry_wait", "lost"),
        ),
        "§6 table",
        "§6",
        None,
        CONTRACT,
    ),
    Gap(
        "What waits does not hear its supervisor die",
        ("003 §5.5", "003 §2.3"),
        "reconcile takes every task that is not terminal and fails it or marks it lost; four statuses have neither "
        "edge.",
        unanswered("the supervisor died", LIVE, ("failed", "lost")),
        "§6 table",
        "§6",
        None,
        CONTRACT,
    ),
    Gap(
        "Stopped, with the thread still there",
        ("003 §2.3 v1.2", "003 §1"),
        "A task paused in place is stopped at once, as if it held nothing; its thread sits in checkpoint().",
        walking(ENDED_WITHOUT_CARRIER),
        "D-10",
        "§6: cancel and stop go through stopping there too",
        None,
        TRIAL,
    ),
    Gap(
        "Running before the start was reported",
        ("003 §2.3", "003 §3.1"),
        "A pause asked of a starting task that is not quiet in time rolls back to running, though nothing has started.",
        walking(RUNS_REPORTED),
        "§6 guards",
        "§6: abort_pause back to what was paused",
        None,
        TRIAL,
    ),
    Gap(
        "A command's lease is judged by the caller's clock",
        ("003 §5.6", "003 §15.4"),
        "claim_commands and claim_buckets are given the instant by their caller: a fast clock takes a lease that "
        "lives.",
        callers_clock_decides,
        "D-14",
        "§7: the store's clock",
        None,
        CONTRACT,
    ),
    # on no list
    Gap(
        "A store that was away never catches up",
        ("003 §12", "003 §5.6", "003 §4.1"),
        "Trouble with the store is noted and the task goes on; every later save names the version before it, which the "
        "store never saw, and is refused as a conflict: the end of the task is not stored.",
        on_stage("outage", STORE_CATCHES_UP, interleaved=False),
        "D-27",
        "§8: what was not saved is saved before the next version",
    ),
    Gap(
        "Idle time counts in the queue after all",
        ("003 §12", "003 §2.3 v1.2"),
        "Idle is mended to count only where started_at is set; mark_starting sets it and no edge clears it, so that "
        "from "
        "the second attempt on a queued task is again taken for stuck.",
        walking(QUEUED_UNSTARTED),
        "D-12, §6 guards",
        "§6: started_at belongs to the attempt",
    ),
    Gap(
        "A task is forced to run with nothing that runs it",
        ("003 §3.1", "003 §2.3"),
        "force_transition leads anywhere and asks for actor and reason; a failed task, whose started_at satisfies "
        "validate(), is set running without a slot, a carrier or a supervisor.",
        walking(FORCED_RUNS, "force"),
        "§6: force leads to terminal statuses",
        "§6",
    ),
    Gap(
        "Two ways to leave the end, and four",
        ("003 §2.3", "003 §3.1"),
        "Section 2.3 calls retry and reset the only ways out of a terminal status; skip and force_transition leave "
        "it too.",
        verbs_that_leave_the_end,
        "D-13",
        "§6 revivals",
        None,
        CONTRACT,
    ),
    Gap(
        "Downstream of what was stopped, skipped or lost",
        ("003 §2.1", "003 §3.3", "003 §12"),
        "Rules are printed for an upstream that succeeded, failed or was cancelled. A stopped one is 'no error', and "
        "nothing printed releases, cancels or skips the node that waits for it; join modes are named and not listed.",
        on_stage("pipeline", DOWNSTREAM_GOES_ON),
        "§6 pipelines",
        "§6 pipelines",
    ),
    Gap(
        "A policy that runs orphans again, without their arguments",
        ("003 §5.5", "003 §12"),
        "on_orphan offers requeue; §12 only marks and never runs again, since the store holds no arguments.",
        facts_differ("reconcile may run an orphan again"),
        "D-23",
        "§6",
    ),
    Gap(
        "A killed process leaves a task lost, or failed",
        ("003 §2.1", "003 §5.5", "003 §7.1 P5"),
        "Lost is the honest word for a vanished carrier and the acceptance of P5; the default of on_orphan is fail.",
        facts_differ("a task whose process has died ends"),
        "§6 honest ends",
        "§6",
    ),
    Gap(
        "The store cannot renew the lease that reconcile asks for",
        ("003 §12", "003 §5.6"),
        "The supervisor's lease is renewed through touch, which takes progress and heartbeat only.",
        store_lacks("renew the supervisor's lease", "write progress and heartbeat beside the version"),
        "D-27",
        "§6: the lease moves with the version",
    ),
    Gap(
        "Attempts and hand-backs have no method",
        ("003 §2.2", "003 §3.4", "003 §7.2 P5", "003 §12", "003 §5.6"),
        "Attempts are records, only added to, and can be queried; claimed commands can be handed back. The protocol "
        "has "
        "no method for either.",
        store_lacks("keep attempts, append-only", "read attempts", "hand a claimed command back"),
        "§4 Attempt",
        "§4, §6 Commands",
    ),
    Gap(
        "Fields that the snapshot does not have",
        ("003 §2.4", "003 §3.1", "003 §12", "003 §13.10", "003 §15.4"),
        "Marks, buckets, leases, process numbers and exit codes are read and written by other sections; §2.4 declares "
        "none of them.",
        fields_never_declared,
        "§1",
        "§6",
    ),
    Gap(
        "A process task has no word for its executor",
        ("003 §2.4", "003 §13.2"),
        "snapshot.executor is inline or thread, and there are three executors.",
        facts_differ("the words of TaskSnapshot.executor"),
        "D-24",
        "§6",
    ),
    Gap(
        "Executors that run outside commands: decided, and not made",
        ("003 §10 D1", "003 §5.3", "003 §13.2"),
        "D1 settles that executors cover long-running outside commands too; §5.3 and §13.2 have no such executor.",
        facts_differ("an executor runs outside commands"),
        "D-17",
        "§6",
    ),
    Gap(
        "An error that is raised and not declared",
        ("003 §2.3", "003 §6"),
        "AttemptsExhausted guards mark_starting; the list of errors lacks it.",
        errors_never_declared,
        "§6: start needs attempt + 1 <= max_attempts",
        "§6",
    ),
    Gap(
        "Three of six endings have no hook",
        ("003 §7.2 P4", "003 §2.1"),
        "Hooks speak of success, failure and cancellation; stopped, skipped and lost end without any.",
        endings_without_a_hook,
        "§2 journal",
        "§6",
    ),
    Gap(
        "The only way out is not on the command line",
        ("003 §3.1", "003 §5.1", "003 §7.1 P6"),
        "force_transition is called the only emergency exit; the commands printed (nine of eleven) lack it, and "
        "cancel, "
        "skip and reset as well.",
        verbs_without_a_command,
        "§6",
        "§6",
    ),
    Gap(
        "Retry is a verb, an example, a command, and not there yet",
        ("003 §3.1", "003 §3.2", "003 §7.1 P6", "003 §14.4"),
        "Controller.retry is specified, shown and has a command; the known limits say that it is not implemented.",
        facts_differ("a failed task can be retried through the controller"),
        "D-13",
        "§6 revivals",
    ),
    Gap(
        "Queries across processes: done, and still to come",
        ("003 §12", "003 §14.4"),
        "Progress reports that queries read through to the store, visible across processes; the known limits deny it.",
        facts_differ("queries see the tasks of other processes"),
        "D-17",
        "§6",
    ),
    Gap(
        "An old word is read as success",
        ("003 §0 row 2", "003 §2.1"),
        "FINISHED is split because it could not tell success from any other end; its alias reads every old record as "
        "succeeded.",
        old_word_means_too_much,
        "§1: aliases are registered",
        "§1",
    ),
)
"""The gaps of this file, in the order in which they are numbered."""
