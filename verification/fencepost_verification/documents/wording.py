"""The English reading of terms: every guard, effect and statement of a contract as a sentence.

Theory
======
The reading is a total function over the two unions of ``fencepost_model.terms``. Under one way of speaking (which
variable may go unnamed, which fields may be null) it is meant to be *one to one*: two different terms never read alike.
What that rests on:

* a name is written between back-quotes, a word or text between double quotes, so that a field ``pending`` and the word
  ``"pending"`` differ;
* a sentence that holds a connective of its own ("is set *and* later than now") is put into parentheses as soon as it
  stands within another one; so is every list. Nothing is left to the precedence of "and" and "or";
* a boundary is always in the words: *earlier than* and *at or before*, *later than* and *at or after*, *less than* and
  *at most*, *greater than* and *at least* are eight different readings of four comparisons and their mirror images;
* a null is always in the words: where a comparison fails because its field may be null, the sentence says *is set*.

A few shapes have a reading of their own, because people say it that way: ``AnyOf((Not(a), b))`` is "if a, then b",
``AnyOf((Missing(x), x is late))`` is "x is null or late", ``Same(x, x after the step)`` is "x is unchanged". Each of
them is read so only in exactly that shape, hence none of them makes two terms read alike.

Two differences of form are not told, because they are none of meaning (``normalised`` removes them):

* ``Not(Not(a))`` reads as ``a``;
* ``OneOf(x, ("a",))`` reads as ``Equal(x, Const("a"))``.

A list of error codes that holds all codes of some families, among those that the field takes, reads as the families:
the contract speaks of families, and the model reasons with one code of each.

The result is a small tree of sentences, so that a page may print it as nested bullets and a terminal as one line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias, TypeGuard, assert_never

from fencepost_model.contract import Contract
from fencepost_model.error_codes import Family, UnclassifiedCode, classify
from fencepost_model.shapes import Assignment, ForEach, Parameter, Sort, Variable
from fencepost_model.terms import (
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
    Value,
    ValueTerm,
)

# --- the tree of sentences --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Said:
    """One sentence. ``loose`` tells that it holds an "and", "or" or "if" and must not stand bare within another one."""

    text: str
    loose: bool = False


class Joint(Enum):
    """How the parts of a list belong together; the value is what stands above them when each has a line of its own."""

    ALL = "all of these hold"
    ANY = "at least one of these holds"
    NOT_ALL = "not all of these hold"
    NONE = "none of these holds"
    IF = "if"
    FALSE = "it is false that"
    EACH = "for each"


@dataclass(frozen=True, slots=True)
class Listed:
    """Several sentences, joined. For ``IF`` there are two parts; ``EACH`` has one, under the words in ``lead``."""

    joint: Joint
    parts: tuple[Clause, ...]
    lead: str = ""


Clause: TypeAlias = Said | Listed


def sentence(clause: Clause) -> str:
    """A tree of sentences on one line, with parentheses wherever the line alone could be misread."""
    match clause:
        case Said(text):
            return text
        case Listed(joint, parts, lead):
            inner = [_within(part) for part in parts]
            match joint:
                case Joint.ALL:
                    return _joined(inner, "all of nothing", "all of just ", "both {} and {}", "all of: ")
                case Joint.ANY:
                    return _joined(inner, "one of nothing", "one of just ", "either {} or {}", "at least one of: ")
                case Joint.NOT_ALL:
                    return "not all of: " + "; ".join(inner)
                case Joint.NONE:
                    return "none of: " + "; ".join(inner)
                case Joint.IF:
                    return f"if {inner[0]}, then {inner[1]}"
                case Joint.FALSE:
                    return f"it is false that {inner[0]}"
                case Joint.EACH:
                    return f"{lead}: {inner[0]}"
                case _:
                    assert_never(joint)
        case _:
            assert_never(clause)


def _within(clause: Clause) -> str:
    text = sentence(clause)
    return f"({text})" if isinstance(clause, Listed) or clause.loose else text


def _joined(inner: list[str], none: str, one: str, two: str, more: str) -> str:
    match inner:
        case []:
            return none
        case [only]:
            return f"{one}{only}"
        case [first, second]:
            return two.format(first, second)
        case _:
            return more + "; ".join(inner)


# --- who and what is spoken of ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Speech:
    """Who and what a sentence may speak of: a contract, the variables in sight, and the one that goes unnamed.

    ``variables`` maps each variable to its machine. Fields of ``subject`` are named bare (``status``), those of other
    variables with their owner (the token's ``worker_id``).
    """

    contract: Contract
    variables: Mapping[str, str]
    parameters: Mapping[str, Parameter]
    subject: str | None = None

    @staticmethod
    def about(
        contract: Contract,
        over: Iterable[Variable],
        parameters: Iterable[Parameter] = (),
        subject: str | None = None,
    ) -> Speech:
        """The way to speak of an operation or statement over these variables; the first is the subject by default."""
        variables = {variable.name: variable.machine for variable in over}
        unnamed = subject or next(iter(variables), None)
        return Speech(contract, variables, {p.name: p for p in parameters}, unnamed)

    def of_each(self, each: ForEach) -> Speech:
        """The same, for what is done to each of many: the entity that is changed goes unnamed."""
        more = {variable.name: variable.machine for variable in each.over}
        return replace(self, variables={**self.variables, **more}, subject=each.subject.name)

    def with_variable(self, name: str, machine: str) -> Speech:
        """The same, within a quantifier that brings a variable of its own."""
        return replace(self, variables={**self.variables, name: machine})

    def owner(self, variable: str) -> str:
        """A variable as people call it: "the token", or "the other token" when its name is not its machine's."""
        machine = self.variables[variable]
        return f"the {variable}" if variable == machine else f"the {variable} {machine}"

    def sort(self, value: ValueTerm) -> Sort | None:
        """The sort of a value; None for a literal, which takes the sort of what it stands beside."""
        match value:
            case Const():
                return None
            case FieldOf(entity, name):
                return self.contract.machine(self.variables[entity]).field_named(name).sort
            case Now():
                return Sort.INSTANT
            case Setting(name):
                return next((s.sort for s in self.contract.settings if s.name == name), None)
            case Param(name):
                return self.parameters[name].sort
            case Plus(left, right) | Smaller(left, right) | Larger(left, right):
                sorts = (self.sort(left), self.sort(right))
                return Sort.INSTANT if Sort.INSTANT in sorts else sorts[0] or sorts[1]
            case Choose(_, then, otherwise):
                return self.sort(then) or self.sort(otherwise)
            case _:
                assert_never(value)

    def may_be_null(self, value: ValueTerm) -> bool:
        """Whether a value of an existing row can be null, so that a sentence must say that it is set."""
        match value:
            case Const(literal):
                return literal is None
            case FieldOf(entity, name):
                return self.contract.machine(self.variables[entity]).field_named(name).nullable
            case Now() | Setting():
                return False
            case Param(name):
                return self.parameters[name].nullable
            case Plus(left, right) | Smaller(left, right) | Larger(left, right):
                return self.may_be_null(left) or self.may_be_null(right)
            case Choose(_, then, otherwise):
                return self.may_be_null(then) or self.may_be_null(otherwise)
            case _:
                assert_never(value)

    def families(self, term: OneOf) -> tuple[str, ...]:
        """The families of error codes that a list of choices stands for; none when it is not all their codes."""
        match term.value:
            case FieldOf(entity, name):
                words = self.contract.machine(self.variables[entity]).field_named(name).words
            case Param(name):
                words = self.parameters[name].words
            case _:
                return ()
        try:
            by_word = {word: classify(word) for word in words}
        except UnclassifiedCode:
            return ()
        meant = {by_word[choice] for choice in term.choices if choice in by_word}
        if not meant or term.choices != tuple(word for word in words if by_word[word] in meant):
            return ()
        return tuple(family.value for family in Family if family in meant)

    def marks_existence(self, value: ValueTerm) -> TypeGuard[FieldOf]:
        """Whether a value is the status of an entity: it is null exactly while the entity does not exist."""
        if not isinstance(value, FieldOf) or value.name != "status":
            return False
        return bool(self.contract.machine(self.variables[value.entity]).statuses)


# --- values -----------------------------------------------------------------------------------------------------------


def literal(value: Value) -> str:
    """A value as it is written in a sentence: null, true, a number, or text between double quotes."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def value_in_words(value: ValueTerm, speech: Speech) -> str:
    """A value term in words, such as "now plus the setting `lease_seconds`"."""
    match value:
        case Const(content):
            return literal(content)
        case FieldOf(entity, name, after):
            if entity == speech.subject:
                return f"the new `{name}`" if after else f"`{name}`"
            return f"{speech.owner(entity)}'s {'new ' if after else ''}`{name}`"
        case Now():
            return "now"
        case Setting(name):
            return f"the setting `{name}`"
        case Param(name):
            return f"the given `{name}`"
        case Plus(left, Const(int() | float() as number)) if not isinstance(number, bool) and number < 0:
            return f"{_operand(left, speech)} minus {-number!r}"
        case Plus(left, right):
            return f"{_operand(left, speech)} plus {_operand(right, speech)}"
        case Smaller(left, right):
            least = "earlier" if speech.sort(value) is Sort.INSTANT else "smaller"
            return f"the {least} of {_operand(left, speech)} and {_operand(right, speech)}"
        case Larger(left, right):
            most = "later" if speech.sort(value) is Sort.INSTANT else "larger"
            return f"the {most} of {_operand(left, speech)} and {_operand(right, speech)}"
        case Choose(condition, then, otherwise):
            when = _within(clause(condition, speech))
            return f"{_operand(then, speech)} if {when}, else {_operand(otherwise, speech)}"
        case _:
            assert_never(value)


def _operand(value: ValueTerm, speech: Speech) -> str:
    """A value within another value: whatever is put together gets parentheses."""
    text = value_in_words(value, speech)
    return f"({text})" if isinstance(value, Plus | Smaller | Larger | Choose) else text


def _side(value: ValueTerm, speech: Speech) -> str:
    """A value as one side of a comparison; only a choice, which holds a whole sentence, gets parentheses."""
    return _operand(value, speech) if isinstance(value, Choose) else value_in_words(value, speech)


def _has_connective(value: ValueTerm) -> bool:
    match value:
        case Smaller() | Larger() | Choose():
            return True
        case Plus(left, right):
            return _has_connective(left) or _has_connective(right)
        case Const() | FieldOf() | Now() | Setting() | Param():
            return False
        case _:
            assert_never(value)


# --- comparisons ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Claim:
    """A comparison as it is spoken: of ``about``, that it stands in some relation to ``to``; "is" comes before."""

    about: ValueTerm
    relation: str
    to: ValueTerm


def _claim(term: Less | AtMost, speech: Speech) -> _Claim:
    """Which side a comparison is spoken of: the other one when the left is now or a literal."""
    instants = Sort.INSTANT in (speech.sort(term.left), speech.sort(term.right))
    mirrored = isinstance(term.left, Now | Const)
    about, to = (term.right, term.left) if mirrored else (term.left, term.right)
    match term, instants, mirrored:
        case Less(), True, False:
            relation = "earlier than"
        case Less(), True, True:
            relation = "later than"
        case Less(), False, False:
            relation = "less than"
        case Less(), False, True:
            relation = "greater than"
        case AtMost(), True, False:
            relation = "at or before"
        case AtMost(), True, True:
            relation = "at or after"
        case AtMost(), False, False:
            relation = "at most"
        case AtMost(), False, True:
            relation = "at least"
        case _:
            raise TypeError(term)
    return _Claim(about, relation, to)


def _compared(claim: _Claim, speech: Speech) -> Said:
    about, to = _side(claim.about, speech), _side(claim.to, speech)
    loose = _has_connective(claim.about) or _has_connective(claim.to)
    match speech.may_be_null(claim.about), speech.may_be_null(claim.to):
        case False, False:
            return Said(f"{about} is {claim.relation} {to}", loose)
        case True, False:
            return Said(f"{about} is set and {claim.relation} {to}", loose=True)
        case False, True:
            return Said(f"{about} is {claim.relation} {to}, which is set", loose=True)
        case _:
            return Said(f"{about} is set and {claim.relation} {to}, which is set too", loose=True)


def _is_plain(value: ValueTerm) -> TypeGuard[Const]:
    """Whether a value is a literal that "is" may stand before: "is null" and "is true" mean something else."""
    return isinstance(value, Const) and value.value is not None and not isinstance(value.value, bool)


def _equated(term: Equal, speech: Speech) -> Said:
    about, to = _side(term.left, speech), _side(term.right, speech)
    loose = _has_connective(term.left) or _has_connective(term.right)
    if _is_plain(term.right):
        return Said(f"{about} is {to}", loose)
    match speech.may_be_null(term.left), speech.may_be_null(term.right):
        case False, False:
            return Said(f"{about} equals {to}", loose)
        case True, False:
            return Said(f"{about} is set and equals {to}", loose=True)
        case False, True:
            return Said(f"{about} equals {to}, which is set", loose=True)
        case _:
            return Said(f"{about} is set and equals {to}, which is set too", loose=True)


def _either(words: Sequence[str], joint: str) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {joint} {words[-1]}"


def _chosen(term: OneOf, speech: Speech) -> Said:
    """That a value is one of some choices (of no choice at all: never)."""
    about = _side(term.value, speech)
    families = speech.families(term)
    if families:
        return Said(f"{about} is of family {_either(families, 'or')}", len(families) > 1 or _has_connective(term.value))
    written = [literal(choice) for choice in term.choices]
    match len(written):
        case 0:
            return Said(f"{about} is one of no words", _has_connective(term.value))
        case 2:
            return Said(f"{about} is {_either(written, 'or')}", loose=True)
        case _:
            return Said(f"{about} is one of {_either(written, 'or')}", loose=True)


def _not_chosen(term: OneOf, speech: Speech) -> Said:
    about, null = _side(term.value, speech), "null or " if speech.may_be_null(term.value) else ""
    families = speech.families(term)
    if families:
        loose = bool(null) or len(families) > 1 or _has_connective(term.value)
        neither = f"not of family {families[0]}" if len(families) == 1 else f"of no family {_either(families, 'or')}"
        return Said(f"{about} is {null}{neither}", loose)
    written = [literal(choice) for choice in term.choices]
    match len(written):
        case 0:
            return Said(f"{about} is {null}none of no words", bool(null) or _has_connective(term.value))
        case 2:
            return Said(f"{about} is {null}neither {_either(written, 'nor')}", loose=True)
        case _:
            return Said(f"{about} is {null}none of {_either(written, 'or')}", loose=True)


def _is_unchanged(term: TruthTerm) -> TypeGuard[Same]:
    match term:
        case Same(FieldOf(entity, name, False), FieldOf(same_entity, same_name, True)):
            return entity == same_entity and name == same_name
        case _:
            return False


# --- truths -----------------------------------------------------------------------------------------------------------


def clause(term: TruthTerm, speech: Speech) -> Clause:
    """A truth term as a tree of sentences."""
    match term:
        case Truth(value):
            return Said("always" if value else "never")
        case Holds(Setting(name)):
            return Said(f"the setting `{name}` is on")
        case Holds(flag):
            return Said(f"{_side(flag, speech)} is true", _has_connective(flag))
        case Missing(value):
            if speech.marks_existence(value):
                return Said(f"{speech.owner(value.entity)} does not exist{' after the step' if value.after else ''}")
            return Said(f"{_side(value, speech)} is null", _has_connective(value))
        case Less() | AtMost():
            return _compared(_claim(term, speech), speech)
        case Equal():
            return _equated(term, speech)
        case Same(left, right):
            if _is_unchanged(term):
                return Said(f"{value_in_words(left, speech)} is unchanged")
            return Said(f"{_side(left, speech)} and {_side(right, speech)} are the same or both null", loose=True)
        case OneOf(value, choices):
            if len(choices) == 1 and not speech.families(term):
                return clause(Equal(value, Const(choices[0])), speech)
            return _chosen(term, speech)
        case Not(part):
            return _denied(part, speech)
        case AllOf(parts):
            if len(parts) > 1 and all(_is_unchanged(part) for part in parts):
                names = [value_in_words(part.left, speech) for part in parts if _is_unchanged(part)]
                return Said(f"{', '.join(names[:-1])} and {names[-1]} are unchanged", loose=True)
            return Listed(Joint.ALL, tuple(clause(part, speech) for part in parts))
        case AnyOf(parts):
            return _any(parts, speech)
        case Every(variable, machine, of, body):
            lead = f"for every {machine} `{variable}` of {speech.owner(of)}"
            return Listed(Joint.EACH, (clause(body, speech.with_variable(variable, machine)),), lead)
        case Some(variable, machine, of, body):
            lead = f"for at least one {machine} `{variable}` of {speech.owner(of)}"
            return Listed(Joint.EACH, (clause(body, speech.with_variable(variable, machine)),), lead)
        case _:
            assert_never(term)


def _any(parts: tuple[TruthTerm, ...], speech: Speech) -> Clause:
    match parts:
        case (Missing(value), Less() | AtMost() as other) if not speech.marks_existence(value):
            claim = _claim(other, speech)
            if claim.about == value and speech.may_be_null(value):
                which = ", which is set" if speech.may_be_null(claim.to) else ""
                return Said(
                    f"{_side(value, speech)} is null or {claim.relation} {_side(claim.to, speech)}{which}", loose=True
                )
        case (Not(Missing(value) as condition), consequence) if speech.marks_existence(value):
            return Listed(Joint.IF, (clause(condition, speech), clause(consequence, speech)))
        case (Not(condition), consequence) if not isinstance(condition, Missing):
            return Listed(Joint.IF, (clause(condition, speech), clause(consequence, speech)))
        case _:
            pass
    return Listed(Joint.ANY, tuple(clause(part, speech) for part in parts))


def _denied(part: TruthTerm, speech: Speech) -> Clause:
    match part:
        case Holds(Setting(name)):
            return Said(f"the setting `{name}` is off")
        case Missing(value):
            if speech.marks_existence(value):
                return Said(f"{speech.owner(value.entity)} exists{' after the step' if value.after else ''}")
            return Said(f"{_side(value, speech)} is set", _has_connective(value))
        case Equal(left, right) if _is_plain(right):
            about, to = _side(left, speech), literal(right.value)
            if speech.may_be_null(left):
                return Said(f"{about} is null or not {to}", loose=True)
            return Said(f"{about} is not {to}", _has_connective(left))
        case Equal(left, right) if not speech.may_be_null(left) and not speech.may_be_null(right):
            loose = _has_connective(left) or _has_connective(right)
            return Said(f"{_side(left, speech)} does not equal {_side(right, speech)}", loose)
        case OneOf(value, choices):
            if len(choices) == 1 and not speech.families(part):
                return _denied(Equal(value, Const(choices[0])), speech)
            return _not_chosen(part, speech)
        case Less() | AtMost() if not speech.may_be_null(part.left) and not speech.may_be_null(part.right):
            claim = _claim(part, speech)
            about, to = _side(claim.about, speech), _side(claim.to, speech)
            return Said(
                f"{about} is not {claim.relation} {to}", _has_connective(part.left) or _has_connective(part.right)
            )
        case Not(inner):
            return clause(inner, speech)
        case Same(left, _) if _is_unchanged(part):
            return Said(f"{value_in_words(left, speech)} changes")
        case AllOf(parts):
            return Listed(Joint.NOT_ALL, tuple(clause(inner, speech) for inner in parts))
        case AnyOf(parts):
            return Listed(Joint.NONE, tuple(clause(inner, speech) for inner in parts))
        case Truth() | Holds() | Less() | AtMost() | Equal() | Same() | Every() | Some():
            return Listed(Joint.FALSE, (clause(part, speech),))
        case _:
            assert_never(part)


def normalised(term: TruthTerm) -> TruthTerm:
    """A truth term without the two differences of form that the wording does not tell."""
    match term:
        case Not(Not(part)):
            return normalised(part)
        case Not(part):
            return Not(normalised(part))
        case AllOf(parts):
            return AllOf(tuple(normalised(part) for part in parts))
        case AnyOf((Not(condition), consequence)):
            # "If not a, then b" and "either a or b" are told apart.
            return AnyOf((Not(normalised(condition)), normalised(consequence)))
        case AnyOf(parts):
            return AnyOf(tuple(normalised(part) for part in parts))
        case Holds(flag):
            return Holds(_normalised_value(flag))
        case Missing(value):
            return Missing(_normalised_value(value))
        case Less(left, right):
            return Less(_normalised_value(left), _normalised_value(right))
        case AtMost(left, right):
            return AtMost(_normalised_value(left), _normalised_value(right))
        case Equal(left, right):
            return Equal(_normalised_value(left), _normalised_value(right))
        case Same(left, right):
            return Same(_normalised_value(left), _normalised_value(right))
        case OneOf(value, (choice,)):
            return Equal(_normalised_value(value), Const(choice))
        case OneOf(value, choices):
            return OneOf(_normalised_value(value), choices)
        case Every(variable, machine, of, body):
            return Every(variable, machine, of, normalised(body))
        case Some(variable, machine, of, body):
            return Some(variable, machine, of, normalised(body))
        case Truth():
            return term
        case _:
            assert_never(term)


def _normalised_value(value: ValueTerm) -> ValueTerm:
    match value:
        case Plus(left, right):
            return Plus(_normalised_value(left), _normalised_value(right))
        case Smaller(left, right):
            return Smaller(_normalised_value(left), _normalised_value(right))
        case Larger(left, right):
            return Larger(_normalised_value(left), _normalised_value(right))
        case Choose(condition, then, otherwise):
            return Choose(normalised(condition), _normalised_value(then), _normalised_value(otherwise))
        case Const() | FieldOf() | Now() | Setting() | Param():
            return value
        case _:
            assert_never(value)


def in_words(term: TruthTerm, speech: Speech) -> str:
    """A truth term on one line, such as "`lease_expires_at` is set and later than now"."""
    return sentence(clause(term, speech))


def each_of(each: ForEach, speech: Speech) -> str:
    """Whom a step changes among many, such as "each request of each run of the host"; the condition is said apart."""
    chain = " of ".join(f"each {variable.machine}" for variable in reversed(each.over))
    return f"{chain} of {speech.owner(each.over[0].of or '')}"


def each_in_words(each: ForEach, speech: Speech) -> str:
    """What a step does to each of many, such as "for each request of the run: if `key` is set, `key` becomes null"."""
    inner = speech.of_each(each)
    done = " and ".join(effect_in_words(assignment, inner) for assignment in each.effect)
    condition = "" if each.where == Truth(True) else f"if {in_words(each.where, inner)}, "
    return f"for {each_of(each, speech)}: {condition}{done}"


def effect_in_words(assignment: Assignment, speech: Speech) -> str:
    """What a step does to one field, such as "`lease_generation` goes up by 1"."""
    field = value_in_words(assignment.field, speech)
    match assignment.value:
        case Plus(FieldOf() as before, Const(int() | float() as number)) if (
            before == assignment.field and not isinstance(number, bool) and number != 0
        ):
            return f"{field} goes {'up' if number > 0 else 'down'} by {abs(number)!r}"
        case value:
            return f"{field} becomes {value_in_words(value, speech)}"
