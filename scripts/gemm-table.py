#!/usr/bin/env python3
"""Prints how long products took by gpurun and by cuBLAS, as markdown.

    scripts/gemm-table.py [--out gemm.json] gemm-*.json gather-*.json

Files are what gpurun bench writes by --output json. A time is the median of all samples of all files, in microseconds,
with the first and the third quartile behind it. A ratio is gpurun's time by cuBLAS's: the median of the files' ratios,
since only what one process measures sees the same clocks. gpurun is level up to a ratio of 1.02; others are in bold.
"""

import argparse
import json
import statistics

LEVEL = 1.02
THEIRS = "cublas"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--out", help="file for the rows, as JSON")
    args = parser.parse_args()
    device, rows = read(args.files)
    print(device + "\n")
    for operation in dict.fromkeys(row["operation"] for row in rows):
        table(operation, [row for row in rows if row["operation"] == operation])
    if args.out:
        with open(args.out, "w") as file:
            file.write("[\n " + ",\n ".join(json.dumps(row) for row in rows) + "\n]\n")


def read(paths):
    """What the GPU is, and a row for each shape."""
    samples, host, device = {}, {}, ""
    for path in paths:
        with open(path) as file:
            report = json.load(file)
        info = report["devices"][0]
        device = f"{info['name']}, driver {info.get('driver', 'none')}"
        for r in report["results"] or []:
            p = r["product"]
            if r.get("wrong"):
                raise SystemExit(f"{path}: {r['algorithm']} of {p} was wrong")
            shape = samples.setdefault((r["collective"], p["n"], p["k"], p["m"]), {})
            shape.setdefault(r["algorithm"], {})[path] = r["samples_us"]
            host.setdefault((r["collective"], p["n"], p["k"], p["m"], r["algorithm"]), []).append(r.get("host_us", 0))
    rows = []
    for (operation, n, k, m), shape in sorted(samples.items()):
        row = {"operation": operation, "m": m, "n": n, "k": k, "us": {}, "host_us": {}, "ratio": {}}
        for name, files in shape.items():
            row["us"][name] = [round(q, 2) for q in quartiles([s for samples in files.values() for s in samples])]
            row["host_us"][name] = round(statistics.median(host[operation, n, k, m, name]), 2)
            if name != THEIRS and THEIRS in shape:
                row["ratio"][name] = round(statistics.median(ratios(files, shape[THEIRS])), 3)
        rows.append(row)
    return device, rows


def quartiles(samples):
    if len(samples) == 1:
        return samples * 3
    first, median, third = statistics.quantiles(samples, n=4, method="inclusive")
    return median, first, third


def ratios(ours, theirs):
    return [statistics.median(ours[path]) / statistics.median(theirs[path]) for path in ours if path in theirs]


def table(operation, rows):
    names = list(dict.fromkeys(name for row in rows for name in row["us"]))
    own = [name for name in names if name != THEIRS]
    print(f"### {operation}, 1 rank, us; * the host takes about as long to enqueue a call\n")
    print("| M | N, K | " + " | ".join(names + [f"{name} by {THEIRS}" for name in own]) + " | TFLOP/s |")
    print("|" + "---|" * (3 + len(names) + len(own)))
    for row in rows:
        times = [time(row, name) for name in names]
        rate = 2e-6 * row["m"] * row["n"] * row["k"] / row["us"][names[0]][0]
        cells = times + [ratio(row["ratio"].get(name)) for name in own] + [f"{rate:.0f}"]
        print(f"| {row['m']} | {row['n']}, {row['k']} | " + " | ".join(cells) + " |")
    print()
    for name in own:
        known = [row["ratio"][name] for row in rows if name in row["ratio"]]
        if known:
            print(f"{name}: level or ahead in {sum(r <= LEVEL for r in known)} of {len(known)} shapes\n")


def time(row, name):
    median, first, third = row["us"][name]
    mark = "*" if row["host_us"][name] > 0.9 * median else ""
    return f"{median:.1f}{mark} ({first:.1f} to {third:.1f})"


def ratio(value):
    if value is None:
        return ""
    return f"{value:.3f}" if value <= LEVEL else f"**{value:.3f}**"


if __name__ == "__main__":
    main()
