package suite

import (
	"math/rand/v2"
	"slices"

	"gpurun/cudart"
)

func sortKernels(r *rand.Rand) []kernel {
	const n = 1024
	few := below(r, n, 20)
	x, y := slices.Sorted(slices.Values(words(r, n))), slices.Sorted(slices.Values(words(r, n)))
	copy(x[100:], y[90:120]) // equal keys
	slices.Sort(x)
	both := slices.Concat(x, y)
	slices.Sort(both)
	rows := []kernel{
		{"merge", cudart.Launch{Blocks: 2 * n / 128, Threads: 128}, []arg{in(x), in(y), out(both), value(uint32(n))}},
	}
	for _, keys := range [][]uint32{words(r, n), few} {
		rows = append(rows,
			kernel{"sort_bitonic", cudart.Launch{Blocks: n / 512, Threads: 256}, []arg{inout(keys, sortedBy(keys, 512))}},
			kernel{"sort_odd_even", cudart.Launch{Blocks: n / 512, Threads: 256}, []arg{inout(keys, sortedBy(keys, 512))}},
			kernel{"sort_warp", cudart.Launch{Blocks: n / 64, Threads: 64}, []arg{inout(keys, sortedBy(keys, 32))}},
			kernel{"sort_radix", cudart.Launch{Blocks: n / 256, Threads: 256}, []arg{inout(keys, sortedBy(keys, 256))}},
		)
	}
	return rows
}

// sortedBy sorts each stretch of a size.
func sortedBy(x []uint32, size int) []uint32 {
	x = slices.Clone(x)
	for part := range slices.Chunk(x, size) {
		slices.Sort(part)
	}
	return x
}
