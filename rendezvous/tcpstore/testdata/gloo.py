"""The ranks of a job with Gloo: they meet by the agent's store, reduce, and meet again.

Each rank is a fork of this process, which has imported PyTorch: to import it takes a second.
"""

import datetime
import multiprocessing
import os
import sys

import torch
import torch.distributed as dist


def run(rank, world):
    os.environ["RANK"] = str(rank)
    dist.init_process_group("gloo", init_method="env://", timeout=datetime.timedelta(seconds=90))
    assert (dist.get_rank(), dist.get_world_size()) == (rank, world)
    for step in range(3):
        x = torch.full((1000,), float(rank + step))
        dist.all_reduce(x)
        want = sum(r + step for r in range(world))
        assert bool((x == want).all()), (step, x[0], want)
        dist.barrier()
    dist.destroy_process_group()


world = int(os.environ["WORLD_SIZE"])
fork = multiprocessing.get_context("fork")
ranks = [fork.Process(target=run, args=(rank, world)) for rank in range(world)]
for process in ranks:
    process.start()
for process in ranks:
    process.join()
sys.exit(any(process.exitcode for process in ranks))
