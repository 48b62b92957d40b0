// allgather, push: every rank stores its part to all ranks.
//
// Algorithm:
//   1. barrier with the same block of all ranks
//   2. load this rank's part once, store it to every rank's output
//   3. barrier again
//
// Buffers: the outputs lie in symmetric memory at the same offset; the input is
// local. In place, the input is this rank's part of the output, which then gets the
// same bytes again.
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
  const Buffer from(p.peers[p.rank] + p.send_offset, p.bytes);
  const int64_t part = p.recv_offset + p.rank * p.bytes;
  each_vec(from, 0, vecs_in(p.bytes), [&](int64_t i, Vec v) {
    each_rank<0, 0>(p, [&](uint32_t r) { store_bytes(Buffer(p.peers[r] + part, p.bytes), i, v); });
  });
  epochs.sync_last(p.world);
}

ENTRY(allgather_push, push)
