"""The contract of the validation gate is proved, explored, and agrees with the one pure decision."""

from __future__ import annotations

from fencepost_model.machines.validation import STAGE_WORDS, VALIDATION_CONTRACT
from fencepost_model.machines.validation_worlds import VALIDATION_SMALL
from fencepost_model.validation_gate import Stage, is_validation_passed, judgement, may_write
from fencepost_verification.evidence import Taken
from fencepost_verification.explore.world import explore
from fencepost_verification.prove.prover import prove


def test_every_obligation_is_proved() -> None:
    proof = prove(VALIDATION_CONTRACT)
    assert [o.name for o in proof.obligations if o not in proof.held] == []
    assert proof.count > 200


def test_every_state_is_lawful() -> None:
    exploration = explore(VALIDATION_SMALL)
    assert exploration.complete
    assert exploration.states == 23
    assert exploration.broken == ()
    assert (exploration.never_taken, exploration.unwitnessed, exploration.needless) == ((), (), ())


def test_the_machine_judges_as_the_function_does() -> None:
    local = explore(VALIDATION_SMALL).local
    judged = 0
    for number in range(local.states):
        row = local.state(number).rows[0][0]
        if row["status"] in (None, "checking"):
            continue
        judged += 1
        stages = Stage(str(row["compile"])), Stage(str(row["render"]))
        required = row["require_render"] is True
        assert row["status"] == judgement(*stages, require_render=required), row
        assert row["valid"] is is_validation_passed(*stages, require_render=required), row
        if row["version_written"] is True:
            assert may_write(*stages, require_render=required, override=row["overridden"] is True), row
    assert judged > len(STAGE_WORDS)


def test_the_gate_opens_exactly_as_the_function_says() -> None:
    local = explore(VALIDATION_SMALL).local
    opened = set[tuple[int, bool]]()
    for source, move in zip(local.sources, local.moves, strict=True):
        shape = local.shapes[int(move)]
        if shape.operation is not None and shape.operation.name == "write_version":
            taken = local.move(int(move), 0)
            assert isinstance(taken, Taken)
            opened.add((int(source), taken.call.params["override"] is True))
    for number in range(local.states):
        row = local.state(number).rows[0][0]
        if row["status"] in (None, "checking") or row["version_written"] is True:
            continue
        for override in (False, True):
            stages = Stage(str(row["compile"])), Stage(str(row["render"]))
            expected = may_write(*stages, require_render=row["require_render"] is True, override=override)
            assert ((number, override) in opened) is expected, row
