#include "go_asm.h"
#include "textflag.h"

// Code for affine values: see run_amd64.s. AX and BX are base and stride of a, and of the result.

// SOURCES makes SI, DX and CX the addresses of affine values.
#define SOURCES \
	SHLQ $4, SI; \
	SHLQ $4, DX; \
	SHLQ $4, CX; \
	ADDQ R12, SI; \
	ADDQ R12, DX; \
	ADDQ R12, CX; \
	MOVQ AffineValue_Base(SI), AX; \
	MOVQ AffineValue_Stride(SI), BX

// SET makes AX and BX the value of register DI.
#define SET \
	TESTB $const_FormLanes, (R13)(DI*1); \
	JNZ   fail; \
	MOVB  $(const_FormAffine+const_FormStale), (R13)(DI*1); \
	SHLQ  $4, DI; \
	MOVQ  AX, AffineValue_Base(R12)(DI*1); \
	MOVQ  BX, AffineValue_Stride(R12)(DI*1); \
	CLC; \
	RET; \
fail: \
	STC; \
	RET

// LAST makes T the value of lane 31. The stride is between -2^32 and 2^32.
#define LAST(base, stride, t) \
	MOVQ  $0x100000000, t; \
	ADDQ  stride, t; \
	MOVQ  $0x200000000, R8; \
	CMPQ  t, R8; \
	JHI   fail; \
	IMUL3Q $31, stride, t; \
	ADDQ  base, t

// LOW32 cuts the lanes to 32 bits, if no carry out of those occurs between two lanes.
#define LOW32(base, stride, t) \
	LAST(base, stride, t); \
	XORQ  base, t; \
	SHRQ  $32, t; \
	JNZ   fail; \
	MOVL  base, base

// SIGN32 extends 32-bit lanes, if all have the same sign.
#define SIGN32(base, stride, t) \
	LOW32(base, stride, t); \
	IMUL3Q $31, stride, t; \
	ADDQ  base, t; \
	XORQ  base, t; \
	SHRQ  $31, t; \
	JNZ   fail; \
	MOVLQSX base, base

// UNIFORM makes DX the factor that is uniform, and AX and BX the other one.
#define UNIFORM(b, strideB) \
	TESTQ strideB, strideB; \
	JZ    swapped; \
	XCHGQ AX, b; \
	XCHGQ BX, strideB; \
	TESTQ strideB, strideB; \
	JNZ   fail; \
swapped:

// MAD multiplies by b and adds the value at CX.
#define MAD(b) \
	IMULQ b, AX; \
	IMULQ b, BX; \
	ADDQ  AffineValue_Base(CX), AX; \
	ADDQ  AffineValue_Stride(CX), BX

TEXT copy<>(SB), NOSPLIT|NOFRAME, $0-0
	SOURCES
	SET

TEXT low32<>(SB), NOSPLIT|NOFRAME, $0-0
	SOURCES
	LOW32(AX, BX, CX)
	SET

TEXT add64<>(SB), NOSPLIT|NOFRAME, $0-0
	SOURCES
	ADDQ AffineValue_Base(DX), AX
	ADDQ AffineValue_Stride(DX), BX
	SET

TEXT add32<>(SB), NOSPLIT|NOFRAME, $0-0
	SOURCES
	ADDQ AffineValue_Base(DX), AX
	ADDQ AffineValue_Stride(DX), BX
	LOW32(AX, BX, CX)
	SET

TEXT sub64<>(SB), NOSPLIT|NOFRAME, $0-0
	SOURCES
	SUBQ AffineValue_Base(DX), AX
	SUBQ AffineValue_Stride(DX), BX
	SET

TEXT sub32<>(SB), NOSPLIT|NOFRAME, $0-0
	SOURCES
	SUBQ AffineValue_Base(DX), AX
	SUBQ AffineValue_Stride(DX), BX
	LOW32(AX, BX, CX)
	SET

TEXT mad64<>(SB), NOSPLIT|NOFRAME, $0-0
	SOURCES
	MOVQ AffineValue_Stride(DX), SI
	MOVQ AffineValue_Base(DX), DX
	UNIFORM(DX, SI)
	MAD(DX)
	SET

TEXT mad32<>(SB), NOSPLIT|NOFRAME, $0-0
	SOURCES
	MOVQ AffineValue_Stride(DX), SI
	MOVQ AffineValue_Base(DX), DX
	UNIFORM(DX, SI)
	MAD(DX)
	LOW32(AX, BX, CX)
	SET

TEXT madWideU32<>(SB), NOSPLIT|NOFRAME, $0-0
	SOURCES
	LOW32(AX, BX, SI)
	MOVQ AffineValue_Stride(DX), SI
	MOVQ AffineValue_Base(DX), DX
	LOW32(DX, SI, CX)
	MOVL Step_c(R9), CX
	SHLQ $4, CX
	ADDQ R12, CX
	UNIFORM(DX, SI)
	MAD(DX)
	SET

TEXT madWideS32<>(SB), NOSPLIT|NOFRAME, $0-0
	SOURCES
	SIGN32(AX, BX, SI)
	MOVQ AffineValue_Stride(DX), SI
	MOVQ AffineValue_Base(DX), DX
	SIGN32(DX, SI, CX)
	MOVL Step_c(R9), CX
	SHLQ $4, CX
	ADDQ R12, CX
	UNIFORM(DX, SI)
	MAD(DX)
	SET

TEXT shl64<>(SB), NOSPLIT|NOFRAME, $0-0
	SOURCES
	CMPQ AffineValue_Stride(DX), $0
	JNE  fail
	MOVL AffineValue_Base(DX), CX
	CMPL CX, $64
	JCC  fail
	SHLQ CX, AX
	SHLQ CX, BX
	SET

TEXT shl32<>(SB), NOSPLIT|NOFRAME, $0-0
	SOURCES
	CMPQ AffineValue_Stride(DX), $0
	JNE  fail
	MOVL AffineValue_Base(DX), CX
	CMPL CX, $32
	JCC  fail
	SHLQ CX, AX
	SHLQ CX, BX
	LOW32(AX, BX, CX)
	SET

TEXT extendS32<>(SB), NOSPLIT|NOFRAME, $0-0
	SOURCES
	SIGN32(AX, BX, CX)
	SET

DATA affineCodes<>+0(SB)/8, $copy<>(SB)
DATA affineCodes<>+8(SB)/8, $low32<>(SB)
DATA affineCodes<>+16(SB)/8, $add64<>(SB)
DATA affineCodes<>+24(SB)/8, $add32<>(SB)
DATA affineCodes<>+32(SB)/8, $sub64<>(SB)
DATA affineCodes<>+40(SB)/8, $sub32<>(SB)
DATA affineCodes<>+48(SB)/8, $mad64<>(SB)
DATA affineCodes<>+56(SB)/8, $mad32<>(SB)
DATA affineCodes<>+64(SB)/8, $madWideU32<>(SB)
DATA affineCodes<>+72(SB)/8, $madWideS32<>(SB)
DATA affineCodes<>+80(SB)/8, $shl64<>(SB)
DATA affineCodes<>+88(SB)/8, $shl32<>(SB)
DATA affineCodes<>+96(SB)/8, $extendS32<>(SB)
GLOBL affineCodes<>(SB), RODATA|NOPTR, $104

// func affineCodeOf(number int) uintptr
TEXT ·affineCodeOf(SB), NOSPLIT, $0-16
	MOVQ number+0(FP), AX
	LEAQ affineCodes<>(SB), BX
	MOVQ (BX)(AX*8), AX
	MOVQ AX, ret+8(FP)
	RET
