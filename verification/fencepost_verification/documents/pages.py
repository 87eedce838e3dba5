"""The generated pages: what each of them shows of a contract and its evidence, worked out for the templates.

Each page is a pure function of the evidence, so that a page can be compared with the one on disk. Nothing here knows
any machine by name: whatever contract is given, its pages have the same build.

Pages hold raw HTML where Markdown has no word for it (cards, drawings). The links in there are those of the built site,
in which ``reference/job.md`` is ``reference/job.html``; the test of the site follows every one of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from fencepost_model.case_order import is_in_order, negations_of_earlier
from fencepost_model.contract import transition_name
from fencepost_model.semantics import conditions
from fencepost_model.shapes import (
    Actor,
    Assignment,
    Case,
    ForEach,
    Guard,
    Invariant,
    Machine,
    Operation,
    Selection,
    Sort,
    StepProperty,
    Variable,
    Witness,
)
from fencepost_model.terms import Setting, Term, TruthTerm, ValueTerm, walk
from fencepost_model.vocabulary import EXTENSIONS, SHARED_COLUMNS, VOCABULARY, StandardField
from fencepost_verification.documents.diagrams import NOWHERE, Arrow, arrows, dot_text
from fencepost_verification.documents.evidence_input import Evidence, Measurement
from fencepost_verification.documents.markup import block, capital, escaped, inline, named, prose
from fencepost_verification.documents.swimlanes import Focus, swimlane
from fencepost_verification.documents.templating import template
from fencepost_verification.documents.wording import Speech, clause, each_of, in_words, value_in_words
from fencepost_verification.evidence import Held, Refuted, Trace, Unknown, Verdict
from fencepost_verification.explore.necessity import Conjunct, Finding, Necessary, Redundant

COMMAND = "fencepost-verify documents"
FOLDER = "docs/reference"
APPENDICES: Mapping[str, str] = {
    "words.md": "every status, operation, error code and field, with the page that explains it",
    "vocabulary.md": "the standard field names and what else they are called",
    "profiles.md": "the ten queues, their tables, words and numbers, and how they speak the contract",
    "errors.md": "how a code is classified, and which patterns overlap",
    "timing.md": "the bounds of time, each proved with the counterexample just beyond it",
    "latitude.md": "where implementations may differ, and how a run tells",
    "refinements.md": "which contracts do only what another allows, and which columns an update must repeat",
    "liveness.md": "who has to be fair for everything to come to an end",
    "findings.md": "what is missing or contradictory in the sources, each with evidence",
    "decisions.md": "where the sources are silent or disagree, and what the contract says there",
    "ledger.md": "how each statement is proved, and which mistakes it notices",
}
"""What the further pages of the book are about, by file name, in the order in which the overview lists them."""
MOST_CHOICES = 8
"""A property that takes more words than this is told by their number."""

WHO: Mapping[Actor, str] = {
    Actor.CLIENT: "a client, which hands in work and may ask for it to stop",
    Actor.CLAIMER: "a worker that asks for work",
    Actor.HOLDER: "a worker that acts under the token of a claim",
    Actor.SYSTEM: "any live component, in its rounds of recovery and expiry",
    Actor.CLOCK: "nobody: time passes",
}
SORTS: Mapping[Sort, str] = {
    Sort.WORD: "a word",
    Sort.COUNT: "a count",
    Sort.INSTANT: "an instant",
    Sort.DURATION: "seconds",
    Sort.IDENTITY: "an identity",
    Sort.TEXT: "a text",
    Sort.FLAG: "a flag",
}


@dataclass(frozen=True, slots=True)
class Badge:
    """A verdict in a word, with the class that colours it."""

    word: str
    kind: str


def badge_of(verdict: Verdict) -> Badge:
    """How a verdict is marked: unknown is never green."""
    match verdict:
        case Held():
            return Badge("held", "good")
        case Refuted():
            return Badge("refuted", "bad")
        case Unknown():
            return Badge("unknown", "open")


def ground_of(verdict: Verdict) -> str:
    """On what a verdict rests."""
    return verdict.how if isinstance(verdict, Held) else verdict.reason


# --- conjuncts --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ConjunctView:
    """A guard, or a condition of a case: its reading, its reason, and what happens without it."""

    anchor: str
    name: str
    clause: str
    why: str
    reading: str
    badge: Badge
    without: str
    picture: str


def anchor_of(conjunct: Conjunct) -> str:
    """Where a conjunct stands on its machine's page."""
    return str(conjunct).replace("/", ".")


class Pages:
    """The pages of one contract with its evidence.

    ``chapters`` are the other chapters of the book and ``appendices`` the names of its further pages, which the
    overview then lists; ``up`` leads from these pages to those.
    """

    def __init__(
        self, evidence: Evidence, chapters: Sequence[Evidence] = (), appendices: Sequence[str] = (), up: str = ""
    ) -> None:
        self._evidence = evidence
        self._up = up
        self._chapters = chapters
        self._appendices = appendices
        self._contract = evidence.contract
        statements: tuple[Invariant | StepProperty, ...] = (
            *self._contract.invariants,
            *self._contract.step_properties,
        )
        self._statements = {statement.name: statement for statement in statements}
        self._arrows = {machine.name: tuple(arrows(self._contract, machine)) for machine in self._contract.machines}
        self._machine_of = {o.name: o.subject.machine for o in self._contract.operations}

    # -- all of them ---------------------------------------------------------------------------------------------------

    def files(self) -> dict[str, str]:
        """Every generated file but the diagrams: its name in the folder, and its text."""
        pages = self.chapter_files()
        pages.update(self._examples())
        schema = self._evidence.protocol_schema
        pages["protocol.md"] = self._render(
            "protocol.md.j2", capabilities=self._evidence.capabilities, **protocol(schema)
        )
        if schema is not None:
            noted = {"$comment": f"Generated by {COMMAND}. Do not edit.", **schema}
            pages["protocol.schema.json"] = json.dumps(noted, indent=2, ensure_ascii=False) + "\n"
        return pages

    def word_files(self) -> dict[str, str]:
        """The pages about the words of this contract: the vocabulary (the appendices have the others)."""
        return {"vocabulary.md": self._render("vocabulary.md.j2", **self._vocabulary())}

    def chapter_files(self) -> dict[str, str]:
        """The files that are about this contract alone: its machines, runs, statements, settings and evidence."""
        pages = {"index.md": self._render("index.md.j2", **self._overview())}
        for machine in self._contract.machines:
            pages[f"{machine.name}.md"] = self._render("machine.md.j2", **self._machine(machine))
        pages["runs.md"] = self._render("runs.md.j2", operations=self._runs())
        pages["invariants.md"] = self._render("invariants.md.j2", **self._statement_page())
        pages["settings.md"] = self._render("settings.md.j2", **self._settings())
        pages["evidence.md"] = self._render("evidence.md.j2", **self._figures())
        return pages

    def diagrams(self) -> dict[str, tuple[str, str]]:
        """For each machine with statuses, the name of its drawing, the text for Graphviz and the drawing's title."""
        return {
            f"{machine.name}.svg": (dot_text(self._contract, machine, partial(_transition, machine)), machine.name)
            for machine in self._contract.machines
            if machine.statuses
        }

    def _render(self, name: str, **context: Any) -> str:
        # A drawing is taken in by its path from the top, whatever page takes it in.
        places = {"up": self._up, "folder": f"{self._contract.name}/" if self._up else ""}
        return tidy(template(name).render(command=COMMAND, contract=self._contract, **places, **MARKS, **context))

    # -- machines ------------------------------------------------------------------------------------------------------

    def _overview(self) -> dict[str, Any]:
        return {
            "title": self._evidence.title,
            "meaning": self._evidence.meaning,
            "is_main": self._evidence.protocol_schema is not None,
            "chapters": self._chapters,
            "appendices": [(name, title) for name, title in APPENDICES.items() if name in self._appendices],
            "operations": [
                {
                    "name": operation.name,
                    "machine": operation.subject.machine,
                    "actor": operation.actor.value,
                    "meaning": operation.meaning,
                    "ways": self._ways(operation),
                }
                for operation in self._contract.operations
            ],
        }

    def _machine(self, machine: Machine) -> dict[str, Any]:
        operations = [o for o in self._contract.operations if o.subject.machine == machine.name]
        standard = {field.name: field for field in (*VOCABULARY, *EXTENSIONS)}
        return {
            "machine": machine,
            "children": self._contract.children_of(machine.name),
            "statuses": [
                self._status_row(machine, status.name, machine.table[status.name]) for status in machine.statuses
            ],
            "revivals": [self._status_row(machine, status, row) for status, row in machine.revivals.items()],
            "fields": [
                {
                    "field": field,
                    "sort": SORTS[field.sort],
                    "aliases": standard[field.name].aliases if field.name in standard else (),
                    "kind": "ghost" if field.ghost else "extension" if field.extension else "",
                }
                for field in machine.fields
            ],
            "legacy_rows": machine.legacy_rows,
            "legacy": self._legacy(machine),
            "operations": [self._operation(operation) for operation in operations],
        }

    def _legacy(self, machine: Machine) -> str:
        if machine.legacy is None:
            return ""
        return block(clause(machine.legacy, Speech.about(self._contract, (Variable(machine.name, machine.name),))))

    def _status_row(self, machine: Machine, status: str, row: Sequence[str]) -> dict[str, Any]:
        drawn = [arrow for arrow in self._arrows[machine.name] if arrow.source == status]
        acts: list[dict[str, Any]] = []
        for name in row:
            targets = list(dict.fromkeys(arrow.target for arrow in drawn if arrow.operation.name == name))
            link = _section(machine, self._contract.operation(name))
            acts.append({"name": name, "link": link, "targets": targets, "stays": targets == [status]})
        declared = next(s for s in machine.statuses if s.name == status)
        return {"name": status, "meaning": declared.meaning, "terminal": declared.terminal, "acts": acts}

    def _ways(self, operation: Operation) -> list[tuple[str, list[str]]]:
        """From which statuses an operation leads to which."""
        ways: dict[str, list[str]] = {}
        for arrow in self._arrows[operation.subject.machine]:
            if arrow.operation is operation:
                targets = ways.setdefault(arrow.source, [])
                if arrow.target not in targets:
                    targets.append(arrow.target)
        return [(source, targets) for source, targets in ways.items() if source != NOWHERE] or [
            ("", targets) for targets in ways.values()
        ]

    def _operation(self, operation: Operation) -> dict[str, Any]:
        speech = Speech.about(self._contract, operation.over, operation.parameters, operation.subject.name)
        return {
            "operation": operation,
            "who": WHO[operation.actor],
            "is_sweep": operation.selection is Selection.SWEEP,
            "subject": operation.subject.machine,
            "ways": self._ways(operation),
            "parameters": [
                {
                    "parameter": parameter,
                    "sort": SORTS[parameter.sort],
                    "assumed": inline(in_words(parameter.assumed, speech)) if parameter.assumed is not None else "",
                }
                for parameter in operation.parameters
            ],
            "guards": [self._conjunct(operation, None, guard, speech) for guard in operation.guards],
            "cases": list(self._cases(operation, speech)),
            "runs": len(self._evidence.samples.get(operation.name, ())),
            "checks": list(self._checks(operation)),
        }

    def _conjunct(self, operation: Operation, case: Case | None, guard: Guard, speech: Speech) -> ConjunctView:
        conjunct = Conjunct(operation.name, case.name if case else None, guard.name)
        finding = self._evidence.necessity.get(conjunct)
        badge, without, picture = self._without(operation, case, guard, finding)
        reading = block(clause(guard.term, speech))
        return ConjunctView(anchor_of(conjunct), guard.name, guard.clause, guard.why, reading, badge, without, picture)

    def _without(
        self, operation: Operation, case: Case | None, guard: Guard, finding: Finding | None
    ) -> tuple[Badge, str, str]:
        match finding:
            case None:
                return Badge("not examined", "open"), "", ""
            case Necessary(_, statement, trace):
                known = self._statements.get(statement)
                note = f"breaks {statement}" + (f": {known.meaning}" if known is not None else "")
                focus = Focus((guard.term,), operation.over)
                title = f"A run without the guard {guard.name} of {operation.name}"
                picture = swimlane(trace, self._contract, title, focus, note)
                return Badge("necessary", "good"), f"Without it, {self._statement_link(statement)} breaks", picture
            case Redundant(_, implied_by):
                names = ", ".join(self._reason_link(operation, case, name) for name in implied_by)
                return Badge("redundant", "calm"), f"Implied by {names}, by proof. It stays as a second line.", ""
            case _:
                return Badge("unexplained", "open"), escaped(f"Not explained: {finding.reason}."), ""

    def _statement_link(self, name: str) -> str:
        if name not in self._statements:
            return named(name)
        return f'<a href="invariants.html#{name}">{named(name)}</a>'

    def _reason_link(self, operation: Operation, case: Case | None, name: str) -> str:
        """Where a name that implies a conjunct stands: a guard, a condition of the same case, or a statement."""
        if case is not None and name in {guard.name for guard in case.when}:
            return f'<a href="#{anchor_of(Conjunct(operation.name, case.name, name))}">{named(name)}</a>'
        if name in {guard.name for guard in operation.guards}:
            return f'<a href="#{anchor_of(Conjunct(operation.name, None, name))}">{named(name)}</a>'
        return self._statement_link(name)

    def _cases(self, operation: Operation, speech: Speech) -> Iterator[dict[str, Any]]:
        ordered = is_in_order(operation)
        for number, case in enumerate(operation.cases, start=1):
            earlier = negations_of_earlier(operation, case)
            own = [guard for guard in case.when if guard.name not in earlier]
            yield {
                "case": case,
                "name": transition_name(operation, case),
                "anchor": f"{operation.name}.{case.name}",
                "number": number if ordered and len(operation.cases) > 1 else None,
                "own": [self._conjunct(operation, case, guard, speech) for guard in own],
                "earlier": [
                    (self._conjunct(operation, case, guard, speech), earlier[guard.name])
                    for guard in case.when
                    if guard.name in earlier
                ],
                "effects": [
                    {
                        "field": inline(value_in_words(assignment.field, speech)),
                        "becomes": inline(value_in_words(assignment.value, speech)),
                        "ghost": self._is_ghost(operation.over, assignment),
                    }
                    for assignment in case.effect
                ],
                "also": [self._each(each, speech) for each in case.also],
            }

    def _each(self, each: ForEach, speech: Speech) -> dict[str, Any]:
        """What a case does to each of many."""
        inner = speech.of_each(each)
        return {
            "each": each,
            "whom": inline(each_of(each, speech)),
            "where": block(clause(each.where, inner)),
            "effects": [
                {
                    "field": inline(value_in_words(assignment.field, inner)),
                    "becomes": inline(value_in_words(assignment.value, inner)),
                    "ghost": self._is_ghost(each.over, assignment),
                }
                for assignment in each.effect
            ],
        }

    def _is_ghost(self, over: Sequence[Variable], assignment: Assignment) -> bool:
        machine = next(v.machine for v in over if v.name == assignment.field.entity)
        return self._contract.machine(machine).field_named(assignment.field.name).ghost

    def _checks(self, operation: Operation) -> Iterator[tuple[str, str]]:
        """What checks an operation, as pairs of a check and what it found."""
        names = {operation.name, *(transition_name(operation, case) for case in operation.cases)}
        proofs = [o.verdict for o in self._evidence.obligations if o.transition in names]
        if proofs:
            held = sum(isinstance(verdict, Held) for verdict in proofs)
            yield "Proof", f"{held:,} of {len(proofs):,} obligations held"
        for figures in self._evidence.worlds:
            edges = sum(figures.taken.get(name, 0) for name in names)
            missing = sorted(
                name
                for name in (transition_name(operation, case) for case in operation.cases)
                if not figures.taken.get(name)
            )
            without = f", never {', '.join(missing)}" if missing and edges else ""
            told = f"taken along {edges:,} edges{without}" if edges else "not taken"
            yield f"Exploration of {figures.world.name}", told
        for judged in self._evidence.conformance:
            if operation.name in judged.by_operation:
                walked, refused = judged.by_operation[operation.name]
                yield f"Conformance of {judged.implementation}", f"{walked} edges, {refused} refusals"
        offenders = [o for o in self._evidence.offenders if operation.name in o.operations]
        if offenders:
            caught = sum(o.caught_by is not None for o in offenders)
            yield "Offenders", f"{caught} of {len(offenders)} caught: {', '.join(o.name for o in offenders)}"

    # -- runs ----------------------------------------------------------------------------------------------------------

    def _runs(self) -> list[dict[str, Any]]:
        shown: list[dict[str, Any]] = []
        for operation in self._contract.operations:
            runs = self._evidence.samples.get(operation.name, ())
            if not runs:
                continue
            shown.append(
                {
                    "operation": operation,
                    "runs": [
                        {
                            "name": run.name,
                            "steps": str(run.trace),
                            "picture": swimlane(
                                run.trace, self._contract, f"A run: {run.name}", self._focus_on(run.trace)
                            ),
                        }
                        for run in runs
                    ],
                }
            )
        return shown

    def _examples(self) -> dict[str, str]:
        """For the page on how to read these pages: a run that ends in a refusal, and the guard that refused."""
        for operation in self._contract.operations:
            for run in self._evidence.samples.get(operation.name, ()):
                last = run.trace.steps[-1]
                lapse = any(step.before.now != step.after.now for step in run.trace.steps)
                guard = next((g for g in operation.guards if last.refused == frozenset((g.name,))), None)
                if guard is None or not lapse or last.transition != operation.name:
                    continue
                speech = Speech.about(self._contract, operation.over, operation.parameters)
                note = f"<!-- Generated by {COMMAND}. Do not edit. -->\n"
                picture = swimlane(run.trace, self._contract, f"A run: {run.name}", self._focus_on(run.trace))
                view = self._conjunct(operation, None, guard, speech)
                card = tidy(
                    template("example.html.j2").render(command=COMMAND, **MARKS, view=view, operation=operation)
                )
                return {"example-run.svg": note + picture, "example-guard.html": note + card}
        return {}

    def _focus_on(self, trace: Trace) -> Focus:
        """What a run's last step turns on: the guards that refused it."""
        last = trace.steps[-1]
        for operation in self._contract.operations:
            if last.refused and last.transition == operation.name:
                refusing = tuple(g.term for g in operation.guards if g.name in last.refused)
                return Focus(refusing, operation.over)
        return Focus((), ())

    # -- statements ----------------------------------------------------------------------------------------------------

    def _statement_page(self) -> dict[str, Any]:
        return {
            "invariants": [self._statement(s, s.statement) for s in self._contract.invariants],
            "step_properties": [self._statement(s, s.statement) for s in self._contract.step_properties],
            "progress": [
                {
                    "statement": progress,
                    "reading": block(clause(progress.live, Speech.about(self._contract, progress.over))),
                    "bound": [self._operation_link(name) for name in progress.bound],
                    "badge": badge_of(verdict := self._evidence.verdict_on(progress.name)),
                    "ground": ground_of(verdict),
                }
                for progress in self._contract.progress
            ],
            "witnesses": [self._witness(witness) for witness in self._contract.witnesses],
        }

    def _operation_link(self, name: str) -> str:
        return f'<a href="{self._machine_of[name]}.html#{name}">{named(name)}</a>'

    def _statement(self, statement: Invariant | StepProperty, term: TruthTerm) -> dict[str, Any]:
        verdict = self._evidence.verdict_on(statement.name)
        named_operation = statement.of if isinstance(statement, StepProperty) else None
        of = self._contract.operation(named_operation) if named_operation is not None else None
        picture = ""
        if isinstance(verdict, Refuted) and verdict.trace is not None:
            focus = Focus((term,), statement.over)
            picture = swimlane(verdict.trace, self._contract, f"A run that breaks {statement.name}", focus)
        return {
            "statement": statement,
            "about": inline(self._about(statement.over)),
            "by": statement.by.value if isinstance(statement, StepProperty) and statement.by is not None else "",
            "of": self._operation_link(of.name) if of is not None else "",
            "reading": block(clause(term, Speech.about(self._contract, statement.over, of.parameters if of else ()))),
            "badge": badge_of(verdict),
            "ground": ground_of(verdict),
            "picture": picture,
            "rests_on": [
                f'<a href="{self._machine_of[c.operation]}.html#{anchor_of(c)}">{named(str(c))}</a>'
                for c in self._evidence.resting_on(statement.name)
            ],
        }

    def _about(self, over: Sequence[Variable]) -> str:
        """For which entities a statement is made."""
        told: list[str] = []
        for number, variable in enumerate(over):
            if variable.of is None:
                told.append(f"every {variable.machine}")
            elif any(other.machine == variable.machine for other in over[:number]):
                told.append(f"every other {variable.machine} `{variable.name}` of it")
            else:
                told.append(f"every {variable.machine} of it")
        return "For " + " and ".join(told)

    def _witness(self, witness: Witness) -> dict[str, Any]:
        found = self._evidence.witness(witness.name)
        picture, where = "", ""
        if found is not None:
            where, trace = found
            focus = Focus((witness.statement,), witness.over)
            picture = swimlane(trace, self._contract, f"The shortest run to {witness.name}", focus)
        return {
            "witness": witness,
            "reading": block(clause(witness.statement, Speech.about(self._contract, witness.over))),
            "badge": Badge("reached", "good") if found else Badge("not shown", "open"),
            "where": where,
            "picture": picture,
        }

    # -- settings and vocabulary ---------------------------------------------------------------------------------------

    def _settings(self) -> dict[str, Any]:
        return {
            "settings": [
                {"setting": setting, "sort": SORTS[setting.sort], "default": shown_default(setting.default)}
                for setting in self._contract.settings
            ],
            "assumed": block(clause(self._contract.settings_assumed, Speech(self._contract, {}, {}))),
            "read_by": {
                setting.name: [
                    self._operation_link(operation.name)
                    for operation in self._contract.operations
                    if setting.name in settings_read(operation)
                ]
                for setting in self._contract.settings
            },
        }

    def _vocabulary(self) -> dict[str, Any]:
        where: dict[str, list[tuple[str, str]]] = {}
        for machine in self._contract.machines:
            for field in machine.fields:
                where.setdefault(field.name, []).append((machine.name, field.meaning))

        def rows(fields: Iterable[StandardField]) -> list[dict[str, Any]]:
            return [{"field": field, "sort": SORTS[field.sort], "where": where.get(field.name, [])} for field in fields]

        return {
            "standard": rows(VOCABULARY),
            "extensions": rows(EXTENSIONS),
            "shared": [sorted(pair) for pair in sorted(SHARED_COLUMNS, key=sorted)],
        }

    # -- figures -------------------------------------------------------------------------------------------------------

    def _figures(self) -> dict[str, Any]:
        evidence = self._evidence
        kinds: dict[str, list[Verdict]] = {}
        for obligation in evidence.obligations:
            kinds.setdefault(obligation.kind, []).append(obligation.verdict)
        findings = [evidence.necessity.get(conjunct) for conjunct in _all_conjuncts(evidence)]
        return {
            "kinds": [(kind, tally(verdicts)) for kind, verdicts in kinds.items()],
            "all_obligations": tally([o.verdict for o in evidence.obligations]),
            "open_obligations": [o for o in evidence.obligations if not isinstance(o.verdict, Held)],
            "worlds": [
                {
                    "figures": figures,
                    "badge": badge_of(figures.verdict),
                    "ground": ground_of(figures.verdict),
                    "settings": ", ".join(f"{k} {shown_default(v)}" for k, v in figures.world.settings.items()),
                }
                for figures in evidence.worlds
            ],
            "transitions": [
                (
                    operation.name,
                    self._machine_of[operation.name],
                    transition_name(operation, case),
                    [figures.taken.get(transition_name(operation, case), 0) for figures in evidence.worlds],
                )
                for operation, case in self._contract.transitions()
            ],
            "necessity": {
                "necessary": sum(isinstance(f, Necessary) for f in findings),
                "redundant": sum(isinstance(f, Redundant) for f in findings),
                "open": [
                    (c, self._machine_of[c.operation], anchor_of(c))
                    for c, f in zip(_all_conjuncts(evidence), findings, strict=True)
                    if not isinstance(f, Necessary | Redundant)
                ],
                "all": len(findings),
            },
            "conformance": [
                {"figures": judged, "badge": badge_of(judged.verdict), "ground": ground_of(judged.verdict)}
                for judged in evidence.conformance
            ],
            "offenders": evidence.offenders,
        }


def _all_conjuncts(evidence: Evidence) -> list[Conjunct]:
    return [
        Conjunct(operation.name, case.name if case else None, guard.name)
        for operation in evidence.contract.operations
        for case, guard in conditions(operation)
    ]


def tally(verdicts: Sequence[Verdict]) -> dict[str, int]:
    """How many verdicts there are of each kind."""
    return {
        "all": len(verdicts),
        "held": sum(isinstance(v, Held) for v in verdicts),
        "refuted": sum(isinstance(v, Refuted) for v in verdicts),
        "unknown": sum(isinstance(v, Unknown) for v in verdicts),
    }


def values_of(effect: Sequence[Assignment]) -> tuple[ValueTerm, ...]:
    """The values that an effect assigns."""
    return tuple(assignment.value for assignment in effect)


def _section(page: Machine, operation: Operation) -> str:
    """The address of an operation's section, seen from a machine's page."""
    machine = operation.subject.machine
    return f"#{operation.name}" if machine == page.name else f"{machine}.html#{operation.name}"


def _transition(page: Machine, arrow: Arrow) -> str:
    """The address of what an arrow stands for, seen from a page: a case, or the operation where it has just one."""
    section = _section(page, arrow.operation)
    return section if len(arrow.operation.cases) == 1 else f"{section}.{arrow.case.name}"


def settings_read(operation: Operation) -> frozenset[str]:
    """The settings that an operation's guards, conditions or effects read."""
    terms: list[Term] = [
        *(guard.term for _, guard in conditions(operation)),
        *(a.value for case in operation.cases for a in case.effect),
        *(term for case in operation.cases for each in case.also for term in (each.where, *values_of(each.effect))),
    ]
    return frozenset(part.name for term in terms for part in walk(term) if isinstance(part, Setting))


def shown_default(value: object) -> str:
    """A setting's value as people write it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


# --- protocol ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PropertyView:
    """A property of a message: its path, what it takes, whether it must be there."""

    name: str
    takes: str
    required: bool
    description: str


@dataclass(frozen=True)
class MessageView:
    """A message, and the shapes that its answer may have, each with what it means."""

    name: str
    description: str
    properties: tuple[PropertyView, ...]
    answers: tuple[tuple[str, str, tuple[PropertyView, ...]], ...]


def protocol(schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """What the page about the protocol shows of a JSON Schema: its messages, and the schema as text.

    A definition ``message.X`` is shown together with ``answer.X``, any other by itself.
    """
    if schema is None:
        return {"schema": "", "description": "", "messages": []}
    definitions: Mapping[str, Mapping[str, Any]] = schema.get("$defs", {})
    messages: list[MessageView] = []
    for name, definition in definitions.items():
        kind, _, rest = name.partition(".")
        if kind == "answer" and f"message.{rest}" in definitions:
            continue
        answer: Mapping[str, Any] = definitions.get(f"answer.{rest}", {}) if kind == "message" else {}
        alternatives: list[Mapping[str, Any]] = answer.get("oneOf", answer.get("anyOf", [answer] if answer else []))
        messages.append(
            MessageView(
                rest if kind == "message" else name,
                definition.get("description", ""),
                tuple(properties_of(definition)),
                tuple(
                    (shape_of(each), each.get("description", ""), tuple(properties_of(each))) for each in alternatives
                ),
            )
        )
    return {
        "schema": json.dumps(schema, indent=2, ensure_ascii=False),
        "description": schema.get("description", ""),
        "messages": messages,
    }


def properties_of(definition: Mapping[str, Any], prefix: str = "") -> Iterator[PropertyView]:
    """The properties of an object, those of objects within it under a dotted path."""
    for name, detail in definition.get("properties", {}).items():
        path = f"{prefix}{name}"
        yield PropertyView(
            path, shown_type(detail), name in definition.get("required", ()), detail.get("description", "")
        )
        yield from properties_of(detail, f"{path}.")
        items = detail.get("items")
        if isinstance(items, Mapping):
            yield from properties_of(cast(Mapping[str, Any], items), f"{path}[].")


def shape_of(definition: Mapping[str, Any]) -> str:
    """An object in one line: its properties, those that may be left out behind a question mark."""
    required = definition.get("required", ())
    parts = [
        f'"{name}"{"" if name in required else "?"}: {shown_type(detail)}'
        for name, detail in definition.get("properties", {}).items()
    ]
    return "{" + ", ".join(parts) + "}"


def shown_type(detail: Mapping[str, Any]) -> str:
    """What a property may be, in a few words."""
    if "const" in detail:
        return json.dumps(detail["const"])
    if "enum" in detail:
        choices = [json.dumps(choice) for choice in detail["enum"]]
        return " or ".join(choices) if len(choices) <= MOST_CHOICES else f"one of {len(choices)} words"
    if "$ref" in detail:
        return str(detail["$ref"]).rpartition("/")[2]
    for joint in ("oneOf", "anyOf"):
        if joint in detail:
            return " or ".join(dict.fromkeys(shown_type(choice) for choice in detail[joint]))
    kind: str | list[str] = detail.get("type", "anything")
    kinds = [kind] if isinstance(kind, str) else kind
    if kinds == ["array"]:
        items: Mapping[str, Any] = detail.get("items", {})
        spelt = 0 < len(items.get("properties", {})) <= MOST_CHOICES
        return f"list of {shape_of(items) if spelt else shown_type(items)}"
    return " or ".join(kinds)


# --- what was measured ------------------------------------------------------------------------------------------------


def measured_page(measurements: Sequence[Measurement]) -> str:
    """The page about what one build took; it is part of the built site only."""
    return tidy(template("measured.md.j2").render(measurements=measurements, command=COMMAND, **MARKS))


def figure(value: float) -> str:
    """A measured figure with as many digits as mean something."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


# --- text -------------------------------------------------------------------------------------------------------------


MARKS: Mapping[str, Callable[[Any], str]] = {
    "prose": prose,
    "capital": capital,
    "inline": inline,
    "named": named,
    "escaped": escaped,
    "figure": figure,
}
"""What the templates may call."""


def tidy(text: str) -> str:
    """A page without lines of blanks, and with one empty line at most between two others."""
    lines: list[str] = []
    for line in text.splitlines():
        stripped = line.rstrip()
        if stripped or (lines and lines[-1]):
            lines.append(stripped)
    return "\n".join(lines).strip() + "\n"
