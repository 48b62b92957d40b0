package exec

import "gpurun/cudart/sim/tensorcore"

// addsTiles reports whether products of floats are added to whole registers by assembly.
func (g *Grid) addsTiles(m tensorcore.Model) bool { return m.AddsTiles() && !g.kernel.program.loops }

// interleave makes the columns of tiles of the rows of B's transpose, or of A where the accumulators are transposed.
func (p *floatProduct) interleave(m matrix[tensorcore.Element]) {
	tensorcore.TakeColumns(room(&p.scratch.columns, len(m.elements)/tensorcore.TileColumns), m.elements, m.k)
}

// addTile adds products to the accumulators in two registers, of which the first has a number: eight rows of eight
// columns. Each sum is that of [tensorcore.Model.Dot].
func (p *floatProduct) addTile(even, odd *lanes, element int) {
	first, left := p.acc.origin(element)
	rows, k := p.a, p.a.k
	if p.acc.transposed {
		rows = p.b
	}
	t := tensorcore.Tile{
		Rows: rows.elements[first*k:], Columns: p.scratch.columns[left*k/tensorcore.TileColumns:], K: k,
		Padded: p.paddedRows(first, left),
	}
	alone := p.model.AddTile(even, odd, &t)
	for row := range tensorcore.TileRows {
		if alone>>row&1 == 0 {
			continue
		}
		for lane := 4 * row; lane < 4*row+4; lane++ {
			even[lane] = p.single(first, left, lane, even[lane])
			odd[lane] = p.single(first, left+1, lane, odd[lane])
		}
	}
}

// single is the sum for an accumulator of a lane, given where the register's accumulators begin.
func (p *floatProduct) single(first, left, lane int, start uint64) uint64 {
	row, column := p.acc.from(first, left, lane)
	x, y := p.factors(row, column)
	return uint64(p.model.Dot(uint32(start), x, y))
}

// paddedRows is the bits of the rows of a tile whose products add nothing.
func (p *floatProduct) paddedRows(first, left int) (padded uint8) {
	rows, columns, finite, othersFinite := p.rows[:], p.columns[:], p.finiteB, p.finiteA
	if p.acc.transposed {
		rows, columns, finite, othersFinite = columns, rows, othersFinite, finite
	}
	if othersFinite && [tensorcore.TileColumns]bool(columns[left:]) == allZeros {
		return tensorcore.AllRows
	}
	for i, zeros := range rows[first:][:tensorcore.TileRows] {
		if zeros && finite {
			padded |= 1 << i
		}
	}
	return padded
}

// allZeros marks every column of a tile.
var allZeros = [tensorcore.TileColumns]bool{true, true, true, true, true, true, true, true}
