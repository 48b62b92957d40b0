// Exchanges: what a GEMM kernel does beyond a product of local matrices. An exchange says where the operands of a tile
// come from and where its elements go.
//
//   Product    (here)          a local product
//   Transposed (here)          a local product whose rows and columns have changed places
//   Gathered   (gathered.cuh)  A arrives from the peers while it is multiplied
//   Scattered  (reduced.cuh)   products are sent to their owner, which adds them up
//   Everywhere (reduced.cuh)   likewise, and the owner stores the sums on all ranks
//
// Terms: the rows of the result fall to the ranks in shards. A tile's owner is the rank of its shard. A part is the rows
// of a tile that one group of threads finishes; it has a number in its shard. A staged part lies in shared memory, with
// rows kStagedPitch bytes apart, and is sent in that layout.
//
// An exchange has
//   order()                    TileOrder or InterleavedOrder: the order in which it takes tiles
//   kGathers                   whether A is gathered while it is multiplied
//   kStoresLocally             whether every tile is stored in this rank's memory alone, and nobody is told
//   kTransposes                whether a tile's columns are rows of C
//   failed_earlier()           whether a wait of this rank has expired in an earlier call: see Failure below
//   release_copies()           called by one thread of the grid, in a call that failed earlier
//   signal_begun()             called by all threads of the first block of any other call, before anything else
//   is_local(tile)             whether this rank owns the tile
//   wait_for_rows(tile, n)     called by one thread before it reads n rows of A: whether they have arrived
//   adds_products(tile)        whether the peers' products are added to the tile's
//   wait_for_products(part)    called by one thread before it reads the peers' products of a part of such a tile. False:
//                              they have not arrived, and the sum must not be stored
//   peer_count(), products_address(part, i)  where those of each peer are then
//   sends(tile)                whether another rank owns the tile and adds it to its own
//   crosses_link(tile)         whether the kernel stores the tile, or its sum, to peers
//   wait_for_owner(tile)       called by one thread before any part of such a tile is stored. False: none must be
//   send_address(tile, part)   where a part of it is to be stored
//   signal_sent(tile, part, has_rows)  called by that thread after a part has been stored, or if it has no rows, or if it
//                              must not be stored
//   count_stored()             called by one thread after a part of any other tile has been stored
//   output_count(tile), output_address(tile, i)  the matrices to store any other tile in: where its shard begins in each
//   wait_for_peers()           called by one thread of the grid at any time: returns when the peers need no more of this
//                              rank's memory
//
// Failure: a rank has failed when one of its waits has expired. Only its host is informed: each peer times out by itself.
// What the rank has stored to peers and signaled before depends only on waits that were met.
//   - In the call in which a wait expires, no sums that depend on it are stored. Products that are left to make still go
//     to peers that have begun, which need them for sums of their own.
//   - Later calls return early: they do not multiply, store or signal. They only release the copies that wait on their
//     streams, since memory cannot be freed while a stream waits, and end after those. Such copies read whatever the
//     peers have there, and write to this rank's memory only.
//   - The streams of a gather still signal that they have begun, and peers may copy A. But no call of a peer succeeds
//     without the word of this rank's kernel that it has copied the peer's shard.
//   - Nothing stops other work on the stream after a call that has failed.
//
// An exchange is a template of the element type, the kernel's tile and its parts. A module has one kernel, for the exchange
// and the element type that are macros of the compilation: -DEXCHANGE=Gathered -DELEMENT=Half.
#pragma once

#include "../../device/barrier.cuh"
#include "../../device/shared.cuh"
#include "../../device/vector.cuh"
#include "tile_order.cuh"

// The state of rows of A: missing after a time-out; known to have arrived before; or arrived during this wait.
enum class RowsState { kMissing, kReady, kArrived };

constexpr int kElementBytes = 2;
constexpr int kPerVec = kVecBytes / kElementBytes;

// Stores eight elements at a row and column of a matrix of n columns.
FORCE_INLINE __device__ void store_vec(uint64_t matrix, int64_t row, int64_t column, int64_t n, Vec v) {
  const uint64_t to = matrix + (row * n + column) * kElementBytes;
  if (n % kPerVec == 0)
    st(to, v);
  else
    st_any<kElementBytes>(to, v, (n - column) * kElementBytes);
}

// Where a tile's shard begins in a matrix that has the shards of all ranks.
FORCE_INLINE __device__ uint64_t shard_address(const MatmulParams& p, uint64_t matrix, const Tile& t) {
  return matrix + (int64_t)t.shard_row * p.n * kElementBytes;
}

// The address of word `rank` of an array of words.
FORCE_INLINE __device__ uint64_t word_address(uint64_t words, uint32_t rank) { return words + rank * sizeof(uint32_t); }

// Calls f(r) for all other ranks, beginning with the next one.
template <typename F>
FORCE_INLINE __device__ void each_peer(const MatmulParams& p, F f) {
#pragma nounroll
  for (uint32_t i = 1; i < p.base.world; i++) f((p.base.rank + i) % p.base.world);
}

// Whether a growing word has not reached a value yet.
FORCE_INLINE __device__ bool is_before(uint32_t seen, uint32_t value) { return (int32_t)(seen - value) < 0; }

// The mark by which a call claims the fault record: it differs from those of nearby calls and of other kernels.
FORCE_INLINE __device__ uint32_t fault_mark(const MatmulParams& p) { return p.epoch | 1u << 31; }

// Sets a word from 0 to a mark. True for the one thread that did it.
FORCE_INLINE __device__ bool try_claim_with(uint64_t address, uint32_t mark) {
  uint32_t before;
  asm volatile("atom.acq_rel.gpu.global.cas.b32 %0, [%1], 0, %2;" : "=r"(before) : "l"(address), "r"(mark) : "memory");
  return before == 0;
}

// Whether a wait of this rank has expired, in this call or before.
FORCE_INLINE __device__ bool has_failed(const MatmulParams& p) { return ld_flag_acquire(claimed_address(p.base)) != 0; }

// Whether one has expired before this call. All threads of the grid get the same answer, even if a wait expires meanwhile,
// so that no thread synchronizes with others that have returned.
FORCE_INLINE __device__ bool failed_in_earlier_call(const MatmulParams& p) {
  const uint32_t mark = ld_relaxed(claimed_address(p.base));
  return mark != 0 && mark != fault_mark(p);
}

// Waits until a growing word has reached a value. False when the deadline has passed, or at once when another wait of this
// rank has expired: otherwise each following tile would wait for a full time-out.
FORCE_INLINE __device__ bool wait_for_word(const MatmulParams& p, uint64_t word, uint32_t value, Phase phase, uint32_t peer) {
  uint32_t seen = ld_flag_acquire(word);
  if (is_before(seen, value) && ld_relaxed(claimed_address(p.base)) != 0) return false;
  for (Deadline deadline; is_before(seen, value); seen = ld_flag_acquire(word)) {
    if (!deadline.has_passed(p.base)) continue;
    if (try_claim_with(claimed_address(p.base), fault_mark(p))) write_fault(p.base, phase, peer, value, seen);
    return false;
  }
  return true;
}

// Stores the epoch to this rank's word of an array of words on another rank.
FORCE_INLINE __device__ void signal_rank(const MatmulParams& p, uint64_t words, uint32_t rank) {
  st_flag_release(on_peer(p, word_address(words, p.base.rank), rank), p.epoch);
}

// Bytes between the rows of a staged part in shared memory: 16 more than a row has, so that all banks are used.
template <int kColumns>
constexpr uint32_t kStagedPitch = kColumns * kElementBytes + kVecBytes;

// Local is what exchanges have in common that store all tiles in this rank's C, without additions.
struct Local {
  static constexpr bool kStoresLocally = true, kTransposes = false;
  FORCE_INLINE __device__ static constexpr bool adds_products(const Tile&) { return false; }
  FORCE_INLINE __device__ static constexpr bool wait_for_products(int32_t) { return true; }
  FORCE_INLINE __device__ static constexpr uint32_t peer_count() { return 0; }
  FORCE_INLINE __device__ static constexpr uint64_t products_address(int32_t, uint32_t) { return 0; }

  FORCE_INLINE __device__ static constexpr bool sends(const Tile&) { return false; }
  FORCE_INLINE __device__ static constexpr bool crosses_link(const Tile&) { return false; }
  FORCE_INLINE __device__ static constexpr bool wait_for_owner(const Tile&) { return true; }
  FORCE_INLINE __device__ static constexpr uint64_t send_address(const Tile&, int32_t) { return 0; }
  FORCE_INLINE __device__ void signal_sent(const Tile&, int32_t, bool) {}

  FORCE_INLINE __device__ void count_stored() const {}
  FORCE_INLINE __device__ static constexpr uint32_t output_count(const Tile&) { return 1; }
};

// Product multiplies local matrices.
template <typename T, int kRows, int kColumns, int kPartRows>
struct Product : Local {
  using Order = TileOrder<kRows, kColumns>;
  const MatmulParams& p;
  static constexpr bool kGathers = false;
  FORCE_INLINE __device__ explicit Product(const MatmulParams& p) : p(p) {}

  FORCE_INLINE __device__ static constexpr bool failed_earlier() { return false; }
  FORCE_INLINE __device__ void release_copies() const {}
  FORCE_INLINE __device__ void signal_begun() const {}
  FORCE_INLINE __device__ Order order() const { return Order(p, 1, 0); }
  FORCE_INLINE __device__ bool is_local(const Tile&) const { return true; }
  FORCE_INLINE __device__ static constexpr RowsState wait_for_rows(const Tile&, int) { return RowsState::kReady; }

  FORCE_INLINE __device__ uint64_t output_address(const Tile&, uint32_t) const { return p.c; }
  FORCE_INLINE __device__ void wait_for_peers() const {}
};

// Transposed multiplies local matrices as Product does, and its m, n, A and B are the n, m, B and A of the product: tiles
// divide the rows of C by their columns, and the columns of C by their rows. So few rows of a tile are beyond a ragged M.
template <typename T, int kRows, int kColumns, int kPartRows>
struct Transposed : Product<T, kRows, kColumns, kPartRows> {
  using Product<T, kRows, kColumns, kPartRows>::Product;
  static constexpr bool kTransposes = true;
};

// Stores eight elements of a tile, at a row of its shard, to all outputs of its exchange.
template <typename Exchange>
FORCE_INLINE __device__ void store_outputs(const Exchange& exchange, const Tile& t, int64_t row, int64_t column, Vec v) {
  for (uint32_t i = 0; i < exchange.output_count(t); i++) store_vec(exchange.output_address(t, i), row, column, exchange.p.n, v);
}
