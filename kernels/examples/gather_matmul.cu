// All-gather and matmul in one kernel: C = A x B in bfloat16, where every rank has M/world rows of A and fetches tiles of
// the other ranks' rows by bulk tensor copies. Correct and plain: no pipeline, no tensor cores.
//
// Algorithm: barrier; for each tile of C, from this rank's rows on: copy tiles of A and B to shared memory, multiply;
//            barrier: then every rank may overwrite its A.
// Buffers:   a[r] maps rank r's rows of A, in symmetric memory; b maps B, stored by columns. gathered is all of A.
//            flags[r] are rank r's: a word for each block and rank, zero before the first call.
// Order:     a proxy fence stands between the flags and the copies, which go through the async proxy. A copy has ended
//            when its mbarrier has all bytes. Sums are in fp32, along K.
// Caller:    the same M, N, K and grid on all ranks; all blocks are resident; M is a multiple of world, K of 8; blocks of
//            256 threads; `call` is 1 in the first call and grows by one each time. Boxes of the maps are 64 x 64.
#include "flags.cuh"

constexpr int kTile = 64, kRanks = 4, kSide = 16; // threads are a square of 16 x 16

struct alignas(64) TensorMap {
  char opaque[128];
};
struct Shards {
  TensorMap of[kRanks];
};
using Tile = unsigned short[kTile][kTile]; // bits of bfloat16
using Mbarrier = unsigned long long;

inline __device__ float to_float(unsigned short bits) { return __builtin_bit_cast(float, (unsigned)bits << 16); }
inline __device__ unsigned short to_bfloat16(float x) {
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}

inline __device__ unsigned shared(const void* p) {
  unsigned long long address;
  asm("cvta.to.shared.u64 %0, %1;" : "=l"(address) : "l"(p));
  return (unsigned)address;
}

inline __device__ void copy_tile(Tile& to, const TensorMap& from, int column, int row, Mbarrier& loaded) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
          shared(&to)),
      "l"(&from), "r"(column), "r"(row), "r"(shared(&loaded))
      : "memory");
}

inline __device__ void expect(Mbarrier& loaded, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared(&loaded)), "r"(bytes) : "memory");
}

inline __device__ bool has_loaded(Mbarrier& loaded, unsigned parity) {
  unsigned done;
  asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
               : "=r"(done)
               : "r"(shared(&loaded)), "r"(parity)
               : "memory");
  return done;
}

extern "C" __global__ void __launch_bounds__(kSide* kSide)
    gather_matmul(const __grid_constant__ Shards a, const __grid_constant__ TensorMap b, unsigned short* gathered,
                  unsigned short* c, unsigned* const* flags, int m, int n, int k, unsigned rank, unsigned world,
                  unsigned call) {
  alignas(128) __shared__ Tile left, right;
  __shared__ Mbarrier loaded;
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared(&loaded)) : "memory");
  barrier(flags, rank, world, 2 * call - 1);
  asm volatile("fence.proxy.async;" ::: "memory");
  const int rows = m / world, down = (rows + kTile - 1) / kTile, across = (n + kTile - 1) / kTile;
  const int x = threadIdx.x % kSide, y = threadIdx.x / kSide;
  unsigned parity = 0;
  for (int tile = blockIdx.x; tile < (int)world * down * across; tile += gridDim.x) {
    const int owner = (rank + tile / (down * across)) % world;
    const int row = tile / across % down * kTile, column = tile % across * kTile;
    float sum[4][4] = {};
    for (int from = 0; from < k; from += kTile, parity ^= 1) {
      if (threadIdx.x == 0) {
        expect(loaded, sizeof left + sizeof right);
        copy_tile(left, a.of[owner], from, row, loaded);
        copy_tile(right, b, from, column, loaded);
      }
      while (!has_loaded(loaded, parity)) {}
      for (int step = 0; step < kTile; step++)
        for (int i = 0; i < 4; i++)
          for (int j = 0; j < 4; j++)
            sum[i][j] = fmaf(to_float(left[y + i * kSide][step]), to_float(right[x + j * kSide][step]), sum[i][j]);
      for (int at = threadIdx.x; column == 0 && at < kTile * kTile; at += kSide * kSide)
        if (const int i = at / kTile, j = at % kTile; row + i < rows && from + j < k)
          gathered[(size_t)(owner * rows + row + i) * k + from + j] = left[i][j];
      __syncthreads(); // all have read the tiles
    }
    for (int i = 0; i < 4; i++)
      for (int j = 0; j < 4; j++)
        if (const int down_by = row + y + i * kSide, right_by = column + x + j * kSide; down_by < rows && right_by < n)
          c[(size_t)(owner * rows + down_by) * n + right_by] = to_bfloat16(sum[i][j]);
  }
  barrier(flags, rank, world, 2 * call);
}
