#include "textflag.h"

// VMOVDQA of 16 bytes is one access on processors with AVX (Intel SDM, vol. 3A, "Guaranteed Atomic
// Operations"; AMD64 APM, vol. 2, "Access Atomicity").

// func load16AVX(p unsafe.Pointer) (low, high uint64)
TEXT ·load16AVX(SB), NOSPLIT, $0-24
	MOVQ    p+0(FP), AX
	VMOVDQA (AX), X0
	VMOVQ   X0, low+8(FP)
	VPEXTRQ $1, X0, high+16(FP)
	RET

// func store16AVX(p unsafe.Pointer, low, high uint64)
TEXT ·store16AVX(SB), NOSPLIT, $0-24
	MOVQ    p+0(FP), AX
	VMOVDQU low+8(FP), X0
	VMOVDQA X0, (AX)
	RET

// The loops below run over the 32 lanes: CX is a lane's number times 8, DI its address.

// func loadPairsAVX(p unsafe.Pointer, offsets, a, b *lanes)
TEXT ·loadPairsAVX(SB), NOSPLIT, $0-32
	MOVQ p+0(FP), AX
	MOVQ offsets+8(FP), SI
	MOVQ a+16(FP), R8
	MOVQ b+24(FP), R9
	XORQ CX, CX
pairs:
	MOVQ    (SI)(CX*1), DI
	VMOVDQA (AX)(DI*1), X0
	VMOVQ   X0, (R8)(CX*1)
	VPEXTRQ $1, X0, (R9)(CX*1)
	ADDQ    $8, CX
	CMPQ    CX, $256
	JLT     pairs
	RET

// func storePairsAVX(p unsafe.Pointer, offsets, a, b *lanes)
TEXT ·storePairsAVX(SB), NOSPLIT, $0-32
	MOVQ p+0(FP), AX
	MOVQ offsets+8(FP), SI
	MOVQ a+16(FP), R8
	MOVQ b+24(FP), R9
	XORQ CX, CX
pairs:
	MOVQ    (SI)(CX*1), DI
	VMOVQ   (R8)(CX*1), X0
	VPINSRQ $1, (R9)(CX*1), X0, X0
	VMOVDQA X0, (AX)(DI*1)
	ADDQ    $8, CX
	CMPQ    CX, $256
	JLT     pairs
	RET

// func loadFoursAVX(p unsafe.Pointer, offsets, a, b, c, d *lanes)
TEXT ·loadFoursAVX(SB), NOSPLIT, $0-48
	MOVQ p+0(FP), AX
	MOVQ offsets+8(FP), SI
	MOVQ a+16(FP), R8
	MOVQ b+24(FP), R9
	MOVQ c+32(FP), R10
	MOVQ d+40(FP), R11
	XORQ CX, CX
fours:
	MOVQ    (SI)(CX*1), DI
	VMOVDQA (AX)(DI*1), X0
	VMOVD   X0, BX
	VPEXTRD $1, X0, DX
	VPEXTRD $2, X0, R12
	VPEXTRD $3, X0, R13
	MOVQ    BX, (R8)(CX*1)
	MOVQ    DX, (R9)(CX*1)
	MOVQ    R12, (R10)(CX*1)
	MOVQ    R13, (R11)(CX*1)
	ADDQ    $8, CX
	CMPQ    CX, $256
	JLT     fours
	RET

// func storeFoursAVX(p unsafe.Pointer, offsets, a, b, c, d *lanes)
TEXT ·storeFoursAVX(SB), NOSPLIT, $0-48
	MOVQ p+0(FP), AX
	MOVQ offsets+8(FP), SI
	MOVQ a+16(FP), R8
	MOVQ b+24(FP), R9
	MOVQ c+32(FP), R10
	MOVQ d+40(FP), R11
	XORQ CX, CX
fours:
	MOVQ    (SI)(CX*1), DI
	VMOVD   (R8)(CX*1), X0
	VPINSRD $1, (R9)(CX*1), X0, X0
	VPINSRD $2, (R10)(CX*1), X0, X0
	VPINSRD $3, (R11)(CX*1), X0, X0
	VMOVDQA X0, (AX)(DI*1)
	ADDQ    $8, CX
	CMPQ    CX, $256
	JLT     fours
	RET
