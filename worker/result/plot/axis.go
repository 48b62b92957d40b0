package plot

import (
	"math"
	"strconv"
)

// axis is a logarithmic axis from least to most. Both are 0 until a value is
// included.
type axis struct{ least, most float64 }

func (a *axis) include(v float64) {
	if a.least == 0 {
		a.least, a.most = v, v
	}
	a.least, a.most = min(a.least, v), max(a.most, v)
}

// widen adds 4% of the axis at both ends. Where there is only one value, it adds the
// factor.
func (a *axis) widen(factor float64) {
	if a.least != a.most {
		factor = math.Pow(a.most/a.least, 0.04)
	}
	a.least, a.most = a.least/factor, a.most*factor
}

// at is the position of a value on the axis, from 0 to 1.
func (a axis) at(v float64) float64 {
	return math.Log(v/a.least) / math.Log(a.most/a.least)
}

// powersOf2 are at most that many ticks, at powers of 2, at equal distances.
func (a axis) powersOf2(most int) []float64 {
	first, last := int(math.Ceil(math.Log2(a.least))), int(math.Floor(math.Log2(a.most)))
	step := 1
	for (last-first)/step+1 > most {
		step++
	}
	var ticks []float64
	for e := first; e <= last; e += step {
		ticks = append(ticks, math.Ldexp(1, e))
	}
	return ticks
}

// decades are at most that many ticks: 1, 2 and 5 times each power of 10, or every power
// of 10, or every n-th power.
func (a axis) decades(most int) []float64 {
	if ticks := a.multiples([]float64{1, 2, 5}, 1); len(ticks) <= most {
		return ticks
	}
	step := 1
	ticks := a.multiples([]float64{1}, step)
	for len(ticks) > most {
		step++
		ticks = a.multiples([]float64{1}, step)
	}
	return ticks
}

// multiples are the multiples of every step-th power of 10 that lie on the axis.
func (a axis) multiples(of []float64, step int) []float64 {
	var ticks []float64
	for e := int(math.Floor(math.Log10(a.least))); e <= int(math.Ceil(math.Log10(a.most))); e += step {
		for _, m := range of {
			if v := m * math.Pow10(e); v >= a.least && v <= a.most {
				ticks = append(ticks, v)
			}
		}
	}
	return ticks
}

// decimal writes a tick, without an exponent from 1e-4 to 1e7.
func decimal(v float64) string {
	if v >= 1e-4 && v < 1e7 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
