"""A write that is run again after a conflict, each time in a fresh transaction.

What is retried is the whole unit (open, work, commit), because after a conflict the transaction is poisoned: on
PostgreSQL it accepts no further statement, on SQLite its snapshot is stale. The work therefore gets its connection
from a factory and must keep nothing from an earlier run; and a write that has joined somebody else's transaction
(`commit=False`) is not retried here but by whoever owns that one.

Only conflicts are retried (`is_conflict`). A lost connection is not: its commit may have happened.
"""

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Final, TypeVar

from fencepost.db.errors import is_conflict
from fencepost.errors import ConfigurationError, WriteConflict

T = TypeVar("T")
C = TypeVar("C")

DEFAULT_DELAYS: Final[Sequence[float]] = (0.025,) * 4
"""Seconds before the second, third, fourth and fifth attempt."""

Jitter = Callable[[float], float]
OnConflict = Callable[[int, Exception], None]


def spread(delay: float) -> float:
    """A pause around `delay` seconds, from half to one and a half of it, so that two losers do not meet again."""
    return delay * random.uniform(0.5, 1.5)


def retry_write(
    open_transaction: Callable[[], AbstractContextManager[C]],
    work: Callable[[C], T],
    *,
    delays: Sequence[float] = DEFAULT_DELAYS,
    sleep: Callable[[float], None] = time.sleep,
    jitter: Jitter = spread,
    on_conflict: OnConflict | None = None,
) -> T:
    """Run `work` in a transaction from `open_transaction`, again after each conflict; its result, once committed.

    `delays`: seconds before each further attempt, so one attempt more than delays; none means no retry. `jitter`
    turns a delay into the pause taken. `on_conflict` is told the number of the attempt, from 1, and its error.

    Raises `WriteConflict` with the last conflict as cause when the delays are used up; any other exception passes at
    once.
    """
    schedule = _Schedule(delays, jitter, on_conflict)
    while True:
        try:
            with open_transaction() as connection:
                return work(connection)
        except Exception as error:
            if not _is_worth_a_retry(error):
                raise
            pause = schedule.pause_after(error)
        else:
            raise _swallowed()
        sleep(pause)


async def retry_write_async(
    open_transaction: Callable[[], AbstractAsyncContextManager[C]],
    work: Callable[[C], Awaitable[T]],
    *,
    delays: Sequence[float] = DEFAULT_DELAYS,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    jitter: Jitter = spread,
    on_conflict: OnConflict | None = None,
) -> T:
    """`retry_write` for asynchronous transactions and work; the same schedule, results and errors."""
    schedule = _Schedule(delays, jitter, on_conflict)
    while True:
        try:
            async with open_transaction() as connection:
                return await work(connection)
        except Exception as error:
            if not _is_worth_a_retry(error):
                raise
            pause = schedule.pause_after(error)
        else:
            raise _swallowed()
        await sleep(pause)


class _Schedule:
    """The pauses of one write, and its end."""

    def __init__(self, delays: Sequence[float], jitter: Jitter, on_conflict: OnConflict | None) -> None:
        if not all(math.isfinite(delay) and delay >= 0 for delay in delays):
            raise ConfigurationError(
                f"The write retry delays {tuple(delays)} are not all seconds from 0 up: correct them."
            )
        self._pauses: Iterator[float] = map(jitter, delays)
        self._on_conflict = on_conflict
        self._attempts = 0

    def pause_after(self, conflict: Exception) -> float:
        """Seconds until the next attempt; `WriteConflict` when there is none left."""
        self._attempts += 1
        if self._on_conflict is not None:
            self._on_conflict(self._attempts, conflict)
        for pause in self._pauses:
            return pause
        attempts = "1 attempt" if self._attempts == 1 else f"{self._attempts} attempts"
        raise WriteConflict(
            f"The write lost against concurrent writers in {attempts}: try again later, give it more delays, "
            "or shorten the transactions it competes with."
        ) from conflict


def _is_worth_a_retry(error: Exception) -> bool:
    # An inner retry that has given up is not multiplied by an outer one.
    return is_conflict(error) and not isinstance(error, WriteConflict)


def _swallowed() -> ConfigurationError:
    return ConfigurationError(
        "The transaction given to the write retry swallowed an exception, so the write's outcome is unknown: "
        "let its context manager pass exceptions on."
    )
