package reference

import (
	"math"

	"gpurun/kernels/collective"
)

// Product describes products of matrices whose inputs are spread over the ranks: A of
// M x K, B of K x N, stored by columns. It regenerates the inputs from a seed.
type Product struct {
	Seed uint64
	// Pattern Exact: the inputs are small integers, whose sums are exact in fp32. The result
	// then has the same bits in any order of additions.
	Pattern Pattern
	DType   collective.DType // of 16 bits
	M, N, K int64
	World   int
	// Gathered: the rows of one A are divided evenly among the ranks, and every rank multiplies
	// the whole A by its own B. Otherwise every rank has an A and a B, and the result is the
	// sum of the ranks' products, each rounded to the element type.
	Gathered bool
	// Local: the products are not added. The result is the rank's own product.
	Local bool
	// Stepwise: the products are added in any order, and every partial sum is rounded to the
	// element type, as external libraries do.
	Stepwise bool
}

// The operands use different random numbers.
const (
	operandA = 0x5851f42d4c957f2d
	operandB = 0x14057b7ef767814f
)

// FillA writes elements of a rank's A, from one on, to dst.
func (p Product) FillA(dst []byte, rank int, first int64) {
	owner, first := p.ownerOfA(rank, first)
	p.fill(dst, operandA, owner, first)
}

// FillB writes elements of a rank's B, from one on, to dst.
func (p Product) FillB(dst []byte, rank int, first int64) { p.fill(dst, operandB, rank, first) }

// FillTermA and FillTermB write elements, from one on, of the operands of one term. A term is one
// of the products whose sum is the rank's result. Its A has all M rows.
func (p Product) FillTermA(dst []byte, rank, term int, first int64) {
	owner, _ := p.term(rank, term)
	p.fill(dst, operandA, owner, first)
}

// FillTermB is documented with FillTermA.
func (p Product) FillTermB(dst []byte, rank, term int, first int64) {
	_, owner := p.term(rank, term)
	p.fill(dst, operandB, owner, first)
}

// CompareA compares elements of a rank's A, from one on, bit for bit. CompareB compares those of
// its B, and CompareGathered those of the gathered A.
func (p Product) CompareA(got []byte, rank int, first int64) Verdict {
	owner, at := p.ownerOfA(rank, first)
	return p.compare(got, operandA, owner, at, first)
}

// CompareB is documented with CompareA.
func (p Product) CompareB(got []byte, rank int, first int64) Verdict {
	return p.compare(got, operandB, rank, first, first)
}

// CompareGathered is documented with CompareA.
func (p Product) CompareGathered(got []byte, first int64) Verdict {
	return p.compare(got, operandA, 0, first, first)
}

// ownerOfA returns the source of an element of a rank's A. A gathered A is generated as rank 0's.
func (p Product) ownerOfA(rank int, at int64) (int, int64) {
	if p.Gathered {
		return 0, at + int64(rank)*(p.M/int64(p.World))*p.K
	}
	return rank, at
}

// Terms is the number of products that are added up.
func (p Product) Terms() int {
	if p.Gathered || p.Local {
		return 1
	}
	return p.World
}

// generator makes the numbers of an operand.
func (p Product) generator(operand uint64) *generator {
	in := Input{Seed: mix(p.Seed ^ operand), Pattern: p.Pattern, DType: p.DType, Op: collective.Sum, World: p.World}
	g := in.generator()
	if p.Pattern == Exact {
		// No element is zero, so no product is a negative zero. The sum of 2^20 products is at
		// most 9 * 2^20, which is exact in fp32.
		g.draw, g.largest = nonzero, 3
	}
	return g
}

func (p Product) fill(dst []byte, operand uint64, rank int, first int64) {
	g := p.generator(operand)
	store(dst, p.DType.Size, func(to []uint64, at int64) { g.encoded(to, rank, first+at) })
}

// compare compares elements with those of a rank's operand from at on. The verdict counts
// indices from first.
func (p Product) compare(got []byte, operand uint64, rank int, at, first int64) Verdict {
	g := p.generator(operand)
	return compare(got, p.DType.Size, first, bitForBit(func(want []uint64, i int64) {
		g.encoded(want, rank, i-first+at)
	}))
}

// Quantities are the reference value and the error bounds' inputs for an element of a result. Each
// is a sum over the result's terms.
type Quantities struct {
	Sum       float64 // of the products
	Rounded   float64 // of the products, each rounded to the element type
	Magnitude float64 // of the magnitudes of all summands of the products: |A||B|
	Partials  float64 // of the magnitudes of the products
}

// add adds a product. magnitude is the sum of the magnitudes of its summands.
func (q *Quantities) add(sum, magnitude float64, c codec) {
	q.Sum += sum
	q.Rounded += c.decode(c.encode(sum))
	q.Magnitude += magnitude
	q.Partials += math.Abs(sum)
}

// Quantities computes, in fp64, the quantities of rows x N elements of a rank's result, from a row
// of the whole M x N on.
func (p Product) Quantities(rank int, first, rows int64) []Quantities {
	out := make([]Quantities, rows*p.N)
	for t := range p.Terms() {
		ownerA, ownerB := p.term(rank, t)
		a := p.floats(operandA, ownerA, first*p.K, rows*p.K)
		inParallel(p.N*p.K, p.K, func(begin, end int64) {
			p.multiply(out, a, ownerB, begin/p.K, end/p.K)
		})
	}
	return out
}

// Element is Quantities of one element.
func (p Product) Element(rank int, row, column int64) (q Quantities) {
	c := codecOf(p.DType)
	for t := range p.Terms() {
		ownerA, ownerB := p.term(rank, t)
		sum, magnitude := dot(p.floats(operandA, ownerA, row*p.K, p.K), p.floats(operandB, ownerB, column*p.K, p.K))
		q.add(sum, magnitude, c)
	}
	return q
}

// term returns the rank whose A, and the rank whose B, are the operands of a term.
func (p Product) term(rank, t int) (ownerA, ownerB int) {
	switch {
	case p.Gathered:
		return 0, rank
	case p.Local:
		return rank, rank
	}
	return t, t
}

// multiply adds the product of rows of A and columns [begin, end) of a rank's B.
func (p Product) multiply(out []Quantities, a []float32, rank int, begin, end int64) {
	c := codecOf(p.DType)
	for column := begin; column < end; column++ {
		b := p.floats(operandB, rank, column*p.K, p.K)
		for row := range int64(len(a)) / p.K {
			sum, magnitude := dot(a[row*p.K:][:p.K], b)
			out[row*p.N+column].add(sum, magnitude, c)
		}
	}
}

// floats returns so many elements of a rank's operand.
func (p Product) floats(operand uint64, rank int, first, count int64) []float32 {
	g, all := p.generator(operand), make([]float32, count)
	for i := range all {
		all[i] = float32(g.at(rank, first+int64(i)))
	}
	return all
}

// dot is the sum of the products of two rows, and of their magnitudes. Products are
// exact in fp64.
func dot(a, b []float32) (sum, magnitude float64) {
	for i, x := range a {
		product := float64(x) * float64(b[i])
		sum += product
		magnitude += math.Abs(product)
	}
	return sum, magnitude
}
