// Sixteen bytes at any address.
//
// A buffer is cut into vectors from its beginning, whatever its alignment; the last vector may be short. Whole vectors of
// aligned buffers are one access. Others are read piece by piece and written element by element, so that no byte beside
// them is accessed: a neighbor's part, or the next vector of a buffer that is reduced in place, may be written meanwhile.
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

// A Piece of a vector is one aligned access of kBytes bytes, or nothing.
template <int kBytes>
struct Piece {
  using Unit = typename UnitOf<kBytes>::Type;
  bool is_wanted;
  uint64_t value = 0;

  FORCE_INLINE __device__ Piece(uint64_t& at, uint64_t end, bool is_wanted) : is_wanted(is_wanted && at + kBytes <= end) {
    if (!this->is_wanted) return;
    value = *(Global<const Unit>)at;
    at += kBytes;
  }

  // Appends the piece to the top of what was read before it.
  FORCE_INLINE __device__ void append_to(unsigned __int128& v) const {
    if (is_wanted) v = v >> 8 * kBytes | (unsigned __int128)value << (128 - 8 * kBytes);
  }
};

// The vector at any address, unless it is whole and aligned. Only its first `left` bytes are read; bytes beyond them are
// undefined. The bytes are cut into at most eight pieces: of 1, 2, 4 and 8 bytes up to a multiple of 16, and of 8, 4, 2 and
// 1 from there on. All pieces are loaded before the first is used.
FORCE_INLINE __device__ Vec ld_any(uint64_t address, int64_t left) {
  const uint32_t bytes = left < kVecBytes ? (uint32_t)left : kVecBytes;
  const uint64_t end = address + bytes;
  uint64_t at = address;
  const Piece<1> up1(at, end, at & 1);
  const Piece<2> up2(at, end, at & 2);
  const Piece<4> up4(at, end, at & 4);
  const Piece<8> up8(at, end, at & 8);
  const Piece<8> down8(at, end, true);
  const Piece<4> down4(at, end, true);
  const Piece<2> down2(at, end, true);
  const Piece<1> down1(at, end, true);
  unsigned __int128 v = 0;
  up1.append_to(v), up2.append_to(v), up4.append_to(v), up8.append_to(v);
  down8.append_to(v), down4.append_to(v), down2.append_to(v), down1.append_to(v);
  v >>= 8 * (kVecBytes - bytes);
  return Vec{(uint32_t)v, (uint32_t)(v >> 32), (uint32_t)(v >> 64), (uint32_t)(v >> 96)};
}

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
