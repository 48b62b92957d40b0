package reference

import "gpurun/kernels/collective"

// integers expects the exact bits of the reduction. 8-bit types are computed in 32 bits, the others
// in their own width. The result is truncated to the element type.
func (in Input) integers() judge {
	work := max(8*in.DType.Size, 32)
	if in.Stepwise {
		work = 8 * in.DType.Size
	}
	return each(func(i int64, got uint64) (uint64, bool) {
		partial := in.cut(in.integer(0, i), 8*in.DType.Size)
		for rank := 1; rank < in.World; rank++ {
			x := in.cut(in.integer(rank, i), 8*in.DType.Size)
			partial = in.cut(in.combineIntegers(partial, x), work)
		}
		if in.Op == collective.Avg {
			partial = in.divide(partial)
		}
		want := uint64(partial) & (1<<(8*in.DType.Size) - 1)
		return want, got == want
	})
}

// cut keeps the lowest bits of x, and extends them by the sign for a signed type, else by zeros.
func (in *Input) cut(x int64, width int) int64 {
	if in.DType.Kind == collective.Unsigned {
		return int64(uint64(x) << (64 - width) >> (64 - width))
	}
	return x << (64 - width) >> (64 - width)
}

func (in *Input) combineIntegers(a, b int64) int64 {
	less := b < a
	if in.DType.Kind == collective.Unsigned {
		less = uint64(b) < uint64(a)
	}
	switch in.Op {
	case collective.Prod:
		return a * b
	case collective.Min:
		if less {
			return b
		}
		return a
	case collective.Max:
		if less {
			return a
		}
		return b
	default:
		return a + b
	}
}

func (in *Input) divide(sum int64) int64 {
	if in.DType.Kind == collective.Unsigned {
		return int64(uint64(sum) / uint64(in.World))
	}
	return sum / int64(in.World)
}
