"""Which store a connection talks to, and what that store is capable of.

The enumeration is for this package. Everything above asks for a capability, because a capability says *why* two
stores are treated differently and a name does not.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from sqlalchemy import Connection, Engine

from fencepost.errors import ConfigurationError


class Dialect(StrEnum):
    """The two stores of the runtime, under the names that SQLAlchemy gives them."""

    SQLITE = "sqlite"
    POSTGRESQL = "postgresql"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What the code above the dialect layer may ask of a store.

    `store`: a word for journals, logs and reports, never to be compared.
    `single_writer`: one write transaction at a time in the whole store; a second process adds no throughput.
    `skips_locked_rows`: `FOR UPDATE SKIP LOCKED` works; where it does not, the write lock of the store stands in.
    `notifies`: a commit can wake other processes (`LISTEN` and `NOTIFY`).
    `array_parameters`: a list can be one bound parameter (`= ANY(:ids)`).
    """

    store: str
    single_writer: bool
    skips_locked_rows: bool
    notifies: bool
    array_parameters: bool


# Asked several times in each transaction: a dictionary answers five times as fast as the enumeration.
_BY_NAME: Final[dict[str, Dialect]] = {dialect.value: dialect for dialect in Dialect}

_CAPABILITIES: Final = {
    Dialect.SQLITE: Capabilities(
        store="sqlite", single_writer=True, skips_locked_rows=False, notifies=False, array_parameters=False
    ),
    Dialect.POSTGRESQL: Capabilities(
        store="postgresql", single_writer=False, skips_locked_rows=True, notifies=True, array_parameters=True
    ),
}


def dialect_named(name: str) -> Dialect:
    """The store whose SQLAlchemy dialect is called `name`; `ConfigurationError` for any other."""
    dialect = _BY_NAME.get(name)
    if dialect is None:
        raise ConfigurationError(
            f"The database {name!r} is not supported: use a URL that starts with sqlite:/// or postgresql+psycopg://."
        )
    return dialect


def dialect_of(bind: Connection | Engine) -> Dialect:
    """The store behind an engine or a connection; `ConfigurationError` when it is neither of the two."""
    return dialect_named(bind.dialect.name)


def capabilities(bind: Connection | Engine) -> Capabilities:
    """What the store behind an engine or a connection can do (contract §8)."""
    return _CAPABILITIES[dialect_of(bind)]
