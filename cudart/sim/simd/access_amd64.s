#include "go_asm.h"
#include "textflag.h"

// Accesses: see run_amd64.s. Each lane's bytes are accessed at once: by VMOVDQA of 16 bytes, which is one access
// (memory_amd64.s), or within a larger one, as processors with AVX2 do it for aligned words.

// MEMORY makes BX where the accesses are, of so many bytes for each lane. SI is the number of the address register.
#define MEMORY(bytes) \
	SHLQ  $4, SI; \
	MOVQ  AffineValue_Base(R12)(SI*1), AX; \
	ADDQ  Step_bias(R9), AX; \
	CMPQ  AffineValue_Stride(R12)(SI*1), $bytes; \
	JNE   fail; \
	TESTQ $(bytes-1), AX; \
	JNZ   fail; \
	MOVQ  Registers_Regions(R14), DX; \
	TESTQ DX, DX; \
	JZ    fail; \
	MOVQ  AX, BX; \
	SHRQ  $const_RegionShift, BX; \
	ANDL  $(const_RegionCount-1), BX; \
	IMUL3Q $Region__size, BX, BX; \
	ADDQ  DX, BX; \
	SUBQ  Region_Base(BX), AX; \
	MOVQ  Region_Size(BX), DX; \
	SUBQ  $(32*bytes), DX; \
	JCS   fail; \
	CMPQ  AX, DX; \
	JHI   fail; \
	ADDQ  Region_Memory(BX), AX; \
	MOVQ  AX, BX

// TO makes R the address of the lanes of a register that is loaded.
#define TO(field, R) \
	MOVL field(R9), R; \
	ANDB $const_FormLanes, (R13)(R*1); \
	SHLQ $8, R; \
	ADDQ R11, R

// FROM is TO for a register that is stored.
#define FROM(field, R) \
	MOVL  field(R9), R; \
	TESTB $const_FormStale, (R13)(R*1); \
	JNZ   fail; \
	SHLQ  $8, R; \
	ADDQ  R11, R

#define SUCCEED \
	CLC; \
	RET; \
fail: \
	STC; \
	RET

// EACH4 is a step for each four lanes.
#define EACH4(step) \
	step(0); \
	step(1); \
	step(2); \
	step(3); \
	step(4); \
	step(5); \
	step(6); \
	step(7)

// Of the lanes 4*i to 4*i+3, Y0 has the 16 bytes of the first and the third, Y1 those of the others.
#define LOAD64BYTES(i) \
	VMOVDQA (64*i)(BX), X0; \
	VMOVDQA (64*i+16)(BX), X1; \
	VMOVDQA (64*i+32)(BX), X2; \
	VMOVDQA (64*i+48)(BX), X3; \
	VINSERTI128 $1, X2, Y0, Y0; \
	VINSERTI128 $1, X3, Y1, Y1; \
	VPUNPCKLQDQ Y1, Y0, Y2; \
	VPUNPCKHQDQ Y1, Y0, Y3

#define LOADFOURS(i) \
	LOAD64BYTES(i); \
	VPAND   Y2, Y15, Y4; \
	VPSRLQ  $32, Y2, Y5; \
	VPAND   Y3, Y15, Y6; \
	VPSRLQ  $32, Y3, Y7; \
	VMOVDQU Y4, (32*i)(DI); \
	VMOVDQU Y5, (32*i)(SI); \
	VMOVDQU Y6, (32*i)(DX); \
	VMOVDQU Y7, (32*i)(CX)

#define LOADPAIRS(i) \
	LOAD64BYTES(i); \
	VMOVDQU Y2, (32*i)(DI); \
	VMOVDQU Y3, (32*i)(SI)

#define STORE64BYTES(i) \
	VPUNPCKLQDQ Y3, Y2, Y0; \
	VPUNPCKHQDQ Y3, Y2, Y1; \
	VEXTRACTI128 $1, Y0, X2; \
	VEXTRACTI128 $1, Y1, X3; \
	VMOVDQA X0, (64*i)(BX); \
	VMOVDQA X1, (64*i+16)(BX); \
	VMOVDQA X2, (64*i+32)(BX); \
	VMOVDQA X3, (64*i+48)(BX)

#define STOREFOURS(i) \
	VMOVDQU  (32*i)(SI), Y2; \
	VMOVDQU  (32*i)(CX), Y3; \
	VPSLLQ   $32, Y2, Y2; \
	VPSLLQ   $32, Y3, Y3; \
	VPBLENDD $0x55, (32*i)(DI), Y2, Y2; \
	VPBLENDD $0x55, (32*i)(DX), Y3, Y3; \
	STORE64BYTES(i)

#define STOREPAIRS(i) \
	VMOVDQU (32*i)(DI), Y2; \
	VMOVDQU (32*i)(SI), Y3; \
	STORE64BYTES(i)

// The smaller ones are as in generate/masks.go.

#define LOAD2X32(i) \
	VMOVDQU (32*i)(BX), Y0; \
	VPAND   Y0, Y15, Y1; \
	VPSRLQ  $32, Y0, Y0; \
	VMOVDQU Y1, (32*i)(DI); \
	VMOVDQU Y0, (32*i)(SI)

#define LOAD64(i) \
	VMOVDQU (32*i)(BX), Y0; \
	VMOVDQU Y0, (32*i)(DI)

#define LOAD32(i) \
	VPMOVZXDQ (16*i)(BX), Y0; \
	VMOVDQU   Y0, (32*i)(DI)

#define STORE2X32(i) \
	VMOVDQU  (32*i)(SI), Y0; \
	VPSLLQ   $32, Y0, Y0; \
	VPBLENDD $0x55, (32*i)(DI), Y0, Y0; \
	VMOVDQU  Y0, (32*i)(BX)

#define STORE64(i) \
	VMOVDQU (32*i)(DI), Y0; \
	VMOVDQU Y0, (32*i)(BX)

#define STORE32(i) \
	VMOVDQU (32*i)(DI), Y0; \
	VEXTRACTI128 $1, Y0, X1; \
	VSHUFPS $0x88, X1, X0, X0; \
	VMOVDQU X0, (16*i)(BX)

TEXT loadFours<>(SB), NOSPLIT|NOFRAME, $0-0
	MEMORY(16)
	TO(Step_d, DI)
	TO(Step_more, SI)
	TO(Step_more+4, DX)
	TO(Step_more+8, CX)
	VMOVDQU low32<>(SB), Y15
	EACH4(LOADFOURS)
	SUCCEED

TEXT loadPairs<>(SB), NOSPLIT|NOFRAME, $0-0
	MEMORY(16)
	TO(Step_d, DI)
	TO(Step_more, SI)
	EACH4(LOADPAIRS)
	SUCCEED

TEXT load2x32<>(SB), NOSPLIT|NOFRAME, $0-0
	MEMORY(8)
	TO(Step_d, DI)
	TO(Step_more, SI)
	VMOVDQU low32<>(SB), Y15
	EACH4(LOAD2X32)
	SUCCEED

TEXT load64<>(SB), NOSPLIT|NOFRAME, $0-0
	MEMORY(8)
	TO(Step_d, DI)
	EACH4(LOAD64)
	SUCCEED

TEXT load32<>(SB), NOSPLIT|NOFRAME, $0-0
	MEMORY(4)
	TO(Step_d, DI)
	EACH4(LOAD32)
	SUCCEED

TEXT storeFours<>(SB), NOSPLIT|NOFRAME, $0-0
	MEMORY(16)
	FROM(Step_d, DI)
	FROM(Step_more, SI)
	FROM(Step_more+4, DX)
	FROM(Step_more+8, CX)
	EACH4(STOREFOURS)
	MOVB $1, Registers_Stored(R14)
	SUCCEED

TEXT storePairs<>(SB), NOSPLIT|NOFRAME, $0-0
	MEMORY(16)
	FROM(Step_d, DI)
	FROM(Step_more, SI)
	EACH4(STOREPAIRS)
	MOVB $1, Registers_Stored(R14)
	SUCCEED

TEXT store2x32<>(SB), NOSPLIT|NOFRAME, $0-0
	MEMORY(8)
	FROM(Step_d, DI)
	FROM(Step_more, SI)
	EACH4(STORE2X32)
	MOVB $1, Registers_Stored(R14)
	SUCCEED

TEXT store64<>(SB), NOSPLIT|NOFRAME, $0-0
	MEMORY(8)
	FROM(Step_d, DI)
	EACH4(STORE64)
	MOVB $1, Registers_Stored(R14)
	SUCCEED

TEXT store32<>(SB), NOSPLIT|NOFRAME, $0-0
	MEMORY(4)
	FROM(Step_d, DI)
	EACH4(STORE32)
	MOVB $1, Registers_Stored(R14)
	SUCCEED

DATA accessCodes<>+0(SB)/8, $loadFours<>(SB)
DATA accessCodes<>+8(SB)/8, $loadPairs<>(SB)
DATA accessCodes<>+16(SB)/8, $load2x32<>(SB)
DATA accessCodes<>+24(SB)/8, $load64<>(SB)
DATA accessCodes<>+32(SB)/8, $load32<>(SB)
DATA accessCodes<>+40(SB)/8, $storeFours<>(SB)
DATA accessCodes<>+48(SB)/8, $storePairs<>(SB)
DATA accessCodes<>+56(SB)/8, $store2x32<>(SB)
DATA accessCodes<>+64(SB)/8, $store64<>(SB)
DATA accessCodes<>+72(SB)/8, $store32<>(SB)
GLOBL accessCodes<>(SB), RODATA|NOPTR, $80

DATA low32<>+0(SB)/8, $0xffffffff
DATA low32<>+8(SB)/8, $0xffffffff
DATA low32<>+16(SB)/8, $0xffffffff
DATA low32<>+24(SB)/8, $0xffffffff
GLOBL low32<>(SB), RODATA|NOPTR, $32

// func accessCodeOf(number int) uintptr
TEXT ·accessCodeOf(SB), NOSPLIT, $0-16
	MOVQ number+0(FP), AX
	LEAQ accessCodes<>(SB), BX
	MOVQ (BX)(AX*8), AX
	MOVQ AX, ret+8(FP)
	RET
