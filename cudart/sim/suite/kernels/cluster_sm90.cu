// Clusters, whose blocks reach each other's shared memory.
#include "cuda.cuh"

INLINE void cluster_sync() {
  asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}
INLINE u32 cluster_rank() {
  u32 x;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(x));
  return x;
}
// The address of a shared variable in the block with a rank.
INLINE u32 in_block(const void* p, u32 rank) {
  u32 to;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"((u32)(u64)(const __attribute__((address_space(3))) void*)p), "r"(rank));
  return to;
}
INLINE float load_from(u32 address) {
  float x;
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(x) : "r"(address) : "memory");
  return x;
}

// Steps of Jacobi's method on a line that lies in the shared memory of a cluster of 4 blocks.
KERNEL jacobi_cluster(const float* in, float* out, u32 steps) {
  __shared__ float s[2][64];
  u32 t = threadIdx.x, rank = cluster_rank(), i = global_thread();
  s[0][t] = in[i];
  cluster_sync();
  for (u32 k = 0; k < steps; k++) {
    const float* now = s[k & 1];
    float left = t > 0 ? now[t - 1] : rank > 0 ? load_from(in_block(&now[63], rank - 1)) : now[t];
    float right = t < 63 ? now[t + 1] : rank < 3 ? load_from(in_block(&now[0], rank + 1)) : now[t];
    s[~k & 1][t] = 0.5f * now[t] + 0.25f * (left + right);
    cluster_sync();
  }
  out[i] = s[steps & 1][t];
}

// A histogram of 1024 bins spread over the blocks of a cluster, by atomics on distributed shared memory.
KERNEL histogram_cluster(const u32* in, u32* counts, u32 n) {
  __shared__ u32 bins[256];
  bins[threadIdx.x] = 0;
  cluster_sync();
  for (u32 i = global_thread(); i < n; i += global_threads())
    asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], 1;" ::"r"(in_block(&bins[in[i] % 256], in[i] / 256 % 4)) : "memory");
  cluster_sync();
  atomic_add(&counts[cluster_rank() * 256 + threadIdx.x], bins[threadIdx.x]);
}

// Dot products of rows that bulk copies bring into shared memory, two stages ahead; an mbarrier for each stage counts
// the bytes.
INLINE u32 shared_address(const void* p) { return (u32)(u64)(const __attribute__((address_space(3))) void*)p; }

KERNEL dot_bulk(const float* rows, const float* x, float* out, u32 count) {
  __shared__ __attribute__((aligned(128))) float stage[2][256];
  __shared__ u64 full[2];
  __shared__ float sums[8];
  u32 t = threadIdx.x;
  auto fetch = [&](u32 row) {
    u32 to = shared_address(stage[row & 1]), barrier = shared_address(&full[row & 1]);
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" ::"r"(barrier) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 1024, [%2];"
                 ::"r"(to), "l"(rows + 256 * row), "r"(barrier) : "memory");
  };
  if (t == 0) {
    for (u32 k = 0; k < 2; k++) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full[k])) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    fetch(0);
    fetch(1);
  }
  __syncthreads();
  for (u32 row = 0; row < count; row++) {
    u32 done = 0;
    while (!done)
      asm volatile("{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\tselp.u32 %0, 1, 0, p;\n\t}"
                   : "=r"(done) : "r"(shared_address(&full[row & 1])), "r"(row / 2 & 1) : "memory");
    float sum = stage[row & 1][t] * x[t];
    for (u32 d = 16; d > 0; d /= 2) sum += shuffle_xor(sum, d);
    if (t % 32 == 0) sums[t / 32] = sum;
    __syncthreads();
    if (t == 0) {
      for (u32 w = 1; w < 8; w++) sum += sums[w];
      out[row] = sum;
      if (row + 2 < count) fetch(row + 2);
    }
    __syncthreads();
  }
}
