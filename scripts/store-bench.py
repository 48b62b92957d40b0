#!/usr/bin/env python3
"""Times gpurun's store beside PyTorch's own, with PyTorch's client.

    gpurun --nproc-per-node 1 --no-python python3 scripts/store-bench.py [--clients 1,64] [--rounds 21]

The store that gpurun serves its workers is measured, and PyTorch's TCPStore server,
which the script starts. Python must have PyTorch 1.13 or newer.

Clients are threads, each with a connection to either server; PyTorch lets go of Python's
interpreter lock while it talks to a store. The servers take turns, several times a
second, so that what else the machine does meets both; both are in other sessions than
the client, as agents of gpurun and torchrun are, because Linux schedules by session. A row has the median of the
rounds, and in brackets the quartiles; "ratio" is of two turns of one round that follow
each other, and above 1 gpurun is faster. "p99 us" is the median round's slowest call of 100.

    set          is not answered: the rate at which the server takes what is sent
    get          with PyTorch 1.13 two requests, a WAIT and a GET
    wait         for a key that is there
    wake         a client sets a key that another one waits for, and the other way round

Below that is the processor time of either server, for each call of all these.
"""

import argparse
import datetime
import os
import statistics
import subprocess
import sys
import threading
import time

from torch.distributed import TCPStore

TIMEOUT = datetime.timedelta(seconds=300)


class Client(threading.Thread):
    """A client of both servers, which does what it is told together with the others."""

    def __init__(self, me, bench):
        super().__init__(daemon=True)
        self.me, self.bench = me, bench
        self.stores = {}
        for name, (host, port) in bench.servers.items():
            self.stores[name] = TCPStore(host, port, 1, False, TIMEOUT, False)
            self.stores[name].set(f"get{me}", "value")
        self.latencies = []

    def run(self):
        while True:
            self.bench.meet.wait()
            store = self.stores[self.bench.server]
            call = getattr(self, self.bench.operation)
            self.latencies = []
            for i in range(self.bench.calls):
                before = time.perf_counter()
                call(store, i)
                self.latencies.append(time.perf_counter() - before)
            if self.bench.operation == "set":
                store.num_keys()  # has an answer: now all are done
            self.bench.meet.wait()

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
        mine, peers = (f"wake{self.bench.turn}.{who}.{i}" for who in (self.me, self.me ^ 1))
        if self.me % 2 == 0:
            store.set(mine, "")
            store.wait([peers], TIMEOUT)
            store.delete_key(peers)
        else:
            store.wait([peers], TIMEOUT)
            store.delete_key(peers)
            store.set(mine, "")


class Bench:
    def __init__(self, servers, clients):
        self.servers = servers
        self.turn = 0
        self.meet = threading.Barrier(clients + 1)
        self.clients = [Client(me, self) for me in range(clients)]
        for client in self.clients:
            client.start()

    def measure(self, server, operation, calls):
        """Returns calls per second, and the median and the 99th percentile in us."""
        self.server, self.operation, self.calls = server, operation, calls
        self.turn += 1
        self.meet.wait()
        before = time.perf_counter()
        self.meet.wait()
        took = time.perf_counter() - before
        latencies = sorted(latency * 1e6 for client in self.clients for latency in client.latencies)
        return len(latencies) / took, latencies[len(latencies) // 2], latencies[len(latencies) * 99 // 100]


def operations():
    all = ["set", "get", "add", "wait", "wake"]
    return all + ["check"] if hasattr(TCPStore, "check") else all


def compare(servers, clients, rounds, calls):
    print(f"\n{clients} client{'s' if clients > 1 else ''}")
    print(f"  {'':12}{'gpurun calls/s':>30}{'PyTorch calls/s':>30}{'ratio':>22}{'median us':>16}{'p99 us':>16}")
    benches = {False: Bench(servers, clients), True: Bench(servers, max(2, clients - clients % 2))}
    for operation in operations():
        bench = benches[operation == "wake"]
        each = max(10, calls // len(bench.clients) * (5 if operation == "set" else 1))
        results = {name: [] for name in servers}
        for number in range(rounds + 1):
            for name in sorted(servers, reverse=number % 2 == 1):  # either goes first
                result = bench.measure(name, operation, each)
                if number > 0:  # the first is to get warm
                    results[name].append(result)
        row(operation, results["gpurun"], results["torch"])


def row(operation, ours, theirs):
    rate = [spread([r[0] for r in results], "{:,.0f}") for results in (ours, theirs)]
    ratio = spread([a[0] / b[0] for a, b in zip(ours, theirs)], "{:.2f}")
    latency = [
        " : ".join(f"{statistics.median(r[i] for r in results):.0f}" for results in (ours, theirs)) for i in (1, 2)
    ]
    print(f"  {operation:12}{rate[0]:>30}{rate[1]:>30}{ratio:>22}{latency[0]:>16}{latency[1]:>16}", flush=True)


def spread(values, how):
    if len(values) < 2:
        return how.format(values[0])
    low, middle, high = (how.format(q) for q in statistics.quantiles(values, n=4))
    return f"{middle} ({low} - {high})"


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--clients", default="1,64", help="how many at once; 1,64")
    arguments.add_argument("--rounds", type=int, default=21)
    arguments.add_argument("--calls", type=int, default=3000, help="in a turn, of all clients; 3000")
    arguments.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.serve:
        server = TCPStore("127.0.0.1", 0, 1, True, TIMEOUT, False)
        print(server.port, flush=True)
        sys.stdin.read()
        return
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
        arguments.error("no store of gpurun's: run it by gpurun, as --help says")
    torch = subprocess.Popen(
        [sys.executable, __file__, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    servers = {
        "gpurun": (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])),
        "torch": ("127.0.0.1", int(torch.stdout.readline())),
    }
    before = [processor_seconds(pid) for pid in (os.getppid(), torch.pid)]
    for clients in options.clients.split(","):
        compare(servers, int(clients), options.rounds, options.calls)
    used = [processor_seconds(pid) - b for pid, b in zip((os.getppid(), torch.pid), before)]
    print(f"\nprocessor time: gpurun {used[0]:.2f} s, PyTorch {used[1]:.2f} s")
    torch.communicate()


main()
