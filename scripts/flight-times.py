#!/usr/bin/env python3
"""Times the dumps of PyTorch's flight recorder on a GPU machine, by setting.

    PYTHON scripts/flight-times.py [SETTING ...]

PYTHON has PyTorch for CUDA. Each setting starts one process with NCCL on one GPU, and asks its recorder
for two dumps, as gpurun does: a byte in the pipe, then it waits until the file can be read whole. It
prints markdown: seconds from the request to the file. PyTorch looks into the pipe once a second, so
that a dump that costs nothing takes 0 to 1 s. The first dump of a process imports torch._inductor,
unless worker/process/dump/pyhook/sitecustomize.py, which gpurun puts before a worker's program, keeps
it from that. Without arguments all settings are timed; it takes about two minutes.
"""

import os
import pathlib
import pickle
import socket
import subprocess
import sys
import tempfile
import time

HOOK = {"PYTHONPATH": str(pathlib.Path(__file__).resolve().parent.parent / "worker/process/dump/pyhook")}

# name: variables, collectives before the dump
SETTINGS = {
    "PyTorch alone": ({}, 10),
    "without stack traces": ({"TORCH_INCLUDE_STACK_TRACE": "0", "TORCH_INCLUDE_ONLY_ACTIVE": "1"}, 10),
    "gpurun's hook": (HOOK, 10),
    "hook, pipe read every 200 ms": (HOOK | {"TORCH_NCCL_COORD_CHECK_MILSEC": "200"}, 10),
    "hook, 2000 collectives": (HOOK, 2000),
}

PROGRAM = """
import os, sys, time
import torch
import torch.distributed as dist
torch.cuda.set_device(0)
dist.init_process_group("nccl")
x = torch.ones(1 << 20, device="cuda")
for _ in range(int(sys.argv[1])):
    dist.all_reduce(x)
torch.cuda.synchronize()
print("ready", "torch._inductor" in sys.modules, flush=True)
sys.stdin.read(1)
print("torch._inductor" in sys.modules, flush=True)
os._exit(0)
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def dump(folder):
    """Returns seconds to a complete dump, and its size in bytes and entries."""
    file = folder / "flight_0"
    before = file.stat().st_mtime_ns if file.exists() else 0
    begun = time.monotonic()
    pipe = os.open(folder / "flight_0.pipe", os.O_WRONLY | os.O_NONBLOCK)
    os.write(pipe, b"1\n")
    os.close(pipe)
    while time.monotonic() - begun < 30:
        time.sleep(0.01)
        if not file.exists() or file.stat().st_mtime_ns == before:
            continue
        text = file.read_bytes()
        try:
            content = pickle.loads(text)
        except (EOFError, pickle.UnpicklingError):  # half of it
            continue
        return time.monotonic() - begun, len(text), len(content["entries"])
    return float("inf"), 0, 0


def measure(name):
    """Prints the row of a setting."""
    variables, collectives = SETTINGS[name]
    with tempfile.TemporaryDirectory() as path:
        folder = pathlib.Path(path)
        environment = os.environ | variables | {
            "RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0",
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()),
            "TORCH_NCCL_DEBUG_INFO_PIPE_FILE": str(folder / "flight_"),
            "TORCH_FR_DUMP_TEMP_FILE": str(folder / "flight_"), "TORCH_FR_BUFFER_SIZE": "2000",
        }
        program = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(collectives)], env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        begun = program.stdout.readline().split()
        if not begun:
            print(f"| {name} | the program failed with {program.wait()} |", flush=True)
            return
        (first, size, entries), (second, _, _) = dump(folder), dump(folder)
        imported, _ = program.communicate("x")
        print(f"| {name} | {first:.2f} | {second:.2f} | {entries} | {size / 1e6:.2f} | {begun[1]} | "
              f"{imported.strip()} |", flush=True)


def import_time():
    """Prints what importing torch._inductor takes. At the end: it has been read from the disk before."""
    import torch

    begun = time.monotonic()
    import torch._inductor  # noqa: F401

    print(f"\nPyTorch {torch.__version__}, Python {sys.version.split()[0]}: "
          f"importing torch._inductor takes {time.monotonic() - begun:.2f} s")


def main():
    print("| setting | first dump, s | second dump, s | entries | MB | torch._inductor before | and after |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for name in sys.argv[1:] or SETTINGS:
        measure(name)
    import_time()


if __name__ == "__main__":
    main()
