"""What the other chapters of the specification are asked about each finding.

A gap of the job is settled beside its check, since the Job contract is asked the very same question. Here stand the
statements of the other machines that take a finding's place, by its title.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fencepost_verification.evidence import Verdict
from fencepost_verification.findings.settling import (
    beats_bound,
    chapter_answers,
    chapter_keeps,
    render_bound,
    words_have_columns,
)

Settling = tuple[str, Callable[[], Verdict]]


def _keeps(chapter: str, *names: str) -> Settling:
    return f"chapter {chapter} keeps {', '.join(names)}", chapter_keeps(chapter, *names)


def _answers(event: str, *statuses: str) -> Settling:
    return f"chapter task answers {event} in {', '.join(statuses)}", chapter_answers("task", event, *statuses)


_WAITING = ("pending", "blocked", "queued", "paused", "retry_wait")
_BUSY = ("starting", "running", "pausing")

SETTLED: Mapping[str, Settling] = {
    "Beats that write while idle": _keeps("run", "idle_owner_writes_nothing"),
    "One bad row stops a queue for ever": _keeps("hook", "culprit_is_set_back", "no_row_comes_back_within_a_pass"),
    "A render outlives its cancelled job": _keeps("admission", "child_in_time", "no_child_left_behind"),
    "A batch is resumed without end": _keeps("run", "claim_resuming_lowers_resume_budget", "ready_has_budget"),
    "Three terminals, or four, or five": _keeps("job", "INV-7", "terminal_frozen"),
    "One group's cancel ends another group's work": _keeps("group", "not_cancelled_over_another"),
    "INV-1 breaks by the passing of time": _keeps("run", "INV-1", "INV-1_lease_at_commit"),
    "Two ready batches of a run block each other": _keeps("run", "INV-2", "none_collecting_while_resuming"),
    "A cancelled pending job leaves its task behind": _keeps("attempt", "INV-3", "INV-3_nobody_else"),
    "INV-4 counts rows, not renders": _keeps("slot", "INV-4", "single_render", "expiry_keeps_the_place"),
    "A late upload passes the attempt fence": _keeps("attempt", "INV-5", "INV-5_no_other_way"),
    "A back-off with nowhere to be written": _keeps("job", "back_off_kept"),
    "One column for the heartbeat and the start": (
        "profiles share no column that is not registered",
        words_have_columns("share a column"),
    ),
    "Required fields without a column": (
        "every required field has a column, or a decision adds it",
        words_have_columns("every required field has a column"),
    ),
    "The word of a successful external task or batch": (
        "every word of a profile has one meaning",
        words_have_columns("every word has one meaning"),
    ),
    "A render's worker dies, and no second attempt ever starts in time": (
        "the bound of §7 finds the same",
        render_bound,
    ),
    "Three periods do not survive two lost beats": ("the bound of §7, for every queue", beats_bound),
    # the task
    "Stop goes through stopping, from where there is no such edge": _answers("stop", *_WAITING, *_BUSY),
    "Pause goes through pausing from queued, where there is no such edge": _answers("pause", "queued"),
    "Pausing at once has no edge from pending and blocked": _answers("pause", "pending", "blocked"),
    "Cancel is promised from every live status": _answers("cancel", *_WAITING, *_BUSY, "stopping"),
    "Skip is promised from a status that nothing leaves": _answers("skip_failed", "failed"),
    "Edges that no verb asks for": _answers("pause", "starting", "retry_wait"),
    "Resume: queued, or running": _keeps("task", "resume_returns"),
    "Resuming into the queue with the slot in hand": _keeps("task", "resume_returns", "carrier_has_a_place"),
    "A start time-out is lost by pausing": _keeps("task", "started_at_of_this_attempt", "pause_is_obeyed"),
    "Running with nothing that runs": _keeps("task", "running_has_started", "started_at_of_this_attempt"),
    "A retry begins while the old thread lives": _keeps("task", "nothing_starts_beside_an_old_carrier"),
    "The old thread's verdict is taken for the new attempt's": _keeps("task", "only_the_current_carrier_speaks"),
    "A stuck task has three verdicts": _keeps("task", "idle_timeout_goes_through_stopping", "lost_only_where_unknown"),
    "Queued for ever with spent attempts": _keeps("task", "waiting_has_budget"),
    "A retry passes by the slots": _keeps("task", "starts_from_the_queue"),
    "A retry counts twice": _keeps("task", "attempt_counted_once"),
    "Stopping cannot tell who asked": _keeps("task", "stop_cause_exactly_when_stopping", "stops_as_asked"),
    "A reset while the task runs": _keeps("task", "reset_waits_for_the_old_carrier"),
    "A history that is append-only, and cleared": _keeps("task", "history_counts"),
    "Paused holds nothing, or its slot": _keeps("task", "carrier_has_a_place"),
    "Pausing does not hear its task end": _answers("returned", "pausing"),
    "Pausing does not hear a retryable error": _answers("raised_retry", "pausing"),
    "Paused in place does not hear its carrier die": _answers("died_retry", "paused"),
    "What waits does not hear its supervisor die": _answers("supervisor_lost", *_WAITING),
    "Stopped, with the thread still there": _keeps("task", "nothing_but_lost_ends_beside_a_carrier"),
    "Running before the start was reported": _keeps("task", "running_has_started", "abort_pause_only_from_pausing"),
    "Idle time counts in the queue after all": _keeps("task", "started_at_of_this_attempt"),
    "The policy manual leaves an orphan as it is": _keeps("task", "orphans_end_honestly"),
    # commands and pipelines
    "A command is executed twice": _keeps("command", "effect_at_most_once"),
    "A command is claimed by who cannot execute it": _keeps("command", "claimed_by_the_supervisor"),
    "A stale claimer completes another's command": _keeps("command", "only_a_live_delivery_may_complete"),
    "An orphan's command is never answered": _keeps("command", "ended_task_answers", "unanswered_had_no_effect"),
    "A touch renews what has been declared lost": _keeps("command", "version_moves_with_the_lease"),
    "A healthy task is lost when its store is away": _keeps("command", "live_supervisor_left_alone"),
    "One writer, and three": _keeps("command", "only_the_supervisor_acts", "one_supervisor"),
    "What was skipped downstream stays skipped": _keeps(
        "pipeline", "repaired_on_its_own_account", "told_anew_after_a_repair"
    ),
    "Pruning drops what another node still needs": _keeps("pipeline", "needed_output_is_kept"),
    "Downstream of what was stopped, skipped or lost": _keeps("pipeline", "given_up_only_when_impossible"),
}
"""What is asked, in words, and the check that asks it."""
