package race

import "slices"

// Barrier collects what the threads know that arrive at a barrier.
type Barrier struct {
	known Moment // known.anyScope is only kept where split is set
	split bool   // a thread has arrived whose two clocks differ
	last  knowledge
	some  bool // last is of a thread that has arrived: threads of a block often share their past
	seen  seenClocks
	// inits is what threads that arrived relaxed have released of InitSpace, and begins what happened before they began.
	inits, begins vector
}

// Arrive adds what a thread has done.
func (d *Detector) Arrive(b *Barrier, t *Thread) {
	b.add(&t.known)
	t.arrived, t.complete = t.known, t.time
	t.arrive()
	t.tick()
}

// add adds what a thread knows, which it may share with the one that was added before.
func (b *Barrier) add(k *knowledge) {
	if !b.split && !k.isOne() {
		b.split, b.known.anyScope = true, slices.Clone(b.known.ordered)
	}
	if !b.some || !b.last.sharesPast(k) {
		b.known.ordered.join(k.ordered.past)
		if b.split {
			b.known.anyScope.join(k.anyScope.past)
		}
	}
	b.raise(k.ordered.own, k.ordered.time)
	if k.lost != nil {
		b.known.lost = k.lost
	}
	if b.some {
		b.seen.join(&k.seen)
	} else {
		b.seen = k.seen
	}
	b.last, b.some = *k, true
}

// raise adds what a thread has done up to a time.
func (b *Barrier) raise(thread int, time uint32) {
	b.known.ordered.raise(thread, time)
	if b.split {
		b.known.anyScope.raise(thread, time)
	}
}

// Moment is what the threads that have arrived have done. No other thread arrives after that.
func (b *Barrier) Moment() *Moment {
	m := b.known
	if !b.split {
		m.anyScope = m.ordered
	}
	m.seen = b.seen.vectors()
	if b.begins != nil || b.inits != nil {
		isOne := m.isOne()
		m.ordered = m.ordered.with(b.begins)
		if m.anyScope = m.ordered; !isOne {
			m.anyScope = b.known.anyScope.with(b.begins)
		}
		for s := range m.seen {
			m.seen[s] = m.seen[s].with(b.begins)
		}
		m.seen[InitSpace].join(b.inits)
	}
	return &m
}

// Release lets threads go on that have arrived at a barrier, and empties it. They share their past from then on. A warp
// whose other lanes have learned more since then keeps that.
func (d *Detector) Release(b *Barrier, waiting []*Thread) {
	m := b.Moment()
	for _, t := range waiting {
		if t.known.sharesPast(&t.arrived) {
			t.known.ordered.past, t.known.anyScope.past, t.known.lost = m.ordered, m.anyScope, m.lost
			for s := range t.known.seen {
				t.known.seen[s].past = m.seen[s]
			}
		} else {
			d.After(t, m)
		}
		t.syncAll()
	}
	if d.wishes != nil {
		d.wishes.meet(waiting)
	}
	*b = Barrier{}
}
