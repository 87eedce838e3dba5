"""State diagrams: a machine's statuses, the transitions between them, and links from each arrow to its operation.

What is drawn follows from the contract alone. A case of an operation leads *from* every status that the table lists for
the operation and that its guards and conditions, taken by their shape, do not exclude; it leads *to* the status that
its effect assigns, or stays where it is. An effect that assigns a status which depends on the row leads to each status
it may be. An operation about another entity is drawn where it assigns a status along the way, to one entity or to each
of many.

The text for Graphviz is made with the ``graphviz`` package and laid out by the ``graphviz-pure`` program, which is
installed with this package and pinned; only where it is missing, by ``dot`` from the path. The two lay the same text
out alike but not to the last digit. So a drawing carries the digest of the text it was made from, and of its own body;
whether it is fresh is judged by these two, on any machine and with no renderer (``is_drawn_from``).
"""

from __future__ import annotations

import hashlib
import html
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

import graphviz  # pyright: ignore[reportMissingTypeStubs]

from fencepost_model.contract import Contract, excluded_by_shape, transition_name
from fencepost_model.shapes import Assignment, Case, Machine, Operation
from fencepost_model.terms import AllOf, Choose, Const, Equal, FieldOf, Missing, TruthTerm, Value, ValueTerm

NOWHERE = ""
"""Where a transition comes from that creates its entity."""


@dataclass(frozen=True)
class Arrow:
    """A case of an operation between two statuses; ``fixed`` is false when the target depends on the row."""

    source: str
    target: str
    operation: Operation
    case: Case
    fixed: bool = True

    @property
    def name(self) -> str:
        """The name of the transition."""
        return transition_name(self.operation, self.case)


def arrows(contract: Contract, machine: Machine) -> Iterator[Arrow]:
    """Every arrow of a machine's diagram, in the order of the contract."""
    for operation, case in contract.transitions():
        if not machine.statuses:
            continue
        drawn: dict[tuple[str, str], Arrow] = {}
        for variable, assigned, conditions in _ways(machine, operation, case):
            for source in sources(machine, operation, variable, conditions):
                targets: tuple[str, ...] = (source,)
                if assigned is not None:
                    targets = possible_words(assigned, tuple(status.name for status in machine.statuses))
                for target in targets:
                    arrow = Arrow(source, target, operation, case, fixed=len(targets) == 1)
                    drawn.setdefault((source, target), arrow)
        yield from drawn.values()


def _ways(
    machine: Machine, operation: Operation, case: Case
) -> Iterator[tuple[str, ValueTerm | None, tuple[TruthTerm, ...]]]:
    """How a case acts on entities of a machine: the variable, the status that it assigns, its conditions."""
    conditions = tuple(guard.term for guard in (*operation.guards, *case.when))
    for variable in operation.over:
        if variable.machine == machine.name:
            assigned = _status_assigned(variable.name, case.effect)
            if variable.name == operation.subject.name or assigned is not None:
                yield variable.name, assigned, conditions
    for each in case.also:
        assigned = _status_assigned(each.subject.name, each.effect)
        if each.subject.machine == machine.name and assigned is not None:
            yield each.subject.name, assigned, (each.where,)


def _status_assigned(variable: str, effect: Sequence[Assignment]) -> ValueTerm | None:
    return next((a.value for a in effect if a.field == FieldOf(variable, "status")), None)


def sources(
    machine: Machine, operation: Operation, variable: str, conditions: tuple[TruthTerm, ...]
) -> tuple[str, ...]:
    """The statuses in which an operation may act on a variable, as far as the shape of the conditions tells."""
    status = FieldOf(variable, "status")
    listed = tuple(
        name
        for name in machine.table
        if operation.name in machine.acting_on(name)
        and not excluded_by_shape(AllOf((Equal(status, Const(name)), *conditions)))
    )
    creates = operation.name == machine.created_by and not excluded_by_shape(AllOf((Missing(status), *conditions)))
    return (NOWHERE, *listed) if creates else listed


def possible_words(value: ValueTerm, otherwise: tuple[str, ...]) -> tuple[str, ...]:
    """The words that a value may be; all of ``otherwise`` when its shape does not tell."""

    def leaves(part: ValueTerm) -> Iterator[Value | ValueTerm]:
        match part:
            case Const(literal):
                yield literal
            case Choose(_, then, other):
                yield from leaves(then)
                yield from leaves(other)
            case _:
                yield part

    found = tuple(dict.fromkeys(leaves(value)))
    return (
        tuple(word for word in found if isinstance(word, str)) if all(isinstance(w, str) for w in found) else otherwise
    )


# --- the text for Graphviz --------------------------------------------------------------------------------------------


class _Graph(Protocol):
    """What is used of ``graphviz.Digraph``, which comes without types."""

    @property
    def source(self) -> str: ...

    def attr(self, kw: str | None = None, **attributes: str) -> None: ...

    def node(self, name: str, label: str | None = None, **attributes: str) -> None: ...

    def edge(self, tail_name: str, head_name: str, label: str | None = None, **attributes: str) -> None: ...

    def subgraph(self, graph: _Graph) -> None: ...


def _graph(name: str) -> _Graph:
    return cast(_Graph, graphviz.Digraph(name))


def dot_text(contract: Contract, machine: Machine, link: Callable[[Arrow], str]) -> str:
    """A machine's diagram for Graphviz: arrows grouped by their two ends, terminal statuses drawn with two outlines.

    What leaves the status as it is stands within the status, under a round arrow. ``link`` gives the address of
    a transition. Colours are left to the page's style sheet: nodes and edges carry a class for their kind.
    """
    graph = _graph(machine.name)
    graph.attr(rankdir="TB", bgcolor="transparent", nodesep="0.45", ranksep="0.6", pad="0.1", margin="0")
    graph.attr("node", shape="box", style="rounded", fontname="Helvetica", fontsize="12", margin="0.12,0.05")
    graph.attr("edge", fontname="Helvetica", fontsize="10", arrowsize="0.7")
    groups: dict[tuple[str, str], list[Arrow]] = {}
    for arrow in arrows(contract, machine):
        groups.setdefault((arrow.source, arrow.target), []).append(arrow)
    if any(source == NOWHERE for source, _ in groups):
        graph.node("start", label="", shape="circle", width="0.16", height="0.16", margin="0", **{"class": "start"})
    for status in machine.statuses:
        name = _row(status.name, f"#status-{status.name}", status.meaning, size=12)
        staying = [
            _row(f"\u21bb {arrow.name}", link(arrow), arrow.case.meaning)
            for arrow in groups.pop((status.name, status.name), [])
        ]
        graph.node(
            _node(status.name),
            label=_table([name, *staying]),
            peripheries="2" if status.terminal else "1",
            **{"class": "terminal" if status.terminal else "live"},
        )
    ends = _graph("")
    ends.attr(rank="sink")
    for word in machine.terminal:
        ends.node(_node(word))
    graph.subgraph(ends)
    for (source, target), group in groups.items():
        depends = {} if all(arrow.fixed for arrow in group) else {"style": "dashed"}
        rows = [_row(arrow.name, link(arrow), arrow.case.meaning) for arrow in group]
        graph.edge(
            _node(source) if source else "start",
            _node(target),
            label=_table(rows),
            **{"class": "ending" if target in machine.terminal else "going"},
            **depends,
        )
    return graph.source


def _table(rows: list[str]) -> str:
    inner = "".join(rows)
    return f'<<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="1">{inner}</TABLE>>'


def _row(text: str, address: str, title: str, size: int = 10) -> str:
    shown = html.escape(text) if size == 10 else f"<B>{html.escape(text)}</B>"
    return (
        f'<TR><TD ALIGN="{"LEFT" if size == 10 else "CENTER"}" HREF="{html.escape(address)}" '
        f'TITLE="{html.escape(title)}"><FONT POINT-SIZE="{size}">{shown}</FONT></TD></TR>'
    )


def _node(status: str) -> str:
    return f"status_{status}"


# --- the drawing ------------------------------------------------------------------------------------------------------


class NoRenderer(RuntimeError):
    """No program is there to lay a diagram out; the message says how to get one."""


def renderer() -> Path:
    """The program that lays diagrams out: ``graphviz-pure`` beside this interpreter, else ``dot`` from the path.

    Raises ``NoRenderer`` when there is neither.
    """
    beside = Path(sys.executable).with_name("graphviz-pure")
    if beside.exists():
        return beside
    found = shutil.which("graphviz-pure") or shutil.which("dot")
    if found is None:
        raise NoRenderer("no program lays diagrams out; install graphviz-pure, for instance by `make install`")
    return Path(found)


def drawn(dot: str, title: str) -> str:
    """The drawing of a text for Graphviz, as an SVG element for a page, with its head; see ``is_drawn_from``.

    Raises ``NoRenderer`` when there is no program to lay it out, ``RuntimeError`` when that fails.
    """
    run = subprocess.run([renderer(), "-Kdot", "-Tsvg"], input=dot, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise RuntimeError(f"the diagram of {title} cannot be laid out: {run.stderr.strip()}")
    body = _for_a_page(run.stdout, title)
    return f"<!-- {_head(dot, body)} -->\n{body}"


def is_drawn_from(svg: str, dot: str) -> bool:
    """Whether a drawing was made from this text and has not been touched since."""
    head, _, body = svg.partition("\n")
    return head == f"<!-- {_head(dot, body)} -->"


def _head(dot: str, body: str) -> str:
    text, drawing = (hashlib.sha256(part.encode()).hexdigest()[:32] for part in (dot, body))
    return f"Generated by fencepost-verify documents. Do not edit. text {text} drawing {drawing}"


def _for_a_page(svg: str, title: str) -> str:
    """The SVG element alone, without what belongs to a file of its own, sized by the page."""
    element = svg[svg.index("<svg") :].strip()
    element = re.sub(r"<!--.*?-->\s*", "", element, flags=re.DOTALL)
    # Names of groups would clash when a page holds two diagrams; nothing refers to them.
    element = re.sub(r' id="[^"]*"', "", element)
    element = re.sub(r"<title>[^<]*</title>\n?", "", element)
    element = re.sub(r' (?:fill|stroke|font-family)="[^"]*"', "", element)
    element = re.sub(r' xlink:title="([^"]*)">', r"><title>\1</title>", element)
    element = element.replace("xlink:href", "href").replace(' xml:space="preserve"', "")
    element = element.replace(' xmlns:xlink="http://www.w3.org/1999/xlink"', "")
    label = html.escape(f"The statuses of {title} and the transitions between them")
    element = element.replace("<svg ", f'<svg class="fp-machine" role="img" aria-label="{label}" ', 1)
    # Python-Markdown ends a raw block at an empty line.
    return "\n".join(line for line in element.splitlines() if line.strip()) + "\n"
