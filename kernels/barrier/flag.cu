// barrier, flags: every rank tells every other that it has come, and waits for
// all to have come.
//
// Algorithm: store the epoch to the own flag on every peer, poll the peers'
// flags here; see barrier.cuh. The phase to name should a peer be missing comes in
// p.phase, because other algorithms use this kernel between copies.
//
// Memory order: what the stream did before the launch, on any rank, is visible
// to what the streams do after it.
//
// The caller launches one block of a multiple of 32 threads. sm_80 and up, up
// to kMaxRanks ranks.

#include "../device/barrier.cuh"
#include "../device/entries.cuh"

FORCE_INLINE __device__ void flag(const Params& p) {
  Epochs epochs(p);
  epochs.once((Phase)p.phase, p.world);
}

ENTRY(barrier_flag, flag)
