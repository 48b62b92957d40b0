package race

import "slices"

// vector is a vector clock: for each thread, by number, the time up to which what it did happens before.
type vector []uint32

// at is the time of a thread; 0 is before everything that it did.
func (v vector) at(thread int) uint32 {
	if thread < len(v) {
		return v[thread]
	}
	return 0
}

// same reports whether two vectors are one.
func (v vector) same(other vector) bool {
	return len(v) == len(other) && (len(v) == 0 || &v[0] == &other[0])
}

// join makes v the later one of both, thread by thread.
func (v *vector) join(other vector) {
	if len(other) > len(*v) {
		*v = append(*v, make(vector, len(other)-len(*v))...)
	}
	mine := (*v)[:len(other)]
	for i, t := range other {
		mine[i] = max(mine[i], t)
	}
}

// with is a vector of its own, the later one of both.
func (v vector) with(other vector) vector {
	both := slices.Clone(v)
	both.join(other)
	return both
}

// raise makes the clock of one thread no earlier than a time.
func (v *vector) raise(thread int, time uint32) {
	if thread >= len(*v) {
		*v = append(*v, make(vector, thread+1-len(*v))...)
	}
	(*v)[thread] = max((*v)[thread], time)
}

// clock is the vector clock of a thread. Its own time, which changes often, is kept apart. So the threads of a block
// share one past after a barrier, which nobody changes.
type clock struct {
	past vector
	own  int
	time uint32
}

func (c *clock) at(thread int) uint32 {
	if thread == c.own {
		return max(c.time, c.past.at(thread))
	}
	return c.past.at(thread)
}

// covers reports whether c is nowhere earlier than another clock.
func (c *clock) covers(other *clock) bool {
	if other.time > c.at(other.own) {
		return false
	}
	if c.past.same(other.past) {
		return true
	}
	for i, t := range other.past {
		if t > c.at(i) {
			return false
		}
	}
	return true
}

// covers reports whether v is nowhere earlier than another vector.
func (v vector) covers(other vector) bool {
	for i, t := range other {
		if t > v.at(i) {
			return false
		}
	}
	return true
}

// join makes c the later one of both. It shares the vector of the other one where that is enough.
func (c *clock) join(other *clock) {
	if c.covers(other) {
		return
	}
	if other.time <= other.past.at(other.own) && other.past.covers(c.past) {
		c.past = other.past
		return
	}
	past := slices.Clone(c.past)
	past.join(other.past)
	past.raise(other.own, other.time)
	c.past = past
}

// knowledge is what happens before a place in a program.
type knowledge struct {
	ordered  clock // by the memory model
	anyScope clock // as if every scope were .sys; never earlier than ordered
	lost     *Edge // the last edge that only anyScope has, or nil
	// seen is what asynchronous accesses see: what happens before a proxy fence that happens before this place.
	seen seenClocks
}

// isOne reports whether both clocks are one, as they are while no scope is too narrow.
func (k *knowledge) isOne() bool { return k.ordered.past.same(k.anyScope.past) }

// sharesPast reports whether two threads have the same past.
func (k *knowledge) sharesPast(other *knowledge) bool {
	return k.ordered.past.same(other.ordered.past) && k.anyScope.past.same(other.anyScope.past) && k.sharesSeen(other)
}

// join adds what another thread knows.
func (k *knowledge) join(other *knowledge) {
	one := k.isOne() && other.isOne()
	k.ordered.join(&other.ordered)
	if one {
		k.anyScope.past = k.ordered.past
	} else {
		k.anyScope.join(&other.anyScope)
	}
	if other.lost != nil {
		k.lost = other.lost
	}
	k.seen.join(&other.seen)
}
