"""The site: stale pages are named, every link leads somewhere, and nothing is fetched from elsewhere."""

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from tests.verification.documents.small_book import OTHER, book

from fencepost_model.contract import Contract
from fencepost_model.shapes import Guard
from fencepost_model.terms import AnyOf, AtMost, Less
from fencepost_verification.documents import site
from fencepost_verification.documents.evidence_input import Evidence
from fencepost_verification.documents.site import Fault

REFERENCE = Path("docs/reference")


@pytest.fixture
def root(site_root: Path, tmp_path: Path) -> Path:
    """A folder with the generated pages, to be spoiled."""
    shutil.copytree(site_root / REFERENCE, tmp_path / REFERENCE)
    return tmp_path


# --- freshness --------------------------------------------------------------------------------------------------------


def test_what_was_written_is_fresh(root: Path, evidence: Evidence) -> None:
    assert site.check(root, book(evidence)) == []
    assert site.write(root, book(evidence)) == []


def test_writing_starts_from_nothing(tmp_path: Path, root: Path, evidence: Evidence) -> None:
    empty = tmp_path / "empty"
    written = site.write(empty, book(evidence))
    pages = [path for path in (root / REFERENCE).rglob("*") if path.is_file()]
    assert sorted(written) == sorted(path.relative_to(root).as_posix() for path in pages)
    for name in written:
        assert (empty / name).read_text() == (root / name).read_text()


def with_guard(contract: Contract, operation: str, change: Callable[[Guard], Guard]) -> Contract:
    """The contract with the guards of one operation changed."""
    operations = tuple(
        replace(each, guards=tuple(change(guard) for guard in each.guards)) if each.name == operation else each
        for each in contract.operations
    )
    return replace(contract, operations=operations, checked=False)


def test_a_boundary_that_was_moved_makes_its_page_stale(root: Path, evidence: Evidence, contract: Contract) -> None:
    """``<=`` to ``<`` in the guard of recovery."""

    def strictly(guard: Guard) -> Guard:
        if guard.name != "lease_over":
            return guard
        assert isinstance(guard.term, AnyOf)
        parts = tuple(Less(p.left, p.right) if isinstance(p, AtMost) else p for p in guard.term.parts)
        return replace(guard, term=AnyOf(parts))

    mutant = with_guard(contract, "recover", strictly)
    assert mutant != contract
    stale = site.check(root, book(replace(evidence, contract=mutant)))
    (job,) = [each for each in stale if each.path == "docs/reference/job.md"]
    assert job.fault is Fault.DIFFERS
    told = str(job)
    assert "docs/reference/job.md is not what the model yields: run `fencepost-verify documents`" in told
    (before, after) = ([line for line in job.difference if line.startswith(sign)][-1] for sign in ("-", "+"))
    assert "null or at or before now" in re.sub(r"<[^>]+>", "", before)
    assert "null or earlier than now" in re.sub(r"<[^>]+>", "", after)


def test_only_the_pages_that_tell_a_change_are_stale(root: Path, evidence: Evidence, contract: Contract) -> None:
    first = replace(contract.invariants[0], meaning="Something else holds.")
    changed = replace(contract, invariants=(first, *contract.invariants[1:]))
    stale = {each.path for each in site.check(root, book(replace(evidence, contract=changed)))}
    assert "docs/reference/invariants.md" in stale
    assert "docs/reference/vocabulary.md" not in stale
    assert "docs/reference/job.svg" not in stale


def test_a_status_that_was_added_makes_the_diagram_stale(root: Path, evidence: Evidence, contract: Contract) -> None:
    machine = contract.root
    statuses = tuple(replace(s, terminal=False) if s.name == "expired" else s for s in machine.statuses)
    changed = replace(contract, machines=(replace(machine, statuses=statuses), *contract.machines[1:]), checked=False)
    assert "docs/reference/job.svg" in {
        each.path for each in site.check(root, book(replace(evidence, contract=changed)))
    }


def test_pages_edited_by_hand_are_stale_and_written_anew(root: Path, evidence: Evidence) -> None:
    names = ["job.md", "job.svg", "protocol.schema.json", "runs.md"]
    for name in names:
        path = root / REFERENCE / name
        path.write_text(path.read_text().replace("pending", "pendant").replace("object", "abject"))
    stale = site.check(root, book(evidence))
    assert sorted(each.path for each in stale) == [f"docs/reference/{name}" for name in names]
    for each in stale:
        assert each.fault is Fault.DIFFERS
        assert each.difference
    assert sorted(site.write(root, book(evidence))) == [f"docs/reference/{name}" for name in names]
    assert site.check(root, book(evidence)) == []


def test_pages_that_are_gone_are_missed(root: Path, evidence: Evidence) -> None:
    names = ["job.svg", "settings.md"]
    for name in names:
        (root / REFERENCE / name).unlink()
    stale = sorted(((each.path, each.fault) for each in site.check(root, book(evidence))), key=lambda pair: pair[0])
    assert stale == [(f"docs/reference/{name}", Fault.MISSING) for name in names]


def test_a_page_that_nothing_yields_is_reported(root: Path, evidence: Evidence) -> None:
    (root / REFERENCE / "notes.md").write_text("# By hand\n")
    (root / REFERENCE / "old.md").write_text((root / REFERENCE / "token.md").read_text())
    stale = site.check(root, book(evidence))
    assert {(each.path, each.fault) for each in stale} == {
        ("docs/reference/notes.md", Fault.UNKNOWN),
        ("docs/reference/old.md", Fault.UNKNOWN),
    }
    assert all("remove it" in str(each) for each in stale)
    # Writing removes what an earlier run generated, and never what somebody wrote.
    assert site.write(root, book(evidence)) == ["docs/reference/old.md"]
    assert (root / REFERENCE / "notes.md").exists()


# --- the built site ---------------------------------------------------------------------------------------------------


class Links(HTMLParser):
    """What a page links to, what it loads, and the anchors that it has."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.anchors.add(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "link" and given.get("rel") not in ("canonical", "next", "prev"):
            self.loads.append(given["href"])
        for name in ("src", "srcset", "data", "poster"):
            if name in given and tag != "a":
                self.loads.append(given[name])
        if tag in ("image", "use") and "href" in given:
            self.loads.append(given["href"])


@pytest.fixture(scope="module")
def pages(built_site: Path) -> dict[Path, Links]:
    found: dict[Path, Links] = {}
    for path in sorted(built_site.rglob("*.html")):
        reader = Links()
        reader.feed(path.read_text(encoding="utf-8"))
        found[path.resolve()] = reader
    return found


def test_the_site_has_every_page(built_site: Path, contract: Contract) -> None:
    for name in ("index", "why", "reading", "architecture", "reference/index", "reference/runs", "reference/measured"):
        assert (built_site / f"{name}.html").is_file()
    for machine in contract.machines:
        assert (built_site / "reference" / f"{machine.name}.html").is_file()
    for machine in OTHER.contract.machines:
        page = (built_site / "reference" / OTHER.contract.name / f"{machine.name}.html").read_text(encoding="utf-8")
        assert page.count('class="fp-machine"') == 1


def test_every_link_leads_to_a_page_and_an_anchor_of_the_site(built_site: Path, pages: dict[Path, Links]) -> None:
    broken: list[str] = []
    count = 0
    for path, page in pages.items():
        if path.name == "404.html":  # served for any address, hence with absolute links
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            count += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            anchor = unquote(parts.fragment)
            if not target.is_file() or (anchor and target in pages and anchor not in pages[target].anchors):
                broken.append(f"{path.relative_to(built_site.resolve())}: {link}")
    assert count > 500
    assert broken == []


def test_nothing_is_loaded_from_elsewhere(built_site: Path, pages: dict[Path, Links]) -> None:
    assert pages
    loaded = {load for page in pages.values() for load in page.loads}
    assert len(loaded) > 3
    assert [load for load in loaded if urlsplit(load).scheme not in ("", "data") or load.startswith("//")] == []
    for style in built_site.rglob("*.css"):
        outside = re.findall(r"url\(['\"]?(?:https?:)?//[^)]*\)|@import[^;]*//[^;]*", style.read_text(encoding="utf-8"))
        assert outside == [], style


def test_everything_that_a_page_loads_is_there(built_site: Path, pages: dict[Path, Links]) -> None:
    missing = [
        f"{path.name}: {load}"
        for path, page in pages.items()
        for load in page.loads
        if path.name != "404.html" and not load.startswith("data:")
        if not (path.parent / unquote(urlsplit(load).path)).is_file()
    ]
    assert missing == []


def test_the_search_works_without_a_server(built_site: Path) -> None:
    index = (built_site / "search" / "search_index.js").read_text(encoding="utf-8")
    assert "lease_alive" in index
    assert (built_site / "javascripts" / "iframe-worker.js").is_file()


def test_drawings_stay_out_of_the_search(built_site: Path) -> None:
    index = (built_site / "search" / "search_index.json").read_text(encoding="utf-8")
    assert "forbidden:" not in index


def test_what_was_measured_is_in_the_built_site_alone(built_site: Path, site_root: Path) -> None:
    assert "1.23 s" in (built_site / "reference" / "measured.html").read_text(encoding="utf-8")
    assert not (site_root / REFERENCE / "measured.md").exists()


def test_chapters_and_appendices_are_in_the_navigation(built_site: Path, evidence: Evidence) -> None:
    for name in book(evidence).appendices:
        text = (built_site / "reference" / name).with_suffix(".html").read_text(encoding="utf-8")
        assert "Across the chapters" in text
        assert "md-tabs__item--active" in text
    text = (built_site / "reference" / OTHER.contract.name / "evidence.html").read_text(encoding="utf-8")
    assert OTHER.title in text
    assert "md-tabs__item--active" in text


def test_the_decisions_are_in_the_navigation(built_site: Path, site_root: Path) -> None:
    records = sorted((site_root / "docs" / "decisions").glob("*.md"))
    assert records
    text = (built_site / "index.html").read_text(encoding="utf-8")
    assert "Decisions" in text
    for record in records:
        assert (built_site / "decisions" / record.with_suffix(".html").name).is_file()


def test_parts_of_pages_are_no_pages_of_their_own(built_site: Path) -> None:
    assert not list((built_site / "reference").glob("*.svg"))
    assert not (built_site / "reference" / "example-guard.html").exists()
