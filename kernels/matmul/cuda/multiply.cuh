// wgmma.mma_async m64nNk16: d = a x b, or if adds, d += a x b, by the four warps of a warpgroup. Both operands lie in shared
// memory, with k innermost. d holds a thread's N/2 accumulators, as the PTX ISA lays them out:
// for each 8 columns two of row lane / 4 and two of the row 8 below.
#pragma once

#include "../../device/types.cuh"

// The accumulators' names in the assembly, and their operands.
#define NAMES_0 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define NAMES_1 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define NAMES_2 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define NAMES_3 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define NAMES_4 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define NAMES_5 "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define NAMES_6 "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111"
#define NAMES_7 "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

#define BOUND_8_FROM(i) \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define BOUND_32_FROM(i) BOUND_8_FROM(i), BOUND_8_FROM(i + 8), BOUND_8_FROM(i + 16), BOUND_8_FROM(i + 24)

#define REGISTERS_32 NAMES_0 ", " NAMES_1
#define REGISTERS_8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define REGISTERS_16 NAMES_0
#define REGISTERS_40 REGISTERS_32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define REGISTERS_48 REGISTERS_32 ", " NAMES_2
#define REGISTERS_56 REGISTERS_32 ", " NAMES_2 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define REGISTERS_64 NAMES_0 ", " NAMES_1 ", " NAMES_2 ", " NAMES_3
#define REGISTERS_72 REGISTERS_64 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define REGISTERS_80 REGISTERS_64 ", " NAMES_4
#define REGISTERS_88 REGISTERS_64 ", " NAMES_4 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define REGISTERS_96 REGISTERS_64 ", " NAMES_4 ", " NAMES_5
#define REGISTERS_104 REGISTERS_96 ", %96, %97, %98, %99, %100, %101, %102, %103"
#define REGISTERS_112 REGISTERS_96 ", " NAMES_6
#define REGISTERS_128 REGISTERS_112 ", " NAMES_7
#define BOUND_32 BOUND_32_FROM(0)
#define BOUND_8 BOUND_8_FROM(0)
#define BOUND_16 BOUND_8, BOUND_8_FROM(8)
#define BOUND_40 BOUND_32, BOUND_8_FROM(32)
#define BOUND_48 BOUND_32, BOUND_8_FROM(32), BOUND_8_FROM(40)
#define BOUND_56 BOUND_32, BOUND_8_FROM(32), BOUND_8_FROM(40), BOUND_8_FROM(48)
#define BOUND_64 BOUND_32_FROM(0), BOUND_32_FROM(32)
#define BOUND_72 BOUND_64, BOUND_8_FROM(64)
#define BOUND_80 BOUND_72, BOUND_8_FROM(72)
#define BOUND_88 BOUND_64, BOUND_8_FROM(64), BOUND_8_FROM(72), BOUND_8_FROM(80)
#define BOUND_96 BOUND_64, BOUND_32_FROM(64)
#define BOUND_104 BOUND_96, BOUND_8_FROM(96)
#define BOUND_112 BOUND_96, BOUND_8_FROM(96), BOUND_8_FROM(104)
#define BOUND_128 BOUND_96, BOUND_32_FROM(96)

#define MULTIPLY(Type, type, N, count)                                                                              \
  FORCE_INLINE __device__ void multiply(Type, float (&d)[count], uint64_t a, uint64_t b, uint32_t adds) {           \
    asm volatile("{\n\t.reg .pred adds;\n\tsetp.ne.u32 adds, %[adds], 0;\n\t"                                         \
                 "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." type "." type " {" REGISTERS_##count "}, %[a], " \
                 "%[b], adds, 1, 1, 0, 0;\n\t}"                                                                     \
                 : BOUND_##count                                                                                    \
                 : [a] "l"(a), [b] "l"(b), [adds] "r"(adds));                                                       \
  }

MULTIPLY(BFloat16, "bf16", 16, 8)
MULTIPLY(BFloat16, "bf16", 32, 16)
MULTIPLY(BFloat16, "bf16", 64, 32)
MULTIPLY(BFloat16, "bf16", 80, 40)
MULTIPLY(BFloat16, "bf16", 96, 48)
MULTIPLY(BFloat16, "bf16", 112, 56)
MULTIPLY(BFloat16, "bf16", 128, 64)
MULTIPLY(BFloat16, "bf16", 144, 72)
MULTIPLY(BFloat16, "bf16", 160, 80)
MULTIPLY(BFloat16, "bf16", 176, 88)
MULTIPLY(BFloat16, "bf16", 192, 96)
MULTIPLY(BFloat16, "bf16", 208, 104)
MULTIPLY(BFloat16, "bf16", 224, 112)
MULTIPLY(BFloat16, "bf16", 256, 128)
MULTIPLY(Half, "f16", 16, 8)
MULTIPLY(Half, "f16", 32, 16)
MULTIPLY(Half, "f16", 64, 32)
MULTIPLY(Half, "f16", 80, 40)
MULTIPLY(Half, "f16", 96, 48)
MULTIPLY(Half, "f16", 112, 56)
MULTIPLY(Half, "f16", 128, 64)
MULTIPLY(Half, "f16", 144, 72)
MULTIPLY(Half, "f16", 160, 80)
MULTIPLY(Half, "f16", 176, 88)
MULTIPLY(Half, "f16", 192, 96)
MULTIPLY(Half, "f16", 208, 104)
MULTIPLY(Half, "f16", 224, 112)
MULTIPLY(Half, "f16", 256, 128)

// Keeps the compiler from moving uses of the accumulators above this line.
template <int kCount>
FORCE_INLINE __device__ void fence_accumulators(float (&d)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; i++) asm volatile("" : "+f"(d[i])::"memory");
}
