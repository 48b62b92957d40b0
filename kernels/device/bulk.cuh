// Bulk copies through shared memory (cp.async.bulk): one thread of a block moves whole chunks between global and shared
// memory. A few blocks keep the links busy.
//
// BulkPipeline is the block's kBulkStages stages of shared memory. One thread loads chunks into them ahead of their use,
// and stores each chunk to any number of destinations. A stage is loaded again when the stores that read it have done so.
//
// Memory order: copies go through the asynchronous proxy. A fence stands between what the thread has acquired and its
// first load. An mbarrier completes when a load has ended. bulk_copy waits at its end until its stores have been written, not
// only read: a barrier of the ranks after it publishes them.
//
// Addresses, in shared memory too, and sizes are multiples of kVecBytes. sm_90 and up; the launch gives kBulkSharedBytes
// of shared memory.
#pragma once

#include "bulkcopy.cuh"
#include "mbarrier.cuh"
#include "params.cuh"
#include "shared.cuh"
#include "vector.cuh"

constexpr int kBulkAhead = kBulkStages / 2; // chunks loaded ahead

// Chunks cuts `bytes` into chunks of `chunk` bytes, which the blocks of the grid take in turn; the last may be short.
struct Chunks {
  int64_t bytes, chunk;

  FORCE_INLINE __device__ int64_t begin(int64_t k) const { return (block_id() + k * grid_blocks()) * chunk; }
  FORCE_INLINE __device__ uint32_t size(int64_t k) const {
    const int64_t left = bytes - begin(k);
    return left < chunk ? (uint32_t)left : (uint32_t)chunk;
  }
  // The number of this block's chunks.
  FORCE_INLINE __device__ int64_t count() const {
    const int64_t all = (bytes + chunk - 1) / chunk, before = block_id();
    return before < all ? (all - before - 1) / grid_blocks() + 1 : 0;
  }
};

class BulkPipeline {
 public:
  // One thread calls it, before the others synchronize with it and wait for chunks.
  FORCE_INLINE __device__ void init() const {
#pragma unroll
    for (int s = 0; s < kBulkStages; s++) mbarrier_init(full(s), 1);
    fence_mbarrier_init();
    fence_async_proxy();
  }

  // The address of chunk k in shared memory.
  FORCE_INLINE __device__ uint32_t stage(int64_t k) const { return base_ + (uint32_t)(k % kBulkStages) * kBulkStageBytes; }

  // Issues the load of chunk k, of `bytes` bytes, when its stage is free: load(barrier) makes the copies. Called for
  // k = 0, 1, ... by the thread that stores chunk k - kBulkAhead next.
  template <typename Load>
  FORCE_INLINE __device__ void load(int64_t k, uint32_t bytes, Load load) const {
    if (k >= kBulkStages) bulk_wait_read<kBulkStages - kBulkAhead - 1>();
    mbarrier_expect(full(k), bytes);
    load(full(k));
  }

  // Waits until chunk k has been loaded. Any thread may.
  FORCE_INLINE __device__ void wait(int64_t k) const { mbarrier_wait(full(k), k / kBulkStages & 1); }

 private:
  FORCE_INLINE __device__ uint32_t full(int64_t k) const {
    return base_ + kBulkStages * kBulkStageBytes + (uint32_t)(k % kBulkStages) * sizeof(uint64_t);
  }

  uint32_t base_ = shared_memory();
};

// Copies `bytes` bytes in chunks of p.tile_bytes: each_destination(f) calls f with the address of every destination. One
// thread of each block calls it. The copies have been written when it returns.
template <typename EachDestination>
FORCE_INLINE __device__ void bulk_copy(const Params& p, uint64_t from, int64_t bytes, EachDestination each_destination) {
  const Chunks chunks = {bytes, p.tile_bytes};
  const int64_t count = chunks.count();
  const BulkPipeline pipeline;
  pipeline.init();
#pragma nounroll
  for (int64_t next = 0; next < count + kBulkAhead; next++) {
    if (next < count)
      pipeline.load(next, chunks.size(next), [&](uint32_t barrier) {
        bulk_load(pipeline.stage(next), from + chunks.begin(next), chunks.size(next), barrier);
      });
    const int64_t k = next - kBulkAhead;
    if (k < 0) continue;
    pipeline.wait(k);
    each_destination([&](uint64_t to) { bulk_store(to + chunks.begin(k), pipeline.stage(k), chunks.size(k)); });
    bulk_commit();
  }
  bulk_wait_written();
}
