// What a kernel notes of its tiles, for a timeline. matmul.TileTimes mirrors it in Go.
#pragma once

#include "params.cuh"

// TileTimes is the record of one tile of C. Times are of the clock that all threads of
// the GPU share, in nanoseconds. The host zeroes the records: one whose end is 0 was never
// written.
struct TileTimes {
  uint32_t block;    // that computed it; of a persistent grid, a multiprocessor
  uint32_t row;      // of C, where the tile begins
  uint32_t column;
  uint32_t slices;   // of k that were multiplied, of a kernel that divides tiles; else 0
  uint64_t wait;     // when the block began to wait for the tile's operands
  uint64_t begin;    // when the first of them were there
  uint64_t end;      // when its products were done; they may be stored later
};

// Notes the times of a tile by its number, which is below what Algorithm.Tiles says, or of a piece, behind those; one
// thread calls it. It does nothing in a call that is not recorded.
FORCE_INLINE __device__ void note_tile(const MatmulParams& p, int64_t tile, const TileTimes& t) {
  if (p.trace) ((Global<TileTimes>)p.trace)[tile] = t;
}
