package reference

import "gpurun/kernels/collective"

// AllReduce compares a rank's result, a whole number of elements, with the
// reduction of all ranks' inputs.
func (in Input) AllReduce(got []byte) Verdict {
	return compare(got, in.DType.Size, in.First, in.reduction())
}

// reduction judges the reduction of all ranks' elements at the same index.
func (in Input) reduction() judge {
	switch {
	case in.DType.Kind != collective.FloatingPoint:
		return in.integers()
	case in.Pattern == Exact, in.Op == collective.Min, in.Op == collective.Max:
		return in.exactNumbers()
	case in.Op == collective.Prod:
		return in.roundedProduct()
	default:
		return in.roundedSum()
	}
}
