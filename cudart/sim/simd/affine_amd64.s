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

// A register is affine, too, if all lanes choose the same one.
TEXT choose<>(SB), NOSPLIT|NOFRAME, $0-0
	SOURCES
	MOVL  Step_more(R9), SI
	MOVQ  Registers_Predicates(R14), CX
	MOVL  (CX)(SI*4), SI
	XORL  Step_more+4(R9), SI
	CMPL  SI, $-1
	JEQ   chosen
	TESTL SI, SI
	JNZ   fail
	MOVQ  AffineValue_Base(DX), AX
	MOVQ  AffineValue_Stride(DX), BX

chosen:
	SET

// PREDICATES makes AX and BX the operands of a step on predicates, DX the first predicate.
#define PREDICATES \
	MOVQ Registers_Predicates(R14), DX; \
	MOVL Step_more+4(R9), AX; \
	MOVL Step_more+8(R9), BX; \
	MOVL (DX)(AX*4), AX; \
	MOVL (DX)(BX*4), BX; \
	XORL Step_bias(R9), AX; \
	XORL Step_bias+4(R9), BX

// SETPREDICATE makes AX the result. It clears the carry flag last.
#define SETPREDICATE \
	MOVL Step_more(R9), BX; \
	MOVL AX, (DX)(BX*4); \
	CLC; \
	RET

TEXT firstMask<>(SB), NOSPLIT|NOFRAME, $0-0
	PREDICATES
	SETPREDICATE

TEXT andMasks<>(SB), NOSPLIT|NOFRAME, $0-0
	PREDICATES
	ANDL BX, AX
	SETPREDICATE

TEXT orMasks<>(SB), NOSPLIT|NOFRAME, $0-0
	PREDICATES
	ORL BX, AX
	SETPREDICATE

TEXT xorMasks<>(SB), NOSPLIT|NOFRAME, $0-0
	PREDICATES
	XORL BX, AX
	SETPREDICATE

// COMPARED makes AX and BX base and stride of a, SI and DI those of b.
#define COMPARED \
	SOURCES; \
	MOVQ AffineValue_Base(DX), SI; \
	MOVQ AffineValue_Stride(DX), DI

// ORDER makes to the bits of the order that the flags tell: 1 for less, 2 for equal, 4 for greater.
#define ORDER(less, greater, to) \
	MOVL $2, to; \
	MOVL $1, R8; \
	less R8, to; \
	MOVL $4, R8; \
	greater R8, to

// SETRELATION makes all lanes of the predicate what the relation, Step_more+4, says of the order in DX.
#define SETRELATION \
	ANDL  Step_more+4(R9), DX; \
	NEGL  DX; \
	SBBL  AX, AX; \
	MOVQ  Registers_Predicates(R14), DX; \
	MOVL  Step_more(R9), BX; \
	MOVL  AX, (DX)(BX*4); \
	CLC; \
	RET

// COMPARE compares by the differences of the first and the last lane, which do not overflow. If the relation holds for
// both or for neither, then also for the lanes between them; but not that they are equal, or differ.
#define COMPARE \
	SUBQ  SI, AX; \
	SUBQ  DI, BX; \
	IMUL3Q $31, BX, CX; \
	TESTQ AX, AX; \
	ORDER(CMOVLLT, CMOVLGT, DX); \
	ADDQ  AX, CX; \
	TESTQ CX, CX; \
	ORDER(CMOVLLT, CMOVLGT, SI); \
	MOVL  Step_more+4(R9), R8; \
	TESTL R8, DX; \
	SETNE AX; \
	TESTL R8, SI; \
	SETNE CX; \
	CMPB  AX, CX; \
	JNE   fail; \
	TESTQ BX, BX; \
	JZ    same; \
	ANDL  $5, R8; \
	JZ    fail; \
	CMPL  R8, $5; \
	JEQ   fail; \
same: \
	SETRELATION; \
fail: \
	STC; \
	RET

TEXT compareU32<>(SB), NOSPLIT|NOFRAME, $0-0
	COMPARED
	LOW32(AX, BX, CX)
	LOW32(SI, DI, CX)
	COMPARE

TEXT compareS32<>(SB), NOSPLIT|NOFRAME, $0-0
	COMPARED
	SIGN32(AX, BX, CX)
	SIGN32(SI, DI, CX)
	COMPARE

// SMALLU and SMALLS let lanes of 64 bits pass that are so small that no difference overflows.
#define SMALLU(base, stride) \
	LAST(base, stride, CX); \
	ORQ  base, CX; \
	SHRQ $61, CX; \
	JNZ  fail

#define SMALLS(base, stride) \
	LAST(base, stride, CX); \
	MOVQ $(1<<61), CX; \
	ADDQ base, CX; \
	SHRQ $62, CX; \
	JNZ  fail

// COMPAREUNIFORM compares values of 64 bits if they are uniform.
#define COMPAREUNIFORM(less, greater) \
	MOVQ BX, CX; \
	ORQ  DI, CX; \
	JNZ  ramps; \
	CMPQ AX, SI; \
	ORDER(less, greater, DX); \
	SETRELATION; \
ramps:

TEXT compareU64<>(SB), NOSPLIT|NOFRAME, $0-0
	COMPARED
	COMPAREUNIFORM(CMOVLCS, CMOVLHI)
	SMALLU(AX, BX)
	SMALLU(SI, DI)
	COMPARE

TEXT compareS64<>(SB), NOSPLIT|NOFRAME, $0-0
	COMPARED
	COMPAREUNIFORM(CMOVLLT, CMOVLGT)
	SMALLS(AX, BX)
	SMALLS(SI, DI)
	COMPARE

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
DATA affineCodes<>+104(SB)/8, $choose<>(SB)
DATA affineCodes<>+112(SB)/8, $firstMask<>(SB)
DATA affineCodes<>+120(SB)/8, $andMasks<>(SB)
DATA affineCodes<>+128(SB)/8, $orMasks<>(SB)
DATA affineCodes<>+136(SB)/8, $xorMasks<>(SB)
DATA affineCodes<>+144(SB)/8, $compareU32<>(SB)
DATA affineCodes<>+152(SB)/8, $compareS32<>(SB)
DATA affineCodes<>+160(SB)/8, $compareU64<>(SB)
DATA affineCodes<>+168(SB)/8, $compareS64<>(SB)
GLOBL affineCodes<>(SB), RODATA|NOPTR, $176

// func affineCodeOf(number int) uintptr
TEXT ·affineCodeOf(SB), NOSPLIT, $0-16
	MOVQ number+0(FP), AX
	LEAQ affineCodes<>(SB), BX
	MOVQ (BX)(AX*8), AX
	MOVQ AX, ret+8(FP)
	RET
