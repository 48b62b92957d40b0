// barrier, flags: every rank stores a flag to every other rank, and waits for the flags of all.
//
// Algorithm:
//   1. store the epoch to this rank's flag on every peer
//   2. poll the peers' flags in this rank's memory until they have reached the epoch
// See barrier.cuh. Params::phase is the phase to report if a peer is missing, because other algorithms use this kernel
// between copies.
//
// Buffers: none but the signal pads.
//
// Memory order: what the streams of all ranks did before their launch is visible to what they do after it.
//
// The caller launches one block of a multiple of 32 threads. sm_80 and up, up
// to kMaxRanks ranks.

#include "../device/barrier.cuh"
#include "../device/entries.cuh"

FORCE_INLINE __device__ void flag(const Params& p) {
  Epochs epochs(p);
  epochs.sync_once((Phase)p.phase, p.world);
}

ENTRY(barrier_flag, flag)
