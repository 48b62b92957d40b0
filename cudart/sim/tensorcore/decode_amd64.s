#include "go_asm.h"
#include "textflag.h"

// EIGHT makes a constant of eight 32-bit integers.
#define EIGHT(name, twice) \
	DATA name<>+0(SB)/8, twice; \
	DATA name<>+8(SB)/8, twice; \
	DATA name<>+16(SB)/8, twice; \
	DATA name<>+24(SB)/8, twice; \
	GLOBL name<>(SB), RODATA|NOPTR, $32

EIGHT(field, $0x000000ff000000ff)     // the exponent of a single
EIGHT(bias, $0x0000007f0000007f)      // which it exceeds by so much
EIGHT(ofHalf, $0xfffffff2fffffff2)    // exponents of subnormal numbers: -14
EIGHT(ofBFloat, $0xffffff82ffffff82)  // and -126
EIGHT(ofZero, $0xfffff000fffff000)    // -2^12
EIGHT(ofSpecial, $0x0010000000100000) // 2^20

// FOUR stores four elements: values in V, exponents in XE.
#define FOUR(V, XE, at) \
	VPMOVZXDQ XE, Y4; \
	VUNPCKLPD Y4, V, Y5; \
	VUNPCKHPD Y4, V, Y4; \
	VPERM2F128 $0x20, Y4, Y5, Y3; \
	VPERM2F128 $0x31, Y4, Y5, Y5; \
	VMOVUPD Y3, at(DI); \
	VMOVUPD Y5, (at+32)(DI)

// ELEMENTS decodes the singles in Y0.
#define ELEMENTS(least) \
	VPSRLD $23, Y0, Y1; \
	VPAND field<>(SB), Y1, Y1; \
	VPCMPEQD field<>(SB), Y1, Y2; \
	VPSUBD bias<>(SB), Y1, Y1; \
	VPMAXSD least, Y1, Y1; \
	VPADDD Y0, Y0, Y3; \
	VPXOR Y4, Y4, Y4; \
	VPCMPEQD Y4, Y3, Y3; \
	VMOVDQU ofSpecial<>(SB), Y4; \
	VPBLENDVB Y2, Y4, Y1, Y1; \
	VMOVDQU ofZero<>(SB), Y4; \
	VPBLENDVB Y3, Y4, Y1, Y1; \
	VCVTPS2PD X0, Y2; \
	FOUR(Y2, X1, 0); \
	VEXTRACTF128 $1, Y0, X0; \
	VCVTPS2PD X0, Y2; \
	VEXTRACTI128 $1, Y1, X1; \
	FOUR(Y2, X1, 64); \
	VZEROUPPER

// func decodeHalves(to *[8]Element, chunk *[ChunkBytes]byte)
TEXT ·decodeHalves(SB), NOSPLIT, $0-16
	MOVQ to+0(FP), DI
	MOVQ chunk+8(FP), SI
	VCVTPH2PS (SI), Y0
	ELEMENTS(ofHalf<>(SB))
	RET

// func decodeBFloats(to *[8]Element, chunk *[ChunkBytes]byte)
TEXT ·decodeBFloats(SB), NOSPLIT, $0-16
	MOVQ to+0(FP), DI
	MOVQ chunk+8(FP), SI
	VPMOVZXWD (SI), Y0
	VPSLLD $16, Y0, Y0
	ELEMENTS(ofBFloat<>(SB))
	RET
