#!/usr/bin/env python3
"""Times what comes before a job's first line, beside those who do the same, and writes a table and a plot.

    scripts/launch-bench.py [--rounds 9] [--parts rendezvous,launch,store] [--out scripts/baselines/launch]

    rendezvous   agents of 8 ranks join, gather 128 bytes of each, and leave together: all agents in one
                 process, over loopback TCP (BenchmarkJob of rendezvous/elastic)
    launch       processes that do nothing, `true`, beside mpirun and torchrun where they are installed
    store        PyTorch's store, by store-bench.py

It builds with Go what it measures, and takes some minutes. Whoever is compared takes turns. A figure is the
median of the rounds, and in brackets the quartiles. OUT.md is what was measured, OUT.svg a plot of
rendezvous and launch. --python is one that has PyTorch: without it torchrun and the store are left out.
"""

import argparse
import contextlib
import datetime
import math
import os
import platform
import re
import shutil
import signal
import statistics
import subprocess
import tempfile
import threading
import time

from drawing import Axis, begin, rule, stroke, text, upwards

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RANKS_OF_A_NODE = 8
PROCESSES = (1, 4, 16, 64, 256)
MOST_OF_OTHERS = 64  # mpirun -np 256 never ends on two cores
LIMIT = 600  # seconds that a process may take
LAUNCH_LIMIT = 10  # seconds for a launch; mpirun -np 64 does not always end either
COLORS = ("#0072b2", ""), ("#d55e00", "6 3"), ("#009e73", "8 3 2 3")  # as in collectives-plot.py
WIDTH, HEIGHT, HEAD = 460, 300, 56
LEFT, RIGHT, TOP, BOTTOM = 60, 14, 30, 40


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9, help="of rendezvous and launch; 9")
    parser.add_argument("--store-rounds", type=int, default=41, help="of the store; 41")
    parser.add_argument("--parts", default="rendezvous,launch,store")
    parser.add_argument("--out", default=os.path.join(ROOT, "scripts/baselines/launch"), help="without .md and .svg")
    parser.add_argument("--python", default="/usr/bin/python3")
    args = parser.parse_args()
    parts = args.parts.split(",")
    if unknown := set(parts) - {"rendezvous", "launch", "store"}:
        parser.error(f"there is no part {', '.join(unknown)}: rendezvous, launch, store")
    torch = output(args.python, "-c", "import torch; print(torch.__version__)")
    sections, panels = [], []
    with tempfile.TemporaryDirectory() as build:
        gpurun = os.path.join(build, "gpurun")
        go("build", "-tags", "grpcnotrace", "-trimpath", "-ldflags=-s -w", "-o", gpurun, "./cmd/gpurun")
        if "rendezvous" in parts:
            series = rendezvous(build, args.rounds)
            sections.append(table("Rendezvous, µs a rank", "ranks", series))
            panels.append(("rendezvous: join, gather, leave", "ranks", "µs a rank", series))
        if "launch" in parts:
            series, notes = launch(launchers(build, gpurun, args.python if torch else None), args.rounds)
            sections.append("\n".join([table("Launching `true`, ms", "processes", series), "", *notes]).strip())
            panels.append(("launching true", "processes", "ms", series))
        if "store" in parts and torch:
            bench = (args.python, os.path.join(ROOT, "scripts/store-bench.py"), "--rounds", str(args.store_rounds))
            sections.append("### The store\n\n" + checked(gpurun, "--nproc-per-node", "1", "--no-python", *bench))
    title = f"{os.cpu_count()} CPUs, Linux {platform.release().split('-')[0]}, {datetime.date.today()}"
    versions = [output("go", "version"), first_line("mpirun", "--version"), torch and f"PyTorch {torch}"]
    with open(args.out + ".md", "w") as file:
        print(", ".join([title, *filter(None, versions)]), *sections, sep="\n\n", file=file)
    if panels:
        with open(args.out + ".svg", "w") as file, contextlib.redirect_stdout(file):
            plot(title, panels)


def rendezvous(build, rounds):
    """Returns the times for each number of ranks, by the clock and of processors."""
    binary = os.path.join(build, "elastic.test")
    go("test", "-c", "-o", binary, "./rendezvous/elastic")
    series = {"by the clock": {}, "processor time": {}}
    for _ in range(rounds):
        lines = checked(binary, "-test.run", "^$", "-test.bench", "^BenchmarkJob$", "-test.benchtime", "1x")
        found = re.findall(r"nodes=(\d+)\S*\s.*?([\d.]+) cpu-µs/rank\s+([\d.]+) µs/rank", lines)
        if not found:
            raise SystemExit(f"BenchmarkJob printed no figures:\n{lines}")
        for nodes, processor, clock in found:
            ranks = int(nodes) * RANKS_OF_A_NODE
            series["by the clock"].setdefault(ranks, []).append(float(clock))
            series["processor time"].setdefault(ranks, []).append(float(processor))
    return series


def launchers(build, gpurun, python):
    """Returns the commands, which a number of processes is to follow, then `true`."""
    found = {"gpurun": ([gpurun, "--nproc-per-node"], ["--no-python", "true"])}
    if shutil.which("mpirun"):
        found["mpirun"] = (["mpirun", "--allow-run-as-root", "--oversubscribe", "-np"], ["true"])
    if python:
        # PyTorch 1.13's defaults fail with Python 3.11, and look every 5 s; today's look every 0.1 s.
        defaults = ("-r", "1", "-t", "1", "--log_dir", build, "--monitor_interval", "0.1")
        found["torchrun"] = ([python, "-m", "torch.distributed.run", *defaults, "--nproc_per_node"], ["--no_python", "true"])
    return found


def launch(commands, rounds):
    """Returns the times for each number of processes. What does not end in time has no part in them, and is said."""
    series, late = {name: {} for name in commands}, {}
    for number in range(rounds):
        for processes in PROCESSES:
            for name in sorted(commands, reverse=number % 2 == 1):
                if processes > MOST_OF_OTHERS and name != "gpurun":
                    continue
                before, behind = commands[name]
                took = ended(*before, str(processes), *behind)
                if took is None:
                    late[name, processes] = late.get((name, processes), 0) + 1
                else:
                    series[name].setdefault(processes, []).append(took * 1e3)
    notes = [f"- {n} of {rounds} times {name} had not launched {processes} within {LAUNCH_LIMIT} s" for (name, processes), n in late.items()]
    return series, notes


def ended(*command):
    """Returns how long a command took, in seconds, or None when it took too long, and was killed with its children."""
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    begun = time.perf_counter()
    process = subprocess.Popen(command, cwd=ROOT, start_new_session=True, **quiet)
    limit = threading.Timer(LAUNCH_LIMIT, os.killpg, (process.pid, signal.SIGKILL))
    limit.start()
    status = process.wait()  # with a limit of its own, it would look every 50 ms
    took = time.perf_counter() - begun
    limit.cancel()
    if took >= LAUNCH_LIMIT:
        return None
    if status != 0:
        raise SystemExit(f"{' '.join(command)} ended with {status}")
    return took


def go(*words):
    checked("go", *words, environment={"CGO_ENABLED": "0"})


def checked(*command, environment=()):
    """Runs a command and returns its stdout."""
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **dict(environment)}, capture_output=True, text=True, timeout=LIMIT, stdin=subprocess.DEVNULL
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:] or done.stdout[-2000:]}")
    return done.stdout


def output(*command):
    """What a command prints, or nothing where it is not installed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def first_line(*command):
    return output(*command).partition("\n")[0]


def table(title, unit, series):
    lines = [f"### {title}\n", f"| {unit} | {' | '.join(series)} |", "|---" * (len(series) + 1) + "|"]
    for at in sorted({at for points in series.values() for at in points}):
        cells = [spread(points[at]) if at in points else "" for points in series.values()]
        lines.append(f"| {at} | {' | '.join(cells)} |")
    return "\n".join(lines)


def spread(values):
    low, middle, high = quartiles(values)
    return f"{middle:.4g} ({low:.4g} - {high:.4g})"


def quartiles(values):
    return statistics.quantiles(values, n=4) if len(values) > 1 else values * 3


def plot(title, panels):
    begin(WIDTH * len(panels), HEAD + HEIGHT, title)
    for i, panel in enumerate(panels):
        print(f'<g transform="translate({i * WIDTH} {HEAD})">')
        draw(*panel)
        print("</g>")
    print("</svg>")


def draw(title, across, up, series):
    """One panel: medians, a line for each series, and quartiles, as ticks."""
    everything = [value for points in series.values() for values in points.values() for value in quartiles(values)]
    x = Axis([at for points in series.values() for at in points], LEFT, WIDTH - RIGHT)
    y = Axis([*everything, max(everything) / 10], HEIGHT - BOTTOM, TOP)  # a decade at least: flat is to look flat
    text((LEFT + WIDTH) / 2, -14, "middle", title)
    labeled = math.inf
    for at in sorted({at for points in series.values() for at in points}, reverse=True):
        grid(x.at(at), y.low, x.at(at), y.high)
        if labeled - x.at(at) > 40:
            labeled = x.at(at)
            text(labeled, y.low + 16, "middle", str(at))
    for value in (digit * 10**power for power in range(-1, 7) for digit in (1, 2, 5)):
        if y.shows(value):
            grid(x.low, y.at(value), x.high, y.at(value))
            text(x.low - 6, y.at(value) + 4, "end", f"{value:g}")
    text((x.low + x.high) / 2, y.low + 33, "middle", across)
    upwards(14, (y.low + y.high) / 2, up)
    for i, ((name, points), (color, dashes)) in enumerate(zip(series.items(), COLORS)):
        left = LEFT + i * (WIDTH - LEFT) / len(series)
        stroke(f"M{left:.1f} 8L{left + 26:.1f} 8", color, dashes)
        text(left + 32, 12, "start", name)
        stroke("M" + "L".join(f"{x.at(at):.1f} {y.at(statistics.median(values)):.1f}" for at, values in sorted(points.items())), color, dashes)
        for at, values in points.items():
            low, _, high = quartiles(values)
            stroke(f"M{x.at(at):.1f} {y.at(low):.1f}L{x.at(at):.1f} {y.at(high):.1f}", color, "")


def grid(x1, y1, x2, y2):
    rule(x1, y1, x2, y2, 'stroke-opacity="0.35" stroke-width="0.7"')


if __name__ == "__main__":
    main()
