package check

import (
	"gpurun/cudart/sim/check/race"
	"gpurun/cudart/sim/exec"
)

// asynchronous is what an observer knows of the asynchronous accesses of its grid.
type asynchronous struct {
	channels  map[channelKey]*channel
	order     []*channel // the same, in the order in which they were used first
	mbarriers map[mbarrierKey]*mbarrier
}

// channelKey is what copies have in common whose ends are told in the order in which they began: the warp, and the
// mbarrier that is told, or the kind of groups.
type channelKey struct {
	block, warp   int
	mbarrier      mbarrierKey
	async, writes bool // without an mbarrier: of bulk copies both, of cp.async writes, of wgmma async
}

type channel struct {
	*race.Channel
	last *race.Copy
}

type mbarrierKey struct {
	block   int
	address uint64
}

// mbarrier is what the threads and copies know that have arrived in its phase, and in the one before.
type mbarrier struct {
	phase   uint64 // the parity of the phase under way
	arrived race.Barrier
	over    *race.Moment // of the phase before, or nil
}

func newAsynchronous() asynchronous {
	return asynchronous{channels: map[channelKey]*channel{}, mbarriers: map[mbarrierKey]*mbarrier{}}
}

// at is the object when its phase has a parity. Between two actions at most one phase ends.
func (a *asynchronous) at(b exec.ObservedBarrier) *mbarrier {
	key := mbarrierKey{b.Block, b.Address}
	m := a.mbarriers[key]
	if m == nil {
		m = &mbarrier{phase: b.Phase}
		a.mbarriers[key] = m
	}
	if m.phase != b.Phase {
		*m = mbarrier{phase: b.Phase, over: m.arrived.Moment()}
	}
	return m
}

func (a *asynchronous) channel(at exec.Place, c *exec.ObservedCopy, d *race.Detector) *channel {
	key := channelKey{block: at.Block, warp: at.Warp}
	if c.Barrier != nil {
		key.mbarrier = mbarrierKey{c.Barrier.Block, c.Barrier.Address}
	} else {
		key.async, key.writes = c.Async, len(c.Writes) > 0
	}
	ch := a.channels[key]
	if ch == nil {
		ch = &channel{Channel: d.NewChannel()}
		a.channels[key] = ch
		a.order = append(a.order, ch)
	}
	return ch
}

// end adds the copies that nobody has waited for to what the grid has done: they have ended when it has.
func (a *asynchronous) end(all *race.Barrier, d *race.Detector) {
	for _, ch := range a.order {
		d.ArriveCopy(all, ch.last, false)
	}
}

// Copy implements exec.Observer.
func (o *observer) Copy(at exec.Place, c *exec.ObservedCopy) {
	d := o.run.detector
	ch := o.async.channel(at, c, d)
	k := d.Begin(o.warp(at.Block, at.Warp), ch.Channel)
	c.Tag, ch.last = k, k
	op := race.Operation{Kind: race.Read}
	if c.Async {
		op.Proxy = race.Async
	}
	for _, r := range c.Reads {
		o.copied(k.Reads, at.Site, op, r)
	}
	op.Kind = race.Write
	if c.Element > 0 {
		op.Kind, op.Scope, op.Bytes = race.Update, race.GPUScope, c.Element
	}
	for _, r := range c.Writes {
		o.copied(k.Writes, at.Site, op, r)
	}
	if b := c.Barrier; b != nil {
		op = race.Operation{Kind: race.Read, Scope: race.GPUScope, Bytes: 8, Space: race.BarrierSpace, Proxy: op.Proxy}
		d.Access(k.Writes, o.sharedOf(b.Block), o.operation(at.Site, op), []uint64{b.Address}, 1)
	}
}

// copied is an access of a copy to a range of memory.
func (o *observer) copied(t *race.Thread, site exec.Site, op race.Operation, r exec.ObservedRange) {
	memory := &o.run.memory.shadow
	if exec.IsShared(r.Address) {
		memory, op.Space = o.sharedOf(r.Block), race.SharedSpace
	} else {
		o.checkRange(t, site, op.Kind, r)
	}
	o.run.trace.mix(uint64(r.Block), r.Address, r.Bytes, uint64(op.Kind))
	if op.Bytes > 0 {
		o.run.detector.Access(t, memory, o.operation(site, op), []uint64{r.Address}, int(r.Bytes/op.Bytes))
		return
	}
	eachPiece(r.Address, r.Bytes, func(addr, size uint64, n int) {
		op := op
		op.Bytes = size
		o.run.detector.Access(t, memory, o.operation(site, op), []uint64{addr}, n)
	})
}

// eachPiece cuts a range into elements, as large as their alignment allows: n of a size behind one another.
func eachPiece(addr, bytes uint64, f func(addr, size uint64, n int)) {
	const largest = 256
	for end := addr + bytes; addr < end; {
		size, n := uint64(largest), 1
		for addr%size != 0 || addr+size > end {
			size /= 2
		}
		if size == largest {
			n = int((end - addr) / largest)
		}
		f(addr, size, n)
		addr += size * uint64(n)
	}
}

// Wait implements exec.Observer.
func (o *observer) Wait(at exec.Place, copies []*exec.ObservedCopy, readsAlone bool) {
	o.run.trace.mix(uint64(at.Block), uint64(at.Warp), uint64(len(copies)))
	o.run.detector.Wait(o.warp(at.Block, at.Warp), tagsOf(copies), readsAlone)
}

func tagsOf(copies []*exec.ObservedCopy) []*race.Copy {
	var all []*race.Copy
	for _, c := range copies {
		if k, ok := c.Tag.(*race.Copy); ok {
			all = append(all, k)
		}
	}
	return all
}

// Complete implements exec.Observer.
func (o *observer) Complete(b exec.ObservedBarrier, copies []*exec.ObservedCopy) {
	o.run.trace.mix(uint64(b.Block), b.Address, b.Phase)
	m := o.async.at(b)
	for _, k := range tagsOf(copies) {
		o.run.detector.ArriveCopy(&m.arrived, k, false)
	}
}

// Mbarrier implements exec.Observer.
func (o *observer) Mbarrier(at exec.Place, b exec.ObservedBarrier, do exec.MbarrierAction) {
	o.run.trace.mix(uint64(at.Block), uint64(at.Warp), b.Address, b.Phase, uint64(do))
	d, t, m := o.run.detector, o.warp(at.Block, at.Warp), o.async.at(b)
	// Of the object's memory only its beginning counts as a write, so that all else has to happen after that.
	op := race.Operation{Kind: race.Read, Scope: race.GPUScope, Bytes: 8, Space: race.BarrierSpace}
	if do == exec.MbarrierBegins || do == exec.MbarrierEnds {
		op.Kind, op.Scope = race.Write, race.NoScope
		*m = mbarrier{}
	}
	if do == exec.MbarrierBegins {
		d.MakeMbarrier(t, at.Lanes)
	}
	d.Access(t, o.sharedOf(b.Block), o.operation(at.Site, op), []uint64{b.Address}, 1)
	o.watched.testMbarrier(o.run, at, b, do)
	switch {
	case do == exec.MbarrierArrives:
		d.Arrive(&m.arrived, t)
	case do == exec.MbarrierPasses && m.over != nil:
		d.After(t, m.over)
		d.SyncWarp(t, 1<<32-1, true)
	}
}

// FenceProxy implements exec.Observer.
func (o *observer) FenceProxy(at exec.Place, space string) {
	o.run.trace.mix(uint64(at.Block), uint64(at.Warp))
	t := o.warp(at.Block, at.Warp)
	if space == "mbarrier_init" {
		o.run.detector.FenceMbarriers(t, at.Lanes)
		return
	}
	o.run.detector.FenceProxy(t, fencedSpaces[space]...)
}

var fencedSpaces = map[string][]race.Space{
	"":       {race.GlobalSpace, race.SharedSpace, race.BarrierSpace},
	"global": {race.GlobalSpace}, "shared": {race.SharedSpace, race.BarrierSpace},
	"alias": {race.AliasSpace},
}
