package check

import "gpurun/cudart/sim/check/race"

// LostSignal: a strong write has overwritten another block's strong write of another value that nobody has read.
//
// Who reads a word resets it as well, so a write by a block that reads the word is no signal. A later write by the same
// block of the same rank, such as its next epoch, takes the place of the earlier one.
const LostSignal Kind = "lost-signal"

// lostSignal is a write that nobody saw, and the one that has overwritten it.
type lostSignal struct {
	lost, by *signal
	reader   *reader // that polls the word
	addr     uint64
	count    int
}

// overwrite is called before a write that is no atomic operation.
func (s *signals) overwrite(w *signalWord, by *signal) {
	old := w.last
	if old == nil || !old.strong || !by.strong || old.seen || old.value == by.value || old.bytes != by.bytes ||
		old.by.sameBlock(by.by) || w.isReadBy(old.by) {
		return
	}
	w.lost = append(w.lost[:0], lostSignal{lost: old, by: by, addr: w.addr, count: 1})
	s.confirm(w)
}

// isReadBy reports whether the block of a warp reads a word with strong reads.
func (w *signalWord) isReadBy(d *doer) bool {
	for _, e := range w.readers {
		if e.by.sameBlock(d) {
			return true
		}
	}
	return false
}

// confirm finds who polls a word in which a signal was lost.
func (s *signals) confirm(w *signalWord) {
	for _, l := range w.lost {
		for _, e := range w.readers {
			if !e.by.sameBlock(l.lost.by) && e.site.TestedElements() != 0 {
				l.reader = e
				s.addLost(l)
				w.lost = w.lost[:0]
				return
			}
		}
	}
}

func (s *signals) addLost(l lostSignal) {
	for i := range s.lost {
		if old := &s.lost[i]; old.lost.site == l.lost.site && old.by.site == l.by.site {
			old.count++
			return
		}
	}
	s.lost = append(s.lost, l)
}

// lostFindings are the findings of that kind.
func (r *run) lostFindings() []Finding {
	var all []Finding
	for _, l := range r.signals.lost {
		all = append(all, Finding{
			Kind: LostSignal, Cause: "a signal was overwritten before anybody had read it",
			Sides: []Access{l.lost.access(), l.by.access(), l.reader.access()},
			Bytes: l.lost.bytes, Where: r.memory.describe(l.addr), Count: l.count,
			Advice: "give each writer a word of its own, add with an atomic operation, or wait until the reader has answered",
		})
	}
	return all
}

// access is a write for people.
func (s *signal) access() Access { return sideOf(s.by, s.site, race.Write) }

// access is a read for people.
func (e *reader) access() Access { return sideOf(e.by, e.site, race.Read) }
