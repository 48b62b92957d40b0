// The exchange Transposed: a local product with its operands exchanged. It multiplies the transposes, C^T = B^T x A^T, for an
// A of few rows.
//
// A cluster of wgmma.cu multiplies 256 rows by some columns. An A of 64 rows would leave three quarters of these rows empty.
// The columns of B are many, and become the rows; the rows of A become the columns.
//
// Parameters: those of MatmulParams with a and b exchanged, and m and n. So b is the caller's A, m the columns of its C, and
// n the rows. C itself keeps its layout. The caller's columns are a multiple of 8: rows of C are aligned for bulk copies.
#pragma once

#include "exchange.cuh"

template <typename T, int kRows, int kColumns, int kPartRows>
struct Transposed : Product<T, kRows, kColumns, kPartRows> {
  static constexpr bool kTransposes = true;
  FORCE_INLINE __device__ explicit Transposed(const MatmulParams& p) : Product<T, kRows, kColumns, kPartRows>(p) {}
};
