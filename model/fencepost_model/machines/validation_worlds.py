"""The small world in which the validation gate is explored."""

from __future__ import annotations

from fencepost_model.machines.validation import STAGE_WORDS, VALIDATION_CONTRACT
from fencepost_model.semantics import Member, Population
from fencepost_model.worlds import World, const

VALIDATION_SMALL = World(
    name="validation-small",
    meaning="one result of a page or a component, every outcome of both stages, with and without override",
    contract=VALIDATION_CONTRACT,
    population=Population(Member("validation", "result")),
    horizon=0,
    arguments={
        "open.require_render": const(False, True),
        "*.outcome": const(*STAGE_WORDS),
        "write_version.override": const(False, True),
    },
)

WORLDS: tuple[World, ...] = (VALIDATION_SMALL,)
"""The worlds that can be named on a command line."""

SMALL_WORLDS: tuple[World, ...] = WORLDS
"""The worlds in which each guard is dropped in turn; together they take every transition."""
