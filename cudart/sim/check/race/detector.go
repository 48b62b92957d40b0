package race

import "slices"

// Detector follows threads and memory, and collects findings. It belongs to one goroutine.
type Detector struct {
	threads  int
	findings []Finding
	known    map[pair]int // index in findings
	polls    []poll
	torn     []Tear
	lastTorn int     // the place of the one that was seen last
	at       *Memory // that is accessed now
	// cell is the address of the cell that is accessed now, of cellBytes.
	cell, cellBytes uint64
	byLane          bool // whether two accesses are ordered depends on the lanes, and may be otherwise in the next cell

	met    []*Operation // that have accessed bytes behind another one
	wishes *wishes      // nil: nothing is diagnosed
}

// New makes a detector that knows no threads.
func New() *Detector { return &Detector{known: map[pair]int{}} }

// Thread is what has a program order: a warp, a stream, or the host code of a rank.
type Thread struct {
	// Name tells people which thread it is. The detector passes it on.
	Name  any
	place Place

	number int
	time   uint32
	known  knowledge
	begin  vector // what happens before the thread begins
	// fences are the last releasing fences, by scope. One is dropped when all its lanes have a later fence with a scope
	// that is no narrower.
	fences  [SystemScope + 1][]*release
	arrived knowledge // what it knew when it arrived at a barrier last
	// seen are the messages that strong reads have observed, until a fence has acquired them.
	seen []observation
	made []madeMbarriers // of a warp
	// complete is the time up to which a barrier has completed its reads; reading and polled are those of hardware.go.
	complete uint32
	reading  *reading
	polled   map[*reading]bool
	// lastPolled is the one of polled that was added last.
	lastPolled *reading
	// step and lanes are of a warp.
	step   uint32
	lanes  [orders]laneOrder
	wishes *wishes // of the detector
}

// NewThread makes a thread that begins after a moment, which may be nil.
func (d *Detector) NewThread(name any, at Place, after *Moment) *Thread {
	d.threads++
	return begin(&Thread{Name: name, place: at, number: d.threads - 1, wishes: d.wishes}, after)
}

// Succeed makes a thread that begins after a moment and takes the place of an earlier thread in the clocks, whose last
// step was to arrive somewhere. It returns nil if that may not happen before the moment.
func (d *Detector) Succeed(earlier *Thread, name any, at Place, after *Moment) *Thread {
	last := earlier.complete
	if after == nil || last == 0 || last+1 != earlier.time || after.ordered.at(earlier.number) < last {
		return nil
	}
	return begin(&Thread{Name: name, place: at, number: earlier.number, time: earlier.time, wishes: d.wishes}, after)
}

// begin makes a thread begin after a moment, which may be nil.
func begin(t *Thread, after *Moment) *Thread {
	t.known.ordered.own, t.known.anyScope.own = t.number, t.number
	if after != nil {
		t.known.ordered.past, t.known.anyScope.past, t.known.lost = after.ordered, after.anyScope, after.lost
		t.begin = after.ordered
	}
	t.known.see(after)
	t.tick()
	return t
}

// tick begins a new time of the thread: what it does from now on does not happen before what it has released.
func (t *Thread) tick() {
	t.time++
	t.known.ordered.time, t.known.anyScope.time = t.time, t.time
}

// Join orders all that a thread has done before all that another one does from now on.
func (d *Detector) Join(later, earlier *Thread) {
	later.learnAll(&earlier.known)
	earlier.arrive()
	earlier.tick()
}

// Mark is a place in the program of a thread.
type Mark struct {
	thread int
	time   uint32
}

// Mark is the place that a thread has reached. It costs less than a Moment.
func (t *Thread) Mark() Mark { return Mark{t.number, t.time} }

// IsBehind reports whether what a thread does from now on is ordered behind what another one did at a mark.
func (t *Thread) IsBehind(m Mark) bool { return m.time <= t.known.ordered.at(m.thread) }

// Moment is what threads have done up to some places in their programs.
type Moment struct {
	ordered, anyScope vector
	lost              *Edge
	seen              [spaces]vector // by the async proxy
}

// With is what led to either of two moments.
func (m *Moment) With(other *Moment) *Moment {
	both := &Moment{ordered: slices.Clone(m.ordered), lost: m.lost}
	both.ordered.join(other.ordered)
	both.anyScope = both.ordered
	if !m.isOne() || !other.isOne() {
		both.anyScope = slices.Clone(m.anyScope)
		both.anyScope.join(other.anyScope)
	}
	if other.lost != nil {
		both.lost = other.lost
	}
	for s := range both.seen {
		both.seen[s] = slices.Clone(m.seen[s])
		both.seen[s].join(other.seen[s])
	}
	return both
}

// isOne reports whether both clocks of a moment are one.
func (m *Moment) isOne() bool { return m.ordered.same(m.anyScope) }

// Now is the place that a thread has reached.
func (d *Detector) Now(t *Thread) *Moment {
	var b Barrier
	d.Arrive(&b, t)
	return b.Moment()
}

// After orders all that led to a moment before all that a thread does from now on.
func (d *Detector) After(t *Thread, m *Moment) {
	k := knowledge{
		ordered: clock{past: m.ordered, own: t.number}, anyScope: clock{past: m.anyScope, own: t.number}, lost: m.lost,
	}
	for s := range k.seen {
		k.seen[s] = clock{past: m.seen[s], own: t.number}
	}
	t.learnAll(&k)
}

// Fence is a fence of a thread.
func (d *Detector) Fence(t *Thread, op *Operation) { d.FenceByLanes(t, op, allLanes) }

// FenceByLanes is a fence of lanes of a thread.
func (d *Detector) FenceByLanes(t *Thread, op *Operation, lanes uint32) {
	if op.Acquire {
		if d.wishes != nil {
			d.wishes.acquireAll(t)
		}
		t.seen = slices.DeleteFunc(t.seen, func(o observation) bool {
			return o.lanes&lanes != 0 && t.acquire(o, op, o.lanes&lanes)
		})
	}
	if op.Release {
		for s := range op.Scope + 1 {
			t.fences[s] = slices.DeleteFunc(t.fences[s], func(f *release) bool {
				f.lanes &^= lanes
				return f.lanes == 0
			})
		}
		t.fences[op.Scope] = append(t.fences[op.Scope], t.release(op, lanes))
	}
}

// Findings are the races so far, in the order in which they were seen first.
func (d *Detector) Findings() []Finding { return slices.Clone(d.findings) }
