// How wgmma.cu divides tiles: two blocks of a cluster take one tile each, one below the other, and two warpgroups of a block
// multiply a part of its tile each.
#pragma once

#include "exchange.cuh"
#include "hopper.cuh"
#include "tile_scheduler.cuh"

constexpr int kClusterBlocks = 2; // blocks of a cluster
constexpr int kRows = 128, kSlice = 64;
constexpr int kThreads = 3 * kWarpgroup; // a producer warpgroup, which copies and stores, and two consumers, which multiply
constexpr int kParts = 2;                // of a tile, one for each consumer warpgroup
constexpr int kPartRows = kRows / kParts;

FORCE_INLINE __device__ int32_t slices(const MatmulParams& p) { return (p.k + kSlice - 1) / kSlice; }

// Calls f(tile) for the tiles of this block's cluster, and its pieces of split-K, one after the other, with this block's
// tile of the two. Tiles without rows are left out unless kAll, for signals of what was sent.
template <bool kAll = false, typename Exchange, typename F>
FORCE_INLINE __device__ void each_tile(const Exchange& exchange, F f) {
  const auto order = exchange.order();
  const TileScheduler scheduler(exchange.p, grid_blocks() / kClusterBlocks);
  for (int32_t i = scheduler.first(block_id() / kClusterBlocks); scheduler.has(i); i = scheduler.next(i)) {
    Tile t = scheduler.at(order, i, slices(exchange.p));
    if (!kAll && t.rows <= 0) continue;
    const int32_t half = cluster_rank();
    t.row += half * kRows;
    t.rows -= half * kRows;
    t.index = t.index * kClusterBlocks + half;
    t.number = t.number * kClusterBlocks + half;
    f(t);
  }
}

// Whether the block has another tile or piece after t.
template <typename Exchange>
FORCE_INLINE __device__ bool has_next(const Exchange& exchange, const Tile& t) {
  const TileScheduler scheduler(exchange.p, grid_blocks() / kClusterBlocks);
  return scheduler.has(scheduler.next(t.number / kClusterBlocks));
}

// Whether this tile or that of the other block of the cluster has rows.
FORCE_INLINE __device__ bool pair_has_rows(const Tile& t) { return t.rows + (int32_t)cluster_rank() * kRows > 0; }

// The number of a part of a tile in its shard, and how many rows it has.
FORCE_INLINE __device__ int32_t number_of(const Tile& t, uint32_t part) { return t.index * kParts + part; }
FORCE_INLINE __device__ int32_t rows_of(const Tile& t, uint32_t part) {
  const int32_t left = t.rows - part * kPartRows;
  return left < kPartRows ? left : kPartRows;
}
