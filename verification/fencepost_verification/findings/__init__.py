"""What the sources got wrong, found by program: gaps, the checks that show them, their evidence, and their report.

``find`` runs every check, ``as_json`` and ``as_table`` show what it found.
"""

from fencepost_verification.findings.catalogue import find
from fencepost_verification.findings.finding import Finding
from fencepost_verification.findings.report import as_json, as_table

__all__ = ["Finding", "as_json", "as_table", "find"]
