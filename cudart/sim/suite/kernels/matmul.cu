// Products of matrices, without and with tensor cores.
#include "cuda.cuh"

// Tiles of 16 x 16 in shared memory.
KERNEL matmul_tiled(const float* a, const float* b, float* c, u32 n) {
  __shared__ float s[16][16], t[16][16];
  u32 x = threadIdx.x % 16, y = threadIdx.x / 16;
  u32 row = blockIdx.x / (n / 16) * 16 + y, column = blockIdx.x % (n / 16) * 16 + x;
  float sum = 0;
  for (u32 k = 0; k < n; k += 16) {
    s[y][x] = a[row * n + k + x];
    t[y][x] = b[(k + y) * n + column];
    __syncthreads();
    for (u32 i = 0; i < 16; i++) sum = __builtin_fmaf(s[y][i], t[i][x], sum);
    __syncthreads();
  }
  c[row * n + column] = sum;
}

INLINE u32 shared_address(const void* p) { return (u32)(u64)(const __attribute__((address_space(3))) void*)p; }
INLINE void copy16(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
}
INLINE void copies_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int kLeft>
INLINE void copies_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}

// 64 x 64 a block, 4 x 4 a thread in registers; cp.async fetches a tile while the last one is multiplied.
KERNEL matmul_pipelined(const float* a, const float* b, float* c, u32 n) {
  extern __shared__ float s[]; // [2 stages][A: 64 x 16, B: 16 x 64]
  u32 t = threadIdx.x, row0 = blockIdx.x / (n / 64) * 64, column0 = blockIdx.x % (n / 64) * 64;
  auto fetch = [&](u32 k) {
    float* to = s + (k / 16 & 1) * 2048;
    copy16(to + 4 * t, a + (row0 + t / 4) * n + k + t % 4 * 4);
    copy16(to + 1024 + 4 * t, b + (k + t / 16) * n + column0 + t % 16 * 4);
    copies_commit();
  };
  float sum[4][4] = {};
  fetch(0);
  for (u32 k = 0; k < n; k += 16) {
    if (k + 16 < n) {
      fetch(k + 16);
      copies_wait<1>();
    } else {
      copies_wait<0>();
    }
    __syncthreads();
    const float *p = s + (k / 16 & 1) * 2048, *q = p + 1024;
    for (u32 i = 0; i < 16; i++)
#pragma unroll
      for (u32 y = 0; y < 4; y++)
#pragma unroll
        for (u32 x = 0; x < 4; x++)
          sum[y][x] = __builtin_fmaf(p[(t / 16 * 4 + y) * 16 + i], q[i * 64 + t % 16 * 4 + x], sum[y][x]);
    __syncthreads();
  }
  for (u32 y = 0; y < 4; y++)
    for (u32 x = 0; x < 4; x++) c[(row0 + t / 16 * 4 + y) * n + column0 + t % 16 * 4 + x] = sum[y][x];
}

// One warp, 16 x 16 x 16 of half by nvcuda::wmma's instructions; C in single precision is added to.
KERNEL matmul_wmma(const half* a, const half* b, float* c, u32 n) {
  int fa[8], fb[8];
  float sum[8];
  u32 row = blockIdx.x / (n / 16) * 16, column = blockIdx.x % (n / 16) * 16;
  __hmma_m16n16k16_ld_c_f32(sum, c + row * n + column, n, 0);
  for (u32 k = 0; k < n; k += 16) {
    __hmma_m16n16k16_ld_a(fa, (const int*)(a + row * n + k), n, 0);
    __hmma_m16n16k16_ld_b(fb, (const int*)(b + k * n + column), n, 0);
    __hmma_m16n16k16_mma_f32f32(sum, fa, fb, sum, 0, 0);
  }
  __hmma_m16n16k16_st_c_f32(c + row * n + column, sum, n, 0);
}

// The same of signed bytes, with b by columns.
KERNEL matmul_wmma_i8(const i8* a, const i8* b, int* c, u32 n) {
  int fa[2], fb[2], sum[8] = {};
  u32 row = blockIdx.x / (n / 16) * 16, column = blockIdx.x % (n / 16) * 16;
  for (u32 k = 0; k < n; k += 16) {
    __imma_m16n16k16_ld_a_s8(fa, (const int*)(a + row * n + k), n, 0);
    __imma_m16n16k16_ld_b_s8(fb, (const int*)(b + column * n + k), n, 1);
    __imma_m16n16k16_mma_s8(sum, fa, fb, sum, 1, 0);
  }
  __imma_m16n16k16_st_c_i32(c + row * n + column, sum, n, 0);
}

// 16 x 8 a warp by mma.sync. Both operands have k along the row: kBytes of it are 4 words of each row for a
// group of four lanes.
template <typename Sum, typename Multiply>
INLINE void matmul_mma(const u32* a, const u32* b, Sum* c, u32 n, u32 words, u32 step, Multiply multiply) {
  u32 lane = lane_id(), group = lane / 4, in_group = lane % 4;
  u32 row = blockIdx.x / (n / 8) * 16 + group, column = blockIdx.x % (n / 8) * 8;
  Sum d[4] = {};
  for (u32 k = 0; k < words; k += step) {
    const u32 *p = a + row * words + k + in_group, *q = b + (column + group) * words + k + in_group;
    multiply(d, p, p + 8 * words, q);
  }
  u32 at = row * n + column + in_group * 2;
  c[at] = d[0];
  c[at + 1] = d[1];
  c[at + 8 * n] = d[2];
  c[at + 8 * n + 1] = d[3];
}

#define MMA(NAME, SUM, CONSTRAINT, SHAPE_AND_TYPES)                                                                   \
  KERNEL NAME(const u32* a, const u32* b, SUM* c, u32 n, u32 words) {                                                 \
    matmul_mma(a, b, c, n, words, 8, [](SUM* d, const u32* p, const u32* below, const u32* q) {                       \
      asm volatile("mma.sync.aligned." SHAPE_AND_TYPES " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"       \
                   : CONSTRAINT(d[0]), CONSTRAINT(d[1]), CONSTRAINT(d[2]), CONSTRAINT(d[3])                           \
                   : "r"(p[0]), "r"(below[0]), "r"(p[4]), "r"(below[4]), "r"(q[0]), "r"(q[4]));                       \
    });                                                                                                               \
  }
MMA(matmul_f16, float, "+f", "m16n8k16.row.col.f32.f16.f16.f32")
MMA(matmul_bf16, float, "+f", "m16n8k16.row.col.f32.bf16.bf16.f32")
MMA(matmul_tf32, float, "+f", "m16n8k8.row.col.f32.tf32.tf32.f32")
MMA(matmul_s8, int, "+r", "m16n8k32.row.col.s32.s8.s8.s32")
MMA(matmul_u4, int, "+r", "m16n8k64.row.col.s32.u4.u4.s32")

// Doubles: 8 x 8 a warp.
KERNEL matmul_f64(const double* a, const double* b, double* c, u32 n) {
  u32 group = lane_id() / 4, in_group = lane_id() % 4;
  u32 row = blockIdx.x / (n / 8) * 8 + group, column = blockIdx.x % (n / 8) * 8;
  double d[2] = {};
  for (u32 k = 0; k < n; k += 4)
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : "+d"(d[0]), "+d"(d[1])
                 : "d"(a[row * n + k + in_group]), "d"(b[(column + group) * n + k + in_group]));
  c[row * n + column + 2 * in_group] = d[0];
  c[row * n + column + 2 * in_group + 1] = d[1];
}

// Tiles in shared memory, whose fragments ldmatrix gives to the lanes: b as it lies, by rows of k.
KERNEL matmul_ldmatrix(const half* a, const half* b, float* c, u32 n) {
  __shared__ __attribute__((aligned(16))) half s[16 * 16], t[16 * 8];
  u32 lane = lane_id(), row = blockIdx.x / (n / 8) * 16, column = blockIdx.x % (n / 8) * 8;
  float d[4] = {};
  for (u32 k = 0; k < n; k += 16) {
    copy16(s + 8 * lane, a + (row + lane / 2) * n + k + lane % 2 * 8);
    if (lane < 16) copy16(t + 8 * lane, b + (k + lane) * n + column);
    copies_commit();
    copies_wait<0>();
    __syncwarp();
    u32 x[4], y[2];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(shared_address(s + lane % 16 * 16 + lane / 16 * 8)) : "memory");
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                 : "=r"(y[0]), "=r"(y[1]) : "r"(shared_address(t + lane % 16 * 8)) : "memory");
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
    __syncwarp();
  }
  for (u32 i = 0; i < 4; i++) c[(row + lane / 4 + i / 2 * 8) * n + column + lane % 4 * 2 + i % 2] = d[i];
}
