package partialorder

import "slices"

// Footprint is what the order of a turn matters for: the words that it accesses.
type Footprint struct {
	reads, writes []Word // by strong accesses, those that do both in writes
	weak          []Word // writes by weak accesses, which only matter to those who poll
}

// Word is 4 aligned bytes.
type Word struct {
	Launch, Block int // of shared memory
	Address       uint64
}

// Add adds an access of a lane. A weak read is left out: each schedule shows with what it races.
func (f *Footprint) Add(strong, writes bool, at Word, bytes uint64) {
	list := &f.reads
	switch {
	case !strong && !writes:
		return
	case !strong:
		list = &f.weak
	case writes:
		list = &f.writes
	}
	for a := at.Address &^ 3; a < at.Address+bytes; a += 4 {
		at.Address = a
		*list = append(*list, at)
	}
}

// conflicts reports whether the order of two turns matters.
func (f *Footprint) conflicts(other *Footprint) bool {
	return meet(f.writes, other.writes) || meet(f.writes, other.reads) || meet(f.reads, other.writes)
}

// changes reports whether a turn may have changed one of some words.
func (f *Footprint) changes(words []Word) bool { return meet(f.writes, words) || meet(f.weak, words) }

func meet(a, b []Word) bool {
	return len(a) > 0 && slices.ContainsFunc(b, func(w Word) bool { return slices.Contains(a, w) })
}
