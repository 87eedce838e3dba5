"""Partial indexes: one predicate, written once, in force on both databases.

A partial unique index is how an "at most one" invariant is enforced (INV-2, INV-4), and a partial lookup index is what
keeps a claim's cost free of the backlog. Both depend on two databases having the *same* predicate, so it is one SQL
expression here, and never two texts.

A query uses a partial index only if the planner can see that the query's condition implies the predicate. A bound
parameter may hide that: PostgreSQL plans without its value once it has settled on one plan for a prepared statement
(SQLite looks at the value, at the price of planning again). `inlined` writes the constants of an expression into the
statement's text; use it in the queries that an index is made for.
"""

import hashlib
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, Index
from sqlalchemy.sql import visitors
from sqlalchemy.sql.visitors import ExternallyTraversible

from fencepost.errors import ConfigurationError


def partial_index(
    name: str, *columns: str | ColumnElement[Any], where: ColumnElement[bool], unique: bool = False
) -> Index:
    """An index over the rows for which `where` is true, the same on SQLite and PostgreSQL (contract §8).

    `columns`: names or expressions, as `sqlalchemy.Index` takes them; the index belongs to the table of the columns in
    it, or to the table in whose definition it stands. With `unique`, two rows that `where` selects cannot agree in all
    columns. Raises `ConfigurationError` for a predicate that is text, because text is not the same on both databases
    (a boolean is not an integer), and for an index without columns.
    """
    if not columns:
        raise ConfigurationError(f"The partial index {name!r} has no columns: name at least one.")
    if not _is_column_expression(where):
        raise ConfigurationError(
            f"The predicate of the partial index {name!r} is not a column expression: "
            "write it with the table's columns, for instance table.c.status == 'pending'."
        )
    return Index(name, *columns, unique=unique, sqlite_where=where, postgresql_where=where)


def _is_column_expression(value: object) -> bool:
    return isinstance(value, ColumnElement)


def inlined(expression: ColumnElement[Any]) -> ColumnElement[Any]:
    """The same expression with its constants in the statement's text, where a planner can see them."""

    def replace(element: ExternallyTraversible, **_: object) -> ExternallyTraversible | None:
        if isinstance(element, BindParameter):
            return element.render_literal_execute()  # pyright: ignore[reportUnknownVariableType]
        return None

    result: ColumnElement[Any] = visitors.replacement_traverse(expression, {}, replace)
    return result


LONGEST_NAME = 63
"""The longest name that every database takes; PostgreSQL cuts longer ones off, and SQLAlchemy refuses them."""


def schema_name(kind: str, table: str, label: str) -> str:
    """The name of a constraint or index of a table: `kind_table_label`, cut short with a digest where too long."""
    name = f"{kind}_{table}_{label}"
    if len(name) <= LONGEST_NAME:
        return name
    digest = hashlib.blake2b(name.encode(), digest_size=4).hexdigest()
    return f"{name[: LONGEST_NAME - len(digest) - 1]}_{digest}"
