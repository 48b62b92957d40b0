// Met in Meta's fork of Triton, pull request 1105 (2026): a block reads shared memory of another block of its cluster,
// which ends meanwhile. Its shared memory may be another block's by then.
//
// Mended: a barrier of the cluster behind the reads.
#include "tile.cuh"

inline __device__ void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}

// Clusters have two blocks. Each sums a tile, and stores the tile of the other one.
extern "C" __global__ void cluster_exit(float* output, const float* const* inputs, unsigned* const* flags, int count,
                                        unsigned rank, unsigned world, unsigned call) {
  __shared__ float tile[kTile];
  const int own = blockIdx.x * kTile + threadIdx.x, other = (blockIdx.x ^ 1) * kTile + threadIdx.x;
  barrier(flags, rank, world, 2 * call + 1);
  float sum = 0;
  for (unsigned r = 0; r < world && own < count; r++) sum += inputs[r][own];
  tile[threadIdx.x] = sum;
  barrier(flags, rank, world, 2 * call + 2);
  cluster_barrier();
  unsigned at;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(shared_address(tile + threadIdx.x)), "r"(1 - blockIdx.x % 2));
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(sum) : "r"(at) : "memory");
  if (other < count) output[other] = sum;
#ifdef MENDED
  cluster_barrier();
#endif
}
