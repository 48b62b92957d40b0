package reference

import (
	"math"
	"sync"
)

// Verdict is what a comparison found. Every element was compared.
type Verdict struct {
	Wrong int64 // elements
	// First is the index of the first wrong element; Want and Got are its
	// bits. They mean nothing when Wrong is 0.
	First     int64
	Want, Got uint32
}

// AllReduceSum compares a rank's result, a whole number of elements, with the
// sum of all ranks' inputs.
func (in Input) AllReduceSum(got []byte) Verdict {
	c := codecOf(in.DType)
	want := in.exactSum(c)
	if in.Pattern == Random {
		want = in.roundedSum(c)
	}
	var mu sync.Mutex
	var total Verdict
	inParallel(int64(len(got)/c.size), func(begin, end int64) {
		part := in.compare(c, got, begin, end, want)
		mu.Lock()
		defer mu.Unlock()
		total = total.Merge(part)
	})
	return total
}

// judge says whether bits are right for element i, and which would be.
type judge func(i int64, got uint32) (want uint32, ok bool)

func (in Input) compare(c codec, got []byte, begin, end int64, right judge) Verdict {
	var v Verdict
	for i := begin; i < end; i++ {
		bits := c.bits(got, i)
		want, ok := right(in.First+i, bits)
		if ok {
			continue
		}
		if v.Wrong == 0 {
			v.First, v.Want, v.Got = in.First+i, want, bits
		}
		v.Wrong++
	}
	return v
}

// Merge is the verdict on what either v or w is about.
func (v Verdict) Merge(w Verdict) Verdict {
	first := v
	if v.Wrong == 0 || (w.Wrong > 0 && w.First < v.First) {
		first = w
	}
	first.Wrong = v.Wrong + w.Wrong
	return first
}

// exactSum wants the bits of the sum of the integers.
func (in Input) exactSum(c codec) judge {
	return func(i int64, got uint32) (uint32, bool) {
		sum := float32(0)
		for r := range in.World {
			sum += in.at(r, i)
		}
		want := c.encode(sum)
		return want, got == want
	}
}

// roundedSum wants a value near the sum. Adding n numbers in fp32, in any
// order, errs by at most γ(n-1)·Σ|x| with γ(k) = ku/(1-ku) and u = 2^-24
// (Higham, Accuracy and Stability of Numerical Algorithms, 4.2). Rounding the
// sum s to a type of p bits adds at most 2^-p·|s|, or half a subnormal step.
func (in Input) roundedSum(c codec) judge {
	ku := float64(in.World-1) * math.Ldexp(1, -24)
	gamma := ku / (1 - ku)
	var unit, tiny float64
	if in.DType.SignificandBits < 24 {
		unit = math.Ldexp(1, -in.DType.SignificandBits)
		tiny = math.Ldexp(0.5, in.DType.MinExponent)
	}
	return func(i int64, got uint32) (uint32, bool) {
		// The inputs are multiples of 2^-31 below 2^7: float64 adds them exactly.
		var sum, magnitude float64
		for r := range in.World {
			x := float64(in.at(r, i))
			sum += x
			magnitude += math.Abs(x)
		}
		bound := gamma * magnitude
		bound += unit*(math.Abs(sum)+bound) + tiny
		off := math.Abs(c.decode(got) - sum)
		return c.encode(float32(sum)), off <= bound // false for a NaN
	}
}
