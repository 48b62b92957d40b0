package exec

import "gpurun/cudart/sim/tensorcore"

// padding says which rows of A and columns of B are nothing but zeros, as those beyond
// a matrix are. Their products with finite numbers add nothing, and are left out:
// of small matrices in large tiles they are nearly all.
type padding struct {
	rows    [16]bool  // of a warp
	columns [256]bool // of the largest multiplication
}

func findPadding(rows, columns [][16]tensorcore.Element) (p padding) {
	if allFinite(columns) {
		markZeros(p.rows[:], rows)
	}
	if allFinite(rows) {
		markZeros(p.columns[:], columns)
	}
	return p
}

// products is how many of k products of a row and a column are to be summed: all or none.
func (p *padding) products(row, column, k int) int {
	if p.rows[row] || p.columns[column] {
		return 0
	}
	return k
}

func allFinite(rows [][16]tensorcore.Element) bool {
	for i := range rows {
		if !tensorcore.AllFinite(rows[i][:]) {
			return false
		}
	}
	return true
}

func markZeros(marks []bool, rows [][16]tensorcore.Element) {
	for i := range rows {
		marks[i] = tensorcore.AllZero(rows[i][:])
	}
}
