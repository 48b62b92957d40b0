// A product of matrices on tensor cores of compute capability 9.0, by itself or
// overlapping with what it needs of the peers, or they of it: see output.cuh.
//
// Algorithm, for a cluster of two blocks, for each pair of tiles, one below the other:
//   1. a thread of each block copies k-slices of the operands into a ring of stages for each, by
//      TMA: the tile's rows of A, and half of the columns of B, to both blocks
//   2. two warpgroups multiply 64 rows each as slices arrive, accumulating in registers
//   3. each rounds its half into shared memory, while the copies for the next tiles are on
//      their way; before, it adds the peers' products if the job says so
//   4. a warp for each half stores it where the job wants it, on this GPU or others, by bulk
//      copies, while the next tile is multiplied, and then fetches what the peers have of that one
// Clusters that have no tile in the last round share those of the others: splitk.cuh.
//
// Meanwhile a thread of each block, which has no part in the above, copies the own shard of a gather, if there is
// room to pass through; that of the last block waits until the peers need nothing more.
// Behind a call whose wait has expired, nothing of this is done: see output.cuh.
//
// Buffers: A and C lie by rows, B by columns; tensor maps of A and B, with boxes of kSlice
// elements of k by kRows rows of A, or by kColumns / 2 of B, swizzled by 128 bytes. What the
// boxes have beyond the matrices arrives as zeros or, of a shard, as rows of the next
// one, which do not count.
//
// Memory order: mbarriers order copies, products and stores, and fences what copies read that threads have written, or
// seen to be there; the job orders what passes between ranks. What was stored has arrived before the job is told so.
//
// The caller gives a grid of pairs of blocks, all resident, of kThreads threads, and the
// shared memory that Layout divides up. Any m and n, k a multiple of 8. sm_90a. A module
// has tiles of as many columns as -DCOLUMNS says.

#include "../device/entries.cuh"
#include "clusters.cuh"
#include "handover.cuh"
#include "multiply.cuh"
#include "ownshard.cuh"
#include "splitk.cuh"
#include "summed.cuh"

// One thread's copies of all operands.
template <int kColumns, typename Job>
FORCE_INLINE __device__ void copy_operands(const MatmulParams& p, Layout<kColumns> at, Job job) {
  constexpr uint16_t kAll = (1 << kBlocks) - 1;
  constexpr int kShare = kColumns / kBlocks;
  const auto a = at.a();
  const auto b = at.b();
  const uint32_t first = cluster_rank() * kShare; // of the columns that this block copies
  typename Layout<kColumns>::Turns turn;
  fence_async_proxy(); // what earlier kernels wrote
  each_tile(job, [&](const Tile& t) {
    if (job.await_rows(t, kRows) != Arrival::kThere) fence_async_proxy();
    const bool in_shard = Job::kGathers && job.is_own(t); // of which A is that of this rank
    const TensorMap& map = Job::kGathers && !in_shard ? p.map_a_full : p.map_a;
    const int32_t row = t.row + (in_shard ? 0 : t.shard_row);
    const auto copy_a = [&](int32_t s) {
      a.await_empty(turn.a);
      copy_box(a.at(turn.a.stage), map, s * kSlice, row, a.full(turn.a.stage));
    };
    const auto copy_b = [&](int32_t s) {
      b.await_empty(turn.b);
      copy_box_to(kAll, b.at(turn.b.stage) + first * kRowBytes, p.map_b, s * kSlice, t.column + first, b.full(turn.b.stage));
    };
    // B first where its ring is longer, or it would never be full; else A: that was faster.
    for (int32_t s = t.begin; s < t.end; s++, turn.advance()) {
      if constexpr (Layout<kColumns>::kStagesOfB > Layout<kColumns>::kStagesOfA)
        copy_b(s), copy_a(s);
      else
        copy_a(s), copy_b(s);
    }
  });
}

// A warpgroup's products of a tile's half, in sums. The first overwrites what they were.
template <typename T, int kColumns>
FORCE_INLINE __device__ void multiply_slices(const Tile& t, Layout<kColumns> at, typename Layout<kColumns>::Turns& turn,
                                             uint32_t part, float (&sums)[kColumns / 2]) {
  const auto a = at.a();
  const auto b = at.b();
  const auto release = [&](const auto& done) { // A in this block, B in all that copy there
    const uint32_t thread = thread_id() % kWarpgroup;
    if (thread < kBlocks) mbarrier_arrive_remote(b.empty(done.b.stage), thread);
    if (thread == 32) mbarrier_arrive(a.empty(done.a.stage));
  };
  typename Layout<kColumns>::Turns before;
  for (int32_t s = t.begin; s < t.end; s++, turn.advance()) {
    a.await_full(turn.a);
    b.await_full(turn.b);
    const uint64_t left = tile_descriptor(a.at(turn.a.stage) + part * kPartRows * kRowBytes);
    const uint64_t right = tile_descriptor(b.at(turn.b.stage));
    products_begin();
#pragma unroll
    for (int k = 0; k < kSlice / 16; k++) multiply(T{}, sums, left + k * kNextK, right + k * kNextK, s > t.begin || k > 0);
    products_commit();
    products_wait<1>();
    if (s > t.begin) release(before);
    before = turn;
  }
  products_wait<0>();
  settle(sums);
  release(before);
}

// What one thread of each block does that has no part in the product.
template <int kColumns, typename Job>
FORCE_INLINE __device__ void work_beside(const MatmulParams& p, Layout<kColumns> at, Job job) {
  const uint32_t last = grid_blocks() - 1;
  if (block_id() == last)
    job.await_peers();
  else if constexpr (Job::kGathers && Layout<kColumns>::kPassingBytes > 0)
    copy_own_shard<kColumns>(p, at, job.order().rows_of_shard(p.base.rank), block_id(), last);
}

template <typename T, int kColumns, typename Job>
FORCE_INLINE __device__ void multiply_tiles(const MatmulParams& p) {
  const Layout<kColumns> at = {shared_memory()};
  if (thread_id() == 0) at.init_barriers();
  cluster_meet();
  grid_dependency_sync(); // all before is this block's own, and may overlap with the kernel in front
  const bool stops = Job{p}.stops();
  if (block_id() == 0 && !stops) Job{p}.announce();
  warp_meet();
  if (stops) {
    if (thread_id() == 0 && block_id() == grid_blocks() - 1) Job{p}.let_copies_go();
    return;
  }
  const uint32_t group = of_warp(thread_id() / kWarpgroup), warp = thread_id() / 32;
  if (group == 0) {
    give_registers<40>();
    if (thread_id() == 0) copy_operands<kColumns>(p, at, Job{p});
    if (warp == 1 || warp == 2) store_tiles<kColumns>(p, at, Job{p}, warp - 1);
    if (warp == 3 && lane_id() == 0) work_beside<kColumns>(p, at, Job{p});
  } else {
    take_registers<232>();
    const Job job{p};
    const uint32_t part = group - 1;
    Parities parity;
    typename Layout<kColumns>::Turns turn;
    float sums[kColumns / 2] = {};
    each_tile(job, [&](const Tile& t) {
      Watch watch(p, thread_id() == kWarpgroup);
      at.a().await_full(turn.a);
      at.b().await_full(turn.b);
      watch.begins();
      multiply_slices<T, kColumns>(t, at, turn, part, sums);
      if (t.piece >= 0) {
        PieceSums<kColumns>(p, t.piece, part).leave(sums);
      } else {
        Rounds::each_piece(p, t, [&](int32_t piece) { PieceSums<kColumns>(p, piece, part).add_to(sums); });
        hand_over<T, kColumns>(job, at, t, part, parity, sums);
      }
      watch.ends(t);
    });
  }
  cluster_meet(); // no block leaves while another still copies to it
}

extern "C" __global__ void __launch_bounds__(kThreads, 1) wgmma(const GRID_CONSTANT MatmulParams p) {
  multiply_tiles<ELEMENT, COLUMNS, JOB<ELEMENT, kBlocks * kRows, COLUMNS, kPartRows>>(p);
}
