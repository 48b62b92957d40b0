// Found in SGLang, pull request 39124 (2026): threads store a tile to shared memory, and the hardware reads it by the
// asynchronous proxy. The block's barrier orders the threads, and not the two proxies: old contents may be read.
//
// There a product of matrices reads the tile, here a bulk copy does. Mended: a proxy fence behind the stores.
#include "tile.cuh"

extern "C" __global__ void tile_proxy(float* output, const float* input, float* const* staged, unsigned* const* flags,
                                      int count, unsigned rank, unsigned world, unsigned call) {
  __shared__ alignas(128) float tile[kTile];
  for (int at = blockIdx.x * kTile; at < count; at += gridDim.x * kTile) {
    const int i = at + threadIdx.x;
    tile[threadIdx.x] = i < count ? input[i] : 0;
#ifdef MENDED
    fence_tile();
#endif
    __syncthreads();
    if (threadIdx.x == 0) {
      store_tile(staged[rank] + at, tile);
      wait_until_written();
    }
    __syncthreads();
  }
  barrier(flags, rank, world, 2 * call + 1);
  sum_inputs(output, staged, count, world);
  barrier(flags, rank, world, 2 * call + 2);
}
