// Threads that wait for, hand over to, or compete with others: what needs the memory model.
#include "cuda.cuh"

INLINE u32 acquire(const u32* p) {
  u32 x;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(x) : "l"(p) : "memory");
  return x;
}
INLINE void release(u32* p, u32 x) { asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(x) : "memory"); }

// A hash table with open addressing: keys by compare-and-swap, and how often each one came. 0 is an empty place.
KERNEL hash_table(const u32* keys, u32* table, u32* counts, u32 size) {
  u32 key = keys[global_thread()];
  for (u32 at = key * 2654435761u % size;; at = (at + 1) % size) {
    u32 was = atomic_cas(&table[at], 0, key);
    if (was != 0 && was != key) continue;
    atomic_add(&counts[at], 1);
    return;
  }
}

// The components of a graph: an edge hangs the larger root below the smaller one, until both ends have one root.
KERNEL components(const u32* from, const u32* to, u32* parent) {
  volatile u32* above = parent;
  u32 a = from[global_thread()], b = to[global_thread()];
  for (;;) {
    while (above[a] != a) a = above[a];
    while (above[b] != b) b = above[b];
    if (a == b) return;
    u32 low = a < b ? a : b, high = a ^ b ^ low;
    if (atomic_cas(&parent[high], high, low) == high) return;
  }
}
KERNEL roots(const u32* parent, u32* root) {
  u32 a = global_thread();
  while (parent[a] != a) a = parent[a];
  root[global_thread()] = a;
}

// Blocks take tasks from a queue and append new ones: a task n has the tasks n/2 and n/3. The last one to finish a task
// ends the kernel: `open` counts the tasks that are not finished.
KERNEL work_queue(u32* tasks, u32* ready, u32* head, u32* tail, u32* open, u64* sum) {
  if (threadIdx.x != 0) return;
  for (;;) {
    u32 at = atomic_add(head, 1);
    while (acquire(&ready[at]) == 0)
      if (acquire(open) == 0) return;
    u32 task = tasks[at];
    __nvvm_atom_add_gen_ll((long long*)sum, (u64)task * task);
    for (u32 k = 2; k <= 3; k++) {
      if (task / k == 0) continue;
      atomic_add(open, 1);
      u32 place = atomic_add(tail, 1);
      tasks[place] = task / k;
      release(&ready[place], 1);
    }
    __threadfence();
    atomic_add(open, -1);
  }
}

// Each block adds to all elements what the block before it has stored, and raises its flag. A block's number is that
// of its start, so that the one before it runs.
KERNEL chain(u32* rows, u32* flags, u32* started) {
  __shared__ u32 number;
  if (threadIdx.x == 0) number = atomic_add(started, 1);
  __syncthreads();
  u32 t = threadIdx.x, n = blockDim.x, *mine = rows + number * n;
  if (number > 0) {
    if (t == 0)
      while (acquire(&flags[number - 1]) == 0) {
      }
    __syncthreads();
    mine[t] += 3 * (mine - n)[n - 1 - t];
  }
  __syncthreads();
  if (t == 0) release(&flags[number], 1);
}

// Peterson's lock for two blocks, which needs sequentially consistent fences.
KERNEL peterson(volatile u32* wants, volatile u32* turn, volatile u32* count, u32 times) {
  u32 me = blockIdx.x, other = 1 - me;
  for (u32 k = 0; k < times; k++) {
    wants[me] = 1;
    *turn = other;
    asm volatile("fence.sc.gpu;" ::: "memory");
    while (wants[other] && *turn == other) {
    }
    asm volatile("fence.sc.gpu;" ::: "memory");
    *count = *count + 1;
    asm volatile("fence.sc.gpu;" ::: "memory");
    wants[me] = 0;
  }
}

// One warp fills two buffers in shared memory in turns, another one takes from them: four named barriers say which
// are full, and which are empty.
KERNEL producer_consumer(const u32* in, u32* out, u32 steps) {
  __shared__ u32 buffer[2][32];
  u32 lane = lane_id(), sum = 0;
  for (u32 k = 0; k < steps; k++) {
    u32 full = 1 + (k & 1), empty = 3 + (k & 1);
    if (threadIdx.x < 32) {
      if (k >= 2) asm volatile("bar.sync %0, 64;" ::"r"(empty) : "memory");
      buffer[k & 1][lane] = in[32 * k + lane];
      asm volatile("bar.arrive %0, 64;" ::"r"(full) : "memory");
    } else {
      asm volatile("bar.sync %0, 64;" ::"r"(full) : "memory");
      sum = sum * 5 + buffer[k & 1][31 - lane];
      if (k + 2 < steps) asm volatile("bar.arrive %0, 64;" ::"r"(empty) : "memory");
    }
  }
  if (threadIdx.x >= 32) out[lane] = sum;
}

// Lanes of one warp that wait for each other: lane i goes on when lane i + 1 has gone on.
KERNEL lanes_in_turn(u32* order, u32* turn) {
  u32 lane = lane_id();
  while (*(volatile u32*)turn != 31 - lane) {
  }
  order[31 - lane] = lane * lane;
  __threadfence();
  *(volatile u32*)turn = 32 - lane;
}

// Floyd and Warshall's shortest paths between 32 nodes, in shared memory, with 1024 threads.
KERNEL shortest_paths(u32* distance) {
  __shared__ u32 s[32][32];
  u32 x = threadIdx.x % 32, y = threadIdx.x / 32;
  s[y][x] = distance[threadIdx.x];
  __syncthreads();
  for (u32 k = 0; k < 32; k++) {
    u32 through = s[y][k] + s[k][x];
    __syncthreads();
    if (through < s[y][x]) s[y][x] = through;
    __syncthreads();
  }
  distance[threadIdx.x] = s[y][x];
}

// 96 KB of dynamic shared memory, written in one order and read in another one.
KERNEL large_shared(const u32* in, u32* out, u32 n) {
  extern __shared__ u32 s[];
  for (u32 i = threadIdx.x; i < n; i += blockDim.x) s[i * 7 % n] = in[i];
  __syncthreads();
  for (u32 i = threadIdx.x; i < n; i += blockDim.x) out[i] = s[i];
}

// The SHA-256 of 55 bytes a thread, which fit one chunk.
INLINE u32 rotate(u32 x, u32 n) { return x >> n | x << (32 - n); }
__constant__ const u32 kRounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
KERNEL sha256(const u8* in, u32* out) {
  u32 w[16] = {};
  const u8* text = in + 55 * global_thread();
  for (u32 i = 0; i < 56; i++) w[i / 4] |= (u32)(i < 55 ? text[i] : 0x80) << (24 - i % 4 * 8);
  w[15] = 55 * 8;
  const u32 start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  u32 v[8];
  for (u32 i = 0; i < 8; i++) v[i] = start[i];
#pragma unroll 1
  for (u32 i = 0; i < 64; i++) {
    u32 a = w[(i + 1) % 16], b = w[(i + 14) % 16], now = w[i % 16];
    w[i % 16] += (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[(i + 9) % 16] + (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    u32 t = v[7] + (rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25)) + ((v[4] & v[5]) ^ (~v[4] & v[6])) + kRounds[i] + now;
    u32 u = (rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22)) + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
    for (u32 k = 7; k > 0; k--) v[k] = v[k - 1];
    v[4] += t;
    v[0] = t + u;
  }
  for (u32 i = 0; i < 8; i++) out[8 * global_thread() + i] = start[i] + v[i];
}
