// A ring of stages in shared memory, of one operand of wgmma.cu.
#pragma once

#include "hopper.cuh"

// StageRing has kCount stages of kBytes each, one after the other, that a copying thread fills and warpgroups empty in turn, and
// two mbarriers for each: one that the copies complete, one that the warpgroups arrive at.
template <uint32_t kCount, uint32_t kBytes>
struct StageRing {
  static constexpr uint32_t kAllBytes = kCount * kBytes, kBarrierBytes = 2 * kCount * 8;
  uint32_t stages, barriers; // where they begin

  // Where one is in the ring.
  struct Turn {
    uint32_t stage = 0, parity = 0;
    FORCE_INLINE __device__ void advance() {
      if (++stage == kCount) stage = 0, parity ^= 1;
    }
  };

  FORCE_INLINE __device__ uint32_t at(uint32_t stage) const { return stages + stage * kBytes; }
  FORCE_INLINE __device__ uint32_t full(uint32_t stage) const { return barriers + stage * 8; }
  FORCE_INLINE __device__ uint32_t empty(uint32_t stage) const { return full(kCount) + stage * 8; }

  // By one thread: as many arrivals empty a stage.
  FORCE_INLINE __device__ void init(uint32_t arrivals) const {
    for (uint32_t s = 0; s < kCount; s++) {
      mbarrier_init(full(s), 1);
      mbarrier_init(empty(s), arrivals);
    }
  }

  // Waits until a stage may be filled, and has its barrier expect all of it.
  FORCE_INLINE __device__ void await_empty(Turn t) const {
    mbarrier_wait(empty(t.stage), t.parity ^ 1);
    mbarrier_expect(full(t.stage), kBytes);
  }
  FORCE_INLINE __device__ void await_full(Turn t) const { mbarrier_wait(full(t.stage), t.parity); }
};
