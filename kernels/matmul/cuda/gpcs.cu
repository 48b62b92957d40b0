// Finds the multiprocessor of each block of a grid: see gpcs.go.
//
// Algorithm: each block stores the number of its multiprocessor, and runs until all other blocks have been launched, so that
// no two blocks get the same multiprocessor.
//
// Buffers: `to` has a 32-bit word for each block. Memory order: none but the stream's.
//
// The caller launches as many blocks as there are multiprocessors, in clusters of any size. Each block has so much shared
// memory that a multiprocessor has room for one. sm_90 and up; one rank alone.

#include "../../device/cuda.cuh"

extern "C" __global__ void matmul_gpcs(uint64_t to) {
  constexpr uint64_t kStayNs = 20000; // longer than the launch of all blocks takes
  grid_dependency_sync();
  if (thread_id() != 0) return;
  ((Global<uint32_t>)to)[block_id()] = __nvvm_read_ptx_sreg_smid();
  for (const uint64_t begin = global_timer(); global_timer() - begin < kStayNs;) {}
}
