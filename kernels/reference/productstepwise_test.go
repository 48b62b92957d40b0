package reference

import (
	"testing"

	"gpurun/kernels/collective"
)

// steps is a result of which each product is rounded, and the sum at every step, as
// external libraries do it: from a rank's own product on.
func (p Product) steps(first int, sum func(a, b []float64) float64) []byte {
	c, out := codecOf(p.DType), make([]byte, p.M*p.N*int64(p.DType.Size))
	totals := make([]float64, p.M*p.N)
	for i := range p.Terms() {
		a, b := p.operands(0, (first+i)%p.Terms())
		for i := range totals {
			row, column := int64(i)/p.N, int64(i)%p.N
			product := c.decode(c.encode(sum(a[row*p.K:][:p.K], b[column*p.K:][:p.K])))
			totals[i] = c.decode(c.encode(totals[i] + product))
		}
	}
	for i, total := range totals {
		put(out, int64(i), p.DType.Size, c.encode(total))
	}
	return out
}

// With Stepwise, a result that is rounded at every step is accepted in any order. A wrong result is
// still found.
func TestProductsThatAreAddedStepwise(t *testing.T) {
	for _, pattern := range []Pattern{Exact, Random} {
		for _, p := range products(pattern) {
			if p.Terms() == 1 {
				continue
			}
			p.K = 4000 // whose sums have more digits than bfloat16
			for first := range p.World {
				got := p.steps(first, inOrder)
				p.Stepwise = false
				wrong, _ := p.judged(0, got)
				if pattern == Exact && p.DType.Name == collective.BFloat16.Name && wrong == 0 {
					t.Errorf("%s, from rank %d on: steps make no difference", p.name(), first)
				}
				p.Stepwise = true
				if wrong, normal := p.judged(0, got); wrong > 0 || !normal {
					t.Errorf("%s, from rank %d on: %d wrong, norm fits %t", p.name(), first, wrong, normal)
				}
			}
			missing := func(a, b []float64) float64 { return inOrder(a[:len(a)-200], b) }
			if wrong, normal := p.judged(0, p.steps(0, missing)); wrong == 0 && normal {
				t.Errorf("%s: missing products are not found", p.name())
			}
		}
	}
}
