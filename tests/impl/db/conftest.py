"""Engines of the dialect layer on the databases that tests/conftest.py hands out."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from fencepost.db.dialects import Dialect, dialect_of
from fencepost.db.engine import open_engine


@pytest.fixture
def engine(store_url: str) -> Iterator[Engine]:
    """An engine as the runtime opens it, on a fresh database, once for each store."""
    engine = open_engine(store_url)
    yield engine
    engine.dispose()


@pytest.fixture
def contender(store_url: str) -> Iterator[Engine]:
    """A second engine on the same database, which does not wait for SQLite's write lock."""
    engine = open_engine(store_url, busy_timeout=0)
    yield engine
    engine.dispose()


@pytest.fixture
def dialect(engine: Engine) -> Dialect:
    """Which store `engine` is on."""
    return dialect_of(engine)


@pytest.fixture
def sqlite_engine(sqlite_path: object) -> Iterator[Engine]:
    """An engine as the runtime opens it, on a fresh SQLite file."""
    engine = open_engine(f"sqlite:///{sqlite_path}", busy_timeout=0)
    yield engine
    engine.dispose()


@pytest.fixture
def postgresql_engine(postgresql_url: str) -> Iterator[Engine]:
    """An engine as the runtime opens it, on the PostgreSQL database that the tests of this worker share."""
    engine = open_engine(postgresql_url)
    yield engine
    engine.dispose()
