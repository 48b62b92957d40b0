// How clusters that have no tile in the last round share those of the others: split-K.
//
// Where tiles do not come out even, some clusters have one fewer. They multiply pieces of tiles of the last round, some slices
// of k of each, and leave the sums in memory for those that have the tiles, who add them to theirs, in the order of pieces.
// It is what "Stream-K" (Osama et al., 2023) does behind whole rounds of tiles, but that each tile ends where it began. How
// long pieces are, so that they are there in time, the host works out: matmul.splitK.
//
// Sums lie as the threads have them that made them. Each warp tells the one that has the same rows of the tile, by a word
// that is zero between calls: who has waited for it resets it.
//
// All blocks are resident, and nobody waits in a circle. Order tiles of whole rounds by their numbers, then pieces, then tiles
// of the last round, on all ranks alike: a cluster takes its own in this order, and none waits for what comes later. So
// the first that is not done, on any rank, waits for none. Waits for peers end in time, and pieces are left whether these came
// or not; so the waits here have no bound of their own.
#pragma once

#include "clusters.cuh"

// PieceSums are a warp's sums of its part of a piece: a vector of each thread, one after the other, then the next of each.
template <int kColumns>
class PieceSums {
 public:
  FORCE_INLINE __device__ PieceSums(const MatmulParams& p, uint32_t piece, uint32_t part) {
    const uint32_t thread = thread_id_late() % kWarpgroup;
    const uint32_t warp = ((piece * kBlocks + cluster_rank()) * kParts + part) * (kWarpgroup / 32) + thread / 32;
    lane_ = thread % 32;
    sums_ = p.partials + (uint64_t)warp * kBytes + lane_ * kVecBytes;
    there_ = p.partials_there + warp * sizeof(uint32_t);
  }

  // Leaves them there.
  FORCE_INLINE __device__ void leave(const float (&sums)[kColumns / 2]) const {
#pragma unroll
    for (int i = 0; i < kVecs; i++) {
      const float* s = sums + kPerVec * i;
      st(sums_ + i * kStep, __builtin_bit_cast(Vec, Floats{s[0], s[1], s[2], s[3]}));
    }
    warp_meet();
    if (lane_ == 0) asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(there_) : "memory");
  }

  // Waits for what is left there, and adds it.
  FORCE_INLINE __device__ void add_to(float (&sums)[kColumns / 2]) const {
    while (!is_there()) {}
    uint64_t from = sums_;
    // Half of them at a time, the halves changing places: to load all at once takes registers, which are then missed by what
    // is between tiles (NOTES.md).
#pragma nounroll
    for (int half = 0; half < 2; half++, from += kVecs / 2 * kStep) {
#pragma unroll
      for (int i = 0; i < kVecs / 2; i++) {
        const auto left = __builtin_bit_cast(Floats, ld(from + i * kStep));
#pragma unroll
        for (int k = 0; k < kPerVec; k++) {
          float &lower = sums[kPerVec * i + k], &upper = sums[kPerVec * (i + kVecs / 2) + k];
          const float sum = lower + left.at[k];
          lower = upper;
          upper = sum;
        }
      }
    }
    warp_meet();
    if (lane_ == 0) *(Global<volatile uint32_t>)there_ = 0;
  }

 private:
  static constexpr int kPerVec = kVecBytes / sizeof(float), kVecs = kColumns / 2 / kPerVec;
  static constexpr uint32_t kStep = 32 * kVecBytes, kBytes = kVecs * kStep;
  struct Floats {
    float at[kPerVec];
  };

  FORCE_INLINE __device__ bool is_there() const {
    uint32_t word;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(word) : "l"(there_) : "memory");
    return word != 0;
  }

  uint64_t sums_, there_;
  uint32_t lane_;
};
