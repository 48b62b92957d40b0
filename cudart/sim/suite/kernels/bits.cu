// Instructions on bits and bytes: video, packed halves, carries, permutations.
#include "cuda.cuh"

// Differences of blocks of 8 x 4 pixels, for each displacement of a search along the row.
KERNEL motion(const u8* now, const u8* before, u32* differences, u32 pitch) {
  u32 shift = threadIdx.x, sum = 0;
  for (u32 y = 0; y < 4; y++)
    for (u32 x = 0; x < 8; x += 4) {
      const u8 *p = now + y * pitch + blockIdx.x * 8 + x, *q = before + y * pitch + blockIdx.x * 8 + x + shift;
      u32 a = p[0] | p[1] << 8 | p[2] << 16 | p[3] << 24, b = q[0] | q[1] << 8 | q[2] << 16 | q[3] << 24;
      asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %0;" : "+r"(sum) : "r"(a), "r"(b));
    }
  differences[blockIdx.x * blockDim.x + shift] = sum;
}

// Dot products of signed bytes.
KERNEL dot_bytes(const int* a, const int* b, int* out, u32 words) {
  int i = global_thread(), sum = 0;
  for (u32 k = 0; k < words; k++)
    asm("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(a[i * words + k]), "r"(b[k]));
  out[i] = sum;
}

// Sums and products of numbers of 128 bits.
KERNEL big_numbers(const u32* a, const u32* b, u32* sum, u32* product) {
  const u32 *p = a + 4 * global_thread(), *q = b + 4 * global_thread();
  u32 s[4], r[8] = {};
  asm("add.cc.u32 %0, %4, %8;\n\taddc.cc.u32 %1, %5, %9;\n\taddc.cc.u32 %2, %6, %10;\n\taddc.u32 %3, %7, %11;"
      : "=&r"(s[0]), "=&r"(s[1]), "=&r"(s[2]), "=r"(s[3])
      : "r"(p[0]), "r"(p[1]), "r"(p[2]), "r"(p[3]), "r"(q[0]), "r"(q[1]), "r"(q[2]), "r"(q[3]));
#pragma unroll
  for (u32 i = 0; i < 4; i++)
#pragma unroll
    for (u32 k = 0; k < 4; k++) { // r += p[k] q[i] at i + k, carried up to the end
      u32 carry;
      asm("mad.lo.cc.u32 %0, %3, %4, %0;\n\tmadc.hi.cc.u32 %1, %3, %4, %1;\n\taddc.u32 %2, 0, 0;"
          : "+&r"(r[i + k]), "+&r"(r[i + k + 1]), "=r"(carry) : "r"(p[k]), "r"(q[i]));
#pragma unroll
      for (u32 at = i + k + 2; at < 8; at++)
        asm("add.cc.u32 %0, %0, %1;\n\taddc.u32 %1, 0, 0;" : "+&r"(r[at]), "+r"(carry));
    }
  for (u32 i = 0; i < 4; i++) sum[4 * global_thread() + i] = s[i];
  for (u32 i = 0; i < 8; i++) product[8 * global_thread() + i] = r[i];
}

// Bytes reversed, bits interleaved, a field moved, a majority.
KERNEL shuffle_bits(const u32* in, u32* out) {
  u32 i = global_thread(), x = in[i], y = in[i ^ 1];
  out[4 * i] = __nvvm_prmt(x, y, 0x4123);
  u32 even = x & 0xffff;
  for (u32 s = 8, m = 0xff00ff; s > 0; s /= 2, m ^= m << s) even = (even | even << s) & m;
  out[4 * i + 1] = even;
  u32 field;
  asm("bfe.u32 %0, %1, 7, 9;\n\tbfi.b32 %0, %0, %2, 13, 9;" : "=&r"(field) : "r"(x), "r"(y));
  out[4 * i + 2] = field;
  out[4 * i + 3] = (x & y) | (y & ~i) | (x & ~i);
}
