// Bulk copies: whole chunks move between global and shared memory beside the
// threads, and one thread of a block begins them. A few blocks keep the links busy.
//
// A Ring is the block's kBulkStages stages of shared memory. One thread loads chunks
// into them ahead of their use, and stores what is to go out of them to any number of
// places. A stage is loaded again when the stores that read it have done so.
//
// Memory order: copies go through the asynchronous proxy. What the thread has
// acquired is behind a fence before its first load. That a load has ended, an mbarrier
// tells. That stores have been written, and not only read, bulk_copy waits for at its
// end: a barrier of the ranks after it publishes them.
//
// Addresses, of shared memory as well, and sizes are multiples of kVecBytes. sm_90
// and up; the launch gives kBulkSharedBytes of shared memory.
#pragma once

#include "bulkcopy.cuh"
#include "mbarrier.cuh"
#include "params.cuh"
#include "shared.cuh"
#include "vector.cuh"

constexpr int kBulkAhead = kBulkStages / 2; // chunks loaded before their turn

// Chunks are so many bytes that the blocks of the grid take in turn, each as many as
// `chunk` has; the last one may be short.
struct Chunks {
  int64_t bytes, chunk;

  FORCE_INLINE __device__ int64_t begin(int64_t k) const { return (block_id() + k * grid_blocks()) * chunk; }
  FORCE_INLINE __device__ uint32_t size(int64_t k) const {
    const int64_t left = bytes - begin(k);
    return left < chunk ? (uint32_t)left : (uint32_t)chunk;
  }
  // How many fall to this block.
  FORCE_INLINE __device__ int64_t count() const {
    const int64_t all = (bytes + chunk - 1) / chunk, before = block_id();
    return before < all ? (all - before - 1) / grid_blocks() + 1 : 0;
  }
};

class Ring {
 public:
  // By one thread, before the others meet it and wait for chunks.
  FORCE_INLINE __device__ void init() const {
#pragma unroll
    for (int s = 0; s < kBulkStages; s++) barrier_init(full(s), 1);
    barriers_are_ready();
    copies_see_it();
  }

  // Where chunk k lies.
  FORCE_INLINE __device__ uint32_t stage(int64_t k) const { return base_ + (uint32_t)(k % kBulkStages) * kBulkStageBytes; }

  // Begins to load chunk k, of so many bytes in all, when its stage is free:
  // load(barrier) makes the copies. Called for k = 0, 1, ... by the thread that
  // stores chunk k - kBulkAhead next.
  template <typename Load>
  FORCE_INLINE __device__ void load(int64_t k, uint32_t bytes, Load load) const {
    if (k >= kBulkStages) bulk_wait_read<kBulkStages - kBulkAhead - 1>();
    barrier_expect(full(k), bytes);
    load(full(k));
  }

  // Waits until chunk k has been loaded. Any thread may.
  FORCE_INLINE __device__ void await(int64_t k) const { barrier_wait(full(k), k / kBulkStages & 1); }

 private:
  FORCE_INLINE __device__ uint32_t full(int64_t k) const {
    return base_ + kBulkStages * kBulkStageBytes + (uint32_t)(k % kBulkStages) * sizeof(uint64_t);
  }

  uint32_t base_ = shared_memory();
};

// Copies so many bytes in chunks of p.tile_bytes: each_place(f) calls f with every
// address that they go to. One thread of each block does it; they have been written when
// it returns.
template <typename EachPlace>
FORCE_INLINE __device__ void bulk_copy(const Params& p, uint64_t from, int64_t bytes, EachPlace each_place) {
  const Chunks chunks = {bytes, p.tile_bytes};
  const int64_t count = chunks.count();
  const Ring ring;
  ring.init();
#pragma nounroll
  for (int64_t next = 0; next < count + kBulkAhead; next++) {
    if (next < count)
      ring.load(next, chunks.size(next), [&](uint32_t barrier) {
        bulk_load(ring.stage(next), from + chunks.begin(next), chunks.size(next), barrier);
      });
    const int64_t k = next - kBulkAhead;
    if (k < 0) continue;
    ring.await(k);
    each_place([&](uint64_t to) { bulk_store(to + chunks.begin(k), ring.stage(k), chunks.size(k)); });
    bulk_commit();
  }
  bulk_wait_written();
}
