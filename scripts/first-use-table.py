#!/usr/bin/env python3
"""Prints how long the phases of runs took until the first verified result, as markdown.

    scripts/first-use-table.py MODE-RANKS-TURN.json...

Files are what gpurun writes by --timing -J. A cell is the median of all turns, in milliseconds on the critical path;
behind the times of results stand the fastest and the slowest turn. Phases that never take a millisecond are left out.
"""

import json
import os
import re
import statistics
import sys

LAST = "verify first call"  # the phase that ends with the first verified result


def main(paths):
    runs = {}
    for path in paths:
        name = re.fullmatch(r"(\w+)-(\d+)-(\d+)\.json", os.path.basename(path))
        if not name:
            raise SystemExit(f"{path}: a file is called MODE-RANKS-TURN.json")
        with open(path) as file:
            report = json.load(file)
        if report.get("passed"):
            runs.setdefault((int(name[2]), name[1]), []).append(report["timing"])
    for ranks in sorted({ranks for ranks, _ in runs}):
        table(ranks, {mode: timings for (n, mode), timings in runs.items() if n == ranks})


def table(ranks, modes):
    """Prints a row for each phase, and a column for each mode."""
    print(f"### {ranks} {'rank' if ranks == 1 else 'ranks'}, ms\n")
    print("| phase | " + " | ".join(modes) + " |")
    print("|" + "---|" * (len(modes) + 1))
    for phase in until_verified(modes):
        cells = [statistics.median(on_path(t, phase) for t in timings) for timings in modes.values()]
        if max(cells) >= 1:
            print(f"| {phase} | " + " | ".join(f"{cell:.0f}" for cell in cells) + " |")
    for title, key in (("first verified result", "first_verified_ms"), ("whole run", "total_ms")):
        print(f"| {title} | " + " | ".join(spread([t[key] for t in timings]) for timings in modes.values()) + " |")
    print()


def until_verified(modes):
    """The phases in their order, up to the one that ends with the first verified result."""
    phases = []
    for timings in modes.values():
        for timing in timings:
            for row in timing["path"]:
                if row["phase"] not in phases:
                    phases.append(row["phase"])
    return phases[: phases.index(LAST) + 1] if LAST in phases else phases


def on_path(timing, phase):
    return sum(row["path_ms"] for row in timing["path"] if row["phase"] == phase)


def spread(values):
    return f"{statistics.median(values):.0f} ({min(values):.0f} to {max(values):.0f})"


if __name__ == "__main__":
    main(sys.argv[1:])
