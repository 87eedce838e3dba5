"""The English reading: no two terms read alike, every boundary and every null is in the words."""

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.shapes import Parameter, Sort, Variable
from fencepost_model.terms import (
    NULL,
    AllOf,
    AnyOf,
    AtMost,
    Choose,
    Const,
    Equal,
    Every,
    FieldOf,
    Holds,
    Larger,
    Less,
    Missing,
    Not,
    Now,
    OneOf,
    Param,
    Plus,
    Same,
    Setting,
    Smaller,
    Some,
    Truth,
    TruthTerm,
    ValueTerm,
)
from fencepost_verification.documents.wording import Speech, effect_in_words, in_words, normalised, value_in_words

OVER = (Variable("job", "job"), Variable("token", "token", "job"), Variable("other", "token", "job"))
PARAMETERS = (
    Parameter("delay", Sort.DURATION, "a back-off"),
    Parameter("deadline_at", Sort.INSTANT, "a deadline", nullable=True),
)
SPEECH = Speech.about(JOB_CONTRACT, OVER, PARAMETERS)


def job(name: str, after: bool = False) -> FieldOf:
    return FieldOf("job", name, after)


# --- what it says -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("term", "words"),
    [
        (Less(Now(), job("lease_expires_at")), "`lease_expires_at` is set and later than now"),
        (Equal(job("status"), Const("pending")), '`status` is "pending"'),
        (Less(job("attempt_count"), job("max_attempts")), "`attempt_count` is less than `max_attempts`"),
        (
            AnyOf((Missing(job("deadline_at")), Less(Now(), job("deadline_at")))),
            "`deadline_at` is null or later than now",
        ),
        (Missing(job("status")), "the job does not exist"),
        (
            Equal(job("worker_id"), FieldOf("token", "worker_id")),
            "`worker_id` is set and equals the token's `worker_id`",
        ),
        (
            AnyOf((AllOf((Truth(True), Truth(False))), Missing(job("deadline_at")))),
            "either (both always and never) or `deadline_at` is null",
        ),
        (
            AllOf((AnyOf((Truth(True), Truth(False))), Truth(False))),
            "both (either always or never) and never",
        ),
        (
            Every("mate", "token", "job", Equal(FieldOf("mate", "lease_generation"), Const(1))),
            "for every token `mate` of the job: the mate token's `lease_generation` is 1",
        ),
        (OneOf(job("error_code"), ("BUILD_LEASE_OWNER_MISMATCH",)), "`error_code` is of family FENCE"),
        (Same(job("status"), job("status", after=True)), "`status` is unchanged"),
        (Less(job("starts"), Const(2)), "`starts` is less than 2"),
        (AtMost(Const(2), job("starts")), "`starts` is at least 2"),
    ],
)
def test_what_people_would_say(term: TruthTerm, words: str) -> None:
    assert in_words(term, SPEECH) == words


def test_effects_of_the_contract_are_told_apart_within_each_case() -> None:
    for operation, case in JOB_CONTRACT.transitions():
        speech = Speech.about(JOB_CONTRACT, operation.over, operation.parameters)
        told = [effect_in_words(assignment, speech) for assignment in case.effect]
        assert len(set(told)) == len(case.effect)


def test_guards_of_the_contract_that_differ_read_differently() -> None:
    for operation in JOB_CONTRACT.operations:
        speech = Speech.about(JOB_CONTRACT, operation.over, operation.parameters)
        terms = {g.term for g in operation.guards} | {g.term for case in operation.cases for g in case.when}
        assert len({in_words(term, speech) for term in terms}) == len({normalised(term) for term in terms})


# --- boundaries -------------------------------------------------------------------------------------------------------

NUMBERS = (
    job("attempt_count"),
    job("max_attempts"),
    Const(3),
    Setting("max_polls"),
    FieldOf("token", "lease_generation"),
)
INSTANTS = (
    Now(),
    job("lease_expires_at"),
    job("deadline_at", after=True),
    Param("deadline_at"),
    Plus(Now(), Param("delay")),
)
INCLUSIVE = ("at most", "at least", "at or before", "at or after")
STRICT = ("less than", "greater than", "earlier than", "later than")


@pytest.mark.parametrize("sides", [NUMBERS, INSTANTS])
def test_the_boundary_is_in_the_words(sides: tuple[ValueTerm, ...]) -> None:
    for left, right in itertools.product(sides, repeat=2):
        for wrap in (lambda t: t, Not, lambda t: AnyOf((Missing(job("deadline_at", after=True)), t))):
            strict, inclusive = in_words(wrap(Less(left, right)), SPEECH), in_words(wrap(AtMost(left, right)), SPEECH)
            assert any(word in strict for word in STRICT)
            assert not any(word in strict for word in INCLUSIVE)
            assert any(word in inclusive for word in INCLUSIVE)
            assert not any(word in inclusive for word in STRICT)


def test_a_field_that_may_be_null_is_said_to_be_set() -> None:
    nullable, certain = job("lease_expires_at"), job("attempt_count")
    for compare in (Less, AtMost, Equal):
        assert "is set" in in_words(compare(Now(), nullable), SPEECH)
        assert "is set" in in_words(compare(nullable, Now()), SPEECH)
        assert "is set" not in in_words(compare(certain, Setting("max_polls")), SPEECH)
        assert in_words(compare(nullable, job("deadline_at")), SPEECH).count("is set") == 2


# --- no two terms read alike ------------------------------------------------------------------------------------------


def all_alike(terms: Iterator[TruthTerm]) -> None:
    """Fails when two of the terms read alike although they differ in more than form."""
    seen: dict[str, TruthTerm] = {}
    count = 0
    for term in terms:
        plain = normalised(term)
        # repr tells 1, 1.0 and True apart, which Python's equality does not.
        other = seen.setdefault(in_words(term, SPEECH), plain)
        assert repr(other) == repr(plain), f"both read: {in_words(term, SPEECH)}"
        count += 1
    assert count > 1000


LEAVES: tuple[ValueTerm, ...] = (
    NULL,
    Const(True),
    Const(1),
    Const("pending"),
    Const("status"),
    Const("now"),
    job("status"),
    job("status", after=True),
    job("lease_generation"),
    job("lease_generation", after=True),
    job("deadline_at"),
    job("deadline_at", after=True),
    FieldOf("token", "lease_generation"),
    FieldOf("other", "lease_generation"),
    Now(),
    Setting("max_polls"),
    Param("delay"),
    Param("deadline_at"),
)


def comparisons(values: tuple[ValueTerm, ...]) -> Iterator[TruthTerm]:
    for left, right in itertools.product(values, repeat=2):
        yield from (Less(left, right), AtMost(left, right), Equal(left, right), Same(left, right))
    for value in values:
        yield from (Missing(value), Holds(value))
        for choices in ((), ("pending",), ("pending", "running"), ("running", "pending"), (1, 2, 3), ("1", 2, 3)):
            yield OneOf(value, choices)


def test_every_small_sentence_and_its_denial_reads_differently() -> None:
    few = (*LEAVES, *(join(a, b) for join in (Plus, Smaller, Larger) for a in LEAVES[9:11] for b in LEAVES[9:11]))
    few = (*few, Plus(Now(), Const(-1)), Plus(Now(), Const(1)), Plus(Const(-1), Now()))

    def terms() -> Iterator[TruthTerm]:
        for term in comparisons(few):
            yield from (term, Not(term), Not(Not(Not(term))), AllOf((term,)), AnyOf((term,)))

    all_alike(terms())


def test_every_small_nesting_reads_differently() -> None:
    x, y = job("deadline_at"), job("attempt_count")
    atoms: tuple[TruthTerm, ...] = (
        Truth(True),
        Missing(x),
        Not(Missing(x)),
        Less(Now(), x),
        AtMost(x, Now()),
        Equal(y, Const(1)),
        Not(Equal(y, Const(1))),
        OneOf(job("status"), ("pending", "running")),
        Same(x, job("deadline_at", after=True)),
        Same(y, job("attempt_count", after=True)),
        Missing(job("status")),
    )

    def joined(parts: tuple[TruthTerm, ...]) -> Iterator[TruthTerm]:
        for size in (0, 1, 2):
            for chosen in itertools.product(parts, repeat=size):
                yield from (AllOf(chosen), AnyOf(chosen))

    def terms() -> Iterator[TruthTerm]:
        shallow = (*atoms, *joined(atoms))
        some = shallow[:: len(shallow) // 8]
        for first, second in itertools.product(some, shallow):
            yield from (AllOf((first, second)), AnyOf((second, first)), AnyOf((Not(first), second)))
        for first, second, third in itertools.product(atoms[1:5], atoms[:6], atoms[::2]):
            yield AllOf((first, second, third))
            yield AllOf((first, AllOf((second, third))))
            yield AllOf((AllOf((first, second)), third))
            yield AllOf((first, AnyOf((second, third))))
            yield AnyOf((AllOf((first, second)), third))
            yield AnyOf((first, second, third))
            yield Not(AllOf((first, Not(AllOf((second, third))))))
            yield Not(AllOf((first, Not(AllOf((second,))), third)))
            yield AllOf((first, first, AllOf((second, second, third)), third))
            yield AllOf((first, first, AllOf((second, second, third, third))))
            yield AnyOf((Not(first), AnyOf((Not(second), AllOf((second, third))))))
            yield AllOf((AnyOf((Not(first), second)), third))
            yield Not(AllOf((first, AnyOf((second, third)))))
            yield Not(AnyOf((first, second, third)))
            yield Every("mate", "token", "job", AllOf((first, second)))
            yield AllOf((Every("mate", "token", "job", first), second))
            yield Equal(Choose(AllOf((first, second)), Now(), y), x)
            yield AllOf((Equal(Choose(first, Now(), y), x), second))

    all_alike(terms())


def test_null_or_something_reads_differently_for_each_something() -> None:
    few: tuple[ValueTerm, ...] = (
        job("deadline_at"),
        job("next_poll_at"),
        job("attempt_count"),
        Now(),
        Const(1),
        Param("deadline_at"),
    )

    def terms() -> Iterator[TruthTerm]:
        for value, left, right in itertools.product(few, repeat=3):
            for claim in (Less(left, right), AtMost(left, right), Equal(left, right), OneOf(left, (1, 2))):
                yield from (AnyOf((Missing(value), claim)), AnyOf((claim, Missing(value))), claim)
                yield from (AnyOf((Not(Missing(value)), claim)), AnyOf((Missing(value), Not(claim))))

    all_alike(terms())


def values(truths: st.SearchStrategy[TruthTerm]) -> st.SearchStrategy[ValueTerm]:
    leaves = st.sampled_from(LEAVES)
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(Plus, inner, inner),
            st.builds(Smaller, inner, inner),
            st.builds(Larger, inner, inner),
            st.builds(Choose, truths, inner, inner),
        ),
        max_leaves=3,
    )


def truth_terms() -> st.SearchStrategy[TruthTerm]:
    simple = values(st.builds(Truth, st.booleans()))
    atoms: st.SearchStrategy[TruthTerm] = st.one_of(
        st.builds(Truth, st.booleans()),
        *(st.builds(kind, simple, simple) for kind in (Less, AtMost, Equal, Same)),
        *(st.builds(kind, simple) for kind in (Missing, Holds)),
        st.builds(OneOf, simple, st.lists(st.sampled_from(["pending", "running", 1, 2]), max_size=3).map(tuple)),
    )
    return st.recursive(
        atoms,
        lambda inner: st.one_of(
            st.builds(Not, inner),
            st.builds(AllOf, st.lists(inner, max_size=3).map(tuple)),
            st.builds(AnyOf, st.lists(inner, max_size=3).map(tuple)),
            st.builds(Every, st.just("mate"), st.just("token"), st.just("job"), inner),
            st.builds(Some, st.just("mate"), st.just("token"), st.just("job"), inner),
            st.builds(lambda condition: Holds(Choose(condition, Const(True), Const(False))), inner),
        ),
        max_leaves=8,
    )


@st.composite
def neighbours(draw: st.DrawFn, term: TruthTerm) -> TruthTerm:
    """The term with one small change somewhere: another comparison, sides swapped, parts grouped in another way."""
    return draw(st.sampled_from(list(changed(draw, term))))


def changed(draw: st.DrawFn, term: TruthTerm) -> Iterator[TruthTerm]:
    match term:
        case Not(part):
            yield from (part, Not(Not(part)), Not(draw(neighbours(part))))
        case AllOf(parts) | AnyOf(parts) if parts:
            kind: type[AllOf] | type[AnyOf] = AllOf if isinstance(term, AllOf) else AnyOf
            twin: type[AllOf] | type[AnyOf] = AnyOf if isinstance(term, AllOf) else AllOf
            index = draw(st.integers(0, len(parts) - 1))
            inner = parts[index]
            opened = inner.parts if isinstance(inner, AllOf | AnyOf) else (inner,)
            yield kind((*parts[:index], draw(neighbours(inner)), *parts[index + 1 :]))
            yield twin(parts)
            yield kind(parts[::-1])
            yield kind(parts[1:])
            yield kind((*parts, parts[0]))
            yield kind((*parts[:index], *opened, *parts[index + 1 :]))
            yield kind((kind(parts[: index + 1]), *parts[index + 1 :]))
            yield kind((*parts[:index], twin(parts[index:])))
            yield Not(kind(parts))
        case Less(left, right) | AtMost(left, right) | Equal(left, right) | Same(left, right):
            for compare in (Less, AtMost, Equal, Same):
                yield from (compare(left, right), compare(right, left))
        case Every(variable, machine, of, body):
            yield from (Some(variable, machine, of, body), Every("pal", machine, of, body), body)
        case Some(variable, machine, of, body):
            yield from (Every(variable, machine, of, body), Some("pal", machine, of, body), body)
        case OneOf(value, choices):
            yield from (OneOf(value, choices[::-1]), OneOf(value, choices[1:]), Not(term))
        case _:
            yield from (Not(term), AllOf((term,)), AnyOf((term,)), AnyOf((Not(term), term)))


@settings(max_examples=60)
@given(st.data())
def test_a_term_and_its_near_neighbour_read_differently(data: st.DataObject) -> None:
    term = data.draw(truth_terms())
    neighbour = data.draw(neighbours(term))
    if in_words(term, SPEECH) == in_words(neighbour, SPEECH):
        assert repr(normalised(term)) == repr(normalised(neighbour))


@given(truth_terms(), truth_terms())
def test_two_random_terms_read_differently(one: TruthTerm, other: TruthTerm) -> None:
    if in_words(one, SPEECH) == in_words(other, SPEECH):
        assert repr(normalised(one)) == repr(normalised(other))


@given(truth_terms())
def test_what_the_wording_does_not_tell_is_only_what_it_lists(term: TruthTerm) -> None:
    assert in_words(normalised(term), SPEECH) == in_words(term, SPEECH)


def test_values_read_differently() -> None:
    built = [join(a, b) for join in (Plus, Smaller, Larger) for a in LEAVES for b in LEAVES]
    deep = [Plus(a, b) for a in built[::17] for b in built[::19]] + [Choose(Truth(True), a, Now()) for a in built[::7]]
    told: dict[str, ValueTerm] = {}
    for value in (*LEAVES, *built, *deep):
        assert repr(told.setdefault(value_in_words(value, SPEECH), value)) == repr(value)
