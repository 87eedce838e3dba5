"""State diagrams: every arrow follows from the contract, and a drawing tells what it was drawn from."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fencepost_model.contract import Contract, transition_name
from fencepost_model.semantics import Call
from fencepost_model.shapes import Assignment, Machine
from fencepost_model.terms import Choose, Const, FieldOf, Missing
from fencepost_verification.documents.diagrams import (
    NOWHERE,
    Arrow,
    NoRenderer,
    arrows,
    dot_text,
    drawn,
    is_drawn_from,
    renderer,
)
from fencepost_verification.documents.evidence_input import SampleRun

SVG = "{http://www.w3.org/2000/svg}"


def link(arrow: Arrow) -> str:
    return f"#{arrow.name}"


@pytest.fixture
def machine(contract: Contract) -> Machine:
    return contract.root


def test_arrows_leave_just_the_statuses_of_the_table(contract: Contract, machine: Machine) -> None:
    leaving = {(arrow.source, arrow.operation.name) for arrow in arrows(contract, machine) if arrow.source != NOWHERE}
    assert leaving == {(status, name) for status in machine.table for name in machine.acting_on(status)}


def test_every_case_has_an_arrow(contract: Contract, machine: Machine) -> None:
    assert {arrow.name for arrow in arrows(contract, machine)} == {
        transition_name(operation, case)
        for operation, case in contract.transitions()
        if operation.subject.machine == machine.name
    }


def test_every_step_of_a_run_follows_an_arrow(
    contract: Contract, machine: Machine, samples: dict[str, tuple[SampleRun, ...]]
) -> None:
    known = {(arrow.name, arrow.source, arrow.target) for arrow in arrows(contract, machine)}
    taken = {
        (step.transition, before.get("status") or NOWHERE, step.after.rows[0][0]["status"])
        for runs in samples.values()
        for run in runs
        for step in run.trace.steps
        if isinstance(step.move, Call) and not step.refused
        for before in [step.before.rows[0][0]]
    }
    assert len(taken) > len(contract.operations)
    assert taken <= known


def test_a_case_leads_from_no_status_that_its_conditions_exclude(contract: Contract, machine: Machine) -> None:
    """A spent budget ends a job only while it is pending, although the guard admits waiting jobs for other reasons."""
    sources = {arrow.source for arrow in arrows(contract, machine) if arrow.name == "expire_overdue/exhausted"}
    assert sources == {"pending"}


def test_a_target_that_depends_on_the_row_is_drawn_for_each_word(contract: Contract) -> None:
    succeed = contract.operation("succeed")
    status = FieldOf("job", "status")
    choice = Choose(Missing(FieldOf("job", "started_at")), Const("failed"), Const("succeeded"))
    case = succeed.cases[0]
    effect = tuple(Assignment(a.field, choice) if a.field == status else a for a in case.effect)
    changed = replace(succeed, cases=(replace(case, effect=effect),))
    operations = tuple(changed if o is succeed else o for o in contract.operations)
    mutant = replace(contract, operations=operations, checked=False)
    ways = [arrow for arrow in arrows(mutant, mutant.root) if arrow.operation is changed]
    assert [(arrow.source, arrow.target, arrow.fixed) for arrow in ways] == [
        ("running", "failed", False),
        ("running", "succeeded", False),
    ]
    assert "style=dashed" in dot_text(mutant, mutant.root, link)
    assert "style=dashed" not in dot_text(contract, contract.root, link)


@pytest.fixture(scope="module")
def drawing(contract: Contract) -> tuple[str, str]:
    """The text for Graphviz, and the drawing."""
    dot = dot_text(contract, contract.root, link)
    return dot, drawn(dot, contract.root.name)


def test_the_drawing_links_each_name_to_its_transition(contract: Contract, drawing: tuple[str, str]) -> None:
    root = ElementTree.fromstring(drawing[1].partition("\n")[2])
    links = {
        ("".join(anchor.find(f".//{SVG}text").itertext()).lstrip("↻ "), anchor.get("href"))  # type: ignore[union-attr]
        for anchor in root.iter(f"{SVG}a")
    }
    machine = contract.root
    assert links == {
        *((status.name, f"#status-{status.name}") for status in machine.statuses),
        *((arrow.name, f"#{arrow.name}") for arrow in arrows(contract, machine)),
    }


def test_a_terminal_status_has_two_outlines(contract: Contract, drawing: tuple[str, str]) -> None:
    root = ElementTree.fromstring(drawing[1].partition("\n")[2])
    outlines = {
        "".join(node.find(f".//{SVG}text").itertext()): len(node.findall(f"{SVG}path"))  # type: ignore[union-attr]
        for node in root.iter(f"{SVG}g")
        if node.get("class") in ("node live", "node terminal")
    }
    assert outlines == {status.name: 2 if status.terminal else 1 for status in contract.root.statuses}


def test_the_drawing_leaves_colours_to_the_page(drawing: tuple[str, str]) -> None:
    assert not re.search(r'(?:fill|stroke)="', drawing[1])
    assert "\n\n" not in drawing[1]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda dot, svg: (dot.replace("claim", "clam"), svg),
        lambda dot, svg: (dot, svg.replace("pending", "pendant")),
        lambda dot, svg: (dot, svg.partition("\n")[2]),
    ],
    ids=["other text", "edited drawing", "no head"],
)
def test_a_drawing_knows_what_it_was_drawn_from(
    drawing: tuple[str, str], spoil: Callable[[str, str], tuple[str, str]]
) -> None:
    dot, svg = drawing
    assert is_drawn_from(svg, dot)
    dot, svg = spoil(dot, svg)
    assert not is_drawn_from(svg, dot)


def test_without_a_renderer_the_message_names_the_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoRenderer, match="make install"):
        renderer()


def test_dot_is_used_where_the_pinned_program_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    dot = tmp_path / "dot"
    dot.write_text("#!/bin/sh\n")
    dot.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert renderer() == dot
    (tmp_path / "graphviz-pure").touch()
    assert renderer() == tmp_path / "graphviz-pure"
