"""The one decision whether a validation lets a page or component be written, and what an outside caller is told.

Contract §4, last rule; 001 §6.1. A page needs a compile that passed and, where rendering is required, a render that
passed or gave a warning. A stage that could not be run says nothing about the source: the answer is then
``unavailable``, which is neither a pass nor the author's fault. The machine in ``fencepost_model.machines.validation``
is held to these functions by a test.
"""

from __future__ import annotations

from enum import StrEnum


class Stage(StrEnum):
    """How a stage of a validation came out."""

    PASSED = "passed"
    WARNING = "warning"
    UNAVAILABLE = "unavailable"
    FAILED = "failed"
    SKIPPED = "skipped"


class Judgement(StrEnum):
    """What a validation as a whole comes to."""

    PASSED = "passed"
    FAILED = "failed"
    UNAVAILABLE = "unavailable"


def judgement(compile_stage: Stage, render_stage: Stage, *, require_render: bool = True) -> Judgement:
    """What two stages come to (contract §4).

    Trouble with the content goes before trouble with the infrastructure: a source that does not compile is wrong,
    whether or not a renderer is there. A stage that was required and did not run is unavailable.
    """
    if compile_stage in (Stage.FAILED, Stage.WARNING):
        return Judgement.FAILED
    if compile_stage in (Stage.UNAVAILABLE, Stage.SKIPPED):
        return Judgement.UNAVAILABLE
    if not require_render:
        return Judgement.PASSED
    if render_stage is Stage.FAILED:
        return Judgement.FAILED
    if render_stage in (Stage.UNAVAILABLE, Stage.SKIPPED):
        return Judgement.UNAVAILABLE
    return Judgement.PASSED


def is_validation_passed(compile_stage: Stage, render_stage: Stage, *, require_render: bool = True) -> bool:
    """Whether a validation is passed: the one predicate that every gate asks (001 §6.1 step 3)."""
    return judgement(compile_stage, render_stage, require_render=require_render) is Judgement.PASSED


def may_write(
    compile_stage: Stage, render_stage: Stage, *, require_render: bool = True, override: bool = False
) -> bool:
    """Whether a version may be written; ``override`` stands in for a render that could not be made, and no more."""
    if is_validation_passed(compile_stage, render_stage, require_render=require_render):
        return True
    return override and compile_stage is Stage.PASSED and render_stage in (Stage.UNAVAILABLE, Stage.SKIPPED)
