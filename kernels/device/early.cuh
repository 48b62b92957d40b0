// Early: what a thread sends or stages first, loaded in advance.
//
// A kernel makes it, then its Epochs, which wait for the kernel in front, and then has it fetch: addresses are
// computed beside that wait, and the load is on its way beside those of the Epochs.
#pragma once

#include "mail.cuh"
#include "vector.cuh"

// The first vector of the parts that this thread sends, or -1 if that is not one of the whole ones.
FORCE_INLINE __device__ int64_t first_vec(const Params& p, int64_t whole) {
  const int64_t tile = whole_vecs_in(p.tile_bytes), first = block_id() * tile + thread_id();
  return thread_id() < tile && first < whole ? first : -1;
}

// Early is a buffer, or rows, of which this thread loads the first vector that it sends in advance: that is on its way
// while the thread learns whether it may send, and into which slot. It is made before the kernel in front has ended.
template <typename Source>
class Early {
 public:
  FORCE_INLINE __device__ Early(const Params& p, Source source, bool wanted = true)
      : source_(source), first_(first_vec(p, wanted ? source.whole : 0)), at_(source.address + first_ * kVecBytes) {
    compute_here(first_);
    compute_here(at_);
  }

  FORCE_INLINE __device__ void fetch() {
    if (first_ >= 0) loaded_ = ld(at_);
  }

  FORCE_INLINE __device__ Vec load(int64_t i) const { return i == first_ ? loaded_ : source_.load(i); }

 private:
  Source source_;
  int64_t first_;
  uint64_t at_;
  Vec loaded_ = {};
};

// EarlyParts are those of a buffer, one for each rank, likewise.
template <int N>
class EarlyParts {
 public:
  FORCE_INLINE __device__ EarlyParts(const Params& p, uint64_t address, bool wanted = true)
      : p_(p), address_(address), first_(first_vec(p, wanted && p.bytes % kVecBytes == 0 ? part(0).whole : 0)) {
    compute_here(first_);
    if constexpr (N > 0)
      each_rank<N, 0>(p, [&](uint32_t steps) {
        at_[steps] = of(steps).address + first_ * kVecBytes;
        compute_here(at_[steps]);
      });
  }

  FORCE_INLINE __device__ void fetch() {
    if constexpr (N > 0)
      if (first_ >= 0) each_rank<N, 0>(p_, [&](uint32_t steps) { loaded_[steps] = ld(at_[steps]); });
  }

  // Vector i of the part of the rank that is so many behind this one.
  FORCE_INLINE __device__ Vec load(uint32_t steps, int64_t i) const {
    if constexpr (N > 0)
      if (i == first_) return loaded_[steps]; // which is known to the compiler
    return of(steps).load(i);
  }

 private:
  FORCE_INLINE __device__ Buffer part(uint32_t rank) const { return Buffer(address_ + rank * p_.bytes, p_.bytes); }
  FORCE_INLINE __device__ Buffer of(uint32_t steps) const { return part(rank_behind<N>(p_, steps)); }

  const Params& p_;
  uint64_t address_;
  int64_t first_;
  uint64_t at_[N == 0 ? 1 : N];
  Vec loaded_[N == 0 ? 1 : N] = {};
};
