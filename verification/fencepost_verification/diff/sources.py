"""Where the two contracts of a comparison come from: a revision, an importable name, or a Python file.

A revision and a file are loaded in a process of their own, so that neither meets the modules of this one: the records
of an older revision are not ours, and two files may have one name. What comes back is JSON
(``fencepost_model.serial``), of which records of *this* revision are built. An importable name is what every other
command means by it.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from fencepost_model import serial
from fencepost_model.contract import Contract, IllFormedContract
from fencepost_model.specification import Chapter
from fencepost_model.worlds import World
from fencepost_verification.catalogue import NoSuchChapter, chapter_named
from fencepost_verification.diff import dumping

MODEL = "model"
"""The folder of a revision that holds the package ``fencepost_model``."""

PATIENCE = 120
"""Seconds that loading a contract may take."""


class NoSource(LookupError):
    """A side of the comparison cannot be had; the message is one sentence that says why."""


@dataclass(frozen=True)
class Source:
    """One side: what it was called by, its contract, and its worlds.

    ``remarks`` tell what was left aside when it was read.
    """

    name: str
    contract: Contract
    worlds: tuple[World, ...] = ()
    small_worlds: tuple[World, ...] = ()
    toured: tuple[World, ...] = ()
    remarks: tuple[str, ...] = ()

    @staticmethod
    def of(name: str, chapter: Chapter) -> Source:
        """A side that is a chapter of this process."""
        return Source(name, chapter.contract, chapter.worlds, chapter.small_worlds, chapter.toured)

    @property
    def chapter(self) -> Chapter:
        """The side as a chapter."""
        return Chapter(
            self.contract.name, f"As {self.name} has it.", self.contract, self.worlds, self.small_worlds, self.toured
        )


def source(name: str, chapter: str, where: Path | None = None) -> Source:
    """What a side is called by: ``path.py:NAME``, ``package.module:NAME``, or a revision (of which ``chapter``).

    Revisions are those of the repository around ``where``, by default the working directory. Raises ``NoSource``.
    """
    where = where or Path.cwd()
    left, colon, attribute = name.rpartition(":")
    if colon and left.endswith(".py"):
        return _file(name, where / left, attribute)
    if colon:
        try:
            return Source.of(name, chapter_named(name))
        except NoSuchChapter as unknown:
            raise NoSource(str(unknown)) from None
    return _revision(name, chapter, where)


def _file(name: str, path: Path, attribute: str) -> Source:
    with TemporaryDirectory() as folder:
        ours = Path(serial.__file__).parents[1]
        return _told(name, _dumped(name, ours, Path(folder), "file", str(path.resolve()), attribute))


def _revision(name: str, chapter: str, where: Path) -> Source:
    commit = _git(where, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if commit.returncode:
        told = f"{name!r} is no revision of the repository around {where}"
        raise NoSource(f"{told}: give one, or package.module:NAME, or path.py:NAME")
    archive = _git(where, "archive", "--format=tar", f"{commit.stdout.decode().strip()}:{MODEL}/")
    if archive.returncode:
        raise NoSource(f"revision {name!r} has no folder {MODEL!r}: give a revision of Fencepost")
    with TemporaryDirectory() as folder:
        tree = Path(folder) / MODEL
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as packed:
            packed.extractall(tree, filter="data")
        if not (tree / "fencepost_model").is_dir():
            raise NoSource(f"revision {name!r} has no package fencepost_model: give a revision of Fencepost")
        return _told(name, _dumped(name, tree, Path(folder), "chapter", chapter))


def _git(where: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        top = subprocess.run(
            ["git", "-C", str(where), "rev-parse", "--show-toplevel"], capture_output=True, check=False
        )
        # From the top: a path in a revision is meant from there.
        folder = top.stdout.decode().strip() or str(where)
        return subprocess.run(["git", "-C", folder, *arguments], capture_output=True, check=False)
    except FileNotFoundError:
        raise NoSource("a revision needs git, which is not there: install it, or name files") from None


def _dumped(name: str, tree: Path, folder: Path, *asked: str) -> serial.Json:
    answer = folder / "answer.json"
    # -P: the folder of the script holds modules of ours, which nobody who is loaded there may find.
    line = [sys.executable, "-P", "-B", dumping.__file__, serial.__file__, str(tree), str(answer), *asked]
    try:
        done = subprocess.run(line, capture_output=True, check=False, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        raise NoSource(
            f"{name} was not loaded within {PATIENCE} seconds: make its modules only define things"
        ) from None
    if not answer.exists():
        last = (done.stderr.decode(errors="replace").strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise NoSource(f"{name} cannot be loaded: {last}")
    told: serial.Json = json.loads(answer.read_text(encoding="utf-8"))
    if isinstance(told, dict) and "fault" in told:
        raise NoSource(f"{name}: {told['fault']}")
    return told


def _told(name: str, told: serial.Json) -> Source:
    """The side that was written elsewhere, in records of this revision."""
    assert isinstance(told, dict)
    lists = {key: value for key in serial.WORLDS if isinstance(value := told.get(key), list)}
    remarks: list[str] = []
    written = told["contract"] if told.get(serial.CLASS) != "Contract" else told
    try:
        contract = serial.rebuilt_contract(written)
    except IllFormedContract as fault:
        contract = serial.rebuilt_contract(written, checked=False)
        remarks.append(f"{name} is ill-formed by the rules of this revision: {fault}")
    except serial.NotSerial as fault:
        raise NoSource(f"{name} cannot be read: {fault}") from None
    found: dict[str, list[World]] = {key: [] for key in serial.WORLDS}
    for key, worlds in lists.items():
        for world in worlds:
            try:
                found[key].append(serial.rebuilt_world(world, contract))
            except ValueError as fault:
                remarks.append(f"a world of {name} cannot be read: {fault}")
    all_of_it, small, toured = (tuple(found[key]) for key in serial.WORLDS)
    return Source(name, contract, all_of_it, small, toured, tuple(dict.fromkeys(remarks)))
