"""Where everything stands in the book: the pages and anchors of machines, operations, guards and statements.

Addresses are those of the built site, seen from the folder of the generated pages: ``job.html#claim`` for the main
chapter, ``hook/row.html#pick`` for another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from fencepost_model.contract import Contract
from fencepost_model.semantics import conditions
from fencepost_model.shapes import Invariant, Progress, StepProperty
from fencepost_verification.documents.markup import named
from fencepost_verification.explore.necessity import Conjunct

Stated: TypeAlias = Invariant | StepProperty | Progress
"""What a contract states."""


def slug(text: str) -> str:
    """A text as an anchor: letters, digits, dots and underscores stay, all else becomes dashes."""
    return re.sub(r"[^\w.]+", "-", text).strip("-")


def anchor(kind: str, text: str) -> str:
    """The anchor of something that is no operation, guard or statement, such as ``code-RENDER_CANCELLED``."""
    return f"{kind}-{slug(text)}"


def link(address: str, text: str, kind: str = "fp-name") -> str:
    """A name as code that leads somewhere, as HTML."""
    return f'<a href="{escaped_address(address)}">{named(text, kind)}</a>'


def escaped_address(address: str) -> str:
    """An address that can stand in an attribute."""
    return address.replace("&", "&amp;").replace('"', "%22").replace("|", "%7C").replace(" ", "%20")


@dataclass(frozen=True, slots=True)
class Place:
    """Something that has an address: what it is called, what it is, of which chapter, and the clause it cites.

    ``identity`` tells apart what is in the model; a chapter that extends another shares guards with it.
    """

    name: str
    kind: str
    chapter: str
    address: str
    clause: str = ""
    identity: int = 0


@dataclass(frozen=True)
class Shelf:
    """A chapter in the book: its contract, and the folder of its pages (empty for the main chapter)."""

    contract: Contract
    folder: str

    def page(self, name: str) -> str:
        """A page of the chapter, such as ``invariants`` or the name of a machine."""
        return f"{self.folder}{name}.html"

    def machine(self, name: str) -> str:
        """A machine's page."""
        return self.page(name)

    def status(self, machine: str, status: str) -> str:
        """A row of a machine's table of statuses."""
        return f"{self.page(machine)}#status-{status}"

    def field(self, machine: str, field: str) -> str:
        """A row of a machine's table of fields."""
        return f"{self.page(machine)}#field-{field}"

    def operation(self, name: str) -> str:
        """An operation's section, on the page of its subject's machine."""
        return f"{self.page(self.contract.operation(name).subject.machine)}#{name}"

    def transition(self, name: str) -> str:
        """An operation's section, or that of one of its cases."""
        operation, _, case = name.partition("/")
        found = self.contract.operation(operation)
        cases = {each.name for each in found.cases}
        return f"{self.page(found.subject.machine)}#{operation}{f'.{case}' if case in cases else ''}"

    def conjunct(self, conjunct: Conjunct) -> str:
        """A guard or condition."""
        machine = self.contract.operation(conjunct.operation).subject.machine
        return f"{self.page(machine)}#{str(conjunct).replace('/', '.')}"

    def statement(self, name: str) -> str:
        """An invariant, step property or progress statement."""
        return f"{self.page('invariants')}#{name}"

    def statements(self) -> frozenset[str]:
        """The names of all that is stated."""
        return frozenset(statement.name for statement in self.stated())

    def statement_link(self, name: str) -> str:
        """The name of a statement, leading to it where it is one."""
        return link(self.statement(name), name) if name in self.statements() else named(name)

    def transition_link(self, name: str) -> str:
        """The name of a transition or operation, leading to it where it is one."""
        known = name.partition("/")[0] in {operation.name for operation in self.contract.operations}
        return link(self.transition(name), name) if known else named(name)

    def stated(self) -> tuple[Stated, ...]:
        """All that is stated of the chapter: invariants, step properties, progress."""
        return (*self.contract.invariants, *self.contract.step_properties, *self.contract.progress)

    def places(self) -> Iterator[Place]:
        """Everything of the chapter that cites a clause."""
        contract, name = self.contract, self.contract.name
        for operation in contract.operations:
            address = self.operation(operation.name)
            yield Place(operation.name, "operation", name, address, operation.clause, id(operation))
            for case, guard in conditions(operation):
                conjunct = Conjunct(operation.name, case.name if case else None, guard.name)
                # One guard object may serve several operations.
                identity = hash((id(guard), str(conjunct)))
                yield Place(str(conjunct), "guard", name, self.conjunct(conjunct), guard.clause, identity)
        for statement in self.stated():
            address = self.statement(statement.name)
            yield Place(statement.name, "statement", name, address, statement.clause, id(statement))
        for witness in contract.witnesses:
            address = f"{self.page('invariants')}#witness-{witness.name}"
            yield Place(witness.name, "witness", name, address, witness.clause, id(witness))


def shelves(contracts: Sequence[Contract]) -> tuple[Shelf, ...]:
    """The chapters of a book in their order, the main one first."""
    return tuple(Shelf(c, "" if number == 0 else f"{c.name}/") for number, c in enumerate(contracts))
