"""What a finding shows: a run, a lasso, a code, a contradiction, a count, a time, an event nobody answers.

Every kind of evidence can be *replayed* by a plain route that is not the one that found it: a run is walked again with
the plain semantics, a contradiction is read again from the cited values, a time is simulated beat by beat. ``replay``
answers whether the evidence still shows what it claims.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations, product
from typing import Any, Protocol

from fencepost_model.error_codes import Place
from fencepost_model.published.tables import Cited, Fact, PrintedPattern, StatedCount
from fencepost_model.semantics import State
from fencepost_model.shapes import Invariant, StepProperty
from fencepost_model.terms import Value
from fencepost_model.worlds import World
from fencepost_verification.evidence import ReplayFailed, Trace, replayed
from fencepost_verification.findings.search import (
    Lasso,
    Question,
    Round,
    Stuck,
    breaks,
    is_live,
    is_stuck,
    name_of,
    relative,
    repeats,
    semantics_of,
)


class Evidence(Protocol):
    """What a check found. ``kind`` names the sort of evidence, ``text`` is one line for people."""

    @property
    def kind(self) -> str:
        """The sort of evidence."""
        ...

    @property
    def text(self) -> str:
        """The evidence in one line."""
        ...

    def replay(self) -> bool:
        """Whether it still shows what it claims, by a plain route."""
        ...

    def as_json(self) -> dict[str, Any]:
        """Everything about it, for scripts; with the key ``kind``."""
        ...


@dataclass(frozen=True)
class RunEvidence:
    """A shortest run of a printed machine that breaks a statement, or that ends where nothing leads on."""

    world: World
    question: Question
    trace: Trace
    interleaved: bool = False

    @property
    def kind(self) -> str:
        if self.interleaved:
            return "interleaving"
        return "trace to limbo" if isinstance(self.question, Stuck) else "trace"

    @property
    def text(self) -> str:
        return str(self.trace)

    def replay(self) -> bool:
        semantics = semantics_of(self.world)
        try:
            again = replayed(semantics, self.trace.start, [step.move for step in self.trace.steps])
        except ReplayFailed:
            return False
        match self.question:
            case Stuck():
                return is_stuck(semantics, self.world, again.end, self.question)
            case Invariant() | StepProperty():
                last = again.steps[-1] if again.steps else None
                before, move = (again.start, None) if last is None else (last.before, last.move)
                return breaks(semantics, self.question, before, move, again.end)

    def as_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "machine": self.world.contract.name,
            "starts": _set_fields(self.trace.start),
            "steps": [step.label for step in self.trace.steps],
            "breaks": self.question.name,
            "meaning": self.question.meaning,
        }


def _set_fields(state: State) -> list[dict[str, Value]]:
    """The rows of a state, without what is null."""
    return [{name: value for name, value in row.items() if value is not None} for rows in state.rows for row in rows]


@dataclass(frozen=True)
class LassoEvidence:
    """A run into a loop that can be walked for ever while something is still owed."""

    world: World
    round: Round
    lasso: Lasso

    @property
    def kind(self) -> str:
        return "lasso"

    @property
    def text(self) -> str:
        return f"{self.lasso.stem} ; then for ever: {self.lasso.loop}"

    def replay(self) -> bool:
        semantics = semantics_of(self.world)
        try:
            stem = replayed(semantics, self.lasso.stem.start, [step.move for step in self.lasso.stem.steps])
            once = replayed(semantics, stem.end, [step.move for step in self.lasso.loop.steps])
        except ReplayFailed:
            return False
        home = relative(semantics, stem.end, self.round.drifting)
        live = all(
            is_live(semantics, self.round.over, self.round.live, state)
            for state in (stem.end, *(step.after for step in once.steps))
        )
        named = {name_of(step.move) for step in once.steps} == set(self.round.by)
        if not repeats(semantics, stem.end, [step.move for step in self.lasso.loop.steps]):
            return False
        return live and named and bool(once.steps) and relative(semantics, once.end, self.round.drifting) == home

    def as_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "machine": self.world.contract.name,
            "stem": [step.label for step in self.lasso.stem.steps],
            "loop": [step.label for step in self.lasso.loop.steps],
            "meaning": self.round.meaning,
        }


# --- codes ----------------------------------------------------------------------------------------------------------


def _matches(pattern: PrintedPattern, code: str) -> bool:
    """A second reading of a pattern, by position, so that a witness is not judged by what found it."""
    at = [i for i in range(len(code)) if code[i : i + len(pattern.text)] == pattern.text]
    match pattern.place:
        case Place.PREFIX:
            return 0 in at
        case Place.SUFFIX:
            return len(code) - len(pattern.text) in at
        case Place.INFIX:
            return any(i > 0 and i + len(pattern.text) < len(code) for i in at)


@dataclass(frozen=True)
class CodeEvidence:
    """A code and the patterns of several families that match it (or none at all)."""

    code: str
    patterns: tuple[PrintedPattern, ...]
    against: tuple[PrintedPattern, ...]
    pairs: tuple[tuple[str, str, str], ...] = ()

    @property
    def kind(self) -> str:
        return "witness code"

    @property
    def families(self) -> tuple[str, ...]:
        """The families whose patterns match."""
        return tuple(dict.fromkeys(pattern.family for pattern in self.patterns))

    @property
    def text(self) -> str:
        by = ", ".join(f"{pattern.text} ({pattern.family})" for pattern in self.patterns) or "no pattern"
        more = f"; {len(self.pairs)} such pairs" if self.pairs else ""
        return f"{self.code} is matched by {by}{more}"

    def replay(self) -> bool:
        found = {pattern for pattern in self.against if _matches(pattern, self.code)}
        by_text = {pattern.text: pattern for pattern in self.against}
        each = all(_matches(by_text[one], code) and _matches(by_text[other], code) for one, other, code in self.pairs)
        return found == set(self.patterns) and len(self.families) != 1 and each

    def as_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "code": self.code,
            "patterns": [{"text": pattern.text, "family": pattern.family} for pattern in self.patterns],
            "pairs": [{"patterns": [one, other], "code": code} for one, other, code in self.pairs],
        }


@dataclass(frozen=True)
class OrderEvidence:
    """Two codes that the same families match and that stand in different ones: no order of the families has both."""

    first: str
    second: str
    wanted: Mapping[str, str]
    patterns: tuple[PrintedPattern, ...]

    @property
    def kind(self) -> str:
        return "unsatisfiable pair"

    @property
    def text(self) -> str:
        return (
            f"{self.first} is {self.wanted[self.first]}, {self.second} is {self.wanted[self.second]}: no order has both"
        )

    def replay(self) -> bool:
        families = tuple(dict.fromkeys(pattern.family for pattern in self.patterns))
        for order in permutations(families):
            if all(
                next((f for f in order if any(p.family == f and _matches(p, code) for p in self.patterns)), None)
                == self.wanted[code]
                for code in (self.first, self.second)
            ):
                return False
        return True

    def as_json(self) -> dict[str, Any]:
        codes = {code: self.wanted[code] for code in (self.first, self.second)}
        return {"kind": self.kind, "codes": codes, "orders_tried": 720}


@dataclass(frozen=True)
class RetryEvidence:
    """Two codes of one family, one in the list and one not: "by family" and "if listed" cannot both decide."""

    family: str
    listed: str
    unlisted: str

    @property
    def kind(self) -> str:
        return "unsatisfiable pair"

    @property
    def text(self) -> str:
        return (
            f"{self.listed} and {self.unlisted} are both {self.family}: with one listed and the other not, "
            f"the list parts what the family joins"
        )

    def replay(self) -> bool:
        for listed, unlisted in product((True, False), repeat=2):
            by_family = listed == unlisted
            by_list = listed and not unlisted
            if by_family and by_list:
                return False
        return self.listed != self.unlisted

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "family": self.family, "listed": self.listed, "unlisted": self.unlisted}


# --- facts ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ContradictionEvidence:
    """Values of one subject that differ from section to section."""

    subjects: Mapping[str, tuple[Cited, ...]]

    @property
    def kind(self) -> str:
        return "data contradiction"

    @property
    def text(self) -> str:
        return "; ".join(
            f"{subject}: " + ", ".join(f"{_shown(said.value)} ({said.where})" for said in cited)
            for subject, cited in self.subjects.items()
        )

    def replay(self) -> bool:
        # Values are compared one by one and by type too, since 1 equals True and 0 equals False.
        return bool(self.subjects) and all(
            any((type(said.value), said.value) != (type(cited[0].value), cited[0].value) for said in cited[1:])
            for cited in self.subjects.values()
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "values": {
                subject: [{"where": said.where, "value": said.value} for said in cited]
                for subject, cited in self.subjects.items()
            },
        }


def _shown(value: Fact) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return "(" + ", ".join(value) + ")"
    return str(value)


@dataclass(frozen=True)
class CountEvidence:
    """Numbers that a text states about lists, and the lists."""

    counts: tuple[StatedCount, ...]

    @property
    def kind(self) -> str:
        return "data contradiction"

    @property
    def text(self) -> str:
        return "; ".join(
            f"{count.subject}: {count.stated} ({count.where}), listed are {len(count.items)} ({count.counted})"
            for count in self.counts
        )

    def replay(self) -> bool:
        return bool(self.counts) and all(sum(1 for _ in count.items) != count.stated for count in self.counts)

    def as_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "counts": [
                {
                    "subject": count.subject,
                    "stated": count.stated,
                    "where": count.where,
                    "counted": len(count.items),
                    "items": list(count.items),
                }
                for count in self.counts
            ],
        }


@dataclass(frozen=True)
class MissingEvidence:
    """Names that some sections use, and a list that should have them and does not."""

    what: str
    used: Mapping[str, str]
    listed: tuple[str, ...]

    @property
    def kind(self) -> str:
        return "data contradiction"

    @property
    def text(self) -> str:
        return f"{self.what}: " + ", ".join(f"{name} ({where})" for name, where in self.used.items())

    def replay(self) -> bool:
        return bool(self.used) and not any(name in self.listed for name in self.used)

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "what": self.what, "missing": dict(self.used), "listed": list(self.listed)}


@dataclass(frozen=True)
class SharedEvidence:
    """Two things that must be told apart and are given one name, word or column."""

    what: str
    name: str
    things: tuple[str, ...]
    mapping: Mapping[str, tuple[str, ...]]

    @property
    def kind(self) -> str:
        return "data contradiction"

    @property
    def text(self) -> str:
        return f"{self.what}: {self.name} stands for {', '.join(self.things)}"

    def replay(self) -> bool:
        return len(self.things) > 1 and all(self.name in self.mapping[thing] for thing in self.things)

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "what": self.what, "name": self.name, "things": list(self.things)}


@dataclass(frozen=True)
class EdgeEvidence:
    """Edges that a text states and a diagram or table lacks, and edges that it has against the text."""

    lacking: tuple[tuple[str, str, str], ...]
    wrong: tuple[tuple[str, str, str], ...]
    drawn: frozenset[tuple[str, str, str]]
    stated: Mapping[tuple[str, str, str], str]

    @property
    def kind(self) -> str:
        return "data contradiction"

    @property
    def text(self) -> str:
        lacking = ", ".join(f"{a} -{by}-> {b} ({self.stated[a, by, b]})" for a, by, b in self.lacking)
        wrong = ", ".join(f"{a} -{by}-> {b}" for a, by, b in self.wrong)
        return f"not drawn: {lacking or 'none'}; drawn otherwise: {wrong or 'none'}"

    def replay(self) -> bool:
        lacking = all(edge in self.stated and edge not in self.drawn for edge in self.lacking)
        wrong = all(edge in self.drawn and edge not in self.stated for edge in self.wrong)
        return lacking and wrong and bool(self.lacking or self.wrong)

    def as_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "lacking": [{"from": a, "by": by, "to": b, "where": self.stated[a, by, b]} for a, by, b in self.lacking],
            "wrong": [{"from": a, "by": by, "to": b} for a, by, b in self.wrong],
        }


@dataclass(frozen=True)
class UnansweredEvidence:
    """An event, the statuses in which it can happen, the statuses it must lead to, and those without such an edge."""

    event: str
    statuses: tuple[str, ...]
    targets: tuple[str, ...]
    transitions: Mapping[str, tuple[str, ...]]

    @property
    def kind(self) -> str:
        return "unanswered event"

    @property
    def text(self) -> str:
        return f"{self.event}: no edge to {' or '.join(self.targets)} from {', '.join(self.statuses)}"

    def replay(self) -> bool:
        edges = {(begin, end) for begin, ends in self.transitions.items() for end in ends}
        return bool(self.statuses) and not any(
            (status, target) in edges for status in self.statuses for target in self.targets
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "event": self.event,
            "statuses": list(self.statuses),
            "targets": list(self.targets),
        }


# --- time -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BeatEvidence:
    """A lease, a beat, and so many beats lost in a row: at the next beat the lease is over, without any delay."""

    lease: int
    beat: int
    lost: int

    @property
    def kind(self) -> str:
        return "timing counterexample"

    @property
    def text(self) -> str:
        return (
            f"lease {self.lease}, beat {self.beat}, {self.lost} lost: the next comes at {(self.lost + 1) * self.beat}"
        )

    def replay(self) -> bool:
        expires, lost = self.lease, self.lost
        for now in range(1, 10 * self.lease):
            if expires <= now:
                return True
            if now % self.beat == 0:
                if lost:
                    lost -= 1
                else:
                    return False
        return False

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "lease": self.lease, "beat": self.beat, "lost": self.lost}


@dataclass(frozen=True)
class WaitEvidence:
    """A wait that is over before a lease inside of it can be: what dies is replaced after the asker has gone.

    ``starts`` is how many attempts begin while the asker waits, when each dies at once.
    """

    wait: Cited
    lease: Cited
    attempts: int
    starts: int

    @property
    def kind(self) -> str:
        return "timing counterexample"

    @property
    def text(self) -> str:
        return (
            f"{self.wait.value} s ({self.wait.where}) against {self.lease.value} s ({self.lease.where}): "
            f"{self.starts} of {self.attempts} attempts can start"
        )

    def replay(self) -> bool:
        wait, lease = self.wait.value, self.lease.value
        if not isinstance(wait, int | float) or not isinstance(lease, int | float):
            return False
        started, free_at = 0, 0.0
        for tenth in range(int(wait * 10)):
            if tenth / 10 >= free_at and started < self.attempts:
                started, free_at = started + 1, tenth / 10 + lease
        return started == self.starts < self.attempts

    def as_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "wait": self.wait.value,
            "lease": self.lease.value,
            "attempts": self.attempts,
            "starts": self.starts,
        }


@dataclass(frozen=True)
class IdleWriteEvidence:
    """Beats that go on while nothing is to be done, and a rule that forbids writing then."""

    beats: tuple[Cited, ...]
    period: int
    allowed: int

    @property
    def kind(self) -> str:
        return "timing counterexample"

    @property
    def text(self) -> str:
        told = ", ".join(f"every {said.value} s ({said.where})" for said in self.beats)
        return f"in {self.period} idle seconds {self.allowed} writes are allowed; beats come {told}"

    def replay(self) -> bool:
        for said in self.beats:
            if not isinstance(said.value, int | float):
                return False
            writes = sum(1 for now in range(1, self.period + 1) if now % said.value == 0)
            if writes <= self.allowed:
                return False
        return bool(self.beats)

    def as_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "period": self.period,
            "allowed": self.allowed,
            "beats": [{"where": said.where, "seconds": said.value} for said in self.beats],
        }


@dataclass(frozen=True)
class RatioEvidence:
    """A configuration that the validator accepts, with a beat that breaks the ratio all the same."""

    lease: int
    heartbeat: int
    beat: int
    ratio: int

    @property
    def kind(self) -> str:
        return "timing counterexample"

    @property
    def text(self) -> str:
        return (
            f"lease {self.lease} s and heartbeat {self.heartbeat} s pass the check, "
            f"the loop beats every {self.beat} s: less than {self.ratio} x"
        )

    def replay(self) -> bool:
        accepted = self.lease - self.ratio * self.heartbeat >= 0 < self.heartbeat
        beats = len(range(self.beat, self.ratio * self.beat + 1, self.beat))
        return accepted and beats == self.ratio and self.ratio * self.beat > self.lease

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "lease": self.lease, "heartbeat": self.heartbeat, "beat": self.beat}


@dataclass(frozen=True)
class ClockEvidence:
    """A lease granted by one clock and judged by another: it is over for one while it lives for the other."""

    lease: int
    skew: int

    @property
    def kind(self) -> str:
        return "timing counterexample"

    @property
    def text(self) -> str:
        return f"lease {self.lease} s granted at 0; a caller whose clock is {self.skew} s fast takes it at 0"

    def replay(self) -> bool:
        granted_until, own, others = self.lease, 0, self.skew
        return own < granted_until <= others

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "lease": self.lease, "skew": self.skew}
