// A product of matrices on tensor cores of compute capability 9.0, by itself or
// overlapping with what it needs of the peers, or they of it: see output.cuh.
//
// Algorithm, for a cluster of two blocks, for each pair of tiles, one below the other:
//   1. a thread of each block copies k-slices of the operands into a ring of stages, by
//      TMA: the tile's rows of A, and half of the columns of B, to both blocks
//   2. two warpgroups multiply 64 rows each as slices arrive, accumulating in registers
//   3. each rounds its half into shared memory, while the copies for the next tiles are on
//      their way; before, it adds the peers' products if the job says so
//   4. a warp for each half stores it where the job wants it, on this GPU or others, by bulk
//      copies, while the next tile is multiplied, and then fetches what the peers have of that one
// Meanwhile a thread of the last block, which has the fewest tiles, waits until the peers need
// nothing more. It has no part in the above, so that it delays nothing. Behind a call whose wait has expired,
// nothing of this is done: see output.cuh.
//
// Buffers: A and C lie by rows, B by columns; tensor maps of A and B, with boxes of kSlice
// elements of k by kRows rows of A, or by kColumns / 2 of B, swizzled by 128 bytes. What the
// boxes have beyond the matrices arrives as zeros or, of a shard, as rows of the next
// one, which do not count.
//
// Memory order: mbarriers order copies, products and stores; the job orders what passes
// between ranks. What was stored has arrived before the job is told so.
//
// The caller gives a grid of pairs of blocks, all resident, of kThreads threads, and the
// shared memory that Layout divides up. Any m and n, k a multiple of 8. sm_90a. A module
// has tiles of as many columns as -DCOLUMNS says.

#include "../device/entries.cuh"
#include "fragments.cuh"
#include "hopper.cuh"
#include "multiply.cuh"
#include "summed.cuh"

constexpr int kBlocks = 2; // of a cluster
constexpr int kRows = 128, kSlice = 64;
constexpr int kThreads = 3 * kWarpgroup; // one copies and stores, two multiply
constexpr int kParts = 2;                // of a tile, one for each warpgroup that multiplies
constexpr int kPartRows = kRows / kParts;
constexpr int kRowBytes = kSlice * kElementBytes;
constexpr uint32_t kMostShared = 227 * 1024;

// Shared memory: a ring of as many stages as fit, what is on its way out, and barriers.
template <int kColumns>
struct Layout {
  static constexpr uint32_t kBytesOfA = kRows * kRowBytes, kBytesOfB = kColumns * kRowBytes;
  static constexpr uint32_t kBytes = kBytesOfA + kBytesOfB;                     // of a stage
  static constexpr uint32_t kPitch = kOutPitch<kColumns>;
  static constexpr uint32_t kOutBytes = kRows * kPitch, kBarrierBytes = 256; // at most
  static constexpr uint32_t kStages = (kMostShared - kOutBytes - kBarrierBytes) / kBytes;
  uint32_t base;

  FORCE_INLINE __device__ uint32_t a(uint32_t stage) const { return base + stage * kBytes; }
  FORCE_INLINE __device__ uint32_t b(uint32_t stage) const { return a(stage) + kBytesOfA; }
  FORCE_INLINE __device__ uint32_t out(uint32_t row) const { return base + kStages * kBytes + row * kPitch; }
  FORCE_INLINE __device__ uint32_t full(uint32_t stage) const { return out(kRows) + stage * 8; }
  FORCE_INLINE __device__ uint32_t empty(uint32_t stage) const { return full(kStages) + stage * 8; }
  FORCE_INLINE __device__ uint32_t ready(uint32_t part) const { return empty(kStages) + part * 8; } // to be stored
  FORCE_INLINE __device__ uint32_t stored(uint32_t part) const { return ready(kParts) + part * 8; } // and out of the way
  FORCE_INLINE __device__ uint32_t fetched(uint32_t part) const { return stored(kParts) + part * 8; } // a peer's, to be added
  FORCE_INLINE __device__ uint32_t added(uint32_t part) const { return fetched(kParts) + part * 8; } // with more to come

  FORCE_INLINE __device__ void init_barriers() const {
    for (uint32_t s = 0; s < kStages; s++) {
      barrier_init(full(s), 1);
      barrier_init(empty(s), kParts * kBlocks);
    }
    for (uint32_t part = 0; part < kParts; part++) {
      barrier_init(ready(part), kWarpgroup);
      barrier_init(stored(part), 1);
      barrier_init(fetched(part), 1);
      barrier_init(added(part), kWarpgroup);
    }
    barriers_are_ready();
  }

  // Where one is in the ring of stages.
  struct Turn {
    uint32_t stage = 0, parity = 0;
    FORCE_INLINE __device__ void advance() {
      if (++stage == kStages) stage = 0, parity ^= 1;
    }
  };
};

// The pairs of tiles of a cluster, one after the other: f(tile), with the block's own
// of the two. One without rows is left out by all but those who count what was sent.
template <bool kAll = false, typename Job, typename F>
FORCE_INLINE __device__ void each_tile(const Job& job, F f) {
  const auto order = job.order();
  for (int32_t i = block_id() / kBlocks; i < order.count(); i += grid_blocks() / kBlocks) {
    Tile t = order.at(i);
    if (!kAll && t.rows <= 0) continue;
    const int32_t half = cluster_rank();
    t.row += half * kRows;
    t.rows -= half * kRows;
    t.index = t.index * kBlocks + half;
    t.number = t.number * kBlocks + half;
    f(t);
  }
}

// Whether the tile, or that of the other block of the cluster, has rows.
FORCE_INLINE __device__ bool pair_has_rows(const Tile& t) { return t.rows + (int32_t)cluster_rank() * kRows > 0; }

FORCE_INLINE __device__ int32_t slices(const MatmulParams& p) { return (p.k + kSlice - 1) / kSlice; }

// One thread's copies of all operands.
template <int kColumns, typename Job>
FORCE_INLINE __device__ void copy_operands(const MatmulParams& p, Layout<kColumns> at, Job job) {
  constexpr uint16_t kAll = (1 << kBlocks) - 1;
  constexpr int kShare = kColumns / kBlocks;
  const uint32_t me = cluster_rank();
  typename Layout<kColumns>::Turn turn;
  each_tile(job, [&](const Tile& t) {
    job.await_rows(t, kRows);
    copies_see_it();
    const bool in_shard = Job::kGathers && job.is_own(t); // of which A is that of this rank
    const uint64_t map = Job::kGathers && !in_shard ? p.map_a_full : p.map_a;
    const int32_t row = t.row + (in_shard ? 0 : t.shard_row);
    for (int32_t s = 0; s < slices(p); s++, turn.advance()) {
      barrier_wait(at.empty(turn.stage), turn.parity ^ 1);
      barrier_expect(at.full(turn.stage), at.kBytes);
      copy_box(at.a(turn.stage), map, s * kSlice, row, at.full(turn.stage));
      copy_box_to(kAll, at.b(turn.stage) + me * kShare * kRowBytes, p.map_b, s * kSlice, t.column + me * kShare,
                  at.full(turn.stage));
    }
  });
}

// A warpgroup's products of a tile's half, added to sums. They begin as zeros, set by the
// caller for each tile: were they overwritten by the first product, compilers would keep the
// registers until then.
template <typename T, int kColumns>
FORCE_INLINE __device__ void multiply_slices(const MatmulParams& p, Layout<kColumns> at,
                                             typename Layout<kColumns>::Turn& turn, uint32_t part,
                                             float (&sums)[kColumns / 2], Watch& watch) {
  const auto release = [&](uint32_t stage) { // in all blocks that copy here
    if (thread_id() % kWarpgroup < kBlocks) barrier_arrive_at(at.empty(stage), thread_id() % kWarpgroup);
  };
  uint32_t before = 0;
  for (int32_t s = 0; s < slices(p); s++, turn.advance()) {
    barrier_wait(at.full(turn.stage), turn.parity);
    if (s == 0) watch.begins();
    const uint64_t a = tile_descriptor(at.a(turn.stage) + part * kPartRows * kRowBytes);
    const uint64_t b = tile_descriptor(at.b(turn.stage));
    products_begin();
#pragma unroll
    for (int k = 0; k < kSlice / 16; k++) multiply(T{}, sums, a + k * kNextK, b + k * kNextK);
    products_commit();
    products_wait<1>();
    if (s > 0) release(before);
    before = turn.stage;
  }
  products_wait<0>();
  settle(sums);
  release(before);
}

// Where a lane's row of the first four matrices of its warp's fragments lies.
template <int kColumns>
FORCE_INLINE __device__ uint32_t fragments_at(Layout<kColumns> at, uint32_t part) {
  const uint32_t thread = thread_id_late() % kWarpgroup, lane = thread % 32;
  return at.out(part * kPartRows + thread / 32 * 16 + lane % 16) + lane / 16 * kVecBytes;
}

// Adds the peers' products to a warpgroup's, which are rounded as theirs are, when they have been
// fetched into shared memory: each warp those rows that it writes afterwards.
template <typename T, int kColumns, typename Job>
FORCE_INLINE __device__ void add_peers(const Job& job, Layout<kColumns> at, uint32_t part, uint32_t& parity,
                                       float (&sums)[kColumns / 2]) {
  const uint32_t from = fragments_at(at, part);
#pragma unroll
  for (int i = 0; i < kColumns / 2; i += 2) round_pair(T{}, sums[i], sums[i + 1]);
#pragma nounroll
  for (uint32_t i = 0; i < job.peers(); i++, parity ^= 1) {
    if (i > 0) barrier_arrive(at.added(part));
    barrier_wait(at.fetched(part), parity);
#pragma unroll
    for (int c = 0; c < kColumns; c += 16) {
      uint32_t pairs[4];
      load_matrices(pairs, from + c * kElementBytes);
#pragma unroll
      for (int k = 0; k < 4; k++) add_pair(T{}, sums[c / 2 + 2 * k], sums[c / 2 + 2 * k + 1], pairs[k]);
    }
  }
}

// Rounds a warpgroup's sums into shared memory.
template <typename T, int kColumns>
FORCE_INLINE __device__ void round_sums(Layout<kColumns> at, uint32_t part, const float (&sums)[kColumns / 2]) {
  const uint32_t corner = fragments_at(at, part);
#pragma unroll
  for (int c = 0; c < kColumns; c += 16) {
    const float* s = sums + c / 2;
    store_matrices(corner + c * kElementBytes, rounded_pair(T{}, s[0], s[1]), rounded_pair(T{}, s[2], s[3]),
                   rounded_pair(T{}, s[4], s[5]), rounded_pair(T{}, s[6], s[7]));
  }
}

// The parities of the phases that come next, of what passes once a tile, and once a peer.
struct Parities {
  uint32_t tile = 0, peer = 0;
};

// The number of a warpgroup's part of a tile, and how many rows of it there are.
FORCE_INLINE __device__ int32_t number_of(const Tile& t, uint32_t part) { return t.index * kParts + part; }
FORCE_INLINE __device__ int32_t rows_of(const Tile& t, uint32_t part) {
  const int32_t left = t.rows - part * kPartRows;
  return left < kPartRows ? left : kPartRows;
}

// Hands a warpgroup's sums to the warp that stores them, when it has stored those of the
// tile before.
template <typename T, int kColumns, typename Job>
FORCE_INLINE __device__ void hand_over(const Job& job, Layout<kColumns> at, const Tile& t, uint32_t part, Parities& parity,
                                       float (&sums)[kColumns / 2]) {
  barrier_wait(at.stored(part), parity.tile ^ 1);
  if (job.adds(t) && rows_of(t, part) > 0) add_peers<T, kColumns>(job, at, part, parity.peer, sums);
  round_sums<T, kColumns>(at, part, sums);
  copies_see_it();
  barrier_arrive(at.ready(part));
  parity.tile ^= 1;
}

// One thread's copies of what the peers have of a part, the next one's when the
// warpgroup has added that of the one before. False if that has not come: it adds what is there.
template <int kColumns, typename Job>
FORCE_INLINE __device__ bool fetch_products(const Job& job, Layout<kColumns> at, const Tile& t, uint32_t part, uint32_t& parity) {
  const int32_t number = number_of(t, part), bytes = rows_of(t, part) * at.kPitch;
  const bool have_come = job.await_products(number);
  copies_see_it();
#pragma nounroll
  for (uint32_t i = 0; i < job.peers(); i++) {
    if (i > 0) barrier_wait(at.added(part), parity), parity ^= 1;
    barrier_expect(at.fetched(part), bytes);
    bulk_load(at.out(part * kPartRows), job.products(number, i), bytes, at.fetched(part));
  }
  return have_come;
}

// A warp's stores of the rows of a part that lie in shared memory.
template <int kColumns, typename Job>
FORCE_INLINE __device__ void store_rows(const MatmulParams& p, const Job& job, Layout<kColumns> at, const Tile& t, uint32_t part) {
  const int32_t rows = rows_of(t, part), left = p.n - t.column, columns = left < kColumns ? left : kColumns;
  const bool whole = p.n % kPerVec == 0;
  for (int32_t r = lane_id(); r < rows; r += 32) {
    const int32_t row = part * kPartRows + r;
    if (!whole) {
      for (int32_t c = 0; c < columns; c += kPerVec)
        put(job, t, t.row + row, t.column + c, ld_shared(at.out(row) + c * kElementBytes));
      continue;
    }
    for (uint32_t i = 0; i < job.targets(t); i++)
      bulk_store(job.target(t, i) + ((int64_t)(t.row + row) * p.n + t.column) * kElementBytes, at.out(row), columns * kElementBytes);
  }
}

// One thread's store of a part that another rank owns, if that has begun.
template <int kColumns, typename Job>
FORCE_INLINE __device__ void send_part(Job& job, Layout<kColumns> at, const Tile& t, uint32_t part) {
  if (rows_of(t, part) <= 0 || !job.await_owner(t)) return;
  copies_see_it();
  bulk_store(job.owners(t, number_of(t, part)), at.out(part * kPartRows), rows_of(t, part) * at.kPitch);
}

// A warp stores what a warpgroup hands over, and tells the job when it has arrived.
template <int kColumns, typename Job>
FORCE_INLINE __device__ void store_tiles(const MatmulParams& p, Layout<kColumns> at, Job job, uint32_t part) {
  Parities parity;
  const bool leads = lane_id() == 0;
  each_tile<true>(job, [&](const Tile& t) {
    bool is_right = true;
    if (pair_has_rows(t)) {
      if (leads && job.adds(t) && rows_of(t, part) > 0) is_right = fetch_products(job, at, t, part, parity.peer);
      barrier_wait(at.ready(part), parity.tile);
      parity.tile ^= 1;
      if (job.sends(t)) {
        if (leads) send_part(job, at, t, part);
      } else if (!job.adds(t) || warp_all(is_right)) {
        store_rows<kColumns>(p, job, at, t, part);
      }
      bulk_commit();
      bulk_wait_read<0>();
      warp_meet();
      if (leads) barrier_arrive(at.stored(part));
      bulk_wait_written();
      warp_meet();
    }
    if (!leads) return;
    if (job.sends(t))
      job.sent(t, number_of(t, part), rows_of(t, part) > 0);
    else if (is_right && rows_of(t, part) > 0)
      job.kept();
  });
}

template <typename T, int kColumns, typename Job>
FORCE_INLINE __device__ void multiply_tiles(const MatmulParams& p) {
  const Layout<kColumns> at = {shared_memory()};
  if (thread_id() == 0) at.init_barriers();
  cluster_meet();
  follow_previous_grid();
  const bool stops = Job{p}.stops();
  if (block_id() == 0 && !stops) Job{p}.announce();
  warp_meet();
  if (stops) {
    if (thread_id() == 0 && block_id() == grid_blocks() - 1) Job{p}.let_copies_go();
    return;
  }
  const uint32_t group = thread_id() / kWarpgroup, warp = thread_id() / 32;
  if (group == 0) {
    give_registers<40>();
    if (thread_id() == 0) copy_operands<kColumns>(p, at, Job{p});
    if (warp == 1 || warp == 2) store_tiles<kColumns>(p, at, Job{p}, warp - 1);
    if (warp == 3 && lane_id() == 0 && block_id() == grid_blocks() - 1) Job{p}.await_peers();
  } else {
    take_registers<232>();
    const Job job{p};
    const uint32_t part = group - 1;
    Parities parity;
    typename Layout<kColumns>::Turn turn;
    each_tile(job, [&](const Tile& t) {
      float sums[kColumns / 2] = {};
      Watch watch(p, thread_id() == kWarpgroup);
      multiply_slices<T, kColumns>(p, at, turn, part, sums, watch);
      hand_over<T, kColumns>(job, at, t, part, parity, sums);
      watch.ends(t);
    });
  }
  cluster_meet(); // no block leaves while another still copies to it
}

extern "C" __global__ void __launch_bounds__(kThreads, 1) wgmma(const MatmulParams p) {
  multiply_tiles<ELEMENT, COLUMNS, JOB<ELEMENT, kBlocks * kRows, COLUMNS, kPartRows>>(p);
}
