"""Judges the vocabularies of the queues: injective, complete for the fields required, and each word with one meaning.

Two standard fields on one column make one of them unreadable, so that is allowed only where it is registered. A field
that the contract requires and no table of the sources has is a *gap*; it is complete only because a decision adds it,
and the gap itself is a finding about the sources. A queue's words are read as standard statuses, and what is written
must be read back as the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from fencepost_model.queues import PARTIAL_INDEXES, QUEUES, STATUSES, Cited, Gap, QueueProfile
from fencepost_model.vocabulary import EXTENSIONS, SHARED_COLUMNS, VOCABULARY
from fencepost_verification.evidence import Held, Refuted, Verdict


@dataclass(frozen=True, slots=True)
class PublishedGap:
    """A required field that a queue of the sources lacks, and what adds it; a finding about the sources."""

    queue: str
    gap: Gap


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A number of a queue of which two sections of the sources disagree; the first is taken (D-17)."""

    queue: str
    setting: str
    taken: str
    taken_from: str
    against: str
    against_from: str


def published_gaps(queues: Sequence[QueueProfile] = QUEUES) -> tuple[PublishedGap, ...]:
    """Every required field that the sources' tables lack, queue by queue."""
    return tuple(PublishedGap(queue.name, gap) for queue in queues for gap in queue.gaps)


def disagreements(queues: Sequence[QueueProfile] = QUEUES) -> tuple[Disagreement, ...]:
    """Every number of which the sources disagree."""
    return tuple(
        Disagreement(queue.name, setting, f"{cited.value:g}", cited.source, f"{other:g}", source)
        for queue in queues
        for setting, cited in _numbers(queue)
        if cited.value is not None
        for other, source in cited.against
    )


def left_open(queues: Sequence[QueueProfile] = QUEUES) -> tuple[tuple[str, str, str], ...]:
    """What the sources do not say: queue, setting, reason."""
    return tuple(
        (queue.name, setting, cited.why)
        for queue in queues
        for setting, cited in _numbers(queue)
        if cited.value is None
    )


def _numbers(queue: QueueProfile) -> Iterable[tuple[str, Cited[float] | Cited[int]]]:
    yield "lease", queue.lease
    yield "heartbeat", queue.heartbeat
    yield "max_attempts", queue.max_attempts
    yield "recovery_delay", queue.recovery_delay
    yield "poll", queue.poll
    yield "capacity", queue.capacity
    yield "retention", queue.retention
    if queue.capacity_per_tenant is not None:
        yield "capacity_per_tenant", queue.capacity_per_tenant
    if queue.deadline is not None:
        yield "deadline", queue.deadline


def _injective(queue: QueueProfile) -> Verdict:
    statement = f"{queue.name}: no two standard fields share a column that are not registered to"
    shared: list[str] = []
    for table in queue.tables:
        names = [entry.name for entry in (*VOCABULARY, *EXTENSIONS) if entry.name not in table.lacks]
        owners: dict[str, list[str]] = {}
        for name in names:
            owners.setdefault(table.columns.column(name), []).append(name)
        for column in table.beside:
            if column in owners:
                return Refuted(
                    statement, f"{column!r} stands beside {table.beside[column]} and for {owners[column][0]}"
                )
        for column, fields in owners.items():
            if len(fields) > 1 and frozenset(fields) not in SHARED_COLUMNS:
                return Refuted(statement, f"{' and '.join(fields)} are both {table.name}.{column}")
            if len(fields) > 1:
                shared.append(f"{column} is {' and '.join(fields)}, as registered")
    renamed = sum(len(table.columns.columns) for table in queue.tables)
    return Held(statement, "; ".join(shared) or f"fields that go by another name, each by its own: {renamed}")


def _complete(queue: QueueProfile) -> Verdict:
    required = queue.required_fields
    statement = f"{queue.name}: every required field has a column, or a decision adds it"
    for name in required:
        if queue.table_of(name) is None and not any(gap.mended_by for gap in queue.gaps_of(name)):
            return Refuted(statement, f"{name} has none")
    added = ", ".join(f"{gap.field} ({gap.mended_by})" for gap in queue.gaps)
    return Held(statement, f"{len(required)} fields required" + (f"; added: {added}" if added else ""))


def _words(queue: QueueProfile) -> Verdict:
    statement = f"{queue.name}: every word has one meaning, and what is written is read back as what was meant"
    for status in STATUSES:
        meant = [word for word in queue.words if queue.read(word) == status]
        if meant and queue.written(status) not in queue.words:
            return Refuted(statement, f"{status} is written {queue.written(status)!r}, which it does not read")
        if meant and queue.read(queue.written(status)) != status:
            return Refuted(statement, f"{status} is written {queue.written(status)!r}, read as something else")
    kept = [f"{alias.word} is written for {alias.stands_for}" for alias in queue.aliases if alias.written]
    read = [f"{alias.word} is read as {alias.stands_for}" for alias in queue.aliases if not alias.written]
    alone = [extra.word for extra in queue.extras if extra.stands_for is None]
    told = [*kept, *read, *([f"no job's status: {', '.join(alone)}"] if alone else [])]
    return Held(statement, "; ".join(told) or f"all {len(queue.words)} words are standard ones")


def check(
    queues: Sequence[QueueProfile] = QUEUES,
    progress: Callable[[str, int, int], None] = lambda stage, done, total: None,
) -> tuple[Verdict, ...]:
    """Three verdicts for each queue, and one about the partial indexes.

    ``progress`` is told which queue is next, how many are done and how many there are.
    """
    found: list[Verdict] = []
    for number, queue in enumerate(queues):
        progress(queue.name, number, len(queues))
        found += [_injective(queue), _complete(queue), _words(queue)]
    return (*found, _indexed())


def _indexed() -> Verdict:
    statement = "the partial indexes of the sources are ten, and those of a queue's table belong to its profile"
    if len(PARTIAL_INDEXES) != 10:
        return Refuted(statement, f"there are {len(PARTIAL_INDEXES)}")
    tables = {table.name: queue for queue in QUEUES for table in queue.tables}
    for index in PARTIAL_INDEXES:
        if index.table in tables and index not in tables[index.table].indexes:
            return Refuted(statement, f"{tables[index.table].name} does not list the one where {index.predicate}")
    of_queues = sum(index.table in tables for index in PARTIAL_INDEXES)
    return Held(statement, f"{of_queues} of ten are of a queue's table")
