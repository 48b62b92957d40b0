"""How fast a store answers PyTorch's client.

    bench.py serve                  serve PyTorch's own store, print its port
    bench.py HOST:PORT CLIENTS OPS  measure: a JSON object a line, for each operation

Clients are threads, each with a connection; PyTorch lets go of Python's
interpreter lock while it talks to the store.
"""

import datetime
import json
import sys
import threading
import time

from torch.distributed import TCPStore

TIMEOUT = datetime.timedelta(seconds=120)


def connect(host, port):
    return TCPStore(host, port, 1, False, TIMEOUT, False)


def worker(store, me, operations, begin, latencies):
    store.set(f"get{me}", "value")
    calls = {
        "set": lambda: store.set(f"set{me}", "value"),
        "get": lambda: store.get(f"get{me}"),
        "add": lambda: store.add("count", 1),
    }
    for name, call in calls.items():
        begin.wait()
        for _ in range(operations):
            before = time.perf_counter()
            call()
            latencies[name].append(time.perf_counter() - before)
        store.num_keys()  # sets have no answer: wait until they are done
        begin.wait()


def measure(address, clients, operations):
    host, port = address.rsplit(":", 1)
    stores = [connect(host, int(port)) for _ in range(clients)]
    begin = threading.Barrier(clients + 1)
    latencies = {"set": [], "get": [], "add": []}
    threads = [
        threading.Thread(target=worker, args=(store, me, operations // clients, begin, latencies), daemon=True)
        for me, store in enumerate(stores)
    ]
    for thread in threads:
        thread.start()
    for name, took in latencies.items():
        begin.wait()
        before = time.perf_counter()
        begin.wait()
        rate = len(took) / (time.perf_counter() - before)
        took.sort()
        print(json.dumps({
            "operation": name,
            "per_second": rate,
            "median_us": took[len(took) // 2] * 1e6,
            "p99_us": took[len(took) * 99 // 100] * 1e6,
        }), flush=True)


if sys.argv[1] == "serve":
    server = TCPStore("127.0.0.1", 0, 1, True, TIMEOUT, False)
    print(server.port, flush=True)
    sys.stdin.read()
else:
    measure(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
