package race

// observer is a thread that has observed a write by a morally strong read, and the time of its first such read.
type observer struct {
	thread int
	time   uint32
}

// isObserved records that a thread has read a message, if both accesses are morally strong. Causality order begins with
// observation: the write, and nothing in front of it, happens before all that happens behind such a read.
func (m *message) isObserved(t *Thread, op *Operation) {
	if m == nil || op.Kind != Read || m.writer == t || !morallyStrong(m.writer, m.op, t, op) {
		return
	}
	for _, o := range m.observers {
		if o.thread == t.number {
			return
		}
	}
	m.observers = append(m.observers, observer{t.number, t.time})
}

// happensBefore reports whether what a thread does now is behind an observation of a message.
func (m *message) happensBefore(t *Thread) bool {
	if m == nil {
		return false
	}
	for _, o := range m.observers {
		if o.time <= t.known.ordered.at(o.thread) {
			return true
		}
	}
	return false
}

// compareObserved looks for a race with a write, or a read without a message, unless observation orders it.
func (d *Detector) compareObserved(old *event, m *message, now *event, addr uint64) bool {
	if old == nil || now.op.ReadOnly || now.op.Proxy != old.op.Proxy || !m.happensBefore(now.thread) {
		return d.compare(old, now, addr)
	}
	if old.thread != now.thread {
		d.meet(old.op, now.op)
	}
	return false
}
