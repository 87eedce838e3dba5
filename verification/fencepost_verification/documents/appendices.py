"""The appendices: generated pages about all chapters of the book, or about none.

Each page is a pure function of the model and of the results in an ``Appendix``; what was not examined is marked as
that. Links within the book are those of the built site, as on the pages of the chapters (see ``pages``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

from fencepost_model.clocks import Exempt, own_clocks
from fencepost_model.contract import transition_name
from fencepost_model.decisions import DECISIONS, cites
from fencepost_model.error_codes import (
    EXAMPLES,
    FAILURE_KINDS,
    KNOWN_CODES,
    ORDER,
    PATTERNS,
    REGISTERED,
    RETRYABLE,
    Family,
    Pattern,
    classify,
)
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.latitude import LATITUDE
from fencepost_model.liveness import Component, Question
from fencepost_model.machines.group_completion import completion_refinement
from fencepost_model.machines.job_measure import JOB_MEASURED, MEASURES, NOTHING
from fencepost_model.machines.job_questions import QUESTIONS
from fencepost_model.machines.slot_as_job import SLOT_REFINES_JOB
from fencepost_model.machines.task_as_job import TASK_REFINES_JOB
from fencepost_model.machines.two_step_claim import POSTGRESQL, SQLITE, TwoSteps, two_step_contract, two_step_refinement
from fencepost_model.queues import (
    AUDIT_GRACE_LEAST,
    AUDIT_LEAST,
    AUDIT_MOST,
    BUSY_TIMEOUT_MS,
    IDLE_POLL_LEAST,
    IDLE_POLL_MOST,
    OWNER_HEARTBEAT,
    OWNER_SCAN,
    OWNER_TTL,
    PARTIAL_INDEXES,
    QUEUES,
    RENDER_WORKER_BEAT,
    UNKNOWN_RECONCILED_AFTER,
    WRITE_RETRIES,
    Cited,
    ExtraStatus,
    QueueProfile,
    StatusAlias,
)
from fencepost_model.refinement import (
    Excepted,
    Image,
    Performs,
    Refinement,
    SeenAs,
    Stutters,
    left_out,
)
from fencepost_model.shapes import Invariant, Operation, StepProperty
from fencepost_model.terms import Choose, FieldOf, Truth, ValueTerm
from fencepost_model.timing import BOUNDS, TimeBound, written
from fencepost_model.vocabulary import VOCABULARY
from fencepost_verification.documents.addresses import Place, Shelf, anchor, link, shelves, slug
from fencepost_verification.documents.appendix_input import (
    Appendix,
    ChapterLedger,
    ClockResult,
    CodeResults,
    MeasureResult,
    RefinementResult,
    TimeResults,
)
from fencepost_verification.documents.evidence_input import Evidence, summed_up
from fencepost_verification.documents.markup import escaped, inline, named
from fencepost_verification.documents.pages import (
    COMMAND,
    MARKS,
    Badge,
    badge_of,
    ground_of,
    shown_default,
    tally,
    tidy,
)
from fencepost_verification.documents.swimlanes import Focus, swimlane
from fencepost_verification.documents.templating import template
from fencepost_verification.documents.word_index import Sort, places
from fencepost_verification.documents.wording import Speech, in_words, value_in_words
from fencepost_verification.evidence import Held, Refuted, Trace, Unknown, Verdict
from fencepost_verification.explore.fairness import Answer
from fencepost_verification.findings.evidence import LassoEvidence, RunEvidence
from fencepost_verification.findings.finding import SHOWN, Finding
from fencepost_verification.mutants.ledger import Entry, by_guard
from fencepost_verification.prove.timing import BoundProof
from fencepost_verification.prove.vocabularies import disagreements, left_open, published_gaps
from fencepost_verification.prove.words import DECISIVE, outcome_of
from fencepost_verification.prove.words import written as shown_pattern
from fencepost_verification.refining import Repeated

__all__ = [
    "Appendix",
    "ChapterLedger",
    "ClockResult",
    "CodeResults",
    "MeasureResult",
    "RefinementResult",
    "TimeResults",
    "appendix_files",
]

UNEXAMINED = Badge("not examined", "open")
NOT_EXAMINED = "not examined"
FEW = 3
"""So many names are shown where there are many."""
THE_SEVEN: tuple[str, ...] = tuple(f"INV-{number}" for number in range(1, 8))
"""The invariants of the contract, by the names that clauses cite."""

_INVARIANT = re.compile(r"\bINV-(\d)\b")


def appendix_files(appendix: Appendix, evidences: Sequence[Evidence]) -> dict[str, str]:
    """Every appendix by its file name, in the folder of the generated pages.

    ``evidences`` are the chapters of the book, the main one first. Raises ``ValueError`` when there is none.
    """
    if not evidences:
        raise ValueError("an appendix is about the chapters of a book; give at least the main one")
    return _Appendices(appendix, evidences).files()


def _verdict_row(verdict: Verdict) -> dict[str, Any]:
    return {"statement": verdict.statement, "badge": badge_of(verdict), "ground": ground_of(verdict)}


def _all_held(name: str, verdicts: Sequence[Verdict] | None) -> Verdict:
    """Several verdicts as one; none at all is unknown."""
    return summed_up(name, verdicts or ())


def _picture(trace: Trace, title: str, focus: Focus | None = None) -> str:
    return swimlane(trace, trace.semantics.contract, title, focus or Focus((), ()))


def _title(name: str) -> str:
    """A name with underscores as a heading."""
    words = name.replace("_", " ")
    return words[:1].upper() + words[1:]


def _few(names: Sequence[str]) -> str:
    """The first few of many names."""
    return _few_links([named(name) for name in names])


def _few_links(shown: Sequence[str]) -> str:
    """The first few of many, as HTML, and how many more there are."""
    more = len(shown) - FEW
    return ", ".join(shown[:FEW]) + (f" and {more} more" if more > 0 else "")


class _Appendices:
    """The appendices of one book."""

    def __init__(self, appendix: Appendix, evidences: Sequence[Evidence]) -> None:
        self._appendix = appendix
        self._evidences = evidences
        self._shelves = shelves([evidence.contract for evidence in evidences])
        self._by_name = {shelf.contract.name: shelf for shelf in self._shelves}
        self._titles = {evidence.contract.name: evidence.title or evidence.contract.name for evidence in evidences}

    def files(self) -> dict[str, str]:
        """All of them."""
        job = self._by_name.get(JOB_CONTRACT.name)
        return {
            "errors.md": self._render("errors.md.j2", **codes_page(self._appendix.codes)),
            "profiles.md": self._render("profiles.md.j2", **profiles_page(self._appendix.vocabularies, job)),
            "timing.md": self._render("timing.md.j2", **timing_page(self._appendix.time)),
            "latitude.md": self._render("latitude.md.j2", **self._latitude()),
            "refinements.md": self._render("refinements.md.j2", **self._refinements()),
            "liveness.md": self._render("liveness.md.j2", **liveness_page(self._appendix, self._shelves[0])),
            "findings.md": self._render("findings.md.j2", **self._findings()),
            "decisions.md": self._render("decisions.md.j2", **self._decisions()),
            "ledger.md": self._render("ledger.md.j2", **self._ledger()),
            "words.md": self._render("words.md.j2", **self._words()),
        }

    def _render(self, name: str, **context: Any) -> str:
        text = template(name).render(command=COMMAND, unexamined=UNEXAMINED, cite=cited_clause, **MARKS, **context)
        return tidy(text)

    # -- latitude ------------------------------------------------------------------------------------------------------

    def _latitude(self) -> dict[str, Any]:
        main = self._shelves[0]
        return {
            "choices": [
                {
                    "choice": choice,
                    "title": _title(choice.name),
                    "anchor": anchor("choice", choice.name),
                    "asked": main.transition_link(choice.asked_by) if choice.asked_by is not None else "",
                }
                for choice in LATITUDE
            ],
            "settings": {setting.name for setting in main.contract.settings},
            "shown": shown_default,
        }

    # -- findings ------------------------------------------------------------------------------------------------------

    def _findings(self) -> dict[str, Any]:
        findings = self._appendix.findings
        if findings is None:
            return {"groups": None}
        groups = {source: [f for f in findings if f.gap.sources[0][:3] == source] for source in SOURCES}
        others = [f for f in findings if f.gap.sources[0][:3] not in SOURCES]
        listed = [(title, groups[source]) for source, title in SOURCES.items()]
        if others:
            listed.append(("Of other sources", others))
        kinds = Counter(finding.evidence.kind for finding in findings if finding.evidence is not None)
        return {
            "counts": _counted(findings),
            "kinds": sorted(kinds.items(), key=lambda entry: (-entry[1], entry[0])),
            "groups": [
                {
                    "title": title,
                    "anchor": anchor("group", title),
                    "counts": _counted(group),
                    "findings": [_finding(finding) for finding in group],
                }
                for title, group in listed
                if group
            ],
        }

    # -- decisions -----------------------------------------------------------------------------------------------------

    def _decisions(self) -> dict[str, Any]:
        citing: dict[str, dict[str, list[str]]] = {decision.id: {} for decision in DECISIONS}
        counts: Counter[str] = Counter()
        for place in self._places():
            for name in cites(place.clause):
                if name not in citing:
                    continue
                counts[name] += 1
                of = "" if place.chapter in ("", self._shelves[0].contract.name) else f" ({escaped(place.chapter)})"
                citing[name].setdefault(PLURALS[place.kind], []).append(link(place.address, place.name) + of)
        return {
            "decisions": [
                {
                    "decision": decision,
                    "anchor": _decision_anchor(decision.id),
                    "citing": list(citing[decision.id].items()),
                    "count": counts[decision.id],
                }
                for decision in DECISIONS
            ]
        }

    def _places(self) -> Iterator[Place]:
        """Everything in the book that cites a clause."""
        seen: set[int] = set()
        for shelf in self._shelves:
            # A chapter that extends another has its guards and statements too; they are told once.
            own = [place for place in shelf.places() if place.identity not in seen]
            seen.update(place.identity for place in own)
            yield from own
        for choice in LATITUDE:
            address = f"latitude.html#{anchor('choice', choice.name)}"
            yield Place(choice.name, "choice", "", address, choice.clause)
        for question in (question for question, _ in _asked(self._appendix.answers)):
            address = f"liveness.html#{anchor('question', question.name)}"
            yield Place(question.name, "question", "", address, question.clause)
        for bound in (bound for bound, _ in _bounds(self._appendix.time)):
            yield Place(bound.name, "bound", "", f"timing.html#{anchor('bound', bound.name)}", bound.clause)
        for result in self._refinement_results():
            refinement = result.refinement
            address = f"refinements.html#{anchor('refinement', refinement.name)}"
            yield Place(refinement.name, "refinement", "", address, refinement.clause)
        for queue in QUEUES:
            for gap in queue.gaps:
                address = f"profiles.html#{anchor('queue', queue.name)}"
                yield Place(f"{queue.name}: {gap.field}", "gap", "", address, gap.mended_by)
        for known in KNOWN_CODES:
            yield Place(known.code, "code", "", f"errors.html#{anchor('code', known.code)}", known.source)
        for finding in self._appendix.findings or ():
            address = f"findings.html#finding-{finding.number}"
            clauses = f"{finding.gap.decision}; {finding.gap.clause}"
            yield Place(f"{finding.number}. {finding.title}", "finding", "", address, clauses)

    # -- the ledger ----------------------------------------------------------------------------------------------------

    def _ledger(self) -> dict[str, Any]:
        ledgers = self._appendix.ledgers
        return {
            "seven": list(self._seven()),
            "chapters": None if ledgers is None else [self._chapter_ledger(each) for each in ledgers],
        }

    def _seven(self) -> Iterator[dict[str, Any]]:
        """The invariants that the contract numbers: each statement that is one, or part of one."""
        entries = {
            (each.chapter, entry.statement): entry for each in self._appendix.ledgers or () for entry in each.entries
        }
        for name in THE_SEVEN:
            stated = [
                (statement.name, shelf)
                for shelf in self._shelves
                for statement in shelf.stated()
                if name in _invariants_cited(statement.name, statement.clause)
            ]
            # What bears the invariant's own name comes before what helps it.
            for number, (statement, shelf) in enumerate(sorted(stated, key=lambda each: name not in each[0])):
                entry = entries.get((shelf.contract.name, statement))
                yield {
                    "name": name if number == 0 else "",
                    "chapter": self._titles[shelf.contract.name],
                    "link": shelf.statement_link(statement),
                    "entry": entry,
                    "badge": badge_of(entry.proof) if entry is not None else UNEXAMINED,
                    "why": "",
                }
            if not stated:
                why = "no chapter of this book states it"
                yield {"name": name, "chapter": "–", "link": "", "entry": None, "badge": UNEXAMINED, "why": why}

    def _chapter_ledger(self, ledger: ChapterLedger) -> dict[str, Any]:
        shelf = self._by_name.get(ledger.chapter)
        report = ledger.mutants
        return {
            "name": ledger.chapter,
            "title": self._titles.get(ledger.chapter, ledger.chapter),
            "anchor": anchor("chapter", ledger.chapter),
            "covered": sum(entry.covered for entry in ledger.entries),
            "following": sum(not entry.covered and isinstance(entry.verdict(), Held) for entry in ledger.entries),
            "rows": [self._ledger_row(shelf, entry) for entry in ledger.entries],
            "fates": {
                "all": len(report.fates),
                "killed": len(report.killed),
                "equivalent": len(report.equivalent),
                "survivors": len(report.survivors),
            },
            "survivors": [
                {"name": _mutant_link(shelf, survivor.name), "reason": survivor.reason} for survivor in report.survivors
            ],
            "equivalent": [_mutant_link(shelf, same.name) for same in report.equivalent],
            "noticed": [
                {
                    "name": _mutant_link(shelf, mutant),
                    "first": _statement_link(shelf, broken[0]) if broken else "",
                    "others": _few_links([_statement_link(shelf, name) for name in broken[1:]]),
                }
                for mutant, broken in by_guard(report).items()
            ],
        }

    def _ledger_row(self, shelf: Shelf | None, entry: Entry) -> dict[str, Any]:
        return {
            "entry": entry,
            "link": _statement_link(shelf, entry.statement),
            "badge": badge_of(entry.proof),
            "ground": ground_of(entry.proof),
            "kills": _few(entry.kills),
            "alone": _few(entry.alone),
            "verdict": badge_of(entry.verdict()),
        }

    # -- refinements ---------------------------------------------------------------------------------------------------

    def _refinement_results(self) -> Sequence[RefinementResult]:
        """The refinements of the model, with their results where there are any; then those that were given besides."""
        given = {result.refinement.name: result for result in self._appendix.refinements or ()}
        stated = [given.pop(each.name, RefinementResult(each)) for each in refinements_of_the_model()]
        return [*stated, *given.values()]

    def _refinements(self) -> dict[str, Any]:
        return {
            "refinements": [self._refinement(result) for result in self._refinement_results()],
            "forms": [_form(form, self._appendix.updates) for form in (*SQLITE, *POSTGRESQL)],
            "clocks": list(self._clocks()),
        }

    def _refinement(self, result: RefinementResult) -> dict[str, Any]:
        refinement = result.refinement
        abstract = self._by_name.get(refinement.abstract.name)
        concrete = self._by_name.get(refinement.concrete.name)
        verdict = _all_held(refinement.name, result.verdicts)
        return {
            "refinement": refinement,
            "anchor": anchor("refinement", refinement.name),
            "counts": tally(list(result.verdicts)),
            "badge": badge_of(verdict) if result.verdicts else UNEXAMINED,
            "ground": ground_of(verdict) if result.verdicts else "",
            "open": [_verdict_row(v) for v in result.verdicts if not isinstance(v, Held)],
            "exceptions": [
                {**_exception(refinement, step, seen, abstract), "step": _step_link(concrete, step)}
                for step, seen in refinement.steps.items()
                if isinstance(seen, Excepted)
            ],
            "images": [_image(refinement, image) for image in refinement.images],
            "steps": [
                (_step_link(concrete, transition_name(*each)), _seen_as(refinement.seen_as(*each), abstract))
                for each in refinement.concrete.transitions()
            ],
            "left_out": left_out(refinement),
        }

    def _clocks(self) -> Iterator[dict[str, Any]]:
        results = {result.chapter: result for result in self._appendix.clocks or ()}
        for shelf in self._shelves:
            name = shelf.contract.name
            result = results.get(name)
            exempt: Sequence[Exempt] = own_clocks(shelf.contract).exempt if result is None else result.exempt
            verdict = _all_held(f"{name} with own clocks", result.verdicts if result else ())
            yield {
                "title": self._titles[name],
                "exempt": [(shelf.statement_link(each.statement), each.reason) for each in exempt],
                "badge": UNEXAMINED if result is None else badge_of(verdict),
                "ground": "" if result is None else ground_of(verdict),
            }

    # -- words ---------------------------------------------------------------------------------------------------------

    def _words(self) -> dict[str, Any]:
        found = places([shelf.contract for shelf in self._shelves])
        return {
            "sections": [
                {
                    "title": sort.value,
                    "anchor": anchor("part", sort.value.lower()),
                    "prefix": sort.name.lower(),
                    "words": list(found[sort].items()),
                }
                for sort in Sort
            ],
            "anchor_of": slug,
        }


# --- clauses ----------------------------------------------------------------------------------------------------------

PLURALS: Mapping[str, str] = {
    "operation": "operations",
    "guard": "guards and conditions",
    "statement": "statements",
    "witness": "witnesses",
    "choice": "choices of the latitude",
    "question": "questions about what ends",
    "bound": "bounds of time",
    "refinement": "refinements",
    "gap": "fields added to queues",
    "code": "error codes",
    "finding": "findings",
}


def _decision_anchor(name: str) -> str:
    return name.lower()


def cited_clause(text: str) -> str:
    """A clause as HTML; the decisions that it cites lead to their rows."""
    known = {decision.id for decision in DECISIONS}
    shown = escaped(text)
    for name in cites(text):
        if name in known:
            address = f"decisions.html#{_decision_anchor(name)}"
            shown = re.sub(rf"\b{name}\b", f'<a href="{address}">{name}</a>', shown)
    return f'<span class="fp-clause">{shown}</span>'


def _invariants_cited(*texts: str) -> frozenset[str]:
    return frozenset(f"INV-{number}" for text in texts for number in _INVARIANT.findall(text))


# --- error codes ------------------------------------------------------------------------------------------------------


def codes_page(results: CodeResults | None) -> dict[str, Any]:
    """What the page about error codes shows."""
    told: dict[str, Any] = {
        "families": [
            {
                "family": family,
                "example": EXAMPLES[family],
                "retryable": family in RETRYABLE,
                "patterns": [shown_pattern(pattern) for pattern in PATTERNS if pattern.family is family],
            }
            for family in ORDER
        ],
        "registered": sorted((code, family.value) for code, family in REGISTERED.items()),
        "codes": list(_codes()),
        "kinds": list(FAILURE_KINDS.values()),
        "content": Family.CONTENT.value,
        "results": results is not None,
        "verdicts": [],
    }
    if results is None:
        return told
    order = {family: number for number, family in enumerate(ORDER)}
    met = [(pair.one, pair.other, pair.witness) for pair in results.pairs if pair.witness is not None]
    return {
        **told,
        "all_pairs": len(results.pairs),
        "overlaps": [_overlap(one, other, code) for one, other, code in met],
        "family_pairs": results.families,
        "sets": 2 ** len(Family),
        "possible": [
            (", ".join(family.value for family in sorted(fitting, key=order.__getitem__)), code, outcome_of(code))
            for fitting, code in sorted(
                results.possible.items(), key=lambda entry: (len(entry[0]), sorted(order[f] for f in entry[0]))
            )
        ],
        "orders": results.orders,
        "decisive": DECISIVE,
        "verdicts": [_verdict_row(verdict) for verdict in results.verdicts if not _is_about_a_pair(verdict)],
        "counts": tally(results.verdicts),
    }


def _codes() -> Iterator[dict[str, Any]]:
    known = {entry.code: entry for entry in KNOWN_CODES}
    for code in sorted({*known, *REGISTERED}):
        family = classify(code)
        yield {
            "code": code,
            "anchor": anchor("code", code),
            "family": family.value,
            "retryable": family in RETRYABLE,
            "found_by": "registration" if code in REGISTERED else "its pattern",
            "source": known[code].source if code in known else "contract §5",
            "example": code in known and known[code].example,
        }


def _overlap(one: Pattern, other: Pattern, code: str) -> tuple[str, str, str, str, str, str]:
    first, second = shown_pattern(one), shown_pattern(other)
    return first, one.family.value, second, other.family.value, code, outcome_of(code)


def _is_about_a_pair(verdict: Verdict) -> bool:
    """Whether a held verdict only says of two patterns what the table of overlaps says."""
    return isinstance(verdict, Held) and verdict.statement.startswith(("no code fits ", "one code fits "))


# --- profiles ---------------------------------------------------------------------------------------------------------


def profiles_page(verdicts: Sequence[Verdict] | None, job: Shelf | None = None) -> dict[str, Any]:
    """What the page about the queues shows; ``verdicts`` are those of ``prove.vocabularies.check``.

    ``job`` is the chapter to whose statuses the words lead, where the book has it.
    """
    open_numbers = left_open()
    return {
        "queues": [_queue(queue, verdicts, job) for queue in QUEUES],
        "gaps": published_gaps(),
        "disagreements": disagreements(),
        "left_open": open_numbers,
        "indexes": PARTIAL_INDEXES,
        "index_verdicts": [
            {**_verdict_row(verdict), "told": verdict.statement}
            for verdict in verdicts or ()
            if verdict.statement.startswith("the partial indexes")
        ],
        "shared_numbers": [_number(name, cited, unit) for name, cited, unit in SHARED_NUMBERS],
        "retries": WRITE_RETRIES,
    }


SHARED_NUMBERS: tuple[tuple[str, Cited[float] | Cited[int], str], ...] = (
    ("how long SQLite waits for a lock", BUSY_TIMEOUT_MS, "ms"),
    ("how long a process owner lives without a beat", OWNER_TTL, "s"),
    ("how often a process owner beats", OWNER_HEARTBEAT, "s"),
    ("how often the reaper looks for dead owners", OWNER_SCAN, "s"),
    ("the audit runs no oftener than every", AUDIT_LEAST, "s"),
    ("and no more seldom than every", AUDIT_MOST, "s"),
    ("the audit forgives what is younger than this, or than two polls", AUDIT_GRACE_LEAST, "s"),
    ("a render attempt of unknown state is reconciled after", UNKNOWN_RECONCILED_AFTER, "s"),
    ("beats of a render worker are written at most every", RENDER_WORKER_BEAT, "s"),
    ("an idle poll backs off to between", IDLE_POLL_LEAST, "s"),
    ("and", IDLE_POLL_MOST, "s"),
)


def _number(name: str, cited: Cited[float] | Cited[int], unit: str = "") -> dict[str, Any]:
    return {
        "name": name,
        "value": "*open*" if cited.value is None else _with_unit(cited.value, unit),
        "source": cited.source,
        "against": [(_with_unit(other, unit), source) for other, source in cited.against],
        "why": cited.why,
    }


def _with_unit(value: float, unit: str) -> str:
    return f"{value:,.10g} {unit}".strip()


def _numbers(queue: QueueProfile) -> Iterator[dict[str, Any]]:
    seconds: tuple[tuple[str, Cited[float] | None], ...] = (
        ("lease", queue.lease),
        ("heartbeat", queue.heartbeat),
        ("recovery delay", queue.recovery_delay),
        ("poll", queue.poll),
        ("retention", queue.retention),
        ("deadline", queue.deadline),
    )
    counts: tuple[tuple[str, Cited[int] | None], ...] = (
        ("attempts at most", queue.max_attempts),
        ("capacity", queue.capacity),
        ("capacity of one tenant", queue.capacity_per_tenant),
    )
    yield from (_number(name, cited, "s") for name, cited in seconds if cited is not None)
    yield from (_number(name, cited) for name, cited in counts if cited is not None)


def _queue(queue: QueueProfile, verdicts: Sequence[Verdict] | None, job: Shelf | None) -> dict[str, Any]:
    own = [verdict for verdict in verdicts or () if verdict.statement.startswith(f"{queue.name}: ")]
    required = queue.required_fields
    fields: list[dict[str, Any]] = []
    for field in VOCABULARY:
        cells = [
            "–" if field.name in table.lacks else named(table.columns.column(field.name)) for table in queue.tables
        ]
        gaps = queue.gaps_of(field.name)
        mended = [cited_clause(gap.mended_by) for gap in gaps if gap.mended_by]
        sources = list(dict.fromkeys(gap.source for gap in gaps))
        lacking = f"lacking by {escaped(', '.join(sources))}" if gaps and not mended else ""
        fields.append(
            {
                "name": field.name,
                "cells": cells,
                "required": field.name in required,
                "mended": ", ".join(dict.fromkeys(mended)) or lacking,
            }
        )
    return {
        "queue": queue,
        "anchor": anchor("queue", queue.name),
        "lease": _number("", queue.lease, "s")["value"],
        "heartbeat": _number("", queue.heartbeat, "s")["value"],
        "attempts": _number("", queue.max_attempts)["value"],
        "delay": _number("", queue.recovery_delay, "s")["value"],
        "badge": badge_of(_all_held(queue.name, own)) if verdicts is not None else UNEXAMINED,
        "verdicts": [{**_verdict_row(v), "told": v.statement.partition(": ")[2]} for v in own],
        "words": [_queue_word(queue, word, job) for word in queue.words],
        "numbers": list(_numbers(queue)),
        "fields": fields,
        "beside": [entry for table in queue.tables for entry in table.beside.items()],
    }


def _job_status(job: Shelf | None, status: str) -> str:
    return named(status, "fp-word") if job is None else link(job.status("job", status), status, "fp-word")


def _queue_word(queue: QueueProfile, word: str, job: Shelf | None) -> dict[str, Any]:
    entries: tuple[StatusAlias | ExtraStatus, ...] = (*queue.aliases, *queue.extras)
    entry = next((each for each in entries if each.word == word), None)
    status = queue.read(word)
    meaning = "no status of a job" if status is None else _job_status(job, status)
    return {
        "word": word,
        "anchor": anchor(f"word-{queue.name}", word),
        "meaning": meaning,
        "terminal": word in queue.terminal_words,
        "written": status is None or queue.written(status) == word,
        "source": entry.source if entry is not None else queue.source,
        "why": entry.why if isinstance(entry, ExtraStatus) else "another word" if entry else "",
    }


# --- time -------------------------------------------------------------------------------------------------------------


def timing_page(results: TimeResults | None) -> dict[str, Any]:
    """What the page about the bounds of time shows."""
    enduring = list(results.enduring) if results is not None else []
    return {
        "bounds": [_bound(bound, proof) for bound, proof in _bounds(results)],
        "endurance": [
            {
                "row": row,
                "on_time": _beats(row.on_time),
                "with_delay": _beats(row.with_delay),
                "badge": badge_of(enduring[number]) if number < len(enduring) else UNEXAMINED,
                "ground": ground_of(enduring[number]) if number < len(enduring) else "",
            }
            for number, row in enumerate(results.endurance if results is not None else ())
        ],
        "render": [_verdict_row(verdict) for verdict in (results.render if results is not None else ())],
    }


def _bounds(results: TimeResults | None) -> list[tuple[TimeBound, BoundProof | None]]:
    """The bounds of the model, with their proofs where there are any; then those that were proved besides."""
    proofs = {proof.bound.name: proof for proof in (results.bounds if results is not None else ())}
    stated = [(bound, proofs.pop(bound.name, None)) for bound in BOUNDS]
    return [*stated, *((proof.bound, proof) for proof in proofs.values())]


def _beats(number: int) -> str:
    return "not even none" if number < 0 else str(number)


def _bound(bound: TimeBound, proof: BoundProof | None) -> dict[str, Any]:
    return {
        "bound": bound,
        "title": _title(bound.name),
        "anchor": anchor("bound", bound.name),
        "given": written(bound.given),
        "possible": written(bound.possible),
        "condition": written(bound.condition),
        "promise": str(bound.promise),
        "at_bound": badge_of(proof.at_bound) if proof is not None else UNEXAMINED,
        "at_ground": ground_of(proof.at_bound) if proof is not None else "",
        "needed": badge_of(proof.needed) if proof is not None else UNEXAMINED,
        "needed_ground": ground_of(proof.needed) if proof is not None else "",
        "beyond": _shown_numbers(proof.beyond) if proof is not None and proof.beyond is not None else [],
    }


def _shown_numbers(numbers: Mapping[str, Fraction]) -> list[tuple[str, str]]:
    return [(name, str(value) if value.denominator == 1 else f"{float(value):.6g}") for name, value in numbers.items()]


# --- findings ---------------------------------------------------------------------------------------------------------

SOURCES: Mapping[str, str] = {
    "000": "The runtime contract (000)",
    "001": "The assessment of storage and background work (001)",
    "003": "The task control design (003)",
}
"""The sources, by the number under which they are cited."""


def _counted(findings: Sequence[Finding]) -> dict[str, int]:
    shown = [finding for finding in findings if finding.verdict == SHOWN]
    return {
        "all": len(findings),
        "shown": len(shown),
        "refuted": len(findings) - len(shown),
        "new": sum(finding.new for finding in shown),
    }


def _finding(finding: Finding) -> dict[str, Any]:
    evidence = finding.evidence
    resolution = finding.resolution
    return {
        "finding": finding,
        "badge": Badge("shown", "calm") if finding.verdict == SHOWN else Badge("refuted", "open"),
        "kind": evidence.kind if evidence is not None else "",
        "text": evidence.text if evidence is not None else "",
        "pictures": list(_pictures(finding)),
        "decision": cited_clause(finding.gap.decision),
        "clause": cited_clause(finding.gap.clause),
        "resolution": badge_of(resolution) if resolution is not None else None,
        "resolution_ground": ground_of(resolution) if resolution is not None else "",
    }


def _pictures(finding: Finding) -> Iterator[tuple[str, str]]:
    """The runs that a finding shows."""
    match finding.evidence:
        case RunEvidence(_, question, trace) if trace.steps:
            told, focus = question.meaning, Focus((), ())
            if isinstance(question, Invariant | StepProperty):
                told, focus = f"The shortest run that breaks: {told}", Focus((question.statement,), question.over)
            yield told, _picture(trace, f"A run of what is printed: {finding.title}", focus)
        case LassoEvidence(_, round_, lasso):
            if lasso.stem.steps:
                yield "A run that leads into a loop:", _picture(lasso.stem, f"Into the loop: {finding.title}")
            told = f"The loop, which can be walked for ever: {round_.meaning}"
            yield told, _picture(lasso.loop, f"The loop: {finding.title}")
        case _:
            return


# --- the ledger -------------------------------------------------------------------------------------------------------


def _statement_link(shelf: Shelf | None, name: str) -> str:
    return named(name) if shelf is None else shelf.statement_link(name)


def _mutant_link(shelf: Shelf | None, name: str) -> str:
    """A mutant's name, leading to the operation or case that it gets wrong."""
    where, colon, what = name.partition(": ")
    return f"{shelf.transition_link(where)}: {escaped(what)}" if shelf is not None and colon else named(name)


# --- refinements ------------------------------------------------------------------------------------------------------


@cache
def refinements_of_the_model() -> tuple[Refinement, ...]:
    """The refinements that the model states."""
    return (
        TASK_REFINES_JOB,
        SLOT_REFINES_JOB,
        completion_refinement(),
        two_step_refinement(*SQLITE),
        *(two_step_refinement(form) for form in POSTGRESQL),
    )


def _step_link(concrete: Shelf | None, step: str) -> str:
    return named(step) if concrete is None else concrete.transition_link(step)


def _exception(refinement: Refinement, step: str, seen: Excepted, abstract: Shelf | None) -> dict[str, Any]:
    operation = refinement.concrete.operation(step.partition("/")[0])
    speech = Speech.about(refinement.concrete, operation.over, operation.parameters)
    return {
        "otherwise": _seen_as(seen.otherwise, abstract),
        "reason": seen.reason,
        "where": inline(in_words(seen.where, speech)) if seen.where != Truth(True) else "",
    }


def _seen_as(seen: SeenAs, abstract: Shelf | None) -> str:
    """What a step is seen as; operations lead to their sections where the book has the abstract contract."""
    match seen:
        case Performs(operation):
            return named(operation) if abstract is None else abstract.transition_link(operation)
        case Stutters():
            return "no step"
        case Excepted(_, otherwise, where):
            told = _seen_as(otherwise, abstract)
            return f"*excepted*; else {told}" if where == Truth(True) else f"{told}, but for the steps excepted"
        case _:
            return " or ".join(_seen_as(one, abstract) for one in seen)


def _image(refinement: Refinement, image: Image) -> dict[str, Any]:
    speech = Speech.about(refinement.concrete, image.over)
    subject = image.subject.name
    same = not image.unseen and all(value == FieldOf(subject, name) for name, value in image.fields.items())
    return {
        "machine": image.machine,
        "same": same,
        "fields": [
            {
                "name": name,
                "value": _seen_value(value, speech),
                "uncompared": image.uncompared.get(name, ""),
            }
            for name, value in image.fields.items()
        ],
        "unseen": list(image.unseen.items()),
    }


def _seen_value(value: ValueTerm, speech: Speech) -> str:
    """A value in words; a chain of choices line by line."""
    lines: list[str] = []
    while isinstance(value, Choose):
        lines.append(f"{value_in_words(value.then, speech)} if {in_words(value.condition, speech)}")
        value = value.otherwise
    lines.append(f"else {value_in_words(value, speech)}" if lines else value_in_words(value, speech))
    return "<br>".join(inline(line) for line in lines)


@cache
def _write_of(name: str, locking: bool) -> tuple[Operation, Speech]:
    """The second step of an operation in two steps, and the way to speak of it."""
    (form,) = (form for form in (*SQLITE, *POSTGRESQL) if (form.name, form.locking) == (name, locking))
    contract = two_step_contract(form)
    write = contract.operation(f"{name}_write")
    return write, Speech.about(contract, write.over, write.parameters)


def _form(form: TwoSteps, updates: Sequence[Repeated] | None) -> dict[str, Any]:
    kind = "with a lock (PostgreSQL)" if form.locking else "without a lock (SQLite)"
    write, speech = _write_of(form.name, form.locking)
    found = {row.conjunct: row for row in updates or () if (row.operation, row.locking) == (form.name, form.locking)}
    rows: list[dict[str, Any]] = []
    for guard in form.repeats:
        row = found.get(guard.name)
        badge, without, picture = UNEXAMINED, "", ""
        if row is not None and row.broken is None:
            badge, without = Badge("unexplained", "open"), "nothing was found to break"
        elif row is not None and row.broken is not None:
            trace = row.broken.trace
            badge, without = Badge("necessary", "good"), f"{named(row.broken.statement)} breaks: {escaped(str(trace))}"
            picture = _picture(trace, f"{form.name} without {guard.name}", Focus((guard.term,), write.over))
        rows.append(
            {
                "guard": guard,
                "reading": inline(in_words(guard.term, speech)),
                "badge": badge,
                "without": without,
                "picture": picture,
            }
        )
    return {
        "name": form.name,
        "title": f"{_title(form.name)}, {kind}",
        "anchor": anchor("form", f"{form.name}-{'lock' if form.locking else 'plain'}"),
        "rows": rows,
    }


# --- what ends --------------------------------------------------------------------------------------------------------


def liveness_page(appendix: Appendix, main: Shelf) -> dict[str, Any]:
    """What the page about what comes to an end shows."""
    given = appendix.measures
    results = [MeasureResult(JOB_MEASURED, measure) for measure in MEASURES] if given is None else given
    return {
        "questions": [_question(question, answer, main) for question, answer in _asked(appendix.answers)],
        "measures": [_measure(result, main, given is not None) for result in results],
        "instants": [
            {"world": name, "badge": badge_of(verdict := instant.verdict()), "ground": ground_of(verdict)}
            for name, instant in appendix.instants.items()
        ],
    }


def _asked(answers: Sequence[Answer] | None) -> list[tuple[Question, Answer | None]]:
    """The questions of the model, with their answers where there are any; then those that were asked besides."""
    found = {answer.question.name: answer for answer in answers or ()}
    stated = [(question, found.pop(question.name, None)) for question in QUESTIONS]
    return [*stated, *((answer.question, answer) for answer in found.values())]


def _question(question: Question, answer: Answer | None, main: Shelf) -> dict[str, Any]:
    focus = Focus((question.live.statement,), question.live.over)
    stem = loop = ground = ""
    badge = UNEXAMINED
    if answer is not None:
        badge = _answered(answer)
        ground = f"{answer.states:,} relative states, {answer.live:,} of them live"
        if isinstance(answer.verdict(), Refuted):
            ground = f"{ground}; this is not what is expected"
        if answer.lasso is not None:
            stem = _picture(answer.lasso.stem, f"Into it: {question.name}", focus)
            if answer.lasso.loop.steps:
                loop = _picture(answer.lasso.loop, f"Round and round: {question.name}", focus)
    return {
        "question": question,
        "title": _title(question.name),
        "anchor": anchor("question", question.name),
        "fair": ", ".join(component.name for component in question.fair),
        "components": "; ".join(_component(component, main) for component in question.fair),
        "badge": badge,
        "ground": ground or NOT_EXAMINED,
        "stem": stem,
        "loop": loop,
    }


def _component(component: Component, main: Shelf) -> str:
    """Who is fair, and by which operations."""
    links = ", ".join(main.transition_link(name) for name in component.operations)
    return f"{escaped(component.name)} ({links})" if links else escaped(component.name)


def _answered(answer: Answer) -> Badge:
    """How an answer is marked: what was expected is good, whichever it is."""
    word = "it ends" if answer.ends else "it need not end"
    return Badge(word, "good" if isinstance(answer.verdict(), Held) else "bad")


def _measure(result: MeasureResult, main: Shelf, examined: bool) -> dict[str, Any]:
    speech = Speech.about(result.contract, result.measure.over)
    verdict = _all_held(result.measure.name, result.verdicts) if examined else Unknown(result.measure.name, "")
    parts: list[str] = []
    for part in result.measure.parts:
        told = ""
        for sign, term in (("plus", part.limit), ("plus", part.falling), ("less", part.rising)):
            if term != NOTHING:
                words = inline(value_in_words(term, speech))
                told = f"{told} {sign} {words}" if told else words if sign == "plus" else f"less {words}"
        parts.append(told)
    return {
        "measure": result.measure,
        "by": [main.transition_link(name) for name in result.measure.by],
        "anchor": anchor("measure", result.measure.name),
        "badge": badge_of(verdict) if examined else UNEXAMINED,
        "ground": ground_of(verdict) if examined else "",
        "parts": parts,
    }
