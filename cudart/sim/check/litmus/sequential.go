package litmus

import "slices"

// sequential reports whether an execution is sequentially consistent: its threads take turns, and each read returns the
// last write. Such executions are those that a machine shows whose memory is in order.
func (x *execution) sequential() bool {
	s := &interleaving{execution: x, failed: map[string]bool{}, last: make([]int, len(x.test.Locations))}
	for e := range x.events {
		if ev := &x.events[e]; ev.thread < 0 {
			s.last[ev.location] = e
			s.done |= 1 << e
		}
	}
	return s.finish()
}

// interleaving is the beginning of one.
type interleaving struct {
	*execution
	done   set
	last   []int // the last write to each memory
	failed map[string]bool
}

// finish reports whether the rest of the events can follow.
func (s *interleaving) finish() bool {
	if s.done == set(1)<<len(s.events)-1 {
		return true
	}
	key := make([]byte, 0, 8+len(s.last))
	for i := range 8 {
		key = append(key, byte(s.done>>(8*i)))
	}
	for _, w := range s.last {
		key = append(key, byte(w))
	}
	if s.failed[string(key)] || !s.spend() {
		return false
	}
	for e := range s.events {
		if !s.done.has(e) && s.ready(e) && s.perform(e) {
			return true
		}
	}
	s.failed[string(key)] = true
	return false
}

// ready reports whether an event can be the next one.
func (s *interleaving) ready(e int) bool {
	for before := range s.events {
		switch {
		case s.po.has(before, e) && !s.done.has(before):
			return false
		case s.fences.has(before, e) && !s.done.has(before):
			return false
		case s.barrier.has(before, e): // the other thread has arrived when all in front of its barrier is done
			for first := range s.events {
				if s.po.has(first, before) && !s.done.has(first) {
					return false
				}
			}
		}
	}
	return s.events[e].kind != read || s.rf.has(s.last[s.memoryOf(e)], e)
}

func (s *interleaving) memoryOf(e int) int { return s.test.Locations[s.events[e].location].Memory }

// perform lets an event be the next one, an atomic operation with its write, and reports whether the rest can follow.
func (s *interleaving) perform(e int) bool {
	done, last := s.done, slices.Clone(s.last)
	s.done |= 1<<e | s.rmw[e]
	if s.rmw[e] != 0 {
		e++ // the write follows its read
	}
	if s.events[e].kind == write {
		s.last[s.memoryOf(e)] = e
	}
	if s.finish() {
		return true
	}
	s.done, s.last = done, last
	return false
}
