// Tiles of a block in shared memory, and bulk copies of them to global memory of any GPU. sm_90 and up.
#pragma once

#include "sum.cuh"

constexpr int kTile = 128; // floats, one for each thread

// The address within shared memory.
inline __device__ unsigned shared_address(const void* at) {
  return (unsigned)(size_t)(__attribute__((address_space(3))) const char*)at;
}

// Orders stores to shared memory before bulk copies that read it.
inline __device__ void fence_tile() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Begins to store a tile. One thread calls it.
inline __device__ void store_tile(float* to, const float* tile) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared_address(tile)),
               "r"(4 * kTile)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Waits until all tiles of this thread have been loaded from shared memory, which may be written again.
inline __device__ void wait_until_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }

// Waits until all tiles of this thread are in global memory.
inline __device__ void wait_until_written() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
