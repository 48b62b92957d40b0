// Times of tiles, which kernels record for a timeline. matmul.TileTimes mirrors the record in Go.
#pragma once

#include "tile_order.cuh"

// TileTimes is the record of one tile of C. Times are of the clock that all threads of
// the GPU share, in nanoseconds. The host zeroes the records: one whose end is 0 was never
// written.
struct TileTimes {
  uint32_t block;    // that computed it; of a persistent grid, a multiprocessor
  uint32_t row;      // of C, where the tile begins
  uint32_t column;
  uint32_t slices;   // of k that were multiplied, of a kernel with split-K; else 0
  uint64_t wait;     // when the block began to wait for the tile's operands
  uint64_t begin;    // when the first of them had arrived
  uint64_t end;      // when its products were done; they may be stored later
};

// Records the times of a tile at its number: below Algorithm.Tiles, or after those for a piece of split-K. One thread calls
// it. It does nothing in a call that is not recorded.
FORCE_INLINE __device__ void note_tile(const MatmulParams& p, int64_t tile, const TileTimes& t) {
  if (p.trace) ((Global<TileTimes>)p.trace)[tile] = t;
}

// TileTimer records the times of the wait, the begin and the end of a tile, if the call is recorded. One of the threads
// that compute the tile has one.
class TileTimer {
 public:
  FORCE_INLINE __device__ TileTimer(const MatmulParams& p, bool on) : p_(p), on_(on && p.trace != 0) {
    if (on_) times_.wait = global_timer();
  }
  FORCE_INLINE __device__ void begin() {
    if (on_) times_.begin = global_timer();
  }
  FORCE_INLINE __device__ void end(const Tile& t, bool is_transposed = false) {
    const uint32_t row = t.shard_row + t.row, column = t.column, slices = t.k_end - t.k_begin;
    if (t.rows > 0) end(t.number, is_transposed ? column : row, is_transposed ? row : column, slices); // a block of a cluster may have no row of its tile
  }
  FORCE_INLINE __device__ void end(int64_t number, uint32_t row, uint32_t column, uint32_t slices) {
    if (!on_) return;
    times_.block = block_id();
    times_.row = row;
    times_.column = column;
    times_.slices = slices;
    times_.end = global_timer();
    note_tile(p_, number, times_);
  }

 private:
  const MatmulParams& p_;
  bool on_;
  TileTimes times_ = {};
};
