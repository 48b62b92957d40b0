#!/usr/bin/env python3
"""Draws a baseline of collectives-merge.py as SVG: bus bandwidth over size, a panel a collective.

    scripts/collectives-plot.py baseline.json > plot.svg

Both axes are logarithmic. Of bfloat16 replayed from a graph, or, with "stream" behind the file,
launched, it shows the fastest of gpurun's algorithms, NCCL in the same process, and the fastest of
PyTorch's process group and symmetric memory. The same input gives the same bytes.
"""

import json
import math
import statistics
import sys

from drawing import INK, Axis, begin, rule, stroke, text, upwards

COLLECTIVES = ("allreduce", "allgather", "reducescatter", "alltoall", "broadcast", "reduce", "gather", "scatter")
# Colors that the color-blind can tell apart (Okabe and Ito), on white and on black; dashes are for everybody.
SERIES = (
    ("gpurun", "#0072b2", "", lambda column: column.startswith("gpurun ") and column != "gpurun auto"),
    ("NCCL", "#d55e00", "6 3", lambda column: column == "nccl"),
    ("PyTorch NCCL", "#b8860b", "2 3", lambda column: column in ("torch nccl", "torch gloo")),
    ("PyTorch symmetric memory", "#009e73", "8 3 2 3", lambda column: column.startswith("torch ") and column not in ("torch nccl", "torch gloo")),
)
PANEL_WIDTH, PANEL_HEIGHT, COLUMNS = 400, 270, 3
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 30, 40
HEAD = 56


def main(path, mode="graph"):
    with open(path) as file:
        baseline = json.load(file)
    panels = [(name, points(baseline, name, mode)) for name in COLLECTIVES]
    panels = [(name, series) for name, series in panels if any(series.values())]
    if not panels:
        raise SystemExit(f"{path} has no collectives of bfloat16 by {mode}")
    width = PANEL_WIDTH * min(COLUMNS, len(panels))
    height = HEAD + PANEL_HEIGHT * math.ceil(len(panels) / COLUMNS)
    title = f"{baseline['machine']}, {baseline['world_size']} ranks, bfloat16, {mode}, {baseline['date']}"
    begin(width, height, title)
    legend(width, [name for name, *_ in SERIES if any(series[name] for _, series in panels)], baseline.get("link_ceiling_gbps"))
    for i, (name, series) in enumerate(panels):
        print(f'<g transform="translate({i % COLUMNS * PANEL_WIDTH} {HEAD + i // COLUMNS * PANEL_HEIGHT})">')
        panel(name, series, baseline.get("link_ceiling_gbps"))
        print("</g>")
    print("</svg>")


def points(baseline, collective, mode):
    """Bus bandwidths in GB/s by size, for each series."""
    found = {name: [] for name, *_ in SERIES}
    ranks = baseline["world_size"]
    part = {"allreduce": 2 * (ranks - 1) / ranks, "broadcast": 1, "reduce": 1}.get(collective, (ranks - 1) / ranks)
    for row in sorted(baseline["rows"], key=lambda row: row["bytes"]):
        if (row["collective"], row["dtype"], row["mode"]) != (collective, "bfloat16", mode) or row.get("hidden"):
            continue
        for name, _, _, competes in SERIES:
            times = [statistics.median(us) for column, us in row["us"].items() if competes(column)]
            if times:
                found[name].append((row["bytes"], row["bytes"] * part / min(times) / 1e3))
    return found


def panel(name, series, ceiling):
    everything = [point for line in series.values() for point in line]
    x = Axis([at for at, _ in everything], LEFT, PANEL_WIDTH - RIGHT)
    y = Axis([rate for _, rate in everything] + [ceiling] * bool(ceiling), PANEL_HEIGHT - BOTTOM, TOP)
    text(PANEL_WIDTH / 2, 16, "middle", name)
    for power in range(0, 40, 4):
        if x.shows(2**power):
            rule(x.at(2**power), y.low, x.at(2**power), y.high, 'stroke-opacity="0.35" stroke-width="0.7"')
            text(x.at(2**power), y.low + 16, "middle", size(2**power))
    for power in range(-6, 6):
        if y.shows(10**power):
            rule(x.low, y.at(10**power), x.high, y.at(10**power), 'stroke-opacity="0.35" stroke-width="0.7"')
            text(x.low - 6, y.at(10**power) + 4, "end", f"{10.0**power:g}")
    rule(x.low, y.low, x.high, y.low)
    rule(x.low, y.low, x.low, y.high)
    text((x.low + x.high) / 2, y.low + 33, "middle", "bytes")
    middle = (y.low + y.high) / 2
    upwards(12, middle, "bus bandwidth, GB/s")
    if ceiling:
        rule(x.low, y.at(ceiling), x.high, y.at(ceiling), 'stroke-dasharray="1 3"')
    for name, color, dashes, _ in reversed(SERIES):  # ours on top
        path = "L".join(f"{x.at(at):.1f} {y.at(rate):.1f}" for at, rate in series[name])
        if path:
            stroke("M" + path, color, dashes)


def legend(width, names, ceiling):
    shown = [(name, color, dashes) for name, color, dashes, _ in SERIES if name in names]
    shown += [("link ceiling", INK, "1 3")] * bool(ceiling)
    step = width / len(shown)
    for i, (name, color, dashes) in enumerate(shown):
        left = i * step + 20
        stroke(f"M{left:.1f} 38L{left + 26:.1f} 38", color, dashes)
        text(left + 32, 42, "start", name)


def size(nbytes):
    for suffix, unit in (("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)):
        if nbytes >= unit:
            return f"{nbytes // unit}{suffix}"
    return str(nbytes)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
