// A product of matrices on tensor cores of compute capability 9.0, by itself or
// overlapping with what it needs of the peers, or they of it: see output.cuh.
//
// Algorithm, for a cluster of two blocks, for each pair of tiles, one below the other:
//   1. a thread of each block copies k-slices of the operands into a ring of stages, by
//      TMA: the tile's rows of A, and half of the columns of B, to both blocks
//   2. two warpgroups multiply 64 rows each as slices arrive, accumulating in registers
//   3. each rounds its half, passes it through shared memory, and puts whole rows of it
//      where the job wants them, while the copies for the next tiles are on their way
//
// Buffers: A and C lie by rows, B by columns; tensor maps of A and B, with boxes of kSlice
// elements of k by kRows rows of A, or by kColumns / 2 of B, swizzled by 128 bytes. What the
// boxes have beyond the matrices arrives as zeros or, of a shard, as rows of the next
// one, which do not count.
//
// Memory order: mbarriers order copies and products; the job orders what passes
// between ranks.
//
// The caller gives a grid of pairs of blocks, all resident, of kThreads threads, and
// kSharedBytes of shared memory. Any m, n and k. sm_90a. A module has tiles of so many
// columns as -DCOLUMNS says.

#include "../device/entries.cuh"
#include "hopper.cuh"
#include "multiply.cuh"
#include "output.cuh"

constexpr int kBlocks = 2; // of a cluster
constexpr int kRows = 128, kSlice = 64, kStages = 4;
constexpr int kThreads = 3 * kWarpgroup; // one copies, two multiply
constexpr int kPartRows = kRows / 2;     // of a warpgroup
constexpr int kRowBytes = kSlice * kElementBytes;

// What passes through shared memory on its way out, of one warpgroup: so many
// columns of its rows at a time, a little apart to use all banks.
constexpr int kOutColumns = 128, kOutPitch = kOutColumns * kElementBytes + kVecBytes;

template <int kColumns>
struct Layout {
  static constexpr uint32_t kBytesOfA = kRows * kRowBytes, kBytesOfB = kColumns * kRowBytes;
  static constexpr uint32_t kBytes = kBytesOfA + kBytesOfB; // of a stage
  uint32_t base;

  FORCE_INLINE __device__ uint32_t a(uint32_t stage) const { return base + stage * kBytes; }
  FORCE_INLINE __device__ uint32_t b(uint32_t stage) const { return a(stage) + kBytesOfA; }
  FORCE_INLINE __device__ uint32_t out(uint32_t part) const { return base + kStages * kBytes + part * kPartRows * kOutPitch; }
  FORCE_INLINE __device__ uint32_t full(uint32_t stage) const { return out(2) + stage * 8; }
  FORCE_INLINE __device__ uint32_t empty(uint32_t stage) const { return full(kStages) + stage * 8; }
};

// Where one is in the ring of stages.
struct Turn {
  uint32_t stage = 0, parity = 0;
  FORCE_INLINE __device__ void advance() {
    if (++stage == kStages) stage = 0, parity ^= 1;
  }
};

// The pairs of tiles of a cluster, one after the other: f(tile), with the block's own
// of the two. A pair without rows is left out by all.
template <typename Job, typename F>
FORCE_INLINE __device__ void each_tile(const Job& job, F f) {
  const auto order = job.order();
  for (int64_t i = block_id() / kBlocks; i < order.count(); i += grid_blocks() / kBlocks) {
    Tile t = order.at(i);
    if (t.rows <= 0) continue;
    const uint32_t half = cluster_rank();
    t.row += half * kRows;
    t.rows -= half * kRows;
    t.index = t.index * kBlocks + half;
    t.number = t.number * kBlocks + half;
    f(t);
  }
}

FORCE_INLINE __device__ int32_t slices(const MatmulParams& p) { return (p.k + kSlice - 1) / kSlice; }

// One thread's copies of all operands.
template <int kColumns, typename Job>
FORCE_INLINE __device__ void copy_operands(const MatmulParams& p, Layout<kColumns> at, Job job) {
  constexpr uint16_t kAll = (1 << kBlocks) - 1;
  constexpr int kShare = kColumns / kBlocks;
  const uint32_t me = cluster_rank();
  Turn turn;
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

// A warpgroup's products of a tile's half.
template <typename T, int kColumns>
FORCE_INLINE __device__ void multiply_slices(const MatmulParams& p, Layout<kColumns> at, Turn& turn, uint32_t part,
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
    for (int k = 0; k < kSlice / 16; k++) multiply(T{}, sums, a + k * kNextK, b + k * kNextK, s == 0 && k == 0);
    products_commit();
    products_wait<1>();
    if (s > 0) release(before);
    before = turn.stage;
  }
  products_wait<0>();
  settle(sums);
  release(before);
}

// Puts a warpgroup's sums where the job wants them.
template <typename T, int kColumns, typename Job>
FORCE_INLINE __device__ void put_sums(const MatmulParams& p, const Job& job, Layout<kColumns> at, const Tile& t,
                                      uint32_t part, const float (&sums)[kColumns / 2]) {
  constexpr int kThreadsPerRow = kOutColumns / kPerVec, kRowsAtATime = kWarpgroup / kThreadsPerRow;
  const uint32_t name = 1 + part, thread = thread_id() % kWarpgroup, lane = thread % 32;
  const uint32_t out = at.out(part);
  const uint32_t corner = out + (thread / 32 * 16 + lane % 16) * kOutPitch + lane / 16 * kVecBytes;
  const int64_t rows = t.rows - part * kPartRows, number = t.index * 2 + part;
  if (rows > 0 && thread == 0) job.begin(t, number);
#pragma unroll
  for (int first = 0; first < kColumns; first += kOutColumns) {
    constexpr int kMost = kColumns < kOutColumns ? kColumns : kOutColumns;
#pragma unroll
    for (int c = 0; c < kMost && first + c < kColumns; c += 16) {
      const float* s = sums + (first + c) / 2;
      store_matrices(corner + c * kElementBytes, rounded_pair(T{}, s[0], s[1]), rounded_pair(T{}, s[2], s[3]),
                     rounded_pair(T{}, s[4], s[5]), rounded_pair(T{}, s[6], s[7]));
    }
    warpgroup_meet(name);
    const int64_t column = first + thread % kThreadsPerRow * kPerVec;
#pragma nounroll
    for (int k = 0; k < kPartRows / kRowsAtATime; k++) {
      const int r = k * kRowsAtATime + thread / kThreadsPerRow;
      if (r < rows && column < kColumns && t.column + column < p.n)
        job.put(t, t.row + part * kPartRows + r, t.column + column, ld_shared(out + r * kOutPitch + thread % kThreadsPerRow * kVecBytes));
    }
    warpgroup_meet(name);
  }
  if (rows > 0 && thread == 0) job.end(t, number);
}

template <typename T, int kColumns, typename Job>
FORCE_INLINE __device__ void multiply_tiles(const MatmulParams& p) {
  const Layout<kColumns> at = {shared_memory()};
  if (thread_id() == 0) {
    for (uint32_t s = 0; s < kStages; s++) {
      barrier_init(at.full(s), 1);
      barrier_init(at.empty(s), 2 * kBlocks);
    }
    barriers_are_ready();
  }
  cluster_meet();
  const uint32_t group = thread_id() / kWarpgroup;
  if (group == 0) {
    give_registers<40>();
    if (thread_id() == 0) copy_operands<kColumns>(p, at, Job{p});
  } else {
    take_registers<232>();
    const Job job{p};
    Turn turn;
    each_tile(job, [&](const Tile& t) {
      float sums[kColumns / 2];
      Watch watch(p, thread_id() == kWarpgroup);
      multiply_slices<T, kColumns>(p, at, turn, group - 1, sums, watch);
      put_sums<T, kColumns>(p, job, at, t, group - 1, sums);
      watch.ends(t);
    });
  }
  cluster_meet(); // no block leaves while another still copies to it
}

extern "C" __global__ void __launch_bounds__(kThreads, 1) wgmma(const MatmulParams p) {
  multiply_tiles<ELEMENT, COLUMNS, JOB<ELEMENT, kBlocks * kRows, COLUMNS>>(p);
}
