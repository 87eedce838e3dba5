"""The whole proof, from a cold process: what a person waits for, imports included.

    python bench/cold_proof.py [--rounds N] [--json]

The floor is the same interpreter importing z3 and nothing else, in the same run.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time

PROOF = "from fencepost_verification import catalogue; p = catalogue.proof(); print(p.count, len(p.held))"
FLOOR = "import z3; print(0, 0)"


def timed(program: str) -> tuple[float, int, int]:
    """Seconds that a fresh interpreter takes for a program, and the two counts that it prints."""
    started = time.perf_counter()
    told = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    seconds = time.perf_counter() - started
    obligations, held = told.split()
    return seconds, int(obligations), int(held)


def main() -> None:
    """Measure so many rounds, the two programs in turn; the median counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="rounds (5)")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    chosen = parser.parse_args()
    proofs: list[float] = []
    floors: list[float] = []
    obligations = held = 0
    for _ in range(chosen.rounds):
        seconds, obligations, held = timed(PROOF)
        proofs.append(seconds)
        floors.append(timed(FLOOR)[0])
    proof, floor = statistics.median(proofs), statistics.median(floors)
    if chosen.json:
        result = {"obligations": obligations, "held": held, "seconds": round(proof, 2), "import_z3": round(floor, 2)}
        print(json.dumps(result))
    else:
        print(f"{obligations:,} obligations, {held:,} held: {proof:.2f} s cold, of which import z3 {floor:.2f} s")


if __name__ == "__main__":
    main()
