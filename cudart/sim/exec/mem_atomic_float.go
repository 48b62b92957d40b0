package exec

import "gpurun/cudart/sim/ptx"

// Sums of floats by atomic operations differ from those of add: the units at the L2 cache make them.

// atomicAdd64 passes on a NaN as it is; add makes it a quiet one.
func atomicAdd64(old, v uint64) uint64 {
	for _, x := range []uint64{v, old} {
		if binary64.isNaN(x) {
			return x
		}
	}
	return add64(old, v)
}

// atomicAdd32 is a sum in global memory, where subnormal operands and results are flushed. In shared
// memory they are not.
func atomicAdd32(old, v uint64) uint64 {
	sum := f32bits(f32(binary32.flush(old)) + f32(binary32.flush(v)))
	return binary32.flush(sum)
}

// inGlobal is the update that a named operation makes in global memory, which fn makes elsewhere.
func inGlobal(name string, t ptx.Type, fn update) update {
	if t == typeF32 && name == "add" {
		return atomicAdd32
	}
	return fn
}
