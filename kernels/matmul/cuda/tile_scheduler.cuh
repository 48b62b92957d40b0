// Which tiles, and pieces of tiles, a cluster multiplies.
#pragma once

#include "tile_order.cuh"

// TileScheduler gives each cluster one tile in every wave. Clusters without a tile in the last wave multiply pieces of the
// others' tiles instead: some slices of k of each (split-K, splitk.cuh). Pieces have numbers after those of all tiles:
// first the last slices of every tile, in the order of tiles, then the slices before those. The host decides how many
// there are: schedule.SplitK.
class TileScheduler {
 public:
  FORCE_INLINE __device__ TileScheduler(const MatmulParams& p, int32_t clusters) : p_(p), clusters_(clusters) {}

  // The number of a cluster's first tile or piece.
  FORCE_INLINE __device__ int32_t first(uint32_t cluster) const { return p_.first_tiles[cluster]; }

  FORCE_INLINE __device__ bool has(int32_t i) const { return i < tiles() + p_.splitk_pieces; }

  // The number of the cluster's next tile or piece after number i: beyond all numbers if there is none.
  FORCE_INLINE __device__ int32_t next(int32_t i) const {
    if (i < p_.full_wave_tiles) return i + clusters_;
    return i < tiles() ? tiles() + p_.splitk_pieces : i + clusters_ - p_.last_wave_tiles;
  }

  // The tile with number i in an order, or the tile of piece i, with the range of its `slices` slices to multiply.
  template <typename Order>
  FORCE_INLINE __device__ Tile at(const Order& order, int32_t i, int32_t slices) const {
    Tile t = order.at(i < p_.full_wave_tiles ? i : p_.full_wave_tiles + index_in_wave(i));
    t.number = i;
    t.k_end = slices;
    t.first_piece = p_.splitk_pieces;
    if (i >= p_.full_wave_tiles) assign_slices(t);
    return t;
  }

  // Calls f(piece) for the pieces of a tile that other clusters multiply, in the order of their numbers.
  template <typename F>
  FORCE_INLINE __device__ static void each_piece(const MatmulParams& p, const Tile& t, F f) {
    for (int32_t piece = t.first_piece; piece < p.splitk_pieces; piece += p.last_wave_tiles) f(piece);
  }

 private:
  FORCE_INLINE __device__ int32_t tiles() const { return p_.full_wave_tiles + p_.last_wave_tiles; }

  // The index in the last wave of a tile, or of the tile of a piece.
  FORCE_INLINE __device__ int32_t index_in_wave(int32_t i) const {
    int32_t index = i - p_.full_wave_tiles;
    while (index >= p_.last_wave_tiles) index -= p_.last_wave_tiles;
    return index;
  }

  // Sets the slices of a tile of the last wave to those that no piece has, or those of a piece to its own.
  FORCE_INLINE __device__ void assign_slices(Tile& t) const {
    const int32_t first = index_in_wave(t.number), length = p_.splitk_slices - (int32_t)(first * p_.splitk_step >> 16);
    if (t.number < tiles()) {
      t.first_piece = first;
      each_piece(p_, t, [&](int32_t) { t.k_end -= length; });
      return;
    }
    t.piece = t.number - tiles();
    for (int32_t later = first; later < t.piece; later += p_.last_wave_tiles) t.k_end -= length;
    t.k_begin = t.k_end - length;
  }

  const MatmulParams& p_;
  int32_t clusters_;
};
