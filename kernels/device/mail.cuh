// What packets and mailboxes share: vectors that ranks send each other, and take in the order of
// ranks.
#pragma once

#include "reduce.cuh"
#include "vector.cuh"

// A vector from each of so many ranks.
template <int kRanks>
struct Letters {
  Vec of[kRanks];
};

// The rank that is so many behind this one.
template <int N>
FORCE_INLINE __device__ uint32_t rank_behind(const Params& p, uint32_t steps) {
  const uint32_t world = world_size<N>(p);
  return p.rank + steps < world ? p.rank + steps : p.rank + steps - world;
}

// Calls f(peer) for every peer, beginning with the next rank, so that not all send to the same one.
template <int N, typename F>
FORCE_INLINE __device__ void each_peer(const Params& p, F f) {
  each_rank<N, 1>(p, [&](uint32_t steps) { f(rank_behind<N>(p, steps)); });
}

// The reduction over all ranks of what has come to a place of the tile, and of the own vector.
template <typename T, typename Op, int N, template <int> typename Mail>
FORCE_INLINE __device__ Partial<T, Vec> reduce_mail(const Params& p, Mail<N>& mail, int64_t place, Vec own) {
  return reduce<T, Op, N, Vec>(p, [&](auto first, auto each) { mail.receive(place, own, first, each); });
}
