"""The one decision what the statuses of a pipeline's nodes come to, by the policy of the pipeline.

Contract §6, pipelines; 003 §3.3. The machine in ``fencepost_model.machines.pipeline`` is held to it by a test.

``fail_fast`` and ``all_settled`` differ in when work stops, not in what it comes to: a run with a failed node has
failed. A quorum asks for so many successes and for nothing else. Nodes that were skipped count neither way.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class Policy(StrEnum):
    """How a pipeline judges its nodes."""

    FAIL_FAST = "fail_fast"
    ALL_SETTLED = "all_settled"
    QUORUM = "quorum"


ENDED = frozenset({"succeeded", "failed", "stopped", "cancelled", "skipped"})
"""The statuses in which a node has ended."""


def aggregated(nodes: Iterable[str], policy: Policy, *, quorum: int = 1, asked: str | None = None) -> str | None:
    """What the nodes of a run come to: a status of the run, or None while a node has not ended.

    ``asked`` is ``stop`` or ``cancel`` where somebody has ended the whole run. Raises ``ValueError`` for another word,
    and for a quorum below one, which would be met by nothing at all.
    """
    if asked not in (None, "stop", "cancel"):
        raise ValueError(f"a run is asked to stop or to cancel, not to {asked!r}; give one of the two, or None")
    if quorum < 1:
        raise ValueError(f"a quorum of {quorum} is met by no work at all; ask for one node or more")
    statuses = list(nodes)
    if not ENDED.issuperset(statuses):
        return None
    if asked is not None:
        return "stopped" if asked == "stop" else "cancelled"
    if policy is Policy.QUORUM:
        return "succeeded" if statuses.count("succeeded") >= quorum else "failed"
    for word in ("failed", "stopped", "cancelled"):
        if word in statuses:
            return word
    return "succeeded"
