#!/usr/bin/env python3
"""Runs all collectives for a while, and finds wrong data, growth of memory or descriptors, and drift of latencies.

    scripts/build-for-gpus.sh                  # where Go is
    scripts/longevity.py --minutes 6           # on the GPU machine: four ranks on one GPU

Each collective gets the same part of the time, in one job. Half of it is sweeps over --sizes: each measurement captures
a new graph, and is verified before and after. The other half verifies calls of random sizes (gpurun's --minutes).
Meanwhile a sample a second is taken of every process: its resident memory and open descriptors, and the GPU's memory.

The second quarter of a job is compared with its last quarter; the first one is for caches to fill. A job fails if

    data      gpurun finds an element that is wrong, or ends otherwise than with 0
    rss       the resident memory of a rank has grown by more than --rss percent and 2 MB
    files     a rank has more open descriptors
    gpu       the GPU's memory in use has grown
    drift     the median of the latencies' ratios differs from 1 by more than --drift percent

Ranks that share a GPU take turns on it: their latencies say nothing about links. Output goes to --results: samples.csv,
gpurun's JSON, and table.md, which is printed. The exit status is 0 when no job failed.
"""

import argparse
import csv
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import time

GPURUN = pathlib.Path(__file__).resolve().parent.parent / "build" / "gpurun"
COLLECTIVES = "allgather allreduce alltoall broadcast gather reduce reducescatter scatter".split()
PAGE = os.sysconf("SC_PAGE_SIZE")
COLUMNS = ("collective", "second", "rank", "rss", "files", "gpu")


def main():
    args = arguments()
    results = pathlib.Path(args.results)
    results.mkdir(parents=True, exist_ok=True)
    rows = []
    with open(results / "samples.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for collective in args.collectives:
            rows.append(run(args, results, collective, writer))
            file.flush()
            text = table(args, rows)
            (results / "table.md").write_text(text)  # each time, so that it is there if this is stopped
    print(text, end="")
    sys.exit(any(row["failed"] for row in rows))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--collectives", nargs="+", default=COLLECTIVES)
    parser.add_argument("--sizes", default="1K,4M,16", help="FIRST,LAST,FACTOR of the sweeps")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--gpurun", default=str(GPURUN))
    parser.add_argument("--results", default="build/longevity")
    parser.add_argument("--interval", type=float, default=1, help="seconds between samples")
    parser.add_argument("--rss", type=float, default=3)
    parser.add_argument("--drift", type=float, default=2)
    return parser.parse_args()


def run(args, results, collective, writer):
    """Runs the job of a collective, and returns its row of the table."""
    began = time.monotonic()
    code, trial, _ = job(args, results / f"{collective}-trial.json", collective, 1, None)
    if code == 0:
        took = trial["timing"]["total_ms"] - trial["timing"]["first_verified_ms"]
        half = (args.minutes * 60 / len(args.collectives) - (time.monotonic() - began)) / 2
        cycles = max(4, round(half * 1e3 / took))
        code, report, mine = job(args, results / f"{collective}.json", collective, cycles, max(half, 1) / 60)
        writer.writerows(mine)
    if code:
        return {"collective": collective, "failed": [f"exit {code}"]}
    return judge(args, collective, report, mine)


def job(args, path, collective, cycles, minutes):
    """Runs gpurun and samples its processes: the exit code, the report, and the samples."""
    first, last, factor = args.sizes.split(",")
    command = [args.gpurun, "--device", args.device, "--nproc-per-node", str(args.ranks), "--oversubscribe", collective,
               "-b", first, "-e", last, "-f", factor, "-G", "2", "-n", "5", "-w", "1", "-N", str(cycles), "-J", str(path), "--timing"]
    if minutes:
        command += ["--minutes", f"{minutes:.3f}"]
    with open(path.with_suffix(".log"), "w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        signal.signal(signal.SIGTERM, lambda *_: (process.terminate(), process.wait(), sys.exit(143)))
        samples, began = [], time.monotonic()
        while process.poll() is None:
            samples += sample(args, collective, process.pid, time.monotonic() - began)
            time.sleep(args.interval)
    report = json.loads(path.read_text()) if path.exists() else {"results": []}
    if process.returncode:
        print(path.with_suffix(".log").read_text()[-2000:], file=sys.stderr)
    return process.returncode, report, samples


def sample(args, collective, pid, second):
    """A row for each rank. Ranks are the descendants that have none themselves."""
    ranks = sorted(leaves(pid))
    if len(ranks) != args.ranks:  # the job begins or ends
        return []
    gpu = gpu_memory() if args.device == "cuda" else 0
    rows = []
    for rank, worker in enumerate(ranks):
        try:
            pages = int(pathlib.Path(f"/proc/{worker}/statm").read_text().split()[1])
            files = len(os.listdir(f"/proc/{worker}/fd"))
        except OSError:  # it has ended
            return []
        rows.append(dict(zip(COLUMNS, (collective, round(second, 1), rank, pages * PAGE, files, gpu))))
    return rows


def leaves(pid):
    try:
        threads = os.listdir(f"/proc/{pid}/task")
        children = [int(c) for t in threads for c in pathlib.Path(f"/proc/{pid}/task/{t}/children").read_text().split()]
    except OSError:
        return []
    return [leaf for child in children for leaf in leaves(child)] if children else [pid]


def gpu_memory():
    """MiB in use on all GPUs."""
    query = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    return sum(int(line) for line in subprocess.run(query, capture_output=True, text=True, check=True).stdout.split())


def judge(args, collective, report, samples):
    """Compares the second quarter of a job with its last one."""
    end = max((s["second"] for s in samples), default=0)
    early = [s for s in samples if end / 4 <= s["second"] < end / 2]
    late = [s for s in samples if s["second"] >= end * 3 / 4]
    if not early or not late:
        return {"collective": collective, "failed": ["too short to judge"]}
    row = {"collective": collective, "failed": [], "results": len(report["results"]), "drift": drift(report["results"])}
    row["calls"] = report.get("further", {}).get("calls", 0)
    for key, of in (("rss", statistics.median), ("files", max), ("gpu", max)):
        pairs = [(of([s[key] for s in early if s["rank"] == r]), of([s[key] for s in late if s["rank"] == r])) for r in range(args.ranks)]
        row[key] = max(pairs, key=lambda pair: pair[1] - pair[0])
    before, after = row["rss"]
    if after - before > max(2 << 20, before * args.rss / 100):
        row["failed"].append("rss")
    row["failed"] += [key for key in ("files", "gpu") if row[key][1] > row[key][0]]
    if args.device == "cuda" and abs(row["drift"] - 1) > args.drift / 100:  # the simulator's times say nothing
        row["failed"].append("drift")
    return row


def drift(results):
    """The median, over all cases, of the latency in the last quarter of the sweeps by that in the second quarter."""
    cases = {}
    for r in results:
        if not r.get("untimed"):
            cases.setdefault((r["algorithm"], r["bytes"], r["in_place"]), []).append(r["time_us"]["p50"])
    ratios = []
    for times in cases.values():
        quarter = max(len(times) // 4, 1)
        ratios.append(statistics.median(times[-quarter:]) / statistics.median(times[quarter: 2 * quarter]))
    return statistics.median(ratios) if ratios else 1


def table(args, rows):
    lines = [
        f"### {args.ranks} ranks, {args.minutes:g} minutes in all; second quarter, last quarter\n",
        "| collective | measured | further calls | resident MB | descriptors | GPU memory, MiB | latency ratio | failed |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        if "results" not in row:
            lines.append(f"| {row['collective']} | | | | | | | {', '.join(row['failed'])} |")
            continue
        rss = ", ".join(f"{value / 1e6:.1f}" for value in row["rss"])
        files, gpu = (", ".join(map(str, row[key])) for key in ("files", "gpu"))
        lines.append(f"| {row['collective']} | {row['results']} | {row['calls']} | {rss} | {files} | {gpu} | {row['drift']:.3f} | "
                     f"{', '.join(row['failed']) or 'no'} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
