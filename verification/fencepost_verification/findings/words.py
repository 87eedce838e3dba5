"""Gaps of words, numbers, columns, counts and times: what the sources state twice and differently, or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

from fencepost_model.error_codes import Place
from fencepost_model.published.edition import Edition
from fencepost_model.published.tables import (
    SCREENSHOT_BEAT_CAP,
    Cited,
    PrintedPattern,
)
from fencepost_verification.findings.evidence import (
    BeatEvidence,
    CodeEvidence,
    ContradictionEvidence,
    CountEvidence,
    EdgeEvidence,
    Evidence,
    IdleWriteEvidence,
    MissingEvidence,
    OrderEvidence,
    RatioEvidence,
    RetryEvidence,
    SharedEvidence,
    WaitEvidence,
)
from fencepost_verification.findings.finding import CANDIDATES, CONTRACT, Check, Gap
from fencepost_verification.findings.settling import codes_have_one_family

# --- checks that several gaps share ---------------------------------------------------------------------------------


def differing(edition: Edition) -> dict[str, tuple[Cited, ...]]:
    """Every subject of which two sections state different values."""
    return {
        subject: cited
        for subject, cited in edition.facts.items()
        if len({(type(said.value), said.value) for said in cited}) > 1
    }


def facts_differ(*subjects: str) -> Check:
    """The check that compares what sections state about each of the subjects; all of them must differ."""

    def check(edition: Edition) -> Evidence | None:
        found = {subject: cited for subject, cited in differing(edition).items() if subject in subjects}
        return ContradictionEvidence(found) if found else None

    return check


def miscounted(edition: Edition) -> tuple[str, ...]:
    """The subjects whose stated number is not that of the list."""
    return tuple(count.subject for count in edition.counts if count.stated != len(count.items))


def counts_differ(*subjects: str) -> Check:
    """The check that counts lists and compares with the number that a text states."""

    def check(edition: Edition) -> Evidence | None:
        wrong = miscounted(edition)
        counts = tuple(count for count in edition.counts if count.subject in subjects and count.subject in wrong)
        return CountEvidence(counts) if counts else None

    return check


# --- error codes ----------------------------------------------------------------------------------------------------


def _shared_code(one: PrintedPattern, other: PrintedPattern) -> str | None:
    """A code that carries both texts at their places; None when there is none."""
    tried = (
        one.text + other.text,
        other.text + one.text,
        one.text + "X" + other.text,
        "X" + one.text + other.text + "X",
        "X" + one.text + other.text,
        "X" + other.text + one.text,
        one.text + other.text + "X",
        other.text + one.text + "X",
        "X" + one.text,
        "X" + other.text,
        one.text + "X",
        other.text + "X",
        one.text,
        other.text,
    )
    for code in tried:
        if one.matches(code) and other.matches(code):
            return code
    if {one.place, other.place} == {Place.INFIX, Place.SUFFIX}:
        infix, suffix = (one, other) if one.place is Place.INFIX else (other, one)
        code = "X" + infix.text + "X" + suffix.text
        return code if infix.matches(code) and suffix.matches(code) else None
    return None


def overlaps(edition: Edition) -> Iterator[tuple[PrintedPattern, PrintedPattern, str]]:
    """Each pair of patterns of different families with a code that both match."""
    for one, other in combinations(edition.patterns, 2):
        code = _shared_code(one, other) if one.family != other.family else None
        if code is not None:
            yield one, other, code


def patterns_overlap(edition: Edition) -> Evidence | None:
    """A code that patterns of several families match, and every overlapping pair."""
    found = tuple(overlaps(edition))
    if not found:
        return None
    code = max((code for _, _, code in found), key=lambda code: len(_families(edition, code)))
    return CodeEvidence(
        code,
        tuple(pattern for pattern in edition.patterns if pattern.matches(code)),
        edition.patterns,
        tuple((one.text, other.text, witness) for one, other, witness in found),
    )


def _families(edition: Edition, code: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(pattern.family for pattern in edition.patterns if pattern.matches(code)))


def some_code_matches_nothing(edition: Edition) -> Evidence | None:
    """A code that a source uses and that no pattern matches."""
    for code in (*edition.examples, *edition.other_codes):
        if not _families(edition, code):
            return CodeEvidence(code, (), edition.patterns)
    return None


def spent_budget_reads_as_retryable(edition: Edition) -> Evidence | None:
    """An example of the source that a retryable and a final family match."""
    for code, family in edition.examples.items():
        families = _families(edition, code)
        if family == "LIMIT" and any(other in edition.retryable_families for other in families):
            matching = tuple(pattern for pattern in edition.patterns if pattern.matches(code))
            if any(pattern.family == "LEASE" for pattern in matching):
                return CodeEvidence(code, matching, edition.patterns)
    return None


def no_order_of_families(edition: Edition) -> Evidence | None:
    """Two examples that the same families match and that stand under different ones."""
    for one, other in combinations(edition.examples, 2):
        same = set(_families(edition, one)) == set(_families(edition, other))
        if same and edition.examples[one] != edition.examples[other]:
            return OrderEvidence(one, other, edition.examples, edition.patterns)
    return None


def retry_by_family_and_by_list(edition: Edition) -> Evidence | None:
    """Two codes of a family that is retryable only where listed, one of them in any list that is not everything."""
    if not edition.listed_retryable:
        return None
    infra = [code for code, family in edition.examples.items() if family == "INFRA"]
    later = [code for code in edition.other_codes if _families(edition, code) == ("INFRA",)]
    return RetryEvidence("INFRA", infra[0], later[0]) if infra and later else None


# --- columns --------------------------------------------------------------------------------------------------------


def one_column_for_two_names(edition: Edition) -> Evidence | None:
    """An old column that stands for two standard names."""
    aliases: Mapping[str, tuple[str, ...]] = {entry.name: entry.aliases for entry in edition.vocabulary}
    columns = {alias for names in aliases.values() for alias in names}
    for column in sorted(columns):
        names = tuple(name for name, known in aliases.items() if column in known)
        if len(names) > 1:
            return SharedEvidence("one column", column, names, aliases)
    return None


def names_outside_the_vocabulary(edition: Edition) -> Evidence | None:
    """Rows and columns of the mappings that the vocabulary does not know."""
    known = {name for entry in edition.vocabulary for name in (entry.name, *entry.aliases)}
    used = {name: "000 §5.4, a row" for name in edition.columns if name not in known}
    used |= {str(said.value): said.where for said in edition.further_columns if said.value not in known}
    return MissingEvidence("names that only mappings use", used, tuple(sorted(known))) if used else None


def required_columns_absent(edition: Edition) -> Evidence | None:
    """Fields that §2 requires of every claimed or failed job, and models that have no column for them."""
    required = {entry.name: entry.required for entry in edition.vocabulary}
    models = [
        *("ProjectBuild", "Screenshot/Backfill/Image/Page", "ExternalTask", "MutationJob", "RenderRequest"),
    ]
    absent = {
        f"{model} has no {name}": f"000 §2: required once {required[name]}"
        for name, row in edition.columns.items()
        for model in models
        if required.get(name) in ("always", "claimed", "failed") and row.get(model) is None
    }
    if not absent:
        return None
    listed = tuple(
        f"{model} has no {name} is false" for name, row in edition.columns.items() for model in models if row.get(model)
    )
    return MissingEvidence("required fields without a column", absent, listed)


def back_off_has_no_column(edition: Edition) -> Evidence | None:
    """Models put back after a back-off that cannot write down until when."""
    if not edition.backed_off_families:
        return None
    row = edition.columns["next_attempt_at"]
    without = {
        model: "000 §5.4: next_attempt_at"
        for model in ("ProjectBuild", "Screenshot/Backfill/Image/Page", "ExternalTask")
        if row.get(model) is None
    }
    having = tuple(model for model, column in row.items() if column is not None)
    what = f"put back after a back-off ({', '.join(edition.backed_off_families)}, 000 §4), with no column for its end"
    return MissingEvidence(what, without, having) if without else None


def cancel_has_no_column(edition: Edition) -> Evidence | None:
    """Models that run under a lease and have no column in which a running job is asked to stop."""
    cancel = edition.columns.get("cancel") or edition.columns.get("cancel_requested_at", {})
    leased = edition.columns["lease_expires_at"]
    without = {
        model: "000 §5.4: cancel"
        for model in ("ProjectBuild", "Screenshot/Backfill/Image/Page", "ExternalTask", "MutationJob")
        if leased.get(model) is not None and cancel.get(model) is None
    }
    having = tuple(model for model, column in cancel.items() if column is not None)
    return MissingEvidence("running jobs that cannot be asked to stop", without, having) if without else None


def words_never_listed(edition: Edition) -> Evidence | None:
    """Machines that the sources speak of without listing their statuses."""
    used = {machine: where for machine, (where, _) in edition.named_without_list.items()}
    return (
        MissingEvidence("statuses that no section lists", used, ("Job", "ExternalBatch", "Run", "Task"))
        if used
        else None
    )


# --- the diagram ----------------------------------------------------------------------------------------------------


def diagram_against_text(edition: Edition) -> Evidence | None:
    """Arrows that the text states and the diagram lacks, and the other way round."""
    drawn, stated = edition.diagram_edges, edition.text_edges
    ends = {(begin, end) for begin, _, end in drawn}
    lacking = tuple(edge for edge in stated if (edge[0], edge[2]) not in ends)
    wrong = tuple(sorted(edge for edge in drawn if edge not in stated))
    return EdgeEvidence(lacking, wrong, drawn, stated) if lacking or wrong else None


# --- times ----------------------------------------------------------------------------------------------------------


def idle_beats_write(edition: Edition) -> Evidence | None:
    """Beats that go on while nothing is to be done, against a rule that forbids writing then."""
    allowed, period = (
        edition.times["writes allowed while idle"].value,
        edition.times["idle period of the acceptance test"],
    )
    beats = tuple(edition.times[name] for name in ("owner beat", "render worker beat") if name in edition.times)
    writing = tuple(
        said
        for said in beats
        if isinstance(said.value, int | float)
        and isinstance(period.value, int)
        and isinstance(allowed, int)
        and period.value // said.value > allowed
    )
    if not writing or not isinstance(period.value, int) or not isinstance(allowed, int):
        return None
    return IdleWriteEvidence(writing, period.value, allowed)


def three_periods_and_two_losses(edition: Edition) -> Evidence | None:
    """The shortest lease that the ratio allows, and whether it survives two lost beats without any delay."""
    beat = 10
    lease = edition.ratio * beat
    return BeatEvidence(lease, beat, 2) if 3 * beat >= lease else None


def ratio_undecidable(edition: Edition) -> Evidence | None:
    """Queues of the lease table whose heartbeat is not a number of seconds."""
    used = {row.queue: "000 §2.3" for row in edition.leases if row.lease is None or row.heartbeat is None}
    listed = tuple(row.queue for row in edition.leases if row.lease is not None and row.heartbeat is not None)
    return MissingEvidence("leases to which the ratio of 000 §1.2 cannot be applied", used, listed) if used else None


def _waits(edition: Edition, wait: str, lease: str) -> Evidence | None:
    waited, leased, attempts = edition.times[wait], edition.times[lease], edition.times["render attempts"]
    if not all(isinstance(said.value, int) for said in (waited, leased, attempts)):
        return None
    seconds, length, most = int(str(waited.value)), int(str(leased.value)), int(str(attempts.value))
    starts = min(most, -(-seconds // length))
    return WaitEvidence(waited, leased, most, starts) if starts < most else None


def render_waits_too_short(edition: Edition) -> Evidence | None:
    """How many of three attempts of a render can start within its time-out, when each worker dies."""
    return _waits(edition, "render request", "render attempt lease")


def screenshot_waits_too_short(edition: Edition) -> Evidence | None:
    """The AI's wait for a screenshot against the lease of the screenshot queue."""
    return _waits(edition, "AI waits for a screenshot", "screenshot lease")


def inner_wait_is_longer(edition: Edition) -> Evidence | None:
    """A wait that contains another one and is shorter."""
    outer, inner = edition.times["AI waits for a screenshot"], edition.times["render request"]
    if not isinstance(outer.value, int) or not isinstance(inner.value, int) or outer.value >= inner.value:
        return None
    return ContradictionEvidence(
        {"seconds until a screenshot, and the render inside of it, are given up": (outer, inner)}
    )


def screenshot_beat_breaks_ratio(edition: Edition) -> Evidence | None:
    """The smallest lease and heartbeat that the validator takes while the screenshot loop beats too slowly."""
    for lease in range(1, 301):
        for heartbeat in range(1, lease // edition.ratio + 1):
            beat = max(1, min(SCREENSHOT_BEAT_CAP, lease // edition.screenshot_beat_divisor))
            if edition.ratio * beat > lease:
                return RatioEvidence(lease, heartbeat, beat, edition.ratio)
    return None


def plan_leans_on_what_is_gone(edition: Edition) -> Evidence | None:
    """What a later step says it will use, and an earlier step says it took out."""
    removed = {said.value: said.where for said in edition.plan_removed}
    used = {
        str(said.value): f"{said.where}; removed in {removed[said.value]}"
        for said in edition.plan_needs
        if said.value in removed
    }
    kept = tuple(str(said.value) for said in edition.plan_needs if said.value not in removed)
    return MissingEvidence("helpers that a later step needs and an earlier one removed", used, kept) if used else None


GAPS: tuple[Gap, ...] = (
    Gap(
        "Beats that write while idle",
        ("000 §6.3", "000 §2.3", "001 §6.4"),
        "Owners beat every 10 s whatever happens, render workers every 5 s; the acceptance of 001 allows no write "
        "transaction in ten idle minutes.",
        idle_beats_write,
        "§8",
        "§8: no write transaction while idle",
        2,
        CANDIDATES,
    ),
    Gap(
        "Retry by family, and retry by list",
        ("000 §4 row INFRA", "000 §4 hard rules"),
        "INFRA is retryable only where the code is listed; the hard rules let the family decide. The list is not "
        "printed, and no list that leaves out one INFRA code agrees with the rule.",
        retry_by_family_and_by_list,
        "D-21",
        "§5",
        9,
        CANDIDATES,
        "every code of the sources has one family",
        codes_have_one_family,
    ),
    Gap(
        "Patterns of different families overlap",
        ("000 §4",),
        "Every pair of families has codes that both match, and no order among them is printed.",
        patterns_overlap,
        "D-9",
        "§5",
        10,
        CANDIDATES,
        "every code of the sources has one family",
        codes_have_one_family,
    ),
    Gap(
        "A code that matches no family",
        ("000 §6.3", "000 §4"),
        "Every code must fall under the table; the code with which the process reaper ends runs matches no pattern.",
        some_code_matches_nothing,
        "D-9",
        "§5",
        10,
        CANDIDATES,
        "every code of the sources has one family",
        codes_have_one_family,
    ),
    Gap(
        "The code for spent attempts reads as retryable",
        ("000 §4",),
        "LEASE_TIMEOUT_MAX_ATTEMPTS stands under LIMIT and begins as the retryable LEASE codes do.",
        spent_budget_reads_as_retryable,
        "D-9",
        "§5: *_MAX_ATTEMPTS never retries",
        10,
        CANDIDATES,
        "every code of the sources has one family",
        codes_have_one_family,
    ),
    Gap(
        "No order of the families classifies the source's own examples",
        ("000 §4",),
        "RENDER_QUEUE_FULL is LIMIT and RUNTIME_VITE_QUEUE_FULL is INFRA, though both are matched by just these two "
        "families: whichever comes first, one of them is wrong.",
        no_order_of_families,
        "D-9",
        "§5",
        10,
        CANDIDATES,
        "every code of the sources has one family",
        codes_have_one_family,
    ),
    Gap(
        "One column for the heartbeat and the start",
        ("000 §2",),
        "claimed_at is the old name of heartbeat_at and of started_at: each renewal moves the start.",
        one_column_for_two_names,
        "§1 vocabulary",
        "§1: shared columns are registered",
        11,
        CANDIDATES,
    ),
    Gap(
        "Names that only the mappings know",
        ("000 §2", "000 §5.4", "000 §2.3"),
        "The vocabulary is to be the only one; mappings and rules use further columns, and §5.4 has a row called "
        "cancel, "
        "which is no standard name.",
        names_outside_the_vocabulary,
        "§1 vocabulary",
        "§1: registered extensions",
        11,
        CANDIDATES,
    ),
    Gap(
        "Required fields without a column",
        ("000 §2", "000 §5.4"),
        "Owner, lease and heartbeat are required once claimed and an error code on failure; a render request has none "
        "of the first three, a build has no error code.",
        required_columns_absent,
        "D-18",
        "§1 profiles",
        11,
        CANDIDATES,
    ),
    Gap(
        "A render's worker dies, and no second attempt ever starts in time",
        ("001 A.1", "000 §2.3"),
        "The asker waits 120 s, a dead worker is noticed when its lease of 180 s is over: of three attempts one "
        "starts.",
        render_waits_too_short,
        "§7",
        "§7",
        12,
        CANDIDATES,
    ),
    Gap(
        "A ratio that cannot be checked",
        ("000 §1.2", "000 §2.3"),
        "Lease >= 3 x heartbeat is a hard rule; the build queue has a lease of 960 s and a heartbeat 'with progress'.",
        ratio_undecidable,
        "§2",
        "§2: profiles without heartbeat are registered as such",
        12,
        CANDIDATES,
    ),
    Gap(
        "Three terminals, or four, or five",
        ("000 §0", "000 §1.4", "000 §2.1", "000 §3", "000 §5.1"),
        "Sections list different terminal words; whether INV-7 covers skipped and expired depends on which one is "
        "read.",
        facts_differ("terminal words of a job"),
        "§1",
        "§3 INV-7: skipped and expired too",
        13,
        CANDIDATES,
    ),
    Gap(
        "The word of a successful external task or batch",
        ("000 §3", "000 §5.1", "000 §5.3"),
        "Section 3 has external tasks still write completed and batches renamed to succeeded; §5.1 says the task "
        "writes "
        "succeeded already, and §5.1 and §5.3 keep completed for the batch.",
        facts_differ("word of a successful ExternalTask", "word of a successful ExternalBatch once §9 is done"),
        "D-17",
        "§1",
        14,
        CANDIDATES,
    ),
    Gap(
        "Who is recovered in the loop",
        ("000 §5.1", "000 §6.2", "000 §9", "001 §3.1", "001 §3.2 C"),
        "For page and component mutation, image generation and backfill the tables disagree on whether the loop "
        "recovers.",
        facts_differ(
            "page mutation is recovered in the loop",
            "component mutation is recovered in the loop",
            "image generation is recovered in the loop",
            "backfill is recovered in the loop",
        ),
        "D-17",
        "§7 L1",
        14,
        CANDIDATES,
    ),
    Gap(
        "Exceptions from the claim gate",
        ("000 §5.2", "000 §9"),
        "Section 5.2 registers two exceptions, §9 withdraws one of them.",
        facts_differ("exceptions from the claim gate"),
        "D-17",
        "§8",
        14,
        CANDIDATES,
    ),
    Gap(
        "A retry layer that is closed, and deleted",
        ("000 §10", "001 §6.3.1 2b"),
        "000 lists the shared write retry as done and not to be done again; 001 deleted the module.",
        facts_differ("the shared write retry db/retry exists"),
        "D-17",
        "§8: one write retry with a session factory",
        14,
        CANDIDATES,
    ),
    Gap(
        "The image lease is 300 s or 120 s",
        ("000 §2.3", "001 §0 N1", "001 A.2"),
        "000 gives 300 s, 001 found 120 s hard-coded and outside of the validator.",
        facts_differ("lease of image generation, seconds"),
        "D-17",
        "§1 profiles",
        14,
        CANDIDATES,
    ),
    Gap(
        "The diagram of the job lacks its own recovery",
        ("000 §2.1", "000 §2.2", "000 §6.1"),
        "Recovery to pending and the way to a provider are not drawn; the arrow of a cancelled pending job ends at "
        "failed.",
        diagram_against_text,
        "§2",
        "§2",
        15,
        CANDIDATES,
    ),
    Gap(
        "Three periods do not survive two lost beats",
        ("000 §1.2",),
        "With lease = 3 x heartbeat the third beat comes when the lease is over, without any delay.",
        three_periods_and_two_losses,
        "§7",
        "§7: k lost beats need lease > (k + 1) x heartbeat",
        22,
        CANDIDATES,
    ),
    Gap(
        "Counts that disagree with their lists",
        ("000 §0", "001 §0", "001 §1", "003 §5.6", "003 §12"),
        "Numbers stated in a text differ from the lists that the same source prints.",
        counts_differ(
            "families of error codes",
            "what this round found anew",
            "loops that write while idle",
            "methods of the store",
            "commands of the command line",
            "runnable examples",
        ),
        "D-8, D-17",
        "§5",
        35,
        CANDIDATES,
    ),
    Gap(
        "Executors: two, three, or one that was deleted",
        ("003 §5.3", "003 §7.2", "003 §8", "003 §11.5", "003 §13.10"),
        "Some sections have a process executor, others have removed it; the delay of its signals is 50 ms or 20 ms.",
        facts_differ(
            "the task executors that there are",
            "there is a process executor",
            "delay of stop and pause across processes, milliseconds",
        ),
        "D-17",
        "§6",
        35,
        CANDIDATES,
    ),
    Gap(
        "Statuses that are used and never listed",
        ("000 §1.3", "000 §5.3", "003 §3.3", "003 §5.6"),
        "Attempts, requirements, render attempts, pipeline runs and commands have statuses; no section lists them.",
        words_never_listed,
        "D-24",
        "§1",
        None,
        CONTRACT,
    ),
    Gap(
        "Work of a dead owner: again, or never silently",
        ("000 §6.1", "003 §5.5"),
        "000 puts expired work back within its budget, 003 refuses to run it again without being told.",
        facts_differ("work of a dead owner"),
        "D-23",
        "§6",
        None,
        CONTRACT,
    ),
    # on no list
    Gap(
        "A back-off with nowhere to be written",
        ("000 §4 row LEASE", "000 §5.4", "001 §3.2 C"),
        "LEASE codes put a job back *after a back-off*; builds, screenshots, backfills, images, pages and external "
        "tasks "
        "have no next_attempt_at, so that a crashing job is claimed again at once until its attempts are spent.",
        back_off_has_no_column,
        "§2 recover, next_attempt_at in every profile",
        "§2 recover: pending with back-off",
    ),
    Gap(
        "A running build cannot be asked to stop",
        ("000 §2.2", "000 §5.4", "000 §9"),
        "A running job is cancelled by writing cancel_requested_at; a build has no such column (its cell holds the "
        "deadline), yet cancellation is part of the acceptance of every migrated queue.",
        cancel_has_no_column,
        "§2 request_cancel in every profile",
        "§2 request_cancel",
    ),
    Gap(
        "A backfill lease that is not in the database",
        ("000 §2.3", "001 §0 N4", "001 §3.1", "001 §4.1 Q12"),
        "000 counts backfills among the durable queues, lease 300 s and heartbeat 30 s; 001 found neither in the "
        "database, only a lock of 180 s in Redis.",
        facts_differ(
            "database lease of the backfill queue, seconds", "database heartbeat of the backfill queue, seconds"
        ),
        "D-17",
        "§1 profiles",
    ),
    Gap(
        "A render worker beats every 5 s, or at every tick",
        ("000 §2.3", "001 §3.1", "001 §3.3"),
        "000 has the beat throttled to 5 s; 001 found one update for each worker at every tick of 0.25 s.",
        facts_differ("beat of a render worker, seconds"),
        "D-17",
        "§8: every cadence is configuration",
    ),
    Gap(
        "The screenshot loop beats more slowly than its validator believes",
        ("001 A.1", "001 A.2", "000 §1.2"),
        "Lease and heartbeat are validated at 3 x, and A.1 lists that heartbeat for screenshots; A.2 has them beat "
        "every "
        "min(30, lease // 2) seconds, in which it does not occur: below a lease of 90 s the ratio falls under 3.",
        screenshot_beat_breaks_ratio,
        "§2: the ratio is checked on the beat that is used",
        "§2",
    ),
    Gap(
        "The AI's wait for a screenshot outlives no crash",
        ("001 A.1", "001 §0 C4"),
        "By its name the AI waits 90 s for a screenshot; the lease of the queue is 300 s: who waits has gone before "
        "a dead "
        "worker's job can be taken up again.",
        screenshot_waits_too_short,
        "§7: waits are validated against leases",
        "§7",
    ),
    Gap(
        "The outer wait is shorter than the inner one",
        ("001 A.1",),
        "A screenshot is waited for 90 s, the render inside of it for 120 s: the render goes on for nobody.",
        inner_wait_is_longer,
        "§7: waits are validated against each other",
        "§7",
    ),
    Gap(
        "A plan that leans on helpers it has removed",
        ("001 §6.0", "001 §6.3.1"),
        "P3 is said to need is_transient_write_error and read_probe of P2; the result of P2 says that both were "
        "removed.",
        plan_leans_on_what_is_gone,
        "§8: one adapter layer",
        "§8",
    ),
    Gap(
        "A plan that was cut the other way round",
        ("001 §6.0", "001 §6.3.1"),
        "Option B keeps errors, retry and locks of P2 and leaves out types and indexes; the result, cut while D1 was "
        "undecided, left out the retry and made types and indexes.",
        facts_differ("what option B keeps of step P2"),
        "D-17",
        "§8: one adapter layer",
    ),
    Gap(
        "Dialects outside of their layer: none, and one",
        ("000 §8", "001 §6.3.1"),
        "000 reports that dialect branches stand in app/db alone; 001 left one in a script and says so.",
        facts_differ("dialect tests outside of app/db"),
        "§8 gates",
        "§8",
    ),
    Gap(
        "Recovery at start alone",
        ("000 §0", "003 §5.5"),
        "000 forbids recovery that runs at start only; reconcile of 003 runs at start only, so that an orphan of a "
        "node "
        "that never comes back waits for somebody else's restart.",
        facts_differ("rows of a dead owner are recovered"),
        "§7 L1, L2",
        "§7",
    ),
)
"""The gaps of this file, in the order in which they are numbered."""
