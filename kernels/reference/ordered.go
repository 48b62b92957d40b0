package reference

import "gpurun/kernels/collective"

// orderedNumbers expects the bits that the ranks' numbers give when they are combined in order and each step is rounded
// to the type of the computation, or in a chain each but the last to the element type. The steps are computed in fp64.
// For sums and products of types of up to 24 bits of significand, rounding such a result again gives the rounded result
// (Figueroa, When is double rounding innocuous?, 1995).
func (in Input) orderedNumbers() judge {
	c, number := codecOf(in.DType), in.numbers()
	round, roundLast, first := in.rounder(), in.rounder(), 0
	if in.Chain {
		round, first = rounderTo(in.DType), in.Root+1
	}
	return func(i int64, got uint64) (uint64, bool) {
		partial := number(first%in.World, i)
		for k := 1; k < in.World; k++ {
			partial = in.combineNumbers(partial, number((first+k)%in.World, i))
			if k < in.World-1 {
				partial = round(partial)
			}
		}
		want := c.encode(roundLast(in.finish(roundLast(partial))))
		return want, got == want
	}
}

// rounder rounds to the type of the computation.
func (in Input) rounder() func(float64) float64 {
	d := in.Accumulator
	switch {
	case in.Stepwise:
		d = in.DType
	case d.Name == "" && in.DType.Size == 8:
		return func(x float64) float64 { return x }
	case d.Name == "":
		d = collective.Float
	}
	return rounderTo(d)
}

func rounderTo(d collective.DType) func(float64) float64 {
	c := codecOf(d)
	return func(x float64) float64 { return c.decode(c.encode(x)) }
}
