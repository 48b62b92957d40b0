// Sums and histograms.
#include "cuda.cuh"

INLINE float warp_sum(float x) {
  for (u32 d = 16; d > 0; d /= 2) x += shuffle_xor(x, d);
  return x;
}

// The sum of a block of 256 threads, in an order that is always the same.
INLINE float block_sum(float x) {
  __shared__ float sums[8];
  x = warp_sum(x);
  if (lane_id() == 0) sums[threadIdx.x / 32] = x;
  __syncthreads();
  if (threadIdx.x == 0)
    for (u32 w = 1; w < 8; w++) x += sums[w];
  __syncthreads();
  return x;
}

KERNEL reduce_shuffle(const float* in, float* out) {
  float sum = block_sum(in[global_thread()]);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

// The block that takes the last ticket adds up what the others have stored before their fences.
KERNEL reduce_ticket(const float* in, volatile float* partial, float* out, u32* ticket) {
  __shared__ bool last;
  float sum = block_sum(in[global_thread()]);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
    __threadfence();
    last = atomic_add(ticket, 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (!last) return;
  sum = block_sum(threadIdx.x < gridDim.x ? partial[threadIdx.x] : 0);
  if (threadIdx.x == 0) *out = sum;
}

// Halves of the array in dynamic shared memory, doubles.
KERNEL reduce_tree(const double* in, double* out) {
  extern __shared__ double tree[];
  tree[threadIdx.x] = in[global_thread()];
  for (u32 d = blockDim.x / 2; d > 0; d /= 2) {
    __syncthreads();
    if (threadIdx.x < d) tree[threadIdx.x] += tree[threadIdx.x + d];
  }
  if (threadIdx.x == 0) out[blockIdx.x] = tree[0];
}

// The reductions that a warp has as instructions, and votes.
KERNEL warp_reductions(const u32* in, u32* out) {
  u32 i = global_thread(), x = in[i];
  u32 half_warp = lane_id() < 16 ? 0xffff : 0xffff0000;
  out[8 * i + 0] = __nvvm_redux_sync_add(x, half_warp);
  out[8 * i + 1] = __nvvm_redux_sync_umax(x, half_warp);
  out[8 * i + 2] = __nvvm_redux_sync_min(x, kAll);
  out[8 * i + 3] = __nvvm_redux_sync_xor(x, kAll);
  out[8 * i + 4] = __nvvm_match_any_sync_i32(kAll, x % 5);
  out[8 * i + 5] = __nvvm_vote_ballot_sync(kAll, x & 4);
  out[8 * i + 6] = __nvvm_vote_all_sync(half_warp, x & 255) * 2 + __nvvm_vote_any_sync(half_warp, (x & 255) == 0);
  out[8 * i + 7] = __nvvm_activemask();
}

// Counts of bytes: in shared memory for each block, then in global memory.
KERNEL histogram_shared(const u32* in, u32* counts, u32 words) {
  __shared__ u32 mine[256];
  mine[threadIdx.x] = 0;
  __syncthreads();
  for (u32 i = global_thread(); i < words; i += global_threads())
    for (u32 x = in[i], k = 0; k < 4; k++, x >>= 8) atomic_add(&mine[x & 255], 1);
  __syncthreads();
  atomic_add(&counts[threadIdx.x], mine[threadIdx.x]);
}

// One addition for all lanes of a warp with the same key, which match finds.
KERNEL histogram_match(const u32* in, u32* counts) {
  u32 key = in[global_thread()] % 7;
  u32 peers = __nvvm_match_any_sync_i32(kAll, key);
  if (lane_id() == (u32)__builtin_ctz(peers)) atomic_add(&counts[key], __builtin_popcount(peers));
}

// A lock in global memory, taken by one lane after the other, protects a sum that is not atomic.
KERNEL lock(u32* mutex, u64* sum, const u32* in) {
  u32 x = in[global_thread()];
  for (bool done = false; !done;) {
    if (atomic_cas(mutex, 0, 1) == 0) {
      __threadfence();
      *(volatile u64*)sum = *(volatile u64*)sum * 3 + x - *(volatile u64*)sum * 2;
      __threadfence();
      atomic_exchange(mutex, 0);
      done = true;
    }
  }
}

// Atomics of all kinds on one word each, with results that no order changes.
KERNEL atomics(u32* u, u64* w, float* f, const u32* in) {
  u32 x = in[global_thread()];
  atomic_add(&u[0], x);
  __nvvm_atom_max_gen_ui(&u[1], x);
  __nvvm_atom_min_gen_ui(&u[2], x);
  __nvvm_atom_and_gen_i((int*)&u[3], x | 0xff00ff);
  __nvvm_atom_or_gen_i((int*)&u[4], x & 0xff00ff);
  __nvvm_atom_xor_gen_i((int*)&u[5], x);
  __nvvm_atom_inc_gen_ui(&u[6], 99);
  __nvvm_atom_dec_gen_ui(&u[7], 76);
  __nvvm_atom_add_gen_ll((long long*)&w[0], (u64)x * x);
  __nvvm_atom_max_gen_ull(&w[1], (u64)x * 0x100000001);
  __nvvm_atom_add_gen_f(f, x % 16);
  u32 old = u[8];
  for (u32 seen;; old = seen) // a product, modulo 2^32
    if ((seen = atomic_cas(&u[8], old, old * (x | 1))) == old) break;
}
