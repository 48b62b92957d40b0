package reference

import "gpurun/kernels/collective"

// orderedNumbers expects the bits that the ranks' numbers give when they are combined in order and each step is rounded
// to the type of the computation, or in a chain each but the last to the element type. The steps are computed in fp64.
// For sums and products of types of up to 24 bits of significand, rounding such a result again gives the rounded result
// (Figueroa, When is double rounding innocuous?, 1995).
func (in Input) orderedNumbers() judge {
	g := in.generator()
	round, roundLast, first := in.rounding(), in.rounding(), 0
	if in.Chain {
		round, first = roundingTo(in.DType), in.Root+1
	}
	return bitForBit(func(want []uint64, from int64) {
		var room, more [longestRun]float64
		partial, next := room[:len(want)], more[:len(want)]
		g.fill(partial, first%in.World, from)
		for k := 1; k < in.World; k++ {
			g.fill(next, (first+k)%in.World, from)
			in.combineNumbers(partial, next)
			if k < in.World-1 {
				round.all(partial)
			}
		}
		roundLast.all(partial)
		in.finish(partial)
		roundLast.all(partial)
		encodeAll(in.DType, want, partial)
	})
}

// rounding rounds numbers to a floating-point type. All numbers are of double already.
type rounding struct {
	to    collective.DType
	codec codec
}

func roundingTo(d collective.DType) rounding { return rounding{d, codecOf(d)} }

// rounding rounds to the type of the computation.
func (in Input) rounding() rounding {
	d := in.Accumulator
	switch {
	case in.Stepwise:
		d = in.DType
	case d.Name == "" && in.DType.Size == 8:
		d = collective.Double
	case d.Name == "":
		d = collective.Float
	}
	return roundingTo(d)
}

func (r rounding) all(x []float64) {
	switch r.to.Name {
	case collective.Double.Name:
	case collective.Float.Name:
		for i := range x {
			x[i] = float64(float32(x[i]))
		}
	case collective.BFloat16.Name:
		for i := range x {
			x[i] = decodeBFloat16(encodeBFloat16(x[i]))
		}
	default:
		for i := range x {
			x[i] = r.codec.decode(r.codec.encode(x[i]))
		}
	}
}
