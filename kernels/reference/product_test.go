package reference

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/kernels/collective"
)

// products are small ones, gathered, reduced, and neither.
func products(pattern Pattern) []Product {
	var all []Product
	for _, d := range []collective.DType{collective.Half, collective.BFloat16} {
		for _, gathered := range []bool{true, false} {
			for _, world := range []int{1, 3} {
				all = append(all, Product{
					Seed: 5, Pattern: pattern, DType: d, M: 6, N: 5, K: 200, World: world, Gathered: gathered,
				})
			}
		}
		all = append(all, Product{Seed: 5, Pattern: pattern, DType: d, M: 6, N: 5, K: 200, World: 3, Local: true})
	}
	return all
}

func (p Product) name() string {
	return fmt.Sprintf("%s, gathered %t, local %t, %d ranks, pattern %d", p.DType.Name, p.Gathered, p.Local, p.World,
		p.Pattern)
}

// decoded are the numbers that a fill makes.
func decoded(d collective.DType, count int64, fill func(dst []byte)) []float64 {
	raw, numbers := make([]byte, count*int64(d.Size)), make([]float64, count)
	fill(raw)
	for i := range numbers {
		numbers[i] = codecOf(d).decode(get(raw, int64(i), d.Size))
	}
	return numbers
}

// operands are the A and B of a product that a rank's result is the sum of, put together
// from what the ranks are given.
func (p Product) operands(rank, term int) (a, b []float64) {
	if p.Local {
		term = rank
	}
	if !p.Gathered {
		return decoded(p.DType, p.M*p.K, func(dst []byte) { p.FillA(dst, term, 0) }),
			decoded(p.DType, p.N*p.K, func(dst []byte) { p.FillB(dst, term, 0) })
	}
	for r := range p.World {
		a = append(a, decoded(p.DType, p.M/int64(p.World)*p.K, func(dst []byte) { p.FillA(dst, r, 0) })...)
	}
	return a, decoded(p.DType, p.N*p.K, func(dst []byte) { p.FillB(dst, rank, 0) })
}

// computed is a result as a kernel might compute it: each product is summed by sum,
// rounded, and added in fp32.
func (p Product) computed(rank int, sum func(a, b []float64) float64) []byte {
	c, out := codecOf(p.DType), make([]byte, p.M*p.N*int64(p.DType.Size))
	totals := make([]float32, p.M*p.N)
	for term := range p.Terms() {
		a, b := p.operands(rank, term)
		for i := range totals {
			row, column := int64(i)/p.N, int64(i)%p.N
			totals[i] += float32(c.decode(c.encode(sum(a[row*p.K:][:p.K], b[column*p.K:][:p.K]))))
		}
	}
	for i, total := range totals {
		put(out, int64(i), p.DType.Size, c.encode(float64(total)))
	}
	return out
}

// inOrder adds in fp32, from the first on.
func inOrder(a, b []float64) float64 {
	var sum float32
	for i, x := range a {
		sum += float32(x * b[i])
	}
	return float64(sum)
}

// truncating adds as tensor cores may: 16 products at a time, aligned to the largest,
// and cut off at 24 bits.
func truncating(a, b []float64) float64 {
	sum := 0.0
	for at := 0; at < len(a); at += 16 {
		terms := []float64{sum}
		for i := at; i < min(at+16, len(a)); i++ {
			terms = append(terms, a[i]*b[i])
		}
		exponent := math.MinInt
		for _, x := range terms {
			if _, e := math.Frexp(x); x != 0 {
				exponent = max(exponent, e)
			}
		}
		step := math.Ldexp(1, exponent-24)
		sum = 0
		for _, x := range terms {
			sum += math.Trunc(x/step) * step
		}
		sum = float64(float32(sum))
	}
	return sum
}

// judged is the verdict on a result, element by element and by the norm.
func (p Product) judged(rank int, got []byte) (wrong int64, normal bool) {
	v, n := p.Judge(got, 0, p.Quantities(rank, 0, p.M), false)
	return v.Wrong, n.Relative() <= n.Limit(p)
}

// A correct result is accepted for any order of the additions, rounded or truncated.
func TestProductsInAnyOrderAreRight(t *testing.T) {
	backwards := func(a, b []float64) float64 {
		a, b = slices.Clone(a), slices.Clone(b)
		slices.Reverse(a)
		slices.Reverse(b)
		return inOrder(a, b)
	}
	for _, pattern := range []Pattern{Exact, Random} {
		for _, p := range products(pattern) {
			sums := map[string]func(a, b []float64) float64{
				"in order": inOrder, "backwards": backwards, "truncating": truncating,
			}
			for name, sum := range sums {
				rank := p.World - 1
				if wrong, normal := p.judged(rank, p.computed(rank, sum)); wrong > 0 || !normal {
					t.Errorf("%s, %s: %d wrong, norm fits %t", p.name(), name, wrong, normal)
				}
			}
		}
	}
}

// A wrong result is found: with small integers every wrong bit, with random numbers an error that
// exceeds rounding.
func TestWrongProductsAreFound(t *testing.T) {
	for name, wrongly := range map[string]func(a, b []float64) float64{
		"the last products are missing": func(a, b []float64) float64 { return inOrder(a[:len(a)-8], b) },
		"a product is there twice": func(a, b []float64) float64 {
			return inOrder(append(a[:8:8], a...), append(b[:8:8], b...))
		},
		"off by one column": func(a, b []float64) float64 { return inOrder(a[:len(a)-1], b[1:]) },
		"not a number":      func(_, _ []float64) float64 { return math.NaN() },
		"zero":              func(_, _ []float64) float64 { return 0 },
		"all too large":     func(a, b []float64) float64 { return inOrder(a, b) * (1 + 0x1p-5) },
	} {
		for _, pattern := range []Pattern{Exact, Random} {
			for _, p := range products(pattern) {
				wrong, normal := p.judged(0, p.computed(0, wrongly))
				if wrong == 0 && normal {
					t.Errorf("%s: %s is not found", p.name(), name)
				}
			}
		}
	}
	for _, p := range products(Exact) {
		for i := range p.M * p.N {
			got := p.computed(0, inOrder)
			got[2*i] ^= 1
			v, _ := p.Judge(got, 0, p.Quantities(0, 0, p.M), false)
			if v.Wrong != 1 || v.First != i {
				t.Fatalf("%s: a bit of element %d is wrong: %+v", p.name(), i, v)
			}
		}
	}
}

// A sum that is sometimes rounded to the element type, as in a kernel without an fp32 accumulator,
// is found by the norm or by an element.
func TestShortAccumulatorIsFound(t *testing.T) {
	for _, p := range products(Random) {
		p.K = 4000
		c := codecOf(p.DType)
		short := func(a, b []float64) float64 {
			sum := 0.0
			for i, x := range a {
				sum = c.decode(c.encode(sum + x*b[i]))
			}
			return sum
		}
		if wrong, normal := p.judged(0, p.computed(0, short)); wrong == 0 && normal {
			t.Errorf("%s: not found", p.name())
		}
	}
}

// Bounds are as derived: of 1600 products and 100 times a sum in units of 2^-23, relative
// to the magnitudes; of each of several products a rounding to the element type.
func TestBoundsOfProducts(t *testing.T) {
	const accumulating = 1700 * 0x1p-23
	gathered := Product{Pattern: Random, DType: collective.Half, M: 1, N: 1, K: 1600, World: 2, Gathered: true}
	reduced := gathered
	reduced.Gathered = false
	for _, tt := range []struct {
		p      Product
		single bool
		bound  float64
	}{
		{gathered, false, accumulating},
		{gathered, true, accumulating + 1601*0x1p-24},
		{reduced, false, accumulating + 0x1p-11*(0.5+accumulating)},
	} {
		q := []Quantities{{Magnitude: 1, Partials: 0.5}}
		for factor, want := range map[float64]int64{0.98: 0, 1.02: 1, -0.98: 0, -1.02: 1} {
			got := make([]byte, 2)
			put(got, 0, 2, codecOf(collective.Half).encode(factor*tt.bound))
			if v, _ := tt.p.Judge(got, 0, q, tt.single); v.Wrong != want {
				t.Errorf("%s, in fp32 %t, %v of the bound %v: %d wrong, want %d", tt.p.name(), tt.single, factor, tt.bound, v.Wrong,
					want)
			}
		}
	}
	n := Norms{Sum: 4, Magnitude: 100, Partials: 9}
	summed := 3 * math.Sqrt(1700) * 0x1p-23 * 10
	for p, want := range map[*Product]float64{
		&gathered: (0x1p-11*2 + summed) / 2, &reduced: (0x1p-11*(2+3) + summed) / 2,
	} {
		if got := n.Limit(*p); math.Abs(got/want-1) > 1e-9 {
			t.Errorf("%s: the norm may be %v, want %v", p.name(), got, want)
		}
	}
}

// Quantities are sums over the elements that the ranks are given; Element is one of
// them, and rows may be taken by themselves.
func TestQuantities(t *testing.T) {
	for _, p := range products(Exact) {
		rank := p.World - 1
		got, c := p.Quantities(rank, 0, p.M), codecOf(p.DType)
		want := make([]Quantities, len(got))
		for term := range p.Terms() {
			a, b := p.operands(rank, term)
			for i := range want {
				row, column := int64(i)/p.N, int64(i)%p.N
				var sum, magnitude float64
				for k := range p.K {
					x := a[row*p.K+k] * b[column*p.K+k]
					sum, magnitude = sum+x, magnitude+math.Abs(x)
				}
				q := &want[i]
				q.Sum, q.Magnitude, q.Partials = q.Sum+sum, q.Magnitude+magnitude, q.Partials+math.Abs(sum)
				q.Rounded += c.decode(c.encode(sum))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", p.name(), diff)
		}
		if diff := cmp.Diff(want[3*p.N:5*p.N], p.Quantities(rank, 3, 2)); diff != "" {
			t.Errorf("%s, rows 3 and 4: %s", p.name(), diff)
		}
		if diff := cmp.Diff(want[4*p.N+2], p.Element(rank, 4, 2)); diff != "" {
			t.Errorf("%s, row 4, column 2: %s", p.name(), diff)
		}
	}
}

// The operands for a check are those that the ranks have, and comparisons see one bit.
func TestOperands(t *testing.T) {
	for _, p := range products(Random) {
		for term := range p.Terms() {
			a, b := p.operands(1%p.World, term)
			gotA := decoded(p.DType, p.M*p.K-3, func(dst []byte) { p.FillTermA(dst, 1%p.World, term, 3) })
			gotB := decoded(p.DType, p.N*p.K-3, func(dst []byte) { p.FillTermB(dst, 1%p.World, term, 3) })
			if diff := cmp.Diff([][]float64{a[3:], b[3:]}, [][]float64{gotA, gotB}); diff != "" {
				t.Errorf("%s, term %d: %s", p.name(), term, diff)
			}
		}
		for name, x := range map[string]struct {
			fill    func(dst []byte)
			compare func(got []byte) Verdict
		}{
			"A": {
				func(dst []byte) { p.FillA(dst, p.World-1, 8) }, func(got []byte) Verdict { return p.CompareA(got, p.World-1, 8) },
			},
			"B": {
				func(dst []byte) { p.FillB(dst, p.World-1, 8) }, func(got []byte) Verdict { return p.CompareB(got, p.World-1, 8) },
			},
			"gathered A": {
				func(dst []byte) { p.FillTermA(dst, 0, 0, 8) }, func(got []byte) Verdict { return p.CompareGathered(got, 8) },
			},
		} {
			raw := make([]byte, 2*20)
			x.fill(raw)
			if v := x.compare(raw); v.Wrong != 0 {
				t.Errorf("%s, %s: %+v", p.name(), name, v)
			}
			raw[2*7] ^= 1
			if v := x.compare(raw); v.Wrong != 1 || v.First != 8+7 {
				t.Errorf("%s, %s, a bit of element 15 is wrong: %+v", p.name(), name, v)
			}
		}
	}
}

// Quantities in fp32 are confirmed, unless one is wrong.
func TestConfirm(t *testing.T) {
	for _, pattern := range []Pattern{Exact, Random} {
		for _, p := range products(pattern) {
			q := p.Element(0, 2, 3)
			single := Quantities{
				float64(float32(q.Sum)), float64(float32(q.Rounded)), float64(float32(q.Magnitude)), float64(float32(q.Partials)),
			}
			if err := p.Confirm(0, 2, 3, single); err != nil {
				t.Errorf("%s: %v", p.name(), err)
			}
			for name, spoil := range map[string]func(q *Quantities){
				"sum": func(q *Quantities) { q.Sum++ }, "rounded": func(q *Quantities) { q.Rounded *= 3 },
				"magnitude": func(q *Quantities) { q.Magnitude *= 0.99 },
				"partials":  func(q *Quantities) { q.Partials = math.NaN() },
			} {
				bad := single
				if spoil(&bad); p.Confirm(0, 2, 3, bad) == nil {
					t.Errorf("%s: a wrong %s is confirmed", p.name(), name)
				}
			}
		}
	}
}

// A result of zeros is judged, too.
func TestNormsOfNothing(t *testing.T) {
	if n := (Norms{}); n.Relative() != 0 || n.Limit(Product{DType: collective.Half, K: 8}) != 0 {
		t.Errorf("%v, %v", n.Relative(), n.Limit(Product{DType: collective.Half, K: 8}))
	}
	if n := (Norms{Error: math.NaN()}); !math.IsNaN(n.Relative()) {
		t.Error("what is not a number has a norm")
	}
}
