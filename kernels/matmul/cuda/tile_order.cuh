// The order in which tiles of the result are made.
//
// The rows of the result are divided into shards, one per rank, of equal numbers of rows; the last shard may have fewer, or
// none. A grid takes the shards one after the other, or a segment of each shard in turn. It begins with the shard of a given
// rank: the one whose operands are ready first, or whose products are needed first. In a shard, the order goes down kGroup
// rows of tiles, then to the next column. The next group of rows, of this shard or the next, takes the columns in reverse.
// Tiles that run at the same time thus share operands in L2.
#pragma once

#include "params.cuh"

constexpr int32_t kGroup = 8; // rows of tiles that are taken before the next column; schedule.Placement relies on it

// A Tile is a tile of the result, cut off where the result or its shard ends.
struct Tile {
  uint32_t owner;     // the rank whose shard it is in
  int32_t row;        // its first row in the shard
  int32_t shard_row;  // the shard's first row in the result
  int32_t rows;       // of the shard from `row` on; may be more than the tile has, or negative
  int32_t column;
  int32_t index;      // in the shard, in the order in which its tiles are taken
  int32_t number;     // of all tiles, in the order in which they are taken; pieces of split-K have numbers after those
  bool beside = false; // of a pair of tiles: the second one is beside the first, not below it
  // Of a kernel with split-K, see tile_scheduler.cuh:
  int32_t k_begin = 0, k_end = 0; // the slices of k that are multiplied
  int32_t piece = -1;         // the number of the piece, or -1: a tile
  int32_t first_piece = 0;    // the first of the tile's pieces that other clusters multiply
};

FORCE_INLINE __device__ void compute_here(const Tile& t) {
  asm volatile("" ::"r"(t.owner), "r"(t.row), "r"(t.shard_row), "r"(t.rows), "r"(t.column), "r"(t.index), "r"(t.number), "r"(t.k_begin),
               "r"(t.k_end), "r"(t.piece), "r"(t.first_piece), "r"(t.beside));
}

// TileOrder is the order of a problem's tiles of kRows x kColumns elements.
template <int kRows, int kColumns>
class TileOrder {
 public:
  static constexpr int kTileRows = kRows, kTileColumns = kColumns;

  // The tiles of the shards of `shards` ranks, from that of rank `first` on; or those of the first `rows` rows alone.
  FORCE_INLINE __device__ TileOrder(const MatmulParams& p, int32_t shards, int32_t first) : TileOrder(p, shards, first, p.m) {}
  FORCE_INLINE __device__ TileOrder(const MatmulParams& p, int32_t shards, int32_t first, int32_t rows)
      : rows_(rows), shard_rows_((rows_ + shards - 1) / shards), shards_(shards), first_(first),
        down_((shard_rows_ + kRows - 1) / kRows), across_((p.n + kColumns - 1) / kColumns), groups_((down_ + kGroup - 1) / kGroup) {}

  FORCE_INLINE __device__ int32_t count() const { return shards_ * per_shard(); }
  FORCE_INLINE __device__ int32_t per_shard() const { return down_ * across_; }

  FORCE_INLINE __device__ int32_t across() const { return across_; }
  FORCE_INLINE __device__ int32_t rows_of_first_shard() const { return shard_rows_; }

  FORCE_INLINE __device__ int32_t rows_of_shard(uint32_t owner) const {
    const int32_t left = rows_ - (int32_t)owner * shard_rows_;
    return left < 0 ? 0 : left < shard_rows_ ? left : shard_rows_;
  }

  FORCE_INLINE __device__ Tile at(int32_t i) const { return shards_ == 1 ? tile(0, i, i) : tile(i / per_shard(), i % per_shard(), i); }

 protected:
  // Tile `in_shard` of the shard of the rank `shard` after the first, with its number among all tiles.
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

// PairOrder is the order of a local product's tiles where each is a pair, of kTileRows / 2 rows. If the last row of pairs would
// have no rows for lower tiles, its pairs lie side by side: they are half as many, and come last.
template <typename Order>
class PairOrder {
 public:
  static constexpr int kTileColumns = Order::kTileColumns;

  FORCE_INLINE __device__ explicit PairOrder(const MatmulParams& p) : rows_(p.m), rows_below_(rows_of_pairs_below(rows_)), below_(p, 1, 0, rows_below_) {}

  FORCE_INLINE __device__ Tile at(int32_t i) const {
    const int32_t first = below_.per_shard();
    if (i < first) return below_.at(i);
    Tile t = {};
    t.row = rows_below_;
    t.rows = rows_ - rows_below_;
    t.column = (i - first) * 2 * kTileColumns;
    t.index = t.number = i;
    t.beside = true;
    return t;
  }

 private:
  FORCE_INLINE __device__ static int32_t rows_of_pairs_below(int32_t rows) {
    const int32_t last = rows % Order::kTileRows;
    return last <= Order::kTileRows / 2 ? rows - last : rows;
  }

  int32_t rows_, rows_below_;
  Order below_;
};

// InterleavedOrder spreads the tiles of the local shard among those of the peers' shards. Every shard is cut into segments of
// equal numbers of tiles; the last segment may have fewer. In turn come a segment of each peer's shard, and the local
// segment that lies kLag segments before it:
//
//   peers:0 peers:1 local:0 peers:2 local:1 ... peers:S-1 local:S-2 local:S-1
//
// With one segment, as long as a shard or longer, this is the order of TileOrder.
//
// No deadlock: a number in this order is that of a local tile on all ranks, or on none, and of the same tile of its shard.
// A local tile waits for the peers' products of its segment, which have smaller numbers on the peers, and no tile waits
// for anything else that a peer makes. Blocks are all resident and take their tiles in the order of numbers. So of all
// tiles that are not done, on any rank, the one with the smallest number waits for none.
template <int kRows, int kColumns>
class InterleavedOrder : public TileOrder<kRows, kColumns> {
 public:
  FORCE_INLINE __device__ explicit InterleavedOrder(const MatmulParams& p)
      : TileOrder<kRows, kColumns>(p, p.base.world, (p.base.rank + 1) % p.base.world), p_(p) {}

  FORCE_INLINE __device__ Tile at(int32_t i) const {
    const int32_t segment = reload_param(p_.segment_tiles), shards = reload_param(p_.base.world), others = shards - 1;
    const int32_t segments = (this->per_shard() + segment - 1) / segment;
    const int32_t lag = (kLag < segments ? kLag : segments - 1) * segment;
    // The index in this order if the first segments had as many local tiles as the others.
    const int32_t place = i < others * lag ? i + i / (others * segment) * segment : i + lag;
    const int32_t turn = place / (shards * segment), begin = (turn < segments ? turn : segments - 1) * segment;
    const int32_t left = this->per_shard() - begin, length = left < segment ? left : segment;
    const int32_t in_turn = place - begin * shards, own = in_turn - others * length;
    if (own >= 0) return this->tile(others, begin - lag + own, i);
    return this->tile(in_turn / length, begin + in_turn % length, i);
  }

 private:
  // By how many segments local tiles come later. A segment of each shard is at least what the grid multiplies at a time, so
  // that the peers' products of one segment arrive while the next is multiplied.
  static constexpr int32_t kLag = 1;

  // Reads a parameter again where it is used: values derived from it earlier would take registers that the mainloop needs.
  FORCE_INLINE __device__ static uint32_t reload_param(const uint32_t& parameter) { return *(const volatile uint32_t*)&parameter; }

  const MatmulParams& p_;
};
