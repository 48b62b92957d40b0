#!/usr/bin/env python3
"""Times PyTorch's collectives between the GPUs of a machine, and checks them.

    gpurun --nproc-per-node 4 -- python3 scripts/collectives-peers.py --out torch.json \\
        allreduce,allgather/bfloat16/1K,64M,4/20/15 allreduce/bfloat16/8K,4M,2/20/15/4096

A row is a collective, type, size and mode: "graph" replays a CUDA graph of CALLS calls,
"stream" launches each. In a row take turns, ROUNDS times:

    nccl         torch.distributed by its NCCL process group, in ordinary memory
    one_shot,    torch.ops.symm_mem.one_shot_all_reduce_out, two_shot_all_reduce_,
    two_shot_,   two_shot_all_reduce_out and reduce_scatter_out, whose input lies in
    two_shot     symmetric memory
    multimem...  those through NVLink multicast, unless TORCH_SYMM_MEM_DISABLE_MULTICAST is set
    copies       every rank copies what it needs out of the peers' symmetric memory, between
                 two of PyTorch's barriers for it
    barrier      that barrier

With HIDDEN, an allreduce of rows of so many elements is followed by the sum with a
residual and torch.nn.functional.rms_norm; "norm" is these two alone.

A sample is made as gpurun bench makes it: processes meet, the calls are enqueued twice, and the
second time counts, between two events, on the slowest rank. Each contestant is checked before
and after, by integers whose sum is exact. Sizes are bytes of the larger of a rank's buffers. What
PyTorch does not have or refuses is a row that says why. Made for PyTorch 2.11. Without GPUs
gloo is timed, which serves to try this script.
"""

import argparse
import contextlib
import gc
import json
import os
import statistics
import time

import torch
import torch.distributed as dist
from collectives_cases import COLLECTIVES, CUDA, Case, Symmetric, also, element_size, normalized, reason

# A normalized row is rounded to 8 bits of mantissa, up to twice.
NORM_TOLERANCE = 2**-6
TYPES = {"bfloat16": torch.bfloat16, "half": torch.float16, "float": torch.float32}


def main():
    args = arguments()
    gc.disable()  # an object with device memory must not go away in a capture
    bench = Bench(args.out, max(max(job.sizes) for job in args.jobs))
    for job in args.jobs:
        for collective, dtype, size in job.rows():
            for mode in args.modes.split(","):
                bench.measure(job, collective, dtype, size, mode)
    bench.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jobs", nargs="+", type=Job, metavar="COLLECTIVES/TYPES/FIRST,LAST,FACTOR/CALLS/ROUNDS[/HIDDEN]")
    parser.add_argument("--out", required=True, help="file for the results, as JSON")
    parser.add_argument("--modes", default="graph,stream", help="comma-separated (default %(default)s)")
    return parser.parse_args()


class Job:
    """What to measure in one way: allreduce,reduce/bfloat16,half/1K,64M,4/20/15 is a word for it."""

    def __init__(self, word):
        words = word.split("/")
        if len(words) not in (5, 6):
            raise argparse.ArgumentTypeError(f"{word}: it has {len(words)} parts")
        self.collectives, self.types = words[0].split(","), words[1].split(",")
        for known, names in ((COLLECTIVES, self.collectives), (TYPES, self.types)):
            for name in names:
                if name not in known:
                    raise argparse.ArgumentTypeError(f"{word}: {name} is none of {', '.join(known)}")
        self.sizes = sizes(*words[2].split(","))
        self.calls, self.rounds, self.hidden = int(words[3]), int(words[4]), int(words[5]) if len(words) == 6 else 0
        whole = max(element_size(TYPES[name]) for name in self.types) * max(self.hidden, 1)
        if self.hidden and (self.collectives != ["allreduce"] or any(size % whole for size in self.sizes)):
            raise argparse.ArgumentTypeError(f"{word}: rows are those of an allreduce, and sizes are multiples of {whole} bytes")

    def rows(self):
        for collective in self.collectives:
            if collective == "barrier":
                yield collective, "none", 0
                continue
            for dtype in self.types:
                for size in self.sizes:
                    yield collective, dtype, size


def sizes(first, last, factor):
    """1K, 64M, 4 is 1024, 4096, ... up to 64 M."""
    at, last, factor, found = count(first), count(last), int(factor), []
    if not 0 < at <= last or factor < 2:
        raise argparse.ArgumentTypeError("sizes begin at 1 or more, and grow by a factor of 2 or more")
    while at <= last:
        found.append(at)
        at *= factor
    return found


def count(word):
    suffixes = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    return int(word[:-1]) * suffixes[word[-1]] if word[-1] in suffixes else int(word)


class Bench:
    """Measures rows one after the other, and keeps what was found in the file."""

    def __init__(self, out, room):
        self.out, self.rank, self.world, self.results = out, int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), []
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        self.device, backends = torch.device("cpu"), "gloo"
        if CUDA:
            self.device, backends = torch.device("cuda", int(os.environ["LOCAL_RANK"])), "cpu:gloo,cuda:nccl"
            torch.cuda.set_device(self.device)
        dist.init_process_group(backends)
        self.source = torch.empty(room, dtype=torch.uint8, device=self.device)
        self.result = torch.empty_like(self.source)
        self.symmetric = Symmetric(room, self.device)
        if self.any(self.symmetric.missing):
            self.symmetric.missing = self.symmetric.missing or "another rank has none"

    def measure(self, job, collective, dtype, nbytes, mode):
        row = {"collective": collective, "dtype": dtype, "mode": mode, "bytes": nbytes}
        if job.hidden:
            row.update(epilogue="rmsnorm", hidden=job.hidden)
        case = Case(self, collective, TYPES.get(dtype, torch.float32), nbytes or 4, job.hidden)
        want, found = (normalized if job.hidden else COLLECTIVES[collective])(case)
        entered, failed = {}, {}
        for name, contestant in found.items():
            problem = ""
            try:
                entered[name] = Contestant(self, case, contestant, want, mode, job.calls)
            except Exception as refused:
                problem = reason(refused)
            if self.any(problem):
                entered.pop(name, None)
                failed[name] = problem or "another rank could not"
        for contestant in entered.values():
            contestant.warm_up()
        for _ in range(job.rounds):
            for contestant in entered.values():
                contestant.sample()
        for name, contestant in entered.items():
            times = self.slowest(contestant.samples)
            wrong = int(self.slowest([contestant.wrong + contestant.check()])[0])
            time_us = {"min": min(times), "p50": statistics.median(times), "max": max(times)}
            self.results.append({**row, "algorithm": name, "time_us": time_us, "samples_us": times, "wrong": wrong})
        self.results += [{**row, "algorithm": name, "unavailable": why} for name, why in failed.items()]
        self.write()

    def slowest(self, values):
        """The greatest of all ranks' values, one by one. All ranks meet in it."""
        values = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(values, op=dist.ReduceOp.MAX)
        return values.tolist()

    def any(self, problem):
        """Whether some rank has a problem."""
        return self.slowest([float(bool(problem))])[0] > 0

    def settle(self):
        if CUDA:
            torch.cuda.synchronize()

    def write(self):
        """After each row, so that a later one that hangs does not take it along."""
        if self.rank != 0:
            return
        report = {
            "program": f"PyTorch {torch.__version__}", "world_size": self.world,
            "nccl": ".".join(map(str, torch.cuda.nccl.version())) if CUDA else "",
            "device": torch.cuda.get_device_name() if CUDA else "cpu", "results": self.results,
        }
        with open(self.out + ".new", "w") as file:
            json.dump(report, file)
            file.write("\n")
        os.replace(self.out + ".new", self.out)

    def finish(self):
        gc.collect()  # NCCL does not end before all graphs with its calls are gone
        dist.destroy_process_group()
        wrong = [f"{r['collective']} {r['algorithm']} of {r['bytes']} bytes of {r['dtype']}, {r['mode']}" for r in self.results if r.get("wrong")]
        if wrong:
            raise SystemExit("wrong results: " + "; ".join(wrong))


class Contestant:
    """What is timed in a row. It is refused when it is made, or not at all."""

    def __init__(self, bench, case, contestant, want, mode, calls):
        self.bench, self.case, self.want, self.calls, self.samples = bench, case, want, calls, []
        if callable(contestant):
            if case.symmetric.missing:
                raise RuntimeError("no symmetric memory: " + case.symmetric.missing)
            contestant = contestant()
        self.source, self.call = contestant
        self.once, self.batch, self.wrong = self.call, launched(self.call, calls), 0
        self.call()  # libraries connect in their first call, which has no place in a capture
        bench.settle()
        if mode == "graph":
            self.once, self.batch = captured(self.call, 1), captured(self.call, calls)

    def warm_up(self):
        self.wrong = self.check()
        self.batch()
        self.bench.settle()

    def check(self):
        """Makes one call, and counts what is wrong in its result."""
        for memory in (self.bench.source, self.bench.result, self.bench.symmetric.memory):
            if memory is not None:
                memory.fill_(255)  # no number in any of the types
        if self.source is not None:
            self.source.copy_(self.case.input(self.case.rank, len(self.source)))
        self.bench.settle()
        self.bench.slowest([0.0])  # a peer may write into what another still fills
        got = self.once()
        self.bench.settle()
        self.bench.slowest([0.0])
        if self.want is None:
            return 0
        tolerance = NORM_TOLERANCE if self.case.hidden else 0
        return int((~((got.float() - self.want).abs() <= tolerance * self.want.abs())).sum())

    def sample(self):
        self.bench.slowest([0.0])
        self.batch()  # caches are then as they will stay, and the stream does not wait for the host
        started = stamp()
        self.batch()
        ended = stamp()
        self.bench.settle()
        self.samples.append(between(started, ended) / self.calls)


def launched(call, calls):
    def batch():
        for _ in range(calls):
            call()

    return batch


def captured(call, calls):
    """Captures calls in a graph; the function returned replays it and returns what the last call did."""
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        # The process group's watchdog queries events from a thread of its own.
        graph.capture_begin(capture_error_mode="thread_local")
        try:
            for _ in range(calls):
                result = call()
        except BaseException:
            with contextlib.suppress(Exception):
                graph.capture_end()
            raise
        graph.capture_end()
    return lambda: also(graph.replay(), result)


def stamp():
    if not CUDA:
        return time.perf_counter()
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event


def between(started, ended):
    """Microseconds."""
    return started.elapsed_time(ended) * 1e3 if CUDA else (ended - started) * 1e6


if __name__ == "__main__":
    main()
