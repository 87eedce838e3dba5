"""What an implementation does not declare is left out and skipped with its sentence, never passed and never refuted."""

from collections.abc import Callable

import pytest

from fencepost_verification.conformance.capabilities import (
    ALL_OF_JOB,
    JOB,
    PROTOCOL,
    UnknownCapability,
    lacking,
)
from fencepost_verification.conformance.harness import refused
from fencepost_verification.conformance.protocol import Json
from fencepost_verification.conformance.reference import Reference
from fencepost_verification.conformance.report import ConformanceReport
from fencepost_verification.conformance.scope import BARE, Scope

EVERY = {capability.name: capability for capability in (*PROTOCOL, *JOB)}


def test_each_capability_is_a_sentence_of_its_own() -> None:
    sentences = [capability.sentence for capability in EVERY.values()]
    assert all(sentence.endswith(".") and len(sentence) > 20 for sentence in sentences)
    assert len(set(sentences)) == len(sentences)
    assert set(EVERY) == ALL_OF_JOB


def test_what_is_not_declared_is_lacking() -> None:
    assert {capability.name for capability in lacking(EVERY.values(), ())} == ALL_OF_JOB
    assert lacking(EVERY.values(), ALL_OF_JOB) == ()
    with pytest.raises(UnknownCapability, match="telepathy"):
        lacking(EVERY.values(), {"telepathy"})


@pytest.mark.parametrize("name", sorted(ALL_OF_JOB - {"injected_clock"}))
def test_an_implementation_that_lacks_a_capability_is_judged_without_it(
    name: str, judge: Callable[..., ConformanceReport], small: Scope
) -> None:
    """The harness breaks wherever the capability would be needed; nothing of it may be asked."""
    lacked = EVERY[name]

    class Lacking(Reference):
        capabilities = ALL_OF_JOB - {name}

        def reset(self, profile, now):  # type: ignore[no-untyped-def]
            for setting, held_at in lacked.settings.items():
                assert profile[setting] == held_at, f"{setting} must be {held_at}"
            super().reset(profile, now)

        def load(self, label, row):  # type: ignore[no-untyped-def]
            assert name != "load_legacy", "rows cannot be loaded here"
            super().load(label, row)

        def inspect(self, label):  # type: ignore[no-untyped-def]
            assert name != "inspect", "rows cannot be looked at here"
            return super().inspect(label)

        def outcome(self, operation, label, arguments):  # type: ignore[no-untyped-def]
            assert operation not in lacked.operations, f"{operation} is not known here"
            return super().outcome(operation, label, arguments)

        def enqueue(self, job: str, max_attempts: int, deadline_at: float | None) -> Json:
            assert name != "caller_names" or job not in self.rows, "a name is taken"
            return super().enqueue(job, max_attempts, deadline_at)

        def renew(self, job: str, worker_id: str, lease_generation: int | None) -> Json:
            answer = super().renew(job, worker_id, lease_generation)
            return refused() if name == "explains_refusals" and "refused" in answer else answer

    report = judge(Lacking, BARE if name == "cancel_loses" else small)
    assert report.fault == ""
    assert report.refuted() == ()
    assert report.complete
    assert list(report.skips) == [name]
    skipped = [clause for clause in report.clauses if clause.verdict == "skipped"]
    assert all(name in clause.reason for clause in skipped)
    for operation in lacked.operations:
        named = [c for c in report.clauses if c.name.partition(".")[0].partition("/")[0] == operation]
        assert {clause.verdict for clause in named} == {"skipped"}
    for guard in lacked.guards:
        assert guard in [clause.name for clause in skipped]


def test_without_explanations_a_refusal_need_not_say_why(judge: Callable[..., ConformanceReport]) -> None:
    class Silent(Reference):
        capabilities = ALL_OF_JOB - {"explains_refusals"}

        def attempt(self, operation: str, label: str, **arguments: object) -> Json:
            answer = super().attempt(operation, label, **arguments)  # type: ignore[arg-type]
            return refused() if "refused" in answer else answer

    class SilentButClaimsToExplain(Silent):
        capabilities = ALL_OF_JOB

    assert judge(Silent).refuted() == ()
    assert "renew.generation" in judge(SilentButClaimsToExplain).refuted()


def test_fields_that_are_not_shown_are_not_compared(judge: Callable[..., ConformanceReport]) -> None:
    class Modest(Reference):
        fields = ("status", "lease_generation")

        def inspect(self, label: str) -> dict[str, object] | None:
            row = super().inspect(label)
            return None if row is None else {name: row[name] for name in self.fields}

    report = judge(Modest)
    assert report.refuted() == ()
    assert report.complete


def test_identities_are_compared_up_to_renaming(judge: Callable[..., ConformanceReport]) -> None:
    class Named(Reference):
        """Attempts go under names of its own."""

        prefix = "attempt-"

        def inspect(self, label: str) -> dict[str, object] | None:
            row = super().inspect(label)
            if row is None or row["attempt_id"] is None:
                return None if row is None else dict(row)
            return {**row, "attempt_id": f"{self.prefix}{row['attempt_id']}"}

        def sweep(self, operation: str, limit: int, **arguments: object) -> Json:
            answer = super().sweep(operation, limit, **arguments)  # type: ignore[arg-type]
            for item in answer["acted_on"]:
                if "attempt_id" in item:
                    item["attempt_id"] = f"{self.prefix}{item['attempt_id']}"
            return answer

    class TwoNames(Named):
        """The claim tells one identity, the row shows another."""

        def sweep(self, operation: str, limit: int, **arguments: object) -> Json:
            return Reference.sweep(self, operation, limit, **arguments)  # type: ignore[arg-type]

    assert judge(Named).refuted() == ()
    assert "claim" in judge(TwoNames).refuted()
