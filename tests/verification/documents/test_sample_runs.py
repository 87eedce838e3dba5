"""Sample runs: short, distinct, one for each case that the world can take, and refusals by one guard alone."""

from fencepost_model.contract import Contract, transition_name
from fencepost_model.semantics import Call, Population, Semantics
from fencepost_model.worlds import World
from fencepost_verification.documents.evidence_input import SampleRun
from fencepost_verification.documents.sample_runs import RUNS_PER_OPERATION
from fencepost_verification.evidence import replayed

Samples = dict[str, tuple[SampleRun, ...]]


def test_each_run_ends_in_its_operation(samples: Samples, contract: Contract) -> None:
    assert set(samples) == {operation.name for operation in contract.operations}
    for name, runs in samples.items():
        assert runs, f"{name} has no run"
        for run in runs:
            last = run.trace.steps[-1]
            assert isinstance(last.move, Call)
            assert last.move.operation == name


def test_the_runs_of_an_operation_differ_in_name_and_in_steps(samples: Samples) -> None:
    for runs in samples.values():
        assert len({run.name for run in runs}) == len(runs)
        assert len({repr((run.trace.start, [step.move for step in run.trace.steps])) for run in runs}) == len(runs)


def test_there_are_a_few_of_each_and_a_refusal_where_there_can_be_one(samples: Samples, contract: Contract) -> None:
    for operation in contract.operations:
        runs = samples[operation.name]
        assert 3 <= len(runs) <= max(RUNS_PER_OPERATION, len(operation.cases) + 1)
        assert any(run.trace.steps[-1].refused for run in runs)


def test_each_case_that_the_world_can_take_is_shown(samples: Samples, contract: Contract, world: World) -> None:
    shown = {run.trace.steps[-1].transition for runs in samples.values() for run in runs}
    possible = {transition_name(*pair) for pair in contract.transitions()} - set(world.untaken)
    assert possible - shown == set()


def test_a_refusal_is_by_one_guard_and_the_name_tells_which(samples: Samples) -> None:
    refusals = [run for runs in samples.values() for run in runs if run.trace.steps[-1].refused]
    assert len(refusals) > len(samples)
    for run in refusals:
        (guard,) = run.trace.steps[-1].refused
        assert run.name.endswith(f": {guard}")


def test_each_run_can_be_walked(samples: Samples, contract: Contract, world: World) -> None:
    semantics = Semantics(contract, Population(world.population.root, 1), world.profile())
    for runs in samples.values():
        for run in runs:
            again = replayed(semantics, run.trace.start, [s.move for s in run.trace.steps], may_be_refused=True)
            assert again.end == run.trace.end
            assert run.trace.start in list(semantics.initial(legacy=True))
