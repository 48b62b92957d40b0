package race

import "slices"

// message is what a strong write publishes in an element: the release patterns that it ends.
type message struct {
	*published
	// observers are those of the write, without its writer.
	observers   []observer
	fewObserver [1]observer // of observers, as a rule
}

// published is what the messages of a write have in common, as a rule. It does not change.
type published struct {
	writer   *Thread
	op       *Operation
	releases []*release
	reading  *reading
}

// release is the first operation of a release pattern, and what its thread knew then.
type release struct {
	by    *Thread
	op    *Operation
	known knowledge
	lanes uint32 // of a fence, those that have no later one
	// wished says that it is no release, but for a diagnosis.
	wished bool
	mark   mark // for a diagnosis
}

// observation is a release pattern that a strong read has observed.
type observation struct {
	*release
	morallyStrong bool // the write and the read are
	lanes         uint32
}

// release makes the first operation of a release pattern of a thread.
func (t *Thread) release(op *Operation, lanes uint32) *release {
	r := &release{by: t, op: op, known: t.known, lanes: lanes}
	if t.wishes != nil {
		r.mark = t.wishes.mark(t, lanes)
	}
	t.releaseBy(lanes, op.Kind == Fence)
	t.tick()
	return r
}

// releasesOf are the release patterns that a strong write by lanes of a thread ends, whatever address it writes.
func (t *Thread) releasesOf(op *Operation, lanes uint32) []*release {
	var all []*release
	for _, fences := range t.fences {
		for _, f := range fences {
			if f.lanes&lanes != 0 {
				t.releaseFor(lanes, f)
				all = append(all, f)
			}
		}
	}
	if op.Release {
		all = append(all, t.release(op, lanes))
	}
	if t.wishesRelease(op, all) {
		r := t.release(op, lanes)
		r.wished = true
		all = append(all, r)
	}
	return all
}

// publish fills the message of a strong write behind the message that was there. An atomic operation passes on what it
// reads, and a thread's own later write what it has released to the same place.
func (m *message) publish(p *published, before *message) {
	m.published, m.observers = p, m.fewObserver[:0]
	if before == nil || len(before.releases) == 0 {
		return
	}
	t, op := p.writer, p.op
	passes := op.Kind == Update && before.writer != t && morallyStrong(before.writer, before.op, t, op)
	for _, r := range before.releases {
		if m.supersedes(r) {
			continue
		}
		if passes || r.by == t || op.Kind == Update && before.writer == t {
			own := *m.published
			own.releases = append(slices.Clip(own.releases), r)
			m.published = &own
		}
	}
}

// supersedes reports whether the message has a later release of the same thread, with a scope that is no narrower.
func (m *message) supersedes(r *release) bool {
	return slices.ContainsFunc(m.releases, func(own *release) bool {
		return own.by == r.by && (r.wished || !own.wished) && own.known.ordered.time >= r.known.ordered.time &&
			own.op.Scope >= r.op.Scope
	})
}

// observe is a strong read of a message by lanes of a thread.
func (t *Thread) observe(m *message, op *Operation, lanes uint32) {
	if m == nil || m.op.Bytes != op.Bytes {
		return
	}
	strong := morallyStrong(m.writer, m.op, t, op)
	for _, r := range m.releases {
		if t.wishes != nil && r.by != t && !op.Reduction {
			t.wish(r, op, lanes)
		}
		if r.wished {
			continue
		}
		o := observation{r, strong, lanes}
		if r.by == t || op.Acquire && t.acquire(o, op, lanes) || op.Reduction {
			continue
		}
		t.remember(o)
	}
}

// remember keeps an observation until a fence has acquired it.
func (t *Thread) remember(o observation) {
	for i := range t.seen {
		if s := &t.seen[i]; s.release == o.release && s.morallyStrong == o.morallyStrong {
			s.lanes |= o.lanes
			return
		}
	}
	t.seen = append(t.seen, o)
}

// acquire ends an acquire pattern with an acquire or a fence by lanes. It reports whether the release happens before
// that.
func (t *Thread) acquire(o observation, op *Operation, lanes uint32) bool {
	if o.morallyStrong && o.op.Scope.reaches(o.by.place, t.place) && op.Scope.reaches(t.place, o.by.place) {
		// Clocks are joined as a whole: who knows the time of the release knows what led to it.
		isNew := o.known.ordered.time > t.known.ordered.at(o.by.number)
		if isNew || t.lanes[byPTX].learned != 0 {
			t.learn(lanes)
		}
		if isNew {
			t.known.join(&o.known)
		}
		return true
	}
	t.known.anyScope.join(&o.known.anyScope)
	t.known.lost = &Edge{Release: Side{o.by.Name, o.op}, Acquire: Side{t.Name, op}}
	return false
}

// morallyStrong reports whether two strong accesses to the same bytes are in each other's scope.
func morallyStrong(a *Thread, opA *Operation, b *Thread, opB *Operation) bool {
	return opA.strong() && opB.strong() && opA.Bytes == opB.Bytes && opA.Scope.reaches(a.place, b.place) &&
		opB.Scope.reaches(b.place, a.place) && opA.Proxy == opB.Proxy
}
