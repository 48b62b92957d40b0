// The instructions of bulk copies between shared memory, by its 32-bit addresses, and
// global memory of any GPU. Addresses and sizes are multiples of kVecBytes. sm_90 and up.
#pragma once

#include "cuda.cuh"

// Loads bytes to shared memory. The mbarrier counts them.
FORCE_INLINE __device__ void bulk_load(uint32_t to, uint64_t from, uint32_t bytes, uint32_t barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
}

// Stores bytes from shared memory, as a part of the group that this thread commits next.
FORCE_INLINE __device__ void bulk_store(uint64_t to, uint32_t from, uint32_t bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from), "r"(bytes) : "memory");
}

FORCE_INLINE __device__ void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// Waits until at most kGroups of this thread's committed groups still read shared memory.
template <int kGroups>
FORCE_INLINE __device__ void bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kGroups) : "memory");
}

// Waits until all of this thread's committed groups have been written, and this thread sees it.
FORCE_INLINE __device__ void bulk_wait_written() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

