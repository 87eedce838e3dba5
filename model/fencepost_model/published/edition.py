"""One edition of the sources: every printed table in one record, so that a check is a function of what is printed.

``PUBLISHED`` is the edition as printed. An edition in which something is mended is made with ``dataclasses.replace``;
a check that still finds its gap there does not look at the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fencepost_model.published import batch, control, job, tables, task
from fencepost_model.worlds import World


def _stages() -> Mapping[str, World]:
    return {
        "batch": batch.batch_stage(),
        "two batches": batch.two_batches_stage(),
        "hook": batch.hook_stage(),
        "shared job": batch.shared_job_stage(),
        "observer": batch.observer_stage(),
        "projection": batch.projection_stage(),
        "slot": batch.slot_stage(),
        "artifact": batch.artifact_stage(),
        "commands": control.command_stage(),
        "commands of an orphan": control.command_stage(owner_lives=False),
        "supervisor": control.supervisor_stage(),
        "audit": control.audit_stage(),
        "outage": control.outage_stage(),
        "buckets": control.bucket_stage(),
        "pipeline": control.pipeline_stage(),
        "orphans": control.orphan_stage(task.ORPHAN_POLICIES),
    }


@dataclass(frozen=True)
class Edition:
    """What the three sources print. Every field defaults to the fixture of the same name."""

    # 000 and 001
    facts: Mapping[str, tuple[tables.Cited, ...]] = field(default_factory=lambda: tables.FACTS)
    counts: tuple[tables.StatedCount, ...] = tables.COUNTS
    vocabulary: tuple[tables.StandardName, ...] = tables.VOCABULARY
    columns: Mapping[str, Mapping[str, str | None]] = field(default_factory=lambda: tables.COLUMNS)
    further_columns: tuple[tables.Cited, ...] = tables.FURTHER_COLUMNS
    patterns: tuple[tables.PrintedPattern, ...] = tables.PATTERNS
    examples: Mapping[str, str] = field(default_factory=lambda: tables.EXAMPLES)
    other_codes: Mapping[str, str] = field(default_factory=lambda: tables.OTHER_CODES)
    retryable_families: tuple[str, ...] = tables.RETRYABLE_FAMILIES
    listed_retryable: bool = True
    """000 §4, row INFRA: retryable only if the code is in RETRYABLE_ERROR_CODES"""
    backed_off_families: tuple[str, ...] = tables.BACKED_OFF_FAMILIES
    leases: tuple[tables.LeaseRow, ...] = tables.LEASES
    times: Mapping[str, tables.Cited] = field(default_factory=lambda: tables.TIMES)
    ratio: int = tables.RATIO
    screenshot_beat_divisor: int = tables.SCREENSHOT_BEAT_DIVISOR
    diagram_edges: frozenset[tuple[str, str, str]] = tables.DIAGRAM_EDGES
    text_edges: Mapping[tuple[str, str, str], str] = field(default_factory=lambda: tables.TEXT_EDGES)
    named_without_list: Mapping[str, tuple[str, tuple[str, ...]]] = field(
        default_factory=lambda: tables.NAMED_WITHOUT_LIST
    )
    plan_needs: tuple[tables.Cited, ...] = tables.PLAN_NEEDS
    plan_removed: tuple[tables.Cited, ...] = tables.PLAN_REMOVED
    readings: Mapping[str, job.Reading] = field(default_factory=lambda: job.READINGS)
    stages: Mapping[str, World] = field(default_factory=_stages)
    # 003
    transitions: task.Transitions = field(default_factory=lambda: task.TRANSITIONS)
    task_rules: task.TaskRules = task.PRINTED_RULES
    verbs: tuple[task.Verb, ...] = task.VERBS
    rule_at_once: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: task.RULE_AT_ONCE)
    revivable: tuple[str, ...] = task.REVIVABLE
    requested_actions: tuple[str, ...] = task.REQUESTED_ACTIONS
    snapshot_fields: tuple[str, ...] = task.SNAPSHOT_FIELDS
    failure_fields: tuple[str, ...] = task.FAILURE_FIELDS
    fields_used: Mapping[str, str] = field(default_factory=lambda: task.FIELDS_USED)
    errors: tuple[str, ...] = task.ERRORS
    errors_used: Mapping[str, str] = field(default_factory=lambda: task.ERRORS_USED)
    hooks: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: task.HOOKS)
    store_methods: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: tables.STORE_METHODS)
    store_needs: Mapping[str, tuple[str, str]] = field(default_factory=lambda: task.STORE_NEEDS)
    cli_words: tuple[str, ...] = tables.CLI_WORDS
    old_words: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: task.OLD_WORDS)
    old_aliases: Mapping[str, str] = field(default_factory=lambda: task.OLD_ALIASES)


PUBLISHED = Edition()
"""The sources as they stand."""
