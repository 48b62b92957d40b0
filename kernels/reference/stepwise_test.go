package reference

import (
	"math"
	"testing"

	"gpurun/kernels/collective"
)

// stepByStep reduces element i as a ring does: from a rank on around, every
// partial result rounded to the type.
func stepByStep(in Input, first int, i int64) uint64 {
	c, number := codecOf(in.DType), in.numbers()
	round := func(x float64) float64 { return c.decode(c.encode(x)) }
	factor := 1.0
	if in.Op == collective.Avg {
		factor = round(1 / float64(in.World))
	}
	partial := []float64{round(number(first, i) * factor)}
	for k := 1; k < in.World; k++ {
		in.combineNumbers(partial, []float64{round(number((first+k)%in.World, i) * factor)})
		partial[0] = round(partial[0])
	}
	return c.encode(partial[0])
}

// Whatever rank a ring begins with, its result is within the bounds; a result
// with the wrong sign is not, as long as the steps are few for the type: among 8
// ranks 8-bit floats may lose all that they have.
func TestStepwise(t *testing.T) {
	const count = 4096
	for _, d := range []collective.DType{
		collective.Half, collective.BFloat16, collective.Float, collective.Double, collective.F8E4M3, collective.F8E5M2,
	} {
		for _, op := range collective.Ops() {
			for _, pattern := range []Pattern{Exact, Random} {
				for _, world := range []int{2, 3, 4, 8} {
					in := Input{Seed: 5, Pattern: pattern, DType: d, Op: op, World: world, Stepwise: true, ScalesInputs: true}
					good, off := make([]byte, count*d.Size), make([]byte, count*d.Size)
					for i := range int64(count) {
						bits := stepByStep(in, int(i)%world, i)
						put(good, i, d.Size, bits)
						put(off, i, d.Size, bits^1<<(8*d.Size-1)) // the sign
					}
					if v := in.Reduced(good); v.Wrong != 0 {
						t.Errorf("%+v: %+v", in, v)
					}
					if v := in.Reduced(off); v.Wrong < count/3 && float64(world)*in.unit() < 0.5 {
						t.Errorf("%+v: a wrong sign is found in %d of %d", in, v.Wrong, count)
					}
				}
			}
		}
	}
}

// Sums and averages whose steps are all exact must still match to the bit.
func TestStepwiseExactSumsAreExact(t *testing.T) {
	for _, op := range []collective.Op{collective.Sum, collective.Avg} { // the quotient of an average by 4 is exact, too
		in := Input{Seed: 5, Pattern: Exact, DType: collective.BFloat16, Op: op, World: 4, Stepwise: true}
		got := make([]byte, 2)
		put(got, 0, 2, stepByStep(in, 0, 0)^1)
		if v := in.Reduced(got); v.Wrong != 1 {
			t.Errorf("%v: a wrong last bit is not found: %+v", op, v)
		}
	}
}

func TestStepwiseCutsShortIntegers(t *testing.T) {
	in := Input{Seed: 1, Pattern: Random, DType: collective.Int8, Op: collective.Avg, World: 4}
	differs := 0
	for i := range int64(256) {
		var sum int8
		for rank := range in.World {
			sum += int8(in.integer(rank, i))
		}
		got := []byte{byte(sum / 4)}
		in.First = i
		in.Stepwise = true
		if v := in.Reduced(got); v.Wrong != 0 {
			t.Fatalf("element %d: %+v", i, v)
		}
		in.Stepwise = false
		differs += int(in.Reduced(got).Wrong)
	}
	if differs < 32 {
		t.Errorf("only %d of 256 sums overflow", differs)
	}
}

func TestGammaHasALimit(t *testing.T) {
	if g := gamma(8, 1.0/8); !math.IsInf(g, 1) {
		t.Errorf("γ(8) with u = 1/8 is %v", g)
	}
}
