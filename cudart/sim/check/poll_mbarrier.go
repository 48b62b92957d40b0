package check

import "gpurun/cudart/sim/exec"

// tests notes that a warp has tested whether a phase of an mbarrier is over. A loop of such tests polls the object,
// which no access of the code's own reads.
func (g *watchedGrid) tests(r *run, at exec.Place, b exec.ObservedBarrier) {
	a := exec.ObservedAccess{Kind: exec.Reads, Order: "acquire", Scope: "cta", Bytes: 8, Elements: 1, Lanes: 1<<32 - 1}
	for lane := range a.Addresses {
		a.Addresses[lane] = b.Address
	}
	d := g.doer(at.Block, at.Warp)
	d.polls.note(r, d, at, &a)
}
