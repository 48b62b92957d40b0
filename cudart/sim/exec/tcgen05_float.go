package exec

import (
	"math"

	"gpurun/cudart/sim/simd"
	"gpurun/cudart/sim/tensorcore"
)

// tensorFloats is a product of floats that is being computed.
type tensorFloats struct {
	*tensorProduct
	model   tensorcore.Model
	b       matrix[tensorcore.Element]
	columns []tensorcore.Step // of B, for the assembly; nil without
	// What scale factors and signs have been applied to: rows of A, and B.
	rows, scaled []tensorcore.Element
}

func (p *tensorProduct) multiplyFloats() string {
	formatA, formatB := p.formats()
	f := &tensorFloats{tensorProduct: p, model: p.grid.cfg.TensorCores.Tcgen05(formatA, p.kind.k == 64)}
	decode := func(format tensorcore.Format) func(chunk []byte, to []tensorcore.Element) {
		return func(chunk []byte, to []tensorcore.Element) { format.DecodeChunk(to, (*[chunkBytes]byte)(chunk)) }
	}
	inTensor := decode(formatA)
	if p.kind.perByte {
		inTensor = decodeContainers(formatA)
	}
	return eachTensorQuarter(p, &p.grid.scratch.floats, decode(formatA), decode(formatB), inTensor,
		func(b matrix[tensorcore.Element]) {
			f.b = b
			if p.scales == 0 {
				f.takeColumns()
			}
		}, f.addQuarter)
}

// decodeContainers decodes elements that take a byte each: of 6 bits the lower ones, of 4 bits those from bit 2 on.
func decodeContainers(format tensorcore.Format) func(chunk []byte, to []tensorcore.Element) {
	shift := 0
	if format == tensorcore.E2M1 {
		shift = 2
	}
	return func(chunk []byte, to []tensorcore.Element) {
		for i := range to {
			to[i] = format.Decode(uint32(chunk[i] >> shift))
		}
	}
}

// takeColumns makes the columns of tiles of B, where assembly multiplies.
func (f *tensorFloats) takeColumns() {
	if f.halfD || !f.grid.addsTiles(f.model) {
		return
	}
	f.columns = room(&f.grid.scratch.columns, len(f.b.elements)/tensorcore.TileColumns)
	tensorcore.TakeColumns(f.columns, f.b.elements, f.b.k)
}

// addQuarter adds the products of rows of A to D.
func (f *tensorFloats) addQuarter(number int, q *tensorQuarter, a matrix[tensorcore.Element]) {
	whole := f.b
	if f.negate || f.scales > 0 { // other quarters may have the same rows
		a.elements = append(f.rows[:0], a.elements...)
		f.rows = a.elements
	}
	if f.negate {
		for i, x := range a.elements {
			a.elements[i] = x.Negated()
		}
	}
	if f.scales > 0 {
		f.scale(f.blocks[number], q, a)
	}
	for row := 0; row < q.rows; row += tensorcore.TileRows {
		for column := 0; column < q.columns; column += tensorcore.TileColumns {
			if f.columns != nil {
				f.addTile(number, q, a, row, column)
				continue
			}
			for i := range tensorcore.TileRows * tensorcore.TileColumns {
				f.addElement(number, q, a, row+i/tensorcore.TileColumns, column+i%tensorcore.TileColumns)
			}
		}
	}
	f.b = whole
}

// start is what the sum of an element of D begins with: the bits of a single.
func (f *tensorFloats) start(d uint32) uint32 {
	switch {
	case !f.accumulate:
		return 0
	case f.scaleD > 0:
		return math.Float32bits(float32(math.Ldexp(float64(math.Float32frombits(d)), -f.scaleD)))
	}
	return d
}

// addElement adds to one element of D.
func (f *tensorFloats) addElement(number int, q *tensorQuarter, a matrix[tensorcore.Element], row, column int) {
	if f.kept(number, q.lane+row) {
		return
	}
	d, x, y := f.cell(number, q, row, column), a.row(row), f.b.row(q.first+column)
	if !f.halfD {
		*d = f.model.Dot(f.start(*d), x, y)
		return
	}
	half := uint16(0)
	if f.accumulate {
		half = uint16(*d)
	}
	if f.scaleD > 0 {
		half = uint16(binary16.encode(math.Ldexp(binary16.decode(uint64(half)), -f.scaleD), toNearestEven))
	}
	*d = uint32(f.model.DotHalf(half, x, y))
}

// addTile adds to eight rows of eight columns of D, by assembly.
func (f *tensorFloats) addTile(number int, q *tensorQuarter, a matrix[tensorcore.Element], row, column int) {
	var sums [2]simd.Lanes // of even and odd columns
	cells := f.blocks[number].tensorMemory.columns[int(f.dAddress&0xffff)+column:][:tensorcore.TileColumns]
	top := q.lane + row
	if f.accumulate {
		for j := range cells {
			for i, d := range cells[j][top:][:tensorcore.TileRows] {
				sums[j%2][4*i+j/2] = uint64(f.start(d))
			}
		}
	}
	k := a.k
	t := tensorcore.Tile{
		Rows: a.elements[row*k:], Columns: f.columns[(q.first+column)*k/tensorcore.TileColumns:], K: k,
	}
	alone := f.model.AddTile(&sums[0], &sums[1], &t)
	for i := range tensorcore.TileRows {
		switch {
		case f.kept(number, top+i):
			continue
		case alone>>i&1 != 0:
			for j := range cells {
				f.addElement(number, q, a, row+i, column+j)
			}
			continue
		}
		for j := range cells {
			cells[j][top+i] = uint32(sums[j%2][4*i+j/2])
		}
	}
}

// scale multiplies the rows of A of a quarter, and a copy of B, by their scale factors, PTX ISA section 9.7.16.10.7. Each
// quarter has the factors of its rows and of its columns in its own lanes.
func (f *tensorFloats) scale(b *block, q *tensorQuarter, a matrix[tensorcore.Element]) {
	for i := range q.rows {
		scaleElements(a.row(i), f.factors(b, q, 0, q.row+i))
	}
	scaled := matrix[tensorcore.Element]{f.b.k, room(&f.scaled, len(f.b.elements))}
	copy(scaled.elements, f.b.elements)
	for i := range q.columns {
		scaleElements(scaled.row(q.first+i), f.factors(b, q, 1, i))
	}
	f.b = scaled
	f.takeColumns()
}

// checkScales says what is wrong with where the scale factors lie, or "".
func (p *tensorProduct) checkScales(b *block, q *tensorQuarter) string {
	for i, count := range [2]int{p.m / len(p.blocks), q.columns} {
		if p.scales > 0 {
			if why := b.checkColumns(int(p.sfAddress[i]&0xffff), (count+scaleRows-1)/scaleRows); why != "" {
				return why
			}
		}
	}
	return ""
}

// scaleRows is how many rows of A, or columns of B, have their scale factors in a column of tensor memory.
const scaleRows = 32

// factors are the scale factors of a row of A, or of a column of B: 0 is A, 1 is B.
func (f *tensorFloats) factors(b *block, q *tensorQuarter, operand, at int) []tensorcore.Element {
	lane := q.lane/scaleRows*scaleRows + at%scaleRows
	word := b.tensorMemory.columns[int(f.sfAddress[operand]&0xffff)+at/scaleRows][lane]
	all := make([]tensorcore.Element, f.scales)
	for i := range all {
		bits := uint8(word >> (8 * (f.scaleID[operand] + i)))
		if all[i] = tensorcore.ScaleE8M0(bits); f.e4m3 {
			all[i] = tensorcore.ScaleE4M3(bits)
		}
	}
	return all
}

// scaleElements multiplies elements along K by factors, each of which is for as many.
func scaleElements(row []tensorcore.Element, factors []tensorcore.Element) {
	each := len(row) / len(factors)
	for i, factor := range factors {
		for j := range each {
			row[i*each+j] = row[i*each+j].Scaled(factor)
		}
	}
}
