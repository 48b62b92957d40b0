package race

import "slices"

// Proxy is the path by which an access reaches memory.
type Proxy uint8

// The proxies. Bulk copies and wgmma access memory through the async proxy, all else through the generic one.
const (
	Generic Proxy = iota
	Async
)

// Space is the memory that a proxy fence is for.
type Space uint8

// The spaces. An mbarrier is one of its own, because it has a fence of its own.
const (
	GlobalSpace Space = iota
	SharedSpace
	BarrierSpace
	// AliasSpace is the memory that a multicast address and another one stand for. It is of no operation.
	AliasSpace
	// InitSpace is the state of new mbarriers, which has a fence that releases it to the cluster. It is of no operation.
	InitSpace
	spaces
)

// FenceProxy is a proxy fence of a thread for some spaces: what happens before it happens before the asynchronous
// accesses that begin after it, or of AliasSpace before accesses by another kind of address.
func (d *Detector) FenceProxy(t *Thread, fenced ...Space) {
	for _, s := range fenced {
		t.known.seen[s] = t.known.ordered
	}
	t.tick()
}

// madeMbarriers are lanes of a warp that have made mbarriers at a time, and not fenced them.
type madeMbarriers struct{ lanes, time uint32 }

// MakeMbarrier notes that lanes of a warp make mbarriers. The access itself is one for [Detector.Access].
func (d *Detector) MakeMbarrier(t *Thread, lanes uint32) {
	if last := len(t.made) - 1; last >= 0 && t.made[last].time == t.time {
		t.made[last].lanes |= lanes
		return
	}
	t.made = append(t.made, madeMbarriers{lanes, t.time})
}

// FenceMbarriers is the fence of new mbarriers, by lanes of a warp (PTX ISA, "fence.mbarrier_init"). It releases those
// that the same lanes have made: a relaxed arrival at the barrier of the cluster passes that on. Where other lanes have
// made some without a fence, nothing is released since the first of these.
func (d *Detector) FenceMbarriers(t *Thread, lanes uint32) {
	for i := range t.made {
		t.made[i].lanes &^= lanes
	}
	t.made = slices.DeleteFunc(t.made, func(m madeMbarriers) bool { return m.lanes == 0 })
	until := t.time
	if len(t.made) > 0 {
		until = t.made[0].time - 1
	}
	inits := &t.known.seen[InitSpace]
	inits.own, inits.time = t.number, max(inits.time, until)
	d.FenceProxy(t, BarrierSpace)
}

// AllSeen is a moment at which a grid ends or begins: there, no proxy fence is needed.
func (m *Moment) AllSeen() *Moment {
	all := *m
	for s := range all.seen {
		all.seen[s] = m.ordered
	}
	return &all
}

// see makes a thread begin at a moment, which may be nil. Asynchronous accesses see all that led there.
func (k *knowledge) see(after *Moment) {
	for s := range k.seen {
		k.seen[s] = clock{own: k.ordered.own}
		if after != nil {
			k.seen[s].past = after.ordered
		}
	}
}

// sharesSeen reports whether the pasts that asynchronous accesses see are the same.
func (k *knowledge) sharesSeen(other *knowledge) bool {
	for s := range k.seen {
		if !k.seen[s].past.same(other.seen[s].past) {
			return false
		}
	}
	return true
}

// vector is the clock without a time apart.
func (c *clock) vector() vector {
	if c.time <= c.past.at(c.own) {
		return c.past
	}
	var v vector
	v.join(c.past)
	v.raise(c.own, c.time)
	return v
}
