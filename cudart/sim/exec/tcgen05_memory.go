package exec

import (
	"fmt"
	"math/bits"
)

// Tensor memory, PTX ISA section 9.7.16.1: 128 lanes of 512 columns of 32 bits. An address has the lane in its upper 16 bits
// and the column in the lower ones.
//
// Each block has a tensor memory of its own, as if it had a multiprocessor to itself. So an allocation never waits for
// another block's columns, as it does on a GPU whose multiprocessor runs several blocks. It waits for its own block to
// deallocate, and with .cta_group::2 for the other block of the pair.
const (
	tensorLanes    = 128
	tensorColumns  = 512
	allocatedUnit  = 32 // columns: what is allocated is a power of two, and no less
	tensorLaneStep = 1 << 16
)

// tensorMemory is that of a block.
type tensorMemory struct {
	columns [tensorColumns][tensorLanes]uint32
	// units has a bit for each unit of columns that is allocated.
	units uint16
	// sizes are the columns of each allocation, by its first unit.
	sizes [tensorColumns / allocatedUnit]int
	// relinquished: the block may not allocate any more.
	relinquished bool
	// group is 1 or 2, of the block's first instruction with .cta_group; 0 before.
	group int
	// waiting is the allocation by which the block waits for the other one of its pair, or nil.
	waiting *pairAllocation
}

// pairAllocation is half of an allocation in the tensor memory of two blocks.
type pairAllocation struct {
	columns int
	address uint32
	done    bool // the other half has been executed
}

// undefinedTensorWord is what newly allocated tensor memory holds: not a number, whether of 32 or of 16 bits.
const undefinedTensorWord = 0x7fff7fff

// tensor returns the block's tensor memory, which is made when it is used first.
func (b *block) tensor() *tensorMemory {
	if b.tensorMemory == nil {
		b.tensorMemory = &tensorMemory{}
	}
	return b.tensorMemory
}

// unitsOf is the bits of the units that columns are in.
func unitsOf(first, count int) uint16 {
	from, to := first/allocatedUnit, (first+count+allocatedUnit-1)/allocatedUnit
	return uint16(1<<to - 1<<from)
}

// allocate returns the first columns that are free, at a multiple of their number.
func (t *tensorMemory) allocate(columns int) (first int, ok bool) {
	for first = 0; first+columns <= tensorColumns; first += columns {
		if t.units&unitsOf(first, columns) == 0 {
			t.take(first, columns)
			return first, true
		}
	}
	return 0, false
}

func (t *tensorMemory) take(first, columns int) {
	t.units |= unitsOf(first, columns)
	t.sizes[first/allocatedUnit] = columns
	for c := first; c < first+columns; c++ {
		for lane := range t.columns[c] {
			t.columns[c][lane] = undefinedTensorWord
		}
	}
}

// deallocate frees columns that one allocation has returned, and says what is wrong, or "".
func (t *tensorMemory) deallocate(address uint32, columns int) string {
	first := int(address & 0xffff)
	if address>>16 != 0 || first%allocatedUnit != 0 || first >= tensorColumns || t.sizes[first/allocatedUnit] == 0 {
		return fmt.Sprintf("%#x is no address that tcgen05.alloc has returned to this block and that is still allocated", address)
	}
	if n := t.sizes[first/allocatedUnit]; n != columns {
		return fmt.Sprintf("%d columns are allocated at %#x, and tcgen05.dealloc must free all of them, not %d", n, address, columns)
	}
	t.sizes[first/allocatedUnit] = 0
	t.units &^= unitsOf(first, columns)
	return ""
}

// allocatedColumns is how many columns are allocated.
func (t *tensorMemory) allocatedColumns() int { return allocatedUnit * bits.OnesCount16(t.units) }

// check says what is wrong with an access to columns, or "".
func (b *block) checkColumns(first, count int) string {
	t := b.tensorMemory
	switch {
	case first+count > tensorColumns:
		return fmt.Sprintf("it reaches to column %d of tensor memory, which has %d", first+count-1, tensorColumns)
	case t == nil || unitsOf(first, count)&^t.units != 0:
		return fmt.Sprintf("columns %d to %d of tensor memory are not all allocated: allocate them by tcgen05.alloc, and wait "+
			"for the tcgen05.commit of operations that use them before tcgen05.dealloc", first, first+count-1)
	}
	return ""
}

// checkTensorMemory reports, when the block has exited, that it has not freed its tensor memory.
func (b *block) checkTensorMemory() error {
	if t := b.tensorMemory; t != nil && t.units != 0 {
		return b.warps[0].fault(IllegalInstruction, 0,
			"the block has exited with %d columns of tensor memory allocated: every tcgen05.alloc needs a tcgen05.dealloc",
			t.allocatedColumns())
	}
	return nil
}
