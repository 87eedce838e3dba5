"""Buckets: which share of the work a key belongs to, the same in every process and on every machine (contract §6).

A bucket is the remainder of a hash of the key. The hash is BLAKE2b, for Python's own is salted anew in each process.
Changing the number of buckets moves nearly every key, so the number is agreed for a whole deployment and compared when
a process starts; the key itself is kept with each task, since without it nothing could ever be moved.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

DIGEST_BYTES = 8
"""How many bytes of hash there are: enough that the remainders of any sensible number of buckets are even."""


class BucketMismatch(ValueError):
    """Two processes of one deployment count different numbers of buckets; the message says which."""


def hashed(key: str) -> int:
    """The hash of a key, from 0 up to 2^64 - 1; keys are hashed as UTF-8."""
    return int.from_bytes(blake2b(key.encode(), digest_size=DIGEST_BYTES).digest(), "big")


def bucket_of(number: int, buckets: int) -> int:
    """The bucket of a hash: from 0 up to ``buckets`` - 1. Raises ``ValueError`` for less than one bucket."""
    if buckets < 1:
        raise ValueError(f"{buckets} buckets hold nothing; give at least 1")
    return number % buckets


def bucket(key: str, buckets: int) -> int:
    """The bucket of a key, stable between processes. Raises ``ValueError`` for less than one bucket."""
    return bucket_of(hashed(key), buckets)


@dataclass(frozen=True, slots=True)
class Bucketed:
    """A task's key with the bucket that it fell into; the key is kept so that it can be put elsewhere later."""

    key: str
    bucket: int


def assigned(key: str, buckets: int) -> Bucketed:
    """A key with its bucket."""
    return Bucketed(key, bucket(key, buckets))


def require_same_number(ours: int, theirs: int) -> None:
    """Compare the number of buckets when a process starts.

    Raises ``BucketMismatch`` when the deployment's number is another: the same key would be in two buckets at once.
    """
    if ours != theirs:
        raise BucketMismatch(
            f"this process counts {ours} buckets and the deployment {theirs}; configure the same number, or move the "
            "tasks by their keys first"
        )
