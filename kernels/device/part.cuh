// How ranks divide items among themselves.
#pragma once

#include "params.cuh"

struct Range {
  int64_t begin, end;
};

// The part of a rank, where items are split among ranks by whole rows of `row` items, as evenly as possible.
FORCE_INLINE __device__ Range part_of(int64_t items, int64_t row, uint32_t rank, uint32_t world) {
  const int64_t rows = (items + row - 1) / row;
  const int64_t begin = rows * rank / world * row, end = rows * (rank + 1) / world * row;
  return {begin < items ? begin : items, end < items ? end : items};
}

// The share of this rank, where all ranks but the root split the items; a single rank has all.
FORCE_INLINE __device__ Range share_beside_root(int64_t items, const Params& p) {
  if (p.world == 1) return {0, items};
  if (p.rank == p.root) return {0, 0};
  return part_of(items, 1, p.rank < p.root ? p.rank : p.rank - 1, p.world - 1);
}

// Calls f(r) for all ranks, beginning with the next one, so that not all ranks access the same one first.
template <typename F>
FORCE_INLINE __device__ void each_rank_from_next(const Params& p, F f) {
#pragma nounroll
  for (uint32_t k = 1; k <= p.world; k++) f(p.rank + k < p.world ? p.rank + k : p.rank + k - p.world);
}
