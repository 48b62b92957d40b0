package check

// StaleFlag: a wait was fulfilled by a write of an earlier launch than the one that its writer makes now.
//
// A flag that is set once, and a counter of which a reader may be some steps ahead, are read by several launches as
// well. So all of this must hold:
//
//   - the wait reads the same write in two launches of its kernel, the second time as the last one did
//   - it compares the value with the same operands in both, so that the first write is all that either waits for
//   - the writer is an earlier launch of that kernel than the second of them, counted by each rank for itself
//   - the same instruction of the same block writes the word again, in the launch that has the number of the second
const StaleFlag Kind = "stale-flag"

// stalePass is a wait that a write of an earlier launch has fulfilled, if the writer writes again.
type stalePass struct {
	signal *signal // that was read in two launches
	reader reader  // the second time
	awaits *signal // that came too late; nil until then
	addr   uint64
	count  int
}

// passesAgain notes a wait that has read the same write in an earlier launch.
func (s *signals) passesAgain(w *signalWord, before, now *reader) {
	by := now.signal
	sameWait := before.known && now.known && before.wanted == now.wanted
	earlier := by.by.Kernel == now.by.Kernel && by.by.grid.call < now.by.grid.call
	if !sameWait || !earlier || !by.strong || before.signal != by || before.by.grid == now.by.grid {
		return
	}
	for i := range w.passes {
		if p := &w.passes[i]; p.reader.by == now.by && p.reader.site == now.site {
			return
		}
	}
	w.passes = append(w.passes, stalePass{signal: by, reader: *now, addr: w.addr, count: 1})
}

// isAwaited looks for waits that should have waited for a write, and keeps those that may still be.
func (s *signals) isAwaited(w *signalWord, by *signal) {
	if len(w.passes) == 0 {
		return
	}
	for _, p := range w.passes {
		if by.site == p.signal.site && by.by.Actor == p.signal.by.Actor && by.by.grid.call == p.reader.by.grid.call {
			p.awaits = by
			s.addStale(p)
		}
	}
	w.passes = nil
}

func (s *signals) addStale(p stalePass) {
	for i := range s.stale {
		if old := &s.stale[i]; old.reader.site == p.reader.site && old.signal.site == p.signal.site {
			old.count++
			return
		}
	}
	s.stale = append(s.stale, p)
}

// staleFindings are the findings of that kind.
func (r *run) staleFindings() []Finding {
	var all []Finding
	for _, p := range r.signals.stale {
		all = append(all, Finding{
			Kind: StaleFlag, Cause: "an earlier launch has fulfilled the wait",
			Sides: []Access{p.signal.access(), p.reader.access(), p.awaits.access()},
			Bytes: p.signal.bytes, Where: r.memory.describe(p.addr), Count: p.count,
			Advice: "reset the word before the next launch, or wait for a value that each launch makes anew, such as an epoch",
		})
	}
	return all
}
