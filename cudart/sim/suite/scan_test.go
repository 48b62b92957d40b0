package suite

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"gpurun/cudart"
)

func scanKernels(r *rand.Rand) []kernel {
	const n = 4096
	x := words(r, n)
	passing := slices.DeleteFunc(slices.Clone(x), func(v uint32) bool { return v%3 != 0 })
	slices.Sort(passing)
	return []kernel{
		{"scan_blelloch", cudart.Launch{Blocks: n / 512, Threads: 256}, []arg{in(x), out(prefix(x, 512, false))}},
		{"scan_shuffle", cudart.Launch{Blocks: n / 1024, Threads: 1024}, []arg{in(x), out(prefix(x, 1024, true))}},
		{"scan_lookback", cudart.Launch{Blocks: n / 128, Threads: 128}, []arg{
			in(x), out(prefix(x, n, true)),
			checked(make([]uint64, n/128), func([]uint64) error { return nil }), inout([]uint32{0}, []uint32{n / 128}),
		}},
		{"compact", cudart.Launch{Blocks: n / 256, Threads: 256}, []arg{
			in(x), sorted(poison[uint32](len(passing)), passing), inout([]uint32{0}, []uint32{uint32(len(passing))}),
		}},
	}
}

// prefix has the sums, modulo 2^32, of each stretch of a size.
func prefix(x []uint32, size int, inclusive bool) []uint32 {
	sum := uint32(0)
	return fill(len(x), func(i int) uint32 {
		if i%size == 0 {
			sum = 0
		}
		before := sum
		sum += x[i]
		if inclusive {
			return sum
		}
		return before
	})
}

// sorted is a buffer whose elements may come in any order.
func sorted(x, want []uint32) arg {
	return checked(x, func(got []uint32) error {
		slices.Sort(got)
		if !slices.Equal(want, got) {
			return fmt.Errorf("the elements, sorted, are not those that are wanted")
		}
		return nil
	})
}
