#!/usr/bin/env python3
"""Times PyTorch's products of matrices that are spread over GPUs, and checks them.

    gpurun --nproc-per-node 4 -- python3 scripts/matmul-peers.py --out torch.json

B is a linear layer's weight: N rows of K elements. What is timed, in bfloat16:

    allgather-matmul      matmul    torch.mm of what is gathered already: a floor
                          nccl      all_gather_into_tensor, then torch.mm
                          fused     torch.ops.symm_mem.fused_all_gather_matmul, without
                                    keeping what was gathered
                          native    the same in one kernel, which PyTorch has for
                                    more than 2048 and up to 4096 rows
    matmul-reducescatter  matmul    torch.mm of the rank's own matrices: a floor
                          nccl      torch.mm, then reduce_scatter_tensor
                          fused     torch.ops.symm_mem.fused_matmul_reduce_scatter
    matmul-allreduce      matmul    as above
                          nccl      torch.mm, then all_reduce

All of an operation take turns for --rounds rounds. A sample is --calls calls between
two CUDA events, on the slowest rank. The environment is left as it is: whether NCCL and
symmetric memory use multicast is the caller's choice. What PyTorch refuses is a row that
says why. Made for PyTorch 2.11; 2.6 is the first that has these operations.
"""

import argparse
import json
import os
import statistics

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm_mem

# A result is rounded to 8 bits of mantissa, a sum of ranks' products twice; NCCL rounds
# after each addition.
TOLERANCE = 1e-2
NATIVE = "TORCH_SYMM_MEM_ENABLE_NATIVE_ASYNC_TP"


def main():
    args = arguments()
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    torch.backends.cuda.matmul.allow_tf32 = False  # of the reference
    dist.init_process_group("nccl", device_id=device)
    group = dist.group.WORLD.group_name
    if hasattr(symm_mem, "enable_symm_mem_for_group"):  # newer versions need no such call
        symm_mem.enable_symm_mem_for_group(group)
    results = []
    for m, n, k in args.shapes:
        if m % world:
            raise SystemExit(f"M of {m} is no multiple of {world} ranks")
        for operation in OPERATIONS:
            contestants, want = operation(m, n, k, rank, world, group, device)
            results += measure(args, operation.__name__.replace("_", "-"), (m, n, k), contestants, want)
            del contestants, want
            torch.cuda.empty_cache()
            if rank == 0:  # each time, so that a later case that hangs does not take it along
                write(args.out, world, results)
    dist.destroy_process_group()
    wrong = [f"{r['collective']} {r['algorithm']} {r['product']}" for r in results if r.get("wrong")]
    if wrong:
        raise SystemExit("wrong results: " + "; ".join(wrong))


def arguments():
    shapes = [(m, n, k) for n, k in ((6656, 16384), (3584, 8192), (8192, 8192)) for m in (1024, 2048, 4096, 8192)]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="file for the results, as JSON")
    parser.add_argument("--shapes", type=shape, nargs="+", default=shapes, metavar="M,N,K")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--calls", type=int, default=10)
    return parser.parse_args()


def shape(text):
    m, n, k = (int(word) for word in text.split(","))
    return m, n, k


def matrices(rows, n, k, rank, device):
    """A has rows x k random elements of its own on every rank, B is k x n by columns."""
    generator = torch.Generator(device).manual_seed(1000 + rank)
    a = torch.randn(rows, k, generator=generator, device=device).to(torch.bfloat16)
    b = torch.randn(n, k, generator=generator, device=device).to(torch.bfloat16).t()
    return a, b


def allgather_matmul(m, n, k, rank, world, group, device):
    shard, b = matrices(m // world, n, k, rank, device)
    full = torch.empty(m, k, dtype=shard.dtype, device=device)
    dist.all_gather_into_tensor(full, shard)
    gathered, c = torch.empty_like(full), torch.empty(m, n, dtype=shard.dtype, device=device)

    def nccl():
        dist.all_gather_into_tensor(gathered, shard)
        return torch.mm(gathered, b, out=c)

    def fused():  # keeps the gathered A, as gpurun does
        _, products = torch.ops.symm_mem.fused_all_gather_matmul(shard, [b], gather_dim=0, group_name=group, return_A=True)
        return products[0]

    def native():
        os.environ[NATIVE] = "1"  # PyTorch looks at each call
        try:
            return fused()
        finally:
            del os.environ[NATIVE]

    contestants = {"matmul": lambda: torch.mm(full, b, out=c), "nccl": nccl, "fused": fused}
    if 2048 < m <= 4096:
        contestants["native"] = native
    want = full.float() @ b.float()
    return contestants, {name: want for name in contestants}


def matmul_reducescatter(m, n, k, rank, world, group, device):
    a, b = matrices(m, n, k, rank, device)
    c = torch.empty(m, n, dtype=a.dtype, device=device)
    part = torch.empty(m // world, n, dtype=a.dtype, device=device)

    def nccl():
        dist.reduce_scatter_tensor(part, torch.mm(a, b, out=c))
        return part

    def fused():
        return torch.ops.symm_mem.fused_matmul_reduce_scatter(a, b, "sum", scatter_dim=0, group_name=group)

    product = a.float() @ b.float()
    want = torch.empty(m // world, n, device=device)
    dist.reduce_scatter_tensor(want, product)
    contestants = {"matmul": lambda: torch.mm(a, b, out=c), "nccl": nccl, "fused": fused}
    return contestants, {"matmul": product, "nccl": want, "fused": want}


def matmul_allreduce(m, n, k, rank, world, group, device):
    a, b = matrices(m, n, k, rank, device)
    c = torch.empty(m, n, dtype=a.dtype, device=device)

    def nccl():
        dist.all_reduce(torch.mm(a, b, out=c))
        return c

    product = a.float() @ b.float()
    want = product.clone()
    dist.all_reduce(want)
    return {"matmul": lambda: torch.mm(a, b, out=c), "nccl": nccl}, {"matmul": product, "nccl": want}


OPERATIONS = (allgather_matmul, matmul_reducescatter, matmul_allreduce)


def measure(args, operation, dimensions, contestants, want):
    m, n, k = dimensions
    row = {"collective": operation, "dtype": "bfloat16", "mode": "stream"}
    results, errors, samples = [], {}, {}
    for name, call in contestants.items():
        errors[name], problem = first(call, want[name])
        if problem:
            results.append({**row, "algorithm": name, "product": {"m": m, "n": n, "k": k}, "unavailable": problem})
        else:
            samples[name] = []
    for _ in range(args.rounds):
        for name in samples:
            samples[name].append(sample(contestants[name], args.calls))
    for name, times in samples.items():
        relative = max(errors[name], error(contestants[name](), want[name]))
        results.append({
            **row, "algorithm": name, "product": {"m": m, "n": n, "k": k, "relative_error": relative},
            "time_us": {"min": min(times), "p50": statistics.median(times), "max": max(times)}, "samples_us": times,
            "wrong": relative > TOLERANCE,
        })
    return results


def first(call, want):
    """The error of a first call, in which libraries connect and allocate, and why there is none on some rank."""
    got, problem = None, ""
    try:
        got = call()
        torch.cuda.synchronize()
    except Exception as refused:
        problem = f"{type(refused).__name__}: {(str(refused).strip() or 'no message').splitlines()[0][:200]}"
    if slowest(float(bool(problem))):
        return None, problem or "another rank could not"
    return error(got, want), ""


def sample(call, calls):
    """Microseconds of one call on the slowest rank."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    dist.barrier()
    call()  # untimed: ranks leave the barrier apart, and the first call finds cold caches
    start.record()
    for _ in range(calls):
        call()
    end.record()
    end.synchronize()
    return slowest(start.elapsed_time(end) * 1e3 / calls)


def error(got, want):
    """The relative error by the Frobenius norm, the greatest of all ranks'; no number is as bad as can be."""
    relative = ((got.float() - want).norm() / want.norm()).item()
    return slowest(relative if relative == relative else 1e9)


def slowest(value):
    """The greatest value of all ranks."""
    all_values = torch.tensor([value], dtype=torch.float64, device="cuda")
    dist.all_reduce(all_values, op=dist.ReduceOp.MAX)
    return all_values.item()


def write(path, world, results):
    report = {
        "program": f"PyTorch {torch.__version__}", "nccl": ".".join(map(str, torch.cuda.nccl.version())),
        "device": torch.cuda.get_device_name(), "world_size": world, "results": results,
    }
    with open(path + ".new", "w") as file:
        json.dump(report, file, indent=1)
        file.write("\n")
    os.replace(path + ".new", path)


if __name__ == "__main__":
    main()
