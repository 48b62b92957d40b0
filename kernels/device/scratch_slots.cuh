// Scratch that peers store to: one slot for each peer, in rank order.
#pragma once

#include "params.cuh"
#include "vector.cuh"

// ScratchSlots are the slots in the scratch of rank `owner`, of `vecs` vectors each. They lie after those of oneshot,
// which has no closing barrier: peers may still read these slots when this rank is in its next call.
class ScratchSlots {
 public:
  FORCE_INLINE __device__ ScratchSlots(const Params& p, uint32_t owner, int64_t vecs)
      : owner_(owner), step_(vecs * kVecBytes), first_(p.peers[owner] + p.scratch_offset + kOneShotBytes) {}

  // The address of the slot of a rank other than the owner.
  FORCE_INLINE __device__ uint64_t of(uint32_t rank) const { return first_ + (rank < owner_ ? rank : rank - 1) * step_; }

 private:
  static constexpr int64_t kOneShotBytes = 2ll * kSlotBytes * kMaxBlocks;
  uint32_t owner_;
  int64_t step_;
  uint64_t first_;
};
