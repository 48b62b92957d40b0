// Forwarding of chunks, for relay.cu: a rank gets the chunks of a block from the previous rank, or at the root
// from its input, copies them by bulk copies to one or more outputs, and notifies the next rank. relay.cu says
// which ranks these are.
//
// The first kBulkStages warps of a block take a chunk each in turn. A warp does all steps for its chunk, so that no warp
// waits for another one's copies: kBulkStages chunks are in flight. What is not whole aligned vectors is copied by ordinary
// loads and stores of the warp.
//
// Notifications: a rank notifies the next one in the order of the chunks, by adding 1 to the flag of barriers. Each chunk thus
// takes one epoch of the block, as a barrier does. Blocks of the same number have the same chunks on all ranks. One word for
// all chunks costs almost nothing: each warp executes its fence before its turn to notify.
//
// Memory order: the warp's bulk stores have been written, and the warp sees it, before its fence. The fence and the addition
// after it release the chunk. The additions of the warps follow one another and are atomic. A rank that acquires a later one
// therefore also has the chunks that earlier ones released. A fence of the asynchronous proxy stands between the acquire of a
// chunk and its load. A warp returns after all of its stores have been written.
//
// The launch gives blocks of a multiple of 32 threads, at least kBulkStages warps, and kBulkSharedBytes of shared memory.
// sm_90 and up.
#pragma once

#include "../device/barrier.cuh"
#include "../device/bulk.cuh"
#include "../device/copy.cuh"

constexpr uint32_t kWarp = 32;

FORCE_INLINE __device__ uint32_t lane_id() { return thread_id() % kWarp; }

// Synchronizes the warp, and orders its memory accesses. True if ok is true in all lanes.
FORCE_INLINE __device__ bool warp_all(bool ok) {
  asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
  return __nvvm_vote_all_sync(0xffffffff, ok);
}

// The route of a block's chunks through this rank.
struct Route {
  uint64_t from;            // the address of the chunks on this rank
  bool receives, notifies;  // whether they come from another rank, and whether this rank notifies the next one
  uint32_t previous, next;  // those ranks
};

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

// Copies `bytes` bytes from offset `begin` on to every output that each_output(f) calls f with, by a warp.
template <typename EachOutput>
FORCE_INLINE __device__ void copy_chunk(const Params& p, const Route& route, Stage& stage, int64_t begin, uint32_t bytes,
                                   EachOutput each_output) {
  const Buffer from(route.from, p.bytes);
  const bool aligned = is_aligned(from.address) && is_aligned(p.recv_offset);
  const uint32_t whole = aligned ? bytes / kVecBytes * kVecBytes : 0;
  if (lane_id() == 0 && whole > 0)
    stage.copy(from.address + begin, whole, [&](auto f) { each_output([&](uint64_t to) { f(to + begin); }); });
  const int64_t end = vecs_in(begin + bytes);
  for (int64_t i = (begin + whole) / kVecBytes + lane_id(); i < end; i += kWarp) {
    const Vec v = from.load(i);
    each_output([&](uint64_t to) { store_bytes(Buffer(to, p.bytes), i, v); });
  }
}

// Notifies the next rank of chunk k, in the order of chunks, if `ok`. False if `ok` is false, or if the order was stopped.
FORCE_INLINE __device__ bool notify_next(const Params& p, const Route& route, const NotifyOrder& order, int64_t k, bool ok) {
  bulk_wait_written();
  release_to_system();
  if (!order.wait_for(k)) return false;
  if (!ok) {
    order.stop();
    return false;
  }
  asm volatile("red.relaxed.sys.global.add.u32 [%0], 1;" ::"l"(flag_address(p, route.next, p.rank)) : "memory");
  order.set_next(k + 1);
  return true;
}

// Forwards chunks `first`, first + kBulkStages, ... of the block, by a warp. Chunk 0 of the block has `epoch`. False if the
// wait for one of them has expired.
template <typename EachOutput>
FORCE_INLINE __device__ bool forward_chunks(const Params& p, const Route& route, const Chunks& chunks, const NotifyOrder& order,
                                            uint32_t epoch, int64_t first, EachOutput each_output) {
  const bool leads = lane_id() == 0;
  Stage stage((uint32_t)first);
  if (leads) stage.init();
  const int64_t count = chunks.count();
  bool ok = true;
#pragma nounroll
  for (int64_t k = first; ok && k < count; k += kBulkStages) {
    ok = warp_all(!route.receives || !leads || wait_for_peer(p, kChunk, route.previous, epoch + (uint32_t)k));
    if (ok) copy_chunk(p, route, stage, chunks.begin(k), chunks.size(k), each_output);
    ok = warp_all(ok);
    if (route.notifies && leads) ok = notify_next(p, route, order, k, ok);
    ok = warp_all(ok);
  }
  bulk_wait_written();
  return ok;
}

// Forwards all chunks of the block, by its first kBulkStages warps. Thread 0 has called order.set_next(0) before.
template <typename EachOutput>
FORCE_INLINE __device__ bool forward_block(const Params& p, const Route& route, const Chunks& chunks, const NotifyOrder& order,
                                           uint32_t epoch, EachOutput each_output) {
  const uint32_t warp = thread_id() / kWarp;
  return warp >= kBulkStages || forward_chunks(p, route, chunks, order, epoch, warp, each_output);
}
