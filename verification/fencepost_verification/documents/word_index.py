"""The index of words: every status, code, field and operation of the model and of the sources' tables, and its page.

``places`` gives each word with everything that explains it in a book of given chapters. ``source_words`` lists the
words of the sources' own tables, so that a test can ask of each whether the index leads on from it. A word of the
sources that the contract gave another name (``FINISHED``, ``complete``) leads to what it has become.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from fencepost_model.contract import Contract
from fencepost_model.error_codes import FAILURE_KINDS, KNOWN_CODES, ORDER, REGISTERED
from fencepost_model.published import tables, task
from fencepost_model.published.edition import PUBLISHED, Edition
from fencepost_model.queues import QUEUES
from fencepost_model.vocabulary import BESIDE, EXTENSIONS, VOCABULARY
from fencepost_verification.documents.addresses import Shelf, anchor, shelves


class Sort(Enum):
    """What kind of word it is; the title of its part of the index."""

    STATUS = "Statuses"
    CODE = "Error codes, families, failure kinds"
    OPERATION = "Operations and verbs"
    FIELD = "Fields and columns"
    NAME = "Machines and queues"


@dataclass(frozen=True, slots=True)
class Explained:
    """Where a word is explained: the address, and in a few words what is found there."""

    address: str
    told: str


@dataclass(frozen=True, slots=True)
class SourceWord:
    """A word in a table of the sources."""

    sort: Sort
    word: str
    where: str


BECAME: Mapping[tuple[Sort, str], tuple[tuple[str, str], ...]] = {
    (Sort.OPERATION, "complete"): (("job", "succeed"),),
    (Sort.OPERATION, "cancel"): (("job", "request_cancel"),),
    (Sort.OPERATION, "cancel_requested"): (("job", "acknowledge_cancel"),),
    (Sort.OPERATION, "force_transition"): (("task", "force_retry"), ("task", "skip_failed")),
    (Sort.OPERATION, "wait"): (("wakeup", "fall_asleep"),),
}
"""What verbs of the sources have become that the contract does not have under that name: chapter and operation."""

OLD_WORDS_OF = ("task", "task")
"""The chapter and machine whose statuses took the place of the old words of 003 §0."""

CELLS: Mapping[str, str] = {"cancel": "cancel_requested_at"}
"""Rows of the sources' table of columns that are not called by their standard name."""

FURTHER: Mapping[str, str] = {"last_heartbeat_at": "heartbeat_at"}
"""Columns that the text leans on, and the standard field that they are."""


def places(contracts: Sequence[Contract]) -> dict[Sort, dict[str, list[Explained]]]:
    """Every word, and where it is explained in a book of these chapters (the main one first); words in order."""
    found: dict[Sort, dict[str, list[Explained]]] = {sort: {} for sort in Sort}
    for sort, word, explained in (*_of_chapters(shelves(contracts)), *_of_codes(), *_of_fields(), *_of_queues()):
        listed = found[sort].setdefault(word, [])
        if explained not in listed:
            listed.append(explained)
    for source in source_words():
        found[source.sort].setdefault(source.word, [])
    return {sort: dict(sorted(words.items(), key=lambda entry: entry[0].lower())) for sort, words in found.items()}


_Entry = tuple[Sort, str, Explained]


def _of_chapters(book: Sequence[Shelf]) -> Iterator[_Entry]:
    by_name = {shelf.contract.name: shelf for shelf in book}
    for shelf in book:
        contract = shelf.contract
        for machine in contract.machines:
            of = "" if not shelf.folder or machine.name == contract.name else f" ({contract.name})"
            yield Sort.NAME, machine.name, Explained(shelf.machine(machine.name), f"machine of {contract.name}")
            for status in machine.statuses:
                yield Sort.STATUS, status.name, Explained(shelf.status(machine.name, status.name), machine.name + of)
            for field in machine.fields:
                yield Sort.FIELD, field.name, Explained(shelf.field(machine.name, field.name), machine.name + of)
        for operation in contract.operations:
            subject = operation.subject.machine
            of = "" if not shelf.folder or subject == contract.name else f" ({contract.name})"
            told = f"operation on a {subject}{of}"
            yield Sort.OPERATION, operation.name, Explained(shelf.operation(operation.name), told)
        for setting in contract.settings:
            address = f"{shelf.page('settings')}#{setting.name}"
            yield Sort.FIELD, setting.name, Explained(address, f"setting of {contract.name}")
    for (sort, word), became in BECAME.items():
        for of_chapter, name in became:
            if of_chapter in by_name and name in {o.name for o in by_name[of_chapter].contract.operations}:
                yield sort, word, Explained(by_name[of_chapter].operation(name), f"{name}, which it has become")
    chapter = OLD_WORDS_OF[0]
    for old, meant in task.OLD_WORDS.items():
        for name in meant:
            if chapter in by_name:
                address = by_name[chapter].status(OLD_WORDS_OF[1], name)
                told = "read as this" if task.OLD_ALIASES.get(old) == name else "may have meant this"
                yield Sort.STATUS, old, Explained(address, f"{name} of a {OLD_WORDS_OF[1]}, {told}")


def _of_codes() -> Iterator[_Entry]:
    codes = dict.fromkeys((*(known.code for known in KNOWN_CODES), *REGISTERED))
    for code in codes:
        yield Sort.CODE, code, Explained(f"errors.html#{anchor('code', code)}", "error code")
    for family in ORDER:
        yield Sort.CODE, family.value, Explained(f"errors.html#family-{family.value}", "family of error codes")
    for kind in FAILURE_KINDS:
        yield Sort.CODE, kind, Explained(f"errors.html#kind-{kind}", "failure kind of a task")


def _of_fields() -> Iterator[_Entry]:
    for field in (*VOCABULARY, *EXTENSIONS):
        address = f"vocabulary.html#{field.name}"
        yield Sort.FIELD, field.name, Explained(address, "vocabulary")
        for alias in field.aliases:
            yield Sort.FIELD, alias, Explained(address, f"another name of {field.name}")
    standard = {field.name for field in (*VOCABULARY, *EXTENSIONS)}
    further = {**BESIDE, **FURTHER}
    for column, name in further.items():
        yield Sort.FIELD, column, Explained(f"vocabulary.html#{name}", f"a column beside {name}")
    for row, cells in tables.COLUMNS.items():
        name = CELLS.get(row, row)
        for column in sorted({column for column in cells.values() if column is not None} - standard):
            yield Sort.FIELD, column, Explained(f"vocabulary.html#{name}", f"a column for {name}")


def _of_queues() -> Iterator[_Entry]:
    for queue in QUEUES:
        address = f"profiles.html#{anchor('queue', queue.name)}"
        yield Sort.NAME, queue.name, Explained(address, f"queue {queue.number}")
        for table in queue.tables:
            yield Sort.NAME, table.name, Explained(address, f"table of {queue.name}")
        for word in queue.words:
            explained = Explained(f"profiles.html#{anchor(f'word-{queue.name}', word)}", f"word of {queue.name}")
            yield Sort.STATUS, word, explained
    numbers = {queue.number: queue for queue in QUEUES}
    for number, printed in enumerate(tables.QUEUES, start=1):
        queue = numbers[number]
        address = f"profiles.html#{anchor('queue', queue.name)}"
        yield Sort.NAME, printed, Explained(address, f"queue {number}, as 000 §5.1 prints it")


# --- the words of the sources -----------------------------------------------------------------------------------------


def source_words(edition: Edition = PUBLISHED) -> tuple[SourceWord, ...]:
    """The words in the tables of the sources: statuses, verbs, codes, families, kinds, fields, columns, queues."""
    return tuple(dict.fromkeys(_printed(edition)))


def _printed(edition: Edition) -> Iterator[SourceWord]:
    for word in (*task.LIVE, *task.TERMINAL):
        yield SourceWord(Sort.STATUS, word, "003 §2.1")
    for begin, ends in edition.transitions.items():
        for word in (begin, *ends):
            yield SourceWord(Sort.STATUS, word, "003 §2.3")
    for begin, by, end in (*sorted(edition.diagram_edges), *edition.text_edges):
        yield SourceWord(Sort.STATUS, begin, "000 §2.1")
        yield SourceWord(Sort.STATUS, end, "000 §2.1")
        yield SourceWord(Sort.OPERATION, by, "000 §2.1")
    for where, words in edition.named_without_list.values():
        for word in words:
            yield SourceWord(Sort.STATUS, word, where)
    for subject, cited in edition.facts.items():
        if subject.startswith(("word of", "terminal words")):
            for said in cited:
                for value in said.value if isinstance(said.value, tuple) else (said.value,):
                    yield SourceWord(Sort.STATUS, str(value), said.where)
    for word in edition.old_words:
        yield SourceWord(Sort.STATUS, word, "003 §0")
    for world in edition.stages.values():
        for machine in world.contract.machines:
            for field in machine.fields:
                if field.name in ("status", "requirement"):
                    for value in field.words or ():
                        yield SourceWord(Sort.STATUS, str(value), world.name)
    for verb in edition.verbs:
        yield SourceWord(Sort.OPERATION, verb.name, "003 §3.1")
        for word in (*verb.legal, *verb.at_once, *verb.ends):
            yield SourceWord(Sort.STATUS, word, "003 §3.1")
    for code, family in edition.examples.items():
        yield SourceWord(Sort.CODE, code, "000 §4")
        yield SourceWord(Sort.CODE, family, "000 §4")
    for code, where in edition.other_codes.items():
        yield SourceWord(Sort.CODE, code, where)
    for kind in task.FAILURE_KINDS:
        yield SourceWord(Sort.CODE, kind, "003 §2.4")
    for name in edition.vocabulary:
        for word in (name.name, *name.aliases):
            yield SourceWord(Sort.FIELD, word, "000 §2")
    for cells in edition.columns.values():
        for column in cells.values():
            if column is not None:
                yield SourceWord(Sort.FIELD, column, "000 §5.4")
    for said in edition.further_columns:
        yield SourceWord(Sort.FIELD, str(said.value), said.where)
    for queue in tables.QUEUES:
        yield SourceWord(Sort.NAME, queue, "000 §5.1")
