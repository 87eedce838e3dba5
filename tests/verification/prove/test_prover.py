"""Every obligation of the job's contract holds, and a contract that is broken on purpose is not called held."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.verification.prove.miniatures import (
    ALL_DONE,
    BATCH,
    BATCHES,
    COUNT,
    COUNTER,
    COUNTING,
    PART,
    READ_AT,
    some_part,
    status,
)

from fencepost_model.contract import Contract
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.machines.job import JOB, STEP_PROPERTIES, job
from fencepost_model.shapes import Case, Invariant, Operation, Progress
from fencepost_model.terms import (
    AtMost,
    Const,
    Equal,
    FieldOf,
    Less,
    Missing,
    Not,
    Now,
    Some,
    Truth,
    TruthTerm,
    all_of,
    implies,
)
from fencepost_verification.evidence import Held, Refuted, Tick, Trace, Unknown, replayed
from fencepost_verification.prove import smt
from fencepost_verification.prove.bounded import Ambiguity, BoundedSearch, Found, GaveUp, ScopeExhausted, Sought
from fencepost_verification.prove.counterexamples import ReadingsDisagree
from fencepost_verification.prove.obligations import Kind, keys_of
from fencepost_verification.prove.prover import Label, Obligation, Proof, prove

SHALLOW = BoundedSearch(depth=4)


def no_search(contract: Contract, sought: Sought) -> Found:
    return GaveUp("nobody looked")


def changed(contract: Contract, change: Callable[[Operation], Operation]) -> Contract:
    return replace(contract, operations=tuple(change(operation) for operation in contract.operations), checked=False)


def without_guard(contract: Contract, name: str, guard: str) -> Contract:
    def change(operation: Operation) -> Operation:
        if operation.name != name:
            return operation
        kept = tuple(candidate for candidate in operation.guards if candidate.name != guard)
        assert len(kept) + 1 == len(operation.guards)
        return replace(operation, guards=kept)

    return changed(contract, change)


def with_cases(contract: Contract, name: str, change: Callable[[Case], Case]) -> Contract:
    def rebuild(operation: Operation) -> Operation:
        if operation.name != name:
            return operation
        return replace(operation, cases=tuple(change(case) for case in operation.cases))

    return changed(contract, rebuild)


def without_effect(contract: Contract, name: str, field: FieldOf) -> Contract:
    def change(case: Case) -> Case:
        return replace(case, effect=tuple(each for each in case.effect if each.field != field))

    return with_cases(contract, name, change)


def replayed_trace(obligation: Obligation) -> Trace:
    """The run of a refuted obligation, walked once more."""
    verdict = obligation.verdict
    assert isinstance(verdict, Refuted)
    assert verdict.trace is not None
    assert obligation.label is Label.REACHABLE
    trace = verdict.trace
    again = replayed(trace.semantics, trace.start, [step.move for step in trace.steps])
    assert again.end == trace.end
    return again


@pytest.fixture(scope="module")
def proof() -> Proof:
    return prove(JOB_CONTRACT)


# --- the job ----------------------------------------------------------------------------------------------------------


def test_every_obligation_of_the_job_holds(proof: Proof) -> None:
    assert [o.name for o in (*proof.refuted, *proof.unknown)] == []
    assert len(proof.held) == proof.count
    assert len({o.name for o in proof.obligations}) == proof.count


def test_the_obligations_of_the_job_are_so_many(proof: Proof) -> None:
    """Pinned, so that none gets lost unseen when the contract or the prover changes."""
    assert Counter(o.kind for o in proof.obligations) == {
        Kind.INDUCTIVE: 32 * 35,
        Kind.STEP: 843,
        Kind.OCCURS: 75,
        Kind.INITIAL: 2 * 35,
        Kind.DETERMINISTIC: 41,
        Kind.COMPLETE: 13,
        Kind.LEGACY_ROW: 5,
        Kind.PROGRESS: 5,
    }
    assert len(proof.by_frame) == 244


def test_frozen_terminals_monotone_generations_and_no_limbo_show_by_name(proof: Proof) -> None:
    transitions = len(list(JOB_CONTRACT.transitions()))
    for name in ("terminal_frozen", "generation_monotone", "INV-6", "INV-7"):
        steps = [o for o in proof.about(name) if o.kind is Kind.STEP]
        assert len(steps) == len({o.transition for o in steps}) == transitions
    assert [o.kind for o in proof.about("no_limbo")] == [Kind.PROGRESS]


def test_every_statement_has_an_obligation_for_each_transition_that_it_speaks_of(proof: Proof) -> None:
    for invariant in JOB_CONTRACT.invariants:
        kinds = Counter(o.kind for o in proof.about(invariant.name))
        assert kinds[Kind.INDUCTIVE] == len(list(JOB_CONTRACT.transitions())) + 1
        assert kinds[Kind.INITIAL] == 2
    for statement in STEP_PROPERTIES:
        spoken_of = [o for o, _ in JOB_CONTRACT.transitions() if statement.speaks_of(o)]
        assert sum(o.kind is Kind.STEP for o in proof.about(statement.name)) == len(spoken_of)


@pytest.mark.parametrize(("frame", "grouped"), [(False, True), (True, False), (False, False)])
def test_shortcuts_change_no_verdict(proof: Proof, frame: bool, grouped: bool) -> None:
    """What is held by frame, or as one of a group, is held when the solver is asked for it alone."""
    slow = prove(JOB_CONTRACT, frame=frame, grouped=grouped)
    assert [(o.name, type(o.verdict)) for o in slow.obligations] == [
        (o.name, type(o.verdict)) for o in proof.obligations
    ]
    assert frame or not slow.by_frame


def test_shortcuts_change_no_verdict_of_a_broken_contract() -> None:
    broken = without_effect(JOB_CONTRACT, "recover", job("lease_generation"))
    fast, slow = prove(broken, search=no_search), prove(broken, search=no_search, frame=False, grouped=False)
    verdicts = [(o.name, type(o.verdict)) for o in fast.obligations]
    assert [(o.name, type(o.verdict)) for o in slow.obligations] == verdicts
    assert fast.unknown


# --- the job, broken --------------------------------------------------------------------------------------------------


def test_a_claim_that_raises_no_generation_is_refuted_by_a_run() -> None:
    broken = prove(without_effect(JOB_CONTRACT, "claim", job("lease_generation")), search=SHALLOW)
    (fence,) = (o for o in broken.refuted if o.name == "claim keeps token_not_ahead")
    trace = replayed_trace(fence)
    assert trace.steps[-1].transition == "claim"
    assert trace.semantics.broken_invariants(trace.end)
    assert {o.name for o in broken.refuted} >= {"claim obeys start_raises_generation"}
    assert fence.counterexample is not None
    assert fence.counterexample.call is not None
    assert fence.counterexample.call.operation == "claim"


def test_a_lease_that_is_alive_at_its_very_end_is_refuted() -> None:
    def weaken(operation: Operation) -> Operation:
        guards = tuple(
            replace(guard, term=AtMost(guard.term.left, guard.term.right))
            if guard.name == "lease_alive" and isinstance(guard.term, Less)
            else guard
            for guard in operation.guards
        )
        return replace(operation, guards=guards)

    broken = prove(changed(JOB_CONTRACT, weaken), search=SHALLOW)
    (late,) = (o for o in broken.refuted if o.name == "succeed obeys holder_only")
    trace = replayed_trace(late)
    last = trace.steps[-1]
    assert last.before.now == last.before.rows[0][0]["lease_expires_at"]
    assert any(isinstance(step.move, Tick) for step in trace.steps)


def test_a_stale_token_that_may_finish_is_refuted() -> None:
    broken = prove(without_guard(JOB_CONTRACT, "succeed", "generation"), search=SHALLOW)
    assert [o.name for o in broken.refuted] == ["succeed obeys holder_only"]
    assert replayed_trace(broken.refuted[0]).steps[-1].transition == "succeed"


def test_a_contract_without_expiry_leaves_a_job_in_limbo() -> None:
    no_limbo = next(p for p in JOB_CONTRACT.progress if p.name == "no_limbo")
    fewer = replace(no_limbo, bound=("claim", "resume_poll", "recover"))
    broken = prove(replace(JOB_CONTRACT, progress=(fewer,)), search=SHALLOW)
    (obligation,) = broken.refuted
    assert obligation.kind is Kind.PROGRESS
    end = replayed_trace(obligation).end.rows[0][0]
    assert end["status"] in ("pending", "waiting_provider")


def test_cases_that_overlap_and_cases_that_leave_a_gap_are_refuted() -> None:
    def overlapping(case: Case) -> Case:
        return replace(case, when=tuple(guard for guard in case.when if guard.name != "not_overdue"))

    overlap = prove(with_cases(JOB_CONTRACT, "recover", overlapping), search=SHALLOW)
    clashes = [o for o in overlap.refuted if o.kind is Kind.DETERMINISTIC]
    assert {o.name for o in clashes} >= {"recover: overdue excludes requeued", "recover: overdue excludes exhausted"}
    (requeued,) = (o for o in overlap.refuted if o.name == "recover/requeued obeys overdue_never_requeued")
    assert replayed_trace(requeued).steps[-1].transition == "recover/requeued"
    for clash in clashes:
        seen = clash.counterexample
        assert seen is not None
        assert seen.call is not None
        assert len(seen.semantics.cases(seen.before, seen.call)) > 1

    def shortened(operation: Operation) -> Operation:
        return replace(operation, cases=operation.cases[:-1]) if operation.name == "release" else operation

    gap = prove(changed(JOB_CONTRACT, shortened), search=SHALLOW)
    assert [(o.name, o.kind) for o in gap.refuted] == [("release: some case is open", Kind.COMPLETE)]
    trace = replayed_trace(gap.refuted[0])
    assert trace.end.rows[0][0]["status"] == "running"


def test_an_impossible_invariant_makes_what_rests_on_it_vacuous_and_not_held() -> None:
    never = Invariant("never", "none", (JOB,), Truth(False), "nothing is ever so")
    broken = prove(replace(JOB_CONTRACT, invariants=(*JOB_CONTRACT.invariants, never)), search=SHALLOW)
    resting = {Kind.INDUCTIVE, Kind.STEP, Kind.DETERMINISTIC, Kind.COMPLETE, Kind.PROGRESS, Kind.OCCURS}
    found = [o for o in broken.obligations if o.kind in resting]
    assert len(found) > 1900
    for obligation in found:
        assert isinstance(obligation.verdict, Unknown)
        assert obligation.verdict.reason.startswith("vacuous")
    assert {o.name for o in broken.refuted} == {"empty rows satisfy never", "legacy rows satisfy never"}


def test_a_transition_that_can_never_be_taken_is_vacuous_alone() -> None:
    def blocked(case: Case) -> Case:
        never = replace(case.when[0], name="never", term=Truth(False))
        return replace(case, when=(*case.when, never)) if case.name == "requeued" else case

    broken = prove(with_cases(JOB_CONTRACT, "recover", blocked), search=no_search)
    vacuous = [o for o in broken.unknown if isinstance(o.verdict, Unknown) and o.verdict.reason.startswith("vacuous")]
    assert {o.transition for o in vacuous if o.kind is not Kind.OCCURS} == {"recover/requeued"}
    assert all(isinstance(o.verdict, Held) for o in broken.obligations if o.transition == "recover/exhausted")


def test_a_legacy_row_that_the_predicate_does_not_admit_is_reported() -> None:
    root, *others = JOB_CONTRACT.machines
    row = replace(root.legacy_rows[0], fields={**root.legacy_rows[0].fields, "poll_count": 1})
    odd = replace(JOB_CONTRACT, machines=(replace(root, legacy_rows=(row,)), *others))
    (refused,) = prove(odd, search=no_search).refuted
    assert refused.kind is Kind.LEGACY_ROW


# --- what is supposed of what -----------------------------------------------------------------------------------------


def one_part_at_most() -> Contract:
    """A contract of batches with at most one part, and a guard less."""
    over = (*BATCHES.invariants[2].over, replace(BATCHES.invariants[2].over[1], name="other"))
    alone = Invariant("alone", "toy", over, Truth(False), "no two parts belong to one batch")
    ready = Invariant("never_ready", "toy", over[:1], Not(Equal(FieldOf("batch", "status"), Const("ready"))), "toy")
    operations = tuple(
        replace(o, guards=tuple(g for g in o.guards if g != ALL_DONE)) if o.name == "close" else o
        for o in BATCHES.operations
        if o.name != "give_up"
    )
    return replace(
        BATCHES, operations=operations, invariants=(alone, ready), progress=(), step_properties=(), checked=False
    )


def test_invariants_are_not_supposed_of_entities_that_need_not_exist() -> None:
    """With two parts there is no lawful state at all; a batch with one part breaks the statement all the same."""
    broken = prove(one_part_at_most(), search=no_search)
    (failing,) = (o for o in broken.obligations if o.name == "close keeps never_ready")
    assert failing.label is Label.UNDECIDED
    assert failing.counterexample is not None
    assert len(failing.counterexample.before.rows[0]) <= 2


def test_a_contract_with_quantifiers_is_proved_for_any_number_of_children() -> None:
    proof = prove(BATCHES, search=no_search)
    assert len(proof.held) == proof.count == 50
    alone = prove(BATCHES, search=no_search, frame=False, grouped=False)
    assert [(o.name, type(o.verdict)) for o in alone.obligations] == [
        (o.name, type(o.verdict)) for o in proof.obligations
    ]


@pytest.mark.parametrize(
    ("operation", "guard", "refuted"),
    [
        ("close", "all_done", "close keeps ready_when_done"),
        ("give_up", "one_bad", "give_up keeps failed_for_a_reason"),
        ("finish", "todo", "finish obeys parts_end_once"),
    ],
)
def test_a_quantifying_contract_without_a_guard_is_refuted(operation: str, guard: str, refuted: str) -> None:
    broken = prove(without_guard(BATCHES, operation, guard), search=SHALLOW)
    assert [o.name for o in broken.refuted] == [refuted]
    assert replayed_trace(broken.refuted[0]).steps[-1].transition == operation
    assert broken.unknown == ()


def test_what_a_step_does_to_one_child_is_seen_by_a_quantifier_over_all() -> None:
    """Without its guards a part of a batch that is ready may be spoilt."""
    careless = without_guard(without_guard(BATCHES, "spoil", "todo"), "spoil", "open")
    broken = prove(replace(careless, step_properties=()), search=BoundedSearch(depth=5, children=1))
    (ready,) = (o for o in broken.refuted if o.name == "spoil keeps ready_when_done")
    assert [step.transition for step in replayed_trace(ready).steps] == ["begin", "finish", "close", "spoil"]


def test_what_takes_more_members_than_are_named_occurs_all_the_same() -> None:
    """A small population is looked at first; what it cannot show is asked of any number of members."""
    mixed = all_of(some_part("done"), some_part("bad"), Some("any", "part", "batch", Missing(FieldOf("any", "state"))))
    late = Invariant("mixed_is_not_ready", "toy", (BATCH,), implies(mixed, Not(status("ready"))), "toy")
    contract = replace(BATCHES, invariants=(*BATCHES.invariants, late))
    assert sum("part" in key for key in keys_of(contract)) < 3
    proof = prove(contract, search=no_search)
    assert len(proof.held) == proof.count
    assert [o.kind for o in proof.about(late.name)].count(Kind.OCCURS) == 1
    never = replace(late, statement=implies(all_of(mixed, Not(some_part("bad"))), Not(status("ready"))))
    contract = replace(BATCHES, invariants=(*BATCHES.invariants, never))
    (vacuous,) = (o.verdict for o in prove(contract, search=no_search).about(late.name) if o.kind is Kind.OCCURS)
    assert isinstance(vacuous, Unknown)
    assert vacuous.reason.startswith("vacuous")


def test_with_quantifiers_too_what_rests_on_the_impossible_is_vacuous() -> None:
    """No batch may have a part: what speaks of parts holds of nothing, what speaks of batches alone holds."""
    no_part = Invariant("no_part", "toy", (BATCH, PART), Truth(False), "toy")
    proof = prove(replace(BATCHES, invariants=(*BATCHES.invariants, no_part)), search=no_search)
    verdicts = {o.name: o.verdict for o in proof.obligations}
    assert isinstance(verdicts["close keeps ready_when_done"], Held)
    for name in ("finish keeps ready_when_done", "close keeps nothing_before", "finish: some case is open"):
        verdict = verdicts[name]
        assert isinstance(verdict, Unknown)
        assert verdict.reason.startswith("vacuous")


@pytest.mark.parametrize("missing", ["close", "give_up", "finish"])
def test_progress_needs_each_of_those_bound_to_act(missing: str) -> None:
    (progress,) = BATCHES.progress
    fewer = Progress(
        progress.name,
        progress.clause,
        progress.over,
        progress.live,
        tuple(name for name in progress.bound if name != missing),
        progress.meaning,
    )
    (stuck,) = prove(replace(BATCHES, progress=(fewer,)), search=SHALLOW).refuted
    states = [row["state"] for row in replayed_trace(stuck).end.rows[0][1:]]
    expected = {"close": all(s == "done" for s in states), "give_up": "bad" in states, "finish": None in states}
    assert expected[missing]


# --- labels -----------------------------------------------------------------------------------------------------------


def test_what_induction_cannot_show_is_refuted_only_with_a_run() -> None:
    proof = prove(COUNTING)
    labels = {o.name: (type(o.verdict), o.label) for o in proof.obligations if o.label is not None}
    assert labels == {
        "read keeps not_five_low": (Refuted, Label.REACHABLE),
        "raise keeps never_forty": (Unknown, Label.UNREACHED),
        "lower keeps never_forty": (Unknown, Label.UNREACHED),
    }
    assert prove(COUNTING, search=no_search).refuted == ()


def test_an_injected_search_is_asked_once_for_each_statement() -> None:
    asked: list[Sought] = []

    def search(contract: Contract, sought: Sought) -> Found:
        asked.append(sought)
        return ScopeExhausted("nowhere")

    proof = prove(COUNTING, search=search)
    assert sorted(s.name for s in asked if not isinstance(s, Ambiguity)) == ["never_forty", "not_five_low"]
    assert {o.label for o in proof.unknown} == {Label.UNREACHED}


def test_a_counterexample_to_induction_is_a_lawful_state_and_a_step_that_breaks_the_statement() -> None:
    proof = prove(COUNTING, search=no_search)
    for obligation in proof.unknown:
        seen = obligation.counterexample
        assert seen is not None
        assert seen.call is not None
        assert seen.after is not None
        assert seen.semantics.broken_invariants(seen.before) == ()
        assert obligation.statement in {i.name for i in seen.semantics.broken_invariants(seen.after)}
        assert str(seen)


# --- time and fractions -----------------------------------------------------------------------------------------------


def over_counter(name: str, statement: TruthTerm) -> Invariant:
    return Invariant(name, "toy", (COUNTER,), statement, "toy")


def test_time_passing_is_a_transition_like_any_other() -> None:
    stale = over_counter("read_now", Not(Less(READ_AT, Now())))
    broken = prove(replace(COUNTING, invariants=(stale,)), search=SHALLOW)
    assert [o.name for o in broken.refuted] == ["tick keeps read_now"]
    assert [step.transition for step in replayed_trace(broken.refuted[0]).steps][-1] == "tick"


def test_counts_that_would_fall_below_zero_break_the_sort() -> None:
    unguarded = changed(COUNTING, lambda o: replace(o, guards=()) if o.name == "lower" else o)
    (broken,) = prove(replace(unguarded, invariants=()), search=SHALLOW).refuted
    assert broken.name == "lower keeps well_formed(counter)"
    assert replayed_trace(broken).end.rows[0][0]["count"] == -1


# --- a reading that is wrong ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("right", "wrong"), [("less", smt.at_most), ("at_most", smt.less)])
def test_a_wrong_reading_is_a_defect_and_no_verdict(
    monkeypatch: pytest.MonkeyPatch, right: str, wrong: Callable[..., smt.Formula]
) -> None:
    """The solver is made to misread a comparison: plain evaluation then contradicts what it reports."""
    monkeypatch.setattr(smt, right, wrong)
    with pytest.raises(ReadingsDisagree):
        prove(JOB_CONTRACT, search=no_search)


def test_missing_is_what_a_null_is() -> None:
    """A statement of nulls alone: proved where nothing sets the field, refuted where something does."""
    unset = over_counter("never_set", Missing(COUNT))
    broken = prove(replace(COUNTING, invariants=(unset,)), search=SHALLOW)
    assert [o.name for o in broken.refuted] == ["reset keeps never_set"]
