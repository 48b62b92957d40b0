#!/usr/bin/env python3
"""Times gpurun's store beside PyTorch's own, with PyTorch's client.

    gpurun --nproc-per-node 1 --no-python python3 scripts/store-bench.py [--clients 1,64] [--rounds 21] \
        [--operations set,wake]

The store that gpurun serves its workers is measured, and PyTorch's TCPStore server,
which the script starts. Python must have PyTorch 1.13 or newer.

Clients are processes, as workers are, each with a connection to either server. The servers take
turns, several times a second, so that what else the machine does meets both; both are in other
sessions than the clients, as agents of gpurun and torchrun are, because Linux schedules by session.
It prints markdown: medians of the rounds, and in brackets the quartiles; "ratio" is of two turns
of one round that follow each other, and above 1 gpurun is faster. "p99 us" is the slowest call of
100, and "cpu us" the server's processor time for a call, in all turns; either has gpurun's first.

    set          is not answered: the rate at which the server takes what is sent
    get          with PyTorch 1.13 two requests, a WAIT and a GET
    wait         for a key that is there
    wake         a client sets a key that another one waits for, and the other way round
"""

import argparse
import datetime
import multiprocessing
import os
import statistics
import subprocess
import sys
import time

import torch
from torch.distributed import TCPStore

TIMEOUT = datetime.timedelta(seconds=300)
fork = multiprocessing.get_context("fork")  # PyTorch is imported once


class Client:
    """A client of both servers, in a process of its own, which does what it is told together with the others."""

    def __init__(self, me, bench):
        self.me, self.bench = me, bench
        self.stores = []
        for host, port in bench.servers.values():
            self.stores.append(TCPStore(host, port, 1, False, TIMEOUT, False))
            self.stores[-1].set(f"get{me}", "value")

    def run(self):
        while True:
            self.bench.meet.wait()
            server, calls, self.turn = self.bench.order
            if calls == 0:
                return
            self.bench.times[4 * self.me : 4 * self.me + 4] = self.time(self.stores[server], calls)
            self.bench.meet.wait()

    def time(self, store, calls):
        """Returns when it began and when it was done, and the median and the 99th percentile of the calls, in s."""
        call, latencies = getattr(self, self.bench.operation), []
        begin = time.perf_counter()
        for i in range(calls):
            before = time.perf_counter()
            call(store, i)
            latencies.append(time.perf_counter() - before)
        if self.bench.operation == "set":
            store.num_keys()  # has an answer: now all are done
        end = time.perf_counter()
        latencies.sort()
        return begin, end, latencies[calls // 2], latencies[calls * 99 // 100]

    def set(self, store, i):
        store.set(f"set{self.me}", "value")

    def get(self, store, i):
        store.get(f"get{self.me}")

    def add(self, store, i):
        store.add("count", 1)

    def wait(self, store, i):
        store.wait([f"get{self.me}"], TIMEOUT)

    def check(self, store, i):
        store.check([f"get{self.me}"])

    def wake(self, store, i):
        """Clients 2n and 2n+1 play ping-pong. Keys are new each time."""
        mine, peers = (f"wake{self.turn}.{who}.{i}" for who in (self.me, self.me ^ 1))
        if self.me % 2 == 0:
            store.set(mine, "")
            store.wait([peers], TIMEOUT)
            store.delete_key(peers)
        else:
            store.wait([peers], TIMEOUT)
            store.delete_key(peers)
            store.set(mine, "")


class Bench:
    """Clients that all do one operation."""

    def __init__(self, servers, operation, clients):
        self.servers, self.operation, self.clients = servers, operation, clients
        self.meet = fork.Barrier(clients + 1)
        self.order = fork.RawArray("q", 3)  # which server, how many calls or 0 for the end, number of the turn
        self.times = fork.RawArray("d", 4 * clients)
        self.processes = [fork.Process(target=self.client, args=(me,), daemon=True) for me in range(clients)]
        for process in self.processes:
            process.start()

    def client(self, me):
        Client(me, self).run()

    def measure(self, server, calls):
        """Returns calls per second, and the clients' median of their medians and of their 99th percentiles in us."""
        self.order[:] = server, calls, self.order[2] + 1
        self.meet.wait(300)
        self.meet.wait(300)
        begin, end, median, p99 = (self.times[i::4] for i in range(4))
        rate = calls * self.clients / (max(end) - min(begin))
        return rate, statistics.median(median) * 1e6, statistics.median(p99) * 1e6

    def close(self):
        self.order[1] = 0
        self.meet.wait(300)
        for process in self.processes:
            process.join(60)


def operations():
    all = ["set", "get", "add", "wait", "wake"]
    return all + ["check"] if hasattr(TCPStore, "check") else all


def compare(servers, pids, chosen, clients, rounds, calls):
    print(f"\n| {clients} client{'s' if clients > 1 else ''} | gpurun calls/s | PyTorch calls/s | ratio | median us | p99 us | cpu us |")
    print("|---|---|---|---|---|---|---|")
    for operation in chosen:
        bench = Bench(servers, operation, max(2, clients - clients % 2) if operation == "wake" else clients)
        each = max(10, calls // bench.clients * (5 if operation == "set" else 1))
        results, used = [[], []], [0, 0]
        for number in range(rounds + 1):
            for server in (0, 1) if number % 2 else (1, 0):  # either goes first
                before = processor_seconds(pids[server])
                result = bench.measure(server, each)
                if number > 0:  # the first is to get warm
                    results[server].append(result)
                    used[server] += processor_seconds(pids[server]) - before
        bench.close()
        row(operation, *results, [u / (rounds * each * bench.clients) * 1e6 for u in used])


def row(operation, ours, theirs, used):
    rates = [spread([r[0] for r in results], "{:,.0f}") for results in (ours, theirs)]
    ratio = spread([a[0] / b[0] for a, b in zip(ours, theirs)], "{:.2f}")
    latencies = [", ".join(f"{statistics.median(r[i] for r in results):.0f}" for results in (ours, theirs)) for i in (1, 2)]
    cells = [operation, *rates, ratio, *latencies, ", ".join(f"{u:.1f}" for u in used)]
    print(f"| {' | '.join(cells)} |", flush=True)


def spread(values, how):
    if len(values) < 2:
        return how.format(values[0])
    low, middle, high = (how.format(q) for q in statistics.quantiles(values, n=4))
    return f"{middle} ({low} - {high})"


def processor_seconds(pid):
    """What all threads of a process have used."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{thread}/schedstat") as file:
                total += int(file.read().split()[0])
        except (FileNotFoundError, ProcessLookupError):  # it has just ended
            continue
    return total / 1e9


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--clients", default="1,64", help="how many at once; 1,64")
    arguments.add_argument("--operations", default=",".join(operations()), help="which; %(default)s")
    arguments.add_argument("--rounds", type=int, default=21)
    arguments.add_argument("--calls", type=int, default=3000, help="in a turn, of all clients; 3000")
    arguments.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    chosen = options.operations.split(",")
    if unknown := set(chosen) - set(operations()):
        arguments.error(f"no operations of this PyTorch: {', '.join(sorted(unknown))}; it has {', '.join(operations())}")
    if options.serve:
        server = TCPStore("127.0.0.1", 0, 1, True, TIMEOUT, False)
        print(server.port, flush=True)
        sys.stdin.read()
        return
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
        arguments.error("no store of gpurun's: run it by gpurun, as --help says")
    peer = subprocess.Popen(
        [sys.executable, __file__, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    servers = {
        "gpurun": (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])),
        "torch": ("127.0.0.1", int(peer.stdout.readline())),
    }
    print(f"gpurun's store and that of PyTorch {torch.__version__}, {os.cpu_count()} CPUs, {options.rounds} rounds")
    for clients in options.clients.split(","):
        compare(servers, (os.getppid(), peer.pid), chosen, int(clients), options.rounds, options.calls)
    peer.communicate()


main()
