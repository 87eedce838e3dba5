"""Why an operation was refused: the false guards, by plain evaluation of the model's terms on the row that was read.

The decision is the statement's alone. This is its explanation, from the row as it stood in the same transaction and by
the same moment; and when SQL and model do not agree about that row, it is an error of the runtime and said as one.

Times become whole microseconds, so that the boundaries of the contract are met exactly.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from fencepost.errors import FencepostError
from fencepost.jobs.outcomes import STANDARD_NAMES, JobSnapshot, Token
from fencepost.jobs.profile import Profile
from fencepost.jobs.schema import STORED
from fencepost_model.error_codes import EXAMPLES, Family
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.shapes import Sort
from fencepost_model.terms import Bare, Value, holds

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NOTHING: Final[Mapping[str, Value]] = dict.fromkeys(STANDARD_NAMES)
_NO_TOKEN: Final[Mapping[str, Value]] = {"worker_id": None, "lease_generation": None}


class PredicateDisagreement(FencepostError):
    """SQL refused what the model allows: a defect of the runtime, never of the caller. Nothing was written."""


def microseconds(moment: datetime) -> int:
    """A time as whole microseconds since 1970, exactly."""
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def model_value(value: Any) -> Value:
    """A value of a column or argument as the model's terms take it."""
    return microseconds(value) if isinstance(value, datetime) else value


def false_guards(
    operation: str,
    *,
    found: JobSnapshot | None,
    token: Token | None,
    moment: datetime,
    profile: Profile,
    arguments: Mapping[str, Any],
    family: Family | None = None,
) -> frozenset[str]:
    """The names of the operation's guards that are false for this row, token and moment (contract §2).

    A job that does not exist has every field null. An error code is judged by its family, for which the model knows
    one code. Raises `PredicateDisagreement` when no guard is false.
    """
    row = _NOTHING if found is None else {name: model_value(value) for name, value in found.standard().items()}
    holder = _NO_TOKEN
    if token is not None:
        holder = {"worker_id": token.worker_id, "lease_generation": token.lease_generation}
    settings = {shape.name: _scaled(profile.settings()[shape.name], shape.sort) for shape in JOB_CONTRACT.settings}
    given = {name: model_value(value) for name, value in arguments.items()}
    if family is not None:
        given["code"] = EXAMPLES[family]
    scope = Bare({"job": row, "token": holder}, microseconds(moment), given, settings)
    guards = JOB_CONTRACT.operation(operation).guards
    false = frozenset(guard.name for guard in guards if not holds(guard.term, scope))
    if not false:
        raise PredicateDisagreement(
            f"The runtime's SQL refused {operation} at {moment.isoformat()}, although every guard of the model holds "
            f"for {found}: report this row as a defect of fencepost."
        )
    return false


def _scaled(value: Value, sort: Sort) -> Value:
    if sort is Sort.DURATION and isinstance(value, int | float):
        return round(value * 1_000_000)
    return value


assert set(STORED) == set(STANDARD_NAMES), "a snapshot has exactly the model's stored fields"
