// matmul.ptx is made from this file by `go generate ./cudart/sim/exec`.

// C = A x B for the executor's tests: bfloat16, tiles of 64 x 64 by four warps, steps of 32
// along K. A is m x k by rows, B k x n by columns, C m x n of float by rows; m and n are
// multiples of 64, k of 32. A step is copied by cp.async while the one before is
// multiplied. Block i computes tile i, rows first.

struct Params {
  const char *a, *b;
  float *c;
  unsigned n, k;
};

namespace {

constexpr unsigned tileBytes = 64 * 64;  // 64 rows of 32 elements

__attribute__((shared)) __attribute__((aligned(128))) char tiles[2][2][tileBytes];

__attribute__((device)) inline unsigned sharedAddress(const void *p) {
  unsigned long long at;
  asm("cvta.to.shared.u64 %0, %1;" : "=l"(at) : "l"(p));
  return static_cast<unsigned>(at);
}

// place is where chunk i of a row lies: chunks are exchanged, so that eight rows at
// one column are in eight different banks.
__attribute__((device)) inline unsigned place(unsigned row, unsigned i) {
  return row * 64 + ((i ^ (row / 2 % 4)) * 16);
}

// copy starts to copy 64 rows of 32 elements.
__attribute__((device)) inline void copy(char *to, const char *from, unsigned stride) {
  unsigned thread = __nvvm_read_ptx_sreg_tid_x();
  for (unsigned i = thread; i < 256; i += 128) {
    unsigned row = i / 4, chunk = i % 4;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(sharedAddress(to + place(row, chunk))),
                 "l"(from + row * stride + chunk * 16)
                 : "memory");
  }
}

// load loads four 8 x 8 matrices: 16 rows from the given one on, and two chunks.
__attribute__((device)) inline void load(unsigned (&r)[4], const char *tile, unsigned row, unsigned chunk) {
  unsigned lane = __nvvm_read_ptx_sreg_tid_x() % 32;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(sharedAddress(tile + place(row + lane % 16, chunk + lane / 16)))
               : "memory");
}

__attribute__((device)) inline void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

}  // namespace

extern "C" __attribute__((global)) void matmul(Params p) {
  unsigned thread = __nvvm_read_ptx_sreg_tid_x(), block = __nvvm_read_ptx_sreg_ctaid_x();
  unsigned across = p.n / 64, row = block / across * 64, column = block % across * 64;
  const char *a = p.a + row * p.k * 2, *b = p.b + column * p.k * 2;
  unsigned warp = thread / 32, lane = thread % 32, steps = p.k / 32;
  float d[8][4] = {};
  copy(tiles[0][0], a, p.k * 2);
  copy(tiles[0][1], b, p.k * 2);
  asm volatile("cp.async.commit_group;" ::: "memory");
  for (unsigned s = 0; s < steps; s++) {
    if (s + 1 < steps) {
      copy(tiles[(s + 1) % 2][0], a + (s + 1) * 64, p.k * 2);
      copy(tiles[(s + 1) % 2][1], b + (s + 1) * 64, p.k * 2);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __nvvm_bar_sync(0);
    for (unsigned k = 0; k < 2; k++) {
      unsigned fa[4], fb[4];
      load(fa, tiles[s % 2][0], warp * 16, k * 2);
      for (unsigned j = 0; j < 4; j++) {
        load(fb, tiles[s % 2][1], j * 16, k * 2);
        multiply(d[2 * j], fa, fb[0], fb[2]);
        multiply(d[2 * j + 1], fa, fb[1], fb[3]);
      }
    }
    __nvvm_bar_sync(0);
  }
  for (unsigned j = 0; j < 8; j++)
    for (unsigned i = 0; i < 4; i++)
      p.c[(row + warp * 16 + lane / 4 + i / 2 * 8) * p.n + column + j * 8 + lane % 4 * 2 + i % 2] = d[j][i];
}
