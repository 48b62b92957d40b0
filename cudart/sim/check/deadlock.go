package check

import (
	"fmt"
	"strings"

	"gpurun/cudart/sim/check/finding"
	"gpurun/cudart/sim/check/race"
	"gpurun/cudart/sim/exec"
)

// Deadlock: nothing can go on, or nothing but time-outs. It is looked for while all that runs polls, before simulated
// time advances: a kernel whose waits have a deadline never gets there.
const Deadlock = finding.Deadlock

// The causes of a deadlock.
const (
	causeGrids       = "grids differ between ranks"
	causeResident    = "blocks are not resident"
	causeNotLaunched = "a rank has not launched the kernel"
	causeCycle       = "a cycle of waits"
	causeNobody      = "nobody who still runs writes the word"
	causeHost        = "host code waits for ever"
)

// patience is how often each loop must have read the same values, so that loops which count their polls end by
// themselves.
const patience = 256

// isStuck reports whether all that runs polls, or waits for what polls, and whether what is polled has not changed
// since each loop was last executed as a whole.
func (r *run) isStuck() bool {
	for _, rank := range r.ranks {
		if rank.host.ready() {
			return false
		}
	}
	for _, g := range r.grids {
		if g.grid == nil {
			continue
		}
		for _, w := range g.grid.Waits() {
			switch w.State {
			case exec.Goes:
				return false
			case exec.Polling:
				d := g.doer(w.Block, w.Warp)
				if times(d.polls.loop(r, d)) < patience {
					return false
				}
			}
		}
	}
	return true
}

// isDeadlock reports whether a run in which nothing has gone on for a while never goes on, but for time-outs.
func (r *run) isDeadlock() bool {
	const often = 16 // rounds between two looks
	return !r.checker.cfg.Expire && r.idle.progress == r.progress && r.idle.rounds%often == often-1 && r.isStuck()
}

// deadlock notes why nothing can go on, and returns it as an error.
func (r *run) deadlock() error {
	r.signals.confirmLost(r)
	g := r.waitGraph()
	r.addOther(g.finding())
	return fmt.Errorf("nothing can go on: %s", strings.Join(g.lines(), "; "))
}

// sideOf is an instruction of a kernel for people.
func sideOf(by *doer, site exec.Site, kind race.Kind) Access {
	actor := by.Actor
	actor.Launch = by.grid.launch
	return sideAt(actor, site, kind)
}

// sideAt is what an actor does at an instruction.
func sideAt(actor Actor, site exec.Site, kind race.Kind) Access {
	in := site.Instruction()
	a := Access{Actor: actor, Kind: kind, Text: site.Text(), Module: in.Module, Line: in.Line}
	a.Source, a.InlinedAt, _ = strings.Cut(in.Source, exec.InlinedAt)
	return a
}
