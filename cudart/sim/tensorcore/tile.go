package tensorcore

import "gpurun/cudart/sim/simd"

// The size of a tile, which two registers of a warp hold: each has eight rows of four columns.
const TileRows, TileColumns = 8, 8

// Tile is eight rows of A, and eight columns of B that a warp holds with them.
type Tile struct {
	Rows    []Element // of A, one after the other
	Columns []Step    // of B, for each place along K
	K       int       // elements of a row, and of a column
	Padded  uint8     // rows whose products add nothing, by their bits
}

// Step is the elements of eight columns at one place along K: first the even columns, which one register of a warp
// holds, then the odd ones.
type Step struct {
	values    [TileColumns]float64
	exponents [TileColumns]int32
}

// TakeColumns copies columns of k elements each, eight for each k steps of to.
func TakeColumns(to []Step, columns []Element, k int) {
	for ; len(columns) >= TileColumns*k; to, columns = to[k:], columns[TileColumns*k:] {
		for i := range TileColumns {
			at, column := i/2+i%2*4, columns[i*k:][:k]
			for j, s := 0, to[:len(column)]; j < len(s); j++ {
				s[j].values[at], s[j].exponents[at] = column[j].value, column[j].exponent
			}
		}
	}
}

// AddsTiles reports whether AddTile can be called.
func (m Model) AddsTiles() bool { return simd.Available() && !m.Nearest }

// AddTile is Dot for the accumulators in two registers, where lane 4*i+j holds row i: the first register column 2j, the
// second column 2j+1. It computes several at once, in doubles, which hold addends and sums exactly. It leaves a row as
// it is that has an infinity, a NaN or a subnormal sum, and returns the bits of these rows.
func (m Model) AddTile(even, odd *simd.Lanes, t *Tile) (left uint8) {
	for row := range TileRows {
		if t.Padded>>row&1 != 0 {
			m.addNothing(even[4*row:][:4])
			m.addNothing(odd[4*row:][:4])
		}
	}
	if t.Padded == AllRows {
		return 0
	}
	left = uint8(addTile(&tileArgs{
		even: even, odd: odd, rows: &t.Rows[:TileRows*t.K][0], columns: &t.Columns[:t.K][0],
		k: t.K, block: m.Block, skip: uint64(t.Padded),
		// The scale is 2^-last, of the last bit that is kept: see align.
		floor: int32(m.Floor), bias: int32(doubleBias + 23 + m.Extra),
		kept: ^uint64(0) << (doubleFraction - 23 + m.Cut),
	}))
	return left &^ t.Padded
}

// AllRows is the bits of all rows of a tile.
const AllRows = 1<<TileRows - 1

// addNothing is Dot of no products.
func (m Model) addNothing(accumulators []uint64) {
	for i, c := range accumulators {
		if c != 0 {
			accumulators[i] = uint64(m.Dot(uint32(c), nil, nil))
		}
	}
}

// Of doubles: what is added to exponents, and the bits after the point.
const doubleBias, doubleFraction = 1023, 52

// tileArgs is what addTile reads. The assembly has the layout.
type tileArgs struct {
	even, odd   *simd.Lanes
	rows        *Element
	columns     *Step
	k, block    int
	skip        uint64
	floor, bias int32  // the least exponent; less an exponent, the scale's as a double has it
	kept        uint64 // the bits of a double that a sum keeps
}
