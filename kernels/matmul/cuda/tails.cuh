// Boxes of operands that end where the matrix does. A copy by TMA takes much longer where its box has rows beyond the matrix
// (kernels/NOTES.md). So the last rows of A, and the last columns of B of a transposed product, which are rows of C, are copied
// by tensor maps with smaller boxes. The rest of a stage is made zeros once, and any numbers later: what it is multiplied to is
// not stored.
#pragma once

#include "hopper.cuh"

// How many of `size` rows are within a matrix that has `left` more, which may be negative.
FORCE_INLINE __device__ int32_t rows_within(int32_t left, int32_t size) { return left <= 0 ? 0 : left < size ? left : size; }

// Makes the shared memory between two addresses zeros, multiples of 16, by so many threads.
FORCE_INLINE __device__ void clear_shared(uint32_t from, uint32_t to, uint32_t thread, uint32_t threads) {
#pragma nounroll
  for (uint32_t at = from + thread * kVecBytes; at < to; at += threads * kVecBytes) st_shared(at, Vec{});
}
