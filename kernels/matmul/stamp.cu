// The moment from which the times of a call count.
//
// Algorithm: the ranks meet as at the barrier flag, and each notes its own clock as soon as
// all have come. Clocks of GPUs differ; the moments do not, but for the time that the last
// flag takes to arrive, a microsecond or two.
//
// Buffers: p.trace is 8 bytes, a multiple of 8. Memory order: as barrier/flag.cu.
//
// The caller launches one block of a multiple of 32 threads, on all ranks. sm_80 and up, up to
// kMaxRanks ranks.

#include "../device/barrier.cuh"
#include "params.cuh"

extern "C" __global__ void __launch_bounds__(kMaxThreads) matmul_stamp(const MatmulParams p) {
  Epochs epochs(p.base);
  if (!epochs.sync_first(p.base.world)) return;
  if (thread_id() == 0) *(Global<uint64_t>)p.trace = global_timer();
  epochs.save();
}
