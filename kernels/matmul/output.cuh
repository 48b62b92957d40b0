// What the kernels do beyond a product of local matrices: where a tile's operands
// come from, and where its elements go.
//
// A job has
//   order()               Tiles, or Interleaved, in the order in which it takes them
//   kGathers              whether A is gathered while it is multiplied
//   stops()               whether a wait of this rank has expired in an earlier call: see below
//   let_copies_go()       one thread of the grid, in a call that stops
//   announce()            all threads of the first block of one that does not, before anything else
//   is_own(tile)          whether the tile is in this rank's shard
//   await_rows(tile, n)   one thread, before it reads n rows of A: whether they are there
//   adds(tile)            whether the peers' products are added to the tile's
//   await_products(part)  one thread, before it reads the peers' products of a part of such a tile; false: they have
//                         not come, and the sum is not to be stored
//   peers(), products(part, i)  where those of each peer are then
//   sends(tile)           whether the tile is another rank's, who adds it to its own
//   crosses(tile)         whether the kernel stores the tile, or its sum, with peers
//   await_owner(tile)     one thread, before any part of such a tile is stored; false: none is to be
//   owners(tile, part)    where a part of it is to be stored
//   sent(tile, part, has_rows)  that thread, after a part of it has been stored, or if there is nothing of it, or
//                         none was to be
//   kept()                one thread, after a part of any other tile has been stored
//   targets(tile), target(tile, i)  the matrices to store any other tile in, by where its shard
//                         begins in each
//   await_peers()         one thread of the grid, at any time: returns when the peers need no more
//                         of this rank's
// Parts are what one group of threads finishes, so many rows of a tile, and have a number in
// the tile's shard. What is sent of one lies as it lay in shared memory: rows
// that are kOutPitch apart.
//
// A rank whose wait has expired has failed. Only its host is told: each of its peers misses it for itself. What it
// has stored with peers, and told them, rests on waits that were met. In the call in which the wait expires
// nothing goes out that rests on that one: no sums. Products that are left to make still go to peers that have begun,
// who want them for sums of their own. The calls behind it stop: they
// neither multiply, nor store, nor tell the peers anything. They let their copies go, for memory cannot be freed
// while a stream waits, and end behind them. Such copies read whatever the peers have there, and write to
// this rank's memory only. The streams of a gather still say that they have come, and peers may copy A; but no call
// of a peer ends well without the word of this rank's kernel that it has taken the peer's shard. What else is
// on the stream behind a call that has failed, nobody stops.
//
// A job is told its kernel's tiles and parts. A module has one kernel, for the job and the
// element type that are macros of the compilation: -DJOB=Gathered -DELEMENT=Half.
#pragma once

#include "../device/barrier.cuh"
#include "../device/shared.cuh"
#include "../device/vector.cuh"
#include "tiles.cuh"
#include "trace.cuh"

// Whether rows of A are there that a job waits for: they have not come; they were known to be there; they have come.
enum class Arrival { kMissing, kThere, kNew };

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

// Where a tile's shard begins in a matrix that has those of all ranks.
FORCE_INLINE __device__ uint64_t shard_of(const MatmulParams& p, uint64_t matrix, const Tile& t) {
  return matrix + (int64_t)t.shard_row * p.n * kElementBytes;
}

// The word of a rank among those of all.
FORCE_INLINE __device__ uint64_t word_of(uint64_t words, uint32_t rank) { return words + rank * sizeof(uint32_t); }

// Calls f for all other ranks, from that after this one on.
template <typename F>
FORCE_INLINE __device__ void each_peer(const MatmulParams& p, F f) {
#pragma nounroll
  for (uint32_t i = 1; i < p.base.world; i++) f((p.base.rank + i) % p.base.world);
}

// Whether a word, which grows, has not reached a value yet.
FORCE_INLINE __device__ bool is_behind(uint32_t seen, uint32_t value) { return (int32_t)(seen - value) < 0; }

// What a call whose wait expires claims the fault record with: not what other calls nearby do, nor other kernels.
FORCE_INLINE __device__ uint32_t mark_of(const MatmulParams& p) { return p.epoch | 1u << 31; }

FORCE_INLINE __device__ bool claim_for(uint64_t address, uint32_t mark) {
  uint32_t before;
  asm volatile("atom.acq_rel.gpu.global.cas.b32 %0, [%1], 0, %2;" : "=r"(before) : "l"(address), "r"(mark) : "memory");
  return before == 0;
}

// Whether a wait of this rank has expired, in this call or before.
FORCE_INLINE __device__ bool has_failed(const MatmulParams& p) { return ld_flag_acquire(claimed_address(p.base)) != 0; }

// Whether one has expired before this call. All threads of the grid find the same, whatever expires meanwhile, so that
// none of them meets others that have left.
FORCE_INLINE __device__ bool failed_before(const MatmulParams& p) {
  const uint32_t mark = ld_relaxed(claimed_address(p.base));
  return mark != 0 && mark != mark_of(p);
}

// Waits until a word, which grows, has reached a value. False when the time is up, or when it would have to
// wait and another of this rank's waits has expired: a tile after the other would wait in vain.
FORCE_INLINE __device__ bool await_word(const MatmulParams& p, uint64_t word, uint32_t value, Phase phase, uint32_t peer) {
  uint32_t seen = ld_flag_acquire(word);
  if (is_behind(seen, value) && ld_relaxed(claimed_address(p.base)) != 0) return false;
  for (Deadline deadline; is_behind(seen, value); seen = ld_flag_acquire(word)) {
    if (!deadline.has_passed(p.base)) continue;
    if (claim_for(claimed_address(p.base), mark_of(p))) write_fault(p.base, phase, peer, value, seen);
    return false;
  }
  return true;
}

// Tells a rank, by this one's word among some of it, that this one has come to a point of the call.
FORCE_INLINE __device__ void tell(const MatmulParams& p, uint64_t words, uint32_t rank) {
  st_flag_release(on_peer(p, word_of(words, p.base.rank), rank), p.epoch);
}

// How far apart the rows of a part lie in shared memory: a little, to use all banks.
template <int kColumns>
constexpr uint32_t kOutPitch = kColumns * kElementBytes + kVecBytes;

// Local is what jobs have whose tiles are all stored here, as they are.
struct Local {
  FORCE_INLINE __device__ static constexpr bool adds(const Tile&) { return false; }
  FORCE_INLINE __device__ static constexpr bool await_products(int32_t) { return true; }
  FORCE_INLINE __device__ static constexpr uint32_t peers() { return 0; }
  FORCE_INLINE __device__ static constexpr uint64_t products(int32_t, uint32_t) { return 0; }

  FORCE_INLINE __device__ static constexpr bool sends(const Tile&) { return false; }
  FORCE_INLINE __device__ static constexpr bool crosses(const Tile&) { return false; }
  FORCE_INLINE __device__ static constexpr bool await_owner(const Tile&) { return true; }
  FORCE_INLINE __device__ static constexpr uint64_t owners(const Tile&, int32_t) { return 0; }
  FORCE_INLINE __device__ void sent(const Tile&, int32_t, bool) {}

  FORCE_INLINE __device__ void kept() const {}
  FORCE_INLINE __device__ static constexpr uint32_t targets(const Tile&) { return 1; }
};

// Product is a matrix that is there, times another.
template <typename T, int kRows, int kColumns, int kPartRows>
struct Product : Local {
  using Order = Tiles<kRows, kColumns>;
  const MatmulParams& p;
  static constexpr bool kGathers = false;
  FORCE_INLINE __device__ explicit Product(const MatmulParams& p) : p(p) {}

  FORCE_INLINE __device__ static constexpr bool stops() { return false; }
  FORCE_INLINE __device__ void let_copies_go() const {}
  FORCE_INLINE __device__ void announce() const {}
  FORCE_INLINE __device__ Order order() const { return Order(p, 1, 0); }
  FORCE_INLINE __device__ bool is_own(const Tile&) const { return true; }
  FORCE_INLINE __device__ static constexpr Arrival await_rows(const Tile&, int) { return Arrival::kThere; }

  FORCE_INLINE __device__ uint64_t target(const Tile&, uint32_t) const { return p.c; }
  FORCE_INLINE __device__ void await_peers() const {}
};

// Gathered multiplies the shards of all ranks, in the order in which they arrive: its
// own at once, from where it lies, then those of the ranks after it, as soon as the words of
// progress say that the chunk is there.
//
// The stream of the copies tells the peers that this rank's shard is there, and waits for them to say so of
// theirs. That they have been copied the kernel tells: a stream would say it of copies that were let go, too.
// Only the kernel gives up waiting: it then lets the copies go. It ends behind them: a peer that comes late,
// with the epoch of an earlier call, would take from them what lets them go.
template <typename T, int kRows, int kColumns, int kPartRows>
struct Gathered : Local {
  using Order = Tiles<kRows, kColumns>;
  const MatmulParams& p;
  static constexpr bool kGathers = true;
  uint32_t there = 0; // chunks that have been waited for, in this order
  FORCE_INLINE __device__ explicit Gathered(const MatmulParams& p) : p(p) {}

  FORCE_INLINE __device__ bool stops() const { return failed_before(p); }
  FORCE_INLINE __device__ void announce() const {}
  FORCE_INLINE __device__ Order order() const { return Order(p, p.base.world, p.base.rank); }
  FORCE_INLINE __device__ bool is_own(const Tile& t) const { return t.owner == p.base.rank; }

  FORCE_INLINE __device__ Arrival await_rows(const Tile& t, int n) {
    if (is_own(t) || t.rows <= 0) return Arrival::kThere;
    const uint32_t last = (t.row + (t.rows < n ? t.rows : n) - 1) / (uint32_t)p.chunk_rows;
    const uint32_t world = p.base.world, turn = (t.owner + world - p.base.rank) % world;
    Arrival rows = Arrival::kThere;
    for (; there <= turn * p.splits + last; there++, rows = Arrival::kNew)
      if (!await_chunk(there)) return Arrival::kMissing;
    return rows;
  }

  FORCE_INLINE __device__ uint64_t target(const Tile& t, uint32_t) const { return shard_of(p, p.c, t); }

  // Waits first for the peers to begin, so that one that does not come is missed for that.
  FORCE_INLINE __device__ void await_peers() const {
    each_peer(p, [&](uint32_t r) { await_word(p, word_of(p.ready, r), p.epoch, kStartBarrier, r); });
    each_peer(p, [&](uint32_t r) {
      if (await_word(p, last_word(r), p.epoch, kChunk, r)) tell(p, p.taken, r);
    });
    each_peer(p, [&](uint32_t r) { await_word(p, word_of(p.taken, r), p.epoch, kEndBarrier, r); });
    if (has_failed(p)) let_copies_go();
  }

  FORCE_INLINE __device__ void let_copies_go() const {
    Deadline deadline;
    each_peer(p, [&](uint32_t r) {
      do st_flag_release(word_of(p.ready, r), p.epoch);
      while (is_behind(ld_flag_acquire(last_word(r)), p.epoch) && !deadline.has_passed(p.base));
    });
  }

 private:
  // The word of progress of a rank's last chunk.
  FORCE_INLINE __device__ uint64_t last_word(uint32_t rank) const { return word_of(p.progress, (rank + 1) * p.splits - 1); }

  // Waits for a chunk by its number in the order of their arrival. The own ones count, but
  // are not copied.
  FORCE_INLINE __device__ bool await_chunk(uint32_t i) const {
    const uint32_t owner = (p.base.rank + i / p.splits) % p.base.world;
    if (owner == p.base.rank) return true;
    const uint64_t word = p.progress + (owner * p.splits + i % p.splits) * sizeof(uint32_t);
    return await_word(p, word, p.epoch, kChunk, owner);
  }
};

// Stores eight elements of a tile where its job wants them, row of its shard.
template <typename Job>
FORCE_INLINE __device__ void put(const Job& job, const Tile& t, int64_t row, int64_t column, Vec v) {
  for (uint32_t i = 0; i < job.targets(t); i++) put_row(job.target(t, i), row, column, job.p.n, v);
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
    times_.slices = t.end - t.begin;
    times_.end = global_timer();
    note_tile(p_, t.number, times_);
  }

 private:
  const MatmulParams& p_;
  bool on_;
  TileTimes times_ = {};
};
