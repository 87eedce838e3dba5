"""Words: which patterns meet, what the order makes of each code, and that a wrong classifier is caught."""

from itertools import product

import pytest

from fencepost_model.error_codes import (
    FAILURE_KINDS,
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
    family_of_failure,
    first_of,
    fitting_families,
)
from fencepost_verification.evidence import Held, Refuted
from fencepost_verification.prove import words

# Small enough that every code up to a length is tried; with overlaps of their own.
SMALL = (
    Pattern("A_", Place.PREFIX, Family.LEASE),
    Pattern("_A_", Place.INFIX, Family.INFRA),
    Pattern("_A", Place.SUFFIX, Family.CONTENT),
    Pattern("_AA", Place.SUFFIX, Family.CANCEL),
)


def test_each_pair_of_patterns_meets_or_cannot() -> None:
    verdicts = words.pattern_pairs()
    assert [verdict for verdict in verdicts if not isinstance(verdict, Held)] == []
    assert len(verdicts) == 150
    assert sum(pair.witness is not None for pair in words.pattern_overlaps()) == 89


def test_every_pair_of_families_meets() -> None:
    pairs = words.family_overlaps()
    assert len(pairs) == 15
    for pair in pairs:
        assert pair.witness is not None
        assert {pair.one, pair.other} <= fitting_families(pair.witness)
        assert pair.outcome == words.outcome_of(pair.witness)


def test_the_automaton_finds_what_trying_every_short_code_finds() -> None:
    tried: dict[frozenset[Pattern], str] = {}
    for length in range(7):
        for letters in product("XA_", repeat=length):
            code = "".join(letters)
            tried.setdefault(frozenset(pattern for pattern in SMALL if pattern.matches(code)), code)
    found = words.possible_fits(SMALL)
    assert {fits: len(code) for fits, code in tried.items()} == {
        fits: len(code) for fits, code in found.items() if len(code) < 7
    }


def test_every_code_has_one_family_or_is_refused() -> None:
    assert [verdict for verdict in words.totality() if not isinstance(verdict, Held)] == []
    assert len(words.possible_families()) == 56


def test_a_classifier_that_guesses_is_caught() -> None:
    def guesses(code: str) -> Family:
        """No refusal: what is torn is taken for content or for trouble, by the order alone."""
        first = REGISTERED.get(code) or first_of(fitting_families(code))
        if first is None:
            raise UnclassifiedCode(code)
        return first

    total, honest, spent = words.totality(guesses)
    assert isinstance(total, Refuted)
    assert isinstance(honest, Refuted)
    assert isinstance(spent, Held)


def test_a_classifier_that_retries_spent_attempts_is_caught() -> None:
    def retries(code: str) -> Family:
        return Family.LEASE if code.endswith("_MAX_ATTEMPTS") else classify(code)

    assert [type(verdict) for verdict in words.totality(retries)] == [Refuted, Refuted, Refuted]


def test_which_orders_do() -> None:
    found = words.orders()
    assert (found.bare, found.one_registered, found.ours) == (0, 96, True)
    assert found.registered >= found.one_registered
    assert set(found.forced) == {
        (Family.FENCE, Family.LEASE),
        (Family.LIMIT, Family.LEASE),
        (Family.CANCEL, Family.INFRA),
        (Family.LIMIT, Family.INFRA),
    }
    assert all(isinstance(verdict, Held) for verdict in words.order_verdicts())


def test_the_codes_of_the_sources_are_what_they_are_said_to_be() -> None:
    assert all(isinstance(verdict, Held) for verdict in words.known_codes())
    assert set(REGISTERED) <= {known.code for known in KNOWN_CODES}
    wrong = (KnownCode("RENDER_QUEUE_FULL", Family.INFRA, "nowhere"),)
    assert [type(verdict) for verdict in words.known_codes(wrong)] == [Refuted]


def test_a_failure_is_retryable_exactly_if_its_family_is() -> None:
    assert len(FAILURE_KINDS) == 9
    assert all(isinstance(verdict, Held) for verdict in words.failure_kinds())
    for kind, retryable in product(FAILURE_KINDS.values(), (True, False)):
        if (kind.again if retryable else kind.final) is None:
            with pytest.raises(UnclassifiedCode, match=kind.name):
                family_of_failure(kind.name, retryable=retryable)
        else:
            assert (family_of_failure(kind.name, retryable=retryable) in RETRYABLE) is retryable
    with pytest.raises(UnclassifiedCode, match="use one of these"):
        family_of_failure("TIMED_OUT", retryable=True)


def test_the_names_of_failures_are_no_codes() -> None:
    """Written as codes, eight of the nine fit no family, and one would be content; so they are mapped by name."""
    outcomes = {kind: words.outcome_of(kind) for kind in FAILURE_KINDS}
    assert {kind for kind, outcome in outcomes.items() if outcome != "refused"} == {"DEPENDENCY_FAILED"}


def test_pairs_are_of_different_families_and_each_pattern_is_in_some() -> None:
    pairs = words.cross_family_pairs()
    assert {pattern for pair in pairs for pattern in pair} == set(PATTERNS)
    assert {frozenset((one.family, other.family)) for one, other in pairs} == {
        frozenset((one, other)) for one in ORDER for other in ORDER if one is not other
    }
