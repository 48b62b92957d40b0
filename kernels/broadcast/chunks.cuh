// The chunks of a block on their way through this rank: its warps take one each, have it from the
// rank in front or, at the root, from the input, copy it in bulk to where it belongs, and tell the
// next rank of it. chain.cu and relay.cu say who these ranks are.
//
// A warp takes a chunk through all of its steps, so that none of them keeps a warp from another:
// as many chunks are on their way as there are stages. What is not whole aligned vectors goes by
// ordinary loads and stores of the warp.
//
// Chunks are told of in order, by the flag of barriers, which counts on: a chunk takes an epoch of
// the block's, as a barrier does. Blocks of a number have the same chunks on all ranks. Telling in order by one word costs
// next to nothing: the fence that orders a chunk before it is the warp's own, before its turn.
//
// Memory order: a chunk has been written, to the eyes of the warp, before its fence; the fence and
// the addition behind it release it. Warps' additions follow one another and are atomic, so that
// whoever acquires a later one has what earlier ones released. What was acquired is behind a fence
// before it is loaded by the asynchronous proxy. All that a warp has stored has been written when
// it is through.
//
// The launch gives blocks of a multiple of 32 threads, kBulkStages warps at least, and
// kBulkSharedBytes of shared memory. sm_90 and up.
#pragma once

#include "../device/barrier.cuh"
#include "../device/bulk.cuh"
#include "../device/copy.cuh"

constexpr uint32_t kWarp = 32;

FORCE_INLINE __device__ uint32_t lane_id() { return thread_id() % kWarp; }

// All lanes wait for each other, and see what each wrote before; true when ok was in all.
FORCE_INLINE __device__ bool warp_all(bool ok) {
  asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
  return __nvvm_vote_all_sync(0xffffffff, ok);
}

// Where this rank stands on the way of a block's chunks.
struct Place {
  uint64_t from;           // where they lie on this rank
  bool awaits, tells;      // whether they come from another rank, and whether the next one is to be told
  uint32_t previous, next; // those ranks
};

static __shared__ uint32_t turn;

// The order in which a block's warps tell of their chunks: a word of shared memory says whose turn it is.
class Turns {
 public:
  // Waits for the turn of chunk k. False when it will not come: a warp has given up.
  FORCE_INLINE __device__ bool await(int64_t k) const {
    for (;;) {
      uint32_t now;
      asm volatile("ld.acquire.cta.shared.u32 %0, [%1];" : "=r"(now) : "r"(word_) : "memory");
      if (now == (uint32_t)k) return true;
      if (now == kOver) return false;
    }
  }

  // To chunk k: to the first by a thread that the others meet before they wait.
  FORCE_INLINE __device__ void pass(int64_t k) const { set((uint32_t)k); }

  // By a warp that gives up in its turn.
  FORCE_INLINE __device__ void end() const { set(kOver); }

 private:
  static constexpr uint32_t kOver = ~0u;

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

  // Copies whole vectors to every address that each_place(f) calls f with. When it returns they have left the
  // stage, and bulk_wait_written waits until they have been written.
  template <typename EachPlace>
  FORCE_INLINE __device__ void copy(uint64_t from, uint32_t bytes, EachPlace each_place) {
    fence_async_proxy();
    mbarrier_expect(full_, bytes);
    bulk_load(bytes_, from, bytes, full_);
    mbarrier_wait(full_, parity_);
    parity_ ^= 1;
    each_place([&](uint64_t to) { bulk_store(to, bytes_, bytes); });
    bulk_commit();
    bulk_wait_read<0>();
  }

 private:
  uint32_t bytes_, full_, parity_ = 0;
};

// A warp copies so many bytes to every output that each_output(f) calls f with.
template <typename EachOutput>
FORCE_INLINE __device__ void carry(const Params& p, const Place& place, Stage& stage, int64_t begin, uint32_t bytes,
                                   EachOutput each_output) {
  const Buffer from(place.from, p.bytes);
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

// Tells the next rank of chunk k in its turn, if all is well. False if it or one before is not.
FORCE_INLINE __device__ bool tell(const Params& p, const Place& place, const Turns& turns, int64_t k, bool ok) {
  bulk_wait_written();
  release_to_system();
  if (!turns.await(k)) return false;
  if (!ok) {
    turns.end();
    return false;
  }
  asm volatile("red.relaxed.sys.global.add.u32 [%0], 1;" ::"l"(flag_address(p, place.next, p.rank)) : "memory");
  turns.pass(k + 1);
  return true;
}

// By a warp: chunks `first`, first + kBulkStages, ... of its block, of which chunk 0 has the epoch. False when
// one has been missed.
template <typename EachOutput>
FORCE_INLINE __device__ bool pass_on(const Params& p, const Place& place, const Chunks& chunks, const Turns& turns,
                                     uint32_t epoch, int64_t first, EachOutput each_output) {
  const bool leads = lane_id() == 0;
  Stage stage((uint32_t)first);
  if (leads) stage.init();
  const int64_t count = chunks.count();
  bool ok = true;
#pragma nounroll
  for (int64_t k = first; ok && k < count; k += kBulkStages) {
    ok = warp_all(!place.awaits || !leads || wait_for_peer(p, kChunk, place.previous, epoch + (uint32_t)k));
    if (ok) carry(p, place, stage, chunks.begin(k), chunks.size(k), each_output);
    ok = warp_all(ok);
    if (place.tells && leads) ok = tell(p, place, turns, k, ok);
    ok = warp_all(ok);
  }
  bulk_wait_written();
  return ok;
}

// Has the first kBulkStages warps of the block pass its chunks on. Thread 0 has passed the turn to the first one.
template <typename EachOutput>
FORCE_INLINE __device__ bool pass_all_on(const Params& p, const Place& place, const Chunks& chunks, const Turns& turns,
                                         uint32_t epoch, EachOutput each_output) {
  const uint32_t warp = thread_id() / kWarp;
  return warp >= kBulkStages || pass_on(p, place, chunks, turns, epoch, warp, each_output);
}
