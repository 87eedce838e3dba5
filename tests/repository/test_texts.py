"""No text of the repository depends on where packages come from or on the machine where it was written."""

import re
from pathlib import Path

# Joined here, so that this file does not contain what it looks for.
REGISTRY_HOSTS = [
    ".".join(labels)
    for labels in (
        ("pypi", "org"),
        ("files", "pythonhosted", "org"),
        ("registry", "npmjs", "org"),
        ("deb", "debian", "org"),
    )
]
# Only at the start of a path: the last part of an address or of a relative path is no folder of a machine.
MACHINE_PATHS = re.compile(r"(?<![\w./:})\]-])(?:/(?:work|root)/|/tmp/(?:probe)\b|/home/[A-Za-z_])")


def lines_matching(pattern: re.Pattern[str], files: list[Path], repository: Path) -> list[str]:
    found: list[str] = []
    for path in files:
        content = path.read_bytes()
        if b"\0" in content:
            continue
        for number, line in enumerate(content.decode("utf-8", errors="replace").splitlines(), start=1):
            if pattern.search(line):
                found.append(f"{path.relative_to(repository)}:{number}: {line.strip()[:120]}")
    return found


def test_no_text_names_a_package_registry(repository: Path, project_files: list[Path]) -> None:
    hosts = re.compile("|".join(re.escape(host) for host in REGISTRY_HOSTS))
    assert lines_matching(hosts, project_files, repository) == []


def test_no_text_names_a_folder_of_one_machine(repository: Path, project_files: list[Path]) -> None:
    assert lines_matching(MACHINE_PATHS, project_files, repository) == []
