package exec

import "gpurun/cudart/sim/tensorcore"

// fragment is how a warp holds A or B of a product, whose rows, or those of B's transpose, run along K.
// This is what the figures of PTX ISA, "Matrix Fragments for mma", have in common: a
// register holds neighbors along K, four lanes hold neighboring registers, and eight such quads
// hold eight rows.
type fragment struct {
	*elementType
	rows, k int
	// tall: of each 16 rows, a register and the next one hold the upper and lower eight. Otherwise
	// the registers of eight rows follow each other.
	tall bool
}

// fragments returns how A and B of a product and its accumulators are held. Where A has eight
// rows and B more columns, B is held as A else, and the product is transposed.
func fragments(a, b *elementType, s matrixShape) (fragA, fragB fragment, acc accumulators) {
	transposed := s.n > max(s.m, 8)
	fragA = fragment{a, s.m, s.k, s.m > 8}
	fragB = fragment{b, s.n, s.k, transposed}
	return fragA, fragB, accumulators{s.m, s.n, transposed}
}

// registers is how many registers of a lane hold the fragment.
func (f *fragment) registers() int { return f.rows * f.k / f.perRegister() / 32 }

// origin is the row, and the place along K, of the first element that lane 0 holds in a register.
func (f *fragment) origin(register int) (row, k int) {
	wide := 4 * f.perRegister() // elements of a quad
	groups := f.k / wide
	if f.tall {
		return 8*(register%2) + 16*(register/2/groups), register / 2 % groups * wide
	}
	return 8 * (register / groups), register % groups * wide
}

// place is the same of any lane.
func (f *fragment) place(register, lane int) (row, k int) {
	row, k = f.origin(register)
	return row + lane/4, k + lane%4*f.perRegister()
}

// matrix is rows of k elements each, one after the other.
type matrix[T any] struct {
	k        int
	elements []T
}

func (m matrix[T]) row(i int) []T { return m.elements[i*m.k:][:m.k] }

// floats decodes the floats of a fragment, into scratch memory.
func (f *fragment) floats(w *warp, slots []int32, to *[]tensorcore.Element) matrix[tensorcore.Element] {
	out := matrix[tensorcore.Element]{f.k, room(to, f.rows*f.k)}
	for j, slot := range slots {
		row, k := f.origin(j)
		f.format.DecodeRegister(out.elements[row*f.k+k:], f.k, &w.regs[slot])
	}
	return out
}

// integers decodes the integers of a fragment.
func (f *fragment) integers(w *warp, slots []int32, to *[]int32) matrix[int32] {
	out := matrix[int32]{f.k, room(to, f.rows*f.k)}
	per, unused := f.perRegister(), 32-f.bits
	for j, slot := range slots {
		row, k := f.origin(j)
		for lane, v := range &w.regs[slot] {
			elements := out.row(row + lane/4)[k+lane%4*per:][:per]
			for i := range elements {
				if x := uint32(v) << unused; f.signed {
					elements[i] = int32(x) >> unused
				} else {
					elements[i] = int32(x >> unused)
				}
				v >>= f.bits
			}
		}
	}
	return out
}

// words returns the registers of a fragment as they are, row by row.
func (f *fragment) words(w *warp, slots []int32, to *[]uint64) matrix[uint64] {
	per := f.perRegister()
	out := matrix[uint64]{f.k / per, room(to, f.rows*f.k/per)}
	for j, slot := range slots {
		row, k := f.origin(j)
		for lane, v := range &w.regs[slot] {
			out.row(row + lane/4)[k/per+lane%4] = v
		}
	}
	return out
}

// accumulators is how a warp holds C and D of a product: a lane has pairs of neighbors in a row, of
// eight rows and eight columns one pair.
type accumulators struct {
	rows, columns int
	transposed    bool
}

// count is how many elements a lane holds.
func (t accumulators) count() int { return t.rows * t.columns / 32 }

// origin is the row and column of the element with a number that lane 0 holds, of the matrix or
// its transpose.
func (t accumulators) origin(element int) (row, column int) {
	rows, columns := t.rows, t.columns
	if t.transposed {
		rows, columns = columns, rows
	}
	if rows == 8 {
		return 0, 8*(element/2) + element%2
	}
	blocks := columns / 8
	return 8*(element/2%2) + 16*(element/4/blocks), 8*(element/4%blocks) + element%2
}

// place is the row and column of an element of any lane.
func (t accumulators) place(element, lane int) (row, column int) {
	row, column = t.origin(element)
	return t.from(row, column, lane)
}

// from is place, given the element's origin.
func (t accumulators) from(row, column, lane int) (int, int) {
	row, column = row+lane/4, column+lane%4*2
	if t.transposed {
		return column, row
	}
	return row, column
}
