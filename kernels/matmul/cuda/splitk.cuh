// Split-K of the last wave: clusters without a tile in the last wave share the tiles of the others.
//
// Algorithm: such a cluster multiplies pieces of tiles of the last wave, some slices of k of each, and stores its partial
// sums to memory. The cluster of the tile adds them to its own, in the order of pieces. This is "Stream-K" (Osama et al.,
// 2023) after full waves of tiles, except that the cluster which began a tile also finishes it. The host chooses the lengths of pieces so
// that they are done in time: schedule.SplitK.
//
// Buffers: partial sums lie as the threads hold them. Each warp signals the warp that has the same rows of the tile by a
// word that is zero between calls: the warp that has waited for it resets it.
//
// No deadlock: all blocks are resident. Take this order, the same on all ranks: tiles of full waves by their numbers, then
// pieces, then tiles of the last wave. A cluster does its items in this order, and no item waits for a later one. So the
// first unfinished item, on any rank, does not wait for another. Waits for peers are bounded, and a cluster stores its partial
// sums even after a time-out. So the waits for partial sums need no bound.
#pragma once

#include "cluster_tiles.cuh"

// PartialSums are a warp's sums of its part of a piece in memory: vector 0 of each thread, then vector 1 of each, and so on.
template <int kColumns>
class PartialSums {
 public:
  FORCE_INLINE __device__ PartialSums(const MatmulParams& p, uint32_t piece, uint32_t part) {
    const uint32_t thread = reload_thread_id() % kWarpgroup;
    const uint32_t warp = ((piece * kClusterBlocks + cluster_rank()) * kParts + part) * (kWarpgroup / 32) + thread / 32;
    lane_ = thread % 32;
    sums_ = p.partials + (uint64_t)warp * kBytes + lane_ * kVecBytes;
    ready_ = p.partials_ready + warp * sizeof(uint32_t);
  }

  // Stores a warp's sums, and signals that they are there.
  FORCE_INLINE __device__ void store(const float (&sums)[kColumns / 2]) const {
#pragma unroll
    for (int i = 0; i < kVecs; i++) {
      const float* s = sums + kPerVec * i;
      st(sums_ + i * kStep, __builtin_bit_cast(Vec, Floats{s[0], s[1], s[2], s[3]}));
    }
    warp_sync();
    if (lane_ == 0) asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(ready_) : "memory");
  }

  // Waits for the partial sums, and adds them.
  FORCE_INLINE __device__ void add_to(float (&sums)[kColumns / 2]) const {
    while (!is_ready()) {}
    uint64_t from = sums_;
    // Half of them at a time, and the halves are swapped: to load all at once would spill registers between tiles
    // (kernels/NOTES.md).
#pragma nounroll
    for (int half = 0; half < 2; half++, from += kVecs / 2 * kStep) {
#pragma unroll
      for (int i = 0; i < kVecs / 2; i++) {
        const auto loaded = __builtin_bit_cast(Floats, ld(from + i * kStep));
#pragma unroll
        for (int k = 0; k < kPerVec; k++) {
          float &lower = sums[kPerVec * i + k], &upper = sums[kPerVec * (i + kVecs / 2) + k];
          const float sum = lower + loaded.at[k];
          lower = upper;
          upper = sum;
        }
      }
    }
    warp_sync();
    if (lane_ == 0) *(Global<volatile uint32_t>)ready_ = 0;
  }

 private:
  static constexpr int kPerVec = kVecBytes / sizeof(float), kVecs = kColumns / 2 / kPerVec;
  static constexpr uint32_t kStep = 32 * kVecBytes, kBytes = kVecs * kStep;
  struct Floats {
    float at[kPerVec];
  };

  FORCE_INLINE __device__ bool is_ready() const {
    uint32_t word;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(word) : "l"(ready_) : "memory");
    return word != 0;
  }

  uint64_t sums_, ready_;
  uint32_t lane_;
};
