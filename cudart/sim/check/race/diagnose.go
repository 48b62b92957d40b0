package race

// Diagnosis says what would have ordered the two accesses of a race.
type Diagnosis struct {
	Missing Missing
	// Edge is a strong write and a strong read of it, between the two accesses. Their operations may be relaxed.
	Edge Edge
	// Released and Acquired say that the side of the edge is a release, or an acquire, already.
	Released, Acquired bool
	// Late says that the second access should have been the first: its block has signaled before it.
	Late bool
	// Waits are with LaterFlag the last flags of the other's block that the two accesses come behind, or nil.
	Waits [2]*Edge

	last  *event // that was diagnosed, where nothing is known to be missing
	times int
}

// Missing is what an edge lacks.
type Missing uint8

// What may be missing.
const (
	Nothing       Missing = iota // no edge is near
	StrongerFlag                 // the flag's write does not release, or its read does not acquire
	BarrierBefore                // between the first access and the flag's write by another warp of its block
	BarrierBehind                // between the flag's read and the second access by another warp of its block
	LaterFlag                    // each access waits for a flag that comes before the other one, or for none
)

// wishes are the edges that a run would have if each strong write released and each strong read acquired, for .sys.
// They count in the clock that takes each scope for .sys.
type wishes struct {
	edges     []wish
	known     map[wishKey]bool
	histories map[*Thread]*history
}

type wish struct {
	wishKey
	at       uint32 // time of the read
	acquired bool
	reads    mark // the place of the read
}

type wishKey struct {
	*release
	to   *Thread
	read *Operation
}

// Diagnose makes the detector say of each race what would order it. That costs time and memory. Causes differ from
// those of another run. It is called before there are threads.
func (d *Detector) Diagnose() {
	d.wishes = &wishes{known: map[wishKey]bool{}, histories: map[*Thread]*history{}}
}

// wishesRelease reports whether a strong write by a thread gets a release for the diagnosis.
func (t *Thread) wishesRelease(op *Operation, releases []*release) bool {
	return t.wishes != nil && !op.Release && len(releases) == 0
}

// wish is a strong read of a release.
func (t *Thread) wish(r *release, op *Operation, lanes uint32) {
	t.known.anyScope.join(&r.known.anyScope)
	if key := (wishKey{r, t, op}); !t.wishes.known[key] {
		t.wishes.known[key] = true
		t.wishes.edges = append(t.wishes.edges, wish{key, t.time, op.Acquire, t.wishes.mark(t, lanes)})
	}
}

// acquireAll notes that a fence of a thread acquires what the thread has read.
func (w *wishes) acquireAll(t *Thread) {
	for i := range w.edges {
		w.edges[i].acquired = w.edges[i].acquired || w.edges[i].to == t
	}
}

// diagnose looks for the last edge between two accesses, and else for one from a block or to a block of theirs. Without
// one, the accesses may come behind flags that are too early.
func (d *Detector) diagnose(old, now *event) *Diagnosis {
	best := &Diagnosis{}
	for i := len(d.wishes.edges) - 1; i >= 0; i-- {
		e := &d.wishes.edges[i]
		missing, late := e.missing(old, now)
		if missing == Nothing || best.Missing != Nothing && missing != StrongerFlag {
			continue
		}
		best = &Diagnosis{Missing: missing, Edge: e.edge(), Released: !e.wished, Acquired: e.acquired, Late: late}
		if missing == StrongerFlag {
			break
		}
	}
	if best.Missing == Nothing {
		return d.wishes.earlyFlags(old, now)
	}
	return best
}

// mostDiagnosed bounds how often the race of two instructions is diagnosed.
const mostDiagnosed = 64

// diagnoseAgain diagnoses a race that was seen before and could not be explained, as before the first flags are waited
// for. The finding is then about the two accesses that explain it.
func (d *Detector) diagnoseAgain(f *Finding, old, now *event, addr uint64) {
	before := f.Diagnosis
	if before == nil || before.Missing != Nothing || before.last == now || before.times == mostDiagnosed {
		return
	}
	f.Diagnosis = d.diagnose(old, now)
	f.Diagnosis.last, f.Diagnosis.times = now, before.times+1
	if f.Diagnosis.Missing != Nothing {
		f.First, f.Second = Side{old.thread.Name, old.op}, Side{now.thread.Name, now.op}
		f.Address, f.Memory = addr, d.at.Name
	}
}

// missing says what an edge lacks to order two accesses, and whether the second one should have been the first. A
// barrier is missing only where nothing orders the access and the side of the flag, and the warp of the flag does not
// execute the access on its other side.
func (e *wish) missing(old, now *event) (missing Missing, late bool) {
	from := old.time <= e.known.anyScope.at(old.thread.number)
	to := e.at <= now.thread.known.anyScope.at(e.to.number)
	switch {
	case from && to && !e.wished && e.acquired: // an edge that is fine follows the one that is not
	case from && to:
		return StrongerFlag, false
	case to && e.isSignaledSoon(old):
		return BarrierBefore, false
	case from && e.isReadBeside(now):
		return BarrierBehind, false
	}
	toOld := BlockScope.reaches(e.to.place, old.thread.place)
	if now.op.Kind == Read {
		toOld = toOld && old.knew != nil && e.at <= old.knew.at(e.to.number) && e.mark.hasBefore(now.op.Site)
	}
	if toOld && e.isSignaledSoon(now) {
		return BarrierBefore, true
	}
	return Nothing, false
}

// isSignaledSoon reports whether another warp of the block of an access has released the flag without a barrier behind
// the access.
func (e *wish) isSignaledSoon(access *event) bool {
	return access.thread != e.by && BlockScope.reaches(e.by.place, access.thread.place) && !e.isBefore(access) &&
		!e.mark.hasElsewhere(access.op.Site)
}

// isReadBeside reports whether another warp of the block of an access has read the flag without a barrier in front of
// the access.
func (e *wish) isReadBeside(access *event) bool {
	return access.thread != e.to && BlockScope.reaches(e.to.place, access.thread.place) &&
		!e.reads.hasBefore(access.op.Site)
}
