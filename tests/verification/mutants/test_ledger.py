"""The ledger calls a statement covered only if it is proved and some mutant breaks it, and says what follows."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from tests.verification.mutants.small_chapters import APPROVAL, about, with_statements

from fencepost_model.contract import Contract
from fencepost_model.shapes import Invariant, StepProperty, Variable
from fencepost_model.terms import Const, Equal, FieldOf, Missing, Not, implies, present
from fencepost_verification.evidence import Held, Refuted, Unknown
from fencepost_verification.mutants.judging import Executioner, Killed, MutantReport
from fencepost_verification.mutants.ledger import Entry, by_guard, ledger, summed_up
from fencepost_verification.mutants.making import mutants_of
from fencepost_verification.prove.prover import prove

PAYMENT = Variable("payment", "payment")
STATUS, FIRST, SECOND = (FieldOf("payment", name) for name in ("status", "first", "second"))

WEAKER = Invariant(
    "approved_has_a_first",
    "approval",
    (PAYMENT,),
    implies(Equal(STATUS, Const("approved")), present(FIRST)),
    "Part of what two_people says.",
)
UNTESTED = StepProperty(
    "lapsed_has_no_second",
    "approval",
    (PAYMENT,),
    Missing(FieldOf("payment", "second", after=True)),
    "No mutant gives a payment that lapses a second name.",
    of="lapse",
)
CONTRACT = with_statements(APPROVAL.contract, WEAKER, UNTESTED)
NAMES = [
    *(invariant.name for invariant in CONTRACT.invariants),
    *(statement.name for statement in CONTRACT.step_properties),
    *(progress.name for progress in CONTRACT.progress),
]


@cache
def report() -> MutantReport:
    chapter = about(APPROVAL, CONTRACT)
    executioner = Executioner(chapter)
    return MutantReport(chapter.name, tuple(executioner.fate(mutant) for mutant in mutants_of(CONTRACT)))


def entries(told: MutantReport, contract: Contract = CONTRACT) -> dict[str, Entry]:
    worlds = [world.name for world in APPROVAL.small_worlds]
    return {entry.statement: entry for entry in ledger(contract, prove(contract), told, worlds, ("hasty",))}


def test_every_statement_has_a_line_with_its_kind_and_its_checks() -> None:
    lines = entries(report())
    assert list(lines) == NAMES
    kinds = {"two_people": "invariant", "once": "step property", "no_limbo": "progress"}
    assert {name: lines[name].kind for name in kinds} == kinds
    assert lines["once"].checks == ("prove", "explore approval-small", "conform hasty")


def test_what_a_mutant_breaks_is_covered_and_what_it_alone_notices_is_told() -> None:
    told = report()
    lines = entries(told)
    for name, entry in lines.items():
        breaking = [killed for killed in told.killed if name in killed.broken]
        assert list(entry.kills) == [killed.name for killed in breaking]
        assert list(entry.alone) == [killed.name for killed in breaking if set(killed.broken) & set(NAMES) == {name}]
        assert entry.covered is bool(breaking)
    assert "approve: in_time shifted by one" in lines["in_time"].alone
    assert isinstance(lines["in_time"].verdict(), Held)
    assert lines["in_time"].remark == ""


def test_without_a_kill_a_statement_is_not_covered() -> None:
    line = entries(report())["lapsed_has_no_second"]
    assert isinstance(line.proof, Held)
    assert not line.covered
    assert line.kills == ()
    assert isinstance(line.verdict(), Unknown)
    assert line.remark == "no mutant breaks it"


def test_without_any_mutant_nothing_is_covered_but_what_follows() -> None:
    lines = entries(MutantReport("approval", ()))
    assert not any(line.covered for line in lines.values())
    held = {name for name, line in lines.items() if isinstance(line.verdict(), Held)}
    assert held == {name for name, line in lines.items() if line.follows_from is not None}
    assert "in_time" not in held


def test_one_that_follows_is_told_with_what_it_follows_from() -> None:
    line = entries(report())["approved_has_a_first"]
    assert line.follows_from == ("two_people",)
    assert line.alone == ()
    assert "two_people" in line.remark
    assert isinstance(line.verdict(), Held)


def test_one_that_follows_is_broken_by_no_mutant_alone() -> None:
    told = report()
    for line in entries(told).values():
        if line.follows_from is not None:
            for killed in told.killed:
                if line.statement in killed.broken:
                    assert set(killed.broken) & set(line.follows_from), (line.statement, killed.name)


def test_a_statement_that_is_false_is_refuted_however_many_mutants_break_it() -> None:
    false = replace(WEAKER, name="never_approved", statement=Not(Equal(STATUS, Const("approved"))))
    contract = with_statements(APPROVAL.contract, false)
    told = MutantReport("approval", (Killed("m", "lost", "never_approved", None, "w", {"never_approved": 1}),))
    line = entries(told, contract)["never_approved"]
    assert isinstance(line.verdict(), Refuted)
    assert not line.covered


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([], Unknown),
        ([Held("s", "proved")], Held),
        ([Held("s", "proved"), Unknown("s", "gave up")], Unknown),
        ([Held("s", "proved"), Refuted("s", "false")], Refuted),
        ([Unknown("s", "gave up"), Refuted("s", "false")], Refuted),
    ],
)
def test_the_obligations_of_a_statement_are_held_together(
    verdicts: list[Held | Refuted | Unknown], expected: type
) -> None:
    assert type(summed_up("s", verdicts)) is expected


def test_the_ledger_read_from_below_puts_the_shortest_run_first() -> None:
    told = report()
    read = by_guard(told)
    assert set(read) == {killed.name for killed in told.killed}
    for killed in told.killed:
        lengths = [killed.broken[name] for name in read[killed.name]]
        assert lengths == sorted(lengths)
        assert set(read[killed.name]) == set(killed.broken)
