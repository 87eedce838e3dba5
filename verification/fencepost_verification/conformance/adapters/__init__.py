"""The built-in implementations: the model in memory, and our runtime on SQLite and on PostgreSQL.

Each name is a factory without arguments, as ``--adapter`` takes them. What a database needs is imported when it is
asked for, so that the suite runs without any.
"""

from __future__ import annotations

from fencepost_verification.conformance.harness import Harness
from fencepost_verification.conformance.reference import Reference


def memory() -> Harness:
    """The model itself."""
    return Reference()


def sqlite() -> Harness:
    """Our runtime on a SQLite file of its own, which is removed in the end."""
    from fencepost_verification.conformance.adapters.databases import on_sqlite

    return on_sqlite()


def postgresql() -> Harness:
    """Our runtime on PostgreSQL: the server that FENCEPOST_POSTGRESQL_URL names, else one of its own."""
    from fencepost_verification.conformance.adapters.databases import on_postgresql

    return on_postgresql()
