// Finds out on which multiprocessor each block of a grid runs: see gpcs.go.
//
// Algorithm: each block stores its multiprocessor's number, and stays long enough that no other block gets it.
//
// Buffers: `to` has a 32-bit word for each block. Memory order: none but the stream's.
//
// The caller launches as many blocks as there are multiprocessors, with so much shared memory that each needs one for itself,
// in clusters of any size. sm_90 and up; one rank alone.

#include "../../device/cuda.cuh"

extern "C" __global__ void matmul_gpcs(uint64_t to) {
  constexpr uint64_t kStayNs = 20000; // longer than the launch of all blocks takes
  grid_dependency_sync();
  if (thread_id() != 0) return;
  ((Global<uint32_t>)to)[block_id()] = __nvvm_read_ptx_sreg_smid();
  for (const uint64_t begin = global_timer(); global_timer() - begin < kStayNs;) {}
}
