package check

import "gpurun/cudart/sim/check/finding"

// StaleFlag: a wait was fulfilled by a write of an earlier launch than the one that its writer makes now.
//
// A flag that is set once, and a counter of which a reader may be some steps ahead, are read by several launches as
// well. So all of this must hold:
//
//   - the wait compares the value with the same operands in two launches of its kernel
//   - in the second it reads a write of an earlier launch of that kernel, counted by each rank for itself, by the block
//     whose write has fulfilled the wait in the first
//   - the instruction that has fulfilled it in the first writes the word again, in the launch with the number of the
//     second
const StaleFlag = finding.StaleFlag

// stalePass is a wait that a write of an earlier launch has fulfilled, if the writer writes again.
type stalePass struct {
	signal *signal // that was read in the second launch
	usual  *signal // that was read in the first
	reader reader  // in the second
	awaits *signal // that came too late; nil until then
	addr   uint64
	count  int
}

// passesAgain notes a wait that an earlier launch of the writer has fulfilled.
func (s *signals) passesAgain(w *signalWord, before, now *reader) {
	by := now.signal
	sameWait := before.known && now.known && before.wanted == now.wanted
	earlier := by.by.Kernel == now.by.Kernel && by.by.grid.call < now.by.grid.call
	if !sameWait || !earlier || !by.strong || !before.signal.by.sameBlock(by.by) || before.by.grid == now.by.grid {
		return
	}
	for i := range w.passes {
		if p := &w.passes[i]; p.reader.by == now.by && p.reader.site == now.site {
			return
		}
	}
	w.passes = append(w.passes, stalePass{signal: by, usual: before.signal, reader: *now, addr: w.addr, count: 1})
}

// isAwaited looks for waits that should have waited for a write, and keeps those that may still be.
func (s *signals) isAwaited(w *signalWord, by *signal) {
	if len(w.passes) == 0 {
		return
	}
	for _, p := range w.passes {
		if by.site == p.usual.site && by.by.Actor == p.usual.by.Actor && by.by.grid.call == p.reader.by.grid.call {
			p.awaits = by
			s.addStale(p)
		}
	}
	w.passes = nil
}

func (s *signals) addStale(p stalePass) {
	same := func(o stalePass) bool { return o.reader.site == p.reader.site && o.signal.site == p.signal.site }
	countOnce(&s.stale, p, same, func(o *stalePass) { o.count++ })
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
