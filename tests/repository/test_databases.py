"""The databases that tests/conftest.py hands out are real, and no test finds what another one left."""

from pathlib import Path

import pytest
from sqlalchemy import create_engine, inspect, text
from sqlalchemy.engine import make_url


@pytest.mark.parametrize("turn", ["first", "second"])
def test_each_store_is_empty_at_first(store_url: str, turn: str) -> None:
    engine = create_engine(store_url)
    try:
        assert inspect(engine).get_table_names() == [], f"the {turn} test found tables in its store"
        with engine.begin() as connection:
            connection.execute(text("CREATE TABLE left_behind (turn VARCHAR(10))"))
            connection.execute(text("INSERT INTO left_behind VALUES (:turn)"), {"turn": turn})
        assert inspect(engine).get_table_names() == ["left_behind"]
    finally:
        engine.dispose()


def test_postgresql_is_a_real_server(postgresql_url: str) -> None:
    engine = create_engine(postgresql_url)
    try:
        with engine.connect() as connection:
            assert str(connection.scalar(text("SELECT version()"))).startswith("PostgreSQL ")
            # A second session sees the lock of the first: what no substitute for the server would show.
            connection.execute(text("SELECT pg_advisory_lock(7)"))
            with engine.connect() as other:
                assert other.scalar(text("SELECT pg_try_advisory_lock(7)")) is False
    finally:
        engine.dispose()


def test_a_store_is_not_the_database_that_a_worker_shares(store_url: str, postgresql_url: str) -> None:
    assert make_url(store_url).database != make_url(postgresql_url).database


def test_the_sqlite_file_is_this_tests_own(sqlite_path: Path, tmp_path: Path) -> None:
    assert sqlite_path.parent == tmp_path
    assert not sqlite_path.exists()
