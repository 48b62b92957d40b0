// The sum over all ranks of what lies at the same place on each of them,
// always added in rank order 0, 1, ... so that every rank gets the same bits.
//
// N is the world size when it is known at compile time, which lets the loads
// of all peers be in flight together; 0 means p.world.
#pragma once

#include "number.cuh"
#include "params.cuh"

template <int N>
FORCE_INLINE __device__ uint32_t world_size(const Params& p) {
  return N == 0 ? p.world : N;
}

// One 16-byte vector, at base(rank) for each rank.
template <typename T, int N, typename Base>
FORCE_INLINE __device__ Vec sum_vec(const Params& p, Base base) {
  Sums<T> sums;
  if constexpr (N == 0) {
    sums.set(*(Global<const Vec>)base(0));
    for (uint32_t r = 1; r < p.world; r++) sums.add(*(Global<const Vec>)base(r));
  } else {
    Vec loaded[N];
#pragma unroll
    for (uint32_t r = 0; r < N; r++) loaded[r] = *(Global<const Vec>)base(r);
    sums.set(loaded[0]);
#pragma unroll
    for (uint32_t r = 1; r < N; r++) sums.add(loaded[r]);
  }
  return sums.rounded();
}

// One element, at base(rank) for each rank.
template <typename T, int N, typename Base>
FORCE_INLINE __device__ typename T::Bits sum_element(const Params& p, Base base) {
  using Bits = typename T::Bits;
  float sum = T::load(*(Global<const Bits>)base(0));
  for (uint32_t r = 1; r < world_size<N>(p); r++) sum += T::load(*(Global<const Bits>)base(r));
  return T::store(sum);
}
