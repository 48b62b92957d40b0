package race

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
// accesses that begin after it, or of AliasSpace before accesses by another kind of address. That of InitSpace releases
// what the thread itself has written to BarrierSpace: a relaxed arrival at the barrier of the cluster passes it on.
func (d *Detector) FenceProxy(t *Thread, fenced ...Space) {
	for _, s := range fenced {
		if s == InitSpace { // what this thread has made, and not others before it
			t.known.seen[s].own, t.known.seen[s].time = t.number, t.time
			continue
		}
		t.known.seen[s] = t.known.ordered
	}
	t.tick()
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
