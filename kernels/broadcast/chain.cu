// broadcast, chain: the root's data goes from rank to rank, in chunks, by bulk stores, so that
// each GPU stores to one other alone, and no link carries anything both ways.
//
// Algorithm:
//   1. meet the same block of all ranks
//   2. the blocks take the chunks of the data in turn, and of a block's chunks a warp each:
//      a. unless this is the root, wait until the rank in front says that the chunk is there
//      b. unless this is the last rank, copy it to the next rank's output, through the warp's
//         stage of shared memory, from the own output, the root from its input; wait until
//         it has been written
//      c. when the warps of all chunks before have done so, tell the next rank
//      The root out of place copies it to its own output as well. What is not whole aligned
//      vectors goes by ordinary loads and stores of the warp.
//
// There is no closing barrier. A rank's memory is stored to by the rank in front alone, whose
// stores have all been told of, and awaited, when it ends. It is read by itself alone. What it
// tells the next rank lies in that one's signal pad, where only this block writes, in order.
//
// Epochs: a chunk takes one of the block's, as a barrier does, so that it is told of by the flag of
// barriers, which counts on. Blocks of a number have the same chunks on all ranks. No packet carries
// these epochs, so that zero may be one of them.
//
// A warp takes a chunk through all of its steps, so that none of them keeps a warp from another:
// as many chunks are on their way as there are stages. Telling in order by one word costs
// next to nothing: the fence that orders a chunk before it is the warp's own, before its turn.
//
// Buffers: input and output lie in symmetric memory at the same offsets on all ranks, and may be the
// same. Only the root's input is read.
//
// Memory order: barrier 1 says that the outputs may be overwritten. A chunk has been written, to
// the eyes of the warp, before its fence; the fence and the addition behind it release
// it. Warps' additions follow one another and are atomic, so that whoever acquires a later one
// has what earlier ones released. What was acquired is behind a fence before it is loaded by the
// asynchronous proxy.
//
// The caller gives the same bytes, tile_bytes of at most kBulkStageBytes, root and grid on all
// ranks, a grid of at most kMaxBlocks blocks that are all resident, blocks of a multiple of 32
// threads, kBulkStages warps at least, and kBulkSharedBytes of shared memory. Any count and
// alignment. sm_90 and up, up to kMaxRanks ranks.

#include "../device/barrier.cuh"
#include "../device/bulk.cuh"
#include "../device/copy.cuh"
#include "../device/entries.cuh"

constexpr uint32_t kWarp = 32;

FORCE_INLINE __device__ uint32_t lane_id() { return thread_id() % kWarp; }

// All lanes wait for each other, and see what each wrote before; true when ok was in all.
FORCE_INLINE __device__ bool warp_all(bool ok) {
  asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
  return __nvvm_vote_all_sync(0xffffffff, ok);
}

// Where this rank stands.
struct Place {
  uint32_t previous, next;
  bool is_root, is_last;

  FORCE_INLINE __device__ explicit Place(const Params& p)
      : previous(p.rank == 0 ? p.world - 1 : p.rank - 1), next(p.rank + 1 == p.world ? 0 : p.rank + 1),
        is_root(p.rank == p.root), is_last(next == p.root) {}
};

// The order in which a block's warps tell of their chunks: a word of shared memory says whose turn it is.
class Turns {
 public:
  FORCE_INLINE __device__ explicit Turns(uint32_t word) : word_(word) {}

  // Waits for the turn of chunk k. False when it will not come: a warp has given up.
  FORCE_INLINE __device__ bool await(int64_t k) const {
    for (;;) {
      uint32_t turn;
      asm volatile("ld.acquire.cta.shared.u32 %0, [%1];" : "=r"(turn) : "r"(word_) : "memory");
      if (turn == (uint32_t)k) return true;
      if (turn == kOver) return false;
    }
  }

  // To chunk k.
  FORCE_INLINE __device__ void pass(int64_t k) const { set((uint32_t)k); }

  // By a warp that gives up in its turn.
  FORCE_INLINE __device__ void end() const { set(kOver); }

 private:
  static constexpr uint32_t kOver = ~0u;

  FORCE_INLINE __device__ void set(uint32_t turn) const {
    asm volatile("st.release.cta.shared.u32 [%0], %1;" ::"r"(word_), "r"(turn) : "memory");
  }

  uint32_t word_;
};

// A warp's stage of shared memory, used by one thread of it.
class Stage {
 public:
  FORCE_INLINE __device__ explicit Stage(uint32_t number)
      : bytes_(shared_memory() + number * kBulkStageBytes),
        full_(shared_memory() + kBulkStages * kBulkStageBytes + number * sizeof(uint64_t)) {}

  FORCE_INLINE __device__ void init() const {
    barrier_init(full_, 1);
    barriers_are_ready();
  }

  // Copies whole vectors to every address that each_place(f) calls f with. They have been written when it returns.
  template <typename EachPlace>
  FORCE_INLINE __device__ void copy(uint64_t from, uint32_t bytes, EachPlace each_place) {
    copies_see_it();
    barrier_expect(full_, bytes);
    bulk_load(bytes_, from, bytes, full_);
    barrier_wait(full_, parity_);
    parity_ ^= 1;
    each_place([&](uint64_t to) { bulk_store(to, bytes_, bytes); });
    bulk_commit();
    bulk_wait_written();
  }

 private:
  uint32_t bytes_, full_, parity_ = 0;
};

// Calls f with every output that this rank stores to.
template <typename F>
FORCE_INLINE __device__ void each_output(const Params& p, const Place& place, F f) {
  if (!place.is_last) f(p.peers[place.next] + p.recv_offset);
  if (place.is_root && p.send_offset != p.recv_offset) f(p.peers[p.rank] + p.recv_offset);
}

// A warp copies so many bytes from where they lie on this rank to where they belong.
FORCE_INLINE __device__ void carry(const Params& p, const Place& place, Stage& stage, int64_t begin, uint32_t bytes) {
  const Buffer from(p.peers[p.rank] + (place.is_root ? p.send_offset : p.recv_offset), p.bytes);
  const bool aligned = is_aligned(from.address) && is_aligned(p.recv_offset);
  const uint32_t whole = aligned ? bytes / kVecBytes * kVecBytes : 0;
  if (lane_id() == 0 && whole > 0)
    stage.copy(from.address + begin, whole, [&](auto f) { each_output(p, place, [&](uint64_t to) { f(to + begin); }); });
  const int64_t end = vecs_in(begin + bytes);
  for (int64_t i = (begin + whole) / kVecBytes + lane_id(); i < end; i += kWarp) {
    const Vec v = from.load(i);
    each_output(p, place, [&](uint64_t to) { store_bytes(Buffer(to, p.bytes), i, v); });
  }
}

// Tells the next rank of chunk k in its turn, if all is well. False if it or one before is not.
FORCE_INLINE __device__ bool tell(const Params& p, const Place& place, const Turns& turns, int64_t k, bool ok) {
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

// Step 2, by a warp: chunks `first`, first + kBulkStages, ... of its block, of which chunk 0 has the epoch.
FORCE_INLINE __device__ void pass_on(const Params& p, const Chunks& chunks, const Turns& turns, uint32_t epoch,
                                     int64_t first) {
  const Place place(p);
  const bool leads = lane_id() == 0;
  Stage stage((uint32_t)first);
  if (leads) stage.init();
  const int64_t count = chunks.count();
#pragma nounroll
  for (int64_t k = first; k < count; k += kBulkStages) {
    bool ok = warp_all(place.is_root || !leads || await_peer(p, kChunk, place.previous, epoch + (uint32_t)k));
    if (ok) carry(p, place, stage, chunks.begin(k), chunks.size(k));
    ok = warp_all(ok);
    if (!place.is_last && leads) ok = tell(p, place, turns, k, ok);
    if (!warp_all(ok)) return;
  }
}

static __shared__ uint32_t turn;

FORCE_INLINE __device__ void chain(const Params& p) {
  const Turns turns((uint32_t)(uint64_t)(__attribute__((address_space(3))) uint32_t*)&turn);
  if (thread_id() == 0) turns.pass(0);
  Epochs epochs(p);
  const uint32_t epoch = epochs.next();
  if (!epochs.start(p.world)) return;
  const Chunks chunks = {p.bytes, p.tile_bytes};
  if (thread_id() == 0) *(Global<uint32_t>)epoch_address(p) = epoch + (uint32_t)chunks.count();
  const uint32_t warp = thread_id() / kWarp;
  if (warp < kBulkStages) pass_on(p, chunks, turns, epoch + 1, warp);
}

ENTRY(broadcast_chain, chain)
