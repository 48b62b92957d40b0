#!/usr/bin/env python3
"""Makes one baseline of what gpurun and PyTorch measured of collectives.

    scripts/collectives-merge.py --out baseline.json gpurun-*.json torch-*.json

Files are what gpurun bench writes with --output json, and collectives-peers.py with --out. A
baseline has a line for each collective, type, mode and size, with the median time of a call in each
turn, in microseconds:

    "gpurun NAME"    an algorithm of gpurun's, the slower of in place and out of place
    "gpurun auto"    what it chooses by itself, likewise
    "nccl"           NCCL in gpurun's processes, the faster of both
    "torch NAME"     a contestant of collectives-peers.py

Results that were wrong have no times and are listed, and so is what PyTorch could not do.
"""

import argparse
import datetime
import json
import statistics

# The order of rows.
COLLECTIVES = ("allreduce", "allgather", "reducescatter", "alltoall", "broadcast", "reduce", "gather", "scatter", "barrier")
TYPES = ("bfloat16", "half", "float", "none")
MODES = ("graph", "stream")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--out", required=True, help="file for the baseline")
    parser.add_argument("--date", default=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"))
    args = parser.parse_args()
    baseline = Baseline(args.date)
    for path in args.files:
        baseline.add(path)
    baseline.write(args.out)


class Baseline:
    def __init__(self, date):
        self.facts = {"schema": 1, "date": date, "machine": "unknown"}
        self.ranks, self.ceilings, self.rows, self.wrong, self.unavailable = set(), [], {}, [], {}

    def add(self, path):
        try:
            with open(path) as file:
                report = json.load(file)
        except ValueError as problem:
            raise SystemExit(f"{path} is no JSON ({problem}): look into the log of the same name, then delete it")
        self.ranks.add(report["world_size"])
        torch = report.get("program", "").startswith("PyTorch")
        if torch:
            self.facts["pytorch"], self.facts["pytorch_nccl"] = report["program"].removeprefix("PyTorch "), report["nccl"]
        else:
            self.facts["gpurun"], self.facts["machine"] = report["version"], machine(report["devices"])
        out = (report.get("ceiling") or {}).get("copy_out")
        if out:
            self.ceilings.append(min(out))
        found = {}
        for r in report["results"] or []:
            column, faster = (f"torch {r['algorithm']}", True) if torch else self.column(r)
            key = self.key(r, report)
            if "unavailable" in r:
                why = self.unavailable.setdefault((key[:-1], column, r["unavailable"]), [])
                why += [key[-1]] if key[-1] not in why else []
            elif r["wrong"]:
                self.wrong.append(f"{path}: {column}, {key}")
            else:
                found.setdefault((key, column), (faster, []))[1].append(r["time_us"]["p50"])
            if r.get("asked") and not r.get("in_place"):
                self.rows.setdefault(key, {}).setdefault("auto", r["algorithm"])
        for (key, column), (faster, times) in found.items():
            us = self.rows.setdefault(key, {}).setdefault("us", {}).setdefault(column, [])
            us.append(round(min(times) if faster else max(times), 3))

    def column(self, r):
        """The column of a result of gpurun's, and whether the faster place counts."""
        if "library" in r:
            self.facts[r["algorithm"]] = r["library"]
            return r["algorithm"], True
        return "gpurun " + (r.get("asked") or r["algorithm"]), False

    def key(self, r, report):
        hidden = r.get("hidden", 0)
        if r.get("epilogue") and not hidden:
            command = report["command"]
            hidden = int(command[command.index("--hidden") + 1])
        return r["collective"], hidden, r["dtype"], r["mode"], r.get("asked_bytes") or r["bytes"]

    def write(self, path):
        if len(self.ranks) != 1:
            raise SystemExit(f"the files are of {sorted(self.ranks)} ranks: merge those of as many")
        self.facts["world_size"] = self.ranks.pop()
        if self.ceilings:
            self.facts["link_ceiling_gbps"] = round(statistics.median(self.ceilings), 1)
        self.facts["wrong"] = self.wrong
        unavailable = [{**named(key), "column": column, "bytes": sizes, "why": why} for (key, column, why), sizes in self.unavailable.items()]
        rows = [{**named(key), **row} for key, row in sorted(self.rows.items(), key=order) if "us" in row]
        with open(path, "w") as file:
            head = json.dumps(self.facts, indent=1).removesuffix("\n}")
            file.write(f'{head},\n "unavailable": {lines(unavailable)},\n "rows": {lines(rows)}\n}}\n')


def named(key):
    found = dict(zip(("collective", "hidden", "dtype", "mode", "bytes"), key))
    if not found["hidden"]:
        del found["hidden"]
    return found


def order(item):
    collective, hidden, dtype, mode, nbytes = item[0]
    places = [names.index(name) for names, name in ((COLLECTIVES, collective), (TYPES, dtype), (MODES, mode))]
    return places[0], hidden, places[1], places[2], nbytes


def lines(values):
    """A list with a line for each value: short enough to be reviewed."""
    return "[" + ",".join("\n  " + json.dumps(value) for value in values) + "\n ]"


def machine(devices):
    """"2 x NVIDIA H200, driver 580.159.04"."""
    kinds = [d["name"] + (f", driver {d['driver']}" if d.get("driver") else "") for d in devices]
    return "; ".join(f"{kinds.count(kind)} x {kind}" for kind in dict.fromkeys(kinds))


if __name__ == "__main__":
    main()
