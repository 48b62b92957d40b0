package check

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gpurun/cudart/sim/check/finding"
	"gpurun/cudart/sim/check/race"
	"gpurun/cudart/sim/exec"
)

// BarrierDivergence: threads wait at a barrier for threads that cannot come, or the lanes of a warp execute different
// barrier instructions where PTX demands the same (bar, and barrier with .aligned).
//
// Threads that have exited do not count, as on GPUs since Volta, unless the instruction gives a number of threads.
const BarrierDivergence = finding.BarrierDivergence

// The causes of a divergence.
const (
	causeBarriers = "warps of a block wait at different barriers"
	causeCount    = "a barrier counts threads that cannot come"
	causeLanes    = "lanes wait for lanes of their warp that cannot come"
	causeAligned  = "lanes of a warp execute different barrier instructions"
)

var divergenceAdvice = map[string]string{
	causeBarriers: "let all warps of the block come to the same barriers in the same order",
	causeCount:    "count the threads that come, in multiples of the warp size, or let the others come before they exit",
	causeLanes:    "name in the member mask only lanes that come to such an instruction with the same mask",
	causeAligned:  "move the barrier out of the branch, so that all lanes of the warp execute one instruction",
}

// divergence looks for a block in which nobody can go on, whatever others do.
func (g *waitGraph) divergence(f *Finding) bool {
	type block struct {
		launch *watchedGrid
		number int
	}
	polls := map[block]bool{}
	for _, w := range g.waits {
		if w.launch != nil && w.state != exec.AtBarrier && w.state != exec.ForLanes {
			polls[block{w.launch, w.Block}] = true
		}
	}
	for _, w := range g.waits {
		if b := (block{w.launch, w.Block}); w.launch != nil && !polls[b] {
			g.diverged(f, func(o *wait) bool { return block{o.launch, o.Block} == b })
			return true
		}
	}
	return false
}

// diverged describes a block of which all warps wait at barriers or for lanes.
func (g *waitGraph) diverged(f *Finding, of func(*wait) bool) {
	f.Kind, f.Where, f.Waits = BarrierDivergence, "", nil
	barriers, lanes := map[int]bool{}, false
	var sites []exec.Site
	for i := range g.waits {
		w := g.waits[i]
		if !of(&w) {
			continue
		}
		if w.state == exec.AtBarrier {
			barriers[w.count] = true
		}
		lanes = lanes || w.state == exec.ForLanes
		if f.Where == "" {
			f.Where = fmt.Sprintf("rank %d's block %d: %s", w.Rank, w.Block, w.For)
		}
		if !slices.Contains(sites, w.site) {
			sites = append(sites, w.site)
			f.Sides = append(f.Sides, w.Access)
		}
		w.On = nil // nobody can end these
		f.Waits = append(f.Waits, w.Wait)
	}
	switch {
	case lanes:
		f.Cause = causeLanes
	case len(barriers) > 1:
		f.Cause = causeBarriers
	default:
		f.Cause = causeCount
	}
	f.Advice = divergenceAdvice[f.Cause]
}

// barrierFault notes a block in which nobody can go on, if that is why a grid has failed.
func (r *run) barrierFault(l *watchedGrid, err error) {
	var fault *exec.Fault
	if !errors.As(err, &fault) || fault.Kind != exec.Deadlock {
		return
	}
	g := &waitGraph{run: r}
	g.addWarps(l)
	f := Finding{Kind: BarrierDivergence, Count: 1}
	if fault.Reason != "" && g.faultOfLanes(fault, &f) || g.divergence(&f) {
		r.addOther(f)
	}
}

// faultOfLanes describes the lanes of one warp that wait for one another at different instructions.
func (g *waitGraph) faultOfLanes(fault *exec.Fault, f *Finding) bool {
	warp := fault.Thread / 32
	of := func(o *wait) bool { return o.Block == fault.Block && o.Warp == warp }
	for i := range g.waits {
		if of(&g.waits[i]) && g.waits[i].state != exec.ForLanes {
			return false
		}
	}
	g.diverged(f, of)
	return len(f.Sides) > 0
}

// arrivals are where warps have arrived at the barriers of blocks, until these are complete.
type arrivals map[arrival]exec.Site

type arrival struct{ block, barrier, warp int }

// arrive notes an arrival. The lanes of a warp may come one after the other, but to the same instruction.
func (a arrivals) arrive(r *run, d *doer, at exec.Place, barrier int) {
	opcode := at.Site.Instruction().Opcode
	if !strings.HasPrefix(opcode, "bar.") && !strings.Contains(opcode, ".aligned") || strings.Contains(opcode, ".arrive") {
		return
	}
	key := arrival{at.Block, barrier, at.Warp}
	before, some := a[key]
	a[key] = at.Site
	if !some || before == at.Site {
		return
	}
	f := Finding{
		Kind: BarrierDivergence, Cause: causeAligned, Advice: divergenceAdvice[causeAligned], Count: 1,
		Where: fmt.Sprintf("barrier %d of rank %d's block %d", barrier, d.Rank, at.Block),
		Sides: []Access{sideOf(d, before, race.Fence), sideOf(d, at.Site, race.Fence)},
	}
	r.addOther(f)
}

// release forgets who has arrived at a barrier that is complete.
func (a arrivals) release(block, barrier int, warps []int) {
	for _, w := range warps {
		delete(a, arrival{block, barrier, w})
	}
}

// addOther adds a finding that is no race, unless there is one with the same instructions.
func (r *run) addOther(f Finding) {
	for i := range r.others {
		o := &r.others[i]
		if o.Kind == f.Kind && o.Cause == f.Cause && slices.EqualFunc(o.Sides, f.Sides, func(a, b Access) bool {
			return a.Module == b.Module && a.Line == b.Line
		}) {
			o.Count += f.Count
			return
		}
	}
	r.others = append(r.others, f)
}
