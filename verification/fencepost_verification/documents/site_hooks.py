"""What mkdocs calls while it builds the site: adds the page of measured figures, and the decisions to the navigation.

Named by path in ``mkdocs.yml``. The page of measured figures exists in the built site only, so that no run changes a
file that the repository keeps.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from fencepost_verification.documents.pages import measured_page
from fencepost_verification.documents.site import read_measurements

DECISIONS = "decisions"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add a tab for the decisions, where there are any: the records in the order of their file names."""
    folder = Path(config.docs_dir) / DECISIONS
    records = sorted(path.name for path in folder.glob("*.md")) if folder.is_dir() else []
    navigation = cast(list[Any] | None, config["nav"])
    if records and navigation is not None:
        overview = [name for name in records if name in ("index.md", "README.md")]
        pages = [*overview, *(name for name in records if name not in overview)]
        navigation.append({"Decisions": [f"{DECISIONS}/{name}" for name in pages]})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page of what the last run measured."""
    text = measured_page(read_measurements(Path(config.config_file_path).parent))
    files.append(File.generated(config, "reference/measured.md", content=text))
    return files
