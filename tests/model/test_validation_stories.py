"""Runs of one validation, and the pure decision of the gate: above all the case that the published code let pass."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from fencepost_model.machines.validation import VALIDATION_CONTRACT
from fencepost_model.semantics import Accepted, Call, Member, Population, Refused, Row, Semantics, State
from fencepost_model.terms import Value
from fencepost_model.validation_gate import Judgement, Stage, is_validation_passed, judgement, may_write


@dataclass
class Story:
    """One result; after each step everything that the contract states is looked at."""

    state: State = field(init=False)
    semantics: Semantics = field(init=False)

    def __post_init__(self) -> None:
        self.semantics = Semantics(VALIDATION_CONTRACT, Population(Member("validation", "result")), {})
        self.state = next(self.semantics.initial())

    @property
    def row(self) -> Row:
        return self.state.rows[0][0]

    def shows(self, **expected: Value) -> None:
        assert {name: self.row[name] for name in expected} == expected

    def take(self, operation: str, **params: Value) -> str:
        call = Call(operation, 0, {"result": 0}, params)
        outcome = self.semantics.attempt(self.state, call)
        assert isinstance(outcome, Accepted), f"{operation} is refused: {outcome}"
        assert self.semantics.broken_step_properties(self.state, call, outcome.state) == ()
        assert self.semantics.broken_invariants(outcome.state) == ()
        self.state = outcome.state
        return outcome.case.name

    def refused(self, operation: str, **params: Value) -> set[str]:
        outcome = self.semantics.attempt(self.state, Call(operation, 0, {"result": 0}, params))
        assert isinstance(outcome, Refused), f"{operation} is allowed: {outcome}"
        return set(outcome.guards)


def checked(*, page: bool, compiled: str, rendered: str | None = None) -> Story:
    story = Story()
    story.take("open", require_render=page)
    story.take("record_compile", outcome=compiled)
    if rendered is not None:
        story.take("record_render", outcome=rendered)
    return story


def test_a_page_without_a_renderer_neither_passes_nor_is_the_author_told_that_it_is_wrong() -> None:
    story = checked(page=True, compiled="passed", rendered="unavailable")
    story.shows(status="unavailable", retryable=True, error_family="INFRA", valid=False)
    assert story.refused("write_version", override=False) == {"passed_or_overridden"}
    story.shows(version_written=False)


def test_an_override_writes_the_version_and_stays_on_record() -> None:
    story = checked(page=True, compiled="passed", rendered="unavailable")
    assert story.take("write_version", override=True) == "overridden"
    story.shows(status="unavailable", valid=False, overridden=True, override_event=True, version_written=True)
    assert story.refused("check_again") == {"nothing_written"}


@pytest.mark.parametrize("compiled", ["unavailable", "skipped"])
def test_an_override_does_not_stand_in_for_a_compile(compiled: str) -> None:
    story = checked(page=True, compiled=compiled)
    story.shows(status="unavailable", render="skipped")
    assert story.refused("write_version", override=True) == {"passed_or_overridden"}


def test_an_override_does_not_excuse_a_page_that_is_wrong() -> None:
    story = checked(page=True, compiled="passed", rendered="failed")
    story.shows(status="failed", error_family="CONTENT", retryable=False)
    assert "judged" in story.refused("write_version", override=True)


def test_a_warning_about_the_content_passes() -> None:
    story = checked(page=True, compiled="passed", rendered="warning")
    story.shows(status="passed", valid=True)
    assert story.take("write_version", override=True) == "passed"
    story.shows(overridden=False)
    assert story.refused("write_version", override=False) == {"unwritten"}


def test_a_component_needs_its_compile_alone() -> None:
    story = checked(page=False, compiled="passed")
    story.shows(status="passed", render="skipped")


def test_what_was_unavailable_is_checked_again_from_the_start() -> None:
    story = checked(page=True, compiled="passed", rendered="unavailable")
    story.take("check_again")
    story.shows(status="checking", compile=None, render=None, error_family=None, valid=None)
    assert story.refused("record_render", outcome="passed") == {"compiled"}
    story.take("record_compile", outcome="passed")
    story.take("record_render", outcome="passed")
    story.shows(status="passed")


@pytest.mark.parametrize("compiled", list(Stage))
@pytest.mark.parametrize("rendered", list(Stage))
@pytest.mark.parametrize("required", [False, True])
def test_the_decision_over_all_stages(compiled: Stage, rendered: Stage, required: bool) -> None:
    passed = compiled is Stage.PASSED and (not required or rendered in (Stage.PASSED, Stage.WARNING))
    assert is_validation_passed(compiled, rendered, require_render=required) is passed
    told = judgement(compiled, rendered, require_render=required)
    assert (told is Judgement.PASSED) is passed
    if Stage.FAILED not in (compiled, rendered) and compiled is not Stage.WARNING:
        assert told is not Judgement.FAILED, "nobody is at fault where nothing was looked at"
    assert may_write(compiled, rendered, require_render=required) is passed
    overridden = may_write(compiled, rendered, require_render=required, override=True)
    assert overridden is (passed or (compiled is Stage.PASSED and rendered in (Stage.UNAVAILABLE, Stage.SKIPPED)))
