"""Only the dialect layer knows which database it talks to: the source of the rest of the runtime is read to prove it.

Contract §8 names what must not leave the layer. The reading is of the syntax tree, so comments, docstrings and help
texts may speak of SQLite as much as they like. Each rule is tried on a planted offence first.
"""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

RUNTIME = Path(__file__).parents[3] / "impl" / "fencepost"
LAYER = RUNTIME / "db"

DIALECT_WORD = re.compile(r"(sqlite|postgres)", re.IGNORECASE)
DRIVERS = {"sqlite3", "pysqlite2", "pysqlite3", "aiosqlite", "psycopg", "psycopg2", "psycopg_pool", "asyncpg", "pg8000"}
SQLALCHEMY_INSIDES = ("sqlalchemy.dialects", "sqlalchemy.ext.compiler")

# Names that stand for something the layer wraps, and what to use instead of them.
WRAPPED_NAMES = {
    "DateTime": "UtcDateTime",
    "DATETIME": "UtcDateTime",
    "TIMESTAMP": "UtcDateTime",
    "OperationalError": "is_conflict() and is_connection_lost()",
    "JSONB": "JsonPayload",
    "with_variant": "a type of fencepost.db.types, or add one there",
    "driver_connection": "a function of fencepost.db",
    "dbapi_connection": "a function of fencepost.db",
    "get_raw_connection": "a function of fencepost.db",
    "get_backend_name": "capabilities()",
    "drivername": "capabilities()",
    "dialect_of": "capabilities()",
    "dialect_named": "capabilities()",
}
CONFLICT_NAMES = {"sqlite_errorcode", "sqlite_errorname", "sqlstate", "pgcode", "SQLITE_BUSY", "SQLITE_LOCKED"}
CONFLICT_TEXTS = re.compile(r"40001|40P01|(database|table|schema) is locked")


def outside_the_layer(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """What a module outside `fencepost.db` must not contain: line and reason."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    yield from forbidden_module(node.lineno, alias.name)
            case ast.ImportFrom(module=str(module), names=names):
                yield from forbidden_module(node.lineno, module)
                for alias in names:
                    yield from forbidden_module(node.lineno, f"{module}.{alias.name}")
                    yield from wrapped_name(node.lineno, alias.name)
            case ast.Attribute(attr="name" | "driver", value=ast.Name(id="dialect") | ast.Attribute(attr="dialect")):
                yield node.lineno, "a dialect is asked for its name: use capabilities()"
            case ast.Attribute(attr=name) | ast.Name(id=name):
                yield from wrapped_name(node.lineno, name)
            case ast.Compare(left=left, comparators=comparators):
                if any(map(names_a_dialect, [left, *comparators])):
                    yield node.lineno, "a comparison with a dialect's name: use capabilities()"
            case ast.MatchValue(value=value) if names_a_dialect(value):
                yield value.lineno, "a case for a dialect's name: use capabilities()"
            case ast.Dict(keys=keys) if any(key is not None and names_a_dialect(key) for key in keys):
                yield node.lineno, "a choice by a dialect's name: use capabilities()"
            case ast.Call(func=ast.Attribute(attr="startswith" | "endswith"), args=[argument, *_]):
                if names_a_dialect(argument):
                    yield node.lineno, "a text is tested for a dialect's name: use capabilities()"
            case ast.keyword(arg=str(name)) if DIALECT_WORD.match(name):
                yield node.value.lineno, f"the dialect argument {name}: use partial_index() or extend the layer"
            case _:
                pass


def outside_the_detector(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """What only `fencepost.db.errors` may contain, for there is one conflict predicate."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) | ast.Name(id=name) if name in CONFLICT_NAMES:
                yield node.lineno, f"{name}: use is_conflict()"
            case ast.Constant(value=str(value)) if value in CONFLICT_NAMES or CONFLICT_TEXTS.search(value):
                if not is_docstring_like(value):
                    yield node.lineno, f"{value!r}: use is_conflict()"
            case _:
                pass


def forbidden_module(line: int, module: str) -> Iterator[tuple[int, str]]:
    if module.partition(".")[0] in DRIVERS:
        yield line, f"the driver {module} is imported: use fencepost.db"
    elif module.startswith(SQLALCHEMY_INSIDES):
        yield line, f"{module} is imported: use fencepost.db"


def wrapped_name(line: int, name: str) -> Iterator[tuple[int, str]]:
    if name in WRAPPED_NAMES:
        yield line, f"{name}: use {WRAPPED_NAMES[name]}"


def names_a_dialect(node: ast.AST) -> bool:
    match node:
        case ast.Constant(value=str(value)):
            return DIALECT_WORD.match(value) is not None
        case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
            return any(map(names_a_dialect, elements))
        case ast.Attribute(attr="SQLITE" | "POSTGRESQL"):
            return True
        case _:
            return False


def is_docstring_like(text: str) -> bool:
    """Prose about conflicts, and not a text to look for in a message."""
    return text.count(" ") > 5


def sources(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def findings(paths: list[Path], rule: Callable[[ast.AST], Iterator[tuple[int, str]]]) -> list[str]:
    return [
        f"{path.relative_to(RUNTIME)}:{line}: {reason}"
        for path in paths
        for line, reason in rule(ast.parse(path.read_bytes()))
    ]


def test_no_dialect_is_known_outside_the_layer() -> None:
    outside = [path for path in sources(RUNTIME) if LAYER not in path.parents]
    assert outside, "there is a runtime to be read"
    assert findings(outside, outside_the_layer) == []


def test_there_is_one_conflict_predicate() -> None:
    elsewhere = [path for path in sources(RUNTIME) if path != LAYER / "errors.py"]
    assert findings(elsewhere, outside_the_detector) == []
    definitions = [
        path.relative_to(RUNTIME)
        for path in sources(RUNTIME)
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.FunctionDef) and node.name == "is_conflict"
    ]
    assert definitions == [Path("db/errors.py")]


def test_the_layer_does_not_know_the_runtime_above_it() -> None:
    allowed = ("fencepost.db", "fencepost.errors")
    upward = [
        f"{path.relative_to(RUNTIME)}:{node.lineno}: {node.module}"
        for path in sources(LAYER)
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith("fencepost")
        and not (node.module or "").startswith(allowed)
    ]
    assert upward == []


# --- the rules themselves --------------------------------------------------------------------------------------------

OFFENCES = [
    "if connection.dialect.name == name: pass",
    "kind = engine.dialect.name",
    "def compile(element, dialect): return dialect.driver",
    "if kind == 'sqlite': pass",
    "if 'postgresql' != kind: pass",
    "if kind in ('sqlite', 'mysql'): pass",
    "if kind is Dialect.SQLITE: pass",
    "match kind:\n    case 'postgresql': pass",
    "claim = {'sqlite': one, 'postgresql': other}[kind]",
    "if url.startswith('sqlite'): pass",
    "if url.drivername: pass",
    "if url.get_backend_name() == kind: pass",
    "import sqlite3",
    "import psycopg.errors",
    "from psycopg import sql",
    "from aiosqlite import connect",
    "def late():\n    import psycopg",
    "from sqlalchemy.dialects.postgresql import insert",
    "from sqlalchemy.dialects import sqlite",
    "from sqlalchemy.ext.compiler import compiles",
    "from sqlalchemy import DateTime",
    "import sqlalchemy as sa\ncolumn = sa.Column('at', sa.DateTime(timezone=True))",
    "from sqlalchemy import TIMESTAMP",
    "from sqlalchemy.exc import OperationalError",
    "try: pass\nexcept exc.OperationalError: pass",
    "payload = JSON().with_variant(other, kind)",
    "column = Column('payload', postgresql.JSONB)",
    "raw = connection.connection.driver_connection",
    "raw = connection.connection.dbapi_connection",
    "from fencepost.db.engine import driver_connection",
    "from fencepost.db.dialects import dialect_of",
    "index = Index('ix', column, sqlite_where=predicate)",
    "index = Index('ix', column, postgresql_where=predicate)",
]


@pytest.mark.parametrize("source", OFFENCES)
def test_a_planted_offence_is_found(source: str) -> None:
    assert list(outside_the_layer(ast.parse(source)))


@pytest.mark.parametrize(
    "source",
    [
        "if getattr(error, 'sqlite_errorcode', None): pass",
        "code = error.orig.sqlstate",
        "if 'database is locked' in str(error): pass",
        "if state in ('40001', '40P01'): pass",
        "if code == sqlite3.SQLITE_BUSY: pass",
    ],
)
def test_a_planted_second_detector_is_found(source: str) -> None:
    assert list(outside_the_detector(ast.parse(source)))


@pytest.mark.parametrize(
    "source",
    [
        '"""On SQLite one immediate transaction; on PostgreSQL SKIP LOCKED, which may end in 40001."""',
        "parser.add_argument('--store', help='sqlite:///jobs.db or postgresql+psycopg://...')",
        "url = 'sqlite:///jobs.db'",
        "if capabilities(connection).single_writer: pass",
        "name = job.name",
        "column = Column('at', UtcDateTime())",
        "from sqlalchemy.exc import IntegrityError",
        "if is_conflict(error): pass",
        "# engine.dialect.name == 'sqlite'",
    ],
)
def test_what_is_allowed_is_not_found(source: str) -> None:
    tree = ast.parse(source)
    assert list(outside_the_layer(tree)) == list(outside_the_detector(tree)) == []


def test_the_layer_itself_is_full_of_offences() -> None:
    """The same rules, read over the code that is meant to break them: they see real files too."""
    offending = {finding.partition(":")[0] for finding in findings(sources(LAYER), outside_the_layer)}
    assert {"db/engine.py", "db/errors.py", "db/types.py", "db/indexes.py", "db/moments.py", "db/tx.py"} <= offending
    assert findings([LAYER / "errors.py"], outside_the_detector)
