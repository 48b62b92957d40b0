#!/usr/bin/env python3
"""A training job of PyTorch's that checks itself: collectives, and DistributedDataParallel.

    gpurun --standalone --nproc-per-node 4 scripts/train-ddp.py
    gpurun --standalone --nproc-per-node 4 --max-restarts 1 scripts/train-ddp.py crash

By NCCL on a GPU for each rank, or by Gloo where there are none. With "crash" the last
rank exits with 7 in the first attempt.
"""

import os
import sys

import torch
import torch.distributed as dist


def main():
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
    total = torch.tensor([rank + 1], device=device)
    dist.all_reduce(total)
    if total.item() != world * (world + 1) // 2:
        raise SystemExit(f"rank {rank}: the ranks' numbers from 1 to {world} sum to {total.item()}")
    dist.barrier()
    if sys.argv[1:] == ["crash"] and attempt == "0" and rank == world - 1:
        os._exit(7)  # at once: were connections closed first, another rank could fail before this one has
    train(rank, world, device)
    store = os.environ["TORCHELASTIC_USE_AGENT_STORE"]
    print(f"rank {rank} of {world} sums {total.item()} by the agent's store: {store}, in attempt {attempt}", flush=True)
    dist.destroy_process_group()


def train(rank, world, device):
    """Ranks see different data, and still end with the same weights."""
    ids = [device.index] if device.type == "cuda" else None
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 2).to(device), device_ids=ids)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.full((2, 4), float(rank), device=device)).sum().backward()
        optimizer.step()
    weights = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
    everybodys = [torch.zeros_like(weights) for _ in range(world)]
    dist.all_gather(everybodys, weights)
    if not all(torch.equal(w, weights) for w in everybodys):
        raise SystemExit(f"rank {rank}: weights differ between ranks: {everybodys}")


if __name__ == "__main__":
    main()
