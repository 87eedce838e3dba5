"""Offenders made by program from any contract: the model in memory, with one guard that it does not look at.

They are what the suite is tried on for a contract that comes without offenders of its own. A guard is dropped only
where some call of the tour is refused by it alone; dropping another would change nothing that can be seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from fencepost_verification.conformance.harness import Harness
from fencepost_verification.conformance.offenders.catalogue import Offender
from fencepost_verification.conformance.offenders.mutations import edited, without_guards
from fencepost_verification.conformance.plan import planned
from fencepost_verification.conformance.reference import model_of
from fencepost_verification.conformance.run import alone_in
from fencepost_verification.conformance.scope import Scope


def dropped_guards(scopes: Sequence[Scope]) -> tuple[Offender, ...]:
    """For each guard that is ever the only one in the way, an implementation of the contract that lacks it."""
    contract = scopes[0].world.contract
    alone = frozenset[str]().union(*(alone_in(planned(scope)) for scope in scopes))

    def wrong(operation: str, guard: str, name: str) -> Harness:
        return model_of(edited(contract, without_guards(operation, guard)), name)()

    found: list[Offender] = []
    for operation in contract.operations:
        for guard in operation.guards:
            clause = f"{operation.name}.{guard.name}"
            if clause in alone:
                name = f"{operation.name}_without_{guard.name}"
                fault = f"{operation.name} does not ask whether {guard.name}: {guard.why}"
                found.append(Offender(name, fault, (clause,), partial(wrong, operation.name, guard.name, name)))
    return tuple(found)
