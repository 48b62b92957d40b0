// Reductions through the multicast address: NVLink SHARP (NVLS).
#pragma once

#include "multimem.cuh"
#include "part.cuh"
#include "reduce.cuh"

// InSwitch is the operation that the switch does for Op.
template <typename Op>
struct InSwitch {
  using Type = Op;
};
template <>
struct InSwitch<Avg> {
  using Type = Sum;
};

// The reduction of the vector at an offset over all ranks.
template <typename T, typename Op>
FORCE_INLINE __device__ Vec reduce_in_switch(const Params& p, int64_t offset) {
  const Vec v = load_reduce<T, typename InSwitch<Op>::Type>(p.multicast + offset);
  if constexpr (!__is_same(Op, Avg)) return v;
  Partial<T, Vec> sum(v);
  sum.finish(Avg{}, p.world);
  return sum.rounded();
}

// Reduces part `part` of `parts` of the data at `offset`. Whole vectors are loaded through the multicast address and
// passed to store_vec(i, vector). The rest is loaded by elements from every rank and passed to store_element(i, bits).
template <typename T, typename Op, typename StoreVec, typename StoreElement>
FORCE_INLINE __device__ void multicast_reduce(const Params& p, int64_t offset, uint32_t part, uint32_t parts,
                                              StoreVec store_vec, StoreElement store_element) {
  using Bits = typename T::Bits;
  const int64_t first = block_id() * block_threads() + thread_id(), step = grid_blocks() * block_threads();
  const int64_t vecs = is_aligned(offset) && is_aligned(p.recv_offset) ? p.bytes / kVecBytes : 0;
  const Range own = part_of(vecs, 1, part, parts);
  fence_alias();
  for (int64_t i = own.begin + first; i < own.end; i += step)
    store_vec(i, reduce_in_switch<T, Op>(p, offset + i * kVecBytes));

  const int64_t in_vecs = vecs * (kVecBytes / sizeof(Bits));
  const Range rest = part_of(p.bytes / sizeof(Bits) - in_vecs, 1, part, parts);
  for (int64_t i = in_vecs + rest.begin + first; i < in_vecs + rest.end; i += step) {
    const auto element = [&](uint32_t r) { return ((Global<const Bits>)(p.peers[r] + offset))[i]; };
    store_element(i, reduce_loaded<T, Op, 0>(p, element).rounded());
  }
  fence_alias(); // orders accesses by the multicast address before the next barrier
}

// Entry points for the operations that the hardware has for the element type:
// sums of all, averages where dividing the sum does not round a second time
// (WITH_AVG), and extrema of integers and short floats (WITH_EXTREMA).
#ifdef WITH_AVG
#define MULTIMEM_AVG(kernel) ENTRY(kernel##_avg, (kernel<ELEMENT, Avg>))
#else
#define MULTIMEM_AVG(kernel)
#endif

#ifdef WITH_EXTREMA
#define MULTIMEM_EXTREMA(kernel)              \
  ENTRY(kernel##_min, (kernel<ELEMENT, Min>)) \
  ENTRY(kernel##_max, (kernel<ELEMENT, Max>))
#else
#define MULTIMEM_EXTREMA(kernel)
#endif

#define MULTIMEM_REDUCTIONS(kernel)           \
  ENTRY(kernel##_sum, (kernel<ELEMENT, Sum>)) \
  MULTIMEM_AVG(kernel)                        \
  MULTIMEM_EXTREMA(kernel)
