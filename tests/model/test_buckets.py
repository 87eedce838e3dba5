"""Buckets: stable between processes whatever the seed of Python's own hash, within bounds, and compared at start."""

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost_model.buckets import BucketMismatch, assigned, bucket, bucket_of, require_same_number

SCRIPT = "from fencepost_model.buckets import bucket; print([bucket(f'k{n}', 64) for n in range(20)])"
SALTED = "print([hash(f'k{n}') % 64 for n in range(20)])"
PINNED = [52, 51, 29, 42]


def said(script: str, seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    run = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    return run.stdout


def test_a_bucket_is_the_same_in_another_process() -> None:
    assert said(SCRIPT, "0") == said(SCRIPT, "1")
    assert said(SALTED, "0") != said(SALTED, "1"), "the seeds differ, or this test shows nothing"


def test_the_buckets_of_some_keys_are_these_for_ever() -> None:
    assert [bucket(key, 64) for key in ("", "tenant-1", "tenant-2", "租户")] == PINNED


@given(st.text(), st.integers(1, 10_000))
def test_a_bucket_is_one_of_them(key: str, buckets: int) -> None:
    assert 0 <= bucket(key, buckets) < buckets
    kept = assigned(key, buckets)
    assert bucket(kept.key, buckets) == kept.bucket


def test_keys_spread() -> None:
    counts = [0] * 16
    for number in range(1600):
        counts[bucket(f"key-{number}", 16)] += 1
    assert min(counts) > 50


@pytest.mark.parametrize("buckets", [0, -1])
def test_no_bucket_at_all_is_refused(buckets: int) -> None:
    with pytest.raises(ValueError, match="give at least 1"):
        bucket_of(7, buckets)


def test_another_number_of_buckets_is_refused_at_start() -> None:
    require_same_number(64, 64)
    with pytest.raises(BucketMismatch, match="counts 64 buckets and the deployment 32"):
        require_same_number(64, 32)
