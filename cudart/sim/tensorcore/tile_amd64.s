#include "go_asm.h"
#include "textflag.h"

// BROADCAST makes a constant of 32 bytes.
#define BROADCAST(name, quad) \
	DATA name<>+0(SB)/8, quad; \
	DATA name<>+8(SB)/8, quad; \
	DATA name<>+16(SB)/8, quad; \
	DATA name<>+24(SB)/8, quad; \
	GLOBL name<>(SB), RODATA|NOPTR, $32

BROADCAST(bias32, $0x0000007f0000007f)    // of singles
BROADCAST(least32, $0xffffff82ffffff82)   // the exponent of subnormal singles, -126
BROADCAST(special, $0x0007ffff0007ffff)   // below exponents with a special operand
BROADCAST(twoBias64, $0x7fe0000000000000) // of doubles, twice, at the place of the exponent
BROADCAST(magnitude64, $0x7fffffffffffffff)
BROADCAST(leastNormal, $0x3810000000000000) // 2^-126, as doubles

// SINGLES packs the low halves of four lanes in Y to X.
#define SINGLES(X, Y, XTMP) \
	VEXTRACTI128 $1, Y, XTMP; \
	VSHUFPS $0x88, XTMP, X, X

// SCALE makes Y, with low half X, the doubles 2^(e-1023) of the exponents in X.
#define SCALE(X, Y) \
	VPMOVZXDQ X, Y; \
	VPSLLQ $const_doubleFraction, Y, Y

// ROUND truncates the sums in Y, in units that the inverse of SCALE has, to singles. It sets bits of R where one is
// subnormal.
#define ROUND(Y, SCALE, T1, T2, R) \
	VMOVDQU twoBias64<>(SB), T1; \
	VPSUBQ SCALE, T1, T1; \
	VMULPD T1, Y, Y; \
	VANDPD Y13, Y, Y; \
	VANDPD magnitude64<>(SB), Y, T1; \
	VCMPPD $0x11, Y12, T1, T1; \
	VCMPPD $0x04, Y11, Y, T2; \
	VANDPD T2, T1, T1; \
	VMOVMSKPD T1, R; \
	ORL R, AX

// The bits of DX are the rows that are left, and those to skip; CX is the number of the row. DI and SI are the
// accumulators of its columns, the even and the odd ones. Y0 holds them as singles: four even ones, then four odd ones.

// func addTile(t *tileArgs) (left uint64)
TEXT ·addTile(SB), NOSPLIT, $0-16
	MOVQ t+0(FP), BX
	MOVQ tileArgs_even(BX), DI
	MOVQ tileArgs_odd(BX), SI
	MOVQ tileArgs_rows(BX), R8
	MOVQ tileArgs_skip(BX), DX
	VPBROADCASTD tileArgs_floor(BX), Y15
	VPBROADCASTD tileArgs_bias(BX), Y14
	VPBROADCASTQ tileArgs_kept(BX), Y13
	VMOVDQU leastNormal<>(SB), Y12
	VPXOR   Y11, Y11, Y11
	XORL    CX, CX

row:
	BTL     CX, DX
	JCS     nextRow
	VMOVDQU (DI), Y0
	VMOVDQU (SI), Y1
	SINGLES(X0, Y0, X2)
	SINGLES(X1, Y1, X2)
	VINSERTI128 $1, X1, Y0, Y0
	MOVQ    R8, R9                       // of the row
	MOVQ    tileArgs_columns(BX), R10    // of the columns
	MOVQ    tileArgs_k(BX), R11          // places that remain
	XORL    AX, AX                       // not 0 where the row must be left

block:
	MOVQ    tileArgs_block(BX), R12
	CMPQ    R12, R11
	CMOVQGT R11, R12
	SUBQ    R12, R11

	// Y2: exponents of the accumulators, of zeros and specials far from others.
	VPCMPEQD Y10, Y10, Y10
	VPSRLD  $24, Y10, Y10
	VPSRLD  $23, Y0, Y2
	VPAND   Y10, Y2, Y2
	VPCMPEQD Y10, Y2, Y3
	VPSRLD  $12, Y3, Y3                  // 2^20 - 1
	VPADDD  Y0, Y0, Y4                   // without the sign
	VPCMPEQD Y11, Y4, Y4
	VPSLLD  $12, Y4, Y4                  // -2^12
	VPSUBD  bias32<>(SB), Y2, Y2
	VPMAXSD least32<>(SB), Y2, Y2
	VPADDD  Y3, Y2, Y2
	VPADDD  Y4, Y2, Y2

	// Y2: the largest exponents, to which addends are aligned.
	VPMAXSD Y15, Y2, Y2
	XORL    R13, R13
	MOVQ    R9, R14

exponents:
	VPBROADCASTD Element_exponent(R14), Y3
	VPADDD  Step_exponents(R10)(R13*1), Y3, Y3
	VPMAXSD Y3, Y2, Y2
	ADDQ    $Element__size, R14
	ADDQ    $Step__size, R13
	DECQ    R12
	JNZ     exponents
	VPCMPGTD special<>(SB), Y2, Y3
	VPMOVMSKB Y3, R12
	ORL     R12, AX

	// Y4 and Y5: scales. Y6 and Y7: sums in units of their last bits, at first the accumulators. A zero is +0.
	VPSUBD  Y2, Y14, Y2
	VEXTRACTI128 $1, Y2, X3
	SCALE(X2, Y4)
	SCALE(X3, Y5)
	VCVTPS2PD X0, Y6
	VEXTRACTF128 $1, Y0, X7
	VCVTPS2PD X7, Y7
	VMULPD  Y4, Y6, Y6
	VMULPD  Y5, Y7, Y7
	VROUNDPD $0x0b, Y6, Y6               // truncates
	VROUNDPD $0x0b, Y7, Y7
	VADDPD  Y11, Y6, Y6
	VADDPD  Y11, Y7, Y7
	ADDQ    R10, R13                     // the end of the block

products:
	VBROADCASTSD Element_value(R9), Y8
	VMULPD  Step_values+0(R10), Y8, Y9
	VMULPD  Step_values+32(R10), Y8, Y8
	VMULPD  Y4, Y9, Y9
	VMULPD  Y5, Y8, Y8
	VROUNDPD $0x0b, Y9, Y9
	VROUNDPD $0x0b, Y8, Y8
	VADDPD  Y9, Y6, Y6
	VADDPD  Y8, Y7, Y7
	ADDQ    $Element__size, R9
	ADDQ    $Step__size, R10
	CMPQ    R10, R13
	JNE     products

	ROUND(Y6, Y4, Y8, Y9, R12)
	ROUND(Y7, Y5, Y8, Y9, R12)
	VCVTPD2PSY Y6, X0
	VCVTPD2PSY Y7, X7
	VINSERTF128 $1, X7, Y0, Y0
	TESTQ   R11, R11
	JNZ     block

	TESTL   AX, AX
	JNZ     leave
	VEXTRACTI128 $1, Y0, X1
	VPMOVZXDQ X0, Y0
	VPMOVZXDQ X1, Y1
	VMOVDQU Y0, (DI)
	VMOVDQU Y1, (SI)
	JMP     nextRow

leave:
	BTSL    CX, DX

nextRow:
	ADDQ    $32, DI
	ADDQ    $32, SI
	MOVQ    tileArgs_k(BX), R11
	IMUL3Q  $Element__size, R11, R11
	ADDQ    R11, R8
	INCL    CX
	CMPL    CX, $const_TileRows
	JNE     row
	VZEROUPPER
	MOVQ    DX, left+8(FP)
	RET
