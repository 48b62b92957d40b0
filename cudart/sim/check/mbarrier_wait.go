package check

import (
	"fmt"
	"math/bits"
	"strings"

	"gpurun/cudart/sim/exec"
)

const causePhase = "nobody who still runs completes the phase of the mbarrier"

// mbarrierBytes is the size of an mbarrier.
const mbarrierBytes = 8

// testMbarrier notes that a warp polls an mbarrier, or that it does something else with one and goes on.
func (g *watchedGrid) testMbarrier(r *run, at exec.Place, b exec.ObservedBarrier, do exec.MbarrierAction) {
	a := exec.ObservedAccess{
		Kind: exec.Reads, Order: "acquire", Scope: "cta", Bytes: mbarrierBytes, Elements: 1,
	}
	lane := bits.TrailingZeros32(at.Lanes | 1<<31) // one stands for all that name the object
	a.Lanes, a.Addresses[lane] = 1<<lane, b.Address
	if do != exec.MbarrierTests {
		a.Kind = exec.Writes
	}
	d := g.doer(at.Block, at.Warp)
	d.polls.note(r, d, at, &a)
}

// isMbarrier reports whether a wait is one for the phase of an mbarrier.
func (w *wait) isMbarrier() bool {
	return strings.HasPrefix(w.Text, "mbarrier.") || strings.Contains(w.Text, " mbarrier.")
}

// mbarrier is a wait for a phase.
func (g *waitGraph) mbarrier(d *doer, at wait) wait {
	at.For = "the mbarrier in " + g.run.whereSeen(d, at.addr)
	if word := g.run.holds(d.grid, d.Block, at.addr, mbarrierBytes); word != nil {
		phase, arrivals, bytes := exec.MbarrierState(wordOf(word))
		at.Value = fmt.Sprintf("in phase %d and lacks %d arrivals and %d bytes", phase, arrivals, bytes)
	}
	return at
}

// phase looks for an mbarrier of which no warp of the block that still runs can complete the phase.
func (g *waitGraph) phase(f *Finding) bool {
	for i := range g.waits {
		w := &g.waits[i]
		if !w.isMbarrier() || len(w.On) > 0 {
			continue
		}
		g.blame(f, causePhase, i)
		f.Advice = "it is " + w.Value +
			": count its arrivals and bytes, and compare the parities of the waits with the phases"
		return true
	}
	return false
}
