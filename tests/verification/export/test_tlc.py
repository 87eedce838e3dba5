"""What TLC prints is read as it is meant, and what is not understood is no answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fencepost_model.machines.job_worlds import JOB_PARKED
from fencepost_verification.evidence import ReplayFailed
from fencepost_verification.export import tlc
from fencepost_verification.export.tla import tla
from fencepost_verification.export.tlc import (
    Name,
    TlcFailed,
    TlcOptions,
    TlcResult,
    TlcStep,
    as_trace,
    key_of,
    read_graph,
    run_tlc,
    why_not,
)

MODULE = tla(JOB_PARKED)


def printed(**changed: str) -> str:
    """The first state of the world, as TLC prints it."""
    lines = ["/\\ clock = 0"]
    for variable, (machine, _) in MODULE.fields.items():
        value = changed.get(variable, "null")
        lines.append(f"/\\ {variable} = (job1 :> {value if machine == 'job' else f'(token_w1 :> {value})'})")
    return "\n".join(lines)


def dot(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def test_a_graph_is_read_with_its_names_and_where_it_begins(tmp_path: Path) -> None:
    path = tmp_path / "graph.dot"
    enqueued = printed(job_status='"pending"', job_attempt_count="0", job_lease_generation="0")
    path.write_text(
        f'-1 [label="{dot(printed())}",style = filled]\n'
        f'-1 -> 2 [label="enqueue",color="black",fontcolor="black"];\n'
        f'2 [label="{dot(enqueued)}"];\n',
        encoding="utf-8",
    )
    graph = read_graph(MODULE, path)
    assert len(graph.initial) == 1
    assert len(graph.states) == 2
    ((source, name, target),) = graph.edges
    assert (source, name) == (next(iter(graph.initial)), "enqueue")
    assert "pending" in target
    assert set(source) == {0, None}


def test_values_keep_their_kind() -> None:
    read = tlc._variables('/\\ a = (x :> -1 @@ y :> "say \\"no\\"" @@ z :> TRUE)\n/\\ b = null')  # pyright: ignore[reportPrivateUsage]
    assert read == {"a": {Name("x"): -1, Name("y"): 'say "no"', Name("z"): True}, "b": Name("null")}


def test_a_state_of_another_shape_is_refused() -> None:
    read = tlc._variables(printed().replace("(job1 :> null)", "null", 1))  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(TlcFailed, match="function was expected"):
        key_of(MODULE, read)


def test_a_run_that_the_model_cannot_walk_is_no_trace() -> None:
    first = tlc._variables(printed())  # pyright: ignore[reportPrivateUsage]
    claimed = tlc._variables(printed(job_status='"running"'))  # pyright: ignore[reportPrivateUsage]
    result = TlcResult(2, 2, 1, 1, "error_noted", (TlcStep(None, first), TlcStep("claim", claimed)), 0.1, None)
    with pytest.raises(ReplayFailed, match="claim"):
        as_trace(MODULE, result)
    with pytest.raises(ReplayFailed, match="begins"):
        as_trace(MODULE, replace(result, steps=(TlcStep(None, claimed),)))
    with pytest.raises(ValueError, match="no run"):
        as_trace(MODULE, replace(result, steps=()))


@pytest.mark.skipif(why_not() is not None, reason=why_not() or "")
def test_a_search_that_takes_too_long_is_no_answer(tmp_path: Path) -> None:
    with pytest.raises(TlcFailed, match="no answer"):
        run_tlc(MODULE, tmp_path, TlcOptions(seconds=0.05))


def test_without_java_the_reason_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "Java" in (why_not() or "")
    with pytest.raises(TlcFailed, match="Java"):
        run_tlc(MODULE, tmp_path)
