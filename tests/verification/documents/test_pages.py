"""The pages: whatever the contract says is on them, in the words of the contract, and nothing is greener than it is."""

import os
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from fencepost_model.case_order import is_in_order, negations_of_earlier
from fencepost_model.contract import Contract, transition_name
from fencepost_model.machines.task import TASK_CONTRACT
from fencepost_model.semantics import conditions
from fencepost_model.shapes import Case, Guard, Invariant, Operation, Progress, Sort, StepProperty, Witness
from fencepost_verification.documents.evidence_input import (
    Evidence,
    Measurement,
    Obligation,
    OffenderFigures,
    Share,
    summed_up,
)
from fencepost_verification.documents.pages import (
    Pages,
    anchor_of,
    measured_page,
)
from fencepost_verification.documents.wording import Speech, in_words
from fencepost_verification.evidence import Held, Refuted, Unknown
from fencepost_verification.explore.necessity import Conjunct, Necessary, Redundant, Unexplained, conjuncts_of


class Anchored(HTMLParser):
    """The text below each element that has an id, and the classes that occur there."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: dict[str, list[str]] = {}
        self.classes: dict[str, list[str]] = {}
        self._open: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("br", "input", "meta", "link", "img"):
            return
        self._open.append((tag, given.get("id")))
        if given.get("id"):
            self.texts.setdefault(str(given["id"]), [])
        for _, anchor in self._open:
            if anchor:
                self.classes.setdefault(anchor, []).extend((given.get("class") or "").split())

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        for _, anchor in self._open:
            if anchor:
                self.texts[anchor].append(data)

    def text(self, anchor: str) -> str:
        return re.sub(r"\s+([.,:;])", r"\1", " ".join(" ".join(self.texts[anchor]).split()))


def parsed(page: str) -> Anchored:
    reader = Anchored()
    reader.feed(page)
    return reader


def bare(words: str) -> str:
    """A reading without its marks and without the parentheses that lists make needless."""
    return re.sub(r'[`"(),;:]', "", words)


def everything(contract: Contract) -> Iterator[tuple[Operation, Case | None, Guard]]:
    for operation in contract.operations:
        for case, guard in conditions(operation):
            yield operation, case, guard


@pytest.fixture(scope="module")
def files(evidence: Evidence) -> dict[str, str]:
    return Pages(evidence).files()


@pytest.fixture(scope="module")
def job_page(files: dict[str, str], contract: Contract) -> Anchored:
    return parsed(files[f"{contract.root.name}.md"])


# --- everything is there ----------------------------------------------------------------------------------------------


def test_every_machine_has_a_page(files: dict[str, str], contract: Contract) -> None:
    for machine in contract.machines:
        page = files[f"{machine.name}.md"]
        assert machine.meaning in unescape(page)
        for field in machine.fields:
            assert f'id="field-{field.name}"' in page
            assert field.meaning.partition(";")[0] in unescape(re.sub(r"<[^>]+>", "", page))
        for status in machine.statuses:
            assert f'id="status-{status.name}"' in page


def test_every_operation_has_a_section_with_its_cases(
    files: dict[str, str], job_page: Anchored, contract: Contract
) -> None:
    page = files[f"{contract.root.name}.md"]
    for operation in contract.operations:
        assert f"### {operation.name} {{ #{operation.name} }}" in page
        for case in operation.cases:
            text = job_page.text(f"{operation.name}.{case.name}")
            for assignment in case.effect:
                assert assignment.field.name in text


def test_every_guard_and_condition_stands_with_its_reading_clause_and_reason(
    job_page: Anchored, contract: Contract
) -> None:
    count = 0
    for operation, case, guard in everything(contract):
        text = job_page.text(anchor_of(Conjunct(operation.name, case.name if case else None, guard.name)))
        speech = Speech.about(contract, operation.over, operation.parameters)
        words = [word for word in bare(in_words(guard.term, speech)).split() if word not in ("both", "either")]
        assert guard.name in text
        assert guard.clause in text
        assert guard.why[1:] in text
        said = bare(text).split()
        assert [word for word in words if word not in said and word not in ("and", "or", "all", "not", "of")] == []
        count += 1
    assert count == len(list(conjuncts_of(contract)))


def test_the_table_of_statuses_is_that_of_the_contract(files: dict[str, str], contract: Contract) -> None:
    page = files[f"{contract.root.name}.md"]
    for status, row in contract.root.table.items():
        (line,) = [line for line in page.splitlines() if f'id="status-{status}"' in line]
        assert re.findall(r'<a href="#(\w+)">', line) == list(row)


def test_revivals_stand_in_a_table_of_their_own(evidence: Evidence) -> None:
    root = TASK_CONTRACT.root
    page = Pages(Evidence(TASK_CONTRACT)).files()[f"{root.name}.md"]
    before, after = page.split("### Revivals")
    for status in root.terminal:
        (line,) = [line for line in before.splitlines() if f'id="status-{status}"' in line]
        assert "*nothing*" in line, "a revival stands in the table of what may act"
    table, _ = after.split("## Fields")
    rows = [line for line in table.splitlines() if line.startswith("| <")]
    assert [re.findall(r'<a href="#(\w+)">', row) for row in rows] == [list(row) for row in root.revivals.values()]
    assert "### Revivals" not in Pages(evidence).files()[f"{evidence.contract.root.name}.md"]


def test_every_statement_and_witness_is_on_the_page_of_invariants(files: dict[str, str], contract: Contract) -> None:
    page = files["invariants.md"]
    text = unescape(re.sub(r"<[^>]+>", "", page))
    statements: list[Invariant | StepProperty | Progress | Witness] = [
        *contract.invariants,
        *contract.step_properties,
        *contract.progress,
        *contract.witnesses,
    ]
    for statement in statements:
        assert f"### {statement.name} {{ #" in page
        assert statement.meaning in text
        assert statement.clause in text


def test_every_setting_and_its_default_is_told(files: dict[str, str], contract: Contract) -> None:
    for setting in contract.settings:
        (line,) = [line for line in files["settings.md"].splitlines() if f'id="{setting.name}"' in line]
        shown = ("on" if setting.default else "off") if setting.sort is Sort.FLAG else str(setting.default)
        assert f"| {shown} |" in line


def test_every_sample_run_is_drawn_under_its_name(files: dict[str, str], evidence: Evidence) -> None:
    page = files["runs.md"]
    names = [run.name for runs in evidence.samples.values() for run in runs]
    headings = [unescape(line.removeprefix("### ")) for line in page.splitlines() if line.startswith("### ")]
    assert headings == names
    assert page.count("<svg") == len(names)


def test_the_protocol_page_tells_each_message_with_its_answers(files: dict[str, str]) -> None:
    page = unescape(files["protocol.md"])
    assert "\n## reset\n" in page
    assert "profile.lease_seconds" in page
    assert '{"ok": true}' in page
    assert "answer.reset" in files["protocol.schema.json"]


# --- necessity --------------------------------------------------------------------------------------------------------


def test_a_necessary_guard_shows_what_breaks_without_it(evidence: Evidence, job_page: Anchored) -> None:
    found = [finding for finding in evidence.necessity.values() if isinstance(finding, Necessary)]
    assert found
    for finding in found:
        anchor = anchor_of(finding.conjunct)
        assert f"Without it, {finding.statement} breaks" in job_page.text(anchor)
        assert "fp-forbidden" in job_page.classes[anchor]
        assert {"fp-badge", "fp-good"} <= set(job_page.classes[anchor])


def test_a_redundant_guard_names_what_implies_it(evidence: Evidence, job_page: Anchored) -> None:
    found = [finding for finding in evidence.necessity.values() if isinstance(finding, Redundant)]
    assert found
    for finding in found:
        assert f"Implied by {', '.join(finding.implied_by)}" in job_page.text(anchor_of(finding.conjunct))


def test_what_was_not_examined_or_not_explained_is_never_green(evidence: Evidence, contract: Contract) -> None:
    first, second, *_ = conjuncts_of(contract)
    page = parsed(
        Pages(replace(evidence, necessity={first: Unexplained(first, "nothing breaks")})).files()[
            f"{contract.root.name}.md"
        ]
    )
    assert "nothing breaks" in page.text(anchor_of(first))
    assert "not examined" in page.text(anchor_of(second))
    for conjunct in (first, second):
        assert "fp-good" not in page.classes[anchor_of(conjunct)]
        assert "fp-open" in page.classes[anchor_of(conjunct)]


def test_a_statement_names_the_guards_that_it_rests_on(evidence: Evidence, files: dict[str, str]) -> None:
    finding = next(f for f in evidence.necessity.values() if isinstance(f, Necessary))
    page = files["invariants.md"]
    section = page.partition(f"### {finding.statement} {{")[2].partition("\n### ")[0]
    assert f'href="job.html#{anchor_of(finding.conjunct)}"' in section
    for conjunct in evidence.resting_on(finding.statement):
        assert anchor_of(conjunct) in section


# --- verdicts ---------------------------------------------------------------------------------------------------------


def section_of(evidence: Evidence, statement: str) -> str:
    page = Pages(evidence).files()["invariants.md"]
    return page.partition(f"### {statement} {{")[2].partition("\n### ")[0]


@pytest.mark.parametrize(
    ("verdict", "word"), [(Unknown("x", "no time"), "unknown"), (Refuted("x", "a run breaks it"), "refuted")]
)
def test_one_obligation_that_is_not_held_decides(
    evidence: Evidence, contract: Contract, verdict: Unknown | Refuted, word: str
) -> None:
    name = contract.invariants[0].name
    changed = replace(
        evidence, obligations=(*evidence.obligations, Obligation("one more", "step", name, None, verdict))
    )
    section = section_of(changed, name)
    assert f">{word}</span>" in section
    assert ">held</span>" not in section
    assert verdict.reason[1:] in section
    assert f"one more: {verdict.reason}" in unescape(Pages(changed).files()["evidence.md"])


def test_a_statement_without_obligations_is_unknown(evidence: Evidence, contract: Contract) -> None:
    section = section_of(replace(evidence, obligations=()), contract.invariants[0].name)
    assert ">unknown</span>" in section


def test_verdicts_add_up() -> None:
    held, unknown, refuted = Held("x", "y"), Unknown("x", "y"), Refuted("x", "y")
    assert isinstance(summed_up("x", []), Unknown)
    assert isinstance(summed_up("x", [held, held]), Held)
    assert summed_up("x", [held, unknown]) is unknown
    assert summed_up("x", [unknown, refuted, held]) is refuted


def test_a_witness_without_a_run_is_not_shown_as_reached(evidence: Evidence, contract: Contract) -> None:
    witness = contract.witnesses[0].name
    (figures,) = evidence.worlds
    missing = replace(evidence, worlds=(replace(figures, witnesses={witness: None}),))
    page = Pages(missing).files()["invariants.md"]
    section = page.partition(f"{{ #witness-{witness} }}")[2].partition("\n### ")[0]
    assert "not shown" in section
    assert "fp-good" not in section


def test_an_offender_that_got_away_stands_out(evidence: Evidence) -> None:
    free = replace(evidence, offenders=(OffenderFigures("sly", "it lies", None),))
    assert "**not caught**" in Pages(free).files()["evidence.md"]


def test_a_share_of_nothing_is_not_whole() -> None:
    assert not Share(0, 0).is_whole
    assert not Share(9, 10).is_whole
    assert Share(10, 10).is_whole


def test_evidence_of_another_contract_is_refused(evidence: Evidence) -> None:
    stranger = Conjunct("claim", None, "whim")
    with pytest.raises(ValueError, match=r"claim\.whim"):
        replace(evidence, necessity={stranger: Redundant(stranger, ())})
    with pytest.raises(ValueError, match="steal"):
        replace(evidence, samples={"steal": ()})
    (figures,) = evidence.worlds
    with pytest.raises(ValueError, match="fail/wildly"):
        replace(evidence, worlds=(replace(figures, taken={"fail/wildly": 1}),))


# --- the order of cases -----------------------------------------------------------------------------------------------


def test_cases_in_order_are_numbered_and_tell_only_their_own_conditions(contract: Contract, job_page: Anchored) -> None:
    several = [operation for operation in contract.operations if len(operation.cases) > 1]
    assert several
    for operation in several:
        assert is_in_order(operation)
        for number, case in enumerate(operation.cases, start=1):
            assert job_page.text(f"{operation.name}.{case.name}").startswith(f"{number} {case.name}:")
            assert list(negations_of_earlier(operation, case).values()) == [
                c.name for c in operation.cases[: number - 1]
            ]


def test_cases_that_only_exclude_each_other_are_not_numbered(contract: Contract) -> None:
    operation = next(operation for operation in contract.operations if len(operation.cases) > 2)
    first, second, *others = operation.cases
    unordered = replace(operation, cases=(second, first, *others))
    assert not is_in_order(unordered)


# --- the pages as a whole ---------------------------------------------------------------------------------------------


def test_every_page_says_that_it_is_generated_and_how(files: dict[str, str]) -> None:
    for name, text in files.items():
        head = text[:300]
        assert "Generated by" in head, name
        assert "fencepost-verify documents" in head, name
        assert "not edit" in head, name


def test_two_processes_write_the_same_pages(evidence: Evidence, tmp_path: Path) -> None:
    """Whatever seed their sets are ordered by."""
    (tmp_path / "evidence").write_bytes(pickle.dumps(evidence))
    program = (
        "import hashlib, pickle, sys; from fencepost_verification.documents.pages import Pages;"
        "pages = Pages(pickle.load(open(sys.argv[1], 'rb')));"
        "told = sorted(pages.files().items()), sorted(pages.diagrams().items());"
        "print(hashlib.sha256(repr(told).encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / "evidence")],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


def test_no_page_tells_seconds_that_a_check_took(files: dict[str, str]) -> None:
    assert not re.search(
        r"\d(?:\.\d+)? (?:s|ms|states/s)\b(?! pass)", re.sub(r"<svg.*?</svg>", "", files["evidence.md"])
    )


def test_what_was_measured_is_told_on_its_own_page() -> None:
    page = measured_page([Measurement("explored", 1234567.0, "states/s"), Measurement("proved", 1.23456, "s")])
    assert "| proved | 1.23 s |" in page
    assert "| explored | 1,234,567 states/s |" in page
    assert "Nothing was measured" in measured_page([])


def test_transitions_are_counted_by_world(files: dict[str, str], contract: Contract) -> None:
    for operation, case in contract.transitions():
        assert f"| [`{transition_name(operation, case)}`](job.md#{operation.name}) | 12 |" in files["evidence.md"]
