// Instructions of compute capability 9.0 for products of matrices: copies by tensor maps into shared memory (TMA), clusters
// of blocks, and products by a warpgroup (wgmma). Shared memory is given by 32-bit addresses.
#pragma once

#include "../../device/bulkcopy.cuh"
#include "../../device/mbarrier.cuh"
#include "params.cuh"

constexpr int kWarpgroup = 128; // threads that multiply together

// The block's number in its cluster.
FORCE_INLINE __device__ uint32_t cluster_rank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// A barrier of all threads of all blocks of the cluster.
FORCE_INLINE __device__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
}

// The same where nothing but fence_mbarrier_init is to be ordered: it does not wait for what the threads wrote before.
FORCE_INLINE __device__ void cluster_sync_mbarriers() {
  asm volatile("barrier.cluster.arrive.relaxed;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
}

// The last barrier of a kernel, in two halves. A thread arrives some time after its last access to other blocks' shared
// memory: the arrival waits until what the thread wrote has arrived, and not for what it writes afterwards.
class ClusterEnd {
 public:
  FORCE_INLINE __device__ void arrive() {
    if (!arrived_) asm volatile("barrier.cluster.arrive.release;" ::: "memory");
    arrived_ = true;
  }
  FORCE_INLINE __device__ void wait() {
    arrive();
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
  }

 private:
  bool arrived_ = false;
};

// Reads the thread's number again where it is used: values derived from it earlier would take registers that the mainloop
// needs.
FORCE_INLINE __device__ uint32_t reload_thread_id() {
  uint32_t id;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(id));
  return id;
}

// Returns x, which must be the same in all threads of the warp. The shuffle lets ptxas keep it in a uniform register.
FORCE_INLINE __device__ uint32_t warp_uniform(uint32_t x) {
  asm volatile("shfl.sync.idx.b32 %0, %0, 0, 31, -1;" : "+r"(x));
  return x;
}

// A barrier of the warp (__syncwarp), which orders memory accesses of its threads.
FORCE_INLINE __device__ void warp_sync() { asm volatile("bar.warp.sync 0xffffffff;" ::: "memory"); }

// A barrier of a warpgroup, which has a number of its own.
FORCE_INLINE __device__ void warpgroup_sync(uint32_t number) {
  asm volatile("bar.sync %0, %1;" ::"r"(number + 1), "n"(kWarpgroup) : "memory");
}

// Synchronizes the warp. True if `ok` is true in all of its threads.
FORCE_INLINE __device__ bool warp_all(bool ok) { return __nvvm_vote_all_sync(0xffffffff, ok); }

// Sets the registers per thread of a warpgroup: fewer, which leaves them to other warpgroups of the block, or more.
template <int kRegisters>
FORCE_INLINE __device__ void warpgroup_reg_dealloc() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
FORCE_INLINE __device__ void warpgroup_reg_alloc() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// Arrives at the mbarrier at the same address in another block of the cluster. It releases nothing that this thread wrote:
// a release at cluster scope would wait for all its writes.
FORCE_INLINE __device__ void mbarrier_arrive_remote(uint32_t barrier, uint32_t block) {
  asm volatile(
      "{\n\t.reg .b32 there;\n\t"
      "mapa.shared::cluster.u32 there, %0, %1;\n\t"
      "mbarrier.arrive.shared::cluster.b64 _, [there];\n\t}" ::"r"(barrier),
      "r"(block)
      : "memory");
}

// Prefetches a tensor map, so that the first copy by it need not wait for it.
FORCE_INLINE __device__ void prefetch_tensor_map(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// TMA load: copies the box of a tensor map at (x, y), x innermost, to shared memory. Elements outside of the tensor arrive
// as zeros. The mbarrier counts the bytes of the whole box.
FORCE_INLINE __device__ void tma_load(uint32_t to, const TensorMap& map, int32_t x, int32_t y, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(to),
      "l"(&map), "r"(barrier), "r"(x), "r"(y)
      : "memory");
}

// TMA load of a box to that address in all blocks of the cluster that are in the mask, with an mbarrier in
// each.
FORCE_INLINE __device__ void tma_load_multicast(uint16_t blocks, uint32_t to, const TensorMap& map, int32_t x, int32_t y, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, "
      "%4}], [%2], %5;" ::"r"(to),
      "l"(&map), "r"(barrier), "r"(x), "r"(y), "h"(blocks)
      : "memory");
}

// TMA store: copies the box of a tensor map at (x, y), x innermost, from shared memory, as a part of the group that this
// thread commits next. Elements outside of the tensor are left out.
FORCE_INLINE __device__ void tma_store(const TensorMap& map, int32_t x, int32_t y, uint32_t from) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map), "r"(from), "r"(x), "r"(y)
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

// Orders other instructions' writes of the accumulators before the next wgmma.
FORCE_INLINE __device__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
FORCE_INLINE __device__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Waits until at most kGroups of the committed groups are pending.
template <int kGroups>
FORCE_INLINE __device__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kGroups) : "memory");
}

// Stores four 8 x 8 matrices of 16-bit elements to shared memory: lane l gives the address of row l % 8 of matrix l / 8.
FORCE_INLINE __device__ void store_matrices(uint32_t address, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(a), "r"(b), "r"(c),
               "r"(d)
               : "memory");
}

// The same of the transposes: lane l gives the address of column l % 8 of matrix l / 8.
FORCE_INLINE __device__ void store_transposes(uint32_t address, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(a), "r"(b),
               "r"(c), "r"(d)
               : "memory");
}
