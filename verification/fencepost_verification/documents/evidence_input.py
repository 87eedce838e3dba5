"""What the generated pages are made from: a contract, and the results of the checks, in one record.

The pages hold what two runs on one commit agree on: verdicts, counts, traces. How long a check took is not among that;
such figures go into a ``Measurement``, which only the built site shows (see ``site`` and ``measured_page``).

Whatever is missing here is shown as *not examined*, never as held.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fencepost_model.contract import Contract, transition_name
from fencepost_model.worlds import World
from fencepost_verification.evidence import Trace, Verdict, joined
from fencepost_verification.explore.necessity import Conjunct, Finding, Necessary, conjuncts_of

TICK = "tick"
"""How the passing of time is called where transitions are counted."""


@dataclass(frozen=True)
class Obligation:
    """One thing that was to be proved, with its verdict.

    ``kind`` says what is shown (``inductive``, ``step``, ``deterministic``, ...). ``statement`` names the invariant,
    step property or progress statement it belongs to, if any; ``transition`` the transition that it is about, by the
    name of ``transition_name``, or the operation's name alone when it is about all its cases.
    """

    name: str
    kind: str
    statement: str | None
    transition: str | None
    verdict: Verdict


@dataclass(frozen=True)
class WorldFigures:
    """What an exhaustive exploration of one world found.

    ``taken`` counts the edges of each transition by its name (and of time passing, as ``tick``); ``witnesses`` gives
    for each witness the shortest run that shows it, or None when no state does; ``verdict`` sums up the world's checks.
    """

    world: World
    states: int
    edges: int
    taken: Mapping[str, int]
    witnesses: Mapping[str, Trace | None]
    verdict: Verdict


@dataclass(frozen=True)
class Share:
    """So many of so many."""

    covered: int
    total: int

    def __str__(self) -> str:
        return f"{self.covered:,} of {self.total:,}"

    @property
    def is_whole(self) -> bool:
        """Whether nothing is left out; of nothing at all, nothing is covered."""
        return 0 < self.total == self.covered


@dataclass(frozen=True)
class ConformanceFigures:
    """How one implementation was judged by the tour.

    ``edges`` are the steps that it had to take, ``refusals`` the calls that it had to refuse; ``by_operation`` gives
    both for each operation. ``skipped`` maps each capability that it lacks to the reason it gave.
    """

    implementation: str
    edges: Share
    refusals: Share
    verdict: Verdict
    by_operation: Mapping[str, tuple[Share, Share]] = field(default_factory=dict[str, tuple[Share, Share]])
    skipped: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class OffenderFigures:
    """A small implementation that is wrong on purpose: its fault, and what the suite said when it caught it, if it did.

    ``operations`` are those that the fault is in.
    """

    name: str
    fault: str
    caught_by: str | None
    operations: tuple[str, ...] = ()


@dataclass(frozen=True)
class CapabilityText:
    """What an implementation may promise, as a sentence, and what is left out where it does not."""

    name: str
    sentence: str
    without: str


@dataclass(frozen=True)
class SampleRun:
    """A short run that shows an operation at work, under a name that says what happens."""

    name: str
    trace: Trace


@dataclass(frozen=True)
class Evidence:
    """Everything that the pages need.

    Raises ``ValueError`` when a result names an operation, guard or statement that the contract does not have: such
    evidence belongs to another contract.
    """

    contract: Contract
    obligations: tuple[Obligation, ...] = ()
    worlds: tuple[WorldFigures, ...] = ()
    necessity: Mapping[Conjunct, Finding] = field(default_factory=dict[Conjunct, Finding])
    samples: Mapping[str, tuple[SampleRun, ...]] = field(default_factory=dict[str, tuple[SampleRun, ...]])
    """for each operation, by its name, the runs to show"""
    conformance: tuple[ConformanceFigures, ...] = ()
    offenders: tuple[OffenderFigures, ...] = ()
    protocol_schema: Mapping[str, Any] | None = None
    """the JSON Schema of the conformance protocol's messages"""
    capabilities: tuple[CapabilityText, ...] = ()
    title: str = ""
    meaning: str = ""

    def __post_init__(self) -> None:
        known = set(conjuncts_of(self.contract))
        for conjunct in self.necessity:
            if conjunct not in known:
                raise ValueError(f"necessity speaks of {conjunct}, which {self.contract.name} lacks; examine it again")
        operations = {operation.name for operation in self.contract.operations}
        transitions = {TICK, *(transition_name(*pair) for pair in self.contract.transitions())}
        for name in self.samples:
            if name not in operations:
                raise ValueError(f"a sample run is given for {name!r}, which is no operation of {self.contract.name}")
        for figures in self.worlds:
            for name in figures.taken:
                if name not in transitions:
                    raise ValueError(
                        f"world {figures.world.name} counts {name!r}, which is no transition of {self.contract.name}"
                    )

    def verdict_on(self, statement: str) -> Verdict:
        """What the obligations of one statement amount to; without any, unknown."""
        return summed_up(statement, [o.verdict for o in self.obligations if o.statement == statement])

    def witness(self, name: str) -> tuple[str, Trace] | None:
        """The shortest run to a witness, with the name of the world it was found in; None when none shows it."""
        found = [
            (figures.world.name, trace) for figures in self.worlds if (trace := figures.witnesses.get(name)) is not None
        ]
        return min(found, key=lambda pair: len(pair[1].steps), default=None)

    def resting_on(self, statement: str) -> tuple[Conjunct, ...]:
        """The conjuncts without each of which the statement was seen to break, in the order of the contract."""
        return tuple(
            conjunct
            for conjunct in conjuncts_of(self.contract)
            if isinstance(finding := self.necessity.get(conjunct), Necessary) and finding.statement == statement
        )


def summed_up(statement: str, verdicts: Iterable[Verdict]) -> Verdict:
    """Several verdicts as one: refuted if one is, held if all are and there is one, else unknown."""
    return joined(
        statement,
        verdicts,
        held=lambda many: "proved, for any number of entities" if many == 1 else f"{many} obligations proved",
        nothing="not examined",
    )


@dataclass(frozen=True)
class Measurement:
    """A figure that differs from run to run, such as the seconds that a check took."""

    what: str
    value: float
    unit: str
