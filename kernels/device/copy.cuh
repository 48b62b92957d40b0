// Copies between buffers of any alignment, shared by the blocks of the grid.
#pragma once

#include "vector.cuh"

// Calls put(i, vector) for every vector i of [begin, end) of a buffer, with four loads of a thread in flight.
template <typename Put>
FORCE_INLINE __device__ void each_vec(const Buffer& from, int64_t begin, int64_t end, Put put) {
  constexpr int kInFlight = 4;
  const int64_t step = grid_blocks() * block_threads();
  int64_t i = begin + block_id() * block_threads() + thread_id();
  const int64_t whole = from.whole < end ? from.whole : end;
  for (; i + (kInFlight - 1) * step < whole; i += kInFlight * step) {
    Vec v[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; k++) v[k] = ld(from.address + (i + k * step) * kVecBytes);
#pragma unroll
    for (int k = 0; k < kInFlight; k++) put(i + k * step, v[k]);
  }
#pragma nounroll
  for (; i < end; i += step) put(i, from.load(i));
}

// Stores vector i of a buffer of any element type: whole where the buffer is aligned to vectors, else by 32-bit words
// where address and length allow it, else by bytes.
FORCE_INLINE __device__ void store_bytes(const Buffer& to, int64_t i, Vec v) {
  const uint64_t at = to.address + i * kVecBytes;
  const int64_t left = to.bytes - i * kVecBytes;
  if (i < to.whole)
    st(at, v);
  else if ((at | left) % sizeof(uint32_t) == 0)
    st_any<4>(at, v, left);
  else
    st_any<1>(at, v, left);
}
