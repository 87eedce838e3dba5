"""The obligations as text for another solver: it agrees on what holds, sees what does not, and is not easily fooled."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.verification.prove.miniatures import ALL_DONE, BATCH, BATCHES, PART
from tests.verification.two_levels import TWO_LEVELS

from fencepost_model.contract import Contract
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.machines.admission import ADMISSION_CONTRACT
from fencepost_model.shapes import Invariant
from fencepost_model.terms import Less, Setting, Truth
from fencepost_verification.conformance.offenders.mutations import edited, not_setting
from fencepost_verification.evidence import Held, Refuted, Unknown, Verdict
from fencepost_verification.prove.bounded import GaveUp
from fencepost_verification.prove.cvc5_session import ScriptRefused, answers
from fencepost_verification.prove.obligations import Kind
from fencepost_verification.prove.prover import BY_FRAME, Proof, prove
from fencepost_verification.prove.smt import Answer
from fencepost_verification.prove.smtlib import Opinion, Section, disagreements, second_opinion, sections, write

BROKEN = edited(JOB_CONTRACT, not_setting("succeed", "succeeded", "worker_id"))
"""Succeeding leaves the owner where it is."""


@pytest.fixture(scope="module")
def succeed() -> Section:
    return next(section for section in sections(JOB_CONTRACT) if section.name == "succeed" and len(section.queries) > 9)


@dataclass(frozen=True)
class Asked:
    """What both solvers say of a contract, and how the second opinion came along."""

    proof: Proof
    opinions: list[Opinion]
    told: list[tuple[str, int]]

    @classmethod
    def about(cls, contract: Contract) -> Asked:
        told: list[tuple[str, int]] = []
        proof = prove(contract, search=lambda contract, sought: GaveUp("not asked for here"))
        return cls(proof, second_opinion(contract, lambda name, done: told.append((name, done))), told)


@pytest.fixture(scope="module")
def right() -> Asked:
    return Asked.about(JOB_CONTRACT)


@pytest.fixture(scope="module")
def wrong() -> Asked:
    return Asked.about(BROKEN)


def test_cvc5_holds_what_z3_holds_obligation_by_obligation(right: Asked) -> None:
    asked = [o.name for o in right.proof.obligations if o.kind is not Kind.LEGACY_ROW]
    assert Counter(opinion.name for opinion in right.opinions) == Counter(asked)
    assert [opinion.name for opinion in right.opinions if not isinstance(opinion.verdict, Held)] == []
    assert disagreements(right.proof, right.opinions) == []
    assert right.told[-1][1] == len(right.opinions) > 1_900
    framed = [o for o in right.opinions if isinstance(o.verdict, Held) and o.verdict.how == BY_FRAME]
    assert len(framed) == len(right.proof.by_frame)


@pytest.mark.parametrize("contract", [ADMISSION_CONTRACT, BATCHES, TWO_LEVELS], ids=lambda contract: contract.name)
def test_cvc5_decides_what_quantifies_too(contract: Contract) -> None:
    """Receptiveness among any number of members included, which takes instances that matching does not find."""
    asked = Asked.about(contract)
    assert [o.name for o in asked.opinions if not isinstance(o.verdict, Held)] == []
    assert disagreements(asked.proof, asked.opinions) == []
    assert Kind.PROGRESS in {o.kind for o in asked.opinions}


def test_what_quantifies_is_refuted_and_found_vacuous_too() -> None:
    close = next(o for o in BATCHES.operations if o.name == "close")
    careless = replace(close, guards=tuple(guard for guard in close.guards if guard != ALL_DONE))
    operations = tuple(careless if o.name == "close" else o for o in BATCHES.operations)
    asked = Asked.about(replace(BATCHES, operations=operations, checked=False))
    refuted = [o.name for o in asked.opinions if isinstance(o.verdict, Refuted)]
    assert refuted == [o.name for o in asked.proof.obligations if o.label is not None] != []
    no_part = Invariant("no_part", "toy", (BATCH, PART), Truth(False), "toy")
    asked = Asked.about(replace(BATCHES, invariants=(*BATCHES.invariants, no_part)))
    assert disagreements(asked.proof, asked.opinions) == []
    (vacuous,) = (o.verdict for o in asked.opinions if o.name == "finish keeps ready_when_done")
    assert isinstance(vacuous, Unknown)
    assert "vacuous" in vacuous.reason


def test_both_solvers_find_a_broken_contract(wrong: Asked) -> None:
    failing = {o.name for o in wrong.proof.obligations if o.label is not None}
    assert "succeed keeps lease_off_unless_running" in failing
    assert {opinion.name for opinion in wrong.opinions if isinstance(opinion.verdict, Refuted)} == failing
    assert disagreements(wrong.proof, wrong.opinions) == []


def test_a_solver_that_errs_is_found_out(right: Asked, wrong: Asked) -> None:
    """Either of them, one way or the other."""
    failing = [o.name for o in wrong.proof.obligations if o.label is not None]

    def refuted(found: list[Verdict]) -> list[str]:
        return [verdict.statement for verdict in found if isinstance(verdict, Refuted)]

    assert refuted(disagreements(right.proof, wrong.opinions)) == failing
    assert refuted(disagreements(wrong.proof, right.opinions)) == failing
    missing = disagreements(right.proof, right.opinions[1:])
    assert [verdict.statement for verdict in missing] == [right.opinions[0].name]
    assert isinstance(missing[0], Unknown)


def test_what_is_supposed_and_cannot_be_is_vacuous() -> None:
    impossible = replace(JOB_CONTRACT, settings_assumed=Less(Setting("max_polls"), Setting("max_polls")), checked=False)
    opinions = second_opinion(impossible, about=frozenset({"error_noted"}))
    assert opinions
    assert all(isinstance(o.verdict, Unknown) for o in opinions)
    inductive = [o.verdict for o in opinions if o.kind is Kind.INDUCTIVE]
    assert all(isinstance(verdict, Unknown) and "vacuous" in verdict.reason for verdict in inductive)


def test_no_time_is_no_answer() -> None:
    hard = second_opinion(JOB_CONTRACT, about=frozenset({"every_job_ends"}), milliseconds=1)
    assert not any(isinstance(opinion.verdict, Refuted) for opinion in hard)


# --- scripts ----------------------------------------------------------------------------------------------------------


def test_a_script_for_one_obligation_stands_by_itself(succeed: Section) -> None:
    query = next(q for q in succeed.queries if q.statement == "lease_off_unless_running")
    script = succeed.alone(query)
    assert answers(script) == [Answer.SATISFIABLE, Answer.UNSATISFIABLE]
    assert script.startswith("(set-option")


def test_a_tampered_script_is_found_out(succeed: Section) -> None:
    """Less is supposed: then the obligation can fail. More: then its hypothesis cannot be true."""
    query = next(q for q in succeed.queries if q.statement == "current_token_holds")
    script = succeed.alone(query)
    assertions = re.findall(r"^\(assert", script, re.MULTILINE)
    assert len(assertions) > 20
    head, _, questions = script.partition("; what is supposed")
    declared = "".join(re.findall(r"^\(declare.*\n", head, re.MULTILINE))
    bare = f"(set-option :incremental true)\n(set-logic ALL)\n{declared}; {questions}"
    assert answers(bare) == [Answer.SATISFIABLE, Answer.SATISFIABLE]
    assert answers(f"{head}(assert false)\n; {questions}")[0] is Answer.UNSATISFIABLE
    with pytest.raises(ScriptRefused):
        answers(script.replace("(declare-sort job 0)\n", ""))
    with pytest.raises(ScriptRefused):
        answers(script.replace("(check-sat)", "(check-sat"))


def test_scripts_are_written_one_a_section(tmp_path: Path) -> None:
    contract: Contract = JOB_CONTRACT
    written = write(contract, tmp_path / "scripts")
    names = [section.name for section in sections(contract)]
    assert [name.partition(" ")[2] for name in written] == names
    path = next(path for name, path in written.items() if name.endswith(" renew") and "renewed" not in name)
    told = answers(path.read_text(encoding="utf-8"))
    assert told[0] is Answer.SATISFIABLE
    assert set(told[1:]) == {Answer.UNSATISFIABLE}
