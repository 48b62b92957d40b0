package reference

import "gpurun/kernels/collective"

// orderedNumbers expects the bits that the ranks' numbers give when they are combined in the order 0 to n-1 and each
// step is rounded to the type of the computation. The steps are computed in fp64. For sums and products of types of up
// to 24 bits of significand, rounding such a result again gives the rounded result (Figueroa, When is double rounding
// innocuous?, 1995).
func (in Input) orderedNumbers() judge {
	c, number, round := codecOf(in.DType), in.numbers(), in.rounder()
	return func(i int64, got uint64) (uint64, bool) {
		partial := number(0, i)
		for rank := 1; rank < in.World; rank++ {
			partial = round(in.combineNumbers(partial, number(rank, i)))
		}
		want := c.encode(round(in.finish(partial)))
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
	c := codecOf(d)
	return func(x float64) float64 { return c.decode(c.encode(x)) }
}
