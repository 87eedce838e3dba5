"""The solver's reading of terms is that of plain evaluation: on random terms over random small rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.verification.term_strategies import (
    CHILD,
    FIELDS,
    PARAMETERS,
    SETTINGS,
    Environment,
    environments,
    evaluations,
    fields_of_set,
    names_read,
    quantified_terms,
    rows_after,
    sets,
    terms,
    value_terms,
)

from fencepost_model.semantics import Row
from fencepost_model.shapes import Case, Field, ForEach, Sort
from fencepost_model.terms import (
    AllOf,
    AtMost,
    Bare,
    Choose,
    Const,
    Equal,
    Every,
    FieldOf,
    Holds,
    Less,
    Not,
    OneOf,
    Param,
    Plus,
    Same,
    Some,
    TruthTerm,
    ValueTerm,
    holds,
    value_of,
)
from fencepost_verification.prove import smt
from fencepost_verification.prove.encoding import (
    Entity,
    Lexicon,
    NoBinaryFraction,
    NotEncodable,
    StepScope,
    Symbol,
    decoded,
    formula_of,
    free,
    identical,
    literal,
    plain_number,
    symbol_of,
)
from fencepost_verification.prove.obligations import Effects
from fencepost_verification.prove.smt import Answer, Expression, Formula

PARENT_SORT, CHILD_SORT = smt.element_sort("test parent"), smt.element_sort("test child")
BELONGS = smt.function("test child of", CHILD_SORT, PARENT_SORT)
FRESH = count()


@dataclass(frozen=True)
class Family:
    """The parent and its two children: either listed, or known to the solver as all the children there are."""

    parent: Entity
    first: Entity
    second: Entity
    listed: bool

    @property
    def entities(self) -> tuple[Entity, Entity, Entity]:
        return self.parent, self.first, self.second

    def members(self, machine: str, of: Entity) -> Sequence[Entity] | None:
        assert machine == CHILD.name
        assert of is self.parent
        return (self.first, self.second) if self.listed else None

    def belongs(self, child: Entity, of: Entity) -> Formula:
        return True if self.listed else smt.same(smt.apply(BELONGS, child.handle), of.handle)

    def variable(self, name: str, machine: str, of: Entity) -> Entity:
        return Entity(name, machine, of, smt.constant(name, CHILD_SORT), bound=True)

    def facts(self) -> list[Formula]:
        """That the two children are two, and that there is no third."""
        third = smt.constant("test any child", CHILD_SORT)
        one_of_them = smt.disj((smt.same(third, self.first.handle), smt.same(third, self.second.handle)))
        return [
            self.belongs(self.first, self.parent),
            self.belongs(self.second, self.parent),
            smt.distinct((self.first.handle, self.second.handle)),
            smt.for_all(
                (third,),
                smt.implies(smt.same(smt.apply(BELONGS, third), self.parent.handle), one_of_them),
            ),
        ]


def family(*, listed: bool) -> Family:
    parent = Entity("parent", "parent", None, smt.constant("test p", PARENT_SORT))
    first = Entity("first", "child", parent, smt.constant("test c1", CHILD_SORT))
    second = Entity("second", "child", parent, smt.constant("test c2", CHILD_SORT))
    return Family(parent, first, second, listed)


class LiteralRows:
    """Rows whose values are known while the formula is built."""

    def __init__(self, rows: Mapping[str, Row], lexicon: Lexicon) -> None:
        self._rows, self._lexicon = rows, lexicon

    def read(self, entity: Entity, name: str) -> Symbol:
        return literal(self._rows[entity.key][name], self._lexicon)


class OpenRows:
    """Rows that the solver chooses; ``facts`` then pins the fields that were read to given values."""

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self._given: dict[tuple[str, str], Symbol] = {}
        self._fields = {field.name: field for field in FIELDS}

    def read(self, entity: Entity, name: str) -> Symbol:
        if (entity.key, name) not in self._given:
            self._given[(entity.key, name)] = self._open(entity, self._fields[name])
        return self._given[(entity.key, name)]

    def _open(self, entity: Entity, field: Field) -> Symbol:
        domain = PARENT_SORT if entity.machine == "parent" else CHILD_SORT

        def leaf(suffix: str, sort: smt.SortOf) -> Expression:
            mapping = smt.function(f"test {self._mark} {entity.machine}.{field.name}{suffix}", domain, sort)
            return smt.apply(mapping, entity.handle)

        return free(field.sort, leaf, nullable=True, listed=bool(field.words))

    def facts(self, entities: Sequence[Entity], rows: Sequence[Row], lexicon: Lexicon) -> list[Formula]:
        read = {name for _, name in self._given}
        return [
            identical(self.read(entity, name), literal(value, lexicon))
            for entity, row in zip(entities, rows, strict=True)
            for name, value in row.items()
            if name in read
        ]


def loose(name: str, sort: Sort, words: Sequence[str]) -> Symbol:
    """A symbol about which the solver knows nothing."""
    return free(
        sort,
        lambda suffix, of: smt.constant(f"test {name}{suffix}", of),
        nullable=True,
        listed=bool(words),
    )


def known_scope(environment: Environment, lexicon: Lexicon) -> StepScope:
    """Everything known while the formula is built: the reading has to decide it without the solver."""
    kin = family(listed=True)
    keys = [entity.key for entity in kin.entities]
    return StepScope(
        lexicon,
        {"parent": kin.parent},
        LiteralRows(dict(zip(keys, environment.before, strict=True)), lexicon),
        literal(environment.now, lexicon),
        {name: literal(value, lexicon) for name, value in environment.settings.items()},
        kin,
        {name: literal(value, lexicon) for name, value in environment.params.items()},
        LiteralRows(dict(zip(keys, environment.after, strict=True)), lexicon),
    )


@dataclass(frozen=True)
class Open:
    """Nothing known while a formula is built; ``facts`` pins down what has been read, for an environment."""

    scope: StepScope
    kin: Family
    before: OpenRows
    after: OpenRows

    def facts(self, environment: Environment) -> list[Formula]:
        lexicon = self.scope.lexicon
        return [
            *self.before.facts(self.kin.entities, environment.before, lexicon),
            *self.after.facts(self.kin.entities, environment.after, lexicon),
            identical(self.scope.clock, literal(environment.now, lexicon)),
            *(
                identical(self.scope.params[name], literal(value, lexicon))
                for name, value in environment.params.items()
            ),
            *(
                identical(self.scope.settings[name], literal(value, lexicon))
                for name, value in environment.settings.items()
            ),
            *([] if self.kin.listed else self.kin.facts()),
        ]


def open_scope(lexicon: Lexicon, *, listed: bool = True) -> Open:
    """A scope in which the solver chooses everything."""
    kin = family(listed=listed)
    before, after = OpenRows("before"), OpenRows("after")
    now = free(Sort.INSTANT, lambda suffix, of: smt.constant(f"test now{suffix}", of), nullable=False, listed=False)
    params = {p.name: loose(p.name, p.sort, p.words) for p in PARAMETERS}
    profile = {s.name: loose(s.name, s.sort, ()) for s in SETTINGS}
    return Open(
        StepScope(lexicon, {"parent": kin.parent}, before, now, profile, kin, params, after), kin, before, after
    )


def solver_says(formula: Formula, facts: Sequence[Formula]) -> bool:
    """The truth of a formula under facts that decide it."""
    solver = smt.Solver(milliseconds=60_000)
    solver.tell(*facts)
    assert solver.ask() is Answer.SATISFIABLE
    solver.push()
    solver.tell(formula)
    possible = solver.ask()
    solver.pop()
    solver.tell(smt.neg(formula))
    deniable = solver.ask()
    assert {possible, deniable} == {Answer.SATISFIABLE, Answer.UNSATISFIABLE}
    return possible is Answer.SATISFIABLE


@given(evaluations())
@settings(max_examples=500)
def test_where_all_is_known_the_formula_is_the_truth(evaluation: tuple[TruthTerm, object, Environment]) -> None:
    term, _, environment = evaluation
    assert formula_of(term, known_scope(environment, Lexicon())) is holds(term, environment.scope())


@given(evaluations())
@settings(max_examples=150)
def test_where_nothing_is_known_the_solver_finds_the_truth(evaluation: tuple[TruthTerm, object, Environment]) -> None:
    term, _, environment = evaluation
    open_ = open_scope(Lexicon())
    formula = formula_of(term, open_.scope)
    assert solver_says(formula, open_.facts(environment)) is holds(term, environment.scope())


@given(st.data())
@settings(max_examples=150)
def test_a_quantifier_of_the_solver_means_the_children_that_there_are(data: st.DataObject) -> None:
    term = data.draw(quantified_terms())
    environment = data.draw(environments(open_fields=names_read(term)))
    open_ = open_scope(Lexicon(), listed=False)
    formula = formula_of(term, open_.scope)
    assert solver_says(formula, open_.facts(environment)) is holds(term, environment.scope())


@given(st.data())
@settings(max_examples=150)
def test_a_value_is_read_and_decoded_as_it_is_evaluated(data: st.DataObject) -> None:
    term: ValueTerm = data.draw(st.sampled_from(list(Sort)).flatmap(value_terms))
    environment = data.draw(environments(open_fields=names_read(term)))
    lexicon = Lexicon()
    open_ = open_scope(lexicon)
    symbol = symbol_of(term, open_.scope)
    solver = smt.Solver(milliseconds=60_000)
    solver.tell(*open_.facts(environment))
    assert solver.ask() is Answer.SATISFIABLE
    value = value_of(term, environment.scope())
    assert decoded(symbol, solver.model(), lexicon) == value
    known = symbol_of(term, known_scope(environment, lexicon))
    assert decoded(known, solver.model(), lexicon) == value


@given(st.data())
@settings(max_examples=100)
def test_a_model_of_a_term_is_a_state_in_which_it_holds(data: st.DataObject) -> None:
    """The solver chooses between two environments; whichever it picks to make the term true does."""
    term = data.draw(terms())
    one, other = (data.draw(environments(open_fields=names_read(term))) for _ in range(2))
    open_ = open_scope(Lexicon())
    formula = formula_of(term, open_.scope)
    facts, others = open_.facts(one), open_.facts(other)
    pick = smt.constant(f"test pick {next(FRESH)}", smt.BOOL)
    solver = smt.Solver(milliseconds=60_000)
    solver.tell(smt.choose_truth(pick, smt.conj(facts), smt.conj(others)), formula)
    answer = solver.ask()
    assert (answer is Answer.SATISFIABLE) is (holds(term, one.scope()) or holds(term, other.scope()))
    if answer is Answer.SATISFIABLE:
        assert holds(term, (one if solver.model().truth(pick) else other).scope())


@given(st.data(), sets())
@settings(max_examples=100)
def test_what_is_done_to_each_is_read_of_each_child(data: st.DataObject, each: ForEach) -> None:
    """Of a child by name, of both by a list, and of all there are by a quantifier of the solver."""
    environment = data.draw(environments(open_fields=fields_of_set(each)))
    after = rows_after(Case("done", (), (), "each child", (each,)), environment)
    name = data.draw(st.sampled_from([assignment.field.name for assignment in each.effect]))
    known = known_scope(environment, Lexicon())
    ends = Effects(known.before, {}, (each,), known)
    for child, row in zip(family(listed=True).entities[1:], after[1:], strict=True):
        mine = replace(child, parent=known.binding["parent"])
        assert identical(ends.read(mine, name), literal(row[name], known.lexicon)) is True
    for listed in (True, False):
        open_ = open_scope(Lexicon(), listed=listed)
        scope = replace(open_.scope, after=Effects(open_.before, {}, (each,), open_.scope))
        for value in {row[name] for row in after[1:]}:
            is_it = Same(FieldOf("any", name, after=True), Const(value))
            for term in (Every("any", "child", "parent", is_it), Some("any", "child", "parent", is_it)):
                formula = formula_of(term, scope)
                expected = holds(term, replace(environment, after=after).scope())
                assert solver_says(formula, open_.facts(environment)) is expected


# --- what is refused --------------------------------------------------------------------------------------------------


def note() -> ValueTerm:
    return FieldOf("parent", "note")


@pytest.mark.parametrize(
    "term",
    [
        Less(note(), note()),
        AtMost(FieldOf("parent", "count"), FieldOf("parent", "owner")),
        Less(Plus(FieldOf("parent", "open"), Const(1)), Const(2)),
        Equal(Choose(Holds(FieldOf("parent", "open")), FieldOf("parent", "open"), Const(1)), Const(1)),
        Same(Choose(Holds(FieldOf("parent", "open")), FieldOf("parent", "starts_at"), note()), Const("red")),
    ],
)
def test_what_has_no_order_or_no_common_reading_is_refused(term: TruthTerm) -> None:
    scope = open_scope(Lexicon()).scope
    with pytest.raises(NotEncodable):
        formula_of(term, scope)


@pytest.mark.parametrize("one", [None, False, True])
@pytest.mark.parametrize("other", [None, False, True])
@pytest.mark.parametrize("kind", [Equal, Same])
def test_a_known_flag_is_compared_with_an_unknown_one(
    kind: type[Equal] | type[Same], one: bool | None, other: bool | None
) -> None:
    scope = open_scope(Lexicon()).scope
    flag = FieldOf("parent", "open")
    pinned = formula_of(Same(flag, Const(other)), scope)
    expected = holds(kind(Const(one), Const(other)), Bare({}))
    assert solver_says(formula_of(kind(Const(one), flag), scope), [pinned]) is expected
    assert solver_says(formula_of(kind(flag, Const(one)), scope), [pinned]) is expected


def test_a_number_is_no_string_even_where_identities_may_be_either() -> None:
    lexicon = Lexicon()
    scope = open_scope(lexicon).scope
    owner = FieldOf("parent", "owner")
    solver = smt.Solver(milliseconds=60_000)
    solver.tell(formula_of(OneOf(owner, ("3", "w1")), scope), formula_of(Equal(owner, Const(3)), scope))
    assert solver.ask() is Answer.UNSATISFIABLE


@pytest.mark.parametrize("number", ["count", "starts_at"])
def test_an_identity_that_equals_a_number_is_that_number(number: str) -> None:
    """A count may be assigned to an identity, as when an attempt is named by the generation that opened it."""
    lexicon = Lexicon()
    scope = open_scope(lexicon).scope
    owner, counted = FieldOf("parent", "owner"), FieldOf("parent", number)
    solver = smt.Solver(milliseconds=60_000)
    solver.tell(formula_of(AllOf((Equal(owner, counted), Equal(counted, Const(3)))), scope))
    assert solver.ask() is Answer.SATISFIABLE
    assert decoded(scope.field("parent", "owner", False), solver.model(), lexicon) == 3
    solver.tell(formula_of(Not(Equal(owner, Const(3))), scope))
    assert solver.ask() is Answer.UNSATISFIABLE


def test_a_choice_between_an_identity_and_a_count_keeps_both_apart() -> None:
    lexicon = Lexicon()
    scope = open_scope(lexicon).scope
    choice = Choose(Holds(FieldOf("parent", "open")), FieldOf("parent", "owner"), FieldOf("parent", "count"))
    solver = smt.Solver(milliseconds=60_000)
    solver.tell(formula_of(AllOf((Equal(FieldOf("parent", "count"), Const(3)), Equal(choice, Const(3)))), scope))
    solver.tell(formula_of(Not(Holds(FieldOf("parent", "open"))), scope))
    assert solver.ask() is Answer.SATISFIABLE
    assert decoded(symbol_of(choice, scope), solver.model(), lexicon) == 3


def test_a_word_that_nothing_lists_is_equal_to_none_of_those_listed() -> None:
    scope = open_scope(Lexicon()).scope
    solver = smt.Solver(milliseconds=60_000)
    solver.tell(formula_of(OneOf(Param("given_note"), ("E1", "unheard of")), scope))
    solver.tell(formula_of(Equal(Param("given_note"), Const("heard of")), scope))
    assert solver.ask() is Answer.UNSATISFIABLE


def test_codes_of_strings_are_odd_and_lead_back() -> None:
    lexicon = Lexicon()
    invented = lexicon.text(3)
    codes = [lexicon.code(text) for text in ("a", "b", "c")]
    assert len({*codes, 3}) == 4
    assert all(code % 2 for code in codes)
    assert [lexicon.text(code) for code in codes] == ["a", "b", "c"]
    assert lexicon.code(invented) == 3


def test_a_number_that_no_float_holds_is_not_rounded() -> None:
    solver = smt.Solver(milliseconds=60_000)
    third = smt.constant("test third", smt.REAL)
    solver.tell(smt.same(smt.scaled(3, third), smt.real(1)))
    assert solver.ask() is Answer.SATISFIABLE
    with pytest.raises(NoBinaryFraction):
        plain_number(solver.model().number(third))
