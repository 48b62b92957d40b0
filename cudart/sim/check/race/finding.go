package race

// Cause is why two accesses race.
type Cause uint8

// The causes.
const (
	NoOrder        Cause = iota // nothing orders them
	NarrowScope                 // they would be ordered, or morally strong, if all scopes were .sys
	PartialOverlap              // both are strong, and have different bytes
	WrongProxy                  // they are ordered, and no proxy fence is between them
	NotWaitedFor                // the first is asynchronous, and its end was not waited for
	UnorderedLanes              // lanes of a warp are not ordered: see Finding.Lanes
	ReadByNC                    // they are ordered, and the second reads by .nc what was written while its grid runs
)

var causeNames = [...]string{
	"nothing orders them", "a scope is too narrow", "they overlap in part", "wrong proxy", "not waited for",
	"lanes of a warp are not ordered", "read by .nc",
}

func (c Cause) String() string { return causeNames[c] }

// Side is an operation and the thread that performed it.
type Side struct {
	Thread any // Thread.Name
	Op     *Operation
}

// Edge is a release that an acquire observed, and that happens not before it because of a scope.
type Edge struct{ Release, Acquire Side }

// Finding is a race, as it was seen first.
type Finding struct {
	Cause         Cause
	First, Second Side   // in the order in which they were performed
	Address       uint64 // of the element that Second accessed
	Memory        any    // Memory.Name
	Flag          *Edge  // with NarrowScope: the edge that would order them, or nil
	Lanes         Lanes  // with UnorderedLanes
	Count         int    // how often the two instructions had this race
	// Hardware says that current GPUs perform the two in this order, though PTX does not promise it.
	Hardware bool
	// SameValue says that both are stores of one grid, and the second one stored what was there already.
	SameValue bool
	// Diagnosis says what would order them, if the detector diagnoses.
	Diagnosis *Diagnosis
}

// pair identifies a finding: races of the same two instructions for the same cause are one.
type pair struct {
	first, second         Site
	kindFirst, kindSecond Kind
	cause                 Cause
	hardware, sameValue   bool
}

// compare looks for a race of a new access with one that was recorded, which may be nil, and reports whether it is one.
func (d *Detector) compare(old, now *event, addr uint64) bool {
	if old != nil && old.thread != now.thread {
		d.meet(old.op, now.op)
	}
	if old == nil {
		return false
	}
	if old.thread == now.thread && !now.op.ReadOnly {
		lanes, race, hardware := d.compareLanes(old, now)
		f := Finding{Cause: UnorderedLanes, Lanes: lanes, Hardware: hardware, SameValue: old.isRepeatedBy(now, addr)}
		return race && d.found(old, now, addr, f)
	}
	if morallyStrong(old.thread, old.op, now.thread, now.op) || old.isInitBefore(now) {
		return false
	}
	cause, race := whyUnordered(old, now)
	if !race {
		lanes, race, hardware := d.missesLanes(old, now)
		f := Finding{Cause: UnorderedLanes, Lanes: lanes, Hardware: hardware, SameValue: old.isRepeatedBy(now, addr)}
		return race && d.found(old, now, addr, f)
	}
	f := Finding{Cause: cause, SameValue: old.isRepeatedBy(now, addr)}
	if cause == NarrowScope && !old.meets(now) {
		f.Flag = now.thread.known.lost
	}
	if cause == NoOrder && !d.knows(old, now, &f) {
		f.Hardware = d.orders(old, now)
	}
	return d.found(old, now, addr, f)
}

// isRepeatedBy reports whether both are stores of threads of one grid, and now has stored at an address what was there
// already. Stores of two grids are often the same by chance: calls have the same inputs.
func (e *event) isRepeatedBy(now *event, addr uint64) bool {
	lanes, from, to := now.at(addr), e.thread.place, now.thread.place
	return from.Rank == to.Rank && from.Launch == to.Launch && e.op.Kind == Write && e.op.Proxy == Generic &&
		e.lanes != 0 && lanes != 0 && lanes&^now.unchanged == 0
}

// isInitBefore reports whether an access made an mbarrier that now's thread knows since a fence of new mbarriers.
func (e *event) isInitBefore(now *event) bool {
	return e.op.Kind == Write && e.op.Space == BarrierSpace &&
		e.time <= now.thread.known.seen[InitSpace].at(e.thread.number)
}

// key is what a finding about two accesses has in common with others.
func (f *Finding) key(old, now *event) pair {
	return pair{old.op.Site, now.op.Site, old.op.Kind, now.op.Kind, f.Cause, f.Hardware, f.SameValue}
}

func (d *Detector) knows(old, now *event, f *Finding) bool {
	_, ok := d.known[f.key(old, now)]
	return ok
}

// found adds a finding about two accesses, or counts it. It returns true.
func (d *Detector) found(old, now *event, addr uint64, f Finding) bool {
	key := f.key(old, now)
	if at, ok := d.known[key]; ok {
		d.findings[at].Count++
		d.diagnoseAgain(&d.findings[at], old, now, addr)
		return true
	}
	f.First, f.Second = Side{old.thread.Name, old.op}, Side{now.thread.Name, now.op}
	f.Address, f.Memory, f.Count = addr, d.at.Name, 1
	if d.wishes != nil && f.Cause != UnorderedLanes {
		f.Diagnosis = d.diagnose(old, now)
	}
	d.known[key] = len(d.findings)
	d.findings = append(d.findings, f)
	return true
}

// meets reports whether two accesses would be morally strong if they had the same bytes and wide scopes.
func (e *event) meets(now *event) bool {
	return e.op.strong() && now.op.strong() && e.op.Proxy == now.op.Proxy
}

// whyUnordered says whether two accesses are unordered, and why.
func whyUnordered(old, now *event) (cause Cause, race bool) {
	known := &now.thread.known
	writes := old.op.Kind != Read
	switch ordered := old.time <= known.ordered.at(old.thread.number); {
	case ordered && writes && now.op.ReadOnly && old.time > now.thread.begin.at(old.thread.number):
		return ReadByNC, true
	case ordered && writes && old.op.Proxy == Generic && now.op.Proxy == Async &&
		old.time > known.seen[now.op.Space].at(old.thread.number):
		return WrongProxy, true
	case ordered && writes && old.op.Multicast != now.op.Multicast && !(old.op.strong() && now.op.strong()) &&
		old.time > known.seen[AliasSpace].at(old.thread.number):
		return WrongProxy, true
	case ordered:
		return 0, false
	case old.thread.wasBegunBefore(now.thread):
		return NotWaitedFor, true
	case old.meets(now) && old.op.Bytes != now.op.Bytes:
		return PartialOverlap, true
	case old.meets(now), old.time <= known.anyScope.at(old.thread.number):
		return NarrowScope, true
	}
	return NoOrder, true
}
