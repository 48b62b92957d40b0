// Which tiles, and pieces of tiles, a cluster multiplies.
#pragma once

#include "tiles.cuh"

// Rounds have each of some clusters take one tile after the other. Those that have none in the last round take pieces of the
// others' tiles instead, some slices of k of each: see splitk.cuh. Pieces have numbers behind those of all tiles, first
// a tile's last slices in the order of tiles, then those before them. How many there are the host knows: matmul.splitK.
class Rounds {
 public:
  FORCE_INLINE __device__ Rounds(const MatmulParams& p, int32_t clusters) : p_(p), clusters_(clusters) {}

  // The number of a cluster's first tile or piece.
  FORCE_INLINE __device__ int32_t first_of(uint32_t cluster) const { return p_.first_tiles[cluster]; }

  FORCE_INLINE __device__ bool has(int32_t i) const { return i < tiles() + p_.pieces; }

  // The number of what comes after a cluster's tile or piece: beyond all numbers, if nothing does.
  FORCE_INLINE __device__ int32_t next(int32_t i) const {
    if (i < p_.whole) return i + clusters_;
    return i < tiles() ? tiles() + p_.pieces : i + clusters_ - p_.last;
  }

  // The tile with a number in an order, or that of which it is a piece, and what is multiplied of so many slices.
  template <typename Order>
  FORCE_INLINE __device__ Tile at(const Order& order, int32_t i, int32_t slices) const {
    Tile t = order.at(i < p_.whole ? i : p_.whole + place(i));
    t.number = i;
    t.end = slices;
    t.others = p_.pieces;
    if (i >= p_.whole) divide(t);
    return t;
  }

  // Calls f for the pieces of a tile that others multiply, in the order of their numbers.
  template <typename F>
  FORCE_INLINE __device__ static void each_piece(const MatmulParams& p, const Tile& t, F f) {
    for (int32_t piece = t.others; piece < p.pieces; piece += p.last) f(piece);
  }

 private:
  FORCE_INLINE __device__ int32_t tiles() const { return p_.whole + p_.last; }

  // The place in the last round of a tile, or of that of which it is a piece.
  FORCE_INLINE __device__ int32_t place(int32_t i) const {
    int32_t place = i - p_.whole;
    while (place >= p_.last) place -= p_.last;
    return place;
  }

  // Leaves a tile of the last round the slices that no piece of it has, or a piece its own.
  FORCE_INLINE __device__ void divide(Tile& t) const {
    const int32_t first = place(t.number), length = p_.longest - (int32_t)(first * p_.falls >> 16);
    if (t.number < tiles()) {
      t.others = first;
      each_piece(p_, t, [&](int32_t) { t.end -= length; });
      return;
    }
    t.piece = t.number - tiles();
    for (int32_t later = first; later < t.piece; later += p_.last) t.end -= length;
    t.begin = t.end - length;
  }

  const MatmulParams& p_;
  int32_t clusters_;
};
