// allgather, push: every rank stores its part to all.
//
// Algorithm:
//   1. meet the same block of all ranks
//   2. load the own part once, store it to every rank's output
//   3. meet again
//
// Buffers: the outputs lie in symmetric memory at the same offset; the input is
// local. In place, the input is the own part of the output, which then gets the
// same bytes again.
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
  const Buffer from(p.peers[p.rank] + p.send_offset, p.bytes);
  const int64_t part = p.recv_offset + p.rank * p.bytes;
  each_vec(from, 0, vecs_in(p.bytes), [&](int64_t i, Vec v) {
    each_rank<0, 0>(p, [&](uint32_t r) { store_bytes(Buffer(p.peers[r] + part, p.bytes), i, v); });
  });
  epochs.finish(p.world);
}

ENTRY(allgather_push, push)
