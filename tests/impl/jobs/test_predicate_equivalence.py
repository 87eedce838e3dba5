"""Every predicate of the runtime selects, on the real databases, exactly the rows that the model's guard selects.

For each registered predicate a table is filled with every combination of a small domain: all statuses, each null, every
order of the times relative to the moment (equality included, and relative to the end of a back-off), counts on both
sides of their bounds, tokens that match and that do not. The domain spans the fields that the predicate *or* the guard
reads, so a field that one of them forgot is found too. There are no constraints on the table: rows that could never be
are compared as well.
"""

import ast
import inspect
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import (
    Column,
    ColumnElement,
    Engine,
    Float,
    FromClause,
    Integer,
    MetaData,
    Table,
    bindparam,
    insert,
    literal,
    select,
    true,
    union_all,
)
from sqlalchemy.sql import visitors

import fencepost.jobs
from fencepost.jobs import JobTable, Profile, predicates
from fencepost.jobs.predicates import PREDICATES, SELECTORS, Given, parameter
from fencepost.jobs.schema import STORED, job_table
from fencepost_model.error_codes import EXAMPLES, RETRYABLE, Family
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.machines.job import STATUSES
from fencepost_model.shapes import Sort
from fencepost_model.terms import AllOf, Bare, FieldOf, Param, Setting, TruthTerm, Value, holds, walk

START = datetime(2030, 1, 1, tzinfo=UTC)
NOW = 10
"""The moment, in seconds after START; the model reads times as such seconds, the databases as datetimes."""
DELAY = 2
"""The back-off: a retry would be due at 12."""
TOKEN: Mapping[str, Value] = {"worker_id": "w", "lease_generation": 3}
MAX_POLLS = 2

DOMAIN: Mapping[str, Sequence[Value]] = {
    "status": [status.name for status in STATUSES],
    "worker_id": [None, "w", "W"],
    "lease_generation": [2, 3, 4],
    "lease_expires_at": [None, 9, 10, 11],
    "cancel_requested_at": [None, 10],
    "attempt_count": [0, 1, 2],
    "max_attempts": [1, 2],
    "next_attempt_at": [None, 9, 10, 11],
    "deadline_at": [None, 9, 10, 11, 12, 13],
    "next_poll_at": [None, 9, 10, 11],
    "provider_ref": [None, ""],
    "poll_count": [1, 2, 3],
}
"""The values of each field that some predicate or guard reads."""

REST: Mapping[str, Value] = {
    **dict.fromkeys(STORED),
    "status": "pending",
    "lease_generation": 0,
    "attempt_count": 0,
    "max_attempts": 1,
    "poll_count": 0,
}
"""The values of all other fields."""


@dataclass(frozen=True)
class Circumstances:
    """What a predicate is compared under, besides the row: settings and arguments, in the model's terms."""

    settings: Mapping[str, Value]
    params: Mapping[str, Value]

    def profile(self) -> Profile:
        numbers: dict[str, Any] = dict(self.settings)
        return Profile(heartbeat_seconds=None, **numbers)

    def family(self) -> Family | None:
        return next((family for family, code in EXAMPLES.items() if code == self.params.get("code")), None)


def model_term(operation: str, case_name: str | None) -> TruthTerm:
    shape = JOB_CONTRACT.operation(operation)
    conjuncts = [guard.term for guard in shape.guards if guard.name != "new"]
    if case_name is not None:
        case = next(case for case in shape.cases if case.name == case_name)
        conjuncts += [guard.term for guard in case.when]
    return AllOf(tuple(conjuncts))


SETTING_CHOICES: Mapping[str, Sequence[Value]] = {
    "lease_seconds": [60],
    "release_ceiling": [2, 3, 4],
    "max_polls": [MAX_POLLS],
    "cancel_wins": [True, False],
    "registers_park": [True, False],
    "registers_skip": [True, False],
    "registers_expired": [True, False],
}
PARAM_CHOICES: Mapping[str, Sequence[Value]] = {
    "delay": [DELAY],
    "code": list(EXAMPLES.values()),
    "message": [None],
    "provider_ref": ["ref"],
    "next_poll_at": [9, 10, 11],
    "max_attempts": [0, 1, 2],
    "deadline_at": [None, 9, 10, 11],
}


def circumstances(operation: str, term: TruthTerm) -> Iterator[Circumstances]:
    """Every combination of the settings and arguments that the guard reads; the others at one value each."""
    read = {part.name for part in walk(term) if isinstance(part, Setting | Param)}
    settings = {n: c if n in read else c[:1] for n, c in SETTING_CHOICES.items()}
    names = [parameter.name for parameter in JOB_CONTRACT.operation(operation).parameters]
    params = {n: PARAM_CHOICES[n] if n in read else PARAM_CHOICES[n][:1] for n in names}
    for chosen in product(*settings.values(), *params.values()):
        yield Circumstances(
            dict(zip(settings, chosen, strict=False)), dict(zip(params, chosen[len(settings) :], strict=True))
        )


def instant(value: Value) -> datetime | None:
    return None if value is None else START + timedelta(seconds=float(value))


def stored(name: str, value: Value) -> object:
    return instant(value) if STORED[name] is Sort.INSTANT else value


def given_for(case: Circumstances) -> Given:
    delay = bindparam("given_delay", type_=Float())
    return Given(case.profile(), lambda _job: delay)


def arguments_for(case: Circumstances) -> dict[str, Any]:
    family = case.family()
    return {
        "given_now": instant(NOW),
        "given_delay": DELAY,
        "given_worker_id": TOKEN["worker_id"],
        "given_lease_generation": TOKEN["lease_generation"],
        "given_code_cancels": family is Family.CANCEL,
        "given_code_retries": family in RETRYABLE,
        "given_code_blames_content": family is Family.CONTENT,
        "given_code_is_verdict": family is not Family.FENCE,
        "given_next_poll_at": instant(case.params.get("next_poll_at")),
        "given_max_attempts": case.params.get("max_attempts"),
        "given_deadline_at": instant(case.params.get("deadline_at")),
    }


def columns_read(job: JobTable, condition: Any) -> set[str]:
    """The standard fields whose columns a predicate reads."""
    read = {element.name for element in visitors.iterate(condition) if isinstance(element, Column)}
    return {name for name in STORED if job.vocabulary.column(name) in read}


@pytest.fixture(scope="module")
def bare() -> JobTable:
    """A table of jobs without constraints and indexes, so that every combination may stand in it."""
    made = job_table(MetaData())
    columns = [Column(column.name, column.type, primary_key=column.primary_key) for column in made.c]
    return JobTable(Table("bare_jobs", MetaData(), *columns))


def fill(engine: Engine, job: JobTable, fields: Sequence[str]) -> None:
    """Every combination of the domain over these fields, one row each, multiplied by the database itself."""
    job.table.drop(engine, checkfirst=True)
    job.table.create(engine)
    chosen: dict[str, ColumnElement[Any]] = {}
    product_of: FromClause | None = None
    for name in fields:
        type_ = job.table.c[name].type
        choices = [select(literal(stored(name, value), type_).label("value")) for value in DOMAIN[name]]
        source = union_all(*choices).subquery(f"choices_of_{name}")
        chosen[name] = source.c.value
        product_of = source if product_of is None else product_of.join(source, true())
    rest = {n: literal(stored(n, v), job.table.c[n].type) for n, v in REST.items() if n not in chosen}
    assert product_of is not None
    rows = select(*chosen.values(), *rest.values()).select_from(product_of)
    with engine.begin() as connection:
        connection.execute(insert(job.table).from_select([*chosen, *rest], rows))


def read_back(engine: Engine, job: JobTable, fields: Sequence[str]) -> list[tuple[int, dict[str, Value]]]:
    """The rows as the database holds them, as the model reads them."""
    with engine.connect() as connection:
        found = connection.execute(select(job.table.c.id, *(job.table.c[name] for name in fields))).all()
    assert len(found) == math.prod(len(DOMAIN[name]) for name in fields)
    rows: list[tuple[int, dict[str, Value]]] = []
    for key, *values in found:
        row = dict(REST)
        for name, value in zip(fields, values, strict=True):
            row[name] = int((value - START).total_seconds()) if isinstance(value, datetime) else value
        rows.append((key, row))
    return rows


@pytest.mark.parametrize("name", list(PREDICATES), ids=lambda name: "/".join(part or "guards" for part in name))
def test_predicate_selects_what_the_guard_selects(engine: Engine, bare: JobTable, name: tuple[str, str | None]) -> None:
    term = model_term(*name)
    in_guard = {part.name for part in walk(term) if isinstance(part, FieldOf) and part.entity == "job"}
    in_predicate: set[str] = set()
    cases = list(circumstances(name[0], term))
    for case in cases:
        in_predicate |= columns_read(bare, PREDICATES[name](bare.columns, given_for(case)))
    fields = [field for field in DOMAIN if field in in_guard | in_predicate] or ["status"]
    assert in_guard | in_predicate <= set(DOMAIN), "a predicate or guard reads a field that the domain leaves out"
    fill(engine, bare, fields)
    rows = read_back(engine, bare, fields)

    selected_once, left_out_once = False, False
    for case in cases:
        expected = {
            key for key, row in rows if holds(term, Bare({"job": row, "token": TOKEN}, NOW, case.params, case.settings))
        }
        with engine.connect() as connection:
            condition = PREDICATES[name](bare.columns, given_for(case))
            selected = set(connection.scalars(select(bare.table.c.id).where(condition), arguments_for(case)))
        wrong = selected ^ expected
        examples = [row for key, row in rows if key in wrong][:3]
        assert not wrong, f"SQL and model differ on {len(wrong)} of {len(rows)} rows, such as {examples}, under {case}"
        selected_once |= bool(expected)
        left_out_once |= len(expected) < len(rows)
    assert selected_once, "the domain holds no row that the guard selects, so the comparison says nothing"
    assert left_out_once, "the domain holds no row that the guard leaves out, so the comparison says nothing"


def test_every_transition_has_its_predicate_and_nothing_else_is_registered() -> None:
    transitions = {(operation.name, case.name) for operation, case in JOB_CONTRACT.transitions()}
    searches = {("recover", None), ("expire_overdue", None)}
    assert set(PREDICATES) == transitions | searches


def test_cases_stand_in_the_order_of_the_model() -> None:
    for operation in JOB_CONTRACT.operations:
        registered = [case for name, case in PREDICATES if name == operation.name and case is not None]
        assert registered == [case.name for case in operation.cases]


def test_every_public_predicate_is_registered() -> None:
    public = {
        name
        for name, function in inspect.getmembers(predicates, inspect.isfunction)
        if not name.startswith("_") and function.__module__ == predicates.__name__
    }
    registered = {condition.__name__ for condition in (*PREDICATES.values(), *SELECTORS)}
    assert public - registered == {"held", "parameter"}, "held stands for no operation of its own, but is part of many"
    assert registered <= public


class TestSelectors:
    """The predicates that say which rows are meant."""

    @pytest.fixture
    def keys(self, engine: Engine, bare: JobTable) -> list[int]:
        fill(engine, bare, ["status"])
        with engine.begin() as connection:
            keys = list(connection.scalars(select(bare.table.c.id).order_by(bare.table.c.id)))
            connection.execute(bare.table.update().values(queue="left"))
            connection.execute(bare.table.update().where(bare.table.c.id > keys[3]).values(queue="right"))
        return keys

    def selected(self, engine: Engine, bare: JobTable, condition: Any, **given: Any) -> list[int]:
        with engine.connect() as connection:
            statement = select(bare.table.c.id).where(condition).order_by(bare.table.c.id)
            return list(connection.scalars(statement, {f"given_{name}": value for name, value in given.items()}))

    def test_identified(self, engine: Engine, bare: JobTable, keys: list[int]) -> None:
        condition = predicates.identified(bare.columns, parameter("key", Integer()))
        assert self.selected(engine, bare, condition, key=keys[2]) == [keys[2]]
        assert self.selected(engine, bare, condition, key=keys[-1] + 1) == []

    def test_among(self, engine: Engine, bare: JobTable, keys: list[int]) -> None:
        condition = predicates.among(bare.columns, bindparam("given_keys", expanding=True))
        assert self.selected(engine, bare, condition, keys=keys[1:3]) == keys[1:3]
        assert self.selected(engine, bare, condition, keys=[]) == []

    def test_not_among(self, engine: Engine, bare: JobTable, keys: list[int]) -> None:
        condition = predicates.not_among(bare.columns, bindparam("given_keys", expanding=True))
        assert self.selected(engine, bare, condition, keys=keys[1:]) == keys[:1]
        assert self.selected(engine, bare, condition, keys=[]) == keys

    def test_in_queue(self, engine: Engine, bare: JobTable, keys: list[int]) -> None:
        condition = predicates.in_queue(bare.columns, parameter("queue"))
        assert self.selected(engine, bare, condition, queue="right") == keys[4:]

    def test_in_status(self, engine: Engine, bare: JobTable, keys: list[int]) -> None:
        condition = predicates.in_status(bare.columns, bindparam("given_words", expanding=True))
        assert self.selected(engine, bare, condition, words=["running", "failed"]) == [keys[1], keys[4]]


# --- no predicate outside the register --------------------------------------------------------------------------------

ROW_CHOOSERS = {"where", "filter", "filter_by", "having"}
COMPARISONS = {"in_", "not_in", "is_", "is_not", "between", "like", "is_distinct_from", "is_not_distinct_from"}
WRITES_CONDITIONS = {"predicates.py": "the register", "checks.py": "constraints", "schema.py": "indexes"}


def _is_registered_condition(argument: ast.expr) -> bool:
    """`predicates.name(...)`, `PREDICATES[...](...)`, a name bound to one of these, or the queue's own condition."""
    if isinstance(argument, ast.Starred):
        return ast.unparse(argument.value).endswith(".in_queue(columns)")
    if isinstance(argument, ast.Name):
        return argument.id in {"which", "guard"}
    if not isinstance(argument, ast.Call):
        return False
    called = argument.func
    if isinstance(called, ast.Subscript):
        return ast.unparse(called.value) == "PREDICATES"
    return isinstance(called, ast.Attribute) and ast.unparse(called.value) == "predicates"


def _bindings(tree: ast.AST, names: set[str]) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id in names for t in node.targets):
            yield node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id in names:
            assert node.value is not None
            yield node.value


def test_no_module_of_the_runtime_writes_a_condition_of_its_own() -> None:
    """Every WHERE is put together from registered predicates; texts and comparisons of columns stand nowhere else."""
    folder = Path(str(fencepost.jobs.__file__)).parent
    conditions = 0
    for path in sorted(folder.glob("*.py")):
        if path.name in WRITES_CONDITIONS:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            where = f"{path.name}:{node.lineno}"
            if isinstance(node.func, ast.Attribute) and node.func.attr in ROW_CHOOSERS:
                conditions += 1
                strangers = [ast.unparse(a) for a in node.args if not _is_registered_condition(a)]
                assert not strangers, f"{where} chooses rows by {strangers}: register a predicate and use that"
            if isinstance(node.func, ast.Attribute):
                assert node.func.attr not in COMPARISONS, f"{where} compares a column: register a predicate instead"
            called = ast.unparse(node.func)
            assert called not in {"text", "exec_driver_sql"}, f"{where} writes SQL as text"
            assert not called.endswith(".exec_driver_sql"), f"{where} writes SQL as text"
        for value in _bindings(tree, {"which", "guard"}):
            accepted = _is_registered_condition(value) or "any_(" in ast.unparse(value)
            assert accepted, f"{path.name} binds a condition to {ast.unparse(value)}, which is not registered"
    assert conditions > 8, "the source was not read: the runtime has more WHERE clauses than that"
