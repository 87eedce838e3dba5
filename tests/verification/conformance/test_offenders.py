"""Every offender is caught by a clause named for its fault, and a right implementation by none."""

import pytest

from fencepost_model.terms import Truth
from fencepost_verification.conformance.connect import Adapter
from fencepost_verification.conformance.offenders import CATALOGUE, Offender, judge_offenders, judged
from fencepost_verification.conformance.offenders.mutations import edited, not_setting, with_guard, without_guards
from fencepost_verification.conformance.reference import Reference
from fencepost_verification.conformance.run import run_conformance
from fencepost_verification.conformance.scope import Scope
from fencepost_verification.conformance.verdict import clauses_of
from fencepost_verification.evidence import EXIT_HELD, EXIT_REFUTED, EXIT_UNKNOWN

CLAUSES = {clause.name for clause in clauses_of(Reference.contract)}

ASKED_FOR = {
    "missing_fence_on_renew",
    "missing_fence_on_finish",
    "missing_fence_on_fail",
    "fence_with_at_least",
    "generation_not_raised_at_claim",
    "null_lease_not_recovered",
    "budget_off_by_one",
    "cancel_lost_at_recovery",
    "retry_after_cancel",
    "terminal_overwritten",
}


@pytest.mark.parametrize("offender", CATALOGUE, ids=lambda offender: offender.name)
def test_an_offender_is_caught_by_the_clause_named_for_its_fault(offender: Offender) -> None:
    catch = judged(offender)
    assert catch.caught, catch.reason
    assert set(catch.clauses) <= set(offender.caught_by)


@pytest.mark.parametrize("offender", CATALOGUE, ids=lambda offender: offender.name)
def test_an_offender_names_clauses_that_there_are(offender: Offender) -> None:
    assert offender.caught_by
    assert set(offender.caught_by) <= CLAUSES


def test_the_faults_to_begin_with_are_there() -> None:
    names = [offender.name for offender in CATALOGUE]
    assert set(names) >= ASKED_FOR
    assert len(names) == len(set(names))


def test_what_is_no_offender_is_missed_and_said_so(small: Scope) -> None:
    innocent = Offender("innocent", "none", ("renew.generation",), Reference)
    report = judge_offenders([innocent, CATALOGUE[0]], scopes=(small,))
    assert (report.caught, report.missed) == ([CATALOGUE[0].name], ["innocent"])
    assert report.exit_code == EXIT_REFUTED
    assert set(report.as_json()) == {"offenders", "caught", "missed", "calls", "seconds"}


def test_no_offenders_at_all_are_unknown() -> None:
    assert judge_offenders([]).exit_code == EXIT_UNKNOWN


def test_offenders_that_are_all_caught_hold() -> None:
    assert judge_offenders(CATALOGUE[:1]).exit_code == EXIT_HELD


def test_a_caught_offender_shows_the_shortest_failing_run() -> None:
    offender = next(o for o in CATALOGUE if o.name == "owner_alone_is_the_fence")
    report = run_conformance(Adapter(offender.name, offender.implementation))
    shown = {clause.name: clause.finding for clause in report.clauses if clause.finding is not None}
    finding = shown["renew.generation"]
    # A reset, a job, a claim, and the wrong token: there is no shorter way.
    assert [step.done.partition("(")[0] for step in finding.trace] == [
        "reset",
        "enqueue",
        "claim",
        "renew",
    ]
    guards = {conjunct.guard: (conjunct.model, conjunct.implementation) for conjunct in finding.conjuncts}
    assert guards["generation"] == (False, True)
    assert guards["owner"] == (True, True)
    # One fault is one clause, not one for each situation: the fence is missing on seven operations.
    assert {name for name in report.refuted() if "." in name} == {
        f"{o}.generation" for o in shown_operations(report.refuted())
    }


def shown_operations(names: tuple[str, ...]) -> set[str]:
    return {name.partition(".")[0] for name in names if "." in name}


@pytest.mark.parametrize(
    "edit",
    [
        without_guards("renew", "no_such_guard"),
        with_guard("renew", "no_such_guard", Truth(True)),
        not_setting("renew", "renewed", "no_such_field"),
    ],
)
def test_an_edit_that_changes_nothing_is_refused(edit: object) -> None:
    with pytest.raises(ValueError, match="changes nothing"):
        edited(Reference.contract, edit)  # type: ignore[arg-type]
