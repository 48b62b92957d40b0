// The shared memory of a block of wgmma.cu.
#pragma once

#include "cluster_tiles.cuh"
#include "pipeline.cuh"

constexpr int kRowBytes = kSlice * kElementBytes;
constexpr uint32_t kMaxShared = 227 * 1024;
constexpr uint32_t kChunkBufferUnit = 2048, kMaxChunkBuffer = 4 * kChunkBufferUnit;

// SharedLayout divides the shared memory of a block: as many stages of A and of B as fit; the staged tile; mbarriers; and if
// there is room, two buffers for chunks of the local shard (local_shard.cuh). Mostly both blocks of the cluster load B, which
// then arrives later than A: B gets one more stage if that fits. wgmma.sharedLayout in Go computes the same.
template <int kColumns>
struct SharedLayout {
  static constexpr uint32_t kBytesOfA = kRows * kRowBytes, kBytesOfB = kColumns * kRowBytes; // of a stage
  static constexpr uint32_t kPitch = kStagedPitch<kColumns>;
  static constexpr uint32_t kStagedBytes = kRows * kPitch, kBarrierBytes = kColumns < 128 ? 384 : 320; // at most
  static constexpr uint32_t kRoom = kMaxShared - kStagedBytes - kBarrierBytes; // for the stages and the chunk buffers
  static constexpr uint32_t kStagesOfA = kRoom / (kBytesOfA + kBytesOfB);
  static constexpr uint32_t kStagesOfB = (kRoom - kStagesOfA * kBytesOfA) / kBytesOfB;
  using CountOfA = FixedCount<kStagesOfA>;
  using CountOfB = FixedCount<kStagesOfB>;
  using A = OperandPipeline<kBytesOfA, CountOfA>;
  using B = OperandPipeline<kBytesOfB, CountOfB>;
  static constexpr uint32_t kAllOfA = kStagesOfA * kBytesOfA, kAllOfB = kStagesOfB * kBytesOfB; // bytes of all stages
  static constexpr uint32_t kBarriersOfA = kStagesOfA * A::kBarrierBytes, kBarriersOfB = kStagesOfB * B::kBarrierBytes;
  static constexpr uint32_t kLeft = (kRoom - kAllOfA - kAllOfB) / 2 / kChunkBufferUnit * kChunkBufferUnit;
  static constexpr uint32_t kChunkBufferBytes = kLeft < kMaxChunkBuffer ? kLeft : kMaxChunkBuffer; // of each of two buffers; 0: there are none
  uint32_t base;

  FORCE_INLINE __device__ A a() const { return {base, barriers()}; }
  FORCE_INLINE __device__ B b() const { return {base + kAllOfA, barriers() + kBarriersOfA}; }
  FORCE_INLINE __device__ uint32_t staged_row(uint32_t row) const { return base + kAllOfA + kAllOfB + row * kPitch; }
  FORCE_INLINE __device__ uint32_t chunk_buffer(uint32_t buffer) const { return barriers() + kBarrierBytes + buffer * kChunkBufferBytes; }

  FORCE_INLINE __device__ uint32_t staged(uint32_t part) const { // mbarrier: the part is staged, and may be stored
    return barriers() + kBarriersOfA + kBarriersOfB + part * 8;
  }
  FORCE_INLINE __device__ uint32_t stored(uint32_t part) const { return staged(kParts) + part * 8; } // mbarrier: the stores have read the part, and its place is free
  FORCE_INLINE __device__ uint32_t fetched(uint32_t part) const { return stored(kParts) + part * 8; } // mbarrier: a peer's products have been fetched to the part's place
  FORCE_INLINE __device__ uint32_t added(uint32_t part) const { return fetched(kParts) + part * 8; } // mbarrier: these have been added, and the next peer's may be fetched
  FORCE_INLINE __device__ uint32_t chunk_loaded(uint32_t buffer) const { return added(kParts) + buffer * 8; } // mbarrier: a chunk is in the buffer
  static_assert(kBarriersOfA + kBarriersOfB + (4 * kParts + 2) * 8 <= kBarrierBytes);

  // One thread calls it: 32 lanes of a warp, a few mbarriers each, take seven times as long.
  FORCE_INLINE __device__ void init_barriers() const {
    a().init(kParts);
    b().init(kParts * kClusterBlocks);
    for (uint32_t part = 0; part < kParts; part++) {
      mbarrier_init(staged(part), kWarpgroup);
      mbarrier_init(stored(part), 1);
      mbarrier_init(fetched(part), 1);
      mbarrier_init(added(part), kWarpgroup);
    }
    for (uint32_t buffer = 0; buffer < 2; buffer++) mbarrier_init(chunk_loaded(buffer), 1);
    fence_mbarrier_init();
  }

  // The pipeline states of both operands.
  struct PipelineStates {
    typename A::State a;
    typename B::State b;
    FORCE_INLINE __device__ void advance() { a.advance(CountOfA{}), b.advance(CountOfB{}); }
  };

 private:
  FORCE_INLINE __device__ uint32_t barriers() const { return staged_row(kRows); }
};
