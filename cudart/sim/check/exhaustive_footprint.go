package check

import "slices"

// footprint is what the order of a turn matters for: the words that it accesses. Words of shared memory have the number
// of their block above the address.
type footprint struct {
	reads, writes []wordID // by strong accesses, those that do both in writes
	weak          []wordID // writes by weak accesses, which only matter to those who poll
}

// wordID is 4 aligned bytes.
type wordID struct {
	launch, block int // of shared memory
	address       uint64
}

func (f *footprint) add(strong, writes bool, at wordID, bytes uint64) {
	list := &f.reads
	switch {
	case !strong && !writes:
		return
	case !strong:
		list = &f.weak
	case writes:
		list = &f.writes
	}
	for a := at.address &^ 3; a < at.address+bytes; a += 4 {
		at.address = a
		*list = append(*list, at)
	}
}

// conflicts reports whether the order of two turns matters.
func (f *footprint) conflicts(other *footprint) bool {
	return meet(f.writes, other.writes) || meet(f.writes, other.reads) || meet(f.reads, other.writes)
}

// changes reports whether a turn may have changed one of some words.
func (f *footprint) changes(words []wordID) bool { return meet(f.writes, words) || meet(f.weak, words) }

func meet(a, b []wordID) bool {
	return len(a) > 0 && slices.ContainsFunc(b, func(w wordID) bool { return slices.Contains(a, w) })
}
