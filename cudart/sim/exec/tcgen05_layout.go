package exec

// tensorQuarter is what of D, and of A in tensor memory, lies in the 32 lanes that one of four warps reaches, PTX ISA section
// 9.7.16.10.5. Rows of A and D are those of one block.
type tensorQuarter struct {
	lane           int // of the first row
	row, rows      int
	first, columns int // of D's columns, which lie next to each other from the address of D on
}

// tensorQuarters are the quarters of a layout: A, D and F are of whole columns; of B and E, two quarters have half of the
// columns each, of G all four have a fourth.
func tensorQuarters(m, n, blocks int, ws bool, lane int) (all [4]tensorQuarter) {
	for q := range all {
		p := &all[q]
		*p = tensorQuarter{lane: 32 * q, row: 32 * q, rows: 32, columns: n}
		switch rows := m / blocks; {
		case rows == 128: // A, D
		case rows == 64 && (ws || blocks == 2): // E, B
			p.row, p.first, p.columns = q%2*32, q/2*n/2, n/2
		case rows == 64: // F
			p.lane, p.row, p.rows = 32*q+lane, 16*q, 16
		default: // G
			p.row, p.first, p.columns = 0, q*n/4, n/4
		}
	}
	return all
}
