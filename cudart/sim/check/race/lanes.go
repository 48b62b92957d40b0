package race

import "math/bits"

// The lanes of a warp are threads of their own, and one thread of the clocks. What tells them apart is here. A warp
// counts steps: one ends where lanes meet, and at a release. An access keeps its step and its lanes.

// order is one of the two models: by which instructions lanes that meet order their accesses.
const (
	byPTX      = iota // bar.warp.sync alone
	byHardware        // all .sync and .aligned instructions
	orders
)

// allLanes are those of a thread whose lanes are not told apart.
const allLanes = ^uint32(0)

// laneOrder is the order between the lanes of a warp, by one model.
type laneOrder struct {
	synced uint32          // accesses of earlier steps happen before what any lane does now
	groups *[32][32]uint32 // the same for a lane, of another one; nil while all lanes have met or none
	// released is a step: accesses of earlier ones are part of all later releases. Lanes that have accessed memory since
	// then are pending.
	released, pending uint32
	partial           []laneRelease // by time
	// learned are the lanes that have acquired since all met; the others know what the warp knew before.
	learned uint32
	before  clock
}

// laneRelease is a release that does not cover what all lanes of a warp have done.
type laneRelease struct {
	time, step uint32
	released   uint32      // accesses of earlier steps are part of it
	lanes      uint32      // whose accesses are part of it
	groups     *[32]uint32 // or nil: of each lane, accesses of earlier steps are part of it
}

// SyncWarp tells that lanes of a thread have met; allLanes are those that have not exited. If they do not order memory,
// they do so by hardware alone.
func (d *Detector) SyncWarp(t *Thread, lanes uint32, ordersMemory bool) {
	t.step++
	for model := range t.lanes {
		if ordersMemory || model == byHardware {
			t.lanes[model].sync(lanes, t.step)
		}
	}
}

// syncAll orders all that a thread has done before all that its lanes do from now on.
func (t *Thread) syncAll() {
	t.step++
	for model := range t.lanes {
		t.lanes[model].sync(allLanes, t.step)
	}
}

// sync orders what lanes have done in the steps before one.
func (o *laneOrder) sync(lanes, step uint32) {
	if lanes == allLanes {
		*o = laneOrder{synced: step, released: step, partial: o.partial}
		return
	}
	if o.learned&lanes != 0 {
		o.learned |= lanes
	}
	if o.groups == nil {
		o.groups = new([32][32]uint32)
	}
	known := *o.knownBy(lanes) // groups is not nil
	for m := lanes; m != 0; m &= m - 1 {
		known[bits.TrailingZeros32(m)] = step
	}
	for m := lanes; m != 0; m &= m - 1 {
		o.groups[bits.TrailingZeros32(m)] = known
	}
}

// knownBy are the steps of each lane that happen before what some lanes do, together; nil where no lanes have met.
func (o *laneOrder) knownBy(lanes uint32) *[32]uint32 {
	if o.groups == nil {
		return nil
	}
	var known [32]uint32
	for m := lanes; m != 0; m &= m - 1 {
		for i, step := range o.groups[bits.TrailingZeros32(m)] {
			known[i] = max(known[i], step)
		}
	}
	return &known
}

// orders reports whether what a lane did at a step happens before what another one does now.
func (o *laneOrder) orders(first int, step uint32, second int) bool {
	return step < o.synced || o.groups != nil && step < o.groups[second][first]
}

// arrive tells that all that a thread has done is released.
func (t *Thread) arrive() {
	for model := range t.lanes {
		o := &t.lanes[model]
		o.released, o.pending = t.step+1, 0
	}
	t.step++
}

// releaseBy tells that lanes release at the thread's time. The lanes of a fence are those that write behind it: see
// releaseFor.
func (t *Thread) releaseBy(lanes uint32, fence bool) {
	for model := range t.lanes {
		o := &t.lanes[model]
		if several := lanes&(lanes-1) != 0 && fence; o.pending == 0 || o.pending&^lanes == 0 && !several {
			o.released, o.pending = t.step+1, 0
			continue
		}
		r := laneRelease{time: t.time, step: t.step, released: o.released, groups: o.knownBy(lanes)}
		if !fence {
			r.lanes = lanes
		}
		o.partial = append(o.partial, r)
	}
	t.step++
}

// releaseFor tells that lanes write behind a fence of the thread, which releases what they have done before it.
func (t *Thread) releaseFor(lanes uint32, fence *release) {
	for model := range t.lanes {
		if r, _ := t.lanes[model].releaseAt(fence.known.ordered.time); r != nil {
			r.lanes |= lanes & fence.lanes
		}
	}
}

// releaseAt is the release of a time that does not cover all lanes, and its number; or nil.
func (o *laneOrder) releaseAt(time uint32) (*laneRelease, int) {
	for low, high := 0, len(o.partial); low < high; {
		switch at := (low + high) / 2; {
		case o.partial[at].time == time:
			return &o.partial[at], at
		case o.partial[at].time < time:
			low = at + 1
		default:
			high = at
		}
	}
	return nil, 0
}

// unreleased are those of the lanes that made an access which are no part of what was released at a time, nor of
// releases before that. by are lanes that have released then.
func (o *laneOrder) unreleased(step, lanes, time uint32) (left, by uint32) {
	if len(o.partial) == 0 {
		return 0, 0
	}
	last, at := o.releaseAt(time)
	if last == nil || step < last.released {
		return 0, 0
	}
	for ; at >= 0 && o.partial[at].step >= step; at-- {
		r := &o.partial[at]
		lanes &^= r.lanes
		for m := lanes; m != 0 && r.groups != nil; m &= m - 1 {
			if lane := bits.TrailingZeros32(m); step < r.groups[lane] {
				lanes &^= 1 << lane
			}
		}
	}
	return lanes, last.lanes
}

// learn tells that lanes of a thread are about to acquire.
func (t *Thread) learn(lanes uint32) {
	for model := range t.lanes {
		switch o := &t.lanes[model]; {
		case lanes == allLanes:
			o.learned = 0
		case o.learned == 0:
			o.before, o.learned = t.known.ordered, lanes
		default:
			o.learned |= lanes
		}
	}
}

// learnAll adds what all lanes of a thread learn.
func (t *Thread) learnAll(k *knowledge) {
	t.known.join(k)
	for model := range t.lanes {
		if o := &t.lanes[model]; o.learned != 0 {
			o.before.join(&k.ordered)
		}
	}
}
