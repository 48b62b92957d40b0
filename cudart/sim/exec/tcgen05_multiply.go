package exec

import (
	"encoding/binary"
	"fmt"

	"gpurun/cudart/sim/tensorcore"
)

// tensorProduct is a tcgen05.mma that a thread has issued.
type tensorProduct struct {
	*tensorMma
	tensorDescriptor
	grid         *Grid
	blocks       []*block // one, or both of a pair
	dAddress     uint32
	aAddress     uint32 // in tensor memory, or aTile
	aTile, bTile tile
	accumulate   bool
	keep         [8]uint32 // lanes of D that stay as they are
	sfAddress    [2]uint32 // of scale factors
	columnMask   uint64
}

// quarters are those of one of the blocks.
func (p *tensorProduct) quarters() [4]tensorQuarter {
	return tensorQuarters(p.m, p.n, len(p.blocks), p.ws, int(p.dAddress>>16))
}

// check says what is wrong with addresses and scale factors, or "".
func (p *tensorProduct) check() string {
	half := p.m == 64 && !p.ws
	lanes := [2]uint32{p.dAddress >> 16, p.aAddress >> 16}
	for i, name := range []string{"D", "A"} {
		if at := lanes[i]; at != 0 && !(half && at == 16) && (i == 0 || p.aInTensor) {
			return fmt.Sprintf("matrix %s begins at lane %d of tensor memory: it must begin at lane 0, or with M = 64 at lane 16", name, at)
		}
	}
	if half && p.aInTensor && lanes[0] != lanes[1] {
		return "with M = 64, A and D must begin at the same lane of tensor memory"
	}
	if p.ashift && p.m/len(p.blocks) != 128 {
		return ".ashift needs M = 128, or with .cta_group::2 M = 256"
	}
	if p.e4m3 && p.kind.scales != nil && (p.kind.name != "mxf4nvf4" || p.scales != 4) {
		return "scale factors of type UE4M3 are for .kind::mxf4nvf4 with four factors in a row"
	}
	for i, id := range p.scaleID {
		if p.kind.scales != nil && (p.scales == 2 && id%2 != 0 || p.scales == 4 && id != 0) {
			return fmt.Sprintf("scale factors of %c begin at byte %d of a word, which %d factors in a row do not", "AB"[i], id, p.scales)
		}
	}
	if shift := int(p.columnMask >> 56 & 63); shift > p.maxShift {
		return fmt.Sprintf("the zero-column mask shifts columns by %d, and the instruction descriptor allows %d", shift, p.maxShift)
	}
	return p.checkTransposed()
}

// checkTransposed says what is wrong with matrices that do not lie along K, or "".
func (p *tensorProduct) checkTransposed() string {
	for i, t := range [2]*tile{&p.aTile, &p.bTile} {
		if !p.mnMajor[i] || i == 0 && p.aInTensor {
			continue
		}
		narrow := p.kind.perByte && [2]uint32{p.typeA, p.typeB}[i] > 1 // neither E4M3 nor E5M2
		switch {
		case narrow:
			return fmt.Sprintf("matrix %c has elements of 4 or 6 bits, and cannot be transposed", "AB"[i])
		case t.pairs != (p.kind.name == "tf32"):
			return fmt.Sprintf("matrix %c is transposed: 128-byte swizzling with 32-byte atomicity is for .kind::tf32, which needs it",
				"AB"[i])
		case i == 1 && p.n/len(p.blocks)%p.kind.perChunk() != 0:
			return fmt.Sprintf("matrix B is transposed, and %d columns are not a multiple of %d", p.n/len(p.blocks), p.kind.perChunk())
		}
	}
	return ""
}

// perform multiplies.
func (p *tensorProduct) perform(t *tensorOperation) error {
	why := ""
	if p.kind.types == nil {
		why = p.multiplyIntegers()
	} else {
		why = p.multiplyFloats()
	}
	if why != "" {
		return t.fault(IllegalAddress, "%s", why)
	}
	return nil
}

// tensorRowBytes is what a row of A takes in tensor memory, and in shared memory, whatever its type.
const tensorRowBytes = 2 * chunkBytes

// loadTensorB reads B from the shared memory of the blocks, each of which has its part of the columns. Columns that a mask names
// are zeros.
func loadTensorB[T any](p *tensorProduct, to *[]T, decode func(chunk []byte, to []T)) (m matrix[T], why string) {
	shift := int(p.columnMask >> 56 & 63)
	each := p.n/len(p.blocks) + shift
	if p.bTile.mnMajor { // whole chunks
		each = (each + p.kind.perChunk() - 1) / p.kind.perChunk() * p.kind.perChunk()
	}
	k := p.kind.k
	m = matrix[T]{k, room(to, len(p.blocks)*each*k)}
	for i, b := range p.blocks {
		part := matrix[T]{k, m.elements[i*each*k:][:each*k]}
		if why := loadTile(&p.bTile, b, part, p.kind.perChunk(), decode); why != "" {
			return m, "matrix B: " + why
		}
	}
	m.elements = m.elements[shift*k:][:p.n*k]
	for column := range p.n {
		if p.isZeroColumn(column) {
			clear(m.row(column))
		}
	}
	return m, ""
}

// isZeroColumn reports whether the zero-column mask replaces a column by zeros, PTX ISA section 9.7.16.4.3.
func (p *tensorProduct) isZeroColumn(column int) bool {
	if p.columnMask>>39&1 == 0 {
		return false
	}
	each := p.n / (tensorLanes / p.m)
	part := column / each
	zeros, used := int(p.columnMask>>40&255)+1, int(p.columnMask>>48&255)+1
	first := p.columnMask>>(32+part)&1 != 0 // the first span is of zeros
	start := int(p.columnMask >> (8 * part) & 255)
	if first {
		start = min(start, zeros-1)
		return (column%each+start)%(zeros+used) < zeros
	}
	start = min(start, used-1)
	return (column%each+start)%(zeros+used) >= used
}

// loadTensorA reads A of one block from its shared memory. It is empty where A lies in tensor memory.
func loadTensorA[T any](p *tensorProduct, b *block, to *[]T, decode func(chunk []byte, to []T)) (m matrix[T], why string) {
	rows := p.m / len(p.blocks)
	m = matrix[T]{p.kind.k, room(to, rows*p.kind.k)}
	if p.aInTensor {
		if why := b.checkColumns(int(p.aAddress&0xffff), tensorRowBytes/4); why != "" {
			return m, "matrix A: " + why
		}
		return m, ""
	}
	if why := loadTile(&p.aTile, b, m, p.kind.perChunk(), decode); why != "" {
		return m, "matrix A: " + why
	}
	return m, ""
}

// rowsOfA are those of a quarter, which are read from tensor memory if they are there.
func rowsOfA[T any](p *tensorProduct, b *block, q *tensorQuarter, a matrix[T], decode func(chunk []byte, to []T)) matrix[T] {
	k := p.kind.k
	rows := matrix[T]{k, a.elements[q.row*k:][:q.rows*k]}
	if !p.aInTensor {
		return rows
	}
	var data [tensorRowBytes]byte
	for i := range q.rows {
		lane := q.lane + i
		if p.ashift && lane%32 != 31 {
			lane++
		}
		for word := range tensorRowBytes / 4 {
			v := b.tensorMemory.columns[int(p.aAddress&0xffff)+word][lane]
			binary.LittleEndian.PutUint32(data[4*word:], v)
		}
		half := k / 2
		decode(data[:chunkBytes], rows.row(i)[:half])
		decode(data[chunkBytes:], rows.row(i)[half:])
	}
	return rows
}

// eachTensorQuarter loads A and B, and calls add for each quarter of each block, with the number of the block.
func eachTensorQuarter[T any](p *tensorProduct, scratch *[2][]T, decodeA, decodeB, inTensor func(chunk []byte, to []T),
	begin func(b matrix[T]), add func(number int, q *tensorQuarter, a matrix[T]),
) string {
	b, why := loadTensorB(p, &scratch[1], decodeB)
	if why != "" {
		return why
	}
	begin(b)
	for i, block := range p.blocks {
		a, why := loadTensorA(p, block, &scratch[0], decodeA)
		if why != "" {
			return why
		}
		quarters := p.quarters()
		if why := block.checkColumns(int(p.dAddress&0xffff), quarters[0].columns); why != "" {
			return "matrix D: " + why
		}
		if why := p.checkScales(block, &quarters[0]); why != "" {
			return "scale factors: " + why
		}
		for j := range quarters {
			q := &quarters[j]
			add(i, q, rowsOfA(p, block, q, a, inTensor))
		}
	}
	return ""
}

// kept reports whether a lane of D of a block stays as it is.
func (p *tensorProduct) kept(number, lane int) bool {
	return p.keep[4*number+lane/32]>>(lane%32)&1 != 0
}

// cell is an element of D: a row of a quarter, and the number of the column there.
func (p *tensorProduct) cell(number int, q *tensorQuarter, row, column int) *uint32 {
	return &p.blocks[number].tensorMemory.columns[int(p.dAddress&0xffff)+column][q.lane+row]
}

func (p *tensorProduct) multiplyIntegers() string {
	decode := func(kind uint32) func(chunk []byte, to []int32) {
		return decodeBytes(fragment{elementType: &elementType{signed: kind == 1}})
	}
	var b matrix[int32]
	return eachTensorQuarter(p, &p.grid.scratch.integers, decode(p.typeA), decode(p.typeB), decode(p.typeA),
		func(all matrix[int32]) { b = all },
		func(number int, q *tensorQuarter, a matrix[int32]) {
			for row := range q.rows {
				if p.kept(number, q.lane+row) {
					continue
				}
				for column := range q.columns {
					d := p.cell(number, q, row, column)
					start := uint64(0)
					if p.accumulate {
						start = uint64(*d)
					}
					*d = uint32(addInteger(start, dotIntegers(a.row(row), b.row(q.first+column)), p.saturate))
				}
			}
		})
}

// formats are those of A and B.
func (p *tensorProduct) formats() (a, b tensorcore.Format) {
	return p.kind.types[p.typeA], p.kind.types[p.typeB]
}
