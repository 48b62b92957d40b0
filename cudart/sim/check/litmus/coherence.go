package litmus

// coherence explores the orders of writes. Only causality and moral strength order two writes to the same memory, so
// that the order is partial. What is not ordered without need restricts nothing, and leaves more final values.
func (x *execution) coherence() {
	co := x.cause.from(x.writes).to(x.writes).intersect(x.loc) // axiom Coherence
	x.writes.each(func(a int) {
		if x.events[a].thread < 0 {
			co[a] |= x.loc[a] & x.writes &^ (1 << a)
		}
	})
	x.coherent(co.closure())
}

// coherent orders the next pair of morally strong writes that is not ordered, both ways.
func (x *execution) coherent(co relation) {
	if !x.spend() || !co.irreflexive() {
		return
	}
	for a := range x.events {
		for b := range a {
			if !x.writes.has(a) || !x.writes.has(b) || !x.strong.has(a, b) || !x.loc.has(a, b) || co.has(a, b) || co.has(b, a) {
				continue
			}
			for range 2 {
				next := co.clone()
				next.add(a, b)
				x.coherent(next.closure())
				a, b = b, a
			}
			return
		}
	}
	x.co = co
	if x.consistent() {
		x.report()
	}
}

// consistent reports whether the remaining axioms hold. SC-per-Location follows from them: it is about accesses that
// are morally strong with one another, of which coherence order relates all writes.
func (x *execution) consistent() bool {
	fr := x.rf.inverse().then(x.co) // from a read to the writes behind the one that it returns
	if !fr.then(x.cause).irreflexive() {
		return false // axiom Causality
	}
	between := x.strong.intersect(fr).then(x.strong.intersect(x.co))
	for r := range x.rmw {
		if between[r]&x.rmw[r] != 0 {
			return false // axiom Atomicity
		}
	}
	return true
}
