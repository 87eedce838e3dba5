"""What mkdocs calls while it builds the site: it completes the navigation, and adds the page of measured figures.

Which chapters, further pages and decisions there are is read off the disk, so that no list of them has to be kept.
Named by path in ``mkdocs.yml``. The page of measured figures exists in the built site only, so that no run changes a
file that the repository keeps.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from fencepost_verification.documents.pages import APPENDICES, measured_page
from fencepost_verification.documents.site import read_measurements

DECISIONS, REFERENCE = "decisions", "reference"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add to the navigation what is on disk: the chapters, the pages across them, the records of decisions."""
    navigation = cast(list[Any] | None, config["nav"])
    if navigation is not None:
        docs = Path(config.docs_dir)
        for title, pages in (
            ("Chapters", chapters(docs)),
            ("Across the chapters", appendices(docs)),
            ("Decisions", decisions(docs)),
        ):
            if pages:
                navigation.append({title: pages})
    return config


def chapters(docs: Path) -> list[Any]:
    """For each chapter beside the main one its pages, in the order in which the overview lists the chapters."""
    overview = docs / REFERENCE / "index.md"
    listed = (
        re.findall(r"\]\(([^/()]+)/index\.md\)", overview.read_text(encoding="utf-8")) if overview.is_file() else []
    )
    found: list[Any] = []
    for name in dict.fromkeys(listed):
        index = docs / REFERENCE / name / "index.md"
        if not index.is_file():
            continue
        text = index.read_text(encoding="utf-8")
        heading = re.search(r"^# (.*)$", text, re.MULTILINE)
        # The pages of a chapter stand in the order in which its own overview tells of them.
        told = [page for page in re.findall(r"\]\(([^/()#]+\.md)\)", text) if (index.parent / page).is_file()]
        pages = [f"{REFERENCE}/{name}/{page}" for page in dict.fromkeys(("index.md", *told))]
        found.append({heading.group(1) if heading is not None else name: pages})
    return found


def appendices(docs: Path) -> list[Any]:
    """The pages that are about all chapters, or about none, in their order."""
    return [f"{REFERENCE}/{name}" for name in APPENDICES if (docs / REFERENCE / name).is_file()]


def decisions(docs: Path) -> list[Any]:
    """The records of decisions in the order of their file names, the overview first."""
    records = sorted(path.name for path in (docs / DECISIONS).glob("*.md"))
    first = [name for name in records if name in ("index.md", "README.md")]
    return [f"{DECISIONS}/{name}" for name in (*first, *(name for name in records if name not in first))]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page of what the last run measured."""
    text = measured_page(read_measurements(Path(config.config_file_path).parent))
    files.append(File.generated(config, "reference/measured.md", content=text))
    return files
