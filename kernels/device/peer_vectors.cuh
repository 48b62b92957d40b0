// Vectors received from the peers: what packets (packet.cuh) and mailboxes (mailbox.cuh) have in common.
#pragma once

#include "reduce.cuh"
#include "vector.cuh"

// Some vectors: one from each rank, or those that a lane has of several rows.
template <int kCount>
struct Vectors {
  Vec of[kCount];
};

// The rank that is `steps` after this one; rank 0 comes after the last.
template <int N>
FORCE_INLINE __device__ uint32_t rank_after(const Params& p, uint32_t steps) {
  const uint32_t world = world_size<N>(p);
  return p.rank + steps < world ? p.rank + steps : p.rank + steps - world;
}

// Calls f(peer) for every peer, beginning with the next rank, so that not all ranks send to the same one first.
template <int N, typename F>
FORCE_INLINE __device__ void each_peer(const Params& p, F f) {
  each_rank<N, 1>(p, [&](uint32_t steps) { f(rank_after<N>(p, steps)); });
}

// The reduction, in rank order, of this rank's vector and of the peers' vectors with index `index` in the tile.
// Source is PacketSlot or Mailboxes.
template <typename T, typename Op, int N, template <int> typename Source>
FORCE_INLINE __device__ Partial<T, Vec> reduce_received(const Params& p, Source<N>& source, int64_t index, Vec own) {
  return reduce<T, Op, N, Vec>(p, [&](auto first, auto each) { source.receive(index, own, first, each); });
}
