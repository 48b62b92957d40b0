// How wgmma.cu divides tiles among the blocks of a cluster, a tile among warpgroups, and the shared
// memory of a block.
#pragma once

#include "output.cuh"
#include "ring.cuh"
#include "rounds.cuh"

constexpr int kBlocks = 2; // of a cluster
constexpr int kRows = 128, kSlice = 64;
constexpr int kThreads = 3 * kWarpgroup; // one copies and stores, two multiply
constexpr int kParts = 2;                // of a tile, one for each warpgroup that multiplies
constexpr int kPartRows = kRows / kParts;
constexpr int kRowBytes = kSlice * kElementBytes;
constexpr uint32_t kMostShared = 227 * 1024;
constexpr uint32_t kPassingUnit = 2048, kMostPassing = 4 * kPassingUnit;

// Shared memory: a ring of stages for each operand, as many as fit, what is on its way out, barriers, and where
// there is room for it, what is copied in passing. Columns of B come from both blocks, and so later than rows of A: if
// one more stage of it fits, it has that.
template <int kColumns>
struct Layout {
  static constexpr uint32_t kBytesOfA = kRows * kRowBytes, kBytesOfB = kColumns * kRowBytes; // of a stage
  static constexpr uint32_t kPitch = kOutPitch<kColumns>;
  static constexpr uint32_t kOutBytes = kRows * kPitch, kBarrierBytes = 320; // at most
  static constexpr uint32_t kRoom = kMostShared - kOutBytes - kBarrierBytes; // for the rings, and more
  static constexpr uint32_t kStagesOfA = kRoom / (kBytesOfA + kBytesOfB);
  static constexpr uint32_t kStagesOfB = (kRoom - kStagesOfA * kBytesOfA) / kBytesOfB;
  using A = StageRing<kStagesOfA, kBytesOfA>;
  using B = StageRing<kStagesOfB, kBytesOfB>;
  static constexpr uint32_t kLeft = (kRoom - A::kAllBytes - B::kAllBytes) / 2 / kPassingUnit * kPassingUnit;
  static constexpr uint32_t kPassingBytes = kLeft < kMostPassing ? kLeft : kMostPassing; // of each of two places; 0: none
  uint32_t base;

  FORCE_INLINE __device__ A a() const { return {base, barriers()}; }
  FORCE_INLINE __device__ B b() const { return {base + A::kAllBytes, barriers() + A::kBarrierBytes}; }
  FORCE_INLINE __device__ uint32_t out(uint32_t row) const { return base + A::kAllBytes + B::kAllBytes + row * kPitch; }
  FORCE_INLINE __device__ uint32_t passage(uint32_t place) const { return barriers() + kBarrierBytes + place * kPassingBytes; }

  FORCE_INLINE __device__ uint32_t ready(uint32_t part) const { // to be stored
    return barriers() + A::kBarrierBytes + B::kBarrierBytes + part * 8;
  }
  FORCE_INLINE __device__ uint32_t stored(uint32_t part) const { return ready(kParts) + part * 8; } // and out of the way
  FORCE_INLINE __device__ uint32_t fetched(uint32_t part) const { return stored(kParts) + part * 8; } // a peer's, to be added
  FORCE_INLINE __device__ uint32_t added(uint32_t part) const { return fetched(kParts) + part * 8; } // with more to come
  FORCE_INLINE __device__ uint32_t passing(uint32_t place) const { return added(kParts) + place * 8; } // is there
  static_assert(A::kBarrierBytes + B::kBarrierBytes + (4 * kParts + 2) * 8 <= kBarrierBytes);

  FORCE_INLINE __device__ void init_barriers() const {
    a().init(kParts);
    b().init(kParts * kBlocks);
    for (uint32_t part = 0; part < kParts; part++) {
      mbarrier_init(ready(part), kWarpgroup);
      mbarrier_init(stored(part), 1);
      mbarrier_init(fetched(part), 1);
      mbarrier_init(added(part), kWarpgroup);
    }
    for (uint32_t place = 0; place < 2; place++) mbarrier_init(passing(place), 1);
    fence_mbarrier_init();
  }

  // Where one is in both rings.
  struct Turns {
    typename A::Turn a;
    typename B::Turn b;
    FORCE_INLINE __device__ void advance() { a.advance(), b.advance(); }
  };

 private:
  FORCE_INLINE __device__ uint32_t barriers() const { return out(kRows); }
};

FORCE_INLINE __device__ int32_t slices(const MatmulParams& p) { return (p.k + kSlice - 1) / kSlice; }

// The pairs of tiles of a cluster, and pieces of others', one after the other: f(tile), with the block's own
// of the two. One without rows is left out by all but those who count what was sent.
template <bool kAll = false, typename Job, typename F>
FORCE_INLINE __device__ void each_tile(const Job& job, F f) {
  const auto order = job.order();
  const Rounds rounds(job.p, grid_blocks() / kBlocks);
  for (int32_t i = rounds.first_of(block_id() / kBlocks); rounds.has(i); i = rounds.next(i)) {
    Tile t = rounds.at(order, i, slices(job.p));
    if (!kAll && t.rows <= 0) continue;
    const int32_t half = cluster_rank();
    t.row += half * kRows;
    t.rows -= half * kRows;
    t.index = t.index * kBlocks + half;
    t.number = t.number * kBlocks + half;
    f(t);
  }
}

// Whether the block has another tile, or piece, after one.
template <typename Job>
FORCE_INLINE __device__ bool has_next(const Job& job, const Tile& t) {
  const Rounds rounds(job.p, grid_blocks() / kBlocks);
  return rounds.has(rounds.next(t.number / kBlocks));
}

// Whether the tile, or that of the other block of the cluster, has rows.
FORCE_INLINE __device__ bool pair_has_rows(const Tile& t) { return t.rows + (int32_t)cluster_rank() * kRows > 0; }

// The number of a warpgroup's part of a tile, and how many rows of it there are.
FORCE_INLINE __device__ int32_t number_of(const Tile& t, uint32_t part) { return t.index * kParts + part; }
FORCE_INLINE __device__ int32_t rows_of(const Tile& t, uint32_t part) {
  const int32_t left = t.rows - part * kPartRows;
  return left < kPartRows ? left : kPartRows;
}
