package exec

import "gpurun/cudart/sim/tensorcore"

// padding says which rows of A and columns of B are nothing but zeros, as those beyond
// a matrix are. Their products with finite numbers add nothing, and are left out:
// of small matrices in large tiles they are nearly all.
type padding struct {
	rows    [32]bool  // of a warp
	columns [256]bool // of the largest multiplication
}

func (p *floatProduct) findPadding() {
	if tensorcore.AllFinite(p.b.elements) {
		markZeros(p.rows[:], p.a)
	}
	if tensorcore.AllFinite(p.a.elements) {
		markZeros(p.columns[:], p.b)
	}
}

// products is how many of k products of a row and a column are to be summed: all or none.
func (p *padding) products(row, column, k int) int {
	if p.rows[row] || p.columns[column] {
		return 0
	}
	return k
}

func markZeros(marks []bool, m matrix[tensorcore.Element]) {
	for i := range len(m.elements) / m.k {
		marks[i] = tensorcore.AllZero(m.row(i))
	}
}
