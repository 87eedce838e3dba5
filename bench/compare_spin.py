"""Our explorer against SPIN's exact breadth-first search: the same world, in one run, on one core.

    python bench/compare_spin.py [WORLD ...] [--rounds N] [--json]

SPIN's time is that of its search alone; what spin and gcc take to build it is shown beside it. Ours is the whole search
from the contract on, tabulation and all invariants included, in this process after the imports. Rounds alternate. The
number of states must agree, else the comparison is worth nothing and the run fails. Where SPIN or gcc is missing the
comparison is skipped and says so (``apt-get install spin gcc``).
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from fencepost_model.machines.job_worlds import WORLDS
from fencepost_model.worlds import World
from fencepost_verification.explore.world import explore
from fencepost_verification.export.promela import promela


def build(world: World, folder: Path) -> float:
    """Write, generate and compile SPIN's search of a world; seconds it took."""
    started = time.perf_counter()
    (folder / "world.pml").write_text(promela(world))
    # Without -o2 SPIN leaves out variables that no guard reads; our statements read them, so they count here.
    subprocess.run(["spin", "-o2", "-a", "world.pml"], cwd=folder, check=True, capture_output=True)
    options = ["-O2", "-w", "-DBFS", "-DSAFETY", "-DNOREDUCE", "-DMEMLIM=8000"]
    subprocess.run(["gcc", *options, "-o", "pan", "pan.c"], cwd=folder, check=True, capture_output=True)
    return time.perf_counter() - started


def search(folder: Path) -> tuple[int, float, float]:
    """Run SPIN's search: states stored, seconds, megabytes."""
    started = time.perf_counter()
    told = subprocess.run(["./pan", "-w24"], cwd=folder, check=True, capture_output=True, text=True).stdout
    seconds = time.perf_counter() - started
    if "errors: 0" not in told:
        raise SystemExit(f"SPIN reports an error:\n{told}")
    stored = re.search(r"^\s*(\d+) states, stored", told, re.MULTILINE)
    memory = re.search(r"([\d.]+)\s+total actual memory usage", told)
    if stored is None or memory is None:
        raise SystemExit(f"SPIN's report is not as expected:\n{told}")
    return int(stored.group(1)), seconds, float(memory.group(1))


def compare(world: World, rounds: int) -> dict[str, object]:
    """The medians of both searches over so many alternating rounds."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        building = build(world, folder)
        ours: list[float] = []
        theirs: list[float] = []
        states = megabytes = peak = 0.0
        for _ in range(rounds):
            found = explore(world)
            ours.append(found.seconds)
            states, seconds, megabytes = search(folder)
            theirs.append(seconds)
            peak = found.peak_memory / 2**20
            if states != found.states:
                raise SystemExit(f"{world.name}: SPIN stores {states:,.0f} states, we find {found.states:,}")
    mine, spin = statistics.median(ours), statistics.median(theirs)
    return {
        "world": world.name,
        "states": int(states),
        "rounds": rounds,
        "fencepost": {"seconds": round(mine, 3), "states_per_second": round(states / mine), "peak_mib": round(peak)},
        "spin": {
            "seconds": round(spin, 3),
            "states_per_second": round(states / spin),
            "memory_mib": round(megabytes),
            "build_seconds": round(building, 2),
        },
        "ratio": round(spin / mine, 2),
    }


def main() -> None:
    """Compare the worlds named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    by_name = {world.name: world for world in WORLDS if not world.legacy}
    parser.add_argument("worlds", nargs="*", default=["job-large"], help=f"one of {', '.join(by_name)}")
    parser.add_argument("--rounds", type=int, default=3, help="alternating rounds, the median counts (3)")
    parser.add_argument("--json", action="store_true", help="one JSON object a world")
    chosen = parser.parse_args()
    for name in chosen.worlds:
        if name not in by_name:
            parser.error(f"{name!r} cannot be compared; choose one of {', '.join(by_name)}")
    missing = [tool for tool in ("spin", "gcc") if shutil.which(tool) is None]
    if missing:
        print(f"skipped: {' and '.join(missing)} not on this machine (apt-get install spin gcc)")
        return
    for name in chosen.worlds:
        result = compare(by_name[name], chosen.rounds)
        if chosen.json:
            print(json.dumps(result))
            continue
        mine, spin = result["fencepost"], result["spin"]
        assert isinstance(mine, dict)
        assert isinstance(spin, dict)
        print(f"{name}: {result['states']:,} states, equal in both")
        rate, spent = mine["states_per_second"], mine["seconds"]
        print(f"  fencepost  {rate:>11,} states/s  {spent:>7} s  peak {mine['peak_mib']} MiB")
        rate, spent = spin["states_per_second"], spin["seconds"]
        built = f"(and {spin['build_seconds']} s to build)"
        print(f"  SPIN BFS   {rate:>11,} states/s  {spent:>7} s  {spin['memory_mib']} MiB  {built}")
        print(f"  ratio {result['ratio']}")


if __name__ == "__main__":
    main()
