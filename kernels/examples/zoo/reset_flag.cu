// Met in vLLM's custom allreduce, pull request 5866 (2024): flags are 0 and 1, and a rank clears a flag for the next call
// when it has seen it. A fast peer may have set the flag of its next call by then: the reset erases that signal, and the
// rank waits for ever.
//
// Mended: flags only grow, and nothing is cleared.
#include "sum.cuh"

extern "C" __global__ void reset_flag(float* output, const float* const* inputs, unsigned* const* flags, int count,
                                      unsigned rank, unsigned world, [[maybe_unused]] unsigned call) {
#ifdef MENDED
  barrier(flags, rank, world, 2 * call + 1);
  sum_inputs(output, inputs, count, world);
  barrier(flags, rank, world, 2 * call + 2);
#else
  const unsigned peer = threadIdx.x;
  // Two sets of flags, for the barriers before the loads and behind them.
  const auto flag = [&](unsigned at, unsigned set, unsigned of) {
    return flags[at] + (2 * blockIdx.x + set) * world + of;
  };
  for (unsigned set = 0; set < 2; set++) {
    __syncthreads();
    if (peer < world) {
      store_release(flag(peer, set, rank), 1);
      while (load_acquire(flag(rank, set, peer)) != 1) {
      }
    }
    __syncthreads();
    if (set == 0) sum_inputs(output, inputs, count, world);
  }
  if (peer < world) { // too late: both barriers are behind the peers as well
    store_relaxed(flag(rank, 0, peer), 0);
    store_relaxed(flag(rank, 1, peer), 0);
  }
#endif
}
