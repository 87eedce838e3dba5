"""How an implementation is reached: as a class in this process, or as a program that speaks over its standard streams.

Both forms exchange the same messages as the same text, and are validated by the same codec, so that a harness that is
right in one form is right in the other.

A program is given a time limit for each answer. When it is silent, ends, or prints something that is no answer, the run
stops with one sentence that says what happened and what to mend; what it last wrote to standard error is quoted.
"""

from __future__ import annotations

import importlib
import json
import os
import queue
import shlex
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

from fencepost_model.contract import Contract
from fencepost_verification.conformance.harness import Harness, answer
from fencepost_verification.conformance.protocol import (
    VERSION,
    Answer,
    Codec,
    Describe,
    Description,
    Done,
    HarnessFault,
    Json,
    Message,
    Start,
    Stop,
    plain,
)

PATIENCE_SECONDS: Final = 10.0
"""How long a program may take for one answer."""

BUILT_IN: Final = {
    name: f"fencepost_verification.conformance.adapters:{name}" for name in ("memory", "sqlite", "postgresql")
}
"""The adapters that come with the suite, by name."""


class TargetError(ValueError):
    """The implementation that was named cannot be found or started; the message says what to write instead."""


class Transport(Protocol):
    """Carries one message to a harness and its answer back, as text."""

    def exchange(self, name: str, message: Json, text: str) -> str:
        """The answer to a message, which comes as an object and as text: one line of JSON.

        Raises ``HarnessFault`` when there is none.
        """
        ...

    def close(self) -> None:
        """Let go of the harness."""
        ...


# --- in process -------------------------------------------------------------------------------------------------------


class InProcess:
    """A harness that is a Python object."""

    def __init__(self, harness: Harness) -> None:
        self._harness = harness

    def exchange(self, name: str, message: Json, text: str) -> str:
        """The harness's answer as text, so that what JSON cannot carry is found here too."""
        given = answer(self._harness, message)
        try:
            return json.dumps(given, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise HarnessFault(
                f"The answer to {name.removeprefix('call.')!r} cannot be written as JSON ({error}): answer with "
                "numbers, strings, flags, nulls, lists and mappings, instants as seconds since the epoch."
            ) from None

    def close(self) -> None:
        """Nothing to do: ``stop`` closed the harness."""


# --- over standard streams --------------------------------------------------------------------------------------------


class Streams:
    """A harness that is a program: messages to its standard input, answers from its standard output, line by line."""

    def __init__(self, command: Sequence[str], patience: float = PATIENCE_SECONDS) -> None:
        self._command = list(command)
        self._patience = patience
        try:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
        except OSError as error:
            reason = error.strerror or str(error)
            raise TargetError(
                f"The command {shlex.join(self._command)!r} cannot be started ({reason}): give the path of a program "
                "that may be executed, with its arguments."
            ) from None
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._complaints: deque[str] = deque(maxlen=5)
        self._reader = threading.Thread(target=self._read_answers, daemon=True)
        self._listener = threading.Thread(target=self._read_complaints, daemon=True)
        self._reader.start()
        self._listener.start()

    def _read_answers(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _read_complaints(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            text = line.decode("utf-8", errors="replace").strip()
            if text:
                self._complaints.append(text)

    def exchange(self, name: str, message: Json, text: str) -> str:
        """Write a message, wait for a line."""
        spoken = name.removeprefix("call.")
        if not self._lines.empty():
            unasked = self._lines.get()
            if unasked is None:
                raise self._ended(f"before {spoken!r} was asked")
            raise HarnessFault(
                f"The harness wrote a line that nobody asked for before {spoken!r} ({_shown(unasked)}): write one line "
                "for each message, and everything else to standard error."
            )
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(text.encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise self._ended(f"before it could be asked {spoken!r}") from None
        try:
            line = self._lines.get(timeout=self._patience)
        except queue.Empty:
            raise HarnessFault(
                f"The harness did not answer {spoken!r} within {self._patience:g} seconds: write one line for each "
                "message and flush standard output after it."
            ) from None
        if line is None:
            raise self._ended(f"instead of answering {spoken!r}")
        try:
            return line.decode("utf-8").strip()
        except UnicodeDecodeError:
            raise HarnessFault(f"The answer to {spoken!r} is no UTF-8 ({_shown(line)}): write JSON in UTF-8.") from None

    def _ended(self, when: str) -> HarnessFault:
        try:
            status = self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            how = "closed its standard output"
        else:
            how = f"ended with status {status}" if status >= 0 else f"was ended by signal {-status}"
        self._listener.join(timeout=1)
        words = f" Its last words: {' | '.join(self._complaints)}" if self._complaints else ""
        return HarnessFault(
            f"The harness {how} {when}: keep reading messages until stop, and answer each of them.{words}"
        )

    @property
    def ended(self) -> bool:
        """Whether the program has ended."""
        return self._process.poll() is not None

    def close(self) -> None:
        """End the program: close its input, wait a moment, then insist."""
        if self._process.stdin is not None:
            with suppress(OSError):  # the program may have gone already
                self._process.stdin.close()
        try:
            self._process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(timeout=2)
        self._listener.join(timeout=2)
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()


def _shown(line: bytes) -> str:
    text = repr(line.strip())[1:]
    return text if len(text) <= 120 else text[:117] + "..."


# --- targets ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Adapter:
    """An implementation in this process: what makes its harness, and under which name it was asked for."""

    name: str
    factory: Callable[[], Harness]

    def open(self) -> Transport:
        """A fresh harness."""
        return InProcess(self.factory())


@dataclass(frozen=True)
class Command:
    """An implementation that is a program."""

    command: tuple[str, ...]
    patience: float = PATIENCE_SECONDS

    @property
    def name(self) -> str:
        """The command as typed."""
        return shlex.join(self.command)

    def open(self) -> Transport:
        """A fresh process. Raises ``TargetError`` when it cannot be started."""
        return Streams(self.command, self.patience)


Target: TypeAlias = Adapter | Command


def adapter(name: str) -> Adapter:
    """The implementation called ``memory``, ``sqlite``, ``postgresql`` or ``pkg.module:factory``.

    The factory is called without arguments and makes a ``Harness``; a class will do. The current folder is searched.
    Raises ``TargetError`` with what to write instead.
    """
    path = BUILT_IN.get(name, name)
    module_name, colon, attribute = path.partition(":")
    if not colon or not module_name or not attribute:
        raise TargetError(
            f"The adapter {name!r} is not known: give one of {', '.join(BUILT_IN)}, or package.module:factory."
        )
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise TargetError(
            f"The module {module_name!r} of the adapter cannot be imported ({error}): run from the folder it lies in, "
            "or install what it needs."
        ) from None
    except Exception as error:  # a stranger's module may raise anything
        raise TargetError(
            f"The module {module_name!r} of the adapter fails when it is imported ({_in_short(error)}): mend it first."
        ) from error
    factory: Any = getattr(module, attribute, None)
    if factory is None:
        raise TargetError(
            f"The module {module_name!r} has no {attribute!r}: give the name of a class or function in it."
        )
    if not callable(factory):
        raise TargetError(
            f"{path} is {factory!r}, which cannot be called: give a class or function that makes a Harness."
        )

    def made() -> Harness:
        try:
            harness = factory()
        except TargetError:
            raise
        except Exception as error:  # a stranger's factory may raise anything
            raise TargetError(f"{path} could not make a harness ({_in_short(error)}): mend it.") from error
        if not isinstance(harness, Harness):
            raise TargetError(
                f"{path} made {harness!r}, which is no Harness: derive it from "
                "fencepost_verification.conformance.harness.Harness or from Reference."
            )
        return harness

    return Adapter(name, made)


def _in_short(error: Exception) -> str:
    """An exception on one line; what a driver says may fill a screen."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= 200 else text[:197] + "..."


def command(line: str, patience: float = PATIENCE_SECONDS) -> Command:
    """The implementation that a command line starts. Raises ``TargetError`` when it is empty or cannot be read."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise TargetError(f"The command {line!r} cannot be read ({error}): mend its quotes.") from None
    if not words:
        raise TargetError("The command is empty: give the program that speaks the protocol, with its arguments.")
    if os.sep not in words[0] and (Path.cwd() / words[0]).is_file():
        words[0] = str(Path.cwd() / words[0])
    return Command(tuple(words), patience)


# --- sessions ---------------------------------------------------------------------------------------------------------


_CODECS: dict[int, Codec] = {}


def codec_of(contract: Contract) -> Codec:
    """The codec of a contract, made once: validators take a while to make, and remember what they have seen."""
    known = _CODECS.get(id(contract))
    if known is None or known.shapes.contract is not contract:
        known = _CODECS[id(contract)] = Codec(contract)
    return known


class Session:
    """One conversation with a harness, from ``start`` to ``stop``: records in, validated records out."""

    def __init__(self, target: Target, contract: Contract) -> None:
        """Start the harness and ask who it is. Raises ``TargetError`` or ``HarnessFault``."""
        self.codec = codec_of(contract)
        self.messages = 0
        self.last_message: Json = {}
        self.last_answer = ""
        """The latest message and its answer as they went over the wire, for transcripts."""
        self._transport = target.open()
        try:
            self._agree()
            described = self.ask(Describe())
            if not isinstance(described, Description):
                raise HarnessFault(f"The harness did not say who it is but {plain(described)}: answer 'describe'.")
            self.description = described
        except BaseException:
            self._transport.close()
            raise

    def _agree(self) -> None:
        name, wire, line = self.codec.encode(Start())
        text = self._transport.exchange(name, wire, line)
        started = self.codec.decode(name, text)
        spoken = json.loads(text).get("version")
        if not isinstance(started, Done) or spoken != VERSION:
            said = plain(started) if not isinstance(started, Done) else f"version {spoken}"
            raise HarnessFault(
                f"The harness answered 'start' for version {VERSION} of the protocol with {said}: speak version "
                f"{VERSION}, or use the suite that speaks yours."
            )

    def ask(self, message: Message) -> Answer:
        """The harness's answer. Raises ``HarnessFault`` when there is none or it is malformed."""
        name, wire, text = self.codec.encode(message)
        self.messages += 1
        self.last_message = wire
        self.last_answer = self._transport.exchange(name, wire, text)
        return self.codec.decode(name, self.last_answer)

    def close(self) -> None:
        """Say stop and let go; a harness that is gone already is no fault here."""
        try:
            self.ask(Stop())
        except HarnessFault:
            pass
        finally:
            self._transport.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
