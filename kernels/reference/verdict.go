package reference

import "sync"

// Verdict is what a comparison found. Every element was compared.
type Verdict struct {
	Wrong int64 // elements
	// First is the index of the first wrong element; Want and Got are its
	// bits. They mean nothing when Wrong is 0.
	First     int64
	Want, Got uint64
}

// judge returns the expected bits of element i, and whether the found bits are acceptable.
type judge func(i int64, got uint64) (want uint64, ok bool)

// compare judges every element of got. An element has size bytes; the first one has index first.
func compare(got []byte, size int, first int64, right judge) Verdict {
	var mu sync.Mutex
	var total Verdict
	inParallel(int64(len(got)/size), 1, func(begin, end int64) {
		var part Verdict
		for i := begin; i < end; i++ {
			bits := get(got, i, size)
			if want, ok := right(first+i, bits); !ok {
				part = part.Merge(Verdict{Wrong: 1, First: first + i, Want: want, Got: bits})
			}
		}
		mu.Lock()
		defer mu.Unlock()
		total = total.Merge(part)
	})
	return total
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
