// Grids of two and three dimensions.
#include "cuda.cuh"

// Tiles of 16 x 16 in shared memory, whose rows are one word longer so that columns lie in different banks.
KERNEL transpose(const float* in, float* out, u32 width, u32 height) {
  __shared__ float tile[16][17];
  u32 x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x < width && y < height) tile[threadIdx.y][threadIdx.x] = in[y * width + x];
  __syncthreads();
  x = blockIdx.y * 16 + threadIdx.x;
  y = blockIdx.x * 16 + threadIdx.y;
  if (x < height && y < width) out[y * height + x] = tile[threadIdx.x][threadIdx.y];
}

// One step of Jacobi's method, with a halo in shared memory; the border stays.
KERNEL jacobi(const float* in, float* out, u32 n) {
  __shared__ float s[18][34];
  u32 x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y, i = y * n + x;
  u32 tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  s[ty][tx] = in[i];
  if (tx == 1 && x > 0) s[ty][0] = in[i - 1];
  if (tx == 32 && x + 1 < n) s[ty][33] = in[i + 1];
  if (ty == 1 && y > 0) s[0][tx] = in[i - n];
  if (ty == 16 && y + 1 < n) s[17][tx] = in[i + n];
  __syncthreads();
  bool border = x == 0 || y == 0 || x + 1 == n || y + 1 == n;
  out[i] = border ? s[ty][tx] : 0.25f * (s[ty][tx - 1] + s[ty][tx + 1] + (s[ty - 1][tx] + s[ty + 1][tx]));
}

__constant__ const float taps[9] = {0.0625f, 0.125f, 0.25f, 0.5f, 1.0f, 0.5f, 0.25f, 0.125f, 0.0625f};

// A convolution of rows by 9 taps, zero outside; launched again for columns with the strides changed over.
KERNEL convolve(const float* in, float* out, u32 n, u32 step, u32 pitch) {
  __shared__ float row[4][64 + 8];
  u32 x = blockIdx.x * 64 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
  for (u32 k = threadIdx.x; k < 72; k += 64) {
    u32 at = blockIdx.x * 64 + k - 4;
    row[threadIdx.y][k] = at < n ? in[y * pitch + at * step] : 0;
  }
  __syncthreads();
  float sum = 0;
  for (u32 k = 0; k < 9; k++) sum = __builtin_fmaf(taps[k], row[threadIdx.y][threadIdx.x + k], sum);
  out[y * pitch + x * step] = sum;
}

// The mean of a volume's voxels and their 26 neighbors, as bytes; neighbors outside are those at the border.
KERNEL volume_filter(const u8* in, u8* out, uint3 size) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= (int)size.x || y >= (int)size.y || z >= (int)size.z) return;
  u32 sum = 0;
  for (int dz = -1; dz <= 1; dz++)
    for (int dy = -1; dy <= 1; dy++)
      for (int dx = -1; dx <= 1; dx++) {
        int u = x + dx, v = y + dy, w = z + dz;
        u = u < 0 ? 0 : u >= (int)size.x ? size.x - 1 : u;
        v = v < 0 ? 0 : v >= (int)size.y ? size.y - 1 : v;
        w = w < 0 ? 0 : w >= (int)size.z ? size.z - 1 : w;
        sum += in[(w * size.y + v) * size.x + u];
      }
  out[(z * size.y + y) * size.x + x] = sum / 27;
}

// All blocks of a cooperative grid meet as often as the array has doublings: Hillis and Steele's scan.
INLINE void grid_sync(u32* arrived, u32 phase) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomic_add(arrived, 1);
    while (*(volatile u32*)arrived < (phase + 1) * gridDim.x) {
    }
    __threadfence();
  }
  __syncthreads();
}
KERNEL scan_grid(u32* a, u32* b, u32* arrived, u32 n) {
  u32 i = global_thread(), phase = 0;
  for (u32 d = 1; d < n; d *= 2, phase++) {
    b[i] = i >= d ? a[i] + a[i - d] : a[i];
    grid_sync(arrived, phase);
    u32* swap = a;
    a = b;
    b = swap;
  }
}
