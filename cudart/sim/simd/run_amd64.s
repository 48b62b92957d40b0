#include "go_asm.h"
#include "textflag.h"

// Run keeps, for the code that it calls:
//
//	R9           the step
//	R10          how many steps are left
//	R11 R12 R13  lanes, affine values and forms of register 0
//	R14          r
//
// Code for lanes gets the addresses of its operands' lanes in DI, SI, DX and CX. Affine code and accesses get the
// registers' numbers there, and return with the carry flag set if they have done nothing. All may use the other
// registers.

// func Run(r *Registers, steps *Step, n int) int
TEXT ·Run(SB), NOSPLIT, $8-32
	MOVQ r+0(FP), R14
	MOVQ Registers_Lanes(R14), R11
	MOVQ Registers_Affines(R14), R12
	MOVQ Registers_Forms(R14), R13
	MOVQ steps+8(FP), R9
	MOVQ n+16(FP), R10

next:
	MOVL    Step_d(R9), DI
	MOVL    Step_a(R9), SI
	MOVL    Step_b(R9), DX
	MOVL    Step_c(R9), CX
	MOVBLZX (R13)(SI*1), AX // what all sources are
	MOVBLZX (R13)(SI*1), BX // what some source is
	ANDB    (R13)(DX*1), AX
	ORB     (R13)(DX*1), BX
	ANDB    (R13)(CX*1), AX
	ORB     (R13)(CX*1), BX
	TESTB   $const_FormAffine, AX
	JNZ     affine
	MOVQ    Step_code(R9), AX
	TESTB   $const_FormStale, BX
	JNZ     stop
	TESTQ   AX, AX
	JZ      stop
	MOVBLZX Step_keep(R9), BX
	ANDB    BX, (R13)(DI*1)
	SHLQ    $8, DI
	SHLQ    $8, SI
	SHLQ    $8, DX
	SHLQ    $8, CX
	ADDQ    R11, DI
	ADDQ    R11, SI
	ADDQ    R11, DX
	ADDQ    R11, CX
	CALL    AX

done:
	ADDQ $Step__size, R9
	DECQ R10
	JNZ  next

stop:
	VZEROUPPER
	MOVQ n+16(FP), AX
	SUBQ R10, AX
	MOVQ AX, ret+24(FP)
	RET

affine:
	MOVQ  Step_affine(R9), AX
	TESTQ AX, AX
	JZ    stop
	CALL  AX
	JCC   done
	JMP   stop
