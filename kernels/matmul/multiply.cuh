// d += a x b by the four warps of a warpgroup: m64nNk16, both operands in shared
// memory, with k innermost. d holds a thread's N/2 accumulators, as the PTX ISA lays them out:
// for each 8 columns two of row lane / 4 and two of the row 8 below. first: d is overwritten.
#pragma once

#include "../device/types.cuh"

#define REGISTERS_0 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define REGISTERS_1 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define REGISTERS_2 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define REGISTERS_3 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define REGISTERS_4 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define REGISTERS_5 "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define REGISTERS_6 "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111"
#define REGISTERS_7 "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

#define BOUND_4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define BOUND_16(r) BOUND_4(16 * r), BOUND_4(16 * r + 4), BOUND_4(16 * r + 8), BOUND_4(16 * r + 12)

#define REGISTERS_64 REGISTERS_0 ", " REGISTERS_1 ", " REGISTERS_2 ", " REGISTERS_3
#define REGISTERS_96 REGISTERS_64 ", " REGISTERS_4 ", " REGISTERS_5
#define REGISTERS_128 REGISTERS_96 ", " REGISTERS_6 ", " REGISTERS_7
#define BOUND_64 BOUND_16(0), BOUND_16(1), BOUND_16(2), BOUND_16(3)
#define BOUND_96 BOUND_64, BOUND_16(4), BOUND_16(5)
#define BOUND_128 BOUND_96, BOUND_16(6), BOUND_16(7)

#define MULTIPLY(Type, type, N, count)                                                                            \
  FORCE_INLINE __device__ void multiply(Type, float (&d)[count], uint64_t a, uint64_t b, bool first) {           \
    asm volatile(                                                                                                 \
        "{\n\t.reg .pred more;\n\tsetp.eq.s32 more, %[first], 0;\n\t"                                             \
        "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." type "." type " {" REGISTERS_##count "}, %[a], %[b], " \
        "more, 1, 1, 0, 0;\n\t}"                                                                                  \
        : BOUND_##count                                                                                           \
        : [a] "l"(a), [b] "l"(b), [first] "r"((int)first));                                                       \
  }

MULTIPLY(BFloat16, "bf16", 128, 64)
MULTIPLY(BFloat16, "bf16", 192, 96)
MULTIPLY(BFloat16, "bf16", 256, 128)
MULTIPLY(Half, "f16", 128, 64)
MULTIPLY(Half, "f16", 192, 96)
MULTIPLY(Half, "f16", 256, 128)

// Keeps the compiler from moving what uses accumulators to before this place.
template <int kCount>
FORCE_INLINE __device__ void settle(float (&d)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; i++) asm volatile("" : "+f"(d[i])::"memory");
}
