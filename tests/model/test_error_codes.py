"""Error codes: the source's examples, the order of the families, and what is refused."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost_model import error_codes
from fencepost_model.error_codes import (
    EXAMPLES,
    ORDER,
    PATTERNS,
    REGISTERED,
    RETRYABLE,
    Family,
    Pattern,
    Place,
    UnclassifiedCode,
    classify,
    is_retryable,
)

# Source 000 §4, the last column of its table.
SOURCE: dict[Family, Sequence[str]] = {
    Family.LEASE: ("LEASE_TIMEOUT_RECOVERED", "AI_PAGE_MUTATION_INTERRUPTED", "PAGE_SCREENSHOT_JOB_INTERRUPTED"),
    Family.INFRA: ("RENDER_SERVICE_UNAVAILABLE", "RENDER_DEADLINE_EXCEEDED", "RUNTIME_VITE_QUEUE_FULL"),
    Family.CONTENT: ("PAGE_VALIDATION_FAILED", "PAGE_SCREENSHOT_JOB_STALE"),
    Family.CANCEL: ("AI_RUN_CANCELLED", "RENDER_CANCELLED", "AI_RUN_NOT_ACTIVE"),
    Family.FENCE: ("AI_PAGE_MUTATION_LEASE_LOST", "BUILD_LEASE_OWNER_MISMATCH", "AI_EXTERNAL_STATE_INCONSISTENT"),
    Family.LIMIT: ("RENDER_QUEUE_FULL", "LEASE_TIMEOUT_MAX_ATTEMPTS"),
}
# Decided besides: codes of the source's other sections, and those that the contract itself writes.
DECIDED: dict[Family, Sequence[str]] = {
    Family.LEASE: ("AI_RUN_PROCESS_STOPPED", "LEASE_RELEASE_CEILING"),
    Family.INFRA: ("RENDER_WORKER_FAILED",),
    Family.LIMIT: ("JOB_DEADLINE_EXCEEDED",),
}
# One witness for each pair of families whose patterns overlap, and the family that the order gives it.
OVERLAPPING: dict[str, Family] = {
    "RENDER_INTERRUPTED": Family.LEASE,
    "LEASE_TIMEOUT_CANCELLED": Family.CANCEL,
    "X_LEASE_LOST": Family.FENCE,
    "RENDER_LEASE_LOST": Family.FENCE,
    "X_VALIDATION_CANCELLED": Family.CANCEL,
    "X_VALIDATION_LEASE_LOST": Family.FENCE,
    "X_VALIDATION_QUEUE_FULL": Family.LIMIT,
    "X_LEASE_OWNER_CANCELLED": Family.FENCE,
    "X_ADMISSION_CANCELLED": Family.CANCEL,
    "X_LEASE_OWNER_QUEUE_FULL": Family.FENCE,
}

# Pieces that meet at every seam: codes made of them match several patterns, or one just not.
PIECES = sorted({pattern.text.strip("_") for pattern in PATTERNS} | {"X", "AI", "LEASE", "MAX", "FAILED_", ""})
CODES = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=5).map("_".join),
    st.sampled_from(sorted(REGISTERED)),
    st.text(st.characters(codec="ascii"), max_size=12),
)


def family_of(code: str) -> Family | str:
    """The family, or the sentence with which the code is refused."""
    try:
        return classify(code)
    except UnclassifiedCode as refused:
        return str(refused)


@pytest.mark.parametrize(
    ("code", "family"),
    [(code, family) for table in (SOURCE, DECIDED) for family, codes in table.items() for code in codes],
)
def test_the_sources_examples_classify_as_the_source_has_them(code: str, family: Family) -> None:
    assert classify(code) is family


@pytest.mark.parametrize(("code", "family"), OVERLAPPING.items())
def test_overlaps_are_settled_by_the_order(code: str, family: Family) -> None:
    matching = {pattern.family for pattern in PATTERNS if pattern.matches(code)}
    assert len(matching) > 1
    assert classify(code) is family is next(candidate for candidate in ORDER if candidate in matching)


def test_the_order_names_each_family_once() -> None:
    assert sorted(family.value for family in ORDER) == sorted(family.value for family in Family)
    assert {pattern.family for pattern in PATTERNS} == set(Family)


def test_the_examples_of_the_model_belong_to_their_families() -> None:
    assert {family: classify(code) for family, code in EXAMPLES.items()} == {family: family for family in Family}


@pytest.mark.parametrize(
    "code", ["", "OOPS", "X_LEASE", "FAILED", "lease_timeout_recovered", "X_FAILED_TWICE", "RENDER"]
)
def test_a_code_that_fits_no_family_is_refused(code: str) -> None:
    with pytest.raises(UnclassifiedCode, match="fits no family; use a registered suffix or add it to REGISTERED"):
        classify(code)


@pytest.mark.parametrize(
    "code",
    [
        "RUNTIME_BUILD_FAILED",
        "RENDER_FAILED",
        "PAGE_VALIDATION_TIMEOUT",
        "PAGE_VALIDATION_UNAVAILABLE",
        "RENDER_VALIDATION_FAILED",
        "RENDER_PAGE_STALE",
    ],
)
def test_infrastructure_never_passes_as_content(code: str) -> None:
    with pytest.raises(UnclassifiedCode, match=f"{code}.*CONTENT.*infrastructure; register it"):
        classify(code)


@pytest.mark.parametrize("code", ["LEASE_TIMEOUT_FAILED", "PAGE_LEASE_STALE", "PAGE_VALIDATION_INTERRUPTED"])
def test_a_code_that_reads_as_content_and_as_a_lost_lease_is_refused(code: str) -> None:
    with pytest.raises(UnclassifiedCode, match="register it"):
        classify(code)


def test_registration_settles_what_would_be_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(REGISTERED, "RENDER_WORKER_FAILED")
    with pytest.raises(UnclassifiedCode, match="register it"):
        classify("RENDER_WORKER_FAILED")
    monkeypatch.setitem(REGISTERED, "RENDER_WORKER_FAILED", Family.CONTENT)
    assert classify("RENDER_WORKER_FAILED") is Family.CONTENT


@pytest.mark.parametrize("code", sorted(REGISTERED))
def test_a_registration_is_needed(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Without it the code would be refused or misplaced. One is registered although the order settles it too."""
    family = REGISTERED[code]
    monkeypatch.delitem(REGISTERED, code)
    assert (family_of(code) is family) is (code == "LEASE_TIMEOUT_MAX_ATTEMPTS")


@pytest.mark.parametrize(
    ("place", "matching", "not_matching"),
    [
        (Place.PREFIX, ("_X_Y", "_X_"), ("A_X_Y", "A_X_", "_XY")),
        (Place.INFIX, ("A_X_B", "_A_X_B_"), ("_X_B", "A_X_", "_X_", "AXB")),
        (Place.SUFFIX, ("A_X_", "_X_"), ("A_X_B", "_X_B", "A_X")),
    ],
)
def test_prefix_infix_and_suffix_are_told_apart(
    place: Place, matching: Sequence[str], not_matching: Sequence[str]
) -> None:
    pattern = Pattern("_X_", place, Family.LEASE)
    assert [code for code in matching if not pattern.matches(code)] == []
    assert [code for code in not_matching if pattern.matches(code)] == []


def test_a_pattern_stands_where_its_underscores_are_not() -> None:
    """``X_`` is a prefix, ``_X`` a suffix, ``_X_`` an infix."""
    for pattern in PATTERNS:
        underscores = (pattern.text.startswith("_"), pattern.text.endswith("_"))
        assert (
            underscores
            == {
                Place.PREFIX: (False, True),
                Place.INFIX: (True, True),
                Place.SUFFIX: (True, False),
            }[pattern.place]
        ), pattern


@given(CODES)
def test_every_code_has_one_family_or_is_refused_with_a_sentence(code: str) -> None:
    family = family_of(code)
    matching = {pattern.family for pattern in PATTERNS if pattern.matches(code)}
    if isinstance(family, str):
        assert repr(code) in family
        assert "REGISTERED" in family
        with pytest.raises(UnclassifiedCode):
            is_retryable(code)
    else:
        assert code in REGISTERED or family in matching
        assert is_retryable(code) is (family in RETRYABLE)
        if family is Family.CONTENT and code not in REGISTERED:
            assert matching.isdisjoint({Family.INFRA, Family.LEASE, Family.LIMIT, Family.CANCEL, Family.FENCE})


@given(CODES, st.permutations(PATTERNS), st.permutations(sorted(REGISTERED)))
def test_the_order_in_which_patterns_and_registrations_are_written_decides_nothing(
    code: str, patterns: list[Pattern], registered: list[str]
) -> None:
    family = family_of(code)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(error_codes, "PATTERNS", tuple(patterns))
        patch.setattr(error_codes, "REGISTERED", {name: REGISTERED[name] for name in registered})
        assert family_of(code) == family


@given(CODES)
def test_spent_attempts_are_never_followed_by_another(code: str) -> None:
    spent = f"{code}_MAX_ATTEMPTS"
    assert classify(spent) in {Family.FENCE, Family.LIMIT}
    assert not is_retryable(spent)


def test_what_may_be_tried_again() -> None:
    assert {Family.LEASE, Family.INFRA} == RETRYABLE
    assert is_retryable("LEASE_TIMEOUT_RECOVERED")
    assert not is_retryable("LEASE_TIMEOUT_MAX_ATTEMPTS")
    assert not is_retryable("JOB_DEADLINE_EXCEEDED")
