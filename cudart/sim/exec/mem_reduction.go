package exec

import "gpurun/cudart/sim/ptx"

// reduction is what multimem.ld_reduce does with the elements of all members:
// widen the first, fold in the others in the order of the members, and narrow
// the outcome.
//
// Without an accumulation type every step is rounded to the element's type. With
// .acc::f32 or .acc::f16 every step is rounded to that, and the outcome once
// to the element's type. Sums of 8-bit floats saturate at the largest finite value.
type reduction struct {
	widen, narrow func(uint64) uint64 // nil where the accumulator is of the element's type
	fold          update
}

// reductionOf finds how to reduce elements of type t, of which a packed type
// has several. The accumulator is "", "acc::f16" or "acc::f32".
func reductionOf(name string, t ptx.Type, accumulator string) reduction {
	f := formatOf(t)
	switch {
	case t.IsFloat8():
		return reductionOfFloat8(name, float8Of(t), accumulator)
	case !t.IsFloat():
		return reduction{fold: modifyInt(name, t)}
	case t.Bits > 16:
		return reduction{fold: modifyFloat(name, t)}
	case accumulator != "":
		return reduction{
			widen:  func(x uint64) uint64 { return f32bits(float32(f.decode(x))) },
			fold:   func(a, b uint64) uint64 { return f32bits(f32(a) + f32(b)) },
			narrow: func(x uint64) uint64 { return f.encode(float64(f32(x)), toNearestEven) },
		}
	}
	step := smallFloat(f, name)
	return reduction{fold: func(a, b uint64) uint64 { return step(a, b, 0) }}
}

func reductionOfFloat8(name string, f *float8, accumulator string) reduction {
	switch {
	case name != "add":
		return reduction{fold: f.extremum(name == "max")}
	case accumulator == "":
		return reduction{fold: func(a, b uint64) uint64 { return f.encode(f.decode(a) + f.decode(b)) }}
	}
	add := smallFloat(binary16, "add")
	return reduction{
		widen:  func(x uint64) uint64 { return binary16.encode(f.decode(x), toNearestEven) },
		fold:   func(a, b uint64) uint64 { return add(a, b, 0) },
		narrow: func(x uint64) uint64 { return f.encode(binary16.decode(x)) },
	}
}

// reduce reduces words of packed elements, bits wide each.
func (r reduction) reduce(words []uint64, bits, lanes int) uint64 {
	mask := widthMask(bits)
	var out uint64
	for shift := 0; shift < bits*lanes; shift += bits {
		var sum uint64
		for i, word := range words {
			x := word >> shift & mask
			if r.widen != nil {
				x = r.widen(x)
			}
			if i == 0 {
				sum = x
			} else {
				sum = r.fold(sum, x)
			}
		}
		if r.narrow != nil {
			sum = r.narrow(sum)
		}
		out |= sum & mask << shift
	}
	return out
}
