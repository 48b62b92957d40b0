// What the kernels do beyond a product of local matrices: where a tile's operands
// come from, and where its elements go.
//
// A job has
//   Tiles order           shards in the order in which it takes them
//   kGathers              whether A is gathered while it is multiplied
//   is_own(tile)          whether the tile is in this rank's shard
//   await_rows(tile, n)   one thread, before it reads n rows of A
//   begin(tile, part)     one thread, before put is called for the rows of a part of a tile
//   put(tile, row, column, v)  eight elements of the tile's result, of which those count that
//                         are inside of the matrix; row and column are the tile's, plus some
//   end(tile, part)       one thread, after all threads have called put
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

// Waits until a word has a value. It gives up when the time is up, or another of this rank's
// waits has expired before: a tile after the other would wait in vain.
FORCE_INLINE __device__ void await_word(const MatmulParams& p, uint64_t word, uint32_t value, Phase phase, uint32_t peer) {
  uint32_t seen = ld_flag_acquire(word);
  if (seen == value || ld_relaxed(claimed_address(p.base)) != 0) return;
  for (Patience patience; seen != value; seen = ld_flag_acquire(word)) {
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

  FORCE_INLINE __device__ Order order() const { return Order(p, 1, 0); }
  FORCE_INLINE __device__ bool is_own(const Tile&) const { return true; }
  FORCE_INLINE __device__ void await_rows(const Tile&, int) {}
  FORCE_INLINE __device__ void begin(const Tile&, int64_t) const {}
  FORCE_INLINE __device__ void put(const Tile&, int64_t row, int64_t column, Vec v) const {
    put_row(p.c, row, column, p.n, v);
  }
  FORCE_INLINE __device__ void end(const Tile&, int64_t) const {}
};

// Gathered multiplies the shards of all ranks, in the order in which they arrive: its
// own at once, from where it lies, then those of the ranks after it, as soon as the words of
// progress say that the chunk is there.
template <typename T, int kRows, int kColumns>
struct Gathered {
  using Order = Tiles<kRows, kColumns>;
  const MatmulParams& p;
  static constexpr bool kGathers = true;
  int64_t there = 0; // chunks that have been waited for, in this order

  FORCE_INLINE __device__ Order order() const { return Order(p, p.base.world, p.base.rank); }
  FORCE_INLINE __device__ bool is_own(const Tile& t) const { return t.owner == p.base.rank; }

  FORCE_INLINE __device__ void await_rows(const Tile& t, int n) {
    if (is_own(t) || t.rows <= 0) return;
    const int64_t last = (t.row + (t.rows < n ? t.rows : n) - 1) / p.chunk_rows;
    const uint32_t world = p.base.world, turn = (t.owner + world - p.base.rank) % world;
    for (; there <= turn * p.splits + last; there++) await_chunk(there);
  }

  FORCE_INLINE __device__ void begin(const Tile&, int64_t) const {}
  FORCE_INLINE __device__ void put(const Tile& t, int64_t row, int64_t column, Vec v) const {
    put_row(p.c, t.shard_row + row, column, p.n, v);
  }
  FORCE_INLINE __device__ void end(const Tile&, int64_t) const {}

 private:
  // Waits for a chunk by its number in the order of their arrival. The own ones count, but
  // are not copied.
  FORCE_INLINE __device__ void await_chunk(int64_t i) const {
    const uint32_t owner = (p.base.rank + i / p.splits) % p.base.world;
    if (owner == p.base.rank) return;
    const uint64_t word = p.progress + (owner * p.splits + i % p.splits) * sizeof(uint32_t);
    await_word(p, word, 1, kChunk, owner);
  }
};

// Summed adds the products of all ranks. Every rank makes those of the rank after it
// first, and its own shard last; it pushes what is not its own to the owner's staging, by
// rank, and counts it there. The owner adds its own product and those that have
// arrived, in the order of ranks. kEverywhere: it then pushes the sum to all.
//
// Counters are zero between calls: who has waited for one resets it.
template <typename T, int kRows, int kColumns, bool kEverywhere>
struct Summed {
  using Order = Tiles<kRows, kColumns>;
  const MatmulParams& p;
  static constexpr bool kGathers = false;

  FORCE_INLINE __device__ Order order() const { return Order(p, p.base.world, (p.base.rank + 1) % p.base.world); }
  FORCE_INLINE __device__ bool is_own(const Tile& t) const { return t.owner == p.base.rank; }
  FORCE_INLINE __device__ void await_rows(const Tile&, int) {}

  FORCE_INLINE __device__ void begin(const Tile& t, int64_t part) const {
    if (!is_own(t)) return;
    const uint64_t counter = counter_of(part);
    await_word(p, counter, p.base.world - 1, kProducts, kMaxRanks);
    *(Global<volatile uint32_t>)counter = 0;
  }

  FORCE_INLINE __device__ void put(const Tile& t, int64_t row, int64_t column, Vec v) const {
    if (!is_own(t)) return put_row(on_peer(p, slot(p.base.rank), t.owner), row, column, p.n, v);
    const Vec sum = sum_of_all(row, column, v);
    if constexpr (!kEverywhere) return put_row(p.c, row, column, p.n, sum);
    for (uint32_t k = 0; k < p.base.world; k++)
      put_row(on_peer(p, p.c, (p.base.rank + k) % p.base.world), t.shard_row + row, column, p.n, sum);
  }

  FORCE_INLINE __device__ void end(const Tile& t, int64_t part) const {
    if (is_own(t)) return;
    asm volatile("red.release.sys.global.add.u32 [%0], 1;" ::"l"(on_peer(p, counter_of(part), t.owner)) : "memory");
  }

 private:
  FORCE_INLINE __device__ uint64_t counter_of(int64_t part) const { return p.counters + part * sizeof(uint32_t); }

  // Where a rank's products for this rank's shard lie.
  FORCE_INLINE __device__ uint64_t slot(uint32_t from) const {
    const int64_t shard_rows = (p.m + p.base.world - 1) / p.base.world;
    return p.staging + from * shard_rows * p.n * kElementBytes;
  }

  // Adds in the order of ranks, with the loads of a few on their way at a time.
  FORCE_INLINE __device__ Vec sum_of_all(int64_t row, int64_t column, Vec own) const {
    constexpr uint32_t kAtOnce = 4;
    const uint32_t world = p.base.world;
    Partial<T, Vec> sum;
#pragma nounroll
    for (uint32_t first = 0; first < world; first += kAtOnce) {
      Vec of[kAtOnce];
#pragma unroll
      for (uint32_t k = 0; k < kAtOnce; k++) {
        const uint32_t r = first + k;
        if (r < world) of[k] = r == p.base.rank ? own : get_row(slot(r), row, column, p.n);
      }
#pragma unroll
      for (uint32_t k = 0; k < kAtOnce; k++) {
        const Partial<T, Vec> next(of[k]);
        if (first + k == 0)
          sum = next;
        else if (first + k < world)
          sum.combine(Sum{}, next);
      }
    }
    return sum.rounded();
  }
};

template <typename T, int kRows, int kColumns>
using Scattered = Summed<T, kRows, kColumns, false>;
template <typename T, int kRows, int kColumns>
using Everywhere = Summed<T, kRows, kColumns, true>;

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
