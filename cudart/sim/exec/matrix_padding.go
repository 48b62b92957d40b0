package exec

import "gpurun/cudart/sim/tensorcore"

// padding says which rows of A and columns of B are nothing but zeros, as those beyond
// a matrix are. Their products with finite numbers add nothing, and are left out:
// of small matrices in large tiles they are nearly all.
type padding struct {
	rows             [32]bool  // of a warp
	columns          [256]bool // of the largest multiplication
	finiteA, finiteB bool      // no element is an infinity or a NaN
}

func (p *floatProduct) takeA(a matrix[tensorcore.Element]) {
	p.a, p.finiteA = a, markZeros(p.rows[:], a)
	if p.tiles && p.acc.transposed {
		p.interleave(a)
	}
}

func (p *floatProduct) takeB(b matrix[tensorcore.Element]) {
	p.b, p.finiteB = b, markZeros(p.columns[:], b)
	if p.tiles && !p.acc.transposed {
		p.interleave(b)
	}
}

// products is how many of k products of a row and a column are to be summed: all or none.
func (p *padding) products(row, column, k int) int {
	if p.finiteB && p.rows[row] || p.finiteA && p.columns[column] {
		return 0
	}
	return k
}

// markZeros marks the rows of zeros, and reports whether all elements are finite.
func markZeros(marks []bool, m matrix[tensorcore.Element]) (finite bool) {
	finite = true
	for i := range len(m.elements) / m.k {
		zero, finiteRow := tensorcore.Kinds(m.row(i))
		marks[i], finite = zero, finite && finiteRow
	}
	return finite
}
