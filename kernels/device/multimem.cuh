// Multicast: one address for the memory at the same offset on every rank (a multicast object of the driver).
//
// multimem.ld_reduce loads from all ranks, and the switch reduces. multimem.st stores to all ranks. multimem.red reduces into
// the memory of all ranks. The switch chooses the order of the additions.
//
// The multicast address aliases memory that also has a unicast address: fence.proxy.alias must stand between accesses by one
// and by the other (PTX ISA, "Proxies").
#pragma once

#include "barrier.cuh"
#include "ops.cuh"
#include "types.cuh"
#include "vector.cuh"

FORCE_INLINE __device__ void fence_alias() { asm volatile("fence.proxy.alias;" ::: "memory"); }

FORCE_INLINE __device__ void multicast_store(uint64_t to, Vec v) {
  asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.x), "r"(v.y), "r"(v.z),
               "r"(v.w)
               : "memory");
}

// Reduces the four words of a vector at once, in the floating-point type `type`.
#define LOAD_REDUCE_FLOATS(T, Op, type)                                                            \
  template <>                                                                                      \
  FORCE_INLINE __device__ Vec load_reduce<T, Op>(uint64_t from) {                                  \
    Vec v;                                                                                         \
    asm volatile("multimem.ld_reduce.relaxed.sys.global." type " {%0, %1, %2, %3}, [%4];"          \
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)                                      \
                 : "l"(from)                                                                       \
                 : "memory");                                                                      \
    return v;                                                                                      \
  }

// Reduces a vector word by word, or by pairs of words: the instruction has no vectors of integers and of doubles.
#define LOAD_REDUCE_WORDS(T, Op, type)                                                             \
  template <>                                                                                      \
  FORCE_INLINE __device__ Vec load_reduce<T, Op>(uint64_t from) {                                  \
    Vec v;                                                                                         \
    for (int k = 0; k < 4; k++) {                                                                  \
      uint32_t word;                                                                               \
      asm volatile("multimem.ld_reduce.relaxed.sys.global." type " %0, [%1];"                      \
                   : "=r"(word)                                                                    \
                   : "l"(from + 4 * k)                                                             \
                   : "memory");                                                                    \
      v[k] = word;                                                                                 \
    }                                                                                              \
    return v;                                                                                      \
  }

#define LOAD_REDUCE_PAIRS(T, Op, type)                                                             \
  template <>                                                                                      \
  FORCE_INLINE __device__ Vec load_reduce<T, Op>(uint64_t from) {                                  \
    uint64_t low, high;                                                                            \
    asm volatile("multimem.ld_reduce.relaxed.sys.global." type " %0, [%1];"                        \
                 : "=l"(low)                                                                       \
                 : "l"(from)                                                                       \
                 : "memory");                                                                      \
    asm volatile("multimem.ld_reduce.relaxed.sys.global." type " %0, [%1];"                        \
                 : "=l"(high)                                                                      \
                 : "l"(from + 8)                                                                   \
                 : "memory");                                                                      \
    return Vec{(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32)};      \
  }

// The reduction of the vector at a multicast address over all ranks. It is defined for the types and operations that the
// hardware has.
template <typename T, typename Op>
FORCE_INLINE __device__ Vec load_reduce(uint64_t from);

LOAD_REDUCE_FLOATS(Float, Sum, "add.v4.f32")
LOAD_REDUCE_FLOATS(Half, Sum, "add.acc::f32.v4.f16x2")
LOAD_REDUCE_FLOATS(Half, Min, "min.v4.f16x2")
LOAD_REDUCE_FLOATS(Half, Max, "max.v4.f16x2")
LOAD_REDUCE_FLOATS(BFloat16, Sum, "add.acc::f32.v4.bf16x2")
LOAD_REDUCE_FLOATS(BFloat16, Min, "min.v4.bf16x2")
LOAD_REDUCE_FLOATS(BFloat16, Max, "max.v4.bf16x2")
LOAD_REDUCE_WORDS(Int32, Sum, "add.s32")
LOAD_REDUCE_WORDS(Int32, Min, "min.s32")
LOAD_REDUCE_WORDS(Int32, Max, "max.s32")
LOAD_REDUCE_WORDS(UInt32, Sum, "add.u32")
LOAD_REDUCE_WORDS(UInt32, Min, "min.u32")
LOAD_REDUCE_WORDS(UInt32, Max, "max.u32")
LOAD_REDUCE_PAIRS(Int64, Sum, "add.u64")
LOAD_REDUCE_PAIRS(Int64, Min, "min.s64")
LOAD_REDUCE_PAIRS(Int64, Max, "max.s64")
LOAD_REDUCE_PAIRS(UInt64, Sum, "add.u64")
LOAD_REDUCE_PAIRS(UInt64, Min, "min.u64")
LOAD_REDUCE_PAIRS(UInt64, Max, "max.u64")
LOAD_REDUCE_PAIRS(Double, Sum, "add.f64")
#ifdef __CUDA_ARCH_FEAT_SM100_ALL
LOAD_REDUCE_FLOATS(F8E4M3, Sum, "add.acc::f16.v4.e4m3x4")
LOAD_REDUCE_FLOATS(F8E4M3, Min, "min.v4.e4m3x4")
LOAD_REDUCE_FLOATS(F8E4M3, Max, "max.v4.e4m3x4")
LOAD_REDUCE_FLOATS(F8E5M2, Sum, "add.acc::f16.v4.e5m2x4")
LOAD_REDUCE_FLOATS(F8E5M2, Min, "min.v4.e5m2x4")
LOAD_REDUCE_FLOATS(F8E5M2, Max, "max.v4.e5m2x4")
#endif

// MulticastBarrier is a barrier of one thread of the same-numbered block of every rank. Each adds 1 to a counter on all
// ranks and polls its own copy until that is world times the number of such barriers.
class MulticastBarrier {
 public:
  FORCE_INLINE __device__ explicit MulticastBarrier(const Params& p)
      : p_(p), count_(*(Global<const uint32_t>)count_address()), failed_(ld_relaxed(claimed_address(p)) != 0) {}

  // False when a rank did not arrive in time, now or before this launch.
  FORCE_INLINE __device__ bool sync() {
    if (failed_) return false;
    count_++;
    fence_alias();
    asm volatile("multimem.red.release.sys.global.add.u32 [%0], 1;" ::"l"(p_.multicast + counter_offset()) : "memory");
    fence_alias();
    for (Deadline deadline;;) {
      const uint32_t seen = ld_flag_acquire(signal_pad(p_, p_.rank) + counter_offset());
      if ((int32_t)(seen - count_ * p_.world) >= 0) return true;
      if (deadline.has_passed(p_)) {
        record_fault(p_, kMulticastBarrier, kMaxRanks, count_ * p_.world, seen);
        return false;
      }
    }
  }

  // Stores the count for the next launch.
  FORCE_INLINE __device__ void save() const { *(Global<uint32_t>)count_address() = count_; }

 private:
  FORCE_INLINE __device__ uint64_t count_address() const {
    return signal_pad(p_, p_.rank) + __builtin_offsetof(SignalPad, multicast_barriers) + block_id() * sizeof(uint32_t);
  }
  FORCE_INLINE __device__ int64_t counter_offset() const {
    return __builtin_offsetof(SignalPad, multicast_arrivals) + block_id() * sizeof(uint32_t);
  }

  const Params& p_;
  uint32_t count_;
  bool failed_;
};
