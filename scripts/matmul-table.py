#!/usr/bin/env python3
"""Prints what gpurun and PyTorch measured of products, side by side, as markdown.

    scripts/matmul-table.py [--out baseline.json] gpurun-*.json torch-*.json

With --out, the medians are written as JSON as well, a line for each product. Files are what gpurun bench writes with --output json, and matmul-peers.py with --out.
A time is the median of the medians of all files that have the case; "auto" is a column of its
own, whatever it took. "of cuBLAS" is its time by that of the product alone, by cuBLAS, both measured
by gpurun.
"""

import argparse
import json
import statistics


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--out", help="file for the medians")
    args = parser.parse_args()
    times, ranks, unavailable = read(args.files)
    for operation, cases in times.items():
        print(f"### {operation}, {min(ranks)} ranks, us\n")
        table(cases)
    for what, products in unavailable.items():
        print(f"- not available in {len(products)} cases: {what}")
    if args.out:
        write(args.out, times, min(ranks))


def read(paths):
    times, ranks, unavailable = {}, set(), {}
    for path in paths:
        with open(path) as file:
            report = json.load(file)
        ranks.add(report["world_size"])
        program = "torch" if report.get("program", "").startswith("PyTorch") else "gpurun"
        for r in report["results"] or []:
            p = r["product"]
            if "unavailable" in r:
                unavailable.setdefault(f"{program} {r['algorithm']} of {r['collective']}: {r['unavailable']}", []).append(p)
                continue
            splits = p.get("splits_per_rank", 1)
            column = f"{program} {r.get('asked', r['algorithm'])}" + (f"/{splits}" if splits > 1 else "")
            case = times.setdefault(r["collective"], {}).setdefault((p["n"], p["k"], p["m"]), {})
            case.setdefault(column, []).append((r["time_us"]["p50"], bool(r["wrong"])))
    if len(ranks) != 1:
        raise SystemExit(f"the files are of {sorted(ranks)} ranks: compare those of as many")
    return times, ranks, unavailable


def write(path, times, ranks):
    """Writes a line for each product: its medians in microseconds, null where a result was wrong."""
    lines = []
    for operation, cases in times.items():
        for (n, k, m), case in sorted(cases.items()):
            us = {c: None if cell(t) == "wrong" else round(median(t), 1) for c, t in sorted(case.items())}
            lines.append(json.dumps({"operation": operation, "ranks": ranks, "m": m, "n": n, "k": k, "us": us}))
    with open(path, "w") as file:
        file.write("[\n " + ",\n ".join(lines) + "\n]\n")


def table(cases):
    columns = sorted({column for case in cases.values() for column in case})
    print("| M | N, K | " + " | ".join(columns) + " | of cuBLAS |")
    print("|" + "---|" * (len(columns) + 3))
    for (n, k, m), case in sorted(cases.items()):
        cells = [cell(case.get(column, [])) for column in columns]
        print(f"| {m} | {n}, {k} | " + " | ".join(cells) + f" | {ratio(case)} |")
    print()


def cell(measured):
    if any(wrong for _, wrong in measured):
        return "wrong"
    return f"{median(measured):.0f}" if measured else ""


def median(measured):
    return statistics.median(time for time, _ in measured)


def ratio(case):
    if "gpurun auto" not in case or "gpurun cublas" not in case:
        return ""
    return f"{median(case['gpurun auto']) / median(case['gpurun cublas']):.3f}"


if __name__ == "__main__":
    main()
