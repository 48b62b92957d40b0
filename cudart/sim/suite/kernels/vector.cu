// One element after the other: the simplest kernels.
#include "cuda.cuh"

KERNEL vector_add(const float4* a, const float4* b, float4* c, u32 n) {
  u32 i = global_thread();
  if (i < n) c[i] = a[i] + b[i];
}

// y = a x + y, each thread at a stride of the grid.
KERNEL saxpy(float a, const float* x, float* y, u32 n) {
  for (u32 i = global_thread(); i < n; i += global_threads()) y[i] = a * x[i] + y[i];
}

// Horner's rule with a fused multiplication and addition.
KERNEL polynomial(const double* x, double* y, u32 n) {
  u32 i = global_thread();
  if (i >= n) return;
  double sum = 1;
  for (u32 k = 8; k > 0; k--) sum = __builtin_fma(sum, x[i], 1.0 / k);
  y[i] = sum;
}

KERNEL half_axpy(half a, const half* x, half* y, u32 n) {
  u32 i = global_thread();
  if (i < n) y[i] = a * x[i] + y[i];
}

KERNEL half2_fma(const half2* x, const half2* y, half2* z, u32 n) {
  u32 i = global_thread();
  if (i < n) z[i] = __builtin_elementwise_fma(x[i], y[i], z[i]);
}

KERNEL bfloat2_fma(const bfloat2* x, const bfloat2* y, bfloat2* z, u32 n) {
  u32 i = global_thread();
  if (i < n) z[i] = __builtin_elementwise_fma(x[i], y[i], z[i]);
}

// clang computes in single precision and rounds the result.
KERNEL bfloat_axpy(bfloat a, const bfloat* x, bfloat* y, u32 n) {
  u32 i = global_thread();
  if (i < n) y[i] = a * x[i] + y[i];
}

// Arguments by value: a struct of 2 KB, which each thread reads at a place of its own.
struct Table {
  u32 count;
  u8 steps[12];
  u64 entries[254];
};
KERNEL table_by_value(Table table, u64* out) {
  u32 i = global_thread();
  u64 x = i;
  for (u32 k = 0; k < sizeof table.steps; k++) x = table.entries[(x + table.steps[k]) % table.count] ^ (x << 1);
  out[i] = x;
}

// Division and remainder of all widths, which no compiler can replace by multiplication.
KERNEL divide(const u64* x, const u64* y, u64* out, u32 n) {
  u32 i = global_thread();
  if (i >= n) return;
  u64 a = x[i], b = y[i] | 1;
  out[4 * i] = a / b;
  out[4 * i + 1] = (long long)a % (long long)(b >> 20 | 1);
  out[4 * i + 2] = (u32)a / ((u32)b | 1);
  out[4 * i + 3] = (int)a % (int)((u32)b >> 9 | 1);
}

// The number of steps of Collatz's sequence: every lane leaves the loop at another time.
KERNEL collatz(const u32* x, u32* steps, u32 n) {
  u32 i = global_thread();
  if (i >= n) return;
  u32 count = 0;
  for (u64 v = x[i]; v > 1; count++) v = v & 1 ? 3 * v + 1 : v / 2;
  steps[i] = count;
}

// A state machine by a table of branches.
KERNEL interpreter(const u8* code, const u32* start, u32* out, u32 length) {
  u32 i = global_thread(), a = start[i], b = i;
  for (u32 at = 0; at < length; at++) {
    switch (code[(at + i) % length] % 9) {
      case 0: a += b; break;
      case 1: b ^= a; break;
      case 2: a = a << 7 | a >> 25; break;
      case 3: b *= 2654435761u; break;
      case 4: if (a & 1) { b++; break; } a--; break;
      case 5: a = __builtin_popcount(b) + __builtin_clz(a | 1); break;
      case 6: b = __builtin_bitreverse32(a); break;
      case 7: a ^= (u32)((u64)a * b >> 32); break;
      default: b -= a; break;
    }
  }
  out[2 * i] = a;
  out[2 * i + 1] = b;
}
