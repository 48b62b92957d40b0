package race

// Cause is why two accesses race.
type Cause uint8

// The causes.
const (
	NoOrder        Cause = iota // nothing orders them
	NarrowScope                 // they would be ordered, or morally strong, if all scopes were .sys
	PartialOverlap              // both are strong, and have different bytes
)

var causeNames = [...]string{"nothing orders them", "a scope is too narrow", "they overlap in part"}

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
	Count         int    // how often the two instructions had this race
}

// pair identifies a finding: races of the same two instructions for the same cause are one.
type pair struct {
	first, second         Site
	kindFirst, kindSecond Kind
	cause                 Cause
}

// compare looks for a race of a new access with one that was recorded.
func (d *Detector) compare(old, now *event, addr uint64) {
	if old == nil || old.thread == now.thread || old.time <= now.thread.known.ordered.at(old.thread.number) ||
		morallyStrong(old.thread, old.op, now.thread, now.op) {
		return
	}
	f := Finding{
		First: Side{old.thread.Name, old.op}, Second: Side{now.thread.Name, now.op}, Address: addr,
		Memory: d.at.Name, Count: 1,
	}
	bothStrong := old.op.strong() && now.op.strong()
	switch {
	case bothStrong && old.op.Bytes != now.op.Bytes:
		f.Cause = PartialOverlap
	case bothStrong:
		f.Cause = NarrowScope
	case old.time <= now.thread.known.anyScope.at(old.thread.number):
		f.Cause, f.Flag = NarrowScope, now.thread.known.lost
	}
	key := pair{old.op.Site, now.op.Site, old.op.Kind, now.op.Kind, f.Cause}
	if at, ok := d.known[key]; ok {
		d.findings[at].Count++
		return
	}
	d.known[key] = len(d.findings)
	d.findings = append(d.findings, f)
}
