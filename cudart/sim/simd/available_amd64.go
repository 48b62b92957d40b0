package simd

import "golang.org/x/sys/cpu"

// Available reports whether the processor has the instructions that the functions use.
func Available() bool { return cpu.X86.HasAVX2 && cpu.X86.HasFMA && cpu.X86.HasF16C }
