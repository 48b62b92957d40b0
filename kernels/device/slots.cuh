// The scratch that peers push to: a slot for each, in rank order.
#pragma once

#include "params.cuh"
#include "vector.cuh"

// The slots of a rank, of so many vectors each. They lie behind those of one-shot, which peers
// may still be reading when this rank goes on to another call: one-shot has no closing barrier.
class Slots {
 public:
  FORCE_INLINE __device__ Slots(const Params& p, uint32_t owner, int64_t vecs)
      : owner_(owner), step_(vecs * kVecBytes), first_(p.peers[owner] + p.scratch_offset + kOneShotBytes) {}

  // That of a peer of the owner's.
  FORCE_INLINE __device__ uint64_t of(uint32_t rank) const { return first_ + (rank < owner_ ? rank : rank - 1) * step_; }

 private:
  static constexpr int64_t kOneShotBytes = 2ll * kSlotBytes * kMaxBlocks;
  uint32_t owner_;
  int64_t step_;
  uint64_t first_;
};
