"""From the words of a contract to the marks of a page: names and words set off, nested conditions as nested lists."""

from __future__ import annotations

import html
import re

from fencepost_verification.documents.wording import Clause, Joint, Said, sentence

LONGEST_LINE = 96
"""A condition of more characters than this is set as a list."""

_MARKED = re.compile(r'`([^`]+)`|"((?:[^"\\]|\\.)*)"')
_NAMES_IN_PROSE = re.compile(r"(?<![\w/.-])([a-z][a-z0-9]*(?:_[a-z0-9]+)+|<= now|> now)(?![\w/-])")


def escaped(text: str) -> str:
    """Text that neither HTML nor Markdown reads as a mark."""
    plain = html.escape(text, quote=False)
    return re.sub(r"[*_`|\[\]\\]", lambda found: f"&#{ord(found.group())};", plain)


def named(name: str, kind: str = "fp-name") -> str:
    """A name as code."""
    return f'<code class="{kind}">{escaped(name)}</code>'


def inline(words: str) -> str:
    """A sentence of ``wording`` as HTML: names and literal words become code of two kinds."""
    shown: list[str] = []
    end = 0
    for found in _MARKED.finditer(words):
        shown.append(escaped(words[end : found.start()]))
        name, word = found.groups()
        shown.append(named(name) if name is not None else named(word or '""', "fp-word"))
        end = found.end()
    shown.append(escaped(words[end:]))
    return "".join(shown)


def prose(text: str) -> str:
    """A sentence that people wrote, as HTML: names with underscores become code."""
    shown: list[str] = []
    end = 0
    for found in _NAMES_IN_PROSE.finditer(text):
        shown.append(escaped(text[end : found.start()]))
        shown.append(named(found.group(1)))
        end = found.end()
    shown.append(escaped(text[end:]))
    return "".join(shown)


def capital(text: str) -> str:
    """A clause that people wrote without a capital, as a sentence of its own."""
    told = text[:1].upper() + text[1:]
    return told if told.endswith((".", "?", "!")) else f"{told}."


def block(clause: Clause) -> str:
    """A condition as HTML: one line where it is short and plain, nested lists where it is not."""
    if _fits(clause, depth=2):
        return f"<p>{inline(sentence(clause))}</p>"
    return _listed(clause)


def _fits(clause: Clause, depth: int) -> bool:
    """Whether a condition is read more easily on one line."""
    return isinstance(clause, Said) or (len(sentence(clause)) <= LONGEST_LINE and _depth(clause) <= depth)


def _depth(clause: Clause) -> int:
    return 0 if isinstance(clause, Said) else 1 + max((_depth(part) for part in clause.parts), default=0)


def _listed(clause: Clause) -> str:
    if isinstance(clause, Said):
        return f"<p>{inline(clause.text)}</p>"
    if clause.joint is Joint.IF:
        condition, consequence = clause.parts
        return _led("if", condition) + _led("then", consequence)
    lead = clause.lead if clause.joint is Joint.EACH else clause.joint.value
    items = (inline(sentence(part)) if _fits(part, depth=1) else _listed(part) for part in clause.parts)
    return f"<p>{inline(lead)}:</p><ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>"


def _led(word: str, part: Clause) -> str:
    """A word, and what it governs: beside it where that is short, else below it."""
    if _fits(part, depth=1):
        return f"<p>{word} {inline(sentence(part))}</p>"
    inner = _listed(part)
    return f"<p>{word} {inner.removeprefix('<p>')}"
