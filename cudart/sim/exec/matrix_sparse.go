package exec

import (
	"fmt"

	"gpurun/cudart/sim/ptx"
)

// Products of a sparse A, which is held as its elements that are not left out: half of each row. Metadata say where
// in the row they belong. Each chunk of a row, which holds 4 elements of 8 or 16 bits, 8 of 4 bits or 2 of 32 bits,
// has 4 bits of metadata: the numbers of two quarters of the chunk, that of the first one lowest. Of the
// elements of 32 bits, which fill two quarters, one is kept.
//
// The figures of PTX ISA, "Matrix fragments for multiply-accumulate operation with sparse matrix A", say which lane
// holds the metadata of a chunk. CUTLASS names the same layouts ELayout_64x64, ELayout_64x32 and ELayout_64x16.

// sparsity is the operands of a sparse product, compiled.
type sparsity struct {
	element  *elementType
	k        int    // elements of a row, with those that are left out
	ordered  bool   // quarters are in ascending order
	meta     int32  // the register of the metadata
	selector uint64 // which lanes of four hold metadata, where not all of them do
}

// places are where in a row of A the elements belong that are held.
type places struct {
	k  int // elements of a row that are held
	of []uint8
}

// sparse takes the modifier of products of a sparse A; nil without one.
func (c *compiler) sparse() *sparsity {
	switch c.take("sp", "sp::ordered_metadata") {
	case "sp":
		return &sparsity{}
	case "sp::ordered_metadata":
		if c.in.Op == "wgmma" {
			c.fail("wgmma.mma_async has no .sp::ordered_metadata, which belongs to mma: write .sp")
		}
		c.needs(80, 8, 5)
		return &sparsity{ordered: true}
	}
	return nil
}

// operands compiles metadata and selector, operands i and i+1.
func (s *sparsity) operands(c *compiler, i int, a *elementType, k int) {
	s.element, s.k = a, k
	c.src(&s.meta, i, b32)
	selector := c.arg(i + 1)
	if n := uint64(4 / s.lanes()); selector.Kind != ptx.Immediate || selector.Bits >= n {
		c.fail("the sparsity selector must be a literal below %d", n)
	}
	s.selector = selector.Bits
}

// chunk is how many elements have 4 bits of metadata.
func (s *sparsity) chunk() int { return [...]int{4: 8, 8: 4, 16: 4, 32: 2}[s.element.bits] }

// lanes is how many of four lanes hold metadata.
func (s *sparsity) lanes() int {
	const rows = 2 // eight lanes times four hold sixteen rows
	return max(1, rows*s.k/s.chunk()*4/32)
}

// source is the lane that holds the metadata of a chunk of a row, and by how many bits they are shifted.
func (s *sparsity) source(row, chunk int) (lane, shift int) {
	lane = row%8*4 + int(s.selector)*s.lanes()
	if s.element.bits >= 16 { // the upper rows are in the upper half
		return lane + chunk/4, row/8*16 + chunk%4*4
	}
	return lane + chunk/8*2 + row/8, chunk % 8 * 4
}

// find decodes the metadata of a warp for its 16 rows.
func (s *sparsity) find(meta *lanes) (p *places, why string, lane int) {
	p = &places{k: s.k / 2}
	for row := range 16 {
		for chunk := range s.k / s.chunk() {
			lane, shift := s.source(row, chunk)
			quarters := meta[lane] >> shift & 15
			first, second := uint8(quarters&3), uint8(quarters>>2)
			if why := s.invalid(first, second); why != "" {
				return nil, fmt.Sprintf("the metadata of row %d and chunk %d are %04b: %s", row, chunk, quarters, why), lane
			}
			at := uint8(chunk * s.chunk())
			switch s.element.bits {
			case 32:
				p.of = append(p.of, at+first/2)
			case 4:
				p.of = append(p.of, at+2*first, at+2*first+1, at+2*second, at+2*second+1)
			default:
				p.of = append(p.of, at+first, at+second)
			}
		}
	}
	return p, "", 0
}

// invalid says why two quarters of a chunk are not allowed.
func (s *sparsity) invalid(first, second uint8) string {
	switch {
	case s.element.bits == 32 && (second != first+1 || first%2 != 0):
		return "of .tf32 they must be 0100 or 1110"
	case first == second:
		return "they must name two different quarters"
	case s.ordered && first > second:
		return "with .sp::ordered_metadata the quarters must be in ascending order"
	}
	return ""
}

// pick returns the elements of a column of B that those of a row of A are multiplied with.
func pick[T any](p *places, row int, column []T, scratch *[64]T) []T {
	if p == nil {
		return column
	}
	of := p.of[row*p.k:][:p.k]
	for i, k := range of {
		scratch[i] = column[k]
	}
	return scratch[:len(of)]
}
