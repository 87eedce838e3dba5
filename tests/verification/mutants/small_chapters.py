"""The smallest chapters there are, so that all of their mutants are tried in seconds; and ways to change them."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path

from fencepost_model.contract import Contract
from fencepost_model.shapes import Invariant, Operation, StepProperty
from fencepost_model.specification import CHAPTERS, Chapter

_EXAMPLE = Path(__file__).parents[3] / "docs/examples/approval.py"


def _approval() -> Chapter:
    """The contract of one's own that the documents show: a payment that two people approve."""
    found = importlib.util.spec_from_file_location("approval_of_the_documents", _EXAMPLE)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    chapter = module.CHAPTER
    assert isinstance(chapter, Chapter)
    return chapter


APPROVAL = _approval()
GROUP = CHAPTERS["group"]
HOOK = CHAPTERS["hook"]


def about(chapter: Chapter, contract: Contract) -> Chapter:
    """The chapter with another contract, explored in the same worlds."""
    worlds = {world.name: replace(world, contract=contract) for world in (*chapter.worlds, *chapter.small_worlds)}
    return replace(
        chapter,
        contract=contract,
        worlds=tuple(worlds[world.name] for world in chapter.worlds),
        small_worlds=tuple(worlds[world.name] for world in chapter.small_worlds),
    )


def with_operation(contract: Contract, changed: Operation) -> Contract:
    """The contract with one operation written otherwise."""
    return replace(contract, operations=tuple(changed if o.name == changed.name else o for o in contract.operations))


def without_steps(contract: Contract, *names: str) -> Contract:
    """The contract without some of its step properties."""
    kept = tuple(statement for statement in contract.step_properties if statement.name not in names)
    assert len(kept) == len(contract.step_properties) - len(names)
    return replace(contract, step_properties=kept)


def with_statements(contract: Contract, *more: Invariant | StepProperty) -> Contract:
    """The contract with further statements."""
    return replace(
        contract,
        invariants=(*contract.invariants, *(each for each in more if isinstance(each, Invariant))),
        step_properties=(*contract.step_properties, *(each for each in more if isinstance(each, StepProperty))),
    )
