// The epilogue of a product whose rows and columns have changed places (Transposed in exchange.cuh): a tile's columns are
// rows of C.
//
// A part is staged as the box of the tensor map of C: kColumns rows of kPartRows elements, swizzled by 128 bytes, so that
// neither the transposes that are stored nor the vectors that are read meet in a bank.
#pragma once

#include "fragments.cuh"
#include "shared_layout.cuh"

constexpr int kVecsOfPart = kPartRows / kPerVec; // of a row of C that a part has
static_assert(kPartRows * kElementBytes == 128);

// Where the first row of a part is staged.
template <int kColumns>
FORCE_INLINE __device__ uint32_t staged_transpose(SharedLayout<kColumns> at, uint32_t part) {
  return at.staged_row(0) + part * kColumns * kPartRows * kElementBytes;
}

// The offset of a vector of a staged row.
FORCE_INLINE __device__ uint32_t swizzled_vec(uint32_t row, uint32_t vec) {
  return (row * kVecsOfPart + (vec ^ row % kVecsOfPart)) * kVecBytes;
}

// Rounds a warpgroup's sums into shared memory, and transposes them.
template <typename T, int kColumns>
FORCE_INLINE __device__ void stage_transposes(SharedLayout<kColumns> at, uint32_t part, const float (&sums)[kColumns / 2]) {
  const uint32_t thread = reload_thread_id() % kWarpgroup, warp = thread / 32, matrix = thread % 32 / 8;
  const uint32_t corner = staged_transpose(at, part) + swizzled_vec(thread % 8 + matrix / 2 * 8, warp * 2 + matrix % 2);
#pragma unroll
  for (int c = 0; c < kColumns; c += 16) {
    const float* s = sums + c / 2;
    store_transposes(corner + c * kVecsOfPart * kVecBytes, rounded_pair(T{}, s[0], s[1]), rounded_pair(T{}, s[2], s[3]),
                     rounded_pair(T{}, s[4], s[5]), rounded_pair(T{}, s[6], s[7]));
  }
}

// Stores a part to C, by the threads of the warpgroup that has staged it.
template <int kColumns, typename Exchange>
FORCE_INLINE __device__ void store_own_transpose(const Exchange& exchange, SharedLayout<kColumns> at, const Tile& t, uint32_t part) {
  constexpr int kRowsAtATime = kWarpgroup / kVecsOfPart;
  const int32_t thread = reload_thread_id() % kWarpgroup, vec = thread % kVecsOfPart, first = thread / kVecsOfPart;
  const int32_t rows = exchange.p.n - t.column;
  warpgroup_sync(part);
  if (vec * kPerVec >= rows_of(t, part)) return;
  const uint64_t to = exchange.p.c + ((t.column + first) * exchange.p.m + t.row + part * kPartRows + vec * kPerVec) * kElementBytes;
  const uint32_t from = staged_transpose(at, part) + swizzled_vec(first, vec);
#pragma unroll 4
  for (int row = 0; row < kColumns; row += kRowsAtATime)
    if (first + row < rows) st(to + row * exchange.p.m * kElementBytes, ld_shared(from + row * kVecsOfPart * kVecBytes));
}

// Stores a staged part to C, by one thread.
template <int kColumns>
FORCE_INLINE __device__ void store_transpose(const MatmulParams& p, SharedLayout<kColumns> at, const Tile& t, uint32_t part) {
  if (rows_of(t, part) > 0) tma_store(p.map_c, t.row + part * kPartRows, t.column, staged_transpose(at, part));
}
