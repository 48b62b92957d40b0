// Prefix sums.
#include "cuda.cuh"

// Blelloch's scan, exclusive: up the tree and down again, in shared memory.
KERNEL scan_blelloch(const u32* in, u32* out) {
  __shared__ u32 tree[512];
  u32 t = threadIdx.x, base = blockIdx.x * 512;
  tree[t] = in[base + t];
  tree[t + 256] = in[base + t + 256];
  u32 step = 1;
  for (u32 d = 256; d > 0; d /= 2, step *= 2) {
    __syncthreads();
    if (t < d) tree[step * (2 * t + 2) - 1] += tree[step * (2 * t + 1) - 1];
  }
  if (t == 0) tree[511] = 0;
  for (u32 d = 1; d < 512; d *= 2) {
    step /= 2;
    __syncthreads();
    if (t < d) {
      u32 a = step * (2 * t + 1) - 1, b = step * (2 * t + 2) - 1, left = tree[a];
      tree[a] = tree[b];
      tree[b] += left;
    }
  }
  __syncthreads();
  out[base + t] = tree[t];
  out[base + t + 256] = tree[t + 256];
}

INLINE u32 warp_scan(u32 x) {
  for (u32 d = 1; d < 32; d *= 2) {
    u32 y = shuffle_up(x, d);
    if (lane_id() >= d) x += y;
  }
  return x;
}

// The inclusive sum of a block of at most 1024 threads.
INLINE u32 block_scan(u32 x) {
  __shared__ u32 sums[32];
  u32 warp = threadIdx.x / 32, sum = warp_scan(x);
  if (lane_id() == 31) sums[warp] = sum;
  __syncthreads();
  if (warp == 0) sums[lane_id()] = warp_scan(lane_id() < blockDim.x / 32 ? sums[lane_id()] : 0);
  __syncthreads();
  return warp == 0 ? sum : sum + sums[warp - 1];
}

KERNEL scan_shuffle(const u32* in, u32* out) {
  u32 i = global_thread();
  out[i] = block_scan(in[i]);
}

// One pass over the whole array. A block adds up the states of those before it, back to the first one
// that has an inclusive sum. A state is 2 bits and a sum, in one word.
constexpr u64 kOwn = 1ull << 62, kInclusive = 2ull << 62, kSum = kOwn - 1;

INLINE u64 look(const u64* p) {
  u64 x;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(x) : "l"(p) : "memory");
  return x;
}
INLINE void publish(u64* p, u64 x) { asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(p), "l"(x) : "memory"); }

KERNEL scan_lookback(const u32* in, u32* out, u64* states, u32* ticket) {
  __shared__ u32 tile, before;
  if (threadIdx.x == 0) tile = atomic_add(ticket, 1);
  __syncthreads();
  u32 i = tile * blockDim.x + threadIdx.x, sum = block_scan(in[i]);
  if (threadIdx.x == blockDim.x - 1) {
    u32 prefix = 0;
    publish(&states[tile], (tile == 0 ? kInclusive : kOwn) | sum);
    for (u32 at = tile; at > 0;) {
      u64 state = look(&states[at - 1]);
      if (state == 0) continue;
      prefix += (u32)(state & kSum);
      if (state & kInclusive) break;
      at--;
    }
    publish(&states[tile], kInclusive | (prefix + sum));
    before = prefix;
  }
  __syncthreads();
  out[i] = before + sum;
}

// The places of the elements that pass a test, by ballots.
KERNEL compact(const u32* in, u32* out, u32* count) {
  u32 i = global_thread(), x = in[i];
  u32 votes = __nvvm_vote_ballot_sync(kAll, x % 3 == 0);
  u32 base = 0;
  if (lane_id() == 0) base = atomic_add(count, __builtin_popcount(votes));
  base = shuffle(base, 0);
  if (x % 3 == 0) out[base + __builtin_popcount(votes & ((1u << lane_id()) - 1))] = x;
}
