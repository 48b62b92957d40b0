#include "textflag.h"

// VMOVDQA of 16 bytes is one access on processors with AVX (Intel SDM, vol. 3A, "Guaranteed Atomic
// Operations"; AMD64 APM, vol. 2, "Access Atomicity").

// func Load128(p unsafe.Pointer) (low, high uint64)
TEXT ·Load128(SB), NOSPLIT, $0-24
	MOVQ    p+0(FP), AX
	VMOVDQA (AX), X0
	VMOVQ   X0, low+8(FP)
	VPEXTRQ $1, X0, high+16(FP)
	RET

// func Store128(p unsafe.Pointer, low, high uint64)
TEXT ·Store128(SB), NOSPLIT, $0-24
	MOVQ    p+0(FP), AX
	VMOVDQU low+8(FP), X0
	VMOVDQA X0, (AX)
	RET

// func Copy128(to, from unsafe.Pointer, n int)
TEXT ·Copy128(SB), NOSPLIT, $0-24
	MOVQ to+0(FP), DI
	MOVQ from+8(FP), SI
	MOVQ n+16(FP), CX

copy128:
	VMOVDQA (SI), X0
	VMOVDQU X0, (DI)
	ADDQ    $16, SI
	ADDQ    $16, DI
	SUBQ    $16, CX
	JGT     copy128
	RET

// The loops below take four lanes at a time, of which each has an access of its own: CX is the number of
// the first one times 8.

// LOAD4 loads 16 bytes of each lane: Y0 has those of the first lane and, in the upper half, of the third
// one, Y1 those of the second and the fourth.
#define LOAD4 \
	MOVQ    (SI)(CX*1), DI;     \
	MOVQ    8(SI)(CX*1), DX;    \
	MOVQ    16(SI)(CX*1), R12;  \
	MOVQ    24(SI)(CX*1), R13;  \
	VMOVDQA (AX)(DI*1), X0;     \
	VMOVDQA (AX)(DX*1), X1;     \
	VMOVDQA (AX)(R12*1), X2;    \
	VMOVDQA (AX)(R13*1), X3;    \
	VINSERTI128 $1, X2, Y0, Y0; \
	VINSERTI128 $1, X3, Y1, Y1

// STORE4 stores Y0 and Y1 in the same way.
#define STORE4 \
	MOVQ    (SI)(CX*1), DI;    \
	MOVQ    8(SI)(CX*1), DX;   \
	MOVQ    16(SI)(CX*1), R12; \
	MOVQ    24(SI)(CX*1), R13; \
	VEXTRACTI128 $1, Y0, X2;   \
	VEXTRACTI128 $1, Y1, X3;   \
	VMOVDQA X0, (AX)(DI*1);    \
	VMOVDQA X1, (AX)(DX*1);    \
	VMOVDQA X2, (AX)(R12*1);   \
	VMOVDQA X3, (AX)(R13*1)

// func LoadPairs(p unsafe.Pointer, offsets, a, b *Lanes)
TEXT ·LoadPairs(SB), NOSPLIT, $0-32
	MOVQ p+0(FP), AX
	MOVQ offsets+8(FP), SI
	MOVQ a+16(FP), R8
	MOVQ b+24(FP), R9
	XORQ CX, CX

pairs:
	LOAD4
	VPUNPCKLQDQ Y1, Y0, Y2
	VPUNPCKHQDQ Y1, Y0, Y3
	VMOVDQU     Y2, (R8)(CX*1)
	VMOVDQU     Y3, (R9)(CX*1)
	ADDQ        $32, CX
	CMPQ        CX, $256
	JLT         pairs
	VZEROUPPER
	RET

// func StorePairs(p unsafe.Pointer, offsets, a, b *Lanes)
TEXT ·StorePairs(SB), NOSPLIT, $0-32
	MOVQ p+0(FP), AX
	MOVQ offsets+8(FP), SI
	MOVQ a+16(FP), R8
	MOVQ b+24(FP), R9
	XORQ CX, CX

pairs:
	VMOVDQU     (R8)(CX*1), Y2
	VMOVDQU     (R9)(CX*1), Y3
	VPUNPCKLQDQ Y3, Y2, Y0
	VPUNPCKHQDQ Y3, Y2, Y1
	STORE4
	ADDQ        $32, CX
	CMPQ        CX, $256
	JLT         pairs
	VZEROUPPER
	RET

// Registers have 64 bits, of which elements of 32 bits are the lower half.

// func LoadFours(p unsafe.Pointer, offsets, a, b, c, d *Lanes)
TEXT ·LoadFours(SB), NOSPLIT, $0-48
	MOVQ  p+0(FP), AX
	MOVQ  offsets+8(FP), SI
	MOVQ  a+16(FP), R8
	MOVQ  b+24(FP), R9
	MOVQ  c+32(FP), R10
	MOVQ  d+40(FP), R11
	VPXOR Y8, Y8, Y8
	XORQ  CX, CX

fours:
	LOAD4
	VPUNPCKLDQ Y1, Y0, Y2     // a and b of all four lanes
	VPUNPCKHDQ Y1, Y0, Y3     // c and d
	VPUNPCKLDQ Y8, Y2, Y4
	VPUNPCKHDQ Y8, Y2, Y5
	VPUNPCKLDQ Y8, Y3, Y6
	VPUNPCKHDQ Y8, Y3, Y7
	VMOVDQU    Y4, (R8)(CX*1)
	VMOVDQU    Y5, (R9)(CX*1)
	VMOVDQU    Y6, (R10)(CX*1)
	VMOVDQU    Y7, (R11)(CX*1)
	ADDQ       $32, CX
	CMPQ       CX, $256
	JLT        fours
	VZEROUPPER
	RET

// func StoreFours(p unsafe.Pointer, offsets, a, b, c, d *Lanes)
TEXT ·StoreFours(SB), NOSPLIT, $0-48
	MOVQ p+0(FP), AX
	MOVQ offsets+8(FP), SI
	MOVQ a+16(FP), R8
	MOVQ b+24(FP), R9
	MOVQ c+32(FP), R10
	MOVQ d+40(FP), R11
	XORQ CX, CX

fours:
	VMOVDQU     (R8)(CX*1), Y2
	VMOVDQU     (R9)(CX*1), Y3
	VPSLLQ      $32, Y3, Y3
	VMOVDQU     (R11)(CX*1), Y5
	VMOVDQU     (R10)(CX*1), Y4
	VPSLLQ      $32, Y5, Y5
	VPBLENDD    $0xaa, Y3, Y2, Y2 // a and b of all four lanes
	VPBLENDD    $0xaa, Y5, Y4, Y4 // c and d
	VPUNPCKLQDQ Y4, Y2, Y0
	VPUNPCKHQDQ Y4, Y2, Y1
	STORE4
	ADDQ        $32, CX
	CMPQ        CX, $256
	JLT         fours
	VZEROUPPER
	RET

// func Swap128(p unsafe.Pointer, oldLow, oldHigh, newLow, newHigh uint64) (low, high uint64)
TEXT ·Swap128(SB), NOSPLIT, $0-56
	MOVQ p+0(FP), DI
	MOVQ oldLow+8(FP), AX
	MOVQ oldHigh+16(FP), DX
	MOVQ newLow+24(FP), BX
	MOVQ newHigh+32(FP), CX
	LOCK
	CMPXCHG16B (DI)
	MOVQ AX, low+40(FP)
	MOVQ DX, high+48(FP)
	RET
