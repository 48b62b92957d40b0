package check

import (
	"fmt"

	"gpurun/cudart/sim/check/finding"
	"gpurun/cudart/sim/check/race"
)

// explained adds to a wrong result where its first wrong element comes from. What should have been restored is signals:
// their last store may be right, and that of the initial value is missing behind it.
func (o *origins) explained(f taskFinding) Finding {
	at := uint64(f.output.At)
	store := o.of(at + uint64(f.output.Wrong))
	if f.output.Restored {
		if store != nil {
			f.Sides, f.Advice = append(f.Sides, store.access()), "store the initial value again behind this store, in every call"
		}
		return f.Finding
	}
	if store == nil {
		return f.notStored(o.nearest(f.output))
	}
	m := o.misreadFor(store)
	if m == nil {
		f.Sides = append(f.Sides, store.access())
		f.Advice = "no load is known to have come too early or too late: look at what the kernel computes"
		return f.Finding
	}
	load := sideOf(m.by, m.site, race.Read)
	if m.due == nil {
		f.Origin, f.Sides = finding.ReadLate, append(f.Sides, m.read.access(), load, store.access())
		f.Advice = fmt.Sprintf("%s behind the read by rank %d: rank %d's next call overwrites", noMeeting,
			load.Rank, m.read.rank())
		if m.mayBePacket() {
			f.Advice += "; if the word is a flag without data, look at what the kernel computes"
		}
		return f.Finding
	}
	f.Origin, f.Sides = finding.ReadEarly, append(f.Sides, m.due.access(), load, store.access())
	f.Advice = fmt.Sprintf("%s read %s: wait for the store of the same call, or clear the word for it", load.Who(),
		m.read.left())
	return f.Finding
}

// left is what a store has left for a later call.
func (s *origin) left() string {
	switch {
	case s == nil:
		return "what was there before the first store"
	case s.by == nil:
		return fmt.Sprintf("what the %s had left", s.text)
	}
	return fmt.Sprintf("what call %d of %s had left", s.by.grid.call, s.by.Kernel)
}

// notStored says of an element that no kernel has stored which store has left it out.
func (f taskFinding) notStored(beside *origin) Finding {
	f.Origin, f.Advice = finding.NotStored, "compare the bounds of the stores with the number of elements"
	if beside != nil {
		f.Sides = append(f.Sides, beside.access())
	}
	return f.Finding
}

// nearest is the store of a warp to the bytes of an output that are nearest to its wrong element, or nil.
func (o *origins) nearest(out Output) *origin {
	for distance := int64(1); distance < out.Bytes; distance++ {
		for _, at := range []int64{out.Wrong - distance, out.Wrong + distance} {
			if at < 0 || at >= out.Bytes {
				continue
			}
			if s := o.of(uint64(out.At) + uint64(at)); s != nil {
				return s
			}
		}
	}
	return nil
}

// misreadFor is a load before a store, in the same call, that explains what that has stored: by the same warp, or else
// by the same rank, or by any. What may be a flag of a later call explains less.
func (o *origins) misreadFor(store *origin) (best *misread) {
	nearness := func(m *misread) (n int) {
		switch {
		case m.by == store.by:
			n = 4
		case m.by.Rank == store.by.Rank:
			n = 2
		}
		if m.due == nil && m.mayBePacket() {
			return n
		}
		return n + 1
	}
	for _, m := range o.misreads {
		if !m.again && m.number < store.number && m.by.sameCall(store.by) && (best == nil || nearness(m) > nearness(best)) {
			best = m
		}
	}
	return best
}
