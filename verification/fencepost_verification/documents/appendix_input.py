"""What the appendices are made from: results that are about all chapters, or about none, in one record.

Each part is optional. None says that nobody looked, and the page then says *not examined*; it never says held. An empty
tuple is a result too: somebody looked, and there was nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fencepost_model.clocks import Exempt
from fencepost_model.contract import Contract
from fencepost_model.error_codes import Family
from fencepost_model.refinement import Refinement
from fencepost_model.shapes import Measure
from fencepost_verification.evidence import Verdict
from fencepost_verification.explore.fairness import Answer, Instant
from fencepost_verification.findings.finding import Finding
from fencepost_verification.mutants.judging import MutantReport
from fencepost_verification.mutants.ledger import Entry
from fencepost_verification.prove.timing import BoundProof, Endurance
from fencepost_verification.prove.words import FamilyPair, Orders, PatternPair
from fencepost_verification.refining import Repeated


@dataclass(frozen=True)
class CodeResults:
    """What was found about error codes (``prove.words``).

    ``pairs`` holds every two patterns of different families, ``families`` each two families, ``possible`` each set of
    families that some code fits, with such a code; ``verdicts`` is the whole check.
    """

    pairs: Sequence[PatternPair]
    families: Sequence[FamilyPair]
    possible: Mapping[frozenset[Family], str]
    orders: Orders
    verdicts: Sequence[Verdict] = ()


@dataclass(frozen=True)
class TimeResults:
    """What was found about time (``prove.timing``): the bounds, how many lost beats each queue rides out, rendering.

    ``enduring`` gives one verdict for each row of ``endurance``, in its order.
    """

    bounds: Sequence[BoundProof]
    endurance: Sequence[Endurance] = ()
    enduring: Sequence[Verdict] = ()
    render: Sequence[Verdict] = ()


@dataclass(frozen=True)
class ChapterLedger:
    """The detection ledger of one chapter, and the mutants that it is made from."""

    chapter: str
    entries: Sequence[Entry]
    mutants: MutantReport


@dataclass(frozen=True)
class RefinementResult:
    """A refinement, with one verdict for each statement that it consists of, or for as many as were asked."""

    refinement: Refinement
    verdicts: Sequence[Verdict] = ()


@dataclass(frozen=True)
class ClockResult:
    """A chapter whose operations read clocks of their own: what is exempt, and one verdict for each obligation."""

    chapter: str
    exempt: Sequence[Exempt]
    verdicts: Sequence[Verdict] = ()


@dataclass(frozen=True)
class MeasureResult:
    """A measure that every step makes smaller, with the contract that it belongs to and its verdicts."""

    contract: Contract
    measure: Measure
    verdicts: Sequence[Verdict] = ()


@dataclass(frozen=True)
class Appendix:
    """Everything that the appendices need beside the model. What is None was not examined."""

    vocabularies: Sequence[Verdict] | None = None
    """``prove.vocabularies.check()``"""
    codes: CodeResults | None = None
    time: TimeResults | None = None
    findings: Sequence[Finding] | None = None
    """``findings.catalogue.find()``"""
    ledgers: Sequence[ChapterLedger] | None = None
    refinements: Sequence[RefinementResult] | None = None
    updates: Sequence[Repeated] | None = None
    """one for each conjunct that an UPDATE repeats (``refining.update_table``)"""
    clocks: Sequence[ClockResult] | None = None
    answers: Sequence[Answer] | None = None
    """one for each question about what ends (``explore.fairness.answered``)"""
    instants: Mapping[str, Instant] = field(default_factory=dict[str, Instant])
    """for each world, by its name, what can happen in it without time passing"""
    measures: Sequence[MeasureResult] | None = None
