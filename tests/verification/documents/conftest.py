"""A small evidence for the pages: traces walked by plain evaluation, verdicts as they are when all is well."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.verification.documents.small_book import book

from fencepost_model.contract import Contract, transition_name
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.machines.job_worlds import JOB_SMALL, jobs
from fencepost_model.semantics import Call, Semantics
from fencepost_model.worlds import World
from fencepost_verification.documents import site
from fencepost_verification.documents.evidence_input import (
    ConformanceFigures,
    Evidence,
    Measurement,
    Obligation,
    OffenderFigures,
    SampleRun,
    Share,
    WorldFigures,
)
from fencepost_verification.documents.sample_runs import sample_runs
from fencepost_verification.evidence import Held, Trace, replayed
from fencepost_verification.explore.necessity import (
    Conjunct,
    Finding,
    Necessary,
    Redundant,
    conjuncts_of,
    without,
)

REPOSITORY = Path(__file__).resolve().parents[3]
MEASURED = Measurement("proved", 1.234567, "s")

SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "messages",
    "description": "one object each way",
    "oneOf": [{"$ref": "#/$defs/message.reset"}],
    "$defs": {
        "message.reset": {
            "type": "object",
            "description": "an empty store",
            "properties": {
                "do": {"const": "reset"},
                "profile": {"type": "object", "properties": {"lease_seconds": {"type": "number"}}},
            },
            "required": ["do"],
        },
        "answer.reset": {
            "oneOf": [
                {"type": "object", "description": "done", "properties": {"ok": {"const": True}}, "required": ["ok"]}
            ]
        },
    },
}


@pytest.fixture(scope="session")
def contract() -> Contract:
    return JOB_CONTRACT


@pytest.fixture(scope="session")
def world() -> World:
    return replace(JOB_SMALL, population=jobs(1, "w1", "w1"))


@pytest.fixture(scope="session")
def samples(world: World) -> dict[str, tuple[SampleRun, ...]]:
    return sample_runs(world)


def necessity(contract: Contract, samples: dict[str, tuple[SampleRun, ...]]) -> Iterator[Finding]:
    """What the sample runs tell about each guard: a refused call is made where the guard is dropped."""
    refusals = {
        (name, guard): run.trace
        for name, runs in samples.items()
        for run in runs
        for guard in run.trace.steps[-1].refused
    }
    for conjunct in conjuncts_of(contract):
        refusal = refusals.get((conjunct.operation, conjunct.guard)) if conjunct.case is None else None
        found = refusal and broken_without(contract, conjunct, refusal)
        yield found or Redundant(conjunct, ("another",))


def broken_without(contract: Contract, conjunct: Conjunct, refusal: Trace) -> Necessary | None:
    """The refused run in the contract that lacks the guard, when it breaks a statement there."""
    semantics = Semantics(without(contract, conjunct), refusal.semantics.population, refusal.semantics.settings)
    trace = replayed(semantics, refusal.start, [step.move for step in refusal.steps])
    last = trace.steps[-1]
    assert isinstance(last.move, Call)
    broken = semantics.broken_step_properties(last.before, last.move, last.after)
    names = [*(s.name for s in broken), *(s.name for s in semantics.broken_invariants(last.after))]
    return Necessary(conjunct, names[0], trace, "a small world") if names else None


@pytest.fixture(scope="session")
def evidence(contract: Contract, world: World, samples: dict[str, tuple[SampleRun, ...]]) -> Evidence:
    names = [transition_name(*pair) for pair in contract.transitions()]
    statements = [
        *(invariant.name for invariant in contract.invariants),
        *(step_property.name for step_property in contract.step_properties),
        *(progress.name for progress in contract.progress),
    ]
    obligations = tuple(
        Obligation(f"{name} keeps {statement}", "inductive", statement, name, Held(statement, "unbounded"))
        for name in names
        for statement in statements
    )
    shortest = samples[contract.operations[0].name][0].trace
    figures = WorldFigures(
        world,
        states=1234,
        edges=5678,
        taken=dict.fromkeys(names, 12),
        witnesses={witness.name: shortest for witness in contract.witnesses},
        verdict=Held(world.name, "every statement"),
    )
    whole = Share(10, 10)
    return Evidence(
        contract,
        obligations,
        (figures,),
        {finding.conjunct: finding for finding in necessity(contract, samples)},
        samples,
        (
            ConformanceFigures(
                "memory", whole, whole, Held("memory", "all"), {o.name: (whole, whole) for o in contract.operations}
            ),
        ),
        (OffenderFigures("no_fence", "the generation is not compared", "renew.generation", ("renew",)),),
        SCHEMA,
    )


@pytest.fixture(scope="session")
def site_root(tmp_path_factory: pytest.TempPathFactory, evidence: Evidence) -> Path:
    """A copy of what the site is built from, its pages generated from the small evidence."""
    root = tmp_path_factory.mktemp("site")
    hooks = Path("verification/fencepost_verification/documents/site_hooks.py")
    (root / hooks).parent.mkdir(parents=True)
    shutil.copy(REPOSITORY / hooks, root / hooks)
    shutil.copy(REPOSITORY / "mkdocs.yml", root)
    shutil.copytree(REPOSITORY / "docs", root / "docs", ignore=shutil.ignore_patterns("reference"))
    site.write(root, book(evidence))
    site.write_measurements(root, [MEASURED])
    return root


@pytest.fixture(scope="session")
def built_site(site_root: Path) -> Path:
    """The site, built as strictly as `make docs` does."""
    run = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"],
        cwd=site_root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return site_root / "site"
