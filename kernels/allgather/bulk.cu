// allgather, bulk: every rank stores its part to all ranks, by bulk copies.
//
// Algorithm:
//   1. barrier with the same block of all ranks
//   2. one thread copies chunks of this rank's part to shared memory, and from there to
//      every rank's output, beginning with the next rank's; all threads copy the rest
//      that is not whole, aligned vectors
//   3. barrier again
//
// Buffers: the outputs lie in symmetric memory at the same offset; the input is
// local. In place, the input is this rank's part of the output, which is then not
// written.
//
// Memory order: barrier 1 allows the outputs to be overwritten. The thread waits until
// its stores have been written; barrier 3 publishes them.
//
// The caller gives the same bytes, tile_bytes of at most kBulkStageBytes, and grid
// on all ranks, a grid of at most kMaxBlocks blocks that are all resident, blocks of a
// multiple of 32 threads, and kBulkSharedBytes of shared memory. Any count and
// alignment. sm_90 and up, up to kMaxRanks ranks.

#include "../device/barrier.cuh"
#include "../device/bulk.cuh"
#include "../device/copy.cuh"
#include "../device/entries.cuh"
#include "../device/part.cuh"

FORCE_INLINE __device__ void bulk(const Params& p) {
  Epochs epochs(p);
  if (!epochs.sync_first(p.world)) return;
  const Buffer from(p.peers[p.rank] + p.send_offset, p.bytes);
  const int64_t part = p.recv_offset + p.rank * p.bytes;
  const auto each_destination = [&](auto f) {
    each_rank_from_next(p, [&](uint32_t r) {
      if (p.peers[r] + part != from.address) f(p.peers[r] + part);
    });
  };
  const int64_t vecs = is_aligned(part) ? from.whole : 0;
  if (thread_id() == 0) bulk_copy(p, from.address, vecs * kVecBytes, each_destination);
  each_vec(from, vecs, vecs_in(p.bytes), [&](int64_t i, Vec v) {
    each_destination([&](uint64_t to) { store_bytes(Buffer(to, p.bytes), i, v); });
  });
  epochs.sync_last(p.world);
}

ENTRY(allgather_bulk, bulk)
