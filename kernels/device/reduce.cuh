// The reduction of the elements at the same index on all ranks, in rank order 0, 1, ... so that every rank gets the same
// bits.
//
// N is the world size if it is known at compile time: the loads from all peers are then in flight together. 0 means p.world.
#pragma once

#include "ops.cuh"
#include "params.cuh"
#include "types.cuh"
#include "vector.cuh"

template <int N>
FORCE_INLINE __device__ uint32_t world_size(const Params& p) {
  return N == 0 ? p.world : N;
}

// Calls f(r) for the ranks [first, world).
template <int N, uint32_t first, typename F>
FORCE_INLINE __device__ void each_rank(const Params& p, F f) {
  if constexpr (N == 0) {
#pragma nounroll
    for (uint32_t r = first; r < p.world; r++) f(r);
  } else {
#pragma unroll
    for (uint32_t r = first; r < N; r++) f(r);
  }
}

// Partial is the reduction over the ranks so far of the elements of a Chunk: a vector, or the bits of one element.
template <typename T, typename Chunk>
struct Partial {
  static constexpr int kElements = sizeof(Chunk) / sizeof(typename T::Bits);
  typename T::Work at[kElements];

  Partial() = default;

  FORCE_INLINE __device__ explicit Partial(Chunk c) {
    const auto e = __builtin_bit_cast(Elements<T, Chunk>, c);
#pragma unroll
    for (int i = 0; i < kElements; i++) at[i] = T::load(e.at[i]);
  }

  template <typename Op>
  FORCE_INLINE __device__ void combine(Op, const Partial& other) {
#pragma unroll
    for (int i = 0; i < kElements; i++) at[i] = Op::combine(at[i], other.at[i]);
  }

  template <typename Op>
  FORCE_INLINE __device__ void finish(Op, uint32_t world) {
#pragma unroll
    for (auto& x : at) x = Op::finish(x, world);
  }

  FORCE_INLINE __device__ Chunk rounded() const {
    Elements<T, Chunk> e;
#pragma unroll
    for (int i = 0; i < kElements; i++) e.at[i] = T::store(at[i]);
    return __builtin_bit_cast(Chunk, e);
  }
};

// Calls first(chunk) for rank 0 and each(rank, chunk) for the others in order, where chunk is load(rank).
template <int N, typename Load, typename First, typename Each>
FORCE_INLINE __device__ void load_all(const Params& p, Load load, First first, Each each) {
  if constexpr (N == 0) {
    first(load(0u));
    each_rank<0, 1>(p, [&](uint32_t r) { each(r, load(r)); });
  } else {
    decltype(load(0u)) loaded[N];
    each_rank<N, 0>(p, [&](uint32_t r) { loaded[r] = load(r); });
    first(loaded[0]);
    each_rank<N, 1>(p, [&](uint32_t r) { each(r, loaded[r]); });
  }
}

// Any is the operation that Params::op names at run time.
struct Any {};

// Calls f with the operation; for Any, with the one that Params::op names.
template <typename Op, typename F>
FORCE_INLINE __device__ void with_op(const Params& p, F f) {
  if constexpr (!__is_same(Op, Any)) return f(Op{});
  switch (p.op) {
    case kProd: return f(Prod{});
    case kMin: return f(Min{});
    case kMax: return f(Max{});
    case kAvg: return f(Avg{});
    default: return f(Sum{});
  }
}

// Reduces the chunks of all ranks, which gather(first, each) passes on as load_all does. Chunks are converted to numbers
// in one place for all operations: the driver's compiler would need five times as long for code of five operations.
template <typename T, typename Op, int N, typename Chunk, typename Gather>
FORCE_INLINE __device__ Partial<T, Chunk> reduce(const Params& p, Gather gather) {
  Partial<T, Chunk> partial;
  gather([&](Chunk c) { partial = Partial<T, Chunk>(c); },
         [&](uint32_t, Chunk c) {
           const Partial<T, Chunk> next(c);
           with_op<Op>(p, [&](auto op) { partial.combine(op, next); });
         });
  with_op<Op>(p, [&](auto op) { partial.finish(op, world_size<N>(p)); });
  return partial;
}

// Reduces load(rank), a chunk, over all ranks.
template <typename T, typename Op, int N, typename Load>
FORCE_INLINE __device__ auto reduce_loaded(const Params& p, Load load) {
  return reduce<T, Op, N, decltype(load(0u))>(
      p, [&](auto first, auto each) { load_all<N>(p, load, first, each); });
}
