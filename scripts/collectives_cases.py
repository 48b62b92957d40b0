"""What collectives-peers.py times: PyTorch's collectives, their inputs, and what must come out."""

import os

import torch
import torch.distributed as dist

CUDA = torch.cuda.is_available()
BACKEND = "nccl" if CUDA else "gloo"
ROOT = 0
EPSILON = 1e-5


def numbers(rank, length, device):
    """The input of a rank: integers so small that 16-bit floats hold the sum of 8 ranks' exactly."""
    at = torch.arange(length, dtype=torch.int32, device=device)
    return ((at * 5 + rank * 7) % 23 - 11).float()


class Symmetric:
    """Symmetric memory of the same size on all ranks; missing says why there is none."""

    def __init__(self, nbytes, device):
        self.missing, self.multicast = "", os.environ.get("TORCH_SYMM_MEM_DISABLE_MULTICAST", "0") in ("", "0")
        try:
            import torch.distributed._symmetric_memory as symm_mem

            self.group = dist.group.WORLD.group_name
            self.memory = symm_mem.empty(nbytes, dtype=torch.uint8, device=device)
            self.handle = symm_mem.rendezvous(self.memory, self.group)
        except Exception as problem:
            self.missing = reason(problem)
            self.memory = None

    def view(self, dtype, length):
        return self.memory.view(dtype)[:length]

    def peer(self, rank, dtype, length, offset=0):
        return self.handle.get_buffer(rank, (length,), dtype, offset)

    def barrier(self):
        self.handle.barrier(channel=0)


class Case:
    """A row: its buffers, and how many elements a rank's part has."""

    def __init__(self, bench, collective, dtype, nbytes, hidden):
        self.rank, self.world, self.device = bench.rank, bench.world, bench.device
        self.symmetric, self.dtype, self.hidden = bench.symmetric, dtype, hidden
        parts = self.world if collective in ("allgather", "reducescatter", "alltoall", "gather", "scatter") else 1
        # Parts are cut to whole vectors of 16 bytes, as gpurun's are.
        self.part = (nbytes // parts // 16 * 16 if parts > 1 else nbytes) // element_size(dtype)
        self.total = self.part * parts
        self.source, self.result = (memory.view(dtype)[: self.total] for memory in (bench.source, bench.result))

    def shared(self, length):
        return self.symmetric.view(self.dtype, length)

    def input(self, rank, length):
        return numbers(rank, length, self.device)

    def sum(self, length):
        return sum(self.input(rank, length) for rank in range(self.world))

    def mine(self, whole):
        return whole[self.rank * self.part : (self.rank + 1) * self.part]

    def peers(self):
        """All ranks, from the next one on: so that they do not all ask the same one first."""
        return [(self.rank + step) % self.world for step in range(1, self.world + 1)]

    def pull(self, pieces):
        """Copies pieces, each a target and a source, once all ranks are there; no rank leaves before all are done."""
        self.symmetric.barrier()
        for target, source in pieces:
            target.copy_(source)
        self.symmetric.barrier()


# Each collective returns what the result must be in 32-bit floats, or None, and its contestants: by
# name, the buffer that the input goes to, and a call that returns the result. Those of symmetric
# memory come as functions, since there may be none.


def allreduce(case):
    c, x, ops = case, case.source, torch.ops.symm_mem
    group = getattr(c.symmetric, "group", None)

    def in_place(name):
        def enter():
            op, shared = getattr(ops, name), c.shared(c.part)
            return shared, lambda: op(shared, "sum", group)

        return enter

    def out(name):
        def enter():
            op, shared = getattr(ops, name), c.shared(c.part)
            return shared, lambda: op(shared, "sum", group, c.result)

        return enter

    found = {
        BACKEND: (x, lambda: also(dist.all_reduce(x), x)),
        "one_shot": out("one_shot_all_reduce_out"),
        "two_shot_": in_place("two_shot_all_reduce_"),
        "two_shot": out("two_shot_all_reduce_out"),
    }
    if c.symmetric.multicast:
        found["multimem_one_shot"] = out("multimem_one_shot_all_reduce_out")
        found["multimem_"] = in_place("multimem_all_reduce_")
    return c.sum(c.part), found


def allgather(case):
    c, mine = case, case.source[: case.part]
    group = getattr(c.symmetric, "group", None)

    def copies():
        pieces = [(part_of(c.result, r, c.part), c.symmetric.peer(r, c.dtype, c.part)) for r in c.peers()]
        return c.shared(c.part), lambda: also(c.pull(pieces), c.result)

    def multimem():  # it is the output that lies in symmetric memory
        op, shared = torch.ops.symm_mem.multimem_all_gather_out, c.shared(c.total)
        return mine, lambda: op(mine, group, shared)

    found = {BACKEND: (mine, lambda: also(dist.all_gather_into_tensor(c.result, mine), c.result)), "copies": copies}
    if c.symmetric.multicast:
        found["multimem"] = multimem
    return torch.cat([c.input(r, c.part) for r in range(c.world)]), found


def reducescatter(case):
    c, out = case, case.result[: case.part]
    group = getattr(c.symmetric, "group", None)

    def two_shot():
        op, shared = torch.ops.symm_mem.reduce_scatter_out, c.shared(c.total)
        return shared, lambda: op(shared, group, False, out)

    found = {
        BACKEND: (c.source, lambda: also(dist.reduce_scatter_tensor(out, c.source), out)),
        "two_shot": two_shot,
    }
    return c.mine(c.sum(c.total)), found


def alltoall(case):
    c = case

    def copies():
        pieces = [(part_of(c.result, r, c.part), c.symmetric.peer(r, c.dtype, c.part, c.rank * c.part)) for r in c.peers()]
        return c.shared(c.total), lambda: also(c.pull(pieces), c.result)

    found = {BACKEND: (c.source, lambda: also(dist.all_to_all_single(c.result, c.source), c.result)), "copies": copies}
    return torch.cat([c.mine(c.input(r, c.total)) for r in range(c.world)]), found


def broadcast(case):
    c, x = case, case.source

    def copies():
        target = c.shared(c.part) if c.rank == ROOT else c.result
        pieces = [] if c.rank == ROOT else [(target, c.symmetric.peer(ROOT, c.dtype, c.part))]
        return c.shared(c.part), lambda: also(c.pull(pieces), target)

    found = {BACKEND: (x if c.rank == ROOT else None, lambda: also(dist.broadcast(x, ROOT), x)), "copies": copies}
    return c.input(ROOT, c.part), found


def reduce(case):
    x = case.source
    want = case.sum(case.part) if case.rank == ROOT else None
    return want, {BACKEND: (x, lambda: also(dist.reduce(x, ROOT), x))}


def gather(case):
    c, mine, root = case, case.source[: case.part], case.rank == ROOT
    parts = [part_of(c.result, r, c.part) for r in range(c.world)] if root else None

    def copies():
        pieces = [(parts[r], c.symmetric.peer(r, c.dtype, c.part)) for r in c.peers()] if root else []
        return c.shared(c.part), lambda: also(c.pull(pieces), c.result)

    want = torch.cat([c.input(r, c.part) for r in range(c.world)]) if root else None
    return want, {BACKEND: (mine, lambda: also(dist.gather(mine, parts, ROOT), c.result)), "copies": copies}


def scatter(case):
    c, out, root = case, case.result[: case.part], case.rank == ROOT
    parts = [part_of(c.source, r, c.part) for r in range(c.world)] if root else None

    def copies():
        pieces = [(out, c.symmetric.peer(ROOT, c.dtype, c.part, c.rank * c.part))]
        return c.shared(c.total), lambda: also(c.pull(pieces), out)

    return c.mine(c.input(ROOT, c.total)), {BACKEND: (c.source, lambda: also(dist.scatter(out, parts, ROOT), out)), "copies": copies}


def barrier(case):
    # dist.barrier reduces one element and waits for it on the host, which a graph cannot.
    x = case.source
    return None, {
        BACKEND: (None, lambda: dist.all_reduce(x)),
        "barrier": lambda: (None, case.symmetric.barrier),
    }


COLLECTIVES = {f.__name__: f for f in (allreduce, allgather, reducescatter, alltoall, broadcast, reduce, gather, scatter, barrier)}


def normalized(case):
    """Contestants of allreduce, with what follows it."""
    c = case
    weight, residual = c.input(c.world, c.hidden).to(c.dtype), c.input(c.world + 1, c.part).to(c.dtype).view(-1, c.hidden)
    sums = torch.empty_like(residual)

    def norm(x):
        torch.add(x.view(-1, c.hidden), residual, out=sums)
        return torch.nn.functional.rms_norm(sums, (c.hidden,), weight, EPSILON)

    def followed(contestant):
        if not callable(contestant):
            source, call = contestant
            return source, lambda: norm(call())

        def enter():
            source, call = contestant()
            return source, lambda: norm(call())

        return enter

    total, found = allreduce(c)
    want = total.view(-1, c.hidden) + residual.float()
    want = want * torch.rsqrt(want.square().mean(1, keepdim=True) + EPSILON) * weight.float()
    alone = total.to(c.dtype)
    return want, {**{name: followed(x) for name, x in found.items()}, "norm": (None, lambda: norm(alone))}


def part_of(whole, rank, part):
    return whole[rank * part : (rank + 1) * part]


def also(_, result):
    return result


def element_size(dtype):
    return torch.empty(0, dtype=dtype).element_size()


def reason(problem):
    text = (str(problem).strip() or "no message").splitlines()[0]
    return f"{type(problem).__name__}: {text[:200]}"
