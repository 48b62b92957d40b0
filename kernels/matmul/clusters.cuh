// How wgmma.cu divides tiles among the blocks of a cluster, a tile among warpgroups, and the shared
// memory of a block.
#pragma once

#include "hopper.cuh"
#include "output.cuh"

constexpr int kBlocks = 2; // of a cluster
constexpr int kRows = 128, kSlice = 64;
constexpr int kThreads = 3 * kWarpgroup; // one copies and stores, two multiply
constexpr int kParts = 2;                // of a tile, one for each warpgroup that multiplies
constexpr int kPartRows = kRows / kParts;
constexpr int kRowBytes = kSlice * kElementBytes;
constexpr uint32_t kMostShared = 227 * 1024;
constexpr uint32_t kPassingUnit = 2048, kMostPassing = 4 * kPassingUnit;

// Shared memory: a ring of as many stages as fit, what is on its way out, barriers, and where
// there is room for it, what is copied in passing.
template <int kColumns>
struct Layout {
  static constexpr uint32_t kBytesOfA = kRows * kRowBytes, kBytesOfB = kColumns * kRowBytes;
  static constexpr uint32_t kBytes = kBytesOfA + kBytesOfB;                     // of a stage
  static constexpr uint32_t kPitch = kOutPitch<kColumns>;
  static constexpr uint32_t kOutBytes = kRows * kPitch, kBarrierBytes = 256; // at most
  static constexpr uint32_t kRing = kMostShared - kOutBytes - kBarrierBytes; // at most
  static constexpr uint32_t kStages = kRing / kBytes;
  static constexpr uint32_t kLeft = (kRing - kStages * kBytes) / 2 / kPassingUnit * kPassingUnit;
  static constexpr uint32_t kPassingBytes = kLeft < kMostPassing ? kLeft : kMostPassing; // of each of two places; 0: none
  uint32_t base;

  FORCE_INLINE __device__ uint32_t a(uint32_t stage) const { return base + stage * kBytes; }
  FORCE_INLINE __device__ uint32_t b(uint32_t stage) const { return a(stage) + kBytesOfA; }
  FORCE_INLINE __device__ uint32_t out(uint32_t row) const { return base + kStages * kBytes + row * kPitch; }
  FORCE_INLINE __device__ uint32_t full(uint32_t stage) const { return out(kRows) + stage * 8; }
  FORCE_INLINE __device__ uint32_t empty(uint32_t stage) const { return full(kStages) + stage * 8; }
  FORCE_INLINE __device__ uint32_t ready(uint32_t part) const { return empty(kStages) + part * 8; } // to be stored
  FORCE_INLINE __device__ uint32_t stored(uint32_t part) const { return ready(kParts) + part * 8; } // and out of the way
  FORCE_INLINE __device__ uint32_t fetched(uint32_t part) const { return stored(kParts) + part * 8; } // a peer's, to be added
  FORCE_INLINE __device__ uint32_t added(uint32_t part) const { return fetched(kParts) + part * 8; } // with more to come

  FORCE_INLINE __device__ uint32_t passing(uint32_t place) const { return added(kParts) + place * 8; } // is there
  FORCE_INLINE __device__ uint32_t passage(uint32_t place) const { return full(0) + kBarrierBytes + place * kPassingBytes; }

  FORCE_INLINE __device__ void init_barriers() const {
    for (uint32_t s = 0; s < kStages; s++) {
      barrier_init(full(s), 1);
      barrier_init(empty(s), kParts * kBlocks);
    }
    for (uint32_t part = 0; part < kParts; part++) {
      barrier_init(ready(part), kWarpgroup);
      barrier_init(stored(part), 1);
      barrier_init(fetched(part), 1);
      barrier_init(added(part), kWarpgroup);
    }
    for (uint32_t place = 0; place < 2; place++) barrier_init(passing(place), 1);
    barriers_are_ready();
  }

  // Where one is in the ring of stages.
  struct Turn {
    uint32_t stage = 0, parity = 0;
    FORCE_INLINE __device__ void advance() {
      if (++stage == kStages) stage = 0, parity ^= 1;
    }
  };
};

// The pairs of tiles of a cluster, one after the other: f(tile), with the block's own
// of the two. One without rows is left out by all but those who count what was sent.
template <bool kAll = false, typename Job, typename F>
FORCE_INLINE __device__ void each_tile(const Job& job, F f) {
  const auto order = job.order();
  for (int32_t i = block_id() / kBlocks; i < order.count(); i += grid_blocks() / kBlocks) {
    Tile t = order.at(i);
    if (!kAll && t.rows <= 0) continue;
    const int32_t half = cluster_rank();
    t.row += half * kRows;
    t.rows -= half * kRows;
    t.index = t.index * kBlocks + half;
    t.number = t.number * kBlocks + half;
    f(t);
  }
}

// Whether the block has another tile.
template <typename Job>
FORCE_INLINE __device__ bool has_next(const Job& job, const Tile& t) {
  return (t.number + (int32_t)grid_blocks()) / kBlocks < job.order().count();
}

// Whether the tile, or that of the other block of the cluster, has rows.
FORCE_INLINE __device__ bool pair_has_rows(const Tile& t) { return t.rows + (int32_t)cluster_rank() * kRows > 0; }

// The number of a warpgroup's part of a tile, and how many rows of it there are.
FORCE_INLINE __device__ int32_t number_of(const Tile& t, uint32_t part) { return t.index * kParts + part; }
FORCE_INLINE __device__ int32_t rows_of(const Tile& t, uint32_t part) {
  const int32_t left = t.rows - part * kPartRows;
  return left < kPartRows ? left : kPartRows;
}
