"""A rank of a job with Gloo: meet by the agent's store, reduce, meet again."""

import datetime
import os

import torch
import torch.distributed as dist

dist.init_process_group("gloo", init_method="env://", timeout=datetime.timedelta(seconds=90))
rank, world = dist.get_rank(), dist.get_world_size()
assert (rank, world) == (int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))

for step in range(3):
    x = torch.full((1000,), float(rank + step))
    dist.all_reduce(x)
    want = sum(r + step for r in range(world))
    assert bool((x == want).all()), (step, x[0], want)
    dist.barrier()

dist.destroy_process_group()
