// Asked about in ThunderKittens, issue 194 (2026): before a rank signals, it waits until its bulk copies have read shared
// memory. That they have written global memory is another wait: the peer may load what was there before.
//
// Mended: the thread that has issued the copies waits until they have written.
#include "tile.cuh"

extern "C" __global__ void tile_read(float* output, const float* input, float* const* staged, unsigned* const* flags,
                                     int count, unsigned rank, unsigned world, unsigned call) {
  __shared__ alignas(128) float tile[kTile];
  for (int at = blockIdx.x * kTile; at < count; at += gridDim.x * kTile) {
    const int i = at + threadIdx.x;
    tile[threadIdx.x] = i < count ? input[i] : 0;
    fence_tile();
    __syncthreads();
    if (threadIdx.x == 0) {
      store_tile(staged[rank] + at, tile);
      wait_until_read(); // the next tile may be stored
    }
    __syncthreads();
  }
#ifdef MENDED
  if (threadIdx.x == 0) wait_until_written();
#endif
  barrier(flags, rank, world, 2 * call + 1);
  sum_inputs(output, staged, count, world);
  barrier(flags, rank, world, 2 * call + 2);
}
