// What the kernels do beyond a product of local matrices: where a tile's operands
// come from, and where its elements go.
//
// A job has
//   Tiles order           shards in the order in which it takes them
//   kGathers              whether A is gathered while it is multiplied
//   announce()            all threads of the first block, before anything else
//   is_own(tile)          whether the tile is in this rank's shard
//   await_rows(tile, n)   one thread, before it reads n rows of A
//   adds(tile)            whether the peers' products are added to the tile's
//   begin(tile, part)     one thread, before add is called for the rows of a part of such a tile
//   add(tile, row, step, column, v)  adds them to eight elements of each of some rows of the
//                         tile's shard, the first of which is given, and how far they are apart;
//                         rows behind the tile's stay as they are
//   await_owner(tile)     one thread, before any of a tile is stored
//   targets(tile), target(tile, i)  the matrices to store the tile in, by where its shard
//                         begins in each
//   end(tile, part)       one thread, after all rows of a part have been stored
//   await_peers()         one thread of the grid, at any time: returns when the peers need no more
//                         of this rank's
// Parts are what one group of threads finishes; all kernels of a job count them alike.
//
// A module has one kernel, for the job and the element type that are macros of the
// compilation: -DJOB=Gathered -DELEMENT=Half.
#pragma once

#include "../device/barrier.cuh"
#include "../device/reduce.cuh"
#include "../device/shared.cuh"
#include "../device/vector.cuh"
#include "tiles.cuh"
#include "trace.cuh"

constexpr int kElementBytes = 2;
constexpr int kPerVec = kVecBytes / kElementBytes;

// Stores eight elements at a row and column of a matrix of n columns.
FORCE_INLINE __device__ void put_row(uint64_t matrix, int64_t row, int64_t column, int64_t n, Vec v) {
  const uint64_t to = matrix + (row * n + column) * kElementBytes;
  if (n % kPerVec == 0)
    st(to, v);
  else
    st_any<kElementBytes>(to, v, (n - column) * kElementBytes);
}

// The eight elements at a row and column of a matrix of n columns; what is beyond the
// row is undefined.
FORCE_INLINE __device__ Vec get_row(uint64_t matrix, int64_t row, int64_t column, int64_t n) {
  const uint64_t from = matrix + (row * n + column) * kElementBytes;
  return n % kPerVec == 0 ? ld(from) : ld_any(from, (n - column) * kElementBytes);
}

// Where a tile's shard begins in a matrix that has those of all ranks.
FORCE_INLINE __device__ uint64_t shard_of(const MatmulParams& p, uint64_t matrix, const Tile& t) {
  return matrix + (int64_t)t.shard_row * p.n * kElementBytes;
}

// The word of a rank among those of all.
FORCE_INLINE __device__ uint64_t word_of(uint64_t words, uint32_t rank) { return words + rank * sizeof(uint32_t); }

// Waits until a word, which grows, has reached a value. It gives up when the time is up, or another of this rank's
// waits has expired before: a tile after the other would wait in vain.
FORCE_INLINE __device__ void await_word(const MatmulParams& p, uint64_t word, uint32_t value, Phase phase, uint32_t peer) {
  const auto is_behind = [&](uint32_t seen) { return (int32_t)(seen - value) < 0; };
  uint32_t seen = ld_flag_acquire(word);
  if (!is_behind(seen) || ld_relaxed(claimed_address(p.base)) != 0) return;
  for (Patience patience; is_behind(seen); seen = ld_flag_acquire(word)) {
    if (!patience.is_over(p.base)) continue;
    record_fault(p.base, phase, peer, value, seen);
    return;
  }
}

// Product is a matrix that is there, times another.
template <typename T, int kRows, int kColumns>
struct Product {
  using Order = Tiles<kRows, kColumns>;
  const MatmulParams& p;
  static constexpr bool kGathers = false;

  FORCE_INLINE __device__ void announce() const {}
  FORCE_INLINE __device__ Order order() const { return Order(p, 1, 0); }
  FORCE_INLINE __device__ bool is_own(const Tile&) const { return true; }
  FORCE_INLINE __device__ void await_rows(const Tile&, int) {}

  FORCE_INLINE __device__ static constexpr bool adds(const Tile&) { return false; }
  FORCE_INLINE __device__ void begin(const Tile&, int64_t) const {}
  template <int kCount>
  FORCE_INLINE __device__ void add(const Tile&, int32_t, int32_t, int32_t, Vec (&)[kCount]) const {}

  FORCE_INLINE __device__ void await_owner(const Tile&) {}
  FORCE_INLINE __device__ static constexpr uint32_t targets(const Tile&) { return 1; }
  FORCE_INLINE __device__ uint64_t target(const Tile&, uint32_t) const { return p.c; }
  FORCE_INLINE __device__ void end(const Tile&, int64_t) const {}
  FORCE_INLINE __device__ void await_peers() const {}
};

// Gathered multiplies the shards of all ranks, in the order in which they arrive: its
// own at once, from where it lies, then those of the ranks after it, as soon as the words of
// progress say that the chunk is there.
//
// The stream of the copies tells the peers that this rank's shard is there, waits for them to say
// so of theirs, and tells them when it has copied them. Only the kernel gives up waiting: it then
// lets the copies go, whatever is there, for memory cannot be freed while a stream waits.
template <typename T, int kRows, int kColumns>
struct Gathered {
  using Order = Tiles<kRows, kColumns>;
  const MatmulParams& p;
  static constexpr bool kGathers = true;
  uint32_t there = 0; // chunks that have been waited for, in this order

  FORCE_INLINE __device__ void announce() const {}
  FORCE_INLINE __device__ Order order() const { return Order(p, p.base.world, p.base.rank); }
  FORCE_INLINE __device__ bool is_own(const Tile& t) const { return t.owner == p.base.rank; }

  FORCE_INLINE __device__ void await_rows(const Tile& t, int n) {
    if (is_own(t) || t.rows <= 0) return;
    const uint32_t last = (t.row + (t.rows < n ? t.rows : n) - 1) / (uint32_t)p.chunk_rows;
    const uint32_t world = p.base.world, turn = (t.owner + world - p.base.rank) % world;
    for (; there <= turn * p.splits + last; there++) await_chunk(there);
  }

  FORCE_INLINE __device__ static constexpr bool adds(const Tile&) { return false; }
  FORCE_INLINE __device__ void begin(const Tile&, int64_t) const {}
  template <int kCount>
  FORCE_INLINE __device__ void add(const Tile&, int32_t, int32_t, int32_t, Vec (&)[kCount]) const {}

  FORCE_INLINE __device__ void await_owner(const Tile&) {}
  FORCE_INLINE __device__ static constexpr uint32_t targets(const Tile&) { return 1; }
  FORCE_INLINE __device__ uint64_t target(const Tile& t, uint32_t) const { return shard_of(p, p.c, t); }
  FORCE_INLINE __device__ void end(const Tile&, int64_t) const {}

  // Waits first for the peers to begin, so that one that does not come is missed for that.
  FORCE_INLINE __device__ void await_peers() const {
    each_peer([&](uint32_t r) { await_word(p, word_of(p.ready, r), p.epoch, kStartBarrier, r); });
    each_peer([&](uint32_t r) { await_word(p, word_of(p.taken, r), p.epoch, kEndBarrier, r); });
    if (ld_relaxed(claimed_address(p.base)) == 0) return;
    each_peer([&](uint32_t r) { st_flag_release(word_of(p.ready, r), p.epoch); });
  }

 private:
  // Calls f for all other ranks, from that after this one on.
  template <typename F>
  FORCE_INLINE __device__ void each_peer(F f) const {
#pragma nounroll
    for (uint32_t i = 1; i < p.base.world; i++) f((p.base.rank + i) % p.base.world);
  }

  // Waits for a chunk by its number in the order of their arrival. The own ones count, but
  // are not copied.
  FORCE_INLINE __device__ void await_chunk(uint32_t i) const {
    const uint32_t owner = (p.base.rank + i / p.splits) % p.base.world;
    if (owner == p.base.rank) return;
    const uint64_t word = p.progress + (owner * p.splits + i % p.splits) * sizeof(uint32_t);
    await_word(p, word, p.epoch, kChunk, owner);
  }
};

// Summed adds the products of all ranks. Every rank makes those of the rank after it
// first, and its own shard last; it pushes what is not its own to the owner's staging, by
// rank, and counts it there. The owner adds its own product and those that have
// arrived, in the order of ranks. kEverywhere: it then pushes the sum to all.
//
// Nobody pushes to a rank that has not begun the call: before, what was staged there may
// still be in use, or C. Counters are zero between calls: who has waited for one resets it.
template <typename T, int kRows, int kColumns, bool kEverywhere>
struct Summed {
  using Order = Tiles<kRows, kColumns>;
  const MatmulParams& p;
  static constexpr bool kGathers = false;
  uint32_t begun = kMaxRanks; // an owner that is known to have begun

  FORCE_INLINE __device__ void announce() const {
    for (uint32_t r = thread_id(); r < p.base.world; r += block_threads())
      if (r != p.base.rank) st_flag_release(on_peer(p, word_of(p.ready, p.base.rank), r), p.epoch);
  }
  FORCE_INLINE __device__ Order order() const { return Order(p, p.base.world, (p.base.rank + 1) % p.base.world); }
  FORCE_INLINE __device__ bool is_own(const Tile& t) const { return t.owner == p.base.rank; }
  FORCE_INLINE __device__ void await_rows(const Tile&, int) {}

  FORCE_INLINE __device__ bool adds(const Tile& t) const { return is_own(t); }

  FORCE_INLINE __device__ void begin(const Tile&, int64_t part) const {
    const uint64_t counter = counter_of(part);
    await_word(p, counter, p.base.world - 1, kProducts, kMaxRanks);
    *(Global<volatile uint32_t>)counter = 0;
  }

  // Adds in the order of ranks, with the loads of all rows on their way at a time.
  template <int kCount>
  FORCE_INLINE __device__ void add(const Tile& t, int32_t row, int32_t step, int32_t column, Vec (&v)[kCount]) const {
    const auto of = [&](uint32_t r, int i) {
      const int32_t at = row + i * step;
      return r == p.base.rank || at >= t.row + t.rows ? v[i] : get_row(slot(r), at, column, p.n);
    };
    Partial<T, Vec> sums[kCount];
#pragma unroll
    for (int i = 0; i < kCount; i++) sums[i] = Partial<T, Vec>(of(0, i));
#pragma nounroll
    for (uint32_t r = 1; r < p.base.world; r++) {
      Vec next[kCount];
#pragma unroll
      for (int i = 0; i < kCount; i++) next[i] = of(r, i);
#pragma unroll
      for (int i = 0; i < kCount; i++) sums[i].combine(Sum{}, Partial<T, Vec>(next[i]));
    }
#pragma unroll
    for (int i = 0; i < kCount; i++) v[i] = sums[i].rounded();
  }

  FORCE_INLINE __device__ void await_owner(const Tile& t) {
    if (is_own(t) || t.owner == begun) return;
    begun = t.owner;
    await_word(p, word_of(p.ready, t.owner), p.epoch, kStartBarrier, t.owner);
  }

  // What is not its own goes to the owner's staging, its own sums to C, or to that of all.
  FORCE_INLINE __device__ uint32_t targets(const Tile& t) const { return kEverywhere && is_own(t) ? p.base.world : 1; }
  FORCE_INLINE __device__ uint64_t target(const Tile& t, uint32_t i) const {
    if (!is_own(t)) return on_peer(p, slot(p.base.rank), t.owner);
    return kEverywhere ? on_peer(p, shard_of(p, p.c, t), (p.base.rank + i) % p.base.world) : p.c;
  }

  FORCE_INLINE __device__ void end(const Tile& t, int64_t part) const {
    if (is_own(t)) return;
    asm volatile("red.release.sys.global.add.u32 [%0], 1;" ::"l"(on_peer(p, counter_of(part), t.owner)) : "memory");
  }
  FORCE_INLINE __device__ void await_peers() const {}

 private:
  FORCE_INLINE __device__ uint64_t counter_of(int64_t part) const { return p.counters + part * sizeof(uint32_t); }

  // Where a rank's products for this rank's shard lie.
  FORCE_INLINE __device__ uint64_t slot(uint32_t from) const {
    const int64_t shard_rows = (p.m + p.base.world - 1) / p.base.world;
    return p.staging + from * shard_rows * p.n * kElementBytes;
  }
};

template <typename T, int kRows, int kColumns>
using Scattered = Summed<T, kRows, kColumns, false>;
template <typename T, int kRows, int kColumns>
using Everywhere = Summed<T, kRows, kColumns, true>;

// Stores eight elements of a tile where its job wants them, row of its shard.
template <typename Job>
FORCE_INLINE __device__ void put(const Job& job, const Tile& t, int64_t row, int64_t column, Vec v) {
  for (uint32_t i = 0; i < job.targets(t); i++) put_row(job.target(t, i), row, column, job.p.n, v);
}

// Two elements, rounded to nearest, the first in the lower half.
FORCE_INLINE __device__ uint32_t rounded_pair(BFloat16, float first, float second) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}
FORCE_INLINE __device__ uint32_t rounded_pair(Half, float first, float second) {
  uint32_t pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}

// Watch notes when a tile was waited for, begun and done, if the call is recorded. One
// thread of those that compute the tile has one.
class Watch {
 public:
  FORCE_INLINE __device__ Watch(const MatmulParams& p, bool on) : p_(p), on_(on && p.trace != 0) {
    if (on_) times_.wait = global_timer();
  }
  FORCE_INLINE __device__ void begins() {
    if (on_) times_.begin = global_timer();
  }
  FORCE_INLINE __device__ void ends(const Tile& t) {
    if (!on_ || t.rows <= 0) return; // a block of a cluster may have no row of its tile
    times_.block = block_id();
    times_.row = t.shard_row + t.row;
    times_.column = t.column;
    times_.end = global_timer();
    note_tile(p_, t.number, times_);
  }

 private:
  const MatmulParams& p_;
  bool on_;
  TileTimes times_ = {};
};
