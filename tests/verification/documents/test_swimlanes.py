"""Swim lanes: who did what when, the row as each step left it, and where the whole contract would have refused."""

from xml.etree import ElementTree

import pytest

from fencepost_model.contract import Contract
from fencepost_model.semantics import Call, Semantics
from fencepost_model.worlds import World
from fencepost_verification.documents.evidence_input import Evidence, SampleRun
from fencepost_verification.documents.swimlanes import Focus, swimlane, usual_fields
from fencepost_verification.evidence import Move, Tick, Trace, replayed
from fencepost_verification.explore.necessity import Necessary

SVG = "{http://www.w3.org/2000/svg}"


def parsed(svg: str) -> ElementTree.Element:
    # The attribute that keeps pictures out of the search has no value, as HTML allows and XML does not.
    return ElementTree.fromstring(svg.replace(" data-search-exclude", ""))


def texts(root: ElementTree.Element, kind: str) -> list[str]:
    return [
        "".join(part.text or "" for part in text.iter() if part.tag != f"{SVG}title").strip()
        for text in root.iter(f"{SVG}text")
        if kind in (text.get("class") or "").split()
    ]


def calls_of(trace: Trace) -> list[str]:
    return [step.actor for step in trace.steps if isinstance(step.move, Call)]


@pytest.fixture(scope="module")
def semantics(contract: Contract, world: World) -> Semantics:
    return Semantics(contract, world.population, world.profile())


def run(semantics: Semantics, *moves: Move) -> Trace:
    (start,) = semantics.initial()
    return replayed(semantics, start, moves, may_be_refused=True)


ENQUEUE = Call("enqueue", 0, {"job": 0}, {"max_attempts": 2, "deadline_at": 5})
CLAIM = Call("claim", 0, {"job": 0, "token": 1})
RENEW = Call("renew", 0, {"job": 0, "token": 1})
RECOVER = Call("recover", 0, {"job": 0}, {"delay": 1})


def test_every_picture_is_well_formed_and_has_no_script(evidence: Evidence, contract: Contract) -> None:
    pictures = [swimlane(each.trace, contract, each.name) for runs in evidence.samples.values() for each in runs]
    assert len(pictures) > 20
    for picture in pictures:
        kinds = {element.tag for element in parsed(picture).iter()}
        assert kinds <= {f"{SVG}{name}" for name in ("svg", "g", "text", "tspan", "path", "rect", "title")}
        assert "\n\n" not in picture, "an empty line would end the raw block of a page"


def test_lanes_stand_in_the_order_in_which_actors_first_act(
    samples: dict[str, tuple[SampleRun, ...]], contract: Contract
) -> None:
    for runs in samples.values():
        for each in runs:
            lanes = texts(parsed(swimlane(each.trace, contract, each.name)), "fp-actor")
            assert lanes == list(dict.fromkeys(calls_of(each.trace)))


def test_the_status_stands_beside_each_step(contract: Contract, semantics: Semantics) -> None:
    trace = run(semantics, ENQUEUE, CLAIM, Tick(1), Tick(1), RECOVER)
    root = parsed(swimlane(trace, contract, "a run"))
    assert texts(root, "fp-status") == ["pending", "running", "running", "pending"]
    assert texts(root, "fp-name") == ["enqueue", "claim", "recover/requeued"]


def test_time_that_passes_in_several_ticks_is_one_line(contract: Contract, semantics: Semantics) -> None:
    root = parsed(swimlane(run(semantics, ENQUEUE, Tick(1), Tick(1), CLAIM, Tick(1)), contract, "a run"))
    assert texts(root, "fp-passing") == ["2 s pass", "1 s passes"]
    assert texts(root, "fp-time") == ["0 s", "2 s", "3 s"]


@pytest.mark.parametrize(("seconds", "past"), [(1, []), (2, ["2"])])
def test_an_instant_is_marked_from_the_very_moment_that_the_clock_reaches_it(
    contract: Contract, semantics: Semantics, seconds: int, past: list[str]
) -> None:
    root = parsed(swimlane(run(semantics, ENQUEUE, CLAIM, Tick(seconds)), contract, "a run"))
    assert semantics.settings["lease_seconds"] == 2
    assert texts(root, "fp-past") == past


def test_a_refusal_names_every_false_guard_and_leaves_the_row(contract: Contract, semantics: Semantics) -> None:
    trace = run(semantics, ENQUEUE, RENEW)
    root = parsed(swimlane(trace, contract, "a run"))
    false = ", ".join(sorted(trace.steps[-1].refused))
    assert len(trace.steps[-1].refused) > 1
    assert texts(root, "fp-why") == [f"refused: {false}"]
    assert texts(root, "fp-status") == ["pending", "pending"]


def test_what_an_execution_remembers_is_shown_with_its_step(contract: Contract, semantics: Semantics) -> None:
    details = texts(parsed(swimlane(run(semantics, ENQUEUE, CLAIM), contract, "a run")), "fp-detail")
    assert details == ["max_attempts 2", "deadline_at 5", "token 1"]


def test_a_step_of_a_mutant_is_marked_where_the_contract_refuses_it(evidence: Evidence, contract: Contract) -> None:
    found = [finding for finding in evidence.necessity.values() if isinstance(finding, Necessary)]
    assert len(found) > 5
    for finding in found:
        root = parsed(swimlane(finding.trace, contract, "a run", note="it breaks"))
        assert texts(root, "fp-why") == [f"forbidden: {finding.conjunct.guard}"]
        assert texts(root, "fp-note") == ["it breaks"]


def test_a_legal_run_has_no_mark(contract: Contract, semantics: Semantics) -> None:
    assert texts(parsed(swimlane(run(semantics, ENQUEUE, CLAIM, RENEW), contract, "a run")), "fp-why") == []


def test_the_fields_in_focus_are_shown(contract: Contract, semantics: Semantics) -> None:
    trace = run(semantics, ENQUEUE, CLAIM, Call("request_cancel", 0, {"job": 0}))
    claim = contract.operation("claim")
    guard = next(guard for guard in claim.guards if guard.name == "not_cancelled")
    plain = "".join(texts(parsed(swimlane(trace, contract, "a run")), "fp-field"))
    focused = "".join(texts(parsed(swimlane(trace, contract, "a run", Focus((guard.term,), claim.over))), "fp-field"))
    assert "cancel_requested_at" not in plain
    assert "cancel_requested_at" in focused
    assert all(name in focused for name in usual_fields(contract))


def test_jobs_are_told_apart_where_there_are_several(contract: Contract, world: World) -> None:
    population = type(world.population)(world.population.root, 2)
    semantics = Semantics(contract, population, world.profile())
    trace = run(semantics, ENQUEUE, Call("enqueue", 1, {"job": 0}, ENQUEUE.params), CLAIM)
    root = parsed(swimlane(trace, contract, "a run"))
    assert texts(root, "fp-field")[1] == "no."
    rows = [group for group in root.iter(f"{SVG}g") if group.get("class") == "fp-step"]
    assert [texts(row, "fp-value")[0] for row in rows] == ["1", "2", "1"]
