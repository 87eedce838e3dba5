"""The templates of the pages and pictures: where they lie, and the marks they may use."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template, select_autoescape

TEMPLATES = Path(__file__).with_name("templates")


@cache
def environment() -> Environment:
    """The environment of all templates: a name that is not given is an error, SVG is escaped, Markdown is not."""
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        autoescape=select_autoescape(enabled_extensions=("svg.j2",), default=False),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def template(name: str) -> Template:
    """The template of that file name."""
    return environment().get_template(name)
