// allgather, pull: every rank loads its peers' parts.
//
// Algorithm:
//   1. barrier with the same block of all ranks
//   2. copy every rank's part to the output, beginning with the next rank's, so that
//      not all ranks load from the same one first
//   3. barrier again
//
// Buffers: the inputs lie in symmetric memory, on each next rank send_step further on;
// the output is local. In place, the input is this rank's part of the output and is not
// copied.
//
// Memory order: barrier 1 publishes the inputs; barrier 3 says that they have been read.
//
// The caller gives the same bytes and grid on all ranks, a grid of at most
// kMaxBlocks blocks that are all resident, and blocks of a multiple of 32
// threads. Any count and alignment. sm_80 and up, up to kMaxRanks ranks.

#include "../device/barrier.cuh"
#include "../device/copy.cuh"
#include "../device/entries.cuh"

FORCE_INLINE __device__ void pull(const Params& p) {
  Epochs epochs(p);
  if (!epochs.sync_first(p.world)) return;
  for (uint32_t k = 0; k < p.world; k++) {
    const uint32_t r = p.rank + k + 1 < p.world ? p.rank + k + 1 : p.rank + k + 1 - p.world;
    const Buffer from(p.peers[r] + p.send_offset + ((int64_t)r - p.rank) * p.send_step, p.bytes);
    const Buffer to(p.peers[p.rank] + p.recv_offset + r * p.bytes, p.bytes);
    if (from.address == to.address) continue;
    each_vec(from, 0, vecs_in(p.bytes), [&](int64_t i, Vec v) { store_bytes(to, i, v); });
  }
  epochs.sync_last(p.world);
}

ENTRY(allgather_pull, pull)
