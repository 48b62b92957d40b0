// Barriers in shared memory that count arrivals and the bytes of asynchronous copies
// (PTX ISA, "mbarrier"). Shared memory is given by 32-bit addresses. sm_90 and up.
#pragma once

#include "cuda.cuh"

// A phase of an mbarrier ends after `arrivals` arrivals and when all expected bytes have arrived. Phases alternate
// between parity 0 and 1.
FORCE_INLINE __device__ void mbarrier_init(uint32_t barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// Makes the initial state of mbarriers visible to the cluster and to asynchronous copies.
FORCE_INLINE __device__ void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

FORCE_INLINE __device__ void mbarrier_expect(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

FORCE_INLINE __device__ void mbarrier_arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Waits until the phase of that parity has ended.
FORCE_INLINE __device__ void mbarrier_wait(uint32_t barrier, uint32_t parity) {
  uint32_t done;
  do {
    asm volatile(
        "{\n\t.reg .pred ended;\n\t"
        "mbarrier.try_wait.parity.shared::cta.b64 ended, [%1], %2;\n\t"
        "selp.u32 %0, 1, 0, ended;\n\t}"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
  } while (done == 0);
}

// The same, and acquires what other blocks of the cluster have stored asynchronously.
FORCE_INLINE __device__ void mbarrier_wait_cluster(uint32_t barrier, uint32_t parity) {
  uint32_t done;
  do {
    asm volatile(
        "{\n\t.reg .pred ended;\n\t"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 ended, [%1], %2;\n\t"
        "selp.u32 %0, 1, 0, ended;\n\t}"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
  } while (done == 0);
}

// Orders this thread's earlier loads and stores before asynchronous copies that are issued later, by itself or by a
// thread that it synchronizes with.
FORCE_INLINE __device__ void fence_async_proxy() { asm volatile("fence.proxy.async;" ::: "memory"); }

// The same for shared memory alone: a tenth of the time.
FORCE_INLINE __device__ void fence_async_proxy_shared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
