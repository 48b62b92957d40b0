package reference

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync"
)

// Errors of products. A GEMM adds K exact products in fp32, in an unspecified order. Tensor cores
// add about 16 of them to the sum at a time. They align all summands, the sum included, to the
// largest one and truncate them. The error of each is up to 2^-23 of the largest (Fasi, Higham,
// Mikaitis and Pranesh, Numerical behavior of NVIDIA tensor cores, 2021).
// In total these are K + K/16 roundings with a unit of 2^-23.
const (
	accumulatorUnit = 0x1p-23
	singleUnit      = 0x1p-24
	mmaDepth        = 16
)

// accumulating bounds the error of a product relative to |A||B|: γ of K + K/16 roundings (Higham,
// Accuracy and Stability of Numerical Algorithms, 3.1 and 3.5).
func (p Product) accumulating() float64 {
	return gamma(int(p.K+(p.K+mmaDepth-1)/mmaDepth), accumulatorUnit)
}

// checking bounds the error, relative to |A||B|, of quantities that were computed in fp32, in the
// order of K and of the ranks.
func (p Product) checking() float64 { return gamma(int(p.K)+p.Terms(), singleUnit) }

// elementUnit is the rounding error of the element type, relative to the result.
func (p Product) elementUnit() float64 { return math.Ldexp(1, -p.DType.SignificandBits) }

// adding bounds the error of the sum of products. magnitudes is the sum of their magnitudes.
func (p Product) adding(magnitudes float64) float64 {
	unit := singleUnit
	if p.Stepwise {
		unit = p.elementUnit()
	}
	return gamma(p.Terms()-1, unit) * magnitudes
}

// bound limits the difference between a result, before it is rounded, and the sum.
func (p Product) bound(q Quantities, single bool) float64 {
	bound := p.accumulating() * q.Magnitude
	if n := p.Terms(); n > 1 {
		partials := q.Partials + bound
		tiny := float64(n) * math.Ldexp(0.5, p.DType.MinExponent) // where a product is subnormal
		rounding := p.elementUnit()*partials + tiny
		bound += rounding + p.adding(partials+rounding)
	}
	if single {
		bound += p.checking() * q.Magnitude
	}
	return bound
}

// inexact reports whether partial sums are rounded even if the inputs are small integers.
func (p Product) inexact() bool { return p.Stepwise && p.Terms() > 1 }

// Judge compares elements of a result with their quantities; single says that these were computed
// in fp32. first is the index of the first element in the rank's result. With pattern Exact, elements
// must match bit for bit or, if the products are added stepwise, within the error of the additions.
// With random inputs each element has a bound, and the norms have another: see [Norms.Limit].
func (p Product) Judge(got []byte, first int64, q []Quantities, single bool) (Verdict, Norms) {
	c := codecOf(p.DType)
	near := Input{DType: p.DType}.near()
	var mu sync.Mutex
	var total Norms
	var verdict Verdict
	inParallel(int64(len(q)), 1, func(begin, end int64) {
		var part Norms
		right := each(func(i int64, bits uint64) (uint64, bool) {
			x := q[i-first]
			part.add(c.decode(bits), x)
			switch {
			case p.Pattern == Exact && p.inexact():
				return near(bits, x.Rounded, p.adding(x.Partials*(1+p.elementUnit())))
			case p.Pattern == Exact:
				want := c.encode(x.Rounded)
				return want, bits == want
			}
			return near(bits, x.Sum, p.bound(x, single))
		})
		v := right.inTurn(got[begin*2:end*2], p.DType.Size, first+begin)
		mu.Lock()
		defer mu.Unlock()
		verdict, total = verdict.Merge(v), total.Merge(part)
	})
	return verdict, total
}

// Norms are squares of Frobenius norms over some elements of a result.
type Norms struct {
	Error     float64 `json:"error"` // of the found values minus the expected values
	Sum       float64 `json:"sum"`   // of the expected values
	Magnitude float64 `json:"magnitude"`
	Partials  float64 `json:"partials"`
}

func (n *Norms) add(got float64, q Quantities) {
	n.Error += (got - q.Sum) * (got - q.Sum)
	n.Sum += q.Sum * q.Sum
	n.Magnitude += q.Magnitude * q.Magnitude
	n.Partials += q.Partials * q.Partials
}

// Merge returns the norms over the elements of both.
func (n Norms) Merge(m Norms) Norms {
	return Norms{n.Error + m.Error, n.Sum + m.Sum, n.Magnitude + m.Magnitude, n.Partials + m.Partials}
}

// Relative is the norm of the error divided by the norm of the result. It is NaN if any element
// was NaN.
func (n Norms) Relative() float64 {
	if n.Error == 0 {
		return 0
	}
	return math.Sqrt(n.Error / n.Sum)
}

// Limit is the upper limit of Relative for products of random inputs. Each rounding to the element
// type counts with its full unit. The roundings of sums are independent, so they count with the
// square root of their number (Higham and Mary, A new approach to probabilistic rounding error
// analysis, 2019). A factor makes it practically impossible that random errors exceed the limit.
func (n Norms) Limit(p Product) float64 {
	const lambda = 3
	if n.Sum == 0 {
		return 0
	}
	rounded := math.Sqrt(n.Sum)
	if p.Terms() > 1 {
		rounded += math.Sqrt(n.Partials)
	}
	if p.inexact() {
		rounded += float64(p.Terms()-1) * math.Sqrt(n.Partials)
	}
	roundings := float64(p.K + (p.K+mmaDepth-1)/mmaDepth)
	summed := lambda * math.Sqrt(roundings) * accumulatorUnit * math.Sqrt(n.Magnitude)
	return (p.elementUnit()*rounded + summed) / math.Sqrt(n.Sum)
}

// quantitiesBytes is the size of quantities in fp32.
const quantitiesBytes = 16

// DecodeQuantities reads quantities that were computed in fp32: four numbers each, in
// the order of the fields.
func DecodeQuantities(raw []byte) []Quantities {
	all := make([]Quantities, len(raw)/quantitiesBytes)
	number := func(at int) float64 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[at:])))
	}
	for i := range all {
		at := i * quantitiesBytes
		all[i] = Quantities{number(at), number(at + 4), number(at + 8), number(at + 12)}
	}
	return all
}

// Confirm returns an error if quantities that were computed in fp32 are not those of an element.
func (p Product) Confirm(rank int, row, column int64, got Quantities) error {
	want := p.Element(rank, row, column)
	bound := 0.0
	if p.Pattern == Random {
		bound = p.checking() * want.Magnitude
	}
	rounding := bound
	if p.Pattern == Random {
		rounding += 2 * p.elementUnit() * (want.Partials + bound)
		rounding += float64(p.Terms()) * math.Ldexp(1, p.DType.MinExponent)
	}
	for _, x := range []struct {
		name             string
		got, want, bound float64
	}{
		{"sum", got.Sum, want.Sum, bound},
		{"rounded sum", got.Rounded, want.Rounded, rounding},
		{"magnitude", got.Magnitude, want.Magnitude, bound},
		{"magnitude of products", got.Partials, want.Partials, bound},
	} {
		if !(math.Abs(x.got-x.want) <= x.bound) {
			return fmt.Errorf("the %s of row %d, column %d is %v, and the kernel that checks results makes it %v", x.name, row,
				column, x.want, x.got)
		}
	}
	return nil
}
