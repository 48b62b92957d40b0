package simd

// Run executes n instructions, one after the other. Registers begin at regs; steps is the first of n.
//
//go:noescape
func Run(regs *Lanes, steps *Step, n int)

// codeOf is the address of an instruction's code.
func codeOf(number int) uintptr
