#include "textflag.h"

// func Run(regs *Lanes, steps *Step, n int)
TEXT ·Run(SB), NOSPLIT, $8-24
	MOVQ regs+0(FP), R11
	MOVQ steps+8(FP), R9
	MOVQ n+16(FP), R10

next:
	MOVQ 0(R9), AX
	MOVL 8(R9), DI
	MOVL 12(R9), SI
	MOVL 16(R9), DX
	MOVL 20(R9), CX
	ADDQ R11, DI
	ADDQ R11, SI
	ADDQ R11, DX
	ADDQ R11, CX
	CALL AX
	ADDQ $24, R9
	DECQ R10
	JNZ  next
	VZEROUPPER
	RET
