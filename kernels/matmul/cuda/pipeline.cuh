// The pipeline of the operands of a GEMM by TMA: stages in shared memory.
#pragma once

#include "hopper.cuh"

// The number of stages of a pipeline that is known when the kernel is compiled.
template <uint32_t kCount>
struct FixedCount {
  FORCE_INLINE __device__ constexpr operator uint32_t() const { return kCount; }
};

// OperandPipeline has stages of kBytes bytes, which a producer thread fills and the consumer warpgroups read in turn. Each
// stage has two mbarriers: `full`, which the copies complete, and `empty`, at which the consumers arrive. Count is the type
// of the number of stages: FixedCount, or uint32_t.
template <uint32_t kBytes, typename Count>
struct OperandPipeline {
  static constexpr uint32_t kBarrierBytes = 2 * 8; // of a stage
  uint32_t stages, barriers; // addresses of the first
  Count count = {};

  // The stage that a thread fills or reads next, and the parity of its phase.
  struct State {
    uint32_t stage = 0, parity = 0;
    FORCE_INLINE __device__ void advance(Count count) {
      if (++stage == count) stage = 0, parity ^= 1;
    }
  };

  FORCE_INLINE __device__ uint32_t at(uint32_t stage) const { return stages + stage * kBytes; }
  FORCE_INLINE __device__ uint32_t full(uint32_t stage) const { return barriers + stage * 8; }
  FORCE_INLINE __device__ uint32_t empty(uint32_t stage) const { return full(count) + stage * 8; }

  // One thread calls it. `arrivals` arrivals at `empty` free a stage.
  FORCE_INLINE __device__ void init(uint32_t arrivals) const {
    for (uint32_t s = 0; s < count; s++) {
      mbarrier_init(full(s), 1);
      mbarrier_init(empty(s), arrivals);
    }
  }

  // Waits until the stage is free, and makes its mbarrier expect all of its bytes, or so many.
  FORCE_INLINE __device__ void producer_acquire(State t, uint32_t bytes = kBytes) const {
    mbarrier_wait(empty(t.stage), t.parity ^ 1);
    mbarrier_expect(full(t.stage), bytes);
  }
  FORCE_INLINE __device__ void consumer_wait(State t) const { mbarrier_wait(full(t.stage), t.parity); }
};
