"""The model itself as an implementation: rows in a dictionary, every call judged by plain evaluation of the contract.

``Reference`` is what a newcomer derives a wrong implementation from, to see how it is caught::

    class Forgetful(Reference):
        def renew(self, job, worker_id, lease_generation):
            self.rows[job]["lease_expires_at"] = self.now + self.profile["lease_seconds"]
            return ok()

It is a real implementation of the contract in memory, though not a fast one: each method evaluates the guards as terms,
picks the case whose conditions hold, and applies its effect to the row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fencepost_model.contract import Contract
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.semantics import Accepted, Call, Member, Population, Refused, Semantics, State
from fencepost_model.shapes import Operation, Selection, Sort
from fencepost_model.terms import Value
from fencepost_verification.conformance.capabilities import ALL_OF_JOB, complete
from fencepost_verification.conformance.harness import Harness, acted_on, ok, refused
from fencepost_verification.conformance.protocol import Json, Shapes


class ModelHarness(Harness):
    """Any contract as an implementation in memory.

    ``rows`` maps labels to rows (field to value, ghosts included; instants in seconds since the epoch), ``now`` is the
    clock, ``profile`` holds the settings. ``contract`` may be replaced by a subclass.
    """

    contract: Contract
    name = "model in memory"
    version = "1"

    def __init__(self) -> None:
        self.now: float | int = 0
        self.profile: dict[str, Value] = {}
        self.rows: dict[str, dict[str, Value]] = {}
        self._shapes = Shapes(self.contract)
        self._properties: dict[str, tuple[str, ...]] = {}

    def reset(self, profile: Mapping[str, Value], now: float) -> None:
        """No rows, these settings, this clock."""
        self.profile = dict(profile)
        self.now = now
        self.rows = {}

    def set_clock(self, now: float) -> None:
        """The clock shows ``now``."""
        self.now = now

    def load(self, label: str, row: Mapping[str, Value]) -> None:
        """Keep a row of an older program as it is; its ghosts are those of the kind of legacy row that it is."""
        full = {f.name: row.get(f.name) for f in self.contract.root.fields}
        told = [f.name for f in self._shapes.visible if f.sort is not Sort.INSTANT]
        for legacy in self.contract.root.legacy_rows:
            if all(row.get(name) == legacy.fields.get(name) for name in told):
                full |= {f.name: legacy.fields.get(f.name) for f in self.contract.root.fields if f.ghost}
        self.rows[label] = full

    def inspect(self, label: str) -> Mapping[str, Any] | None:
        """The row without its ghosts."""
        row = self.rows.get(label)
        return None if row is None else {f.name: row[f.name] for f in self._shapes.visible}

    # -- calls ---------------------------------------------------------------------------------------------------------

    def attempt(self, operation: str, label: str, **arguments: Value) -> Json:
        """Call an operation on the row of a label: its answer, with the row changed if it was accepted."""
        outcome = self.outcome(operation, label, arguments)
        if isinstance(outcome, Refused):
            return refused(*sorted(outcome.guards))
        return ok(outcome.case.name)

    def sweep(self, operation: str, limit: int, **arguments: Value) -> Json:
        """Call an operation on every row that it can act on, in the order of arrival, at most ``limit`` of them."""
        shape = self.contract.operation(operation)
        told: list[Json] = []
        for label in list(self.rows):
            if len(told) == limit:
                break
            before = dict(self.rows[label])
            outcome = self.outcome(operation, label, arguments)
            if isinstance(outcome, Accepted):
                told.append(self._told(shape, label, before, outcome))
        return acted_on(*told)

    def outcome(self, operation: str, label: str, arguments: Mapping[str, Value]) -> Accepted | Refused:
        """What the contract says to a call; an accepted one has changed the row."""
        shape = self.contract.operation(operation)
        members = tuple(
            Member(
                variable.machine, variable.name, {f.name: arguments.get(f.name) for f in self._fields(variable.machine)}
            )
            for variable in shape.over[1:]
        )
        population = Population(Member(shape.subject.machine, label, {}, members))
        semantics = Semantics(self.contract, population, self.profile)
        empty = semantics.empty_rows()
        state = State(self.now, ((self.rows.get(label, empty[0]), *empty[1:]),))
        params = {
            p.name: self.profile[p.name] if p.chosen_by == "store" else arguments[p.name] for p in shape.parameters
        }
        binding = {variable.name: index for index, variable in enumerate(shape.over)}
        outcome = semantics.attempt(state, Call(operation, 0, binding, params))
        if isinstance(outcome, Accepted):
            self.rows[label] = dict(outcome.state.rows[0][0])
        return outcome

    def _fields(self, machine: str) -> Iterator[Any]:
        return iter(self.contract.machine(machine).fields)

    def _told(self, operation: Operation, label: str, before: Mapping[str, Value], outcome: Accepted) -> Json:
        row, *members = outcome.state.rows[0]
        properties = self._properties.get(operation.name)
        if properties is None:
            properties = self._properties[operation.name] = tuple(self._shapes.told(operation)[0])
        told: Json = {name: row[name] for name in properties if name in row}
        for member in members:
            told |= {name: member[name] for name in properties if name in member}
        return {self._shapes.subject: label, "case": outcome.case.name, **told}

    def __getattr__(self, name: str) -> Callable[..., Json]:
        """The method of an operation, for contracts whose harness does not spell them out."""
        if name.startswith("_") or name not in {operation.name for operation in type(self).contract.operations}:
            raise AttributeError(name)
        operation = self.contract.operation(name)

        def call(**arguments: Any) -> Json:
            if operation.selection is Selection.SWEEP:
                limit = min(arguments.pop(limit) for limit in self._shapes.limits(operation))
                return self.sweep(name, limit, **arguments)
            return self.attempt(name, arguments.pop(self._shapes.subject), **arguments)

        return call


def model_of(contract: Contract, name: str = "model in memory") -> type[ModelHarness]:
    """A contract as an implementation of itself, which lacks nothing: a class to derive a wrong one from."""
    given = {"contract": contract, "name": name, "capabilities": complete()}
    return type("ModelOf" + "".join(part.capitalize() for part in contract.name.split("_")), (ModelHarness,), given)


class Reference(ModelHarness):
    """The Job machine in memory: override a method to make it wrong."""

    contract = JOB_CONTRACT
    capabilities = ALL_OF_JOB

    def enqueue(self, job: str, max_attempts: int, deadline_at: float | None) -> Json:
        """A client hands in a job."""
        return self.attempt("enqueue", job, max_attempts=max_attempts, deadline_at=deadline_at)

    def claim(self, worker_id: str, limit: int, max_claims: int) -> Json:
        """A worker takes waiting jobs."""
        return self.sweep("claim", min(limit, max_claims), worker_id=worker_id)

    def renew(self, job: str, worker_id: str, lease_generation: int | None) -> Json:
        """A holder says that it is alive."""
        return self.attempt("renew", job, worker_id=worker_id, lease_generation=lease_generation)

    def succeed(self, job: str, worker_id: str, lease_generation: int | None) -> Json:
        """A holder reports success."""
        return self.attempt("succeed", job, worker_id=worker_id, lease_generation=lease_generation)

    def fail(self, job: str, worker_id: str, lease_generation: int | None, code: str, message: str | None) -> Json:
        """A holder reports an error."""
        return self.attempt(
            "fail", job, worker_id=worker_id, lease_generation=lease_generation, code=code, message=message
        )

    def skip(self, job: str, worker_id: str, lease_generation: int | None, code: str, message: str | None) -> Json:
        """A holder finds that the content no longer calls for the work."""
        return self.attempt(
            "skip", job, worker_id=worker_id, lease_generation=lease_generation, code=code, message=message
        )

    def park(
        self, job: str, worker_id: str, lease_generation: int | None, provider_ref: str, next_poll_at: float
    ) -> Json:
        """A holder has submitted the work to a provider."""
        return self.attempt(
            "park",
            job,
            worker_id=worker_id,
            lease_generation=lease_generation,
            provider_ref=provider_ref,
            next_poll_at=next_poll_at,
        )

    def resume_poll(self, worker_id: str, limit: int, max_claims: int) -> Json:
        """A worker takes parked jobs whose poll is due."""
        return self.sweep("resume_poll", min(limit, max_claims), worker_id=worker_id)

    def request_cancel(self, job: str) -> Json:
        """A client asks for a job to stop."""
        return self.attempt("request_cancel", job)

    def acknowledge_cancel(self, job: str, worker_id: str, lease_generation: int | None) -> Json:
        """A holder that was asked to stop has stopped."""
        return self.attempt("acknowledge_cancel", job, worker_id=worker_id, lease_generation=lease_generation)

    def recover(self, limit: int) -> Json:
        """Take jobs away from holders whose lease is over."""
        return self.sweep("recover", limit)

    def expire_overdue(self, limit: int) -> Json:
        """End jobs that nobody can take any more."""
        return self.sweep("expire_overdue", limit)

    def release(self, job: str, worker_id: str, lease_generation: int | None) -> Json:
        """A worker hands a job back."""
        return self.attempt("release", job, worker_id=worker_id, lease_generation=lease_generation)
