// Sixteen bytes at any address.
//
// A buffer is cut into vectors from its beginning, whatever its alignment; the last vector may be short. Whole vectors of
// aligned buffers are one access. Others are read as the two aligned vectors that they lie in, of which only those with a
// byte of the buffer are accessed, and written element by element.
#pragma once

#include "cuda.cuh"

FORCE_INLINE __device__ bool is_aligned(uint64_t address) { return address % kVecBytes == 0; }

// The number of vectors of a size, with or without a short last one. Sizes are not negative: unsigned, the division is
// one shift.
FORCE_INLINE __device__ int64_t vecs_in(int64_t bytes) { return (uint64_t)(bytes + kVecBytes - 1) / kVecBytes; }
FORCE_INLINE __device__ int64_t whole_vecs_in(int64_t bytes) { return (uint64_t)bytes / kVecBytes; }

// The vector at an aligned address.
FORCE_INLINE __device__ Vec ld(uint64_t address) { return *(Global<const Vec>)address; }

FORCE_INLINE __device__ void st(uint64_t address, Vec v) { *(Global<Vec>)address = v; }

FORCE_INLINE __device__ uint64_t pair(uint32_t low, uint32_t high) { return (uint64_t)high << 32 | low; }

// The vector at any address. `left` is how many bytes the buffer has from there on; bytes beyond them are undefined.
FORCE_INLINE __device__ Vec ld_any(uint64_t address, int64_t left) {
  const uint32_t skip = address % kVecBytes;
  const Vec low = ld(address - skip);
  Vec high = {};
  if (skip != 0 && left > kVecBytes - skip) high = ld(address - skip + kVecBytes);
  uint64_t a = pair(low.x, low.y), b = pair(low.z, low.w), c = pair(high.x, high.y);
  if (skip >= 8) a = b, b = c, c = pair(high.z, high.w);
  if (const uint32_t bits = skip % 8 * 8) {
    a = a >> bits | b << (64 - bits);
    b = b >> bits | c << (64 - bits);
  }
  return Vec{(uint32_t)a, (uint32_t)(a >> 32), (uint32_t)b, (uint32_t)(b >> 32)};
}

// UnitOf is the unsigned integer of kBytes bytes.
template <int kBytes>
struct UnitOf;
template <>
struct UnitOf<1> {
  using Type = uint8_t;
};
template <>
struct UnitOf<2> {
  using Type = uint16_t;
};
template <>
struct UnitOf<4> {
  using Type = uint32_t;
};
template <>
struct UnitOf<8> {
  using Type = uint64_t;
};

// Stores the first `left` bytes of v, at most 16, in units of kBytes bytes. The address and `left` are multiples of kBytes.
template <int kBytes>
FORCE_INLINE __device__ void st_any(uint64_t address, Vec v, int64_t left) {
  using Unit = typename UnitOf<kBytes>::Type;
  uint64_t low = pair(v.x, v.y), high = pair(v.z, v.w);
  const int units = (left < kVecBytes ? (int)left : kVecBytes) / kBytes;
#pragma nounroll
  for (int k = 0; k < units; k++) {
    ((Global<Unit>)address)[k] = (Unit)low;
    if constexpr (kBytes == 8) {
      low = high;
    } else {
      low = low >> 8 * kBytes | high << (64 - 8 * kBytes);
      high >>= 8 * kBytes;
    }
  }
}

// A Buffer is `bytes` bytes at an address.
struct Buffer {
  uint64_t address;
  int64_t bytes;
  int64_t whole; // vectors that are one access: 0 where the buffer is not aligned

  FORCE_INLINE __device__ Buffer(uint64_t address, int64_t bytes)
      : address(address), bytes(bytes), whole(is_aligned(address) ? whole_vecs_in(bytes) : 0) {}

  FORCE_INLINE __device__ Vec load(int64_t i) const {
    const uint64_t at = address + i * kVecBytes;
    return i < whole ? ld(at) : ld_any(at, bytes - i * kVecBytes);
  }

  // Stores vector i; where it is not whole and aligned, in units of kBytes bytes.
  template <int kBytes>
  FORCE_INLINE __device__ void store(int64_t i, Vec v) const {
    const uint64_t at = address + i * kVecBytes;
    if (i < whole)
      st(at, v);
    else
      st_any<kBytes>(at, v, bytes - i * kVecBytes);
  }
};

// Rows are whole vectors at an aligned address, with the interface of Buffer.
struct Rows {
  uint64_t address;
  int64_t whole; // vectors

  FORCE_INLINE __device__ Rows(uint64_t address, int64_t bytes) : address(address), whole(whole_vecs_in(bytes)) {}
  FORCE_INLINE __device__ Vec load(int64_t i) const { return ld(address + i * kVecBytes); }
  template <int>
  FORCE_INLINE __device__ void store(int64_t i, Vec v) const {
    st(address + i * kVecBytes, v);
  }
};
