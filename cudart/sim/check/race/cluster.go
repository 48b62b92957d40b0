package race

// ArriveRelaxed is the arrival of a thread at a barrier of its cluster that releases nothing by itself: it adds what
// the thread has released with fences that reach the cluster.
func (d *Detector) ArriveRelaxed(b *Barrier, t *Thread) {
	for _, f := range t.fences[ClusterScope:] {
		if f == nil {
			continue
		}
		b.known = *b.Moment().With(f.known.moment())
		b.split, b.some = !b.known.isOne(), false
	}
}

// moment is what a thread knew, with its own operations.
func (k *knowledge) moment() *Moment {
	m := &Moment{lost: k.lost}
	for _, c := range []struct {
		to   *vector
		from *clock
	}{{&m.ordered, &k.ordered}, {&m.anyScope, &k.anyScope}} {
		c.to.join(c.from.past)
		c.to.raise(c.from.own, c.from.time)
	}
	if k.isOne() {
		m.anyScope = m.ordered
	}
	return m
}

// isOne reports whether both clocks of a moment are one.
func (m *Moment) isOne() bool { return m.ordered.same(m.anyScope) }
