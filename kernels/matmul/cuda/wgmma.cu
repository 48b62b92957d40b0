// A GEMM on tensor cores of compute capability 9.0 (wgmma), by itself or overlapping with communication: see exchange.cuh.
//
// Algorithm, for a cluster of two blocks, for each pair of tiles, one below the other. Warp specialization: a block has a
// producer warpgroup (0) and two consumer warpgroups (1, 2).
//   1. producer: a thread of each block loads k-slices of the operands into the stages of a pipeline for each, by TMA:
//      the tile's rows of A, and half of the columns of B, which is multicast to both blocks. Of tiles side by side, each
//      block loads all of its own B
//   2. mainloop: each consumer warpgroup multiplies 64 rows as slices arrive, accumulating in registers
//   3. epilogue: each consumer adds the peers' products, if the exchange says so, and rounds its sums into shared memory,
//      while the producer already loads the next tiles
//   4. store: a store warp of warpgroup 0 for each consumer stores the part to the outputs of the exchange, on this GPU or
//      others, by bulk copies, while the next tile is multiplied; then it fetches the peers' products of that tile. The
//      last tile is stored by the consumers, if it stays on this GPU
// Clusters without a tile in the last wave share those of the others: splitk.cuh.
//
// Meanwhile a spare thread of each block copies the local shard of a gather, if shared memory has room for it
// (local_shard.cuh); that of the last block waits until the peers need nothing more. In a call after one whose wait has
// expired, none of this is done: see exchange.cuh.
//
// Buffers: A and C lie by rows, B by columns; C of a transposed product lies by columns. There are tensor maps of A and B, with
// boxes of kSlice elements of k by kRows rows of A, or fewer where a shard ends (tails.cuh), or by kColumns / 2 columns of B,
// swizzled by 128 bytes. Elements of a box beyond the matrices arrive as zeros.
//
// Memory order: mbarriers order copies, products and stores. Proxy fences order what threads have written, or acquired,
// before the copies that read it. The exchange orders what passes between ranks: parts have been written before it
// signals them.
//
// The caller gives a grid of pairs of blocks, all resident, of kThreads threads, and the shared memory of SharedLayout. Any
// m and n, k a multiple of 8. sm_90a. A module has tiles of -DCOLUMNS columns. Up to kMaxRanks ranks.

#include "../../device/entries.cuh"
#include "epilogue_store.cuh"
#include "gathered.cuh"
#include "local_shard.cuh"
#include "multiply.cuh"
#include "reduced.cuh"
#include "splitk.cuh"
#include "tails.cuh"
#include "trace.cuh"

// How many columns of B a tile copies: all, unless they are the rows of a ragged M.
template <int kColumns, typename Exchange>
FORCE_INLINE __device__ int32_t copied_columns(const Exchange& exchange, const Tile& t) {
  return Exchange::kTransposes ? rows_within(exchange.p.n - t.column, kColumns) : kColumns;
}

// Makes zeros of the rows of A and columns of B that the first tile does not copy into the stages. Later tiles find there what
// was copied before. All threads of the cluster call it with the first pair of tiles, and meet.
template <int kColumns, typename Exchange>
FORCE_INLINE __device__ void clear_tails(SharedLayout<kColumns> at, const Exchange& exchange, const Tile& first) {
  using Layout = SharedLayout<kColumns>;
  const Tile own = own_tile(exchange, first);
  const int32_t slices = first.k_end - first.k_begin, columns = copied_columns<kColumns>(exchange, own);
  const bool fills_a = slices >= (int32_t)Layout::kStagesOfA, fills_b = !Exchange::kTransposes || slices >= (int32_t)Layout::kStagesOfB;
  if (fills_a && fills_b && first.rows >= kClusterBlocks * kRows && columns == kColumns) return cluster_sync_mbarriers();
  const auto a = at.a();
  const auto b = at.b();
  const uint32_t from_a = fills_a ? rows_within(own.rows, kRows) * kRowBytes : 0, from_b = fills_b ? columns * kRowBytes : 0;
  const uint32_t thread = thread_id() - kWarpgroup, threads = kThreads - kWarpgroup; // a thread of the others makes mbarriers meanwhile
  for (uint32_t s = 0; thread < threads && s < Layout::kStagesOfA; s++)
    clear_shared(a.at(s) + from_a, a.at(s) + Layout::kBytesOfA, thread, threads);
  for (uint32_t s = 0; Exchange::kTransposes && thread < threads && s < Layout::kStagesOfB; s++)
    clear_shared(b.at(s) + from_b, b.at(s) + Layout::kBytesOfB, thread, threads);
  fence_async_proxy_shared(); // orders the zeros before products, and before copies of later tiles, behind the barrier
  cluster_sync();
}

// The producer: one thread loads all operands, without rows of A beyond those of a shard. The last shard may have fewer. Nor are
// columns of B copied beyond those of a transposed product.
template <int kColumns, typename Exchange>
FORCE_INLINE __device__ void run_producer(const MatmulParams& p, SharedLayout<kColumns> at, Exchange exchange, const Tile& first_tile) {
  constexpr uint16_t kAll = (1 << kClusterBlocks) - 1;
  constexpr int kShare = kColumns / kClusterBlocks;
  const auto a = at.a();
  const auto b = at.b();
  const int32_t first = cluster_rank() * kShare; // of the columns that this block copies
  const int32_t shard_rows = exchange.order().rows_of_first_shard();
  typename SharedLayout<kColumns>::PipelineStates state;
  each_tile(exchange, first_tile, [&](const Tile& t) {
    if (exchange.wait_for_rows(t, kRows) != RowsState::kReady) fence_async_proxy();
    const bool in_shard = Exchange::kGathers && exchange.is_local(t); // A is this rank's shard
    const int32_t row = t.row + (in_shard ? 0 : t.shard_row);
    const int32_t rows = t.rows > 0 ? rows_within(shard_rows - t.row, kRows) : 0; // in the box
    const TensorMap& whole = Exchange::kGathers && !in_shard ? p.map_a_full : p.map_a;
    const TensorMap& tail = Exchange::kGathers && !in_shard ? p.map_a_full_tail : p.map_a_tail;
    const auto copy_half_of_b = [&](int32_t s) {
      tma_load_multicast(kAll, b.at(state.b.stage) + first * kRowBytes, p.map_b, s * kSlice, t.column + first, b.full(state.b.stage));
    };
    const auto copy_own_b = [&](int32_t s) {
#pragma unroll
      for (int32_t c = 0; c < kColumns; c += kShare)
        tma_load(b.at(state.b.stage) + c * kRowBytes, p.map_b, s * kSlice, t.column + c, b.full(state.b.stage));
    };
    const int32_t columns = copied_columns<kColumns>(exchange, t);
    const auto copy_rest_of_b = [&](int32_t s) {
#pragma unroll
      for (int32_t c = 0; c < kColumns; c += kShare) {
        const int32_t left = rows_within(columns - c, kShare);
        const TensorMap& map = left == kShare ? p.map_b : p.map_b_tail;
        if (left == 0 || (!t.beside && c != first)) continue;
        if (t.beside)
          tma_load(b.at(state.b.stage) + c * kRowBytes, map, s * kSlice, t.column + c, b.full(state.b.stage));
        else
          tma_load_multicast(kAll, b.at(state.b.stage) + c * kRowBytes, map, s * kSlice, t.column + c, b.full(state.b.stage));
      }
    };
    const auto copy_slices = [&](const TensorMap& map_a, int32_t box_rows, const auto& copy_boxes_of_b) {
      const auto copy_a = [&](int32_t s) {
        a.producer_acquire(state.a, box_rows * kRowBytes);
        if (box_rows > 0) tma_load(a.at(state.a.stage), map_a, s * kSlice, row, a.full(state.a.stage));
      };
      const auto copy_b = [&](int32_t s) {
        b.producer_acquire(state.b, columns * kRowBytes);
        copy_boxes_of_b(s);
      };
      // B first where its pipeline is longer, which would never be full otherwise; else A first, which was faster.
      for (int32_t s = t.k_begin; s < t.k_end; s++, state.advance()) {
        if constexpr (SharedLayout<kColumns>::kStagesOfB > SharedLayout<kColumns>::kStagesOfA)
          copy_b(s), copy_a(s);
        else
          copy_a(s), copy_b(s);
      }
    };
    // A loop for each case: a narrow tile leaves no time for a branch (kernels/NOTES.md).
    if (columns < kColumns)
      copy_slices(rows == kRows ? whole : tail, rows, copy_rest_of_b);
    else if (t.beside)
      copy_slices(rows == kRows ? whole : tail, rows, copy_own_b);
    else if (rows == kRows)
      copy_slices(whole, kRows, copy_half_of_b);
    else
      copy_slices(tail, rows, copy_half_of_b);
  });
}

// The mainloop: a warpgroup's products of its part of a tile, in sums. The first product overwrites them.
template <typename T, int kColumns>
FORCE_INLINE __device__ void multiply_slices(const Tile& t, SharedLayout<kColumns> at, typename SharedLayout<kColumns>::PipelineStates& state,
                                             uint32_t part, float (&sums)[kColumns / 2]) {
  const auto a = at.a();
  const auto b = at.b();
  const auto release = [&](const auto& done) { // A in this block, B in both blocks, which load it together, or each its own
    const uint32_t thread = thread_id() % kWarpgroup;
    if (thread < kClusterBlocks) mbarrier_arrive_remote(b.empty(done.b.stage), thread);
    if (thread == 32) mbarrier_arrive(a.empty(done.a.stage));
  };
  typename SharedLayout<kColumns>::PipelineStates before;
  for (int32_t s = t.k_begin; s < t.k_end; s++, state.advance()) {
    a.consumer_wait(state.a);
    b.consumer_wait(state.b);
    const uint64_t left = tile_descriptor(a.at(state.a.stage) + part * kPartRows * kRowBytes);
    const uint64_t right = tile_descriptor(b.at(state.b.stage));
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < kSlice / 16; k++) multiply(T{}, sums, left + k * kNextK, right + k * kNextK, s > t.k_begin || k > 0);
    wgmma_commit();
    wgmma_wait<1>();
    if (s > t.k_begin) release(before);
    before = state;
  }
  wgmma_wait<0>();
  fence_accumulators(sums);
  release(before);
}

// The spare thread of each block.
template <int kColumns, typename Exchange>
FORCE_INLINE __device__ void run_spare_thread(const MatmulParams& p, SharedLayout<kColumns> at, Exchange exchange) {
  const uint32_t last = grid_blocks() - 1;
  if (block_id() == last)
    exchange.wait_for_peers();
  else if constexpr (Exchange::kGathers && SharedLayout<kColumns>::kChunkBufferBytes > 0)
    copy_local_shard<kColumns>(p, at, exchange.order().rows_of_shard(p.base.rank), block_id(), last);
}

// Begins a call, when the previous kernel has ended. All threads call it, and return if it is false: a call that failed earlier.
template <typename Exchange>
FORCE_INLINE __device__ bool begin_call(Exchange exchange) {
  grid_dependency_sync();
  const bool failed_earlier = exchange.failed_earlier();
  if (block_id() == 0 && !failed_earlier) exchange.signal_begun();
  warp_sync();
  if (failed_earlier && thread_id() == 0 && block_id() == grid_blocks() - 1) exchange.release_copies();
  return !failed_earlier;
}

template <typename T, int kColumns, typename Exchange>
FORCE_INLINE __device__ void multiply_tiles(const MatmulParams& p) {
  const SharedLayout<kColumns> at = {shared_memory()};
  const uint32_t warp = warp_uniform(thread_id() / kWarp), group = warp / (kWarpgroup / kWarp);
  // All until begin_call overlaps with the previous kernel: it reads parameters, and touches this block's shared memory alone.
  if (thread_id() == 0) {
    at.init_barriers();
    prefetch_tensor_map(p.map_a);
    prefetch_tensor_map(p.map_b);
  }
  const Tile first = first_tile(Exchange{p});
  compute_here(first);
  clear_tails<kColumns>(at, Exchange{p}, first);
  ClusterEnd end;
  if (group == 0) {
    warpgroup_reg_dealloc<40>();
    if (!begin_call(Exchange{p})) return;
    if (thread_id() == 0) run_producer<kColumns>(p, at, Exchange{p}, first);
    if (warp == 1 || warp == 2) run_store_warp<kColumns>(p, at, Exchange{p}, first, warp - 1);
    if (warp == 3 && lane_id() == 0) run_spare_thread<kColumns>(p, at, Exchange{p});
  } else {
    warpgroup_reg_alloc<232>();
    const Exchange exchange{p};
    if (!begin_call(exchange)) return;
    const uint32_t part = group - 1;
    Parities parity;
    typename SharedLayout<kColumns>::PipelineStates state;
    float sums[kColumns / 2] = {};
    each_tile(exchange, first, [&](const Tile& t) {
      TileTimer timer(p, thread_id() == kWarpgroup);
      at.a().consumer_wait(state.a);
      at.b().consumer_wait(state.b);
      timer.begin();
      multiply_slices<T, kColumns>(t, at, state, part, sums);
      if (t.piece >= 0) {
        PartialSums<kColumns>(p, t.piece, part).store(sums);
      } else {
        TileScheduler::each_piece(p, t, [&](int32_t piece) { PartialSums<kColumns>(p, piece, part).add_to(sums); });
        stage_tile<T, kColumns>(exchange, at, t, part, parity, sums, end);
      }
      timer.end(t, Exchange::kTransposes);
    });
  }
  end.wait(); // no block ends while another still copies to its shared memory
}

extern "C" __global__ void __launch_bounds__(kThreads, 1) wgmma(const GRID_CONSTANT MatmulParams p) {
  multiply_tiles<ELEMENT, COLUMNS, EXCHANGE<ELEMENT, kClusterBlocks * kRows, COLUMNS, kPartRows>>(p);
}
