package check

import (
	"slices"

	"gpurun/cudart/sim/check/finding"
	"gpurun/cudart/sim/check/race"
	"gpurun/cudart/sim/exec"
)

// LostSignal: a strong write has overwritten another block's strong write of another value that nobody has read, and a
// wait for that word never ends. Where a wait ends by the later value, as one for an epoch that grows, nothing is lost.
//
// Who reads a word resets it as well, so a write by a block that reads the word is no signal. A later write by the same
// block of the same rank, such as its next epoch, takes the place of the earlier one.
const LostSignal = finding.LostSignal

const causeLost = "a signal was overwritten before anybody had read it"

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
	w.lost = nil
	if old == nil || !old.strong || !by.strong || old.seen || old.value == by.value || old.bytes != by.bytes ||
		old.by.sameBlock(by.by) || w.isReadBy(old.by) {
		return
	}
	w.lost = &lostSignal{lost: old, by: by, addr: w.addr, count: 1}
	s.overwritten = append(s.overwritten, w)
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

// waitEnded forgets the lost signal of a word when a reader has gone on by the later value: it reads the word in
// another launch, by another instruction, or compares it with something else.
func (w *signalWord) waitEnded(before, now *reader) {
	if w.lost == nil {
		return
	}
	other := func(e *reader) bool {
		return e.site != now.site && e.by.Actor == now.by.Actor && e.signal == w.lost.by
	}
	again := before.signal == w.lost.by && (before.by != now.by || before.wanted != now.wanted)
	if again || slices.ContainsFunc(w.readers, other) {
		w.lost = nil
	}
}

// confirmLost finds the waits that have lost their signal, when nothing can go on.
func (s *signals) confirmLost(r *run) {
	for _, w := range s.overwritten {
		for _, e := range w.readers {
			if w.lost != nil && !e.by.sameBlock(w.lost.lost.by) && e.by.waitsFor(r, e.site, w.addr) {
				w.lost.reader = e
				s.addLost(*w.lost)
				w.lost = nil
			}
		}
	}
}

// waitsFor reports whether a warp polls a word by an instruction.
func (d *doer) waitsFor(r *run, site exec.Site, addr uint64) bool {
	if d.grid.grid == nil {
		return false
	}
	return slices.ContainsFunc(d.polls.loop(r, d), func(p *pollRead) bool {
		found := false
		p.each(func(_ int, base uint64) { found = found || base <= addr && addr < base+p.bytes })
		return found && p.at.Site == site
	})
}

func (s *signals) addLost(l lostSignal) {
	same := func(o lostSignal) bool { return o.lost.site == l.lost.site && o.by.site == l.by.site }
	countOnce(&s.lost, l, same, func(o *lostSignal) { o.count++ })
}

// lostFindings are the findings of that kind.
func (r *run) lostFindings() []Finding {
	var all []Finding
	for _, l := range r.signals.lost {
		all = append(all, Finding{
			Kind: LostSignal, Cause: causeLost,
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
