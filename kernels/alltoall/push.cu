// alltoall, push: every rank stores each peer's part of its input to that peer.
//
// Algorithm:
//   1. meet the same block of all ranks
//   2. copy part r of the own input to the own place in rank r's output, beginning
//      with the next rank, so that not all store to the same one
//   3. meet again
//
// Buffers: the outputs lie in symmetric memory at the same offset; the input is
// local and must not be the output.
//
// Memory order: barrier 1 says that the outputs may be overwritten, barrier 3
// publishes what this block pushed.
//
// The caller gives the same bytes and grid on all ranks, a grid of at most
// kMaxBlocks blocks that are all resident, and blocks of a multiple of 32
// threads. Any count and alignment. sm_80 and up, up to kMaxRanks ranks.

#include "../device/barrier.cuh"
#include "../device/copy.cuh"
#include "../device/entries.cuh"

FORCE_INLINE __device__ void push(const Params& p) {
  Epochs epochs(p);
  if (!epochs.start(p.world)) return;
  for (uint32_t k = 0; k < p.world; k++) {
    const uint32_t r = p.rank + k + 1 < p.world ? p.rank + k + 1 : p.rank + k + 1 - p.world;
    const Buffer from(p.peers[p.rank] + p.send_offset + r * p.bytes, p.bytes);
    const Buffer to(p.peers[r] + p.recv_offset + p.rank * p.bytes, p.bytes);
    each_vec(from, 0, vecs_in(p.bytes), [&](int64_t i, Vec v) { store_bytes(to, i, v); });
  }
  epochs.finish(p.world);
}

ENTRY(alltoall_push, push)
