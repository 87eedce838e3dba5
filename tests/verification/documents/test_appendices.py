"""The appendices: what was found is on them, what was not examined is not green, and every link leads somewhere."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from html import unescape
from posixpath import normpath

import pytest

from fencepost_model.decisions import DECISIONS, cites, decision_named
from fencepost_model.error_codes import FAILURE_KINDS, KNOWN_CODES, PATTERNS, REGISTERED, UnclassifiedCode, classify
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.latitude import LATITUDE
from fencepost_model.machines.job_measure import JOB_MEASURED, MEASURES
from fencepost_model.machines.job_questions import QUESTIONS
from fencepost_model.machines.slot_as_job import SLOT_REFINES_JOB
from fencepost_model.machines.task_as_job import TASK_REFINES_JOB
from fencepost_model.machines.two_step_claim import SQLITE
from fencepost_model.queues import PARTIAL_INDEXES, QUEUES
from fencepost_model.refinement import statements
from fencepost_model.semantics import conditions
from fencepost_model.specification import SPECIFICATION
from fencepost_model.timing import BEATS_DELAYED, BOUNDS
from fencepost_model.vocabulary import EXTENSIONS, VOCABULARY
from fencepost_verification.appendix_results import code_results, time_results
from fencepost_verification.documents.appendices import (
    THE_SEVEN,
    Appendix,
    ChapterLedger,
    ClockResult,
    MeasureResult,
    RefinementResult,
    TimeResults,
    appendix_files,
)
from fencepost_verification.documents.book import Book
from fencepost_verification.documents.diagrams import arrows
from fencepost_verification.documents.evidence_input import Evidence, SampleRun
from fencepost_verification.documents.pages import APPENDICES, Pages
from fencepost_verification.documents.word_index import Sort, places, source_words
from fencepost_verification.evidence import Held, Refuted, Trace, Unknown, Verdict
from fencepost_verification.explore.fairness import answered
from fencepost_verification.findings.catalogue import GAPS, find
from fencepost_verification.findings.evidence import RunEvidence
from fencepost_verification.findings.finding import Finding
from fencepost_verification.mutants.judging import Equivalent, Killed, MutantReport, Survivor
from fencepost_verification.mutants.ledger import Entry
from fencepost_verification.prove import vocabularies, words
from fencepost_verification.prove.timing import bound_proofs
from fencepost_verification.refining import Break, Repeated

CHAPTERS = tuple(Evidence(c.contract, title=c.title, meaning=c.meaning) for c in SPECIFICATION)
JOB = CHAPTERS[:1]
GOOD, BAD, OPEN = 'fp-badge fp-good"', 'fp-badge fp-bad"', 'fp-badge fp-open"'
SHOWN = ("An owner is no fence", "A batch is resumed without end", "Errors that are raised and never declared")


def text_of(page: str) -> str:
    """A page as a reader sees it, without marks."""
    run_on = re.sub(r"</?(?:code|a|span|strong|em)\b[^>]*>", "", page)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", run_on)).split())


def section(page: str, anchor: str) -> str:
    """A page from one heading or row to the next heading."""
    begin = re.search(rf'\{{ #{re.escape(anchor)} \}}|id="{re.escape(anchor)}"', page)
    assert begin is not None, anchor
    end = re.search(r"^#{2,3} ", page[begin.end() :], re.MULTILINE)
    line = page.rfind("\n", 0, begin.start()) + 1
    return page[line : begin.end() + (end.start() if end else len(page))]


@cache
def whole_book() -> dict[str, str]:
    """Every page of the whole specification, with no results."""
    appendices = {**Pages(CHAPTERS[0]).word_files(), **appendix_files(Appendix(), CHAPTERS)}
    return Book(CHAPTERS[0], CHAPTERS[1:], appendices).files()


@cache
def anchors() -> dict[str, frozenset[str]]:
    """For each page of the book, by its address, the anchors that it has."""
    found: dict[str, frozenset[str]] = {}
    for name, text in whole_book().items():
        if name.endswith(".md"):
            ids = re.findall(r'\bid="([^"]+)"', text) + re.findall(r"^#+ .*\{ #(\S+)", text, re.MULTILINE)
            found[f"{name.removesuffix('.md')}.html"] = frozenset(unescape(each) for each in ids)
    return found


def broken(page: str, text: str) -> Iterator[str]:
    """The links of a page that lead nowhere in the book."""
    folder = page.rpartition("/")[0]
    for address in re.findall(r'href="([^"]+)"', text):
        path, _, fragment = unescape(address).partition("#")
        target = normpath(f"{folder}/{path}" if folder else path) if path else f"{page.removesuffix('.md')}.html"
        if target not in anchors() or (fragment and fragment not in anchors()[target]):
            yield f"{page}: {address}"


# --- the book as a whole ----------------------------------------------------------------------------------------------


def test_there_is_a_page_for_each_line_of_the_overview() -> None:
    pages = {**Pages(CHAPTERS[0]).word_files(), **appendix_files(Appendix(), JOB)}
    assert set(pages) == set(APPENDICES)
    overview = whole_book()["index.md"]
    for name, what in APPENDICES.items():
        assert f"]({name}) | {what}" in overview
    for text in pages.values():
        assert "Generated by `fencepost-verify documents`" in text


def test_an_appendix_without_chapters_is_refused() -> None:
    with pytest.raises(ValueError, match="give at least the main one"):
        appendix_files(Appendix(), ())


def test_every_link_of_an_appendix_leads_to_a_page_and_an_anchor() -> None:
    count = 0
    for name in APPENDICES:
        text = whole_book()[name]
        count += text.count("href=")
        assert list(broken(name, text)) == []
    assert count > 2000


def test_every_link_of_a_chapter_leads_to_a_page_and_an_anchor() -> None:
    for name, text in whole_book().items():
        if "/" in name:
            assert list(broken(name, text)) == []


def test_every_arrow_leads_to_its_transition() -> None:
    """In the folders of chapters too, and where the operation is about another machine, hence on another page."""
    elsewhere = 0
    for number, evidence in enumerate(CHAPTERS):
        contract = evidence.contract
        folder = f"{contract.name}/" if number else ""
        drawings = Pages(evidence).diagrams()
        for machine in contract.machines:
            if not machine.statuses:
                continue
            dot = drawings[f"{machine.name}.svg"][0]
            told = set(re.findall(r'HREF="([^"]+)"', dot))
            for arrow in arrows(contract, machine):
                case = f".{arrow.case.name}" if len(arrow.operation.cases) > 1 else ""
                page = arrow.operation.subject.machine
                wanted = f"{'' if page == machine.name else f'{page}.html'}#{arrow.operation.name}{case}"
                elsewhere += page != machine.name
                assert wanted in told
            svg = f'--8<-- "reference/{folder}{machine.name}.svg"'
            assert svg in whole_book()[f"{folder}{machine.name}.md"]
            assert list(broken(f"{folder}{machine.name}.md", " ".join(f'href="{each}"' for each in told))) == []
    assert elsewhere > 0


def test_every_guard_says_why_it_is_there() -> None:
    for evidence in CHAPTERS:
        for operation in evidence.contract.operations:
            for _, guard in conditions(operation):
                assert guard.why, f"{evidence.contract.name}: {operation.name}.{guard.name}"


def test_nothing_is_green_that_was_not_examined() -> None:
    for name in APPENDICES:
        page = whole_book()[name]
        assert GOOD not in page, name
        assert BAD not in page, name
    for name in ("errors.md", "profiles.md", "timing.md", "refinements.md", "liveness.md", "findings.md", "ledger.md"):
        assert "not examined" in whole_book()[name]


# --- words ------------------------------------------------------------------------------------------------------------


def test_every_word_of_the_sources_is_found_within_two_clicks() -> None:
    """From the overview to the index, and from the index to the page and the anchor that explain the word."""
    book = whole_book()
    assert "](words.md)" in book["index.md"]
    listed = places([evidence.contract for evidence in CHAPTERS])
    wanted = [(word.sort, word.word) for word in source_words()]
    wanted += [(Sort.STATUS, word) for queue in QUEUES for word in queue.words]
    wanted += [(Sort.CODE, code) for code in (*(known.code for known in KNOWN_CODES), *REGISTERED, *FAILURE_KINDS)]
    wanted += [(Sort.FIELD, name) for field in (*VOCABULARY, *EXTENSIONS) for name in (field.name, *field.aliases)]
    assert len(set(wanted)) > 120
    for sort, word in wanted:
        start = rf'^\| <span id="{sort.name.lower()}-[^"]*"><code[^>]*>{_marked(word)}</code>.*$'
        (row,) = re.findall(start, book["words.md"], re.MULTILINE)
        links = re.findall(r'href="([^"]+)"', row)
        assert links, word
        assert list(broken("words.md", row)) == []
        assert [place.address for place in listed[sort][word]] == [unescape(link) for link in links]


def _marked(word: str) -> str:
    return re.escape(re.sub(r"[*_`|\[\]\\]", lambda found: f"&#{ord(found.group())};", word))


def test_every_status_and_operation_of_every_machine_is_in_the_index() -> None:
    listed = places([evidence.contract for evidence in CHAPTERS])
    for number, evidence in enumerate(CHAPTERS):
        contract = evidence.contract
        folder = f"{contract.name}/" if number else ""
        for machine in contract.machines:
            for status in machine.statuses:
                address = f"{folder}{machine.name}.html#status-{status.name}"
                assert address in {place.address for place in listed[Sort.STATUS][status.name]}
        for operation in contract.operations:
            address = f"{folder}{operation.subject.machine}.html#{operation.name}"
            assert address in {place.address for place in listed[Sort.OPERATION][operation.name]}


def test_a_word_of_the_sources_that_no_chapter_explains_is_told_so() -> None:
    page = appendix_files(Appendix(), JOB)["words.md"]
    (row,) = re.findall(r'^\| <span id="status-resolving".*$', page, re.MULTILINE)
    assert "in no chapter of this book" in row
    assert places([JOB_CONTRACT])[Sort.STATUS]["resolving"] == []


# --- error codes ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def errors() -> str:
    verdicts = (*words.totality(), Refuted("no code fits X", "one does"), Unknown("the rest", "z3 gives up"))
    return appendix_files(Appendix(codes=code_results(verdicts)), JOB)["errors.md"]


def test_every_overlap_is_shown_by_a_code_that_fits_both_patterns(errors: str) -> None:
    table = errors.partition("## Patterns that overlap")[2].partition("### Families")[0]
    shown = [row for row in re.findall(r"^\| (.*) \|$", table, re.MULTILINE)[2:] if row]
    met = [pair for pair in words.pattern_overlaps() if pair.witness is not None]
    assert len(shown) == len(met) > 50
    for row, pair in zip(shown, met, strict=True):
        one, other, code, outcome = (text_of(cell) for cell in row.split(" | "))
        assert one == f"{words.written(pair.one)} {pair.one.family.value}"
        assert other == f"{words.written(pair.other)} {pair.other.family.value}"
        assert pair.one.matches(code)
        assert pair.other.matches(code)
        if outcome == "refused":
            with pytest.raises(UnclassifiedCode):
                classify(code)
        else:
            assert classify(code).value == outcome


def test_no_overlap_is_missed_that_a_known_code_shows(errors: str) -> None:
    """The codes of the source, each of which fits patterns of more than one family."""
    for code in (
        "LEASE_TIMEOUT_MAX_ATTEMPTS",
        "RENDER_QUEUE_FULL",
        "RENDER_WORKER_FAILED",
        "BUILD_LEASE_OWNER_MISMATCH",
    ):
        fitting = [pattern for pattern in PATTERNS if pattern.matches(code)]
        pairs = [(a, b) for a in fitting for b in fitting if a.family is not b.family]
        assert pairs
        for one, other in pairs:
            shown = (f"{words.written(one)} {one.family.value}", f"{words.written(other)} {other.family.value}")
            told = text_of(errors.partition("## Patterns that overlap")[2])
            assert any(f"{a} | {b} |" in told for a, b in (shown, shown[::-1]))


def test_every_code_stands_with_its_family_and_source(errors: str) -> None:
    for known in KNOWN_CODES:
        (row,) = re.findall(rf'^\| <span id="code-{known.code}".*$', errors, re.MULTILINE)
        cells = [text_of(cell) for cell in row.strip("| ").split(" | ")]
        assert cells[1] == known.family.value
        assert cells[2] == ("yes" if known.retryable else "no")
        assert cells[3] == ("registration" if known.registered else "its pattern")
        assert known.source in cells[4]


def test_what_is_not_held_of_codes_is_shown(errors: str) -> None:
    assert "one does" in errors
    assert "z3 gives up" in errors
    assert errors.count(BAD) == errors.count(f"{OPEN}>unknown") == 1


def test_the_orders_are_told(errors: str) -> None:
    orders = words.orders()
    told = text_of(errors)
    assert f"of the six families, {orders.bare} classify" in told
    assert f"{orders.one_registered} do; with all registrations {orders.registered}." in told
    for earlier, later in orders.forced:
        assert f"- {earlier.value} before {later.value}" in errors


# --- profiles ---------------------------------------------------------------------------------------------------------


def test_every_queue_has_its_words_numbers_columns_and_verdicts() -> None:
    page = appendix_files(Appendix(vocabularies=vocabularies.check()), JOB)["profiles.md"]
    parts = re.split(r"^## ", page, flags=re.MULTILINE)
    for queue in QUEUES:
        (part,) = [part for part in parts if part.startswith(f"{queue.number}. {queue.name} ")]
        told = text_of(part)
        for word in queue.words:
            assert f'id="word-{queue.name}-{word}"' in part
        assert all(alias.source in told for alias in queue.aliases)
        assert all(extra.source in told for extra in queue.extras)
        for cited in (queue.lease, queue.heartbeat, queue.max_attempts, queue.poll, queue.retention):
            assert cited.source in told
            assert cited.why in told
            for value, source in cited.against:
                assert f"({source})" in told
                assert f"{value:g}" in told
        for table in queue.tables:
            for field in VOCABULARY:
                if field.name not in table.lacks:
                    assert table.columns.column(field.name) in told
        for gap in queue.gaps:
            assert all(name in part for name in cites(gap.mended_by))
        assert part.count(GOOD) == 3
    assert all(text_of(index.predicate) in text_of(page) for index in PARTIAL_INDEXES)
    assert BAD not in page


def test_one_verdict_that_is_not_held_marks_the_queue() -> None:
    verdicts = [
        Refuted(v.statement, "two fields on one column") if v.statement.startswith("RenderRequest: no two") else v
        for v in vocabularies.check()
    ]
    page = appendix_files(Appendix(vocabularies=verdicts), JOB)["profiles.md"]
    (row,) = re.findall(r"^\| 10 \|.*$", page, re.MULTILINE)
    assert "refuted" in row
    assert "Two fields on one column" in page


# --- time, latitude ---------------------------------------------------------------------------------------------------


def test_every_bound_stands_with_its_proof_and_the_numbers_beyond_it() -> None:
    results = time_results()
    page = appendix_files(Appendix(time=results), JOB)["timing.md"]
    assert [proof.bound for proof in results.bounds] == list(BOUNDS)
    for proof in results.bounds:
        part = section(page, f"bound-{proof.bound.name}")
        told = text_of(part)
        assert proof.bound.statement in told
        assert all(meaning in told for meaning in (*proof.bound.settings.values(), *proof.bound.events.values()))
        assert part.count(GOOD) == 2
        assert proof.beyond is not None
        (numbers,) = re.findall(r"^\| ---:.*\n\| (.*) \|$", part, re.MULTILINE)
        shown = dict(zip(proof.beyond, map(float, numbers.split(" | ")), strict=True))
        assert shown == pytest.approx({name: float(value) for name, value in proof.beyond.items()}, rel=1e-5)
    for row in results.endurance:
        assert f"{row.lease:g} s" in page
    assert OPEN not in page


def test_a_bound_that_is_refuted_is_shown_so() -> None:
    (proof,) = bound_proofs((BEATS_DELAYED,))
    wrong = replace(proof, needed=Refuted("needed", "some settings without it are safe as well"))
    page = appendix_files(Appendix(time=TimeResults((wrong,))), JOB)["timing.md"]
    assert "safe as well" in section(page, f"bound-{BEATS_DELAYED.name}")
    assert page.count(BAD) == 2
    assert "not examined" in section(page, f"bound-{BOUNDS[0].name}")


def test_every_choice_stands_with_its_options_and_default() -> None:
    page = whole_book()["latitude.md"]
    for choice in LATITUDE:
        part = section(page, f"choice-{choice.name}")
        told = text_of(part)
        assert choice.question in told
        assert all(option.meaning in told for option in choice.options)
        assert choice.told_by in told
        rows = [row for row in part.splitlines() if row.endswith("default |")]
        assert len(rows) == 1
        assert choice.default in text_of(rows[0])
        assert part.count("departs from the model") == sum(option.departs for option in choice.options)


# --- findings and decisions -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def findings() -> list[Finding]:
    """A run, a lasso, and one of whatever else there is."""
    kinds: dict[str, str] = {}
    chosen = [gap for gap in GAPS if gap.title in SHOWN]
    for finding in find(gaps=(*chosen, *GAPS[-12:]), settle=False):
        if finding.evidence is not None:
            kinds.setdefault(finding.evidence.kind, finding.title)
    return find(gaps=tuple(gap for gap in GAPS if gap in chosen or gap.title in kinds.values()), settle=False)


def test_every_finding_stands_with_its_sources_evidence_and_decision(findings: list[Finding]) -> None:
    resolved = [replace(finding, resolution=Held("asked", "proved")) for finding in findings[:1]]
    nothing = replace(findings[-1], number=len(findings), evidence=None)
    shown = [*resolved, *findings[1:-1], nothing]
    page = appendix_files(Appendix(findings=shown), JOB)["findings.md"]
    for finding in shown:
        part = section(page, f"finding-{finding.number}")
        told = text_of(part)
        assert finding.title in told
        assert finding.gap.statement.rstrip(".") in told
        assert all(source in told for source in finding.gap.sources)
        assert finding.gap.decision in told
        if finding.evidence is None:
            assert ">refuted<" in part
        else:
            assert finding.evidence.kind in told
            assert " ".join(finding.evidence.text.split()) in told
        assert ("on no list before" in told) == finding.new
        for name in cites(f"{finding.gap.decision} {finding.gap.clause}"):
            assert f'href="decisions.html#{name.lower()}"' in part
    assert "<svg" in section(page, f"finding-{shown[0].number}")
    assert f"{len(shown)} findings: {len(shown) - 1} shown, 1 refuted" in page


def test_a_run_that_a_finding_shows_is_drawn_step_by_step(findings: list[Finding]) -> None:
    (finding,) = [finding for finding in findings if finding.title == SHOWN[0]]
    page = appendix_files(Appendix(findings=[finding]), JOB)["findings.md"]
    assert isinstance(finding.evidence, RunEvidence)
    trace: Trace = finding.evidence.trace
    drawn = page.partition("<svg")[2]
    for step in trace.steps:
        assert step.transition == "tick" or step.transition.partition("/")[0] in drawn


def test_the_decisions_are_numbered_without_a_gap() -> None:
    assert [decision.number for decision in DECISIONS] == list(range(1, len(DECISIONS) + 1))
    assert decision_named("D-14").number == 14
    with pytest.raises(KeyError):
        decision_named("D-0")


def test_every_decision_tells_who_cites_it() -> None:
    page = whole_book()["decisions.md"]
    citing: dict[str, set[str]] = {}
    for evidence in CHAPTERS:
        contract = evidence.contract
        for operation in contract.operations:
            for _, guard in conditions(operation):
                for name in cites(guard.clause):
                    citing.setdefault(name, set()).add(f"{operation.name}")
        stated = [(each.name, each.clause) for each in contract.invariants]
        stated += [(each.name, each.clause) for each in contract.step_properties]
        stated += [(each.name, each.clause) for each in contract.progress]
        for statement, clause in stated:
            for name in cites(clause):
                citing.setdefault(name, set()).add(statement)
    assert set(citing) <= {decision.id for decision in DECISIONS}
    for decision in DECISIONS:
        part = text_of(section(page, decision.id.lower()))
        assert decision.answer in part
        assert all(name in part for name in citing.get(decision.id, ()))
    assert len(citing) > 15


def test_a_clause_cites_each_decision_once() -> None:
    assert cites("§2 fail, D-5; D-29 and D-5") == ("D-5", "D-29")
    assert cites("§2 claim") == ()
    assert cites("XD-5, D-") == ()


# --- the ledger -------------------------------------------------------------------------------------------------------


def ledger_of(entries: Sequence[Entry], report: MutantReport) -> str:
    return appendix_files(Appendix(ledgers=[ChapterLedger("job", entries, report)]), CHAPTERS)["ledger.md"]


def entry(
    statement: str, kills: tuple[str, ...], alone: tuple[str, ...] = (), follows: tuple[str, ...] | None = None
) -> Entry:
    return Entry(
        "job",
        statement,
        "invariant",
        "INV-6",
        Held(statement, "unbounded"),
        kills,
        alone,
        follows,
        ("prove", "explore w"),
    )


def test_a_statement_that_nothing_breaks_is_never_shown_as_covered() -> None:
    report = MutantReport(
        "job",
        (
            Killed("claim: pending dropped", "dropped", "INV-6", None, "small", {"INV-6": 3, "INV-7": 4}),
            Equivalent("claim: due shifted", "shifted by one"),
            Survivor("renew: lease lost", "lost", "no statement breaks"),
        ),
    )
    entries = (entry("INV-6", ("claim: pending dropped",)), entry("INV-7", ()), entry("leaf", (), (), ("INV-6",)))
    page = ledger_of(entries, report)
    rows = {row.split(" | ")[0]: row for row in page.splitlines() if row.startswith("| <a")}
    (covered,) = [row for name, row in rows.items() if "invariants.html#INV-6" in name]
    (bare,) = [row for name, row in rows.items() if "invariants.html#INV-7" in name]
    assert "held" in covered
    assert "unknown" not in covered
    assert "unknown" in bare
    assert "no mutant breaks it" in bare
    assert "it follows from INV-6" in page
    assert "1 of 3 statements are covered, 1 follow from others by proof" in page
    assert "Of 3 mutants 1 are noticed, 1 do what the contract does, 1 survive" in page
    assert "no statement breaks" in page
    assert text_of(page).count("claim: due shifted") == 1


def test_the_seven_invariants_come_first_each_where_it_is_stated() -> None:
    page = ledger_of((entry("INV-6", ("m1", "m2"), ("m2",)),), MutantReport("job", ()))
    table = page.partition("## The seven invariants")[2].partition("\n## ")[0]
    for name in THE_SEVEN:
        assert f'<span id="{name}">' in table
    (row,) = [row for row in table.splitlines() if 'id="INV-6"' in row]
    assert "| 2 | 1 |" in row
    assert table.count("not examined") == len([row for row in table.splitlines() if row.startswith("| ")]) - 3
    alone = appendix_files(Appendix(), JOB)["ledger.md"]
    (row,) = [row for row in alone.splitlines() if 'id="INV-2"' in row]
    assert "no chapter of this book states it" in row


# --- refinements ------------------------------------------------------------------------------------------------------


def test_a_refinement_stands_with_its_mapping_exceptions_and_verdict() -> None:
    names = [statement.name for statement in statements(TASK_REFINES_JOB)]
    verdicts: list[Verdict] = [Held(name, "unbounded") for name in names[1:]]
    verdicts.append(Refuted(names[0], "a run breaks it"))
    results = [RefinementResult(TASK_REFINES_JOB, verdicts)]
    page = appendix_files(Appendix(refinements=results), CHAPTERS)["refinements.md"]
    part = page.partition("{ #refinement-task-as-the-job }")[2].partition("\n## ")[0]
    told = text_of(part)
    for step, reason in TASK_REFINES_JOB.exceptions().items():
        assert step in told
        assert reason.partition("cancel_wins")[0] in told
    for image in TASK_REFINES_JOB.images:
        assert all(name in told for name in (*image.fields, *image.unseen))
        assert all(reason in told for reason in image.unseen.values())
    assert "a run breaks it" in told
    assert "refuted" in part
    assert 'href="task/task.html#' in part
    other = page.partition("{ #refinement-render-request-as-the-job }")[2].partition("\n## ")[0]
    assert "not examined" in other
    assert all(step in text_of(other) for step in SLOT_REFINES_JOB.exceptions())


def test_each_conjunct_of_an_update_is_told_with_what_breaks_without_it(
    samples: dict[str, tuple[SampleRun, ...]],
) -> None:
    form = SQLITE[0]
    first, second, *_ = form.repeats
    trace = samples["claim"][0].trace
    broken_by = Break("claim_write refines claim", trace)
    updates = [
        Repeated(form.name, False, first.name, first.clause, broken_by),
        Repeated(form.name, False, second.name, second.clause, None),
    ]
    page = appendix_files(Appendix(updates=updates), JOB)["refinements.md"]
    part = page.partition(f"{{ #form-{form.name}-plain }}")[2].partition("\n### ")[0]
    rows = [row for row in part.splitlines() if row.startswith("| <code")]
    assert [guard.name for guard in form.repeats] == [text_of(row.split(" | ")[0]).strip("| ") for row in rows]
    assert "necessary" in rows[0]
    assert str(trace) in text_of(rows[0])
    assert "unexplained" in rows[1]
    assert "not examined" in rows[2]
    assert part.count("<svg") == 1


def test_clocks_tell_what_is_exempt_and_why() -> None:
    results = [ClockResult("job", (), (Held("a", "unbounded"), Unknown("b", "z3 gives up")))]
    page = appendix_files(Appendix(clocks=results), CHAPTERS)["refinements.md"].partition("{ #clocks }")[2]
    (row,) = [row for row in page.splitlines() if row.startswith("| The durable job | 0 |")]
    assert "unknown" in row
    assert "z3 gives up" in row
    assert page.count("not examined") == len(CHAPTERS) - 1


# --- what ends --------------------------------------------------------------------------------------------------------


def test_every_question_stands_with_its_answer_and_the_loop() -> None:
    answers = [answered(question) for question in QUESTIONS[-2:]]
    page = appendix_files(Appendix(answers=answers), JOB)["liveness.md"]
    for answer in answers:
        (part,) = [p for p in re.split(r"^## ", page, flags=re.MULTILINE) if answer.question.meaning in text_of(p)]
        assert f"{answer.states:,} relative states" in part
        assert answer.lasso is not None
        assert part.count("<svg") == 1 + bool(answer.lasso.loop.steps)
        assert 'fp-good">it need not end' in part
        assert all(component.name in part for component in answer.question.fair)
    assert page.count("Not examined.") == len(QUESTIONS) - len(answers)


def test_an_answer_that_was_not_expected_is_not_green() -> None:
    answer = answered(QUESTIONS[-1])
    wrong = replace(answer, question=replace(answer.question, ends=True))
    page = appendix_files(Appendix(answers=[wrong]), JOB)["liveness.md"]
    assert 'fp-bad">it need not end' in page
    assert "not what is expected" in page
    assert GOOD not in page


def test_a_measure_tells_its_parts_and_operations() -> None:
    measured = [MeasureResult(JOB_MEASURED, MEASURES[0], (Held("lowered", "unbounded"),))]
    page = appendix_files(Appendix(measures=measured), JOB)["liveness.md"].partition("{ #measures }")[2]
    told = text_of(page)
    assert "max_attempts less attempt_count" in told
    assert all(f'href="job.html#{name}"' in page for name in MEASURES[0].by)
    assert GOOD in page
