"""Words, judged for all codes there can be: which patterns of error codes meet, and what the order makes of each code.

Two engines answer, and have to agree. z3's theory of strings is asked of each two patterns whether one code fits both.
An *automaton* reads a code letter by letter and remembers just enough to tell, at each point, which patterns fit what
has been read; it has some thousands of states, so all are visited, and each set of patterns that a code of any length
can fit is found with a shortest code. Letters that stand in no pattern are one letter to it. What a witness claims is
checked by plain matching, as the runtime would do it.

`classify` sees of an unregistered code only which families fit it. There are at most 64 such sets; for each that occurs
one code is given to `classify` itself. That settles totality, and that infrastructure trouble never passes as a fault
of the content, for every code (contract §5, D-9).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, permutations
from typing import Any, cast

import z3  # pyright: ignore[reportMissingTypeStubs]

from fencepost_model.error_codes import (
    FAILURE_KINDS,
    INFRASTRUCTURE,
    KNOWN_CODES,
    ORDER,
    PATTERNS,
    REGISTERED,
    RETRYABLE,
    Family,
    KnownCode,
    Pattern,
    Place,
    UnclassifiedCode,
    classify,
    first_of,
    is_torn,
)
from fencepost_verification.evidence import Held, Refuted, Unknown, Verdict

_z3: Any = z3

MILLISECONDS = 20_000
"""How long z3 may think about one pair of patterns; it takes a few hundredths of a second."""

Classify = Callable[[str], Family]


# --- the automaton ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Reading:
    """What is remembered of the letters read so far.

    ``prefixes``: the prefixes that still may stand, with the letters read; None once the longest is past.
    ``tail`` and ``inner``: the longest end of what has been read that begins a suffix, or an infix that leaves out the
    first letter. ``seen``: the infixes that have something behind them.
    """

    prefixes: str | None
    fitting_prefixes: frozenset[Pattern]
    tail: str
    inner: str | None
    seen: frozenset[Pattern]


class _Automaton:
    """Reads codes for a fixed list of patterns."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self._prefixes = [pattern for pattern in patterns if pattern.place is Place.PREFIX]
        self._suffixes = [pattern for pattern in patterns if pattern.place is Place.SUFFIX]
        self._infixes = [pattern for pattern in patterns if pattern.place is Place.INFIX]
        self._tails = _Ends(self._suffixes)
        self._inners = _Ends(self._infixes)
        self._longest = max((len(pattern.text) for pattern in self._prefixes), default=0)
        letters = sorted({letter for pattern in patterns for letter in pattern.text} - {"_"})
        stranger = next(letter for letter in "XYZabc0123456789" if letter not in letters)
        # The stranger first and the underscore last, so that witnesses are plain where they can be.
        self.alphabet = (stranger, *letters, "_")
        self.start = _Reading("", frozenset(), "", None, frozenset())

    def fitting(self, reading: _Reading) -> frozenset[Pattern]:
        """The patterns that fit the code read, should it end here."""
        ends = frozenset(pattern for pattern in self._suffixes if reading.tail.endswith(pattern.text))
        return reading.fitting_prefixes | ends | reading.seen

    def read(self, reading: _Reading, letter: str) -> _Reading:
        """One letter more."""
        prefixes, fitting_prefixes = reading.prefixes, reading.fitting_prefixes
        if prefixes is not None:
            prefixes += letter
            fitting_prefixes |= {pattern for pattern in self._prefixes if pattern.text == prefixes}
            if len(prefixes) >= self._longest or not any(p.text.startswith(prefixes) for p in self._prefixes):
                prefixes = None
        # An infix leaves out the first letter; and it counts only once a letter has followed.
        inner = "" if reading.inner is None else self._inners.of(reading.inner + letter)
        seen = reading.seen
        if reading.inner:
            seen |= {pattern for pattern in self._infixes if reading.inner.endswith(pattern.text)}
        return _Reading(prefixes, fitting_prefixes, self._tails.of(reading.tail + letter), inner, seen)


class _Ends:
    """Finds the longest end of a text with which one of some patterns begins."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self._beginnings = {pattern.text[:size] for pattern in patterns for size in range(len(pattern.text) + 1)} | {""}
        self._found: dict[str, str] = {}

    def of(self, text: str) -> str:
        if text not in self._found:
            ends = (text[start:] for start in range(len(text) + 1))
            self._found[text] = next(end for end in ends if end in self._beginnings)
        return self._found[text]


@cache
def possible_fits(patterns: tuple[Pattern, ...] = PATTERNS) -> Mapping[frozenset[Pattern], str]:
    """Each set of patterns that some code fits while it fits no other, with a shortest such code."""
    automaton = _Automaton(patterns)
    found: dict[frozenset[Pattern], str] = {automaton.fitting(automaton.start): ""}
    known = {automaton.start}
    waiting = deque([(automaton.start, "")])
    while waiting:
        reading, code = waiting.popleft()
        for letter in automaton.alphabet:
            following = automaton.read(reading, letter)
            if following not in known:
                known.add(following)
                found.setdefault(automaton.fitting(following), code + letter)
                waiting.append((following, code + letter))
    return found


def possible_families(patterns: tuple[Pattern, ...] = PATTERNS) -> Mapping[frozenset[Family], str]:
    """Each set of families that some code fits while it fits no other, with a shortest such code."""
    shortest: dict[frozenset[Family], str] = {}
    for fitting, code in possible_fits(patterns).items():
        families = frozenset(pattern.family for pattern in fitting)
        if families not in shortest or len(code) < len(shortest[families]):
            shortest[families] = code
    return shortest


# --- patterns that meet -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PatternPair:
    """Two patterns of different families, and a code that fits both; None where there is none."""

    one: Pattern
    other: Pattern
    witness: str | None


@dataclass(frozen=True, slots=True)
class FamilyPair:
    """Two families, and a code that fits both; None where there is none. ``outcome``: its family, or ``refused``."""

    one: Family
    other: Family
    witness: str | None
    outcome: str


def cross_family_pairs(patterns: Sequence[Pattern] = PATTERNS) -> tuple[tuple[Pattern, Pattern], ...]:
    """Every two patterns of different families, in the order written."""
    return tuple((one, other) for one, other in combinations(patterns, 2) if one.family is not other.family)


@cache
def pattern_overlaps(patterns: tuple[Pattern, ...] = PATTERNS) -> tuple[PatternPair, ...]:
    """What the automaton says of each two patterns of different families; for a page."""
    fits = sorted(possible_fits(patterns).items(), key=lambda entry: (len(entry[1]), entry[1]))
    return tuple(
        PatternPair(one, other, next((code for fitting, code in fits if one in fitting and other in fitting), None))
        for one, other in cross_family_pairs(patterns)
    )


def family_overlaps() -> tuple[FamilyPair, ...]:
    """A shortest code for each of the fifteen pairs of families, with what becomes of it; for a page."""
    found: list[FamilyPair] = []
    pairs = pattern_overlaps()
    for one, other in combinations(ORDER, 2):
        codes = [p.witness for p in pairs if {p.one.family, p.other.family} == {one, other} and p.witness is not None]
        witness = min(codes, key=lambda code: (len(code), code), default=None)
        found.append(FamilyPair(one, other, witness, "" if witness is None else outcome_of(witness)))
    return tuple(found)


def outcome_of(code: str, classified: Classify = classify) -> str:
    """The family of a code, or ``refused``."""
    try:
        return classified(code).value
    except UnclassifiedCode:
        return "refused"


def _fits_both(one: Pattern, other: Pattern) -> Verdict | str:
    """z3's answer: a code that fits both patterns, held where none can, or unknown."""
    code = _z3.String("code")
    solver = _z3.Solver()
    solver.set("timeout", MILLISECONDS)
    solver.add(_in_strings(one, code), _in_strings(other, code))
    answer = str(solver.check())
    statement = _apart(one, other)
    if answer == "unsat":
        return Held(statement, "z3's theory of strings: no code of any length fits both")
    if answer == "sat":
        return cast(str, solver.model()[code].py_value())
    return Unknown(statement, f"z3's theory of strings gives up: {solver.reason_unknown()}")


def _in_strings(pattern: Pattern, code: Any) -> Any:
    text = _z3.StringVal(pattern.text)
    match pattern.place:
        case Place.PREFIX:
            return _z3.PrefixOf(text, code)
        case Place.SUFFIX:
            return _z3.SuffixOf(text, code)
        case Place.INFIX:
            return _z3.Contains(_z3.SubString(code, 1, _z3.Length(code) - 2), text)


def written(pattern: Pattern) -> str:
    """A pattern with dots where anything may stand."""
    before = "" if pattern.place is Place.PREFIX else "…"
    return f"{before}{pattern.text}{'' if pattern.place is Place.SUFFIX else '…'}"


def _apart(one: Pattern, other: Pattern) -> str:
    return f"no code fits {written(one)} ({one.family.value}) and {written(other)} ({other.family.value})"


def _meet(pair: PatternPair) -> Verdict:
    """Whether the two engines agree about a pair; a pair that meets is told with its code."""
    one, other = pair.one, pair.other
    answer = _fits_both(one, other)
    if isinstance(answer, Unknown | Refuted):
        return answer
    if isinstance(answer, Held):
        if pair.witness is None:
            return Held(answer.statement, f"{answer.how}; and the automaton, of all its states, agrees")
        return Refuted(answer.statement, f"z3 says none, but the automaton has {pair.witness!r}")
    statement = f"one code fits {written(one)} ({one.family.value}) and {written(other)} ({other.family.value})"
    if pair.witness is None:
        return Refuted(statement, f"z3 has {answer!r}, but the automaton says there is none")
    for engine, code in (("z3", answer), ("the automaton", pair.witness)):
        if not (one.matches(code) and other.matches(code)):
            return Refuted(statement, f"{engine} has {code!r}, which plain matching denies")
    return Held(statement, f"{pair.witness} does, by plain matching; z3 has another, {answer!r}")


def pattern_pairs(patterns: tuple[Pattern, ...] = PATTERNS) -> tuple[Verdict, ...]:
    """One verdict for each two patterns of different families: that they meet, or that they cannot."""
    return tuple(_meet(pair) for pair in pattern_overlaps(patterns))


# --- what the order makes of a code -----------------------------------------------------------------------------------


def totality(classified: Classify = classify, patterns: tuple[Pattern, ...] = PATTERNS) -> tuple[Verdict, ...]:
    """Every unregistered code has one family or is refused; and no family is wrong about trouble and content (§5)."""
    total = "every code that fits a pattern has one family or is refused as torn; one that fits none is refused"
    honest = "no unregistered code that fits CONTENT and also INFRA or LEASE is given one of these families"
    spent = "no code that ends in _MAX_ATTEMPTS is retryable"
    wrong: dict[str, str] = {}
    fits = possible_fits(patterns)
    for fitting, code in fits.items():
        if code in REGISTERED:
            continue
        families = frozenset(pattern.family for pattern in fitting)
        plainly = frozenset(pattern for pattern in patterns if pattern.matches(code))
        first = first_of(families)
        due = "refused" if first is None or is_torn(families) else first.value
        outcome = outcome_of(code, classified)
        if plainly != fitting:
            wrong.setdefault(total, f"the automaton misreads {code!r}")
        if outcome != due:
            wrong.setdefault(total, f"{code!r} comes out as {outcome}, not as {due}")
        mixed = Family.CONTENT in families and not INFRASTRUCTURE.isdisjoint(families)
        if mixed and outcome in {family.value for family in (*INFRASTRUCTURE, Family.CONTENT)}:
            wrong.setdefault(honest, f"{code!r} comes out as {outcome}")
    ends = [pattern for pattern in patterns if pattern.text == "_MAX_ATTEMPTS"]
    for fitting, code in fits.items():
        if any(pattern in fitting for pattern in ends) and outcome_of(code, classified) in _RETRYABLE_WORDS:
            wrong.setdefault(spent, f"{code!r} comes out as {outcome_of(code, classified)}")
    for code, family in REGISTERED.items():
        if code.endswith("_MAX_ATTEMPTS") and family in RETRYABLE:
            wrong.setdefault(spent, f"{code!r} is registered as {family.value}")
    if not ends:
        wrong.setdefault(spent, "no pattern knows the ending")
    sets = len(possible_families(patterns))
    how = f"all {len(fits)} sets of patterns that a code can fit, hence all {sets} of 64 sets of families"
    return tuple(
        Refuted(statement, wrong[statement]) if statement in wrong else Held(statement, how)
        for statement in (total, honest, spent)
    )


_RETRYABLE_WORDS = frozenset(family.value for family in RETRYABLE)


# --- which orders do --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Orders:
    """How many of the 720 orders of the families classify every example of the source as the source does.

    ``bare``: with no code registered. ``one_registered``: with RUNTIME_VITE_QUEUE_FULL alone. ``registered``: with all
    of ``REGISTERED``. ``forced``: (earlier, later) in every order that does with that one code registered.
    """

    bare: int
    one_registered: int
    registered: int
    forced: tuple[tuple[Family, Family], ...]
    ours: bool


DECISIVE = "RUNTIME_VITE_QUEUE_FULL"
"""The example that no order gets right together with RENDER_QUEUE_FULL, for the same two patterns fit both."""


EXAMPLES_OF_THE_SOURCE: tuple[KnownCode, ...] = tuple(entry for entry in KNOWN_CODES if entry.example)
"""The codes in the last column of the source's table of families."""


def orders(examples: Sequence[KnownCode] = EXAMPLES_OF_THE_SOURCE) -> Orders:
    """Try all 720 orders on the source's examples."""

    def right(registered: Mapping[str, Family]) -> list[tuple[Family, ...]]:
        fitting = {
            known.code: frozenset(pattern.family for pattern in PATTERNS if pattern.matches(known.code))
            for known in examples
        }
        return [
            order
            for order in permutations(Family)
            if all(
                known.family is (registered.get(known.code) or first_of(fitting[known.code], order))
                for known in examples
            )
        ]

    one = right({DECISIVE: REGISTERED[DECISIVE]})
    forced = tuple(
        (earlier, later)
        for earlier, later in permutations(ORDER, 2)
        if one and all(order.index(earlier) < order.index(later) for order in one)
    )
    return Orders(len(right({})), len(one), len(right(REGISTERED)), forced, ORDER in one)


def order_verdicts() -> tuple[Verdict, ...]:
    """That registrations are needed, and that with them the contract's order is one that does (D-9)."""
    found = orders()
    needed = "no order of the families classifies every example of the source without a registration"
    ours = "with the registrations, the order of the contract classifies every example as the source does"
    return (
        Held(needed, f"all 720 orders tried; {DECISIVE} and RENDER_QUEUE_FULL fit the same two families")
        if found.bare == 0
        else Refuted(needed, f"{found.bare} orders do"),
        Held(ours, f"{found.one_registered} of 720 orders do with {DECISIVE} registered, ours among them")
        if found.ours
        else Refuted(ours, f"ours is not among the {found.one_registered} orders that do"),
    )


# --- the codes and kinds that are written down ------------------------------------------------------------------------


def known_codes(known: Sequence[KnownCode] = KNOWN_CODES, classified: Classify = classify) -> tuple[Verdict, ...]:
    """One verdict for each code of the sources or the contract: its family is the one written down (§5)."""
    return tuple(_as_written(entry, outcome_of(entry.code, classified)) for entry in known)


def _as_written(entry: KnownCode, outcome: str) -> Verdict:
    statement = f"{entry.code} is {entry.family.value} ({entry.source})"
    if outcome != entry.family.value:
        return Refuted(statement, f"it comes out as {outcome}")
    return Held(statement, "registered by name" if entry.registered else "by its pattern")


def failure_kinds() -> tuple[Verdict, ...]:
    """One verdict for each failure kind of tasks: its families agree with what the failure says of another attempt."""
    found: list[Verdict] = []
    for kind in FAILURE_KINDS.values():
        statement = f"a task's failure of kind {kind.name} may be tried again exactly if its family says so (003 §2.4)"
        if kind.again is None and kind.final is None:
            found.append(Refuted(statement, "it has no family"))
        elif kind.again is not None and kind.again not in RETRYABLE:
            found.append(Refuted(statement, f"said to be retryable, it is {kind.again.value}, which is not"))
        elif kind.final is not None and kind.final in RETRYABLE:
            found.append(Refuted(statement, f"said to be final, it is {kind.final.value}, which is retryable"))
        else:
            families = (("retryable", kind.again), ("final", kind.final))
            found.append(Held(statement, ", ".join(f"{said}: {f.value}" for said, f in families if f is not None)))
    return tuple(found)


def check(progress: Callable[[str, int, int], None] = lambda stage, done, total: None) -> tuple[Verdict, ...]:
    """Every verdict about error codes: some 180, in a few seconds.

    ``progress`` is told what is next, how many parts are done and how many there are.
    """
    parts: tuple[tuple[str, Callable[[], tuple[Verdict, ...]]], ...] = (
        ("patterns that meet", pattern_pairs),
        ("totality under the order", totality),
        ("orders of the families", order_verdicts),
        ("codes written down", known_codes),
        ("failure kinds", failure_kinds),
    )
    found: list[Verdict] = []
    for number, (stage, part) in enumerate(parts):
        progress(stage, number, len(parts))
        found.extend(part())
    return tuple(found)
