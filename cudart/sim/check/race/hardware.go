package race

import "slices"

// What current GPUs do beyond PTX: a read that has returned before its thread's strong write is performed before any
// write that follows a strong read of that write. So slots are used again behind relaxed and volatile flags. The
// package documentation says what this rests on.

// reading is what a thread has read when it makes a strong write: what happens before the write, and its own reads in
// front of its last barrier.
type reading struct {
	by   *Thread
	past vector
	upTo uint32 // of its own
	time uint32 // of the write
}

// poll is a strong read of a strong write of another thread, at a time of the reading thread.
type poll struct {
	*reading
	to *Thread
	at uint32
}

// reads is the reading of a strong write at this moment. Writes between which nothing changes share it.
func (t *Thread) reads() *reading {
	r := t.reading
	if past := t.known.ordered.past; r == nil || r.time != t.time || !r.past.same(past) {
		r = &reading{t, past, t.complete, t.time}
		t.reading = r
	}
	return r
}

// poll notes a strong read of a message.
func (d *Detector) poll(t *Thread, m *message, op *Operation) {
	if m == nil || m.writer == t || m.reading == nil || t.lastPolled == m.reading || t.polled[m.reading] ||
		!morallyStrong(m.writer, m.op, t, op) {
		return
	}
	if t.polled == nil {
		t.polled = map[*reading]bool{}
	}
	t.polled[m.reading], t.lastPolled = true, m.reading
	d.polls = append(d.polls, poll{m.reading, t, t.time})
}

// orders reports whether current GPUs perform a read before a write, though PTX does not order them: there is a chain
// of polls, from a write behind a barrier behind the read to the write.
func (d *Detector) orders(old, now *event) bool {
	if old.op.Kind != Read || now.op.Kind == Read || old.op.Proxy != Generic || now.op.Proxy != Generic {
		return false
	}
	seen := map[*reading]bool{}
	todo := []clock{now.thread.known.ordered}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, p := range d.polls {
			if seen[p.reading] || p.at > at.at(p.to.number) {
				continue
			}
			if p.by == old.thread && old.time <= p.upTo || old.time <= p.past.at(old.thread.number) {
				return true
			}
			seen[p.reading] = true
			todo = append(todo, clock{past: p.past, own: p.by.number, time: p.time})
		}
	}
	return false
}

// Tear is a strong read of a vector of which another thread has written elements with a vector store, where nothing
// orders the two.
type Tear struct {
	Store, Load Side
	Address     uint64
	Count       int
}

// tears looks for vectors that may be torn.
func (d *Detector) tears(t *Thread, m *Memory, op *Operation, addresses []uint64, elements int) {
	if op.Vector < 2 {
		return
	}
	m.each(op, addresses, elements, func(addr uint64, cells []cell, n int) {
		for i := 0; i < len(cells); i += n {
			d.tear(t, cells[i].write, op, addr+uint64(i/n)*op.Bytes)
		}
	})
}

// tear looks whether a load of an element may tear what a store has written, which may be nil.
func (d *Detector) tear(t *Thread, w *event, op *Operation, addr uint64) {
	if w == nil || w.thread == t || w.op.Vector < 2 || w.op.Proxy != op.Proxy ||
		w.time <= t.known.ordered.at(w.thread.number) {
		return
	}
	same := func(o Tear) bool { return o.Store.Op.Site == w.op.Site && o.Load.Op.Site == op.Site }
	// Nearly all elements of an operation have the same pair.
	if d.lastTorn >= len(d.torn) || !same(d.torn[d.lastTorn]) {
		d.lastTorn = slices.IndexFunc(d.torn, same)
	}
	if d.lastTorn < 0 {
		d.lastTorn = len(d.torn)
		d.torn = append(d.torn, Tear{Side{w.thread.Name, w.op}, Side{t.Name, op}, addr, 0})
	}
	d.torn[d.lastTorn].Count++
}

// Tears are the vectors that may be torn, in the order in which they were seen first.
func (d *Detector) Tears() []Tear { return slices.Clone(d.torn) }
