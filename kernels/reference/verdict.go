package reference

import (
	"iter"
	"sync"
)

// Verdict is what a comparison found. Every element was compared.
type Verdict struct {
	Wrong int64 // elements
	// First is the index of the first wrong element; Want and Got are its
	// bits. They mean nothing when Wrong is 0.
	First     int64
	Want, Got uint64
}

// judge compares elements from index first on with what is expected, and adds those that are wrong to a verdict. got
// has their bits, and want room for the expected ones.
type judge func(first int64, got, want []uint64, v *Verdict)

// each judges one element after the other. right returns the expected bits of element i, and whether the found bits are
// acceptable.
func each(right func(i int64, got uint64) (want uint64, ok bool)) judge {
	return func(first int64, got, _ []uint64, v *Verdict) {
		for k, bits := range got {
			if want, ok := right(first+int64(k), bits); !ok {
				v.add(first+int64(k), want, bits)
			}
		}
	}
}

// bitForBit accepts the very bits that expect makes of elements from an index on.
func bitForBit(expect func(want []uint64, first int64)) judge {
	return func(first int64, got, want []uint64, v *Verdict) {
		expect(want, first)
		for k, bits := range got {
			if bits != want[k] {
				v.add(first+int64(k), want[k], bits)
			}
		}
	}
}

// longestRun is how many elements are made at a time: few enough to stay in the first cache.
const longestRun = 256

// run has room for the bits of elements that are made at a time.
type run [longestRun]uint64

// of is the part of a run for the elements from at on that lie before end.
func (r *run) of(at, end int64) []uint64 { return r[:min(longestRun, end-at)] }

// runs are the first elements of the runs of [begin, end).
func runs(begin, end int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for at := begin; at < end && yield(at); at += longestRun {
		}
	}
}

// compare judges every element of got. An element has size bytes; the first one has index first.
func compare(got []byte, size int, first int64, right judge) Verdict {
	var mu sync.Mutex
	var total Verdict
	inParallel(int64(len(got)/size), 1, func(begin, end int64) {
		part := right.inTurn(got[begin*int64(size):end*int64(size)], size, first+begin)
		mu.Lock()
		defer mu.Unlock()
		total = total.Merge(part)
	})
	return total
}

// inTurn judges every element of got, one run after the other.
func (j judge) inTurn(got []byte, size int, first int64) (v Verdict) {
	var found, expected run
	end := int64(len(got) / size)
	for at := range runs(0, end) {
		bits := found.of(at, end)
		getAll(bits, got[at*int64(size):], size)
		j(first+at, bits, expected.of(at, end), &v)
	}
	return v
}

// add adds a wrong element.
func (v *Verdict) add(i int64, want, got uint64) {
	*v = v.Merge(Verdict{Wrong: 1, First: i, Want: want, Got: got})
}

// Merge returns the verdict on the elements of v and w together.
func (v Verdict) Merge(w Verdict) Verdict {
	first := v
	if v.Wrong == 0 || (w.Wrong > 0 && w.First < v.First) {
		first = w
	}
	first.Wrong = v.Wrong + w.Wrong
	return first
}
