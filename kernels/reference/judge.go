package reference

import "gpurun/kernels/collective"

// Reduced compares elements, from First on, with the reduction of all ranks'
// inputs.
func (in Input) Reduced(got []byte) Verdict {
	return compare(got, in.DType.Size, in.First, in.reduction())
}

// From compares elements, from First on, with a rank's input, bit for bit.
func (in Input) From(rank int, got []byte) Verdict {
	elements, mask := in.elements(), ^uint64(0)>>(64-8*in.DType.Size)
	return compare(got, in.DType.Size, in.First, bitForBit(func(want []uint64, first int64) {
		elements(want, rank, first)
		for i := range want {
			want[i] &= mask
		}
	}))
}

// Filled compares elements of a buffer that was filled with a byte.
func Filled(got []byte, size int, value byte) Verdict {
	want := uint64(value) * (0x0101010101010101 >> (64 - 8*size))
	return compare(got, size, 0, each(func(_ int64, got uint64) (uint64, bool) { return want, got == want }))
}

// reduction judges the reduction of all ranks' elements at the same index.
func (in Input) reduction() judge {
	switch {
	case in.DType.Kind != collective.FloatingPoint:
		return in.integers()
	case in.Ordered, in.Chain:
		return in.orderedNumbers()
	case in.ScalesInputs && in.Op == collective.Avg:
		return in.roundedSum()
	case in.Pattern == Exact, in.Op == collective.Min, in.Op == collective.Max:
		return in.exactNumbers()
	case in.Op == collective.Prod:
		return in.roundedProduct()
	default:
		return in.roundedSum()
	}
}
