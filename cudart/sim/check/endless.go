package check

import (
	"cmp"
	"fmt"
	"slices"

	"gpurun/cudart/sim/check/finding"
	"gpurun/cudart/sim/check/race"
	"gpurun/cudart/sim/exec"
)

// EndlessLoop: a warp has executed [Config].Loop instructions without a strong access, or warps have used up the steps
// of the run so. Most likely they are in a loop that no other thread can end, but a long computation looks the same. So
// the run stays incomplete, and the finding says where.
const EndlessLoop = finding.EndlessLoop

const causeEndless = "an endless loop, or a computation longer than the budget"

// loops notes after a turn how much a warp has done without a strong access.
func (a *actor) loops(instructions, strong int, state exec.WarpState) {
	if strong > 0 || state != exec.WarpRuns {
		a.withoutStrong, a.looped = 0, 0
		return
	}
	a.withoutStrong += 1 + instructions/longTurn
	a.looped += instructions
}

// endless notes the warp that has executed the most instructions without a strong access: where that is too many, or
// where warps have spent at least half of the run's steps so. Those that have spent less than a hundredth may do
// something else.
func (r *run) endless() {
	var looping []*actor
	steps := 0
	for _, t := range r.tasks {
		for _, a := range t.awake {
			if a.looped > r.checker.cfg.Loop || a.withoutStrong > r.checker.cfg.Steps/100 {
				looping, steps = append(looping, a), steps+a.withoutStrong
			}
		}
	}
	if !r.looping && steps < r.checker.cfg.Steps/2 {
		return
	}
	slices.SortFunc(looping, func(a, b *actor) int {
		return cmp.Or(b.looped-a.looped, a.id.Compare(b.id))
	})
	for _, a := range looping {
		if site, ok := a.site(); ok {
			d := a.task.observer.watched.doer(a.id.Block, a.id.Warp)
			r.addOther(Finding{
				Kind: EndlessLoop, Cause: causeEndless, Count: 1, Sides: []Access{sideOf(d, site, race.Fence)},
				Where: fmt.Sprintf("rank %d block %d warp %d has executed %d instructions without a strong access",
					a.id.Rank, a.id.Block, a.id.Warp, a.looped),
				Advice: "if the loop waits for something, load that each time by ld.relaxed, ld.acquire or ld.volatile",
			})
			return // the others mostly stand in the same loop
		}
	}
}

// site is where some lanes of a warp are that do not wait.
func (a *actor) site() (exec.Site, bool) {
	for _, w := range a.task.grid.Waits() {
		if w.Block == a.id.Block && w.Warp == a.id.Warp && (w.State == exec.Goes || w.State == exec.Polling) {
			return w.Site, true
		}
	}
	return exec.Site{}, false
}
