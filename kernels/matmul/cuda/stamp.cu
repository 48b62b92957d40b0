// Records a moment that is the same on all ranks, for the timeline of a call: the clocks of GPUs differ.
//
// Algorithm:
//   1. barrier with all ranks, as in barrier/flag.cu
//   2. each rank stores the time of its own clock
// The moments of two ranks differ by the time that a flag takes over a link: 1 to 2 us.
//
// Buffers: p.trace is 8 bytes, aligned to 8. Memory order: as in barrier/flag.cu.
//
// The caller launches one block of a multiple of 32 threads, on all ranks. sm_80 and up, up to kMaxRanks ranks.

#include "../../device/barrier.cuh"
#include "params.cuh"

extern "C" __global__ void __launch_bounds__(kMaxThreads) matmul_stamp(const MatmulParams p) {
  Epochs epochs(p.base);
  if (!epochs.sync_first(p.base.world)) return;
  if (thread_id() == 0) *(Global<uint64_t>)p.trace = global_timer();
  epochs.save();
}
