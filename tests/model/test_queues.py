"""Queue profiles: the ten of the sources, their words both ways, and what a profile is refused for."""

from dataclasses import replace

import pytest

from fencepost_model.queues import (
    API_MUTATION,
    EXTERNAL_BATCH,
    PAGE_SCREENSHOT,
    PARTIAL_INDEXES,
    PROJECT_BUILD,
    QUEUES,
    RENDER,
    STATUSES,
    WRITE_RETRIES,
    Cited,
    ExtraStatus,
    Gap,
    PartialIndex,
    QueueError,
    QueueProfile,
    QueueTable,
    StatusAlias,
    audit_grace,
)
from fencepost_model.vocabulary import ColumnVocabulary, VocabularyError


def test_there_are_ten_in_the_order_of_the_source() -> None:
    assert [queue.number for queue in QUEUES] == list(range(1, 11))
    assert len({queue.name for queue in QUEUES}) == 10
    assert len(PARTIAL_INDEXES) == len({(index.table, index.predicate) for index in PARTIAL_INDEXES}) == 10


@pytest.mark.parametrize("queue", QUEUES, ids=lambda queue: queue.name)
def test_what_is_written_is_read_back(queue: QueueProfile) -> None:
    for status in STATUSES:
        if any(queue.read(word) == status for word in queue.words):
            assert queue.read(queue.written(status)) == status
        else:
            with pytest.raises(QueueError, match="does not register"):
                queue.written(status)


def test_the_external_api_keeps_its_spelling() -> None:
    assert API_MUTATION.read("canceled") == "cancelled"
    assert API_MUTATION.written("cancelled") == "canceled"
    assert API_MUTATION.terminal_words == ("succeeded", "failed", "canceled")
    with pytest.raises(QueueError, match="no word of ApiMutationJob"):
        API_MUTATION.read("cancelled")


def test_a_batch_is_no_job() -> None:
    assert EXTERNAL_BATCH.read("resuming") is None
    assert EXTERNAL_BATCH.terminal_words == ("completed", "failed", "cancelled")


def test_the_build_queue_shares_a_column_and_names_its_gaps() -> None:
    columns = PROJECT_BUILD.tables[0].columns
    assert columns.column("heartbeat_at") == columns.column("started_at") == "claimed_at"
    assert [gap.field for gap in PROJECT_BUILD.gaps] == ["lease_generation", "error_code"]


def test_numbers_of_the_sources() -> None:
    assert (RENDER.capacity.value, RENDER.capacity_per_tenant and RENDER.capacity_per_tenant.value) == (64, 16)
    assert [len(retry.delays_ms) + 1 for retry in WRITE_RETRIES] == [retry.attempts for retry in WRITE_RETRIES]
    assert (audit_grace(0.5), audit_grace(8.0)) == (10.0, 16.0)


@pytest.mark.parametrize(
    ("lease", "heartbeat", "refused"),
    [
        (90.0, 30.0, None),
        (89.9, 30.0, "shorter than three heartbeats of 30 s; give at least 90 s"),
        (0.0, 1.0, "no lease"),
    ],
)
def test_a_lease_holds_three_heartbeats(lease: float, heartbeat: float, refused: str | None) -> None:
    def profile() -> QueueProfile:
        return replace(PAGE_SCREENSHOT, lease=Cited(lease, "a test"), heartbeat=Cited(heartbeat, "a test"))

    if refused is None:
        assert profile().lease.value == lease
    else:
        with pytest.raises(QueueError, match=refused):
            profile()


def test_an_unknown_word_is_refused() -> None:
    with pytest.raises(QueueError, match="'done' of PageScreenshotJob is no status"):
        replace(PAGE_SCREENSHOT, words=(*PAGE_SCREENSHOT.words, "done"))


def test_an_alias_of_no_status_is_refused() -> None:
    with pytest.raises(QueueError, match="stands for 'finished', which is no status; choose one of pending"):
        replace(PAGE_SCREENSHOT, aliases=(StatusAlias("done", "finished", "a test"),))


def test_a_word_has_one_meaning() -> None:
    two = (StatusAlias("done", "failed", "a test"), StatusAlias("done", "succeeded", "a test"))
    with pytest.raises(QueueError, match="two meanings"):
        replace(PAGE_SCREENSHOT, aliases=two)
    with pytest.raises(QueueError, match="can stand for itself only"):
        replace(PAGE_SCREENSHOT, aliases=(StatusAlias("failed", "succeeded", "a test"),))


def test_a_status_is_written_as_one_word() -> None:
    two = (StatusAlias("a", "failed", "a test", written=True), StatusAlias("b", "failed", "a test", written=True))
    with pytest.raises(QueueError, match="writes 'failed' as two words"):
        replace(PAGE_SCREENSHOT, aliases=two)


def test_an_index_names_words_that_there_are() -> None:
    index = PartialIndex("page_screenshot_jobs", "status = 'ready'", "a test", statuses=("ready",))
    with pytest.raises(QueueError, match="names a status that PageScreenshotJob lacks"):
        replace(PAGE_SCREENSHOT, indexes=(index,))


def test_a_required_field_has_a_column_or_a_decision() -> None:
    with pytest.raises(QueueError, match="has no finished_at, which it needs"):
        replace(PAGE_SCREENSHOT, tables=(QueueTable("page_screenshot_jobs", gaps=(Gap("finished_at", "a test"),)),))
    mended = (Gap("finished_at", "a test", "a decision"),)
    assert replace(PAGE_SCREENSHOT, tables=(QueueTable("t", gaps=mended),)).gaps == mended


def test_a_vocabulary_that_is_not_injective_is_refused() -> None:
    with pytest.raises(VocabularyError, match="'claimed_at'; give each its own"):
        QueueTable("t", ColumnVocabulary({"heartbeat_at": "claimed_at", "finished_at": "claimed_at"}))
    with pytest.raises(QueueError, match="not registered beside"):
        QueueTable("t", beside={"epoch": "worker_id"})


def test_what_is_left_open_needs_the_reason_and_what_is_given_its_source() -> None:
    with pytest.raises(QueueError, match="give why"):
        Cited[int](None, "a test")
    with pytest.raises(QueueError, match="give source"):
        Cited(3, "")


def test_a_number_below_its_least_is_refused() -> None:
    with pytest.raises(QueueError, match="max_attempts of 0"):
        replace(PAGE_SCREENSHOT, max_attempts=Cited(0, "a test"))


def test_an_extra_that_parks_demands_a_deadline() -> None:
    parked = ExtraStatus("waiting_provider", "waiting_provider", "", "a test")
    with pytest.raises(QueueError, match="has no deadline_at"):
        replace(
            PAGE_SCREENSHOT,
            words=(*PAGE_SCREENSHOT.words, parked.word),
            extras=(*PAGE_SCREENSHOT.extras, parked),
        )
