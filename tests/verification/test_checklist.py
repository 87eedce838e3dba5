"""The list of all checks: a check is held only if all of it is, and one that looked at nothing is unknown."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner

from fencepost_model.specification import SPECIFICATION
from fencepost_verification import checklist
from fencepost_verification.checklist import Checklist, Outcome, refinements, verdict_on_finding
from fencepost_verification.cli import publishing
from fencepost_verification.cli.main import app
from fencepost_verification.evidence import EXIT_HELD, EXIT_REFUTED, EXIT_UNKNOWN, Held, Refuted, Unknown, Verdict
from fencepost_verification.findings.catalogue import GAPS
from fencepost_verification.findings.finding import Finding

HELD, REFUTED, UNKNOWN = Held("a", "seen"), Refuted("b", "broken"), Unknown("c", "not seen")


@pytest.mark.parametrize(
    ("verdicts", "word", "code"),
    [
        ((HELD,), "held", EXIT_HELD),
        ((HELD, REFUTED, UNKNOWN), "refuted", EXIT_REFUTED),
        ((HELD, UNKNOWN), "unknown", EXIT_UNKNOWN),
        ((), "unknown", EXIT_UNKNOWN),
    ],
)
def test_a_check_is_held_only_if_all_of_it_is(verdicts: tuple[Verdict, ...], word: str, code: int) -> None:
    done = Checklist()
    done.run("a check", "something", lambda: verdicts)
    (outcome,) = done.outcomes
    assert outcome.verdict == word
    assert done.exit_code == code


def test_without_any_check_nothing_is_established() -> None:
    assert Checklist().exit_code == EXIT_UNKNOWN


def test_one_refuted_check_decides_for_all() -> None:
    done = Checklist()
    done.run("good", "", lambda: (HELD,))
    done.run("open", "", lambda: (UNKNOWN,))
    done.run("bad", "", lambda: (REFUTED,))
    assert done.exit_code == EXIT_REFUTED


def test_a_check_that_raises_is_not_swallowed() -> None:
    def broken() -> Iterator[Verdict]:
        yield HELD
        raise RuntimeError("out of order")

    with pytest.raises(RuntimeError, match="out of order"):
        Checklist().run("a check", "something", broken)


def test_the_command_reports_each_check_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    done = Checklist(outcomes=[Outcome("one", "is it so?", (HELD,), 0.1), Outcome("two", "and that?", (UNKNOWN,), 0.2)])
    monkeypatch.setattr(checklist, "everything", lambda _told: done)
    monkeypatch.setattr(publishing, "everything", lambda _told: done, raising=False)
    result = CliRunner().invoke(app, ["all", "--json"])
    told = json.loads(result.stdout)
    assert result.exit_code == EXIT_UNKNOWN
    assert told["verdict"] == "unknown"
    assert {name: check["verdict"] for name, check in told["checks"].items()} == {"one": "held", "two": "unknown"}
    assert told["checks"]["two"]["unknown"] == ["c"]


def test_a_finding_that_the_model_has_too_is_no_success() -> None:
    gap = GAPS[0]
    assert isinstance(verdict_on_finding(Finding(1, gap, None, None)), Held)
    assert isinstance(verdict_on_finding(Finding(1, gap, None, REFUTED)), Refuted)
    assert isinstance(verdict_on_finding(Finding(1, gap, None, UNKNOWN)), Unknown)


def test_a_claim_of_our_own_needs_evidence_and_a_candidate_may_be_refuted() -> None:
    candidate = next(gap for gap in GAPS if gap.candidate is not None)
    ours = next(gap for gap in GAPS if gap.candidate is None)
    assert isinstance(verdict_on_finding(Finding(1, candidate, None, None)), Held)
    assert isinstance(verdict_on_finding(Finding(2, ours, None, None)), Refuted)


def test_refinements_have_names_of_their_own() -> None:
    listed = refinements()
    assert len(listed) == 8
    assert all(name == refinement.name for name, refinement in listed.items())


def test_the_seven_invariants_are_stated_in_some_chapter() -> None:
    told: list[str] = []
    for chapter in SPECIFICATION:
        told += [f"{each.name} {each.clause}" for each in chapter.contract.invariants]
        told += [f"{each.name} {each.clause}" for each in chapter.contract.step_properties]
    for number in range(1, 8):
        assert any(f"INV-{number}" in text for text in told), number
