// Functions: recursive, by pointer, and those that the GPU's runtime provides.
#include "cuda.cuh"

extern "C" __device__ int printf(const char*, ...);
extern "C" __device__ void* malloc(unsigned long);
extern "C" __device__ void free(void*);
extern "C" __device__ void __assertfail(const char*, const char*, u32, const char*, u64);

// A quick sort for each thread.
__noinline__ __device__ void quicksort(u32* a, int low, int high) {
  if (low >= high) return;
  u32 pivot = a[(low + high) / 2];
  int i = low, k = high;
  while (i <= k) {
    while (a[i] < pivot) i++;
    while (a[k] > pivot) k--;
    if (i > k) break;
    u32 x = a[i];
    a[i++] = a[k];
    a[k--] = x;
  }
  quicksort(a, low, k);
  quicksort(a, i, high);
}
KERNEL sort_quick(u32* keys, u32 n) { quicksort(keys + n * global_thread(), 0, n - 1); }

// The nodes of a binary search tree below a bound, in order: left is 2 i + 1, right 2 i + 2.
__noinline__ __device__ u32 walk(const u32* tree, u32 n, u32 at, u32 bound, u32 hash) {
  if (at >= n) return hash;
  hash = walk(tree, n, 2 * at + 1, bound, hash);
  if (tree[at] >= bound) return hash;
  return walk(tree, n, 2 * at + 2, bound, hash * 31 + tree[at]);
}
KERNEL tree_walk(const u32* tree, u32 n, const u32* bounds, u32* out) {
  out[global_thread()] = walk(tree, n, 0, bounds[global_thread()], 7);
}

// Operations by pointers in a table of the module.
using Operation = u32 (*)(u32, u32);
__noinline__ __device__ u32 op_add(u32 a, u32 b) { return a + b; }
__noinline__ __device__ u32 op_mul(u32 a, u32 b) { return a * b; }
__noinline__ __device__ u32 op_rotate(u32 a, u32 b) { return a << (b & 31) | a >> (-b & 31); }
__noinline__ __device__ u32 op_power(u32 a, u32 b) {
  u32 x = 1;
  for (b &= 15; b > 0; b--) x = op_mul(x, a);
  return x;
}
__device__ Operation operations[4] = {op_add, op_mul, op_rotate, op_power};
KERNEL by_pointer(const u32* which, const u32* in, u32* out) {
  u32 i = global_thread();
  out[i] = operations[which[i] & 3](in[i], i);
}

// A list that each thread allocates, walks and frees.
struct Node {
  u32 value;
  Node* next;
};
KERNEL linked_list(const u32* in, u32* out, u32 n) {
  u32 i = global_thread(), sum = 0;
  Node* head = nullptr;
  for (u32 k = 0; k < n; k++) {
    Node* node = (Node*)malloc(sizeof(Node));
    if (node == nullptr) return;
    *node = Node{in[i * n + k], head};
    head = node;
  }
  while (head != nullptr) {
    sum = sum * 31 + head->value;
    Node* next = head->next;
    free(head);
    head = next;
  }
  out[i] = sum;
}

KERNEL prints(const u32* in) {
  if (threadIdx.x == 0) printf("block %u: %5.2f of %s, %lld\n", blockIdx.x, in[blockIdx.x] * 0.25, "quarters", -1234567890123ll);
}

KERNEL asserts(const u32* in, u32* out) {
  u32 i = global_thread();
  if (in[i] >= 1000) __assertfail("in[i] < 1000", "calls.cu", 90, "asserts", 1);
  out[i] = in[i] * 2;
}

// Variables of the module: one with initial values, one that blocks count in, and an array in local memory.
__device__ u32 launches[2] = {5, 7};
__constant__ const u32 primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
KERNEL variables(const u32* in, u32* out) {
  u32 i = global_thread(), digits[8];
  for (u32 k = 0, x = in[i]; k < 8; k++, x /= 16) digits[(k * 3 + i) % 8] = x % 16;
  u32 sum = 0;
  for (u32 k = 0; k < 8; k++) sum += digits[(in[i] >> k) % 8] * primes[(k + digits[k]) % 8];
  out[i] = sum + launches[0];
  if (threadIdx.x == 0) atomic_add(&launches[1], 1);
}
KERNEL count_launches(u32* out) { *out = launches[1]; }
