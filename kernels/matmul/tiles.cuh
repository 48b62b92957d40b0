// Which tile of the result comes next.
//
// The rows of the result fall to the ranks, in shards of as many each; the last one may
// have fewer, or none. A grid takes the shards one after the other, beginning with that
// of a given rank, so that all ranks work on what is at hand, or wanted, first. In a
// shard, tiles go down a few rows of tiles and then on to the next column, so that
// what runs at the same time shares operands in the cache.
#pragma once

#include "params.cuh"

// A Tile is up to so many rows and columns of the result.
struct Tile {
  uint32_t owner;     // the rank whose shard it is in
  int32_t row;        // its first row in the shard
  int32_t shard_row;  // the shard's first row in the result
  int32_t rows;       // of the shard, from row on; the tile may have fewer, or more that do not count
  int32_t column;
  int32_t index;      // in the shard, in the order in which they are taken
  int32_t number;     // of all, in the order in which they are taken
};

// Tiles are those of a problem, kRows x kColumns each.
template <int kRows, int kColumns>
class Tiles {
 public:
  // The shards of `shards` ranks, from that of rank `first` on.
  FORCE_INLINE __device__ Tiles(const MatmulParams& p, int32_t shards, int32_t first)
      : rows_(p.m), shard_rows_((p.m + shards - 1) / shards), shards_(shards), first_(first),
        down_((shard_rows_ + kRows - 1) / kRows), across_((p.n + kColumns - 1) / kColumns) {}

  FORCE_INLINE __device__ int32_t count() const { return shards_ * per_shard(); }
  FORCE_INLINE __device__ int32_t per_shard() const { return down_ * across_; }

  FORCE_INLINE __device__ int32_t across() const { return across_; }

  FORCE_INLINE __device__ int32_t rows_of_shard(uint32_t owner) const {
    const int32_t left = rows_ - (int32_t)owner * shard_rows_;
    return left < 0 ? 0 : left < shard_rows_ ? left : shard_rows_;
  }

  FORCE_INLINE __device__ Tile at(int32_t i) const {
    const int32_t shard = i / per_shard(), in_shard = i % per_shard();
    const int32_t group = in_shard / (kGroup * across_), in_group = in_shard % (kGroup * across_);
    const int32_t left = down_ - group * kGroup, high = left < kGroup ? left : kGroup;
    const int32_t y = group * kGroup + in_group % high, x = in_group / high;
    Tile t;
    t.owner = (first_ + shard) % shards_;
    t.row = y * kRows;
    t.shard_row = t.owner * shard_rows_;
    t.rows = rows_of_shard(t.owner) - t.row;
    t.column = x * kColumns;
    t.index = in_shard;
    t.number = i;
    return t;
  }

 private:
  static constexpr int32_t kGroup = 8; // rows of tiles

  int32_t rows_, shard_rows_, shards_, first_, down_, across_;
};
