// barrier, multimem: every rank adds one to a counter on all ranks by a single
// multicast reduction, and waits until its own counter has counted all ranks.
//
// Algorithm:
//   1. multimem.red of 1 to the counter's multicast address, with release
//   2. poll this rank's counter, with acquire, until it has reached world times the number of
//      such barriers
// The count only grows and is compared wrap-safe. A rank may run one barrier ahead of a
// peer, never two, so a count is at most world too high.
//
// Buffers: none but the signal pads.
//
// Memory order: as in flag.cu.
//
// The caller launches one block. The symmetric memory has a multicast address.
// sm_90 and up, up to kMaxRanks ranks.

#include "../device/entries.cuh"
#include "../device/multimem.cuh"

FORCE_INLINE __device__ void multimem(const Params& p) {
  grid_dependency_sync();
  if (thread_id() != 0) return;
  MulticastBarrier barrier(p);
  if (barrier.sync()) barrier.save();
}

ENTRY(barrier_multimem, multimem)
