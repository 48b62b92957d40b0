// Which tile of the result comes next.
//
// The rows of the result fall to the ranks, in shards of as many each; the last one may
// have fewer, or none. A grid takes the shards one after the other, beginning with that
// of a given rank, so that all ranks work on what is at hand, or wanted, first; or a segment
// of each in turn. In a shard, tiles go down a few rows of tiles and then on to the next column, and with the next few rows,
// of this shard or the next, back, so that what runs at the same time shares operands in the cache.
#pragma once

#include "params.cuh"

constexpr int32_t kGroup = 8; // rows of tiles that are taken before the next column; placement.go relies on it

// A Tile is up to so many rows and columns of the result.
struct Tile {
  uint32_t owner;     // the rank whose shard it is in
  int32_t row;        // its first row in the shard
  int32_t shard_row;  // the shard's first row in the result
  int32_t rows;       // of the shard, from row on; the tile may have fewer, or more that do not count
  int32_t column;
  int32_t index;      // in the shard, in the order in which they are taken
  int32_t number;     // of all, in the order in which they are taken; pieces of tiles come behind
  // Of a kernel that divides tiles, see rounds.cuh:
  int32_t begin = 0, end = 0; // the slices of k that are multiplied
  int32_t piece = -1;         // which piece of a tile this is, or -1
  int32_t others = 0;         // the first of the tile's pieces that others multiply
};

// Tiles are those of a problem, kRows x kColumns each.
template <int kRows, int kColumns>
class Tiles {
 public:
  // The shards of `shards` ranks, from that of rank `first` on.
  FORCE_INLINE __device__ Tiles(const MatmulParams& p, int32_t shards, int32_t first)
      : rows_(p.m), shard_rows_((p.m + shards - 1) / shards), shards_(shards), first_(first),
        down_((shard_rows_ + kRows - 1) / kRows), across_((p.n + kColumns - 1) / kColumns), groups_((down_ + kGroup - 1) / kGroup) {}

  FORCE_INLINE __device__ int32_t count() const { return shards_ * per_shard(); }
  FORCE_INLINE __device__ int32_t per_shard() const { return down_ * across_; }

  FORCE_INLINE __device__ int32_t across() const { return across_; }

  FORCE_INLINE __device__ int32_t rows_of_shard(uint32_t owner) const {
    const int32_t left = rows_ - (int32_t)owner * shard_rows_;
    return left < 0 ? 0 : left < shard_rows_ ? left : shard_rows_;
  }

  FORCE_INLINE __device__ Tile at(int32_t i) const { return tile(i / per_shard(), i % per_shard(), i); }

 protected:
  // A tile of a shard, which is so many after the first, as the one of all with a number.
  FORCE_INLINE __device__ Tile tile(int32_t shard, int32_t in_shard, int32_t number) const {
    const int32_t group = in_shard / (kGroup * across_), in_group = in_shard % (kGroup * across_);
    const int32_t left = down_ - group * kGroup, high = left < kGroup ? left : kGroup;
    const int32_t y = group * kGroup + in_group % high, x = in_group / high;
    Tile t;
    t.owner = (first_ + shard) % shards_;
    const bool back = (t.owner * groups_ + group) % 2 == 1;
    t.row = y * kRows;
    t.shard_row = t.owner * shard_rows_;
    t.rows = rows_of_shard(t.owner) - t.row;
    t.column = (back ? across_ - 1 - x : x) * kColumns;
    t.index = in_shard;
    t.number = number;
    return t;
  }

 private:
  int32_t rows_, shard_rows_, shards_, first_, down_, across_, groups_;
};

// Interleaved has the shards of all ranks, and the tiles of the last, the own one, spread among those of the others. All
// are cut into segments of as many tiles each; the last one may have fewer. In turn come a segment of each of the
// others, and the own one kLag before it:
//
//   others:0 others:1 own:0 others:2 own:1 ... others:S-1 own:S-2 own:S-1
//
// With one segment, where one is as long as a shard or longer, that is the order of Tiles.
//
// What has a number in this order is own on all ranks, or on none, and the same tile of its shard. An own tile waits for
// the peers' products of its segment, which have smaller numbers there, and for nothing else does any tile wait that
// a peer makes. So ranks do not wait for each other in a circle: blocks are all resident and take their tiles in the order of
// numbers, and of all tiles that are not done, on any rank, the one with the smallest number waits for none.
template <int kRows, int kColumns>
class Interleaved : public Tiles<kRows, kColumns> {
 public:
  FORCE_INLINE __device__ explicit Interleaved(const MatmulParams& p)
      : Tiles<kRows, kColumns>(p, p.base.world, (p.base.rank + 1) % p.base.world), p_(p) {}

  FORCE_INLINE __device__ Tile at(int32_t i) const {
    const int32_t segment = late(p_.segment), shards = late(p_.base.world), others = shards - 1;
    const int32_t segments = (this->per_shard() + segment - 1) / segment;
    const int32_t lag = (kLag < segments ? kLag : segments - 1) * segment;
    // The place in this order if as many own tiles came with the first segments as with others.
    const int32_t place = i < others * lag ? i + i / (others * segment) * segment : i + lag;
    const int32_t turn = place / (shards * segment), begin = (turn < segments ? turn : segments - 1) * segment;
    const int32_t left = this->per_shard() - begin, length = left < segment ? left : segment;
    const int32_t in_turn = place - begin * shards, own = in_turn - others * length;
    if (own >= 0) return this->tile(others, begin - lag + own, i);
    return this->tile(in_turn / length, begin + in_turn % length, i);
  }

 private:
  // By how many segments own tiles come later. A segment of each shard is what the grid multiplies at a time, or more:
  // the peers' products of one are on their way while it multiplies the next.
  static constexpr int32_t kLag = 1;

  // A parameter, read when it is asked for: what follows from it is not worked out before, to fill registers that a
  // loop before needs for its sums.
  FORCE_INLINE __device__ static uint32_t late(const uint32_t& parameter) { return *(const volatile uint32_t*)&parameter; }

  const MatmulParams& p_;
};
