// Chunks that the warps of a block send to other ranks by bulk copies, and notify them of: relay.cu of broadcast, and
// twoshot_bulk.cu of reduce.
//
// Some of a block's warps, kBulkStages at most, take its chunks in turn. A warp does all steps for its chunk, so that no warp
// waits for another one's copies: as many chunks are in flight. What is not whole aligned vectors is copied by ordinary loads
// and stores of the warp.
//
// Notifications: a rank notifies another one in the order of the chunks, by adding 1 to the flag of barriers. Each chunk thus
// takes one epoch of the block, as a barrier does. Blocks of the same number have the same chunks on all ranks. One word for
// all chunks costs almost nothing: each warp executes its fence before its turn to notify.
//
// Memory order: the warp's bulk stores have been written, and the warp sees it, before its fence. The fence and the addition
// after it release the chunk. The additions of the warps follow one another and are atomic. A rank that acquires a later one
// therefore also has the chunks that earlier ones released. A fence of the asynchronous proxy stands between the acquire of a
// chunk and its load by a bulk copy.
//
// The launch gives blocks of a multiple of 32 threads and kBulkSharedBytes of shared memory.
// sm_90 and up.
#pragma once

#include "barrier.cuh"
#include "bulk.cuh"
#include "copy.cuh"

// Synchronizes the warp, and orders its memory accesses. True if ok is true in all lanes.
FORCE_INLINE __device__ bool warp_all(bool ok) {
  asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
  return __nvvm_vote_all_sync(0xffffffff, ok);
}

static __shared__ uint32_t turn;

// NotifyOrder makes the warps of a block notify in the order of their chunks: a word of shared memory has the number of the
// chunk that is next.
class NotifyOrder {
 public:
  // Waits until chunk k is next. False if a warp before has stopped the order.
  FORCE_INLINE __device__ bool wait_for(int64_t k) const {
    for (;;) {
      uint32_t now;
      asm volatile("ld.acquire.cta.shared.u32 %0, [%1];" : "=r"(now) : "r"(word_) : "memory");
      if (now == (uint32_t)k) return true;
      if (now == kStopped) return false;
    }
  }

  // Makes chunk k the next one. A thread with which the block synchronizes afterwards sets chunk 0.
  FORCE_INLINE __device__ void set_next(int64_t k) const { set((uint32_t)k); }

  // Stops the order: called by the warp whose chunk is next, if its wait or an earlier one has expired.
  FORCE_INLINE __device__ void stop() const { set(kStopped); }

 private:
  static constexpr uint32_t kStopped = ~0u;

  FORCE_INLINE __device__ void set(uint32_t turn) const {
    asm volatile("st.release.cta.shared.u32 [%0], %1;" ::"r"(word_), "r"(turn) : "memory");
  }

  uint32_t word_ = (uint32_t)(uint64_t)(__attribute__((address_space(3))) uint32_t*)&turn;
};

// A warp's stage of shared memory, used by one thread of it.
class Stage {
 public:
  FORCE_INLINE __device__ explicit Stage(uint32_t number)
      : bytes_(shared_memory() + number * kBulkStageBytes),
        full_(shared_memory() + kBulkStages * kBulkStageBytes + number * sizeof(uint64_t)) {}

  FORCE_INLINE __device__ void init() const {
    mbarrier_init(full_, 1);
    fence_mbarrier_init();
  }

  // Copies whole vectors to every address that each_destination(f) calls f with. When it returns, the stage has been read;
  // bulk_wait_written waits until the destinations have been written.
  template <typename EachDestination>
  FORCE_INLINE __device__ void copy(uint64_t from, uint32_t bytes, EachDestination each_destination) {
    fence_async_proxy();
    mbarrier_expect(full_, bytes);
    bulk_load(bytes_, from, bytes, full_);
    mbarrier_wait(full_, parity_);
    parity_ ^= 1;
    each_destination([&](uint64_t to) { bulk_store(to, bytes_, bytes); });
    bulk_commit();
    bulk_wait_read<0>();
  }

 private:
  uint32_t bytes_, full_, parity_ = 0;
};

// Copies a chunk to every buffer that each_output(f) calls f with, by a warp. Their addresses are multiples of kVecBytes, or
// else `aligned` is false. When it returns, the chunk has been read; bulk_wait_written waits until it has been written.
template <typename EachOutput>
FORCE_INLINE __device__ void copy_chunk(const Buffer& from, bool aligned, Stage& stage, EachOutput each_output) {
  const int64_t whole = aligned ? from.whole : 0, end = vecs_in(from.bytes);
  if (lane_id() == 0 && whole > 0)
    stage.copy(from.address, (uint32_t)(whole * kVecBytes),
               [&](auto f) { each_output([&](const Buffer& to) { f(to.address); }); });
  for (int64_t i = whole + lane_id(); i < end; i += kWarp) {
    const Vec v = from.load(i);
    each_output([&](const Buffer& to) { store_bytes(to, i, v); });
  }
}

// Notifies rank `to` of chunk k, in the order of chunks, if `ok`: one thread of the warp that has copied it does so. False
// if `ok` is false, or if the order was stopped.
FORCE_INLINE __device__ bool notify(const Params& p, uint32_t to, const NotifyOrder& order, int64_t k, bool ok) {
  bulk_wait_written();
  release_to_system();
  if (!order.wait_for(k)) return false;
  if (!ok) {
    order.stop();
    return false;
  }
  asm volatile("red.relaxed.sys.global.add.u32 [%0], 1;" ::"l"(flag_address(p, to, p.rank)) : "memory");
  order.set_next(k + 1);
  return true;
}
