"""The whole generated part of the site: the pages of the main chapter, a folder for each other chapter, the appendices.

The main chapter's pages stand at the top, where they have always stood, so that links to them last. A page of another
chapter has the same name in that chapter's folder. An appendix is a page about all chapters, or about none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fencepost_verification.documents.evidence_input import Evidence
from fencepost_verification.documents.pages import Pages


@dataclass(frozen=True)
class Book:
    """All generated files: ``main`` is the chapter at the top, ``appendices`` map file names to finished pages."""

    main: Evidence
    chapters: Sequence[Evidence] = ()
    appendices: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        names = [evidence.contract.name for evidence in (self.main, *self.chapters)]
        for name in sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"the book has two chapters called {name!r}; rename one of the contracts")

    def files(self) -> dict[str, str]:
        """Every generated file but the diagrams: its path in the folder, and its text."""
        found = Pages(self.main, self.chapters, tuple(self.appendices)).files()
        for evidence in self.chapters:
            for name, text in Pages(evidence, up="../").chapter_files().items():
                found[f"{evidence.contract.name}/{name}"] = text
        return {**found, **self.appendices}

    def diagrams(self) -> dict[str, tuple[str, str]]:
        """The path of each drawing, the text for Graphviz and the drawing's title."""
        found = Pages(self.main).diagrams()
        for evidence in self.chapters:
            for name, drawing in Pages(evidence).diagrams().items():
                found[f"{evidence.contract.name}/{name}"] = drawing
        return found
