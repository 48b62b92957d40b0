// Physics, signals and graphs.
#include "cuda.cuh"

KERNEL mandelbrot(u32* counts, u32 width, float x0, float y0, float step, u32 most) {
  u32 i = global_thread();
  float cx = x0 + step * (i % width), cy = y0 + step * (i / width), x = 0, y = 0;
  u32 n = 0;
  while (n < most && x * x + y * y <= 4) {
    float next = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = next;
    n++;
  }
  counts[i] = n;
}

// Accelerations of bodies (x, y, z, mass), by tiles of a block's size in shared memory.
KERNEL nbody(const float4* bodies, float4* accelerations, u32 n) {
  __shared__ float4 tile[64];
  u32 i = global_thread();
  float4 me = bodies[i], sum = {};
  for (u32 base = 0; base < n; base += 64) {
    tile[threadIdx.x] = bodies[base + threadIdx.x];
    __syncthreads();
    for (u32 k = 0; k < 64; k++) {
      float4 d = tile[k] - me;
      float square = d.x * d.x + d.y * d.y + d.z * d.z + 0.01f;
      float inverse = __nvvm_rsqrt_approx_f(square);
      float scale = tile[k].w * inverse * inverse * inverse;
      sum.x += d.x * scale;
      sum.y += d.y * scale;
      sum.z += d.z * scale;
    }
    __syncthreads();
  }
  accelerations[i] = sum;
}

// Stockham's FFT of 256 complex numbers a block, radix 2, with the twiddle factors in global memory.
KERNEL fft(const float2* in, float2* out, const float2* twiddles) {
  __shared__ float2 s[2][256];
  u32 t = threadIdx.x, from = 0;
  s[0][t] = in[256 * blockIdx.x + t];
  s[0][t + 128] = in[256 * blockIdx.x + t + 128];
  for (u32 size = 1; size < 256; size *= 2, from ^= 1) {
    __syncthreads();
    u32 k = t % size;
    float2 a = s[from][t], b = s[from][t + 128], w = twiddles[k * (128 / size)];
    float2 c = {b.x * w.x - b.y * w.y, b.x * w.y + b.y * w.x};
    u32 to = 2 * t - k;
    s[from ^ 1][to] = a + c;
    s[from ^ 1][to + size] = a - c;
  }
  __syncthreads();
  out[256 * blockIdx.x + t] = s[from][t];
  out[256 * blockIdx.x + t + 128] = s[from][t + 128];
}

// A sparse matrix in compressed rows times a vector, a row for each warp.
KERNEL spmv(const u32* rows, const u32* columns, const double* values, const double* x, double* y, u32 n) {
  u32 row = global_thread() / 32;
  if (row >= n) return;
  double sum = 0;
  for (u32 i = rows[row] + lane_id(); i < rows[row + 1]; i += 32) sum += values[i] * x[columns[i]];
  for (u32 d = 16; d > 0; d /= 2) {
    u64 bits = __builtin_bit_cast(u64, sum);
    u64 low = shuffle_xor((u32)bits, d), high = shuffle_xor((u32)(bits >> 32), d);
    sum += __builtin_bit_cast(double, high << 32 | low);
  }
  if (lane_id() == 0) y[row] = sum;
}

// One level of a breadth-first search: neighbors of the frontier that have no distance yet.
KERNEL bfs(const u32* rows, const u32* edges, u32* distance, const u32* frontier, u32 count, u32* next, u32* next_count,
           u32 level) {
  u32 i = global_thread();
  if (i >= count) return;
  u32 v = frontier[i];
  for (u32 e = rows[v]; e < rows[v + 1]; e++)
    if (atomic_cas(&distance[edges[e]], kAll, level) == kAll) next[atomic_add(next_count, 1)] = edges[e];
}

// Cells of Conway's game, 32 in a word, on a torus: sums by bitwise adders.
KERNEL life(const u32* in, u32* out, u32 words, u32 height) {
  u32 i = global_thread(), x = i % words, y = i / words;
  u32 bit[4] = {};
  for (u32 dy = 0; dy < 3; dy++) {
    const u32* row = in + (y + height + dy - 1) % height * words;
    u32 left = row[(x + words - 1) % words], mid = row[x], right = row[(x + 1) % words];
    u32 cells[3] = {mid << 1 | left >> 31, dy == 1 ? 0 : mid, mid >> 1 | right << 31};
    for (u32 cell : cells)
      for (u32 b = 0; b < 4; b++) {
        u32 carry = bit[b] & cell;
        bit[b] ^= cell;
        cell = carry;
      }
  }
  out[i] = bit[1] & ~bit[2] & ~bit[3] & (bit[0] | in[i]);
}

// The longest common subsequence of two strings, by diagonals of the table, which a block sweeps.
KERNEL lcs(const u8* a, const u8* b, u32* length, u32 n) {
  __shared__ u32 s[3][129];
  u32 t = threadIdx.x;
  for (u32 k = 0; k < 3; k++)
    for (u32 i = t; i < 129; i += blockDim.x) s[k][i] = 0;
  __syncthreads();
  for (u32 d = 0; d < 2 * n - 1; d++) {
    u32 column = d - t;
    if (t < n && column < n) {
      u32 up = s[(d + 2) % 3][t], left = s[(d + 2) % 3][t + 1], corner = s[(d + 1) % 3][t];
      s[d % 3][t + 1] = a[t] == b[column] ? corner + 1 : up > left ? up : left;
    }
    __syncthreads();
  }
  if (t == 0) *length = s[(2 * n - 2) % 3][n];
}

// Bytes to CRC-32, a table in constant memory for each block's bytes in turn; and SHA-like mixing of 64 bits.
KERNEL crc(const u8* in, u32* out, u32 length) {
  __shared__ u32 table[256];
  u32 x = threadIdx.x;
  for (u32 k = 0; k < 8; k++) x = x >> 1 ^ (x & 1 ? 0xedb88320 : 0);
  table[threadIdx.x] = x;
  __syncthreads();
  u32 i = global_thread(), sum = kAll;
  for (u32 k = 0; k < length; k++) sum = table[(sum ^ in[i * length + k]) & 255] ^ sum >> 8;
  out[i] = ~sum;
}
