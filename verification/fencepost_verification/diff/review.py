"""The review of a contract change: structure, behaviour, statements and offenders, in one report with one exit code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from fencepost_model.worlds import World
from fencepost_verification.diff import behaviour, offenders, statements, structure
from fencepost_verification.diff.behaviour import Behaviour, Difference, Kind
from fencepost_verification.diff.offenders import Escapes, Told
from fencepost_verification.diff.sources import Source
from fencepost_verification.diff.statements import Fate, Judged
from fencepost_verification.diff.structure import Change, How
from fencepost_verification.evidence import EXIT_HELD, EXIT_REFUTED, EXIT_UNKNOWN, Refuted

SIGNS = {How.ADDED: "+", How.REMOVED: "-", How.CHANGED: "~", Kind.ADDED: "+", Kind.REMOVED: "-", Kind.CHANGED: "~"}
COLOURS = {"+": "green", "-": "red", "~": "yellow"}
NOT_LOOKED_AT = "not looked at; --offenders does, and takes longer"


@dataclass(frozen=True)
class Review:
    """What differs between two contracts. ``escapes`` is None when offenders were not looked at."""

    old: str
    new: str
    changes: tuple[Change, ...]
    behaviour: Behaviour
    statements: tuple[Judged, ...]
    escapes: Escapes | None = None
    remarks: tuple[str, ...] = ()

    def of(self, *fates: Fate) -> tuple[Judged, ...]:
        """The statements that met one of these fates."""
        return tuple(one for one in self.statements if one.fate in fates)

    @property
    def unknown(self) -> tuple[str, ...]:
        """One sentence for each thing that was not established."""
        told = [*self.behaviour.unknown, *(f"{one.name}: {one.reason}" for one in self.of(Fate.UNKNOWN))]
        if self.escapes is not None and self.escapes.not_tried:
            told.append(f"offenders were not tried: {self.escapes.not_tried}")
        return tuple(told)

    @property
    def exit_code(self) -> int:
        """1 when behaviours differ, a statement falls or rises or an offender escapes; else 3 when one is unknown."""
        escaped = self.escapes is not None and self.escapes.escaped
        if self.behaviour.differences or self.of(Fate.FALLS, Fate.RISES) or escaped:
            return EXIT_REFUTED
        return EXIT_UNKNOWN if self.unknown else EXIT_HELD

    def as_json(self) -> dict[str, Any]:
        """The report as JSON values; runs are spelled as everywhere else."""
        told: dict[str, Any] = {
            "old": self.old,
            "new": self.new,
            "structure": [change.as_json() for change in self.changes],
            "behaviour": {kind.name.lower(): [_difference(d) for d in self.behaviour.of(kind)] for kind in Kind}
            | {"worlds": {walk.world: {"joint": walk.joint, "alone": walk.alone} for walk in self.behaviour.walks}},
            "statements": {
                fate.name.lower(): [_judged(one) for one in self.of(fate)] for fate in Fate if fate is not Fate.STAYS
            }
            | {"stays": [one.name for one in self.of(Fate.STAYS)]},
            "offenders": NOT_LOOKED_AT,
            "unknown": list(self.unknown),
            "remarks": list(self.remarks),
            "exit_code": self.exit_code,
        }
        if self.escapes is not None:
            escaped = [
                {"name": one.offender, "fault": one.fault, "reason": one.reason, "harmless": one.harmless}
                for one in self.escapes.escaped
            ]
            told["offenders"] = {"tried": self.escapes.tried, "escaped": escaped}
        return told

    # -- for people ----------------------------------------------------------------------------------------------------

    def __rich__(self) -> RenderableType:
        return Group(*self.lines())

    def lines(self) -> Iterator[Text]:
        """The report, line by line."""
        yield Text(f"{self.old} -> {self.new}", style="bold")
        yield from self._structure()
        yield from self._behaviour()
        yield from self._statements()
        yield from self._offenders()
        for sentence in (*self.remarks, *self.unknown):
            yield Text(f"note: {sentence}", style="yellow")

    def _structure(self) -> Iterator[Text]:
        shown = [change for change in self.changes if change.how is not How.REWORDED]
        yield _title("Structure", "" if shown else "the same")
        for change in shown:
            name = f"{change.kind} {change.name}" + (f", {change.aspect}" if change.aspect else "")
            both = f"{change.before} -> {change.after}" if change.how is How.CHANGED else change.before or change.after
            yield _signed(SIGNS[change.how], f"{name}: {both}" if both else name)
        reworded = [f"{change.kind} {change.name}" for change in self.changes if change.how is How.REWORDED]
        if reworded:
            yield Text(f"  reworded: {', '.join(reworded)}")

    def _behaviour(self) -> Iterator[Text]:
        found = self.behaviour
        if found.same_text:
            yield _title("Behaviour", "the same: machines and operations are equal")
            return
        walked = "; ".join(f"{w.joint:,} pairs of states of {w.world}" for w in found.walks if w.joint)
        none = "" if found.differences or not walked else "no difference"
        yield _title("Behaviour", ", ".join(part for part in (none, walked and f"walked {walked}") if part))
        for one in found.differences:
            what = f"{one.name} ends differently" if one.kind is Kind.CHANGED else one.name
            yield _signed(SIGNS[one.kind], f"{what} ({one.steps:,} steps)")
            yield Text(f"      run: {one.trace}")
            if one.ends:
                yield Text(f"      {one.otherwise}")
            else:
                yield Text(f"      {'the old one' if one.kind is Kind.ADDED else 'the new one'}: {one.otherwise}")
            rest = [name for name in one.fields if name not in one.ends]
            if rest:
                yield Text(f"      in other runs also: {', '.join(rest)}")

    def _statements(self) -> Iterator[Text]:
        yield _title("Statements", "")
        for fate, sign in ((Fate.FALLS, "-"), (Fate.RISES, "+")):
            for one in self.of(fate):
                whose = "" if one.of == "both" else f" (as the {one.of} contract has it)"
                yield _signed(sign, f"{one.kind} {one.name}{whose} {fate.value}: {one.meaning}")
                verdict = one.new if fate is Fate.FALLS else one.old
                if isinstance(verdict, Refuted):
                    run = f"run: {verdict.trace}" if verdict.trace is not None else verdict.reason
                    yield Text(f"      {run}")
                yield Text(f"      fails: {', '.join(one.obligations)}")
        for whose in ("old", "new"):
            unsaid = [f"{one.kind} {one.name}" for one in self.of(Fate.UNSAID) if one.of == whose]
            if unsaid:
                yield Text(f"  ? speak of what only the {whose} contract has: {', '.join(unsaid)}")
        for one in self.of(Fate.FALSE):
            yield Text(f"  ? {one.kind} {one.name} of the {one.of} contract is true of neither")
        yield Text(f"  {len(self.of(Fate.STAYS)):,} hold of both")

    def _offenders(self) -> Iterator[Text]:
        if self.escapes is None:
            yield _title("Offenders", NOT_LOOKED_AT)
            return
        caught = self.escapes.tried - len(self.escapes.escaped)
        yield _title("Offenders", f"{caught:,} of {self.escapes.tried:,} caught on the new contract")
        for one in self.escapes.escaped:
            yield _signed(
                "-", f"{one.offender} ({one.fault}) {'is harmless' if one.harmless else 'escapes'}: {one.reason}"
            )


def _title(title: str, told: str) -> Text:
    return Text.assemble((title, "bold"), f": {told}" if told else "")


def _signed(sign: str, told: str) -> Text:
    return Text.assemble("  ", (sign, COLOURS[sign]), f" {told}")


def _difference(one: Difference) -> dict[str, Any]:
    told: dict[str, Any] = {"transition": one.transition, "run": str(one.trace), "world": one.world, "steps": one.steps}
    if one.becomes:
        told |= {"becomes": one.becomes, "fields": list(one.fields)}
        told["ends"] = {name: list(values) for name, values in one.ends.items()}
    return told | {"otherwise": one.otherwise}


def _judged(one: Judged) -> dict[str, Any]:
    told: dict[str, Any] = {"name": one.name, "kind": one.kind, "of": one.of, "reason": one.reason}
    if one.obligations:
        told["obligations"] = list(one.obligations)
    if one.trace is not None:
        told["run"] = str(one.trace)
    return told


def review(
    old: Source,
    new: Source,
    *,
    with_offenders: bool = False,
    progress: Told = lambda stage, done, total: None,
) -> Review:
    """Compare two contracts. ``progress`` is told what is looked at, how much of it is done and how much there is."""
    remarks = [*old.remarks, *new.remarks]
    progress("reading", 0, 3)
    found = structure.changes(old.contract, new.contract)
    progress("walking both in step", 1, 3)
    bases = _bases(old, new)
    names = {world.name for world in bases}
    remarks += [
        f"world {w.name} of {old.name} was not walked: {new.name} lacks it"
        for w in old.small_worlds
        if w.name not in names
    ]
    donors = (*new.small_worlds, *new.worlds, *old.small_worlds, *old.worlds)
    behaved = behaviour.compared(old.contract, new.contract, bases, donors)
    progress("proving the statements of each on the other", 2, 3)
    said = statements.judged(old.contract, new.contract)
    escaped = offenders.escapes(old.chapter, new.chapter, progress) if with_offenders else None
    return Review(old.name, new.name, found, behaved, said, escaped, tuple(dict.fromkeys(remarks)))


def _bases(old: Source, new: Source) -> Sequence[World]:
    """The small worlds that are walked: those of the new side, or of the old one where it has none."""
    for worlds in (new.small_worlds, old.small_worlds, new.worlds, old.worlds):
        if worlds:
            return worlds
    return ()
