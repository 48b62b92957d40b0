package race

// Pair is two operations that have accessed the same bytes, one of them writing, from two threads and in this order.
type Pair struct{ First, Second *Operation }

func (d *Detector) meet(first, second *Operation) {
	if p := (Pair{first, second}); p != d.pair {
		d.pair = p
		d.pairs[p] = true
	}
}

// Pairs calls f for the pairs so far, in no order.
func (d *Detector) Pairs(f func(Pair)) {
	for p := range d.pairs {
		f(p)
	}
}
