// The reduction over all ranks of what lies at the same place on each of them,
// always in rank order 0, 1, ... so that every rank gets the same bits.
//
// N is the world size when it is known at compile time, which lets the loads
// of all peers be in flight together; 0 means p.world.
#pragma once

#include "ops.cuh"
#include "params.cuh"
#include "types.cuh"

template <int N>
FORCE_INLINE __device__ uint32_t world_size(const Params& p) {
  return N == 0 ? p.world : N;
}

// Partial is the reduction of one vector's elements over the ranks so far.
template <typename T, typename Op>
struct Partial {
  typename T::Work at[kPerVec<T>];

  FORCE_INLINE __device__ explicit Partial(Vec v) {
    const auto e = __builtin_bit_cast(Elements<T>, v);
#pragma unroll
    for (int i = 0; i < kPerVec<T>; i++) at[i] = T::load(e.at[i]);
  }

  FORCE_INLINE __device__ void combine(Vec v) {
    const auto e = __builtin_bit_cast(Elements<T>, v);
#pragma unroll
    for (int i = 0; i < kPerVec<T>; i++) at[i] = Op::combine(at[i], T::load(e.at[i]));
  }

  FORCE_INLINE __device__ Vec finish(uint32_t world) const {
    Elements<T> e;
#pragma unroll
    for (int i = 0; i < kPerVec<T>; i++) e.at[i] = T::store(Op::finish(at[i], world));
    return __builtin_bit_cast(Vec, e);
  }
};

// One 16-byte vector, at base(rank) for each rank.
template <typename T, typename Op, int N, typename Base>
FORCE_INLINE __device__ Vec reduce_vec(const Params& p, Base base) {
  const uint32_t world = world_size<N>(p);
  if constexpr (N == 0) {
    Partial<T, Op> partial(*(Global<const Vec>)base(0));
    for (uint32_t r = 1; r < world; r++) partial.combine(*(Global<const Vec>)base(r));
    return partial.finish(world);
  } else {
    Vec loaded[N];
#pragma unroll
    for (uint32_t r = 0; r < N; r++) loaded[r] = *(Global<const Vec>)base(r);
    Partial<T, Op> partial(loaded[0]);
#pragma unroll
    for (uint32_t r = 1; r < N; r++) partial.combine(loaded[r]);
    return partial.finish(world);
  }
}

// One element, at base(rank) for each rank.
template <typename T, typename Op, int N, typename Base>
FORCE_INLINE __device__ typename T::Bits reduce_element(const Params& p, Base base) {
  using Bits = typename T::Bits;
  const uint32_t world = world_size<N>(p);
  typename T::Work partial = T::load(*(Global<const Bits>)base(0));
  for (uint32_t r = 1; r < world; r++) partial = Op::combine(partial, T::load(*(Global<const Bits>)base(r)));
  return T::store(Op::finish(partial, world));
}
