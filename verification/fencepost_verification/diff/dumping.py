"""A script that writes a contract as JSON, run beside the records of another revision or in the folder of a file.

``python -P dumping.py SERIAL TREE ANSWER chapter NAME`` writes the chapter of that name of the model in ``TREE``;
``... file PATH NAME`` what the Python file defines under that name. ``SERIAL`` is our ``fencepost_model/serial.py``:
the tree's own may be older, or missing. ``ANSWER`` is a file that holds afterwards the chapter or the contract, or
``{"fault": SENTENCE}``. Whatever the loaded modules print goes where they print it.

It imports nothing of ours by name, and of the tree only what defines its records: an older revision knows neither
chapters nor this package.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import pkgutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, cast


class Fault(Exception):
    """What was asked for is not there; the message is one sentence."""


@dataclass(frozen=True)
class Gathered:
    """A contract with its worlds, as a chapter has them, of a revision that knows no chapters."""

    title: str
    meaning: str
    contract: Any
    worlds: tuple[Any, ...]
    small_worlds: tuple[Any, ...]


def module_of(path: Path, name: str) -> ModuleType:
    """A module that is loaded from a file under a name of its own."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise Fault(f"{path} is no Python file: name one that defines a Contract or a Chapter")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def is_a(thing: object, kind: str) -> bool:
    """Whether a thing is a record of the model of that class, of whichever revision."""
    return type(thing).__name__ == kind and type(thing).__module__.partition(".")[0] == "fencepost_model"


def chapter_of(name: str) -> Any:
    """The chapter of that name, or what its contract and worlds make up in a model that has no chapters yet."""
    if importlib.util.find_spec("fencepost_model.specification") is not None:
        chapters: dict[str, Any] = importlib.import_module("fencepost_model.specification").CHAPTERS
        if name not in chapters:
            raise Fault(f"it has no chapter {name!r}: use one of {', '.join(chapters)}")
        return chapters[name]
    failures: list[Exception] = []
    modules = list(all_modules(failures))
    contracts = [c for module in modules for c in vars(module).values() if is_a(c, "Contract")]
    for contract in contracts:
        if contract.name == name:
            found = {key: worlds for module in modules for key, worlds in world_lists(module, contract)}
            given = found.get("WORLDS", ()), found.get("SMALL_WORLDS", ())
            return Gathered(name, f"The contract {name}.", contract, *given)
    if failures:
        raise failures[0]
    known = ", ".join(sorted({contract.name for contract in contracts})) or "none"
    raise Fault(f"it has no contract {name!r}: use one of those that it has ({known})")


def all_modules(failures: list[Exception]) -> Iterator[ModuleType]:
    """Every module of the model in the tree that can be loaded; why others cannot is added to ``failures``."""
    package = importlib.import_module("fencepost_model")
    for found in pkgutil.walk_packages(package.__path__, "fencepost_model."):
        try:
            yield importlib.import_module(found.name)
        except Exception as failure:  # noqa: BLE001 - one contract can be compared though another one is broken
            failures.append(failure)


def world_lists(module: ModuleType, contract: object) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The lists of worlds of a contract that a module defines."""
    for key in ("WORLDS", "SMALL_WORLDS"):
        listed: object = vars(module).get(key)
        worlds = tuple(cast(Iterable[Any], listed)) if isinstance(listed, tuple) else ()
        if worlds and all(getattr(each, "contract", None) is contract for each in worlds):
            yield key, worlds


def thing_of(path: Path, name: str) -> Any:
    """What a Python file defines under a name."""
    if not path.is_file():
        raise Fault(f"there is no file {path}: name a Python file that defines a Contract or a Chapter")
    sys.path.insert(0, str(path.parent))
    found = vars(module_of(path, path.stem)).get(name)
    if found is None:
        raise Fault(f"{path.name} has no {name!r}: name a Chapter or a Contract that it defines")
    if not is_a(found, "Contract") and not is_a(found, "Chapter"):
        raise Fault(f"{name} of {path.name} is a {type(found).__name__}: name a Chapter or a Contract that it defines")
    return found


def main(serial: str, tree: str, answer: str, kind: str, *what: str) -> None:
    """Write what was asked for, or why it cannot be had."""
    sys.path.insert(0, tree)
    told: object
    try:
        written = module_of(Path(serial), "fencepost_serial")
        importlib.import_module("fencepost_model")
        found = chapter_of(what[0]) if kind == "chapter" else thing_of(Path(what[0]), what[1])
        told = written.dumped(found) if is_a(found, "Contract") else written.dumped_chapter(found)
    except Fault as fault:
        told = {"fault": str(fault)}
    except Exception as error:  # noqa: BLE001 - somebody else's module may raise anything; it is told, not hidden
        told = {"fault": f"it cannot be loaded ({type(error).__name__}: {error}): mend it"}
    Path(answer).write_text(json.dumps(told), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
