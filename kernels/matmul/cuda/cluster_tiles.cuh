// How wgmma.cu divides tiles: two blocks of a cluster take one tile each, one below the other or beside it, and two warpgroups
// of a block multiply a part of its tile each.
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

// The order of an exchange's pairs of tiles.
template <typename Exchange>
FORCE_INLINE __device__ auto order_of_pairs(const Exchange& exchange) {
  if constexpr (Exchange::kStoresLocally && !Exchange::kGathers)
    return PairOrder<typename Exchange::Order>(exchange.p);
  else
    return exchange.order();
}

// This block's tile of a pair. The second one of the last pair side by side may be beyond all columns: then it has no rows.
template <typename Exchange>
FORCE_INLINE __device__ Tile own_tile(const Exchange& exchange, Tile t) {
  const int32_t half = cluster_rank();
  if (!t.beside) {
    t.row += half * kRows;
    t.rows -= half * kRows;
  } else if (half > 0) {
    t.column += decltype(order_of_pairs(exchange))::kTileColumns;
    if (t.column >= (int32_t)exchange.p.n) t.rows = 0;
  }
  t.index = t.index * kClusterBlocks + half;
  t.number = t.number * kClusterBlocks + half;
  return t;
}

// The first tile or piece of this block's cluster: both blocks' tiles. Its number is beyond all others if there is none.
template <typename Exchange>
FORCE_INLINE __device__ Tile first_tile(const Exchange& exchange) {
  const TileScheduler scheduler(exchange.p, grid_blocks() / kClusterBlocks);
  return scheduler.at(order_of_pairs(exchange), scheduler.first(block_id() / kClusterBlocks), slices(exchange.p));
}

// Calls f(tile) for the tiles of this block's cluster, and its pieces of split-K, one after the other from first_tile on,
// with this block's tile of the two. Tiles without rows are left out unless kAll, for signals of what was sent.
template <bool kAll = false, typename Exchange, typename F>
FORCE_INLINE __device__ void each_tile(const Exchange& exchange, const Tile& first, F f) {
  const auto order = order_of_pairs(exchange);
  const TileScheduler scheduler(exchange.p, grid_blocks() / kClusterBlocks);
  for (Tile both = first; scheduler.has(both.number);) {
    if (kAll || both.rows > 0) f(own_tile(exchange, both));
    const int32_t next = scheduler.next(both.number);
    if (!scheduler.has(next)) return;
    both = scheduler.at(order, next, slices(exchange.p));
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
