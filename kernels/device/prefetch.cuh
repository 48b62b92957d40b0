// Prefetch of the first vector that a thread sends or stages, beside the loads of its Epochs.
//
// A kernel first makes the prefetching object, which only computes addresses. Then it makes its Epochs, whose constructor
// waits for the previous kernel of the stream. Then it calls prefetch(), which issues the load. The load overlaps with the
// loads of the Epochs, from which the thread learns whether it may send, and into which slot.
#pragma once

#include "peer_vectors.cuh"
#include "vector.cuh"

// The index of the first vector that this thread sends of each part, or -1 unless that is a whole, aligned one.
FORCE_INLINE __device__ int64_t first_vec(const Params& p, int64_t whole) {
  const int64_t tile = whole_vecs_in(p.tile_bytes), first = block_id() * tile + thread_id();
  return thread_id() < tile && first < whole ? first : -1;
}

// Prefetched is a Buffer, or Rows, whose first vector of this thread is loaded ahead. If it is not enabled, nothing is loaded ahead.
template <typename Source>
class Prefetched {
 public:
  FORCE_INLINE __device__ Prefetched(const Params& p, Source source, bool enabled = true)
      : source_(source), first_(first_vec(p, enabled ? source.whole : 0)), at_(source.address + first_ * kVecBytes) {
    compute_here(first_);
    compute_here(at_);
  }

  FORCE_INLINE __device__ void prefetch() {
    if (first_ >= 0) loaded_ = ld(at_);
  }

  FORCE_INLINE __device__ Vec load(int64_t i) const { return i == first_ ? loaded_ : source_.load(i); }

 private:
  Source source_;
  int64_t first_;
  uint64_t at_;
  Vec loaded_ = {};
};

// PrefetchedParts does so for a buffer of one part per rank: the first vector of each part is loaded ahead, where it
// is enabled.
template <int N>
class PrefetchedParts {
 public:
  FORCE_INLINE __device__ PrefetchedParts(const Params& p, uint64_t address, bool enabled = true)
      : p_(p), address_(address), first_(first_vec(p, enabled && p.bytes % kVecBytes == 0 ? part(0).whole : 0)) {
    compute_here(first_);
    if constexpr (N > 0)
      each_rank<N, 0>(p, [&](uint32_t steps) {
        at_[steps] = of(steps).address + first_ * kVecBytes;
        compute_here(at_[steps]);
      });
  }

  FORCE_INLINE __device__ void prefetch() {
    if constexpr (N > 0)
      if (first_ >= 0) each_rank<N, 0>(p_, [&](uint32_t steps) { loaded_[steps] = ld(at_[steps]); });
  }

  // Vector i of the part of the rank that is `steps` after this one.
  FORCE_INLINE __device__ Vec load(uint32_t steps, int64_t i) const {
    if constexpr (N > 0)
      if (i == first_) return loaded_[steps]; // steps is a constant here: loops over ranks are unrolled
    return of(steps).load(i);
  }

 private:
  FORCE_INLINE __device__ Buffer part(uint32_t rank) const { return Buffer(address_ + rank * p_.bytes, p_.bytes); }
  FORCE_INLINE __device__ Buffer of(uint32_t steps) const { return part(rank_after<N>(p_, steps)); }

  const Params& p_;
  uint64_t address_;
  int64_t first_;
  uint64_t at_[N == 0 ? 1 : N];
  Vec loaded_[N == 0 ? 1 : N] = {};
};
