// alltoall, push: every rank stores each peer's part of its input to that peer.
//
// Algorithm:
//   1. barrier with the same block of all ranks
//   2. store part r of the input to this rank's part of rank r's output, beginning with
//      the next rank, so that not all ranks store to the same one first
//   3. barrier again
//
// Buffers: the outputs lie in symmetric memory at the same offset; the input is
// local and must not be the output.
//
// Memory order: barrier 1 allows the outputs to be overwritten; barrier 3 publishes
// what this block stored.
//
// The caller gives the same bytes and grid on all ranks, a grid of at most
// kMaxBlocks blocks that are all resident, and blocks of a multiple of 32
// threads. Any count and alignment. sm_80 and up, up to kMaxRanks ranks.

#include "../device/barrier.cuh"
#include "../device/copy.cuh"
#include "../device/entries.cuh"

FORCE_INLINE __device__ void push(const Params& p) {
  Epochs epochs(p);
  if (!epochs.sync_first(p.world)) return;
  for (uint32_t k = 0; k < p.world; k++) {
    const uint32_t r = p.rank + k + 1 < p.world ? p.rank + k + 1 : p.rank + k + 1 - p.world;
    const Buffer from(p.peers[p.rank] + p.send_offset + r * p.bytes, p.bytes);
    const Buffer to(p.peers[r] + p.recv_offset + p.rank * p.bytes, p.bytes);
    each_vec(from, 0, vecs_in(p.bytes), [&](int64_t i, Vec v) { store_bytes(to, i, v); });
  }
  epochs.sync_last(p.world);
}

ENTRY(alltoall_push, push)
