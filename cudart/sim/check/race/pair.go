package race

import "slices"

// Pair is two operations that have accessed the same bytes, one of them writing, from two threads and in this order.
type Pair struct{ First, Second *Operation }

// meetings are the operations behind which one has accessed the same bytes.
type meetings struct{ first []*Operation }

func (d *Detector) meet(first, second *Operation) {
	if second.met == nil {
		second.met = &meetings{}
		d.met = append(d.met, second)
	}
	if m := second.met; !slices.Contains(m.first, first) {
		m.first = append(m.first, first)
	}
}

// Pairs calls f for the pairs so far.
func (d *Detector) Pairs(f func(Pair)) {
	for _, second := range d.met {
		for _, first := range second.met.first {
			f(Pair{first, second})
		}
	}
}
