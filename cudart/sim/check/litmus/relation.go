package litmus

import "math/bits"

// set is a set of events, by number.
type set uint64

// maxEvents is how many events an execution can have.
const maxEvents = 64

func (s set) has(e int) bool { return s>>e&1 != 0 }

// each calls f for each event of a set in order.
func (s set) each(f func(e int)) {
	for ; s != 0; s &= s - 1 {
		f(bits.TrailingZeros64(uint64(s)))
	}
}

// relation is a relation between events: for each, the set of those it is related to.
type relation []set

func (r relation) has(a, b int) bool { return r[a].has(b) }
func (r relation) add(a, b int)      { r[a] |= 1 << b }

func (r relation) clone() relation { return append(relation(nil), r...) }

// union is the pairs that any of the relations has.
func (r relation) union(others ...relation) relation {
	out := r.clone()
	for _, o := range others {
		for a := range out {
			out[a] |= o[a]
		}
	}
	return out
}

// intersect is the pairs that both relations have.
func (r relation) intersect(other relation) relation {
	out := r.clone()
	for a := range out {
		out[a] &= other[a]
	}
	return out
}

// then is the pairs that are related by a step of r, and one of next behind it.
func (r relation) then(next relation) relation {
	out := make(relation, len(r))
	for a, to := range r {
		to.each(func(b int) { out[a] |= next[b] })
	}
	return out
}

// inverse has all pairs the other way round.
func (r relation) inverse() relation {
	out := make(relation, len(r))
	for a, to := range r {
		to.each(func(b int) { out.add(b, a) })
	}
	return out
}

// from keeps the pairs that begin in a set, and to those that end in one.
func (r relation) from(s set) relation {
	out := r.clone()
	for a := range out {
		if !s.has(a) {
			out[a] = 0
		}
	}
	return out
}

func (r relation) to(s set) relation {
	out := r.clone()
	for a := range out {
		out[a] &= s
	}
	return out
}

// optional adds that each event of a set is related to itself.
func (r relation) optional(s set) relation {
	out := r.clone()
	s.each(func(e int) { out.add(e, e) })
	return out
}

// closure is the transitive closure.
func (r relation) closure() relation {
	out := r.clone()
	for via := range out {
		for a := range out {
			if out.has(a, via) {
				out[a] |= out[via]
			}
		}
	}
	return out
}

// irreflexive reports whether no event is related to itself.
func (r relation) irreflexive() bool {
	for a := range r {
		if r.has(a, a) {
			return false
		}
	}
	return true
}

func (r relation) acyclic() bool { return r.closure().irreflexive() }
