"""Mutants aimed at a statement: they break what nobody would forget, and cannot break what says nothing."""

from dataclasses import replace

from fencepost_model.shapes import Progress, StepProperty, Variable
from fencepost_model.specification import CHAPTERS, Chapter
from fencepost_model.terms import Truth
from fencepost_verification.evidence import Taken
from fencepost_verification.mutants.aiming import aimed_at
from fencepost_verification.mutants.judging import Executioner

GROUP = CHAPTERS["group"]


def statement(name: str) -> StepProperty:
    return next(each for each in GROUP.contract.step_properties if each.name == name)


def test_what_an_update_without_its_where_breaks_is_found() -> None:
    killed = Executioner(GROUP).kill_for("a_caller_withdraws_its_own")
    assert killed is not None
    assert killed.trace is not None
    last = killed.trace.steps[-1]
    semantics = killed.trace.semantics
    assert isinstance(last.move, Taken)
    call = last.move.call
    operation = semantics.contract.operation(call.operation)
    broken = statement("a_caller_withdraws_its_own")
    assert not semantics.step_keeps(broken, operation, last.before, call, last.after)


def test_a_statement_that_says_nothing_is_broken_by_nothing() -> None:
    root = GROUP.contract.root.name
    empty = StepProperty("says_nothing", "", (Variable(root, root),), Truth(True), "Whatever happens is right.")
    contract = replace(GROUP.contract, step_properties=(*GROUP.contract.step_properties, empty))
    worlds = tuple(replace(world, contract=contract) for world in GROUP.small_worlds)
    chapter = Chapter("Group", "with an empty statement", contract, worlds, worlds)
    assert Executioner(chapter).kill_for("says_nothing") is None


def test_somebody_who_never_acts_breaks_progress() -> None:
    chapter = CHAPTERS["wakeup"]
    progress = next(p for p in chapter.contract.progress if p.name == "owed_notification_can_be_sent")
    assert isinstance(progress, Progress)
    assert [mutant.operation for mutant in aimed_at(chapter.contract, progress)] == list(progress.bound)
    assert Executioner(chapter).kill_for(progress.name) is not None
