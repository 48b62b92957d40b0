// What compute capability 9.0 has for products of matrices: copies of tiles of
// tensors into shared memory (TMA), clusters of blocks, and products by four warps at
// a time (wgmma). Shared memory goes by its 32-bit addresses.
#pragma once

#include "../device/bulkcopy.cuh"
#include "../device/mbarrier.cuh"
#include "params.cuh"

constexpr int kWarpgroup = 128; // threads that multiply together

// The block's number in its cluster.
FORCE_INLINE __device__ uint32_t cluster_rank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// All threads of all blocks of the cluster meet.
FORCE_INLINE __device__ void cluster_meet() {
  asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
}

// The thread's number, read when it is asked for: what follows from it is not worked out
// before, to fill registers that a loop before needs for its sums.
FORCE_INLINE __device__ uint32_t thread_id_late() {
  uint32_t id;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(id));
  return id;
}

FORCE_INLINE __device__ uint32_t lane_id() { return thread_id() % 32; }

// What is the same for all threads of the warp, told so that compilers know it, and keep what follows from it in registers of
// the warp.
FORCE_INLINE __device__ uint32_t of_warp(uint32_t x) {
  asm volatile("shfl.sync.idx.b32 %0, %0, 0, 31, -1;" : "+r"(x));
  return x;
}

// All threads of the warp meet, and see what any of them has seen.
FORCE_INLINE __device__ void warp_meet() { asm volatile("bar.warp.sync 0xffffffff;" ::: "memory"); }

// Whether it is so for all threads of the warp, which meet.
FORCE_INLINE __device__ bool warp_all(bool so) { return __nvvm_vote_all_sync(0xffffffff, so); }

// A warpgroup's registers per thread go to other warpgroups of the block, or come
// from them.
template <int kRegisters>
FORCE_INLINE __device__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
FORCE_INLINE __device__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// Arrives at the barrier at the same place in another block of the cluster. Nothing that
// this thread wrote goes with it: a scope of the cluster would make it wait for all that
// it has written.
FORCE_INLINE __device__ void mbarrier_arrive_remote(uint32_t barrier, uint32_t block) {
  asm volatile(
      "{\n\t.reg .b32 there;\n\t"
      "mapa.shared::cluster.u32 there, %0, %1;\n\t"
      "mbarrier.arrive.shared::cluster.b64 _, [there];\n\t}" ::"r"(barrier),
      "r"(block)
      : "memory");
}

// Copies the box of a tensor map at those coordinates, the innermost first, to shared
// memory. What lies outside of the tensor arrives as zeros. The barrier gets the
// bytes of the whole box.
FORCE_INLINE __device__ void copy_box(uint32_t to, const TensorMap& map, int32_t x, int32_t y, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(to),
      "l"(&map), "r"(barrier), "r"(x), "r"(y)
      : "memory");
}

// The same to that place in all blocks of the cluster in the mask, to their barriers.
FORCE_INLINE __device__ void copy_box_to(uint16_t blocks, uint32_t to, const TensorMap& map, int32_t x, int32_t y, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, "
      "%4}], [%2], %5;" ::"r"(to),
      "l"(&map), "r"(barrier), "r"(x), "r"(y), "h"(blocks)
      : "memory");
}

// The descriptor of a tile in shared memory whose rows are 128 bytes of k, swizzled in
// groups of eight rows (PTX ISA, "Matrix Descriptor Format"). The next 16 elements
// of k are 32 bytes on.
FORCE_INLINE __device__ uint64_t tile_descriptor(uint32_t address) {
  constexpr uint64_t kGroupOfRows = 8 * 128, kSwizzle128 = 1;
  return (address & 0x3ffff) >> 4 | (uint64_t)1 << 16 | kGroupOfRows >> 4 << 32 | kSwizzle128 << 62;
}
constexpr uint64_t kNextK = 32 >> 4; // of a descriptor

// The warpgroup's accumulators were written by other instructions.
FORCE_INLINE __device__ void products_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
FORCE_INLINE __device__ void products_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Waits until at most so many of the committed groups are under way.
template <int kGroups>
FORCE_INLINE __device__ void products_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kGroups) : "memory");
}

// Four warps' stores of 8 x 8 elements of 16 bits: lane l gives the address of row l % 8 of
// matrix l / 8.
FORCE_INLINE __device__ void store_matrices(uint32_t address, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(a), "r"(b), "r"(c),
               "r"(d)
               : "memory");
}
