// Kernels for the simulator's tests. kernels.ptx is made from this file by
// `go generate ./cudart/sim/exec`.

#define KERNEL extern "C" __attribute__((global)) void
#define SHARED __attribute__((shared))

typedef float float4v __attribute__((ext_vector_type(4)));

static __attribute__((device)) int threadIndex() {
  return __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x();
}

static __attribute__((device)) int threadCount() {
  return __nvvm_read_ptx_sreg_nctaid_x() * __nvvm_read_ptx_sreg_ntid_x();
}

struct VectorAdd {
  const float *a, *b;
  float *out;
  int n;
};

KERNEL vector_add(VectorAdd p) {
  for (int i = threadIndex(); i < p.n; i += threadCount()) p.out[i] = p.a[i] + p.b[i];
}

// The inner loop of an allreduce: 16-byte loads from every rank's buffer,
// sums in rank order, a 16-byte store.
struct ReduceRanks {
  const float4v *in[8];
  float4v *out;
  int n;
  int ranks;
};

template <int Ranks>
static __attribute__((device, always_inline)) void reduceRanks(const ReduceRanks &p) {
  for (int i = threadIndex(); i < p.n; i += threadCount()) {
    float4v sum = p.in[0][i];
#pragma unroll
    for (int r = 1; r < Ranks; r++) sum += p.in[r][i];
    p.out[i] = sum;
  }
}

KERNEL reduce_4(ReduceRanks p) { reduceRanks<4>(p); }
KERNEL reduce_8(ReduceRanks p) { reduceRanks<8>(p); }

KERNEL reduce_n(ReduceRanks p) {
  for (int i = threadIndex(); i < p.n; i += threadCount()) {
    float4v sum = p.in[0][i];
    for (int r = 1; r < p.ranks; r++) sum += p.in[r][i];
    p.out[i] = sum;
  }
}

// Block-wide sum through shared memory, then one atomic per block.
struct BlockSum {
  const unsigned *in;
  unsigned *out;
  int n;
};

KERNEL block_sum(BlockSum p) {
  SHARED static unsigned partial[256];
  int t = __nvvm_read_ptx_sreg_tid_x();
  unsigned sum = 0;
  for (int i = threadIndex(); i < p.n; i += threadCount()) sum += p.in[i];
  partial[t] = sum;
  __nvvm_barrier_sync(0);
  for (int half = __nvvm_read_ptx_sreg_ntid_x() / 2; half > 0; half /= 2) {
    if (t < half) partial[t] += partial[t + half];
    __nvvm_barrier_sync(0);
  }
  if (t == 0) __nvvm_atom_add_gen_i((int *)p.out, partial[0]);
}

// Two processes hand a counter back and forth: rank 0 makes it odd, rank 1
// even. Both add to a shared total as they go.
struct PingPong {
  unsigned *flag;
  unsigned long long *total;
  unsigned rank, rounds;
};

KERNEL ping_pong(PingPong p) {
  for (unsigned i = 0; i < p.rounds; i++) {
    unsigned want = 2 * i + p.rank, seen;
    do asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(p.flag) : "memory");
    while (seen != want);
    *p.total += i;
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(p.flag), "r"(want + 1) : "memory");
  }
  for (unsigned i = 0; i < p.rounds; i++)
    asm volatile("red.relaxed.sys.global.add.u64 [%0], %1;" ::"l"(p.total + 1), "l"(1ull) : "memory");
}

// Spins until the host or a peer writes 1.
KERNEL wait_for_flag(unsigned *flag) {
  unsigned seen;
  do asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
  while (seen != 1);
}

static __attribute__((device)) unsigned counter = 41;

KERNEL use_variables(unsigned *out) { *out = ++counter; }

// A switch that becomes an indexed branch, with a different case per lane.
KERNEL switch_lanes(int *out) {
  int t = __nvvm_read_ptx_sreg_tid_x(), v = out[t];
  switch (v) {
    case 0: v = out[t + 32] * 3; break;
    case 1: v = out[t + 32] + 5; break;
    case 2: v = out[t + 32] ^ 7; break;
    case 3: v = out[t + 32] - 9; break;
    case 4: v = out[t + 32] / 3; break;
    case 5: v = out[t + 32] % 5; break;
    default: v = -1;
  }
  out[t] = v;
}
