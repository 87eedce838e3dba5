"""Vocabularies of the queues: injective and complete, and the gaps of the sources listed."""

from dataclasses import replace

from fencepost_model.queues import API_MUTATION, QUEUES, StatusAlias
from fencepost_verification.evidence import Held, Refuted
from fencepost_verification.prove import vocabularies


def test_each_queue_is_judged_three_times_and_holds() -> None:
    verdicts = vocabularies.check()
    assert len(verdicts) == 3 * len(QUEUES) + 1
    assert [verdict for verdict in verdicts if not isinstance(verdict, Held)] == []


def test_a_word_that_is_written_but_not_read_is_caught() -> None:
    deaf = replace(
        API_MUTATION,
        words=(*API_MUTATION.words, "cancelled"),
        aliases=(*API_MUTATION.aliases, StatusAlias("gone", "failed", "a test", written=True)),
    )
    assert [type(v) for v in vocabularies.check((deaf,))][:3] == [Held, Held, Refuted]


def test_the_gaps_of_the_sources() -> None:
    gaps = {(found.queue, found.gap.field) for found in vocabularies.published_gaps()}
    assert ("ProjectBuildJob", "error_code") in gaps
    assert ("AiImageGenerationJob", "deadline_at") in gaps
    assert sum(field == "lease_generation" for _, field in gaps) == 7
    assert all(found.gap.mended_by for found in vocabularies.published_gaps())


def test_where_the_sources_disagree_both_numbers_are_kept() -> None:
    found = {(entry.queue, entry.setting): (entry.taken, entry.against) for entry in vocabularies.disagreements()}
    assert found["AiImageGenerationJob", "lease"] == ("300", "120")


def test_what_is_left_open_has_a_reason() -> None:
    assert ("ProjectBuildJob", "heartbeat") in {entry[:2] for entry in vocabularies.left_open()}
    assert all(why for _, _, why in vocabularies.left_open())
