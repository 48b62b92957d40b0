package check

import (
	"fmt"

	"gpurun/cudart/sim/check/finding"
	"gpurun/cudart/sim/check/race"
)

// explained adds to a wrong result where its first wrong element comes from.
func (o *origins) explained(f taskFinding) Finding {
	at := uint64(f.output.At)
	store := o.originOf(at + uint64(f.output.Wrong))
	if store == nil || store.by == nil {
		return f.notStored(o.nearest(f.output))
	}
	e := o.earlyFor(store.by)
	if e == nil {
		f.Sides = append(f.Sides, store.access())
		return f.Finding
	}
	load := sideOf(e.by, e.site, race.Read)
	f.Sides = append(f.Sides, e.late.access(), load, store.access())
	f.Advice = fmt.Sprintf("%s read %s: wait for the store of the same call, or clear the word for it", load.Who(),
		e.read.left())
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
	f.Cause = finding.NotStored
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
			if s := o.originOf(uint64(out.At) + uint64(at)); s != nil && s.by != nil {
				return s
			}
		}
	}
	return nil
}

// earlyFor is a load that was too early in the call of a store: of what another rank stores rather than of what this
// one does, as counts of calls; by the same warp, or else by the same rank, or by any.
func (o *origins) earlyFor(store *doer) (best *earlyLoad) {
	nearness := func(e *earlyLoad) (n int) {
		if e.late.by.Rank != e.by.Rank {
			n += 4
		}
		switch {
		case e.by == store:
			n += 2
		case e.by.Rank == store.Rank:
			n++
		}
		return n
	}
	for _, e := range o.early {
		if e.stale && e.by.sameCall(store) && (best == nil || nearness(e) > nearness(best)) {
			best = e
		}
	}
	return best
}
