"""Runs a script with a stand-in for PyTorch's symmetric memory, on CPUs.

    python3 symmetric.py SCRIPT [ARGUMENT...]

The memory is a file that all ranks map, and Gloo is the barrier. Operators have PyTorch's schemas, so that it
checks how they are called. FAKE_WRONG names one whose results are wrong.
"""

import os
import runpy
import sys
import types

import torch
import torch.distributed as dist

SCHEMAS = (
    "one_shot_all_reduce_out(Tensor input, str reduce_op, str group_name, Tensor(a!) out) -> Tensor(a!)",
    "two_shot_all_reduce_(Tensor(a!) input, str reduce_op, str group_name) -> Tensor(a!)",
    "two_shot_all_reduce_out(Tensor(a!) input, str reduce_op, str group_name, Tensor(b!) output) -> Tensor(b!)",
    "reduce_scatter_out(Tensor(a!) input, str group_name, bool split_last_dim, Tensor(b!) output) -> Tensor(b!)",
)
GROUP = "world"
handles = {}


def barrier():
    dist.all_reduce(torch.zeros(1))


class Handle:
    def __init__(self, memories):
        self.memories = memories

    def get_buffer(self, rank, sizes, dtype, storage_offset=0):
        (length,) = sizes
        return self.memories[rank].view(dtype)[storage_offset : storage_offset + length]

    def barrier(self, channel=0, timeout_ms=0):
        barrier()


def path(rank):
    return os.path.join(os.environ["FAKE_FOLDER"], str(rank))


def mapped(rank, nbytes):
    return torch.from_file(path(rank), shared=True, size=nbytes, dtype=torch.uint8)


def empty(nbytes, dtype, device):
    with open(path(dist.get_rank()), "wb") as file:
        file.truncate(nbytes)
    return mapped(dist.get_rank(), nbytes)


def rendezvous(memory, group):
    barrier()
    found = [memory if rank == dist.get_rank() else mapped(rank, len(memory)) for rank in range(dist.get_world_size())]
    handles[memory.data_ptr()] = Handle(found)
    return handles[memory.data_ptr()]


def total(memory, name, op, group):
    if op != "sum" or group != GROUP or memory.dtype not in (torch.bfloat16, torch.float32):
        raise RuntimeError(f"not implemented for '{memory.dtype}'")
    barrier()
    peers = handles[memory.data_ptr()].memories
    found = sum(peer.view(memory.dtype)[: len(memory)].float() for peer in peers)
    barrier()
    return (found + (name == os.environ.get("FAKE_WRONG"))).to(memory.dtype)


def reduced(name):
    def op(memory, reduce_op, group, out=None):
        return (memory if out is None else out).copy_(total(memory, name, reduce_op, group))

    return op


def scattered(memory, group, split_last_dim, out):
    return out.copy_(total(memory, "reduce_scatter_out", "sum", group).chunk(dist.get_world_size())[dist.get_rank()])


def rms_norm(x, shape, weight, eps):
    x = x.float()
    return (x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight).to(weight.dtype)


def all_gather_into_tensor(out, mine):
    dist.all_gather(list(out.chunk(dist.get_world_size())), mine)


def main():
    module = types.ModuleType("torch.distributed._symmetric_memory")
    module.empty, module.rendezvous = empty, rendezvous
    sys.modules[module.__name__] = dist._symmetric_memory = module
    dist.group = types.SimpleNamespace(WORLD=types.SimpleNamespace(group_name=GROUP))
    # Of newer versions than PyTorch 1.13.
    torch.nn.functional.rms_norm, dist.all_gather_into_tensor = rms_norm, all_gather_into_tensor
    library = torch.library.Library("symm_mem", "DEF")
    for schema in SCHEMAS:
        name = schema.split("(")[0]
        library.define(schema)
        library.impl(name, scattered if name == "reduce_scatter_out" else reduced(name), "CPU")
    sys.argv = sys.argv[1:]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
