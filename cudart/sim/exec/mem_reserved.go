package exec

import (
	"strings"

	"gpurun/cudart/sim/ptx"
)

// Shared memory begins with what CUDA reserves for itself, 1 KB since compute capability 8.0. CUDA's
// cooperative groups have barriers and scratch memory there. Only kernels that ask where it is have it
// here; the variables of others begin at 0. A launch's limit does not count it.
const reservedBytes = 1 << 10

// reservedOffsets are the special registers about it, as an H100 has them.
var reservedOffsets = map[string]uint64{
	"%reserved_smem_offset_begin": 0,
	"%reserved_smem_offset_end":   288,
	"%reserved_smem_offset_cap":   reservedBytes,
	"%reserved_smem_offset_0":     0,
	"%reserved_smem_offset_1":     0,
}

// reservedShared is how much shared memory is reserved in the kernel.
func (l *linker) reservedShared() int64 {
	for _, u := range l.units {
		for i := range u.fn.Body {
			for _, arg := range u.fn.Body[i].Args {
				if arg.Kind == ptx.Special && strings.HasPrefix(arg.Name, "%reserved_smem_offset_") {
					return reservedBytes
				}
			}
		}
	}
	return 0
}

// sharedGranule is the unit in which a block gets its shared memory.
const sharedGranule = 128

// SharedBytes is how much shared memory a multiprocessor gives to a block with so much dynamic one: whole units, and what
// CUDA reserves for itself in every block.
func (k *Kernel) SharedBytes(dynamic int) int64 {
	return align(int64(k.dynamic-k.reserved+dynamic), sharedGranule) + reservedBytes
}

// usedShared is the bytes that a block's variables and its dynamic shared memory take.
func (g *Grid) usedShared() int64 {
	return int64(g.kernel.dynamic - g.kernel.reserved + g.cfg.SharedBytes)
}
