"""One whole run: from a target to a report.

A run tours each scope in turn with a fresh harness, gathers what went right and wrong in one ledger, and judges every
clause in the end. It never raises for what a harness does; a harness at fault ends the run with one sentence, and the
verdict is unknown unless something was refuted before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from fencepost_model.contract import Contract, transition_name
from fencepost_model.terms import NULL, FieldOf, Setting, TruthTerm, walk
from fencepost_verification.conformance.capabilities import (
    INJECTED_CLOCK,
    INSPECT,
    LOAD_LEGACY,
    Capability,
    UnknownCapability,
    lacking,
)
from fencepost_verification.conformance.connect import Session, Target
from fencepost_verification.conformance.plan import Plan, planned
from fencepost_verification.conformance.protocol import Description, HarnessFault
from fencepost_verification.conformance.report import ConformanceReport, ScopeReport
from fencepost_verification.conformance.scope import SCOPES, Scope
from fencepost_verification.conformance.tour import Judge, NotSupported, Tour
from fencepost_verification.conformance.verdict import (
    CLOCK,
    LOAD,
    RESET,
    Finding,
    Ledger,
    clauses_of,
    judged,
)

Progress = Callable[[str, int, int], None]
"""Told which scope is toured, how many edges and refusals of it are done, and how many there are."""


def run_conformance(
    target: Target,
    *,
    scopes: Sequence[Scope] = SCOPES,
    progress: Progress | None = None,
    enough: Callable[[Finding], bool] | None = None,
) -> ConformanceReport:
    """Judge an implementation against the contract of the scopes (all of one contract).

    ``enough`` may end the run at a finding (an offender is caught by its first). Raises ``TargetError`` when the
    implementation cannot be started at all; whatever it does after that is in the report.
    """
    began = time.perf_counter()
    for scope in scopes:
        if scope.world.contract is not scopes[0].world.contract:
            raise ValueError(
                f"scope {scope.name!r} is about another contract than {scopes[0].name!r}; run it by itself"
            )
    run = _Run(target, scopes, progress, enough)
    fault = ""
    if scopes:
        try:
            run.execute()
        except (HarnessFault, UnknownCapability) as trouble:
            fault = str(trouble)
    described = run.description
    return ConformanceReport(
        target=target.name,
        name=described.name if described else "",
        version=described.version if described else "",
        latitude=dict(described.latitude) if described else {},
        scopes=tuple(
            ScopeReport(scope.name, scope.world.meaning, tour.edges, tour.refusals, tour.judge.counts)
            for scope, tour in run.tours
        ),
        clauses=tuple(judged(scopes[0].world.contract, run.ledger, run.unreached)) if scopes else (),
        skips=run.skips,
        fault=fault,
        seconds=time.perf_counter() - began,
    )


class _Run:
    """A run under way: what is known so far, should the harness fail."""

    def __init__(
        self,
        target: Target,
        scopes: Sequence[Scope],
        progress: Progress | None,
        enough: Callable[[Finding], bool] | None,
    ) -> None:
        self.ledger = Ledger()
        self.tours: list[tuple[Scope, Tour]] = []
        self.skips: dict[str, str] = {}
        self.unreached: dict[str, str] = {}
        self.description: Description | None = None
        self._discovered: list[Capability] = []
        self._target = target
        self._scopes = scopes
        self._progress = progress
        self._enough = enough

    def execute(self) -> None:
        """Tour every scope: scout them all, then cover them all.

        An operation that the harness turns out not to support is lacking like a capability that is not declared: the
        run begins again without it.
        """
        with Session(self._target, self._scopes[0].world.contract) as session:
            self.description = session.description
            while True:
                try:
                    self._execute(session)
                    return
                except NotSupported as lacked:
                    self._leave_out(lacked)

    def _leave_out(self, lacked: NotSupported) -> None:
        """Note what the harness does not support. Raises ``HarnessFault`` when nothing can be judged without it."""
        operations = {operation.name for operation in self._scopes[0].world.contract.operations}
        known = {capability.name for capability in self._discovered}
        if lacked.what not in operations | {LOAD} or lacked.what in known:
            raise HarnessFault(
                f"The harness does not support {lacked.what!r} ({lacked.reason}): without it nothing can be judged."
            )
        sentence = f"The harness says: {lacked.reason}"
        if lacked.what == LOAD:
            self._discovered.append(Capability(LOAD_LEGACY.name, sentence))
        else:
            self._discovered.append(Capability(lacked.what, sentence, operations=frozenset({lacked.what})))
        self.ledger = Ledger()
        self.tours = []

    def _execute(self, session: Session) -> None:
        for scope in self._scopes:
            lacked = (*lacking(scope.capabilities, session.description.capabilities), *self._discovered)
            self.skips |= {capability.name: capability.sentence for capability in lacked}
            self.unreached |= _unreached(scope, lacked)
            if INJECTED_CLOCK not in lacked:
                self.tours.append((scope, self._tour(scope, lacked, session)))
        for _, tour in self.tours:
            if not self._done():
                tour.scout()
        for _, tour in self.tours:
            if not self._done():
                tour.cover()

    def _tour(self, scope: Scope, lacked: Sequence[Capability], session: Session) -> Tour:
        judge = Judge(session, planned(scope, lacked), self.ledger, session.description.capabilities)

        def told(done: int, total: int) -> None:
            if self._progress is not None:
                self._progress(scope.name, done, total)

        return Tour(judge, progress=told, enough=self._enough)

    def _done(self) -> bool:
        return self._enough is not None and any(self._enough(finding) for finding in self.ledger.findings)


def _unreached(scope: Scope, lacked: Sequence[Capability]) -> dict[str, str]:
    """The clauses that a scope would exercise with all capabilities, and does not without these; and why."""
    if not lacked:
        return {}
    names = frozenset(capability.name for capability in lacked)
    gone = exercised_by(planned(scope)) - exercised_by(planned(scope, lacked))
    reasons: dict[str, str] = {}
    for clause in (clause.name for clause in clauses_of(scope.world.contract)):
        if clause not in gone and not any(_operation_of(clause) in c.operations for c in lacked):
            continue
        closest = [c for c in lacked if _bears_on(c, clause, scope.world.contract)]
        reasons[clause] = "needs " + " or ".join(_named(c, scope) for c in closest or lacked)
    for statement in scope.world.contract.step_properties:
        uncalled = [c for c in lacked if statement.of in c.operations]
        if uncalled:
            reasons[statement.name] = "needs " + " or ".join(_named(c, scope) for c in uncalled)
    if INSPECT.name in names:
        reasons |= dict.fromkeys((CLOCK, LOAD, RESET), f"needs {INSPECT.name}")
    if INJECTED_CLOCK.name in names:
        everything = [clause.name for clause in clauses_of(scope.world.contract)]
        reasons |= dict.fromkeys(everything, f"needs {INJECTED_CLOCK.name}")
    return reasons


def _named(capability: Capability, scope: Scope) -> str:
    """The name of a capability; with the harness's own words where it turned out only in the run to be lacking."""
    return capability.name if capability in scope.capabilities else f"{capability.name} ({capability.sentence})"


def _bears_on(capability: Capability, clause: str, contract: Contract) -> bool:
    """Whether the lack of a capability by itself can keep a run from a clause.

    That is so when the clause belongs to an operation that is then not called, when it reads a setting that is then
    held at one value, or when it reads a field that only such operations set.
    """
    if capability.name == LOAD_LEGACY.name and clause == LOAD:
        return True
    if _operation_of(clause) in capability.operations or clause in capability.guards:
        return True
    read = [part for term in _terms_of(clause, contract) for part in walk(term)]
    if any(isinstance(part, Setting) and part.name in capability.settings for part in read):
        return True
    setters: dict[str, set[str]] = {}
    for operation, case in contract.transitions():
        for assignment in case.effect:
            if assignment.value != NULL:
                setters.setdefault(assignment.field.name, set()).add(operation.name)
    fields = {part.name for part in read if isinstance(part, FieldOf)}
    return any(setters.get(name, set()) and setters[name] <= capability.operations for name in fields)


def _terms_of(clause: str, contract: Contract) -> list[TruthTerm]:
    """The conditions that a guard or transition consists of."""
    terms: list[TruthTerm] = []
    for operation, case in contract.transitions():
        if transition_name(operation, case) == clause:
            terms += [guard.term for guard in (*operation.guards, *case.when) if not guard.name.startswith("not_")]
    for operation in contract.operations:
        terms += [guard.term for guard in operation.guards if f"{operation.name}.{guard.name}" == clause]
    return terms


def _operation_of(clause: str) -> str:
    """The operation that a guard or transition belongs to; another clause's own name."""
    return clause.partition(".")[0].partition("/")[0]


def exercised_by(plan: Plan) -> frozenset[str]:
    """The names of the clauses that a tour of a plan comes to: transitions, guards, and what every store owes."""
    transitions = {edge[3] if edge[1] is not None else CLOCK for edge in plan.edges}
    guards = {f"{probe.operation}.{guard}" for _, probe, false in plan.refusals for guard in false}
    existing = {plan.states[number].rows[0][0]["status"] is not None for number in plan.initial}
    return frozenset(transitions | guards | ({LOAD, RESET} if True in existing else {RESET}))


def alone_in(plan: Plan) -> frozenset[str]:
    """The guards that are the only one in the way of some call of a plan."""
    return frozenset(
        f"{probe.operation}.{guard}" for _, probe, false in plan.refusals if len(false) == 1 for guard in false
    )
