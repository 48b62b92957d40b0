// broadcast, bulk: every rank but the root loads its share of the root's data and stores
// it to all ranks but the root, by bulk copies. No link carries more than the data once.
//
// Algorithm:
//   1. barrier with the same block of all ranks
//   2. one thread copies chunks of this rank's 1/(n-1) share of the root's input to shared
//      memory, and from there to every output but the root's, beginning with the next
//      rank's; the root copies its input to its output; what is not whole, aligned vectors
//      is copied by ordinary loads and stores of all threads
//   3. barrier again
//
// Buffers: input and output lie in symmetric memory at the same offsets on all
// ranks, and may be the same. Only the root's input is read.
//
// Memory order: barrier 1 publishes the input and allows the outputs to be overwritten.
// The thread waits until its stores have been written; barrier 3 publishes them.
//
// The caller gives the same bytes, tile_bytes of at most kBulkStageBytes, root and
// grid on all ranks, a grid of at most kMaxBlocks blocks that are all resident, blocks
// of a multiple of 32 threads, and kBulkSharedBytes of shared memory. Any count and
// alignment. sm_90 and up, up to kMaxRanks ranks.

#include "../device/barrier.cuh"
#include "../device/bulk.cuh"
#include "../device/copy.cuh"
#include "../device/entries.cuh"
#include "../device/part.cuh"

// Calls copy(begin, end, outputs) with this rank's share of vectors [begin, end) and the outputs that it stores to.
template <typename Copy>
FORCE_INLINE __device__ void move_share(const Params& p, int64_t begin, int64_t end, Copy copy) {
  const auto outputs = [&](auto f) {
    if (p.rank == p.root) return f(p.peers[p.rank] + p.recv_offset);
    each_rank_from_next(p, [&](uint32_t r) {
      if (r != p.root) f(p.peers[r] + p.recv_offset);
    });
  };
  Range share = share_beside_root(end - begin, p);
  if (p.rank == p.root) share = {0, p.send_offset == p.recv_offset ? 0 : end - begin};
  copy(begin + share.begin, begin + share.end, outputs);
}

FORCE_INLINE __device__ void bulk(const Params& p) {
  Epochs epochs(p);
  if (!epochs.sync_first(p.world)) return;
  const Buffer from(p.peers[p.root] + p.send_offset, p.bytes);
  const int64_t vecs = is_aligned(p.recv_offset) ? from.whole : 0;
  move_share(p, 0, vecs, [&](int64_t begin, int64_t end, auto outputs) {
    const int64_t at = begin * kVecBytes;
    if (thread_id() != 0) return;
    bulk_copy(p, from.address + at, (end - begin) * kVecBytes, [&](auto f) { outputs([&](uint64_t to) { f(to + at); }); });
  });
  move_share(p, vecs, vecs_in(p.bytes), [&](int64_t begin, int64_t end, auto outputs) {
    each_vec(from, begin, end, [&](int64_t i, Vec v) {
      outputs([&](uint64_t to) { store_bytes(Buffer(to, p.bytes), i, v); });
    });
  });
  epochs.sync_last(p.world);
}

ENTRY(broadcast_bulk, bulk)
